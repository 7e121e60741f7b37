package engine

// Job is work in tasks that write to separate outputs. No result may depend on which worker runs a
// task.
type Job interface {
	Run(w *Worker, task int)
}

// workerJob runs a Job on the pool.
type workerJob struct {
	e   *Engine
	job Job
}

func (j *workerJob) run(worker, task int) { j.job.Run(&j.e.workers[worker], task) }

// Lock begins a method of a package built on the engine: methods of one engine take turns. The holder
// may call Run, Share, TasksFor, the methods of Caller and those that end in Locked, and no other
// method that computes.
func (e *Engine) Lock() { e.mu.Lock() }

// Unlock ends what Lock began.
func (e *Engine) Unlock() { e.mu.Unlock() }

// Run runs the tasks of j: on all threads, or on the caller if flops, their total cost, is too little
// to share. It allocates nothing if j is a pointer.
func (e *Engine) Run(j Job, tasks int, flops float64) {
	e.outer = workerJob{e, j}
	e.run(&e.outer, tasks, flops)
	e.outer.job = nil
}

// Share runs the tasks of j on all threads, however little work they are.
func (e *Engine) Share(j Job, tasks int) {
	e.outer = workerJob{e, j}
	e.share(&e.outer, tasks)
	e.outer.job = nil
}

// Caller returns worker 0, the thread that holds the lock.
func (e *Engine) Caller() *Worker { return &e.workers[0] }

// PackLocked is Pack for the holder of the lock.
func (e *Engine) PackLocked(p *Packed, b Matrix) { e.repack(p, b) }

// AddLocked is Add for the holder of the lock.
func (e *Engine) AddLocked(dst, x, y []float32) {
	elementwise("AddLocked", "x", x, "dst", dst)
	elementwise("AddLocked", "y", y, "dst", dst)
	e.eachLocked(&vectorJob{op: opAxpy, dst: dst, a: 1, x: x, y: y}, len(dst))
}

// WakeFlops returns the flop of products below which work stays on the calling thread unless the
// others are awake.
func (e *Engine) WakeFlops() float64 { return e.wakeFlop }

// FlopsPerMicrosecond returns a rough speed of one thread, for decisions on how to share work.
func (e *Engine) FlopsPerMicrosecond() float64 { return e.kern.flopPerMicrosecond }

// Index returns the number of the worker, from 0 to Threads-1. It selects memory of the caller's, and
// no result may depend on it.
func (w *Worker) Index() int { return w.index }

// Engine returns the engine of the worker.
func (w *Worker) Engine() *Engine { return w.e }

// CallerSlots is the number of slots of Scratch.
const CallerSlots = 21

// Scratch returns n floats of scratch memory with undefined content, from a cache line on. The caller
// numbers its slots from 0 to CallerSlots-1. Calls with the same slot on one thread return the same
// memory; the other functions of the engine use none of it.
func (w *Worker) Scratch(number, n int) []float32 {
	return w.e.scratch[w.index].floats(slots+slot(number), n)
}

// ScratchRows returns a rows x cols matrix in scratch memory whose rows are ld floats apart.
func (w *Worker) ScratchRows(slot, rows, cols, ld int) Matrix {
	return Matrix{Data: w.Scratch(slot, rows*ld), Rows: rows, Cols: cols, RS: ld, CS: 1}
}

// Contiguous returns m, or a copy of it in scratch memory if its rows are not contiguous.
func (w *Worker) Contiguous(slot int, m Matrix) Matrix {
	if m.CS == 1 {
		return m
	}
	c := w.ScratchRows(slot, m.Rows, m.Cols, m.Cols)
	CopyMatrix(c, m)
	return c
}

// Yield counts flops of work and yields the CPU from time to time if the engine occupies all CPUs.
// Call it between kernels of a long task.
func (w *Worker) Yield(flops int) { w.e.yield(&w.e.scratch[w.index], flops) }

// Grow sets s to n elements with undefined content, in its own memory if that is enough, and returns it.
// Floats begin on a cache line.
func Grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		if f, ok := any(s).(*[]float32); ok {
			*f = AlignedFloats(n)
		} else {
			*s = make([]T, n)
		}
	}
	*s = (*s)[:n]
	return *s
}

// CheckShape panics, with a message that names the call and the operand, unless m is rows x cols and lies
// within Data.
func (m Matrix) CheckShape(call, name string, rows, cols int) { m.shape(call, name, rows, cols) }

// CheckDisjoint panics, with a message that names the call and the operands, if c shares an element with x.
func CheckDisjoint(call, nameC string, c Matrix, nameX string, x Matrix) {
	disjoint(call, nameC, c, nameX, x)
}

// CheckLength panics, with a message that names the call and the operand, unless a slice has the wanted
// number of elements.
func CheckLength(call, name string, have, want int) { length(call, name, have, want) }

// SharedJobs returns how many jobs the threads have shared so far. Tests use it.
func (e *Engine) SharedJobs() uint64 { return e.pool.tickets[0].Load() >> jobShift }
