package ascent

import (
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
