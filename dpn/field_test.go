package dpn

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/blas/blas64"
)

// randomPotential has centres and weights near 0 and full factors, so that several
// components are responsible at points near 0.
func randomPotential(k, d int, seed uint64) *Potential {
	p := newPotential(completed(Config{Components: k, Scale: 1}), d)
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
	p.setAlpha(0.1)
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
		ev, err := p.Evaluate(ctx, x, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := &reference.Potential{K: c.k, D: c.d, C: linalg.Widen(p.c.Data), Alpha: 0.1,
			Mu: blas64.General{Rows: c.k, Cols: c.d, Stride: c.d, Data: linalg.Widen(p.mu.Data)}}
		var a []blas64.General
		for i := range c.k {
			a = append(a, blas64.General{Rows: c.d, Cols: c.d, Stride: c.d, Data: linalg.Widen(factors(p).Data[i*c.d*c.d : (i+1)*c.d*c.d])})
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
		more, err := p.Evaluate(ctx, x, 3)
		if err != nil || !slices.Equal(more.Gradient, ev.Gradient) || !slices.Equal(more.R, ev.R) || !slices.Equal(more.Phi, ev.Phi) {
			t.Errorf("k %d, d %d: other bits on three threads (%v)", c.k, c.d, err)
		}
	}
}

func TestEvaluateFarAway(t *testing.T) {
	p := randomPotential(3, 2, 1)
	ev, err := p.Evaluate(context.Background(), []float64{1e6, -1e6}, 1)
	if err != nil || ev.Phi[0] > -1e9 || ev.Phi[0]-ev.Phi[0] != 0 || ev.Gradient[0]-ev.Gradient[0] != 0 {
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
			ev, err := p.Evaluate(ctx, around, 1)
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

// rotation is the field g = omega (-y, x), the other dimensions 0, plus the gradient of
// -stretch |x|^2 / 2.
func rotation(d int, omega, stretch float64) VectorField {
	return VectorField{Name: "rotation", Dim: d, Rounding: 0x1p-53, Eval: func(_ context.Context, g, x []float64) error {
		for at := 0; at < len(x); at += d {
			for j := range d {
				g[at+j] = -stretch * x[at+j]
			}
			g[at] -= omega * x[at+1]
			g[at+1] += omega * x[at]
		}
		return nil
	}}
}

// TestRotationClosedForms checks fields whose curl is known.
func TestRotationClosedForms(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-8*(1+want)) {
			t.Errorf("%s is %v, expected %v", what, got, want)
		}
	}
	x := []float64{0.3, -2, 0, 0, 5, 7}
	for _, c := range []struct{ omega, stretch, asymmetry float64 }{
		{1.5, 0, 2}, {-0.25, 0, 2}, {0, 3, 0}, {2, 2, math.Sqrt2}, // |J|^2 = 2 omega^2 + 2 stretch^2, |J - J^T|^2 = 8 omega^2
	} {
		r, err := MeasureRotation(context.Background(), rotation(2, c.omega, c.stretch), x, RotationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		curl := 2 * math.Abs(c.omega)
		near("asymmetry", float64(r.AsymmetryLargest), c.asymmetry)
		near("curl", float64(r.Curl), curl)
		near("curl by loops", float64(r.LoopCurlLargest), curl)
		switch {
		case c.stretch == 0:
			near("circulation", float64(r.Circulation), 1)
		case c.omega == 0:
			near("circulation", float64(r.CirculationLargest), 0)
		}
		if r.Directions != 2 || r.Loops != 1 || r.Points != 3 || len(r.At) != 3 {
			t.Errorf("%d directions, %d loops, %d points, expected 2, 1 and 3", r.Directions, r.Loops, r.Points)
		}
	}
	// In many dimensions random directions see the plane of rotation from aside.
	const d = 40
	r, err := MeasureRotation(context.Background(), rotation(d, 3, 0), randomPoints(5, d, 1), RotationOptions{Directions: 8})
	if err != nil {
		t.Fatal(err)
	}
	near("asymmetry in many dimensions", float64(r.Asymmetry), 2)
	if !(r.Curl > 0.01 && r.Curl < 6) {
		t.Errorf("curl %v within 8 of %d dimensions, expected some of 6", r.Curl, d)
	}
	zero, err := MeasureRotation(context.Background(), rotation(3, 0, 0), []float64{1, 2, 3}, RotationOptions{})
	if err != nil || zero.AsymmetryLargest != 0 || zero.CirculationLargest != 0 {
		t.Errorf("a field of zeros: asymmetry %v, circulation %v, error %v", zero.AsymmetryLargest, zero.CirculationLargest, err)
	}
}

// TestRotationOfFields checks that the ascent field of any potential is symmetric to
// rounding, in float64 and as the engine computes it, and that free fields are not.
func TestRotationOfFields(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	for _, d := range []int{3, 12, 48} {
		c := completed(Config{Extractor: "linear", Dim: d, Components: 4, Steps: 1, Scale: 1, Alpha: 0.1, Batch: 4})
		m := newModel(t, c, digits(t, 10, 10))
		p := randomPotential(4, d, 7)
		for i, q := range []*Param{p.mu, factors(p), p.c} {
			copy([]*Param{m.potential.mu, factors(m.potential), m.potential.c}[i].Data, q.Data)
		}
		x := engine.NewMatrix(60, d)
		num.NewRand(9, 0).Normal(x.Data)
		cmp, err := m.CompareFields(ctx, e, x, FieldOptions{Points: 6, Hidden: 40})
		if err != nil {
			t.Fatal(err)
		}
		exact, engines, free, fitted := cmp.Fields[0], cmp.Fields[1], cmp.Fields[2], cmp.Fields[3]
		if exact.AsymmetryLargest > 1e-8 || exact.CirculationLargest > 1e-8 {
			t.Errorf("d %d: potential in float64: asymmetry %v, circulation %v", d, exact.AsymmetryLargest, exact.CirculationLargest)
		}
		if engines.AsymmetryLargest > 2e-3 || engines.CirculationLargest > 2e-3 {
			t.Errorf("d %d: potential on the engine: asymmetry %v, circulation %v, rounding %v", d, engines.AsymmetryLargest, engines.CirculationLargest, engines.RoundingFloor)
		}
		if free.Asymmetry < 0.3 || free.Circulation < 0.05 {
			t.Errorf("d %d: free network: asymmetry %v, circulation %v", d, free.Asymmetry, free.Circulation)
		}
		if fitted.Asymmetry < 1e-3 || !(cmp.FitR2 > 0.5 && cmp.FitR2 < 1) {
			t.Errorf("d %d: fitted network: asymmetry %v, explains %v", d, fitted.Asymmetry, cmp.FitR2)
		}
		// The mean over the loops is bounded by what the derivatives found.
		if math.Abs(float64(free.LoopCurl)) > float64(free.CurlLargest)*(1+1e-6) {
			t.Errorf("d %d: free network: curl %v by loops, %v by derivatives", d, free.LoopCurl, free.CurlLargest)
		}
		again, err := m.CompareFields(ctx, newEngine(t, engine.WithThreads(1)), x, FieldOptions{Points: 6, Hidden: 40})
		if err != nil {
			t.Fatal(err)
		}
		for i := range cmp.Fields {
			if again.Fields[i].Asymmetry != cmp.Fields[i].Asymmetry || again.Fields[i].LoopCurl != cmp.Fields[i].LoopCurl {
				t.Errorf("d %d: %s: other bits on one thread", d, cmp.Fields[i].Field)
			}
		}
	}
}

// TestFreeFieldJacobian holds the measured rotation against W2 diag(1 - tanh^2) W1.
func TestFreeFieldJacobian(t *testing.T) {
	const d, h = 6, 20
	f, err := NewFreeField(d, h, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := randomPoints(1, d, 2)
	r, err := MeasureRotation(context.Background(), f.Field("free", 1), x, RotationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j := make([]float64, d*d)
	for u := range h {
		v := math.Tanh(linalg.Dot(f.W1[u*d:(u+1)*d], x) + f.B1[u])
		for a := range d {
			linalg.Axpy(f.W2[a*h+u]*(1-v*v), f.W1[u*d:(u+1)*d], j[a*d:(a+1)*d])
		}
	}
	var odd float64
	for a := range d {
		for c := range d {
			odd += math.Pow(j[a*d+c]-j[c*d+a], 2)
		}
	}
	if want := math.Sqrt(odd) / linalg.Norm(j); math.Abs(float64(r.Asymmetry)-want) > 1e-9 || want < 0.3 {
		t.Errorf("asymmetry %v, of the Jacobian %v", r.Asymmetry, want)
	}
	var loops float64 // in the planes (0,1), (2,3), (4,5)
	for a := 0; a < d; a += 2 {
		loops += math.Abs(j[(a+1)*d+a]-j[a*d+a+1]) / 3
	}
	if math.Abs(float64(r.LoopCurl)-loops) > 1e-8 {
		t.Errorf("curl by loops %v, of the Jacobian %v", r.LoopCurl, loops)
	}
}

// TestFreeFieldStream checks that a free field has random numbers of its own: the directions
// in which it is measured come from streams 0, 1 and so on of the same seed, one a point.
func TestFreeFieldStream(t *testing.T) {
	f, err := NewFreeField(1, 8, 1) // weights within 1
	if err != nil {
		t.Fatal(err)
	}
	for point := range uint64(2 * rotationBlock) {
		drawn := make([]float32, len(f.W1))
		num.NewRand(1, point).Uniform(drawn, -1, 1)
		if slices.Equal(f.W1, linalg.Widen(drawn)) {
			t.Errorf("the weights are drawn from the stream of point %d", point)
		}
	}
}

// TestFreeFieldFit recovers a last layer from the field that it makes.
func TestFreeFieldFit(t *testing.T) {
	const d, h, n = 3, 8, 200
	ctx := context.Background()
	f, err := NewFreeField(d, h, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, g := randomPoints(n, d, 3), make([]float64, n*d)
	if err := f.Field("truth", 2).Eval(ctx, g, x); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(f.W2)
	clear(f.W2)
	r2, err := f.Fit(ctx, x, g, 1e-13, 2)
	if err != nil || !(r2 > 1-1e-9) {
		t.Fatalf("explains %v, error %v", r2, err)
	}
	for i, w := range want {
		if math.Abs(f.W2[i]-w) > 1e-4 {
			t.Errorf("weight %d is %v, was %v", i, f.W2[i], w)
		}
	}
}

func TestFieldsRefuse(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	ended, stop := context.WithCancel(ctx)
	stop()
	p := randomPotential(2, 3, 1)
	m := newModel(t, tiny(), digits(t, 40, 10))
	f, err := NewFreeField(3, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	ok := []float64{1, 2, 3}
	for name, call := range map[string]func() error{
		"evaluate shape":     func() error { _, err := p.Evaluate(ctx, ok[:2], 1); return err },
		"evaluate cancelled": func() error { _, err := p.Evaluate(ended, ok, 1); return err },
		"hessian shape":      func() error { _, err := p.Hessian(ctx, append(ok, ok...), 1); return err },
		"hessian cancelled":  func() error { _, err := p.Hessian(ended, ok, 1); return err },
		"no points":          func() error { _, err := MeasureRotation(ctx, p.Field(1), nil, RotationOptions{}); return err },
		"half a point":       func() error { _, err := MeasureRotation(ctx, p.Field(1), ok[:2], RotationOptions{}); return err },
		"negative loops":     func() error { _, err := MeasureRotation(ctx, p.Field(1), ok, RotationOptions{Loops: -1}); return err },
		"point not finite": func() error {
			_, err := MeasureRotation(ctx, p.Field(1), []float64{1, math.NaN(), 2}, RotationOptions{})
			return err
		},
		"rotation cancelled":  func() error { _, err := MeasureRotation(ended, p.Field(1), ok, RotationOptions{}); return err },
		"free field of 0":     func() error { _, err := NewFreeField(0, 3, 1); return err },
		"free field too big":  func() error { _, err := NewFreeField(1<<20, 1<<20, 1); return err },
		"fit to one point":    func() error { _, err := f.Fit(ctx, ok, ok, 1, 1); return err },
		"fit without a ridge": func() error { _, err := f.Fit(ctx, append(ok, ok...), append(ok, ok...), 0, 1); return err },
		"compare other width": func() error { _, err := m.CompareFields(ctx, e, engine.NewMatrix(4, 3), FieldOptions{}); return err },
		"compare nowhere": func() error {
			_, err := m.CompareFields(ctx, e, engine.NewMatrix(4, 16), FieldOptions{Points: -1})
			return err
		},
		"compare cancelled": func() error { _, err := m.CompareFields(ended, e, engine.NewMatrix(4, 16), FieldOptions{}); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
