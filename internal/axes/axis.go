package axes

import (
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Axis is a linear axis.
type Axis struct {
	Min, Max float64
	Label    struct {
		Text      string // empty: no label
		Padding   vg.Length
		TextStyle text.Style // of the y axis turned by a quarter when it is drawn
	}
	draw.LineStyle
	Tick struct {
		Label text.Style
		draw.LineStyle
		Length vg.Length // of ticks with a label; others are half as long
		Marker func(lo, hi float64) []Tick
	}
}

// Tick is a place on an axis.
type Tick struct {
	Value float64
	Label string // empty: a short tick
}

// Ticks returns a marker of the same ticks for every range.
func Ticks(ticks ...Tick) func(lo, hi float64) []Tick {
	return func(float64, float64) []Tick { return ticks }
}

func newAxis(label text.Style) Axis {
	a := Axis{Min: math.Inf(1), Max: math.Inf(-1)}
	a.Label.TextStyle = label
	a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = text.XCenter, text.YBottom
	a.Tick.Label = label
	a.Tick.Marker = Ticks()
	return a
}

// mendRange gives an axis without a range one.
func (a *Axis) mendRange() {
	if math.IsInf(a.Min, 0) {
		a.Min = 0
	}
	if math.IsInf(a.Max, 0) {
		a.Max = 0
	}
	a.Min, a.Max = min(a.Min, a.Max), max(a.Min, a.Max)
	if a.Min == a.Max {
		a.Min--
		a.Max++
	}
}

// norm returns the place of v, from 0 at Min to 1 at Max.
func (a Axis) norm(v float64) float64 { return (v - a.Min) / (a.Max - a.Min) }

func (a Axis) ticks() []Tick { return a.Tick.Marker(a.Min, a.Max) }

func (a Axis) ticked() bool { return a.Tick.Width > 0 && a.Tick.Length > 0 }

// start returns where the line of a tick starts that ends at the axis.
func (a Axis) start(t Tick) vg.Length {
	if t.Label == "" {
		return a.Tick.Length / 2
	}
	return 0
}

// labelSize returns the largest width and height of the labels of ticks.
func (a Axis) labelSize(ticks []Tick) (size vg.Point) {
	for _, t := range ticks {
		if t.Label != "" {
			s := a.Tick.Label.Rectangle(t.Label).Size()
			size.X, size.Y = max(size.X, s.X), max(size.Y, s.Y)
		}
	}
	return size
}

// horizontal is an axis along the lower edge of a plot.
type horizontal struct{ Axis }

// size returns the height.
func (a horizontal) size() (h vg.Length) {
	if a.Label.Text != "" {
		h += a.Label.TextStyle.Height(a.Label.Text)
		h += a.Label.Padding
	}
	if ticks := a.ticks(); len(ticks) > 0 {
		if a.ticked() {
			h += a.Tick.Length
		}
		h += a.labelSize(ticks).Y
	}
	return h + a.Width/2
}

func (a horizontal) draw(c draw.Canvas) {
	y := c.Min.Y
	if a.Label.Text != "" {
		descent := a.Label.TextStyle.FontExtents().Descent
		c.FillText(fitted(a.Label.TextStyle, a.Label.Text, c.Max.X-c.Min.X),
			vg.Point{X: c.Center().X, Y: y + descent}, a.Label.Text)
		y += a.Label.TextStyle.Height(a.Label.Text)
		y += a.Label.Padding
	}
	ticks := a.ticks()
	height := a.labelSize(ticks).Y
	descent := a.Tick.Label.FontExtents().Descent
	for _, t := range ticks {
		if x := c.X(a.norm(t.Value)); c.ContainsX(x) && t.Label != "" {
			c.FillText(a.Tick.Label, vg.Point{X: x, Y: y + height + descent}, t.Label)
		}
	}
	if len(ticks) > 0 {
		y += height
	} else {
		y += a.Width / 2
	}
	if len(ticks) > 0 && a.ticked() {
		for _, t := range ticks {
			if x := c.X(a.norm(t.Value)); c.ContainsX(x) {
				c.StrokeLine2(a.Tick.LineStyle, x, y+a.start(t), x, y+a.Tick.Length)
			}
		}
		y += a.Tick.Length
	}
	c.StrokeLine2(a.LineStyle, c.Min.X, y, c.Max.X, y)
}

// boxes returns the room that the labels of ticks need; that of the axis is fitted to what is left.
func (a horizontal) boxes() (boxes []box) {
	y := vg.Length(0)
	if a.Label.Text != "" {
		y += a.Label.TextStyle.Height(a.Label.Text)
		y += a.Label.Padding
	}
	ticks := a.ticks()
	height := a.labelSize(ticks).Y
	descent := a.Tick.Label.FontExtents().Descent
	for _, t := range ticks {
		if t.Label != "" {
			boxes = append(boxes, box{x: a.norm(t.Value),
				Rectangle: a.Tick.Label.Rectangle(t.Label).Add(vg.Point{Y: y + height + descent})})
		}
	}
	return boxes
}

// vertical is an axis along the left edge of a plot.
type vertical struct{ Axis }

// size returns the width.
func (a vertical) size() (w vg.Length) {
	if a.Label.Text != "" {
		w += a.Label.TextStyle.FontExtents().Descent
		w += a.Label.TextStyle.Height(a.Label.Text)
		w += a.Label.Padding
	}
	if ticks := a.ticks(); len(ticks) > 0 {
		if width := a.labelSize(ticks).X; width > 0 {
			w += width
			w += a.Label.TextStyle.Width(" ")
		}
		if a.ticked() {
			w += a.Tick.Length
		}
	}
	return w + a.Width/2
}

func (a vertical) draw(c draw.Canvas) {
	x := c.Min.X
	if a.Label.Text != "" {
		descent := a.Label.TextStyle.FontExtents().Descent
		x += a.Label.TextStyle.Height(a.Label.Text)
		c.FillText(fitted(a.turned(), a.Label.Text, c.Max.Y-c.Min.Y), vg.Point{X: x - descent, Y: c.Center().Y},
			a.Label.Text)
		x += descent
		x += a.Label.Padding
	}
	ticks := a.ticks()
	x += a.labelSize(ticks).X
	labelled := false
	descent := a.Tick.Label.FontExtents().Descent
	for _, t := range ticks {
		if y := c.Y(a.norm(t.Value)); c.ContainsY(y) && t.Label != "" {
			c.FillText(a.Tick.Label, vg.Point{X: x, Y: y + descent}, t.Label)
			labelled = true
		}
	}
	if labelled {
		x += a.Tick.Label.Width(" ")
	}
	if a.ticked() && len(ticks) > 0 {
		for _, t := range ticks {
			if y := c.Y(a.norm(t.Value)); c.ContainsY(y) {
				c.StrokeLine2(a.Tick.LineStyle, x+a.start(t), y, x+a.Tick.Length, y)
			}
		}
		x += a.Tick.Length
	}
	c.StrokeLine2(a.LineStyle, x, c.Min.Y, x, c.Max.Y)
}

// fitted returns s in a smaller size if the text is wider than its room.
func fitted(s text.Style, txt string, room vg.Length) text.Style {
	if w := s.Width(txt); w > room {
		s.Font.Size *= room / w
	}
	return s
}

// turned returns the style of the label.
func (a vertical) turned() text.Style {
	s := a.Label.TextStyle
	s.Rotation += math.Pi / 2
	return s
}

// boxes is that of a horizontal axis.
func (a vertical) boxes() (boxes []box) {
	x := vg.Length(0)
	if a.Label.Text != "" {
		x += a.Label.TextStyle.Height(a.Label.Text)
		x += a.Label.TextStyle.FontExtents().Descent
		x += a.Label.Padding
	}
	ticks := a.ticks()
	x += a.labelSize(ticks).X
	ext := a.Tick.Label.FontExtents()
	for _, t := range ticks {
		if t.Label != "" {
			boxes = append(boxes, box{y: a.norm(t.Value),
				Rectangle: a.Tick.Label.Rectangle(t.Label).Add(vg.Point{X: x, Y: ext.Height - ext.Ascent})})
		}
	}
	return boxes
}
