package engine

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
