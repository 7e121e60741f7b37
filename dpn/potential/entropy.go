package potential

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Entropy returns - sum_i r_i ln r_i of column b of r, in nats: NaN where one of them is. The kernels set
// responsibilities below 2^-30 of the largest to 0, so that most entropies far from the borders between
// components are exactly 0: see LogEntropy.
func Entropy(r engine.Matrix, b int) float64 {
	var h float64
	for i := range r.Rows {
		if v := r.At(i, b); v != 0 { // also NaN
			h -= float64(float64(v) * float64(num.Log32(v)))
		}
	}
	if h < 0 { // r may be a rounding above 1
		h = 0
	}
	return h
}

// LogEntropy returns the natural logarithm of the entropy in nats of the responsibilities of column b of the terms
// l (Terms), however small the entropy is: -Inf for a single component, NaN where a term is. With g_i = l_i - max_j
// l_j, g the second largest of them, and S = exp(g) s the sum of exp(g_i) without the largest term,
//
//	H = log(1 + S) + exp(g) t / (1 + S),   s = sum exp(g_i - g),   t = sum |g_i| exp(g_i - g)
//
// and H = exp(g) (s + t) where exp(g) is below the rounding of float32.
func LogEntropy(l engine.Matrix, b int) float64 {
	top, second := math.Inf(-1), math.Inf(-1)
	at := 0
	for i := range l.Rows {
		switch v := float64(l.At(i, b)); {
		case v > top:
			top, second, at = v, top, i
		case v > second:
			second = v
		case v != v:
			return math.NaN()
		}
	}
	g := second - top
	if math.IsInf(g, -1) || g != g {
		return g
	}
	var s, t float64
	for i := range l.Rows {
		if i != at {
			gap := float64(l.At(i, b)) - top
			w := float64(num.Exp32(float32(gap - g)))
			s += w
			if w > 0 { // the gap may be infinite
				t -= float64(gap * w)
			}
		}
	}
	if g < -16 {
		return g + float64(num.Log32(float32(s+t)))
	}
	e := float64(num.Exp32(float32(g)))
	return float64(num.Log32(float32(log1p(float64(e*s)) + float64(e*t)/(1+float64(e*s)))))
}

// log1p returns log(1 + u) for u >= 0, with the same bits on every machine.
func log1p(u float64) float64 {
	if u > 0.1 {
		return float64(num.Log32(float32(1 + u)))
	}
	sum, power := 0.0, u
	for n := 1; n <= 10; n++ {
		sum += power / float64(n)
		power *= -u
	}
	return sum
}

// Terms sets phi (n) and the terms l (k x n) of the potential at the rows of x (n x d), l_i = c_i - q_i/2: phi is
// their log-sum-exp, and l_i - phi the logarithm of the responsibility, without the floor of the kernels.
func (p *Potential) Terms(e *engine.Engine, x engine.Matrix, phi []float32, l engine.Matrix) {
	p.Mixture(e).Terms(e, x, phi, l)
}
