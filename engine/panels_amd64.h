// What sgemmAVX2_6x16, sgemmAVX512_14x32 and sgemmAVX512_6x64 have in common: the way from panel to
// panel, or from pair to pair, of a call. The locals are counted on from tile to tile, the arguments
// b, c, next and panels (pairs) from panel to panel. (go vet reads the names where these are used.)

// PANELBEGIN begins a panel: R15 is where the one after it is fetched from. It changes CX.
#define PANELBEGIN(a, c, tiles, longer, next) \
	MOVQ next, R15           \
	MOVQ a, CX               \
	MOVQ CX, aHere-8(SP)     \
	MOVQ c, CX               \
	MOVQ CX, cHere-16(SP)    \
	MOVQ tiles, CX           \
	MOVQ CX, tilesLeft-24(SP) \
	MOVQ longer, CX          \
	MOVQ CX, longerLeft-32(SP)

// PANELNEXT goes on to the panel beside, of so many columns of C in bytes, 1<<shift, or at end where
// there is none left. It changes CX.
#define PANELNEXT(k, b, c, next, panels, shift, panel, end) \
	SUBQ $1, panels          \
	JEQ  end                 \
	MOVQ k, CX               \
	SHLQ $shift, CX          \
	ADDQ CX, b               \
	ADDQ CX, next            \
	ADDQ $(1<<shift), c      \
	JMP  panel
