package dpn

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// preprocesses are settings of a network that preprocesses images and is trained with noise.
func preprocesses(t testing.TB, centre string) Config {
	c, err := Preset("compact")
	if err != nil {
		t.Fatal(err)
	}
	c.Contrast, c.Centre, c.Batch, c.MaxUpdates = true, centre, 16, 4
	c.RMS = centre == dataset.CentreMoments
	c.NoiseMin, c.NoiseMax, c.Denoising = 0.1, 0.5, 0.1
	return c
}

// TestPreprocessedInput checks that images come in preprocessed in the same way, to the bit, on one thread and on
// three, in any order, alone and beside others, and as a corruption of severity 0; and that they are what
// Preprocessed says.
func TestPreprocessedInput(t *testing.T) {
	d := digits(t, 60, 40)
	one, three := newEngine(t, engine.WithThreads(1)), newEngine(t, engine.WithThreads(3), engine.WithEagerThreads())
	for _, centre := range append([]string{""}, dataset.Centrings()...) {
		m := newModel(t, preprocesses(t, centre), d)
		n := d.Test.Len()
		at := make([]int32, n)
		for i := range at {
			at[i] = int32((7*i + 3) % n)
		}
		x, y := engine.NewMatrix(n, m.Shape.Len()), engine.NewMatrix(n, m.Shape.Len())
		m.Input(d.Test)(one, x, nil)
		none, err := m.CorruptedInput(d.Test, dataset.Corruption{Name: "gaussian"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string]Input{"three threads": m.Input(d.Test), "no corruption": none} {
			in(three, y, at)
			for b, i := range at {
				if !slices.Equal(y.Row(b), x.Row(int(i))) {
					t.Fatalf("centre %q, %s: image %d differs", centre, name, i)
				}
			}
		}
		alone, levels := engine.NewMatrix(1, m.Shape.Len()), engine.NewMatrix(n, m.Shape.Len())
		m.Preprocessed(d.Test)(three, levels, nil)
		pre := m.Config.preprocessing().For(m.Shape)
		for i := range n {
			m.Input(d.Test)(one, alone, []int32{int32(i)})
			want := make([]float32, m.Shape.Len())
			d.Test.Floats(want, []int32{int32(i)})
			pre.Apply(want, make([]float32, pre.Scratch()))
			if !slices.Equal(want, levels.Row(i)) {
				t.Fatalf("centre %q: the levels of image %d differ", centre, i)
			}
			m.Norm.Apply(want)
			if !slices.Equal(alone.Row(0), x.Row(i)) || !slices.Equal(want, x.Row(i)) {
				t.Fatalf("centre %q: image %d differs alone", centre, i)
			}
		}
	}
}

// TestInputOrder checks the samples that come in, in any order: images and vectors of which many, two, one or not one
// fit into what is prefetched at a time.
func TestInputOrder(t *testing.T) {
	const n = 40
	e := newEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	for _, shape := range []dataset.Shape{
		dataset.Grey(3, 3), dataset.Grey(28, 28), dataset.RGB(44, 44), dataset.RGB(50, 50), dataset.RGB(66, 66),
		dataset.Vector(1), dataset.Vector(1500), dataset.Vector(2000), dataset.Vector(4000),
	} {
		set := &dataset.Set{Shape: shape}
		for i := range n * shape.Len() {
			if v := byte(i * i >> 3); shape.IsImage() {
				set.Pixels = append(set.Pixels, v)
			} else {
				set.Values = append(set.Values, float32(v))
			}
		}
		norm := dataset.Uniform(0.25, 0.5)
		in := (&Model{Shape: shape, Norm: norm}).Input(set)
		var at []int32
		for i := range 3 * n {
			at = append(at, int32(7*i%n))
		}
		x, want := engine.NewMatrix(len(at), shape.Len()), engine.NewMatrix(len(at), shape.Len())
		in(e, x, at)
		set.Floats(want.Data, at)
		for b := range at {
			norm.Apply(want.Row(b))
		}
		if !slices.Equal(x.Data, want.Data) {
			t.Errorf("samples of %v differ", shape)
		}
		in(e, x.SliceRows(0, 0), nil)
	}
}

// TestPreprocessingTrains checks that noise comes before preprocessing in training, that a model is read back with its
// preprocessing, and that it sees shifted and negative images as they were.
func TestPreprocessingTrains(t *testing.T) {
	longtest.Native(t)
	d, e := digits(t, 200, 40), newEngine(t)
	for _, centre := range dataset.Centrings() {
		c := preprocesses(t, centre)
		c.NoiseMin, c.NoiseMax = 1e-7, 1e-7
		s := NewTrainer(newModel(t, c, d), e)
		at := []int32{5, 3, 8, 1}
		s.features(whole(d.Train, at))
		want := engine.NewMatrix(len(at), s.x.Cols)
		s.m.Input(d.Train)(e, want, at)
		for b := range at {
			for j, v := range s.x.Row(b) {
				if diff := v - want.Row(b)[j]; !(diff > -1e-3 && diff < 1e-3) {
					t.Fatalf("centre %s: row %d with hardly any noise differs by %v", centre, b, diff)
				}
			}
		}

		m := newModel(t, preprocesses(t, centre), d)
		if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), ModelFile)
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		read, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := read.Features(t.Context(), e, d.Test)
		if err != nil {
			t.Fatal(err)
		}
		before, err := m.Features(t.Context(), e, d.Test)
		if err != nil {
			t.Fatal(err)
		}
		negative := &dataset.Set{Shape: d.Test.Shape, Labels: d.Test.Labels}
		for i := range d.Test.Len() {
			for _, v := range d.Test.Image(i) {
				negative.Pixels = append(negative.Pixels, 255-v)
			}
		}
		after, err := m.Features(t.Context(), e, negative)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range before.Data {
			if diff := after.Data[i] - v; v != plain.Data[i] || !(diff > -1e-3 && diff < 1e-3) {
				t.Fatalf("centre %s: feature %d is %v, when read back %v, of negative images %v", centre, i, v,
					plain.Data[i], after.Data[i])
			}
		}
	}
}
