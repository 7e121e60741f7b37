package baseline

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// TestNearest predicts rows at the centres, between two centres, and at equal distance from both,
// which belong to the first.
func TestNearest(t *testing.T) {
	e, ctx := newEngine(t), context.Background()
	centres := engine.View([]float32{0, 0, 4, 0, 0, 8}, 3, 2)
	n, err := NewNearest(centres, []uint16{5, 2, 9})
	if err != nil {
		t.Fatal(err)
	}
	x := engine.View([]float32{0, 0, 4, 0, 0, 8, 1.9, 0, 2.1, 0, 2, 0, 0, 4.1, -90, 8}, 8, 2)
	got, err := n.Predict(ctx, e, Samples{X: x, Labels: make([]uint16, 8)})
	if want := []uint16{5, 2, 9, 5, 2, 5, 9, 9}; err != nil || !slices.Equal(got, want) {
		t.Errorf("classes %v, want %v, %v", got, want, err)
	}
	if _, err := n.Predict(ctx, e, Samples{X: engine.NewMatrix(1, 3), Labels: make([]uint16, 1)}); err == nil ||
		!strings.Contains(err.Error(), "rows of 3") {
		t.Errorf("error %v", err)
	}
	if _, err := NewNearest(centres, []uint16{1, 2}); err == nil ||
		!strings.Contains(err.Error(), "3 centres with 2 labels") {
		t.Errorf("error %v", err)
	}

	// Shifting and scaling rows and centres alike, as normalisation does, changes no class.
	s := digits(t, 300, 8)
	mean := engine.NewMatrix(10, 64)
	var counts [10]float32
	for i, y := range s.Labels {
		counts[y]++
		for j, v := range s.X.Row(i) {
			mean.Row(int(y))[j] += v
		}
	}
	for y := range counts {
		e.Scale(mean.Row(y), 1/counts[y], mean.Row(y))
	}
	var found [2][]uint16
	labels := []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for i, norm := range []dataset.Normalization{{}, dataset.Uniform(0.25, 0.5)} {
		c := Samples{X: mean, Norm: norm}.Normalised()
		n, err := NewNearest(c, labels)
		if err != nil {
			t.Fatal(err)
		}
		s.Norm = norm
		if found[i], err = n.Predict(ctx, e, s); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(found[0], found[1]) {
		t.Error("normalisation changes classes")
	}
}

// TestCorrupted checks that corruption with severity 0 leaves images unchanged and with another
// severity does not.
func TestCorrupted(t *testing.T) {
	e, set, norm := newEngine(t), dataset.Digits(1, 0, 20), dataset.DigitsNorm
	plain := Rows(set, norm)
	for severity, same := range map[float64]bool{0: true, 0.5: false} {
		s, err := Corrupted(e, set, norm, dataset.Corruption{Name: "gaussian", Severity: severity}, 1)
		if err != nil {
			t.Fatal(err)
		}
		equal := true
		for i, v := range s.X.Data {
			equal = equal && v == plain.X.Data[i]
		}
		if equal != same || s.Len() != 20 || !s.Norm.Equal(norm) {
			t.Errorf("severity %v: unchanged: %v", severity, equal)
		}
	}
	if _, err := Corrupted(e, set, norm, dataset.Corruption{Name: "fog"}, 1); err == nil {
		t.Error("the corruption fog was accepted")
	}
}
