package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/alloctest"
)

// outcome is all that an ascent and its backward pass give.
type outcome struct {
	x, xs, r, phi, v                   []float32
	mu, c, a, w, f, dalpha, plain, grr []float32
}

func climbBy(t *testing.T, h *landscape, route Route, tier engine.Tier, threads int) (outcome, *Mixture) {
	t.Helper()
	steps := h.steps
	if steps == 0 {
		steps = 6
	}
	e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(threads), engine.WithEagerThreads())
	m := h.by(e, route)
	var tr Trajectory
	x := clone(h.x)
	m.Ascend(e, h.alpha, steps, x, &tr, true)
	got := outcome{x: x.Data, xs: tr.X, r: tr.R, phi: tr.Phi}
	v := engine.NewMatrix(x.Rows, x.Cols)
	num.NewRand(8, 8).Normal(v.Data)
	g := h.gradient()
	for i := range g.A {
		g.A[i] = 7 // left over from an earlier step
	}
	m.Backward(e, h.alpha, h.a, &tr, v, g)
	got.v, got.mu, got.c, got.a, got.w, got.f, got.dalpha = v.Data, g.Mu, g.C, g.A, g.W, g.F, []float32{g.Alpha}
	plain := clone(h.x)
	m.Ascend(e, h.alpha, steps, plain, nil, false)
	got.plain = plain.Data
	return got, m
}

func (c outcome) equal(t *testing.T, name string, want outcome) {
	t.Helper()
	for _, p := range []struct {
		what      string
		got, want []float32
	}{
		{"x_n", c.x, want.x}, {"x_t", c.xs, want.xs}, {"r", c.r, want.r}, {"phi", c.phi, want.phi},
		{"x_n without a trajectory", c.plain, want.plain}, {"dL/dx_0", c.v, want.v},
		{"dL/dmu", c.mu, want.mu}, {"dL/dc", c.c, want.c},
		{"dL/dA", c.a, want.a}, {"dL/dw", c.w, want.w}, {"dL/dF", c.f, want.f}, {"dL/dalpha", c.dalpha, want.dalpha},
	} {
		sameNumbers(t, name+": "+p.what, p.got, p.want)
	}
}

// sameNumbers is equalBits up to which NaN a NaN is.
func sameNumbers(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && !(got[i] != got[i] && want[i] != want[i]) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestBoundsOfPrecisions holds every bound against float64: the norm against vectors, the
// roundings against q_i as computed, the bounds by movement and support against q_i.
func TestBoundsOfPrecisions(t *testing.T) {
	e := newTestEngine(t)
	for _, h := range landscapes() {
		m := h.mixture(e)
		if !m.makeBounds(e) {
			t.Fatalf("%s: no bounds", h.name)
		}
		d, r := h.d, num.NewRand(77, 1)
		points := engine.NewMatrix(12, d)
		r.Normal(points.Data)
		for b := range points.Rows { // near the centres, around them, and far away
			for j := range d {
				points.Data[b*d+j] = h.mu[b%h.k*d+j] + float32(math.Pow(10, float64(b%5)-2))*points.Data[b*d+j]
			}
		}
		norm := func(x []float64) (s float64) {
			for _, v := range x {
				s += v * v
			}
			return math.Sqrt(s)
		}
		q := make([]float32, points.Rows)
		g := engine.NewMatrix(points.Rows, d)
		all := m.bounds
		for i := range h.k {
			c := &all[i]
			h.computed(e, m, i, points, q, g)
			root := make([]float64, points.Rows)
			where, slope := make([][]float64, points.Rows), make([][]float64, points.Rows)
			for b := range points.Rows {
				delta, exact := h.exact(i, points.Row(b))
				size := norm(wide(points.Row(b))) + norm(wide(h.mu[i*d:(i+1)*d]))
				if off := math.Abs(float64(q[b]) - exact); !(off <= c.roundings(norm(delta), size)) {
					t.Errorf("%s: q of component %d at point %d is off by %g, bound %g", h.name, i, b, off,
						c.roundings(norm(delta), size))
				}
				root[b], where[b], slope[b] = math.Sqrt(exact), delta, wide(g.Row(b))
				if s := math.Sqrt(exact); !(s <= c.norm*norm(delta)*(1+1e-12)) ||
					!(s*s >= c.least*norm(delta)*norm(delta)*(1-1e-12)) {
					t.Errorf("%s: component %d stretches a vector by %g, bound: at most %g and at least %g", h.name,
						i, s/norm(delta), c.norm, math.Sqrt(c.least))
				}
			}
			for a := range points.Rows {
				for b := range points.Rows {
					var step []float64
					var dot float64
					for j := range d {
						step = append(step, where[b][j]-where[a][j])
						dot += where[b][j] * slope[a][j]
					}
					if low := root[a] - c.norm*norm(step); !(low <= root[b]*(1+1e-9)+1e-9) {
						t.Errorf("%s: component %d: the bound by movement is %g, sqrt(q) %g", h.name, i, low, root[b])
					}
					if h.low >= 0 || root[a] == 0 { // support does not divide by 0
						continue
					}
					off := c.gradient * norm(where[a]) * norm(where[b])
					if low := (dot - off) / root[a]; !(low <= root[b]*(1+1e-9)+1e-9) {
						t.Errorf("%s: component %d: the bound by support is %g, sqrt(q) %g", h.name, i, low, root[b])
					}
				}
			}
		}
	}
}

// TestSparseSaves checks that the sparse route leaves out what plainly does not matter.
func TestSparseSaves(t *testing.T) {
	for _, h := range landscapes() {
		most := map[string]float64{"apart": 1.1, "identity": 1.5, "diagonal": 1.5, "tied": 1.1, "flat": 2}[h.name]
		if most == 0 {
			continue
		}
		_, m := climbBy(t, h, SparseRoute, engine.Auto, 2)
		w := m.Work()
		for s := 1; s < w.Steps; s++ {
			if got := float64(w.Evaluated[s].Load()) / float64(w.Rows); got > most {
				t.Errorf("%s: %.2f components a row computed in step %d, want at most %.2f (%.2f active)", h.name,
					got, s, most, float64(w.Active[s].Load())/float64(w.Rows))
			}
		}
	}
}

// TestSparseRoute checks that both routes give the same bits, on potentials that are easy
// and hard for bounds, and that the sparse one leaves out what it should.
func TestSparseRoute(t *testing.T) {
	counts, tiers := []int{1, 2, 3}, engine.Available()
	if testing.Short() { // another emulated machine has the lesser tiers
		counts, tiers = counts[1:2], tiers[:1]
	}
	for n, h := range landscapes() {
		if testing.Short() && h.d > 99 {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			want, _ := climbBy(t, h, DenseRoute, engine.Generic, 1)
			for _, tier := range tiers {
				for _, threads := range counts {
					got, m := climbBy(t, h, SparseRoute, tier, threads)
					got.equal(t, fmt.Sprintf("%v, %d threads", tier, threads), want)
					if m.Work().Route != SparseRoute {
						t.Fatalf("%v: the route was %v", tier, m.Work().Route)
					}
				}
			}
			limits := []int{1, 1 << 9}
			if testing.Short() {
				limits = limits[:n%2] // of every second
			}
			for _, limit := range limits { // rows in turns
				old := maxAnchors
				maxAnchors = limit
				got, _ := climbBy(t, h, SparseRoute, engine.Auto, 2)
				maxAnchors = old
				got.equal(t, "in turns", want)
			}
		})
	}
}

// TestNegativeZero checks that the routes agree on the sign of a zero of dL/dx_0: the products
// of the component that counts underflow to -0, and the other one, which only the dense route
// computes, adds +0.
func TestNegativeZero(t *testing.T) {
	h := &landscape{name: "underflow", k: 2, d: 2, low: -1, alpha: 0.1, mu: []float32{0, 0, 100, 100},
		c: []float32{0, 0},
		a: []float32{1, 1e-20, 0, 1, 1, 1e-20, 0, 1}, x: engine.View([]float32{0.5, 0.25}, 1, 2)}
	for _, tier := range engine.Available() {
		for _, route := range []Route{DenseRoute, SparseRoute} {
			e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(1))
			m, g := h.by(e, route), h.gradient()
			var tr Trajectory
			v := engine.View([]float32{float32(math.Copysign(0, -1)), 1e-29}, 1, 2)
			m.Ascend(e, h.alpha, 1, clone(h.x), &tr, true)
			m.Backward(e, h.alpha, h.a, &tr, v, g)
			if v.Data[0] != 0 || math.Signbit(float64(v.Data[0])) {
				t.Errorf("%v, %v: dL/dx_0 is %v, expected +0", tier, route, v.Data[0])
			}
		}
	}
}

// TestNegativeZeroOfLowRank checks that the routes agree on the sign of a zero of dL/dw: what the
// first row adds for component 1 underflows to -0, and the second row, which does not count for it,
// must not add another -0.
func TestNegativeZeroOfLowRank(t *testing.T) {
	far := float32(6.2) // exp(-far^2/2) is above the cut
	h := &landscape{name: "underflow", k: 2, d: 1, low: 0, sign: 1, alpha: 1, mu: []float32{1, 1 + far},
		c: []float32{0, 0},
		w: []float32{1, 1}, x: engine.View([]float32{1, -9}, 2, 1)}
	var w [2][]float32
	for n, route := range []Route{DenseRoute, SparseRoute} {
		e := newTestEngine(t, engine.WithThreads(1))
		m, g := h.by(e, route), h.gradient()
		var tr Trajectory
		m.Ascend(e, h.alpha, 1, clone(h.x), &tr, true)
		if m.Work().Route != route || tr.R[2] == 0 || tr.R[3] != 0 {
			t.Fatalf("route %v, responsibilities %v: the test shows nothing", m.Work().Route, tr.R)
		}
		m.Backward(e, h.alpha, nil, &tr, engine.View([]float32{1e-38, -1e-38}, 2, 1), g)
		w[n] = g.W
	}
	sameNumbers(t, "dL/dw", w[1], w[0])
}

// TestSparseAllocates checks that updates and ascents in steady state allocate nothing.
func TestSparseAllocates(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: many updates, a minute under emulation")
	}
	many := newLandscape("many rows", 5, 64, 4, -1, 3, 2, 128)
	for _, h := range append(landscapes(), many) {
		switch h.name {
		case "apart", "lowrank", "flat", "tied", "many rows":
		default:
			continue
		}
		e := newTestEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
		m := h.by(e, SparseRoute)
		g, x, v := h.gradient(), clone(h.x), engine.NewMatrix(h.x.Rows, h.d)
		var tr Trajectory
		update := func() {
			if h.low >= 0 {
				m.SetLowRank(e, h.w, h.f, h.sign)
			} else {
				m.SetFactors(e, h.a)
			}
			copy(x.Data, h.x.Data)
			m.Ascend(e, h.alpha, 5, x, &tr, true)
			m.Backward(e, h.alpha, h.a, &tr, v, g)
		}
		for range 30 { // every thread meets every block some time, and makes room for it
			update()
		}
		updates := func() {
			for range 10 {
				update()
			}
		}
		if n := alloctest.PerCall(1, updates); n > 0 {
			t.Errorf("%s: %v allocations in 10 updates", h.name, n)
		}
	}
}

// TestGradientAgain checks that a gradient holds nothing of an earlier one, also of components
// that no row counts for.
func TestGradientAgain(t *testing.T) {
	turns := 2
	if testing.Short() {
		turns = 1
	}
	for n, h := range landscapes() {
		if testing.Short() && n%4 > 0 {
			continue
		}
		for _, lonely := range []bool{false, true}[:turns] {
			if lonely {
				h.c[0] = -1e6
			}
			for _, route := range []Route{DenseRoute, SparseRoute} {
				e := newTestEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
				m := h.by(e, route)
				backward := func(g *Gradient) []float32 {
					var tr Trajectory
					x, v := clone(h.x), engine.NewMatrix(h.x.Rows, h.d)
					for i := range v.Data {
						v.Data[i] = float32(i%7) - 3
					}
					m.Ascend(e, h.alpha, 3, x, &tr, true)
					m.Backward(e, h.alpha, h.a, &tr, v, g)
					return append(append(append(append(append([]float32{}, g.Mu...), g.C...), g.A...), g.W...), g.F...)
				}
				want, g := backward(h.gradient()), h.gradient()
				for _, old := range [][]float32{g.p, g.sums} {
					for i := range old {
						old[i] = float32(math.NaN())
					}
				}
				for again := range 2 {
					for i, v := range backward(g) {
						if math.Float32bits(v) != math.Float32bits(want[i]) && !(v != v && want[i] != want[i]) {
							t.Fatalf("%s, %v, component 0 left out %t: number %d is %v in turn %d, expected %v",
								h.name, route, lonely, i, v, again, want[i])
						}
					}
				}
			}
		}
	}
}

// TestTinyPaths checks linear paths so short that squares of lengths are as small as what is
// added for underflow: component 1 comes back or not at the end of the path to mu_0.
func TestTinyPaths(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	for _, p := range []float64{0x1p60, 0x1p96, 0x1p98} {
		for n := range 24 {
			at := float32(math.Sqrt((41.4 + float64(n)/120) / p))
			h := &landscape{name: "tiny", k: 2, d: 1, low: 0, sign: 1, alpha: float32(0.5 / p),
				mu: []float32{0, at}, c: []float32{0, 0},
				w: []float32{float32(p), float32(p)}, x: engine.View([]float32{-at}, 1, 1)}
			var r [2]Trajectory
			for i, route := range []Route{DenseRoute, SparseRoute} {
				h.by(e, route).Ascend(e, h.alpha, 60, clone(h.x), &r[i], false)
			}
			sameNumbers(t, fmt.Sprintf("p %g, q %v: r", p, 41.4+float64(n)/120), r[1].R, r[0].R)
		}
	}
}
