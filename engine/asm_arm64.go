//go:build arm64 && !purego && !noasm

package engine

// machineKernels lists the tiers of this architecture. NEON is part of every arm64 machine that
// Go runs on.
var machineKernels = []*kernels{&neonKernels}

var neonKernels = kernels{table{
	tier:                   NEON,
	flopPerMicrosecond:     30e3,
	mr:                     6,
	nr:                     16,
	kc:                     innerBlock(16),
	mc:                     outerBlock(innerBlock(16)),
	prefetchLines:          4,
	panel:                  panelNEON,
	panelAt:                panelAtNEON,
	transpose:              transposeGeneric,
	poolBackward:           poolBackwardGeneric,
	convImages:             genericConvImages,
	convChannels:           genericConvChannels,
	convPool:               convPoolGeneric,
	subRows:                subRowsNEON,
	multiply:               multiplyNEON,
	axpy:                   axpyNEON,
	axpyProducts:           axpyProductsNEON,
	scale:                  scaleNEON,
	reluBackward:           reluBackwardNEON,
	decay:                  decayNEON,
	normalise:              normaliseNEON,
	normBackward:           normBackwardNEON,
	adam:                   adamNEON,
	dotRows:                dotRowsNEON,
	sqdistRows:             sqdistRowsNEON,
	quadRows:               quadRowsNEON,
	sum:                    sumNEON,
	dot:                    dotNEON,
	squares:                squaresNEON,
	addRows:                addRowsNEON,
	normal:                 normalGeneric,
	exp:                    expNEON,
	log:                    logNEON,
	gradient:               gradientNEON,
	gradRows:               gradRowsNEON,
	gradDeltas:             gradDeltasNEON,
	mixture:                mixtureNEON,
	responsibilityBackward: responsibilityBackwardNEON,
	read:                   readNEON,
	write:                  writeNEON,
	triad:                  triadNEON,
	fmaPeak:                fmaPeakNEON,
	flopPerPeakRound:       24 * 8,
	peakRounds:             5000,
}}

// Without a comment, xNEON is xGeneric with NEON.

// asm_gemm_arm64.s

// panelNEON is panels of a matrix product: see panelGeneric.
func panelNEON(args *panelArgs) {
	tile := *args
	b, c, next := args.b, args.c, args.next[:cap(args.next)] // the panels that follow are prefetched, too
	for range args.panels {
		w := tileWalk{a: args.a, c: c, next: next, ars: args.ars, tileStride: args.tileStride, crs: args.crs,
			rows: args.rows, tall: args.tall, prefetch: args.k / 4 * args.step / 4}
		tile.b = b
		for range args.tiles {
			tile.rows = w.tile()
			tile.a, tile.c, tile.next = w.a, w.c, w.next
			sgemmNEON_6x16(&tile)
			w.step(tile.rows)
		}
		b, c, next = b[min(args.k*16, len(b)):], c[min(16, len(c)):], next[min(args.k*16, len(next)):]
	}
}

// sgemmNEON_6x16 is one tile of panelNEON: see sgemmGeneric6x16.
//
//go:noescape
func sgemmNEON_6x16(args *panelArgs)

// panelAtNEON is a matrix product whose rows of B and columns of A lie anywhere: see panelAtGeneric.
func panelAtNEON(args *panelArgs) {
	tile := *args
	for p := range args.panels {
		w := tileWalk{a: args.a, c: args.c[p*16:], ars: args.ars, crs: args.crs, rows: args.rows, tall: args.tall}
		tile.b = args.b[p*16:]
		for range args.tiles {
			tile.rows = w.tile()
			tile.a, tile.c = w.a, w.c
			sgemmAtNEON_6x16(&tile)
			w.step(tile.rows)
		}
	}
}

// sgemmAtNEON_6x16 is one tile of panelAtNEON.
//
//go:noescape
func sgemmAtNEON_6x16(args *panelArgs)

// asm_arm64.s

//go:noescape
func multiplyNEON(dst, x, y []float32)

//go:noescape
func subRowsNEON(args *subRowsArgs)

//go:noescape
func axpyNEON(dst []float32, a float32, x, y []float32)

//go:noescape
func axpyProductsNEON(args *axpyProductsArgs)

//go:noescape
func scaleNEON(dst []float32, a float32, x []float32)

//go:noescape
func reluBackwardNEON(dst, x, y []float32)

//go:noescape
func decayNEON(a float32, x []float32)

//go:noescape
func normaliseNEON(dst, x []float32, mean, rstd float64)

//go:noescape
func normBackwardNEON(dst, x, y []float32, c1, c2, rstd float64)

//go:noescape
func adamNEON(p, g, m, v []float32, co *AdamCoefficients)

//go:noescape
func dotRowsNEON(dst, x []float32, xs int, y []float32, ys, n int)

//go:noescape
func sqdistRowsNEON(dst, x []float32, xs int, y []float32)

//go:noescape
func quadRowsNEON(dst, x []float32, xs int, y, w []float32)

//go:noescape
func sumNEON(x []float32) float64

//go:noescape
func dotNEON(x, y []float32) float64

//go:noescape
func squaresNEON(x []float32, mean float64) float64

//go:noescape
func addRowsNEON(sum []float64, x []float32, xs int, at []int32)

//go:noescape
func expNEON(dst, x []float32)

//go:noescape
func logNEON(dst, x []float32)

// fmaPeakNEON runs rounds of 24 independent fused multiply-adds on registers, with NEON.
func fmaPeakNEON(rounds int)

//go:noescape
func readNEON(x []float32, rounds int) uint32

//go:noescape
func writeNEON(dst []float32, a float32, rounds int)

//go:noescape
func triadNEON(a float32, dst, x, y []float32, rounds int)

// pause executes n YIELD instructions, which tell the core that this thread is spinning.
func pause(n int)

// prefetch loads lines of x into the first-level cache, from its first byte on, without waiting for them.
//
//go:noescape
func prefetch(x []byte)

// prefetchToWrite is prefetch, and takes the lines from other caches.
//
//go:noescape
func prefetchToWrite(x []byte)

// asm_ascent_arm64.s

//go:noescape
func gradRowsNEON(args *gradRowsArgs)

//go:noescape
func gradDeltasNEON(args *gradDeltasArgs)

//go:noescape
func mixtureNEON(q []float32, ld int, c, phi []float32)

//go:noescape
func responsibilityBackwardNEON(r, s []float32, ld int, sum []float32, k int)

//go:noescape
func gradientNEON(dst, r []float32, rs int, g []float32, gs, k int)
