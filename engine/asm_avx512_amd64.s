//go:build amd64 && !purego && !noasm

#include "go_asm.h"
#include "textflag.h"
#include "vector_amd64.h"
#include "vector_avx512_amd64.h"

// AVX-512 (F, DQ, BW, VL): vectors. Elementwise operations, reductions, exp and log, and the loops
// that measure what the machine can do. Tails are masked.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	multiplyAVX512      dst[j] = x[j] * y[j]
//	subRowsAVX512       dst[i][j] = x[i][j] - y[i][j]
//	axpyAVX512          dst[j] = fma(a, x[j], y[j])
//	axpyProductsAVX512  dst[i][j] = fma(alpha, g[i][j] + s[i][j] * x[i][j], dst[i][j])
//	scaleAVX512         dst[j] = a * x[j]
//	reluBackwardAVX512  dst[j] = y[j] where x[j] > 0, else +0
//	decayAVX512         x[j] = a * x[j], +0 below 2^-100
//	normaliseAVX512     dst[j] = (x[j] - mean) * rstd, in float64
//	normBackwardAVX512  dst[j] = rstd * (y[j] - c1 - c2 * x[j]), in float64
//	adamAVX512          one Adam step on p
//	dotRowsAVX512       dst[i] = sum over j of x[i][j] * y[i][j]
//	sqdistRowsAVX512    dst[i] = sum over j of (x[i][j] - y[j])^2
//	quadRowsAVX512      dst[i] = sum over j of w[j] * (x[i][j] - y[j])^2
//	sumAVX512           the sum of x, in float64
//	dotAVX512           the sum of x[j] * y[j], in float64
//	squaresAVX512       the sum of (x[j] - mean)^2, in float64
//	addRowsAVX512       sum[j] += x[i][j] for all i of at, in float64
//	expAVX512           dst[j] = exp(x[j])
//	logAVX512           dst[j] = log(x[j])
//	fmaPeakAVX512       rounds of 24 independent fused multiply-adds
//	readAVX512          reads x, rounds times
//	writeAVX512         dst[j] = a, rounds times
//	triadAVX512         dst[j] = fma(a, y[j], x[j]), rounds times

// ---------------------------------------------------------------------------------
// Elementwise operations

// func multiplyAVX512(dst, x, y []float32)
TEXT ·multiplyAVX512(SB), NOSPLIT, $0-72
	ELEM_ARGSXY
	ELEM_LOOP(VEC_LOADXY, ELEM_MUL, VEC_STORE)
	VZEROUPPER
	RET

// func subRowsAVX512(args *subRowsArgs)
TEXT ·subRowsAVX512(SB), NOSPLIT, $0-8
	ELEM_SUBROWS
	VZEROUPPER
	RET

// func axpyAVX512(dst []float32, a float32, x, y []float32)
//
// Z14 a.
TEXT ·axpyAVX512(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	VBROADCASTSS a+24(FP), Z14
	MOVQ x_base+32(FP), SI
	MOVQ y_base+56(FP), DX
	ELEM_LOOP(VEC_LOADXY, ELEM_AXPY, VEC_STORE)
	VZEROUPPER
	RET

// func axpyProductsAVX512(args *axpyProductsArgs)
TEXT ·axpyProductsAVX512(SB), NOSPLIT, $0-8
	ELEM_AXPYPRODUCTS
	VZEROUPPER
	RET

// func scaleAVX512(dst []float32, a float32, x []float32)
//
// Z14 a.
TEXT ·scaleAVX512(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	VBROADCASTSS a+24(FP), Z14
	MOVQ x_base+32(FP), SI
	MOVQ dst_len+8(FP), CX
	ELEM_LOOP(VEC_LOADX, ELEM_SCALE, VEC_STORE)
	VZEROUPPER
	RET

// x holds the layer's output, y the gradient: x > 0 ? y : +0.
#define ELEM_RELUBACK \
	VCMPPS    $0x11, Z0, Z14, K2 \
	VMOVAPS.Z Z1, K2, Z0

// func reluBackwardAVX512(dst, x, y []float32)
//
// Z14 zero.
TEXT ·reluBackwardAVX512(SB), NOSPLIT, $0-72
	ELEM_ARGSXY
	VEC_CLEAR(Z14)
	ELEM_LOOP(VEC_LOADXY, ELEM_RELUBACK, VEC_STORE)
	VZEROUPPER
	RET

// K2: the lanes that are not below the floor in magnitude, or NaN.
#define ELEM_DECAY \
	VMULPS    Z14, Z0, Z0        \
	VANDPS    Z12, Z0, Z1        \
	VCMPPS    $0x15, Z13, Z1, K2 \
	VMOVAPS.Z Z0, K2, Z0

// func decayAVX512(a float32, x []float32)
//
// DI is x too. Z12 magnitude bits, Z13 floor, Z14 a.
TEXT ·decayAVX512(SB), NOSPLIT, $0-32
	VBROADCASTSS a+0(FP), Z14
	MOVQ x_base+8(FP), DI
	MOVQ x_len+16(FP), CX
	MOVQ DI, SI
	VBROADCASTSS ·floorConst+0(SB), Z12
	VBROADCASTSS ·floorConst+32(SB), Z13
	ELEM_LOOP(VEC_LOADX, ELEM_DECAY, VEC_STORE)
	VZEROUPPER
	RET

// func normaliseAVX512(dst, x []float32, mean, rstd float64)
//
// Z13 mean, Z14 rstd.
TEXT ·normaliseAVX512(SB), NOSPLIT, $0-64
	ELEM_ARGSX
	VBROADCASTSD mean+48(FP), Z13
	VBROADCASTSD rstd+56(FP), Z14
	ELEM_LOOP(VEC_LOADX, ELEM_NORMALISE, VEC_STORE)
	VZEROUPPER
	RET

// func normBackwardAVX512(dst, x, y []float32, c1, c2, rstd float64)
//
// Z12 c1, Z13 c2, Z14 rstd.
TEXT ·normBackwardAVX512(SB), NOSPLIT, $0-96
	ELEM_ARGSXY
	VBROADCASTSD c1+72(FP), Z12
	VBROADCASTSD c2+80(FP), Z13
	VBROADCASTSD rstd+88(FP), Z14
	ELEM_LOOP(VEC_LOADXY, ELEM_NORMBACK, VEC_STORE)
	VZEROUPPER
	RET

// g in Z0, m in Z1, v in Z2, p in Z3, +0 below their floors; the new m is in Z12, v in Z0, p in Z3.
#define ADAM_OP \
	VANDPS       Z15, Z0, Z12        \ // K2 to K4: g, m and v that are not below their floors
	VANDPS       Z15, Z1, Z13        \
	VCMPPS       $0x15, Z17, Z12, K2 \
	VCMPPS       $0x15, Z17, Z13, K3 \
	VCMPPS       $0x15, Z18, Z2, K4  \
	VMOVAPS.Z    Z0, K2, Z0          \
	VMOVAPS.Z    Z1, K3, Z1          \
	VMOVAPS.Z    Z2, K4, Z2          \
	VMULPS       Z4, Z0, Z0          \ // g *= clip
	VMULPS       Z6, Z0, Z12         \
	VFMADD231PS  Z5, Z1, Z12         \ // m = fma(beta1, m, (1-beta1)*g)
	VANDPS       Z15, Z0, Z13        \
	VCMPPS       $0x15, Z16, Z13, K2 \
	VANDPS       Z15, Z12, Z13       \
	VCMPPS       $0x15, Z17, Z13, K3 \
	VMOVAPS.Z    Z12, K3, Z12        \ // m, +0 below its floor
	VMULPS.Z     Z0, Z0, K2, Z0      \ // g*g, +0 where g is below its floor
	VMULPS       Z8, Z0, Z0          \
	VFMADD231PS  Z7, Z2, Z0          \ // v = fma(beta2, v, (1-beta2)*(g*g))
	VCMPPS       $0x15, Z18, Z0, K2  \
	VMOVAPS.Z    Z0, K2, Z0          \ // v, +0 below its floor
	VSQRTPS      Z0, Z13       \
	VFMADD213PS  Z11, Z10, Z13 \ // fma(sqrt(v), rbc2, eps)
	VDIVPS       Z13, Z12, Z13 \
	VFNMADD231PS Z9, Z13, Z3     // p = fma(-step, m/den, p)

// func adamAVX512(p, g, m, v []float32, co *AdamCoefficients)
//
// Z4 to Z11 as in ADAM_ARGS, Z15 magnitude bits, Z16 to Z18 the floors of g in v, of g and m, and of v. K2 to K4 masks.
TEXT ·adamAVX512(SB), NOSPLIT, $0-104
	ADAM_ARGS
	VBROADCASTSS ·floorConst+0(SB), Z15
	VBROADCASTSS ·floorConst+64(SB), Z16
	VBROADCASTSS ·floorConst+32(SB), Z17
	VBROADCASTSS ·floorConst+96(SB), Z18
	ELEM_LOOP(ADAM_LOAD, ADAM_OP, ADAM_STORE)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Reductions: the sixteen virtual lanes are one register

// REDUCE_LOADROWS loads sixteen elements, or the last ones, of rows 0 to 3 of x.
#define REDUCE_LOADROWS(load) \
	load((R8), Z0)        \
	load((R8)(R10*1), Z1) \
	load((R8)(R10*2), Z2) \
	load((R8)(R13*1), Z3)

// func dotRowsAVX512(dst, x []float32, xs int, y []float32, ys, n int)
//
// Four rows at a time, to hide the latency of their chains; then row by row.
//
// DI dst         SI, DX   current row of x and y; R8, R9: current element
// R12 rows left  R10, R11 bytes from row to row of x and y; R13, R15: three times that
// BX whole blocks of 16 in a row, CX those left   K1 the elements of the last block, 0 if it is whole
// Lanes of rows 0 to 3: Z4 to Z7. K2 0x1111
TEXT ·dotRowsAVX512(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ ys+80(FP), R11
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	MOVQ n+88(FP), CX
	ANDQ $15, CX
	VEC_TAILMASK                 // K1: the elements of the last block, if it is not whole
	MOVQ n+88(FP), BX
	SHRQ $4, BX              // whole blocks
	MOVL $0x1111, R8
	KMOVW R8, K2
	LEAQ (R10)(R10*2), R13
	LEAQ (R11)(R11*2), R15

	// Four rows at a time hide the latency of their chains.
four:
	SUBQ $4, R12
	JLT  single
	VEC_ZERO4(Z4, Z5, Z6, Z7)
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ BX, CX
	JMP  fourtest
fourblock:
	REDUCE_LOADROWS(VEC_MOVE)
	VFMADD231PS (R9), Z0, Z4
	VFMADD231PS (R9)(R11*1), Z1, Z5
	VFMADD231PS (R9)(R11*2), Z2, Z6
	VFMADD231PS (R9)(R15*1), Z3, Z7
	ADDQ $64, R8
	ADDQ $64, R9
fourtest:
	SUBQ $1, CX
	JGE  fourblock
	KTESTW K1, K1
	JEQ  fourtree
	REDUCE_LOADROWS(VEC_MASKLOAD)
	VMOVUPS.Z (R9), K1, Z8
	VMOVUPS.Z (R9)(R11*1), K1, Z9
	VMOVUPS.Z (R9)(R11*2), K1, Z10
	VMOVUPS.Z (R9)(R15*1), K1, Z11
	VFMADD231PS Z8, Z0, Z4
	VFMADD231PS Z9, Z1, Z5
	VFMADD231PS Z10, Z2, Z6
	VFMADD231PS Z11, Z3, Z7
fourtree:
	REDUCE_TREE4
	VMOVUPS X4, (DI)
	ADDQ $16, DI
	LEAQ (SI)(R10*4), SI
	LEAQ (DX)(R11*4), DX
	JMP  four

single:
	ADDQ $4, R12
	JMP  rowtest
row:
	VPXORD Z4, Z4, Z4
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ BX, CX
	JMP  test
block:
	VMOVUPS (R8), Z0
	VFMADD231PS (R9), Z0, Z4
	ADDQ $64, R8
	ADDQ $64, R9
test:
	SUBQ $1, CX
	JGE  block
	KTESTW K1, K1
	JEQ  tree
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R9), K1, Z1
	VFMADD231PS Z1, Z0, Z4
tree:
	REDUCE_TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	ADDQ R10, SI
	ADDQ R11, DX
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// REDUCE_ROWS is the body of sqdistRowsAVX512 and quadRowsAVX512: four rows of x at a time, to hide the latency of
// their chains, then row by row. load loads what four rows share, op adds elements of all four, in Z0 to
// Z3, to their lanes; one and onerest do both for a single row, in Z0. A function has it once, with its labels.
//
// DI dst         SI current row of x, R10 bytes from row to row, R13 three times that   DX y
// R12 rows left  R8, R9 current element of x and y
// BX whole blocks of 16 in a row, CX those left   K1 the elements of the last block, 0 if it is whole
// Lanes of rows 0 to 3: Z4 to Z7. K2 0x1111
#define REDUCE_ROWS(load, op, one, onerest) \
	MOVQ dst_base+0(FP), DI       \
	MOVQ x_base+24(FP), SI        \
	MOVQ xs+48(FP), R10           \
	MOVQ y_base+56(FP), DX        \
	MOVQ dst_len+8(FP), R12       \
	SHLQ $2, R10                  \
	MOVQ y_len+64(FP), CX         \
	ANDQ $15, CX                  \
	VEC_TAILMASK                  \
	MOVQ y_len+64(FP), BX         \
	SHRQ $4, BX                   \
	MOVL $0x1111, R8              \
	KMOVW R8, K2                  \
	LEAQ (R10)(R10*2), R13        \
four: \
	SUBQ $4, R12                  \
	JLT  single                   \
	VEC_ZERO4(Z4, Z5, Z6, Z7)     \
	MOVQ SI, R8                   \
	MOVQ DX, R9                   \
	MOVQ BX, CX                   \
	JMP  fourtest                 \
fourblock: \
	load(VEC_MOVE)                \
	REDUCE_LOADROWS(VEC_MOVE)     \
	op                            \
	ADDQ $64, R8                  \
	ADDQ $64, R9                  \
fourtest: \
	SUBQ $1, CX                   \
	JGE  fourblock                \
	KTESTW K1, K1                 \
	JEQ  fourtree                 \
	load(VEC_MASKLOAD)            \
	REDUCE_LOADROWS(VEC_MASKLOAD) \
	op                            \
fourtree: \
	REDUCE_TREE4                  \
	VMOVUPS X4, (DI)              \
	ADDQ $16, DI                  \
	LEAQ (SI)(R10*4), SI          \
	JMP  four                     \
single: \
	ADDQ $4, R12                  \
	JMP  rowtest                  \
row: \
	VPXORD Z4, Z4, Z4             \
	MOVQ SI, R8                   \
	MOVQ DX, R9                   \
	MOVQ BX, CX                   \
	JMP  test                     \
block: \
	VMOVUPS (R8), Z0              \
	one                           \
	ADDQ $64, R8                  \
	ADDQ $64, R9                  \
test: \
	SUBQ $1, CX                   \
	JGE  block                    \
	KTESTW K1, K1                 \
	JEQ  tree                     \
	VMOVUPS.Z (R8), K1, Z0        \
	onerest                       \
tree: \
	REDUCE_TREE                   \
	VMOVSS X4, (DI)               \
	ADDQ $4, DI                   \
	ADDQ R10, SI                  \
rowtest: \
	SUBQ $1, R12                  \
	JGE  row

#define REDUCE_SQLOAD(load) load((R9), Z8)

#define REDUCE_DIFF \
	VSUBPS Z8, Z0, Z0 \
	VSUBPS Z8, Z1, Z1 \
	VSUBPS Z8, Z2, Z2 \
	VSUBPS Z8, Z3, Z3

#define REDUCE_SQ REDUCE_DIFF \
	VFMADD231PS Z0, Z0, Z4 \
	VFMADD231PS Z1, Z1, Z5 \
	VFMADD231PS Z2, Z2, Z6 \
	VFMADD231PS Z3, Z3, Z7

#define REDUCE_SQONE VSUBPS (R9), Z0, Z0; VFMADD231PS Z0, Z0, Z4
#define REDUCE_SQONEREST VMOVUPS.Z (R9), K1, Z1; VSUBPS Z1, Z0, Z0; VFMADD231PS Z0, Z0, Z4

// func sqdistRowsAVX512(dst, x []float32, xs int, y []float32)
//
// Registers: see REDUCE_ROWS.
TEXT ·sqdistRowsAVX512(SB), NOSPLIT, $0-80
	REDUCE_ROWS(REDUCE_SQLOAD, REDUCE_SQ, REDUCE_SQONE, REDUCE_SQONEREST)
	VZEROUPPER
	RET

#define REDUCE_QUADLOAD(load) load((R9), Z8); load((R9)(R11*1), Z9)

#define REDUCE_QUAD REDUCE_DIFF \
	VMULPS Z9, Z0, Z10 \
	VMULPS Z9, Z1, Z11 \
	VMULPS Z9, Z2, Z12 \
	VMULPS Z9, Z3, Z13 \
	VFMADD231PS Z0, Z10, Z4 \
	VFMADD231PS Z1, Z11, Z5 \
	VFMADD231PS Z2, Z12, Z6 \
	VFMADD231PS Z3, Z13, Z7

#define REDUCE_QUADONE \
	VSUBPS (R9), Z0, Z0 \
	VMULPS (R9)(R11*1), Z0, Z1 \
	VFMADD231PS Z0, Z1, Z4

#define REDUCE_QUADONEREST \
	VMOVUPS.Z (R9), K1, Z1 \
	VMOVUPS.Z (R9)(R11*1), K1, Z2 \
	VSUBPS Z1, Z0, Z0 \
	VMULPS Z2, Z0, Z1 \
	VFMADD231PS Z0, Z1, Z4

// func quadRowsAVX512(dst, x []float32, xs int, y, w []float32)
//
// R11 bytes from y to w; the others: see REDUCE_ROWS.
TEXT ·quadRowsAVX512(SB), NOSPLIT, $0-104
	MOVQ w_base+80(FP), R11
	SUBQ y_base+56(FP), R11 // from y to w
	REDUCE_ROWS(REDUCE_QUADLOAD, REDUCE_QUAD, REDUCE_QUADONE, REDUCE_QUADONEREST)
	VZEROUPPER
	RET

// REDUCE_ZERO64 clears the float64 lanes.
#define REDUCE_ZERO64 VEC_CLEAR(Z4); VEC_CLEAR(Z5)

// REDUCE_LOAD64 loads sixteen float32 of the vector at p as float64.
#define REDUCE_LOAD64(p, a, b) \
	VCVTPS2PD (p), a   \
	VCVTPS2PD 32(p), b

// REDUCE_SUM, REDUCE_DOT64 and REDUCE_SQUARES are the operations of REDUCE_LOOP64 of a sum, a dot product and a sum
// of squares, where Z6 is the mean. K1 is the mask of the rest, K2 that of its upper eight lanes.
#define REDUCE_SUM \
	REDUCE_LOAD64(SI, Z2, Z3) \
	REDUCE_ADDWIDE64          \
	ADDQ $64, SI

#define REDUCE_SUMREST \
	VEC_TAILMASK           \
	VEC_MASKLOAD((SI), Z0) \
	VEC_WIDENX             \
	REDUCE_ADDWIDE64

#define REDUCE_FMA64 \
	VFMADD231PD Z6, Z2, Z4 \
	VFMADD231PD Z7, Z3, Z5

#define REDUCE_DOT64 \
	REDUCE_LOAD64(SI, Z2, Z3) \
	REDUCE_LOAD64(DX, Z6, Z7) \
	REDUCE_FMA64              \
	ADDQ $64, SI              \
	ADDQ $64, DX

#define REDUCE_DOT64REST \
	VEC_TAILMASK           \
	VEC_MASKLOAD((SI), Z0) \
	VEC_MASKLOAD((DX), Z1) \
	VEC_WIDENX             \
	VEC_WIDENY             \
	REDUCE_FMA64

#define REDUCE_SQUARE64 \
	VMULPD Z2, Z2, Z2 \
	VMULPD Z3, Z3, Z3 \
	REDUCE_ADDWIDE64

#define REDUCE_SQUARES \
	REDUCE_LOAD64(SI, Z2, Z3) \
	VSUBPD Z6, Z2, Z2         \
	VSUBPD Z6, Z3, Z3         \
	REDUCE_SQUARE64           \
	ADDQ $64, SI

#define REDUCE_SQUARESREST \
	VEC_TAILMASK            \
	KSHIFTRW $8, K1, K2     \
	VEC_MASKLOAD((SI), Z0)  \
	VEC_WIDENX              \
	VSUBPD.Z Z6, Z2, K1, Z2 \ // 0 beyond the end
	VSUBPD.Z Z6, Z3, K2, Z3 \
	REDUCE_SQUARE64

// func sumAVX512(x []float32) float64
TEXT ·sumAVX512(SB), NOSPLIT, $0-32
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	REDUCE_LOOP64(REDUCE_SUM, REDUCE_SUMREST)
	VMOVSD X4, ret+24(FP)
	VZEROUPPER
	RET

// func dotAVX512(x, y []float32) float64
TEXT ·dotAVX512(SB), NOSPLIT, $0-56
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), DX
	REDUCE_LOOP64(REDUCE_DOT64, REDUCE_DOT64REST)
	VMOVSD X4, ret+48(FP)
	VZEROUPPER
	RET

// func squaresAVX512(x []float32, mean float64) float64
TEXT ·squaresAVX512(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VBROADCASTSD mean+24(FP), Z6
	REDUCE_LOOP64(REDUCE_SQUARES, REDUCE_SQUARESREST)
	VMOVSD X4, ret+32(FP)
	VZEROUPPER
	RET

// REDUCE_PARTLOAD loads up to 16 columns for REDUCE_ADDROWS. Their mask: K1, of the upper eight K2. Keeps CX in
// R11. Changes R8.
#define REDUCE_PARTLOAD \
	MOVQ CX, R11           \
	MOVQ $16, R8           \
	CMPQ CX, R8            \
	CMOVQGT R8, CX         \
	VEC_TAILMASK           \
	KSHIFTRW $8, K1, K2    \
	VMOVUPD.Z (DI), K1, Z4 \
	VMOVUPD.Z 64(DI), K2, Z5

#define REDUCE_PARTSTORE \
	VMOVUPD Z4, K1, (DI) \
	VMOVUPD Z5, K2, 64(DI)

#define REDUCE_PARTNEXT LEAQ -16(R11), CX

// func addRowsAVX512(sum []float64, x []float32, xs int, at []int32)
TEXT ·addRowsAVX512(SB), NOSPLIT, $0-80
	REDUCE_ADDROWS
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// exp and log

// EXP_OP is exp of any float32. Z26 and Z27 are the bounds 89 and -104.5; the bound is the first of the
// two sources, so that NaN passes.
#define EXP_OP \
	VMINPS Z0, Z26, Z0 \ // the bound first: a NaN passes
	VMAXPS Z0, Z27, Z0 \
	EXP_EVAL

// func expAVX512(dst, x []float32)
//
// EXP_OP changes Z0 to Z3 and Z16 to Z27.
TEXT ·expAVX512(SB), NOSPLIT, $0-48
	ELEM_ARGSX
	EXP_CONSTANTS
	VBROADCASTSS ·expConst+352(SB), Z26
	VBROADCASTSS ·expConst+384(SB), Z27
	ELEM_LOOP(VEC_LOADX, EXP_OP, VEC_STORE)
	VZEROUPPER
	RET

// LOG_OP is log of any float32: subnormal x is multiplied by 2^23 first, and 0, +Inf, negative x and
// NaN are selected at the end. x stays in Z5.
#define LOG_OP \
	VMOVAPS        Z0, Z5                           \
	VCMPPS.BCST    $0x11, ·logConst+416(SB), Z0, K2 \ // below the normal range
	VMULPS.BCST    ·logConst+448(SB), Z0, K2, Z0    \
	VBROADCASTSS.Z ·logConst+480(SB), K2, Z4        \
	LOG_EVAL                                        \
	VPXORD         Z1, Z1, Z1                       \
	VCMPPS         $0x00, Z1, Z5, K2                \ // x == 0
	VBROADCASTSS   ·logConst+512(SB), K2, Z0        \
	VCMPPS.BCST    $0x00, ·logConst+544(SB), Z5, K2 \ // x == +Inf
	VBROADCASTSS   ·logConst+544(SB), K2, Z0        \
	VCMPPS         $0x19, Z1, Z5, K2                \ // not x >= 0
	VBROADCASTSS   ·logConst+576(SB), K2, Z0

// func logAVX512(dst, x []float32)
//
// LOG_OP changes Z0 to Z5 and K2.
TEXT ·logAVX512(SB), NOSPLIT, $0-48
	ELEM_ARGSX
	ELEM_LOOP(VEC_LOADX, LOG_OP, VEC_STORE)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Loops that measure the machine

// func fmaPeakAVX512(rounds int)
TEXT ·fmaPeakAVX512(SB), NOSPLIT, $0-8
	MEASURE_FMA
	VZEROUPPER
	RET

// MEASURE_REST does vmask for the last CX elements, with the mask in K1. The labels one and otest are of AVX2.
#define MEASURE_REST(vmask, one, otest, next) \
	JEQ  next    \
	VEC_TAILMASK \
	vmask

#define MEASURE_OR(x, y) VPORD x, y, y
#define MEASURE_LOADREST VEC_MASKLOAD((SI), Z0)
#define MEASURE_READREST VEC_MASKLOAD((SI), Z8); VPORD Z8, Z0, Z0
#define MEASURE_WRITEREST VEC_MASKSTORE(Z8, (DI))

#define MEASURE_TRIADREST \
	VEC_MASKLOAD((SI), Z0) \
	VEC_MASKLOAD((DX), Z1) \
	VFMADD231PS Z1, Z8, Z0 \
	VEC_MASKSTORE(Z0, (DI))

// func readAVX512(x []float32, rounds int) uint32
//
// Returns the bitwise or of all elements.
TEXT ·readAVX512(SB), NOSPLIT, $0-36
	MEASURE_READS
	VEXTRACTI64X4 $1, Z0, Y1
	VPOR Y1, Y0, Y0
	MEASURE_ORLANES
	VZEROUPPER
	MOVL AX, ret+32(FP)
	RET

// func writeAVX512(dst []float32, a float32, rounds int)
TEXT ·writeAVX512(SB), NOSPLIT, $0-40
	MEASURE_WRITES
	VZEROUPPER
	RET

// func triadAVX512(a float32, dst, x, y []float32, rounds int)
TEXT ·triadAVX512(SB), NOSPLIT, $0-88
	MEASURE_TRIADS
	VZEROUPPER
	RET
