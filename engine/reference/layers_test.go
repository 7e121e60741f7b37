package reference

import (
	"math"
	"math/rand/v2"
	"testing"
)

func normals(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// differences returns the central differences of f at x.
func differences(f func([]float64) float64, x []float64) []float64 {
	const h = 1e-5
	d := make([]float64, len(x))
	for i := range x {
		old := x[i]
		x[i] = old + h
		up := f(x)
		x[i] = old - h
		d[i] = (up - f(x)) / (2 * h)
		x[i] = old
	}
	return d
}

func compare(t *testing.T, name string, got, want []float64) {
	t.Helper()
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-6*(math.Abs(want[i])+1e-2)) {
			t.Errorf("%s[%d]: gradient %.12g, central difference %.12g", name, i, got[i], want[i])
		}
	}
}

func TestLayerNormGradient(t *testing.T) {
	x, w := normals(9, 1), normals(9, 2)
	f := func(x []float64) float64 {
		y, _ := LayerNorm(x, 1e-5)
		var s float64
		for j := range w {
			s += w[j] * y.V[j]
		}
		return s
	}
	y, rstd := LayerNorm(x, 1e-5)
	compare(t, "x", LayerNormBackward(y.V, rstd.V[0], w).V, differences(f, x))
}

func TestSoftmaxCrossEntropyGradient(t *testing.T) {
	x := normals(10, 3)
	for label := range x {
		_, grad := SoftmaxCrossEntropy(x, label)
		f := func(x []float64) float64 {
			l, _ := SoftmaxCrossEntropy(x, label)
			return l.V[0]
		}
		compare(t, "logit", grad.V, differences(f, x))
	}
}

func TestULPs(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		got  float32
		want float64
		ulps uint32
	}{
		{1, 1, 0}, {1, 1 + 0x1p-25, 0}, {1, 1 + 0x1p-23, 1}, {1, 1 - 0x1p-24, 1},
		{0, math.Copysign(0, -1), 0}, {0x1p-149, 0, 1}, {-0x1p-149, 0x1p-149, 2},
		{math.MaxFloat32, inf, 1}, {float32(inf), inf, 0},
		{float32(math.NaN()), math.NaN(), 0}, {1, math.NaN(), math.MaxUint32},
	} {
		if got := ULPs(c.got, c.want); got != c.ulps {
			t.Errorf("ULPs(%g, %g) = %d, want %d", c.got, c.want, got, c.ulps)
		}
	}
}
