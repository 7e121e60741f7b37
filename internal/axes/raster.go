package axes

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"

	"git.sr.ht/~sbinet/gg"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// DPI is the resolution of files. It makes a figure 16 cm wide 1260 pixels wide: sharp in print at column width, small
// enough for a web page. Tests that draw many figures, but look at no pixel, lower it; those of package plot do not.
var DPI = 200.0

// Raster is a canvas of pixels. It follows vgimg of gonum.org/v1/plot (copyright the Gonum Authors), which links the
// formats TIFF and JPEG, and all transformations of images, into every program.
type Raster struct {
	ctx   *gg.Context
	img   draw.Image
	w, h  vg.Length
	width vg.Length // of lines
	dpi   float64
}

// NewRaster returns a white canvas.
func NewRaster(w, h vg.Length, dpi float64) *Raster {
	c := &Raster{w: w, h: h, dpi: dpi}
	size := image.Rect(0, 0, int(w.Dots(dpi)+0.5), int(h.Dots(dpi)+0.5))
	c.ctx = gg.NewContextForImage(image.NewRGBA(size))
	c.ctx.SetLineCapButt()
	c.img = c.ctx.Image().(draw.Image)
	c.ctx.InvertY()
	draw.Draw(c.img, c.img.Bounds(), image.White, image.Point{}, draw.Src)
	vg.Initialize(c)
	return c
}

// Image returns what is drawn.
func (c *Raster) Image() draw.Image { return c.img }

// WritePNG writes what is drawn.
func (c *Raster) WritePNG(w io.Writer) error { return png.Encode(w, c.img) }

// Size implements vg.Canvas.
func (c *Raster) Size() (w, h vg.Length) { return c.w, c.h }

// SetLineWidth implements vg.Canvas.
func (c *Raster) SetLineWidth(w vg.Length) {
	c.width = w
	c.ctx.SetLineWidth(w.Dots(c.dpi))
}

// SetLineDash implements vg.Canvas.
func (c *Raster) SetLineDash(ds []vg.Length, offs vg.Length) {
	dashes := make([]float64, len(ds))
	for i, d := range ds {
		dashes[i] = d.Dots(c.dpi)
	}
	c.ctx.SetDashOffset(offs.Dots(c.dpi))
	c.ctx.SetDash(dashes...)
}

// SetColor implements vg.Canvas.
func (c *Raster) SetColor(clr color.Color) {
	if clr == nil {
		clr = color.Black
	}
	c.ctx.SetColor(clr)
}

// Rotate implements vg.Canvas.
func (c *Raster) Rotate(t float64) { c.ctx.Rotate(t) }

// Translate implements vg.Canvas.
func (c *Raster) Translate(pt vg.Point) { c.ctx.Translate(pt.X.Dots(c.dpi), pt.Y.Dots(c.dpi)) }

// Scale implements vg.Canvas.
func (c *Raster) Scale(x, y float64) { c.ctx.Scale(x, y) }

// Push implements vg.Canvas.
func (c *Raster) Push() { c.ctx.Push() }

// Pop implements vg.Canvas.
func (c *Raster) Pop() { c.ctx.Pop() }

// Stroke implements vg.Canvas.
func (c *Raster) Stroke(p vg.Path) {
	if c.width <= 0 {
		return
	}
	c.outline(p)
	c.ctx.Stroke()
}

// Fill implements vg.Canvas.
func (c *Raster) Fill(p vg.Path) {
	c.outline(p)
	c.ctx.Fill()
}

// outline is a path for the next stroke or filling.
func (c *Raster) outline(p vg.Path) {
	for _, part := range p {
		x, y := c.dots(part.Pos)
		switch part.Type {
		case vg.MoveComp:
			c.ctx.MoveTo(x, y)
		case vg.LineComp:
			c.ctx.LineTo(x, y)
		case vg.ArcComp:
			c.ctx.DrawArc(x, y, part.Radius.Dots(c.dpi), part.Start, part.Start+part.Angle)
		case vg.CurveComp:
			x1, y1 := c.dots(part.Control[0])
			if len(part.Control) == 1 {
				c.ctx.QuadraticTo(x1, y1, x, y)
			} else {
				x2, y2 := c.dots(part.Control[1])
				c.ctx.CubicTo(x1, y1, x2, y2, x, y)
			}
		case vg.CloseComp:
			c.ctx.ClosePath()
		}
	}
}

func (c *Raster) dots(p vg.Point) (x, y float64) { return p.X.Dots(c.dpi), p.Y.Dots(c.dpi) }

// FillString implements vg.Canvas.
func (c *Raster) FillString(f font.Face, at vg.Point, text string) {
	const hinting = xfont.HintingNone
	size := fixed.Int26_6(64*f.Font.Size.Dots(c.dpi) + 0.5)
	x, y := c.dots(at)
	var b sfnt.Buffer
	last := sfnt.GlyphIndex(0)
	for _, r := range text {
		glyph, err := f.Face.GlyphIndex(&b, r)
		if err != nil {
			continue
		}
		if kern, err := f.Face.Kern(&b, last, glyph, size, hinting); last > 0 && err == nil {
			x += float64(kern) / 64
		}
		if outline, err := f.Face.LoadGlyph(&b, glyph, size, nil); err == nil {
			c.fillGlyph(outline, x, y)
		}
		if advance, err := f.Face.GlyphAdvance(&b, glyph, size, hinting); err == nil {
			x += float64(advance) / 64
		}
		last = glyph
	}
}

// fillGlyph fills an outline, whose y axis points down.
func (c *Raster) fillGlyph(outline sfnt.Segments, x, y float64) {
	for _, s := range outline {
		var at [3][2]float64
		for i, p := range s.Args {
			at[i] = [2]float64{x + float64(p.X)/64, y - float64(p.Y)/64}
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			c.ctx.MoveTo(at[0][0], at[0][1])
		case sfnt.SegmentOpLineTo:
			c.ctx.LineTo(at[0][0], at[0][1])
		case sfnt.SegmentOpQuadTo:
			c.ctx.QuadraticTo(at[0][0], at[0][1], at[1][0], at[1][1])
		case sfnt.SegmentOpCubeTo:
			c.ctx.CubicTo(at[0][0], at[0][1], at[1][0], at[1][1], at[2][0], at[2][1])
		}
	}
	c.ctx.Fill()
}

// DrawImage implements vg.Canvas, for canvases that are neither turned nor scaled. Pixels stay sharp.
func (c *Raster) DrawImage(rect vg.Rectangle, img image.Image) {
	x0, y0 := c.dots(rect.Min)
	x1, y1 := c.dots(rect.Max)
	height := c.h.Dots(c.dpi)
	to := image.Rect(int(x0+0.5), int(height-y1+0.5), int(x1+0.5), int(height-y0+0.5))
	from := img.Bounds()
	for y := to.Min.Y; y < to.Max.Y; y++ {
		row := from.Min.Y + (2*(y-to.Min.Y)+1)*from.Dy()/(2*to.Dy())
		for x := to.Min.X; x < to.Max.X; x++ {
			c.img.Set(x, y, img.At(from.Min.X+(2*(x-to.Min.X)+1)*from.Dx()/(2*to.Dx()), row))
		}
	}
}
