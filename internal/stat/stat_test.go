package stat

import (
	"math"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{7}, 7},
		{[]float64{9, -1, 4}, 4},
		{[]float64{3, 8, 1, 2}, 2.5},
		{[]float64{inf, 1, 2}, 2},
		{[]float64{inf, 1}, inf},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		before := slices.Clone(c.x)
		if got := Median(c.x); got != c.want || !slices.Equal(c.x, before) {
			t.Errorf("median of %v is %v, want %v; it leaves %v", before, got, c.want, c.x)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("nothing has a median")
	}
}

func TestQuantile(t *testing.T) {
	x := []float64{-2, 0, 4, 5, math.Inf(1)}
	for _, c := range []struct{ q, want float64 }{{0, -2}, {0.125, -1}, {0.25, 0}, {0.375, 2}, {0.5, 4}, {0.75, 5},
		{0.8, math.Inf(1)}, {1, math.Inf(1)}} {
		if got := Quantile(x, c.q); got != c.want {
			t.Errorf("quantile %v of %v is %v, want %v", c.q, x, got, c.want)
		}
	}
	if !math.IsNaN(Quantile(nil, 0.5)) {
		t.Error("nothing has a quantile")
	}
}
