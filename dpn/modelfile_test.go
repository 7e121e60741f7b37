package dpn

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/safetensors"
)

func TestSaveAndLoad(t *testing.T) {
	for _, c := range gradientConfigs {
		m, _ := smallModel(t, completed(c))
		m.Config.Preset = "own"
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.WeightsSHA256() != m.WeightsSHA256() || got.Config != m.Config || !got.Norm.Equal(m.Norm) ||
			got.Shape != dataset.Grey(3, 4) || len(got.Classes) != 3 || len(got.Assumed) != 0 {
			t.Errorf("read %+v, wrote %+v", got, m)
		}
	}
}

// TestLoadStateDictionary loads what PyTorch writes for the published network: the same
// tensors, no settings, alpha a scalar or of shape [1].
func TestLoadStateDictionary(t *testing.T) {
	const k, d = 2, 16
	for _, alphaShape := range [][]int{nil, {1}} {
		f := &safetensors.File{Tensors: []safetensors.Tensor{
			{Name: "denoising_potential.mu", Shape: []int{k, d}, Data: make([]float32, k*d)},
			{Name: "denoising_potential.A", Shape: []int{k, d, d}, Data: make([]float32, k*d*d)},
			{Name: "denoising_potential.c", Shape: []int{k}, Data: []float32{0.5, -1}},
			{Name: "denoising_potential.alpha", Shape: alphaShape, Data: []float32{0.1}},
			{Name: "classifier.weight", Shape: []int{10, d}, Data: make([]float32, 10*d)},
			{Name: "classifier.bias", Shape: []int{10}, Data: make([]float32, 10)},
		}}
		path := filepath.Join(t.TempDir(), "reference.safetensors")
		if err := safetensors.WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
		m, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if m.Shape != dataset.Grey(4, 4) || len(m.Classes) != 10 || m.Dim() != d || m.Potential().Alpha() != 0.1 ||
			m.Config.Components != k ||
			m.potential.LogWeights()[1] != -1 {
			t.Errorf("read %+v", m)
		}
		if want := []string{"steps", "layer-norm", "data", "mean", "std"}; !slices.Equal(m.Assumed, want) {
			t.Errorf("assumed %v, want %v", m.Assumed, want)
		}
		f.Metadata = map[string]string{
			"format": "pt",
			"mean":   "0.25",
			"std":    "0.5",
		} // the first is what transformers writes
		if err := safetensors.WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
		if m, err = Load(path); err != nil {
			t.Fatal(err)
		}
		if want := []string{"steps", "layer-norm", "data"}; !slices.Equal(m.Assumed, want) || m.Norm.Mean[0] != 0.25 {
			t.Errorf("assumed %v, want %v; mean %v", m.Assumed, want, m.Norm.Mean)
		}
	}
}

// TestDamagedModel changes one weight in a file that was saved to another finite number.
func TestDamagedModel(t *testing.T) {
	m, _ := smallModel(t, completed(gradientConfigs[3]))
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "damaged") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one about the damaged file", err)
	}
}

// damage flips the lowest bit of the last number in a file of tensors.
func damage(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-4] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBadConvolutions reads weights of convolutions that no image has the channels of.
func TestBadConvolutions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.safetensors")
	for _, c := range extractorConfigs() {
		if !c.convolves() {
			continue
		}
		m, _ := imageModel(t, c)
		for _, shape := range [][]int{{32, 0, 3, 3}, {0, 1 << 26, 3, 3}} {
			f := m.file(formatModel)
			for _, key := range []string{metaRows, metaCols, metaChannels} {
				delete(f.Metadata, key)
			}
			w := f.Tensor(extractorKey + ".0.weight")
			w.Shape, w.Data = shape, nil
			if err := safetensors.WriteFile(path, f); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s, shape %v: error %v", c.Extractor, shape, err)
			}
		}
		f := m.file(formatModel) // whose weights would take gigabytes
		f.Metadata[metaChannels] = "65536"
		if err := safetensors.WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "channels is 65536, expected the ") {
			t.Errorf("%s, 65536 channels: error %v", c.Extractor, err)
		}
	}
}

// TestBadModels corrupts a good file in many ways; every error is one line that names the
// file and what is wrong.
func TestBadModels(t *testing.T) {
	m, _ := smallModel(t, completed(gradientConfigs[3]))
	dir := t.TempDir()
	corrupt := func(change func(f *safetensors.File)) string {
		f := m.file(formatModel)
		for i, x := range f.Tensors { // the model's own numbers stay good
			f.Tensors[i].Data = append([]float32(nil), x.Data...)
		}
		change(f)
		path := filepath.Join(dir, "bad.safetensors")
		if err := safetensors.WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := t.TempDir()
	if err := m.Save(filepath.Join(run, ModelFile)); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{dir: "; expected a model file",
		run: "; expected a file, such as " + filepath.Join(run, ModelFile)} {
		if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), "a folder"+want) {
			t.Errorf("a folder: error %v, want %q", err, want)
		}
	}
	drop := func(name string) func(f *safetensors.File) {
		return func(f *safetensors.File) {
			for i := range f.Tensors {
				if f.Tensors[i].Name == name {
					f.Tensors = append(f.Tensors[:i], f.Tensors[i+1:]...)
					return
				}
			}
		}
	}
	meta := func(key, value string) func(f *safetensors.File) {
		return func(f *safetensors.File) { f.Metadata[key] = value }
	}
	cases := []struct {
		want   string
		change func(f *safetensors.File)
	}{
		{
			`"classifier.weight": number 3 is NaN`,
			func(f *safetensors.File) { f.Tensor("classifier.weight").Data[3] = float32(math.NaN()) },
		},
		{
			`"denoising_potential.A": number 0 is +Inf`,
			func(f *safetensors.File) { f.Tensor("denoising_potential.A").Data[0] = float32(math.Inf(1)) },
		},
		{"expected a number above 0", func(f *safetensors.File) { f.Tensor("denoising_potential.alpha").Data[0] = -1 }},
		{`no tensor "denoising_potential.mu"`, drop("denoising_potential.mu")},
		{`no tensor "classifier.bias"`, drop("classifier.bias")},
		{`no tensor "denoising_potential.A"`, drop("denoising_potential.A")},
		{"feature_extractor.weight", func(f *safetensors.File) {
			w := f.Tensor("feature_extractor.weight")
			w.Shape, w.Data = []int{0, math.MaxInt}, nil
		}},
		{"expected 2 dimensions", func(f *safetensors.File) { f.Tensor("denoising_potential.mu").Shape = []int{20} }},
		{"has shape [3 1], expected [3]",
			func(f *safetensors.File) { f.Tensor("classifier.bias").Shape = []int{3, 1} }},
		{"images of 5 x 4", meta("rows", "5")},
		{`rows is "x"`, meta("rows", "x")},
		{`std is "0", expected a number above 0`, meta("std", "0")},
		{`std is "x", expected a number`, meta("std", "x")},
		{"mean and std: normalisation of images: mean", meta("std", "1e-30")},
		{"expected -1e+06 to 1e+06 and 1e-09 to 1e+06", meta("mean", "-2e6")},
		{`unknown_below is "x", expected a number`, meta("unknown_below", "x")},
		{"settings", meta("config", "steps = -1")},
		{"settings", meta("config", "no TOML")},
		{`format "dpnbench model 2", expected "dpnbench model 1"`, meta("format", "dpnbench model 2")},
		{`format "dpnbench model 9", expected "dpnbench model 1"`, func(f *safetensors.File) {
			f.Metadata, f.Tensors = map[string]string{"format": "dpnbench model 9"}, nil
		}},
		{`format "dpnbench training state 3", expected "dpnbench model 1"`, meta("format", formatState)},
		{`format "", expected "dpnbench model 1"`, func(f *safetensors.File) { delete(f.Metadata, "format") }},
		{`unknown setting "colour"`, meta("config", "colour = 1")},
	}
	for _, c := range cases {
		path := corrupt(c.change)
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q and the file", err, c.want)
		}
	}
	unchecked := corrupt(meta("unknown_below", "nan"))
	b, err := os.ReadFile(unchecked)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(safetensors.ChecksumKey)
	b = bytes.Replace(b, key, append(slices.Clone(key[:len(key)-1]), '~'), 1)
	if err := os.WriteFile(unchecked, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(unchecked); err == nil || !strings.Contains(err.Error(), `unknown_below is "nan", expected`) {
		t.Errorf("without a checksum: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut"), []byte("xx"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cut", "none", "."} {
		if _, err := Load(filepath.Join(dir, name)); err == nil {
			t.Errorf("no error for %q", name)
		}
	}
}
