package potential

import (
	"math"
	"testing"

	"dpnbench/engine"
)

func TestSoftplus(t *testing.T) {
	for _, alpha := range []float32{1e-12, 1e-8, 1e-4, 0.0099, 0.01, 0.0101, 0.02, 0.1, 1, 1.11, 5, 19, 30, 1000} {
		if got := softplus(softplusInverse(alpha)); !(math.Abs(float64(got/alpha)-1) <= 2e-5) {
			t.Errorf("softplus(softplusInverse(%v)) = %v", alpha, got)
		}
		want := -math.Expm1(-float64(alpha))
		if got := float64(softplusSlope(alpha)); !(math.Abs(got-want) <= 2e-5*want) {
			t.Errorf("softplusSlope(%v) = %v, want %v", alpha, got, want)
		}
	}
}

func TestEntropy(t *testing.T) {
	r := engine.View([]float32{0.25, 1, 0.25, 0, 0.5, 0}, 3, 2)
	if h := Entropy(r, 0); !(math.Abs(h-1.5*math.Ln2) <= 1e-6) {
		t.Errorf("entropy %v, expected %v", h, 1.5*math.Ln2)
	}
	if h := Entropy(r, 1); h != 0 {
		t.Errorf("entropy %v of a certain one", h)
	}
}
