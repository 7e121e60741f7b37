//go:build mpi && cgo && linux

package mpi

/*
#include "binding.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Library names the MPI library of this program.
func Library() string {
	b := make([]byte, C.MPI_MAX_LIBRARY_VERSION_STRING)
	var n C.int
	if C.MPI_Get_library_version((*C.char)(unsafe.Pointer(&b[0])), &n) != C.MPI_SUCCESS {
		return "MPI"
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n") // "MPICH Version: 4.0.2" or "Open MPI v4.1.4, package: ..."
	line, _, _ = strings.Cut(line, ",")
	return strings.Join(strings.Fields(strings.Replace(line, "Version:", "", 1)), " ")
}

// endpoint is this process as a rank.
type endpoint struct {
	mu                   sync.Mutex // around calls of MPI, whose thread level is SERIALIZED
	rank, size, nodeSize int
	messages             []transfer // by Request
	free                 []Request
	all                  []identity // of the ranks
	onSlow               func(rank int, waited time.Duration)
	err                  error // of another rank
}

// transfer is a message on its way.
type transfer struct {
	slot   *C.slot
	pin    *runtime.Pinner
	pinned *byte // kept after the end: the next message most often has the same memory
	other  int   // rank
	expect int   // bytes to receive; -1: sent
}

// Start returns this process as a rank, or nil if no launcher of MPI has started it. It is called once.
func Start() (*World, error) {
	if EnvironmentRank() < 0 {
		return nil, nil
	}
	var level, rank, size, nodeSize C.int
	if err := problem(C.start(&level, &rank, &size, &nodeSize)); err != nil {
		return nil, err
	}
	if level < C.MPI_THREAD_SERIALIZED {
		return nil, fmt.Errorf("%s does not allow calls from several threads (MPI_THREAD_SERIALIZED)", Library())
	}
	// Each process that a launcher of another library has started is alone, and would do all the work.
	if started := number(sizeVariables); size == 1 && started > 1 {
		return nil, fmt.Errorf("%d processes were started, but not as ranks of %s; expected the mpirun of this "+
			"library, or the --mpi of srun that it knows (srun --mpi=list)", started, Library())
	}
	p := &endpoint{rank: int(rank), size: int(size), nodeSize: int(nodeSize)}
	mine := self()
	p.all = make([]identity, size)
	bytes := C.int(unsafe.Sizeof(mine))
	if err := problem(C.gather(unsafe.Pointer(&mine), bytes, unsafe.Pointer(&p.all[0]))); err != nil {
		return nil, err
	}
	return &World{Comm: p, Threads: share(p.all, p.rank), process: p}, nil
}

func (p *endpoint) Rank() int     { return p.rank }
func (p *endpoint) Size() int     { return p.size }
func (p *endpoint) NodeSize() int { return p.nodeSize }

func (p *endpoint) OnSlow(f func(rank int, waited time.Duration)) { p.onSlow = f }

func (p *endpoint) Send(to int, b []byte) (Request, error) {
	r, t := p.request(b)
	t.other, t.expect = to, -1
	p.mu.Lock()
	defer p.mu.Unlock()
	return r, problem(C.begin_send(unsafe.Pointer(unsafe.SliceData(b)), C.int(len(b)), C.int(to), t.slot))
}

func (p *endpoint) Recv(from int, b []byte) (Request, error) {
	r, t := p.request(b)
	t.other, t.expect = from, len(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	return r, problem(C.begin_recv(unsafe.Pointer(unsafe.SliceData(b)), C.int(len(b)), C.int(from), t.slot))
}

// request returns a free request for b, which it pins.
func (p *endpoint) request(b []byte) (Request, *transfer) {
	if len(p.free) == 0 {
		p.messages = append(p.messages, transfer{slot: (*C.slot)(C.calloc(1, C.sizeof_slot)), pin: new(runtime.Pinner)})
		p.free = append(p.free, Request(len(p.messages)-1))
	}
	r := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	t := &p.messages[r]
	if first := unsafe.SliceData(b); len(b) > 0 && first != t.pinned {
		t.pin.Unpin()
		t.pin.Pin(first)
		t.pinned = first
	}
	return r, t
}

// checkProcesses is how often Wait looks whether the other processes of this machine are there.
const checkProcesses = 50 * time.Millisecond

func (p *endpoint) Wait(r Request) error {
	t := &p.messages[r]
	begun := time.Now()
	slow, check := SlowAfter, checkProcesses
	for first := true; ; first = false {
		if done, err := p.poll(t, first); done || err != nil {
			return p.end(r, err)
		}
		waited := time.Since(begun)
		if waited > check {
			check = waited + checkProcesses
			if p.err = lost(p.all, p.rank); p.err != nil {
				return p.err
			}
		}
		if waited > slow {
			slow *= 2
			if p.onSlow != nil {
				p.onSlow(stopped(p.all, p.rank, t.other), waited)
			}
		}
	}
}

// poll waits a few milliseconds. A failure of another rank is an error.
func (p *endpoint) poll(t *transfer, first bool) (done bool, err error) {
	if p.err != nil {
		return false, p.err
	}
	spin := C.int(0)
	if first {
		spin = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := C.poll(t.slot, spin)
	if t.slot.failed >= 0 {
		p.err = p.hear(int(t.slot.failed))
		return false, p.err
	}
	if err := problem(e); err != nil {
		return false, err
	}
	return t.slot.done != 0, nil
}

// end frees the request.
func (p *endpoint) end(r Request, err error) error {
	t := &p.messages[r]
	if err != nil {
		return err
	}
	p.free = append(p.free, r)
	if got := int(t.slot.count); t.expect >= 0 && got != t.expect {
		return fmt.Errorf("rank %d sent a message of %d bytes, expected %d", t.other, got, t.expect)
	}
	return nil
}

// longestReason is the number of bytes of a failure that are sent: they fit in a message that goes out at once.
const longestReason = 1000

// hear returns the failure of a rank that has sent one.
func (p *endpoint) hear(from int) error {
	b := make([]byte, longestReason)
	n := C.int(len(b))
	if err := problem(C.hear((*C.char)(unsafe.Pointer(&b[0])), &n, C.int(from))); err != nil {
		return &RankError{from, "failed (" + err.Error() + ")", false}
	}
	return &RankError{from, string(b[:n]), false}
}

func (p *endpoint) Abort(reason string) {
	reason = reason[:min(len(reason), longestReason)]
	text := C.CString(reason)
	p.mu.Lock()
	defer p.mu.Unlock()
	for to := range p.size {
		if to != p.rank {
			C.tell(text, C.int(len(reason)), C.int(to)) // if it fails, that rank has failed, too
		}
	}
	C.progress()
}

func (p *endpoint) Progress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	C.progress()
}

func (p *endpoint) name(rank int) string { return p.all[rank].name() }

func (p *endpoint) finish() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return problem(C.MPI_Finalize())
}

func (p *endpoint) exit(status int) {
	awaitReaders()
	p.mu.Lock()
	defer p.mu.Unlock()
	C.end_all(C.int(status))
}

// awaitReaders waits, a second at most, until the launcher has read what this process wrote to standard output and
// error, which are pipes: mpirun of MPICH drops the rest when a rank ends the others.
func awaitReaders() {
	for begun := time.Now(); time.Since(begun) < time.Second && (unread(1) || unread(2)); {
		time.Sleep(time.Millisecond)
	}
}

// unread reports whether a pipe has something in it. Of a file or a terminal the answer means nothing.
func unread(fd int) bool {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	return err == nil && n > 0
}

// problem is the error of a status of MPI.
func problem(status C.int) error {
	if status == C.MPI_SUCCESS {
		return nil
	}
	b := make([]byte, C.MPI_MAX_ERROR_STRING)
	n := C.int(0)
	if C.MPI_Error_string(status, (*C.char)(unsafe.Pointer(&b[0])), &n) != C.MPI_SUCCESS {
		return fmt.Errorf("MPI: error %d", int(status))
	}
	return fmt.Errorf("MPI: %s", b[:n])
}
