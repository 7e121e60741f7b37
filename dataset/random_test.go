package dataset

import (
	"math"
	"testing"
)

// The first outputs of the authors' reference implementation for seed 1234567.
func TestStreamIsSplitMix64(t *testing.T) {
	s := &stream{1234567}
	for i, want := range []uint64{
		6457827717110365317, 3203168211198807973, 9817491932198370423,
		4593380528125082431, 16408922859458223821,
	} {
		if got := s.next(); got != want {
			t.Errorf("output %d is %d, want %d", i, got, want)
		}
	}
}

func TestStreamMoments(t *testing.T) {
	const n = 20000
	s := newStream(3, 0)
	moments := func(draw func() float64) (mean, std, low, high float64) {
		low, high = math.Inf(1), math.Inf(-1)
		var sum, square float64
		for range n {
			v := draw()
			sum, square = sum+v, square+v*v
			low, high = min(low, v), max(high, v)
		}
		mean = sum / n
		return mean, math.Sqrt(square/n - mean*mean), low, high
	}
	// Five standard errors of a mean of 20,000 are 0.035 standard deviations.
	mean, std, low, high := moments(func() float64 { return s.uniform(-1, 3) })
	if !(math.Abs(mean-1) <= 0.041) || !(math.Abs(std-4/math.Sqrt(12)) <= 0.03) || low < -1 || high >= 3 {
		t.Errorf("uniform(-1, 3): mean %g, standard deviation %g, from %g to %g", mean, std, low, high)
	}
	mean, std, low, high = moments(func() float64 { return s.normal(2) })
	if !(math.Abs(mean) <= 0.071) || !(math.Abs(std-2) <= 0.06) || low < -7 || high > 7 || low > -5 || high < 5 {
		t.Errorf("normal(2): mean %g, standard deviation %g, from %g to %g", mean, std, low, high)
	}
	var count [7]int
	for range n {
		count[s.intn(7)]++
	}
	for v, c := range count {
		if !(math.Abs(float64(c)-n/7.0) <= 5*math.Sqrt(n/7.0)) {
			t.Errorf("intn(7) gave %d %d times of %d", v, c, n)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(40) {
		for index := range uint64(40) {
			for _, s := range []*stream{newStream(seed, index), newStream(seed*golden, index),
				newStream(seed, index+TestFirst)} {
				seen[s.next()] = true
			}
		}
	}
	// Seed 0 times golden is seed 0: 40 streams come twice.
	if want := 3*40*40 - 40; len(seen) != want {
		t.Errorf("%d different streams, want %d", len(seen), want)
	}
}
