package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// hill is a potential to climb by both routes, and where from.
type hill struct {
	name  string
	k, d  int
	low   int // rank of precisions of low rank, or -1 for A_i^T A_i
	sign  float32
	tied  bool
	alpha float32
	mu, c []float32
	a     []float32 // A_i
	w, f  []float32
	x     engine.Matrix
	steps int // that climbBy makes; 0: 6
}

// by returns the mixture with a route.
func (h *hill) by(e *engine.Engine, route Route) *Mixture {
	m := h.mixture(e)
	m.Route = route
	return m
}

func (h *hill) mixture(e *engine.Engine) *Mixture {
	if h.low >= 0 {
		m := NewLowRankMixture(h.k, h.d, h.low, h.mu, h.c)
		m.SetLowRank(e, h.w, h.f, h.sign)
		return m
	}
	m := NewMixture(h.k, h.d, h.mu, h.c)
	if h.tied {
		m = NewTiedMixture(h.k, h.d, h.mu, h.c)
	}
	m.SetFactors(e, h.a)
	return m
}

func (h *hill) gradient() *Gradient {
	if h.low >= 0 {
		return NewLowRankGradient(h.k, h.d, h.low)
	}
	if h.tied {
		return NewTiedGradient(h.k, h.d)
	}
	return NewGradient(h.k, h.d)
}

// newPath makes k centres some way apart and rows around them.
func newPath(name string, k, d, low int, sign, apart, wide float32, rows int) *hill {
	r := num.NewRand(5, uint64(len(name)))
	h := &hill{name: name, k: k, d: d, low: low, sign: sign, alpha: 0.1, mu: make([]float32, k*d), c: make([]float32, k), x: engine.NewMatrix(rows, d)}
	r.Normal(h.mu)
	r.Normal(h.c)
	r.Normal(h.x.Data)
	for i := range h.mu {
		h.mu[i] *= apart
	}
	for b := range rows {
		for j := range d {
			h.x.Data[b*d+j] = h.mu[b%k*d+j] + wide*h.x.Data[b*d+j]
		}
	}
	if low >= 0 {
		h.w, h.f = make([]float32, k*d), make([]float32, k*low*d)
		for i := range h.w {
			h.w[i] = 1
		}
		r.Normal(h.f)
		for i := range k * low { // rows of length below 1/sqrt(r)
			row := h.f[i*d : (i+1)*d]
			var s float64
			for _, v := range row {
				s += float64(v) * float64(v)
			}
			for j := range row {
				row[j] *= float32(0.9 / math.Sqrt(s*float64(low)))
			}
		}
		return h
	}
	h.a = make([]float32, k*d*d)
	r.Normal(h.a)
	for i := range h.a {
		h.a[i] *= 0.3 / float32(math.Sqrt(float64(d)))
		if i/d%d == i%d {
			h.a[i]++
		}
	}
	return h
}

// identity makes all A_i the identity.
func (h *hill) identity() *hill {
	for i := range h.a {
		h.a[i] = 0
		if i/h.d%h.d == i%h.d {
			h.a[i] = 1
		}
	}
	return h
}

func hills() []*hill {
	list := []*hill{
		newPath("apart", 7, 19, -1, 0, 6, 1, 40),
		newPath("close", 7, 19, -1, 0, 1, 2, 40),
		newPath("between", 5, 33, -1, 0, 3, 3, 37),
		newPath("identity", 9, 40, -1, 0, 4, 1.5, 50).identity(),
		newPath("close identity", 9, 40, -1, 0, 0.5, 1, 50).identity(),
		newPath("one component", 1, 17, -1, 0, 1, 1, 9),
		newPath("one row", 6, 24, -1, 0, 3, 2, 1),
		newPath("lowrank", 9, 30, 3, 1, 3, 2, 45),
		newPath("diagonal", 40, 20, 0, 1, 3, 1, 70),
		newPath("flat", 12, 35, 4, -1, 3, 2, 60),
		newPath("wide", 3, 150, -1, 0, 2, 1, 20),
	}
	tied := newPath("tied", 6, 21, -1, 0, 4, 1, 30)
	tied.tied, tied.a = true, tied.a[:21*21]
	list = append(list, tied)

	h := newPath("coincident", 6, 18, -1, 0, 4, 1, 30)
	copy(h.mu[18:36], h.mu[:18]) // two components in one place, and with one precision
	copy(h.a[18*18:2*18*18], h.a[:18*18])
	h.c[1] = h.c[0]
	for j := range h.d {
		h.x.Set(1, j, (h.mu[2*18+j]+h.mu[3*18+j])/2) // a tie
	}
	list = append(list, h)

	h = newPath("far and huge", 6, 18, -1, 0, 4, 1, 30)
	for b := range h.x.Rows {
		scale := float32(math.Pow(10, float64(b%12)*2)) // up to 1e22, which overflows
		for j := range h.d {
			h.x.Data[b*h.d+j] *= scale
		}
	}
	list = append(list, h)

	h = newPath("steep", 6, 18, -1, 0, 40, 1, 30)
	for i := range h.a {
		h.a[i] *= 30
	}
	h.alpha = 1e-4
	list = append(list, h)

	h = newPath("tiny", 6, 16, -1, 0, 2, 1, 30) // squares of the elements of P_i underflow
	const scale = 0x1p-40
	for i := range h.a {
		h.a[i] = scale / 4
		if i/h.d%h.d == i%h.d {
			h.a[i] += scale / 64
		}
	}
	for _, x := range [][]float32{h.mu, h.x.Data} {
		for i := range x {
			x[i] /= scale
		}
	}
	h.alpha = 0.05 / scale / scale
	list = append(list, h)

	h = newPath("negative", 7, 19, -1, 0, 6, 1, 40)
	for i := range h.a {
		h.a[i] *= -1
	}
	list = append(list, h)

	// Component 1 counts for rows that have come far enough to mu_0 from the other side.
	h = newPath("met on the way", 2, 60, -1, 0, 0, 1, 12).identity()
	h.alpha, h.steps = 0.3, 12
	clear(h.c)
	clear(h.x.Data)
	h.mu[h.d] = 6
	for i := range h.k {
		h.a[i*h.d*h.d+h.d] = 0.1
	}
	for b := range h.x.Rows {
		h.x.Set(b, 0, -4)
		h.x.Set(b, 1, float32(b)/16)
	}
	list = append(list, h)

	h = newPath("overshooting", 6, 18, -1, 0, 4, 1, 30)
	h.alpha = 1.9
	list = append(list, h)

	h = newPath("weights", 6, 18, -1, 0, 2, 1, 30)
	for i := range h.c {
		h.c[i] *= 60
	}
	list = append(list, h)

	h = newPath("not finite", 5, 12, -1, 0, 4, 1, 20)
	h.x.Set(3, 2, float32(math.NaN()))
	h.x.Set(7, 0, float32(math.Inf(1)))
	h.x.Set(11, 5, 3e38)
	list = append(list, h)
	h = newPath("not finite flat", 12, 35, 4, -1, 3, 2, 20)
	h.x.Set(3, 2, float32(math.NaN()))
	h.x.Set(7, 0, float32(math.Inf(1)))
	h.x.Set(11, 5, 3e38)
	list = append(list, h)
	h = newPath("wide flat", 3, 90, 37, -1, 1, 2, 20) // more factors than a panel is wide
	list = append(list, h)
	list = append(list, straightHill(-1), straightHill(0))
	list = append(list, runLandscapes()...)
	for _, by := range []struct {
		name string
		c    float64
	}{{"NaN", math.NaN()}, {"infinite", math.Inf(1)}, {"no", math.Inf(-1)}} {
		low := newPath(by.name+" weight lowrank", 9, 30, 3, 1, 3, 2, 20)
		for _, h := range []*hill{newPath(by.name+" weight", 7, 19, -1, 0, 6, 1, 20), newPath(by.name+" weight identity", 9, 40, -1, 0, 4, 1.5, 20).identity(), low} {
			h.c[1] = float32(by.c)
			list = append(list, h)
		}
	}
	h = newPath("not finite diagonal", 5, 12, -1, 0, 4, 1, 20).identity()
	h.x.Set(3, 2, float32(math.NaN()))
	h.x.Set(7, 0, float32(math.Inf(-1)))
	return append(list, h)
}

// runLandscapes are climbed long enough for ways whose steps are combinations of a few (powers.go).
func runLandscapes() []*hill {
	ways := newPath("ways", 5, 70, -1, 0, 3, 1, 8) // two rows of some components
	ways.steps = 18
	cut := newPath("ways of large steps", 3, 70, -1, 0, 3, 1, 3) // no combinations of one component
	cut.steps, cut.alpha = 19, 0.25
	for i := range 70 * 70 {
		cut.a[i] *= 2
	}
	ended := newPath("ways that end", 2, 100, -1, 0, 3, 1, 2).identity()
	ended.steps, ended.alpha = 30, 0.15
	fast := newPath("fast ways", 2, 100, -1, 0, 3, 1, 2).identity() // to where U_t is large and D_t small
	fast.steps, fast.alpha = 30, 0.4
	long := newPath("long ways", 2, 130, -1, 0, 3, 1, 2) // in pieces
	long.steps, long.alpha = 100, 0.02

	hardly := newPath("hardly alone", 2, 100, -1, 0, 0, 1, 1).identity() // r_1 from 2^-25.5 on, to 0 after some steps
	hardly.steps = 30
	hardly.x.Set(0, 0, 3.3)
	hardly.mu[hardly.d] = 2
	hardly.c[0], hardly.c[1] = 0, -17.7-6.6+2
	return []*hill{ways, cut, ended, fast, long, hardly}
}

// straightHill has precisions I and rows on straight ways: on the way to mu_0, beside which
// component 1 comes back; to mu_4, which does not lead at first; and to centres all around.
func straightHill(low int) *hill {
	h := newPath("straight", 12, 20, low, 1, 5, 3, 50)
	if low < 0 {
		h.identity()
	}
	h.alpha = 0.6
	clear(h.c)
	for i, at := range [][2]float32{{0, 0}, {5, 0}, {-3, 200}, {3.1, 200}, {8, 200}} {
		clear(h.mu[i*h.d : (i+1)*h.d])
		h.mu[i*h.d], h.mu[i*h.d+1] = at[0], at[1]
	}
	h.c[4] = 27.4
	for b := range 8 {
		clear(h.x.Row(b))
		if b%2 == 0 {
			h.x.Set(b, 0, float32(-8-b))
		} else {
			h.x.Set(b, 1, 200)
			h.x.Set(b, 2, float32(b))
		}
	}
	return h
}

// climbed is all that an ascent and its backward pass give.
type climbed struct {
	x, xs, r, phi, v                   []float32
	mu, c, a, w, f, dalpha, plain, grr []float32
}

func climbBy(t *testing.T, h *hill, route Route, tier engine.Tier, threads int) (climbed, *Mixture) {
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
	got := climbed{x: x.Data, xs: tr.X, r: tr.R, phi: tr.Phi}
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

func (c climbed) equal(t *testing.T, name string, want climbed) {
	t.Helper()
	for _, p := range []struct {
		what      string
		got, want []float32
	}{
		{"x_n", c.x, want.x}, {"x_t", c.xs, want.xs}, {"r", c.r, want.r}, {"phi", c.phi, want.phi},
		{"x_n without a trajectory", c.plain, want.plain}, {"dL/dx_0", c.v, want.v}, {"dL/dmu", c.mu, want.mu}, {"dL/dc", c.c, want.c},
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

// TestCertificates holds every certificate against float64: the norm against vectors, the
// roundings against q_i as computed, the bounds by movement and support against q_i.
func TestCertificates(t *testing.T) {
	e := newTestEngine(t)
	for _, h := range hills() {
		m := h.mixture(e)
		if !m.makeBounds(e) {
			t.Fatalf("%s: no certificates", h.name)
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
		certificates := m.bounds
		for i := range h.k {
			c := &certificates[i]
			h.computed(e, m, i, points, q, g)
			root, where, slope := make([]float64, points.Rows), make([][]float64, points.Rows), make([][]float64, points.Rows)
			for b := range points.Rows {
				delta, exact := h.exact(i, points.Row(b))
				size := norm(wide(points.Row(b))) + norm(wide(h.mu[i*d:(i+1)*d]))
				if off := math.Abs(float64(q[b]) - exact); !(off <= c.roundings(norm(delta), size)) {
					t.Errorf("%s: q of component %d at point %d is off by %g, certified %g", h.name, i, b, off, c.roundings(norm(delta), size))
				}
				root[b], where[b], slope[b] = math.Sqrt(exact), delta, wide(g.Row(b))
				if s := math.Sqrt(exact); !(s <= c.norm*norm(delta)*(1+1e-12)) || !(s*s >= c.least*norm(delta)*norm(delta)*(1-1e-12)) {
					t.Errorf("%s: component %d stretches a vector by %g, certified at most %g and at least %g", h.name, i, s/norm(delta), c.norm, math.Sqrt(c.least))
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
					if low := root[a] - c.norm*norm(step); low > root[b]*(1+1e-9)+1e-9 {
						t.Errorf("%s: component %d: the bound by movement is %g, sqrt(q) %g", h.name, i, low, root[b])
					}
					if h.low >= 0 {
						continue
					}
					off := c.gradient * norm(where[a]) * norm(where[b])
					if low := (dot - off) / root[a]; low > root[b]*(1+1e-9)+1e-9 {
						t.Errorf("%s: component %d: the bound by support is %g, sqrt(q) %g", h.name, i, low, root[b])
					}
				}
			}
		}
	}
}

// computed sets q and, for precisions A_i^T A_i, g as the kernels compute them.
func (h *hill) computed(e *engine.Engine, m *Mixture, i int, x engine.Matrix, q []float32, g engine.Matrix) {
	if h.low < 0 {
		m.QuadGrad(e, g, q, x, i)
		return
	}
	one := NewLowRankMixture(1, h.d, h.low, h.mu[i*h.d:(i+1)*h.d], []float32{0})
	one.SetLowRank(e, h.w[i*h.d:(i+1)*h.d], h.f[i*h.low*h.d:(i+1)*h.low*h.d], h.sign)
	var tr Trajectory
	tr.keepQ = true
	tr.reshape(1, x.Rows, one, false, false)
	one.run(e, ascentJob{alpha: 0, steps: 1, x: clone(x), tr: &tr, plan: one.Plan(e, x.Rows, 1)})
	copy(q, tr.q)
}

// exact returns x - mu_i and q_i in float64.
func (h *hill) exact(i int, x []float32) (delta []float64, q float64) {
	d := h.d
	delta = make([]float64, d)
	for j := range d {
		delta[j] = float64(x[j]) - float64(h.mu[i*d+j])
	}
	square := func(row []float32) float64 {
		var s float64
		for j, v := range row {
			s += float64(v) * delta[j]
		}
		return s * s
	}
	if h.low >= 0 {
		for j, v := range h.w[i*d : (i+1)*d] {
			q += float64(v) * delta[j] * delta[j]
		}
		for p := i * h.low; p < (i+1)*h.low; p++ {
			q += float64(h.sign) * square(h.f[p*d:(p+1)*d])
		}
		return delta, q
	}
	if h.tied {
		i = 0
	}
	for p := i * d; p < (i+1)*d; p++ {
		q += square(h.a[p*d : (p+1)*d])
	}
	return delta, q
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// TestSparseSaves checks that the sparse route leaves out what plainly does not matter.
func TestSparseSaves(t *testing.T) {
	for _, h := range hills() {
		most := map[string]float64{"apart": 1.1, "identity": 1.5, "diagonal": 1.5, "tied": 1.1, "flat": 2}[h.name]
		if most == 0 {
			continue
		}
		_, m := climbBy(t, h, SparseRoute, engine.Auto, 2)
		w := m.Work()
		for s := 1; s < w.Steps; s++ {
			if got := float64(w.Evaluated[s].Load()) / float64(w.Rows); got > most {
				t.Errorf("%s: %.2f components a row computed in step %d, want at most %.2f (%.2f active)", h.name, got, s, most, float64(w.Active[s].Load())/float64(w.Rows))
			}
		}
	}
}

// TestSparseRoute checks that both routes give the same bits, on potentials that are easy
// and hard for certificates, and that the sparse one leaves out what it should.
func TestSparseRoute(t *testing.T) {
	counts, tiers := []int{1, 2, 3}, engine.Available()
	if testing.Short() { // another emulated machine has the lesser tiers
		counts, tiers = counts[1:2], tiers[:1]
	}
	for n, h := range hills() {
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
	h := &hill{name: "underflow", k: 2, d: 2, low: -1, alpha: 0.1, mu: []float32{0, 0, 100, 100}, c: []float32{0, 0},
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
	h := &hill{name: "underflow", k: 2, d: 1, low: 0, sign: 1, alpha: 1, mu: []float32{1, 1 + far}, c: []float32{0, 0},
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
		t.Skip("many updates, a minute under emulation: without -short")
	}
	many := newPath("many rows", 5, 64, 4, -1, 3, 2, 128)
	for _, h := range append(hills(), many) {
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
		n := testing.AllocsPerRun(1, updates)
		for again := 0; n > 0 && again < 20; again++ { // a thread may have been kept from a block until now
			n = testing.AllocsPerRun(1, updates)
		}
		if n > 0 {
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
	for n, h := range hills() {
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
							t.Fatalf("%s, %v, component 0 left out %t: number %d is %v in turn %d, expected %v", h.name, route, lonely, i, v, again, want[i])
						}
					}
				}
			}
		}
	}
}

// TestTinyWays checks straight ways so short that squares of lengths are as small as what is
// added for underflow: component 1 comes back or not at the end of the way to mu_0.
func TestTinyWays(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	for _, p := range []float64{0x1p60, 0x1p96, 0x1p98} {
		for n := range 24 {
			at := float32(math.Sqrt((41.4 + float64(n)/120) / p))
			h := &hill{name: "tiny", k: 2, d: 1, low: 0, sign: 1, alpha: float32(0.5 / p), mu: []float32{0, at}, c: []float32{0, 0},
				w: []float32{float32(p), float32(p)}, x: engine.View([]float32{-at}, 1, 1)}
			var r [2]Trajectory
			for i, route := range []Route{DenseRoute, SparseRoute} {
				h.by(e, route).Ascend(e, h.alpha, 60, clone(h.x), &r[i], false)
			}
			sameNumbers(t, fmt.Sprintf("p %g, q %v: r", p, 41.4+float64(n)/120), r[1].R, r[0].R)
		}
	}
}
