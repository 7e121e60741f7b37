package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/report"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var nan = math.NaN()

func analyzeCommand(a *app) *cobra.Command {
	z := &analysis{app: a}
	c := &cobra.Command{
		Use:   "analyze",
		Short: "Measure how a model separates classes, layer by layer and step by step",
		Long: `Measure class separation on the test pictures at the input, the features, the denoised
features, the logits and after every ascent step, and write analysis.json and figures to
the folder of --out (default: "analysis" beside the model).

Columns: D is the separation fuzziness Tr(SSw SSb^+) of He and Su; product is
Tr(SSw SSb), as the paper prints it; distance is the mean distance between class means;
between/within is Tr(SSb)/Tr(SSw); PC1, PC2 are shares of the variance. D depends on the
number of pictures: 2.1 for the first 32 of MNIST's test pictures, 14.6 for all. Compare
only what was measured on equally many.`,
		Example: `  dpnbench analyze --model runs/first/model.safetensors
  dpnbench analyze --model runs/first/model.safetensors --data mnist --out analysis
  dpnbench analyze --model runs/published-1/model.safetensors --data mnist --first 32   # the paper's sample`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return z.run(c.Context(), c.Flags()) },
	}
	z.data.add(c, false)
	z.model.add(c, "steps")
	c.Flags().StringVar(&z.out, "out", "", "`FOLDER` for analysis.json and figures")
	c.Flags().IntVar(&z.first, "first", 0, "only the first N test pictures; 0: all")
	return c
}

// analysis is one run of analyze.
type analysis struct {
	*app
	data  dataFlags
	model modelFlags
	out   string
	first int
}

func (z *analysis) run(ctx context.Context, flags *pflag.FlagSet) error {
	m, err := z.model.load()
	if err != nil {
		return err
	}
	e, err := z.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	z.data.settle(flags, &m.Config)
	data, err := openData(m.Config)
	if err != nil {
		return err
	}
	set := data.Test
	if z.first < 0 || z.first > set.Len() {
		return fmt.Errorf("--first %d: expected 1 to %d, or 0 for all", z.first, set.Len())
	}
	if z.first > 0 {
		set = set.Slice(0, z.first)
	}
	if z.out == "" {
		z.out = filepath.Join(filepath.Dir(z.model.path), "analysis")
	}
	if err := outputFolder("--out", z.out); err != nil {
		return err
	}
	if err := z.checkJSON(z.model.path); err != nil {
		return err
	}
	r, err := z.analyze(ctx, e, m, set)
	if err != nil {
		return fmt.Errorf("--data %s: %w", m.Config.Data, err)
	}
	return z.writeJSON(r)
}

// analyze measures, prints the table and writes everything to z.out.
func (z *analysis) analyze(ctx context.Context, e *engine.Engine, m *dpn.Model, pictures *dataset.Set) (*dpn.Analysis, error) {
	b := z.bar(m.Config.Steps+3, "analyze")
	r, err := m.Analyze(ctx, e, pictures, dpn.AnalyzeOptions{Progress: func(done, _ int) { set(b, done) }})
	finish(b)
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"layer", "dim", "D", "product", "distance", "between/within", "PC1", "PC2", "rank"}}
	for _, l := range r.Layers {
		rows = append(rows, layerCells(l))
	}
	for _, l := range r.Steps {
		rows = append(rows, layerCells(l))
	}
	z.printf("%s of %d classes\n", count(r.Samples, "picture"), r.Classes)
	z.table(rows)
	z.printf("displacement x_0 to x_n   %.1f (Frobenius norm)\n", r.DisplacementL2)
	if law := r.StepsLaw; law != nil && len(law.RhoCI) == 2 {
		z.printf("law over the steps        rho %.4f (95%% interval %.4f to %.4f), Pearson r of log D %.3f\n", law.Rho, law.RhoCI[0], law.RhoCI[1], float64(law.Pearson))
	}
	path := filepath.Join(z.out, "analysis.json")
	_, err = os.Stat(path)
	again := err == nil
	if err := saveJSON(path, r); err != nil {
		return nil, err
	}
	if err := z.figures(r, m, again); err != nil {
		return nil, err
	}
	z.note("written  %s and figures beside it\n", path)
	return r, nil
}

func layerCells(l separation.Layer) []string {
	pc := []string{"", ""}
	for i, v := range l.ExplainedVariance {
		if i < 2 {
			pc[i] = fmt.Sprintf("%.3f", v)
		}
	}
	return []string{l.Name, fmt.Sprint(l.Dim), fmt.Sprintf("%.3f", float64(l.Fuzziness)), fmt.Sprintf("%.4g", l.FuzzinessProduct),
		fmt.Sprintf("%.2f", l.MeanDistance), fmt.Sprintf("%.3f", float64(l.BetweenWithinRatio)), pc[0], pc[1], fmt.Sprint(l.Rank)}
}

// leastLawPoints is the number of layers from which on a line through them says something.
const leastLawPoints = 4

// figures draws D over layers and steps, and the PCA scatter of each layer. A figure that
// these data do not allow is left out, with a note, and in a folder that is analysed again
// what was drawn in its place is removed.
func (z *analysis) figures(r *dpn.Analysis, m *dpn.Model, again bool) error {
	var names []string
	var layers, steps []float64
	for _, l := range r.Layers {
		names, layers = append(names, l.Name), append(layers, float64(l.Fuzziness))
	}
	for _, l := range r.Steps {
		steps = append(steps, float64(l.Fuzziness))
	}
	law := r.Law
	if law != nil && law.Points < leastLawPoints {
		law = nil
	}
	title := fmt.Sprintf("%s, %s", m.Config.Preset, count(r.Samples, "picture"))
	var classes []string
	for c := range m.Classes {
		classes = append(classes, fmt.Sprint(c))
	}
	for _, f := range []struct {
		name string
		draw func(path string) error
	}{
		{"layers", func(path string) error {
			return report.LayersFigure(path, "Separation fuzziness over layers: "+title, names, layers, law)
		}},
		{"steps", func(path string) error {
			if len(steps) < 2 {
				return fmt.Errorf("there are no ascent steps")
			}
			return report.StepsFigure(path, "Separation fuzziness over ascent steps: "+title, steps, r.StepsLaw)
		}},
		{"pca", func(path string) error {
			var panels []report.Panel
			for i, l := range r.Layers {
				p, err := report.NewPanel(l, r.Sets[i])
				if err != nil {
					return err
				}
				panels = append(panels, p)
			}
			return report.PCAFigure(path, "Principal components: "+title, panels, classes)
		}},
	} {
		path := filepath.Join(z.out, f.name)
		err := f.draw(path)
		var failed *os.PathError
		if errors.As(err, &failed) {
			return err
		}
		if err != nil {
			for _, old := range report.Files(path) {
				if again {
					os.Remove(old)
				}
			}
			z.note("no figure %q: %v\n", f.name, err)
		}
	}
	return nil
}
