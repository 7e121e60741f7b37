package main

import (
	"fmt"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const trainHelp = `Train a Denoising Potential Network and evaluate it on the test samples. A tenth of the training
samples of every class, drawn by --seed, is kept for validation; the epoch with the lowest
validation loss gives the model that is saved and evaluated.

Settings come from a preset or from the TOML file of --config, then from flags. With --resume they
come from the resumed folder. A preset fits itself to the data: a small set gets more epochs, for as
many updates as a large one, and no more components than its samples allow.

"dpnbench help presets" lists the presets and every setting of each.

Each epoch's line shows alpha*lambda, alpha times the largest eigenvalue of the precisions (from 2
on, ascent steps can overshoot), and the number of strong components (responsibility above 0.01 at
the end of the ascent). train.json and metrics.jsonl hold more diagnostics, among them the cost of
the last update's ascent: its route and, for each step, the components active, computed and
bounded. If training leaves the healthy range, a warning names the settings to change (once for
each kind).

A run is saved after an epoch (of short epochs, about once a second), when it is interrupted, and
within an epoch as --checkpoint-minutes and --checkpoint-every say. --resume continues from there
with the same bits.

The folder of --out gets model.safetensors (best epoch), last.safetensors, state.safetensors (for
--resume), metrics.jsonl, config.toml, train.json (the same as --json) and the training curves.
The default is a new folder runs/PRESET-N. Only one process can train in a folder at a time.`

// defaultMinutes is the default of --checkpoint-minutes.
const defaultMinutes = 5

func trainCommand(a *app) *cobra.Command { return (&training{app: a}).command() }

func (t *training) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a network",
		Long:  trainHelp,
		Example: `  dpnbench train --preset compact --out runs/first
  dpnbench train --data mnist --preset published --steps 10
  dpnbench train --data path/to/idx --preset paper --epochs 1 --out runs/paper
  dpnbench train --out runs/first --resume   # continue an interrupted run
  dpnbench train --preset paper --checkpoint-minutes 1   # lose a minute at most
  dpnbench train --preset clean --epochs 30 --patience 3   # early stopping
  dpnbench train --nll 0.1 --score-matching 0.1 --alpha-lr 1e-4   # density losses
  dpnbench train --preset paper --max-updates 1 --explain   # how the ascent is run
  dpnbench train --preset clean --max-updates 200 --profile   # where the time goes
  dpnbench train --init em --em-ridge 0.3 --verbose   # start from a fitted mixture
  dpnbench train --config runs/first/config.toml --seed 2 --json result.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return t.run(c.Context(), c.Flags()) },
	}
	t.data.add(c, true)
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&t.preset, "preset", "", "`NAME` of the preset to start from, see \"dpnbench help presets\" "+
		"(default: compact for images, tabular for vectors)")
	f.StringVar(&t.config, "config", "", "TOML `FILE` with settings, instead of --preset")
	f.StringVar(&t.out, "out", "", "`FOLDER` for the results")
	f.BoolVar(&t.resume, "resume", false, "continue where the run in the folder of --out was saved last")
	f.BoolVar(&t.overwrite, "overwrite", false, "replace an earlier run in the folder of --out; what other commands "+
		"have made there of its model stays, and a warning names it")
	f.IntVar(&t.every, "checkpoint-every", 0, "save the run after `N` updates, also within an epoch; 0: never")
	f.Float64Var(&t.minutes, "checkpoint-minutes", defaultMinutes, "save the run after `M` minutes, also within an "+
		"epoch; 0: never")
	f.BoolVar(&t.profiled, "profile", false, "print where the time of an update goes, phase by phase, beside what "+
		"this machine could do at best")
	t.addExplain(c)
	group(f, settingsGroup, "preset", "config")
	group(f, outputGroup, "out", "resume", "overwrite", "checkpoint-every", "checkpoint-minutes", "profile", "explain")
	t.flags = settingFlags(&t.settings)
	f.AddFlagSet(t.flags)
	f.IntVar(&t.ranks, "ranks", 1, "train by `R` ranks in this process, which divide the threads; more than one "+
		"have 8 shards unless --shards is given")
	group(f, trainingGroup, "ranks")
	return c
}

// trainSetting is a flag of train that sets a field of dpn.Config.
type trainSetting struct {
	value      any // pointer to the field
	name, help string
}

// settingGroup are settings that the help lists together.
type settingGroup struct {
	title    string
	settings []trainSetting
}

// settings lists the flags that set a setting of c. Their names are those in the TOML file.
func settings(c *dpn.Config) []settingGroup {
	return []settingGroup{
		{dataGroup, []trainSetting{
			{&c.Contrast, "contrast", "normalise each image: distance from the background at its border, scaled to " +
				"[0, 1]"},
			{&c.Centre, "centre", "centre each image by `KIND`: " + strings.Join(dataset.Centrings(), ", ") +
				" (also slant and size); empty: as it is"},
			{&c.RMS, "rms", "divide each image by the fourth root of its root mean square, after --contrast and " +
				"--centre: images then differ less in brightness"},
			{&c.ValSize, "val-size", "keep `N` training samples for validation, the same share of every class, drawn " +
				"by --seed; -1: 10%"},
			{&c.ValData, "val-data", "validate on the training samples of `WHAT` (as --data; " +
				"without training samples there, its test samples), and train on all of --data"},
		}},
		{networkGroup, []trainSetting{
			{&c.Extractor, "extractor", "`NAME` of the extractor: identity (the input as it is), or linear, mlp, " +
				"conv, conv3 to --dim features"},
			{&c.Hidden, "hidden", "`WIDTHS` of the hidden layers of the mlp extractor, such as 512-256; channels of " +
				"the two convolutions of conv"},
			{&c.Dim, "dim", "`N` features of the extractor"},
			{&c.LayerNorm, "layer-norm", "normalise the features"},
		}},
		{potentialGroup, []trainSetting{
			{&c.Components, "components", "`K` Gaussians in the mixture"},
			{&c.Steps, "steps", "`N` ascent steps"},
			{&c.Form, "form", "`FORM` of the precisions: " + strings.Join(potential.Forms(), ", ")},
			{&c.Rank, "rank", "rank `R` of the forms lowrank and flat"},
			{&c.Eps, "eps", "form flat: `FRACTION` of the precision that remains along U"},
			{&c.Scale, "scale", "initial scale `S` of the precisions: A = S I; the factor of the other forms"},
			{&c.Init, "init", "`METHOD` to initialise the centres: kmeans, classwise (k-means in each class), " +
				"samples (random features), em or em-classwise (EM started from either k-means: centres, weights and " +
				"precisions)"},
			{&c.EMIterations, "em-iterations", "at most `N` iterations of EM"},
			{&c.EMTolerance, "em-tolerance", "stop EM when the log-likelihood rises by less than `NATS` per image"},
			{&c.EMRidge, "em-ridge", "least variance in EM, as a `FRACTION` of the mean variance of a feature"},
			{&c.Alpha, "alpha", "initial `STEP` size of the ascent; with em at most 1 over the largest eigenvalue " +
				"of the precisions"},
		}},
		{trainingGroup, []trainSetting{
			{&c.Gradient, "gradient", "`KIND` of gradient: exact, or detached (only the classifier learns)"},
			{&c.Epochs, "epochs", "`N` passes over the training samples"},
			{&c.MaxUpdates, "max-updates", "stop after `N` updates; 0: no limit"},
			{&c.Batch, "batch", "`N` samples per minibatch"},
			{&c.Shards, "shards", "compute each minibatch in `S` pieces, whose gradients are added in a fixed order"},
			{&c.Balance, "balance", "weigh the losses by class, in inverse proportion to its number of training " +
				"samples"},
			{&c.Optimiser, "optimiser", "`NAME` of the optimiser: adam or adadelta"},
			{&c.LR, "lr", "learning `RATE` for extractor and classifier"},
			{&c.PotentialLR, "potential-lr", "learning `RATE` for the potential: mu, c, alpha and precisions"},
			{&c.ExtractorLR, "extractor-lr", "learning `RATE` for the extractor; 0: as --lr"},
			{&c.AlphaLR, "alpha-lr", "learning `RATE` for the step size alpha; 0: as --potential-lr"},
			{&c.Schedule, "schedule", "`NAME` of the schedule: constant, cosine (decay to 0) or decay (times 0.7 " +
				"after each epoch)"},
			{&c.Warmup, "warmup", "`FRACTION` of the updates over which the rates rise linearly"},
			{&c.Clip, "clip", "largest `NORM` of the gradient; 0: no limit"},
			{&c.NLL, "nll", "`WEIGHT` of the negative log-likelihood of the features under the mixture"},
			{&c.Score, "score-matching", "`WEIGHT` of denoising score matching on the features"},
			{&c.ScoreSigma, "score-sigma", "`STD` of the noise on features in score matching"},
			{&c.Patience, "patience", "stop after `N` epochs without a lower validation loss; 0: never"},
			{&c.Seed, "seed", "`SEED` of all random numbers of training"},
		}},
		{noiseGroup, []trainSetting{
			{&c.NoiseMin, "noise-min", "smallest `STD` of the noise added to half of each minibatch, in levels of " +
				"[0, 1] (vectors: in deviations of a feature)"},
			{&c.NoiseMax, "noise-max", "largest `STD` of that noise; 0: no noise"},
			{&c.Denoising, "denoising", "`WEIGHT` of the denoising loss: squared distance from the ends of noisy " +
				"ascents to the features without noise"},
		}},
	}
}

// settingFlags returns the flags of settings.
func settingFlags(c *dpn.Config) *pflag.FlagSet {
	f := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	f.SortFlags = false
	for _, g := range settings(c) {
		for _, s := range g.settings {
			s.define(f)
			group(f, g.title, s.name)
		}
	}
	allowEmpty(f, "hidden") // no hidden layers
	allowEmpty(f, "centre")
	return f
}

// define adds the flag.
func (s trainSetting) define(f *pflag.FlagSet) {
	switch v := s.value.(type) {
	case *string:
		f.StringVar(v, s.name, "", s.help)
	case *bool:
		f.BoolVar(v, s.name, false, s.help)
	case *int:
		f.IntVar(v, s.name, 0, s.help)
	case *uint64:
		f.Uint64Var(v, s.name, 0, s.help)
	case *float64:
		f.Float64Var(v, s.name, 0, s.help)
	default:
		panic(fmt.Sprintf("no flag for a setting of type %T", v))
	}
}
