package dpn

import (
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Trainer makes one update after another: it holds the memory of a minibatch and the
// optimiser's state. Fit is the loop around it; use a Trainer for a loop of your own.
type Trainer struct {
	m      *Model
	e      *engine.Engine
	params []*Param // those that learn
	input  *images  // as they are
	grey   *images  // before noise, which comes before normalisation

	x, f, y engine.Matrix // pixels, features and then x_n, logits
	dy, v   engine.Matrix // dL/dlogits, dL/dx_n and then dL/dx_0
	tape    layer.Tape    // of the extractor
	noise   layer.Noise
	clean   engine.Matrix // features of the noisy rows before they became noisy, for the denoising loss
	cleanly layer.Tape    // and the tape of their way through the extractor
	labels  []byte
	path    engine.Trajectory

	likelihood *potential.Likelihood    // nil without Config.NLL
	matching   *potential.ScoreMatching // nil without Config.Score
	nll, score float64                  // of the last minibatch, without the weights

	used    []bool             // components with a responsibility above strong in any minibatch since resetUsed
	squares map[string]float64 // of the gradients of the groups of the last minibatch (check)

	tally   layer.Tally // of an Update
	adam    *layer.Adam
	updates int // made so far
}

// NewTrainer makes room for gradients and moments, which are zero. The model's centres
// must have been placed (Init).
func NewTrainer(m *Model, e *engine.Engine) *Trainer {
	c := m.Config
	s := &Trainer{m: m, e: e, input: newImages(m.Norm), grey: newImages(dataset.Normalization{Std: 1}), adam: layer.NewAdam(),
		used: make([]bool, c.Components), squares: map[string]float64{},
		noise: layer.Noise{Min: c.NoiseMin, Max: c.NoiseMax, Seed: num.NewRand(c.Seed, stream.Noise).Uint64(), Norm: m.Norm}}
	s.params = m.head.Params()
	b, d := c.Batch, m.Dim()
	if c.Gradient == "exact" {
		s.params = m.Params()
		p := m.potential
		if c.NLL > 0 {
			s.likelihood = potential.NewLikelihood(p, b, c.NLL)
		}
		if c.Score > 0 {
			s.matching = potential.NewScoreMatching(p, b, c.Score, c.ScoreSigma, num.NewRand(c.Seed, stream.Score).Uint64())
		}
		p.PrepareGradient()
	}
	for _, p := range s.params {
		p.Prepare()
	}
	s.x = engine.NewMatrix(b, m.Rows*m.Cols)
	s.f, s.v = engine.NewMatrix(b, d), engine.NewMatrix(b, d)
	s.y, s.dy = engine.NewMatrix(b, m.Classes), engine.NewMatrix(b, m.Classes)
	s.labels = make([]byte, b)
	if c.Denoising > 0 {
		s.clean = engine.NewMatrix(s.noise.Rows(b), d)
	}
	return s
}

// Update makes one update of every parameter on the pictures at[0], at[1], ... of set, at
// most Config.Batch of them, with the factor rate on the learning rates. It returns the
// mean loss before the update (with its share of the other losses), and changes nothing
// when that or the gradient is not finite. With the setting "detached" only the classifier
// learns. The first half of at becomes noisy where Config.NoiseMax says so.
func (s *Trainer) Update(set *dataset.Set, at []int32, rate float64) (loss float64, err error) {
	s.tally.Reset()
	loss = s.gradients(set, at, &s.tally)
	norm, what := s.check(loss)
	if what != "" {
		return loss, &NotFiniteError{What: what}
	}
	s.update(rate, norm)
	return loss, nil
}

// check returns the norm of the gradient, and what is not finite if anything is.
func (s *Trainer) check(loss float64) (norm float64, what string) {
	clear(s.squares)
	var sum float64
	for _, p := range s.params {
		v := s.e.SumSquares(p.Grad)
		s.squares[p.Group] += v
		sum += v
	}
	norm = math.Sqrt(sum)
	return norm, layer.NotFinite(loss, norm, s.params)
}

// gradients computes loss and gradients for the pictures at of set. It returns the mean
// loss.
func (s *Trainer) gradients(set *dataset.Set, at []int32, t *layer.Tally) float64 {
	if m := s.m; m.Config.Gradient == "detached" {
		f := s.features(set, at)
		m.potential.Ascend(s.e, f, m.Config.Steps)
		return s.classify(f, engine.Matrix{}, set, at, t)
	}
	return s.exact(set, at, t)
}

// features normalises the pictures at of set, the first of them with noise, and computes
// their features, in memory of the Trainer.
func (s *Trainer) features(set *dataset.Set, at []int32) engine.Matrix {
	x, f := part(s.x, 0, len(at)), part(s.f, 0, len(at))
	n := s.noise.Rows(len(at))
	if n > 0 {
		s.grey.into(s.e, part(x, 0, n), set, at[:n])
		s.noise.Add(s.e, x, s.updates)
	}
	s.input.into(s.e, part(x, n, len(at)), set, at[n:])
	copy(f.Data, s.m.extractor.Forward(s.e, &s.tape, x, layer.Training).Data)
	return f
}

// exact computes loss and gradients for the pictures at of set, through the classifier,
// all ascent steps and the extractor. It returns the mean loss.
func (s *Trainer) exact(set *dataset.Set, at []int32, t *layer.Tally) float64 {
	m, e, n := s.m, s.e, len(at)
	p := m.potential
	clean := s.cleanFeatures(set, at)
	f, v := s.features(set, at), part(s.v, 0, n)
	p.Forward(e, f, m.Config.Steps, &s.path)
	use(s.used, &s.path)

	loss := s.classify(f, v, set, at, t) + s.denoise(v, f, clean)

	p.Backward(e, &s.path, v)
	if s.likelihood != nil {
		s.nll = s.likelihood.Loss(e, s.path.XAt(0))
		loss += float64(m.Config.NLL * s.nll)
	}
	if s.matching != nil {
		s.score = s.matching.Loss(e, s.path.XAt(0), s.updates)
		loss += float64(m.Config.Score * s.score)
	}
	p.Gradients(e)
	m.extractor.Backward(e, &s.tape, engine.Matrix{}, v)
	return loss
}

// cleanFeatures returns, where there is a denoising loss, the features that those of the
// pictures at which become noisy have without noise.
func (s *Trainer) cleanFeatures(set *dataset.Set, at []int32) engine.Matrix {
	n := s.noise.Rows(len(at))
	if s.m.Config.Denoising == 0 || n == 0 {
		return engine.Matrix{}
	}
	x, clean := part(s.x, 0, n), part(s.clean, 0, n)
	s.input.into(s.e, x, set, at[:n])
	copy(clean.Data, s.m.extractor.Forward(s.e, &s.cleanly, x, layer.Evaluation).Data)
	return clean
}

// denoise returns the denoising loss, Config.Denoising times the mean of (x_n - clean)^2 over
// the elements of clean, which are those of the first rows of x_n, and adds its gradient to
// v = dL/dx_n. No gradient goes to clean: otherwise features that are all the same would be
// best.
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

// detached computes loss and gradients of the classifier alone from denoised features.
func (s *Trainer) detached(denoised engine.Matrix, set *dataset.Set, at []int32, t *layer.Tally) float64 {
	f := part(s.f, 0, len(at))
	for b, i := range at {
		copy(f.Row(b), denoised.Row(int(i)))
	}
	return s.classify(f, engine.Matrix{}, set, at, t)
}

// classify runs the classifier on x_n = f forward and backward; v, unless empty,
// receives dL/dx_n. The loss is the mean over the minibatch.
func (s *Trainer) classify(f, v engine.Matrix, set *dataset.Set, at []int32, t *layer.Tally) float64 {
	n := f.Rows
	y, dy, labels := part(s.y, 0, n), part(s.dy, 0, n), s.labels[:n]
	for b, i := range at {
		labels[b] = set.Labels[i]
	}
	s.m.head.Forward(s.e, y, f, layer.Training)
	sum := t.Add(s.e, y, labels, dy, 1/float32(n))
	s.m.head.Backward(s.e, v, f, y, dy)
	return sum / float64(n)
}

// update makes one step of Adam with the factor rate on the learning rates, the
// gradient scaled down where its norm is above the limit.
func (s *Trainer) update(rate, norm float64) {
	c := s.m.Config
	clip := layer.Clip(norm, c.Clip)
	for _, p := range s.params {
		s.adam.Step(s.e, p, s.m.potential.Unconstrained(p), c.learningRate(p.Group)*rate, clip)
	}
	s.adam.Next()
	s.updates++
	s.m.fresh = false
	if c.Gradient == "exact" {
		s.m.potential.Updated(s.e)
	}
}
