package dpn

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/safetensors"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// formConfigs are the gradient tests' networks with each form of precisions.
func formConfigs() map[string]Config {
	list := map[string]Config{}
	for _, c := range gradientConfigs {
		c = completed(c)
		list[c.Form] = c
	}
	return list
}

// TestPrecision holds Precision against the engine, which values a single component
// by it, and checks that it is symmetric and positive definite.
func TestPrecision(t *testing.T) {
	e := newEngine(t)
	configs := formConfigs()
	for _, name := range Forms() {
		c := configs[name]
		c.Eps = max(c.Eps, 0.2)
		m, _ := smallModel(t, c)
		d, p := m.Dim(), m.potential
		x := engine.NewMatrix(40, d)
		num.NewRand(3, 0).Normal(x.Data)
		for i := range p.K {
			for j := range p.c.Data { // all weight on component i
				p.c.Data[j] = -1e4
			}
			p.c.Data[i] = 0
			p.form.prepare(e, p.mixture)
			phi := make([]float32, x.Rows)
			e.Potential(p.mixture, x, phi, engine.Matrix{})
			dense := p.Precision(i)
			for b := range x.Rows {
				var q, square float64
				for r := range d {
					for s := range d {
						if dense[r*d+s] != dense[s*d+r] {
							t.Fatalf("%s: P_%d is not symmetric at %d, %d", name, i, r, s)
						}
						q += dense[r*d+s] * float64(x.At(b, r)-p.mu.Data[i*d+r]) * float64(x.At(b, s)-p.mu.Data[i*d+s])
					}
					square += math.Pow(float64(x.At(b, r)-p.mu.Data[i*d+r]), 2)
				}
				if !(q > 1e-6*square) {
					t.Errorf("%s: q_%d = %v at distance %v", name, i, q, math.Sqrt(square))
				}
				if got := -2 * float64(phi[b]); math.Abs(got-q) > 1e-5*(q+square) {
					t.Errorf("%s: q_%d = %v by the engine, %v by Precision", name, i, got, q)
				}
			}
		}
	}
}

// TestNotDefinite spoils the tensors of each form: the error names tensor and epoch, and a
// model file with such a tensor is refused.
func TestNotDefinite(t *testing.T) {
	e := newEngine(t)
	spoil := map[string]struct {
		tensor string
		change func(x []float32, d int)
		loads  bool // a file with it
	}{
		FormFull:    {"denoising_potential.A", func(x []float32, d int) { copy(x[d:2*d], x[:d]) }, true},
		FormTied:    {"denoising_potential.A", func(x []float32, d int) { clear(x[d : 2*d]) }, true},
		FormDiag:    {"denoising_potential.l", func(x []float32, d int) { x[d+1] = -80 }, false},
		FormLowRank: {"denoising_potential.l", func(x []float32, d int) { x[d+1] = 60 }, false},
		FormFlat:    {"denoising_potential.U", func(x []float32, d int) { x[d+1] += 0.1 }, false},
	}
	configs := formConfigs()
	for name, s := range spoil {
		c := configs[name]
		if c.Form == FormFlat { // of more than one row
			c.Dim, c.Rank, c.Eps = 5, 3, 0.1
		}
		m, _ := smallModel(t, c)
		if err := m.potential.checkDefinite(e, 3); err != nil {
			t.Errorf("%s: error %v before", name, err)
		}
		for _, p := range m.Params() {
			if p.Name == s.tensor {
				s.change(p.Data, m.Dim())
			}
		}
		var bad *NotDefiniteError
		if err := m.potential.checkDefinite(e, 3); !errors.As(err, &bad) || bad.Epoch != 3 || bad.Tensor != s.tensor || !strings.Contains(err.Error(), s.tensor) {
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
	c.Form, c.Rank, c.Scale, c.Alpha, c.Init, c.PotentialLR, c.MaxUpdates = FormFlat, 4, 0.5, 1, "classwise", 1e-2, 10
	c.Components = 10
	m := newModel(t, c, d)
	if _, err := m.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	f := m.potential.form.(*flatForm)
	before := append([]float32(nil), f.u.Data...)
	if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	if tensor, problem := f.definite(e); problem != "" {
		t.Errorf("%s: %s", tensor, problem)
	}
	moved := 0.0
	for i, v := range f.u.Data {
		moved = max(moved, math.Abs(float64(v-before[i])))
	}
	if moved < 1e-3 {
		t.Errorf("U moved by %v", moved)
	}
}

// TestFlatFollowsClusters checks that the flat directions are those along which a cluster
// extends, also where it has fewer rows than directions are asked for.
func TestFlatFollowsClusters(t *testing.T) {
	e := newEngine(t)
	const n, d = 200, 9
	c := completed(Config{Extractor: "linear", Dim: d, Components: 3, Steps: 1, Form: FormFlat, Rank: 2, Eps: 0.1, Scale: 1, Alpha: 0.5})
	f := newForm(c, d).(*flatForm)
	f.start(nil)
	x, assignment := engine.NewMatrix(n, d), make([]int32, n)
	r := num.NewRand(1, 0)
	r.Normal(x.Data)
	for i := range n {
		assignment[i] = int32(i % 2)
		for j := range d {
			if j/2 != i%2 { // cluster 0 extends along 0 and 1, cluster 1 along 2 and 3
				x.Row(i)[j] *= 0.05
			}
		}
	}
	assignment[0] = 2 // a cluster of one row
	if err := f.fit(context.Background(), e, x, assignment); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		for row := range 2 {
			along := 0.0
			for _, v := range f.rows(i).Row(row)[2*i : 2*i+2] {
				along += float64(v) * float64(v)
			}
			if along < 0.98 {
				t.Errorf("row %d of U_%d lies along its cluster by %.3f only", row, i, along)
			}
		}
	}
	if tensor, problem := f.definite(e); problem != "" {
		t.Errorf("%s: %s", tensor, problem)
	}
}

// TestClassKMeans checks that every class has clusters of its own, as many as the others or
// one more.
func TestClassKMeans(t *testing.T) {
	e := newEngine(t)
	x := blobs(30, 4, 6)
	labels := make([]byte, x.Rows)
	for i := range labels {
		labels[i] = byte(i % 3 * 2) // classes 0, 2 and 4
	}
	r, err := ClassKMeans(context.Background(), e, x, labels, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	classes := []byte{0, 0, 0, 2, 2, 2, 4, 4}
	var inertia float64
	for i, c := range r.Assignment {
		if classes[c] != labels[i] {
			t.Fatalf("row %d of class %d is in cluster %d", i, labels[i], c)
		}
		v, _ := reference.SquaredDistance(reference.Vector(x.Row(i)), reference.Vector(r.Centres.Row(int(c))))
		inertia += v
	}
	if math.Abs(inertia/r.Inertia-1) > 0.05 { // the centres have moved once more since
		t.Errorf("inertia %v, by the centres %v", r.Inertia, inertia)
	}
	if _, err := ClassKMeans(context.Background(), e, x, labels, 2, 1); err == nil {
		t.Error("no error for fewer centres than classes")
	}
	if _, err := ClassKMeans(context.Background(), e, x, labels, 200, 1); err == nil {
		t.Error("no error for more centres than rows of a class")
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
	if got.Config.Form != FormFull || got.Config.Init != "kmeans" || got.WeightsSHA256() != m.WeightsSHA256() {
		t.Errorf("read %+v", got.Config)
	}
}

// TestFormsResume stops training after an epoch and goes on: the same bits as in one go.
func TestFormsResume(t *testing.T) {
	d, e := digits(t, 200, 10), newEngine(t)
	for _, form := range Forms() {
		if testing.Short() && form != FormFull && form != FormFlat {
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
	c.Form, c.Rank = FormLowRank, 17
	var bad *SettingError
	if _, err := New(c, digits(t, 10, 10)); !errors.As(err, &bad) || bad.Setting != "rank" {
		t.Errorf("error %v, want one about the rank", err)
	}
}
