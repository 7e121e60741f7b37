package dpn

import (
	"context"
	"errors"
	"math"
	"testing"
)

// TestUpdateDetached checks that an update with the gradient cut changes the classifier as
// Fit does, which denoises all pictures once, and nothing else.
func TestUpdateDetached(t *testing.T) {
	d, e := digits(t, 40, 10), newEngine(t)
	c := tiny()
	c.Gradient, c.Epochs, c.Batch, c.MaxUpdates, c.ValSize, c.Schedule, c.Warmup = "detached", 1, 40, 1, 0, "constant", 0
	fitted, updated := newModel(t, c, d), newModel(t, c, d)
	if _, err := fitted.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := updated.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	mu := updated.Potential().Centres().Data
	before := append([]float32(nil), mu...)
	at := make([]int32, 40)
	for i := range at {
		at[i] = int32(i)
	}
	if _, err := NewTrainer(updated, e).Update(d.Train, at, 1); err != nil {
		t.Fatal(err)
	}
	for i := range mu {
		if mu[i] != before[i] {
			t.Fatal("the centres moved")
		}
	}
	for i, w := range updated.head.Weight.Data { // the order of the pictures differs: so does rounding
		if diff := math.Abs(float64(w - fitted.head.Weight.Data[i])); !(diff < 1e-5) {
			t.Fatalf("weight %d is %v, after Fit %v", i, w, fitted.head.Weight.Data[i])
		}
	}
}

// TestUpdateAllocates checks that updates allocate nothing once they have run.
func TestUpdateAllocates(t *testing.T) {
	d, e := digits(t, 64, 10), newEngine(t)
	for _, gradient := range []string{"exact", "detached"} {
		c := tiny()
		c.Gradient = gradient
		m := newModel(t, c, d)
		if _, err := m.Init(context.Background(), e, d.Train); err != nil {
			t.Fatal(err)
		}
		tr, at := NewTrainer(m, e), []int32{0, 1, 2, 3, 4, 5, 6, 7}
		if n := testing.AllocsPerRun(10, func() {
			if _, err := tr.Update(d.Train, at, 1); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations an update", gradient, n)
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
