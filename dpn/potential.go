package dpn

import (
	"dpnbench/engine"
)

// Potential is the learned energy landscape: the log of a mixture of k Gaussians in d
// dimensions with precisions P_i = A_i^T A_i (form "full"), and the step size alpha of
// the ascent on it (DESIGN 2.1).
//
// alpha stays positive because training moves an unconstrained number a, alpha =
// softplus(a) = log(1 + e^a).
type Potential struct {
	K, D  int
	mu    *Param // k x d centres
	a     *Param // k x d x d factors
	c     *Param // k log weights
	alpha *Param // step size; its gradient and moments are those of the unconstrained a
	raw   []float32

	mixture *engine.Mixture
	grad    *engine.MixtureGradient
}

func newPotential(k, d int) *Potential {
	p := &Potential{K: k, D: d,
		mu:    newParam("denoising_potential.mu", true, k, d),
		a:     newParam("denoising_potential.A", true, k, d, d),
		c:     newParam("denoising_potential.c", true, k),
		alpha: newParam("denoising_potential.alpha", true),
		raw:   make([]float32, 1),
	}
	p.mixture = engine.NewMixture(k, d, p.mu.Data, p.c.Data)
	return p
}

// set gives the potential its first values: A_i = scale I, c = 0; centres stay as they are.
func (p *Potential) set(scale, alpha float64) {
	clear(p.a.Data)
	for i := range p.K {
		for j := range p.D {
			p.a.Data[(i*p.D+j)*p.D+j] = float32(scale)
		}
	}
	clear(p.c.Data)
	p.setAlpha(float32(alpha))
}

func (p *Potential) setAlpha(alpha float32) {
	p.alpha.Data[0] = alpha
	p.raw[0] = softplusInverse(alpha)
}

// changed brings what depends on the parameters up to date.
func (p *Potential) changed(e *engine.Engine) { e.SetFactors(p.mixture, p.a.Data) }

// Alpha returns the step size.
func (p *Potential) Alpha() float32 { return p.alpha.Data[0] }

// Centres returns the centres, k x d.
func (p *Potential) Centres() engine.Matrix { return engine.View(p.mu.Data, p.K, p.D) }

// softplus returns log(1 + e^a).
func softplus(a float32) float32 {
	if a > 20 { // e^-a is below the rounding of a
		return a
	}
	y := engine.Exp32(a)
	if y < small { // 1 + y would lose most of y
		return y * engine.FMA32(y, engine.FMA32(y, 1./3, -1./2), 1)
	}
	return engine.Log32(1 + y)
}

// small is where series begin to be better than the functions whose results cancel.
const small = 1e-2

// softplusInverse returns the a with softplus(a) = alpha > 0.
func softplusInverse(alpha float32) float32 {
	if alpha > 20 {
		return alpha
	}
	if alpha < small {
		return engine.FMA32(alpha, engine.FMA32(alpha, 1./24, 1./2), engine.Log32(alpha))
	}
	return engine.Log32(engine.Exp32(alpha) - 1)
}

// softplusSlope returns the derivative of softplus at the a with softplus(a) = alpha,
// 1/(1+e^-a) = 1 - e^-alpha.
func softplusSlope(alpha float32) float32 {
	if alpha < small {
		return alpha * engine.FMA32(alpha, engine.FMA32(alpha, 1./6, -1./2), 1)
	}
	return 1 - engine.Exp32(-alpha)
}
