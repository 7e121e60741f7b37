package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/engine"

	"dpnbench/internal/format"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const evalHelp = `Evaluate a model on the test samples: mean cross-entropy, accuracy, and the accuracy of every class
with its 95%% interval (Wilson) and the numbers of predictions of each class (confusion matrix). The
balanced accuracy, the mean over classes, is given where the largest class has over 1.5 times the
samples of the smallest. With --split validation it uses the samples that training kept for
validation instead: choose settings by those, and keep the test samples for reporting.

A model file is what "dpnbench train" writes, or a PyTorch state dictionary with the keys of the
published reference, saved by safetensors.torch.save_file ("dpnbench import" reads what torch.save
writes). A state dictionary does not say how many ascent steps to make: give --steps (default 30).
Other assumptions are printed, and listed under "assumed" in the JSON. The samples are those that
the model was trained with, unless --data is given.

--corrupt NAME:SEVERITY,... also evaluates on corrupted images, --suite robustness on all kinds but
those of MNIST-C at three severities each. The kinds, with the range and unit of the severity and
the severities in the suite:

%s
--suite mnist-c evaluates on the fifteen corruptions of MNIST-C, which are kinds, too; --data
mnist-c:FOLDER on its published arrays. Beside the accuracies come published ones and the mean
corruption error (mCE) against the published CNN or the model of --baseline. The published ones were
measured without the normalisation of training; --unnormalised does the same.

The noise of an image depends on --corrupt-seed and the image's position in the data only, and is
the same on every machine. Grey levels are between 0 (background) and 1 (ink).`

func evalCommand(a *app) *cobra.Command {
	v := &evaluation{app: a}
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate a model on the test samples",
		Long:  fmt.Sprintf(evalHelp, corruptionTable()),
		Example: `  dpnbench eval --model runs/first/model.safetensors
  dpnbench eval --model runs/first/model.safetensors --test-size 1000
  dpnbench eval --model runs/first/model.safetensors --corrupt gaussian:0.3,saltpepper:0.3
  dpnbench eval --model runs/first/model.safetensors --suite robustness --json -
  dpnbench eval --model runs/first/model.safetensors --suite mnist-c
  dpnbench eval --model runs/cnn/model.safetensors --suite mnist-c --unnormalised
  dpnbench eval --model runs/first/model.safetensors --data mnist-c:mnist_c
  dpnbench eval --model runs/first/model.safetensors --with runs/second/model.safetensors
  dpnbench eval --model runs/first/model.safetensors --split validation --corrupt gaussian:0.5
  dpnbench eval --model reference.safetensors --data mnist --steps 30 --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context(), c.Flags()) },
	}
	v.data.add(c, false)
	v.data.addValidation(c)
	v.model.add(c, "steps")
	v.model.addWith(c)
	f := c.Flags()
	f.StringSliceVar(&v.corrupt, "corrupt", nil, "`LIST` of corruptions, such as gaussian:0.3,saltpepper:0.3")
	f.Uint64Var(&v.corruptSeed, "corrupt-seed", 1, "random `SEED` of the corruptions")
	wordVar(f, &v.split, "split", "test", []string{"test", "validation"},
		"`SPLIT` of the samples: test, or validation (see train --val-size and --val-data)")
	wordVar(f, &v.suite, "suite", "", []string{"robustness", "mnist-c"}, "`NAME` of a suite: "+
		"robustness, every corruption at three severities, or mnist-c, those of MNIST-C")
	f.StringVar(&v.baseline, "baseline", "", "model `FILE` of the errors that mCE on MNIST-C divides by (default: "+
		"the published CNN)")
	f.BoolVar(&v.unnormalised, "unnormalised", false, "give all models the levels of images from 0 to 1, not "+
		"normalised as in training")
	a.addExplain(c)
	return c
}

// corruptionTable lists the kinds of corruptions for a help text.
func corruptionTable() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, k := range dataset.CorruptionKinds() {
		if k.MNISTC() != "" {
			fmt.Fprintf(w, "  %s\t%s\n", k.Name, k.Effect)
			continue
		}
		fmt.Fprintf(w, "  %s\t%s;\n", k.Name, k.Effect)
		fmt.Fprintf(w, "  \t%s, %s; suite: %s\n", k.Range(), k.Unit, strings.Trim(fmt.Sprint(k.Suite), "[]"))
	}
	w.Flush()
	return b.String()
}

// evaluation is one run of eval.
type evaluation struct {
	*app
	data        dataFlags
	model       modelFlags
	corrupt     []string
	corruptSeed uint64
	suite       string
	baseline    string // model
	split       string

	unnormalised bool
}

// evalResult is the JSON of eval.
type evalResult struct {
	Model        string            `json:"model"`
	With         []string          `json:"with,omitempty"` // other models of the ensemble
	Data         string            `json:"data"`
	Split        string            `json:"split"`
	Unnormalised bool              `json:"unnormalised,omitempty"` // levels from 0 to 1
	Samples      int               `json:"samples"`
	Loss         *float64          `json:"loss"` // null with an error
	Accuracy     *float64          `json:"accuracy"`
	ByClass      *layer.ByClass    `json:"by_class"`
	Assumed      assumptions       `json:"assumed,omitempty"`
	CorruptSeed  uint64            `json:"corrupt_seed"`
	Corruptions  []corruptionScore `json:"corruptions"`
	MNISTC       *mnistcScores     `json:"mnist_c,omitempty"` // with suite or data mnist-c
	Error        string            `json:"error,omitempty"`   // which output of the network is not finite
}

// corruptionScore is a row of corruptions in the JSON of eval.
type corruptionScore struct {
	Name     string           `json:"name"`
	Severity float64          `json:"severity"`
	Unit     string           `json:"unit"`
	Loss     separation.Float `json:"loss"`
	Accuracy float64          `json:"accuracy"`
}

// corruptions returns the corruptions that the flags ask for.
func (v *evaluation) corruptions() ([]dataset.Corruption, error) {
	_, arrays := v.arrays()
	switch {
	case arrays && (v.suite != "" || v.corrupt != nil || v.split != "test"):
		return nil, fmt.Errorf("--data %s: its images are corrupted already; expected no --suite, --corrupt or "+
			"--split with it", v.data.data)
	case arrays, v.suite == "mnist-c" && v.corrupt == nil:
		return dataset.MNISTCSuite(), nil
	case v.suite != "" && v.corrupt != nil:
		return nil, fmt.Errorf("--suite %s: has its own corruptions; expected only one of --suite and --corrupt",
			v.suite)
	case v.suite == "robustness":
		return dataset.RobustnessSuite(), nil
	case v.corrupt == nil:
		return nil, nil
	}
	list, err := dataset.ParseCorruptions(strings.Join(v.corrupt, ","))
	if err != nil {
		return nil, fmt.Errorf("--corrupt: %w", err)
	}
	return list, nil
}

// score evaluates n on every corruption.
func (v *evaluation) score(ctx context.Context, e *engine.Engine, n dpn.Ensemble, s *dataset.Set,
	list []dataset.Corruption) ([]corruptionScore, error) {
	scores := []corruptionScore{}
	report := v.phase("corrupt")
	for i, c := range list {
		r, err := v.scoreOn(ctx, e, n, s, c)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		scores = append(scores, corruptionScore{c.Name, c.Severity, kindOf(c).Unit, separation.Float(r.Loss),
			r.Accuracy})
		report(i+1, len(list))
	}
	return scores, nil
}

// printScores prints one row for each corruption; for the suite, one for each kind.
func (v *evaluation) printScores(scores []corruptionScore) {
	rows := [][]string{{"corruption", "severity", "loss", "accuracy"}}
	if v.suite != "" {
		rows = [][]string{{"accuracy (severity)", "mild", "", "medium", "", "hard", ""}}
	}
	mean := 0.0
	for _, s := range scores {
		severity, accuracy := fmt.Sprint(s.Severity), fmt.Sprintf("%.2f%%", 100*s.Accuracy)
		mean += s.Accuracy / float64(len(scores))
		switch last := rows[len(rows)-1]; {
		case v.suite == "":
			rows = append(rows, []string{s.Name, severity, fmt.Sprintf("%.4f", float64(s.Loss)), accuracy})
		case last[0] == s.Name:
			rows[len(rows)-1] = append(last, accuracy, "("+severity+")")
		default:
			rows = append(rows, []string{s.Name, accuracy, "(" + severity + ")"})
		}
	}
	v.table(rows)
	v.printf("mean accuracy %.2f%% over %s (seed %d)\n", 100*mean, format.Count(len(scores), "corruption"),
		v.corruptSeed)
}

// images returns the images of the split that the flags ask for, and the name of their data.
func (v *evaluation) images(ctx context.Context, m *dpn.Model, trained dpn.Config,
	data *dataset.Data) (s *dataset.Set, name string, err error) {
	if v.split == "test" {
		return data.Test, data.Name, needTestLabels(data)
	}
	val, err := v.validation(ctx, m, trained, data)
	if err == nil && val.Len() == 0 {
		err = fmt.Errorf("the model kept no %s for validation (val-size 0)", m.Shape.Samples())
	}
	if err != nil {
		return nil, "", fmt.Errorf("--split validation: %w", err)
	}
	if c := m.Config; c.ValData != "" && sameData(c, trained) {
		return val, c.ValData, nil
	}
	return val, data.Name, nil
}

// warnOfOther warns of a model of --with that was, or may have been, trained on the samples of the split that it is
// evaluated on. The data were opened with the settings c.
func (v *evaluation) warnOfOther(m *dpn.Model, path string, c dpn.Config, data *dataset.Data, samples *dataset.Set) {
	if v.split == "test" {
		v.warnOfTraining(m, path, m.Config, c, data)
		return
	}
	seen, o := m.TrainedOn(samples), m.Config
	switch {
	case seen || c.ValData != "" || o.Data != c.Data && !m.TrainedOn(data.Train):
	case o.ValData != "" || o.TrainSize != c.TrainSize || o.TestShare != c.TestShare || o.DataSeed != c.DataSeed:
		seen = true // trained on all, or on others of the same data
	default: // on all but those that it kept itself
		held, err := m.Validation(data.Train)
		seen = err != nil || !holds(held, samples)
	}
	if seen {
		v.log().Warn("the model was, or may have been, trained on some of the validation "+m.Shape.Samples()+
			" of --model: results on them say little about others", "with", path)
	}
}

// holds says whether all samples are in a set.
func holds(set, samples *dataset.Set) bool {
	in := map[string]bool{}
	for i := range set.Len() {
		in[string(set.AppendSample(nil, i))] = true
	}
	for i := range samples.Len() {
		if !in[string(samples.AppendSample(nil, i))] {
			return false
		}
	}
	return true
}

func (v *evaluation) run(ctx context.Context, flags *pflag.FlagSet) error {
	if v.split == "test" {
		if err := onlyWith(flags, "--split validation", "val-data"); err != nil {
			return err
		}
	}
	if v.split == "validation" {
		if err := onlyWith(flags, "--split test", "test-size"); err != nil {
			return err
		}
	}
	list, err := v.corruptions()
	if err != nil {
		return err
	}
	if _, arrays := v.arrays(); arrays || len(list) == 0 {
		if err := onlyWith(flags, "--corrupt or --suite", "corrupt-seed"); err != nil {
			return err
		}
	}
	m, err := v.model.load(v.app, flags)
	if err != nil {
		return err
	}
	all, err := v.model.ensemble(v.app, m, flags)
	if err != nil {
		return err
	}
	base, err := v.loadBaseline(m)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		if err := v.model.needImages(m, "corruptions"); err != nil {
			return err
		}
	}
	if v.unnormalised {
		if err := v.model.needImages(m, "--unnormalised"); err != nil {
			return err
		}
	}
	files := v.model.files(v.app, m, &v.data, flags)
	files.Input("--baseline", v.baseline)
	if err := files.Check(); err != nil {
		return err
	}
	e, err := v.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	trained := m.Config
	data, err := v.openModelData(ctx, m, v.model.path, &v.data, flags, v.split != "test")
	if err != nil {
		return err
	}
	images, dataName, err := v.images(ctx, m, trained, data)
	if err != nil {
		return err
	}
	for i, other := range all[1:] {
		v.warnOfOther(other, v.model.with[i], m.Config, data, images)
	}
	v.explainAscent(e, m, images, false)
	assumed := assumedSettings(m, flags)
	if v.unnormalised {
		takeLevels(append(slices.Clone(all), base))
		delete(assumed, "mean")
		delete(assumed, "std")
	}
	r := evalResult{Model: v.model.path, With: v.model.with, Data: dataName, Split: v.split,
		Unnormalised: v.unnormalised, Samples: images.Len(), Assumed: assumed, CorruptSeed: v.corruptSeed,
		Corruptions: []corruptionScore{}}
	s, by, err := all.ScoreClasses(ctx, e, images)
	var scores []corruptionScore
	if err == nil {
		scores, err = v.score(ctx, e, all, images, list)
	}
	if err != nil {
		err = v.model.blame(m, err)
		if errors.As(err, new(*dpn.OutputError)) { // a reader of the JSON finds no numbers, and why
			r.Error = err.Error()
			err = joined(err, v.writeJSON(r))
		}
		return err
	}
	if len(assumed) > 0 {
		v.note("no settings in %s, assumed: %s\n", v.model.path, assumed)
	}
	of, name := "", "this model"
	if len(all) > 1 {
		of, name = fmt.Sprintf(", mean of %d models", len(all)), "these models"
	}
	if v.unnormalised {
		of += ", not normalised"
	}
	v.printf("%s   loss %.4f   accuracy %.2f%%%s   (%s of %s%s)\n",
		v.split, s.Loss, 100*s.Accuracy, balanced(by), format.Count(s.Samples, m.Shape.Sample()), dataName, of)
	v.printClasses(by, v.split+" "+m.Shape.Sample())
	if v.mnistc() {
		r.MNISTC, err = v.compare(ctx, e, onMNISTC(name, s.Accuracy, scores), base, images)
		if err != nil {
			return err
		}
		v.printMNISTC(r.MNISTC, dataName, s.Samples)
	} else if len(scores) > 0 {
		v.printScores(scores)
	}
	r.Loss, r.Accuracy, r.ByClass, r.Corruptions = &s.Loss, &s.Accuracy, &by, scores
	return v.writeJSON(r)
}

// takeLevels has models take the levels of images, from 0 to 1, as they are. Some may be nil.
func takeLevels(models dpn.Ensemble) {
	for _, m := range models {
		if m != nil {
			m.SetNorm(dataset.Uniform(0, 1))
		}
	}
}

// assumptions maps settings to the values assumed for them.
type assumptions map[string]any

// assumedSettings returns the assumptions about a model whose file has no settings, except those
// that flags override.
func assumedSettings(m *dpn.Model, flags *pflag.FlagSet) assumptions {
	values := assumptions{"steps": m.Config.Steps, "layer-norm": m.Config.LayerNorm,
		"mean": m.Norm.Mean[0], "std": m.Norm.Std[0], "data": m.Config.Data}
	assumed := assumptions{}
	for _, name := range m.Assumed {
		if f := flags.Lookup(name); f == nil || !f.Changed {
			assumed[strings.ReplaceAll(name, "-", "_")] = values[name]
		}
	}
	return assumed
}

// String lists the settings in alphabetical order.
func (a assumptions) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		list = append(list, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", "-"), a[name]))
	}
	return strings.Join(list, ", ")
}
