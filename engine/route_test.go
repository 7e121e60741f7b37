package engine

import (
	"strings"
	"testing"
	"time"

	"dpnbench/engine/num"
)

// TestContest plays contests with known times: each route has two runs, the best of which
// count, and the faster one is taken for longer and longer.
func TestContest(t *testing.T) {
	const stopped = -1
	k := kindOf(128, 3, true)
	for _, tc := range []struct {
		name     string
		up, back map[Route][]time.Duration // of the runs of a contest
		want     Route
		asks     int // of a contest
	}{
		{"up", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {30, 30}}, nil, DenseRoute, 4},
		{"with the way back", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {30, 30}},
			map[Route][]time.Duration{DenseRoute: {50, 60}, SparseRoute: {20, 20}}, SparseRoute, 4},
		{"one way back only", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {10, 10}},
			map[Route][]time.Duration{SparseRoute: {20, 20}}, SparseRoute, 4},
		{"the first run disturbed", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {90, 15}}, nil, SparseRoute, 4},
		{"some given up", map[Route][]time.Duration{DenseRoute: {20, stopped, 20}, SparseRoute: {stopped, stopped, 15, 15}}, nil, SparseRoute, 7},
		{"the sparse route not to be had", map[Route][]time.Duration{DenseRoute: {20}}, nil, DenseRoute, contestAsks},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var m Mixture
			m.activity.active = 2
			for _, rest := range []int{128, 512, 2048, 8192, 8192} {
				runs, asks := map[Route]int{}, 0
				for {
					r := m.openRoute(k, 0.7)
					if m.contests[0].rest > 0 {
						break
					}
					asks++
					if up := tc.up[r]; len(up) > 0 && up[min(runs[r], len(up)-1)] != stopped {
						m.timed(k, r, 100, up[min(runs[r], len(up)-1)], false)
						if back := tc.back[r]; len(back) > 0 {
							m.timed(k, r, 100, back[min(runs[r], len(back)-1)], true)
						}
					}
					runs[r]++
				}
				if asks != tc.asks {
					t.Fatalf("the contest took %d ascents, want %d: %v", asks, tc.asks, runs)
				}
				for i := range rest {
					if r := m.openRoute(k, 0.7); r != tc.want {
						t.Fatalf("ascent %d of %d after the contest took the %v route", i, rest, r)
					}
					m.timed(k, SparseRoute, 100, time.Hour, false) // does not count any more
					m.timed(k, DenseRoute, 100, time.Hour, false)
				}
			}
			m.openRoute(k, 0.7)
			m.contests[0].rest = 100
			if m.activity.active = 4; m.openRoute(k, 0.7) != DenseRoute || m.contests[0].rest != 0 {
				t.Error("twice as many active components do not begin a contest")
			}
		})
	}
}

// TestManyContests checks that kinds for which there is no room neither keep others from
// ending nor grow the list.
func TestManyContests(t *testing.T) {
	var m Mixture
	sparse := 0
	for range 2000 {
		for rows := 1; rows < 1<<20; rows *= 2 {
			k := kindOf(rows, 1, false)
			r := m.openRoute(k, 0.9)
			took := 20 * time.Second
			if r == SparseRoute {
				took /= 2
				sparse++
			}
			m.timed(k, r, rows, took, false)
		}
	}
	if len(m.contests) > maxContests {
		t.Errorf("%d contests are kept, want at most %d", len(m.contests), maxContests)
	}
	if sparse < 2000 {
		t.Errorf("%d ascents of %d took the faster route", sparse, 2000*20)
	}
	if r := new(Mixture).openRoute(kindOf(1, 1, false), 0.6); r != DenseRoute {
		t.Errorf("the first ascent took the %v route", r)
	}
}

// TestAutoRoute checks that AutoRoute tries both routes where the model leaves it open, and
// that no bit depends on it.
func TestAutoRoute(t *testing.T) {
	h := newHill("flat", 12, 35, 4, -1, 3, 2, 60)
	want, _ := climbBy(t, h, DenseRoute, Auto, 1)
	e := newTestEngine(t, WithThreads(2), WithEagerThreads())
	m := h.mixture(e)
	var tr Trajectory
	seen := map[Route]int{}
	for range 12 {
		x := clone(h.x)
		e.Ascend(m, h.alpha, 1, x, nil, false)
		seen[e.Work().Route]++
		x = clone(h.x)
		e.Ascend(m, h.alpha, 6, x, &tr, true)
		sameNumbers(t, e.Work().Route.String(), x.Data, want.x)
		v, g := NewMatrix(x.Rows, x.Cols), h.gradient()
		num.NewRand(8, 8).Normal(v.Data)
		e.AscendBackward(m, h.alpha, nil, &tr, v, g)
		sameNumbers(t, "dL/dF", g.F, want.f)
	}
	if seen[DenseRoute] < 2 || seen[SparseRoute] < 2 {
		t.Errorf("ascents took the routes %v, want some of each", seen)
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
