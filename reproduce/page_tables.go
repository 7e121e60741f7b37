package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/report"
)

// table1Table has a row for each row of Table 1: published, ours over seeds, and ours on
// all images; of one seed without ranges.
func table1Table(t *Table1) report.Table {
	out := report.Table{Caption: sentences.Say("table1 table", "seeds", len(t.Few)),
		Columns: []report.Column{{Name: "figure"}, {Name: "published", Number: true},
			{Name: "32 images, 10 steps", Number: true}, {Name: "range",
				Number: true}, {Name: commas(fmt.Sprintf("%d images, 30 steps",
				t.Images)), Number: true}, {Name: "range", Number: true}}}
	for _, row := range []struct {
		name, published string
		layer           int
		format          string
		figure          func(separation.Layer) float64
	}{
		{"input: D", "2.14", layerInput, "%.2f", fuzziness},
		{"input: mean distance", "24.51", layerInput, "%.2f", distance},
		{"input: between/within", "0.89", layerInput, "%.2f", ratio},
		{"input: explained variance 1", "0.16", layerInput, "%.2f", component(0)},
		{"input: explained variance 2", "0.11", layerInput, "%.2f", component(1)},
		{"denoised: D", "2.81", layerDenoised, "%.2f", fuzziness},
		{"denoised: mean distance", "18.24", layerDenoised, "%.2f", distance},
		{"denoised: between/within", "2.10", layerDenoised, "%.2f", ratio},
		{"denoised: explained variance 1", "0.28", layerDenoised, "%.2f", component(0)},
		{"denoised: explained variance 2", "0.18", layerDenoised, "%.2f", component(1)},
		{"logits: D", "9.53", layerLogits, "%.2f", fuzziness},
		{"logits: mean distance", "17.17", layerLogits, "%.2f", distance},
		{"logits: between/within", "8.21", layerLogits, "%.2f", ratio},
		{"logits: explained variance 1", "0.55", layerLogits, "%.2f", component(0)},
		{"logits: explained variance 2", "0.18", layerLogits, "%.2f", component(1)},
	} {
		few := layerOf(t.Few, row.layer == layerLogits, row.layer, row.figure)
		all := spread(nil)
		if row.layer != layerLogits { // the classifiers were trained for 10 steps
			all = layerOf(t.Whole, false, row.layer, row.figure)
		}
		out.Rows = append(out.Rows, report.Row{Cells: append([]string{row.name, row.published},
			append(spreadCells(row.format, few), spreadCells(row.format, all)...)...)})
	}
	few := over(t.Few, func(p Placement) float64 { return p.Analysis.DisplacementL2 })
	all := over(t.Whole, func(p Placement) float64 { return p.Analysis.DisplacementL2 })
	out.Rows = append(out.Rows, report.Row{Cells: append([]string{"displacement (Frobenius)", "69.6"},
		append(spreadCells("%.1f", few), spreadCells("%.0f", all)...)...)})
	if len(t.Few) == 1 {
		out.Columns = slices.Delete(slices.Delete(out.Columns, 5, 6), 3, 4)
		for i, r := range out.Rows {
			out.Rows[i].Cells = slices.Delete(slices.Delete(r.Cells, 5, 6), 3, 4)
		}
	}
	return out
}

// wholeTable has D of all test images after some steps, with its interval, for each
// initialisation.
func wholeTable(t *Table1) report.Table {
	steps := []int{0, 4, table1Steps, 20, paperSteps}
	out := report.Table{Caption: commas(sentences.Say("whole table", "images", t.Images)),
		Columns: []report.Column{{Name: "seed"}}}
	for _, n := range steps {
		out.Columns = append(out.Columns, report.Column{Name: fmt.Sprintf("step %d", n), Number: true})
	}
	out.Columns = append(out.Columns, report.Column{Name: "Pearson of log D", Number: true})
	for _, p := range t.Whole {
		cells := []string{fmt.Sprint(p.Seed)}
		for _, n := range steps {
			l := p.Analysis.Steps[n]
			cells = append(cells, fmt.Sprintf("%s (%s)", number("%.2f", l.Fuzziness), between("%.1f", l.FuzzinessCI)))
		}
		out.Rows = append(out.Rows, report.Row{Cells: append(cells, lawCells(p.Analysis.StepsLaw)[2])})
	}
	return out
}

// spreadCells are the median and the range of s.
func spreadCells(format string, s Spread) []string {
	if s.Seeds == 0 {
		return []string{"–", "–"}
	}
	if s.Least == s.Greatest {
		return []string{number(format, s.Median), "–"}
	}
	return []string{number(format, s.Median), between(format, rangeOf(s))}
}

// lawCells are rho with its interval, Pearson's coefficient and the shape.
func lawCells(l *separation.Law) []string {
	if l == nil {
		return []string{"–", "–", "–", "–"}
	}
	return []string{fmt.Sprintf("%.3f", l.Rho), between("%.3f", l.RhoCI), number("%.4f", l.Pearson), l.Shape()}
}

var lawColumns = []report.Column{{Name: "ρ", Number: true}, {Name: "95% interval", Number: true},
	{Name: "Pearson", Number: true}, {Name: "shape"}}

// follows is the verdict on a law.
func follows(l *separation.Law) (report.Verdict, string) {
	switch {
	case l == nil:
		return report.Unjudged, "no line"
	case l.Follows():
		return report.Holds, "follows"
	case l.Shape() == separation.Untested:
		return report.Unjudged, "too few points"
	case l.Rho < 1:
		return report.Partly, "falls, but not on a line"
	}
	return report.Fails, "does not fall"
}

func trainedTable(t *Trained) report.Table {
	out := report.Table{Caption: sentences.Say("trained table"),
		Columns: append([]report.Column{{Name: "network"}, {Name: "seed", Number: true},
			{Name: "test accuracy", Number: true}, {Name: "D first", Number: true}, {Name: "D last",
				Number: true}, {Name: "95% interval, N → ∞", Number: true}}, lawColumns...)}
	for _, run := range t.Runs {
		steps := run.Analysis.Steps
		last := steps[len(steps)-1]
		v, said := follows(run.Analysis.StepsLaw)
		out.Rows = append(out.Rows, report.Row{Verdict: v, Said: said,
			Cells: append([]string{run.Preset, fmt.Sprint(run.Seed), fmt.Sprintf("%.2f%%", 100*run.TestAccuracy),
				number("%.2f", steps[0].Fuzziness), number("%.2f", last.Fuzziness), between("%.2f",
					last.FuzzinessCI)}, lawCells(run.Analysis.StepsLaw)...)})
	}
	return out
}

// forwardTable has D at every layer of the feed-forward networks.
func forwardTable(t *Trained) report.Table {
	out := report.Table{Caption: sentences.Say("forward table"),
		Columns: append([]report.Column{{Name: "network"}, {Name: "seed", Number: true},
			{Name: "test accuracy", Number: true}, {Name: "D of input, hidden layers and logits"}}, lawColumns...)}
	for _, run := range t.Forward {
		var d []string
		for _, v := range run.D {
			d = append(d, number("%.2f", v))
		}
		v, said := follows(run.Law)
		out.Rows = append(out.Rows, report.Row{Verdict: v, Said: said,
			Cells: append([]string{run.Network, fmt.Sprint(run.Seed), fmt.Sprintf("%.2f%%", 100*run.TestAccuracy),
				strings.Join(d, ", ")}, lawCells(run.Law)...)})
	}
	return out
}

func posterTable(p *Poster) report.Table {
	var names []string
	for _, n := range noises {
		names = append(names, n.String())
	}
	t := report.Table{Caption: sentences.Say("poster table", "noises", strings.Join(names, " / ")),
		Columns: []report.Column{{Name: "network"}, {Name: "seed", Number: true},
			{Name: "lowest validation loss", Number: true}, {Name: "in epoch",
				Number: true}, {Name: "highest validation accuracy", Number: true}, {Name: "in epoch", Number: true},
			{Name: "validation loss below training loss", Number: true}, {Name: "test accuracy",
				Number: true}, {Name: "under noise", Number: true}, {Name: "multiply-adds", Number: true}}}
	for _, part := range []struct {
		name string
		runs []PosterRun
	}{{"published, 10 steps", p.DPN}, {"the same, rate falling to 0", p.Cosine}, {"the same, drawn centres", p.Samples},
		{"random map to 64 features, noise", p.Extractor}, {"compact, exact gradient", p.Exact},
		{"the same, drawn centres", p.ExactSamples}, {"linear", p.Linear}, {"MLP", p.MLP}} {
		for _, r := range part.runs {
			cells := append([]string{part.name, fmt.Sprint(r.Seed)}, posterCells(r)...)
			t.Rows = append(t.Rows, report.Row{Cells: cells})
		}
	}
	return t
}

// posterCells are the figures of a training of the poster; the MLP has no validation.
func posterCells(r PosterRun) []string {
	validation := []string{"–", "–", "–", "–", "–"}
	if len(r.Epochs) > 0 {
		a, at := r.BestAccuracy()
		validation = []string{fmt.Sprintf("%.3f", lowestLoss(r)), fmt.Sprint(r.Best), fmt.Sprintf("%.2f%%", 100*a),
			fmt.Sprint(at), fmt.Sprintf("%d of %d epochs", r.ValBelowTrain(), len(r.Epochs))}
	}
	var noisy []string
	for _, n := range r.Noisy {
		noisy = append(noisy, fmt.Sprintf("%.1f%%", 100*n.Accuracy))
	}
	return append(validation, fmt.Sprintf("%.2f%%", 100*r.TestAccuracy), strings.Join(noisy, " / "),
		commas(fmt.Sprint(r.MACs)))
}

func symmetryTable(f *Field) report.Table {
	h := f.Hessian
	return report.Table{
		Caption: sentences.Say("symmetry table", "points", h.Points),
		Columns: []report.Column{{Name: "potential"}, {Name: "median", Number: true}, {Name: "largest", Number: true}},
		Rows: []report.Row{{Cells: []string{"float64", number("%.1e", h.Asymmetry),
			number("%.1e", h.AsymmetryLargest)}}}}
}

func risesTable(f *Field) report.Table {
	t := report.Table{Caption: commas(sentences.Say("rises table", "samples", f.Rises.Samples, "steps", f.Rises.Steps)),
		Columns: []report.Column{{Name: "alpha"}, {Name: "times the largest eigenvalue", Number: true},
			{Name: "steps on which φ rises", Number: true}, {Name: "largest fall", Number: true}}}
	for _, r := range f.Rises.Rises {
		t.Rows = append(t.Rows, report.Row{Cells: []string{fmt.Sprintf("%.3g", r.Alpha),
			fmt.Sprintf("%.3g", r.AlphaLambda),
			fmt.Sprintf("%.2f%%", 100*r.Share), fmt.Sprintf("%.3g", r.LargestFall)}})
	}
	return t
}

func fixedPointsTable(f *Field) report.Table {
	p := f.FixedPoints
	t := report.Table{Caption: commas(sentences.Say("fixed points table", "samples", p.Samples,
		"points", len(p.Points), "median", p.StepsMedian, "most", p.StepsMost, "purity", 100*p.Purity)),
		Columns: []report.Column{{Name: "fixed point"}, {Name: "images", Number: true},
			{Name: "most frequent class", Number: true}, {Name: "its share", Number: true}, {Name: "component",
				Number: true}, {Name: "distance to its centre", Number: true}}}
	for i, q := range p.Points {
		if i == 40 {
			break
		}
		t.Rows = append(t.Rows, report.Row{Cells: []string{fmt.Sprint(i + 1), commas(fmt.Sprint(q.Images)),
			fmt.Sprint(q.Class), fmt.Sprintf("%.1f%%", 100*q.Purity), fmt.Sprint(q.Component), fmt.Sprintf("%.3g",
				q.CentreDistance)}})
	}
	return t
}
