package dpn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// obstacle makes saves to a folder fail. Calling it again undoes that.
type obstacle func(t *testing.T, dir string, on bool)

// obstacles are that the folder cannot be reached, and that one of its files cannot be replaced.
var obstacles = map[string]obstacle{
	"folder": func(t *testing.T, dir string, on bool) {
		if on {
			move(t, dir, dir+".aside")
			if err := os.WriteFile(dir, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		os.Remove(dir)
		move(t, dir+".aside", dir)
	},
	"file": func(t *testing.T, dir string, on bool) {
		last := filepath.Join(dir, LastFile)
		if on {
			if err := os.Rename(last, last+".aside"); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.Mkdir(last, 0o755); err != nil {
				t.Fatal(err)
			}
			return
		}
		os.Remove(last)
		if err := os.Rename(last+".aside", last); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	},
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestSavesFail has the saves of training fail from one update to another, or to the end. Training goes on with
// one warning; what the folder holds is whole, and in the end the files are those of undisturbed training.
func TestSavesFail(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes minutes under emulation, which changes nothing of it")
	}
	e := newEngine(t)
	r := newCheckpointRun(t, e, func(*Config) {})
	want := r.outcome(t.TempDir(), false)
	old := newCheckpointRun(t, e, func(c *Config) { c.Seed = 9 })
	const all = 12 // updates, 4 an epoch
	for name, block := range obstacles {
		for _, from := range []int{3, 0, 4, 9} {
			for _, to := range []int{from + 1, from + 5, all + 1} {
				for _, interrupted := range []bool{false, true} {
					dir := filepath.Join(t.TempDir(), "run")
					if err := os.Mkdir(dir, 0o755); err != nil {
						t.Fatal(err)
					}
					if from == 0 { // in the place of an earlier run
						old.outcome(dir, false)
					}
					s := failing{checkpointRun: r, block: block, dir: dir, from: from, to: to}
					s.run(name, interrupted)
					if s.stands {
						block(t, dir, false)
					}
					resume := savedBy(t, dir, r)
					same(t, name, r.outcome(dir, resume), want)
					if t.Failed() {
						t.Fatalf("%s from update %d to %d, interrupted: %v", name, from, to, interrupted)
					}
				}
			}
		}
	}
}

// TestLastSave has the last save of training fail some times: it is tried twice.
func TestLastSave(t *testing.T) {
	for failures, calls := range []int{1, 2, 2} {
		f := &fitting{progress: progress{Epochs: 3, Updates: 12}, saved: saved{epochs: 1, updates: 7}}
		made := 0
		err := f.saveLast(func() error {
			if made++; made <= failures {
				return fmt.Errorf("failure %d", made)
			}
			return nil
		}, true)
		unsaved, ok := errors.AsType[*UnsavedError](err)
		if ok != (failures == 2) || made != calls {
			t.Errorf("%d failures: error %v after %d saves, want %d", failures, err, made, calls)
		}
		want := "failure 2: the last save failed: 2 epochs and 5 updates are not saved"
		if unsaved != nil && unsaved.Error() != want {
			t.Errorf("error %q, want %q", unsaved, want)
		}
	}
}

// savedBy says whether a folder holds a state of r.
func savedBy(t *testing.T, dir string, r checkpointRun) bool {
	c, _, err := ReadState(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "no such file") {
		t.Fatal(err)
	}
	return err == nil && c.Seed == r.c.Seed
}

// failing is training whose saves fail after update from, and no longer after update to.
type failing struct {
	checkpointRun
	block    obstacle
	dir      string
	from, to int
	stands   bool // the obstacle
}

// run trains, and checks the error and the warnings. It can be interrupted after update 11.
func (s *failing) run(name string, interrupted bool) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log strings.Builder
	at := func(done int) {
		if done == s.from || done == s.to {
			s.stands = done == s.from
			s.block(s.t, s.dir, s.stands)
		}
		if interrupted && done == 11 {
			cancel()
		}
	}
	saves := 0
	last := 0 // update after which a save succeeded
	begun := false
	_, res, err := s.fit(ctx, FitOptions{Dir: s.dir, CheckpointUpdates: 1,
		OnSave: func(_, updates int) { saves++; last = updates },
		OnUpdate: func(done, _ int, _ float64) {
			if s.from == 0 && !begun {
				begun = true
				at(0)
			}
			at(done)
		},
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	unsaved, failed := errors.AsType[*UnsavedError](err)
	switch {
	case failed && !s.stands, s.stands && !failed && name == "folder": // the file may not be due
		s.t.Errorf("error %v, while saves fail: %v", err, s.stands)
	case failed && (unsaved.Finished == interrupted || unsaved.Updates != res.Updates-last):
		s.t.Errorf("%+v, interrupted: %v, after %d updates; saved were %d", unsaved, interrupted, res.Updates, last)
	case !failed && interrupted != errors.Is(err, context.Canceled):
		s.t.Errorf("interrupted: %v, error %v", interrupted, err)
	}
	if failed && !interrupted && len(res.Epochs) != 3 {
		s.t.Errorf("%d epochs, expected those of all 3", len(res.Epochs))
	}
	warned := strings.Count(log.String(), "not saved; training goes on")
	again := strings.Count(log.String(), "saved again")
	if warned > 1 || again > 1 || !failed && warned != again {
		s.t.Errorf("%s: logged %q", name, log.String())
	}
}
