package ascent

import (
	"math"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// TestAutoRoute checks that AutoRoute takes the sparse route where few components are active and
// the dense one where all are, by what rows of x show, and that no bit depends on it.
func TestAutoRoute(t *testing.T) {
	longtest.Native(t)
	few := newLandscape("few active", 60, 128, -1, 0, 6, 1, 40)
	all := newLandscape("all active", 60, 128, -1, 0, 0.01, 0.01, 40)
	for _, h := range []*landscape{few, all} {
		want, _ := climbBy(t, h, DenseRoute, engine.Auto, 1)
		e := newTestEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
		m, x := h.mixture(e), clone(h.x)
		m.Ascend(e, h.alpha, 6, x, nil, false)
		route := DenseRoute
		if h == few {
			route = SparseRoute
		}
		if got := m.Work().Route; got != route || !m.activity.known {
			t.Errorf("%s: the %v route with %.1f active components", h.name, got, m.activity.active)
		}
		sameNumbers(t, h.name, x.Data, want.x)
	}
}

// TestUnbounded checks that precisions without bounds are climbed, and said to be climbed, by
// the dense route, that this is found out once, and that precisions set later have theirs.
func TestUnbounded(t *testing.T) {
	for _, route := range []Route{SparseRoute, AutoRoute} {
		e := newTestEngine(t, engine.WithThreads(1))
		h := newLandscape("flat", 12, 35, 4, -1, 3, 2, 60)
		m := h.by(e, route)
		const dense = "dense route: no bounds, because"
		if s := m.ExplainRoute(e, 60, 3); strings.HasPrefix(s, dense) || m.bounds == nil {
			t.Errorf("%v, with bounds: %s", route, s)
		}
		for i := range h.f {
			h.f[i] *= 3 // beyond what is proved to be positive definite
		}
		m.SetLowRank(e, h.w, h.f, h.sign)
		for range 2 {
			m.Ascend(e, 0.1, 3, clone(h.x), nil, false)
			if s := m.ExplainRoute(e, 60, 3); m.Work().Route != DenseRoute || !strings.HasPrefix(s, dense) {
				t.Errorf("%v: the ascent took the %v route, explained as %s", route, m.Work().Route, s)
			}
			if m.boundable() {
				t.Errorf("%v: the bounds are to be made again", route)
			}
		}
		for i := range h.f {
			h.f[i] /= 3
		}
		m.SetLowRank(e, h.w, h.f, h.sign)
		if s := m.ExplainRoute(e, 60, 3); strings.HasPrefix(s, dense) {
			t.Errorf("%v, with bounds again: %s", route, s)
		}
	}
}

// TestFewRows checks that a few rows with one active component each are not taken to pay for reading P_i more often
// than all components would: the P_i of one may stay in a cache, those of all in none.
func TestFewRows(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	const k, d, steps = 20, 784, 30
	m := NewMixture(k, d, make([]float32, k*d), make([]float32, k))
	for rows := 1; rows <= 512; rows *= 2 {
		if c := m.sparseCost(e, rows, steps, 1); !(c < 0.5) {
			t.Errorf("%d rows, 1 of %d components active: the sparse route costs %.2f of the dense one", rows, k, c)
		}
		if c := m.sparseCost(e, rows, steps, k); !(c >= 1) {
			t.Errorf("%d rows, all components active: the sparse route costs %.2f of the dense one", rows, c)
		}
	}
}

// TestRoutesFarOut checks that both routes give the same bits where a centre, a weight or their product is huge or
// infinite: what a route leaves out must be 0, and 0 times infinity is none.
func TestRoutesFarOut(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	inf := float32(math.Inf(1))
	for _, c := range []struct{ mu, w float32 }{
		{3e38, 2}, {inf, 1}, {1e30, 1e9}, {-1e20, 1e19}, {1e19, 1}, {1, inf}, {2, 3e38}, {2, 1e30}, {0, 1e38},
	} {
		for _, sign := range []float32{1, -1} {
			for rank := range 2 {
				for _, steps := range []int{1, 3} {
					var bits []uint32
					for _, route := range []Route{DenseRoute, SparseRoute} {
						m := NewLowRankMixture(2, 1, rank, []float32{0, c.mu}, []float32{0, 0})
						m.SetLowRank(e, []float32{1, c.w}, []float32{.5, .5}[:2*rank], sign)
						bits = append(bits, endOf(e, m, route, steps))
					}
					if bits[0] != bits[1] {
						t.Errorf("mu %v, w %v, sign %v, rank %d, %d steps: %v by the dense route, %v by the sparse one",
							c.mu, c.w, sign, rank, steps, math.Float32frombits(bits[0]), math.Float32frombits(bits[1]))
					}
				}
			}
		}
		var bits []uint32
		for _, route := range []Route{DenseRoute, SparseRoute} {
			m := NewMixture(2, 1, []float32{0, c.mu}, []float32{0, 0})
			m.SetFactors(e, []float32{1, float32(math.Sqrt(float64(c.w)))})
			bits = append(bits, endOf(e, m, route, 3))
		}
		if bits[0] != bits[1] {
			t.Errorf("mu %v, P %v: %v by the dense route, %v by the sparse one", c.mu, c.w,
				math.Float32frombits(bits[0]), math.Float32frombits(bits[1]))
		}
	}
}

// endOf returns the bits of the end of an ascent from 0.5, the same of all NaN.
func endOf(e *engine.Engine, m *Mixture, route Route, steps int) uint32 {
	m.Route = route
	x := engine.View([]float32{.5}, 1, 1)
	m.Ascend(e, .1, steps, x, nil, false)
	if x.Data[0] != x.Data[0] {
		return math.Float32bits(float32(math.NaN()))
	}
	return math.Float32bits(x.Data[0])
}
