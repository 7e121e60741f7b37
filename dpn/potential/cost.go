package potential

// Layer is the potential as a part of a network (layer.CostOf): Steps ascent steps, and after
// them, if Read is set, the responsibilities.
type Layer struct {
	*Potential
	Steps int
	Read  bool
}

// MACs counts the multiply-adds of the dense products (fewer are done if few
// responsibilities are above 0). A step takes k d^2 with full or tied precisions, which give
// both the quadratic forms and the gradient, and k d (2 r + 3) with those of rank r; the
// responsibilities alone take k d^2, and k d (r + 2).
func (l Layer) MACs() int {
	step, read := l.K*l.D*l.D, l.K*l.D*l.D
	if r := l.settings.LowRank(); r >= 0 {
		step, read = l.K*l.D*(2*r+3), l.K*l.D*(r+2)
	}
	if !l.Read {
		read = 0
	}
	return step*l.Steps + read
}
