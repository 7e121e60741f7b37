package potential

import (
	"context"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// Forms of the precisions P_i of a potential.
const (
	FormFull    = "full"
	FormTied    = "tied"
	FormDiag    = "diag"
	FormLowRank = "lowrank"
	FormFlat    = "flat"
)

// Form describes a form of the precisions. A new form is an entry of forms and a file with
// the methods of the interface form.
type Form struct {
	Name string

	Ranked   bool // it has the setting Rank
	Eps      bool // and the setting Eps
	Dense    bool // the engine computes with d x d matrices
	Shared   bool // by all components
	Scatters bool // EM needs the d x d scatter matrices of the components

	tensors func(k, d, r int) []Tensor
	make    func(c Settings, d int, list []*Param) form
}

// Tensor is the name and shape of a tensor of precisions in a model file.
type Tensor struct {
	Name  string
	Shape []int
}

// forms lists them in the order of help texts.
var forms = []Form{
	{
		Name: FormFull, Dense: true, Scatters: true,
		tensors: func(k, d, r int) []Tensor { return []Tensor{{prefix + "A", []int{k, d, d}}} },
		make:    newDenseForm,
	},
	{
		Name:    FormDiag,
		tensors: func(k, d, r int) []Tensor { return []Tensor{{prefix + "l", []int{k, d}}} },
		make:    newLowRankForm,
	},
	{
		Name: FormLowRank, Ranked: true, Scatters: true,
		tensors: func(k, d, r int) []Tensor {
			return []Tensor{{prefix + "l", []int{k, d}}, {prefix + "R", []int{k, r, d}}}
		},
		make: newLowRankForm,
	},
	{
		Name: FormFlat, Ranked: true, Eps: true,
		tensors: func(k, d, r int) []Tensor { return []Tensor{{prefix + "U", []int{k, r, d}}} },
		make:    newFlatForm,
	},
	{
		Name: FormTied, Dense: true, Shared: true, Scatters: true,
		tensors: func(k, d, r int) []Tensor { return []Tensor{{prefix + "A", []int{d, d}}} },
		make:    newDenseForm,
	},
}

// Forms lists the names of the forms.
func Forms() []string {
	var list []string
	for _, f := range forms {
		list = append(list, f.Name)
	}
	return list
}

// FormOf returns the form of a name, the form full for one that is unknown.
func FormOf(name string) Form {
	for _, f := range forms {
		if f.Name == name {
			return f
		}
	}
	return forms[0]
}

// LowRank returns the rank r up to which precisions are diagonal (0: they are), or -1 for dense
// ones.
func (c Settings) LowRank() int {
	switch f := FormOf(c.Form); {
	case f.Dense:
		return -1
	case f.Ranked:
		return c.Rank
	}
	return 0
}

// Tensors lists the tensors of the precisions in d dimensions.
func (c Settings) Tensors(d int) []Tensor { return FormOf(c.Form).tensors(c.Components, d, c.Rank) }

// newForm makes the precisions that c asks for, all tensors zero.
func newForm(c Settings, d int) form {
	var list []*Param
	for _, t := range c.Tensors(d) {
		list = append(list, newParam(Group, t.Name, t.Shape...))
	}
	return FormOf(c.Form).make(c, d, list)
}

// form holds the precisions of a potential: their parameters, and what is computed from them.
type form interface {
	// params lists the tensors.
	params() []*Param
	// count is the number of distinct P_i: k, or 1 that all components share.
	count() int
	// start gives the tensors their first values.
	start(r *num.Rand)
	// fitClusters derives values from clusters of the rows of x (Potential.FitClusters).
	fitClusters(ctx context.Context, e *engine.Engine, by Division, x engine.Matrix,
		assignment []int32) ([]SmallCluster, error)

	// mixture makes the potential that the engine computes with; prepare brings it up to
	// date with the parameters.
	mixture(mu, c []float32) *ascent.Mixture
	prepare(e *engine.Engine, m *ascent.Mixture)

	// factors are the matrices A that the backward pass needs; nil if it needs none.
	factors() []float32
	// newGradient makes room for the gradient of the engine's parameters. bind lets the
	// gradients of the tensors share its memory, where gradient turns one into the other.
	newGradient() *ascent.Gradient
	bind(g *ascent.Gradient)
	gradient(e *engine.Engine)
	// retract puts the tensors back where they belong after an update.
	retract(e *engine.Engine)
	// definite names a tensor whose precisions are not positive definite, and the problem.
	// Only full and tied precisions need the engine.
	definite(e *engine.Engine) (tensor, problem string)

	// logDets sets v (k) to log |P_i|, not finite if P_i is not positive definite.
	// addLikelihood, called after it, adds to g the gradient of the negative log-likelihood. For
	// diag(w_i) +- F_i^T F_i, call l.addLowRank for the part from phi, then add the part from
	// log |P_i| (flat has none).
	logDets(e *engine.Engine, v []float32)
	addLikelihood(e *engine.Engine, g *ascent.Gradient, l *Likelihood)
	// maximise is the part of the precisions in an M step (Potential.EM), given the means. A
	// component without rows keeps its precision.
	maximise(m *em) error

	// precision returns P_i, d x d. If ctx ends on the way, the result is not complete.
	precision(ctx context.Context, i int) []float64
	// largest returns the largest eigenvalue of P_i, i < count(): exactly if the form has a
	// formula for it (diag, flat), otherwise by lanczos.
	largest(i int) (float64, error)
	// spectrum returns the eigenvalues of P_i, i < count(), largest first, and the diagonal
	// of its inverse: nil if P_i has none to rounding.
	spectrum(ctx context.Context, i int) (values, variances []float64, err error)
	// gaussian makes component i < count() a distribution to draw from.
	gaussian(ctx context.Context, i int) (gaussian, error)
}

// addOuter adds s v v^T to the upper triangle of the d x d matrix p.
func addOuter(p []float64, s float64, v []float32) {
	for i, x := range v {
		if x == 0 { // most of a factor before it learns
			continue
		}
		row := p[i*len(v)+i : (i+1)*len(v)]
		for j, y := range v[i:] {
			row[j] += float64(s * (float64(x) * float64(y)))
		}
	}
}

// mirror copies the upper triangle of the d x d matrix p to the lower one.
func mirror(p []float64, d int) {
	for i := range d {
		for j := range i {
			p[i*d+j] = p[j*d+i]
		}
	}
}
