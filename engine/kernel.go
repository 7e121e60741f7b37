package engine

import (
	"fmt"
)

// tiling splits m rows evenly over as few tiles as hold them: tiles of rows rows, the
// first longer of them one row more. Even tiles beat full ones with a remnant.
func (kern *kernels) tiling(m int) (tiles, rows, tall int) { return split(m, kern.mr) }

// split is tiling for tiles of up to most rows.
func split(m, most int) (tiles, rows, tall int) {
	tiles = (m + most - 1) / most
	if tiles == 0 {
		return 0, 0, 0
	}
	return tiles, m / tiles, m % tiles
}

// panel multiplies m rows of A with panels of nr columns of B, packed ones if they are several, tile
// by tile. next is what will be read after the first one, and as much further on after the next one,
// and so on; the tiles fetch it into the cache, so that memory is never waited for. It may be empty.
func (kern *kernels) panel(inner int, ab blockA, b []float32, brs int, c []float32, crs int, acc bool, next []float32, panels int) {
	if panels > 1 && brs != kern.nr {
		panic(fmt.Sprintf("engine: panel: rows of B %d apart, expected %d of %d panels", brs, kern.nr, panels))
	}
	if w := (panels-1)*inner*kern.nr + span(inner, brs, kern.nr); len(b) < w {
		tooShort("panel", "b", len(b), w)
	}
	tiles, rows, tall := kern.panelTiles("panel", inner, &ab, c, crs, panels*kern.nr)
	if tiles == 0 || panels == 0 {
		return
	}
	next, step := kern.prefetchPlan(next, b, tiles, inner)
	kern.table.panel(inner, ab.data, ab.rs, ab.cs, ab.tileStride, b, brs, c, crs, tiles, rows, tall, acc, next, step, panels)
}

// narrow is panel for the first cols columns; it says whether there is a kernel for so few.
func (kern *kernels) narrow(inner int, ab blockA, b []float32, brs int, c []float32, crs, cols int, acc bool, next []float32) bool {
	if kern.table.narrow == nil || cols > kern.nr/2 {
		return false
	}
	if w := span(inner, brs, kern.nr); len(b) < w {
		tooShort("narrow", "b", len(b), w)
	}
	if tiles, rows, tall := kern.panelTiles("narrow", inner, &ab, c, crs, cols); tiles > 0 {
		next, step := kern.prefetchPlan(next, b, tiles, inner)
		kern.table.narrow(inner, ab.data, ab.rs, ab.cs, ab.tileStride, b, brs, c, crs, cols, tiles, rows, tall, acc, next, step)
	}
	return true
}

// panelTiles returns the tiles of the block ab and panics unless it and cols columns of C are as
// long as they must be.
func (kern *kernels) panelTiles(kernel string, inner int, ab *blockA, c []float32, crs, cols int) (tiles, rows, tall int) {
	m := ab.rows
	tiles, rows, tall = kern.tiling(m)
	w := span(inner, ab.cs, span(m, ab.rs, 1))
	if ab.tileStride > 0 {
		w = (tiles-1)*ab.tileStride + span(inner, ab.cs, rows)
	}
	if len(ab.data) < w {
		tooShort(kernel, "a", len(ab.data), w)
	}
	if w := span(m, crs, cols); len(c) < w {
		tooShort(kernel, "c", len(c), w)
	}
	return tiles, rows, tall
}

// panelAt multiplies m rows of A with one panel of nr columns of B, whose row p begins at
// at[p] of b: from 0 to last, which the caller has made sure of once for all panels.
func (kern *kernels) panelAt(a Matrix, b []float32, at []int32, last int, c []float32, crs int, acc bool) {
	m, inner := a.Rows, len(at)
	if w := span(inner, a.CS, span(m, a.RS, 1)); len(a.Data) < w {
		tooShort("panelAt", "a", len(a.Data), w)
	}
	if len(b) < last+kern.nr {
		tooShort("panelAt", "b", len(b), last+kern.nr)
	}
	if w := span(m, crs, kern.nr); len(c) < w {
		tooShort("panelAt", "c", len(c), w)
	}
	if tiles, rows, tall := kern.tiling(m); tiles > 0 {
		kern.table.panelAt(inner, a.Data, a.RS, a.CS, b, at, c, crs, tiles, rows, tall, acc)
	}
}

// span is the length that rows of n elements need at a distance of stride.
func span(rows, stride, n int) int {
	if rows == 0 || n == 0 {
		return 0
	}
	return (rows-1)*stride + n
}

// short panics because a slice is shorter than its kernel needs.
func tooShort(kernel, name string, have, want int) {
	panic(fmt.Sprintf("engine: %s: %s has %d elements, need %d", kernel, name, have, want))
}

func (kern *kernels) add(dst, x, y []float32) {
	if len(x) < len(dst) {
		tooShort("add", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		tooShort("add", "y", len(y), len(dst))
	}
	kern.table.add(dst, x, y)
}

func (kern *kernels) subRows(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int) {
	if w := span(rows, ds, n); len(dst) < w {
		tooShort("subRows", "dst", len(dst), w)
	}
	if w := span(rows, xs, n); len(x) < w {
		tooShort("subRows", "x", len(x), w)
	}
	if w := span(rows, ys, n); len(y) < w {
		tooShort("subRows", "y", len(y), w)
	}
	kern.table.subRows(dst, ds, x, xs, y, ys, rows, n)
}

// copyRows sets dst[i*ds+j] = src[i*ss+j] for i < rows, j < n, at most 32: pieces so short
// that Go's copy takes several times as long. x - 0 is x, -0 too; of a NaN the payload may
// change.
func (kern *kernels) copyRows(dst []float32, ds int, src []float32, ss, rows, n int) {
	kern.subRows(dst, ds, src, ss, zeros[:], 0, rows, n)
}

var zeros [32]float32

func (kern *kernels) multiply(dst, x, y []float32) {
	if len(x) < len(dst) {
		tooShort("multiply", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		tooShort("multiply", "y", len(y), len(dst))
	}
	kern.table.multiply(dst, x, y)
}

func (kern *kernels) axpy(a float32, x, y []float32) {
	if len(x) < len(y) {
		tooShort("axpy", "x", len(x), len(y))
	}
	kern.table.axpy(a, x, y)
}

func (kern *kernels) scale(dst []float32, a float32, x []float32) {
	if len(x) < len(dst) {
		tooShort("scale", "x", len(x), len(dst))
	}
	kern.table.scale(dst, a, x)
}

func (kern *kernels) shift(dst []float32, a float32, x []float32) {
	if len(x) < len(dst) {
		tooShort("shift", "x", len(x), len(dst))
	}
	kern.table.shift(dst, a, x)
}

func (kern *kernels) relu(dst, x []float32) {
	if len(x) < len(dst) {
		tooShort("relu", "x", len(x), len(dst))
	}
	kern.table.relu(dst, x)
}

func (kern *kernels) reluBackward(dst, x, y []float32) {
	if len(x) < len(dst) {
		tooShort("reluBackward", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		tooShort("reluBackward", "y", len(y), len(dst))
	}
	kern.table.reluBackward(dst, x, y)
}

func (kern *kernels) normBackward(dst, x, y []float32, c1, c2, rstd float32) {
	if len(x) < len(dst) {
		tooShort("normBackward", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		tooShort("normBackward", "y", len(y), len(dst))
	}
	kern.table.normBackward(dst, x, y, c1, c2, rstd)
}

func (kern *kernels) transpose(dst []float32, ds int, src []float32, ss, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	if w := span(cols, ds, rows); len(dst) < w {
		tooShort("transpose", "dst", len(dst), w)
	}
	if w := span(rows, ss, cols); len(src) < w {
		tooShort("transpose", "src", len(src), w)
	}
	kern.table.transpose(dst, ds, src, ss, rows, cols)
}

func (kern *kernels) adam(p, g, m, v []float32, co *AdamCoefficients) {
	if len(g) < len(p) {
		tooShort("adam", "g", len(g), len(p))
	}
	if len(m) < len(p) {
		tooShort("adam", "m", len(m), len(p))
	}
	if len(v) < len(p) {
		tooShort("adam", "v", len(v), len(p))
	}
	kern.table.adam(p, g, m, v, co)
}

func (kern *kernels) dotRows(dst, x []float32, xs int, y []float32, ys, n int) {
	if w := span(len(dst), xs, n); len(x) < w {
		tooShort("dotRows", "x", len(x), w)
	}
	if w := span(len(dst), ys, n); len(y) < w {
		tooShort("dotRows", "y", len(y), w)
	}
	kern.table.dotRows(dst, x, xs, y, ys, n)
}

func (kern *kernels) sqdistRows(dst, x []float32, xs int, y []float32) {
	if w := span(len(dst), xs, len(y)); len(x) < w {
		tooShort("sqdistRows", "x", len(x), w)
	}
	kern.table.sqdistRows(dst, x, xs, y)
}

func (kern *kernels) quadRows(dst, x []float32, xs int, y, w []float32) {
	if w := span(len(dst), xs, len(y)); len(x) < w {
		tooShort("quadRows", "x", len(x), w)
	}
	if len(w) < len(y) {
		tooShort("quadRows", "w", len(w), len(y))
	}
	kern.table.quadRows(dst, x, xs, y, w)
}

func (kern *kernels) sum(x []float32) float32 { return kern.table.sum(x) }

func (kern *kernels) exp(dst, x []float32) {
	if len(x) < len(dst) {
		tooShort("exp", "x", len(x), len(dst))
	}
	kern.table.exp(dst, x)
}

func (kern *kernels) log(dst, x []float32) {
	if len(x) < len(dst) {
		tooShort("log", "x", len(x), len(dst))
	}
	kern.table.log(dst, x)
}

// pair multiplies the rows of a, contiguous ones, with pairs of panels of B that follow each other,
// each a single block. next is as in panel.
func (kern *kernels) pair(a Matrix, b, c []float32, crs int, acc bool, next []float32, pairs int) {
	m, inner := a.Rows, a.Cols
	if inner < pairInner {
		panic(fmt.Sprintf("engine: pair: %d inner indices, expected %d or more", inner, pairInner))
	}
	if w := span(m, a.RS, inner); len(a.Data) < w {
		tooShort("pair", "a", len(a.Data), w)
	}
	if w := 2 * pairs * kern.nr * inner; len(b) < w {
		tooShort("pair", "b", len(b), w)
	}
	if w := span(m, crs, 2*pairs*kern.nr); len(c) < w {
		tooShort("pair", "c", len(c), w)
	}
	if m > 0 && pairs > 0 {
		tiles, rows, tall := split(m, kern.pairRows)
		next, step := kern.prefetchPlan(next, b, tiles, inner)
		kern.table.pair(inner, a.Data, a.RS, b, c, crs, tiles, rows, tall, acc, next, step, pairs)
	}
}

// callBudget is how many pieces of work of so many flop a call may do, a hundred microseconds of them:
// nothing can interrupt it.
func (kern *kernels) callBudget(flops int) int { return int(100*kern.flopPerMicrosecond) / flops }

// fetching returns what so many tiles fetch, and how many bytes at a time, so that every tile
// fetches its share and no burst of fetches holds up the loads. Without next it is b, again
// and again the same.
func (kern *kernels) prefetchPlan(next, b []float32, tiles, inner int) ([]float32, int) {
	if len(next) == 0 {
		return b, 0
	}
	if most := kern.prefetchC * kern.mr; inner > most {
		inner -= most
	}
	fetches := tiles * ((inner + kern.prefetchLines - 1) / kern.prefetchLines)
	return next, 4 * min((len(next)+fetches-1)/fetches, 16)
}

func (kern *kernels) read(x []float32, rounds int) uint32 { return kern.table.read(x, rounds) }

func (kern *kernels) write(dst []float32, a float32, rounds int) { kern.table.write(dst, a, rounds) }

func (kern *kernels) triad(a float32, dst, x, y []float32, rounds int) {
	if len(x) < len(dst) {
		tooShort("triad", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		tooShort("triad", "y", len(y), len(dst))
	}
	kern.table.triad(a, dst, x, y, rounds)
}
