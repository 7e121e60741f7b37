package reference

import "math"

// RowDot returns the dot product and its bound in sixteen float32 lanes.
func RowDot(x, y []float64) (dot, bound float64) {
	for i := range x {
		dot += x[i] * y[i]
		bound += math.Abs(x[i] * y[i])
	}
	n := laneRoundings(len(x))
	return dot, Gamma(n)*bound + float64(len(x))*tiny
}

// Dot returns the dot product, with the bound of one that is added in float64 and then rounded to float32.
func Dot(x, y []float64) (dot, bound float64) {
	var size float64
	for i := range x {
		dot += x[i] * y[i]
		size += math.Abs(x[i] * y[i])
	}
	return dot, U*math.Abs(dot) + sumError(len(x), size) + tiny
}

// Sum returns the sum, with the bound of one that is added in float64 and then rounded to float32.
func Sum(x []float64) (sum, bound float64) {
	var size float64
	for _, v := range x {
		sum += v
		size += math.Abs(v)
	}
	return sum, U*math.Abs(sum) + sumError(len(x), size)
}

// SquaredDistance returns the sum of (x-y)^2 and its bound in sixteen lanes.
func SquaredDistance(x, y []float64) (d, bound float64) {
	for i := range x {
		d += (x[i] - y[i]) * (x[i] - y[i])
	}
	return d, Gamma(laneRoundings(len(x))+2)*d + float64(len(x))*tiny
}

// WeightedSquares returns the sum of w (x-y)^2 and its bound in sixteen lanes.
func WeightedSquares(x, y, w []float64) (q, bound float64) {
	for i := range x {
		v := w[i] * (x[i] - y[i]) * (x[i] - y[i])
		q += v
		bound += math.Abs(v)
	}
	return q, Gamma(laneRoundings(len(x))+3)*bound + float64(len(x))*tiny*(1+maxAbs(x)+maxAbs(y))
}

func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// AdamCoefficients has the fields of engine.AdamCoefficients, which converts to it.
type AdamCoefficients struct {
	Clip          float32
	Beta1         float32
	OneMinusBeta1 float32
	Beta2         float32
	OneMinusBeta2 float32
	Step          float32
	RBC2          float32
	Eps           float32
}

// The floors of engine.Adam: smaller moments and gradients count as 0, and smaller gradients in v.
const (
	momentFloor       = 0x1p-100
	secondMomentFloor = 0x1p-114
	squareFloor       = 0x1p-57
)

// Decay returns a x, or 0 where that is below the floor of moments when it is rounded to float32, and its bound.
// Both must be float32 numbers, so that the product is exact.
func Decay(a, x float64) (v, bound float64) {
	v = a * x
	if math.Abs(float64(float32(v))) < momentFloor {
		v = 0
	}
	return v, U * math.Abs(v)
}

// AdamState is a parameter and its two moments.
type AdamState struct{ P, M, V float64 }

// Adam makes one step on one parameter with gradient g and returns the new parameter and moments,
// with bounds.
func Adam(old AdamState, g float64, co AdamCoefficients) (p, m, v Value) {
	beta1, rest1 := float64(co.Beta1), float64(co.OneMinusBeta1)
	beta2, rest2 := float64(co.Beta2), float64(co.OneMinusBeta2)
	step, rbc2, eps := float64(co.Step), float64(co.RBC2), float64(co.Eps)
	p, m, v = newValue(1), newValue(1), newValue(1)
	if math.Abs(g) < momentFloor {
		g = 0
	}
	if math.Abs(old.M) < momentFloor {
		old.M = 0
	}
	if old.V < secondMomentFloor {
		old.V = 0
	}
	g *= float64(co.Clip)
	m.V[0] = beta1*old.M + rest1*g
	m.E[0] = Gamma(3)*(math.Abs(beta1*old.M)+math.Abs(rest1*g)) + 3*tiny
	if math.Abs(m.V[0])-m.E[0] < momentFloor {
		m.E[0] += math.Abs(m.V[0])
	}
	v.V[0] = beta2*old.V + rest2*g*g
	v.E[0] = Gamma(5)*(beta2*old.V+rest2*g*g) + 5*tiny
	if math.Abs(g) < squareFloor*(1+2*U) {
		v.E[0] += rest2 * g * g
	}
	if v.V[0]-v.E[0] < secondMomentFloor {
		v.E[0] += v.V[0]
	}
	denominator := math.Sqrt(v.V[0])*rbc2 + eps
	least := math.Sqrt(max(v.V[0]-v.E[0], 0))*rbc2 + eps
	least -= Gamma(3) * least
	move := step * m.V[0] / denominator
	p.V[0] = old.P - move
	p.E[0] = step*(math.Abs(m.V[0])+m.E[0])/least - math.Abs(move)
	p.E[0] += Gamma(3)*(math.Abs(old.P)+math.Abs(move)+p.E[0]) + tiny
	return p, m, v
}
