package engine

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
	p := float64(x) * float64(y)
	s := p + float64(z)
	if b := math.Float64bits(s); b&0x1fffffff == 0x10000000 || b<<1 < minNormalSum {
		return fma32Rounded(p, float64(z), s)
	}
	return float32(s)
}

// minNormalSum is the float64 2^-126 with its sign bit shifted out.
const minNormalSum = (1023 - 126) << 53

// fma32Rounded rounds p + z, whose float64 sum is s, once to float32: it finds the
// error of the sum (Knuth's TwoSum, exact), makes s odd where that error is not zero
// ("round to odd"), and rounds again. 53 bits are more than 2*24 + 1, so the second
// rounding sees everything that it needs (Boldo and Melquiond, 2008).
func fma32Rounded(p, z, s float64) float32 {
	zz := s - p
	e := (p - (s - zz)) + (z - zz)
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
