package plot

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// classColours are ten colours that differ under the common forms of colour
// blindness: the "muted" scheme of Paul Tol (Colour Schemes, SRON/EPS/TN/09-002,
// issue 3.2), with black for a tenth.
var classColours = []color.NRGBA{
	{R: 0xcc, G: 0x66, B: 0x77, A: 0xff}, // rose
	{R: 0x33, G: 0x22, B: 0x88, A: 0xff}, // indigo
	{R: 0xdd, G: 0xcc, B: 0x77, A: 0xff}, // sand
	{R: 0x11, G: 0x77, B: 0x33, A: 0xff}, // green
	{R: 0x88, G: 0xcc, B: 0xee, A: 0xff}, // cyan
	{R: 0x88, G: 0x22, B: 0x55, A: 0xff}, // wine
	{R: 0x44, G: 0xaa, B: 0x99, A: 0xff}, // teal
	{R: 0x99, G: 0x99, B: 0x33, A: 0xff}, // olive
	{R: 0xaa, G: 0x44, B: 0x99, A: 0xff}, // purple
	{R: 0x00, G: 0x00, B: 0x00, A: 0xff}, // black
}

// The two colours of line figures: blue and vermillion of Okabe and Ito (2008).
var (
	blue       = color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	vermillion = color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
)

// translucent returns c with an opacity of 0 to 255.
func translucent(c color.Color, opacity uint8) color.NRGBA {
	out := color.NRGBAModel.Convert(c).(color.NRGBA)
	out.A = opacity
	return out
}

// classGlyph returns the mark of class k. Both shape and colour differ
// between classes; more than ten classes repeat a colour with another shape.
func classGlyph(k int, radius vg.Length) draw.GlyphStyle {
	colours := len(classColours)
	g := draw.GlyphStyle{Color: classColours[k%colours], Radius: radius}
	switch (k + k/colours) % 3 {
	case 0:
		g.Shape = draw.CircleGlyph{}
	case 1:
		g.Shape, g.Radius = draw.BoxGlyph{}, radius*0.9
	case 2:
		g.Shape = draw.PyramidGlyph{}
	}
	return g
}
