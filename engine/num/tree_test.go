package num

import (
	"math"
	"testing"
)

// TestTree holds TreeStep and TreeSum against the definition.
func TestTree(t *testing.T) {
	var sum func(x []float32) float32
	sum = func(x []float32) float32 {
		if len(x) == 1 {
			return x[0]
		}
		first := 1
		for 2*first < len(x) {
			first *= 2
		}
		return sum(x[:first]) + sum(x[first:])
	}
	for n := 1; n <= 70; n++ {
		var x []float32
		levels := make([]float32, TreeLevels(n))
		for i := range n {
			v := float32(math.Exp(math.Sin(float64(i * i)))) // of which each order has another sum
			x = append(x, v)
			add, store := TreeStep(i, n)
			for l := range levels {
				if add>>l&1 == 1 {
					v = levels[l] + v
				}
			}
			if store >= 0 {
				levels[store] = v
			} else if want := sum(x); i != n-1 || v != want || TreeSum(x) != want {
				t.Errorf("%d numbers: sum %v after %d, TreeSum %v, want %v", n, v, i+1, TreeSum(x), want)
			}
		}
	}
}
