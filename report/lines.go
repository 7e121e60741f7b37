package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a measurement: Y at X.
type Point struct {
	X, Y      float64
	Low, High float64 // interval of Y; both 0 if there is none
	Doubtful  bool    // drawn hollow
}

// Series is a line of points, or all bars or points of one kind.
type Series struct {
	Name   string
	Colour int // the same number has the same colour and shape in every figure of a kind
	Dash   int // 0 is a solid line
	Points []Point
	// Reference makes it a thin grey line without marks, to compare the others with.
	Reference bool
}

// Lines is a figure of series over sizes, which have a logarithmic axis.
type Lines struct {
	Title, X, Y, Note string
	LogY              bool
	From, To          float64 // what the y axis shows at least
	Series            []Series
}

// Figures of a page stand side by side on a wide screen and shrink to the width of a
// phone: narrow enough for their text to stay readable there.
const (
	pageWidth  = 12.5 * vg.Centimeter
	pageHeight = 8 * vg.Centimeter // and the legend
)

// seriesColours are those of Okabe and Ito (2008) that show as lines on white.
var seriesColours = []color.NRGBA{
	blue,
	vermillion,
	{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, // bluish green
	{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, // reddish purple
	{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, // orange
	{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, // sky blue
	{R: 0x00, G: 0x00, B: 0x00, A: 0xff}, // black
}

var seriesDashes = [][]vg.Length{nil, {5, 3}, {1.5, 2.5}, {8, 3, 1.5, 3}}

// look returns how a series is drawn.
func (s Series) look() (draw.LineStyle, draw.GlyphStyle) {
	if s.Reference {
		return draw.LineStyle{Color: grey, Width: 0.8, Dashes: []vg.Length{2, 2}}, draw.GlyphStyle{}
	}
	c := seriesColours[s.Colour%len(seriesColours)]
	line := draw.LineStyle{Color: c, Width: 1.5, Dashes: seriesDashes[s.Dash%len(seriesDashes)]}
	glyph := classGlyph(s.Colour, 2.8) // for its shape
	glyph.Color = c
	return line, glyph
}

// doubtful is the key of hollow marks.
var doubtful = key{text: "marked in the table: doubtful", glyph: &draw.GlyphStyle{Color: grey, Radius: 2.8, Shape: ring{}}}

// LinesSVG draws l as SVG for use within a page. Points without a place on the axes are
// left out.
func LinesSVG(l Lines) ([]byte, error) {
	f := figure{width: pageWidth, height: pageHeight, title: l.Title, note: l.Note}
	p := newPlot("", l.X, l.Y)
	p.Add(grid())
	y := func(v float64) float64 { return v }
	if l.LogY {
		y = math.Log10
	}
	var sizes []float64
	lo, hi := math.Inf(1), math.Inf(-1)
	if l.From < l.To {
		lo, hi = y(l.From), y(l.To)
	}
	var marks []plot.Plotter // over all lines
	doubt := false
	for _, s := range l.Series {
		line, glyph := s.look()
		var xys, whole, hollow plotter.XYs
		var bars struct {
			plotter.XYs
			plotter.YErrors
		}
		for _, pt := range s.Points {
			v := plotter.XY{X: math.Log10(pt.X), Y: y(pt.Y)}
			if !finite(v.X) || !finite(v.Y) {
				continue
			}
			sizes = append(sizes, pt.X)
			xys = append(xys, v)
			lo, hi = min(lo, v.Y), max(hi, v.Y)
			if low, high := y(pt.Low), y(pt.High); pt.Low < pt.High && finite(low) && finite(high) {
				bars.XYs = append(bars.XYs, v)
				bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{v.Y - low, high - v.Y})
				lo, hi = min(lo, low), max(hi, high)
			}
			if pt.Doubtful {
				hollow = append(hollow, v)
			} else {
				whole = append(whole, v)
			}
		}
		if len(xys) == 0 {
			continue
		}
		p.Add(&plotter.Line{XYs: xys, LineStyle: line})
		k := key{text: s.Name, line: &line}
		if !s.Reference {
			k.glyph = &glyph
			marks = append(marks,
				&plotter.YErrorBars{XYs: bars.XYs, YErrors: bars.YErrors, LineStyle: draw.LineStyle{Color: line.Color, Width: 0.8}, CapWidth: 4},
				&plotter.Scatter{XYs: whole, GlyphStyle: glyph},
				&plotter.Scatter{XYs: hollow, GlyphStyle: draw.GlyphStyle{Color: glyph.Color, Radius: glyph.Radius, Shape: ring{}}})
			doubt = doubt || len(hollow) > 0
		}
		f.keys = append(f.keys, k)
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("report: figure %q: nothing to draw", l.Title)
	}
	p.Add(marks...)
	if doubt {
		f.keys = append(f.keys, doubtful)
	}

	pad := 0.04 * (hi - lo)
	if l.LogY {
		pad = max(pad, math.Log10(1.05))
	}
	if pad == 0 {
		pad = 1
	}
	p.Y.Min, p.Y.Max = lo-pad, hi+pad
	p.Y.Tick.Marker = log10Ticks
	switch {
	case l.LogY && hi-lo > math.Log10(3.5): // as the sizes have them
		p.Y.Tick.Marker = plot.ConstantTicks(labelled(powers(lo-pad, hi+pad)))
	case !l.LogY:
		if l.From < l.To && lo == l.From {
			p.Y.Min = lo // an axis that begins at 0 begins there
		}
		p.Y.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick { return linearTicks(lo, hi, 6, false) })
	}
	ticks := sizeTicks(sizes)
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	lo, hi = math.Log10(slices.Min(sizes)), math.Log10(slices.Max(sizes))
	pad = max(0.04*(hi-lo), 0.02)
	p.X.Min, p.X.Max = lo-pad, hi+pad
	f.draw = p.Draw
	return f.inline()
}

// log10Ticks marks an axis that is linear in the decimal logarithm.
var log10Ticks = plot.TickerFunc(func(lo, hi float64) []plot.Tick {
	ticks := logTicks(math.Pow(10, lo), math.Pow(10, hi))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	return ticks
})

// sizeTicks returns ticks, by decimal logarithm, at the sizes themselves, or where those
// are too many or too close at powers of two.
func sizeTicks(sizes []float64) []plot.Tick {
	const closest = 0.08 // of the axis
	sizes = slices.Compact(slices.Sorted(slices.Values(sizes)))
	lo, hi := math.Log2(sizes[0]), math.Log2(sizes[len(sizes)-1])
	crowded := len(sizes) > mostSizes
	for i := 1; i < len(sizes); i++ {
		crowded = crowded || math.Log2(sizes[i]/sizes[i-1]) < closest*(hi-lo)
	}
	if p := powers(math.Log10(sizes[0]), math.Log10(sizes[len(sizes)-1])); crowded && len(p) > 1 {
		sizes = p
	}
	return labelled(sizes)
}

// mostSizes is how many labels an axis has room for.
const mostSizes = 9

// powers returns powers of two between two decimal logarithms.
func powers(lo, hi float64) (values []float64) {
	from, to := math.Ceil(lo*math.Log2(10)-1e-9), math.Floor(hi*math.Log2(10)+1e-9)
	for e, step := from, math.Ceil((to-from+1)/mostSizes); e <= to; e += step {
		values = append(values, math.Exp2(e))
	}
	return values
}

// labelled returns ticks, by decimal logarithm, that say their value.
func labelled(values []float64) (ticks []plot.Tick) {
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: math.Log10(v), Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return ticks
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
