package reference

import "math"

// LayerNorm returns (x - mean)/sqrt(variance + eps) and the factor 1/sqrt(...), with
// bounds, for a row taken as exact.
func LayerNorm(x []float64, eps float64) (y Value, rstd Value) {
	n := len(x)
	d := float64(n)
	sum, esum := Sum(x)
	mean := sum / d
	emean := esum/d + 2*U*(math.Abs(mean)+esum/d)
	y, rstd = newValue(n), newValue(1)
	var square, esquare float64
	for j, v := range x {
		y.V[j] = v - mean
		y.E[j] = emean + U*(math.Abs(y.V[j])+emean)
		square += y.V[j] * y.V[j]
		esquare += 2*math.Abs(y.V[j])*y.E[j] + y.E[j]*y.E[j]
	}
	esquare += Gamma(laneRoundings(n)) * (square + esquare)
	v := square/d + eps
	ev := esquare/d + Gamma(2)*(v+esquare/d)
	rstd.V[0] = 1 / math.Sqrt(v)
	// The largest change that the error of the variance can make, and two roundings.
	rstd.E[0] = 1/math.Sqrt(max(v-ev, eps/2)) - rstd.V[0] + Gamma(2)*rstd.V[0]
	for j := range y.V {
		c, e := y.V[j], y.E[j]
		y.V[j] = c * rstd.V[0]
		y.E[j] = e*(rstd.V[0]+rstd.E[0]) + math.Abs(c)*rstd.E[0] + U*(math.Abs(y.V[j])+e*rstd.V[0]) + tiny
	}
	return y, rstd
}

// LayerNormBackward returns rstd (dy - mean(dy) - y mean(dy*y)) with its bound; all
// arguments are taken as exact.
func LayerNormBackward(y []float64, rstd float64, dy []float64) Value {
	d := float64(len(y))
	s1, e1 := Sum(dy)
	s2, e2 := Dot(dy, y)
	c1, c2 := s1/d, s2/d
	e1, e2 = e1/d+2*U*math.Abs(c1), e2/d+2*U*math.Abs(c2)
	dx := newValue(len(y))
	for j := range y {
		dx.V[j] = rstd * (dy[j] - c1 - y[j]*c2)
		size := math.Abs(dy[j]) + math.Abs(c1) + math.Abs(y[j]*c2)
		dx.E[j] = rstd * (e1 + e2*math.Abs(y[j]) + Gamma(3)*size)
		dx.E[j] += U*dx.E[j] + tiny
	}
	return dx
}

// SoftmaxCrossEntropy returns the loss of one row of logits with that label, and its
// gradient, with bounds.
func SoftmaxCrossEntropy(logits []float64, label int) (loss Value, grad Value) {
	k := len(logits)
	loss, grad = newValue(1), newValue(k)
	m := math.Inf(-1)
	for _, v := range logits {
		m = max(m, v)
	}
	var s, es float64
	for j, v := range logits {
		e := math.Exp(v - m)
		grad.V[j] = e
		grad.E[j] = e*(math.Expm1(U*(m-v))+2*U) + tiny
		s += e
		es += grad.E[j]
	}
	es += Gamma(k) * (s + es)
	for j := range grad.V {
		e := grad.V[j] / s
		grad.E[j] = grad.E[j]/s + e*es/s + 2*U*e + tiny
		grad.V[j] = e
		if j == label {
			grad.V[j]--
		}
		grad.E[j] += 2*U*math.Abs(grad.V[j]) + U*grad.E[j]
	}
	loss.V[0] = math.Log(s) + m - logits[label]
	loss.E[0] = es/s + 2*U*math.Log(s) + U*(m-logits[label]) + 2*U*math.Abs(loss.V[0]) + tiny
	return loss, grad
}
