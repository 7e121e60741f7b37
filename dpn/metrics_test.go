package dpn

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryIsAdded saves each of 60 epochs and checks that what a save writes does not grow with the epochs
// before: metrics.jsonl stays the same file, which gets a line, and the state says no more of epoch 60 than of
// epoch 2. The times of updates, whose number is bounded, are left out.
func TestHistoryIsAdded(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes minutes under emulation, which changes nothing of it")
	}
	r := newCheckpointRun(t, newEngine(t), func(*Config) {})
	r.c.Epochs, r.c.Batch, r.c.ValSize = 60, 100, 0
	dir := t.TempDir()
	var file os.FileInfo
	var length, size int
	opt := FitOptions{Dir: dir, CheckpointUpdates: 1, OnSave: func(epochs, _ int) {
		info, err := os.Stat(filepath.Join(dir, MetricsFile))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, MetricsFile))
		if err != nil || strings.Count(string(b), "\n") != epochs {
			t.Fatalf("%d lines after %d epochs (%v)", strings.Count(string(b), "\n"), epochs, err)
		}
		p := savedProgress(t, dir)
		if len(p.Times) >= 2*keptTimes {
			t.Errorf("%d times", len(p.Times))
		}
		p.Times = nil
		said := len(text(t, p))
		switch {
		case epochs == 2:
			file, length, size = info, said, len(b)
		case epochs > 2 && !os.SameFile(file, info):
			t.Fatalf("after %d epochs %s is another file", epochs, MetricsFile)
		case epochs == 60 && (said > length+60 || len(b) > 60*size):
			t.Errorf("the state says %d bytes after 2 epochs, %d after 60", length, said)
		}
	}}
	if _, res, err := r.fit(context.Background(), opt); err != nil || len(res.Epochs) != 60 {
		t.Fatal(err)
	}
}
