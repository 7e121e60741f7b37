package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/internal/longtest"
)

// TestDemo runs the demo on a terminal, in a folder that does not exist yet.
func TestDemo(t *testing.T) {
	longtest.Need(t)
	defer func(all source.Options) { demoData = all }(demoData)
	demoData.TrainSize, demoData.TestSize = 1500, 300
	t.Setenv("TERM", "xterm")
	t.Chdir(t.TempDir())
	out := "demo"
	text := shownCommand{args: []string{"demo", "--out", out}, bars: []string{"check", "epoch", "analyze"},
		shown: []string{"Done in"}}.run(t, 80)
	for _, f := range []string{dpn.ModelFile, "training.png", "analysis/analysis.json", "analysis/report.html"} {
		name := filepath.Join(out, f)
		if _, err := os.Stat(name); err != nil || !strings.Contains(text, name) {
			t.Errorf("%s: %v, and the demo printed %q", name, err, text)
		}
	}
	fails(t, []string{"train", "--preset", "compact", "--out", out}, "--out", "an earlier run")
}
