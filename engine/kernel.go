package engine

import (
	"fmt"
)

// tiling splits m rows evenly over as few tiles as hold them: tiles of rows rows, the
// first longer of them one row more. Even tiles beat full ones with a remnant.
func (k *kernels) tiling(m int) (tiles, rows, longer int) { return split(m, k.mr) }

// split is tiling for tiles of up to most rows.
func split(m, most int) (tiles, rows, longer int) {
	tiles = (m + most - 1) / most
	if tiles == 0 {
		return 0, 0, 0
	}
	return tiles, m / tiles, m % tiles
}

// panel multiplies m rows of A with panels of nr columns of B, packed ones if they are several, tile
// by tile. next is what will be read after the first one, and as much further on after the next one,
// and so on; the tiles fetch it into the cache, so that memory is never waited for. It may be empty.
func (k *kernels) panel(inner int, ab left, b []float32, brs int, c []float32, crs int, acc bool, next []float32, panels int) {
	if panels > 1 && brs != k.nr {
		panic(fmt.Sprintf("engine: panel: rows of B %d apart, expected %d of %d panels", brs, k.nr, panels))
	}
	if w := (panels-1)*inner*k.nr + span(inner, brs, k.nr); len(b) < w {
		short("panel", "b", len(b), w)
	}
	tiles, rows, longer := k.panelTiles("panel", inner, &ab, c, crs, panels*k.nr)
	if tiles == 0 || panels == 0 {
		return
	}
	next, step := k.fetching(next, b, tiles, inner)
	k.rawPanel(inner, ab.data, ab.rs, ab.cs, ab.strip, b, brs, c, crs, tiles, rows, longer, acc, next, step, panels)
}

// narrow is panel for the first cols columns; it says whether there is a kernel for so few.
func (k *kernels) narrow(inner int, ab left, b []float32, brs int, c []float32, crs, cols int, acc bool, next []float32) bool {
	if k.rawNarrow == nil || cols > k.nr/2 {
		return false
	}
	if w := span(inner, brs, k.nr); len(b) < w {
		short("narrow", "b", len(b), w)
	}
	if tiles, rows, longer := k.panelTiles("narrow", inner, &ab, c, crs, cols); tiles > 0 {
		next, step := k.fetching(next, b, tiles, inner)
		k.rawNarrow(inner, ab.data, ab.rs, ab.cs, ab.strip, b, brs, c, crs, cols, tiles, rows, longer, acc, next, step)
	}
	return true
}

// panelTiles returns the tiles of the block ab and panics unless it and cols columns of C are as
// long as they must be.
func (k *kernels) panelTiles(kernel string, inner int, ab *left, c []float32, crs, cols int) (tiles, rows, longer int) {
	m := ab.rows
	tiles, rows, longer = k.tiling(m)
	w := span(inner, ab.cs, span(m, ab.rs, 1))
	if ab.strip > 0 {
		w = (tiles-1)*ab.strip + span(inner, ab.cs, rows)
	}
	if len(ab.data) < w {
		short(kernel, "a", len(ab.data), w)
	}
	if w := span(m, crs, cols); len(c) < w {
		short(kernel, "c", len(c), w)
	}
	return tiles, rows, longer
}

// panelAt multiplies m rows of A with one panel of nr columns of B, whose row p begins at
// at[p] of b: from 0 to last, which the caller has made sure of once for all panels.
func (k *kernels) panelAt(a Matrix, b []float32, at []int32, last int, c []float32, crs int, acc bool) {
	m, inner := a.Rows, len(at)
	if w := span(inner, a.CS, span(m, a.RS, 1)); len(a.Data) < w {
		short("panelAt", "a", len(a.Data), w)
	}
	if len(b) < last+k.nr {
		short("panelAt", "b", len(b), last+k.nr)
	}
	if w := span(m, crs, k.nr); len(c) < w {
		short("panelAt", "c", len(c), w)
	}
	if tiles, rows, longer := k.tiling(m); tiles > 0 {
		k.rawPanelAt(inner, a.Data, a.RS, a.CS, b, at, c, crs, tiles, rows, longer, acc)
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
func short(kernel, name string, have, want int) {
	panic(fmt.Sprintf("engine: %s: %s has %d elements, need %d", kernel, name, have, want))
}

func (k *kernels) add(dst, x, y []float32) {
	if len(x) < len(dst) {
		short("add", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		short("add", "y", len(y), len(dst))
	}
	k.rawAdd(dst, x, y)
}

func (k *kernels) subRows(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int) {
	if w := span(rows, ds, n); len(dst) < w {
		short("subRows", "dst", len(dst), w)
	}
	if w := span(rows, xs, n); len(x) < w {
		short("subRows", "x", len(x), w)
	}
	if w := span(rows, ys, n); len(y) < w {
		short("subRows", "y", len(y), w)
	}
	k.rawSubRows(dst, ds, x, xs, y, ys, rows, n)
}

// copyRows sets dst[i*ds+j] = src[i*ss+j] for i < rows, j < n, at most 32: pieces so short
// that Go's copy takes several times as long. x - 0 is x, -0 too; of a NaN the payload may
// change.
func (k *kernels) copyRows(dst []float32, ds int, src []float32, ss, rows, n int) {
	k.subRows(dst, ds, src, ss, zeros[:], 0, rows, n)
}

var zeros [32]float32

func (k *kernels) multiply(dst, x, y []float32) {
	if len(x) < len(dst) {
		short("multiply", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		short("multiply", "y", len(y), len(dst))
	}
	k.rawMultiply(dst, x, y)
}

func (k *kernels) axpy(a float32, x, y []float32) {
	if len(x) < len(y) {
		short("axpy", "x", len(x), len(y))
	}
	k.rawAxpy(a, x, y)
}

func (k *kernels) scale(dst []float32, a float32, x []float32) {
	if len(x) < len(dst) {
		short("scale", "x", len(x), len(dst))
	}
	k.rawScale(dst, a, x)
}

func (k *kernels) shift(dst []float32, a float32, x []float32) {
	if len(x) < len(dst) {
		short("shift", "x", len(x), len(dst))
	}
	k.rawShift(dst, a, x)
}

func (k *kernels) relu(dst, x []float32) {
	if len(x) < len(dst) {
		short("relu", "x", len(x), len(dst))
	}
	k.rawReLU(dst, x)
}

func (k *kernels) reluBackward(dst, x, y []float32) {
	if len(x) < len(dst) {
		short("reluBackward", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		short("reluBackward", "y", len(y), len(dst))
	}
	k.rawReLUBackward(dst, x, y)
}

func (k *kernels) normBackward(dst, x, y []float32, c1, c2, rstd float32) {
	if len(x) < len(dst) {
		short("normBackward", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		short("normBackward", "y", len(y), len(dst))
	}
	k.rawNormBackward(dst, x, y, c1, c2, rstd)
}

func (k *kernels) transpose(dst []float32, ds int, src []float32, ss, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	if w := span(cols, ds, rows); len(dst) < w {
		short("transpose", "dst", len(dst), w)
	}
	if w := span(rows, ss, cols); len(src) < w {
		short("transpose", "src", len(src), w)
	}
	k.rawTranspose(dst, ds, src, ss, rows, cols)
}

func (k *kernels) adam(p, g, m, v []float32, co *AdamCoefficients) {
	if len(g) < len(p) {
		short("adam", "g", len(g), len(p))
	}
	if len(m) < len(p) {
		short("adam", "m", len(m), len(p))
	}
	if len(v) < len(p) {
		short("adam", "v", len(v), len(p))
	}
	k.rawAdam(p, g, m, v, co)
}

func (k *kernels) dotRows(dst, x []float32, xs int, y []float32, ys, n int) {
	if w := span(len(dst), xs, n); len(x) < w {
		short("dotRows", "x", len(x), w)
	}
	if w := span(len(dst), ys, n); len(y) < w {
		short("dotRows", "y", len(y), w)
	}
	k.rawDotRows(dst, x, xs, y, ys, n)
}

func (k *kernels) sqdistRows(dst, x []float32, xs int, y []float32) {
	if w := span(len(dst), xs, len(y)); len(x) < w {
		short("sqdistRows", "x", len(x), w)
	}
	k.rawSqdistRows(dst, x, xs, y)
}

func (k *kernels) quadRows(dst, x []float32, xs int, y, w []float32) {
	if w := span(len(dst), xs, len(y)); len(x) < w {
		short("quadRows", "x", len(x), w)
	}
	if len(w) < len(y) {
		short("quadRows", "w", len(w), len(y))
	}
	k.rawQuadRows(dst, x, xs, y, w)
}

func (k *kernels) sum(x []float32) float32 { return k.rawSum(x) }

func (k *kernels) exp(dst, x []float32) {
	if len(x) < len(dst) {
		short("exp", "x", len(x), len(dst))
	}
	k.rawExp(dst, x)
}

func (k *kernels) log(dst, x []float32) {
	if len(x) < len(dst) {
		short("log", "x", len(x), len(dst))
	}
	k.rawLog(dst, x)
}

// pair multiplies the rows of a, contiguous ones, with pairs of panels of B that follow each other,
// each a single block. next is as in panel.
func (k *kernels) pair(a Matrix, b, c []float32, crs int, acc bool, next []float32, pairs int) {
	m, inner := a.Rows, a.Cols
	if inner < pairInner {
		panic(fmt.Sprintf("engine: pair: %d inner indices, expected %d or more", inner, pairInner))
	}
	if w := span(m, a.RS, inner); len(a.Data) < w {
		short("pair", "a", len(a.Data), w)
	}
	if w := 2 * pairs * k.nr * inner; len(b) < w {
		short("pair", "b", len(b), w)
	}
	if w := span(m, crs, 2*pairs*k.nr); len(c) < w {
		short("pair", "c", len(c), w)
	}
	if m > 0 && pairs > 0 {
		tiles, rows, longer := split(m, k.pairRows)
		next, step := k.fetching(next, b, tiles, inner)
		k.rawPair(inner, a.Data, a.RS, b, c, crs, tiles, rows, longer, acc, next, step, pairs)
	}
}

// inACall is how many pieces of work of so many flop a call may do, a hundred microseconds of them:
// nothing can interrupt it.
func (k *kernels) inACall(flops int) int { return int(100*k.flopsAMicrosecond) / flops }

// fetching returns what so many tiles fetch, and how many bytes at a time, so that every tile
// fetches its share and no burst of fetches holds up the loads. Without next it is b, again
// and again the same.
func (k *kernels) fetching(next, b []float32, tiles, inner int) ([]float32, int) {
	if len(next) == 0 {
		return b, 0
	}
	if most := k.rowOfC * k.mr; inner > most {
		inner -= most
	}
	fetches := tiles * ((inner + k.linesAStep - 1) / k.linesAStep)
	return next, 4 * min((len(next)+fetches-1)/fetches, 16)
}

func (k *kernels) read(x []float32, rounds int) uint32 { return k.rawRead(x, rounds) }

func (k *kernels) write(dst []float32, a float32, rounds int) { k.rawWrite(dst, a, rounds) }

func (k *kernels) triad(a float32, dst, x, y []float32, rounds int) {
	if len(x) < len(dst) {
		short("triad", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		short("triad", "y", len(y), len(dst))
	}
	k.rawTriad(a, dst, x, y, rounds)
}
