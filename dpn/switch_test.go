package dpn

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/internal/longtest"
)

// TestSwitch resumes from the folders that a kill leaves while the first save of a run replaces the files of
// an earlier one: the state comes first, the others follow.
func TestSwitch(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	r := newCheckpointRun(t, e, func(*Config) {})
	stale := "train.json" // written by the caller
	want := r.outcome(t.TempDir(), false)

	old, dir := newCheckpointRun(t, e, func(c *Config) { c.Seed = 9 }), t.TempDir()
	old.outcome(dir, false)
	before := snapshot(t, dir)
	before[stale] = "old"

	fresh := t.TempDir()
	r.interrupted(fresh, false, 3)
	after := snapshot(t, fresh)
	order := []string{StateFile, stale, ModelFile, LastFile, MetricsFile, ConfigFile}
	for n := range len(order) + 1 {
		at := t.TempDir()
		restore(t, at, before)
		for _, name := range order[:n] {
			os.Remove(filepath.Join(at, name))
			if content, ok := after[name]; ok {
				restore(t, at, map[string]string{name: content})
			}
		}
		if n == 0 { // no run but the old one
			if now := snapshot(t, at); now[StateFile] != before[StateFile] {
				t.Fatal("the state has changed")
			}
			continue
		}
		m, _, err := r.fit(context.Background(), FitOptions{Dir: at, Resume: true,
			Stale: []string{filepath.Join(at, stale)}})
		if err != nil || m.WeightsSHA256() != want["weights"] {
			t.Fatalf("after %d files: weights %s (%v), want %s", n, m.WeightsSHA256(), err, want["weights"])
		}
		same(t, "switched", r.outcome(at, true), want)
	}
}

// TestSwitchOrder reads the folder at the first save of a run that replaces another: every file is of the new
// one, or gone.
func TestSwitchOrder(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	for _, updates := range []int{1, 0} { // saved first within the first epoch, or after it
		dir := t.TempDir()
		old := newCheckpointRun(t, e, func(c *Config) { c.Seed = 9 })
		old.outcome(dir, false)
		restore(t, dir, map[string]string{"train.json": "old"})
		before := snapshot(t, dir)
		r := newCheckpointRun(t, e, func(*Config) {})
		saves := 0
		_, _, err := r.fit(context.Background(), FitOptions{Dir: dir, Stale: []string{filepath.Join(dir, "train.json")},
			CheckpointUpdates: updates, OnSave: func(int, int) {
				if saves++; saves > 1 {
					return
				}
				for name, content := range snapshot(t, dir) {
					if before[name] == content || strings.Contains(name, "unfinished") {
						t.Errorf("checkpoints after %d updates: %s of the old run is there", updates, name)
					}
				}
			}})
		if err != nil || saves == 0 {
			t.Fatalf("%d saves, %v", saves, err)
		}
	}
}

// TestLostMetrics resumes a run whose metrics.jsonl is missing, cut, changed or of another run: one warning
// says so, the weights are those of a run in one go, and the file holds the epochs from then on.
func TestLostMetrics(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	r := newCheckpointRun(t, e, func(*Config) {})
	want := r.outcome(t.TempDir(), false)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, _, err := r.fit(ctx, FitOptions{Dir: dir, OnEpoch: func(h Epoch) {
		if h.Epoch == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	files := snapshot(t, dir)
	lines := files[MetricsFile]
	for what, content := range map[string]string{"missing": "", "cut": lines[:len(lines)/2], "empty": "\n",
		"changed": strings.Replace(lines, "1", "2", 1), "swapped": strings.ToUpper(lines) + lines} {
		at := t.TempDir()
		restore(t, at, files)
		if path := filepath.Join(at, MetricsFile); content == "" {
			os.Remove(path)
		} else if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		m, res, err := r.fit(context.Background(), FitOptions{Dir: at, Resume: true,
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		if err != nil || m.WeightsSHA256() != want["weights"] {
			t.Fatalf("%s: %v", what, err)
		}
		if strings.Count(log.String(), "without the figures") != 1 || !strings.Contains(log.String(), MetricsFile) {
			t.Errorf("%s: logged %q", what, log.String())
		}
		if h := readMetrics(t, at); len(h) != 1 || h[0].Epoch != 3 || len(res.Epochs) != 1 {
			t.Errorf("%s: %d lines, %d epochs", what, len(h), len(res.Epochs))
		}
		again, res, err := r.fit(context.Background(), FitOptions{Dir: at, Resume: true})
		if err != nil || !res.Already || again.WeightsSHA256() != want["weights"] || len(res.Epochs) != 1 {
			t.Errorf("%s: again: %+v, %v", what, res, err)
		}
	}
}
