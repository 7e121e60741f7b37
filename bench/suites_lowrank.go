package bench

import (
	"fmt"
	"math"

	"dpnbench/dpn"
	"dpnbench/engine"
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

func (l *lowLandscape) mixture(e *engine.Engine) *engine.Mixture {
	m := engine.NewLowRankMixture(l.k, l.d, l.r, l.mu, l.c)
	e.SetLowRank(m, l.w, l.f, 1)
	return m
}

func (l *lowLandscape) oracle() (*reference.Potential, *reference.LowRank) {
	return &reference.Potential{K: l.k, D: l.d, C: reference.Vector(l.c), Alpha: float64(l.alpha), Mu: reference.FromFloat32(l.mu, l.k, l.d, l.d, 1)},
		&reference.LowRank{W: reference.FromFloat32(l.w, l.k, l.d, l.d, 1), F: reference.FromFloat32(l.f, l.k*l.r, l.d, l.d, 1), Sign: 1}
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

// lowRankOf is lowRank on a potential of the sizes of a preset that takes pixels.
func lowRankOf(x Extent, suite, name, preset string) group {
	c, err := dpn.Preset(preset)
	if err != nil {
		panic(err) // a name from the list
	}
	return lowRank(x, suite, name, 28*28, c.Components, c.Rank, c.Steps, sparseBatch)
}

// lowRank is an ascent on precisions of low rank, with the backward pass on request.
func lowRank(x Extent, suite, name string, d, k, r, n, batch int) group {
	back := suite == "backward"
	return group{
		suite: suite, name: name, extent: x, params: params("d", d, "k", k, "r", r, "n", n, "batch", batch),
		flop:  lowRankFlop(d, k, r, n, batch, back),
		bytes: 4 * (float64(k)*float64(d)*float64(2*r+3) + 2*float64(batch)*float64(d)), items: float64(batch),
		open: func() (opener, error) {
			l := newLowLandscape(k, d, r)
			first, upstream := normal(3, batch, d), normal(4, batch, d)
			oracle, low := l.oracle()
			return func(e *engine.Engine) (*work, error) {
				m := l.mixture(e)
				pts, v := engine.NewMatrix(batch, d), engine.NewMatrix(batch, d)
				g := engine.NewLowRankGradient(k, d, r)
				run := func(pts, v engine.Matrix, steps int, tr *engine.Trajectory) {
					copy(pts.Data, first.Data)
					e.Ascend(m, l.alpha, steps, pts, tr, back)
					if back {
						copy(v.Data, upstream.Data)
						e.AscendBackward(m, l.alpha, nil, tr, v, g)
					}
				}
				var path engine.Trajectory
				return &work{
					op: func() error { run(pts, v, n, &path); return nil },
					check: func() (string, error) {
						alone, av := engine.NewMatrix(1, d), engine.NewMatrix(1, d)
						var tr engine.Trajectory
						run(alone, av, n, &tr)
						for _, t := range ends(n) {
							step := oracle.StepLowRank(low, reference.Vector(tr.XAt(t).Row(0)))
							for j, got := range tr.XAt(t + 1).Row(0) {
								if err := within(fmt.Sprintf("x_%d of row 0, feature %d", t+1, j), got, step.V[j], step.E[j]); err != nil {
									return "", err
								}
							}
						}
						if err := sameBits("x_n of row 0 in the batch and alone", pts.Row(0), alone.Data); err != nil {
							return "", err
						}
						if !back {
							return "first and last step of a row within the bound of float64, the row alone has the same bits", nil
						}
						if err := sameBits("dL/dx_0 of row 0 in the batch and alone", v.Row(0), av.Data); err != nil {
							return "", err
						}
						run(alone, av, 1, &tr)
						var at []blas64.General
						for t := range 2 {
							at = append(at, reference.FromFloat32(tr.XAt(t).Data, 1, d, d, 1))
						}
						want := oracle.BackwardLowRank(low, at, reference.FromFloat32(upstream.Data, 1, d, d, 1))
						for _, c := range []struct {
							name string
							got  []float32
							want reference.Value
						}{{"dL/dx_0", av.Data, want.V}, {"dL/dmu", g.Mu, want.Mu}, {"dL/dw", g.W, want.W}, {"dL/dF", g.F, want.F}} {
							for i, got := range c.got {
								if err := within(fmt.Sprintf("%s element %d", c.name, i), got, c.want.V[i], c.want.E[i]); err != nil {
									return "", err
								}
							}
						}
						return "gradients of a row through a step within the bound of float64, the row alone has the same bits", nil
					},
				}, nil
			}, nil
		},
	}
}
