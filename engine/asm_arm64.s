//go:build arm64 && !purego && !noasm

#include "textflag.h"
#include "go_asm.h"
#include "vector_arm64.h"

// NEON: vectors. Elementwise operations, reductions, exp and log, and the loops that measure what the
// machine can do.
//
// Registers: R0 to R15, R19 to R21 and all of V0 to V31 are free. R16 and R17 (the linker's), R18 (the
// platform's), R27 (the assembler's scratch register), R28 (the goroutine), R29 and R30 (frame and return
// address) and RSP are left alone. F0 is how Go names V0 in scalar instructions and in loads and
// stores; a load of 4 bytes (FMOVS) clears the other lanes, so that the vector instructions of the full
// loops serve the last elements too, one at a time: only the loads and stores differ. Operands are in
// Go order, destination last: VFMLA m, n, d is d = fma(m, n, d). The contents say what a function computes,
// its head what its registers hold. Where a macro needs labels they are its last parameters and carry no
// other meaning.
//
// Contents:
//
//	multiplyNEON      dst[j] = x[j] * y[j]
//	subRowsNEON       dst[i][j] = x[i][j] - y[i][j]
//	axpyNEON          dst[j] = fma(a, x[j], y[j])
//	axpyProductsNEON  dst[i][j] = fma(alpha, g[i][j] + s[i][j] * x[i][j], dst[i][j])
//	scaleNEON         dst[j] = a * x[j]
//	reluBackwardNEON  dst[j] = y[j] where x[j] > 0, else +0
//	decayNEON         x[j] = a * x[j], +0 below 2^-100
//	normaliseNEON     dst[j] = (x[j] - mean) * rstd, in float64
//	normBackwardNEON  dst[j] = rstd * (y[j] - c1 - c2 * x[j]), in float64
//	adamNEON          one Adam step on p
//	dotRowsNEON       dst[i] = sum over j of x[i][j] * y[i][j]
//	sqdistRowsNEON    dst[i] = sum over j of (x[i][j] - y[j])^2
//	quadRowsNEON      dst[i] = sum over j of w[j] * (x[i][j] - y[j])^2
//	sumNEON           the sum of x, in float64
//	dotNEON           the sum of x[j] * y[j], in float64
//	squaresNEON       the sum of (x[j] - mean)^2, in float64
//	addRowsNEON       sum[j] += x[i][j] for all i of at, in float64
//	expNEON           dst[j] = exp(x[j])
//	logNEON           dst[j] = log(x[j])
//	fmaPeakNEON       rounds of 24 independent fused multiply-adds
//	readNEON          reads x, rounds times
//	writeNEON         dst[j] = a, rounds times
//	triadNEON         dst[j] = fma(a, y[j], x[j]), rounds times
//	pause             n spin-wait hints
//	prefetch          prefetches x
//	prefetchToWrite   the same, to write it

// ---------------------------------------------------------------------------------
// Elementwise operations

#define ELEM_MUL VFMUL4S(1, 0, 0)

// func multiplyNEON(dst, x, y []float32)
//
// R0 dst, R1 x, R2 y, R7 elements left.
TEXT ·multiplyNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R2
	VEC_LOOP(VEC_LOADXY, ELEM_MUL, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

#define ELEM_SUB VFSUB4S(1, 0, 0)

// func subRowsNEON(args *subRowsArgs)
//
// R0, R1, R2: current row of dst, x, y   R10, R11, R12: floats from its end to the next row
// R5 rows left, R6 n, R7 elements left of the row
TEXT ·subRowsNEON(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R8
	MOVD subRowsArgs_dst(R8), R0
	MOVD subRowsArgs_ds(R8), R10
	MOVD subRowsArgs_x(R8), R1
	MOVD subRowsArgs_xs(R8), R11
	MOVD subRowsArgs_y(R8), R2
	MOVD subRowsArgs_ys(R8), R12
	MOVD subRowsArgs_rows(R8), R5
	MOVD subRowsArgs_n(R8), R6
	SUB  R6, R10         // from the end of a row to the next one
	SUB  R6, R11
	SUB  R6, R12
	B    rowtest
row:
	MOVD R6, R7
	VEC_LOOP(VEC_LOADXY, ELEM_SUB, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	ADD  R10<<2, R0
	ADD  R11<<2, R1
	ADD  R12<<2, R2
rowtest:
	SUBS $1, R5
	BGE  row
	RET

// x at R2, y at R1.
#define ELEM_AXPY VFMLA V14.S4, V1.S4, V0.S4

// func axpyNEON(dst []float32, a float32, x, y []float32)
//
// R0 dst, R1 y, R2 x, V14 a, R7 elements left.
TEXT ·axpyNEON(SB), NOSPLIT, $0-80
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	FMOVS a+24(FP), F14
	MOVD  x_base+32(FP), R2
	MOVD  y_base+56(FP), R1
	VDUP  V14.S[0], V14.S4
	VEC_LOOP(VEC_LOADXY, ELEM_AXPY, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

#define ELEM_LOADALL \
	FMOVQ   (R0), F3   \
	FMOVQ.P 16(R1), F0 \
	FMOVQ.P 16(R2), F2 \
	FMOVQ.P 16(R3), F1

#define ELEM_LOADALL1 \
	FMOVS   (R0), F3  \
	FMOVS.P 4(R1), F0 \
	FMOVS.P 4(R2), F2 \
	FMOVS.P 4(R3), F1

#define ELEM_AXPYPRODUCT \
	VFMUL4S(1, 0, 0) \
	VFADD4S(2, 0, 0) \
	VFMLA V14.S4, V0.S4, V3.S4

#define ELEM_STOREDST FMOVQ.P F3, 16(R0)
#define ELEM_STOREDST1 FMOVS.P F3, 4(R0)

// func axpyProductsNEON(args *axpyProductsArgs)
//
// R0, R1, R2, R3  current row of dst, x, g, s   R10, R11, R12 floats from its end to the next row of dst, x, g and s
// R5 rows left, R6 n, R7 elements left of the row   V14 alpha
TEXT ·axpyProductsNEON(SB), NOSPLIT, $0-8
	MOVD  args+0(FP), R8
	MOVD  axpyProductsArgs_dst(R8), R0
	MOVD  axpyProductsArgs_ds(R8), R10
	FMOVS axpyProductsArgs_alpha(R8), F14
	MOVD  axpyProductsArgs_g(R8), R2
	MOVD  axpyProductsArgs_s(R8), R3
	MOVD  axpyProductsArgs_gs(R8), R12
	MOVD  axpyProductsArgs_x(R8), R1
	MOVD  axpyProductsArgs_xs(R8), R11
	MOVD  axpyProductsArgs_rows(R8), R5
	MOVD  axpyProductsArgs_n(R8), R6
	SUB   R6, R10            // from the end of a row to the next one
	SUB   R6, R11
	SUB   R6, R12
	VDUP  V14.S[0], V14.S4
	B     rowtest
row:
	MOVD  R6, R7
	VEC_LOOP(ELEM_LOADALL, ELEM_AXPYPRODUCT, ELEM_STOREDST, ELEM_LOADALL1, ELEM_STOREDST1, l16, t16, l4, t4, l1, t1)
	ADD   R10<<2, R0
	ADD   R11<<2, R1
	ADD   R12<<2, R2
	ADD   R12<<2, R3
rowtest:
	SUBS  $1, R5
	BGE   row
	RET

#define ELEM_SCALE VFMUL4S(14, 0, 0)

// func scaleNEON(dst []float32, a float32, x []float32)
//
// R0 dst, R1 x, V14 a, R7 elements left.
TEXT ·scaleNEON(SB), NOSPLIT, $0-56
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	FMOVS a+24(FP), F14
	MOVD  x_base+32(FP), R1
	VDUP  V14.S[0], V14.S4
	VEC_LOOP(VEC_LOADX, ELEM_SCALE, VEC_STORE, VEC_LOADX1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

// x holds the layer's output, y the gradient: x > 0 ? y : +0.
#define ELEM_RELUBACK \
	VFCMGTZ4S(0, 2) \
	VAND V2.B16, V1.B16, V0.B16

// func reluBackwardNEON(dst, x, y []float32)
//
// R0 dst, R1 x, R2 y, R7 elements left.
TEXT ·reluBackwardNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R2
	VEC_LOOP(VEC_LOADXY, ELEM_RELUBACK, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

DATA floorConst<>+0(SB)/4, $0x0d800000 // 2^-100: MomentFloor
DATA floorConst<>+4(SB)/4, $0x23000000 // 2^-57: squareFloor
DATA floorConst<>+8(SB)/4, $0x06800000 // 2^-114: SecondMomentFloor
GLOBL floorConst<>(SB), RODATA|NOPTR, $12

// FACGT is false for NaN, which therefore stays.
#define ELEM_DECAY \
	VFMUL4S(14, 0, 0)            \
	VFACGT4S(0, 13, 1)           \ // the floor is above the magnitude
	VBIT V1.B16, V12.B16, V0.B16

// func decayNEON(a float32, x []float32)
//
// R0 and R1 x, V12 zero, V13 floor, V14 a, R7 elements left.
TEXT ·decayNEON(SB), NOSPLIT, $0-32
	FMOVS a+0(FP), F14
	MOVD  x_base+8(FP), R0
	MOVD  x_len+16(FP), R7
	MOVD  R0, R1
	MOVD  $floorConst<>(SB), R9
	VLD1R (R9), [V13.S4]
	VMOVI $0, V12.B16
	VDUP  V14.S[0], V14.S4
	VEC_LOOP(VEC_LOADX, ELEM_DECAY, VEC_STORE, VEC_LOADX1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

#define ELEM_NORMALISE \
	VFCVTL(0, 4)       \
	VFCVTL2(0, 5)      \
	VFSUB2D(13, 4, 4)  \ // x - mean
	VFSUB2D(13, 5, 5)  \
	VFMUL2D(14, 4, 4)  \
	VFMUL2D(14, 5, 5)  \
	VFCVTN(4, 0)       \
	VFCVTN2(5, 0)

// func normaliseNEON(dst, x []float32, mean, rstd float64)
//
// R0 dst, R1 x, V13 mean, V14 rstd, R7 elements left.
TEXT ·normaliseNEON(SB), NOSPLIT, $0-64
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	MOVD  x_base+24(FP), R1
	FMOVD mean+48(FP), F13
	FMOVD rstd+56(FP), F14
	VDUP  V13.D[0], V13.D2
	VDUP  V14.D[0], V14.D2
	VEC_LOOP(VEC_LOADX, ELEM_NORMALISE, VEC_STORE, VEC_LOADX1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

// x: normalised output, y: gradient.
#define ELEM_NORMBACK \
	VFCVTL(0, 4)       \
	VFCVTL2(0, 5)      \
	VFCVTL(1, 6)       \
	VFCVTL2(1, 7)      \
	VFSUB2D(12, 6, 6)  \ // y - c1
	VFSUB2D(12, 7, 7)  \
	VFMUL2D(13, 4, 4)  \ // c2 x
	VFMUL2D(13, 5, 5)  \
	VFSUB2D(4, 6, 4)   \ // y - c1 - c2 x
	VFSUB2D(5, 7, 5)   \
	VFMUL2D(14, 4, 4)  \
	VFMUL2D(14, 5, 5)  \
	VFCVTN(4, 0)       \
	VFCVTN2(5, 0)

// func normBackwardNEON(dst, x, y []float32, c1, c2, rstd float64)
//
// R0 dst, R1 x, R2 y, V12 c1, V13 c2, V14 rstd, R7 elements left.
TEXT ·normBackwardNEON(SB), NOSPLIT, $0-96
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	MOVD  x_base+24(FP), R1
	MOVD  y_base+48(FP), R2
	FMOVD c1+72(FP), F12
	FMOVD c2+80(FP), F13
	FMOVD rstd+88(FP), F14
	VDUP  V12.D[0], V12.D2
	VDUP  V13.D[0], V13.D2
	VDUP  V14.D[0], V14.D2
	VEC_LOOP(VEC_LOADXY, ELEM_NORMBACK, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

// ADAM_FLOOR sets v, register x, to +0 where its magnitude is below the floor in Vf. Changes V5.
#define ADAM_FLOOR(f, x, v) \
	VFACGT4S(x, f, 5)            \
	VBIT V5.B16, V27.B16, v.B16

// g in V0, m in V1, v in V2, p in V3, +0 below their floors; the new m is in V4, v in V0, p in V3.
#define ADAM_OP \
	ADAM_FLOOR(24, 0, V0)          \
	ADAM_FLOOR(24, 1, V1)          \
	VFCMGT4S(2, 26, 5)         \
	VBIT V5.B16, V27.B16, V2.B16 \
	VFMUL4S(16, 0, 0)          \ // g *= clip
	VFMUL4S(18, 0, 4)          \
	VFMLA V17.S4, V1.S4, V4.S4 \ // m = fma(beta1, m, (1-beta1)*g)
	ADAM_FLOOR(25, 0, V0)          \ // for the square
	ADAM_FLOOR(24, 4, V4)          \
	VFMUL4S(0, 0, 0)           \
	VFMUL4S(20, 0, 0)          \
	VFMLA V19.S4, V2.S4, V0.S4 \ // v = fma(beta2, v, (1-beta2)*(g*g))
	VFCMGT4S(0, 26, 5)         \
	VBIT V5.B16, V27.B16, V0.B16 \
	VFSQRT4S(0, 5)             \
	VMOV  V23.B16, V6.B16      \
	VFMLA V22.S4, V5.S4, V6.S4 \ // fma(sqrt(v), rbc2, eps)
	VFDIV4S(6, 4, 5)           \
	VFMLS V21.S4, V5.S4, V3.S4   // p = fma(-step, m/den, p)

#define ADAM_LOAD \
	FMOVQ.P 16(R1), F0 \
	FMOVQ   (R2), F1   \
	FMOVQ   (R3), F2   \
	FMOVQ   (R0), F3

#define ADAM_LOAD1 \
	FMOVS.P 4(R1), F0 \
	FMOVS   (R2), F1  \
	FMOVS   (R3), F2  \
	FMOVS   (R0), F3

#define ADAM_STORE \
	FMOVQ.P F4, 16(R2) \
	FMOVQ.P F0, 16(R3) \
	FMOVQ.P F3, 16(R0)

#define ADAM_STORE1 \
	FMOVS.P F4, 4(R2) \
	FMOVS.P F0, 4(R3) \
	FMOVS.P F3, 4(R0)

// func adamNEON(p, g, m, v []float32, co *AdamCoefficients)
//
// R0 p, R1 g, R2 m, R3 v, R7 elements left. R8 *co.
// V16 clip, V17 beta1, V18 1-beta1, V19 beta2, V20 1-beta2, V21 step, V22 rbc2, V23 eps.
// V24 to V26 the floors of g and m, of g in v, and of v; V27 zero.
TEXT ·adamNEON(SB), NOSPLIT, $0-104
	MOVD    p_base+0(FP), R0
	MOVD    p_len+8(FP), R7
	MOVD    g_base+24(FP), R1
	MOVD    m_base+48(FP), R2
	MOVD    v_base+72(FP), R3
	MOVD    co+96(FP), R8
	VLD1R.P 4(R8), [V16.S4]
	VLD1R.P 4(R8), [V17.S4]
	VLD1R.P 4(R8), [V18.S4]
	VLD1R.P 4(R8), [V19.S4]
	VLD1R.P 4(R8), [V20.S4]
	VLD1R.P 4(R8), [V21.S4]
	VLD1R.P 4(R8), [V22.S4]
	VLD1R   (R8), [V23.S4]
	MOVD    $floorConst<>(SB), R9
	VLD1R.P 4(R9), [V24.S4]
	VLD1R.P 4(R9), [V25.S4]
	VLD1R   (R9), [V26.S4]
	VMOVI   $0, V27.B16
	VEC_LOOP(ADAM_LOAD, ADAM_OP, ADAM_STORE, ADAM_LOAD1, ADAM_STORE1, l16, t16, l4, t4, l1, t1)
	RET

// ---------------------------------------------------------------------------------
// Reductions: sixteen virtual lanes, 0 to 3 in V16, then V17, V18, and 12 to 15 in V19

// REDUCE_TREE adds the lanes in the fixed order 8 apart, 4, 2, 1. The sum is in F16. Changes V17.
#define REDUCE_TREE \
	VFADD4S(18, 16, 16)                 \ // lanes 8 apart
	VFADD4S(19, 17, 17)                 \
	VFADD4S(17, 16, 16)                 \ // 4 apart
	VEXT  $8, V16.B16, V16.B16, V17.B16 \
	VFADD4S(17, 16, 16)                 \
	VDUP  V16.S[1], V17                 \
	FADDS F17, F16, F16

// rest loads the last R7 (1 to 15) elements of a vector, at R8, into V0 to V3 and fills up with +0, so
// that all sixteen lanes take part in the operation of the block, as in pure Go, where the padding
// turns a lane of -0 into +0. Changes R9, R10 and V31.
TEXT rest<>(SB), NOSPLIT|NOFRAME, $0-0
	VEC_ZERO4(V1, V2, V3, V31)

	// V31: the R7 mod 4 elements after the last whole vector.
	AND   $12, R7, R9
	ADD   R9<<2, R8, R10
	TBZ   $1, R7, odd
	FMOVD.P 8(R10), F31
	TBZ   $0, R7, whole
	VLD1  (R10), V31.S[2]
	B     whole
odd:
	TBZ   $0, R7, whole
	FMOVS (R10), F31

whole:
	CMP   $4, R9
	BLT   none
	BEQ   one
	CMP   $8, R9
	BEQ   two
	FLDPQ (R8), (F0, F1)
	FMOVQ 32(R8), F2
	VMOV  V31.B16, V3.B16
	RET
two:
	FLDPQ (R8), (F0, F1)
	VMOV  V31.B16, V2.B16
	RET
one:
	FMOVQ (R8), F0
	VMOV  V31.B16, V1.B16
	RET
none:
	VMOV  V31.B16, V0.B16
	RET

// REDUCE_RESTXY loads the last R7 elements of x (at R1) into V4 to V7 and those of y (at R2) into V0 to
// V3, filled up with +0, and advances both pointers to the ends.
#define REDUCE_RESTXY \
	MOVD R1, R8         \
	CALL rest<>(SB)     \
	VMOV V0.B16, V4.B16 \
	VMOV V1.B16, V5.B16 \
	VMOV V2.B16, V6.B16 \
	VMOV V3.B16, V7.B16 \
	MOVD R2, R8         \
	CALL rest<>(SB)     \
	ADD  R7<<2, R1      \
	ADD  R7<<2, R2

// REDUCE_BLOCKXY loads sixteen elements of x into V4 to V7 and of y into V0 to V3.
#define REDUCE_BLOCKXY \
	FLDPQ.P 32(R1), (F4, F5) \
	FLDPQ.P 32(R1), (F6, F7) \
	FLDPQ.P 32(R2), (F0, F1) \
	FLDPQ.P 32(R2), (F2, F3)

// REDUCE_DOT16 adds sixteen products to the lanes.
#define REDUCE_DOT16 \
	VFMLA V0.S4, V4.S4, V16.S4 \
	VFMLA V1.S4, V5.S4, V17.S4 \
	VFMLA V2.S4, V6.S4, V18.S4 \
	VFMLA V3.S4, V7.S4, V19.S4

// func dotRowsNEON(dst, x []float32, xs int, y []float32, ys, n int)
//
// R0 dst, R5 rows left   R1, R2 current element of x and y, R11, R12 floats from a row's end to the next
// R6 n, R7 elements left   V16 to V19 lanes
TEXT ·dotRowsNEON(SB), NOSPLIT, $0-96
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R5
	MOVD x_base+24(FP), R1
	MOVD xs+48(FP), R11
	MOVD y_base+56(FP), R2
	MOVD ys+80(FP), R12
	MOVD n+88(FP), R6
	SUB  R6, R11         // from the end of a row to the next one
	SUB  R6, R12
	B    rowtest
row:
	VEC_ZEROLANES
	MOVD R6, R7
	B    blocktest
block:
	REDUCE_BLOCKXY
	REDUCE_DOT16
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	REDUCE_RESTXY
	REDUCE_DOT16
tree:
	REDUCE_TREE
	FMOVS.P F16, 4(R0)
	ADD  R11<<2, R1
	ADD  R12<<2, R2
rowtest:
	SUBS $1, R5
	BGE  row
	RET

// REDUCE_DIFF16 makes x - y in V4 to V7, REDUCE_SQ16 adds its squares to the lanes.
#define REDUCE_DIFF16 \
	VFSUB4S(0, 4, 4) \
	VFSUB4S(1, 5, 5) \
	VFSUB4S(2, 6, 6) \
	VFSUB4S(3, 7, 7)

#define REDUCE_SQ16 \
	REDUCE_DIFF16              \
	VFMLA V4.S4, V4.S4, V16.S4 \
	VFMLA V5.S4, V5.S4, V17.S4 \
	VFMLA V6.S4, V6.S4, V18.S4 \
	VFMLA V7.S4, V7.S4, V19.S4

// REDUCE_ROWS is the body of sqdistRowsNEON and quadRowsNEON: block16 adds sixteen elements of x in V4 to V7 and y in
// V0 to V3 to the lanes, rest16 the filled-up last ones. A function has it once, with its labels.
//
// R0 dst, R5 rows left   R1 current element of x, R11 floats from a row's end to the next
// R12 y, R13 w (of quadRows), R2 and R3 their current elements   R6 the length, R7 elements left   V16 to V19 lanes
#define REDUCE_ROWS(block16, rest16) \
	MOVD dst_base+0(FP), R0 \
	MOVD dst_len+8(FP), R5  \
	MOVD x_base+24(FP), R1  \
	MOVD xs+48(FP), R11     \
	MOVD y_base+56(FP), R12 \
	MOVD y_len+64(FP), R6   \
	SUB  R6, R11            \
	B    rowtest            \
row: \
	VEC_ZEROLANES           \
	MOVD R12, R2            \
	MOVD R13, R3            \
	MOVD R6, R7             \
	B    blocktest          \
block: \
	REDUCE_BLOCKXY          \
	block16                 \
blocktest: \
	SUBS $16, R7            \
	BGE  block              \
	ADDS $16, R7            \
	BEQ  tree               \
	REDUCE_RESTXY           \
	rest16                  \
tree: \
	REDUCE_TREE             \
	FMOVS.P F16, 4(R0)      \
	ADD  R11<<2, R1         \
rowtest: \
	SUBS $1, R5             \
	BGE  row

// func sqdistRowsNEON(dst, x []float32, xs int, y []float32)
//
// Registers: see REDUCE_ROWS.
TEXT ·sqdistRowsNEON(SB), NOSPLIT, $0-80
	REDUCE_ROWS(REDUCE_SQ16, REDUCE_SQ16)
	RET

// REDUCE_QUAD16 adds w e^2 to the lanes, with e in V4 to V7 and w in V0 to V3.
#define REDUCE_QUAD16 \
	VFMUL4S(4, 0, 0)           \
	VFMUL4S(5, 1, 1)           \
	VFMUL4S(6, 2, 2)           \
	VFMUL4S(7, 3, 3)           \
	VFMLA V4.S4, V0.S4, V16.S4 \
	VFMLA V5.S4, V1.S4, V17.S4 \
	VFMLA V6.S4, V2.S4, V18.S4 \
	VFMLA V7.S4, V3.S4, V19.S4

#define REDUCE_QUADBLOCK \
	REDUCE_DIFF16            \
	FLDPQ.P 32(R3), (F0, F1) \
	FLDPQ.P 32(R3), (F2, F3) \
	REDUCE_QUAD16

#define REDUCE_QUADREST \
	REDUCE_DIFF16   \
	MOVD R3, R8     \
	CALL rest<>(SB) \
	REDUCE_QUAD16

// func quadRowsNEON(dst, x []float32, xs int, y, w []float32)
//
// Registers: see REDUCE_ROWS.
TEXT ·quadRowsNEON(SB), NOSPLIT, $0-104
	MOVD w_base+80(FP), R13
	REDUCE_ROWS(REDUCE_QUADBLOCK, REDUCE_QUADREST)
	RET

// The float64 lanes of sum, dot and squares: 0 and 1 in V16, and so on to 14 and 15 in V23.

// REDUCE_ZERO64 clears them.
#define REDUCE_ZERO64 \
	VEC_ZEROLANES       \
	VEC_ZERO4(V20, V21, V22, V23)

// REDUCE_TREE64 adds them in the fixed order 8 apart, 4, 2, 1. The sum is in F16. Changes V17 to V19.
#define REDUCE_TREE64 \
	VFADD2D(20, 16, 16)   \ // lanes 8 apart
	VFADD2D(21, 17, 17)   \
	VFADD2D(22, 18, 18)   \
	VFADD2D(23, 19, 19)   \
	VFADD2D(18, 16, 16)   \ // 4 apart
	VFADD2D(19, 17, 17)   \
	VFADD2D(17, 16, 16)   \ // 2 apart
	VDUP  V16.D[1], V17   \
	FADDD F17, F16, F16

// REDUCE_WIDEN converts the sixteen float32 in V0 to V3 to float64 in V8 to V15.
#define REDUCE_WIDEN \
	VFCVTL(0, 8)   \
	VFCVTL2(0, 9)  \
	VFCVTL(1, 10)  \
	VFCVTL2(1, 11) \
	VFCVTL(2, 12)  \
	VFCVTL2(2, 13) \
	VFCVTL(3, 14)  \
	VFCVTL2(3, 15)

// REDUCE_ADD64 adds V8 to V15 to the lanes.
#define REDUCE_ADD64 \
	VFADD2D(8, 16, 16)  \
	VFADD2D(9, 17, 17)  \
	VFADD2D(10, 18, 18) \
	VFADD2D(11, 19, 19) \
	VFADD2D(12, 20, 20) \
	VFADD2D(13, 21, 21) \
	VFADD2D(14, 22, 22) \
	VFADD2D(15, 23, 23)

// func sumNEON(x []float32) float64
//
// R8 x, R7 elements left, V16 to V23 lanes.
TEXT ·sumNEON(SB), NOSPLIT, $0-32
	MOVD x_base+0(FP), R8
	MOVD x_len+8(FP), R7
	REDUCE_ZERO64
	B    blocktest
block:
	FLDPQ.P 32(R8), (F0, F1)
	FLDPQ.P 32(R8), (F2, F3)
	REDUCE_WIDEN
	REDUCE_ADD64
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	CALL rest<>(SB)
	REDUCE_WIDEN
	REDUCE_ADD64
tree:
	REDUCE_TREE64
	FMOVD F16, ret+24(FP)
	RET

// REDUCE_DOT64 adds the products of x in V4 to V7 and y in V0 to V3 to the lanes. Changes V8 to V15 and
// V24 to V31.
#define REDUCE_DOT64 \
	REDUCE_WIDEN                \
	VFCVTL(4, 24)               \
	VFCVTL2(4, 25)              \
	VFCVTL(5, 26)               \
	VFCVTL2(5, 27)              \
	VFCVTL(6, 28)               \
	VFCVTL2(6, 29)              \
	VFCVTL(7, 30)               \
	VFCVTL2(7, 31)              \
	VFMLA V8.D2, V24.D2, V16.D2  \
	VFMLA V9.D2, V25.D2, V17.D2  \
	VFMLA V10.D2, V26.D2, V18.D2 \
	VFMLA V11.D2, V27.D2, V19.D2 \
	VFMLA V12.D2, V28.D2, V20.D2 \
	VFMLA V13.D2, V29.D2, V21.D2 \
	VFMLA V14.D2, V30.D2, V22.D2 \
	VFMLA V15.D2, V31.D2, V23.D2

// func dotNEON(x, y []float32) float64
//
// R1, R2 current element of x and y, R7 elements left, V16 to V23 lanes.
TEXT ·dotNEON(SB), NOSPLIT, $0-56
	MOVD x_base+0(FP), R1
	MOVD x_len+8(FP), R7
	MOVD y_base+24(FP), R2
	REDUCE_ZERO64
	B    blocktest
block:
	REDUCE_BLOCKXY
	REDUCE_DOT64
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	REDUCE_RESTXY
	REDUCE_DOT64
tree:
	REDUCE_TREE64
	FMOVD F16, ret+48(FP)
	RET

// REDUCE_SHIFT64 subtracts the mean, in V24, from V8 to V15; REDUCE_SQUARE64 squares them.
#define REDUCE_SHIFT64 \
	VFSUB2D(24, 8, 8)   \
	VFSUB2D(24, 9, 9)   \
	VFSUB2D(24, 10, 10) \
	VFSUB2D(24, 11, 11) \
	VFSUB2D(24, 12, 12) \
	VFSUB2D(24, 13, 13) \
	VFSUB2D(24, 14, 14) \
	VFSUB2D(24, 15, 15)

#define REDUCE_SQUARE64 \
	VFMUL2D(8, 8, 8)    \
	VFMUL2D(9, 9, 9)    \
	VFMUL2D(10, 10, 10) \
	VFMUL2D(11, 11, 11) \
	VFMUL2D(12, 12, 12) \
	VFMUL2D(13, 13, 13) \
	VFMUL2D(14, 14, 14) \
	VFMUL2D(15, 15, 15)

// REDUCE_PAD64 clears what lies beyond the last R7 (1 to 15) elements in V8 to V15. Their masks begin R7
// words before the middle of masks64. Changes R9 and V0 to V3.
#define REDUCE_PAD64 \
	MOVD    $masks64<>+128(SB), R9 \
	SUB     R7<<3, R9              \
	FLDPQ.P 32(R9), (F0, F1)       \
	FLDPQ.P 32(R9), (F2, F3)       \
	VAND    V0.B16, V8.B16, V8.B16   \
	VAND    V1.B16, V9.B16, V9.B16   \
	VAND    V2.B16, V10.B16, V10.B16 \
	VAND    V3.B16, V11.B16, V11.B16 \
	FLDPQ.P 32(R9), (F0, F1)       \
	FLDPQ   (R9), (F2, F3)         \
	VAND    V0.B16, V12.B16, V12.B16 \
	VAND    V1.B16, V13.B16, V13.B16 \
	VAND    V2.B16, V14.B16, V14.B16 \
	VAND    V3.B16, V15.B16, V15.B16

// masks64 is sixteen all-ones words of 64 bits, then sixteen zeros.
DATA masks64<>+0(SB)/8, $0xffffffffffffffff
DATA masks64<>+8(SB)/8, $0xffffffffffffffff
DATA masks64<>+16(SB)/8, $0xffffffffffffffff
DATA masks64<>+24(SB)/8, $0xffffffffffffffff
DATA masks64<>+32(SB)/8, $0xffffffffffffffff
DATA masks64<>+40(SB)/8, $0xffffffffffffffff
DATA masks64<>+48(SB)/8, $0xffffffffffffffff
DATA masks64<>+56(SB)/8, $0xffffffffffffffff
DATA masks64<>+64(SB)/8, $0xffffffffffffffff
DATA masks64<>+72(SB)/8, $0xffffffffffffffff
DATA masks64<>+80(SB)/8, $0xffffffffffffffff
DATA masks64<>+88(SB)/8, $0xffffffffffffffff
DATA masks64<>+96(SB)/8, $0xffffffffffffffff
DATA masks64<>+104(SB)/8, $0xffffffffffffffff
DATA masks64<>+112(SB)/8, $0xffffffffffffffff
DATA masks64<>+120(SB)/8, $0xffffffffffffffff
GLOBL masks64<>(SB), RODATA|NOPTR, $256

// func squaresNEON(x []float32, mean float64) float64
//
// R8 x, R7 elements left, V16 to V23 lanes, V24 mean.
TEXT ·squaresNEON(SB), NOSPLIT, $0-40
	MOVD  x_base+0(FP), R8
	MOVD  x_len+8(FP), R7
	FMOVD mean+24(FP), F24
	VDUP  V24.D[0], V24.D2
	REDUCE_ZERO64
	B    blocktest
block:
	FLDPQ.P 32(R8), (F0, F1)
	FLDPQ.P 32(R8), (F2, F3)
	REDUCE_WIDEN
	REDUCE_SHIFT64
	REDUCE_SQUARE64
	REDUCE_ADD64
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	CALL rest<>(SB)
	REDUCE_WIDEN
	REDUCE_SHIFT64
	REDUCE_PAD64
	REDUCE_SQUARE64
	REDUCE_ADD64
tree:
	REDUCE_TREE64
	FMOVD F16, ret+32(FP)
	RET

// func addRowsNEON(sum []float64, x []float32, xs int, at []int32)
//
// Eight columns at a time, then one by one.
//
// R0 sum, R1 x, both at the first column of the block   R11 bytes from row to row   R12 at, R5 its length
// R7 columns left   R8 current element of at, R6 those left, R9 its row   V16 to V19 columns
TEXT ·addRowsNEON(SB), NOSPLIT, $0-80
	MOVD sum_base+0(FP), R0
	MOVD sum_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD xs+48(FP), R11
	MOVD at_base+56(FP), R12
	MOVD at_len+64(FP), R5
	LSL  $2, R11
	B    widetest
wide:
	FLDPQ (R0), (F16, F17)
	FLDPQ 32(R0), (F18, F19)
	MOVD  R12, R8
	MOVD  R5, R6
	B     widerowtest
widerow:
	MOVW.P 4(R8), R9
	MADD  R11, R1, R9, R9
	FLDPQ (R9), (F0, F1)
	VFCVTL(0, 4)
	VFCVTL2(0, 5)
	VFCVTL(1, 6)
	VFCVTL2(1, 7)
	VFADD2D(4, 16, 16)
	VFADD2D(5, 17, 17)
	VFADD2D(6, 18, 18)
	VFADD2D(7, 19, 19)
widerowtest:
	SUBS  $1, R6
	BGE   widerow
	FSTPQ.P (F16, F17), 32(R0)
	FSTPQ.P (F18, F19), 32(R0)
	ADD   $32, R1
widetest:
	SUBS $8, R7
	BGE  wide
	ADD  $8, R7
	B    columntest
column:
	FMOVD (R0), F16
	MOVD  R12, R8
	MOVD  R5, R6
	B     rowtest
row:
	MOVW.P 4(R8), R9
	MADD   R11, R1, R9, R9
	FMOVS  (R9), F0
	FCVTSD F0, F0
	FADDD  F0, F16, F16
rowtest:
	SUBS  $1, R6
	BGE   row
	FMOVD.P F16, 8(R0)
	ADD   $4, R1
columntest:
	SUBS $1, R7
	BGE  column
	RET

// ---------------------------------------------------------------------------------
// exp and log: all constants stay in registers, V16 to V26 for exp (log shares V18 to V20), V6 to
// V15 for log, so that the mixture has room for both

DATA ·expConst+0(SB)/4, $0x4b400000  // V16: 1.5*2^23: adding it rounds to an integer
DATA ·expConst+4(SB)/4, $0x3fb8aa3b  // V17: log2(e)
DATA ·expConst+8(SB)/4, $0x3f317218  // V18: ln 2, upper part
DATA ·expConst+12(SB)/4, $0xb102e308 // V19: ln 2, lower part
DATA ·expConst+16(SB)/4, $0x3f800000 // V20: 1
DATA ·expConst+20(SB)/4, $0x3f000000 // V21: 1/2
DATA ·expConst+24(SB)/4, $0x3ab6a602 // V22: polynomial, highest degree first
DATA ·expConst+28(SB)/4, $0x3c09060a // V23
DATA ·expConst+32(SB)/4, $0x3d2aaa75 // V24
DATA ·expConst+36(SB)/4, $0x3e2aaa6e // V25
DATA ·expConst+40(SB)/4, $0x0000007f // V26: exponent bias
GLOBL ·expConst(SB), RODATA|NOPTR, $44

// EXP_OP is exp of any float32. The bounds are not 0 and FMIN and FMAX let a NaN pass, so these are the
// two comparisons of pure Go.
#define EXP_OP \
	VFMIN4S(27, 0, 0) \
	VFMAX4S(28, 0, 0) \
	EXP_EVAL

DATA explimit<>+0(SB)/4, $0x42b20000 // V27: 89: above it exp overflows
DATA explimit<>+4(SB)/4, $0xc2d10000 // V28: -104.5: below it exp is 0
GLOBL explimit<>(SB), RODATA|NOPTR, $8

// func expNEON(dst, x []float32)
//
// R0 dst, R1 x, R7 elements left; V27 and V28 bounds.
TEXT ·expNEON(SB), NOSPLIT, $0-48
	MOVD    dst_base+0(FP), R0
	MOVD    dst_len+8(FP), R7
	MOVD    x_base+24(FP), R1
	EXP_CONSTANTS
	MOVD    $explimit<>(SB), R9
	VLD1R.P 4(R9), [V27.S4]
	VLD1R   (R9), [V28.S4]
	VEC_LOOP(VEC_LOADX, EXP_OP, VEC_STORE, VEC_LOADX1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

DATA ·logConst+0(SB)/4, $0x3f3504f3  // V6: sqrt(1/2)
DATA ·logConst+4(SB)/4, $0xbda4b529  // V7: polynomial, highest degree first
DATA ·logConst+8(SB)/4, $0x3e045351  // V8
DATA ·logConst+12(SB)/4, $0xbe05faa2 // V9
DATA ·logConst+16(SB)/4, $0x3e112235 // V10
DATA ·logConst+20(SB)/4, $0xbe2a43f1 // V11
DATA ·logConst+24(SB)/4, $0x3e4cd3d4 // V12
DATA ·logConst+28(SB)/4, $0xbe800111 // V13
DATA ·logConst+32(SB)/4, $0x3eaaaaa4 // V14
DATA ·logConst+36(SB)/4, $0xbeffffff // V15
GLOBL ·logConst(SB), RODATA|NOPTR, $40

// LOG_OP is log of any float32: subnormal x is multiplied by 2^23 first, and 0, +Inf, negative x and
// NaN are selected at the end. x stays in V5.
#define LOG_OP \
	VMOV V0.B16, V5.B16          \
	VFCMGT4S(0, 27, 4)           \ // below the normal range
	VFMUL4S(28, 0, 1)            \
	VBIT V4.B16, V1.B16, V0.B16  \
	VAND V29.B16, V4.B16, V4.B16 \
	LOG_EVAL                     \
	VFCMEQZ4S(5, 1)              \ // x == 0
	VBIT V1.B16, V30.B16, V0.B16 \
	VFCMEQ4S(31, 5, 1)           \ // x == +Inf
	VBIT V1.B16, V31.B16, V0.B16 \
	VFCMGEZ4S(5, 1)              \ // not x >= 0
	VBIF V1.B16, V21.B16, V0.B16

DATA loglimit<>+0(SB)/4, $0x00800000  // V27: 2^-126
DATA loglimit<>+4(SB)/4, $0x4b000000  // V28: 2^23
DATA loglimit<>+8(SB)/4, $0xc1b80000  // V29: -23
DATA loglimit<>+12(SB)/4, $0xff800000 // V30: -Inf
DATA loglimit<>+16(SB)/4, $0x7f800000 // V31: +Inf
DATA loglimit<>+20(SB)/4, $0x7fc00000 // V21: NaN
GLOBL loglimit<>(SB), RODATA|NOPTR, $24

// func logNEON(dst, x []float32)
//
// R0 dst, R1 x, R7 elements left; V21 and V27 to V31 as in loglimit.
TEXT ·logNEON(SB), NOSPLIT, $0-48
	MOVD    dst_base+0(FP), R0
	MOVD    dst_len+8(FP), R7
	MOVD    x_base+24(FP), R1
	MOVD    $·expConst+8(SB), R9
	VLD1R.P 4(R9), [V18.S4]
	VLD1R.P 4(R9), [V19.S4]
	VLD1R   (R9), [V20.S4]
	LOG_CONSTANTS
	MOVD    $loglimit<>(SB), R9
	VLD1R.P 4(R9), [V27.S4]
	VLD1R.P 4(R9), [V28.S4]
	VLD1R.P 4(R9), [V29.S4]
	VLD1R.P 4(R9), [V30.S4]
	VLD1R.P 4(R9), [V31.S4]
	VLD1R   (R9), [V21.S4]
	VEC_LOOP(VEC_LOADX, LOG_OP, VEC_STORE, VEC_LOADX1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

// ---------------------------------------------------------------------------------
// Loops that measure the machine

// MEASURE_FMA4 is four fused multiply-adds in four chains.
#define MEASURE_FMA4(a, c) \
	VFMLA4S0(a, 0, c)   \
	VFMLA4S0(a, 1, c+1) \
	VFMLA4S0(a, 2, c+2) \
	VFMLA4S0(a, 3, c+3)

// func fmaPeakNEON(rounds int)
//
// R7 rounds left, V0 to V4 operands, V8 to V31 twenty-four chains.
TEXT ·fmaPeakNEON(SB), NOSPLIT, $0-8
	MOVD  rounds+0(FP), R7
	VEC_ZERO4(V0, V1, V2, V3)
	VEC_ZERO4(V4, V8, V9, V10)
	VEC_ZERO4(V11, V12, V13, V14)
	VEC_ZERO4(V15, V16, V17, V18)
	VEC_ZERO4(V19, V20, V21, V22)
	VEC_ZERO4(V23, V24, V25, V26)
	VEC_ZERO4(V27, V28, V29, V30)
	VMOVI $0, V31.B16
	B     test
loop:
	MEASURE_FMA4(4, 8)
	MEASURE_FMA4(4, 12)
	MEASURE_FMA4(4, 16)
	MEASURE_FMA4(4, 20)
	MEASURE_FMA4(4, 24)
	MEASURE_FMA4(4, 28)
test:
	SUBS $1, R7
	BGE  loop
	RET

// MEASURE_STREAM makes R6 passes over R8 floats of dst (at R3), x (R4) and y (R5), or those of them that
// exist: 64 floats at a time, then 4, then 1. v32, v4 and v1 handle so many at R0 (dst), R1 (x) and R2
// (y), and advance the pointers.
#define MEASURE_STREAM(v32, v4, v1, pass, l64, t64, l4, t4, l1, t1, next) \
	B     next    \
pass: \
	MOVD  R3, R0  \
	MOVD  R4, R1  \
	MOVD  R5, R2  \
	MOVD  R8, R7  \
	B     t64     \
l64: \
	v32           \
	v32           \
t64: \
	SUBS  $64, R7 \
	BGE   l64     \
	ADD   $64, R7 \
	B     t4      \
l4: \
	v4            \
t4: \
	SUBS  $4, R7  \
	BGE   l4      \
	ADD   $4, R7  \
	B     t1      \
l1: \
	v1            \
t1: \
	SUBS  $1, R7  \
	BGE   l1      \
next: \
	SUBS  $1, R6  \
	BGE   pass

#define MEASURE_LOAD32 \
	FLDPQ (R1), (F8, F9)     \
	FLDPQ 32(R1), (F10, F11) \
	FLDPQ 64(R1), (F12, F13) \
	FLDPQ 96(R1), (F14, F15) \
	ADD   $128, R1

#define MEASURE_LOAD4 FMOVQ.P 16(R1), F8
#define MEASURE_LOAD1 FMOVS.P 4(R1), F8

#define MEASURE_READ32 \
	MEASURE_LOAD32                \
	VORR  V8.B16, V0.B16, V0.B16  \
	VORR  V9.B16, V1.B16, V1.B16  \
	VORR  V10.B16, V2.B16, V2.B16 \
	VORR  V11.B16, V3.B16, V3.B16 \
	VORR  V12.B16, V4.B16, V4.B16 \
	VORR  V13.B16, V5.B16, V5.B16 \
	VORR  V14.B16, V6.B16, V6.B16 \
	VORR  V15.B16, V7.B16, V7.B16

#define MEASURE_READ4 \
	MEASURE_LOAD4 \
	VORR V8.B16, V0.B16, V0.B16

#define MEASURE_READ1 \
	MEASURE_LOAD1 \
	VORR V8.B16, V0.B16, V0.B16

// func readNEON(x []float32, rounds int) uint32
//
// Returns the bitwise or of all elements. All passes but the last only load.
//
// R4, R1 x, R8 its length, R7 elements left of the pass, R6 passes left, V0 to V7 and V8 to V15 values.
TEXT ·readNEON(SB), NOSPLIT, $0-36
	MOVD x_base+0(FP), R4
	MOVD x_len+8(FP), R8
	MOVD rounds+24(FP), R6
	SUB  $1, R6
	MEASURE_STREAM(MEASURE_LOAD32, MEASURE_LOAD4, MEASURE_LOAD1, loadpass, l64, t64, l4, t4, l1, t1, loadnext)
	MOVD rounds+24(FP), R9
	CMP  $0, R9
	CSET GT, R6
	VEC_ZERO4(V0, V1, V2, V3)
	VEC_ZERO4(V4, V5, V6, V7)
	MEASURE_STREAM(MEASURE_READ32, MEASURE_READ4, MEASURE_READ1, pass, r64, rt64, r4, rt4, r1, rt1, next)
	VORR V1.B16, V0.B16, V0.B16
	VORR V3.B16, V2.B16, V2.B16
	VORR V5.B16, V4.B16, V4.B16
	VORR V7.B16, V6.B16, V6.B16
	VORR V2.B16, V0.B16, V0.B16
	VORR V6.B16, V4.B16, V4.B16
	VORR V4.B16, V0.B16, V0.B16
	VMOV V0.D[0], R8
	VMOV V0.D[1], R9
	ORR  R9, R8
	ORR  R8>>32, R8
	MOVW R8, ret+32(FP)
	RET

#define MEASURE_WRITE32 \
	FSTPQ (F31, F31), (R0)   \
	FSTPQ (F31, F31), 32(R0) \
	FSTPQ (F31, F31), 64(R0) \
	FSTPQ (F31, F31), 96(R0) \
	ADD   $128, R0

#define MEASURE_WRITE4 FMOVQ.P F31, 16(R0)
#define MEASURE_WRITE1 FMOVS.P F31, 4(R0)

// func writeNEON(dst []float32, a float32, rounds int)
//
// R3, R0 dst, R8 its length, R7 elements left of the pass, R6 passes left, V31 a.
TEXT ·writeNEON(SB), NOSPLIT, $0-40
	MOVD  dst_base+0(FP), R3
	MOVD  dst_len+8(FP), R8
	FMOVS a+24(FP), F31
	VDUP  V31.S[0], V31.S4
	MOVD  rounds+32(FP), R6
	MEASURE_STREAM(MEASURE_WRITE32, MEASURE_WRITE4, MEASURE_WRITE1, pass, l64, t64, l4, t4, l1, t1, next)
	RET

#define MEASURE_TRIAD32 \
	FLDPQ (R1), (F0, F1)        \
	FLDPQ (R2), (F16, F17)      \
	FLDPQ 32(R1), (F2, F3)      \
	FLDPQ 32(R2), (F18, F19)    \
	FLDPQ 64(R1), (F4, F5)      \
	FLDPQ 64(R2), (F20, F21)    \
	FLDPQ 96(R1), (F6, F7)      \
	FLDPQ 96(R2), (F22, F23)    \
	VFMLA V31.S4, V16.S4, V0.S4 \
	VFMLA V31.S4, V17.S4, V1.S4 \
	VFMLA V31.S4, V18.S4, V2.S4 \
	VFMLA V31.S4, V19.S4, V3.S4 \
	VFMLA V31.S4, V20.S4, V4.S4 \
	VFMLA V31.S4, V21.S4, V5.S4 \
	VFMLA V31.S4, V22.S4, V6.S4 \
	VFMLA V31.S4, V23.S4, V7.S4 \
	FSTPQ (F0, F1), (R0)        \
	FSTPQ (F2, F3), 32(R0)      \
	FSTPQ (F4, F5), 64(R0)      \
	FSTPQ (F6, F7), 96(R0)      \
	ADD   $128, R0              \
	ADD   $128, R1              \
	ADD   $128, R2

#define MEASURE_TRIAD4 \
	FMOVQ.P 16(R1), F0           \
	FMOVQ.P 16(R2), F1           \
	VFMLA   V31.S4, V1.S4, V0.S4 \
	FMOVQ.P F0, 16(R0)

#define MEASURE_TRIAD1 \
	FMOVS.P 4(R1), F0            \
	FMOVS.P 4(R2), F1            \
	VFMLA   V31.S4, V1.S4, V0.S4 \
	FMOVS.P F0, 4(R0)

// func triadNEON(a float32, dst, x, y []float32, rounds int)
//
// R4, R1 x   R5, R2 y   R3, R0 dst   R8 their length   R7 elements left of the pass
// R6 passes left   V31 a   V0 to V7, V16 to V23 values
TEXT ·triadNEON(SB), NOSPLIT, $0-88
	FMOVS a+0(FP), F31
	VDUP  V31.S[0], V31.S4
	MOVD  dst_base+8(FP), R3
	MOVD  dst_len+16(FP), R8
	MOVD  x_base+32(FP), R4
	MOVD  y_base+56(FP), R5
	MOVD  rounds+80(FP), R6
	MEASURE_STREAM(MEASURE_TRIAD32, MEASURE_TRIAD4, MEASURE_TRIAD1, pass, l64, t64, l4, t4, l1, t1, next)
	RET

// func pause(n int)
//
// R7 hints left.
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R7
loop:
	YIELD
	SUBS $1, R7
	BGT  loop
	RET

// PREFETCH_LINES prefetches every line of the R1 bytes from R0 on, as hint says.
#define PREFETCH_LINES(hint) \
	ADD  R0, R1     \
	B    test       \
line:                   \
	PRFM (R0), hint \
	ADD  $64, R0    \
test:                   \
	CMP  R1, R0     \
	BLO  line

// func prefetch(x []byte)
//
// R0 x, R1 its end.
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVD x_base+0(FP), R0
	MOVD x_len+8(FP), R1
	PREFETCH_LINES(PLDL1KEEP)
	RET

// func prefetchToWrite(x []byte)
TEXT ·prefetchToWrite(SB), NOSPLIT, $0-24
	MOVD x_base+0(FP), R0
	MOVD x_len+8(FP), R1
	PREFETCH_LINES(PSTL1KEEP)
	RET
