package separation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/mat"
)

// spectrum draws n rows whose covariance has (up to sampling) the given standard
// deviations along random orthogonal directions, about a random mean.
func spectrum(random *rand.Rand, n, dim int, deviations func(j int) float64) []float32 {
	noise := mat.NewDense(dim, dim, nil)
	for i := range dim {
		for j := range dim {
			noise.Set(i, j, random.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(noise)
	var q mat.Dense
	qr.QTo(&q)
	x := mat.NewDense(n, dim, nil)
	for i := range n {
		for j := range dim {
			x.Set(i, j, deviations(j)*random.NormFloat64())
		}
	}
	var rotated mat.Dense
	rotated.Mul(x, &q)
	out := make([]float32, n*dim)
	for i := range out {
		out[i] = float32(rotated.At(i/dim, i%dim) + float64(i%dim))
	}
	return out
}

// exactSpectrum returns 2 dim rows whose covariance has exactly the eigenvalues values[j]^2/dim,
// with the coordinate axes as eigenvectors.
func exactSpectrum(values []float32) []float32 {
	dim := len(values)
	x := make([]float32, 2*dim*dim)
	for j, v := range values {
		x[2*j*dim+j], x[(2*j+1)*dim+j] = v, -v
	}
	return x
}

func TestPCAAgainstSVD(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation, and the same on every machine up to rounding")
	}
	random := rand.New(rand.NewPCG(21, 4))
	flat := func(int) float64 { return 1 }
	repeat := func(n int, row ...float32) (x []float32) {
		for range n {
			x = append(x, row...)
		}
		return x
	}
	equal := make([]float32, 200)
	for j := range equal {
		equal[j] = 1
	}
	nearEqual := make([]float32, 200)
	for j := range nearEqual {
		nearEqual[j] = 1 - float32(j)*1e-5
	}
	twins := make([]float32, 200) // the three largest equal, far above the rest
	for j := range twins {
		twins[j] = 1
		if j%70 == 0 {
			twins[j] = 8
		}
	}
	constant := spectrum(random, 300, 200, flat)
	for i := range 300 {
		constant[i*200+3], constant[i*200+199] = 1e7, 0
	}
	duplicated := spectrum(random, 300, 200, flat)
	for i := range 300 {
		copy(duplicated[i*200+100:(i+1)*200], duplicated[i*200:])
	}

	for _, c := range []struct {
		name   string
		x      []float32
		dim, q int
		method string
	}{
		{"one row", []float32{3, 4, 5}, 3, 2, "gram"},
		{"two rows", []float32{3, 4, 5, 1, 0, 2}, 3, 2, "gram"},
		{"one feature", []float32{3, 4, 8}, 1, 2, "covariance"},
		{"constant", repeat(9, 1, 2, 3), 3, 2, "covariance"},
		{"constant and wide", repeat(3, 1, 2, 3, 4), 4, 4, "gram"},
		{"tall", spectrum(random, 500, 12, func(j int) float64 { return 1 / float64(j+1) }), 12, 12, "covariance"},
		{"wide", spectrum(random, 30, 300, flat), 300, 5, "gram"},
		{"wide, more components than rows", spectrum(random, 5, 40, flat), 40, 9, "gram"},
		{"equal eigenvalues", exactSpectrum(equal[:20]), 20, 3, "covariance"},
		{"all components", spectrum(random, 220, 200, flat), 200, 200, "covariance"},
		{"large offset", func() []float32 {
			x := spectrum(random, 400, 6, flat)
			for i := range x {
				x[i] += 30000
			}
			return x
		}(), 6, 3, "covariance"},

		{"krylov, decaying", spectrum(random, 700, 200, func(j int) float64 { return math.Pow(0.9, float64(j)) }),
			200, 2, "krylov"},
		{"krylov, noise", spectrum(random, 700, 200, flat), 200, 3, "krylov"},
		{"krylov, wide", spectrum(random, 180, 400, flat), 400, 2, "krylov"},
		{"krylov, one component", spectrum(random, 300, 200, flat), 200, 1, "krylov"},
		{"krylov, twenty components", spectrum(random, 300, 200, flat), 200, 20, "krylov"},
		{"krylov, all equal", exactSpectrum(equal), 200, 4, "krylov"},
		{"krylov, nearly equal", exactSpectrum(nearEqual), 200, 4, "krylov"},
		{"krylov, three equal at the top", exactSpectrum(twins), 200, 3, "krylov"},
		{"krylov, rank 1", spectrum(random, 300, 200, func(j int) float64 {
			if j == 5 {
				return 2
			}
			return 0
		}), 200, 2, "krylov"},
		{"krylov, rank 3", spectrum(random, 300, 200, func(j int) float64 { return max(0, float64(3-j)) }), 200, 5,
			"krylov"},
		{"krylov, constant", repeat(200, make([]float32, 200)...), 200, 2, "krylov"},
		{"krylov, constant features", constant, 200, 2, "krylov"},
		{"krylov, duplicated features", duplicated, 200, 2, "krylov"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := FitPCA(context.Background(), c.x, c.dim, c.q, 0)
			if err != nil {
				t.Fatal(err)
			}
			if p.Method != c.method {
				t.Errorf("method is %q: this case should use %q", p.Method, c.method)
			}
			checkPCA(t, p, c.x, c.dim, c.q)
		})
	}
}

// checkPCA compares p with the singular values of the centred rows, and its
// components with their definition.
func checkPCA(t *testing.T, p *PCA, x []float32, dim, q int) {
	t.Helper()
	rows := len(x) / dim
	q = min(q, dim)
	centred := mat.NewDense(rows, dim, nil)
	for j := range dim {
		var mean float64
		for i := range rows {
			mean += (float64(x[i*dim+j]) - float64(x[j])) / float64(rows)
		}
		for i := range rows {
			centred.Set(i, j, float64(x[i*dim+j])-float64(x[j])-mean)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(centred, mat.SVDNone) {
		t.Fatal("the reference SVD did not converge")
	}
	sigma := append(svd.Values(nil), make([]float64, q)...)
	var total float64
	for _, v := range sigma {
		total += v * v / float64(rows)
	}
	if len(p.Eigenvalues) != q || len(p.ExplainedVariance) != q || len(p.Components) != q*dim {
		t.Fatalf("%d eigenvalues, %d shares, %d loadings: want %d components of %d", len(p.Eigenvalues),
			len(p.ExplainedVariance), len(p.Components), q, dim)
	}
	near(t, "total variance", p.TotalVariance, total, 1e-12*total)
	largest := sigma[0] * sigma[0] / float64(rows)
	tolerance := 1e-9 * largest
	projected, err := p.Project(x)
	if err != nil {
		t.Fatal(err)
	}
	first := p.First(2)
	two, err := first.Project(x)
	if err != nil || len(first.Eigenvalues) != min(q, 2) || len(first.ExplainedVariance) != min(q, 2) ||
		len(p.Eigenvalues) != q {
		t.Fatalf("the first two components: %d eigenvalues, %v", len(first.Eigenvalues), err)
	}
	for i := range two {
		if n := min(q, 2); two[i] != projected[i/n*q+i%n] {
			t.Fatalf("coordinate %d along the first two components is %v, along all of them %v", i, two[i],
				projected[i/n*q+i%n])
		}
	}
	for k := range q {
		value := sigma[k] * sigma[k] / float64(rows)
		near(t, fmt.Sprint("eigenvalue ", k), p.Eigenvalues[k], value, tolerance)
		share := 0.0
		if total > 0 {
			share = value / total
		}
		near(t, fmt.Sprint("explained variance ", k), p.ExplainedVariance[k], share, 1e-9)

		v := p.Components[k*dim : (k+1)*dim]
		for other := range k + 1 {
			same := 0.0
			if other == k {
				same = 1
			}
			near(t, fmt.Sprintf("product of components %d and %d", k, other),
				linalg.Dot(v, p.Components[other*dim:(other+1)*dim]), same, 1e-12)
		}
		// C v = lambda v, by the projections z . v.
		var zv, cv mat.VecDense
		zv.MulVec(centred, mat.NewVecDense(dim, v))
		cv.MulVec(centred.T(), &zv)
		for j := range dim {
			near(t, fmt.Sprint("C v of component ", k), cv.AtVec(j)/float64(rows), p.Eigenvalues[k]*v[j], tolerance)
		}
		for i := range rows {
			near(t, fmt.Sprintf("projection of row %d to component %d", i, k), projected[i*q+k], zv.AtVec(i),
				1e-9*(1+math.Sqrt(largest)))
		}
		var big float64
		for _, l := range v {
			if math.Abs(l) > math.Abs(big) {
				big = l
			}
		}
		if big <= 0 {
			t.Errorf("component %d: loading of largest magnitude is %v: want it positive", k, big)
		}
	}
}

// The three methods must agree on the same features, signs included.
func TestPCAMethodsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 9))
	const rows, dim, q = 260, 220, 3
	x := spectrum(random, rows, dim, func(j int) float64 { return math.Pow(0.8, float64(j)) })
	var results []*PCA
	for _, solve := range []func(p *PCA, c *covariance) error{
		func(p *PCA, c *covariance) error { return p.dense(context.Background(), c, q) },
		func(p *PCA, c *covariance) error { return p.gram(context.Background(), c, q) },
		func(p *PCA, c *covariance) error { return p.lanczos(context.Background(), c, q) },
	} {
		p := &PCA{Dim: dim}
		c, err := newCovariance(context.Background(), memory{x, dim}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := solve(p, c); err != nil {
			t.Fatal(err)
		}
		for k := range q {
			fixSign(p.Components[k*dim : (k+1)*dim])
		}
		results = append(results, p)
	}
	for m, p := range results[1:] {
		for k := range q {
			near(t, fmt.Sprintf("method %d, eigenvalue %d", m+1, k), p.Eigenvalues[k], results[0].Eigenvalues[k],
				1e-11*results[0].Eigenvalues[0])
		}
		for i, v := range p.Components {
			near(t, fmt.Sprintf("method %d, loading %d", m+1, i), v, results[0].Components[i], 1e-8)
		}
	}
}

func TestPCAErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		x      []float32
		dim, q int
		want   string
	}{
		{nil, 3, 2, "no rows"},
		{[]float32{1, 2, 3}, 0, 2, "width 0"},
		{[]float32{1, 2, 3}, 2, 2, "not whole rows of width 2"},
		{[]float32{1, 2, 3, 4}, 2, 0, "0 principal components"},
		{[]float32{1, 2, nan, 4}, 2, 1, "row 1, column 0 is NaN"},
	} {
		if _, err := FitPCA(context.Background(), c.x, c.dim, c.q, 0); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("FitPCA of %v: error is %v: want one with %q", c.x, err, c.want)
		}
	}
	p, err := FitPCA(context.Background(), []float32{1, 2, 3, 5}, 2, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Project([]float32{1, 2, 3}); err == nil || !strings.Contains(err.Error(), "width 2") {
		t.Errorf("Project of a ragged slice: error is %v", err)
	}
}

// Noise is the worst case of the iteration: the spectrum has no gap at its edge.
func BenchmarkPCA(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	const rows, dim = 10000, 784
	noise, decaying := make([]float32, rows*dim), make([]float32, rows*dim)
	for i := range noise {
		noise[i] = float32(random.NormFloat64())
		decaying[i] = noise[i] / float32(1+i%dim)
	}
	for _, c := range []struct {
		name string
		x    []float32
	}{{"noise", noise}, {"decaying", decaying}} {
		b.Run(fmt.Sprintf("%s/%dx%d", c.name, rows, dim), func(b *testing.B) {
			var p *PCA
			for b.Loop() {
				var err error
				if p, err = FitPCA(context.Background(), c.x, dim, 2, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(p.Iterations), "passes/op")
		})
	}
}

// near fails the test if got is NaN or differs from want by more than the tolerance.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v: want %v within %v", what, got, want, tolerance)
	}
}
