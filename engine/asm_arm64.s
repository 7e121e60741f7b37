//go:build arm64 && !purego && !noasm

#include "textflag.h"

// Register use in this file: R0 to R15 and all of V0 to V31 are free. Left alone are
// R16 and R17 (the linker's), R18 (the platform's), R27 (the assembler's own scratch
// register), R28 (the goroutine), R29 and R30 (frame and return address) and RSP.
//
// F0, the lower part of V0, is how Go names the register in scalar instructions and in
// loads and stores. A load of 4 bytes (FMOVS) clears the other lanes of the vector, so
// the vector instructions of the full loops serve the last elements too, one at a time:
// only the loads and stores differ.

// ---------------------------------------------------------------------------------
// Instructions that Go's assembler does not know

// Operands are register numbers in Go's order: the destination last, and the second
// source of a difference, quotient or comparison first, so that VFSUB4S(m, n, d) is
// d = n - m and VFCMGT4S(m, n, d) sets all bits of the lanes of d where n > m. The test
// TestEncodings decodes each line and compares it with the comment.
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
#define VFMLA4S0(m, n, d)  WORD $(0x4f801000 | (m)<<16 | (n)<<5 | (d)) // fmla Vd.4s, Vn.4s, Vm.s[0]

// ---------------------------------------------------------------------------------
// sgemmNEON_6x16

// B of one inner index: 16 elements in V0 to V3. A: one element a row in lane 0 of V4
// to V7, loaded without broadcast (a broadcasting load costs a slot of the FMA units)
// and multiplied by element. The rows' accumulators: V8 to V11, V12 to V15, and so on
// to V28 to V31.
#define LOADB \
	FLDPQ (R8), (F0, F1)   \
	FLDPQ 32(R8), (F2, F3)

#define LOADA0 FMOVS (R1)(R9), F4
#define LOADA1 FMOVS (R2)(R9), F5
#define LOADA2 FMOVS (R3)(R9), F6
#define LOADA3 FMOVS (R4)(R9), F7
#define LOADA4 FMOVS (R5)(R9), F4
#define LOADA5 FMOVS (R6)(R9), F5

// One row of the tile at one inner index: element 0 of register a times B, added to
// the four accumulators from c on.
#define ROW(a, c) \
	VFMLA4S0(a, 0, c)   \
	VFMLA4S0(a, 1, c+1) \
	VFMLA4S0(a, 2, c+2) \
	VFMLA4S0(a, 3, c+3)

#define STEP1 \
	LOADB     \
	LOADA0    \
	ROW(4, 8)

#define STEP2 \
	LOADB      \
	LOADA0     \
	LOADA1     \
	ROW(4, 8)  \
	ROW(5, 12)

#define STEP3 \
	LOADB      \
	LOADA0     \
	LOADA1     \
	LOADA2     \
	ROW(4, 8)  \
	ROW(5, 12) \
	ROW(6, 16)

#define STEP4 \
	LOADB      \
	LOADA0     \
	LOADA1     \
	LOADA2     \
	LOADA3     \
	ROW(4, 8)  \
	ROW(5, 12) \
	ROW(6, 16) \
	ROW(7, 20)

#define STEP5 \
	LOADB      \
	LOADA0     \
	LOADA1     \
	LOADA2     \
	LOADA3     \
	ROW(4, 8)  \
	LOADA4     \
	ROW(5, 12) \
	ROW(6, 16) \
	ROW(7, 20) \
	ROW(4, 24)

#define STEP6 \
	LOADB      \
	LOADA0     \
	LOADA1     \
	LOADA2     \
	LOADA3     \
	ROW(4, 8)  \
	LOADA4     \
	ROW(5, 12) \
	LOADA5     \
	ROW(6, 16) \
	ROW(7, 20) \
	ROW(4, 24) \
	ROW(5, 28)

#define NEXT \
	ADD R10, R9 \
	ADD R11, R8

// The loop over the inner index, four at a time, then one at a time. Every four fetch a
// line of the panel of B that comes next: R19 walks along it in steps of R20, which is 0
// where there is nothing to fetch.
#define LOOP(step, four, fourtest, one, onetest, done) \
	B    fourtest \
four: \
	PRFM (R19), PLDL2KEEP \
	ADD  R20, R19 \
	step \
	NEXT \
	step \
	NEXT \
	step \
	NEXT \
	step \
	NEXT \
fourtest: \
	SUBS $4, R7  \
	BGE  four    \
	ADD  $4, R7  \
	B    onetest \
one: \
	step \
	NEXT \
onetest: \
	SUBS $1, R7 \
	BGE  one    \
	B    done

// All accumulators of a tile: empty, loaded and stored. R12 is the distance of rows of C, R0
// row 0, R14 their number.
#define ZEROS \
	VMOVI $0, V8.B16 \
	VMOVI $0, V9.B16 \
	VMOVI $0, V10.B16 \
	VMOVI $0, V11.B16 \
	VMOVI $0, V12.B16 \
	VMOVI $0, V13.B16 \
	VMOVI $0, V14.B16 \
	VMOVI $0, V15.B16 \
	VMOVI $0, V16.B16 \
	VMOVI $0, V17.B16 \
	VMOVI $0, V18.B16 \
	VMOVI $0, V19.B16 \
	VMOVI $0, V20.B16 \
	VMOVI $0, V21.B16 \
	VMOVI $0, V22.B16 \
	VMOVI $0, V23.B16 \
	VMOVI $0, V24.B16 \
	VMOVI $0, V25.B16 \
	VMOVI $0, V26.B16 \
	VMOVI $0, V27.B16 \
	VMOVI $0, V28.B16 \
	VMOVI $0, V29.B16 \
	VMOVI $0, V30.B16 \
	VMOVI $0, V31.B16

#define OLDS \
	MOVD  R0, R15 \
	FLDPQ (R15), (F8, F9) \
	FLDPQ 32(R15), (F10, F11) \
	CMP   $2, R14 \
	BLT   start \
	ADD   R12, R15 \
	FLDPQ (R15), (F12, F13) \
	FLDPQ 32(R15), (F14, F15) \
	BEQ   start \
	ADD   R12, R15 \
	FLDPQ (R15), (F16, F17) \
	FLDPQ 32(R15), (F18, F19) \
	CMP   $4, R14 \
	BLT   start \
	ADD   R12, R15 \
	FLDPQ (R15), (F20, F21) \
	FLDPQ 32(R15), (F22, F23) \
	BEQ   start \
	ADD   R12, R15 \
	FLDPQ (R15), (F24, F25) \
	FLDPQ 32(R15), (F26, F27) \
	CMP   $6, R14 \
	BLT   start \
	ADD   R12, R15 \
	FLDPQ (R15), (F28, F29) \
	FLDPQ 32(R15), (F30, F31)

#define STORES \
	FSTPQ (F8, F9), (R0) \
	FSTPQ (F10, F11), 32(R0) \
	CMP   $2, R14 \
	BLT   done \
	ADD   R12, R0 \
	FSTPQ (F12, F13), (R0) \
	FSTPQ (F14, F15), 32(R0) \
	BEQ   done \
	ADD   R12, R0 \
	FSTPQ (F16, F17), (R0) \
	FSTPQ (F18, F19), 32(R0) \
	CMP   $4, R14 \
	BLT   done \
	ADD   R12, R0 \
	FSTPQ (F20, F21), (R0) \
	FSTPQ (F22, F23), 32(R0) \
	BEQ   done \
	ADD   R12, R0 \
	FSTPQ (F24, F25), (R0) \
	FSTPQ (F26, F27), 32(R0) \
	CMP   $6, R14 \
	BLT   done \
	ADD   R12, R0 \
	FSTPQ (F28, F29), (R0) \
	FSTPQ (F30, F31), 32(R0)

// func sgemmNEON_6x16(k int, a []float32, ars, acs int, b []float32, brs int, c []float32, crs, rows int, acc bool, next []float32, step int)
TEXT ·sgemmNEON_6x16(SB), NOSPLIT, $0-160
	MOVD  k+0(FP), R7
	MOVD  a_base+8(FP), R1
	MOVD  ars+32(FP), R13
	MOVD  acs+40(FP), R10
	MOVD  b_base+48(FP), R8
	MOVD  brs+72(FP), R11
	MOVD  c_base+80(FP), R0
	MOVD  crs+104(FP), R12
	MOVD  rows+112(FP), R14
	MOVBU acc+120(FP), R15
	MOVD  next_base+128(FP), R19
	MOVD  step+152(FP), R20
	LSL   $2, R10, R10
	LSL   $2, R11, R11
	LSL   $2, R12, R12
	ADD   R13<<2, R1, R2 // R1 to R6: rows 0 to 5 of A
	ADD   R13<<2, R2, R3
	ADD   R13<<2, R3, R4
	ADD   R13<<2, R4, R5
	ADD   R13<<2, R5, R6
	MOVD  ZR, R9         // R9: offset of the inner index in the rows of A
	CBNZ  R15, old

	ZEROS
	B     start

	// The chains go on from the old values of C.
old:
	OLDS

start:
	CMP $6, R14
	BEQ rows6
	CMP $5, R14
	BEQ rows5
	CMP $4, R14
	BEQ rows4
	CMP $3, R14
	BEQ rows3
	CMP $2, R14
	BEQ rows2
	LOOP(STEP1, four1, fourtest1, one1, onetest1, store)
rows2:
	LOOP(STEP2, four2, fourtest2, one2, onetest2, store)
rows3:
	LOOP(STEP3, four3, fourtest3, one3, onetest3, store)
rows4:
	LOOP(STEP4, four4, fourtest4, one4, onetest4, store)
rows5:
	LOOP(STEP5, four5, fourtest5, one5, onetest5, store)
rows6:
	LOOP(STEP6, four6, fourtest6, one6, onetest6, store)

store:
	STORES
done:
	RET

// ---------------------------------------------------------------------------------
// sgemmAtNEON_6x16

// The loop over the inner index with rows of B anywhere: R19 walks along their places, R11
// is the begin of B.
#define LOOPAT(step, one, test) \
	B    test \
one: \
	MOVW (R19), R8       \
	ADD  $4, R19         \
	ADD  R8<<2, R11, R8  \
	step                 \
	ADD  R10, R9         \
test: \
	SUBS $1, R7          \
	BGE  one             \
	B    store

// func sgemmAtNEON_6x16(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, rows int, acc bool)
TEXT ·sgemmAtNEON_6x16(SB), NOSPLIT, $0-137
	MOVD  k+0(FP), R7
	MOVD  a_base+8(FP), R1
	MOVD  ars+32(FP), R13
	MOVD  acs+40(FP), R10
	MOVD  b_base+48(FP), R11
	MOVD  at_base+72(FP), R19
	MOVD  c_base+96(FP), R0
	MOVD  crs+120(FP), R12
	MOVD  rows+128(FP), R14
	MOVBU acc+136(FP), R15
	LSL   $2, R10, R10
	LSL   $2, R12, R12
	ADD   R13<<2, R1, R2 // R1 to R6: rows 0 to 5 of A
	ADD   R13<<2, R2, R3
	ADD   R13<<2, R3, R4
	ADD   R13<<2, R4, R5
	ADD   R13<<2, R5, R6
	MOVD  ZR, R9         // R9: offset of the inner index in the rows of A
	CBNZ  R15, old
	ZEROS
	B     start
old:
	OLDS
start:
	CMP $6, R14
	BEQ rows6
	CMP $5, R14
	BEQ rows5
	CMP $4, R14
	BEQ rows4
	CMP $3, R14
	BEQ rows3
	CMP $2, R14
	BEQ rows2
	LOOPAT(STEP1, one1, test1)
rows2:
	LOOPAT(STEP2, one2, test2)
rows3:
	LOOPAT(STEP3, one3, test3)
rows4:
	LOOPAT(STEP4, one4, test4)
rows5:
	LOOPAT(STEP5, one5, test5)
rows6:
	LOOPAT(STEP6, one6, test6)

store:
	STORES
done:
	RET

// ---------------------------------------------------------------------------------
// fmaPeakNEON

// func fmaPeakNEON(rounds int)
TEXT ·fmaPeakNEON(SB), NOSPLIT, $0-8
	MOVD  rounds+0(FP), R7
	VMOVI $0, V0.B16
	VMOVI $0, V1.B16
	VMOVI $0, V2.B16
	VMOVI $0, V3.B16
	VMOVI $0, V4.B16
	VMOVI $0, V8.B16
	VMOVI $0, V9.B16
	VMOVI $0, V10.B16
	VMOVI $0, V11.B16
	VMOVI $0, V12.B16
	VMOVI $0, V13.B16
	VMOVI $0, V14.B16
	VMOVI $0, V15.B16
	VMOVI $0, V16.B16
	VMOVI $0, V17.B16
	VMOVI $0, V18.B16
	VMOVI $0, V19.B16
	VMOVI $0, V20.B16
	VMOVI $0, V21.B16
	VMOVI $0, V22.B16
	VMOVI $0, V23.B16
	VMOVI $0, V24.B16
	VMOVI $0, V25.B16
	VMOVI $0, V26.B16
	VMOVI $0, V27.B16
	VMOVI $0, V28.B16
	VMOVI $0, V29.B16
	VMOVI $0, V30.B16
	VMOVI $0, V31.B16
	B     test
loop:
	ROW(4, 8)
	ROW(4, 12)
	ROW(4, 16)
	ROW(4, 20)
	ROW(4, 24)
	ROW(4, 28)
test:
	SUBS $1, R7
	BGE  loop
	RET

// ---------------------------------------------------------------------------------
// Streams of memory traffic

// STREAM makes R6 passes over R8 floats of dst (at R3), x (R4) and y (R5), or those of
// them that there are: 64 floats at a time, then 4, then 1. The macros v32, v4 and v1
// handle so many at R0 (dst), R1 (x) and R2 (y), and move the pointers on.
#define STREAM(v32, v4, v1, pass, l64, t64, l4, t4, l1, t1, next) \
	B     next    \
pass: \
	MOVD  R3, R0  \
	MOVD  R4, R1  \
	MOVD  R5, R2  \
	MOVD  R8, R7  \
	B     t64     \
l64: \
	v32           \
	v32           \
t64: \
	SUBS  $64, R7 \
	BGE   l64     \
	ADD   $64, R7 \
	B     t4      \
l4: \
	v4            \
t4: \
	SUBS  $4, R7  \
	BGE   l4      \
	ADD   $4, R7  \
	B     t1      \
l1: \
	v1            \
t1: \
	SUBS  $1, R7  \
	BGE   l1      \
next: \
	SUBS  $1, R6  \
	BGE   pass

#define LD32 \
	FLDPQ (R1), (F8, F9)     \
	FLDPQ 32(R1), (F10, F11) \
	FLDPQ 64(R1), (F12, F13) \
	FLDPQ 96(R1), (F14, F15) \
	ADD   $128, R1
#define LD4 FMOVQ.P 16(R1), F8
#define LD1 FMOVS.P 4(R1), F8
#define READ32 \
	LD32                          \
	VORR  V8.B16, V0.B16, V0.B16  \
	VORR  V9.B16, V1.B16, V1.B16  \
	VORR  V10.B16, V2.B16, V2.B16 \
	VORR  V11.B16, V3.B16, V3.B16 \
	VORR  V12.B16, V4.B16, V4.B16 \
	VORR  V13.B16, V5.B16, V5.B16 \
	VORR  V14.B16, V6.B16, V6.B16 \
	VORR  V15.B16, V7.B16, V7.B16
#define READ4 \
	LD4  \
	VORR V8.B16, V0.B16, V0.B16
#define READ1 \
	LD1  \
	VORR V8.B16, V0.B16, V0.B16

// All passes but the last are loads and nothing else: see readAVX2.
//
// func readNEON(x []float32, rounds int) uint32
TEXT ·readNEON(SB), NOSPLIT, $0-36
	MOVD x_base+0(FP), R4
	MOVD x_len+8(FP), R8
	MOVD rounds+24(FP), R6
	SUB  $1, R6
	STREAM(LD32, LD4, LD1, loadpass, l64, t64, l4, t4, l1, t1, loadnext)
	MOVD rounds+24(FP), R9
	CMP  $0, R9
	CSET GT, R6
	VMOVI $0, V0.B16
	VMOVI $0, V1.B16
	VMOVI $0, V2.B16
	VMOVI $0, V3.B16
	VMOVI $0, V4.B16
	VMOVI $0, V5.B16
	VMOVI $0, V6.B16
	VMOVI $0, V7.B16
	STREAM(READ32, READ4, READ1, pass, r64, rt64, r4, rt4, r1, rt1, next)
	VORR V1.B16, V0.B16, V0.B16
	VORR V3.B16, V2.B16, V2.B16
	VORR V5.B16, V4.B16, V4.B16
	VORR V7.B16, V6.B16, V6.B16
	VORR V2.B16, V0.B16, V0.B16
	VORR V6.B16, V4.B16, V4.B16
	VORR V4.B16, V0.B16, V0.B16
	VMOV V0.D[0], R8
	VMOV V0.D[1], R9
	ORR  R9, R8
	ORR  R8>>32, R8
	MOVW R8, ret+32(FP)
	RET

#define WRITE32 \
	FSTPQ (F31, F31), (R0)   \
	FSTPQ (F31, F31), 32(R0) \
	FSTPQ (F31, F31), 64(R0) \
	FSTPQ (F31, F31), 96(R0) \
	ADD   $128, R0
#define WRITE4 FMOVQ.P F31, 16(R0)
#define WRITE1 FMOVS.P F31, 4(R0)

// func writeNEON(dst []float32, a float32, rounds int)
TEXT ·writeNEON(SB), NOSPLIT, $0-40
	MOVD  dst_base+0(FP), R3
	MOVD  dst_len+8(FP), R8
	FMOVS a+24(FP), F31
	VDUP  V31.S[0], V31.S4
	MOVD  rounds+32(FP), R6
	STREAM(WRITE32, WRITE4, WRITE1, pass, l64, t64, l4, t4, l1, t1, next)
	RET

#define TRIAD32 \
	FLDPQ (R1), (F0, F1)       \
	FLDPQ (R2), (F16, F17)     \
	FLDPQ 32(R1), (F2, F3)     \
	FLDPQ 32(R2), (F18, F19)   \
	FLDPQ 64(R1), (F4, F5)     \
	FLDPQ 64(R2), (F20, F21)   \
	FLDPQ 96(R1), (F6, F7)     \
	FLDPQ 96(R2), (F22, F23)   \
	VFMLA V31.S4, V16.S4, V0.S4 \
	VFMLA V31.S4, V17.S4, V1.S4 \
	VFMLA V31.S4, V18.S4, V2.S4 \
	VFMLA V31.S4, V19.S4, V3.S4 \
	VFMLA V31.S4, V20.S4, V4.S4 \
	VFMLA V31.S4, V21.S4, V5.S4 \
	VFMLA V31.S4, V22.S4, V6.S4 \
	VFMLA V31.S4, V23.S4, V7.S4 \
	FSTPQ (F0, F1), (R0)       \
	FSTPQ (F2, F3), 32(R0)     \
	FSTPQ (F4, F5), 64(R0)     \
	FSTPQ (F6, F7), 96(R0)     \
	ADD   $128, R0             \
	ADD   $128, R1             \
	ADD   $128, R2
#define TRIAD4 \
	FMOVQ.P 16(R1), F0 \
	FMOVQ.P 16(R2), F1 \
	VFMLA   V31.S4, V1.S4, V0.S4 \
	FMOVQ.P F0, 16(R0)
#define TRIAD1 \
	FMOVS.P 4(R1), F0 \
	FMOVS.P 4(R2), F1 \
	VFMLA   V31.S4, V1.S4, V0.S4 \
	FMOVS.P F0, 4(R0)

// func triadNEON(a float32, dst, x, y []float32, rounds int)
TEXT ·triadNEON(SB), NOSPLIT, $0-88
	FMOVS a+0(FP), F31
	VDUP  V31.S[0], V31.S4
	MOVD  dst_base+8(FP), R3
	MOVD  dst_len+16(FP), R8
	MOVD  x_base+32(FP), R4
	MOVD  y_base+56(FP), R5
	MOVD  rounds+80(FP), R6
	STREAM(TRIAD32, TRIAD4, TRIAD1, pass, l64, t64, l4, t4, l1, t1, next)
	RET

// ---------------------------------------------------------------------------------
// Elementwise kernels

// VECTOR runs over R7 elements: 16 at a time, then 4, then 1. The macros load, op and
// store handle four elements, load1 and store1 one, and move the pointers on.
#define VECTOR(load, op, store, load1, store1, l16, t16, l4, t4, l1, t1) \
	B     t16    \
l16: \
	load         \
	op           \
	store        \
	load         \
	op           \
	store        \
	load         \
	op           \
	store        \
	load         \
	op           \
	store        \
t16: \
	SUBS  $16, R7 \
	BGE   l16     \
	ADD   $16, R7 \
	B     t4      \
l4: \
	load         \
	op           \
	store        \
t4: \
	SUBS  $4, R7 \
	BGE   l4     \
	ADD   $4, R7 \
	B     t1     \
l1: \
	load1        \
	op           \
	store1       \
t1: \
	SUBS  $1, R7 \
	BGE   l1

// Operands: destination at R0, x at R1, y at R2; values in V0 (x) and V1 (y).
#define LOADX FMOVQ.P 16(R1), F0
#define LOADX1 FMOVS.P 4(R1), F0
#define LOADXY \
	FMOVQ.P 16(R1), F0 \
	FMOVQ.P 16(R2), F1
#define LOADXY1 \
	FMOVS.P 4(R1), F0 \
	FMOVS.P 4(R2), F1
#define STORE FMOVQ.P F0, 16(R0)
#define STORE1 FMOVS.P F0, 4(R0)

#define OPADD VFADD4S(1, 0, 0)

// func addNEON(dst, x, y []float32)
TEXT ·addNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R2
	VECTOR(LOADXY, OPADD, STORE, LOADXY1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

#define OPMUL VFMUL4S(1, 0, 0)

// func multiplyNEON(dst, x, y []float32)
TEXT ·multiplyNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R2
	VECTOR(LOADXY, OPMUL, STORE, LOADXY1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

#define OPSUB VFSUB4S(1, 0, 0)

// func subRowsNEON(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)
TEXT ·subRowsNEON(SB), NOSPLIT, $0-112
	MOVD dst_base+0(FP), R0
	MOVD ds+24(FP), R10
	MOVD x_base+32(FP), R1
	MOVD xs+56(FP), R11
	MOVD y_base+64(FP), R2
	MOVD ys+88(FP), R12
	MOVD rows+96(FP), R5
	MOVD n+104(FP), R6
	SUB  R6, R10         // from the end of a row to the next one
	SUB  R6, R11
	SUB  R6, R12
	B    rowtest
row:
	MOVD R6, R7
	VECTOR(LOADXY, OPSUB, STORE, LOADXY1, STORE1, l16, t16, l4, t4, l1, t1)
	ADD  R10<<2, R0
	ADD  R11<<2, R1
	ADD  R12<<2, R2
rowtest:
	SUBS $1, R5
	BGE  row
	RET

#define LOADXOLD \
	FMOVQ.P 16(R1), F0 \
	FMOVQ   (R0), F1
#define LOADXOLD1 \
	FMOVS.P 4(R1), F0 \
	FMOVS   (R0), F1
#define OPAXPY VFMLA V14.S4, V0.S4, V1.S4
#define STOREY FMOVQ.P F1, 16(R0)
#define STOREY1 FMOVS.P F1, 4(R0)

// func axpyNEON(a float32, x, y []float32)
TEXT ·axpyNEON(SB), NOSPLIT, $0-56
	FMOVS a+0(FP), F14
	MOVD  x_base+8(FP), R1
	MOVD  y_base+32(FP), R0
	MOVD  y_len+40(FP), R7
	VDUP  V14.S[0], V14.S4
	VECTOR(LOADXOLD, OPAXPY, STOREY, LOADXOLD1, STOREY1, l16, t16, l4, t4, l1, t1)
	RET

#define OPSCALE VFMUL4S(14, 0, 0)

// func scaleNEON(dst []float32, a float32, x []float32)
TEXT ·scaleNEON(SB), NOSPLIT, $0-56
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	FMOVS a+24(FP), F14
	MOVD  x_base+32(FP), R1
	VDUP  V14.S[0], V14.S4
	VECTOR(LOADX, OPSCALE, STORE, LOADX1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

#define OPSHIFT VFADD4S(14, 0, 0)

// func shiftNEON(dst []float32, a float32, x []float32)
TEXT ·shiftNEON(SB), NOSPLIT, $0-56
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	FMOVS a+24(FP), F14
	MOVD  x_base+32(FP), R1
	VDUP  V14.S[0], V14.S4
	VECTOR(LOADX, OPSHIFT, STORE, LOADX1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

// x > 0 ? x : +0. FMAX would let a NaN pass; the comparison is false for it.
#define OPRELU \
	VFCMGTZ4S(0, 1) \
	VAND V1.B16, V0.B16, V0.B16

// func reluNEON(dst, x []float32)
TEXT ·reluNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	VECTOR(LOADX, OPRELU, STORE, LOADX1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

// x holds the layer's output, y the gradient: dst = x > 0 ? y : +0.
#define OPRELUBACK \
	VFCMGTZ4S(0, 2) \
	VAND V2.B16, V1.B16, V0.B16

// func reluBackwardNEON(dst, x, y []float32)
TEXT ·reluBackwardNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R2
	VECTOR(LOADXY, OPRELUBACK, STORE, LOADXY1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

// x: normalised output, y: gradient. dst = rstd*(fma(-c2, x, y - c1)), with c1 in V12,
// c2 in V13 and rstd in V14.
#define OPNORMBACK \
	VFSUB4S(12, 1, 1)             \
	VFMLS V13.S4, V0.S4, V1.S4 \
	VFMUL4S(14, 1, 0)

// func normBackwardNEON(dst, x, y []float32, c1, c2, rstd float32)
TEXT ·normBackwardNEON(SB), NOSPLIT, $0-84
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R7
	MOVD  x_base+24(FP), R1
	MOVD  y_base+48(FP), R2
	FMOVS c1+72(FP), F12
	FMOVS c2+76(FP), F13
	FMOVS rstd+80(FP), F14
	VDUP  V12.S[0], V12.S4
	VDUP  V13.S[0], V13.S4
	VDUP  V14.S[0], V14.S4
	VECTOR(LOADXY, OPNORMBACK, STORE, LOADXY1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

// ---------------------------------------------------------------------------------
// adamNEON

// p at R0, g at R1, m at R2, v at R3. Coefficients: V16 clip, V17 beta1, V18 1-beta1,
// V19 beta2, V20 1-beta2, V21 step, V22 rbc2, V23 eps.
#define LOADADAM \
	FMOVQ.P 16(R1), F0 \
	FMOVQ   (R2), F1   \
	FMOVQ   (R3), F2   \
	FMOVQ   (R0), F3
#define LOADADAM1 \
	FMOVS.P 4(R1), F0 \
	FMOVS   (R2), F1  \
	FMOVS   (R3), F2  \
	FMOVS   (R0), F3
#define OPADAM \
	VFMUL4S(16, 0, 0)             \ // g *= clip
	VFMUL4S(18, 0, 4)             \
	VFMLA V17.S4, V1.S4, V4.S4    \ // m = fma(beta1, m, (1-beta1)*g)
	VFMUL4S(0, 0, 0)              \
	VFMUL4S(20, 0, 0)             \
	VFMLA V19.S4, V2.S4, V0.S4    \ // v = fma(beta2, v, (1-beta2)*(g*g))
	VFSQRT4S(0, 5)                \
	VMOV  V23.B16, V6.B16         \
	VFMLA V22.S4, V5.S4, V6.S4    \ // fma(sqrt(v), rbc2, eps)
	VFDIV4S(6, 4, 5)              \
	VFMLS V21.S4, V5.S4, V3.S4      // p = fma(-step, m/den, p)
#define STOREADAM \
	FMOVQ.P F4, 16(R2) \
	FMOVQ.P F0, 16(R3) \
	FMOVQ.P F3, 16(R0)
#define STOREADAM1 \
	FMOVS.P F4, 4(R2) \
	FMOVS.P F0, 4(R3) \
	FMOVS.P F3, 4(R0)

// func adamNEON(p, g, m, v []float32, co *AdamCoefficients)
TEXT ·adamNEON(SB), NOSPLIT, $0-104
	MOVD    p_base+0(FP), R0
	MOVD    p_len+8(FP), R7
	MOVD    g_base+24(FP), R1
	MOVD    m_base+48(FP), R2
	MOVD    v_base+72(FP), R3
	MOVD    co+96(FP), R8
	VLD1R.P 4(R8), [V16.S4]
	VLD1R.P 4(R8), [V17.S4]
	VLD1R.P 4(R8), [V18.S4]
	VLD1R.P 4(R8), [V19.S4]
	VLD1R.P 4(R8), [V20.S4]
	VLD1R.P 4(R8), [V21.S4]
	VLD1R.P 4(R8), [V22.S4]
	VLD1R   (R8), [V23.S4]
	VECTOR(LOADADAM, OPADAM, STOREADAM, LOADADAM1, STOREADAM1, l16, t16, l4, t4, l1, t1)
	RET

// ---------------------------------------------------------------------------------
// Reductions: sixteen virtual lanes (0 to 3 in V16, then V17, V18, and 12 to 15 in
// V19), combined 8 apart, 4, 2, 1. The sum is left in F16.

#define ZEROLANES \
	VMOVI $0, V16.B16 \
	VMOVI $0, V17.B16 \
	VMOVI $0, V18.B16 \
	VMOVI $0, V19.B16

#define TREE \
	VFADD4S(18, 16, 16)                   \
	VFADD4S(19, 17, 17)                   \
	VFADD4S(17, 16, 16)                   \
	VEXT  $8, V16.B16, V16.B16, V17.B16   \
	VFADD4S(17, 16, 16)                   \
	VDUP  V16.S[1], V17                   \
	FADDS F17, F16, F16

// rest loads the last R7 (1 to 15) elements of a vector, at R8, into V0 to V3 and fills
// up with +0. So all sixteen lanes take part in the block's operation, as in the twin,
// where the padding turns a lane of -0 into +0. Changes R9, R10 and V20.
TEXT rest<>(SB), NOSPLIT|NOFRAME, $0-0
	VMOVI $0, V1.B16
	VMOVI $0, V2.B16
	VMOVI $0, V3.B16
	VMOVI $0, V20.B16

	// V20: the R7 mod 4 elements after the last whole vector.
	AND   $12, R7, R9
	ADD   R9<<2, R8, R10
	TBZ   $1, R7, odd
	FMOVD.P 8(R10), F20
	TBZ   $0, R7, whole
	VLD1  (R10), V20.S[2]
	B     whole
odd:
	TBZ   $0, R7, whole
	FMOVS (R10), F20

whole:
	CMP   $4, R9
	BLT   none
	BEQ   one
	CMP   $8, R9
	BEQ   two
	FLDPQ (R8), (F0, F1)
	FMOVQ 32(R8), F2
	VMOV  V20.B16, V3.B16
	RET
two:
	FLDPQ (R8), (F0, F1)
	VMOV  V20.B16, V2.B16
	RET
one:
	FMOVQ (R8), F0
	VMOV  V20.B16, V1.B16
	RET
none:
	VMOV  V20.B16, V0.B16
	RET

// RESTXY loads the last R7 elements of x (at R1) into V4 to V7 and those of y (at R2)
// into V0 to V3, filled up with +0, and moves both pointers to the ends.
#define RESTXY \
	MOVD R1, R8           \
	CALL rest<>(SB)       \
	VMOV V0.B16, V4.B16   \
	VMOV V1.B16, V5.B16   \
	VMOV V2.B16, V6.B16   \
	VMOV V3.B16, V7.B16   \
	MOVD R2, R8           \
	CALL rest<>(SB)       \
	ADD  R7<<2, R1        \
	ADD  R7<<2, R2

#define BLOCKXY \
	FLDPQ.P 32(R1), (F4, F5) \
	FLDPQ.P 32(R1), (F6, F7) \
	FLDPQ.P 32(R2), (F0, F1) \
	FLDPQ.P 32(R2), (F2, F3)

#define DOT16 \
	VFMLA V0.S4, V4.S4, V16.S4 \
	VFMLA V1.S4, V5.S4, V17.S4 \
	VFMLA V2.S4, V6.S4, V18.S4 \
	VFMLA V3.S4, V7.S4, V19.S4

// func dotRowsNEON(dst, x []float32, xs int, y []float32, ys, n int)
TEXT ·dotRowsNEON(SB), NOSPLIT, $0-96
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R5
	MOVD x_base+24(FP), R1
	MOVD xs+48(FP), R11
	MOVD y_base+56(FP), R2
	MOVD ys+80(FP), R12
	MOVD n+88(FP), R6
	SUB  R6, R11         // from the end of a row to the next one
	SUB  R6, R12
	B    rowtest
row:
	ZEROLANES
	MOVD R6, R7
	B    blocktest
block:
	BLOCKXY
	DOT16
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	RESTXY
	DOT16
tree:
	TREE
	FMOVS.P F16, 4(R0)
	ADD  R11<<2, R1
	ADD  R12<<2, R2
rowtest:
	SUBS $1, R5
	BGE  row
	RET

#define DISTANCE16 \
	VFSUB4S(0, 4, 4) \
	VFSUB4S(1, 5, 5) \
	VFSUB4S(2, 6, 6) \
	VFSUB4S(3, 7, 7)

#define SQDIST16 \
	DISTANCE16                 \
	VFMLA V4.S4, V4.S4, V16.S4 \
	VFMLA V5.S4, V5.S4, V17.S4 \
	VFMLA V6.S4, V6.S4, V18.S4 \
	VFMLA V7.S4, V7.S4, V19.S4

// func sqdistRowsNEON(dst, x []float32, xs int, y []float32)
TEXT ·sqdistRowsNEON(SB), NOSPLIT, $0-80
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R5
	MOVD x_base+24(FP), R1
	MOVD xs+48(FP), R11
	MOVD y_base+56(FP), R12
	MOVD y_len+64(FP), R6
	SUB  R6, R11            // from the end of a row to the next one
	B    rowtest
row:
	ZEROLANES
	MOVD R12, R2
	MOVD R6, R7
	B    blocktest
block:
	BLOCKXY
	SQDIST16
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	RESTXY
	SQDIST16
tree:
	TREE
	FMOVS.P F16, 4(R0)
	ADD  R11<<2, R1
rowtest:
	SUBS $1, R5
	BGE  row
	RET

#define QUAD16 \
	VFMUL4S(4, 0, 0)           \
	VFMUL4S(5, 1, 1)           \
	VFMUL4S(6, 2, 2)           \
	VFMUL4S(7, 3, 3)           \
	VFMLA V4.S4, V0.S4, V16.S4 \
	VFMLA V5.S4, V1.S4, V17.S4 \
	VFMLA V6.S4, V2.S4, V18.S4 \
	VFMLA V7.S4, V3.S4, V19.S4

// func quadRowsNEON(dst, x []float32, xs int, y, w []float32)
TEXT ·quadRowsNEON(SB), NOSPLIT, $0-104
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R5
	MOVD x_base+24(FP), R1
	MOVD xs+48(FP), R11
	MOVD y_base+56(FP), R12
	MOVD y_len+64(FP), R6
	MOVD w_base+80(FP), R13
	SUB  R6, R11            // from the end of a row to the next one
	B    rowtest
row:
	ZEROLANES
	MOVD R12, R2
	MOVD R13, R3
	MOVD R6, R7
	B    blocktest
block:
	BLOCKXY
	DISTANCE16
	FLDPQ.P 32(R3), (F0, F1)
	FLDPQ.P 32(R3), (F2, F3)
	QUAD16
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	RESTXY
	DISTANCE16
	MOVD R3, R8
	CALL rest<>(SB)
	QUAD16
tree:
	TREE
	FMOVS.P F16, 4(R0)
	ADD  R11<<2, R1
rowtest:
	SUBS $1, R5
	BGE  row
	RET

#define SUM16 \
	VFADD4S(0, 16, 16) \
	VFADD4S(1, 17, 17) \
	VFADD4S(2, 18, 18) \
	VFADD4S(3, 19, 19)

// func sumNEON(x []float32) float32
TEXT ·sumNEON(SB), NOSPLIT, $0-28
	MOVD x_base+0(FP), R8
	MOVD x_len+8(FP), R7
	ZEROLANES
	B    blocktest
block:
	FLDPQ.P 32(R8), (F0, F1)
	FLDPQ.P 32(R8), (F2, F3)
	SUM16
blocktest:
	SUBS $16, R7
	BGE  block
	ADDS $16, R7
	BEQ  tree
	CALL rest<>(SB)
	SUM16
tree:
	TREE
	FMOVS F16, ret+24(FP)
	RET

// ---------------------------------------------------------------------------------
// exp and log. All constants stay in registers: V16 to V26 belong to exp (log shares
// V18 to V20), V6 to V15 to log, so that the mixture kernel has room for both.

DATA expc<>+0(SB)/4, $0x4b400000  // V16: 1.5*2^23: adding it rounds to an integer
DATA expc<>+4(SB)/4, $0x3fb8aa3b  // V17: log2(e)
DATA expc<>+8(SB)/4, $0x3f317218  // V18: ln 2, upper part
DATA expc<>+12(SB)/4, $0xb102e308 // V19: ln 2, lower part
DATA expc<>+16(SB)/4, $0x3f800000 // V20: 1
DATA expc<>+20(SB)/4, $0x3f000000 // V21: 1/2
DATA expc<>+24(SB)/4, $0x3ab6a602 // V22: polynomial, highest degree first
DATA expc<>+28(SB)/4, $0x3c09060a // V23
DATA expc<>+32(SB)/4, $0x3d2aaa75 // V24
DATA expc<>+36(SB)/4, $0x3e2aaa6e // V25
DATA expc<>+40(SB)/4, $0x0000007f // V26: exponent bias
GLOBL expc<>(SB), RODATA|NOPTR, $44

#define EXPCONSTANTS \
	MOVD    $expc<>(SB), R9 \
	VLD1R.P 4(R9), [V16.S4] \
	VLD1R.P 4(R9), [V17.S4] \
	VLD1R.P 4(R9), [V18.S4] \
	VLD1R.P 4(R9), [V19.S4] \
	VLD1R.P 4(R9), [V20.S4] \
	VLD1R.P 4(R9), [V21.S4] \
	VLD1R.P 4(R9), [V22.S4] \
	VLD1R.P 4(R9), [V23.S4] \
	VLD1R.P 4(R9), [V24.S4] \
	VLD1R.P 4(R9), [V25.S4] \
	VLD1R   (R9), [V26.S4]

// EXP: x in V0, result in V0. Changes V1 to V4. The integer n is not taken out of t: its
// bits are those of the magic number plus n, and of their halves only the low nine bits,
// where the magic number has none, outlive the shift into the exponent.
#define EXP \
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

// The bounds are no zeros and FMIN and FMAX let a NaN pass: they are the twin's two
// comparisons.
#define OPEXP \
	VFMIN4S(27, 0, 0) \
	VFMAX4S(28, 0, 0) \
	EXP

DATA explimit<>+0(SB)/4, $0x42b20000 // V27: 89: above it exp overflows
DATA explimit<>+4(SB)/4, $0xc2d10000 // V28: -104.5: below it exp is 0
GLOBL explimit<>(SB), RODATA|NOPTR, $8

// func expNEON(dst, x []float32)
TEXT ·expNEON(SB), NOSPLIT, $0-48
	MOVD    dst_base+0(FP), R0
	MOVD    dst_len+8(FP), R7
	MOVD    x_base+24(FP), R1
	EXPCONSTANTS
	MOVD    $explimit<>(SB), R9
	VLD1R.P 4(R9), [V27.S4]
	VLD1R   (R9), [V28.S4]
	VECTOR(LOADX, OPEXP, STORE, LOADX1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

DATA logc<>+0(SB)/4, $0x3f3504f3  // V6: sqrt(1/2)
DATA logc<>+4(SB)/4, $0xbda4b529  // V7: polynomial, highest degree first
DATA logc<>+8(SB)/4, $0x3e045351  // V8
DATA logc<>+12(SB)/4, $0xbe05faa2 // V9
DATA logc<>+16(SB)/4, $0x3e112235 // V10
DATA logc<>+20(SB)/4, $0xbe2a43f1 // V11
DATA logc<>+24(SB)/4, $0x3e4cd3d4 // V12
DATA logc<>+28(SB)/4, $0xbe800111 // V13
DATA logc<>+32(SB)/4, $0x3eaaaaa4 // V14
DATA logc<>+36(SB)/4, $0xbeffffff // V15
GLOBL logc<>(SB), RODATA|NOPTR, $40

#define LOGCONSTANTS \
	MOVD    $logc<>(SB), R9 \
	VLD1R.P 4(R9), [V6.S4]  \
	VLD1R.P 4(R9), [V7.S4]  \
	VLD1R.P 4(R9), [V8.S4]  \
	VLD1R.P 4(R9), [V9.S4]  \
	VLD1R.P 4(R9), [V10.S4] \
	VLD1R.P 4(R9), [V11.S4] \
	VLD1R.P 4(R9), [V12.S4] \
	VLD1R.P 4(R9), [V13.S4] \
	VLD1R.P 4(R9), [V14.S4] \
	VLD1R   (R9), [V15.S4]

// LOG: normal positive x in V0, exponent to add in V4, result in V0. Changes V1 to V4.
#define LOG \
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

#define OPLOG \
	VMOV V0.B16, V5.B16          \
	VFCMGT4S(0, 27, 4)           \ // below the normal range
	VFMUL4S(28, 0, 1)            \
	VBIT V4.B16, V1.B16, V0.B16  \
	VAND V29.B16, V4.B16, V4.B16 \
	LOG                          \
	VFCMEQZ4S(5, 1)              \ // x == 0
	VBIT V1.B16, V30.B16, V0.B16 \
	VFCMEQ4S(31, 5, 1)           \ // x == +Inf
	VBIT V1.B16, V31.B16, V0.B16 \
	VFCMGEZ4S(5, 1)              \ // not x >= 0
	VBIF V1.B16, V21.B16, V0.B16

DATA loglimit<>+0(SB)/4, $0x00800000  // V27: 2^-126
DATA loglimit<>+4(SB)/4, $0x4b000000  // V28: 2^23
DATA loglimit<>+8(SB)/4, $0xc1b80000  // V29: -23
DATA loglimit<>+12(SB)/4, $0xff800000 // V30: -Inf
DATA loglimit<>+16(SB)/4, $0x7f800000 // V31: +Inf
DATA loglimit<>+20(SB)/4, $0x7fc00000 // V21: NaN
GLOBL loglimit<>(SB), RODATA|NOPTR, $24

// func logNEON(dst, x []float32)
TEXT ·logNEON(SB), NOSPLIT, $0-48
	MOVD    dst_base+0(FP), R0
	MOVD    dst_len+8(FP), R7
	MOVD    x_base+24(FP), R1
	MOVD    $expc<>+8(SB), R9
	VLD1R.P 4(R9), [V18.S4]
	VLD1R.P 4(R9), [V19.S4]
	VLD1R   (R9), [V20.S4]
	LOGCONSTANTS
	MOVD    $loglimit<>(SB), R9
	VLD1R.P 4(R9), [V27.S4]
	VLD1R.P 4(R9), [V28.S4]
	VLD1R.P 4(R9), [V29.S4]
	VLD1R.P 4(R9), [V30.S4]
	VLD1R.P 4(R9), [V31.S4]
	VLD1R   (R9), [V21.S4]
	VECTOR(LOADX, OPLOG, STORE, LOADX1, STORE1, l16, t16, l4, t4, l1, t1)
	RET

// ---------------------------------------------------------------------------------
// What else sits inside the ascent loop

// SKIPZERO looks at the float32 at p and jumps if it is +0 or -0.
#define SKIPZERO(p, skip) \
	MOVWU (p), R13           \
	TSTW  $0x7fffffff, R13   \
	BEQ   skip

// COLUMNS does n columns at a time, as long as R6 of them are left: for each of R5
// components, r at R8 and g at R9 (bases R1 and R3, strides R2 and R4), chain adds its
// share to the accumulators. Goes on at next, with R6 back to what is left.
#define COLUMNS(n, zero, chain, store, group, loop, skip, test, next) \
group: \
	SUBS  $n, R6      \
	BLT   next        \
	zero              \
	MOVD  R1, R8      \
	MOVD  R3, R9      \
	MOVD  R5, R7      \
	B     test        \
loop: \
	SKIPZERO(R8, skip) \
	VLD1R (R8), [V0.S4] \
	chain             \
skip: \
	ADD   R2, R8      \
	ADD   R4, R9      \
test: \
	SUBS  $1, R7      \
	BGE   loop        \
	store             \
	ADD   $(n*4), R3  \
	B     group       \
next: \
	ADD   $n, R6

// Accumulators: V16 to V31 for 64 columns, V16 to V19 for 16, V16 for 4 or 1.
#define ZERO64 \
	ZEROLANES         \
	VMOVI $0, V20.B16 \
	VMOVI $0, V21.B16 \
	VMOVI $0, V22.B16 \
	VMOVI $0, V23.B16 \
	VMOVI $0, V24.B16 \
	VMOVI $0, V25.B16 \
	VMOVI $0, V26.B16 \
	VMOVI $0, V27.B16 \
	VMOVI $0, V28.B16 \
	VMOVI $0, V29.B16 \
	VMOVI $0, V30.B16 \
	VMOVI $0, V31.B16
#define ZERO4 VMOVI $0, V16.B16

#define CHAIN8(off, c0, c1) \
	FLDPQ off(R9), (F1, F2) \
	VFMLS V0.S4, V1.S4, c0  \
	VFMLS V0.S4, V2.S4, c1
#define CHAIN64 \
	CHAIN16                      \
	CHAIN8(64, V20.S4, V21.S4)   \
	CHAIN8(96, V22.S4, V23.S4)   \
	CHAIN8(128, V24.S4, V25.S4)  \
	CHAIN8(160, V26.S4, V27.S4)  \
	CHAIN8(192, V28.S4, V29.S4)  \
	CHAIN8(224, V30.S4, V31.S4)
#define CHAIN16 \
	CHAIN8(0, V16.S4, V17.S4)  \
	CHAIN8(32, V18.S4, V19.S4)
#define CHAIN4 \
	FMOVQ (R9), F1          \
	VFMLS V0.S4, V1.S4, V16.S4
#define CHAIN1 \
	FMOVS (R9), F1          \
	VFMLS V0.S4, V1.S4, V16.S4

#define STORE64 \
	STORE16                    \
	FSTPQ.P (F20, F21), 32(R0) \
	FSTPQ.P (F22, F23), 32(R0) \
	FSTPQ.P (F24, F25), 32(R0) \
	FSTPQ.P (F26, F27), 32(R0) \
	FSTPQ.P (F28, F29), 32(R0) \
	FSTPQ.P (F30, F31), 32(R0)
#define STORE16 \
	FSTPQ.P (F16, F17), 32(R0) \
	FSTPQ.P (F18, F19), 32(R0)
#define STOREONE4 FMOVQ.P F16, 16(R0)
#define STOREONE1 FMOVS.P F16, 4(R0)

// func gradientNEON(dst, r []float32, rs int, g []float32, gs, k int)
TEXT ·gradientNEON(SB), NOSPLIT, $0-96
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R6
	MOVD r_base+24(FP), R1
	MOVD rs+48(FP), R2
	MOVD g_base+56(FP), R3
	MOVD gs+80(FP), R4
	MOVD k+88(FP), R5
	LSL  $2, R2, R2
	LSL  $2, R4, R4
	COLUMNS(64, ZERO64, CHAIN64, STORE64, group64, loop64, skip64, test64, next64)
	COLUMNS(16, ZEROLANES, CHAIN16, STORE16, group16, loop16, skip16, test16, next16)
	COLUMNS(4, ZERO4, CHAIN4, STOREONE4, group4, loop4, skip4, test4, next4)
	COLUMNS(1, ZERO4, CHAIN1, STOREONE1, group1, loop1, skip1, test1, next1)
	RET

// dst = fma(-w, y, -(r*x)): V14 holds -r, V13 holds w = h*t.
#define OPPULL \
	VFMUL4S(14, 0, 0)          \
	VFMLS V13.S4, V1.S4, V0.S4
#define NOLOAD
#define NOOP
#define STOREZERO FMOVQ.P F11, 16(R0)
#define STOREZERO1 FMOVS.P F11, 4(R0)

// func pullRowsNEON(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)
TEXT ·pullRowsNEON(SB), NOSPLIT, $0-160
	MOVD  dst_base+0(FP), R0
	MOVD  ds+24(FP), R10
	MOVD  r_base+32(FP), R3
	MOVD  r_len+40(FP), R5
	MOVD  x_base+56(FP), R1
	MOVD  xs+80(FP), R11
	MOVD  t_base+88(FP), R4
	FMOVS h+112(FP), F10
	MOVD  y_base+120(FP), R2
	MOVD  ys+144(FP), R12
	MOVD  n+152(FP), R6
	SUB   R6, R10            // from the end of a row to the next one
	SUB   R6, R11
	SUB   R6, R12
	VMOVI $0, V11.B16
	B     rowtest
row:
	MOVD  R6, R7
	SKIPZERO(R3, zero)
	FMOVS (R3), F14
	FNEGS F14, F14
	VDUP  V14.S[0], V14.S4
	FMOVS (R4), F13
	FMULS F10, F13, F13
	VDUP  V13.S[0], V13.S4
	VECTOR(LOADXY, OPPULL, STORE, LOADXY1, STORE1, l16, t16, l4, t4, l1, t1)
	B     next
zero:
	VECTOR(NOLOAD, NOOP, STOREZERO, NOLOAD, STOREZERO1, zl16, zt16, zl4, zt4, zl1, zt1)
	ADD   R6<<2, R1          // x and y were not read
	ADD   R6<<2, R2
next:
	ADD   $4, R3
	ADD   $4, R4
	ADD   R10<<2, R0
	ADD   R11<<2, R1
	ADD   R12<<2, R2
rowtest:
	SUBS  $1, R5
	BGE   row
	RET

// V14: -r, V13: h*t, V12: r, V11: t; V10: h, V9: zero.
#define SCALARS \
	FMOVS (R4), F12          \
	FNEGS F12, F14           \
	FMOVS (R5), F11          \
	FMULS F10, F11, F13      \
	VDUP  V14.S[0], V14.S4   \
	VDUP  V13.S[0], V13.S4   \
	VDUP  V12.S[0], V12.S4   \
	VDUP  V11.S[0], V11.S4
#define NEXTROW \
	ADD $4, R4      \
	ADD $4, R5      \
	ADD R8<<2, R0   \
	ADD R8<<2, R1   \
	ADD R9<<2, R2   \
	ADD R10<<2, R3

// A row of as many columns as move takes, like the sixteen of pullDeltas.
#define PULLFEW(move, row, zero, next, test, onlyrow, onlyzero, onlynext, onlytest, end) \
	move  (R14), F16               \
	CBZ   R12, onlytest            \
	move  (R19), F20               \
	move  (R15), F24               \
	B     test                     \
row: \
	move  (R3), F0                 \
	VFSUB4S(16, 0, 0)              \
	move  F0, (R1)                 \
	SKIPZERO(R4, zero)             \
	SCALARS                        \
	move  (R2), F4                 \
	VFMLS V12.S4, V4.S4, V20.S4    \
	VFMLS V11.S4, V0.S4, V24.S4    \
	VFMUL4S(14, 4, 4)              \
	VFMLS V13.S4, V0.S4, V4.S4     \
	move  F4, (R0)                 \
	B     next                     \
zero: \
	move  F9, (R0)                 \
next: \
	NEXTROW                        \
test: \
	SUBS  $1, R7                   \
	BGE   row                      \
	move  F20, (R19)               \
	move  F24, (R15)               \
	B     end                      \
onlyrow: \
	SKIPZERO(R4, onlyzero)         \
	SCALARS                        \
	move  (R3), F0                 \
	VFSUB4S(16, 0, 0)              \
	move  (R2), F4                 \
	VFMUL4S(14, 4, 4)              \
	VFMLS V13.S4, V0.S4, V4.S4     \
	move  F4, (R0)                 \
	B     onlynext                 \
onlyzero: \
	move  F9, (R0)                 \
onlynext: \
	NEXTROW                        \
onlytest: \
	SUBS  $1, R7                   \
	BGE   onlyrow                  \
end:

// func pullDeltasNEON(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)
TEXT ·pullDeltasNEON(SB), NOSPLIT, $0-248
	MOVD  d_len+32(FP), R12
	MOVD  ld+48(FP), R8
	MOVD  us+104(FP), R9
	FMOVS h+136(FP), F10
	MOVD  xs+168(FP), R10
	MOVD  mu_len+184(FP), R6
	VMOVI $0, V9.B16
	MOVD  ZR, R11
columns:
	CBZ  R6, done
	// w, d, u and x from column R11 (bytes) on; r, t; rows.
	MOVD w_base+0(FP), R0
	MOVD d_base+24(FP), R1
	MOVD u_base+80(FP), R2
	MOVD x_base+144(FP), R3
	MOVD r_base+56(FP), R4
	MOVD t_base+112(FP), R5
	MOVD r_len+64(FP), R7
	ADD  R11, R0
	ADD  R11, R1
	ADD  R11, R2
	ADD  R11, R3
	MOVD mu_base+176(FP), R14
	ADD  R11, R14
	MOVD sr_base+200(FP), R19
	MOVD st_base+224(FP), R15
	ADD  R11, R19
	ADD  R11, R15
	CMP  $4, R6
	BLT  one
	CMP  $16, R6
	BLT  four
	FMOVQ (R14), F16
	FMOVQ 16(R14), F17
	FMOVQ 32(R14), F18
	FMOVQ 48(R14), F19
	CBZ  R12, sixteenonlytest
	FMOVQ (R19), F20
	FMOVQ 16(R19), F21
	FMOVQ 32(R19), F22
	FMOVQ 48(R19), F23
	FMOVQ (R15), F24
	FMOVQ 16(R15), F25
	FMOVQ 32(R15), F26
	FMOVQ 48(R15), F27
	B    sixteentest
sixteenrow:
	FMOVQ (R3), F0
	VFSUB4S(16, 0, 0)
	FMOVQ F0, (R1)
	FMOVQ 16(R3), F1
	VFSUB4S(17, 1, 1)
	FMOVQ F1, 16(R1)
	FMOVQ 32(R3), F2
	VFSUB4S(18, 2, 2)
	FMOVQ F2, 32(R1)
	FMOVQ 48(R3), F3
	VFSUB4S(19, 3, 3)
	FMOVQ F3, 48(R1)
	SKIPZERO(R4, sixteenzero)
	SCALARS
	FMOVQ (R2), F4
	VFMLS V12.S4, V4.S4, V20.S4
	VFMLS V11.S4, V0.S4, V24.S4
	VFMUL4S(14, 4, 4)
	VFMLS V13.S4, V0.S4, V4.S4
	FMOVQ F4, (R0)
	FMOVQ 16(R2), F5
	VFMLS V12.S4, V5.S4, V21.S4
	VFMLS V11.S4, V1.S4, V25.S4
	VFMUL4S(14, 5, 5)
	VFMLS V13.S4, V1.S4, V5.S4
	FMOVQ F5, 16(R0)
	FMOVQ 32(R2), F6
	VFMLS V12.S4, V6.S4, V22.S4
	VFMLS V11.S4, V2.S4, V26.S4
	VFMUL4S(14, 6, 6)
	VFMLS V13.S4, V2.S4, V6.S4
	FMOVQ F6, 32(R0)
	FMOVQ 48(R2), F7
	VFMLS V12.S4, V7.S4, V23.S4
	VFMLS V11.S4, V3.S4, V27.S4
	VFMUL4S(14, 7, 7)
	VFMLS V13.S4, V3.S4, V7.S4
	FMOVQ F7, 48(R0)
	B    sixteennextrow
sixteenzero:
	FMOVQ F9, (R0)
	FMOVQ F9, 16(R0)
	FMOVQ F9, 32(R0)
	FMOVQ F9, 48(R0)
sixteennextrow:
	NEXTROW
sixteentest:
	SUBS $1, R7
	BGE  sixteenrow
	FMOVQ F20, (R19)
	FMOVQ F21, 16(R19)
	FMOVQ F22, 32(R19)
	FMOVQ F23, 48(R19)
	FMOVQ F24, (R15)
	FMOVQ F25, 16(R15)
	FMOVQ F26, 32(R15)
	FMOVQ F27, 48(R15)
	B    sixteendone
sixteenonlyrow:
	SKIPZERO(R4, sixteenonlyzero)
	SCALARS
	FMOVQ (R3), F0
	VFSUB4S(16, 0, 0)
	FMOVQ (R2), F4
	VFMUL4S(14, 4, 4)
	VFMLS V13.S4, V0.S4, V4.S4
	FMOVQ F4, (R0)
	FMOVQ 16(R3), F1
	VFSUB4S(17, 1, 1)
	FMOVQ 16(R2), F5
	VFMUL4S(14, 5, 5)
	VFMLS V13.S4, V1.S4, V5.S4
	FMOVQ F5, 16(R0)
	FMOVQ 32(R3), F2
	VFSUB4S(18, 2, 2)
	FMOVQ 32(R2), F6
	VFMUL4S(14, 6, 6)
	VFMLS V13.S4, V2.S4, V6.S4
	FMOVQ F6, 32(R0)
	FMOVQ 48(R3), F3
	VFSUB4S(19, 3, 3)
	FMOVQ 48(R2), F7
	VFMUL4S(14, 7, 7)
	VFMLS V13.S4, V3.S4, V7.S4
	FMOVQ F7, 48(R0)
	B    sixteenonlynext
sixteenonlyzero:
	FMOVQ F9, (R0)
	FMOVQ F9, 16(R0)
	FMOVQ F9, 32(R0)
	FMOVQ F9, 48(R0)
sixteenonlynext:
	NEXTROW
sixteenonlytest:
	SUBS $1, R7
	BGE  sixteenonlyrow
sixteendone:
	ADD  $64, R11
	SUB  $16, R6
	B    columns

four:
	PULLFEW(FMOVQ, fourrow, fourzero, fournextrow, fourtest, fouronlyrow, fouronlyzero, fouronlynext, fouronlytest, fourdone)
	ADD  $16, R11
	SUB  $4, R6
	B    columns

one:
	PULLFEW(FMOVS, onerow, onezero, onenextrow, onetest, oneonlyrow, oneonlyzero, oneonlynext, oneonlytest, onedone)
	ADD  $4, R11
	SUB  $1, R6
	B    columns
done:
	RET

#define LOAD4(p, f) FMOVQ (p), f
#define STORE4(f, p) FMOVQ f, (p)
#define LOAD1(p, f) FMOVS (p), f
#define STORE_1(f, p) FMOVS f, (p)

// Responsibilities of four rows or of one: q at R1 (R4 bytes from component to
// component, R5 components), c at R2, phi at R0. V27 holds the cut, V28 the largest l,
// V29 the sum, V30 zero, V31 -Inf.
#define MIXTURE(load, store, first, firsttest, second, secondtest, third, thirdtest) \
	VMOV  V31.B16, V28.B16       \
	MOVD  R1, R8                 \
	MOVD  R2, R9                 \
	MOVD  R5, R7                 \
	B     firsttest              \
first: \
	load(R8, F0)                 \
	VLD1R.P 4(R9), [V1.S4]       \
	VFMLS V21.S4, V0.S4, V1.S4   \ // l = c - q/2
	store(F1, R8)                \
	VFCMGT4S(28, 1, 2)           \
	VBIT  V2.B16, V1.B16, V28.B16 \ // l > m ? l : m
	ADD   R4, R8                 \
firsttest: \
	SUBS  $1, R7                 \
	BGE   first                  \
	VMOVI $0, V29.B16            \
	MOVD  R1, R8                 \
	MOVD  R5, R7                 \
	B     secondtest             \
second: \
	load(R8, F0)                 \
	VFSUB4S(28, 0, 0)            \
	VFCMGT4S(0, 27, 5)           \ // below the cut
	EXP                          \
	VBIT  V5.B16, V30.B16, V0.B16 \
	store(F0, R8)                \
	VFADD4S(0, 29, 29)           \
	ADD   R4, R8                 \
secondtest: \
	SUBS  $1, R7                 \
	BGE   second                 \
	VMOV  V29.B16, V0.B16        \
	VMOVI $0, V4.B16             \
	LOG                          \
	VFCMEQ4S(29, 29, 1)          \
	VBIF  V1.B16, V29.B16, V0.B16 \ // NaN stays NaN
	VFADD4S(28, 0, 0)            \
	store(F0, R0)                \
	MOVD  R1, R8                 \
	MOVD  R5, R7                 \
	B     thirdtest              \
third: \
	load(R8, F0)                 \
	VFDIV4S(29, 0, 0)            \
	store(F0, R8)                \
	ADD   R4, R8                 \
thirdtest: \
	SUBS  $1, R7                 \
	BGE   third

DATA mixlimit<>+0(SB)/4, $0xc1a65af6 // V27: -30 ln 2: below it a responsibility is 0
DATA mixlimit<>+4(SB)/4, $0xff800000 // V31: -Inf
GLOBL mixlimit<>(SB), RODATA|NOPTR, $8

// func mixtureNEON(q []float32, ld int, c, phi []float32)
TEXT ·mixtureNEON(SB), NOSPLIT, $0-80
	MOVD    q_base+0(FP), R1
	MOVD    ld+24(FP), R4
	MOVD    c_base+32(FP), R2
	MOVD    c_len+40(FP), R5
	MOVD    phi_base+56(FP), R0
	MOVD    phi_len+64(FP), R6
	LSL     $2, R4, R4
	EXPCONSTANTS
	LOGCONSTANTS
	MOVD    $mixlimit<>(SB), R9
	VLD1R.P 4(R9), [V27.S4]
	VLD1R   (R9), [V31.S4]
	VMOVI   $0, V30.B16
	B       fourtest
four:
	MIXTURE(LOAD4, STORE4, f1, f1t, f2, f2t, f3, f3t)
	ADD     $16, R1
	ADD     $16, R0
fourtest:
	SUBS    $4, R6
	BGE     four
	ADD     $4, R6
	B       onetest
one:
	MIXTURE(LOAD1, STORE_1, o1, o1t, o2, o2t, o3, o3t)
	ADD     $4, R1
	ADD     $4, R0
onetest:
	SUBS    $1, R6
	BGE     one
	RET

// The backward pass of the responsibilities of four rows or of one: r at R1, s at R2
// (both R4 bytes from component to component, R5 components), their sum at R0, which
// is kept in V6. V30 holds zero.
#define RESPONSIBILITY(load, store, first, firsttest, second, secondtest) \
	VMOVI $0, V6.B16             \
	MOVD  R1, R8                 \
	MOVD  R2, R9                 \
	MOVD  R5, R7                 \
	B     firsttest              \
first: \
	load(R8, F0)                 \
	load(R9, F1)                 \
	VFCMEQZ4S(0, 2)              \ // r == 0
	VMOV  V6.B16, V3.B16         \
	VFMLA V0.S4, V1.S4, V3.S4    \
	VBIF  V2.B16, V3.B16, V6.B16 \
	ADD   R4, R8                 \
	ADD   R4, R9                 \
firsttest: \
	SUBS  $1, R7                 \
	BGE   first                  \
	store(F6, R0)                \
	MOVD  R1, R8                 \
	MOVD  R2, R9                 \
	MOVD  R5, R7                 \
	B     secondtest             \
second: \
	load(R8, F0)                 \
	load(R9, F1)                 \
	VFCMEQZ4S(0, 2)              \
	VFSUB4S(6, 1, 1)             \
	VFMUL4S(1, 0, 0)             \
	VBIT  V2.B16, V30.B16, V0.B16 \
	store(F0, R9)                \
	ADD   R4, R8                 \
	ADD   R4, R9                 \
secondtest: \
	SUBS  $1, R7                 \
	BGE   second

// func responsibilityBackwardNEON(r, s []float32, ld int, sum []float32, k int)
TEXT ·responsibilityBackwardNEON(SB), NOSPLIT, $0-88
	MOVD  r_base+0(FP), R1
	MOVD  s_base+24(FP), R2
	MOVD  ld+48(FP), R4
	MOVD  sum_base+56(FP), R0
	MOVD  sum_len+64(FP), R6
	MOVD  k+80(FP), R5
	LSL   $2, R4, R4
	VMOVI $0, V30.B16
	B     fourtest
four:
	RESPONSIBILITY(LOAD4, STORE4, f1, f1t, f2, f2t)
	ADD   $16, R0
	ADD   $16, R1
	ADD   $16, R2
fourtest:
	SUBS  $4, R6
	BGE   four
	ADD   $4, R6
	B     onetest
one:
	RESPONSIBILITY(LOAD1, STORE_1, o1, o1t, o2, o2t)
	ADD   $4, R0
	ADD   $4, R1
	ADD   $4, R2
onetest:
	SUBS  $1, R6
	BGE   one
	RET

// ---------------------------------------------------------------------------------
// pause

// func pause(n int)
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R7
loop:
	YIELD
	SUBS $1, R7
	BGT  loop
	RET

// ---------------------------------------------------------------------------------
// additions

#define ADD8 \
	ADD R1, R0 \
	ADD R1, R0 \
	ADD R1, R0 \
	ADD R1, R0 \
	ADD R1, R0 \
	ADD R1, R0 \
	ADD R1, R0 \
	ADD R1, R0

// The counting of the loop runs beside the chain.
//
// func additions(rounds int)
TEXT ·additions(SB), NOSPLIT, $0-8
	MOVD rounds+0(FP), R7
	MOVD R7, R0
	MOVD R7, R1
	B    test
loop:
	ADD8
	ADD8
	ADD8
	ADD8
	ADD8
	ADD8
	ADD8
	ADD8
test:
	SUBS $1, R7
	BGE  loop
	RET
