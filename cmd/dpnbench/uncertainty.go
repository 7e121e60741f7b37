package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/report"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func uncertaintyCommand(a *app) *cobra.Command {
	u := &doubt{app: a}
	c := &cobra.Command{
		Use:   "uncertainty",
		Short: "Say how well a model knows what it does not know, and which score tells",
		Long: `Measure how well the scores of a model tell pictures that it does not know from the test
pictures, and pictures that it reads wrongly from the others, and whether its probabilities
can be believed. The scores:

` + scoreList() + `
The unknown pictures: uniform noise; the test pictures inverted; the same rotated by 90
degrees (of which some, such as zeros, look right); and those of another source: the built-in
digits, unless the model's pictures are these, or what --ood-data names. Pictures of another
size are resized.

Printed are the AUROC (1: told apart without a fault, 0.5: a guess), then the share of the
unknown that pass where 95% of the known do (FPR), each with half of its 95% interval; the
expected calibration error, before and after temperature scaling; and which score to use for
what. Scores are chosen, and the temperature is fitted, on the pictures that training kept
for validation, never on test pictures. The folder of --out (default: "uncertainty" beside
the model) gets

  report.html        a page that needs nothing else: summary, tables, all figures
  uncertainty.json   every number
  histogram-*, roc-unknown, roc-misread, reliability, examples
                     the figures, as PNG and SVG`,
		Example: `  dpnbench uncertainty --model runs/first/model.safetensors
  dpnbench uncertainty --model runs/robust-1/model.safetensors --data mnist --out uncertainty
  dpnbench uncertainty --model runs/first/model.safetensors --ood-data mnist --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return u.run(c.Context(), c.Flags()) },
	}
	u.data.add(c, false)
	u.model.add(c, "steps")
	f := c.Flags()
	f.StringVar(&u.oodData, "ood-data", "", "`WHAT` to take as another source: digits, mnist, or a folder with IDX files")
	f.Uint64Var(&u.seed, "seed", 1, "of the noise")
	f.StringVar(&u.out, "out", "", "`FOLDER` for page, numbers and figures")
	return c
}

// scoreList describes the scores.
func scoreList() string {
	var b strings.Builder
	for _, s := range dpn.ConfidenceScores() {
		fmt.Fprintf(&b, "  %-13s %s\n", s.Name, s.Meaning)
	}
	return b.String()
}

// doubt is one run of uncertainty.
type doubt struct {
	*app
	data    dataFlags
	model   modelFlags
	oodData string
	out     string
	seed    uint64
}

// uncertaintyResult is the JSON of uncertainty.
type uncertaintyResult struct {
	*dpn.UncertaintyStudy
	Model         string     `json:"model"`
	Preset        string     `json:"preset"`
	Data          string     `json:"data"`
	OODData       string     `json:"ood_data"` // empty: no other source
	Tier          string     `json:"tier"`
	Threads       int        `json:"threads"`
	Seed          uint64     `json:"seed"`
	WeightsSHA256 string     `json:"weights_sha256"`
	Config        dpn.Config `json:"config"`
}

func (u *doubt) run(ctx context.Context, flags *pflag.FlagSet) error {
	m, err := u.model.load(flags)
	if err != nil {
		return err
	}
	e, err := u.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	trained := m.Config
	u.data.settle(flags, &m.Config)
	data, err := openData(ctx, m.Config, true)
	if err != nil {
		return err
	}
	if u.oodData == "" && m.Config.Data != "digits" {
		u.oodData = "digits"
	}
	if u.out == "" {
		u.out = filepath.Join(filepath.Dir(u.model.path), "uncertainty")
	}
	if err := outputFolder("--out", u.out); err != nil {
		return err
	}
	if err := u.checkJSON(u.model.path); err != nil {
		return err
	}
	held := *m // of other pictures than those trained on, the usual share is kept
	if c := m.Config; c.Data != trained.Data || c.TrainSize != trained.TrainSize || c.DataSeed != trained.DataSeed {
		held.Config.ValSize = -1
	}
	opt := dpn.UncertaintyOptions{Seed: u.seed}
	if opt.Validation, err = held.Validation(data.Train); err != nil {
		return fmt.Errorf("--data %s: %w", m.Config.Data, err)
	}
	if opt.Other, opt.OtherValidation, err = u.other(ctx, m, data.Test.Len()); err != nil {
		return err
	}
	r, err := u.measure(ctx, e, m, data, opt)
	if err != nil {
		return err
	}
	return u.writeJSON(r)
}

// mostOther is how many pictures of another source scores are chosen with.
const mostOther = 2000

// other returns pictures of another source, at most so many, and different ones to choose
// scores with; nil if there is no other source.
func (u *doubt) other(ctx context.Context, m *dpn.Model, most int) (test, choosing *dpn.Unknown, err error) {
	if u.oodData == "" {
		return nil, nil, nil
	}
	if u.oodData == m.Config.Data {
		return nil, nil, fmt.Errorf("--ood-data %s: is the data of the model, expected another source", u.oodData)
	}
	opt := dataset.Options{Seed: m.Config.DataSeed}
	name := "other"
	switch u.oodData {
	case "digits":
		name = "digits"
		opt.TrainSize, opt.TestSize = mostOther, most
	case "mnist":
		name = "mnist"
	}
	d, err := dataset.OpenContext(ctx, u.oodData, opt)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--ood-data: %s", strings.TrimSuffix(err.Error(), ": "+os.ErrNotExist.Error()))
	}
	meaning := "pictures of another source, " + d.Name
	if name == "digits" {
		meaning = "the built-in digits, of another hand than the model's"
	}
	if d.Test.Rows != m.Rows || d.Test.Cols != m.Cols {
		meaning += fmt.Sprintf(", resized from %d x %d", d.Test.Rows, d.Test.Cols)
	}
	part := func(s *dataset.Set, most int) (*dpn.Unknown, error) {
		s = s.Slice(0, min(most, s.Len()))
		if s.Rows != m.Rows || s.Cols != m.Cols {
			if s, err = s.Resize(m.Rows, m.Cols); err != nil {
				return nil, fmt.Errorf("--ood-data %s: %w", u.oodData, err)
			}
		}
		// What their classes are does not matter, and need not be known to the model.
		return &dpn.Unknown{Name: name, Meaning: meaning, Pictures: &dataset.Set{Images: s.Images, Labels: make([]byte, s.Len()), Rows: s.Rows, Cols: s.Cols}}, nil
	}
	if test, err = part(d.Test, most); err != nil {
		return nil, nil, err
	}
	choosing, err = part(d.Train, mostOther)
	return test, choosing, err
}

// measure measures, prints and writes everything.
func (u *doubt) measure(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data, opt dpn.UncertaintyOptions) (*uncertaintyResult, error) {
	var b *progressbar.ProgressBar
	opt.Progress = func(done, all int) {
		if b == nil {
			b = u.bar(all, "uncertainty")
		}
		set(b, done)
	}
	s, err := m.StudyUncertainty(ctx, e, data.Test, opt)
	finish(b)
	if err != nil {
		return nil, fmt.Errorf("--data %s: %w", m.Config.Data, err)
	}
	found := report.Uncertainty{Model: m, Study: s, Pictures: data.Test, Data: data.Name, Tier: e.Tier().String(), Threads: e.Threads(), Seed: u.seed}
	u.print(found)
	r := &uncertaintyResult{UncertaintyStudy: s, Model: u.model.path, Preset: m.Config.Preset, Data: data.Name, OODData: u.oodData,
		Tier: found.Tier, Threads: found.Threads, Seed: u.seed, WeightsSHA256: m.WeightsSHA256(), Config: m.Config}
	if err := u.write(found, r); err != nil {
		return nil, fmt.Errorf("--out %s: %w", u.out, err)
	}
	u.note("page     %s\n", filepath.Join(u.out, pageFile))
	return r, nil
}

// print prints the tables and the summary.
func (u *doubt) print(found report.Uncertainty) {
	s := found.Study
	u.printf("%s of %s, accuracy %.2f%%\n", count(s.Samples, "picture"), found.Data, 100*s.Accuracy)
	u.scores(s, "AUROC", func(d dpn.ScoreDetection) (float64, [2]float64) { return d.AUROC, d.AUROCCI })
	u.scores(s, "FPR", func(d dpn.ScoreDetection) (float64, [2]float64) { return d.FPR, d.FPRCI })
	rows := [][]string{{"calibration", "ECE", "by chance", "confidence", "accuracy", "NLL"}}
	c := s.Calibration
	for _, k := range []struct {
		name string
		of   int
	}{{"logits as they are", 0}, {"divided by T", 1}} {
		x := c.Before
		if k.of == 1 {
			x = c.After
		}
		if x == nil {
			continue
		}
		rows = append(rows, []string{k.name, fmt.Sprintf("%.2f%%", 100*x.ECE), fmt.Sprintf("%.2f%%", 100*x.ECEChance), fmt.Sprintf("%.2f%%", 100*x.Confidence), fmt.Sprintf("%.2f%%", 100*x.Accuracy), fmt.Sprintf("%.4f", x.NLL)})
	}
	u.table(rows)
	for _, line := range found.Summary() {
		u.printf("- %s\n", line)
	}
}

// scores prints a table of one measure, a row for each score and a column for each task.
func (u *doubt) scores(s *dpn.UncertaintyStudy, measure string, of func(dpn.ScoreDetection) (float64, [2]float64)) {
	head := []string{measure}
	for _, t := range s.Tasks {
		head = append(head, t.Name)
	}
	rows := [][]string{head}
	for i, kind := range s.Scores {
		row := []string{kind.Name}
		for _, t := range s.Tasks {
			v, ci := of(t.Scores[i])
			row = append(row, fmt.Sprintf("%.3f ±%.3f", v, (ci[1]-ci[0])/2))
		}
		rows = append(rows, row)
	}
	u.table(rows)
}

// write writes numbers, figures and page.
func (u *doubt) write(found report.Uncertainty, r *uncertaintyResult) error {
	path := filepath.Join(u.out, "uncertainty.json")
	_, err := os.Stat(path)
	again := err == nil
	if err := saveJSON(path, r); err != nil {
		return err
	}
	figures := found.Figures()
	if again {
		u.removeOld(figures)
	}
	if err := u.saveFigures(u.out, figures, again); err != nil {
		return err
	}
	return report.UncertaintyPage(found, figures).Save(filepath.Join(u.out, pageFile))
}

// removeOld removes the figures that an earlier run has drawn and this one does not.
func (u *doubt) removeOld(figures []report.AnalysisFigure) {
	for _, name := range []string{"histogram-digits", "histogram-mnist", "histogram-other", "histogram-misread", "roc-misread"} {
		if slices.ContainsFunc(figures, func(f report.AnalysisFigure) bool { return f.Name == name }) {
			continue
		}
		for _, old := range report.Files(filepath.Join(u.out, name)) {
			if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
				u.note("%s stays from an earlier run: %v\n", old, reason(err))
			}
		}
	}
}
