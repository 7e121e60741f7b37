package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Spectra is a figure of the eigenvalues of the precisions P_i, the largest first, on a
// logarithmic axis: a thin line for each component, a thick one for their median at each
// rank. Values that are not positive are left out, and the note says so.
type Spectra struct {
	Title, Note string
	Y           string      // name of the values; empty: eigenvalue of P
	Values      [][]float64 // of each component, in any order, equally many
}

// mostSpectra and mostValues limit the lines and the values of a figure.
const (
	mostSpectra = 1000
	mostValues  = 1 << 18
)

func (a Spectra) heading() string { return a.Title }

func (a Spectra) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: min(width, fileWidth) * 10 / 16, note: a.Note}
	if len(a.Values) == 0 || len(a.Values[0]) == 0 {
		return f, ErrEmpty
	}
	d := len(a.Values[0])
	if len(a.Values) > mostSpectra || len(a.Values)*d > mostValues {
		return f, fmt.Errorf("%d spectra of %d values: want at most %d, and %d values in all", len(a.Values), d,
			mostSpectra, mostValues)
	}
	y := a.Y
	if y == "" {
		y = "eigenvalue of P"
	}
	p := newPlot("", "place in the spectrum, the largest first", y+" (log scale)")
	p.Add(grid())
	thin := draw.LineStyle{Color: translucent(blue, 0xc0), Width: 0.7} // contrast 3.3 on white
	thick := draw.LineStyle{Color: vermillion, Width: 2}
	lo, hi := math.Inf(1), math.Inf(-1)
	left := 0
	columns := make([][]float64, d)
	for i, values := range a.Values {
		if len(values) != d {
			return f, fmt.Errorf("spectrum %d has %d values, the first one %d", i, len(values), d)
		}
		values = slices.Clone(values)
		slices.Sort(values) // NaN comes first
		slices.Reverse(values)
		var line axes.XYs
		for j, v := range values {
			if !drawable(v) {
				left++
				continue
			}
			lo, hi = min(lo, v), max(hi, v)
			line = append(line, axes.XY{X: float64(j + 1), Y: math.Log10(v)})
			columns[j] = append(columns[j], v)
		}
		p.Add(&axes.Line{XYs: line, LineStyle: thin})
		if len(line) == 1 {
			p.Add(&axes.Scatter{XYs: line, GlyphStyle: draw.GlyphStyle{Color: thin.Color, Radius: 2,
				Shape: draw.CircleGlyph{}}})
		}
	}
	if lo > hi {
		return f, errors.New("no value is positive and finite")
	}
	var median axes.XYs
	for j, values := range columns {
		if len(values) > 0 {
			slices.Sort(values)
			m := len(values) / 2
			v := math.Log10(values[m])
			if len(values)%2 == 0 {
				v = (v + math.Log10(values[m-1])) / 2
			}
			median = append(median, axes.XY{X: float64(j + 1), Y: v})
		}
	}
	f.keys = []key{{text: fmt.Sprintf("each of %d components", len(a.Values)), line: &thin}}
	if len(a.Values) == 1 {
		f.keys[0].text = "the one component"
	} else {
		p.Add(&axes.Line{XYs: median, LineStyle: thick})
		f.keys = append(f.keys, key{text: "median over the components", line: &thick})
	}
	if left > 0 {
		f.note += fmt.Sprintf(" %s of %s values are not drawn: not positive, or not finite.", format.Thousands(left),
			format.Thousands(d*len(a.Values)))
	}
	low, high := math.Log10(lo), math.Log10(hi)
	pad := max(0.05*(high-low), math.Log10(1.1))
	p.Y.Min, p.Y.Max = low-pad, high+pad
	p.Y.Tick.Marker = log10Ticks
	p.X.Min, p.X.Max = 1-max(0.3, float64(d)/50), float64(d)+max(0.3, float64(d)/50)
	p.X.Tick.Marker = func(float64, float64) []axes.Tick {
		ticks := linearTicks(1, float64(d), 8, true)
		if ticks[0].Value != 1 {
			ticks = append([]axes.Tick{{Value: 1, Label: "1"}}, ticks...)
		}
		return ticks
	}
	f.draw = p.Draw
	return f, nil
}
