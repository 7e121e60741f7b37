package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func evalCommand(a *app) *cobra.Command {
	v := &evaluation{app: a}
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate a model on the test pictures",
		Long: `Evaluate a model on the test pictures: mean cross-entropy and accuracy. With --split
validation they are the training pictures that training kept for validation: settings are
chosen by those, and test pictures only report.

A model file is what "dpnbench train" writes, or a PyTorch state dictionary with the keys
of the published reference, saved by safetensors.torch.save_file (what torch.save writes
is not read). The latter does not say how many ascent steps to make: give --steps (30
otherwise). What else is assumed of it is printed, and in the JSON under "assumed". The
pictures are those that the model was trained with, unless --data says otherwise.

--corrupt evaluates it on spoiled pictures, too: a list of NAME:SEVERITY of these, and
--suite robustness on all of them at three severities each (the last column).

` + corruptionTable() + `
The noise of a picture follows from --corrupt-seed and its place in the data, and is the
same on every machine. Grey levels lie between 0 (background) and 1 (ink).`,
		Example: `  dpnbench eval --model runs/first/model.safetensors
  dpnbench eval --model runs/first/model.safetensors --test-size 1000
  dpnbench eval --model runs/first/model.safetensors --corrupt gaussian:0.3,saltpepper:0.3
  dpnbench eval --model runs/first/model.safetensors --suite robustness --json -
  dpnbench eval --model runs/first/model.safetensors --split validation --corrupt gaussian:0.5
  dpnbench eval --model reference.safetensors --data mnist --steps 30 --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context(), c.Flags()) },
	}
	v.data.add(c, false)
	v.model.add(c, "steps")
	f := c.Flags()
	f.StringVar(&v.corrupt, "corrupt", "", "`LIST` of corruptions, such as gaussian:0.3,saltpepper:0.3")
	f.Uint64Var(&v.corruptSeed, "corrupt-seed", 1, "decides what is random about corruptions")
	f.StringVar(&v.split, "split", "test", "pictures: test, or validation (the last training pictures, --val-size of the training), to choose settings by")
	f.StringVar(&v.suite, "suite", "", "robustness: every corruption at three severities")
	a.addExplain(c)
	return c
}

// corruptionTable lists the kinds of corruptions.
func corruptionTable() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, k := range dataset.CorruptionKinds() {
		fmt.Fprintf(w, "  %s\t%s: %s\t%s\n", k.Name, k.Unit, k.Range(), strings.Trim(fmt.Sprint(k.Suite), "[]"))
		fmt.Fprintf(w, "  \t  %s\n", k.Effect)
	}
	w.Flush()
	return b.String()
}

// modelFlags choose a model.
type modelFlags struct {
	path  string
	flag  string // for the ascent steps
	steps int
}

// add adds the flags, that for the ascent steps by this name.
func (m *modelFlags) add(c *cobra.Command, steps string) {
	m.flag = steps
	c.Flags().StringVar(&m.path, "model", "", "model `FILE`")
	c.Flags().IntVar(&m.steps, steps, 0, "ascent steps in the place of the model's")
}

func (m *modelFlags) load(flags *pflag.FlagSet) (*dpn.Model, error) {
	if m.path == "" {
		return nil, fmt.Errorf("--model: expected a model file")
	}
	model, err := dpn.Load(m.path)
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	if flags.Changed(m.flag) {
		model.Config.Steps = m.steps
		if err := model.Config.Validate(); err != nil {
			return nil, fmt.Errorf("--%s%s", m.flag, strings.TrimPrefix(err.Error(), "steps"))
		}
	}
	return model, nil
}

// evaluation is one run of eval.
type evaluation struct {
	*app
	data        dataFlags
	model       modelFlags
	corrupt     string
	corruptSeed uint64
	suite       string
	split       string
}

// corruptionScore is a row of corruptions in the JSON of eval.
type corruptionScore struct {
	Name     string           `json:"name"`
	Severity float64          `json:"severity"`
	Unit     string           `json:"unit"`
	Loss     separation.Float `json:"loss"`
	Accuracy float64          `json:"accuracy"`
}

// corruptions returns those that the flags ask for.
func (v *evaluation) corruptions() ([]dataset.Corruption, error) {
	switch {
	case v.suite != "" && v.corrupt != "":
		return nil, fmt.Errorf("--suite %s: has corruptions of its own; give it or --corrupt", v.suite)
	case v.suite == "robustness":
		return dataset.RobustnessSuite(), nil
	case v.suite != "":
		return nil, fmt.Errorf("--suite %q: expected robustness", v.suite)
	case v.corrupt == "":
		return nil, nil
	}
	list, err := dataset.ParseCorruptions(v.corrupt)
	if err != nil {
		return nil, fmt.Errorf("--corrupt: %w", err)
	}
	return list, nil
}

// score evaluates m on every corruption.
func (v *evaluation) score(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set, list []dataset.Corruption) ([]corruptionScore, error) {
	units := map[string]string{}
	for _, k := range dataset.CorruptionKinds() {
		units[k.Name] = k.Unit
	}
	scores := []corruptionScore{}
	b := v.bar(len(list), "corrupt")
	defer finish(b)
	for i, c := range list {
		r, err := m.ScoreCorrupted(ctx, e, s, c, v.corruptSeed)
		if err != nil {
			return nil, err
		}
		scores = append(scores, corruptionScore{c.Name, c.Severity, units[c.Name], separation.Float(r.Loss), r.Accuracy})
		set(b, i+1)
	}
	return scores, nil
}

// printScores prints a row for each corruption, or for the suite a row for each kind.
func (v *evaluation) printScores(scores []corruptionScore) {
	rows := [][]string{{"corruption", "severity", "loss", "accuracy"}}
	if v.suite != "" {
		rows = [][]string{{"accuracy (severity)", "mild", "", "middle", "", "hard", ""}}
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
	v.printf("mean accuracy %.2f%% over %s (seed %d)\n", 100*mean, count(len(scores), "corruption"), v.corruptSeed)
}

// pictures returns the pictures of the split that the flags ask for.
func (v *evaluation) pictures(m *dpn.Model, data *dataset.Data) (*dataset.Set, error) {
	if v.split == "test" {
		return data.Test, nil
	}
	_, val, err := m.Split(data.Train)
	if err == nil && val.Len() == 0 {
		err = fmt.Errorf("the model kept no pictures for validation (val-size 0)")
	}
	if err != nil {
		return nil, fmt.Errorf("--split validation: %w", err)
	}
	return val, nil
}

func (v *evaluation) run(ctx context.Context, flags *pflag.FlagSet) error {
	if v.split != "test" && v.split != "validation" {
		return fmt.Errorf("--split %q: expected test or validation", v.split)
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
	if len(list) == 0 {
		if err := onlyWith(flags, "--corrupt or --suite", "corrupt-seed"); err != nil {
			return err
		}
	}
	m, err := v.model.load(flags)
	if err != nil {
		return err
	}
	e, err := v.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	v.data.settle(flags, &m.Config)
	data, err := openData(ctx, m.Config, v.split != "test")
	if err != nil {
		return err
	}
	if err := v.checkJSON(v.model.path); err != nil {
		return err
	}
	pictures, err := v.pictures(m, data)
	if err != nil {
		return err
	}
	v.explainAscent(e, m, pictures, false)
	s, err := m.Score(ctx, e, pictures)
	if err != nil {
		return fmt.Errorf("--data %s: %w", m.Config.Data, err)
	}
	scores, err := v.score(ctx, e, m, pictures, list)
	if err != nil {
		return err
	}
	assumed := assumedSettings(m, flags)
	if err := v.writeJSON(struct {
		Model       string            `json:"model"`
		Data        string            `json:"data"`
		Split       string            `json:"split"`
		Samples     int               `json:"samples"`
		Loss        separation.Float  `json:"loss"`
		Accuracy    float64           `json:"accuracy"`
		Assumed     assumptions       `json:"assumed,omitempty"`
		CorruptSeed uint64            `json:"corrupt_seed"`
		Corruptions []corruptionScore `json:"corruptions"`
	}{v.model.path, data.Name, v.split, s.Samples, separation.Float(s.Loss), s.Accuracy, assumed, v.corruptSeed, scores}); err != nil {
		return err
	}
	if len(assumed) > 0 {
		v.note("no settings in %s, assumed: %s\n", v.model.path, assumed)
	}
	v.printf("%s   loss %.4f   accuracy %.2f%%   (%s of %s)\n", v.split, s.Loss, 100*s.Accuracy, count(s.Samples, "picture"), data.Name)
	if len(scores) > 0 {
		v.printScores(scores)
	}
	return nil
}

// assumptions are settings with the values that were taken for them.
type assumptions map[string]any

// assumedSettings returns what was assumed of a model whose file has no settings, less what
// the flags say.
func assumedSettings(m *dpn.Model, flags *pflag.FlagSet) assumptions {
	values := assumptions{"steps": m.Config.Steps, "layer-norm": m.Config.LayerNorm, "mean": m.Norm.Mean, "std": m.Norm.Std, "data": m.Config.Data}
	assumed := assumptions{}
	for _, name := range m.Assumed {
		if f := flags.Lookup(name); f == nil || !f.Changed {
			assumed[strings.ReplaceAll(name, "-", "_")] = values[name]
		}
	}
	return assumed
}

// String lists the settings in the order of their names.
func (a assumptions) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		list = append(list, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", "-"), a[name]))
	}
	return strings.Join(list, ", ")
}
