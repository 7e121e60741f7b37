package plot

import (
	"bytes"
	"testing"

	"dpnbench/internal/axes"
	"dpnbench/internal/longtest"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
)

// TestMissingLetters checks that names in a script that the font lacks leave a trace in a PNG, and
// stay what they are in an SVG.
func TestMissingLetters(t *testing.T) {
	longtest.Native(t)
	images := map[string][]byte{}
	for _, title := range []string{"on ", "on 手写", "on 数字写"} {
		f := Training{Title: title, Epochs: []Epoch{{Epoch: 1, TrainLoss: 1}, {Epoch: 2, TrainLoss: 0.5}}}
		d, err := f.layout(fileWidth)
		if err != nil {
			t.Fatal(err)
		}
		d.title = f.heading()
		b, err := d.png()
		if err != nil {
			t.Fatal(err)
		}
		for other, c := range images {
			if bytes.Equal(b, c) {
				t.Errorf("the PNGs of %q and %q are the same", title, other)
			}
		}
		images[title] = b
		d.note = missingNote
		noted, lacked, err := d.raster()
		if err != nil || lacked == (title == "on ") || bytes.Equal(b, noted) == (title == "on ") {
			t.Errorf("%q: letters are missing: %v, a note says so: %v, %v", title, lacked, bytes.Equal(b, noted), err)
		}
		if svg, err := d.svg(""); err != nil || !bytes.Contains(svg, []byte(title)) {
			t.Errorf("no %q in the SVG, %v", title, err)
		}
	}
	for _, w := range []xfont.Weight{xfont.WeightNormal, xfont.WeightBold} {
		face := axes.Text.Cache().Lookup(style(titleSize, w).Font, titleSize)
		if i, err := face.Face.GlyphIndex(&sfnt.Buffer{}, missing); err != nil || i == 0 {
			t.Errorf("weight %v: the font lacks the replacement itself, %v", w, err)
		}
	}
}
