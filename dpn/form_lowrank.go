package dpn

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// lowRankForm is "lowrank", P_i = s0^2 (diag(exp(2 l_i)) + R_i^T R_i), and "diag", without
// R. The exponential keeps it positive definite whatever l and R become. With w_i = s0^2
// exp(2 l_i) and F_i = s0 R_i the gradients are dl = 2 w * dw and dR = s0 dF.
type lowRankForm struct {
	k, d, r int
	scale   float32 // s0
	l       *Param  // k x d
	factor  *Param  // R, k x r x d; nil for "diag"
	w, f    []float32

	kept []*lowRankGaussian // of logDets
}

func newLowRankForm(c Config, d int, l, factor *Param) *lowRankForm {
	f := &lowRankForm{k: c.Components, d: d, scale: float32(c.Scale), l: l, factor: factor, w: make([]float32, len(l.Data))}
	if factor != nil {
		f.r, f.f = c.Rank, make([]float32, len(factor.Data))
	}
	return f
}

func (f *lowRankForm) params() []*Param {
	if f.factor == nil {
		return []*Param{f.l}
	}
	return []*Param{f.l, f.factor}
}

func (f *lowRankForm) own() int { return f.k }

// start sets l to 0 and draws the rows of R with a length of about 1: at R = 0 they would
// have no gradient.
func (f *lowRankForm) start(r *num.Rand) {
	clear(f.l.Data)
	if f.factor != nil {
		r.Normal(f.factor.Data)
		s := 1 / float32(math.Sqrt(float64(f.d)))
		for i := range f.factor.Data {
			f.factor.Data[i] *= s
		}
	}
}

func (f *lowRankForm) mixture(mu, c []float32) *engine.Mixture {
	return engine.NewLowRankMixture(f.k, f.d, f.r, mu, c)
}

func (f *lowRankForm) prepare(e *engine.Engine, m *engine.Mixture) {
	e.Scale(f.w, 2, f.l.Data)
	e.Exp(f.w, f.w)
	e.Scale(f.w, f.scale*f.scale, f.w)
	if f.factor != nil {
		e.Scale(f.f, f.scale, f.factor.Data)
	}
	e.SetLowRank(m, f.w, f.f, 1)
}

func (f *lowRankForm) factors() []float32 { return nil }

func (f *lowRankForm) newGradient() *engine.MixtureGradient {
	return engine.NewLowRankGradient(f.k, f.d, f.r)
}

func (f *lowRankForm) gradient(e *engine.Engine, g *engine.MixtureGradient) {
	e.Multiply(f.l.Grad, f.w, g.W)
	e.Scale(f.l.Grad, 2, f.l.Grad)
	if f.factor != nil {
		e.Scale(f.factor.Grad, f.scale, g.F)
	}
}

func (f *lowRankForm) retract(*engine.Engine) {}

// definite finds weights that have left the range of float32.
func (f *lowRankForm) definite(*engine.Engine) (tensor, problem string) {
	for i, l := range f.l.Data {
		if w := f.scale * f.scale * num.Exp32(2*l); !(w > 0 && w <= math.MaxFloat32) {
			return f.l.Name, fmt.Sprintf("number %d of component %d is %v, whose exponential is no positive float32", i%f.d, i/f.d, l)
		}
	}
	return "", ""
}

func (f *lowRankForm) precision(i int) []float64 {
	d, s := f.d, float64(f.scale)*float64(f.scale)
	p := make([]float64, d*d)
	for row := i * f.r; row < (i+1)*f.r; row++ {
		addOuter(p, s, f.factor.Data[row*d:(row+1)*d])
	}
	for j, l := range f.l.Data[i*d : (i+1)*d] {
		p[j*d+j] += float64(s * float64(num.Exp32(2*l)))
	}
	return p
}

func (f *lowRankForm) gaussian(i int) (gaussian, error) {
	d, s := f.d, float64(f.scale)
	root := make([]float64, d)
	for j, l := range f.l.Data[i*d : (i+1)*d] {
		root[j] = s * math.Sqrt(float64(num.Exp32(2*l)))
	}
	var b []float64
	if f.factor != nil {
		b = linalg.Widen(f.factor.Data[i*f.r*d : (i+1)*f.r*d])
		for j := range b {
			b[j] = s * b[j] / root[j%d]
		}
	}
	return newLowRankGaussian(root, b, 1)
}
