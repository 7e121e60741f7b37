package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/sysinfo"
	"dpnbench/plot"
	"dpnbench/report"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const uncertaintyHelp = `Measure how well the scores of a model detect out-of-distribution images and misclassified
images, and whether its probabilities are calibrated. The scores:

%s
The out-of-distribution images are uniform noise; the inverted test images; the test images
rotated by 90 degrees (some of which, such as zeros, still look right); and images of another
source: the built-in digits, unless the model was trained on them, or those of --ood-data. Images
of another size are resized. For vectors they are uniform noise, and vectors of which every feature
is taken from another sample.

The output lists the AUROC (1: perfect separation, 0.5: chance); the FPR, the fraction of unknown
images accepted at the threshold that accepts 95%% of the known ones (both with half the width of
the 95%% interval); the expected calibration error before and after temperature scaling; and which
score to use for which purpose. Scores are selected, and the temperature is fitted, on the
validation images of the training, never on test images. The folder of --out (default:
"uncertainty" beside the model) gets

  report.html        a self-contained page: summary, tables, all figures
  uncertainty.json   every number
  histogram-*, roc-unknown, roc-misread, reliability, examples
                     the figures, as PNG and SVG`

func uncertaintyCommand(a *app) *cobra.Command {
	u := &uncertainty{app: a}
	c := &cobra.Command{
		Use:   "uncertainty",
		Short: "Measure how well a model detects unknown images and its own errors",
		Long:  fmt.Sprintf(uncertaintyHelp, scoreList()),
		Example: `  dpnbench uncertainty --model runs/first/model.safetensors
  dpnbench uncertainty --model runs/robust-1/model.safetensors --data mnist --out uncertainty
  dpnbench uncertainty --model runs/first/model.safetensors --ood-data mnist --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return u.run(c.Context(), c.Flags()) },
	}
	u.data.add(c, false)
	u.data.addValidation(c)
	u.model.add(c, "steps")
	f := c.Flags()
	f.StringVar(&u.oodData, "ood-data", "",
		"`WHAT` to use as the other source: digits, mnist, fashion-mnist, or a file or folder")
	f.Uint64Var(&u.seed, "seed", 1, "random `SEED` of the noise")
	f.StringVar(&u.out, "out", "", "`FOLDER` for page, numbers and figures")
	return c
}

// scoreList describes the scores.
func scoreList() string {
	var b strings.Builder
	for _, s := range study.ConfidenceScores() {
		fmt.Fprintf(&b, "  %-13s %s\n", s.Name, s.Meaning)
	}
	return b.String()
}

// uncertainty is one run of uncertainty.
type uncertainty struct {
	*app
	data    dataFlags
	model   modelFlags
	oodData string
	out     string
	seed    uint64
}

// uncertaintyResult is the JSON of uncertainty.
type uncertaintyResult struct {
	*study.UncertaintyStudy
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

func (u *uncertainty) run(ctx context.Context, flags *pflag.FlagSet) error {
	m, err := u.model.load(u.app, flags)
	if err != nil {
		return err
	}
	trained, c := m.Config, m.Config
	u.data.settle(flags, &c)
	if u.oodData == "" && c.Data != "digits" && m.Shape.Channels == 1 {
		u.oodData = "digits"
	}
	if u.out == "" {
		u.out = filepath.Join(filepath.Dir(u.model.path), "uncertainty")
	}
	files := u.model.files(u.app, m, &u.data, flags)
	files.Input("of --ood-data "+u.oodData, source.InputFiles(u.oodData)...)
	files.Folder("--out", u.out, output.Names(uncertaintyFiles()...), uncertaintyFile)
	if err := files.Check(); err != nil {
		return err
	}
	e, err := u.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	data, err := u.openModelData(ctx, m, u.model.path, &u.data, flags, c.TestShare < 1)
	if err != nil {
		return err
	}
	if err := needTest(data); err != nil {
		return err
	}
	release, err := openFolder("--out", u.out)
	if err != nil {
		return err
	}
	defer release()
	opt := study.UncertaintyOptions{Seed: u.seed}
	if data.Train != nil || c.ValData != "" { // else scores are chosen on the test samples, as the page says
		if opt.Validation, err = validation(ctx, m, trained, data); err != nil {
			return err
		}
	}
	if opt.Other, opt.OtherValidation, err = u.other(ctx, m, data.Test.Len()); err != nil {
		return err
	}
	r, err := u.measure(ctx, e, m, data, opt)
	if r != nil {
		err = joined(err, u.writeJSON(r))
	}
	return err
}

// mostOther is the number of images of the other source used to select scores.
const mostOther = 2000

// other returns at most most images of the other source, and different ones to select scores with;
// nil if there is no other source.
func (u *uncertainty) other(ctx context.Context, m *dpn.Model, most int) (test, choosing *study.Unknown, err error) {
	if u.oodData == "" {
		return nil, nil, nil
	}
	if u.oodData == m.Config.Data {
		return nil, nil, fmt.Errorf("--ood-data %s: is the model's own data, expected another source", u.oodData)
	}
	opt := source.Options{Seed: m.Config.DataSeed, Memory: sysinfo.AvailableMemory()}
	name := "other"
	switch {
	case u.oodData == "digits":
		name = "digits"
		opt.TrainSize, opt.TestSize = mostOther, most
	case slices.Contains(source.Named(), u.oodData):
		name = u.oodData
	}
	d, err := source.OpenContext(ctx, u.oodData, opt)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--ood-data: %s", strings.TrimSuffix(err.Error(), ": "+os.ErrNotExist.Error()))
	}
	meaning := d.Shape().Samples() + " of another source, " + d.Name
	if name == "digits" {
		meaning = "the built-in digits, in another handwriting than the model's"
	}
	if err := needTest(d); err != nil {
		return nil, nil, fmt.Errorf("--ood-%s", strings.TrimPrefix(err.Error(), "--"))
	}
	if d.Test.Shape != m.Shape && (!m.Shape.IsImage() || d.Test.Channels != m.Shape.Channels) {
		return nil, nil, fmt.Errorf("--ood-data %s: samples of %v, the model expects %v", u.oodData, d.Test.Shape,
			m.Shape)
	}
	if d.Test.Shape != m.Shape {
		meaning += fmt.Sprintf(", resized from %d x %d", d.Test.Rows, d.Test.Cols)
	}
	part := func(s *dataset.Set, most int) (*study.Unknown, error) {
		s = s.Slice(0, min(most, s.Len()))
		if s.Shape != m.Shape {
			if s, err = s.Resize(m.Shape.Rows, m.Shape.Cols); err != nil {
				return nil, fmt.Errorf("--ood-data %s: %w", u.oodData, err)
			}
		}
		s.Labels = nil // which are not used and may be unknown to the model
		return &study.Unknown{Name: name, Meaning: meaning, Images: s}, nil
	}
	if test, err = part(d.Test, most); err != nil {
		return nil, nil, err
	}
	if d.Train == nil {
		return test, nil, nil
	}
	choosing, err = part(d.Train, mostOther)
	return test, choosing, err
}

// measure measures a model, prints the tables and writes the results. If writing fails, it returns the
// results with the error.
func (u *uncertainty) measure(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data,
	opt study.UncertaintyOptions) (*uncertaintyResult, error) {
	opt.Progress = u.phase("uncertainty")
	s, err := study.MeasureUncertainty(ctx, e, m, data.Test, opt)
	u.progress.end()
	if err != nil {
		return nil, u.model.blame(m, err)
	}
	found := report.Uncertainty{Model: m, Study: s, Images: data.Test, Data: data.Name, Tier: e.Tier().String(),
		Threads: e.Threads(), Seed: u.seed}
	u.print(found)
	r := &uncertaintyResult{UncertaintyStudy: s, Model: u.model.path, Preset: m.Config.Preset, Data: data.Name,
		OODData: u.oodData,
		Tier:    found.Tier, Threads: found.Threads, Seed: u.seed, WeightsSHA256: m.WeightsSHA256(), Config: m.Config}
	if err := u.write(found, r); err != nil {
		return r, fmt.Errorf("--out %s: %w", u.out, err)
	}
	u.note("page     %s\n", filepath.Join(u.out, pageFile))
	return r, nil
}

// print prints the tables and the summary.
func (u *uncertainty) print(found report.Uncertainty) {
	s := found.Study
	u.printf("%s of %s, accuracy %.2f%%\n", format.Count(s.Samples, found.Model.Shape.Sample()), found.Data,
		100*s.Accuracy)
	u.scores(s, "AUROC", func(d study.ScoreDetection) (float64, [2]float64) { return d.AUROC, d.AUROCCI })
	u.scores(s, "FPR", func(d study.ScoreDetection) (float64, [2]float64) { return d.FPR, d.FPRCI })
	rows := [][]string{{"calibration", "ECE", "by chance", "confidence", "accuracy", "NLL"}}
	c := s.Calibration
	for i, name := range []string{"logits", "logits divided by T"} {
		x := c.Before
		if i == 1 {
			x = c.After
		}
		if x == nil {
			continue
		}
		percent := func(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
		rows = append(rows, []string{name, percent(x.ECE), percent(x.ECEChance),
			percent(x.Confidence), percent(x.Accuracy), fmt.Sprintf("%.4f", x.NLL)})
	}
	u.table(rows)
	for _, line := range found.Summary() {
		u.printf("- %s\n", line)
	}
}

// scores prints a table of one measure with a row for each score and a column for each task.
func (u *uncertainty) scores(s *study.UncertaintyStudy, measure string, of func(study.ScoreDetection) (float64,
	[2]float64)) {
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

// uncertaintyFile holds an uncertaintyResult.
const uncertaintyFile = "uncertainty.json"

// optionalFigures returns the names of the figures that are drawn only with some data.
func optionalFigures() []string {
	figures := []string{"roc-misread", "examples"}
	for _, set := range append(source.Named(), "digits", "other", "inverted", "rotated", "shuffled", "misread") {
		figures = append(figures, "histogram-"+set)
	}
	return figures
}

// uncertaintyFiles returns the names of all files that uncertainty may write.
func uncertaintyFiles() []string {
	figures := append([]string{"histogram-uniform", "roc-unknown", "reliability"}, optionalFigures()...)
	return append(figureFiles(figures...), pageFile, uncertaintyFile)
}

// write writes the numbers, the figures and the page, all of them before it replaces the first file of
// an earlier run.
func (u *uncertainty) write(found report.Uncertainty, r *uncertaintyResult) error {
	path := filepath.Join(u.out, uncertaintyFile)
	_, err := os.Stat(path)
	again := err == nil
	var files output.Batch
	defer files.Discard()
	if err := addJSON(&files, path, r); err != nil {
		return err
	}
	figures := found.Figures()
	if again {
		u.removeOld(&files, figures)
	}
	if err := u.addFigures(&files, u.out, figures, again); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(u.out, pageFile), report.UncertaintyPage(found, figures).Write); err != nil {
		return err
	}
	return files.Commit()
}

// removeOld removes the figures of an earlier run that this run does not draw.
func (u *uncertainty) removeOld(files *output.Batch, figures []report.AnalysisFigure) {
	for _, name := range optionalFigures() {
		if slices.ContainsFunc(figures, func(f report.AnalysisFigure) bool { return f.Name == name }) {
			continue
		}
		for _, old := range plot.Files(filepath.Join(u.out, name)) {
			files.Remove(old)
		}
	}
}
