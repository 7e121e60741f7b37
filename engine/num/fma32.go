package num

import "math"

// FMA32 returns x*y + z rounded once to float32, in pure Go and with the same bits on every machine.
// All products and reductions of the engine are made of it. A NaN operand gives a NaN with an
// unspecified payload.
//
// The float64 product of two float32 is exact. Rounding the float64 sum to float32 is correct unless the
// sum is a midpoint of two float32 numbers, where the first rounding may have hidden on which side the
// exact sum lies, or is below the normal range, where float32 has fewer bits. Only then the error of the
// sum is computed.
func FMA32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if RoundsTwice(s) {
		return fma32Rounded(x, y, z)
	}
	return float32(s)
}

// RoundsTwice reports whether rounding s to float32 may be wrong, where s is the float64 sum of a product
// of two float32 numbers and a third one. FMA32 is then correct. It is for kernels that keep their sums
// in float64.
func RoundsTwice(s float64) bool {
	b := math.Float64bits(s) << 1
	return b<<34 == midpoint || b-1 < minNormalSum-1
}

// The bits of a float64, with the sign shifted out, that RoundsTwice looks for: the low bits of a midpoint
// of two float32 numbers, and those of numbers below 2^-126 except 0.
const (
	midpoint     = 1 << 63
	minNormalSum = (1023 - 126) << 53
)

// fma32Rounded computes the exact error of the sum (Knuth's TwoSum), makes the sum odd if the error is
// not zero ("round to odd"), and rounds again. As 53 bits are more than 2*24 + 1, the result is correctly
// rounded (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
//
//go:noinline
func fma32Rounded(x, y, z float32) float32 {
	p, q := float64(x)*float64(y), float64(z)
	s := p + q
	r := s - p
	e := (p - (s - r)) + (q - r)
	if e != 0 && e-e == 0 { // e is NaN where s is infinite or NaN
		b := math.Float64bits(s)
		if b&1 == 0 {
			if (e > 0) == (s > 0) {
				b++
			} else {
				b--
			}
			s = math.Float64frombits(b)
		}
	}
	return float32(s)
}
