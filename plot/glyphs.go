package plot

import (
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// missing stands for a letter that the font does not have, so that names of other scripts do not
// vanish. An SVG keeps the letters: browsers have other fonts.
const missing = '□'

// letters is a canvas for PNG that draws missing for every letter that the font lacks.
type letters struct{ *vgimg.Canvas }

// FillString implements vg.Canvas.
func (c letters) FillString(f font.Face, at vg.Point, s string) {
	var b sfnt.Buffer
	c.Canvas.FillString(f, at, strings.Map(func(r rune) rune {
		if i, err := f.Face.GlyphIndex(&b, r); err != nil || i == 0 {
			return missing
		}
		return r
	}, s))
}
