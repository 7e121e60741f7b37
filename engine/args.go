package engine

import "unsafe"

// quadSmallDArgs are the arguments of quadSmallD: for component c of comps and row b of x,
//
//	g[c*gc+b*gs+j] = chain over p of fma(x[b*xs+p]-mu[c*d+p], P_c[p, j], ...)
//	q[c*qc+b] = the dot product of x[b]-mu_c and that row of g
//
// The assembly knows the offsets of the fields by go_asm.h.
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
// move what p points to to the heap. The callee must not keep p.
func onStack[T any](p *T) *T { return (*T)(hide(unsafe.Pointer(p))) }
