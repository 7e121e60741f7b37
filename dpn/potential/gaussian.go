package potential

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// gaussian is one component of a potential as something to draw from: N(0, P^-1), in
// float64, with the same bits on every machine.
type gaussian interface {
	// logDet returns log |P|.
	logDet() float64
	// draw sets x to M z with M M^T = P^-1, and uses z as scratch. Of a standard normal z
	// it makes a draw of N(0, P^-1).
	draw(x, z []float64)
	// multiply sets y to P x.
	multiply(y, x []float64)
}

// gaussians returns all k components, those of tied precisions being one and the same, or
// says which has a precision without inverse.
func (p *Potential) gaussians(ctx context.Context, threads int) ([]gaussian, error) {
	list, own := make([]gaussian, p.K), p.form.count()
	err := parallel.ForEach(ctx, own, threads, func(i int) (err error) {
		if list[i], err = p.form.gaussian(ctx, i); err != nil {
			return fmt.Errorf("component %d: %w", i, err)
		}
		return nil
	})
	for i := own; i < p.K; i++ {
		list[i] = list[0]
	}
	return list, err
}

var errSingular = errors.New("the precision has no inverse in float64, so there is nothing to draw from")

// invertible puts the Cholesky factor of a, n x n, into its lower half, and says whether a
// has an inverse in float64: no pivot may be what rounding makes of a zero (see
// Spectrum.singular; no pivot is below the smallest eigenvalue).
func invertible(a []float64, n int) bool {
	var largest float64
	for i := range n {
		largest = max(largest, a[i*n+i])
	}
	if !linalg.Cholesky(a, n) {
		return false
	}
	for i := range n {
		if pivot := a[i*n+i]; !(pivot*pivot > float64(n)*0x1p-52*largest) || math.IsInf(pivot, 0) {
			return false
		}
	}
	return true
}

// logDiagonal returns the sum of the logarithms of the diagonal of a, n x n.
func logDiagonal(a []float64, n int) float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = a[i*n+i]
	}
	return linalg.LogProduct(v)
}
