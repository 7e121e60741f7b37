package axes

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot is two axes, a title above them, and what is drawn between them.
type Plot struct {
	Title struct {
		Text      string // empty: no title
		Padding   vg.Length
		TextStyle text.Style
	}
	X, Y Axis

	plotters []Plotter
}

// Plotter draws data.
type Plotter interface {
	// Plot draws on a canvas that spans the axes of p.
	Plot(c draw.Canvas, p *Plot)
}

// ranger is a Plotter whose data the axes must show.
type ranger interface {
	dataRange() (lo, hi XY)
}

// boxer is a Plotter that needs room beside its data, such as for half of a mark.
type boxer interface {
	boxes(p *Plot) []box
}

// box is the room that something needs around a place on the axes, from 0 to 1. A side without
// extent needs none.
type box struct {
	x, y float64
	vg.Rectangle
}

// New returns a plot whose axes span no range yet, with text in a style.
func New(label text.Style) *Plot {
	p := &Plot{X: newAxis(label), Y: newAxis(label)}
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XCenter, text.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = text.XRight, text.YCenter
	p.Title.TextStyle = label
	p.Title.TextStyle.XAlign, p.Title.TextStyle.YAlign = text.XCenter, text.YTop
	return p
}

// Add adds data, drawn in the order of the calls, and extends the axes to them.
func (p *Plot) Add(plotters ...Plotter) {
	for _, d := range plotters {
		if r, ok := d.(ranger); ok {
			lo, hi := r.dataRange()
			p.X.Min, p.X.Max = math.Min(p.X.Min, lo.X), math.Max(p.X.Max, hi.X)
			p.Y.Min, p.Y.Max = math.Min(p.Y.Min, lo.Y), math.Max(p.Y.Max, hi.Y)
		}
	}
	p.plotters = append(p.plotters, plotters...)
}

// Draw draws everything on c, the title at its upper edge.
func (p *Plot) Draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	if p.Title.Text != "" {
		descent := p.Title.TextStyle.FontExtents().Descent
		c.FillText(p.Title.TextStyle, vg.Point{X: c.Center().X, Y: c.Max.Y + descent}, p.Title.Text)
	}
	c = p.belowTitle(c)
	x, y := p.axes()
	width, height := y.size(), x.size()
	x.draw(p.padX(draw.Crop(c, width, 0, 0, 0)))
	y.draw(p.padY(draw.Crop(c, 0, 0, height, 0)))
	data := p.padY(p.padX(draw.Crop(c, width, 0, height, 0)))
	for _, d := range p.plotters {
		d.Plot(data, p)
	}
}

// DataCanvas returns the part of c that the axes span.
func (p *Plot) DataCanvas(c draw.Canvas) draw.Canvas {
	c = p.belowTitle(c)
	x, y := p.axes()
	return p.padY(p.padX(draw.Crop(c, y.size(), 0, x.size(), 0)))
}

func (p *Plot) belowTitle(c draw.Canvas) draw.Canvas {
	if p.Title.Text != "" {
		c.Max.Y -= p.Title.TextStyle.Rectangle(p.Title.Text).Size().Y
		c.Max.Y -= p.Title.Padding
	}
	return c
}

func (p *Plot) axes() (horizontal, vertical) {
	p.X.mendRange()
	p.Y.mendRange()
	return horizontal{p.X}, vertical{p.Y}
}

// HideY leaves out the y axis.
func (p *Plot) HideY() {
	p.Y.Tick.Length = 0
	p.Y.Width = 0
	p.Y.Tick.Marker = Ticks()
}

// Transforms returns the place on c of numbers on the axes.
func (p *Plot) Transforms(c *draw.Canvas) (x, y func(float64) vg.Length) {
	return func(v float64) vg.Length { return c.X(p.X.norm(v)) },
		func(v float64) vg.Length { return c.Y(p.Y.norm(v)) }
}

// boxes returns those of the data that are on the axes.
func (p *Plot) boxes() (boxes []box) {
	for _, d := range p.plotters {
		b, ok := d.(boxer)
		if !ok {
			continue
		}
		for _, b := range b.boxes(p) {
			if b.Size().X > 0 && (b.x < 0 || b.x > 1) || b.Size().Y > 0 && (b.y < 0 || b.y > 1) {
				continue
			}
			boxes = append(boxes, b)
		}
	}
	return boxes
}

// padX narrows c so that no box sticks out of it on the left or right.
func (p *Plot) padX(c draw.Canvas) draw.Canvas {
	boxes := p.boxes()
	left, right := box{}, box{x: 1}
	least, most := c.Min.X, c.Max.X
	for _, b := range boxes {
		if x := c.X(b.x) + b.Min.X; b.Size().X > 0 && x < least && b.x >= 0 {
			least, left = x, b
		}
	}
	for _, b := range append(boxes, horizontal{p.X}.boxes()...) {
		if x := c.X(b.x) + b.Min.X + b.Size().X; b.Size().X > 0 && x > most && b.x <= 1 {
			most, right = x, b
		}
	}
	lo, hi := narrowed(c.Min.X-left.Min.X, c.Max.X-(right.Min.X+right.Size().X), vg.Length(left.x), vg.Length(right.x))
	c.Min.X, c.Max.X = lo, hi
	return c
}

// padY is padX for the lower and the upper edge.
func (p *Plot) padY(c draw.Canvas) draw.Canvas {
	boxes := p.boxes()
	bottom, top := box{}, box{y: 1}
	least, most := c.Min.Y, c.Max.Y
	for _, b := range boxes {
		if y := c.Y(b.y) + b.Min.Y; b.Size().Y > 0 && y < least && b.y >= 0 {
			least, bottom = y, b
		}
	}
	for _, b := range append(boxes, vertical{p.Y}.boxes()...) {
		if y := c.Y(b.y) + b.Min.Y + b.Size().Y; b.Size().Y > 0 && y > most && b.y <= 1 {
			most, top = y, b
		}
	}
	lo, hi := narrowed(c.Min.Y-bottom.Min.Y, c.Max.Y-(top.Min.Y+top.Size().Y), vg.Length(bottom.y), vg.Length(top.y))
	c.Min.Y, c.Max.Y = lo, hi
	return c
}

// narrowed returns the edges at which the place a of an axis is at lo and its place b at hi.
func narrowed(lo, hi, a, b vg.Length) (least, most vg.Length) {
	return (a*hi - b*lo) / (a - b), ((a-1)*hi - b*lo + lo) / (a - b)
}
