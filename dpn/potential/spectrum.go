package potential

import (
	"context"
	"fmt"
	"slices"

	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/mpi"
	"dpnbench/internal/parallel"
)

// Steepest returns the largest eigenvalue of all P_i, on the given number of threads: exactly for the forms
// diag and flat, otherwise a few percent low at most (linalg.Lanczos).
func (p *Potential) Steepest(ctx context.Context, threads int) (float64, error) {
	return p.SteepestBy(ctx, threads, Alone)
}

// SteepestBy is Steepest by ranks that divide the components.
func (p *Potential) SteepestBy(ctx context.Context, threads int, by Division) (float64, error) {
	return p.greatest(ctx, threads, by, p.form.largest)
}

// greatest returns the largest of what f finds in each P_i, at least 0.
func (p *Potential) greatest(ctx context.Context, threads int, by Division,
	f func(i int) (float64, error)) (float64, error) {
	most := make([]float64, p.K)
	first, end := p.ownForms(by)
	err := parallel.ForEach(ctx, end-first, threads, func(at int) (err error) {
		most[first+at], err = f(first + at)
		return err
	})
	err = by.Gather(ctx, err, p.K, mpi.Bytes(most))
	var top float64
	for _, v := range most {
		top = max(top, v)
	}
	return top, err
}

// lanczosSteps is the number of products that largest takes: the eigenvalue is a few percent
// low at most (linalg.Lanczos).
const lanczosSteps = 24

// lanczos returns the largest eigenvalue of a symmetric positive definite d x d matrix, from
// a random start; multiply adds P x to y.
func lanczos(d int, multiply func(y, x []float64)) (float64, error) {
	start := make([]float32, d)
	num.NewRand(0, 0).Normal(start)
	return linalg.Lanczos(linalg.Widen(start), lanczosSteps, multiply)
}

// largestEigenvalue returns a lower bound on the largest eigenvalue of P, too small by at most some
// percent: 100 steps of power iteration from a random start (Kuczynski and Wozniakowski, SIAM J.
// Matrix Anal. Appl. 13, 1992: an error of about log(d)/100 for any other eigenvalues). EM limits
// the step size by it, and keeps to it for the sake of the bits of what is trained from there;
// Potential.Steepest takes fewer products, and no inverse.
func largestEigenvalue(g gaussian, d int) float64 {
	start := make([]float32, d)
	num.NewRand(0, 0).Normal(start)
	x, y := linalg.Widen(start), make([]float64, d)
	var value float64
	for range 100 {
		norm := linalg.Norm(x)
		for j := range x {
			x[j] /= norm
		}
		g.multiply(y, x)
		value = linalg.Dot(x, y)
		x, y = y, x
	}
	return value
}

// LambdaMax returns the largest eigenvalue of all P_i to rounding, on the given number of threads.
// Steepest estimates it in much less time.
func (p *Potential) LambdaMax(ctx context.Context, threads int) (float64, error) {
	return p.greatest(ctx, threads, Alone, func(i int) (float64, error) {
		values, err := linalg.EigenvaluesContext(ctx, p.form.precision(ctx, i), p.D)
		if err != nil {
			return 0, fmt.Errorf("component %d: %w", i, err)
		}
		return values[0], nil
	})
}

// Spectrum returns the eigenvalues of P_i, largest first, and the diagonal of its inverse: nil
// if P_i has none in float64 (Singular). It takes about half a second for 784 dimensions, and
// next to nothing for the form flat.
func (p *Potential) Spectrum(ctx context.Context, i int) (values, variances []float64, err error) {
	return p.form.spectrum(ctx, min(i, p.form.count()-1))
}

// Singular says whether a symmetric matrix with these eigenvalues, largest first, has no
// inverse in float64: the smallest is not above d 2^-52 times the largest, the size of what
// rounding makes of a zero.
func Singular(values []float64) bool {
	d := len(values)
	return !(values[d-1] > float64(d)*0x1p-52*values[0])
}

// denseSpectrum is the spectrum of the d x d matrix m, which it overwrites.
func denseSpectrum(ctx context.Context, m []float64, d int) (values, variances []float64, err error) {
	if values, err = linalg.EigenvaluesContext(ctx, slices.Clone(m), d); err != nil {
		return nil, nil, err
	}
	if !Singular(values) && linalg.Cholesky(m, d) {
		variances = linalg.InverseDiagonal(m, d)
	}
	return values, variances, nil
}
