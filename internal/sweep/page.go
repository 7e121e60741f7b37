package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpnbench/internal/format"
	"dpnbench/internal/quote"
	"dpnbench/plot"
	"dpnbench/report"
)

// Limits of the page.
const (
	mostCurves = 6    // in colours
	mostOthers = 30   // in grey
	mostRows   = 1000 // of the table
	logSpan    = 20   // largest value over smallest from which an axis of numbers is logarithmic
)

// Page shows the table, the curves and the parallel coordinates. facts name the machine.
func (r *Report) Page(facts []report.Fact) report.Page {
	p := report.Page{Kind: "dpnbench sweep", Title: "Sweep of " + strings.Join(r.Varied, ", "),
		Summary: r.Summary(), Facts: append(r.facts(), facts...)}
	if len(r.Varied) == 0 {
		p.Title = "Seeds"
	}
	if r.Data != "" {
		p.Title += " on " + r.Data
	}
	if curves := r.curves(); plot.Check(curves) == nil {
		p.First = report.Figures{{Figure: curves, Caption: r.curvesCaption()}}
	}
	t := report.Table{Caption: "Mean over the seeds, the best setting first. The validation samples decide; the " +
		"test samples have no part in it."}
	rows := r.Rows(mostRows)
	for i, name := range rows[0] {
		numeric := i == 0 || i > len(r.Varied) || r.plan.Axes[i-1].Numeric
		t.Columns = append(t.Columns, report.Column{Name: name, Number: numeric})
	}
	for _, row := range rows[1:] {
		t.Rows = append(t.Rows, report.Row{Cells: row})
	}
	p.Sections = append(p.Sections, report.Section{ID: "settings", Title: "Settings", Blocks: []report.Block{t}})
	if lines := r.parallel(); len(r.Varied) > 0 && plot.Check(lines) == nil {
		caption := "A line for each setting, from what it was to how it did. Where the lines of the best cross an " +
			"axis at one place, that setting matters; where they are spread, it does not."
		if r.Method == Halving {
			caption += " Settings that did not come to the last rung had fewer epochs."
		}
		p.Sections = append(p.Sections, report.Section{ID: "parallel", Title: "Parallel coordinates",
			Blocks: []report.Block{report.Figures{{Figure: lines, Wide: len(lines.Axes) > 4, Caption: caption}}}})
	}
	if r.Best != nil {
		p.Sections = append(p.Sections, report.Section{ID: "best", Title: "The best run", Blocks: []report.Block{
			report.Text("Its folder is " + r.Best.Folder + "; this trains it again in its place, with the same bits:"),
			report.Markup("<pre><code>" + report.Words(Command(r.Best.Run, "--overwrite", r.Best.Folder)) +
				"</code></pre>")}})
	}
	return p
}

// Command is the command line that trains a run into a folder, with a further flag unless more is empty.
func Command(run Run, more, folder string) string {
	args := []string{"train"}
	for _, s := range run.Settings {
		if s.Value == "true" || s.Value == "false" {
			args = append(args, "--"+s.Name+"="+s.Value)
		} else {
			args = append(args, "--"+s.Name, s.Value)
		}
	}
	if more != "" {
		args = append(args, more)
	}
	return quote.Command(append(args, "--out", folder)...)
}

// facts are those of the plan.
func (r *Report) facts() []report.Fact {
	facts := []report.Fact{{Name: "Settings of all runs", Text: Text(r.plan.Fixed)},
		{Name: "Method", Text: r.Method}, {Name: "Settings compared", Text: strconv.Itoa(len(r.Table))},
		{Name: "Runs", Text: strconv.Itoa(len(r.Runs))}, {Name: "Compared by", Text: "validation " + r.By},
		{Name: "Training", Text: fmt.Sprintf("%.1f s in all", r.Seconds)}}
	if len(r.Seeds) > 0 {
		facts = append(facts, report.Fact{Name: "Seeds", Text: strings.Join(r.Seeds, ", ")})
	}
	if r.plan.Epochs != nil {
		facts = append(facts, report.Fact{Name: "Epochs of the rungs",
			Text: strings.Join(strings.Fields(strings.Trim(fmt.Sprint(r.plan.Epochs), "[]")), ", ")})
	}
	return slices.DeleteFunc(facts, func(f report.Fact) bool { return f.Text == "" })
}

// Summary says what was found, in sentences.
func (r *Report) Summary() []string {
	failed := r.failed()
	switch {
	case len(failed) == len(r.Runs):
		return []string{"All runs failed: " + failed[0].Error}
	case r.Best == nil:
		return []string{"No setting finished a run of its last rung: " + failed[0].Error}
	}
	first := r.Table[0]
	over := ""
	if n := len(first.Runs) - first.Failed; n > 1 {
		over = fmt.Sprintf(" (mean of %d seeds; %s)", n, first.Loss.between())
	}
	out := []string{fmt.Sprintf("Best of %s: %s with a validation loss of %s%s and an accuracy of %s.",
		format.Count(len(r.Table), "setting"), Text(first.settings), number("%.4f", first.Loss.Mean, 1), over,
		number("%.2f%%", first.Accuracy.Mean, 100))}
	if len(first.settings) == 0 {
		out[0] = strings.Replace(out[0], "Best of 1 setting: ", "One setting,", 1)
	}
	if b := r.Best; b.TestSamples > 0 {
		seed := ""
		if len(r.Seeds) > 1 {
			seed = ", that of seed " + b.Varied[len(b.Varied)-1].Value
		}
		out = append(out, fmt.Sprintf("Its best run%s, has %s of %s right, which had no part in choosing it.", seed,
			number("%.2f%%", b.TestAccuracy, 100), format.CountThousands(b.TestSamples, "test sample")))
		out[len(out)-1] = strings.Replace(out[len(out)-1], "run, has", "run has", 1)
	}
	if len(r.Table) > 1 {
		out = append(out, r.second(first, r.Table[1])...)
	}
	if n := len(failed); n > 0 {
		first := failed[0]
		out = append(out, fmt.Sprintf("%d of %d runs failed. Run %d (%s): %s.", n, len(r.Runs), first.Index,
			Text(first.Varied), first.Error))
	}
	for _, a := range r.plan.Axes {
		switch a.Name {
		case "val-size", "val-data", "data", "data-seed":
			out = append(out, fmt.Sprintf("Settings of other %s were validated on other samples: their losses compare "+
				"less well.", a.Name))
		}
	}
	return out
}

// failed returns the runs that failed.
func (r *Report) failed() (list []*Result) {
	for _, s := range r.Runs {
		if s.Status == Failed {
			list = append(list, s)
		}
	}
	return list
}

// second compares the second setting with the first.
func (r *Report) second(a, b *Group) []string {
	name, one, two := "loss", a.Loss, b.Loss
	if r.By == ByAccuracy {
		name, one, two = "accuracy", a.Accuracy, b.Accuracy
	}
	if b.Of < a.Of || b.Failed > 0 {
		return nil
	}
	worse := 0 // with the same seed, and so on the same validation samples
	for k, x := range b.Runs {
		y := a.Runs[k]
		if score(r.By, x.ValLoss, x.ValAccuracy)[0] > score(r.By, y.ValLoss, y.ValAccuracy)[0] {
			worse++
		}
	}
	text := fmt.Sprintf("Second: %s, with a validation %s that differs by %.4f", Text(b.settings), name,
		math.Abs(float64(two.Mean-one.Mean)))
	switch n := len(b.Runs); {
	case n == 1:
		text += "; with one seed nobody knows whether that is chance"
	case worse < n:
		text += fmt.Sprintf(" in the mean and is worse with %d of %d seeds: the two may be equally good", worse, n)
	default:
		text += " in the mean and is worse with every seed"
	}
	return []string{text + "."}
}

// curves are the validation losses over the epochs of the best settings, and of others in grey.
func (r *Report) curves() plot.Lines {
	f := plot.Lines{Title: "Validation loss over the epochs", X: "epoch", Y: "validation loss (nats, log scale)",
		LinearX: true, LogY: true}
	for i, g := range r.Table[:min(len(r.Table), mostCurves+mostOthers)] {
		if i >= mostCurves && (len(g.curve()) < 2 || !(g.Loss.Mean < 2*r.Table[mostCurves-1].Loss.Mean)) {
			continue // it would take the room of those that matter
		}
		s := plot.Series{Name: fmt.Sprintf("%d: %s", g.Rank, Text(g.settings)), Colour: i, Band: true,
			Points: g.curve(), Reference: i >= mostCurves}
		s.Curve = len(s.Points) > 1
		switch {
		case len(g.settings) == 0:
			s.Name = "validation"
		case s.Reference && len(f.Series) > mostCurves:
			s.Name = "" // the legend has it once
		case s.Reference:
			s.Name = "other settings"
		}
		f.Series = append(f.Series, s)
	}
	if n := len(f.Series); n > mostCurves { // the best on top
		f.Series = slices.Concat(f.Series[mostCurves:], f.Series[:mostCurves])
	}
	return f
}

func (r *Report) curvesCaption() string {
	text := "The best settings, each the mean over its seeds."
	if len(r.Seeds) > 1 {
		text = "The best settings: the mean over the seeds, and the range as a band."
	}
	return text
}

// curve is the mean of the losses over the runs that have an epoch, with their range.
func (g *Group) curve() (points []plot.Point) {
	for epoch := 0; ; epoch++ {
		var x []float64
		for _, s := range g.Runs {
			if epoch < len(s.Curve) {
				x = append(x, float64(s.Curve[epoch]))
			}
		}
		if len(x) == 0 {
			return points
		}
		at := spread(x)
		points = append(points, plot.Point{X: float64(epoch + 1), Y: float64(at.Mean), Low: float64(at.Min),
			High: float64(at.Max)})
	}
}

// parallel are the settings and what each led to.
func (r *Report) parallel() plot.Parallel {
	f := plot.Parallel{Title: "Settings and validation " + r.By}
	for i, a := range r.plan.Axes {
		x := plot.ParallelAxis{Name: a.Name}
		for _, g := range r.Table {
			v := g.settings[i].Value
			n, err := strconv.ParseFloat(v, 64)
			if !a.Numeric || err != nil {
				at := slices.Index(x.Names, v)
				if at < 0 {
					at, x.Names = len(x.Names), append(x.Names, v)
				}
				n = float64(at)
			}
			x.Values = append(x.Values, n)
		}
		lo, hi := slices.Min(x.Values), slices.Max(x.Values)
		x.Log = a.Numeric && lo > 0 && (a.Log || hi/lo >= logSpan)
		f.Axes = append(f.Axes, x)
	}
	last := plot.ParallelAxis{Name: "val " + r.By}
	for _, g := range r.Table {
		v := float64(g.Loss.Mean)
		if r.By == ByAccuracy {
			v = float64(g.Accuracy.Mean)
		}
		last.Values = append(last.Values, v)
	}
	if known := slices.DeleteFunc(slices.Clone(last.Values), math.IsNaN); r.By == ByLoss && len(known) > 0 {
		lo, hi := slices.Min(known), slices.Max(known)
		last.Log = lo > 0 && hi/lo >= logSpan
	}
	f.Axes = append(f.Axes, last)
	return f
}
