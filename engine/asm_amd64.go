//go:build amd64 && !purego && !noasm

package engine

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// machineKernels lists the tiers of this architecture.
var machineKernels = []*kernels{&avx2Kernels, &avx512Kernels}

// missingAVX2 says what this machine lacks for the AVX2 tier, or returns "". The library reports
// AVX2 only if the operating system saves the YMM registers.
func missingAVX2() string {
	switch {
	case !cpuid.CPU.Supports(cpuid.AVX2):
		return "the CPU or the operating system has no AVX2"
	case !cpuid.CPU.Supports(cpuid.FMA3):
		return "the CPU has no FMA"
	}
	return ""
}

var avx2Kernels = kernels{table{
	tier:                   AVX2,
	missing:                missingAVX2,
	flopPerMicrosecond:     80e3,
	mr:                     6,
	nr:                     16,
	kc:                     innerBlock(16),
	mc:                     outerBlock(innerBlock(16)),
	prefetchLines:          4,
	panel:                  sgemmAVX2_6x16,
	panelAt:                sgemmAtAVX2_6x16,
	smallDRows:             6,
	smallDCols:             16,
	quadSmallD:             quadSmallDAVX2,
	vjpSmallD:              vjpSmallDAVX2,
	singleRows:             2,
	quadTriangle:           quadTriangleAVX2,
	mixtureLanes:           mixtureLanesAVX2,
	moveLanes:              moveLanesAVX2,
	moveRows:               moveRowsAVX2,
	addPatches:             addPatchesAVX2,
	spreadPatches:          spreadPatchesAVX2,
	transpose:              transposeAVX2,
	poolBackward:           poolBackwardAVX2,
	convImages:             8,
	convChannels:           3,
	convFewer:              2,
	convPool:               convPoolAVX2,
	subRows:                subRowsAVX2,
	multiply:               multiplyAVX2,
	axpy:                   axpyAVX2,
	axpyProducts:           axpyProductsAVX2,
	scale:                  scaleAVX2,
	reluBackward:           reluBackwardAVX2,
	decay:                  decayAVX2,
	normalise:              normaliseAVX2,
	normBackward:           normBackwardAVX2,
	adam:                   adamAVX2,
	dotRows:                dotRowsAVX2,
	sqdistRows:             sqdistRowsAVX2,
	quadRows:               quadRowsAVX2,
	sum:                    sumAVX2,
	dot:                    dotAVX2,
	squares:                squaresAVX2,
	addRows:                addRowsAVX2,
	normal:                 normalAVX2,
	exp:                    expAVX2,
	log:                    logAVX2,
	gradient:               gradientAVX2,
	gradRows:               gradRowsAVX2,
	gradDeltas:             gradDeltasAVX2,
	mixture:                mixtureAVX2,
	responsibilityBackward: responsibilityBackwardAVX2,
	read:                   readAVX2,
	write:                  writeAVX2,
	triad:                  triadAVX2,
	fmaPeak:                fmaPeakAVX2,
	flopPerPeakRound:       24 * 16,
	peakRounds:             5000,
}}

// Without a comment, xAVX2 is xGeneric with AVX2.

// asm_gemm_amd64.s

// sgemmAVX2_6x16 is panelGeneric with AVX2, in tiles of up to 6 x 16.
//
//go:noescape
func sgemmAVX2_6x16(args *panelArgs)

// sgemmAtAVX2_6x16 is panelAtGeneric with AVX2, in tiles of up to 6 x 16.
//
//go:noescape
func sgemmAtAVX2_6x16(args *panelArgs)

// transposeAVX2 is transposeGeneric with AVX2 where whole blocks fit.
func transposeAVX2(dst []float32, ds int, src []float32, ss, rows, cols int) {
	done := 0                  // rows
	beside := func(c, n int) { // what is right of the first c columns
		if c < cols {
			transposeGeneric(dst[c*ds+done:], ds, src[done*ss+c:], ss, n, cols-c)
		}
		done += n
	}
	if n, c := rows&^7, cols&^3; n > 0 && c > 0 {
		transposeBlocksAVX2(dst, ds, src, ss, n, c)
		beside(c, n)
	}
	for c := cols &^ 7; done < rows && rows >= 4 && c > 0; {
		done = min(done, rows-4) // some a second time: quicker than one by one
		transposeFourAVX2(dst[done:], ds, src[done*ss:], ss, c)
		beside(c, 4)
	}
	if done < rows {
		beside(0, rows-done)
	}
}

// transposeBlocksAVX2 is transposeGeneric with AVX2 where rows is a multiple of 8 and cols of 4.
//
//go:noescape
func transposeBlocksAVX2(dst []float32, ds int, src []float32, ss, rows, cols int)

// transposeFourAVX2 is transposeBlocksAVX2 for four rows and a multiple of 8 columns.
//
//go:noescape
func transposeFourAVX2(dst []float32, ds int, src []float32, ss, cols int)

// asm_amd64.s

//go:noescape
func multiplyAVX2(dst, x, y []float32)

//go:noescape
func subRowsAVX2(args *subRowsArgs)

//go:noescape
func axpyAVX2(dst []float32, a float32, x, y []float32)

//go:noescape
func axpyProductsAVX2(args *axpyProductsArgs)

//go:noescape
func scaleAVX2(dst []float32, a float32, x []float32)

//go:noescape
func reluBackwardAVX2(dst, x, y []float32)

//go:noescape
func decayAVX2(a float32, x []float32)

//go:noescape
func normaliseAVX2(dst, x []float32, mean, rstd float64)

//go:noescape
func normBackwardAVX2(dst, x, y []float32, c1, c2, rstd float64)

//go:noescape
func adamAVX2(p, g, m, v []float32, co *AdamCoefficients)

//go:noescape
func dotRowsAVX2(dst, x []float32, xs int, y []float32, ys, n int)

//go:noescape
func sqdistRowsAVX2(dst, x []float32, xs int, y []float32)

//go:noescape
func quadRowsAVX2(dst, x []float32, xs int, y, w []float32)

//go:noescape
func sumAVX2(x []float32) float64

//go:noescape
func dotAVX2(x, y []float32) float64

//go:noescape
func squaresAVX2(x []float32, mean float64) float64

//go:noescape
func addRowsAVX2(sum []float64, x []float32, xs int, at []int32)

//go:noescape
func normalAVX2(dst []float32, state uint64)

//go:noescape
func expAVX2(dst, x []float32)

//go:noescape
func logAVX2(dst, x []float32)

// fmaPeakAVX2 runs rounds of 24 independent fused multiply-adds on registers, with AVX2.
func fmaPeakAVX2(rounds int)

//go:noescape
func readAVX2(x []float32, rounds int) uint32

//go:noescape
func writeAVX2(dst []float32, a float32, rounds int)

//go:noescape
func triadAVX2(a float32, dst, x, y []float32, rounds int)

// pause executes n PAUSE instructions, which tell the core that this thread is spinning.
func pause(n int)

// prefetch loads lines of x into the first-level cache, from its first byte on, without waiting for them.
//
//go:noescape
func prefetch(x []byte)

// prefetchToWrite is prefetch, and takes the lines from other caches.
//
//go:noescape
func prefetchToWrite(x []byte)

// asm_ascent_amd64.s

// The assembly copies this number of bytes of arguments.
var (
	_ = [unsafe.Sizeof(panelArgs{})]byte{} == [256]byte{}
	_ = [unsafe.Sizeof(quadSmallDArgs{})]byte{} == [248]byte{}
	_ = [unsafe.Sizeof(vjpSmallDArgs{})]byte{} == [280]byte{}
)

// quadSmallDAVX2 is quadSmallD with AVX2, for d a multiple of 16: see asm_ascent_amd64.s.
//
//go:noescape
func quadSmallDAVX2(args *quadSmallDArgs)

// vjpSmallDAVX2 is vjpSmallD with AVX2, for a multiple of 16 features: see asm_ascent_amd64.s.
//
//go:noescape
func vjpSmallDAVX2(args *vjpSmallDArgs)

//go:noescape
func gradRowsAVX2(args *gradRowsArgs)

//go:noescape
func gradDeltasAVX2(args *gradDeltasArgs)

//go:noescape
func mixtureAVX2(q []float32, ld int, c, phi []float32)

//go:noescape
func responsibilityBackwardAVX2(r, s []float32, ld int, sum []float32, k int)

//go:noescape
func gradientAVX2(dst, r []float32, rs int, g []float32, gs, k int)

// moveRowsAVX2 is gradientGeneric and axpyGeneric, row by row, with AVX2: see asm_ascent_amd64.s.
//
//go:noescape
func moveRowsAVX2(args *moveRowsArgs)

// asm_ascent_row_amd64.s

// quadTriangleAVX2 is quadTriangle with AVX2: see asm_ascent_row_amd64.s.
//
//go:noescape
func quadTriangleAVX2(eights, fours int, g, q, x, mu, p, work []float32)

// mixtureLanesAVX2 is mixtureAVX2 for a single row: see asm_ascent_row_amd64.s.
//
//go:noescape
func mixtureLanesAVX2(q, c []float32)

// moveLanesAVX2 is moveRowsAVX2 for a single row: see asm_ascent_row_amd64.s.
//
//go:noescape
func moveLanesAVX2(sixteens, eights, fours int, alpha float32, x, r, g []float32)

// asm_conv_amd64.s

// addPatchesAVX2 adds five rows of patches to c: see asm_conv_amd64.s.
//
//go:noescape
func addPatchesAVX2(c []float32, crs, cols int, r, b []float32, at []int32, stride int)

// spreadPatchesAVX2 adds five rows of 40 columns to patches of b: see asm_conv_amd64.s.
//
//go:noescape
func spreadPatchesAVX2(b, r []float32, at []int32, w []float32, ws, stride int)

//go:noescape
func convPoolAVX2(args *ConvPool)

// poolBackwardAVX2 is poolBackwardGeneric with AVX2 from eight elements on.
func poolBackwardAVX2(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int) {
	if len(dy) < 8 {
		return poolBackwardGeneric(at, v, sums, dy, which, p)
	}
	return poolBackwardEightsAVX2(at, v, sums, dy, which, p)
}

// poolBackwardEightsAVX2 is poolBackwardAVX2 for at least eight elements.
//
//go:noescape
func poolBackwardEightsAVX2(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int)

// compress has, for every set of eight lanes, their numbers, rising.
var compress = func() (table [256][8]byte) {
	for set := range table {
		n := 0
		for lane := range 8 {
			if set>>lane&1 > 0 {
				table[set][n] = byte(lane)
				n++
			}
		}
	}
	return table
}()
