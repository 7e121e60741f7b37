//go:build amd64 && !purego && !noasm

package engine

import "github.com/klauspost/cpuid/v2"

// missingAVX512 says what this machine lacks for the AVX-512 tier, or returns "". The library
// reports AVX-512 only if the operating system saves the ZMM and mask registers.
func missingAVX512() string {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX512F):
		return "the CPU or the operating system has no AVX-512"
	case !cpuid.CPU.Supports(cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL):
		return "the CPU has no AVX-512 DQ, BW and VL"
	}
	return ""
}

var avx512Kernels = kernels{table{
	tier:                   AVX512,
	missing:                missingAVX512,
	flopPerMicrosecond:     120e3,
	mr:                     14,
	nr:                     32,
	kc:                     innerBlock(32),
	mc:                     outerBlock(innerBlock(32)),
	prefetchLines:          2,
	prefetchC:              4,
	panel:                  sgemmAVX512_14x32,
	narrow:                 sgemmAVX512_14x16,
	smallDRows:             6,
	smallDCols:             64,
	quadSmallD:             quadSmallDAVX512,
	vjpSmallD:              vjpSmallDAVX512,
	singleRows:             1,
	quadSixteens:           quadSixteensAVX512,
	quadTriangle:           quadTriangleAVX2,
	mixtureLanes:           mixtureLanesAVX2,
	moveLanes:              moveLanesAVX2,
	panelAt:                sgemmAtAVX512_14x32,
	addPatches:             addPatchesAVX512,
	spreadPatches:          spreadPatchesAVX512,
	transpose:              transposeAVX512,
	poolBackward:           poolBackwardAVX512,
	convImages:             16,
	convChannels:           4,
	convPool:               convPoolAVX512,
	subRows:                subRowsAVX512,
	multiply:               multiplyAVX512,
	axpy:                   axpyAVX512,
	axpyProducts:           axpyProductsAVX512,
	scale:                  scaleAVX512,
	reluBackward:           reluBackwardAVX512,
	decay:                  decayAVX512,
	normalise:              normaliseAVX512,
	normBackward:           normBackwardAVX512,
	adam:                   adamAVX512,
	dotRows:                dotRowsAVX512,
	sqdistRows:             sqdistRowsAVX512,
	quadRows:               quadRowsAVX512,
	sum:                    sumAVX512,
	dot:                    dotAVX512,
	squares:                squaresAVX512,
	addRows:                addRowsAVX512,
	normal:                 normalAVX512,
	exp:                    expAVX512,
	log:                    logAVX512,
	gradient:               gradientAVX512,
	moveRows:               moveRowsAVX512,
	gradRows:               gradRowsAVX512,
	gradDeltas:             gradDeltasAVX512,
	mixture:                mixtureAVX512,
	responsibilityBackward: responsibilityBackwardAVX512,
	read:                   readAVX512,
	write:                  writeAVX512,
	triad:                  triadAVX512,
	fmaPeak:                fmaPeakAVX512,
	flopPerPeakRound:       24 * 32,
	peakRounds:             5000,
}}

// Without a comment, xAVX512 is xGeneric with AVX-512.

// asm_gemm_avx512_amd64.s

// sgemmAVX512_14x32 is panelGeneric with AVX-512, in tiles of up to 14 x 32 and panels of 32 columns.
//
//go:noescape
func sgemmAVX512_14x32(args *panelArgs)

// sgemmAVX512_14x16 is sgemmAVX512_14x32 for the first cols (at most 16) columns of one panel.
//
//go:noescape
func sgemmAVX512_14x16(args *panelArgs)

// sgemmAtAVX512_14x32 is panelAtGeneric with AVX-512, in tiles of up to 14 x 32 and panels of 32 columns.
//
//go:noescape
func sgemmAtAVX512_14x32(args *panelArgs)

//go:noescape
func transposeAVX512(dst []float32, ds int, src []float32, ss, rows, cols int)

// asm_avx512_amd64.s

//go:noescape
func multiplyAVX512(dst, x, y []float32)

//go:noescape
func subRowsAVX512(args *subRowsArgs)

//go:noescape
func axpyAVX512(dst []float32, a float32, x, y []float32)

//go:noescape
func axpyProductsAVX512(args *axpyProductsArgs)

//go:noescape
func scaleAVX512(dst []float32, a float32, x []float32)

//go:noescape
func reluBackwardAVX512(dst, x, y []float32)

//go:noescape
func decayAVX512(a float32, x []float32)

//go:noescape
func normaliseAVX512(dst, x []float32, mean, rstd float64)

//go:noescape
func normBackwardAVX512(dst, x, y []float32, c1, c2, rstd float64)

//go:noescape
func adamAVX512(p, g, m, v []float32, co *AdamCoefficients)

//go:noescape
func dotRowsAVX512(dst, x []float32, xs int, y []float32, ys, n int)

//go:noescape
func sqdistRowsAVX512(dst, x []float32, xs int, y []float32)

//go:noescape
func quadRowsAVX512(dst, x []float32, xs int, y, w []float32)

//go:noescape
func sumAVX512(x []float32) float64

//go:noescape
func dotAVX512(x, y []float32) float64

//go:noescape
func squaresAVX512(x []float32, mean float64) float64

//go:noescape
func addRowsAVX512(sum []float64, x []float32, xs int, at []int32)

//go:noescape
func normalAVX512(dst []float32, state uint64)

//go:noescape
func expAVX512(dst, x []float32)

//go:noescape
func logAVX512(dst, x []float32)

// fmaPeakAVX512 runs rounds of 24 independent fused multiply-adds on registers, with AVX-512.
func fmaPeakAVX512(rounds int)

//go:noescape
func readAVX512(x []float32, rounds int) uint32

//go:noescape
func writeAVX512(dst []float32, a float32, rounds int)

//go:noescape
func triadAVX512(a float32, dst, x, y []float32, rounds int)

// asm_ascent_avx512_amd64.s

// quadSmallDAVX512 is quadSmallD with AVX-512, for d a multiple of 64: see asm_ascent_avx512_amd64.s.
//
//go:noescape
func quadSmallDAVX512(args *quadSmallDArgs)

// vjpSmallDAVX512 is vjpSmallD with AVX-512, for a multiple of 64 features: see asm_ascent_avx512_amd64.s.
//
//go:noescape
func vjpSmallDAVX512(args *vjpSmallDArgs)

//go:noescape
func gradRowsAVX512(args *gradRowsArgs)

//go:noescape
func gradDeltasAVX512(args *gradDeltasArgs)

//go:noescape
func mixtureAVX512(q []float32, ld int, c, phi []float32)

//go:noescape
func responsibilityBackwardAVX512(r, s []float32, ld int, sum []float32, k int)

//go:noescape
func gradientAVX512(dst, r []float32, rs int, g []float32, gs, k int)

// moveRowsAVX512 is gradientGeneric and axpyGeneric, row by row, with AVX-512: see asm_ascent_avx512_amd64.s.
//
//go:noescape
func moveRowsAVX512(args *moveRowsArgs)

// asm_ascent_row_avx512_amd64.s

// quadSixteensAVX512 is quadTriangleAVX2 for groups of sixteen components: see asm_ascent_row_avx512_amd64.s.
//
//go:noescape
func quadSixteensAVX512(n int, g, q, x, mu, p, work []float32)

// asm_conv_avx512_amd64.s

// addPatchesAVX512 adds five rows of patches, up to 48 columns wide, to c: see asm_conv_avx512_amd64.s.
//
//go:noescape
func addPatchesAVX512(c []float32, crs, cols int, r, b []float32, at []int32, stride int)

// spreadPatchesAVX512 adds five rows of 40 columns to patches of b: see asm_conv_avx512_amd64.s.
//
//go:noescape
func spreadPatchesAVX512(b, r []float32, at []int32, w []float32, ws, stride int)

//go:noescape
func convPoolAVX512(args *ConvPool)

// poolBackwardAVX512 is poolBackwardGeneric with AVX-512.
//
//go:noescape
func poolBackwardAVX512(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int)
