package engine

import (
	"math"
	"testing"

	"dpnbench/engine/num"
)

type elementwiseCase struct {
	name    string
	buffers int
	scalars int
	run     func(kern *kernels, b [][]float32, s []float32)
}

var elementwiseCases = []elementwiseCase{
	{"multiply", 3, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.multiply(b[0], b[1], b[2]) }},
	{"axpy", 3, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(b[0], s[0], b[1], b[2]) }},
	{"axpy, dst = x", 2, 1,
		func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(b[0], s[0], b[0], b[1]) }},
	{"axpy, dst = y", 2, 1,
		func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(b[0], s[0], b[1], b[0]) }},
	{"axpy, all one", 1, 1,
		func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(b[0], s[0], b[0], b[0]) }},
	{"sum", 3, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(b[0], 1, b[1], b[2]) }},
	{"scale", 2, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.scale(b[0], s[0], b[1]) }},
	{"scale, dst = x", 1, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.scale(b[0], s[0], b[0]) }},
	{"decay", 1, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.decay(s[0], b[0]) }},
	{"normalise", 2, 2, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.normalise(b[0], b[1], double(s[0]), double(s[1]))
	}},
	{"normalise, dst = x", 1, 2, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.normalise(b[0], b[0], double(s[0]), double(s[1]))
	}},
	{"reluBackward, y = x", 2, 0,
		func(kern *kernels, b [][]float32, s []float32) { kern.table.reluBackward(b[0], b[1], b[1]) }},
	{"reluBackward, all one", 1, 0,
		func(kern *kernels, b [][]float32, s []float32) { kern.table.reluBackward(b[0], b[0], b[0]) }},
	{"reluBackward", 3, 0, func(kern *kernels, b [][]float32,
		s []float32) {
		kern.table.reluBackward(b[0], b[1], b[2])
	}},
	{"reluBackward, dst = y", 2, 0,
		func(kern *kernels, b [][]float32, s []float32) { kern.table.reluBackward(b[0], b[1], b[0]) }},
	{"normBackward", 3, 3, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.normBackward(b[0], b[1], b[2], double(s[0]), double(s[1]), double(s[2]))
	}},
	{"normBackward, dst = y", 2, 3, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.normBackward(b[0], b[1], b[0], double(s[0]), double(s[1]), double(s[2]))
	}},
	{"adam", 4, 8, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.adam(b[0], b[1], b[2], b[3], &AdamCoefficients{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]})
	}},
	{"exp", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.exp(b[0], b[1]) }},
	{"exp, dst = x", 1, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.exp(b[0], b[0]) }},
	{"log", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.log(b[0], b[1]) }},
	{"log, dst = x", 1, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.log(b[0], b[0]) }},
}

func TestParityElementwise(t *testing.T) {
	eachAssembly(t, func(h *parity) {
		for _, e := range elementwiseCases {
			h.elementwise(e)
		}
	})
}

func (h *parity) elementwise(e elementwiseCase) {
	sample := func(places, n int, density float64, change func(b [][]float32)) {
		bufs := make([][]float32, e.buffers)
		for i := range bufs {
			bufs[i] = h.numbers(n, density)
		}
		s := h.numbers(e.scalars, density/4)
		if change != nil {
			change(bufs)
		}
		run := func(kern *kernels, b [][]float32) { e.run(kern, b, s) }
		h.same(places, run, bufs, "%s: n %d, scalars %v, density %v", e.name, n, s, density)
	}
	for _, n := range tailLengths() {
		for i, density := range densities {
			places := 2
			if i == n%len(densities) {
				places = inPlaces
			}
			sample(places, n, density, nil)
		}
	}
	for _, n := range []int{1, 3, 7, 8, 15, 17, 21} { // a special value at every position of a buffer
		for j := range n {
			for _, v := range specialFloats {
				sample(1, n, 0, func(b [][]float32) { b[h.rng.IntN(len(b))][j] = v })
			}
		}
	}
	if e.buffers > 1 { // every pair of special values
		n := len(specialFloats)
		sample(2, n*n, 1, func(b [][]float32) {
			for j := range n * n {
				b[len(b)-1][j], b[len(b)-2][j] = specialFloats[j/n], specialFloats[j%n]
			}
		})
	}
}

// rowStrides returns strides for rows of n elements: dense, with gaps, 0 (one row read repeatedly),
// and with overlap.
func rowStrides(n int) []int { return []int{n, n + 3, 0, (n + 1) / 2} }

func TestParitySubRows(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).subRows) })
}

func (h *parity) subRows() {
	for n := range 40 {
		for rows := range 4 {
			for c, xs := range rowStrides(n) {
				ys, ds := rowStrides(n)[(c+2)%4], rowStrides(n)[(c+rows)%3]
				density := densities[c%3]
				x, y := h.numbers(span(rows, xs, n), density), h.numbers(span(rows, ys, n), density)
				dst := h.numbers(span(rows, ds, n)+2, 0)
				h.same(3, func(kern *kernels, b [][]float32) {
					kern.table.subRows(&subRowsArgs{
						dst: b[0], ds: ds, x: b[1], xs: xs, y: b[2], ys: ys, rows: rows, n: n,
					})
				}, [][]float32{dst, x, y}, "subRows: n %d, rows %d, ds %d, xs %d, ys %d", n, rows, ds, xs, ys)
				h.same(2, func(kern *kernels, b [][]float32) {
					kern.table.subRows(&subRowsArgs{
						dst: b[0], ds: xs, x: b[0], xs: xs, y: b[1], ys: ys, rows: rows, n: n,
					})
				}, [][]float32{x, y}, "subRows, dst = x: n %d, rows %d, xs %d, ys %d", n, rows, xs, ys)
			}
		}
	}
	for _, n := range tailLengths() {
		x, y := h.numbers(2*n, 0.5), h.numbers(n, 0.5)
		h.same(inPlaces, func(kern *kernels, b [][]float32) {
			kern.table.subRows(&subRowsArgs{dst: b[0], ds: n, x: b[1], xs: n, y: b[2], rows: 2, n: n})
		}, [][]float32{h.numbers(2*n, 0), x, y}, "subRows: n %d, rows 2", n)
	}
}

type reductionCase struct {
	name string
	run  func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int)
}

// reductionCases have the same arguments: rows of x with rows of y (or with one y), n elements each.
var reductionCases = []reductionCase{
	{"dotRows", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		kern.table.dotRows(dst, x, xs, y, ys, n)
	}},
	{"sqdistRows", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		kern.table.sqdistRows(dst, x, xs, y[:n])
	}},
	{"quadRows", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		kern.table.quadRows(dst, x, xs, y[:n], y[len(y)-n:])
	}},
	{"sum", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		for i := range dst {
			at := min(i*xs, len(x)-n) // a row without elements may begin beyond x
			dst[i] = mixed(kern.table.sum(x[at : at+n]))
		}
	}},
	{"dot", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		for i := range dst {
			at, with := min(i*xs, len(x)-n), min(i*ys, len(y)-n)
			dst[i] = mixed(kern.table.dot(x[at:at+n], y[with:with+n]))
		}
	}},
	{"squares", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		for i := range dst {
			at, mean := min(i*xs, len(x)-n), 0.7
			if len(y) > 0 {
				mean = double(y[0])
			}
			dst[i] = mixed(kern.table.squares(x[at:at+n], mean))
		}
	}},
}

func TestParityAxpyProducts(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).axpyProducts) })
}

func (h *parity) axpyProducts() {
	for i, n := range tailLengths() {
		for rows := range 5 {
			c := i + rows
			ds, gs, xs := rowStrides(n)[c%3], rowStrides(n)[(c/3)%4], rowStrides(n)[(c/5)%4]
			density := densities[c%3]
			bufs := [][]float32{h.numbers(extent(rows, ds, n), density), h.numbers(extent(rows, gs, n), density),
				h.numbers(extent(rows, gs, n), density), h.numbers(extent(rows, xs, n), density)}
			alpha, places := h.number(density/4), 2
			if rows == 3 {
				places = inPlaces
			}
			h.same(places, func(kern *kernels, b [][]float32) {
				kern.table.axpyProducts(&axpyProductsArgs{
					dst: b[0], ds: ds, alpha: alpha, g: b[1], s: b[2], gs: gs, x: b[3], xs: xs, rows: rows, n: n,
				})
			}, bufs, "axpyProducts: n %d, rows %d, alpha %v, ds %d, gs %d, xs %d", n, rows, alpha, ds, gs, xs)
			h.same(1, func(kern *kernels, b [][]float32) {
				kern.table.axpyProducts(&axpyProductsArgs{
					dst: b[0], ds: ds, alpha: alpha, g: b[1], s: b[2], gs: gs, x: b[0], xs: ds, rows: rows, n: n,
				})
			}, bufs[:3], "axpyProducts, dst = x: n %d, rows %d, alpha %v, ds %d, gs %d", n, rows, alpha, ds, gs)
		}
	}
}

func TestParityReductions(t *testing.T) {
	eachAssembly(t, func(h *parity) {
		for _, r := range reductionCases {
			h.reductions(r)
		}
	})
}

func (h *parity) reductions(r reductionCase) {
	sample := func(places, rows, xs, ys, n int, x, y []float32) {
		run := func(kern *kernels, b [][]float32) { r.run(kern, b[0], b[1], xs, b[2], ys, n) }
		h.same(places, run, [][]float32{h.numbers(rows, 0), x, y}, "%s: n %d, rows %d, xs %d, ys %d", r.name, n, rows,
			xs, ys)
	}
	for _, n := range tailLengths() {
		for _, density := range []float64{0, 0.02, 0.5} {
			sample(inPlaces, 1, n, n, n, h.numbers(n, density), h.numbers(n, density))
		}
		// Products that underflow leave -0 in the lanes to which no padding is added.
		x, y := make([]float32, n), make([]float32, n)
		for j := range n {
			x[j], y[j] = 0x1p-80, -0x1p-80
		}
		sample(1, 1, n, n, n, x, y)
	}
	for n := range 40 {
		for _, rows := range []int{1, 2, 7, 9} { // kernels reduce up to four rows together
			for c, xs := range rowStrides(n) {
				ys := rowStrides(n)[(c+rows)%4]
				sample(2, rows, xs, ys, n, h.numbers(span(rows, xs, n), 0.01),
					h.numbers(max(span(rows, ys, n), n), 0.01))
			}
		}
	}
	for _, n := range []int{1, 7, 15, 17, 37} { // one special value at every position
		for j := range n {
			for i, v := range specialFloats {
				for _, rows := range []int{1, 4} {
					if rows > 1 && n != 17 { // only a block with a remainder, to be fast under emulation
						continue
					}
					x, y, at := h.numbers(rows*n, 0), h.numbers(rows*n, 0), i/2%rows*n+j
					if i%2 == 0 {
						x[at] = v
					} else {
						y[at], x[at] = v, 0
					}
					sample(1, rows, n, n, n, x, y)
				}
			}
		}
	}
	sample(2, 0, 7, 7, 7, nil, h.numbers(7, 0))
}

// TestParityExpLog compares exp and log for a sample of all float32 numbers, and for all numbers
// near the limits of the argument reduction.
func TestParityExpLog(t *testing.T) { eachAssembly(t, (*parity).expLog) }

func (h *parity) expLog() {
	const block = 4096
	x, y := make([]float32, 0, block), make([]float32, block)
	flush := func() {
		h.kern.table.exp(y[:len(x)], x)
		for j, v := range x {
			if w := num.Exp32(v); math.Float32bits(y[j]) != math.Float32bits(w) && (y[j] == y[j] || w == w) {
				h.Fatalf("exp(%v = %#08x): %v %v (%#08x), Go %v (%#08x)", v,
					math.Float32bits(v), h.kern.tier, y[j], math.Float32bits(y[j]), w, math.Float32bits(w))
			}
		}
		h.kern.table.log(y[:len(x)], x)
		for j, v := range x {
			if w := num.Log32(v); math.Float32bits(y[j]) != math.Float32bits(w) && (y[j] == y[j] || w == w) {
				h.Fatalf("log(%v = %#08x): %v %v (%#08x), Go %v (%#08x)", v,
					math.Float32bits(v), h.kern.tier, y[j], math.Float32bits(y[j]), w, math.Float32bits(w))
			}
		}
		x = x[:0]
	}
	inputs := 0
	add := func(bits uint32) {
		x = append(x, math.Float32frombits(bits))
		inputs++
		if len(x) == block {
			flush()
		}
	}
	edges := []float32{0, 0x1p-149, 0x1p-126, 0x1p-24, 0x1p-12, 0.5, math.Float32frombits(0x3f3504f3), 1, math.Sqrt2, 2,
		64, 0x1.5d589ep6, 0x1.62e42ep6, 88, 89, 104.5, 103.278929903431851103, 103.972077083991796413,
		150, math.MaxFloat32, float32(math.Inf(1))}
	for k := float32(0.5); k < 152; k++ { // boundaries between multiples of ln 2 in the reduction of exp
		edges = append(edges, k*0x1.62e43p-1)
	}
	for e := uint32(1); e < 255; e++ { // boundaries between exponents in the reduction of log
		edges = append(edges, math.Float32frombits(e<<23), math.Float32frombits(e<<23|0x3f3504f3&0x7fffff))
	}
	for _, e := range edges {
		for d := range uint32(17) {
			add(math.Float32bits(e) + d - 8)
			add(math.Float32bits(-e) + d - 8)
		}
	}
	for _, v := range []uint32{0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffc00000, 0xffffffff} {
		add(v)
	}
	for bits := uint64(0); bits < 1<<32; bits += uint64(*expLogStride) {
		add(uint32(bits))
	}
	flush()
	h.Logf("%d inputs", inputs)
}
