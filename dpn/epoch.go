package dpn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
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
	Ascent      *AscentCost `json:"ascent,omitempty"`   // of the last update, see there; nil with gradient detached
	Warnings    []Warning   `json:"warnings,omitempty"` // new in this epoch, or before the first
}

// AscentCost is what the ascent of a minibatch has cost; of one in pieces, that of the last piece with rows on rank 0,
// or of all its rows there if they share one ascent. It depends on the route and on the number of ranks, as times do
// and no other figure.
type AscentCost struct {
	Route string `json:"route"` // dense or sparse
	// share of the pairs (image, component) skipped, over all steps
	Saved float64           `json:"saved"`
	Steps []ascent.StepWork `json:"steps,omitempty"` // of the sparse route, for each step and an image
}

// cost returns what the last ascent of m has cost.
func cost(m *Model) *AscentCost {
	w := m.potential.Work()
	return &AscentCost{w.Route.String(), w.Saved(), w.PerRow()}
}

// epoch makes one pass over the training images in a new random order, or the rest of one that was
// interrupted, validates, and keeps what there is to keep.
func (f *fitting) epoch(ctx context.Context, all int) error {
	if f.Running == nil {
		f.Running = newPass(f.m.Config.Components)
	}
	p := f.Running
	p.begun = time.Now()
	h, err := f.measure(ctx, all, p)
	due, err := f.agree(ctx, err)
	if err != nil {
		return f.end(ctx, p, err)
	}
	before := f.paused()
	warnings := f.news(p)
	h.Warnings = append(p.Warnings, warnings...)
	h.Seconds = p.paused().Seconds
	if err := f.lines.add(h); err != nil {
		return err
	}
	f.Running = nil
	f.Epochs++
	f.Metrics = f.lines.prefix()
	if f.Best == 0 || h.ValLoss == nil || *h.ValLoss < *f.BestLoss {
		f.Best, f.BestLoss = f.Epochs, h.ValLoss
		f.bestModel = copyParams(f.bestModel, f.m.Params())
	}
	err = f.saveEpoch(before, due, !f.more(all))
	if f.opt.OnEpoch != nil {
		f.opt.OnEpoch(h)
	}
	f.warn(warnings)
	return err
}

// paused returns the progress as another call of Fit can go on with it.
func (f *fitting) paused() progress {
	p := f.progress
	if p.Running != nil {
		p.Running = p.Running.paused()
	}
	return p
}

// end keeps what there is to keep when an epoch does not finish because of err, and returns err.
func (f *fitting) end(ctx context.Context, p *pass, err error) error {
	defer f.await()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		if err := f.gatherMoments(); err != nil {
			return err
		}
		if unsaved := f.saveLast(f.checkpoint, false); unsaved != nil {
			return unsaved
		}
		return err
	}
	if errors.As(err, new(*NotFiniteError)) {
		f.explain(ctx, p)
	}
	if f.Epochs > f.saved.epochs { // of the last moment
		save := func() error { return f.save(f.progress, false) }
		if unsaved := f.saveLast(save, false); unsaved != nil {
			return fmt.Errorf("%w; %w", err, unsaved)
		}
	}
	return err
}

// checkpoint saves the folder in the middle of an epoch.
func (f *fitting) checkpoint() error {
	running := f.Running
	defer func() { f.Running = running }()
	f.progress = f.paused()
	return f.save(f.progress, true)
}

// measure makes the updates of the next epoch and measures the result.
func (f *fitting) measure(ctx context.Context, all int, p *pass) (h Epoch, err error) {
	m, number, made := f.m, f.Epochs+1, f.Updates
	if err := f.pass(ctx, number, all, p); err != nil {
		return h, err
	}
	if f.Updates > made && m.Config.Gradient == GradientExact && m.Config.Steps > 0 && m.potential.Work().Rows > 0 {
		p.Ascent = cost(f.m)
	}
	if err := f.compare(ctx, number); err != nil {
		return h, err
	}
	h = p.epoch(m, f.Updates)
	h.Epoch, h.Ascent = number, p.Ascent
	if f.val.Len() == 0 {
		if err := f.sound(ctx, number); err != nil {
			return h, err
		}
	} else {
		v, err := f.validate(ctx)
		if errors.As(err, new(*OutputError)) || err == nil && !linalg.IsFinite(v.Loss) {
			return h, &NotFiniteError{Epoch: number, Update: f.Updates, What: "validation loss"}
		}
		if err != nil {
			return h, err
		}
		h.ValLoss, h.ValAccuracy = &v.Loss, &v.Accuracy
	}
	for _, p := range m.Params() {
		for _, v := range p.Data {
			if !linalg.IsFinite(v) {
				return h, &NotFiniteError{Epoch: number, Update: f.Updates, What: "tensor " + p.Name}
			}
		}
	}
	if m.Config.Gradient == GradientExact {
		if tensor, problem := m.potential.CheckDefinite(f.e); problem != "" {
			return h, &NotDefiniteError{Epoch: number, Tensor: tensor, Problem: problem}
		}
	}
	err = f.diagnose(ctx, f.ranks(), p)
	h.Diagnostics = p.diagnostics
	return h, err
}

// pass makes the updates of an epoch.
func (f *fitting) pass(ctx context.Context, number, all int, p *pass) error {
	m, s := f.m, f.step
	copy(s.used, p.used)
	loop := layer.Loop{Batch: m.Config.Batch, Updates: &f.Updates, All: all}
	order := num.NewRand(m.Config.Seed, stream.Shuffle+uint64(number))
	until := ctx
	if s.team != nil { // each update agrees on whether to go on
		until = context.Background()
	}
	return loop.Pass(until, f.train.Len(), p.Updates, order, func(at []int32) error {
		if f.checkpointDue(f.Updates) && (s.team == nil || f.gathered) {
			f.tolerate(f.checkpoint())
		}
		return f.update(ctx, number, all, p, at)
	})
}

// update makes an update with the images at.
func (f *fitting) update(ctx context.Context, number, all int, p *pass, at []int32) error {
	m, s := f.m, f.step
	begun := time.Now()
	s.profile.begin()
	f.signal()
	loss, err := s.gradients(whole(f.train, at))
	if err != nil {
		return err
	}
	if err := f.stopped(ctx); err != nil { // the ascent may have been given up
		return err
	}
	norm, what := s.check(loss)
	if what != "" {
		return &NotFiniteError{Epoch: number, Update: f.Updates + 1, What: what}
	}
	p.add(s, norm)
	err = s.update(layer.Rate(m.Config.Schedule, m.Config.Warmup, number-1, f.Updates, all), norm)
	if err == nil {
		err = f.gatherAsked()
	}
	if err != nil {
		return err
	}
	f.took(time.Since(begun).Seconds())
	if f.opt.OnUpdate != nil {
		f.opt.OnUpdate(f.Updates+1, all, loss)
	}
	return nil
}

// epoch sums up.
func (p *pass) epoch(m *Model, updates int) Epoch {
	score := p.Sums.Score()
	h := Epoch{TrainLoss: score.Loss, TrainAccuracy: score.Accuracy, Updates: updates,
		GradientNorm: median(p.norms[""]), Alpha: m.potential.Alpha()}
	n := float64(max(p.Updates, 1))
	if m.Config.NLL > 0 {
		v := p.NLL / n
		h.NLL = &v
	}
	if m.Config.Score > 0 {
		v := p.Score / n
		h.ScoreMatching = &v
	}
	return h
}

// stalled says whether the validation loss has not improved for Config.Patience epochs.
func (f *fitting) stalled() bool {
	n := f.m.Config.Patience
	return n > 0 && f.Epochs >= f.Best+n
}

// sound checks that the loss on the first training images is finite, if there are no validation
// images.
func (f *fitting) sound(ctx context.Context, number int) error {
	_, err := f.m.Score(ctx, f.e, f.train.Slice(0, min(f.m.Config.Batch, f.train.Len())))
	if errors.As(err, new(*OutputError)) {
		err = &NotFiniteError{Epoch: number, Update: f.Updates, What: "loss at the end of the epoch"}
	}
	return err
}

// median returns the middle of x, or 0 of nothing: JSON has no NaN.
func median[T float32 | float64](x []T) float64 {
	if len(x) == 0 {
		return 0
	}
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	slices.Sort(wide)
	return stat.Quantile(wide, 0.5)
}
