package layer

import (
	"math"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// Adam is the optimiser of Kingma and Ba (2015), with beta1 0.9, beta2 0.999 and eps 1e-8. One Adam
// serves all parameters of a network.
type Adam struct {
	Beta1T, Beta2T float64 // beta1^t and beta2^t of the next update, t from 1

	co engine.AdamCoefficients // a field, so that passing its address to kernels does not allocate
}

const (
	beta1   = 0.9
	beta2   = 0.999
	adamEps = 1e-8
)

// NewAdam returns the optimiser before its first update.
func NewAdam() *Adam { return &Adam{Beta1T: beta1, Beta2T: beta2} }

// Step updates data with clip times the gradient and the moments of p. data is p.Data, or the
// unconstrained parameter that p.Data is computed from.
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

// Next completes an update, after Step for all parameters.
func (a *Adam) Next() {
	a.Beta1T = float64(a.Beta1T * beta1) // rounded explicitly, so that no compiler fuses it with the 1 - Beta1T above
	a.Beta2T = float64(a.Beta2T * beta2)
}

// Adadelta is the optimiser of Zeiler (2012) by PyTorch's definition, with rho 0.9 and eps 1e-6:
//
//	g' = clip g,   v <- rho v + (1-rho) g'^2,   d = sqrt((m + eps)/(v + eps)) g'
//	m <- rho m + (1-rho) d^2,   p <- p - lr d
//
// m and v, the moments of a Param, count as 0 below engine.SecondMomentFloor, so that they never become
// subnormal: that is far below eps.
type Adadelta struct {
	// Of the running call.
	p        *Param
	data     []float32
	lr, clip float32

	share func(w *engine.Worker, lo, hi int) // step, stored because each call would allocate it
}

const (
	rho         = 0.9
	adadeltaEps = 1e-6
)

// Step updates data as that of Adam does.
func (a *Adadelta) Step(e *engine.Engine, p *Param, data []float32, lr, clip float64) {
	if a.share == nil {
		a.share = a.step
	}
	const cost = 3 // of a parameter, about, in elements as Parallel counts them
	a.p, a.data, a.lr, a.clip = p, data, float32(lr), float32(clip)
	e.Parallel(len(data), 0, float64(cost*len(data)), a.share)
	a.p, a.data = nil, nil
}

func (a *Adadelta) step(_ *engine.Worker, lo, hi int) {
	const least = engine.SecondMomentFloor
	data := a.data[lo:hi]
	g, m, v := a.p.Grad[lo:hi][:len(data)], a.p.M[lo:hi][:len(data)], a.p.V[lo:hi][:len(data)]
	for i, x := range data {
		d := float32(a.clip * g[i])
		w := float32(rho*v[i]) + float32(float32((1-rho)*d)*d)
		if w < least {
			w = 0
		}
		v[i] = w
		d *= float32(math.Sqrt(float64((m[i] + adadeltaEps) / (w + adadeltaEps))))
		w = float32(rho*m[i]) + float32(float32((1-rho)*d)*d)
		if w < least {
			w = 0
		}
		m[i] = w
		data[i] = x - float32(a.lr*d)
	}
}

// SGD is stochastic gradient descent with momentum, by PyTorch's definition:
//
//	m <- momentum m + clip g,   p <- p - lr m
//
// momentum m counts as 0 below engine.MomentFloor (2^-100), so that m never becomes subnormal without a
// gradient; that moves a parameter by less than 2^-100 lr / (1 - momentum) in all.
type SGD struct{ Momentum float64 }

// Step updates p.
func (s SGD) Step(e *engine.Engine, p *Param, lr, clip float64) {
	e.Decay(float32(s.Momentum), p.M)
	e.Axpy(float32(clip), p.Grad, p.M)
	e.Axpy(float32(-lr), p.M, p.Data)
}

// Norm returns the Euclidean norm of the gradients of all params together.
func Norm(e *engine.Engine, params []*Param) float64 {
	var sum float64
	for _, p := range params {
		sum += e.SumSquares(p.Grad)
	}
	return math.Sqrt(sum)
}

// NotFinite returns "loss" or "gradient of NAME" if the loss or an element of a gradient is not
// finite, "norm of the gradient" if all are finite but the square of their norm, which is given, is no
// float32 (the squares of Adam are), and "" otherwise.
func NotFinite(loss, norm float64, params []*Param) string {
	if !linalg.IsFinite(loss) {
		return "loss"
	}
	if norm*norm <= math.MaxFloat32 {
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

// Clip returns the factor that reduces a gradient of this norm to limit. A limit of 0 means none.
func Clip(norm, limit float64) float64 {
	if limit > 0 && norm > limit {
		return limit / norm
	}
	return 1
}
