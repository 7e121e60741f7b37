package num_test

import (
	"math"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// TestExpLogSample compares exp and log of every tier with float64 on a sample of all 2^32 inputs:
// every exponent, and each limit with its neighbours. The tiers must agree in every bit.
func TestExpLogSample(t *testing.T) {
	stride := uint64(65537 - 512) // coprime to 2^32, about 66,000 inputs
	if testing.Short() {
		stride *= 8
		stride++
	}
	var x []float32
	for u := uint64(0); u < 1<<32; u += stride {
		x = append(x, math.Float32frombits(uint32(u)))
	}
	for _, v := range []float32{0, 1, 89, -104.5, 88.72284, -87.33655, -103.97208, 0x1p-126, 0x1p-149, 0x1.6a09e6p-1,
		0x1.6a09e6p0, math.MaxFloat32, engine.ResponsibilityCut, float32(math.Inf(1))} {
		for d := -3; d <= 3; d++ {
			b := math.Float32frombits(math.Float32bits(v) + uint32(d))
			x = append(x, b, -b)
		}
	}
	for _, f := range []struct {
		name   string
		call   func(*engine.Engine, []float32, []float32)
		scalar func(float32) float32
		oracle func(float64) float64
	}{
		{"exp", (*engine.Engine).Exp, num.Exp32, math.Exp},
		{"log", (*engine.Engine).Log, num.Log32, math.Log},
	} {
		for _, tier := range engine.Available() {
			e := newEngine(t, tier)
			y := make([]float32, len(x))
			f.call(e, y, x)
			for i, v := range x {
				if want := f.scalar(v); !same(y[i], want) {
					t.Fatalf("%s(%x) on %v: %x, in pure Go %x", f.name, v, tier, y[i], want)
				}
				if d := reference.ULPs(y[i], f.oracle(float64(v))); d > 1 {
					t.Fatalf("%s(%x) on %v: %x is %d ULPs from %x", f.name, v, tier, y[i], d, f.oracle(float64(v)))
				}
			}
		}
	}
}
