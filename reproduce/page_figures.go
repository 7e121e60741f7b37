package reproduce

import (
	"fmt"
	"math"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/plot"
	"dpnbench/report"
)

// Figures returns the figures of the experiments that have run, with the names of their
// files.
func Figures(r Results) []Figure {
	var out []Figure
	add := func(name, caption, alt string, f plot.Figure) {
		out = append(out, Figure{name, report.Shown{Figure: f, Caption: caption, Alt: alt}})
	}
	if t := r.Table1; t != nil && len(t.Whole) > 0 {
		if c := t.Whole[0].Analysis.Curves; len(c) > 0 {
			text := samplesText(c[0].Points)
			add("table1-samples", sentences.Say("samples caption", "text", text), strings.TrimSuffix(text, "."),
				samplesFigure(t.Whole[0].Analysis.Layers, c[0].Layer, c[0].Points))
		}
		var series []plot.Series
		for i, p := range t.Whole {
			series = append(series, stepsSeries(fmt.Sprintf("seed %d", p.Seed), i, 0, p.Analysis.Steps))
		}
		found := courseOf(t.Whole, placementSteps)
		add("table1-steps", sentences.Say("untrained caption", "course", found),
			sentences.Say("untrained alt", "course", found, "first", float64(stepOf(t.Whole, 0).Median),
				"last", float64(stepOf(t.Whole, len(t.Whole[0].Analysis.Steps)-1).Median)),
			plot.Lines{Title: "D over ascent steps, untrained potential", X: "ascent step",
				Y: "separation fuzziness D (log scale)", LinearX: true, LogY: true, Bars: report.FuzzinessBars,
				Series: series})
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
		follow, all := lawCount(l, true)
		followWithout, allWithout := lawCount(l, false)
		add("law", sentences.Say("law caption"), sentences.Say("law alt", "follow", follow, "all", all,
			"followWithout", followWithout, "allWithout", allWithout),
			plot.Lines{Title: "D over layers, training data", X: "layer (0: the input)",
				Y: "separation fuzziness D (log scale)", LinearX: true, LogY: true, Series: series})
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
			add(names[i], sentences.Say("fit caption", "network", n.Name, "seed", run.Seed), sentences.Say("fit alt"),
				f)
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
			series = append(series, stepsSeries(fmt.Sprintf("%s, seed %d", run.Preset, run.Seed), c, int(run.Seed-1),
				run.Analysis.Steps))
		}
		add("trained-steps", sentences.Say("trained caption"), sentences.Say("trained alt", "course",
			courseOf(t.Runs, trainedSteps)),
			plot.Lines{Title: "D over ascent steps, trained potentials", X: "ascent step",
				Y: "separation fuzziness D (log scale)", LinearX: true, LogY: true, Bars: report.FuzzinessBars,
				Series: series})
	}
	if p := r.Poster; p != nil && len(p.DPN) > 0 {
		var epochs []plot.Epoch
		for _, h := range p.DPN[0].Epochs {
			e := plot.Epoch{Epoch: h.Epoch, TrainLoss: h.TrainLoss, TrainAccuracy: h.TrainAccuracy, ValLoss: math.NaN(),
				ValAccuracy: math.NaN()}
			if h.ValLoss != nil {
				e.ValLoss, e.ValAccuracy = *h.ValLoss, *h.ValAccuracy
			}
			epochs = append(epochs, e)
		}
		add("poster", sentences.Say("poster caption"), sentences.Say("poster alt", "below", p.DPN[0].ValBelowTrain(),
			"epochs", len(epochs)),
			plot.Training{Title: "Published network, 10 steps, seed 1", Epochs: epochs})
	}
	if f := r.Field; f != nil {
		var points []plot.Point
		for _, rise := range f.Rises.Rises {
			points = append(points, plot.Point{X: rise.AlphaLambda, Y: 100 * rise.Share})
		}
		text := risesText(f)
		add("field-rises", sentences.Say("rises caption", "text", text), strings.TrimSuffix(text, "."),
			plot.Lines{Title: "Steps on which φ rises", X: "α times the largest eigenvalue of P (log scale)",
				Y: "share of steps, %", From: 0, To: 100,
				Series: []plot.Series{{Name: "untrained potential", Points: points}}})
	}
	if b := r.Robust; b != nil {
		for _, noisy := range []bool{false, true} {
			if d := robustFigure(b, noisy); len(d.Groups) > 0 {
				add(robustFigureNames[noisy], sentences.Say("robust caption"), sentences.Say("robust alt"), d)
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
	limit := plot.Series{Name: "estimate for N → ∞", Colour: 2}
	for _, p := range points {
		x := float64(p.Samples)
		drawn.Points = append(drawn.Points, plot.Point{X: x, Y: float64(p.Mean), Low: float64(p.Least),
			High: float64(p.Greatest)})
		if p.First.IsFinite() {
			first.Points = append(first.Points, plot.Point{X: x, Y: float64(p.First)})
		}
		if p.Limit.IsFinite() {
			limit.Points = append(limit.Points, plot.Point{X: x, Y: float64(p.Limit)})
		}
	}
	for _, l := range layers {
		if s := l.Sampling; l.Name == name && s != nil && s.Limit.IsFinite() {
			drawn.Limit = &plot.Level{Name: "N → ∞, 95% interval", Y: float64(s.Limit), Low: float64(s.CI[0]),
				High: float64(s.CI[1])}
		}
	}
	return plot.Lines{Title: sentences.Say("samples title", "layer", name), X: "images n (log scale)",
		Y: "separation fuzziness D (log scale)", LogY: true, Series: []plot.Series{drawn, first, limit}}
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
