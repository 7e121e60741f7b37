package dpn

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// TestRuinedWeights checks that an epoch that ruins the weights with its last update
// leaves no files, also without images to validate on.
func TestRuinedWeights(t *testing.T) {
	d := digits(t, 256, 10)
	for _, lr := range []float64{1e25, 3e38} { // the loss overflows, the weights themselves
		dir := t.TempDir()
		c := tiny()
		c.ValSize, c.Batch, c.Epochs, c.LR, c.PotentialLR, c.Clip, c.Warmup, c.Schedule = 0, 256, 1, lr, lr, 0, 0,
			"constant"
		_, err := newModel(t, c, d).Fit(context.Background(), newEngine(t), d.Train, FitOptions{Dir: dir})
		if !errors.As(err, new(*NotFiniteError)) {
			t.Errorf("lr %g: error %v, want a *NotFiniteError", lr, err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 0 {
			t.Errorf("lr %g: %d files are left", lr, len(list))
		}
	}
}

// TestEndsEarly checks that training which ends by its context or by numbers that are not
// finite returns the epochs that it had finished and
// leaves the best of them in the model, and nothing without any.
func TestEndsEarly(t *testing.T) {
	longtest.Native(t)
	d, e := digits(t, 600, 10), newEngine(t)
	corrupt := func(m *Model) { m.head.Bias.Data[0] = float32(math.NaN()) }
	for name, c := range map[string]struct {
		dir    string
		epochs int
		at     int // update after which act is called, 17 an epoch
		act    func(m *Model, cancel func())
		as     func(err error) bool
	}{
		"context, first epoch": {"", 0, 7, func(_ *Model, cancel func()) { cancel() },
			func(err error) bool { return errors.Is(err, context.Canceled) }},
		"context": {"", 2, 40, func(_ *Model, cancel func()) { cancel() },
			func(err error) bool { return errors.Is(err, context.Canceled) }},
		"not finite": {"", 3, 60, func(m *Model, _ func()) { corrupt(m) },
			func(err error) bool { return errors.As(err, new(*NotFiniteError)) }},
	} {
		m := newModel(t, tiny(), d)
		ctx, cancel := context.WithCancel(context.Background())
		var hashes []string // of the model as training left it after each update
		r, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: c.dir, OnUpdate: func(done, _ int, _ float64) {
			hashes = append(hashes, m.WeightsSHA256())
			if done == c.at {
				c.act(m, cancel)
			}
		}})
		cancel()
		if !c.as(err) {
			t.Errorf("%s: error %v", name, err)
		}
		if c.epochs == 0 {
			if r != nil {
				t.Errorf("%s: %+v of no epoch", name, r)
			}
			continue
		}
		if r == nil || len(r.Epochs) != c.epochs || r.Best < 1 || r.Best > c.epochs || r.Stopped ||
			r.Updates != max(c.at, 17) ||
			r.Init == nil {
			t.Errorf("%s: %+v, want %d epochs", name, r, c.epochs)
			continue
		}
		best := r.Epochs[r.Best-1]
		for _, h := range r.Epochs {
			if *h.ValLoss < *best.ValLoss {
				t.Errorf("%s: epoch %d was better than %d", name, h.Epoch, r.Best)
			}
		}
		if got := m.WeightsSHA256(); got != hashes[17*r.Best-1] {
			t.Errorf("%s: the model is not that of epoch %d", name, r.Best)
		}
		_, val, err := m.Split(d.Train)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := m.Score(context.Background(), e, val); err != nil || s.Loss != *best.ValLoss {
			t.Errorf("%s: the model has validation loss %v, %v; epoch %d had %v", name, s.Loss, err, r.Best,
				*best.ValLoss)
		}
	}
}

// TestInterruptible checks that training looks at its context between the steps of an
// update, forward and backward: an update of many steps takes minutes.
func TestInterruptible(t *testing.T) {
	longtest.Native(t)
	d, e := digits(t, 40, 10), newEngine(t, engine.WithThreads(1))
	for _, form := range []string{potential.FormFull, potential.FormDiag} {
		asked := func(steps int) int64 {
			ctx := &counting{Context: context.Background()}
			c := tiny()
			c.Form, c.Steps, c.Epochs, c.ValSize, c.MaxUpdates, c.Alpha = form, steps, 1, 0, 1, 0.1
			if _, err := newModel(t, c, d).Fit(ctx, e, d.Train, FitOptions{}); err != nil {
				t.Fatal(err)
			}
			return ctx.asked.Load()
		}
		if few, many := asked(10), asked(200); many-few < 2*190 {
			t.Errorf("%s: asked %d times in an update of 10 steps, %d in one of 200", form, few, many)
		}
	}
}

// TestDetached checks that the published mode trains the classifier and nothing else.
func TestDetached(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains for seconds, a minute under emulation")
	}
	d := digits(t, 1000, 200)
	e := newEngine(t)
	c := tiny()
	c.Gradient, c.Extractor, c.LayerNorm, c.Scale, c.Alpha, c.Epochs = "detached", "identity", false, 1, 0.1, 15
	m := newModel(t, c, d)
	train, _, err := m.Split(d.Train)
	if err == nil {
		_, err = m.Init(context.Background(), e, train)
	}
	if err != nil {
		t.Fatal(err)
	}
	centres := append([]float32(nil), m.potential.Centres().Data...)
	before, err := m.Score(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, v := range m.potential.Centres().Data {
		if v != centres[i] {
			t.Fatalf("centre number %d moved from %v to %v", i, centres[i], v)
		}
	}
	if m.potential.Alpha() != 0.1 || m.potential.Params()[3].Data[0] != 1 || m.potential.Params()[3].Data[1] != 0 {
		t.Error("alpha or A changed")
	}
	after, err := m.Score(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	if !(after.Accuracy >= before.Accuracy+0.2) || after.Loss > before.Loss {
		t.Errorf("training took %+v to %+v", before, after)
	}
	pred, err := m.Predict(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, y := range d.Test.Labels {
		if pred[i] == y {
			right++
		}
	}
	if got := float64(right) / 200; got != after.Accuracy {
		t.Errorf("predictions are right for %v, Score says %v", got, after.Accuracy)
	}
}

// TestLearns checks that the exact gradient lowers the loss and moves every parameter.
func TestLearns(t *testing.T) {
	d := digits(t, 1000, 10)
	m := newModel(t, tiny(), d)
	r, err := m.Fit(context.Background(), newEngine(t), d.Train, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, last := r.Epochs[0], r.Epochs[len(r.Epochs)-1]
	if !(last.TrainLoss <= 0.8*first.TrainLoss) || *last.ValLoss > *first.ValLoss {
		t.Errorf("loss from %v to %v, in validation %v to %v", first.TrainLoss, last.TrainLoss, *first.ValLoss,
			*last.ValLoss)
	}
	fresh := newModel(t, tiny(), d)
	for i, p := range m.Params() {
		same := 0
		for j, v := range p.Data {
			if v == fresh.Params()[i].Data[j] {
				same++
			}
		}
		if same > len(p.Data)/10 {
			t.Errorf("%s: %d of %d numbers did not move", p.Name, same, len(p.Data))
		}
	}
}

// TestNotFinite checks that a run that blows up says where, and corrupts no good model.
func TestNotFinite(t *testing.T) {
	d := digits(t, 400, 10)
	c := tiny()
	c.Clip, c.LR, c.PotentialLR, c.Warmup, c.Schedule, c.Alpha = 0, 1e-3, 30, 0, "constant", 3
	c.Epochs = 50
	dir := t.TempDir()
	m := newModel(t, c, d)
	_, err := m.Fit(context.Background(), newEngine(t), d.Train, FitOptions{Dir: dir})
	bad, ok := errors.AsType[*NotFiniteError](err)
	if !ok {
		t.Fatalf("error %v, want a NotFiniteError", err)
	}
	if bad.Update < 1 || bad.What == "" || !strings.Contains(err.Error(), "potential-lr") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
	if bad.Epoch > 1 {
		if _, err := Load(filepath.Join(dir, ModelFile)); err != nil {
			t.Errorf("the model of the epochs before: %v", err)
		}
	} else if _, err := os.Stat(filepath.Join(dir, ModelFile)); err == nil {
		t.Error("a model was written although no epoch ended well")
	}
}

// TestBatchesAndSplits checks odd sizes: a last minibatch of one, no validation, more
// images wanted than there are.
func TestBatchesAndSplits(t *testing.T) {
	d := digits(t, 65, 10)
	e := newEngine(t)
	c := tiny()
	c.Epochs, c.ValSize = 1, 0
	r, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Updates != 3 || r.Epochs[0].ValLoss != nil || r.Best != 1 {
		t.Errorf("%d updates, validation %v, best %d", r.Updates, r.Epochs[0].ValLoss, r.Best)
	}
	c.ValSize = 65
	if _, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{}); err == nil ||
		!strings.Contains(err.Error(), "val-size 65") {
		t.Errorf("error %v, want one about val-size", err)
	}
	c.ValSize, c.Components = 62, 5
	if _, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{}); err == nil ||
		!strings.Contains(err.Error(), "components 5: expected at most one for each of the 3 samples") {
		t.Errorf("error %v, want one about too few rows", err)
	}
}
