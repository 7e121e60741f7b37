package plot

import (
	"fmt"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// Bars is a figure of horizontal bars in groups.
type Bars struct {
	Title, X, Note string
	Groups         []string
	Stacked        bool // the bars of a group follow one another in a line
	// Series are the bars of one kind: point i belongs to group i, and Y is its length; X and
	// the interval are not used. A length that is not positive draws no bar.
	Series []Series
}

const (
	barHeight  = vg.Length(9)
	barPitch   = vg.Length(10.5)
	groupPitch = vg.Length(20) // for the name and the distance to the next group
)

func (b Bars) heading() string { return b.Title }

func (b Bars) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, note: b.Note}
	p := newPlot("", b.X, "")
	longest, doubt := 0.0, false
	for _, s := range b.Series {
		if len(s.Points) != len(b.Groups) {
			return f, fmt.Errorf("%d points of %s for %d groups", len(s.Points), s.Name, len(b.Groups))
		}
		_, glyph := s.look()
		glyph.Shape, glyph.Radius = draw.BoxGlyph{}, barHeight/2
		there := false
		for _, pt := range s.Points {
			if drawable(pt.Y) {
				longest, doubt, there = max(longest, pt.Y), doubt || pt.Doubtful, true
			}
		}
		if there {
			f.keys = append(f.keys, key{text: s.Name, glyph: &glyph})
		}
	}
	if longest == 0 {
		return f, ErrEmpty
	}
	for i := range b.Groups {
		if b.Stacked {
			longest = max(longest, b.sum(i))
		}
	}
	if doubt {
		f.keys = append(f.keys, key{text: doubtful.text, glyph: &draw.GlyphStyle{Color: grey, Radius: barHeight / 2,
			Shape: draw.SquareGlyph{}}})
	}
	g := grid()
	g.Horizontal.Color = nil
	p.Add(g, bars(b))
	p.HideY()
	p.X.Min, p.X.Max = 0, 1.15*longest // room for the numbers at the ends of the bars
	p.X.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 6, false) }
	p.Y.Min, p.Y.Max = 0, 1
	f.body = b.height() + 1.2*vg.Centimeter                           // for the axis
	f.draw = func(c draw.Canvas) { p.Draw(draw.Crop(c, 1, 0, 0, 0)) } // the label of 0 may be wider in other fonts
	return f, nil
}

// sum is the length of all bars of a group.
func (b Bars) sum(group int) (sum float64) {
	for _, s := range b.Series {
		if y := s.Points[group].Y; drawable(y) {
			sum += y
		}
	}
	return sum
}

func (b Bars) height() (h vg.Length) {
	for i := range b.Groups {
		h += groupPitch
		if b.Stacked {
			h += barPitch
			continue
		}
		for _, s := range b.Series {
			if drawable(s.Points[i].Y) {
				h += barPitch
			}
		}
	}
	return h
}

type bars Bars

// Plot implements axes.Plotter. Heights are the fixed lengths above, not on a scale, so that bars
// are equally high in every figure.
func (b bars) Plot(c draw.Canvas, p *axes.Plot) {
	tx, _ := p.Transforms(&c)
	name := style(tickSize, xfont.WeightNormal)
	value := style(tickSize, xfont.WeightNormal)
	value.YAlign, value.Color = text.YCenter, grey
	y := c.Max.Y
	for i, group := range b.Groups {
		c.FillText(name, vg.Point{X: c.Min.X + 2, Y: y}, format.Printable(group))
		y -= groupPitch - gap
		begin, sum := c.Min.X, 0.0
		for _, s := range b.Series {
			pt := s.Points[i]
			if !drawable(pt.Y) {
				continue
			}
			_, glyph := s.look()
			end := tx(sum + pt.Y)
			corners := []vg.Point{{X: begin, Y: y}, {X: end, Y: y}, {X: end, Y: y - barHeight},
				{X: begin, Y: y - barHeight}}
			if pt.Doubtful {
				c.StrokeLines(draw.LineStyle{Color: glyph.Color, Width: 1}, append(corners, corners[0]))
			} else {
				c.FillPolygon(glyph.Color, corners)
			}
			if b.Stacked {
				begin, sum = end, sum+pt.Y
				continue
			}
			c.FillText(value, vg.Point{X: end + 3, Y: y - barHeight/2 + 1}, format.Significant(pt.Y))
			y -= barPitch
		}
		if b.Stacked {
			c.FillText(value, vg.Point{X: begin + 3, Y: y - barHeight/2 + 1}, format.Significant(sum))
			y -= barPitch
		}
		y -= gap
	}
}
