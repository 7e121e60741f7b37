package baseline

import (
	"context"
	"testing"

	"dpnbench/dataset/source"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// TestHardness checks the accuracies that the documentation of package dataset states for two
// classifiers on the built-in digits. It logs those on MNIST if DPN_DATA names a folder that
// contains it.
func TestHardness(t *testing.T) {
	longtest.Need(t) // half a minute with assembly, hours without
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	ten := Training{Optimiser: Adam, LR: 1e-3, Schedule: layer.Cosine, Warmup: 0.05, Epochs: 10, Batch: 128, Seed: 1}
	for _, name := range []string{"digits", "mnist"} {
		data, err := source.Open(name, source.Options{Seed: 1})
		if err != nil && name == "digits" { // built in
			t.Fatal(err)
		}
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		train, test := Rows(data.Train, data.Norm), Rows(data.Test, data.Norm)
		for _, c := range []struct {
			name   string
			widths []int
			lo, hi float64
		}{
			{"linear classifier", []int{784, 10}, 85, 94},
			{"MLP 784-512-256-10", []int{784, 512, 256, 10}, 98.5, 100},
		} {
			n, err := NewMLP(MLP{Widths: c.widths}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Fit(ctx, e, train, ten, nil); err != nil {
				t.Fatal(err)
			}
			s, err := n.Score(ctx, e, test)
			if err != nil {
				t.Fatal(err)
			}
			got := 100 * s.Accuracy
			t.Logf("%s on %s: %.2f%%", c.name, name, got)
			if name == "digits" && (got < c.lo || got > c.hi) {
				t.Errorf("%s on %s: %.2f%% right, want %g to %g", c.name, name, got, c.lo, c.hi)
			}
		}
	}
}
