package dpn

import (
	"context"
	"runtime"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// TestMinibatchBytes measures by how much the memory grows with the minibatch: at most by what MinibatchBytes says, so
// that training refuses in time what cannot fit, and by half of that at least, so that it does not refuse what can.
// The estimate of paper is for the dense route, too, which keeps far more than the sparse one that it takes.
func TestMinibatchBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes in pure Go, which holds as much: without -short")
	}
	d := digits(t, 600, 20)
	for _, name := range Presets() {
		c, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		const few, many = 256, 512 // above 128 rows, blocks do not grow
		grown := heldBytes(t, c, d, many) - heldBytes(t, c, d, few)
		c.Batch = many
		row, limit := grown/(many-few), c.MinibatchBytes(d.Train.Shape, len(d.Classes))/many
		t.Logf("%s: %.0f bytes a row of the minibatch, estimate %.0f", name, row, limit)
		least := limit / 2
		if name == "paper" {
			least = 0
		}
		if !(row <= limit && row >= least) {
			t.Errorf("%s: %.0f bytes a row of the minibatch, estimate %.0f", name, row, limit)
		}
	}
}

// heldBytes returns what the heap holds after an update with minibatches of a size, of a new model and engine.
func heldBytes(t *testing.T, c Config, d *dataset.Data, batch int) float64 {
	c.Batch, c.Balance = batch, false
	before := heap()
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m := newModel(t, c, d)
	if _, err := m.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	trainer := NewTrainer(m, e)
	at := make([]int32, batch)
	for i := range at {
		at[i] = int32(i)
	}
	if _, err := trainer.Update(d.Train, at, 1); err != nil {
		t.Fatal(err)
	}
	held := heap() - before
	runtime.KeepAlive(trainer)
	return held
}

func heap() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}
