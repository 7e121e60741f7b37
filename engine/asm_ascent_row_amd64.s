//go:build amd64 && !purego && !noasm

#include "quad_triangle_amd64.h"
#include "textflag.h"
#include "vector_avx2_amd64.h"

// AVX2: the ascent of a single row, with the components beside each other in the vectors and P as
// packed lower triangles (see quad_triangle_amd64.h).
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	quadTriangleAVX2  G and q of one row, packed triangles, 8 then 4 components
//	mixtureLanesAVX2  responsibilities of one row
//	moveLanesAVX2     x += alpha * gradient for one row

// ---------------------------------------------------------------------------------
// Quadratic forms

// TRI_COLUMN is column R9 + n of four rows, for eight components. D of the rows is in Y4 to Y7, their
// G in Y0 to Y3; Y8 is D and Y9 is G of the column. The loads come first.
#define TRI_COLUMN(n) \
	PREFETCHT0 (128*n+768)(BX)   \
	PREFETCHT0 (128*n+832)(BX)   \
	VMOVUPS (32*n)(R8)(R9*1), Y9 \
	VMOVUPS (128*n)(BX), Y10     \
	VMOVUPS (128*n+32)(BX), Y11  \
	VMOVUPS (128*n+64)(BX), Y12  \
	VMOVUPS (128*n+96)(BX), Y13  \
	VMOVUPS (32*n)(DI)(R9*1), Y8 \
	VFMADD231PS Y4, Y10, Y9      \ // G[column] += P * D[row]
	VFMADD231PS Y10, Y8, Y0      \ // G[row] += P * D[column]
	VFMADD231PS Y11, Y8, Y1      \
	VFMADD231PS Y5, Y11, Y9      \
	VFMADD231PS Y12, Y8, Y2      \
	VFMADD231PS Y13, Y8, Y3      \
	VFMADD231PS Y6, Y12, Y9      \
	VFMADD231PS Y7, Y13, Y9      \
	VMOVUPS Y9, (32*n)(R8)(R9*1)

// TRI_TWO multiplies the elements of two rows, one in each half of a register.
#define TRI_TWO(at, y, x, gr, d0, d1) \
	VMOVUPS (at)(BX), y    \
	VFMADD231PS y, Y12, gr \
	VFMADD231PS x, d0, X13 \
	VFMADD231PS (at+16)(BX), d1, X13

// TRI_COLUMN4 is column R9 + n of eight rows, for four components. D of the rows is in X4 to X11, their
// G in the halves of Y0 to Y3; Y12 is D twice and X13 is G of the column.
#define TRI_COLUMN4(n) \
	VBROADCASTF128 (16*n)(DI)(R9*1), Y12        \
	VMOVUPS (16*n)(R8)(R9*1), X13               \
	TRI_TWO((128*n), Y14, X14, Y0, X4, X5)      \
	TRI_TWO((128*n+32), Y15, X15, Y1, X6, X7)   \
	TRI_TWO((128*n+64), Y14, X14, Y2, X8, X9)   \
	TRI_TWO((128*n+96), Y15, X15, Y3, X10, X11) \
	VMOVUPS X13, (16*n)(R8)(R9*1)

// TRI_DIAGONAL4 is TRI_DIAGONAL8 of four rows.
#define TRI_DIAGONAL4(w, g0, g1, g2, g3, dc, x, y) \
	VMOVUPS (0*w)(DI)(R10*1), dc                         \
	VFMADD231PS (0*w)(BX), dc, g0                        \
	TRI_BOTH((1*w)(BX), y, dc, g1, (1*w)(DI)(R10*1), g0) \
	TRI_BOTH((2*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g0) \
	TRI_BOTH((3*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g0) \
	VMOVUPS (1*w)(DI)(R10*1), dc                         \
	VFMADD231PS (4*w)(BX), dc, g1                        \
	TRI_BOTH((5*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g1) \
	TRI_BOTH((6*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g1) \
	VMOVUPS (2*w)(DI)(R10*1), dc                         \
	VFMADD231PS (7*w)(BX), dc, g2                        \
	TRI_BOTH((8*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g2) \
	VMOVUPS (3*w)(DI)(R10*1), dc                         \
	VFMADD231PS (9*w)(BX), dc, g3

// func quadTriangleAVX2(eights, fours int, g, q, x, mu, p, work []float32)
//
// G and q of one row, packed triangles, 8 then 4 components.
// For groups of first eight, then at most once four components beside each other, whose mu and g
// are d x 8 (or 4) and q is 8 (or 4):
//
//	g[j, i] = chain over p of fma(x[p]-mu[p, i], P_i[p, j], ...)
//	q[i] = the dot product of x-mu[., i] and g[., i]
//
// d, the length of x, is a multiple of 16. work holds x - mu.
//
// R8, DI, BX, R9, R10, R11 as in quad_triangle_amd64.h   SI x of these rows   DX mu
// R12 q   CX groups left
TEXT ·quadTriangleAVX2(SB), NOSPLIT, $0-160
	MOVQ g_base+16(FP), R8
	MOVQ q_base+40(FP), R12
	MOVQ x_len+72(FP), R11
	MOVQ mu_base+88(FP), DX
	MOVQ p_base+112(FP), BX
	MOVQ work_base+136(FP), DI
	SHLQ $5, R11
	MOVQ eights+0(FP), CX
	TESTQ CX, CX
	JEQ  half
group:
	MOVQ x_base+64(FP), SI
	XORQ R10, R10
rows:
	TRI_CLEAR4(Y0, Y1, Y2, Y3)
	VBROADCASTSS (SI), Y4
	VSUBPS (DX)(R10*1), Y4, Y4
	VMOVUPS Y4, (DI)(R10*1)
	VBROADCASTSS 4(SI), Y5
	VSUBPS 32(DX)(R10*1), Y5, Y5
	VMOVUPS Y5, 32(DI)(R10*1)
	VBROADCASTSS 8(SI), Y6
	VSUBPS 64(DX)(R10*1), Y6, Y6
	VMOVUPS Y6, 64(DI)(R10*1)
	VBROADCASTSS 12(SI), Y7
	VSUBPS 96(DX)(R10*1), Y7, Y7
	VMOVUPS Y7, 96(DI)(R10*1)
	ADDQ $16, SI
	XORQ R9, R9
	JMP  test
column:
	TRI_COLUMN(0)
	TRI_COLUMN(1)
	TRI_COLUMN(2)
	TRI_COLUMN(3)
	ADDQ $512, BX
	ADDQ $128, R9
test:
	CMPQ R9, R10
	JLT  column
	TRI_DIAGONAL4(32, Y0, Y1, Y2, Y3, Y8, Y9, Y10)
	ADDQ $(10*32), BX
	VMOVUPS Y0, (R8)(R10*1)
	VMOVUPS Y1, 32(R8)(R10*1)
	VMOVUPS Y2, 64(R8)(R10*1)
	VMOVUPS Y3, 96(R8)(R10*1)
	ADDQ $128, R10
	CMPQ R10, R11
	JLT  rows
	TRI_DOTS(32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, some, others)
	VMOVUPS Y0, (R12)
	ADDQ $32, R12
	ADDQ R11, R8
	ADDQ R11, DX
	SUBQ $1, CX
	JNE  group

half:
	SHRQ $1, R11
	CMPQ fours+8(FP), $0
	JEQ  done
	MOVQ x_base+64(FP), SI
	XORQ R10, R10
rows4:
	TRI_CLEAR4(Y0, Y1, Y2, Y3)
	VBROADCASTSS (SI), X4
	VSUBPS (DX)(R10*1), X4, X4
	VMOVUPS X4, (DI)(R10*1)
	VBROADCASTSS 4(SI), X5
	VSUBPS 16(DX)(R10*1), X5, X5
	VMOVUPS X5, 16(DI)(R10*1)
	VBROADCASTSS 8(SI), X6
	VSUBPS 32(DX)(R10*1), X6, X6
	VMOVUPS X6, 32(DI)(R10*1)
	VBROADCASTSS 12(SI), X7
	VSUBPS 48(DX)(R10*1), X7, X7
	VMOVUPS X7, 48(DI)(R10*1)
	VBROADCASTSS 16(SI), X8
	VSUBPS 64(DX)(R10*1), X8, X8
	VMOVUPS X8, 64(DI)(R10*1)
	VBROADCASTSS 20(SI), X9
	VSUBPS 80(DX)(R10*1), X9, X9
	VMOVUPS X9, 80(DI)(R10*1)
	VBROADCASTSS 24(SI), X10
	VSUBPS 96(DX)(R10*1), X10, X10
	VMOVUPS X10, 96(DI)(R10*1)
	VBROADCASTSS 28(SI), X11
	VSUBPS 112(DX)(R10*1), X11, X11
	VMOVUPS X11, 112(DI)(R10*1)
	ADDQ $32, SI
	XORQ R9, R9
	JMP  test4
column4:
	TRI_COLUMN4(0)
	TRI_COLUMN4(1)
	TRI_COLUMN4(2)
	TRI_COLUMN4(3)
	ADDQ $512, BX
	ADDQ $64, R9
test4:
	CMPQ R9, R10
	JLT  column4
	VEXTRACTF128 $1, Y0, X4
	VEXTRACTF128 $1, Y1, X5
	VEXTRACTF128 $1, Y2, X6
	VEXTRACTF128 $1, Y3, X7
	TRI_DIAGONAL8(16, X0, X4, X1, X5, X2, X6, X3, X7, X8, X9, X10)
	ADDQ $(36*16), BX
	VMOVUPS X0, (R8)(R10*1)
	VMOVUPS X4, 16(R8)(R10*1)
	VMOVUPS X1, 32(R8)(R10*1)
	VMOVUPS X5, 48(R8)(R10*1)
	VMOVUPS X2, 64(R8)(R10*1)
	VMOVUPS X6, 80(R8)(R10*1)
	VMOVUPS X3, 96(R8)(R10*1)
	VMOVUPS X7, 112(R8)(R10*1)
	ADDQ $128, R10
	CMPQ R10, R11
	JLT  rows4
	TRI_DOTS(16, X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15, some4, others4)
	VMOVUPS X0, (R12)
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Mixture

// func mixtureLanesAVX2(q, c []float32)
//
// Responsibilities of one row.
// mixtureAVX2 for a single row whose components, a multiple of eight above 0, lie beside each other.
// It leaves out phi.
//
// SI q, R12 its bytes   DX c   R9 index in bytes   Y6 largest l, Y8 sum, Y10 1/2, Y11 the cut
TEXT ·mixtureLanesAVX2(SB), NOSPLIT, $0-48
	MOVQ q_base+0(FP), SI
	MOVQ q_len+8(FP), R12
	MOVQ c_base+24(FP), DX
	SHLQ $2, R12
	VMOVUPS ·expConst+256(SB), Y10
	VMOVUPS ·expConst+416(SB), Y11
	VMOVUPS ·logConst+512(SB), Y6
	XORQ R9, R9
first:
	VMOVUPS (SI)(R9*1), Y0
	VMOVUPS (DX)(R9*1), Y1
	VFNMADD231PS Y0, Y10, Y1 // l = c - q/2
	VMOVUPS Y1, (SI)(R9*1)
	VMAXPS Y6, Y1, Y6        // l > m ? l : m
	ADDQ $32, R9
	CMPQ R9, R12
	JLT  first
	VEXTRACTF128 $1, Y6, X0
	VMAXPS X0, X6, X6
	VMOVHLPS X6, X6, X0
	VMAXPS X0, X6, X6
	VMOVSHDUP X6, X0
	VMAXPS X0, X6, X6
	VBROADCASTSS X6, Y6
	XORQ R9, R9
second:
	VMOVUPS (SI)(R9*1), Y0
	VSUBPS Y6, Y0, Y0
	VCMPPS $0x11, Y11, Y0, Y7 // below the cut
	EXP_EVAL
	VANDNPS Y0, Y7, Y0
	VMOVUPS Y0, (SI)(R9*1)
	ADDQ $32, R9
	CMPQ R9, R12
	JLT  second
	VXORPS X8, X8, X8
	XORQ R9, R9
sum:
	VADDSS (SI)(R9*1), X8, X8
	VADDSS 4(SI)(R9*1), X8, X8
	VADDSS 8(SI)(R9*1), X8, X8
	VADDSS 12(SI)(R9*1), X8, X8
	VADDSS 16(SI)(R9*1), X8, X8
	VADDSS 20(SI)(R9*1), X8, X8
	VADDSS 24(SI)(R9*1), X8, X8
	VADDSS 28(SI)(R9*1), X8, X8
	ADDQ $32, R9
	CMPQ R9, R12
	JLT  sum
	VBROADCASTSS X8, Y8
	XORQ R9, R9
third:
	VMOVUPS (SI)(R9*1), Y0
	VDIVPS Y8, Y0, Y0
	VMOVUPS Y0, (SI)(R9*1)
	ADDQ $32, R9
	CMPQ R9, R12
	JLT  third
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Gradient step

// TRI_GATHER transposes eight columns, at byte at of SI, of four components, w bytes from column to
// column: y0 to y3 are the components (x0 to x3 their lower halves). Changes Y8 to Y11.
#define TRI_GATHER(w, at, x0, x1, x2, x3, y0, y1, y2, y3) \
	VMOVUPS (at)(SI), x0                 \
	VMOVUPS (w+at)(SI), x1               \
	VMOVUPS (2*w+at)(SI), x2             \
	VMOVUPS (3*w+at)(SI), x3             \
	VINSERTF128 $1, (4*w+at)(SI), y0, y0 \
	VINSERTF128 $1, (5*w+at)(SI), y1, y1 \
	VINSERTF128 $1, (6*w+at)(SI), y2, y2 \
	VINSERTF128 $1, (7*w+at)(SI), y3, y3 \
	VUNPCKLPS y1, y0, Y8                 \
	VUNPCKHPS y1, y0, Y9                 \
	VUNPCKLPS y3, y2, Y10                \
	VUNPCKHPS y3, y2, Y11                \
	VUNPCKLPD Y10, Y8, y0                \
	VUNPCKHPD Y10, Y8, y1                \
	VUNPCKLPD Y11, Y9, y2                \
	VUNPCKHPD Y11, Y9, y3

// TRI_SUB subtracts r times 16 columns of G, (a, b), from (Y12, Y13), unless r, at byte at of R9, is 0.
#define TRI_SUB(at, a, b, skip) \
	MOVL (at)(R9), AX          \
	ADDL AX, AX                \ // drops the sign: only +0 and -0 give zero
	JEQ  skip                  \
	VBROADCASTSS (at)(R9), Y14 \
	VFNMADD231PS a, Y14, Y12   \
	VFNMADD231PS b, Y14, Y13   \
skip:

// TRI_SUB4 does so for the 16 columns of four components.
#define TRI_SUB4(w, at, r, skip0, skip1, skip2, skip3) \
	TRI_GATHER(w, at, X0, X1, X2, X3, Y0, Y1, Y2, Y3)     \
	TRI_GATHER(w, 8*w+at, X4, X5, X6, X7, Y4, Y5, Y6, Y7) \
	TRI_SUB(r, Y0, Y4, skip0)                             \
	TRI_SUB(r+4, Y1, Y5, skip1)                           \
	TRI_SUB(r+8, Y2, Y6, skip2)                           \
	TRI_SUB(r+12, Y3, Y7, skip3)

// func moveLanesAVX2(sixteens, eights, fours int, alpha float32, x, r, g []float32)
//
// x += alpha * gradient for one row.
// x[j] = fma(alpha, s, x[j]), where s is - sum over i of r[i]*g[i, j] as gradientAVX2 computes it. g
// has groups of first sixteen, then eight, then at most once four components, as quadSixteensAVX512
// and quadTriangleAVX2 leave it.
//
// DI x, CX columns left   R9 r   SI current group of G, R11 bytes of a group of eight   BX groups left
// R8, R13, R12: these columns of the first group of sixteen, of eight, of four   Y15 alpha
TEXT ·moveLanesAVX2(SB), NOSPLIT, $0-104
	VBROADCASTSS alpha+24(FP), Y15
	MOVQ x_base+32(FP), DI
	MOVQ x_len+40(FP), CX
	MOVQ g_base+80(FP), R8   // of these columns and the first sixteen components
	MOVQ CX, R11
	SHLQ $5, R11             // bytes of a group of eight
	MOVQ sixteens+0(FP), R13
	IMULQ R11, R13
	LEAQ (R8)(R13*2), R13    // of these columns and the first eight components
	MOVQ eights+8(FP), R12
	IMULQ R11, R12
	ADDQ R13, R12            // of these columns and the first four components
columns:
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	MOVQ r_base+56(FP), R9
	MOVQ R8, SI
	MOVQ sixteens+0(FP), BX
	JMP  sixteentest
sixteen:
	TRI_SUB4(64, 0, 0, skip12, skip13, skip14, skip15)
	TRI_SUB4(64, 16, 16, skip16, skip17, skip18, skip19)
	TRI_SUB4(64, 32, 32, skip20, skip21, skip22, skip23)
	TRI_SUB4(64, 48, 48, skip24, skip25, skip26, skip27)
	ADDQ $64, R9
	LEAQ (SI)(R11*2), SI
sixteentest:
	SUBQ $1, BX
	JGE  sixteen
	MOVQ R13, SI
	MOVQ eights+8(FP), BX
	JMP  test
eight:
	TRI_SUB4(32, 0, 0, skip0, skip1, skip2, skip3)
	TRI_SUB4(32, 16, 16, skip4, skip5, skip6, skip7)
	ADDQ $32, R9
	ADDQ R11, SI
test:
	SUBQ $1, BX
	JGE  eight
	CMPQ fours+16(FP), $0
	JEQ  done
	MOVQ R12, SI
	TRI_SUB4(16, 0, 0, skip8, skip9, skip10, skip11)
done:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VFMADD231PS Y12, Y15, Y0
	VFMADD231PS Y13, Y15, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $64, DI
	ADDQ $1024, R8
	ADDQ $512, R13
	ADDQ $256, R12
	SUBQ $16, CX
	JGT  columns
	VZEROUPPER
	RET
