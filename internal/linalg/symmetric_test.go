package linalg

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestSymmetricEigenAgainstGonum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []float64 {
		a := make([]float64, n*n)
		for i := range n {
			for j := range i + 1 {
				a[i*n+j] = random.NormFloat64()
				a[j*n+i] = a[i*n+j]
			}
		}
		return a
	}
	diagonal := func(d ...float64) []float64 {
		a := make([]float64, len(d)*len(d))
		for i, v := range d {
			a[i*len(d)+i] = v
		}
		return a
	}
	// gramOf returns B B^T for n x r noise B with rows scaled by grade^i.
	gramOf := func(n, r int, grade float64) []float64 {
		b := make([]float64, n*r)
		for i := range b {
			b[i] = random.NormFloat64() * math.Pow(grade, float64(i/r))
		}
		a := make([]float64, n*n)
		for i := range n {
			for j := range n {
				a[i*n+j] = Dot(b[i*r:(i+1)*r], b[j*r:(j+1)*r])
			}
		}
		return a
	}
	cases := map[string][]float64{
		"one":             {-3},
		"two":             {0, 1, 1, 0},
		"two equal":       {5, 0, 0, 5},
		"zero":            make([]float64, 36),
		"identity":        diagonal(1, 1, 1, 1, 1),
		"unsorted":        diagonal(1, 4, 2, 4, -7, 0),
		"all ones":        {1, 1, 1, 1, 1, 1, 1, 1, 1},
		"noise 3":         noise(3),
		"noise 10":        noise(10),
		"noise 83":        noise(83),
		"rank 4 of 30":    gramOf(30, 4, 1),
		"graded":          gramOf(12, 12, 0.1),
		"graded upwards":  gramOf(12, 12, 10),
		"near zero block": diagonal(1, 1e-300, 0, 0),
		"huge":            {1e140, 2e140, 2e140, -1e140},
		"tiny":            {1e-100, 2e-100, 2e-100, -1e-100},
	}
	for name, a := range cases {
		n := int(math.Round(math.Sqrt(float64(len(a)))))
		t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
			var want mat.EigenSym
			if !want.Factorize(mat.NewSymDense(n, append([]float64(nil), a...)), false) {
				t.Fatal("the reference did not converge")
			}
			ascending := want.Values(nil)
			size := max(math.Abs(ascending[0]), math.Abs(ascending[n-1]))
			tolerance := 1e-14 * float64(n) * size

			values, vectors, err := SymmetricEigen(context.Background(), append([]float64(nil), a...), n)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := Eigenvalues(append([]float64(nil), a...), n)
			if err != nil || !slices.Equal(alone, values) {
				t.Errorf("eigenvalues alone are %v (%v), with vectors %v", alone, err, values)
			}
			for i := range n {
				near(t, fmt.Sprint("eigenvalue ", i), values[i], ascending[n-1-i], tolerance)
				v := vectors[i*n : (i+1)*n]
				for j := range n {
					near(t, fmt.Sprint("A v of eigenvector ", i), Dot(a[j*n:(j+1)*n], v), values[i]*v[j], tolerance)
					same := 0.0
					if i == j {
						same = 1
					}
					near(t, fmt.Sprintf("product of eigenvectors %d and %d", i, j), Dot(v, vectors[j*n:(j+1)*n]), same,
						1e-14*float64(n))
				}
			}
		})
	}
}

// near reports a value that is not within the tolerance of the one wanted, NaN
// included.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v: want %v within %v", what, got, want, tolerance)
	}
}

func TestEigenvaluesRefuses(t *testing.T) {
	for name, a := range map[string][]float64{"shape": make([]float64, 3), "NaN": {1, 0, 0, math.NaN()},
		"infinite": {math.Inf(1), 0, 0, 1}} {
		if v, err := Eigenvalues(a, 2); err == nil {
			t.Errorf("%s: eigenvalues %v, expected an error", name, v)
		}
	}
}

// TestTinyColumns checks matrices with entries whose squares underflow beside others of ordinary size, as covariances
// of pixels that hardly vary have them.
func TestTinyColumns(t *testing.T) {
	for _, tiny := range []float64{1e-120, 1e-150, 1e-160, 1e-165, 1e-200, 1e-308, 5e-324} {
		for n := 3; n <= 6; n++ {
			a := make([]float64, n*n)
			for i := range n {
				for j := range n {
					a[i*n+j] = tiny
				}
				a[i*n+i] = float64(1 + i)
			}
			values, vectors, err := SymmetricEigen(t.Context(), slices.Clone(a), n)
			if err != nil {
				t.Fatalf("%d x %d, %v beside the diagonal: %v", n, n, tiny, err)
			}
			for i, v := range values {
				row := vectors[i*n : (i+1)*n]
				if !(math.Abs(v-float64(n-i)) <= 1e-14*float64(n)) || !(math.Abs(Norm(row)-1) <= 1e-14) {
					t.Errorf("%d x %d, %v beside the diagonal: eigenvalue %v of %v", n, n, tiny, v, row)
				}
			}
		}
	}
	for _, s := range []float64{1, 1e-90, 1e-130, 1e-140, 1e-150, 1e-160, 1e-300, 0x1p-1060, 1e100, 1e160, 1e307} {
		a := []float64{2 * s, s, s, s, 2 * s, s, s, s, 3 * s}
		values, err := Eigenvalues(a, 3)
		for i, want := range []float64{3 + math.Sqrt2, 3 - math.Sqrt2, 1} {
			bound := 1e-14
			if s < 1e-300 { // subnormal
				bound = 1e-4
			}
			if err != nil || !(math.Abs(values[i]/s-want) <= bound) {
				t.Errorf("a matrix of size %v: eigenvalues %v, %v", s, values, err)
			}
		}
	}
	if _, _, err := SymmetricEigen(t.Context(), []float64{1, math.NaN(), math.NaN(), 1}, 2); err == nil {
		t.Error("NaN has eigenvalues")
	}
}
