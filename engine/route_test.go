package engine

import (
	"testing"
	"time"
)

// TestContest plays contests with known times: each route has two runs, the best of which
// count, and the faster one is taken for longer and longer.
func TestContest(t *testing.T) {
	k := kindOf(128, 3, true)
	for _, tc := range []struct {
		name string
		up   map[Route][]time.Duration // of the runs of a contest
		back map[Route]time.Duration
		want Route
	}{
		{"up", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {30, 30}}, nil, DenseRoute},
		{"with the way back", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {30, 30}},
			map[Route]time.Duration{DenseRoute: 50, SparseRoute: 20}, SparseRoute},
		{"the first run disturbed", map[Route][]time.Duration{DenseRoute: {20, 20}, SparseRoute: {90, 15}}, nil, SparseRoute},
		{"the sparse route not to be had", map[Route][]time.Duration{DenseRoute: {20, 20}}, nil, DenseRoute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var m Mixture
			for _, rest := range []int{128, 512, 2048, 8192, 8192} {
				runs := map[Route]int{}
				for range contestRuns {
					r := m.contest(k).route()
					if times := tc.up[r]; len(times) > 0 {
						m.timed(k, r, 100, times[runs[r]], false)
						m.timed(k, r, 100, tc.back[r], true)
					}
					runs[r]++
				}
				if runs[DenseRoute] != 2 || runs[SparseRoute] != 2 {
					t.Fatalf("the contest had %v runs", runs)
				}
				for i := range rest + 1 {
					r := m.contest(k).route()
					if r != tc.want {
						t.Fatalf("ascent %d of %d after the contest took the %v route", i, rest, r)
					}
					m.timed(k, SparseRoute, 100, time.Hour, false) // does not count any more
					m.timed(k, DenseRoute, 100, time.Hour, false)
				}
			}
		})
	}

	var m Mixture
	for rows := 1; rows < 1<<20; rows *= 2 {
		m.contest(kindOf(rows, 1, false)).route()
	}
	if len(m.contests) != maxContests {
		t.Errorf("%d contests are kept, want %d", len(m.contests), maxContests)
	}
	if c := m.contest(kindOf(1<<19, 1, false)); c.runs != 1 {
		t.Errorf("the last contest has had %d runs, want 1", c.runs)
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
		NewRand(8, 8).Normal(v.Data)
		e.AscendBackward(m, h.alpha, nil, &tr, v, g)
		sameNumbers(t, "dL/dF", g.F, want.f)
	}
	if seen[DenseRoute] < 2 || seen[SparseRoute] < 2 {
		t.Errorf("ascents took the routes %v, want some of each", seen)
	}
}
