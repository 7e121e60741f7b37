package engine

import (
	"fmt"
	"testing"

	"dpnbench/engine/num"
)

// TestSmallBlocks checks that block sizes do not change any bit: it compares products in many
// blocks of rows and inner indices, as on a machine with small caches, with products in a single
// block.
func TestSmallBlocks(t *testing.T) {
	type size struct{ rows, d int }
	sizes := []size{{25, 64}, {33, 70}, {61, 128}, {40, 150}}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, tier := range Available() {
		for _, s := range sizes {
			rnd := num.NewRand(7, uint64(s.d))
			random := func(rows, cols int) Matrix {
				m := NewMatrix(rows, cols)
				rnd.Normal(m.Data)
				return m
			}
			m, k, n := 3*s.rows, s.d, s.d+3
			a, b := random(m, k), random(k, n)
			var want [][]float32
			for _, options := range [][]Option{nil, {WithSmallBlocks()}} {
				e := newTestEngine(t, append(options, WithTier(tier), WithThreads(2), WithEagerThreads())...)
				plain, packed := NewMatrix(m, n), NewMatrix(m, n)
				e.MatMul(plain, a, b, false)
				e.MatMulPacked(packed, a, e.Pack(nil, b), false)
				got := [][]float32{plain.Data, packed.Data}
				if want == nil {
					want = got
					continue
				}
				for i, name := range []string{"A B", "A B, packed"} {
					equalBits(t, fmt.Sprintf("%v, %d rows of %d: %s", tier, s.rows, s.d, name), got[i], want[i])
				}
			}
		}
	}
}
