package separation

import "math"

// The loops below write float64(x*y) + z: the conversion keeps the compiler
// from fusing the two operations on the architectures that could, so that the
// statistics have the same bits everywhere.

// dot returns the sum of a[j]*b[j], in four interleaved partial sums.
func dot(a, b []float64) float64 {
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

// axpy adds f times x to y.
func axpy(f float64, x, y []float64) {
	x = x[:len(y)]
	for j := range y {
		y[j] += float64(f * x[j])
	}
}

// scale multiplies x by f.
func scale(f float64, x []float64) {
	for j := range x {
		x[j] *= f
	}
}

// norm returns the Euclidean length of x. Features are float32, so the squares
// (at most 1e77 times a count) neither overflow nor vanish in float64.
func norm(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// centreRow writes x - centre to t.
func centreRow(t []float64, x []float32, centre []float64) {
	x, centre = x[:len(t)], centre[:len(t)]
	for j := range t {
		t[j] = float64(x[j]) - centre[j]
	}
}
