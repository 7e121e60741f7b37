package plot

import (
	"strings"

	"dpnbench/internal/axes"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// missing stands for a letter that the font does not have, so that names of other scripts do not
// vanish, and missingNote says so. An SVG keeps the letters: browsers have other fonts.
const (
	missing     = '□'
	missingNote = "□ stands for a letter that the font of PNG figures lacks: the SVG of the same name has it."
)

// letters is a canvas for PNG that draws missing for every letter that the font lacks.
type letters struct {
	*axes.Raster
	lacked *bool // set when it lacks one
}

// FillString implements vg.Canvas.
func (c letters) FillString(f font.Face, at vg.Point, s string) {
	var b sfnt.Buffer
	c.Raster.FillString(f, at, strings.Map(func(r rune) rune {
		if i, err := f.Face.GlyphIndex(&b, r); err != nil || i == 0 {
			*c.lacked = true
			return missing
		}
		return r
	}, s))
}
