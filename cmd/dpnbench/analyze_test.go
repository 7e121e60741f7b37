package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"dpnbench/dpn"
	"dpnbench/internal/longtest"
	"dpnbench/internal/webtest"
	"dpnbench/plot"
)

// analysed trains a network on images of 4 x 4 pixels and analyses it. It returns the model, the
// folder of the analysis and the output.
func analysed(t *testing.T, train, analyze []string) (model, folder, text string) {
	t.Helper()
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 200)
	succeed(t, with(train, "--data", data, "--out", out, "--quiet")...)
	model = filepath.Join(out, dpn.ModelFile)
	return model, filepath.Join(out, "analysis"), succeed(t, with([]string{"analyze", "--model", model}, analyze...)...)
}

// onPixels are the flags of a network on raw pixels.
var onPixels = []string{"train", "--preset", "raw", "--components", "10", "--rank", "2", "--steps", "4",
	"--epochs", "1", "--batch", "32"}

// files returns the figures that are in a folder.
func files(t *testing.T, folder string) (there, missing []string) {
	t.Helper()
	for _, name := range []string{"confusion", "layers", "steps", "curve", "pca", "strips", "paths", "weights",
		"spectra", "centres", "variance", "moves"} {
		n := 0
		for _, f := range plot.Files(filepath.Join(folder, name)) {
			if st, err := os.Stat(f); err == nil && st.Size() > 0 {
				n++
			}
		}
		switch n {
		case 2:
			there = append(there, name)
		case 0:
			missing = append(missing, name)
		default:
			t.Errorf("%s is there as one of PNG and SVG", name)
		}
	}
	return there, missing
}

// TestAnalyze analyses a network on pixels: every figure, the page and the JSON keys exist. With
// other data than those of the training, the movement of the centres is not shown.
func TestAnalyze(t *testing.T) {
	long(t)
	model, folder, text := analysed(t, onPixels, []string{"--draws", "20", "--subsets", "2"})
	for _, want := range []string{"200 images of 10 classes, accuracy", "N to inf", "NCM", "step 4",
		"step 0: the features; step 4: denoised", "law follows", "ascent steps", filepath.Join(folder, "report.html")} {
		if !strings.Contains(text, want) {
			t.Errorf("analyze printed %q: want %q in it", text, want)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > 100 && !strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "page") {
			t.Errorf("more than 100 columns: %q", line)
		}
	}
	if _, missing := files(t, folder); !reflect.DeepEqual(missing, []string{"weights"}) ||
		!strings.Contains(text, "Left out, because the weights of all components are alike, from ") {
		t.Errorf("no figures %q, printed %q", missing, text)
	}
	var a struct {
		Samples, Classes int
		Layers, Steps    []map[string]any
		DisplacementL2   float64        `json:"displacement_l2"`
		Law              map[string]any `json:"steps_law"`
		Shapes           map[string]any `json:"law_shapes"`
		Landscape        map[string]any
		FixedPoints      map[string]any   `json:"fixed_points"`
		Moves            map[string]any   `json:"centre_moves"`
		Curves           []map[string]any `json:"curves"`
		Walk             map[string]any
		Accuracy         float64
		SHA              string `json:"weights_sha256"`
	}
	load(t, filepath.Join(folder, "analysis.json"), &a)
	if a.Samples != 200 || a.Classes != 10 || len(a.Layers) != 4 || len(a.Steps) != 5 || a.DisplacementL2 <= 0 ||
		a.Law == nil || a.Shapes["steps_law"] == nil || a.Landscape["lambda_max"] == nil ||
		a.FixedPoints["points"] == nil || len(a.Moves["moved"].([]any)) != 10 ||
		len(a.Curves) != 2 || a.Walk["phi"] == nil || len(a.SHA) != 64 {
		t.Errorf("analysis.json lacks something: %d samples, %d classes, %d layers, %d steps, shapes %v", a.Samples,
			a.Classes, len(a.Layers), len(a.Steps), a.Shapes)
	}
	for _, key := range []string{"name", "dim", "fuzziness", "fuzziness_product", "rank", "smallest_eigenvalue",
		"mean_distance", "between_within_ratio", "explained_variance", "nearest_mean_accuracy", "sampling"} {
		if a.Layers[2][key] == nil {
			t.Errorf("analysis.json: no %q in a layer", key)
		}
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.Check(t, string(page))

	other := t.TempDir()
	idx(t, other, 100)
	text = succeed(t, "analyze", "--model", model, "--data", other, "--draws", "0", "--subsets", "0")
	if !strings.Contains(text, "are not available") {
		t.Errorf("analyze printed %q", text)
	}
	if _, missing := files(t, folder); !reflect.DeepEqual(missing, []string{"curve", "weights", "moves"}) {
		t.Errorf("no figures %q", missing)
	}
}

// TestAnalyzeAgain analyses a network on learned features in the folder of an earlier analysis:
// figures that cannot be drawn are removed, each warning is printed once, and without draws and
// subsets their columns and figure are missing.
func TestAnalyzeAgain(t *testing.T) {
	long(t)
	model, folder, _ := analysed(t, append([]string{"train"}, small...),
		[]string{"--draws", "20", "--subsets", "2", "--quiet"})
	if there, _ := files(t, folder); !reflect.DeepEqual(there, []string{"confusion", "layers", "steps", "curve",
		"pca", "paths", "spectra"}) {
		t.Errorf("figures %q", there)
	}
	text := succeed(t, "analyze", "--model", model, "--first", "40", "--draws", "0", "--subsets", "0")
	if strings.Contains(text, "N to inf") || strings.Count(text, "sampling noise") > 2 ||
		!strings.Contains(text, "! ") ||
		!strings.Contains(text, "Left out, because they need features that are pixels: strips, centres, variance, "+
			"moves.") ||
		!strings.Contains(text, "Left out, because no subsets were asked for: curve.") {
		t.Errorf("analyze printed %q", text)
	}
	if there, _ := files(t, folder); !reflect.DeepEqual(there, []string{"confusion", "layers", "steps", "pca", "paths",
		"spectra"}) {
		t.Errorf("figures %q", there)
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.Check(t, string(page))
	for _, want := range []string{"Read this page with caution", "is not reliable",
		"pixels: the centres, variance of each pixel, centres before and after training.",
		"pixels: steps of the ascent.", "the image is the input at every step"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// A potential that is not trained has not moved its centres.
func TestAnalyzeUnmoved(t *testing.T) {
	long(t)
	train := with(onPixels, "--gradient", "detached")
	_, folder, text := analysed(t, train, []string{"--draws", "0", "--subsets", "0"})
	if !strings.Contains(text, "the centres did not move") {
		t.Errorf("analyze printed %q", text)
	}
	if _, missing := files(t, folder); !reflect.DeepEqual(missing, []string{"curve", "weights", "moves"}) {
		t.Errorf("no figures %q", missing)
	}
}

// The error about a file that cannot be written names --out, not the data.
func TestAnalyzeOut(t *testing.T) {
	long(t)
	model, _, _ := analysed(t, append([]string{"train"}, small...),
		[]string{"--draws", "0", "--subsets", "0", "--quiet"})
	out := filepath.Join(t.TempDir(), "occupied")
	if err := os.MkdirAll(filepath.Join(out, "steps.png", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, errs, status := dpnbench(t, "analyze", "--model", model, "--draws", "0", "--subsets", "0", "--out", out)
	if status != exitUsage || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "dpnbench: --out "+out) ||
		!strings.Contains(errs, "steps.png") || strings.Contains(errs, "--data") {
		t.Errorf("status %d, standard error %q", status, errs)
	}
}

// TestAnalyzeThreads checks that no number depends on tier or threads.
func TestAnalyzeThreads(t *testing.T) {
	longtest.Need(t) // it trains and analyses in pure Go; TestStudy of package dpn compares threads, too
	model, folder, _ := analysed(t, onPixels, []string{"--draws", "20", "--subsets", "2", "--threads", "1",
		"--tier", "generic"})
	numbers := func() map[string]any {
		var v map[string]any
		load(t, filepath.Join(folder, "analysis.json"), &v)
		delete(v, "tier")
		delete(v, "threads")
		return v
	}
	first := numbers()
	succeed(t, "analyze", "--model", model, "--draws", "20", "--subsets", "2", "--threads", "3", "--quiet")
	if !reflect.DeepEqual(numbers(), first) {
		t.Error("three threads on the fastest tier give other numbers than one in pure Go")
	}
}

// TestAnalyzeInBrowser opens the page at the width of a desktop and of a phone, and moves
// the slider: the image changes.
func TestAnalyzeInBrowser(t *testing.T) {
	longtest.Need(t)
	b := webtest.Start(t)
	_, folder, _ := analysed(t, onPixels, []string{"--draws", "20", "--subsets", "2"})
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	b.CheckWidths(page, 11)
	b.Open(page, 1280, 900)
	state := func(step int) string {
		var s struct{ Pixels, Phi, At, Read string }
		b.Evaluate(`(async () => {
			const part = name => document.querySelector('[data-part=' + name + ']');
			part('step').value = `+string(rune('0'+step))+`;
			part('step').dispatchEvent(new Event('input'));
			await part('item').closest('.walk').querySelector('.sprite').decode();
			await new Promise(done => setTimeout(done, 100));
			const c = part('image');
			const pixels = c.getContext('2d').getImageData(0, 0, c.width, c.height).data.join();
			const text = name => part(name).textContent;
			return { pixels, phi: text('phi'), at: text('at'), read: text('read') };
		})()`, &s)
		if !strings.HasPrefix(s.Read, "predicted at this step: ") {
			t.Errorf("at %s it says %q", s.At, s.Read)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return s.Pixels + string(text)
	}
	first, last := state(0), state(4)
	pixels := func(s string) string { p, _, _ := strings.Cut(s, "{"); return p }
	if pixels(first) == pixels(last) || first == last {
		t.Error("the slider does not move the image")
	}
	if again := state(0); again != first {
		t.Error("the way back leads elsewhere")
	}
}
