package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// The functions of this file bound float32 kernels whose order of operations is not known: those of
// other libraries. A sum of n terms in any order, in any tree, has at most n-1 roundings on a path; fused
// multiply-adds and wider accumulators have fewer. Results may be subnormal, so each rounding also errs
// by up to 2^-149.

// FunctionULPs is what exp and log of other libraries may err: the limit of glibc's libmvec.
const FunctionULPs = 4

// Gemm returns alpha a b + beta c0 with its bound. c0 is not read if beta is 0, a and b are not if alpha
// is 0. alpha may be multiplied with a, b, a product or a sum of products.
func Gemm(alpha float64, a, b blas64.General, beta float64, c0 blas64.General) (c, bound blas64.General) {
	c, bound = New(a.Rows, b.Cols), New(a.Rows, b.Cols)
	size, sumA, sumB := New(a.Rows, b.Cols), make([]float64, a.Rows), make([]float64, b.Cols) // of |a| |b|, |a|, |b|
	k := a.Cols
	if alpha != 0 {
		absA, absB := Abs(a), Abs(b)
		addProduct(a, b, c)
		addProduct(absA, absB, size)
		for p := range k {
			for i := range sumA {
				sumA[i] += absA.Data[i*absA.Stride+p]
			}
			for j := range sumB {
				sumB[j] += absB.Data[p*absB.Stride+j]
			}
		}
	}
	for i := range a.Rows {
		for j := range b.Cols {
			at := i*c.Stride + j
			v, s, under := 0.0, 0.0, 2.0
			if alpha != 0 {
				v, s = alpha*c.Data[at], math.Abs(alpha)*size.Data[at]
				under += float64(k+1) * (1 + math.Abs(alpha))
				under += sumA[i] + sumB[j] // of alpha a or alpha b, before the product
			}
			if beta != 0 {
				old := c0.Data[i*c0.Stride+j]
				v += beta * old
				s += math.Abs(beta * old)
			}
			c.Data[at], bound.Data[at] = v, Gamma(k+3)*s+under*tiny
		}
	}
	return c, bound
}

// DotAnyOrder returns the dot product and its bound for a sum of float32 products in any order.
func DotAnyOrder(x, y []float64) (dot, bound float64) {
	var size float64
	for i := range x {
		dot += x[i] * y[i]
		size += math.Abs(x[i] * y[i])
	}
	return dot, Gamma(len(x)+1)*size + float64(len(x)+1)*tiny
}

// QuadFormAnyOrder returns (x-mu)^T P (x-mu) and its bound for a sum of the d^2 products in any order.
func QuadFormAnyOrder(x, mu []float64, p blas64.General) (q, bound float64) {
	var size, rows float64
	for i := range x {
		d := x[i] - mu[i]
		rows = max(rows, math.Abs(d))
		for j := range x {
			v := d * p.Data[i*p.Stride+j] * (x[j] - mu[j])
			q += v
			size += math.Abs(v)
		}
	}
	// Two differences, two products and up to d^2 - 1 sums on a path.
	n := len(x)*len(x) + 4
	return q, Gamma(n)*size + float64(n)*tiny*(1+rows)*(1+rows)
}

// shiftedExps returns exp(x_j - max x) and their sum, with bounds.
func shiftedExps(x []float64) (m float64, e Value, s, es float64) {
	m = math.Inf(-1)
	for _, v := range x {
		m = max(m, v)
	}
	e = newValue(len(x))
	for j, v := range x {
		e.E[j] = FunctionULPs * tiny
		if m-v > 200 { // -Inf, too: 0 in float32
			continue
		}
		e.V[j] = math.Exp(v - m)
		e.E[j] += e.V[j] * (math.Expm1(U*(m-v)) + 2*FunctionULPs*U)
		s += e.V[j]
		es += e.E[j]
	}
	return m, e, s, es + Gamma(len(x))*(s+es)
}

// SoftmaxAnyOrder returns exp(x_j - m) / sum, where m is the largest of x, with the bound of a sum in any
// order, exp within 4 ULPs, and a division or a product with the reciprocal.
func SoftmaxAnyOrder(x []float64) Value {
	_, e, s, es := shiftedExps(x)
	for j, v := range e.V {
		r := v / s
		e.V[j] = r
		e.E[j] = (e.E[j]/s+r*es/s)*(1+2*es/s) + 3*U*r + 2*tiny
	}
	return e
}

// LogSumExpAnyOrder returns m + log sum exp(x_j - m), where m is the largest of x, with the bound of a sum
// in any order, exp and log within 4 ULPs.
func LogSumExpAnyOrder(x []float64) (v, bound float64) {
	m, _, s, es := shiftedExps(x)
	l := math.Log(s)
	v = m + l
	e := es/s*(1+2*es/s) + 2*FunctionULPs*U*l + FunctionULPs*tiny
	return v, e + U*(math.Abs(v)+e) + tiny
}

// LayerNormAnyOrder returns (x - mean)/sqrt(variance + eps) for a row, with the bound of float32 sums in
// any order and the variance of the differences from the mean. (Mean square minus squared mean loses more.)
func LayerNormAnyOrder(x []float64, eps float64) Value {
	n, d := len(x), float64(len(x))
	var sum, size, square float64
	for _, v := range x {
		sum += v / d
		size += math.Abs(v) / d
	}
	emean := Gamma(n+1)*size + tiny
	y := newValue(n)
	for j, v := range x {
		y.V[j] = v - sum
		square += y.V[j] * y.V[j] / d
	}
	// An error e of the mean adds e^2 to the variance. On a path: a difference (twice), a square, n-1 sums, a
	// division, the sum with eps.
	v := square + eps
	rel := (emean*emean + Gamma(n+5)*(square+emean*emean+eps) + float64(n)*tiny) / v
	if rel > 0.5 {
		rel = math.Inf(1) // anything may come out
	}
	rstd := 1 / math.Sqrt(v)
	rel += 5 * U // difference, root, reciprocal, product; 1/sqrt(1-r) - 1 <= r up to 0.6
	for j := range y.V {
		y.V[j] *= rstd
		y.E[j] = rel*math.Abs(y.V[j]) + emean*rstd*(1+rel) + (2+rstd)*tiny
	}
	return y
}
