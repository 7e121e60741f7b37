package plot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Confusion is a figure of a confusion matrix: a row for each class, a column for each prediction, and
// in each cell the number of samples. Cells of right predictions are the darker the larger their share
// of the class, those of wrong ones the closer it is to the largest share of a wrong prediction.
type Confusion struct {
	Title   string
	Counts  [][]int  // [class][prediction]
	Classes []string // names of the classes; nil: by number
}

// Limits of classes.
const (
	mostNumbered = 16  // of a confusion matrix whose cells hold numbers
	mostClasses  = 256 // of all figures
)

func (a Confusion) heading() string { return a.Title }

func (a Confusion) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width}
	n := len(a.Counts)
	switch {
	case n == 0:
		return f, ErrEmpty
	case n > mostClasses:
		return f, fmt.Errorf("%d classes: want at most %d", n, mostClasses)
	}
	sizes, mostWrong, all := make([]int, n), 0.0, 0
	for y, row := range a.Counts {
		if len(row) != n {
			return f, fmt.Errorf("class %d: %d predictions, want one for each of %d classes", y, len(row), n)
		}
		for _, count := range row {
			if count < 0 {
				return f, fmt.Errorf("class %d: %d samples", y, count)
			}
			sizes[y] += count
			all += count
		}
		for p, count := range row {
			if p != y && count > 0 {
				mostWrong = max(mostWrong, float64(count)/float64(sizes[y]))
			}
		}
	}
	if all == 0 {
		return f, ErrEmpty
	}
	label := style(tickSize, xfont.WeightNormal)
	line := label.FontExtents().Height
	names, widest := a.names(label)
	left := 2*line + widest + gap
	cell := (min(width, fileWidth) - 2*margin - left) / vg.Length(n)
	tall := min(cell, 0.8*vg.Centimeter)
	above := line // the names of the columns
	upright := widest >= 2*line && cell < 1.2*widest
	if upright {
		above = widest + gap
	}
	f.body = line + above + 2*gap + vg.Length(n)*tall
	f.keys = []key{{text: "right", glyph: boxOf(blue)}, {text: "wrong", glyph: boxOf(vermillion)}}
	f.draw = func(c draw.Canvas) {
		m := matrix{c: c, counts: a.Counts, names: names, widest: widest, upright: upright, sizes: sizes,
			mostWrong: mostWrong, cell: cell, tall: tall,
			origin: vg.Point{X: c.Min.X + left, Y: c.Max.Y - line - above - gap}}
		m.axes(c.Min.X, line)
		for y := range a.Counts {
			for p := range a.Counts {
				m.drawCell(y, p)
			}
		}
	}
	return f, nil
}

// mostName is the width beyond which the name of a class is cut off.
const mostName = 2.5 * vg.Centimeter

// names returns what the classes are called, and the width of the longest name.
func (a Confusion) names(label text.Style) (names []string, widest vg.Length) {
	for y := range a.Counts {
		name := strconv.Itoa(y)
		if y < len(a.Classes) {
			name = a.Classes[y]
		}
		if r := []rune(name); label.Width(name) > mostName {
			for len(r) > 0 && label.Width(string(r)+"…") > mostName {
				r = r[:len(r)-1]
			}
			name = string(r) + "…"
		}
		names, widest = append(names, name), max(widest, label.Width(name))
	}
	return names, widest
}

func boxOf(c color.Color) *draw.GlyphStyle {
	return &draw.GlyphStyle{Color: c, Radius: 4, Shape: draw.BoxGlyph{}}
}

// matrix draws the cells of a confusion matrix.
type matrix struct {
	c          draw.Canvas
	counts     [][]int
	names      []string
	widest     vg.Length // of the names
	upright    bool      // names of columns are turned, because they are wider than these
	sizes      []int     // of the classes
	mostWrong  float64
	cell, tall vg.Length
	origin     vg.Point // upper left corner of the cells
}

// quarter of a turn, to read from below.
const quarter = math.Pi / 2

// axes draws the names of both axes and the classes, as many as there is room for.
func (m matrix) axes(edge, line vg.Length) {
	label := style(tickSize, xfont.WeightNormal)
	label.XAlign = text.XCenter
	n := len(m.counts)
	middle := m.origin.X + vg.Length(n)*m.cell/2
	column, row, above, wide := label, label, line, m.widest // wide: what a name takes of the columns
	row.XAlign, row.YAlign = text.XRight, text.YCenter
	if m.upright {
		column.Rotation, column.XAlign, column.YAlign = quarter, text.XLeft, text.YCenter
		above, wide = gap/2, line
	}
	m.c.FillText(label, vg.Point{X: middle, Y: m.c.Max.Y - gap}, "prediction")
	across, down := 1, 1 // of how many classes one has its name there
	for vg.Length(across)*m.cell < 1.2*wide {
		across++
	}
	for vg.Length(down)*m.tall < 1.2*line {
		down++
	}
	if across = max(across, down); m.widest < 2*line { // the same ones on both axes
		down = across
	}
	for y, name := range m.names {
		if y%across == 0 {
			m.c.FillText(column, vg.Point{X: m.origin.X + (vg.Length(y)+0.5)*m.cell, Y: m.origin.Y + above}, name)
		}
		if y%down == 0 {
			m.c.FillText(row, vg.Point{X: m.origin.X - gap/2, Y: m.origin.Y - (vg.Length(y)+0.5)*m.tall}, name)
		}
	}
	side := label
	side.Rotation = quarter
	m.c.FillText(side, vg.Point{X: edge + line, Y: m.origin.Y - vg.Length(n)*m.tall/2}, "class")
}

// drawCell draws the cell of a class and a prediction.
func (m matrix) drawCell(y, p int) {
	left, top := m.origin.X+vg.Length(p)*m.cell, m.origin.Y-vg.Length(y)*m.tall
	count, share := m.counts[y][p], 0.0
	if m.sizes[y] > 0 {
		share = float64(count) / float64(m.sizes[y])
	}
	tone := blue
	if p != y {
		tone = vermillion
		if m.mostWrong > 0 {
			share /= m.mostWrong
		}
	}
	const strongest = 0.85 // of the tone, on which ink can be read
	if count > 0 {         // on the paper, which a page in dark colours changes
		m.c.FillPolygon(translucent(tone, uint8(255*share*strongest+0.5)), []vg.Point{{X: left, Y: top},
			{X: left + m.cell, Y: top}, {X: left + m.cell, Y: top - m.tall}, {X: left, Y: top - m.tall}})
	}
	if len(m.counts) > mostNumbered {
		return
	}
	number := style(tickSize, xfont.WeightNormal)
	number.XAlign, number.YAlign = text.XCenter, text.YCenter
	if share > 0.7 { // on a tone this strong, paper is easier to read
		number.Color = paper
	}
	if count == 0 {
		number.Color = grey
	}
	m.c.FillText(number, vg.Point{X: left + m.cell/2, Y: top - m.tall/2}, strconv.Itoa(count))
}
