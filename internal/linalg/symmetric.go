package linalg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// errNoConvergence is of input that is not finite, and not known to occur otherwise; the bound on the number of
// iterations rules out an endless loop.
var errNoConvergence = errors.New("linalg: eigenvalue iteration did not converge")

// Eigenvalues returns the n eigenvalues of the symmetric n x n matrix a (row-major, both
// triangles filled, overwritten), largest first, accurate to a few units in the last place
// of the largest. It takes about a third of the time of Eigenvectors.
func Eigenvalues(a []float64, n int) ([]float64, error) {
	return EigenvaluesContext(context.Background(), a, n)
}

// EigenvaluesContext is Eigenvalues that stops with the error of ctx when ctx ends.
func EigenvaluesContext(ctx context.Context, a []float64, n int) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkMatrix(a, n); err != nil {
		return nil, err
	}
	exponent := moderate(a)
	d, e, _ := tridiagonalise(ctx, a, n)
	if err := diagonalise(ctx, d, e, nil, n); err != nil {
		return nil, err
	}
	multiply(d, exponent)
	slices.Sort(d)
	slices.Reverse(d)
	return d, nil
}

// Eigenvectors is Eigenvalues with the unit eigenvectors, as the rows of an n x n matrix. For equal
// eigenvalues they are a deterministic choice of an orthonormal basis.
func Eigenvectors(a []float64, n int) (values, vectors []float64, err error) {
	if err := checkMatrix(a, n); err != nil {
		return nil, nil, err
	}
	return SymmetricEigen(context.Background(), a, n)
}

func checkMatrix(a []float64, n int) error {
	if n < 0 || len(a) != n*n {
		return fmt.Errorf("linalg: eigenvalues of %d numbers as a %d x %d matrix", len(a), n, n)
	}
	for i, v := range a {
		if !IsFinite(v) {
			return fmt.Errorf("linalg: eigenvalues: element (%d, %d) of the matrix is not finite", i/n, i%n)
		}
	}
	return nil
}

// SymmetricEigen returns the eigenvalues of the symmetric n x n matrix a
// (row-major, both triangles filled, overwritten), largest first, and the unit
// eigenvectors as the rows of an n x n matrix.
//
// The method is Householder reduction to tridiagonal form, then the implicit QR iteration
// with Wilkinson's shift (Golub and Van Loan, Matrix Computations, 8.3). Unlike
// Eigenvectors it does not check a, and it stops with the error of ctx when ctx ends.
func SymmetricEigen(ctx context.Context, a []float64, n int) (values, vectors []float64, err error) {
	exponent := moderate(a)
	d, e, beta := tridiagonalise(ctx, a, n)
	q := reflections(ctx, a, beta, n)
	if err := diagonalise(ctx, d, e, q, n); err != nil {
		return nil, nil, err
	}
	multiply(d, exponent)
	// Selection sort needs at most n swaps of rows, and ties keep the lower index.
	for i := range n {
		best := i
		for j := i + 1; j < n; j++ {
			if d[j] > d[best] {
				best = j
			}
		}
		if best != i {
			d[i], d[best] = d[best], d[i]
			for j := range n {
				q[i*n+j], q[best*n+j] = q[best*n+j], q[i*n+j]
			}
		}
	}
	return d, q, nil
}

// moderate multiplies a matrix whose largest element is so large or small that squares would leave the range of float64
// by a power of two, 2^-exponent, and returns the exponent.
func moderate(a []float64) (exponent int) {
	var size float64
	for _, v := range a {
		size = max(size, math.Abs(v))
	}
	if size > 0x1p-300 && size < 0x1p300 || size == 0 || !IsFinite(size) {
		return 0
	}
	_, exponent = math.Frexp(size)
	multiply(a, -exponent)
	return exponent
}

// multiply multiplies x by 2^exponent.
func multiply(x []float64, exponent int) {
	for i, v := range x {
		x[i] = math.Ldexp(v, exponent)
	}
}

// leastReflector is the square of a column that counts as 0 below the first entry, in a moderate matrix: 2 by a smaller
// one overflows.
const leastReflector = 0x1p-900

// tridiagonalise reduces a to Q T Q^T: d is the diagonal of T (n), e the
// off-diagonal (n-1). It leaves the reflectors that make up Q in a and beta.
func tridiagonalise(ctx context.Context, a []float64, n int) (d, e, beta []float64) {
	d = make([]float64, n)
	e = make([]float64, max(n-1, 0))
	beta = make([]float64, n)
	p := make([]float64, n)
	for k := 0; k+2 < n && ctx.Err() == nil; k++ {
		// The reflector I - beta v v^T takes column k below the diagonal to a
		// multiple of its first entry. v is kept in row k of a, right of the
		// diagonal, which the reduction no longer needs.
		v := a[k*n+k+1 : k*n+n]
		if Norm(v[1:]) == 0 || Dot(v, v) < leastReflector {
			e[k] = v[0]
		} else {
			e[k] = -math.Copysign(Norm(v), v[0])
			v[0] -= e[k]
			beta[k] = 2 / Dot(v, v)
			m := n - k - 1
			w := p[:m]
			for i := range m {
				w[i] = beta[k] * Dot(a[(k+1+i)*n+k+1:(k+1+i)*n+n], v)
			}
			Axpy(-beta[k]*Dot(v, w)/2, v, w)
			for i := range m {
				row := a[(k+1+i)*n+k+1 : (k+1+i)*n+n]
				for j := range row {
					row[j] -= float64(v[i]*w[j]) + float64(w[i]*v[j])
				}
			}
		}
	}
	for i := range n {
		d[i] = a[i*n+i]
	}
	if n >= 2 {
		e[n-2] = a[(n-2)*n+n-1]
	}
	return d, e, beta
}

// reflections returns Q^T from the reflectors that tridiagonalise stored. Its row i is column i of Q.
//
// Q = H_0 H_1 ... H_{n-3}, applied from the last so that the leading rows
// and columns stay those of the identity. Q^T row i is Q column i:
// (H Q) column i = Q column i - beta v (v . Q column i).
func reflections(ctx context.Context, a, beta []float64, n int) []float64 {
	q := make([]float64, n*n)
	for i := range n {
		q[i*n+i] = 1
	}
	for k := n - 3; k >= 0 && ctx.Err() == nil; k-- {
		if beta[k] == 0 {
			continue
		}
		v := a[k*n+k+1 : k*n+n]
		for i := k + 1; i < n; i++ {
			col := q[i*n+k+1 : i*n+n]
			Axpy(-beta[k]*Dot(v, col), v, col)
		}
	}
	return q
}

// diagonalise turns the tridiagonal matrix (d, e) into its eigenvalues, left in d, and applies the
// rotations to the rows of q unless q is nil. If ctx ends, it returns the error of ctx.
func diagonalise(ctx context.Context, d, e, q []float64, n int) error {
	const eps = 0x1p-52
	var size float64
	for _, v := range d {
		size = max(size, math.Abs(v))
	}
	for _, v := range e {
		size = max(size, math.Abs(v))
	}
	// An off-diagonal entry this small cannot move any eigenvalue; without the
	// floor a block of zeros on the diagonal would iterate down to underflow.
	floor := size * eps * eps
	if err := ctx.Err(); err != nil {
		return err
	}
	if !IsFinite(size) {
		return errNoConvergence
	}
	budget := 60 * n
	for hi := n - 1; hi > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		lo := hi
		for lo > 0 {
			if math.Abs(e[lo-1]) <= float64(eps*(math.Abs(d[lo-1])+math.Abs(d[lo])))+floor {
				e[lo-1] = 0
				break
			}
			lo--
		}
		if lo == hi {
			hi--
			continue
		}
		if budget--; budget < 0 {
			return errNoConvergence
		}

		// Wilkinson's shift: the eigenvalue of the last 2 x 2 block nearest to
		// its last entry.
		delta := (d[hi-1] - d[hi]) / 2
		last := e[hi-1]
		root := math.Sqrt(float64(delta*delta) + float64(last*last))
		shift := d[hi] - float64(last*last)/(delta+math.Copysign(root, delta))

		x, z := d[lo]-shift, e[lo]
		for k := lo; k < hi; k++ {
			c, s := 1.0, 0.0
			if r := math.Sqrt(float64(x*x) + float64(z*z)); r != 0 {
				c, s = x/r, z/r
			}
			if k > lo {
				e[k-1] = float64(c*x) + float64(s*z)
			}
			// Rotate rows and columns k, k+1 of the tridiagonal matrix.
			a, b, g := d[k], d[k+1], e[k]
			d[k] = float64(float64(c*c)*a) + float64(float64(2*c*s)*g) + float64(float64(s*s)*b)
			d[k+1] = float64(float64(s*s)*a) - float64(float64(2*c*s)*g) + float64(float64(c*c)*b)
			e[k] = float64(float64(c*s)*(b-a)) + float64((float64(c*c)-float64(s*s))*g)
			if k+1 < hi {
				x = e[k]
				z = float64(s * e[k+1])
				e[k+1] = float64(c * e[k+1])
			}
			if q != nil {
				rotateRows(q[k*n:(k+1)*n], q[(k+1)*n:(k+2)*n], c, s)
			}
		}
	}
	return nil
}

// rotateRows sets u to c u + s v and v to c v - s u.
func rotateRows(u, v []float64, c, s float64) {
	v = v[:len(u)]
	for j, a := range u {
		b := v[j]
		u[j] = float64(c*a) + float64(s*b)
		v[j] = float64(c*b) - float64(s*a)
	}
}
