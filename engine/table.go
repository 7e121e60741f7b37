package engine

// table is one tier: unchecked functions with the same arguments and the same bits in every tier,
// and the sizes that they work in. To add a tier, add its table to the machineKernels of its
// architecture (asm_*.go) and a line to tierSpecs.
//
// The functions trust their arguments and write through pointers. What they compute is defined by
// their pure-Go twins (generic_*.go). An optional field may be unset; other functions then do
// its work.
type table struct {
	tier    Tier
	missing func() string `optional:"yes"` // what this machine lacks for the tier, or ""

	// flopPerMicrosecond is a rough speed of one thread. It decides how work is shared, and no
	// result.
	flopPerMicrosecond float64

	// The blocks of a matrix product, named as in BLIS. A panel is nr columns wide (a multiple of
	// the 16 lanes), a tile at most mr rows high. A block has at most kc inner indices, and mc rows
	// of A where it has as many.
	mr, nr int
	kc, mc int

	// A tile first prefetches its part of C, one row every prefetchC inner indices if that is not
	// 0, and then what is read next, once every prefetchLines inner indices.
	prefetchLines int
	prefetchC     int `optional:"yes"`

	// panel multiplies with panels that follow each other.
	panel func(args *panelArgs)

	// narrow is panel for the first cols columns of one panel, at most half of them.
	narrow func(args *panelArgs) `optional:"yes"`

	// panelAt is panel for rows of B and columns of A that begin anywhere; panels lie beside each other.
	panelAt func(args *panelArgs)

	// quadSmallD (of several components) and vjpSmallD are products for small d whose left operand
	// is computed on the way, in tiles of up to smallDRows rows and smallDCols columns.
	smallDRows int                        `optional:"yes"`
	smallDCols int                        `optional:"yes"`
	quadSmallD func(args *quadSmallDArgs) `optional:"yes"`
	vjpSmallD  func(args *vjpSmallDArgs)  `optional:"yes"`

	// The step of a single row (lanes.go): quadTriangle computes G and q for groups of eight and
	// four components side by side, quadSixteens for groups of sixteen. Blocks of up to singleRows
	// rows are faster row by row in this way.
	singleRows   int                                                                 `optional:"yes"`
	quadTriangle func(eights, fours int, g, q, x, mu, p, work []float32)             `optional:"yes"`
	quadSixteens func(n int, g, q, x, mu, p, work []float32)                         `optional:"yes"`
	mixtureLanes func(q, c []float32)                                                `optional:"yes"`
	moveLanes    func(sixteens, eights, fours int, alpha float32, x, r, g []float32) `optional:"yes"`

	// moveRows is gradient and axpy for rows of a multiple of moveCols features.
	moveRows func(args *moveRowsArgs) `optional:"yes"`

	gradient               func(dst, r []float32, rs int, g []float32, gs, k int)
	gradRows               func(args *gradRowsArgs)
	gradDeltas             func(args *gradDeltasArgs)
	mixture                func(q []float32, ld int, c, phi []float32)
	responsibilityBackward func(r, s []float32, ld int, sum []float32, k int)

	// Convolution and pooling, for the sizes in conv.go.
	addPatches    func(c []float32, crs, cols int, r, b []float32, at []int32, stride int) `optional:"yes"`
	spreadPatches func(b, r []float32, at []int32, w []float32, ws, stride int)            `optional:"yes"`
	poolBackward  func(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int)

	// convPool handles convImages images and convChannels output channels at a time, or convFewer.
	convImages, convChannels int
	convFewer                int `optional:"yes"`
	convPool                 func(a *ConvPool)

	transpose    func(dst []float32, ds int, src []float32, ss, rows, cols int)
	subRows      func(args *subRowsArgs)
	multiply     func(dst, x, y []float32)
	axpy         func(dst []float32, a float32, x, y []float32)
	axpyProducts func(args *axpyProductsArgs)
	scale        func(dst []float32, a float32, x []float32)
	reluBackward func(dst, x, y []float32)
	decay        func(a float32, x []float32)
	normalise    func(dst, x []float32, mean, rstd float64)
	normBackward func(dst, x, y []float32, c1, c2, rstd float64)
	adam         func(p, g, m, v []float32, co *AdamCoefficients)
	dotRows      func(dst, x []float32, xs int, y []float32, ys, n int)
	sqdistRows   func(dst, x []float32, xs int, y []float32)
	quadRows     func(dst, x []float32, xs int, y, w []float32)
	sum          func(x []float32) float64
	dot          func(x, y []float32) float64
	squares      func(x []float32, mean float64) float64
	addRows      func(sum []float64, x []float32, xs int, at []int32)
	normal       func(dst []float32, state uint64)
	exp          func(dst, x []float32)
	log          func(dst, x []float32)

	// The measuring loops of RunStream.
	read  func(x []float32, rounds int) uint32
	write func(dst []float32, a float32, rounds int)
	triad func(a float32, dst, x, y []float32, rounds int)

	// fmaPeak runs rounds of multiply-adds on registers, for RunFMA; peakRounds of them take tens
	// of microseconds.
	fmaPeak          func(rounds int)
	flopPerPeakRound float64
	peakRounds       int
}

// kernels are the functions of a tier behind methods that check the length of every slice, or
// whose only callers do. The rest of the package calls the methods.
type kernels struct{ table }

// genericKernels is the tier in pure Go.
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
	poolBackward:           poolBackwardGeneric,
	convImages:             genericConvImages,
	convChannels:           genericConvChannels,
	convPool:               convPoolGeneric,
	subRows:                subRowsGeneric,
	multiply:               multiplyGeneric,
	axpy:                   axpyGeneric,
	axpyProducts:           axpyProductsGeneric,
	scale:                  scaleGeneric,
	reluBackward:           reluBackwardGeneric,
	decay:                  decayGeneric,
	normalise:              normaliseGeneric,
	normBackward:           normBackwardGeneric,
	adam:                   adamGeneric,
	dotRows:                dotRowsGeneric,
	sqdistRows:             sqdistRowsGeneric,
	quadRows:               quadRowsGeneric,
	sum:                    sumGeneric,
	dot:                    dotGeneric,
	squares:                squaresGeneric,
	addRows:                addRowsGeneric,
	normal:                 normalGeneric,
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

// The tiles of the generic tier.
const (
	genericMR           = 6
	genericNR           = 16
	genericConvImages   = 4
	genericConvChannels = 4
)
