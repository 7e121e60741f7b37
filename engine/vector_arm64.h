// Shared by the NEON files: instructions that Go's assembler does not know, loops over vectors,
// lanes of a reduction, exp and log.
// A macro that contains a loop takes the names of its labels as its last parameters (the assembler has
// no local labels); they carry no other meaning.

// Operands are register numbers in Go's order: the destination last, and the second source of a
// difference, quotient or comparison first, so that VFSUB4S(m, n, d) is d = n - m and VFCMGT4S(m, n, d)
// sets all bits of the lanes of d where n > m. TestEncodings decodes each line and compares it with
// the comment.

#define VFADD4S(m, n, d)   WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d)) // fadd Vd.4s, Vn.4s, Vm.4s
#define VFSUB4S(m, n, d)   WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d)) // fsub Vd.4s, Vn.4s, Vm.4s
#define VFMUL4S(m, n, d)   WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d)) // fmul Vd.4s, Vn.4s, Vm.4s
#define VFDIV4S(m, n, d)   WORD $(0x6e20fc00 | (m)<<16 | (n)<<5 | (d)) // fdiv Vd.4s, Vn.4s, Vm.4s
#define VFMAX4S(m, n, d)   WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d)) // fmax Vd.4s, Vn.4s, Vm.4s
#define VFMIN4S(m, n, d)   WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d)) // fmin Vd.4s, Vn.4s, Vm.4s
#define VFSQRT4S(n, d)     WORD $(0x6ea1f800 | (n)<<5 | (d))           // fsqrt Vd.4s, Vn.4s
#define VSCVTF4S(n, d)     WORD $(0x4e21d800 | (n)<<5 | (d))           // scvtf Vd.4s, Vn.4s
#define VSSHR4S(s, n, d)   WORD $(0x4f000400 | (64-(s))<<16 | (n)<<5 | (d)) // sshr Vd.4s, Vn.4s, #s
#define VFCMGT4S(m, n, d)  WORD $(0x6ea0e400 | (m)<<16 | (n)<<5 | (d)) // fcmgt Vd.4s, Vn.4s, Vm.4s
#define VFCMEQ4S(m, n, d)  WORD $(0x4e20e400 | (m)<<16 | (n)<<5 | (d)) // fcmeq Vd.4s, Vn.4s, Vm.4s
#define VFCMGTZ4S(n, d)    WORD $(0x4ea0c800 | (n)<<5 | (d))           // fcmgt Vd.4s, Vn.4s, #0.0
#define VFCMGEZ4S(n, d)    WORD $(0x6ea0c800 | (n)<<5 | (d))           // fcmge Vd.4s, Vn.4s, #0.0
#define VFCMEQZ4S(n, d)    WORD $(0x4ea0d800 | (n)<<5 | (d))           // fcmeq Vd.4s, Vn.4s, #0.0
#define VFACGT4S(m, n, d)  WORD $(0x6ea0ec00 | (m)<<16 | (n)<<5 | (d)) // facgt Vd.4s, Vn.4s, Vm.4s
#define VFADD2D(m, n, d)   WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d)) // fadd Vd.2d, Vn.2d, Vm.2d
#define VFSUB2D(m, n, d)   WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d)) // fsub Vd.2d, Vn.2d, Vm.2d
#define VFMUL2D(m, n, d)   WORD $(0x6e60dc00 | (m)<<16 | (n)<<5 | (d)) // fmul Vd.2d, Vn.2d, Vm.2d
#define VFCVTL(n, d)       WORD $(0x0e617800 | (n)<<5 | (d))           // fcvtl Vd.2d, Vn.2s
#define VFCVTL2(n, d)      WORD $(0x4e617800 | (n)<<5 | (d))           // fcvtl2 Vd.2d, Vn.4s
#define VFCVTN(n, d)       WORD $(0x0e616800 | (n)<<5 | (d))           // fcvtn Vd.2s, Vn.2d
#define VFCVTN2(n, d)      WORD $(0x4e616800 | (n)<<5 | (d))           // fcvtn2 Vd.4s, Vn.2d
#define VFMLA4S0(m, n, d)  WORD $(0x4f801000 | (m)<<16 | (n)<<5 | (d)) // fmla Vd.4s, Vn.4s, Vm.s[0]

// VEC_ZERO4 clears four registers.
#define VEC_ZERO4(a, b, c, d) VMOVI $0, a.B16; VMOVI $0, b.B16; VMOVI $0, c.B16; VMOVI $0, d.B16

// VEC_LOOP runs over R7 elements: 16 at a time, then 4, then 1. load, op and store handle four
// elements, load1 and store1 one, and advance the pointers.
#define VEC_LOOP(load, op, store, load1, store1, l16, t16, l4, t4, l1, t1) \
	B     t16     \
l16: \
	load          \
	op            \
	store         \
	load          \
	op            \
	store         \
	load          \
	op            \
	store         \
	load          \
	op            \
	store         \
t16: \
	SUBS  $16, R7 \
	BGE   l16     \
	ADD   $16, R7 \
	B     t4      \
l4: \
	load          \
	op            \
	store         \
t4: \
	SUBS  $4, R7  \
	BGE   l4      \
	ADD   $4, R7  \
	B     t1      \
l1: \
	load1         \
	op            \
	store1        \
t1: \
	SUBS  $1, R7  \
	BGE   l1

// Operands of an elementwise kernel: destination at R0, x at R1, y at R2; values in V0 (x) and V1 (y).
#define VEC_LOADX FMOVQ.P 16(R1), F0
#define VEC_LOADX1 FMOVS.P 4(R1), F0

#define VEC_LOADXY \
	FMOVQ.P 16(R1), F0 \
	FMOVQ.P 16(R2), F1

#define VEC_LOADXY1 \
	FMOVS.P 4(R1), F0 \
	FMOVS.P 4(R2), F1

#define VEC_STORE FMOVQ.P F0, 16(R0)
#define VEC_STORE1 FMOVS.P F0, 4(R0)

// VEC_ZEROLANES clears the sixteen lanes of a reduction, or 16 columns: V16 to V19.
#define VEC_ZEROLANES \
	VEC_ZERO4(V16, V17, V18, V19)

// VEC_SKIPZERO jumps to skip if the float32 at p is +0 or -0. Changes R13.
#define VEC_SKIPZERO(p, skip) \
	MOVWU (p), R13         \
	TSTW  $0x7fffffff, R13 \
	BEQ   skip

// EXP_CONSTANTS loads what EXP_EVAL needs into V16 to V26. Changes R9.
#define EXP_CONSTANTS \
	MOVD    $·expConst(SB), R9 \
	VLD1R.P 4(R9), [V16.S4]    \
	VLD1R.P 4(R9), [V17.S4]    \
	VLD1R.P 4(R9), [V18.S4]    \
	VLD1R.P 4(R9), [V19.S4]    \
	VLD1R.P 4(R9), [V20.S4]    \
	VLD1R.P 4(R9), [V21.S4]    \
	VLD1R.P 4(R9), [V22.S4]    \
	VLD1R.P 4(R9), [V23.S4]    \
	VLD1R.P 4(R9), [V24.S4]    \
	VLD1R.P 4(R9), [V25.S4]    \
	VLD1R   (R9), [V26.S4]

// EXP_EVAL sets V0 to exp(V0). x is within the bounds of EXP_OP. Changes V1 to V4. The integer n is
// not taken out of t: its bits are those of the magic number plus n, and of their halves only the low
// nine bits, where the magic number has none, survive the shift into the exponent.
#define EXP_EVAL \
	VMOV  V16.B16, V1.B16      \
	VFMLA V17.S4, V0.S4, V1.S4 \ // t = fma(x, log2e, magic)
	VFSUB4S(16, 1, 2)          \ // n
	VFMLS V18.S4, V2.S4, V0.S4 \
	VFMLS V19.S4, V2.S4, V0.S4 \ // r = x - n ln 2
	VMOV  V23.B16, V3.B16      \
	VFMLA V22.S4, V0.S4, V3.S4 \
	VMOV  V24.B16, V4.B16      \
	VFMLA V3.S4, V0.S4, V4.S4  \
	VMOV  V25.B16, V3.B16      \
	VFMLA V4.S4, V0.S4, V3.S4  \
	VMOV  V21.B16, V4.B16      \
	VFMLA V3.S4, V0.S4, V4.S4  \
	VMOV  V20.B16, V3.B16      \
	VFMLA V4.S4, V0.S4, V3.S4  \
	VMOV  V20.B16, V4.B16      \
	VFMLA V3.S4, V0.S4, V4.S4  \ // e^r
	VUSHR $1, V1.S4, V2.S4     \
	VSUB  V2.S4, V1.S4, V1.S4  \ // n = V2 + V1
	VADD  V26.S4, V1.S4, V1.S4 \
	VADD  V26.S4, V2.S4, V2.S4 \
	VSHL  $23, V1.S4, V1.S4    \
	VSHL  $23, V2.S4, V2.S4    \
	VFMUL4S(2, 4, 0)           \
	VFMUL4S(1, 0, 0)

// LOG_CONSTANTS loads what LOG_EVAL needs beside V18 to V20 into V6 to V15. Changes R9.
#define LOG_CONSTANTS \
	MOVD    $·logConst(SB), R9 \
	VLD1R.P 4(R9), [V6.S4]     \
	VLD1R.P 4(R9), [V7.S4]     \
	VLD1R.P 4(R9), [V8.S4]     \
	VLD1R.P 4(R9), [V9.S4]     \
	VLD1R.P 4(R9), [V10.S4]    \
	VLD1R.P 4(R9), [V11.S4]    \
	VLD1R.P 4(R9), [V12.S4]    \
	VLD1R.P 4(R9), [V13.S4]    \
	VLD1R.P 4(R9), [V14.S4]    \
	VLD1R   (R9), [V15.S4]

// LOG_EVAL sets V0 to log(V0) for a normal x > 0; V4 is added to the exponent. Changes V1 to V4.
#define LOG_EVAL \
	VSUB  V6.S4, V0.S4, V1.S4  \
	VSSHR4S(23, 1, 1)          \ // e
	VSHL  $23, V1.S4, V2.S4    \
	VSUB  V2.S4, V0.S4, V0.S4  \ // mantissa in [sqrt(1/2), sqrt(2))
	VSCVTF4S(1, 1)             \
	VFADD4S(4, 1, 1)           \
	VFSUB4S(20, 0, 0)          \ // f
	VFMUL4S(0, 0, 2)           \
	VMOV  V8.B16, V3.B16       \
	VFMLA V7.S4, V0.S4, V3.S4  \
	VMOV  V9.B16, V4.B16       \
	VFMLA V3.S4, V0.S4, V4.S4  \
	VMOV  V10.B16, V3.B16      \
	VFMLA V4.S4, V0.S4, V3.S4  \
	VMOV  V11.B16, V4.B16      \
	VFMLA V3.S4, V0.S4, V4.S4  \
	VMOV  V12.B16, V3.B16      \
	VFMLA V4.S4, V0.S4, V3.S4  \
	VMOV  V13.B16, V4.B16      \
	VFMLA V3.S4, V0.S4, V4.S4  \
	VMOV  V14.B16, V3.B16      \
	VFMLA V4.S4, V0.S4, V3.S4  \
	VMOV  V15.B16, V4.B16      \
	VFMLA V3.S4, V0.S4, V4.S4  \
	VFMLA V2.S4, V4.S4, V0.S4  \ // log(1+f) = fma(f*f, q, f)
	VFMLA V19.S4, V1.S4, V0.S4 \
	VFMLA V18.S4, V1.S4, V0.S4
