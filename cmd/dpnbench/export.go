package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dpn"
	"dpnbench/dpn/exchange"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const exportHelp = `Write a model for other programs. Logits agree with ours to 1e-4 of their range. The input is levels
in [0, 1] of images, or features as measured; their normalisation is part of what is written.
Formats:

  pytorch  a folder with dpn.py, a module that can be trained further and needs only PyTorch, and
           model.safetensors, which it loads: from dpn import DPN; model = DPN.load()
  onnx     a graph of opset 17 for any number N of samples: input images (N x channels x rows x
           cols) or vectors (N x features), outputs logits (N x classes) and denoised (N x d, after
           the ascent)
  npz      all tensors by their names, and the settings that predictions depend on, for numpy.load

"dpnbench import" reads a model that was trained further in PyTorch.`

func exportCommand(a *app) *cobra.Command {
	x := &exporting{app: a}
	c := &cobra.Command{
		Use:   "export",
		Short: "Write a model for PyTorch, ONNX or NumPy",
		Long:  exportHelp,
		Example: `  dpnbench export --model runs/first/model.safetensors --format pytorch
  dpnbench export --model runs/first/model.safetensors --format onnx --out digits.onnx
  dpnbench export --model runs/first/model.safetensors --format npz --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return x.run(c.Flags()) },
	}
	x.model.add(c, "steps")
	f := c.Flags()
	wordVar(f, &x.format, "format", "pytorch", exportFormats, "`FORMAT`: "+alternatives(exportFormats)+
		", or that of the ending of --out")
	f.StringVar(&x.out, "out", "", "`PATH` of the result (default: beside NAME.safetensors: folder NAME-pytorch, "+
		"or pytorch for model.safetensors; NAME.onnx or NAME.npz)")
	return c
}

var exportFormats = []string{"pytorch", "onnx", "npz"}

// exporting is one run of export.
type exporting struct {
	*app
	model  modelFlags
	format string
	out    string
}

// exported is the JSON of export.
type exported struct {
	Model      string      `json:"model"`
	Format     string      `json:"format"`
	Files      []string    `json:"files"`
	Parameters int         `json:"parameters"`
	Assumed    assumptions `json:"assumed,omitempty"`
}

func (x *exporting) run(flags *pflag.FlagSet) error {
	m, err := x.model.load(x.app, flags)
	if err != nil {
		return err
	}
	ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(x.out)), ".")
	if !flags.Changed("format") && slices.Contains(exportFormats, ending) {
		x.format = ending
	}
	r := exported{Model: x.model.path, Format: x.format, Parameters: m.Parameters(),
		Assumed: assumedSettings(m, flags)}
	files := x.files()
	files.Input("--model", x.model.path)
	if x.format == "pytorch" {
		if x.out == "" {
			x.out = resultsOf(x.model.path, pytorchFolder)
		}
		names := []string{exchange.ModuleFile, exchange.TensorFile}
		files.Folder("--out", x.out, output.Names(names...), "")
		for _, name := range names {
			r.Files = append(r.Files, filepath.Join(x.out, name))
		}
	} else {
		if x.out == "" {
			x.out = exportedFile(x.model.path, x.format)
		}
		files.Output("--out", x.out)
		r.Files = []string{x.out}
	}
	if err := cmp.Or(files.Check(), x.keeps(r.Files)); err != nil {
		return err
	}
	if x.format != "pytorch" && !strings.EqualFold(filepath.Ext(x.out), "."+x.format) {
		return fmt.Errorf("--out %s: expected a name that ends in .%s", x.out, x.format)
	}
	if err := x.write(m); err != nil {
		return err
	}
	if len(r.Assumed) > 0 {
		x.note("no settings in %s, assumed: %s\n", x.model.path, r.Assumed)
	}
	x.printf("%s written (%s)\n", strings.Join(r.Files, " and "), format.Count(r.Parameters, "parameter"))
	return x.writeJSON(r)
}

// keeps refuses a folder for PyTorch in which a file that is not of an export has the name of one.
func (x *exporting) keeps(paths []string) error {
	if x.format != "pytorch" {
		return nil
	}
	for _, path := range paths {
		if what := ofTraining(path); what != "" {
			return fmt.Errorf("--out %s: holds %s; expected another folder", x.out, what)
		}
	}
	module, _ := os.ReadFile(filepath.Join(x.out, exchange.ModuleFile))
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil && !exchange.IsModule(module) {
			return fmt.Errorf("--out %s: holds another %s than that of an export; expected another folder", x.out,
				filepath.Base(path))
		}
	}
	return nil
}

// exportedFile is the default file of an export, beside the model.
func exportedFile(model, format string) string {
	return strings.TrimSuffix(model, ".safetensors") + "." + format
}

// writeFile writes the file of a format that has one.
func (x *exporting) writeFile(write func(w io.Writer) error) error {
	if err := output.Write(x.out, write); err != nil {
		return fmt.Errorf("--out %s: %w", x.out, regular.Cause(err))
	}
	return nil
}

// write writes the files.
func (x *exporting) write(m *dpn.Model) error {
	switch x.format {
	case "npz":
		return x.writeFile(func(w io.Writer) error { return exchange.WriteNPZ(w, m) })
	case "onnx":
		e, err := x.engine() // before the file, which its errors are not about
		if err != nil {
			return err
		}
		defer e.Close()
		return x.writeFile(func(w io.Writer) error { return exchange.WriteONNX(w, e, m) })
	}
	release, err := openFolder("--out", x.out)
	if err != nil {
		return err
	}
	defer release()
	var files output.Batch
	defer files.Discard()
	path := func(name string) string { return filepath.Join(x.out, name) }
	if err = exchange.WritePyTorch(&files, path, m); err == nil {
		err = files.Commit()
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", x.out, regular.Cause(err))
	}
	return nil
}
