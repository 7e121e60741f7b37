package reproduce

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// smallField returns what the measurements share, for a published network with few components on 30 small digits.
func smallField(t *testing.T, components, steps int) *fieldWork {
	t.Helper()
	set := func(s *dataset.Set, n int) *dataset.Set {
		small, err := s.Slice(0, n).Resize(10, 10)
		if err != nil {
			t.Fatal(err)
		}
		return small
	}
	d := *digits()
	d.Train, d.Test = set(d.Train, 100), set(d.Test, 30)
	c, err := publishedConfig(1, steps)
	if err != nil {
		t.Fatal(err)
	}
	c.Components = components
	w := &fieldWork{e: newEngine(t, 1), data: &d, s: d.Test}
	if w.m, err = dpn.New(c, &d); err != nil {
		t.Fatal(err)
	}
	if _, err := w.m.Init(context.Background(), w.e, d.Train); err != nil {
		t.Fatal(err)
	}
	if w.x, err = w.m.Features(context.Background(), w.e, w.s); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNearnessOfSteps checks that the weakest correlation is that of the step where it is nearest to 0: without
// steps the only one, and with more steps no weaker one is forgotten.
func TestNearnessOfSteps(t *testing.T) {
	w := smallField(t, 5, 0)
	for i, c := range w.m.Potential().LogWeights() {
		w.m.Potential().LogWeights()[i] = c + float32(20*i) // else phi is the distance to the nearest centre
	}
	w.m.Potential().Changed()
	last := separation.Float(-1)
	for w.m.Config.Steps = range 6 {
		f, err := w.nearness(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		n := f.Nearness
		if n.Steps == 0 && (n.Weakest != n.Spearman || n.Weakest <= -0.99) {
			t.Errorf("no steps: %+v, want two equal figures above -0.99", n)
		}
		if n.Weakest < last || n.Images != 30 {
			t.Errorf("%d steps: %+v, the weakest of fewer steps is %v", n.Steps, n, last)
		}
		last = n.Weakest
	}
}

// TestOnePass checks that towards a single centre one long pass is as good as all steps, that the step size and the
// number of steps stay as they were, and the means of a network with more centres.
func TestOnePass(t *testing.T) {
	ctx := context.Background()
	w := smallField(t, 1, 7)
	p := w.m.Potential()
	alpha := p.Alpha()
	g, err := w.gain(ctx, noises[0])
	if err != nil || !(math.Abs(float64(g.OnePass)) <= 1e-3) || g.Corruption != noises[0].String() {
		t.Errorf("%+v, %v: want no gain over one pass", g, err)
	}
	if p.Alpha() != alpha || w.m.Config.Steps != 7 {
		t.Errorf("step size %v and %d steps, before %v and 7", p.Alpha(), w.m.Config.Steps, alpha)
	}

	w = smallField(t, 10, 7)
	p = w.m.Potential()
	for i := range p.LogWeights() {
		p.LogWeights()[i] = float32(20 * (i % 3)) // so that images pass from one centre to another
	}
	p.Changed()
	if g, err = w.gain(ctx, dataset.Corruption{Name: noises[0].Name}); err != nil || g.Corruption != cleanImages {
		t.Fatalf("%+v, %v", g, err)
	}
	many, err := study.Denoise(ctx, w.e, w.m, w.s, dataset.Corruption{Name: noises[0].Name}, corruptSeed)
	if err != nil {
		t.Fatal(err)
	}
	var mean float64
	for _, v := range many.After {
		mean += float64(v) / float64(len(many.After))
	}
	low, high := float64(g.OnePass-g.CI[0]), float64(g.CI[1]-g.OnePass)
	if !(math.Abs(float64(g.After)-mean) <= 1e-9) || !(low > 0) || !(math.Abs(low-high) <= 1e-9) {
		t.Errorf("signal-to-noise ratio %v, want %v; gain over one pass %v, interval %v", g.After, mean, g.OnePass,
			g.CI)
	}
}

// TestInkAndBackground takes the means of pixels just above and at most half, and of 0, by hand.
func TestInkAndBackground(t *testing.T) {
	matrix := func(v ...float32) engine.Matrix { return engine.View(v, 2, 4) }
	s := &dataset.Set{Shape: dataset.Grey(2, 2), Pixels: []byte{0, 127, 128, 255, 0, 0, 1, 0}}
	d := &study.Denoised{
		Corrupted: matrix(0.5, 9, 0.4, 0.6, -0.5, 1, 9, 1),
		Restored:  matrix(0, 9, 1, 0.5, 0, 0, 9, 0.4),
	}
	var g NoiseGain
	g.levels(s, d)
	want := NoiseGain{Ink: [2]float64{0.5, 0.75}, Background: [2]float64{math.Sqrt(2.5 / 4), 0.2}}
	for k := range 2 {
		if !(math.Abs(g.Ink[k]-want.Ink[k])+math.Abs(g.Background[k]-want.Background[k]) <= 1e-7) {
			t.Errorf("ink %v, background %v: want %v and %v", g.Ink, g.Background, want.Ink, want.Background)
		}
	}
	s.Pixels = []byte{1, 1, 1, 1, 1, 1, 1, 1}
	if g.levels(s, d); g.Ink != [2]float64{} || g.Background != [2]float64{} {
		t.Errorf("neither ink nor background: %v and %v", g.Ink, g.Background)
	}
}

// TestLogSumExpOfTwo puts two centres beside the first image, so that both have half of it, and far from the others:
// the sum of exponentials underflows there, and overflows at the first image if its weights are large.
func TestLogSumExpOfTwo(t *testing.T) {
	w := smallField(t, 2, 1)
	p := w.m.Potential()
	pixel := 0 // the one that varies most
	spread := func(j int) float32 {
		lo, hi := w.x.At(0, j), w.x.At(0, j)
		for i := range w.x.Rows {
			lo, hi = min(lo, w.x.At(i, j)), max(hi, w.x.At(i, j))
		}
		return hi - lo
	}
	for j := range w.x.Cols {
		if spread(j) > spread(pixel) {
			pixel = j
		}
	}
	w.x.Row(1)[pixel] += 100 // far away
	for i, side := range []float32{0.5, -0.5} {
		row := p.Centres().Row(i)
		copy(row, w.x.Row(0))
		row[pixel] += side
	}
	phi, r := make([]float32, w.x.Rows), engine.NewMatrix(2, w.x.Rows)
	for c, want := range map[float32]LogSumExp{-10: {Underflow: 1}, 100: {Overflow: 1}} {
		p.LogWeights()[0], p.LogWeights()[1] = c, c
		p.Changed()
		f, err := w.logSumExp(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		p.Evaluate(w.e, w.x, phi, r)
		got := f.LogSumExp
		if got.LeastR != float64(slices.Min(r.Data)) || got.GreatestR != float64(slices.Max(r.Data)) ||
			!(got.LeastR < 0.25) || got.Lost != 0 || !(got.FreeEnergy <= 1e-5) || r.At(0, 0) != 0.5 {
			t.Errorf("log weights %v: %+v, responsibilities %v", c, got, r.Data)
		}
		if got.Underflow < want.Underflow || got.Overflow < want.Overflow || got.Underflow == w.x.Rows ||
			got.Overflow == w.x.Rows || c < 0 && got.Overflow > 0 {
			t.Errorf("log weights %v: %d underflows and %d overflows of %d images", c, got.Underflow, got.Overflow,
				w.x.Rows)
		}
	}

	w = smallField(t, 1, 1)
	for c, lost := range map[float32]int{0: 0, float32(math.Inf(1)): w.x.Rows} {
		w.m.Potential().LogWeights()[0] = c
		w.m.Potential().Changed()
		f, err := w.logSumExp(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if l := f.LogSumExp; l.Lost != lost || lost == 0 && (l.LeastR != 1 || l.GreatestR != 1) {
			t.Errorf("one centre of weight %v: %+v, want %d lost", c, l, lost)
		}
	}
}
