package dpn

import (
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// Trainer makes one update after another. It holds the memory of a minibatch and the state of
// the optimiser. Model.Fit is the loop around it; use a Trainer for a loop of your own.
type Trainer struct {
	m      *Model
	e      *engine.Engine
	params []*Param // those that learn

	// A minibatch of n rows.
	input  *input        // samples as they are
	levels *input        // images before noise, which comes before preprocessing and normalisation
	noise  layer.Noise   // of the first half of the rows
	labels []uint16      // n
	x      engine.Matrix // n x pixels
	f      engine.Matrix // n x d: features x_0, then x_n
	y, dy  engine.Matrix // n x classes: logits, and dL/dlogits
	v      engine.Matrix // n x d: dL/dx_n, then dL/dx_0
	clean  engine.Matrix // features of the noisy rows without noise, for the denoising loss

	// What backward passes need.
	tape      layer.Tape        // of the extractor
	cleanTape layer.Tape        // of the extractor on the clean rows; never used backward
	path      ascent.Trajectory // of the ascent

	likelihood *potential.Likelihood    // nil without Config.NLL
	matching   *potential.ScoreMatching // nil without Config.Score

	adam     *layer.Adam // its powers are part of the state, whatever the optimiser
	dropouts []*layer.Dropout
	updates  int // made so far

	// step is that of the optimiser.
	step func(e *engine.Engine, p *Param, data []float32, lr, clip float64)

	// With Config.Balance: of the classes of the set that was last trained on.
	weights  []float32
	balanced *dataset.Set

	profile *Profile // or nil

	// Measured on the last minibatch.
	tally      layer.Tally
	nll, score float64            // the density losses, without their weights
	squares    map[string]float64 // sum of squares of the gradient, by group
	used       []bool             // components with a responsibility above usedR, since they were cleared
}

// NewTrainer allocates gradients and moments, which are zero. The model's centres must have
// been placed (Init).
func NewTrainer(m *Model, e *engine.Engine) *Trainer {
	c := m.Config
	m.UnknownBelow = nil // that of other weights
	s := &Trainer{m: m, e: e, params: m.head.Params(), adam: layer.NewAdam(),
		input: m.newInput(), levels: newLevels(m.Shape),
		noise: layer.Noise{
			Min:       c.NoiseMin,
			Max:       c.NoiseMax,
			Seed:      num.NewRand(c.Seed, stream.Noise).Uint64(),
			Unclamped: !m.Shape.IsImage(),
		},
		used: make([]bool, c.Components), squares: map[string]float64{}}
	if s.step = s.adam.Step; c.Optimiser == Adadelta {
		s.step = new(layer.Adadelta).Step
	}
	for _, l := range m.extractor {
		if d, ok := l.(*layer.Dropout); ok {
			s.dropouts = append(s.dropouts, d)
		}
	}
	b, d := c.Batch, m.Dim()
	if c.Gradient == "exact" {
		s.params = m.Params()
		p := m.potential
		if c.NLL > 0 {
			s.likelihood = potential.NewLikelihood(p, b, c.NLL)
		}
		if c.Score > 0 {
			s.matching = potential.NewScoreMatching(p, b, c.Score, c.ScoreSigma,
				num.NewRand(c.Seed, stream.Score).Uint64())
		}
		p.PrepareGradient()
	}
	for _, p := range s.params {
		p.Prepare()
	}
	s.x = engine.NewMatrix(b, m.Shape.Len())
	s.f, s.v = engine.NewMatrix(b, d), engine.NewMatrix(b, d)
	s.y, s.dy = engine.NewMatrix(b, len(m.Classes)), engine.NewMatrix(b, len(m.Classes))
	s.labels = make([]uint16, b)
	if c.Denoising > 0 {
		s.clean = engine.NewMatrix(s.noise.Rows(b), d)
	}
	return s
}

// Update makes one update of every parameter on the images at[0], at[1], ... of set, at most
// Config.Batch of them; rate multiplies the learning rates. It returns the mean loss before the
// update, all terms included. If the loss or the gradient is not finite it changes nothing and
// returns a *NotFiniteError. With Config.Gradient "detached" only the classifier learns. With
// Config.NoiseMax the first half of the images gets noise.
func (s *Trainer) Update(set *dataset.Set, at []int32, rate float64) (loss float64, err error) {
	s.begin()
	loss = s.gradients(set, at, &s.tally)
	norm, what := s.check(loss)
	if what != "" {
		return loss, &NotFiniteError{What: what}
	}
	s.update(rate, norm)
	return loss, nil
}

// begin begins an update.
func (s *Trainer) begin() {
	s.profile.begin()
	s.tally.Reset()
}

// gradients computes the mean loss and its gradient for the images at of set.
func (s *Trainer) gradients(set *dataset.Set, at []int32, t *layer.Tally) float64 {
	if m := s.m; m.Config.Gradient == "detached" {
		f := s.features(set, at)
		s.profile.enter(PhaseAscent)
		m.potential.Ascend(s.e, f, m.Config.Steps)
		return s.classify(f, engine.Matrix{}, set, at, t)
	}
	return s.exact(set, at, t)
}

// exact computes gradients through the classifier, all ascent steps and the extractor.
func (s *Trainer) exact(set *dataset.Set, at []int32, t *layer.Tally) float64 {
	m, e, n := s.m, s.e, len(at)
	p := m.potential

	// Forward: images to features x_0, x_0 uphill to x_n.
	clean := s.cleanFeatures(set, at)
	f := s.features(set, at)
	s.profile.enter(PhasePrecisions)
	p.Mixture(e)
	s.profile.enter(PhaseAscent)
	p.Forward(e, f, m.Config.Steps, &s.path)
	s.profile.enter(PhaseOther)
	markUsed(s.used, &s.path)

	// Losses at x_n, with v = dL/dx_n.
	v := part(s.v, 0, n)
	loss := s.classify(f, v, set, at, t) + s.denoise(v, f, clean)
	s.profile.enter(PhaseAscentBackward)

	// Backward: v becomes dL/dx_0; losses at x_0 add to the gradient of the potential only.
	p.Backward(e, &s.path, v)
	if s.likelihood != nil || s.matching != nil {
		s.profile.enter(PhaseDensity)
	}
	if s.likelihood != nil {
		s.nll = s.likelihood.Loss(e, s.path.XAt(0))
		loss += float64(m.Config.NLL * s.nll)
	}
	if s.matching != nil {
		s.score = s.matching.Loss(e, s.path.XAt(0), s.updates)
		loss += float64(m.Config.Score * s.score)
	}
	s.profile.enter(PhaseSums)
	p.Gradients(e)
	m.extractor.Backward(e, &s.tape, engine.Matrix{}, v)
	s.profile.enter(PhaseOther)
	return loss
}

// features returns the features of the images at of set, the first half with noise.
func (s *Trainer) features(set *dataset.Set, at []int32) engine.Matrix {
	x, f := part(s.x, 0, len(at)), part(s.f, 0, len(at))
	n := s.noise.Rows(len(at))
	s.profile.enter(PhaseRead)
	if n > 0 {
		noisy, clean := part(x, 0, n), s.levels
		if s.noise.Unclamped {
			clean = s.input
		}
		clean.into(s.e, noisy, set, at[:n])
		s.profile.enter(PhaseNoise)
		s.noise.Add(s.e, x, s.updates)
		s.profile.enter(PhaseRead)
		if !s.noise.Unclamped {
			s.input.finish(s.e, noisy)
		}
	}
	s.input.into(s.e, part(x, n, len(at)), set, at[n:])
	for _, d := range s.dropouts {
		d.SetPass(uint64(s.updates))
	}
	copy(f.Data, s.m.extractor.Forward(s.e, &s.tape, x, layer.Training).Data)
	s.profile.enter(PhaseOther)
	return f
}

// cleanFeatures returns the features, without noise, of the images that get noise; empty
// without a denoising loss.
func (s *Trainer) cleanFeatures(set *dataset.Set, at []int32) engine.Matrix {
	n := s.noise.Rows(len(at))
	if s.m.Config.Denoising == 0 || n == 0 {
		return engine.Matrix{}
	}
	x, clean := part(s.x, 0, n), part(s.clean, 0, n)
	s.profile.enter(PhaseRead)
	s.input.into(s.e, x, set, at[:n])
	copy(clean.Data, s.m.extractor.Forward(s.e, &s.cleanTape, x, layer.Evaluation).Data)
	return clean
}

// classify runs the classifier on xn forward and backward, and returns the mean cross-entropy
// of the minibatch. v, unless empty, is set to dL/dx_n.
func (s *Trainer) classify(xn, v engine.Matrix, set *dataset.Set, at []int32, t *layer.Tally) float64 {
	s.profile.enter(PhaseHead)
	n := xn.Rows
	y, dy, labels := part(s.y, 0, n), part(s.dy, 0, n), s.labels[:n]
	for b, i := range at {
		labels[b] = set.Labels[i]
	}
	if s.m.Config.Balance {
		t.Weights = s.classWeights(set)
	}
	s.m.head.Forward(s.e, y, xn, layer.Training)
	sum := t.Add(s.e, y, labels, dy, 1/float32(n))
	s.m.head.Backward(s.e, v, xn, y, dy)
	return sum / float64(n)
}

// classWeights returns the weights of the classes of set.
func (s *Trainer) classWeights(set *dataset.Set) []float32 {
	if s.balanced != set {
		s.weights, s.balanced = layer.BalancedWeights(set.Labels, len(s.m.Classes)), set
	}
	return s.weights
}

// denoise returns the denoising loss, Config.Denoising times the mean of (x_n - clean)^2 over
// the elements of clean, whose rows are the first of x_n, and adds its gradient to v = dL/dx_n.
// No gradient goes to clean: otherwise constant features would be optimal.
func (s *Trainer) denoise(v, xn, clean engine.Matrix) float64 {
	if len(clean.Data) == 0 {
		return 0
	}
	weight := s.m.Config.Denoising / float64(len(clean.Data))
	slope, sum := float32(2*weight), 0.0
	for j, c := range clean.Data {
		d := xn.Data[j] - c
		sum += float64(float64(d) * float64(d))
		v.Data[j] += float32(slope * d)
	}
	return float64(weight * sum)
}

// detached is gradients of the classifier alone, from denoised features that were computed
// once for all epochs.
func (s *Trainer) detached(denoised engine.Matrix, set *dataset.Set, at []int32, t *layer.Tally) float64 {
	s.profile.enter(PhaseRead)
	f := part(s.f, 0, len(at))
	for b, i := range at {
		copy(f.Row(b), denoised.Row(int(i)))
	}
	return s.classify(f, engine.Matrix{}, set, at, t)
}

// check returns the norm of the gradient, and names what is not finite, if anything.
func (s *Trainer) check(loss float64) (norm float64, what string) {
	s.profile.enter(PhaseNorm)
	clear(s.squares)
	var sum float64
	for _, p := range s.params {
		v := s.e.SumSquares(p.Grad)
		s.squares[p.Group] += v
		sum += v
	}
	norm = math.Sqrt(sum)
	what = layer.NotFinite(loss, norm, s.params)
	s.profile.enter(PhaseOther)
	return norm, what
}

// update makes one step of the optimiser, with the gradient scaled down to Config.Clip if its norm is
// larger; rate multiplies the learning rates.
func (s *Trainer) update(rate, norm float64) {
	c, p := s.m.Config, s.m.potential
	clip := layer.Clip(norm, c.Clip)
	s.profile.enter(PhaseOptimiser)
	for _, q := range s.params {
		s.step(s.e, q, p.Unconstrained(q), c.learningRate(q.Group)*rate, clip)
	}
	s.adam.Next()
	s.updates++
	s.m.fresh = false
	if c.Gradient == "exact" {
		s.profile.enter(PhaseRetraction)
		p.Updated(s.e)
	}
	s.profile.end()
}
