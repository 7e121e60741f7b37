//go:build amd64 && !purego && !noasm

#include "few_amd64.h"
#include "go_asm.h"
#include "panels_amd64.h"
#include "textflag.h"
#include "triangle_amd64.h"

// AVX-512 (F, DQ, BW, VL). The sixteen lanes of a reduction are one register, and tails
// are masked: a masked load reads nothing and a masked store writes nothing outside. As
// in asm_amd64.s, R14 and SP are left alone and every function ends with VZEROUPPER. The
// constants are those of asm_amd64.s, of which one copy is broadcast.

// ---------------------------------------------------------------------------------
// sgemmAVX512_14x32

// One row of the tile at one inner index: broadcast an element of A, multiply it with
// 32 elements of B (Z0, Z1), add to the row's two accumulators.
#define ROW(a, t, c0, c1) \
	VBROADCASTSS a, t      \
	VFMADD231PS  Z0, t, c0 \
	VFMADD231PS  Z1, t, c1

#define STEP1 \
	LOADB \
	ROW((R8), Z2, Z4, Z5)
#define STEP2 STEP1 \
	ROW((R8)(R10*1), Z3, Z6, Z7)
#define STEP3 STEP2 \
	ROW((R8)(R10*2), Z2, Z8, Z9)
#define STEP4 STEP3 \
	ROW((R8)(R9*1), Z3, Z10, Z11)
#define STEP5 STEP4 \
	ROW((R8)(R10*4), Z2, Z12, Z13)
#define STEP6 STEP5 \
	ROW((SI), Z3, Z14, Z15)
#define STEP7 STEP6 \
	ROW((SI)(R10*1), Z2, Z16, Z17)
#define STEP8 STEP7 \
	ROW((SI)(R10*2), Z3, Z18, Z19)
#define STEP9 STEP8 \
	ROW((SI)(R9*1), Z2, Z20, Z21)
#define STEP10 STEP9 \
	ROW((SI)(R10*4), Z3, Z22, Z23)
#define STEP11 STEP10 \
	ROW((DX), Z2, Z24, Z25)
#define STEP12 STEP11 \
	ROW((DX)(R10*1), Z3, Z26, Z27)
#define STEP13 STEP12 \
	ROW((DX)(R10*2), Z2, Z28, Z29)
#define STEP14 STEP13 \
	ROW((DX)(R9*1), Z3, Z30, Z31)

// R8, SI, DX: rows 0, 5 and 10 of A. R10: distance of rows, R9: three times that. R11:
// distance of inner indices in A, R12 in B (BX).
#define NEXT \
	ADDQ R11, R8 \
	ADDQ R11, SI \
	ADDQ R11, DX \
	ADDQ R12, BX

// Without an index register a multiply-add can broadcast for itself and is not split in two. That
// takes an instruction less a row, and a load more. A few rows do it, for instructions decide where
// another thread runs on the same core. With every second row Golden Cove lost a twentieth wherever
// the rows of A begin at the same place of their cache lines.
#define TWICE(a, c0, c1) \
	VFMADD231PS.BCST a, Z0, c0 \
	VFMADD231PS.BCST a, Z1, c1

// The loads of B: of a row at BX, or anywhere in B (AX).
#define LOADB \
	VMOVUPS (BX), Z0   \
	VMOVUPS 64(BX), Z1

#define LOADAT \
	VMOVUPS (AX)(BX*4), Z0   \
	VMOVUPS 64(AX)(BX*4), Z1

#define COLUMN1(load) \
	load \
	ROW((R8), Z2, Z4, Z5)
#define COLUMN2(load) COLUMN1(load) \
	ROW(4(R8), Z3, Z6, Z7)
#define COLUMN3(load) COLUMN2(load) \
	TWICE(8(R8), Z8, Z9)
#define COLUMN4(load) COLUMN3(load) \
	ROW(12(R8), Z2, Z10, Z11)
#define COLUMN5(load) COLUMN4(load) \
	ROW(16(R8), Z3, Z12, Z13)
#define COLUMN6(load) COLUMN5(load) \
	ROW(20(R8), Z2, Z14, Z15)
#define COLUMN7(load) COLUMN6(load) \
	TWICE(24(R8), Z16, Z17)
#define COLUMN8(load) COLUMN7(load) \
	ROW(28(R8), Z3, Z18, Z19)
#define COLUMN9(load) COLUMN8(load) \
	ROW(32(R8), Z2, Z20, Z21)
#define COLUMN10(load) COLUMN9(load) \
	ROW(36(R8), Z3, Z22, Z23)
#define COLUMN11(load) COLUMN10(load) \
	TWICE(40(R8), Z24, Z25)
#define COLUMN12(load) COLUMN11(load) \
	ROW(44(R8), Z2, Z26, Z27)
#define COLUMN13(load) COLUMN12(load) \
	ROW(48(R8), Z3, Z28, Z29)
#define COLUMN14(load) COLUMN13(load) \
	ROW(52(R8), Z2, Z30, Z31)

#define NEXTCOLUMN \
	ADDQ R11, R8 \
	ADDQ R12, BX

// Fetches a line of the panel of B that comes next: R15 walks along it in steps of AX, which is
// 0 where there is nothing to fetch.
#define FETCHNEXT \
	PREFETCHT1 (R15) \
	ADDQ  AX, R15

// The loop over the inner index, two at a time, then the odd one.
#define LOOP(step, next, two, twotest, odd) \
	JMP   twotest \
two: \
	FETCHNEXT \
	step  \
	next  \
	step  \
	next  \
twotest: \
	SUBQ  $2, CX   \
	JGE   two      \
	ADDQ  $2, CX   \
	JEQ   odd      \
	step           \
odd: \
	JMP   store

// Inner index n from where the pointers are, of rows of A and B whose inner indices are beside
// each other: R8, SI, DX, R11, R12, R13 and DI point to every second row of A.
#define DENSE1(n) \
	VMOVUPS (128*n)(BX), Z0    \
	VMOVUPS (128*n+64)(BX), Z1 \
	ROW((4*n)(R8), Z2, Z4, Z5)
#define DENSE2(n) DENSE1(n) \
	ROW((4*n)(R8)(R10*1), Z3, Z6, Z7)
#define DENSE3(n) DENSE2(n) \
	TWICE((4*n)(SI), Z8, Z9)
#define DENSE4(n) DENSE3(n) \
	ROW((4*n)(SI)(R10*1), Z2, Z10, Z11)
#define DENSE5(n) DENSE4(n) \
	ROW((4*n)(DX), Z3, Z12, Z13)
#define DENSE6(n) DENSE5(n) \
	ROW((4*n)(DX)(R10*1), Z2, Z14, Z15)
#define DENSE7(n) DENSE6(n) \
	TWICE((4*n)(R11), Z16, Z17)
#define DENSE8(n) DENSE7(n) \
	ROW((4*n)(R11)(R10*1), Z3, Z18, Z19)
#define DENSE9(n) DENSE8(n) \
	ROW((4*n)(R12), Z2, Z20, Z21)
#define DENSE10(n) DENSE9(n) \
	ROW((4*n)(R12)(R10*1), Z3, Z22, Z23)
#define DENSE11(n) DENSE10(n) \
	TWICE((4*n)(R13), Z24, Z25)
#define DENSE12(n) DENSE11(n) \
	ROW((4*n)(R13)(R10*1), Z2, Z26, Z27)
#define DENSE13(n) DENSE12(n) \
	ROW((4*n)(DI), Z3, Z28, Z29)
#define DENSE14(n) DENSE13(n) \
	ROW((4*n)(DI)(R10*1), Z2, Z30, Z31)

#define NEXTDENSE(n) \
	ADDQ $(4*n), R8 \
	ADDQ $(4*n), SI \
	ADDQ $(4*n), DX \
	ADDQ $(4*n), R11 \
	ADDQ $(4*n), R12 \
	ADDQ $(4*n), R13 \
	ADDQ $(4*n), DI \
	ADDQ $(128*n), BX

// The loop over the inner index for those, four at a time without counting on in between. What it
// fetches are two lines side by side: R15 walks in steps of AX.
#define DENSELOOP(step, four, fourtest, one, onetest) \
	JMP  fourtest \
four: \
	PREFETCHT1 (R15)   \
	step(0)            \
	step(1)            \
	PREFETCHT1 64(R15) \
	ADDQ AX, R15       \
	step(2)            \
	step(3)            \
	NEXTDENSE(4)       \
fourtest: \
	SUBQ $4, CX   \
	JGE  four     \
	ADDQ $4, CX   \
	JMP  onetest  \
one: \
	step(0)      \
	NEXTDENSE(1) \
onetest: \
	SUBQ $1, CX   \
	JGE  one      \
	JMP  densestore

// BYROWS goes on where a tile of so many rows, 1 to 14, is computed: below for a single one.
#define BYROWS(rows, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14) \
	CMPQ rows, $13 \
	JEQ  r13 \
	JGT  r14 \
	CMPQ rows, $11 \
	JEQ  r11 \
	JGT  r12 \
	CMPQ rows, $9 \
	JEQ  r9 \
	JGT  r10 \
	CMPQ rows, $7 \
	JEQ  r7 \
	JGT  r8 \
	CMPQ rows, $5 \
	JEQ  r5 \
	JGT  r6 \
	CMPQ rows, $3 \
	JEQ  r3 \
	JGT  r4 \
	CMPQ rows, $1 \
	JGT  r2

// Old values of a row of C, if the tile has it: DI walks down the rows.
#define OLD(row, c0, c1) \
	CMPQ AX, $row        \
	JLE  below           \
	VMOVUPS (DI), c0     \
	VMOVUPS 64(DI), c1   \
	ADDQ R13, DI

#define STORE(row, c0, c1) \
	CMPQ CX, $row        \
	JLE  done            \
	VMOVUPS c0, (DI)     \
	VMOVUPS c1, 64(DI)   \
	ADDQ R13, DI

// All accumulators of a tile: empty, loaded and stored.
#define ZEROS \
	VPXORD Z4, Z4, Z4 \
	VPXORD Z5, Z5, Z5 \
	VPXORD Z6, Z6, Z6 \
	VPXORD Z7, Z7, Z7 \
	VPXORD Z8, Z8, Z8 \
	VPXORD Z9, Z9, Z9 \
	VPXORD Z10, Z10, Z10 \
	VPXORD Z11, Z11, Z11 \
	VPXORD Z12, Z12, Z12 \
	VPXORD Z13, Z13, Z13 \
	VPXORD Z14, Z14, Z14 \
	VPXORD Z15, Z15, Z15 \
	VPXORD Z16, Z16, Z16 \
	VPXORD Z17, Z17, Z17 \
	VPXORD Z18, Z18, Z18 \
	VPXORD Z19, Z19, Z19 \
	VPXORD Z20, Z20, Z20 \
	VPXORD Z21, Z21, Z21 \
	VPXORD Z22, Z22, Z22 \
	VPXORD Z23, Z23, Z23 \
	VPXORD Z24, Z24, Z24 \
	VPXORD Z25, Z25, Z25 \
	VPXORD Z26, Z26, Z26 \
	VPXORD Z27, Z27, Z27 \
	VPXORD Z28, Z28, Z28 \
	VPXORD Z29, Z29, Z29 \
	VPXORD Z30, Z30, Z30 \
	VPXORD Z31, Z31, Z31

#define OLDS \
	OLD(0, Z4, Z5) \
	OLD(1, Z6, Z7) \
	OLD(2, Z8, Z9) \
	OLD(3, Z10, Z11) \
	OLD(4, Z12, Z13) \
	OLD(5, Z14, Z15) \
	OLD(6, Z16, Z17) \
	OLD(7, Z18, Z19) \
	OLD(8, Z20, Z21) \
	OLD(9, Z22, Z23) \
	OLD(10, Z24, Z25) \
	OLD(11, Z26, Z27) \
	OLD(12, Z28, Z29) \
	OLD(13, Z30, Z31)

#define STORES \
	STORE(0, Z4, Z5) \
	STORE(1, Z6, Z7) \
	STORE(2, Z8, Z9) \
	STORE(3, Z10, Z11) \
	STORE(4, Z12, Z13) \
	STORE(5, Z14, Z15) \
	STORE(6, Z16, Z17) \
	STORE(7, Z18, Z19) \
	STORE(8, Z20, Z21) \
	STORE(9, Z22, Z23) \
	STORE(10, Z24, Z25) \
	STORE(11, Z26, Z27) \
	STORE(12, Z28, Z29) \
	STORE(13, Z30, Z31)

// The locals beside those of panels_amd64.h: held has the number of rows of a tile, inner the inner
// indices that are left when its lines of C have been fetched, and fetched how far next has been.
//
// func sgemmAVX512_14x32(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, tiles, rows, longer int, acc bool, next []float32, step, panels int)
TEXT ·sgemmAVX512_14x32(SB), NOSPLIT, $56-192
	MOVQ ars+32(FP), R10
	MOVQ acs+40(FP), R11
	MOVQ brs+80(FP), R12
	MOVQ crs+112(FP), R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	SHLQ $2, R13
	LEAQ (R10)(R10*2), R9
panel:
	PANELBEGIN(a_base+8(FP), c_base+88(FP), tiles+120(FP), longer+136(FP), next_base+152(FP))
tile:
	MOVQ k+0(FP), CX
	MOVQ aHere-8(SP), R8
	MOVQ b_base+56(FP), BX
	MOVQ cHere-16(SP), DI
	MOVQ rows+128(FP), AX
	CMPQ longerLeft-32(SP), $0
	JLE  even
	SUBQ $1, longerLeft-32(SP)
	ADDQ $1, AX              // the first tiles have one row more
even:
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	ZEROS

	// The lines to be written must be had: those of this tile, or where chains go on from the old
	// values of C, of the one below. Where A is dense they are fetched later.
	CMPB acc+144(FP), $0
	JEQ  fresh
	OLDS
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
	MOVQ step+176(FP), AX
	CMPQ R10, $4
	JEQ  columns
	CMPQ R11, $4
	JNE  strided
	CMPQ R12, $128
	JEQ  dense
strided:
	LEAQ (SI)(R10*4), DX
	ADDQ R10, DX
	BYROWS(DI, rows2, rows3, rows4, rows5, rows6, rows7, rows8, rows9, rows10, rows11, rows12, rows13, rows14)
	LOOP(STEP1, NEXT, two1, twotest1, odd1)
rows2:
	LOOP(STEP2, NEXT, two2, twotest2, odd2)
rows3:
	LOOP(STEP3, NEXT, two3, twotest3, odd3)
rows4:
	LOOP(STEP4, NEXT, two4, twotest4, odd4)
rows5:
	LOOP(STEP5, NEXT, two5, twotest5, odd5)
rows6:
	LOOP(STEP6, NEXT, two6, twotest6, odd6)
rows7:
	LOOP(STEP7, NEXT, two7, twotest7, odd7)
rows8:
	LOOP(STEP8, NEXT, two8, twotest8, odd8)
rows9:
	LOOP(STEP9, NEXT, two9, twotest9, odd9)
rows10:
	LOOP(STEP10, NEXT, two10, twotest10, odd10)
rows11:
	LOOP(STEP11, NEXT, two11, twotest11, odd11)
rows12:
	LOOP(STEP12, NEXT, two12, twotest12, odd12)
rows13:
	LOOP(STEP13, NEXT, two13, twotest13, odd13)
rows14:
	LOOP(STEP14, NEXT, two14, twotest14, odd14)
dense:
	MOVQ DI, held-40(SP)
	MOVQ DI, R9
	ADDQ AX, AX              // a turn of the loop is two steps

	// The first turns fetch the lines of C, a row each: all at once they would hold up the loads,
	// for they come from memory or another cache (2 % at 512 x 512 x 512).
	MOVQ $0, inner-48(SP)
	LEAQ (R9*4), DX
	SUBQ DX, CX
	JLE  few
	MOVQ CX, inner-48(SP)
	MOVQ R15, fetched-56(SP)
	MOVQ cHere-16(SP), R15
	MOVQ R13, AX
	MOVQ DX, CX
	CMPB acc+144(FP), $0
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
	BYROWS(R9, dense2, dense3, dense4, dense5, dense6, dense7, dense8, dense9, dense10, dense11, dense12, dense13, dense14)
	DENSELOOP(DENSE1, four1, fourtest1, one1, onetest1)
dense2:
	DENSELOOP(DENSE2, four2, fourtest2, one2, onetest2)
dense3:
	DENSELOOP(DENSE3, four3, fourtest3, one3, onetest3)
dense4:
	DENSELOOP(DENSE4, four4, fourtest4, one4, onetest4)
dense5:
	DENSELOOP(DENSE5, four5, fourtest5, one5, onetest5)
dense6:
	DENSELOOP(DENSE6, four6, fourtest6, one6, onetest6)
dense7:
	DENSELOOP(DENSE7, four7, fourtest7, one7, onetest7)
dense8:
	DENSELOOP(DENSE8, four8, fourtest8, one8, onetest8)
dense9:
	DENSELOOP(DENSE9, four9, fourtest9, one9, onetest9)
dense10:
	DENSELOOP(DENSE10, four10, fourtest10, one10, onetest10)
dense11:
	DENSELOOP(DENSE11, four11, fourtest11, one11, onetest11)
dense12:
	DENSELOOP(DENSE12, four12, fourtest12, one12, onetest12)
dense13:
	DENSELOOP(DENSE13, four13, fourtest13, one13, onetest13)
dense14:
	DENSELOOP(DENSE14, four14, fourtest14, one14, onetest14)
densestore:
	MOVQ inner-48(SP), CX
	TESTQ CX, CX
	JEQ  densedone
	MOVQ $0, inner-48(SP)
	MOVQ fetched-56(SP), R15
	MOVQ step+176(FP), AX
	ADDQ AX, AX
	JMP  rest
densedone:
	MOVQ held-40(SP), DI
	MOVL $4, R11
	MOVL $128, R12
	MOVQ crs+112(FP), R13
	SHLQ $2, R13
	JMP  store

columns:
	BYROWS(DI, columns2, columns3, columns4, columns5, columns6, columns7, columns8, columns9, columns10, columns11, columns12, columns13, columns14)
	LOOP(COLUMN1(LOADB), NEXTCOLUMN, pair1, pairtest1, single1)
columns2:
	LOOP(COLUMN2(LOADB), NEXTCOLUMN, pair2, pairtest2, single2)
columns3:
	LOOP(COLUMN3(LOADB), NEXTCOLUMN, pair3, pairtest3, single3)
columns4:
	LOOP(COLUMN4(LOADB), NEXTCOLUMN, pair4, pairtest4, single4)
columns5:
	LOOP(COLUMN5(LOADB), NEXTCOLUMN, pair5, pairtest5, single5)
columns6:
	LOOP(COLUMN6(LOADB), NEXTCOLUMN, pair6, pairtest6, single6)
columns7:
	LOOP(COLUMN7(LOADB), NEXTCOLUMN, pair7, pairtest7, single7)
columns8:
	LOOP(COLUMN8(LOADB), NEXTCOLUMN, pair8, pairtest8, single8)
columns9:
	LOOP(COLUMN9(LOADB), NEXTCOLUMN, pair9, pairtest9, single9)
columns10:
	LOOP(COLUMN10(LOADB), NEXTCOLUMN, pair10, pairtest10, single10)
columns11:
	LOOP(COLUMN11(LOADB), NEXTCOLUMN, pair11, pairtest11, single11)
columns12:
	LOOP(COLUMN12(LOADB), NEXTCOLUMN, pair12, pairtest12, single12)
columns13:
	LOOP(COLUMN13(LOADB), NEXTCOLUMN, pair13, pairtest13, single13)
columns14:
	LOOP(COLUMN14(LOADB), NEXTCOLUMN, pair14, pairtest14, single14)

store:
	MOVQ DI, CX
	MOVQ cHere-16(SP), DI
	STORES
done:
	MOVQ DI, cHere-16(SP)
	MOVQ strip+48(FP), AX
	SHLQ $2, AX
	JNE  apart
	MOVQ R10, AX             // the rows of the tiles follow each other
	IMULQ CX, AX
apart:
	ADDQ AX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	PANELNEXT(k+0(FP), b_base+56(FP), c_base+88(FP), next_base+152(FP), panels+184(FP), 7, panel, end)
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAVX512_14x16, for the last columns of a matrix that are half a panel or less

// A row is one multiply-add, which the tile has time to split in two where it takes an index.
#define NARROW1 \
	VMOVUPS (BX), Z0 \
	VFMADD231PS.BCST (R8), Z0, Z4
#define NARROW2 NARROW1 \
	VFMADD231PS.BCST (R8)(R10*1), Z0, Z5
#define NARROW3 NARROW2 \
	VFMADD231PS.BCST (R8)(R10*2), Z0, Z6
#define NARROW4 NARROW3 \
	VFMADD231PS.BCST (R8)(R9*1), Z0, Z7
#define NARROW5 NARROW4 \
	VFMADD231PS.BCST (R8)(R10*4), Z0, Z8
#define NARROW6 NARROW5 \
	VFMADD231PS.BCST (SI), Z0, Z9
#define NARROW7 NARROW6 \
	VFMADD231PS.BCST (SI)(R10*1), Z0, Z10
#define NARROW8 NARROW7 \
	VFMADD231PS.BCST (SI)(R10*2), Z0, Z11
#define NARROW9 NARROW8 \
	VFMADD231PS.BCST (SI)(R9*1), Z0, Z12
#define NARROW10 NARROW9 \
	VFMADD231PS.BCST (SI)(R10*4), Z0, Z13
#define NARROW11 NARROW10 \
	VFMADD231PS.BCST (DX), Z0, Z14
#define NARROW12 NARROW11 \
	VFMADD231PS.BCST (DX)(R10*1), Z0, Z15
#define NARROW13 NARROW12 \
	VFMADD231PS.BCST (DX)(R10*2), Z0, Z16
#define NARROW14 NARROW13 \
	VFMADD231PS.BCST (DX)(R9*1), Z0, Z17

#define NARROWZERO(row, c) \
	VPXORD c, c, c

#define NARROWOLD(row, c) \
	CMPQ AX, $row         \
	JLE  start            \
	VMOVUPS.Z (DI), K1, c \
	ADDQ R13, DI

#define NARROWSTORE(row, c) \
	CMPQ CX, $row       \
	JLE  done           \
	VMOVUPS c, K1, (DI) \
	ADDQ R13, DI

// The accumulators of a tile, from the first row on.
#define NARROWROWS(ROW) \
	ROW(0, Z4) \
	ROW(1, Z5) \
	ROW(2, Z6) \
	ROW(3, Z7) \
	ROW(4, Z8) \
	ROW(5, Z9) \
	ROW(6, Z10) \
	ROW(7, Z11) \
	ROW(8, Z12) \
	ROW(9, Z13) \
	ROW(10, Z14) \
	ROW(11, Z15) \
	ROW(12, Z16) \
	ROW(13, Z17)

// The arguments a, c, tiles and longer are counted on from tile to tile.
//
// func sgemmAVX512_14x16(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, cols, tiles, rows, longer int, acc bool, next []float32, step int)
TEXT ·sgemmAVX512_14x16(SB), NOSPLIT, $0-192
	MOVQ ars+32(FP), R10
	MOVQ acs+40(FP), R11
	MOVQ brs+80(FP), R12
	MOVQ crs+112(FP), R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	SHLQ $2, R13
	LEAQ (R10)(R10*2), R9
	MOVQ next_base+160(FP), R15
	MOVQ cols+120(FP), CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
tile:
	MOVQ k+0(FP), CX
	MOVQ a_base+8(FP), R8
	MOVQ b_base+56(FP), BX
	MOVQ c_base+88(FP), DI
	MOVQ rows+136(FP), AX
	CMPQ longer+144(FP), $0
	JLE  even
	SUBQ $1, longer+144(FP)
	ADDQ $1, AX              // the first tiles have one row more
even:
	NARROWROWS(NARROWZERO)
	CMPB acc+152(FP), $0
	JEQ  start
	NARROWROWS(NARROWOLD)
start:
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	LEAQ (SI)(R10*4), DX
	ADDQ R10, DX
	MOVQ AX, DI              // rows
	MOVQ step+184(FP), AX
	BYROWS(DI, rows2, rows3, rows4, rows5, rows6, rows7, rows8, rows9, rows10, rows11, rows12, rows13, rows14)
	LOOP(NARROW1, NEXT, two1, twotest1, odd1)
rows2:
	LOOP(NARROW2, NEXT, two2, twotest2, odd2)
rows3:
	LOOP(NARROW3, NEXT, two3, twotest3, odd3)
rows4:
	LOOP(NARROW4, NEXT, two4, twotest4, odd4)
rows5:
	LOOP(NARROW5, NEXT, two5, twotest5, odd5)
rows6:
	LOOP(NARROW6, NEXT, two6, twotest6, odd6)
rows7:
	LOOP(NARROW7, NEXT, two7, twotest7, odd7)
rows8:
	LOOP(NARROW8, NEXT, two8, twotest8, odd8)
rows9:
	LOOP(NARROW9, NEXT, two9, twotest9, odd9)
rows10:
	LOOP(NARROW10, NEXT, two10, twotest10, odd10)
rows11:
	LOOP(NARROW11, NEXT, two11, twotest11, odd11)
rows12:
	LOOP(NARROW12, NEXT, two12, twotest12, odd12)
rows13:
	LOOP(NARROW13, NEXT, two13, twotest13, odd13)
rows14:
	LOOP(NARROW14, NEXT, two14, twotest14, odd14)

store:
	MOVQ DI, CX
	MOVQ c_base+88(FP), DI
	NARROWROWS(NARROWSTORE)
done:
	MOVQ DI, c_base+88(FP)
	MOVQ strip+48(FP), AX
	SHLQ $2, AX
	JNE  apart
	MOVQ R10, AX             // the rows of the tiles follow each other
	IMULQ CX, AX
apart:
	ADDQ AX, a_base+8(FP)
	SUBQ $1, tiles+128(FP)
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAVX512_6x64

// A row of a tile of 64 columns, of two panels, at an inner index whose row of B is in Z0 to Z3.
#define WIDEROW(a, t, c0, c1, c2, c3) \
	VBROADCASTSS a, t      \
	VFMADD231PS  Z0, t, c0 \
	VFMADD231PS  Z1, t, c1 \
	VFMADD231PS  Z2, t, c2 \
	VFMADD231PS  Z3, t, c3

// The row of B of inner index n from where BX and DX are.
#define WIDEB(n) \
	VMOVUPS (128*n)(BX), Z0    \
	VMOVUPS (128*n+64)(BX), Z1 \
	VMOVUPS (128*n)(DX), Z2    \
	VMOVUPS (128*n+64)(DX), Z3

#define WIDE1(n) \
	WIDEB(n) \
	WIDEROW((4*n)(R8), Z28, Z4, Z5, Z6, Z7)
#define WIDE2(n) WIDE1(n) \
	WIDEROW((4*n)(R8)(R10*1), Z29, Z8, Z9, Z10, Z11)
#define WIDE3(n) WIDE2(n) \
	WIDEROW((4*n)(R8)(R10*2), Z28, Z12, Z13, Z14, Z15)
#define WIDE4(n) WIDE3(n) \
	WIDEROW((4*n)(R8)(R9*1), Z29, Z16, Z17, Z18, Z19)
#define WIDE5(n) WIDE4(n) \
	WIDEROW((4*n)(R8)(R10*4), Z28, Z20, Z21, Z22, Z23)
#define WIDE6(n) WIDE5(n) \
	WIDEROW((4*n)(SI), Z29, Z24, Z25, Z26, Z27)

// The loop over the inner index up to the last four, four at a time, then one at a time, of R13
// rows. R8 and SI are rows 0 and 5 of A, BX and DX the panels.
#define WIDELOOP(step, four, fourtest, one) \
	JMP   fourtest \
four: \
	FETCHNEXT \
	step(0)   \
	step(1)   \
	FETCHNEXT \
	step(2)   \
	step(3)   \
	ADDQ  $16, R8  \
	ADDQ  $16, SI  \
	ADDQ  $512, BX \
	ADDQ  $512, DX \
fourtest: \
	SUBQ  $4, CX   \
	JGE   four     \
	ADDQ  $4, CX   \
	JEQ   store    \
one: \
	step(0)        \
	ADDQ  $4, R8   \
	ADDQ  $4, SI   \
	ADDQ  $128, BX \
	ADDQ  $128, DX \
	SUBQ  $1, CX   \
	JNE   one      \
	JMP   store

// The loop for the rows that a tile has.
#define WIDELOOPS \
	CMPQ R13, $5 \
	JEQ  wide5 \
	JGT  wide6 \
	CMPQ R13, $3 \
	JEQ  wide3 \
	JGT  wide4 \
	CMPQ R13, $1 \
	JGT  wide2 \
	WIDELOOP(WIDE1, four1, fourtest1, one1) \
wide2: \
	WIDELOOP(WIDE2, four2, fourtest2, one2) \
wide3: \
	WIDELOOP(WIDE3, four3, fourtest3, one3) \
wide4: \
	WIDELOOP(WIDE4, four4, fourtest4, one4) \
wide5: \
	WIDELOOP(WIDE5, four5, fourtest5, one5) \
wide6: \
	WIDELOOP(WIDE6, four6, fourtest6, one6)

// Old values of a row of C, and new ones: DI walks down the rows, AX apart.
#define WIDEOLD(row, c0, c1, c2, c3) \
	CMPQ R13, $row       \
	JLE  start           \
	VMOVUPS (DI), c0     \
	VMOVUPS 64(DI), c1   \
	VMOVUPS 128(DI), c2  \
	VMOVUPS 192(DI), c3  \
	ADDQ AX, DI

#define WIDESTORE(row, c0, c1, c2, c3) \
	VMOVUPS c0, (DI)     \
	VMOVUPS c1, 64(DI)   \
	VMOVUPS c2, 128(DI)  \
	VMOVUPS c3, 192(DI)  \
	ADDQ AX, DI

// The last four inner indices of two rows, or of one.
#define LASTOF2(n, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	WIDEB(n) \
	WIDEROW((4*n)a, Z28, c0, c1, c2, c3) \
	WIDEROW((4*n)b, Z29, d0, d1, d2, d3)
#define LAST2(a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	LASTOF2(0, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	LASTOF2(1, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	LASTOF2(2, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	LASTOF2(3, a, b, c0, c1, c2, c3, d0, d1, d2, d3)
#define LASTOF1(n, a, c0, c1, c2, c3) \
	WIDEB(n) \
	WIDEROW((4*n)a, Z28, c0, c1, c2, c3)
#define LAST1(a, c0, c1, c2, c3) \
	LASTOF1(0, a, c0, c1, c2, c3) \
	LASTOF1(1, a, c0, c1, c2, c3) \
	LASTOF1(2, a, c0, c1, c2, c3) \
	LASTOF1(3, a, c0, c1, c2, c3)

// WIDEEND ends a tile, two rows at a time, and goes on at stored. STORE of a row takes its results
// while the next rows are multiplied: all stores of a tile in a row would fill the scheduler, and
// nothing behind them could begin until the last results are there.
#define WIDEEND(STORE) \
	CMPQ R13, $2 \
	JLT  last0   \
	LAST2((R8), (R8)(R10*1), Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11) \
	STORE(0, Z4, Z5, Z6, Z7)    \
	STORE(1, Z8, Z9, Z10, Z11)  \
	CMPQ R13, $4 \
	JLT  last2   \
	LAST2((R8)(R10*2), (R8)(R9*1), Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19) \
	STORE(2, Z12, Z13, Z14, Z15) \
	STORE(3, Z16, Z17, Z18, Z19) \
	CMPQ R13, $6 \
	JLT  last4   \
	LAST2((R8)(R10*4), (SI), Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27) \
	STORE(4, Z20, Z21, Z22, Z23) \
	STORE(5, Z24, Z25, Z26, Z27) \
	JMP  stored  \
last0: \
	LAST1((R8), Z4, Z5, Z6, Z7) \
	STORE(0, Z4, Z5, Z6, Z7)    \
	JMP  stored  \
last2: \
	CMPQ R13, $2 \
	JEQ  stored  \
	LAST1((R8)(R10*2), Z12, Z13, Z14, Z15) \
	STORE(2, Z12, Z13, Z14, Z15) \
	JMP  stored  \
last4: \
	CMPQ R13, $4 \
	JEQ  stored  \
	LAST1((R8)(R10*4), Z20, Z21, Z22, Z23) \
	STORE(4, Z20, Z21, Z22, Z23)

// The old values of all rows of a tile.
#define WIDEOLDS \
	WIDEOLD(0, Z4, Z5, Z6, Z7) \
	WIDEOLD(1, Z8, Z9, Z10, Z11) \
	WIDEOLD(2, Z12, Z13, Z14, Z15) \
	WIDEOLD(3, Z16, Z17, Z18, Z19) \
	WIDEOLD(4, Z20, Z21, Z22, Z23) \
	WIDEOLD(5, Z24, Z25, Z26, Z27)

// func sgemmAVX512_6x64(k int, a []float32, ars int, b, c []float32, crs, tiles, rows, longer int, acc bool, next []float32, step, pairs int)
TEXT ·sgemmAVX512_6x64(SB), NOSPLIT, $32-168
	MOVQ ars+32(FP), R10
	SHLQ $2, R10
	LEAQ (R10)(R10*2), R9
pair:
	PANELBEGIN(a_base+8(FP), c_base+64(FP), tiles+96(FP), longer+112(FP), next_base+128(FP))
tile:
	MOVQ rows+104(FP), R13
	CMPQ longerLeft-32(SP), $0
	JLE  even
	SUBQ $1, longerLeft-32(SP)
	ADDQ $1, R13             // the first tiles have one row more
even:
	MOVQ aHere-8(SP), R8
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	MOVQ R13, CX
	IMULQ R10, CX
	ADDQ CX, aHere-8(SP)
	MOVQ b_base+40(FP), BX
	MOVQ k+0(FP), CX
	MOVQ CX, DX
	SHLQ $7, DX
	ADDQ BX, DX
	SUBQ $4, CX
	ZEROS
	CMPB acc+120(FP), $0
	JEQ  start
	MOVQ cHere-16(SP), DI
	MOVQ crs+88(FP), AX
	SHLQ $2, AX
	WIDEOLDS
start:
	MOVQ step+152(FP), AX
	WIDELOOPS
store:
	FETCHNEXT
	FETCHNEXT
	MOVQ cHere-16(SP), DI
	MOVQ crs+88(FP), AX
	SHLQ $2, AX
	WIDEEND(WIDESTORE)
stored:
	MOVQ DI, cHere-16(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	PANELNEXT(k+0(FP), b_base+40(FP), c_base+64(FP), next_base+128(FP), pairs+160(FP), 8, pair, end)
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAtAVX512_14x32

// The loop over the inner index with rows of B anywhere: R15 walks along their places,
// AX is the begin of B.
#define LOOPAT(step, one, test) \
	JMP  test \
one: \
	MOVLQSX (R15), BX \
	ADDQ $4, R15      \
	LEAQ (AX)(BX*4), BX \
	step              \
	ADDQ R11, R8      \
	ADDQ R11, SI      \
	ADDQ R11, DX      \
test: \
	SUBQ $1, CX       \
	JGE  one          \
	JMP  store

// The same for rows of A beside each other, two inner indices at a time, then the odd one.
#define LOOPCOLUMNAT(step, two, twotest) \
	JMP  twotest \
two: \
	MOVLQSX (R15), BX  \
	step(LOADAT)       \
	MOVLQSX 4(R15), BX \
	ADDQ R11, R8       \
	ADDQ $8, R15       \
	step(LOADAT)       \
	ADDQ R11, R8       \
twotest: \
	SUBQ $2, CX        \
	JGE  two           \
	ADDQ $2, CX        \
	JEQ  store         \
	MOVLQSX (R15), BX  \
	step(LOADAT)       \
	JMP  store

// The arguments a, c, tiles and longer are counted on from tile to tile.
//
// func sgemmAtAVX512_14x32(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, longer int, acc bool)
TEXT ·sgemmAtAVX512_14x32(SB), NOSPLIT, $0-153
	MOVQ ars+32(FP), R10
	MOVQ acs+40(FP), R11
	MOVQ crs+120(FP), R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R13
	LEAQ (R10)(R10*2), R9
tile:
	MOVQ k+0(FP), CX
	MOVQ a_base+8(FP), R8
	MOVQ at_base+72(FP), R15
	MOVQ c_base+96(FP), DI
	MOVQ rows+136(FP), AX
	CMPQ longer+144(FP), $0
	JLE  even
	SUBQ $1, longer+144(FP)
	ADDQ $1, AX              // the first tiles have one row more
even:
	MOVBQZX acc+152(FP), DX
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	ZEROS
	TESTQ DX, DX
	JEQ  below
	OLDS
below:
	LEAQ (SI)(R10*4), DX
	ADDQ R10, DX
	MOVQ AX, DI              // rows
	MOVQ b_base+48(FP), AX
	CMPQ R10, $4
	JEQ  columns
	BYROWS(DI, rows2, rows3, rows4, rows5, rows6, rows7, rows8, rows9, rows10, rows11, rows12, rows13, rows14)
	LOOPAT(STEP1, one1, test1)
rows2:
	LOOPAT(STEP2, one2, test2)
rows3:
	LOOPAT(STEP3, one3, test3)
rows4:
	LOOPAT(STEP4, one4, test4)
rows5:
	LOOPAT(STEP5, one5, test5)
rows6:
	LOOPAT(STEP6, one6, test6)
rows7:
	LOOPAT(STEP7, one7, test7)
rows8:
	LOOPAT(STEP8, one8, test8)
rows9:
	LOOPAT(STEP9, one9, test9)
rows10:
	LOOPAT(STEP10, one10, test10)
rows11:
	LOOPAT(STEP11, one11, test11)
rows12:
	LOOPAT(STEP12, one12, test12)
rows13:
	LOOPAT(STEP13, one13, test13)
rows14:
	LOOPAT(STEP14, one14, test14)

columns:
	BYROWS(DI, columns2, columns3, columns4, columns5, columns6, columns7, columns8, columns9, columns10, columns11, columns12, columns13, columns14)
	LOOPCOLUMNAT(COLUMN1, two1, twotest1)
columns2:
	LOOPCOLUMNAT(COLUMN2, two2, twotest2)
columns3:
	LOOPCOLUMNAT(COLUMN3, two3, twotest3)
columns4:
	LOOPCOLUMNAT(COLUMN4, two4, twotest4)
columns5:
	LOOPCOLUMNAT(COLUMN5, two5, twotest5)
columns6:
	LOOPCOLUMNAT(COLUMN6, two6, twotest6)
columns7:
	LOOPCOLUMNAT(COLUMN7, two7, twotest7)
columns8:
	LOOPCOLUMNAT(COLUMN8, two8, twotest8)
columns9:
	LOOPCOLUMNAT(COLUMN9, two9, twotest9)
columns10:
	LOOPCOLUMNAT(COLUMN10, two10, twotest10)
columns11:
	LOOPCOLUMNAT(COLUMN11, two11, twotest11)
columns12:
	LOOPCOLUMNAT(COLUMN12, two12, twotest12)
columns13:
	LOOPCOLUMNAT(COLUMN13, two13, twotest13)
columns14:
	LOOPCOLUMNAT(COLUMN14, two14, twotest14)

store:
	MOVQ DI, CX
	MOVQ c_base+96(FP), DI
	STORES
done:
	MOVQ DI, c_base+96(FP)
	IMULQ R10, CX
	ADDQ CX, a_base+8(FP)
	SUBQ $1, tiles+128(FP)
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// fmaPeakAVX512

#define PEAK6(a, b, c, d, e, f) \
	VFMADD231PS Z0, Z1, a \
	VFMADD231PS Z0, Z1, b \
	VFMADD231PS Z0, Z1, c \
	VFMADD231PS Z0, Z1, d \
	VFMADD231PS Z0, Z1, e \
	VFMADD231PS Z0, Z1, f

// func fmaPeakAVX512(rounds int)
TEXT ·fmaPeakAVX512(SB), NOSPLIT, $0-8
	MOVQ rounds+0(FP), CX
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	VPXORD Z12, Z12, Z12
	VPXORD Z13, Z13, Z13
	VPXORD Z14, Z14, Z14
	VPXORD Z15, Z15, Z15
	TESTQ CX, CX
	JLE  done
loop:
	PEAK6(Z4, Z5, Z6, Z7, Z8, Z9)
	PEAK6(Z10, Z11, Z12, Z13, Z14, Z15)
	PEAK6(Z4, Z5, Z6, Z7, Z8, Z9)
	PEAK6(Z10, Z11, Z12, Z13, Z14, Z15)
	DECQ CX
	JNE  loop
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Vectors

// TAILMASK sets K1 to the lowest CX (0 to 15) of sixteen lanes. Changes R8, CX.
#define TAILMASK \
	MOVL  $1, R8 \
	SHLL  CX, R8 \
	DECL  R8     \
	KMOVW R8, K1

// VECTOR runs over CX elements: 16 at a time, then the masked rest (mask in K1). The
// macros load, op and store work at base(AX*4). Uses AX, CX, R8.
#define VECTOR(load, op, store, mload, mstore, l16, rest, end) \
	XORQ AX, AX      \
	SUBQ $16, CX     \
	JLT  rest        \
l16: \
	load             \
	op               \
	store            \
	ADDQ $16, AX     \
	SUBQ $16, CX     \
	JGE  l16         \
rest: \
	ADDQ $16, CX     \
	JEQ  end         \
	TAILMASK         \
	mload            \
	op               \
	mstore           \
end:

// Operands: x at SI, y at DX, destination at DI; values in Z0 (x) and Z1 (y).
#define LOADX VMOVUPS (SI)(AX*4), Z0
#define LOADXY \
	VMOVUPS (SI)(AX*4), Z0 \
	VMOVUPS (DX)(AX*4), Z1
#define STOREZ VMOVUPS Z0, (DI)(AX*4)
#define MLOADX VMOVUPS.Z (SI)(AX*4), K1, Z0
#define MLOADXY \
	VMOVUPS.Z (SI)(AX*4), K1, Z0 \
	VMOVUPS.Z (DX)(AX*4), K1, Z1
#define MSTOREZ VMOVUPS Z0, K1, (DI)(AX*4)

// ---------------------------------------------------------------------------------
// Elementwise kernels

#define OPADD VADDPS Z1, Z0, Z0

// func addAVX512(dst, x, y []float32)
TEXT ·addAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADXY, OPADD, STOREZ, MLOADXY, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

#define OPMUL VMULPS Z1, Z0, Z0

// func multiplyAVX512(dst, x, y []float32)
TEXT ·multiplyAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADXY, OPMUL, STOREZ, MLOADXY, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

#define OPSUB VSUBPS Z1, Z0, Z0

// func subRowsAVX512(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)
TEXT ·subRowsAVX512(SB), NOSPLIT, $0-112
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R10
	MOVQ x_base+32(FP), SI
	MOVQ xs+56(FP), R11
	MOVQ y_base+64(FP), DX
	MOVQ ys+88(FP), R13
	MOVQ rows+96(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R13
	JMP  rowtest
row:
	MOVQ n+104(FP), CX
	VECTOR(LOADXY, OPSUB, STOREZ, MLOADXY, MSTOREZ, l16, rest, end)
	ADDQ R10, DI
	ADDQ R11, SI
	ADDQ R13, DX
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

#define OPAXPY VFMADD231PS Z0, Z14, Z1
#define STOREY VMOVUPS Z1, (DX)(AX*4)
#define MSTOREY VMOVUPS Z1, K1, (DX)(AX*4)

// func axpyAVX512(a float32, x, y []float32)
TEXT ·axpyAVX512(SB), NOSPLIT, $0-56
	VBROADCASTSS a+0(FP), Z14
	MOVQ x_base+8(FP), SI
	MOVQ y_base+32(FP), DX
	MOVQ y_len+40(FP), CX
	VECTOR(LOADXY, OPAXPY, STOREY, MLOADXY, MSTOREY, l16, rest, end)
	VZEROUPPER
	RET

#define OPSCALE VMULPS Z14, Z0, Z0

// func scaleAVX512(dst []float32, a float32, x []float32)
TEXT ·scaleAVX512(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	VBROADCASTSS a+24(FP), Z14
	MOVQ x_base+32(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPSCALE, STOREZ, MLOADX, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

#define OPSHIFT VADDPS Z14, Z0, Z0

// func shiftAVX512(dst []float32, a float32, x []float32)
TEXT ·shiftAVX512(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	VBROADCASTSS a+24(FP), Z14
	MOVQ x_base+32(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPSHIFT, STOREZ, MLOADX, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

// x > 0 ? x : +0: MAXPS gives its second source where the comparison is false.
#define OPRELU VMAXPS Z14, Z0, Z0

// func reluAVX512(dst, x []float32)
TEXT ·reluAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	VPXORD Z14, Z14, Z14
	VECTOR(LOADX, OPRELU, STOREZ, MLOADX, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

// x holds the layer's output, y the gradient: dst = x > 0 ? y : +0.
#define OPRELUBACK \
	VCMPPS    $0x11, Z0, Z14, K2 \
	VMOVAPS.Z Z1, K2, Z0

// func reluBackwardAVX512(dst, x, y []float32)
TEXT ·reluBackwardAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VPXORD Z14, Z14, Z14
	VECTOR(LOADXY, OPRELUBACK, STOREZ, MLOADXY, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

// x: normalised output, y: gradient. dst = rstd*(fma(-c2, x, y - c1)).
#define OPNORMBACK \
	VSUBPS       Z12, Z1, Z1 \
	VFNMADD231PS Z0, Z13, Z1 \
	VMULPS       Z14, Z1, Z0

// func normBackwardAVX512(dst, x, y []float32, c1, c2, rstd float32)
TEXT ·normBackwardAVX512(SB), NOSPLIT, $0-84
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VBROADCASTSS c1+72(FP), Z12
	VBROADCASTSS c2+76(FP), Z13
	VBROADCASTSS rstd+80(FP), Z14
	VECTOR(LOADXY, OPNORMBACK, STOREZ, MLOADXY, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

// p at DI, g at SI, m at DX, v at BX. Coefficients: Z4 clip, Z5 beta1, Z6 1-beta1, Z7
// beta2, Z8 1-beta2, Z9 step, Z10 rbc2, Z11 eps.
#define OPADAM \
	VMULPS       Z4, Z0, Z0    \ // g *= clip
	VMULPS       Z6, Z0, Z12   \
	VFMADD231PS  Z5, Z1, Z12   \ // m = fma(beta1, m, (1-beta1)*g)
	VMULPS       Z0, Z0, Z0    \
	VMULPS       Z8, Z0, Z0    \
	VFMADD231PS  Z7, Z2, Z0    \ // v = fma(beta2, v, (1-beta2)*(g*g))
	VSQRTPS      Z0, Z13       \
	VFMADD213PS  Z11, Z10, Z13 \ // fma(sqrt(v), rbc2, eps)
	VDIVPS       Z13, Z12, Z13 \
	VFNMADD231PS Z9, Z13, Z3     // p = fma(-step, m/den, p)
#define LOADADAM \
	VMOVUPS (SI)(AX*4), Z0 \
	VMOVUPS (DX)(AX*4), Z1 \
	VMOVUPS (BX)(AX*4), Z2 \
	VMOVUPS (DI)(AX*4), Z3
#define STOREADAM \
	VMOVUPS Z12, (DX)(AX*4) \
	VMOVUPS Z0, (BX)(AX*4)  \
	VMOVUPS Z3, (DI)(AX*4)
#define MLOADADAM \
	VMOVUPS.Z (SI)(AX*4), K1, Z0 \
	VMOVUPS.Z (DX)(AX*4), K1, Z1 \
	VMOVUPS.Z (BX)(AX*4), K1, Z2 \
	VMOVUPS.Z (DI)(AX*4), K1, Z3
#define MSTOREADAM \
	VMOVUPS Z12, K1, (DX)(AX*4) \
	VMOVUPS Z0, K1, (BX)(AX*4)  \
	VMOVUPS Z3, K1, (DI)(AX*4)

// func adamAVX512(p, g, m, v []float32, co *AdamCoefficients)
TEXT ·adamAVX512(SB), NOSPLIT, $0-104
	MOVQ p_base+0(FP), DI
	MOVQ g_base+24(FP), SI
	MOVQ m_base+48(FP), DX
	MOVQ v_base+72(FP), BX
	MOVQ p_len+8(FP), CX
	MOVQ co+96(FP), R10
	VBROADCASTSS 0(R10), Z4
	VBROADCASTSS 4(R10), Z5
	VBROADCASTSS 8(R10), Z6
	VBROADCASTSS 12(R10), Z7
	VBROADCASTSS 16(R10), Z8
	VBROADCASTSS 20(R10), Z9
	VBROADCASTSS 24(R10), Z10
	VBROADCASTSS 28(R10), Z11
	VECTOR(LOADADAM, OPADAM, STOREADAM, MLOADADAM, MSTOREADAM, l16, rest, end)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Reductions: sixteen lanes in one register, combined 8 apart, 4, 2, 1.

// TREE reduces Z4 to X4. Changes X5, Y5.
#define TREE \
	VEXTRACTF64X4 $1, Z4, Y5 \
	VADDPS        Y5, Y4, Y4 \
	VEXTRACTF128  $1, Y4, X5 \
	VADDPS        X5, X4, X4 \
	VMOVHLPS      X4, X4, X5 \
	VADDPS        X5, X4, X4 \
	VMOVSHDUP     X4, X5     \
	VADDSS        X5, X4, X4

// TREE4 reduces Z4, Z5, Z6, Z7 to the four elements of X4. Changes Z8, Z9, K2.
#define TREE4 \
	VSHUFF64X2 $0x44, Z5, Z4, Z8 \ // lower halves of rows 0, 1
	VSHUFF64X2 $0xee, Z5, Z4, Z9 \ // upper halves
	VADDPS     Z9, Z8, Z4        \
	VSHUFF64X2 $0x44, Z7, Z6, Z8 \
	VSHUFF64X2 $0xee, Z7, Z6, Z9 \
	VADDPS     Z9, Z8, Z6        \
	VSHUFF64X2 $0x88, Z6, Z4, Z8 \ // lower quarters of rows 0, 1, 2, 3
	VSHUFF64X2 $0xdd, Z6, Z4, Z9 \ // upper ones
	VADDPS     Z9, Z8, Z4        \
	VPERMILPS  $0x4e, Z4, Z8     \
	VADDPS     Z8, Z4, Z4        \
	VPERMILPS  $0xb1, Z4, Z8     \
	VADDPS     Z8, Z4, Z4        \
	VCOMPRESSPS Z4, K2, Z4

// func dotRowsAVX512(dst, x []float32, xs int, y []float32, ys, n int)
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
	TAILMASK                 // K1: the elements of the last block, if it is not whole
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
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ BX, CX
	JMP  fourtest
fourblock:
	VMOVUPS (R8), Z0
	VMOVUPS (R8)(R10*1), Z1
	VMOVUPS (R8)(R10*2), Z2
	VMOVUPS (R8)(R13*1), Z3
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
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R8)(R10*1), K1, Z1
	VMOVUPS.Z (R8)(R10*2), K1, Z2
	VMOVUPS.Z (R8)(R13*1), K1, Z3
	VMOVUPS.Z (R9), K1, Z8
	VMOVUPS.Z (R9)(R11*1), K1, Z9
	VMOVUPS.Z (R9)(R11*2), K1, Z10
	VMOVUPS.Z (R9)(R15*1), K1, Z11
	VFMADD231PS Z8, Z0, Z4
	VFMADD231PS Z9, Z1, Z5
	VFMADD231PS Z10, Z2, Z6
	VFMADD231PS Z11, Z3, Z7
fourtree:
	TREE4
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
	TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	ADDQ R10, SI
	ADDQ R11, DX
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// G and q, and -N P, of few features: tiles as in sgemmAVX512_6x64 whose left operand is made
// on the way

// QUADROW stores a row of G and goes on with its lanes of q, at CX: R11 walks down the rows of D_i.
// K3 is empty at the first pair of panels, which begins the lanes.
#define QUADROW(row, c0, c1, c2, c3) \
	VMOVUPS c0, (DI)             \
	VMOVUPS c1, 64(DI)           \
	VMOVUPS c2, 128(DI)          \
	VMOVUPS c3, 192(DI)          \
	ADDQ AX, DI                  \
	VMOVUPS.Z (64*row)(CX), K3, Z30 \
	VFMADD132PS (R11), Z30, c0   \
	VFMADD132PS 64(R11), c0, c1  \
	VFMADD132PS 128(R11), c1, c2 \
	VFMADD132PS 192(R11), c2, c3 \
	VMOVUPS c3, (64*row)(CX)     \
	ADDQ R10, R11

// ROWDELTA makes 16 columns of a row of D_i of the tile below: DI is the row of x, R13 mu, R11 the
// row of D_i.
#define ROWDELTA(off, x) \
	VMOVUPS off(DI), x      \
	VSUBPS  off(R13), x, x  \
	VMOVUPS x, off(R11)

// FEWLOOP is WIDELOOP with 64 columns of such a row between four inner indices each, CX rows, and
// goes on without them.
#define FEWLOOP(step, xs, others, row, rowtest, other) \
	JMP   rowtest \
row: \
	FETCHNEXT        \
	step(0)          \
	ROWDELTA(0, Z30) \
	step(1)          \
	ROWDELTA(64, Z31) \
	FETCHNEXT        \
	step(2)          \
	ROWDELTA(128, Z30) \
	step(3)          \
	ROWDELTA(192, Z31) \
	ADDQ  $16, R8    \
	ADDQ  $16, SI    \
	ADDQ  $512, BX   \
	ADDQ  $512, DX   \
	ADDQ  xs, DI     \
	ADDQ  R10, R11   \
rowtest: \
	SUBQ  $1, CX     \
	JGE   row        \
	MOVQ  others, CX \
other: \
	FETCHNEXT        \
	step(0)          \
	step(1)          \
	FETCHNEXT        \
	step(2)          \
	step(3)          \
	ADDQ  $16, R8    \
	ADDQ  $16, SI    \
	ADDQ  $512, BX   \
	ADDQ  $512, DX   \
	SUBQ  $1, CX     \
	JNE   other      \
	JMP   store

// One tile after the other through all components. D_i of the tile below is made between the
// multiply-adds: of 64 features it is 24 vectors, which all at once would hold up the first of them.
// The two D_i take turns in work, and behind both are the lanes of q.
//
// func quadFewAVX512(comps int, g []float32, gc, gs int, q []float32, qc int, x []float32, xs int, mu []float32, d int, p []Packed, work []float32, tiles, rows, longer int, next []float32, step int)
TEXT ·quadFewAVX512(SB), NOSPLIT, $192-248
	FEWARGUMENTS(many, fetches)
	MOVQ d+136(FP), R10      // the distance of rows of D_i
	LEAQ (R10)(R10*2), R9
	MOVL $0x1111, R8
	KMOVW R8, K2
	MOVQ work_base+168(FP), R11
	MOVQ R11, current-72(SP)
	LEAQ (R11)(R9*2), R11
	MOVQ R11, below-80(SP)
	LEAQ (R11)(R9*2), R11
	MOVQ R11, lanes-64(SP)

	FIRSTTILE(firstEven)
	XORQ R12, R12            // the first column, in bytes
firstDeltas:
	MOVQ xBelow-152(SP), DI
	ADDQ R12, DI
	MOVQ mu_base+112(FP), R13
	ADDQ R12, R13
	MOVQ current-72(SP), R11
	ADDQ R12, R11
	MOVQ rowsBelow-104(SP), CX
firstDelta:
	ROWDELTA(0, Z0)
	ROWDELTA(64, Z1)
	ROWDELTA(128, Z2)
	ROWDELTA(192, Z3)
	ADDQ xs+104(FP), DI
	ADDQ R10, R11
	SUBQ $1, CX
	JNE  firstDelta
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  firstDeltas

tile:
	NEXTTILE(same, nextComponent, placed, even, known)
	XORQ CX, CX              // rows below, none of the last tile
	CMPQ comps+0(FP), $0
	JEQ  last
	MOVQ rowsBelow-104(SP), CX
last:
	MOVQ CX, with-184(SP)
	MOVQ R10, DX             // inner indices, four at a time, less the last four, and less those rows
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
	MOVQ step+240(FP), AX
	MOVQ xBelow-152(SP), DI
	ADDQ R12, DI
	MOVQ mu_base+112(FP), R13
	ADDQ R12, R13
	MOVQ below-80(SP), R11
	ADDQ R12, R11
	ZEROS
	CMPQ rowsHere-160(SP), $5
	MOVQ with-184(SP), CX
	JEQ  five
	JGT  six
	CMPQ rowsHere-160(SP), $3
	JEQ  three
	JGT  four
	CMPQ rowsHere-160(SP), $1
	JGT  two
	FEWLOOP(WIDE1, xs+104(FP), without-192(SP), row1, rowtest1, other1)
two:
	FEWLOOP(WIDE2, xs+104(FP), without-192(SP), row2, rowtest2, other2)
three:
	FEWLOOP(WIDE3, xs+104(FP), without-192(SP), row3, rowtest3, other3)
four:
	FEWLOOP(WIDE4, xs+104(FP), without-192(SP), row4, rowtest4, other4)
five:
	FEWLOOP(WIDE5, xs+104(FP), without-192(SP), row5, rowtest5, other5)
six:
	FEWLOOP(WIDE6, xs+104(FP), without-192(SP), row6, rowtest6, other6)
store:
	FETCHNEXT
	FETCHNEXT
	MOVQ rowsHere-160(SP), R13
	MOVQ gHere-24(SP), DI
	ADDQ R12, DI
	MOVQ gs+40(FP), AX
	MOVQ current-72(SP), R11
	ADDQ R12, R11
	MOVQ lanes-64(SP), CX
	WIDEEND(QUADROW)
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
	TREE4
	TAILMASK
	VMOVUPS X4, K1, (DI)
	ADDQ $256, DX
	ADDQ $16, DI
	SUBQ $4, CX
	JGT  sum

	MOVQ current-72(SP), R8
	MOVQ below-80(SP), R11
	MOVQ R11, current-72(SP)
	MOVQ R8, below-80(SP)
	CMPQ comps+0(FP), $0
	JNE  tile
	VZEROUPPER
	RET

// TILEPULL makes 16 columns of a row of -N_i: Z20 is -r, Z21 t.
#define TILEPULL(off, mu, x, u) \
	VMOVUPS off(SI), x           \
	VSUBPS  mu, x, x             \
	VMULPS  off(R8), Z20, u      \
	VFNMADD231PS x, Z21, u       \
	VMOVUPS u, off(DI)

// The arguments v, r, u, t, x, tiles and longer are counted on from tile to tile.
//
// func pullFewAVX512(v []float32, vs int, r, u []float32, us int, t, x []float32, xs int, mu, p, work []float32, tiles, rows, longer int, acc bool, next []float32, step int)
TEXT ·pullFewAVX512(SB), NOSPLIT, $0-280
	MOVQ mu_len+152(FP), R10
	SHLQ $2, R10             // the distance of rows of -N_i
	LEAQ (R10)(R10*2), R9
	MOVQ next_base+248(FP), R15
tile:
	MOVQ rows+224(FP), R13
	CMPQ longer+232(FP), $0
	JLE  even
	SUBQ $1, longer+232(FP)
	ADDQ $1, R13             // the first tiles have one row more
even:
	// -N_i of the tile, 64 columns at a time.
	MOVL $0x80000000, AX
	VPBROADCASTD AX, Z3      // sign bits
	VPXORD Z2, Z2, Z2
	XORQ R12, R12            // the first column, in bytes
deltas:
	MOVQ mu_base+144(FP), DX
	VMOVUPS (DX)(R12*1), Z16
	VMOVUPS 64(DX)(R12*1), Z17
	VMOVUPS 128(DX)(R12*1), Z18
	VMOVUPS 192(DX)(R12*1), Z19
	MOVQ x_base+112(FP), SI
	ADDQ R12, SI
	MOVQ u_base+56(FP), R8
	ADDQ R12, R8
	MOVQ work_base+192(FP), DI
	ADDQ R12, DI
	MOVQ r_base+32(FP), BX
	MOVQ t_base+88(FP), DX
	MOVQ R13, CX
delta:
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  zero
	VBROADCASTSS (BX), Z20
	VXORPS Z3, Z20, Z20
	VBROADCASTSS (DX), Z21
	TILEPULL(0, Z16, Z0, Z1)
	TILEPULL(64, Z17, Z4, Z5)
	TILEPULL(128, Z18, Z6, Z7)
	TILEPULL(192, Z19, Z8, Z9)
	JMP  nextrow
zero:
	VMOVUPS Z2, (DI)
	VMOVUPS Z2, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z2, 192(DI)
nextrow:
	MOVQ xs+136(FP), AX
	LEAQ (SI)(AX*4), SI
	MOVQ us+80(FP), AX
	LEAQ (R8)(AX*4), R8
	ADDQ R10, DI
	ADDQ $4, BX
	ADDQ $4, DX
	SUBQ $1, CX
	JNE  delta
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  deltas
	MOVQ BX, r_base+32(FP)
	MOVQ DX, t_base+88(FP)

	MOVQ p_base+168(FP), DX
	XORQ R12, R12
pair:
	ZEROS
	CMPB acc+240(FP), $0
	JEQ  start
	MOVQ v_base+0(FP), DI
	ADDQ R12, DI
	MOVQ vs+24(FP), AX
	SHLQ $2, AX
	WIDEOLDS
start:
	MOVQ work_base+192(FP), R8
	LEAQ (R8)(R10*4), SI
	ADDQ R10, SI
	MOVQ mu_len+152(FP), CX
	SUBQ $4, CX
	MOVQ DX, BX
	MOVQ R10, AX
	SHLQ $5, AX              // a panel, in bytes
	ADDQ AX, DX
	MOVQ step+272(FP), AX
	WIDELOOPS
store:
	FETCHNEXT
	FETCHNEXT
	MOVQ v_base+0(FP), DI
	ADDQ R12, DI
	MOVQ vs+24(FP), AX
	SHLQ $2, AX
	WIDEEND(WIDESTORE)
stored:
	ADDQ $512, DX            // the next pair of panels
	ADDQ $256, R12
	CMPQ R12, R10
	JLT  pair

	LEAQ (R13*4), CX
	MOVQ vs+24(FP), AX
	IMULQ CX, AX
	ADDQ AX, v_base+0(FP)
	MOVQ us+80(FP), AX
	IMULQ CX, AX
	ADDQ AX, u_base+56(FP)
	MOVQ xs+136(FP), AX
	IMULQ CX, AX
	ADDQ AX, x_base+112(FP)
	SUBQ $1, tiles+216(FP)
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// G and q of a single row, for sixteen components beside each other

// WIDECOLUMN is column n, counted from R9, of eight rows: D of the rows is in Z8 to Z15.
#define WIDECOLUMN(n) \
	VMOVUPS (64*n)(DI)(R9*1), Z16 \
	VMOVUPS (64*n)(R8)(R9*1), Z17 \
	WIDETERMS((512*n), Z18, Z19, Z0, Z1, Z8, Z9)     \
	WIDETERMS((512*n+128), Z20, Z21, Z2, Z3, Z10, Z11) \
	WIDETERMS((512*n+256), Z22, Z23, Z4, Z5, Z12, Z13) \
	WIDETERMS((512*n+384), Z24, Z25, Z6, Z7, Z14, Z15) \
	VMOVUPS Z17, (64*n)(R8)(R9*1)

// WIDETERMS is two rows of it, of which those of the column after the next are fetched.
#define WIDETERMS(at, p0, p1, g0, g1, d0, d1) \
	PREFETCHT0 (at+1024)(BX)   \
	PREFETCHT0 (at+1088)(BX)   \
	VMOVUPS (at)(BX), p0       \
	VMOVUPS (at+64)(BX), p1    \
	VFMADD231PS p0, Z16, g0    \
	VFMADD231PS d0, p0, Z17    \
	VFMADD231PS p1, Z16, g1    \
	VFMADD231PS d1, p1, Z17

// WIDEDELTA makes D of row R10 + n.
#define WIDEDELTA(n, d) \
	VBROADCASTSS (4*n)(SI), d      \
	VSUBPS (64*n)(DX)(R10*1), d, d \
	VMOVUPS d, (64*n)(DI)(R10*1)

// func quadSixteensAVX512(n int, g, q, x, mu, p, work []float32)
TEXT ·quadSixteensAVX512(SB), NOSPLIT, $0-152
	MOVQ n+0(FP), CX
	MOVQ g_base+8(FP), R8
	MOVQ q_base+32(FP), R12
	MOVQ x_len+64(FP), R11
	MOVQ mu_base+80(FP), DX
	MOVQ p_base+104(FP), BX
	MOVQ work_base+128(FP), DI
	SHLQ $6, R11
group:
	MOVQ x_base+56(FP), SI
	XORQ R10, R10
rows:
	CLEAR4(Z0, Z1, Z2, Z3)
	CLEAR4(Z4, Z5, Z6, Z7)
	WIDEDELTA(0, Z8)
	WIDEDELTA(1, Z9)
	WIDEDELTA(2, Z10)
	WIDEDELTA(3, Z11)
	WIDEDELTA(4, Z12)
	WIDEDELTA(5, Z13)
	WIDEDELTA(6, Z14)
	WIDEDELTA(7, Z15)
	ADDQ $32, SI
	XORQ R9, R9
	JMP  test
column:
	WIDECOLUMN(0)
	WIDECOLUMN(1)
	ADDQ $1024, BX
	ADDQ $128, R9
test:
	CMPQ R9, R10
	JLT  column
	DIAGONAL8(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z16, Z18, Z19)
	ADDQ $(36*64), BX
	VMOVUPS Z0, (R8)(R10*1)
	VMOVUPS Z1, 64(R8)(R10*1)
	VMOVUPS Z2, 128(R8)(R10*1)
	VMOVUPS Z3, 192(R8)(R10*1)
	VMOVUPS Z4, 256(R8)(R10*1)
	VMOVUPS Z5, 320(R8)(R10*1)
	VMOVUPS Z6, 384(R8)(R10*1)
	VMOVUPS Z7, 448(R8)(R10*1)
	ADDQ $512, R10
	CMPQ R10, R11
	JLT  rows
	DOTS(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, some, others)
	VMOVUPS Z0, (R12)
	ADDQ $64, R12
	ADDQ R11, R8
	ADDQ R11, DX
	SUBQ $1, CX
	JNE  group
	VZEROUPPER
	RET

// func sqdistRowsAVX512(dst, x []float32, xs int, y []float32)
TEXT ·sqdistRowsAVX512(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	MOVQ y_len+64(FP), CX
	ANDQ $15, CX
	TAILMASK
	MOVQ y_len+64(FP), BX
	SHRQ $4, BX
	MOVL $0x1111, R8
	KMOVW R8, K2
	LEAQ (R10)(R10*2), R13
four:
	SUBQ $4, R12
	JLT  single
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ BX, CX
	JMP  fourtest
fourblock:
	VMOVUPS (R9), Z8
	VMOVUPS (R8), Z0
	VMOVUPS (R8)(R10*1), Z1
	VMOVUPS (R8)(R10*2), Z2
	VMOVUPS (R8)(R13*1), Z3
	VSUBPS Z8, Z0, Z0
	VSUBPS Z8, Z1, Z1
	VSUBPS Z8, Z2, Z2
	VSUBPS Z8, Z3, Z3
	VFMADD231PS Z0, Z0, Z4
	VFMADD231PS Z1, Z1, Z5
	VFMADD231PS Z2, Z2, Z6
	VFMADD231PS Z3, Z3, Z7
	ADDQ $64, R8
	ADDQ $64, R9
fourtest:
	SUBQ $1, CX
	JGE  fourblock
	KTESTW K1, K1
	JEQ  fourtree
	VMOVUPS.Z (R9), K1, Z8
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R8)(R10*1), K1, Z1
	VMOVUPS.Z (R8)(R10*2), K1, Z2
	VMOVUPS.Z (R8)(R13*1), K1, Z3
	VSUBPS Z8, Z0, Z0
	VSUBPS Z8, Z1, Z1
	VSUBPS Z8, Z2, Z2
	VSUBPS Z8, Z3, Z3
	VFMADD231PS Z0, Z0, Z4
	VFMADD231PS Z1, Z1, Z5
	VFMADD231PS Z2, Z2, Z6
	VFMADD231PS Z3, Z3, Z7
fourtree:
	TREE4
	VMOVUPS X4, (DI)
	ADDQ $16, DI
	LEAQ (SI)(R10*4), SI
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
	VSUBPS (R9), Z0, Z0
	VFMADD231PS Z0, Z0, Z4
	ADDQ $64, R8
	ADDQ $64, R9
test:
	SUBQ $1, CX
	JGE  block
	KTESTW K1, K1
	JEQ  tree
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R9), K1, Z1
	VSUBPS Z1, Z0, Z0
	VFMADD231PS Z0, Z0, Z4
tree:
	TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	ADDQ R10, SI
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// func quadRowsAVX512(dst, x []float32, xs int, y, w []float32)
TEXT ·quadRowsAVX512(SB), NOSPLIT, $0-104
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ w_base+80(FP), R11
	SUBQ DX, R11 // from y to w
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	MOVQ y_len+64(FP), CX
	ANDQ $15, CX
	TAILMASK
	MOVQ y_len+64(FP), BX
	SHRQ $4, BX
	MOVL $0x1111, R8
	KMOVW R8, K2
	LEAQ (R10)(R10*2), R13
four:
	SUBQ $4, R12
	JLT  single
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ BX, CX
	JMP  fourtest
fourblock:
	VMOVUPS (R9), Z8
	VMOVUPS (R9)(R11*1), Z9
	VMOVUPS (R8), Z0
	VMOVUPS (R8)(R10*1), Z1
	VMOVUPS (R8)(R10*2), Z2
	VMOVUPS (R8)(R13*1), Z3
	VSUBPS Z8, Z0, Z0
	VSUBPS Z8, Z1, Z1
	VSUBPS Z8, Z2, Z2
	VSUBPS Z8, Z3, Z3
	VMULPS Z9, Z0, Z10
	VMULPS Z9, Z1, Z11
	VMULPS Z9, Z2, Z12
	VMULPS Z9, Z3, Z13
	VFMADD231PS Z0, Z10, Z4
	VFMADD231PS Z1, Z11, Z5
	VFMADD231PS Z2, Z12, Z6
	VFMADD231PS Z3, Z13, Z7
	ADDQ $64, R8
	ADDQ $64, R9
fourtest:
	SUBQ $1, CX
	JGE  fourblock
	KTESTW K1, K1
	JEQ  fourtree
	VMOVUPS.Z (R9), K1, Z8
	VMOVUPS.Z (R9)(R11*1), K1, Z9
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R8)(R10*1), K1, Z1
	VMOVUPS.Z (R8)(R10*2), K1, Z2
	VMOVUPS.Z (R8)(R13*1), K1, Z3
	VSUBPS Z8, Z0, Z0
	VSUBPS Z8, Z1, Z1
	VSUBPS Z8, Z2, Z2
	VSUBPS Z8, Z3, Z3
	VMULPS Z9, Z0, Z10
	VMULPS Z9, Z1, Z11
	VMULPS Z9, Z2, Z12
	VMULPS Z9, Z3, Z13
	VFMADD231PS Z0, Z10, Z4
	VFMADD231PS Z1, Z11, Z5
	VFMADD231PS Z2, Z12, Z6
	VFMADD231PS Z3, Z13, Z7
fourtree:
	TREE4
	VMOVUPS X4, (DI)
	ADDQ $16, DI
	LEAQ (SI)(R10*4), SI
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
	VSUBPS (R9), Z0, Z0
	VMULPS (R9)(R11*1), Z0, Z1
	VFMADD231PS Z0, Z1, Z4
	ADDQ $64, R8
	ADDQ $64, R9
test:
	SUBQ $1, CX
	JGE  block
	KTESTW K1, K1
	JEQ  tree
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R9), K1, Z1
	VMOVUPS.Z (R9)(R11*1), K1, Z2
	VSUBPS Z1, Z0, Z0
	VMULPS Z2, Z0, Z1
	VFMADD231PS Z0, Z1, Z4
tree:
	TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	ADDQ R10, SI
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// func sumAVX512(x []float32) float32
TEXT ·sumAVX512(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VPXORD Z4, Z4, Z4
	SUBQ $16, CX
	JLT  rest
block:
	VADDPS (SI), Z4, Z4
	ADDQ $64, SI
	SUBQ $16, CX
	JGE  block
rest:
	ADDQ $16, CX
	JEQ  tree
	TAILMASK
	VMOVUPS.Z (SI), K1, Z0
	VADDPS Z0, Z4, Z4
tree:
	TREE
	VMOVSS X4, ret+24(FP)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// exp and log

// EXPCONSTANTS loads what EXP needs into Z16 to Z25.
#define EXPCONSTANTS \
	VBROADCASTSS ·expc+0(SB), Z16   \ // log2(e)
	VBROADCASTSS ·expc+32(SB), Z17  \ // 1.5*2^23
	VBROADCASTSS ·expc+64(SB), Z18  \ // ln 2, upper part
	VBROADCASTSS ·expc+96(SB), Z19  \ // ln 2, lower part
	VBROADCASTSS ·expc+128(SB), Z20 \ // polynomial
	VBROADCASTSS ·expc+160(SB), Z21 \
	VBROADCASTSS ·expc+192(SB), Z22 \
	VBROADCASTSS ·expc+224(SB), Z23 \
	VBROADCASTSS ·expc+256(SB), Z24 \ // 1/2
	VBROADCASTSS ·expc+288(SB), Z25   // 1

// EXP: x in Z0, result in Z0. Changes Z1, Z2, Z3. Scaling by 2^n rounds once, as the two
// factors of the other tiers do.
#define EXP \
	VMOVAPS      Z17, Z1      \
	VFMADD231PS  Z16, Z0, Z1  \ // t = fma(x, log2e, magic)
	VSUBPS       Z17, Z1, Z2  \ // n
	VFNMADD231PS Z18, Z2, Z0  \
	VFNMADD231PS Z19, Z2, Z0  \ // r = x - n ln 2
	VMOVAPS      Z20, Z3      \
	VFMADD213PS  Z21, Z0, Z3  \
	VFMADD213PS  Z22, Z0, Z3  \
	VFMADD213PS  Z23, Z0, Z3  \
	VFMADD213PS  Z24, Z0, Z3  \
	VFMADD213PS  Z25, Z0, Z3  \
	VFMADD213PS  Z25, Z0, Z3  \ // e^r
	VSCALEFPS    Z2, Z3, Z0

#define OPEXP \
	VMINPS Z0, Z26, Z0 \ // the bound first: a NaN passes
	VMAXPS Z0, Z27, Z0 \
	EXP

// func expAVX512(dst, x []float32)
TEXT ·expAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	EXPCONSTANTS
	VBROADCASTSS ·expc+352(SB), Z26
	VBROADCASTSS ·expc+384(SB), Z27
	VECTOR(LOADX, OPEXP, STOREZ, MLOADX, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

// LOG: normal positive x in Z0, exponent to add in Z4, result in Z0. Changes Z1 to Z3.
#define LOG \
	VPSUBD.BCST      ·logc+0(SB), Z0, Z1   \
	VPSRAD           $23, Z1, Z1           \ // e
	VPSLLD           $23, Z1, Z2           \
	VPSUBD           Z2, Z0, Z0            \ // mantissa in [sqrt(1/2), sqrt(2))
	VCVTDQ2PS        Z1, Z1                \
	VADDPS           Z4, Z1, Z1            \
	VSUBPS.BCST      ·logc+32(SB), Z0, Z0  \ // f
	VMULPS           Z0, Z0, Z2            \
	VBROADCASTSS     ·logc+64(SB), Z3      \
	VFMADD213PS.BCST ·logc+96(SB), Z0, Z3  \
	VFMADD213PS.BCST ·logc+128(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logc+160(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logc+192(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logc+224(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logc+256(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logc+288(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logc+320(SB), Z0, Z3 \
	VFMADD231PS      Z2, Z3, Z0            \ // log(1+f) = fma(f*f, q, f)
	VFMADD231PS.BCST ·logc+352(SB), Z1, Z0 \
	VFMADD231PS.BCST ·logc+384(SB), Z1, Z0

#define OPLOG \
	VMOVAPS        Z0, Z5                      \
	VCMPPS.BCST    $0x11, ·logc+416(SB), Z0, K2 \ // below the normal range
	VMULPS.BCST    ·logc+448(SB), Z0, K2, Z0   \
	VBROADCASTSS.Z ·logc+480(SB), K2, Z4       \
	LOG                                        \
	VPXORD         Z1, Z1, Z1                  \
	VCMPPS         $0x00, Z1, Z5, K2           \ // x == 0
	VBROADCASTSS   ·logc+512(SB), K2, Z0       \
	VCMPPS.BCST    $0x00, ·logc+544(SB), Z5, K2 \ // x == +Inf
	VBROADCASTSS   ·logc+544(SB), K2, Z0       \
	VCMPPS         $0x19, Z1, Z5, K2           \ // not x >= 0
	VBROADCASTSS   ·logc+576(SB), K2, Z0

// func logAVX512(dst, x []float32)
TEXT ·logAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPLOG, STOREZ, MLOADX, MSTOREZ, l16, rest, end)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// What else sits inside the ascent loop

#define SKIPZERO(skip) \
	MOVL (R8), AX \
	ADDL AX, AX   \ // drops the sign: only +0 and -0 give zero
	JEQ  skip     \
	VBROADCASTSS (R8), Z0

// Columns of two rows that move: their distance is the index register.
#define MOVEX(off, other, c0, c1) \
	VMOVUPS off(SI), Z0            \
	VMOVUPS off(SI)(other*1), Z1   \
	VFMADD231PS c0, Z15, Z0        \
	VFMADD231PS c1, Z15, Z1        \
	VMOVUPS Z0, off(SI)            \
	VMOVUPS Z1, off(SI)(other*1)

// Two rows at a time, for a row is a chain of fused multiply-adds that no other hides; an odd last
// one goes twice. DX, DI and R13: distance of the two in x, G and r, or 0. The arguments x, r, g and
// rows are counted on.
//
// func moveRowsAVX512(alpha float32, x []float32, xs int, r []float32, rs int, g []float32, gs, gr, rows, n, k int)
TEXT ·moveRowsAVX512(SB), NOSPLIT, $0-136
	VBROADCASTSS alpha+0(FP), Z15
	MOVQ xs+32(FP), DX
	MOVQ rs+64(FP), R10
	MOVQ gs+96(FP), R11
	MOVQ gr+104(FP), DI
	MOVL $4, R13
	SHLQ $2, DX
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, DI
rows:
	CMPQ rows+112(FP), $1
	JGT  two
	XORQ DX, DX
	XORQ DI, DI
	XORQ R13, R13
two:
	MOVQ x_base+8(FP), SI
	MOVQ g_base+72(FP), R12
	MOVQ n+120(FP), CX
columns:
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	MOVQ r_base+40(FP), R8
	MOVQ R12, R9
	MOVQ k+128(FP), BX
	JMP  test
component:
	SKIPZERO(second)
	VFNMADD231PS (R9), Z0, Z4
	VFNMADD231PS 64(R9), Z0, Z5
	VFNMADD231PS 128(R9), Z0, Z6
	VFNMADD231PS 192(R9), Z0, Z7
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
	MOVEX(0, DX, Z4, Z8)
	MOVEX(64, DX, Z5, Z9)
	MOVEX(128, DX, Z6, Z10)
	MOVEX(192, DX, Z7, Z11)
	ADDQ $256, SI
	ADDQ $256, R12
	SUBQ $64, CX
	JGT  columns
	LEAQ (DX*2), AX
	ADDQ AX, x_base+8(FP)
	LEAQ (DI*2), AX
	ADDQ AX, g_base+72(FP)
	ADDQ $8, r_base+40(FP)
	SUBQ $2, rows+112(FP)
	JGT  rows
	VZEROUPPER
	RET

// func gradientAVX512(dst, r []float32, rs int, g []float32, gs, k int)
TEXT ·gradientAVX512(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ r_base+24(FP), SI
	MOVQ rs+48(FP), R10
	MOVQ g_base+56(FP), DX
	MOVQ gs+80(FP), R11
	MOVQ k+88(FP), R12
	MOVQ dst_len+8(FP), CX
	SHLQ $2, R10
	SHLQ $2, R11
wide:
	SUBQ $64, CX
	JLT  narrow
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  widetest
wideloop:
	SKIPZERO(wideskip)
	VFNMADD231PS (R9), Z0, Z4
	VFNMADD231PS 64(R9), Z0, Z5
	VFNMADD231PS 128(R9), Z0, Z6
	VFNMADD231PS 192(R9), Z0, Z7
wideskip:
	ADDQ R10, R8
	ADDQ R11, R9
widetest:
	SUBQ $1, BX
	JGE  wideloop
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
	TAILMASK
columns:
	VPXORD Z4, Z4, Z4
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  resttest
restloop:
	SKIPZERO(restskip)
	VMOVUPS.Z (R9), K1, Z1
	VFNMADD231PS Z1, Z0, Z4
restskip:
	ADDQ R10, R8
	ADDQ R11, R9
resttest:
	SUBQ $1, BX
	JGE  restloop
	VMOVUPS Z4, K1, (DI)
	ADDQ $64, DI
	ADDQ $64, DX
	SUBQ $16, R13
	JGT  sixteen
done:
	VZEROUPPER
	RET

// dst = fma(-w, y, -(r*x)): Z14 holds -r, Z13 holds w = h*t.
#define OPPULL \
	VMULPS       Z14, Z0, Z0 \
	VFNMADD231PS Z1, Z13, Z0
#define NOTHING
#define STOREZERO VMOVUPS Z11, (DI)(AX*4)
#define MSTOREZERO VMOVUPS Z11, K1, (DI)(AX*4)

// func pullRowsAVX512(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)
TEXT ·pullRowsAVX512(SB), NOSPLIT, $0-160
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R10
	MOVQ r_base+32(FP), BX
	MOVQ x_base+56(FP), SI
	MOVQ xs+80(FP), R11
	MOVQ t_base+88(FP), R13
	VBROADCASTSS h+112(FP), Z10
	MOVQ y_base+120(FP), DX
	MOVQ ys+144(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VPXORD Z11, Z11, Z11
	MOVL $0x80000000, AX
	VPBROADCASTD AX, Z12     // sign bits
	MOVQ r_len+40(FP), R15
	JMP  rowtest
row:
	MOVQ n+152(FP), CX
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  zero
	VBROADCASTSS (BX), Z14
	VXORPS Z12, Z14, Z14
	VBROADCASTSS (R13), Z13
	VMULPS Z10, Z13, Z13
	VECTOR(LOADXY, OPPULL, STOREZ, MLOADXY, MSTOREZ, l16, rest, end)
	JMP  next
zero:
	VECTOR(NOTHING, NOTHING, STOREZERO, NOTHING, MSTOREZERO, z16, zrest, zend)
next:
	ADDQ $4, BX
	ADDQ $4, R13
	ADDQ R10, DI
	ADDQ R11, SI
	ADDQ R12, DX
rowtest:
	SUBQ $1, R15
	JGE  row
	VZEROUPPER
	RET

// A row of 16 columns from off on: D_i, its part of the sums, and W_i. Z28: -r, Z29: h*t,
// Z30: r, Z31: t.
#define DELTA(off, x, m) \
	VMOVUPS off(DX), x \
	VSUBPS  m, x, x
#define PULLOFF(off, x, u, sr, st) \
	VMOVUPS      x, off(R8)  \
	VMOVUPS      off(SI), u  \
	VFNMADD231PS u, Z30, sr  \
	VFNMADD231PS x, Z31, st  \
	VMULPS       Z28, u, u   \
	VFNMADD231PS x, Z29, u   \
	VMOVUPS      u, off(DI)
#define PULLONLY(off, x, u) \
	VMULPS       off(SI), Z28, u \
	VFNMADD231PS x, Z29, u       \
	VMOVUPS      u, off(DI)

#define NEXTROW \
	ADDQ $4, BX   \
	ADDQ $4, R13  \
	ADDQ R10, DI  \
	ADDQ R10, R8  \
	ADDQ R11, SI  \
	ADDQ R12, DX
#define SCALARS \
	VBROADCASTSS (BX), Z30    \
	VBROADCASTSS (R13), Z31   \
	VXORPS       Z3, Z30, Z28 \
	VMULPS       Z2, Z31, Z29

// func pullDeltasAVX512(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)
TEXT ·pullDeltasAVX512(SB), NOSPLIT, $0-248
	MOVQ ld+48(FP), R10
	MOVQ us+104(FP), R11
	MOVQ xs+168(FP), R12
	MOVQ mu_len+184(FP), CX
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VBROADCASTSS h+136(FP), Z2
	MOVL $0x80000000, AX
	VPBROADCASTD AX, Z3      // sign bits
	VPXORD Z1, Z1, Z1
	XORQ R15, R15
columns:
	TESTQ CX, CX
	JEQ  done
	KXNORW K1, K1, K1
	CMPQ CX, $16
	JGE  whole
	TAILMASK
whole:
	// w, d, u and x from column R15 (bytes) on; r, t; rows.
	MOVQ w_base+0(FP), DI
	MOVQ d_base+24(FP), R8
	MOVQ u_base+80(FP), SI
	MOVQ x_base+144(FP), DX
	MOVQ r_base+56(FP), BX
	MOVQ t_base+112(FP), R13
	MOVQ r_len+64(FP), R9
	ADDQ R15, DI
	ADDQ R15, R8
	ADDQ R15, SI
	ADDQ R15, DX
	MOVQ mu_base+176(FP), AX
	CMPQ CX, $64
	JLT  narrow
	VMOVUPS (AX)(R15*1), Z16
	VMOVUPS 64(AX)(R15*1), Z17
	VMOVUPS 128(AX)(R15*1), Z18
	VMOVUPS 192(AX)(R15*1), Z19
	CMPQ d_len+32(FP), $0
	JEQ  onlytest
	MOVQ sr_base+200(FP), AX
	VMOVUPS (AX)(R15*1), Z20
	VMOVUPS 64(AX)(R15*1), Z21
	VMOVUPS 128(AX)(R15*1), Z22
	VMOVUPS 192(AX)(R15*1), Z23
	MOVQ st_base+224(FP), AX
	VMOVUPS (AX)(R15*1), Z24
	VMOVUPS 64(AX)(R15*1), Z25
	VMOVUPS 128(AX)(R15*1), Z26
	VMOVUPS 192(AX)(R15*1), Z27
	JMP  widetest
widerow:
	DELTA(0, Z4, Z16)
	DELTA(64, Z5, Z17)
	DELTA(128, Z6, Z18)
	DELTA(192, Z7, Z19)
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  widezero
	SCALARS
	PULLOFF(0, Z4, Z8, Z20, Z24)
	PULLOFF(64, Z5, Z9, Z21, Z25)
	PULLOFF(128, Z6, Z10, Z22, Z26)
	PULLOFF(192, Z7, Z11, Z23, Z27)
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
	NEXTROW
widetest:
	SUBQ $1, R9
	JGE  widerow
	MOVQ sr_base+200(FP), AX
	VMOVUPS Z20, (AX)(R15*1)
	VMOVUPS Z21, 64(AX)(R15*1)
	VMOVUPS Z22, 128(AX)(R15*1)
	VMOVUPS Z23, 192(AX)(R15*1)
	MOVQ st_base+224(FP), AX
	VMOVUPS Z24, (AX)(R15*1)
	VMOVUPS Z25, 64(AX)(R15*1)
	VMOVUPS Z26, 128(AX)(R15*1)
	VMOVUPS Z27, 192(AX)(R15*1)
	JMP  widedone
onlyrow:
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  onlyzero
	DELTA(0, Z4, Z16)
	DELTA(64, Z5, Z17)
	DELTA(128, Z6, Z18)
	DELTA(192, Z7, Z19)
	SCALARS
	PULLONLY(0, Z4, Z8)
	PULLONLY(64, Z5, Z9)
	PULLONLY(128, Z6, Z10)
	PULLONLY(192, Z7, Z11)
	JMP  onlynext
onlyzero:
	VMOVUPS Z1, (DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z1, 128(DI)
	VMOVUPS Z1, 192(DI)
onlynext:
	NEXTROW
onlytest:
	SUBQ $1, R9
	JGE  onlyrow
widedone:
	ADDQ $256, R15
	SUBQ $64, CX
	JMP  columns

narrow:                      // 16 columns at a time, the last of them masked
	VMOVUPS.Z (AX)(R15*1), K1, Z16
	CMPQ d_len+32(FP), $0
	JEQ  bittest
	MOVQ sr_base+200(FP), AX
	VMOVUPS.Z (AX)(R15*1), K1, Z20
	MOVQ st_base+224(FP), AX
	VMOVUPS.Z (AX)(R15*1), K1, Z24
	JMP  resttest
restrow:
	VMOVUPS.Z (DX), K1, Z4
	VSUBPS    Z16, Z4, Z4
	VMOVUPS   Z4, K1, (R8)
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  restzero
	SCALARS
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
	NEXTROW
resttest:
	SUBQ $1, R9
	JGE  restrow
	MOVQ sr_base+200(FP), AX
	VMOVUPS Z20, K1, (AX)(R15*1)
	MOVQ st_base+224(FP), AX
	VMOVUPS Z24, K1, (AX)(R15*1)
	JMP  restdone
bitrow:
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  bitzero
	VMOVUPS.Z (DX), K1, Z4
	VSUBPS    Z16, Z4, Z4
	SCALARS
	VMOVUPS.Z    (SI), K1, Z8
	VMULPS       Z28, Z8, Z8
	VFNMADD231PS Z4, Z29, Z8
	VMOVUPS      Z8, K1, (DI)
	JMP  bitnext
bitzero:
	VMOVUPS Z1, K1, (DI)
bitnext:
	NEXTROW
bittest:
	SUBQ $1, R9
	JGE  bitrow
restdone:
	ADDQ $64, R15
	SUBQ $16, CX
	JGT  columns
done:
	VZEROUPPER
	RET

// func mixtureAVX512(q []float32, ld int, c, phi []float32)
TEXT ·mixtureAVX512(SB), NOSPLIT, $0-80
	MOVQ q_base+0(FP), SI
	MOVQ ld+24(FP), R10
	MOVQ c_base+32(FP), DX
	MOVQ phi_base+56(FP), DI
	MOVQ c_len+40(FP), R12
	MOVQ phi_len+64(FP), R13
	SHLQ $2, R10
	EXPCONSTANTS
	VBROADCASTSS ·expc+416(SB), Z26 // the cut
	MOVL $-1, AX
	KMOVW AX, K1
	TESTQ R13, R13
	JEQ  done

	// Sixteen rows at a time, the last of them masked. Z6: largest l, Z8: sum.
group:
	CMPQ R13, $16
	JGE  rows
	MOVQ R13, CX
	TAILMASK
rows:
	VBROADCASTSS ·logc+512(SB), Z6
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  firsttest
first:
	VMOVUPS.Z (R8), K1, Z0
	VBROADCASTSS (R9), Z1
	VFNMADD231PS Z0, Z24, Z1 // l = c - q/2
	VMOVUPS Z1, K1, (R8)
	VMAXPS Z6, Z1, Z6        // l > m ? l : m
	ADDQ R10, R8
	ADDQ $4, R9
firsttest:
	SUBQ $1, BX
	JGE  first

	VPXORD Z8, Z8, Z8
	MOVQ SI, R8
	MOVQ R12, BX
	JMP  secondtest
second:
	VMOVUPS.Z (R8), K1, Z0
	VSUBPS Z6, Z0, Z0
	VCMPPS $0x15, Z26, Z0, K2 // not below the cut
	EXP
	VMOVAPS.Z Z0, K2, Z0
	VMOVUPS Z0, K1, (R8)
	VADDPS Z0, Z8, Z8
	ADDQ R10, R8
secondtest:
	SUBQ $1, BX
	JGE  second

	VMOVAPS Z8, Z0
	VPXORD Z4, Z4, Z4
	LOG
	VCMPPS $0x03, Z8, Z8, K2 // NaN stays NaN
	VMOVAPS Z8, K2, Z0
	VADDPS Z6, Z0, Z0
	VMOVUPS Z0, K1, (DI)
	MOVQ SI, R8
	MOVQ R12, BX
	JMP  thirdtest
third:
	VMOVUPS.Z (R8), K1, Z0
	VDIVPS Z8, Z0, Z0
	VMOVUPS Z0, K1, (R8)
	ADDQ R10, R8
thirdtest:
	SUBQ $1, BX
	JGE  third
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $16, R13
	JGT  group
done:
	VZEROUPPER
	RET

// func responsibilityBackwardAVX512(r, s []float32, ld int, sum []float32, k int)
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
	TAILMASK
rows:
	VPXORD Z6, Z6, Z6
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  firsttest
first:
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R9), K1, Z1
	VCMPPS $0x04, Z5, Z0, K2 // r != 0
	VFMADD231PS Z0, Z1, K2, Z6
	ADDQ R10, R8
	ADDQ R10, R9
firsttest:
	SUBQ $1, BX
	JGE  first
	VMOVUPS Z6, K1, (DI)
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  secondtest
second:
	VMOVUPS.Z (R8), K1, Z0
	VMOVUPS.Z (R9), K1, Z1
	VCMPPS $0x04, Z5, Z0, K2
	VSUBPS Z6, Z1, Z1
	VMULPS.Z Z1, Z0, K2, Z0
	VMOVUPS Z0, K1, (R9)
	ADDQ R10, R8
	ADDQ R10, R9
secondtest:
	SUBQ $1, BX
	JGE  second
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, DI
	SUBQ $16, R13
	JGT  group
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Streams of memory traffic

// STREAM makes R9 passes over R13 floats of x (at R10), y (R11) and dst (R12), or those
// of them that there are: 128 floats at a time, then 16, then the masked rest (mask in
// K1). The macro v handles 16 at an offset of SI (x), DX (y) and DI (dst), in the register
// given, vmask the rest. The addresses have no index: see asm_amd64.s.
#define STREAM(v, vmask, pass, block, blocktest, vector, vectortest, next) \
	JMP   next       \
pass: \
	MOVQ  R10, SI    \
	MOVQ  R11, DX    \
	MOVQ  R12, DI    \
	MOVQ  R13, CX    \
	JMP   blocktest  \
block: \
	v(0, Z0)         \
	v(64, Z1)        \
	v(128, Z2)       \
	v(192, Z3)       \
	v(256, Z4)       \
	v(320, Z5)       \
	v(384, Z6)       \
	v(448, Z7)       \
	ADDQ  $512, SI   \
	ADDQ  $512, DX   \
	ADDQ  $512, DI   \
blocktest: \
	SUBQ  $128, CX   \
	JGE   block      \
	ADDQ  $128, CX   \
	JMP   vectortest \
vector: \
	v(0, Z0)         \
	ADDQ  $64, SI    \
	ADDQ  $64, DX    \
	ADDQ  $64, DI    \
vectortest: \
	SUBQ  $16, CX    \
	JGE   vector     \
	ADDQ  $16, CX    \
	JEQ   next       \
	TAILMASK         \
	vmask            \
next: \
	SUBQ  $1, R9     \
	JGE   pass

#define LOAD(off, z) VMOVUPS off(SI), z
#define LOADMASK VMOVUPS.Z (SI), K1, Z0
#define READ(off, z) VPORD off(SI), z, z
#define READMASK \
	VMOVUPS.Z (SI), K1, Z8 \
	VPORD     Z8, Z0, Z0

// The last pass alone does something with the values: see readAVX2.
//
// func readAVX512(x []float32, rounds int) uint32
TEXT ·readAVX512(SB), NOSPLIT, $0-36
	MOVQ x_base+0(FP), R10
	MOVQ x_len+8(FP), R13
	MOVQ rounds+24(FP), R9
	SUBQ $1, R9
	STREAM(LOAD, LOADMASK, loadpass, loadblock, loadblocktest, loadvector, loadvectortest, loadnext)
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	XORQ R9, R9
	CMPQ rounds+24(FP), $0
	SETGT R9
	STREAM(READ, READMASK, pass, block, blocktest, vector, vectortest, next)
	VPORD Z1, Z0, Z0
	VPORD Z3, Z2, Z2
	VPORD Z5, Z4, Z4
	VPORD Z7, Z6, Z6
	VPORD Z2, Z0, Z0
	VPORD Z6, Z4, Z4
	VPORD Z4, Z0, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPOR Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPOR X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPOR X1, X0, X0
	VPSRLDQ $4, X0, X1
	VPOR X1, X0, X0
	VMOVD X0, AX
	VZEROUPPER
	MOVL AX, ret+32(FP)
	RET

#define WRITE(off, z) VMOVUPS Z8, off(DI)
#define WRITEMASK VMOVUPS Z8, K1, (DI)

// func writeAVX512(dst []float32, a float32, rounds int)
TEXT ·writeAVX512(SB), NOSPLIT, $0-40
	MOVQ dst_base+0(FP), R12
	MOVQ dst_len+8(FP), R13
	VBROADCASTSS a+24(FP), Z8
	MOVQ rounds+32(FP), R9
	STREAM(WRITE, WRITEMASK, pass, block, blocktest, vector, vectortest, next)
	VZEROUPPER
	RET

#define TRIAD(off, z) \
	VMOVUPS     off(SI), z     \
	VFMADD231PS off(DX), Z8, z \
	VMOVUPS     z, off(DI)
#define TRIADMASK \
	VMOVUPS.Z   (SI), K1, Z0 \
	VMOVUPS.Z   (DX), K1, Z1 \
	VFMADD231PS Z1, Z8, Z0   \
	VMOVUPS     Z0, K1, (DI)

// func triadAVX512(a float32, dst, x, y []float32, rounds int)
TEXT ·triadAVX512(SB), NOSPLIT, $0-88
	VBROADCASTSS a+0(FP), Z8
	MOVQ dst_base+8(FP), R12
	MOVQ dst_len+16(FP), R13
	MOVQ x_base+32(FP), R10
	MOVQ y_base+56(FP), R11
	MOVQ rounds+80(FP), R9
	STREAM(TRIAD, TRIADMASK, pass, block, blocktest, vector, vectortest, next)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Patches: five rows of up to 48 columns, in an array in which rows are stride apart

// PATCHMASKS sets K1, K2 and K3 to the first CX <= 48 columns.
#define PATCHMASKS \
	MOVQ  $1, R8  \
	SHLQ  CX, R8  \
	DECQ  R8      \
	KMOVW R8, K1  \
	SHRQ  $16, R8 \
	KMOVW R8, K2  \
	SHRQ  $16, R8 \
	KMOVW R8, K3

// NEXTPATCH sets R13 to the next patch, counted in R10, and Z0 to its factor.
#define NEXTPATCH \
	MOVLQSX (R9), R13      \
	VBROADCASTSS (SI), Z0  \
	ADDQ $4, R9            \
	ADDQ $4, SI            \
	LEAQ (AX)(R13*4), R13

// func addPatchesAVX512(c []float32, crs, cols int, r, b []float32, at []int32, stride int)
TEXT ·addPatchesAVX512(SB), NOSPLIT, $0-120
	MOVQ c_base+0(FP), DI
	MOVQ crs+24(FP), DX
	MOVQ cols+32(FP), CX
	MOVQ r_base+40(FP), SI
	MOVQ b_base+64(FP), AX
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
	MOVQ stride+112(FP), R11
	SHLQ $2, DX
	SHLQ $2, R11
	LEAQ (DX)(DX*2), BX
	LEAQ (R11)(R11*2), R12
	PATCHMASKS
	VMOVUPS.Z (DI), K1, Z1
	VMOVUPS.Z (DI)(DX*1), K1, Z2
	VMOVUPS.Z (DI)(DX*2), K1, Z3
	VMOVUPS.Z (DI)(BX*1), K1, Z4
	VMOVUPS.Z (DI)(DX*4), K1, Z5
	CMPQ CX, $16
	JGT  wide
	TESTQ R10, R10
	JEQ  store
narrow:
	NEXTPATCH
	VFMADD231PS (R13), Z0, K1, Z1
	VFMADD231PS (R13)(R11*1), Z0, K1, Z2
	VFMADD231PS (R13)(R11*2), Z0, K1, Z3
	VFMADD231PS (R13)(R12*1), Z0, K1, Z4
	VFMADD231PS (R13)(R11*4), Z0, K1, Z5
	DECQ R10
	JNE  narrow
	JMP  store
wide:
	VMOVUPS.Z 64(DI), K2, Z6
	VMOVUPS.Z 64(DI)(DX*1), K2, Z7
	VMOVUPS.Z 64(DI)(DX*2), K2, Z8
	VMOVUPS.Z 64(DI)(BX*1), K2, Z9
	VMOVUPS.Z 64(DI)(DX*4), K2, Z10
	VMOVUPS.Z 128(DI), K3, Z11
	VMOVUPS.Z 128(DI)(DX*1), K3, Z12
	VMOVUPS.Z 128(DI)(DX*2), K3, Z13
	VMOVUPS.Z 128(DI)(BX*1), K3, Z14
	VMOVUPS.Z 128(DI)(DX*4), K3, Z15
	TESTQ R10, R10
	JEQ  storewide
patch:
	NEXTPATCH
	VFMADD231PS (R13), Z0, Z1
	VFMADD231PS (R13)(R11*1), Z0, Z2
	VFMADD231PS (R13)(R11*2), Z0, Z3
	VFMADD231PS (R13)(R12*1), Z0, Z4
	VFMADD231PS (R13)(R11*4), Z0, Z5
	VFMADD231PS 64(R13), Z0, K2, Z6
	VFMADD231PS 64(R13)(R11*1), Z0, K2, Z7
	VFMADD231PS 64(R13)(R11*2), Z0, K2, Z8
	VFMADD231PS 64(R13)(R12*1), Z0, K2, Z9
	VFMADD231PS 64(R13)(R11*4), Z0, K2, Z10
	VFMADD231PS 128(R13), Z0, K3, Z11
	VFMADD231PS 128(R13)(R11*1), Z0, K3, Z12
	VFMADD231PS 128(R13)(R11*2), Z0, K3, Z13
	VFMADD231PS 128(R13)(R12*1), Z0, K3, Z14
	VFMADD231PS 128(R13)(R11*4), Z0, K3, Z15
	DECQ R10
	JNE  patch
storewide:
	VMOVUPS Z6, K2, 64(DI)
	VMOVUPS Z7, K2, 64(DI)(DX*1)
	VMOVUPS Z8, K2, 64(DI)(DX*2)
	VMOVUPS Z9, K2, 64(DI)(BX*1)
	VMOVUPS Z10, K2, 64(DI)(DX*4)
	VMOVUPS Z11, K3, 128(DI)
	VMOVUPS Z12, K3, 128(DI)(DX*1)
	VMOVUPS Z13, K3, 128(DI)(DX*2)
	VMOVUPS Z14, K3, 128(DI)(BX*1)
	VMOVUPS Z15, K3, 128(DI)(DX*4)
store:
	VMOVUPS Z1, K1, (DI)
	VMOVUPS Z2, K1, (DI)(DX*1)
	VMOVUPS Z3, K1, (DI)(DX*2)
	VMOVUPS Z4, K1, (DI)(BX*1)
	VMOVUPS Z5, K1, (DI)(DX*4)
	VZEROUPPER
	RET

// SPREADROW adds five vectors to a row of a patch at R13. A store is met again by loads of the
// same eight floats, which a processor hands on without waiting.
#define SPREADROW(w0, w1, w2, w3, w4) \
	VMOVUPS     (R13), Y26     \
	VMOVUPS     32(R13), Y27   \
	VMOVUPS     64(R13), Y28   \
	VMOVUPS     96(R13), Y29   \
	VMOVUPS     128(R13), Y30  \
	VFMADD231PS w0, Y0, Y26    \
	VFMADD231PS w1, Y0, Y27    \
	VFMADD231PS w2, Y0, Y28    \
	VFMADD231PS w3, Y0, Y29    \
	VFMADD231PS w4, Y0, Y30    \
	VMOVUPS     Y26, (R13)     \
	VMOVUPS     Y27, 32(R13)   \
	VMOVUPS     Y28, 64(R13)   \
	VMOVUPS     Y29, 96(R13)   \
	VMOVUPS     Y30, 128(R13)

// func spreadPatchesAVX512(b, r []float32, at []int32, w []float32, ws, stride int)
TEXT ·spreadPatchesAVX512(SB), NOSPLIT, $0-112
	MOVQ b_base+0(FP), AX
	MOVQ r_base+24(FP), SI
	MOVQ r_len+32(FP), R10
	MOVQ at_base+48(FP), R9
	MOVQ w_base+72(FP), CX
	MOVQ ws+96(FP), DX
	MOVQ stride+104(FP), R11
	SHLQ $2, DX
	SHLQ $2, R11
	VMOVUPS (CX), Y1
	VMOVUPS 32(CX), Y2
	VMOVUPS 64(CX), Y3
	VMOVUPS 96(CX), Y4
	VMOVUPS 128(CX), Y5
	ADDQ DX, CX
	VMOVUPS (CX), Y6
	VMOVUPS 32(CX), Y7
	VMOVUPS 64(CX), Y8
	VMOVUPS 96(CX), Y9
	VMOVUPS 128(CX), Y10
	ADDQ DX, CX
	VMOVUPS (CX), Y11
	VMOVUPS 32(CX), Y12
	VMOVUPS 64(CX), Y13
	VMOVUPS 96(CX), Y14
	VMOVUPS 128(CX), Y15
	ADDQ DX, CX
	VMOVUPS (CX), Y16
	VMOVUPS 32(CX), Y17
	VMOVUPS 64(CX), Y18
	VMOVUPS 96(CX), Y19
	VMOVUPS 128(CX), Y20
	ADDQ DX, CX
	VMOVUPS (CX), Y21
	VMOVUPS 32(CX), Y22
	VMOVUPS 64(CX), Y23
	VMOVUPS 96(CX), Y24
	VMOVUPS 128(CX), Y25
	TESTQ R10, R10
	JEQ  end
patch:
	MOVLQSX (R9), R13
	VBROADCASTSS (SI), Y0
	ADDQ $4, R9
	ADDQ $4, SI
	LEAQ (AX)(R13*4), R13
	SPREADROW(Y1, Y2, Y3, Y4, Y5)
	ADDQ R11, R13
	SPREADROW(Y6, Y7, Y8, Y9, Y10)
	ADDQ R11, R13
	SPREADROW(Y11, Y12, Y13, Y14, Y15)
	ADDQ R11, R13
	SPREADROW(Y16, Y17, Y18, Y19, Y20)
	ADDQ R11, R13
	SPREADROW(Y21, Y22, Y23, Y24, Y25)
	DECQ R10
	JNE  patch
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Transposition: of twelve rows and more sixteen rows and four columns at a time, of what is
// left eight rows and eight columns

// TRANSPOSED stores column n+i of eight rows, if it is there.
#define TRANSPOSED(low, high, imm) \
	VPERM2F128 imm, high, low, Y8 \
	VMOVUPS Y8, K2, (DX)          \
	ADDQ R8, DX                    \
	DECQ BX                        \
	JEQ  block

// func transposeAVX512(dst []float32, ds int, src []float32, ss, rows, cols int)
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
	VMOVUPS (BX), X0
	VMOVUPS (BX)(R9*1), X1
	VMOVUPS (BX)(R9*2), X2
	VMOVUPS (BX)(R11*1), X3
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
	VUNPCKLPS Z1, Z0, Z4
	VUNPCKHPS Z1, Z0, Z5
	VUNPCKLPS Z3, Z2, Z6
	VUNPCKHPS Z3, Z2, Z7
	VUNPCKLPD Z6, Z4, Z0
	VUNPCKHPD Z6, Z4, Z1
	VUNPCKLPD Z7, Z5, Z2
	VUNPCKHPD Z7, Z5, Z3
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
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15
	VUNPCKLPD Y10, Y8, Y0    // columns 0 and 4 of rows 0 to 3
	VUNPCKHPD Y10, Y8, Y1    // 1, 5
	VUNPCKLPD Y11, Y9, Y2    // 2, 6
	VUNPCKHPD Y11, Y9, Y3    // 3, 7
	VUNPCKLPD Y14, Y12, Y4   // the same of rows 4 to 7
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7
	TRANSPOSED(Y0, Y4, $0x20)
	TRANSPOSED(Y1, Y5, $0x20)
	TRANSPOSED(Y2, Y6, $0x20)
	TRANSPOSED(Y3, Y7, $0x20)
	TRANSPOSED(Y0, Y4, $0x31)
	TRANSPOSED(Y1, Y5, $0x31)
	TRANSPOSED(Y2, Y6, $0x31)
	TRANSPOSED(Y3, Y7, $0x31)
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

// ---------------------------------------------------------------------------------
// Pooling

// iota is 0, 1, ..., 15; twice is 0, 0, 1, 1, ..., 7, 7; sides is 0, 1, 0, 1, ..., 0, 1.
DATA iota<>+0(SB)/4, $0
DATA iota<>+4(SB)/4, $1
DATA iota<>+8(SB)/4, $2
DATA iota<>+12(SB)/4, $3
DATA iota<>+16(SB)/4, $4
DATA iota<>+20(SB)/4, $5
DATA iota<>+24(SB)/4, $6
DATA iota<>+28(SB)/4, $7
DATA iota<>+32(SB)/4, $8
DATA iota<>+36(SB)/4, $9
DATA iota<>+40(SB)/4, $10
DATA iota<>+44(SB)/4, $11
DATA iota<>+48(SB)/4, $12
DATA iota<>+52(SB)/4, $13
DATA iota<>+56(SB)/4, $14
DATA iota<>+60(SB)/4, $15
GLOBL iota<>(SB), RODATA|NOPTR, $64
DATA twice<>+0(SB)/4, $0
DATA twice<>+4(SB)/4, $0
DATA twice<>+8(SB)/4, $1
DATA twice<>+12(SB)/4, $1
DATA twice<>+16(SB)/4, $2
DATA twice<>+20(SB)/4, $2
DATA twice<>+24(SB)/4, $3
DATA twice<>+28(SB)/4, $3
DATA twice<>+32(SB)/4, $4
DATA twice<>+36(SB)/4, $4
DATA twice<>+40(SB)/4, $5
DATA twice<>+44(SB)/4, $5
DATA twice<>+48(SB)/4, $6
DATA twice<>+52(SB)/4, $6
DATA twice<>+56(SB)/4, $7
DATA twice<>+60(SB)/4, $7
GLOBL twice<>(SB), RODATA|NOPTR, $64
DATA sides<>+0(SB)/4, $0
DATA sides<>+4(SB)/4, $1
DATA sides<>+8(SB)/4, $0
DATA sides<>+12(SB)/4, $1
DATA sides<>+16(SB)/4, $0
DATA sides<>+20(SB)/4, $1
DATA sides<>+24(SB)/4, $0
DATA sides<>+28(SB)/4, $1
DATA sides<>+32(SB)/4, $0
DATA sides<>+36(SB)/4, $1
DATA sides<>+40(SB)/4, $0
DATA sides<>+44(SB)/4, $1
DATA sides<>+48(SB)/4, $0
DATA sides<>+52(SB)/4, $1
DATA sides<>+56(SB)/4, $0
DATA sides<>+60(SB)/4, $1
GLOBL sides<>(SB), RODATA|NOPTR, $64

// PAIRMASKS sets K3 to CX <= 16 elements, and K1 and K2 to twice as many. It doubles CX.
#define PAIRMASKS \
	MOVL  $1, AX  \
	SHLL  CX, AX  \
	DECL  AX      \
	KMOVW AX, K3  \
	ADDQ  CX, CX  \
	MOVL  $1, AX  \
	SHLQ  CX, AX  \
	DECQ  AX      \
	KMOVW AX, K1  \
	SHRQ  $16, AX \
	KMOVW AX, K2

// SIXTEEN sets CX to min(16, BX).
#define SIXTEEN \
	MOVL    $16, CX \
	CMPQ    BX, CX  \
	CMOVQLT BX, CX

// func reluPoolAVX512(y []float32, which []byte, x []float32, stride, w int)
TEXT ·reluPoolAVX512(SB), NOSPLIT, $0-88
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), R13
	MOVQ which_base+24(FP), R9
	MOVQ which_len+32(FP), R10
	MOVQ x_base+48(FP), SI
	MOVQ stride+72(FP), R11
	MOVQ w+80(FP), R12
	SHLQ $2, R11
	VPXORD Z31, Z31, Z31
	VMOVDQU32 iota<>(SB), Z30
	VPADDD Z30, Z30, Z20     // even elements
	MOVL $1, AX
	VPBROADCASTD AX, Z29
	VPADDD Z29, Z20, Z21     // odd elements
	VPADDD Z29, Z29, Z28     // 2
	VPADDD Z29, Z28, Z27     // 3
	VPADDD Z28, Z28, Z26     // 4
	JMP  rows
row:
	MOVQ R12, BX             // columns left
	MOVQ SI, DX
	LEAQ (SI)(R11*1), R8
columns:
	SIXTEEN
	SUBQ CX, BX
	PAIRMASKS
	VMOVUPS.Z (DX), K1, Z0
	VMOVUPS.Z 64(DX), K2, Z1
	VMOVUPS.Z (R8), K1, Z2
	VMOVUPS.Z 64(R8), K2, Z3
	VMAXPS Z31, Z0, Z0       // NaN becomes 0, and -0 +0
	VMAXPS Z31, Z1, Z1
	VMAXPS Z31, Z2, Z2
	VMAXPS Z31, Z3, Z3
	VMOVAPS Z0, Z4
	VMOVAPS Z2, Z6
	VPERMT2PS Z1, Z20, Z4    // the four pixels in Z4, Z0, Z6, Z2
	VPERMT2PS Z1, Z21, Z0
	VPERMT2PS Z3, Z20, Z6
	VPERMT2PS Z3, Z21, Z2
	VMAXPS Z4, Z0, Z8
	VMAXPS Z6, Z2, Z9
	VMAXPS Z8, Z9, Z8
	VMOVUPS Z8, K3, (DI)
	TESTQ R10, R10
	JEQ  pooled
	VCMPPS $0, Z6, Z8, K4
	VCMPPS $0, Z0, Z8, K5
	VCMPPS $0, Z4, Z8, K6
	VCMPPS $0, Z31, Z8, K7   // none
	VMOVDQA32 Z27, Z9
	VMOVDQA32 Z28, K4, Z9
	VMOVDQA32 Z29, K5, Z9
	VMOVDQA32 Z31, K6, Z9
	VMOVDQA32 Z26, K7, Z9
	VPMOVDB Z9, K3, (R9)
pooled:
	LEAQ (DX)(CX*4), DX
	LEAQ (R8)(CX*4), R8
	SHRQ $1, CX
	LEAQ (DI)(CX*4), DI
	ADDQ CX, R9
	TESTQ BX, BX
	JNE  columns
	LEAQ (SI)(R11*2), SI
	SUBQ R12, R13
rows:
	CMPQ R13, R12
	JGE  row
	VZEROUPPER
	RET

// LIST appends the numbers of Z0 and their places, those in K4, to the lists.
#define LIST(places) \
	VPCOMPRESSD.Z places, K4, Z9 \
	VCOMPRESSPS.Z Z0, K4, Z10    \
	VMOVDQU32 Z9, (DI)(DX*4)     \
	VMOVUPS Z10, (SI)(DX*4)      \
	KMOVW K4, AX                 \
	POPCNTL AX, AX               \
	ADDQ AX, DX

// ADDWHERE adds by to the pixels at addr (of which the mask are in the picture) whose number,
// in sides, is that of the pixels that which names.
#define ADDWHERE(by, which, sides, addr, mask) \
	VPCMPEQD which, sides, K4  \
	VMOVUPS.Z addr, mask, Z7   \
	VADDPS by, Z7, K4, Z7      \
	VMOVUPS Z7, mask, addr

// Rows of up to 16 pooled pixels.
//
// func poolBackwardAVX512(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int)
TEXT ·poolBackwardAVX512(SB), NOSPLIT, $0-160
	MOVQ at_base+0(FP), DI
	MOVQ v_base+24(FP), SI
	MOVQ sums_base+48(FP), R9
	MOVQ dy_base+72(FP), R10
	MOVQ dy_len+80(FP), R15
	MOVQ which_base+96(FP), R11
	MOVQ w+120(FP), R12
	MOVQ cols+128(FP), R8
	SHLQ $2, R8
	LEAQ (R9)(R8*1), R13     // the lower row
	MOVQ R12, CX
	PAIRMASKS
	VMOVDQU32 iota<>(SB), Z30
	VMOVDQU32 twice<>(SB), Z23
	VMOVDQU32 sides<>(SB), Z21
	MOVL $1, AX
	VPBROADCASTD AX, Z29
	VPADDD Z29, Z29, Z28     // 2
	VPSLLD $2, Z29, Z27      // 4, the number of no pixel
	VPADDD Z28, Z27, Z19     // 2 and 4
	VPADDD Z21, Z28, Z18     // the sides of the lower row
	VPSLLD $3, Z29, Z22
	VPADDD Z23, Z22, Z22     // 8, 8, 9, 9, ..., 15, 15
	MOVQ right+136(FP), AX
	VPBROADCASTD AX, Z26
	VPADDD Z26, Z26, Z25
	VPMULLD Z25, Z30, Z20    // places of the left pixels of a row
	MOVQ down+144(FP), AX
	VPBROADCASTD AX, Z24
	VPADDD Z24, Z24, Z25
	XORQ DX, DX              // numbers so far
	JMP  rows
row:
	VMOVUPS.Z (R10), K3, Z0
	VPMOVZXBD.Z (R11), K3, Z1
	VPERMPS Z0, Z23, Z2
	VPERMD  Z1, Z23, Z3
	ADDWHERE(Z2, Z3, Z21, (R9), K1)
	ADDWHERE(Z2, Z3, Z18, (R13), K1)
	CMPQ R12, $8
	JLE  half
	VPERMPS Z0, Z22, Z2
	VPERMD  Z1, Z22, Z3
	ADDWHERE(Z2, Z3, Z21, 64(R9), K2)
	ADDWHERE(Z2, Z3, Z18, 64(R13), K2)
half:
	VPADDD Z0, Z0, Z4        // without the sign
	VPTESTMD Z4, Z4, K3, K5
	VPTESTMD Z29, Z1, K6     // right
	VMOVDQA32 Z20, Z5
	VPADDD Z26, Z5, K6, Z5
	VPTESTNMD Z19, Z1, K5, K4
	LIST(Z5)
	VPADDD Z24, Z5, Z6
	VPTESTMD Z28, Z1, K5, K4
	LIST(Z6)
	VPADDD Z25, Z20, Z20
	LEAQ (R10)(R12*4), R10
	ADDQ R12, R11
	LEAQ (R9)(R8*2), R9
	LEAQ (R13)(R8*2), R13
	SUBQ R12, R15
rows:
	CMPQ R15, R12
	JGE  row
	MOVQ DX, n+152(FP)
	VZEROUPPER
	RET
