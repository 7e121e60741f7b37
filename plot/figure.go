package plot

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"
	"dpnbench/internal/output"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// pngDPI makes a figure 16 cm wide 1260 pixels wide: sharp in print at column
// width, small enough for a web page.
const pngDPI = 200

// Figure is one of the figures of this package.
type Figure interface {
	// heading is the title.
	heading() string
	// layout returns the drawing for a width. A figure with a fixed shape may be wider.
	layout(width vg.Length) (drawing, error)
}

// Widths of figures. Those of a page are side by side on a wide screen and shrink to the width of
// a phone: they are narrow enough for their text to stay readable there.
const (
	fileWidth  = 16 * vg.Centimeter
	pageWidth  = 12.5 * vg.Centimeter
	wideWidth  = 2 * pageWidth     // the width of a page
	pageHeight = 8 * vg.Centimeter // without the legend
)

// Save writes f as path.png and path.svg, creating the folder if there is none. Each
// file appears whole or not at all.
func Save(path string, f Figure) error {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("plot: figure %s: %w", path, err)
		}
	}
	var files output.Batch
	defer files.Discard()
	if err := Add(&files, path, f); err != nil {
		return err
	}
	if err := files.Commit(); err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	return nil
}

// Add adds f as path.png and path.svg to a batch of files, which appear when it is committed.
func Add(files *output.Batch, path string, f Figure) error {
	d, err := f.layout(fileWidth)
	if err != nil {
		return fmt.Errorf("plot: figure %s: %w", path, err)
	}
	d.title = f.heading()
	return d.add(files, path)
}

// SVG returns f as SVG to embed in a page: without an XML declaration, as wide as its container,
// a single image to screen readers, and without ids, so that any number of figures can share a
// page.
func SVG(f Figure) ([]byte, error) {
	svg, err := Inline(f, "", false)
	if err != nil {
		return nil, fmt.Errorf("plot: %w", err)
	}
	return svg, nil
}

// Check returns why f cannot be drawn, or nil.
func Check(f Figure) error {
	_, err := f.layout(fileWidth)
	return err
}

// Inline is [SVG] with a text alternative: alt follows the title in what screen readers read.
// A wide figure is drawn for the whole width of a page, others for half of it.
func Inline(f Figure, alt string, wide bool) ([]byte, error) {
	width := pageWidth
	if wide {
		width = wideWidth
	}
	d, err := f.layout(width)
	if err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	d.title, d.alt = f.heading(), alt
	out, err := d.inline()
	if err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	return out, nil
}

// drawing is what all figures have in common: a title, the legend (outside the axes, so that it
// never covers data), the plots and a note below.
type drawing struct {
	width, height vg.Length
	body          vg.Length // height that draw needs; 0: what height leaves
	title, note   string
	alt           string // what screen readers read after the title
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
	encoders := []func() ([]byte, error){f.png, f.svg}
	for i, name := range Files(path) {
		b, err := encoders[i]()
		if err == nil {
			err = files.Write(name, func(w io.Writer) error { _, err := w.Write(b); return err })
		}
		if err != nil {
			return fmt.Errorf("plot: figure %s: %w", name, err)
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
	c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(pngDPI))
	f.render(draw.New(letters{c, &lacked}))
	var out bytes.Buffer
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(&out)
	return out.Bytes(), lacked, err
}

var svgStart = regexp.MustCompile(`<svg [^>]*>\n`)

func (f drawing) svg() ([]byte, error) {
	c := vgsvg.New(f.width, f.height)
	f.render(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// gonum/plot labels its PNG data as JPEG, and lets viewers smooth enlarged pixels.
	out := bytes.ReplaceAll(b.Bytes(), []byte(`xlink:href="data:image/jpg;`),
		[]byte(`preserveAspectRatio="none" style="image-rendering:pixelated" xlink:href="data:image/png;`))
	// Text stays text. Few systems besides Linux have the font, so fonts with the same metrics are
	// named as well. A title describes the figure to screen readers.
	out = bytes.ReplaceAll(out, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	at := svgStart.FindIndex(out)
	if at == nil {
		return nil, fmt.Errorf("the SVG has no start tag")
	}
	name := f.title
	if f.alt != "" {
		name = strings.TrimPrefix(strings.TrimSuffix(name, ".")+". "+f.alt, ". ")
	}
	title := "<title>" + html.EscapeString(format.Printable(name)) + "</title>\n"
	return append(out[:at[1]:at[1]], append([]byte(title), out[at[1]:]...)...), nil
}

// inline returns the SVG to embed in a page. The legend adds to the height, so that axes are
// equally high in every figure.
func (f drawing) inline() ([]byte, error) {
	_, legend := f.placeKeys(f.width - 2*margin)
	f.height += legend
	f.settle()
	out, err := f.svg()
	if err != nil {
		return nil, err
	}
	out = bytes.ReplaceAll(out, []byte(" xlink:href="), []byte(" href=")) // HTML has no namespaces
	start := fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.5g %.5g\" role=\"img\">\n", f.width,
		f.height)
	return append([]byte(start), out[svgStart.FindIndex(out)[1]:]...), nil
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

var (
	ink   = color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 0xff}
	faint = color.NRGBA{R: 0xe4, G: 0xe4, B: 0xe4, A: 0xff}
	grey  = color.NRGBA{R: 0x66, G: 0x66, B: 0x66, A: 0xff}
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
	c.SetColor(color.White)
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
	for i := len(lines) - 1; i >= 0; i-- {
		c.Min.Y += note.Height(lines[i])
		c.FillText(note, vg.Point{X: c.Min.X, Y: c.Min.Y}, lines[i])
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
		w := k.icon() + gap/2 + label.Width(format.Printable(k.text))
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
		icon, txt := k.icon(), format.Printable(k.text)
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
