package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
)

// TestOnlyOwnFiles checks that no command replaces a file that it has not made: the page of another command in the same
// folder, another module, a table; and that models of other names have folders of their own.
func TestOnlyOwnFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: analyses twice, slow under emulation and the race detector")
	}
	t.Chdir(t.TempDir())
	if _, errs, status := dpnbench(t, "train", "--preset", "linear", "--train-size", "100", "--test-size", "40",
		"--max-updates", "3", "--quiet", "--out", "run"); status != exitDone {
		t.Fatal(errs)
	}
	model := filepath.Join("run", dpn.ModelFile)
	const own = "own\n"
	for _, name := range []string{"page", "module", "figure", "samples"} {
		if err := os.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{"page/" + pageFile, "module/dpn.py", "figure/layers.png", "samples/samples.npy", "t.csv"}
	for _, path := range files {
		write(t, path, []byte(own))
	}
	quick := []string{"--draws", "0", "--subsets", "0", "--quiet"}
	analyze := with([]string{"analyze", "--model", model}, quick...)
	uncertainty := []string{"uncertainty", "--model", model}
	for _, c := range []struct {
		args []string
		want string
	}{
		{with(analyze, "--out", "page"), "--out page: holds a report.html, which is of no earlier run"},
		{with(analyze, "--out", "figure"), "--out figure: holds a layers.png"},
		{with(uncertainty, "--out", "page"), "--out page: holds a report.html"},
		{[]string{"sample", "--model", model, "--out", "samples"}, "--out samples: holds a samples.npy"},
		{[]string{"reproduce", "poster", "--out", "page"}, "--out page: holds a report.html"},
		{[]string{"export", "--model", model, "--out", "module"}, "--out module: holds another dpn.py"},
		{[]string{"export", "--model", model, "--format", "onnx", "--out", "t.csv"},
			"expected a name that ends in .onnx"},
		{[]string{"import", model, "--out", "t.csv"}, "expected a name that ends in .safetensors"},
	} {
		fails(t, c.args, c.want)
	}
	succeed(t, "import", model, "--out", filepath.Join("samples", dpn.ModelFile), "--quiet")
	fails(t, []string{"export", "--model", model, "--out", "samples"}, "--out samples: holds another model.safetensors")
	succeed(t, "import", model, "--out", "again.safetensors", "--quiet")
	fails(t, []string{"eval", "--model", model, "--json", "again.safetensors"}, "is a file of tensors")
	succeed(t, "import", model, "--out", "again.safetensors", "--quiet")
	for _, path := range files {
		if b, err := os.ReadFile(path); err != nil || string(b) != own {
			t.Errorf("%s was replaced (%v)", path, err)
		}
	}

	succeed(t, with(analyze, "--out", "both")...)
	succeed(t, with(analyze, "--out", "both")...) // its own
	fails(t, with(uncertainty, "--out", "both"), "--out both: holds a report.html", "no uncertainty.json")
	succeed(t, "export", "--model", model, "--out", "network.onnx") // of the format of its name
	if b, err := os.ReadFile("network.onnx"); err != nil || !strings.Contains(string(b), "logits") {
		t.Errorf("network.onnx is no file of ONNX (%v)", err)
	}
	for name, want := range map[string]string{dpn.ModelFile: "run/pytorch", dpn.LastFile: "run/last-pytorch"} {
		path := filepath.Join("run", name)
		succeed(t, "export", "--model", path, "--quiet")
		exported, err := dpn.Load(filepath.Join(want, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := dpn.Load(path); err != nil || m.WeightsSHA256() != exported.WeightsSHA256() {
			t.Errorf("%s holds another model than %s (%v)", want, name, err)
		}
	}
}
