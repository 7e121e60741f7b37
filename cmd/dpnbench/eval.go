package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpnbench/dpn"
	"dpnbench/dpn/separation"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func evalCommand(a *app) *cobra.Command {
	v := &evaluation{app: a}
	c := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate a model on the test pictures",
		Long: `Evaluate a model on the test pictures: mean cross-entropy and accuracy.

A model file is what "dpnbench train" writes, or a PyTorch state dictionary with the keys
of the published reference, saved by safetensors.torch.save_file (what torch.save writes
is not read). The latter does not say how many ascent steps to make: give --steps (30
otherwise). What else is assumed of it is printed, and in the JSON under "assumed". The
pictures are those that the model was trained with, unless --data says otherwise.`,
		Example: `  dpnbench eval --model runs/first/model.safetensors
  dpnbench eval --model runs/first/model.safetensors --test-size 1000
  dpnbench eval --model reference.safetensors --data mnist --steps 30 --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context(), c.Flags()) },
	}
	v.data.add(c, false)
	v.model.add(c)
	a.addExplain(c)
	return c
}

// modelFlags choose a model.
type modelFlags struct {
	path  string
	steps int
}

func (m *modelFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&m.path, "model", "", "model `FILE`")
	c.Flags().IntVar(&m.steps, "steps", -1, "ascent steps in the place of the model's")
}

func (m *modelFlags) load() (*dpn.Model, error) {
	if m.path == "" {
		return nil, fmt.Errorf("--model: expected a model file")
	}
	model, err := dpn.Load(m.path)
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	if m.steps != -1 {
		model.Config.Steps = m.steps
		if err := model.Config.Validate(); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	return model, nil
}

// evaluation is one run of eval.
type evaluation struct {
	*app
	data  dataFlags
	model modelFlags
}

func (v *evaluation) run(ctx context.Context, flags *pflag.FlagSet) error {
	m, err := v.model.load()
	if err != nil {
		return err
	}
	e, err := v.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	v.data.settle(flags, &m.Config)
	data, err := openDataContext(ctx, m.Config)
	if err != nil {
		return err
	}
	if err := v.checkJSON(v.model.path); err != nil {
		return err
	}
	v.explainAscent(e, m, false)
	s, err := m.Score(ctx, e, data.Test)
	if err != nil {
		return fmt.Errorf("--data %s: %w", m.Config.Data, err)
	}
	assumed := assumedSettings(m, flags)
	if err := v.writeJSON(struct {
		Model    string           `json:"model"`
		Data     string           `json:"data"`
		Samples  int              `json:"samples"`
		Loss     separation.Float `json:"loss"`
		Accuracy float64          `json:"accuracy"`
		Assumed  assumptions      `json:"assumed,omitempty"`
	}{v.model.path, data.Name, s.Samples, separation.Float(s.Loss), s.Accuracy, assumed}); err != nil {
		return err
	}
	if len(assumed) > 0 {
		v.note("no settings in %s, assumed: %s\n", v.model.path, assumed)
	}
	v.printf("test   loss %.4f   accuracy %.2f%%   (%s of %s)\n", s.Loss, 100*s.Accuracy, count(s.Samples, "picture"), data.Name)
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
