package dpn

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/internal/alloctest"
	"dpnbench/internal/longtest"
)

// TestUpdateDetached checks that an update with the gradient cut changes the classifier as
// Fit does, which denoises all images once, and nothing else.
func TestUpdateDetached(t *testing.T) {
	d, e := digits(t, 40, 10), newEngine(t)
	c := tiny()
	c.Gradient, c.Epochs, c.Batch, c.MaxUpdates, c.ValSize, c.Schedule, c.Warmup = "detached", 1, 40, 1, 0, "constant",
		0
	fitted, updated := newModel(t, c, d), newModel(t, c, d)
	if _, err := fitted.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := updated.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	var before [][]float32
	for _, p := range updated.Params() {
		before = append(before, slices.Clone(p.Data))
	}
	at := make([]int32, 40)
	for i := range at {
		at[i] = int32(i)
	}
	if _, err := NewTrainer(updated, e).Update(d.Train, at, 1); err != nil {
		t.Fatal(err)
	}
	for i, p := range updated.Params() {
		classifier := p == updated.head.Weight || p == updated.head.Bias
		if same := slices.Equal(p.Data, before[i]); same == classifier {
			t.Errorf("%s: the same after the update: %v", p.Name, same)
		}
	}
	for i, w := range updated.head.Weight.Data { // the order of the images differs: so does rounding
		if diff := math.Abs(float64(w - fitted.head.Weight.Data[i])); !(diff < 1e-5) {
			t.Fatalf("weight %d is %v, after Fit %v", i, w, fitted.head.Weight.Data[i])
		}
	}
}

// TestNoisyMinibatch checks that the first half of a minibatch becomes noisy, anew in every
// update, and the clean features that the denoising loss compares with are those of its
// images; also that a classifier that learns alone learns from noisy images.
func TestNoisyMinibatch(t *testing.T) {
	d, e := digits(t, 40, 10), newEngine(t)
	c := tiny()
	c.NoiseMin, c.NoiseMax, c.Denoising = 0.1, 0.3, 1
	m := newModel(t, c, d)
	want, err := m.Features(context.Background(), e, d.Train)
	if err != nil {
		t.Fatal(err)
	}
	s, at := NewTrainer(m, e), []int32{7, 3, 9, 30, 5}
	minibatch := func(updates int) []float32 {
		s.updates = updates
		return append([]float32(nil), s.features(whole(d.Train, at)).Data...)
	}
	first, again, next := minibatch(0), minibatch(0), minibatch(1)
	clean := s.cleanFeatures(whole(d.Train, at))
	if clean.Rows != 2 {
		t.Fatalf("%d noisy rows of 5", clean.Rows)
	}
	for b, i := range at {
		for j, v := range want.Row(int(i)) {
			k := b*m.Dim() + j
			if b < 2 && (first[k] == v || first[k] == next[k] || first[k] != again[k] || clean.Data[k] != v) {
				t.Fatalf("noisy row %d, feature %d: %v, again %v, in the next update %v; clean %v, want %v", b, j,
					first[k], again[k], next[k], clean.Data[k], v)
			}
			if b >= 2 && first[k] != v {
				t.Fatalf("row %d, feature %d is %v, without noise %v", b, j, first[k], v)
			}
		}
	}

	if _, err := s.Update(d.Train, at[:1], 1); err != nil { // of which no row is noisy
		t.Error(err)
	}

	c.Denoising, c.Gradient, c.Epochs = 0, "detached", 1
	noisy, plain := newModel(t, c, d), newModel(t, c, d)
	plain.Config.NoiseMin, plain.Config.NoiseMax = 0, 0
	for _, m := range []*Model{noisy, plain} {
		if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range noisy.Params() {
		classifier := p == noisy.head.Weight || p == noisy.head.Bias
		if same := slices.Equal(p.Data, plain.Params()[i].Data); same == classifier {
			t.Errorf("%s: the same with and without noise: %v", p.Name, same)
		}
	}
}

// TestCleanWithoutDropout checks that the features that the denoising loss compares with are those of a prediction:
// dropout is for the rows that learn.
func TestCleanWithoutDropout(t *testing.T) {
	d, e := digits(t, 40, 10), newEngine(t)
	c := tiny()
	c.Extractor, c.NoiseMin, c.NoiseMax, c.Denoising = "conv3", 0.1, 0.3, 1
	m := newModel(t, c, d)
	want, err := m.Features(context.Background(), e, d.Train)
	if err != nil {
		t.Fatal(err)
	}
	s, at := NewTrainer(m, e), []int32{7, 3, 9, 30}
	clean, x := s.cleanFeatures(whole(d.Train, at)), s.features(whole(d.Train, at))
	for b, i := range at {
		if row := want.Row(int(i)); b < 2 && !slices.Equal(clean.Row(b), row) {
			t.Errorf("clean row %d: %v, a prediction has %v", b, clean.Row(b), row)
		} else if b >= 2 && slices.Equal(x.Row(b), row) {
			t.Errorf("row %d without noise is that of a prediction: there is no dropout", b)
		}
	}
}

// TestUpdateAllocates checks that updates allocate nothing once they have run.
func TestUpdateAllocates(t *testing.T) {
	d, e := digits(t, 64, 10), newEngine(t)
	noisy := func(c *Config) { c.NoiseMax = 0.3 }
	for name, change := range map[string]func(c *Config){
		"exact":       func(*Config) {},
		"profiled":    noisy,
		"detached":    func(c *Config) { c.Gradient = "detached" },
		"noise":       noisy,
		"normalised":  func(c *Config) { c.Contrast, c.Centre = true, dataset.CentreMoments; noisy(c) },
		"by Adadelta": func(c *Config) { c.Optimiser = Adadelta },
		"conv":        func(c *Config) { c.Extractor = "conv" },
		"dropout":     func(c *Config) { c.Extractor = "conv3" },
		"perceptron":  func(c *Config) { c.Extractor, c.Hidden, c.LayerNorm = "mlp", "16", true },
		"low rank":    func(c *Config) { c.Form, c.Rank = "lowrank", 4 },
		"in pieces":   func(c *Config) { c.Shards = 3; noisy(c) },
	} {
		if longtest.Emulated() && !slices.Contains([]string{"exact", "noise", "conv", "low rank"}, name) {
			continue
		}
		c := tiny()
		change(&c)
		m := newModel(t, c, d)
		if _, err := m.Init(context.Background(), e, d.Train); err != nil {
			t.Fatal(err)
		}
		tr, at := NewTrainer(m, e), []int32{0, 1, 2, 3, 4, 5, 6, 7}
		if name == "profiled" {
			tr.SetProfile(new(Profile))
			defer tr.SetProfile(nil)
		}
		if n := alloctest.PerCall(10, func() {
			if _, err := tr.Update(d.Train, at, 1); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations an update", name, n)
		}
	}
}

// TestUpdate makes updates outside Fit: they lower the loss on their own minibatch, and
// one that is not finite changes nothing.
func TestUpdate(t *testing.T) {
	d := digits(t, 300, 10)
	e := newEngine(t)
	m := newModel(t, tiny(), d)
	if _, err := m.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	tr := NewTrainer(m, e)
	at := []int32{0, 1, 2, 3, 4, 5, 6, 7}
	first, err := tr.Update(d.Train, at, 1)
	if err != nil {
		t.Fatal(err)
	}
	var last float64
	for range 60 {
		if last, err = tr.Update(d.Train, at, 1); err != nil {
			t.Fatal(err)
		}
	}
	if last > first/2 {
		t.Errorf("loss %v after 60 updates, %v before", last, first)
	}
	m.head.Weight.Data[3] = float32(math.NaN())
	before := m.WeightsSHA256()
	var bad *NotFiniteError
	if _, err := tr.Update(d.Train, at, 1); !errors.As(err, &bad) || bad.What != "loss" {
		t.Errorf("error %v, want a NotFiniteError about the loss", err)
	}
	if m.WeightsSHA256() != before {
		t.Error("the update changed weights")
	}
}

// TestUpdateSamples checks that an update refuses samples that the model cannot learn from, and changes nothing.
func TestUpdateSamples(t *testing.T) {
	d, e := digits(t, 40, 10), newEngine(t)
	m := newModel(t, tiny(), d)
	before, s := m.WeightsSHA256(), NewTrainer(m, e)
	unlabelled, strange := *d.Train, *d.Train
	unlabelled.Labels, strange.Labels = nil, slices.Clone(d.Train.Labels)
	strange.Labels[3] = 10
	small := &dataset.Set{Shape: dataset.Grey(8, 8), Pixels: make([]byte, 64), Labels: []uint16{1}}
	for want, f := range map[string]func() (float64, error){
		"0 samples":   func() (float64, error) { return s.Update(d.Train, nil, 1) },
		"33 samples":  func() (float64, error) { return s.Update(d.Train, make([]int32, 33), 1) },
		"sample 40":   func() (float64, error) { return s.Update(d.Train, []int32{0, 40}, 1) },
		"sample -1":   func() (float64, error) { return s.Update(d.Train, []int32{-1}, 1) },
		"8 x 8":       func() (float64, error) { return s.Update(small, []int32{0}, 1) },
		"no labels":   func() (float64, error) { return s.Update(&unlabelled, []int32{0}, 1) },
		"of sample 3": func() (float64, error) { return s.Update(&strange, []int32{0, 3}, 1) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if m.WeightsSHA256() != before {
		t.Error("an update that was refused changed weights")
	}
}
