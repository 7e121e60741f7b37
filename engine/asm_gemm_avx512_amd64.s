//go:build amd64 && !purego && !noasm

#include "gemm_avx512_amd64.h"
#include "gemm_panel_amd64.h"
#include "go_asm.h"
#include "textflag.h"
#include "vector_avx512_amd64.h"

// AVX-512 (F, DQ, BW, VL): matrix products and transposition.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	sgemmAVX512_14x32    panels of a matrix product, C = A B or C += A B
//	sgemmAVX512_14x16    sgemm for the last 16 columns or fewer
//	sgemmAtAVX512_14x32  panels of a product whose rows of B and columns of A lie anywhere
//	transposeAVX512      dst[j][i] = src[i][j]

// ---------------------------------------------------------------------------------
// sgemmAVX512_14x32

// One tile of C of up to 14 rows and 32 columns:
//
//	Z4, Z5 to Z30, Z31   accumulators: row i is (Z(4+2i), Z(5+2i))
//	Z0, Z1               B[p], 32 columns     Z2, Z3   A[i][p] in all lanes, in turns
//	BX, R12              B[p], and bytes from p to p+1
//	CX                   inner indices p left
//	R15, AX              address that is prefetched, and its step
//	DI, R13              row of C, and bytes from row to row
//
// A is read in one of two ways. GEMM_STEPr: any strides, R8, SI and DX are rows 0, 5 and 10, R10 is
// bytes from row to row, R9 three times that, R11 bytes from p to p+1. GEMM_DENSEr: p contiguous in A and
// B, R8, SI, DX, R11, R12, R13 and DI are rows 0, 2, ..., 12. Each is one inner index for r rows.

// GEMM_ROW is one row of the tile at one inner index.
#define GEMM_ROW(a, t, c0, c1) \
	VBROADCASTSS a, t      \ // A[i][p] in all lanes
	VFMADD231PS  Z0, t, c0 \ // C[i][0:16] += A[i][p] * B[p][0:16]
	VFMADD231PS  Z1, t, c1   // C[i][16:32] += A[i][p] * B[p][16:32]

#define GEMM_STEP1 \
	VMOVUPS (BX), Z0   \
	VMOVUPS 64(BX), Z1 \
	GEMM_ROW((R8), Z2, Z4, Z5)

#define GEMM_STEP2 GEMM_STEP1; GEMM_ROW((R8)(R10*1), Z3, Z6, Z7)
#define GEMM_STEP3 GEMM_STEP2; GEMM_ROW((R8)(R10*2), Z2, Z8, Z9)
#define GEMM_STEP4 GEMM_STEP3; GEMM_ROW((R8)(R9*1), Z3, Z10, Z11)
#define GEMM_STEP5 GEMM_STEP4; GEMM_ROW((R8)(R10*4), Z2, Z12, Z13)
#define GEMM_STEP6 GEMM_STEP5; GEMM_ROW((SI), Z3, Z14, Z15)
#define GEMM_STEP7 GEMM_STEP6; GEMM_ROW((SI)(R10*1), Z2, Z16, Z17)
#define GEMM_STEP8 GEMM_STEP7; GEMM_ROW((SI)(R10*2), Z3, Z18, Z19)
#define GEMM_STEP9 GEMM_STEP8; GEMM_ROW((SI)(R9*1), Z2, Z20, Z21)
#define GEMM_STEP10 GEMM_STEP9; GEMM_ROW((SI)(R10*4), Z3, Z22, Z23)
#define GEMM_STEP11 GEMM_STEP10; GEMM_ROW((DX), Z2, Z24, Z25)
#define GEMM_STEP12 GEMM_STEP11; GEMM_ROW((DX)(R10*1), Z3, Z26, Z27)
#define GEMM_STEP13 GEMM_STEP12; GEMM_ROW((DX)(R10*2), Z2, Z28, Z29)
#define GEMM_STEP14 GEMM_STEP13; GEMM_ROW((DX)(R9*1), Z3, Z30, Z31)

// GEMM_NEXT advances to the next inner index.
#define GEMM_NEXT \
	ADDQ R11, R8 \
	ADDQ R11, SI \
	ADDQ R11, DX \
	ADDQ R12, BX

// GEMM_LOOP runs step over all inner indices, two at a time, then the odd one, and goes on at the label
// store of the function.
#define GEMM_LOOP(step, two, twotest, odd) \
	JMP   twotest \
two: \
	GEMM_FETCH    \
	step          \
	GEMM_NEXT     \
	step          \
	GEMM_NEXT     \
twotest: \
	SUBQ  $2, CX  \
	JGE   two     \
	ADDQ  $2, CX  \
	JEQ   odd     \
	step          \
odd: \
	JMP   store

// GEMM_ROWBCST is GEMM_ROW with the broadcast inside the multiply-adds: one instruction less and one
// load more. Without an index register it is not split in two. A few rows use it, because the number
// of instructions decides where another thread shares the core; more of them would be slower where
// all rows of A begin at the same place of a cache line.
#define GEMM_ROWBCST(a, c0, c1) \
	VFMADD231PS.BCST a, Z0, c0 \
	VFMADD231PS.BCST a, Z1, c1

#define GEMM_DENSE1(n) \
	VMOVUPS (128*n)(BX), Z0    \
	VMOVUPS (128*n+64)(BX), Z1 \
	GEMM_ROW((4*n)(R8), Z2, Z4, Z5)

#define GEMM_DENSE2(n) GEMM_DENSE1(n); GEMM_ROW((4*n)(R8)(R10*1), Z3, Z6, Z7)
#define GEMM_DENSE3(n) GEMM_DENSE2(n); GEMM_ROWBCST((4*n)(SI), Z8, Z9)
#define GEMM_DENSE4(n) GEMM_DENSE3(n); GEMM_ROW((4*n)(SI)(R10*1), Z2, Z10, Z11)
#define GEMM_DENSE5(n) GEMM_DENSE4(n); GEMM_ROW((4*n)(DX), Z3, Z12, Z13)
#define GEMM_DENSE6(n) GEMM_DENSE5(n); GEMM_ROW((4*n)(DX)(R10*1), Z2, Z14, Z15)
#define GEMM_DENSE7(n) GEMM_DENSE6(n); GEMM_ROWBCST((4*n)(R11), Z16, Z17)
#define GEMM_DENSE8(n) GEMM_DENSE7(n); GEMM_ROW((4*n)(R11)(R10*1), Z3, Z18, Z19)
#define GEMM_DENSE9(n) GEMM_DENSE8(n); GEMM_ROW((4*n)(R12), Z2, Z20, Z21)
#define GEMM_DENSE10(n) GEMM_DENSE9(n); GEMM_ROW((4*n)(R12)(R10*1), Z3, Z22, Z23)
#define GEMM_DENSE11(n) GEMM_DENSE10(n); GEMM_ROWBCST((4*n)(R13), Z24, Z25)
#define GEMM_DENSE12(n) GEMM_DENSE11(n); GEMM_ROW((4*n)(R13)(R10*1), Z2, Z26, Z27)
#define GEMM_DENSE13(n) GEMM_DENSE12(n); GEMM_ROW((4*n)(DI), Z3, Z28, Z29)
#define GEMM_DENSE14(n) GEMM_DENSE13(n); GEMM_ROW((4*n)(DI)(R10*1), Z2, Z30, Z31)

// GEMM_NEXTDENSE advances by n inner indices.
#define GEMM_NEXTDENSE(n) \
	ADDQ $(4*n), R8  \
	ADDQ $(4*n), SI  \
	ADDQ $(4*n), DX  \
	ADDQ $(4*n), R11 \
	ADDQ $(4*n), R12 \
	ADDQ $(4*n), R13 \
	ADDQ $(4*n), DI  \
	ADDQ $(128*n), BX

// GEMM_DENSELOOP is the loop over the inner index for those, four at a time with one advance of the
// pointers, then one at a time. It prefetches two neighbouring lines at a time, in steps of AX, and
// goes on at the label densestore of the function.
#define GEMM_DENSELOOP(step, four, fourtest, one, onetest) \
	JMP  fourtest      \
four: \
	PREFETCHT1 (R15)   \
	step(0)            \
	step(1)            \
	PREFETCHT1 64(R15) \
	ADDQ AX, R15       \
	step(2)            \
	step(3)            \
	GEMM_NEXTDENSE(4)  \
fourtest: \
	SUBQ $4, CX        \
	JGE  four          \
	ADDQ $4, CX        \
	JMP  onetest       \
one: \
	step(0)            \
	GEMM_NEXTDENSE(1)  \
onetest: \
	SUBQ $1, CX        \
	JGE  one           \
	JMP  densestore

// GEMM_BYROWS jumps to the label for a tile of so many rows, 2 to 14, and goes on below for one row.
#define GEMM_BYROWS(rows, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14) \
	CMPQ rows, $13 \
	JEQ  r13       \
	JGT  r14       \
	CMPQ rows, $11 \
	JEQ  r11       \
	JGT  r12       \
	CMPQ rows, $9  \
	JEQ  r9        \
	JGT  r10       \
	CMPQ rows, $7  \
	JEQ  r7        \
	JGT  r8        \
	CMPQ rows, $5  \
	JEQ  r5        \
	JGT  r6        \
	CMPQ rows, $3  \
	JEQ  r3        \
	JGT  r4        \
	CMPQ rows, $1  \
	JGT  r2

// GEMM_LOADROW loads a row of C if the tile (AX rows) has it, or jumps to the label below of the
// function; GEMM_STOREROW stores one (CX rows), or jumps to done. DI walks down the rows.
#define GEMM_LOADROW(row, c0, c1) \
	CMPQ AX, $row      \
	JLE  below         \
	VMOVUPS (DI), c0   \
	VMOVUPS 64(DI), c1 \
	ADDQ R13, DI

#define GEMM_STOREROW(row, c0, c1) \
	CMPQ CX, $row      \
	JLE  done          \
	VMOVUPS c0, (DI)   \
	VMOVUPS c1, 64(DI) \
	ADDQ R13, DI

#define GEMM_LOAD \
	GEMM_LOADROW(0, Z4, Z5)    \
	GEMM_LOADROW(1, Z6, Z7)    \
	GEMM_LOADROW(2, Z8, Z9)    \
	GEMM_LOADROW(3, Z10, Z11)  \
	GEMM_LOADROW(4, Z12, Z13)  \
	GEMM_LOADROW(5, Z14, Z15)  \
	GEMM_LOADROW(6, Z16, Z17)  \
	GEMM_LOADROW(7, Z18, Z19)  \
	GEMM_LOADROW(8, Z20, Z21)  \
	GEMM_LOADROW(9, Z22, Z23)  \
	GEMM_LOADROW(10, Z24, Z25) \
	GEMM_LOADROW(11, Z26, Z27) \
	GEMM_LOADROW(12, Z28, Z29) \
	GEMM_LOADROW(13, Z30, Z31)

#define GEMM_STORE \
	GEMM_STOREROW(0, Z4, Z5)    \
	GEMM_STOREROW(1, Z6, Z7)    \
	GEMM_STOREROW(2, Z8, Z9)    \
	GEMM_STOREROW(3, Z10, Z11)  \
	GEMM_STOREROW(4, Z12, Z13)  \
	GEMM_STOREROW(5, Z14, Z15)  \
	GEMM_STOREROW(6, Z16, Z17)  \
	GEMM_STOREROW(7, Z18, Z19)  \
	GEMM_STOREROW(8, Z20, Z21)  \
	GEMM_STOREROW(9, Z22, Z23)  \
	GEMM_STOREROW(10, Z24, Z25) \
	GEMM_STOREROW(11, Z26, Z27) \
	GEMM_STOREROW(12, Z28, Z29) \
	GEMM_STOREROW(13, Z30, Z31)

// func sgemmAVX512_14x32(args *panelArgs)
//
// Tile: up to 14 x 32, registers as above. Arguments: A (ars and acs floats from row to row and from
// p to p+1; tiles begin tileStride floats apart if A is packed, tileStride = 0 if not), B (brs floats from p
// to p+1; 32 for several panels), C (crs). tiles tiles of rows rows, the first tall of them with
// one row more. If acc is set the chains go on from the old C.
//
// Frame beside that of gemm_panel_amd64.h: held-40, rows of the tile while DI is a row of A;
// inner-48, inner indices left once the lines of C are prefetched; fetched-56, how far next has been
// prefetched.
TEXT ·sgemmAVX512_14x32(SB), NOSPLIT, $312-8
	MOVQ args+0(FP), CX
	GEMM_COPYARGUMENTS
	MOVQ GEMM_ARG_ARS, R10
	MOVQ GEMM_ARG_ACS, R11
	MOVQ GEMM_ARG_BRS, R12
	MOVQ GEMM_ARG_CRS, R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	SHLQ $2, R13
	LEAQ (R10)(R10*2), R9
panel:
	GEMM_PANELBEGIN
tile:
	MOVQ GEMM_ARG_K, CX
	MOVQ aHere-8(SP), R8
	MOVQ GEMM_ARG_B, BX
	MOVQ cHere-16(SP), DI
	GEMM_TILEROWS(GEMM_ARG_ROWS, tallLeft-32(SP), AX, even)
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	GEMM_ZERO

	// The lines to be written must be had: those of this tile, or where chains go on from the old
	// values of C, of the one below. Where A is dense they are fetched later.
	CMPB GEMM_ARG_ACC, $0
	JEQ  fresh
	GEMM_LOAD
below:
	MOVL $14, DX
	JMP  lines
fresh:
	MOVQ AX, DX
	CMPQ CX, $256
	JLT  start
lines:
	CMPQ R11, $4
	JNE  line
	CMPQ R12, $128
	JEQ  start
line:
	PREFETCHT0 (DI)
	PREFETCHT0 64(DI)
	PREFETCHT0 124(DI)
	ADDQ R13, DI
	SUBQ $1, DX
	JNE  line

start:
	MOVQ AX, DI              // rows
	MOVQ GEMM_ARG_STEP, AX
	CMPQ R11, $4
	JNE  strided
	CMPQ R12, $128
	JEQ  dense
strided:
	LEAQ (SI)(R10*4), DX
	ADDQ R10, DX
	GEMM_BYROWS(DI, rows2, rows3, rows4, rows5, rows6, rows7, rows8, rows9, rows10, rows11, rows12, rows13, rows14)
	GEMM_LOOP(GEMM_STEP1, two1, twotest1, odd1)
rows2:	GEMM_LOOP(GEMM_STEP2, two2, twotest2, odd2)
rows3:	GEMM_LOOP(GEMM_STEP3, two3, twotest3, odd3)
rows4:	GEMM_LOOP(GEMM_STEP4, two4, twotest4, odd4)
rows5:	GEMM_LOOP(GEMM_STEP5, two5, twotest5, odd5)
rows6:	GEMM_LOOP(GEMM_STEP6, two6, twotest6, odd6)
rows7:	GEMM_LOOP(GEMM_STEP7, two7, twotest7, odd7)
rows8:	GEMM_LOOP(GEMM_STEP8, two8, twotest8, odd8)
rows9:	GEMM_LOOP(GEMM_STEP9, two9, twotest9, odd9)
rows10:	GEMM_LOOP(GEMM_STEP10, two10, twotest10, odd10)
rows11:	GEMM_LOOP(GEMM_STEP11, two11, twotest11, odd11)
rows12:	GEMM_LOOP(GEMM_STEP12, two12, twotest12, odd12)
rows13:	GEMM_LOOP(GEMM_STEP13, two13, twotest13, odd13)
rows14:	GEMM_LOOP(GEMM_STEP14, two14, twotest14, odd14)
dense:
	MOVQ DI, held-40(SP)
	MOVQ DI, R9
	ADDQ AX, AX              // a turn of the loop is two steps

	// The first turns fetch the lines of C, a row each: all at once they would hold up the loads,
	// for they come from memory or another cache.
	MOVQ $0, inner-48(SP)
	LEAQ (R9*4), DX
	SUBQ DX, CX
	JLE  few
	MOVQ CX, inner-48(SP)
	MOVQ R15, fetched-56(SP)
	MOVQ cHere-16(SP), R15
	MOVQ R13, AX
	MOVQ DX, CX
	CMPB GEMM_ARG_ACC, $0
	JEQ  turns
	MOVQ R9, DX
	IMULQ R13, DX
	ADDQ DX, R15
	JMP  turns
few:
	ADDQ DX, CX
turns:
	LEAQ (R8)(R10*2), SI
	LEAQ (SI)(R10*2), DX
	LEAQ (DX)(R10*2), R11
	LEAQ (R11)(R10*2), R12
	LEAQ (R12)(R10*2), R13
	LEAQ (R13)(R10*2), DI
rest:
	GEMM_BYROWS(R9, dens2, dens3, dens4, dens5, dens6, dens7, dens8, dens9, dens10, dens11, dens12, dens13, dens14)
	GEMM_DENSELOOP(GEMM_DENSE1, four1, fourtest1, one1, onetest1)
dens2:	GEMM_DENSELOOP(GEMM_DENSE2, four2, fourtest2, one2, onetest2)
dens3:	GEMM_DENSELOOP(GEMM_DENSE3, four3, fourtest3, one3, onetest3)
dens4:	GEMM_DENSELOOP(GEMM_DENSE4, four4, fourtest4, one4, onetest4)
dens5:	GEMM_DENSELOOP(GEMM_DENSE5, four5, fourtest5, one5, onetest5)
dens6:	GEMM_DENSELOOP(GEMM_DENSE6, four6, fourtest6, one6, onetest6)
dens7:	GEMM_DENSELOOP(GEMM_DENSE7, four7, fourtest7, one7, onetest7)
dens8:	GEMM_DENSELOOP(GEMM_DENSE8, four8, fourtest8, one8, onetest8)
dens9:	GEMM_DENSELOOP(GEMM_DENSE9, four9, fourtest9, one9, onetest9)
dens10:	GEMM_DENSELOOP(GEMM_DENSE10, four10, fourtest10, one10, onetest10)
dens11:	GEMM_DENSELOOP(GEMM_DENSE11, four11, fourtest11, one11, onetest11)
dens12:	GEMM_DENSELOOP(GEMM_DENSE12, four12, fourtest12, one12, onetest12)
dens13:	GEMM_DENSELOOP(GEMM_DENSE13, four13, fourtest13, one13, onetest13)
dens14:	GEMM_DENSELOOP(GEMM_DENSE14, four14, fourtest14, one14, onetest14)
densestore:
	MOVQ inner-48(SP), CX
	TESTQ CX, CX
	JEQ  densedone
	MOVQ $0, inner-48(SP)
	MOVQ fetched-56(SP), R15
	MOVQ GEMM_ARG_STEP, AX
	ADDQ AX, AX
	JMP  rest
densedone:
	MOVQ held-40(SP), DI
	MOVL $4, R11
	MOVL $128, R12
	MOVQ GEMM_ARG_CRS, R13
	SHLQ $2, R13
store:
	MOVQ DI, CX
	MOVQ cHere-16(SP), DI
	GEMM_STORE
done:
	MOVQ DI, cHere-16(SP)
	MOVQ GEMM_ARG_TILESTRIDE, AX
	SHLQ $2, AX
	JNE  apart
	MOVQ R10, AX             // the rows of the tiles follow each other
	IMULQ CX, AX
apart:
	ADDQ AX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	GEMM_PANELNEXT(7, panel, end)
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAVX512_14x16, for the last columns of a matrix that are half a panel or fewer

// GEMM_NARROWr is one inner index for r rows, one multiply-add each, with the pointers of GEMM_STEPr;
// row i is accumulated in Z(4+i).
#define GEMM_NARROW1 \
	VMOVUPS (BX), Z0 \
	VFMADD231PS.BCST (R8), Z0, Z4

#define GEMM_NARROW2 GEMM_NARROW1; VFMADD231PS.BCST (R8)(R10*1), Z0, Z5
#define GEMM_NARROW3 GEMM_NARROW2; VFMADD231PS.BCST (R8)(R10*2), Z0, Z6
#define GEMM_NARROW4 GEMM_NARROW3; VFMADD231PS.BCST (R8)(R9*1), Z0, Z7
#define GEMM_NARROW5 GEMM_NARROW4; VFMADD231PS.BCST (R8)(R10*4), Z0, Z8
#define GEMM_NARROW6 GEMM_NARROW5; VFMADD231PS.BCST (SI), Z0, Z9
#define GEMM_NARROW7 GEMM_NARROW6; VFMADD231PS.BCST (SI)(R10*1), Z0, Z10
#define GEMM_NARROW8 GEMM_NARROW7; VFMADD231PS.BCST (SI)(R10*2), Z0, Z11
#define GEMM_NARROW9 GEMM_NARROW8; VFMADD231PS.BCST (SI)(R9*1), Z0, Z12
#define GEMM_NARROW10 GEMM_NARROW9; VFMADD231PS.BCST (SI)(R10*4), Z0, Z13
#define GEMM_NARROW11 GEMM_NARROW10; VFMADD231PS.BCST (DX), Z0, Z14
#define GEMM_NARROW12 GEMM_NARROW11; VFMADD231PS.BCST (DX)(R10*1), Z0, Z15
#define GEMM_NARROW13 GEMM_NARROW12; VFMADD231PS.BCST (DX)(R10*2), Z0, Z16
#define GEMM_NARROW14 GEMM_NARROW13; VFMADD231PS.BCST (DX)(R9*1), Z0, Z17

// What GEMM_NARROWROWS does with the accumulators of a tile, from the first row on: clear, load, store.
// K1 selects the columns.
#define GEMM_NARROWZERO(row, c) \
	VPXORD c, c, c

#define GEMM_NARROWLOAD(row, c) \
	CMPQ AX, $row         \
	JLE  start            \
	VMOVUPS.Z (DI), K1, c \
	ADDQ R13, DI

#define GEMM_NARROWSTORE(row, c) \
	CMPQ CX, $row       \
	JLE  done           \
	VMOVUPS c, K1, (DI) \
	ADDQ R13, DI

// The accumulators of a tile, from the first row on.
#define GEMM_NARROWROWS(each) \
	each(0, Z4)   \
	each(1, Z5)   \
	each(2, Z6)   \
	each(3, Z7)   \
	each(4, Z8)   \
	each(5, Z9)   \
	each(6, Z10)  \
	each(7, Z11)  \
	each(8, Z12)  \
	each(9, Z13)  \
	each(10, Z14) \
	each(11, Z15) \
	each(12, Z16) \
	each(13, Z17)

// func sgemmAVX512_14x16(args *panelArgs)
//
// cols, 1 to 16, is the number of columns; 16 of B are read, cols of C are touched. Tile: up to 14 x 16;
// arguments as in sgemmAVX512_14x32, of which a, c,
// tiles and tall are advanced in place from tile to tile.
//
// R8, SI, DX rows 0, 5, 10 of A, R10 bytes from row to row, R9 three times that, R11 from p to p+1
// BX, R12 B[p] and bytes from p to p+1   DI rows of the tile, then row of C, R13 bytes from row to row
// CX inner indices left   R15, AX prefetch address and step   K1 columns
TEXT ·sgemmAVX512_14x16(SB), NOSPLIT, $312-8
	MOVQ args+0(FP), CX
	GEMM_COPYARGUMENTS
	MOVQ GEMM_ARG_ARS, R10
	MOVQ GEMM_ARG_ACS, R11
	MOVQ GEMM_ARG_BRS, R12
	MOVQ GEMM_ARG_CRS, R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	SHLQ $2, R13
	LEAQ (R10)(R10*2), R9
	MOVQ GEMM_ARG_NEXT, R15
	MOVQ GEMM_ARG_COLS, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
tile:
	MOVQ GEMM_ARG_K, CX
	MOVQ GEMM_ARG_A, R8
	MOVQ GEMM_ARG_B, BX
	MOVQ GEMM_ARG_C, DI
	GEMM_TILEROWS(GEMM_ARG_ROWS, GEMM_ARG_TALL, AX, even)
	GEMM_NARROWROWS(GEMM_NARROWZERO)
	CMPB GEMM_ARG_ACC, $0
	JEQ  start
	GEMM_NARROWROWS(GEMM_NARROWLOAD)
start:
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	LEAQ (SI)(R10*4), DX
	ADDQ R10, DX
	MOVQ AX, DI              // rows
	MOVQ GEMM_ARG_STEP, AX
	GEMM_BYROWS(DI, rows2, rows3, rows4, rows5, rows6, rows7, rows8, rows9, rows10, rows11, rows12, rows13, rows14)
	GEMM_LOOP(GEMM_NARROW1, two1, twotest1, odd1)
rows2:	GEMM_LOOP(GEMM_NARROW2, two2, twotest2, odd2)
rows3:	GEMM_LOOP(GEMM_NARROW3, two3, twotest3, odd3)
rows4:	GEMM_LOOP(GEMM_NARROW4, two4, twotest4, odd4)
rows5:	GEMM_LOOP(GEMM_NARROW5, two5, twotest5, odd5)
rows6:	GEMM_LOOP(GEMM_NARROW6, two6, twotest6, odd6)
rows7:	GEMM_LOOP(GEMM_NARROW7, two7, twotest7, odd7)
rows8:	GEMM_LOOP(GEMM_NARROW8, two8, twotest8, odd8)
rows9:	GEMM_LOOP(GEMM_NARROW9, two9, twotest9, odd9)
rows10:	GEMM_LOOP(GEMM_NARROW10, two10, twotest10, odd10)
rows11:	GEMM_LOOP(GEMM_NARROW11, two11, twotest11, odd11)
rows12:	GEMM_LOOP(GEMM_NARROW12, two12, twotest12, odd12)
rows13:	GEMM_LOOP(GEMM_NARROW13, two13, twotest13, odd13)
rows14:	GEMM_LOOP(GEMM_NARROW14, two14, twotest14, odd14)

store:
	MOVQ DI, CX
	MOVQ GEMM_ARG_C, DI
	GEMM_NARROWROWS(GEMM_NARROWSTORE)
done:
	MOVQ DI, GEMM_ARG_C
	MOVQ GEMM_ARG_TILESTRIDE, AX
	SHLQ $2, AX
	JNE  apart
	MOVQ R10, AX             // the rows of the tiles follow each other
	IMULQ CX, AX
apart:
	ADDQ AX, GEMM_ARG_A
	SUBQ $1, GEMM_ARG_TILES
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAtAVX512_14x32

// GEMM_LOOPAT is the loop over the inner index when the rows of B and the columns of A lie anywhere: R15 walks
// along the places of B, R12 along the steps of A, AX is the start of B. It goes on at the label store of the
// function.
#define GEMM_LOOPAT(step, one, test) \
	JMP  test           \
one: \
	MOVLQSX (R15), BX          \ // at[p]
	MOVLQSX (R12), R11         \
	ADDQ $4, R15               \
	ADDQ GEMM_ARG_STEPSBY, R12 \
	LEAQ (AX)(BX*4), BX        \ // B[at[p]]
	step                       \
	LEAQ (R8)(R11*4), R8       \
	LEAQ (SI)(R11*4), SI       \
	LEAQ (DX)(R11*4), DX       \
test: \
	SUBQ $1, CX                \
	JGE  one                   \
	JMP  store

// func sgemmAtAVX512_14x32(args *panelArgs)
//
// Tile: up to 14 x 32, registers as in sgemmAVX512_14x32, but R15 and R12 are the next elements of at
// and steps, and AX is the start of B. The frame is that of gemm_panel_amd64.h.
TEXT ·sgemmAtAVX512_14x32(SB), NOSPLIT, $312-8
	MOVQ args+0(FP), CX
	GEMM_COPYARGUMENTS
	MOVQ GEMM_ARG_ARS, R10
	MOVQ GEMM_ARG_CRS, R13
	SHLQ $2, R10
	SHLQ $2, R13
	LEAQ (R10)(R10*2), R9
panel:
	GEMM_PANELBEGIN
tile:
	MOVQ GEMM_ARG_K, CX
	MOVQ aHere-8(SP), R8
	MOVQ GEMM_ARG_AT, R15
	MOVQ GEMM_ARG_STEPS, R12
	MOVQ cHere-16(SP), DI
	GEMM_TILEROWS(GEMM_ARG_ROWS, tallLeft-32(SP), AX, even)
	MOVBQZX GEMM_ARG_ACC, DX
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	GEMM_ZERO
	TESTQ DX, DX
	JEQ  below
	GEMM_LOAD
below:
	LEAQ (SI)(R10*4), DX
	ADDQ R10, DX
	MOVQ AX, DI              // rows
	MOVQ GEMM_ARG_B, AX
	GEMM_BYROWS(DI, rows2, rows3, rows4, rows5, rows6, rows7, rows8, rows9, rows10, rows11, rows12, rows13, rows14)
	GEMM_LOOPAT(GEMM_STEP1, one1, test1)
rows2:	GEMM_LOOPAT(GEMM_STEP2, one2, test2)
rows3:	GEMM_LOOPAT(GEMM_STEP3, one3, test3)
rows4:	GEMM_LOOPAT(GEMM_STEP4, one4, test4)
rows5:	GEMM_LOOPAT(GEMM_STEP5, one5, test5)
rows6:	GEMM_LOOPAT(GEMM_STEP6, one6, test6)
rows7:	GEMM_LOOPAT(GEMM_STEP7, one7, test7)
rows8:	GEMM_LOOPAT(GEMM_STEP8, one8, test8)
rows9:	GEMM_LOOPAT(GEMM_STEP9, one9, test9)
rows10:	GEMM_LOOPAT(GEMM_STEP10, one10, test10)
rows11:	GEMM_LOOPAT(GEMM_STEP11, one11, test11)
rows12:	GEMM_LOOPAT(GEMM_STEP12, one12, test12)
rows13:	GEMM_LOOPAT(GEMM_STEP13, one13, test13)
rows14:	GEMM_LOOPAT(GEMM_STEP14, one14, test14)

store:
	MOVQ DI, CX
	MOVQ cHere-16(SP), DI
	GEMM_STORE
done:
	MOVQ DI, cHere-16(SP)
	IMULQ R10, CX
	ADDQ CX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	GEMM_PANELNEXTAT(128, panel)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Transposition

// TRANSPOSE_STORE stores one column of eight rows as a row of dst, if it exists: BX columns left, DX the
// row, R8 bytes to the next. After the last it goes on at the label block of the function.
#define TRANSPOSE_STORE(low, high, imm) \
	VPERM2F128 imm, high, low, Y8 \
	VMOVUPS Y8, K2, (DX)          \
	ADDQ R8, DX                   \
	DECQ BX                       \
	JEQ  block

// func transposeAVX512(dst []float32, ds int, src []float32, ss, rows, cols int)
//
// rows and cols are above 0. Tile: 16 x 4 for twelve rows and more, then 8 x 8.
//
// DI dst of these rows, R8 bytes from row to row   SI src of these rows, R9 bytes from row to row, R11
// three times that   R10 rows left   R12, DX src and dst of the current columns, R13 columns left
TEXT ·transposeAVX512(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ ss+56(FP), R9
	MOVQ rows+64(FP), R10
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R11

	CMPQ cols+72(FP), $4
	JLT  eight
sixteen:
	CMPQ R10, $12
	JLT  eight
	MOVL $0xFFF, CX          // of 12 to 15 rows twelve are stored at once,
	LEAQ -4(R10), AX
	LEAQ (DI)(AX*4), DX      // and then the last four, some of them for the second time
	CMPQ R10, $16
	JLT  fewer
	MOVL $0xFFFF, CX
	MOVL $12, AX
	XORL DX, DX
fewer:
	KMOVW CX, K1
	IMULQ R9, AX
	LEAQ (SI)(AX*1), R15     // the last four rows
	MOVQ SI, BX              // the first four
	LEAQ (SI)(R9*4), R12
	LEAQ (SI)(R9*8), R13
	MOVQ DI, AX
	MOVQ cols+72(FP), CX     // columns left
four:
	// Four columns of rows 0, 4, 8 and 12 in the four parts of a register, and so on.
	TRANSPOSE_LOADROWS(BX, X0, X1, X2, X3)
	VINSERTF32X4 $1, (R12), Z0, Z0
	VINSERTF32X4 $1, (R12)(R9*1), Z1, Z1
	VINSERTF32X4 $1, (R12)(R9*2), Z2, Z2
	VINSERTF32X4 $1, (R12)(R11*1), Z3, Z3
	VINSERTF32X4 $2, (R13), Z0, Z0
	VINSERTF32X4 $2, (R13)(R9*1), Z1, Z1
	VINSERTF32X4 $2, (R13)(R9*2), Z2, Z2
	VINSERTF32X4 $2, (R13)(R11*1), Z3, Z3
	VINSERTF32X4 $3, (R15), Z0, Z0
	VINSERTF32X4 $3, (R15)(R9*1), Z1, Z1
	VINSERTF32X4 $3, (R15)(R9*2), Z2, Z2
	VINSERTF32X4 $3, (R15)(R11*1), Z3, Z3
	TRANSPOSE_PAIRS(Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	TRANSPOSE_QUADS(Z4, Z5, Z6, Z7, Z0, Z1, Z2, Z3)
	VMOVUPS Z0, K1, (AX)
	ADDQ R8, AX
	VMOVUPS Z1, K1, (AX)
	ADDQ R8, AX
	VMOVUPS Z2, K1, (AX)
	ADDQ R8, AX
	VMOVUPS Z3, K1, (AX)
	ADDQ R8, AX
	TESTQ DX, DX
	JEQ  whole
	VEXTRACTF32X4 $3, Z0, (DX)
	ADDQ R8, DX
	VEXTRACTF32X4 $3, Z1, (DX)
	ADDQ R8, DX
	VEXTRACTF32X4 $3, Z2, (DX)
	ADDQ R8, DX
	VEXTRACTF32X4 $3, Z3, (DX)
	ADDQ R8, DX
whole:
	ADDQ $16, BX
	ADDQ $16, R12
	ADDQ $16, R13
	ADDQ $16, R15
	SUBQ $4, CX
	JEQ  stored
	CMPQ CX, $4
	JGE  four
	SUBQ $4, CX              // the last four columns, some of them for the second time
	LEAQ (BX)(CX*4), BX
	LEAQ (R12)(CX*4), R12
	LEAQ (R13)(CX*4), R13
	LEAQ (R15)(CX*4), R15
	IMULQ R8, CX
	ADDQ CX, AX
	TESTQ DX, DX
	JEQ  back
	ADDQ CX, DX
back:
	MOVL $4, CX
	JMP  four
stored:
	LEAQ (SI)(R9*8), SI
	LEAQ (SI)(R9*8), SI
	ADDQ $64, DI
	SUBQ $16, R10
	JGT  sixteen
	VZEROUPPER
	RET
eight:
	MOVQ SI, R12             // of these rows
	MOVQ DI, DX
	MOVQ cols+72(FP), R13    // columns left
	MOVL $8, CX
	CMPQ R10, CX
	CMOVQLT R10, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K2             // rows that are there
columns:
	MOVL $8, BX
	CMPQ R13, BX
	CMOVQLT R13, BX
	MOVQ BX, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
	MOVQ R12, CX
	LEAQ (R12)(R9*4), R15
	VMOVUPS.Z (CX), K1, Y0
	CMPQ R10, $8
	JLT  some
	VMOVUPS.Z (CX)(R9*1), K1, Y1
	VMOVUPS.Z (CX)(R9*2), K1, Y2
	VMOVUPS.Z (CX)(R11*1), K1, Y3
	VMOVUPS.Z (R15), K1, Y4
	VMOVUPS.Z (R15)(R9*1), K1, Y5
	VMOVUPS.Z (R15)(R9*2), K1, Y6
	VMOVUPS.Z (R15)(R11*1), K1, Y7
	JMP  loaded
some:
	CMPQ R10, $2
	JLT  loaded
	VMOVUPS.Z (CX)(R9*1), K1, Y1
	CMPQ R10, $3
	JLT  loaded
	VMOVUPS.Z (CX)(R9*2), K1, Y2
	CMPQ R10, $4
	JLT  loaded
	VMOVUPS.Z (CX)(R11*1), K1, Y3
	CMPQ R10, $5
	JLT  loaded
	VMOVUPS.Z (R15), K1, Y4
	CMPQ R10, $6
	JLT  loaded
	VMOVUPS.Z (R15)(R9*1), K1, Y5
	CMPQ R10, $7
	JLT  loaded
	VMOVUPS.Z (R15)(R9*2), K1, Y6
loaded:
	TRANSPOSE_PAIRS(Y0, Y1, Y2, Y3, Y8, Y9, Y10, Y11)
	TRANSPOSE_PAIRS(Y4, Y5, Y6, Y7, Y12, Y13, Y14, Y15)
	TRANSPOSE_QUADS(Y8, Y9, Y10, Y11, Y0, Y1, Y2, Y3) // columns 0 and 4, ... 3 and 7 of rows 0 to 3
	TRANSPOSE_QUADS(Y12, Y13, Y14, Y15, Y4, Y5, Y6, Y7) // and of rows 4 to 7
	TRANSPOSE_STORE(Y0, Y4, $0x20)
	TRANSPOSE_STORE(Y1, Y5, $0x20)
	TRANSPOSE_STORE(Y2, Y6, $0x20)
	TRANSPOSE_STORE(Y3, Y7, $0x20)
	TRANSPOSE_STORE(Y0, Y4, $0x31)
	TRANSPOSE_STORE(Y1, Y5, $0x31)
	TRANSPOSE_STORE(Y2, Y6, $0x31)
	TRANSPOSE_STORE(Y3, Y7, $0x31)
block:
	ADDQ $32, R12
	SUBQ $8, R13
	JGT  columns
	LEAQ (SI)(R9*8), SI
	ADDQ $32, DI
	SUBQ $8, R10
	JGT  eight
	VZEROUPPER
	RET
