package main

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataView looks at a table and at images, converts them, and trains on what was written.
func TestDataView(t *testing.T) {
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
	fails(t, []string{"data", "convert", "iris.csv"}, "--out")
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

// TestReadingIsKept evaluates a model without the flags with which its data were read.
func TestReadingIsKept(t *testing.T) {
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
