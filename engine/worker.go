package engine

import (
	"fmt"
	"runtime"
)

// Work of less than wakeFlop microseconds wakes no thread: that costs a few microseconds, and
// more on a busy machine. Threads that are awake, because it was preceded by other work, share it
// from shareThreshold microseconds on, or as many as there are threads, each of which takes its time
// to tell.
const (
	wakeThreshold  = 100
	shareThreshold = 20
)

// small says whether work stays on one thread.
func (e *Engine) singleThreaded(flops float64) bool {
	least := e.wakeFlop / wakeThreshold * float64(max(shareThreshold, e.Threads()))
	return flops < e.wakeFlop && (flops < least || !e.pool.awake())
}

// yieldMicroseconds is the time, in microseconds, after which a worker lets others run: with calls of up to a
// hundred about ten times a millisecond, because runtime.GC waits for half a dozen such turns.
const yieldMicroseconds = 50

// yield counts the work of a worker and lets others run from time to time. Without it
// the collector, which needs a processor for its own work, would wait for the scheduler
// to interrupt a thread (10 ms) whenever the engine works on all of them. Where one
// is free the scheduler would wake it for the worker, whose caches are warm here: small products
// took a fifth longer.
func (e *Engine) yield(a *arena, flops int) {
	if a.work += flops; (e.singleCPU || e.saturated && e.pool.sharing) && a.work > int(yieldMicroseconds*e.kern.flopPerMicrosecond) {
		a.work = 0
		runtime.Gosched()
	}
}

// goFlops is the work of handling so many elements one by one in Go, at about a nanosecond
// each, in flop of products that could have been done meanwhile.
func (e *Engine) goFlops(elements float64) float64 { return elements * e.kern.flopPerMicrosecond / 1e3 }

// run runs the tasks of j, on all threads unless the work is too small to share.
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

// tasksFor returns into how many tasks to split n units of work that cost flops in all:
// one when the work stays on one thread, otherwise several a thread, as many for each, so that
// a thread that is held up does not hold up the others.
func (e *Engine) tasksFor(n int, flops float64) int {
	threads := e.Threads()
	if threads == 1 || e.singleThreaded(flops) {
		return min(n, 1)
	}
	if e.wakeFlop > 0 {
		const least = 5 // microseconds: smaller tasks take longer to hand out than to do
		pieces := int(min(4*flops/e.wakeFlop, 8*float64(threads))) + 1
		most := int(min(wakeThreshold/least*flops/e.wakeFlop, maxTasks))
		n = min(n, most, (pieces+threads-1)/threads*threads)
	}
	return min(n, 8*threads)
}

// part returns the bounds of task t when n units are split evenly over tasks.
func part(n, tasks, t int) (lo, hi int) {
	at := func(t int) int { return int(int64(n) * int64(t) / int64(tasks)) }
	return at(t), at(t + 1)
}

// Parallel runs f over n units of work, shared among the threads: every call gets a run
// of units [lo, hi), and all units are covered once. f must write to the outputs of its
// own units only, and no result may depend on how they are split. It is for Go code
// beside the kernels; what it may use of the engine is the Worker, and no method of the
// engine itself, which would wait forever. Where f panics on one of several threads, the caller
// panics with a *TaskPanic.
//
// flops and elements say how much work there is in all: flops of products, and elements
// that Go code handles one by one at about a nanosecond each. Work of less than about 100
// microseconds, or of 20 right after other work, stays on one thread.
func (e *Engine) Parallel(n int, flops, elements float64, f func(w *Worker, lo, hi int)) {
	if n < 0 {
		panic(fmt.Sprintf("engine: Parallel: %d units", n))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	cost := flops + e.goFlops(elements)
	j := &e.parallel
	j.e, j.f, j.n, j.tasks = e, f, n, e.tasksFor(n, cost)
	e.run(j, j.tasks, cost)
	j.f = nil
}

type parallelJob struct {
	e        *Engine
	f        func(w *Worker, lo, hi int)
	n, tasks int
}

func (j *parallelJob) run(worker, task int) {
	lo, hi := part(j.n, j.tasks, task)
	j.f(&j.e.workers[worker], lo, hi)
}

// Worker is a thread of an engine, as the function of Parallel sees it.
type Worker struct {
	e     *Engine
	index int
}

// Floats returns n floats of scratch memory, which hold anything. They are the same
// memory in every call on one thread.
func (w *Worker) Floats(n int) []float32 { return w.e.scratch[w.index].floats(slotWorker, n) }

// Dot is Engine.Dot on this thread alone.
func (w *Worker) Dot(x, y []float32) float32 {
	length("Worker.Dot", "y", len(y), len(x))
	return w.e.kern.dot(w.e.scratch[w.index].one[:], x, y)
}

// Axpy is Engine.Axpy on this thread alone.
func (w *Worker) Axpy(a float32, x, y []float32) {
	length("Worker.Axpy", "x", len(x), len(y))
	w.e.kern.axpy(a, x, y)
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
	if x.Rows == 0 || x.Cols == 0 {
		return
	}
	const most = 32 << 10 // elements of a call that is short enough for others to run
	for lo, step := 0, max(8, most/x.Cols/8*8); lo < x.Rows; lo += step {
		n := min(step, x.Rows-lo)
		w.e.kern.transpose(dst.Data[lo:], dst.RS, x.Data[lo*x.RS:], x.RS, n, x.Cols)
		w.e.yield(&w.e.scratch[w.index], 2*n*x.Cols)
	}
}
