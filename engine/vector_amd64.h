// Shared by the AVX2 and the AVX-512 files, beside vector_avx2_amd64.h or vector_avx512_amd64.h, which name their
// registers: what differs in no more than the width of them. V0 to V15 are Y0 to Y15 or Z0 to Z15.
// A macro whose labels are not its parameters can be used once in a function.

// ---------------------------------------------------------------------------------
// Elementwise operations

// ELEM_LOOP is the loop of an elementwise kernel. Its parameters are as those of VEC_LOOP. Operands: x at SI, y at DX,
// destination at DI, CX elements; values in V0 (x) and V1 (y). Changes AX, CX, R8, and the mask (Y15 or K1).
#define ELEM_LOOP(load, op, store) VEC_LOOP(load, op, store, l16, l8, tail, end)
#define VEC_LOADX(load, off) load(off(SI)(AX*4), V0)

#define VEC_LOADXY(load, off) \
	load(off(SI)(AX*4), V0) \
	load(off(DX)(AX*4), V1)

#define VEC_STORE(store, off) store(V0, off(DI)(AX*4))

// ELEM_ARGSX and ELEM_ARGSXY load the arguments of functions that begin with dst and x, or dst, x and y.
#define ELEM_ARGSX \
	MOVQ dst_base+0(FP), DI \
	MOVQ x_base+24(FP), SI  \
	MOVQ dst_len+8(FP), CX

#define ELEM_ARGSXY \
	MOVQ dst_base+0(FP), DI \
	MOVQ x_base+24(FP), SI  \
	MOVQ y_base+48(FP), DX  \
	MOVQ dst_len+8(FP), CX

#define ELEM_MUL VMULPS V1, V0, V0
#define ELEM_SUB VSUBPS V1, V0, V0
#define ELEM_AXPY VFMADD213PS V1, V14, V0
#define ELEM_SCALE VMULPS V14, V0, V0

// ELEM_SUBROWS is subRows.
//
// DI, SI, DX: current row of dst, x, y   R10, R11, R13: bytes to the next row (R13 may be 0)
// R12 rows left, CX elements left of the row   BX args
#define ELEM_SUBROWS \
	MOVQ args+0(FP), BX                        \
	MOVQ subRowsArgs_dst(BX), DI               \
	MOVQ subRowsArgs_ds(BX), R10               \
	MOVQ subRowsArgs_x(BX), SI                 \
	MOVQ subRowsArgs_xs(BX), R11               \
	MOVQ subRowsArgs_y(BX), DX                 \
	MOVQ subRowsArgs_ys(BX), R13               \
	MOVQ subRowsArgs_rows(BX), R12             \
	SHLQ $2, R10                               \
	SHLQ $2, R11                               \
	SHLQ $2, R13                               \
	JMP  rowtest                               \
row: \
	MOVQ subRowsArgs_n(BX), CX                 \
	ELEM_LOOP(VEC_LOADXY, ELEM_SUB, VEC_STORE) \
	ADDQ R10, DI                               \
	ADDQ R11, SI                               \
	ADDQ R13, DX                               \
rowtest: \
	SUBQ $1, R12                               \
	JGE  row

#define ELEM_LOADALL(load, off) \
	load(off(DI)(AX*4), V3) \
	load(off(DX)(AX*4), V2) \
	load(off(BX)(AX*4), V1) \
	load(off(SI)(AX*4), V0)

#define ELEM_AXPYPRODUCT \
	VMULPS      V1, V0, V0 \
	VADDPS      V2, V0, V0 \
	VFMADD213PS V3, V14, V0

// ELEM_AXPYPRODUCTS is axpyProducts.
//
// DI, DX, BX, SI  current row of dst, g, s, x   R10, R11, R12 bytes from row to row of dst, g and s, x
// R13 rows left, CX elements left of the row    V14 alpha
#define ELEM_AXPYPRODUCTS \
	MOVQ args+0(FP), AX                                  \
	MOVQ axpyProductsArgs_dst(AX), DI                    \
	MOVQ axpyProductsArgs_ds(AX), R10                    \
	VBROADCASTSS axpyProductsArgs_alpha(AX), V14         \
	MOVQ axpyProductsArgs_g(AX), DX                      \
	MOVQ axpyProductsArgs_s(AX), BX                      \
	MOVQ axpyProductsArgs_gs(AX), R11                    \
	MOVQ axpyProductsArgs_x(AX), SI                      \
	MOVQ axpyProductsArgs_xs(AX), R12                    \
	MOVQ axpyProductsArgs_rows(AX), R13                  \
	SHLQ $2, R10                                         \
	SHLQ $2, R11                                         \
	SHLQ $2, R12                                         \
	JMP  rowtest                                         \
row: \
	MOVQ args+0(FP), CX                                  \
	MOVQ axpyProductsArgs_n(CX), CX                      \
	ELEM_LOOP(ELEM_LOADALL, ELEM_AXPYPRODUCT, VEC_STORE) \
	ADDQ R10, DI                                         \
	ADDQ R11, DX                                         \
	ADDQ R11, BX                                         \
	ADDQ R12, SI                                         \
rowtest: \
	SUBQ $1, R13                                         \
	JGE  row

#define ELEM_NORMALISE \
	VEC_WIDENX         \
	VSUBPD V13, V2, V2 \ // x - mean
	VSUBPD V13, V3, V3 \
	VMULPD V14, V2, V2 \
	VMULPD V14, V3, V3 \
	VEC_NARROW

// x: normalised output, y: gradient.
#define ELEM_NORMBACK \
	VEC_WIDENX         \
	VEC_WIDENY         \
	VSUBPD V12, V6, V6 \ // y - c1
	VSUBPD V12, V7, V7 \
	VMULPD V13, V2, V2 \ // c2 x
	VMULPD V13, V3, V3 \
	VSUBPD V2, V6, V2  \ // y - c1 - c2 x
	VSUBPD V3, V7, V3  \
	VMULPD V14, V2, V2 \
	VMULPD V14, V3, V3 \
	VEC_NARROW

#define ADAM_LOAD(load, off) \
	load(off(SI)(AX*4), V0) \
	load(off(DX)(AX*4), V1) \
	load(off(BX)(AX*4), V2) \
	load(off(DI)(AX*4), V3)

#define ADAM_STORE(store, off) \
	store(V12, off(DX)(AX*4)) \
	store(V0, off(BX)(AX*4))  \
	store(V3, off(DI)(AX*4))

// ADAM_ARGS loads the arguments of adam: DI p, SI g, DX m, BX v, CX elements. R10 *co.
// V4 clip, V5 beta1, V6 1-beta1, V7 beta2, V8 1-beta2, V9 step, V10 rbc2, V11 eps.
#define ADAM_ARGS \
	MOVQ p_base+0(FP), DI     \
	MOVQ g_base+24(FP), SI    \
	MOVQ m_base+48(FP), DX    \
	MOVQ v_base+72(FP), BX    \
	MOVQ p_len+8(FP), CX      \
	MOVQ co+96(FP), R10       \
	VBROADCASTSS 0(R10), V4   \
	VBROADCASTSS 4(R10), V5   \
	VBROADCASTSS 8(R10), V6   \
	VBROADCASTSS 12(R10), V7  \
	VBROADCASTSS 16(R10), V8  \
	VBROADCASTSS 20(R10), V9  \
	VBROADCASTSS 24(R10), V10 \
	VBROADCASTSS 28(R10), V11
