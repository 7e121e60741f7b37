//go:build arm64 && !purego && !noasm

#include "go_asm.h"
#include "textflag.h"
#include "vector_arm64.h"

// NEON: matrix products. One call is one tile; panelNEON and panelAtNEON walk over the tiles.
//
// Registers and conventions: see asm_arm64.s.
//
// Contents:
//
//	sgemmNEON_6x16    one tile of a matrix product, C = A B or C += A B
//	sgemmAtNEON_6x16  one tile of a product whose rows of B and columns of A lie anywhere

// ---------------------------------------------------------------------------------
// sgemmNEON_6x16

// One tile of C of up to 6 rows and 16 columns:
//
//	V8 to V11, ... V28 to V31   accumulators: row i is V(8+4i) to V(11+4i)
//	V0 to V3                    B[p], 16 columns
//	V4 to V7                    A[i][p] in lane 0, multiplied by element: a load that broadcasts
//	                            would take a slot of the FMA units
//	R1 to R6, R9                rows 0 to 5 of A, and the offset of p in them, R10 bytes from p to p+1
//	R8, R11                     B[p], and bytes from p to p+1
//	R7                          inner indices p left
//	R19, R20                    address that is prefetched, and its step
//	R0, R12, R14                C, bytes from row to row, rows of the tile
//	R21                         the arguments; b, brs, c and so on are those of one tile
//
// GEMM_STEPr is one inner index for r rows.

#define GEMM_LOADB \
	FLDPQ (R8), (F0, F1) \
	FLDPQ 32(R8), (F2, F3)

#define GEMM_LOADA0 FMOVS (R1)(R9), F4
#define GEMM_LOADA1 FMOVS (R2)(R9), F5
#define GEMM_LOADA2 FMOVS (R3)(R9), F6
#define GEMM_LOADA3 FMOVS (R4)(R9), F7
#define GEMM_LOADA4 FMOVS (R5)(R9), F4
#define GEMM_LOADA5 FMOVS (R6)(R9), F5

// GEMM_ROW is one row of the tile at one inner index: lane 0 of register a times B, added to the four
// accumulators from c on.
#define GEMM_ROW(a, c) \
	VFMLA4S0(a, 0, c)   \
	VFMLA4S0(a, 1, c+1) \
	VFMLA4S0(a, 2, c+2) \
	VFMLA4S0(a, 3, c+3)

#define GEMM_STEP1 \
	GEMM_LOADB  \
	GEMM_LOADA0 \
	GEMM_ROW(4, 8)

#define GEMM_STEP2 \
	GEMM_LOADB     \
	GEMM_LOADA0    \
	GEMM_LOADA1    \
	GEMM_ROW(4, 8) \
	GEMM_ROW(5, 12)

#define GEMM_STEP3 \
	GEMM_LOADB      \
	GEMM_LOADA0     \
	GEMM_LOADA1     \
	GEMM_LOADA2     \
	GEMM_ROW(4, 8)  \
	GEMM_ROW(5, 12) \
	GEMM_ROW(6, 16)

#define GEMM_STEP4 \
	GEMM_LOADB      \
	GEMM_LOADA0     \
	GEMM_LOADA1     \
	GEMM_LOADA2     \
	GEMM_LOADA3     \
	GEMM_ROW(4, 8)  \
	GEMM_ROW(5, 12) \
	GEMM_ROW(6, 16) \
	GEMM_ROW(7, 20)

#define GEMM_STEP5 \
	GEMM_LOADB      \
	GEMM_LOADA0     \
	GEMM_LOADA1     \
	GEMM_LOADA2     \
	GEMM_LOADA3     \
	GEMM_ROW(4, 8)  \
	GEMM_LOADA4     \
	GEMM_ROW(5, 12) \
	GEMM_ROW(6, 16) \
	GEMM_ROW(7, 20) \
	GEMM_ROW(4, 24)

#define GEMM_STEP6 \
	GEMM_LOADB      \
	GEMM_LOADA0     \
	GEMM_LOADA1     \
	GEMM_LOADA2     \
	GEMM_LOADA3     \
	GEMM_ROW(4, 8)  \
	GEMM_LOADA4     \
	GEMM_ROW(5, 12) \
	GEMM_LOADA5     \
	GEMM_ROW(6, 16) \
	GEMM_ROW(7, 20) \
	GEMM_ROW(4, 24) \
	GEMM_ROW(5, 28)

// GEMM_NEXT advances to the next inner index.
#define GEMM_NEXT \
	ADD R10, R9 \
	ADD R11, R8

// GEMM_LOOP runs step over all inner indices, four at a time, then one at a time, and jumps to done.
// Every four prefetch a line of the next panel of B.
#define GEMM_LOOP(step, four, fourtest, one, onetest, done) \
	B    fourtest         \
four: \
	PRFM (R19), PLDL2KEEP \
	ADD  R20, R19         \
	step                  \
	GEMM_NEXT             \
	step                  \
	GEMM_NEXT             \
	step                  \
	GEMM_NEXT             \
	step                  \
	GEMM_NEXT             \
fourtest: \
	SUBS $4, R7           \
	BGE  four             \
	ADD  $4, R7           \
	B    onetest          \
one: \
	step                  \
	GEMM_NEXT             \
onetest: \
	SUBS $1, R7           \
	BGE  one              \
	B    done

// GEMM_ZERO clears the accumulators. GEMM_LOAD and GEMM_STORE load and store the R14 rows of C and jump
// to the labels start and done of the function after the last. GEMM_LOAD changes R15, GEMM_STORE R0.
#define GEMM_ZERO \
	VEC_ZERO4(V8, V9, V10, V11) \
	VEC_ZERO4(V12, V13, V14, V15) \
	VEC_ZERO4(V16, V17, V18, V19) \
	VEC_ZERO4(V20, V21, V22, V23) \
	VEC_ZERO4(V24, V25, V26, V27) \
	VEC_ZERO4(V28, V29, V30, V31)

#define GEMM_LOAD \
	MOVD  R0, R15             \
	FLDPQ (R15), (F8, F9)     \
	FLDPQ 32(R15), (F10, F11) \
	CMP   $2, R14             \
	BLT   start               \
	ADD   R12, R15            \
	FLDPQ (R15), (F12, F13)   \
	FLDPQ 32(R15), (F14, F15) \
	BEQ   start               \
	ADD   R12, R15            \
	FLDPQ (R15), (F16, F17)   \
	FLDPQ 32(R15), (F18, F19) \
	CMP   $4, R14             \
	BLT   start               \
	ADD   R12, R15            \
	FLDPQ (R15), (F20, F21)   \
	FLDPQ 32(R15), (F22, F23) \
	BEQ   start               \
	ADD   R12, R15            \
	FLDPQ (R15), (F24, F25)   \
	FLDPQ 32(R15), (F26, F27) \
	CMP   $6, R14             \
	BLT   start               \
	ADD   R12, R15            \
	FLDPQ (R15), (F28, F29)   \
	FLDPQ 32(R15), (F30, F31)

#define GEMM_STORE \
	FSTPQ (F8, F9), (R0)     \
	FSTPQ (F10, F11), 32(R0) \
	CMP   $2, R14            \
	BLT   done               \
	ADD   R12, R0            \
	FSTPQ (F12, F13), (R0)   \
	FSTPQ (F14, F15), 32(R0) \
	BEQ   done               \
	ADD   R12, R0            \
	FSTPQ (F16, F17), (R0)   \
	FSTPQ (F18, F19), 32(R0) \
	CMP   $4, R14            \
	BLT   done               \
	ADD   R12, R0            \
	FSTPQ (F20, F21), (R0)   \
	FSTPQ (F22, F23), 32(R0) \
	BEQ   done               \
	ADD   R12, R0            \
	FSTPQ (F24, F25), (R0)   \
	FSTPQ (F26, F27), 32(R0) \
	CMP   $6, R14            \
	BLT   done               \
	ADD   R12, R0            \
	FSTPQ (F28, F29), (R0)   \
	FSTPQ (F30, F31), 32(R0)

// GEMM_ARGUMENTS loads what both functions share of the arguments: k, A, C, the rows of the tile and, in R15,
// acc. R9 is 0, the offset of the first inner index.
#define GEMM_ARGUMENTS \
	MOVD  args+0(FP), R21          \
	MOVD  panelArgs_k(R21), R7     \
	MOVD  panelArgs_a(R21), R1     \
	MOVD  panelArgs_ars(R21), R13  \
	MOVD  panelArgs_acs(R21), R10  \
	MOVD  panelArgs_c(R21), R0     \
	MOVD  panelArgs_crs(R21), R12  \
	MOVD  panelArgs_rows(R21), R14 \
	MOVBU panelArgs_acc(R21), R15  \
	LSL   $2, R10, R10             \
	LSL   $2, R12, R12             \
	ADD   R13<<2, R1, R2           \
	ADD   R13<<2, R2, R3           \
	ADD   R13<<2, R3, R4           \
	ADD   R13<<2, R4, R5           \
	ADD   R13<<2, R5, R6           \
	MOVD  ZR, R9

// GEMM_BYROWS jumps to the label of the function for R14 rows, rows2 to rows6, or goes on below for one.
#define GEMM_BYROWS \
	CMP $6, R14 \
	BEQ rows6   \
	CMP $5, R14 \
	BEQ rows5   \
	CMP $4, R14 \
	BEQ rows4   \
	CMP $3, R14 \
	BEQ rows3   \
	CMP $2, R14 \
	BEQ rows2

// func sgemmNEON_6x16(args *panelArgs)
//
// A: ars and acs floats from row to row and from p to p+1. B: brs floats from p to p+1. C: crs. rows is 1
// to 6. If acc is set the chains go on from the old C. Tile and registers as above.
TEXT ·sgemmNEON_6x16(SB), NOSPLIT, $0-8
	GEMM_ARGUMENTS
	MOVD  panelArgs_b(R21), R8
	MOVD  panelArgs_brs(R21), R11
	MOVD  panelArgs_next(R21), R19
	MOVD  panelArgs_step(R21), R20
	LSL   $2, R11, R11
	CBNZ  R15, old

	GEMM_ZERO
	B     start

	// The chains go on from the old values of C.
old:
	GEMM_LOAD

start:
	GEMM_BYROWS
	GEMM_LOOP(GEMM_STEP1, four1, fourtest1, one1, onetest1, store)
rows2:	GEMM_LOOP(GEMM_STEP2, four2, fourtest2, one2, onetest2, store)
rows3:	GEMM_LOOP(GEMM_STEP3, four3, fourtest3, one3, onetest3, store)
rows4:	GEMM_LOOP(GEMM_STEP4, four4, fourtest4, one4, onetest4, store)
rows5:	GEMM_LOOP(GEMM_STEP5, four5, fourtest5, one5, onetest5, store)
rows6:	GEMM_LOOP(GEMM_STEP6, four6, fourtest6, one6, onetest6, store)

store:
	GEMM_STORE
done:
	RET

// ---------------------------------------------------------------------------------
// sgemmAtNEON_6x16

// GEMM_LOOPAT is the loop over the inner index when the rows of B and the columns of A lie anywhere: R19 walks
// along the places of B, R20 along the steps of A, R22 bytes from one to the next, R11 is the start of B. It ends
// with a jump to the label store of the function.
#define GEMM_LOOPAT(step, one, test) \
	B    test           \
one: \
	MOVW (R19), R8      \ // at[p]
	MOVW (R20), R10     \
	ADD  $4, R19        \
	ADD  R22, R20       \
	ADD  R8<<2, R11, R8 \ // B[at[p]]
	step                \
	ADD  R10<<2, R9     \
test: \
	SUBS $1, R7         \
	BGE  one            \
	B    store

// func sgemmAtNEON_6x16(args *panelArgs)
//
// One tile, registers as in sgemmNEON_6x16, but R19 and R20 are the next elements of at and steps, R22 bytes from
// one step to the next, R10 the step in floats, and R11 the start of B.
TEXT ·sgemmAtNEON_6x16(SB), NOSPLIT, $0-8
	GEMM_ARGUMENTS
	MOVD  panelArgs_b(R21), R11
	MOVD  panelArgs_at(R21), R19
	MOVD  panelArgs_steps(R21), R20
	MOVD  panelArgs_stepsBy(R21), R22
	CBNZ  R15, old
	GEMM_ZERO
	B     start
old:
	GEMM_LOAD
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
	RET
