package reference

import "math"

// LayerNorm returns (x - mean)/sqrt(variance + eps) and the factor 1/sqrt(...), with
// bounds, for a row taken as exact. Only the ends are rounded to float32.
func LayerNorm(x []float64, eps float64) (y Value, rstd Value) {
	n := len(x)
	d := float64(n)
	var sum, size, square float64
	for _, v := range x {
		sum += v
		size += math.Abs(v)
	}
	mean := sum / d
	emean := sumError(n+1, size) / d
	y, rstd = newValue(n), newValue(1)
	for j, v := range x {
		y.V[j] = v - mean
		square += y.V[j] * y.V[j]
	}
	// The mean is where the sum of squares is smallest, so its error counts in second order.
	v := square/d + eps
	rest := (emean*emean + sumError(n+4, square/d+emean*emean)) / v
	rstd.V[0] = 1 / math.Sqrt(v)
	rstd.E[0] = (U+rest)*rstd.V[0] + tiny
	for j := range y.V {
		y.V[j] *= rstd.V[0]
		y.E[j] = (U+rest+4*0x1p-53)*math.Abs(y.V[j]) + 2*emean*rstd.V[0] + tiny
	}
	return y, rstd
}

// LayerNormBackward returns rstd (dy - mean(dy) - y mean(dy*y)) with its bound; all
// arguments are taken as exact, and only the end is rounded to float32.
func LayerNormBackward(y []float64, rstd float64, dy []float64) Value {
	n, d := len(y), float64(len(y))
	var c1, c2, size1, size2 float64
	for j, v := range dy {
		c1 += v / d
		c2 += v * y[j] / d
		size1 += math.Abs(v) / d
		size2 += math.Abs(v*y[j]) / d
	}
	dx := newValue(n)
	for j := range y {
		dx.V[j] = rstd * (dy[j] - c1 - y[j]*c2)
		e := sumError(n+4, size1+math.Abs(y[j])*size2+math.Abs(dy[j]))
		dx.E[j] = U*math.Abs(dx.V[j]) + 2*rstd*e + tiny
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
