package linalg

import (
	"math"
	"testing"
)

// TestLoops checks all lengths up to several rounds of the unrolled loops, on integers, whose sums
// are exact in any order.
func TestLoops(t *testing.T) {
	for n := range 14 {
		a, b, y := make([]float64, n), make([]float64, n), make([]float64, n)
		var dot, square float64
		for j := range a {
			a[j], b[j], y[j] = float64(j+1), float64(3-2*j), float64(j*j)
			dot += a[j] * b[j]
			square += a[j] * a[j]
		}
		if got := Dot(a, b); got != dot {
			t.Errorf("n %d: dot %v, want %v", n, got, dot)
		}
		if got := Norm(a); got != math.Sqrt(square) {
			t.Errorf("n %d: norm %v, want %v", n, got, math.Sqrt(square))
		}
		Axpy(-2, b, y)
		Scale(5, y)
		for j := range y {
			if want := 5 * (float64(j*j) - 2*b[j]); y[j] != want {
				t.Errorf("n %d: element %d is %v, want %v", n, j, y[j], want)
			}
		}
	}
}

// TestNotFused checks that products are rounded before they are added. A fused sum would contain
// the 2^-60 that rounding removes from (1 + 2^-30)^2.
func TestNotFused(t *testing.T) {
	x := 1 + 0x1p-30
	y := []float64{-(1 + 0x1p-29)}
	Axpy(x, []float64{x}, y)
	if y[0] != 0 {
		t.Errorf("axpy leaves %v, want 0", y[0])
	}
	if got := Dot([]float64{1, 0, 0, 0, x}, []float64{-(1 + 0x1p-29), 0, 0, 0, x}); got != 0 {
		t.Errorf("dot leaves %v, want 0", got)
	}
}
