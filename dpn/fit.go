package dpn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/mpi"
)

// FitOptions say what happens around training.
type FitOptions struct {
	Dir    string // folder to keep models and metrics in, which must be there; empty: nowhere
	Resume bool   // go on from the state in Dir, which must be there

	// The folder is saved after each epoch, unless the last save was a moment ago, and when training ends, also
	// by its context. In the middle of an epoch it is saved after so many updates and after so much time since the
	// last save; 0: not for this reason. A save that fails is a Warning in Log, and training goes on; the last one
	// is tried twice.
	CheckpointUpdates  int
	CheckpointInterval time.Duration

	Validation *dataset.Set // images of Config.ValData, if that is set

	Final bool         // evaluate the model that training leaves: FitResult.Final
	Test  *dataset.Set // on these samples, unless nil or without labels, beside the validation samples

	// Stale are files of an earlier run: they are removed when this one is saved first, and not before.
	Stale []string

	Profile *Profile // measures the updates; nil: none does

	// Comm, unless nil, is one of several ranks that train the network together: all call Fit with the same model,
	// images and settings, and end with the same weights, which do not depend on how many there are, at most
	// Config.Shards. Rank 0 alone writes to Dir and calls the functions below. If the context of one ends, all stop.
	// Only packages of this module can make one.
	Comm mpi.Comm

	OnEM      func(done, all int)               // after each iteration of EM (init em and em-classwise)
	OnPrepare func(done, all int)               // while denoised features are computed once for all epochs
	OnEpoch   func(Epoch)                       // after each finished epoch
	OnUpdate  func(done, all int, loss float64) // after each update
	OnSave    func(epochs, updates int)         // after each save that succeeds; both are finished
	OnFinal   func()                            // before the evaluation of Final
	Log       *slog.Logger                      // what else happens, each Warning among it; nil: nothing is logged
}

// FitResult sums up training.
type FitResult struct {
	Epochs  []Epoch             // without those before a Resume for which metrics.jsonl is missing
	Best    int                 // epoch whose model was kept, from 1
	Stopped bool                // early, because of Config.Patience
	Updates int                 // made in all, also in an epoch that did not finish
	Init    *InitResult         // of the centres; nil when training was resumed
	EM      *potential.EMResult // also when it was resumed; nil unless Config.Init asks for it
	Already bool                // nothing was left to train: an earlier call had finished
	Final   *FinalScores        // nil then, with an error, and without FitOptions.Final
	// before the first epoch: centres, and denoised features if they never change; of all calls
	PrepareSeconds   float64
	Seconds          float64 // of all epochs, and of that
	SecondsPerUpdate float64 // median of one of the last updates
}

// NotFiniteError says that training stopped because a number was infinite or NaN.
type NotFiniteError struct {
	Epoch, Update int    // from 1; 0 outside Fit
	What          string // that of layer.NotFinite, or the loss or tensor that an epoch ended with
}

func (e *NotFiniteError) Error() string {
	where := ""
	if e.Epoch > 0 {
		where = fmt.Sprintf("epoch %d, update %d: ", e.Epoch, e.Update)
	}
	return where + "the " + e.What + " is not finite; " +
		"try a lower potential-lr or lr, a smaller alpha*scale^2 (well below 2), fewer steps, or clip 1"
}

// NotDefiniteError says that training stopped because precisions were no longer positive
// definite: there the potential would have no top to climb to.
type NotDefiniteError struct {
	Epoch   int    // from 1
	Tensor  string // name in a model file
	Problem string
}

func (e *NotDefiniteError) Error() string {
	return fmt.Sprintf(
		"epoch %d: the precisions are no longer positive definite: tensor %q: %s; try a lower potential-lr",
		e.Epoch, e.Tensor, e.Problem)
}

// onEM follows EM.
func (f *fitting) onEM(done int, logLikelihood float64) {
	f.opt.Log.Debug("EM", "iteration", done, "log_likelihood", logLikelihood)
	if f.opt.OnEM != nil {
		f.opt.OnEM(done, f.m.Config.EMIterations)
	}
}

// Fit trains the model on s, of which Split keeps images for validation. It places the centres,
// trains, and leaves the model as it was after the epoch with the lowest validation loss (without
// validation images: after the last epoch).
//
// The model must come from New: Fit would place new centres under weights that were trained
// with others. To continue from weights use a Trainer; to continue a run, FitOptions.Resume.
//
// Fit stops with the error of ctx when ctx ends, with a *NotFiniteError if the loss or the gradient
// is not finite, and with a *NotDefiniteError if precisions are not positive definite at the end
// of an epoch. If epochs had finished before the error, Fit returns them with it and leaves the
// best of them in the model; the files written are valid. Otherwise the result is nil, and the
// model must not be used. When ctx ends, the folder is saved, so that only the running update is lost.
func (m *Model) Fit(ctx context.Context, e *engine.Engine, s *dataset.Set, opt FitOptions) (*FitResult, error) {
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	if opt.Resume {
		m.lastSplit = false // earlier versions had other states
	}
	train, val, err := m.split(s)
	if err != nil {
		return nil, err
	}
	if m.Config.ValData != "" {
		if opt.Validation == nil {
			return nil, badSetting("val-data", m.Config.ValData, "expected its images in FitOptions.Validation")
		}
		if err := m.CheckValidation(opt.Validation); err != nil {
			return nil, fmt.Errorf("val-data %s: %w", m.Config.ValData, err)
		}
		val, m.origin.val = opt.Validation, prefixHashes(opt.Validation)
	}
	if opt, err = m.rankOptions(opt); err != nil {
		return nil, err
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	f := &fitting{m: m, e: e, train: train, val: val, opt: opt, lines: newMetrics(), begun: now()}
	return f.run(ctx)
}

// fitting is one call of Fit.
type fitting struct {
	m          *Model
	e          *engine.Engine
	train, val *dataset.Set
	opt        FitOptions
	step       *Trainer
	cancel     context.CancelFunc // of the context of run, with FitOptions.Comm
	gathered   bool               // rank 0 has the moments of all ranks after the last update
	begun      time.Time
	progress

	lines     *metrics
	saved     saved
	tried     attempt // the last one
	bestModel [][]float32
	data      string      // fingerprint of the training images
	placed    *InitResult // nil when resumed

	sample *dataset.Set // for the diagnostics
	fixed  *Diagnostics // of the ascents as they last were

	denoisedVal engine.Matrix // as Trainer.denoised, of the validation samples
}

func (f *fitting) run(ctx context.Context) (*FitResult, error) {
	m := f.m
	f.tried.at = f.begun
	f.step = newTrainer(m, f.e, f.opt.Comm)
	if f.step.team != nil {
		ctx, f.cancel = context.WithCancel(ctx)
		defer f.cancel()
	}
	if f.opt.Profile != nil {
		f.step.SetProfile(f.opt.Profile)
		defer f.step.SetProfile(nil)
	}
	f.step.path.Stop = func() bool { return ctx.Err() != nil }
	if f.step.matching != nil {
		f.step.matching.Stop = f.step.path.Stop
	}
	f.sample = m.sample(f.train)
	perEpoch := (f.train.Len() + m.Config.Batch - 1) / m.Config.Batch
	all := layer.AllUpdates(m.Config.Epochs, perEpoch, m.Config.MaxUpdates)
	resumed, err := f.resume(ctx, perEpoch, all)
	if err != nil {
		return nil, err
	}
	if !resumed && !m.fresh {
		return nil, errors.New("Fit needs a model from New; " +
			"use a Trainer to continue from weights, or FitOptions.Resume to continue a run")
	}
	already := !f.more(all) && resumed
	if !already {
		if _, err := f.tell(ctx, f.checkDir()); err != nil {
			return nil, err
		}
		err = f.prepare(ctx, resumed)
		f.Prepared += now().Sub(f.begun).Seconds()
	}
	if err == nil && !resumed {
		err = f.begin(ctx)
	}
	if !already {
		if _, err = f.tell(ctx, err); err == nil { // updates would not show it: a rank gets what the others have moved
			err = f.compare(ctx, f.Epochs)
		}
	}
	for err == nil && f.more(all) {
		err = f.epoch(ctx, all)
	}
	if err == nil && !already {
		f.warn(m.unconverged(f.lines.history, f.Warned))
	}
	if f.bestModel == nil { // no epoch has finished
		return nil, err
	}
	f.restoreBest()
	if err == nil {
		err = f.measureUnknown(ctx)
	}
	var final *FinalScores
	if err == nil && !already && f.opt.Final {
		final, err = f.evaluate(ctx)
	}
	r := f.result()
	r.Final = final
	var unsaved *UnsavedError
	ended := err == nil || errors.As(err, &unsaved) && unsaved.Finished
	r.Already, r.Stopped = already, ended && f.Updates < all
	return r, err
}

// restoreBest sets the parameters to those of the best epoch.
func (f *fitting) restoreBest() {
	for i, p := range f.m.Params() {
		copy(p.Data, f.bestModel[i])
	}
	f.m.potential.SetAlpha(f.m.potential.Alpha())
	f.m.potential.Changed()
	f.m.epoch = f.Best
}

// result sums up the finished epochs.
func (f *fitting) result() *FitResult {
	r := &FitResult{
		Epochs:           f.lines.history,
		Init:             f.placed,
		EM:               f.EM,
		Best:             f.Best,
		Updates:          f.Updates,
		PrepareSeconds:   f.Prepared,
		Seconds:          f.Prepared,
		SecondsPerUpdate: median(f.Times),
	}
	for _, h := range f.lines.history {
		r.Seconds += h.Seconds
	}
	return r
}

// more says whether there is more to train.
func (f *fitting) more(all int) bool { return f.Running != nil || f.Updates < all && !f.stalled() }

// prepare places the centres, and computes the denoised features if they never change.
func (f *fitting) prepare(ctx context.Context, resumed bool) (err error) {
	m, log := f.m, f.opt.Log
	if resumed {
		log.Info("resumed", "epochs", f.Epochs, "updates", f.Updates)
	} else {
		if f.placed, err = m.place(ctx, f.e, f.ranks(), f.train, f.onEM); err != nil {
			return err
		}
		f.placed.log(log, m.Config)
		f.EM = f.placed.EM
	}
	if !m.Config.denoisesOnce() {
		return nil
	}
	all := f.train.Len() + f.val.Len()
	report := func(before int) func(int) {
		return func(done int) {
			if f.opt.OnPrepare != nil {
				f.opt.OnPrepare(before+done, all)
			}
		}
	}
	if f.step.denoised, err = m.rows(ctx, f.e, f.ranks(), f.train, m.Config.Steps, report(0)); err != nil {
		return err
	}
	if f.denoisedVal, err = m.rows(ctx, f.e, f.ranks(), f.val, m.Config.Steps, report(f.train.Len())); err != nil {
		return err
	}
	log.Info("denoised features computed once for all epochs", "images", f.step.denoised.Rows+f.denoisedVal.Rows)
	return nil
}
