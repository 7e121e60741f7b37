package plot

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"dpnbench/internal/sampleascent"
)

// everyKind is a figure of each kind, by its name.
func everyKind(t *testing.T) map[string]Figure {
	some := sampleascent.New(16, 3)
	points := []Point{{X: 1, Y: 2}, {X: 4, Y: 8}}
	panel := clouds(40, 3, 2)
	return map[string]Figure{
		"lines":  Lines{Y: "speed", X: "threads", Series: []Series{{Name: "gemm", Points: points}}},
		"layers": Layers{Names: layerNames, D: layerD},
		"steps":  Steps{D: layerD, Law: fitted(t, layerNames, layerD)},
		"dots":   Dots{Groups: []string{"a"}, Series: []Series{{Name: "s", Points: points[:1]}}},
		"bars":   Bars{Groups: []string{"a"}, Series: []Series{{Name: "s", Points: points[:1]}}},
		"roofline": Roofline{Peaks: []Limit{{"avx2", 100}}, Bandwidths: []Limit{{"L1", 50}},
			Points: []Series{{Points: points}}},
		"histogram": Histogram{Samples: []Sample{{"some", []float64{1, 2, 3}}}},
		"spectra":   Spectra{Values: [][]float64{{3, 1}}},
		"weights":   Weights{C: []float64{0, 1}},
		"gallery":   Gallery{Rows: 28, Cols: 28, Images: []Image{{"one", some.Centres[:1]}}},
		"maps":      Maps{Rows: 28, Cols: 28, Images: []Image{{"one", some.Centres[:1]}}},
		"strips":    Strips{Rows: 28, Cols: 28, Strips: stripsOf(some)},
		"paths":     PlanePaths{Paths: pathsOf(some), Centres: [][2]float64{{1, 1}}},
		"confusion": Confusion{Counts: [][]int{{3, 1}, {0, 4}}},
		"training":  Training{Epochs: []Epoch{{1, 2, .5, 1.5, .6}, {2, 1, .7, .9, .72}}},
		"training alone": Training{Epochs: []Epoch{{1, 2, .5, math.NaN(), math.NaN()},
			{2, 1, .7, math.NaN(), math.NaN()}}},
		"parallel": Parallel{Axes: []ParallelAxis{{Name: "lr", Values: []float64{0.1, 0.01}, Log: true},
			{Name: "form", Values: []float64{0, 1}, Names: []string{"full", "diag"}},
			{Name: "loss", Values: []float64{0.5, 0.7}}}},
		"pca": PCA{Panels: []Panel{panel, panel}},
		"tree": Tree{Marked: "fused", Root: TreeNode{Children: []TreeNode{{Label: "0"}, {Children: []TreeNode{
			{Label: "1", Mark: true}, {Label: "2", Mark: true}, {Label: "3"}}}}}},
		"law panels": LawPanels{Panels: []LawPanel{{Title: "a", Names: layerNames, D: [][]float64{layerD}},
			{Title: "b", Names: layerNames, D: [][]float64{layerD}}}},
	}
}

// TestEmbed checks of a figure of each kind that its text alternative has numbers of the data, that every text has
// a width whatever the font, and that titles and notes are left to the page.
func TestEmbed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation")
	}
	number := regexp.MustCompile(`\d`)
	for name, f := range everyKind(t) {
		e, err := Embed(f, "", false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := f.describe()
		if !number.MatchString(got) || strings.Contains(got, "%!") || strings.Contains(got, "NaN") {
			t.Errorf("%s: the description %q has no number or a bad one", name, got)
		}
		if want := len(e.SVG) > 1; want != (e.Legend != nil) {
			t.Errorf("%s: %d images, a legend: %v", name, len(e.SVG), e.Legend != nil)
		}
		for _, svg := range e.SVG {
			texts, sized := bytes.Count(svg, []byte("<text ")), bytes.Count(svg, []byte("<text textLength="))
			if texts != sized || texts == 0 && name != "maps" {
				t.Errorf("%s: %d of %d texts have a width", name, sized, texts)
			}
		}
	}
	e, err := Embed(Gallery{Title: "Some <title>", Note: "A note.", Rows: 1, Cols: 1,
		Images: []Image{{"one", [][]float32{{1}}}}}, "as it is said", true)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Embed(Gallery{Rows: 1, Cols: 1, PerRow: 2, Groups: []string{"few", "many"},
		Images: []Image{{"one", [][]float32{{1}}}, {}, {"two", [][]float32{{1}}}, {"three", [][]float32{{1}}}}},
		"", true)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(rows.SVG[0]), "<image "); n != 3 {
		t.Errorf("three images and an empty place: %d images are drawn", n)
	}
	svg := string(e.SVG[0])
	if e.Title != "Some <title>" || e.Note != "A note. Each image has a scale of its own." ||
		!strings.Contains(svg, "<title>Some &lt;title&gt;. as it is said</title>") || strings.Contains(svg, "A note") ||
		strings.Count(svg, "<text ") != 1 {
		t.Errorf("title %q, note %q, image %s", e.Title, e.Note, svg)
	}
}

// TestDocumentedKinds checks that the documentation of the package lists every kind of figure.
func TestDocumentedKinds(t *testing.T) {
	b, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range everyKind(t) {
		if kind := strings.TrimPrefix(fmt.Sprintf("%T", f), "plot."); !bytes.Contains(b, []byte("["+kind+"]")) {
			t.Errorf("%s: doc.go does not name %s", name, kind)
		}
	}
}
