package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
)

// TestStateDictionary evaluates tensors without settings: assumptions are printed, except those
// that a flag replaces.
func TestStateDictionary(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	const k, d = 2, 16
	f := &safetensors.File{Tensors: []safetensors.Tensor{
		{Name: "denoising_potential.mu", Shape: []int{k, d}, Data: make([]float32, k*d)},
		{Name: "denoising_potential.A", Shape: []int{k, d, d}, Data: make([]float32, k*d*d)},
		{Name: "denoising_potential.c", Shape: []int{k}, Data: make([]float32, k)},
		{Name: "denoising_potential.alpha", Data: []float32{0.1}},
		{Name: "classifier.weight", Shape: []int{10, d}, Data: make([]float32, 10*d)},
		{Name: "classifier.bias", Shape: []int{10}, Data: make([]float32, 10)},
	}}
	path := filepath.Join(dir, "reference.safetensors")
	if err := safetensors.WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	out := succeed(t, "eval", "--model", path, "--data", data)
	if want := "no settings in " + path + ", assumed: layer-norm false, mean 0.1307, std 0.3081, steps " +
		"30\n"; !strings.Contains(out, want) {
		t.Errorf("eval printed %q, want %q", out, want)
	}
	var r map[string]any
	if err := json.Unmarshal([]byte(succeed(t, "eval", "--model", path, "--data", data, "--steps", "2", "--json",
		"-")), &r); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"layer_norm": false, "mean": 0.1307, "std": 0.3081}; !reflect.DeepEqual(r["assumed"],
		want) {
		t.Errorf("eval's JSON has assumed %v, want %v", r["assumed"], want)
	}
}

// TestForeignFiles loads files of other programs, and damaged ones, as models.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"PK\x03\x04\x00\x00\x08\x08, as torch.save writes": `"dpnbench import"`,
		`{"loss": 0.25, "accuracy": 0.9}`:                  "not a safetensors file",
		"":                                                 "not a safetensors file",
	} {
		path := filepath.Join(dir, "model.pth")
		write(t, path, []byte(text))
		fails(t, []string{"eval", "--model", path}, "--model "+path, want)
	}
}

// TestNoTrainingImages checks that commands that need only test images accept a folder with only
// those, and that the others name the missing file.
func TestNoTrainingImages(t *testing.T) {
	long(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	model := filepath.Join(out, dpn.ModelFile)
	const images, labels = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for _, name := range []string{images + ".gz", labels} {
		if err := os.Remove(filepath.Join(data, name)); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, "eval", "--model", model)
	succeed(t, "analyze", "--model", model, "--draws", "20", "--subsets", "2")
	fails(t, []string{"eval", "--model", model, "--split", "validation"}, "--data", labels)
	fails(t, []string{"uncertainty", "--model", model}, "--data", labels)
	fails(t, []string{"eval", "--model", model, "--data", out + "-none"}, "--data", "no file or folder", out+"-none")
}
