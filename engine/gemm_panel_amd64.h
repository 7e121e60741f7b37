// Shared by sgemmAVX2_6x16, sgemmAVX512_14x32 and sgemmAVX512_6x64: the walk over the panels of B
// (or pairs of panels) of one call. Frame slots used by every caller:
//
//	aHere-8, cHere-16     A and C of the current tile
//	tilesLeft-24          tiles left in the panel
//	tallLeft-32           tiles left that have one row more
//
// b, c, next and panels are arguments and are advanced in place from panel to panel. go vet checks
// these names where the macros are used, with the arguments passed in.

// GEMM_PANELBEGIN starts a panel: it fills the frame slots above, and R15 is the address that is
// prefetched (the panel after this one). Changes CX.
#define GEMM_PANELBEGIN(a, c, tiles, tall, next) \
	MOVQ next, R15            \
	MOVQ a, CX                \
	MOVQ CX, aHere-8(SP)      \
	MOVQ c, CX                \
	MOVQ CX, cHere-16(SP)     \
	MOVQ tiles, CX            \
	MOVQ CX, tilesLeft-24(SP) \
	MOVQ tall, CX        \
	MOVQ CX, tallLeft-32(SP)

// GEMM_PANELNEXT advances to the next panel of 1<<shift bytes of columns of C and jumps to the label
// panel, or to the label end after the last one. Changes CX.
#define GEMM_PANELNEXT(k, b, c, next, panels, shift, panel, end) \
	SUBQ $1, panels     \
	JEQ  end            \
	MOVQ k, CX          \
	SHLQ $shift, CX     \
	ADDQ CX, b          \
	ADDQ CX, next       \
	ADDQ $(1<<shift), c \
	JMP  panel
