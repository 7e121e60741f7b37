package engine

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
)

// RunFMA keeps the FMA units of all threads busy for that many tasks a thread, without
// touching memory, and returns the number of floating-point operations done. Divided by
// the time that it takes, it is the peak that every product is measured against.
func (e *Engine) RunFMA(tasks int) (flop float64) {
	if most := maxTasks / e.Threads(); tasks < 0 || tasks > most {
		panic(fmt.Sprintf("engine: RunFMA: %d tasks a thread, expected 0 to %d", tasks, most))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j := &peakJob{kern: e.kern}
	e.pool.run(j, tasks*e.Threads())
	return float64(tasks*e.Threads()) * float64(e.kern.peakRounds) * e.kern.flopPerPeakRound
}

type peakJob struct{ kern *kernels }

func (j *peakJob) run(_, _ int) { j.kern.fmaPeak(j.kern.peakRounds) }

// Stream names a pattern of memory traffic over arrays of float32: what memory and each
// cache can deliver, whatever is computed.
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

// arrays is how many arrays s passes over at a time.
func (s Stream) arrays() int {
	if s == Triad {
		return 3
	}
	return 1
}

// floatBytes is how many bytes s moves a float of its arrays: 4, or 12 of a triad. Lines
// that the hardware reads before they are written are not counted.
func (s Stream) floatBytes() int { return 4 * s.arrays() }

// RunStream makes rounds passes of s on every thread of e at the same time, each over
// arrays of its own of bytes in all (a triad: three of a third each, in whole floats),
// and returns the bytes moved by all threads. Divided by the time that it takes, it is
// the bandwidth of the level of memory that holds the arrays.
//
// The first call that needs more memory than those before allocates it; ReleaseStreams
// gives it back.
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

// ReleaseStreams lets go of the arrays of RunStream.
func (e *Engine) ReleaseStreams() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams.arrays = nil
}

type streamJob struct {
	kern   *kernels
	s      Stream
	n      int // floats an array
	rounds int
	arrays [][]float32   // one a worker, for all arrays of a stream
	seen   atomic.Uint32 // what was read, so that a compiler cannot leave it out
}

const (
	// streamChunk floats at most are one call: 200 kB of a triad, which slow memory moves
	// in 100 microseconds.
	streamChunk = 16 << 10

	// Passes over arrays that are shorter than that, and so in a cache, take up to so many
	// floats a call.
	streamShort = 4 * streamChunk

	// The arrays hold ones. With so small a factor they stay ones, which no number of
	// passes turns into infinities or subnormal numbers.
	streamFactor = 0x1p-30
)

func (j *streamJob) run(worker, _ int) {
	stride := (j.n + 15) / 16 * 16 // every array begins on a cache line
	need := (j.s.arrays()-1)*stride + j.n
	if len(j.arrays[worker]) < need {
		j.arrays[worker] = nil // the collector may have it before the new one is there
		a := alignedFloats(need)
		// Writing makes the system find memory: near the thread that writes, and a page for
		// each page (what was never written can all be one page of zeros).
		for at := 0; at < need; at += streamChunk {
			j.kern.write(a[at:min(at+streamChunk, need)], 1, 1)
		}
		j.arrays[worker] = a
	}
	a := j.arrays[worker][:need]
	var b, c []float32
	if j.s == Triad {
		a, b, c = a[:j.n], a[stride:stride+j.n], a[2*stride:]
	}
	// Short arrays: many passes a call. Long ones: many calls a pass.
	passes := 1
	if j.n > 0 && j.n <= streamChunk {
		passes = streamShort / j.n
	}
	var seen uint32
	for done := 0; done < j.rounds; done += passes {
		passes = min(passes, j.rounds-done)
		for lo := 0; lo < j.n; lo += streamChunk {
			hi := min(lo+streamChunk, j.n)
			switch j.s {
			case Read:
				seen |= j.kern.read(a[lo:hi], passes)
			case Write:
				j.kern.write(a[lo:hi], 1, passes)
			case Triad:
				j.kern.triad(streamFactor, a[lo:hi], b[lo:hi], c[lo:hi], passes)
			}
		}
	}
	j.seen.Or(seen)
}

// onEveryThread runs j once on every thread, with the number of the worker as the task,
// at the same time. The pool alone does not: a thread that is early takes the tasks of
// others.
func (e *Engine) onEveryThread(j job) {
	e.everyThread.job = j
	e.everyThread.waiting.Store(int32(e.Threads()))
	e.pool.run(&e.everyThread, e.Threads())
	e.everyThread.job = nil
}

// everyThreadJob has as many tasks as there are threads, and none goes on before all have
// begun: a thread that waits cannot take another.
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

// RunAdditions makes rounds times 64 additions on the calling thread, each of which needs
// the result of the one before, and returns their number. Current CPUs take one cycle for
// such an addition, so that it is the number of cycles, too: divided by the time, the
// frequency of the core.
func RunAdditions(rounds int) (cycles float64) {
	for left := rounds; left > 0; left -= additionRounds {
		additions(min(left, additionRounds))
	}
	return 64 * float64(max(rounds, 0))
}

// additionRounds rounds at most are one call: some tens of microseconds.
const additionRounds = 2000

// WithPinnedThreads keeps every helper of the engine on a CPU of its own: thread number i
// on the i-th of those that the process may use. Thread 0 is the caller, who stays where
// it is put: see PinCaller. It is for measuring: where other work runs, the system places
// threads better, and pinned threads do not make way for the collector. New fails on
// systems other than Linux, and where there are more threads than CPUs.
func WithPinnedThreads() Option { return func(s *settings) { s.pinned = true } }

// PinCaller keeps the calling goroutine on the first CPU that the process may use, until
// the same goroutine calls undo. It works on Linux only, and belongs to engines made with
// WithPinnedThreads.
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
	errs []error // one a worker
}

func (j *pinJob) run(worker, _ int) {
	if worker > 0 {
		_, j.errs[worker] = pinThread(j.cpus[worker])
	}
}
