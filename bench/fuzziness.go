package bench

import (
	"errors"
	"math"

	"dpnbench/dpn/separation"

	"gonum.org/v1/gonum/mat"
)

// checkFuzziness computes D = Tr(SSw SSb^+) in another way than package separation. The
// weighted deviations of the class means have the singular values s_j and directions u_j,
// and SSb^+ = sum_j u_j u_j^T / s_j^2, so D = sum_j mean((x - m_class) u_j)^2 / s_j^2.
func checkFuzziness(f separation.Fuzziness, set separation.Set, classes int) (string, error) {
	n, d := len(set.Labels), set.Dim
	means, all, count := mat.NewDense(d, classes, nil), make([]float64, d), make([]float64, classes)
	for i, y := range set.Labels {
		count[y]++
		for j, v := range set.X[i*d : (i+1)*d] {
			means.Set(j, int(y), means.At(j, int(y))+float64(v))
			all[j] += float64(v) / float64(n)
		}
	}
	deviations := mat.NewDense(d, classes, nil)
	for y := range classes {
		for j := range d {
			means.Set(j, y, means.At(j, y)/count[y])
			deviations.Set(j, y, math.Sqrt(count[y]/float64(n))*(means.At(j, y)-all[j]))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(deviations, mat.SVDThin) {
		return "", errors.New("the singular values of the class means were not found")
	}
	var u mat.Dense
	svd.UTo(&u)
	var want float64
	for j, s := range svd.Values(nil)[:classes-1] { // the deviations add up to zero
		var sum float64
		for i, y := range set.Labels {
			along := 0.0
			for c, v := range set.X[i*d : (i+1)*d] {
				along += (float64(v) - means.At(c, int(y))) * u.At(c, j)
			}
			sum += along * along
		}
		want += sum / float64(n) / (s * s)
	}
	if got := float64(f.D); !(math.Abs(got-want) <= 1e-9*want) {
		return "", differs("D is %v, by singular values %v", got, want)
	}
	return "D within 1e-9 of that by singular values", nil
}
