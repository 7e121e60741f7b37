package dpn

import (
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Potential is the learned energy landscape: the log of a mixture of k Gaussians in d
// dimensions with precisions of some form (Forms), and the step size alpha of the ascent
// on it (DESIGN 2.1).
//
// alpha stays positive because training moves an unconstrained number a, alpha =
// softplus(a) = log(1 + e^a).
type Potential struct {
	K, D  int
	mu    *Param // k x d centres
	c     *Param // k log weights
	alpha *Param // step size; its gradient and moments are those of the unconstrained a
	raw   []float32

	form    form
	mixture *engine.Mixture
	tier    engine.Tier // of the engine that packed the precisions of mixture last
	grad    *engine.MixtureGradient
}

// newPotential makes the potential of c in d dimensions, all parameters zero.
func newPotential(c Config, d int) *Potential {
	k := c.Components
	p := &Potential{K: k, D: d,
		mu:    newParam(groupPotential, "denoising_potential.mu", k, d),
		c:     newParam(groupPotential, "denoising_potential.c", k),
		alpha: newParam(groupAlpha, "denoising_potential.alpha"),
		raw:   make([]float32, 1),
	}
	p.form = newForm(c, d)
	p.mixture = p.form.mixture(p.mu.Data, p.c.Data)
	return p
}

// NewPotential makes a potential of features without a network around it: that of the
// settings of c with these centres (k x d), c_i = 0 and the precisions that training begins
// with. Components are as many as there are centres.
func NewPotential(c Config, centres engine.Matrix) (*Potential, error) {
	c.Components = centres.Rows
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := c.checkRank(centres.Cols); err != nil {
		return nil, err
	}
	p := newPotential(c, centres.Cols)
	p.set(c.Alpha, num.NewRand(c.Seed, streamWeights))
	for i := range centres.Rows {
		copy(p.mu.Data[i*p.D:], centres.Row(i))
	}
	return p, nil
}

// params lists all tensors.
func (p *Potential) params() []*Param {
	return append([]*Param{p.alpha, p.c, p.mu}, p.form.params()...)
}

// set gives the potential its first values: those of the form for the precisions, c = 0;
// centres stay as they are.
func (p *Potential) set(alpha float64, r *num.Rand) {
	p.form.start(r)
	clear(p.c.Data)
	p.setAlpha(float32(alpha))
}

func (p *Potential) setAlpha(alpha float32) {
	p.alpha.Data[0] = alpha
	p.raw[0] = softplusInverse(alpha)
}

// changed brings what depends on the parameters up to date.
func (p *Potential) changed(e *engine.Engine) {
	p.form.prepare(e, p.mixture)
	p.tier = e.Tier()
}

// Alpha returns the step size.
func (p *Potential) Alpha() float32 { return p.alpha.Data[0] }

// Precision returns P_i, a symmetric d x d matrix, whatever its form. It costs d^3
// multiply-adds for a full one and r d^2 for one of rank r.
func (p *Potential) Precision(i int) []float64 { return p.form.precision(i) }

// Centres returns the centres, k x d.
func (p *Potential) Centres() engine.Matrix { return engine.View(p.mu.Data, p.K, p.D) }

// softplus returns log(1 + e^a).
func softplus(a float32) float32 {
	if a > 20 { // e^-a is below the rounding of a
		return a
	}
	y := num.Exp32(a)
	if y < small { // 1 + y would lose most of y
		return y * num.FMA32(y, num.FMA32(y, 1./3, -1./2), 1)
	}
	return num.Log32(1 + y)
}

// small is where series begin to be better than the functions whose results cancel.
const small = 1e-2

// softplusInverse returns the a with softplus(a) = alpha > 0.
func softplusInverse(alpha float32) float32 {
	if alpha > 20 {
		return alpha
	}
	if alpha < small {
		return num.FMA32(alpha, num.FMA32(alpha, 1./24, 1./2), num.Log32(alpha))
	}
	return num.Log32(num.Exp32(alpha) - 1)
}

// softplusSlope returns the derivative of softplus at the a with softplus(a) = alpha,
// 1/(1+e^-a) = 1 - e^-alpha.
func softplusSlope(alpha float32) float32 {
	if alpha < small {
		return alpha * num.FMA32(alpha, num.FMA32(alpha, 1./6, -1./2), 1)
	}
	return 1 - num.Exp32(-alpha)
}
