package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/report"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const analyzeHelp = `Measure class separation on the test samples at the input, the features, the denoised features,
the logits and after every ascent step, the shape of the potential, and the ascent of single
samples. The folder of --out (default: "analysis" beside model.safetensors, "NAME-analysis" beside
NAME.safetensors) gets

  report.html     a self-contained page: summary, tables, all figures, and a slider that shows
                  images step by step
  analysis.json   every number
  confusion, layers, steps, curve, pca, strips, paths, weights, spectra, centres, variance,
  moves, work     the figures, as PNG and SVG; figures of images only if the features are pixels,
                  moves only if the training samples are available

Columns: D is the separation fuzziness Tr(SSw SSb^+) of He and Su, where SSw is the scatter within
classes, SSb that of the class means, and SSb^+ its pseudo-inverse; N to inf is the estimate of D
for N -> infinity samples, with a 95% bootstrap interval; distance the mean distance between class
means; betw/with Tr(SSb)/Tr(SSw); PC1 and PC2 fractions of the variance; NCM the accuracy of the
nearest class mean; rank that of SSb. D depends on the number of samples: it is 2.1 on the first
32 test images of MNIST and 14.6 on all. Compare values of D only if they were measured on equally
many samples.

The law of equi-separation says that D falls by the same factor rho from layer to layer, so that
log D lies on a falling line. Its columns: points is the number of layers or steps in the fit; rho
has a 95% interval; Pearson r is the correlation of log D with the layer (-1: a falling line);
shape is straight, convex (D falls most at first), concave, or untested with fewer than four
points; law follows is yes if the interval of rho lies below 1, Pearson r is at most -0.95, and the
shape is neither convex nor concave.`

func analyzeCommand(a *app) *cobra.Command {
	z := &analysis{app: a}
	c := &cobra.Command{
		Use:   "analyze",
		Short: "Measure how a model separates classes, layer by layer and step by step",
		Long:  analyzeHelp,
		Example: `  dpnbench analyze --model runs/first/model.safetensors
  dpnbench analyze --model runs/first/model.safetensors --data mnist --out analysis
  dpnbench analyze --model runs/raw-1/model.safetensors --draws 0 --subsets 0   # no intervals
  dpnbench analyze --model runs/paper/model.safetensors --data mnist --first 32  # as in the paper`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return z.run(c.Context(), c.Flags()) },
	}
	z.data.add(c, false)
	z.model.add(c, "steps")
	f := c.Flags()
	f.StringVar(&z.out, "out", "", "`FOLDER` for page, numbers and figures")
	f.IntVar(&z.first, "first", 0, "analyse the first `N` test samples only; 0: all")
	f.IntVar(&z.draws, "draws", 200, "`N` bootstrap draws for the intervals of D; 0: no intervals")
	f.IntVar(&z.subsets, "subsets", 10, "`N` subsets of each size for the curve of D against the number of "+
		"samples; 0: no curve")
	f.Uint64Var(&z.seed, "seed", 1, "`SEED` of draws and subsets")
	return c
}

// analysis is one run of analyze.
type analysis struct {
	*app
	data           dataFlags
	model          modelFlags
	out            string
	first          int
	draws, subsets int
	seed           uint64
}

// Limits of the flags.
const (
	leastDraws, mostDraws = 20, 1_000_000
	mostSubsets           = 10_000
)

func (z *analysis) check(images int) error {
	switch {
	case z.first < 0 || z.first == 1 || z.first > images:
		return fmt.Errorf("--first %d: expected at least 2 and at most %d images, or 0 for all", z.first, images)
	case z.draws != 0 && (z.draws < leastDraws || z.draws > mostDraws):
		return fmt.Errorf("--draws %d: expected %d to %d, or 0 for no intervals", z.draws, leastDraws, mostDraws)
	case z.subsets < 0 || z.subsets > mostSubsets:
		return fmt.Errorf("--subsets %d: expected 1 to %d, or 0 for no curve", z.subsets, mostSubsets)
	}
	return nil
}

func (z *analysis) run(ctx context.Context, flags *pflag.FlagSet) error {
	m, err := z.model.load(z.app, flags)
	if err != nil {
		return err
	}
	if z.out == "" {
		z.out = resultsOf(z.model.path, analysisFolder)
	}
	files := z.model.files(z.app, m, &z.data, flags)
	files.Folder("--out", z.out, output.Names(analysisFiles()...), numbersFile)
	if err := files.Check(); err != nil {
		return err
	}
	e, err := z.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	trained, c := m.Config, m.Config
	z.data.settle(flags, &c)
	otherData := c.Preset == "imported" || !sameData(c, trained)
	// How far the centres moved is shown if the training images are available.
	moved := !otherData && c.TestShare < 1 && c.Gradient != dpn.GradientDetached && m.PixelFeatures()
	data, err := z.openModelData(ctx, m, z.model.path, &z.data, flags, moved)
	if err != nil {
		return err
	}
	if err := needTestLabels(data); err != nil {
		return err
	}
	if err := z.check(data.Test.Len()); err != nil {
		return err
	}
	if z.first > 0 {
		data.Test = data.Test.Slice(0, z.first)
	}
	release, err := openResults(z.out, analysisFiles(), numbersFile)
	if err != nil {
		return err
	}
	defer release()
	r, err := z.analyze(ctx, e, m, data)
	if r != nil {
		err = joined(err, z.writeJSON(r))
	}
	return err
}

// analyzeResult is the JSON of analyze.
type analyzeResult struct {
	*study.Study
	Preset        string     `json:"preset"`
	Data          string     `json:"data"`
	Tier          string     `json:"tier"`
	Threads       int        `json:"threads"`
	Draws         int        `json:"draws"`
	Subsets       int        `json:"subsets"`
	Seed          uint64     `json:"seed"`
	WeightsSHA256 string     `json:"weights_sha256"`
	Config        dpn.Config `json:"config"`
}

// analyze measures a model on the test images, prints the tables and writes the results to z.out.
// data.Train holds its training images, or is nil if they are not needed or not available. If writing
// fails, it returns the results with the error.
func (z *analysis) analyze(ctx context.Context, e *engine.Engine, m *dpn.Model,
	data *dataset.Data) (*analyzeResult, error) {
	opt := study.StudyOptions{AnalyzeOptions: study.AnalyzeOptions{
		Draws: z.draws, Subsets: z.subsets, Seed: z.seed,
		Progress: z.progress.beginParts(phase{what: "analyze", pace: 1000})}} // it counts in milliseconds
	unmoved := "the centres did not move: this potential was never trained"
	if m.Config.Gradient != dpn.GradientDetached {
		unmoved = "the training images, from which the centres were initialised, are not available"
		opt.Train = data.Train
	}
	s, err := study.Run(ctx, e, m, data.Test, opt)
	z.progress.end()
	if err != nil {
		if z.first > 0 && !errors.As(err, new(*dpn.OutputError)) {
			return nil, fmt.Errorf("--data %s, --first %d: %w", m.Config.Data, z.first, err)
		}
		return nil, z.model.blame(m, err)
	}
	found := report.Analysis{Model: m, Study: s, Images: data.Test, Data: data.Name, Tier: e.Tier().String(),
		Threads: e.Threads(),
		Draws:   z.draws, Subsets: z.subsets, Seed: z.seed, Unmoved: unmoved}
	z.print(found)
	r := &analyzeResult{Study: s, Preset: m.Config.Preset, Data: data.Name, Tier: found.Tier, Threads: found.Threads,
		Draws: z.draws, Subsets: z.subsets, Seed: z.seed, WeightsSHA256: m.WeightsSHA256(), Config: m.Config}
	figures := found.Figures()
	if err := z.writeFolder(z.out, numbersFile, r, figures, report.AnalysisPage(found, figures)); err != nil {
		return r, fmt.Errorf("--out %s: %w", z.out, err)
	}
	z.note("page     %s\n", filepath.Join(z.out, pageFile))
	return r, nil
}

// Files of an analysis, besides its figures.
const (
	pageFile    = "report.html"
	numbersFile = "analysis.json"
)

// analysisFiles returns the names of all files that analyze may write.
func analysisFiles() []string {
	return append(figureFiles("confusion", "layers", "steps", "curve", "pca", "strips", "paths", "weights", "spectra",
		"centres", "variance", "moves", "work"), pageFile, numbersFile)
}

// print prints the tables and the warnings.
func (z *analysis) print(found report.Analysis) {
	s := found.Study
	z.printf("%s of %d classes, accuracy %.2f%%%s\n", format.Count(s.Samples, found.Model.Shape.Sample()), s.Classes,
		100*s.Accuracy,
		balanced(s.ByClass))
	if s.ByClass.Lowest() != nil {
		z.printf("%s\n", lowestText(s.ByClass, found.Model.Shape.Sample()))
	}
	head := []string{"layer", "dim", "D", "N to inf", "95% interval", "distance", "betw/with", "PC1", "PC2", "NCM",
		"rank"}
	rows := [][]string{head}
	for _, l := range slices.Concat(s.Layers, s.Steps) {
		rows = append(rows, layerCells(l))
	}
	if z.draws == 0 {
		for i, r := range rows {
			rows[i] = slices.Delete(r, 3, 5)
		}
	}
	z.table(rows)
	if n := len(s.Steps) - 1; n > 0 {
		z.printf("step 0: the features; step %d: denoised\n", n)
	}
	for _, w := range found.Warnings() {
		z.warn("%s\n", w)
	}
	z.printf("displacement x_0 to x_n: %.1f (Frobenius norm)\n", s.DisplacementL2)
	rows = [][]string{{"law over", "points", "rho", "95% interval", "Pearson r", "shape", "law follows"}}
	for _, l := range found.Laws() {
		rows = append(rows, []string{l.Over, fmt.Sprint(l.Law.Points), decimals(l.Law.Rho, 4),
			intervalText(l.Law.RhoCI, 4), decimals(float64(l.Law.Pearson), 3), l.Law.Shape(), l.Verdict()})
	}
	if len(rows) > 1 {
		z.table(rows)
	}
}

func layerCells(l separation.Layer) []string {
	pc := []string{"", ""}
	for i, v := range l.ExplainedVariance {
		if i < 2 {
			pc[i] = decimals(v, 3)
		}
	}
	limit := math.NaN()
	if l.FuzzinessLimit != nil {
		limit = float64(*l.FuzzinessLimit)
	}
	return []string{l.Name, fmt.Sprint(l.Dim), decimals(float64(l.Fuzziness), 3), decimals(limit, 3),
		intervalText(l.FuzzinessCI, 3),
		decimals(l.MeanDistance, 2), decimals(float64(l.BetweenWithinRatio), 3), pc[0], pc[1],
		decimals(l.NearestMeanAccuracy, 3), fmt.Sprint(l.Rank)}
}

// decimals formats a number with n decimals, a large one with an exponent, and NaN as a dash.
func decimals(v float64, n int) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.Abs(v) >= 1e5:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.*f", n, v)
}

// intervalText formats an interval, or a dash if there is none.
func intervalText(ci []separation.Float, n int) string {
	if len(ci) != 2 {
		return "-"
	}
	return decimals(float64(ci[0]), n) + " to " + decimals(float64(ci[1]), n)
}
