package reproduce

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/plot"
	"dpnbench/report"
)

// Figure is a figure of the experiments, with the name of its file.
type Figure struct {
	Name string
	report.Shown
}

// verdicts of report, for the colour; the words are ours.
var verdictColours = map[string]report.Verdict{Reproduced: report.Holds, OnlyByTheirs: report.Partly, NotReproduced: report.Fails, Untested: report.Unjudged}

// Page returns the report of the experiments that have run. facts say on what and how.
func Page(r Results, facts []report.Fact) report.Page {
	claims := Claims(r)
	p := report.Page{Kind: "dpnbench reproduce", Title: "What became of the claims about Denoising Potential Networks", Facts: facts, Summary: summary(r, claims)}
	p.Sections = append(p.Sections, report.Section{Title: "Every claim", Blocks: []report.Block{
		report.Text("“Reproduced only under their protocol” says that the figure comes out as printed when it is measured as they did, and that it does not hold beyond that."),
		claimsTable(claims),
	}})
	add := func(title string, have bool, blocks func() []report.Block) {
		if have {
			p.Sections = append(p.Sections, report.Section{Title: title, Blocks: blocks()})
		}
	}
	figures := Figures(r)
	shown := func(names ...string) report.Figures {
		var out report.Figures
		for _, f := range figures {
			if slices.Contains(names, f.Name) {
				out = append(out, f.Shown)
			}
		}
		return out
	}
	add("Table 1 of the paper", r.Table1 != nil, func() []report.Block {
		return append([]report.Block{table1Table(r.Table1), wholeTable(r.Table1), shown("table1-samples", "table1-steps")},
			walkBlocks(r.Table1.Walk, "Walk digits through the ten steps of the untrained potential; the class is that of a classifier trained behind them.")...)
	})
	add("The law of equi-separation in feed-forward networks", r.Law != nil, func() []report.Block {
		return []report.Block{
			report.Text(commas(fmt.Sprintf("He and Su's protocol: pictures of %d x %d pixels of %s (theirs are of Fashion-MNIST), %d training pictures, %d epochs of Adam, D on the training data while BatchNorm takes its statistics from %d rows; the logits are left out of the fit.",
				r.Law.Side, r.Law.Side, r.Law.Data, r.Law.Pictures, r.Law.Epochs, lawBatch))),
			lawTable(r.Law), shown(append([]string{"law"}, lawFigureNames(r.Law)...)...)}
	})
	add("Along the steps of trained potentials", r.Trained != nil, func() []report.Block {
		return append([]report.Block{
			report.Text(commas(fmt.Sprintf("D of the %d test pictures after every ascent step, the potential trained by the exact gradient; at the end feed-forward networks on the same pictures.", r.Trained.Pictures))),
			trainedTable(r.Trained), forwardTable(r.Trained), shown("trained-steps")},
			walkBlocks(r.Trained.Walk, "Walk digits through the steps of the first of these networks.")...)
	})
	add("The training of the poster", r.Poster != nil, func() []report.Block {
		return []report.Block{posterTable(r.Poster), shown("poster")}
	})
	add("The ascent field", r.Field != nil, func() []report.Block {
		return []report.Block{symmetryTable(r.Field), risesTable(r.Field), shown("field-rises"), fixedPointsTable(r.Field)}
	})
	add("Robustness at equal cost", r.Robust != nil, func() []report.Block {
		return robustBlocks(r.Robust, shown(robustFigureNames[false], robustFigureNames[true]))
	})
	return p
}

// walkBlocks are a walk with what it shows, or nothing.
func walkBlocks(w *Walk, text string) []report.Block {
	if w == nil {
		return nil
	}
	return []report.Block{report.Text(text), report.NewWalk(w.Model, w.Trace, w.Pictures)}
}

// summary is what was found, in plain words.
func summary(r Results, claims []Claim) []string {
	count := map[string]int{}
	for _, c := range claims {
		count[c.Verdict]++
	}
	out := []string{fmt.Sprintf("Of %d claims %d were reproduced, %d only under the protocol that the documents used, %d were not reproduced, and %d were not tested in this run.",
		len(claims), count[Reproduced], count[OnlyByTheirs], count[NotReproduced], count[Untested])}
	if !r.MNIST {
		out = append(out, "The documents speak of MNIST. This run is on other pictures, or on some of MNIST's, so that nothing that was measured is held against the claims.")
	}
	if t := r.Table1; t != nil && len(t.Whole) > 0 {
		few, all := t.Few[0].Analysis.Layers[layerInput], t.Whole[0].Analysis.Layers[layerInput]
		s := fmt.Sprintf("The printed D of the input, 2.14, is that of %d pictures: here they have %.2f. All %d pictures have %.2f", table1Pictures, float64(few.Fuzziness), t.Pictures, float64(all.Fuzziness))
		out = append(out, s+limitText(all.Sampling)+".")
		ten, thirty := stepOf(t.Whole, table1Steps), stepOf(t.Whole, 30)
		out = append(out, fmt.Sprintf("Along the steps of the untrained potential D first dips and then rises, to %s after 10 steps and %s after 30, by the seed of k-means.",
			ten.text("%.1f"), thirty.text("%.1f")))
	}
	if t := r.Trained; t != nil && len(t.Runs) > 0 {
		out = append(out, "Do energy-based models break the law of equi-separation? "+judgeTrained(t).measured+". "+judgeTrained(t).why)
	}
	if l := r.Law; l != nil {
		out = append(out, "The law itself: "+judgeLaw(l).measured+".")
	}
	if b := r.Robust; b != nil && b.Complete {
		for _, noisy := range []bool{false, true} {
			var said []string
			for _, v := range b.Verdicts() {
				if v.Noisy == noisy {
					said = append(said, fmt.Sprintf("%s %s the %s (%.1f%% against %.1f%%)", v.Setting, preposition[v.Word], v.Rival, float64(v.Ours.Mean), float64(v.Theirs.Mean)))
				}
			}
			out = append(out, fmt.Sprintf("At equal cost, trained on %s, a DPN is: %s.", trainingNames[noisy], strings.Join(said, "; ")))
		}
		if text := ruleText(b); text != "" {
			out = append(out, text)
		}
	}
	if f := r.Field; f != nil {
		out = append(out, fmt.Sprintf("The ascent field is conservative up to rounding, and left to itself it takes %d of %d pictures to %d points.", f.FixedPoints.Converged, f.FixedPoints.Samples, len(f.FixedPoints.Points)))
	}
	for i, text := range out {
		out[i] = commas(text)
	}
	return out
}

func claimsTable(claims []Claim) report.Table {
	t := report.Table{Caption: "Claims of the paper, the overview and the poster",
		Columns: []report.Column{{Name: "claim"}, {Name: "published"}, {Name: "measured"}, {Name: "why"}}}
	for _, c := range claims {
		note := c.Source // columns of their own would not fit the page
		if c.Protocol != "" {
			note += "; " + c.Protocol
		}
		t.Rows = append(t.Rows, report.Row{Verdict: verdictColours[c.Verdict], Said: c.Verdict, Note: note,
			Cells: []string{c.Statement, c.Published, commas(dash(c.Measured)), commas(c.Why)}})
	}
	return t
}

var longNumber = regexp.MustCompile(`(^|[^.\d])(\d{4,})`)

// commas sets commas into the whole numbers of a text that speaks of no years.
func commas(text string) string {
	return longNumber.ReplaceAllStringFunc(text, func(n string) string {
		for i := len(n) - 3; i > 0 && n[i-1] >= '0' && n[i-1] <= '9'; i -= 3 {
			n = n[:i] + "," + n[i:]
		}
		return n
	})
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// number prints v with the given format, or a dash where it is no number.
func number(format string, v separation.Float) string {
	if math.IsNaN(float64(v)) {
		return "–"
	}
	if math.IsInf(float64(v), 0) {
		return "∞"
	}
	return fmt.Sprintf(format, float64(v))
}

// between prints an interval.
func between(format string, ci []separation.Float) string {
	if len(ci) != 2 {
		return "–"
	}
	return number(format, ci[0]) + " to " + number(format, ci[1])
}

// table1Table has a row for each row of Table 1: published, ours over seeds, and ours on
// all pictures.
func table1Table(t *Table1) report.Table {
	out := report.Table{Caption: "Table 1 as published, by its protocol (median and range over seeds of k-means), and on all test pictures after 30 steps",
		Columns: []report.Column{{Name: "figure"}, {Name: "published", Number: true}, {Name: "32 pictures, 10 steps", Number: true}, {Name: "range", Number: true}, {Name: commas(fmt.Sprintf("%d pictures, 30 steps", t.Pictures)), Number: true}, {Name: "range", Number: true}}}
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
		out.Rows = append(out.Rows, report.Row{Cells: append([]string{row.name, row.published}, append(spreadCells(row.format, few), spreadCells(row.format, all)...)...)})
	}
	few := over(t.Few, func(p Placement) float64 { return p.Analysis.DisplacementL2 })
	all := over(t.Whole, func(p Placement) float64 { return p.Analysis.DisplacementL2 })
	out.Rows = append(out.Rows, report.Row{Cells: append([]string{"displacement (Frobenius)", "69.6"}, append(spreadCells("%.1f", few), spreadCells("%.0f", all)...)...)})
	return out
}

// wholeTable has D on all test pictures after some steps, with its interval, for each
// placement.
func wholeTable(t *Table1) report.Table {
	steps := []int{0, 4, table1Steps, 20, 30}
	out := report.Table{Caption: commas(fmt.Sprintf("D of all %d test pictures along the untrained potential, with the 95%% interval of D for ever more pictures", t.Pictures)), Columns: []report.Column{{Name: "seed"}}}
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

var lawColumns = []report.Column{{Name: "rho", Number: true}, {Name: "95% interval", Number: true}, {Name: "Pearson", Number: true}, {Name: "shape"}}

// follows is the verdict of a law on a row.
func follows(l *separation.Law) (report.Verdict, string) {
	switch {
	case l == nil:
		return report.Unjudged, "no line"
	case l.Follows():
		return report.Holds, "follows"
	case l.Rho < 1:
		return report.Partly, "falls, but not on a line"
	}
	return report.Fails, "does not fall"
}

func lawTable(l *LawResult) report.Table {
	t := report.Table{Caption: "The law in each network, log D over layers without and with the logits, and on as many test pictures",
		Columns: append(append([]report.Column{{Name: "network"}, {Name: "seed", Number: true}, {Name: "training", Number: true}, {Name: "test", Number: true}}, lawColumns...),
			report.Column{Name: "Pearson with logits", Number: true}, report.Column{Name: "rho, test", Number: true}, report.Column{Name: "Pearson, test", Number: true})}
	for _, n := range l.Networks {
		for _, run := range n.Runs {
			cells := append([]string{n.Name, fmt.Sprint(run.Seed), fmt.Sprintf("%.1f%%", 100*run.TrainAccuracy), fmt.Sprintf("%.1f%%", 100*run.TestAccuracy)}, lawCells(run.Law)...)
			with, test := lawCells(run.WithLogits), lawCells(run.TestLaw)
			v, said := follows(run.Law)
			t.Rows = append(t.Rows, report.Row{Verdict: v, Said: said, Cells: append(cells, with[2], test[0], test[2])})
		}
	}
	return t
}

func trainedTable(t *Trained) report.Table {
	out := report.Table{Caption: "D along the steps of trained potentials",
		Columns: append([]report.Column{{Name: "network"}, {Name: "seed", Number: true}, {Name: "test accuracy", Number: true}, {Name: "D first", Number: true}, {Name: "D last", Number: true}, {Name: "95% interval, n to infinity", Number: true}}, lawColumns...)}
	for _, run := range t.Runs {
		steps := run.Analysis.Steps
		last := steps[len(steps)-1]
		v, said := follows(run.Analysis.StepsLaw)
		out.Rows = append(out.Rows, report.Row{Verdict: v, Said: said, Cells: append([]string{run.Preset, fmt.Sprint(run.Seed), fmt.Sprintf("%.2f%%", 100*run.TestAccuracy),
			number("%.2f", steps[0].Fuzziness), number("%.2f", last.Fuzziness), between("%.2f", last.FuzzinessCI)}, lawCells(run.Analysis.StepsLaw)...)})
	}
	return out
}

// forwardTable has D at every layer of the feed-forward networks.
func forwardTable(t *Trained) report.Table {
	out := report.Table{Caption: "D along the layers of feed-forward networks, the logits left out of the fit",
		Columns: append([]report.Column{{Name: "network"}, {Name: "seed", Number: true}, {Name: "test accuracy", Number: true}, {Name: "D of input, hidden layers and logits"}}, lawColumns...)}
	for _, run := range t.Forward {
		var d []string
		for _, v := range run.D {
			d = append(d, number("%.2f", v))
		}
		v, said := follows(run.Law)
		out.Rows = append(out.Rows, report.Row{Verdict: v, Said: said, Cells: append([]string{run.Network, fmt.Sprint(run.Seed), fmt.Sprintf("%.2f%%", 100*run.TestAccuracy), strings.Join(d, ", ")}, lawCells(run.Law)...)})
	}
	return out
}

func posterTable(p *Poster) report.Table {
	var names []string
	for _, n := range noises {
		names = append(names, n.String())
	}
	t := report.Table{Caption: "The published network with 10 steps, and a linear classifier of the same pixels; noise: " + strings.Join(names, " / "),
		Columns: []report.Column{{Name: "network"}, {Name: "seed", Number: true}, {Name: "lowest validation loss", Number: true}, {Name: "in epoch", Number: true}, {Name: "highest validation accuracy", Number: true}, {Name: "in epoch", Number: true},
			{Name: "validation loss below training loss", Number: true}, {Name: "test accuracy", Number: true}, {Name: "under noise", Number: true}, {Name: "multiply-adds", Number: true}}}
	for _, part := range []struct {
		name string
		runs []PosterRun
	}{{"published, 10 steps", p.DPN}, {"linear", p.Linear}} {
		for _, r := range part.runs {
			a, at := r.BestAccuracy()
			var noisy []string
			for _, n := range r.Noisy {
				noisy = append(noisy, fmt.Sprintf("%.1f%%", 100*n.Accuracy))
			}
			t.Rows = append(t.Rows, report.Row{Cells: []string{part.name, fmt.Sprint(r.Seed), fmt.Sprintf("%.3f", *r.Epochs[r.Best-1].ValLoss), fmt.Sprint(r.Best),
				fmt.Sprintf("%.2f%%", 100*a), fmt.Sprint(at), fmt.Sprintf("%d of %d epochs", r.ValBelowTrain(), len(r.Epochs)), fmt.Sprintf("%.2f%%", 100*r.TestAccuracy), strings.Join(noisy, " / "), commas(fmt.Sprint(r.MACs))}})
		}
	}
	return t
}

func symmetryTable(f *Field) report.Table {
	h := f.Hessian
	return report.Table{
		Caption: fmt.Sprintf("Is the ascent field conservative? Asymmetry of its Jacobian, the Hessian of phi, at %d test images: "+
			"0 for a gradient, near 1.4 for a random matrix", h.Points),
		Columns: []report.Column{{Name: "potential"}, {Name: "median", Number: true}, {Name: "largest", Number: true}},
		Rows:    []report.Row{{Cells: []string{"float64", number("%.1e", h.Asymmetry), number("%.1e", h.AsymmetryLargest)}}}}
}

func risesTable(f *Field) report.Table {
	t := report.Table{Caption: commas(fmt.Sprintf("Does phi rise? %d pictures, %d steps each, by step size", f.Rises.Samples, f.Rises.Steps)),
		Columns: []report.Column{{Name: "alpha"}, {Name: "times the largest eigenvalue", Number: true}, {Name: "steps on which phi rises", Number: true}, {Name: "largest fall", Number: true}}}
	for _, r := range f.Rises.Rises {
		t.Rows = append(t.Rows, report.Row{Cells: []string{fmt.Sprintf("%.3g", r.Alpha), fmt.Sprintf("%.3g", r.AlphaLambda), fmt.Sprintf("%.2f%%", 100*r.Share), fmt.Sprintf("%.3g", r.LargestFall)}})
	}
	return t
}

func fixedPointsTable(f *Field) report.Table {
	p := f.FixedPoints
	t := report.Table{Caption: commas(fmt.Sprintf("Where %d pictures end: %d points, after %d steps in the median and %d at most; %.1f%% have the most frequent class of their end", p.Samples, len(p.Points), p.StepsMedian, p.StepsMost, 100*p.Purity)),
		Columns: []report.Column{{Name: "point"}, {Name: "pictures", Number: true}, {Name: "most frequent class", Number: true}, {Name: "its share", Number: true}, {Name: "component", Number: true}, {Name: "distance to its centre", Number: true}}}
	for i, q := range p.Points {
		if i == 40 {
			break
		}
		t.Rows = append(t.Rows, report.Row{Cells: []string{fmt.Sprint(i + 1), commas(fmt.Sprint(q.Images)), fmt.Sprint(q.Class), fmt.Sprintf("%.1f%%", 100*q.Purity), fmt.Sprint(q.Component), fmt.Sprintf("%.3g", q.CentreDistance)}})
	}
	return t
}

// Figures returns the figures of the experiments that have run, with the names of their
// files.
func Figures(r Results) []Figure {
	var out []Figure
	add := func(name, caption, alt string, f plot.Figure) {
		out = append(out, Figure{name, report.Shown{Figure: f, Caption: caption, Alt: alt}})
	}
	if t := r.Table1; t != nil && len(t.Whole) > 0 {
		if c := t.Whole[0].Analysis.Curves; len(c) > 0 {
			add("table1-samples", "D depends on how many pictures it is measured on: the paper's 32 are at the left end.", "D rises with the number of pictures and levels off", samplesFigure(t.Whole[0].Analysis.Layers, c[0].Layer, c[0].Points))
		}
		var series []plot.Series
		for i, p := range t.Whole {
			series = append(series, stepsSeries(fmt.Sprintf("seed %d", p.Seed), i, 0, p.Analysis.Steps))
		}
		add("table1-steps", "The untrained potential: D dips while pictures lose their noise and rises as they gather at centres that know no labels.", "D dips and then rises, by a different amount for each seed",
			plot.Lines{Title: "D over ascent steps, untrained potential", X: "ascent step", Y: "separation fuzziness D (log scale)", LinearX: true, LogY: true, Bars: report.FuzzinessBars, Series: series})
	}
	if l := r.Law; l != nil {
		var series []plot.Series
		for i, n := range l.Networks {
			for s, run := range n.Runs {
				var points []plot.Point
				for at, d := range run.D[:len(run.D)-1] {
					points = append(points, plot.Point{X: float64(at), Y: float64(d)})
				}
				name := n.Name
				if len(n.Runs) > 1 {
					name = fmt.Sprintf("%s, seed %d", n.Name, run.Seed)
				}
				if s == 0 {
					series = append(series, plot.Series{Name: name, Colour: i, Points: points})
				}
			}
		}
		add("law", "One seed of each network; a straight line is the law.", "D falls on a line in networks with BatchNorm that are not too deep, hardly without, and rises in a linear one",
			plot.Lines{Title: "D over layers, training data", X: "layer (0: the input)", Y: "separation fuzziness D (log scale)", LinearX: true, LogY: true, Series: series})
	}
	if l := r.Law; l != nil {
		names := lawFigureNames(l)
		for i, n := range l.Networks {
			run := n.Runs[0]
			f := plot.Layers{Title: "Law: " + n.Name, Names: n.Layers}
			for _, d := range run.D {
				f.D = append(f.D, float64(d))
			}
			f.Law = report.NewLaw(run.Law)
			add(names[i], fmt.Sprintf("%s, seed %d: the fit without the logits, and its 95%% band.", n.Name, run.Seed), "D at each layer with the fitted line", f)
		}
	}
	if t := r.Trained; t != nil && len(t.Runs) > 0 {
		var series []plot.Series
		colours := map[string]int{}
		for _, run := range t.Runs {
			c, ok := colours[run.Preset]
			if !ok {
				c = len(colours)
				colours[run.Preset] = c
			}
			series = append(series, stepsSeries(fmt.Sprintf("%s, seed %d", run.Preset, run.Seed), c, int(run.Seed-1), run.Analysis.Steps))
		}
		add("trained-steps", "Trained potentials; bars are 95% intervals of D for ever more pictures, which lie a little above what these pictures give.", "D falls along the steps of trained potentials",
			plot.Lines{Title: "D over ascent steps, trained potentials", X: "ascent step", Y: "separation fuzziness D (log scale)", LinearX: true, LogY: true, Bars: report.FuzzinessBars, Series: series})
	}
	if p := r.Poster; p != nil && len(p.DPN) > 0 {
		var epochs []plot.Epoch
		for _, h := range p.DPN[0].Epochs {
			e := plot.Epoch{Epoch: h.Epoch, TrainLoss: h.TrainLoss, TrainAccuracy: h.TrainAccuracy, ValLoss: math.NaN(), ValAccuracy: math.NaN()}
			if h.ValLoss != nil {
				e.ValLoss, e.ValAccuracy = *h.ValLoss, *h.ValAccuracy
			}
			epochs = append(epochs, e)
		}
		add("poster", "The poster says: validation loss 0.4 near epoch 17, below the training loss, accuracy over 86%.", "Validation loss lies below training loss in all epochs",
			plot.Training{Title: "Published network, 10 steps, seed 1", Epochs: epochs})
	}
	if f := r.Field; f != nil {
		var points []plot.Point
		for _, rise := range f.Rises.Rises {
			points = append(points, plot.Point{X: rise.AlphaLambda, Y: 100 * rise.Share})
		}
		add("field-rises", "Phi rises on every step up to the bound of 2, and falls beyond.", "The share is 100% below 2 and drops to 0 above",
			plot.Lines{Title: "Steps on which phi rises", X: "alpha times the largest eigenvalue of P (log scale)", Y: "share of steps, %", From: 0, To: 100, Series: []plot.Series{{Name: "untrained potential", Points: points}}})
	}
	if b := r.Robust; b != nil {
		for _, noisy := range []bool{false, true} {
			if d := robustFigure(b, noisy); len(d.Groups) > 0 {
				add(robustFigureNames[noisy], "After each name: million multiply-adds a picture.", "Accuracy of each network on clean and on noisy test pictures", d)
			}
		}
	}
	return out
}

// lawFigureNames are the names of the figures of each network alone.
func lawFigureNames(l *LawResult) []string {
	var names []string
	for i := range l.Networks {
		names = append(names, fmt.Sprintf("law-%d", i+1))
	}
	return names
}

// samplesFigure is D of a layer over the number of samples.
func samplesFigure(layers []separation.Layer, name string, points []separation.CurvePoint) plot.Lines {
	drawn := plot.Series{Name: "random subsets, with their range", Colour: 0}
	first := plot.Series{Name: "the first n", Colour: 1}
	limit := plot.Series{Name: "estimate for n to infinity", Colour: 2}
	for _, p := range points {
		x := float64(p.Samples)
		drawn.Points = append(drawn.Points, plot.Point{X: x, Y: float64(p.Mean), Low: float64(p.Least), High: float64(p.Greatest)})
		if p.First.IsFinite() {
			first.Points = append(first.Points, plot.Point{X: x, Y: float64(p.First)})
		}
		if p.Limit.IsFinite() {
			limit.Points = append(limit.Points, plot.Point{X: x, Y: float64(p.Limit)})
		}
	}
	for _, l := range layers {
		if s := l.Sampling; l.Name == name && s != nil && s.Limit.IsFinite() {
			drawn.Limit = &plot.Level{Name: "n to infinity, 95% interval", Y: float64(s.Limit), Low: float64(s.CI[0]), High: float64(s.CI[1])}
		}
	}
	return plot.Lines{Title: "D over the number of pictures: " + name, X: "pictures n (log scale)", Y: "separation fuzziness D (log scale)", LogY: true, Series: []plot.Series{drawn, first, limit}}
}

// stepsSeries is D over steps, with intervals where there are any.
func stepsSeries(name string, colour, dash int, steps []separation.Layer) plot.Series {
	s := plot.Series{Name: name, Colour: colour, Dash: dash}
	for t, l := range steps {
		i := report.FuzzinessInterval(l)
		s.Points = append(s.Points, plot.Point{X: float64(t), Y: float64(l.Fuzziness), Low: i.Low, High: i.High})
	}
	return s
}
