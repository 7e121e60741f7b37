package dpn

import "dpnbench/dpn/layer"

// Cost is what a network takes, counted by layer.CostOf.
type Cost = layer.Cost

// ascent is the potential as a part of a network: so many steps on it, and after them,
// where read is set, its responsibilities.
type ascent struct {
	*Potential
	c     Config
	steps int
	read  bool
}

// Params lists the tensors of the potential.
func (a ascent) Params() []*Param { return a.params() }

// MACs counts the multiply-adds of the dense products (fewer are done where few
// responsibilities are above 0): for a step k d^2 with full or tied precisions, which give
// both the quadratic forms and the gradient, and k d (2 r + 3) with those of rank r; for
// the responsibilities alone k d^2, and k d (r + 2).
func (a ascent) MACs() int {
	step, read := a.K*a.D*a.D, a.K*a.D*a.D
	if r := a.c.rank(); r >= 0 {
		step, read = a.K*a.D*(2*r+3), a.K*a.D*(r+2)
	}
	if !a.read {
		read = 0
	}
	return step*a.steps + read
}

// Cost counts what the model takes for one picture.
func (m *Model) Cost() Cost {
	return layer.CostOf(m.extractor, ascent{m.potential, m.Config, m.Config.Steps, false}, m.head)
}

// Parameters counts the numbers that training may change.
func (m *Model) Parameters() int { return m.Cost().Parameters }

// MACs counts the multiply-adds that the dense products take for one picture.
func (m *Model) MACs() int { return m.Cost().MACs }
