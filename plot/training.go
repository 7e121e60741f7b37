package plot

import (
	"errors"
	"fmt"
	"math"

	"dpnbench/internal/axes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Epoch is one point of the training curves. NaN means not
// measured.
type Epoch struct {
	Epoch         int
	TrainLoss     float64
	TrainAccuracy float64 // between 0 and 1
	ValLoss       float64
	ValAccuracy   float64 // between 0 and 1
}

// Training is a figure of loss and accuracy over epochs, on the training and the
// validation images.
type Training struct {
	Title  string
	Epochs []Epoch // in increasing order
}

func (a Training) heading() string { return a.Title }

func (a Training) layout(width vg.Length) (drawing, error) {
	g, err := a.grid()
	if err != nil {
		return drawing{}, err
	}
	n := len(g.plots)
	f := drawing{width: vg.Length(9*n) * vg.Centimeter, height: 8 * vg.Centimeter, keys: g.keys}
	columns := n
	if width < fileWidth { // one above the other
		f.width, f.height, columns = width, f.height*vg.Length(n), 1
	}
	f.draw = tiled(g.plots, columns)
	return f, nil
}

// grid returns the panels of loss and accuracy.
func (a Training) grid() (panelGrid, error) {
	g := panelGrid{aspect: 0.7}
	epochs := a.Epochs
	if len(epochs) == 0 {
		return g, errors.New("no epochs")
	}
	for i, e := range epochs[1:] {
		if e.Epoch <= epochs[i].Epoch {
			return g, fmt.Errorf("epoch %d follows epoch %d", e.Epoch, epochs[i].Epoch)
		}
	}
	for _, e := range epochs {
		for _, a := range []float64{e.TrainAccuracy, e.ValAccuracy} {
			if a < 0 || a > 1 {
				return g, fmt.Errorf("accuracy of epoch %d is %v: want it between 0 and 1", e.Epoch, a)
			}
		}
	}
	kinds := []struct {
		name  string
		line  draw.LineStyle
		glyph draw.GlyphStyle
	}{
		{"training", draw.LineStyle{Color: blue, Width: 1.5}, draw.GlyphStyle{Color: blue, Radius: 2.5,
			Shape: draw.CircleGlyph{}}},
		{"validation", draw.LineStyle{Color: vermillion, Width: 1.5, Dashes: []vg.Length{5, 3}},
			draw.GlyphStyle{Color: vermillion, Radius: 2.5, Shape: draw.BoxGlyph{}}},
	}
	used := make([]bool, len(kinds))
	for _, panel := range []struct {
		label string
		of    func(e Epoch) [2]float64
	}{
		{"cross-entropy loss (nats)", func(e Epoch) [2]float64 { return [2]float64{e.TrainLoss, e.ValLoss} }},
		{"accuracy (%)", func(e Epoch) [2]float64 { return [2]float64{100 * e.TrainAccuracy, 100 * e.ValAccuracy} }},
	} {
		p := newPlot("", "epoch", panel.label)
		p.Add(grid())
		drawn := false
		for k, kind := range kinds {
			for _, run := range finiteRuns(epochs, func(e Epoch) float64 { return panel.of(e)[k] }) {
				p.Add(&axes.Line{XYs: run, LineStyle: kind.line})
				if len(epochs) <= 40 || len(run) == 1 {
					p.Add(&axes.Scatter{XYs: run, GlyphStyle: kind.glyph})
				}
				used[k], drawn = true, true
			}
		}
		if !drawn {
			continue
		}
		pad := max(0.06*(p.Y.Max-p.Y.Min), 1e-3*math.Abs(p.Y.Max), 1e-9)
		p.Y.Min, p.Y.Max = p.Y.Min-pad, p.Y.Max+pad
		p.Y.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 6, false) }
		from, to := float64(epochs[0].Epoch), float64(epochs[len(epochs)-1].Epoch)
		pad = max(0.03*(to-from), 0.2)
		p.X.Min, p.X.Max = from-pad, to+pad
		p.X.Tick.Marker = func(float64, float64) []axes.Tick { return linearTicks(from, to, 8, true) }
		g.plots = append(g.plots, p)
	}
	if len(g.plots) == 0 {
		return g, errors.New("no epoch has a finite loss or accuracy")
	}
	for k, kind := range kinds {
		if used[k] {
			g.keys = append(g.keys, key{text: kind.name, line: &kind.line})
			if len(epochs) <= 40 {
				g.keys[len(g.keys)-1].glyph = &kind.glyph
			}
		}
	}
	return g, nil
}

// finiteRuns splits a curve at the epochs where it has no finite value.
func finiteRuns(epochs []Epoch, value func(Epoch) float64) []axes.XYs {
	var runs []axes.XYs
	var run axes.XYs
	for _, e := range epochs {
		v := value(e)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if len(run) > 0 {
				runs = append(runs, run)
			}
			run = nil
			continue
		}
		run = append(run, axes.XY{X: float64(e.Epoch), Y: v})
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}
