package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/internal/longtest"
)

// TestDataOfTheModel uses a model whose data have a relative name: from elsewhere, where other
// images have that name, and where they are gone.
func TestDataOfTheModel(t *testing.T) {
	longtest.Native(t)
	dir, elsewhere := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("images", 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, "images", 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", "images", "--out", "m", "--quiet")...)
	model := filepath.Join(dir, "m", dpn.ModelFile)
	here := succeed(t, "eval", "--model", model)

	t.Chdir(elsewhere)
	if there := succeed(t, "eval", "--model", model); result(there) != result(here) {
		t.Errorf("from elsewhere %q, want %q", there, here)
	}
	succeed(t, "train", "--resume", "--out", filepath.Join(dir, "m"))
	fails(t, []string{"eval", "--model", model, "--data", "images"}, `data set "images"`)

	if err := os.Mkdir("images", 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, "images", 50)
	_, errs, status := dpnbench(t, "eval", "--model", model)
	if status != exitDone || !strings.Contains(errs, "images differ") || !strings.Contains(errs, "data images") {
		t.Errorf("other images of the same name: status %d, standard error %q", status, errs)
	}
	if err := os.RemoveAll("images"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "images")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"eval"}, {"analyze"}, {"uncertainty"},
		{"sample", "--method", "mala", "--start", "data"}} {
		args = with(args, "--model", model)
		fails(t, args, `data set "images"`, "comes from the model "+model, "--data")
	}
}

// result is the line of a result up to the name of the data.
func result(out string) string { s, _, _ := strings.Cut(out, " of "); return s }
