package plot

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	evil := `<b>&"` + "\x00\xff"
	lines := Lines{Title: "Over sizes " + evil, X: "size", Y: "percent", From: 0, To: 100, Note: "A note.",
		Series: []Series{
			{Name: "packed " + evil, Points: []Point{{X: 16, Y: 40, Low: 38, High: 41}, {X: 64, Y: 90},
				{X: 2048, Y: 97, Doubtful: true}}},
			{Name: "plain", Colour: 1, Dash: 1, Points: []Point{{X: 64, Y: 80, Low: nan, High: nan}, {X: 0, Y: 1},
				{X: 1, Y: nan}}},
			{Name: "absent", Points: []Point{{X: -1, Y: 50}}},
		}}
	speedUp := Lines{Title: "Speed-up", LogY: true, Series: []Series{
		{Name: "ascent", Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 1.9}, {X: 64, Y: 50, Low: 45, High: 51}}},
		{Name: "ideal", Reference: true, Points: []Point{{X: 1, Y: 1}, {X: 64, Y: 64}}},
	}}
	roof := Roofline{
		Title:      "Roofline",
		Peaks:      []Limit{{"generic", 3}, {"avx512", 117}, {"avx2 " + evil, 115}, {"neon", nan}},
		Bandwidths: []Limit{{"memory", 20}, {"L1", 400}, {"L2", 150}, {"L3", 0}},
		Points: []Series{{Name: "gemm", Points: []Point{{X: 10, Y: 100}, {X: 1, Y: 18, Doubtful: true}, {X: 0, Y: 1}}},
			{Name: "absent"}},
	}
	bars := Bars{Title: "Tiers", X: "GFLOP/s", Groups: []string{"gemm " + evil, "ascent"}, Series: []Series{
		{Name: "avx512", Points: []Point{{Y: 110}, {Y: 105, Doubtful: true}}},
		{Name: "generic", Colour: 3, Points: []Point{{Y: 3}, {}}},
		{Name: "absent", Points: []Point{{}, {}}},
	}}
	dots := Dots{Title: "Accuracy", X: "percent", Groups: []string{"MLP " + evil, "DPN"}, Note: "Over seeds.",
		Series: []Series{
			{Name: "clean", Points: []Point{{Y: 98, Low: 97.9, High: 98.2}, {Y: 96}}},
			{Name: "noisy", Colour: 1, Points: []Point{{Y: nan}, {Y: 40, Low: 40, High: 40}}},
			{Name: "absent", Points: []Point{{Y: nan}, {Y: math.Inf(1)}}},
		}}
	for _, c := range []struct {
		name   string
		draw   func() ([]byte, error)
		want   []string
		reject []string
	}{
		{"stacked bars", func() ([]byte, error) {
			stacked := bars
			stacked.Stacked = true
			return titled(stacked)
		}, []string{"113", "105", "avx512", "generic"}, []string{"absent"}},
		{"dots", func() ([]byte, error) { return titled(dots) },
			[]string{"MLP <b>", "DPN", "clean", "noisy", "percent", "40", "90", "Over seeds."}, []string{"absent"}},
		{"lines", func() ([]byte, error) { return titled(lines) },
			[]string{"Over sizes <b>&\"", "packed <b>", "plain", "16", "64", "2048", "100", "marked in the table",
				"A note."}, []string{"absent"}},
		{"speed-up", func() ([]byte, error) { return titled(speedUp) }, []string{"ideal", "2\n4\n8\n16\n32\n64"},
			[]string{"marked"}},
		{"one point", func() ([]byte, error) {
			return titled(Lines{Series: []Series{{Name: "s", Points: []Point{{X: 7, Y: 3}}}}})
		}, []string{"s", "7"}, nil},
		{"roofline", func() ([]byte, error) { return titled(roof) },
			[]string{"avx512 117, avx2 <b>&\" 115 GFLOP/s", "generic 3.00 GFLOP/s", "L1 400 GB/s", "L2 150 GB/s",
				"memory 20.0 GB/s", "gemm", "marked"}, []string{"neon", "L3", "absent"}},
		{"bars", func() ([]byte, error) { return titled(bars) }, []string{"gemm <b>", "110", "105", "3.00", "generic",
			"marked"}, []string{"absent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			svg, err := c.draw()
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := c.draw(); !bytes.Equal(svg, again) {
				t.Error("it differs when drawn again")
			}
			if !bytes.HasPrefix(svg, []byte("<svg ")) || regexp.MustCompile(`\s(id|href)=|NaN|Inf`).Match(svg) {
				t.Errorf("unfit for a page: %.300s", svg)
			}
			name := filepath.Join(t.TempDir(), "figure.svg")
			if err := os.WriteFile(name, svg, 0o666); err != nil {
				t.Fatal(err)
			}
			text := checkSVG(t, name)
			for _, s := range c.want {
				if !strings.Contains(text, s) {
					t.Errorf("the SVG does not contain %q; its text is\n%s", s, text)
				}
			}
			for _, s := range c.reject {
				if strings.Contains(text, s) {
					t.Errorf("the SVG contains %q", s)
				}
			}
		})
	}
}

func TestSVGErrors(t *testing.T) {
	peak, memory := []Limit{{"avx2", 100}}, []Limit{{"memory", 20}}
	for _, c := range []struct {
		want string
		draw func() ([]byte, error)
	}{
		{`"a": there is nothing to draw`, func() ([]byte, error) { return titled(Lines{Title: "a"}) }},
		{"nothing to draw", func() ([]byte, error) {
			return titled(Lines{LogY: true, Series: []Series{{Points: []Point{{X: 1, Y: 0}}}}})
		}},
		{"0 peaks and 1 bandwidths", func() ([]byte, error) { return titled(Roofline{Bandwidths: memory}) }},
		{"1 peaks and 0 bandwidths", func() ([]byte, error) { return titled(Roofline{Peaks: peak}) }},
		{"no point", func() ([]byte, error) {
			return titled(Roofline{Peaks: peak, Bandwidths: memory,
				Points: []Series{{Points: []Point{{X: math.Inf(1), Y: 1}}}}})
		}},
		{"nothing to draw", func() ([]byte, error) { return titled(Bars{Groups: []string{"a"}}) }},
		{"nothing to draw", func() ([]byte, error) { return titled(Dots{Groups: []string{"a"}}) }},
		{"0 points of s for 1 rows", func() ([]byte, error) {
			return titled(Dots{Groups: []string{"a"}, Series: []Series{{Name: "s"}}})
		}},
		{"0 points of s for 1 groups", func() ([]byte, error) {
			return titled(Bars{Groups: []string{"a"}, Series: []Series{{Name: "s"}}})
		}},
	} {
		if _, err := c.draw(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v: want %q", err, c.want)
		}
	}
}

func TestSVGTicks(t *testing.T) {
	for _, c := range []struct {
		sizes []float64
		want  []string
	}{
		{[]float64{784, 16, 64, 64}, []string{"16", "64", "784"}},
		{[]float64{5}, []string{"5"}},
		{[]float64{32, 100, 320, 1000, 3200, 10000, 20000}, []string{"32", "100", "320", "1000", "3200", "20000"}},
		{[]float64{16, 127, 128, 2048}, []string{"16", "32", "64", "128", "256", "512", "1024", "2048"}},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []string{"1", "2", "4", "8"}},
		{[]float64{1, 1.01, 1 << 20}, []string{"1", "8", "64", "512", "4096", "32768", "262144"}},
	} {
		if got := labels(sizeTicks(c.sizes)); !slices.Equal(got, c.want) {
			t.Errorf("%v: labels are %q: want %q", c.sizes, got, c.want)
		}
	}
}

// titled returns f as SVG for a page, with its title in the image.
func titled(f Figure) ([]byte, error) {
	d, err := f.layout(pageWidth)
	if err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	d.title = f.heading()
	return d.inline(d.title)
}
