package exchange

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn"
)

// TestModuleTrains trains exported networks in PyTorch: the loss falls, and what the module saves computes the
// same in ours.
func TestModuleTrains(t *testing.T) {
	python, e := python(t), newEngine(t)
	var list []network
	var tasks []task
	for _, n := range networks(t, e) {
		if n.m.Config.Steps > 0 && n.m.Config.Components > 1 { // else the potential, or c, has no gradient
			n.s = n.s.Slice(0, 32)
			list = append(list, n)
		}
	}
	exportAll(t, e, list)
	for _, n := range list {
		tasks = append(tasks, task{n.dir, "train"})
	}
	results := modules(t, python, tasks)
	for i, n := range list {
		t.Run(n.name, func(t *testing.T) {
			l := results[i].Losses
			if len(l) != 8 || !(l[7] < l[0]) {
				t.Errorf("losses %.4f", l)
			}
			in, err := Import(filepath.Join(n.dir, "trained.safetensors"), dpn.Published)
			if err != nil {
				t.Fatal(err)
			}
			before := n.m.Params()
			for i, p := range in.Model.Params() {
				same := slices.Equal(before[i].Data, p.Data)
				learns := n.m.Config.Gradient == dpn.GradientExact || strings.HasPrefix(p.Name, classifier)
				if same == learns {
					t.Errorf("%s: changed %t, want %t", p.Name, !same, learns)
				}
			}
			n.m = in.Model
			agree(t, e, n, floats(t, filepath.Join(n.dir, "logits")), nil)
		})
	}
}

// TestModulePresets makes new networks of all presets in PyTorch: their settings are ours, the loss falls, and one
// that is saved is a model.
func TestModulePresets(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains networks of all presets")
	}
	python, e := python(t), newEngine(t)
	d := digits(t, 300, 10)
	resize(t, d, 12, 12) // PyTorch may have a slow BLAS
	list := []network{{m: trained(t, e, preset(t, "compact"), d, 1), s: d.Train}}
	exportAll(t, e, list)
	dir := list[0].dir
	losses := modules(t, python, []task{{dir, "presets"}})[0].Presets
	for _, name := range dpn.Presets() {
		if l := losses[name]; len(l) != 4 || !(l[3] < l[0]) {
			t.Errorf("%s: losses %.4f", name, l)
		}
	}
	in, err := Import(filepath.Join(dir, "robust.safetensors"), dpn.Published)
	if err != nil {
		t.Fatal(err)
	}
	want := preset(t, "robust")
	want.Dim = in.Model.Config.Dim // that of a network that was made
	if in.Model.Config != want {
		t.Errorf("settings %+v, want %+v", in.Model.Config, want)
	}
}

// TestModuleInputs checks that samples of other types and shapes have the usual logits or are refused.
func TestModuleInputs(t *testing.T) {
	python, e := python(t), newEngine(t)
	grey := digits(t, 40, 10)
	resize(t, grey, 16, 16)
	list := []network{
		{name: "grey", m: trained(t, e, preset(t, "compact"), grey, 1), s: grey.Test},
	}
	for name, vectors := range map[string]bool{"colours": false, "vectors": true} {
		d := recast(t, digits(t, 40, 10), vectors)
		list = append(list, network{name: name, m: trained(t, e, preset(t, "compact"), d, 1), s: d.Test})
	}
	exportAll(t, e, list)
	var tasks []task
	for _, n := range list {
		tasks = append(tasks, task{n.dir, "inputs"})
	}
	results := modules(t, python, tasks)
	want := map[string]map[string]string{
		"grey": {"channels last": "samples of shape [6, 16, 16, 1], expected N x 1 x 16 x 16",
			"channels": "samples of shape [6, 3, 16, 16], expected N x 1 x 16 x 16"},
		"colours": {"channels last": "samples of shape [6, 16, 16, 3], expected N x 3 x 16 x 16",
			"channels": "samples of shape [6, 9, 16, 16], expected N x 3 x 16 x 16"},
		"vectors": {"square": "same", "half": "samples of shape [12, 18], expected N x 36"},
	}
	for i, n := range list {
		want := want[n.name]
		want["bytes"], want["long"], want["flat"] = "same", "same", "same"
		if got := results[i].Inputs; !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", n.name, got, want)
		}
	}
}

// TestModuleSource checks that the tables of presets are in the module.
func TestModuleSource(t *testing.T) {
	source, err := moduleSource()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append(dpn.Presets(), `"layer-norm": False,`, `"steps": 30, `, `"lr": 0.001,`,
		`"clip": 1.0,`) {
		if !strings.Contains(source, want) {
			t.Errorf("no %s in the module", want)
		}
	}
	if strings.Contains(source, "S = {}\n") {
		t.Error("a table is empty")
	}
}

// TestNPZ reads the arrays of an archive.
func TestNPZ(t *testing.T) {
	e := newEngine(t)
	m := trained(t, e, preset(t, "compact"), digits(t, 200, 10), 1)
	arrays := npzOf(t, m)
	for _, p := range m.Params() {
		if !slices.Equal(arrays[p.Name], p.Data) {
			t.Errorf("%s differs", p.Name)
		}
	}
	got := fmt.Sprint(arrays["steps"], arrays["rows"], arrays["mean"], arrays["layer_norm"])
	if got != "[5] [28] [0.1306] [1]" {
		t.Errorf("settings %s", got)
	}
}

// npzOf returns the arrays of an archive of m.
func npzOf(t *testing.T, m *dpn.Model) map[string][]float32 {
	t.Helper()
	var b bytes.Buffer
	if err := WriteNPZ(&b, m); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string][]float32{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		x := all[10+binary.LittleEndian.Uint16(all[8:]):]
		name := strings.TrimSuffix(f.Name, ".npy")
		for at := 0; at < len(x); at += 4 {
			arrays[name] = append(arrays[name], math.Float32frombits(binary.LittleEndian.Uint32(x[at:])))
		}
	}
	return arrays
}
