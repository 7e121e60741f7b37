package engine

import "fmt"

// The sizes that the kernels of convolution and pooling are made for. Other sizes work, by way of
// other kernels.
const (
	patchRows  = 5  // of a patch
	addCols    = 48 // most columns of a patch in addPatches
	spreadCols = 40 // columns of a patch in spreadPatches, exactly
	poolCols   = 16 // most pooled pixels of a row in poolBackward
)

// rowsAt is a B whose row p begins at data[at[p]]. last is the largest of at.
type rowsAt struct {
	data []float32
	at   []int32
	last int
}

// panelAt multiplies the rows of a with the first nr columns of b, whose places at the caller has
// checked.
func (kern *kernels) panelAt(a *Matrix, b *rowsAt, c []float32, crs int, acc bool) {
	m, inner := a.Rows, len(b.at)
	need("panelAt", "a", len(a.Data), span(inner, a.CS, span(m, a.RS, 1)))
	need("panelAt", "b", len(b.data), b.last+kern.nr)
	need("panelAt", "c", len(c), span(m, crs, kern.nr))
	if tiles, rows, tall := kern.tiling(m); tiles > 0 {
		kern.table.panelAt(onStack(&panelArgs{
			k: inner, a: a.Data, ars: a.RS, acs: a.CS, b: b.data, at: b.at, c: c, crs: crs,
			tiles: tiles, rows: rows, tall: tall, acc: acc, panels: 1,
		}))
	}
}

// addPatches adds to c. It returns false if the tier has no kernel for patches of this size.
func (kern *kernels) addPatches(c Matrix, r, b []float32, at []int32, stride int) bool {
	if kern.table.addPatches == nil || c.Rows != patchRows || c.Cols > addCols {
		return false
	}
	kern.table.addPatches(c.Data, c.RS, c.Cols, r, b, at, stride)
	return true
}

// spreadPatches adds to b. It returns false if the tier has no kernel for patches of this size.
func (kern *kernels) spreadPatches(b, r []float32, at []int32, w Matrix, stride int) bool {
	if kern.table.spreadPatches == nil || w.Rows != patchRows || w.Cols != spreadCols {
		return false
	}
	kern.table.spreadPatches(b, r, at, w.Data, w.RS, stride)
	return true
}

func (kern *kernels) reluPool(y []float32, which []byte, x []float32, stride, w int) {
	if len(y) == 0 {
		return
	}
	need("reluPool", "x", len(x), span(2*len(y)/w, stride, 2*w))
	if len(which) > 0 {
		need("reluPool", "which", len(which), len(y))
	}
	kern.table.reluPool(y, which, x, stride, w)
}

// MatMulAt is MatMul with rows of B that begin anywhere in b and may overlap: row p is b[at[p]:].
// So the patches of an image under a sliding kernel are rows of B without a copy. Each row has
// c.Cols elements; where that is no multiple of 32, the last columns are copied. Shapes: A m x k,
// at k, C m x n.
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
			panic(fmt.Sprintf("engine: Worker.MatMulAt: a row of %d elements at index %d of %d", c.Cols, p, len(b)))
		}
		last = max(last, int(p))
	}
	kern, arena := w.e.kern, &w.e.scratch[w.index]
	nb, mb := kern.blocks(a.Cols), kern.rowBlocks(c.Rows, a.Cols)
	for kb := range nb {
		k0, k1 := Part(a.Cols, nb, kb)
		for ib := range mb {
			i0, i1 := Part(c.Rows, mb, ib)
			rows := a.Slice(i0, i1, k0, k1)
			panel := Matrix{Rows: i1 - i0, RS: c.RS, CS: 1}
			for j := 0; j < c.Cols; j += kern.nr {
				panel.Data, panel.Cols = c.Data[i0*c.RS+j:], min(kern.nr, c.Cols-j)
				w.e.panelAt(arena, &panel, &rows, &rowsAt{b[j:], at[k0:k1], last}, acc || kb > 0)
				w.e.yield(arena, 2*rows.Rows*kern.nr*rows.Cols)
			}
		}
	}
}

// panelAt computes c, at most one panel wide.
func (e *Engine) panelAt(arena *arena, c, a *Matrix, b *rowsAt, acc bool) {
	nr, m, n := e.kern.nr, c.Rows, c.Cols
	if b.last+nr > len(b.data) { // a tile reads nr columns, which would leave b
		rows := arena.floats(slotB, len(b.at)*nr)
		clear(rows)
		for p, o := range b.at {
			copy(rows[p*nr:p*nr+n], b.data[o:])
		}
		ab := blockA{rows: m, cols: len(b.at), rs: a.RS, cs: a.CS, data: a.Data}
		e.multiplyTile(arena, *c, &ab, panelB{data: rows, rs: nr}, acc)
		return
	}
	if n == nr {
		e.kern.panelAt(a, b, c.Data, c.RS, acc)
		return
	}
	tile := arena.floats(slotC, m*nr)
	if acc {
		for i := range m {
			copy(tile[i*nr:i*nr+n], c.Data[i*c.RS:])
		}
	}
	e.kern.panelAt(a, b, tile, nr, acc)
	for i := range m {
		copy(c.Data[i*c.RS:i*c.RS+n], tile[i*nr:])
	}
}

// AddPatches adds patches of b, scaled by r, to C. Patch p has the shape of C; its rows are stride
// apart and the first one begins at b[at[p]]. Each element of C is one chain in increasing p:
//
//	C[u, j] = fma(r[p], b[at[p] + u*stride + j], C[u, j])
//
// r and at have the same length. C has contiguous rows (CS 1) and must not overlap b. It panics
// if a patch does not lie within b.
func (w *Worker) AddPatches(c Matrix, r, b []float32, at []int32, stride int) {
	checkPatches("Worker.AddPatches", c, r, b, at, stride)
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	for lo, step := 0, patchesPerCall(c); lo < len(at); lo += step {
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

// SpreadPatches is the transpose of AddPatches. It adds the weights W, scaled by r, to patches of
// b, one patch after the other:
//
//	b[at[p] + u*stride + j] = fma(r[p], W[u, j], b[at[p] + u*stride + j])
//
// Its arguments have the conditions of AddPatches.
func (w *Worker) SpreadPatches(b, r []float32, at []int32, weights Matrix, stride int) {
	checkPatches("Worker.SpreadPatches", weights, r, b, at, stride)
	if weights.Rows == 0 || weights.Cols == 0 {
		return
	}
	for lo, step := 0, patchesPerCall(weights); lo < len(at); lo += step {
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

// patchesPerCall is the number of patches with the shape of m that one short call handles.
func patchesPerCall(m Matrix) int {
	const most = 128 << 10 // multiply-adds
	return max(1, most/(m.Rows*m.Cols))
}

// checkPatches panics unless all patches, of the shape of m, lie within b.
func checkPatches(call string, m Matrix, r, b []float32, at []int32, stride int) {
	m.check(call, "the patch")
	length(call, "at", len(at), len(r))
	if m.CS != 1 && m.Cols > 1 {
		panic(fmt.Sprintf("engine: %s: the patch has column stride %d, expected 1", call, m.CS))
	}
	if m.Rows == 0 || m.Cols == 0 {
		return
	}
	if stride < 0 || m.Rows > 1 && stride > len(b) {
		panic(fmt.Sprintf("engine: %s: stride %d in b of %d elements", call, stride, len(b)))
	}
	last := len(b) - m.Cols - (m.Rows-1)*stride
	outside := 0
	for _, p := range at {
		outside |= int(p) | (last - int(p)) // negative if either is
	}
	if outside < 0 {
		panic(fmt.Sprintf("engine: %s: a patch of %d x %d elements with stride %d does not lie within the %d of b",
			call, m.Rows, m.Cols, stride, len(b)))
	}
}

// ReLUPool sets y to the largest pixel of every 2 x 2 pixels of x, or to +0 if none is above 0.
// NaN is ignored. A last odd row or column is left out: y has x.Rows/2 rows of x.Cols/2 pixels.
// Unless which is empty, which[p] becomes the number of the first largest pixel in reading order,
// 0 to 3, or NoPixel where y[p] is 0.
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

// PoolSlack is how many elements longer than the gradient the lists of PoolBackward must be.
const PoolSlack = 16

// PoolList is memory for the nonzero elements of a gradient: the value V[p] and the place
// At[p] = row*Down + column*Right. Elements behind the list may be overwritten.
type PoolList struct {
	At          []int32
	V           []float32
	Right, Down int
}

// PoolBackward passes the gradient dy of the output of ReLUPool to the pixels that it selected
// (which). It adds it to sums (x.Rows x x.Cols), and lists the nonzero elements in reading order of
// x. It returns their number. The lists have len(dy) + PoolSlack elements.
func (w *Worker) PoolBackward(list *PoolList, sums Matrix, dy []float32, which []byte) int {
	cols := sums.Cols / 2
	length("Worker.PoolBackward", "dy", len(dy), sums.Rows/2*cols)
	length("Worker.PoolBackward", "which", len(which), len(dy))
	sums.check("Worker.PoolBackward", "sums")
	if sums.CS != 1 && sums.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.PoolBackward: sums has column stride %d, expected 1", sums.CS))
	}
	if len(dy) == 0 {
		return 0
	}
	need("poolBackward", "at", len(list.At), len(dy)+PoolSlack)
	need("poolBackward", "v", len(list.V), len(dy)+PoolSlack)
	need("poolBackward", "sums", len(sums.Data), span(2*len(dy)/cols, sums.RS, 2*cols))
	backward := w.e.kern.table.poolBackward
	if cols > poolCols {
		backward = poolBackwardGeneric
	}
	return backward(onStack(&poolBackwardArgs{
		at: list.At, v: list.V, sums: sums.Data, dy: dy, which: which, w: cols, cols: sums.RS,
		right: list.Right, down: list.Down,
	}))
}
