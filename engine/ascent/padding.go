package ascent

// Rows padded to whole vectors, on the dense route of precisions that are matrices: with zeros behind x, mu_i and P_i,
// d = 50 takes the kernels of d = 64. A padded chain of multiply-adds goes on with zeros, which change no bit but the
// sign of a zero, and that is lost in the sums that it goes into. Only where a number is infinite or NaN would zero
// times that be seen: such blocks are computed again without the padding.

import "dpnbench/engine"

// padded is a copy of the parameters with padding, unless d is the number of features of the mixture.
type padded struct {
	d    int
	p    []engine.Packed
	mu   []float32 // K x d
	made bool      // p is that of the precisions as they are
}

// pad makes the copy, of mu at every call.
func (p *dense) pad() {
	c, d := &p.padded, p.m.D
	if c.d == d {
		return
	}
	if !c.made {
		engine.Grow(&c.p, len(p.p))
		for i := range p.p {
			c.p[i].Pad(&p.p[i], c.d)
		}
		c.made = true
	}
	engine.Grow(&c.mu, p.m.K*c.d)
	clear(c.mu)
	for i := range p.m.K {
		copy(c.mu[i*c.d:], p.m.mu(i))
	}
}

// of returns precisions and centres of d features.
func (p *dense) of(d int) ([]engine.Packed, []float32) {
	if d == p.m.D {
		return p.p, p.m.Mu
	}
	return p.padded.p, p.padded.mu
}

// block returns rows with padding, in memory of the worker, or the rows themselves if they need none.
func (p *dense) block(worker *engine.Worker, slot int, x engine.Matrix) engine.Matrix {
	d := p.padded.d
	if d == x.Cols {
		return x
	}
	wide := worker.ScratchRows(slot, x.Rows, d, d)
	clear(wide.Data)
	for b := range x.Rows {
		copy(wide.Row(b), x.Row(b))
	}
	return wide
}

// mostPaddedSum bounds the sums sum_i r_i s_i of a block that is taken back with padding. Below it all t_i are finite:
// an infinite s_i would show in the sum, and s_i - sum cannot overflow.
const mostPaddedSum = 0x1p100

// allBelow reports whether all numbers are finite and below limit in size.
func allBelow(limit float32, numbers []float32) bool {
	for _, x := range numbers {
		if !(x > -limit && x < limit) { // NaN, too
			return false
		}
	}
	return true
}
