package linalg

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The factor by blocks is that of Cholesky up to rounding, for sizes around the block and any number of threads;
// a matrix that is not positive definite is refused by both.
func TestCholeskyBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 63, 64, 65, 128, 129, 200} {
		x := make([]float64, n*(n+5))
		for i := range x {
			x[i] = random.NormFloat64()
		}
		a := make([]float64, n*n)
		for i := range n {
			for j := range n {
				a[i*n+j] = Dot(x[i*(n+5):(i+1)*(n+5)], x[j*(n+5):(j+1)*(n+5)])
			}
		}
		want, got, other := append([]float64(nil), a...), append([]float64(nil), a...), append([]float64(nil), a...)
		if !Cholesky(want, n) || !CholeskyBlocks(got, n, 1) || !CholeskyBlocks(other, n, 3) {
			t.Fatalf("n %d: not positive definite", n)
		}
		for i := range n {
			for j := range i + 1 {
				if at := i*n + j; !(math.Abs(got[at]-want[at]) <= 1e-10*want[0]) || got[at] != other[at] {
					t.Fatalf("n %d: element (%d, %d) is %v, want %v; %v on 3 threads", n, i, j, got[at],
						want[at], other[at])
				}
			}
		}
		a[n*n-1] = -1
		if CholeskyBlocks(a, n, 2) {
			t.Errorf("n %d: a negative diagonal is positive definite", n)
		}
	}
}
