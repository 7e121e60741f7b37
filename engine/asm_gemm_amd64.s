//go:build amd64 && !purego && !noasm

#include "gemm_avx2_amd64.h"
#include "gemm_panel_amd64.h"
#include "go_asm.h"
#include "textflag.h"
#include "vector_avx2_amd64.h"

// AVX2: matrix products and transposition.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	sgemmAVX2_6x16       panels of a matrix product, C = A B or C += A B
//	sgemmAtAVX2_6x16     panels of a product whose rows of B and columns of A lie anywhere
//	transposeBlocksAVX2  dst[j][i] = src[i][j], eight rows at a time
//	transposeFourAVX2    dst[j][i] = src[i][j] of four rows

// ---------------------------------------------------------------------------------
// sgemmAVX2_6x16

// GEMM_ROW3 sets R9 and SI to row 3 of A and of C.
#define GEMM_ROW3 \
	LEAQ (R8)(R10*2), R9 \
	ADDQ R10, R9         \
	LEAQ (DI)(R13*2), SI \
	ADDQ R13, SI

// GEMM_BYROWS jumps to the label of the function for AX rows, rows2 to rows6, or goes on below for one.
#define GEMM_BYROWS \
	CMPQ AX, $6 \
	JEQ  rows6  \
	CMPQ AX, $5 \
	JEQ  rows5  \
	CMPQ AX, $4 \
	JEQ  rows4  \
	CMPQ AX, $3 \
	JEQ  rows3  \
	CMPQ AX, $2 \
	JEQ  rows2

// func sgemmAVX2_6x16(args *panelArgs)
//
// Tile: up to 6 x 16, registers as in gemm_avx2_amd64.h. Arguments: A (ars and acs floats from row to
// row and from p to p+1; tiles begin tileStride floats apart if A is packed, tileStride = 0 if not), B
// (brs floats from p to p+1; 16 for several panels), C (crs). tiles tiles of rows rows, the first
// tall of them with one row more. If acc is set the chains go on from the old C.
//
// Frame: see gemm_panel_amd64.h. There is a fast path, dense, for panels of B with brs = 16, five or
// six rows, k >= 8 and A with acs of 1, 8 or 16 floats.
TEXT ·sgemmAVX2_6x16(SB), NOSPLIT, $312-8
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
	CMPQ R12, $64
	JNE  panel
	CMPQ GEMM_ARG_K, $8
	JLT  panel
	CMPQ GEMM_ARG_ROWS, $5
	JLT  panel
	CMPQ R11, $4
	JEQ  dense
	CMPQ R11, $32
	JEQ  dense
	CMPQ R11, $64
	JEQ  dense
panel:
	GEMM_PANELBEGIN
tile:
	MOVQ GEMM_ARG_K, CX
	MOVQ aHere-8(SP), R8
	MOVQ GEMM_ARG_B, BX
	MOVQ cHere-16(SP), DI
	GEMM_TILEROWS(GEMM_ARG_ROWS, tallLeft-32(SP), AX, even)
	GEMM_ROW3
	CMPB GEMM_ARG_ACC, $0
	JNE  olds
	GEMM_ZERO
	JMP  start

	// The chains go on from the old values of C.
olds:
	GEMM_LOAD(start)

start:
	MOVQ GEMM_ARG_STEP, DX
	CMPQ R12, $64
	JNE  strided
	CMPQ R11, $4
	JEQ  beside
strided:
	GEMM_BYROWS
	GEMM_LOOP(GEMM_STEP1, four1, fourtest1, one1, onetest1, store)
rows2:	GEMM_LOOP(GEMM_STEP2, four2, fourtest2, one2, onetest2, store)
rows3:	GEMM_LOOP(GEMM_STEP3, four3, fourtest3, one3, onetest3, store)
rows4:	GEMM_LOOP(GEMM_STEP4, four4, fourtest4, one4, onetest4, store)
rows5:	GEMM_LOOP(GEMM_STEP5, four5, fourtest5, one5, onetest5, store)
rows6:	GEMM_LOOP(GEMM_STEP6, four6, fourtest6, one6, onetest6, store)

	// Few rows of A beside each other.
beside:
	CMPQ AX, $4
	JGT  strided
	JEQ  beside4
	CMPQ AX, $2
	JGT  beside3
	JEQ  beside2
	GEMM_DENSELOOP(GEMM_STEP1, 4, beside1eight, beside1test, fourtest1)
beside2:	GEMM_DENSELOOP(GEMM_STEP2, 4, beside2eight, beside2test, fourtest2)
beside3:	GEMM_DENSELOOP(GEMM_STEP3, 4, beside3eight, beside3test, fourtest3)
beside4:	GEMM_DENSELOOP(GEMM_STEP4, 4, beside4eight, beside4test, fourtest4)

store:
	GEMM_STORE
done:
	MOVQ AX, CX
	IMULQ R13, CX
	ADDQ CX, cHere-16(SP)
	MOVQ GEMM_ARG_TILESTRIDE, CX
	SHLQ $2, CX
	JNE  packed
	MOVQ AX, CX
	IMULQ R10, CX
packed:
	ADDQ CX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	GEMM_PANELNEXT(6, panel, end)

	// Tiles of five and six rows, of A contiguous, packed or in panels (acs 1, 8, 16). The rows
	// from 3 on are stored after the first three inner indices of rows 0 to 2 of the next tile, which
	// may be that of the panel beside it.
dense:
	XORQ R12, R12            // R12: row 3 of the tile before, where AX rows less 3 are not stored, or 0
densePanel:
	GEMM_PANELBEGIN
denseTile:
	MOVQ GEMM_ARG_K, CX
	MOVQ aHere-8(SP), R8
	MOVQ GEMM_ARG_B, BX
	MOVQ cHere-16(SP), DI
	GEMM_ROW3
	CMPB GEMM_ARG_ACC, $0
	JNE  olds3
	GEMM_ZERO3
	JMP  first3
olds3:
	GEMM_LOAD3(DI, R13)
first3:
	CMPQ R11, $32
	JEQ  firstPacked
	JGT  firstPanel
	GEMM_STEP3(0, 4)
	GEMM_STEP3(1, 4)
	GEMM_STEP3(2, 4)
	JMP  above
firstPacked:
	GEMM_STEP3(0, 32)
	GEMM_STEP3(1, 32)
	GEMM_STEP3(2, 32)
	JMP  above
firstPanel:
	GEMM_STEP3(0, 64)
	GEMM_STEP3(1, 64)
	GEMM_STEP3(2, 64)
above:
	TESTQ R12, R12
	JEQ  late
	GEMM_STORELATE(R12, R13, AX, late)
late:
	MOVQ SI, R12
	GEMM_TILEROWS(GEMM_ARG_ROWS, tallLeft-32(SP), AX, evenLate)
	CMPB GEMM_ARG_ACC, $0
	JNE  oldsLate
	GEMM_ZEROLATE
	JMP  startLate
oldsLate:
	GEMM_LOADLATE(SI, R13, AX, belowLate)
belowLate:                       // old values of the tile below are fetched
	LEAQ (SI)(R13*2), DX     // row 5; with six rows the tile below begins one further on
	PREFETCHT0 (DX)(R13*1)
	PREFETCHT0 60(DX)(R13*1)
	PREFETCHT0 (DX)(R13*2)
	PREFETCHT0 60(DX)(R13*2)
	LEAQ (DX)(R13*2), DX
	PREFETCHT0 (DX)(R13*1)
	PREFETCHT0 60(DX)(R13*1)
	PREFETCHT0 (DX)(R13*2)
	PREFETCHT0 60(DX)(R13*2)
	LEAQ (DX)(R13*2), DX
	PREFETCHT0 (DX)(R13*1)
	PREFETCHT0 60(DX)(R13*1)
	PREFETCHT0 (DX)(R13*2)
	PREFETCHT0 60(DX)(R13*2)
startLate:
	MOVQ GEMM_ARG_STEP, DX
	CMPQ AX, $6
	JNE  late5
	CMPQ R11, $32
	JEQ  packed6
	JGT  panel6
	GEMM_LATELOOP(GEMM_STEP6, GEMM_LATE6, 4, GEMM_AHEAD, beside6eight, beside6test, beside6one, beside6onetest)
packed6:	GEMM_LATELOOP(GEMM_STEP6, GEMM_LATE6, 32, GEMM_AHEAD, packed6eight, packed6test, packed6one, packed6onetest)
panel6:	GEMM_LATELOOP(GEMM_STEP6, GEMM_LATE6, 64, GEMM_AHEAD, panel6eight, panel6test, panel6one, panel6onetest)
late5:
	CMPQ R11, $32
	JEQ  packed5
	JGT  panel5
	GEMM_LATELOOP(GEMM_STEP5, GEMM_LATE5, 4, GEMM_AHEAD, beside5eight, beside5test, beside5one, beside5onetest)
packed5:	GEMM_LATELOOP(GEMM_STEP5, GEMM_LATE5, 32, GEMM_AHEAD, packed5eight, packed5test, packed5one, packed5onetest)
panel5:	GEMM_LATELOOP(GEMM_STEP5, GEMM_LATE5, 64, GEMM_AHEAD, panel5eight, panel5test, panel5one, panel5onetest)

store3:
	GEMM_STORE3(DI, R13)
	MOVQ AX, CX
	IMULQ R13, CX
	ADDQ CX, cHere-16(SP)
	MOVQ GEMM_ARG_TILESTRIDE, CX
	SHLQ $2, CX
	JNE  packedLate
	MOVQ AX, CX
	IMULQ R10, CX
packedLate:
	ADDQ CX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  denseTile
	GEMM_PANELNEXT(6, densePanel, last)
last:
	GEMM_STORELATE(R12, R13, AX, end)
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAtAVX2_6x16

// GEMM_LOOPAT is the loop over the inner index when the rows of B and the columns of A lie anywhere: R12
// walks along the places of B, DX along the steps of A, R15 is the start of B. It ends with a jump to the label
// store of the function.
#define GEMM_LOOPAT(step, one, test) \
	JMP  test            \
one: \
	MOVLQSX (R12), BX         \ // at[p]
	MOVLQSX (DX), R11         \
	ADDQ $4, R12              \
	ADDQ GEMM_ARG_STEPSBY, DX \
	LEAQ (R15)(BX*4), BX      \ // B[at[p]]
	step(0, 0)                \
	LEAQ (R8)(R11*4), R8      \
	LEAQ (R9)(R11*4), R9      \
test: \
	SUBQ $1, CX               \
	JGE  one                  \
	JMP  store

// func sgemmAtAVX2_6x16(args *panelArgs)
//
// Tile: up to 6 x 16, registers as in gemm_avx2_amd64.h, but R12 and DX are the next elements
// of at and steps, and R15 is the start of B. The frame is that of gemm_panel_amd64.h.
TEXT ·sgemmAtAVX2_6x16(SB), NOSPLIT, $312-8
	MOVQ args+0(FP), CX
	GEMM_COPYARGUMENTS
	MOVQ GEMM_ARG_ARS, R10
	MOVQ GEMM_ARG_CRS, R13
	SHLQ $2, R10
	SHLQ $2, R13
panel:
	GEMM_PANELBEGIN
	MOVQ GEMM_ARG_B, R15
tile:
	MOVQ GEMM_ARG_K, CX
	MOVQ aHere-8(SP), R8
	MOVQ GEMM_ARG_AT, R12
	MOVQ GEMM_ARG_STEPS, DX
	MOVQ cHere-16(SP), DI
	GEMM_TILEROWS(GEMM_ARG_ROWS, tallLeft-32(SP), AX, even)
	GEMM_ROW3
	CMPB GEMM_ARG_ACC, $0
	JNE  olds
	GEMM_ZERO
	JMP  start
olds:
	GEMM_LOAD(start)
start:
	GEMM_BYROWS
	GEMM_LOOPAT(GEMM_STEP1, one1, test1)
rows2:	GEMM_LOOPAT(GEMM_STEP2, one2, test2)
rows3:	GEMM_LOOPAT(GEMM_STEP3, one3, test3)
rows4:	GEMM_LOOPAT(GEMM_STEP4, one4, test4)
rows5:	GEMM_LOOPAT(GEMM_STEP5, one5, test5)
rows6:	GEMM_LOOPAT(GEMM_STEP6, one6, test6)

store:
	GEMM_STORE
done:
	MOVQ AX, CX
	IMULQ R13, CX
	ADDQ CX, cHere-16(SP)
	MOVQ AX, CX
	IMULQ R10, CX
	ADDQ CX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	GEMM_PANELNEXTAT(64, panel)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Transposition

// TRANSPOSE_STOREROWS stores four rows of dst at p, R8 bytes apart; BX is three times that.
#define TRANSPOSE_STOREROWS(p, a, b, c, d) \
	VMOVUPS a, (p)       \
	VMOVUPS b, (p)(R8*1) \
	VMOVUPS c, (p)(R8*2) \
	VMOVUPS d, (p)(BX*1)

// func transposeBlocksAVX2(dst []float32, ds int, src []float32, ss, rows, cols int)
//
// rows is a multiple of 8, cols of 4; both are above 0. Tile: 8 x 8, the last columns 8 x 4.
//
// DI dst of these rows   R8, BX  bytes from row to row of dst, and three times that
// SI src of these rows   R9, R11 the same of src
// R10 rows left          R13     columns left
// R12, DX: src and dst of the current columns
TEXT ·transposeBlocksAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ ss+56(FP), R9
	MOVQ rows+64(FP), R10
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R11
	LEAQ (R8)(R8*2), BX
eight:
	MOVQ SI, R12             // of these rows
	MOVQ DI, DX
	MOVQ cols+72(FP), R13    // columns left
columns:
	LEAQ (R12)(R9*4), R15
	CMPQ R13, $8
	JLT  four
	TRANSPOSE_LOADROWS(R12, Y0, Y1, Y2, Y3)
	TRANSPOSE_LOADROWS(R15, Y4, Y5, Y6, Y7)
	TRANSPOSE_PAIRS(Y0, Y1, Y2, Y3, Y8, Y9, Y10, Y11)
	TRANSPOSE_PAIRS(Y4, Y5, Y6, Y7, Y12, Y13, Y14, Y15)
	TRANSPOSE_QUADS(Y8, Y9, Y10, Y11, Y0, Y1, Y2, Y3) // columns 0 and 4, ... 3 and 7 of rows 0 to 3
	TRANSPOSE_QUADS(Y12, Y13, Y14, Y15, Y4, Y5, Y6, Y7) // and of rows 4 to 7
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15
	LEAQ (DX)(R8*4), R15
	TRANSPOSE_STOREROWS(DX, Y8, Y9, Y10, Y11)
	TRANSPOSE_STOREROWS(R15, Y12, Y13, Y14, Y15)
	LEAQ (DX)(R8*8), DX
	ADDQ $32, R12
	SUBQ $8, R13
	JGT  columns
	JMP  below
four:
	TRANSPOSE_LOADROWS(R12, X0, X1, X2, X3)
	VINSERTF128 $1, (R15), Y0, Y0
	VINSERTF128 $1, (R15)(R9*1), Y1, Y1
	VINSERTF128 $1, (R15)(R9*2), Y2, Y2
	VINSERTF128 $1, (R15)(R11*1), Y3, Y3
	TRANSPOSE_PAIRS(Y0, Y1, Y2, Y3, Y8, Y9, Y10, Y11)
	TRANSPOSE_QUADS(Y8, Y9, Y10, Y11, Y0, Y1, Y2, Y3)
	TRANSPOSE_STOREROWS(DX, Y0, Y1, Y2, Y3)
below:
	LEAQ (SI)(R9*8), SI
	ADDQ $32, DI
	SUBQ $8, R10
	JGT  eight
	VZEROUPPER
	RET

// func transposeFourAVX2(dst []float32, ds int, src []float32, ss, cols int)
//
// cols is a multiple of 8 above 0. Tile: 4 x 8.
//
// DI dst   R8, BX  bytes from row to row of dst, and three times that
// SI src   R9, R11 the same of src
// CX columns left
TEXT ·transposeFourAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ ss+56(FP), R9
	MOVQ cols+64(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R11
	LEAQ (R8)(R8*2), BX
columns:
	TRANSPOSE_LOADROWS(SI, Y0, Y1, Y2, Y3)
	TRANSPOSE_PAIRS(Y0, Y1, Y2, Y3, Y8, Y9, Y10, Y11)
	TRANSPOSE_QUADS(Y8, Y9, Y10, Y11, Y0, Y1, Y2, Y3) // columns 0 and 4, ... 3 and 7
	LEAQ (DI)(R8*4), DX
	TRANSPOSE_STOREROWS(DI, X0, X1, X2, X3)
	VEXTRACTF128 $1, Y0, (DX)
	VEXTRACTF128 $1, Y1, (DX)(R8*1)
	VEXTRACTF128 $1, Y2, (DX)(R8*2)
	VEXTRACTF128 $1, Y3, (DX)(BX*1)
	LEAQ (DI)(R8*8), DI
	ADDQ $32, SI
	SUBQ $8, CX
	JGT  columns
	VZEROUPPER
	RET
