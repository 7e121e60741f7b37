package dpn

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/stat"
)

// Epoch is what training measured in one epoch. The training figures are cross-entropy and
// accuracy of the minibatches as they were used, noise included; without validation
// images the val fields are nil. Those are clean.
type Epoch struct {
	Epoch         int      `json:"epoch"` // from 1
	TrainLoss     float64  `json:"train_loss"`
	TrainAccuracy float64  `json:"train_accuracy"`
	ValLoss       *float64 `json:"val_loss"`
	ValAccuracy   *float64 `json:"val_accuracy"`
	Seconds       float64  `json:"seconds"`
	Updates       int      `json:"updates"`       // made by the end of the epoch
	GradientNorm  float64  `json:"gradient_norm"` // median over the updates, before clipping
	Alpha         float32  `json:"alpha"`         // step size of the ascent at the end

	// Means over the updates, without the weights; nil where the setting is 0.
	NLL           *float64 `json:"nll,omitempty"`            // negative log-likelihood for each feature
	ScoreMatching *float64 `json:"score_matching,omitempty"` // loss of score matching; 1: that of a constant potential

	Diagnostics Diagnostics `json:"diagnostics"`
	Ascent      *AscentCost `json:"ascent,omitempty"`   // of the last update; nil with gradient detached
	Warnings    []Warning   `json:"warnings,omitempty"` // new in this epoch, or before the first
}

// AscentCost is what the ascent of a minibatch has cost. It depends on the route, and changes nothing
// else.
type AscentCost struct {
	Route      string `json:"route"`      // dense or sparse
	Precisions int    `json:"precisions"` // full P_i that were made for it
	// share of the pairs (image, component) skipped, over all steps
	Saved float64           `json:"saved"`
	Steps []ascent.StepWork `json:"steps,omitempty"` // of the sparse route, for each step and an image
}

// cost returns what the last ascent of m has cost.
func cost(m *Model) *AscentCost {
	w := m.potential.Work()
	return &AscentCost{w.Route.String(), w.Precisions, w.Saved(), w.PerRow()}
}

// epoch makes one pass over the training images in a new random order, validates, and
// keeps what there is to keep.
func (f *fitting) epoch(ctx context.Context, all int) error {
	start := time.Now()
	p := &pass{norms: map[string][]float64{}}
	h, err := f.measure(ctx, all, p)
	if err != nil {
		var bad *NotFiniteError
		if errors.As(err, &bad) {
			f.explain(ctx, p)
		}
		return err
	}
	better := f.best < 0 || h.ValLoss == nil || *h.ValLoss < *f.history[f.best].ValLoss
	warnings := f.news(p)
	h.Warnings = append(f.early, warnings...)
	h.Seconds = time.Since(start).Seconds()
	f.history = append(f.history, h)
	if better {
		f.best = len(f.history) - 1
		f.keepBest()
	}
	if err := f.write(better); err != nil {
		return err
	}
	if f.opt.OnEpoch != nil {
		f.opt.OnEpoch(h)
	}
	f.early = nil
	f.warn(warnings)
	return nil
}

// measure makes the updates of the next epoch and measures the result.
func (f *fitting) measure(ctx context.Context, all int, p *pass) (h Epoch, err error) {
	m, number := f.m, len(f.history)+1
	if err := f.pass(ctx, number, all, p); err != nil {
		return h, err
	}
	h = p.epoch(m, f.updates)
	h.Epoch = number
	if m.Config.Gradient == "exact" && m.Config.Steps > 0 {
		h.Ascent = cost(f.m)
	}
	if f.val.Len() == 0 {
		if err := f.sound(ctx, number); err != nil {
			return h, err
		}
	} else {
		v, err := f.validate(ctx)
		if errors.As(err, new(*OutputError)) || err == nil && !linalg.IsFinite(v.Loss) {
			return h, &NotFiniteError{Epoch: number, Update: f.updates, What: "validation loss"}
		}
		if err != nil {
			return h, err
		}
		h.ValLoss, h.ValAccuracy = &v.Loss, &v.Accuracy
	}
	for _, p := range m.Params() {
		for _, v := range p.Data {
			if !linalg.IsFinite(v) {
				return h, &NotFiniteError{Epoch: number, Update: f.updates, What: "tensor " + p.Name}
			}
		}
	}
	if m.Config.Gradient == "exact" {
		if tensor, problem := m.potential.CheckDefinite(f.e); problem != "" {
			return h, &NotDefiniteError{Epoch: number, Tensor: tensor, Problem: problem}
		}
	}
	err = f.diagnose(ctx, p)
	h.Diagnostics = p.diagnostics
	return h, err
}

// pass is what one pass over the training images measures, update by update.
type pass struct {
	tally       layer.Tally
	updates     int
	norms       map[string][]float64 // of the gradient, by group, and of all under ""
	clipped     int
	nll, score  float64 // sums over the updates
	diagnostics Diagnostics
}

// pass makes the updates of an epoch.
func (f *fitting) pass(ctx context.Context, number, all int, p *pass) error {
	m, s := f.m, f.step
	clear(s.used)
	loop := layer.Loop{Batch: m.Config.Batch, Updates: &f.updates, All: all}
	order := num.NewRand(m.Config.Seed, stream.Shuffle+uint64(number))
	return loop.Pass(ctx, f.train.Len(), order, func(at []int32) error {
		begun := time.Now()
		var loss float64
		if m.Config.denoisesOnce() {
			loss = s.detached(f.denoised, f.train, at, &p.tally)
		} else {
			loss = s.gradients(f.train, at, &p.tally)
		}
		if err := ctx.Err(); err != nil { // the ascent may have been given up
			return err
		}
		norm, what := s.check(loss)
		if what != "" {
			return &NotFiniteError{Epoch: number, Update: f.updates + 1, What: what}
		}
		p.add(s, norm)
		s.update(layer.Rate(m.Config.Schedule, m.Config.Warmup, f.updates, all), norm)
		if f.seconds = append(f.seconds, time.Since(begun).Seconds()); len(f.seconds) > 2*keptSeconds {
			f.seconds = slices.Delete(f.seconds, 0, len(f.seconds)-keptSeconds)
		}
		if f.opt.OnStep != nil {
			f.opt.OnStep(f.updates+1, all, loss)
		}
		return nil
	})
}

// add adds the gradient norms and losses of a minibatch.
func (p *pass) add(s *Trainer, norm float64) {
	p.updates++
	p.norms[""] = append(p.norms[""], norm)
	for group, v := range s.squares {
		p.norms[group] = append(p.norms[group], math.Sqrt(v))
	}
	if layer.Clip(norm, s.m.Config.Clip) < 1 {
		p.clipped++
	}
	p.nll += s.nll
	p.score += s.score
}

// epoch sums up.
func (p *pass) epoch(m *Model, updates int) Epoch {
	score := p.tally.Score()
	h := Epoch{TrainLoss: score.Loss, TrainAccuracy: score.Accuracy, Updates: updates,
		GradientNorm: median(p.norms[""]), Alpha: m.potential.Alpha()}
	n := float64(max(p.updates, 1))
	if m.Config.NLL > 0 {
		v := p.nll / n
		h.NLL = &v
	}
	if m.Config.Score > 0 {
		v := p.score / n
		h.ScoreMatching = &v
	}
	return h
}

// stalled says whether the validation loss has not improved for Config.Patience epochs.
func (f *fitting) stalled() bool {
	n := f.m.Config.Patience
	return n > 0 && len(f.history) > f.best+n
}

// sound checks that the loss on the first training images is finite, if there are no validation
// images.
func (f *fitting) sound(ctx context.Context, number int) error {
	_, err := f.m.Score(ctx, f.e, f.train.Slice(0, min(f.m.Config.Batch, f.train.Len())))
	if errors.As(err, new(*OutputError)) {
		err = &NotFiniteError{Epoch: number, Update: f.updates, What: "loss at the end of the epoch"}
	}
	return err
}

func (f *fitting) validate(ctx context.Context) (Score, error) {
	if !f.m.Config.denoisesOnce() {
		return f.m.Score(ctx, f.e, f.val)
	}
	var t layer.Tally
	t.Add(f.e, f.m.Logits(f.e, f.denoisedVal), f.val.Labels, engine.Matrix{}, 0)
	return t.Score(), nil
}

// keepBest remembers the parameters as they are.
func (f *fitting) keepBest() {
	for i, p := range f.m.Params() {
		if len(f.bestModel) <= i {
			f.bestModel = append(f.bestModel, make([]float32, len(p.Data)))
		}
		copy(f.bestModel[i], p.Data)
	}
}

// median returns the middle of x, or 0 of nothing: JSON has no NaN.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return stat.Median(x)
}
