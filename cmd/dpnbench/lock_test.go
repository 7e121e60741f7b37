//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/longtest"
)

// TestLock trains in a folder to which another run writes: every command that would write there
// is refused until the other run has ended.
func TestLock(t *testing.T) {
	longtest.Native(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	train := with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")
	succeed(t, train...)
	release, err := folderlock.Acquire(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{train, with(train, "--overwrite"), {"train", "--resume", "--out", out},
		{"demo", "--out", out}} {
		fails(t, args, "--out "+out, "in use by another process")
	}
	t.Setenv("SLURM_STEP_NUM_TASKS", "1")
	if _, errs, _ := dpnbench(t, train...); strings.Contains(errs, "srun") {
		t.Errorf("one task: %q", errs)
	}
	t.Setenv("SLURM_STEP_NUM_TASKS", "3")
	fails(t, train, "in use by another process", "srun has started 3 tasks, but not as ranks")
	fails(t, with(train, "--overwrite"), "in use by another process", "srun has started 3 tasks, but not as ranks")
	succeed(t, "eval", "--model", filepath.Join(out, dpn.ModelFile)) // which only reads
	release()
	succeed(t, with(train, "--overwrite")...)
	succeed(t, "train", "--resume", "--out", out, "--quiet")
}
