// Shared by asm_gemm_amd64.s and asm_gemm_avx512_amd64.s: the arguments of products, the walk over the panels of
// B of one call, and at the end steps of the transpositions. The frames of the products, of
// 312 bytes, hold a copy of the arguments, in the lowest 256 bytes, and these slots (offsets from SP):
//
//	aHere-8, cHere-16     A and C of the current tile
//	tilesLeft-24          tiles left in the panel
//	tallLeft-32           tiles left that have one row more
//
// b, c, next and panels are advanced in place from panel to panel.

// The arguments, a panelArgs.
#define GEMM_ARG_K          k-312+panelArgs_k(SP)
#define GEMM_ARG_A          a_base-312+panelArgs_a(SP)
#define GEMM_ARG_ARS        ars-312+panelArgs_ars(SP)
#define GEMM_ARG_ACS        acs-312+panelArgs_acs(SP)
#define GEMM_ARG_TILESTRIDE tileStride-312+panelArgs_tileStride(SP)
#define GEMM_ARG_B          b_base-312+panelArgs_b(SP)
#define GEMM_ARG_BRS        brs-312+panelArgs_brs(SP)
#define GEMM_ARG_AT         at_base-312+panelArgs_at(SP)
#define GEMM_ARG_C          c_base-312+panelArgs_c(SP)
#define GEMM_ARG_CRS        crs-312+panelArgs_crs(SP)
#define GEMM_ARG_COLS       cols-312+panelArgs_cols(SP)
#define GEMM_ARG_TILES      tiles-312+panelArgs_tiles(SP)
#define GEMM_ARG_ROWS       rows-312+panelArgs_rows(SP)
#define GEMM_ARG_TALL       tall-312+panelArgs_tall(SP)
#define GEMM_ARG_ACC        acc-312+panelArgs_acc(SP)
#define GEMM_ARG_NEXT       next_base-312+panelArgs_next(SP)
#define GEMM_ARG_STEP       step-312+panelArgs_step(SP)
#define GEMM_ARG_PANELS     panels-312+panelArgs_panels(SP)
#define GEMM_ARG_STEPS      steps_base-312+panelArgs_steps(SP)
#define GEMM_ARG_STEPSBY    stepsBy-312+panelArgs_stepsBy(SP)

// GEMM_COPYARGUMENTS copies the arguments at CX into the frame. Changes Y0.
#define GEMM_COPYARGUMENTS \
	VMOVUPS (CX), Y0         \
	VMOVUPS Y0, args-312(SP) \
	VMOVUPS 32(CX), Y0       \
	VMOVUPS Y0, args-280(SP) \
	VMOVUPS 64(CX), Y0       \
	VMOVUPS Y0, args-248(SP) \
	VMOVUPS 96(CX), Y0       \
	VMOVUPS Y0, args-216(SP) \
	VMOVUPS 128(CX), Y0      \
	VMOVUPS Y0, args-184(SP) \
	VMOVUPS 160(CX), Y0      \
	VMOVUPS Y0, args-152(SP) \
	VMOVUPS 192(CX), Y0      \
	VMOVUPS Y0, args-120(SP) \
	VMOVUPS 224(CX), Y0      \
	VMOVUPS Y0, args-88(SP)

// GEMM_TILEROWS sets count to the number of rows of the next tile: rows, or one more for the first tall tiles.
#define GEMM_TILEROWS(rows, tall, count, even) \
	MOVQ rows, count \
	CMPQ tall, $0    \
	JLE  even        \
	SUBQ $1, tall    \
	ADDQ $1, count   \
even:

// GEMM_PANELBEGIN starts a panel: it fills the frame slots above, and R15 is the address that is
// prefetched (the panel after this one). Changes CX.
#define GEMM_PANELBEGIN \
	MOVQ GEMM_ARG_NEXT, R15   \
	MOVQ GEMM_ARG_A, CX       \
	MOVQ CX, aHere-8(SP)      \
	MOVQ GEMM_ARG_C, CX       \
	MOVQ CX, cHere-16(SP)     \
	MOVQ GEMM_ARG_TILES, CX   \
	MOVQ CX, tilesLeft-24(SP) \
	MOVQ GEMM_ARG_TALL, CX    \
	MOVQ CX, tallLeft-32(SP)

// GEMM_PANELNEXT advances to the next panel of 1<<shift bytes of columns of C and jumps to the label
// panel, or to the label end after the last one. Changes CX.
#define GEMM_PANELNEXT(shift, panel, end) \
	SUBQ $1, GEMM_ARG_PANELS     \
	JEQ  end                     \
	MOVQ GEMM_ARG_K, CX          \
	SHLQ $shift, CX              \
	ADDQ CX, GEMM_ARG_B          \
	ADDQ CX, GEMM_ARG_NEXT       \
	ADDQ $(1<<shift), GEMM_ARG_C \
	JMP  panel

// GEMM_PANELNEXTAT is GEMM_PANELNEXT for rows of B that lie anywhere: the next panel is bytes further in
// each. After the last one it goes on below.
#define GEMM_PANELNEXTAT(bytes, panel) \
	ADDQ $bytes, GEMM_ARG_B  \
	ADDQ $bytes, GEMM_ARG_C  \
	SUBQ $1, GEMM_ARG_PANELS \
	JNE  panel

// TRANSPOSE_LOADROWS loads four rows of src at p, R9 bytes apart; R11 is three times that.
#define TRANSPOSE_LOADROWS(p, a, b, c, d) \
	VMOVUPS (p), a       \
	VMOVUPS (p)(R9*1), b \
	VMOVUPS (p)(R9*2), c \
	VMOVUPS (p)(R11*1), d

// TRANSPOSE_PAIRS interleaves rows a and b, and rows c and d, in halves of four columns: columns 0 and 1, then
// 2 and 3. TRANSPOSE_QUADS makes columns 0 to 3 of the four rows of what that leaves.
#define TRANSPOSE_PAIRS(a, b, c, d, ab0, ab2, cd0, cd2) \
	VUNPCKLPS b, a, ab0 \
	VUNPCKHPS b, a, ab2 \
	VUNPCKLPS d, c, cd0 \
	VUNPCKHPS d, c, cd2

#define TRANSPOSE_QUADS(ab0, ab2, cd0, cd2, col0, col1, col2, col3) \
	VUNPCKLPD cd0, ab0, col0 \
	VUNPCKHPD cd0, ab0, col1 \
	VUNPCKLPD cd2, ab2, col2 \
	VUNPCKHPD cd2, ab2, col3
