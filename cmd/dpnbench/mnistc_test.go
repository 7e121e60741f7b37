package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/separation"
	"dpnbench/engine/num"
	"dpnbench/internal/longtest"
)

// byteArray is the NPY file of an array of bytes.
func byteArray(data []byte, shape ...int) []byte {
	dims := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }", dims)
	head += strings.Repeat(" ", 128-10-1-len(head)) + "\n"
	return append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), data...)
}

// release writes arrays as those of MNIST-C, of n images of 4 x 4 pixels, to a folder.
func release(t *testing.T, n int) string {
	t.Helper()
	dir, r := t.TempDir(), num.NewRand(2, 0)
	for _, name := range append(baseline.MNISTCNames(), "identity", "extra") {
		images, labels := make([]byte, 16*n), make([]byte, n)
		for i := range images {
			images[i] = byte(r.Intn(100) + 15*((i/16+i%16)%10))
		}
		for i := range labels {
			labels[i] = byte(i % 10)
		}
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, split := range []string{"train", "test"} {
			write(t, filepath.Join(dir, name, split+"_images.npy"), byteArray(images, n, 4, 4, 1))
			write(t, filepath.Join(dir, name, split+"_labels.npy"), byteArray(labels, n))
		}
	}
	return dir
}

// mnistcRows reads the rows of MNIST-C from the JSON of eval.
func mnistcRows(t *testing.T, path string) (against string, rows []mnistcRow) {
	t.Helper()
	var r struct {
		Corruptions []corruptionScore
		MNISTC      mnistcScores `json:"mnist_c"`
	}
	load(t, path, &r)
	if len(r.Corruptions) != 15 || len(r.MNISTC.Rows) < 3 {
		t.Fatalf("%d corruptions, %d rows", len(r.Corruptions), len(r.MNISTC.Rows))
	}
	mean := 0.0
	for i, name := range baseline.MNISTCNames() {
		if got, want := r.MNISTC.Rows[0].Accuracy[name], r.Corruptions[i].Accuracy; got != want {
			t.Errorf("%s: accuracy %v of the row, %v of the list", name, got, want)
		}
		mean += r.Corruptions[i].Accuracy / 15
	}
	if d := r.MNISTC.Rows[0].Mean - mean; !(d*d <= 1e-20) {
		t.Errorf("mean %v, want %v", r.MNISTC.Rows[0].Mean, mean)
	}
	return r.MNISTC.Baseline, r.MNISTC.Rows
}

// TestMNISTC evaluates a model on the corruptions of MNIST-C, made here and read from arrays, against the
// published baseline and one of its own.
func TestMNISTC(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	out, js := filepath.Join(dir, "run"), filepath.Join(dir, "r.json")
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	model := filepath.Join(out, dpn.ModelFile)
	last := filepath.Join(out, dpn.LastFile)

	text := succeed(t, "eval", "--model", model, "--suite", "mnist-c", "--json", js)
	against, rows := mnistcRows(t, js)
	if against != "published CNN" || len(rows) != 3 || rows[1].MCE != 1 || !(rows[2].MCE > 0.69) ||
		!(rows[2].MCE < 0.694) ||
		!strings.Contains(text, "mCE, ratio of sums") || !strings.Contains(text, "glass blur") ||
		!strings.Contains(text, "14.35%") || !strings.Contains(text, "compare them only if") {
		t.Errorf("against %s: rows %+v, printed %q", against, rows, text)
	}
	text = succeed(t, "eval", "--model", model, "--suite", "mnist-c", "--baseline", last, "--json", js)
	if against, rows = mnistcRows(t, js); against != "baseline" || len(rows) != 4 || rows[1].Source != last ||
		rows[1].MCE != 1 || rows[2].MCE == 1 {
		t.Errorf("against %s: rows %+v, printed %q", against, rows, text)
	}

	other, err := dpn.Load(last)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(other.Classes)
	otherFile := filepath.Join(dir, "other.safetensors")
	if err := other.Save(otherFile); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{"eval", "--model", model, "--suite", "mnist-c", "--baseline", otherFile}, "--baseline "+otherFile,
		"the same classes as "+model)

	text = succeed(t, "eval", "--model", model, "--with", last, "--suite", "mnist-c", "--json", js)
	if _, rows := mnistcRows(t, js); rows[0].Name != "these models" || !strings.Contains(text, "mean of 2 models)") {
		t.Errorf("rows %+v, printed %q", rows, text)
	}
	fails(t, []string{"eval", "--model", model, "--with", otherFile}, "--with "+otherFile, "the classes of the other")
	fails(t, []string{"eval", "--model", model, "--with", js}, "--with "+js)

	slices.Reverse(other.Classes)
	takeLevels(dpn.Ensemble{other, nil})
	if err := other.Save(otherFile); err != nil {
		t.Fatal(err)
	}
	evaluate := func(flags ...string) (r evalResult) {
		succeed(t, append([]string{"eval", "--data", data, "--corrupt", "mnistc-fog:1", "--json", js}, flags...)...)
		load(t, js, &r)
		return r
	}
	usual, levels := evaluate("--model", last), evaluate("--model", last, "--unnormalised")
	trained := evaluate("--model", otherFile)
	if *levels.Loss != *trained.Loss || levels.Corruptions[0] != trained.Corruptions[0] ||
		*levels.Loss == *usual.Loss || !levels.Unnormalised || usual.Unnormalised {
		t.Errorf("not normalised: %+v, by a model without a normalisation %+v, normalised %+v", levels, trained, usual)
	}

	folder := release(t, 60)
	spec := "mnist-c:" + folder
	text = succeed(t, "eval", "--model", model, "--data", spec, "--json", js)
	_, rows = mnistcRows(t, js)
	for name, want := range map[string]float64{"identity": rows[0].Clean, "fog": rows[0].Accuracy["fog"],
		"canny_edges": rows[0].Accuracy["canny_edges"]} {
		var one struct{ Accuracy float64 }
		succeed(t, "eval", "--model", model, "--data", filepath.Join(folder, name), "--json", js)
		if load(t, js, &one); one.Accuracy != want {
			t.Errorf("%s: accuracy %v as part of MNIST-C, %v alone", name, want, one.Accuracy)
		}
	}
	if !strings.Contains(text, "the arrays of "+folder) || strings.Contains(text, "compare them only if") {
		t.Errorf("printed %q", text)
	}
	succeed(t, "eval", "--model", model, "--data", spec, "--test-size", "20", "--json", js)
	for _, flag := range [][]string{{"--suite", "mnist-c"}, {"--corrupt", "shear:1"}, {"--split", "validation"}} {
		fails(t, append([]string{"eval", "--model", model, "--data", spec}, flag...), "--data "+spec,
			"corrupted already")
	}
	fails(t, []string{"eval", "--model", model, "--data", spec, "--corrupt-seed", "2"}, "--corrupt-seed 2")
}

// TestMNISTCBad breaks a release of MNIST-C in one place after the other: one line says what is wrong.
func TestMNISTCBad(t *testing.T) {
	longtest.Native(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", filepath.Join(dir, "run"),
		"--quiet")...)
	model := filepath.Join(dir, "run", dpn.ModelFile)
	folder := release(t, 30)
	in := func(name, file string) string { return filepath.Join(folder, name, file) }
	try := func(want ...string) {
		t.Helper()
		fails(t, []string{"eval", "--model", model, "--data", "mnist-c:" + folder}, append(want, "--data")...)
	}
	for _, c := range []struct {
		path    string
		content []byte // nil: removed
		want    []string
	}{
		{in("fog", "test_labels.npy"), nil, []string{"test_images.npy", "images without labels"}},
		{in("fog", "test_labels.npy"), byteArray(make([]byte, 30), 30), []string{"fog", "label 0 of image 1",
			"expected 1"}},
		{in("fog", "test_labels.npy"), byteArray(make([]byte, 29), 29), []string{"fog", "30 images, expected 29"}},
		{in("shear", "test_images.npy"), byteArray(make([]byte, 30*25), 30, 5, 5, 1), []string{"5 x 5", "4 x 4"}},
		{in("shear", "test_images.npy"), byteArray(make([]byte, 30*16), 30, 16), []string{"shear", "16 features",
			"expected images of bytes"}},
		{in("shear", "test_images.npy"), []byte("no array"), []string{"test_images.npy"}},
		{in("identity", "test_images.npy"), []byte("no array"), []string{"identity", "test_images.npy"}},
		{in("identity", "test_images.npy"), nil, []string{folder, "no test samples"}},
	} {
		old, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(c.path); err != nil {
			t.Fatal(err)
		}
		if c.content != nil {
			write(t, c.path, c.content)
		}
		try(c.want...)
		write(t, c.path, old)
	}
	if err := os.RemoveAll(filepath.Join(folder, "zigzag")); err != nil {
		t.Fatal(err)
	}
	try("no folder zigzag in "+folder, "canny_edges")
	fails(t, []string{"eval", "--model", model, "--data", "mnist-c:" + filepath.Join(folder, "none")}, "no folder")
	fails(t, []string{"eval", "--model", model, "--data", "mnist-c:" + filepath.Join(folder, "fog")},
		"no folder identity")
}

// printedMNISTC returns the table of s and the lines below it, for n images of mnist.
func printedMNISTC(t *testing.T, s *mnistcScores, n int) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	v := &evaluation{app: &app{out: printer{File: f}}, split: "test"}
	v.printMNISTC(s, "mnist", n)
	text, err := os.ReadFile(f.Name())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Published figures are of all test images of MNIST: a line says so beside those of a part.
func TestMNISTCOfAPart(t *testing.T) {
	for n, warned := range map[int]bool{1000: true, 10000: false} {
		text := printedMNISTC(t, &mnistcScores{}, n)
		if strings.Contains(text, "compare them only if these, 1,000 images of mnist") != warned {
			t.Errorf("%d images: printed %q", n, text)
		}
	}
}

// A line says why a ratio to a baseline that a corruption does not harm is missing.
func TestMNISTCUndefined(t *testing.T) {
	for relative, missing := range map[float64]bool{1: false, math.NaN(): true} {
		row := mnistcRow{Name: "a", MCE: 1, SummedMCE: 1, RelativeMCE: separation.Float(relative), SummedRelativeMCE: 1}
		text := printedMNISTC(t, &mnistcScores{Baseline: "the CNN", Rows: []mnistcRow{row}}, 10000)
		if strings.Contains(text, "the CNN makes no more errors than on clean images") != missing {
			t.Errorf("relative mCE %v: printed %q", relative, text)
		}
	}
}

// TestNeedsImages asks for what only images have of a model of vectors.
func TestNeedsImages(t *testing.T) {
	dir := t.TempDir()
	table, out := filepath.Join(dir, "table.csv"), filepath.Join(dir, "run")
	write(t, table, []byte("a,b,class\n"+strings.Repeat("1,2,x\n2,1,y\n", 20)))
	succeed(t, "train", "--data", table, "--preset", "mlp", "--max-updates", "2", "--quiet", "--out", out)
	model := filepath.Join(out, dpn.ModelFile)
	fails(t, []string{"eval", "--model", model, "--unnormalised"}, model, "--unnormalised", "images")
	fails(t, []string{"eval", "--model", model, "--suite", "mnist-c"}, model, "corruptions", "images")
}
