package gallery

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"strconv"
	"testing"

	"dpnbench/internal/webtest"
)

// camera takes pictures of figures in a browser.
type camera struct {
	t       *testing.T
	browser *webtest.Browser
}

// take returns a figure of a page as PNG, in dark or light colours, and its description.
func (c camera) take(page []byte, f figure, scheme string) (shot []byte, alt string) {
	c.browser.Scheme(scheme)
	c.browser.Open(page, 1280, 800)
	if f.prepare != "" {
		c.browser.Evaluate(f.prepare, nil)
	}
	c.browser.Evaluate(`(() => {
		const walk = document.querySelector('.walk:has(:checked)');
		const title = [...document.querySelectorAll('svg title')].find(e => e.textContent.startsWith(`+
		strconv.Quote(f.title)+`));
		const e = `+f.element+`;
		e.id = 'chosen';
		return e == walk ? 'The ascent of ' + e.querySelector('option:checked').text + ', ' +
			e.querySelector('output').textContent + ': image, potential φ and responsibilities' : title.textContent;
	})()`, &alt)
	b, err := fewer(c.browser.Shot("#chosen"))
	if err != nil {
		c.t.Fatal(err)
	}
	return b, alt
}

// fewer reduces a PNG file to the 256 colours that it has most of, without those that differ by less than likeness in
// every channel from one that it has more of. Others become the nearest of them.
func fewer(b []byte) ([]byte, error) {
	im, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	count := map[color.RGBA]int{}
	box := im.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[color.RGBAModel.Convert(im.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var most color.Palette
	for _, c := range all {
		kept := slices.ContainsFunc(most, func(k color.Color) bool { return alike(c, k.(color.RGBA)) })
		if !kept && len(most) < 256 {
			most = append(most, c)
		}
	}
	out := image.NewPaletted(box, most)
	draw.Draw(out, box, im, box.Min, draw.Src)
	var file bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, out)
	return file.Bytes(), err
}

const likeness = 8 // of 255 levels

func alike(a, b color.RGBA) bool {
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) < likeness }
	return near(a.R, b.R) && near(a.G, b.G) && near(a.B, b.B)
}
