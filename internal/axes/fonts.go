package axes

import (
	"fmt"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
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

// Text draws plain text in the one typeface: Liberation Sans, regular and bold.
var Text text.Handler = text.Plain{Fonts: fonts()}

func fonts() *font.Cache {
	return font.NewCache(font.Collection{
		face(xfont.WeightNormal, liberationsansregular.TTF),
		face(xfont.WeightBold, liberationsansbold.TTF),
	})
}

func face(weight xfont.Weight, ttf []byte) font.Face {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(fmt.Sprintf("axes: font of weight %d: %v", weight, err)) // it is part of the program
	}
	return font.Face{Font: Font(0, weight), Face: f}
}

// Font returns the typeface in a size and a weight.
func Font(size vg.Length, weight xfont.Weight) font.Font {
	return font.Font{Typeface: typeface, Variant: variant, Size: size, Weight: weight}
}
