//go:build amd64 && !purego && !noasm

#include "ascent_amd64.h"
#include "gemm_avx2_amd64.h"
#include "gemm_panel_amd64.h"
#include "go_asm.h"
#include "quad_smalld_amd64.h"
#include "textflag.h"
#include "vector_amd64.h"
#include "vector_avx2_amd64.h"

// AVX2: the ascent. Quadratic forms for small d, vector-Jacobian products (VJP), the mixture and the
// gradient step. D_i is x - mu_i, G_i is D_i P_i, q_i is D_i . G_i.
//
// Registers and conventions: see asm_amd64.s. What the two tiers share is in ascent_amd64.h and
// quad_smalld_amd64.h, what functions with a struct of arguments compute in args.go.
//
// Contents:
//
//	quadSmallDAVX2              G = (x - mu) P and q = (x - mu) . G for small d, all components
//	vjpSmallDAVX2               v = -N P for small d
//	gradRowsAVX2                dst = -(h t y) - r x, row by row
//	gradDeltasAVX2              D = x - mu, W = -(h t D) - r u, and their sums over rows
//	mixtureAVX2                 responsibilities and log-sum-exp
//	responsibilityBackwardAVX2  VJP of the responsibilities
//	gradientAVX2                dst[j] = - sum over i of r[i] * G[i][j]
//	moveRowsAVX2                x += alpha * gradient, row by row

// ---------------------------------------------------------------------------------
// Quadratic forms: tiles as in sgemmAVX2_6x16 whose left operand D_i is made on the way, so that
// it, and P of up to 64 columns, stay in L1

// QUAD_ROWS multiplies R13 rows, 1 to 5, at R8, R10 bytes apart, by the panel at BX with CX inner
// indices. It leaves BX behind the panel and goes on at the label store of the function.
#define QUAD_ROWS \
	MOVL $4, R11  \
	MOVL $64, R12 \
	CMPQ R13, $3  \
	JEQ  rows3    \
	JGT  rows4or5 \
	CMPQ R13, $2  \
	JEQ  rows2    \
	GEMM_LOOP(GEMM_STEP1, four1, fourtest1, one1, onetest1, store)\
rows2:	GEMM_LOOP(GEMM_STEP2, four2, fourtest2, one2, onetest2, store)\
rows3:	GEMM_LOOP(GEMM_STEP3, four3, fourtest3, one3, onetest3, store)\
rows4or5: \
	CMPQ R13, $5  \
	JEQ  rows5    \
	GEMM_LOOP(GEMM_STEP4, four4, fourtest4, one4, onetest4, store)\
rows5:	GEMM_LOOP(GEMM_STEP5, four5, fourtest5, one5, onetest5, store)

// QUAD_LOADROW and QUAD_STOREROW load or store a row of such a tile if it exists (R13 rows), at DI,
// which they advance by AX; after the last row they jump to end, or to the label stored.
#define QUAD_LOADROW(row, c0, c1, end) \
	CMPQ R13, $row     \
	JLE  end           \
	VMOVUPS (DI), c0   \
	VMOVUPS 32(DI), c1 \
	ADDQ AX, DI

#define QUAD_STOREROW(row, c0, c1) \
	CMPQ R13, $row     \
	JLE  stored        \
	VMOVUPS c0, (DI)   \
	VMOVUPS c1, 32(DI) \
	ADDQ AX, DI

// QUAD_DELTAS makes 16 columns, from byte SI on, of count rows of D_i = x - mu: rows of x are xs
// bytes apart, those of D_i R10 bytes, from to on. Changes CX, DX, R8, R9 and Y10 to Y13.
#define QUAD_DELTAS(count, x, xs, mu, to, row) \
	MOVQ mu, DX               \
	VMOVUPS (DX)(SI*1), Y10   \
	VMOVUPS 32(DX)(SI*1), Y11 \
	MOVQ x, R8                \
	ADDQ SI, R8               \
	MOVQ to, R9               \
	ADDQ SI, R9               \
	MOVQ xs, DX               \
	MOVQ count, CX            \
row: \
	VMOVUPS (R8), Y12         \
	VMOVUPS 32(R8), Y13       \
	VSUBPS  Y10, Y12, Y12     \
	VSUBPS  Y11, Y13, Y13     \
	VMOVUPS Y12, (R9)         \
	VMOVUPS Y13, 32(R9)       \
	ADDQ DX, R8               \
	ADDQ R10, R9              \
	SUBQ $1, CX               \
	JNE  row

// QUAD_DOTS stores at DX the dot products of R13 rows of G at R8, AX bytes apart, and of D_i at R9,
// R10 bytes apart; it advances these three and counts R13 down. Changes CX, Y0, Y1, Y4 and Y5.
#define QUAD_DOTS(bytes, row, columns) \
row: \
	VXORPS Y4, Y4, Y4                \
	VXORPS Y5, Y5, Y5                \
	XORQ CX, CX                      \
columns: \
	VMOVUPS (R8)(CX*1), Y0           \
	VMOVUPS 32(R8)(CX*1), Y1         \
	VFMADD231PS (R9)(CX*1), Y0, Y4   \
	VFMADD231PS 32(R9)(CX*1), Y1, Y5 \
	ADDQ $64, CX                     \
	CMPQ CX, bytes                   \
	JLT  columns                     \
	REDUCE_TREE                      \
	VMOVSS X4, (DX)                  \
	ADDQ AX, R8                      \
	ADDQ R10, R9                     \
	ADDQ $4, DX                      \
	SUBQ $1, R13                     \
	JNE  row

// The next four macros work on one row between multiply-adds: eight columns of D_i of the tile
// below, and of q of the tile above. R11 is the row of D_i above, behind its 16 lanes of q, R12 the
// row of D_i below, R13 the row of x, DX mu, DI the row of G, and SI the first column in bytes.
// QUAD_ROWNEXT goes on to the next row; G and x stay at their last row.
#define QUAD_ROWDELTA(off) \
	VMOVUPS off(R13)(SI*1), Y3    \
	VSUBPS  off(DX)(SI*1), Y3, Y3 \
	VMOVUPS Y3, off+64(R12)(SI*1)

#define QUAD_ROWLANES(off) \
	VMOVUPS off(R11), Y3              \
	VMOVUPS off+64(R11)(SI*1), Y2     \
	VFMADD231PS off(DI)(SI*1), Y2, Y3 \
	VMOVUPS Y3, off(R11)

#define QUAD_ROWNEXT(gs, xs) \
	ADDQ R10, R11                 \
	ADDQ R10, R12                 \
	ADDQ gs, DI                   \
	CMPQ DI, lastAbove-208(SP)    \
	CMOVQHI lastAbove-208(SP), DI \
	ADDQ xs, R13                  \
	CMPQ R13, lastBelow-176(SP)   \
	CMOVQHI lastBelow-176(SP), R13

// QUAD_EIGHT is GEMM_EIGHT with sixteen columns of such a row between its multiply-adds.
#define QUAD_EIGHT(step, fetch, gs, xs) \
	PREFETCHT1 (R15)     \ // the next P, if any
	ADDQ fetch, R15      \
	step(0, 4)           \
	QUAD_ROWDELTA(0)     \ // D below, columns 0 to 7
	step(1, 4)           \
	QUAD_ROWDELTA(32)    \
	step(2, 4)           \
	QUAD_ROWLANES(0)     \ // lanes 0 to 7 of q above
	step(3, 4)           \
	QUAD_ROWLANES(32)    \
	PREFETCHT1 (R15)     \
	ADDQ fetch, R15      \
	step(4, 4)           \
	step(5, 4)           \
	step(6, 4)           \
	step(7, 4)           \
	QUAD_ROWNEXT(gs, xs) \
	ADDQ $32, R8         \
	ADDQ $32, R9         \
	ADDQ $512, BX          // eight rows of P

// QUAD_LOOP is the loop over the inner index for a panel of five or six rows, whose rows 0 to 2 have
// had the first three: eight or five indices without rows between them, then with of QUAD_EIGHT, then
// without of GEMM_EIGHT (frame slots of quadSmallDAVX2). It goes on at the labels rest or store3 of the function.
#define QUAD_LOOP(step, late, fetch, gs, xs, mu, row, other) \
	late(0, 4)                        \
	late(1, 4)                        \
	late(2, 4)                        \
	GEMM_FETCH                        \
	GEMM_LASTFIVE(step, 4, GEMM_NEAR) \
	MOVQ mu, DX                       \
	MOVQ with-184(SP), CX             \
	PCALIGN $64                       \
row: \
	QUAD_EIGHT(step, fetch, gs, xs)   \
	SUBQ $1, CX                       \
	JNE  row                          \
	MOVQ without-192(SP), CX          \
	TESTQ CX, CX                      \
	JEQ  rest                         \
	MOVQ fetch, DX                    \
	PCALIGN $64                       \
other: \
	GEMM_EIGHT(step, 4, GEMM_NEAR)    \
	SUBQ $1, CX                       \
	JNE  other                        \
	JMP  store3

// QUAD_LANES sets a to the lanes of q of one row added eight apart, and clears them (Y9 is zero).
// QUAD_HALVES adds the lanes four apart of two rows, into the two halves of a.
#define QUAD_LANES(low, high, a) \
	VMOVUPS low, a     \
	VADDPS  high, a, a \
	VMOVUPS Y9, low    \
	VMOVUPS Y9, high

#define QUAD_HALVES(a, b, t) \
	VPERM2F128 $0x20, b, a, t \
	VPERM2F128 $0x31, b, a, b \
	VADDPS  b, t, a

// func quadSmallDAVX2(args *quadSmallDArgs)
//
// d is a multiple of 16, a tile has 1 to 6 rows, and work is scratch for 18 rows of d+16 floats.
//
// Tile: up to 6 x 16, registers as in gemm_avx2_amd64.h with D_i as A (R10 bytes from row to row).
// SI is the first column of the panel in bytes, R13 the rows of a tile of four rows or fewer.
//
// Frame beside that of quad_smalld_amd64.h: xHere-40, x of the tile; above-64, current-72, below-80,
// the D_i of three tiles in work; late-88, where rows 3 and up of the panel before are not stored
// yet, or 0; rowsAbove-112, gAbove-128, qAbove-144, the tile above; lastAbove-208, lastBelow-176,
// last row of its G and of x below; with-184, without-192, groups of eight inner indices with and
// without a row between them; extraRows-200, rows for which there is no such group.
TEXT ·quadSmallDAVX2(SB), NOSPLIT, $456-8
	MOVQ args+0(FP), CX
	QUAD_COPYARGUMENTS
	QUAD_ARGUMENTS(many, fetches)
	MOVQ QUAD_ARG_D, R10      // the distance of rows of D_i
	CMPQ QUAD_ARG_ROWS, $5
	JGE  dense

component:
	MOVQ QUAD_ARG_G, R8
	MOVQ R8, gHere-24(SP)
	MOVQ QUAD_ARG_Q, R8
	MOVQ R8, qHere-32(SP)
	MOVQ QUAD_ARG_X, R8
	MOVQ R8, xHere-40(SP)
	MOVQ QUAD_ARG_TILES, R8
	MOVQ R8, tilesLeft-48(SP)
	MOVQ QUAD_ARG_TALL, R8
	MOVQ R8, tallLeft-56(SP)
tile:
	GEMM_TILEROWS(QUAD_ARG_ROWS, tallLeft-56(SP), R13, even)
	XORQ SI, SI              // the first column, in bytes
deltas:
	QUAD_DELTAS(R13, xHere-40(SP), QUAD_ARG_XS, QUAD_ARG_MU, QUAD_ARG_WORK, delta)
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  deltas
	MOVQ QUAD_ARG_GS, AX
	MOVQ QUAD_ARG_P, BX
	MOVQ Packed_data(BX), BX
	XORQ SI, SI
panel:
	MOVQ QUAD_ARG_WORK, R8
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ R10, CX
	SHRQ $2, CX
	MOVQ QUAD_ARG_STEP, DX
	GEMM_ZERO
	QUAD_ROWS
store:
	MOVQ gHere-24(SP), DI
	ADDQ SI, DI
	QUAD_STOREROW(0, Y4, Y5)
	QUAD_STOREROW(1, Y6, Y7)
	QUAD_STOREROW(2, Y8, Y9)
	QUAD_STOREROW(3, Y10, Y11)
	QUAD_STOREROW(4, Y12, Y13)
stored:
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  panel
	MOVQ QUAD_ARG_XS, CX
	IMULQ R13, CX
	ADDQ CX, xHere-40(SP)
	MOVQ gHere-24(SP), R8
	MOVQ QUAD_ARG_WORK, R9
	MOVQ qHere-32(SP), DX
	QUAD_DOTS(R10, dot, column)
	MOVQ R8, gHere-24(SP)
	MOVQ DX, qHere-32(SP)
	SUBQ $1, tilesLeft-48(SP)
	JNE  tile
	SUBQ $1, QUAD_ARG_COMPS
	JEQ  done
	QUAD_NEXTCOMPONENT
	MOVQ QUAD_ARG_NEXT, R15
	JMP  component

	// Tiles of five and six rows, one after the other through all components. D_i of the tile below
	// and q of the tile above are made between the multiply-adds, in each panel sixteen columns of all
	// rows, one row every eight inner indices; in one piece they would stall the multiply-adds. D_i of
	// three tiles take turns in work, each row behind its 16 lanes of q. The first tile takes itself
	// for the tile above, which does no harm, and the last tile takes itself for the tile below. Rows
	// from 3 on are stored when the next panel has begun.
dense:
	ADDQ $64, R10
	MOVQ QUAD_ARG_WORK, R11
	MOVQ R11, above-64(SP)
	LEAQ (R10)(R10*2), CX
	LEAQ (R11)(CX*2), R11
	MOVQ R11, current-72(SP)
	LEAQ (R11)(CX*2), R11
	MOVQ R11, below-80(SP)
	MOVQ QUAD_ARG_WORK, R11
	VXORPS Y0, Y0, Y0
	MOVL $18, CX
clear:
	VMOVUPS Y0, (R11)
	VMOVUPS Y0, 32(R11)
	ADDQ R10, R11
	SUBQ $1, CX
	JNE  clear
	MOVQ $0, late-88(SP)

	QUAD_FIRSTTILE(firstEven)
	MOVQ rowsBelow-104(SP), CX
	MOVQ CX, rowsAbove-112(SP)
	MOVQ gBelow-120(SP), CX
	MOVQ CX, gAbove-128(SP)
	MOVQ qBelow-136(SP), CX
	MOVQ CX, qAbove-144(SP)
	ADDQ $64, current-72(SP)
	XORQ SI, SI
firstDeltas:
	QUAD_DELTAS(rowsBelow-104(SP), xBelow-152(SP), QUAD_ARG_XS, QUAD_ARG_MU, current-72(SP), firstDelta)
	ADDQ $64, SI
	CMPQ SI, QUAD_ARG_D
	JLT  firstDeltas
	SUBQ $64, current-72(SP)

denseTile:
	QUAD_NEXTTILE(same, nextComponent, placed, belowEven, known)
	MOVQ rowsBelow-104(SP), CX
	SUBQ $1, CX
	IMULQ QUAD_ARG_XS, CX
	ADDQ xBelow-152(SP), CX
	MOVQ CX, lastBelow-176(SP)

	// Of the rows in between: those with eight inner indices, the other such indices, and rows
	// for which there are none.
	MOVQ QUAD_ARG_D, DX
	SHRQ $5, DX
	SUBQ $1, DX
	MOVQ rowsAbove-112(SP), R9
	LEAQ -1(R9), CX
	IMULQ QUAD_ARG_GS, CX
	ADDQ gAbove-128(SP), CX
	MOVQ CX, lastAbove-208(SP)
	CMPQ R9, rowsBelow-104(SP)
	CMOVQLT rowsBelow-104(SP), R9
	MOVQ R9, CX
	CMPQ CX, DX
	CMOVQGT DX, CX
	SUBQ CX, R9
	SUBQ CX, DX
	MOVQ CX, with-184(SP)
	MOVQ DX, without-192(SP)
	MOVQ R9, extraRows-200(SP)
	MOVQ pHere-168(SP), BX
	XORQ SI, SI              // the first column of the panel, in bytes
	PCALIGN $64
densePanel:
	MOVQ current-72(SP), R8
	ADDQ $64, R8
	GEMM_ZERO3
	GEMM_STEP3(0, 4)
	GEMM_STEP3(1, 4)
	GEMM_STEP3(2, 4)
	MOVQ late-88(SP), R12
	TESTQ R12, R12
	JEQ  storedLate
	MOVQ QUAD_ARG_GS, AX
	CMPQ SI, $0
	MOVQ rowsHere-160(SP), CX
	CMOVQEQ rowsAbove-112(SP), CX
	GEMM_STORELATE(R12, AX, CX, storedLate)
storedLate:
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ above-64(SP), R11
	MOVQ below-80(SP), R12
	MOVQ xBelow-152(SP), R13
	MOVQ gAbove-128(SP), DI
	MOVQ QUAD_ARG_STEP, DX
	GEMM_ZEROLATE
	CMPQ rowsHere-160(SP), $6
	JEQ  six
	QUAD_LOOP(GEMM_STEP5, GEMM_LATE5, QUAD_ARG_STEP, QUAD_ARG_GS, QUAD_ARG_XS, QUAD_ARG_MU, with5, without5)
six:	QUAD_LOOP(GEMM_STEP6, GEMM_LATE6, QUAD_ARG_STEP, QUAD_ARG_GS, QUAD_ARG_XS, QUAD_ARG_MU, with6, without6)
rest:
	MOVQ extraRows-200(SP), CX
	TESTQ CX, CX
	JEQ  store3
extraRow:
	QUAD_ROWDELTA(0)
	QUAD_ROWDELTA(32)
	QUAD_ROWLANES(0)
	QUAD_ROWLANES(32)
	QUAD_ROWNEXT(QUAD_ARG_GS, QUAD_ARG_XS)
	SUBQ $1, CX
	JNE  extraRow
store3:
	MOVQ gHere-24(SP), DI
	ADDQ SI, DI
	MOVQ QUAD_ARG_GS, AX
	GEMM_STORE3(DI, AX)
	LEAQ (DI)(AX*2), DI
	ADDQ AX, DI
	MOVQ DI, late-88(SP)
	ADDQ $64, SI
	CMPQ SI, QUAD_ARG_D
	JLT  densePanel

	// The lanes of q above are complete, and made empty for the tile that takes their place. Their
	// sums as in REDUCE_TREE, of all rows at once: (0 | 1), (2 | 3) and (4 | 5) in halves of registers, then
	// the even rows in one half and the odd ones in the other.
	MOVQ above-64(SP), R8
	MOVQ qAbove-144(SP), DX
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	VXORPS Y9, Y9, Y9
	QUAD_LANES((R8), 32(R8), Y0)
	QUAD_LANES((R8)(R10*1), 32(R8)(R10*1), Y1)
	QUAD_LANES((R8)(R10*2), 32(R8)(R10*2), Y2)
	QUAD_LANES((R9), 32(R9), Y3)
	QUAD_LANES((R9)(R10*1), 32(R9)(R10*1), Y4)
	QUAD_LANES((R9)(R10*2), 32(R9)(R10*2), Y5)
	QUAD_HALVES(Y0, Y1, Y6)
	QUAD_HALVES(Y2, Y3, Y6)
	QUAD_HALVES(Y4, Y5, Y6)
	VUNPCKLPD Y2, Y0, Y6
	VUNPCKHPD Y2, Y0, Y7
	VADDPS  Y7, Y6, Y6
	VUNPCKLPD Y4, Y4, Y7
	VUNPCKHPD Y4, Y4, Y8
	VADDPS  Y8, Y7, Y7
	VSHUFPS $0x88, Y7, Y6, Y0
	VSHUFPS $0xDD, Y7, Y6, Y1
	VADDPS  Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VUNPCKLPS X1, X0, X2
	VUNPCKHPS X1, X0, X0
	VMOVUPS X2, (DX)
	VMOVSS  X0, 16(DX)
	CMPQ rowsAbove-112(SP), $6
	JLT  summed
	VMOVSD  X0, 16(DX)
summed:
	MOVQ current-72(SP), R9
	MOVQ R9, above-64(SP)
	MOVQ below-80(SP), R9
	MOVQ R9, current-72(SP)
	MOVQ R8, below-80(SP)
	MOVQ rowsHere-160(SP), R13
	MOVQ R13, rowsAbove-112(SP)
	MOVQ gHere-24(SP), R8
	MOVQ R8, gAbove-128(SP)
	MOVQ qHere-32(SP), DX
	MOVQ DX, qAbove-144(SP)
	CMPQ QUAD_ARG_COMPS, $0
	JNE  denseTile
	MOVQ late-88(SP), R12
	GEMM_STORELATE(R12, AX, R13, last)
last:
	MOVQ above-64(SP), R9
	ADDQ $64, R9
	QUAD_DOTS(QUAD_ARG_D, lastDot, lastColumn)
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Vector-Jacobian products

// func vjpSmallDAVX2(args *vjpSmallDArgs)
//
// mu has a multiple of 16 elements; tiles as in quadSmallDAVX2. The frame is a copy of the arguments, of which v,
// r, u, t, x, tiles and tall are advanced in place from tile to tile.
//
// Tile: up to 6 x 16, registers as in gemm_avx2_amd64.h with w as A (R10 bytes from row to row).
// SI is the first column of the panel in bytes, R13 the rows of the tile, AX bytes from row to row of
// v, DI the current row of v. While w is made, as in VJP_FIRSTROW, and R9 and R11 bytes from row to row of
// x and u, Y3 the sign bits, Y2 zero.
TEXT ·vjpSmallDAVX2(SB), NOSPLIT, $280-8
	MOVQ args+0(FP), CX
	VJP_COPYARGUMENTS
	MOVQ VJP_ARG_MULEN, R10
	SHLQ $2, R10             // the distance of rows of -N_i
	MOVQ VJP_ARG_NEXT, R15
tile:
	GEMM_TILEROWS(VJP_ARG_ROWS, VJP_ARG_TALL, R13, even)
	// -N_i of the tile, 16 columns at a time.
	VEC_SIGNBITS(Y3)
	VXORPS Y2, Y2, Y2
	XORQ R12, R12            // the first column, in bytes
	MOVQ VJP_ARG_XS, R9
	SHLQ $2, R9
	MOVQ VJP_ARG_US, R11
	SHLQ $2, R11
deltas:
	MOVQ VJP_ARG_MU, DX
	VMOVUPS (DX)(R12*1), Y4
	VMOVUPS 32(DX)(R12*1), Y5
	VJP_FIRSTROW
delta:
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  zero
	VBROADCASTSS (BX), Y6
	VXORPS Y3, Y6, Y6
	VBROADCASTSS (DX), Y7
	VJP_TILE(0, Y4, Y6, Y7, Y0, Y8)
	VJP_TILE(32, Y5, Y6, Y7, Y1, Y9)
	JMP  nextrow
zero:
	VMOVUPS Y2, (DI)
	VMOVUPS Y2, 32(DI)
nextrow:
	ADDQ R9, SI
	ADDQ R11, R8
	ADDQ R10, DI
	ADDQ $4, BX
	ADDQ $4, DX
	SUBQ $1, CX
	JNE  delta
	ADDQ $64, R12
	CMPQ R12, R10
	JLT  deltas
	MOVQ BX, VJP_ARG_R
	MOVQ DX, VJP_ARG_T

	MOVQ VJP_ARG_P, BX
	MOVQ VJP_ARG_VS, AX
	SHLQ $2, AX
	XORQ SI, SI              // the first column of the panel, in bytes
	CMPQ R13, $5
	JGE  dense
panel:
	GEMM_ZERO
	CMPB VJP_ARG_ACC, $0
	JEQ  start
	MOVQ VJP_ARG_V, DI
	ADDQ SI, DI
	QUAD_LOADROW(0, Y4, Y5, start)
	QUAD_LOADROW(1, Y6, Y7, start)
	QUAD_LOADROW(2, Y8, Y9, start)
	QUAD_LOADROW(3, Y10, Y11, start)
start:
	MOVQ VJP_ARG_WORK, R8
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ VJP_ARG_MULEN, CX
	MOVQ VJP_ARG_STEP, DX
	QUAD_ROWS
store:
	MOVQ VJP_ARG_V, DI
	ADDQ SI, DI
	QUAD_STOREROW(0, Y4, Y5)
	QUAD_STOREROW(1, Y6, Y7)
	QUAD_STOREROW(2, Y8, Y9)
	QUAD_STOREROW(3, Y10, Y11)
stored:
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  panel
	JMP  end

	// Five and six rows. Those from 3 on are stored after the first three inner indices of rows 0
	// to 2 of the next panel: R12 is where, in row 3.
dense:
	MOVQ VJP_ARG_V, DI
	LEAQ (DI)(AX*2), R12
	ADDQ AX, R12
	MOVQ VJP_ARG_STEP, DX
densePanel:
	MOVQ VJP_ARG_WORK, R8
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ VJP_ARG_MULEN, CX
	CMPB VJP_ARG_ACC, $0
	JNE  olds3
	GEMM_ZERO3
	JMP  first3
olds3:
	GEMM_LOAD3(DI, AX)
first3:
	GEMM_STEP3(0, 4)
	GEMM_STEP3(1, 4)
	GEMM_STEP3(2, 4)
	TESTQ SI, SI
	JEQ  late
	GEMM_STORELATE(R12, AX, R13, storedLate)
storedLate:
	ADDQ $64, R12
late:
	CMPB VJP_ARG_ACC, $0
	JNE  oldsLate
	GEMM_ZEROLATE
	JMP  startLate
oldsLate:
	GEMM_LOADLATE(R12, AX, R13, startLate)
startLate:
	CMPQ R13, $6
	JEQ  six
	GEMM_LATELOOP(GEMM_STEP5, GEMM_LATE5, 4, GEMM_NEAR, eight5, eighttest5, late5, latetest5)
six:	GEMM_LATELOOP(GEMM_STEP6, GEMM_LATE6, 4, GEMM_NEAR, eight6, eighttest6, late6, latetest6)
store3:
	GEMM_STORE3(DI, AX)
	ADDQ $64, DI
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  densePanel
	GEMM_STORELATE(R12, AX, R13, end)
end:
	VJP_NEXTTILE(tile)
	VZEROUPPER
	RET

// func gradRowsAVX2(args *gradRowsArgs)
TEXT ·gradRowsAVX2(SB), NOSPLIT, $0-8
	VJP_GRADROWS
	VZEROUPPER
	RET

// Eight columns of a row, from byte off on, of D_i, of its share of the sums, and of W_i. Y5 r, Y6 t,
// Y7 h*t, Y2 h, Y4 zero. fma(-w, d, -(r*u)) is computed as the negated fma(w, d, r*u).
#define VJP_SCALARS \
	VBROADCASTSS (BX), Y5  \
	VBROADCASTSS (R13), Y6 \
	VMULPS       Y6, Y2, Y7

#define VJP_DELTA(off, sr, st) \
	VMOVUPS      off(DX), Y0     \
	VSUBPS       off(CX), Y0, Y0 \ // d = x - mu
	VMOVUPS      Y0, off(R8)     \
	VMOVUPS      off(SI), Y1     \
	VFNMADD231PS Y1, Y5, sr      \ // sr -= r * u
	VFNMADD231PS Y0, Y6, st      \ // st -= t * d
	VMULPS       Y5, Y1, Y1      \ // r * u
	VFNMSUB231PS Y0, Y7, Y1      \ // w = -(h*t * d) - r*u
	VMOVUPS      Y1, off(DI)

// VJP_DELTAZERO is the same for r = 0.
#define VJP_DELTAZERO(off) \
	VMOVUPS      off(DX), Y0     \
	VSUBPS       off(CX), Y0, Y0 \
	VMOVUPS      Y0, off(R8)     \
	VMOVUPS      Y4, off(DI)

// func gradDeltasAVX2(args *gradDeltasArgs)
//
// Columns are done 32 at a time, then 8 with a mask; within them the rows one after the other, so
// that the sums stay in registers.
//
// Registers as in VJP_COLUMN. CX mu   left-8(SP) columns left
// Y8 to Y11 sums sr, Y12 to Y15 sums st (narrow: Y8, Y12, mask in Y15, mu in Y3)
TEXT ·gradDeltasAVX2(SB), NOSPLIT, $8-8
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_ld(AX), R10
	MOVQ gradDeltasArgs_us(AX), R11
	MOVQ gradDeltasArgs_xs(AX), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VBROADCASTSS gradDeltasArgs_h(AX), Y2
	VXORPS Y4, Y4, Y4
	XORQ R15, R15
	MOVQ gradDeltasArgs_mu+8(AX), AX
	MOVQ AX, left-8(SP)
columns:
	CMPQ left-8(SP), $0
	JLE  done
	VJP_COLUMN
	MOVQ gradDeltasArgs_mu(AX), CX
	ADDQ R15, CX
	CMPQ left-8(SP), $32
	JLT  narrow
	VJP_LOADSUMS(gradDeltasArgs_sr, Y8, Y9, Y10, Y11)
	MOVQ args+0(FP), AX
	VJP_LOADSUMS(gradDeltasArgs_st, Y12, Y13, Y14, Y15)
	JMP  widetest
widerow:
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  widezero
	VJP_SCALARS
	VJP_DELTA(0, Y8, Y12)
	VJP_DELTA(32, Y9, Y13)
	VJP_DELTA(64, Y10, Y14)
	VJP_DELTA(96, Y11, Y15)
	JMP  widenext
widezero:
	VJP_DELTAZERO(0)
	VJP_DELTAZERO(32)
	VJP_DELTAZERO(64)
	VJP_DELTAZERO(96)
widenext:
	VJP_NEXTROW
widetest:
	SUBQ $1, R9
	JGE  widerow
	VJP_STORESUMS(gradDeltasArgs_sr, Y8, Y9, Y10, Y11)
	VJP_STORESUMS(gradDeltasArgs_st, Y12, Y13, Y14, Y15)
	ADDQ $128, R15
	SUBQ $32, left-8(SP)
	JMP  columns

narrow:                      // eight columns at a time, the last of them masked
	VPCMPEQD Y15, Y15, Y15
	MOVQ left-8(SP), AX
	CMPQ AX, $8
	JGE  whole
	SHLQ $2, AX
	LEAQ ·tailMasks+32(SB), R9
	SUBQ AX, R9
	VMOVUPS (R9), Y15
	MOVQ args+0(FP), R9
	MOVQ gradDeltasArgs_r+8(R9), R9
whole:
	MOVQ args+0(FP), AX
	VMASKMOVPS (CX), Y15, Y3
	MOVQ gradDeltasArgs_sr(AX), AX
	VMASKMOVPS (AX)(R15*1), Y15, Y8
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_st(AX), AX
	VMASKMOVPS (AX)(R15*1), Y15, Y12
	JMP  resttest
restrow:
	VMASKMOVPS (DX), Y15, Y0
	VSUBPS     Y3, Y0, Y0
	VMASKMOVPS Y0, Y15, (R8)
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  restzero
	VJP_SCALARS
	VMASKMOVPS   (SI), Y15, Y1
	VFNMADD231PS Y1, Y5, Y8
	VFNMADD231PS Y0, Y6, Y12
	VMULPS       Y5, Y1, Y1
	VFNMSUB231PS Y0, Y7, Y1
	VMASKMOVPS   Y1, Y15, (DI)
	JMP  restnext
restzero:
	VMASKMOVPS Y4, Y15, (DI)
restnext:
	VJP_NEXTROW
resttest:
	SUBQ $1, R9
	JGE  restrow
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_sr(AX), AX
	VMASKMOVPS Y8, Y15, (AX)(R15*1)
	MOVQ args+0(FP), AX
	MOVQ gradDeltasArgs_st(AX), AX
	VMASKMOVPS Y12, Y15, (AX)(R15*1)
	ADDQ $32, R15
	SUBQ $8, left-8(SP)
	JMP  columns
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Mixture

#define MIX_CONSTANT(c, v) VMOVUPS c, v

// MIX_EXP sets l, in Y0, to e^l, or to 0 below the cut Y11.
#define MIX_EXP \
	VCMPPS  $0x11, Y11, Y0, Y7 \
	EXP_EVAL                   \
	VANDNPS Y0, Y7, Y0

// MIX_KEEPNAN sets Y0 to the sum Y8 where that is NaN.
#define MIX_KEEPNAN \
	VCMPPS    $0x03, Y8, Y8, Y1 \
	VBLENDVPS Y1, Y8, Y0, Y0

// func mixtureAVX2(q []float32, ld int, c, phi []float32)
//
// Eight rows at a time, then the masked rest (Y15). Registers as in MIX_FORWARD. CX rows left   Y10 1/2
// Y11 the cut below which r is 0
TEXT ·mixtureAVX2(SB), NOSPLIT, $0-80
	MOVQ q_base+0(FP), SI
	MOVQ ld+24(FP), R10
	MOVQ c_base+32(FP), DX
	MOVQ phi_base+56(FP), DI
	MOVQ c_len+40(FP), R12
	MOVQ phi_len+64(FP), CX
	SHLQ $2, R10
	VMOVUPS ·expConst+256(SB), Y10
	VMOVUPS ·expConst+416(SB), Y11
group:
	SUBQ $8, CX
	JLT  rest
	MIX_FORWARD(VEC_MOVE, VEC_MOVE, Y10, f1, f1t, f2, f2t, f3, f3t)
	ADDQ $32, SI
	ADDQ $32, DI
	JMP  group
rest:
	ADDQ $8, CX
	JEQ  done
	VEC_TAILMASK
	MIX_FORWARD(VEC_MASKLOAD, VEC_MASKSTORE, Y10, m1, m1t, m2, m2t, m3, m3t)
done:
	VZEROUPPER
	RET

// MIX_ADD adds r s, of Y0 and Y1, to the sum Y6, MIX_CENTRE sets Y0 to r (s - sum): nothing and 0 where r is 0.
#define MIX_ADD \
	VCMPPS      $0x00, Y5, Y0, Y2 \ // r == 0
	VMOVAPS     Y6, Y3            \
	VFMADD231PS Y0, Y1, Y3        \
	VBLENDVPS   Y2, Y6, Y3, Y6

#define MIX_CENTRE \
	VCMPPS  $0x00, Y5, Y0, Y2 \
	VSUBPS  Y6, Y1, Y1        \
	VMULPS  Y1, Y0, Y0        \
	VANDNPS Y0, Y2, Y0

// func responsibilityBackwardAVX2(r, s []float32, ld int, sum []float32, k int)
//
// Eight rows at a time, then the masked rest (Y15). Registers as in MIX_BACKWARD. CX rows left
TEXT ·responsibilityBackwardAVX2(SB), NOSPLIT, $0-88
	MOVQ r_base+0(FP), SI
	MOVQ s_base+24(FP), DX
	MOVQ ld+48(FP), R10
	MOVQ sum_base+56(FP), DI
	MOVQ k+80(FP), R12
	MOVQ sum_len+64(FP), CX
	SHLQ $2, R10
	VXORPS Y5, Y5, Y5
group:
	SUBQ $8, CX
	JLT  rest
	MIX_BACKWARD(VEC_MOVE, VEC_MOVE, f1, f1t, f2, f2t)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	JMP  group
rest:
	ADDQ $8, CX
	JEQ  done
	VEC_TAILMASK
	MIX_BACKWARD(VEC_MASKLOAD, VEC_MASKSTORE, m1, m1t, m2, m2t)
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Gradient step

// GRAD_ADD64 and GRAD_ADD8 are the add of 64 columns, in Y4 to Y11, and of 8.
#define GRAD_ADD64 \
	VFNMADD231PS (R9), Y0, Y4     \
	VFNMADD231PS 32(R9), Y0, Y5   \
	VFNMADD231PS 64(R9), Y0, Y6   \
	VFNMADD231PS 96(R9), Y0, Y7   \
	VFNMADD231PS 128(R9), Y0, Y8  \
	VFNMADD231PS 160(R9), Y0, Y9  \
	VFNMADD231PS 192(R9), Y0, Y10 \
	VFNMADD231PS 224(R9), Y0, Y11

#define GRAD_ADD8 VFNMADD231PS (R9), Y0, Y4

// GRAD_64 makes 64 columns of the gradient, in Y4 to Y11.
#define GRAD_64 \
	VEC_ZERO4(Y4, Y5, Y6, Y7)   \
	VEC_ZERO4(Y8, Y9, Y10, Y11) \
	GRAD_WALK(GRAD_ADD64, component, skip, test)

// func gradientAVX2(dst, r []float32, rs int, g []float32, gs, k int)
//
// Columns are done 64 at a time, then 8, then the masked rest (Y15). Registers as in GRAD_ARGS and GRAD_WALK.
TEXT ·gradientAVX2(SB), NOSPLIT, $0-96
	GRAD_ARGS
wide:
	SUBQ $64, CX
	JLT  narrow
	GRAD_64
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	VMOVUPS Y8, 128(DI)
	VMOVUPS Y9, 160(DI)
	VMOVUPS Y10, 192(DI)
	VMOVUPS Y11, 224(DI)
	ADDQ $256, DI
	ADDQ $256, DX
	JMP  wide
narrow:
	ADDQ $64, CX
eight:
	SUBQ $8, CX
	JLT  rest
	VXORPS Y4, Y4, Y4
	GRAD_WALK(GRAD_ADD8, component8, skip8, test8)
	VMOVUPS Y4, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	JMP  eight
rest:
	ADDQ $8, CX
	JEQ  done
	VEC_TAILMASK
	VXORPS Y4, Y4, Y4
	GRAD_WALK(GRAD_ADDREST, componentRest, skipRest, testRest)
	VMASKMOVPS Y4, Y15, (DI)
done:
	VZEROUPPER
	RET

// GRAD_MOVE adds alpha * c to eight columns of x.
#define GRAD_MOVE(off, c) \
	VMOVUPS off(DI), Y0    \
	VFMADD231PS c, Y15, Y0 \
	VMOVUPS Y0, off(DI)

// func moveRowsAVX2(args *moveRowsArgs)
//
// n is a multiple of 64, rows is above 0. x, r and g are advanced in args from row to row.
//
// DI x, DX G of these columns   SI r   R10, R11 bytes from component to component of r and G
// R12 components   R13 rows left   CX columns left   R15 args   Y15 alpha   Y4 to Y11 gradient
TEXT ·moveRowsAVX2(SB), NOSPLIT, $0-8
	MOVQ args+0(FP), R15
	VBROADCASTSS moveRowsArgs_alpha(R15), Y15
	SHLQ $2, moveRowsArgs_xs(R15)
	SHLQ $2, moveRowsArgs_gr(R15)
	MOVQ moveRowsArgs_rs(R15), R10
	MOVQ moveRowsArgs_gs(R15), R11
	MOVQ moveRowsArgs_k(R15), R12
	MOVQ moveRowsArgs_rows(R15), R13
	SHLQ $2, R10
	SHLQ $2, R11
row:
	MOVQ moveRowsArgs_x(R15), DI
	MOVQ moveRowsArgs_r(R15), SI
	MOVQ moveRowsArgs_g(R15), DX
	MOVQ moveRowsArgs_n(R15), CX
columns:
	GRAD_64
	GRAD_MOVE(0, Y4)
	GRAD_MOVE(32, Y5)
	GRAD_MOVE(64, Y6)
	GRAD_MOVE(96, Y7)
	GRAD_MOVE(128, Y8)
	GRAD_MOVE(160, Y9)
	GRAD_MOVE(192, Y10)
	GRAD_MOVE(224, Y11)
	ADDQ $256, DI
	ADDQ $256, DX
	SUBQ $64, CX
	JGT  columns
	MOVQ moveRowsArgs_xs(R15), AX
	ADDQ AX, moveRowsArgs_x(R15)
	MOVQ moveRowsArgs_gr(R15), AX
	ADDQ AX, moveRowsArgs_g(R15)
	ADDQ $4, moveRowsArgs_r(R15)
	SUBQ $1, R13
	JNE  row
	VZEROUPPER
	RET
