package dpn

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Forms of the precisions P_i of a potential (DESIGN 2.4), with the tensors of a model file
// that hold them (after "denoising_potential."). s0 is Config.Scale, eps Config.Eps, r
// Config.Rank.
const (
	FormFull    = "full"    // A_i^T A_i: A, k x d x d
	FormTied    = "tied"    // A^T A, the same for all components: A, d x d
	FormDiag    = "diag"    // s0^2 diag(exp(2 l_i)): l, k x d
	FormLowRank = "lowrank" // s0^2 (diag(exp(2 l_i)) + R_i^T R_i): l, k x d, and R, k x r x d
	FormFlat    = "flat"    // s0^2 (I - (1-eps) U_i^T U_i), orthonormal rows U_i: U, k x r x d
)

// Forms lists the forms of precisions.
func Forms() []string { return []string{FormFull, FormDiag, FormLowRank, FormFlat, FormTied} }

// form holds the precisions of a potential: their parameters, and what becomes of them.
type form interface {
	// params lists the tensors.
	params() []*Param
	// own is how many P_i there are: 1 that all k components share, or k.
	own() int
	// start gives them their first values.
	start(r *num.Rand)
	// maximise is their part of an M step (Potential.EM), given the means.
	maximise(m *em) error
	// mixture makes the potential that the engine computes with.
	mixture(mu, c []float32) *engine.Mixture
	// prepare brings it up to date with the parameters.
	prepare(e *engine.Engine, m *engine.Mixture)
	// factors are the matrices A that the backward pass asks for, if it does.
	factors() []float32
	// newGradient makes room for the gradient of the engine's parameters, and gradient
	// turns it into those of the tensors.
	newGradient() *engine.MixtureGradient
	gradient(e *engine.Engine, g *engine.MixtureGradient)
	// logDets sets v (k) to log |P_i|, not finite where P_i is not positive definite, and
	// addLikelihood, after it, adds to g the gradient of the negative log-likelihood.
	logDets(e *engine.Engine, v []float32)
	addLikelihood(e *engine.Engine, g *engine.MixtureGradient, l *likelihood)
	// retract puts the tensors back where they belong after an update.
	retract(e *engine.Engine)
	// definite says which tensor has left the positive definite precisions, and how. Only
	// full and tied precisions need the engine.
	definite(e *engine.Engine) (tensor, problem string)
	// largest returns the largest eigenvalue of P_i, i < own(): exactly where the form says
	// what it is (diag, flat), otherwise by lanczos.
	largest(i int) (float64, error)
	// precision returns P_i, d x d.
	precision(i int) []float64
	// gaussian makes component i < own() something to draw from.
	gaussian(i int) (gaussian, error)
}

// precisionTensor is the name and shape of a tensor of precisions.
type precisionTensor struct {
	name  string
	shape []int
}

// precisionTensors lists the tensors of a form of precisions.
func precisionTensors(c Config, d int) []precisionTensor {
	k, r := c.Components, c.Rank
	const prefix = "denoising_potential."
	switch c.Form {
	case FormTied:
		return []precisionTensor{{prefix + "A", []int{d, d}}}
	case FormDiag:
		return []precisionTensor{{prefix + "l", []int{k, d}}}
	case FormLowRank:
		return []precisionTensor{{prefix + "l", []int{k, d}}, {prefix + "R", []int{k, r, d}}}
	case FormFlat:
		return []precisionTensor{{prefix + "U", []int{k, r, d}}}
	}
	return []precisionTensor{{prefix + "A", []int{k, d, d}}}
}

// newForm makes the precisions that c asks for, all tensors zero.
func newForm(c Config, d int) form {
	var list []*Param
	for _, t := range precisionTensors(c, d) {
		list = append(list, newParam(groupPotential, t.name, t.shape...))
	}
	switch c.Form {
	case FormDiag:
		return newLowRankForm(c, d, list[0], nil)
	case FormLowRank:
		return newLowRankForm(c, d, list[0], list[1])
	case FormFlat:
		return newFlatForm(c, d, list[0])
	}
	return &denseForm{k: c.Components, d: d, tied: c.Form == FormTied, scale: float32(c.Scale), a: list[0]}
}

// NotDefiniteError says that training stopped because precisions were no longer positive
// definite: there the potential would have no top to climb to.
type NotDefiniteError struct {
	Epoch   int    // from 1
	Tensor  string // name in a model file
	Problem string
}

func (e *NotDefiniteError) Error() string {
	return fmt.Sprintf("epoch %d: the precisions are no longer positive definite: tensor %q: %s; try a lower potential-lr", e.Epoch, e.Tensor, e.Problem)
}

// checkDefinite returns a *NotDefiniteError unless all precisions are positive definite.
func (p *Potential) checkDefinite(e *engine.Engine, epoch int) error {
	if tensor, problem := p.form.definite(e); problem != "" {
		return &NotDefiniteError{Epoch: epoch, Tensor: tensor, Problem: problem}
	}
	return nil
}
