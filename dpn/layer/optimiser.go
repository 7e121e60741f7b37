package layer

import (
	"math"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// Adam is the optimiser of Kingma and Ba (2015), with beta1 0.9, beta2 0.999 and eps 1e-8:
// one value serves all parameters of a network.
type Adam struct {
	Beta1T, Beta2T float64 // beta1^t and beta2^t of the next update, t from 1

	co engine.AdamCoefficients // here because kernels take its address
}

const (
	beta1   = 0.9
	beta2   = 0.999
	adamEps = 1e-8
)

// NewAdam returns the optimiser before its first update.
func NewAdam() *Adam { return &Adam{Beta1T: beta1, Beta2T: beta2} }

// Step moves data by the gradient and the moments of p; data is p.Data, or what p.Data
// follows from. The gradient counts clip times.
func (a *Adam) Step(e *engine.Engine, p *Param, data []float32, lr, clip float64) {
	a.co = engine.AdamCoefficients{
		Clip:  float32(clip),
		Beta1: beta1, OneMinusBeta1: 1 - beta1, Beta2: beta2, OneMinusBeta2: 1 - beta2,
		Step: float32(lr / (1 - a.Beta1T)),
		RBC2: float32(1 / math.Sqrt(1-a.Beta2T)),
		Eps:  adamEps,
	}
	e.Adam(data, p.Grad, p.M, p.V, &a.co)
}

// Next ends an update, after Step for all parameters.
func (a *Adam) Next() {
	a.Beta1T = float64(a.Beta1T * beta1) // rounded here, so that 1 - Beta1T above is never fused
	a.Beta2T = float64(a.Beta2T * beta2)
}

// SGD is stochastic gradient descent with momentum, by PyTorch's definition:
//
//	m <- momentum m + clip g,   p <- p - lr m
type SGD struct{ Momentum float64 }

// Step makes one update of p.
func (s SGD) Step(e *engine.Engine, p *Param, lr, clip float64) {
	e.Scale(p.M, float32(s.Momentum), p.M)
	e.Axpy(float32(clip), p.Grad, p.M)
	e.Axpy(float32(-lr), p.M, p.Data)
}

// Norm returns the Euclidean norm of the gradient of all params together.
func Norm(e *engine.Engine, params []*Param) float64 {
	var sum float64
	for _, p := range params {
		sum += e.SumSquares(p.Grad)
	}
	return math.Sqrt(sum)
}

// NotFinite says what is not finite of the loss and of the gradient of params, whose norm is
// given: "loss", "gradient of" a tensor, or "norm of the gradient" where all elements are
// finite and their squares are not. It returns "" if all is.
func NotFinite(loss, norm float64, params []*Param) string {
	if !linalg.IsFinite(loss) {
		return "loss"
	}
	if linalg.IsFinite(norm) {
		return ""
	}
	for _, p := range params {
		for _, g := range p.Grad {
			if !linalg.IsFinite(g) {
				return "gradient of " + p.Name
			}
		}
	}
	return "norm of the gradient"
}

// Clip returns the factor that brings a gradient of that norm down to limit; 0: no limit.
func Clip(norm, limit float64) float64 {
	if limit > 0 && norm > limit {
		return limit / norm
	}
	return 1
}
