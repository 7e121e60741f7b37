//go:build amd64 && !purego && !noasm

#include "quad_triangle_amd64.h"
#include "textflag.h"

// AVX-512: the ascent of a single row, with the components beside each other in the vectors and P as
// packed lower triangles (see quad_triangle_amd64.h). mixtureLanesAVX2 and moveLanesAVX2 do the rest.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	quadSixteensAVX512  G and q of one row, packed triangles, 16 components

// ---------------------------------------------------------------------------------
// Quadratic forms

// TRI_COLUMN16 is column R9 + n of eight rows, for sixteen components. D of the rows is in Z8 to Z15,
// their G in Z0 to Z7; Z16 is D and Z17 is G of the column. TRI_TERMS is two rows of it; it prefetches
// those of the column after the next.
#define TRI_TERMS(at, p0, p1, g0, g1, d0, d1) \
	PREFETCHT0 (at+1024)(BX) \
	PREFETCHT0 (at+1088)(BX) \
	VMOVUPS (at)(BX), p0     \
	VMOVUPS (at+64)(BX), p1  \
	VFMADD231PS p0, Z16, g0  \ // G[row] += P * D[column]
	VFMADD231PS d0, p0, Z17  \ // G[column] += P * D[row]
	VFMADD231PS p1, Z16, g1  \
	VFMADD231PS d1, p1, Z17

#define TRI_COLUMN16(n) \
	VMOVUPS (64*n)(DI)(R9*1), Z16                      \
	VMOVUPS (64*n)(R8)(R9*1), Z17                      \
	TRI_TERMS((512*n), Z18, Z19, Z0, Z1, Z8, Z9)       \
	TRI_TERMS((512*n+128), Z20, Z21, Z2, Z3, Z10, Z11) \
	TRI_TERMS((512*n+256), Z22, Z23, Z4, Z5, Z12, Z13) \
	TRI_TERMS((512*n+384), Z24, Z25, Z6, Z7, Z14, Z15) \
	VMOVUPS Z17, (64*n)(R8)(R9*1)

// TRI_DELTA makes D of row R10 + n.
#define TRI_DELTA(n, d) \
	VBROADCASTSS (4*n)(SI), d      \
	VSUBPS (64*n)(DX)(R10*1), d, d \
	VMOVUPS d, (64*n)(DI)(R10*1)

// func quadSixteensAVX512(n int, g, q, x, mu, p, work []float32)
//
// G and q of one row, packed triangles, 16 components.
// quadTriangleAVX2 for n groups, above 0, of sixteen components: each mu and g are d x 16, q is 16. d
// is a multiple of 16.
//
// R8, DI, BX, R9, R10, R11 as in quad_triangle_amd64.h   SI x of these rows   DX mu
// R12 q   CX groups left
TEXT ·quadSixteensAVX512(SB), NOSPLIT, $0-152
	MOVQ n+0(FP), CX
	MOVQ g_base+8(FP), R8
	MOVQ q_base+32(FP), R12
	MOVQ x_len+64(FP), R11
	MOVQ mu_base+80(FP), DX
	MOVQ p_base+104(FP), BX
	MOVQ work_base+128(FP), DI
	SHLQ $6, R11
group:
	MOVQ x_base+56(FP), SI
	XORQ R10, R10
rows:
	TRI_CLEAR4(Z0, Z1, Z2, Z3)
	TRI_CLEAR4(Z4, Z5, Z6, Z7)
	TRI_DELTA(0, Z8)
	TRI_DELTA(1, Z9)
	TRI_DELTA(2, Z10)
	TRI_DELTA(3, Z11)
	TRI_DELTA(4, Z12)
	TRI_DELTA(5, Z13)
	TRI_DELTA(6, Z14)
	TRI_DELTA(7, Z15)
	ADDQ $32, SI
	XORQ R9, R9
	JMP  test
column:
	TRI_COLUMN16(0)
	TRI_COLUMN16(1)
	ADDQ $1024, BX
	ADDQ $128, R9
test:
	CMPQ R9, R10
	JLT  column
	TRI_DIAGONAL8(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z16, Z18, Z19)
	ADDQ $(36*64), BX
	VMOVUPS Z0, (R8)(R10*1)
	VMOVUPS Z1, 64(R8)(R10*1)
	VMOVUPS Z2, 128(R8)(R10*1)
	VMOVUPS Z3, 192(R8)(R10*1)
	VMOVUPS Z4, 256(R8)(R10*1)
	VMOVUPS Z5, 320(R8)(R10*1)
	VMOVUPS Z6, 384(R8)(R10*1)
	VMOVUPS Z7, 448(R8)(R10*1)
	ADDQ $512, R10
	CMPQ R10, R11
	JLT  rows
	TRI_DOTS(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, some, others)
	VMOVUPS Z0, (R12)
	ADDQ $64, R12
	ADDQ R11, R8
	ADDQ R11, DX
	SUBQ $1, CX
	JNE  group
	VZEROUPPER
	RET
