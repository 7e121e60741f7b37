package potential

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/engine/reference"
	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/blas/blas64"
)

// randomPotential has centres and weights near 0 and full factors, so that several
// components are responsible at points near 0.
func randomPotential(k, d int, seed uint64) *Potential {
	p := New(Settings{Form: FormFull, Components: k, Scale: 1}, d)
	r := num.NewRand(seed, 0)
	r.Normal(p.mu.Data)
	r.Normal(p.c.Data)
	r.Normal(factors(p).Data)
	for i := range factors(p).Data {
		factors(p).Data[i] *= float32(0.5 / math.Sqrt(float64(d)))
	}
	for i := range p.mu.Data {
		p.mu.Data[i] *= float32(2 / math.Sqrt(float64(d)))
	}
	for i := range k * d {
		factors(p).Data[i*d+i%d] += 0.5
	}
	p.SetAlpha(0.1)
	return p
}

// factors returns the A of a potential of the form full.
func factors(p *Potential) *Param { return p.form.(*denseForm).a }

// randomPoints returns n points of d standard normal numbers.
func randomPoints(n, d int, seed uint64) []float64 {
	x := make([]float32, n*d)
	num.NewRand(seed, 1).Normal(x)
	return linalg.Widen(x)
}

func TestEvaluateAgainstReference(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ k, d, n int }{{1, 1, 1}, {3, 5, 4}, {7, 4, 19}, {4, 33, 9}} {
		p := randomPotential(c.k, c.d, 1)
		x := randomPoints(c.n, c.d, 2)
		ev, err := p.Evaluate64(ctx, x, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := &reference.Potential{K: c.k, D: c.d, C: linalg.Widen(p.c.Data), Alpha: 0.1,
			Mu: blas64.General{Rows: c.k, Cols: c.d, Stride: c.d, Data: linalg.Widen(p.mu.Data)}}
		var a []blas64.General
		for i := range c.k {
			a = append(a, blas64.General{
				Rows:   c.d,
				Cols:   c.d,
				Stride: c.d,
				Data:   linalg.Widen(factors(p).Data[i*c.d*c.d : (i+1)*c.d*c.d]),
			})
		}
		want.P = reference.Factors(a)
		near := func(what string, got, want []float64) {
			for j := range want {
				if !(math.Abs(got[j]-want[j]) <= 1e-13*(1+math.Abs(want[j]))) {
					t.Errorf("k %d, d %d: %s %d is %v, expected %v", c.k, c.d, what, j, got[j], want[j])
				}
			}
		}
		for b := range c.n {
			w := want.At(x[b*c.d : (b+1)*c.d])
			near("phi", ev.Phi[b:b+1], w.Phi.V)
			near("r", ev.R[b*c.k:(b+1)*c.k], w.R.V)
			near("gradient", ev.Gradient[b*c.d:(b+1)*c.d], w.Grad.V)
		}
		more, err := p.Evaluate64(ctx, x, 3)
		if err != nil || !slices.Equal(more.Gradient, ev.Gradient) || !slices.Equal(more.R, ev.R) ||
			!slices.Equal(more.Phi, ev.Phi) {
			t.Errorf("k %d, d %d: other bits on three threads (%v)", c.k, c.d, err)
		}
	}
}

func TestEvaluateFarAway(t *testing.T) {
	p := randomPotential(3, 2, 1)
	ev, err := p.Evaluate64(context.Background(), []float64{1e6, -1e6}, 1)
	if err != nil || !(ev.Phi[0] <= -1e9) || ev.Phi[0]-ev.Phi[0] != 0 || ev.Gradient[0]-ev.Gradient[0] != 0 {
		t.Errorf("phi %v, gradient %v, error %v: expected finite numbers", ev.Phi, ev.Gradient, err)
	}
}

// TestHessian holds H against central differences of the gradient, and against -P of a
// single component.
func TestHessian(t *testing.T) {
	ctx := context.Background()
	const step = 1e-4
	for _, c := range []struct{ k, d int }{{1, 3}, {2, 1}, {3, 5}, {6, 9}} {
		p := randomPotential(c.k, c.d, 3)
		x := randomPoints(1, c.d, 4)
		h, err := p.Hessian(ctx, x, 2)
		if err != nil {
			t.Fatal(err)
		}
		size := linalg.Norm(h)
		for j := range c.d {
			around := make([]float64, 0, 2*c.d)
			for _, s := range []float64{step, -step} {
				at := slices.Clone(x)
				at[j] += s
				around = append(around, at...)
			}
			ev, err := p.Evaluate64(ctx, around, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.d {
				diff := (ev.Gradient[i] - ev.Gradient[c.d+i]) / (2 * step)
				if !(math.Abs(h[i*c.d+j]-diff) <= 1e-7*size) {
					t.Errorf("k %d, d %d: H[%d][%d] is %v, central difference %v", c.k, c.d, i, j, h[i*c.d+j], diff)
				}
				if h[i*c.d+j] != h[j*c.d+i] {
					t.Errorf("k %d, d %d: H[%d][%d] is not H[%d][%d]", c.k, c.d, i, j, j, i)
				}
			}
		}
		if c.k == 1 {
			for i, v := range p.Precision(0) {
				if !(math.Abs(h[i]+v) <= 1e-14*size) {
					t.Errorf("one component: H is %v at %d, expected -P = %v", h[i], i, -v)
				}
			}
		}
	}
}

// TestEvaluateRefuses checks what the potential in float64 does not take.
func TestEvaluateRefuses(t *testing.T) {
	ctx := context.Background()
	ended, stop := context.WithCancel(ctx)
	stop()
	p := randomPotential(2, 3, 1)
	ok := randomPoints(2, 3, 2)
	for name, do := range map[string]func() error{
		"half a point":      func() error { _, err := p.Evaluate64(ctx, ok[:2], 1); return err },
		"cancelled":         func() error { _, err := p.Evaluate64(ended, ok, 1); return err },
		"Hessian of two":    func() error { _, err := p.Hessian(ctx, ok, 1); return err },
		"Hessian cancelled": func() error { _, err := p.Hessian(ended, ok[:3], 1); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
