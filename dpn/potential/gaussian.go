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

// gaussians returns those of the k components that this rank computes, the others being nil, or says which has a
// precision without inverse. Those of tied precisions are one and the same, which all ranks compute.
func (p *Potential) gaussians(ctx context.Context, threads int, by Division) ([]gaussian, error) {
	list, count := make([]gaussian, p.K), p.form.count()
	first, end := p.ownForms(by)
	err := parallel.ForEach(ctx, end-first, threads, func(at int) (err error) {
		i := first + at
		if list[i], err = p.form.gaussian(ctx, i); err != nil {
			return fmt.Errorf("component %d: %w", i, err)
		}
		return nil
	})
	for i := count; i < p.K; i++ {
		list[i] = list[0]
	}
	return list, err
}

// ownForms returns which of the distinct P_i this rank computes: of one that components share, all do.
func (p *Potential) ownForms(by Division) (lo, hi int) {
	if n := p.form.count(); n < p.K {
		return 0, n
	}
	return by.Own(p.K)
}

var errSingular = errors.New("the precision has no inverse in float64, so there is nothing to draw from")

// invertible puts the Cholesky factor of a, n x n, into its lower half, and says whether a
// has an inverse in float64: no pivot may be what rounding makes of a zero (see
// Singular; no pivot is below the smallest eigenvalue).
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
