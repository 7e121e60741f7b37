package dpn

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/longtest"
)

// formConfigs are the gradient tests' networks, one with each form of precisions.
func formConfigs(t *testing.T) map[string]Config {
	t.Helper()
	list := map[string]Config{}
	for _, c := range gradientConfigs {
		c = completed(c)
		list[c.Form] = c
	}
	for _, form := range potential.Forms() {
		if _, ok := list[form]; !ok {
			t.Fatalf("no network of form %s in gradientConfigs (dpn/gradient_test.go)", form)
		}
	}
	return list
}

// TestNotDefinite corrupts the tensors of each form: the error names tensor and epoch, and a
// model file with such a tensor is refused.
func TestNotDefinite(t *testing.T) {
	e := newEngine(t)
	corrupt := map[string]struct {
		tensor string
		change func(x []float32, d int)
		loads  bool // a file with it
	}{
		potential.FormFull:    {"denoising_potential.A", func(x []float32, d int) { copy(x[d:2*d], x[:d]) }, true},
		potential.FormTied:    {"denoising_potential.A", func(x []float32, d int) { clear(x[d : 2*d]) }, true},
		potential.FormDiag:    {"denoising_potential.l", func(x []float32, d int) { x[d+1] = -80 }, false},
		potential.FormLowRank: {"denoising_potential.l", func(x []float32, d int) { x[d+1] = 60 }, false},
		potential.FormFlat:    {"denoising_potential.U", func(x []float32, d int) { x[d+1] += 0.1 }, false},
	}
	configs := formConfigs(t)
	for _, name := range potential.Forms() {
		s, ok := corrupt[name]
		if !ok {
			t.Fatalf("no corrupted tensor of form %s", name)
		}
		c := configs[name]
		if c.Form == potential.FormFlat { // of more than one row
			c.Dim, c.Rank, c.Eps = 5, 3, 0.1
		}
		m, _ := smallModel(t, c)
		if tensor, problem := m.potential.CheckDefinite(e); problem != "" {
			t.Errorf("%s: %s: %s before", name, tensor, problem)
		}
		for _, p := range m.Params() {
			if p.Name == s.tensor {
				s.change(p.Data, m.Dim())
			}
		}
		tensor, problem := m.potential.CheckDefinite(e)
		if err := (&NotDefiniteError{3, tensor, problem}); tensor != s.tensor || problem == "" ||
			!strings.Contains(err.Error(), s.tensor) ||
			!strings.Contains(err.Error(), "epoch 3") {
			t.Errorf("%s: error %v, want one that names %s", name, err, s.tensor)
		}
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); (err == nil) != s.loads || err != nil && !strings.Contains(err.Error(), s.tensor) {
			t.Errorf("%s: loading gives %v", name, err)
		}
	}
}

// TestFlatKeepsOrthonormal trains with a large rate: the rows of U move, and stay
// orthonormal.
func TestFlatKeepsOrthonormal(t *testing.T) {
	d, e := digits(t, 200, 10), newEngine(t)
	c := tiny()
	c.Form, c.Rank, c.Scale, c.Alpha = potential.FormFlat, 4, 0.5, 1
	c.Init, c.PotentialLR, c.MaxUpdates = InitClasswise, 1e-2, 10
	c.Components = 10
	m := newModel(t, c, d)
	if _, err := m.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	u := m.potential.Params()[3]
	before := append([]float32(nil), u.Data...)
	if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	if tensor, problem := m.potential.CheckDefinite(e); problem != "" {
		t.Errorf("%s: %s", tensor, problem)
	}
	moved := 0.0
	for i, v := range u.Data {
		moved = max(moved, math.Abs(float64(v-before[i])))
	}
	if !(moved >= 1e-3) {
		t.Errorf("U moved by %v", moved)
	}
}

// TestComponentsForClasses checks that Check refuses too few or too many components for
// centres in each class.
func TestComponentsForClasses(t *testing.T) {
	d := digits(t, 60, 10)
	for _, k := range []int{9, 54} {
		c := tiny()
		c.Init, c.Components = "classwise", k
		var bad *SettingError
		if err := newModel(t, c, d).Check(d.Train); !errors.As(err, &bad) || bad.Setting != "components" {
			t.Errorf("%d components: error %v, want one about them", k, err)
		}
	}
}

// TestSettingsBeforeForms loads a file from before there were other forms than full.
func TestSettingsBeforeForms(t *testing.T) {
	m, _ := smallModel(t, completed(gradientConfigs[1]))
	f := m.file(formatModel)
	var kept []string
	for line := range strings.Lines(f.Metadata[metaConfig]) {
		switch key, _, _ := strings.Cut(line, " "); key {
		case "form", "rank", "eps", "init":
		default:
			kept = append(kept, line)
		}
	}
	f.Metadata[metaConfig] = strings.Join(kept, "")
	path := filepath.Join(t.TempDir(), "old.safetensors")
	if err := safetensors.WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Config.Form != potential.FormFull || got.Config.Init != "kmeans" ||
		got.WeightsSHA256() != m.WeightsSHA256() {
		t.Errorf("read %+v", got.Config)
	}
}

// TestFormsResume stops training after an epoch and goes on: the same bits as in one go.
func TestFormsResume(t *testing.T) {
	longtest.Native(t)
	d, e := digits(t, 200, 10), newEngine(t)
	for _, form := range potential.Forms() {
		if testing.Short() && form != potential.FormFull && form != potential.FormFlat {
			continue // the others take seconds under emulation
		}
		c := tiny()
		c.Form, c.Rank, c.Init, c.Components, c.Epochs = form, 3, "classwise", 10, 3
		whole := newModel(t, c, d)
		if _, err := whole.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		stop := FitOptions{Dir: dir, OnEpoch: func(Epoch) { cancel() }}
		if _, err := newModel(t, c, d).Fit(ctx, e, d.Train, stop); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: error %v", form, err)
		}
		resumed := newModel(t, c, d)
		if _, err := resumed.Fit(context.Background(), e, d.Train, FitOptions{Dir: dir, Resume: true}); err != nil {
			t.Fatal(err)
		}
		if got, want := resumed.WeightsSHA256(), whole.WeightsSHA256(); got != want {
			t.Errorf("%s: weights hash to %s after resuming, %s in one go", form, got, want)
		}
	}
}

// TestRankAboveFeatures checks that it is refused in one line.
func TestRankAboveFeatures(t *testing.T) {
	c := tiny()
	c.Form, c.Rank = potential.FormLowRank, 17
	var bad *SettingError
	if _, err := New(c, digits(t, 10, 10)); !errors.As(err, &bad) || bad.Setting != "rank" {
		t.Errorf("error %v, want one about the rank", err)
	}
}
