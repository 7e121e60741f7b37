package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/layer"
)

// TestValData trains with validation images of their own: all training images are trained on, eval and
// resuming find the same images from any folder, and other images are noticed.
func TestValData(t *testing.T) {
	long(t)
	dir := t.TempDir()
	t.Chdir(dir)
	for _, folder := range []string{"data", "val", "elsewhere"} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		idx(t, folder, 120)
	}
	for _, name := range []string{"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte"} {
		if err := os.Remove(filepath.Join("val", name)); err != nil { // the test images are left
			t.Fatal(err)
		}
	}
	train := with(append([]string{"train"}, small...), "--data", "data", "--out", "run")
	fails(t, with(train, "--val-data", "elsewhere"), "--val-data", "elsewhere: these are training samples")
	fails(t, with(train, "--val-data", "digits"),
		"--val-data digits: images of 28 x 28 grey, the model expects 4 x 4 grey")
	fails(t, with(train, "--val-data", "none"), "--val-data", "no file or folder")
	fails(t, with(train, "--val-data", "val", "--val-size", "12"), "--val-size 12: expected -1 with val-data")

	text, errs, status := dpnbench(t, with(train, "--val-data", "val", "--max-updates", "8")...)
	if status != exitDone || !strings.Contains(errs, "the validation samples are the test samples") {
		t.Errorf("status %d, standard error %q", status, errs)
	}
	if !strings.Contains(text, "120 training, 120 validation and 120 test images") {
		t.Errorf("train printed %q", text)
	}
	var r trainResult
	load(t, filepath.Join("run", resultFile), &r)
	if r.Validation == nil || r.Validation.Samples != 120 || r.Config.ValData != filepath.Join(dir, "val") {
		t.Errorf("validation %+v of %q", r.Validation, r.Config.ValData)
	}
	t.Chdir("elsewhere")
	model := filepath.Join(dir, "run", dpn.ModelFile)
	var kept struct {
		Data    string
		Samples int
		Loss    float64
		ByClass layer.ByClass `json:"by_class"`
	}
	eval := []string{"eval", "--model", model, "--split", "validation"}
	text = succeed(t, with(eval, "--json", "eval.json")...)
	if !strings.Contains(text, "120 images of "+filepath.Join(dir, "val")) {
		t.Errorf("eval printed %q", text)
	}
	if load(t, "eval.json", &kept); kept.Samples != 120 || kept.Loss != r.Validation.Loss ||
		kept.Data != r.Config.ValData {
		t.Errorf("eval found %+v, training %+v", kept, r.Validation.Score)
	}
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	idx(t, other, 100)
	text, errs, status = dpnbench(t, with(eval, "--data", other)...) // which are the first ones of the training
	if status != exitDone || !strings.Contains(text, "10 images of "+other) ||
		!strings.Contains(errs, "may have been trained on some of the validation images") {
		t.Errorf("eval of other images than those of the training: status %d, %q, %q", status, text, errs)
	}
	fails(t, with(eval, "--json", filepath.Join(dir, "val", "t10k-labels-idx1-ubyte")), "--json", "val-data")
	t.Chdir(dir)
	if err := os.Rename("val", "moved"); err != nil {
		t.Fatal(err)
	}
	fails(t, eval, "validation images of the model, "+filepath.Join(dir, "val"), "no file or folder", "--val-data")
	fails(t, with(eval, "--val-data", "none"), "--val-data none", "neither")
	succeed(t, with(eval, "--val-data", "moved", "--json", "eval.json")...)
	if load(t, "eval.json", &kept); kept.Samples != 120 || kept.Loss != r.Validation.Loss {
		t.Errorf("eval found %+v, training %+v", kept, r.Validation.Score)
	}
	succeed(t, "uncertainty", "--model", model, "--val-data", "moved", "--quiet")
	fails(t, []string{"eval", "--model", model, "--val-data", "moved"}, "--val-data", "--split validation")
	idx(t, dir, 120)
	if err := os.Mkdir("val", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"} {
		b, err := os.ReadFile(filepath.Join("moved", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "labels") {
			b[8] = 9 // the label of the first image
		}
		write(t, filepath.Join("val", name), b)
	}
	fails(t, eval, "other samples than those that training validated on")
	fails(t, with(eval, "--val-data", "val"), "--val-data val", "other samples than those that training validated on")
	succeed(t, with(train, "--out", "part", "--quiet")...)
	fails(t, []string{"eval", "--model", filepath.Join("part", dpn.ModelFile), "--split", "validation", "--val-data",
		"moved"}, "--val-data moved", "some of its training images")
	_, errs, status = dpnbench(t, "train", "--out", "run", "--resume")
	if status != exitUsage || !strings.Contains(errs, "images differ from the original run") {
		t.Errorf("status %d, standard error %q", status, errs)
	}
}
