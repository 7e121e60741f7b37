package engine

import (
	"strings"
	"testing"
)

// TestAutoRoute checks that AutoRoute takes the sparse route where few components are active and
// the dense one where all are, by what rows of x show, and that no bit depends on it.
func TestAutoRoute(t *testing.T) {
	few := newHill("few active", 60, 128, -1, 0, 6, 1, 40)
	all := newHill("all active", 60, 128, -1, 0, 0.01, 0.01, 40)
	for _, h := range []*hill{few, all} {
		want, _ := climbBy(t, h, DenseRoute, Auto, 1)
		e := newTestEngine(t, WithThreads(2), WithEagerThreads())
		m, x := h.mixture(e), clone(h.x)
		e.Ascend(m, h.alpha, 6, x, nil, false)
		route := DenseRoute
		if h == few {
			route = SparseRoute
		}
		if got := e.Work().Route; got != route || !m.activity.known {
			t.Errorf("%s: the %v route with %.1f active components", h.name, got, m.activity.active)
		}
		sameNumbers(t, h.name, x.Data, want.x)
	}
}

// TestUncertain checks that precisions without certificates are climbed, and said to be climbed, by
// the dense route, that this is found out once, and that precisions set later have theirs.
func TestUncertain(t *testing.T) {
	for _, route := range []Route{SparseRoute, AutoRoute} {
		e := newTestEngine(t, WithThreads(1), WithRoute(route))
		h := newHill("flat", 12, 35, 4, -1, 3, 2, 60)
		m := h.mixture(e)
		const dense = "dense route: that"
		if s := e.ExplainRoute(m, 60, 3); strings.HasPrefix(s, dense) || m.certificates == nil {
			t.Errorf("%v, with certificates: %s", route, s)
		}
		for i := range h.f {
			h.f[i] *= 3 // beyond what is proved to be positive definite
		}
		e.SetLowRank(m, h.w, h.f, h.sign)
		for range 2 {
			e.Ascend(m, 0.1, 3, clone(h.x), nil, false)
			if s := e.ExplainRoute(m, 60, 3); e.Work().Route != DenseRoute || !strings.HasPrefix(s, dense) {
				t.Errorf("%v: the ascent took the %v route, explained as %s", route, e.Work().Route, s)
			}
			if m.certifiable() {
				t.Errorf("%v: the certificates are to be made again", route)
			}
		}
		for i := range h.f {
			h.f[i] /= 3
		}
		e.SetLowRank(m, h.w, h.f, h.sign)
		if s := e.ExplainRoute(m, 60, 3); strings.HasPrefix(s, dense) {
			t.Errorf("%v, with certificates again: %s", route, s)
		}
	}
}
