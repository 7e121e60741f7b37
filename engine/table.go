package engine

// kernels is one tier: a table of functions with the same arguments and the same bits
// in every tier. To add a tier is to add a table (tierTable chooses among them).
//
// The raw functions trust their arguments and write through pointers; everything else
// in the package calls them by the methods below, which check every length first, or have it
// checked by their only callers.
type table struct {
	tier Tier

	// flopPerMicrosecond is a rough speed of one thread. It decides when work is too
	// small to share, and no result.
	flopPerMicrosecond float64

	// panel multiplies with panels of nr columns (a multiple of the 16 lanes), one after the
	// other, in tiles of up to mr rows. Every prefetchLines inner indices a tile fetches from the panel
	// that comes next, once it has fetched its lines of C, if it does: a row in prefetchC inner indices.
	mr, nr        int
	kc, mc        int // largest block of a product: inner indices and rows of A
	prefetchLines int
	prefetchC     int
	panel         func(k int, a []float32, ars, acs, tileStride int, b []float32, brs int, c []float32, crs, tiles, rows, tall int, acc bool, next []float32, step, panels int)

	// narrow is panel for the first cols columns of one panel, at most half of them, or nil
	// where a tier has no tile for them.
	narrow func(k int, a []float32, ars, acs, tileStride int, b []float32, brs int, c []float32, crs, cols, tiles, rows, tall int, acc bool, next []float32, step int)

	// pair is panel for panels two at a time, of at least pairInner inner indices,
	// in tiles of up to pairRows rows that are contiguous. nil, and pairRows 0, where a tier has no
	// registers for them.
	pairRows int
	pair     func(k int, a []float32, ars int, b, c []float32, crs, tiles, rows, tall int, acc bool, next []float32, step, pairs int)

	// quadSmallD, for several components, and vjpSmallD are products of few features whose left
	// operand is made on the way, in tiles of up to smallDRows rows and smallDCols columns. nil, and
	// smallDRows 0, where a tier has none.
	smallDRows, smallDCols int
	quadSmallD             func(comps int, g []float32, gc, gs int, q []float32, qc int, x []float32, xs int, mu []float32, d int, p []Packed, work []float32, tiles, rows, tall int, next []float32, step int)
	vjpSmallD              func(v []float32, vs int, r, u []float32, us int, t, x []float32, xs int, mu, p, work []float32, tiles, rows, tall int, acc bool, next []float32, step int)

	// quadTriangle is G and q of a single row for groups of eight and of four components beside
	// each other, and quadSixteens, which is nil where registers hold no more than eight, for those
	// of sixteen; mixtureLanes and moveLanes are the rest of its step (triangle.go). nil where
	// a tier has none. Blocks of up to aloneRows rows climb faster one by one in this way; 0 where
	// there is no such way.
	aloneRows    int
	quadTriangle func(eights, fours int, g, q, x, mu, p, work []float32)
	quadSixteens func(n int, g, q, x, mu, p, work []float32)
	mixtureLanes func(q, c []float32)
	moveLanes    func(sixteens, eights, fours int, alpha float32, x, r, g []float32)

	// moveRows is gradient and axpy of rows of a multiple of moveCols features, or nil.
	moveRows func(alpha float32, x []float32, xs int, r []float32, rs int, g []float32, gs, gr, rows, n, k int)

	// panelAt is panel of one panel with the rows of B anywhere.
	panelAt func(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, tall int, acc bool)

	// addPatches and spreadPatches are nil where other kernels do it (Worker.AddPatches,
	// Worker.SpreadPatches). They are for patches of patchRows x (at most addCols, or exactly
	// spreadCols).
	addPatches    func(c []float32, crs, cols int, r, b []float32, at []int32, stride int)
	spreadPatches func(b, r []float32, at []int32, w []float32, ws, stride int)

	transpose    func(dst []float32, ds int, src []float32, ss, rows, cols int)
	reluPool     func(y []float32, which []byte, x []float32, stride, w int)
	poolBackward func(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int)

	add                    func(dst, x, y []float32)
	subRows                func(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)
	multiply               func(dst, x, y []float32)
	axpy                   func(a float32, x, y []float32)
	scale                  func(dst []float32, a float32, x []float32)
	shift                  func(dst []float32, a float32, x []float32)
	relu                   func(dst, x []float32)
	reluBackward           func(dst, x, y []float32)
	normBackward           func(dst, x, y []float32, c1, c2, rstd float32)
	adam                   func(p, g, m, v []float32, co *AdamCoefficients)
	dotRows                func(dst, x []float32, xs int, y []float32, ys, n int)
	sqdistRows             func(dst, x []float32, xs int, y []float32)
	quadRows               func(dst, x []float32, xs int, y, w []float32)
	sum                    func(x []float32) float32
	exp                    func(dst, x []float32)
	log                    func(dst, x []float32)
	gradient               func(dst, r []float32, rs int, g []float32, gs, k int)
	gradRows               func(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)
	gradDeltas             func(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)
	mixture                func(q []float32, ld int, c, phi []float32)
	responsibilityBackward func(r, s []float32, ld int, sum []float32, k int)

	// The measuring loops (RunStream, RunFMA).
	read  func(x []float32, rounds int) uint32
	write func(dst []float32, a float32, rounds int)
	triad func(a float32, dst, x, y []float32, rounds int)

	// fmaPeak runs rounds of multiply-adds that touch no memory; peakRounds of them take
	// some tens of microseconds.
	fmaPeak          func(rounds int)
	flopPerPeakRound float64
	peakRounds       int
}

// kernels are the functions of a tier behind methods that check every length first, or have
// it checked by their only callers. The rest of the package calls no others.
type kernels struct{ table }

var genericKernels = kernels{table{
	tier:                   Generic,
	flopPerMicrosecond:     1e3,
	mr:                     genericMR,
	nr:                     genericNR,
	kc:                     innerBlock(genericNR),
	mc:                     outerBlock(innerBlock(genericNR)),
	prefetchLines:          4,
	panel:                  panelGeneric,
	panelAt:                panelAtGeneric,
	transpose:              transposeGeneric,
	reluPool:               reluPoolGeneric,
	poolBackward:           poolBackwardGeneric,
	add:                    addGeneric,
	subRows:                subRowsGeneric,
	multiply:               multiplyGeneric,
	axpy:                   axpyGeneric,
	scale:                  scaleGeneric,
	shift:                  shiftGeneric,
	relu:                   reluGeneric,
	reluBackward:           reluBackwardGeneric,
	normBackward:           normBackwardGeneric,
	adam:                   adamGeneric,
	dotRows:                dotRowsGeneric,
	sqdistRows:             sqdistRowsGeneric,
	quadRows:               quadRowsGeneric,
	sum:                    sumGeneric,
	exp:                    expGeneric,
	log:                    logGeneric,
	gradient:               gradientGeneric,
	gradRows:               gradRowsGeneric,
	gradDeltas:             gradDeltasGeneric,
	mixture:                mixtureGeneric,
	responsibilityBackward: responsibilityBackwardGeneric,
	read:                   readGeneric,
	write:                  writeGeneric,
	triad:                  triadGeneric,
	fmaPeak:                fmaPeakGeneric,
	flopPerPeakRound:       2 * genericMR * genericNR,
	peakRounds:             500,
}}

// The tile of the generic tier.
const (
	genericMR = 6
	genericNR = 16
)

// moveCols is the unit of the features of moveRows.
const moveCols = 64

// pairInner is the least inner size of pair, which ends a tile by so many inner indices at a time.
const pairInner = 4
