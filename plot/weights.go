package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"
	"dpnbench/internal/stat"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Weights is a bar chart of the shares w_i = exp(c_i) / sum_j exp(c_j) of the components
// of a potential, the largest first. The note gives the effective number of
// components: the exponential of the entropy of the shares.
type Weights struct {
	Title string
	C     []float64 // c_i of each component, finite
}

// mostNamed is the largest number of components that are numbered below their bars.
const mostNamed = 40

func (a Weights) heading() string { return a.Title }

func (a Weights) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: min(width, fileWidth) / 2}
	k := len(a.C)
	if k == 0 {
		return f, ErrEmpty
	}
	for i, c := range a.C {
		if !finite(c) {
			return f, fmt.Errorf("c of component %d is %v", i, c)
		}
	}
	w := a.shares()
	entropy := 0.0
	for i := range w {
		if w[i] > 0 {
			entropy -= w[i] * math.Log(w[i])
		}
	}
	order := stat.Order(k, func(i, j int) bool { return w[i] > w[j] })

	p := newPlot("", "component, by weight", "weight w")
	g := grid()
	g.Vertical.Color = nil
	p.Add(g)
	p.X.Min, p.X.Max = -0.6, float64(k)-0.4
	p.Y.Min, p.Y.Max = 0, 1.1*w[order[0]]
	p.Y.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 6, false) }
	var ticks []axes.Tick
	for at, i := range order {
		if k <= mostNamed {
			ticks = append(ticks, axes.Tick{Value: float64(at), Label: strconv.Itoa(i)})
		}
		left, right := float64(at)-0.38, float64(at)+0.38
		p.Add(&axes.Area{XYs: axes.XYs{{X: left}, {X: right}, {X: right, Y: w[i]}, {X: left, Y: w[i]}}, Color: blue})
	}
	p.X.Tick.Marker = axes.Ticks(ticks...)
	if k > mostNamed {
		p.X.Label.Text = "rank of the component, by weight"
		p.X.Tick.Marker = func(float64, float64) []axes.Tick {
			ticks := linearTicks(1, float64(k), 10, true)
			for i := range ticks {
				ticks[i].Value--
			}
			return ticks
		}
	}
	equal := draw.LineStyle{Color: ink, Width: 1, Dashes: []vg.Length{5, 3}}
	p.Add(&axes.Line{XYs: axes.XYs{{X: p.X.Min, Y: 1 / float64(k)}, {X: p.X.Max, Y: 1 / float64(k)}},
		LineStyle: equal})
	f.keys = []key{{text: "weight", glyph: &draw.GlyphStyle{Color: blue, Radius: 4, Shape: draw.BoxGlyph{}}},
		{text: fmt.Sprintf("equal weights, 1/%d", k), line: &equal}}
	f.note = fmt.Sprintf("Effective number of components (exponential of the entropy): %s of %d.",
		format.Significant(math.Exp(entropy)), k)
	f.draw = p.Draw
	return f, nil
}

// shares returns the weights, of sum 1.
func (a Weights) shares() []float64 {
	w, sum, most := make([]float64, len(a.C)), 0.0, slices.Max(a.C)
	for i, c := range a.C {
		w[i] = math.Exp(c - most)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}
