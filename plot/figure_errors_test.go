package plot

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFigureErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "figure")
	law := fitted(t, layerNames[:3], layerD[:3])
	broken, wide := *law, *law
	wide.Band = make([]Interval, 4)
	broken.Rho = nan
	panel := clouds(20, 2, 2)
	edit := func(f func(p *Panel)) []Panel {
		p := clouds(20, 2, 2)
		f(&p)
		return []Panel{panel, p}
	}
	for _, c := range []struct {
		want string
		err  error
	}{
		{"4 layer names for 3 values", Save(path, Layers{Names: layerNames, D: layerD[:3]})},
		{"not a run of", Save(path, Layers{Names: layerNames[1:], D: layerD[1:], Law: law})},
		{"not a run of", Save(path, Layers{Names: layerNames, D: layerD, Law: &Law{Rho: 1, D0: 1}})},
		{"rho NaN", Save(path, Layers{Names: layerNames, D: layerD, Law: &broken})},
		{"no value of D is positive", Save(path, Layers{Names: layerNames[:2], D: []float64{nan, 0}})},
		{"no value of D is positive", Save(path, Layers{})},
		{"fitted to 3 points, of 4 steps", Save(path, Steps{D: layerD, Law: law})},
		{"no value of D is positive", Save(path, Steps{D: []float64{math.Inf(1)}})},
		{"no panels", Save(path, PCA{})},
		{"0 components", Save(path, PCA{Panels: edit(func(p *Panel) { p.Components = 0 })})},
		{"has no points", Save(path, PCA{Panels: edit(func(p *Panel) { p.Labels, p.Points = nil, nil })})},
		{"39 coordinates for 20 samples", Save(path, PCA{Panels: edit(func(p *Panel) { p.Points = p.Points[1:] })})},
		{"1 shares of variance for 2", Save(path, PCA{Panels: edit(func(p *Panel) { p.Explained = p.Explained[:1] })})},
		{"coordinate 1 of sample 3 is NaN", Save(path, PCA{Panels: edit(func(p *Panel) { p.Points[7] = nan })})},
		{"no epochs", Save(path, Training{})},
		{"epoch 3 follows epoch 3", Save(path, Training{Epochs: []Epoch{{Epoch: 3}, {Epoch: 3}}})},
		{"accuracy of epoch 1 is 86", Save(path, Training{Epochs: []Epoch{{Epoch: 1, TrainAccuracy: 86}}})},
		{"2 intervals for 4", Save(path, Layers{Names: layerNames, D: layerD, Intervals: make([]Interval, 2)})},
		{"the band of the law has 4 points: want 3", Save(path, Layers{Names: layerNames, D: layerD, Law: &wide})},
		{"the band of the law has 4 points: want 3", Save(path, Steps{D: layerD[:3], Law: &wide})},
		{"nothing to draw", Save(path, Lines{})},
		{"images of 0 x 4", Save(path, Gallery{Cols: 4})},
		{"images of 4 x 257", Save(path, Gallery{Rows: 4, Cols: 257})},
		{"nothing to draw", Save(path, Gallery{Rows: 1, Cols: 1})},
		{"entry 0 has 1 images: want 2", Save(path, Gallery{Rows: 1, Cols: 1, Series: digits[:2],
			Images: []Image{{X: [][]float32{{1}}}}})},
		{"entry 1: 2 values for an image of 1 x 1", Save(path, Gallery{Rows: 1, Cols: 1,
			Images: []Image{{X: [][]float32{{1}}}, {X: [][]float32{{1, 2}}}}})},
		{"entry 0: value 1 is NaN", Save(path, Gallery{Rows: 1, Cols: 2,
			Images: []Image{{X: [][]float32{{1, float32(nan)}}}}})},
		{"401 images", Save(path, Gallery{Rows: 1, Cols: 1, Images: make([]Image, 401)})},
		{"nothing to draw", Save(path, Maps{Rows: 1, Cols: 1})},
		{"nothing to draw", Save(path, Maps{Rows: 1, Cols: 1, Log: true, Images: []Image{{X: [][]float32{{0}}}}})},
		{"a logarithmic scale from -1", Save(path, Maps{Rows: 1, Cols: 1, Log: true, Scale: Scale{Low: -1, High: 1},
			Images: []Image{{X: [][]float32{{0}}}}})},
		{"nothing to draw", Save(path, Strips{Rows: 1, Cols: 1})},
		{"images of 0 x 0", Save(path, Strips{})},
		{"34 strips", Save(path, Strips{Rows: 1, Cols: 1, Strips: make([]Strip, 34)})},
		{"strip 1 has 2 images, the first one 1", Save(path, Strips{Rows: 1, Cols: 1,
			Strips: []Strip{{X: [][]float32{{1}}}, {X: [][]float32{{1}, {1}}}}})},
		{"strip 0: step 1: 0 values", Save(path, Strips{Rows: 1, Cols: 1, Strips: []Strip{{X: [][]float32{{1}, {}}}}})},
		{"nothing to draw", Save(path, Weights{})},
		{"nothing to draw", Save(path, Confusion{})},
		{"nothing to draw", Save(path, Confusion{Counts: [][]int{{0}}})},
		{"class 1: 1 predictions, want one for each of 2", Save(path, Confusion{Counts: [][]int{{1, 0}, {0}}})},
		{"class 0: -1 samples", Save(path, Confusion{Counts: [][]int{{-1}}})},
		{"257 classes", Save(path, Confusion{Counts: make([][]int, 257)})},
		{"c of component 1 is -Inf", Save(path, Weights{C: []float64{1, math.Inf(-1)}})},
		{"nothing to draw", Save(path, Spectra{Values: [][]float64{{}}})},
		{"spectrum 1 has 1 values, the first one 2", Save(path, Spectra{Values: [][]float64{{1, 2}, {1}}})},
		{"no value is positive", Save(path, Spectra{Values: [][]float64{{0, nan}}})},
		{"1001 spectra", Save(path, Spectra{Values: slices.Repeat([][]float64{{1}}, 1001)})},
		{"nothing to draw", Save(path, PlanePaths{})},
		{"path 0 has class -1", Save(path, PlanePaths{Paths: []PlanePath{{Class: -1}}})},
		{"path 0 has no place", Save(path, PlanePaths{Paths: []PlanePath{{}}})},
		{"path 0: step 1 is at [+Inf 0]", Save(path, PlanePaths{Paths: []PlanePath{{At: [][2]float64{{0, 0},
			{math.Inf(1), 0}}}}})},
		{"centre 0 is at [NaN 0]", Save(path, PlanePaths{Paths: []PlanePath{{At: [][2]float64{{0, 0}}}},
			Centres: [][2]float64{{nan, 0}}})},
		{"1001 paths", Save(path, PlanePaths{Paths: slices.Repeat([]PlanePath{{At: [][2]float64{{0, 0}}}}, 1001)})},
		{"no epoch has a finite loss", Save(path, Training{Epochs: []Epoch{{1, nan, nan, nan, nan}}})},
	} {
		if c.err == nil {
			t.Errorf("no error: want one with %q", c.want)
			continue
		}
		if s := c.err.Error(); !strings.Contains(s, c.want) || !strings.Contains(s, path) || strings.Contains(s, "\n") {
			t.Errorf("error is %q: want one line with %q and the path", s, c.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("bad input left %v (%v)", entries, err)
	}
}

// TestOddFigures draws figures of values that few data have: none panics, hangs or places anything at NaN.
func TestOddFigures(t *testing.T) {
	odd := []Series{{Points: []Point{{X: 1, Y: 2}}, Reference: true}}
	for name, f := range map[string]Figure{
		"dots":     Dots{Groups: digits[:1], Series: odd},
		"bars":     Bars{Groups: digits[:1], Series: odd},
		"roofline": Roofline{Peaks: []Limit{{"avx2", 100}}, Bandwidths: []Limit{{"L1", 50}}, Points: odd},
		"lines": Lines{LinearX: true, Names: digits[:2], Series: []Series{{Points: []Point{{X: 0, Y: 1}, {X: 2, Y: 1},
			{X: nan, Y: 1}}}}},
		"layers": Layers{Names: digits[:2], D: []float64{math.SmallestNonzeroFloat64, 1}},
		"parallel": Parallel{Axes: []ParallelAxis{{Values: []float64{0, nan, 2}, Names: digits[:2]},
			{Values: []float64{1e17, 1e17, 1e17}}}},
	} {
		if e, err := Embed(f, "", false); err != nil || strings.Contains(string(e.SVG[0]), ",NaN") {
			t.Errorf("%s: error %v, image %s", name, err, e.SVG)
		}
	}
	for v, want := range map[float64]string{1: digits[1], 0.5: "0.500", 2: "2", math.Inf(1): "none"} {
		if got := (ParallelAxis{Names: digits[:2]}).said(v); got != want {
			t.Errorf("%v on an axis of two names is %q, want %q", v, got, want)
		}
	}
}

func TestUnwritableFigure(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Save(filepath.Join(file, "figure"), Steps{D: layerD})
	if !errors.As(err, new(*fs.PathError)) || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in place of the folder: error is %v", err)
	}
	if string(read(t, file)) != "keep" {
		t.Error("the file was overwritten")
	}

	// A folder in place of the SVG file: the error names it, and no temporary
	// file stays behind.
	path := filepath.Join(dir, "figure")
	if err := os.Mkdir(path+".svg", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Save(path, Steps{D: layerD}); err == nil || !strings.Contains(err.Error(), path+".svg") {
		t.Errorf("a folder in place of the file: error is %v", err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if !slices.Equal(left, []string{"figure.svg", "file"}) {
		t.Errorf("the folder holds %v", left)
	}
}
