package engine

import (
	"fmt"

	"dpnbench/engine/num"
)

// tiling splits m rows evenly over as few tiles as hold them: tiles of rows rows, the first tall
// of them with one row more. Even tiles are faster than full ones with a remnant.
func (kern *kernels) tiling(m int) (tiles, rows, tall int) { return split(m, kern.mr) }

// split is tiling for tiles of at most most rows.
func split(m, most int) (tiles, rows, tall int) {
	tiles = (m + most - 1) / most
	if tiles == 0 {
		return 0, 0, 0
	}
	return tiles, m / tiles, m % tiles
}

// panelB is a panel of B, or several packed ones that follow each other: row p of its nr columns
// is data[p*rs:]. next is what will be read afterwards, to be prefetched; it may be empty. With
// several panels, next advances by the size of a panel for each.
type panelB struct {
	data []float32
	rs   int
	next []float32
}

// panel multiplies the block a with panels of B, tile by tile, into c, whose rows are crs apart.
func (kern *kernels) panel(a *blockA, b panelB, c []float32, crs int, acc bool, panels int) {
	if panels > 1 && b.rs != kern.nr {
		panic(fmt.Sprintf("engine: panel: row stride %d of B, expected %d for %d panels", b.rs, kern.nr, panels))
	}
	need("panel", "b", len(b.data), (panels-1)*a.cols*kern.nr+span(a.cols, b.rs, kern.nr))
	tiles, rows, tall := kern.panelTiles("panel", a, c, crs, panels*kern.nr)
	if tiles == 0 || panels == 0 {
		return
	}
	next, step := kern.prefetchPlan(b.next, b.data, tiles, a.cols)
	kern.table.panel(onStack(&panelArgs{
		k: a.cols, a: a.data, ars: a.rs, acs: a.cs, tileStride: a.tileStride, b: b.data, brs: b.rs, c: c, crs: crs,
		tiles: tiles, rows: rows, tall: tall, acc: acc, next: next, step: step, panels: panels,
	}))
}

// narrow is panel for the first cols columns. It returns false if the tier has no kernel for them.
func (kern *kernels) narrow(a *blockA, b panelB, c []float32, crs, cols int, acc bool) bool {
	if kern.table.narrow == nil || cols > kern.nr/2 {
		return false
	}
	need("narrow", "b", len(b.data), span(a.cols, b.rs, kern.nr))
	if tiles, rows, tall := kern.panelTiles("narrow", a, c, crs, cols); tiles > 0 {
		next, step := kern.prefetchPlan(b.next, b.data, tiles, a.cols)
		kern.table.narrow(onStack(&panelArgs{
			k: a.cols, a: a.data, ars: a.rs, acs: a.cs, tileStride: a.tileStride, b: b.data, brs: b.rs, c: c, crs: crs,
			cols: cols, tiles: tiles, rows: rows, tall: tall, acc: acc, next: next, step: step, panels: 1,
		}))
	}
	return true
}

// panelTiles returns the tiles of the block a. It panics unless a and cols columns of c are long
// enough.
func (kern *kernels) panelTiles(kernel string, a *blockA, c []float32, crs, cols int) (tiles, rows, tall int) {
	tiles, rows, tall = kern.tiling(a.rows)
	w := span(a.cols, a.cs, span(a.rows, a.rs, 1))
	if a.tileStride > 0 {
		w = (tiles-1)*a.tileStride + span(a.cols, a.cs, rows)
	}
	need(kernel, "a", len(a.data), w)
	need(kernel, "c", len(c), span(a.rows, crs, cols))
	return tiles, rows, tall
}

// callBudget returns the number of units of work, of flop operations each, in one call of about 100
// microseconds. A call cannot be preempted, so it must be short.
func (kern *kernels) callBudget(flops int) int { return int(100*kern.flopPerMicrosecond) / flops }

// prefetchPlan returns what the tiles of a call prefetch, and how many bytes in each step: equal
// shares, because a burst of prefetches would delay the loads. Without next they prefetch b itself
// in steps of 0 bytes.
func (kern *kernels) prefetchPlan(next, b []float32, tiles, inner int) ([]float32, int) {
	if len(next) == 0 {
		return b, 0
	}
	if most := kern.prefetchC * kern.mr; inner > most {
		inner -= most
	}
	steps := tiles * ((inner + kern.prefetchLines - 1) / kern.prefetchLines)
	return next, 4 * min((len(next)+steps-1)/steps, 16)
}

// span is the length of rows rows of n elements at a distance of stride.
func span(rows, stride, n int) int {
	if rows == 0 || n == 0 {
		return 0
	}
	return (rows-1)*stride + n
}

// need panics unless a slice has at least the elements that its kernel accesses.
func need(kernel, name string, have, want int) {
	if have < want {
		tooShort(kernel, name, have, want)
	}
}

//go:noinline
func tooShort(kernel, name string, have, want int) {
	panic(fmt.Sprintf("engine: %s: %s has %d elements, need %d", kernel, name, have, want))
}

func (kern *kernels) subRows(args *subRowsArgs) {
	need("subRows", "dst", len(args.dst), span(args.rows, args.ds, args.n))
	need("subRows", "x", len(args.x), span(args.rows, args.xs, args.n))
	need("subRows", "y", len(args.y), span(args.rows, args.ys, args.n))
	kern.table.subRows(onStack(args))
}

// copyRows sets dst[i*ds+j] = src[i*ss+j] for i < rows, j < n, n at most 32: for such short rows
// Go's copy is several times slower. x - 0 is x, also for -0; the payload of a NaN may change.
func (kern *kernels) copyRows(dst []float32, ds int, src []float32, ss, rows, n int) {
	kern.subRows(&subRowsArgs{dst: dst, ds: ds, x: src, xs: ss, y: zeros[:], rows: rows, n: n})
}

var zeros [32]float32

func (kern *kernels) multiply(dst, x, y []float32) {
	need("multiply", "x", len(x), len(dst))
	need("multiply", "y", len(y), len(dst))
	kern.table.multiply(dst, x, y)
}

func (kern *kernels) axpy(dst []float32, a float32, x, y []float32) {
	need("axpy", "x", len(x), len(dst))
	need("axpy", "y", len(y), len(dst))
	kern.table.axpy(dst, a, x, y)
}

func (kern *kernels) axpyProducts(args *axpyProductsArgs) {
	need("axpyProducts", "dst", len(args.dst), span(args.rows, args.ds, args.n))
	need("axpyProducts", "g", len(args.g), span(args.rows, args.gs, args.n))
	need("axpyProducts", "s", len(args.s), span(args.rows, args.gs, args.n))
	need("axpyProducts", "x", len(args.x), span(args.rows, args.xs, args.n))
	kern.table.axpyProducts(onStack(args))
}

func (kern *kernels) scale(dst []float32, a float32, x []float32) {
	need("scale", "x", len(x), len(dst))
	kern.table.scale(dst, a, x)
}

func (kern *kernels) reluBackward(dst, x, y []float32) {
	need("reluBackward", "x", len(x), len(dst))
	need("reluBackward", "y", len(y), len(dst))
	kern.table.reluBackward(dst, x, y)
}

func (kern *kernels) decay(a float32, x []float32) { kern.table.decay(a, x) }

func (kern *kernels) normalise(dst, x []float32, mean, rstd float64) {
	need("normalise", "x", len(x), len(dst))
	kern.table.normalise(dst, x, mean, rstd)
}

func (kern *kernels) normBackward(dst, x, y []float32, c1, c2, rstd float64) {
	need("normBackward", "x", len(x), len(dst))
	need("normBackward", "y", len(y), len(dst))
	kern.table.normBackward(dst, x, y, c1, c2, rstd)
}

func (kern *kernels) transpose(dst []float32, ds int, src []float32, ss, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	need("transpose", "dst", len(dst), span(cols, ds, rows))
	need("transpose", "src", len(src), span(rows, ss, cols))
	kern.table.transpose(dst, ds, src, ss, rows, cols)
}

func (kern *kernels) adam(p, g, m, v []float32, co *AdamCoefficients) {
	need("adam", "g", len(g), len(p))
	need("adam", "m", len(m), len(p))
	need("adam", "v", len(v), len(p))
	kern.table.adam(p, g, m, v, co)
}

func (kern *kernels) dotRows(dst, x []float32, xs int, y []float32, ys, n int) {
	need("dotRows", "x", len(x), span(len(dst), xs, n))
	need("dotRows", "y", len(y), span(len(dst), ys, n))
	kern.table.dotRows(dst, x, xs, y, ys, n)
}

func (kern *kernels) sqdistRows(dst, x []float32, xs int, y []float32) {
	need("sqdistRows", "x", len(x), span(len(dst), xs, len(y)))
	kern.table.sqdistRows(dst, x, xs, y)
}

func (kern *kernels) quadRows(dst, x []float32, xs int, y, w []float32) {
	need("quadRows", "x", len(x), span(len(dst), xs, len(y)))
	need("quadRows", "w", len(w), len(y))
	kern.table.quadRows(dst, x, xs, y, w)
}

func (kern *kernels) sum(x []float32) float64 { return kern.table.sum(x) }

func (kern *kernels) dot(x, y []float32) float64 {
	need("dot", "y", len(y), len(x))
	return kern.table.dot(x, y)
}

func (kern *kernels) squares(x []float32, mean float64) float64 { return kern.table.squares(x, mean) }

// addRows adds the rows at of x, whose columns are the elements of sum.
func (kern *kernels) addRows(sum []float64, x []float32, xs int, at []int32) {
	last := int32(-1)
	for _, i := range at {
		if i < 0 {
			panic(fmt.Sprintf("engine: addRows: row %d", i))
		}
		last = max(last, i)
	}
	need("addRows", "x", len(x), span(int(last)+1, xs, len(sum)))
	kern.table.addRows(sum, x, xs, at)
}

// addFirstRows adds the first rows of x, at most as many as firstRows has.
func (kern *kernels) addFirstRows(sum []float64, x []float32, xs, rows int) {
	need("addRows", "x", len(x), span(rows, xs, len(sum)))
	kern.table.addRows(sum, x, xs, firstRows[:rows])
}

// firstRows lists the rows 0, 1, 2, ...
var firstRows = func() (list [1024]int32) {
	for i := range list {
		list[i] = int32(i)
	}
	return list
}()

// normal is r.Normal(dst).
func (kern *kernels) normal(dst []float32, r *num.Rand) {
	for len(dst) >= 16 {
		n := min(len(dst), 4096) &^ 15
		kern.table.normal(dst[:n], r.State())
		r.Skip(uint64(n))
		dst = dst[n:]
	}
	r.Normal(dst)
}

func (kern *kernels) exp(dst, x []float32) {
	need("exp", "x", len(x), len(dst))
	kern.table.exp(dst, x)
}

func (kern *kernels) log(dst, x []float32) {
	need("log", "x", len(x), len(dst))
	kern.table.log(dst, x)
}

func (kern *kernels) read(x []float32, rounds int) uint32 { return kern.table.read(x, rounds) }

func (kern *kernels) write(dst []float32, a float32, rounds int) { kern.table.write(dst, a, rounds) }

func (kern *kernels) triad(a float32, dst, x, y []float32, rounds int) {
	need("triad", "x", len(x), len(dst))
	need("triad", "y", len(y), len(dst))
	kern.table.triad(a, dst, x, y, rounds)
}
