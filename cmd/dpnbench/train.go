package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpnbench/bench"
	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/mpi"
	"dpnbench/internal/output"
	"dpnbench/internal/quote"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"
	"dpnbench/plot"

	"github.com/spf13/pflag"
)

// training is one run of train.
type training struct {
	*app
	data      dataFlags
	preset    string
	config    string
	out       string
	resume    bool
	overwrite bool
	every     int            // updates between two checkpoints
	minutes   float64        // between two checkpoints
	ranks     int            // in this process
	profiled  bool           // measure the phases of updates
	profile   *dpn.Profile   // then; else nil
	began     sysinfo.Usage  // then, before the first update
	flags     *pflag.FlagSet // of the settings
	settings  dpn.Config
	from      string       // how errors begin of settings that no flag of their own gives
	dataNear  string       // where the data of the run that is resumed were, if that is known
	validate  *dataset.Set // images of the setting val-data, or nil
	demo      bool         // run by the demo, whose folder it may replace
	compared  bool         // with others, on validation samples
}

// trainResult is the JSON of train.
type trainResult struct {
	Preset           string              `json:"preset"`
	Seed             uint64              `json:"seed"`
	Tier             string              `json:"tier"`
	Threads          int                 `json:"threads"`
	Data             string              `json:"data"`
	TrainSamples     int                 `json:"train_samples"` // including those kept for validation
	TestSamples      int                 `json:"test_samples"`
	SamplesHash      string              `json:"samples_hash"` // of both, and of those of val-data
	Epochs           []dpn.Epoch         `json:"epochs"`
	BestEpoch        int                 `json:"best_epoch"`
	StoppedEarly     bool                `json:"stopped_early"` // because of --patience
	TestLoss         separation.Float    `json:"test_loss"`
	TestAccuracy     separation.Float    `json:"test_accuracy"` // null without test samples, as the loss
	Validation       *classScores        `json:"validation"`    // of the best epoch; null without validation images
	Updates          int                 `json:"updates"`
	Seconds          float64             `json:"seconds"`         // of the whole training
	PrepareSeconds   float64             `json:"prepare_seconds"` // of that, before the first epoch
	SecondsPerUpdate float64             `json:"seconds_per_update"`
	Parameters       int                 `json:"parameters"`
	MACsPerSample    int                 `json:"macs_per_sample"`
	PeakRSSBytes     int64               `json:"peak_rss_bytes"`
	WeightsSHA256    string              `json:"weights_sha256"`
	EM               *potential.EMResult `json:"em,omitempty"`     // with init em or em-classwise
	Phases           []bench.Phase       `json:"phases,omitempty"` // with --profile
	Config           dpn.Config          `json:"config"`
	Out              string              `json:"out"`
}

// classScores are the accuracies of classes in the JSON of train.
type classScores struct {
	dpn.Score
	ByClass layer.ByClass `json:"by_class"`
}

// resolve combines the settings: preset or file (or the folder to resume), then flags.
func (t *training) resolve(flags *pflag.FlagSet) (dpn.Config, error) {
	c, err := dpn.Preset(cmp.Or(t.preset, dpn.DefaultPreset(dataset.Grey(1, 1))))
	if err != nil {
		return c, fmt.Errorf("--%w", err)
	}
	t.from = "--"
	if flags.Changed("preset") {
		t.from = "--preset " + t.preset + ": "
	}
	switch {
	case t.every < 0:
		return c, fmt.Errorf("--checkpoint-every %d: expected a number of updates, or 0 for never", t.every)
	case t.minutes != 0 && !(t.minutes >= minMinutes && t.minutes <= maxMinutes):
		return c, fmt.Errorf("--checkpoint-minutes %v: expected 0 (never), or %v to %d", t.minutes, minMinutes,
			int(maxMinutes))
	case t.resume && t.overwrite:
		return c, fmt.Errorf("--resume and --overwrite: give one of the two")
	case t.resume && t.out == "":
		return c, fmt.Errorf("--resume: expected the folder to resume in --out")
	case t.resume && t.config != "":
		return c, fmt.Errorf("--resume and --config %s: the settings are those of the run in --out; give one of "+
			"the two", t.config)
	case t.resume:
		if c, t.dataNear, err = dpn.ReadState(t.out); err != nil {
			return c, t.unresumable(err)
		}
		if flags.Changed("preset") && t.preset != c.Preset {
			return c, fmt.Errorf("--preset %s: the run in --out %s began with %s; expected no other preset with "+
				"--resume", t.preset, t.out, c.Preset)
		}
		t.from = "--resume: state " + filepath.Join(t.out, dpn.StateFile) + ": "
	}
	if t.config != "" {
		if flags.Changed("preset") {
			return c, fmt.Errorf("--preset %s: the settings come from --config %s; give one of the two", t.preset,
				t.config)
		}
		if c, err = dpn.LoadConfig(t.config, c); err != nil {
			return c, fmt.Errorf("--%w", err)
		}
		t.from = "--config " + t.config + ": "
	}
	// Parsing has written the flags to t.settings; they override the other sources.
	given := map[*pflag.Flag]string{}
	t.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			given[f] = f.Value.String()
		}
	})
	t.settings = c
	for f, value := range given {
		if err := f.Value.Set(value); err != nil {
			return c, fmt.Errorf("--%s %s: %w", f.Name, value, err)
		}
	}
	if t.settings.Extractor != c.Extractor && !flags.Changed("hidden") {
		t.settings.Hidden = "" // which was that of another extractor
	}
	c = t.settings
	if flags.Changed("dim") && c.Dim != 0 && c.Extractor == "identity" {
		return c, fmt.Errorf("--dim %d: extractor identity keeps the input as it is; "+
			"expected --extractor linear, mlp, conv or conv3", c.Dim)
	}
	for _, name := range []string{"em-iterations", "em-tolerance", "em-ridge"} {
		if flags.Changed(name) && c.Init != dpn.InitEM && c.Init != dpn.InitEMClasswise {
			return c, fmt.Errorf("--%s: init %q does not run EM; expected --init em or em-classwise", name, c.Init)
		}
	}
	if flags.Changed("extractor") && c.Extractor == "mlp" && c.Hidden == "" && !flags.Changed("hidden") && !t.resume {
		return c, errors.New("--extractor mlp: without hidden layers it is linear; expected their widths in " +
			"--hidden, such as 512-256, or --extractor linear")
	}
	if err := t.shards(&c, flags); err != nil {
		return c, err
	}
	t.data.settle(flags, &c)
	return c, settingError(c.Validate(), flags, t.from)
}

// unresumable explains why there is no state to resume, or that it cannot be read.
func (t *training) unresumable(err error) error {
	if _, statErr := os.Stat(filepath.Join(t.out, dpn.StateFile)); errors.Is(statErr, os.ErrNotExist) {
		return fmt.Errorf("--resume: nothing to resume in --out %s: no %s; expected the folder of a run, or the "+
			"command without --resume to begin one", t.out, dpn.StateFile)
	}
	return fmt.Errorf("--resume: cannot resume the run in --out %s: %w; expected the file as train wrote it, or "+
		"--overwrite to start again", t.out, err)
}

// settingError prefixes an error with the source of the wrong setting: its flag, or from.
func settingError(err error, flags *pflag.FlagSet, from string) error {
	s, ok := errors.AsType[*dpn.SettingError](err)
	if !ok {
		return err
	}
	if flags != nil && flags.Changed(s.Setting) {
		from = "--"
	}
	return fmt.Errorf("%s%w", from, s)
}

func (t *training) run(ctx context.Context, flags *pflag.FlagSet) error {
	r, err := t.result(ctx, flags)
	if r != nil {
		err = joined(err, t.writeJSON(r))
	}
	return err
}

// result trains as the flags say. If saving or drawing fails, it returns the results with the error.
func (t *training) result(ctx context.Context, flags *pflag.FlagSet) (*trainResult, error) {
	c, err := t.presumed(flags)
	if err == nil {
		c.ValData, err = absolute(c.ValData)
	}
	if err != nil {
		return nil, err
	}
	if err := t.claimable(c); err != nil {
		return nil, err
	}
	e, err := t.engine()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	named := c
	if t.resume {
		named.Data = nearModel(c.Data, t.dataNear, flags)
	}
	t.dataPhase(named.Data)
	data, err := openData(ctx, named, source.Options{})
	if err == nil {
		t.noteData(data)
		err = cmp.Or(needLabels(data), needClasses(data))
	} else if t.resume && !flags.Changed("data") && ctx.Err() == nil {
		err = fmt.Errorf("%w; the name comes from the run in %s, expected its samples by --data", err, t.out)
	}
	if err != nil {
		return nil, err
	}
	var notes []string
	if !t.resume && t.config == "" {
		if c, notes, err = t.fitted(data, flags); err != nil {
			return nil, err
		}
	}
	if err := t.refuseIdle(c); err != nil {
		return nil, err
	}
	if t.compared && c.ValSize == 0 && c.ValData == "" {
		return nil, errors.New("no validation samples to compare settings on; expected val-size or val-data " +
			"in the file")
	}
	if err := enoughMemory(c, data, t.here()); err != nil {
		return nil, err
	}
	m, err := dpn.New(c, data)
	if err == nil {
		err = t.setRoute(m)
	}
	if err == nil {
		err = m.Check(data.Train)
	}
	if err != nil {
		return nil, settingError(err, flags, t.from)
	}
	if t.validate, err = openValidation(ctx, m); err != nil {
		return nil, fmt.Errorf("--val-data %s: %w", c.ValData, err)
	}
	if v := t.validate; v != nil && sameSamples(v, data.Test) {
		t.log().Warn("the validation samples are the test samples: what chooses the best epoch cannot test it",
			"val-data", c.ValData)
	}
	if !t.compared {
		t.warnIdle(c)
	}
	if n := data.Train.Len(); flags.Changed("batch") && c.Batch > n {
		return nil, fmt.Errorf("--batch %d: expected at most the %d training samples", c.Batch, n)
	}
	release, err := t.claim(c)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, n := range notes { // now that nothing refuses them
		t.note("%s\n", n)
	}
	return t.train(ctx, e, m, data)
}

// fewKnown is the number of validation samples below which training says how uncertain the threshold of unknown samples
// is.
const fewKnown = 200

// Bounds of the time between checkpoints: 6 ms and a year.
const (
	minMinutes = 1e-4
	maxMinutes = 365 * 24 * 60
)

// runFiles are the files that training writes to its folder.
var runFiles = []string{
	dpn.ModelFile, dpn.LastFile, dpn.StateFile, dpn.MetricsFile, dpn.ConfigFile,
	resultFile, curvesFile + ".png", curvesFile + ".svg",
}

const (
	resultFile = "train.json" // the same as train --json
	curvesFile = "training"   // the figure, without extension
)

// train trains m, prints the progress, evaluates it, saves the results and draws the curves. If
// saving or drawing fails, it returns the results with the error.
func (t *training) train(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data) (*trainResult,
	error) {
	val, err := t.validation(m, data)
	if err != nil {
		return nil, err
	}
	trained := data.Train.Len()
	if t.validate == nil {
		trained -= val.Len()
	}
	t.announce(e, m, data, trained, val.Len())
	res, failed := t.learn(ctx, e, m, data, trained)
	if failed == nil && t.rank() > 0 {
		return nil, nil
	}
	var unsaved *dpn.UnsavedError
	if failed != nil && !(errors.As(failed, &unsaved) && unsaved.Finished) {
		return nil, failed
	}
	if res.Stopped {
		t.note("stopped early: %s without a lower validation loss (--patience)\n",
			format.Count(m.Config.Patience, "epoch"))
	}
	var r *trainResult
	if res.Already {
		t.note("already finished after %s: nothing is left to train\n", format.Count(res.Updates, "update"))
		r = t.found(m)
	}
	complete := r != nil && exist(plot.Files(filepath.Join(t.out, curvesFile)))
	if r == nil {
		if r, err = t.evaluate(ctx, e, m, data, res); err != nil {
			return nil, err
		}
	}
	t.summarise(m, r, data, val.Len())
	t.describePhases(e, m, r)
	if failed != nil { // the folder does not have this model
		return r, failed
	}
	if !complete {
		t.phase("write results")
		if err := t.save(r, data.Name); err != nil {
			return r, fmt.Errorf("--out %s: %w", t.out, err)
		}
	}
	t.note("model  %s\n", filepath.Join(t.out, dpn.ModelFile))
	return r, nil
}

// announce prints what will be trained on what.
func (t *training) announce(e *engine.Engine, m *dpn.Model, data *dataset.Data, trained, validated int) {
	tests := 0
	if data.Test != nil {
		tests = data.Test.Len()
	}
	t.note("%s on %s: %d training, %d validation and %d test %s, %d parameters, "+
		"%.2f M multiply-adds per %s; %s, %s\n", m.Config.Preset, data.Name, trained, validated, tests,
		m.Shape.Samples(), m.Parameters(), float64(m.MACs())/1e6, m.Shape.Sample(), e.Tier(),
		format.Count(e.Threads(), "thread"))
	if n := t.count(); n > 1 {
		t.note("%d ranks share the %d pieces of each minibatch (--shards)\n", n, m.Config.Shards)
	}
	t.explainAscent(e, m, data.Train, true)
}

// learn trains m on that many samples. If its folder cannot be written, or another rank fails, the error says how to
// go on.
func (t *training) learn(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data, trained int) (
	*dpn.FitResult, error) {
	t.afterInterrupt = ": nothing is saved, start again with the same command"
	if t.resume {
		t.afterInterrupt = fmt.Sprintf("; continue with: %s", t.again())
	}
	t.phase("place centres")
	if t.profiled {
		t.profile, t.began = new(dpn.Profile), sysinfo.ReadUsage()
	}
	epochs := newEpochTable(t.app, m.Config, trained)
	stays := t.madeEarlier()
	opt := t.fitOptions(m.Config, trained, m.Shape.Samples())
	opt.Final, opt.Test, opt.OnEpoch = true, data.Test, epochs.add
	res, failed := t.fit(ctx, e, m, data, opt)
	epochs.flush()
	stays.warn(t)
	if errors.As(failed, new(*dpn.UnsavedError)) || errors.As(failed, new(*mpi.RankError)) {
		failed = fmt.Errorf("%w%s", failed, t.afterInterrupt)
	}
	return res, failed
}

// summarise prints the scores, the times and the hash of the weights.
func (t *training) summarise(m *dpn.Model, r *trainResult, data *dataset.Data, validated int) {
	what := m.Shape.Sample()
	switch test := data.Test; {
	case r.TestSamples > 0:
		t.printf("test   loss %.4f   accuracy %.2f%%   (%s, model of epoch %d)\n", float64(r.TestLoss),
			float64(100*r.TestAccuracy), format.Count(r.TestSamples, what), r.BestEpoch)
	case test != nil && test.Len() > 0:
		t.printf("test   no labels of the %s in %s   (model of epoch %d)\n", format.Count(test.Len(), "test "+what),
			data.Name, r.BestEpoch)
	default:
		t.printf("test   no test samples in %s; --test-share 0.2 keeps some   (model of epoch %d)\n", data.Name,
			r.BestEpoch)
	}
	if v := r.Validation; v != nil {
		t.note("val    %s%s\n", lowestText(v.ByClass, what), balanced(v.ByClass))
	}
	if m.UnknownBelow != nil && validated < fewKnown {
		lo, hi := dpn.UnknownShare(validated)
		t.note("unknown: the threshold is that of %s; %.1f%% to %.1f%% of samples like them are below it (95%% "+
			"interval)\n", format.Count(validated, "validation "+what), 100*lo, 100*hi)
	}
	t.note("%.1f s in total, %.1f s of it preparation; %s at %.3g s each; SHA-256 of the weights %s...\n",
		r.Seconds, r.PrepareSeconds, format.Count(r.Updates, "update"), r.SecondsPerUpdate, r.WeightsSHA256[:16])
}

// describePhases prints the phases of an update (--profile), and adds them to r.
func (t *training) describePhases(e *engine.Engine, m *dpn.Model, r *trainResult) {
	if t.profile == nil || t.profile.Updates() == 0 {
		return
	}
	t.phase("measure the machine")
	r.Phases = bench.TrainPhases(e, m, t.profile)
	t.printf("\nan update (mean of the quickest quarter), and its bounds on this machine:\n")
	t.table(bench.PhaseRows(r.Phases))
	const during = "training: times and bounds may be too long"
	doubts := bench.Disturbances(t.began, sysinfo.ReadUsage(), during)
	if doubt := bench.BoundsDoubt(r.Phases); doubt != "" {
		doubts = append(doubts, doubt)
	}
	for _, w := range doubts {
		t.warn("%s\n", w)
	}
}

// save writes the results and, if the figures of epochs are known, the curves.
func (t *training) save(r *trainResult, data string) error {
	var files output.Batch
	defer files.Discard()
	if err := addJSON(&files, filepath.Join(t.out, resultFile), r); err != nil {
		return err
	}
	if len(r.Epochs) > 0 { // metrics.jsonl is not lost
		curves := trainingCurves(r.Config, data, r.Epochs)
		if err := plot.Add(&files, filepath.Join(t.out, curvesFile), curves); err != nil {
			return err
		}
	}
	return files.Commit()
}

// fitOptions returns the options of the training with so many samples, called noun, which print its progress.
func (t *training) fitOptions(c dpn.Config, samples int, noun string) dpn.FitOptions {
	stale := []string{resultFile, demoFile} // of an earlier run, they do not belong to the new model
	if t.demo {
		stale = stale[:1]
	}
	stale = append(stale, figureFiles(curvesFile)...)
	for i, name := range stale {
		stale[i] = filepath.Join(t.out, name)
	}
	line := &trainLine{progress: t.progress, settings: c, samples: samples, noun: noun}
	return dpn.FitOptions{Validation: t.validate, Dir: t.out, Resume: t.resume, Stale: stale, Log: t.log(),
		CheckpointUpdates:  t.every,
		CheckpointInterval: time.Duration(t.minutes * float64(time.Minute)),
		Profile:            t.profile,
		OnFinal:            func() { t.phase("evaluate") },
		OnEM:               t.laterPhase("EM"),
		OnPrepare:          t.laterPhase("denoise"),
		OnSave: func(epochs, updates int) {
			t.afterInterrupt = fmt.Sprintf(": %s and %s are saved, continue with: %s", format.Count(epochs, "epoch"),
				format.Count(updates, "update"), t.again())
		},
		OnUpdate: line.update,
	}
}

// again is the command that goes on with this training.
func (t *training) again() string {
	args := []string{"train", "--out", t.out, "--resume"}
	if t.json != "" {
		args = append(args, "--json", t.json)
	}
	if t.every > 0 {
		args = append(args, "--checkpoint-every", fmt.Sprint(t.every))
	}
	if t.minutes != defaultMinutes {
		args = append(args, "--checkpoint-minutes", fmt.Sprint(t.minutes))
	}
	if t.profiled {
		args = append(args, "--profile")
	}
	if t.ranks > 1 {
		args = append(args, "--ranks", fmt.Sprint(t.ranks))
	}
	return quote.Command(args...)
}

// evaluate evaluates the trained network and collects the results.
func (t *training) evaluate(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data,
	res *dpn.FitResult) (*trainResult, error) {
	c := m.Config
	final := res.Final
	if final == nil {
		t.phase("evaluate")
		val, err := t.validation(m, data)
		if err != nil {
			return nil, err
		}
		if final, err = m.FinalScores(ctx, e, val, data.Test); err != nil {
			return nil, err
		}
	}
	score := dpn.Score{Loss: math.NaN(), Accuracy: math.NaN()}
	if final.Test != nil {
		score = *final.Test
	}
	var validation *classScores
	if final.Validation != nil {
		validation = &classScores{*final.Validation, final.ByClass}
	}
	r := &trainResult{
		Validation: validation,
		Preset:     c.Preset, Seed: c.Seed, Tier: e.Tier().String(), Threads: e.Threads(), Data: data.Name,
		TrainSamples: data.Train.Len(), TestSamples: score.Samples, SamplesHash: m.SamplesHash(),
		Epochs: append([]dpn.Epoch{}, res.Epochs...), BestEpoch: res.Best, StoppedEarly: res.Stopped,
		TestLoss: separation.Float(score.Loss), TestAccuracy: separation.Float(score.Accuracy), Updates: res.Updates,
		Seconds: res.Seconds, PrepareSeconds: res.PrepareSeconds, SecondsPerUpdate: res.SecondsPerUpdate,
		Parameters: m.Parameters(), MACsPerSample: m.MACs(), PeakRSSBytes: peakRSS(), WeightsSHA256: m.WeightsSHA256(),
		EM: res.EM, Config: c, Out: t.out,
	}
	return r, nil
}

// validation returns the images that training validates on.
func (t *training) validation(m *dpn.Model, data *dataset.Data) (*dataset.Set, error) {
	if t.validate != nil {
		return t.validate, nil
	}
	return m.Validation(data.Train)
}

// found returns the saved results of m in the folder, or nil, as for those of versions that called
// updates steps.
func (t *training) found(m *dpn.Model) *trainResult {
	var r trainResult
	b, err := regular.ReadFile(filepath.Join(t.out, resultFile), maxResults)
	if err != nil || json.Unmarshal(b, &r) != nil || r.WeightsSHA256 != m.WeightsSHA256() || r.Updates == 0 {
		return nil
	}
	return &r
}

// exist says whether all files exist.
func exist(files []string) bool {
	return !slices.ContainsFunc(files, func(path string) bool { _, err := os.Stat(path); return err != nil })
}

// trainingCurves shows loss and accuracy over epochs.
func trainingCurves(c dpn.Config, data string, epochs []dpn.Epoch) plot.Figure {
	var points []plot.Epoch
	none := math.NaN()
	for _, h := range epochs {
		p := plot.Epoch{Epoch: h.Epoch, TrainLoss: h.TrainLoss, TrainAccuracy: h.TrainAccuracy,
			ValLoss: none, ValAccuracy: none}
		if h.ValLoss != nil {
			p.ValLoss = *h.ValLoss
		}
		if h.ValAccuracy != nil { // which the first versions did not save
			p.ValAccuracy = *h.ValAccuracy
		}
		points = append(points, p)
	}
	title := fmt.Sprintf("Training of %s on %s", c.Preset, filepath.Base(data))
	return plot.Training{Title: title, Epochs: points}
}
