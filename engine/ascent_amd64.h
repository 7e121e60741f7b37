// Shared by asm_ascent_amd64.s and asm_ascent_avx512_amd64.s: what differs in no more than the width of the
// registers, V0 to V15 as in vector_amd64.h. The functions for small d share quad_smalld_amd64.h.
// A macro whose labels are not its parameters can be used once in a function.

// ---------------------------------------------------------------------------------
// Vector-Jacobian products

// fma(-w, y, -(r*x)): V14 holds -r, V13 holds w = h*t.
#define VJP_OP \
	VMULPS       V14, V0, V0 \
	VFNMADD231PS V1, V13, V0

// The same where r is 0.
#define VJP_NOLOAD(load, off)
#define VJP_NOOP
#define VJP_STOREZERO(store, off) store(V11, off(DI)(AX*4))

// VJP_GRADROWS is gradRows.
//
// DI, SI, DX   current row of dst, x, y     R10, R11, R12  bytes from row to row
// BX, R13      r and t of the row           R15 rows left, CX elements left of the row
// V10 h, V11 zero, V12 sign bits, V13 h*t, V14 -r
#define VJP_GRADROWS \
	MOVQ args+0(FP), AX                      \
	MOVQ gradRowsArgs_dst(AX), DI            \
	MOVQ gradRowsArgs_ds(AX), R10            \
	MOVQ gradRowsArgs_r(AX), BX              \
	MOVQ gradRowsArgs_r+8(AX), R15           \
	MOVQ gradRowsArgs_x(AX), SI              \
	MOVQ gradRowsArgs_xs(AX), R11            \
	MOVQ gradRowsArgs_t(AX), R13             \
	VBROADCASTSS gradRowsArgs_h(AX), V10     \
	MOVQ gradRowsArgs_y(AX), DX              \
	MOVQ gradRowsArgs_ys(AX), R12            \
	SHLQ $2, R10                             \
	SHLQ $2, R11                             \
	SHLQ $2, R12                             \
	VEC_CLEAR(V11)                           \
	VEC_SIGNBITS(V12)                        \
	JMP  rowtest                             \
row: \
	MOVQ args+0(FP), CX                      \
	MOVQ gradRowsArgs_n(CX), CX              \
	MOVL (BX), AX                            \
	ADDL AX, AX                              \ // drops the sign: only +0 and -0 give zero
	JEQ  zero                                \
	VBROADCASTSS (BX), V14                   \
	VXORPS V12, V14, V14                     \
	VBROADCASTSS (R13), V13                  \
	VMULPS V10, V13, V13                     \
	ELEM_LOOP(VEC_LOADXY, VJP_OP, VEC_STORE) \
	JMP  next                                \
zero: \
	VEC_LOOP(VJP_NOLOAD, VJP_NOOP, VJP_STOREZERO, z16, z8, ztail, zend) \
next: \
	ADDQ $4, BX                              \
	ADDQ $4, R13                             \
	ADDQ R10, DI                             \
	ADDQ R11, SI                             \
	ADDQ R12, DX                             \
rowtest: \
	SUBQ $1, R15                             \
	JGE  row

// VJP_COLUMN goes to the first row of gradDeltas, at the column of R15 bytes. Leaves args in AX.
//
// DI, R8, SI, DX  current row of w, d, u, x    R10 bytes from row to row of w and d, R11 u, R12 x
// BX, R13         r and t of the row           R9 rows left
#define VJP_COLUMN \
	MOVQ args+0(FP), AX             \
	MOVQ gradDeltasArgs_w(AX), DI   \
	MOVQ gradDeltasArgs_d(AX), R8   \
	MOVQ gradDeltasArgs_u(AX), SI   \
	MOVQ gradDeltasArgs_x(AX), DX   \
	MOVQ gradDeltasArgs_r(AX), BX   \
	MOVQ gradDeltasArgs_t(AX), R13  \
	MOVQ gradDeltasArgs_r+8(AX), R9 \
	ADDQ R15, DI                    \
	ADDQ R15, R8                    \
	ADDQ R15, SI                    \
	ADDQ R15, DX

#define VJP_NEXTROW \
	ADDQ $4, BX  \
	ADDQ $4, R13 \
	ADDQ R10, DI \
	ADDQ R10, R8 \
	ADDQ R11, SI \
	ADDQ R12, DX

// VJP_LOADSUMS loads four vectors of sums, gradDeltasArgs_sr or gradDeltasArgs_st, at the column of R15 bytes, with
// args in AX; VJP_STORESUMS stores them. Both change AX.
#define VJP_LOADSUMS(sums, a, b, c, d) \
	MOVQ sums(AX), AX                   \
	VMOVUPS (AX)(R15*1), a              \
	VMOVUPS (1*VEC_BYTES)(AX)(R15*1), b \
	VMOVUPS (2*VEC_BYTES)(AX)(R15*1), c \
	VMOVUPS (3*VEC_BYTES)(AX)(R15*1), d

#define VJP_STORESUMS(sums, a, b, c, d) \
	MOVQ args+0(FP), AX                 \
	MOVQ sums(AX), AX                   \
	VMOVUPS a, (AX)(R15*1)              \
	VMOVUPS b, (1*VEC_BYTES)(AX)(R15*1) \
	VMOVUPS c, (2*VEC_BYTES)(AX)(R15*1) \
	VMOVUPS d, (3*VEC_BYTES)(AX)(R15*1)

// ---------------------------------------------------------------------------------
// Mixture

// MIX_FORWARD computes the responsibilities of as many rows as a vector has lanes: q at SI, c at DX, phi at DI, R12
// components R10 bytes apart. V6 largest l, V8 sum, half is 1/2. R8, R9, BX: walk over the components.
#define MIX_FORWARD(load, store, half, first, firsttest, second, secondtest, third, thirdtest) \
	MIX_CONSTANT(·logConst+512(SB), V6) \ // -Inf
	MOVQ    SI, R8                      \
	MOVQ    DX, R9                      \
	MOVQ    R12, BX                     \
	JMP     firsttest                   \
first: \
	load((R8), V0)                      \
	VBROADCASTSS (R9), V1               \
	VFNMADD231PS V0, half, V1           \ // l = c - q/2
	store(V1, (R8))                     \
	VMAXPS  V6, V1, V6                  \ // l > m ? l : m
	ADDQ    R10, R8                     \
	ADDQ    $4, R9                      \
firsttest: \
	SUBQ    $1, BX                      \
	JGE     first                       \
	VEC_CLEAR(V8)                       \
	MOVQ    SI, R8                      \
	MOVQ    R12, BX                     \
	JMP     secondtest                  \
second: \
	load((R8), V0)                      \
	VSUBPS  V6, V0, V0                  \
	MIX_EXP                             \
	store(V0, (R8))                     \
	VADDPS  V0, V8, V8                  \
	ADDQ    R10, R8                     \
secondtest: \
	SUBQ    $1, BX                      \
	JGE     second                      \
	VMOVAPS V8, V0                      \
	VEC_CLEAR(V4)                       \
	LOG_EVAL                            \
	MIX_KEEPNAN                         \
	VADDPS  V6, V0, V0                  \
	store(V0, (DI))                     \
	MOVQ    SI, R8                      \
	MOVQ    R12, BX                     \
	JMP     thirdtest                   \
third: \
	load((R8), V0)                      \
	VDIVPS  V8, V0, V0                  \
	store(V0, (R8))                     \
	ADDQ    R10, R8                     \
thirdtest: \
	SUBQ    $1, BX                      \
	JGE     third

// MIX_BACKWARD is the VJP of the responsibilities of as many rows: r at SI, s at DX, their sum at DI, R12 components
// R10 bytes apart. V5 zero, V6 sum. R8, R9, BX: walk over the components.
#define MIX_BACKWARD(load, store, first, firsttest, second, secondtest) \
	VEC_CLEAR(V6)      \
	MOVQ    SI, R8     \
	MOVQ    DX, R9     \
	MOVQ    R12, BX    \
	JMP     firsttest  \
first: \
	load((R8), V0)     \
	load((R9), V1)     \
	MIX_ADD            \
	ADDQ    R10, R8    \
	ADDQ    R10, R9    \
firsttest: \
	SUBQ    $1, BX     \
	JGE     first      \
	store(V6, (DI))    \
	MOVQ    SI, R8     \
	MOVQ    DX, R9     \
	MOVQ    R12, BX    \
	JMP     secondtest \
second: \
	load((R8), V0)     \
	load((R9), V1)     \
	MIX_CENTRE         \
	store(V0, (R9))    \
	ADDQ    R10, R8    \
	ADDQ    R10, R9    \
secondtest: \
	SUBQ    $1, BX     \
	JGE     second

// ---------------------------------------------------------------------------------
// Gradient step

// GRAD_SKIPZERO broadcasts r, at R8, into V0, or jumps to skip if it is +0 or -0.
#define GRAD_SKIPZERO(skip) \
	MOVL (R8), AX \
	ADDL AX, AX   \ // drops the sign: only +0 and -0 give zero
	JEQ  skip     \
	VBROADCASTSS (R8), V0

// GRAD_WALK walks over R12 components, from r at SI and G at DX on, R10 and R11 bytes apart: add subtracts the
// product of r, in V0, and columns of G, at R9, from the gradient. Changes AX, BX, R8, R9.
#define GRAD_WALK(add, component, skip, test) \
	MOVQ SI, R8         \
	MOVQ DX, R9         \
	MOVQ R12, BX        \
	JMP  test           \
component: \
	GRAD_SKIPZERO(skip) \
	add                 \
skip: \
	ADDQ R10, R8        \
	ADDQ R11, R9        \
test: \
	SUBQ $1, BX         \
	JGE  component

// GRAD_ADDREST is the add of masked columns.
#define GRAD_ADDREST \
	VEC_MASKLOAD((R9), V1) \
	VFNMADD231PS V1, V0, V4

// GRAD_ARGS loads the arguments of gradient.
//
// DI dst   SI r, R10 bytes from component to component   DX G of these columns, R11 likewise
// R12 components   CX columns left
#define GRAD_ARGS \
	MOVQ dst_base+0(FP), DI \
	MOVQ r_base+24(FP), SI  \
	MOVQ rs+48(FP), R10     \
	MOVQ g_base+56(FP), DX  \
	MOVQ gs+80(FP), R11     \
	MOVQ k+88(FP), R12      \
	MOVQ dst_len+8(FP), CX  \
	SHLQ $2, R10            \
	SHLQ $2, R11
