// Shared by the AVX2 files: names of registers, tails, loops over vectors, reductions, exp and log.
// A macro that contains a loop takes the names of its labels as its last parameters (the assembler has
// no local labels); they carry no other meaning.

// The registers, of VEC_BYTES bytes, as vector_amd64.h and ascent_amd64.h call those of both tiers.
#define VEC_BYTES 32
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define V14 Y14
#define V15 Y15

// VEC_MOVE loads or stores a vector, VEC_MASKLOAD and VEC_MASKSTORE the lanes of it that are set in Y15.
#define VEC_MOVE(from, to) VMOVUPS from, to
#define VEC_MASKLOAD(from, to) VMASKMOVPS from, Y15, to
#define VEC_MASKSTORE(from, to) VMASKMOVPS from, Y15, to

// VEC_CLEAR clears a register, VEC_ZERO4 four.
#define VEC_CLEAR(v) VXORPS v, v, v
#define VEC_ZERO4(a, b, c, d) VEC_CLEAR(a); VEC_CLEAR(b); VEC_CLEAR(c); VEC_CLEAR(d)

// VEC_SIGNBITS sets all lanes of a register to the sign bit.
#define VEC_SIGNBITS(v) VPCMPEQD v, v, v; VPSLLD $31, v, v

// VEC_TAILMASK sets Y15 to the lowest CX (0 to 7) of eight lanes: the 32 bytes of tailMasks that begin 4*CX
// bytes before its middle. Changes R8 and CX.
#define VEC_TAILMASK \
	LEAQ ·tailMasks+32(SB), R8 \
	SHLQ $2, CX                \
	SUBQ CX, R8                \
	VMOVUPS (R8), Y15

// VEC_LOOP runs over CX elements: 16 at a time, then 8, then the masked rest. load(move, off), op and
// store(move, off) work at base+off(AX*4) by the moves above. Changes AX, CX, R8, Y15.
#define VEC_LOOP(load, op, store, l16, l8, tail, end) \
	XORQ AX, AX             \
l16: \
	LEAQ 16(AX), R8         \ // 16 more elements?
	CMPQ R8, CX             \
	JGT  l8                 \
	load(VEC_MOVE, 0)       \ // elements AX to AX+7
	op                      \
	store(VEC_MOVE, 0)      \
	load(VEC_MOVE, 32)      \ // elements AX+8 to AX+15
	op                      \
	store(VEC_MOVE, 32)     \
	MOVQ R8, AX             \ // AX is the element reached
	JMP  l16                \
l8: \
	LEAQ 8(AX), R8          \
	CMPQ R8, CX             \
	JGT  tail               \
	load(VEC_MOVE, 0)       \
	op                      \
	store(VEC_MOVE, 0)      \
	MOVQ R8, AX             \
tail: \
	SUBQ AX, CX             \ // CX elements are left, 0 to 7
	JEQ  end                \
	VEC_TAILMASK            \
	load(VEC_MASKLOAD, 0)   \
	op                      \
	store(VEC_MASKSTORE, 0) \
end:

// VEC_WIDENX converts the eight float32 of x in Y0 to float64 in Y2 and Y3, VEC_WIDENY those of y in Y1 to
// Y6 and Y7. VEC_NARROW rounds Y2 and Y3 to float32 in Y0.
#define VEC_WIDENX \
	VEXTRACTF128 $1, Y0, X3 \
	VCVTPS2PD    X0, Y2     \
	VCVTPS2PD    X3, Y3

#define VEC_WIDENY \
	VEXTRACTF128 $1, Y1, X7 \
	VCVTPS2PD    X1, Y6     \
	VCVTPS2PD    X7, Y7

#define VEC_NARROW \
	VCVTPD2PSY  Y2, X2         \
	VCVTPD2PSY  Y3, X3         \
	VINSERTF128 $1, X3, Y2, Y0

// REDUCE_TREE64 adds the sixteen float64 lanes of a reduction, Y4 to Y7, in the fixed order 8 apart, 4, 2,
// 1. The sum is in X4. Changes Y5.
#define REDUCE_TREE64 \
	VADDPD       Y6, Y4, Y4 \ // lanes 8 apart
	VADDPD       Y7, Y5, Y5 \
	VADDPD       Y5, Y4, Y4 \ // 4 apart
	VEXTRACTF128 $1, Y4, X5 \
	VADDPD       X5, X4, X4 \ // 2 apart
	VPERMILPD    $1, X4, X5 \
	VADDSD       X5, X4, X4

// REDUCE_TREE adds the sixteen lanes of a reduction, (Y4, Y5), in the fixed order 8 apart, 4, 2, 1.
// The sum is in X4. Changes Y5.
#define REDUCE_TREE \
	VADDPS       Y5, Y4, Y4 \ // lanes 8 apart
	VEXTRACTF128 $1, Y4, X5 \
	VADDPS       X5, X4, X4 \ // 4 apart
	VMOVHLPS     X4, X4, X5 \
	VADDPS       X5, X4, X4 \
	VMOVSHDUP    X4, X5     \
	VADDSS       X5, X4, X4

// EXP_EVAL sets Y0 to exp(Y0). x is within the bounds of EXP_OP. Changes Y1, Y2, Y3. 2^n is
// applied as two factors because n may be outside the range of one exponent.
#define EXP_EVAL \
	VMOVUPS      ·expConst+32(SB), Y1      \
	VFMADD231PS  ·expConst+0(SB), Y0, Y1   \ // t = fma(x, log2e, magic)
	VSUBPS       ·expConst+32(SB), Y1, Y2  \ // n
	VFNMADD231PS ·expConst+64(SB), Y2, Y0  \
	VFNMADD231PS ·expConst+96(SB), Y2, Y0  \ // r = x - n ln 2
	VMOVUPS      ·expConst+128(SB), Y3     \
	VFMADD213PS  ·expConst+160(SB), Y0, Y3 \
	VFMADD213PS  ·expConst+192(SB), Y0, Y3 \
	VFMADD213PS  ·expConst+224(SB), Y0, Y3 \
	VFMADD213PS  ·expConst+256(SB), Y0, Y3 \
	VFMADD213PS  ·expConst+288(SB), Y0, Y3 \
	VFMADD213PS  ·expConst+288(SB), Y0, Y3 \ // e^r
	VPSUBD       ·expConst+32(SB), Y1, Y1  \ // n as an integer
	VPSRAD       $1, Y1, Y2                \
	VPSUBD       Y2, Y1, Y1                \ // n = Y2 + Y1
	VPADDD       ·expConst+320(SB), Y1, Y1 \
	VPADDD       ·expConst+320(SB), Y2, Y2 \
	VPSLLD       $23, Y1, Y1               \
	VPSLLD       $23, Y2, Y2               \
	VMULPS       Y2, Y3, Y0                \
	VMULPS       Y1, Y0, Y0

// LOG_EVAL sets Y0 to log(Y0) for a normal x > 0; Y4 is added to the exponent. Changes Y1 to Y4.
#define LOG_EVAL \
	VPSUBD      ·logConst+0(SB), Y0, Y1   \
	VPSRAD      $23, Y1, Y1               \ // e
	VPSLLD      $23, Y1, Y2               \
	VPSUBD      Y2, Y0, Y0                \ // mantissa in [sqrt(1/2), sqrt(2))
	VCVTDQ2PS   Y1, Y1                    \
	VADDPS      Y4, Y1, Y1                \
	VSUBPS      ·logConst+32(SB), Y0, Y0  \ // f
	VMULPS      Y0, Y0, Y2                \
	VMOVUPS     ·logConst+64(SB), Y3      \
	VFMADD213PS ·logConst+96(SB), Y0, Y3  \
	VFMADD213PS ·logConst+128(SB), Y0, Y3 \
	VFMADD213PS ·logConst+160(SB), Y0, Y3 \
	VFMADD213PS ·logConst+192(SB), Y0, Y3 \
	VFMADD213PS ·logConst+224(SB), Y0, Y3 \
	VFMADD213PS ·logConst+256(SB), Y0, Y3 \
	VFMADD213PS ·logConst+288(SB), Y0, Y3 \
	VFMADD213PS ·logConst+320(SB), Y0, Y3 \
	VFMADD231PS Y2, Y3, Y0                \ // log(1+f) = fma(f*f, q, f)
	VFMADD231PS ·logConst+352(SB), Y1, Y0 \
	VFMADD231PS ·logConst+384(SB), Y1, Y0
