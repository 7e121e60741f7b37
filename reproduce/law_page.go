package reproduce

import (
	"fmt"
	"math"
	"slices"

	"dpnbench/dataset/source"
	"dpnbench/dpn/separation"
	"dpnbench/plot"
	"dpnbench/report"
)

// LawTable is the table of the law, a row for each network, with its head: for each, the range over seeds, and the
// interval that spans those of all seeds.
func LawTable(l *LawResult) [][]string {
	rows := [][]string{{"network", "training", "test", "rho", "95% interval", "Pearson r", "shape", "He and Su"}}
	for _, n := range l.Networks {
		rho := n.laws(func(w *separation.Law) float64 { return w.Rho })
		rows = append(rows, []string{n.Name, n.accuracy(func(r LawRun) float64 { return r.TrainAccuracy }),
			n.accuracy(func(r LawRun) float64 { return r.TestAccuracy }), rangeCell("%.3f", rho),
			between("%.3f", n.rhoInterval()), rangeCell("%.3f", n.pearson()), n.shapes(), dash(n.Published)})
	}
	return rows
}

// lawTable is LawTable with verdicts.
func lawTable(l *LawResult) report.Table {
	rows := LawTable(l)
	t := report.Table{Caption: sentences.Say("law table")}
	for i, name := range rows[0] {
		if name == "rho" {
			name = "ρ"
		}
		t.Columns = append(t.Columns, report.Column{Name: name, Number: i > 0 && i < 6})
	}
	for i, n := range l.Networks {
		row := report.Row{Cells: rows[i+1]}
		if n.LowestLoss {
			row.Note = "lowest training loss of its grid"
		}
		row.Verdict, row.Said = n.verdict()
		t.Rows = append(t.Rows, row)
	}
	return t
}

// rangeCell is the range of a spread, or a dash.
func rangeCell(format string, s Spread) string {
	if s.Seeds == 0 {
		return "–"
	}
	return s.text(format)
}

// laws is the spread of a figure of the laws that could be fitted.
func (n LawNetwork) laws(figure func(*separation.Law) float64) Spread {
	var values []float64
	for _, run := range n.Runs {
		if run.Law != nil && !math.IsNaN(figure(run.Law)) {
			values = append(values, figure(run.Law))
		}
	}
	return spread(values)
}

func (n LawNetwork) pearson() Spread {
	return n.laws(func(w *separation.Law) float64 { return float64(w.Pearson) })
}

// rhoInterval spans the intervals of rho of all seeds.
func (n LawNetwork) rhoInterval() []separation.Float {
	var out []separation.Float
	for _, run := range n.Runs {
		switch {
		case run.Law == nil || len(run.Law.RhoCI) != 2:
		case out == nil:
			out = slices.Clone(run.Law.RhoCI)
		default:
			out[0], out[1] = min(out[0], run.Law.RhoCI[0]), max(out[1], run.Law.RhoCI[1])
		}
	}
	return out
}

// accuracy is the range of an accuracy; a dash for a network that was not trained.
func (n LawNetwork) accuracy(of func(LawRun) float64) string {
	s := over(n.Runs, func(r LawRun) float64 { return 100 * of(r) })
	if s.Greatest == 0 {
		return "–"
	}
	return s.text("%.1f") + "%"
}

// shapes tallies the curvature of the lines.
func (n LawNetwork) shapes() string {
	var words []string
	for _, run := range n.Runs {
		if run.Law != nil {
			words = append(words, run.Law.Shape())
		}
	}
	if len(words) == 0 {
		return "–"
	}
	return tally(words)
}

// verdict says whether the network follows the law.
func (n LawNetwork) verdict() (report.Verdict, string) {
	var words []string
	all, some := len(n.Runs) > 0, false
	for _, run := range n.Runs {
		v, said := follows(run.Law)
		words = append(words, said)
		all, some = all && v == report.Holds, some || v == report.Holds
	}
	switch {
	case all:
		return report.Holds, tally(words)
	case some:
		return report.Partly, tally(words)
	}
	return report.Fails, tally(words)
}

// Names of the figures of the law.
const (
	lawFigure       = "law"
	lawEpochsFigure = "law-epochs"
	lawLoadFigure   = "law-load"
)

// lawFigures show all networks with their lines, the law as it appears during training, and the loads.
func lawFigures(l *LawResult) []Figure {
	grid := plot.LawPanels{Title: "D over layers", Note: sentences.Say("law note")}
	for _, n := range l.Networks {
		if n.Kind == lawRates || len(n.Runs) == 0 {
			continue
		}
		p := plot.LawPanel{Title: n.Name, Names: n.Layers, Law: report.NewLaw(n.Runs[0].Law)}
		for _, run := range n.Runs {
			p.D = append(p.D, floats(run.D))
		}
		grid.Panels = append(grid.Panels, p)
	}
	follow, all := lawCount(l, lawSettings)
	other, allOther := lawCount(l, lawOthers...)
	f := newFigure(lawFigure, sentences.Say("law caption"), sentences.Say("law alt", "follow", follow, "all", all,
		"other", other, "allOther", allOther), grid)
	f.Wide = true
	out := []Figure{f}
	if n := emerging(l); n != nil {
		out = append(out, newFigure(lawEpochsFigure, sentences.Say("law epochs caption", "network", n.Name,
			"text", emergenceText(n)), emergenceText(n), emergenceLines(n)))
	}
	if lines, told := loadLines(l); len(lines.Series) > 1 {
		out = append(out, newFigure(lawLoadFigure, sentences.Say("law load caption", "text", told), told, lines))
	}
	return out
}

// emerging is the network whose training the page shows: eight layers with Adam, or else the first one.
func emerging(l *LawResult) *LawNetwork {
	var first *LawNetwork
	for i := range l.Networks {
		n := &l.Networks[i]
		if len(n.Runs) == 0 || len(n.Runs[0].Emergence) == 0 {
			continue
		}
		if n.Kind == lawSettings && n.Optimiser == lawAdam.name && n.Depth == 8 {
			return n
		}
		if first == nil {
			first = n
		}
	}
	return first
}

// emergenceLines is D over the layers after each of some epochs of the first training.
func emergenceLines(n *LawNetwork) plot.Lines {
	f := plot.Lines{Title: "D during training: " + n.Name, X: "layer (0: the input)",
		Y: "fuzziness D (log scale)", LinearX: true, LogY: true}
	add := func(name string, d []separation.Float) {
		s := plot.Series{Name: name, Colour: len(f.Series), Dash: len(f.Series) / 7}
		for l, v := range d[:len(d)-1] {
			s.Points = append(s.Points, plot.Point{X: float64(l), Y: float64(v)})
		}
		f.Series = append(f.Series, s)
	}
	run := n.Runs[0]
	for _, at := range run.Emergence {
		if at.Epoch == 0 {
			add("untrained", at.D)
		} else if at.Epoch != 3 && at.Epoch != 300 && at.Epoch != 500 { // eight lines are enough
			add(fmt.Sprintf("epoch %d", at.Epoch), at.D)
		}
	}
	add("the end", run.D)
	return f
}

// emergenceText says how Pearson's coefficient goes from the start to the end of the training.
func emergenceText(n *LawNetwork) string {
	run := n.Runs[0]
	pearson := func(d []separation.Float) float64 {
		if law := fit(n.Layers[:len(n.Layers)-1], d[:len(d)-1]); law != nil {
			return float64(law.Pearson)
		}
		return math.NaN()
	}
	line := -1 // the first epoch from which on D lies on a line
	for _, at := range run.Emergence {
		switch v := pearson(at.D); {
		case !(v <= lawStraight):
			line = -1
		case line < 0:
			line = at.Epoch
		}
	}
	first, end := pearson(run.Emergence[0].D), pearson(run.D)
	return sentences.Say("law emergence", "first", number("%.3f", separation.Float(first)),
		"end", number("%.3f", separation.Float(end)), "straight", end <= lawStraight && line >= 0, "line", line,
		"bound", lawStraight)
}

// mostLeft is the factor of D from the first layer to the last one above which shares in its fall mean little.
const mostLeft = 0.9

// loads are the shares of the layers in the fall of log D in the first training; nil if D hardly falls, if at all.
func (n LawNetwork) loads() []float64 {
	run := n.Runs[0]
	if w := run.Law; w == nil || w.At(float64(w.Points-1)) > mostLeft*w.D0 {
		return nil
	}
	return run.Loads
}

// loadLines is the cumulative load over the relative depth: of the first training of the networks of eight layers with
// Adam, of the residual network, of the CNN and of DPNs. told lists the networks whose D hardly falls, if at all.
func loadLines(l *LawResult) (f plot.Lines, told string) {
	f = plot.Lines{Title: "Load of the layers", X: "relative depth", Y: "share of the fall of log D, %", LinearX: true,
		Series: []plot.Series{{Name: "equal loads", Reference: true,
			Points: []plot.Point{{X: 0, Y: 0}, {X: 1, Y: 100}}}}}
	var without []string
	for _, n := range l.Networks {
		if n.Kind == lawRates || n.Kind != lawDPN && n.Kind != lawCNN && n.Depth != 8 && n.Depth != 10 ||
			len(n.Runs) == 0 || n.Kind == lawSettings && n.Optimiser != lawAdam.name {
			continue
		}
		loads := n.loads()
		if loads == nil {
			without = append(without, n.Name)
			continue
		}
		at := len(f.Series) - 1
		s := plot.Series{Name: n.Name, Colour: at, Dash: at / 7, Points: []plot.Point{{}}}
		sum := 0.0
		for i, share := range loads {
			sum += share
			s.Points = append(s.Points, plot.Point{X: float64(i+1) / float64(len(loads)), Y: 100 * sum})
		}
		f.Series = append(f.Series, s)
	}
	return f, sentences.Say("law loads", "without", without, "most", heaviest(l))
}

// heaviest says which share the step with the largest load has, for each DPN whose D falls.
func heaviest(l *LawResult) []string {
	var list []string
	for _, n := range l.Networks {
		if n.Kind != lawDPN || len(n.Runs) == 0 {
			continue
		}
		loads := n.loads()
		if len(loads) == 0 {
			continue
		}
		at := slices.Index(loads, slices.Max(loads))
		list = append(list, fmt.Sprintf("%s: step %d has %.0f%% (equal shares: %.0f%%)", n.Name, at+1, 100*loads[at],
			100/float64(len(loads))))
	}
	return list
}

// lawBlocks is the section of the page.
func lawBlocks(l *LawResult, figures report.Figures) []report.Block {
	return []report.Block{
		report.Text(commas(sentences.Say("law intro", "side", l.Side, "data", source.Title(l.Data),
			"images", l.Images, "epochs", l.Epochs, "batch", lawBatch))),
		report.Text(sentences.Say("law differs", "perClass", lawPerClass)),
		lawTable(l), figures}
}
