package separation

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"dpnbench/internal/linalg"
)

// PCA holds the principal components of a set of features.
type PCA struct {
	// Dim is the width of a row.
	Dim int
	// Mean is the mean row.
	Mean []float64
	// TotalVariance is the trace of the covariance matrix (divisor n).
	TotalVariance float64
	// Eigenvalues are the leading eigenvalues of the covariance, largest first:
	// the variance along each component.
	Eigenvalues []float64
	// ExplainedVariance is each eigenvalue's share of the total variance, or 0 if that is 0.
	ExplainedVariance []float64
	// Components holds one row of width Dim and length 1 for each eigenvalue. The sign of a row
	// makes its entry of largest magnitude (the first of equals) positive. For equal eigenvalues,
	// including zeros, the rows are a deterministic choice of an orthonormal basis.
	Components []float64
	// Method is "covariance", "gram" (both exact up to rounding) or "krylov".
	Method string
	// Iterations is the number of passes of the Krylov iteration over the features, and Residual
	// its largest |C v - lambda v| relative to the largest eigenvalue. Both are 0 for the other
	// methods.
	Iterations int
	Residual   float64
}

// denseSize is the largest size of a covariance or Gram matrix whose full eigendecomposition is
// cheaper than the Krylov iteration.
const denseSize = 160

// FitPCA computes the min(q, dim) leading principal components of x, in rows of width dim, on the
// given number of threads (0: GOMAXPROCS). The result has the same bits for every number of
// threads. If ctx ends, it stops and returns the error of ctx.
func FitPCA(ctx context.Context, x []float32, dim, q, threads int) (*PCA, error) {
	rows, err := checkRows(x, dim)
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, fmt.Errorf("separation: principal components of no rows")
	}
	if q < 1 {
		return nil, fmt.Errorf("separation: %d principal components asked for: at least 1 is needed", q)
	}
	if err := checkSource(ctx, memory{x, dim}, threads); err != nil {
		return nil, err
	}
	return fitPCA(ctx, memory{x, dim}, q, threads)
}

// fitPCA is FitPCA for valid features.
func fitPCA(ctx context.Context, src Source, q, threads int) (*PCA, error) {
	c, err := newCovariance(ctx, src, threads)
	if err != nil {
		return nil, err
	}
	rows, dim := c.rows, c.dim
	p := &PCA{Dim: dim, Mean: c.mean}
	if p.TotalVariance, err = c.trace(ctx); err != nil {
		return nil, err
	}
	q = min(q, dim)
	switch small := min(rows, dim); {
	case sparse(small, q):
		p.Method = "krylov"
		err = p.lanczos(ctx, c, q)
	case dim <= rows:
		p.Method = "covariance"
		err = p.dense(ctx, c, q)
	default:
		p.Method = "gram"
		err = p.gram(ctx, c, q)
	}
	if err != nil {
		return nil, err
	}
	p.finish()
	return p, nil
}

// sparse reports whether q components are found by Krylov iteration, where the smaller of rows and features is small.
func sparse(small, q int) bool { return small > denseSize && 8*q <= small }

// finish sets ExplainedVariance and the signs of the components.
func (p *PCA) finish() {
	p.ExplainedVariance = make([]float64, len(p.Eigenvalues))
	for i, v := range p.Eigenvalues {
		// Rounding may make a zero eigenvalue slightly negative.
		p.Eigenvalues[i] = max(v, 0)
		if p.TotalVariance > 0 {
			p.ExplainedVariance[i] = p.Eigenvalues[i] / p.TotalVariance
		}
		fixSign(p.Components[i*p.Dim : (i+1)*p.Dim])
	}
}

// dense decomposes the d x d covariance matrix.
func (p *PCA) dense(ctx context.Context, c *covariance, q int) error {
	matrix, err := c.matrix(ctx)
	if err != nil {
		return err
	}
	values, vectors, err := linalg.SymmetricEigen(ctx, matrix, c.dim)
	if err != nil {
		return err
	}
	p.Eigenvalues, p.Components = values[:q:q], vectors[:q*c.dim:q*c.dim]
	return nil
}

// gram decomposes the n x n matrix Z Z^T / n of the centred rows Z, whose non-zero eigenvalues are
// those of Z^T Z / n. The components are Z^T u, normalised.
func (p *PCA) gram(ctx context.Context, c *covariance, q int) error {
	gram, z, err := c.gramMatrix(ctx)
	if err != nil {
		return err
	}
	values, u, err := linalg.SymmetricEigen(ctx, gram, c.rows)
	if err != nil {
		return err
	}
	p.Eigenvalues = make([]float64, q)
	p.Components = make([]float64, q*c.dim)
	for i := range q {
		row := p.Components[i*c.dim : (i+1)*c.dim]
		if i < c.rows {
			p.Eigenvalues[i] = values[i]
			for j, w := range u[i*c.rows : (i+1)*c.rows] {
				linalg.Axpy(w, z[j*c.dim:(j+1)*c.dim], row)
			}
		}
		// Rows of small eigenvalues are not accurately orthogonal; those of zero eigenvalues are
		// replaced by vectors that complete the basis.
		linalg.Orthonormalise(row, p.Components[:i*c.dim])
	}
	return nil
}

// lanczos computes the components by products with the covariance matrix, which is never
// formed. Each iteration is one pass over the features.
func (p *PCA) lanczos(ctx context.Context, c *covariance, q int) error {
	return p.krylov(ctx, q, func(out, in []float64) error { return c.apply(ctx, out, in) })
}

// krylov computes the components of the matrix that apply multiplies rows of in with.
func (p *PCA) krylov(ctx context.Context, q int, apply func(out, in []float64) error) error {
	var failed error
	k, err := linalg.BlockLanczos(ctx, p.Dim, q, func(out, in []float64) {
		if failed == nil {
			failed = apply(out, in)
		}
	})
	if err = cmp.Or(ctx.Err(), failed, err); err != nil {
		return err
	}
	p.Eigenvalues, p.Components, p.Iterations, p.Residual = k.Values, k.Vectors, k.Iterations, k.Residual
	return nil
}

// First returns p with only its first q components (or all, if there are fewer).
func (p *PCA) First(q int) *PCA {
	f := *p
	q = min(q, len(p.Eigenvalues))
	f.Eigenvalues, f.ExplainedVariance, f.Components = p.Eigenvalues[:q], p.ExplainedVariance[:q],
		p.Components[:q*p.Dim]
	return &f
}

// Project returns the coordinates of each row of x (width Dim) along the
// components: n x q, row after row.
func (p *PCA) Project(x []float32) ([]float64, error) {
	rows, err := checkRows(x, p.Dim)
	if err != nil {
		return nil, err
	}
	q := len(p.Eigenvalues)
	out := make([]float64, rows*q)
	t := make([]float64, p.Dim)
	for i := range rows {
		centreRow(t, x[i*p.Dim:(i+1)*p.Dim], p.Mean)
		for k := range q {
			out[i*q+k] = linalg.Dot(t, p.Components[k*p.Dim:(k+1)*p.Dim])
		}
	}
	return out, nil
}

// fixSign flips v if its entry of largest magnitude is negative.
func fixSign(v []float64) {
	best := 0
	for j := range v {
		if math.Abs(v[j]) > math.Abs(v[best]) {
			best = j
		}
	}
	if v[best] < 0 {
		linalg.Scale(-1, v)
	}
}
