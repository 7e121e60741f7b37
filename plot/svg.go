package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strings"

	"dpnbench/internal/format"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Embedded is a figure for a page of HTML, which shows title and note itself.
type Embedded struct {
	Title, Note string   // plain text
	Legend      []byte   // an image above the panels; nil unless there are several
	SVG         [][]byte // one image, or one for each panel
}

// Embed draws f for a page. Each image is as wide as its container, a single image to screen readers, which
// read the title and alt (empty: a description of the data), and has no ids, so that any number of figures can
// share a page. A wide figure is drawn for the whole width of a page, others for a third of it, panels for a third or,
// if they are four, a quarter.
func Embed(f Figure, alt string, wide bool) (Embedded, error) {
	out := Embedded{Title: f.heading()}
	var err error
	if p, ok := f.(panelled); ok {
		err = out.addPanels(p, alt, f.describe)
	} else {
		width := pageWidth
		if wide {
			width = wideWidth
		}
		var d drawing
		if d, err = f.layout(width); err == nil {
			out.Note, d.note = strings.TrimSpace(d.note), ""
			err = out.add(d, named(out.Title, cmp.Or(alt, f.describe())))
		}
	}
	if err != nil {
		return out, fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	return out, nil
}

// HasPanels reports whether a page shows f as an image for each of its panels.
func HasPanels(f Figure) bool {
	_, ok := f.(panelled)
	return ok
}

func (e *Embedded) addPanels(p panelled, alt string, describe func() string) error {
	g, err := p.grid()
	if err != nil {
		return err
	}
	e.Note = strings.TrimSpace(g.note)
	if len(g.keys) > 0 {
		if e.Legend, err = g.legend(pageWidth).inline("Legend"); err != nil {
			return err
		}
	}
	width := pageWidth
	if len(g.plots) == 4 { // a page has room for all in a row, a quarter of its width for each
		width = wideWidth / 4
	}
	for i := range g.plots {
		d, name := g.panel(i, width)
		if i == 0 {
			name = named(e.Title, named(name, cmp.Or(alt, describe())))
		}
		if err := e.add(d, name); err != nil {
			return err
		}
	}
	return nil
}

func (e *Embedded) add(d drawing, name string) error {
	svg, err := d.inline(name)
	e.SVG = append(e.SVG, svg)
	return err
}

// named is a title and what the figure shows, in words.
func named(title, alt string) string {
	if alt == "" {
		return title
	}
	return strings.TrimPrefix(strings.TrimSuffix(title, ".")+". "+alt, ". ")
}

var svgStart = regexp.MustCompile(`<svg [^>]*>\n`)

// svg returns the file. The text alternative is what screen readers read.
func (f drawing) svg(alternative string) ([]byte, error) {
	c := &measured{Canvas: vgsvg.New(f.width, f.height)}
	f.render(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// gonum/plot labels its PNG data as JPEG, and lets viewers smooth enlarged pixels.
	out := bytes.ReplaceAll(b.Bytes(), []byte(`xlink:href="data:image/jpg;`),
		[]byte(`preserveAspectRatio="none" style="image-rendering:pixelated" xlink:href="data:image/png;`))
	// Few systems besides Linux have the font, so fonts with the same metrics are named as well.
	out = bytes.ReplaceAll(out, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	out = c.fix(out)
	at := svgStart.FindIndex(out)
	if at == nil {
		return nil, fmt.Errorf("the SVG has no start tag")
	}
	title := "<title>" + html.EscapeString(format.Printable(alternative)) + "</title>\n"
	return append(out[:at[1]:at[1]], append([]byte(title), out[at[1]:]...)...), nil
}

// measured is a canvas for SVG that knows how wide each text is.
type measured struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString implements vg.Canvas.
func (m *measured) FillString(f font.Face, at vg.Point, s string) {
	m.widths = append(m.widths, f.Width(s))
	m.Canvas.FillString(f, at, s)
}

// SetColor implements vg.Canvas.
func (m *measured) SetColor(c color.Color) {
	m.Canvas.SetColor(exact(color.NRGBAModel.Convert(c).(color.NRGBA)))
}

// fix gives every text the width that the layout has measured, whatever font the viewer uses: it stays text,
// and can neither be cut off nor run into its neighbour.
func (m *measured) fix(svg []byte) []byte {
	parts := bytes.Split(svg, []byte("<text "))
	var out bytes.Buffer
	for i, part := range parts {
		if i > 0 {
			out.WriteString("<text ")
			if w := m.widths[i-1]; w > 0 {
				fmt.Fprintf(&out, `textLength="%.5g" lengthAdjust="spacingAndGlyphs" `, w.Points())
			}
		}
		out.Write(part)
	}
	return out.Bytes()
}

// inline returns the SVG to embed in a page. The legend adds to the height, so that axes are
// equally high in every figure.
func (f drawing) inline(alternative string) ([]byte, error) {
	if f.body == 0 {
		_, legend := f.placeKeys(f.width - 2*margin)
		f.height += legend
	}
	f.settle()
	out, err := f.svg(alternative)
	if err != nil {
		return nil, err
	}
	out = bytes.ReplaceAll(out, []byte(" xlink:href="), []byte(" href=")) // HTML has no namespaces
	start := fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.5g %.5g\" role=\"img\">\n", f.width,
		f.height)
	return append([]byte(start), out[svgStart.FindIndex(out)[1]:]...), nil
}
