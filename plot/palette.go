package plot

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette are the ten colours of marks and lines, by class or series: blue and vermillion of Okabe and Ito (2008),
// others chosen so that all differ under the common forms of colour blindness and stand out from white paper by a
// contrast of 3 at least (WCAG 2.2, 1.4.11). Black is next to black, since SVG leaves out the colour of black.
var palette = []color.NRGBA{
	{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, // blue
	{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, // vermillion
	{R: 0x00, G: 0x97, B: 0x65, A: 0xff}, // green
	{R: 0x9b, G: 0x70, B: 0xf5, A: 0xff}, // violet
	{R: 0xa1, G: 0x04, B: 0x00, A: 0xff}, // red
	{R: 0xf5, G: 0x60, B: 0x80, A: 0xff}, // pink
	{R: 0x00, G: 0x59, B: 0x56, A: 0xff}, // petrol
	{R: 0x41, G: 0x00, B: 0xf1, A: 0xff}, // indigo
	{R: 0x84, G: 0x94, B: 0xb3, A: 0xff}, // blue-grey
	{R: 0x01, G: 0x01, B: 0x01, A: 0xff}, // black
}

// darkPalette are the colours on dark paper. Dark ones among the palette need others, not only lighter ones.
var darkPalette = []color.NRGBA{
	{R: 0x4b, G: 0xa6, B: 0xe0, A: 0xff}, // blue
	{R: 0xe5, G: 0x7b, B: 0x28, A: 0xff}, // vermillion
	{R: 0x1f, G: 0xb0, B: 0x7e, A: 0xff}, // green
	{R: 0xb0, G: 0x8c, B: 0xff, A: 0xff}, // violet
	{R: 0xee, G: 0xd0, B: 0x60, A: 0xff}, // yellow for red
	{R: 0xd8, G: 0x4a, B: 0x60, A: 0xff}, // rose for pink
	{R: 0x86, G: 0xcf, B: 0xca, A: 0xff}, // light petrol
	{R: 0x73, G: 0x82, B: 0xff, A: 0xff}, // light indigo
	{R: 0x84, G: 0x94, B: 0xb3, A: 0xff}, // blue-grey
	{R: 0xe3, G: 0xe7, B: 0xec, A: 0xff}, // white for black
}

// The two colours of most figures.
var blue, vermillion = palette[0], palette[1]

// Text, grids and notes; a page in dark colours replaces them by others.
var (
	ink   = color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 0xff}
	faint = color.NRGBA{R: 0xe4, G: 0xe4, B: 0xe4, A: 0xff}
	grey  = color.NRGBA{R: 0x66, G: 0x66, B: 0x66, A: 0xff}
	paper = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}

	darkInk   = color.NRGBA{R: 0xe3, G: 0xe7, B: 0xec, A: 0xff}
	darkFaint = color.NRGBA{R: 0x32, G: 0x3a, B: 0x44, A: 0xff}
	darkGrey  = color.NRGBA{R: 0x9d, G: 0xa8, B: 0xb4, A: 0xff}
	darkPaper = color.NRGBA{R: 0x14, G: 0x18, B: 0x1d, A: 0xff}
)

// DarkStyle returns rules of CSS that turn the figures within a selector from dark marks on white into light
// marks on dark paper. Images and heat maps keep their colours.
func DarkStyle(selector string) string {
	var out strings.Builder
	for _, c := range darkColours() {
		from, to := hex(c[0]), hex(c[1])
		for _, property := range []string{"fill", "stroke"} {
			fmt.Fprintf(&out, "%s [style*=\"%s:%s\"]{%s:%s!important}\n", selector, property, from, property, to)
		}
	}
	return out.String()
}

// darkColours are pairs of a colour and what replaces it on dark paper.
func darkColours() [][2]color.NRGBA {
	pairs := [][2]color.NRGBA{{ink, darkInk}, {faint, darkFaint}, {grey, darkGrey}, {paper, darkPaper}}
	for i, c := range palette {
		pairs = append(pairs, [2]color.NRGBA{c, darkPalette[i]})
	}
	return pairs
}

// hex is a colour as SVG has it.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// exact is a colour that an SVG names exactly, however translucent: gonum/plot rounds premultiplied levels down.
type exact color.NRGBA

// RGBA implements color.Color.
func (c exact) RGBA() (r, g, b, a uint32) {
	a = uint32(c.A) * 0x101
	up := func(v uint8) uint32 { return (uint32(v)*a + 254) / 255 }
	return up(c.R), up(c.G), up(c.B), a
}

// translucent returns c with an opacity of 0 to 255.
func translucent(c color.Color, opacity uint8) color.NRGBA {
	out := color.NRGBAModel.Convert(c).(color.NRGBA)
	out.A = opacity
	return out
}

// classGlyph returns the mark of class k. Both shape and colour differ
// between classes; more than ten classes repeat a colour with another shape.
func classGlyph(k int, radius vg.Length) draw.GlyphStyle {
	colours := len(palette)
	g := draw.GlyphStyle{Color: palette[k%colours], Radius: radius}
	switch (k + k/colours) % 5 {
	case 0:
		g.Shape = draw.CircleGlyph{}
	case 1:
		g.Shape, g.Radius = draw.BoxGlyph{}, radius*0.9
	case 2:
		g.Shape = draw.PyramidGlyph{}
	case 3:
		g.Shape = diamond
	case 4:
		g.Shape = downwards
	}
	return g
}

// polygon is a filled mark with corners in units of the radius.
type polygon [][2]vg.Length

var (
	diamond   = &polygon{{0, 1.25}, {1.25, 0}, {0, -1.25}, {-1.25, 0}}
	downwards = &polygon{{-1.1, 0.75}, {1.1, 0.75}, {0, -1.15}} // a triangle
)

// DrawGlyph implements draw.GlyphDrawer.
func (p *polygon) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	for i, corner := range *p {
		to := vg.Point{X: at.X + corner[0]*g.Radius, Y: at.Y + corner[1]*g.Radius}
		if i == 0 {
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	path.Close()
	c.SetColor(g.Color)
	c.Fill(path)
}
