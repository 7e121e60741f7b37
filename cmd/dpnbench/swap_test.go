//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/internal/output"
)

// TestSwapKilled kills commands while they replace the files of an earlier run. The next command that opens the
// folder finds all old files, or none, and leaves nothing else there.
func TestSwapKilled(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	train := with(append([]string{"train"}, small...), "--data", data, "--quiet")
	succeed(t, with(train, "--out", first)...)
	succeed(t, with(train, "--seed", "2", "--steps", "2", "--out", second)...)
	of := func(run string) string { return filepath.Join(run, "model.safetensors") }
	reproduce := []string{"reproduce", "field", "--data", data, "--quiet", "--overwrite"}
	features, labels := filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	numbers := make([]float32, 40*3)
	classes := make([]float32, 40)
	for i := range numbers {
		numbers[i], classes[i/3] = float32(i*i%101), float32(i/3%2)
	}
	saveNPY(t, features, numbers, 40, 3)
	saveNPY(t, labels, classes, 40, 1)
	separation := []string{"separation", "--quiet", "--features", features, "--labels", labels}
	for name, c := range map[string]struct{ old, new []string }{
		"analyze": {[]string{"analyze", "--quiet", "--model", of(first), "--draws", "0", "--subsets", "0"},
			[]string{"analyze", "--quiet", "--model", of(second), "--draws", "0", "--subsets", "0"}},
		"separation": {with(separation, "--draws", "20"), with(separation, "--draws", "20", "--seed", "2")},
		"sample": {[]string{"sample", "--quiet", "--model", of(first)},
			[]string{"sample", "--quiet", "--model", of(second)}},
		"export": {[]string{"export", "--quiet", "--format", "pytorch", "--model", of(first)},
			[]string{"export", "--quiet", "--format", "pytorch", "--model", of(second)}},
		"reproduce": {with(reproduce, "--test-size", "190"), reproduce},
		"train":     {with(train, "--overwrite"), with(train, "--seed", "2", "--overwrite")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSwap(t, c.old, c.new)
		})
	}
}

// testSwap replaces the files of one command by those of another, killed after 0, 1, 5, 21, ... of them.
func testSwap(t *testing.T, old, fresh []string) {
	was, is := filepath.Join(t.TempDir(), "was"), filepath.Join(t.TempDir(), "is")
	succeed(t, with(old, "--out", was)...)
	succeed(t, with(fresh, "--out", is)...)
	before, after := content(t, was), content(t, is)
	kills, mixed := 0, 0
	for n := 0; ; n = 4*n + 1 {
		out := filepath.Join(t.TempDir(), "out")
		if err := os.CopyFS(out, os.DirFS(was)); err != nil {
			t.Fatal(err)
		}
		c := process(t, with(fresh, "--out", out))
		c.Env = append(c.Env, fmt.Sprint("DPNBENCH_TEST_RENAMES=", n))
		text, err := c.CombinedOutput()
		if err != nil && c.ProcessState.Exited() {
			t.Fatalf("%v: %s", err, text)
		}
		if got := content(t, out); keeps(got, before, after) && !holdsAll(got, before) {
			mixed++
		}
		output.CleanFolder(out)
		output.CleanFolder(filepath.Join(out, "parts"))
		got := content(t, out)
		if keeps(got, before, after) && !maps.Equal(got, before) {
			t.Errorf("killed after %d files: the folder holds some old files", n)
		}
		for name := range got {
			if strings.Contains(name, "unfinished") {
				t.Errorf("killed after %d files: %s is left", n, name)
			}
		}
		if err == nil {
			break
		}
		kills++
	}
	t.Logf("%d files, %d kills, %d left a mixture before the next command", len(after), kills, mixed)
	if kills < 2 || mixed == 0 && len(after) > 2 {
		t.Errorf("%d kills, %d of them left a mixture; expected some", kills, mixed)
	}
}

// content returns the files of a folder by their names in it.
func content(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	for path, text := range tree(t, dir) {
		if rel, err := filepath.Rel(dir, path); err == nil && rel != "." && rel != "parts" {
			all[rel] = text
		}
	}
	return all
}

// keeps says whether a file of before is in got, where after has another one or none.
func keeps(got, before, after map[string]string) bool {
	for name, text := range before {
		if now, ok := got[name]; ok && now == text && after[name] != text {
			return true
		}
	}
	return false
}

// holdsAll says whether all files of before are in got.
func holdsAll(got, before map[string]string) bool {
	for name, text := range before {
		if got[name] != text {
			return false
		}
	}
	return true
}
