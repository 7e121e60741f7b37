package main

import (
	"context"
	"fmt"
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
	"dpnbench/report"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const uncertaintyHelp = `Measure how well the scores of a model detect out-of-distribution images and misclassified
images, and whether its probabilities are calibrated. The scores:

%s
The out-of-distribution images are uniform noise; the inverted test images; the test images
rotated by 90 degrees (some of which, such as zeros, still look right); and images of other
sources: those of --ood-data, or else, for grey images, the built-in digits, unless the model was
trained on them or they are the data.
--ood-data takes what predict reads, with or without labels: its test samples, or all if it has
none, but no more than the model's data have. Images of another size or colour are converted, and
all are normalised as the model's training images were. Unknown vectors are uniform noise, and
vectors of which every feature is taken from another sample.

The output lists the AUROC (1: perfect separation, 0.5: chance); the FPR, the fraction of unknown
images accepted at the threshold that accepts 95%% of the known ones; the expected calibration
error before and after temperature scaling; and which score to use for which purpose. The
temperature is fitted on the validation images of the training. Scores are selected on these and,
for sources of --ood-data that have both training and test images, on their training images. Test
images select scores only if there are no validation images, or none that is misclassified; the
output says so. The folder of --out (default: "uncertainty" beside model.safetensors,
"NAME-uncertainty" beside NAME.safetensors) gets

  report.html        a self-contained page: summary, tables with 95%% intervals, all figures
  uncertainty.json   every number
  histogram-*, roc-unknown, roc-misclassified, reliability, examples
                     the figures, as PNG and SVG`

func uncertaintyCommand(a *app) *cobra.Command {
	u := &uncertainty{app: a}
	c := &cobra.Command{
		Use:   "uncertainty",
		Short: "Measure how well a model detects unknown images and its own errors",
		Long:  fmt.Sprintf(uncertaintyHelp, scoreList()),
		Example: `  dpnbench uncertainty --model runs/first/model.safetensors
  dpnbench uncertainty --model runs/robust-1/model.safetensors --data mnist --out uncertainty
  dpnbench uncertainty --model runs/first/model.safetensors --ood-data mnist,fashion-mnist --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return u.run(c.Context(), c.Flags()) },
	}
	u.data.add(c, false)
	u.data.addValidation(c)
	u.model.add(c, "steps")
	f := c.Flags()
	f.StringSliceVar(&u.oodData, "ood-data", nil,
		"`SOURCES` of unknown samples: digits, mnist, fashion-mnist, files or folders, separated by commas")
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
	oodData []string
	out     string
	seed    uint64
}

// uncertaintyResult is the JSON of uncertainty.
type uncertaintyResult struct {
	*study.UncertaintyStudy
	Model         string     `json:"model"`
	Preset        string     `json:"preset"`
	Data          string     `json:"data"`
	OODData       []string   `json:"ood_data"` // empty: no other source
	Tier          string     `json:"tier"`
	Threads       int        `json:"threads"`
	Seed          uint64     `json:"seed"`
	WeightsSHA256 string     `json:"weights_sha256"`
	Config        dpn.Config `json:"config"`
}

func (u *uncertainty) run(ctx context.Context, flags *pflag.FlagSet) error {
	if err := u.checkSources(); err != nil {
		return err
	}
	m, err := u.model.load(u.app, flags)
	if err != nil {
		return err
	}
	trained, c := m.Config, m.Config
	u.data.settle(flags, &c)
	if len(u.oodData) == 0 && c.Data != "digits" && !learnedDigits(trained, m.Assumed) && m.Shape.Channels == 1 {
		u.oodData = []string{"digits"}
	}
	if u.out == "" {
		u.out = resultsOf(u.model.path, uncertaintyFolder)
	}
	files := u.model.files(u.app, m, &u.data, flags)
	for _, spec := range u.oodData {
		inputData(files, "of --ood-data "+spec, spec)
	}
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
	if err := needTestLabels(data); err != nil {
		return err
	}
	release, err := openResults(u.out, uncertaintyFiles(), uncertaintyFile)
	if err != nil {
		return err
	}
	defer release()
	opt := study.UncertaintyOptions{Seed: u.seed}
	if data.Train != nil || c.ValData != "" { // else scores are chosen on the test samples, as the page says
		if opt.Validation, err = u.validation(ctx, m, trained, data); err != nil {
			return err
		}
	}
	if err := u.others(ctx, m, data.Test, &opt); err != nil {
		return err
	}
	r, err := u.measure(ctx, e, m, data, opt)
	if r != nil {
		err = joined(err, u.writeJSON(r))
	}
	return err
}

// Limits of the other sources.
const (
	mostOther   = 2000 // images of each, used to select scores
	mostSources = 8
)

// checkSources refuses too many other sources, and one that is named twice.
func (u *uncertainty) checkSources() error {
	if len(u.oodData) > mostSources {
		return fmt.Errorf("--ood-data: %d sources, expected at most %d", len(u.oodData), mostSources)
	}
	for i, spec := range u.oodData {
		if slices.Contains(u.oodData[:i], spec) {
			return fmt.Errorf("--ood-data: %s is named twice", spec)
		}
	}
	return nil
}

// others sets the images of the other sources: of each at most as many as there are test images, and of those with
// two splits different ones to select scores with.
func (u *uncertainty) others(ctx context.Context, m *dpn.Model, test *dataset.Set,
	opt *study.UncertaintyOptions) error {
	files := 0
	for _, spec := range u.oodData {
		o := otherSource{spec: spec, name: spec, model: m}
		if spec != "digits" && !slices.Contains(source.Named(), spec) {
			files++
			o.name = otherName(files)
		}
		if err := o.open(ctx, u.app, test); err != nil {
			return err
		}
		opt.Others = append(opt.Others, *o.test)
		if o.choosing != nil {
			opt.OthersValidation = append(opt.OthersValidation, *o.choosing)
		}
	}
	return nil
}

// otherName names the i-th file or folder of other images, from 1.
func otherName(i int) string {
	if i == 1 {
		return "other"
	}
	return fmt.Sprintf("other-%d", i)
}

// otherSource is a source of --ood-data. Its images are normalised as the model's are.
type otherSource struct {
	spec, name     string
	model          *dpn.Model
	test, choosing *study.Unknown // choosing is nil without training images
}

// open reads the images as predict does, at most as many as test has. They must be others.
func (o *otherSource) open(ctx context.Context, a *app, test *dataset.Set) error {
	m := o.model
	own := fmt.Errorf("--ood-data %s: is the model's own data, expected another source", o.spec)
	if o.spec == m.Config.Data {
		return own
	}
	opt, err := likeSamples(m, "", "")
	if err != nil {
		return err
	}
	opt.TrainSize, opt.TestSize = mostOther, test.Len()
	d, before, err := source.OpenOther(ctx, o.spec, m.Shape, opt)
	if err := a.samplesRead(ctx, "--ood-data", m, d, err); err != nil {
		return err
	}
	if n := min(d.Test.Len(), test.Len()); sameSamples(d.Test.Slice(0, n), test.Slice(0, n)) {
		return own
	}
	meaning := m.Shape.Samples() + " of another source, " + source.Title(d.Name)
	if o.spec == "digits" {
		meaning = "the built-in digits"
	}
	if before != "" {
		meaning += ", converted from " + before
	}
	o.test = &study.Unknown{Name: o.name, Meaning: meaning, Images: d.Test}
	if d.Train != nil {
		o.choosing = &study.Unknown{Name: o.name, Meaning: meaning, Images: d.Train}
	}
	return nil
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
		OODData: append([]string{}, u.oodData...),
		Tier:    found.Tier, Threads: found.Threads, Seed: u.seed, WeightsSHA256: m.WeightsSHA256(), Config: m.Config}
	figures := found.Figures()
	page := report.UncertaintyPage(found, figures)
	if err := u.writeFolder(u.out, uncertaintyFile, r, figures, page, optionalFigures()...); err != nil {
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
	// Intervals are on the page: they are skewed, and do not fit beside six columns.
	u.scores(s, "AUROC", func(d study.ScoreDetection) string { return format.Number(d.AUROC, 3) })
	u.scores(s, "FPR", func(d study.ScoreDetection) string { // as the sentences below the tables print it
		return format.Percent(d.FPR, 1)
	})
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
func (u *uncertainty) scores(s *study.UncertaintyStudy, measure string, cell func(study.ScoreDetection) string) {
	head := []string{measure}
	for _, t := range s.Tasks {
		head = append(head, t.Name)
	}
	rows := [][]string{head}
	for i, kind := range s.Scores {
		row := []string{kind.Name}
		for _, t := range s.Tasks {
			row = append(row, cell(t.Scores[i]))
		}
		rows = append(rows, row)
	}
	u.table(rows)
}

// uncertaintyFile holds an uncertaintyResult.
const uncertaintyFile = "uncertainty.json"

// learnedDigits says whether a model was trained on the built-in digits, as far as its file says so.
func learnedDigits(trained dpn.Config, assumed []string) bool {
	return trained.Data == "digits" && !slices.Contains(assumed, "data")
}

// optionalFigures returns the names of the figures that are drawn only with some data.
func optionalFigures() []string {
	figures := []string{"roc-misclassified", "examples"}
	sets := append(source.Named(), "digits", "inverted", "rotated", "shuffled", study.MisclassifiedTask)
	for i := range mostSources {
		sets = append(sets, otherName(i+1))
	}
	for _, set := range sets {
		figures = append(figures, "histogram-"+set)
	}
	return figures
}

// uncertaintyFiles returns the names of all files that uncertainty may write.
func uncertaintyFiles() []string {
	figures := append([]string{"histogram-uniform", "roc-unknown", "reliability"}, optionalFigures()...)
	return append(figureFiles(figures...), pageFile, uncertaintyFile)
}
