package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/atomicfile"
	"dpnbench/report"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func sampleCommand(a *app) *cobra.Command {
	s := &sampling{app: a}
	c := &cobra.Command{
		Use:   "sample",
		Short: "Draw samples from a model's potential",
		Long: `Draw samples from the density exp(phi/T), phi being a model's potential: at temperature
T = 1 a mixture of Gaussians. Methods:

  exact  independent draws
  mala   chains of Langevin steps x' = x + h grad phi + sqrt(2 h T) z, each taken or refused
         so that the density is exact; the samples are where the chains end
  ula    the same, every step taken: the density is that of exp(phi/T) only for small h

The step size h is in units of the ascent's alpha. Chains start at exact draws, which they
then leave as they are, or at the features of the first test pictures (--start data). The
effective sample size says how many independent draws the states on the way are worth: where
it is not far above the number of chains, they do not cross from component to component.

Written to the folder of --out (default: "samples" beside the model): samples.npy (float32,
a sample a row), samples.json, and pictures of the samples before and after the ascent where
features are pixels, all in the place of what an earlier run wrote there. The class is what the classifier reads after the ascent.`,
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
	f.IntVar(&s.n, "n", 64, "number of samples; of chains")
	f.StringVar(&s.Method, "method", "exact", "exact, mala or ula")
	f.Float64Var(&s.Temperature, "temperature", 1, "`T`: below 1 near the tops of phi, above 1 farther away")
	f.Uint64Var(&s.Seed, "seed", 1, "seed of the samples")
	f.IntVar(&s.steps, "steps", 1000, "Langevin steps of each chain")
	f.Float64Var(&s.stepSize, "step-size", 0, "`H` of a Langevin step; 0: by the steepest component")
	f.IntVar(&s.burn, "burn", -1, "first steps that acceptance and effective sample size leave out; -1: none, and half of them with --start data")
	f.StringVar(&s.start, "start", "exact", "where chains start: exact (draws) or data (test pictures)")
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

	*dpn.Reading
	Exact  *dpn.Draws    `json:"exact,omitempty"`
	Chains *chainsResult `json:"chains,omitempty"`
}

type chainsResult struct {
	Start  string `json:"start"`
	Steps  int    `json:"steps"`
	Burn   int    `json:"burn"`
	States int    `json:"states"` // that the effective sample sizes are of
	*dpn.Chains
}

func (s *sampling) run(ctx context.Context, flags *pflag.FlagSet) error {
	if !slices.Contains([]string{"exact", "mala", "ula"}, s.Method) {
		return fmt.Errorf("--method %q: expected exact, mala or ula", s.Method)
	}
	if s.start != "exact" && s.start != "data" {
		return fmt.Errorf("--start %q: expected exact or data", s.start)
	}
	if s.Method == "exact" {
		if err := onlyWith(flags, "--method mala or ula", "steps", "step-size", "burn", "start"); err != nil {
			return err
		}
	}
	if s.start != "data" {
		if err := onlyWith(flags, "--start data", "data", "test-size", "data-seed"); err != nil {
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
	m, err := s.model.load(flags)
	if err != nil {
		return err
	}
	e, err := s.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	if s.out == "" {
		s.out = filepath.Join(filepath.Dir(s.model.path), "samples")
	}
	if err := outputFolder("--out", s.out); err != nil {
		return err
	}
	if err := s.checkJSON(s.model.path); err != nil {
		return err
	}
	s.data.settle(flags, &m.Config)
	x, err := s.draw(ctx, e, m)
	if err != nil {
		return err
	}
	if s.Reading, err = m.Read(ctx, e, x); err != nil {
		return err
	}
	s.Model, s.Samples, s.Dim, s.Pixels = s.model.path, x.Rows, x.Cols, m.PixelFeatures()
	s.show(m)
	if err := s.write(m, x); err != nil {
		return err
	}
	return s.writeJSON(s.sampleResult)
}

// draw draws the samples by the method that was asked for.
func (s *sampling) draw(ctx context.Context, e *engine.Engine, m *dpn.Model) (engine.Matrix, error) {
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
		data, err := openData(ctx, m.Config, false)
		if err != nil {
			return x, err
		}
		if s.n > data.Test.Len() {
			return x, fmt.Errorf("--n %d: expected 1 to %d, the test pictures that there are to start from", s.n, data.Test.Len())
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
	b := s.bar(s.steps, s.Method)
	c, err := m.Langevin(ctx, e, x, dpn.LangevinOptions{Adjusted: s.Method == "mala", Steps: s.steps, Burn: s.burn, StepSize: s.stepSize,
		Temperature: s.Temperature, Seed: s.Seed, Progress: func(done int) { set(b, done) }})
	finish(b)
	if err != nil {
		return x, err
	}
	s.Chains = &chainsResult{s.start, s.steps, s.burn, s.n * c.Kept, c}
	return c.X, nil
}

// show prints the results.
func (s *sampling) show(m *dpn.Model) {
	s.printf("%s of %d features, method %s, temperature %v, seed %d\n", count(s.Samples, "sample"), s.Dim, s.Method, s.Temperature, s.Seed)
	if x := s.Exact; x != nil && x.Proposals > s.Samples {
		s.printf("proposals               %d\n", x.Proposals)
	}
	if c := s.Chains; c != nil {
		s.printf("chains                  %d steps of size %.4g from %s, statistics of the last %d\n", c.Steps, c.StepSize, map[string]string{"exact": "exact draws", "data": "test pictures"}[c.Start], c.Steps-c.Burn)
		s.printf("acceptance              %.4f\n", c.Acceptance)
		s.printf("effective sample size   phi %s, least of %s %s (of %d states)\n", figure(float64(c.ESSPhi), "%.0f"), count(len(c.Traced), "feature"), figure(float64(c.LeastESS), "%.0f"), c.States)
	}
	classes := make([]int, m.Classes)
	for _, c := range s.Classes {
		classes[c]++
	}
	var list []string
	for c, n := range classes {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d: %d", c, n))
		}
	}
	s.printf("classes after ascent    %s\n", strings.Join(list, ", "))
}

// mostPictures is the number of samples that the figure shows, each before and after.
const mostPictures = 100

// write writes everything to s.out. Nothing of an earlier run stays there, even where this one
// ends halfway.
func (s *sampling) write(m *dpn.Model, x engine.Matrix) error {
	path, numbers, pictures := filepath.Join(s.out, "samples.npy"), filepath.Join(s.out, "samples.json"), filepath.Join(s.out, "samples")
	for _, old := range append(report.Files(pictures), numbers) {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: %w", old, reason(err))
		}
	}
	err := atomicfile.Write(path, func(w io.Writer) error { return dataset.WriteNPY(w, x.Data, x.Rows, x.Cols) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	if err := saveJSON(numbers, s.sampleResult); err != nil {
		return err
	}
	err = fmt.Errorf("the features are not pixels (extractor %s)", m.Config.Extractor)
	if s.Pixels {
		err = report.Save(pictures, s.gallery(m, x))
	}
	var failed *os.PathError
	switch {
	case errors.As(err, &failed):
		return err
	case err != nil:
		s.note("no pictures: %v\n", err)
		s.note("written  %s and samples.json\n", path)
	default:
		s.note("written  %s, samples.json, samples.png and samples.svg\n", path)
	}
	return nil
}

// gallery shows the first samples as pictures, before and after the ascent.
func (s *sampling) gallery(m *dpn.Model, x engine.Matrix) report.Gallery {
	shown := min(x.Rows, mostPictures)
	g := report.Gallery{Title: fmt.Sprintf("%s of %s, %s", count(x.Rows, "sample"), m.Config.Preset, s.Method), Rows: m.Rows, Cols: m.Cols,
		Scale: report.Scale{Low: 0, High: 1, Unit: "grey level"}, Series: []string{"sample", "after ascent"},
		Note: fmt.Sprintf("Below each: the class read after the ascent. Temperature %v, seed %d.", s.Temperature, s.Seed)}
	if shown < x.Rows {
		g.Note += fmt.Sprintf(" The first %d.", shown)
	}
	for b := range shown {
		g.Pictures = append(g.Pictures, report.Picture{Caption: fmt.Sprint(s.Classes[b]),
			X: [][]float32{m.Norm.Grey(x.Row(b)), m.Norm.Grey(s.X.Row(b))}})
	}
	return g
}
