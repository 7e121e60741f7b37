package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
)

// TestFiles reads the files of both splits again: PNG and CIFAR give the same pixels, JPEG similar ones.
func TestFiles(t *testing.T) {
	grey := dataset.Digits(1, 0, 40)
	rgb, err := coloured(grey)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set   *dataset.Set
		write func(dir, split string, s *dataset.Set) error
		mean  float64 // largest mean difference of the levels
	}{
		"PNG":         {grey, asPNG.writeFolder, 0},
		"JPEG":        {grey, asJPEG.writeFolder, 4},
		"colour":      {rgb, asPNG.writeFolder, 0},
		"CIFAR":       {rgb, writeBatch, 0},
		"colour JPEG": {rgb, asJPEG.writeFolder, 16}, // colours have half the resolution
	} {
		dir := t.TempDir()
		for split, s := range map[string]*dataset.Set{"train": c.set.Slice(0, 30), "test": c.set.Slice(30, 40)} {
			if err := c.write(dir, split, s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		d, err := source.Open(dir, source.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, want := slices.Concat(d.Train.Pixels, d.Test.Pixels), c.set.Pixels
		if labels := slices.Concat(d.Train.Labels, d.Test.Labels); !slices.Equal(labels, c.set.Labels) ||
			len(got) != len(want) || d.Train.Shape != c.set.Shape {
			t.Errorf("%s: labels %d, %d pixels of %s", name, labels, len(got), d.Train.Shape)
			continue
		}
		sum := 0.0
		for i := range got {
			sum += math.Abs(float64(got[i]) - float64(want[i]))
		}
		if !(sum <= c.mean*float64(len(got))) {
			t.Errorf("%s: levels differ by %.2f in the mean", name, sum/float64(len(got)))
		}
	}
}

// TestPage replaces the tables of a page, and nothing else of it.
func TestPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"obsolete\n"+end+"after\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	images := []imageSet{
		{name: "a", data: "A", format: "PNG", same: "x"},
		{name: "b", data: "B", same: "x", least: 0.9},
	}
	for i := range images {
		images[i].result = result{Rows: 4, Cols: 6, Channels: 1 + 2*i, Train: 1000, Test: 20, Classes: 3,
			Preset: "compact", Accuracy: 0.5, Weights: "0123456789ab", Seconds: 2}
	}
	all := &comparison{Version: "1", Tables: []table{{Name: "breast_cancer", Regression: []int{50, 70}}}}
	all.Tables[0].whole = result{Features: 3, Train: 160, Classes: 2, Preset: "tabular"}
	all.Tables[0].right = 80
	for range 2 {
		if err := writePage(page, images, all); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, want := range []string{
		"| A | PNG | 4 x 6 grey | 1,000 + 20 | 3 | `compact` | 50.00% | 2 | `01234567` |\n",
		"| B |  | 4 x 6 RGB | 1,000 + 20 | 3 | `compact` | 50.00% |",
		"Logistic regression is better on breast cancer (40 samples more right).",
		"| breast cancer | 160 | 3 features | 2 | `tabular` | 50.00% | 75.00% | 0 |\n",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
	if !strings.HasPrefix(got, "before\n"+begin) || !strings.HasSuffix(got, end+"after\n") ||
		strings.Contains(got, "obsolete") {
		t.Errorf("other text has changed:\n%s", got)
	}
	if failed := checkTables(all); len(failed) != 1 {
		t.Errorf("a worse accuracy than that of logistic regression: %q", failed)
	}
	if failed := checkImages(images); len(failed) != 1 {
		t.Errorf("accuracy 0.5 of 0.9: %q", failed)
	}
	images[0].Weights = "other"
	if failed := checkImages(images); len(failed) != 2 {
		t.Errorf("different weights: %q", failed)
	}
	if _, err := pageParts(filepath.Join("..", "..", "docs", "data.md")); err != nil {
		t.Error(err)
	}
}

// TestChoose chooses by the inner folds of all folds together, and the first of equal presets.
func TestChoose(t *testing.T) {
	c := &command{work: t.TempDir()}
	keep := func(fold, inner int, preset string, right int) {
		r := result{Test: 10, Accuracy: float64(right) / 10}
		err := c.once(fmt.Sprintf("t-%d-%d-%s", fold, inner, preset), &r, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for k := range 2 {
		for j := range innerFolds {
			keep(k, j, candidates[0], 7)
			keep(k, j, candidates[1], 5+4*k) // worse in the first fold, as good in all
		}
	}
	all := table{Name: "t", Regression: []int{1, 1}}
	if got, err := c.choose(&all); err != nil || got != candidates[0] {
		t.Errorf("equal presets: %q, %v", got, err)
	}
	all.Regression = all.Regression[:1]
	if got, err := c.choose(&all); err != nil || got != candidates[0] {
		t.Errorf("the first is better: %q, %v", got, err)
	}
	if err := os.Remove(c.path("t-1-0-" + candidates[1] + ".json")); err != nil {
		t.Fatal(err)
	}
	keep(1, 0, candidates[1], 10)
	all.Regression = []int{1, 1}
	if got, err := c.choose(&all); err != nil || got != candidates[1] {
		t.Errorf("the second is better: %q, %v", got, err)
	}
}

// TestOnce makes a result once, and not at all after an error.
func TestOnce(t *testing.T) {
	c := &command{work: t.TempDir()}
	calls := 0
	for range 2 {
		var r result
		err := c.once("a", &r, func() error {
			calls++
			r.Train = 7
			return nil
		})
		if err != nil || r.Train != 7 || calls != 1 {
			t.Errorf("%v, %d samples, %d calls", err, r.Train, calls)
		}
	}
	if err := c.once("b", new(result), func() error { return os.ErrPermission }); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(c.path("b.json")); err == nil {
		t.Error("a failed result is kept")
	}
}
