package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
	"dpnbench/report"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func trainCommand(a *app) *cobra.Command { return (&training{app: a}).command() }

func (t *training) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a network",
		Long: `Train a Denoising Potential Network and evaluate it on the test pictures. The last
training pictures are kept for validation; the epoch with the lowest validation loss is
the model that is kept and evaluated.

Settings come from a preset or from the TOML file of --config, then from flags. With
--resume they come from the folder that is resumed.

  published   the public reference: raw pixels, k 20, n 30, A = I, alpha 0.1; the
              potential never learns (its gradient is cut after every step)
  paper       the same network with the exact gradient through all steps
  compact     64 learned features, k 10, n 5: trains in seconds
  clean       compact with two convolutions before its features
  raw         raw pixels with precisions of low rank, k 20, n 10
  robust      raw pixels, a potential that is flat along the principal components of k 100
              clusters and steep across them: holds against noise
  robust-small
              robust at a million multiply-adds: k 60, one step
  noise       clean, trained with noise on half of the pictures and a loss for what of it
              the ascent leaves: holds against much more

` + presetTable() + `
The line of an epoch says alpha times the largest eigenvalue of the precisions (from 2 on
ascent steps can overshoot) and how many components have a responsibility above 0.01 where the
ascents end; train.json and metrics.jsonl have more diagnostics, and what the ascent of the last
update cost: its route and, step by step, components active, computed and bounded. A warning, once a run and
kind, names the settings to change when training leaves the healthy range.

The folder of --out gets model.safetensors (the best epoch), last.safetensors,
state.safetensors (for --resume), metrics.jsonl, config.toml, train.json (what --json
writes) and the training curves. Without --out it is a new folder runs/PRESET-N. One
process at a time can train in a folder.`,
		Example: `  dpnbench train --preset compact --out runs/first
  dpnbench train --data mnist --preset published --steps 10
  dpnbench train --data path/to/idx --preset paper --epochs 1 --out runs/paper
  dpnbench train --out runs/first --resume   # after a crash
  dpnbench train --preset clean --epochs 30 --patience 3   # stop early
  dpnbench train --nll 0.1 --score-matching 0.1 --alpha-lr 1e-4   # the potential as a density
  dpnbench train --preset paper --max-updates 1 --explain   # how its ascents are run
  dpnbench train --init em --em-ridge 0.3 --verbose   # the potential starts as a fitted mixture
  dpnbench train --config runs/first/config.toml --seed 2 --json result.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return t.run(c.Context(), c.Flags()) },
	}
	t.data.add(c, true)
	f := c.Flags()
	f.StringVar(&t.preset, "preset", "compact", "settings to start from: "+strings.Join(dpn.Presets(), ", "))
	f.StringVar(&t.config, "config", "", "TOML `FILE` with settings, in the place of --preset")
	f.StringVar(&t.out, "out", "", "`FOLDER` for the results")
	f.BoolVar(&t.resume, "resume", false, "go on from the last finished epoch in the folder of --out")
	f.BoolVar(&t.overwrite, "overwrite", false, "replace what an earlier run left in the folder of --out")
	t.addExplain(c)
	t.flags = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	f, s := t.flags, &t.settings
	f.StringVar(&s.Extractor, "extractor", "", "identity (pixels), or to --dim features: linear, mlp, conv")
	f.StringVar(&s.Hidden, "hidden", "", "hidden layers of the extractor mlp: `WIDTHS` such as 512-256")
	f.IntVar(&s.Dim, "dim", 0, "features of the extractor")
	f.BoolVar(&s.LayerNorm, "layer-norm", false, "normalise the features")
	f.IntVar(&s.Components, "components", 0, "k, Gaussians in the mixture")
	f.IntVar(&s.Steps, "steps", 0, "n, ascent steps")
	f.StringVar(&s.Form, "form", "", "of the precisions: "+strings.Join(dpn.Forms(), ", "))
	f.IntVar(&s.Rank, "rank", 0, "r of the forms lowrank and flat")
	f.Float64Var(&s.Eps, "eps", 0, "of the form flat: share of the precision that is left along U")
	f.Float64Var(&s.Scale, "scale", 0, "s0: A = s0 I at first, and the factor of the other forms")
	f.StringVar(&s.Init, "init", "", "centres at first: kmeans, classwise (k-means in each class), samples (drawn features), em or em-classwise (a mixture fitted from either k-means: centres, weights and precisions)")
	f.IntVar(&s.EMIterations, "em-iterations", 0, "most iterations of EM")
	f.Float64Var(&s.EMTolerance, "em-tolerance", 0, "rise of the log-likelihood, in nats a picture, below which EM ends")
	f.Float64Var(&s.EMRidge, "em-ridge", 0, "least variance that EM gives a direction, over the mean variance of a feature")
	f.Float64Var(&s.Alpha, "alpha", 0, "step size of the ascent at first; em lowers it to 1 over the largest eigenvalue of the precisions where it is above")
	f.StringVar(&s.Gradient, "gradient", "", "exact, or detached (only the classifier learns)")
	f.IntVar(&s.Epochs, "epochs", 0, "passes over the training pictures")
	f.IntVar(&s.MaxUpdates, "max-updates", 0, "stop after so many updates; 0: no limit")
	f.IntVar(&s.Batch, "batch", 0, "pictures a minibatch")
	f.Float64Var(&s.LR, "lr", 0, "Adam's rate for extractor and classifier")
	f.Float64Var(&s.PotentialLR, "potential-lr", 0, "Adam's rate for the potential: mu, c, alpha and precisions")
	f.Float64Var(&s.ExtractorLR, "extractor-lr", 0, "Adam's rate for the extractor alone; 0: that of --lr")
	f.Float64Var(&s.AlphaLR, "alpha-lr", 0, "Adam's rate for the step size alpha alone; 0: that of --potential-lr")
	f.StringVar(&s.Schedule, "schedule", "", "constant, or cosine (decay to 0)")
	f.Float64Var(&s.Warmup, "warmup", 0, "share of the updates over which the rates rise")
	f.Float64Var(&s.Clip, "clip", 0, "largest norm of the gradient; 0: no limit")
	f.Float64Var(&s.NoiseMin, "noise-min", 0, "least standard deviation of the noise on half of each minibatch, in grey levels of [0, 1]")
	f.Float64Var(&s.NoiseMax, "noise-max", 0, "largest standard deviation of that noise; 0: none")
	f.Float64Var(&s.Denoising, "denoising", 0, "weight of the denoising loss: how far noisy features end from the clean ones")
	f.Float64Var(&s.NLL, "nll", 0, "`WEIGHT` of the negative log-likelihood of the features under the mixture")
	f.Float64Var(&s.Score, "score-matching", 0, "`WEIGHT` of denoising score matching on the features")
	f.Float64Var(&s.ScoreSigma, "score-sigma", 0, "standard deviation of its noise on features")
	f.IntVar(&s.Patience, "patience", 0, "stop after so many epochs without a lower validation loss; 0: never")
	f.IntVar(&s.ValSize, "val-size", 0, "last training pictures kept for validation; -1: a tenth")
	f.Uint64Var(&s.Seed, "seed", 0, "decides all random draws of training")
	c.Flags().AddFlagSet(t.flags)
	return c
}

// presetTable lists the settings of all presets by the names of their flags.
func presetTable() string {
	names := dpn.Presets()
	rows := [][]string{append([]string{"setting"}, names...)}
	for i, name := range names {
		c, err := dpn.Preset(name)
		if err != nil {
			panic(err) // a name from the list
		}
		for l, line := range strings.Split(strings.TrimSpace(c.TOML()), "\n") {
			key, value, _ := strings.Cut(line, " = ")
			if i == 0 {
				rows = append(rows, []string{key})
			}
			rows[l+1] = append(rows[l+1], strings.Trim(value, `"`))
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if r[0] != "preset" {
			fmt.Fprintf(w, "  %s\n", strings.Join(r, "\t"))
		}
	}
	w.Flush()
	return b.String()
}

// training is one run of train.
type training struct {
	*app
	data      dataFlags
	preset    string
	config    string
	out       string
	resume    bool
	overwrite bool
	flags     *pflag.FlagSet // those that set the settings
	settings  dpn.Config
}

// trainResult is the JSON of train.
type trainResult struct {
	Preset         string           `json:"preset"`
	Seed           uint64           `json:"seed"`
	Tier           string           `json:"tier"`
	Threads        int              `json:"threads"`
	Data           string           `json:"data"`
	TrainSamples   int              `json:"train_samples"` // with those kept for validation
	TestSamples    int              `json:"test_samples"`
	Epochs         []dpn.Epoch      `json:"epochs"`
	BestEpoch      int              `json:"best_epoch"`
	StoppedEarly   bool             `json:"stopped_early"` // by --patience
	TestLoss       separation.Float `json:"test_loss"`
	TestAccuracy   float64          `json:"test_accuracy"`
	Steps          int              `json:"steps"`           // updates made
	Seconds        float64          `json:"seconds"`         // of all of training
	PrepareSeconds float64          `json:"prepare_seconds"` // of that, before the first epoch
	SecondsPerStep float64          `json:"seconds_per_step"`
	Parameters     int              `json:"parameters"`
	MACsPerSample  int              `json:"macs_per_sample"`
	PeakRSSBytes   int64            `json:"peak_rss_bytes"`
	WeightsSHA256  string           `json:"weights_sha256"`
	EM             *dpn.EMResult    `json:"em,omitempty"` // of the start with init em or em-classwise
	Config         dpn.Config       `json:"config"`
	Out            string           `json:"out"`
}

// resolve puts together the settings: preset, file (or the folder to resume), flags.
func (t *training) resolve(flags *pflag.FlagSet) (dpn.Config, error) {
	c, err := dpn.Preset(t.preset)
	if err != nil {
		return c, fmt.Errorf("--%w", err)
	}
	from := "--"
	switch {
	case t.resume && t.overwrite:
		return c, fmt.Errorf("--resume and --overwrite: give one of the two")
	case t.resume && t.out == "":
		return c, fmt.Errorf("--resume: expected the folder to resume in --out")
	case t.resume && t.config == "":
		t.config = filepath.Join(t.out, dpn.ConfigFile)
		fallthrough
	case t.config != "":
		if flags.Changed("preset") && !t.resume {
			return c, fmt.Errorf("--preset %s: the settings come from --config %s; give one of the two", t.preset, t.config)
		}
		if c, err = dpn.LoadConfig(t.config, c); err != nil {
			if t.resume {
				return c, fmt.Errorf("--resume: nothing to resume in --out %s: %w", t.out, err)
			}
			return c, fmt.Errorf("--%w", err)
		}
		if from = "--config " + t.config + ": "; t.resume {
			from = "--resume: config " + t.config + ": "
		}
	}
	// The flags have written to t.settings: what they said goes over the rest.
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
	c = t.settings
	if flags.Changed("dim") && c.Extractor == "identity" {
		return c, fmt.Errorf("--dim %d: the features of the extractor identity are the pixels; expected --extractor linear, mlp or conv with it", c.Dim)
	}
	for _, name := range []string{"em-iterations", "em-tolerance", "em-ridge"} {
		if flags.Changed(name) && c.Init != dpn.InitEM && c.Init != dpn.InitEMClasswise {
			return c, fmt.Errorf("--%s: no EM with init %q; expected --init em or em-classwise with it", name, c.Init)
		}
	}
	t.data.settle(flags, &c)
	return c, settingError(c.Validate(), flags, from)
}

// settingError says where a wrong setting came from: a flag, or from.
func settingError(err error, flags *pflag.FlagSet, from string) error {
	var s *dpn.SettingError
	if !errors.As(err, &s) {
		return err
	}
	if flags != nil && flags.Changed(s.Setting) {
		from = "--"
	}
	return fmt.Errorf("%s%w", from, s)
}

func (t *training) run(ctx context.Context, flags *pflag.FlagSet) error {
	c, err := t.resolve(flags)
	if err != nil {
		return err
	}
	e, err := t.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	data, err := openData(ctx, c, true)
	if err != nil {
		return err
	}
	if err := enoughMemory(c, data); err != nil {
		return err
	}
	m, err := dpn.New(c, data)
	if err == nil {
		err = m.Check(data.Train)
	}
	if err != nil {
		return settingError(err, flags, "--")
	}
	_, statErr := os.Stat(t.out) // of no name, too, there is none yet
	release, err := t.prepareOut(c)
	if err != nil {
		return err
	}
	defer release()
	if err := t.checkJSON(t.config); err != nil {
		if statErr != nil {
			os.Remove(t.out)
		}
		return err
	}
	if !t.resume { // a demo that is resumed remains one
		os.Remove(filepath.Join(t.out, demoFile))
	}
	r, err := t.train(ctx, e, m, data)
	if r != nil {
		err = errors.Join(t.writeJSON(r), err)
	}
	return err
}

// enoughMemory refuses what cannot fit, before the system has to.
func enoughMemory(c dpn.Config, data *dataset.Data) error {
	need, free := c.TrainingBytes(data.Train.Pixels(), data.Classes, data.Train.Len()), sysinfo.AvailableMemory()
	if need > free {
		return fmt.Errorf("this network needs about %.1f GB to train (--components %d, --dim %d, --batch %d), %.1f GB are available", need/1e9, c.Components, c.Dim, c.Batch, free/1e9)
	}
	return nil
}

// runFiles are what training leaves in its folder.
var runFiles = []string{dpn.ModelFile, dpn.LastFile, dpn.StateFile, dpn.MetricsFile, dpn.ConfigFile, resultFile, curvesFile + ".png", curvesFile + ".svg"}

const (
	resultFile = "train.json" // what train --json writes
	curvesFile = "training"   // the figure, without its endings
)

// prepareOut chooses the folder, makes it, and refuses to overwrite an earlier run. No other
// process can train in the folder until release is called.
func (t *training) prepareOut(c dpn.Config) (release func(), err error) {
	if t.out == "" {
		err := os.MkdirAll("runs", 0o755)
		for i := 1; err == nil; i++ {
			t.out = filepath.Join("runs", fmt.Sprintf("%s-%d", c.Preset, i))
			if err = os.Mkdir(t.out, 0o755); err == nil {
				break
			}
			if errors.Is(err, os.ErrExist) {
				err = nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("folder runs: %w; choose another by --out", reason(err))
		}
	}
	if err := outputFolder("--out", t.out); err != nil {
		return nil, err
	}
	if release, err = lockFolder("--out", t.out); err != nil {
		return nil, err
	}
	for _, name := range runFiles {
		if _, err := os.Stat(filepath.Join(t.out, name)); err == nil && !t.resume && !t.overwrite {
			release()
			return nil, fmt.Errorf("--out %s: holds the %s of an earlier run; give another folder, --resume or --overwrite", t.out, name)
		}
	}
	return release, nil
}

// train trains m, prints its progress, evaluates it, keeps the results and draws its
// curves. When it is these that fail, it returns the results with the error.
func (t *training) train(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data) (*trainResult, error) {
	c := m.Config
	t.note("%s on %s: %d + %d pictures, %d parameters, %.2f M multiply-adds a picture; %s, %s\n",
		c.Preset, data.Name, data.Train.Len(), data.Test.Len(), m.Parameters(), float64(m.MACs())/1e6, e.Tier(), count(e.Threads(), "thread"))
	t.explainAscent(e, m, data.Train, true)
	var b *progressbar.ProgressBar
	showing := ""
	progress := func(what string, done, all int) {
		if what != showing {
			finish(b)
			b, showing = t.bar(all, what), what
		}
		set(b, done)
	}
	clear := func() {
		if b != nil {
			b.Clear()
		}
	}
	opt := dpn.FitOptions{Dir: t.out, Resume: t.resume, Log: t.log(clear),
		OnEM: func(done, all int) { progress("EM", done, all) },
		OnPrepare: func(done, all int) {
			if progress("denoise", done, all); done == all {
				finish(b)
				b = nil
			}
		},
		OnEpoch: func(h dpn.Epoch) {
			clear()
			val := ""
			if h.ValLoss != nil {
				val = fmt.Sprintf("   validation %.4f %6.2f%%", *h.ValLoss, 100**h.ValAccuracy)
			}
			t.note("epoch %*d   loss %.4f %6.2f%%%s   alpha*lambda %.2f   active %.1f   %.1f s\n", len(fmt.Sprint(c.Epochs)), h.Epoch,
				h.TrainLoss, 100*h.TrainAccuracy, val, h.Diagnostics.AlphaLambda, h.Diagnostics.StrongLast, h.Seconds)
			if h.Epoch == 1 { // what is beside the model belongs to an earlier one
				os.Remove(filepath.Join(t.out, resultFile))
			}
			t.afterInterrupt = fmt.Sprintf(": the epochs up to %d are kept, go on with train --out %s --resume", h.Epoch, t.out)
		},
		OnStep: func(done, all int, loss float64) { progress("train", done, all) },
	}
	t.afterInterrupt = ": no epoch was finished"
	if t.resume {
		t.afterInterrupt = fmt.Sprintf(": no further epoch was finished, go on with train --out %s --resume", t.out)
	}
	res, err := m.Fit(ctx, e, data.Train, opt)
	finish(b)
	if err != nil {
		return nil, err
	}
	if res.Stopped {
		t.note("stopped early: %s without a lower validation loss (--patience)\n", count(c.Patience, "epoch"))
	}
	var r *trainResult
	if res.Already {
		t.note("already finished, with %s: nothing is left to train\n", count(len(res.Epochs), "epoch"))
		r = t.found(m)
	}
	complete := r != nil && exist(report.Files(filepath.Join(t.out, curvesFile)))
	if r == nil {
		if r, err = t.evaluate(ctx, e, m, data, res); err != nil {
			return nil, err
		}
	}
	t.printf("test   loss %.4f   accuracy %.2f%%   (%s, model of epoch %d)\n", float64(r.TestLoss), 100*r.TestAccuracy, count(r.TestSamples, "picture"), r.BestEpoch)
	t.note("%.1f s in all, of which %.1f s to prepare; %s of %.3g s each; weights %s\n",
		r.Seconds, r.PrepareSeconds, count(r.Steps, "update"), r.SecondsPerStep, r.WeightsSHA256[:16])
	if !complete {
		if err := saveJSON(filepath.Join(t.out, resultFile), r); err != nil {
			return r, err
		}
		if err := trainingCurves(t.out, c, data.Name, res.Epochs); err != nil {
			return r, err
		}
	}
	t.note("model  %s\n", filepath.Join(t.out, dpn.ModelFile))
	return r, nil
}

// evaluate evaluates the network that training has ended with, and sums up.
func (t *training) evaluate(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data, res *dpn.FitResult) (*trainResult, error) {
	c := m.Config
	score, err := m.Score(ctx, e, data.Test)
	if err != nil {
		return nil, err
	}
	r := &trainResult{
		Preset: c.Preset, Seed: c.Seed, Tier: e.Tier().String(), Threads: e.Threads(), Data: data.Name,
		TrainSamples: data.Train.Len(), TestSamples: data.Test.Len(),
		Epochs: res.Epochs, BestEpoch: res.Best, StoppedEarly: res.Stopped, TestLoss: separation.Float(score.Loss), TestAccuracy: score.Accuracy,
		Steps: res.Updates, Seconds: res.Seconds, PrepareSeconds: res.PrepareSeconds, SecondsPerStep: res.SecondsPerStep,
		Parameters: m.Parameters(), MACsPerSample: m.MACs(), PeakRSSBytes: peakRSS(), WeightsSHA256: m.WeightsSHA256(),
		Config: c, Out: t.out,
	}
	if res.Placement != nil {
		r.EM = res.Placement.EM
	}
	return r, nil
}

// found returns the results that the folder has of m, or nil.
func (t *training) found(m *dpn.Model) *trainResult {
	var r trainResult
	b, err := os.ReadFile(filepath.Join(t.out, resultFile))
	if err != nil || json.Unmarshal(b, &r) != nil || r.WeightsSHA256 != m.WeightsSHA256() {
		return nil
	}
	return &r
}

// exist says whether all files are there.
func exist(files []string) bool {
	return !slices.ContainsFunc(files, func(path string) bool { _, err := os.Stat(path); return err != nil })
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// trainingCurves draws loss and accuracy over epochs.
func trainingCurves(dir string, c dpn.Config, data string, epochs []dpn.Epoch) error {
	var points []report.Epoch
	for _, h := range epochs {
		p := report.Epoch{Epoch: h.Epoch, TrainLoss: h.TrainLoss, TrainAccuracy: h.TrainAccuracy, ValLoss: nan, ValAccuracy: nan}
		if h.ValLoss != nil {
			p.ValLoss, p.ValAccuracy = *h.ValLoss, *h.ValAccuracy
		}
		points = append(points, p)
	}
	return report.Save(filepath.Join(dir, curvesFile), report.Training{Title: fmt.Sprintf("Training of %s on %s", c.Preset, filepath.Base(data)), Epochs: points})
}
