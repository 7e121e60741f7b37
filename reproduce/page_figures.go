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
	if r.Table1 != nil && len(r.Table1.Whole) > 0 {
		out = append(out, table1Figures(r.Table1)...)
	}
	if r.Law != nil {
		out = append(out, lawFigures(r.Law)...)
	}
	if r.Trained != nil && len(r.Trained.Runs) > 0 {
		out = append(out, trainedFigure(r.Trained))
	}
	if r.Poster != nil && len(r.Poster.DPN) > 0 {
		out = append(out, posterFigure(r.Poster))
	}
	if r.Field != nil {
		out = append(out, risesFigure(r.Field))
	}
	if r.Robust != nil {
		for _, noisy := range []bool{false, true} {
			if d := robustFigure(r.Robust, noisy); len(d.Groups) > 0 {
				out = append(out, newFigure(robustFigureNames[noisy], sentences.Say("robust caption"),
					"", d))
			}
		}
	}
	return out
}

func newFigure(name, caption, alt string, f plot.Figure) Figure {
	return Figure{name, report.Shown{Figure: f, Caption: caption, Alt: alt}}
}

// table1Figures show D over the number of images and over the steps.
func table1Figures(t *Table1) (out []Figure) {
	if c := t.Whole[0].Analysis.Curves; len(c) > 0 {
		text := samplesText(c[0].Points)
		out = append(out, newFigure("table1-samples", sentences.Say("samples caption", "text", text),
			strings.TrimSuffix(text, "."), samplesFigure(t.Whole[0].Analysis.Layers, c[0].Layer, c[0].Points)))
	}
	var series []plot.Series
	for i, p := range t.Whole {
		series = append(series, stepsSeries(fmt.Sprintf("seed %d", p.Seed), i, 0, p.Analysis.Steps))
	}
	found := courseOf(t.Whole, placementSteps)
	alt := sentences.Say("untrained alt", "course", found, "first", float64(stepOf(t.Whole, 0).Median),
		"last", float64(stepOf(t.Whole, len(t.Whole[0].Analysis.Steps)-1).Median))
	return append(out, newFigure("table1-steps", sentences.Say("untrained caption", "course", found), alt,
		stepsFigure("D over ascent steps, untrained potential", series)))
}

// stepsFigure shows D over ascent steps.
func stepsFigure(title string, series []plot.Series) plot.Lines {
	return plot.Lines{Title: title, X: "ascent step", Y: "fuzziness D (log scale)", LinearX: true,
		LogY: true, Bars: report.FuzzinessBars, Series: series}
}

// trainedFigure shows D over the steps of each training.
func trainedFigure(t *Trained) Figure {
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
	alt := sentences.Say("trained alt", "course", courseOf(t.Runs, trainedSteps))
	return newFigure("trained-steps", sentences.Say("trained caption"), alt,
		stepsFigure("D over ascent steps, trained potentials", series))
}

// posterFigure shows loss and accuracy over the epochs of the first training.
func posterFigure(p *Poster) Figure {
	var epochs []plot.Epoch
	for _, h := range p.DPN[0].Epochs {
		e := plot.Epoch{Epoch: h.Epoch, TrainLoss: h.TrainLoss, TrainAccuracy: h.TrainAccuracy, ValLoss: math.NaN(),
			ValAccuracy: math.NaN()}
		if h.ValLoss != nil {
			e.ValLoss, e.ValAccuracy = *h.ValLoss, *h.ValAccuracy
		}
		epochs = append(epochs, e)
	}
	alt := sentences.Say("poster alt", "below", p.DPN[0].ValBelowTrain(), "epochs", len(epochs))
	return newFigure("poster", sentences.Say("poster caption"), alt,
		plot.Training{Title: "Published network, 10 steps, seed 1", Epochs: epochs})
}

// risesFigure shows on how many steps phi rises, over the step size.
func risesFigure(f *Field) Figure {
	var points []plot.Point
	for _, rise := range f.Rises.Rises {
		points = append(points, plot.Point{X: rise.AlphaLambda, Y: 100 * rise.Share})
	}
	text := risesText(f)
	return newFigure("field-rises", sentences.Say("rises caption", "text", text), strings.TrimSuffix(text, "."),
		plot.Lines{Title: "Steps on which φ rises", X: "α times the largest eigenvalue of P (log scale)",
			Y: "share of steps, %", From: 0, To: 100,
			Series: []plot.Series{{Name: "untrained potential", Points: points}}})
}

// samplesFigure is D of a layer over the number of samples.
func samplesFigure(layers []separation.Layer, name string, points []separation.CurvePoint) plot.Lines {
	drawn := plot.Series{Name: "random subsets, with their range", Colour: 0}
	first := plot.Series{Name: "the first N", Colour: 1}
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
	return plot.Lines{Title: sentences.Say("samples title", "layer", name), X: "images N (log scale)",
		Y: "fuzziness D (log scale)", LogY: true, Series: []plot.Series{drawn, first, limit}}
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
