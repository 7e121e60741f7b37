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

func TestSpearman(t *testing.T) {
	x := []float64{3, 1, 2, 2}
	if got := ranked(x); !slices.Equal(got, []float64{4, 1, 2.5, 2.5}) {
		t.Errorf("ranks %v, want 4, 1, 2.5, 2.5", got)
	}
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{-1, 0, 70, 71}, 1},
		{[]float64{1, 2, 3, 4}, []float64{5, 4, -3, -8}, -1},
		{[]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}, 0.82078268}, // SciPy
		{[]float64{1, 1, 1}, []float64{1, 2, 3}, math.NaN()},
		{nil, nil, math.NaN()},
	} {
		if got := Spearman(c.x, c.y); math.IsNaN(got) != math.IsNaN(c.want) ||
			!math.IsNaN(got) && !(math.Abs(got-c.want) <= 1e-8) {
			t.Errorf("%v, %v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}
