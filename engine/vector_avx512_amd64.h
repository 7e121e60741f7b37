// Shared by the AVX-512 files: names of registers, tails, loops over vectors, reductions, exp and log. The
// constants are those of asm_amd64.s, of which one copy is broadcast.
// A macro that contains a loop takes the names of its labels as its last parameters (the assembler has
// no local labels); they carry no other meaning.

// The registers, of VEC_BYTES bytes, as vector_amd64.h and ascent_amd64.h call those of both tiers.
#define VEC_BYTES 64
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define V14 Z14
#define V15 Z15

// VEC_MOVE loads or stores a vector, VEC_MASKLOAD and VEC_MASKSTORE the lanes of it that are set in K1: they read and
// write nothing outside.
#define VEC_MOVE(from, to) VMOVUPS from, to
#define VEC_MASKLOAD(from, to) VMOVUPS.Z from, K1, to
#define VEC_MASKSTORE(from, to) VMOVUPS from, K1, to

// VEC_CLEAR clears a register, VEC_ZERO4 four.
#define VEC_CLEAR(v) VPXORD v, v, v
#define VEC_ZERO4(a, b, c, d) VEC_CLEAR(a); VEC_CLEAR(b); VEC_CLEAR(c); VEC_CLEAR(d)

// VEC_SIGNBITS sets all lanes of a register to the sign bit. Changes AX.
#define VEC_SIGNBITS(v) MOVL $0x80000000, AX; VPBROADCASTD AX, v

// VEC_TAILMASK sets K1 to the lowest CX (0 to 15) of sixteen lanes. Changes R8 and CX.
#define VEC_TAILMASK \
	MOVL  $1, R8 \
	SHLL  CX, R8 \
	DECL  R8     \
	KMOVW R8, K1

// VEC_LOOP runs over CX elements: 16 at a time, then the masked rest. load(move, off), op and store(move, off) work
// at base+off(AX*4) by the moves above. The label l8 is used on AVX2 only. Changes AX, CX, R8, K1.
#define VEC_LOOP(load, op, store, l16, l8, tail, end) \
	XORQ AX, AX             \
	SUBQ $16, CX            \
	JLT  tail               \
l16: \
	load(VEC_MOVE, 0)       \
	op                      \
	store(VEC_MOVE, 0)      \
	ADDQ $16, AX            \ // AX is the element reached
	SUBQ $16, CX            \
	JGE  l16                \
tail: \
	ADDQ $16, CX            \ // CX elements are left, 0 to 15
	JEQ  end                \
	VEC_TAILMASK            \
	load(VEC_MASKLOAD, 0)   \
	op                      \
	store(VEC_MASKSTORE, 0) \
end:

// VEC_WIDENX converts the sixteen float32 of x in Z0 to float64 in Z2 and Z3, VEC_WIDENY those of y in Z1
// to Z6 and Z7. VEC_NARROW rounds Z2 and Z3 to float32 in Z0.
#define VEC_WIDENX \
	VEXTRACTF64X4 $1, Z0, Y3 \
	VCVTPS2PD     Y0, Z2     \
	VCVTPS2PD     Y3, Z3

#define VEC_WIDENY \
	VEXTRACTF64X4 $1, Z1, Y7 \
	VCVTPS2PD     Y1, Z6     \
	VCVTPS2PD     Y7, Z7

#define VEC_NARROW \
	VCVTPD2PS    Z2, Y2         \
	VCVTPD2PS    Z3, Y3         \
	VINSERTF64X4 $1, Y3, Z2, Z0

// REDUCE_TREE64 adds the sixteen float64 lanes of a reduction, Z4 and Z5, in the fixed order 8 apart, 4,
// 2, 1. The sum is in X4. Changes Z5.
#define REDUCE_TREE64 \
	VADDPD        Z5, Z4, Z4 \ // lanes 8 apart
	VEXTRACTF64X4 $1, Z4, Y5 \
	VADDPD        Y5, Y4, Y4 \ // 4 apart
	VEXTRACTF128  $1, Y4, X5 \
	VADDPD        X5, X4, X4 \ // 2 apart
	VPERMILPD     $1, X4, X5 \
	VADDSD        X5, X4, X4

// REDUCE_TREE adds the sixteen lanes of a reduction, Z4, in the fixed order 8 apart, 4, 2, 1. The sum
// is in X4. Changes Y5.
#define REDUCE_TREE \
	VEXTRACTF64X4 $1, Z4, Y5 \
	VADDPS        Y5, Y4, Y4 \ // lanes 8 apart
	VEXTRACTF128  $1, Y4, X5 \
	VADDPS        X5, X4, X4 \ // 4 apart
	VMOVHLPS      X4, X4, X5 \
	VADDPS        X5, X4, X4 \
	VMOVSHDUP     X4, X5     \
	VADDSS        X5, X4, X4

// REDUCE_TREE4 reduces Z4, Z5, Z6 and Z7 to the four elements of X4. K2 is 0x1111. Changes Z8 and Z9.
#define REDUCE_TREE4 \
	VSHUFF64X2 $0x44, Z5, Z4, Z8 \ // lower halves of rows 0, 1
	VSHUFF64X2 $0xee, Z5, Z4, Z9 \ // upper halves
	VADDPS     Z9, Z8, Z4        \
	VSHUFF64X2 $0x44, Z7, Z6, Z8 \
	VSHUFF64X2 $0xee, Z7, Z6, Z9 \
	VADDPS     Z9, Z8, Z6        \
	VSHUFF64X2 $0x88, Z6, Z4, Z8 \ // lower quarters of rows 0, 1, 2, 3
	VSHUFF64X2 $0xdd, Z6, Z4, Z9 \ // upper ones
	VADDPS     Z9, Z8, Z4        \
	VPERMILPS  $0x4e, Z4, Z8     \
	VADDPS     Z8, Z4, Z4        \
	VPERMILPS  $0xb1, Z4, Z8     \
	VADDPS     Z8, Z4, Z4        \
	VCOMPRESSPS Z4, K2, Z4

// EXP_CONSTANTS loads what EXP_EVAL needs into Z16 to Z25.
#define EXP_CONSTANTS \
	VBROADCASTSS ·expConst+0(SB), Z16   \ // log2(e)
	VBROADCASTSS ·expConst+32(SB), Z17  \ // 1.5*2^23
	VBROADCASTSS ·expConst+64(SB), Z18  \ // ln 2, upper part
	VBROADCASTSS ·expConst+96(SB), Z19  \ // ln 2, lower part
	VBROADCASTSS ·expConst+128(SB), Z20 \ // polynomial
	VBROADCASTSS ·expConst+160(SB), Z21 \
	VBROADCASTSS ·expConst+192(SB), Z22 \
	VBROADCASTSS ·expConst+224(SB), Z23 \
	VBROADCASTSS ·expConst+256(SB), Z24 \ // 1/2
	VBROADCASTSS ·expConst+288(SB), Z25   // 1

// EXP_EVAL sets Z0 to exp(Z0). x is within the bounds of EXP_OP. Changes Z1, Z2, Z3. Scaling by 2^n
// rounds once, as the two factors of the other tiers do.
#define EXP_EVAL \
	VMOVAPS      Z17, Z1     \
	VFMADD231PS  Z16, Z0, Z1 \ // t = fma(x, log2e, magic)
	VSUBPS       Z17, Z1, Z2 \ // n
	VFNMADD231PS Z18, Z2, Z0 \
	VFNMADD231PS Z19, Z2, Z0 \ // r = x - n ln 2
	VMOVAPS      Z20, Z3     \
	VFMADD213PS  Z21, Z0, Z3 \
	VFMADD213PS  Z22, Z0, Z3 \
	VFMADD213PS  Z23, Z0, Z3 \
	VFMADD213PS  Z24, Z0, Z3 \
	VFMADD213PS  Z25, Z0, Z3 \
	VFMADD213PS  Z25, Z0, Z3 \ // e^r
	VSCALEFPS    Z2, Z3, Z0

// LOG_EVAL sets Z0 to log(Z0) for a normal x > 0; Z4 is added to the exponent. Changes Z1 to Z3.
#define LOG_EVAL \
	VPSUBD.BCST      ·logConst+0(SB), Z0, Z1   \
	VPSRAD           $23, Z1, Z1               \ // e
	VPSLLD           $23, Z1, Z2               \
	VPSUBD           Z2, Z0, Z0                \ // mantissa in [sqrt(1/2), sqrt(2))
	VCVTDQ2PS        Z1, Z1                    \
	VADDPS           Z4, Z1, Z1                \
	VSUBPS.BCST      ·logConst+32(SB), Z0, Z0  \ // f
	VMULPS           Z0, Z0, Z2                \
	VBROADCASTSS     ·logConst+64(SB), Z3      \
	VFMADD213PS.BCST ·logConst+96(SB), Z0, Z3  \
	VFMADD213PS.BCST ·logConst+128(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logConst+160(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logConst+192(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logConst+224(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logConst+256(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logConst+288(SB), Z0, Z3 \
	VFMADD213PS.BCST ·logConst+320(SB), Z0, Z3 \
	VFMADD231PS      Z2, Z3, Z0                \ // log(1+f) = fma(f*f, q, f)
	VFMADD231PS.BCST ·logConst+352(SB), Z1, Z0 \
	VFMADD231PS.BCST ·logConst+384(SB), Z1, Z0
