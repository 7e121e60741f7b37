package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn"
)

// sweepConfig writes a file of a sweep over trainings of milliseconds, with more lines in front of the tables and
// after them.
func sweepConfig(t *testing.T, dir, data, before, after string) string {
	t.Helper()
	path := filepath.Join(dir, "sweep.toml")
	write(t, path, []byte(fmt.Sprintf("preset = 'compact'\ndim = 8\ncomponents = 4\nbatch = 16\ndata = '%s'\n%s\n%s\n",
		data, before, after)))
	return path
}

// compared returns the rows of sweep.csv without what was measured and where.
func compared(t *testing.T, out string) (rows []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, csvFile))
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(all[0], "seconds")
	for _, r := range all {
		r[len(r)-1] = filepath.Base(r[len(r)-1])
		rows = append(rows, strings.Join(slices.Delete(r, at, at+1), ","))
	}
	return rows
}

// TestSweep trains in order, side by side, by index from the last one on, and with the lines of the file in another
// order: nothing but times may change. The folder of a run is that of train with the same flags.
func TestSweep(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	lines := []string{"lr = [0.01, 1e30]", "seed = [3, 1]"}
	config := sweepConfig(t, dir, data, "steps = 2\nepochs = 2", "[vary]\n"+strings.Join(lines, "\n"))
	base := []string{"sweep", "--config", config, "--out"}
	out := filepath.Join(dir, "order")
	text := succeed(t, with(base, out)...)
	want := compared(t, out)
	if len(want) != 5 || !strings.Contains(text, "! run 3 failed: lr 1e+30, seed 1: epoch 1, update ") ||
		!strings.Contains(text, "\n  rank     lr  val loss      sd ") ||
		!strings.Contains(text, "Best of 2 settings: ") || !strings.Contains(text, "2 of 4 runs failed.") {
		t.Errorf("%q printed %q", want, text)
	}
	sides := filepath.Join(dir, "sides")
	succeed(t, with(base, sides, "--jobs", "3", "--quiet")...)
	index := filepath.Join(dir, "index")
	for i := 3; i >= 0; i-- {
		succeed(t, with(base, index, "--index", fmt.Sprint(i), "--quiet")...)
	}
	before := tree(t, filepath.Join(index, runsFolder))
	if text := succeed(t, with(base, index)...); !strings.HasPrefix(text, "4 of 4 runs ended before\n  rank") {
		t.Errorf("with all parts there: printed %q", text)
	}
	for path, text := range tree(t, filepath.Join(index, runsFolder)) {
		if before[path] != text {
			t.Errorf("%s was written again", path)
		}
	}
	for path, text := range before { // as earlier versions wrote it
		if filepath.Base(path) == resultFile {
			write(t, path, []byte(strings.Replace(text, `"updates": `, `"steps": `, 1)))
		}
	}
	succeed(t, with(base, index)...)
	for path, text := range tree(t, filepath.Join(index, runsFolder)) {
		if filepath.Base(path) == resultFile && !strings.Contains(text, `"updates": `) {
			t.Errorf("%s of an earlier version stays", path)
		}
	}
	slices.Reverse(lines)
	sweepConfig(t, dir, data, "steps = 2\nepochs = 2", "[vary]\n"+strings.Join(lines, "\n"))
	succeed(t, with(base, filepath.Join(dir, "lines"), "--quiet")...)
	for _, name := range []string{"sides", "index", "lines"} {
		if got := compared(t, filepath.Join(dir, name)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var best struct {
		Best struct {
			Folder   string
			Settings map[string]float64
		}
	}
	load(t, filepath.Join(out, sweepFile), &best)
	again := filepath.Join(dir, "train")
	args := []string{"train", "--preset", "compact", "--dim", "8", "--components", "4", "--batch", "16",
		"--epochs", "2", "--steps", "2", "--data", data, "--out", again, "--quiet"}
	for name, v := range best.Best.Settings {
		args = append(args, "--"+name, fmt.Sprint(v))
	}
	succeed(t, args...)
	a, err := os.ReadFile(filepath.Join(best.Best.Folder, dpn.ModelFile))
	b, errB := os.ReadFile(filepath.Join(again, dpn.ModelFile))
	if err != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the model of %v is not that of train (%v, %v)", best.Best, err, errB)
	}
	list := succeed(t, with(base, out, "--list")...)
	if strings.Count(list, "  finished  ") != 2 || strings.Count(list, "  failed  ") != 2 ||
		!strings.Contains(list, "each as: dpnbench train --preset compact --dim 8 --components 4 --steps 2 --ep") {
		t.Errorf("--list printed %q", list)
	}
}

// TestSweepUsage gives sweep flags and files that cannot work; none trains anything.
func TestSweepUsage(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 40)
	for _, c := range []struct {
		before, after string
		args, want    []string
	}{
		{"", "[vary]\nlr = [0.1]\nrank = [0]\nform = ['lowrank']", nil,
			[]string{"sweep.toml: form lowrank, rank 0", "expected 1"}},
		{"lrr = 1", "[vary]\nlr = [1]", nil, []string{"--config", "sweep.toml", `line 6: unknown setting "lrr"`}},
		{"", "[vary]\nlr = [1, 2]", []string{"--index", "2"}, []string{"--index 2: expected 0 to 1, of the 2 runs"}},
		{"", "[vary]\nlr = [1, 2]", []string{"--index", "0", "--jobs", "2"}, []string{"--jobs 2", "one of the two"}},
		{"", "[vary]\nlr = [1, 2]", []string{"--list", "--index", "1"},
			[]string{"--index 1: cannot be combined with --list"}},
		{"", "[vary]\nlr = [1, 2]", []string{"--list", "--jobs", "2"},
			[]string{"--jobs 2: cannot be combined with --list"}},
		{"", "[vary]\nlr = [1, 2]", []string{"--jobs", "0"}, []string{"--jobs 0: expected 1 to 1024"}},
		{"val-size = 0", "[vary]\nlr = [1, 2]", nil, []string{"run 0, lr 1: no validation samples", "val-size"}},
		{"epochs = 4", "[sweep]\nmethod = 'halving'\n[vary]\nlr = [1, 2, 3]", []string{"--index", "3"},
			[]string{"--index 3: a run of rung 2", "3 runs are missing"}},
	} {
		config := sweepConfig(t, dir, data, c.before, c.after)
		fails(t, with([]string{"sweep", "--config", config, "--out", filepath.Join(dir, "out")}, c.args...), c.want...)
	}
	few := sweepConfig(t, dir, data, "", "[sweep]\nmethod = 'random'\ndraws = 3\n[vary]\nlr = [1, 2]")
	text := succeed(t, "sweep", "--config", few, "--list")
	if !strings.Contains(text, "draws 3: found only 2 different settings") {
		t.Errorf("fewer settings than draws: %s", text)
	}
	fails(t, []string{"sweep"}, "--config: expected a TOML file")
	fails(t, []string{"sweep", "--config", filepath.Join(dir, "none")}, "--config", "none", "no such file")
	if list, _ := filepath.Glob(filepath.Join(dir, "out", runsFolder, "*", "*")); len(list) > 0 {
		t.Errorf("made %q", list)
	}
}

// TestSweepOfOtherSamples changes the data of a sweep between two of its runs: they cannot be compared.
func TestSweepOfOtherSamples(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	out := filepath.Join(dir, "out")
	sweep := func(rates string) []string {
		return []string{"sweep", "--config", sweepConfig(t, dir, data, "steps = 2\nepochs = 1", "[vary]\nlr = "+rates),
			"--out", out, "--quiet"}
	}
	succeed(t, sweep("[0.01]")...)
	idx(t, data, 140)
	succeed(t, sweep("[0.01]")...) // nothing is compared with it
	settings := "epochs = 1\nmax-updates = 1\ntrain-size = 200\ntest-size = 9"
	large := []string{"sweep", "--config", sweepConfig(t, dir, "digits", settings,
		"[vary]\ndata-seed = [2000000, 3000000]"), "--out", filepath.Join(dir, "large"), "--quiet"}
	if _, errs, status := dpnbench(t, large...); status != exitDone {
		t.Errorf("other samples by their settings: status %d, %s", status, errs)
	}
	fails(t, sweep("[0.01, 0.02]"), "--out "+out, "runs 0 and 1 were trained on other samples of the same name, "+data)
}
