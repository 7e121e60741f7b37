package array

import (
	"math"
	"testing"
)

// All float16 numbers have the values that IEEE 754 gives them: fraction times 2^-24 below 2^-14, (1024 + fraction)
// times 2^(exponent - 25) above it.
func TestHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		exponent, fraction := int(h>>10)&31, float64(h&1023)
		want := math.Ldexp(fraction, -24)
		switch {
		case exponent == 31 && fraction != 0:
			want = math.NaN()
		case exponent == 31:
			want = math.Inf(1)
		case exponent > 0:
			want = math.Ldexp(1024+fraction, exponent-25)
		}
		if h>>15 == 1 {
			want = -want
		}
		got := half(h)
		if math.IsNaN(want) != math.IsNaN(got) ||
			!math.IsNaN(want) && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("float16 %#04x is %v, want %v", h, got, want)
		}
	}
}
