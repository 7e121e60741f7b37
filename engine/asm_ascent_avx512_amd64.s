//go:build amd64 && !purego && !noasm

#include "ascent_amd64.h"
#include "gemm_avx512_amd64.h"
#include "gemm_panel_amd64.h"
#include "go_asm.h"
#include "quad_smalld_amd64.h"
#include "textflag.h"
#include "vector_amd64.h"
#include "vector_avx512_amd64.h"

// AVX-512: the ascent. Quadratic forms for small d, vector-Jacobian products (VJP), the mixture and
// the gradient step. D_i is x - mu_i, G_i is D_i P_i, q_i is D_i . G_i.
//
// Registers and conventions: see asm_amd64.s. What the two tiers share is in ascent_amd64.h and
// quad_smalld_amd64.h, what functions with a struct of arguments compute in args.go.
//
// Contents:
//
//	quadSmallDAVX512              G = (x - mu) P and q = (x - mu) . G for small d, all components
//	vjpSmallDAVX512               v = -N P for small d
//	gradRowsAVX512                dst = -(h t y) - r x, row by row
//	gradDeltasAVX512              D = x - mu, W = -(h t D) - r u, and their sums over rows
//	mixtureAVX512                 responsibilities and log-sum-exp
//	responsibilityBackwardAVX512  VJP of the responsibilities
//	gradientAVX512                dst[j] = - sum over i of r[i] * G[i][j]
//	moveRowsAVX512                x += alpha * gradient, row by row

// ---------------------------------------------------------------------------------
// Quadratic forms: products in tiles of up to 6 x 64 (gemm_avx512_amd64.h) whose left operand D_i is made on the way

// QUAD_FINISHROW stores a row of G and adds to its 16 lanes of q, at CX: R11 walks down the rows of
// D_i. K3 is empty at the first pair of panels, which starts the lanes at 0.
#define QUAD_FINISHROW(row, c0, c1, c2, c3) \
	VMOVUPS c0, (DI)                \
	VMOVUPS c1, 64(DI)              \
	VMOVUPS c2, 128(DI)             \
	VMOVUPS c3, 192(DI)             \
	ADDQ AX, DI                     \
	VMOVUPS.Z (64*row)(CX), K3, Z30 \ // lanes so far
	VFMADD132PS (R11), Z30, c0      \ // lanes += D * G, columns 0 to 15
	VFMADD132PS 64(R11), c0, c1     \
	VFMADD132PS 128(R11), c1, c2    \
	VFMADD132PS 192(R11), c2, c3    \
	VMOVUPS c3, (64*row)(CX)        \
	ADDQ R10, R11

// QUAD_ROWDELTA makes 16 columns of a row of D_i of the tile below: DI is the row of x, R13 mu, R11 the
// row of D_i.
#define QUAD_ROWDELTA(off, x) \
	VMOVUPS off(DI), x     \
	VSUBPS  off(R13), x, x \
	VMOVUPS x, off(R11)

// QUAD_LOOP is GEMM_PAIRLOOP with 64 columns of such a row in each group of four inner indices, for
// CX rows, and then others groups without. It goes on at the label store of the function.
#define QUAD_LOOP(step, xs, others, row, rowtest, other) \
	JMP   rowtest           \
row: \
	GEMM_FETCH              \
	step(0)                 \
	QUAD_ROWDELTA(0, Z30)   \
	step(1)                 \
	QUAD_ROWDELTA(64, Z31)  \
	GEMM_FETCH              \
	step(2)                 \
	QUAD_ROWDELTA(128, Z30) \
	step(3)                 \
	QUAD_ROWDELTA(192, Z31) \
	ADDQ  $16, R8           \
	ADDQ  $16, SI           \
	ADDQ  $512, BX          \
	ADDQ  $512, DX          \
	ADDQ  xs, DI            \
	ADDQ  R10, R11          \
rowtest: \
	SUBQ  $1, CX            \
	JGE   row               \
	MOVQ  others, CX        \
other: \
	GEMM_FETCH              \
	step(0)                 \
	step(1)                 \
	GEMM_FETCH              \
	step(2)                 \
	step(3)                 \
	ADDQ  $16, R8           \
	ADDQ  $16, SI           \
	ADDQ  $512, BX          \
	ADDQ  $512, DX          \
	SUBQ  $1, CX            \
	JNE   other             \
	JMP   store

// func quadSmallDAVX512(args *quadSmallDArgs)
//
// d is a multiple of 64, a tile has 1 to 6 rows, and work is scratch for 12 rows of d floats and 8 of 16.
//
// The tiles follow each other through all components; D_i of the tile below is made between the
// multiply-adds of the current tile, which all at once it would stall. The two D_i take turns in work,
// and behind both are the lanes of q.
//
// Tile: up to 6 x 64, registers as in gemm_avx512_amd64.h with D_i as A. R12 is the first column of
// the pair of panels in bytes; in the loop DI is the row of x, R13 mu and R11 the row of D_i below.
//
// Frame beside that of quad_smalld_amd64.h: current-72 and below-80, the D_i of two tiles in work;
// lanes-64, the lanes of q; with-184 and without-192, groups of four inner indices with and without a
// row between them.
TEXT ·quadSmallDAVX512(SB), NOSPLIT, $456-8
	MOVQ args+0(FP), CX
	QUAD_COPYARGUMENTS
	QUAD_ARGUMENTS(many, fetches)
	MOVQ QUAD_ARG_D, R10      // the distance of rows of D_i
	LEAQ (R10)(R10*2), R9
	MOVL $0x1111, R8
	KMOVW R8, K2
	MOVQ QUAD_ARG_WORK, R11
	MOVQ R11, current-72(SP)
	LEAQ (R11)(R9*2), R11
	MOVQ R11, below-80(SP)
	LEAQ (R11)(R9*2), R11
	MOVQ R11, lanes-64(SP)

	QUAD_FIRSTTILE(firstEven)
	XORQ R12, R12            // the first column, in bytes
firstDeltas:
	MOVQ xBelow-152(SP), DI
	ADDQ R12, DI
	MOVQ QUAD_ARG_MU, R13
	ADDQ R12, R13
	MOVQ current-72(SP), R11
	ADDQ R12, R11
	MOVQ rowsBelow-104(SP), CX
firstDelta:
	QUAD_ROWDELTA(0, Z0)
	QUAD_ROWDELTA(64, Z1)
	QUAD_ROWDELTA(128, Z2)
	QUAD_ROWDELTA(192, Z3)
	ADDQ QUAD_ARG_XS, DI
	ADDQ R10, R11
	SUBQ $1, CX
	JNE  firstDelta
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  firstDeltas

tile:
	QUAD_NEXTTILE(same, nextComponent, placed, even, known)
	XORQ CX, CX              // rows below, none of the last tile
	CMPQ QUAD_ARG_COMPS, $0
	JEQ  last
	MOVQ rowsBelow-104(SP), CX
last:
	MOVQ CX, with-184(SP)
	MOVQ R10, DX             // groups of four inner indices, less the last, less those with a row
	SHRQ $4, DX
	SUBQ $1, DX
	SUBQ CX, DX
	MOVQ DX, without-192(SP)
	MOVQ pHere-168(SP), DX
	XORQ R12, R12
	KXORW K3, K3, K3
pair:
	MOVQ current-72(SP), R8
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	MOVQ DX, BX
	MOVQ R10, AX
	SHLQ $5, AX              // a panel, in bytes
	ADDQ AX, DX
	MOVQ QUAD_ARG_STEP, AX
	MOVQ xBelow-152(SP), DI
	ADDQ R12, DI
	MOVQ QUAD_ARG_MU, R13
	ADDQ R12, R13
	MOVQ below-80(SP), R11
	ADDQ R12, R11
	GEMM_ZERO
	CMPQ rowsHere-160(SP), $5
	MOVQ with-184(SP), CX
	JEQ  five
	JGT  six
	CMPQ rowsHere-160(SP), $3
	JEQ  three
	JGT  four
	CMPQ rowsHere-160(SP), $1
	JGT  two
	QUAD_LOOP(GEMM_PAIR1, QUAD_ARG_XS, without-192(SP), row1, rowtest1, other1)
two:	QUAD_LOOP(GEMM_PAIR2, QUAD_ARG_XS, without-192(SP), row2, rowtest2, other2)
three:	QUAD_LOOP(GEMM_PAIR3, QUAD_ARG_XS, without-192(SP), row3, rowtest3, other3)
four:	QUAD_LOOP(GEMM_PAIR4, QUAD_ARG_XS, without-192(SP), row4, rowtest4, other4)
five:	QUAD_LOOP(GEMM_PAIR5, QUAD_ARG_XS, without-192(SP), row5, rowtest5, other5)
six:	QUAD_LOOP(GEMM_PAIR6, QUAD_ARG_XS, without-192(SP), row6, rowtest6, other6)
store:
	GEMM_FETCH
	GEMM_FETCH
	MOVQ rowsHere-160(SP), R13
	MOVQ gHere-24(SP), DI
	ADDQ R12, DI
	MOVQ QUAD_ARG_GS, AX
	MOVQ current-72(SP), R11
	ADDQ R12, R11
	MOVQ lanes-64(SP), CX
	GEMM_PAIREND(QUAD_FINISHROW)
stored:
	ADDQ $512, DX            // the next pair of panels
	KXNORW K3, K3, K3
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  pair

	MOVQ lanes-64(SP), DX
	MOVQ qHere-32(SP), DI
	MOVQ R13, CX
sum:
	VMOVUPS (DX), Z4
	VMOVUPS 64(DX), Z5
	VMOVUPS 128(DX), Z6
	VMOVUPS 192(DX), Z7
	REDUCE_TREE4
	VEC_TAILMASK
	VMOVUPS X4, K1, (DI)
	ADDQ $256, DX
	ADDQ $16, DI
	SUBQ $4, CX
	JGT  sum

	MOVQ current-72(SP), R8
	MOVQ below-80(SP), R11
	MOVQ R11, current-72(SP)
	MOVQ R8, below-80(SP)
	CMPQ QUAD_ARG_COMPS, $0
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Vector-Jacobian products

// func vjpSmallDAVX512(args *vjpSmallDArgs)
//
// mu has a multiple of 64 elements; tiles as in quadSmallDAVX512. The frame is a copy of the arguments, of which v,
// r, u, t, x, tiles and tall are advanced in place from tile to tile.
//
// Tile: up to 6 x 64, registers as in gemm_avx512_amd64.h with w as A. R12 is the first column in
// bytes. While w is made, as in VJP_FIRSTROW, and Z3 the sign bits, Z2 zero.
TEXT ·vjpSmallDAVX512(SB), NOSPLIT, $280-8
	MOVQ args+0(FP), CX
	VJP_COPYARGUMENTS
	MOVQ VJP_ARG_MULEN, R10
	SHLQ $2, R10             // the distance of rows of -N_i
	LEAQ (R10)(R10*2), R9
	MOVQ VJP_ARG_NEXT, R15
tile:
	GEMM_TILEROWS(VJP_ARG_ROWS, VJP_ARG_TALL, R13, even)
	// -N_i of the tile, 64 columns at a time.
	VEC_SIGNBITS(Z3)
	VPXORD Z2, Z2, Z2
	XORQ R12, R12            // the first column, in bytes
deltas:
	MOVQ VJP_ARG_MU, DX
	VMOVUPS (DX)(R12*1), Z16
	VMOVUPS 64(DX)(R12*1), Z17
	VMOVUPS 128(DX)(R12*1), Z18
	VMOVUPS 192(DX)(R12*1), Z19
	VJP_FIRSTROW
delta:
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  zero
	VBROADCASTSS (BX), Z20
	VXORPS Z3, Z20, Z20
	VBROADCASTSS (DX), Z21
	VJP_TILE(0, Z16, Z20, Z21, Z0, Z1)
	VJP_TILE(64, Z17, Z20, Z21, Z4, Z5)
	VJP_TILE(128, Z18, Z20, Z21, Z6, Z7)
	VJP_TILE(192, Z19, Z20, Z21, Z8, Z9)
	JMP  nextrow
zero:
	VMOVUPS Z2, (DI)
	VMOVUPS Z2, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z2, 192(DI)
nextrow:
	MOVQ VJP_ARG_XS, AX
	LEAQ (SI)(AX*4), SI
	MOVQ VJP_ARG_US, AX
	LEAQ (R8)(AX*4), R8
	ADDQ R10, DI
	ADDQ $4, BX
	ADDQ $4, DX
	SUBQ $1, CX
	JNE  delta
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  deltas
	MOVQ BX, VJP_ARG_R
	MOVQ DX, VJP_ARG_T

	MOVQ VJP_ARG_P, DX
	XORQ R12, R12
pair:
	GEMM_ZERO
	CMPB VJP_ARG_ACC, $0
	JEQ  start
	MOVQ VJP_ARG_V, DI
	ADDQ R12, DI
	MOVQ VJP_ARG_VS, AX
	SHLQ $2, AX
	GEMM_PAIRLOAD
start:
	MOVQ VJP_ARG_WORK, R8
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	MOVQ VJP_ARG_MULEN, CX
	SUBQ $4, CX
	MOVQ DX, BX
	MOVQ R10, AX
	SHLQ $5, AX              // a panel, in bytes
	ADDQ AX, DX
	MOVQ VJP_ARG_STEP, AX
	GEMM_PAIRLOOPS
store:
	GEMM_FETCH
	GEMM_FETCH
	MOVQ VJP_ARG_V, DI
	ADDQ R12, DI
	MOVQ VJP_ARG_VS, AX
	SHLQ $2, AX
	GEMM_PAIREND(GEMM_PAIRSTOREROW)
stored:
	ADDQ $512, DX            // the next pair of panels
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  pair

	VJP_NEXTTILE(tile)
	VZEROUPPER
	RET

// func gradRowsAVX512(args *gradRowsArgs)
TEXT ·gradRowsAVX512(SB), NOSPLIT, $0-8
	VJP_GRADROWS
	VZEROUPPER
	RET

// 16 columns of a row, from byte off on, of D_i, of its share of the sums, and of W_i. Z28 -r, Z29 h*t,
// Z30 r, Z31 t, Z2 h, Z3 sign bits.
#define VJP_DIFF(off, x, m) \
	VMOVUPS off(DX), x \
	VSUBPS  m, x, x

#define VJP_DELTA(off, x, u, sr, st) \
	VMOVUPS      x, off(R8) \
	VMOVUPS      off(SI), u \
	VFNMADD231PS u, Z30, sr \ // sr -= r * u
	VFNMADD231PS x, Z31, st \ // st -= t * d
	VMULPS       Z28, u, u  \ // -r * u
	VFNMADD231PS x, Z29, u  \ // w = -(h*t * d) - r*u
	VMOVUPS      u, off(DI)

#define VJP_SCALARS \
	VBROADCASTSS (BX), Z30    \
	VBROADCASTSS (R13), Z31   \
	VXORPS       Z3, Z30, Z28 \
	VMULPS       Z2, Z31, Z29

// func gradDeltasAVX512(args *gradDeltasArgs)
//
// Columns are done 64 at a time, then 16 with a mask; within them the rows one after the other, so
// that the sums stay in registers.
//
// Registers as in VJP_COLUMN. CX columns left
// Z16 to Z19 mu, Z20 to Z23 sums sr, Z24 to Z27 sums st (narrow: the first of each), Z1 zero, K1 mask
TEXT ·gradDeltasAVX512(SB), NOSPLIT, $0-8
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_ld(AX), R10
	MOVQ gradDeltasArgs_us(AX), R11
	MOVQ gradDeltasArgs_xs(AX), R12
	MOVQ gradDeltasArgs_mu+8(AX), CX
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VBROADCASTSS gradDeltasArgs_h(AX), Z2
	VEC_SIGNBITS(Z3)
	VPXORD Z1, Z1, Z1
	XORQ R15, R15
columns:
	TESTQ CX, CX
	JEQ  done
	KXNORW K1, K1, K1
	CMPQ CX, $16
	JGE  whole
	VEC_TAILMASK
whole:
	VJP_COLUMN
	MOVQ gradDeltasArgs_mu(AX), AX
	CMPQ CX, $64
	JLT  narrow
	VMOVUPS (AX)(R15*1), Z16
	VMOVUPS 64(AX)(R15*1), Z17
	VMOVUPS 128(AX)(R15*1), Z18
	VMOVUPS 192(AX)(R15*1), Z19
	MOVQ args+0(FP), AX
	VJP_LOADSUMS(gradDeltasArgs_sr, Z20, Z21, Z22, Z23)
	MOVQ args+0(FP), AX
	VJP_LOADSUMS(gradDeltasArgs_st, Z24, Z25, Z26, Z27)
	JMP  widetest
widerow:
	VJP_DIFF(0, Z4, Z16)
	VJP_DIFF(64, Z5, Z17)
	VJP_DIFF(128, Z6, Z18)
	VJP_DIFF(192, Z7, Z19)
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  widezero
	VJP_SCALARS
	VJP_DELTA(0, Z4, Z8, Z20, Z24)
	VJP_DELTA(64, Z5, Z9, Z21, Z25)
	VJP_DELTA(128, Z6, Z10, Z22, Z26)
	VJP_DELTA(192, Z7, Z11, Z23, Z27)
	JMP  widenext
widezero:
	VMOVUPS Z4, (R8)
	VMOVUPS Z5, 64(R8)
	VMOVUPS Z6, 128(R8)
	VMOVUPS Z7, 192(R8)
	VMOVUPS Z1, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z1, 128(DI)
	VMOVUPS Z1, 192(DI)
widenext:
	VJP_NEXTROW
widetest:
	SUBQ $1, R9
	JGE  widerow
	VJP_STORESUMS(gradDeltasArgs_sr, Z20, Z21, Z22, Z23)
	VJP_STORESUMS(gradDeltasArgs_st, Z24, Z25, Z26, Z27)
	ADDQ $256, R15
	SUBQ $64, CX
	JMP  columns

narrow:                      // 16 columns at a time, the last of them masked
	VMOVUPS.Z (AX)(R15*1), K1, Z16
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_sr(AX), AX
	VMOVUPS.Z (AX)(R15*1), K1, Z20
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_st(AX), AX
	VMOVUPS.Z (AX)(R15*1), K1, Z24
	JMP  resttest
restrow:
	VMOVUPS.Z (DX), K1, Z4
	VSUBPS    Z16, Z4, Z4
	VMOVUPS   Z4, K1, (R8)
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  restzero
	VJP_SCALARS
	VMOVUPS.Z    (SI), K1, Z8
	VFNMADD231PS Z8, Z30, Z20
	VFNMADD231PS Z4, Z31, Z24
	VMULPS       Z28, Z8, Z8
	VFNMADD231PS Z4, Z29, Z8
	VMOVUPS      Z8, K1, (DI)
	JMP  restnext
restzero:
	VMOVUPS Z1, K1, (DI)
restnext:
	VJP_NEXTROW
resttest:
	SUBQ $1, R9
	JGE  restrow
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_sr(AX), AX
	VMOVUPS Z20, K1, (AX)(R15*1)
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_st(AX), AX
	VMOVUPS Z24, K1, (AX)(R15*1)
	ADDQ $64, R15
	SUBQ $16, CX
	JGT  columns
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Mixture

#define MIX_CONSTANT(c, v) VBROADCASTSS c, v

// MIX_EXP sets l, in Z0, to e^l, or to 0 below the cut Z26.
#define MIX_EXP \
	VCMPPS    $0x15, Z26, Z0, K2 \ // not below the cut
	EXP_EVAL                     \
	VMOVAPS.Z Z0, K2, Z0

// MIX_KEEPNAN sets Z0 to the sum Z8 where that is NaN.
#define MIX_KEEPNAN \
	VCMPPS  $0x03, Z8, Z8, K2 \
	VMOVAPS Z8, K2, Z0

// func mixtureAVX512(q []float32, ld int, c, phi []float32)
//
// Sixteen rows at a time, the last of them masked (K1). Registers as in MIX_FORWARD. R13 rows left   Z24 1/2
// Z26 the cut below which r is 0
TEXT ·mixtureAVX512(SB), NOSPLIT, $0-80
	MOVQ q_base+0(FP), SI
	MOVQ ld+24(FP), R10
	MOVQ c_base+32(FP), DX
	MOVQ phi_base+56(FP), DI
	MOVQ c_len+40(FP), R12
	MOVQ phi_len+64(FP), R13
	SHLQ $2, R10
	EXP_CONSTANTS
	VBROADCASTSS ·expConst+416(SB), Z26 // the cut
	MOVL $-1, AX
	KMOVW AX, K1
	TESTQ R13, R13
	JEQ  done
group:
	CMPQ R13, $16
	JGE  rows
	MOVQ R13, CX
	VEC_TAILMASK
rows:
	MIX_FORWARD(VEC_MASKLOAD, VEC_MASKSTORE, Z24, first, firsttest, second, secondtest, third, thirdtest)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $16, R13
	JGT  group
done:
	VZEROUPPER
	RET

// MIX_ADD adds r s, of Z0 and Z1, to the sum Z6, MIX_CENTRE sets Z0 to r (s - sum): nothing and 0 where r is 0.
#define MIX_ADD \
	VCMPPS      $0x04, Z5, Z0, K2 \ // r != 0
	VFMADD231PS Z0, Z1, K2, Z6

#define MIX_CENTRE \
	VCMPPS   $0x04, Z5, Z0, K2 \
	VSUBPS   Z6, Z1, Z1        \
	VMULPS.Z Z1, Z0, K2, Z0

// func responsibilityBackwardAVX512(r, s []float32, ld int, sum []float32, k int)
//
// Sixteen rows at a time, the last of them masked (K1). Registers as in MIX_BACKWARD. R13 rows left
TEXT ·responsibilityBackwardAVX512(SB), NOSPLIT, $0-88
	MOVQ r_base+0(FP), SI
	MOVQ s_base+24(FP), DX
	MOVQ ld+48(FP), R10
	MOVQ sum_base+56(FP), DI
	MOVQ k+80(FP), R12
	MOVQ sum_len+64(FP), R13
	SHLQ $2, R10
	VPXORD Z5, Z5, Z5
	MOVL $-1, AX
	KMOVW AX, K1
	TESTQ R13, R13
	JEQ  done
group:
	CMPQ R13, $16
	JGE  rows
	MOVQ R13, CX
	VEC_TAILMASK
rows:
	MIX_BACKWARD(VEC_MASKLOAD, VEC_MASKSTORE, first, firsttest, second, secondtest)
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, DI
	SUBQ $16, R13
	JGT  group
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Gradient step

// GRAD_ADD64 is the add of 64 columns, in Z4 to Z7.
#define GRAD_ADD64 \
	VFNMADD231PS (R9), Z0, Z4    \
	VFNMADD231PS 64(R9), Z0, Z5  \
	VFNMADD231PS 128(R9), Z0, Z6 \
	VFNMADD231PS 192(R9), Z0, Z7

// func gradientAVX512(dst, r []float32, rs int, g []float32, gs, k int)
//
// Columns are done 64 at a time, in Z4 to Z7, then 16, the last of them masked (K1). Registers as in GRAD_ARGS and
// GRAD_WALK. R13 columns left after the 64
TEXT ·gradientAVX512(SB), NOSPLIT, $0-96
	GRAD_ARGS
wide:
	SUBQ $64, CX
	JLT  narrow
	VEC_ZERO4(Z4, Z5, Z6, Z7)
	GRAD_WALK(GRAD_ADD64, component, skip, test)
	VMOVUPS Z4, (DI)
	VMOVUPS Z5, 64(DI)
	VMOVUPS Z6, 128(DI)
	VMOVUPS Z7, 192(DI)
	ADDQ $256, DI
	ADDQ $256, DX
	JMP  wide
narrow:
	ADDQ $64, CX
	JEQ  done
	MOVL $-1, AX
	KMOVW AX, K1
	MOVQ CX, R13
sixteen:                     // 16 columns at a time, the last of them masked
	CMPQ R13, $16
	JGE  columns
	MOVQ R13, CX
	VEC_TAILMASK
columns:
	VPXORD Z4, Z4, Z4
	GRAD_WALK(GRAD_ADDREST, componentRest, skipRest, testRest)
	VMOVUPS Z4, K1, (DI)
	ADDQ $64, DI
	ADDQ $64, DX
	SUBQ $16, R13
	JGT  sixteen
done:
	VZEROUPPER
	RET

// GRAD_MOVE adds alpha * c0 and alpha * c1 to 16 columns of two rows of x, other bytes apart.
#define GRAD_MOVE(off, other, c0, c1) \
	VMOVUPS off(SI), Z0          \
	VMOVUPS off(SI)(other*1), Z1 \
	VFMADD231PS c0, Z15, Z0      \
	VFMADD231PS c1, Z15, Z1      \
	VMOVUPS Z0, off(SI)          \
	VMOVUPS Z1, off(SI)(other*1)

// func moveRowsAVX512(args *moveRowsArgs)
//
// n is a multiple of 64, rows is above 0. x, r, g and rows are advanced in args.
//
// Two rows at a time, because the chain of one row leaves the FMA units idle; an odd last row is done
// twice, with the same result.
//
// SI x, R12 G of these columns   R8 r   R10, R11 bytes from component to component of r and G
// DX, DI, R13 bytes from the first row to the second in x, G and r, 0 for an odd last row
// BX components left   CX columns left   R15 args   Z15 alpha   Z4 to Z7, Z8 to Z11 gradient of both rows
TEXT ·moveRowsAVX512(SB), NOSPLIT, $0-8
	MOVQ args+0(FP), R15
	VBROADCASTSS moveRowsArgs_alpha(R15), Z15
	MOVQ moveRowsArgs_xs(R15), DX
	MOVQ moveRowsArgs_rs(R15), R10
	MOVQ moveRowsArgs_gs(R15), R11
	MOVQ moveRowsArgs_gr(R15), DI
	MOVL $4, R13
	SHLQ $2, DX
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, DI
rows:
	CMPQ moveRowsArgs_rows(R15), $1
	JGT  two
	XORQ DX, DX
	XORQ DI, DI
	XORQ R13, R13
two:
	MOVQ moveRowsArgs_x(R15), SI
	MOVQ moveRowsArgs_g(R15), R12
	MOVQ moveRowsArgs_n(R15), CX
columns:
	VEC_ZERO4(Z4, Z5, Z6, Z7)
	VEC_ZERO4(Z8, Z9, Z10, Z11)
	MOVQ moveRowsArgs_r(R15), R8
	MOVQ R12, R9
	MOVQ moveRowsArgs_k(R15), BX
	JMP  test
component:
	GRAD_SKIPZERO(second)
	GRAD_ADD64
second:
	MOVL (R8)(R13*1), AX
	ADDL AX, AX
	JEQ  next
	VBROADCASTSS (R8)(R13*1), Z1
	VFNMADD231PS (R9)(DI*1), Z1, Z8
	VFNMADD231PS 64(R9)(DI*1), Z1, Z9
	VFNMADD231PS 128(R9)(DI*1), Z1, Z10
	VFNMADD231PS 192(R9)(DI*1), Z1, Z11
next:
	ADDQ R10, R8
	ADDQ R11, R9
test:
	SUBQ $1, BX
	JGE  component
	GRAD_MOVE(0, DX, Z4, Z8)
	GRAD_MOVE(64, DX, Z5, Z9)
	GRAD_MOVE(128, DX, Z6, Z10)
	GRAD_MOVE(192, DX, Z7, Z11)
	ADDQ $256, SI
	ADDQ $256, R12
	SUBQ $64, CX
	JGT  columns
	LEAQ (DX*2), AX
	ADDQ AX, moveRowsArgs_x(R15)
	LEAQ (DI*2), AX
	ADDQ AX, moveRowsArgs_g(R15)
	ADDQ $8, moveRowsArgs_r(R15)
	SUBQ $2, moveRowsArgs_rows(R15)
	JGT  rows
	VZEROUPPER
	RET
