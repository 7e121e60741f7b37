package linalg

import (
	"math"

	"dpnbench/internal/parallel"
)

// Cholesky replaces the lower triangle of the symmetric n x n matrix a by the factor L of a = L
// L^T. It reports false if a is not positive definite to rounding.
func Cholesky(a []float64, n int) bool {
	for i := range n {
		row := a[i*n : i*n+i+1]
		for j := range i {
			row[j] = (row[j] - Dot(row[:j], a[j*n:j*n+j])) / a[j*n+j]
		}
		if row[i] -= Dot(row[:i], row[:i]); !(row[i] > 0) {
			return false
		}
		row[i] = math.Sqrt(row[i])
	}
	return true
}

// SolveLower solves L z = b in place; b is zero before index from.
func SolveLower(l []float64, n int, b []float64, from int) {
	for i := from; i < n; i++ {
		b[i] = (b[i] - Dot(l[i*n+from:i*n+i], b[from:i])) / l[i*n+i]
	}
}

// SolveLowerT solves L^T z = b in place.
func SolveLowerT(l []float64, n int, b []float64) {
	for i := n - 1; i >= 0; i-- {
		b[i] /= l[i*n+i]
		Axpy(-b[i], l[i*n:i*n+i], b[:i])
	}
}

// InverseDiagonal returns the diagonal of a^-1 = L^-T L^-1 from the Cholesky factor L of a:
// the squared lengths of the columns of L^-1.
func InverseDiagonal(l []float64, n int) []float64 {
	v := make([]float64, n)
	column := make([]float64, n)
	for j := range n {
		clear(column)
		column[j] = 1
		SolveLower(l, n, column, j)
		v[j] = Dot(column[j:], column[j:])
	}
	return v
}

// choleskyBlock is the number of columns that CholeskyBlocks finishes at a time.
const choleskyBlock = 64

// CholeskyBlocks is Cholesky for a large matrix, on several threads (0: GOMAXPROCS). The result does
// not depend on their number.
func CholeskyBlocks(a []float64, n, threads int) bool {
	for from := 0; from < n; from += choleskyBlock {
		to := min(from+choleskyBlock, n)
		parallel.Each((n-from+choleskyBlock-1)/choleskyBlock, threads, func(b int) {
			for i := from + b*choleskyBlock; i < min(from+(b+1)*choleskyBlock, n); i++ {
				for j := from; j < min(to, i+1); j++ {
					a[i*n+j] -= Dot(a[i*n:i*n+from], a[j*n:j*n+from])
				}
			}
		})
		for i := from; i < to; i++ {
			choleskyRow(a, n, from, i, i)
			row := a[i*n : i*n+i+1]
			if row[i] -= Dot(row[from:i], row[from:i]); !(row[i] > 0) {
				return false
			}
			row[i] = math.Sqrt(row[i])
		}
		parallel.Each((n-to+choleskyBlock-1)/choleskyBlock, threads, func(b int) {
			for i := to + b*choleskyBlock; i < min(to+(b+1)*choleskyBlock, n); i++ {
				choleskyRow(a, n, from, to, i)
			}
		})
	}
	return true
}

// choleskyRow finishes the columns from .. to-1 of row i of the factor.
func choleskyRow(a []float64, n, from, to, i int) {
	row := a[i*n : i*n+to]
	for j := from; j < to; j++ {
		row[j] = (row[j] - Dot(row[from:j], a[j*n+from:j*n+j])) / a[j*n+j]
	}
}
