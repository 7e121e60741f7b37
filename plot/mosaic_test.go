package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"

	"dpnbench/internal/axes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The darkest tone is the least value, the brightest the largest, and tones rise with
// values in between.
func TestTone(t *testing.T) {
	for _, c := range []struct {
		v, lo, hi float64
		log       bool
		want      uint8
	}{
		{0, 0, 1, false, 0}, {1, 0, 1, false, 255}, {0.5, 0, 1, false, 128}, {-3, 0, 1, false, 0},
		{9, 0, 1, false, 255},
		{0, -1, 1, false, 128}, {5, 5, 5, false, 0},
		{1, 0.01, 100, true, 128}, {0, 0.01, 100, true, 0}, {-1, 0.01, 100, true, 0}, {1e9, 0.01, 100, true, 255},
	} {
		if got := tone(c.v, c.lo, c.hi, c.log); got != c.want {
			t.Errorf("tone of %v in %v to %v (logarithmic: %v) is %d: want %d", c.v, c.lo, c.hi, c.log, got, c.want)
		}
	}
	for i := 1; i <= 1000; i++ {
		for _, log := range []bool{false, true} {
			if a, b := tone(float64(i-1), 1, 1000, log), tone(float64(i), 1, 1000, log); b < a {
				t.Errorf("tone of %d is %d, that of %d is %d (logarithmic: %v)", i-1, a, i, b, log)
			}
		}
	}
}

// The colours of heat maps rise in brightness, so that they stay in order without hue.
func TestViridisRises(t *testing.T) {
	if len(viridis) != 256 || len(greys) != 256 {
		t.Fatalf("%d colours and %d greys", len(viridis), len(greys))
	}
	before := -1.0
	for i, c := range viridis {
		r, g, b, _ := c.RGBA()
		luma := 0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)
		if luma <= before-200 { // of 65535: rounding to 8 bits
			t.Errorf("colour %d is darker than the one before", i)
		}
		before = luma
	}
}

// TestMapScale checks that a few bright pixels do not darken all maps, and that the scale is that of all otherwise.
func TestMapScale(t *testing.T) {
	even := make([]float32, 1000)
	for i := range even {
		even[i] = float32(i%100) / 100
	}
	few := slices.Clone(even)
	few[7], few[8] = 5, 9
	for _, c := range []struct {
		x      []float32
		hi     float64
		beyond float64
	}{{even, 0.99, 0}, {few, 0.99, 0.002}} {
		lo, hi, beyond := Maps{Rows: 1, Cols: 1000, Images: []Image{{X: [][]float32{c.x}}}}.span()
		if lo != 0 || !(math.Abs(hi-c.hi) <= 1e-6) || beyond != c.beyond {
			t.Errorf("scale from %v to %v, %v beyond; want up to %v, %v", lo, hi, beyond, c.hi, c.beyond)
		}
	}
}

// TestSharpPixels draws two pixels on a PNG, and on a part of it: black and white meet within two dots.
func TestSharpPixels(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 2, 1))
	img.Pix = []uint8{0, 255}
	for cropped := range 3 {
		c := axes.NewRaster(40, 20, 144) // 80 x 40 dots
		on := draw.New(letters{c, new(bool)})
		for range cropped {
			on = draw.Crop(on, 0, 0, 0, 0)
		}
		drawImage(on, vg.Rectangle{Max: vg.Point{X: 40, Y: 20}}, img)
		between := 0
		for x := 2; x < 78; x++ { // inside the frame
			if r, _, _, _ := c.Image().At(x, 20).RGBA(); r>>8 > 5 && r>>8 < 250 {
				between++
			}
		}
		if between > 2 {
			t.Errorf("%d dots of a row are neither black nor white, cropped %d times", between, cropped)
		}
	}
}

func TestChosenSteps(t *testing.T) {
	if got := chosenSteps(30, 12); !slices.Equal(got, []int{0, 3, 5, 8, 11, 14, 16, 19, 22, 25, 27, 30}) {
		t.Errorf("12 of 0 to 30 are %v", got)
	}
	for n := range 100 {
		for most := 2; most < 15; most++ {
			got := chosenSteps(n, most)
			if len(got) != min(most, n+1) || got[0] != 0 || got[len(got)-1] != n {
				t.Fatalf("at most %d of 0 to %d are %v", most, n, got)
			}
			for i := 1; i < len(got); i++ {
				if got[i] <= got[i-1] {
					t.Fatalf("at most %d of 0 to %d are %v", most, n, got)
				}
			}
		}
	}
}

// TestColours draws galleries, strips and single images in colour: red, green and blue are the planes of an image.
func TestColours(t *testing.T) {
	x := []float32{1, 0, 0, 2, 0, 1, 0, 0.5, 0, 0, 1, -1} // red, green, blue, and orange beyond the ends
	want := []color.RGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 128, 0, 255}}
	one := Pixels(x, 2, 2)
	for j, c := range want {
		if got := color.RGBAModel.Convert(one.At(j%2, j/2)); got != c {
			t.Errorf("pixel %d is %v, want %v", j, got, c)
		}
	}
	if _, ok := Pixels(x[:4], 2, 2).(*image.Gray); !ok {
		t.Error("a grey image is not grey")
	}
	scale := Scale{High: 1, Unit: "level"}
	for name, f := range map[string]Figure{
		"gallery":           Gallery{Rows: 2, Cols: 2, Scale: scale, Images: []Image{{X: [][]float32{x}}}},
		"gallery, no scale": Gallery{Rows: 2, Cols: 2, Images: []Image{{X: [][]float32{x}}}},
		"strips":            Strips{Rows: 2, Cols: 2, Scale: scale, Strips: []Strip{{X: [][]float32{x, x}}}},
	} {
		d, err := f.layout(fileWidth)
		if err != nil {
			t.Fatal(err)
		}
		d.settle()
		b, err := d.png()
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		found := map[color.Color]int{}
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				found[color.RGBAModel.Convert(img.At(x, y))]++
			}
		}
		for _, c := range want[:3] {
			if name != "gallery, no scale" && found[c] < 20 {
				t.Errorf("%s: %d dots of %v", name, found[c], c)
			}
		}
		svg, err := d.svg("")
		if err != nil || bytes.Contains(svg, []byte("level")) {
			t.Errorf("%s: a scale of grey levels, or %v", name, err)
		}
	}
	if err := Check(Maps{Rows: 2, Cols: 2, Images: []Image{{X: [][]float32{x}}}}); err == nil {
		t.Error("a map of three colours")
	}
}
