package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/reproduce"
)

// TestReproduceRobust compares networks on tiny pictures, and again with everything kept.
func TestReproduceRobust(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 220)
	out, js := filepath.Join(dir, "out"), filepath.Join(dir, "r.json")
	base := []string{"reproduce", "robust", "--data", data, "--seeds", "1", "--epochs", "1", "--out", out, "--json", js}
	text := succeed(t, base...)
	for _, want := range []string{"robust: seed 1, CNN, noisy training", "MLP, dropout", "prototype rule at x_0", "saltpepper:0.3", "thousand parameters", "clean training, clean: robust-small is "} {
		if !strings.Contains(text, want) {
			t.Errorf("printed nothing of %q: %s", want, text)
		}
	}
	var r reproduced
	load(t, js, &r)
	if r.Robust == nil || !r.Robust.Complete || len(r.Robust.Done) == 0 {
		t.Fatalf("%+v", r.Robust)
	}
	judged := 0
	for _, c := range r.Claims {
		if strings.HasPrefix(c.ID, "sota-") && c.Verdict != reproduce.Untested {
			judged++
		}
	}
	if judged != 5 {
		t.Errorf("%d claims of outperforming are judged, want 5", judged)
	}
	for _, f := range []string{"report.html", "reproduce.json", "robust-clean.png", "robust-noisy.svg"} {
		if _, err := os.Stat(filepath.Join(out, f)); err != nil {
			t.Error(err)
		}
	}
	again := succeed(t, with(base, "--resume")...)
	if strings.Contains(again, "robust: seed") || !strings.Contains(again, "robust-small is ") {
		t.Errorf("with everything kept it printed %q", again)
	}
	fails(t, with(base[:len(base):len(base)], "--resume", "--epochs", "2"), "epochs 1", "expected")
	fails(t, []string{"reproduce", "robust", "--data", data, "--resume", "--out", filepath.Join(dir, "none")}, "--resume", "none", "no such file")
	fails(t, []string{"reproduce", "table1", "--data", data, "--resume"}, "--resume", "reproduce robust")
	fails(t, []string{"reproduce", "all", "--data", data, "--seeds", "-1"}, "--seeds -1")
	write(t, filepath.Join(out, "reproduce.json"), []byte("{}"))
	fails(t, with(base, "--resume"), "--resume", "expected the results of reproduce robust")
}
