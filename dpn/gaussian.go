package dpn

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
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
	list, own := make([]gaussian, p.K), p.form.own()
	err := forEach(ctx, own, threads, func(i int) (err error) {
		if list[i], err = p.form.gaussian(i); err != nil {
			return fmt.Errorf("component %d: %w", i, err)
		}
		return nil
	})
	for i := own; i < p.K; i++ {
		list[i] = list[0]
	}
	return list, err
}

// largestEigenvalue returns that of P, to some percent and never more than it is: by 100
// steps of power iteration from a random start (Kuczynski and Wozniakowski, SIAM J. Matrix
// Anal. Appl. 13, 1992: an error of about log(d)/100 whatever the other eigenvalues are).
// EM limits the step size by it, and keeps to it for the sake of the bits of what is trained
// from there; Potential.steepest takes fewer products, and no inverse.
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

// denseGaussian has a precision without structure, P = L L^T: M = L^-T. A draw takes d^2/2
// multiply-adds, the factor d^3/6 once.
type denseGaussian struct {
	d int
	l []float64 // L in the lower half, d x d
}

// newDenseGaussian overwrites p, d x d.
func newDenseGaussian(p []float64, d int) (*denseGaussian, error) {
	if !invertible(p, d) {
		return nil, errSingular
	}
	return &denseGaussian{d, p}, nil
}

func (g *denseGaussian) logDet() float64 { return 2 * logDiagonal(g.l, g.d) }

func (g *denseGaussian) draw(x, z []float64) {
	copy(x, z)
	linalg.SolveLowerT(g.l, g.d, x)
}

func (g *denseGaussian) multiply(y, x []float64) {
	clear(y)
	for i, v := range x { // L^T x
		linalg.Axpy(v, g.l[i*g.d:i*g.d+i+1], y[:i+1])
	}
	for i := g.d - 1; i >= 0; i-- { // L times that, in place
		y[i] = linalg.Dot(g.l[i*g.d:i*g.d+i+1], y[:i+1])
	}
}

// lowRankGaussian has a precision that is diagonal up to rank r, P = W^(1/2) (I + s B^T B)
// W^(1/2) with s = 1 or -1. With L L^T = I + s B B^T, r x r,
//
//	M = W^(-1/2) (I - s B^T C B),   C = L^-T (L + I)^-1
//
// satisfies M M^T = P^-1 (Woodbury's identity; C is the square root of the update of a
// covariance by Andrews, AIAA Journal 6, 1968). A draw takes 2 r d multiply-adds.
type lowRankGaussian struct {
	d, r int
	root []float64 // W^(1/2), d
	b    []float64 // B, r x d
	sign float64   // s
	l    []float64 // L in the lower half, r x r
}

func newLowRankGaussian(root, b []float64, sign float64) (*lowRankGaussian, error) {
	d := len(root)
	g := &lowRankGaussian{d: d, r: len(b) / d, root: root, b: b, sign: sign}
	for _, v := range root {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, errSingular
		}
	}
	g.l = make([]float64, g.r*g.r)
	for i := range g.r {
		for j := range i + 1 {
			g.l[i*g.r+j] = sign * linalg.Dot(g.row(i), g.row(j))
		}
		g.l[i*g.r+i]++
	}
	if !invertible(g.l, g.r) {
		return nil, errSingular
	}
	return g, nil
}

func (g *lowRankGaussian) row(i int) []float64 { return g.b[i*g.d : (i+1)*g.d] }

func (g *lowRankGaussian) logDet() float64 {
	return 2 * (logProduct(g.root) + logDiagonal(g.l, g.r))
}

func (g *lowRankGaussian) draw(x, z []float64) {
	y := make([]float64, g.r)
	for i := range y { // y = (L + I)^-1 B z
		l := g.l[i*g.r : i*g.r+i+1]
		y[i] = (linalg.Dot(g.row(i), z) - linalg.Dot(l[:i], y[:i])) / (l[i] + 1)
	}
	linalg.SolveLowerT(g.l, g.r, y)
	for i, v := range y {
		linalg.Axpy(-g.sign*v, g.row(i), z)
	}
	for j, v := range z {
		x[j] = v / g.root[j]
	}
}

func (g *lowRankGaussian) multiply(y, x []float64) {
	scaled := make([]float64, g.d)
	for j, v := range g.root {
		scaled[j] = v * x[j]
	}
	copy(y, scaled)
	for i := range g.r {
		linalg.Axpy(g.sign*linalg.Dot(g.row(i), scaled), g.row(i), y)
	}
	for j, v := range g.root {
		y[j] *= v
	}
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
	return logProduct(v)
}

// logProduct returns the sum of the logarithms of numbers above 0. It multiplies their
// mantissas and adds their exponents, so that only one logarithm is taken, by the engine:
// the error is about 2^-23, whatever their number.
func logProduct(x []float64) float64 {
	mantissa, exponent := 1.0, 0
	for _, v := range x {
		f, e := math.Frexp(v)
		mantissa *= f
		exponent += e
		mantissa, e = math.Frexp(mantissa)
		exponent += e
	}
	return float64(float64(exponent)*math.Ln2) + float64(num.Log32(float32(mantissa)))
}
