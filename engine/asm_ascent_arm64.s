//go:build arm64 && !purego && !noasm

#include "textflag.h"
#include "go_asm.h"
#include "vector_arm64.h"

// NEON: the ascent. Vector-Jacobian products (VJP), the mixture and the gradient step. D_i is
// x - mu_i. This tier computes quadratic forms by sgemmNEON_6x16 and dotRowsNEON.
//
// Registers and conventions: see asm_arm64.s.
//
// Contents:
//
//	gradRowsNEON                dst = -(h t y) - r x, row by row
//	gradDeltasNEON              D = x - mu, W = -(h t D) - r u, and their sums over rows
//	mixtureNEON                 responsibilities and log-sum-exp
//	responsibilityBackwardNEON  VJP of the responsibilities
//	gradientNEON                dst[j] = - sum over i of r[i] * G[i][j]

// ---------------------------------------------------------------------------------
// Vector-Jacobian products

// fma(-w, y, -(r*x)): V14 holds -r, V13 holds w = h*t.
#define VJP_OP \
	VFMUL4S(14, 0, 0) \
	VFMLS V13.S4, V1.S4, V0.S4

#define VJP_NOLOAD
#define VJP_NOOP
#define VJP_STOREZERO FMOVQ.P F11, 16(R0)
#define VJP_STOREZERO1 FMOVS.P F11, 4(R0)

// func gradRowsNEON(args *gradRowsArgs)
//
// R0, R1, R2  current row of dst, x, y      R10, R11, R12 floats from its end to the next row
// R3, R4      r and t of the row            R5 rows left, R6 n, R7 elements left of the row
// V10 h, V11 zero, V13 h*t, V14 -r
TEXT ·gradRowsNEON(SB), NOSPLIT, $0-8
	MOVD  args+0(FP), R8
	MOVD  gradRowsArgs_dst(R8), R0
	MOVD  gradRowsArgs_ds(R8), R10
	MOVD  gradRowsArgs_r(R8), R3
	MOVD  gradRowsArgs_r+8(R8), R5
	MOVD  gradRowsArgs_x(R8), R1
	MOVD  gradRowsArgs_xs(R8), R11
	MOVD  gradRowsArgs_t(R8), R4
	FMOVS gradRowsArgs_h(R8), F10
	MOVD  gradRowsArgs_y(R8), R2
	MOVD  gradRowsArgs_ys(R8), R12
	MOVD  gradRowsArgs_n(R8), R6
	SUB   R6, R10            // from the end of a row to the next one
	SUB   R6, R11
	SUB   R6, R12
	VMOVI $0, V11.B16
	B     rowtest
row:
	MOVD  R6, R7
	VEC_SKIPZERO(R3, zero)
	FMOVS (R3), F14
	FNEGS F14, F14
	VDUP  V14.S[0], V14.S4
	FMOVS (R4), F13
	FMULS F10, F13, F13
	VDUP  V13.S[0], V13.S4
	VEC_LOOP(VEC_LOADXY, VJP_OP, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	B     next
zero:
	VEC_LOOP(VJP_NOLOAD, VJP_NOOP, VJP_STOREZERO, VJP_NOLOAD, VJP_STOREZERO1, zl16, zt16, zl4, zt4, zl1, zt1)
	ADD   R6<<2, R1          // x and y were not read
	ADD   R6<<2, R2
next:
	ADD   $4, R3
	ADD   $4, R4
	ADD   R10<<2, R0
	ADD   R11<<2, R1
	ADD   R12<<2, R2
rowtest:
	SUBS  $1, R5
	BGE   row
	RET

// VJP_SCALARS: V14 -r, V13 h*t, V12 r, V11 t; V10 is h.
#define VJP_SCALARS \
	FMOVS (R4), F12        \
	FNEGS F12, F14         \
	FMOVS (R5), F11        \
	FMULS F10, F11, F13    \
	VDUP  V14.S[0], V14.S4 \
	VDUP  V13.S[0], V13.S4 \
	VDUP  V12.S[0], V12.S4 \
	VDUP  V11.S[0], V11.S4

#define VJP_NEXTROW \
	ADD $4, R4    \
	ADD $4, R5    \
	ADD R8<<2, R0 \
	ADD R8<<2, R1 \
	ADD R9<<2, R2 \
	ADD R10<<2, R3

// VJP_NARROW is all rows of as many columns as move takes, four or one, like the sixteen of
// gradDeltasNEON.
#define VJP_NARROW(move, row, zero, next, test) \
	move  (R14), F16            \
	move  (R19), F20            \
	move  (R15), F24            \
	B     test                  \
row: \
	move  (R3), F0              \
	VFSUB4S(16, 0, 0)           \
	move  F0, (R1)              \
	VEC_SKIPZERO(R4, zero)      \
	VJP_SCALARS                 \
	move  (R2), F4              \
	VFMLS V12.S4, V4.S4, V20.S4 \ // sr -= r * u
	VFMLS V11.S4, V0.S4, V24.S4 \ // st -= t * d
	VFMUL4S(14, 4, 4)           \ // -r * u
	VFMLS V13.S4, V0.S4, V4.S4  \ // w = -(h*t * d) - r*u
	move  F4, (R0)              \
	B     next                  \
zero: \
	move  F9, (R0)              \
next: \
	VJP_NEXTROW                 \
test: \
	SUBS  $1, R7                \
	BGE   row                   \
	move  F20, (R19)            \
	move  F24, (R15)

// func gradDeltasNEON(args *gradDeltasArgs)
//
// Columns are done 16 at a time, then 4, then 1; within them the rows one after the other, so that the
// sums stay in registers.
//
// R0, R1, R2, R3  current row of w, d, u, x   R8 floats from row to row of w and d, R9 u, R10 x
// R4, R5          r and t of the row          R7 rows left
// R6 columns left, R11 the first column in bytes   R14, R19, R15: mu, sr and st from there on   R20 args
// V16 to V19 mu, V20 to V23 sums sr, V24 to V27 sums st, V9 zero, V10 h
TEXT ·gradDeltasNEON(SB), NOSPLIT, $0-8
	MOVD  args+0(FP), R20
	MOVD  gradDeltasArgs_ld(R20), R8
	MOVD  gradDeltasArgs_us(R20), R9
	FMOVS gradDeltasArgs_h(R20), F10
	MOVD  gradDeltasArgs_xs(R20), R10
	MOVD  gradDeltasArgs_mu+8(R20), R6
	VMOVI $0, V9.B16
	MOVD  ZR, R11
columns:
	CBZ  R6, done
	// w, d, u and x from column R11 (bytes) on; r, t; rows.
	MOVD gradDeltasArgs_w(R20), R0
	MOVD gradDeltasArgs_d(R20), R1
	MOVD gradDeltasArgs_u(R20), R2
	MOVD gradDeltasArgs_x(R20), R3
	MOVD gradDeltasArgs_r(R20), R4
	MOVD gradDeltasArgs_t(R20), R5
	MOVD gradDeltasArgs_r+8(R20), R7
	ADD  R11, R0
	ADD  R11, R1
	ADD  R11, R2
	ADD  R11, R3
	MOVD gradDeltasArgs_mu(R20), R14
	ADD  R11, R14
	MOVD gradDeltasArgs_sr(R20), R19
	MOVD gradDeltasArgs_st(R20), R15
	ADD  R11, R19
	ADD  R11, R15
	CMP  $4, R6
	BLT  one
	CMP  $16, R6
	BLT  four
	FMOVQ (R14), F16
	FMOVQ 16(R14), F17
	FMOVQ 32(R14), F18
	FMOVQ 48(R14), F19
	FMOVQ (R19), F20
	FMOVQ 16(R19), F21
	FMOVQ 32(R19), F22
	FMOVQ 48(R19), F23
	FMOVQ (R15), F24
	FMOVQ 16(R15), F25
	FMOVQ 32(R15), F26
	FMOVQ 48(R15), F27
	B    sixteentest
sixteenrow:
	FMOVQ (R3), F0
	VFSUB4S(16, 0, 0)
	FMOVQ F0, (R1)
	FMOVQ 16(R3), F1
	VFSUB4S(17, 1, 1)
	FMOVQ F1, 16(R1)
	FMOVQ 32(R3), F2
	VFSUB4S(18, 2, 2)
	FMOVQ F2, 32(R1)
	FMOVQ 48(R3), F3
	VFSUB4S(19, 3, 3)
	FMOVQ F3, 48(R1)
	VEC_SKIPZERO(R4, sixteenzero)
	VJP_SCALARS
	FMOVQ (R2), F4
	VFMLS V12.S4, V4.S4, V20.S4
	VFMLS V11.S4, V0.S4, V24.S4
	VFMUL4S(14, 4, 4)
	VFMLS V13.S4, V0.S4, V4.S4
	FMOVQ F4, (R0)
	FMOVQ 16(R2), F5
	VFMLS V12.S4, V5.S4, V21.S4
	VFMLS V11.S4, V1.S4, V25.S4
	VFMUL4S(14, 5, 5)
	VFMLS V13.S4, V1.S4, V5.S4
	FMOVQ F5, 16(R0)
	FMOVQ 32(R2), F6
	VFMLS V12.S4, V6.S4, V22.S4
	VFMLS V11.S4, V2.S4, V26.S4
	VFMUL4S(14, 6, 6)
	VFMLS V13.S4, V2.S4, V6.S4
	FMOVQ F6, 32(R0)
	FMOVQ 48(R2), F7
	VFMLS V12.S4, V7.S4, V23.S4
	VFMLS V11.S4, V3.S4, V27.S4
	VFMUL4S(14, 7, 7)
	VFMLS V13.S4, V3.S4, V7.S4
	FMOVQ F7, 48(R0)
	B    sixteennextrow
sixteenzero:
	FMOVQ F9, (R0)
	FMOVQ F9, 16(R0)
	FMOVQ F9, 32(R0)
	FMOVQ F9, 48(R0)
sixteennextrow:
	VJP_NEXTROW
sixteentest:
	SUBS $1, R7
	BGE  sixteenrow
	FMOVQ F20, (R19)
	FMOVQ F21, 16(R19)
	FMOVQ F22, 32(R19)
	FMOVQ F23, 48(R19)
	FMOVQ F24, (R15)
	FMOVQ F25, 16(R15)
	FMOVQ F26, 32(R15)
	FMOVQ F27, 48(R15)
	ADD  $64, R11
	SUB  $16, R6
	B    columns

four:
	VJP_NARROW(FMOVQ, row4, zero4, next4, test4)
	ADD  $16, R11
	SUB  $4, R6
	B    columns

one:
	VJP_NARROW(FMOVS, row1, zero1, next1, test1)
	ADD  $4, R11
	SUB  $1, R6
	B    columns
done:
	RET

// ---------------------------------------------------------------------------------
// Mixture

// Loads and stores of four rows and of one.
#define MIX_LOAD4(p, f) FMOVQ (p), f
#define MIX_STORE4(f, p) FMOVQ f, (p)
#define MIX_LOAD1(p, f) FMOVS (p), f
#define MIX_STORE1(f, p) FMOVS f, (p)

// MIX_FORWARD computes the responsibilities of four rows or of one: q at R1, R5 components R4 bytes
// apart, c at R2, phi at R0. V27 the cut below which r is 0, V28 largest l, V29 sum, V30 zero, V31 -Inf.
#define MIX_FORWARD(load, store, first, firsttest, second, secondtest, third, thirdtest) \
	VMOV  V31.B16, V28.B16        \
	MOVD  R1, R8                  \
	MOVD  R2, R9                  \
	MOVD  R5, R7                  \
	B     firsttest               \
first: \
	load(R8, F0)                  \
	VLD1R.P 4(R9), [V1.S4]        \
	VFMLS V21.S4, V0.S4, V1.S4    \ // l = c - q/2
	store(F1, R8)                 \
	VFCMGT4S(28, 1, 2)            \
	VBIT  V2.B16, V1.B16, V28.B16 \ // l > m ? l : m
	ADD   R4, R8                  \
firsttest: \
	SUBS  $1, R7                  \
	BGE   first                   \
	VMOVI $0, V29.B16             \
	MOVD  R1, R8                  \
	MOVD  R5, R7                  \
	B     secondtest              \
second: \
	load(R8, F0)                  \
	VFSUB4S(28, 0, 0)             \
	VFCMGT4S(0, 27, 5)            \ // below the cut
	EXP_EVAL                      \
	VBIT  V5.B16, V30.B16, V0.B16 \
	store(F0, R8)                 \
	VFADD4S(0, 29, 29)            \
	ADD   R4, R8                  \
secondtest: \
	SUBS  $1, R7                  \
	BGE   second                  \
	VMOV  V29.B16, V0.B16         \
	VMOVI $0, V4.B16              \
	LOG_EVAL                      \
	VFCMEQ4S(29, 29, 1)           \
	VBIF  V1.B16, V29.B16, V0.B16 \ // NaN stays NaN
	VFADD4S(28, 0, 0)             \
	store(F0, R0)                 \
	MOVD  R1, R8                  \
	MOVD  R5, R7                  \
	B     thirdtest               \
third: \
	load(R8, F0)                  \
	VFDIV4S(29, 0, 0)             \
	store(F0, R8)                 \
	ADD   R4, R8                  \
thirdtest: \
	SUBS  $1, R7                  \
	BGE   third

DATA mixlimit<>+0(SB)/4, $0xc1a65af6 // V27: -30 ln 2: below it a responsibility is 0
DATA mixlimit<>+4(SB)/4, $0xff800000 // V31: -Inf
GLOBL mixlimit<>(SB), RODATA|NOPTR, $8

// func mixtureNEON(q []float32, ld int, c, phi []float32)
//
// R1 q of these rows, R4 bytes from component to component, R5 components   R2 c   R0 phi
// R6 rows left   R8, R9, R7: walk over the components
TEXT ·mixtureNEON(SB), NOSPLIT, $0-80
	MOVD    q_base+0(FP), R1
	MOVD    ld+24(FP), R4
	MOVD    c_base+32(FP), R2
	MOVD    c_len+40(FP), R5
	MOVD    phi_base+56(FP), R0
	MOVD    phi_len+64(FP), R6
	LSL     $2, R4, R4
	EXP_CONSTANTS
	LOG_CONSTANTS
	MOVD    $mixlimit<>(SB), R9
	VLD1R.P 4(R9), [V27.S4]
	VLD1R   (R9), [V31.S4]
	VMOVI   $0, V30.B16
	B       fourtest
four:
	MIX_FORWARD(MIX_LOAD4, MIX_STORE4, f1, f1t, f2, f2t, f3, f3t)
	ADD     $16, R1
	ADD     $16, R0
fourtest:
	SUBS    $4, R6
	BGE     four
	ADD     $4, R6
	B       onetest
one:
	MIX_FORWARD(MIX_LOAD1, MIX_STORE1, o1, o1t, o2, o2t, o3, o3t)
	ADD     $4, R1
	ADD     $4, R0
onetest:
	SUBS    $1, R6
	BGE     one
	RET

// MIX_BACKWARD is the VJP of the responsibilities of four rows or of one: r at R1, s at R2, R5
// components R4 bytes apart, their sum at R0. V6 sum, V30 zero.
#define MIX_BACKWARD(load, store, first, firsttest, second, secondtest) \
	VMOVI $0, V6.B16              \
	MOVD  R1, R8                  \
	MOVD  R2, R9                  \
	MOVD  R5, R7                  \
	B     firsttest               \
first: \
	load(R8, F0)                  \
	load(R9, F1)                  \
	VFCMEQZ4S(0, 2)               \ // r == 0
	VMOV  V6.B16, V3.B16          \
	VFMLA V0.S4, V1.S4, V3.S4     \
	VBIF  V2.B16, V3.B16, V6.B16  \
	ADD   R4, R8                  \
	ADD   R4, R9                  \
firsttest: \
	SUBS  $1, R7                  \
	BGE   first                   \
	store(F6, R0)                 \
	MOVD  R1, R8                  \
	MOVD  R2, R9                  \
	MOVD  R5, R7                  \
	B     secondtest              \
second: \
	load(R8, F0)                  \
	load(R9, F1)                  \
	VFCMEQZ4S(0, 2)               \
	VFSUB4S(6, 1, 1)              \
	VFMUL4S(1, 0, 0)              \
	VBIT  V2.B16, V30.B16, V0.B16 \
	store(F0, R9)                 \
	ADD   R4, R8                  \
	ADD   R4, R9                  \
secondtest: \
	SUBS  $1, R7                  \
	BGE   second

// func responsibilityBackwardNEON(r, s []float32, ld int, sum []float32, k int)
//
// R1 r of these rows, R2 s, R4 bytes from component to component, R5 components   R0 sum
// R6 rows left   R8, R9, R7: walk over the components
TEXT ·responsibilityBackwardNEON(SB), NOSPLIT, $0-88
	MOVD  r_base+0(FP), R1
	MOVD  s_base+24(FP), R2
	MOVD  ld+48(FP), R4
	MOVD  sum_base+56(FP), R0
	MOVD  sum_len+64(FP), R6
	MOVD  k+80(FP), R5
	LSL   $2, R4, R4
	VMOVI $0, V30.B16
	B     fourtest
four:
	MIX_BACKWARD(MIX_LOAD4, MIX_STORE4, f1, f1t, f2, f2t)
	ADD   $16, R0
	ADD   $16, R1
	ADD   $16, R2
fourtest:
	SUBS  $4, R6
	BGE   four
	ADD   $4, R6
	B     onetest
one:
	MIX_BACKWARD(MIX_LOAD1, MIX_STORE1, o1, o1t, o2, o2t)
	ADD   $4, R0
	ADD   $4, R1
	ADD   $4, R2
onetest:
	SUBS  $1, R6
	BGE   one
	RET

// ---------------------------------------------------------------------------------
// Gradient step

// GRAD_COLUMNS does n columns at a time, as long as R6 of them are left: for each of R5 components, r at
// R8 and G at R9 (from R1 and R3 on, in steps of R2 and R4), chain adds its share to the accumulators.
// It ends with R6 back at the number that is left.
#define GRAD_COLUMNS(n, zero, chain, store, group, loop, skip, test, next) \
group: \
	SUBS  $n, R6           \
	BLT   next             \
	zero                   \
	MOVD  R1, R8           \
	MOVD  R3, R9           \
	MOVD  R5, R7           \
	B     test             \
loop: \
	VEC_SKIPZERO(R8, skip) \
	VLD1R (R8), [V0.S4]    \
	chain                  \
skip: \
	ADD   R2, R8           \
	ADD   R4, R9           \
test: \
	SUBS  $1, R7           \
	BGE   loop             \
	store                  \
	ADD   $(n*4), R3       \
	B     group            \
next: \
	ADD   $n, R6

// Accumulators: V16 to V31 for 64 columns, V16 to V19 for 16, V16 for 4 or 1.
#define GRAD_ZERO64 \
	VEC_ZEROLANES     \
	VEC_ZERO4(V20, V21, V22, V23) \
	VEC_ZERO4(V24, V25, V26, V27) \
	VEC_ZERO4(V28, V29, V30, V31)

#define GRAD_ZERO4 VMOVI $0, V16.B16

#define GRAD_CHAIN8(off, c0, c1) \
	FLDPQ off(R9), (F1, F2) \
	VFMLS V0.S4, V1.S4, c0  \
	VFMLS V0.S4, V2.S4, c1

#define GRAD_CHAIN16 \
	GRAD_CHAIN8(0, V16.S4, V17.S4) \
	GRAD_CHAIN8(32, V18.S4, V19.S4)

#define GRAD_CHAIN64 \
	GRAD_CHAIN16                     \
	GRAD_CHAIN8(64, V20.S4, V21.S4)  \
	GRAD_CHAIN8(96, V22.S4, V23.S4)  \
	GRAD_CHAIN8(128, V24.S4, V25.S4) \
	GRAD_CHAIN8(160, V26.S4, V27.S4) \
	GRAD_CHAIN8(192, V28.S4, V29.S4) \
	GRAD_CHAIN8(224, V30.S4, V31.S4)

#define GRAD_CHAIN4 \
	FMOVQ (R9), F1 \
	VFMLS V0.S4, V1.S4, V16.S4

#define GRAD_CHAIN1 \
	FMOVS (R9), F1 \
	VFMLS V0.S4, V1.S4, V16.S4

#define GRAD_STORE16 \
	FSTPQ.P (F16, F17), 32(R0) \
	FSTPQ.P (F18, F19), 32(R0)

#define GRAD_STORE64 \
	GRAD_STORE16               \
	FSTPQ.P (F20, F21), 32(R0) \
	FSTPQ.P (F22, F23), 32(R0) \
	FSTPQ.P (F24, F25), 32(R0) \
	FSTPQ.P (F26, F27), 32(R0) \
	FSTPQ.P (F28, F29), 32(R0) \
	FSTPQ.P (F30, F31), 32(R0)

#define GRAD_STORE4 FMOVQ.P F16, 16(R0)
#define GRAD_STORE1 FMOVS.P F16, 4(R0)

// func gradientNEON(dst, r []float32, rs int, g []float32, gs, k int)
//
// R0 dst   R1 r, R2 bytes from component to component   R3 G of these columns, R4 likewise
// R5 components   R6 columns left   R8, R9, R7: walk over the components
TEXT ·gradientNEON(SB), NOSPLIT, $0-96
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R6
	MOVD r_base+24(FP), R1
	MOVD rs+48(FP), R2
	MOVD g_base+56(FP), R3
	MOVD gs+80(FP), R4
	MOVD k+88(FP), R5
	LSL  $2, R2, R2
	LSL  $2, R4, R4
	GRAD_COLUMNS(64, GRAD_ZERO64, GRAD_CHAIN64, GRAD_STORE64, group64, loop64, skip64, test64, next64)
	GRAD_COLUMNS(16, VEC_ZEROLANES, GRAD_CHAIN16, GRAD_STORE16, group16, loop16, skip16, test16, next16)
	GRAD_COLUMNS(4, GRAD_ZERO4, GRAD_CHAIN4, GRAD_STORE4, group4, loop4, skip4, test4, next4)
	GRAD_COLUMNS(1, GRAD_ZERO4, GRAD_CHAIN1, GRAD_STORE1, group1, loop1, skip1, test1, next1)
	RET
