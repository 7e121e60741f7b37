package plot

import (
	"fmt"
	"math"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Dots is a figure of measurements in named rows, one below the other: a dot for each
// series, with its interval.
type Dots struct {
	Title, X, Note string
	Groups         []string // names of the rows, from the top
	// Series are the dots of one kind: point i belongs to row i, with its value in Y and
	// its interval in Low and High; X is not used. NaN draws no dot.
	Series []Series
}

const dotsPitch = vg.Length(17) // between rows

func (d Dots) heading() string { return d.Title }

func (d Dots) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, note: d.Note}
	p := newPlot("", d.X, "")
	p.Add(grid())
	lo, hi := math.Inf(1), math.Inf(-1)
	for at, s := range d.Series {
		if len(s.Points) != len(d.Groups) {
			return f, fmt.Errorf("%d points of %s for %d rows", len(s.Points), s.Name, len(d.Groups))
		}
		_, glyph := s.look()
		var dots axes.XYs
		bars := &axes.XErrorBars{LineStyle: draw.LineStyle{Color: glyph.Color, Width: 0.8}, CapWidth: 4}
		aside := 0.5 * ((float64(at)+0.5)/float64(len(d.Series)) - 0.5) // so that dots do not hide each other
		for i, pt := range s.Points {
			if !finite(pt.Y) {
				continue
			}
			v := axes.XY{X: pt.Y, Y: float64(len(d.Groups)-1-i) - aside}
			dots = append(dots, v)
			lo, hi = min(lo, pt.Y), max(hi, pt.Y)
			if pt.Low < pt.High && finite(pt.Low) && finite(pt.High) {
				bars.XYs = append(bars.XYs, v)
				bars.Low, bars.High = append(bars.Low, pt.Y-pt.Low), append(bars.High, pt.High-pt.Y)
				lo, hi = min(lo, pt.Low), max(hi, pt.High)
			}
		}
		if len(dots) == 0 {
			continue
		}
		p.Add(bars, &axes.Scatter{XYs: dots, GlyphStyle: glyph})
		f.keys = append(f.keys, key{text: s.Name, glyph: &glyph})
	}
	if lo > hi {
		return f, ErrEmpty
	}
	pad := max(0.03*(hi-lo), 1e-6)
	p.X.Min, p.X.Max = lo-pad, hi+pad
	p.X.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 8, false) }
	p.Y.Min, p.Y.Max = -0.6, float64(len(d.Groups))-0.4
	var names []axes.Tick
	for i, g := range d.Groups {
		names = append(names, axes.Tick{Value: float64(len(d.Groups) - 1 - i), Label: format.Printable(g)})
	}
	p.Y.Tick.Marker = axes.Ticks(names...)
	f.height = vg.Length(len(d.Groups))*dotsPitch + 3.2*vg.Centimeter // title, legend and axis
	f.draw = p.Draw
	return f, nil
}
