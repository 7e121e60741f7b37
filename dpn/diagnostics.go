package dpn

import (
	"context"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// Diagnostics show at the end of an epoch whether training is in its healthy range. The ascent is
// measured with the weights at that time on a fixed sample of training images without noise: 1% of
// them, but at least 16 and at most 128. This takes less than 0.5% of an epoch; the largest
// eigenvalues of full precisions of 784 pixels cost another update or two. No weight changes.
type Diagnostics struct {
	// AlphaLambda is alpha times the largest eigenvalue of all P_i, at most some percent too
	// low; from 2 on ascent steps can overshoot. Rising is the share of the ascent steps that do
	// not lower phi by more than rounding.
	AlphaLambda float64 `json:"alpha_lambda"`
	Rising      float64 `json:"rising"`

	// Mean entropies of the responsibilities, in nats from 0 to log k: at x_0 before training,
	// at x_0 now and at x_n now.
	EntropyStart float64 `json:"entropy_start"`
	EntropyFirst float64 `json:"entropy_first"`
	EntropyLast  float64 `json:"entropy_last"`

	// Mean numbers of components with r > 2^-24 (active) and with r > 0.01 (strong), at x_0 and
	// at x_n.
	ActiveFirst float64 `json:"active_first"`
	ActiveLast  float64 `json:"active_last"`
	StrongFirst float64 `json:"strong_first"`
	StrongLast  float64 `json:"strong_last"`

	// EffectiveComponents is exp of the entropy of the mean responsibilities at x_n: from 1, one
	// component has all images, to k.
	EffectiveComponents float64 `json:"serving"`
	// Unused is the number of components without r > 0.01 for any image of the epoch at any
	// step; 0 with gradient detached, or with fewer than 20 images a component.
	Unused int `json:"unused"`

	// GradientNorms are medians over the updates, before clipping, by group: extractor,
	// potential, alpha (with respect to alphaRaw) and classifier. Clipped is the share of the
	// updates whose gradient was clipped.
	GradientNorms map[string]float64 `json:"gradient_norms"`
	Clipped       float64            `json:"clipped"`
}

// usedR is the responsibility above which a component counts as used.
const usedR = 1e-2

// sample draws the images for the diagnostics.
func (m *Model) sample(s *dataset.Set) *dataset.Set {
	order := make([]int32, s.Len())
	num.NewRand(m.Config.Seed, stream.Sample).Permutation(order)
	return s.Pick(order[:min(s.Len(), 128, max(s.Len()/100, 16))])
}

// diagnose measures what concerns the ascents of the images of s.
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
			d.EffectiveComponents = effectiveComponents(r)
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
		if v > usedR {
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

// markUsed notes the components with a responsibility above usedR anywhere on a path.
func markUsed(used []bool, tr *ascent.Trajectory) {
	for i := range used {
		for t := 0; t < tr.Steps && !used[i]; t++ {
			for _, r := range tr.RAt(t).Row(i) {
				if r > usedR {
					used[i] = true
					break
				}
			}
		}
	}
}
