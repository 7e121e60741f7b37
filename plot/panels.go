package plot

import (
	"dpnbench/internal/axes"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xfont "golang.org/x/image/font"
)

// panelled is a figure of several panels. On a page each of them is an image of its own, so that a phone shows one
// below the other.
type panelled interface {
	grid() (panelGrid, error)
}

// panelGrid holds the panels and what they share.
type panelGrid struct {
	plots  []*axes.Plot
	keys   []key
	note   string
	aspect vg.Length // height over width of a panel on a page
}

// legend returns the legend alone.
func (g panelGrid) legend(width vg.Length) drawing {
	return drawing{width: width, body: 1, keys: g.keys, draw: func(draw.Canvas) {}}
}

// panel returns one panel and its name.
func (g panelGrid) panel(i int, width vg.Length) (d drawing, name string) {
	p := g.plots[i]
	name = p.Title.Text
	for _, label := range []string{p.X.Label.Text, p.Y.Label.Text} {
		if label != "" {
			name += ", " + label
		}
	}
	return drawing{width: width, height: width * g.aspect, draw: tiled([]*axes.Plot{p}, 1)}, name
}

// tiled draws plots in rows of the given number of columns, their axes aligned.
func tiled(plots []*axes.Plot, columns int) func(draw.Canvas) {
	// Titles are drawn here: a plot would centre its title over axis and labels, at a height that
	// depends on the labels.
	title := style(labelSize, xfont.WeightBold)
	title.XAlign, title.YAlign = text.XCenter, text.YBottom
	titles := make([]string, len(plots))
	room := vg.Length(0)
	for i, p := range plots {
		titles[i], p.Title.Text = p.Title.Text, ""
		if titles[i] != "" {
			room = title.FontExtents().Height + gap
		}
	}
	return func(c draw.Canvas) {
		rows := (len(plots) + columns - 1) / columns
		table := make([][]*axes.Plot, rows)
		for r := range table {
			table[r] = make([]*axes.Plot, columns)
			copy(table[r], plots[r*columns:min((r+1)*columns, len(plots))])
		}
		tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 3 * gap, PadY: 2*gap + room, PadTop: room}
		canvases := axes.Align(table, tiles, c)
		for r := range table {
			for i, p := range table[r] {
				if p != nil {
					p.Draw(canvases[r][i])
					data := p.DataCanvas(canvases[r][i])
					c.FillText(title, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: data.Max.Y + gap},
						titles[r*columns+i])
				}
			}
		}
	}
}
