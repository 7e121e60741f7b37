package dpn

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/safetensors"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

// TestPredictions compares the predictions of a set with those of its samples one by one, in another order, with three
// threads, and of their features, and with what Predict and Score say.
func TestPredictions(t *testing.T) {
	ctx, d := context.Background(), digits(t, 300, evalRows+5)
	e := newEngine(t, engine.WithThreads(1))
	m := newModel(t, tiny(), d)
	if _, err := m.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	if r, err := m.Predictions(ctx, e, d.Test); err != nil || r.Unknown != nil {
		t.Fatalf("unknown samples without a threshold: %v", err)
	}
	if err := m.MeasureUnknown(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	d.Test.Labels = nil
	want, err := m.Predictions(ctx, e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got *Predictions, err error, at ...int32) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for b, i := range at {
			if got.Phi[b] != want.Phi[i] || got.Classes[b] != want.Classes[i] || got.Unknown[b] != want.Unknown[i] ||
				!slices.Equal(got.Probabilities.Row(b), want.Probabilities.Row(int(i))) {
				t.Fatalf("%s: sample %d has other predictions", what, i)
			}
		}
	}
	all := make([]int32, d.Test.Len())
	for i := range all {
		all[i] = int32(i)
	}
	three := newEngine(t, engine.WithThreads(3), engine.WithEagerThreads())
	got, err := m.Predictions(ctx, three, d.Test)
	same("three threads", got, err, all...)
	x, err := m.Features(ctx, e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	got, err = m.PredictFeatures(ctx, e, x)
	same("features", got, err, all...)
	wide := engine.NewMatrix(x.Rows, x.Cols+5).Slice(0, x.Rows, 2, x.Cols+2)
	engine.CopyMatrix(wide, x)
	got, err = m.PredictFeatures(ctx, e, wide)
	same("features with gaps", got, err, all...)
	slices.Reverse(all)
	got, err = m.Predictions(ctx, e, d.Test.Pick(all))
	same("reversed", got, err, all...)
	for _, i := range []int32{0, 7, evalRows} {
		got, err = m.Predictions(ctx, e, d.Test.Slice(int(i), int(i)+1))
		same("alone", got, err, i)
	}
	classes, err := m.Predict(ctx, e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	for i, class := range classes {
		sum := 0.0
		for _, v := range want.Probabilities.Row(i) {
			sum += float64(v)
		}
		if p := want.Probabilities.Row(i); !(math.Abs(sum-1) <= 1e-6) || slices.Max(p) != p[class] ||
			want.Classes[i] != int(class) {
			t.Fatalf("image %d: %v, predicted %d and %d", i, p, want.Classes[i], class)
		}
	}
	q := make([]float32, 3)
	if softmax(q, []float32{3e38, -3e38, 3e38}); !slices.Equal(q, []float32{0.5, 0, 0.5}) {
		t.Errorf("softmax of huge logits: %v", q)
	}
}

// TestUnknownBelow trains a network: the threshold is that of the validation samples, of which 5% are below it, and
// nearly all noise is. The file keeps it, unless the weights may be others.
func TestUnknownBelow(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains a network")
	}
	ctx, e, dir := context.Background(), newEngine(t), t.TempDir()
	d := digits(t, 1200, 10)
	c, _ := Preset("robust") // on pixels: of a linear map of them the potential sees too little
	c.Components, c.Steps, c.Rank, c.Epochs, c.Batch = 10, 2, 4, 2, 32
	m := newModel(t, c, d)
	if _, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	val, err := m.Validation(d.Train)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		s       *dataset.Set
		lo, hi  int
		samples string
	}{{val, 6, 6, "validation samples"}, {dataset.Noise(1, 0, 100, d.Train.Shape), 95, 100, "noise"}} {
		r, err := m.Predictions(ctx, e, of.s)
		if err != nil {
			t.Fatal(err)
		}
		n, phi := 0, slices.Clone(r.Phi)
		for i, unknown := range r.Unknown {
			if unknown {
				n++
			}
			if unknown != (r.Phi[i] < separation.Float(*m.UnknownBelow)) {
				t.Fatalf("%s %d: potential %v, unknown %v", of.samples, i, r.Phi[i], unknown)
			}
		}
		if slices.Sort(phi); n < of.lo || n > of.hi {
			t.Errorf("%d of %d %s are unknown, expected %d to %d (%v from %v to %v)", n, len(phi), of.samples, of.lo,
				of.hi, *m.UnknownBelow, phi[0], phi[len(phi)-1])
		}
	}
	path := filepath.Join(dir, ModelFile)
	same := func(what string, want bool) *Model {
		t.Helper()
		saved, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if (saved.UnknownBelow != nil) != want || want && *saved.UnknownBelow != *m.UnknownBelow {
			t.Errorf("%s: threshold %v, want %v", what, saved.UnknownBelow, *m.UnknownBelow)
		}
		return saved
	}
	same("saved", true)

	f, err := safetensors.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(safetensors.ChecksumKey)
	if b = bytes.Replace(b, key, bytes.ToUpper(key), 1); os.WriteFile(path, b, 0o644) != nil {
		t.Fatal("cannot write " + path)
	}
	same("without a checksum", false)

	delete(f.Metadata, metaUnknown) // as a kill before the end of Fit leaves it
	if err := safetensors.WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	again := newModel(t, c, d)
	if r, err := again.Fit(ctx, e, d.Train, FitOptions{Dir: dir, Resume: true}); err != nil || !r.Already {
		t.Fatalf("%+v, %v", r, err)
	}
	saved := same("resumed at the end", true)
	if NewTrainer(saved, e); saved.UnknownBelow != nil {
		t.Error("a trainer keeps the threshold of other weights")
	}
	f.Metadata[metaUnknown] = "NaN"
	if err := safetensors.WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), `metadata unknown_below is "NaN"`) {
		t.Error(err)
	}
	if err := m.MeasureUnknown(ctx, e, val.Slice(0, 0)); err == nil || err.Error() != "no validation samples" {
		t.Error(err)
	}
}
