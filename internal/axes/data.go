package axes

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// XY is a point.
type XY struct{ X, Y float64 }

// XYs are points.
type XYs []XY

func (xys XYs) dataRange() (lo, hi XY) {
	lo, hi = XY{math.Inf(1), math.Inf(1)}, XY{math.Inf(-1), math.Inf(-1)}
	for _, v := range xys {
		lo.X, hi.X = math.Min(lo.X, v.X), math.Max(hi.X, v.X)
		lo.Y, hi.Y = math.Min(lo.Y, v.Y), math.Max(hi.Y, v.Y)
	}
	return lo, hi
}

// on returns the places of the points on a canvas.
func (xys XYs) on(c *draw.Canvas, p *Plot) []vg.Point {
	x, y := p.Transforms(c)
	at := make([]vg.Point, len(xys))
	for i, v := range xys {
		at[i] = vg.Point{X: x(v.X), Y: y(v.Y)}
	}
	return at
}

// around returns a box around each point.
func (xys XYs) around(p *Plot, room func(i int) vg.Rectangle) []box {
	boxes := make([]box, len(xys))
	for i, v := range xys {
		boxes[i] = box{x: p.X.norm(v.X), y: p.Y.norm(v.Y), Rectangle: room(i)}
	}
	return boxes
}

func square(r vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: -r, Y: -r}, Max: vg.Point{X: r, Y: r}}
}

// Line joins points.
type Line struct {
	XYs
	draw.LineStyle
}

// Plot implements Plotter.
func (l *Line) Plot(c draw.Canvas, p *Plot) {
	c.StrokeLines(l.LineStyle, c.ClipLinesXY(l.on(&c, p))...)
}

func (l *Line) boxes(p *Plot) []box {
	return l.around(p, func(int) vg.Rectangle { return square(0.5 * l.Width) })
}

// Scatter draws a mark at each point.
type Scatter struct {
	XYs
	draw.GlyphStyle
	GlyphStyleFunc func(i int) draw.GlyphStyle // if not nil, the style of each point
}

func (s *Scatter) glyph(i int) draw.GlyphStyle {
	if s.GlyphStyleFunc != nil {
		return s.GlyphStyleFunc(i)
	}
	return s.GlyphStyle
}

// Plot implements Plotter.
func (s *Scatter) Plot(c draw.Canvas, p *Plot) {
	for i, at := range s.on(&c, p) {
		c.DrawGlyph(s.glyph(i), at)
	}
}

func (s *Scatter) boxes(p *Plot) []box {
	return s.around(p, func(i int) vg.Rectangle { return square(s.glyph(i).Radius) })
}

// Area is filled within its outline.
type Area struct {
	XYs
	Color color.Color
}

// Plot implements Plotter.
func (a *Area) Plot(c draw.Canvas, p *Plot) {
	outline := c.ClipPolygonXY(a.on(&c, p))
	if len(outline) == 0 {
		return
	}
	c.SetColor(a.Color)
	var path vg.Path
	path.Move(outline[0])
	for _, at := range outline[1:] {
		path.Line(at)
	}
	path.Close()
	c.Fill(path)
}

// Grid draws lines at the labelled ticks. A line without a colour is not drawn.
type Grid struct{ Vertical, Horizontal draw.LineStyle }

// Plot implements Plotter.
func (g *Grid) Plot(c draw.Canvas, p *Plot) {
	tx, ty := p.Transforms(&c)
	for _, t := range p.X.ticks() {
		if x := tx(t.Value); g.Vertical.Color != nil && t.Label != "" && x >= c.Min.X && x <= c.Max.X {
			c.StrokeLine2(g.Vertical, x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, t := range p.Y.ticks() {
		if y := ty(t.Value); g.Horizontal.Color != nil && t.Label != "" && y >= c.Min.Y && y <= c.Max.Y {
			c.StrokeLine2(g.Horizontal, c.Min.X, y, c.Max.X, y)
		}
	}
}

// Labels writes a text beside each point.
type Labels struct {
	XYs
	Labels []string
	Style  text.Style
	Offset vg.Point
	Paper  color.Color // behind each text, so that what is drawn before does not run through it; nil: none
}

// Plot implements Plotter.
func (l *Labels) Plot(c draw.Canvas, p *Plot) {
	for i, at := range l.on(&c, p) {
		if c.Contains(at) {
			if l.Paper != nil {
				c.SetColor(l.Paper)
				c.Fill(l.Style.Rectangle(l.Labels[i]).Add(at.Add(l.Offset)).Path())
			}
			c.FillText(l.Style, at.Add(l.Offset), l.Labels[i])
		}
	}
}

func (l *Labels) boxes(p *Plot) []box {
	return l.around(p, func(i int) vg.Rectangle { return l.Style.Rectangle(l.Labels[i]).Add(l.Offset) })
}

// XErrorBars draws horizontal bars around points.
type XErrorBars struct {
	XYs
	Low, High []float64 // how far each bar reaches to the left and right, not negative
	draw.LineStyle
	CapWidth vg.Length
}

// Plot implements Plotter.
func (e *XErrorBars) Plot(c draw.Canvas, p *Plot) {
	tx, ty := p.Transforms(&c)
	for i, at := range e.XYs {
		y, low, high := ty(at.Y), tx(at.X-e.Low[i]), tx(at.X+e.High[i])
		c.StrokeLines(e.LineStyle, c.ClipLinesX([]vg.Point{{X: low, Y: y}, {X: high, Y: y}})...)
		for _, x := range []vg.Length{low, high} {
			if c.Contains(vg.Point{X: x, Y: y}) {
				c.StrokeLine2(e.LineStyle, x, y-e.CapWidth/2, x, y+e.CapWidth/2)
			}
		}
	}
}

func (e *XErrorBars) dataRange() (lo, hi XY) {
	return append(e.ends(e.Low, -1), e.ends(e.High, 1)...).dataRange()
}

func (e *XErrorBars) ends(by []float64, sign float64) XYs {
	ends := make(XYs, len(e.XYs))
	for i, at := range e.XYs {
		ends[i] = XY{at.X + sign*by[i], at.Y}
	}
	return ends
}

func (e *XErrorBars) boxes(p *Plot) []box {
	half := vg.Point{X: e.Width / 2, Y: e.CapWidth / 2}
	room := func(int) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: -half.X, Y: -half.Y}, Max: half}
	}
	return append(e.ends(e.Low, -1).around(p, room), e.ends(e.High, 1).around(p, room)...)
}
