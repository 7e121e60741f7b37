package engine

import "unsafe"

// panelArgs are the arguments of the products panel, narrow, pair and panelAt. The assembly knows the
// offsets of the fields of this and the following types by go_asm.h.
type panelArgs struct {
	k          int // inner indices
	a          []float32
	ars, acs   int // floats from row to row of A and from inner index to inner index
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
	panels int // panels of B, or pairs of panels, that follow each other
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

// onStack returns p hidden from escape analysis: a call through a function of a table would otherwise
// move what p points to to the heap. The callee must not keep p. While the address is an integer there
// is no call, so the stack does not move.
//
//go:nosplit
func onStack[T any](p *T) *T {
	address := uintptr(unsafe.Pointer(p))
	return *(**T)(unsafe.Pointer(&address))
}
