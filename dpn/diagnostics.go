package dpn

import (
	"context"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
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
	num.NewRand(m.Config.Seed, stream.Sample).Permutation(order)
	chosen := &dataset.Set{Rows: s.Rows, Cols: s.Cols}
	for _, i := range order[:min(s.Len(), 128, max(s.Len()/100, 16))] {
		chosen.Images, chosen.Labels = append(chosen.Images, s.Image(int(i))...), append(chosen.Labels, s.Labels[i])
	}
	return chosen
}

// diagnose measures what concerns the ascents of the pictures of s.
func (m *Model) diagnose(ctx context.Context, e *engine.Engine, s *dataset.Set) (d Diagnostics, err error) {
	p := m.potential
	lambda, err := p.Steepest(ctx, e.Threads())
	if err != nil {
		return d, err
	}
	d.AlphaLambda = float64(p.Alpha()) * lambda
	x, err := m.Features(ctx, e, s)
	if err != nil {
		return d, err
	}
	before, pairs, rising := make([]float32, x.Rows), 0, 0
	err = p.Walk(ctx, e, p.Alpha(), m.Config.Steps, x, func(t int, _ engine.Matrix, phi []float32, r engine.Matrix) {
		if t == 0 {
			d.EntropyFirst, d.ActiveFirst, d.StrongFirst = spread(r)
		} else {
			for b := range phi {
				pairs++
				if potential.Rises(x.Cols, float64(before[b]), float64(phi[b])) {
					rising++
				}
			}
		}
		copy(before, phi)
		if t == m.Config.Steps {
			d.EntropyLast, d.ActiveLast, d.StrongLast = spread(r)
			d.Serving = effectiveComponents(r)
		}
	})
	d.Rising = 1
	if pairs > 0 {
		d.Rising = float64(rising) / float64(pairs)
	}
	return d, err
}

// spread returns the means over the columns of r (k x n) of their entropy and of how many
// components are above 2^-24 and above 0.01. What is not a number counts as 0.
func spread(r engine.Matrix) (mean, active, many float64) {
	for b := range r.Cols {
		if h := potential.Entropy(r, b); h > 0 {
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

// effectiveComponents returns the exponential of the entropy of the mean of the columns of r.
func effectiveComponents(r engine.Matrix) float64 {
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
