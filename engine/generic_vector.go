package engine

import (
	"math"

	"dpnbench/engine/num"
)

// The pure-Go kernels define what the kernels in assembly compute: same signature, same bits. Kernels
// trust their arguments; the methods of type kernels check them.

// subRowsGeneric subtracts rows: see subRowsArgs.
func subRowsGeneric(args *subRowsArgs) {
	dst, x, y := args.dst, args.x, args.y
	ds, xs, ys, n := args.ds, args.xs, args.ys, args.n
	for i := range args.rows {
		for j := range n {
			dst[i*ds+j] = x[i*xs+j] - y[i*ys+j]
		}
	}
}

// multiplyGeneric sets dst[j] = x[j] * y[j].
func multiplyGeneric(dst, x, y []float32) {
	for j := range dst {
		dst[j] = x[j] * y[j]
	}
}

// axpyGeneric sets dst[j] = fma(a, x[j], y[j]). With a = 1 that is a sum, which FMA32 would make several times slower.
func axpyGeneric(dst []float32, a float32, x, y []float32) {
	if a == 1 {
		for j := range dst {
			dst[j] = x[j] + y[j]
		}
		return
	}
	for j := range dst {
		dst[j] = num.FMA32(a, x[j], y[j])
	}
}

// axpyProductsGeneric adds alpha (g + s*x) to rows: see axpyProductsArgs.
func axpyProductsGeneric(args *axpyProductsArgs) {
	for i := range args.rows {
		for j := range args.n {
			at, product := i*args.ds+j, float32(args.s[i*args.gs+j]*args.x[i*args.xs+j])
			args.dst[at] = num.FMA32(args.alpha, args.g[i*args.gs+j]+product, args.dst[at])
		}
	}
}

// scaleGeneric sets dst[j] = a * x[j].
func scaleGeneric(dst []float32, a float32, x []float32) {
	for j := range dst {
		dst[j] = a * x[j]
	}
}

// reluBackwardGeneric sets dst[j] = y[j] where x[j] > 0, and +0 elsewhere (also where x[j] is NaN).
func reluBackwardGeneric(dst, x, y []float32) {
	for j := range dst {
		if x[j] > 0 {
			dst[j] = y[j]
		} else {
			dst[j] = 0
		}
	}
}

// decayGeneric sets x[j] = a * x[j], and +0 where that is below 2^-100.
func decayGeneric(a float32, x []float32) {
	for j := range x {
		x[j] = flush(a*x[j], MomentFloor)
	}
}

// normaliseGeneric sets dst[j] = (x[j] - mean) * rstd, in float64.
func normaliseGeneric(dst, x []float32, mean, rstd float64) {
	for j := range dst {
		dst[j] = float32((float64(x[j]) - mean) * rstd)
	}
}

// normBackwardGeneric sets dst[j] = rstd * (y[j] - c1 - c2*x[j]), in float64 with a rounding each.
func normBackwardGeneric(dst, x, y []float32, c1, c2, rstd float64) {
	for j := range dst {
		dst[j] = float32(rstd * (float64(y[j]) - c1 - float64(c2*float64(x[j]))))
	}
}

// adamGeneric makes one step of Adam on p with gradient g and moments m and v:
//
//	g' = clip*g
//	m  = fma(beta1, m, (1-beta1)*g')
//	v  = fma(beta2, v, (1-beta2)*(g'*g'))
//	p  = fma(-step, m/fma(sqrt(v), rbc2, eps), p)
//
// where g and the old and new m below 2^-100 in magnitude are +0, the old and new v below 2^-114, and g'
// below 2^-57 in magnitude in the square. See Engine.Adam for what these floors change.
func adamGeneric(p, g, m, v []float32, co *AdamCoefficients) {
	for j := range p {
		x := co.Clip * flush(g[j], MomentFloor)
		m[j] = flush(num.FMA32(co.Beta1, flush(m[j], MomentFloor), float32(co.OneMinusBeta1*x)), MomentFloor)
		x = flush(x, squareFloor)
		v[j] = flushBelow(num.FMA32(co.Beta2, flushBelow(v[j], SecondMomentFloor),
			float32(co.OneMinusBeta2*float32(x*x))), SecondMomentFloor)
		p[j] = num.FMA32(-co.Step, m[j]/num.FMA32(sqrt32(v[j]), co.RBC2, co.Eps), p[j])
	}
}

// flush returns x, or +0 if its magnitude is below the floor.
func flush(x, floor float32) float32 {
	if -floor < x && x < floor {
		return 0
	}
	return x
}

// flushBelow returns x, or +0 if it is below the floor.
func flushBelow(x, floor float32) float32 {
	if x < floor {
		return 0
	}
	return x
}

// sqrt32 is the correctly rounded square root. Rounding the float64 root of a float32 again gives the
// right float32, because 53 >= 2*24 + 2.
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// lanes are the sixteen partial sums of a reduction. Element j of a vector belongs to lane j mod 16; the
// vector counts as padded with +0 to a multiple of 16.
type lanes[T float32 | float64] [16]T

// sum adds the lanes in a fixed order: 8 apart, then 4, 2, 1.
func (l *lanes[T]) sum() T {
	for h := 8; h > 0; h /= 2 {
		for i := range h {
			l[i] += l[i+h]
		}
	}
	return l[0]
}

// dotRowsGeneric sets dst[i] = sum over j < n of x[i*xs+j]*y[i*ys+j], each lane a chain
// of fused multiply-adds.
func dotRowsGeneric(dst, x []float32, xs int, y []float32, ys, n int) {
	for i := range dst {
		var l lanes[float32]
		for j := range n {
			l[j&15] = num.FMA32(x[i*xs+j], y[i*ys+j], l[j&15])
		}
		l.pad(n)
		dst[i] = l.sum()
	}
}

// pad adds the +0 of the padding after n elements. It turns a lane of -0, which underflow can leave,
// into +0, as a vector register does. Lanes of float64 never are -0: products of two float32 do not underflow.
func (l *lanes[T]) pad(n int) {
	if n&15 != 0 {
		for j := n & 15; j < 16; j++ {
			l[j] += 0
		}
	}
}

// sqdistRowsGeneric sets dst[i] = sum over j of (x[i*xs+j] - y[j])^2.
func sqdistRowsGeneric(dst, x []float32, xs int, y []float32) {
	for i := range dst {
		var l lanes[float32]
		for j := range y {
			d := x[i*xs+j] - y[j]
			l[j&15] = num.FMA32(d, d, l[j&15])
		}
		l.pad(len(y))
		dst[i] = l.sum()
	}
}

// quadRowsGeneric sets dst[i] = sum over j of w[j]*(x[i*xs+j] - y[j])^2, each lane a chain
// of fma(w[j]*e, e, ...) with e = x[i*xs+j] - y[j].
func quadRowsGeneric(dst, x []float32, xs int, y, w []float32) {
	for i := range dst {
		var l lanes[float32]
		for j := range y {
			e := x[i*xs+j] - y[j]
			l[j&15] = num.FMA32(float32(w[j]*e), e, l[j&15])
		}
		l.pad(len(y))
		dst[i] = l.sum()
	}
}

// sumGeneric returns the sum of x.
func sumGeneric(x []float32) float64 {
	var l lanes[float64]
	for j, v := range x {
		l[j&15] += float64(v)
	}
	return l.sum()
}

// dotGeneric returns the sum of x[j]*y[j]. The products are exact, so fusing changes nothing.
func dotGeneric(x, y []float32) float64 {
	var l lanes[float64]
	for j, v := range x {
		l[j&15] += float64(v) * float64(y[j])
	}
	return l.sum()
}

// squaresGeneric returns the sum of (x[j] - mean)^2, each square rounded to float64.
func squaresGeneric(x []float32, mean float64) float64 {
	var l lanes[float64]
	for j, v := range x {
		t := float64(v) - mean
		l[j&15] += float64(t * t)
	}
	return l.sum()
}

// addRowsGeneric adds x[i*xs+j] to sum[j], for the rows i of at in their order.
func addRowsGeneric(sum []float64, x []float32, xs int, at []int32) {
	for _, i := range at {
		for j := range sum {
			sum[j] += float64(x[int(i)*xs+j])
		}
	}
}

// normalGeneric sets dst to the normal numbers that follow a state of a stream, in whole vectors: see
// num.Rand.Normal.
func normalGeneric(dst []float32, state uint64) {
	r := num.RandAt(state)
	r.Normal(dst)
}

// expGeneric sets dst[j] = exp(x[j]).
func expGeneric(dst, x []float32) {
	for j := range dst {
		dst[j] = num.Exp32(x[j])
	}
}

// logGeneric sets dst[j] = log(x[j]).
func logGeneric(dst, x []float32) {
	for j := range dst {
		dst[j] = num.Log32(x[j])
	}
}

// readGeneric reads x rounds times and returns the bitwise or of its elements.
func readGeneric(x []float32, rounds int) uint32 {
	var b0, b1, b2, b3 uint32
	for range rounds {
		rest := x
		for ; len(rest) >= 8; rest = rest[8:] {
			v := (*[8]float32)(rest)
			b0 |= math.Float32bits(v[0]) | math.Float32bits(v[4])
			b1 |= math.Float32bits(v[1]) | math.Float32bits(v[5])
			b2 |= math.Float32bits(v[2]) | math.Float32bits(v[6])
			b3 |= math.Float32bits(v[3]) | math.Float32bits(v[7])
		}
		for _, v := range rest {
			b0 |= math.Float32bits(v)
		}
	}
	return b0 | b1 | b2 | b3
}

// writeGeneric sets dst[j] = a, rounds times.
func writeGeneric(dst []float32, a float32, rounds int) {
	for range rounds {
		rest := dst
		for ; len(rest) >= 8; rest = rest[8:] {
			v := (*[8]float32)(rest)
			v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] = a, a, a, a, a, a, a, a
		}
		for j := range rest {
			rest[j] = a
		}
	}
}

// triadGeneric sets dst[j] = fma(a, y[j], x[j]), rounds times.
func triadGeneric(a float32, dst, x, y []float32, rounds int) {
	for range rounds {
		if triadFuses {
			triadFused(a, dst, x, y)
			continue
		}
		for j := range dst {
			dst[j] = num.FMA32(a, y[j], x[j])
		}
	}
}

// triadFused is a triad for compilers that fuse the multiplication and the addition.
func triadFused(a float32, dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for j := range dst {
		dst[j] = a*y[j] + x[j]
	}
}

// triadFuses reports whether the compiler fuses the loop of triadFused; see compilerFuses.
var triadFuses = func() bool {
	x := []float32{1 + 0x1p-12, -1 - 0x1p-11, 0}
	triadFused(x[0], x[2:], x[1:2], x[:1])
	return x[2] == 0x1p-24
}()
