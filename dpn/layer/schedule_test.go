package layer

import (
	"math"
	"testing"
)

func TestCosPi(t *testing.T) {
	for i := range 1001 {
		x := float64(i) / 1000
		if got, want := cosPi(x), math.Cos(math.Pi*x); !(math.Abs(got-want) <= 1e-9) {
			t.Errorf("cosPi(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	last := 0.0
	rate := func(s int) float64 { return Rate(Cosine, 0.1, 0, s, 200) }
	for s := range 200 {
		r := rate(s)
		if s < 20 && (r <= last || r > 1) || s > 20 && r >= last {
			t.Errorf("update %d: rate %v after %v", s, r, last)
		}
		last = r
	}
	if !(last <= 1e-3) || rate(19) != 1 || !(math.Abs(rate(20)-1) <= 1e-9) {
		t.Errorf("rates %v, %v, ..., %v", rate(19), rate(20), last)
	}
	if r := Rate(Constant, 0, 3, 0, 1); r != 1 {
		t.Errorf("constant rate %v", r)
	}
	for s, want := range []float64{1, 1, 0.1, 0.1, 0.01, 0.01} {
		if r := Rate(Thirds, 0, 0, s, 6); r != want {
			t.Errorf("thirds: update %d of 6: rate %v, want %v", s, r, want)
		}
	}
	for epoch := range 14 {
		if r, want := Rate(Decay, 0, epoch, 90, 100), math.Pow(0.7, float64(epoch)); !(math.Abs(r-want) <= 1e-15) {
			t.Errorf("decay: epoch %d: rate %v, want %v", epoch, r, want)
		}
	}
}

// TestAllUpdates counts the updates of a training, also where an int of 32 bits does not.
func TestAllUpdates(t *testing.T) {
	for _, c := range [][4]int{{3, 10, 0, 30}, {3, 10, 20, 20}, {3, 10, 40, 30}, {1e6, 1e4, 7, 7}} {
		if got := AllUpdates(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%d epochs of %d updates, at most %d: %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
	if got := AllUpdates(1e6, 1e4, 0); int64(got) != min(1e10, math.MaxInt) {
		t.Errorf("%d updates of 10^10", got)
	}
}
