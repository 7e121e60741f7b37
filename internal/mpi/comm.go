package mpi

import (
	"context"
	"fmt"
	"time"
	"unsafe"
)

// Comm is one rank's end of all connections between the ranks. Its methods are for one goroutine at a time, except
// Abort. After an error nothing but Abort may be called, and buffers of requests that were not waited for may still
// be read and written.
type Comm interface {
	Rank() int // 0 to Size()-1
	Size() int
	NodeSize() int // ranks on this machine, which share its cores and memory

	// Send begins to send b to a rank, and Recv to receive b from one; neither waits. The other rank calls
	// Recv or Send with a slice of the same length, at most MaxMessage. Messages from one rank to another arrive in the
	// order of the calls. Until Wait returns, b must not be changed (Send) or looked at (Recv), and it must stay in
	// memory. A rank may send to itself. Steady use allocates nothing.
	Send(to int, b []byte) (Request, error)
	Recv(from int, b []byte) (Request, error)

	// Wait waits for the end of a request, once for each: it may be used again after that. Send may end only when
	// the other rank receives, so all requests of an exchange are begun before the first is waited for.
	Wait(r Request) error

	// Progress lets messages on their way go on, without waiting: a library of MPI may move them only in calls.
	Progress()

	// OnSlow sets what Wait calls while it waits for a rank: after SlowAfter, and then each time that twice as
	// much time has passed. If a process of this machine is stopped, it is told the rank of that: the other one may
	// itself wait for it. Ranks of one process are not watched.
	OnSlow(f func(rank int, waited time.Duration))

	// Abort makes the running and later calls of all other ranks fail with a *RankError that has this rank and reason,
	// unless they have failed already.
	Abort(reason string)
}

// Request is a message on its way.
type Request int32

// MaxMessage is the largest number of bytes in a message: MPI counts them with 31 bits.
const MaxMessage = 1 << 30

// SlowAfter is how long a rank may be waited for before OnSlow is told.
const SlowAfter = 5 * time.Second

// RankError says that another rank has failed.
type RankError struct {
	Rank   int
	Reason string
	Lost   bool // its process has ended without a word
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Reason) }

// Interrupted is the reason of a rank that was told to stop. Its *RankError is context.Canceled to errors.Is.
const Interrupted = "interrupted"

func (e *RankError) Is(target error) bool {
	return target == context.Canceled && e.Reason == Interrupted
}

// Bytes returns the memory of x, in this machine's byte order.
func Bytes[T int32 | float32 | float64 | uint64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}
