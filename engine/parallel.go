package engine

import "fmt"

// Parallel runs f over n units of work, shared among the threads: every call gets a run
// of units [lo, hi), and all units are covered once. f must write to the outputs of its
// own units only, and no result may depend on how they are split. It is for Go code
// beside the kernels; what it may use of the engine is the Worker, and no method of the
// engine itself, which would wait forever.
//
// flops and elements say how much work there is in all: flops of products, and elements
// that Go code handles one by one at about a nanosecond each. Work of less than about 100
// microseconds stays on one thread.
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

// MatMul is Engine.MatMul on this thread alone, with the same bits. The rows of C must be
// contiguous (CS 1).
func (w *Worker) MatMul(c, a, b Matrix, acc bool) {
	c.shape("Worker.MatMul", "C", a.Rows, b.Cols)
	a.check("Worker.MatMul", "A")
	b.shape("Worker.MatMul", "B", a.Cols, b.Cols)
	if c.CS != 1 && c.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.MatMul: C has column stride %d, expected 1", c.CS))
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	panels := w.e.k.panels(c.Cols)
	// One or two tiles read B as it lies: packing would read it once, and write it, too.
	if a.Cols == 0 || b.CS == 1 && c.Rows <= 2*w.e.k.mr && !aliased(b.RS) {
		w.e.multiply(w.index, c, a, &operand{direct: b}, 0, panels, acc)
		return
	}
	j := gemmJob{e: w.e, c: c, a: a, b: operand{direct: b}, acc: acc}
	j.packAndMultiply(w.index, 0, panels)
}
