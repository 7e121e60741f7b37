// Package vec has loops over float64 vectors with the same bits everywhere: sums run in a
// fixed order, and each product that is added is rounded on its own (float64(x*y) + z), so
// that no machine fuses the two operations. A library's assembly does not give that.
package vec

import "math"

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

// Norm returns the Euclidean length of x, whose squares must neither overflow nor vanish.
func Norm(x []float64) float64 { return math.Sqrt(Dot(x, x)) }
