package potential

import (
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// A training step calls Forward, Backward, the losses of density.go if there are any,
// Gradients, then an optimiser that moves Unconstrained of every tensor, and Updated.

// PrepareGradient makes room for the gradient of all parameters.
func (p *Potential) PrepareGradient() {
	p.grad = p.form.newGradient()
	p.form.bind(p.grad)
	p.mu.Grad, p.c.Grad = p.grad.Mu, p.grad.C
}

// Forward moves the rows of x uphill by the given number of steps and records in tr what Backward needs.
func (p *Potential) Forward(e *engine.Engine, x engine.Matrix, steps int, tr *ascent.Trajectory) {
	p.Mixture(e).Ascend(e, p.Alpha(), steps, x, tr, true)
}

// Backward takes v = dL/dx_n through the recorded steps. It sets v to dL/dx_0 and the gradient
// of the engine's parameters.
func (p *Potential) Backward(e *engine.Engine, tr *ascent.Trajectory, v engine.Matrix) {
	if p.grad == nil {
		panic("potential: Backward: no gradient, expected a call of PrepareGradient before")
	}
	p.mixture.Backward(e, p.Alpha(), p.form.factors(), tr, v, p.grad)
}

// BackwardRows and Sums are Backward in two parts, for precisions that are matrices (Form.Dense): BackwardRows sets v
// to dL/dx_0, and Sums the gradient by the rows [lo, hi) alone, as often as there are pieces of the rows.
func (p *Potential) BackwardRows(e *engine.Engine, tr *ascent.Trajectory, v engine.Matrix) {
	p.mixture.BackwardRows(e, p.Alpha(), tr, v)
}

// Sums is the second part of BackwardRows.
func (p *Potential) Sums(e *engine.Engine, tr *ascent.Trajectory, lo, hi int) {
	p.mixture.Sums(e, p.Alpha(), p.form.factors(), tr, lo, hi, p.grad)
}

// CanSumPieces reports whether SumPieces can be called, and is as quick as Sums for each piece.
func (p *Potential) CanSumPieces(e *engine.Engine) bool { return p.mixture.CanSumPieces(e) }

// SumPieces sets the gradient of the tensors to the sum of what Sums, and then Gradients, give for each piece, by the
// tree of num.TreeStep. A piece has the rows from one of cuts to the next.
func (p *Potential) SumPieces(e *engine.Engine, tr *ascent.Trajectory, cuts []int) {
	p.mixture.SumPieces(e, p.Alpha(), p.form.factors(), tr, cuts, p.grad)
	slope := softplusSlope(p.Alpha())
	for i := range p.grad.Alphas {
		p.grad.Alphas[i] *= slope
	}
	p.alpha.Grad[0] = num.TreeSum(p.grad.Alphas)
}

// Gradients turns the gradient of the engine's parameters into those of the tensors, in place: call it once after
// Backward, or Sums, and the losses.
func (p *Potential) Gradients(e *engine.Engine) {
	p.form.gradient(e)
	p.alpha.Grad[0] = p.grad.Alpha * softplusSlope(p.Alpha())
}

// Unconstrained returns the numbers that an optimiser moves for the tensor q: its own, and
// alphaRaw for alpha.
func (p *Potential) Unconstrained(q *Param) []float32 {
	if q == p.alpha {
		return p.alphaRaw
	}
	return q.Data
}

// Updated must be called after an optimiser has moved the parameters: it puts alpha and the
// precisions back where they belong.
func (p *Potential) Updated(e *engine.Engine) {
	p.alpha.Data[0] = softplus(p.alphaRaw[0])
	p.form.retract(e)
	p.stale = true
}
