package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/reproduce"
)

// TestReproduceRobust compares networks on tiny images, and resumes the finished run.
func TestReproduceRobust(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 220)
	out, js := filepath.Join(dir, "out"), filepath.Join(dir, "r.json")
	base := []string{"reproduce", "robust", "--data", data, "--seeds", "1", "--epochs", "1", "--out", out, "--json", js}
	text := succeed(t, base...)
	for _, want := range []string{"robust: seed 1 of 1, CNN, noisy training", "MLP, dropout", "prototype rule at x_0",
		"saltpepper:0.3", "thousand parameters", "clean training, clean: robust-small is "} {
		if !strings.Contains(text, want) {
			t.Errorf("printed nothing of %q: %s", want, text)
		}
	}
	var r reproduced
	load(t, js, &r)
	if r.Robust == nil || !r.Robust.Complete || len(r.Robust.Done) == 0 {
		t.Fatalf("%+v", r.Robust)
	}
	measured := 0
	for _, c := range r.Claims {
		if !strings.HasPrefix(c.ID, "sota-") {
			continue
		}
		if c.Measured != "" {
			measured++
		}
		if c.Verdict != reproduce.Untested || !strings.Contains(c.Why, "MNIST") {
			t.Errorf("%s: %s, %s; the images are not MNIST's", c.ID, c.Verdict, c.Why)
		}
	}
	if measured != 5 {
		t.Errorf("%d claims of outperforming are measured, want 5", measured)
	}
	holds := func(want map[string]bool) {
		t.Helper()
		for f, want := range want {
			if _, err := os.Stat(filepath.Join(out, f)); (err == nil) != want {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
	holds(map[string]bool{"report.html": true, "reproduce.json": true, "robust-clean.png": true,
		"robust-noisy.svg": true})
	again := succeed(t, with(base, "--resume")...)
	if strings.Contains(again, "robust: seed") || !strings.Contains(again, "robust-small is ") {
		t.Errorf("with everything kept it printed %q", again)
	}
	fails(t, with(base[:len(base):len(base)], "--resume", "--epochs", "2"), "epochs 1", "expected")
	fails(t, []string{"reproduce", "robust", "--data", data, "--resume", "--out", filepath.Join(dir, "none")},
		"--resume", "none", "no such file")
	fails(t, []string{"reproduce", "table1", "--data", data, "--resume"}, "--resume", "reproduce robust")
	fails(t, []string{"reproduce", "all", "--data", data, "--seeds", "-1"}, "--seeds -1")
	fails(t, []string{"reproduce", "field", "--data", data, "--seeds", "2"}, "--seeds", "reproduce field")
	fails(t, []string{"reproduce", "field", "--data", data, "--epochs", "2"}, "--epochs", "reproduce field")
	fails(t, []string{"reproduce", "law", "--data", data, "--presets", "raw"}, "--presets", "reproduce law")
	fails(t, []string{"reproduce", "all", "--data", data, "--train-size", "200", "--out", filepath.Join(dir, "few")},
		"--train-size 200: law: ", "expected at least 100")
	fails(t, []string{"reproduce", "table1", "--data", data, "--test-size", "20", "--out", filepath.Join(dir, "few")},
		"--test-size 20: table1: 20 test images: expected at least 32")
	fails(t, base, "--out", "reproduce.json of an earlier run", "--overwrite")
	fails(t, with(base, "--resume", "--overwrite"), "--resume and --overwrite")
	fails(t, []string{"reproduce", "table1", "--data", data, "--out", out, "--overwrite", "--test-size", "5"},
		"5 test images")
	holds(map[string]bool{"report.html": true, "reproduce.json": true, "robust-clean.png": true})
	succeed(t, "reproduce", "poster", "--data", data, "--seeds", "1", "--epochs", "1", "--out", out, "--overwrite")
	holds(map[string]bool{"report.html": true, "reproduce.json": true, "robust-clean.png": false,
		"robust-noisy.svg": false, "poster.png": true})
	write(t, filepath.Join(out, "reproduce.json"), []byte("{}"))
	fails(t, with(base, "--resume"), "--resume", "expected the results of reproduce robust")
}
