//go:build amd64 && !purego && !noasm

#include "textflag.h"
#include "conv_pool_amd64.h"
#include "go_asm.h"

// AVX-512: patches of five rows for the way back through convolutions, and pooling; the way there, of sixteen images.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	addPatchesAVX512     C += r[p] * patch p of B, five rows each
//	spreadPatchesAVX512  patch p of B += r[p] * W, five rows each
//	poolBackwardAVX512   gradient of pooling: the list of its entries
//	convPoolAVX512       convolution, ReLU and the maximum of 2 x 2 pixels

// ---------------------------------------------------------------------------------
// Patches: five rows, in an array whose rows are stride floats apart

// PATCH_MASKS sets K1, K2 and K3 to the first CX <= 48 columns. Changes R8.
#define PATCH_MASKS \
	MOVQ  $1, R8  \
	SHLQ  CX, R8  \
	DECQ  R8      \
	KMOVW R8, K1  \
	SHRQ  $16, R8 \
	KMOVW R8, K2  \
	SHRQ  $16, R8 \
	KMOVW R8, K3

// PATCH_NEXT sets R13 to the next patch and r to its factor; at is at R9, r at SI, the array at AX.
#define PATCH_NEXT(r) \
	MOVLQSX (R9), R13    \
	VBROADCASTSS (SI), r \
	ADDQ $4, R9          \
	ADDQ $4, SI          \
	LEAQ (AX)(R13*4), R13

// PATCH_LOAD and PATCH_STORE move one masked vector of each row of C, at bytes from DI; PATCH_ADD adds r (Y0 or
// Z0) times that of the patch to them.
#define PATCH_LOAD(at, mask, c0, c1, c2, c3, c4) \
	VMOVUPS.Z at(DI), mask, c0       \
	VMOVUPS.Z at(DI)(DX*1), mask, c1 \
	VMOVUPS.Z at(DI)(DX*2), mask, c2 \
	VMOVUPS.Z at(DI)(BX*1), mask, c3 \
	VMOVUPS.Z at(DI)(DX*4), mask, c4

#define PATCH_ADD(at, r, mask, c0, c1, c2, c3, c4) \
	VFMADD231PS at(R13), r, mask, c0        \
	VFMADD231PS at(R13)(R11*1), r, mask, c1 \
	VFMADD231PS at(R13)(R11*2), r, mask, c2 \
	VFMADD231PS at(R13)(R12*1), r, mask, c3 \
	VFMADD231PS at(R13)(R11*4), r, mask, c4

#define PATCH_STORE(at, mask, c0, c1, c2, c3, c4) \
	VMOVUPS c0, mask, at(DI)       \
	VMOVUPS c1, mask, at(DI)(DX*1) \
	VMOVUPS c2, mask, at(DI)(DX*2) \
	VMOVUPS c3, mask, at(DI)(BX*1) \
	VMOVUPS c4, mask, at(DI)(DX*4)

// func addPatchesAVX512(c []float32, crs, cols int, r, b []float32, at []int32, stride int)
//
// C += r[p] * patch p of B, five rows each.
// c[u*crs+j] = chain over p of fma(r[p], b[at[p]+u*stride+j], ...), from the old c, for five rows u
// and j < cols, up to 48. Tile: 5 x 48, 5 x 16 or 5 x 8, masked.
//
// DI c, DX bytes from row to row, BX three times that   AX b, R11 and R12 likewise
// SI r, R9 at, R10 patches left, R13 current patch      Z0 r[p]
// Z1 to Z5 columns 0 to 15 of the rows of C, Z6 to Z10 16 to 31, Z11 to Z15 32 to 47
TEXT ·addPatchesAVX512(SB), NOSPLIT, $0-120
	MOVQ c_base+0(FP), DI
	MOVQ crs+24(FP), DX
	MOVQ cols+32(FP), CX
	MOVQ r_base+40(FP), SI
	MOVQ b_base+64(FP), AX
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
	MOVQ stride+112(FP), R11
	SHLQ $2, DX
	SHLQ $2, R11
	LEAQ (DX)(DX*2), BX
	LEAQ (R11)(R11*2), R12
	PATCH_MASKS
	PATCH_LOAD(0, K1, Z1, Z2, Z3, Z4, Z5)
	CMPQ CX, $16
	JGT  wide
	TESTQ R10, R10
	JEQ  store
	CMPQ CX, $8
	JGT  narrow
eight:                           // fewer loads of 32 bytes than of 64 reach into a second line
	PATCH_NEXT(Z0)
	PATCH_ADD(0, Y0, K1, Y1, Y2, Y3, Y4, Y5)
	DECQ R10
	JNE  eight
	JMP  store
narrow:
	PATCH_NEXT(Z0)
	PATCH_ADD(0, Z0, K1, Z1, Z2, Z3, Z4, Z5)
	DECQ R10
	JNE  narrow
	JMP  store
wide:
	PATCH_LOAD(64, K2, Z6, Z7, Z8, Z9, Z10)
	PATCH_LOAD(128, K3, Z11, Z12, Z13, Z14, Z15)
	TESTQ R10, R10
	JEQ  storewide
patch:
	PATCH_NEXT(Z0)
	VFMADD231PS (R13), Z0, Z1
	VFMADD231PS (R13)(R11*1), Z0, Z2
	VFMADD231PS (R13)(R11*2), Z0, Z3
	VFMADD231PS (R13)(R12*1), Z0, Z4
	VFMADD231PS (R13)(R11*4), Z0, Z5
	PATCH_ADD(64, Z0, K2, Z6, Z7, Z8, Z9, Z10)
	PATCH_ADD(128, Z0, K3, Z11, Z12, Z13, Z14, Z15)
	DECQ R10
	JNE  patch
storewide:
	PATCH_STORE(64, K2, Z6, Z7, Z8, Z9, Z10)
	PATCH_STORE(128, K3, Z11, Z12, Z13, Z14, Z15)
store:
	PATCH_STORE(0, K1, Z1, Z2, Z3, Z4, Z5)
	VZEROUPPER
	RET

// PATCH_SPREAD adds Y0 times five vectors to a row of 40 columns of a patch at R13. Patches overlap:
// the next load reads the same eight floats as an earlier store, which can be forwarded.
#define PATCH_SPREAD(w0, w1, w2, w3, w4) \
	VMOVUPS     (R13), Y26    \
	VMOVUPS     32(R13), Y27  \
	VMOVUPS     64(R13), Y28  \
	VMOVUPS     96(R13), Y29  \
	VMOVUPS     128(R13), Y30 \
	VFMADD231PS w0, Y0, Y26   \
	VFMADD231PS w1, Y0, Y27   \
	VFMADD231PS w2, Y0, Y28   \
	VFMADD231PS w3, Y0, Y29   \
	VFMADD231PS w4, Y0, Y30   \
	VMOVUPS     Y26, (R13)    \
	VMOVUPS     Y27, 32(R13)  \
	VMOVUPS     Y28, 64(R13)  \
	VMOVUPS     Y29, 96(R13)  \
	VMOVUPS     Y30, 128(R13)

// PATCH_WEIGHTS loads a row of 40 weights at CX.
#define PATCH_WEIGHTS(w0, w1, w2, w3, w4) \
	VMOVUPS (CX), w0   \
	VMOVUPS 32(CX), w1 \
	VMOVUPS 64(CX), w2 \
	VMOVUPS 96(CX), w3 \
	VMOVUPS 128(CX), w4

// func spreadPatchesAVX512(b, r []float32, at []int32, w []float32, ws, stride int)
//
// patch p of B += r[p] * W, five rows each.
// b[at[p]+u*stride+j] = fma(r[p], w[u*ws+j], ...) for five rows u of 40 columns, patch by patch.
//
// AX b, R11 bytes from row to row   SI r, R9 at, R10 patches left, R13 current patch
// Rows of w: Y1 to Y5, Y6 to Y10, ... Y21 to Y25   Y0 r[p]
TEXT ·spreadPatchesAVX512(SB), NOSPLIT, $0-112
	MOVQ b_base+0(FP), AX
	MOVQ r_base+24(FP), SI
	MOVQ r_len+32(FP), R10
	MOVQ at_base+48(FP), R9
	MOVQ w_base+72(FP), CX
	MOVQ ws+96(FP), DX
	MOVQ stride+104(FP), R11
	SHLQ $2, DX
	SHLQ $2, R11
	PATCH_WEIGHTS(Y1, Y2, Y3, Y4, Y5)
	ADDQ DX, CX
	PATCH_WEIGHTS(Y6, Y7, Y8, Y9, Y10)
	ADDQ DX, CX
	PATCH_WEIGHTS(Y11, Y12, Y13, Y14, Y15)
	ADDQ DX, CX
	PATCH_WEIGHTS(Y16, Y17, Y18, Y19, Y20)
	ADDQ DX, CX
	PATCH_WEIGHTS(Y21, Y22, Y23, Y24, Y25)
	TESTQ R10, R10
	JEQ  end
patch:
	PATCH_NEXT(Y0)
	PATCH_SPREAD(Y1, Y2, Y3, Y4, Y5)
	ADDQ R11, R13
	PATCH_SPREAD(Y6, Y7, Y8, Y9, Y10)
	ADDQ R11, R13
	PATCH_SPREAD(Y11, Y12, Y13, Y14, Y15)
	ADDQ R11, R13
	PATCH_SPREAD(Y16, Y17, Y18, Y19, Y20)
	ADDQ R11, R13
	PATCH_SPREAD(Y21, Y22, Y23, Y24, Y25)
	DECQ R10
	JNE  patch
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Pooling

// func poolBackwardAVX512(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int)
//
// R12 sums, R10 dy, R11 which, R9 places of the blocks, R13 current element, CX elements left
// DI at, SI v, DX their length so far
// Z0 gradient, Z1 numbers of the pixels, Z2 places   Z7 places of the pixels of a block   Z8 bits of no pixel
TEXT ·poolBackwardAVX512(SB), NOSPLIT, $0-136
	MOVQ at_base+0(FP), DI
	MOVQ v_base+24(FP), SI
	MOVQ sums_base+48(FP), R12
	MOVQ dy_base+72(FP), R10
	MOVQ dy_len+80(FP), R8
	MOVQ which_base+96(FP), R11
	MOVQ p+120(FP), AX
	MOVQ PoolPlaces_first+0(AX), R9
	VMOVDQU PoolPlaces_pixels(AX), Y7
	MOVL $~3, AX
	VPBROADCASTD AX, Z8
	XORQ DX, DX
	XORQ R13, R13
	MOVL $0xffff, AX
	JMP  next
sixteen:
	KMOVW AX, K1
	VMOVUPS.Z (R10)(R13*4), K1, Z0
	VMOVDQU8.Z (R11)(R13*1), K1, X1 // VPMOVZXBD would do, but Bochs reads what its mask leaves out
	VPMOVZXBD X1, Z1
	VMOVDQU32.Z (R9)(R13*4), K1, Z2
	VPERMD Z7, Z1, Z3
	VPADDD Z3, Z2, Z2
	VPTESTNMD Z8, Z1, K1, K2
	VMOVUPS.Z (R12)(R13*4), K2, Z4
	VADDPS Z0, Z4, Z4
	VMOVUPS Z4, K2, (R12)(R13*4)
	VPADDD Z0, Z0, Z4        // without the sign
	VPTESTMD Z4, Z4, K2, K2
	VPCOMPRESSD.Z Z2, K2, Z2
	VCOMPRESSPS.Z Z0, K2, Z0
	VMOVDQU32 Z2, (DI)(DX*4)
	VMOVUPS Z0, (SI)(DX*4)
	KMOVW K2, BX
	POPCNTL BX, BX
	ADDQ BX, DX
	ADDQ $16, R13
next:
	MOVQ R8, CX
	SUBQ R13, CX
	CMPQ CX, $16
	JGE  sixteen
	MOVL $1, AX
	SHLL CX, AX
	DECL AX                  // the rest
	TESTQ CX, CX
	JGT  sixteen
	MOVQ DX, n+128(FP)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Convolution and pooling of sixteen images, four output channels at a time

// CONV_TAP multiplies a tap.
#define CONV_TAP \
	VBROADCASTSS (DX)(DI*1), Z0                \
	VBROADCASTSS 4(DX)(DI*1), Z1               \
	VBROADCASTSS 8(DX)(DI*1), Z2               \
	VBROADCASTSS 12(DX)(DI*1), Z3              \
	CONV_ADD((SI)(BX*1), Z16, Z20, Z24, Z28)   \
	CONV_ADD(64(SI)(BX*1), Z17, Z21, Z25, Z29) \
	CONV_ADD((R12)(BX*1), Z18, Z22, Z26, Z30)  \
	CONV_ADD(64(R12)(BX*1), Z19, Z23, Z27, Z31)

#define CONV_ADD(pixel, a, b, c, d) \
	VMOVUPS pixel, Z4     \
	VFMADD231PS Z4, Z0, a \
	VFMADD231PS Z4, Z1, b \
	VFMADD231PS Z4, Z2, c \
	VFMADD231PS Z4, Z3, d

// CONV_POOL pools the four pixels of output channel o.
#define CONV_POOL(o, a0, a1, a2, a3, training, done) \
	TESTQ DI, DI                                 \
	JNE   training                               \
	MOVQ  ConvPool_Bad(AX), CX                   \
	CONV_BAD((o*64)(CX), Z5, Z0, a0, a1, a2, a3) \
training: \
	CONV_MAX(6, Z5, Z0, a0, a1, a2, a3) \
	TESTQ DI, DI                        \
	JEQ   done                          \
	VCMPPS $0, a2, Z0, K2               \
	VCMPPS $0, a1, Z0, K1               \
	VCMPPS $0, a0, Z0, K3               \
	VCMPPS $0, Z5, Z0, K4               \ // none
	VMOVDQA32 Z8, Z1                    \
	VMOVDQA32 Z7, K2, Z1                \
	VMOVDQA32 Z6, K1, Z1                \
	VMOVDQA32 Z5, K3, Z1                \
	VMOVDQA32 Z9, K4, Z1                \
	CONV_BYTE(6, VPORD, Z1, X2)         \
done: \
	ADDQ ConvPool_Pixels(AX), R13

// func convPoolAVX512(args *ConvPool)
//
// Z16 to Z19 four pixels of the first channel, Z20 to Z23 the second, and so on
// Z0 to Z3 weights, Z4 pixels, Z5 to Z9 the integers 0 to 4
TEXT ·convPoolAVX512(SB), NOSPLIT, $8-8
	CONV_ARGS
	VPXORD Z5, Z5, Z5
	MOVL $1, CX
	VPBROADCASTD CX, Z6
	VPADDD Z6, Z6, Z7
	VPADDD Z6, Z7, Z8
	VPADDD Z7, Z7, Z9
pixel:
	MOVQ ConvPool_Bias(AX), CX
	CONV_BIAS((CX), Z16, Z17, Z18, Z19)
	CONV_BIAS(4(CX), Z20, Z21, Z22, Z23)
	CONV_BIAS(8(CX), Z24, Z25, Z26, Z27)
	CONV_BIAS(12(CX), Z28, Z29, Z30, Z31)
	CONV_SUMS(CONV_TAP, tap)
	CONV_POOL(0, Z16, Z17, Z18, Z19, training0, done0)
	CONV_POOL(1, Z20, Z21, Z22, Z23, training1, done1)
	CONV_POOL(2, Z24, Z25, Z26, Z27, training2, done2)
	CONV_POOL(3, Z28, Z29, Z30, Z31, training3, done3)
	CONV_NEXT(128, pixel)
	VZEROUPPER
	RET
