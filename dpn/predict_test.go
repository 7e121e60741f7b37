package dpn

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// TestScoreCorrupted holds scores on corrupted images, of several blocks, against a
// pass over all of them at once; severity 0 is Score, and threads change no bit.
func TestScoreCorrupted(t *testing.T) {
	longtest.Native(t)
	ctx := context.Background()
	d, e := digits(t, 300, evalRows+90), newEngine(t, engine.WithThreads(1))
	m := newModel(t, tiny(), d)
	if _, err := m.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	score := func(e *engine.Engine, text string, seed uint64) Score {
		c, err := dataset.ParseCorruption(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.ScoreCorrupted(ctx, e, d.Test, c, seed)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, err := m.Score(ctx, e, d.Test)
	if got := score(e, "gaussian:0", 1); err != nil || got != plain {
		t.Errorf("severity 0 scores %+v, clean images %+v, %v", got, plain, err)
	}
	for _, text := range []string{"gaussian-unclamped:0.5", "rotation:40"} {
		c, _ := dataset.ParseCorruption(text)
		at := make([]int32, d.Test.Len())
		for i := range at {
			at[i] = int32(i)
		}
		x := engine.NewMatrix(len(at), 784)
		if err := c.Floats(x.Data, d.Test, at, 3); err != nil {
			t.Fatal(err)
		}
		m.Norm.Apply(x.Data)
		var tape layer.Tape
		f := m.extractor.Forward(e, &tape, x, layer.Evaluation)
		m.potential.Ascend(e, f, m.Config.Steps)
		var tally layer.Tally
		tally.Add(e, m.Logits(e, f), d.Test.Labels, engine.Matrix{}, 0)
		got, want := score(e, text, 3), tally.Score()
		if got.Samples != want.Samples || got.Accuracy != want.Accuracy ||
			!(math.Abs(got.Loss-want.Loss) <= 1e-12*want.Loss) ||
			got.Loss == plain.Loss {
			t.Errorf("%s scores %+v, want %+v", text, got, want)
		}
		if again := score(newEngine(t, engine.WithThreads(3), engine.WithEagerThreads()), text, 3); again != got {
			t.Errorf("%s scores %+v with three threads, %+v with one", text, again, got)
		}
	}
	if score(e, "gaussian:0.5", 3) == score(e, "gaussian:0.5", 4) {
		t.Error("the seed does not matter")
	}
	if _, err := m.ScoreCorrupted(ctx, e, d.Test, dataset.Corruption{Name: "fog", Severity: 1}, 1); err == nil ||
		!strings.Contains(err.Error(), "fog") {
		t.Errorf("an unknown corruption: %v", err)
	}
}

// TestExplain checks that the line is about the ascents that will be made: minibatches
// with the exact gradient, blocks of images without it and for evaluation, and never
// more rows than there are images.
func TestExplain(t *testing.T) {
	d, e := digits(t, 600, 100), newEngine(t)
	for _, c := range []struct {
		gradient          string
		batch, steps, val int
		noise             float64
		training          bool
		prefix, holds     string
	}{
		{"exact", 128, 30, 0, 0, true, "ascent of 128 rows, ", "backward pass"},
		{"exact", 580, 30, 50, 0, true, "ascent of 550 rows, ", "backward pass"},
		{"detached", 128, 30, 0, 0, true, "ascent of 512 rows, once for all epochs, ", "block"},
		{"detached", 128, 4, 200, 0, true, "ascent of 400 rows, once for all epochs, ", "block"},
		{"detached", 128, 30, 200, 0.5, true, "ascent of 128 rows, ", "block"},
		{"exact", 128, 30, 0, 0, false, "ascent of 100 rows, ", "block"},
		{"detached", 128, 4, 0, 0, false, "ascent of 100 rows, ", "block"},
	} {
		config := tiny()
		config.Gradient, config.Batch, config.Steps = c.gradient, c.batch, c.steps
		config.ValSize, config.NoiseMax = c.val, c.noise
		m, s := newModel(t, config, d), d.Test
		if c.training {
			s = d.Train
		}
		if got := m.Explain(e, s, c.training); !strings.HasPrefix(got, c.prefix) || !strings.Contains(got, c.holds) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestTiersSideBySide scores one model by engines of every pair of tiers in turn, and one
// after EM on another tier, in every form of precisions: the same bits each time.
func TestTiersSideBySide(t *testing.T) {
	ctx, d := context.Background(), digits(t, 60, 40)
	var engines []*engine.Engine
	for _, tier := range engine.Available() {
		engines = append(engines, newEngine(t, engine.WithTier(tier), engine.WithThreads(1)))
	}
	for _, form := range potential.Forms() {
		c := tiny()
		c.Form, c.Rank = form, 2
		m := newModel(t, c, d)
		if _, err := m.Init(ctx, engines[0], d.Train); err != nil {
			t.Fatal(err)
		}
		var want *Score
		score := func(e *engine.Engine) {
			t.Helper()
			got, err := m.Score(ctx, e, d.Test)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = &got
			}
			if got != *want {
				t.Errorf("%s: %v scores %+v, %v scored %+v", form, e.Tier(), got, engines[0].Tier(), *want)
			}
		}
		for _, a := range engines {
			for _, b := range engines {
				score(a)
				score(b)
			}
		}
		x, err := m.Features(ctx, engines[0], d.Train)
		if err != nil {
			t.Fatal(err)
		}
		assignment := make([]int32, x.Rows)
		for i := range assignment {
			assignment[i] = int32(i % c.Components)
		}
		last := engines[len(engines)-1]
		if _, err := m.Potential().EM(ctx, last, x, assignment, potential.EMOptions{Iterations: 1,
			Ridge: 0.1}); err != nil {
			t.Fatal(err)
		}
		want = nil
		for _, e := range engines {
			score(e)
		}
	}
}

// TestNoSet gives no set, such as the test samples of a data set without them, to what takes one: an error says so.
func TestNoSet(t *testing.T) {
	ctx, e, d := context.Background(), newEngine(t), digits(t, 100, 10)
	m := newModel(t, tiny(), d)
	c := dataset.Corruption{Name: "gaussian", Severity: 0.1}
	check := func(name string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "no samples") && name != "MeasureUnknown" {
			t.Errorf("%s: error %v, want that there are no samples", name, err)
		}
	}
	for name, f := range map[string]func() error{
		"Predict":           func() error { _, err := m.Predict(ctx, e, nil); return err },
		"Predictions":       func() error { _, err := m.Predictions(ctx, e, nil); return err },
		"Score":             func() error { _, err := m.Score(ctx, e, nil); return err },
		"ScoreClasses":      func() error { _, _, err := m.ScoreClasses(ctx, e, nil); return err },
		"ScoreCorrupted":    func() error { _, err := m.ScoreCorrupted(ctx, e, nil, c, 1); return err },
		"CorruptedInput":    func() error { _, err := m.CorruptedInput(nil, c, 1); return err },
		"Features":          func() error { _, err := m.Features(ctx, e, nil); return err },
		"Denoised":          func() error { _, err := m.Denoised(ctx, e, nil); return err },
		"Split":             func() error { _, _, err := m.Split(nil); return err },
		"Config.Split":      func() error { _, _, err := m.Config.Split(nil); return err },
		"Validation":        func() error { _, err := m.Validation(nil); return err },
		"Check":             func() error { return m.Check(nil) },
		"CheckLabelled":     func() error { return m.CheckLabelled(nil) },
		"CheckValidation":   func() error { return m.CheckValidation(nil) },
		"MeasureUnknown":    func() error { return m.MeasureUnknown(ctx, e, nil) },
		"Init":              func() error { _, err := m.Init(ctx, e, nil); return err },
		"Fit":               func() error { _, err := m.Fit(ctx, e, nil, FitOptions{}); return err },
		"Trainer":           func() error { _, err := NewTrainer(m, e).Update(nil, []int32{0}, 1); return err },
		"Ensemble.Predict":  func() error { _, err := Ensemble{m, m}.Predict(ctx, e, nil); return err },
		"Validation, older": func() error { _, err := (&Model{lastSplit: true}).Validation(nil); return err },
	} {
		check(name, f())
	}
	if m.TrainedOn(nil) || m.Explain(e, nil, true) == "" || m.Explain(e, nil, false) == "" {
		t.Error("no set: trained on, or no explanation")
	}
	if r, err := m.FinalScores(ctx, e, nil, nil); err != nil || r.Validation != nil || r.Test != nil {
		t.Errorf("final scores without samples: %+v, %v", r, err)
	}
}

// TestTurns has several goroutines predict by a model that nobody has used yet, on one engine and on another one.
func TestTurns(t *testing.T) {
	longtest.Native(t)
	d, engines := digits(t, 40, 0), []*engine.Engine{newEngine(t), newEngine(t, engine.WithTier(engine.Generic))}
	for _, preset := range []string{"clean", "raw"} {
		c, err := Preset(preset)
		if err != nil {
			t.Fatal(err)
		}
		c.Init, c.Components, c.Steps = InitKMeans, 3, 2
		started := func() *Model {
			m := newModel(t, c, d)
			if _, err := m.Init(t.Context(), engines[0], d.Train); err != nil {
				t.Fatal(err)
			}
			return m
		}
		m := started()
		want, err := started().Predictions(t.Context(), engines[0], d.Train)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, e := range []*engine.Engine{engines[0], engines[0], engines[1], engines[0], engines[1]} {
			all.Go(func() {
				got, err := m.Predictions(t.Context(), e, d.Train)
				if err != nil || !slices.Equal(got.Phi, want.Phi) ||
					!slices.Equal(got.Probabilities.Data, want.Probabilities.Data) {
					t.Errorf("%s, %v: other predictions than alone, %v", preset, e.Tier(), err)
				}
			})
		}
		all.Wait()
	}
}
