package engine

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
)

// RunFMA keeps the FMA units of all threads busy for the given number of tasks per thread, without
// accessing memory, and returns the number of floating-point operations. Divided by the time that it
// takes, this is the peak that products are compared with.
func (e *Engine) RunFMA(tasks int) (flop float64) {
	if most := maxTasks / e.Threads(); tasks < 0 || tasks > most {
		panic(fmt.Sprintf("engine: RunFMA: %d tasks per thread, expected 0 to %d", tasks, most))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j := &peakJob{kern: e.kern}
	e.pool.run(j, tasks*e.Threads())
	return float64(tasks*e.Threads()) * float64(e.kern.peakRounds) * e.kern.flopPerPeakRound
}

type peakJob struct{ kern *kernels }

func (j *peakJob) run(_, _ int) { j.kern.fmaPeak(j.kern.peakRounds) }

// Stream names a pattern of memory traffic over arrays of float32, for measuring the bandwidth of
// memory and caches.
type Stream int

const (
	Read  Stream = iota // one array is read
	Write               // one array is written, by ordinary stores
	Triad               // a[i] = fma(s, c[i], b[i]): two arrays are read, one is written
)

var streamNames = [...]string{"read", "write", "triad"}

// String returns the name of s.
func (s Stream) String() string {
	if s < 0 || int(s) >= len(streamNames) {
		return fmt.Sprintf("stream(%d)", int(s))
	}
	return streamNames[s]
}

// arrays is the number of arrays that s passes over at a time.
func (s Stream) arrays() int {
	if s == Triad {
		return 3
	}
	return 1
}

// floatBytes is the number of bytes that s moves per index: 4, or 12 for a triad. Cache lines that the
// hardware reads before they are written do not count.
func (s Stream) floatBytes() int { return 4 * s.arrays() }

// RunStream makes rounds passes of s on all threads at the same time, and returns the number of bytes
// that they moved. Each thread has arrays of its own of bytes in total (a triad: three arrays of a third
// each, in whole floats). Divided by the time that it takes, the result is the bandwidth of the level of
// memory that holds the arrays.
//
// A call that needs more memory than those before allocates it; ReleaseStreams frees it.
func (e *Engine) RunStream(s Stream, bytes, rounds int) float64 {
	if s < Read || s > Triad {
		panic(fmt.Sprintf("engine: RunStream: %v is not a stream", s))
	}
	if bytes < 0 || rounds < 0 {
		panic(fmt.Sprintf("engine: RunStream: %d bytes, %d rounds", bytes, rounds))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams.arrays == nil {
		e.streams.arrays = make([][]float32, e.Threads())
	}
	j := &e.streams
	j.kern, j.s, j.n, j.rounds = e.kern, s, bytes/s.floatBytes(), rounds
	e.onEveryThread(j)
	return float64(e.Threads()) * float64(rounds) * float64(j.n*s.floatBytes())
}

// ReleaseStreams frees the arrays of RunStream.
func (e *Engine) ReleaseStreams() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams.arrays = nil
}

type streamJob struct {
	kern   *kernels
	s      Stream
	n      int // floats per array
	rounds int
	arrays [][]float32   // one per worker, for all arrays of a stream
	seen   atomic.Uint32 // the result of reading, so that the compiler cannot omit it
}

const (
	// streamChunk is the most floats of one call: 200 kB of a triad, which slow memory moves in 100
	// microseconds.
	streamChunk = 16 << 10

	// streamShort is the most floats of one call for shorter arrays, which are in a cache.
	streamShort = 4 * streamChunk

	// The arrays hold ones. With this factor they stay ones after any number of passes, and never
	// become infinite or subnormal.
	streamFactor = 0x1p-30
)

func (j *streamJob) run(worker, _ int) {
	stride := (j.n + 15) / 16 * 16 // every array begins on a cache line
	need := (j.s.arrays()-1)*stride + j.n
	if len(j.arrays[worker]) < need {
		j.arrays[worker] = nil // so that it can be freed before the new one is allocated
		a := AlignedFloats(need)
		// Writing makes the system allocate pages, close to the thread that writes. (Pages that were
		// never written may all be one page of zeros.)
		for at := 0; at < need; at += streamChunk {
			j.call(Write, a[at:min(at+streamChunk, need)], nil, nil, 1)
		}
		j.arrays[worker] = a
	}
	a := j.arrays[worker][:need]
	var b, c []float32
	if j.s == Triad {
		a, b, c = a[:j.n], a[stride:stride+j.n], a[2*stride:]
	}
	// Short arrays: many passes per call. Long ones: many calls per pass.
	passes := 1
	if j.n > 0 && j.n <= streamChunk {
		passes = streamShort / j.n
	}
	var seen uint32
	for done := 0; done < j.rounds; done += passes {
		passes = min(passes, j.rounds-done)
		for lo := 0; lo < j.n; lo += streamChunk {
			hi := min(lo+streamChunk, j.n)
			if j.s == Triad {
				j.call(Triad, a[lo:hi], b[lo:hi], c[lo:hi], passes)
			} else {
				seen |= j.call(j.s, a[lo:hi], nil, nil, passes)
			}
		}
	}
	j.seen.Or(seen)
}

// call makes one call of a kernel. The garbage collector stops a thread only in Go, and the program stands still until
// all have stopped. In a loop of kernels alone they would not: a gigabyte takes a second. The beginning of a function
// that is not inlined looks whether it is to stop.
//
//go:noinline
func (j *streamJob) call(s Stream, a, b, c []float32, passes int) (seen uint32) {
	switch s {
	case Read:
		return j.kern.read(a, passes)
	case Write:
		j.kern.write(a, 1, passes)
	case Triad:
		j.kern.triad(streamFactor, a, b, c, passes)
	}
	return 0
}

// onEveryThread runs j once on every thread at the same time, with the number of the worker as the
// task. The pool alone does not guarantee that: an early thread takes tasks of the others.
func (e *Engine) onEveryThread(j job) {
	e.everyThread.job = j
	e.everyThread.waiting.Store(int32(e.Threads()))
	e.pool.run(&e.everyThread, e.Threads())
	e.everyThread.job = nil
}

// everyThreadJob has as many tasks as there are threads. None proceeds before all have begun, and a
// thread that waits cannot take another one.
type everyThreadJob struct {
	job     job
	waiting atomic.Int32 // tasks that have not begun
}

func (j *everyThreadJob) run(worker, _ int) {
	j.waiting.Add(-1)
	for spin := 0; j.waiting.Load() > 0; spin++ {
		if spin < spinRounds {
			pause(pausesPerRound)
		} else {
			runtime.Gosched()
		}
	}
	j.job.run(worker, worker)
}

// RunAdditions executes rounds times 64 additions on the calling thread, each of which needs the result
// of the one before, and returns their number. CPUs take one cycle for each, so the number divided by
// the time is the clock frequency of the core.
func RunAdditions(rounds int) (cycles float64) {
	for left := rounds; left > 0; left -= additionRounds {
		additions(min(left, additionRounds), 1, 2, 3)
	}
	return 64 * float64(max(rounds, 0))
}

// additionRounds is the most rounds of one call: tens of microseconds.
const additionRounds = 2000

// additions runs rounds of 64 additions to x, each of which waits for the one before. With two numbers that take
// turns the compiler merges none. It is not inlined: its operands would become constants.
//
//go:noinline
func additions(rounds int, x, y, z uint) uint {
	for range rounds {
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
	}
	return x
}

func add8(x, y, z uint) uint {
	x += y
	x += z
	x += y
	x += z
	x += y
	x += z
	x += y
	x += z
	return x
}

// WithPinnedThreads keeps each helper thread of the engine on a CPU of its own: thread i on the i-th CPU
// that the process may use. Thread 0 is the caller, which PinCaller pins. This is for measuring: beside
// other work, the system places threads better, and pinned threads do not yield to the garbage
// collector. New fails on systems other than Linux and with more threads than CPUs.
func WithPinnedThreads() Option { return func(s *settings) { s.pinned = true } }

// PinCaller keeps the calling goroutine on the first CPU that the process may use, until the same
// goroutine calls undo. It works on Linux only, and is meant for engines made with WithPinnedThreads.
func PinCaller() (undo func(), err error) {
	cpus, err := processCPUs()
	if err == nil {
		undo, err = pinThread(cpus[0])
	}
	if err != nil {
		return nil, fmt.Errorf("engine: pinning the caller: %w", err)
	}
	return undo, nil
}

// pinHelpers pins the helpers. A helper stays locked to its thread, which ends with it.
func (e *Engine) pinHelpers(cpus []int) error {
	j := &pinJob{cpus: cpus, errs: make([]error, e.Threads())}
	e.onEveryThread(j)
	return errors.Join(j.errs...)
}

type pinJob struct {
	cpus []int
	errs []error // one per worker
}

func (j *pinJob) run(worker, _ int) {
	if worker > 0 {
		_, j.errs[worker] = pinThread(j.cpus[worker])
	}
}
