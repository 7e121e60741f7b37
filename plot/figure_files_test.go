package plot

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkPNG decodes the file, compares its size in mm, and looks for ink at the
// edge, where something would have been cut off.
func checkPNG(t *testing.T, name string, width, height float64) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds().Size()
	for _, c := range []struct {
		what string
		got  int
		mm   float64
	}{{"width", size.X, width}, {"height", size.Y, height}} {
		if want := c.mm / 25.4 * 200; want > 0 && !(math.Abs(float64(c.got)-want) <= 1) {
			t.Errorf("%s is %d pixels: want %.0f", c.what, c.got, want)
		}
	}
	const edge = 6
	for y := range size.Y {
		for x := range size.X {
			if x >= edge && x < size.X-edge && y >= edge && y < size.Y-edge {
				continue
			}
			if r, g, b, _ := img.At(x, y).RGBA(); r != 0xffff || g != 0xffff || b != 0xffff {
				t.Fatalf("pixel %d, %d at the edge is not white: something is cut off", x, y)
			}
		}
	}
	return img
}

// coloursOf returns the colours of all pixels.
func coloursOf(img image.Image) map[color.NRGBA]bool {
	pixels := image.NewNRGBA(img.Bounds())
	draw.Draw(pixels, pixels.Rect, img, img.Bounds().Min, draw.Src)
	seen := map[color.NRGBA]bool{}
	var last color.NRGBA
	for i := 0; i < len(pixels.Pix); i += 4 {
		if c := (color.NRGBA{pixels.Pix[i], pixels.Pix[i+1], pixels.Pix[i+2], pixels.Pix[i+3]}); c != last {
			seen[c], last = true, c
		}
	}
	return seen
}

// checkSVG reads the file as XML and returns its text, a line for each element.
func checkSVG(t *testing.T, name string) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(read(t, name)))
	var text []string
	inside, root, titles := false, "", 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s is not well-formed: %v", name, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = e.Name.Local
			}
			if e.Name.Local == "title" {
				titles++
			}
			inside = e.Name.Local == "text"
			for _, a := range e.Attr {
				if inside && a.Name.Local == "style" && !strings.Contains(a.Value, "sans-serif") {
					t.Errorf("text has the style %q: want a fallback font", a.Value)
				}
			}
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				text = append(text, string(e))
			}
		}
	}
	if root != "svg" || titles != 1 {
		t.Errorf("root is %q with %d titles: want svg with one", root, titles)
	}
	return strings.Join(text, "\n")
}
