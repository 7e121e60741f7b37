//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestSweepKilled kills a sweep by SIGKILL and by SIGINT in turn, whenever another run has ended, and calls it again:
// in the end the results are those of an uninterrupted one, and no run that had ended was written again.
func TestSweepKilled(t *testing.T) {
	long(t)
	heed()
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	config := sweepConfig(t, dir, data, "epochs = 6",
		"[sweep]\nmethod = 'halving'\nleast-epochs = 2\n[vary]\nlr = [0.001, 0.01, 0.02]\nseed = [1]")
	args := []string{"sweep", "--config", config, "--quiet", "--out"}
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "killed")
	succeed(t, with(args, whole)...)
	ended := func() map[string]string {
		all := map[string]string{}
		list, _ := filepath.Glob(filepath.Join(out, runsFolder, "*", resultFile))
		for _, path := range list {
			b, _ := os.ReadFile(path)
			all[path] = string(b)
		}
		return all
	}
	before, kills := ended(), 0
	for ; ; kills++ {
		signal := []os.Signal{os.Kill, os.Interrupt}[kills%2]
		stderr, sent, err := signalled(t, with(args, out), signal, func() bool { return len(ended()) > len(before) })
		now := ended()
		for path, text := range before {
			if now[path] != text {
				t.Errorf("%s was written again", path)
			}
		}
		if before = now; err == nil {
			break
		}
		if !sent || signal == os.Interrupt && !regexp.MustCompile(
			`: \d of \d runs? of rung [12] ended; the same command goes on\n`).MatchString(stderr) {
			t.Fatalf("%v: %s", err, stderr)
		}
	}
	if got, want := compared(t, out), compared(t, whole); !slices.Equal(got, want) || kills < 2 {
		t.Errorf("after %d kills %q, want %q", kills, got, want)
	}
}
