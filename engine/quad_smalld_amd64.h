// Shared by quadSmallDAVX2 and quadSmallDAVX512, the quadratic forms for small d: the walk from tile to
// tile, first down the rows of a component and then on to the next component, while the next tile is
// being prepared ("below"; the tile before is "above"). Both kernels have the same arguments, used
// here by name and offset, and share these frame slots (offsets from SP; the smaller of both frames is
// 192 bytes):
//
//	ps-8           bytes from one component's P to the next, 0 if they share one
//	ns-16          the same for next, 0 if nothing is prefetched
//	gHere-24, qHere-32, rowsHere-160, pHere-168    G, q, rows and P of the current tile
//	tilesLeft-48, tallLeft-56                      tiles left, and those with one row more
//	gBelow-120, qBelow-136, xBelow-152, rowsBelow-104, nextBelow-96   the same of the tile below
//
// comps, g, q, mu, p and next are arguments that are advanced in place from component to component.

// QUAD_ARGUMENTS turns the strides into bytes and sets ps, ns and R15, the address that is
// prefetched. The labels stand for nothing else. Changes CX.
#define QUAD_ARGUMENTS(many, fetches) \
	SHLQ $2, gc+32(FP)     \
	SHLQ $2, gs+40(FP)     \
	SHLQ $2, qc+72(FP)     \
	SHLQ $2, xs+104(FP)    \
	SHLQ $2, d+136(FP)     \
	MOVL $Packed__size, CX \
	CMPQ p_len+152(FP), $1 \
	JNE  many              \ // one P for all components
	XORL CX, CX            \
many: \
	MOVQ CX, ps-8(SP)      \
	MOVQ gc+32(FP), CX     \
	CMPQ step+240(FP), $0  \
	JNE  fetches           \ // step is 0: prefetch nothing
	XORL CX, CX            \
fetches: \
	MOVQ CX, ns-16(SP)     \
	MOVQ next_base+216(FP), R15

// QUAD_TILEROWS sets count to the number of rows of the next tile.
#define QUAD_TILEROWS(count, even) \
	MOVQ rows+200(FP), count \
	CMPQ tallLeft-56(SP), $0 \
	JLE  even                \
	SUBQ $1, tallLeft-56(SP) \
	ADDQ $1, count           \ // the first tiles have one row more
even:

// QUAD_NEXTCOMPONENT advances the arguments to the next component. Changes CX.
#define QUAD_NEXTCOMPONENT \
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

// QUAD_FIRSTTILE makes the first tile the tile below. Changes CX and DI.
#define QUAD_FIRSTTILE(even) \
	MOVQ $0, nextBelow-96(SP)  \
	MOVQ tiles+192(FP), CX     \
	SUBQ $1, CX                \
	MOVQ CX, tilesLeft-48(SP)  \
	MOVQ tall+208(FP), CX \
	MOVQ CX, tallLeft-56(SP)   \
	QUAD_TILEROWS(CX, even)    \
	MOVQ CX, rowsBelow-104(SP) \
	MOVQ g_base+8(FP), DI      \
	MOVQ DI, gBelow-120(SP)    \
	MOVQ q_base+48(FP), DI     \
	MOVQ DI, qBelow-136(SP)    \
	MOVQ x_base+80(FP), DI     \
	MOVQ DI, xBelow-152(SP)

// QUAD_NEXTTILE makes the tile below the current one and finds the tile below that. After the last
// tile comps is 0 and the tile below stays the same. Changes CX, DX, DI, R8 and R13, and R15 when
// the component changes.
#define QUAD_NEXTTILE(same, component, placed, even, known) \
	MOVQ rowsBelow-104(SP), R13 \
	MOVQ R13, rowsHere-160(SP)  \
	MOVQ gBelow-120(SP), DI     \
	MOVQ DI, gHere-24(SP)       \
	MOVQ qBelow-136(SP), DX     \
	MOVQ DX, qHere-32(SP)       \
	MOVQ p_base+144(FP), R8     \
	MOVQ Packed_data(R8), R8    \
	MOVQ R8, pHere-168(SP)      \
	MOVQ nextBelow-96(SP), CX   \
	TESTQ CX, CX                \
	JEQ  same                   \
	MOVQ CX, R15                \
	MOVQ $0, nextBelow-96(SP)   \
same: \
	MOVQ xBelow-152(SP), R8     \
	SUBQ $1, tilesLeft-48(SP)   \
	JLT  component              \ // last tile of this component
	LEAQ (DX)(R13*4), DX        \
	MOVQ R13, CX                \
	IMULQ gs+40(FP), CX         \
	ADDQ CX, DI                 \ // G, rows further down
	IMULQ xs+104(FP), R13       \
	ADDQ R13, R8                \ // x, likewise
	JMP  placed                 \
component: \
	SUBQ $1, comps+0(FP)        \
	JEQ  known                  \
	QUAD_NEXTCOMPONENT          \
	MOVQ next_base+216(FP), CX  \
	MOVQ CX, nextBelow-96(SP)   \
	MOVQ g_base+8(FP), DI       \
	MOVQ q_base+48(FP), DX      \
	MOVQ x_base+80(FP), R8      \
	MOVQ tiles+192(FP), CX      \
	SUBQ $1, CX                 \
	MOVQ CX, tilesLeft-48(SP)   \
	MOVQ tall+208(FP), CX  \
	MOVQ CX, tallLeft-56(SP)    \
placed: \
	MOVQ DI, gBelow-120(SP)     \
	MOVQ DX, qBelow-136(SP)     \
	MOVQ R8, xBelow-152(SP)     \
	QUAD_TILEROWS(CX, even)     \
	MOVQ CX, rowsBelow-104(SP)  \
known:
