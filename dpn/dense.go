package dpn

import "math"

// Linear algebra in float64 for what is measured, not trained: each product that is added
// is rounded on its own, so that no machine fuses it, and sums run in a fixed order. So
// the bits are the same everywhere, which a library's assembly does not give.

// dot returns the sum of a[j] b[j], in four interleaved partial sums.
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

// axpy adds f x to y.
func axpy(f float64, x, y []float64) {
	x = x[:len(y)]
	for j := range y {
		y[j] += float64(f * x[j])
	}
}

// length returns the Euclidean norm of x.
func length(x []float64) float64 { return math.Sqrt(dot(x, x)) }

// cholesky replaces the lower half of the symmetric n x n matrix a by the factor L of
// a = L L^T, and says whether a is positive definite to rounding.
func cholesky(a []float64, n int) bool {
	for i := range n {
		row := a[i*n : i*n+i+1]
		for j := range i {
			row[j] = (row[j] - dot(row[:j], a[j*n:j*n+j])) / a[j*n+j]
		}
		if row[i] -= dot(row[:i], row[:i]); !(row[i] > 0) {
			return false
		}
		row[i] = math.Sqrt(row[i])
	}
	return true
}

// forward solves L z = b in place, b being zero before index from.
func forward(l []float64, n int, b []float64, from int) {
	for i := from; i < n; i++ {
		b[i] = (b[i] - dot(l[i*n+from:i*n+i], b[from:i])) / l[i*n+i]
	}
}

// backward solves L^T z = b in place.
func backward(l []float64, n int, b []float64) {
	for i := n - 1; i >= 0; i-- {
		b[i] /= l[i*n+i]
		axpy(-b[i], l[i*n:i*n+i], b[:i])
	}
}

// inverseDiagonal returns the diagonal of a^-1 = L^-T L^-1 from the factor L of a: the
// squared lengths of the columns of L^-1.
func inverseDiagonal(l []float64, n int) []float64 {
	v := make([]float64, n)
	column := make([]float64, n)
	for j := range n {
		clear(column)
		column[j] = 1
		forward(l, n, column, j)
		v[j] = dot(column[j:], column[j:])
	}
	return v
}

// widened returns x in float64.
func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
