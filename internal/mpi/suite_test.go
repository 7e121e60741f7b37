package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// suite are the tests that every implementation passes: each is called by all ranks.
var suite = []struct {
	name string
	run  func(c Comm) error
}{
	{"ring", ring},
	{"order", order},
	{"self", toSelf},
	{"all to all", allToAll},
	{"broadcast", broadcasts},
	{"barrier", barriers},
	{"allocations", allocations},
	{"wrong length", wrongLength}, // the last, for nothing may be called after it
}

// value is element i of message k from a rank to another.
func value(from, to, k, i int) float32 { return float32(from*1000 + to*100 + k*10 + i%7) }

func numbers(from, to, k, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = value(from, to, k, i)
	}
	return x
}

// sendTo and receiveFrom wait for the end.
func sendTo(c Comm, to int, x []float32) error { return both(c.Send(to, Bytes(x)))(c) }

func receiveFrom(c Comm, from int, x []float32) error { return both(c.Recv(from, Bytes(x)))(c) }

func both(r Request, err error) func(Comm) error {
	return func(c Comm) error {
		if err != nil {
			return err
		}
		return c.Wait(r)
	}
}

// ring passes a message of every rank around.
func ring(c Comm) error {
	n, rank := c.Size(), c.Rank()
	if rank < 0 || rank >= n || c.NodeSize() < 1 || c.NodeSize() > n {
		return fmt.Errorf("rank %d of %d, %d on the machine", rank, n, c.NodeSize())
	}
	for _, size := range []int{0, 1, 1000, 100_000} {
		mine, got := numbers(rank, 0, 0, size), make([]float32, size)
		for range n {
			in, err := c.Recv((rank+n-1)%n, Bytes(got))
			if err != nil {
				return err
			}
			if err := sendTo(c, (rank+1)%n, mine); err != nil {
				return err
			}
			if err := c.Wait(in); err != nil {
				return err
			}
			mine, got = got, mine
		}
		if !slices.Equal(mine, numbers(rank, 0, 0, size)) {
			return fmt.Errorf("a message of %d numbers came back changed", size)
		}
	}
	return nil
}

// order sends many messages before any is received, and waits for them backwards.
func order(c Comm) error {
	const messages = 20
	n, rank := c.Size(), c.Rank()
	to, from := (rank+1)%n, (rank+n-1)%n
	var requests []Request
	got := make([][]float32, messages)
	for k := range messages {
		r, err := c.Send(to, Bytes(numbers(rank, to, k, 100+k)))
		if err != nil {
			return err
		}
		requests = append(requests, r)
	}
	for k := range messages {
		got[k] = make([]float32, 100+k)
		r, err := c.Recv(from, Bytes(got[k]))
		if err != nil {
			return err
		}
		requests = append(requests, r)
	}
	for _, r := range slices.Backward(requests) {
		if err := c.Wait(r); err != nil {
			return err
		}
	}
	for k := range messages {
		if !slices.Equal(got[k], numbers(from, rank, k, 100+k)) {
			return fmt.Errorf("message %d is not that of the same number", k)
		}
	}
	return nil
}

func toSelf(c Comm) error {
	got := make([]float32, 50000)
	r, err := c.Send(c.Rank(), Bytes(numbers(c.Rank(), c.Rank(), 1, len(got))))
	if err != nil {
		return err
	}
	if err := receiveFrom(c, c.Rank(), got); err != nil {
		return err
	}
	if !slices.Equal(got, numbers(c.Rank(), c.Rank(), 1, len(got))) {
		return errors.New("a message to itself came back changed")
	}
	return c.Wait(r)
}

func allToAll(c Comm) error {
	n, rank := c.Size(), c.Rank()
	const size = 100_000
	got := make([][]float32, n)
	var requests []Request
	for other := range n {
		got[other] = make([]float32, size)
		in, err := c.Recv(other, Bytes(got[other]))
		if err != nil {
			return err
		}
		out, err := c.Send(other, Bytes(numbers(rank, other, 2, size)))
		if err != nil {
			return err
		}
		requests = append(requests, in, out)
	}
	for _, r := range requests {
		if err := c.Wait(r); err != nil {
			return err
		}
	}
	for other := range n {
		if !slices.Equal(got[other], numbers(other, rank, 2, size)) {
			return fmt.Errorf("the message of rank %d came changed", other)
		}
	}
	return nil
}

func broadcasts(c Comm) error {
	for root := range min(c.Size(), 3) {
		for _, size := range []int{0, 1, broadcastPiece, 2*broadcastPiece + 3} {
			want := bytes.Repeat([]byte{byte(root + 1), 7, 9}, size/3+1)[:size]
			b := make([]byte, size)
			if c.Rank() == root {
				copy(b, want)
			}
			if err := Broadcast(c, root, b); err != nil {
				return err
			}
			if !bytes.Equal(b, want) {
				return fmt.Errorf("%d bytes of rank %d came changed", size, root)
			}
		}
	}
	return nil
}

func barriers(c Comm) error {
	for range 50 {
		if err := Barrier(c); err != nil {
			return err
		}
	}
	return nil
}

// allocations of an exchange of all ranks in steady state.
func allocations(c Comm) error {
	n, rank := c.Size(), c.Rank()
	x, y := make([]float32, 3000*n), make([]float32, 3000*n)
	var requests []Request
	var failed error
	exchange := func() {
		requests = requests[:0]
		for other := range n {
			in, err := c.Recv(other, Bytes(y[3000*other:3000*(other+1)]))
			out, err2 := c.Send(other, Bytes(x[3000*rank:3000*(rank+1)]))
			requests = append(requests, in, out)
			failed = errors.Join(failed, err, err2)
		}
		for _, r := range requests {
			if err := c.Wait(r); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	exchange() // the first has queues and requests to make
	exchange()
	var per float64
	if rank == 0 { // counts those of all goroutines
		per = testing.AllocsPerRun(100, exchange)
	} else {
		for range 101 {
			exchange()
		}
	}
	if failed == nil && per > 0.5 {
		failed = fmt.Errorf("an exchange allocates %v times", per)
	}
	return failed
}

// wrongLength must be an error for the receiver.
func wrongLength(c Comm) error {
	n, rank := c.Size(), c.Rank()
	if n%2 == 1 && rank == n-1 {
		return nil
	}
	if rank%2 == 0 {
		sendTo(c, rank+1, make([]float32, 10)) // may fail
		return nil
	}
	if err := receiveFrom(c, rank-1, make([]float32, 9)); err == nil {
		return errors.New("a message of the wrong length is received")
	} else if !strings.Contains(err.Error(), "byte") && !strings.Contains(strings.ToLower(err.Error()), "trunc") {
		return fmt.Errorf("wrong length: %q", err)
	}
	return nil
}
