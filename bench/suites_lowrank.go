package bench

import (
	"math"

	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// lowLandscape is a mixture with precisions diag(w_i) + F_i^T F_i of rank r, so shallow that
// no responsibility is 0 and no product is left out.
type lowLandscape struct {
	k, d, r     int
	mu, c, w, f []float32
	alpha       float32
}

func newLowLandscape(k, d, r int) *lowLandscape {
	l := &lowLandscape{k: k, d: d, r: r, mu: normal(11, k, d).Data, c: normal(12, 1, k).Data,
		w: make([]float32, k*d), f: normal(13, k*r, d).Data, alpha: 0.5}
	num.NewRand(1, 14).Uniform(l.w, 0.005, 0.015)
	for i := range l.f {
		l.f[i] *= 0.03 / float32(math.Sqrt(float64(d)))
	}
	return l
}

func (l *lowLandscape) mixture(e *engine.Engine) *ascent.Mixture {
	m := ascent.NewLowRankMixture(l.k, l.d, l.r, l.mu, l.c)
	m.SetLowRank(e, l.w, l.f, 1)
	return m
}

func (l *lowLandscape) oracle() (*reference.Potential, *reference.LowRank) {
	return &reference.Potential{K: l.k, D: l.d, C: reference.Vector(l.c), Alpha: float64(l.alpha),
			Mu: reference.FromFloat32(l.mu, l.k, l.d, l.d, 1)},
		&reference.LowRank{W: reference.FromFloat32(l.w, l.k, l.d, l.d, 1),
			F: reference.FromFloat32(l.f, l.k*l.r, l.d, l.d, 1), S: 1}
}

// lowRankFlop counts the products of n steps, forward or also back, on precisions that are
// diagonal up to rank r.
func lowRankFlop(d, k, r, n, batch int, back bool) float64 {
	rows := 2*r + 2 // of d numbers a component
	if back {
		rows += 4*r + 9
	}
	return 2 * float64(rows) * float64(d) * float64(k) * float64(n) * float64(batch)
}

// lowRankShape are the sizes of an ascent on precisions of low rank.
type lowRankShape struct{ d, k, r, n, batch int }

// lowRankOf is lowRank on a potential of the sizes of a preset that takes pixels.
func lowRankOf(suite, name, preset string) benchmark {
	c, err := dpn.Preset(preset)
	if err != nil {
		panic(err) // a name from the list
	}
	return lowRank(Usual, suite, name, lowRankShape{28 * 28, c.Components, c.Rank, c.Steps, sparseBatch})
}

// lowRank is an ascent on precisions of low rank, and its backward pass in suite backward.
func lowRank(x Extent, suite, name string, s lowRankShape) benchmark {
	back := suite == "backward"
	k, d, r, batch := float64(s.k), float64(s.d), float64(s.r), float64(s.batch)
	return benchmark{
		suite: suite, name: name, extent: x, params: params("d", s.d, "k", s.k, "r", s.r, "n", s.n, "batch", s.batch),
		flop: lowRankFlop(s.d, s.k, s.r, s.n, s.batch, back), bytes: 4 * (k*d*(2*r+3) + 2*batch*d), items: batch,
		setup: func() (setupFunc, error) { return newLowRankCase(s, back).on, nil },
	}
}

// lowRankCase makes n ascent steps and, if back is set, their backward pass.
type lowRankCase struct {
	lowRankShape
	back            bool
	landscape       *lowLandscape
	first, upstream engine.Matrix
	oracle          *reference.Potential
	low             *reference.LowRank
}

func newLowRankCase(s lowRankShape, back bool) *lowRankCase {
	c := &lowRankCase{lowRankShape: s, back: back, landscape: newLowLandscape(s.k, s.d, s.r),
		first: normal(3, s.batch, s.d), upstream: normal(4, s.batch, s.d)}
	c.oracle, c.low = c.landscape.oracle()
	return c
}

func (c *lowRankCase) on(e *engine.Engine) (*fixture, error) {
	run := &lowRankRun{lowRankCase: c, e: e, m: c.landscape.mixture(e),
		g: ascent.NewLowRankGradient(c.k, c.d, c.r, true),
		x: engine.NewMatrix(c.batch, c.d), v: engine.NewMatrix(c.batch, c.d)}
	return &fixture{
		op:    func() error { run.pass(run.x, run.v, c.n, &run.path); return nil },
		check: run.check,
	}, nil
}

// lowRankRun is a lowRankCase on an engine.
type lowRankRun struct {
	*lowRankCase
	e    *engine.Engine
	m    *ascent.Mixture
	g    *ascent.Gradient
	x, v engine.Matrix // x_n and dL/dx_0
	path ascent.Trajectory
}

// pass makes some steps from the first rows, as many as x has.
func (r *lowRankRun) pass(x, v engine.Matrix, steps int, tr *ascent.Trajectory) {
	copy(x.Data, r.first.Data)
	r.m.Ascend(r.e, r.landscape.alpha, steps, x, tr, r.back)
	if r.back {
		copy(v.Data, r.upstream.Data)
		r.m.Backward(r.e, r.landscape.alpha, nil, tr, v, r.g)
	}
}

func (r *lowRankRun) check() (string, error) {
	x, v := engine.NewMatrix(1, r.d), engine.NewMatrix(1, r.d) // row 0 on its own
	var tr ascent.Trajectory
	r.pass(x, v, r.n, &tr)
	for _, t := range ends(r.n) {
		step := r.oracle.StepLowRank(r.low, reference.Vector(tr.XAt(t).Row(0)))
		if err := stepWithin(t+1, tr.XAt(t+1).Row(0), step); err != nil {
			return "", err
		}
	}
	if err := sameBits("x_n of row 0 in the batch and alone", r.x.Row(0), x.Data); err != nil {
		return "", err
	}
	if !r.back {
		return "first and last step of a row within the bound of float64, the row alone has the same bits", nil
	}
	if err := sameBits("dL/dx_0 of row 0 in the batch and alone", r.v.Row(0), v.Data); err != nil {
		return "", err
	}
	r.pass(x, v, 1, &tr)
	return r.checkGradients(v, &tr)
}

// checkGradients compares the gradients of a row through one step with the reference.
func (r *lowRankRun) checkGradients(v engine.Matrix, tr *ascent.Trajectory) (string, error) {
	var at []blas64.General
	for t := range 2 {
		at = append(at, reference.FromFloat32(tr.XAt(t).Data, 1, r.d, r.d, 1))
	}
	want := r.oracle.BackwardLowRank(r.low, at, reference.FromFloat32(r.upstream.Data, 1, r.d, r.d, 1))
	for _, c := range []struct {
		name string
		got  []float32
		want reference.Value
	}{{"dL/dx_0", v.Data, want.V}, {"dL/dmu", r.g.Mu, want.Mu}, {"dL/dw", r.g.W, want.W}, {"dL/dF", r.g.F, want.F}} {
		if err := gradientWithin(c.name, c.got, c.want); err != nil {
			return "", err
		}
	}
	return "gradients of a row through a step within the bound of float64, the row alone has the same bits", nil
}
