package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/quote"
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
		"saltpepper:0.3", "thousand parameters", "clean training, clean: robust-small is ",
		"with --epochs everything is measured, but no claim gets a verdict"} {
		if !strings.Contains(text, want) {
			t.Errorf("printed nothing of %q: %s", want, text)
		}
	}
	var r reproduced
	load(t, js, &r)
	if r.Robust == nil || r.Settings.Experiment != "robust" || r.Seconds <= 0 {
		t.Fatalf("%+v", r)
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
		"robust-noisy.svg": true, "parts": false})
	first, err := os.ReadFile(js)
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, out)
	again := succeed(t, with(base, "--resume")...)
	if strings.Contains(again, "robust: seed") || !strings.Contains(again, "robust-small is ") {
		t.Errorf("of a finished run it printed %q", again)
	}
	if b, err := os.ReadFile(js); err != nil || string(b) != string(first) || !maps.Equal(tree(t, out), before) {
		t.Errorf("resuming a finished run changes its results (%v)", err)
	}
	fails(t, with(base, "--resume", "--epochs", "2"), "--epochs 1", "expected")
	fails(t, []string{"reproduce", "robust", "--data", data, "--resume", "--out", filepath.Join(dir, "none")},
		"--resume", "none", "nothing to resume")
	fails(t, []string{"reproduce", "table1", "--data", data, "--out", out, "--resume"}, "--resume", "experiment robust")
	fails(t, []string{"reproduce", "all", "--data", data, "--seeds", "-1"}, "--seeds -1")
	fails(t, []string{"reproduce", "field", "--data", data, "--seeds", "2"}, "--seeds", "reproduce field")
	fails(t, []string{"reproduce", "field", "--data", data, "--epochs", "2"}, "--epochs", "reproduce field")
	fails(t, []string{"reproduce", "law", "--data", data, "--presets", "raw"}, "--presets", "reproduce law")
	fails(t, []string{"reproduce", "all", "--data", data, "--train-size", "200", "--out", filepath.Join(dir, "few")},
		"--train-size 200: law: ", "expected at least 100")
	fails(t, []string{"reproduce", "law", "--matrix", "--data", data, "--train-size", "200", "--out",
		filepath.Join(dir, "few")}, "--train-size 200: law: ", "expected at least 500")
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
	fails(t, with(base, "--resume"), "--resume", "reproduce.json: format 0, expected 3")
}

// endedBy is a context that ends when a function says so.
type endedBy struct {
	context.Context
	ended func() bool
}

func (c endedBy) Err() error {
	if c.ended() {
		return context.Canceled
	}
	return nil
}

// TestGoOn checks the commands that an interrupted run suggests, and that others are refused.
func TestGoOn(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 60)
	out := filepath.Join(dir, "my run's")
	args := func(presets string, more ...string) []string {
		return with([]string{"reproduce", "trained", "--data", data, "--presets", presets, "--seeds", "1", "--epochs",
			"1", "--out", out, "--quiet"}, more...)
	}
	interrupted := func(ended func() bool, more ...string) string {
		t.Helper()
		a := &app{out: printer{File: os.Stdout}, stderr: os.Stderr}
		command := a.command()
		command.SetArgs(args("compact", more...))
		if err := command.ExecuteContext(endedBy{context.Background(), ended}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		return a.afterInterrupt
	}
	exists := func(name string) func() bool {
		return func() bool { return exist([]string{filepath.Join(out, reproduce.PartsFolder, name)}) }
	}
	again := "dpnbench reproduce trained --data " + quote.Shell(data) + " --epochs 1 --out " + quote.Shell(out) +
		" --presets compact --quiet --seeds 1 "
	for _, c := range []struct {
		ended func() bool
		want  string
		more  []string
	}{
		{exists(""), ": 0 finished parts are saved, continue with: ", nil},
		{exists("trained-compact-seed-1.json"), ": 1 finished part is saved, continue with: ", []string{"--resume"}},
		{exists("forward-batchnorm-7-x-100-seed-1.json"), ": 2 finished parts are saved, continue with: ",
			[]string{"--resume"}},
	} {
		if got := interrupted(c.ended, c.more...); got != c.want+again+"--resume" {
			t.Errorf("says %q, want %q", got, c.want+again+"--resume")
		}
	}
	before := tree(t, out)
	fails(t, args("compact"), "--out "+out, "--resume or --overwrite")
	fails(t, args("compact", "--resume", "--seeds", "2"), "--resume", "--seeds 1, this command 2")
	fails(t, args("raw", "--resume"), "--resume", "--presets compact, this command raw")
	fails(t, args("compact", "--resume", "--data", "digits", "--train-size", "60", "--test-size", "40"), "--resume",
		"these are others")
	if !maps.Equal(before, tree(t, out)) {
		t.Error("what was refused has changed files")
	}
	succeed(t, args("compact", "--resume")...)
	before = tree(t, out)
	said := ""
	for n := int64(1); said == ""; n *= 2 { // until it comes as far as the first part
		var calls atomic.Int64
		said = interrupted(func() bool { return calls.Add(1) > n }, "--overwrite")
		if !maps.Equal(before, tree(t, out)) {
			t.Fatal("--overwrite has changed files before the first part")
		}
	}
	if want := ": the earlier run is kept, start again with: " + again + "--overwrite"; said != want {
		t.Errorf("says %q, want %q", said, want)
	}
}

// FuzzResults reads reproduce.json as --resume does for a finished run.
func FuzzResults(f *testing.F) {
	for _, text := range []string{`{}`, `{"format":1}`, `{"format":2,"settings":{"experiment":"all"}}`,
		`{"format":2,"settings":{"experiment":"robust"},"robust":{"networks":[{"kind":"dpn","runs":[]}]}}`,
		`{"format":2,"robust":{"networks":[{"kind":"dpn","runs":[{"seed":1,"noisy":[]}]}]},"claims":[{"id":"x"}]}`,
		`{"format":2,"settings":{"experiment":"law"},"law":{"networks":null},"claims":[{"measured":"x"}]}`} {
		f.Add([]byte(text))
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var out *reproduced
		var err error
		fuzzlimit.Check(t, 64*len(b)+4<<20, func() { out, err = parseResults(b) })
		if err != nil {
			return
		}
		r := reproduction{app: &app{out: printer{File: null}}}
		r.show(out, false)
	})
}
