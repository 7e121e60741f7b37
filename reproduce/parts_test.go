package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/internal/output"
)

// runner runs one experiment.
type runner func(ctx context.Context, p *Parts) (Results, error)

// finish removes the parts as a command does that has written its results, and checks that nothing is left.
func finish(t *testing.T, out string, p *Parts) {
	t.Helper()
	var files output.Batch
	p.Finish(&files)
	if err := files.Commit(); err != nil {
		t.Fatal(err)
	}
	CleanParts(out)
	if list, err := os.ReadDir(out); err != nil || len(list) > 0 {
		t.Errorf("left in the folder: %v, error %v", list, err)
	}
}

// whole runs an experiment without interruption.
func whole(t *testing.T, run runner) Results {
	t.Helper()
	out := t.TempDir()
	p, err := BeginParts(out, Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, out, p)
	return r
}

// interrupted runs an experiment that is interrupted after each part, and returns the number of parts.
func interrupted(t *testing.T, run runner) (r Results, parts int) {
	t.Helper()
	out := t.TempDir()
	p, err := BeginParts(out, Settings{}, nil)
	for ; err == nil; p, err = ResumeParts(out, Settings{}) {
		if p.Len() != parts {
			t.Fatalf("%d parts, want %d", p.Len(), parts)
		}
		ctx, cancel := context.WithCancel(context.Background())
		p.OnSave = func() { parts++; cancel() }
		before := parts
		r, err = run(ctx, p)
		cancel()
		if err == nil {
			if parts > before+1 {
				t.Errorf("went on for %d parts after the interruption", parts-before-1)
			}
			finish(t, out, p)
			return r, parts
		}
		if !errors.Is(err, context.Canceled) || parts == before {
			break
		}
	}
	t.Fatalf("after %d parts: %v", parts, err)
	return r, parts
}

// equal compares results and their pages, without measured times.
func equal(t *testing.T, a, b Results) {
	t.Helper()
	var texts [2][]byte
	for i, r := range []Results{a, b} {
		clocks(r)
		js, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := Page(r, nil).Write(&page); err != nil {
			t.Fatal(err)
		}
		texts[i] = append(js, page.Bytes()...)
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("an interrupted run gives other results, or another page")
	}
}

// TestOverwrite begins a run where there is another: nothing of that is removed before the first part.
func TestOverwrite(t *testing.T) {
	out := t.TempDir()
	run := func(p *Parts, value float64) {
		t.Helper()
		work := func(string) (posterUnit, error) { return posterResult(value), nil }
		if _, err := unit(p, "poster: DPN, seed 1", func() {}, work); err != nil {
			t.Fatal(err)
		}
	}
	p, err := BeginParts(out, Settings{Seeds: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run(p, 0.25)
	page := filepath.Join(out, "report.html")
	if err := os.WriteFile(page, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err = BeginParts(out, Settings{Seeds: 2}, []string{page}); err != nil || p.Begun() {
		t.Fatalf("begun %v, error %v", p.Begun(), err)
	}
	if old, err := ResumeParts(out, Settings{Seeds: 1}); err != nil || old.Len() != 1 {
		t.Errorf("the earlier run is damaged: %v", err)
	}
	run(p, 0.5)
	if _, err := os.Stat(page); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old page is there still (%v)", err)
	}
	if p, err = ResumeParts(out, Settings{Seeds: 2}); err != nil || p.Len() != 1 || p.Seconds() <= 0 {
		t.Errorf("the new run cannot be resumed: %v", err)
	}
	finish(t, out, p)
}

// endedBy is a context that ends when a file exists.
type endedBy struct {
	context.Context
	path string
}

func (c endedBy) Err() error {
	if _, err := os.Stat(c.path); err == nil {
		return context.Canceled
	}
	return nil
}

// TestTrainingResumes interrupts the training of a preset after its first state: it goes on from there.
func TestTrainingResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains networks for some seconds")
	}
	d := *digits()
	d.Train, d.Test = d.Train.Slice(0, 300), d.Test.Slice(0, 40)
	e := newEngine(t, 2)
	run := func(ctx context.Context, p *Parts) (r Results, err error) {
		r.Trained, err = RunTrained(ctx, e, &d, TrainedOptions{Presets: []string{"compact"}, Seeds: 1, Epochs: 3,
			Draws: 20, Parts: p})
		return r, err
	}
	want := whole(t, run)
	out := t.TempDir()
	p, err := BeginParts(out, Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := p.folder("trained: compact, seed 1")
	state := filepath.Join(dir, dpn.StateFile)
	if _, err := run(endedBy{context.Background(), state}, p); !errors.Is(err, context.Canceled) || p.Len() > 0 {
		t.Fatalf("error %v after %d parts", err, p.Len())
	}
	good, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = ResumeParts(out, Settings{}); err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	for _, c := range []struct {
		state []byte
		fails bool
	}{{bad, true}, {good, false}} {
		if err := os.WriteFile(state, c.state, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := run(context.Background(), p)
		if c.fails {
			var of *StateError
			if !errors.As(err, &of) || of.Dir != dir || !strings.Contains(err.Error(), state) {
				t.Errorf("a damaged state: error %v, want one about %s", err, state)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		equal(t, want, got)
	}
	finish(t, out, p)
}

// posterResult is the result of a made-up training.
func posterResult(accuracy float64) posterUnit {
	u := posterUnit{Run: results(false).Poster.DPN[0]}
	u.Run.TestAccuracy = accuracy
	for i, n := range noises {
		u.Run.Noisy[i] = NoisyScore{n.Name, n.Severity, accuracy}
	}
	return u
}
