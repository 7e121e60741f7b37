//go:build amd64 && !purego && !noasm

#include "textflag.h"
#include "conv_pool_amd64.h"
#include "go_asm.h"
#include "vector_avx2_amd64.h"

// AVX2: patches of five rows for the way back through convolutions, and pooling; the way there, of eight images.
//
// Registers and conventions: see asm_amd64.s.
//
// Contents:
//
//	addPatchesAVX2          C += r[p] * patch p of B, five rows each
//	spreadPatchesAVX2       patch p of B += r[p] * W, five rows each
//	poolBackwardEightsAVX2  gradient of pooling: the list of its entries
//	convPoolAVX2            convolution, ReLU and the maximum of 2 x 2 pixels

// ---------------------------------------------------------------------------------
// Patches: five rows, in an array whose rows are stride floats apart

// PATCH_NEXT sets R13 to the next patch and Y0 to its factor; at is at R9, r at SI, the array at AX.
#define PATCH_NEXT \
	MOVLQSX (R9), R13     \
	VBROADCASTSS (SI), Y0 \
	ADDQ $4, R9           \
	ADDQ $4, SI           \
	LEAQ (AX)(R13*4), R13

// PATCH_LOAD and PATCH_STORE move one vector of each row of C, at bytes from DI; PATCH_ADD adds Y0 times that
// of the patch to them.
#define PATCH_LOAD(load, at, c0, c1, c2, c3, c4) \
	load(at(DI), c0)       \
	load(at(DI)(DX*1), c1) \
	load(at(DI)(DX*2), c2) \
	load(at(DI)(BX*1), c3) \
	load(at(DI)(DX*4), c4)

#define PATCH_ADD(at, c0, c1, c2, c3, c4) \
	VFMADD231PS at(R13), Y0, c0        \
	VFMADD231PS at(R13)(R11*1), Y0, c1 \
	VFMADD231PS at(R13)(R11*2), Y0, c2 \
	VFMADD231PS at(R13)(R12*1), Y0, c3 \
	VFMADD231PS at(R13)(R11*4), Y0, c4

#define PATCH_STORE(store, at, c0, c1, c2, c3, c4) \
	store(c0, at(DI))       \
	store(c1, at(DI)(DX*1)) \
	store(c2, at(DI)(DX*2)) \
	store(c3, at(DI)(BX*1)) \
	store(c4, at(DI)(DX*4))

// func addPatchesAVX2(c []float32, crs, cols int, r, b []float32, at []int32, stride int)
//
// C += r[p] * patch p of B, five rows each.
// c[u*crs+j] = chain over p of fma(r[p], b[at[p]+u*stride+j], ...), from the old c, for five rows u
// and j < cols. Tile: 5 x 16, then 5 x 8, of which the last may be masked.
//
// DI c, DX bytes from row to row, BX three times that   AX b, R11 and R12 likewise
// SI r, R9 at, R10 patches left, R13 current patch      CX columns left
// Y1 to Y5 rows of C, Y6 to Y10 their columns 8 to 15   Y0 r[p]   Y15 tail mask
TEXT ·addPatchesAVX2(SB), NOSPLIT, $0-120
	MOVQ c_base+0(FP), DI
	MOVQ crs+24(FP), DX
	MOVQ cols+32(FP), CX
	MOVQ b_base+64(FP), AX
	MOVQ stride+112(FP), R11
	SHLQ $2, DX
	SHLQ $2, R11
	LEAQ (DX)(DX*2), BX
	LEAQ (R11)(R11*2), R12
	CMPQ at_len+96(FP), $0
	JEQ  end
sixteen:
	SUBQ $16, CX
	JLT  eights
	PATCH_LOAD(VEC_MOVE, 0, Y1, Y2, Y3, Y4, Y5)
	PATCH_LOAD(VEC_MOVE, 32, Y6, Y7, Y8, Y9, Y10)
	MOVQ r_base+40(FP), SI
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
patch16:
	PATCH_NEXT
	PATCH_ADD(0, Y1, Y2, Y3, Y4, Y5)
	PATCH_ADD(32, Y6, Y7, Y8, Y9, Y10)
	DECQ R10
	JNE  patch16
	PATCH_STORE(VEC_MOVE, 0, Y1, Y2, Y3, Y4, Y5)
	PATCH_STORE(VEC_MOVE, 32, Y6, Y7, Y8, Y9, Y10)
	ADDQ $64, DI
	ADDQ $64, AX
	JMP  sixteen
eights:
	ADDQ $16, CX
eight:
	CMPQ CX, $8
	JLT  fewer
	PATCH_LOAD(VEC_MOVE, 0, Y1, Y2, Y3, Y4, Y5)
	MOVQ r_base+40(FP), SI
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
patch8:
	PATCH_NEXT
	PATCH_ADD(0, Y1, Y2, Y3, Y4, Y5)
	DECQ R10
	JNE  patch8
	PATCH_STORE(VEC_MOVE, 0, Y1, Y2, Y3, Y4, Y5)
	ADDQ $32, DI
	ADDQ $32, AX
	SUBQ $8, CX
	JMP  eight
fewer:
	TESTQ CX, CX
	JEQ  end
	VEC_TAILMASK
	PATCH_LOAD(VEC_MASKLOAD, 0, Y1, Y2, Y3, Y4, Y5)
	MOVQ r_base+40(FP), SI
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
patch:
	PATCH_NEXT
	VMASKMOVPS (R13), Y15, Y6
	VMASKMOVPS (R13)(R11*1), Y15, Y7
	VMASKMOVPS (R13)(R11*2), Y15, Y8
	VMASKMOVPS (R13)(R12*1), Y15, Y9
	VMASKMOVPS (R13)(R11*4), Y15, Y10
	VFMADD231PS Y6, Y0, Y1
	VFMADD231PS Y7, Y0, Y2
	VFMADD231PS Y8, Y0, Y3
	VFMADD231PS Y9, Y0, Y4
	VFMADD231PS Y10, Y0, Y5
	DECQ R10
	JNE  patch
	PATCH_STORE(VEC_MASKSTORE, 0, Y1, Y2, Y3, Y4, Y5)
end:
	VZEROUPPER
	RET

// PATCH_SPREAD adds Y0 times five vectors to a row of 40 columns of a patch at R13.
#define PATCH_SPREAD(w0, w1, w2, w3, w4) \
	VMOVUPS     (R13), Y11    \
	VMOVUPS     32(R13), Y12  \
	VMOVUPS     64(R13), Y13  \
	VMOVUPS     96(R13), Y14  \
	VMOVUPS     128(R13), Y15 \
	VFMADD231PS w0, Y0, Y11   \
	VFMADD231PS w1, Y0, Y12   \
	VFMADD231PS w2, Y0, Y13   \
	VFMADD231PS w3, Y0, Y14   \
	VFMADD231PS w4, Y0, Y15   \
	VMOVUPS     Y11, (R13)    \
	VMOVUPS     Y12, 32(R13)  \
	VMOVUPS     Y13, 64(R13)  \
	VMOVUPS     Y14, 96(R13)  \
	VMOVUPS     Y15, 128(R13)

// func spreadPatchesAVX2(b, r []float32, at []int32, w []float32, ws, stride int)
//
// patch p of B += r[p] * W, five rows each.
// b[at[p]+u*stride+j] = fma(r[p], w[u*ws+j], ...) for five rows u of 40 columns, patch by patch.
//
// AX b, R11 bytes from row to row   SI r, R9 at, R10 patches left, R13 current patch
// Rows of w: Y1 to Y5, Y6 to Y10, and in memory at DI, BX, CX   Y0 r[p]
TEXT ·spreadPatchesAVX2(SB), NOSPLIT, $0-112
	MOVQ b_base+0(FP), AX
	MOVQ r_base+24(FP), SI
	MOVQ r_len+32(FP), R10
	MOVQ at_base+48(FP), R9
	MOVQ w_base+72(FP), CX
	MOVQ ws+96(FP), DX
	MOVQ stride+104(FP), R11
	SHLQ $2, DX
	SHLQ $2, R11
	LEAQ (DX)(DX*2), BX
	VMOVUPS (CX), Y1
	VMOVUPS 32(CX), Y2
	VMOVUPS 64(CX), Y3
	VMOVUPS 96(CX), Y4
	VMOVUPS 128(CX), Y5
	VMOVUPS (CX)(DX*1), Y6
	VMOVUPS 32(CX)(DX*1), Y7
	VMOVUPS 64(CX)(DX*1), Y8
	VMOVUPS 96(CX)(DX*1), Y9
	VMOVUPS 128(CX)(DX*1), Y10
	LEAQ (CX)(DX*2), DI      // rows 2, 3 and 4
	LEAQ (CX)(BX*1), BX
	LEAQ (CX)(DX*4), CX
	TESTQ R10, R10
	JEQ  end
patch:
	PATCH_NEXT
	PATCH_SPREAD(Y1, Y2, Y3, Y4, Y5)
	ADDQ R11, R13
	PATCH_SPREAD(Y6, Y7, Y8, Y9, Y10)
	ADDQ R11, R13
	PATCH_SPREAD((DI), 32(DI), 64(DI), 96(DI), 128(DI))
	ADDQ R11, R13
	PATCH_SPREAD((BX), 32(BX), 64(BX), 96(BX), 128(BX))
	ADDQ R11, R13
	PATCH_SPREAD((CX), 32(CX), 64(CX), 96(CX), 128(CX))
	DECQ R10
	JNE  patch
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Pooling

// POOL_SELECT loads eight elements of the gradient, and their places. It adds those that have a pixel and are not left
// out to the sums, and sets a bit of AX for each of them that is not 0.
#define POOL_SELECT \
	VPMOVZXBD (R11)(R13*1), Y1     \
	VMOVUPS   (R10)(R13*4), Y0     \
	VPERMD    Y7, Y1, Y4           \
	VPADDD    (R9)(R13*4), Y4, Y4  \
	VPCMPGTD  Y1, Y8, Y2           \
	VPANDN    Y2, Y9, Y2           \
	VBLENDVPS Y2, Y0, Y10, Y5      \
	VADDPS    (R12)(R13*4), Y5, Y5 \
	VMOVUPS   Y5, (R12)(R13*4)     \
	VCMPPS    $4, Y15, Y0, Y3      \
	VPAND     Y3, Y2, Y2           \
	VMOVMSKPS Y2, AX

// POOL_LIST appends those that AX names to the lists.
#define POOL_LIST \
	VPMOVZXBD (R15)(AX*8), Y5 \
	VPERMD    Y4, Y5, Y4      \
	VPERMPS   Y0, Y5, Y0      \
	VMOVDQU   Y4, (DI)(DX*4)  \
	VMOVUPS   Y0, (SI)(DX*4)  \
	POPCNTL   AX, AX          \
	ADDQ      AX, DX

// func poolBackwardEightsAVX2(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int)
//
// The last eight elements are read together; those that were taken already are left out.
//
// R12 sums, R10 dy, R11 which, R9 places of the blocks, R13 current element, CX last index at which eight begin
// DI at, SI v, DX their length so far   R15 compress table
// Y0 gradient, Y1 numbers of the pixels, Y4 places   Y7 places of the pixels of a block   Y8 NoPixel   Y15 0
// Y9 elements that are left out   Y10 -0
TEXT ·poolBackwardEightsAVX2(SB), NOSPLIT, $0-136
	MOVQ at_base+0(FP), DI
	MOVQ v_base+24(FP), SI
	MOVQ sums_base+48(FP), R12
	MOVQ dy_base+72(FP), R10
	MOVQ dy_len+80(FP), CX
	MOVQ which_base+96(FP), R11
	MOVQ p+120(FP), AX
	MOVQ PoolPlaces_first+0(AX), R9
	VMOVDQU PoolPlaces_pixels(AX), Y7
	VPCMPEQD Y8, Y8, Y8
	VPSRLD $31, Y8, Y8
	VPSLLD $2, Y8, Y8
	VXORPS Y15, Y15, Y15
	VXORPS Y9, Y9, Y9
	VPSLLD $29, Y8, Y10
	LEAQ ·compress(SB), R15
	XORQ DX, DX
	XORQ R13, R13
	SUBQ $8, CX
eight:
	POOL_SELECT
	POOL_LIST
	ADDQ $8, R13
	CMPQ R13, CX
	JLT eight
	XCHGQ R13, CX
	SUBQ CX, R13
	LEAQ ·tailMasks+32(SB), AX
	VMOVUPS (AX)(R13*4), Y9  // those that were taken already
	ADDQ CX, R13
	POOL_SELECT
	POOL_LIST
	MOVQ DX, n+128(FP)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Convolution and pooling of eight images, three or two output channels at a time

// CONV_TAP multiplies a tap of three channels, CONV_TAPPAIR of two.
#define CONV_TAP \
	VBROADCASTSS (DX)(DI*1), Y0         \
	VBROADCASTSS 4(DX)(DI*1), Y1        \
	VBROADCASTSS 8(DX)(DI*1), Y2        \
	CONV_ADD((SI)(BX*1), Y4, Y8, Y12)   \
	CONV_ADD(32(SI)(BX*1), Y5, Y9, Y13) \
	CONV_ADD((R12)(BX*1), Y6, Y10, Y14) \
	CONV_ADD(32(R12)(BX*1), Y7, Y11, Y15)

#define CONV_ADD(pixel, a, b, c) \
	CONV_ADDPAIR(pixel, a, b) \
	VFMADD231PS Y3, Y2, c

#define CONV_TAPPAIR \
	VBROADCASTSS (DX)(DI*1), Y0          \
	VBROADCASTSS 4(DX)(DI*1), Y1         \
	CONV_ADDPAIR((SI)(BX*1), Y4, Y8)     \
	CONV_ADDPAIR(32(SI)(BX*1), Y5, Y9)   \
	CONV_ADDPAIR((R12)(BX*1), Y6, Y10)   \
	CONV_ADDPAIR(32(R12)(BX*1), Y7, Y11)

#define CONV_ADDPAIR(pixel, a, b) \
	VMOVUPS pixel, Y3     \
	VFMADD231PS Y3, Y0, a \
	VFMADD231PS Y3, Y1, b

// CONV_POOL pools the four pixels of output channel o.
#define CONV_POOL(o, a0, a1, a2, a3, training, done) \
	VXORPS Y0, Y0, Y0                            \
	TESTQ  DI, DI                                \
	JNE    training                              \
	MOVQ   ConvPool_Bad(AX), CX                  \
	CONV_BAD((o*32)(CX), Y0, Y1, a0, a1, a2, a3) \
training: \
	CONV_MAX(5, Y0, Y1, a0, a1, a2, a3) \
	TESTQ  DI, DI                       \
	JEQ    done                         \
	VPCMPEQD a3, a3, a3                 \ // -1
	VCMPPS   $4, a2, Y1, a2             \ // -1 where it is not the largest
	VCMPPS   $4, a1, Y1, a1             \
	VCMPPS   $4, a0, Y1, a0             \
	VPADDD   a3, a2, a2                 \
	VPAND    a1, a2, a2                 \
	VPADDD   a3, a2, a2                 \
	VPAND    a0, a2, a2                 \ // minus the number of the first largest
	VCMPPS   $0, Y0, Y1, a1             \
	VPSLLD   $2, a1, a1                 \
	VPOR     a1, a2, a2                 \ // or -4
	VPSUBD   a2, Y0, a2                 \
	CONV_BYTE(5, VPOR, a2, X1)          \
done: \
	ADDQ ConvPool_Pixels(AX), R13

// func convPoolAVX2(args *ConvPool)
//
// Y4 to Y7 four pixels of the first channel, Y8 to Y11 the second, Y12 to Y15 the third of three
// Y0 to Y2 weights, Y3 pixels
TEXT ·convPoolAVX2(SB), NOSPLIT, $8-8
	CONV_ARGS
	CMPQ ConvPool_Channels(AX), $3
	JLT  pair
pixel:
	MOVQ ConvPool_Bias(AX), CX
	CONV_BIAS((CX), Y4, Y5, Y6, Y7)
	CONV_BIAS(4(CX), Y8, Y9, Y10, Y11)
	CONV_BIAS(8(CX), Y12, Y13, Y14, Y15)
	CONV_SUMS(CONV_TAP, tap)
	CONV_POOL(0, Y4, Y5, Y6, Y7, training0, done0)
	CONV_POOL(1, Y8, Y9, Y10, Y11, training1, done1)
	CONV_POOL(2, Y12, Y13, Y14, Y15, training2, done2)
	CONV_NEXT(64, pixel)
	VZEROUPPER
	RET
pair:
	MOVQ ConvPool_Bias(AX), CX
	CONV_BIAS((CX), Y4, Y5, Y6, Y7)
	CONV_BIAS(4(CX), Y8, Y9, Y10, Y11)
	CONV_SUMS(CONV_TAPPAIR, tapPair)
	CONV_POOL(0, Y4, Y5, Y6, Y7, trainingPair0, donePair0)
	CONV_POOL(1, Y8, Y9, Y10, Y11, trainingPair1, donePair1)
	CONV_NEXT(64, pair)
	VZEROUPPER
	RET
