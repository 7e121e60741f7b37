package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// Limit is a rate that a machine cannot exceed.
type Limit struct {
	Name string
	Rate float64 // GFLOP/s or GB/s
}

// Roofline is a figure of work under the limits of a machine (Williams, Waterman and Patterson,
// Communications of the ACM 52(4), 2009). It needs at least a peak, a bandwidth and a point.
type Roofline struct {
	Title, Note string
	Peaks       []Limit  // GFLOP/s
	Bandwidths  []Limit  // GB/s, of the nearest level of the memory first
	Points      []Series // X is flop per byte, Y GFLOP/s
}

func (r Roofline) heading() string { return r.Title }

func (r Roofline) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: 9.8 * vg.Centimeter, note: r.Note}
	p := newPlot("", "arithmetic intensity (flop per byte, log scale)", "GFLOP/s (log scale)")
	c := roof{peaks: highest(r.Peaks), bandwidths: drawableLimits(r.Bandwidths)}
	if len(c.peaks) == 0 || len(c.bandwidths) == 0 {
		return f, fmt.Errorf("%d peaks and %d bandwidths: want one at least of each", len(c.peaks), len(c.bandwidths))
	}
	p.Add(grid(), c)

	// The axes show every point and the corners of the roof.
	top, fast, slow := c.peaks[0].Rate, c.fastest(), math.Inf(1)
	for i, l := range c.bandwidths {
		slow = min(slow, l.Rate)
		line := c.line(i)
		f.keys = append(f.keys, key{text: l.Name + " " + format.Significant(l.Rate) + " GB/s", line: &line})
	}
	xlo, xhi := top/fast/4, top/slow*4
	ylo, yhi := min(c.peaks[len(c.peaks)-1].Rate, top/10), top
	drawn, doubt := 0, false
	for _, s := range r.Points {
		_, glyph := s.look()
		var whole, hollow axes.XYs
		for _, pt := range s.Points {
			if !drawable(pt.X) || !drawable(pt.Y) {
				continue
			}
			xlo, xhi = min(xlo, pt.X), max(xhi, pt.X)
			ylo, yhi = min(ylo, pt.Y), max(yhi, pt.Y)
			v := axes.XY{X: math.Log10(pt.X), Y: math.Log10(pt.Y)}
			if pt.Doubtful {
				hollow = append(hollow, v)
			} else {
				whole = append(whole, v)
			}
		}
		if len(whole)+len(hollow) == 0 {
			continue
		}
		drawn += len(whole) + len(hollow)
		doubt = doubt || len(hollow) > 0
		p.Add(&axes.Scatter{XYs: whole, GlyphStyle: glyph},
			&axes.Scatter{XYs: hollow, GlyphStyle: draw.GlyphStyle{Color: glyph.Color, Radius: glyph.Radius,
				Shape: ring{}}})
		big := glyph
		big.Radius *= 1.3
		f.keys = append(f.keys, key{text: s.Name, glyph: &big})
	}
	if drawn == 0 {
		return f, errors.New("no point has a place on logarithmic axes")
	}
	if doubt {
		f.keys = append(f.keys, doubtful)
	}
	p.X.Min, p.X.Max = math.Log10(xlo/1.3), math.Log10(xhi*1.3)
	p.Y.Min, p.Y.Max = math.Log10(ylo/1.6), math.Log10(yhi*2)
	p.X.Tick.Marker, p.Y.Tick.Marker = log10Ticks, log10Ticks
	f.draw = p.Draw
	return f, nil
}

// highest returns the limits that can be drawn, the highest first.
func highest(limits []Limit) []Limit {
	limits = drawableLimits(limits)
	sort.SliceStable(limits, func(i, j int) bool { return limits[i].Rate > limits[j].Rate })
	return limits
}

// drawableLimits returns the limits that can be drawn, in their order.
func drawableLimits(limits []Limit) []Limit {
	return slices.DeleteFunc(slices.Clone(limits), func(l Limit) bool { return !drawable(l.Rate) })
}

// roof draws the limits: the peaks, the highest first, with their names on them, and the bandwidths, which may be
// too close for that, by dashes.
type roof struct{ peaks, bandwidths []Limit }

// line is the style of a bandwidth.
func (roof) line(i int) draw.LineStyle {
	return draw.LineStyle{Color: grey, Width: 0.9, Dashes: seriesDashes[i%len(seriesDashes)]}
}

// fastest is the highest bandwidth.
func (r roof) fastest() (rate float64) {
	for _, l := range r.bandwidths {
		rate = max(rate, l.Rate)
	}
	return rate
}

// Plot implements axes.Plotter.
func (r roof) Plot(c draw.Canvas, p *axes.Plot) {
	tx, ty := p.Transforms(&c)
	at := func(x, y float64) vg.Point { return vg.Point{X: tx(math.Log10(x)), Y: ty(math.Log10(y))} }
	left, right, bottom := math.Pow(10, p.X.Min), math.Pow(10, p.X.Max), math.Pow(10, p.Y.Min)
	top := r.peaks[0].Rate
	label := style(tickSize, xfont.WeightNormal)
	label.Color, label.YAlign = grey, text.YBottom

	for i, l := range r.bandwidths {
		from := max(left, bottom/l.Rate)
		a, b := at(from, from*l.Rate), at(top/l.Rate, top)
		c.StrokeLine2(r.line(i), a.X, a.Y, b.X, b.Y)
	}
	label.XAlign = text.XRight
	for i, l := range r.peaks {
		a, b := at(max(left, l.Rate/r.fastest()), l.Rate), at(right, l.Rate)
		line := draw.LineStyle{Color: grey, Width: 0.8}
		if i == 0 {
			line.Color, line.Width = ink, 1.5
		}
		c.StrokeLine2(line, a.X, a.Y, b.X, b.Y)
		for _, txt := range fit(label, r.peakNames(i), c.Max.X-c.Min.X-gap, 1) {
			c.FillText(label, vg.Point{X: b.X - gap/2, Y: b.Y + gap/2}, txt)
		}
	}
}

// peakNames labels peak i, together with those below it that are too close for their own label;
// for those it returns "".
func (r roof) peakNames(i int) string {
	const apart = 1.4
	txt, first := "", 0
	for j, l := range r.peaks {
		if r.peaks[first].Rate > apart*l.Rate {
			first = j
		}
		if first == i {
			if txt != "" {
				txt += ", "
			}
			txt += format.Printable(l.Name) + " " + format.Significant(l.Rate)
		}
	}
	if txt == "" {
		return ""
	}
	return txt + " GFLOP/s"
}
