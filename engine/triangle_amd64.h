// What the kernels of a single row have in common, for w bytes of components beside each other: DI is
// D and R8 G, R11 bytes each, a vector for each column; BX walks through the lower triangles, and R10
// is the first of some rows, R9 a column left of them, both in bytes of D and G. G[R10], a chain over
// all columns, has come as far as R9, and G[R9] as far as R10.

// BOTH multiplies a number, of row r and column c, with D[c], and as its mirror image with D[r].
#define BOTH(p, x, dc, gr, dr, gc) \
	VMOVUPS p, x          \
	VFMADD231PS x, dc, gr \
	VFMADD231PS dr, x, gc

// The triangle on the diagonal: of column c of the rows those from c on.
#define DIAGONAL8(w, g0, g1, g2, g3, g4, g5, g6, g7, dc, x, y) \
	VMOVUPS (0*w)(DI)(R10*1), dc                      \
	VFMADD231PS (0*w)(BX), dc, g0                     \
	BOTH((1*w)(BX), y, dc, g1, (1*w)(DI)(R10*1), g0)  \
	BOTH((2*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g0)  \
	BOTH((3*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g0)  \
	BOTH((4*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g0)  \
	BOTH((5*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g0)  \
	BOTH((6*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g0)  \
	BOTH((7*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g0)  \
	VMOVUPS (1*w)(DI)(R10*1), dc                      \
	VFMADD231PS (8*w)(BX), dc, g1                     \
	BOTH((9*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g1)  \
	BOTH((10*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g1) \
	BOTH((11*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g1) \
	BOTH((12*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g1) \
	BOTH((13*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g1) \
	BOTH((14*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g1) \
	VMOVUPS (2*w)(DI)(R10*1), dc                      \
	VFMADD231PS (15*w)(BX), dc, g2                    \
	BOTH((16*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g2) \
	BOTH((17*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g2) \
	BOTH((18*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g2) \
	BOTH((19*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g2) \
	BOTH((20*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g2) \
	VMOVUPS (3*w)(DI)(R10*1), dc                      \
	VFMADD231PS (21*w)(BX), dc, g3                    \
	BOTH((22*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g3) \
	BOTH((23*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g3) \
	BOTH((24*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g3) \
	BOTH((25*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g3) \
	VMOVUPS (4*w)(DI)(R10*1), dc                      \
	VFMADD231PS (26*w)(BX), dc, g4                    \
	BOTH((27*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g4) \
	BOTH((28*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g4) \
	BOTH((29*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g4) \
	VMOVUPS (5*w)(DI)(R10*1), dc                      \
	VFMADD231PS (30*w)(BX), dc, g5                    \
	BOTH((31*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g5) \
	BOTH((32*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g5) \
	VMOVUPS (6*w)(DI)(R10*1), dc                      \
	VFMADD231PS (33*w)(BX), dc, g6                    \
	BOTH((34*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g6) \
	VMOVUPS (7*w)(DI)(R10*1), dc                      \
	VFMADD231PS (35*w)(BX), dc, g7

// LANE adds column R9 + c of G * D to one of the lanes that a dot product has.
#define LANE(w, c, x, s) \
	VMOVUPS (c*w)(R8)(R9*1), x         \
	VFMADD231PS (c*w)(DI)(R9*1), x, s

// CLEAR4 sets four registers to +0.
#define CLEAR4(a, b, c, d) \
	VXORPS a, a, a \
	VXORPS b, b, b \
	VXORPS c, c, c \
	VXORPS d, d, d

// DOTS sets a0 to q. Of the 16 lanes, each a vector here, first those numbered 0 to 3 and 8 to 11
// are made, then the others.
#define DOTS(w, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, t0, t1, t2, t3, some, others) \
	CLEAR4(a0, a1, a2, a3)  \
	CLEAR4(b0, b1, b2, b3)  \
	XORQ R9, R9             \
some: \
	LANE(w, 0, t0, a0)      \
	LANE(w, 1, t1, a1)      \
	LANE(w, 2, t2, a2)      \
	LANE(w, 3, t3, a3)      \
	LANE(w, 8, t0, b0)      \
	LANE(w, 9, t1, b1)      \
	LANE(w, 10, t2, b2)     \
	LANE(w, 11, t3, b3)     \
	ADDQ $(16*w), R9        \
	CMPQ R9, R11            \
	JLT  some               \
	VADDPS b0, a0, a0       \
	VADDPS b1, a1, a1       \
	VADDPS b2, a2, a2       \
	VADDPS b3, a3, a3       \
	CLEAR4(b0, b1, b2, b3)  \
	CLEAR4(c0, c1, c2, c3)  \
	XORQ R9, R9             \
others: \
	LANE(w, 4, t0, b0)      \
	LANE(w, 5, t1, b1)      \
	LANE(w, 6, t2, b2)      \
	LANE(w, 7, t3, b3)      \
	LANE(w, 12, t0, c0)     \
	LANE(w, 13, t1, c1)     \
	LANE(w, 14, t2, c2)     \
	LANE(w, 15, t3, c3)     \
	ADDQ $(16*w), R9        \
	CMPQ R9, R11            \
	JLT  others             \
	VADDPS c0, b0, b0       \
	VADDPS c1, b1, b1       \
	VADDPS c2, b2, b2       \
	VADDPS c3, b3, b3       \
	VADDPS b0, a0, a0       \
	VADDPS b1, a1, a1       \
	VADDPS b2, a2, a2       \
	VADDPS b3, a3, a3       \
	VADDPS a2, a0, a0       \
	VADDPS a3, a1, a1       \
	VADDPS a1, a0, a0
