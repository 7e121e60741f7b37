package plot

import (
	"errors"
	"image/color"
	"math"
	"slices"
	"strconv"

	"dpnbench/internal/axes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a measurement: Y at X.
type Point struct {
	X, Y      float64
	Low, High float64 // interval of Y, as in [Interval]; both 0 if there is none
	Doubtful  bool    // drawn hollow
}

// Series is a line of points, or all bars or points of one kind.
type Series struct {
	Name   string
	Colour int // index of a colour and a shape, the same in every figure
	Dash   int // 0 is a solid line
	Points []Point
	// Reference makes it a thin grey line without marks, for comparison; without a name the legend leaves it out.
	Reference bool
	// Curve leaves out the marks of the points.
	Curve bool
	// Band draws the intervals of a line as a band instead of bars.
	Band bool
	// Limit, if not nil, is the limit of Y.
	Limit *Level
}

// Level is an estimate for all X, such as D for n → ∞: a dashed line across the figure, within
// a band.
type Level struct {
	Name      string // in the legend
	Y         float64
	Low, High float64 // interval of Y; both 0 if there is none
}

// Lines is a figure of series over sizes, which have a logarithmic axis unless LinearX is
// set: throughput over batch sizes, separation fuzziness D over the number of samples, or
// (linear) over ascent steps.
type Lines struct {
	Title, X, Y, Note string
	LinearX, LogY     bool
	Names             []string // of X = 0, 1, ..., such as those of layers, with LinearX; nil: numbers
	From, To          float64  // the y axis shows at least this range
	Bars              string   // description of the error bars in the legend
	Series            []Series
}

var seriesDashes = [][]vg.Length{nil, {5, 3}, {1.5, 2.5}, {8, 3, 1.5, 3}}

// look returns how a series is drawn.
func (s Series) look() (draw.LineStyle, draw.GlyphStyle) {
	if s.Reference {
		return draw.LineStyle{Color: grey, Width: 0.8, Dashes: []vg.Length{2, 2}},
			draw.GlyphStyle{Color: grey, Radius: 2.8, Shape: draw.CircleGlyph{}} // of dots and bars
	}
	c := seriesColour(s)
	n := len(seriesDashes) // the second n in another order, since colours n apart are alike
	line := draw.LineStyle{Color: c, Width: 1.5, Dashes: seriesDashes[(s.Dash+s.Dash/n*2)%n]}
	glyph := classGlyph(s.Colour, 2.8) // for its shape
	glyph.Color = c
	return line, glyph
}

// doubtful is the key of hollow marks.
var doubtful = key{text: "marked in the table: doubtful", glyph: &draw.GlyphStyle{Color: grey, Radius: 2.8,
	Shape: ring{}}}

// ErrEmpty is the error of a figure without data.
var ErrEmpty = errors.New("there is nothing to draw")

func (l Lines) heading() string { return l.Title }

// layout leaves out points that have no place on the axes.
func (l Lines) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: min(width, fileWidth) * flat, note: l.Note}
	p := newPlot("", l.X, l.Y)
	p.Add(grid())
	x, y := math.Log10, func(v float64) float64 { return v }
	if l.LinearX {
		x = y
	}
	if l.LogY {
		y = math.Log10
	}
	var sizes []float64
	lo, hi := math.Inf(1), math.Inf(-1)
	if l.From < l.To {
		lo, hi = y(l.From), y(l.To)
	}
	var levels []Level
	var colours []color.NRGBA // of the levels
	var marks []axes.Plotter  // over all lines
	doubt := false
	all := errorBars{colour: grey, width: 4} // for the legend
	for _, s := range l.Series {
		line, glyph := s.look()
		var xys, whole, hollow axes.XYs
		bars := errorBars{colour: line.Color, width: 4}
		var lower, upper axes.XYs
		for _, pt := range s.Points {
			v := axes.XY{X: x(pt.X), Y: y(pt.Y)}
			if !finite(v.X) || !finite(v.Y) {
				continue
			}
			sizes = append(sizes, pt.X)
			xys = append(xys, v)
			lo, hi = min(lo, v.Y), max(hi, v.Y)
			if !s.Band {
				lo, hi = bars.add(v.X, Interval{pt.Low, pt.High}, y, lo, hi)
			} else if low, high := y(pt.Low), y(pt.High); pt.Low < pt.High && finite(low) && finite(high) {
				lower, upper = append(lower, axes.XY{X: v.X, Y: low}), append(upper, axes.XY{X: v.X, Y: high})
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
		if len(upper) > 1 {
			p.Add(band(lower, upper, seriesColour(s)))
		}
		p.Add(&axes.Line{XYs: xys, LineStyle: line})
		k := key{text: s.Name, line: &line}
		if !s.Reference && !s.Curve {
			k.glyph = &glyph
			marks = append(marks, bars,
				&axes.Scatter{XYs: whole, GlyphStyle: glyph},
				&axes.Scatter{XYs: hollow, GlyphStyle: draw.GlyphStyle{Color: glyph.Color, Radius: glyph.Radius,
					Shape: ring{}}})
			doubt = doubt || len(hollow) > 0
			all.bars, all.open = append(all.bars, bars.bars...), all.open || bars.open
		}
		if s.Name != "" || !s.Reference {
			f.keys = append(f.keys, k)
		}
		if s.Limit != nil && finite(y(s.Limit.Y)) {
			level := Level{s.Limit.Name, y(s.Limit.Y), y(s.Limit.Low), y(s.Limit.High)}
			lo, hi = min(lo, level.Y), max(hi, level.Y)
			if level.banded() {
				lo, hi = min(lo, level.Low), max(hi, level.High)
			}
			levels, colours = append(levels, level), append(colours, seriesColour(s))
		}
	}
	if len(sizes) == 0 {
		return f, ErrEmpty
	}
	f.keys = append(f.keys, all.keys(l.Bars)...)
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
	case l.LogY && hi-lo > math.Log10(3.5): // ticks like those of sizes
		p.Y.Tick.Marker = axes.Ticks(labelled(powers(lo-pad, hi+pad))...)
	case !l.LogY:
		if l.From < l.To && lo == l.From {
			p.Y.Min = lo // an axis that starts at 0 has no margin there
		}
		p.Y.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 6, false) }
	}
	lo, hi = x(slices.Min(sizes)), x(slices.Max(sizes))
	pad = max(0.04*(hi-lo), 0.02)
	if len(l.Names) > 0 {
		lo, hi, pad = 0, float64(len(l.Names)-1), 0.5
		f.height += nameTicks(p, l.Names, width-2*margin-yAxisWidth)
	} else if l.LinearX {
		whole := !slices.ContainsFunc(sizes, func(v float64) bool { return v != math.Trunc(v) })
		p.X.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 8, whole) }
	} else {
		p.X.Tick.Marker = axes.Ticks(sizeTicks(sizes)...)
	}
	p.X.Min, p.X.Max = lo-pad, hi+pad
	for i, level := range levels {
		ends := func(y float64) axes.XYs { return axes.XYs{{X: p.X.Min, Y: y}, {X: p.X.Max, Y: y}} }
		if level.banded() {
			p.Add(band(ends(level.Low), ends(level.High), colours[i]))
		}
		line := draw.LineStyle{Color: colours[i], Width: 1, Dashes: []vg.Length{6, 4}}
		p.Add(&axes.Line{XYs: ends(level.Y), LineStyle: line})
		f.keys = append(f.keys, key{text: level.Name, line: &line})
	}
	p.Add(marks...)
	f.draw = p.Draw
	return f, nil
}

// banded reports whether l has an interval.
func (l Level) banded() bool { return l.Low < l.High && finite(l.Low) && finite(l.High) }

func seriesColour(s Series) color.NRGBA { return palette[s.Colour%len(palette)] }

// log10Ticks marks an axis that is linear in the decimal logarithm.
var log10Ticks = func(lo, hi float64) []axes.Tick {
	ticks := logTicks(math.Pow(10, lo), math.Pow(10, hi))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	return ticks
}

// sizeTicks returns ticks, by decimal logarithm, at the sizes themselves, or at powers of two if
// the sizes are too many or too close. The label of one whose digits would touch those of the next is left out.
func sizeTicks(sizes []float64) []axes.Tick {
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
	ticks := labelled(sizes)
	for i, next := len(ticks)-2, len(ticks)-1; i >= 0; i-- {
		// A digit takes a fiftieth of the axis of a narrow figure.
		room := 0.02 * (1 + float64(len(ticks[i].Label)+len(ticks[next].Label))/2)
		if ticks[next].Value-ticks[i].Value < room*(ticks[len(ticks)-1].Value-ticks[0].Value) {
			ticks[i].Label = ""
		} else {
			next = i
		}
	}
	return ticks
}

// mostSizes is the number of labels that fit on an axis.
const mostSizes = 9

// powers returns powers of two between two decimal logarithms.
func powers(lo, hi float64) (values []float64) {
	from, to := math.Ceil(lo*math.Log2(10)-1e-9), math.Floor(hi*math.Log2(10)+1e-9)
	for e, step := from, math.Ceil((to-from+1)/mostSizes); e <= to; e += step {
		values = append(values, math.Exp2(e))
	}
	return values
}

// labelled returns ticks, by decimal logarithm, labelled with their value.
func labelled(values []float64) (ticks []axes.Tick) {
	for _, v := range values {
		ticks = append(ticks, axes.Tick{Value: math.Log10(v), Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return ticks
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
