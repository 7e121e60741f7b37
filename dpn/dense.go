package dpn

import (
	"math"

	"dpnbench/internal/vec"
)

// Linear algebra in float64 for what is measured, not trained: each product that is added
// is rounded on its own, so that no machine fuses it, and sums run in a fixed order. So
// the bits are the same everywhere, which a library's assembly does not give.

// cholesky replaces the lower half of the symmetric n x n matrix a by the factor L of
// a = L L^T, and says whether a is positive definite to rounding.
func cholesky(a []float64, n int) bool {
	for i := range n {
		row := a[i*n : i*n+i+1]
		for j := range i {
			row[j] = (row[j] - vec.Dot(row[:j], a[j*n:j*n+j])) / a[j*n+j]
		}
		if row[i] -= vec.Dot(row[:i], row[:i]); !(row[i] > 0) {
			return false
		}
		row[i] = math.Sqrt(row[i])
	}
	return true
}

// forward solves L z = b in place, b being zero before index from.
func forward(l []float64, n int, b []float64, from int) {
	for i := from; i < n; i++ {
		b[i] = (b[i] - vec.Dot(l[i*n+from:i*n+i], b[from:i])) / l[i*n+i]
	}
}

// backward solves L^T z = b in place.
func backward(l []float64, n int, b []float64) {
	for i := n - 1; i >= 0; i-- {
		b[i] /= l[i*n+i]
		vec.Axpy(-b[i], l[i*n:i*n+i], b[:i])
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
		v[j] = vec.Dot(column[j:], column[j:])
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
