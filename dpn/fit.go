package dpn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/atomicfile"
	"dpnbench/internal/stat"
)

// Files that Fit keeps in its folder.
const (
	ModelFile   = "model.safetensors" // the best epoch so far
	LastFile    = "last.safetensors"  // the last finished epoch
	StateFile   = "state.safetensors" // what resuming needs
	MetricsFile = "metrics.jsonl"     // a line an epoch
	ConfigFile  = "config.toml"       // the settings used in the end
)

// Epoch is what training measured in one epoch. The training figures are cross-entropy and
// accuracy of the minibatches as they were used, noise included; without validation
// pictures the val fields are nil. Those are clean.
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
	Warnings    []Warning   `json:"warnings,omitempty"` // those that this epoch brought (the first: and what came before it)
}

// AscentCost is what the ascent of a minibatch has cost. It depends on the route, and changes nothing
// else.
type AscentCost struct {
	Route      string            `json:"route"`           // dense or sparse
	Precisions int               `json:"precisions"`      // full P_i that were made for it
	Saved      float64           `json:"saved"`           // share of all pairs of a picture and a component, in all steps, that were left out
	Steps      []engine.StepWork `json:"steps,omitempty"` // of the sparse route, for each step and a picture
}

// cost returns what the last ascent on e has cost.
func cost(e *engine.Engine) *AscentCost {
	w := e.Work()
	return &AscentCost{w.Route.String(), w.Precisions, w.Saved(), w.PerRow()}
}

// FitOptions say what happens around training.
type FitOptions struct {
	Dir    string // folder to keep models and metrics in, which must be there; empty: nowhere
	Resume bool   // go on from the state in Dir, which must be there

	OnEM      func(done, all int)               // after each iteration of EM (init em and em-classwise)
	OnPrepare func(done, all int)               // while denoised features are computed once for all epochs
	OnEpoch   func(Epoch)                       // after each finished epoch
	OnStep    func(done, all int, loss float64) // after each update
	Log       *slog.Logger                      // what else happens, each Warning among it; nil: nothing is logged
}

// FitResult sums up training.
type FitResult struct {
	Epochs         []Epoch
	Best           int         // epoch whose model was kept, from 1
	Stopped        bool        // early, because of Config.Patience
	Updates        int         // made in all, also in an epoch that did not finish
	Init           *InitResult // of the centres; nil when training was resumed
	Already        bool        // nothing was left to train: an earlier call had finished
	PrepareSeconds float64     // before the first epoch: centres, and denoised features if they never change; of all calls
	Seconds        float64     // of all epochs, and of that
	SecondsPerStep float64     // median of one update
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
	return where + "the " + e.What + " is not finite; try a lower potential-lr or lr, a smaller alpha*scale^2 (well below 2), fewer steps, or clip 1"
}

// NotDefiniteError says that training stopped because precisions were no longer positive
// definite: there the potential would have no top to climb to.
type NotDefiniteError struct {
	Epoch   int    // from 1
	Tensor  string // name in a model file
	Problem string
}

func (e *NotDefiniteError) Error() string {
	return fmt.Sprintf("epoch %d: the precisions are no longer positive definite: tensor %q: %s; try a lower potential-lr", e.Epoch, e.Tensor, e.Problem)
}

// Split divides training pictures into those that Fit trains on and the last ValSize, which
// it validates on.
func (m *Model) Split(s *dataset.Set) (train, val *dataset.Set, err error) {
	if err := m.CheckSet(s); err != nil {
		return nil, nil, err
	}
	return m.split(s)
}

// split is Split of pictures that fit.
func (m *Model) split(s *dataset.Set) (train, val *dataset.Set, err error) {
	if val, err = m.Validation(s); err != nil {
		return nil, nil, err
	}
	rest := s.Len() - val.Len()
	if m.Config.Components > rest {
		return nil, nil, badSetting("components", m.Config.Components, fmt.Sprintf("expected at most one for each of the %d pictures that are left for training", rest))
	}
	train = s.Slice(0, rest)
	if val.Len() == 0 && m.Config.Patience > 0 {
		return nil, nil, badSetting("patience", m.Config.Patience, "expected pictures to validate on with it (val-size)")
	}
	if m.Config.classwise() {
		if _, problem := potential.CentresByClass(train.Labels, m.Config.Components); problem != "" {
			return nil, nil, badSetting("components", m.Config.Components, problem+" (init "+m.Config.Init+")")
		}
	}
	return train, val, nil
}

// Validation returns the last of the training pictures s, which Fit keeps from training
// (Config.ValSize); there may be none.
func (m *Model) Validation(s *dataset.Set) (*dataset.Set, error) {
	n := m.Config.ValSize
	if n < 0 {
		n = s.Len() / 10
	}
	if n >= s.Len() {
		return nil, badSetting("val-size", m.Config.ValSize, fmt.Sprintf("expected fewer than the %d training pictures", s.Len()))
	}
	return s.Slice(s.Len()-n, s.Len()), nil
}

// onEM follows EM.
func (f *fitting) onEM(done int, logLikelihood float64) {
	f.opt.Log.Debug("EM", "iteration", done, "log_likelihood", logLikelihood)
	if f.opt.OnEM != nil {
		f.opt.OnEM(done, f.m.Config.EMIterations)
	}
}

// Check says whether Fit can train the model on s, as far as that can be known beforehand.
func (m *Model) Check(s *dataset.Set) error {
	if err := m.CheckSet(s); err != nil {
		return err
	}
	_, _, err := m.split(s)
	return err
}

// Fit trains the model on s, of which the last pictures are kept for validation, and
// leaves it as it was after the epoch with the lowest validation loss (without
// validation pictures: the last epoch). Training begins with the placement of the
// centres. So it takes a model of New: one that has learned, or was loaded, would get new
// centres under weights that fit the old ones, and is refused unless Resume replaces all of
// it; a Trainer goes on with such a model. It stops with ctx's error when ctx ends, with a *NotFiniteError when the loss or
// the gradient is not finite, and with a *NotDefiniteError when precisions are no longer
// positive definite at the end of an epoch. Where epochs had finished before an error, Fit
// returns them beside it and leaves the model as it was after the best of them; what they
// have written stays good. Without any the result is nil, and the model is not to be used.
func (m *Model) Fit(ctx context.Context, e *engine.Engine, s *dataset.Set, opt FitOptions) (*FitResult, error) {
	if err := m.CheckSet(s); err != nil {
		return nil, err
	}
	train, val, err := m.split(s)
	if err != nil {
		return nil, err
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	f := &fitting{m: m, e: e, train: train, val: val, opt: opt, best: -1}
	return f.run(ctx)
}

// fitting is one call of Fit.
type fitting struct {
	m          *Model
	e          *engine.Engine
	train, val *dataset.Set
	opt        FitOptions
	step       *Trainer
	progress

	cleaned   bool // the folder, of what a crash has left
	best      int  // index of the best epoch, or -1
	bestModel [][]float32
	data      string      // fingerprint of the training pictures
	placed    *InitResult // nil when resumed

	sample *dataset.Set // for the diagnostics
	fixed  *Diagnostics // of the ascents as they last were
	start  float64      // Diagnostics.EntropyStart
	early  []Warning    // given before the first epoch

	// Denoised features of both splits, when only the classifier learns, without noise: the
	// potential never changes, and neither do they.
	denoised, denoisedVal engine.Matrix
}

func (f *fitting) run(ctx context.Context) (*FitResult, error) {
	m := f.m
	begun := time.Now()
	f.step = NewTrainer(m, f.e)
	f.step.path.Stop = func() bool { return ctx.Err() != nil }
	if f.step.matching != nil {
		f.step.matching.Stop = f.step.path.Stop
	}
	f.sample = m.sample(f.train)
	resumed, err := f.resume()
	if err != nil {
		return nil, err
	}
	if !resumed && !m.fresh {
		return nil, errors.New("the model has learned before or was loaded from a file, expected one of New; to go on with its weights use a Trainer, to go on with a run that was cut off FitOptions.Resume with its folder")
	}
	perEpoch := (f.train.Len() + m.Config.Batch - 1) / m.Config.Batch
	all := m.Config.Epochs * perEpoch
	if m.Config.MaxUpdates > 0 {
		all = min(all, m.Config.MaxUpdates)
	}
	already := resumed && (f.updates >= all || f.stalled())
	if !already {
		if err := f.checkDir(); err != nil {
			return nil, err
		}
		err = f.prepare(ctx, resumed)
		f.prepared += time.Since(begun).Seconds()
	}
	if err == nil && !resumed {
		err = f.begin(ctx)
	}
	for err == nil && f.updates < all && !f.stalled() {
		err = f.epoch(ctx, all)
	}
	if f.bestModel == nil { // no epoch has finished
		return nil, err
	}
	for i, p := range m.Params() {
		copy(p.Data, f.bestModel[i])
	}
	m.potential.SetAlpha(m.potential.Alpha())
	m.potential.Changed()
	r := &FitResult{Epochs: f.history, Init: f.placed, Best: f.best + 1, Stopped: err == nil && f.updates < all, Updates: f.updates, Already: already, PrepareSeconds: f.prepared, Seconds: f.prepared}
	for _, h := range f.history {
		r.Seconds += h.Seconds
	}
	r.SecondsPerStep = median(f.seconds)
	return r, err
}

// prepare does what comes before the first update: it places the centres, and computes the
// denoised features if they never change.
func (f *fitting) prepare(ctx context.Context, resumed bool) (err error) {
	m, log := f.m, f.opt.Log
	if resumed {
		log.Info("resumed", "epoch", len(f.history), "updates", f.updates)
	} else {
		if f.placed, err = m.place(ctx, f.e, f.train, f.onEM); err != nil {
			return err
		}
		f.placed.log(log, m.Config)
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
	if f.denoised, err = m.rows(ctx, f.e, f.train, m.Config.Steps, report(0)); err != nil {
		return err
	}
	if f.denoisedVal, err = m.rows(ctx, f.e, f.val, m.Config.Steps, report(f.train.Len())); err != nil {
		return err
	}
	log.Info("denoised features computed once for all epochs", "pictures", f.denoised.Rows+f.denoisedVal.Rows)
	return nil
}

// epoch makes one pass over the training pictures in a new random order, validates, and
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

// measure makes the updates of the next epoch, and measures what came of them.
func (f *fitting) measure(ctx context.Context, all int, p *pass) (h Epoch, err error) {
	m, number := f.m, len(f.history)+1
	if err := f.pass(ctx, number, all, p); err != nil {
		return h, err
	}
	h = p.epoch(m, f.updates)
	h.Epoch = number
	if m.Config.Gradient == "exact" && m.Config.Steps > 0 {
		h.Ascent = cost(f.e)
	}
	if f.val.Len() == 0 {
		if err := f.sound(ctx, number); err != nil {
			return h, err
		}
	} else {
		v, err := f.validate(ctx)
		if err != nil {
			return h, err
		}
		if v.Loss-v.Loss != 0 {
			return h, &NotFiniteError{Epoch: number, Update: f.updates, What: "validation loss"}
		}
		h.ValLoss, h.ValAccuracy = &v.Loss, &v.Accuracy
	}
	for _, p := range m.Params() {
		for _, v := range p.Data {
			if v-v != 0 {
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

// pass is what one pass over the training pictures measures, update by update.
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
	order := make([]int32, f.train.Len())
	num.NewRand(m.Config.Seed, stream.Shuffle+uint64(number)).Permutation(order)
	clear(s.used)
	for lo := 0; lo < len(order) && f.updates < all; lo += m.Config.Batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := order[lo:min(lo+m.Config.Batch, len(order))]
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
		f.updates++
		if f.seconds = append(f.seconds, time.Since(begun).Seconds()); len(f.seconds) > 2*keptSeconds {
			f.seconds = slices.Delete(f.seconds, 0, len(f.seconds)-keptSeconds)
		}
		if f.opt.OnStep != nil {
			f.opt.OnStep(f.updates, all, loss)
		}
	}
	return nil
}

// add takes in the gradient of a minibatch.
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

// stalled says whether Config.Patience is at its end.
func (f *fitting) stalled() bool {
	n := f.m.Config.Patience
	return n > 0 && len(f.history) > f.best+n
}

// sound holds the weights that the epoch ended with against the first training pictures,
// where there are none to validate on.
func (f *fitting) sound(ctx context.Context, number int) error {
	v, err := f.m.Score(ctx, f.e, f.train.Slice(0, min(f.m.Config.Batch, f.train.Len())))
	if err == nil && v.Loss-v.Loss != 0 {
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

// checkDir fails where nothing can be written to the folder: the end of the first epoch
// would be late to find out.
func (f *fitting) checkDir() error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	probe, err := os.CreateTemp(dir, ".writable")
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) { // which names the probe, too
			err = pe.Err
		}
		return fmt.Errorf("folder %s: %w; expected one that is there and can be written to", dir, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// write keeps the finished epoch: the models and metrics first, the state last, so that
// resuming never starts from a state whose model is not there.
func (f *fitting) write(better bool) error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	if !f.cleaned {
		f.cleaned = true
		for _, name := range []string{StateFile, ModelFile, LastFile, MetricsFile, ConfigFile} {
			atomicfile.Clean(filepath.Join(dir, name))
		}
	}
	if path := filepath.Join(dir, StateFile); len(f.history) == 1 { // it is of an earlier run, and must not be taken for this one's
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fileError("state", path, err)
		}
	}
	if err := writeText(filepath.Join(dir, ConfigFile), f.m.Config.TOML()); err != nil {
		return err
	}
	if better {
		if err := f.m.Save(filepath.Join(dir, ModelFile)); err != nil {
			return fileError("model", filepath.Join(dir, ModelFile), err)
		}
	}
	if err := f.m.Save(filepath.Join(dir, LastFile)); err != nil {
		return fileError("model", filepath.Join(dir, LastFile), err)
	}
	if err := f.writeMetrics(); err != nil {
		return err
	}
	path := filepath.Join(dir, StateFile)
	if err := f.step.save(path, f.data, f.progress); err != nil {
		return fileError("state", path, err)
	}
	f.opt.Log.Info("epoch kept", "epoch", len(f.history), "best", better, "folder", dir)
	return nil
}

// writeMetrics writes the whole history, a line an epoch.
func (f *fitting) writeMetrics() error {
	path := filepath.Join(f.opt.Dir, MetricsFile)
	err := atomicfile.Write(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		for _, h := range f.history {
			if err := enc.Encode(h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fileError("metrics", path, err)
	}
	return nil
}

// resume goes back to the state in the folder, if it is asked for and there is one.
func (f *fitting) resume() (bool, error) {
	if f.opt.Dir == "" {
		if f.opt.Resume {
			return false, errors.New("FitOptions.Resume without a Dir, expected the folder to go on in")
		}
		return false, nil
	}
	if f.data = f.m.fingerprint(f.train, f.val); !f.opt.Resume {
		return false, nil
	}
	path := filepath.Join(f.opt.Dir, StateFile)
	p, err := f.step.load(path, f.data)
	if err != nil {
		return false, err
	}
	f.progress = p
	if len(p.history) > 0 {
		f.start = p.history[0].Diagnostics.EntropyStart
	}
	for i, h := range p.history {
		if f.best < 0 || h.ValLoss == nil || *h.ValLoss < *p.history[f.best].ValLoss {
			f.best = i
		}
	}
	best := filepath.Join(f.opt.Dir, ModelFile)
	m, err := Load(best)
	if err != nil {
		return false, err
	}
	for i, q := range m.Params() {
		if want := f.m.Params()[i]; q.Name != want.Name || len(q.Data) != len(want.Data) {
			return false, fmt.Errorf("model %s: not the network of %s", best, path)
		}
		f.bestModel = append(f.bestModel, q.Data)
	}
	return true, nil
}

func writeText(path, text string) error {
	err := atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		return fileError("file", path, err)
	}
	return nil
}

// median returns the middle of x, or 0 of nothing: JSON has no NaN.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return stat.Median(x)
}
