package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/exchange"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const importHelp = `Read a network of another program and write it as a model file:

  .pth, .pt      a state dictionary by torch.save, with the names of the published reference (also
                 within a checkpoint, or of a network in DataParallel)
  .safetensors   the same, or a model that dpn.py of "dpnbench export" has saved

A file of torch.save holds a program in Python's pickle format. It is not executed: only what a
state dictionary needs is understood, and everything else is refused. Numbers of other types than
float32 are converted.

A state dictionary does not describe its samples: they are taken for square grey images or, if the
number of inputs is not a square, for vectors. Give --steps and the normalisation, --mean and --std
of grey levels in [0, 1] or of all features, if they differ from those of the published reference
(30 steps, mean 0.1307, std 0.3081). --data names the samples for eval and analyze.`

func importCommand(a *app) *cobra.Command {
	i := &importing{app: a}
	c := &cobra.Command{
		Use:   "import FILE --out FILE",
		Short: "Read a network of PyTorch",
		Long:  importHelp,
		Example: `  dpnbench import reference.pth --out reference.safetensors
  dpnbench import reference.pth --out reference.safetensors --steps 10 --mean 0 --std 1
  dpnbench import runs/first/pytorch/trained.safetensors --out runs/first/trained.safetensors`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("import: expected one file, got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return i.run(c.Flags(), args[0]) },
	}
	f := c.Flags()
	p := dpn.Published
	f.StringVar(&i.out, "out", "", "model `FILE` to write")
	f.IntVar(&i.reference.Steps, "steps", p.Steps, "`N` ascent steps")
	f.BoolVar(&i.reference.LayerNorm, "layer-norm", p.LayerNorm, "features are normalised (LayerNorm)")
	f.Float64Var(&i.mean, "mean", shortFloat(p.Norm.Mean[0]), "`MEAN` that is subtracted from grey levels or features")
	f.Float64Var(&i.std, "std", shortFloat(p.Norm.Std[0]), "standard `DEVIATION` by which they are divided")
	f.StringVar(&i.data, "data", "mnist", "`NAME` of the samples: digits, mnist, or a file or folder")
	return c
}

// importing is one run of import.
type importing struct {
	*app
	reference dpn.Reference
	mean, std float64
	data, out string
}

// imported is the JSON of import.
type imported struct {
	File       string                    `json:"file"`
	Model      string                    `json:"model"`
	Parameters int                       `json:"parameters"`
	Tensors    []exchange.ImportedTensor `json:"tensors"`
	Ignored    []string                  `json:"ignored,omitempty"` // in the file, but not of the model
	Assumed    assumptions               `json:"assumed,omitempty"`

	shape dataset.Shape
}

func (i *importing) run(flags *pflag.FlagSet, path string) error {
	if i.out == "" {
		return fmt.Errorf("--out: expected a model file to write")
	}
	if n := i.reference.Steps; n < 0 || n > 100000 {
		return fmt.Errorf("--steps %d: expected 0 to 100000", n)
	}
	if !(math.Abs(i.mean) <= 1e6) {
		return fmt.Errorf("--mean %v: expected -1e+06 to 1e+06", i.mean)
	}
	if !(i.std >= 1e-6 && i.std <= 1e6) {
		return fmt.Errorf("--std %v: expected 1e-06 to 1e+06", i.std)
	}
	files := i.files()
	files.Kept = ofTraining // it may replace another model
	files.Input("FILE", path)
	files.Output("--out", i.out)
	if err := files.Check(); err != nil {
		return err
	}
	i.reference.Norm = dataset.Uniform(float32(i.mean), float32(i.std))
	in, err := exchange.Import(path, i.reference)
	if err != nil {
		return fmt.Errorf("import %w", err)
	}
	m := in.Model
	r := imported{File: path, Model: i.out, Parameters: m.Parameters(), Tensors: in.Tensors, Ignored: in.Ignored,
		shape: m.Shape}
	if len(m.Assumed) > 0 {
		m.Config.Data = i.data
	} else if err := onlyWith(flags, "a state dictionary, and "+path+" has settings", "steps", "layer-norm", "mean",
		"std", "data"); err != nil {
		return err
	}
	r.Assumed = assumedSettings(m, flags)
	if filepath.Ext(i.out) != ".safetensors" {
		return fmt.Errorf("--out %s: expected a name that ends in .safetensors", i.out)
	}
	if err := output.Write(i.out, func(w io.Writer) error { return m.Write(w, i.out) }); err != nil {
		return fmt.Errorf("--out %s: %w", i.out, regular.Cause(err))
	}
	i.report(r)
	return i.writeJSON(r)
}

// report prints what was read, and what a reader should know of it.
func (i *importing) report(r imported) {
	if len(r.Assumed) > 0 {
		i.note("no settings in %s, assumed: %s; samples: %v\n", r.File, r.Assumed, r.shape)
	}
	kinds := map[string]int{}
	for _, t := range r.Tensors {
		kinds[t.Type]++
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if kind != "F32" {
			i.note("%s of type %s converted to float32\n", format.Count(kinds[kind], "tensor"), kind)
		}
	}
	if len(r.Ignored) > 0 {
		i.note("not part of the network, ignored: %s\n", strings.Join(r.Ignored, ", "))
	}
	i.printf("%s written (%s)\n", r.Model, format.Count(r.Parameters, "parameter"))
}

// shortFloat is the number with the fewest digits that is rounded to v: 0.1307, not 0.1307000070810318.
func shortFloat(v float32) float64 {
	f, _ := strconv.ParseFloat(shortest(v), 64) // of a number that was printed
	return f
}
