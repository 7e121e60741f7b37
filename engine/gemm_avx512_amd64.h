// Shared by asm_gemm_avx512_amd64.s and asm_ascent_avx512_amd64.s: GEMM_FETCH and GEMM_ZERO. The rest is for the
// kernels for small d of the latter: their tile of up to 6 rows and 64 columns, a pair of panels of B.
//
//	Z4 to Z7, ... Z24 to Z27   accumulators: row i is Z(4+4i) to Z(7+4i)
//	Z0 to Z3                   B[p], 64 columns    Z28, Z29   A[i][p] in all lanes, in turns
//	R8, SI                     rows 0 and 5 of A, p contiguous
//	R10, R9                    bytes from row to row of A, and three times that
//	BX, DX                     the two panels of B, 128 bytes from p to p+1
//	CX, R13                    inner indices left, rows of the tile
//	R15, AX                    address that is prefetched, and its step
//	DI, AX (at the ends)       row of C, and bytes from row to row
//
// GEMM_PAIRr is one inner index, n from the pointers, for r rows.

// GEMM_FETCH prefetches a line of the next panel of B.
#define GEMM_FETCH \
	PREFETCHT1 (R15) \
	ADDQ  AX, R15

// GEMM_ZERO clears the accumulators.
#define GEMM_ZERO \
	VEC_ZERO4(Z4, Z5, Z6, Z7) \
	VEC_ZERO4(Z8, Z9, Z10, Z11) \
	VEC_ZERO4(Z12, Z13, Z14, Z15) \
	VEC_ZERO4(Z16, Z17, Z18, Z19) \
	VEC_ZERO4(Z20, Z21, Z22, Z23) \
	VEC_ZERO4(Z24, Z25, Z26, Z27) \
	VEC_ZERO4(Z28, Z29, Z30, Z31)

// GEMM_PAIRROW is one row of the tile at one inner index.
#define GEMM_PAIRROW(a, t, c0, c1, c2, c3) \
	VBROADCASTSS a, t      \ // A[i][p] in all lanes
	VFMADD231PS  Z0, t, c0 \ // C[i][0:16] += A[i][p] * B[p][0:16]
	VFMADD231PS  Z1, t, c1 \
	VFMADD231PS  Z2, t, c2 \
	VFMADD231PS  Z3, t, c3

// GEMM_PAIRB loads the row of B of inner index n.
#define GEMM_PAIRB(n) \
	VMOVUPS (128*n)(BX), Z0    \
	VMOVUPS (128*n+64)(BX), Z1 \
	VMOVUPS (128*n)(DX), Z2    \
	VMOVUPS (128*n+64)(DX), Z3

#define GEMM_PAIR1(n) \
	GEMM_PAIRB(n) \
	GEMM_PAIRROW((4*n)(R8), Z28, Z4, Z5, Z6, Z7)

#define GEMM_PAIR2(n) GEMM_PAIR1(n); GEMM_PAIRROW((4*n)(R8)(R10*1), Z29, Z8, Z9, Z10, Z11)
#define GEMM_PAIR3(n) GEMM_PAIR2(n); GEMM_PAIRROW((4*n)(R8)(R10*2), Z28, Z12, Z13, Z14, Z15)
#define GEMM_PAIR4(n) GEMM_PAIR3(n); GEMM_PAIRROW((4*n)(R8)(R9*1), Z29, Z16, Z17, Z18, Z19)
#define GEMM_PAIR5(n) GEMM_PAIR4(n); GEMM_PAIRROW((4*n)(R8)(R10*4), Z28, Z20, Z21, Z22, Z23)
#define GEMM_PAIR6(n) GEMM_PAIR5(n); GEMM_PAIRROW((4*n)(SI), Z29, Z24, Z25, Z26, Z27)

// GEMM_PAIRLOOP runs step over the inner indices up to the last four (CX is four less), four at a time,
// then one at a time, and goes on at the label store of the function.
#define GEMM_PAIRLOOP(step, four, fourtest, one) \
	JMP   fourtest \
four: \
	GEMM_FETCH     \
	step(0)        \
	step(1)        \
	GEMM_FETCH     \
	step(2)        \
	step(3)        \
	ADDQ  $16, R8  \
	ADDQ  $16, SI  \
	ADDQ  $512, BX \
	ADDQ  $512, DX \
fourtest: \
	SUBQ  $4, CX   \
	JGE   four     \
	ADDQ  $4, CX   \
	JEQ   store    \
one: \
	step(0)        \
	ADDQ  $4, R8   \
	ADDQ  $4, SI   \
	ADDQ  $128, BX \
	ADDQ  $128, DX \
	SUBQ  $1, CX   \
	JNE   one      \
	JMP   store

// GEMM_PAIRLOOPS is that loop for the R13 rows of the tile.
#define GEMM_PAIRLOOPS \
	CMPQ R13, $5                                      \
	JEQ  wide5                                        \
	JGT  wide6                                        \
	CMPQ R13, $3                                      \
	JEQ  wide3                                        \
	JGT  wide4                                        \
	CMPQ R13, $1                                      \
	JGT  wide2                                        \
	GEMM_PAIRLOOP(GEMM_PAIR1, four1, fourtest1, one1) \
wide2:	GEMM_PAIRLOOP(GEMM_PAIR2, four2, fourtest2, one2) \
wide3:	GEMM_PAIRLOOP(GEMM_PAIR3, four3, fourtest3, one3) \
wide4:	GEMM_PAIRLOOP(GEMM_PAIR4, four4, fourtest4, one4) \
wide5:	GEMM_PAIRLOOP(GEMM_PAIR5, four5, fourtest5, one5) \
wide6:	GEMM_PAIRLOOP(GEMM_PAIR6, four6, fourtest6, one6)

// GEMM_PAIRLOADROW loads a row of C if the tile has it, or jumps to the label start of the function;
// GEMM_PAIRSTOREROW stores one. DI walks down the rows, AX bytes apart.
#define GEMM_PAIRLOADROW(row, c0, c1, c2, c3) \
	CMPQ R13, $row      \
	JLE  start          \
	VMOVUPS (DI), c0    \
	VMOVUPS 64(DI), c1  \
	VMOVUPS 128(DI), c2 \
	VMOVUPS 192(DI), c3 \
	ADDQ AX, DI

#define GEMM_PAIRSTOREROW(row, c0, c1, c2, c3) \
	VMOVUPS c0, (DI)    \
	VMOVUPS c1, 64(DI)  \
	VMOVUPS c2, 128(DI) \
	VMOVUPS c3, 192(DI) \
	ADDQ AX, DI

// GEMM_PAIRLAST2 is the last four inner indices of two rows, GEMM_PAIRLAST1 of one row.
#define GEMM_PAIRLASTOF2(n, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	GEMM_PAIRB(n)                             \
	GEMM_PAIRROW((4*n)a, Z28, c0, c1, c2, c3) \
	GEMM_PAIRROW((4*n)b, Z29, d0, d1, d2, d3)

#define GEMM_PAIRLAST2(a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	GEMM_PAIRLASTOF2(0, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	GEMM_PAIRLASTOF2(1, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	GEMM_PAIRLASTOF2(2, a, b, c0, c1, c2, c3, d0, d1, d2, d3) \
	GEMM_PAIRLASTOF2(3, a, b, c0, c1, c2, c3, d0, d1, d2, d3)

#define GEMM_PAIRLASTOF1(n, a, c0, c1, c2, c3) \
	GEMM_PAIRB(n) \
	GEMM_PAIRROW((4*n)a, Z28, c0, c1, c2, c3)

#define GEMM_PAIRLAST1(a, c0, c1, c2, c3) \
	GEMM_PAIRLASTOF1(0, a, c0, c1, c2, c3) \
	GEMM_PAIRLASTOF1(1, a, c0, c1, c2, c3) \
	GEMM_PAIRLASTOF1(2, a, c0, c1, c2, c3) \
	GEMM_PAIRLASTOF1(3, a, c0, c1, c2, c3)

// GEMM_PAIREND ends a tile with the last four inner indices, two rows at a time, and goes on at the
// label stored of the function. finish(row, c0, c1, c2, c3) takes the results of a row while the next
// rows are multiplied: with all stores at the end nothing behind them could start.
#define GEMM_PAIREND(finish) \
	CMPQ R13, $2                                    \
	JLT  last0                                      \
	GEMM_PAIRLAST2((R8), (R8)(R10*1), Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11)\
	finish(0, Z4, Z5, Z6, Z7)                       \
	finish(1, Z8, Z9, Z10, Z11)                     \
	CMPQ R13, $4                                    \
	JLT  last2                                      \
	GEMM_PAIRLAST2((R8)(R10*2), (R8)(R9*1), Z12, Z13, Z14, Z15, Z16, Z17, Z18, Z19)\
	finish(2, Z12, Z13, Z14, Z15)                   \
	finish(3, Z16, Z17, Z18, Z19)                   \
	CMPQ R13, $6                                    \
	JLT  last4                                      \
	GEMM_PAIRLAST2((R8)(R10*4), (SI), Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27)\
	finish(4, Z20, Z21, Z22, Z23)                   \
	finish(5, Z24, Z25, Z26, Z27)                   \
	JMP  stored                                     \
last0: \
	GEMM_PAIRLAST1((R8), Z4, Z5, Z6, Z7)            \
	finish(0, Z4, Z5, Z6, Z7)                       \
	JMP  stored                                     \
last2: \
	CMPQ R13, $2                                    \
	JEQ  stored                                     \
	GEMM_PAIRLAST1((R8)(R10*2), Z12, Z13, Z14, Z15) \
	finish(2, Z12, Z13, Z14, Z15)                   \
	JMP  stored                                     \
last4: \
	CMPQ R13, $4                                    \
	JEQ  stored                                     \
	GEMM_PAIRLAST1((R8)(R10*4), Z20, Z21, Z22, Z23) \
	finish(4, Z20, Z21, Z22, Z23)

// GEMM_PAIRLOAD loads the old values of all rows of a tile.
#define GEMM_PAIRLOAD \
	GEMM_PAIRLOADROW(0, Z4, Z5, Z6, Z7)     \
	GEMM_PAIRLOADROW(1, Z8, Z9, Z10, Z11)   \
	GEMM_PAIRLOADROW(2, Z12, Z13, Z14, Z15) \
	GEMM_PAIRLOADROW(3, Z16, Z17, Z18, Z19) \
	GEMM_PAIRLOADROW(4, Z20, Z21, Z22, Z23) \
	GEMM_PAIRLOADROW(5, Z24, Z25, Z26, Z27)
