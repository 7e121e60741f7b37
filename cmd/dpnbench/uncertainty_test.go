package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/internal/longtest"
	"dpnbench/internal/webtest"
	"dpnbench/plot"
)

// onDigits trains a network on a few built-in digits and returns its file and folder.
func onDigits(t *testing.T) (model, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "run")
	succeed(t, with(append([]string{"train"}, small...), "--train-size", "600", "--test-size", "200", "--out",
		folder, "--quiet")...)
	return filepath.Join(folder, dpn.ModelFile), folder
}

// testDigits writes the test images of onDigits, in reversed order if asked, with training images that are nearly
// black: they have another mean and deviation than those of the model.
func testDigits(t *testing.T, reversed bool) string {
	t.Helper()
	test := dataset.Digits(1, dataset.TestFirst, 200)
	if reversed {
		var at []int32
		for i := range test.Len() {
			at = append(at, int32(test.Len()-1-i))
		}
		test = test.Pick(at)
	}
	train := dataset.Digits(1, 0, 20)
	for i := range train.Pixels {
		train.Pixels[i] /= 16
	}
	var b bytes.Buffer
	if err := source.WriteNPZ(&b, &dataset.Data{Train: train, Test: test, Classes: dataset.Numbered(10)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "digits.npz")
	write(t, path, b.Bytes())
	return path
}

// uncertaintyNumbers is a part of the JSON.
type uncertaintyNumbers struct {
	Samples, Wrong int
	Accuracy       float64
	ChosenOn       string   `json:"chosen_on"`
	OODData        []string `json:"ood_data"`
	Scores         []map[string]any
	Tasks          []struct {
		Name           string
		Known, Unknown int
		Scores         []map[string]any
	}
	Advice      map[string]string
	Calibration map[string]map[string]any
	SHA         string `json:"weights_sha256"`
}

func (n uncertaintyNumbers) tasks() string {
	var names []string
	for _, t := range n.Tasks {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestUncertainty measures a network on digits: tables, page, figures and JSON keys exist. Other sources are there,
// resized and normalised as the model's images are, only with --ood-data.
func TestUncertainty(t *testing.T) {
	long(t)
	model, run := onDigits(t)
	other, folder, js := t.TempDir(), filepath.Join(run, "uncertainty"), filepath.Join(t.TempDir(), "u.json")
	idx(t, other, 50)
	reversed := testDigits(t, true)
	text := succeed(t, "uncertainty", "--model", model, "--ood-data", other+","+reversed, "--json", js)
	for _, want := range []string{"200 images of digits", "AUROC", "FPR", "displacement", "logits divided by T",
		"- To detect images of a kind", "- To detect misclassified images", "expected calibration error",
		filepath.Join(folder, "report.html")} {
		if !strings.Contains(text, want) {
			t.Errorf("uncertainty printed %q: want %q in it", text, want)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > 100 && !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "page") {
			t.Errorf("more than 100 columns: %q", line)
		}
	}
	// The table and the sentence round the FPR in one way.
	_, sentence, _ := strings.Cut(text, "accepts, of the unknown ones, ")
	sentence, _, _ = strings.Cut(sentence, ".\n")
	advised := strings.Split(strings.Split(text, "use the score “")[1], "”")[0]
	_, table, _ := strings.Cut(text, "FPR")
	var cells []string
	for _, line := range strings.Split(table, "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[0] == advised && cells == nil {
			cells = f[1:]
		}
	}
	accepted := strings.Split(sentence, ", ")
	if len(accepted) != 5 || len(cells) != 6 {
		t.Fatalf("accepted %q, row of the FPR %q", accepted, cells)
	}
	for i, shown := range accepted {
		if !strings.HasPrefix(shown, cells[i]+" ") {
			t.Errorf("FPR %s in the table, %s in the sentence", cells[i], shown)
		}
	}
	var n, same uncertaintyNumbers
	load(t, js, &n)
	load(t, filepath.Join(folder, "uncertainty.json"), &same)
	if !reflect.DeepEqual(n, same) {
		t.Error("--json and uncertainty.json differ")
	}
	if n.tasks() != "uniform inverted rotated other other-2 misclassified" || n.Samples != 200 ||
		n.ChosenOn != "validation" || !slices.Equal(n.OODData, []string{other, reversed}) || len(n.Scores) != 8 ||
		n.Advice["unknown"] == "" || n.Advice["misclassified"] == "" ||
		len(n.SHA) != 64 {
		t.Errorf("uncertainty.json: %+v", n)
	}
	for _, task := range n.Tasks {
		for _, key := range []string{"score", "auroc", "auroc_ci", "fpr95", "fpr95_ci", "threshold"} {
			if len(task.Scores) != 8 || task.Scores[0][key] == nil {
				t.Errorf("uncertainty.json: no %q of %s", key, task.Name)
			}
		}
	}
	if n.Tasks[3].Unknown != 50 || n.Tasks[4].Unknown != 200 || n.Tasks[5].Unknown != n.Wrong ||
		n.Calibration["before"]["ece"] == nil || n.Calibration["after"]["ece"] == nil ||
		n.Calibration["temperature"]["samples"] != 60.0 {
		t.Errorf("uncertainty.json: %+v", n)
	}
	for _, score := range n.Tasks[4].Scores {
		if score["auroc"] != 0.5 {
			t.Errorf("the same images as another source: AUROC %v of %v", score["auroc"], score["score"])
		}
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.Check(t, string(page))
	if !strings.Contains(string(page), "converted from 4 x 4 grey") {
		t.Error("the page does not say that images were converted")
	}
	figures := func(want ...string) {
		t.Helper()
		for _, name := range want {
			for _, f := range plot.Files(filepath.Join(folder, name)) {
				if st, err := os.Stat(f); err != nil || st.Size() == 0 {
					t.Errorf("no figure %s: %v", f, err)
				}
			}
		}
		if got, _ := filepath.Glob(filepath.Join(folder, "*.png")); len(got) != len(want) {
			t.Errorf("figures %q, want %q", got, want)
		}
	}
	figures("histogram-uniform", "histogram-inverted", "histogram-rotated", "histogram-other", "histogram-other-2",
		"histogram-misclassified", "roc-unknown", "roc-misclassified", "reliability", "examples")

	// Digits are not unknown to a model that was trained on them, whatever it is evaluated on.
	succeed(t, "uncertainty", "--model", model, "--data", reversed, "--test-size", "50", "--quiet", "--json", js,
		"--out", filepath.Join(t.TempDir(), "elsewhere"))
	n = uncertaintyNumbers{}
	if load(t, js, &n); strings.Contains(n.tasks(), "digits") || len(n.OODData) != 0 {
		t.Errorf("%+v", n)
	}

	// Without --ood-data digits have no other source; its figure of the earlier run is removed.
	if out := succeed(t, "uncertainty", "--model", model, "--test-size", "100", "--quiet", "--json",
		js); strings.Contains(out, "page ") {
		t.Errorf("--quiet printed %q", out)
	}
	n = uncertaintyNumbers{}
	load(t, js, &n)
	if n.tasks() != "uniform inverted rotated misclassified" || n.Samples != 100 || len(n.OODData) != 0 {
		t.Errorf("%+v", n)
	}
	figures("histogram-uniform", "histogram-inverted", "histogram-rotated", "histogram-misclassified", "roc-unknown",
		"roc-misclassified", "reliability", "examples")
}

// Of foreign weights, whose settings are assumed, nobody knows what they were trained on.
func TestLearnedDigits(t *testing.T) {
	for _, c := range []struct {
		data    string
		assumed []string
		want    bool
	}{{"digits", nil, true}, {"digits", []string{"mean"}, true}, {"digits", []string{"steps", "data"}, false},
		{"mnist", nil, false}, {"mnist", []string{"data"}, false}} {
		if got := learnedDigits(dpn.Config{Data: c.data}, c.assumed); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// For other images the built-in digits are the other source. No number depends on tier or
// threads.
func TestUncertaintyThreads(t *testing.T) {
	longtest.Need(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 200)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	var first map[string]any
	for _, engine := range [][]string{{"--threads", "1", "--tier", "generic"}, {"--threads", "3"}} {
		succeed(t, with([]string{"uncertainty", "--model", filepath.Join(out, dpn.ModelFile), "--quiet"}, engine...)...)
		var v map[string]any
		load(t, filepath.Join(out, "uncertainty", "uncertainty.json"), &v)
		delete(v, "tier")
		delete(v, "threads")
		if !reflect.DeepEqual(v["ood_data"], []any{"digits"}) || len(v["tasks"].([]any)) < 4 {
			t.Errorf("%v", v)
		}
		if first == nil {
			first = v
		} else if !reflect.DeepEqual(v, first) {
			t.Error("three threads on the fastest tier give other numbers than one in pure Go")
		}
	}
}

func TestUncertaintyRefuses(t *testing.T) {
	long(t)
	model, run := onDigits(t)
	base := []string{"uncertainty", "--model", model}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	fails(t, []string{"uncertainty"}, "--model: expected a model file")
	fails(t, []string{"uncertainty", "--model", "none"}, "--model", "none", "no such file")
	fails(t, with(base, "--ood-data", "digits"), "--ood-data digits: is the model's own data")
	fails(t, with(base, "--ood-data", testDigits(t, false)), "--ood-data ", "is the model's own data")
	fails(t, with(base, "--ood-data", run+","+run), "--ood-data: "+run+" is named twice")
	fails(t, with(base, "--ood-data", "a,b,c,d,e,f,g,h,i"), "--ood-data: 9 sources, expected at most 8")
	fails(t, with(base, "--ood-data", "none"), "--ood-data", "none")
	fails(t, with(base, "--ood-data", ""), "--ood-data: expected a value")
	fails(t, with(base, "--data", "none"), "--data", "none")
	idx(t, run, 20)
	fails(t, with(base, "--data", run), "--data: "+run, "4 x 4", "28 x 28")
	fails(t, with(base, "--out", file), "--out "+file)
	fails(t, with(base, "--json", model), "--json", "is the input")
	fails(t, with(base, "--seed", "x"), `--seed "x": expected a whole number`)
	fails(t, with(base, "--steps", "-2"), "--steps -2")
	fails(t, with(base, "--test-size", "-1"), "--test-size -1")
	fails(t, with(base, "more"), `"more"`)
	if err := os.MkdirAll(filepath.Join(run, "uncertainty", "examples.png", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, errs, status := dpnbench(t, base...)
	if status != exitUsage || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "dpnbench: --out ") ||
		!strings.Contains(errs, "examples.png") {
		t.Errorf("status %d, standard error %q", status, errs)
	}
}

// TestUncertaintyInBrowser opens the page at the width of a desktop and of a phone.
func TestUncertaintyInBrowser(t *testing.T) {
	long(t)
	b := webtest.Start(t)
	model, run := onDigits(t)
	succeed(t, "uncertainty", "--model", model, "--quiet")
	page, err := os.ReadFile(filepath.Join(run, "uncertainty", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	b.CheckWidths(page, 8)
}

// TestUncertaintyFiles checks that the figure of every other source by name is a file of the command: it is removed
// when a later run does not draw it.
func TestUncertaintyFiles(t *testing.T) {
	for _, name := range append(source.Named(), "digits", otherName(1), otherName(mostSources)) {
		for _, file := range figureFiles("histogram-" + name) {
			if !slices.Contains(uncertaintyFiles(), file) {
				t.Errorf("%s is no file of uncertainty", file)
			}
		}
	}
}
