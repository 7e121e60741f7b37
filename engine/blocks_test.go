package engine

import (
	"fmt"
	"testing"

	"dpnbench/engine/num"
)

// smallBlocks returns the tier with small blocks, so that small work falls into many.
func smallBlocks(kern *kernels) *kernels {
	small := *kern
	small.kc, small.mc = 64, 2*small.mr
	return &small
}

// TestSmallBlocks checks that the sizes of blocks change no bit: products and ascents of many
// blocks of rows and inner indices, as on a machine with small caches, against one that has them
// in a single block.
func TestSmallBlocks(t *testing.T) {
	type size struct{ rows, d, components int }
	sizes := []size{{25, 64, 3}, {33, 70, 2}, {61, 128, 1}, {40, 150, 1}}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, tier := range Available() {
		table, _ := tierKernels(tier)
		for _, s := range sizes {
			rnd := num.NewRand(7, uint64(s.d))
			random := func(rows, cols int) Matrix {
				m := NewMatrix(rows, cols)
				rnd.Normal(m.Data)
				return m
			}
			m, k, n := 3*s.rows, s.d, s.d+3
			a, b := random(m, k), random(k, n)
			mu, factors, x, v := random(s.components, s.d), random(s.components*s.d, s.d), random(s.rows, s.d), random(s.rows, s.d)
			for i := range factors.Data {
				factors.Data[i] /= float32(s.d)
			}
			var want [][]float32
			for _, kernels := range []*kernels{table, smallBlocks(table)} {
				e := newTestEngine(t, WithTier(tier), WithThreads(2), WithEagerThreads(), WithRoute(DenseRoute))
				e.kern = kernels
				plain, packed := NewMatrix(m, n), NewMatrix(m, n)
				e.MatMul(plain, a, b, false)
				e.MatMulPacked(packed, a, e.Pack(nil, b), false)
				mix := NewMixture(s.components, s.d, mu.Data, make([]float32, s.components))
				e.SetFactors(mix, factors.Data)
				end, slope, grad := clone(x), clone(v), NewMixtureGradient(s.components, s.d)
				var tr Trajectory
				e.Ascend(mix, 0.1, 3, end, &tr, true)
				e.AscendBackward(mix, 0.1, factors.Data, &tr, slope, grad)
				got := [][]float32{plain.Data, packed.Data, end.Data, slope.Data, grad.Mu, grad.C, grad.A}

				const rank = 9
				low := NewLowRankMixture(s.components, s.d, rank, mu.Data, make([]float32, s.components))
				ones := make([]float32, s.components*s.d)
				for i := range ones {
					ones[i] = 1
				}
				e.SetLowRank(low, ones, factors.Data[:s.components*rank*s.d], 1)
				for _, route := range []Route{DenseRoute, SparseRoute} {
					e.route = route
					end, slope, grad := clone(x), clone(v), NewLowRankGradient(s.components, s.d, rank)
					e.Ascend(low, 0.1, 3, end, &tr, true)
					e.AscendBackward(low, 0.1, nil, &tr, slope, grad)
					got = append(got, end.Data, slope.Data, grad.Mu)
				}
				if want == nil {
					want = got
					continue
				}
				for i, name := range []string{"A B", "A B, packed", "x_n", "dL/dx_0", "dmu", "dc", "dA", "x_n of low rank", "dL/dx_0 of it", "dmu", "x_n of low rank, sparse", "dL/dx_0 of it", "dmu"} {
					equalBits(t, fmt.Sprintf("%v, %d rows of %d, %d components: %s", tier, s.rows, s.d, s.components, name), got[i], want[i])
				}
			}
		}
	}
}
