package engine

import (
	"math"
	"testing"
)

// weights returns responsibilities: zeros of both signs, ordinary and special values.
func (h *parity) weights(n int, density float64) []float32 {
	r := make([]float32, n)
	for i := range r {
		switch h.rng.IntN(4) {
		case 0:
		case 1:
			r[i] = float32(math.Copysign(0, -1))
		default:
			r[i] = h.number(density)
		}
	}
	return r
}

func TestParityGradient(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).gradient) })
}

func (h *parity) gradient() {
	for i, n := range append(tailLengths(), 63+64, 64+16+4+1, 192, 211) {
		for k := range 6 {
			rs := []int{1, 3, 0}[(i+k)%3]
			gs := rowStrides(n)[(i/3+k)%4]
			density := densities[(i+k)%3]
			bufs := [][]float32{h.numbers(n, 0), h.weights(span(k, rs, 1), density), h.numbers(span(k, gs, n), density)}
			places := 2
			if k == 3 {
				places = inPlaces
			}
			h.same(places, func(t *kernels, b [][]float32) {
				t.table.gradient(b[0], b[1], rs, b[2], gs, k)
			}, bufs, "gradient: n %d, k %d, rs %d, gs %d", n, k, rs, gs)
			if k > 0 {
				h.same(1, func(t *kernels, b [][]float32) {
					t.table.gradient(b[1][:n], b[0], rs, b[1], n, k)
				}, [][]float32{bufs[1], h.numbers(k*n, density)}, "gradient, dst = g: n %d, k %d, rs %d", n, k, rs)
			}
		}
	}
}

// extent is span, except that rows without elements begin stride apart, too.
func extent(rows, stride, n int) int { return max(rows-1, 0)*stride + n }

func TestParityGradRows(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).gradRows) })
}

func (h *parity) gradRows() {
	for i, n := range tailLengths() {
		for rows := range 5 {
			c := i + rows
			ds, xs, ys := rowStrides(n)[c%3], rowStrides(n)[(c/3)%4], rowStrides(n)[(c/5)%4]
			density := densities[c%3]
			hh := []float32{0.5, 1, h.number(density)}[c%3]
			bufs := [][]float32{
				h.numbers(extent(rows, ds, n), 0), h.weights(rows, density/4), h.numbers(extent(rows, xs, n), density),
				h.numbers(rows, density/4), h.numbers(extent(rows, ys, n), density),
			}
			places := 2
			if rows == 3 {
				places = inPlaces
			}
			h.same(places, func(kern *kernels, b [][]float32) {
				kern.table.gradRows(&gradRowsArgs{
					dst: b[0], ds: ds, r: b[1], x: b[2], xs: xs, t: b[3], h: hh, y: b[4], ys: ys, n: n,
				})
			}, bufs, "gradRows: n %d, rows %d, h %v, ds %d, xs %d, ys %d", n, rows, hh, ds, xs, ys)
			h.same(1, func(kern *kernels, b [][]float32) {
				kern.table.gradRows(&gradRowsArgs{
					dst: b[1], ds: xs, r: b[0], x: b[1], xs: xs, t: b[2], h: hh, y: b[3], ys: ys, n: n,
				})
			}, bufs[1:], "gradRows, dst = x: n %d, rows %d, h %v, xs %d, ys %d", n, rows, hh, xs, ys)
			h.same(1, func(kern *kernels, b [][]float32) {
				kern.table.gradRows(&gradRowsArgs{
					dst: b[3], ds: ys, r: b[0], x: b[1], xs: xs, t: b[2], h: hh, y: b[3], ys: ys, n: n,
				})
			}, bufs[1:], "gradRows, dst = y: n %d, rows %d, h %v, xs %d, ys %d", n, rows, hh, xs, ys)
		}
	}
}

func TestParityGradDeltas(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).gradDeltas) })
}

func (h *parity) gradDeltas() {
	for i, n := range append(tailLengths(), 64, 64+16+4+1) {
		for rows := range 5 {
			c := i + rows
			ld, us, xs := rowStrides(n)[c%2], rowStrides(n)[(c/3)%4], rowStrides(n)[(c/5)%4]
			density := densities[c%3]
			hh := []float32{0.5, 1, h.number(density)}[c%3]
			bufs := [][]float32{
				h.numbers(extent(rows, ld, n), 0), h.numbers(extent(rows, ld, n), 0), h.numbers(n, 0), h.numbers(n, 0),
				h.weights(rows, density/4), h.numbers(rows, density/4),
				h.numbers(extent(rows, us, n), density), h.numbers(extent(rows, xs, n), density), h.numbers(n, density),
			}
			h.same(4, func(kern *kernels, b [][]float32) {
				kern.table.gradDeltas(&gradDeltasArgs{
					w: b[0], d: b[1], ld: ld, r: b[4], u: b[6], us: us, t: b[5], h: hh, x: b[7], xs: xs,
					mu: b[8], sr: b[2], st: b[3],
				})
			}, bufs, "gradDeltas: n %d, rows %d, h %v, ld %d, us %d, xs %d", n, rows, hh, ld, us, xs)
		}
	}
}

func TestParityMixture(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).mixture) })
}

func (h *parity) mixture() {
	for n := range 18 {
		for _, k := range []int{0, 1, 2, 3, 7} {
			for v := range 8 {
				ld := n + v%3
				density := []float64{0, 0, 0, 0.05, 0.3, 1, 0, 0}[v]
				c, q := h.numbers(k, density/4), h.numbers(span(k, ld, n), density)
				for j := range q {
					switch v {
					case 1: // around ResponsibilityCut
						q[j] = 2 * (-ResponsibilityCut) * float32(h.rng.IntN(3)) * (1 +
							float32(h.rng.IntN(5)-2)*0x1p-23)
					case 2: // far apart
						q[j] *= 100
					case 6: // ties
						q[j] = float32(h.rng.IntN(2))
					case 7: // only infinities
						q[j] = float32(math.Inf(h.rng.IntN(2)*2 - 1))
					}
				}
				if v == 1 {
					clear(c)
				}
				places := 2
				if k == 3 {
					places = inPlaces
				}
				h.same(places, func(t *kernels, b [][]float32) {
					t.table.mixture(b[0], ld, b[1], b[2])
				}, [][]float32{q, c, h.numbers(n, 0)}, "mixture: n %d, k %d, ld %d, kind %d", n, k, ld, v)
			}
		}
	}
}

func TestParityResponsibilities(t *testing.T) {
	eachAssembly(t, func(h *parity) { h.rounds((*parity).responsibilities) })
}

func (h *parity) responsibilities() {
	for n := range 22 {
		for k := range 6 {
			for v, density := range []float64{0, 0.05, 0.3, 1} {
				ld := n + v
				bufs := [][]float32{h.weights(span(k, ld, n), density), h.numbers(span(k, ld, n), density),
					h.numbers(n, 0)}
				places := 2
				if k == 3 {
					places = inPlaces
				}
				h.same(places, func(t *kernels, b [][]float32) {
					t.table.responsibilityBackward(b[0], b[1], ld, b[2], k)
				}, bufs, "responsibilities: n %d, k %d, ld %d", n, k, ld)
			}
		}
	}
}
