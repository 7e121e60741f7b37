package dpn

import (
	"fmt"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// denseForm is "full", P_i = A_i^T A_i, and "tied", with one A for all components.
type denseForm struct {
	k, d  int
	tied  bool
	scale float32 // of A at first: A = scale I
	a     *Param

	inverse   []float32  // of logDets: all A_i^-1
	inverters []inverter // of the threads
}

func (f *denseForm) params() []*Param { return []*Param{f.a} }

func (f *denseForm) own() int {
	if f.tied {
		return 1
	}
	return f.k
}

func (f *denseForm) start(*num.Rand) {
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
func (f *denseForm) definite(e *engine.Engine) (tensor, problem string) {
	n := f.d * f.d
	singular := make([]bool, f.own())
	f.each(e, func(on multiplier, with *inverter, i int) {
		singular[i] = with.singular(on, engine.View(f.a.Data[i*n:(i+1)*n], f.d, f.d))
	})
	if i := slices.Index(singular, true); i >= 0 {
		return f.a.Name, fmt.Sprintf("matrix %d is singular", i)
	}
	return "", ""
}

// each calls do for every A_i, on several threads or with an engine of several.
func (f *denseForm) each(e *engine.Engine, do func(on multiplier, with *inverter, i int)) {
	n, many := f.d*f.d, f.own()
	if f.inverters == nil {
		f.inverters = make([]inverter, min(e.Threads(), many))
	}
	if many < e.Threads() { // they share each matrix
		for i := range many {
			do(e, &f.inverters[0], i)
		}
		return
	}
	shares := len(f.inverters)
	e.Parallel(shares, 2*float64(many*n*f.d), float64(10*many*n), func(w *engine.Worker, lo, hi int) {
		for s := lo; s < hi; s++ {
			for i := many * s / shares; i < many*(s+1)/shares; i++ {
				do(w, &f.inverters[s], i)
			}
		}
	})
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
