package reference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// lowProblem is a problem with precisions diag(w_i) + sign F_i^T F_i.
type lowProblem struct {
	*problem
	low *LowRank
}

func newLowProblem(k, d, r, rows, steps int, sign float64) *lowProblem {
	p := &lowProblem{problem: newProblem(k, d, rows, steps, 7), low: &LowRank{W: New(k, d), F: New(k*r, d), S: sign}}
	random := rand.New(rand.NewPCG(11, 0))
	for i := range p.low.W.Data {
		p.low.W.Data[i] = 0.5 + random.Float64()
	}
	for i := range p.low.F.Data {
		p.low.F.Data[i] = 0.5 * random.NormFloat64() / math.Sqrt(float64(d)*float64(r))
	}
	return p
}

func (p *lowProblem) potential() *Potential {
	return &Potential{K: p.k, D: p.d, C: p.c, Mu: p.mu, P: p.low.Precisions(), Alpha: p.alpha}
}

func (p *lowProblem) path() []blas64.General { return p.potential().Ascend(p.x, p.steps) }

func (p *lowProblem) loss() float64 {
	var l float64
	for i, v := range p.path()[p.steps].Data {
		e := v - p.target.Data[i]
		l += e * e / 2
	}
	return l
}

var lowProblems = []struct {
	k, d, r, rows, steps int
	sign                 float64
}{
	{1, 1, 1, 1, 1, 1}, {2, 3, 0, 2, 3, 1}, {3, 5, 2, 3, 2, 1},
	{3, 5, 2, 3, 4, -1}, {4, 6, 3, 2, 10, 1}, {4, 4, 4, 2, 6, -1},
}

// TestLowRankGradients compares the gradients of low-rank precisions with central differences, and
// with those of the same precisions as full matrices.
func TestLowRankGradients(t *testing.T) {
	for _, s := range lowProblems {
		name := fmt.Sprintf("k%d,d%d,r%d,rows%d,steps%d,sign%v", s.k, s.d, s.r, s.rows, s.steps, s.sign)
		t.Run(name, func(t *testing.T) {
			p := newLowProblem(s.k, s.d, s.r, s.rows, s.steps, s.sign)
			pot, path := p.potential(), p.path()
			v := New(p.rows, p.d)
			for i := range v.Data {
				v.Data[i] = path[p.steps].Data[i] - p.target.Data[i]
			}
			g, full := pot.BackwardLowRank(p.low, path, v), pot.Backward(path, v)
			dw, df := p.low.Gradient(full.P.V)
			alpha := []float64{p.alpha}
			for _, c := range []struct {
				name       string
				param      []float64
				got, whole []float64
				bound      []float64
			}{
				{"x", p.x.Data, g.V.V, full.V.V, g.V.E},
				{"mu", p.mu.Data, g.Mu.V, full.Mu.V, g.Mu.E},
				{"c", p.c, g.C.V, full.C.V, g.C.E},
				{"w", p.low.W.Data, g.W.V, dw, g.W.E},
				{"F", p.low.F.Data, g.F.V, df, g.F.E},
				{"alpha", alpha, g.Alpha.V, full.Alpha.V, g.Alpha.E},
			} {
				largest := 0.0
				for _, v := range c.got {
					largest = max(largest, math.Abs(v))
				}
				for i := range c.got {
					if !(math.Abs(c.got[i]-c.whole[i]) <= 1e-11*largest) {
						t.Errorf("%s[%d]: gradient %.15g, with the precisions in full %.15g", c.name, i, c.got[i],
							c.whole[i])
					}
					if !(c.bound[i] > 0) {
						t.Errorf("%s[%d]: bound %g", c.name, i, c.bound[i])
					}
					const h = 1e-5
					old := c.param[i]
					loss := func(v float64) float64 {
						c.param[i] = v
						p.alpha = alpha[0]
						return p.loss()
					}
					want := (loss(old+h) - loss(old-h)) / (2 * h)
					loss(old)
					if !(math.Abs(c.got[i]-want) <= 1e-6*(math.Abs(want)+1e-2*largest)) {
						t.Errorf("%s[%d]: gradient %.12g, central difference %.12g", c.name, i, c.got[i], want)
					}
				}
			}
		})
	}
}

// TestLowRankEvaluation compares potential, responsibilities and gradient with those of the same
// precisions as full matrices.
func TestLowRankEvaluation(t *testing.T) {
	for _, s := range lowProblems {
		p := newLowProblem(s.k, s.d, s.r, s.rows, s.steps, s.sign)
		pot := p.potential()
		for b := range p.rows {
			x := p.x.Data[b*p.d : (b+1)*p.d]
			low, full := pot.AtLowRank(p.low, x), pot.At(x)
			for _, c := range [][2][]float64{
				{low.Q.V, full.Q.V}, {low.R.V, full.R.V}, {low.Phi.V, full.Phi.V}, {low.Grad.V, full.Grad.V},
			} {
				for i, v := range c[0] {
					if !(math.Abs(v-c[1][i]) <= 1e-12*(1+math.Abs(v))) {
						t.Errorf("%+v: %v, in full %v", s, v, c[1][i])
					}
				}
			}
		}
	}
}
