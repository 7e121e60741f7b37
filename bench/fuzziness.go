package bench

import (
	"errors"
	"math"

	"dpnbench/dpn/separation"
	"dpnbench/internal/linalg"
)

// checkFuzziness computes D = Tr(SSw SSb^+) in another way than package separation, without
// eigenvalues: in an orthonormal basis of the span of the class means' deviations SSb is a matrix
// S = L L^T of full rank, and D is the mean of |L^-1 z|^2 over the samples, where z are the coordinates
// of x - m_class.
func checkFuzziness(f separation.Fuzziness, set separation.Set, classes int) (string, error) {
	n, d := len(set.Labels), set.Dim
	means, all, count := make([]float64, classes*d), make([]float64, d), make([]float64, classes)
	mean := func(y int) []float64 { return means[y*d : (y+1)*d] }
	for i, y := range set.Labels {
		count[y]++
		x := linalg.Widen(set.X[i*d : (i+1)*d])
		linalg.Axpy(1, x, mean(int(y)))
		linalg.Axpy(1/float64(n), x, all)
	}
	var deviations, basis []float64
	for y := range classes {
		linalg.Scale(1/count[y], mean(y))
		deviation := append([]float64(nil), mean(y)...)
		linalg.Axpy(-1, all, deviation)
		linalg.Scale(math.Sqrt(count[y]/float64(n)), deviation)
		deviations = append(deviations, deviation...)
		if y < classes-1 { // the deviations add up to zero
			linalg.Orthonormalise(deviation, basis)
			basis = append(basis, deviation...)
		}
	}
	rank := classes - 1
	coordinates := func(x []float64) []float64 {
		z := make([]float64, rank)
		for j := range z {
			z[j] = linalg.Dot(x, basis[j*d:(j+1)*d])
		}
		return z
	}
	s := make([]float64, rank*rank)
	for y := range classes {
		z := coordinates(deviations[y*d : (y+1)*d])
		for j, v := range z {
			linalg.Axpy(v, z, s[j*rank:(j+1)*rank])
		}
	}
	if !linalg.Cholesky(s, rank) {
		return "", errors.New("the class means lie in fewer dimensions than expected")
	}
	var want float64
	for i, y := range set.Labels {
		x := linalg.Widen(set.X[i*d : (i+1)*d])
		linalg.Axpy(-1, mean(int(y)), x)
		z := coordinates(x)
		linalg.SolveLower(s, rank, z, 0)
		want += linalg.Dot(z, z) / float64(n)
	}
	if got := float64(f.D); !(math.Abs(got-want) <= 1e-9*want) {
		return "", differs("D is %v, by Cholesky factors %v", got, want)
	}
	return "D within 1e-9 of that by Cholesky factors", nil
}
