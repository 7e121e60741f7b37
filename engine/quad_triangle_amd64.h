// Shared by quadTriangleAVX2 and quadSixteensAVX512, the kernels for a single row x. P_i of several
// components lie beside each other as packed lower triangles: w bytes hold one element of P of each of
// w/4 components, so one vector is one element for all of them, and the same for D = x - mu and for G.
//
//	DI   D, w bytes a column          R8   G, w bytes a column
//	BX   the packed triangles         R11  bytes of D and of G
//	R10  first of the current rows    R9   a column left of them, both in bytes of D and G
//
// G[R10] is a chain over all columns; it has come as far as column R9, and G[R9] as far as row R10.

// TRI_BOTH multiplies p, the element of row r and column c, by D[c], and as its mirror image by D[r].
#define TRI_BOTH(p, x, dc, gr, dr, gc) \
	VMOVUPS p, x          \
	VFMADD231PS x, dc, gr \
	VFMADD231PS dr, x, gc

// TRI_DIAGONAL8 is the triangle on the diagonal of eight rows: column by column, from the diagonal
// down. g0 to g7 are G of the rows, dc, x and y are scratch.
#define TRI_DIAGONAL8(w, g0, g1, g2, g3, g4, g5, g6, g7, dc, x, y) \
	VMOVUPS (0*w)(DI)(R10*1), dc                          \
	VFMADD231PS (0*w)(BX), dc, g0                         \
	TRI_BOTH((1*w)(BX), y, dc, g1, (1*w)(DI)(R10*1), g0)  \
	TRI_BOTH((2*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g0)  \
	TRI_BOTH((3*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g0)  \
	TRI_BOTH((4*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g0)  \
	TRI_BOTH((5*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g0)  \
	TRI_BOTH((6*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g0)  \
	TRI_BOTH((7*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g0)  \
	VMOVUPS (1*w)(DI)(R10*1), dc                          \
	VFMADD231PS (8*w)(BX), dc, g1                         \
	TRI_BOTH((9*w)(BX), x, dc, g2, (2*w)(DI)(R10*1), g1)  \
	TRI_BOTH((10*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g1) \
	TRI_BOTH((11*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g1) \
	TRI_BOTH((12*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g1) \
	TRI_BOTH((13*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g1) \
	TRI_BOTH((14*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g1) \
	VMOVUPS (2*w)(DI)(R10*1), dc                          \
	VFMADD231PS (15*w)(BX), dc, g2                        \
	TRI_BOTH((16*w)(BX), y, dc, g3, (3*w)(DI)(R10*1), g2) \
	TRI_BOTH((17*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g2) \
	TRI_BOTH((18*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g2) \
	TRI_BOTH((19*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g2) \
	TRI_BOTH((20*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g2) \
	VMOVUPS (3*w)(DI)(R10*1), dc                          \
	VFMADD231PS (21*w)(BX), dc, g3                        \
	TRI_BOTH((22*w)(BX), x, dc, g4, (4*w)(DI)(R10*1), g3) \
	TRI_BOTH((23*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g3) \
	TRI_BOTH((24*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g3) \
	TRI_BOTH((25*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g3) \
	VMOVUPS (4*w)(DI)(R10*1), dc                          \
	VFMADD231PS (26*w)(BX), dc, g4                        \
	TRI_BOTH((27*w)(BX), y, dc, g5, (5*w)(DI)(R10*1), g4) \
	TRI_BOTH((28*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g4) \
	TRI_BOTH((29*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g4) \
	VMOVUPS (5*w)(DI)(R10*1), dc                          \
	VFMADD231PS (30*w)(BX), dc, g5                        \
	TRI_BOTH((31*w)(BX), x, dc, g6, (6*w)(DI)(R10*1), g5) \
	TRI_BOTH((32*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g5) \
	VMOVUPS (6*w)(DI)(R10*1), dc                          \
	VFMADD231PS (33*w)(BX), dc, g6                        \
	TRI_BOTH((34*w)(BX), y, dc, g7, (7*w)(DI)(R10*1), g6) \
	VMOVUPS (7*w)(DI)(R10*1), dc                          \
	VFMADD231PS (35*w)(BX), dc, g7

// TRI_LANE adds column R9 + c of G * D to lane s of a dot product.
#define TRI_LANE(w, c, x, s) \
	VMOVUPS (c*w)(R8)(R9*1), x \
	VFMADD231PS (c*w)(DI)(R9*1), x, s

// TRI_CLEAR4 sets four registers to +0.
#define TRI_CLEAR4(a, b, c, d) \
	VXORPS a, a, a \
	VXORPS b, b, b \
	VXORPS c, c, c \
	VXORPS d, d, d

// TRI_DOTS sets a0 to q = D . G. Each of the 16 virtual lanes of a reduction is a vector here: lanes
// 0 to 3 and 8 to 11 first, then the others, added in the fixed order 8 apart, 4, 2, 1.
#define TRI_DOTS(w, a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, t0, t1, t2, t3, some, others) \
	TRI_CLEAR4(a0, a1, a2, a3) \
	TRI_CLEAR4(b0, b1, b2, b3) \
	XORQ R9, R9                \
some: \
	TRI_LANE(w, 0, t0, a0)     \
	TRI_LANE(w, 1, t1, a1)     \
	TRI_LANE(w, 2, t2, a2)     \
	TRI_LANE(w, 3, t3, a3)     \
	TRI_LANE(w, 8, t0, b0)     \
	TRI_LANE(w, 9, t1, b1)     \
	TRI_LANE(w, 10, t2, b2)    \
	TRI_LANE(w, 11, t3, b3)    \
	ADDQ $(16*w), R9           \
	CMPQ R9, R11               \
	JLT  some                  \
	VADDPS b0, a0, a0          \
	VADDPS b1, a1, a1          \
	VADDPS b2, a2, a2          \
	VADDPS b3, a3, a3          \
	TRI_CLEAR4(b0, b1, b2, b3) \
	TRI_CLEAR4(c0, c1, c2, c3) \
	XORQ R9, R9                \
others: \
	TRI_LANE(w, 4, t0, b0)     \
	TRI_LANE(w, 5, t1, b1)     \
	TRI_LANE(w, 6, t2, b2)     \
	TRI_LANE(w, 7, t3, b3)     \
	TRI_LANE(w, 12, t0, c0)    \
	TRI_LANE(w, 13, t1, c1)    \
	TRI_LANE(w, 14, t2, c2)    \
	TRI_LANE(w, 15, t3, c3)    \
	ADDQ $(16*w), R9           \
	CMPQ R9, R11               \
	JLT  others                \
	VADDPS c0, b0, b0          \
	VADDPS c1, b1, b1          \
	VADDPS c2, b2, b2          \
	VADDPS c3, b3, b3          \
	VADDPS b0, a0, a0          \
	VADDPS b1, a1, a1          \
	VADDPS b2, a2, a2          \
	VADDPS b3, a3, a3          \
	VADDPS a2, a0, a0          \
	VADDPS a3, a1, a1          \
	VADDPS a1, a0, a0
