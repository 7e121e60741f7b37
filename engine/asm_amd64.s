//go:build amd64 && !purego && !noasm

#include "few_amd64.h"
#include "go_asm.h"
#include "panels_amd64.h"
#include "textflag.h"
#include "triangle_amd64.h"

// Register use in this file: AX..DX, SI, DI, R8..R13 and R15 are free; R14 (the
// goroutine) and SP are left alone. Every function ends with VZEROUPPER: without it
// the scalar SSE code of Go that runs next is 1.5 to 1.8 times slower.

// ---------------------------------------------------------------------------------
// sgemmAVX2_6x16

// One row of the tile at one inner index: broadcast an element of A, multiply it with
// 16 elements of B (Y0, Y1), add to the row's two accumulators.
#define ROW(a, c0, c1) \
	VBROADCASTSS a, Y2      \
	VFMADD231PS  Y0, Y2, c0 \
	VFMADD231PS  Y1, Y2, c1

// Inner index n from where R8 and BX are, in rows of A and B that are s and 64 bytes apart from
// one inner index to the next if n is not 0.
#define STEP1(n, s) \
	VMOVUPS (64*n)(BX), Y0    \
	VMOVUPS (64*n+32)(BX), Y1 \
	ROW((s*n)(R8), Y4, Y5)

#define STEP2(n, s) STEP1(n, s) \
	ROW((s*n)(R8)(R10*1), Y6, Y7)

#define STEP3(n, s) STEP2(n, s) \
	ROW((s*n)(R8)(R10*2), Y8, Y9)

#define STEP4(n, s) STEP3(n, s) \
	ROW((s*n)(R9), Y10, Y11)

#define STEP5(n, s) STEP4(n, s) \
	ROW((s*n)(R9)(R10*1), Y12, Y13)

#define STEP6(n, s) STEP5(n, s) \
	ROW((s*n)(R9)(R10*2), Y14, Y15)

// STEP5 and STEP6 without rows 0 to 2.
#define LATE5(n, s) \
	VMOVUPS (64*n)(BX), Y0    \
	VMOVUPS (64*n+32)(BX), Y1 \
	ROW((s*n)(R9), Y10, Y11)  \
	ROW((s*n)(R9)(R10*1), Y12, Y13)

#define LATE6(n, s) LATE5(n, s) \
	ROW((s*n)(R9)(R10*2), Y14, Y15)

#define NEXT \
	ADDQ R11, R8 \
	ADDQ R11, R9 \
	ADDQ R12, BX

// Every four inner indices fetch a line of the panel of B that comes next: R15 walks along it in
// steps of DX, which is 0 where there is nothing to fetch.
#define FETCH \
	PREFETCHT1 (R15) \
	ADDQ DX, R15

// The loop over the inner index, four at a time, then one at a time.
#define LOOP(step, four, fourtest, one, onetest, done) \
	JMP   fourtest \
four: \
	FETCH      \
	step(0, 0) \
	NEXT  \
	step(0, 0) \
	NEXT  \
	step(0, 0) \
	NEXT  \
	step(0, 0) \
	NEXT  \
fourtest: \
	SUBQ  $4, CX   \
	JGE   four     \
	ADDQ  $4, CX   \
	JMP   onetest  \
one: \
	step(0, 0) \
	NEXT  \
onetest: \
	SUBQ  $1, CX   \
	JGE   one      \
	JMP   done

// AHEAD has B near when it is needed, ten lines on: on Zen 3 a hundredth of a product whose panels
// stream from the second-level cache. NEAR is for panels that stay in the first one.
#define AHEAD(n) PREFETCHT0 (64*n+640)(BX)
#define NEAR(n)

// Eight inner indices that are s bytes apart in A and 64 in B, without counting on in between,
// which saves an eighth of the instructions. LASTFIVE follows where the first three are done.
#define EIGHT(step, s, ahead) \
	FETCH      \
	ahead(0)   \
	step(0, s) \
	ahead(1)   \
	step(1, s) \
	ahead(2)   \
	step(2, s) \
	LASTFIVE(step, s, ahead)

#define LASTFIVE(step, s, ahead) \
	ahead(3)   \
	step(3, s) \
	FETCH      \
	ahead(4)   \
	step(4, s) \
	ahead(5)   \
	step(5, s) \
	ahead(6)   \
	step(6, s) \
	ahead(7)   \
	step(7, s) \
	ADDQ $(8*s), R8 \
	ADDQ $(8*s), R9 \
	ADDQ $512, BX

// LOOP for such inner indices: the first ones eight at a time.
#define DENSELOOP(step, s, eight, eighttest, fourtest) \
	JMP   eighttest \
eight: \
	EIGHT(step, s, NEAR) \
eighttest: \
	SUBQ  $8, CX   \
	JGE   eight    \
	ADDQ  $8, CX   \
	JMP   fourtest

// DENSELOOP for five or six rows of at least eight inner indices, of which rows 0 to 2 have had
// the first three.
#define LATELOOP(step, late, s, ahead, eight, eighttest, one, onetest) \
	late(0, s) \
	late(1, s) \
	late(2, s) \
	FETCH      \
	LASTFIVE(step, s, ahead) \
	SUBQ $8, CX   \
	JMP  eighttest \
eight: \
	EIGHT(step, s, ahead) \
eighttest: \
	SUBQ $8, CX    \
	JGE  eight     \
	ADDQ $8, CX    \
	JMP  onetest   \
one: \
	step(0, s)   \
	ADDQ $s, R8  \
	ADDQ $s, R9  \
	ADDQ $64, BX \
onetest: \
	SUBQ $1, CX  \
	JGE  one     \
	JMP  store3

// All accumulators of a tile: empty, loaded and stored. R13 is the distance of rows of C, DI
// row 0, SI row 3, AX their number.
#define ZEROS ZEROS3 \
	ZEROSLATE

#define ZEROSLATE \
	VXORPS Y10, Y10, Y10 \
	VXORPS Y11, Y11, Y11 \
	VXORPS Y12, Y12, Y12 \
	VXORPS Y13, Y13, Y13 \
	VXORPS Y14, Y14, Y14 \
	VXORPS Y15, Y15, Y15

#define ZEROS3 \
	VXORPS Y4, Y4, Y4 \
	VXORPS Y5, Y5, Y5 \
	VXORPS Y6, Y6, Y6 \
	VXORPS Y7, Y7, Y7 \
	VXORPS Y8, Y8, Y8 \
	VXORPS Y9, Y9, Y9

#define OLDS(start) \
	VMOVUPS (DI), Y4 \
	VMOVUPS 32(DI), Y5 \
	CMPQ AX, $2 \
	JLT  start \
	VMOVUPS (DI)(R13*1), Y6 \
	VMOVUPS 32(DI)(R13*1), Y7 \
	JEQ  start \
	VMOVUPS (DI)(R13*2), Y8 \
	VMOVUPS 32(DI)(R13*2), Y9 \
	CMPQ AX, $4 \
	JLT  start \
	VMOVUPS (SI), Y10 \
	VMOVUPS 32(SI), Y11 \
	JEQ  start \
	VMOVUPS (SI)(R13*1), Y12 \
	VMOVUPS 32(SI)(R13*1), Y13 \
	CMPQ AX, $6 \
	JLT  start \
	VMOVUPS (SI)(R13*2), Y14 \
	VMOVUPS 32(SI)(R13*2), Y15

// STORE3 stores rows 0 to 2, which are s bytes apart from p on, STORELATE those from 3 on of a tile
// of five or six rows. Of twelve stores in a row, those after the sixth hold up what is behind them
// (on Zen 3, 25 cycles in all): other work comes between the two.
#define STORE3(p, s) \
	VMOVUPS Y4, (p)       \
	VMOVUPS Y5, 32(p)     \
	VMOVUPS Y6, (p)(s*1)  \
	VMOVUPS Y7, 32(p)(s*1) \
	VMOVUPS Y8, (p)(s*2)  \
	VMOVUPS Y9, 32(p)(s*2)

#define STORELATE(p, s, rows, done) \
	VMOVUPS Y10, (p)       \
	VMOVUPS Y11, 32(p)     \
	VMOVUPS Y12, (p)(s*1)  \
	VMOVUPS Y13, 32(p)(s*1) \
	CMPQ    rows, $6       \
	JLT     done           \
	VMOVUPS Y14, (p)(s*2)  \
	VMOVUPS Y15, 32(p)(s*2)

#define OLDS3(p, s) \
	VMOVUPS (p), Y4       \
	VMOVUPS 32(p), Y5     \
	VMOVUPS (p)(s*1), Y6  \
	VMOVUPS 32(p)(s*1), Y7 \
	VMOVUPS (p)(s*2), Y8  \
	VMOVUPS 32(p)(s*2), Y9

#define OLDSLATE(p, s, rows, done) \
	VMOVUPS (p), Y10       \
	VMOVUPS 32(p), Y11     \
	VMOVUPS (p)(s*1), Y12  \
	VMOVUPS 32(p)(s*1), Y13 \
	CMPQ    rows, $6       \
	JLT     done           \
	VMOVUPS (p)(s*2), Y14  \
	VMOVUPS 32(p)(s*2), Y15

#define STORES \
	VMOVUPS Y4, (DI) \
	VMOVUPS Y5, 32(DI) \
	CMPQ AX, $2 \
	JLT  done \
	VMOVUPS Y6, (DI)(R13*1) \
	VMOVUPS Y7, 32(DI)(R13*1) \
	JEQ  done \
	VMOVUPS Y8, (DI)(R13*2) \
	VMOVUPS Y9, 32(DI)(R13*2) \
	CMPQ AX, $4 \
	JLT  done \
	VMOVUPS Y10, (SI) \
	VMOVUPS Y11, 32(SI) \
	JEQ  done \
	VMOVUPS Y12, (SI)(R13*1) \
	VMOVUPS Y13, 32(SI)(R13*1) \
	CMPQ AX, $6 \
	JLT  done \
	VMOVUPS Y14, (SI)(R13*2) \
	VMOVUPS Y15, 32(SI)(R13*2)

// func sgemmAVX2_6x16(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, tiles, rows, longer int, acc bool, next []float32, step, panels int)
TEXT ·sgemmAVX2_6x16(SB), NOSPLIT, $32-192
	MOVQ ars+32(FP), R10
	MOVQ acs+40(FP), R11
	MOVQ brs+80(FP), R12
	MOVQ crs+112(FP), R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	SHLQ $2, R13
	CMPQ R12, $64
	JNE  panel
	CMPQ k+0(FP), $8
	JLT  panel
	CMPQ rows+128(FP), $5
	JLT  panel
	CMPQ R11, $4
	JEQ  dense
	CMPQ R11, $32
	JEQ  dense
	CMPQ R11, $64
	JEQ  dense
panel:
	PANELBEGIN(a_base+8(FP), c_base+88(FP), tiles+120(FP), longer+136(FP), next_base+152(FP))
tile:
	MOVQ k+0(FP), CX
	MOVQ aHere-8(SP), R8
	MOVQ b_base+56(FP), BX
	MOVQ cHere-16(SP), DI
	MOVQ rows+128(FP), AX
	CMPQ longerLeft-32(SP), $0
	JLE  even
	SUBQ $1, longerLeft-32(SP)
	ADDQ $1, AX              // the first tiles have one row more
even:
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9             // R9: row 3 of A
	LEAQ (DI)(R13*2), SI
	ADDQ R13, SI             // SI: row 3 of C
	CMPB acc+144(FP), $0
	JNE  olds
	ZEROS
	JMP  start

	// The chains go on from the old values of C.
olds:
	OLDS(start)

start:
	MOVQ step+176(FP), DX
	CMPQ R12, $64
	JNE  strided
	CMPQ R11, $4
	JEQ  beside
strided:
	CMPQ AX, $6
	JEQ  rows6
	CMPQ AX, $5
	JEQ  rows5
	CMPQ AX, $4
	JEQ  rows4
	CMPQ AX, $3
	JEQ  rows3
	CMPQ AX, $2
	JEQ  rows2
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

	// Few rows of A beside each other.
beside:
	CMPQ AX, $4
	JGT  strided
	JEQ  beside4
	CMPQ AX, $2
	JGT  beside3
	JEQ  beside2
	DENSELOOP(STEP1, 4, beside1eight, beside1test, fourtest1)
beside2:
	DENSELOOP(STEP2, 4, beside2eight, beside2test, fourtest2)
beside3:
	DENSELOOP(STEP3, 4, beside3eight, beside3test, fourtest3)
beside4:
	DENSELOOP(STEP4, 4, beside4eight, beside4test, fourtest4)

store:
	STORES
done:
	MOVQ AX, CX
	IMULQ R13, CX
	ADDQ CX, cHere-16(SP)
	MOVQ strip+48(FP), CX
	SHLQ $2, CX
	JNE  strips
	MOVQ AX, CX
	IMULQ R10, CX
strips:
	ADDQ CX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  tile
	PANELNEXT(k+0(FP), b_base+56(FP), c_base+88(FP), next_base+152(FP), panels+184(FP), 6, panel, end)

	// Tiles of five and six rows, of rows of A beside each other, in strips or in panels. The rows
	// from 3 on are stored after the first three inner indices of rows 0 to 2 of the next tile, which
	// may be that of the panel beside it.
dense:
	XORQ R12, R12            // R12: row 3 of the tile before, where AX rows less 3 are not stored, or 0
densePanel:
	PANELBEGIN(a_base+8(FP), c_base+88(FP), tiles+120(FP), longer+136(FP), next_base+152(FP))
denseTile:
	MOVQ k+0(FP), CX
	MOVQ aHere-8(SP), R8
	MOVQ b_base+56(FP), BX
	MOVQ cHere-16(SP), DI
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9             // R9: row 3 of A
	LEAQ (DI)(R13*2), SI
	ADDQ R13, SI             // SI: row 3 of C
	CMPB acc+144(FP), $0
	JNE  olds3
	ZEROS3
	JMP  first3
olds3:
	OLDS3(DI, R13)
first3:
	CMPQ R11, $32
	JEQ  firstStrip
	JGT  firstPanel
	STEP3(0, 4)
	STEP3(1, 4)
	STEP3(2, 4)
	JMP  above
firstStrip:
	STEP3(0, 32)
	STEP3(1, 32)
	STEP3(2, 32)
	JMP  above
firstPanel:
	STEP3(0, 64)
	STEP3(1, 64)
	STEP3(2, 64)
above:
	TESTQ R12, R12
	JEQ  late
	STORELATE(R12, R13, AX, late)
late:
	MOVQ SI, R12
	MOVQ rows+128(FP), AX
	CMPQ longerLeft-32(SP), $0
	JLE  evenLate
	SUBQ $1, longerLeft-32(SP)
	ADDQ $1, AX              // the first tiles have one row more
evenLate:
	CMPB acc+144(FP), $0
	JNE  oldsLate
	ZEROSLATE
	JMP  startLate
oldsLate:
	OLDSLATE(SI, R13, AX, belowLate)
belowLate:                       // old values of the tile below are fetched
	LEAQ (SI)(R13*2), DX     // row 5; with six rows the tile below begins one further on
	PREFETCHT0 (DX)(R13*1)
	PREFETCHT0 60(DX)(R13*1)
	PREFETCHT0 (DX)(R13*2)
	PREFETCHT0 60(DX)(R13*2)
	LEAQ (DX)(R13*2), DX
	PREFETCHT0 (DX)(R13*1)
	PREFETCHT0 60(DX)(R13*1)
	PREFETCHT0 (DX)(R13*2)
	PREFETCHT0 60(DX)(R13*2)
	LEAQ (DX)(R13*2), DX
	PREFETCHT0 (DX)(R13*1)
	PREFETCHT0 60(DX)(R13*1)
	PREFETCHT0 (DX)(R13*2)
	PREFETCHT0 60(DX)(R13*2)
startLate:
	MOVQ step+176(FP), DX
	CMPQ AX, $6
	JNE  late5
	CMPQ R11, $32
	JEQ  strip6
	JGT  panel6
	LATELOOP(STEP6, LATE6, 4, AHEAD, beside6eight, beside6test, beside6one, beside6onetest)
strip6:
	LATELOOP(STEP6, LATE6, 32, AHEAD, strip6eight, strip6test, strip6one, strip6onetest)
panel6:
	LATELOOP(STEP6, LATE6, 64, AHEAD, panel6eight, panel6test, panel6one, panel6onetest)
late5:
	CMPQ R11, $32
	JEQ  strip5
	JGT  panel5
	LATELOOP(STEP5, LATE5, 4, AHEAD, beside5eight, beside5test, beside5one, beside5onetest)
strip5:
	LATELOOP(STEP5, LATE5, 32, AHEAD, strip5eight, strip5test, strip5one, strip5onetest)
panel5:
	LATELOOP(STEP5, LATE5, 64, AHEAD, panel5eight, panel5test, panel5one, panel5onetest)

store3:
	STORE3(DI, R13)
	MOVQ AX, CX
	IMULQ R13, CX
	ADDQ CX, cHere-16(SP)
	MOVQ strip+48(FP), CX
	SHLQ $2, CX
	JNE  stripsLate
	MOVQ AX, CX
	IMULQ R10, CX
stripsLate:
	ADDQ CX, aHere-8(SP)
	SUBQ $1, tilesLeft-24(SP)
	JNE  denseTile
	PANELNEXT(k+0(FP), b_base+56(FP), c_base+88(FP), next_base+152(FP), panels+184(FP), 6, densePanel, last)
last:
	STORELATE(R12, R13, AX, end)
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// sgemmAtAVX2_6x16

// The loop over the inner index with rows of B anywhere: R12 walks along their places,
// R15 is the begin of B.
#define LOOPAT(step, one, test) \
	JMP  test \
one: \
	MOVLQSX (R12), BX   \
	ADDQ $4, R12        \
	LEAQ (R15)(BX*4), BX \
	step(0, 0)            \
	ADDQ R11, R8        \
	ADDQ R11, R9        \
test: \
	SUBQ $1, CX         \
	JGE  one            \
	JMP  store

// The arguments a, c, tiles and longer are counted on from tile to tile.
//
// func sgemmAtAVX2_6x16(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, longer int, acc bool)
TEXT ·sgemmAtAVX2_6x16(SB), NOSPLIT, $0-153
	MOVQ ars+32(FP), R10
	MOVQ acs+40(FP), R11
	MOVQ b_base+48(FP), R15
	MOVQ crs+120(FP), R13
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R13
tile:
	MOVQ k+0(FP), CX
	MOVQ a_base+8(FP), R8
	MOVQ at_base+72(FP), R12
	MOVQ c_base+96(FP), DI
	MOVQ rows+136(FP), AX
	CMPQ longer+144(FP), $0
	JLE  even
	SUBQ $1, longer+144(FP)
	ADDQ $1, AX              // the first tiles have one row more
even:
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9             // R9: row 3 of A
	LEAQ (DI)(R13*2), SI
	ADDQ R13, SI             // SI: row 3 of C
	CMPB acc+152(FP), $0
	JNE  olds
	ZEROS
	JMP  start
olds:
	OLDS(start)
start:
	CMPQ AX, $6
	JEQ  rows6
	CMPQ AX, $5
	JEQ  rows5
	CMPQ AX, $4
	JEQ  rows4
	CMPQ AX, $3
	JEQ  rows3
	CMPQ AX, $2
	JEQ  rows2
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
	MOVQ AX, CX
	IMULQ R13, CX
	ADDQ CX, c_base+96(FP)
	MOVQ AX, CX
	IMULQ R10, CX
	ADDQ CX, a_base+8(FP)
	SUBQ $1, tiles+128(FP)
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// fmaPeakAVX2

#define PEAK6(a, b, c, d, e, f) \
	VFMADD231PS Y0, Y1, a \
	VFMADD231PS Y0, Y1, b \
	VFMADD231PS Y0, Y1, c \
	VFMADD231PS Y0, Y1, d \
	VFMADD231PS Y0, Y1, e \
	VFMADD231PS Y0, Y1, f

// func fmaPeakAVX2(rounds int)
TEXT ·fmaPeakAVX2(SB), NOSPLIT, $0-8
	MOVQ rounds+0(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15
	TESTQ CX, CX
	JLE  done
loop:
	PEAK6(Y4, Y5, Y6, Y7, Y8, Y9)
	PEAK6(Y10, Y11, Y12, Y13, Y14, Y15)
	PEAK6(Y4, Y5, Y6, Y7, Y8, Y9)
	PEAK6(Y10, Y11, Y12, Y13, Y14, Y15)
	DECQ CX
	JNE  loop
done:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Streams of memory traffic

// STREAM makes R9 passes over R13 floats of x (at R10), y (R11) and dst (R12), or those
// of them that there are: 64 floats at a time, then 8, then 1. The macro v handles 8 at an
// offset of SI (x), DX (y) and DI (dst), in the register given, v1 handles one. The
// addresses have no index, with which many Intel cores would take each load apart from the
// operation that uses it.
#define STREAM(v, v1, pass, block, blocktest, vector, vectortest, one, onetest, next) \
	JMP   next       \
pass: \
	MOVQ  R10, SI    \
	MOVQ  R11, DX    \
	MOVQ  R12, DI    \
	MOVQ  R13, CX    \
	JMP   blocktest  \
block: \
	v(0, Y0)         \
	v(32, Y1)        \
	v(64, Y2)        \
	v(96, Y3)        \
	v(128, Y4)       \
	v(160, Y5)       \
	v(192, Y6)       \
	v(224, Y7)       \
	ADDQ  $256, SI   \
	ADDQ  $256, DX   \
	ADDQ  $256, DI   \
blocktest: \
	SUBQ  $64, CX    \
	JGE   block      \
	ADDQ  $64, CX    \
	JMP   vectortest \
vector: \
	v(0, Y0)         \
	ADDQ  $32, SI    \
	ADDQ  $32, DX    \
	ADDQ  $32, DI    \
vectortest: \
	SUBQ  $8, CX     \
	JGE   vector     \
	ADDQ  $8, CX     \
	JMP   onetest    \
one: \
	v1               \
	ADDQ  $4, SI     \
	ADDQ  $4, DX     \
	ADDQ  $4, DI     \
onetest: \
	SUBQ  $1, CX     \
	JGE   one        \
next: \
	SUBQ  $1, R9     \
	JGE   pass

#define LOAD(off, y) VMOVUPS off(SI), y
#define LOAD1 VMOVSS (SI), X0
#define READ(off, y) VPOR off(SI), y, y
#define READ1 \
	VMOVSS (SI), X8  \
	VPOR   Y8, Y0, Y0

// All passes but the last are loads and nothing else: what is done with the values, too,
// would need units that the loop does not leave free.
//
// func readAVX2(x []float32, rounds int) uint32
TEXT ·readAVX2(SB), NOSPLIT, $0-36
	MOVQ x_base+0(FP), R10
	MOVQ x_len+8(FP), R13
	MOVQ rounds+24(FP), R9
	SUBQ $1, R9
	STREAM(LOAD, LOAD1, loadpass, loadblock, loadblocktest, loadvector, loadvectortest, loadone, loadonetest, loadnext)
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	XORQ R9, R9
	CMPQ rounds+24(FP), $0
	SETGT R9
	STREAM(READ, READ1, pass, block, blocktest, vector, vectortest, one, onetest, next)
	VPOR Y1, Y0, Y0
	VPOR Y3, Y2, Y2
	VPOR Y5, Y4, Y4
	VPOR Y7, Y6, Y6
	VPOR Y2, Y0, Y0
	VPOR Y6, Y4, Y4
	VPOR Y4, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPOR X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPOR X1, X0, X0
	VPSRLDQ $4, X0, X1
	VPOR X1, X0, X0
	VMOVD X0, AX
	VZEROUPPER
	MOVL AX, ret+32(FP)
	RET

#define WRITE(off, y) VMOVUPS Y8, off(DI)
#define WRITE1 VMOVSS X8, (DI)

// func writeAVX2(dst []float32, a float32, rounds int)
TEXT ·writeAVX2(SB), NOSPLIT, $0-40
	MOVQ dst_base+0(FP), R12
	MOVQ dst_len+8(FP), R13
	VBROADCASTSS a+24(FP), Y8
	MOVQ rounds+32(FP), R9
	STREAM(WRITE, WRITE1, pass, block, blocktest, vector, vectortest, one, onetest, next)
	VZEROUPPER
	RET

#define TRIAD(off, y) \
	VMOVUPS     off(SI), y     \
	VFMADD231PS off(DX), Y8, y \
	VMOVUPS     y, off(DI)
#define TRIAD1 \
	VMOVSS      (SI), X0    \
	VMOVSS      (DX), X1    \
	VFMADD231SS X1, X8, X0  \
	VMOVSS      X0, (DI)

// func triadAVX2(a float32, dst, x, y []float32, rounds int)
TEXT ·triadAVX2(SB), NOSPLIT, $0-88
	VBROADCASTSS a+0(FP), Y8
	MOVQ dst_base+8(FP), R12
	MOVQ dst_len+16(FP), R13
	MOVQ x_base+32(FP), R10
	MOVQ y_base+56(FP), R11
	MOVQ rounds+80(FP), R9
	STREAM(TRIAD, TRIAD1, pass, block, blocktest, vector, vectortest, one, onetest, next)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Masked tails

// masks: eight all-ones words, then eight zeros. Thirty-two bytes at (8 - n)*4 select
// the first n of eight lanes.
DATA masks<>+0(SB)/8, $0xffffffffffffffff
DATA masks<>+8(SB)/8, $0xffffffffffffffff
DATA masks<>+16(SB)/8, $0xffffffffffffffff
DATA masks<>+24(SB)/8, $0xffffffffffffffff
DATA masks<>+32(SB)/8, $0
DATA masks<>+40(SB)/8, $0
DATA masks<>+48(SB)/8, $0
DATA masks<>+56(SB)/8, $0
GLOBL masks<>(SB), RODATA|NOPTR, $64

// VECTOR runs over CX elements: 16 at a time, then 8, then the masked rest. The
// macro's load, op and store read and write at base(AX*4); mload and mstore
// are the masked forms (mask in Y15). Uses AX, CX, R8, R9.
#define VECTOR(load, op, store, mload, mstore, l16, l8, tail, end) \
	XORQ AX, AX      \
l16: \
	LEAQ 16(AX), R8  \
	CMPQ R8, CX      \
	JGT  l8          \
	load(0)          \
	op               \
	store(0)         \
	load(32)         \
	op               \
	store(32)        \
	MOVQ R8, AX      \
	JMP  l16         \
l8: \
	LEAQ 8(AX), R8   \
	CMPQ R8, CX      \
	JGT  tail        \
	load(0)          \
	op               \
	store(0)         \
	MOVQ R8, AX      \
tail: \
	SUBQ AX, CX      \
	JEQ  end         \
	LEAQ masks<>+32(SB), R8 \
	SHLQ $2, CX      \
	SUBQ CX, R8      \
	VMOVUPS (R8), Y15 \
	mload            \
	op               \
	mstore           \
end:

// Operands: x at SI, y at DX, destination at DI; values in Y0 (x) and Y1 (y).
#define LOADX(off) VMOVUPS off(SI)(AX*4), Y0
#define LOADXY(off) \
	VMOVUPS off(SI)(AX*4), Y0 \
	VMOVUPS off(DX)(AX*4), Y1
#define STORE(off) VMOVUPS Y0, off(DI)(AX*4)
#define MLOADX VMASKMOVPS (SI)(AX*4), Y15, Y0
#define MLOADXY \
	VMASKMOVPS (SI)(AX*4), Y15, Y0 \
	VMASKMOVPS (DX)(AX*4), Y15, Y1
#define MSTORE VMASKMOVPS Y0, Y15, (DI)(AX*4)

// ---------------------------------------------------------------------------------
// Elementwise kernels

#define OPADD VADDPS Y1, Y0, Y0

// func addAVX2(dst, x, y []float32)
TEXT ·addAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADXY, OPADD, STORE, MLOADXY, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

#define OPMUL VMULPS Y1, Y0, Y0

// func multiplyAVX2(dst, x, y []float32)
TEXT ·multiplyAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADXY, OPMUL, STORE, MLOADXY, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

#define OPSUB VSUBPS Y1, Y0, Y0

// func subRowsAVX2(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)
TEXT ·subRowsAVX2(SB), NOSPLIT, $0-112
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R10
	MOVQ x_base+32(FP), SI
	MOVQ xs+56(FP), R11
	MOVQ y_base+64(FP), DX
	MOVQ ys+88(FP), R13
	MOVQ rows+96(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R13
	JMP  rowtest
row:
	MOVQ n+104(FP), CX
	VECTOR(LOADXY, OPSUB, STORE, MLOADXY, MSTORE, l16, l8, tail, end)
	ADDQ R10, DI
	ADDQ R11, SI
	ADDQ R13, DX
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

#define OPAXPY VFMADD231PS Y0, Y14, Y1
#define STOREY(off) VMOVUPS Y1, off(DX)(AX*4)
#define MSTOREY VMASKMOVPS Y1, Y15, (DX)(AX*4)

// func axpyAVX2(a float32, x, y []float32)
TEXT ·axpyAVX2(SB), NOSPLIT, $0-56
	VBROADCASTSS a+0(FP), Y14
	MOVQ x_base+8(FP), SI
	MOVQ y_base+32(FP), DX
	MOVQ y_len+40(FP), CX
	VECTOR(LOADXY, OPAXPY, STOREY, MLOADXY, MSTOREY, l16, l8, tail, end)
	VZEROUPPER
	RET

#define OPSCALE VMULPS Y14, Y0, Y0

// func scaleAVX2(dst []float32, a float32, x []float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	VBROADCASTSS a+24(FP), Y14
	MOVQ x_base+32(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPSCALE, STORE, MLOADX, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

#define OPSHIFT VADDPS Y14, Y0, Y0

// func shiftAVX2(dst []float32, a float32, x []float32)
TEXT ·shiftAVX2(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	VBROADCASTSS a+24(FP), Y14
	MOVQ x_base+32(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPSHIFT, STORE, MLOADX, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

// x > 0 ? x : +0, so that a NaN becomes +0: MAXPS gives its second source where the
// comparison is false.
#define OPRELU VMAXPS Y14, Y0, Y0

// func reluAVX2(dst, x []float32)
TEXT ·reluAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	VXORPS Y14, Y14, Y14
	VECTOR(LOADX, OPRELU, STORE, MLOADX, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

// x holds the layer's output, y the gradient: dst = x > 0 ? y : +0.
#define OPRELUBACK \
	VCMPPS $0x11, Y0, Y14, Y2 \
	VANDPS Y1, Y2, Y0

// func reluBackwardAVX2(dst, x, y []float32)
TEXT ·reluBackwardAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VXORPS Y14, Y14, Y14
	VECTOR(LOADXY, OPRELUBACK, STORE, MLOADXY, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

// x: normalised output, y: gradient. dst = rstd*(fma(-c2, x, y - c1)).
#define OPNORMBACK \
	VSUBPS       Y12, Y1, Y1 \
	VFNMADD231PS Y0, Y13, Y1 \
	VMULPS       Y14, Y1, Y0

// func normBackwardAVX2(dst, x, y []float32, c1, c2, rstd float32)
TEXT ·normBackwardAVX2(SB), NOSPLIT, $0-84
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	MOVQ dst_len+8(FP), CX
	VBROADCASTSS c1+72(FP), Y12
	VBROADCASTSS c2+76(FP), Y13
	VBROADCASTSS rstd+80(FP), Y14
	VECTOR(LOADXY, OPNORMBACK, STORE, MLOADXY, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// adamAVX2

// p at DI, g at SI, m at DX, v at BX. Coefficients: Y4 clip, Y5 beta1, Y6 1-beta1,
// Y7 beta2, Y8 1-beta2, Y9 step, Y10 rbc2, Y11 eps.
#define OPADAM \
	VMULPS       Y4, Y0, Y0   \ // g *= clip
	VMULPS       Y6, Y0, Y12  \
	VFMADD231PS  Y5, Y1, Y12  \ // m = fma(beta1, m, (1-beta1)*g)
	VMULPS       Y0, Y0, Y0   \
	VMULPS       Y8, Y0, Y0   \
	VFMADD231PS  Y7, Y2, Y0   \ // v = fma(beta2, v, (1-beta2)*(g*g))
	VSQRTPS      Y0, Y13      \
	VFMADD213PS  Y11, Y10, Y13 \ // fma(sqrt(v), rbc2, eps)
	VDIVPS       Y13, Y12, Y13 \
	VFNMADD231PS Y9, Y13, Y3    // p = fma(-step, m/den, p)
#define LOADADAM(off) \
	VMOVUPS off(SI)(AX*4), Y0 \
	VMOVUPS off(DX)(AX*4), Y1 \
	VMOVUPS off(BX)(AX*4), Y2 \
	VMOVUPS off(DI)(AX*4), Y3
#define STOREADAM(off) \
	VMOVUPS Y12, off(DX)(AX*4) \
	VMOVUPS Y0, off(BX)(AX*4)  \
	VMOVUPS Y3, off(DI)(AX*4)
#define MLOADADAM \
	VMASKMOVPS (SI)(AX*4), Y15, Y0 \
	VMASKMOVPS (DX)(AX*4), Y15, Y1 \
	VMASKMOVPS (BX)(AX*4), Y15, Y2 \
	VMASKMOVPS (DI)(AX*4), Y15, Y3
#define MSTOREADAM \
	VMASKMOVPS Y12, Y15, (DX)(AX*4) \
	VMASKMOVPS Y0, Y15, (BX)(AX*4)  \
	VMASKMOVPS Y3, Y15, (DI)(AX*4)

// func adamAVX2(p, g, m, v []float32, co *AdamCoefficients)
TEXT ·adamAVX2(SB), NOSPLIT, $0-104
	MOVQ p_base+0(FP), DI
	MOVQ g_base+24(FP), SI
	MOVQ m_base+48(FP), DX
	MOVQ v_base+72(FP), BX
	MOVQ p_len+8(FP), CX
	MOVQ co+96(FP), R10
	VBROADCASTSS 0(R10), Y4
	VBROADCASTSS 4(R10), Y5
	VBROADCASTSS 8(R10), Y6
	VBROADCASTSS 12(R10), Y7
	VBROADCASTSS 16(R10), Y8
	VBROADCASTSS 20(R10), Y9
	VBROADCASTSS 24(R10), Y10
	VBROADCASTSS 28(R10), Y11
	VECTOR(LOADADAM, OPADAM, STOREADAM, MLOADADAM, MSTOREADAM, l16, l8, tail, end)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Reductions: sixteen virtual lanes (Y4 holds 0 to 7, Y5 holds 8 to 15), combined 8
// apart, 4, 2, 1.

#define TREE \
	VADDPS       Y5, Y4, Y4 \
	VEXTRACTF128 $1, Y4, X5 \
	VADDPS       X5, X4, X4 \
	VMOVHLPS     X4, X4, X5 \
	VADDPS       X5, X4, X4 \
	VMOVSHDUP    X4, X5     \
	VADDSS       X5, X4, X4

// TREES stores the sums of four rows, in (Y4, Y5) to (Y10, Y11), and counts DI on.
#define TREES \
	TREE               \
	VMOVSS  X4, (DI)   \
	VMOVAPS Y6, Y4     \
	VMOVAPS Y7, Y5     \
	TREE               \
	VMOVSS  X4, 4(DI)  \
	VMOVAPS Y8, Y4     \
	VMOVAPS Y9, Y5     \
	TREE               \
	VMOVSS  X4, 8(DI)  \
	VMOVAPS Y10, Y4    \
	VMOVAPS Y11, Y5    \
	TREE               \
	VMOVSS  X4, 12(DI) \
	ADDQ    $16, DI

// TAILMASKS: CX (1 to 15) elements are left; Y14 and Y15 get the masks of lanes 0 to 7
// and 8 to 15. Changes R8, R9.
#define TAILMASKS(short) \
	LEAQ    masks<>+32(SB), R8 \
	XORQ    R9, R9             \
	CMPQ    CX, $8             \
	JLE     short              \
	LEAQ    -8(CX), R9         \
	MOVQ    $8, CX             \
short: \
	SHLQ    $2, CX             \
	SHLQ    $2, R9             \
	NEGQ    CX                 \
	NEGQ    R9                 \
	VMOVUPS (R8)(CX*1), Y14    \
	VMOVUPS (R8)(R9*1), Y15

// Sixteen products of a row of X and one of Y, and what is left of them, for the sum of a row in
// (a0, a1).
#define PRODUCTS(x, y, a0, a1) \
	VMOVUPS x, Y0            \
	VMOVUPS 32 x, Y1         \
	VFMADD231PS y, Y0, a0    \
	VFMADD231PS 32 y, Y1, a1
#define RESTPRODUCTS(x, y, a0, a1) \
	VMASKMOVPS x, Y14, Y0    \
	VMASKMOVPS y, Y14, Y1    \
	VFMADD231PS Y1, Y0, a0   \
	VMASKMOVPS 32 x, Y15, Y0 \
	VMASKMOVPS 32 y, Y15, Y1 \
	VFMADD231PS Y1, Y0, a1

// Four rows at a time, for the chains of one leave the multipliers idle; then row by row.
//
// func dotRowsAVX2(dst, x []float32, xs int, y []float32, ys, n int)
TEXT ·dotRowsAVX2(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ ys+80(FP), R11
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	JMP  fourtest
four:
	MOVQ n+88(FP), CX
	MOVQ SI, AX
	MOVQ DX, BX
	LEAQ (SI)(R10*2), R13
	ADDQ R10, R13            // row 3 of X
	LEAQ (DX)(R11*2), R15
	ADDQ R11, R15            // row 3 of Y
	ZEROS
	SUBQ $16, CX
	JLT  fourrest
fourblock:
	PRODUCTS((SI), (DX), Y4, Y5)
	PRODUCTS((SI)(R10*1), (DX)(R11*1), Y6, Y7)
	PRODUCTS((SI)(R10*2), (DX)(R11*2), Y8, Y9)
	PRODUCTS((R13), (R15), Y10, Y11)
	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, R13
	ADDQ $64, R15
	SUBQ $16, CX
	JGE  fourblock
fourrest:
	ADDQ $16, CX
	JEQ  fourtree
	TAILMASKS(fourshort)
	RESTPRODUCTS((SI), (DX), Y4, Y5)
	RESTPRODUCTS((SI)(R10*1), (DX)(R11*1), Y6, Y7)
	RESTPRODUCTS((SI)(R10*2), (DX)(R11*2), Y8, Y9)
	RESTPRODUCTS((R13), (R15), Y10, Y11)
fourtree:
	TREES
	LEAQ (AX)(R10*4), SI
	LEAQ (BX)(R11*4), DX
fourtest:
	SUBQ $4, R12
	JGE  four
	ADDQ $4, R12
	JMP  rowtest
row:
	MOVQ n+88(FP), CX
	MOVQ SI, AX
	MOVQ DX, BX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	SUBQ $16, CX
	JLT  rest
block:
	PRODUCTS((SI), (DX), Y4, Y5)
	ADDQ $64, SI
	ADDQ $64, DX
	SUBQ $16, CX
	JGE  block
rest:
	ADDQ $16, CX
	JEQ  tree
	TAILMASKS(short)
	RESTPRODUCTS((SI), (DX), Y4, Y5)
tree:
	TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	LEAQ (AX)(R10*1), SI
	LEAQ (BX)(R11*1), DX
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// Sixteen columns of a row of X, and what is left of it, for the sum of a row in (a0, a1).
#define SQUARES(x, a0, a1) \
	VMOVUPS (x)(AX*4), Y0      \
	VMOVUPS 32(x)(AX*4), Y1    \
	VSUBPS Y2, Y0, Y0          \
	VSUBPS Y3, Y1, Y1          \
	VFMADD231PS Y0, Y0, a0     \
	VFMADD231PS Y1, Y1, a1
#define RESTSQUARES(x, a0, a1) \
	VMASKMOVPS (x)(AX*4), Y14, Y0   \
	VMASKMOVPS 32(x)(AX*4), Y15, Y1 \
	VSUBPS Y2, Y0, Y0               \
	VSUBPS Y3, Y1, Y1               \
	VFMADD231PS Y0, Y0, a0          \
	VFMADD231PS Y1, Y1, a1

// Four rows at a time, for the chain of one leaves the multipliers idle; then row by row.
//
// func sqdistRowsAVX2(dst, x []float32, xs int, y []float32)
TEXT ·sqdistRowsAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	JMP  fourtest
four:
	MOVQ y_len+64(FP), CX
	LEAQ (SI)(R10*1), R11
	LEAQ (SI)(R10*2), R13
	LEAQ (R11)(R10*2), BX
	ZEROS
	XORQ AX, AX
	SUBQ $16, CX
	JLT  fourrest
fourblock:
	VMOVUPS (DX)(AX*4), Y2
	VMOVUPS 32(DX)(AX*4), Y3
	SQUARES(SI, Y4, Y5)
	SQUARES(R11, Y6, Y7)
	SQUARES(R13, Y8, Y9)
	SQUARES(BX, Y10, Y11)
	ADDQ $16, AX
	SUBQ $16, CX
	JGE  fourblock
fourrest:
	ADDQ $16, CX
	JEQ  fourtree
	TAILMASKS(fourshort)
	VMASKMOVPS (DX)(AX*4), Y14, Y2
	VMASKMOVPS 32(DX)(AX*4), Y15, Y3
	RESTSQUARES(SI, Y4, Y5)
	RESTSQUARES(R11, Y6, Y7)
	RESTSQUARES(R13, Y8, Y9)
	RESTSQUARES(BX, Y10, Y11)
fourtree:
	TREES
	LEAQ (SI)(R10*4), SI
fourtest:
	SUBQ $4, R12
	JGE  four
	ADDQ $4, R12
	JMP  rowtest
row:
	MOVQ y_len+64(FP), CX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	XORQ AX, AX
	SUBQ $16, CX
	JLT  rest
block:
	VMOVUPS (DX)(AX*4), Y2
	VMOVUPS 32(DX)(AX*4), Y3
	SQUARES(SI, Y4, Y5)
	ADDQ $16, AX
	SUBQ $16, CX
	JGE  block
rest:
	ADDQ $16, CX
	JEQ  tree
	TAILMASKS(short)
	VMASKMOVPS (DX)(AX*4), Y14, Y2
	VMASKMOVPS 32(DX)(AX*4), Y15, Y3
	RESTSQUARES(SI, Y4, Y5)
tree:
	TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	ADDQ R10, SI
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// func quadRowsAVX2(dst, x []float32, xs int, y, w []float32)
TEXT ·quadRowsAVX2(SB), NOSPLIT, $0-104
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ xs+48(FP), R10
	MOVQ y_base+56(FP), DX
	MOVQ w_base+80(FP), BX
	MOVQ dst_len+8(FP), R12
	SHLQ $2, R10
	JMP  rowtest
row:
	MOVQ y_len+64(FP), CX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	XORQ AX, AX
	SUBQ $16, CX
	JLT  rest
block:
	VMOVUPS (SI)(AX*4), Y0
	VMOVUPS 32(SI)(AX*4), Y1
	VSUBPS (DX)(AX*4), Y0, Y0
	VSUBPS 32(DX)(AX*4), Y1, Y1
	VMULPS (BX)(AX*4), Y0, Y2
	VMULPS 32(BX)(AX*4), Y1, Y3
	VFMADD231PS Y0, Y2, Y4
	VFMADD231PS Y1, Y3, Y5
	ADDQ $16, AX
	SUBQ $16, CX
	JGE  block
rest:
	ADDQ $16, CX
	JEQ  tree
	TAILMASKS(short)
	VMASKMOVPS (SI)(AX*4), Y14, Y0
	VMASKMOVPS (DX)(AX*4), Y14, Y1
	VMASKMOVPS (BX)(AX*4), Y14, Y2
	VSUBPS Y1, Y0, Y0
	VMULPS Y2, Y0, Y2
	VFMADD231PS Y0, Y2, Y4
	VMASKMOVPS 32(SI)(AX*4), Y15, Y0
	VMASKMOVPS 32(DX)(AX*4), Y15, Y1
	VMASKMOVPS 32(BX)(AX*4), Y15, Y2
	VSUBPS Y1, Y0, Y0
	VMULPS Y2, Y0, Y2
	VFMADD231PS Y0, Y2, Y5
tree:
	TREE
	VMOVSS X4, (DI)
	ADDQ $4, DI
	ADDQ R10, SI
rowtest:
	SUBQ $1, R12
	JGE  row
	VZEROUPPER
	RET

// func sumAVX2(x []float32) float32
TEXT ·sumAVX2(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	XORQ AX, AX
	SUBQ $16, CX
	JLT  rest
block:
	VADDPS (SI)(AX*4), Y4, Y4
	VADDPS 32(SI)(AX*4), Y5, Y5
	ADDQ $16, AX
	SUBQ $16, CX
	JGE  block
rest:
	ADDQ $16, CX
	JEQ  tree
	TAILMASKS(short)
	VMASKMOVPS (SI)(AX*4), Y14, Y0
	VADDPS Y0, Y4, Y4
	VMASKMOVPS 32(SI)(AX*4), Y15, Y0
	VADDPS Y0, Y5, Y5
tree:
	TREE
	VMOVSS X4, ret+24(FP)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// exp and log. Constants are kept eight times over, so that they can be operands.

#define CONST8(name, off, v) \
	DATA name+(off+0)(SB)/4, v  \
	DATA name+(off+4)(SB)/4, v  \
	DATA name+(off+8)(SB)/4, v  \
	DATA name+(off+12)(SB)/4, v \
	DATA name+(off+16)(SB)/4, v \
	DATA name+(off+20)(SB)/4, v \
	DATA name+(off+24)(SB)/4, v \
	DATA name+(off+28)(SB)/4, v

CONST8(·expc, 0, $0x3fb8aa3b)   // log2(e)
CONST8(·expc, 32, $0x4b400000)  // 1.5*2^23: adding it rounds to an integer
CONST8(·expc, 64, $0x3f317218)  // ln 2, upper part
CONST8(·expc, 96, $0xb102e308)  // ln 2, lower part
CONST8(·expc, 128, $0x3ab6a602) // polynomial, highest degree first
CONST8(·expc, 160, $0x3c09060a)
CONST8(·expc, 192, $0x3d2aaa75)
CONST8(·expc, 224, $0x3e2aaa6e)
CONST8(·expc, 256, $0x3f000000) // 1/2
CONST8(·expc, 288, $0x3f800000) // 1
CONST8(·expc, 320, $0x0000007f) // exponent bias
CONST8(·expc, 352, $0x42b20000) // 89: above it exp overflows
CONST8(·expc, 384, $0xc2d10000) // -104.5: below it exp is 0
CONST8(·expc, 416, $0xc1a65af6) // -30 ln 2: below it a responsibility is 0
GLOBL ·expc(SB), RODATA|NOPTR, $448

// EXP: x in Y0, result in Y0. Changes Y1, Y2, Y3.
#define EXP \
	VMOVUPS      ·expc+32(SB), Y1      \
	VFMADD231PS  ·expc+0(SB), Y0, Y1   \ // t = fma(x, log2e, magic)
	VSUBPS       ·expc+32(SB), Y1, Y2  \ // n
	VFNMADD231PS ·expc+64(SB), Y2, Y0  \
	VFNMADD231PS ·expc+96(SB), Y2, Y0  \ // r = x - n ln 2
	VMOVUPS      ·expc+128(SB), Y3     \
	VFMADD213PS  ·expc+160(SB), Y0, Y3 \
	VFMADD213PS  ·expc+192(SB), Y0, Y3 \
	VFMADD213PS  ·expc+224(SB), Y0, Y3 \
	VFMADD213PS  ·expc+256(SB), Y0, Y3 \
	VFMADD213PS  ·expc+288(SB), Y0, Y3 \
	VFMADD213PS  ·expc+288(SB), Y0, Y3 \ // e^r
	VPSUBD       ·expc+32(SB), Y1, Y1  \ // n as an integer
	VPSRAD       $1, Y1, Y2             \
	VPSUBD       Y2, Y1, Y1             \ // n = Y2 + Y1
	VPADDD       ·expc+320(SB), Y1, Y1 \
	VPADDD       ·expc+320(SB), Y2, Y2 \
	VPSLLD       $23, Y1, Y1            \
	VPSLLD       $23, Y2, Y2            \
	VMULPS       Y2, Y3, Y0             \
	VMULPS       Y1, Y0, Y0

// The bounds come first of the two sources: MINPS and MAXPS give the second one where
// either is NaN, so a NaN passes.
#define OPEXP \
	VMOVUPS ·expc+352(SB), Y1 \
	VMINPS  Y0, Y1, Y0         \
	VMOVUPS ·expc+384(SB), Y1 \
	VMAXPS  Y0, Y1, Y0         \
	EXP

// func expAVX2(dst, x []float32)
TEXT ·expAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPEXP, STORE, MLOADX, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

CONST8(·logc, 0, $0x3f3504f3)   // sqrt(1/2)
CONST8(·logc, 32, $0x3f800000)  // 1
CONST8(·logc, 64, $0xbda4b529)  // polynomial, highest degree first
CONST8(·logc, 96, $0x3e045351)
CONST8(·logc, 128, $0xbe05faa2)
CONST8(·logc, 160, $0x3e112235)
CONST8(·logc, 192, $0xbe2a43f1)
CONST8(·logc, 224, $0x3e4cd3d4)
CONST8(·logc, 256, $0xbe800111)
CONST8(·logc, 288, $0x3eaaaaa4)
CONST8(·logc, 320, $0xbeffffff)
CONST8(·logc, 352, $0xb102e308) // ln 2, lower part
CONST8(·logc, 384, $0x3f317218) // ln 2, upper part
CONST8(·logc, 416, $0x00800000) // 2^-126
CONST8(·logc, 448, $0x4b000000) // 2^23
CONST8(·logc, 480, $0xc1b80000) // -23
CONST8(·logc, 512, $0xff800000) // -Inf
CONST8(·logc, 544, $0x7f800000) // +Inf
CONST8(·logc, 576, $0x7fc00000) // NaN
GLOBL ·logc(SB), RODATA|NOPTR, $608

// LOG: normal positive x in Y0, exponent to add in Y4, result in Y0. Changes Y1..Y4.
#define LOG \
	VPSUBD      ·logc+0(SB), Y0, Y1   \
	VPSRAD      $23, Y1, Y1            \ // e
	VPSLLD      $23, Y1, Y2            \
	VPSUBD      Y2, Y0, Y0             \ // mantissa in [sqrt(1/2), sqrt(2))
	VCVTDQ2PS   Y1, Y1                 \
	VADDPS      Y4, Y1, Y1             \
	VSUBPS      ·logc+32(SB), Y0, Y0  \ // f
	VMULPS      Y0, Y0, Y2             \
	VMOVUPS     ·logc+64(SB), Y3      \
	VFMADD213PS ·logc+96(SB), Y0, Y3  \
	VFMADD213PS ·logc+128(SB), Y0, Y3 \
	VFMADD213PS ·logc+160(SB), Y0, Y3 \
	VFMADD213PS ·logc+192(SB), Y0, Y3 \
	VFMADD213PS ·logc+224(SB), Y0, Y3 \
	VFMADD213PS ·logc+256(SB), Y0, Y3 \
	VFMADD213PS ·logc+288(SB), Y0, Y3 \
	VFMADD213PS ·logc+320(SB), Y0, Y3 \
	VFMADD231PS Y2, Y3, Y0             \ // log(1+f) = fma(f*f, q, f)
	VFMADD231PS ·logc+352(SB), Y1, Y0 \
	VFMADD231PS ·logc+384(SB), Y1, Y0

#define OPLOG \
	VMOVAPS   Y0, Y5                      \
	VCMPPS    $0x11, ·logc+416(SB), Y0, Y4 \ // below the normal range
	VMULPS    ·logc+448(SB), Y0, Y1      \
	VBLENDVPS Y4, Y1, Y0, Y0              \
	VANDPS    ·logc+480(SB), Y4, Y4      \
	LOG                                   \
	VXORPS    Y1, Y1, Y1                  \
	VMOVUPS   ·logc+512(SB), Y3          \
	VCMPPS    $0x00, Y1, Y5, Y2           \ // x == 0
	VBLENDVPS Y2, Y3, Y0, Y0              \
	VMOVUPS   ·logc+544(SB), Y3          \
	VCMPPS    $0x00, Y3, Y5, Y2           \ // x == +Inf
	VBLENDVPS Y2, Y3, Y0, Y0              \
	VMOVUPS   ·logc+576(SB), Y3          \
	VCMPPS    $0x19, Y1, Y5, Y2           \ // not x >= 0
	VBLENDVPS Y2, Y3, Y0, Y0

// func logAVX2(dst, x []float32)
TEXT ·logAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ dst_len+8(FP), CX
	VECTOR(LOADX, OPLOG, STORE, MLOADX, MSTORE, l16, l8, tail, end)
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// What else sits inside the ascent loop

#define SKIPZERO(skip) \
	MOVL (R8), AX \
	ADDL AX, AX   \ // drops the sign: only +0 and -0 give zero
	JEQ  skip     \
	VBROADCASTSS (R8), Y0

// GRADIENT64 makes 64 columns of the gradient in Y4 to Y11, of G at DX and r at SI: R12 components
// that are R11 and R10 apart. It changes AX, BX, R8, R9 and Y0.
#define GRADIENT64(component, skip, test) \
	ZEROS3                 \
	VXORPS Y10, Y10, Y10   \
	VXORPS Y11, Y11, Y11   \
	MOVQ SI, R8            \
	MOVQ DX, R9            \
	MOVQ R12, BX           \
	JMP  test              \
component: \
	SKIPZERO(skip)         \
	VFNMADD231PS (R9), Y0, Y4 \
	VFNMADD231PS 32(R9), Y0, Y5 \
	VFNMADD231PS 64(R9), Y0, Y6 \
	VFNMADD231PS 96(R9), Y0, Y7 \
	VFNMADD231PS 128(R9), Y0, Y8 \
	VFNMADD231PS 160(R9), Y0, Y9 \
	VFNMADD231PS 192(R9), Y0, Y10 \
	VFNMADD231PS 224(R9), Y0, Y11 \
skip: \
	ADDQ R10, R8           \
	ADDQ R11, R9           \
test: \
	SUBQ $1, BX            \
	JGE  component

#define MOVEX(off, c) \
	VMOVUPS off(DI), Y0      \
	VFMADD231PS c, Y15, Y0   \
	VMOVUPS Y0, off(DI)

// The arguments x, r and g are counted on from row to row.
//
// func moveRowsAVX2(alpha float32, x []float32, xs int, r []float32, rs int, g []float32, gs, gr, rows, n, k int)
TEXT ·moveRowsAVX2(SB), NOSPLIT, $0-136
	VBROADCASTSS alpha+0(FP), Y15
	SHLQ $2, xs+32(FP)
	SHLQ $2, gr+104(FP)
	MOVQ rs+64(FP), R10
	MOVQ gs+96(FP), R11
	MOVQ k+128(FP), R12
	MOVQ rows+112(FP), R13
	SHLQ $2, R10
	SHLQ $2, R11
row:
	MOVQ x_base+8(FP), DI
	MOVQ r_base+40(FP), SI
	MOVQ g_base+72(FP), DX
	MOVQ n+120(FP), CX
columns:
	GRADIENT64(component, skip, test)
	MOVEX(0, Y4)
	MOVEX(32, Y5)
	MOVEX(64, Y6)
	MOVEX(96, Y7)
	MOVEX(128, Y8)
	MOVEX(160, Y9)
	MOVEX(192, Y10)
	MOVEX(224, Y11)
	ADDQ $256, DI
	ADDQ $256, DX
	SUBQ $64, CX
	JGT  columns
	MOVQ xs+32(FP), AX
	ADDQ AX, x_base+8(FP)
	MOVQ gr+104(FP), AX
	ADDQ AX, g_base+72(FP)
	ADDQ $4, r_base+40(FP)
	SUBQ $1, R13
	JNE  row
	VZEROUPPER
	RET

// func gradientAVX2(dst, r []float32, rs int, g []float32, gs, k int)
TEXT ·gradientAVX2(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ r_base+24(FP), SI
	MOVQ rs+48(FP), R10
	MOVQ g_base+56(FP), DX
	MOVQ gs+80(FP), R11
	MOVQ k+88(FP), R12
	MOVQ dst_len+8(FP), CX
	SHLQ $2, R10
	SHLQ $2, R11
wide:
	SUBQ $64, CX
	JLT  narrow
	GRADIENT64(wideloop, wideskip, widetest)
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	VMOVUPS Y8, 128(DI)
	VMOVUPS Y9, 160(DI)
	VMOVUPS Y10, 192(DI)
	VMOVUPS Y11, 224(DI)
	ADDQ $256, DI
	ADDQ $256, DX
	JMP  wide
narrow:
	ADDQ $64, CX
eight:
	SUBQ $8, CX
	JLT  rest
	VXORPS Y4, Y4, Y4
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  eighttest
eightloop:
	SKIPZERO(eightskip)
	VFNMADD231PS (R9), Y0, Y4
eightskip:
	ADDQ R10, R8
	ADDQ R11, R9
eighttest:
	SUBQ $1, BX
	JGE  eightloop
	VMOVUPS Y4, (DI)
	ADDQ $32, DI
	ADDQ $32, DX
	JMP  eight
rest:
	ADDQ $8, CX
	JEQ  done
	LEAQ masks<>+32(SB), R8
	SHLQ $2, CX
	SUBQ CX, R8
	VMOVUPS (R8), Y15
	VXORPS Y4, Y4, Y4
	MOVQ SI, R8
	MOVQ DX, R9
	MOVQ R12, BX
	JMP  resttest
restloop:
	SKIPZERO(restskip)
	VMASKMOVPS (R9), Y15, Y1
	VFNMADD231PS Y1, Y0, Y4
restskip:
	ADDQ R10, R8
	ADDQ R11, R9
resttest:
	SUBQ $1, BX
	JGE  restloop
	VMASKMOVPS Y4, Y15, (DI)
done:
	VZEROUPPER
	RET

// dst = fma(-w, y, -(r*x)): Y14 holds -r, Y13 holds w = h*t.
#define OPPULL \
	VMULPS       Y14, Y0, Y0 \
	VFNMADD231PS Y1, Y13, Y0
#define NOLOAD(off)
#define NOOP
#define STOREZERO(off) VMOVUPS Y11, off(DI)(AX*4)
#define MSTOREZERO VMASKMOVPS Y11, Y15, (DI)(AX*4)

// func pullRowsAVX2(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)
TEXT ·pullRowsAVX2(SB), NOSPLIT, $0-160
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R10
	MOVQ r_base+32(FP), BX
	MOVQ x_base+56(FP), SI
	MOVQ xs+80(FP), R11
	MOVQ t_base+88(FP), R13
	VBROADCASTSS h+112(FP), Y10
	MOVQ y_base+120(FP), DX
	MOVQ ys+144(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VXORPS Y11, Y11, Y11
	VPCMPEQD Y12, Y12, Y12
	VPSLLD $31, Y12, Y12     // sign bits
	MOVQ r_len+40(FP), R15
	JMP  rowtest
row:
	MOVQ n+152(FP), CX
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  zero
	VBROADCASTSS (BX), Y14
	VXORPS Y12, Y14, Y14
	VBROADCASTSS (R13), Y13
	VMULPS Y10, Y13, Y13
	VECTOR(LOADXY, OPPULL, STORE, MLOADXY, MSTORE, l16, l8, tail, end)
	JMP  next
zero:
	VECTOR(NOLOAD, NOOP, STOREZERO, NOOP, MSTOREZERO, z16, z8, ztail, zend)
next:
	ADDQ $4, BX
	ADDQ $4, R13
	ADDQ R10, DI
	ADDQ R11, SI
	ADDQ R12, DX
rowtest:
	SUBQ $1, R15
	JGE  row
	VZEROUPPER
	RET

#define FULL_LOAD(p, y) VMOVUPS (p), y
#define FULL_STORE(y, p) VMOVUPS y, (p)
#define MASK_LOAD(p, y) VMASKMOVPS (p), Y15, y
#define MASK_STORE(y, p) VMASKMOVPS y, Y15, (p)

// Responsibilities of eight rows: q at SI, c at DX, phi at DI. Y6 holds the largest l,
// Y8 the sum, Y10 one half, Y11 the cut.
#define MIXTURE(load, store, first, firsttest, second, secondtest, third, thirdtest) \
	VMOVUPS ·logc+512(SB), Y6      \
	MOVQ    SI, R8                  \
	MOVQ    DX, R9                  \
	MOVQ    R12, BX                 \
	JMP     firsttest               \
first: \
	load(R8, Y0)                    \
	VBROADCASTSS (R9), Y1           \
	VFNMADD231PS Y0, Y10, Y1        \ // l = c - q/2
	store(Y1, R8)                   \
	VMAXPS  Y6, Y1, Y6              \ // l > m ? l : m
	ADDQ    R10, R8                 \
	ADDQ    $4, R9                  \
firsttest: \
	SUBQ    $1, BX                  \
	JGE     first                   \
	VXORPS  Y8, Y8, Y8              \
	MOVQ    SI, R8                  \
	MOVQ    R12, BX                 \
	JMP     secondtest              \
second: \
	load(R8, Y0)                    \
	VSUBPS  Y6, Y0, Y0              \
	VCMPPS  $0x11, Y11, Y0, Y7      \ // below the cut
	EXP                             \
	VANDNPS Y0, Y7, Y0              \
	store(Y0, R8)                   \
	VADDPS  Y0, Y8, Y8              \
	ADDQ    R10, R8                 \
secondtest: \
	SUBQ    $1, BX                  \
	JGE     second                  \
	VMOVAPS Y8, Y0                  \
	VXORPS  Y4, Y4, Y4              \
	LOG                             \
	VCMPPS  $0x03, Y8, Y8, Y1       \ // NaN stays NaN
	VBLENDVPS Y1, Y8, Y0, Y0        \
	VADDPS  Y6, Y0, Y0              \
	store(Y0, DI)                   \
	MOVQ    SI, R8                  \
	MOVQ    R12, BX                 \
	JMP     thirdtest               \
third: \
	load(R8, Y0)                    \
	VDIVPS  Y8, Y0, Y0              \
	store(Y0, R8)                   \
	ADDQ    R10, R8                 \
thirdtest: \
	SUBQ    $1, BX                  \
	JGE     third

// Eight columns of a row from off on: D_i, its part of the sums, and W_i. Y5: r, Y6: t, Y7:
// h*t; Y2: h, Y4: zero. fma(-w, d, -(r*u)) is the negated fma(w, d, r*u).
#define SCALARS \
	VBROADCASTSS (BX), Y5          \
	VBROADCASTSS (R13), Y6         \
	VMULPS       Y6, Y2, Y7
#define PULLOFF(off, sr, st) \
	VMOVUPS      off(DX), Y0       \
	VSUBPS       off(CX), Y0, Y0   \
	VMOVUPS      Y0, off(R8)       \
	VMOVUPS      off(SI), Y1       \
	VFNMADD231PS Y1, Y5, sr        \
	VFNMADD231PS Y0, Y6, st        \
	VMULPS       Y5, Y1, Y1        \
	VFNMSUB231PS Y0, Y7, Y1        \
	VMOVUPS      Y1, off(DI)
#define PULLZERO(off) \
	VMOVUPS      off(DX), Y0       \
	VSUBPS       off(CX), Y0, Y0   \
	VMOVUPS      Y0, off(R8)       \
	VMOVUPS      Y4, off(DI)
#define PULLONLY(off) \
	VMOVUPS      off(DX), Y0       \
	VSUBPS       off(CX), Y0, Y0   \
	VMULPS       off(SI), Y5, Y1   \
	VFNMSUB231PS Y0, Y7, Y1        \
	VMOVUPS      Y1, off(DI)
#define NEXTROW \
	ADDQ $4, BX   \
	ADDQ $4, R13  \
	ADDQ R10, DI  \
	ADDQ R10, R8  \
	ADDQ R11, SI  \
	ADDQ R12, DX

// func pullDeltasAVX2(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)
TEXT ·pullDeltasAVX2(SB), NOSPLIT, $0-248
	MOVQ ld+48(FP), R10
	MOVQ us+104(FP), R11
	MOVQ xs+168(FP), R12
	SHLQ $2, R10
	SHLQ $2, R11
	SHLQ $2, R12
	VBROADCASTSS h+136(FP), Y2
	VXORPS Y4, Y4, Y4
	XORQ R15, R15
columns:                     // mu_len counts down
	CMPQ mu_len+184(FP), $0
	JLE  done
	// w, d, u and x from column R15 (bytes) on; r, t; rows.
	MOVQ w_base+0(FP), DI
	MOVQ d_base+24(FP), R8
	MOVQ u_base+80(FP), SI
	MOVQ x_base+144(FP), DX
	MOVQ r_base+56(FP), BX
	MOVQ t_base+112(FP), R13
	MOVQ r_len+64(FP), R9
	ADDQ R15, DI
	ADDQ R15, R8
	ADDQ R15, SI
	ADDQ R15, DX
	MOVQ mu_base+176(FP), CX
	ADDQ R15, CX
	CMPQ mu_len+184(FP), $32
	JLT  narrow
	CMPQ d_len+32(FP), $0
	JEQ  wideonlytest
	MOVQ sr_base+200(FP), AX
	VMOVUPS (AX)(R15*1), Y8
	VMOVUPS 32(AX)(R15*1), Y9
	VMOVUPS 64(AX)(R15*1), Y10
	VMOVUPS 96(AX)(R15*1), Y11
	MOVQ st_base+224(FP), AX
	VMOVUPS (AX)(R15*1), Y12
	VMOVUPS 32(AX)(R15*1), Y13
	VMOVUPS 64(AX)(R15*1), Y14
	VMOVUPS 96(AX)(R15*1), Y15
	JMP  widetest
widerow:
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  widezero
	SCALARS
	PULLOFF(0, Y8, Y12)
	PULLOFF(32, Y9, Y13)
	PULLOFF(64, Y10, Y14)
	PULLOFF(96, Y11, Y15)
	JMP  widenext
widezero:
	PULLZERO(0)
	PULLZERO(32)
	PULLZERO(64)
	PULLZERO(96)
widenext:
	NEXTROW
widetest:
	SUBQ $1, R9
	JGE  widerow
	MOVQ sr_base+200(FP), AX
	VMOVUPS Y8, (AX)(R15*1)
	VMOVUPS Y9, 32(AX)(R15*1)
	VMOVUPS Y10, 64(AX)(R15*1)
	VMOVUPS Y11, 96(AX)(R15*1)
	MOVQ st_base+224(FP), AX
	VMOVUPS Y12, (AX)(R15*1)
	VMOVUPS Y13, 32(AX)(R15*1)
	VMOVUPS Y14, 64(AX)(R15*1)
	VMOVUPS Y15, 96(AX)(R15*1)
	JMP  widedone
wideonlyrow:
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  wideonlyzero
	SCALARS
	PULLONLY(0)
	PULLONLY(32)
	PULLONLY(64)
	PULLONLY(96)
	JMP  wideonlynext
wideonlyzero:
	VMOVUPS Y4, (DI)
	VMOVUPS Y4, 32(DI)
	VMOVUPS Y4, 64(DI)
	VMOVUPS Y4, 96(DI)
wideonlynext:
	NEXTROW
wideonlytest:
	SUBQ $1, R9
	JGE  wideonlyrow
widedone:
	ADDQ $128, R15
	SUBQ $32, mu_len+184(FP)
	JMP  columns

narrow:                      // eight columns at a time, the last of them masked
	VPCMPEQD Y15, Y15, Y15
	MOVQ mu_len+184(FP), AX
	CMPQ AX, $8
	JGE  whole
	SHLQ $2, AX
	LEAQ masks<>+32(SB), R9
	SUBQ AX, R9
	VMOVUPS (R9), Y15
	MOVQ r_len+64(FP), R9
whole:
	VMASKMOVPS (CX), Y15, Y3
	CMPQ d_len+32(FP), $0
	JEQ  restonlytest
	MOVQ sr_base+200(FP), AX
	VMASKMOVPS (AX)(R15*1), Y15, Y8
	MOVQ st_base+224(FP), AX
	VMASKMOVPS (AX)(R15*1), Y15, Y12
	JMP  resttest
restrow:
	VMASKMOVPS (DX), Y15, Y0
	VSUBPS     Y3, Y0, Y0
	VMASKMOVPS Y0, Y15, (R8)
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  restzero
	SCALARS
	VMASKMOVPS   (SI), Y15, Y1
	VFNMADD231PS Y1, Y5, Y8
	VFNMADD231PS Y0, Y6, Y12
	VMULPS       Y5, Y1, Y1
	VFNMSUB231PS Y0, Y7, Y1
	VMASKMOVPS   Y1, Y15, (DI)
	JMP  restnext
restzero:
	VMASKMOVPS Y4, Y15, (DI)
restnext:
	NEXTROW
resttest:
	SUBQ $1, R9
	JGE  restrow
	MOVQ sr_base+200(FP), AX
	VMASKMOVPS Y8, Y15, (AX)(R15*1)
	MOVQ st_base+224(FP), AX
	VMASKMOVPS Y12, Y15, (AX)(R15*1)
	JMP  restdone
restonlyrow:
	MOVL (BX), AX
	ADDL AX, AX
	JEQ  restonlyzero
	VMASKMOVPS (DX), Y15, Y0
	VSUBPS     Y3, Y0, Y0
	SCALARS
	VMASKMOVPS   (SI), Y15, Y1
	VMULPS       Y5, Y1, Y1
	VFNMSUB231PS Y0, Y7, Y1
	VMASKMOVPS   Y1, Y15, (DI)
	JMP  restonlynext
restonlyzero:
	VMASKMOVPS Y4, Y15, (DI)
restonlynext:
	NEXTROW
restonlytest:
	SUBQ $1, R9
	JGE  restonlyrow
restdone:
	ADDQ $32, R15
	SUBQ $8, mu_len+184(FP)
	JMP  columns
done:
	VZEROUPPER
	RET

// func mixtureAVX2(q []float32, ld int, c, phi []float32)
TEXT ·mixtureAVX2(SB), NOSPLIT, $0-80
	MOVQ q_base+0(FP), SI
	MOVQ ld+24(FP), R10
	MOVQ c_base+32(FP), DX
	MOVQ phi_base+56(FP), DI
	MOVQ c_len+40(FP), R12
	MOVQ phi_len+64(FP), CX
	SHLQ $2, R10
	VMOVUPS ·expc+256(SB), Y10
	VMOVUPS ·expc+416(SB), Y11
group:
	SUBQ $8, CX
	JLT  rest
	MIXTURE(FULL_LOAD, FULL_STORE, f1, f1t, f2, f2t, f3, f3t)
	ADDQ $32, SI
	ADDQ $32, DI
	JMP  group
rest:
	ADDQ $8, CX
	JEQ  done
	LEAQ masks<>+32(SB), R8
	SHLQ $2, CX
	SUBQ CX, R8
	VMOVUPS (R8), Y15
	MIXTURE(MASK_LOAD, MASK_STORE, m1, m1t, m2, m2t, m3, m3t)
done:
	VZEROUPPER
	RET

// func mixtureLanesAVX2(q, c []float32)
TEXT ·mixtureLanesAVX2(SB), NOSPLIT, $0-48
	MOVQ q_base+0(FP), SI
	MOVQ q_len+8(FP), R12
	MOVQ c_base+24(FP), DX
	SHLQ $2, R12
	VMOVUPS ·expc+256(SB), Y10
	VMOVUPS ·expc+416(SB), Y11
	VMOVUPS ·logc+512(SB), Y6
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
	EXP
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

// The backward pass of the responsibilities of eight rows: r at SI, s at DX, their sum at DI.
#define RESPONSIBILITY(load, store, first, firsttest, second, secondtest) \
	VXORPS  Y6, Y6, Y6              \
	MOVQ    SI, R8                  \
	MOVQ    DX, R9                  \
	MOVQ    R12, BX                 \
	JMP     firsttest               \
first: \
	load(R8, Y0)                    \
	load(R9, Y1)                    \
	VCMPPS  $0x00, Y5, Y0, Y2       \ // r == 0
	VMOVAPS Y6, Y3                  \
	VFMADD231PS Y0, Y1, Y3          \
	VBLENDVPS Y2, Y6, Y3, Y6        \
	ADDQ    R10, R8                 \
	ADDQ    R10, R9                 \
firsttest: \
	SUBQ    $1, BX                  \
	JGE     first                   \
	store(Y6, DI)                   \
	MOVQ    SI, R8                  \
	MOVQ    DX, R9                  \
	MOVQ    R12, BX                 \
	JMP     secondtest              \
second: \
	load(R8, Y0)                    \
	load(R9, Y1)                    \
	VCMPPS  $0x00, Y5, Y0, Y2       \
	VSUBPS  Y6, Y1, Y1              \
	VMULPS  Y1, Y0, Y0              \
	VANDNPS Y0, Y2, Y0              \
	store(Y0, R9)                   \
	ADDQ    R10, R8                 \
	ADDQ    R10, R9                 \
secondtest: \
	SUBQ    $1, BX                  \
	JGE     second

// func responsibilityBackwardAVX2(r, s []float32, ld int, sum []float32, k int)
TEXT ·responsibilityBackwardAVX2(SB), NOSPLIT, $0-88
	MOVQ r_base+0(FP), SI
	MOVQ s_base+24(FP), DX
	MOVQ ld+48(FP), R10
	MOVQ sum_base+56(FP), DI
	MOVQ k+80(FP), R12
	MOVQ sum_len+64(FP), CX
	SHLQ $2, R10
	VXORPS Y5, Y5, Y5
group:
	SUBQ $8, CX
	JLT  rest
	RESPONSIBILITY(FULL_LOAD, FULL_STORE, f1, f1t, f2, f2t)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	JMP  group
rest:
	ADDQ $8, CX
	JEQ  done
	LEAQ masks<>+32(SB), R8
	SHLQ $2, CX
	SUBQ CX, R8
	VMOVUPS (R8), Y15
	RESPONSIBILITY(MASK_LOAD, MASK_STORE, m1, m1t, m2, m2t)
done:
	VZEROUPPER
	RET

// func pause(n int)
TEXT ·pause(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), CX
loop:
	PAUSE
	SUBQ $1, CX
	JGT  loop
	RET

#define ADD8 \
	ADDQ BX, AX \
	ADDQ BX, AX \
	ADDQ BX, AX \
	ADDQ BX, AX \
	ADDQ BX, AX \
	ADDQ BX, AX \
	ADDQ BX, AX \
	ADDQ BX, AX

// A register is added, not a constant: recent cores add constants when they rename
// registers, several a cycle. The counting of the loop runs beside the chain.
//
// func additions(rounds int)
TEXT ·additions(SB), NOSPLIT, $0-8
	MOVQ rounds+0(FP), CX
	MOVQ CX, AX
	MOVQ CX, BX
	JMP  test
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
	SUBQ $1, CX
	JGE  loop
	RET

// ---------------------------------------------------------------------------------
// Transposition

// func transposeBlocksAVX2(dst []float32, ds int, src []float32, ss, rows, cols int)
TEXT ·transposeBlocksAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ ss+56(FP), R9
	MOVQ rows+64(FP), R10
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R11
	LEAQ (R8)(R8*2), BX
eight:
	MOVQ SI, R12             // of these rows
	MOVQ DI, DX
	MOVQ cols+72(FP), R13    // columns left
columns:
	LEAQ (R12)(R9*4), R15
	CMPQ R13, $8
	JLT  four
	VMOVUPS (R12), Y0
	VMOVUPS (R12)(R9*1), Y1
	VMOVUPS (R12)(R9*2), Y2
	VMOVUPS (R12)(R11*1), Y3
	VMOVUPS (R15), Y4
	VMOVUPS (R15)(R9*1), Y5
	VMOVUPS (R15)(R9*2), Y6
	VMOVUPS (R15)(R11*1), Y7
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15
	VUNPCKLPD Y10, Y8, Y0    // columns 0 and 4 of rows 0 to 3
	VUNPCKHPD Y10, Y8, Y1    // 1, 5
	VUNPCKLPD Y11, Y9, Y2    // 2, 6
	VUNPCKHPD Y11, Y9, Y3    // 3, 7
	VUNPCKLPD Y14, Y12, Y4   // the same of rows 4 to 7
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15
	LEAQ (DX)(R8*4), R15
	VMOVUPS Y8, (DX)
	VMOVUPS Y9, (DX)(R8*1)
	VMOVUPS Y10, (DX)(R8*2)
	VMOVUPS Y11, (DX)(BX*1)
	VMOVUPS Y12, (R15)
	VMOVUPS Y13, (R15)(R8*1)
	VMOVUPS Y14, (R15)(R8*2)
	VMOVUPS Y15, (R15)(BX*1)
	LEAQ (DX)(R8*8), DX
	ADDQ $32, R12
	SUBQ $8, R13
	JGT  columns
	JMP  below
four:
	VMOVUPS (R12), X0
	VMOVUPS (R12)(R9*1), X1
	VMOVUPS (R12)(R9*2), X2
	VMOVUPS (R12)(R11*1), X3
	VINSERTF128 $1, (R15), Y0, Y0
	VINSERTF128 $1, (R15)(R9*1), Y1, Y1
	VINSERTF128 $1, (R15)(R9*2), Y2, Y2
	VINSERTF128 $1, (R15)(R11*1), Y3, Y3
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPD Y10, Y8, Y0
	VUNPCKHPD Y10, Y8, Y1
	VUNPCKLPD Y11, Y9, Y2
	VUNPCKHPD Y11, Y9, Y3
	VMOVUPS Y0, (DX)
	VMOVUPS Y1, (DX)(R8*1)
	VMOVUPS Y2, (DX)(R8*2)
	VMOVUPS Y3, (DX)(BX*1)
below:
	LEAQ (SI)(R9*8), SI
	ADDQ $32, DI
	SUBQ $8, R10
	JGT  eight
	VZEROUPPER
	RET

// func transposeFourAVX2(dst []float32, ds int, src []float32, ss, cols int)
TEXT ·transposeFourAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ ds+24(FP), R8
	MOVQ src_base+32(FP), SI
	MOVQ ss+56(FP), R9
	MOVQ cols+64(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R11
	LEAQ (R8)(R8*2), BX
columns:
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R9*1), Y1
	VMOVUPS (SI)(R9*2), Y2
	VMOVUPS (SI)(R11*1), Y3
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPD Y10, Y8, Y0    // columns 0 and 4
	VUNPCKHPD Y10, Y8, Y1    // 1, 5
	VUNPCKLPD Y11, Y9, Y2    // 2, 6
	VUNPCKHPD Y11, Y9, Y3    // 3, 7
	LEAQ (DI)(R8*4), DX
	VMOVUPS X0, (DI)
	VMOVUPS X1, (DI)(R8*1)
	VMOVUPS X2, (DI)(R8*2)
	VMOVUPS X3, (DI)(BX*1)
	VEXTRACTF128 $1, Y0, (DX)
	VEXTRACTF128 $1, Y1, (DX)(R8*1)
	VEXTRACTF128 $1, Y2, (DX)(R8*2)
	VEXTRACTF128 $1, Y3, (DX)(BX*1)
	LEAQ (DI)(R8*8), DI
	ADDQ $32, SI
	SUBQ $8, CX
	JGT  columns
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// G and q, and -N P, of few features: tiles as in sgemmAVX2_6x16 whose left operand is made on
// the way, so that it, and P of up to 64 features, stay in the first-level cache

// FEWROWS multiplies R13 rows, up to five, at R8, which are R10 apart, with the panel at BX, whose
// inner indices are counted in CX. It leaves BX behind the panel, and goes on at store.
#define FEWROWS \
	MOVL $4, R11          \
	MOVL $64, R12         \
	CMPQ R13, $3          \
	JEQ  rows3            \
	JGT  rows4or5         \
	CMPQ R13, $2          \
	JEQ  rows2            \
	LOOP(STEP1, four1, fourtest1, one1, onetest1, store) \
rows2: \
	LOOP(STEP2, four2, fourtest2, one2, onetest2, store) \
rows3: \
	LOOP(STEP3, four3, fourtest3, one3, onetest3, store) \
rows4or5: \
	CMPQ R13, $5          \
	JEQ  rows5            \
	LOOP(STEP4, four4, fourtest4, one4, onetest4, store) \
rows5: \
	LOOP(STEP5, four5, fourtest5, one5, onetest5, store)

// OLDROW and STOREROW go down the rows of such a tile of a result.
#define OLDROW(row, c0, c1, end) \
	CMPQ R13, $row   \
	JLE  end         \
	VMOVUPS (DI), c0 \
	VMOVUPS 32(DI), c1 \
	ADDQ AX, DI

#define STOREROW(row, c0, c1) \
	CMPQ R13, $row   \
	JLE  stored      \
	VMOVUPS c0, (DI) \
	VMOVUPS c1, 32(DI) \
	ADDQ AX, DI

// DELTAS makes 16 columns of count rows of D_i, from byte SI on, of the rows at x, R10 apart from
// to on. It changes CX, DX, R8, R9 and Y10 to Y13.
#define DELTAS(count, x, xs, mu, to, row) \
	MOVQ mu, DX             \
	VMOVUPS (DX)(SI*1), Y10 \
	VMOVUPS 32(DX)(SI*1), Y11 \
	MOVQ x, R8              \
	ADDQ SI, R8             \
	MOVQ to, R9             \
	ADDQ SI, R9             \
	MOVQ xs, DX             \
	MOVQ count, CX          \
row: \
	VMOVUPS (R8), Y12       \
	VMOVUPS 32(R8), Y13     \
	VSUBPS  Y10, Y12, Y12   \
	VSUBPS  Y11, Y13, Y13   \
	VMOVUPS Y12, (R9)       \
	VMOVUPS Y13, 32(R9)     \
	ADDQ DX, R8             \
	ADDQ R10, R9            \
	SUBQ $1, CX             \
	JNE  row

// TILEDOTS stores the dot products of R13 rows of G at R8, AX apart, and of D_i at R9, R10 apart, at
// DX, and counts these on and R13 down. It changes CX, Y0, Y1, Y4 and Y5.
#define TILEDOTS(bytes, row, columns) \
row: \
	VXORPS Y4, Y4, Y4       \
	VXORPS Y5, Y5, Y5       \
	XORQ CX, CX             \
columns: \
	VMOVUPS (R8)(CX*1), Y0  \
	VMOVUPS 32(R8)(CX*1), Y1 \
	VFMADD231PS (R9)(CX*1), Y0, Y4 \
	VFMADD231PS 32(R9)(CX*1), Y1, Y5 \
	ADDQ $64, CX            \
	CMPQ CX, bytes          \
	JLT  columns            \
	TREE                    \
	VMOVSS X4, (DX)         \
	ADDQ AX, R8             \
	ADDQ R10, R9            \
	ADDQ $4, DX             \
	SUBQ $1, R13            \
	JNE  row

// Eight columns of a row of D_i of the tile below, and of q of the tile above: R11 is the row of
// D_i above, behind its lanes of q, R12 that below, R13 the row of x, DX mu, DI the row of G, and
// SI the first column in bytes. ROWNEXT goes on to the next row; those of G and x stay at the last.
#define ROWDELTA(off) \
	VMOVUPS off(R13)(SI*1), Y3 \
	VSUBPS  off(DX)(SI*1), Y3, Y3 \
	VMOVUPS Y3, off+64(R12)(SI*1)
#define ROWLANES(off) \
	VMOVUPS off(R11), Y3       \
	VMOVUPS off+64(R11)(SI*1), Y2 \
	VFMADD231PS off(DI)(SI*1), Y2, Y3 \
	VMOVUPS Y3, off(R11)
#define ROWNEXT(gs, lastG, xs, lastX) \
	ADDQ R10, R11    \
	ADDQ R10, R12    \
	ADDQ gs, DI      \
	CMPQ DI, lastG   \
	CMOVQHI lastG, DI \
	ADDQ xs, R13     \
	CMPQ R13, lastX  \
	CMOVQHI lastX, R13

// EIGHT of rows side by side with sixteen columns of such a row between them.
#define EIGHTWITHROW(step, fetch, gs, lastG, xs, lastX) \
	PREFETCHT1 (R15)      \
	ADDQ fetch, R15       \
	step(0, 4)            \
	ROWDELTA(0)           \
	step(1, 4)            \
	ROWDELTA(32)          \
	step(2, 4)            \
	ROWLANES(0)           \
	step(3, 4)            \
	ROWLANES(32)          \
	PREFETCHT1 (R15)      \
	ADDQ fetch, R15       \
	step(4, 4)            \
	step(5, 4)            \
	step(6, 4)            \
	step(7, 4)            \
	ROWNEXT(gs, lastG, xs, lastX) \
	ADDQ $32, R8          \
	ADDQ $32, R9          \
	ADDQ $512, BX

// The inner indices of a panel of five or six rows, of which rows 0 to 2 have had three: eight or
// five of them without such rows, then the rows, then without again. (Loops that begin cache lines
// of code are a third of a hundredth faster on Zen 3.)
#define FEWLOOP(step, late, fetch, gs, lastG, xs, lastX, mu, with, without, row, other) \
	late(0, 4)           \
	late(1, 4)           \
	late(2, 4)           \
	FETCH                \
	LASTFIVE(step, 4, NEAR) \
	MOVQ mu, DX          \
	MOVQ with, CX        \
	PCALIGN $64 \
row: \
	EIGHTWITHROW(step, fetch, gs, lastG, xs, lastX) \
	SUBQ $1, CX          \
	JNE  row             \
	MOVQ without, CX     \
	TESTQ CX, CX         \
	JEQ  rest            \
	MOVQ fetch, DX       \
	PCALIGN $64 \
other: \
	EIGHT(step, 4, NEAR) \
	SUBQ $1, CX          \
	JNE  other           \
	JMP  store3

// LANES adds the lanes of q of a row that are eight apart, and clears them; Y9 is zero. HALVES adds
// those four apart of two rows, into the halves of a.
#define LANES(low, high, a) \
	VMOVUPS low, a     \
	VADDPS  high, a, a \
	VMOVUPS Y9, low    \
	VMOVUPS Y9, high
#define HALVES(a, b, t) \
	VPERM2F128 $0x20, b, a, t \
	VPERM2F128 $0x31, b, a, b \
	VADDPS  b, t, a

// The arguments comps, g, q, mu, p and next are counted on from component to component.
//
// func quadFewAVX2(comps int, g []float32, gc, gs int, q []float32, qc int, x []float32, xs int, mu []float32, d int, p []Packed, work []float32, tiles, rows, longer int, next []float32, step int)
TEXT ·quadFewAVX2(SB), NOSPLIT, $208-248
	FEWARGUMENTS(many, fetches)
	MOVQ d+136(FP), R10      // the distance of rows of D_i
	CMPQ rows+200(FP), $5
	JGE  dense

component:
	MOVQ g_base+8(FP), R8
	MOVQ R8, gHere-24(SP)
	MOVQ q_base+48(FP), R8
	MOVQ R8, qHere-32(SP)
	MOVQ x_base+80(FP), R8
	MOVQ R8, xHere-40(SP)
	MOVQ tiles+192(FP), R8
	MOVQ R8, tilesLeft-48(SP)
	MOVQ longer+208(FP), R8
	MOVQ R8, longerLeft-56(SP)
tile:
	TILEROWS(R13, even)
	XORQ SI, SI              // the first column, in bytes
deltas:
	DELTAS(R13, xHere-40(SP), xs+104(FP), mu_base+112(FP), work_base+168(FP), delta)
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  deltas
	MOVQ gs+40(FP), AX
	MOVQ p_base+144(FP), BX
	MOVQ Packed_data(BX), BX
	XORQ SI, SI
panel:
	MOVQ work_base+168(FP), R8
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ R10, CX
	SHRQ $2, CX
	MOVQ step+240(FP), DX
	ZEROS
	FEWROWS
store:
	MOVQ gHere-24(SP), DI
	ADDQ SI, DI
	STOREROW(0, Y4, Y5)
	STOREROW(1, Y6, Y7)
	STOREROW(2, Y8, Y9)
	STOREROW(3, Y10, Y11)
	STOREROW(4, Y12, Y13)
stored:
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  panel
	MOVQ xs+104(FP), CX
	IMULQ R13, CX
	ADDQ CX, xHere-40(SP)
	MOVQ gHere-24(SP), R8
	MOVQ work_base+168(FP), R9
	MOVQ qHere-32(SP), DX
	TILEDOTS(R10, dot, column)
	MOVQ R8, gHere-24(SP)
	MOVQ DX, qHere-32(SP)
	SUBQ $1, tilesLeft-48(SP)
	JNE  tile
	SUBQ $1, comps+0(FP)
	JEQ  done
	NEXTCOMPONENT
	MOVQ next_base+216(FP), R15
	JMP  component

	// Tiles of five and six rows, one after the other through all components. D_i of the tile
	// below and q of the one above are made between the multiply-adds, in each panel sixteen columns
	// of all rows, one in eight inner indices: in a piece they would hold them up for 140 of 1700 cycles
	// (d 64, Zen 3). D_i of three tiles take turns in work, each row behind its 16 lanes of q. The
	// first tile takes itself for the one above, which does no harm, and the last one for that below.
	// Rows from 3 on are stored when the next panel has begun.
dense:
	ADDQ $64, R10
	MOVQ work_base+168(FP), R11
	MOVQ R11, above-64(SP)
	LEAQ (R10)(R10*2), CX
	LEAQ (R11)(CX*2), R11
	MOVQ R11, current-72(SP)
	LEAQ (R11)(CX*2), R11
	MOVQ R11, below-80(SP)
	MOVQ work_base+168(FP), R11
	VXORPS Y0, Y0, Y0
	MOVL $18, CX
clear:
	VMOVUPS Y0, (R11)
	VMOVUPS Y0, 32(R11)
	ADDQ R10, R11
	SUBQ $1, CX
	JNE  clear
	MOVQ $0, late-88(SP)

	FIRSTTILE(firstEven)
	MOVQ rowsBelow-104(SP), CX
	MOVQ CX, rowsAbove-112(SP)
	MOVQ gBelow-120(SP), CX
	MOVQ CX, gAbove-128(SP)
	MOVQ qBelow-136(SP), CX
	MOVQ CX, qAbove-144(SP)
	ADDQ $64, current-72(SP)
	XORQ SI, SI
firstDeltas:
	DELTAS(rowsBelow-104(SP), xBelow-152(SP), xs+104(FP), mu_base+112(FP), current-72(SP), firstDelta)
	ADDQ $64, SI
	CMPQ SI, d+136(FP)
	JLT  firstDeltas
	SUBQ $64, current-72(SP)

denseTile:
	NEXTTILE(same, nextComponent, placed, belowEven, known)
	MOVQ rowsBelow-104(SP), CX
	SUBQ $1, CX
	IMULQ xs+104(FP), CX
	ADDQ xBelow-152(SP), CX
	MOVQ CX, lastBelow-176(SP)

	// Of the rows in between: those with eight inner indices, the other such indices, and rows
	// for which there are none.
	MOVQ d+136(FP), DX
	SHRQ $5, DX
	SUBQ $1, DX
	MOVQ rowsAbove-112(SP), R9
	LEAQ -1(R9), CX
	IMULQ gs+40(FP), CX
	ADDQ gAbove-128(SP), CX
	MOVQ CX, lastAbove-208(SP)
	CMPQ R9, rowsBelow-104(SP)
	CMOVQLT rowsBelow-104(SP), R9
	MOVQ R9, CX
	CMPQ CX, DX
	CMOVQGT DX, CX
	SUBQ CX, R9
	SUBQ CX, DX
	MOVQ CX, with-184(SP)
	MOVQ DX, without-192(SP)
	MOVQ R9, alone-200(SP)
	MOVQ pHere-168(SP), BX
	XORQ SI, SI              // the first column of the panel, in bytes
	PCALIGN $64
densePanel:
	MOVQ current-72(SP), R8
	ADDQ $64, R8
	ZEROS3
	STEP3(0, 4)
	STEP3(1, 4)
	STEP3(2, 4)
	MOVQ late-88(SP), R12
	TESTQ R12, R12
	JEQ  storedLate
	MOVQ gs+40(FP), AX
	CMPQ SI, $0
	MOVQ rowsHere-160(SP), CX
	CMOVQEQ rowsAbove-112(SP), CX
	STORELATE(R12, AX, CX, storedLate)
storedLate:
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ above-64(SP), R11
	MOVQ below-80(SP), R12
	MOVQ xBelow-152(SP), R13
	MOVQ gAbove-128(SP), DI
	MOVQ step+240(FP), DX
	ZEROSLATE
	CMPQ rowsHere-160(SP), $6
	JEQ  six
	FEWLOOP(STEP5, LATE5, step+240(FP), gs+40(FP), lastAbove-208(SP), xs+104(FP), lastBelow-176(SP), mu_base+112(FP), with-184(SP), without-192(SP), with5, without5)
six:
	FEWLOOP(STEP6, LATE6, step+240(FP), gs+40(FP), lastAbove-208(SP), xs+104(FP), lastBelow-176(SP), mu_base+112(FP), with-184(SP), without-192(SP), with6, without6)
rest:
	MOVQ alone-200(SP), CX
	TESTQ CX, CX
	JEQ  store3
alone:
	ROWDELTA(0)
	ROWDELTA(32)
	ROWLANES(0)
	ROWLANES(32)
	ROWNEXT(gs+40(FP), lastAbove-208(SP), xs+104(FP), lastBelow-176(SP))
	SUBQ $1, CX
	JNE  alone
store3:
	MOVQ gHere-24(SP), DI
	ADDQ SI, DI
	MOVQ gs+40(FP), AX
	STORE3(DI, AX)
	LEAQ (DI)(AX*2), DI
	ADDQ AX, DI
	MOVQ DI, late-88(SP)
	ADDQ $64, SI
	CMPQ SI, d+136(FP)
	JLT  densePanel

	// The lanes of q above are complete, and made empty for the tile that takes their place. Their
	// sums as in TREE, of all rows at once: (0 | 1), (2 | 3) and (4 | 5) in halves of registers, then
	// the even rows in one half and the odd ones in the other.
	MOVQ above-64(SP), R8
	MOVQ qAbove-144(SP), DX
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	VXORPS Y9, Y9, Y9
	LANES((R8), 32(R8), Y0)
	LANES((R8)(R10*1), 32(R8)(R10*1), Y1)
	LANES((R8)(R10*2), 32(R8)(R10*2), Y2)
	LANES((R9), 32(R9), Y3)
	LANES((R9)(R10*1), 32(R9)(R10*1), Y4)
	LANES((R9)(R10*2), 32(R9)(R10*2), Y5)
	HALVES(Y0, Y1, Y6)
	HALVES(Y2, Y3, Y6)
	HALVES(Y4, Y5, Y6)
	VUNPCKLPD Y2, Y0, Y6
	VUNPCKHPD Y2, Y0, Y7
	VADDPS  Y7, Y6, Y6
	VUNPCKLPD Y4, Y4, Y7
	VUNPCKHPD Y4, Y4, Y8
	VADDPS  Y8, Y7, Y7
	VSHUFPS $0x88, Y7, Y6, Y0
	VSHUFPS $0xDD, Y7, Y6, Y1
	VADDPS  Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VUNPCKLPS X1, X0, X2
	VUNPCKHPS X1, X0, X0
	VMOVUPS X2, (DX)
	VMOVSS  X0, 16(DX)
	CMPQ rowsAbove-112(SP), $6
	JLT  summed
	VMOVSD  X0, 16(DX)
summed:
	MOVQ current-72(SP), R9
	MOVQ R9, above-64(SP)
	MOVQ below-80(SP), R9
	MOVQ R9, current-72(SP)
	MOVQ R8, below-80(SP)
	MOVQ rowsHere-160(SP), R13
	MOVQ R13, rowsAbove-112(SP)
	MOVQ gHere-24(SP), R8
	MOVQ R8, gAbove-128(SP)
	MOVQ qHere-32(SP), DX
	MOVQ DX, qAbove-144(SP)
	CMPQ comps+0(FP), $0
	JNE  denseTile
	MOVQ late-88(SP), R12
	STORELATE(R12, AX, R13, last)
last:
	MOVQ above-64(SP), R9
	ADDQ $64, R9
	TILEDOTS(d+136(FP), lastDot, lastColumn)
done:
	VZEROUPPER
	RET

// TILEPULL makes 8 columns of a row of -N_i: Y6 is -r, Y7 t.
#define TILEPULL(off, mu, x, u) \
	VMOVUPS off(SI), x           \
	VSUBPS  mu, x, x             \
	VMULPS  off(R8), Y6, u       \
	VFNMADD231PS x, Y7, u        \
	VMOVUPS u, off(DI)

// The arguments v, r, u, t, x, tiles and longer are counted on from tile to tile.
//
// func pullFewAVX2(v []float32, vs int, r, u []float32, us int, t, x []float32, xs int, mu, p, work []float32, tiles, rows, longer int, acc bool, next []float32, step int)
TEXT ·pullFewAVX2(SB), NOSPLIT, $0-280
	MOVQ mu_len+152(FP), R10
	SHLQ $2, R10             // the distance of rows of -N_i
	MOVQ next_base+248(FP), R15
tile:
	MOVQ rows+224(FP), R13
	CMPQ longer+232(FP), $0
	JLE  even
	SUBQ $1, longer+232(FP)
	ADDQ $1, R13             // the first tiles have one row more
even:
	// -N_i of the tile, 16 columns at a time.
	VPCMPEQD Y3, Y3, Y3
	VPSLLD $31, Y3, Y3       // sign bits
	VXORPS Y2, Y2, Y2
	XORQ R12, R12            // the first column, in bytes
	MOVQ xs+136(FP), R9
	SHLQ $2, R9
	MOVQ us+80(FP), R11
	SHLQ $2, R11
deltas:
	MOVQ mu_base+144(FP), DX
	VMOVUPS (DX)(R12*1), Y4
	VMOVUPS 32(DX)(R12*1), Y5
	MOVQ x_base+112(FP), SI
	ADDQ R12, SI
	MOVQ u_base+56(FP), R8
	ADDQ R12, R8
	MOVQ work_base+192(FP), DI
	ADDQ R12, DI
	MOVQ r_base+32(FP), BX
	MOVQ t_base+88(FP), DX
	MOVQ R13, CX
delta:
	MOVL (BX), AX
	ADDL AX, AX              // drops the sign: only +0 and -0 give zero
	JEQ  zero
	VBROADCASTSS (BX), Y6
	VXORPS Y3, Y6, Y6
	VBROADCASTSS (DX), Y7
	TILEPULL(0, Y4, Y0, Y8)
	TILEPULL(32, Y5, Y1, Y9)
	JMP  nextrow
zero:
	VMOVUPS Y2, (DI)
	VMOVUPS Y2, 32(DI)
nextrow:
	ADDQ R9, SI
	ADDQ R11, R8
	ADDQ R10, DI
	ADDQ $4, BX
	ADDQ $4, DX
	SUBQ $1, CX
	JNE  delta
	ADDQ $64, R12
	CMPQ R12, R10
	JLT  deltas
	MOVQ BX, r_base+32(FP)
	MOVQ DX, t_base+88(FP)

	MOVQ p_base+168(FP), BX
	MOVQ vs+24(FP), AX
	SHLQ $2, AX
	XORQ SI, SI              // the first column of the panel, in bytes
	CMPQ R13, $5
	JGE  dense
panel:
	ZEROS
	CMPB acc+240(FP), $0
	JEQ  start
	MOVQ v_base+0(FP), DI
	ADDQ SI, DI
	OLDROW(0, Y4, Y5, start)
	OLDROW(1, Y6, Y7, start)
	OLDROW(2, Y8, Y9, start)
	OLDROW(3, Y10, Y11, start)
start:
	MOVQ work_base+192(FP), R8
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ mu_len+152(FP), CX
	MOVQ step+272(FP), DX
	FEWROWS
store:
	MOVQ v_base+0(FP), DI
	ADDQ SI, DI
	STOREROW(0, Y4, Y5)
	STOREROW(1, Y6, Y7)
	STOREROW(2, Y8, Y9)
	STOREROW(3, Y10, Y11)
stored:
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  panel
	JMP  end

	// Five and six rows. Those from 3 on are stored after the first three inner indices of rows 0
	// to 2 of the next panel: R12 is where, in row 3.
dense:
	MOVQ v_base+0(FP), DI
	LEAQ (DI)(AX*2), R12
	ADDQ AX, R12
	MOVQ step+272(FP), DX
densePanel:
	MOVQ work_base+192(FP), R8
	LEAQ (R8)(R10*2), R9
	ADDQ R10, R9
	MOVQ mu_len+152(FP), CX
	CMPB acc+240(FP), $0
	JNE  olds3
	ZEROS3
	JMP  first3
olds3:
	OLDS3(DI, AX)
first3:
	STEP3(0, 4)
	STEP3(1, 4)
	STEP3(2, 4)
	TESTQ SI, SI
	JEQ  late
	STORELATE(R12, AX, R13, storedLate)
storedLate:
	ADDQ $64, R12
late:
	CMPB acc+240(FP), $0
	JNE  oldsLate
	ZEROSLATE
	JMP  startLate
oldsLate:
	OLDSLATE(R12, AX, R13, startLate)
startLate:
	CMPQ R13, $6
	JEQ  six
	LATELOOP(STEP5, LATE5, 4, NEAR, eight5, eighttest5, late5, latetest5)
six:
	LATELOOP(STEP6, LATE6, 4, NEAR, eight6, eighttest6, late6, latetest6)
store3:
	STORE3(DI, AX)
	ADDQ $64, DI
	ADDQ $64, SI
	CMPQ SI, R10
	JLT  densePanel
	STORELATE(R12, AX, R13, end)
end:
	LEAQ (R13*4), CX
	MOVQ vs+24(FP), AX
	IMULQ CX, AX
	ADDQ AX, v_base+0(FP)
	MOVQ us+80(FP), AX
	IMULQ CX, AX
	ADDQ AX, u_base+56(FP)
	MOVQ xs+136(FP), AX
	IMULQ CX, AX
	ADDQ AX, x_base+112(FP)
	SUBQ $1, tiles+216(FP)
	JNE  tile
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// Patches: five rows, in an array in which rows are stride apart

// NEXTPATCH sets R13 to the next patch, counted in R10, and Y0 to its factor.
#define NEXTPATCH \
	MOVLQSX (R9), R13      \
	VBROADCASTSS (SI), Y0  \
	ADDQ $4, R9            \
	ADDQ $4, SI            \
	LEAQ (AX)(R13*4), R13

// Sixteen columns of five rows at a time, then eight, of which the last may be fewer.
//
// func addPatchesAVX2(c []float32, crs, cols int, r, b []float32, at []int32, stride int)
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
	VMOVUPS (DI), Y1
	VMOVUPS (DI)(DX*1), Y2
	VMOVUPS (DI)(DX*2), Y3
	VMOVUPS (DI)(BX*1), Y4
	VMOVUPS (DI)(DX*4), Y5
	VMOVUPS 32(DI), Y6
	VMOVUPS 32(DI)(DX*1), Y7
	VMOVUPS 32(DI)(DX*2), Y8
	VMOVUPS 32(DI)(BX*1), Y9
	VMOVUPS 32(DI)(DX*4), Y10
	MOVQ r_base+40(FP), SI
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
patch16:
	NEXTPATCH
	VFMADD231PS (R13), Y0, Y1
	VFMADD231PS (R13)(R11*1), Y0, Y2
	VFMADD231PS (R13)(R11*2), Y0, Y3
	VFMADD231PS (R13)(R12*1), Y0, Y4
	VFMADD231PS (R13)(R11*4), Y0, Y5
	VFMADD231PS 32(R13), Y0, Y6
	VFMADD231PS 32(R13)(R11*1), Y0, Y7
	VFMADD231PS 32(R13)(R11*2), Y0, Y8
	VFMADD231PS 32(R13)(R12*1), Y0, Y9
	VFMADD231PS 32(R13)(R11*4), Y0, Y10
	DECQ R10
	JNE  patch16
	VMOVUPS Y1, (DI)
	VMOVUPS Y2, (DI)(DX*1)
	VMOVUPS Y3, (DI)(DX*2)
	VMOVUPS Y4, (DI)(BX*1)
	VMOVUPS Y5, (DI)(DX*4)
	VMOVUPS Y6, 32(DI)
	VMOVUPS Y7, 32(DI)(DX*1)
	VMOVUPS Y8, 32(DI)(DX*2)
	VMOVUPS Y9, 32(DI)(BX*1)
	VMOVUPS Y10, 32(DI)(DX*4)
	ADDQ $64, DI
	ADDQ $64, AX
	JMP  sixteen
eights:
	ADDQ $16, CX
eight:
	CMPQ CX, $8
	JLT  fewer
	VMOVUPS (DI), Y1
	VMOVUPS (DI)(DX*1), Y2
	VMOVUPS (DI)(DX*2), Y3
	VMOVUPS (DI)(BX*1), Y4
	VMOVUPS (DI)(DX*4), Y5
	MOVQ r_base+40(FP), SI
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
patch8:
	NEXTPATCH
	VFMADD231PS (R13), Y0, Y1
	VFMADD231PS (R13)(R11*1), Y0, Y2
	VFMADD231PS (R13)(R11*2), Y0, Y3
	VFMADD231PS (R13)(R12*1), Y0, Y4
	VFMADD231PS (R13)(R11*4), Y0, Y5
	DECQ R10
	JNE  patch8
	VMOVUPS Y1, (DI)
	VMOVUPS Y2, (DI)(DX*1)
	VMOVUPS Y3, (DI)(DX*2)
	VMOVUPS Y4, (DI)(BX*1)
	VMOVUPS Y5, (DI)(DX*4)
	ADDQ $32, DI
	ADDQ $32, AX
	SUBQ $8, CX
	JMP  eight
fewer:
	TESTQ CX, CX
	JEQ  end
	LEAQ masks<>+32(SB), R8
	SHLQ $2, CX
	SUBQ CX, R8
	VMOVUPS (R8), Y15
	VMASKMOVPS (DI), Y15, Y1
	VMASKMOVPS (DI)(DX*1), Y15, Y2
	VMASKMOVPS (DI)(DX*2), Y15, Y3
	VMASKMOVPS (DI)(BX*1), Y15, Y4
	VMASKMOVPS (DI)(DX*4), Y15, Y5
	MOVQ r_base+40(FP), SI
	MOVQ at_base+88(FP), R9
	MOVQ at_len+96(FP), R10
patch:
	NEXTPATCH
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
	VMASKMOVPS Y1, Y15, (DI)
	VMASKMOVPS Y2, Y15, (DI)(DX*1)
	VMASKMOVPS Y3, Y15, (DI)(DX*2)
	VMASKMOVPS Y4, Y15, (DI)(BX*1)
	VMASKMOVPS Y5, Y15, (DI)(DX*4)
end:
	VZEROUPPER
	RET

// SPREADROW adds five vectors to a row of a patch at R13.
#define SPREADROW(w0, w1, w2, w3, w4) \
	VMOVUPS     (R13), Y11     \
	VMOVUPS     32(R13), Y12   \
	VMOVUPS     64(R13), Y13   \
	VMOVUPS     96(R13), Y14   \
	VMOVUPS     128(R13), Y15  \
	VFMADD231PS w0, Y0, Y11    \
	VFMADD231PS w1, Y0, Y12    \
	VFMADD231PS w2, Y0, Y13    \
	VFMADD231PS w3, Y0, Y14    \
	VFMADD231PS w4, Y0, Y15    \
	VMOVUPS     Y11, (R13)     \
	VMOVUPS     Y12, 32(R13)   \
	VMOVUPS     Y13, 64(R13)   \
	VMOVUPS     Y14, 96(R13)   \
	VMOVUPS     Y15, 128(R13)

// Two rows of w stay in registers.
//
// func spreadPatchesAVX2(b, r []float32, at []int32, w []float32, ws, stride int)
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
	NEXTPATCH
	SPREADROW(Y1, Y2, Y3, Y4, Y5)
	ADDQ R11, R13
	SPREADROW(Y6, Y7, Y8, Y9, Y10)
	ADDQ R11, R13
	SPREADROW((DI), 32(DI), 64(DI), 96(DI), 128(DI))
	ADDQ R11, R13
	SPREADROW((BX), 32(BX), 64(BX), 96(BX), 128(BX))
	ADDQ R11, R13
	SPREADROW((CX), 32(CX), 64(CX), 96(CX), 128(CX))
	DECQ R10
	JNE  patch
end:
	VZEROUPPER
	RET

// ---------------------------------------------------------------------------------
// ReLU and the largest of 2 x 2 pixels

// LARGEST takes up to sixteen pixels of an upper row (Y0, Y1) and of a lower one (Y2, Y3) and
// leaves the largest of every four in Y8, whose pixels are then in Y4, Y5 (upper), Y6 and Y7.
// The operations stay within halves of registers; UNMIX puts quarters where they belong.
#define LARGEST \
	VMAXPS  Y15, Y0, Y0        \ // NaN becomes 0, and -0 +0
	VMAXPS  Y15, Y1, Y1        \
	VMAXPS  Y15, Y2, Y2        \
	VMAXPS  Y15, Y3, Y3        \
	VSHUFPS $0x88, Y1, Y0, Y4  \
	VSHUFPS $0xDD, Y1, Y0, Y5  \
	VSHUFPS $0x88, Y3, Y2, Y6  \
	VSHUFPS $0xDD, Y3, Y2, Y7  \
	VMAXPS  Y4, Y5, Y8         \
	VMAXPS  Y6, Y7, Y9         \
	VMAXPS  Y8, Y9, Y8

#define UNMIX(from, to) VPERMPD $0xD8, from, to

// WHICH leaves the numbers of the largest pixels, as bytes, in X9.
#define WHICH \
	VMOVDQA   Y12, Y9           \
	VCMPPS    $0, Y6, Y8, Y10   \
	VBLENDVPS Y10, Y13, Y9, Y9  \
	VCMPPS    $0, Y5, Y8, Y10   \
	VBLENDVPS Y10, Y14, Y9, Y9  \
	VCMPPS    $0, Y4, Y8, Y10   \
	VBLENDVPS Y10, Y15, Y9, Y9  \
	VCMPPS    $0, Y15, Y8, Y10  \
	VBLENDVPS Y10, Y11, Y9, Y9  \
	UNMIX(Y9, Y9)               \
	VEXTRACTI128 $1, Y9, X10    \
	VPACKSSDW X10, X9, X9       \
	VPACKUSWB X9, X9, X9

// CONSTANTS sets Y14, Y13 and Y12 to the whole numbers 1, 2 and 3.
#define CONSTANTS \
	VPCMPEQD Y14, Y14, Y14  \
	VPSRLD   $31, Y14, Y14  \
	VPADDD   Y14, Y14, Y13  \
	VPADDD   Y14, Y13, Y12

// Eight pooled pixels at a time, then four, then what is left.
//
// func reluPoolAVX2(y []float32, which []byte, x []float32, stride, w int)
TEXT ·reluPoolAVX2(SB), NOSPLIT, $0-88
	MOVQ y_base+0(FP), DI
	MOVQ y_len+8(FP), R13
	MOVQ which_base+24(FP), R9
	MOVQ which_len+32(FP), R10
	MOVQ x_base+48(FP), SI
	MOVQ stride+72(FP), R11
	MOVQ w+80(FP), R12
	SHLQ $2, R11
	VXORPS Y15, Y15, Y15
	CONSTANTS
	VPADDD Y13, Y13, Y11     // 4, the number of no pixel
	JMP  rows
row:
	MOVQ R12, CX             // columns left
	MOVQ SI, DX
	LEAQ (SI)(R11*1), R8
eight:
	SUBQ $8, CX
	JLT  four
	VMOVUPS (DX), Y0
	VMOVUPS 32(DX), Y1
	VMOVUPS (R8), Y2
	VMOVUPS 32(R8), Y3
	LARGEST
	UNMIX(Y8, Y10)
	VMOVUPS Y10, (DI)
	ADDQ $64, DX
	ADDQ $64, R8
	ADDQ $32, DI
	TESTQ R10, R10
	JEQ  eight
	WHICH
	VMOVQ X9, (R9)
	ADDQ $8, R9
	JMP  eight
four:
	ADDQ $8, CX
	VXORPS Y1, Y1, Y1
	VXORPS Y3, Y3, Y3
	CMPQ CX, $4
	JLT  fewer
	VMOVUPS (DX), Y0
	VMOVUPS (R8), Y2
	LARGEST
	UNMIX(Y8, Y10)
	VMOVUPS X10, (DI)
	ADDQ $32, DX
	ADDQ $32, R8
	ADDQ $16, DI
	SUBQ $4, CX
	TESTQ R10, R10
	JEQ  fewer
	WHICH
	VMOVD X9, (R9)
	ADDQ $4, R9
fewer:
	TESTQ CX, CX
	JEQ  next
	LEAQ masks<>+32(SB), AX
	SHLQ $2, CX
	SUBQ CX, AX
	VMOVUPS (AX), Y7         // of pooled pixels
	SUBQ CX, AX
	VMOVUPS (AX), Y10        // of twice as many
	VMASKMOVPS (DX), Y10, Y0
	VMASKMOVPS (R8), Y10, Y2
	VXORPS Y1, Y1, Y1
	VXORPS Y3, Y3, Y3
	VMOVAPS Y7, Y10
	LARGEST
	UNMIX(Y8, Y9)
	VMASKMOVPS Y9, Y10, (DI)
	ADDQ CX, DI
	TESTQ R10, R10
	JEQ  next
	WHICH
	SHRQ $2, CX
	VMOVD X9, AX
byte:
	MOVB AX, (R9)
	SHRL $8, AX
	INCQ R9
	DECQ CX
	JNE  byte
next:
	LEAQ (SI)(R11*2), SI
	SUBQ R12, R13
rows:
	CMPQ R13, R12
	JGE  row
	VZEROUPPER
	RET

// The gradient of pooled pixels is in Y0 and the numbers of their pixels in Y1: eight of them,
// four, or CX, 1 to 3. Where there is no pixel the gradient becomes -0, which adds nothing.
#define GRADIENT8 \
	VMOVUPS   (R10)(R13*4), Y0  \
	VPMOVZXBD (R11)(R13*1), Y1  \
	NONE

#define GRADIENT4 \
	VMOVUPS   (R10)(R13*4), X0  \
	VMOVD     (R11)(R13*1), X1  \
	VPMOVZXBD X1, Y1            \
	NONE

#define GRADIENT(end) \
	LEAQ masks<>+32(SB), AX         \
	SHLQ $2, CX                     \
	SUBQ CX, AX                     \
	SHRQ $2, CX                     \
	VMOVUPS    (AX), Y2             \
	VMASKMOVPS (R10)(R13*4), Y2, Y0 \
	VPXOR   X1, X1, X1              \
	VPINSRB $0, (R11)(R13*1), X1, X1 \
	CMPQ CX, $2                     \
	JLT  end                        \
	VPINSRB $1, 1(R11)(R13*1), X1, X1 \
	JEQ  end                        \
	VPINSRB $2, 2(R11)(R13*1), X1, X1 \
end: \
	VPMOVZXBD X1, Y1                \
	NONE

#define NONE \
	VPSLLD    $29, Y1, Y2       \
	VBLENDVPS Y2, Y15, Y0, Y0

// HALF leaves the gradients of the pixels of a row in Y5 and Y6: those with the number left and,
// to the right of each, right.
#define HALF(left, right) \
	VPCMPEQD  left, Y1, Y2        \
	VBLENDVPS Y2, Y0, Y15, Y5     \
	VPCMPEQD  right, Y1, Y2       \
	VBLENDVPS Y2, Y0, Y15, Y6     \
	VUNPCKLPS Y6, Y5, Y7          \
	VUNPCKHPS Y6, Y5, Y8          \
	VPERM2F128 $0x20, Y8, Y7, Y5  \
	VPERM2F128 $0x31, Y8, Y7, Y6

// SUM8, SUM4 and SUM add them to the row of sums.
#define SUM8(row) \
	VADDPS  (row)(R13*8), Y5, Y5    \
	VMOVUPS Y5, (row)(R13*8)        \
	VADDPS  32(row)(R13*8), Y6, Y6  \
	VMOVUPS Y6, 32(row)(R13*8)

#define SUM4(row) \
	VADDPS  (row)(R13*8), Y5, Y5    \
	VMOVUPS Y5, (row)(R13*8)

#define SUM(row) \
	LEAQ masks<>+32(SB), AX          \
	SHLQ $3, CX                      \
	SUBQ CX, AX                      \
	SHRQ $3, CX                      \
	VMOVUPS    (AX), Y8              \
	VMASKMOVPS (row)(R13*8), Y8, Y7  \
	VADDPS     Y7, Y5, Y5            \
	VMASKMOVPS Y5, Y8, (row)(R13*8)

#define SUMS(sum) \
	VPXOR Y4, Y4, Y4   \
	HALF(Y4, Y14)      \
	sum(R9)            \
	HALF(Y13, Y12)     \
	sum(BX)

// LISTUPPER and LISTLOWER append the gradients of pixels of the upper row, and of the lower one,
// that are not 0, and their places, to the lists: Y9 are the places of the left ones, and the others
// are Y10 further.
#define LISTUPPER \
	VPCMPGTD Y1, Y13, Y2  \
	LIST

#define LISTLOWER \
	VPCMPGTD Y14, Y1, Y2  \
	LIST

#define LIST \
	VPXOR     Y4, Y4, Y4            \
	VPADDD    Y0, Y0, Y3            \ // without the sign
	VPCMPEQD  Y4, Y3, Y3            \
	VPANDN    Y2, Y3, Y2            \
	VMOVMSKPS Y2, AX                \
	VPAND     Y14, Y1, Y3           \
	VPMULLD   Y10, Y3, Y3           \
	VPADDD    Y9, Y3, Y3            \
	VPMOVZXBD (R15)(AX*8), Y4       \
	VPERMD    Y3, Y4, Y3            \
	VPERMPS   Y0, Y4, Y5            \
	VMOVDQU   Y3, (DI)(DX*4)        \
	VMOVUPS   Y5, (SI)(DX*4)        \
	POPCNTL   AX, AX                \
	ADDQ      AX, DX

// GOON goes on by n pooled pixels, half of 1 << shift.
#define GOON(n, shift) \
	VPSLLD $shift, Y10, Y2          \
	VPADDD Y2, Y9, Y9               \
	ADDQ $n, R13

// func poolBackwardAVX2(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int)
TEXT ·poolBackwardAVX2(SB), NOSPLIT, $0-160
	MOVQ at_base+0(FP), DI
	MOVQ v_base+24(FP), SI
	MOVQ sums_base+48(FP), R9
	MOVQ dy_base+72(FP), R10
	MOVQ which_base+96(FP), R11
	MOVQ w+120(FP), R12
	MOVQ cols+128(FP), R8
	LEAQ ·compress(SB), R15
	SHLQ $2, R8
	CONSTANTS
	VPSLLD $31, Y14, Y15     // -0
	VPBROADCASTD right+136(FP), Y10
	VPADDD Y10, Y10, Y11
	VPMULLD iota8<>(SB), Y11, Y11 // places of the left pixels of a row
	XORQ DX, DX              // numbers so far
	JMP  rows
row:
	VMOVDQA Y11, Y9
	LEAQ (R9)(R8*1), BX      // the lower row
	XORQ R13, R13
	MOVQ R12, CX
upper8:
	SUBQ $8, CX
	JLT  upper4
	GRADIENT8
	SUMS(SUM8)
	LISTUPPER
	GOON(8, 4)
	JMP  upper8
upper4:
	ADDQ $8, CX
	CMPQ CX, $4
	JLT  upper
	GRADIENT4
	SUMS(SUM4)
	LISTUPPER
	GOON(4, 3)
	SUBQ $4, CX
upper:
	TESTQ CX, CX
	JEQ  lower
	GRADIENT(uppergradient)
	SUMS(SUM)
	LISTUPPER
lower:
	VPBROADCASTD down+144(FP), Y2
	VPADDD Y2, Y11, Y9
	XORQ R13, R13
	MOVQ R12, CX
lower8:
	SUBQ $8, CX
	JLT  lower4
	GRADIENT8
	LISTLOWER
	GOON(8, 4)
	JMP  lower8
lower4:
	ADDQ $8, CX
	CMPQ CX, $4
	JLT  rest
	GRADIENT4
	LISTLOWER
	GOON(4, 3)
	SUBQ $4, CX
rest:
	TESTQ CX, CX
	JEQ  next
	GRADIENT(lowergradient)
	LISTLOWER
next:
	VPBROADCASTD down+144(FP), Y2
	VPADDD Y2, Y2, Y2
	VPADDD Y2, Y11, Y11
	LEAQ (R10)(R12*4), R10
	ADDQ R12, R11
	LEAQ (R9)(R8*2), R9
	SUBQ R12, dy_len+80(FP)
rows:
	CMPQ dy_len+80(FP), R12
	JGE  row
	MOVQ DX, n+152(FP)
	VZEROUPPER
	RET

DATA iota8<>+0(SB)/4, $0
DATA iota8<>+4(SB)/4, $1
DATA iota8<>+8(SB)/4, $2
DATA iota8<>+12(SB)/4, $3
DATA iota8<>+16(SB)/4, $4
DATA iota8<>+20(SB)/4, $5
DATA iota8<>+24(SB)/4, $6
DATA iota8<>+28(SB)/4, $7
GLOBL iota8<>(SB), RODATA|NOPTR, $32

// ---------------------------------------------------------------------------------
// G and q of a single row, for eight components beside each other, then for four

// COLUMN is column n, counted from R9, of four rows, for eight components. D of the rows is in Y4 to
// Y7. (The loads come first: mixed with the multiply-adds they made it 3% slower.)
#define COLUMN(n) \
	PREFETCHT0 (128*n+768)(BX)    \
	PREFETCHT0 (128*n+832)(BX)    \
	VMOVUPS (32*n)(R8)(R9*1), Y9  \
	VMOVUPS (128*n)(BX), Y10      \
	VMOVUPS (128*n+32)(BX), Y11   \
	VMOVUPS (128*n+64)(BX), Y12   \
	VMOVUPS (128*n+96)(BX), Y13   \
	VMOVUPS (32*n)(DI)(R9*1), Y8  \
	VFMADD231PS Y4, Y10, Y9       \
	VFMADD231PS Y10, Y8, Y0       \
	VFMADD231PS Y11, Y8, Y1       \
	VFMADD231PS Y5, Y11, Y9       \
	VFMADD231PS Y12, Y8, Y2       \
	VFMADD231PS Y13, Y8, Y3       \
	VFMADD231PS Y6, Y12, Y9       \
	VFMADD231PS Y7, Y13, Y9       \
	VMOVUPS Y9, (32*n)(R8)(R9*1)

// TWO multiplies the numbers of two rows, one in each half of a register.
#define TWO(at, y, x, gr, d0, d1) \
	VMOVUPS (at)(BX), y              \
	VFMADD231PS y, Y12, gr           \
	VFMADD231PS x, d0, X13           \
	VFMADD231PS (at+16)(BX), d1, X13

// COLUMN4 is COLUMN of eight rows, for four components. D of the rows is in X4 to X11.
#define COLUMN4(n) \
	VBROADCASTF128 (16*n)(DI)(R9*1), Y12    \
	VMOVUPS (16*n)(R8)(R9*1), X13           \
	TWO((128*n), Y14, X14, Y0, X4, X5)      \
	TWO((128*n+32), Y15, X15, Y1, X6, X7)   \
	TWO((128*n+64), Y14, X14, Y2, X8, X9)   \
	TWO((128*n+96), Y15, X15, Y3, X10, X11) \
	VMOVUPS X13, (16*n)(R8)(R9*1)

// The triangle on the diagonal of four rows, as DIAGONAL8.
#define DIAGONAL4(w, g0, g1, g2, g3, dc, x, y) \
	VMOVUPS (0*w)(DI)(R10*1), dc                     \
	VFMADD231PS (0*w)(BX), dc, g0                    \
	BOTH((1*w)(BX), y, dc, g1, (1*w)(DI)(R10*1), g0) \
	BOTH((2*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g0) \
	BOTH((3*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g0) \
	VMOVUPS (1*w)(DI)(R10*1), dc                     \
	VFMADD231PS (4*w)(BX), dc, g1                    \
	BOTH((5*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g1) \
	BOTH((6*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g1) \
	VMOVUPS (2*w)(DI)(R10*1), dc                     \
	VFMADD231PS (7*w)(BX), dc, g2                    \
	BOTH((8*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g2) \
	VMOVUPS (3*w)(DI)(R10*1), dc                     \
	VFMADD231PS (9*w)(BX), dc, g3

// func quadTriangleAVX2(eights, fours int, g, q, x, mu, p, work []float32)
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
	CLEAR4(Y0, Y1, Y2, Y3)
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
	COLUMN(0)
	COLUMN(1)
	COLUMN(2)
	COLUMN(3)
	ADDQ $512, BX
	ADDQ $128, R9
test:
	CMPQ R9, R10
	JLT  column
	DIAGONAL4(32, Y0, Y1, Y2, Y3, Y8, Y9, Y10)
	ADDQ $(10*32), BX
	VMOVUPS Y0, (R8)(R10*1)
	VMOVUPS Y1, 32(R8)(R10*1)
	VMOVUPS Y2, 64(R8)(R10*1)
	VMOVUPS Y3, 96(R8)(R10*1)
	ADDQ $128, R10
	CMPQ R10, R11
	JLT  rows
	DOTS(32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, some, others)
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
	CLEAR4(Y0, Y1, Y2, Y3)
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
	COLUMN4(0)
	COLUMN4(1)
	COLUMN4(2)
	COLUMN4(3)
	ADDQ $512, BX
	ADDQ $64, R9
test4:
	CMPQ R9, R10
	JLT  column4
	VEXTRACTF128 $1, Y0, X4
	VEXTRACTF128 $1, Y1, X5
	VEXTRACTF128 $1, Y2, X6
	VEXTRACTF128 $1, Y3, X7
	DIAGONAL8(16, X0, X4, X1, X5, X2, X6, X3, X7, X8, X9, X10)
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
	DOTS(16, X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15, some4, others4)
	VMOVUPS X0, (R12)
done:
	VZEROUPPER
	RET

// ROWSOF gathers eight columns at SI of four components, w apart and at from there: y0 to y3 are
// the components. Changes Y8 to Y11.
#define ROWSOF(w, at, x0, x1, x2, x3, y0, y1, y2, y3) \
	VMOVUPS (at)(SI), x0                    \
	VMOVUPS (w+at)(SI), x1                  \
	VMOVUPS (2*w+at)(SI), x2                \
	VMOVUPS (3*w+at)(SI), x3                \
	VINSERTF128 $1, (4*w+at)(SI), y0, y0    \
	VINSERTF128 $1, (5*w+at)(SI), y1, y1    \
	VINSERTF128 $1, (6*w+at)(SI), y2, y2    \
	VINSERTF128 $1, (7*w+at)(SI), y3, y3    \
	VUNPCKLPS y1, y0, Y8                    \
	VUNPCKHPS y1, y0, Y9                    \
	VUNPCKLPS y3, y2, Y10                   \
	VUNPCKHPS y3, y2, Y11                   \
	VUNPCKLPD Y10, Y8, y0                   \
	VUNPCKHPD Y10, Y8, y1                   \
	VUNPCKLPD Y11, Y9, y2                   \
	VUNPCKHPD Y11, Y9, y3

// PULL takes off 16 columns of r G, unless r, at R9, is zero.
#define PULL(at, a, b, skip) \
	MOVL (at)(R9), AX            \
	ADDL AX, AX                  \ // drops the sign: only +0 and -0 give zero
	JEQ  skip                    \
	VBROADCASTSS (at)(R9), Y14   \
	VFNMADD231PS a, Y14, Y12     \
	VFNMADD231PS b, Y14, Y13     \
skip:

#define PULL4(w, at, r, skip0, skip1, skip2, skip3) \
	ROWSOF(w, at, X0, X1, X2, X3, Y0, Y1, Y2, Y3)       \
	ROWSOF(w, 8*w+at, X4, X5, X6, X7, Y4, Y5, Y6, Y7)   \
	PULL(r, Y0, Y4, skip0)                              \
	PULL(r+4, Y1, Y5, skip1)                            \
	PULL(r+8, Y2, Y6, skip2)                            \
	PULL(r+12, Y3, Y7, skip3)

// func moveLanesAVX2(sixteens, eights, fours int, alpha float32, x, r, g []float32)
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
	PULL4(64, 0, 0, skip12, skip13, skip14, skip15)
	PULL4(64, 16, 16, skip16, skip17, skip18, skip19)
	PULL4(64, 32, 32, skip20, skip21, skip22, skip23)
	PULL4(64, 48, 48, skip24, skip25, skip26, skip27)
	ADDQ $64, R9
	LEAQ (SI)(R11*2), SI
sixteentest:
	SUBQ $1, BX
	JGE  sixteen
	MOVQ R13, SI
	MOVQ eights+8(FP), BX
	JMP  test
eight:
	PULL4(32, 0, 0, skip0, skip1, skip2, skip3)
	PULL4(32, 16, 16, skip4, skip5, skip6, skip7)
	ADDQ $32, R9
	ADDQ R11, SI
test:
	SUBQ $1, BX
	JGE  eight
	CMPQ fours+16(FP), $0
	JEQ  done
	MOVQ R12, SI
	PULL4(16, 0, 0, skip8, skip9, skip10, skip11)
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
