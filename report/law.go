package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"

	"dpnbench/dpn/separation"
)

// LayersFigure draws the separation fuzziness d over layers, logarithmically,
// with each value printed, as path.png and path.svg. names are the layers in
// order. law, if not nil, is drawn over the layers that it was fitted to, which
// must be some run of names; the points left out of it are hollow. A value that
// has no logarithm leaves a gap and is named below.
func LayersFigure(path, title string, names []string, d []float64, law *separation.Law) error {
	if len(names) != len(d) {
		return fmt.Errorf("report: figure %s: %d layer names for %d values of D", path, len(names), len(d))
	}
	first := 0
	if law != nil {
		if first = find(names, law.Layers); first < 0 {
			return fmt.Errorf("report: figure %s: the law was fitted to layers %q, which are not a run of %q", path, law.Layers, names)
		}
	}
	f, p, err := fuzzinessFigure(title, names, d, law, first)
	if err != nil {
		return fmt.Errorf("report: figure %s: %w", path, err)
	}
	p.X.Label.Text = "layer"
	p.X.Min, p.X.Max = -0.5, float64(len(d))-0.5
	var ticks []plot.Tick
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: printable(name)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	f.height += slant(p, ticks, f.width-2*margin-yAxisWidth)

	var labels plotter.XYLabels
	for i, v := range d {
		if drawable(v) {
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(i), Y: math.Log10(v)})
			labels.Labels = append(labels.Labels, significant(v))
		}
	}
	if len(labels.Labels) <= 12 {
		l, err := plotter.NewLabels(labels)
		if err != nil {
			return fmt.Errorf("report: figure %s: %w", path, err)
		}
		for i := range l.TextStyle {
			l.TextStyle[i] = style(tickSize, xfont.WeightNormal)
			l.TextStyle[i].XAlign, l.TextStyle[i].YAlign = text.XCenter, text.YBottom
		}
		l.Offset = vg.Point{Y: gap}
		p.Add(l)
	}
	return f.save(path)
}

// StepsFigure draws the separation fuzziness d over ascent steps 0, 1, ...,
// len(d)-1, logarithmically, as path.png and path.svg. law, if not nil, must
// have been fitted to all of them.
func StepsFigure(path, title string, d []float64, law *separation.Law) error {
	if law != nil && law.Points != len(d) {
		return fmt.Errorf("report: figure %s: the law was fitted to %d points, of %d steps", path, law.Points, len(d))
	}
	names := make([]string, len(d))
	for i := range names {
		names[i] = fmt.Sprint("step ", i)
	}
	f, p, err := fuzzinessFigure(title, names, d, law, 0)
	if err != nil {
		return fmt.Errorf("report: figure %s: %w", path, err)
	}
	p.X.Label.Text = "ascent step"
	last := float64(len(d) - 1)
	pad := max(0.5, last/40)
	p.X.Min, p.X.Max = -pad, last+pad
	p.X.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick { return linearTicks(0, last, 10, true) })
	return f.save(path)
}

// fuzzinessFigure is what the two have in common: all but the x axis. The law
// starts at point first.
func fuzzinessFigure(title string, names []string, d []float64, law *separation.Law, first int) (figure, *plot.Plot, error) {
	var line, fitted, apart plotter.XYs
	var gaps []string
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, v := range d {
		if !drawable(v) {
			gaps = append(gaps, fmt.Sprintf("%s (%v)", names[i], v))
			continue
		}
		y := math.Log10(v)
		lo, hi = min(lo, y), max(hi, y)
		xy := plotter.XY{X: float64(i), Y: y}
		if law == nil || i >= first && i < first+law.Points {
			fitted = append(fitted, xy)
		} else {
			apart = append(apart, xy)
		}
	}
	if len(fitted)+len(apart) == 0 {
		return figure{}, nil, errors.New("no value of D is positive and finite")
	}
	p := newPlot("", "", "fuzziness D (log scale)")
	f := figure{width: 16 * vg.Centimeter, height: 10 * vg.Centimeter, title: title, draw: p.Draw}
	if law != nil {
		if !drawable(law.Rho) || !drawable(law.D0) {
			return figure{}, nil, fmt.Errorf("the law's rho %v and D_0 %v must be positive and finite", law.Rho, law.D0)
		}
		for l := range law.Points {
			y := math.Log10(law.D0) + float64(l)*math.Log10(law.Rho)
			line = append(line, plotter.XY{X: float64(first + l), Y: y})
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	// A margin of 8% of the axis, or of 10% of the value where D hardly changes:
	// a flat curve is to look flat.
	margin := max(0.08*(hi-lo), math.Log10(1.1))
	p.Y.Min, p.Y.Max = lo-margin, hi+margin
	// The plot is linear in log10 D: plot.LogScale would misplace the axis label's
	// box and leave a gap above the axes.
	p.Y.Tick.Marker = plot.TickerFunc(func(lo, hi float64) []plot.Tick {
		ticks := logTicks(math.Pow(10, lo), math.Pow(10, hi))
		for i := range ticks {
			ticks[i].Value = math.Log10(ticks[i].Value)
		}
		return ticks
	})
	p.Add(grid())

	point := draw.GlyphStyle{Color: blue, Radius: 3.5, Shape: draw.CircleGlyph{}}
	if len(d) > 40 {
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
		l := &plotter.Line{XYs: line, LineStyle: draw.LineStyle{Color: vermillion, Width: 1.5, Dashes: []vg.Length{5, 3}}}
		p.Add(l)
		f.keys = append(f.keys, key{text: lawText(law), line: &l.LineStyle})
	}
	p.Add(&plotter.Scatter{XYs: fitted, GlyphStyle: point}, &plotter.Scatter{XYs: apart, GlyphStyle: hollow})
	if len(gaps) > 0 {
		f.note = "Not drawn, since D has no logarithm there: " + strings.Join(gaps, ", ") + "."
	}
	return f, p, nil
}

// lawText is the law in one line of the legend.
func lawText(law *separation.Law) string {
	s := "law fitted: ρ = " + significant(law.Rho)
	if len(law.RhoCI) == 2 {
		s += fmt.Sprintf(" (%.0f%% CI %s to %s)", 100*law.Confidence, significant(float64(law.RhoCI[0])), significant(float64(law.RhoCI[1])))
	}
	if law.Pearson.IsFinite() {
		s += ", r = " + number(float64(law.Pearson), 3)
	}
	return s
}

// yAxisWidth is about what the labels of the y axis take.
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

// slant turns the labels of the x axis, ticks at 0, 1, 2, ..., if they would run
// into each other, and returns the height that they need on top of what they
// had.
func slant(p *plot.Plot, ticks []plot.Tick, width vg.Length) vg.Length {
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
		// Aslant they would leave the picture on the left: upright, then.
		label.Rotation = math.Pi / 2
		label.XAlign, label.YAlign = text.XRight, text.YCenter
		for i := range ticks {
			ticks[i].Label += "  " // keeps the text off the tick marks
		}
	}
	return widest * vg.Length(math.Sin(label.Rotation))
}

// grid returns thin lines at the labelled ticks.
func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = faint, faint
	g.Vertical.Width, g.Horizontal.Width = 0.5, 0.5
	return g
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
