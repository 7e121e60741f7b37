package plot

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestContrast checks that marks and text stand out from the paper: WCAG 2.2 asks for 3 of graphics and 4.5 of text.
func TestContrast(t *testing.T) {
	for _, c := range []struct {
		paper       color.NRGBA
		marks, text []color.NRGBA
	}{{paper, palette, []color.NRGBA{ink, grey}}, {darkPaper, darkPalette, []color.NRGBA{darkInk, darkGrey}}} {
		for i, mark := range c.marks {
			if got := contrast(mark, c.paper); got < 3 {
				t.Errorf("colour %d, %s, on %s: contrast %.2f, want 3", i, hex(mark), hex(c.paper), got)
			}
		}
		for _, txt := range c.text {
			if got := contrast(txt, c.paper); got < 4.5 {
				t.Errorf("text %s on %s: contrast %.2f, want 4.5", hex(txt), hex(c.paper), got)
			}
		}
	}
}

// TestLikeColours checks that colours that are hard to tell apart, to some readers, have marks of another shape.
func TestLikeColours(t *testing.T) {
	// Protanopia and deuteranopia: Machado, Oliveira and Fernandes (2009), severity 1.
	eyes := [][3][3]float64{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		{{0.152, 1.053, -0.205}, {0.115, 0.786, 0.099}, {-0.004, -0.048, 1.052}},
		{{0.367, 0.861, -0.228}, {0.280, 0.673, 0.047}, {-0.012, 0.043, 0.969}}}
	for name, colours := range map[string][]color.NRGBA{"light": palette, "dark": darkPalette} {
		for i := range colours {
			for j := range i {
				least := math.Inf(1)
				for _, eye := range eyes {
					a, b := oklab(eye, colours[i]), oklab(eye, colours[j])
					least = min(least, math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]))
				}
				same := classGlyph(i, 1).Shape == classGlyph(j, 1).Shape
				if least < 0.04 || least < 0.09 && same {
					t.Errorf("%s: %d and %d differ by %.3f, same shape: %v", name, j, i, least, same)
				}
				a, _ := Series{Colour: i, Dash: i}.look() // curves have no marks; those of the scores are eight
				b, _ := Series{Colour: j, Dash: j}.look()
				if i < 8 && least < 0.09 && slices.Equal(a.Dashes, b.Dashes) {
					t.Errorf("%s: curves %d and %d differ by %.3f, and have the same dashes", name, j, i, least)
				}
			}
		}
	}
}

// oklab returns the place of a colour, as an eye sees it, in the space Oklab (Ottosson 2020), where distances are
// about those that people see.
func oklab(eye [3][3]float64, c color.NRGBA) (lab [3]float64) {
	v := [3]float64{linear(c.R), linear(c.G), linear(c.B)}
	var seen [3]float64
	for i, row := range eye {
		seen[i] = min(max(row[0]*v[0]+row[1]*v[1]+row[2]*v[2], 0), 1)
	}
	var cones [3]float64
	for i, row := range [3][3]float64{{0.4122, 0.5363, 0.0514}, {0.2119, 0.6807, 0.1074}, {0.0883, 0.2817, 0.6300}} {
		cones[i] = math.Cbrt(row[0]*seen[0] + row[1]*seen[1] + row[2]*seen[2])
	}
	for i, row := range [3][3]float64{{0.2105, 0.7936, -0.0041}, {1.9780, -2.4286, 0.4506}, {0.0259, 0.7828, -0.8087}} {
		lab[i] = row[0]*cones[0] + row[1]*cones[1] + row[2]*cones[2]
	}
	return lab
}

// contrast returns the ratio of two colours as WCAG 2.2 defines it, 1 to 21.
func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.NRGBA) float64 {
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func linear(v uint8) float64 {
	s := float64(v) / 255
	if s <= 0.04045 {
		return s / 12.92
	}
	return math.Pow((s+0.055)/1.055, 2.4)
}

// TestExact checks that an SVG names every colour of the palette exactly, so that the rules of DarkStyle find it.
func TestExact(t *testing.T) {
	style := DarkStyle("svg")
	for i, c := range palette {
		for _, opacity := range []uint8{255, 0x90, 0x60, 0x30, 7} {
			r, g, b, a := exact(translucent(c, opacity)).RGBA()
			scale := 255 / float64(a)
			got := color.NRGBA{uint8(float64(r) * scale), uint8(float64(g) * scale), uint8(float64(b) * scale), 255}
			if got != c {
				t.Errorf("colour %d at opacity %d becomes %v", i, opacity, got)
			}
		}
		for _, rule := range []string{"fill:" + hex(c), "stroke:" + hex(c)} {
			if !strings.Contains(style, `svg [style*="`+rule+`"]`) {
				t.Errorf("no rule for %s", rule)
			}
		}
	}
}
