package potential

import (
	"math"

	"dpnbench/internal/linalg"
)

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
	return 2 * (linalg.LogProduct(g.root) + logDiagonal(g.l, g.r))
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

// inverse returns the diagonal of P^-1 (d) and F P^-1 (r x d), where F = B W^(1/2): with
// V = L^-1 B W^(-1/2) these are 1/w - colsum(V * V) and L^-T V.
func (g *lowRankGaussian) inverse() (diagonal, product []float64) {
	d, r := g.d, g.r
	diagonal, v := make([]float64, d), make([]float64, r*d)
	for j, w := range g.root {
		diagonal[j] = 1 / (w * w)
	}
	for a := range r {
		row := v[a*d : (a+1)*d]
		for j, b := range g.row(a) {
			row[j] = b / g.root[j]
		}
		for c := range a {
			linalg.Axpy(-g.l[a*r+c], v[c*d:(c+1)*d], row)
		}
		linalg.Scale(1/g.l[a*r+a], row)
		for j, x := range row {
			diagonal[j] -= float64(x * x)
		}
	}
	for a := r - 1; a >= 0; a-- {
		row := v[a*d : (a+1)*d]
		for c := a + 1; c < r; c++ {
			linalg.Axpy(-g.l[c*r+a], v[c*d:(c+1)*d], row)
		}
		linalg.Scale(1/g.l[a*r+a], row)
	}
	return diagonal, v
}
