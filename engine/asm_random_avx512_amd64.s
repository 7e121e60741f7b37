//go:build amd64 && !purego && !noasm

#include "textflag.h"
#include "vector_avx512_amd64.h"

// AVX-512: random numbers, as in asm_random_amd64.s, where the constants are.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	normalAVX512  standard normal numbers

// NORMAL_SHIFT sets u to u ^ u>>n. Changes Z0.
#define NORMAL_SHIFT(n, u) \
	VPSRLQ n, u, Z0 \
	VPXORQ Z0, u, u

// NORMAL_MIDDLE sets u to the next eight numbers of the stream Z15, p to their probabilities, z to normal numbers as
// if all lay in the middle, and the mask t to those that do not. Changes Z0 to Z2.
#define NORMAL_MIDDLE(u, p, z, t) \
	VMOVDQA64   Z15, u                        \
	VPADDQ.BCST ·normalConst+1088(SB), Z15, Z15 \
	NORMAL_SHIFT($30, u)                      \
	VPMULLQ.BCST ·normalConst+480(SB), u, u   \
	NORMAL_SHIFT($27, u)                      \
	VPMULLQ.BCST ·normalConst+512(SB), u, u   \
	NORMAL_SHIFT($31, u)                      \
	VPANDQ.BCST ·normalConst+0(SB), u, p      \
	VPORQ.BCST  ·normalConst+32(SB), p, p     \
	VSUBPD.BCST ·normalConst+32(SB), p, p     \
	VADDPD.BCST ·normalConst+64(SB), p, p     \
	VMULPD.BCST ·normalConst+96(SB), p, p     \
	VSUBPD.BCST ·normalConst+64(SB), p, z     \ // q
	VADDPD.BCST ·normalConst+416(SB), z, Z0   \
	VPMOVQ2M    Z0, t                         \
	VMULPD      z, z, Z0                      \
	VBROADCASTSD ·normalConst+128(SB), Z1     \
	VSUBPD      Z0, Z1, Z0                    \ // r
	VMULPD.BCST ·normalConst+160(SB), Z0, Z1  \
	VMULPD.BCST ·normalConst+288(SB), Z0, Z2  \
	VADDPD.BCST ·normalConst+192(SB), Z1, Z1  \
	VADDPD.BCST ·normalConst+320(SB), Z2, Z2  \
	VMULPD      Z0, Z1, Z1                    \
	VMULPD      Z0, Z2, Z2                    \
	VADDPD.BCST ·normalConst+224(SB), Z1, Z1  \
	VADDPD.BCST ·normalConst+352(SB), Z2, Z2  \
	VMULPD      Z0, Z1, Z1                    \
	VMULPD      Z0, Z2, Z2                    \
	VADDPD.BCST ·normalConst+256(SB), Z1, Z1  \
	VADDPD.BCST ·normalConst+384(SB), Z2, Z2  \
	VMULPD      Z1, z, z                      \
	VDIVPD      Z2, z, z

// NORMAL_RATIO sets Z2 to minus the quantiles of r, with the constants of a tail. Changes Z3 and Z4.
#define NORMAL_RATIO(far, r) \
	VSUBPD.BCST ·normalConst+(far+544)(SB), r, Z3  \
	VMULPD.BCST ·normalConst+(far+576)(SB), Z3, Z2 \
	VMULPD.BCST ·normalConst+(far+704)(SB), Z3, Z4 \
	VADDPD.BCST ·normalConst+(far+608)(SB), Z2, Z2 \
	VADDPD.BCST ·normalConst+(far+736)(SB), Z4, Z4 \
	VMULPD      Z3, Z2, Z2                         \
	VMULPD      Z3, Z4, Z4                         \
	VADDPD.BCST ·normalConst+(far+640)(SB), Z2, Z2 \
	VADDPD.BCST ·normalConst+384(SB), Z4, Z4       \
	VMULPD      Z3, Z2, Z2                         \
	VADDPD.BCST ·normalConst+(far+672)(SB), Z2, Z2 \
	VDIVPD      Z4, Z2, Z2

// NORMAL_TAIL replaces z where the mask t is set by the numbers of the tails, from the logarithms in y, and gives all
// of z the signs of u. Changes Z1 to Z4, Z7 and K3.
#define NORMAL_TAIL(y, u, z, t, near) \
	VCVTPS2PD   y, Z1                             \
	VXORPD.BCST ·normalConst+448(SB), Z1, Z1      \
	VSQRTPD     Z1, Z1                            \ // r
	NORMAL_RATIO(0, Z1)                           \
	VCMPPD.BCST $0x1e, ·normalConst+768(SB), Z1, K3 \ // r > 5
	KORTESTB    K3, K3                            \
	JEQ         near                              \
	VMOVAPD     Z2, Z7                            \
	NORMAL_RATIO(224, Z1)                         \
	VBLENDMPD   Z2, Z7, K3, Z2                    \
near: \
	VXORPD.BCST ·normalConst+448(SB), Z2, Z2      \
	VMOVAPD     Z2, t, z                          \
	VANDPD.BCST ·normalConst+448(SB), u, Z1       \
	VXORPD      Z1, z, z

// func normalAVX512(dst []float32, state uint64)
//
// dst[j] = number j of num.RandAt(state).Normal. The length is a multiple of 16.
//
// DI dst, CX elements left. Z15 numbers of the stream before they are mixed; Z12 and Z13 eight mixed ones each, Z10 and
// Z11 their results, K1 and K2 which of them lie in the tails, Z14 and Z5 their probabilities.
TEXT ·normalAVX512(SB), NOSPLIT, $0-32
	MOVQ          dst_base+0(FP), DI
	MOVQ          dst_len+8(FP), CX
	VPBROADCASTQ  state+24(FP), Z15
	VPADDQ        ·normalConst+1120(SB), Z15, Z15
	VPXORQ        Z6, Z6, Z6
	SUBQ          $16, CX
	JLT           done
loop:
	NORMAL_MIDDLE(Z12, Z14, Z10, K1)
	NORMAL_MIDDLE(Z13, Z5, Z11, K2)
	VCVTPD2PS     Z14, Y0
	VCVTPD2PS     Z5, Y1
	VINSERTF64X4  $1, Y1, Z0, Z0
	VMOVAPS       Z6, Z4
	LOG_EVAL
	VEXTRACTF64X4 $1, Z0, Y5
	NORMAL_TAIL(Y0, Z12, Z10, K1, near0)
	NORMAL_TAIL(Y5, Z13, Z11, K2, near1)
	VCVTPD2PS     Z10, Y0
	VCVTPD2PS     Z11, Y1
	VINSERTF64X4  $1, Y1, Z0, Z0
	VMOVUPS       Z0, (DI)
	ADDQ          $64, DI
	SUBQ          $16, CX
	JGE           loop
done:
	VZEROUPPER
	RET
