package ascent

import (
	"dpnbench/engine"
	"fmt"
	"testing"

	"dpnbench/engine/num"
)

// TestSmallBlocks checks that block sizes do not change any bit: it compares ascents in many blocks
// of rows and inner indices, as on a machine with small caches, with ascents in a single block.
func TestSmallBlocks(t *testing.T) {
	type size struct{ rows, d, components int }
	sizes := []size{{25, 64, 3}, {33, 70, 2}, {61, 128, 1}, {40, 150, 1}}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, tier := range engine.Available() {
		for _, s := range sizes {
			rnd := num.NewRand(7, uint64(s.d))
			random := func(rows, cols int) engine.Matrix {
				m := engine.NewMatrix(rows, cols)
				rnd.Normal(m.Data)
				return m
			}
			mu, factors := random(s.components, s.d), random(s.components*s.d, s.d)
			x, v := random(s.rows, s.d), random(s.rows, s.d)
			for i := range factors.Data {
				factors.Data[i] /= float32(s.d)
			}
			var want [][]float32
			for _, options := range [][]engine.Option{nil, {engine.WithSmallBlocks()}} {
				e := newTestEngine(t, append(options, engine.WithTier(tier), engine.WithThreads(2),
					engine.WithEagerThreads())...)
				mix := NewMixture(s.components, s.d, mu.Data, make([]float32, s.components))
				mix.Route = DenseRoute
				mix.SetFactors(e, factors.Data)
				end, slope, grad := clone(x), clone(v), NewGradient(s.components, s.d)
				var tr Trajectory
				mix.Ascend(e, 0.1, 3, end, &tr, true)
				mix.Backward(e, 0.1, factors.Data, &tr, slope, grad)
				got := [][]float32{end.Data, slope.Data, grad.Mu, grad.C, grad.A}

				const rank = 9
				low := NewLowRankMixture(s.components, s.d, rank, mu.Data, make([]float32, s.components))
				ones := make([]float32, s.components*s.d)
				for i := range ones {
					ones[i] = 1
				}
				low.SetLowRank(e, ones, factors.Data[:s.components*rank*s.d], 1)
				for _, route := range []Route{DenseRoute, SparseRoute} {
					low.Route = route
					end, slope, grad := clone(x), clone(v), NewLowRankGradient(s.components, s.d, rank, true)
					low.Ascend(e, 0.1, 3, end, &tr, true)
					low.Backward(e, 0.1, nil, &tr, slope, grad)
					got = append(got, end.Data, slope.Data, grad.Mu)
				}
				if want == nil {
					want = got
					continue
				}
				for i, name := range []string{"x_n", "dL/dx_0", "dmu", "dc", "dA", "x_n of low rank",
					"dL/dx_0 of it", "dmu", "x_n of low rank, sparse", "dL/dx_0 of it", "dmu"} {
					equalBits(t, fmt.Sprintf("%v, %d rows of %d, %d components: %s", tier, s.rows, s.d,
						s.components, name), got[i], want[i])
				}
			}
		}
	}
}
