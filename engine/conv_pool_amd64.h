// Shared by convPoolAVX2 and convPoolAVX512. A vector holds one pixel of all images of a group.
//
//	AX args   SI the left upper one of 2 x 2 pixels of x, R12 the left lower one   DX w
//	R9 current tap, R11 the first one, R10 behind the last one   BX, DI its bytes in x and in w
//	R8 number of the pooled pixel, R15 how many are left of the row   R13 its number in the current output channel
//	rows-8(SP) rows left, in a frame of 8 bytes

#define CONV_ARGS \
	MOVQ args+0(FP), AX             \
	MOVQ ConvPool_X(AX), SI         \
	MOVQ ConvPool_Row(AX), R12      \
	LEAQ (SI)(R12*4), R12           \
	MOVQ ConvPool_Weights(AX), DX   \
	MOVQ ConvPool_Taps(AX), R11     \
	MOVQ (ConvPool_Taps+8)(AX), R10 \
	LEAQ (R11)(R10*4), R10          \
	MOVQ ConvPool_First(AX), R8     \
	MOVQ ConvPool_Rows(AX), R15     \
	MOVQ R15, rows-8(SP)            \
	MOVQ ConvPool_N(AX), R15

// CONV_BIAS starts the sums of the four pixels from a bias.
#define CONV_BIAS(bias, a0, a1, a2, a3) \
	VBROADCASTSS bias, a0 \
	VMOVAPS a0, a1        \
	VMOVAPS a0, a2        \
	VMOVAPS a0, a3

// CONV_SUMS adds the taps, one after the other.
#define CONV_SUMS(tap, next) \
	MOVQ R11, R9 \
next: \
	MOVLQSX (R9), BX        \
	MOVLQSX 4(R9), DI       \
	tap                     \
	ADDQ $8, R9             \
	CMPQ R9, R10            \
	JNE  next               \
	MOVQ R8, R13            \
	MOVQ ConvPool_Y(AX), BX \
	MOVQ ConvPool_Numbers(AX), DI

// CONV_BAD adds 0 times the four pixels to a vector of bad; zero is a register, t scratch.
#define CONV_BAD(bad, zero, t, a0, a1, a2, a3) \
	VMULPS zero, a0, t      \
	VFMADD231PS zero, a1, t \
	VFMADD231PS zero, a2, t \
	VFMADD231PS zero, a3, t \
	VADDPS  bad, t, t       \
	VMOVUPS t, bad

// CONV_MAX stores the largest of the four pixels, or +0, which is then in m. A vector has 2^shift bytes.
#define CONV_MAX(shift, zero, m, a0, a1, a2, a3) \
	VMAXPS  zero, a0, a0 \ // NaN becomes 0, and -0 +0; below, the second operand of two replaces NaN
	VMAXPS  a0, a1, m    \
	VMAXPS  m, a2, m     \
	VMAXPS  m, a3, m     \
	MOVQ    R13, CX      \
	SHLQ    $shift, CX   \
	VMOVUPS m, (BX)(CX*1)

// CONV_BYTE adds which to numbers, as byte R13 of the images.
#define CONV_BYTE(shift, or, which, xcount) \
	LEAQ (R13*8), CX            \
	ANDQ $24, CX                \
	VMOVQ CX, xcount            \
	VPSLLD xcount, which, which \
	MOVQ R13, CX                \
	SHRQ $2, CX                 \
	SHLQ $shift, CX             \
	or (DI)(CX*1), which, which \
	VMOVUPS which, (DI)(CX*1)

// CONV_NEXT advances to the next pooled pixel, by w bytes, or to the first of the next row. Changes BX and CX.
#define CONV_NEXT(w, pixel) \
	ADDQ   $w, SI                \
	ADDQ   $w, R12               \
	INCQ   R8                    \
	DECQ   R15                   \
	JNE    pixel                 \
	MOVQ   ConvPool_N(AX), R15   \
	ADDQ   ConvPool_Cols(AX), R8 \
	SUBQ   R15, R8               \
	MOVQ   ConvPool_Row(AX), CX  \
	SHLQ   $3, CX                \ // two rows of pixels
	IMUL3Q $w, R15, BX           \
	SUBQ   BX, CX                \
	ADDQ   CX, SI                \
	ADDQ   CX, R12               \
	DECQ   rows-8(SP)            \
	JNE    pixel
