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

// TestWilson has the intervals of method 3 in table I of Newcombe, Statistics in Medicine 17 (1998), with four
// decimals: also of shares of 0 and 1.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{20, 20, 0.8389, 1}, // 0 of 20, mirrored
		{1, 29, 0.0061, 0.1718},
	} {
		low, high := Wilson(float64(c.k)/float64(c.n), c.n)
		if !(math.Abs(low-c.low) <= 5.1e-5) || !(math.Abs(high-c.high) <= 5.1e-5) {
			t.Errorf("%d of %d: %v to %v, want %v to %v", c.k, c.n, low, high, c.low, c.high)
		}
	}
	for n := 1; n <= 1000; n++ { // rounding takes neither end beyond the share
		low, above := Wilson(0, n)
		below, high := Wilson(1, n)
		if low != 0 || high != 1 || !(math.Abs(above-(1-below)) <= 1e-15) {
			t.Errorf("%d samples: none %v to %v, all %v to %v", n, low, above, below, high)
		}
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
