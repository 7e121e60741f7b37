package engine

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// TestMixtureRow checks that the kernels for a single row, whose components are contiguous, have
// the bits of the kernel for several rows, also at ResponsibilityCut and with infinities and NaN.
func TestMixtureRow(t *testing.T) {
	rnd := num.NewRand(11, 4)
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), 1e-44, -2 * ResponsibilityCut, 3e38, -3e38}
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		for n := range 70 {
			for try := range 20 {
				q, c := make([]float32, n), make([]float32, n)
				rnd.Uniform(q, 0, float32([]int{1, 100, 1e5}[try%3]))
				rnd.Normal(c)
				if n > 0 && try%4 == 3 {
					q[rnd.Intn(n)] = special[rnd.Intn(len(special))]
					c[rnd.Intn(n)] = special[rnd.Intn(len(special))]
				}
				if n > 0 && try == 0 { // q/2 is rounded
					q[0], c[0] = 0x1.fffffep-126, 0x1.000002p-102
				}
				if n > 0 && try == 1 {
					q[0], c[0] = 0x1.fffffep-126, 3*0x1p-149
				}
				if n > 1 && try%4 == 2 { // at ResponsibilityCut and next to it
					clear(c)
					q[0], q[1] = 0, -2*ResponsibilityCut*(1+float32(try%3-1)*0x1p-23)
				}
				apart, want, got := make([]float32, 2*n), make([]float32, n+1), make([]float32, n+1)
				for i, v := range q {
					apart[2*i] = v
				}
				kern.mixture(apart, 2, c, want[n:])
				for i := range n {
					want[i] = apart[2*i]
				}
				copy(got, q)
				kern.mixture(got, 1, c, got[n:])
				for i := range want {
					if want[i] != want[i] && got[i] != got[i] {
						want[i], got[i] = 0, 0 // any NaN
					}
				}
				what := fmt.Sprintf("%v, %d components, %v, %v", tier, n, q, c)
				equalBits(t, what, got, want)
				if n == 0 || kern.table.mixtureLanes == nil {
					continue
				}
				lanes := [2][]float32{make([]float32, (n+7)/8*8), make([]float32, (n+7)/8*8)}
				copy(lanes[0], q)
				for i := copy(lanes[1], c); i < len(lanes[1]); i++ {
					lanes[1][i] = float32(math.Inf(-1))
				}
				kern.mixtureLanes(lanes[0], lanes[1])
				for i, v := range lanes[0][:n] {
					if v != v && apart[2*i] != apart[2*i] {
						lanes[0][i] = 0 // any NaN
					}
				}
				equalBits(t, what+", in lanes", lanes[0][:n], want[:n])
			}
		}
	}
}
