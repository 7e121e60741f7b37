package dpn

import (
	"context"
	"errors"
	"math"
	"testing"
)

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
	m.head.weight.Data[3] = float32(math.NaN())
	before := m.WeightsSHA256()
	var bad *NotFiniteError
	if _, err := tr.Update(d.Train, at, 1); !errors.As(err, &bad) || bad.What != "loss" {
		t.Errorf("error %v, want a NotFiniteError about the loss", err)
	}
	if m.WeightsSHA256() != before {
		t.Error("the update changed weights")
	}
}
