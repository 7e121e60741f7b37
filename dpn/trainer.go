package dpn

import (
	"fmt"
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/mpi"
)

// Trainer makes one update after another. It holds the memory of a minibatch and the state of
// the optimiser. Model.Fit is the loop around it; use a Trainer for a loop of your own.
type Trainer struct {
	m      *Model
	e      *engine.Engine
	params []*Param // those that learn
	owned  []owned  // what this process moves of them: all, without a team
	team   *team    // nil: this process computes all pieces

	// A minibatch of n rows, or the largest piece of one (Config.Shards).
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

	// Denoised features of all samples, if they never change: only the classifier learns then, without noise.
	denoised engine.Matrix

	tree tree // of the gradients of pieces
	last bool // the running piece is the last one that is added here

	// Of pieces that share one ascent.
	others  tree  // of the gradients that are not of the potential
	cuts    []int // where each begins among the rows, and where the last one ends
	figures []figures

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

// owned is a part of a tensor that the optimiser moves. Its Data are the numbers that it moves: the tensor's own, or
// what that is computed from (potential.Potential.Unconstrained).
type owned struct {
	*Param
	of *Param
	lo int // its first element
}

// NewTrainer allocates gradients and moments, which are zero. The model's centres must have
// been placed (Init).
func NewTrainer(m *Model, e *engine.Engine) *Trainer { return newTrainer(m, e, nil) }

// newTrainer makes a trainer, one of a team if comm is not nil.
func newTrainer(m *Model, e *engine.Engine, comm mpi.Comm) *Trainer {
	c := m.Config
	m.UnknownBelow, m.epoch = nil, 0 // those of other weights
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
	if c.Gradient == GradientExact {
		s.params = m.Params()
		p := m.potential
		if c.NLL > 0 {
			s.likelihood = potential.NewLikelihood(p, c.pieceRows(c.Batch), c.NLL)
		}
		if c.Score > 0 {
			s.matching = potential.NewScoreMatching(p, c.pieceRows(c.Batch), c.Score, c.ScoreSigma,
				num.NewRand(c.Seed, stream.Score).Uint64())
		}
		p.PrepareGradient()
	}
	s.tape.Enter = s.enterLayer
	b, d := c.pieceRows(c.Batch), m.Dim()
	if pieces := s.prepare(comm); c.joint() {
		b = min(b*pieces, c.Batch)
		s.others = newTree(append(m.head.Params(), m.extractor.Params()...), pieces)
	}
	s.x = engine.NewMatrix(b, m.Shape.Len())
	s.f, s.v = engine.NewMatrix(b, d), engine.NewMatrix(b, d)
	s.y, s.dy = engine.NewMatrix(b, len(m.Classes)), engine.NewMatrix(b, len(m.Classes))
	s.labels = make([]uint16, b)
	if c.Denoising > 0 {
		s.clean = engine.NewMatrix(min(b, s.noise.Rows(c.Batch)), d)
	}
	return s
}

// prepare makes room for gradients and moments. It returns of how many pieces the gradients are added here.
func (s *Trainer) prepare(comm mpi.Comm) (pieces int) {
	for _, p := range s.params {
		p.PrepareGradient()
		if comm == nil || comm.Rank() == 0 {
			p.Prepare()
		}
	}
	if comm != nil {
		return s.join(comm)
	}
	for _, p := range s.params {
		s.owned = append(s.owned, owned{&Param{Name: p.Name, Group: p.Group, Data: s.m.potential.Unconstrained(p),
			Grad: p.Grad, M: p.M, V: p.V}, p, 0})
	}
	s.tree = newTree(s.params, s.m.Config.Shards)
	return s.m.Config.Shards
}

// Update makes one update of every parameter on the samples at[0], at[1], ... of set, at most
// Config.Batch of them; rate multiplies the learning rates. It returns the mean loss before the
// update, all terms included. If the loss or the gradient is not finite it changes nothing and
// returns a *NotFiniteError. With Config.Gradient "detached" only the classifier learns. With
// Config.NoiseMax the first half of the samples gets noise.
func (s *Trainer) Update(set *dataset.Set, at []int32, rate float64) (loss float64, err error) {
	if err := s.checkSamples(set, at); err != nil {
		return 0, err
	}
	s.profile.begin()
	if loss, err = s.gradients(whole(set, at)); err != nil {
		return 0, err
	}
	norm, what := s.check(loss)
	if what != "" {
		return loss, &NotFiniteError{What: what}
	}
	return loss, s.update(rate, norm)
}

// checkSamples is CheckLabelled of the samples of an update only.
func (s *Trainer) checkSamples(set *dataset.Set, at []int32) error {
	m := s.m
	switch {
	case set == nil:
		return set.Check()
	case set.Shape != m.Shape:
		return m.errShape(set)
	case len(set.Labels) != set.Len():
		return set.CheckLabelled()
	case len(at) == 0 || len(at) > m.Config.Batch:
		return fmt.Errorf("%d samples for an update, expected 1 to %d, the setting batch", len(at), m.Config.Batch)
	}
	for _, i := range at {
		if i < 0 || int(i) >= set.Len() {
			return fmt.Errorf("sample %d for an update, the set has %d", i, set.Len())
		}
		if err := m.checkLabel(set, int(i)); err != nil {
			return err
		}
	}
	return nil
}

// rows are those that are computed together: images at[0], at[1], ... of set, a piece of a minibatch.
type rows struct {
	layer.Piece
	set    *dataset.Set
	at     []int32
	memory int // where the first one is in the trainer's memory of features and logits
}

// gradientsOf computes the gradients of rows, and returns what they add to the loss of their minibatch, of which all
// means are taken.
func (s *Trainer) gradientsOf(r rows) float64 {
	s.tally.Reset()
	m := s.m
	switch {
	case s.denoised.Data != nil:
		s.profile.enter(PhaseRead)
		f := s.f.SliceRows(0, len(r.at))
		for b, i := range r.at {
			copy(f.Row(b), s.denoised.Row(int(i)))
		}
		return s.classify(f, engine.Matrix{}, r)
	case m.Config.Gradient == GradientDetached:
		f := s.features(r)
		s.profile.enter(PhaseAscent)
		m.potential.Ascend(s.e, f, m.Config.Steps)
		s.profile.ascended()
		return s.classify(f, engine.Matrix{}, r)
	}
	return s.exact(r)
}

// exact computes gradients through the classifier, all ascent steps and the extractor.
func (s *Trainer) exact(r rows) float64 {
	m, e := s.m, s.e
	clean, x := s.climb(r)
	v := s.v.SliceRows(0, len(r.at))
	loss := s.losses(r, x, v, clean)
	s.profile.enter(PhaseAscentBackward)
	m.potential.Backward(e, &s.path, v) // v becomes dL/dx_0
	s.profile.ascended()
	loss += s.densities(r)
	s.profile.enter(PhaseSums)
	m.potential.Gradients(e)
	if s.last && s.team != nil {
		s.sendFirst()
	}
	m.extractor.Backward(e, &s.tape, engine.Matrix{}, v)
	s.profile.enter(PhaseOther)
	return loss
}

// climb takes rows forward, images to features x_0 and x_0 uphill to x_n, which it returns with the clean features of
// the denoising loss.
func (s *Trainer) climb(r rows) (clean, x engine.Matrix) {
	clean, x = s.cleanFeatures(r), s.features(r)
	s.profile.enter(PhasePrecisions)
	s.m.potential.Mixture(s.e)
	s.profile.enter(PhaseAscent)
	s.m.potential.Forward(s.e, x, s.m.Config.Steps, &s.path)
	s.profile.enter(PhaseOther)
	markUsed(s.used, &s.path)
	return clean, x
}

// losses returns what the losses at x_n, features x of rows, add to the loss of their minibatch, and sets v = dL/dx_n.
// clean are the clean features of the rows that climbed with these.
func (s *Trainer) losses(r rows, x, v, clean engine.Matrix) float64 {
	return s.classify(x, v, r) + s.denoise(v, x, clean, r)
}

// densities returns what the losses at x_0 add to the loss of the minibatch of rows. Their gradient goes to that of the
// potential only.
func (s *Trainer) densities(r rows) (loss float64) {
	if s.likelihood == nil && s.matching == nil {
		return 0
	}
	s.profile.enter(PhaseDensity)
	x := s.path.XAt(0).SliceRows(r.memory, r.memory+len(r.at))
	if s.likelihood != nil {
		s.nll = s.likelihood.Loss(s.e, x, r.Piece)
		loss += float64(s.m.Config.NLL * s.nll)
	}
	if s.matching != nil {
		s.score = s.matching.Loss(s.e, x, s.updates, r.Piece)
		loss += float64(s.m.Config.Score * s.score)
	}
	return loss
}

// noisy returns how many of the first rows of r get noise, which the first half of a minibatch does.
func (s *Trainer) noisy(r rows) int { return min(max(s.noise.Rows(r.Of)-r.First, 0), len(r.at)) }

// features returns the features of rows, with their noise.
func (s *Trainer) features(r rows) engine.Matrix {
	x, f := s.x.SliceRows(0, len(r.at)), s.f.SliceRows(0, len(r.at))
	n := s.noisy(r)
	s.profile.enter(PhaseRead)
	if n > 0 {
		noisy, clean := x.SliceRows(0, n), s.levels
		if s.noise.Unclamped {
			clean = s.input
		}
		clean.into(s.e, noisy, r.set, r.at[:n])
		s.profile.enter(PhaseNoise)
		s.noise.AddPiece(s.e, noisy, r.First, s.updates)
		s.profile.enter(PhaseRead)
		if !s.noise.Unclamped {
			s.input.finish(s.e, noisy)
		}
	}
	s.input.into(s.e, x.SliceRows(n, len(r.at)), r.set, r.at[n:])
	for _, d := range s.dropouts {
		d.SetPass(uint64(s.updates))
		d.SetRow(r.First)
	}
	copy(f.Data, s.m.extractor.Forward(s.e, &s.tape, x, layer.Training).Data)
	s.profile.enter(PhaseOther)
	return f
}

// cleanFeatures returns the features, without noise, of the rows that get noise; empty
// without a denoising loss.
func (s *Trainer) cleanFeatures(r rows) engine.Matrix {
	n := s.noisy(r)
	if s.m.Config.Denoising == 0 || n == 0 {
		return engine.Matrix{}
	}
	x, clean := s.x.SliceRows(0, n), s.clean.SliceRows(0, n)
	s.profile.enter(PhaseRead)
	s.input.into(s.e, x, r.set, r.at[:n])
	copy(clean.Data, s.m.extractor.Forward(s.e, &s.cleanTape, x, layer.Evaluation).Data)
	return clean
}

// classify runs the classifier on xn forward and backward, and returns what the rows add to the mean
// cross-entropy. v, unless empty, is set to dL/dx_n.
func (s *Trainer) classify(xn, v engine.Matrix, r rows) float64 {
	s.profile.enter(PhaseHead)
	n := xn.Rows
	s.profile.classified(n)
	y, dy := s.y.SliceRows(r.memory, r.memory+n), s.dy.SliceRows(r.memory, r.memory+n)
	labels := s.labels[:n]
	for b, i := range r.at {
		labels[b] = r.set.Labels[i]
	}
	if s.m.Config.Balance {
		s.tally.Weights = s.classWeights(r.set)
	}
	s.m.head.Forward(s.e, y, xn, layer.Training)
	sum := s.tally.Add(s.e, y, labels, dy, 1/float32(r.Of))
	s.m.head.Backward(s.e, v, xn, y, dy)
	return sum / float64(r.Of)
}

// classWeights returns the weights of the classes of set.
func (s *Trainer) classWeights(set *dataset.Set) []float32 {
	if s.balanced != set {
		s.weights, s.balanced = layer.BalancedWeights(set.Labels, len(s.m.Classes)), set
	}
	return s.weights
}

// denoise returns what rows add to the denoising loss, Config.Denoising times the mean of (x_n - clean)^2 over the
// elements of clean features of the minibatch. The rows of clean are the first in the trainer's memory. It adds the
// gradient to v = dL/dx_n. No gradient goes to clean: otherwise constant features would be optimal.
func (s *Trainer) denoise(v, xn, clean engine.Matrix, r rows) float64 {
	n := s.noisy(r)
	if len(clean.Data) == 0 || n == 0 {
		return 0
	}
	clean = clean.SliceRows(r.memory, r.memory+n)
	weight := s.m.Config.Denoising / float64(s.noise.Rows(r.Of)*clean.Cols)
	slope, sum := float32(2*weight), 0.0
	for j, c := range clean.Data {
		d := xn.Data[j] - c
		sum += float64(float64(d) * float64(d))
		v.Data[j] += float32(slope * d)
	}
	return float64(weight * sum)
}

// check returns the norm of the gradient, and names what is not finite, if anything.
func (s *Trainer) check(loss float64) (norm float64, what string) {
	s.profile.enter(PhaseNorm)
	clear(s.squares)
	var sum float64
	for i, p := range s.params {
		v := s.sumSquares(i)
		s.squares[p.Group] += v
		sum += v
	}
	norm = math.Sqrt(sum)
	what = s.notFinite(loss, norm)
	s.profile.enter(PhaseOther)
	return norm, what
}

// notFinite is layer.NotFinite by the sums of squares, which are not finite where an element is not.
func (s *Trainer) notFinite(loss, norm float64) string {
	if !linalg.IsFinite(loss) {
		return "loss"
	}
	if norm*norm <= math.MaxFloat32 {
		return ""
	}
	for i, p := range s.params {
		if !linalg.IsFinite(s.sumSquares(i)) {
			return "gradient of " + p.Name
		}
	}
	return "norm of the gradient"
}

// sumSquares returns that of the gradient of tensor i.
func (s *Trainer) sumSquares(i int) float64 {
	if s.team != nil {
		return s.team.sumSquares(i)
	}
	return s.e.SumSquares(s.params[i].Grad)
}

// update makes one step of the optimiser, with the gradient scaled down to Config.Clip if its norm is
// larger; rate multiplies the learning rates.
func (s *Trainer) update(rate, norm float64) error {
	c, p := s.m.Config, s.m.potential
	clip := layer.Clip(norm, c.Clip)
	s.profile.enter(PhaseOptimiser)
	for _, q := range s.owned {
		s.step(s.e, q.Param, q.Data, c.learningRate(q.Group)*rate, clip)
	}
	s.adam.Next()
	if s.team != nil {
		s.profile.enter(PhaseMessages)
		if err := s.team.gather(); err != nil {
			return err
		}
	}
	s.updates++
	s.m.fresh = false
	if c.Gradient == GradientExact {
		s.profile.enter(PhaseRetraction)
		p.Updated(s.e)
	}
	s.profile.end()
	return nil
}
