package engine

import (
	"fmt"
	"math"
)

// kernels is one tier: a table of functions with the same arguments and the same bits
// in every tier. To add a tier is to add a table (tierTable chooses among them).
//
// The raw functions trust their arguments and write through pointers; everything else
// in the package calls them by the methods below, which check every length first, or have it
// checked by their only callers.
type kernels struct {
	tier Tier

	// flopsAMicrosecond is a rough speed of one thread. It decides when work is too
	// small to share, and no result.
	flopsAMicrosecond float64

	// rawPanel multiplies with panels of nr columns (a multiple of the 16 lanes), one after the
	// other, in tiles of up to mr rows. Every linesAStep inner indices a tile fetches from the panel
	// that comes next, once it has fetched its lines of C, if it does: a row in rowOfC inner indices.
	mr, nr     int
	kc, mc     int // largest block of a product: inner indices and rows of A
	linesAStep int
	rowOfC     int
	rawPanel   func(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, tiles, rows, longer int, acc bool, next []float32, step, panels int)

	// rawNarrow is rawPanel for the first cols columns of one panel, at most half of them, or nil
	// where a tier has no tile for them.
	rawNarrow func(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, cols, tiles, rows, longer int, acc bool, next []float32, step int)

	// rawPair is rawPanel for panels two at a time, of at least pairInner inner indices,
	// in tiles of up to pairRows rows that are contiguous. nil, and pairRows 0, where a tier has no
	// registers for them.
	pairRows int
	rawPair  func(k int, a []float32, ars int, b, c []float32, crs, tiles, rows, longer int, acc bool, next []float32, step, pairs int)

	// rawQuadFew, for several components, and rawPullFew are products of few features whose left
	// operand is made on the way, in tiles of up to fewRows rows and fewCols columns. nil, and
	// fewRows 0, where a tier has none.
	fewRows, fewCols int
	rawQuadFew       func(comps int, g []float32, gc, gs int, q []float32, qc int, x []float32, xs int, mu []float32, d int, p []Packed, work []float32, tiles, rows, longer int, next []float32, step int)
	rawPullFew       func(v []float32, vs int, r, u []float32, us int, t, x []float32, xs int, mu, p, work []float32, tiles, rows, longer int, acc bool, next []float32, step int)

	// rawQuadTriangle is G and q of a single row for groups of eight and of four components beside
	// each other, and rawQuadSixteens, which is nil where registers hold no more than eight, for those
	// of sixteen; rawMixtureLanes and rawMoveLanes are the rest of its step (triangle.go). nil where
	// a tier has none. Blocks of up to aloneRows rows climb faster one by one in this way; 0 where
	// there is no such way.
	aloneRows       int
	rawQuadTriangle func(eights, fours int, g, q, x, mu, p, work []float32)
	rawQuadSixteens func(n int, g, q, x, mu, p, work []float32)
	rawMixtureLanes func(q, c []float32)
	rawMoveLanes    func(sixteens, eights, fours int, alpha float32, x, r, g []float32)

	// rawMoveRows is rawGradient and rawAxpy of rows of a multiple of moveCols features, or nil.
	rawMoveRows func(alpha float32, x []float32, xs int, r []float32, rs int, g []float32, gs, gr, rows, n, k int)

	// rawPanelAt is rawPanel of one panel with the rows of B anywhere.
	rawPanelAt func(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, longer int, acc bool)

	// rawAddPatches and rawSpreadPatches are nil where other kernels do it (Worker.AddPatches,
	// Worker.SpreadPatches). They are for patches of patchRows x (at most addCols, or exactly
	// spreadCols).
	rawAddPatches    func(c []float32, crs, cols int, r, b []float32, at []int32, stride int)
	rawSpreadPatches func(b, r []float32, at []int32, w []float32, ws, stride int)

	rawTranspose    func(dst []float32, ds int, src []float32, ss, rows, cols int)
	rawReLUPool     func(y []float32, which []byte, x []float32, stride, w int)
	rawPoolBackward func(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int)

	rawAdd              func(dst, x, y []float32)
	rawSubRows          func(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)
	rawMultiply         func(dst, x, y []float32)
	rawAxpy             func(a float32, x, y []float32)
	rawScale            func(dst []float32, a float32, x []float32)
	rawShift            func(dst []float32, a float32, x []float32)
	rawReLU             func(dst, x []float32)
	rawReLUBackward     func(dst, x, y []float32)
	rawNormBackward     func(dst, x, y []float32, c1, c2, rstd float32)
	rawAdam             func(p, g, m, v []float32, co *AdamCoefficients)
	rawDotRows          func(dst, x []float32, xs int, y []float32, ys, n int)
	rawSqdistRows       func(dst, x []float32, xs int, y []float32)
	rawQuadRows         func(dst, x []float32, xs int, y, w []float32)
	rawSum              func(x []float32) float32
	rawExp              func(dst, x []float32)
	rawLog              func(dst, x []float32)
	rawGradient         func(dst, r []float32, rs int, g []float32, gs, k int)
	rawPullRows         func(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)
	rawPullDeltas       func(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)
	rawMixture          func(q []float32, ld int, c, phi []float32)
	rawResponsibilities func(r, s []float32, ld int, sum []float32, k int)

	// The measuring loops (RunStream, RunFMA).
	rawRead  func(x []float32, rounds int) uint32
	rawWrite func(dst []float32, a float32, rounds int)
	rawTriad func(a float32, dst, x, y []float32, rounds int)

	// fmaPeak runs rounds of multiply-adds that touch no memory; peakRounds of them take
	// some tens of microseconds.
	fmaPeak         func(rounds int)
	flopsAPeakRound float64
	peakRounds      int
}

var genericKernels = kernels{
	tier:                Generic,
	flopsAMicrosecond:   1e3,
	mr:                  genericMR,
	nr:                  genericNR,
	kc:                  innerBlock(genericNR),
	mc:                  outerBlock(innerBlock(genericNR)),
	linesAStep:          4,
	rawPanel:            panelGeneric,
	rawPanelAt:          panelAtGeneric,
	rawTranspose:        transposeGeneric,
	rawReLUPool:         reluPoolGeneric,
	rawPoolBackward:     poolBackwardGeneric,
	rawAdd:              addGeneric,
	rawSubRows:          subRowsGeneric,
	rawMultiply:         multiplyGeneric,
	rawAxpy:             axpyGeneric,
	rawScale:            scaleGeneric,
	rawShift:            shiftGeneric,
	rawReLU:             reluGeneric,
	rawReLUBackward:     reluBackwardGeneric,
	rawNormBackward:     normBackwardGeneric,
	rawAdam:             adamGeneric,
	rawDotRows:          dotRowsGeneric,
	rawSqdistRows:       sqdistRowsGeneric,
	rawQuadRows:         quadRowsGeneric,
	rawSum:              sumGeneric,
	rawExp:              expGeneric,
	rawLog:              logGeneric,
	rawGradient:         gradientGeneric,
	rawPullRows:         pullRowsGeneric,
	rawPullDeltas:       pullDeltasGeneric,
	rawMixture:          mixtureGeneric,
	rawResponsibilities: responsibilityBackwardGeneric,
	rawRead:             readGeneric,
	rawWrite:            writeGeneric,
	rawTriad:            triadGeneric,
	fmaPeak:             fmaPeakGeneric,
	flopsAPeakRound:     2 * genericMR * genericNR,
	peakRounds:          500,
}

// The tile of the generic tier.
const (
	genericMR = 6
	genericNR = 16
)

// moveCols is the unit of the features of rawMoveRows.
const moveCols = 64

// pairInner is the least inner size of rawPair, which ends a tile by so many inner indices at a time.
const pairInner = 4

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

// tileWalk walks down the tiles of a panel, for the tiers whose assembly is one tile. Each
// has the loop to itself, because calls by way of a variable cost a percent.
type tileWalk struct {
	a, c, next      []float32
	ars, strip, crs int
	rows, longer    int
	fetch           int // floats that a tile fetches of next
}

// tile returns the number of rows of the tile.
func (w *tileWalk) tile() int {
	if w.longer > 0 {
		return w.rows + 1
	}
	return w.rows
}

// step goes on to the next tile, after one of n rows. After the last one nothing is left
// to stand on: the slices become as short as they must.
func (w *tileWalk) step(n int) {
	w.longer--
	at := w.strip
	if at == 0 {
		at = n * w.ars
	}
	w.a = w.a[min(at, len(w.a)):]
	w.c = w.c[min(n*w.crs, len(w.c)):]
	w.next = w.next[min(w.fetch, len(w.next)):]
}

// fmaPeakGeneric runs the tile, a multiply-add of 96 elements a round, on operands that
// stay in the cache: emulated multiply-adds are bound by nothing else.
func fmaPeakGeneric(rounds int) {
	var b, c [genericNR]float32
	a := [...]float32{0.5}
	for i := range b {
		b[i] = float32(i)
	}
	sgemmGeneric6x16(rounds, a[:], 0, 0, b[:], 0, c[:], 0, genericMR, true, nil, 0)
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

func (k *kernels) reluPool(y []float32, which []byte, x []float32, stride, w int) {
	if len(y) == 0 {
		return
	}
	if n := span(2*len(y)/w, stride, 2*w); len(x) < n {
		short("reluPool", "x", len(x), n)
	}
	if len(which) > 0 && len(which) < len(y) {
		short("reluPool", "which", len(which), len(y))
	}
	k.rawReLUPool(y, which, x, stride, w)
}

func (k *kernels) poolBackward(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) int {
	if len(dy) == 0 {
		return 0
	}
	if n := len(dy) + PoolSlack; len(at) < n {
		short("poolBackward", "at", len(at), n)
	} else if len(v) < n {
		short("poolBackward", "v", len(v), n)
	}
	if n := span(2*len(dy)/w, cols, 2*w); len(sums) < n {
		short("poolBackward", "sums", len(sums), n)
	}
	if len(which) < len(dy) {
		short("poolBackward", "which", len(which), len(dy))
	}
	if w > poolCols {
		return poolBackwardGeneric(at, v, sums, dy, which, w, cols, right, down)
	}
	return k.rawPoolBackward(at, v, sums, dy, which, w, cols, right, down)
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
func (k *kernels) addPatches(c Matrix, r, b []float32, at []int32, stride int) bool {
	if k.rawAddPatches == nil || c.Rows != patchRows || c.Cols > addCols {
		return false
	}
	k.rawAddPatches(c.Data, c.RS, c.Cols, r, b, at, stride)
	return true
}

// spreadPatches adds to b; it says whether there is a kernel for such patches.
func (k *kernels) spreadPatches(b, r []float32, at []int32, w Matrix, stride int) bool {
	if k.rawSpreadPatches == nil || w.Rows != patchRows || w.Cols != spreadCols {
		return false
	}
	k.rawSpreadPatches(b, r, at, w.Data, w.RS, stride)
	return true
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

func (k *kernels) gradient(dst, r []float32, rs int, g []float32, gs, comps int) {
	if w := span(comps, rs, 1); len(r) < w {
		short("gradient", "r", len(r), w)
	}
	if w := span(comps, gs, len(dst)); len(g) < w {
		short("gradient", "g", len(g), w)
	}
	k.rawGradient(dst, r, rs, g, gs, comps)
}

// moveRows moves the rows x along the gradients of their responsibilities r[i*rs+b] and
// G_i g[i*gs+b*gr:]. grad is memory for a gradient.
func (k *kernels) moveRows(alpha float32, x Matrix, r []float32, rs int, g []float32, gs, gr, comps int, grad []float32) {
	if k.rawMoveRows == nil || x.Cols%moveCols != 0 {
		for b := range x.Rows {
			k.gradient(grad, r[b:], rs, g[b*gr:], gs, comps)
			k.axpy(alpha, grad, x.Row(b))
		}
		return
	}
	n := x.Cols
	const bytes = 1 << 20             // of G, which may be far away
	most := max(bytes/(4*comps*n), 1) // rows of a call, none of which may be long
	for b := 0; b < x.Rows; b += most {
		rows := min(most, x.Rows-b)
		part := x.Slice(b, b+rows, 0, n)
		if w := span(rows, x.RS, n); len(part.Data) < w {
			short("moveRows", "x", len(part.Data), w)
		}
		if w := span(comps, rs, rows); len(r[b:]) < w {
			short("moveRows", "r", len(r[b:]), w)
		}
		if w := span(comps, gs, span(rows, gr, n)); len(g[b*gr:]) < w {
			short("moveRows", "g", len(g[b*gr:]), w)
		}
		k.rawMoveRows(alpha, part.Data, x.RS, r[b:], rs, g[b*gr:], gs, gr, rows, n, comps)
	}
}

func (k *kernels) pullRows(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int) {
	rows := len(r)
	if w := span(rows, ds, n); len(dst) < w {
		short("pullRows", "dst", len(dst), w)
	}
	if w := span(rows, xs, n); len(x) < w {
		short("pullRows", "x", len(x), w)
	}
	if len(t) < rows {
		short("pullRows", "t", len(t), rows)
	}
	if w := span(rows, ys, n); len(y) < w {
		short("pullRows", "y", len(y), w)
	}
	k.rawPullRows(dst, ds, r, x, xs, t, h, y, ys, n)
}

func (k *kernels) pullDeltas(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32) {
	rows, n := len(r), len(mu)
	if w0 := span(rows, ld, n); len(w) < w0 {
		short("pullDeltas", "w", len(w), w0)
	} else if len(d) > 0 && len(d) < w0 {
		short("pullDeltas", "d", len(d), w0)
	}
	if w := span(rows, us, n); len(u) < w {
		short("pullDeltas", "u", len(u), w)
	}
	if len(t) < rows {
		short("pullDeltas", "t", len(t), rows)
	}
	if w := span(rows, xs, n); len(x) < w {
		short("pullDeltas", "x", len(x), w)
	}
	if len(d) > 0 {
		if len(sr) < n {
			short("pullDeltas", "sr", len(sr), n)
		}
		if len(st) < n {
			short("pullDeltas", "st", len(st), n)
		}
	}
	k.rawPullDeltas(w, d, ld, r, u, us, t, h, x, xs, mu, sr, st)
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

// quadFew sets G and q of the rows x for the components whose centres are in mu and whose packed P,
// single blocks of whole panels, in p, or one for all: row b of G_c is at g[c*gc+b*gs:], of q_c at
// q[c*qc+b]. work is memory for fewWork numbers, next what is needed after the first component, and
// gc further on after the next one, and so on.
func (k *kernels) quadFew(g []float32, gc, gs int, q []float32, qc int, x Matrix, mu []float32, p []Packed, work, next []float32) {
	m, d := x.Rows, x.Cols
	if !k.fewFeatures(d) || len(mu)%d != 0 {
		panic(fmt.Sprintf("engine: quadFew: %d features, mu of %d numbers", d, len(mu)))
	}
	comps := len(mu) / d
	if w := span(comps, gc, span(m, gs, d)); len(g) < w {
		short("quadFew", "g", len(g), w)
	}
	if w := span(comps, qc, m); len(q) < w {
		short("quadFew", "q", len(q), w)
	}
	if w := span(m, x.RS, d); len(x.Data) < w {
		short("quadFew", "x", len(x.Data), w)
	}
	if len(p) != 1 && len(p) < comps {
		short("quadFew", "p", len(p), comps)
	}
	for i := range p[:min(comps, len(p))] {
		if len(p[i].data) < d*d {
			short("quadFew", "P", len(p[i].data), d*d)
		}
	}
	if n := k.fewWork(d); len(work) < n {
		short("quadFew", "work", len(work), n)
	}
	if m > 0 && comps > 0 {
		tiles, rows, longer := split(m, k.fewRows)
		next, step := k.fetching(next, p[0].data, tiles*d/k.fewCols, d)
		k.rawQuadFew(comps, g, gc, gs, q, qc, x.Data, x.RS, mu, d, p[:min(comps, len(p))], work, tiles, rows, longer, next, step)
	}
}

// fewWork is how much memory quadFew works in: for D_i of three tiles, each row with 16 lanes of q.
func (k *kernels) fewWork(d int) int { return 3 * k.fewRows * (d + 16) }

// inACall is how many pieces of work of so many flop a call may do, a hundred microseconds of them:
// nothing can interrupt it.
func (k *kernels) inACall(flops int) int { return int(100*k.flopsAMicrosecond) / flops }

// quadTriangle sets g and q to G and q of the row x for groups of components, as laneGroups has them,
// whose centres are the columns of mu. work is memory for as many rows like x as a group has
// components, or for 8.
func (k *kernels) quadTriangle(n laneGroups, g, q, x, mu, p, work []float32) {
	d, lanes := len(x), n.lanes()
	switch {
	case d%16 != 0:
		panic(fmt.Sprintf("engine: quadTriangle: %d features, expected a multiple of 16", d))
	case len(g) < lanes*d:
		short("quadTriangle", "g", len(g), lanes*d)
	case len(q) < lanes:
		short("quadTriangle", "q", len(q), lanes)
	case len(mu) < lanes*d:
		short("quadTriangle", "mu", len(mu), lanes*d)
	case len(p) < lanes*d*(d+1)/2:
		short("quadTriangle", "p", len(p), lanes*d*(d+1)/2)
	case len(work) < n.widest()*d:
		short("quadTriangle", "work", len(work), n.widest()*d)
	}
	if d == 0 {
		return
	}
	skip := func(comps int) { g, q, mu, p = g[comps*d:], q[comps:], mu[comps*d:], p[comps*d*(d+1)/2:] }
	most := max(k.inACall(32*d*d), 1)
	for n.sixteens > 0 {
		some := min(most, n.sixteens)
		k.rawQuadSixteens(some, g, q, x, mu, p, work)
		skip(16 * some)
		n.sixteens -= some
	}
	most = max(k.inACall(16*d*d), 1)
	for ; n.eights > most; n.eights -= most {
		k.rawQuadTriangle(most, 0, g, q, x, mu, p, work)
		skip(8 * most)
	}
	if n.eights > 0 || n.fours > 0 {
		k.rawQuadTriangle(n.eights, n.fours, g, q, x, mu, p, work)
	}
}

// pullFew sets v to -N_i P, or adds it to v, of -N_i as pullDeltas makes it of the rows x and
// u, and of P as quadFew has it. work is memory for fewRows rows.
func (k *kernels) pullFew(v Matrix, r []float32, u Matrix, t []float32, x Matrix, mu []float32, p *Packed, acc bool, work, next []float32) {
	m, d := v.Rows, len(mu)
	for _, rows := range [...]*Matrix{&v, &u, &x} {
		if w := span(m, rows.RS, d); len(rows.Data) < w {
			short("pullFew", "rows", len(rows.Data), w)
		}
	}
	if len(r) < m {
		short("pullFew", "r", len(r), m)
	}
	if len(t) < m {
		short("pullFew", "t", len(t), m)
	}
	if !k.fewFeatures(d) || len(p.data) < d*d {
		short("pullFew", "p", len(p.data), d*d)
	}
	if n := k.fewRows * d; len(work) < n {
		short("pullFew", "work", len(work), n)
	}
	if m > 0 {
		tiles, rows, longer := split(m, k.fewRows)
		next, step := k.fetching(next, p.data, tiles*d/k.fewCols, d)
		k.rawPullFew(v.Data, v.RS, r, u.Data, u.RS, t, x.Data, x.RS, mu, p.data, work, tiles, rows, longer, acc, next, step)
	}
}

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

func (k *kernels) mixture(q []float32, ld int, c, phi []float32) {
	if w := span(len(c), ld, len(phi)); len(q) < w {
		short("mixture", "q", len(q), w)
	}
	if len(phi) == 1 && ld == 1 {
		phi[0] = k.mixtureRow(q[:len(c)], c)
		return
	}
	k.rawMixture(q, ld, c, phi)
}

// mixtureRow is mixture of a single row. The kernels take a register of rows at a time, of which
// one would count: here it is one of components, in the same steps.
func (k *kernels) mixtureRow(q, c []float32) (phi float32) {
	m := float32(math.Inf(-1))
	for i, v := range q {
		half := float32(0.5 * v)
		l := c[i] - half
		if half+half != v { // rounded
			l = FMA32(-0.5, v, c[i])
		}
		q[i] = l
		if l > m {
			m = l
		}
	}
	for i, l := range q {
		if q[i] = l - m; q[i] < ResponsibilityCut {
			q[i] = float32(math.Inf(-1)) // whose exponential is 0
		}
	}
	k.rawExp(q, q)
	var s float32
	for _, e := range q {
		s += e
	}
	phi = m + Log32(s)
	for i := range q {
		q[i] /= s
	}
	return phi
}

// mixtureLanes turns q into responsibilities as mixture does, of a single row whose components fill
// registers of eight: those that there are not have c -Inf.
func (k *kernels) mixtureLanes(q, c []float32) {
	if len(q)%8 != 0 || len(q) == 0 {
		panic(fmt.Sprintf("engine: mixtureLanes: %d components, expected a multiple of 8", len(q)))
	}
	if len(c) < len(q) {
		short("mixtureLanes", "c", len(c), len(q))
	}
	k.rawMixtureLanes(q, c)
}

// moveLanes moves the row x by alpha times its gradient, of G as quadTriangle leaves it.
func (k *kernels) moveLanes(n laneGroups, alpha float32, x, r, g []float32) {
	d, lanes := len(x), n.lanes()
	switch {
	case d%16 != 0:
		panic(fmt.Sprintf("engine: moveLanes: %d features, expected a multiple of 16", d))
	case len(r) < lanes:
		short("moveLanes", "r", len(r), lanes)
	case len(g) < lanes*d:
		short("moveLanes", "g", len(g), lanes*d)
	}
	if d > 0 {
		k.rawMoveLanes(n.sixteens, n.eights, n.fours, alpha, x, r, g)
	}
}

func (k *kernels) responsibilities(r, s []float32, ld int, sum []float32, comps int) {
	w := span(comps, ld, len(sum))
	if len(r) < w {
		short("responsibilities", "r", len(r), w)
	}
	if len(s) < w {
		short("responsibilities", "s", len(s), w)
	}
	k.rawResponsibilities(r, s, ld, sum, comps)
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
