package engine

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// leaveDue lets SetFactors leave P_i due for any number of rows.
func leaveDue(t *testing.T) {
	old := makeRows
	makeRows = 1e9
	t.Cleanup(func() { makeRows = old })
}

// dueHills are those of hills whose P_i can be left due, left so.
func dueHills() (list []*hill) {
	for _, h := range hills() {
		if h.low < 0 && !h.tied {
			h.name, h.due = h.name+", due", true
			list = append(list, h)
		}
	}
	down := newHill("negative, due", 7, 19, -1, 0, 6, 1, 40)
	for i := range down.a {
		down.a[i] *= -1
	}
	// Component 1 counts for rows that have come far enough to mu_0 from the other side.
	// All rows at the same step, so that threads make P_1 at the same time.
	met := newHill("met on the way, due", 2, 60, -1, 0, 0, 1, 12).identity()
	met.alpha, met.steps = 0.3, 12
	clear(met.c)
	clear(met.x.Data)
	met.mu[met.d] = 6
	for i := range met.k {
		met.a[i*met.d*met.d+met.d] = 0.1
	}
	for b := range met.x.Rows {
		met.x.Set(b, 0, -4)
		met.x.Set(b, 1, float32(b)/16)
	}
	for _, h := range []*hill{down, met} {
		h.due = true
		list = append(list, h)
	}
	return list
}

// TestTry holds q_i and G_i by A_i and A_i^T to float64, within what bounds take them to be off by.
func TestTry(t *testing.T) {
	leaveDue(t)
	e := newTestEngine(t, WithThreads(1))
	for _, h := range []*hill{newHill("some", 5, 33, -1, 0, 3, 3, 37), newHill("many features", 2, 300, -1, 0, 2, 1, maxBlockRows+3)} {
		h.due = true
		m := h.mixture(e)
		if !e.certify(m) {
			t.Fatalf("%s: no certificates", h.name)
		}
		j := &sparseJob{e: e, m: m, x: h.x}
		f := &j.first
		f.keepQ = true
		f.reshape(1, h.x.Rows, m, true, false)
		grow(&f.g, h.k*h.x.Rows*h.d)
		for i := range h.k {
			j.try(0, i)
			a, c := h.a[i*h.d*h.d:], &m.certificates[i]
			for b := range h.x.Rows {
				delta, q := h.exact(i, h.x.Row(b))
				far := length64(delta)
				if off := math.Abs(float64(f.q[i*f.Rows+b]) - q); !(off <= c.roundings(far, 0)) {
					t.Fatalf("%s: q of component %d, row %d is off by %g, certified %g", h.name, i, b, off, c.roundings(far, 0))
				}
				g := wide(f.gAt(0, i, b, b+1).Data)
				for r := range h.d {
					var y float64
					for k, v := range delta {
						y += float64(a[r*h.d+k]) * v
					}
					for k := range g {
						g[k] -= float64(a[r*h.d+k]) * y
					}
				}
				if off := length64(g); !(off <= c.gradient*far) {
					t.Fatalf("%s: G of component %d, row %d is off by %g, certified %g", h.name, i, b, off, c.gradient*far)
				}
			}
		}
		if left := int(m.due.left.Load()); left != h.k {
			t.Errorf("%s: %d P_i are due, want all: the test shows nothing", h.name, left)
		}
	}
}

// TestDue checks that after an ascent which uses few components SetFactors leaves P_i due, that the
// next ascent makes those that it uses and no others, and that whoever needs others finds them: all
// that follows from factors of which all P_i have been made.
func TestDue(t *testing.T) {
	const k, d, rows, steps = 20, 40, 6, 6 // each row near a centre of its own
	h := newHill("many components", k, d, -1, 0, 4, 1, rows)
	v0 := NewMatrix(rows, d)
	num.NewRand(8, 8).Normal(v0.Data)
	var factors [2][]float32 // in turns, so that what is left of the others is seen
	for n := range factors {
		factors[n] = append([]float32{}, h.a...)
		for i := range h.a {
			factors[n][i] *= 1 + 0.2*float32(n)
		}
	}
	var tr Trajectory
	uses := []struct {
		name string
		left int32 // P_i that are due after it
		use  func(e *Engine, m *Mixture, a []float32) [][]float32
	}{
		{"an ascent", k - rows, func(e *Engine, m *Mixture, a []float32) [][]float32 {
			x, v, g := clone(h.x), clone(v0), h.gradient()
			e.Ascend(m, h.alpha, steps, x, &tr, true)
			e.AscendBackward(m, h.alpha, a, &tr, v, g)
			return [][]float32{x.Data, v.Data, g.Mu, g.C, g.A}
		}},
		{"factors between an ascent and the way back", k - rows, func(e *Engine, m *Mixture, a []float32) [][]float32 {
			v, g := clone(v0), h.gradient()
			e.Ascend(m, h.alpha, steps, clone(h.x), &tr, true)
			e.SetFactors(m, a)
			e.AscendBackward(m, h.alpha, a, &tr, v, g)
			return [][]float32{v.Data, g.Mu, g.C, g.A}
		}},
		{"Potential", 0, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			phi := make([]float32, rows)
			e.Potential(m, h.x, phi, Matrix{})
			return [][]float32{phi}
		}},
		{"QuadGrad", 0, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			g, q := NewMatrix(rows, d), make([]float32, rows)
			e.QuadGrad(g, q, h.x, m, 17)
			return [][]float32{g.Data, q}
		}},
		{"a dense ascent", 0, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			x, route := clone(h.x), e.route
			e.route = DenseRoute
			e.Ascend(m, h.alpha, steps, x, nil, false)
			e.route = route
			return [][]float32{x.Data}
		}},
		{"a probe", 0, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			x, route := clone(h.x), e.route
			e.route, m.activity = AutoRoute, activity{}
			e.Ascend(m, h.alpha, steps, x, nil, false)
			e.route = route
			return [][]float32{x.Data}
		}},
		{"CountWork", 0, func(e *Engine, m *Mixture, _ []float32) (list [][]float32) {
			for _, s := range e.CountWork(m, h.alpha, steps, h.x) {
				list = append(list, []float32{float32(s.Active), float32(s.Computed), float32(s.Bounds)})
			}
			return list
		}},
		{"many ascents", 0, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			var x Matrix
			for range 20 {
				x = clone(h.x)
				e.Ascend(m, h.alpha, steps, x, nil, false)
			}
			return [][]float32{x.Data}
		}},
		{"no step", k, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			x := clone(h.x)
			e.Ascend(m, h.alpha, 0, x, nil, false)
			return [][]float32{x.Data}
		}},
		{"SetPrecisions", 0, func(e *Engine, m *Mixture, _ []float32) [][]float32 {
			e.SetPrecisions(m, h.a) // as if A_i were symmetric
			phi := make([]float32, rows)
			e.Potential(m, h.x, phi, Matrix{})
			return [][]float32{phi}
		}},
	}
	tiers, counts := Available(), []int{1, 3}
	if testing.Short() { // another emulated machine has the lesser tiers
		tiers, counts = tiers[:1], counts[1:]
	}
	for _, tier := range tiers {
		for _, threads := range counts {
			e := newTestEngine(t, WithTier(tier), WithThreads(threads), WithEagerThreads(), WithRoute(SparseRoute))
			m := h.mixture(e)
			for n, u := range uses {
				name, a := fmt.Sprintf("%v, %d threads, %s", tier, threads, u.name), factors[n%2]
				m.due.known, m.due.rows, m.due.share = true, rows, float64(rows)/k
				e.SetFactors(m, a)
				if left := m.due.left.Load(); left != k {
					t.Fatalf("%s: %d P_i are due after SetFactors, want %d", name, left, k)
				}
				got := u.use(e, m, a)
				if left := m.due.left.Load(); left != u.left {
					t.Errorf("%s: %d P_i are due, want %d", name, left, u.left)
				}
				ready := NewMixture(k, d, h.mu, h.c)
				e.SetFactors(ready, a)
				for i, want := range u.use(e, ready, a) {
					sameNumbers(t, name, got[i], want)
				}
			}
		}
	}

	e, stopped := newTestEngine(t, WithRoute(SparseRoute)), true
	m := h.mixture(e)
	for _, c := range []struct {
		name string
		use  func()
		due  bool // P_i of the factors that follow
	}{
		{"nothing", func() {}, false},
		{"an ascent given up", func() { e.AscendUntil(func() bool { return stopped }, m, h.alpha, steps, clone(h.x)) }, false},
		{"an ascent", func() { uses[0].use(e, m, h.a) }, true},
		{"an ascent of due P_i", func() { uses[0].use(e, m, h.a) }, true},
		{"an ascent and the potential", func() { uses[0].use(e, m, h.a); uses[2].use(e, m, h.a) }, false},
		{"the potential and an ascent", func() { uses[2].use(e, m, h.a); uses[0].use(e, m, h.a) }, false},
		{"an ascent again", func() { uses[0].use(e, m, h.a) }, true},
		{"CountWork and an ascent", func() { uses[6].use(e, m, h.a); uses[0].use(e, m, h.a) }, true},
	} {
		c.use()
		e.SetFactors(m, h.a)
		if m.due.left.Load() > 0 != c.due {
			t.Errorf("after %s: %d P_i are due", c.name, m.due.left.Load())
		}
	}

	for _, change := range []float32{0, 0.1} { // A_i are diagonal, or one is not
		h := newHill("diagonal", k, d, -1, 0, 4, 1, rows).identity()
		m := h.mixture(e)
		h.a[len(h.a)-2] = change
		for range 2 {
			e.SetFactors(m, h.a)
			e.Ascend(m, h.alpha, steps, clone(h.x), nil, false)
		}
		if e.SetFactors(m, h.a); m.due.left.Load() > 0 != (change != 0) {
			t.Errorf("diagonal but for %g: %d P_i are due", change, m.due.left.Load())
		}
	}
}

// TestTryShare holds the choice to its limits: many rows, or few features, want all P_i at once.
func TestTryShare(t *testing.T) {
	for _, c := range []struct {
		d, rows  int
		min, max float64
	}{{784, 8, 0.7, 0.9}, {784, 128, 0.4, 0.7}, {784, 500, -9, 0}, {64, 128, -9, 0}} {
		if got := tryShare(c.d, c.rows); got < c.min || got > c.max {
			t.Errorf("d %d, %d rows: %.2f, want %.1f to %.1f", c.d, c.rows, got, c.min, c.max)
		}
	}
}
