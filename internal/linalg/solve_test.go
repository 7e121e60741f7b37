package linalg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// randomFactor returns a lower triangle with a diagonal of which no two numbers are equal.
func randomFactor(random *rand.Rand, n int) []float64 {
	l := make([]float64, n*n)
	for i := range n {
		for j := range i {
			l[i*n+j] = random.NormFloat64() / float64(n)
		}
		l[i*n+i] = 1 + float64(i)/float64(n)
	}
	return l
}

// TestSolveLower multiplies what was solved by the triangle again, and inverts a = L L^T by its columns.
func TestSolveLower(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 5, 9} {
		l := randomFactor(random, n)
		for from := range n {
			z, down := make([]float64, n), make([]float64, n)
			for i := from; i < n; i++ {
				z[i] = random.NormFloat64()
			}
			for i := range n {
				down[i] = Dot(l[i*n:(i+1)*n], z)
			}
			SolveLower(l, n, down, from)
			up := make([]float64, n)
			for i := range n {
				Axpy(z[i], l[i*n:(i+1)*n], up)
			}
			SolveLowerT(l, n, up)
			for i := range n {
				near(t, fmt.Sprintf("n %d from %d: element %d of L^-1 b", n, from, i), down[i], z[i], 1e-12)
				near(t, fmt.Sprintf("n %d from %d: element %d of L^-T b", n, from, i), up[i], z[i], 1e-12)
			}
		}
		for j, v := range InverseDiagonal(l, n) {
			e := make([]float64, n)
			e[j] = 1
			SolveLower(l, n, e, 0)
			SolveLowerT(l, n, e)
			near(t, fmt.Sprintf("n %d: element %d of the diagonal of the inverse", n, j), v, e[j], 1e-12)
		}
	}
}

// TestNotDefinite refuses matrices that are only positive semidefinite, and NaN: a pivot must be above 0.
func TestNotDefinite(t *testing.T) {
	const n = 3
	for name, a := range map[string][n * n]float64{
		"zero":     {},
		"rank one": {1, 2, 3, 2, 4, 6, 3, 6, 9},
		"last 0":   {1, 0, 0, 0, 1, 0, 0, 0, 0},
		"NaN":      {1, 0, 0, 0, math.NaN(), 0, 0, 0, 1},
	} {
		one, blocks := a, a
		if Cholesky(one[:], n) || CholeskyBlocks(blocks[:], n, 1) {
			t.Errorf("%s: positive definite", name)
		}
	}
}

// TestLargestEigenvalues compares Lanczos, whose estimate is never too large, and BlockLanczos with the eigenvalues
// of a matrix that has some twice, and eigenvectors with the definition.
func TestLargestEigenvalues(t *testing.T) {
	const n, q = 40, 3
	random := rand.New(rand.NewPCG(3, 4))
	x := make([]float64, 0, n*n)
	for range n { // an orthonormal basis
		v := make([]float64, n)
		for j := range v {
			v[j] = random.NormFloat64()
		}
		if !Orthogonalise(v, x) {
			t.Fatal("a random vector lies in the span of others")
		}
		x = append(x, v...)
	}
	eigenvalue := func(i int) float64 { return 7 * math.Pow(3, -float64(i/2)) } // 7, 7, 7/3, 7/3, ...
	a := make([]float64, n*n)
	for i := range n {
		v := x[i*n : (i+1)*n]
		for j := range n {
			Axpy(eigenvalue(i)*v[j], v, a[j*n:(j+1)*n])
		}
	}
	multiply := func(y, x []float64) {
		for j := range n {
			y[j] += Dot(a[j*n:(j+1)*n], x)
		}
	}
	start := func() []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = random.NormFloat64()
		}
		return v
	}
	for steps, atLeast := range map[int]float64{3: 4, 30: 7 - 1e-9, 1000: 7 - 1e-9} {
		got, err := Lanczos(start(), steps, multiply)
		if err != nil || !(got >= atLeast && got <= 7+1e-9) {
			t.Errorf("%d steps: %v, %v: want %v to 7", steps, got, err, atLeast)
		}
	}
	calls := 0
	count := func(y, x []float64) { calls++; multiply(y, x) }
	v := x[4*n : 5*n : 5*n] // an eigenvector: the first step has its space
	if got, err := Lanczos(append([]float64(nil), v...), n, count); err != nil || calls > 2 {
		t.Errorf("from an eigenvector: %v after %d products, %v", got, calls, err)
	} else {
		near(t, "the eigenvalue of its start", got, eigenvalue(4), 1e-9)
	}

	apply := func(out, in []float64) {
		if len(in)/n%2 != 0 {
			t.Errorf("%d vectors, want pairs", len(in)/n)
		}
		clear(out)
		for b := 0; b < len(in); b += n {
			multiply(out[b:b+n], in[b:b+n])
		}
	}
	k, err := BlockLanczos(context.Background(), n, q, apply)
	if err != nil || len(k.Values) != q || len(k.Vectors) != q*n || !(k.Residual <= krylovTolerance) {
		t.Fatalf("%+v, %v", k, err)
	}
	if k.Iterations >= n/(q+1) { // pairs of vectors
		t.Errorf("%d products with blocks of %d vectors: converged only when they filled the space", k.Iterations, q+1)
	}
	for i, v := range k.Values {
		near(t, fmt.Sprint("eigenvalue ", i), v, eigenvalue(i), 1e-9)
		u := k.Vectors[i*n : (i+1)*n]
		for j := range n {
			near(t, fmt.Sprint("A v of eigenvector ", i), Dot(a[j*n:(j+1)*n], u), v*u[j], 1e-8)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	calls = 0
	if _, err := BlockLanczos(ctx, n, q, count); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d products after the end: %v", calls, err)
	}
	if _, err := EigenvaluesContext(ctx, a, n); !errors.Is(err, context.Canceled) {
		t.Errorf("eigenvalues after the end: %v", err)
	}
	if _, err := Eigenvalues(a, -n); err == nil {
		t.Error("no error for a matrix of negative size")
	}
}

// TestOrthonormalise makes vectors orthogonal that have little or nothing of their own beside the basis.
func TestOrthonormalise(t *testing.T) {
	basis := []float64{1, 0, 0, 0, 0, 0.6, 0.8, 0}
	for _, v := range [][]float64{{0, 0, 0, 0}, {3, 0, 0, 0}, {5, 1.2, 1.6, 0}, {1, 0.6, 0.8, 1e-8}, {1, 2, 3, 4},
		{1e100, 0, 0, 1e93}} {
		own := append([]float64(nil), v...)
		regular := Orthogonalise(append([]float64(nil), v...), basis)
		if want := v[3] != 0; regular != want {
			t.Errorf("%v: has a direction of its own: %v", own, regular)
		}
		Orthonormalise(v, basis)
		near(t, fmt.Sprint(own, ": length"), Norm(v), 1, 1e-15)
		for b := 0; b < len(basis); b += 4 {
			near(t, fmt.Sprint(own, ": product"), Dot(v, basis[b:b+4]), 0, 1e-15)
		}
		if own[3] == 0 { // in the span, as is the first unit vector: the second one is used
			near(t, fmt.Sprint(own, ": element 1"), v[1], 0.8, 1e-15)
			near(t, fmt.Sprint(own, ": element 2"), v[2], -0.6, 1e-15)
		}
	}
	first := []float64{0, 5, 0}
	if Orthonormalise(first, []float64{0, 1, 0}); first[0] != 1 {
		t.Errorf("%v, want the first unit vector", first)
	}

	// Little of its own beside a vector that is not exact: rounding errors are removed, too.
	const n = 50
	random := rand.New(rand.NewPCG(5, 6))
	u, v := make([]float64, n), make([]float64, n)
	for j := range u {
		u[j], v[j] = random.NormFloat64(), 1e-9*random.NormFloat64()
	}
	Scale(1/Norm(u), u)
	Axpy(1, u, v)
	Orthonormalise(v, u)
	near(t, "product with a vector that is nearly the same", Dot(u, v), 0, 1e-14)
}

// TestLogProduct takes products beyond the range of float64, and distances of lengths around the unrolled loop.
func TestLogProduct(t *testing.T) {
	for _, v := range []float64{1e-300, 0.7, 1, 3, 1e300} {
		for _, n := range []int{0, 1, 3, 2000} {
			x := make([]float64, n)
			for i := range x {
				x[i] = v
			}
			want := float64(n) * math.Log(v)
			near(t, fmt.Sprintf("log of %v to the power %d", v, n), LogProduct(x), want, 1e-6+1e-12*math.Abs(want))
		}
	}
	for n := range 14 {
		a, b, want := make([]float32, n), make([]float32, n+1), 0.0
		for j := range a {
			a[j], b[j] = float32(j), float32(3*j-5)
			want += float64((2*j - 5) * (2*j - 5))
		}
		if got := SquaredDistance(a, b); got != want || Distance(a, b) != math.Sqrt(want) {
			t.Errorf("n %d: squared distance %v, want %v", n, got, want)
		}
	}
}
