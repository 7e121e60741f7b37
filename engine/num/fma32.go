package num

import "math"

// FMA32 returns x*y + z rounded once to float32, in pure Go and with the same bits on
// every machine: the one building block of every product and reduction of this
// package. A NaN operand gives a NaN (its payload is not specified).
//
// The float64 product of two float32 is exact. The float64 sum rounded to float32 is
// the right answer unless it lies on a midpoint of two float32 numbers, where the
// first rounding may have hidden which side the exact sum is on, or below the normal
// range, where float32 has fewer bits. Only there is the error of the sum looked at.
func FMA32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if RoundsTwice(s) {
		return fma32Rounded(x, y, z)
	}
	return float32(s)
}

// RoundsTwice reports whether s, the float64 sum of a product of two float32 numbers and a
// third one, must not simply be rounded to float32: then FMA32 finds the right answer. Kernels that
// keep their sums in float64 ask for it themselves.
func RoundsTwice(s float64) bool {
	b := math.Float64bits(s) << 1
	return b<<34 == midpoint || b-1 < minNormalSum-1
}

// The bits of a float64, its sign shifted out, where rounding it to float32 may not be
// the whole truth: those that end as a midpoint of two float32 numbers do, and those of
// numbers below 2^-126, save 0.
const (
	midpoint     = 1 << 63
	minNormalSum = (1023 - 126) << 53
)

// fma32Rounded finds the error of the sum (Knuth's TwoSum, exact), makes the sum odd
// where that error is not zero ("round to odd"), and rounds again: 53 bits are more than
// 2*24 + 1, so the second rounding sees everything that it needs (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums", 2008).
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
