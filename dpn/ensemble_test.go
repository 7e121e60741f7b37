package dpn

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// TestEnsemble compares an ensemble of models that preprocess images differently with the mean of their probabilities
// in float64.
func TestEnsemble(t *testing.T) {
	longtest.Native(t)
	d := digits(t, 100, 104)
	d.Test.Labels[7] = 3 // most images are read correctly
	e := newEngine(t)
	var all Ensemble
	for _, change := range []func(*Config){
		func(c *Config) {}, func(c *Config) { c.Seed, c.Centre = 2, dataset.CentreMass },
		func(c *Config) { c.Extractor, c.Hidden = "conv", "3-4" },
	} {
		c, _ := Preset("compact")
		c.Batch, c.MaxUpdates, c.Steps, c.ValSize = 25, 8, 3, 0
		change(&c)
		m := newModel(t, c, d)
		if _, err := m.Fit(t.Context(), e, d.Train, FitOptions{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if err := all.Check(); err != nil {
		t.Fatal(err)
	}
	n, classes := d.Test.Len(), len(all[0].Classes)
	mean, loss, right := make([]float64, n*classes), 0.0, 0
	for _, m := range all {
		x, err := m.Denoised(t.Context(), e, d.Test)
		if err != nil {
			t.Fatal(err)
		}
		y := m.Logits(e, x)
		for i := range n {
			sum := 0.0
			for _, v := range y.Row(i) {
				sum += math.Exp(float64(v))
			}
			for c, v := range y.Row(i) {
				mean[i*classes+c] += math.Exp(float64(v)) / sum / float64(len(all))
			}
		}
	}
	got, err := all.Predictions(t.Context(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := layer.NewOutcomes(classes)
	for i := range n {
		p, y := mean[i*classes:(i+1)*classes], d.Test.Labels[i]
		for c, v := range got.Probabilities.Row(i) {
			if !(math.Abs(float64(v)-p[c]) <= 1e-6) {
				t.Fatalf("probability %d of image %d is %v, want %v", c, i, v, p[c])
			}
		}
		class := slices.Index(p, slices.Max(p))
		if got.Classes[i] != class {
			t.Errorf("image %d is a %d, want %d", i, got.Classes[i], class)
		}
		if loss -= math.Log(p[y]); class == int(y) {
			right++
		}
		outcomes.Add([]uint16{y}, []int32{int32(class)})
	}
	score, by, err := all.ScoreClasses(t.Context(), e, d.Test)
	if err != nil || !(math.Abs(score.Loss-loss/float64(n)) <= 1e-5) || score.Accuracy != float64(right)/float64(n) ||
		!slices.EqualFunc(by.Confusion, outcomes.ByClass(all[0].Classes).Confusion, slices.Equal) {
		t.Errorf("score %+v, %v, want loss %v and %d right", score, err, loss/float64(n), right)
	}
	corruption := dataset.Corruption{Name: "gaussian", Severity: 0}
	plain, err := all.Score(t.Context(), e, d.Test)
	if corrupted, err2 := all.ScoreCorrupted(t.Context(), e, d.Test, corruption, 1); err != nil || err2 != nil ||
		plain != score || corrupted.Accuracy != score.Accuracy {
		t.Errorf("scores %+v and %+v, %v, %v, want %+v", plain, corrupted, err, err2, score)
	}
	one, err := engine.New(engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	alone, err := all.Predictions(t.Context(), one, d.Test.Slice(100, 103))
	if err != nil || !slices.Equal(alone.Probabilities.Data, got.Probabilities.Data[100*classes:103*classes]) {
		t.Errorf("other bits for three of the images on one thread: %v", err)
	}
	if classes, err := all.Predict(t.Context(), e, d.Test); err != nil || int(classes[9]) != got.Classes[9] {
		t.Errorf("image 9 is a %d, want %d: %v", classes[9], got.Classes[9], err)
	}
	if want := all[0].MACs() + all[1].MACs() + all[2].MACs(); all.MACs() != want {
		t.Errorf("%d multiply-adds, want %d", all.MACs(), want)
	}
}

// TestEnsembleOfOthers refuses models that do not belong together.
func TestEnsembleOfOthers(t *testing.T) {
	c, _ := Preset("compact")
	model := func(change func(m *Model)) *Model {
		m := newModel(t, c, digits(t, 20, 1))
		change(m)
		return m
	}
	same := model(func(m *Model) {})
	for want, other := range map[string]*Model{
		"images of 9 x 9 grey, expected 28 x 28 grey": model(func(m *Model) { m.Shape = dataset.Grey(9, 9) }),
		"classes of the other model":                  model(func(m *Model) { m.Classes = dataset.Numbered(11) }),
	} {
		if err := (Ensemble{same, other}).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	d, ctx, e := digits(t, 20, 5), t.Context(), newEngine(t)
	for want, n := range map[string]Ensemble{
		"no models": {}, "no model: it is nil": {nil}, "model 2 of 2: no model": {same, nil},
	} {
		_, errPredict := n.Predict(ctx, e, d.Test)
		_, errScore := n.Score(ctx, e, d.Test)
		_, errCorrupted := n.ScoreCorrupted(ctx, e, d.Test, dataset.Corruption{Name: "gaussian"}, 1)
		_, _, errClasses := n.ScoreClasses(ctx, e, d.Test)
		_, errPredictions := n.Predictions(ctx, e, d.Test)
		for _, err := range []error{n.Check(), errPredict, errScore, errCorrupted, errClasses, errPredictions} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	if err := (Ensemble{same, same}).Check(); err != nil {
		t.Error(err)
	}
}
