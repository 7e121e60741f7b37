package num

import "math"

const (
	log2e   float32 = 0x1.715476p0
	ln2Hi   float32 = 0x1.62e43p-1
	ln2Lo   float32 = -0x1.05c61p-29
	toInt   float32 = 0x1.8p23 // adding it rounds to an integer, which is then in the low bits
	expMax  float32 = 89       // exp overflows above 88.72
	expMin  float32 = -104.5   // exp rounds to 0 below -103.97
	sqrtHlf         = 0x3f3504f3
)

// Exp32 returns e^x, at most 1 ULP from the correctly rounded value (all 2^32 inputs
// swept; largest error 0.97 ULP), with the same bits on every tier and machine: +Inf
// above 88.72, subnormal results rounded once, NaN for NaN.
//
// x = n ln 2 + r with |r| <= ln(2)/2, then a polynomial of degree 6 (minimax, made
// with Sollya's fpminimax), then 2^n in two factors so that neither overflows.
func Exp32(x float32) float32 {
	if x > expMax {
		x = expMax
	}
	if x < expMin {
		x = expMin
	}
	t := FMA32(x, log2e, toInt)
	n := t - toInt
	r := FMA32(-n, ln2Hi, x)
	r = FMA32(-n, ln2Lo, r)
	q := float32(0x1.6d4c04p-10)
	q = FMA32(q, r, 0x1.120c14p-7)
	q = FMA32(q, r, 0x1.5554eap-5)
	q = FMA32(q, r, 0x1.5554dcp-3)
	q = FMA32(q, r, 0.5)
	q = FMA32(q, r, 1)
	q = FMA32(q, r, 1)
	k := int32(math.Float32bits(t) - math.Float32bits(toInt))
	k1 := k >> 1
	k2 := k - k1
	return q * math.Float32frombits(uint32(k1+127)<<23) * math.Float32frombits(uint32(k2+127)<<23)
}

// Log32 returns the natural logarithm of x, at most 1 ULP from the correctly rounded
// value (all 2^32 inputs swept; largest error 0.93 ULP), with the same bits on every
// tier and machine: -Inf for 0, NaN below 0 and for NaN, +Inf for +Inf.
//
// x = 2^e (1+f) with 1+f in [sqrt(1/2), sqrt(2)); log(1+f) = f + f^2 q(f), q of degree
// 8 (minimax, made with Sollya's fpminimax).
func Log32(x float32) float32 {
	switch {
	case !(x >= 0):
		return float32(math.NaN())
	case x == 0:
		return float32(math.Inf(-1))
	case x > math.MaxFloat32:
		return x
	}
	var e0 float32
	if x < 0x1p-126 {
		x *= 0x1p23
		e0 = -23
	}
	ix := math.Float32bits(x)
	k := int32(ix-sqrtHlf) >> 23
	f := math.Float32frombits(ix-uint32(k<<23)) - 1
	e := float32(k) + e0
	s := f * f
	q := float32(-0x1.496a52p-4)
	q = FMA32(q, f, 0x1.08a6a2p-3)
	q = FMA32(q, f, -0x1.0bf544p-3)
	q = FMA32(q, f, 0x1.22446ap-3)
	q = FMA32(q, f, -0x1.5487e2p-3)
	q = FMA32(q, f, 0x1.99a7a8p-3)
	q = FMA32(q, f, -0x1.000222p-2)
	q = FMA32(q, f, 0x1.555548p-2)
	q = FMA32(q, f, -0x1.fffffep-2)
	y := FMA32(q, s, f)
	y = FMA32(e, ln2Lo, y)
	return FMA32(e, ln2Hi, y)
}
