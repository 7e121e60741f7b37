// What quadFewAVX2 and quadFewAVX512 have in common: the same arguments, and the way from tile to
// tile, first down the rows and then on to the next component, while the tile below is prepared.
// (go vet does not read the names here.)

// FEWARGUMENTS makes bytes of the strides, and what to add for the next component: ps to p, of which
// there may be one for all, and ns to next. R15 is where next is fetched from. It changes CX.
#define FEWARGUMENTS(many, fetches) \
	SHLQ $2, gc+32(FP)       \
	SHLQ $2, gs+40(FP)       \
	SHLQ $2, qc+72(FP)       \
	SHLQ $2, xs+104(FP)      \
	SHLQ $2, d+136(FP)       \
	MOVL $Packed__size, CX   \
	CMPQ p_len+152(FP), $1   \
	JNE  many                \
	XORL CX, CX              \
many: \
	MOVQ CX, ps-8(SP)        \
	MOVQ gc+32(FP), CX       \
	CMPQ step+240(FP), $0    \
	JNE  fetches             \
	XORL CX, CX              \
fetches: \
	MOVQ CX, ns-16(SP)       \
	MOVQ next_base+216(FP), R15

// TILEROWS sets count to the rows of the tile that comes next.
#define TILEROWS(count, even) \
	MOVQ rows+200(FP), count \
	CMPQ longerLeft-56(SP), $0 \
	JLE  even                \
	SUBQ $1, longerLeft-56(SP) \
	ADDQ $1, count           \ // the first tiles have one row more
even:

// NEXTCOMPONENT counts the arguments on to the next component. It changes CX.
#define NEXTCOMPONENT \
	MOVQ gc+32(FP), CX       \
	ADDQ CX, g_base+8(FP)    \
	MOVQ qc+72(FP), CX       \
	ADDQ CX, q_base+48(FP)   \
	MOVQ d+136(FP), CX       \
	ADDQ CX, mu_base+112(FP) \
	MOVQ ps-8(SP), CX        \
	ADDQ CX, p_base+144(FP)  \
	MOVQ ns-16(SP), CX       \
	ADDQ CX, next_base+216(FP)

// FIRSTTILE makes the first tile the one below. It changes CX and DI.
#define FIRSTTILE(even) \
	MOVQ $0, nextBelow-96(SP) \
	MOVQ tiles+192(FP), CX   \
	SUBQ $1, CX              \
	MOVQ CX, tilesLeft-48(SP) \
	MOVQ longer+208(FP), CX  \
	MOVQ CX, longerLeft-56(SP) \
	TILEROWS(CX, even)       \
	MOVQ CX, rowsBelow-104(SP) \
	MOVQ g_base+8(FP), DI    \
	MOVQ DI, gBelow-120(SP)  \
	MOVQ q_base+48(FP), DI   \
	MOVQ DI, qBelow-136(SP)  \
	MOVQ x_base+80(FP), DI   \
	MOVQ DI, xBelow-152(SP)

// NEXTTILE goes on to the tile below, and finds the one below that: after the last one, when comps
// is 0, that stays the same. It changes CX, DX, DI, R8 and R13, and R15 with the component.
#define NEXTTILE(same, component, placed, even, known) \
	MOVQ rowsBelow-104(SP), R13 \
	MOVQ R13, rowsHere-160(SP) \
	MOVQ gBelow-120(SP), DI  \
	MOVQ DI, gHere-24(SP)    \
	MOVQ qBelow-136(SP), DX  \
	MOVQ DX, qHere-32(SP)    \
	MOVQ p_base+144(FP), R8  \
	MOVQ Packed_data(R8), R8 \
	MOVQ R8, pHere-168(SP)   \
	MOVQ nextBelow-96(SP), CX \
	TESTQ CX, CX             \
	JEQ  same                \
	MOVQ CX, R15             \
	MOVQ $0, nextBelow-96(SP) \
same: \
	MOVQ xBelow-152(SP), R8  \
	SUBQ $1, tilesLeft-48(SP) \
	JLT  component           \
	LEAQ (DX)(R13*4), DX     \
	MOVQ R13, CX             \
	IMULQ gs+40(FP), CX      \
	ADDQ CX, DI              \
	IMULQ xs+104(FP), R13    \
	ADDQ R13, R8             \
	JMP  placed              \
component: \
	SUBQ $1, comps+0(FP)     \
	JEQ  known               \
	NEXTCOMPONENT            \
	MOVQ next_base+216(FP), CX \
	MOVQ CX, nextBelow-96(SP) \
	MOVQ g_base+8(FP), DI    \
	MOVQ q_base+48(FP), DX   \
	MOVQ x_base+80(FP), R8   \
	MOVQ tiles+192(FP), CX   \
	SUBQ $1, CX              \
	MOVQ CX, tilesLeft-48(SP) \
	MOVQ longer+208(FP), CX  \
	MOVQ CX, longerLeft-56(SP) \
placed: \
	MOVQ DI, gBelow-120(SP)  \
	MOVQ DX, qBelow-136(SP)  \
	MOVQ R8, xBelow-152(SP)  \
	TILEROWS(CX, even)       \
	MOVQ CX, rowsBelow-104(SP) \
known:
