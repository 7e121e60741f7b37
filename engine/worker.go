package engine

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Work of less than wakeThreshold microseconds wakes no thread, because waking takes several
// microseconds, and more on a busy machine. If all threads are awake after earlier work, they share
// work from shareThreshold microseconds on, or from as many as there are threads, because announcing
// a job takes time for each of them.
const (
	wakeThreshold  = 100
	shareThreshold = 20
)

// singleThreaded reports whether work of this cost, in flop, stays on the calling thread.
func (e *Engine) singleThreaded(flops float64) bool {
	least := e.wakeFlop / wakeThreshold * float64(max(shareThreshold, e.Threads()))
	return flops < e.wakeFlop && (flops < least || !e.pool.awake())
}

// yieldMicroseconds is the time after which a worker yields. As calls take up to 100 microseconds, a
// worker yields about ten times a millisecond; a garbage collection waits for about six such turns.
const yieldMicroseconds = 50

// yield counts the work of a worker and yields its CPU from time to time, if the engine occupies all
// CPUs. Otherwise the garbage collector would wait until the scheduler preempts a thread, up to 10
// ms. With an idle CPU, yielding would move the worker to it, away from its warm caches.
func (e *Engine) yield(a *arena, flops int) {
	a.work += flops
	if (e.singleCPU || e.saturated && e.pool.sharing) && a.work > int(yieldMicroseconds*e.kern.flopPerMicrosecond) {
		a.work = 0
		runtime.Gosched()
	}
}

// GoFlops is the cost of handling elements one by one in Go, about 1 ns each, expressed in flop of
// products.
func (e *Engine) GoFlops(elements float64) float64 { return elements * e.kern.flopPerMicrosecond / 1e3 }

// run runs the tasks of j: on all threads, or on the caller if the work is too small to share.
func (e *Engine) run(j job, tasks int, flops float64) {
	if tasks == 0 {
		return
	}
	if e.singleThreaded(flops) {
		for t := range tasks {
			j.run(0, t)
		}
		return
	}
	e.share(j, tasks)
}

// share runs the tasks of j on all threads.
func (e *Engine) share(j job, tasks int) {
	for i := range e.scratch {
		e.scratch[i].work = 0
	}
	e.pool.run(j, tasks)
}

// TasksFor returns the number of tasks for n units of work that cost flops in total: one if the work
// stays on one thread, otherwise several per thread, so that the others can take over the tasks of a
// thread that is delayed.
func (e *Engine) TasksFor(n int, flops float64) int {
	threads := e.Threads()
	if threads == 1 || e.singleThreaded(flops) {
		return min(n, 1)
	}
	if e.wakeFlop > 0 {
		const least = 5 // microseconds: smaller tasks cost more to hand out than to run
		pieces := int(min(4*flops/e.wakeFlop, 8*float64(threads))) + 1
		most := int(min(wakeThreshold/least*flops/e.wakeFlop, maxTasks))
		n = min(n, most, (pieces+threads-1)/threads*threads)
	}
	return min(n, 8*threads)
}

// Part returns the bounds of task t if n units are split evenly among the tasks.
func Part(n, tasks, t int) (lo, hi int) {
	at := func(t int) int { return int(int64(n) * int64(t) / int64(tasks)) }
	return at(t), at(t + 1)
}

// Parallel runs f over n units of work, shared among the threads. Each call of f handles the units
// [lo, hi), and each unit is handled once. f must write only to the outputs of its own units, and no
// result may depend on how the units are split. f may use the Worker; a method of the engine would
// deadlock. If f panics on one of several threads, or ends a helper thread by runtime.Goexit, Parallel
// panics with a *TaskPanic. If f ends the calling goroutine by runtime.Goexit, units that have not
// begun are dropped. The engine can be used afterwards in either case.
//
// flops and elements are the total cost: flop of products, and elements that Go code handles one by
// one at about 1 ns each. Work of less than about 100 microseconds, or of 20 right after other work,
// stays on the calling thread.
func (e *Engine) Parallel(n int, flops, elements float64, f func(w *Worker, lo, hi int)) {
	if n < 0 {
		panic(fmt.Sprintf("engine: Parallel: %d units", n))
	}
	if f == nil {
		panic("engine: Parallel: f is nil")
	}
	e.mu.Lock()
	j := &e.parallel
	defer func() {
		j.f = nil // even after a panic, so that f can be collected
		e.mu.Unlock()
	}()
	cost := flops + e.GoFlops(elements)
	j.e, j.f, j.n, j.tasks = e, f, n, e.TasksFor(n, cost)
	e.run(j, j.tasks, cost)
}

type parallelJob struct {
	e        *Engine
	f        func(w *Worker, lo, hi int)
	n, tasks int
}

func (j *parallelJob) run(worker, task int) {
	lo, hi := Part(j.n, j.tasks, task)
	j.f(&j.e.workers[worker], lo, hi)
}

// Worker is one thread of an engine, inside the function of Parallel. Its methods handle a row or a block at a
// time. They check lengths. Only MatMul and Transpose also check that results share no memory with operands: on a
// row of 16 floats that would take as long as the work. An elementwise method may write to an operand that begins
// where the result does; otherwise the caller keeps results and operands apart.
type Worker struct {
	e     *Engine
	index int
}

// Floats returns n floats of scratch memory with undefined content. Every call on one thread returns
// the same memory.
func (w *Worker) Floats(n int) []float32 { return w.e.scratch[w.index].floats(slotWorker, n) }

// Axpy is Engine.Axpy on this thread alone.
func (w *Worker) Axpy(a float32, x, y []float32) {
	length("Worker.Axpy", "x", len(x), len(y))
	w.e.kern.axpy(y, a, x, y)
}

// Scale is Engine.Scale on this thread alone.
func (w *Worker) Scale(dst []float32, a float32, x []float32) {
	length("Worker.Scale", "x", len(x), len(dst))
	w.e.kern.scale(dst, a, x)
}

// Transpose sets dst (n x m) to the transpose of x (m x n). Both have contiguous rows (CS 1)
// and must not overlap.
func (w *Worker) Transpose(dst, x Matrix) {
	x.check("Worker.Transpose", "x")
	dst.shape("Worker.Transpose", "dst", x.Cols, x.Rows)
	if dst.CS != 1 && dst.Cols > 1 || x.CS != 1 && x.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.Transpose: dst has column stride %d and x %d, expected 1", dst.CS, x.CS))
	}
	if meet(dst.Data, x.Data) {
		disjoint("Worker.Transpose", "dst", dst, "x", x)
	}
	if x.Rows == 0 || x.Cols == 0 {
		return
	}
	const most = 32 << 10 // elements a call, which is then short
	for lo, step := 0, max(8, most/x.Cols/8*8); lo < x.Rows; lo += step {
		n := min(step, x.Rows-lo)
		w.e.kern.transpose(dst.Data[lo:], dst.RS, x.Data[lo*x.RS:], x.RS, n, x.Cols)
		w.e.yield(&w.e.scratch[w.index], 2*n*x.Cols)
	}
}

// Prefetch loads up to 16 KiB of x into the first-level cache without waiting for them: of what is soon read from
// places where the processor does not expect it.
func Prefetch[T float32 | int32 | byte](x []T) { prefetch(beginningOf(x)) }

// PrefetchToWrite is Prefetch of what is soon written. It takes x from the caches of other threads that have read it:
// a write that must do so holds up those after it.
func PrefetchToWrite[T float32 | int32 | byte](x []T) { prefetchToWrite(beginningOf(x)) }

// beginningOf returns the first 16 KiB of x.
func beginningOf[T float32 | int32 | byte](x []T) []byte {
	bytes := len(x) * int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), min(bytes, 16<<10))
}
