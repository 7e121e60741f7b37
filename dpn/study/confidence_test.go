package study

import (
	"context"
	"math"
	"reflect"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// confident returns a small network with centres, and images of several blocks.
func confident(t *testing.T) (*dpn.Model, *engine.Engine, *dataset.Data) {
	t.Helper()
	d, e := digits(t, 300, potential.BlockRows+90), newEngine(t, engine.WithThreads(1))
	m := newModel(t, tiny(), d)
	if _, err := m.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	return m, e, d
}

// TestConfidence holds every score of every image against the trace of its ascent, whose
// numbers it must be made of; severity 0 and threads change no bit.
func TestConfidence(t *testing.T) {
	ctx := context.Background()
	m, e, d := confident(t)
	c, err := MeasureConfidence(ctx, e, m, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	at := make([]int, d.Test.Len())
	for i := range at {
		at[i] = i
	}
	tr, err := TraceImages(ctx, e, m, d.Test, at, m.Config.Steps)
	if err != nil {
		t.Fatal(err)
	}
	n := m.Config.Steps
	logits := m.Logits(e, tr.XAt(n))
	entropy := func(r []float64) (h float64) {
		for _, p := range r {
			if p > 0 {
				h -= p * math.Log(p)
			}
		}
		return h
	}
	reference := func(step, i int) []float64 { // responsibilities without the floor of the kernels
		ev, err := m.Potential().Evaluate64(ctx, linalg.Widen(tr.XAt(step).Row(i)), 1)
		if err != nil {
			t.Fatal(err)
		}
		return ev.R
	}
	for i := range at {
		var move, length, sum float64
		for j, v := range tr.XAt(0).Row(i) {
			length += float64(v) * float64(v)
			move += math.Pow(float64(tr.XAt(n).Row(i)[j])-float64(v), 2)
		}
		largest := math.Inf(-1)
		for _, v := range logits.Row(i) {
			sum += math.Exp(float64(v))
			largest = max(largest, float64(v))
		}
		want := []float64{
			float64(tr.Phi[0][i]),
			float64(tr.Phi[n][i]),
			math.Sqrt(move),
			math.Sqrt(move) / math.Sqrt(math.Sqrt(length)),
			math.Log(entropy(reference(0, i))),
			math.Log(entropy(reference(n, i))),
			math.Exp(largest) / sum,
			math.Log(sum),
		}
		for s, w := range want {
			bound := 1e-6
			if s == scoreEntropy0 || s == scoreEntropyN {
				bound = 1e-4 // the rounding of the terms of phi
			}
			if got := c.Values[s][i]; !(math.Abs(got-w) <= bound*max(1, math.Abs(w))) {
				t.Fatalf("image %d: %s %v, want %v", i, confidenceScores[s].Name, got, w)
			}
		}
		if !reflect.DeepEqual(c.Logits.Row(i), logits.Row(i)) {
			t.Fatalf("image %d: logits %v, want %v", i, c.Logits.Row(i), logits.Row(i))
		}
	}
	none, err := MeasureConfidenceCorrupted(ctx, newEngine(t, engine.WithThreads(3), engine.WithEagerThreads()),
		m, d.Test, dataset.Corruption{Name: "inverted"}, 1)
	if err != nil || !reflect.DeepEqual(none, c) {
		t.Errorf("severity 0 and three threads give other numbers, %v", err)
	}
	all, err := MeasureConfidenceCorrupted(ctx, e, m, d.Test, dataset.Corruption{Name: "inverted", Severity: 1}, 1)
	if err != nil || reflect.DeepEqual(all.Values, c.Values) {
		t.Errorf("inverted images have the scores of the others, %v", err)
	}
	if _, err := MeasureConfidenceCorrupted(ctx, e, m, d.Test, dataset.Corruption{Name: "blot", Severity: 1},
		1); err == nil {
		t.Error("an unknown corruption is accepted")
	}
	if _, err := MeasureConfidence(ctx, e, m, &dataset.Set{Pixels: make([]byte, 4), Labels: make([]uint16, 1),
		Shape: dataset.Grey(2, 2)}); err == nil {
		t.Error("images of another size are accepted")
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := MeasureConfidence(ctx, e, m, d.Test); err != context.Canceled {
		t.Errorf("a cancelled context gives %v", err)
	}
}

// Higher is better known for every score, and what has left the range of numbers is known
// least of all.
func TestConfidenceKnown(t *testing.T) {
	c := &Confidence{Values: make([][]float64, len(confidenceScores))}
	for i := range c.Values {
		c.Values[i] = []float64{1, 2, math.Inf(1), math.Inf(-1), math.NaN()}
	}
	for i, s := range ConfidenceScores() {
		want := []float64{1, 2, math.Inf(1), math.Inf(-1), math.Inf(-1)}
		if s.Falls {
			want = []float64{-1, -2, math.Inf(-1), math.Inf(1), math.Inf(-1)}
		}
		if got := c.Known(i); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", s.Name, got, want)
		}
	}
}

// Where nothing moves the score is 0, and features of length 0 are no fault.
func TestScaled(t *testing.T) {
	for _, c := range []struct{ moved, x, want float64 }{{0, 0, 0}, {0, 4, 0}, {3, 0, math.Inf(1)}, {3, 4, 1.5}} {
		if got := scaled(c.moved, []float32{0, float32(c.x)}); got != c.want {
			t.Errorf("moved %v from a length of %v: %v, want %v", c.moved, c.x, got, c.want)
		}
	}
	if got := scaled(math.NaN(), []float32{1}); !math.IsNaN(got) {
		t.Errorf("moved NaN: %v", got)
	}
}

// A probability near 1 keeps the digits in which it differs from 1, so that confident
// images can be ranked.
func TestSoftmaxScores(t *testing.T) {
	for _, gap := range []float32{0, 1, 10, 20, 30} {
		p, energy := softmaxScores([]float32{2, 2 + gap})
		want := math.Exp(-float64(gap))
		if rest := 1/p - 1; !(math.Abs(rest-want) <= 1e-6*want+1e-15) {
			t.Errorf("gap %v: 1/p - 1 is %v, want %v", gap, rest, want)
		}
		if w := 2 + float64(gap) + math.Log1p(want); !(math.Abs(energy-w) <= 1e-6*w) {
			t.Errorf("gap %v: energy %v, want %v", gap, energy, w)
		}
	}
	if p, energy := softmaxScores([]float32{1, float32(math.NaN())}); !math.IsNaN(p) || !math.IsNaN(energy) {
		t.Errorf("NaN gives %v and %v", p, energy)
	}
	if p, _ := softmaxScores([]float32{1, float32(math.Inf(1))}); !math.IsNaN(p) {
		t.Errorf("an infinite logit gives %v", p)
	}
}
