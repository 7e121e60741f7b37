package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
)

// grey writes an image of levels that rise by step.
func grey(t *testing.T, path string, rows, cols, step int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	x := image.NewGray(image.Rect(0, 0, cols, rows))
	for i := range x.Pix {
		x.SetGray(i%cols, i/cols, color.Gray{Y: byte(i * step)})
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, x); err != nil {
		t.Fatal(err)
	}
}

// TestUnlabelledTest trains on a folder whose test images have no labels: there is no test score, and nothing is lost.
func TestUnlabelledTest(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 60 {
		grey(t, filepath.Join("d", "train", fmt.Sprint("class ", i%2), fmt.Sprint(i, ".png")), 8, 8, i)
		grey(t, filepath.Join("d", "test", fmt.Sprint(i, ".png")), 8, 8, i)
	}
	train := []string{"train", "--data", "d", "--preset", "linear", "--epochs", "1", "--val-size", "10", "--out", "m"}
	const said = "test   no labels of the 60 test images in d "
	if out := succeed(t, train...); !strings.Contains(out, said) {
		t.Errorf("printed %q", out)
	}
	var r trainResult
	load(t, filepath.Join("m", resultFile), &r)
	if r.TestSamples != 0 || r.TestAccuracy.IsFinite() || r.Validation == nil {
		t.Errorf("%d test samples, accuracy %v, validation %v", r.TestSamples, r.TestAccuracy, r.Validation)
	}
	if err := os.Remove(filepath.Join("m", resultFile)); err != nil {
		t.Fatal(err)
	}
	if out := succeed(t, with(train, "--resume")...); !strings.Contains(out, said) {
		t.Errorf("a finished training, resumed, printed %q", out)
	}
	write(t, "s.toml", []byte("preset = \"linear\"\ndata = \"d\"\nepochs = 1\nval-size = 10\n"+
		"[vary]\nlr = [0.1, 0.01]\n"))
	succeed(t, "sweep", "--config", "s.toml", "--out", "s")
	before, model := tree(t, "d"), "m/"+dpn.ModelFile
	for _, args := range [][]string{train[:len(train)-1], {"sweep", "--config", "s.toml", "--out"},
		{"analyze", "--model", model, "--out"}, {"uncertainty", "--model", model, "--out"}} {
		for _, out := range []string{"d", "d/train/class 0", "d/new/run"} {
			fails(t, with(args, out), "--out "+out+": lies within the input of", "d; expected another folder")
		}
	}
	if !maps.Equal(tree(t, "d"), before) {
		t.Error("the folder of the images has changed")
	}
	if err := os.Rename("d/train/class 0", "moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../moved", "d/train/class 0"); err == nil {
		fails(t, with(train[:len(train)-1], "d/train/class 0/run"), "lies within the input of", "another folder")
	}
}

// TestOODSources measures a model on samples of one's own: --ood-data takes what predict takes, labelled or not.
func TestOODSources(t *testing.T) {
	long(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("data", 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, "data", 120)
	for i := range 6 {
		name := fmt.Sprintf("%d.png", i)
		grey(t, filepath.Join("mixed", name), 4+i%2, 6, i)
		grey(t, filepath.Join("same", name), 4, 4, i)
		grey(t, filepath.Join("only", "test", name), 8, 8, i)
		grey(t, filepath.Join("splits", "train", "x", name), 4, 4, i)
	}
	grey(t, filepath.Join("splits", "test", "x", "7.png"), 4, 4, 7)
	var rows, plain, other strings.Builder
	for i := range 120 {
		fmt.Fprintf(&rows, "%d,%d,c%d\n", i%3+i%7, i%3*2+i%5, i%3)
		fmt.Fprintf(&plain, "%d.25,%d.5\n", i%9-90, i%4+50)
		fmt.Fprintf(&other, "%d.25,%d.5,%d.75\n", i%9-90, i%4+50, i)
	}
	write(t, "rows.csv", []byte(rows.String()))
	write(t, "plain.csv", []byte(plain.String()))
	write(t, "other.csv", []byte(other.String()))
	images := filepath.Join("images", dpn.ModelFile)
	vectors := filepath.Join("vectors", dpn.ModelFile)
	succeed(t, with(append([]string{"train"}, small...), "--data", "data", "--out", "images", "--quiet")...)
	succeed(t, "train", "--data", "rows.csv", "--test-share", "0.4", "--dim", "4", "--components", "3", "--epochs", "2",
		"--batch", "16", "--val-size", "20", "--out", "vectors", "--quiet")

	for _, c := range []struct {
		model, source string
		unknown       int // samples
		converted     string
		labelled      bool // by what the model does not know
	}{
		{images, "mixed", 6, "various shapes", false},
		{images, "same", 6, "", false},
		{images, "only", 6, "8 x 8 grey", false},
		{images, "splits", 1, "", true}, // its test images
		{vectors, "plain.csv", 48, "", false},
		{vectors, "other.csv", 48, "", true},
	} {
		if _, errs, status := dpnbench(t, "predict", "--model", c.model, "--data", c.source, "--out",
			"p.csv"); !c.labelled && status != exitDone {
			t.Errorf("predict does not take %s: %q", c.source, errs)
		}
		succeed(t, "uncertainty", "--model", c.model, "--ood-data", c.source, "--out", "out", "--quiet")
		var n uncertaintyNumbers
		load(t, filepath.Join("out", uncertaintyFile), &n)
		task := n.Tasks[0]
		for _, x := range n.Tasks {
			if x.Name == "other" {
				task = x
			}
		}
		if task.Name != "other" || task.Unknown != c.unknown {
			t.Errorf("%s: %s, %d samples, want %d", c.source, n.tasks(), task.Unknown, c.unknown)
		}
		text, err := os.ReadFile(filepath.Join("out", uncertaintyFile))
		_, converted, found := strings.Cut(string(text), "of another source, "+c.source+", converted from ")
		if err != nil || found != (c.converted != "") || !strings.HasPrefix(converted, c.converted) {
			t.Errorf("%s: uncertainty.json does not say converted from %q (%v)", c.source, c.converted, err)
		}
	}

	// Messages advise no flag that does not apply.
	for model, source := range map[string]string{images: "plain.csv", vectors: "same"} {
		for _, command := range [][]string{{"uncertainty", "--ood-data"}, {"predict", "--data"}} {
			args := []string{command[0], "--model", model, command[1], source}
			fails(t, args, command[1], source, "the model")
			_, errs, _ := dpnbench(t, args...)
			for _, flag := range []string{"--size", "--test-share", "--label"} {
				if strings.Contains(errs, flag) {
					t.Errorf("%s: %q advises %s", command[0], errs, flag)
				}
			}
		}
	}
	fails(t, []string{"eval", "--model", images, "--data", "same"}, "no test samples", "--test-share; 1 takes all")
	fails(t, []string{"reproduce", "field", "--data", "same"}, "has no test samples", "--test-share 0.2")

	for _, command := range []string{"eval", "analyze", "uncertainty"} {
		fails(t, []string{command, "--model", vectors, "--data", "plain.csv", "--test-share", "1"},
			"--data plain.csv", "vectors have no labels", "--label COLUMN")
	}

	// What "1 takes all" says.
	out := succeed(t, "data", "convert", "same", "--test-share", "1", "--out", "same.npz")
	if !strings.Contains(out, "6 test samples without labels") || strings.Contains(out, "training") {
		t.Errorf("data convert printed %q", out)
	}
	succeed(t, "uncertainty", "--model", images, "--ood-data", "same.npz", "--out", "out", "--quiet")
	if out := succeed(t, "data", "info", "only"); !strings.Contains(out, "6 test samples without labels") {
		t.Errorf("data info printed %q", out)
	}
}
