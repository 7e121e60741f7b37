package bench

import (
	"cmp"
	"math"
	"slices"

	"dpnbench/dpn/separation"

	"gonum.org/v1/gonum/floats"
)

// checkFuzziness computes D = Tr(SSw SSb^+) in another way than package separation. The
// weighted deviations of the class means have the singular values s_j and directions u_j,
// and SSb^+ = sum_j u_j u_j^T / s_j^2, so D = sum_j mean((x - m_class) u_j)^2 / s_j^2.
func checkFuzziness(f separation.Fuzziness, set separation.Set, classes int) (string, error) {
	n, d := len(set.Labels), set.Dim
	means, deviations := make([][]float64, classes), make([][]float64, classes)
	all, count := make([]float64, d), make([]float64, classes)
	for y := range means {
		means[y], deviations[y] = make([]float64, d), make([]float64, d)
	}
	for i, y := range set.Labels {
		count[y]++
		for j, v := range set.X[i*d : (i+1)*d] {
			means[y][j] += float64(v)
			all[j] += float64(v) / float64(n)
		}
	}
	for y := range classes {
		for j := range d {
			means[y][j] /= count[y]
			deviations[y][j] = math.Sqrt(count[y]/float64(n)) * (means[y][j] - all[j])
		}
	}
	orthogonalise(deviations)
	slices.SortFunc(deviations, func(a, b []float64) int { return cmp.Compare(floats.Norm(b, 2), floats.Norm(a, 2)) })
	var want float64
	for _, u := range deviations[:classes-1] { // the deviations add up to zero
		s := floats.Norm(u, 2) // u is s times the direction
		var sum float64
		for i, y := range set.Labels {
			along := 0.0
			for c, v := range set.X[i*d : (i+1)*d] {
				along += (float64(v) - means[y][c]) * u[c]
			}
			sum += along * along / (s * s)
		}
		want += sum / float64(n) / (s * s)
	}
	if got := float64(f.D); !(math.Abs(got-want) <= 1e-9*want) {
		return "", differs("D is %v, by singular values %v", got, want)
	}
	return "D within 1e-9 of that by singular values", nil
}

// orthogonalise rotates pairs of vectors until all are orthogonal (Hestenes 1958): they become the
// left singular vectors of the matrix of their columns, times the singular values.
func orthogonalise(vectors [][]float64) {
	for range 20 { // converges quadratically
		for i, u := range vectors {
			for _, v := range vectors[:i] {
				angle := 0.5 * math.Atan2(2*floats.Dot(u, v), floats.Dot(u, u)-floats.Dot(v, v))
				sin, cos := math.Sincos(angle)
				for j := range u {
					u[j], v[j] = cos*u[j]+sin*v[j], cos*v[j]-sin*u[j]
				}
			}
		}
	}
}
