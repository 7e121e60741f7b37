package reference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// problem is a small network with a potential. The loss is half the randomly weighted squared
// distance of x_n to a target.
type problem struct {
	k, d, rows, steps int
	mu                blas64.General
	c                 []float64
	a                 []blas64.General
	alpha             float64
	x, target         blas64.General
}

func newProblem(k, d, rows, steps int, seed uint64) *problem {
	r := rand.New(rand.NewPCG(seed, 0))
	normal := func(rows, cols int, s float64) blas64.General {
		m := New(rows, cols)
		for i := range m.Data {
			m.Data[i] = s * r.NormFloat64()
		}
		return m
	}
	p := &problem{k: k, d: d, rows: rows, steps: steps, alpha: 0.15,
		mu: normal(k, d, 1), x: normal(rows, d, 1.5), target: normal(rows, d, 1)}
	for range k {
		p.c = append(p.c, 0.5*r.NormFloat64())
		a := normal(d, d, 0.4/math.Sqrt(float64(d)))
		for i := range d {
			a.Data[i*a.Stride+i] += 0.8
		}
		p.a = append(p.a, a)
	}
	return p
}

func (p *problem) potential() *Potential {
	return &Potential{K: p.k, D: p.d, C: p.c, Mu: p.mu, P: Factors(p.a), Alpha: p.alpha}
}

func (p *problem) loss() float64 {
	path := p.potential().Ascend(p.x, p.steps)
	var l float64
	for i, v := range path[p.steps].Data {
		e := v - p.target.Data[i]
		l += e * e / 2
	}
	return l
}

// TestGradients compares every gradient with central differences.
func TestGradients(t *testing.T) {
	for _, s := range [][4]int{{1, 1, 1, 1}, {1, 3, 2, 4}, {3, 1, 2, 3}, {4, 5, 3, 1}, {3, 4, 5, 6}, {5, 6, 2, 10}} {
		t.Run(fmt.Sprintf("k%d,d%d,rows%d,steps%d", s[0], s[1], s[2], s[3]), func(t *testing.T) {
			p := newProblem(s[0], s[1], s[2], s[3], 7)
			pot := p.potential()
			path := pot.Ascend(p.x, p.steps)
			v := New(p.rows, p.d)
			for i := range v.Data {
				v.Data[i] = path[p.steps].Data[i] - p.target.Data[i]
			}
			g := pot.Backward(path, v)
			da := FactorGradient(p.a, g.P)
			check := func(name string, param *float64, got float64, scale float64) {
				t.Helper()
				h := 1e-5
				old := *param
				*param = old + h
				up := p.loss()
				*param = old - h
				down := p.loss()
				*param = old
				want := (up - down) / (2 * h)
				if !(math.Abs(got-want) <= 1e-6*(math.Abs(want)+1e-2*scale)) {
					t.Errorf("%s: gradient %.12g, central difference %.12g", name, got, want)
				}
			}
			largest := func(x []float64) float64 {
				m := 0.0
				for _, v := range x {
					m = max(m, math.Abs(v))
				}
				return m
			}
			for i := range p.x.Data {
				check(fmt.Sprintf("x[%d]", i), &p.x.Data[i], g.V.V[i], largest(g.V.V))
			}
			for i := range p.mu.Data {
				check(fmt.Sprintf("mu[%d]", i), &p.mu.Data[i], g.Mu.V[i], largest(g.Mu.V))
			}
			for i := range p.c {
				check(fmt.Sprintf("c[%d]", i), &p.c[i], g.C.V[i], largest(g.C.V))
			}
			for i := range p.a {
				for j := range p.a[i].Data {
					check(fmt.Sprintf("A[%d][%d]", i, j), &p.a[i].Data[j], da.V[i*p.d*p.d+j], largest(da.V))
				}
			}
			check("alpha", &p.alpha, g.Alpha.V[0], math.Abs(g.Alpha.V[0]))
		})
	}
}

// TestOneComponent compares with the closed form: with one component and P = s^2 I, each step
// multiplies the distance to the centre by 1 - alpha s^2.
func TestOneComponent(t *testing.T) {
	p := newProblem(1, 4, 3, 7, 3)
	const s = 0.9
	p.a[0] = New(4, 4)
	for i := range 4 {
		p.a[0].Data[i*4+i] = s
	}
	path := p.potential().Ascend(p.x, p.steps)
	shrink := math.Pow(1-p.alpha*s*s, float64(p.steps))
	for b := range p.rows {
		for j := range p.d {
			want := p.mu.Data[j] + shrink*(p.x.Data[b*p.d+j]-p.mu.Data[j])
			if got := path[p.steps].Data[b*p.d+j]; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("row %d, column %d: %g, want %g", b, j, got, want)
			}
		}
	}
}

// TestPotentialRises checks that no step with a stable step size decreases the potential.
func TestPotentialRises(t *testing.T) {
	p := newProblem(5, 6, 20, 40, 11)
	p.alpha = 0.05
	pot := p.potential()
	path := pot.Ascend(p.x, p.steps)
	for b := range p.rows {
		last := math.Inf(-1)
		for s := range path {
			phi := pot.At(path[s].Data[b*p.d : (b+1)*p.d]).Phi.V[0]
			if phi < last {
				t.Fatalf("row %d: the potential falls from %g to %g at step %d", b, last, phi, s)
			}
			last = phi
		}
	}
}

// TestPermutations checks that the loss does not depend on the order of components.
func TestPermutations(t *testing.T) {
	p := newProblem(3, 4, 2, 5, 5)
	want := p.loss()
	p.a[0], p.a[2] = p.a[2], p.a[0]
	p.c[0], p.c[2] = p.c[2], p.c[0]
	for j := range p.d {
		p.mu.Data[j], p.mu.Data[2*p.d+j] = p.mu.Data[2*p.d+j], p.mu.Data[j]
	}
	if got := p.loss(); !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("loss %g after a permutation of components, want %g", got, want)
	}
}
