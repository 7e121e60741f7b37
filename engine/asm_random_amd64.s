//go:build amd64 && !purego && !noasm

#include "textflag.h"
#include "vector_avx2_amd64.h"

// AVX2: random numbers, in the arithmetic of num.Rand: every product is rounded before it is added.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	normalAVX2  standard normal numbers

// NORMAL_CONST4 defines a constant four times over, so that it can be the operand of a vector instruction.
#define NORMAL_CONST4(off, v) \
	DATA ·normalConst+(off+0)(SB)/8, v  \
	DATA ·normalConst+(off+8)(SB)/8, v  \
	DATA ·normalConst+(off+16)(SB)/8, v \
	DATA ·normalConst+(off+24)(SB)/8, v

NORMAL_CONST4(0, $0x000fffffffffffff) // the bits of a probability
NORMAL_CONST4(32, $0x4330000000000000) // 2^52
NORMAL_CONST4(64, $0x3fe0000000000000) // 1/2
NORMAL_CONST4(96, $0x3ca0000000000000) // 2^-53
NORMAL_CONST4(128, $0x3fc71eb851eb851f) // the middle: 0.425^2, numerator and denominator from the highest degree on
NORMAL_CONST4(160, $0x404d8dfffda6b45f)
NORMAL_CONST4(192, $0x4063e950f41916fd)
NORMAL_CONST4(224, $0x40493796390da3e9)
NORMAL_CONST4(256, $0x400b18d909d4bc9c)
NORMAL_CONST4(288, $0x4050cc010ac1fae2)
NORMAL_CONST4(320, $0x4053b07f1a004b18)
NORMAL_CONST4(352, $0x4031e529d389bb91)
NORMAL_CONST4(384, $0x3ff0000000000000) // 1
NORMAL_CONST4(416, $0x3fdb333333333333) // how far the middle reaches
NORMAL_CONST4(448, $0x8000000000000000) // the sign
NORMAL_CONST4(480, $0xbf58476d1ce4e5b9) // factors of SplitMix64
NORMAL_CONST4(512, $0x94d049bb133111eb)
NORMAL_CONST4(544, $0x3ff999999999999a) // the tails up to r = 5, and (NORMAL_FAR) beyond: what comes off r, numerator, denominator
NORMAL_CONST4(576, $0x3fc5ca5d9e73a27f)
NORMAL_CONST4(608, $0x3ff4e85c1fd3946e)
NORMAL_CONST4(640, $0x40060df53a2946a0)
NORMAL_CONST4(672, $0x3ff6c6662aba0f71)
NORMAL_CONST4(704, $0x3fbec62b71e28a3d)
NORMAL_CONST4(736, $0x3fe7958477f45857)
NORMAL_CONST4(768, $0x4014000000000000)
NORMAL_CONST4(800, $0x3f91c0d810af4dde)
NORMAL_CONST4(832, $0x3fdb6f8a9588238e)
NORMAL_CONST4(864, $0x4008a65a04fb89c6)
NORMAL_CONST4(896, $0x401aa1b1e0e32f3a)
NORMAL_CONST4(928, $0x3f891ad41b668904)
NORMAL_CONST4(960, $0x3fcef92a7da467f6)
NORMAL_CONST4(992, $0x00000000bf58476d) // upper halves of the factors
NORMAL_CONST4(1024, $0x0000000094d049bb)
NORMAL_CONST4(1056, $0x78dde6e5fd29f054) // steps of the stream
NORMAL_CONST4(1088, $0xf1bbcdcbfa53e0a8)
DATA ·normalConst+1120(SB)/8, $0x9e3779b97f4a7c15 // 1 to 8 steps of the stream
DATA ·normalConst+1128(SB)/8, $0x3c6ef372fe94f82a
DATA ·normalConst+1136(SB)/8, $0xdaa66d2c7ddf743f
DATA ·normalConst+1144(SB)/8, $0x78dde6e5fd29f054
DATA ·normalConst+1152(SB)/8, $0x1715609f7c746c69
DATA ·normalConst+1160(SB)/8, $0xb54cda58fbbee87e
DATA ·normalConst+1168(SB)/8, $0x538454127b096493
DATA ·normalConst+1176(SB)/8, $0xf1bbcdcbfa53e0a8
GLOBL ·normalConst(SB), RODATA|NOPTR, $1184

// NORMAL_FAR is the distance from the constants of one tail to those of the other.
#define NORMAL_FAR 224

// NORMAL_MULTIPLY sets u to u times a constant modulo 2^64, whose upper halves are at high. Changes Y0 to Y2.
#define NORMAL_MULTIPLY(u, low, high) \
	VPSRLQ   $32, u, Y0                   \
	VPMULUDQ ·normalConst+low(SB), Y0, Y0 \
	VPMULUDQ ·normalConst+high(SB), u, Y1 \
	VPADDQ   Y1, Y0, Y0                   \
	VPSLLQ   $32, Y0, Y0                  \
	VPMULUDQ ·normalConst+low(SB), u, u   \
	VPADDQ   Y0, u, u

// NORMAL_SHIFT sets u to u ^ u>>n. Changes Y0.
#define NORMAL_SHIFT(n, u) \
	VPSRLQ n, u, Y0 \
	VPXOR  Y0, u, u

// NORMAL_MIDDLE sets u to the next four numbers of the stream Y15, p to their probabilities, z to normal numbers as
// if all lay in the middle, and the sign bits of t where they do not. Changes Y0 to Y2.
#define NORMAL_MIDDLE(u, p, z, t) \
	VMOVDQA Y15, u                        \
	VPADDQ  ·normalConst+1056(SB), Y15, Y15 \
	NORMAL_SHIFT($30, u)                  \
	NORMAL_MULTIPLY(u, 480, 992)          \
	NORMAL_SHIFT($27, u)                  \
	NORMAL_MULTIPLY(u, 512, 1024)         \
	NORMAL_SHIFT($31, u)                  \
	VPAND   ·normalConst+0(SB), u, p      \
	VPOR    ·normalConst+32(SB), p, p     \
	VSUBPD  ·normalConst+32(SB), p, p     \
	VADDPD  ·normalConst+64(SB), p, p     \
	VMULPD  ·normalConst+96(SB), p, p     \
	VSUBPD  ·normalConst+64(SB), p, z     \ // q
	VADDPD  ·normalConst+416(SB), z, t    \
	VMULPD  z, z, Y0                      \
	VMOVUPD ·normalConst+128(SB), Y1      \
	VSUBPD  Y0, Y1, Y0                    \ // r
	VMULPD  ·normalConst+160(SB), Y0, Y1  \
	VMULPD  ·normalConst+288(SB), Y0, Y2  \
	VADDPD  ·normalConst+192(SB), Y1, Y1  \
	VADDPD  ·normalConst+320(SB), Y2, Y2  \
	VMULPD  Y0, Y1, Y1                    \
	VMULPD  Y0, Y2, Y2                    \
	VADDPD  ·normalConst+224(SB), Y1, Y1  \
	VADDPD  ·normalConst+352(SB), Y2, Y2  \
	VMULPD  Y0, Y1, Y1                    \
	VMULPD  Y0, Y2, Y2                    \
	VADDPD  ·normalConst+256(SB), Y1, Y1  \
	VADDPD  ·normalConst+384(SB), Y2, Y2  \
	VMULPD  Y1, z, z                      \
	VDIVPD  Y2, z, z

// NORMAL_RATIO sets Y2 to minus the quantiles of r, with the constants of a tail. Changes Y3 and Y4.
#define NORMAL_RATIO(far, r) \
	VSUBPD ·normalConst+(far+544)(SB), r, Y3  \
	VMULPD ·normalConst+(far+576)(SB), Y3, Y2 \
	VMULPD ·normalConst+(far+704)(SB), Y3, Y4 \
	VADDPD ·normalConst+(far+608)(SB), Y2, Y2 \
	VADDPD ·normalConst+(far+736)(SB), Y4, Y4 \
	VMULPD Y3, Y2, Y2                         \
	VMULPD Y3, Y4, Y4                         \
	VADDPD ·normalConst+(far+640)(SB), Y2, Y2 \
	VADDPD ·normalConst+384(SB), Y4, Y4       \
	VMULPD Y3, Y2, Y2                         \
	VADDPD ·normalConst+(far+672)(SB), Y2, Y2 \
	VDIVPD Y4, Y2, Y2

// NORMAL_TAIL sets z to minus the quantiles in a tail, from their logarithms in x. Changes Y1 to Y4, Y6 and Y7, and AX.
#define NORMAL_TAIL(x, z, near) \
	VCVTPS2PD x, Y1                          \
	VXORPD    ·normalConst+448(SB), Y1, Y1   \
	VSQRTPD   Y1, Y1                         \ // r
	NORMAL_RATIO(0, Y1)                      \
	VCMPPD    $0x1e, ·normalConst+768(SB), Y1, Y6 \ // r > 5
	VMOVMSKPD Y6, AX                         \
	TESTL     AX, AX                         \
	JEQ       near                           \
	VMOVAPD   Y2, Y7                         \
	NORMAL_RATIO(NORMAL_FAR, Y1)             \
	VBLENDVPD Y6, Y2, Y7, Y2                 \
near: \
	VMOVAPD   Y2, z

// NORMAL_SIGN gives p and z the signs of u. Changes Y0.
#define NORMAL_SIGN(u, p, z) \
	VANDPD ·normalConst+448(SB), u, Y0 \
	VORPD  Y0, p, p                    \
	VXORPD Y0, z, z

// NORMAL_SINGLE rounds the numbers of a and b to float32. xa is the lower half of a.
#define NORMAL_SINGLE(a, xa, b, xt) \
	VCVTPD2PSY  a, xa         \
	VCVTPD2PSY  b, xt         \
	VINSERTF128 $1, xt, a, a

// NORMAL_BLOCK is how many numbers are made as if all lay in the middle, before those in the tails are made again, 9.6
// on average. The lists in the frame hold as many. With fewer, more of the eight made at a time are none; more would
// not fit into the frame of a function without a check of the stack.
#define NORMAL_BLOCK 64

// func normalAVX2(dst []float32, state uint64)
//
// dst[j] = number j of num.RandAt(state).Normal. The length is a multiple of 8.
//
// DI dst of the block, CX elements left, R9 current element of the block   R15 compress table
// SI list of the probabilities in the tails, with signs, R10 their elements, DX its length, R8 place in it
// Y15 numbers of the stream before they are mixed; Y12 and Y13 four mixed ones each, Y10 and Y11 their results, Y8 and
// Y9 which of them lie in the tails, Y14 and Y5 their probabilities; in the tails Y12 signed probabilities, Y13 signs
TEXT ·normalAVX2(SB), NOSPLIT, $512-32
	MOVQ         dst_base+0(FP), DI
	MOVQ         dst_len+8(FP), CX
	VPBROADCASTQ state+24(FP), Y15
	VPADDQ       ·normalConst+1120(SB), Y15, Y15
	LEAQ         ·compress(SB), R15
	LEAQ         list-256(SP), SI
	LEAQ         at-512(SP), R10
	TESTQ        CX, CX
	JEQ          done
block:
	XORQ         DX, DX
	XORQ         R9, R9
eight:
	NORMAL_MIDDLE(Y12, Y14, Y10, Y8)
	NORMAL_MIDDLE(Y13, Y5, Y11, Y9)
	NORMAL_SIGN(Y12, Y14, Y10)
	NORMAL_SIGN(Y13, Y5, Y11)
	NORMAL_SINGLE(Y10, X10, Y11, X11)
	NORMAL_SINGLE(Y14, X14, Y5, X5)
	VMOVUPS      Y10, (DI)(R9*4)
	VMOVMSKPD    Y8, AX
	VMOVMSKPD    Y9, BX
	SHLL         $4, BX
	ORL          BX, AX
	VPMOVZXBD    (R15)(AX*8), Y2
	VMOVD        R9, X3
	VPBROADCASTD X3, Y3
	VPADDD       Y2, Y3, Y3  // the table holds numbers of lanes
	VPERMPS      Y14, Y2, Y1
	VMOVUPS      Y1, (SI)(DX*4)
	VMOVDQU      Y3, (R10)(DX*4)
	POPCNTL      AX, AX
	ADDQ         AX, DX
	ADDQ         $8, R9
	SUBQ         $8, CX
	JLE          tails
	CMPQ         R9, $NORMAL_BLOCK
	JLT          eight
tails:
	VPCMPEQD     Y13, Y13, Y13
	VPSLLD       $31, Y13, Y13
	XORQ         R8, R8
	TESTQ        DX, DX
	JEQ          next
tail:
	VMOVUPS      (SI)(R8*4), Y12 // behind the list anything: computed, but not used
	VANDNPS      Y12, Y13, Y0
	VXORPS       Y4, Y4, Y4
	LOG_EVAL
	VEXTRACTF128 $1, Y0, X5
	NORMAL_TAIL(X0, Y10, near0)
	NORMAL_TAIL(X5, Y11, near1)
	NORMAL_SINGLE(Y10, X10, Y11, X11)
	VANDNPS      Y13, Y12, Y0
	VXORPS       Y0, Y10, Y10
	VMOVUPS      Y10, (SI)(R8*4)
	ADDQ         $8, R8
	CMPQ         R8, DX
	JLT          tail
scatter:
	MOVL         -4(SI)(DX*4), AX
	MOVL         -4(R10)(DX*4), BX
	MOVL         AX, (DI)(BX*4)
	DECQ         DX
	JNE          scatter
next:
	LEAQ         (DI)(R9*4), DI
	TESTQ        CX, CX
	JGT          block
done:
	VZEROUPPER
	RET
