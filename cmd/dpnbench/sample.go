package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
	"dpnbench/plot"

	"dpnbench/internal/format"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const sampleHelp = `Draw samples from the density exp(phi/T), where phi is a model's potential; at temperature T = 1
it is a mixture of Gaussians. Methods:

  exact  independent draws
  mala   Langevin steps x' = x + h grad phi + sqrt(2 h T) z with a Metropolis test, which keeps the
         density exact; the samples are the final states of the chains
  ula    the same without the test: the density is exact only in the limit of small h

The step size h is in units of the ascent's alpha. Chains start at exact draws, which already have
the right density, or at the features of the first test samples (--start data). The effective
sample size estimates how many independent draws the visited states are worth. If it is not much
larger than the number of chains, the chains do not move between components.

The folder of --out (default: "samples" beside model.safetensors, "NAME-samples" beside
NAME.safetensors) gets samples.npy (float32, the features of a sample in each row, normalised as
those of the model: of a network without an extractor the input minus its mean, divided by its
standard deviation), samples.json, and, if the features are pixels, figures of the samples before
and after the ascent. They replace those of an earlier run. A sample's class is predicted after the
ascent.`

func sampleCommand(a *app) *cobra.Command {
	s := &sampling{app: a}
	c := &cobra.Command{
		Use:   "sample",
		Short: "Draw samples from a model's potential",
		Long:  sampleHelp,
		Example: `  dpnbench sample --model runs/robust-1/model.safetensors
  dpnbench sample --model runs/robust-1/model.safetensors --n 100 --temperature 0.5 --seed 2
  dpnbench sample --model runs/first/model.safetensors --method mala --steps 2000 --json -
  dpnbench sample --model runs/first/model.safetensors --method ula --start data --step-size 0.01`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.Flags()) },
	}
	s.data.add(c, false)
	s.model.add(c, "ascent-steps")
	f := c.Flags()
	f.IntVar(&s.n, "n", 64, "`N` samples, or chains; with --start data no more than test samples")
	methods := []string{"exact", "mala", "ula"}
	wordVar(f, &s.Method, "method", "exact", methods, "sampling `METHOD`: "+alternatives(methods))
	f.Float64Var(&s.Temperature, "temperature", 1, "temperature `T`: below 1 closer to the maxima of phi, "+
		"above 1 farther away")
	f.Uint64Var(&s.Seed, "seed", 1, "random `SEED`")
	f.IntVar(&s.steps, "steps", 1000, "`N` Langevin steps of each chain (not of the ascent: --ascent-steps)")
	f.Float64Var(&s.stepSize, "step-size", 0, "step size `H` of a Langevin step; 0: from the steepest component")
	f.IntVar(&s.burn, "burn", -1, "exclude the first `N` steps from acceptance and effective sample size; "+
		"-1: none, with --start data half of them")
	wordVar(f, &s.start, "start", "exact", []string{"exact", "data"}, "`KIND` of the first states: "+
		"exact (draws) or data (test samples)")
	f.StringVar(&s.out, "out", "", "`FOLDER` for the samples")
	return c
}

// sampling is one run of sample.
type sampling struct {
	*app
	data  dataFlags
	model modelFlags
	sampleResult

	n, steps, burn int
	stepSize       float64
	start, out     string
}

// sampleResult is the JSON of sample.
type sampleResult struct {
	Model       string  `json:"model"`
	Method      string  `json:"method"`
	Samples     int     `json:"samples"`
	Dim         int     `json:"dim"`
	Pixels      bool    `json:"pixels"` // features are pixels
	Temperature float64 `json:"temperature"`
	Seed        uint64  `json:"seed"`

	*dpn.Predictions
	Exact  *potential.Samples `json:"exact,omitempty"`
	Chains *chainsResult      `json:"chains,omitempty"`
}

type chainsResult struct {
	Start  string `json:"start"`
	Steps  int    `json:"steps"`
	Burn   int    `json:"burn"`
	States int    `json:"states"` // total, for the effective sample sizes

	// Warning says that the chains hardly move. Tuned is a step size with the acceptance
	// TunedAcceptance in a warm-up, where another one is proposed.
	Warning         string  `json:"warning,omitempty"`
	Tuned           float64 `json:"tuned_step_size,omitempty"`
	TunedAcceptance float64 `json:"tuned_acceptance,omitempty"`

	*potential.Chains
}

func (s *sampling) run(ctx context.Context, flags *pflag.FlagSet) error {
	if s.Method == "exact" {
		if err := onlyWith(flags, "--method mala or ula", "steps", "step-size", "burn", "start"); err != nil {
			return err
		}
	}
	if s.start != "data" {
		if err := onlyWith(flags, "--start data", "data", "test-size", "data-seed", "format", "label", "drop",
			"test-share", "size", "channels"); err != nil {
			return err
		}
	}
	if s.n < 1 {
		return fmt.Errorf("--n %d: expected at least 1", s.n)
	}
	if !(s.Temperature > 0) || math.IsInf(s.Temperature, 0) {
		return fmt.Errorf("--temperature %v: expected a number above 0", s.Temperature)
	}
	if !(s.stepSize >= 0) || math.IsInf(s.stepSize, 0) {
		return fmt.Errorf("--step-size %v: expected a number above 0, or 0 for the default", s.stepSize)
	}
	if s.Method != "exact" && s.steps < 1 {
		return fmt.Errorf("--steps %d: expected at least 1", s.steps)
	}
	if s.burn < -1 || s.Method != "exact" && s.burn >= s.steps {
		return fmt.Errorf("--burn %d: expected 0 to %d, or -1 for the default", s.burn, s.steps-1)
	}
	m, err := s.model.load(s.app, flags)
	if err != nil {
		return err
	}
	if s.out == "" {
		s.out = resultsOf(s.model.path, samplesFolder)
	}
	files := s.model.files(s.app, m, &s.data, flags)
	files.Folder("--out", s.out, output.Names(sampleFiles()...), samplesFile)
	if err := files.Check(); err != nil {
		return err
	}
	e, err := s.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	release, err := openResults(s.out, sampleFiles(), samplesFile)
	if err != nil {
		return err
	}
	defer release()
	x, err := s.draw(ctx, e, m, flags)
	if err != nil {
		return err
	}
	if s.Predictions, err = m.PredictFeatures(ctx, e, x); err != nil {
		return s.model.blame(m, err)
	}
	s.Model, s.Samples, s.Dim, s.Pixels = s.model.path, x.Rows, x.Cols, m.PixelFeatures()
	s.show(m)
	return joined(s.write(m, x), s.writeJSON(s.sampleResult))
}

// draw draws the samples by the requested method.
func (s *sampling) draw(ctx context.Context, e *engine.Engine, m *dpn.Model,
	flags *pflag.FlagSet) (engine.Matrix, error) {
	var x engine.Matrix
	if s.Method == "exact" || s.start == "exact" {
		sampler, err := m.Potential().Sampler(ctx, s.Temperature, e.Threads())
		if err != nil {
			return x, fmt.Errorf("exact draws from %s: %w", s.model.path, err)
		}
		draws, err := sampler.Draw(ctx, s.n, s.Seed, e.Threads())
		if err != nil {
			return x, err
		}
		if x = draws.X; s.Method == "exact" {
			s.Exact = draws
			return x, nil
		}
	} else {
		data, err := s.openModelData(ctx, m, s.model.path, &s.data, flags, false)
		if err != nil {
			return x, err
		}
		if err := needTest(data); err != nil {
			return x, err
		}
		if !flags.Changed("n") {
			s.n = min(s.n, data.Test.Len())
		}
		if s.n > data.Test.Len() {
			return x, fmt.Errorf("--n %d: expected 1 to %d, the number of test samples to start from", s.n,
				data.Test.Len())
		}
		if x, err = m.Features(ctx, e, data.Test.Slice(0, s.n)); err != nil {
			return x, fmt.Errorf("--data %s: %w", m.Config.Data, err)
		}
	}
	if s.burn == -1 {
		s.burn = 0
		if s.start == "data" {
			s.burn = s.steps / 2
		}
	}
	report := s.phase(s.Method)
	c, err := m.Potential().Langevin(ctx, e, x, potential.LangevinOptions{
		Adjusted: s.Method == "mala", Steps: s.steps, Burn: s.burn, StepSize: s.stepSize,
		Temperature: s.Temperature, Seed: s.Seed, Progress: func(done int) { report(done, s.steps) }})
	if err != nil {
		return x, err
	}
	s.Chains = &chainsResult{Start: s.start, Steps: s.steps, Burn: s.burn, States: s.n * c.Kept, Chains: c}
	return c.X, s.advise(ctx, e, m, x)
}

// show prints the results.
func (s *sampling) show(m *dpn.Model) {
	s.printf("%s of %d features, method %s, temperature %v, seed %d\n", format.Count(s.Samples, "sample"), s.Dim,
		s.Method, s.Temperature, s.Seed)
	if x := s.Exact; x != nil && x.Proposals > s.Samples {
		s.printf("proposals               %d\n", x.Proposals)
	}
	if c := s.Chains; c != nil {
		start := map[string]string{"exact": "exact draws", "data": "test samples"}[c.Start]
		s.printf("chains                  %d steps of size %.4g from %s, statistics over the last %d\n",
			c.Steps, c.StepSize, start, c.Steps-c.Burn)
		if s.Method == "mala" { // ULA takes every step
			s.printf("acceptance              %.4f\n", c.Acceptance)
		}
		s.printf("effective sample size   phi %s, minimum over %s %s (of %d states)\n",
			figure(float64(c.ESSPhi), "%.0f"),
			format.Count(len(c.Traced), "feature"), figure(float64(c.LeastESS), "%.0f"), c.States)
	}
	classes := make([]int, len(m.Classes))
	for _, c := range s.Classes {
		classes[c]++
	}
	var list []string
	for c, n := range classes {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s: %d", m.Classes[c], n))
		}
	}
	s.printf("classes after ascent    %s\n", strings.Join(list, ", "))
}

// Files of sample: figures and features of one name, and the numbers.
const (
	samplesFigure = "samples"
	samplesFile   = "samples.json"
)

func sampleFiles() []string {
	return append(figureFiles(samplesFigure), samplesFigure+".npy", samplesFile)
}

// mostShown is the number of samples in the figure, each before and after the ascent.
const mostShown = 100

// write writes the results to s.out, all of them before it replaces the first file of an earlier run.
func (s *sampling) write(m *dpn.Model, x engine.Matrix) error {
	figure := filepath.Join(s.out, samplesFigure)
	path, numbers := figure+".npy", filepath.Join(s.out, samplesFile)
	var files output.Batch
	defer files.Discard()
	err := files.Write(path, func(w io.Writer) error { return dataset.WriteNPY(w, x.Data, x.Rows, x.Cols) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	if err := addJSON(&files, numbers, s.sampleResult); err != nil {
		return fmt.Errorf("%s: %w", numbers, regular.Cause(err))
	}
	undrawn := fmt.Errorf("the features are not pixels (extractor %s)", m.Config.Extractor)
	if s.Pixels {
		undrawn = plot.Add(&files, figure, s.gallery(m, x))
	}
	if undrawn != nil {
		if errors.As(undrawn, new(*os.PathError)) {
			return undrawn
		}
		for _, old := range plot.Files(figure) {
			files.Remove(old)
		}
	}
	switch err := files.Commit(); {
	case err != nil:
		return fmt.Errorf("--out %s: %w", s.out, err)
	case undrawn != nil:
		s.note("no figure: %v\n", undrawn)
		s.note("written  %s and samples.json\n", path)
	default:
		s.note("written  %s, samples.json, samples.png and samples.svg\n", path)
	}
	return nil
}

// gallery shows the first samples as images, before and after the ascent.
func (s *sampling) gallery(m *dpn.Model, x engine.Matrix) plot.Gallery {
	shown := min(x.Rows, mostShown)
	g := plot.Gallery{Title: fmt.Sprintf("%s from the potential of %s", format.Count(shown, "image"), m.Config.Preset),
		Rows: m.Shape.Rows, Cols: m.Shape.Cols,
		Scale: plot.Scale{Low: 0, High: 1, Unit: "grey level"}, Series: []string{"sample", "after ascent"},
		Note: fmt.Sprintf("Below each: the class predicted after the ascent. Method %s, temperature %v, seed %d.",
			s.Method, s.Temperature, s.Seed)}
	if shown < x.Rows {
		g.Note += fmt.Sprintf(" The first %d of %s.", shown, format.CountThousands(x.Rows, "sample"))
	}
	for b := range shown {
		g.Images = append(g.Images, plot.Image{Caption: m.Classes[s.Classes[b]],
			X: [][]float32{m.Shape.Visible(m.Norm.Undo(x.Row(b))), m.Shape.Visible(m.Norm.Undo(s.X.Row(b)))}})
	}
	return g
}
