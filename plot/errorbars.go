package plot

import (
	"image/color"
	"math"

	"dpnbench/internal/axes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// errorBars draws intervals at their points. An unbounded end is an arrow to the edge of the
// figure: without it the least certain points would look exact.
type errorBars struct {
	colour color.Color
	width  vg.Length // of a cap
	bars   []errorBar
	open   bool // some end is unbounded
}

// errorBar is an interval in the units of its axis.
type errorBar struct{ x, low, high float64 }

// add adds an interval at x, if there is one, and widens lo and hi to include its ends. scale
// maps values to the axis.
func (b *errorBars) add(x float64, i Interval, scale func(float64) float64, lo, hi float64) (float64, float64) {
	if !(i.Low < i.High) {
		return lo, hi
	}
	low, high := scale(i.Low), scale(i.High)
	if math.IsNaN(low) { // no logarithm
		low = math.Inf(-1)
	}
	if !(low < high) {
		return lo, hi
	}
	b.bars = append(b.bars, errorBar{x, low, high})
	b.open = b.open || math.IsInf(low, 0) || math.IsInf(high, 0)
	for _, end := range []float64{low, high} {
		if finite(end) {
			lo, hi = min(lo, end), max(hi, end)
		}
	}
	return lo, hi
}

// Plot implements axes.Plotter.
func (b errorBars) Plot(c draw.Canvas, p *axes.Plot) {
	tx, ty := p.Transforms(&c)
	for _, bar := range b.bars {
		from, to := c.Min.Y, c.Max.Y
		if finite(bar.low) {
			from = ty(bar.low)
		}
		if finite(bar.high) {
			to = ty(bar.high)
		}
		b.draw(c, tx(bar.x), from, to, math.IsInf(bar.low, 0), math.IsInf(bar.high, 0))
	}
}

// draw draws a line with a cap, or an arrowhead if unbounded, at each end.
func (b errorBars) draw(c draw.Canvas, x, from, to vg.Length, openBelow, openAbove bool) {
	line := draw.LineStyle{Color: b.colour, Width: 0.8}
	c.StrokeLine2(line, x, from, x, to)
	end := func(y vg.Length, open bool, inwards vg.Length) {
		aside := vg.Length(0)
		if open {
			aside = 0.6 * inwards * b.width
		}
		half := b.width / 2
		c.StrokeLines(line, []vg.Point{{X: x - half, Y: y + aside}, {X: x, Y: y}, {X: x + half, Y: y + aside}})
	}
	end(from, openBelow, 1)
	end(to, openAbove, -1)
}

// keys are the entries of the legend for bars and arrows.
func (b errorBars) keys(name string) (keys []key) {
	glyph := func(open bool) *draw.GlyphStyle {
		return &draw.GlyphStyle{Color: b.colour, Radius: b.width, Shape: barGlyph{open}}
	}
	if name != "" && len(b.bars) > 0 {
		keys = append(keys, key{text: name, glyph: glyph(false)})
	}
	if b.open {
		keys = append(keys, key{text: "interval not bounded", glyph: glyph(true)})
	}
	return keys
}

// barGlyph is an error bar in the legend.
type barGlyph struct{ open bool }

// DrawGlyph implements draw.GlyphDrawer.
func (b barGlyph) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	bar := errorBars{colour: g.Color, width: g.Radius}
	bar.draw(*c, at.X, at.Y-g.Radius, at.Y+g.Radius, b.open, b.open)
}
