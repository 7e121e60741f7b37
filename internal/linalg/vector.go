package linalg

import (
	"math"

	"dpnbench/engine/num"
)

// Dot returns the sum of a[j] b[j], in four interleaved partial sums. b is at least as
// long as a.
func Dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(a); j += 4 {
		s0 += float64(a[j] * b[j])
		s1 += float64(a[j+1] * b[j+1])
		s2 += float64(a[j+2] * b[j+2])
		s3 += float64(a[j+3] * b[j+3])
	}
	for ; j < len(a); j++ {
		s0 += float64(a[j] * b[j])
	}
	return (s0 + s2) + (s1 + s3)
}

// Axpy adds f x to y. x is at least as long as y.
func Axpy(f float64, x, y []float64) {
	x = x[:len(y)]
	for j := range y {
		y[j] += float64(f * x[j])
	}
}

// Scale multiplies x by f.
func Scale(f float64, x []float64) {
	for j := range x {
		x[j] *= f
	}
}

// Norm returns the Euclidean norm of x. The squares must neither overflow nor underflow.
func Norm(x []float64) float64 { return math.Sqrt(Dot(x, x)) }

// Widen returns x in float64.
func Widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Distance returns |a - b|. b is at least as long as a.
func Distance(a, b []float32) float64 { return math.Sqrt(SquaredDistance(a, b)) }

// SquaredDistance returns |a - b|^2 in float64, in four interleaved partial sums. b is at
// least as long as a.
func SquaredDistance(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(a); j += 4 {
		e0, e1 := float64(a[j])-float64(b[j]), float64(a[j+1])-float64(b[j+1])
		e2, e3 := float64(a[j+2])-float64(b[j+2]), float64(a[j+3])-float64(b[j+3])
		s0 += float64(e0 * e0)
		s1 += float64(e1 * e1)
		s2 += float64(e2 * e2)
		s3 += float64(e3 * e3)
	}
	for ; j < len(a); j++ {
		e := float64(a[j]) - float64(b[j])
		s0 += float64(e * e)
	}
	return (s0 + s2) + (s1 + s3)
}

// Orthonormalise makes v a unit vector orthogonal to the rows of basis, which must be orthonormal.
// If v lies in their span, the first of the unit vectors e_0, e_1, ... that does not is used
// instead.
func Orthonormalise(v, basis []float64) {
	dim := len(v)
	for try := 0; !Orthogonalise(v, basis); try++ {
		clear(v)
		v[try%dim] = 1
	}
}

// Orthogonalise makes v a unit vector orthogonal to the rows of basis. It reports false if v lies
// in their span up to rounding.
func Orthogonalise(v, basis []float64) bool {
	length := Norm(v)
	if length == 0 {
		return false
	}
	Scale(1/length, v)
	// Two sweeps, because the first leaves rounding errors in proportion to the part that it removed.
	for range 2 {
		for b := 0; b < len(basis); b += len(v) {
			Axpy(-Dot(v, basis[b:b+len(v)]), basis[b:b+len(v)], v)
		}
	}
	length = Norm(v)
	if length < 1e-10 {
		return false
	}
	Scale(1/length, v)
	return true
}

// LogProduct returns the sum of the logarithms of numbers above 0. It multiplies their
// mantissas and adds their exponents, so that only one logarithm is taken, by the engine:
// the error is about 2^-23, whatever their number.
func LogProduct(x []float64) float64 {
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

// IsFinite reports whether x is neither infinite nor NaN.
func IsFinite[T ~float32 | ~float64](x T) bool { return x-x == 0 }
