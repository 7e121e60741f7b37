package engine

import "fmt"

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
	return w.e.k.dot(w.e.scratch[w.index].one[:], x, y)
}

// Axpy is Engine.Axpy on this thread alone.
func (w *Worker) Axpy(a float32, x, y []float32) {
	length("Worker.Axpy", "x", len(x), len(y))
	w.e.k.axpy(a, x, y)
}

// Scale is Engine.Scale on this thread alone.
func (w *Worker) Scale(dst []float32, a float32, x []float32) {
	length("Worker.Scale", "x", len(x), len(dst))
	w.e.k.scale(dst, a, x)
}

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
	// As many rows at a time as the caches hold, so that no call is long.
	mb := w.e.k.rowBlocks(c.Rows, a.Cols)
	for ib := range mb {
		i0, i1 := part(c.Rows, mb, ib)
		j := gemmJob{e: w.e, c: c.Slice(i0, i1, 0, c.Cols), a: a.Slice(i0, i1, 0, a.Cols), b: operand{direct: b}, acc: acc}
		j.packAndMultiply(w.index, 0, panels)
	}
}

// MatMulAt is MatMul with rows of B that begin anywhere in b and may overlap: row p is
// b[at[p]:]. So the patches of a picture under a kernel that slides over it are rows of B
// as the picture lies. Every row is c.Cols long; nothing is copied where that is a multiple
// of 32, and with fewer columns in the last panel only those. Shapes: A m x k, at k, C m x n.
func (w *Worker) MatMulAt(c, a Matrix, b []float32, at []int32, acc bool) {
	c.shape("Worker.MatMulAt", "C", a.Rows, c.Cols)
	a.check("Worker.MatMulAt", "A")
	length("Worker.MatMulAt", "at", len(at), a.Cols)
	if c.CS != 1 && c.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.MatMulAt: C has column stride %d, expected 1", c.CS))
	}
	if c.Cols <= 1 {
		c.CS = 1
	}
	if len(at) == 0 {
		for i := range c.Rows {
			if !acc {
				clear(c.Row(i))
			}
		}
		return
	}
	last := 0
	for _, p := range at {
		if p < 0 || int(p) > len(b)-c.Cols {
			panic(fmt.Sprintf("engine: Worker.MatMulAt: a row of %d elements at %d of %d", c.Cols, p, len(b)))
		}
		last = max(last, int(p))
	}
	k, arena := w.e.k, &w.e.scratch[w.index]
	nb, mb := k.blocks(a.Cols), k.rowBlocks(c.Rows, a.Cols)
	for kb := range nb {
		k0, k1 := part(a.Cols, nb, kb)
		for ib := range mb {
			i0, i1 := part(c.Rows, mb, ib)
			rows := a.Slice(i0, i1, k0, k1)
			for j := 0; j < c.Cols; j += k.nr {
				w.e.panelAt(arena, c.Data[i0*c.RS+j:], c.RS, min(k.nr, c.Cols-j), rows, b[j:], at[k0:k1], last, acc || kb > 0)
				w.e.yield(arena, 2*rows.Rows*k.nr*rows.Cols)
			}
		}
	}
}

// panelAt computes n columns of C, rows crs apart, of at most one panel; last is the largest
// of at.
func (e *Engine) panelAt(arena *arena, c []float32, crs, n int, a Matrix, b []float32, at []int32, last int, acc bool) {
	nr, m := e.k.nr, a.Rows
	if last+nr > len(b) { // reading all columns of a tile would leave b
		rows := arena.floats(slotB, len(at)*nr)
		clear(rows)
		for p, o := range at {
			copy(rows[p*nr:p*nr+n], b[o:])
		}
		e.multiplyTile(arena, Matrix{Data: c, Rows: m, Cols: n, RS: crs, CS: 1}, left{rows: m, cols: len(at), rs: a.RS, cs: a.CS, data: a.Data}, rows, nil, nr, 0, 0, len(at), acc)
		return
	}
	if n == nr {
		e.k.panelAt(a, b, at, last, c, crs, acc)
		return
	}
	tile := arena.floats(slotC, m*nr)
	if acc {
		for i := range m {
			copy(tile[i*nr:i*nr+n], c[i*crs:])
		}
	}
	e.k.panelAt(a, b, at, last, tile, nr, acc)
	for i := range m {
		copy(c[i*crs:i*crs+n], tile[i*nr:])
	}
}

// AddPatches adds patches of b to C, multiplied by r: rows of C.Cols numbers, stride apart,
// of which the first begins at at[p]. Every element of C is one chain over p:
//
//	C[u, j] = fma(r[p], b[at[p] + u*stride + j], C[u, j])
//
// r and at are equally long. C has contiguous rows (CS 1) and must not overlap b. It panics
// unless all patches lie within b.
func (w *Worker) AddPatches(c Matrix, r, b []float32, at []int32, stride int) {
	w.patches("Worker.AddPatches", c, r, b, at, stride)
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	for lo, step := 0, patchesAStep(c); lo < len(at); lo += step {
		r, at := r[lo:min(lo+step, len(at))], at[lo:min(lo+step, len(at))]
		if !w.e.k.addPatches(c, r, b, at, stride) {
			for u := range c.Rows {
				w.MatMulAt(c.Slice(u, u+1, 0, c.Cols), View(r, 1, len(r)), b[u*stride:], at, true)
			}
			continue
		}
		w.e.yield(&w.e.scratch[w.index], 2*c.Rows*c.Cols*len(at))
	}
}

// SpreadPatches is the way back: it adds W, multiplied by r, to patches of b, one after the
// other:
//
//	b[at[p] + u*stride + j] = fma(r[p], W[u, j], b[at[p] + u*stride + j])
//
// It asks for the same as AddPatches, of W (weights).
func (w *Worker) SpreadPatches(b, r []float32, at []int32, weights Matrix, stride int) {
	w.patches("Worker.SpreadPatches", weights, r, b, at, stride)
	if weights.Rows == 0 || weights.Cols == 0 {
		return
	}
	for lo, step := 0, patchesAStep(weights); lo < len(at); lo += step {
		r, at := r[lo:min(lo+step, len(at))], at[lo:min(lo+step, len(at))]
		if !w.e.k.spreadPatches(b, r, at, weights, stride) {
			for p, first := range at {
				for u := range weights.Rows {
					row := b[int(first)+u*stride:]
					w.e.k.axpy(r[p], weights.Row(u), row[:weights.Cols])
				}
			}
		}
		w.e.yield(&w.e.scratch[w.index], 2*weights.Rows*weights.Cols*len(at))
	}
}

// patchesAStep is how many patches make a call that is short enough for others to run.
func patchesAStep(m Matrix) int {
	const most = 128 << 10 // multiply-adds
	return max(1, most/(m.Rows*m.Cols))
}

// patches panics unless all patches, of the shape of m, lie in b.
func (w *Worker) patches(call string, m Matrix, r, b []float32, at []int32, stride int) {
	m.check(call, "the patch")
	length(call, "at", len(at), len(r))
	if m.CS != 1 && m.Cols > 1 {
		panic(fmt.Sprintf("engine: %s: the patch has column stride %d, expected 1", call, m.CS))
	}
	if m.Rows == 0 || m.Cols == 0 {
		return
	}
	if stride < 0 || m.Rows > 1 && stride > len(b) {
		panic(fmt.Sprintf("engine: %s: a stride of %d in %d elements", call, stride, len(b)))
	}
	last := len(b) - m.Cols - (m.Rows-1)*stride
	outside := 0
	for _, p := range at {
		outside |= int(p) | (last - int(p)) // the signs
	}
	if outside < 0 {
		panic(fmt.Sprintf("engine: %s: a patch of %d x %d elements, %d apart, that is not within the %d of b", call, m.Rows, m.Cols, stride, len(b)))
	}
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
		w.e.k.transpose(dst.Data[lo:], dst.RS, x.Data[lo*x.RS:], x.RS, n, x.Cols)
		w.e.yield(&w.e.scratch[w.index], 2*n*x.Cols)
	}
}

// ReLUPool sets y to the largest of every 2 x 2 pixels of x that is above 0, or +0 (also
// where the others are NaN). A last odd row or column is left out: y, row after row, is of
// x.Rows/2 x x.Cols/2. Unless which is empty, it becomes the pixel of the four that is
// the first of the largest, in reading order: 0 to 3, and NoPixel where y is 0.
func (w *Worker) ReLUPool(y []float32, which []byte, x Matrix) {
	rows, cols := x.Rows/2, x.Cols/2
	x.check("Worker.ReLUPool", "x")
	length("Worker.ReLUPool", "y", len(y), rows*cols)
	if len(which) > 0 {
		length("Worker.ReLUPool", "which", len(which), len(y))
	}
	if x.CS != 1 && x.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.ReLUPool: x has column stride %d, expected 1", x.CS))
	}
	w.e.k.reluPool(y, which, x.Data, x.RS, cols)
}

// NoPixel is what ReLUPool writes where no pixel is above 0.
const NoPixel = 4

// PoolSlack is how much longer than the gradient the lists of PoolBackward are.
const PoolSlack = 16

// PoolBackward hands the gradient dy of the pixels that ReLUPool made to those that it took, if
// any: it adds them to sums (x.Rows x x.Cols) and lists those that are not 0 in reading order of x,
// v[p] and its place at[p] = row*down + column*right. It returns how many they are. at and v
// have len(dy) + PoolSlack elements; those after the list may be overwritten.
func (w *Worker) PoolBackward(at []int32, v []float32, sums Matrix, dy []float32, which []byte, right, down int) int {
	length("Worker.PoolBackward", "dy", len(dy), sums.Rows/2*(sums.Cols/2))
	length("Worker.PoolBackward", "which", len(which), len(dy))
	sums.check("Worker.PoolBackward", "sums")
	if sums.CS != 1 && sums.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.PoolBackward: sums has column stride %d, expected 1", sums.CS))
	}
	return w.e.k.poolBackward(at, v, sums.Data, dy, which, sums.Cols/2, sums.RS, right, down)
}
