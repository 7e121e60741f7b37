// Package linalg is linear algebra in float64 with the same bits on every machine: vectors ([Dot],
// [Axpy]), [Cholesky] factors, the symmetric eigenproblem ([Eigenvalues], [Eigenvectors]), and the
// largest eigenvalues of a matrix that is given by its products with vectors ([Lanczos],
// [BlockLanczos]).
//
// Sums run in a fixed order, and each product is rounded before it is added (float64(x*y) + z),
// so that no compiler fuses the two operations. A BLAS in assembly does not guarantee that.
package linalg
