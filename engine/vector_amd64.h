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
	ELEM_ARGSX \
	MOVQ y_base+48(FP), DX

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
	MOVQ args+0(FP), AX                          \
	MOVQ axpyProductsArgs_dst(AX), DI            \
	MOVQ axpyProductsArgs_ds(AX), R10            \
	VBROADCASTSS axpyProductsArgs_alpha(AX), V14 \
	MOVQ axpyProductsArgs_g(AX), DX              \
	MOVQ axpyProductsArgs_s(AX), BX              \
	MOVQ axpyProductsArgs_gs(AX), R11            \
	MOVQ axpyProductsArgs_x(AX), SI              \
	MOVQ axpyProductsArgs_xs(AX), R12            \
	MOVQ axpyProductsArgs_rows(AX), R13          \
	SHLQ $2, R10                                 \
	SHLQ $2, R11                                 \
	SHLQ $2, R12                                 \
	JMP  rowtest                                 \
row: \
	MOVQ args+0(FP), CX                          \
	MOVQ axpyProductsArgs_n(CX), CX              \
	ELEM_LOOP(ELEM_LOADALL, ELEM_AXPYPRODUCT, VEC_STORE) \
	ADDQ R10, DI                                 \
	ADDQ R11, DX                                 \
	ADDQ R11, BX                                 \
	ADDQ R12, SI                                 \
rowtest: \
	SUBQ $1, R13                                 \
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

// ---------------------------------------------------------------------------------
// Reductions

// REDUCE_LOOP64 sums over CX elements in the lanes of REDUCE_TREE64, which REDUCE_ZERO64 clears: op adds
// sixteen elements and advances, oprest adds the last 1 to 15. SI x, DX y. The sum is in X4.
#define REDUCE_LOOP64(op, oprest) \
	REDUCE_ZERO64 \
	SUBQ $16, CX  \
	JLT  rest     \
block: \
	op            \
	SUBQ $16, CX  \
	JGE  block    \
rest: \
	ADDQ $16, CX  \
	JEQ  tree     \
	oprest        \
tree: \
	REDUCE_TREE64

// REDUCE_ADD64 adds V0 to V3 to V4 to V7, REDUCE_ADDWIDE64 V2 and V3 to V4 and V5.
#define REDUCE_ADD64 \
	VADDPD V0, V4, V4 \
	VADDPD V1, V5, V5 \
	VADDPD V2, V6, V6 \
	VADDPD V3, V7, V7

#define REDUCE_ADDWIDE64 \
	VADDPD V2, V4, V4 \
	VADDPD V3, V5, V5

// REDUCE_ADDROWS is addRows: VEC_BYTES/2 columns at a time, then up to half as many.
//
// DI sum, SI x, both at the first column of the block   R10 bytes from row to row   DX at, R12 its length
// CX columns left   R8 current element of at, BX those left, AX its row   Columns: V4 to V7
#define REDUCE_ADDROWS \
	MOVQ sum_base+0(FP), DI                 \
	MOVQ sum_len+8(FP), CX                  \
	MOVQ x_base+24(FP), SI                  \
	MOVQ xs+48(FP), R10                     \
	MOVQ at_base+56(FP), DX                 \
	MOVQ at_len+64(FP), R12                 \
	SHLQ $2, R10                            \
	JMP  widetest                           \
wide: \
	VMOVUPD (DI), V4                        \
	VMOVUPD (1*VEC_BYTES)(DI), V5           \
	VMOVUPD (2*VEC_BYTES)(DI), V6           \
	VMOVUPD (3*VEC_BYTES)(DI), V7           \
	MOVQ DX, R8                             \
	MOVQ R12, BX                            \
	JMP  widerowtest                        \
widerow: \
	MOVLQSX (R8), AX                        \
	IMULQ R10, AX                           \
	VCVTPS2PD (SI)(AX*1), V0                \
	VCVTPS2PD (1*VEC_BYTES/2)(SI)(AX*1), V1 \
	VCVTPS2PD (2*VEC_BYTES/2)(SI)(AX*1), V2 \
	VCVTPS2PD (3*VEC_BYTES/2)(SI)(AX*1), V3 \
	REDUCE_ADD64                            \
	ADDQ $4, R8                             \
widerowtest: \
	SUBQ $1, BX                             \
	JGE  widerow                            \
	VMOVUPD V4, (DI)                        \
	VMOVUPD V5, (1*VEC_BYTES)(DI)           \
	VMOVUPD V6, (2*VEC_BYTES)(DI)           \
	VMOVUPD V7, (3*VEC_BYTES)(DI)           \
	ADDQ $(4*VEC_BYTES), DI                 \
	ADDQ $(2*VEC_BYTES), SI                 \
widetest: \
	SUBQ $(VEC_BYTES/2), CX                 \
	JGE  wide                               \
	ADDQ $(VEC_BYTES/2), CX                 \
	JMP  parttest                           \
part: \
	REDUCE_PARTLOAD                         \
	MOVQ DX, R8                             \
	MOVQ R12, BX                            \
	JMP  rowtest                            \
row: \
	MOVLQSX (R8), AX                        \
	IMULQ R10, AX                           \
	VEC_MASKLOAD((SI)(AX*1), V0)            \
	VEC_WIDENX                              \
	REDUCE_ADDWIDE64                        \
	ADDQ $4, R8                             \
rowtest: \
	SUBQ $1, BX                             \
	JGE  row                                \
	REDUCE_PARTSTORE                        \
	ADDQ $(2*VEC_BYTES), DI                 \
	ADDQ $VEC_BYTES, SI                     \
	REDUCE_PARTNEXT                         \
parttest: \
	CMPQ CX, $0                             \
	JGT  part

// ---------------------------------------------------------------------------------
// Loops that measure the machine

// MEASURE_FMA6 is six fused multiply-adds in six chains.
#define MEASURE_FMA6(a, b, c, d, e, f) \
	VFMADD231PS V0, V1, a \
	VFMADD231PS V0, V1, b \
	VFMADD231PS V0, V1, c \
	VFMADD231PS V0, V1, d \
	VFMADD231PS V0, V1, e \
	VFMADD231PS V0, V1, f

// MEASURE_FMA is fmaPeak. CX rounds left, V0 and V1 operands, V4 to V15 twelve chains.
#define MEASURE_FMA \
	MOVQ rounds+0(FP), CX                      \
	VEC_ZERO4(V0, V1, V4, V5)                  \
	VEC_ZERO4(V6, V7, V8, V9)                  \
	VEC_ZERO4(V10, V11, V12, V13)              \
	VEC_CLEAR(V14)                             \
	VEC_CLEAR(V15)                             \
	TESTQ CX, CX                               \
	JLE  done                                  \
loop: \
	MEASURE_FMA6(V4, V5, V6, V7, V8, V9)       \
	MEASURE_FMA6(V10, V11, V12, V13, V14, V15) \
	MEASURE_FMA6(V4, V5, V6, V7, V8, V9)       \
	MEASURE_FMA6(V10, V11, V12, V13, V14, V15) \
	DECQ CX                                    \
	JNE  loop                                  \
done:

// MEASURE_STREAM makes R9 passes over R13 floats of x (at R10), y (R11) and dst (R12), or those of them that
// exist: eight vectors at a time, then one, then the rest by MEASURE_REST. v(off, y) handles a vector at an
// offset from SI (x), DX (y) and DI (dst), in register y; vrest is for MEASURE_REST. CX elements left of the
// pass. The addresses have no index register: with one, many cores split the load from the operation that uses it.
#define MEASURE_STREAM(v, vrest, pass, block, btest, vector, vtest, one, otest, next) \
	JMP   next                            \
pass: \
	MOVQ  R10, SI                         \
	MOVQ  R11, DX                         \
	MOVQ  R12, DI                         \
	MOVQ  R13, CX                         \
	JMP   btest                           \
block: \
	v(0, V0)                              \
	v((1*VEC_BYTES), V1)                  \
	v((2*VEC_BYTES), V2)                  \
	v((3*VEC_BYTES), V3)                  \
	v((4*VEC_BYTES), V4)                  \
	v((5*VEC_BYTES), V5)                  \
	v((6*VEC_BYTES), V6)                  \
	v((7*VEC_BYTES), V7)                  \
	ADDQ  $(8*VEC_BYTES), SI              \
	ADDQ  $(8*VEC_BYTES), DX              \
	ADDQ  $(8*VEC_BYTES), DI              \
btest: \
	SUBQ  $(2*VEC_BYTES), CX              \ // floats in eight vectors
	JGE   block                           \
	ADDQ  $(2*VEC_BYTES), CX              \
	JMP   vtest                           \
vector: \
	v(0, V0)                              \
	ADDQ  $VEC_BYTES, SI                  \
	ADDQ  $VEC_BYTES, DX                  \
	ADDQ  $VEC_BYTES, DI                  \
vtest: \
	SUBQ  $(VEC_BYTES/4), CX              \
	JGE   vector                          \
	ADDQ  $(VEC_BYTES/4), CX              \
	MEASURE_REST(vrest, one, otest, next) \
next: \
	SUBQ  $1, R9                          \
	JGE   pass

#define MEASURE_LOAD(off, y) VMOVUPS off(SI), y
#define MEASURE_READ(off, y) MEASURE_OR(off(SI), y)
#define MEASURE_WRITE(off, y) VMOVUPS V8, off(DI)

#define MEASURE_TRIAD(off, y) \
	VMOVUPS     off(SI), y     \
	VFMADD231PS off(DX), V8, y \
	VMOVUPS     y, off(DI)

// MEASURE_READS is read up to the bitwise or of V0 to V7, MEASURE_ORLANES that of the lanes of Y0. All passes
// but the last only load, because the or would need units that a loop of loads does not leave free.
//
// R10, SI x, R13 its length, R9 passes left, V0 to V7 values.
#define MEASURE_READS \
	MOVQ x_base+0(FP), R10    \
	MOVQ x_len+8(FP), R13     \
	MOVQ rounds+24(FP), R9    \
	SUBQ $1, R9               \
	MEASURE_STREAM(MEASURE_LOAD, MEASURE_LOADREST, pass1, block1, btest1, vector1, vtest1, one1, otest1, next1) \
	VEC_ZERO4(V0, V1, V2, V3) \
	VEC_ZERO4(V4, V5, V6, V7) \
	XORQ R9, R9               \
	CMPQ rounds+24(FP), $0    \
	SETGT R9                  \
	MEASURE_STREAM(MEASURE_READ, MEASURE_READREST, pass, block, btest, vector, vtest, one, otest, next) \
	MEASURE_OR(V1, V0)        \
	MEASURE_OR(V3, V2)        \
	MEASURE_OR(V5, V4)        \
	MEASURE_OR(V7, V6)        \
	MEASURE_OR(V2, V0)        \
	MEASURE_OR(V6, V4)        \
	MEASURE_OR(V4, V0)

#define MEASURE_ORLANES \
	VEXTRACTI128 $1, Y0, X1 \
	VPOR X1, X0, X0         \
	VPSRLDQ $8, X0, X1      \
	VPOR X1, X0, X0         \
	VPSRLDQ $4, X0, X1      \
	VPOR X1, X0, X0         \
	VMOVD X0, AX

// MEASURE_WRITES is write. R12, DI dst, R13 its length, R9 passes left, V8 a.
#define MEASURE_WRITES \
	MOVQ dst_base+0(FP), R12  \
	MOVQ dst_len+8(FP), R13   \
	VBROADCASTSS a+24(FP), V8 \
	MOVQ rounds+32(FP), R9    \
	MEASURE_STREAM(MEASURE_WRITE, MEASURE_WRITEREST, pass, block, btest, vector, vtest, one, otest, next)

// MEASURE_TRIADS is triad.
//
// R10, SI x   R11, DX y   R12, DI dst   R13 their length   R9 passes left   V8 a   V0 to V7 values
#define MEASURE_TRIADS \
	VBROADCASTSS a+0(FP), V8 \
	MOVQ dst_base+8(FP), R12 \
	MOVQ dst_len+16(FP), R13 \
	MOVQ x_base+32(FP), R10  \
	MOVQ y_base+56(FP), R11  \
	MOVQ rounds+80(FP), R9   \
	MEASURE_STREAM(MEASURE_TRIAD, MEASURE_TRIADREST, pass, block, btest, vector, vtest, one, otest, next)
