package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"reflect"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/alloctest"
)

// TestBounds holds the numbers by which an ascent has left out components against float64: how far
// rows are from centres and have moved, what sqrt(q_i) is not below, and how far centres are apart.
// Steps of next to nothing leave roundings alone for the bounds to cover.
func TestBounds(t *testing.T) {
	list := landscapes()
	shifted := newLandscape("shifted", 7, 19, -1, 0, 2, 1, 40) // dot products are large beside distances
	for _, x := range [][]float32{shifted.mu, shifted.x.Data} {
		for i := range x {
			x[i] += 300
		}
	}
	list = append(list, shifted)
	if testing.Short() { // float64 is slow under emulation
		list = append(list[:6], shifted)
	}
	seen := map[string]int{}
	for _, h := range list {
		if h.k > 2 { // two centres in one place, and a row
			copy(h.mu[h.d:2*h.d], h.mu[:h.d])
			copy(h.x.Row(0), h.mu[:h.d])
		}
		e := newTestEngine(t, engine.WithThreads(1))
		m := h.by(e, SparseRoute)
		j := &m.sparse
		for _, alpha := range []float32{h.alpha, h.alpha * 0x1p-40} {
			for _, steps := range []int{1, 4} {
				x := clone(h.x)
				m.makeBounds(e) // an ascent of one step may do without
				m.Ascend(e, alpha, steps, x, nil, false)
				j.m = m
				fail := func(what string, b, i int, bound, is float64) {
					t.Errorf("%s, alpha %g, %d steps, row %d, component %d: %s is %g, bound %g", h.name, alpha,
						steps, b, i, what, is, bound)
				}
				const off = 1e-12 // of float64
				for b := range x.Rows {
					row, at := &j.rows[b], wide(x.Row(b))
					if size := length64(wide(h.x.Row(b))); row.size < size*(1-off) {
						fail("|x_0|", b, 0, row.size, size)
					}
					if way := length64(minus64(at, wide(h.x.Row(b)))); row.moved < way*(1-off) {
						fail("|x_n - x_0|", b, 0, row.moved, way)
					}
					for i := range m.K {
						c, p := &m.bounds[i], b*m.K+i
						delta, q := h.exact(i, x.Row(b))
						far, root := length64(delta), math.Sqrt(q)
						if bound := j.upper[p] + row.moved; bound < far*(1-off) {
							fail("|x - mu_i|", b, i, bound, far)
						}
						if bound := j.lower[p] - c.norm*row.moved; bound > root*(1+off)+off*j.lower[p] {
							fail("sqrt(q_i)", b, i, bound, root)
						}
						if h.low >= 0 || j.byDistance || !(j.anchorSqrtQ[p] > 0) {
							continue
						}
						sum := length64(at) + length64(wide(m.mu(i)))
						if bound := j.support(e.Caller(), b, i, far, sum, x.Row(b)); bound > root*(1+off) {
							fail("sqrt(q_i), by support,", b, i, bound, root)
						} else if bound > 0.99*root {
							seen["support"]++
						}
					}
				}
				for a := range m.K {
					if size := length64(wide(m.mu(a))); m.bounds[a].mu < size*(1-off) {
						fail("|mu_i|", 0, a, m.bounds[a].mu, size)
					}
					if !j.linearPaths || len(m.centreDistances[a]) == 0 {
						continue
					}
					seen["apart"]++
					for i, bound := range m.centreDistances[a] {
						if is := length64(minus64(wide(m.mu(a)), wide(m.mu(i)))); float64(bound) > is*(1+off) {
							fail(fmt.Sprintf("|mu_i - mu_%d|", a), 0, i, float64(bound), is)
						}
					}
				}
				j.m = nil
			}
		}
	}
	if seen["support"] < 1000 || seen["apart"] < 5 {
		t.Errorf("bounds that were near: %v, the test needs more", seen)
	}
}

// TestLostSums holds the bounds of the precisions against float64 where sums of float32 lose all
// but the first of their terms.
func TestLostSums(t *testing.T) {
	const d, few = 64, 0.99 * 0x1p-12 // few^2 is lost beside 1
	lost := make([]float32, d)
	for i := 0; i < d; i += 16 { // of one lane
		lost[i] = few
	}
	lost[0] = 1
	same := make([]float32, d)
	for i := range same {
		same[i] = 1
	}
	row := &landscape{name: "a row of A", k: 1, d: d, low: -1, a: make([]float32, d*d)}
	copy(row.a[(d-1)*d:], lost) // before the diagonal
	deviation := &landscape{name: "P beside its diagonal", k: 1, d: d, low: -1, a: make([]float32, d*d)}
	for i := range deviation.a {
		deviation.a[i] = few / 2.1
		if i%(d+1) == 0 {
			deviation.a[i] = 1
		}
	}
	sum := &landscape{name: "a factor", k: 1, d: d, low: 1, sign: 1, w: make([]float32, d), f: lost}
	less := &landscape{name: "a factor less", k: 1, d: d, low: 1, sign: -1, w: make([]float32, d), f: lost}
	for i := range d {
		sum.w[i], less.w[i] = 1e-20, 2
	}
	e := newTestEngine(t, engine.WithThreads(1))
	for h, x := range map[*landscape][]float32{row: lost, deviation: same, sum: lost, less: lost} {
		h.mu, h.c = make([]float32, d), []float32{0}
		m := h.mixture(e)
		if !m.makeBounds(e) {
			t.Fatalf("%s: no bounds", h.name)
		}
		delta, q := h.exact(0, x)
		c, stretch := &m.bounds[0], math.Sqrt(q)/length64(delta)
		if !(stretch <= c.norm*(1+1e-12)) || !(stretch*stretch >= c.least*(1-1e-12)) {
			t.Errorf("%s: a vector is stretched by %.10g, bound: at most %.10g and at least %.10g", h.name, stretch,
				c.norm, math.Sqrt(c.least))
		}
	}
}

// TestBoundsWithFactors compares bounds that SetFactors makes, because those of the
// factors before were wanted, with those made afterwards.
func TestBoundsWithFactors(t *testing.T) {
	const k, d = 9, 21
	e := newTestEngine(t, engine.WithThreads(2))
	r := num.NewRand(5, 5)
	mu, c := make([]float32, k*d), make([]float32, k)
	first, full, even := make([]float32, k*d*d), make([]float32, k*d*d), make([]float32, k*d*d)
	r.Normal(first)
	r.Normal(full)
	for i := range k * d {
		even[i*d+i%d] = float32(1 + i/d)
	}
	m := NewMixture(k, d, mu, c)
	m.SetFactors(e, first)
	if m.boundsMade {
		t.Error("bounds were made before they were needed")
	}
	for name, a := range map[string][]float32{"full": full, "even": even} {
		m.makeBounds(e)
		m.SetFactors(e, a)
		if !m.boundsMade {
			t.Errorf("%s: no bounds with the factors", name)
		}
		later := NewMixture(k, d, mu, c)
		later.SetFactors(e, a)
		if !m.makeBounds(e) || !later.makeBounds(e) || !reflect.DeepEqual(m.bounds, later.bounds) {
			t.Errorf("%s: bounds %+v, made later %+v", name, m.bounds, later.bounds)
		}
	}
	if n := alloctest.PerCall(5, func() { m.makeBounds(e); m.SetFactors(e, full) }); n != 0 || !m.boundsMade {
		t.Errorf("%v allocations a call, made %v", n, m.boundsMade)
	}
	m.SetPrecisions(e, full)
	if m.makeBounds(e) {
		t.Error("bounds of precisions that are not A_i^T A_i")
	}
}

// TestLowest compares the cut with what is proved to fall under it, at weights beside which l_i is
// coarse.
func TestLowest(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	r := num.NewRand(4, 4)
	kept := 0
	for trial := range 2000 {
		c := float32(math.Pow(10, 8*r.Float64())) * float32(1-2*(trial%2))
		top := c + float32(40*r.Float64()-20)
		near := 2 * (float64(c) - float64(top) + nearCut)
		if near < 0 {
			continue
		}
		q := engine.View([]float32{0, float32(near) + float32(0.1*r.Float64()-0.05)*max(1,
			float32(math.Abs(float64(c)))*0x1p-20)}, 2, 1)
		root := math.Sqrt(float64(q.At(1, 0)))
		e.LogSumExp(q, []float32{top, c}, make([]float32, 1))
		if q.At(1, 0) == 0 {
			continue
		}
		kept++
		if low := lowest(float64(c), float64(top), 0); root > low {
			t.Errorf("c %v, the largest l_i %v: a component with sqrt(q_i) %v counts, but %v was to exclude it", c,
				top, root, low)
		}
	}
	if kept < 500 {
		t.Errorf("%d components above the cut: the test needs more", kept)
	}
}

// TestOffThePath takes a row along a linear path that roundings lead off: its second
// coordinate is so close to mu_0 that steps do not move it. There, and nowhere on the linear
// path, component 1 counts.
func TestOffThePath(t *testing.T) {
	const at, steps = 4, 12000
	off := float32(0x1p-12) // a step moves by 2^-10 of it, less than half of the last place
	far := float32(math.Sqrt(2*nearCut) + 1e-4)
	h := &landscape{name: "off", k: 2, d: 2, low: -1, alpha: 0x1p-10, mu: []float32{0, at, 1e-3, at + far},
		c: []float32{0, 0},
		a: []float32{1, 0, 0, 1, 1, 0, 0, 1}, x: engine.View([]float32{-2, at + off*0.9}, 1, 2)}
	var r [2][]float32
	for n, route := range []Route{DenseRoute, SparseRoute} {
		e := newTestEngine(t, engine.WithThreads(1))
		var tr Trajectory
		h.by(e, route).Ascend(e, h.alpha, steps, clone(h.x), &tr, false)
		r[n] = tr.R
	}
	if last := r[0][2*steps-1]; r[0][1] != 0 || last == 0 {
		t.Fatalf("component 1 has the responsibilities %g at first and %g at last: the test shows nothing", r[0][1],
			last)
	}
	sameNumbers(t, "r", r[1], r[0])
}

// TestOverflow checks that a diagonal P_i is not taken for one where numbers overflow on the way:
// the products with its zeros are NaN by the dense route.
func TestOverflow(t *testing.T) {
	one := []float32{1, 0, 0, 1, 1, 0, 0, 1}
	for _, h := range []*landscape{
		{name: "forward", mu: []float32{3e38, 3e38, -3e38, 3e38}, x: engine.View([]float32{3e38, 3e38}, 1, 2)},
		{name: "backward", mu: []float32{1e10, 0, -1e10, 0}, x: engine.View([]float32{0, 0}, 1, 2)},
	} {
		h.k, h.d, h.low, h.alpha, h.c, h.a = 2, 2, -1, 1, []float32{0, 0}, one
		var r, v [2][]float32
		for n, route := range []Route{DenseRoute, SparseRoute} {
			e := newTestEngine(t, engine.WithThreads(1))
			m := h.by(e, route)
			var tr Trajectory
			m.Ascend(e, h.alpha, 1, clone(h.x), &tr, true)
			if m.Work().Route != route {
				t.Fatalf("%s: the route was %v", h.name, m.Work().Route)
			}
			v[n] = []float32{1e20, 0}
			m.Backward(e, h.alpha, h.a, &tr, engine.View(v[n], 1, 2), h.gradient())
			r[n] = tr.R
		}
		sameNumbers(t, h.name+": r", r[1], r[0])
		sameNumbers(t, h.name+": v", v[1], v[0])
		if v[0][1] == v[0][1] {
			t.Errorf("%s: dL/dx_0 is %v: the test shows nothing", h.name, v[0])
		}
	}
}

// TestHugeWeights checks that an ascent of one step, which makes no bounds, has the NaN of the dense route where a
// weight of a component whose responsibility is 0 is not finite.
func TestHugeWeights(t *testing.T) {
	for _, weight := range []float32{2, 3e38, float32(math.Inf(1)), float32(math.NaN())} {
		var x [2][]float32
		for n, route := range []Route{DenseRoute, SparseRoute} {
			e := newTestEngine(t, engine.WithThreads(1))
			l := newLowLandscape(e, 3, 20, 2, -1)
			l.w[20+3], l.m.Mu[20+3], l.m.Route = weight, 2, route // 3e38 times 2 is infinite, too
			l.m.SetLowRank(e, l.w, l.f, l.sign)
			end := points(9, 20)
			l.m.Ascend(e, 0.1, 1, end, nil, false)
			if got := l.m.Work().Route; weight == 2 && got != route {
				t.Fatalf("the route was %v, want %v", got, route)
			}
			x[n] = end.Data
		}
		sameNumbers(t, fmt.Sprintf("weight %g", weight), x[1], x[0])
	}
}

func length64(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

func minus64(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range z {
		z[i] = x[i] - y[i]
	}
	return z
}

// TestDeviation holds the bound t + |P - t I|_F against float64, where the sum is one call, several,
// and has a rest. It may be above by what sums of squares in lanes may be off.
func TestDeviation(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	for _, d := range []int{1, 7, 33, 60, 300} {
		p := engine.NewMatrix(d, d)
		var trace, squares, all float64
		for r := range d {
			for c := range r + 1 {
				v := float32(r+1)/float32(c+2) - 0.25
				p.Set(r, c, v)
				p.Set(c, r, v)
			}
			trace += float64(p.At(r, r))
		}
		mean := trace / float64(d)
		for r := range d {
			for c, v := range p.Row(r) {
				off := float64(v)
				all += off * off
				if c == r {
					off -= mean
				}
				squares += off * off
			}
		}
		want := mean + math.Sqrt(squares)
		got := deviation(e.Caller(), e.Pack(nil, p))
		most := mean + math.Sqrt(squares+3*gamma(laneRoundings(1024))*all)
		if !(got >= want && got <= most) {
			t.Errorf("d %d: %v, want %v to %v", d, got, want, most)
		}
	}
}
