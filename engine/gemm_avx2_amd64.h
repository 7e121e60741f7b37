// Shared by sgemmAVX2_6x16, sgemmAtAVX2_6x16 and the small-d kernels of asm_ascent_amd64.s: one
// tile of C of up to 6 rows and 16 columns.
//
//	Y4, Y5 to Y14, Y15   accumulators: row i is (Y(4+2i), Y(5+2i))
//	Y0, Y1               B[p], 16 columns     Y2   A[i][p] in all lanes
//	R8, R9               rows 0 and 3 of A    R10  bytes from row to row of A
//	R11                  bytes from p to p+1 in A
//	BX, R12              B[p], and bytes from p to p+1
//	CX                   inner indices p left
//	R15, DX              address that is prefetched, and its step
//	DI, SI, R13          rows 0 and 3 of C, and bytes from row to row
//	AX                   rows of the tile
//
// GEMM_STEPr is one inner index for r rows, GEMM_LATEr the same for rows 3 to r-1 only. Their
// parameters (n, s): inner index n relative to the pointers, with s bytes from p to p+1 in A and 64
// in B; (0, 0) at the pointers themselves.

// GEMM_ROW is one row of the tile at one inner index.
#define GEMM_ROW(a, c0, c1) \
	VBROADCASTSS a, Y2      \ // A[i][p] in all lanes
	VFMADD231PS  Y0, Y2, c0 \ // C[i][0:8] += A[i][p] * B[p][0:8]
	VFMADD231PS  Y1, Y2, c1   // C[i][8:16] += A[i][p] * B[p][8:16]

// Inner index n from where R8 and BX are, in rows of A and B that are s and 64 bytes apart from
// one inner index to the next if n is not 0.
#define GEMM_STEP1(n, s) \
	VMOVUPS (64*n)(BX), Y0    \
	VMOVUPS (64*n+32)(BX), Y1 \
	GEMM_ROW((s*n)(R8), Y4, Y5)

#define GEMM_STEP2(n, s) GEMM_STEP1(n, s); GEMM_ROW((s*n)(R8)(R10*1), Y6, Y7)
#define GEMM_STEP3(n, s) GEMM_STEP2(n, s); GEMM_ROW((s*n)(R8)(R10*2), Y8, Y9)
#define GEMM_STEP4(n, s) GEMM_STEP3(n, s); GEMM_ROW((s*n)(R9), Y10, Y11)
#define GEMM_STEP5(n, s) GEMM_STEP4(n, s); GEMM_ROW((s*n)(R9)(R10*1), Y12, Y13)
#define GEMM_STEP6(n, s) GEMM_STEP5(n, s); GEMM_ROW((s*n)(R9)(R10*2), Y14, Y15)

#define GEMM_LATE5(n, s) \
	VMOVUPS (64*n)(BX), Y0        \
	VMOVUPS (64*n+32)(BX), Y1     \
	GEMM_ROW((s*n)(R9), Y10, Y11) \
	GEMM_ROW((s*n)(R9)(R10*1), Y12, Y13)

#define GEMM_LATE6(n, s) GEMM_LATE5(n, s); GEMM_ROW((s*n)(R9)(R10*2), Y14, Y15)

// GEMM_NEXT advances to the next inner index.
#define GEMM_NEXT \
	ADDQ R11, R8 \
	ADDQ R11, R9 \
	ADDQ R12, BX

// GEMM_FETCH prefetches a line of the next panel of B, once every four inner indices.
#define GEMM_FETCH \
	PREFETCHT1 (R15) \
	ADDQ DX, R15

// GEMM_LOOP runs step over all inner indices, four at a time, then one at a time, and jumps to done.
#define GEMM_LOOP(step, four, fourtest, one, onetest, done) \
	JMP   fourtest \
four: \
	GEMM_FETCH     \
	step(0, 0)     \
	GEMM_NEXT      \
	step(0, 0)     \
	GEMM_NEXT      \
	step(0, 0)     \
	GEMM_NEXT      \
	step(0, 0)     \
	GEMM_NEXT      \
fourtest: \
	SUBQ  $4, CX   \
	JGE   four     \
	ADDQ  $4, CX   \
	JMP   onetest  \
one: \
	step(0, 0)     \
	GEMM_NEXT      \
onetest: \
	SUBQ  $1, CX   \
	JGE   one      \
	JMP   done

// GEMM_AHEAD prefetches B ten cache lines ahead into L1, for panels that stream from L2. GEMM_NEAR
// stands in its place where the panel stays in L1.
#define GEMM_NEAR(n)
#define GEMM_AHEAD(n) PREFETCHT0 (64*n+640)(BX)

// GEMM_EIGHT is eight inner indices, s bytes apart in A and 64 in B, whose pointers are advanced
// once: an eighth fewer instructions than GEMM_LOOP. GEMM_LASTFIVE is its last five.
#define GEMM_EIGHT(step, s, ahead) \
	GEMM_FETCH \
	ahead(0)   \
	step(0, s) \
	ahead(1)   \
	step(1, s) \
	ahead(2)   \
	step(2, s) \
	GEMM_LASTFIVE(step, s, ahead)

#define GEMM_LASTFIVE(step, s, ahead) \
	ahead(3)        \
	step(3, s)      \
	GEMM_FETCH      \
	ahead(4)        \
	step(4, s)      \
	ahead(5)        \
	step(5, s)      \
	ahead(6)        \
	step(6, s)      \
	ahead(7)        \
	step(7, s)      \
	ADDQ $(8*s), R8 \
	ADDQ $(8*s), R9 \
	ADDQ $512, BX

// GEMM_DENSELOOP runs GEMM_EIGHT as long as eight inner indices are left and then goes on at the label
// fourtest of a GEMM_LOOP.
#define GEMM_DENSELOOP(step, s, eight, eighttest, fourtest) \
	JMP   eighttest                \
eight: \
	GEMM_EIGHT(step, s, GEMM_NEAR) \
eighttest: \
	SUBQ  $8, CX                   \
	JGE   eight                    \
	ADDQ  $8, CX                   \
	JMP   fourtest

// GEMM_LATELOOP is the loop for a tile of five or six rows with at least eight inner indices, whose
// rows 0 to 2 have already had the first three: these for the later rows, then all rows. It ends with
// a jump to the label store3 of the function.
#define GEMM_LATELOOP(step, late, s, ahead, eight, eighttest, one, onetest) \
	late(0, s)                    \
	late(1, s)                    \
	late(2, s)                    \
	GEMM_FETCH                    \
	GEMM_LASTFIVE(step, s, ahead) \
	SUBQ $8, CX                   \
	JMP  eighttest                \
eight: \
	GEMM_EIGHT(step, s, ahead)    \
eighttest: \
	SUBQ $8, CX                   \
	JGE  eight                    \
	ADDQ $8, CX                   \
	JMP  onetest                  \
one: \
	step(0, s)                    \
	ADDQ $s, R8                   \
	ADDQ $s, R9                   \
	ADDQ $64, BX                  \
onetest: \
	SUBQ $1, CX                   \
	JGE  one                      \
	JMP  store3

// GEMM_ZERO clears the accumulators, GEMM_ZERO3 those of rows 0 to 2, GEMM_ZEROLATE those of rows
// 3 to 5.
#define GEMM_ZERO GEMM_ZERO3 \
	GEMM_ZEROLATE

#define GEMM_ZEROLATE \
	VEC_ZERO4(Y10, Y11, Y12, Y13) \
	VXORPS Y14, Y14, Y14 \
	VXORPS Y15, Y15, Y15

#define GEMM_ZERO3 \
	VEC_ZERO4(Y4, Y5, Y6, Y7) \
	VXORPS Y8, Y8, Y8 \
	VXORPS Y9, Y9, Y9

// GEMM_LOAD loads the AX rows of C into the accumulators and jumps to start when there are no more.
#define GEMM_LOAD(start) \
	VMOVUPS (DI), Y4           \
	VMOVUPS 32(DI), Y5         \
	CMPQ AX, $2                \
	JLT  start                 \
	VMOVUPS (DI)(R13*1), Y6    \
	VMOVUPS 32(DI)(R13*1), Y7  \
	JEQ  start                 \
	VMOVUPS (DI)(R13*2), Y8    \
	VMOVUPS 32(DI)(R13*2), Y9  \
	CMPQ AX, $4                \
	JLT  start                 \
	VMOVUPS (SI), Y10          \
	VMOVUPS 32(SI), Y11        \
	JEQ  start                 \
	VMOVUPS (SI)(R13*1), Y12   \
	VMOVUPS 32(SI)(R13*1), Y13 \
	CMPQ AX, $6                \
	JLT  start                 \
	VMOVUPS (SI)(R13*2), Y14   \
	VMOVUPS 32(SI)(R13*2), Y15

// GEMM_STORE3 stores rows 0 to 2, s bytes apart from p on; GEMM_STORELATE stores rows 3 and up of a
// tile of five or six rows and jumps to done after the last. More than six stores in a row stall the
// loads behind them, so other work is done between the two. GEMM_LOAD3 and GEMM_LOADLATE load them.
#define GEMM_STORE3(p, s) \
	VMOVUPS Y4, (p)        \
	VMOVUPS Y5, 32(p)      \
	VMOVUPS Y6, (p)(s*1)   \
	VMOVUPS Y7, 32(p)(s*1) \
	VMOVUPS Y8, (p)(s*2)   \
	VMOVUPS Y9, 32(p)(s*2)

#define GEMM_STORELATE(p, s, rows, done) \
	VMOVUPS Y10, (p)        \
	VMOVUPS Y11, 32(p)      \
	VMOVUPS Y12, (p)(s*1)   \
	VMOVUPS Y13, 32(p)(s*1) \
	CMPQ    rows, $6        \
	JLT     done            \
	VMOVUPS Y14, (p)(s*2)   \
	VMOVUPS Y15, 32(p)(s*2)

#define GEMM_LOAD3(p, s) \
	VMOVUPS (p), Y4        \
	VMOVUPS 32(p), Y5      \
	VMOVUPS (p)(s*1), Y6   \
	VMOVUPS 32(p)(s*1), Y7 \
	VMOVUPS (p)(s*2), Y8   \
	VMOVUPS 32(p)(s*2), Y9

#define GEMM_LOADLATE(p, s, rows, done) \
	VMOVUPS (p), Y10        \
	VMOVUPS 32(p), Y11      \
	VMOVUPS (p)(s*1), Y12   \
	VMOVUPS 32(p)(s*1), Y13 \
	CMPQ    rows, $6        \
	JLT     done            \
	VMOVUPS (p)(s*2), Y14   \
	VMOVUPS 32(p)(s*2), Y15

// GEMM_STORE stores the AX rows of the tile. It jumps to the label done of the function after the last.
#define GEMM_STORE \
	VMOVUPS Y4, (DI)           \
	VMOVUPS Y5, 32(DI)         \
	CMPQ AX, $2                \
	JLT  done                  \
	VMOVUPS Y6, (DI)(R13*1)    \
	VMOVUPS Y7, 32(DI)(R13*1)  \
	JEQ  done                  \
	VMOVUPS Y8, (DI)(R13*2)    \
	VMOVUPS Y9, 32(DI)(R13*2)  \
	CMPQ AX, $4                \
	JLT  done                  \
	VMOVUPS Y10, (SI)          \
	VMOVUPS Y11, 32(SI)        \
	JEQ  done                  \
	VMOVUPS Y12, (SI)(R13*1)   \
	VMOVUPS Y13, 32(SI)(R13*1) \
	CMPQ AX, $6                \
	JLT  done                  \
	VMOVUPS Y14, (SI)(R13*2)   \
	VMOVUPS Y15, 32(SI)(R13*2)
