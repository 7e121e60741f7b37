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
	// AlphaLambda is alpha times the largest eigenvalue of all P_i, at most a few percent too
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
	EffectiveComponents float64 `json:"effective_components"`
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

// diagnose measures what concerns the ascents of the images of s, which the ranks of by divide.
func (m *Model) diagnose(ctx context.Context, e *engine.Engine, by potential.Division, s *dataset.Set) (d Diagnostics,
	err error) {
	p := m.potential
	lambda, err := p.SteepestBy(ctx, e.Threads(), by)
	if err != nil {
		return d, err
	}
	d.AlphaLambda = float64(p.Alpha()) * lambda
	w := walked{steps: m.Config.Steps, components: p.K, first: engine.NewMatrix(p.K, 0), last: engine.NewMatrix(p.K, 0)}
	lo, hi := by.Own(s.Len())
	x, err := m.blocks(ctx, e, m.Input(s), imageRange{lo, hi}, 0, nil)
	if err == nil && lo < hi {
		err = p.Walk(ctx, e, p.Alpha(), w.steps, x, w.visit)
	}
	sum, err := by.Sum(ctx, err, s.Len(), w.size(), func(_, first, last int, sum []float64) {
		w.add(first-lo, last-lo, sum)
	})
	if err == nil {
		w.read(sum, max(s.Len(), 1), &d)
	}
	return d, err
}

// walked is what the ascents of some images show.
type walked struct {
	steps, components int

	first, last engine.Matrix // responsibilities at x_0 and x_n, k x n
	phi         []float32     // at the step before
	rising      []float64     // by image: steps on which phi rises
}

func (w *walked) visit(t int, x engine.Matrix, phi []float32, r engine.Matrix) {
	if t == 0 {
		w.first, w.rising = copied(r), make([]float64, len(phi))
	} else {
		for b, v := range phi {
			if potential.Rises(x.Cols, float64(w.phi[b]), float64(v)) {
				w.rising[b]++
			}
		}
	}
	w.phi = append(w.phi[:0], phi...)
	if t == w.steps {
		w.last = copied(r)
	}
}

func copied(r engine.Matrix) engine.Matrix {
	c := engine.NewMatrix(r.Rows, r.Cols)
	for i := range r.Rows {
		copy(c.Row(i), r.Row(i))
	}
	return c
}

// size is how many numbers add adds.
func (w *walked) size() int { return 7 + w.components }

// add adds what images lo to hi-1 show: at x_0 and at x_n entropies and numbers of active and strong
// components, then the rising steps, and by component the responsibilities at x_n.
func (w *walked) add(lo, hi int, sum []float64) {
	k := w.components
	first, last := w.first.Slice(0, k, lo, hi), w.last.Slice(0, k, lo, hi)
	spread(first, sum[:3])
	spread(last, sum[3:6])
	for _, n := range w.rising[lo:hi] {
		sum[6] += n
	}
	for i := range k {
		for _, v := range last.Row(i) {
			if v > 0 {
				sum[7+i] += float64(v)
			}
		}
	}
}

// read sets d to what the sums over n images say.
func (w *walked) read(sum []float64, n int, d *Diagnostics) {
	mean := func(i int) float64 { return sum[i] / float64(n) }
	d.EntropyFirst, d.ActiveFirst, d.StrongFirst = mean(0), mean(1), mean(2)
	d.EntropyLast, d.ActiveLast, d.StrongLast = mean(3), mean(4), mean(5)
	if d.Rising = 1; w.steps > 0 {
		d.Rising = sum[6] / float64(n*w.steps)
	}
	d.EffectiveComponents = effectiveComponents(sum[7:])
}

// spread adds the entropies of the columns of r (k x n), and how many components are above 2^-24 and above usedR. What
// is not a number counts as 0.
func spread(r engine.Matrix, sum []float64) {
	for b := range r.Cols {
		if h := potential.Entropy(r, b); h > 0 {
			sum[0] += h
		}
	}
	for i := range r.Rows {
		for _, v := range r.Row(i) {
			if v > 0x1p-24 {
				sum[1]++
			}
			if v > usedR {
				sum[2]++
			}
		}
	}
}

// effectiveComponents returns the exponential of the entropy of the mean responsibilities, of which these are the sums
// by component.
func effectiveComponents(sums []float64) float64 {
	var all, entropy float64
	for _, v := range sums {
		all += v
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
