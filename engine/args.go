package engine

import "unsafe"

// panelArgs are the arguments of the products panel, narrow and panelAt. The assembly knows the
// offsets of the fields of this and the following types by go_asm.h.
type panelArgs struct {
	k          int // inner indices
	a          []float32
	ars, acs   int // floats from row to row of A and (not of panelAt) from inner index to inner index
	tileStride int // floats from tile to tile of A, or 0 where its rows follow each other
	b          []float32
	brs        int     // floats from row to row of B
	at         []int32 // where the rows of B begin, for panelAt
	c          []float32
	crs        int // floats from row to row of C
	cols       int // columns of C, for narrow

	tiles, rows, tall int // tiles of rows rows, the first tall of them with one row more

	acc    bool      // whether the chains go on from the old C
	next   []float32 // what is prefetched, step bytes at a time, if step is not 0
	step   int
	panels int // panels of B that follow each other

	// For panelAt, floats from inner index to inner index of A: the same for all, or one number for each. stepsBy
	// is 0 or 4, the bytes from one to the next.
	steps   []int32
	stepsBy int
}

// quadSmallDArgs are the arguments of quadSmallD: for component c of comps and row b of x,
//
//	g[c*gc+b*gs+j] = chain over p of fma(x[b*xs+p]-mu[c*d+p], P_c[p, j], ...)
//	q[c*qc+b] = the dot product of x[b]-mu_c and that row of g
type quadSmallDArgs struct {
	comps  int
	g      []float32
	gc, gs int // floats from component to component and from row to row of g
	q      []float32
	qc     int // floats from component to component of q
	x      []float32
	xs     int // floats from row to row of x
	mu     []float32
	d      int      // features, a multiple of smallDCols
	p      []Packed // one for each component, or one for all
	work   []float32

	tiles, rows, tall int // tiles of rows rows, the first tall of them with one row more

	next []float32 // what is prefetched, step bytes at a time, if step is not 0
	step int
}

// vjpSmallDArgs are the arguments of vjpSmallD: for row b of v,
//
//	w[b, p] = fma(-t[b], x[b*xs+p]-mu[p], -(r[b]*u[b*us+p])), and +0 where r[b] == 0
//	v[b*vs+j] = chain over p of fma(w[b, p], P[p, j], ...)
//
// from +0, or from the old v if acc is set.
type vjpSmallDArgs struct {
	v    []float32
	vs   int // floats from row to row of v
	r, u []float32
	us   int // floats from row to row of u
	t, x []float32
	xs   int // floats from row to row of x
	mu   []float32
	p    []float32 // packed
	work []float32 // scratch for w of one tile

	tiles, rows, tall int // tiles of rows rows, the first tall of them with one row more

	acc  bool
	next []float32 // what is prefetched, step bytes at a time, if step is not 0
	step int
}

// subRowsArgs are the arguments of subRows, for i < rows and j < n:
//
//	dst[i*ds+j] = x[i*xs+j] - y[i*ys+j]
//
// A stride ys of 0 takes the same vector from every row.
type subRowsArgs struct {
	dst     []float32
	ds      int // floats from row to row of dst
	x       []float32
	xs      int // floats from row to row of x
	y       []float32
	ys      int // floats from row to row of y
	rows, n int
}

// axpyProductsArgs are the arguments of axpyProducts, for i < rows and j < n:
//
//	dst[i*ds+j] = fma(alpha, g[i*gs+j] + s[i*gs+j]*x[i*xs+j], dst[i*ds+j])
//
// The product is rounded before it is added.
type axpyProductsArgs struct {
	dst     []float32
	ds      int // floats from row to row of dst
	alpha   float32
	g, s    []float32
	gs      int // floats from row to row of g and s
	x       []float32
	xs      int // floats from row to row of x
	rows, n int
}

// gradRowsArgs are the arguments of gradRows, for the rows i of r and j < n:
//
//	dst[i*ds+j] = fma(-(h*t[i]), y[i*ys+j], -(r[i]*x[i*xs+j])), and +0 where r[i] == 0
//
// That is the left operand of products with a precision: of low rank -r_i Z_i in the ascent (h = 0), of all
// forms -N_i in the backward pass (h = 1).
type gradRowsArgs struct {
	dst  []float32
	ds   int // floats from row to row of dst
	r, x []float32
	xs   int // floats from row to row of x
	t    []float32
	h    float32
	y    []float32
	ys   int // floats from row to row of y
	n    int
}

// gradDeltasArgs are the arguments of gradDeltas, for the rows i of r and the columns j of mu:
//
//	d[i*ld+j] = x[i*xs+j] - mu[j]
//	w[i*ld+j] = fma(-(h*t[i]), d[i*ld+j], -(r[i]*u[i*us+j])), and +0 where r[i] == 0
//
// That is D_i, and W_i of the backward pass with h = 1/2. The rows with r[i] != 0 are subtracted from the
// sums that dmu_i consists of, in chains of fused multiply-adds:
//
//	sr[j] -= r[i]*u[i*us+j]        st[j] -= t[i]*d[i*ld+j]
type gradDeltasArgs struct {
	w, d       []float32
	ld         int // floats from row to row of w and d
	r, u       []float32
	us         int // floats from row to row of u
	t          []float32
	h          float32
	x          []float32
	xs         int // floats from row to row of x
	mu, sr, st []float32
}

// moveRowsArgs are the arguments of moveRows, for b < rows and j < n, with the gradient as in
// gradientGeneric from r[i*rs+b] and g[i*gs+b*gr+j] of the components i < k:
//
//	x[b*xs+j] = fma(alpha, gradient, x[b*xs+j])
//
// The kernel changes its arguments.
type moveRowsArgs struct {
	alpha   float32
	x       []float32
	xs      int // floats from row to row of x
	r       []float32
	rs      int // floats from component to component of r
	g       []float32
	gs, gr  int // floats from component to component and from row to row of g
	rows, n int // n is a multiple of moveCols
	k       int
}

// onStack returns p hidden from escape analysis: a call through a function of a table would otherwise
// move what p points to to the heap. The callee must not keep p. While the address is an integer there
// is no call, so the stack does not move.
//
//go:nosplit
func onStack[T any](p *T) *T {
	address := uintptr(unsafe.Pointer(p))
	return *(**T)(unsafe.Pointer(&address))
}
