package dpn

import (
	"fmt"
	"math"

	"dpnbench/engine"

	"gonum.org/v1/gonum/mat"
)

// denseForm is "full", P_i = A_i^T A_i, and "tied", with one A for all components.
type denseForm struct {
	k, d  int
	tied  bool
	scale float32 // of A at first: A = scale I
	a     *Param

	inverse   []float32 // of logDets: all A_i^-1
	inverters []inverter
}

func (f *denseForm) params() []*Param { return []*Param{f.a} }

func (f *denseForm) start(*engine.Rand) {
	clear(f.a.Data)
	for at := 0; at < len(f.a.Data); at += f.d * f.d {
		for j := range f.d {
			f.a.Data[at+j*f.d+j] = f.scale
		}
	}
}

func (f *denseForm) mixture(mu, c []float32) *engine.Mixture {
	if f.tied {
		return engine.NewTiedMixture(f.k, f.d, mu, c)
	}
	return engine.NewMixture(f.k, f.d, mu, c)
}

func (f *denseForm) prepare(e *engine.Engine, m *engine.Mixture) { e.SetFactors(m, f.a.Data) }

func (f *denseForm) factors() []float32 { return f.a.Data }

func (f *denseForm) newGradient() *engine.MixtureGradient {
	g := engine.NewMixtureGradient(f.k, f.d)
	if f.tied {
		g = engine.NewTiedGradient(f.k, f.d)
	}
	f.a.Grad = g.A
	return g
}

func (f *denseForm) gradient(*engine.Engine, *engine.MixtureGradient) {}

func (f *denseForm) retract(*engine.Engine) {}

// definite finds factors that are singular as far as float32 can tell: A^T A is positive
// semidefinite whatever A is.
func (f *denseForm) definite() (tensor, problem string) {
	d := f.d
	for at := 0; at < len(f.a.Data); at += d * d {
		a := mat.NewDense(d, d, nil)
		for i, v := range f.a.Data[at : at+d*d] {
			a.Set(i/d, i%d, float64(v))
		}
		var lu mat.LU
		lu.Factorize(a)
		var u mat.TriDense
		lu.UTo(&u)
		least, most := math.Inf(1), 0.0
		for j := range d {
			v := math.Abs(u.At(j, j))
			least, most = min(least, v), max(most, v)
		}
		if !(least > most*0x1p-24) {
			return f.a.Name, fmt.Sprintf("matrix %d is singular", at/(d*d))
		}
	}
	return "", ""
}

func (f *denseForm) precision(i int) []float64 {
	d := f.d
	if f.tied {
		i = 0
	}
	a := f.a.Data[i*d*d : (i+1)*d*d]
	p := make([]float64, d*d)
	for row := 0; row < len(a); row += d {
		addOuter(p, 1, a[row:row+d])
	}
	return p
}

func (f *denseForm) gaussian(i int) (gaussian, error) {
	return newDenseGaussian(f.precision(i), f.d)
}

// addOuter adds s v v^T to the d x d matrix p. Products of two float32 are exact in
// float64, so the result is symmetric.
func addOuter(p []float64, s float64, v []float32) {
	for i, x := range v {
		if x == 0 { // most of a factor before it learns
			continue
		}
		row := p[i*len(v) : (i+1)*len(v)]
		for j, y := range v {
			row[j] += float64(s * (float64(x) * float64(y)))
		}
	}
}
