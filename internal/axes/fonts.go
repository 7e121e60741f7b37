package axes

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	_ "codeberg.org/go-fonts/liberation" // the fonts' licence comes with the program
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Typeface and variant of all text.
const (
	typeface = "Liberation"
	variant  = "Sans"
)

// The fonts of module liberation, compressed by zopfli, which halves them. go test -update writes them.
var (
	//go:embed liberation-sans-regular.ttf.gz
	regularFont []byte
	//go:embed liberation-sans-bold.ttf.gz
	boldFont []byte
)

// Text draws plain text in the one typeface: Liberation Sans, regular and bold.
var Text text.Handler = lazyText{}

// lazyText is text.Plain with fonts that are unpacked at the first use.
type lazyText struct{}

func (lazyText) plain() text.Plain { return text.Plain{Fonts: fonts()} }

// Cache implements text.Handler.
func (t lazyText) Cache() *font.Cache { return fonts() }

// Extents implements text.Handler.
func (t lazyText) Extents(f font.Font) font.Extents { return t.plain().Extents(f) }

// Lines implements text.Handler.
func (t lazyText) Lines(s string) []string { return t.plain().Lines(s) }

// Box implements text.Handler.
func (t lazyText) Box(s string, f font.Font) (width, height, depth vg.Length) {
	return t.plain().Box(s, f)
}

// Draw implements text.Handler.
func (t lazyText) Draw(c vg.Canvas, s string, sty text.Style, at vg.Point) {
	t.plain().Draw(c, s, sty, at)
}

var fonts = sync.OnceValue(func() *font.Cache {
	return font.NewCache(font.Collection{
		face(xfont.WeightNormal, regularFont),
		face(xfont.WeightBold, boldFont),
	})
})

// face returns the font of a weight. It is part of the program, so that there are no errors.
func face(weight xfont.Weight, compressed []byte) font.Face {
	ttf, err := unpack(compressed)
	if err == nil {
		var f *opentype.Font
		if f, err = opentype.Parse(ttf); err == nil {
			return font.Face{Font: Font(0, weight), Face: f}
		}
	}
	panic(fmt.Sprintf("axes: font of weight %d: %v", weight, err))
}

func unpack(compressed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Font returns the typeface in a size and a weight.
func Font(size vg.Length, weight xfont.Weight) font.Font {
	return font.Font{Typeface: typeface, Variant: variant, Size: size, Weight: weight}
}
