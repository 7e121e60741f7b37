package engine

import (
	"fmt"
	"testing"
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
	return list
}

// TestDue checks that after an ascent which uses few components SetFactors leaves P_i due, that the
// next ascent makes those that it uses and no others, and that whoever needs others finds them.
func TestDue(t *testing.T) {
	const k, d, rows = 20, 40, 6 // each row near a centre of its own
	h := newHill("many components", k, d, -1, 0, 4, 1, rows)
	want, _ := climbBy(t, h, DenseRoute, Generic, 1)
	tiers, counts := Available(), []int{1, 3}
	if testing.Short() { // another emulated machine has the lesser tiers
		tiers, counts = tiers[:1], counts[1:]
	}
	for _, tier := range tiers {
		for _, threads := range counts {
			name := fmt.Sprintf("%v, %d threads", tier, threads)
			e := newTestEngine(t, WithTier(tier), WithThreads(threads), WithEagerThreads(), WithRoute(SparseRoute))
			m, g := h.mixture(e), h.gradient()
			left := func(when string, want int32) {
				t.Helper()
				if got := m.due.left.Load(); got != want {
					t.Fatalf("%s: %d P_i are due after %s, want %d", name, got, when, want)
				}
			}
			var tr Trajectory
			for update := range 3 {
				left("SetFactors", int32(min(update, 1)*k))
				x, v := clone(h.x), NewMatrix(rows, d)
				e.Ascend(m, h.alpha, 6, x, &tr, true)
				sameNumbers(t, name+": x_n", x.Data, want.x)
				left("the ascent", int32(min(update, 1)*(k-rows)))
				NewRand(8, 8).Normal(v.Data)
				e.AscendBackward(m, h.alpha, h.a, &tr, v, g)
				sameNumbers(t, name+": dL/dA", g.A, want.a)
				sameNumbers(t, name+": dL/dx_0", v.Data, want.v)
				left("the backward pass", int32(min(update, 1)*(k-rows)))
				e.SetFactors(m, h.a)
			}
			for name, use := range map[string]func(m *Mixture, q []float32, g Matrix){
				"Potential": func(m *Mixture, q []float32, g Matrix) { e.Potential(m, h.x, q, Matrix{}) },
				"QuadGrad":  func(m *Mixture, q []float32, g Matrix) { e.QuadGrad(g, q, h.x, m, 17) },
				"a dense ascent": func(m *Mixture, q []float32, g Matrix) {
					copyMatrix(g, h.x)
					e.route = DenseRoute
					e.Ascend(m, h.alpha, 6, g, nil, false)
					e.route = SparseRoute
				},
			} {
				var q [2][]float32
				var g [2]Matrix
				for n, some := range []*Mixture{h.mixture(e), m} {
					q[n], g[n] = make([]float32, rows), NewMatrix(rows, d)
					use(some, q[n], g[n])
				}
				sameNumbers(t, name, q[1], q[0])
				sameNumbers(t, name, g[1].Data, g[0].Data)
				left(name, 0)
				m.due.rows, m.due.share = rows, 0.3
				e.SetFactors(m, h.a)
				left("SetFactors", k)
			}
			for range 20 { // rows without end want all
				e.Ascend(m, h.alpha, 6, clone(h.x), nil, false)
			}
			left("many ascents", 0)
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
