package plot

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"
	"dpnbench/internal/output"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure is one of the figures of this package.
type Figure interface {
	// heading is the title.
	heading() string
	// layout returns the drawing for a width. A figure with a fixed shape may be wider.
	layout(width vg.Length) (drawing, error)
	// describe says what a figure that can be drawn shows, with numbers, to those who do not see it.
	describe() string
}

// Widths of figures. Three of a page are side by side on a wide screen, each about as wide as the one
// on a phone: in both places the text of 9 points is about 10 pixels high.
const (
	fileWidth = 16 * vg.Centimeter
	pageWidth = 11.5 * vg.Centimeter
	wideWidth = 3 * pageWidth // the width of a page
	flat      = 0.64          // height over width of most figures
)

// Save writes f as path.png and path.svg, creating the folder if there is none. Each
// file appears whole or not at all.
func Save(path string, f Figure) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var files output.Batch
	defer files.Discard()
	if err := Add(&files, path, f); err != nil {
		return err
	}
	return files.Commit()
}

// Add adds f as path.png and path.svg to a batch of files, which appear when it is committed. Only packages of this
// module can make one; others call Save.
func Add(files *output.Batch, path string, f Figure) error {
	d, err := f.layout(fileWidth)
	if err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	d.title = f.heading()
	return d.add(files, path)
}

// Check returns why f cannot be drawn, or nil.
func Check(f Figure) error {
	_, err := f.layout(fileWidth)
	return err
}

// drawing is what all figures have in common: a title, the legend (outside the axes, so that it
// never covers data), the plots and a note below.
type drawing struct {
	width, height vg.Length
	body          vg.Length // height that draw needs; 0: what height leaves
	title, note   string
	keys          []key
	draw          func(c draw.Canvas)
}

// key is one entry of the legend: a line, a glyph or both.
type key struct {
	text  string
	line  *draw.LineStyle
	glyph *draw.GlyphStyle
}

// Files returns the names of the files that [Save] writes for path.
func Files(path string) []string { return []string{path + ".png", path + ".svg"} }

// add adds the files to a batch.
func (f drawing) add(files *output.Batch, path string) error {
	f.settle()
	encoders := []func() ([]byte, error){f.png, func() ([]byte, error) { return f.svg(f.title) }}
	for i, name := range Files(path) {
		b, err := encoders[i]()
		if err != nil {
			return fmt.Errorf("plot: figure %s: %w", name, err)
		}
		if err := files.Write(name, output.Bytes(b)); err != nil {
			return err
		}
	}
	return nil
}

func (f drawing) png() ([]byte, error) {
	b, lacked, err := f.raster()
	if lacked && err == nil { // once more, with a note
		f.note = strings.TrimSpace(f.note + " " + missingNote)
		f.settle()
		b, _, err = f.raster()
	}
	return b, err
}

// raster returns the PNG, and whether its font lacks a letter.
func (f drawing) raster() (b []byte, lacked bool, err error) {
	c := axes.NewRaster(f.width, f.height, axes.DPI)
	f.render(draw.New(letters{c, &lacked}))
	var out bytes.Buffer
	err = c.WritePNG(&out)
	return out.Bytes(), lacked, err
}

const (
	titleSize = vg.Length(12)
	labelSize = vg.Length(10)
	tickSize  = vg.Length(9)
	noteSize  = vg.Length(8)

	margin  = vg.Length(8)
	gap     = vg.Length(6)
	keyIcon = vg.Length(20)
)

// style returns text in the figures' one typeface, from the top left corner.
func style(size vg.Length, weight xfont.Weight) text.Style {
	return text.Style{
		Color:   ink,
		Font:    axes.Font(size, weight),
		XAlign:  text.XLeft,
		YAlign:  text.YTop,
		Handler: axes.Text,
	}
}

// settle computes the height of a drawing whose body has a fixed one.
func (f *drawing) settle() {
	if f.body == 0 {
		return
	}
	width := f.width - 2*margin
	_, legend := f.placeKeys(width)
	f.height = 2*margin + legend + f.body
	title := style(titleSize, xfont.WeightBold)
	for _, line := range wrap(title, f.title, width) {
		f.height += title.Height(line) + gap/2
	}
	if f.title != "" {
		f.height += gap / 2
	}
	note := style(noteSize, xfont.WeightNormal)
	for i, line := range wrap(note, f.note, width) {
		if i == 0 {
			f.height += gap
		}
		f.height += note.Height(line)
	}
}

// render draws the parts from the outside in; the plots get what is left.
func (f drawing) render(c draw.Canvas) {
	c.SetColor(paper)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)

	title := style(titleSize, xfont.WeightBold)
	for _, line := range wrap(title, f.title, c.Max.X-c.Min.X) {
		c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, line)
		c.Max.Y -= title.Height(line) + gap/2
	}
	if f.title != "" {
		c.Max.Y -= gap / 2
	}
	c.Max.Y = f.renderKeys(c)

	note := style(noteSize, xfont.WeightNormal)
	note.Color = grey
	lines := wrap(note, f.note, c.Max.X-c.Min.X)
	for _, line := range slices.Backward(lines) {
		c.Min.Y += note.Height(line)
		c.FillText(note, vg.Point{X: c.Min.X, Y: c.Min.Y}, line)
	}
	if len(lines) > 0 {
		c.Min.Y += gap
	}
	f.draw(c)
}

// icon is the width of the line or glyph before the text.
func (k key) icon() vg.Length {
	if k.line == nil {
		return keyIcon / 2
	}
	return keyIcon
}

// label is the text, cut off where the row ends.
func (k key) label(sty text.Style, width vg.Length) string {
	return strings.Join(fit(sty, k.text, width-k.icon()-gap/2, 1), "")
}

// placeKeys returns where each entry of the legend begins, from the top left corner, and
// the height of all rows.
func (f drawing) placeKeys(width vg.Length) (at []vg.Point, height vg.Length) {
	if len(f.keys) == 0 {
		return nil, 0
	}
	label := style(labelSize, xfont.WeightNormal)
	row := label.FontExtents().Height + gap/2
	var p vg.Point
	for i, k := range f.keys {
		w := k.icon() + gap/2 + label.Width(k.label(label, width))
		if i > 0 && p.X+w > width {
			p = vg.Point{Y: p.Y - row}
		}
		at = append(at, p)
		p.X += w + 2*gap
	}
	return at, row + gap - p.Y
}

// renderKeys draws the legend in rows and returns the height left below it.
func (f drawing) renderKeys(c draw.Canvas) vg.Length {
	label := style(labelSize, xfont.WeightNormal)
	row := label.FontExtents().Height + gap/2
	at, height := f.placeKeys(c.Max.X - c.Min.X)
	for i, k := range f.keys {
		icon, txt := k.icon(), k.label(label, c.Max.X-c.Min.X)
		x := c.Min.X + at[i].X
		middle := c.Max.Y + at[i].Y - row/2 + gap/4
		if k.line != nil {
			c.StrokeLine2(*k.line, x, middle, x+icon, middle)
		}
		if k.glyph != nil {
			c.DrawGlyphNoClip(*k.glyph, vg.Point{X: x + icon/2, Y: middle})
		}
		centred := label
		centred.YAlign = text.YCenter
		// Centring includes descenders; lower-case text looks centred slightly higher.
		c.FillText(centred, vg.Point{X: x + icon + gap/2, Y: middle + 1}, txt)
	}
	return c.Max.Y - height
}

// wrap breaks s at spaces into lines no wider than width; a word that is wider
// by itself has a line of its own.
func wrap(sty text.Style, s string, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(format.Printable(s)) {
		if n := len(lines); n > 0 && sty.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// newPlot returns an empty plot in the style of all figures.
func newPlot(title, x, y string) *axes.Plot {
	p := axes.New(style(tickSize, xfont.WeightNormal))
	p.Title.Text = format.Printable(title)
	p.Title.Padding = gap / 2
	p.Title.TextStyle.Font = axes.Font(labelSize, xfont.WeightBold)
	for _, a := range []struct {
		axis  *axes.Axis
		label string
	}{{&p.X, x}, {&p.Y, y}} {
		a.axis.Label.Text = format.Printable(a.label)
		a.axis.Label.TextStyle.Font = axes.Font(labelSize, xfont.WeightNormal)
		a.axis.Label.Padding = gap / 2
		a.axis.LineStyle = draw.LineStyle{Color: ink, Width: 0.5}
		a.axis.Tick.LineStyle = a.axis.LineStyle
		a.axis.Tick.Length = 4
	}
	return p
}
