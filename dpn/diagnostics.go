package dpn

import (
	"context"
	"slices"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// Diagnostics say at the end of an epoch whether training is in its healthy range. What
// concerns the ascent is measured with the weights of that moment on a fixed sample of
// training pictures without noise: at most 128 of them, and no more than a hundredth of
// all (but 16). An ascent costs about a third of an update, so that takes less than half a
// percent of the epoch; the largest eigenvalues of full precisions of 784 pixels, the only
// ones that take long, cost another update or two. They change no weight.
type Diagnostics struct {
	AlphaLambda float64 `json:"alpha_lambda"` // alpha times the largest eigenvalue of all P_i (at most some percent below it); from 2 on steps overshoot
	Rising      float64 `json:"rising"`       // share of the ascent steps that do not lower phi by more than rounding

	EntropyStart float64 `json:"entropy_start"` // mean entropy of the responsibilities at x_0 before training, in nats: from 0 to log k
	EntropyFirst float64 `json:"entropy_first"` // at x_0 now
	EntropyLast  float64 `json:"entropy_last"`  // at x_n
	ActiveFirst  float64 `json:"active_first"`  // mean number of components with r > 2^-24
	ActiveLast   float64 `json:"active_last"`
	StrongFirst  float64 `json:"strong_first"` // mean number of components with r > 0.01
	StrongLast   float64 `json:"strong_last"`

	Serving       float64            `json:"serving"`        // exp of the entropy of the mean responsibilities at x_n: from 1, one component has all pictures, to k
	Unused        int                `json:"unused"`         // components of which no picture of the epoch had r > 0.01 at any step; 0 with gradient detached, or below 20 pictures a component
	GradientNorms map[string]float64 `json:"gradient_norms"` // by group: extractor, potential, alpha, classifier; medians over the updates, before clipping; that of alpha is by log(e^alpha - 1)
	Clipped       float64            `json:"clipped"`        // share of the updates whose gradient was clipped
}

// strong is the responsibility from which a component counts as used.
const strong = 1e-2

// sample draws the pictures for the diagnostics.
func (m *Model) sample(s *dataset.Set) *dataset.Set {
	order := make([]int32, s.Len())
	num.NewRand(m.Config.Seed, streamSample).Permutation(order)
	chosen := &dataset.Set{Rows: s.Rows, Cols: s.Cols}
	for _, i := range order[:min(s.Len(), 128, max(s.Len()/100, 16))] {
		chosen.Images, chosen.Labels = append(chosen.Images, s.Image(int(i))...), append(chosen.Labels, s.Labels[i])
	}
	return chosen
}

// diagnose measures what concerns the ascents of the pictures of s.
func (m *Model) diagnose(ctx context.Context, e *engine.Engine, s *dataset.Set) (d Diagnostics, err error) {
	lambda, err := m.potential.steepest(ctx, e.Threads())
	if err != nil {
		return d, err
	}
	d.AlphaLambda = float64(m.potential.Alpha()) * lambda
	x, err := m.Features(ctx, e, s)
	if err != nil {
		return d, err
	}
	before, phi, r := make([]float32, x.Rows), make([]float32, x.Rows), engine.NewMatrix(m.potential.K, x.Rows)
	m.evaluate(e, x, before, r)
	d.EntropyFirst, d.ActiveFirst, d.StrongFirst = spread(r)
	var rise Rise
	var tr engine.Trajectory
	for done := 0; done < m.Config.Steps; done += tr.Steps {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		m.record(e, m.potential.Alpha(), min(stepsAtOnce, m.Config.Steps-done), x, &tr)
		for t := 1; t <= tr.Steps; t++ {
			if t < tr.Steps {
				copy(phi, tr.PhiAt(t))
			} else {
				m.evaluate(e, x, phi, r)
			}
			rise.count(before, phi, x.Cols, done+t-1, 0)
			copy(before, phi)
		}
	}
	d.EntropyLast, d.ActiveLast, d.StrongLast = spread(r)
	d.Serving = serving(r)
	d.Rising = 1
	if rise.Pairs > 0 {
		d.Rising = float64(rise.Rises+rise.Rounded) / float64(rise.Pairs)
	}
	return d, nil
}

// spread returns the means over the columns of r (k x n) of their entropy and of how many
// components are above 2^-24 and above 0.01. What is not a number counts as 0.
func spread(r engine.Matrix) (mean, active, many float64) {
	for b := range r.Cols {
		if h := entropy(r, b); h > 0 {
			mean += h
		}
	}
	for _, v := range r.Data {
		if v > 0x1p-24 {
			active++
		}
		if v > strong {
			many++
		}
	}
	n := float64(max(r.Cols, 1))
	return mean / n, active / n, many / n
}

// entropy returns - sum_i r_i ln r_i of column b of r, in nats: NaN where one of them is.
func entropy(r engine.Matrix, b int) float64 {
	var h float64
	for i := range r.Rows {
		if v := r.At(i, b); v != 0 { // also NaN
			h -= float64(float64(v) * float64(num.Log32(v)))
		}
	}
	if h < 0 { // r may be a rounding above 1
		h = 0
	}
	return h
}

// serving returns the exponential of the entropy of the mean of the columns of r.
func serving(r engine.Matrix) float64 {
	sums := make([]float64, r.Rows)
	var all, entropy float64
	for i := range sums {
		for _, v := range r.Row(i) {
			if v > 0 {
				sums[i] += float64(v)
			}
		}
		all += sums[i]
	}
	for _, v := range sums {
		if p := float32(v / all); p > 0 {
			entropy -= float64(float64(p) * float64(num.Log32(p)))
		}
	}
	return float64(num.Exp32(float32(entropy)))
}

// use notes which components have a responsibility above strong anywhere on a path.
func use(used []bool, tr *engine.Trajectory) {
	for i := range used {
		for t := 0; t < tr.Steps && !used[i]; t++ {
			for _, r := range tr.RAt(t).Row(i) {
				if r > strong {
					used[i] = true
					break
				}
			}
		}
	}
}

// steepest returns the largest eigenvalue of all P_i: see form.largest.
func (p *Potential) steepest(ctx context.Context, threads int) (float64, error) {
	return p.greatest(ctx, threads, p.form.largest)
}

// greatest returns the largest of what f finds in each P_i, at least 0.
func (p *Potential) greatest(ctx context.Context, threads int, f func(i int) (float64, error)) (float64, error) {
	most := make([]float64, p.form.own())
	err := forEach(ctx, len(most), threads, func(i int) (err error) {
		most[i], err = f(i)
		return err
	})
	var top float64
	for _, v := range most {
		top = max(top, v)
	}
	return top, err
}

// lanczosSteps is the number of products that largest takes: the eigenvalue is some percent
// low at most (linalg.Lanczos).
const lanczosSteps = 24

// lanczos returns the largest eigenvalue of a symmetric positive definite d x d matrix, from
// a random start; multiply adds P x to y.
func lanczos(d int, multiply func(y, x []float64)) (float64, error) {
	start := make([]float32, d)
	num.NewRand(0, 0).Normal(start)
	return linalg.Lanczos(linalg.Widen(start), lanczosSteps, multiply)
}

func (f *denseForm) largest(i int) (float64, error) {
	n := f.d * f.d
	a := linalg.Widen(f.a.Data[i*n : (i+1)*n])
	return lanczos(f.d, func(y, x []float64) {
		for at := 0; at < n; at += f.d { // A^T (A x)
			row := a[at : at+f.d]
			linalg.Axpy(linalg.Dot(row, x), row, y)
		}
	})
}

func (f *lowRankForm) largest(i int) (float64, error) {
	w := make([]float64, f.d)
	for j, l := range f.l.Data[i*f.d : (i+1)*f.d] {
		w[j] = float64(f.scale) * float64(f.scale) * float64(num.Exp32(2*l))
	}
	if f.factor == nil {
		return slices.Max(w), nil
	}
	r := linalg.Widen(f.factor.Data[i*f.r*f.d : (i+1)*f.r*f.d])
	linalg.Scale(float64(f.scale), r)
	return lanczos(f.d, func(y, x []float64) {
		for j, v := range x {
			y[j] = w[j] * v
		}
		for at := 0; at < len(r); at += f.d {
			row := r[at : at+f.d]
			linalg.Axpy(linalg.Dot(row, x), row, y)
		}
	})
}

func (f *flatForm) largest(int) (float64, error) {
	if f.r == f.d {
		return f.eps * f.scale * f.scale, nil
	}
	return f.scale * f.scale, nil
}
