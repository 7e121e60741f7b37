package main

import (
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/internal/longtest"
)

// TestDataView looks at a table and at images, converts them, and trains on what was written.
func TestDataView(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	t.Chdir(dir)
	text := "length,width,species\n"
	for i := range 60 {
		text += fmt.Sprintf("%d.5,%d,%s\n", i%7+10*(i%3), i%5, []string{"setosa", "versicolor", "virginica"}[i%3])
	}
	write(t, "iris.csv", []byte(text))
	var info dataInfo
	out := succeed(t, "data", "info", "iris.csv", "--test-share", "0.2", "--json", "info.json")
	for _, w := range []string{"2 features, 48 training samples, 12 test samples, 3 classes", "versicolor", "length"} {
		if !strings.Contains(out, w) {
			t.Errorf("data info printed %q, want %q", out, w)
		}
	}
	load(t, "info.json", &info)
	if len(info.Classes) != 3 || info.Classes[1] != (classInfo{"versicolor", 16, 4}) || info.Features != 2 ||
		info.Statistics[0].Name != "length" || info.Statistics[0].Min != 0.5 {
		t.Errorf("%+v", info)
	}
	write(t, "large.csv", []byte("large,constant,label\n"+strings.Repeat("10000003,0.1,a\n9999997,0.1,b\n", 50)))
	succeed(t, "data", "info", "large.csv", "--json", "info.json")
	load(t, "info.json", &info)
	for i, want := range []float64{3, 0} { // from the mean, not from the mean of squares
		if got := info.Statistics[i].Std; !(math.Abs(got-want) < 1e-12) {
			t.Errorf("feature %d: deviation %v, want %v", i, got, want)
		}
	}
	idx(t, dir, 120)
	if err := os.Mkdir("set", 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, "set", 120)
	succeed(t, "data", "info", "set", "--mosaic", "set.png", "--channels", "rgb")
	f, err := os.Open("set.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if x, err := png.Decode(f); err != nil || x.Bounds().Dx() < 100 {
		t.Errorf("mosaic: %v", err)
	}
	fails(t, []string{"data", "info", "iris.csv", "--mosaic", "x.png"}, "--mosaic: expected images")
	fails(t, []string{"data", "info", "iris.csv", "--mosaic", "x.txt"}, "--mosaic x.txt: expected the name")
	fails(t, []string{"data", "info", "iris.csv", "--label", "colour"}, "iris.csv", `"colour"`)
	fails(t, []string{"data", "convert", "iris.csv", "--out", "iris.txt"}, "--out iris.txt")
	fails(t, []string{"data", "convert", "iris.csv"}, "--out: expected the name")
	fails(t, []string{"data", "info", "none"}, "none")

	succeed(t, "data", "convert", "set", "--out", "set.npz")
	fails(t, []string{"data", "convert", "set.npz", "--out", "set.npz"}, "--out")
	train := append([]string{"train"}, small...)
	var hashes []string
	for _, data := range []string{"set", "set.npz"} {
		var r struct {
			Weights string `json:"weights_sha256"`
		}
		run := filepath.Join("run", data)
		succeed(t, with(train, "--data", data, "--out", run, "--max-updates", "3")...)
		load(t, filepath.Join(run, resultFile), &r)
		hashes = append(hashes, r.Weights)
	}
	if hashes[0] == "" || hashes[0] != hashes[1] {
		t.Errorf("weights after training on the folder and on what was converted: %q", hashes)
	}
}

// TestMosaic bounds the pixels of a mosaic.
func TestMosaic(t *testing.T) {
	for _, size := range []int{1, 28, 32, 200, 512, 1024, 3000, 5000, 8192, 1 << 16} {
		scale, across, down := mosaicOf(size, size)
		side := size*scale + mosaicGap
		if n := across * down * side * side; n > mostPixels && across*down > 1 || across < 1 || down < 1 {
			t.Errorf("size %d: %d x %d images, %d pixels", size, across, down, n)
		}
		if size == 28 && (scale != 2 || across != 16 || down != 64) {
			t.Errorf("size 28: scale %d, %d x %d images", scale, across, down)
		}
	}
}

// TestReadingIsKept evaluates a model without the flags with which its data were read.
func TestReadingIsKept(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	t.Chdir(dir)
	text := "kind"
	for j := range 16 {
		text += fmt.Sprint(",p", j)
	}
	for i := range 80 {
		text += fmt.Sprintf("\n%c", 'a'+i%2)
		for j := range 16 {
			text += fmt.Sprint(",", (i%2*200+13*j+i)%256)
		}
	}
	write(t, "x.csv", []byte(text))
	write(t, "one.csv", []byte("a,b,kind\n1,2,x\n3,4,x\n"))
	reading := []string{"--data", "x.csv", "--label", "kind", "--test-share", "0.25", "--size", "4x4",
		"--format", "csv"}
	succeed(t, with(append([]string{"train"}, small...), with(reading, "--out", "run", "--max-updates", "6")...)...)
	for _, model := range []string{"run", filepath.Join(dir, "run")} {
		out := succeed(t, "eval", "--model", filepath.Join(model, "model.safetensors"))
		if !strings.Contains(out, "20") {
			t.Errorf("eval printed %q", out)
		}
		out = succeed(t, with([]string{"eval", "--model", filepath.Join(model, "model.safetensors")},
			"--data", filepath.Join(dir, "x.csv"), "--label", "kind", "--size", "4x4",
			"--test-share", "1")...) // all samples
		if !strings.Contains(out, "80") {
			t.Errorf("eval printed %q", out)
		}
		t.Chdir(t.TempDir())
	}
	fails(t, []string{"train", "--data", filepath.Join(dir, "one.csv")}, "--data", "one.csv",
		`all labels are "x", expected at least two classes`)
	fails(t, []string{"train", "--data", filepath.Join(dir, "x.csv"), "--size", "4"}, `--size "4": expected ROWS`)
	fails(t, []string{"train", "--data", filepath.Join(dir, "x.csv"), "--format", "zip"}, `--format "zip"`)
	fails(t, []string{"train", "--data", filepath.Join(dir, "x.csv"), "--channels", "blue"}, `--channels "blue"`)
	fails(t, []string{"train", "--data", filepath.Join(dir, "x.csv"), "--label", "kind", "--test-share",
		"1"}, "no training samples")
	fails(t, []string{"train", "--data", filepath.Join(dir, "x.csv"), "--test-share", "2"}, "--test-share 2")
	fails(t, []string{"train", "--test-share", "0.5"}, "the built-in digits have test images")
}

// TestColumns trains on a table with a column of dates, which the model's other commands leave out without being told,
// in any order of the columns.
func TestColumns(t *testing.T) {
	long(t)
	t.Chdir(t.TempDir())
	text, other := "day,length,code,width,kind\n", "width,kind,day,length\n"
	for i := range 120 {
		length, width := i%7+10*(i%3), i%5
		kind := []string{"setosa", "class 1", "手写"}[i%3]
		text += fmt.Sprintf("2024-01-%02d,%d,A%d,%d,%s\n", i%28+1, length, i, width, kind)
		other += fmt.Sprintf("%d,%s,2025-01-01,%d\n", width, kind, length)
	}
	write(t, "flowers.csv", []byte(text))
	write(t, "same.csv", []byte(text))
	write(t, "other.csv", []byte(other))
	write(t, "few.csv", []byte("width,label\n1,setosa\n"))
	fails(t, []string{"train", "--data", "flowers.csv", "--out", "x"}, "--data: flowers.csv", "line 2, column 1",
		"--drop")
	fails(t, []string{"train", "--data", "flowers.csv", "--drop", "date,code"}, "--data: flowers.csv", `"date"`,
		`"day"`)
	fails(t, []string{"train", "--drop", "date"}, "--drop: digits has no columns")
	fails(t, []string{"train", "--format", "csv"}, "--format: digits has a format of its own, expected a file")
	fails(t, []string{"data", "info", "mnist", "--format", "idx"}, "--format: mnist has a format of its own")
	fails(t, []string{"train", "--data", "flowers.csv", "--drop", "a,,b"}, `--drop "a,,b"`)
	succeed(t, "train", "--data", "flowers.csv", "--drop", "day,code", "--test-share", "0.25", "--max-updates", "60",
		"--lr", "0.01", "--val-size", "12", "--out", "run")
	model := filepath.Join("run", "model.safetensors")
	same := ""
	for _, data := range []string{"same.csv", "other.csv"} {
		out := succeed(t, "eval", "--model", model, "--data", data, "--test-share", "1")
		out = strings.ReplaceAll(out, data, "DATA")
		if same == "" {
			same = out
		}
		if out != same || !strings.Contains(out, "120 vectors") || strings.Contains(out, "class class") {
			t.Errorf("eval of %s printed %q, of the other table %q", data, out, same)
		}
	}
	succeed(t, "eval", "--model", model) // the test samples of the model
	for _, args := range [][]string{
		{"eval", "--model", model, "--drop", "day,nix"},
		{"eval", "--model", model, "--data", "same.csv", "--test-share", "1", "--drop", "nix"},
		{"predict", "--model", model, "same.csv", "--drop", "nix"},
		{"uncertainty", "--model", model, "--data", "same.csv", "--test-share", "1", "--drop", "nix"},
	} {
		fails(t, args, `--drop: no column "nix"`)
	}
	succeed(t, "predict", "--model", model, "other.csv", "--out", "p.csv")
	write(t, "more.csv", []byte("width,who,length\n1,Ann,2\n3,Bob,4\n"))
	_, errs, status := dpnbench(t, "predict", "--model", model, "more.csv", "--out", "p.csv")
	if want := "more.csv: left out: column \"who\": the model has no feature of that name (--label COLUMN " +
		"if one holds the labels)\n"; status != exitDone ||
		errs != want {
		t.Errorf("predict: status %d, %q, want %q", status, errs, want)
	}
	fails(t, []string{"eval", "--model", model, "--data", "few.csv", "--test-share", "1"},
		`no column "length", a feature`)
	fails(t, []string{"predict", "--model", model, "few.csv"}, `no column "length", a feature of the model`)
	for _, command := range []string{"eval", "analyze"} { // names what differs, not the labels
		fails(t, []string{command, "--model", model, "--data", "digits", "--test-size", "9"}, "--data digits",
			"the model expects 2 features")
	}
	out := succeed(t, "uncertainty", "--model", model, "--data", "other.csv", "--test-share", "1")
	if !strings.Contains(out, "There were no validation vectors") {
		t.Errorf("uncertainty without training samples printed %q", out)
	}
	succeed(t, "analyze", "--model", model, "--draws", "0", "--subsets", "0")
	page, err := os.ReadFile(filepath.Join("run", "analysis", "report.html"))
	if text := string(page); err != nil || !strings.Contains(text, "手写") || strings.Contains(text, "class class") ||
		strings.Contains(text, "Choose a") {
		t.Errorf("the page of vectors: no name in Chinese letters, a class called class twice, or a walk (%v)", err)
	}
}
