package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
)

// TestExchange exports a model in all formats, and imports what comes from other programs.
func TestExchange(t *testing.T) {
	data, run := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", run, "--quiet")...)
	model := filepath.Join(run, dpn.ModelFile)
	js := filepath.Join(t.TempDir(), "x.json")
	for format, want := range map[string][]string{
		"pytorch": {"pytorch/dpn.py", "pytorch/model.safetensors"}, "onnx": {"model.onnx"}, "npz": {"model.npz"},
	} {
		out := succeed(t, "export", "--model", model, "--format", format, "--json", js)
		var r exported
		load(t, js, &r)
		for i, name := range want {
			path := filepath.Join(run, filepath.FromSlash(name))
			if st, err := os.Stat(path); err != nil || st.Size() == 0 || r.Files[i] != path ||
				!strings.Contains(out, path) {
				t.Errorf("%s: %+v, printed %q (%v)", format, r, out, err)
			}
		}
		if m, err := dpn.Load(model); err != nil || r.Parameters != m.Parameters() || len(r.Assumed) > 0 {
			t.Errorf("%s: %+v (%v)", format, r, err)
		}
	}
	for _, flag := range []string{"--tier", "--threads"} {
		fails(t, []string{"export", "--model", model, "--format", "onnx", flag, "bogus"}, "dpnbench: "+flag)
	}
	for _, format := range []string{"onnx", "npz"} {
		fails(t, []string{"export", "--model", model, "--format", format, "--out", "-"}, "--out -: expected a file")
	}
	fails(t, []string{"import", model, "--out", "-"}, "--out -: expected a file")
	back := filepath.Join(run, "back.safetensors")
	succeed(t, "import", filepath.Join(run, "pytorch", dpn.ModelFile), "--out", back)
	a, b := succeed(t, "eval", "--model", model), succeed(t, "eval", "--model", back)
	if a != b {
		t.Errorf("eval prints %q, after export and import %q", a, b)
	}
}

// TestImport reads state dictionaries of the published reference that PyTorch wrote.
func TestImport(t *testing.T) {
	const files = "../../dpn/exchange/testdata/"
	data, js := t.TempDir(), filepath.Join(t.TempDir(), "x.json")
	out := filepath.Join(t.TempDir(), "model.safetensors")
	text := succeed(t, "import", files+"half.pth", "--out", out, "--json", js)
	var r imported
	load(t, js, &r)
	if len(r.Assumed) != 5 || r.Assumed["steps"] != 30.0 || r.Parameters != 888 || len(r.Tensors) != 6 ||
		r.Tensors[0].Type != "F16" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"assumed: data mnist, ", "steps 30", "6 tensors of type F16 converted to float32",
		out + " written (888 parameters)"} {
		if !strings.Contains(text, want) {
			t.Errorf("printed %q, want it to hold %q", text, want)
		}
	}
	idx(t, data, 60)
	fails(t, []string{"eval", "--model", out, "--data", data}, "label")
	text = succeed(t, "import", files+"state.pth", "--out", out, "--steps", "5", "--mean", "0", "--std", "1",
		"--layer-norm", "--data", data)
	if strings.Contains(text, "assumed") {
		t.Errorf("printed %q", text)
	}
	m, err := dpn.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Config; c.Steps != 5 || !c.LayerNorm || c.Data != data || !m.Norm.Equal(dataset.Uniform(0, 1)) ||
		len(m.Assumed) > 0 || m.Unchecked {
		t.Errorf("%+v", m)
	}
	fails(t, []string{"import", files + "malicious.pth", "--out", out}, "import "+files+"malicious.pth", "posix.system",
		"nothing was run")
	if after, err := dpn.Load(out); err != nil || !slices.Equal(after.Params()[1].Data, m.Params()[1].Data) {
		t.Errorf("a refused import changed the output (%v)", err)
	}
}
