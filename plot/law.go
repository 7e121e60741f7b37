package plot

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// Interval is the interval of a measured or estimated number; unless Low < High, there is none.
// An end that is infinite, or not positive on a logarithmic axis, is unbounded.
type Interval struct{ Low, High float64 }

// Layers is a figure of the separation fuzziness D over layers on a logarithmic axis, with each
// value printed. A value without a logarithm leaves a gap and is named in the note.
type Layers struct {
	Title string
	Names []string // of the layers, in order
	D     []float64
	// Intervals of D, one for each layer, are drawn as error bars; nil: none. Intervals of the
	// limit n → ∞ need not contain the measured value. Bars describes them in the legend.
	Intervals []Interval
	Bars      string
	// Law, if not nil, is drawn over the layers that it was fitted to, which must be a
	// run of Names; the points left out of it are hollow.
	Law *Law
}

// Law is the law of equi-separation, D_l = D0 Rho^l, fitted to len(Names) points l = 0, 1, ...
type Law struct {
	Names      []string // of the points
	D0, Rho    float64
	RhoCI      Interval // of Rho at the level Confidence; the zero Interval: none
	Confidence float64  // 0 to 1
	Pearson    float64  // correlation of log D with l; NaN: none
	// Band is the confidence band of the line, one interval of D for each point; nil: none.
	Band []Interval
}

// Steps is a figure of the separation fuzziness D over ascent steps 0, 1, ..., len(D)-1
// on a logarithmic axis.
type Steps struct {
	Title     string
	D         []float64
	Intervals []Interval // as in [Layers]
	Bars      string     // as in [Layers]
	Law       *Law       // fitted to all steps, or nil
}

func (a Layers) heading() string { return a.Title }

func (a Layers) layout(width vg.Length) (drawing, error) {
	if len(a.Names) != len(a.D) {
		return drawing{}, fmt.Errorf("%d layer names for %d values of D", len(a.Names), len(a.D))
	}
	first := 0
	if a.Law != nil {
		if first = find(a.Names, a.Law.Names); first < 0 {
			return drawing{}, fmt.Errorf("the law was fitted to layers %q, which are not a run of %q", a.Law.Names,
				a.Names)
		}
	}
	f, p, err := fuzziness(a, first, width, a.values())
	if err != nil {
		return drawing{}, err
	}
	p.X.Label.Text = "layer"
	p.X.Min, p.X.Max = -0.5, float64(len(a.D))-0.5
	f.height += nameTicks(p, a.Names, f.width-2*margin-yAxisWidth)
	return f, nil
}

// mostNames is about the largest number of names that fit on an x axis; of more, every second one is shown, or fewer.
const mostNames = 40

// nameTicks names 0, 1, ... on the x axis, of a width, and returns the additional height that the names need.
func nameTicks(p *axes.Plot, names []string, width vg.Length) vg.Length {
	var ticks []axes.Tick
	stride := (len(names) + mostNames - 1) / mostNames
	for i := 0; i < len(names); i += stride {
		ticks = append(ticks, axes.Tick{Value: float64(i), Label: format.Printable(names[i])})
	}
	p.X.Tick.Marker = axes.Ticks(ticks...)
	return slant(p, ticks, width)
}

// values are the values of D beside their points, on paper so that no line runs through them; nil if they are too many.
func (a Layers) values() *axes.Labels {
	labels := &axes.Labels{Style: style(tickSize, xfont.WeightNormal), Offset: vg.Point{Y: gap}, Paper: paper}
	labels.Style.XAlign, labels.Style.YAlign = text.XCenter, text.YBottom
	for i, v := range a.D {
		if drawable(v) {
			labels.XYs = append(labels.XYs, axes.XY{X: float64(i), Y: math.Log10(v)})
			labels.Labels = append(labels.Labels, format.Significant(v))
		}
	}
	if len(labels.Labels) > 12 {
		return nil
	}
	if len(a.Intervals) > 0 { // beside the error bars
		labels.Offset = vg.Point{X: gap, Y: 1}
		labels.Style.XAlign = text.XLeft
	}
	return labels
}

func (a Steps) heading() string { return a.Title }

func (a Steps) layout(width vg.Length) (drawing, error) {
	if a.Law != nil && len(a.Law.Names) != len(a.D) {
		return drawing{}, fmt.Errorf("the law was fitted to %d points, of %d steps", len(a.Law.Names), len(a.D))
	}
	names := make([]string, len(a.D))
	for i := range names {
		names[i] = fmt.Sprint("step ", i)
	}
	f, p, err := fuzziness(Layers{"", names, a.D, a.Intervals, a.Bars, a.Law}, 0, width, nil)
	if err != nil {
		return drawing{}, err
	}
	p.X.Label.Text = "ascent step"
	last := float64(len(a.D) - 1)
	pad := max(0.5, last/40)
	p.X.Min, p.X.Max = -pad, last+pad
	p.X.Tick.Marker = func(float64, float64) []axes.Tick { return linearTicks(0, last, 10, true) }
	return f, nil
}

// fuzziness draws what Layers and Steps have in common: all but the x axis. The law starts at
// point first. Labels, if any, lie over the law and under the points.
func fuzziness(a Layers, first int, width vg.Length, labels *axes.Labels) (drawing, *axes.Plot, error) {
	law := a.Law
	if len(a.Intervals) > 0 && len(a.Intervals) != len(a.D) {
		return drawing{}, nil, fmt.Errorf("%d intervals for %d values of D", len(a.Intervals), len(a.D))
	}
	if law != nil && len(law.Band) > 0 && len(law.Band) != len(law.Names) {
		return drawing{}, nil, fmt.Errorf("the band of the law has %d points: want %d", len(law.Band), len(law.Names))
	}
	var line, fitted, apart, upper, lower axes.XYs
	bars := errorBars{colour: blue, width: 5}
	var gaps []string
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, v := range a.D {
		if !drawable(v) {
			gaps = append(gaps, fmt.Sprintf("%s (%v)", a.Names[i], v))
			continue
		}
		y := math.Log10(v)
		lo, hi = min(lo, y), max(hi, y)
		xy := axes.XY{X: float64(i), Y: y}
		if law == nil || i >= first && i < first+len(law.Names) {
			fitted = append(fitted, xy)
		} else {
			apart = append(apart, xy)
		}
		if len(a.Intervals) > 0 {
			lo, hi = bars.add(xy.X, a.Intervals[i], math.Log10, lo, hi)
		}
	}
	if len(fitted)+len(apart) == 0 {
		return drawing{}, nil, errors.New("no value of D is positive and finite")
	}
	p := newPlot("", "", "fuzziness D (log scale)")
	f := drawing{width: width, height: min(width, fileWidth) * 10 / 16, draw: p.Draw}
	if law != nil {
		if !drawable(law.Rho) || !drawable(law.D0) {
			return drawing{}, nil, fmt.Errorf("the law's rho %v and D_0 %v must be positive and finite", law.Rho,
				law.D0)
		}
		for l := range len(law.Names) {
			xy := axes.XY{X: float64(first + l), Y: math.Log10(law.D0) + float64(l)*math.Log10(law.Rho)}
			line = append(line, xy)
			lo, hi = min(lo, xy.Y), max(hi, xy.Y)
			if len(law.Band) > 0 {
				low, high, ok := logInterval(law.Band[l])
				if !ok {
					low, high = xy.Y, xy.Y
				}
				lo, hi = min(lo, low), max(hi, high)
				lower, upper = append(lower, axes.XY{X: xy.X, Y: low}), append(upper, axes.XY{X: xy.X, Y: high})
			}
		}
	}
	// A margin of 8% of the axis, but at least 10% of D, so that a flat curve looks flat.
	margin := max(0.08*(hi-lo), math.Log10(1.1))
	p.Y.Min, p.Y.Max = lo-margin, hi+margin
	p.Y.Tick.Marker = log10Ticks
	p.Add(grid())

	point := draw.GlyphStyle{Color: blue, Radius: 3.5, Shape: draw.CircleGlyph{}}
	if len(a.D) > 40 {
		point.Radius = 2.5
	}
	hollow := point
	hollow.Shape = ring{}
	name := "measured"
	if len(apart) > 0 {
		name = "measured, in the fit"
	}
	if len(fitted) > 0 {
		f.keys = append(f.keys, key{text: name, glyph: &point})
	}
	if len(apart) > 0 {
		f.keys = append(f.keys, key{text: "measured, left out of it", glyph: &hollow})
	}
	if law != nil {
		l := &axes.Line{XYs: line, LineStyle: draw.LineStyle{Color: vermillion, Width: 1.5,
			Dashes: []vg.Length{5, 3}}}
		f.keys = append(f.keys, key{text: lawText(law), line: &l.LineStyle})
		if len(law.Band) > 0 {
			p.Add(band(lower, upper, vermillion))
			f.keys = append(f.keys, bandKey("its confidence band", vermillion))
		}
		p.Add(l)
	}
	f.keys = append(f.keys, bars.keys(a.Bars)...)
	if labels != nil {
		p.Add(labels)
	}
	p.Add(bars, &axes.Scatter{XYs: fitted, GlyphStyle: point}, &axes.Scatter{XYs: apart, GlyphStyle: hollow})
	if len(gaps) > 0 {
		f.note = "Not drawn, since D has no logarithm there: " + strings.Join(gaps, ", ") + "."
	}
	return f, p, nil
}

// logInterval returns the decimal logarithms of an interval, and whether it has a place on
// a logarithmic axis.
func logInterval(i Interval) (low, high float64, ok bool) {
	if !(drawable(i.Low) && drawable(i.High) && i.Low < i.High) {
		return 0, 0, false
	}
	return math.Log10(i.Low), math.Log10(i.High), true
}

// band fills the area between two lines, translucently.
func band(lower, upper axes.XYs, c color.NRGBA) *axes.Area {
	edge := slices.Clone(upper)
	slices.Reverse(edge)
	return &axes.Area{XYs: append(slices.Clone(lower), edge...), Color: translucent(c, 0x30)}
}

// bandKey is the legend of a band.
func bandKey(text string, c color.NRGBA) key {
	return key{text: text, glyph: &draw.GlyphStyle{Color: translucent(c, 0x30), Radius: 5, Shape: draw.BoxGlyph{}}}
}

// lawText is the law in one line of the legend.
func lawText(law *Law) string {
	s := "law fitted: ρ = " + format.Factor(law.Rho)
	if law.RhoCI != (Interval{}) {
		s += fmt.Sprintf(" (%.0f%% CI %s to %s)", 100*law.Confidence, format.Factor(law.RhoCI.Low),
			format.Factor(law.RhoCI.High))
	}
	if finite(law.Pearson) {
		s += ", r = " + format.Number(law.Pearson, 3)
	}
	return s
}

// yAxisWidth is about the width of the labels of the y axis.
const yAxisWidth = vg.Length(30)

// drawable reports whether v has a place on a logarithmic axis.
func drawable(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// find returns where run begins within names, or -1.
func find(names, run []string) int {
	for i := 0; len(run) > 0 && i+len(run) <= len(names); i++ {
		if slices.Equal(names[i:i+len(run)], run) {
			return i
		}
	}
	return -1
}

// slant turns the labels of the x axis (ticks at 0, 1, 2, ...) if they would overlap, and returns
// the additional height that they need.
func slant(p *axes.Plot, ticks []axes.Tick, width vg.Length) vg.Length {
	label := &p.X.Tick.Label
	slot := width / vg.Length(len(ticks))
	var widest, left vg.Length
	const angle = math.Pi / 5
	for i, t := range ticks {
		w := label.Width(t.Label)
		widest = max(widest, w)
		left = max(left, w*vg.Length(math.Cos(angle))-slot*(vg.Length(i)+0.5))
	}
	switch {
	case widest+gap <= slot:
		return 0
	case left <= yAxisWidth:
		label.Rotation = angle
		label.XAlign, label.YAlign = text.XRight, text.YTop
	default:
		// Slanted labels would leave the figure on the left: turn them upright.
		label.Rotation = math.Pi / 2
		label.XAlign, label.YAlign = text.XRight, text.YCenter
		for i := range ticks {
			ticks[i].Label += "  " // keeps the text off the tick marks
		}
	}
	return widest * vg.Length(math.Sin(label.Rotation))
}

// grid returns thin lines at the labelled ticks.
func grid() *axes.Grid {
	line := draw.LineStyle{Color: faint, Width: 0.5}
	return &axes.Grid{Vertical: line, Horizontal: line}
}

// ring is a hollow circle with a line that is thick enough to see.
type ring struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (ring) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: g.Color, Width: 1.2})
	var p vg.Path
	p.Move(vg.Point{X: at.X + g.Radius, Y: at.Y})
	p.Arc(at, g.Radius, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}
