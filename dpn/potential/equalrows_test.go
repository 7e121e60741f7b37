package potential

import (
	"context"
	"testing"

	"dpnbench/engine"
)

// TestEqualRows checks that k-means of fewer different rows than centres ends at once.
func TestEqualRows(t *testing.T) {
	e := newEngine(t)
	for _, distinct := range []int{1, 3, 7, 8} {
		for _, unit := range []float32{1, 0.1} { // with and without rounding of the means
			x := engine.NewMatrix(100, 4)
			for i := range x.Rows {
				for j := range x.Cols {
					x.Set(i, j, unit*float32(1+i%distinct))
				}
			}
			r, err := KMeans(context.Background(), e, x, 8, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Converged || r.Iterations > 5 || !(r.Inertia <= 1e-6) {
				t.Errorf("%d different rows: %d iterations, converged %v, inertia %v", distinct, r.Iterations,
					r.Converged, r.Inertia)
			}
		}
	}
}
