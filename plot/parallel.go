package plot

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Parallel is a figure of parallel coordinates: an axis for each setting and, at the right, for the result, and a line
// for each combination that was tried.
type Parallel struct {
	Title, Note string
	Axes        []ParallelAxis // two or more
}

// ParallelAxis is an axis with the place of every line, those of the best first. A line with NaN is not drawn.
type ParallelAxis struct {
	Name   string
	Values []float64
	Names  []string // of values 0, 1, ..., from below; nil: numbers
	Log    bool     // numbers above 0
}

// fewValues is the largest number of values of an axis that are its ticks.
const fewValues = 8

func (a Parallel) heading() string { return a.Title }

func (a Parallel) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: min(width, fileWidth) * flat, note: a.Note}
	if len(a.Axes) < 2 {
		return f, ErrEmpty
	}
	for _, x := range a.Axes {
		if len(x.Values) != len(a.Axes[0].Values) {
			return f, fmt.Errorf("%d values of %s for %d lines", len(x.Values), x.Name, len(a.Axes[0].Values))
		}
	}
	var lines []int // drawn, the best first
	for i := range a.Axes[0].Values {
		if !slices.ContainsFunc(a.Axes, func(x ParallelAxis) bool { return !finite(x.scaled(x.Values[i])) }) {
			lines = append(lines, i)
		}
	}
	if len(lines) == 0 {
		return f, ErrEmpty
	}
	looks := []draw.LineStyle{{Color: blue, Width: 2.5}, {Color: vermillion, Width: 1.2},
		{Color: translucent(grey, 0xa0), Width: 0.8}}
	names := []string{"the best", "the best quarter", "the others"}
	quarter := max(1, len(lines)/4)
	used := []int{1, quarter - 1, len(lines) - quarter}
	for i, n := range used {
		if n > 0 {
			f.keys = append(f.keys, key{text: names[i], line: &looks[i]})
		}
	}
	f.draw = func(c draw.Canvas) {
		at := a.place(c, lines)
		for rank := len(lines) - 1; rank >= 0; rank-- { // the best on top
			look := looks[2]
			if rank == 0 {
				look = looks[0]
			} else if rank < quarter {
				look = looks[1]
			}
			points := make([]vg.Point, len(a.Axes))
			for i, x := range a.Axes {
				points[i] = vg.Point{X: at[i].x, Y: at[i].y(x.Values[lines[rank]])}
			}
			c.StrokeLines(look, points)
		}
		for i := range a.Axes {
			at[i].draw(c)
		}
	}
	return f, nil
}

// scaled is a value on the axis.
func (x ParallelAxis) scaled(v float64) float64 {
	if x.Log {
		return math.Log10(v)
	}
	return v
}

// placedAxis is an axis on a canvas.
type placedAxis struct {
	ParallelAxis
	x, bottom, top vg.Length
	lo, hi         float64 // scaled
	ticks          []axes.Tick
	room           vg.Length // for the name
	last           bool      // of all axes
}

// place puts the axes on a canvas. Labels stand at the left of each, those of the last one at the right.
func (a Parallel) place(c draw.Canvas, lines []int) []placedAxis {
	label := style(tickSize, xfont.WeightNormal)
	list := make([]placedAxis, len(a.Axes))
	var beside [2]vg.Length // of labels left of the first axis, and right of the last one
	for i, x := range a.Axes {
		var values []float64
		for _, l := range lines {
			values = append(values, x.Values[l])
		}
		sort.Float64s(values)
		values = slices.Compact(values)
		p := placedAxis{ParallelAxis: x, lo: x.scaled(values[0]), hi: x.scaled(values[len(values)-1])}
		if p.lo == p.hi {
			pad := max(1, math.Abs(p.lo)/2) // large numbers stay as they are if 1 is added
			p.lo, p.hi = p.lo-pad, p.hi+pad
		}
		switch {
		case x.Names != nil:
			for _, v := range values {
				p.ticks = append(p.ticks, axes.Tick{Value: v, Label: format.Printable(x.said(v))})
			}
		case len(values) <= fewValues && i < len(a.Axes)-1:
			for _, v := range values {
				label := strconv.FormatFloat(v, 'g', -1, 64) // as a setting is written: 0.003
				p.ticks = append(p.ticks, axes.Tick{Value: v, Label: label})
			}
		case x.Log:
			p.ticks = logTicks(values[0], values[len(values)-1])
		default:
			p.ticks = linearTicks(p.lo, p.hi, 6, false)
		}
		p.last = i == len(a.Axes)-1
		for _, t := range p.ticks {
			switch w := label.Width(t.Label); {
			case i == 0:
				beside[0] = max(beside[0], w)
			case p.last:
				beside[1] = max(beside[1], w)
			}
		}
		list[i] = p
	}
	for i := range beside {
		beside[i] = min(beside[i], (c.Max.X-c.Min.X)/4) + 2*gap
	}
	left := beside[0]
	head := style(labelSize, xfont.WeightNormal).FontExtents().Height
	step := (c.Max.X - c.Min.X - left - beside[1]) / vg.Length(len(a.Axes)-1)
	for i := range list {
		list[i].x = c.Min.X + left + vg.Length(i)*step
		list[i].bottom, list[i].top = c.Min.Y+gap, c.Max.Y-head-gap
		list[i].room = step - gap
		if i == 0 {
			list[i].room = left + step/2
		}
	}
	return list
}

// y is the place of a value.
func (p placedAxis) y(v float64) vg.Length {
	return p.bottom + vg.Length((p.scaled(v)-p.lo)/(p.hi-p.lo))*(p.top-p.bottom)
}

// draw draws the axis, with its name above and labels beside it.
func (p placedAxis) draw(c draw.Canvas) {
	line := draw.LineStyle{Color: ink, Width: 0.8}
	c.StrokeLine2(line, p.x, p.bottom, p.x, p.top)
	label := style(tickSize, xfont.WeightNormal)
	label.XAlign, label.YAlign = text.XRight, text.YCenter
	side, room := vg.Length(-1), p.room // the side of the axis where its ticks are
	if p.last {
		side, room, label.XAlign = 1, c.Max.X-p.x-gap, text.XLeft
	}
	height := label.FontExtents().Height
	last := p.bottom - 2*height
	for _, t := range p.ticks {
		at := p.y(t.Value)
		if t.Label == "" || at-last < height || at < p.bottom-1 || at > p.top+1 {
			continue
		}
		last = at
		c.StrokeLine2(line, p.x+3*side, at, p.x, at)
		for _, text := range fit(label, t.Label, room, 1) {
			if !p.last { // over the lines
				c.SetColor(paper)
				c.Fill(vg.Rectangle{Min: vg.Point{X: p.x - gap - label.Width(text), Y: at - height/2},
					Max: vg.Point{X: p.x - gap, Y: at + height/2}}.Path())
			}
			c.FillText(label, vg.Point{X: p.x + gap*side, Y: at + 1}, text)
		}
	}
	name := style(labelSize, xfont.WeightNormal)
	name.XAlign, name.YAlign = text.XCenter, text.YBottom
	at := vg.Point{X: p.x, Y: p.top + gap}
	for _, text := range fit(name, p.Name, p.room, 1) {
		half := name.Width(text) / 2
		at.X = min(max(at.X, c.Min.X+half), c.Max.X-half)
		c.FillText(name, at, text)
	}
}

// said is what a value is called.
func (x ParallelAxis) said(v float64) string {
	if !finite(v) {
		return "none"
	}
	return nameOf(x.Names, v)
}

func (a Parallel) describe() string {
	var items []string
	for i := range a.Axes[0].Values {
		item := ""
		for k, x := range a.Axes {
			if k > 0 {
				item += ", "
			}
			item += x.Name + " " + x.said(x.Values[i])
		}
		items = append(items, item)
	}
	return "The best first: " + said(items)
}
