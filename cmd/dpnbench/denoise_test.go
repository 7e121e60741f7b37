package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
)

// TestDenoise denoises corrupted images, and images as they are.
func TestDenoise(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	pixels := filepath.Join(dir, "pixels")
	succeed(t, "train", "--preset", "robust", "--components", "10", "--rank", "2", "--steps", "7", "--epochs", "1",
		"--batch", "16", "--data", data, "--out", pixels, "--quiet")
	model := filepath.Join(pixels, dpn.ModelFile)
	type result struct {
		Samples, Steps int
		CorruptSeed    uint64 `json:"corrupt_seed"`
		Corruptions    []denoised
	}
	out, js := filepath.Join(dir, "cleaned"), filepath.Join(dir, "denoise.json")
	text := succeed(t, "denoise", "--model", model, "--corrupt", "gaussian:0.4,gaussian:0", "--corrupt-seed", "3",
		"--count", "50", "--out", out, "--json", js)
	var r result
	load(t, js, &r)
	if r.Samples != 50 || r.Steps != 7 || r.CorruptSeed != 3 || len(r.Corruptions) != 2 {
		t.Fatalf("%+v", r)
	}
	noisy, same := r.Corruptions[0], r.Corruptions[1]
	if noisy.Name != "gaussian" || noisy.Severity != 0.4 || noisy.Images != 50 ||
		!(noisy.Gain.Gain > 0 && noisy.CI[0] < noisy.Gain.Gain && noisy.CI[1] > noisy.Gain.Gain) {
		t.Errorf("%+v %+v", noisy, noisy.Gain)
	}
	if same.Images != 0 || same.Gain.Gain.IsFinite() || *same.Accuracy < *noisy.Accuracy {
		t.Errorf("without noise: %+v %+v", same, same.Gain)
	}
	if !strings.Contains(text, " dB") || !strings.Contains(text, "gaussian:0.4") ||
		!strings.Contains(text, "50 images (seed 3)") {
		t.Errorf("printed %q", text)
	}
	first, err := os.ReadFile(noisy.File)
	if err != nil || len(first) != 128+4*50*16 {
		t.Errorf("%d bytes of images, %v", len(first), err)
	}
	for _, f := range []string{"gaussian-0.4.png", "gaussian-0.4.svg", "gaussian-0.png", "denoise.json"} {
		if _, err := os.Stat(filepath.Join(out, f)); err != nil {
			t.Error(err)
		}
	}
	svg, err := os.ReadFile(filepath.Join(out, "gaussian-0.4.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"clean", "noisy", "step 2", "step 6", "end"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the figure says nothing of %q", want)
		}
	}
	succeed(t, "denoise", "--model", model, "--corrupt", "gaussian:0.4", "--corrupt-seed", "3", "--count", "50",
		"--out", out, "--threads", "3", "--tier", "generic")
	if again, err := os.ReadFile(noisy.File); err != nil || string(again) != string(first) {
		t.Errorf("other images on another tier (%v)", err)
	}

	// Files of an earlier run are removed, others are kept.
	users := filepath.Join(out, "gaussian-9.npy")
	write(t, users, nil)
	succeed(t, "denoise", "--model", model, "--corrupt", "blur:1", "--corrupt", "inverted:1", "--count", "20",
		"--out", out)
	var names []string
	left, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		names = append(names, f.Name())
	}
	if got, want := strings.Join(names, " "), "blur-1.npy blur-1.png blur-1.svg denoise.json gaussian-9.npy "+
		"inverted-1.npy inverted-1.png inverted-1.svg"; got != want {
		t.Errorf("the folder holds %s, want %s", got, want)
	}

	text = succeed(t, "denoise", "--model", model, "--json", js, "--count", "0")
	r = result{}
	load(t, js, &r)
	if r.Samples != 120 || len(r.Corruptions) != 1 || r.Corruptions[0].Name != none ||
		r.Corruptions[0].Gain != nil || strings.Contains(text, " dB") || strings.Contains(text, "seed") {
		t.Errorf("images as they are: %+v, printed %q", r, text)
	}
	if _, err := os.Stat(filepath.Join(pixels, "denoised", "cleaned.npy")); err != nil {
		t.Error(err)
	}

	features := filepath.Join(dir, "features")
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", features, "--quiet")...)
	fails(t, []string{"denoise", "--model", filepath.Join(features, dpn.ModelFile)}, "--model",
		"not pixels (extractor linear", "robust")
	fails(t, []string{"denoise"}, "--model: expected a model file")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--corrupt", "fog:1"}, `"fog"`},
		{[]string{"--corrupt", "gaussian"}, "no severity"},
		{[]string{"--count", "-1"}, "--count -1: expected 1 or more"},
		{[]string{"--steps", "-3"}, "--steps -3: "},
		{[]string{"--corrupt-seed", "3"}, "--corrupt-seed 3: only with --corrupt"},
		{[]string{"--data", "digits", "--test-size", "10"}, "28 x 28"},
		{[]string{"--out", model}, "--out " + model},
		{[]string{"--json", model}, "is the input"},
	} {
		fails(t, with([]string{"denoise", "--model", model, "--out", filepath.Join(dir, "bad")}, c.args...), c.want)
	}
}
