package layer

import (
	"math"
	"testing"

	"dpnbench/engine"
)

// TestNoise checks that half of a minibatch becomes noisy with the requested standard deviations
// and stays within [0, 1], and that the noise depends only on seed and update.
func TestNoise(t *testing.T) {
	e, threads := newEngine(t, engine.WithThreads(1)), newEngine(t, engine.WithThreads(3), engine.WithEagerThreads())
	noisy := func(seed uint64, update int) engine.Matrix {
		x := engine.NewMatrix(11, 4000)
		for i := range x.Data {
			x.Data[i] = 0.5
		}
		(&Noise{Min: 0.05, Max: 0.15, Seed: seed}).Add(e, x, update)
		return x
	}
	x := noisy(4, 3)
	sigmas := map[float64]bool{}
	for i := range 11 {
		sum, square := 0.0, 0.0
		for _, v := range x.Row(i) {
			if v < 0 || v > 1 {
				t.Fatalf("row %d: %v", i, v)
			}
			sum += float64(v-0.5) / 4000
			square += float64(v-0.5) * float64(v-0.5) / 4000
		}
		sigma := math.Sqrt(square)
		if i >= 5 && sigma != 0 || i < 5 && (!(sigma >= 0.046) || !(sigma <= 0.158) || !(math.Abs(sum) <= 0.012)) {
			t.Errorf("row %d: mean %v, standard deviation %v", i, sum, sigma)
		}
		sigmas[sigma] = true
	}
	if len(sigmas) != 6 {
		t.Errorf("%d different strengths, want 5 and none", len(sigmas))
	}
	one := e
	e = threads
	for i, v := range noisy(4, 3).Data {
		if v != x.Data[i] {
			t.Fatal("the noise of an update does not repeat on three threads")
		}
	}
	e = one
	for _, other := range []engine.Matrix{noisy(4, 4), noisy(5, 3)} {
		if other.At(0, 0) == x.At(0, 0) && other.At(0, 1) == x.At(0, 1) {
			t.Error("another update or seed has the same noise")
		}
	}
	(&Noise{}).Add(e, x, 3)
	for i, v := range noisy(4, 3).Data {
		if v != x.Data[i] {
			t.Fatal("no noise changes numbers")
		}
	}
}

// TestUnclamped checks the noise of vectors: that of images from 0 on, without a bound.
func TestUnclamped(t *testing.T) {
	e := newEngine(t)
	x, y := engine.NewMatrix(4, 900), engine.NewMatrix(4, 900)
	(&Noise{Min: 0.5, Max: 0.5, Seed: 1, Unclamped: true}).Add(e, x, 2)
	(&Noise{Min: 0.5, Max: 0.5, Seed: 1}).Add(e, y, 2)
	var square float64
	for i, v := range x.Data[:1800] {
		square += float64(v) * float64(v) / 1800
		if y.Data[i] != min(max(v, 0), 1) {
			t.Fatalf("number %d: %v, clamped %v", i, v, y.Data[i])
		}
	}
	if !(math.Abs(math.Sqrt(square)-0.5) <= 0.05) {
		t.Errorf("standard deviation %v", math.Sqrt(square))
	}
	for _, v := range x.Data[1800:] {
		if v != 0 {
			t.Fatal("noise in the second half")
		}
	}
}
