//go:build amd64 && !purego && !noasm

#include "go_asm.h"
#include "textflag.h"
#include "vector_amd64.h"
#include "vector_avx2_amd64.h"

// AVX2: vectors. Elementwise operations, reductions, exp and log, and the loops that measure what the
// machine can do.
//
// Registers: AX to DX, SI, DI, R8 to R13 and R15 are free; R14 (the goroutine) and SP are left alone.
// Every function that uses vector registers ends with VZEROUPPER, without which the SSE code of Go
// that runs next is slower. The contents say what a function computes, its head what its registers hold
// and, where a frame is used, its slots; where a macro of vector_amd64.h is the body or the loop, the head of
// that does. Operands are in Go order, destination last: VFMADD231PS a, b, c is c = fma(a, b, c). Where
// labels are parameters of a macro they are the last ones and carry no other meaning.
//
// Contents:
//
//	multiplyAVX2      dst[j] = x[j] * y[j]
//	subRowsAVX2       dst[i][j] = x[i][j] - y[i][j]
//	axpyAVX2          dst[j] = fma(a, x[j], y[j])
//	axpyProductsAVX2  dst[i][j] = fma(alpha, g[i][j] + s[i][j] * x[i][j], dst[i][j])
//	scaleAVX2         dst[j] = a * x[j]
//	reluBackwardAVX2  dst[j] = y[j] where x[j] > 0, else +0
//	decayAVX2         x[j] = a * x[j], +0 below 2^-100
//	normaliseAVX2     dst[j] = (x[j] - mean) * rstd, in float64
//	normBackwardAVX2  dst[j] = rstd * (y[j] - c1 - c2 * x[j]), in float64
//	adamAVX2          one Adam step on p
//	dotRowsAVX2       dst[i] = sum over j of x[i][j] * y[i][j]
//	sqdistRowsAVX2    dst[i] = sum over j of (x[i][j] - y[j])^2
//	quadRowsAVX2      dst[i] = sum over j of w[j] * (x[i][j] - y[j])^2
//	sumAVX2           the sum of x, in float64
//	dotAVX2           the sum of x[j] * y[j], in float64
//	squaresAVX2       the sum of (x[j] - mean)^2, in float64
//	addRowsAVX2       sum[j] += x[i][j] for all i of at, in float64
//	expAVX2           dst[j] = exp(x[j])
//	logAVX2           dst[j] = log(x[j])
//	fmaPeakAVX2       rounds of 24 independent fused multiply-adds
//	readAVX2          reads x, rounds times
//	writeAVX2         dst[j] = a, rounds times
//	triadAVX2         dst[j] = fma(a, y[j], x[j]), rounds times
//	pause             n spin-wait hints
//	prefetch          prefetches x
//	prefetchToWrite   the same, to write it

// tailMasks is eight all-ones words, then eight zeros: the 32 bytes from (8-n)*4 on select the first n
// of eight lanes.
DATA ·tailMasks+0(SB)/8, $0xffffffffffffffff
DATA ·tailMasks+8(SB)/8, $0xffffffffffffffff
DATA ·tailMasks+16(SB)/8, $0xffffffffffffffff
DATA ·tailMasks+24(SB)/8, $0xffffffffffffffff
GLOBL ·tailMasks(SB), RODATA|NOPTR, $64

// VEC_CONST8 defines a constant eight times over, so that it can be the operand of a vector instruction.
#define VEC_CONST8(name, off, v) \
	DATA name+(off+0)(SB)/4, v  \
	DATA name+(off+4)(SB)/4, v  \
	DATA name+(off+8)(SB)/4, v  \
	DATA name+(off+12)(SB)/4, v \
	DATA name+(off+16)(SB)/4, v \
	DATA name+(off+20)(SB)/4, v \
	DATA name+(off+24)(SB)/4, v \
	DATA name+(off+28)(SB)/4, v

VEC_CONST8(·floorConst, 0, $0x7fffffff)  // the bits of a magnitude
VEC_CONST8(·floorConst, 32, $0x0d800000) // 2^-100: MomentFloor
VEC_CONST8(·floorConst, 64, $0x23000000) // 2^-57: squareFloor
VEC_CONST8(·floorConst, 96, $0x06800000) // 2^-114: SecondMomentFloor
GLOBL ·floorConst(SB), RODATA|NOPTR, $128

// ---------------------------------------------------------------------------------
// Elementwise operations

// func multiplyAVX2(dst, x, y []float32)
TEXT ·multiplyAVX2(SB), NOSPLIT, $0-72
	ELEM_ARGSXY
	ELEM_LOOP(VEC_LOADXY, ELEM_MUL, VEC_STORE)
	VZEROUPPER
	RET

// func subRowsAVX2(args *subRowsArgs)
TEXT ·subRowsAVX2(SB), NOSPLIT, $0-8
	ELEM_SUBROWS
	VZEROUPPER
	RET

// func axpyAVX2(dst []float32, a float32, x, y []float32)
//
// Y14 a.
TEXT ·axpyAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	VBROADCASTSS a+24(FP), Y14
	MOVQ x_base+32(FP), SI
	MOVQ y_base+56(FP), DX
	ELEM_LOOP(VEC_LOADXY, ELEM_AXPY, VEC_STORE)
	VZEROUPPER
	RET

// func axpyProductsAVX2(args *axpyProductsArgs)
TEXT ·axpyProductsAVX2(SB), NOSPLIT, $0-8
	ELEM_AXPYPRODUCTS
	VZEROUPPER
	RET

// func scaleAVX2(dst []float32, a float32, x []float32)
//
// Y14 a.
TEXT ·scaleAVX2(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	VBROADCASTSS a+24(FP), Y14
	MOVQ x_base+32(FP), SI
	MOVQ dst_len+8(FP), CX
	ELEM_LOOP(VEC_LOADX, ELEM_SCALE, VEC_STORE)
	VZEROUPPER
	RET

// x holds the layer's output, y the gradient: x > 0 ? y : +0.
#define ELEM_RELUBACK \
	VCMPPS $0x11, Y0, Y14, Y2 \
	VANDPS Y1, Y2, Y0

// func reluBackwardAVX2(dst, x, y []float32)
//
// Y14 zero.
TEXT ·reluBackwardAVX2(SB), NOSPLIT, $0-72
	ELEM_ARGSXY
	VEC_CLEAR(Y14)
	ELEM_LOOP(VEC_LOADXY, ELEM_RELUBACK, VEC_STORE)
	VZEROUPPER
	RET

// Y1: the lanes that are not below the floor in magnitude, or NaN.
#define ELEM_DECAY \
	VMULPS Y14, Y0, Y0                         \
	VANDPS ·floorConst+0(SB), Y0, Y1           \
	VCMPPS $0x15, ·floorConst+32(SB), Y1, Y1   \
	VANDPS Y1, Y0, Y0

// func decayAVX2(a float32, x []float32)
//
// DI is x too. Y14 a.
TEXT ·decayAVX2(SB), NOSPLIT, $0-32
	VBROADCASTSS a+0(FP), Y14
	MOVQ x_base+8(FP), DI
	MOVQ x_len+16(FP), CX
	MOVQ DI, SI
	ELEM_LOOP(VEC_LOADX, ELEM_DECAY, VEC_STORE)
	VZEROUPPER
	RET

// func normaliseAVX2(dst, x []float32, mean, rstd float64)
//
// Y13 mean, Y14 rstd.
TEXT ·normaliseAVX2(SB), NOSPLIT, $0-64
	ELEM_ARGSX
	VBROADCASTSD mean+48(FP), Y13
	VBROADCASTSD rstd+56(FP), Y14
	ELEM_LOOP(VEC_LOADX, ELEM_NORMALISE, VEC_STORE)
	VZEROUPPER
	RET

// func normBackwardAVX2(dst, x, y []float32, c1, c2, rstd float64)
//
// Y12 c1, Y13 c2, Y14 rstd.
TEXT ·normBackwardAVX2(SB), NOSPLIT, $0-96
	ELEM_ARGSXY
	VBROADCASTSD c1+72(FP), Y12
	VBROADCASTSD c2+80(FP), Y13
	VBROADCASTSD rstd+88(FP), Y14
	ELEM_LOOP(VEC_LOADXY, ELEM_NORMBACK, VEC_STORE)
	VZEROUPPER
	RET

// ADAM_FLOOR sets x to +0 where its magnitude is below the floor at floorConst+off. Changes Y13.
#define ADAM_FLOOR(off, x) \
	VANDPS ·floorConst+0(SB), x, Y13             \
	VCMPPS $0x15, ·floorConst+off(SB), Y13, Y13  \
	VANDPS Y13, x, x

// g in Y0, m in Y1, v in Y2, p in Y3, +0 below their floors; the new m is in Y12, v in Y0, p in Y3.
#define ADAM_OP \
	ADAM_FLOOR(32, Y0)         \
	ADAM_FLOOR(32, Y1)         \
	VCMPPS       $0x15, ·floorConst+96(SB), Y2, Y13 \
	VANDPS       Y13, Y2, Y2   \
	VMULPS       Y4, Y0, Y0    \ // g *= clip
	VMULPS       Y6, Y0, Y12   \
	VFMADD231PS  Y5, Y1, Y12   \ // m = fma(beta1, m, (1-beta1)*g)
	ADAM_FLOOR(64, Y0)         \ // for the square
	ADAM_FLOOR(32, Y12)        \
	VMULPS       Y0, Y0, Y0    \
	VMULPS       Y8, Y0, Y0    \
	VFMADD231PS  Y7, Y2, Y0    \ // v = fma(beta2, v, (1-beta2)*(g*g))
	VCMPPS       $0x15, ·floorConst+96(SB), Y0, Y13 \
	VANDPS       Y13, Y0, Y0   \
	VSQRTPS      Y0, Y13       \
	VFMADD213PS  Y11, Y10, Y13 \ // fma(sqrt(v), rbc2, eps)
	VDIVPS       Y13, Y12, Y13 \
	VFNMADD231PS Y9, Y13, Y3     // p = fma(-step, m/den, p)

// func adamAVX2(p, g, m, v []float32, co *AdamCoefficients)
TEXT ·adamAVX2(SB), NOSPLIT, $0-104
	ADAM_ARGS
	ELEM_LOOP(ADAM_LOAD, ADAM_OP, ADAM_STORE)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Reductions: sixteen virtual lanes, 0 to 7 in the first of a pair of registers, 8 to 15 in the second

// REDUCE_TREES stores the sums of four rows, in (Y4, Y5) to (Y10, Y11), at DI, which it advances.
#define REDUCE_TREES \
	REDUCE_TREE        \
	VMOVSS  X4, (DI)   \
	VMOVAPS Y6, Y4     \
	VMOVAPS Y7, Y5     \
	REDUCE_TREE        \
	VMOVSS  X4, 4(DI)  \
	VMOVAPS Y8, Y4     \
	VMOVAPS Y9, Y5     \
	REDUCE_TREE        \
	VMOVSS  X4, 8(DI)  \
	VMOVAPS Y10, Y4    \
	VMOVAPS Y11, Y5    \
	REDUCE_TREE        \
	VMOVSS  X4, 12(DI) \
	ADDQ    $16, DI

// REDUCE_MASKS: CX (1 to 15) elements are left; Y14 and Y15 get the masks of lanes 0 to 7 and 8 to
// 15. Changes CX, R8, R9.
#define REDUCE_MASKS(short) \
	LEAQ    ·tailMasks+32(SB), R8 \
	XORQ    R9, R9                \
	CMPQ    CX, $8                \
	JLE     short                 \
	LEAQ    -8(CX), R9            \
	MOVQ    $8, CX                \
short: \
	SHLQ    $2, CX                \
	SHLQ    $2, R9                \
	NEGQ    CX                    \
	NEGQ    R9                    \
	VMOVUPS (R8)(CX*1), Y14       \
	VMOVUPS (R8)(R9*1), Y15

// REDUCE_MASKLOAD loads lanes 0 to 7 by the mask Y14, as VEC_MASKLOAD does by Y15 lanes 8 to 15.
#define REDUCE_MASKLOAD(from, to) VMASKMOVPS from, Y14, to

// REDUCE_ZERO clears the lanes of up to six rows, Y4 to Y15.
#define REDUCE_ZERO \
	VEC_ZERO4(Y4, Y5, Y6, Y7) \
	VEC_ZERO4(Y8, Y9, Y10, Y11) \
	VEC_ZERO4(Y12, Y13, Y14, Y15)

// REDUCE_DOT adds sixteen products of a row of x and one of y to the lanes (a0, a1) of the row,
// REDUCE_DOTREST the products of the masked rest.
#define REDUCE_DOT(x, y, a0, a1) \
	VMOVUPS x, Y0         \ // x[j .. j+7]
	VMOVUPS 32 x, Y1      \
	VFMADD231PS y, Y0, a0 \ // lanes 0 to 7
	VFMADD231PS 32 y, Y1, a1 // lanes 8 to 15

#define REDUCE_DOTREST(x, y, a0, a1) \
	VMASKMOVPS x, Y14, Y0    \
	VMASKMOVPS y, Y14, Y1    \
	VFMADD231PS Y1, Y0, a0   \
	VMASKMOVPS 32 x, Y15, Y0 \
	VMASKMOVPS 32 y, Y15, Y1 \
	VFMADD231PS Y1, Y0, a1

// func dotRowsAVX2(dst, x []float32, xs int, y []float32, ys, n int)
//
// Four rows at a time, because the chain of a single row leaves the FMA units idle; then row by row.
//
// DI dst         SI, DX   current element of row 0 of x and y; AX, BX: start of that row
// R12 rows left  R10, R11 bytes from row to row of x and y
// CX elements    R13, R15 current element of row 3 of x and y
// Lanes of rows 0 to 3: (Y4, Y5), (Y6, Y7), (Y8, Y9), (Y10, Y11). Tail masks: Y14, Y15.
TEXT ·dotRowsAVX2(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ ys+80(FP), R11
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	JMP  fourtest
four:
	MOVQ n+88(FP), CX
	MOVQ SI, AX
	MOVQ DX, BX
	LEAQ (SI)(R10*2), R13
	ADDQ R10, R13            // row 3 of X
	LEAQ (DX)(R11*2), R15
	ADDQ R11, R15            // row 3 of Y
	REDUCE_ZERO
	SUBQ $16, CX
	JLT  fourrest
	TESTQ R11, R11
	JEQ  shared
fourblock:
	REDUCE_DOT((SI), (DX), Y4, Y5)
	REDUCE_DOT((SI)(R10*1), (DX)(R11*1), Y6, Y7)
	REDUCE_DOT((SI)(R10*2), (DX)(R11*2), Y8, Y9)
	REDUCE_DOT((R13), (R15), Y10, Y11)
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, R13
	ADDQ $64, R15
	SUBQ $16, CX
	JGE  fourblock
	JMP  fourrest
shared: // one row of y for all
	VMOVUPS (DX), Y0
	VMOVUPS 32(DX), Y1
	VFMADD231PS (SI), Y0, Y4
	VFMADD231PS 32(SI), Y1, Y5
	VFMADD231PS (SI)(R10*1), Y0, Y6
	VFMADD231PS 32(SI)(R10*1), Y1, Y7
	VFMADD231PS (SI)(R10*2), Y0, Y8
	VFMADD231PS 32(SI)(R10*2), Y1, Y9
	VFMADD231PS (R13), Y0, Y10
	VFMADD231PS 32(R13), Y1, Y11
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, R13
	SUBQ $16, CX
	JGE  shared
	MOVQ DX, R15
fourrest:
	ADDQ $16, CX
	JEQ  fourtree
	REDUCE_MASKS(fourshort)
	REDUCE_DOTREST((SI), (DX), Y4, Y5)
	REDUCE_DOTREST((SI)(R10*1), (DX)(R11*1), Y6, Y7)
	REDUCE_DOTREST((SI)(R10*2), (DX)(R11*2), Y8, Y9)
	REDUCE_DOTREST((R13), (R15), Y10, Y11)
fourtree:
	REDUCE_TREES
	LEAQ (AX)(R10*4), SI
	LEAQ (BX)(R11*4), DX
fourtest:
	SUBQ $4, R12
	JGE  four
	ADDQ $4, R12
	JMP  rowtest
row:
	MOVQ n+88(FP), CX
	MOVQ SI, AX
	MOVQ DX, BX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	SUBQ $16, CX
	JLT  rest
block:
	REDUCE_DOT((SI), (DX), Y4, Y5)
	ADDQ $64, SI
	ADDQ $64, DX
	SUBQ $16, CX
	JGE  block
rest:
	ADDQ $16, CX
	JEQ  tree
	REDUCE_MASKS(short)
	REDUCE_DOTREST((SI), (DX), Y4, Y5)
tree:
	REDUCE_TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	LEAQ (AX)(R10*1), SI
	LEAQ (BX)(R11*1), DX
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// REDUCE_SQ adds the squares of sixteen elements of y - x to the lanes (a0, a1), with y in Y2 and Y3. Those of x - y
// are the same, but x would have to be loaded first, as in REDUCE_SQREST, which adds the masked rest.
#define REDUCE_SQ(x, a0, a1) \
	VSUBPS (x)(AX*4), Y2, Y0   \
	VSUBPS 32(x)(AX*4), Y3, Y1 \
	VFMADD231PS Y0, Y0, a0     \
	VFMADD231PS Y1, Y1, a1

#define REDUCE_SQREST(x, a0, a1) \
	VMASKMOVPS (x)(AX*4), Y14, Y0   \
	VMASKMOVPS 32(x)(AX*4), Y15, Y1 \
	VSUBPS Y2, Y0, Y0               \
	VSUBPS Y3, Y1, Y1               \
	VFMADD231PS Y0, Y0, a0          \
	VFMADD231PS Y1, Y1, a1

// REDUCE_ROWS is the body of sqdistRowsAVX2 and quadRowsAVX2: four rows of x at a time, because the chains of a single
// row leave the FMA units idle, then row by row. load(low, high) loads what all rows share, by the moves low for lanes 0
// to 7 and high for 8 to 15; op and oprest add elements of a row to its lanes. A function has it once, with its labels.
//
// DI dst             SI, R11, R13, BX   rows 0 to 3 of x, indexed by AX
// R12 rows left      R10                bytes from row to row of x
// CX elements left   DX y; REDUCE_MASKS uses R8 and R9
// Lanes of rows 0 to 3: (Y4, Y5), (Y6, Y7), (Y8, Y9), (Y10, Y11). Tail masks: Y14, Y15.
#define REDUCE_ROWS(load, op, oprest) \
	MOVQ dst_base+0(FP), DI             \
	MOVQ x_base+24(FP), SI              \
	MOVQ xs+48(FP), R10                 \
	MOVQ y_base+56(FP), DX              \
	MOVQ dst_len+8(FP), R12             \
	SHLQ $2, R10                        \
	JMP  fourtest                       \
four: \
	MOVQ y_len+64(FP), CX               \
	LEAQ (SI)(R10*1), R11               \
	LEAQ (SI)(R10*2), R13               \
	LEAQ (R11)(R10*2), BX               \
	REDUCE_ZERO                         \
	XORQ AX, AX                         \
	SUBQ $16, CX                        \
	JLT  fourrest                       \
fourblock: \
	load(VEC_MOVE, VEC_MOVE)            \
	op(SI, Y4, Y5)                      \
	op(R11, Y6, Y7)                     \
	op(R13, Y8, Y9)                     \
	op(BX, Y10, Y11)                    \
	ADDQ $16, AX                        \
	SUBQ $16, CX                        \
	JGE  fourblock                      \
fourrest: \
	ADDQ $16, CX                        \
	JEQ  fourtree                       \
	REDUCE_MASKS(fourshort)             \
	load(REDUCE_MASKLOAD, VEC_MASKLOAD) \
	oprest(SI, Y4, Y5)                  \
	oprest(R11, Y6, Y7)                 \
	oprest(R13, Y8, Y9)                 \
	oprest(BX, Y10, Y11)                \
fourtree: \
	REDUCE_TREES                        \
	LEAQ (SI)(R10*4), SI                \
fourtest: \
	SUBQ $4, R12                        \
	JGE  four                           \
	ADDQ $4, R12                        \
	JMP  rowtest                        \
row: \
	MOVQ y_len+64(FP), CX               \
	VXORPS Y4, Y4, Y4                   \
	VXORPS Y5, Y5, Y5                   \
	XORQ AX, AX                         \
	SUBQ $16, CX                        \
	JLT  rest                           \
block: \
	load(VEC_MOVE, VEC_MOVE)            \
	op(SI, Y4, Y5)                      \
	ADDQ $16, AX                        \
	SUBQ $16, CX                        \
	JGE  block                          \
rest: \
	ADDQ $16, CX                        \
	JEQ  tree                           \
	REDUCE_MASKS(short)                 \
	load(REDUCE_MASKLOAD, VEC_MASKLOAD) \
	oprest(SI, Y4, Y5)                  \
tree: \
	REDUCE_TREE                         \
	VMOVSS X4, (DI)                     \
	ADDQ $4, DI                         \
	ADDQ R10, SI                        \
rowtest: \
	SUBQ $1, R12                        \
	JGE  row

#define REDUCE_SQLOAD(low, high) \
	low((DX)(AX*4), Y2) \
	high(32(DX)(AX*4), Y3)

// func sqdistRowsAVX2(dst, x []float32, xs int, y []float32)
//
// dst[i] = sum over j of (x[i][j] - y[j])^2. See sqdistRowsGeneric. y: Y2, Y3.
TEXT ·sqdistRowsAVX2(SB), NOSPLIT, $0-80
	REDUCE_ROWS(REDUCE_SQLOAD, REDUCE_SQ, REDUCE_SQREST)
	VZEROUPPER
	RET

// REDUCE_QUAD and REDUCE_QUADREST add w (x - y)^2 to the lanes of a row, as REDUCE_SQ does.
#define REDUCE_QUAD(x, a0, a1) \
	VSUBPS (x)(AX*4), Y2, Y0   \
	VMULPS Y12, Y0, Y1         \
	VFMADD231PS Y0, Y1, a0     \
	VSUBPS 32(x)(AX*4), Y3, Y0 \
	VMULPS Y13, Y0, Y1         \
	VFMADD231PS Y0, Y1, a1

#define REDUCE_QUADREST(x, a0, a1) \
	VMASKMOVPS (x)(AX*4), Y14, Y0   \
	VSUBPS Y2, Y0, Y0               \
	VMULPS Y12, Y0, Y1              \
	VFMADD231PS Y0, Y1, a0          \
	VMASKMOVPS 32(x)(AX*4), Y15, Y0 \
	VSUBPS Y3, Y0, Y0               \
	VMULPS Y13, Y0, Y1              \
	VFMADD231PS Y0, Y1, a1

#define REDUCE_QUADLOAD(low, high) \
	REDUCE_SQLOAD(low, high) \
	low((R15)(AX*4), Y12)    \
	high(32(R15)(AX*4), Y13)

// func quadRowsAVX2(dst, x []float32, xs int, y, w []float32)
//
// dst[i] = sum over j of w[j] * (x[i][j] - y[j])^2. See quadRowsGeneric. y: Y2, Y3. w: R15; Y12, Y13.
TEXT ·quadRowsAVX2(SB), NOSPLIT, $0-104
	MOVQ w_base+80(FP), R15
	REDUCE_ROWS(REDUCE_QUADLOAD, REDUCE_QUAD, REDUCE_QUADREST)
	VZEROUPPER
	RET

// REDUCE_WIDENX converts the sixteen float32 of x in Y0 and Y2 to float64 in Y0 to Y3, REDUCE_WIDENY those
// of y in Y8 and Y10 to Y8 to Y11.
#define REDUCE_WIDENX \
	VEXTRACTF128 $1, Y0, X1 \
	VEXTRACTF128 $1, Y2, X3 \
	VCVTPS2PD X0, Y0        \
	VCVTPS2PD X1, Y1        \
	VCVTPS2PD X2, Y2        \
	VCVTPS2PD X3, Y3

#define REDUCE_WIDENY \
	VEXTRACTF128 $1, Y8, X9   \
	VEXTRACTF128 $1, Y10, X11 \
	VCVTPS2PD X8, Y8          \
	VCVTPS2PD X9, Y9          \
	VCVTPS2PD X10, Y10        \
	VCVTPS2PD X11, Y11

// REDUCE_LOAD64 loads sixteen float32 of the vector at p as float64.
#define REDUCE_LOAD64(p, a, b, c, d) \
	VCVTPS2PD (p)(AX*4), a   \
	VCVTPS2PD 16(p)(AX*4), b \
	VCVTPS2PD 32(p)(AX*4), c \
	VCVTPS2PD 48(p)(AX*4), d

// REDUCE_ZERO64 clears the float64 lanes, and the index AX.
#define REDUCE_ZERO64 \
	VEC_ZERO4(Y4, Y5, Y6, Y7) \
	XORQ AX, AX

// REDUCE_LOADREST loads the last CX elements of x, by the masks Y14 and Y15.
#define REDUCE_LOADREST \
	REDUCE_MASKS(short)            \
	VMASKMOVPS (SI)(AX*4), Y14, Y0 \
	VMASKMOVPS 32(SI)(AX*4), Y15, Y2

// REDUCE_SUM, REDUCE_DOT64 and REDUCE_SQUARES are the operations of REDUCE_LOOP64 of a sum, a dot product and a sum
// of squares, where Y12 is the mean.
#define REDUCE_SUM \
	REDUCE_LOAD64(SI, Y0, Y1, Y2, Y3) \
	REDUCE_ADD64                      \
	ADDQ $16, AX

#define REDUCE_SUMREST \
	REDUCE_LOADREST \
	REDUCE_WIDENX   \
	REDUCE_ADD64

#define REDUCE_FMA64 \
	VFMADD231PD Y8, Y0, Y4  \
	VFMADD231PD Y9, Y1, Y5  \
	VFMADD231PD Y10, Y2, Y6 \
	VFMADD231PD Y11, Y3, Y7

#define REDUCE_DOT64 \
	REDUCE_LOAD64(SI, Y0, Y1, Y2, Y3)   \
	REDUCE_LOAD64(DX, Y8, Y9, Y10, Y11) \
	REDUCE_FMA64                        \
	ADDQ $16, AX

#define REDUCE_DOT64REST \
	REDUCE_LOADREST                   \
	VMASKMOVPS (DX)(AX*4), Y14, Y8    \
	VMASKMOVPS 32(DX)(AX*4), Y15, Y10 \
	REDUCE_WIDENX                     \
	REDUCE_WIDENY                     \
	REDUCE_FMA64

// REDUCE_SHIFT64 subtracts the mean from Y0 to Y3, REDUCE_SQUARE64 adds their squares to the lanes.
#define REDUCE_SHIFT64 \
	VSUBPD Y12, Y0, Y0 \
	VSUBPD Y12, Y1, Y1 \
	VSUBPD Y12, Y2, Y2 \
	VSUBPD Y12, Y3, Y3

#define REDUCE_SQUARE64 \
	VMULPD Y0, Y0, Y0 \
	VMULPD Y1, Y1, Y1 \
	VMULPD Y2, Y2, Y2 \
	VMULPD Y3, Y3, Y3 \
	REDUCE_ADD64

#define REDUCE_SQUARES \
	REDUCE_LOAD64(SI, Y0, Y1, Y2, Y3) \
	REDUCE_SHIFT64                    \
	REDUCE_SQUARE64                   \
	ADDQ $16, AX

#define REDUCE_SQUARESREST \
	REDUCE_LOADREST           \
	REDUCE_WIDENX             \
	REDUCE_SHIFT64            \
	VEXTRACTF128 $1, Y14, X9  \ // the masks of the float64 lanes: Y8 to Y11
	VEXTRACTF128 $1, Y15, X11 \
	VPMOVSXDQ X14, Y8         \
	VPMOVSXDQ X9, Y9          \
	VPMOVSXDQ X15, Y10        \
	VPMOVSXDQ X11, Y11        \
	VANDPD Y8, Y0, Y0         \ // 0 beyond the end
	VANDPD Y9, Y1, Y1         \
	VANDPD Y10, Y2, Y2        \
	VANDPD Y11, Y3, Y3        \
	REDUCE_SQUARE64

// func sumAVX2(x []float32) float64
TEXT ·sumAVX2(SB), NOSPLIT, $0-32
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	REDUCE_LOOP64(REDUCE_SUM, REDUCE_SUMREST)
	VMOVSD X4, ret+24(FP)
	VZEROUPPER
	RET

// func dotAVX2(x, y []float32) float64
TEXT ·dotAVX2(SB), NOSPLIT, $0-56
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), DX
	REDUCE_LOOP64(REDUCE_DOT64, REDUCE_DOT64REST)
	VMOVSD X4, ret+48(FP)
	VZEROUPPER
	RET

// func squaresAVX2(x []float32, mean float64) float64
TEXT ·squaresAVX2(SB), NOSPLIT, $0-40
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VBROADCASTSD mean+24(FP), Y12
	REDUCE_LOOP64(REDUCE_SQUARES, REDUCE_SQUARESREST)
	VMOVSD X4, ret+32(FP)
	VZEROUPPER
	RET

// REDUCE_PARTLOAD loads up to eight columns for REDUCE_ADDROWS. Their masks: Y15, widened Y12 and Y13. Changes R8
// and R9.
#define REDUCE_PARTLOAD \
	MOVQ $8, R9                \
	CMPQ CX, R9                \
	CMOVQLT CX, R9             \
	SHLQ $2, R9                \
	LEAQ ·tailMasks+32(SB), R8 \
	SUBQ R9, R8                \
	VMOVUPS (R8), Y15          \
	VEXTRACTF128 $1, Y15, X13  \
	VPMOVSXDQ X15, Y12         \
	VPMOVSXDQ X13, Y13         \
	VMASKMOVPD (DI), Y12, Y4   \
	VMASKMOVPD 32(DI), Y13, Y5

#define REDUCE_PARTSTORE \
	VMASKMOVPD Y4, Y12, (DI) \
	VMASKMOVPD Y5, Y13, 32(DI)

#define REDUCE_PARTNEXT SUBQ $8, CX

// func addRowsAVX2(sum []float64, x []float32, xs int, at []int32)
TEXT ·addRowsAVX2(SB), NOSPLIT, $0-80
	REDUCE_ADDROWS
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// exp and log

VEC_CONST8(·expConst, 0, $0x3fb8aa3b)   // log2(e)
VEC_CONST8(·expConst, 32, $0x4b400000)  // 1.5*2^23: adding it rounds to an integer
VEC_CONST8(·expConst, 64, $0x3f317218)  // ln 2, upper part
VEC_CONST8(·expConst, 96, $0xb102e308)  // ln 2, lower part
VEC_CONST8(·expConst, 128, $0x3ab6a602) // polynomial, highest degree first
VEC_CONST8(·expConst, 160, $0x3c09060a)
VEC_CONST8(·expConst, 192, $0x3d2aaa75)
VEC_CONST8(·expConst, 224, $0x3e2aaa6e)
VEC_CONST8(·expConst, 256, $0x3f000000) // 1/2
VEC_CONST8(·expConst, 288, $0x3f800000) // 1
VEC_CONST8(·expConst, 320, $0x0000007f) // exponent bias
VEC_CONST8(·expConst, 352, $0x42b20000) // 89: above it exp overflows
VEC_CONST8(·expConst, 384, $0xc2d10000) // -104.5: below it exp is 0
VEC_CONST8(·expConst, 416, $0xc1a65af6) // -30 ln 2: below it a responsibility is 0
GLOBL ·expConst(SB), RODATA|NOPTR, $448

// EXP_OP is exp of any float32. The bound is the first of the two sources: MINPS and MAXPS give the
// second one where either is NaN, so that NaN passes.
#define EXP_OP \
	VMOVUPS ·expConst+352(SB), Y1 \
	VMINPS  Y0, Y1, Y0            \
	VMOVUPS ·expConst+384(SB), Y1 \
	VMAXPS  Y0, Y1, Y0            \
	EXP_EVAL

// func expAVX2(dst, x []float32)
//
// EXP_OP changes Y0 to Y3.
TEXT ·expAVX2(SB), NOSPLIT, $0-48
	ELEM_ARGSX
	ELEM_LOOP(VEC_LOADX, EXP_OP, VEC_STORE)
	VZEROUPPER
	RET

VEC_CONST8(·logConst, 0, $0x3f3504f3)   // sqrt(1/2)
VEC_CONST8(·logConst, 32, $0x3f800000)  // 1
VEC_CONST8(·logConst, 64, $0xbda4b529)  // polynomial, highest degree first
VEC_CONST8(·logConst, 96, $0x3e045351)
VEC_CONST8(·logConst, 128, $0xbe05faa2)
VEC_CONST8(·logConst, 160, $0x3e112235)
VEC_CONST8(·logConst, 192, $0xbe2a43f1)
VEC_CONST8(·logConst, 224, $0x3e4cd3d4)
VEC_CONST8(·logConst, 256, $0xbe800111)
VEC_CONST8(·logConst, 288, $0x3eaaaaa4)
VEC_CONST8(·logConst, 320, $0xbeffffff)
VEC_CONST8(·logConst, 352, $0xb102e308) // ln 2, lower part
VEC_CONST8(·logConst, 384, $0x3f317218) // ln 2, upper part
VEC_CONST8(·logConst, 416, $0x00800000) // 2^-126
VEC_CONST8(·logConst, 448, $0x4b000000) // 2^23
VEC_CONST8(·logConst, 480, $0xc1b80000) // -23
VEC_CONST8(·logConst, 512, $0xff800000) // -Inf
VEC_CONST8(·logConst, 544, $0x7f800000) // +Inf
VEC_CONST8(·logConst, 576, $0x7fc00000) // NaN
GLOBL ·logConst(SB), RODATA|NOPTR, $608

// LOG_OP is log of any float32: subnormal x is multiplied by 2^23 first, and 0, +Inf, negative x and
// NaN are selected at the end. x stays in Y5.
#define LOG_OP \
	VMOVAPS   Y0, Y5                           \
	VCMPPS    $0x11, ·logConst+416(SB), Y0, Y4 \ // below the normal range
	VMULPS    ·logConst+448(SB), Y0, Y1        \
	VBLENDVPS Y4, Y1, Y0, Y0                   \
	VANDPS    ·logConst+480(SB), Y4, Y4        \
	LOG_EVAL                                   \
	VXORPS    Y1, Y1, Y1                       \
	VMOVUPS   ·logConst+512(SB), Y3            \
	VCMPPS    $0x00, Y1, Y5, Y2                \ // x == 0
	VBLENDVPS Y2, Y3, Y0, Y0                   \
	VMOVUPS   ·logConst+544(SB), Y3            \
	VCMPPS    $0x00, Y3, Y5, Y2                \ // x == +Inf
	VBLENDVPS Y2, Y3, Y0, Y0                   \
	VMOVUPS   ·logConst+576(SB), Y3            \
	VCMPPS    $0x19, Y1, Y5, Y2                \ // not x >= 0
	VBLENDVPS Y2, Y3, Y0, Y0

// func logAVX2(dst, x []float32)
//
// LOG_OP changes Y0 to Y5.
TEXT ·logAVX2(SB), NOSPLIT, $0-48
	ELEM_ARGSX
	ELEM_LOOP(VEC_LOADX, LOG_OP, VEC_STORE)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Loops that measure the machine

// func fmaPeakAVX2(rounds int)
TEXT ·fmaPeakAVX2(SB), NOSPLIT, $0-8
	MEASURE_FMA
	VZEROUPPER
	RET

// MEASURE_REST does v1 for each of the last CX elements.
#define MEASURE_REST(v1, one, otest, next) \
	JMP  otest   \
one: \
	v1           \
	ADDQ $4, SI  \
	ADDQ $4, DX  \
	ADDQ $4, DI  \
otest: \
	SUBQ $1, CX  \
	JGE  one

#define MEASURE_OR(x, y) VPOR x, y, y
#define MEASURE_LOADREST VMOVSS (SI), X0
#define MEASURE_READREST VMOVSS (SI), X8; VPOR Y8, Y0, Y0
#define MEASURE_WRITEREST VMOVSS X8, (DI)

#define MEASURE_TRIADREST \
	VMOVSS      (SI), X0   \
	VMOVSS      (DX), X1   \
	VFMADD231SS X1, X8, X0 \
	VMOVSS      X0, (DI)

// func readAVX2(x []float32, rounds int) uint32
//
// Returns the bitwise or of all elements.
TEXT ·readAVX2(SB), NOSPLIT, $0-36
	MEASURE_READS
	MEASURE_ORLANES
	VZEROUPPER
	MOVL AX, ret+32(FP)
	RET

// func writeAVX2(dst []float32, a float32, rounds int)
TEXT ·writeAVX2(SB), NOSPLIT, $0-40
	MEASURE_WRITES
	VZEROUPPER
	RET

// func triadAVX2(a float32, dst, x, y []float32, rounds int)
TEXT ·triadAVX2(SB), NOSPLIT, $0-88
	MEASURE_TRIADS
	VZEROUPPER
	RET

// func pause(n int)
//
// CX hints left.
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
loop:
	PAUSE
	SUBQ $1, CX
	JGT  loop
	RET

// PREFETCH_LINES does load for every line of the CX bytes from SI on.
#define PREFETCH_LINES(load) \
	ADDQ SI, CX  \
	JMP  test    \
line:                \
	load         \
	ADDQ $64, SI \
test:                \
	CMPQ SI, CX  \
	JLO  line

// PREFETCH_WRITE is PREFETCHW (SI), which does nothing on processors without it.
#define PREFETCH_WRITE BYTE $0x0F; BYTE $0x0D; BYTE $0x0E

// func prefetch(x []byte)
//
// SI x, CX its end.
TEXT ·prefetch(SB), NOSPLIT, $0-24
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	PREFETCH_LINES(PREFETCHT0 (SI))
	RET

// func prefetchToWrite(x []byte)
TEXT ·prefetchToWrite(SB), NOSPLIT, $0-24
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	PREFETCH_LINES(PREFETCH_WRITE)
	RET
