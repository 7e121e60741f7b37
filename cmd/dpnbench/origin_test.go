package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
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

// TestTrainedOn tests models on samples that they were trained on, or may have been.
func TestTrainedOn(t *testing.T) {
	longtest.Native(t)
	t.Chdir(t.TempDir())
	text := "a,b,k\n"
	for i := range 80 {
		text += fmt.Sprintf("%d,%d,%s\n", i%2+i%7, i%5, []string{"u", "v"}[i%2])
	}
	write(t, "x.csv", []byte(text))
	train := []string{"train", "--preset", "linear", "--epochs", "2", "--data", "x.csv", "--quiet", "--out"}
	succeed(t, with(train, "all")...)
	succeed(t, with(train, "some", "--test-share", "0.25")...)
	write(t, "other.csv", []byte("b,a,species\n1,2,w\n3,4,v\n"))
	fails(t, with(train, "none", "--val-data", "other.csv"), `label "w" of line 2 is none of the 2 classes`)
	write(t, "turned.csv", []byte("b,a,k\n1,2,u\n3,4,v\n"))
	fails(t, with(train[:5], "--data", "x.csv,turned.csv"),
		`other columns than in x.csv: feature 0 (counted from 0) is "b", expected "a"`)
	for _, c := range []struct{ model, flags, want string }{
		{"all", "--test-share 1", "the model was trained on test vectors"},
		{"all", "--test-share 0.25", "may have been trained on some"},
		{"some", "", ""},
		{"some", "--test-share 0.5", "may have been trained on some"},
		{"some", "--data-seed 5", "may have been trained on some"},
	} {
		args := append([]string{"eval", "--model", filepath.Join(c.model, dpn.ModelFile)}, strings.Fields(c.flags)...)
		_, errs, status := dpnbench(t, args...)
		warned := strings.Count(errs, "trained")
		if status != exitDone || !strings.Contains(errs, c.want) || (warned > 0) != (c.want != "") {
			t.Errorf("%s %s: status %d, standard error %q, want %q", c.model, c.flags, status, errs, c.want)
		}
	}
	silent, err := safetensors.ReadFile(filepath.Join("some", dpn.ModelFile)) // on its samples
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"train_images_sha256", "test_images_sha256"} {
		if silent.Metadata[key] == "" {
			t.Fatalf("the model has no %s", key)
		}
		delete(silent.Metadata, key)
	}
	if err := os.MkdirAll("silent", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := safetensors.WriteFile(filepath.Join("silent", dpn.ModelFile), silent); err != nil {
		t.Fatal(err)
	}
	write(t, "same.csv", []byte(text))
	write(t, "new.csv", []byte("a,b,k\n1,2,u\n3,4,v\n"))
	succeed(t, with(train[:5], "--data", "x.csv,new.csv", "--out", "pair")...)
	succeed(t, with(train[:5], "--data", "x.csv,x.csv", "--out", "twice")...)
	const these, some = "the model was trained on these vectors", "may have been trained on some of these vectors"
	for _, c := range []struct{ model, flags, want string }{
		{"all", "--data x.csv", these}, {"all", "./x.csv", these}, {"all", "--data same.csv", these},
		{"some", "--data x.csv", some}, {"some", "--data new.csv", ""}, {"some", "", ""},
		{"some", "--data x.csv --label none", ""}, {"silent", "--data x.csv", ""},
		{"pair", "--data x.csv", these}, {"pair", "--data new.csv", ""}, {"twice", "--data x.csv", these},
	} {
		args := with([]string{"predict", "--model", filepath.Join(c.model, dpn.ModelFile)}, strings.Fields(c.flags)...)
		_, errs, status := dpnbench(t, args...)
		warned := strings.Contains(errs, "trained")
		if status != exitDone || !strings.Contains(errs, c.want) || warned != (c.want != "") {
			t.Errorf("predict %s %s: status %d, standard error %q", c.model, c.flags, status, errs)
		}
	}
	// Other models of an ensemble.
	for seed, share := range []string{"0.2", "0.2", "0"} {
		args := []string{fmt.Sprint("val", seed), "--val-size", "20", "--seed", fmt.Sprint(seed), "--test-share", share}
		if share == "0" {
			args = args[:5]
		}
		succeed(t, with(train, args...)...)
	}
	succeed(t, with(train, "val40", "--val-size", "40", "--seed", "0", "--test-share", "0.2")...)
	succeed(t, with(train, "half", "--val-size", "20", "--seed", "0", "--test-share", "0.2", "--train-size", "50")...)
	succeed(t, with(train, "drawn", "--val-size", "20", "--seed", "0", "--test-share", "0.2", "--data-seed", "7")...)
	write(t, "val.csv", []byte(strings.ReplaceAll(text, ",u", ".5,u")))
	succeed(t, with(train, "vd", "--val-data", "val.csv")...)
	succeed(t, with(train[:5], "--data", "val.csv", "--out", "onval", "--quiet")...)
	const heldOut = "trained on some of the validation vectors"
	for _, c := range []struct{ command, with, want string }{
		{"eval --split validation", "val1", heldOut}, {"eval --split validation", "val0", ""},
		{"eval --split validation", "val40", ""}, {"eval --split validation", "half", heldOut},
		{"eval --split validation", "drawn", heldOut}, {"eval --split validation", "all", heldOut},
		{"eval --split validation", "pair", ""}, {"predict --data x.csv --label none", "all", ""},
		{"predict --data same.csv", "all", "the model was trained on these vectors"},
		{"eval", "val1", ""}, {"eval", "all", "may have been trained on some of the test vectors"},
		{"predict", "all", "may have been trained on some of the test vectors"}, {"predict", "val1", ""},
		{"predict --data new.csv", "pair", ""}, {"predict --data same.csv", "silent", ""},
		{"predict --data new.csv", "twice", ""}, {"eval --split validation vd", "onval", heldOut},
		{"eval --split validation vd", "val0", ""},
	} {
		model, command := "val0", strings.Fields(c.command)
		if last := len(command) - 1; command[last] == "vd" {
			model, command = "vd", command[:last]
		}
		args := with(command, "--model", filepath.Join(model, dpn.ModelFile), "--with",
			filepath.Join(c.with, dpn.ModelFile))
		_, errs, status := dpnbench(t, args...)
		warned := strings.Contains(errs, "trained")
		if status != exitDone || !strings.Contains(errs, c.want) || warned != (c.want != "") {
			t.Errorf("%s --with %s: status %d, standard error %q, want %q", c.command, c.with, status, errs, c.want)
		}
	}
	// Validation samples that are drawn anew.
	succeed(t, with(train, "first", "--train-size", "40", "--val-size", "0", "--test-share", "0.2")...)
	for _, c := range []struct{ flags, want string }{
		{"--data x.csv", "the model kept no vectors for validation"}, {"--data-seed 5", heldOut},
		{"--data ./x.csv --test-share 0.2", heldOut},
		{"--data same.csv --test-share 0.2", heldOut}, {"--data val.csv --test-share 0.2", ""},
	} {
		args := with([]string{"eval", "--split", "validation", "--model", filepath.Join("first", dpn.ModelFile)},
			strings.Fields(c.flags)...)
		_, errs, status := dpnbench(t, args...)
		if (status == exitDone) != (c.want == heldOut || c.want == "") || !strings.Contains(errs, c.want) ||
			(errs != "") != (c.want != "") {
			t.Errorf("%v: status %d, standard error %q, want %q", args, status, errs, c.want)
		}
	}
	write(t, "x.csv", []byte(text+"1,1,u\n2,2,v\n3,3,u\n")) // of which another quarter is drawn
	_, errs, status := dpnbench(t, "eval", "--model", filepath.Join("some", dpn.ModelFile))
	if status != exitDone || !strings.Contains(errs, "may have been trained on some") {
		t.Errorf("a longer table: status %d, standard error %q", status, errs)
	}
	_, errs, status = dpnbench(t, "predict", "--model", filepath.Join("some", dpn.ModelFile))
	if status != exitDone || strings.Count(errs, "warning: ") != 1 {
		t.Errorf("predict, a longer table: status %d, standard error %q, expected one warning", status, errs)
	}
}
