package engine

import (
	"fmt"
)

func (kern *kernels) reluPool(y []float32, which []byte, x []float32, stride, w int) {
	if len(y) == 0 {
		return
	}
	if n := span(2*len(y)/w, stride, 2*w); len(x) < n {
		tooShort("reluPool", "x", len(x), n)
	}
	if len(which) > 0 && len(which) < len(y) {
		tooShort("reluPool", "which", len(which), len(y))
	}
	kern.table.reluPool(y, which, x, stride, w)
}

func (kern *kernels) poolBackward(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) int {
	if len(dy) == 0 {
		return 0
	}
	if n := len(dy) + PoolSlack; len(at) < n {
		tooShort("poolBackward", "at", len(at), n)
	} else if len(v) < n {
		tooShort("poolBackward", "v", len(v), n)
	}
	if n := span(2*len(dy)/w, cols, 2*w); len(sums) < n {
		tooShort("poolBackward", "sums", len(sums), n)
	}
	if len(which) < len(dy) {
		tooShort("poolBackward", "which", len(which), len(dy))
	}
	if w > poolCols {
		return poolBackwardGeneric(at, v, sums, dy, which, w, cols, right, down)
	}
	return kern.table.poolBackward(at, v, sums, dy, which, w, cols, right, down)
}

// The sizes that kernels are made for: rows of a patch and its columns, at most those of
// addPatches and exactly those of spreadPatches, and pooled pixels of a row.
const (
	patchRows  = 5
	addCols    = 48
	spreadCols = 40
	poolCols   = 16
)

// addPatches adds to c; it says whether there is a kernel for such patches.
func (kern *kernels) addPatches(c Matrix, r, b []float32, at []int32, stride int) bool {
	if kern.table.addPatches == nil || c.Rows != patchRows || c.Cols > addCols {
		return false
	}
	kern.table.addPatches(c.Data, c.RS, c.Cols, r, b, at, stride)
	return true
}

// spreadPatches adds to b; it says whether there is a kernel for such patches.
func (kern *kernels) spreadPatches(b, r []float32, at []int32, w Matrix, stride int) bool {
	if kern.table.spreadPatches == nil || w.Rows != patchRows || w.Cols != spreadCols {
		return false
	}
	kern.table.spreadPatches(b, r, at, w.Data, w.RS, stride)
	return true
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
	kern, arena := w.e.kern, &w.e.scratch[w.index]
	nb, mb := kern.blocks(a.Cols), kern.rowBlocks(c.Rows, a.Cols)
	for kb := range nb {
		k0, k1 := part(a.Cols, nb, kb)
		for ib := range mb {
			i0, i1 := part(c.Rows, mb, ib)
			rows := a.Slice(i0, i1, k0, k1)
			for j := 0; j < c.Cols; j += kern.nr {
				w.e.panelAt(arena, c.Data[i0*c.RS+j:], c.RS, min(kern.nr, c.Cols-j), rows, b[j:], at[k0:k1], last, acc || kb > 0)
				w.e.yield(arena, 2*rows.Rows*kern.nr*rows.Cols)
			}
		}
	}
}

// panelAt computes n columns of C, rows crs apart, of at most one panel; last is the largest
// of at.
func (e *Engine) panelAt(arena *arena, c []float32, crs, n int, a Matrix, b []float32, at []int32, last int, acc bool) {
	nr, m := e.kern.nr, a.Rows
	if last+nr > len(b) { // reading all columns of a tile would leave b
		rows := arena.floats(slotB, len(at)*nr)
		clear(rows)
		for p, o := range at {
			copy(rows[p*nr:p*nr+n], b[o:])
		}
		e.multiplyTile(arena, Matrix{Data: c, Rows: m, Cols: n, RS: crs, CS: 1}, blockA{rows: m, cols: len(at), rs: a.RS, cs: a.CS, data: a.Data}, rows, nil, nr, 0, 0, len(at), acc)
		return
	}
	if n == nr {
		e.kern.panelAt(a, b, at, last, c, crs, acc)
		return
	}
	tile := arena.floats(slotC, m*nr)
	if acc {
		for i := range m {
			copy(tile[i*nr:i*nr+n], c[i*crs:])
		}
	}
	e.kern.panelAt(a, b, at, last, tile, nr, acc)
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
		if !w.e.kern.addPatches(c, r, b, at, stride) {
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
		if !w.e.kern.spreadPatches(b, r, at, weights, stride) {
			for p, first := range at {
				for u := range weights.Rows {
					row := b[int(first)+u*stride:]
					w.e.kern.axpy(r[p], weights.Row(u), row[:weights.Cols])
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
	w.e.kern.reluPool(y, which, x.Data, x.RS, cols)
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
	return w.e.kern.poolBackward(at, v, sums.Data, dy, which, sums.Cols/2, sums.RS, right, down)
}
