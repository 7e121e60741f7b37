package study

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/internal/longtest"
)

// TestSNR holds the formula against examples by hand.
func TestSNR(t *testing.T) {
	for _, c := range []struct {
		clean, x []float32
		want     float64
	}{
		{[]float32{3, 4}, []float32{3, 4.5}, 20},                  // 25 over 0.25
		{[]float32{1, 0, 0}, []float32{0, 0, 0}, 0},               // all of the signal is missing
		{[]float32{1, 1}, []float32{1, 1}, math.Inf(1)},           // no noise
		{[]float32{0, 0}, []float32{1, 0}, math.NaN()},            // no signal
		{[]float32{1, 0}, []float32{1, 10}, 10 * math.Log10(.01)}, // -20
	} {
		if got := SNR(c.clean, c.x); !(math.Abs(got-c.want) < 1e-12 || got == c.want || got != got &&
			c.want != c.want) {
			t.Errorf("SNR(%v, %v) = %v, want %v", c.clean, c.x, got, c.want)
		}
	}
}

// TestGain sums up images by hand, those without noise left out.
func TestGain(t *testing.T) {
	inf := separation.Float(math.Inf(1))
	c := &Denoised{Before: []separation.Float{1, 3, inf, 2}, After: []separation.Float{5, 9, 7, 7}} // gains 4, 6 and 5
	g := c.Gain()
	half := 4.302653 * 1 / math.Sqrt(3) // Student's t with 2 degrees of freedom; their standard deviation is 1
	if g.Images != 3 || g.Before != 2 || g.After != 7 || g.Gain != 5 ||
		!(math.Abs(float64(g.CI[0])-(5-half)) <= 1e-6) ||
		!(math.Abs(float64(g.CI[1])-(5+half)) <= 1e-6) {
		t.Errorf("%+v", g)
	}
	// The width does not depend on where the gains lie, also where their squares are rounded.
	far := (&Denoised{Before: []separation.Float{0, 0, 0}, After: []separation.Float{1e9 + 4, 1e9 + 6, 1e9 + 5}}).Gain()
	if width := float64(far.CI[1] - far.CI[0]); !(math.Abs(width-2*half) <= 1e-5) {
		t.Errorf("an interval of %v for gains of about 1e9, %v expected", width, 2*half)
	}
	one := &Denoised{Before: c.Before[:1], After: c.After[:1]}
	if g := one.Gain(); g.Gain != 4 || g.CI[0].IsFinite() {
		t.Errorf("one image: %+v", g)
	}
	if g := (&Denoised{}).Gain(); g.Images != 0 || g.Gain.IsFinite() {
		t.Errorf("no image: %+v", g)
	}
}

// finite returns the numbers of x that are.
func finite(x []separation.Float) []separation.Float {
	return slices.DeleteFunc(slices.Clone(x), func(v separation.Float) bool { return !v.IsFinite() })
}

// TestClean checks that the ascent takes noise away from digits, that it leaves a clean
// prototype where it is, and that images without noise have none to lose.
func TestClean(t *testing.T) {
	longtest.Native(t)
	ctx, d, e := context.Background(), digits(t, 600, 100), newEngine(t)
	c, err := dpn.Preset("robust-small")
	if err != nil {
		t.Fatal(err)
	}
	c.Components, c.Rank = 20, 5
	m := newModel(t, c, d)
	if _, err := m.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	noise := dataset.Corruption{Name: "gaussian", Severity: 0.5}
	r, err := Denoise(ctx, e, m, d.Test, noise, 1)
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Gain(); !(g.Gain > 3 && g.CI[0] > 0 && g.CI[1] > g.Gain) || g.Images != 100 || len(r.Classes) != 100 {
		t.Errorf("noise: %+v", g)
	}
	same, err := Denoise(ctx, newEngine(t), m, d.Test, dataset.Corruption{Name: noise.Name}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range same.Before {
		if !math.IsInf(float64(v), 1) || !same.After[i].IsFinite() {
			t.Fatalf("image %d without noise has %v dB, %v after the ascent", i, v, same.After[i])
		}
	}

	// A black patch on a black background changes nothing, so there is no noise of 1e-7 of a level either.
	patch, err := Denoise(ctx, e, m, d.Test, dataset.Corruption{Name: "occlusion-black", Severity: 0.05}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if g := patch.Gain(); g.Images == 0 || g.Images == 100 || !(slices.Max(finite(patch.Before)) < 100) {
		t.Errorf("black patches: %+v, before %.1f dB", g, patch.Before)
	}

	// A centre is where its component is highest. Its pixels are rounded to bytes here.
	centre := &dataset.Set{Shape: dataset.Grey(28, 28), Labels: []uint16{0}}
	for _, v := range m.Norm.Undo(m.Potential().Centres().Row(7)) {
		centre.Pixels = append(centre.Pixels, byte(math.Round(float64(255*v))))
	}
	r, err = Denoise(ctx, e, m, centre, dataset.Corruption{Name: noise.Name}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range r.Restored.Row(0) {
		if diff := math.Abs(float64(v - r.Corrupted.At(0, j))); diff > 2./255 {
			t.Fatalf("pixel %d of a prototype moves by %v", j, diff)
		}
	}

	features := newModel(t, tiny(), d)
	if _, err := Denoise(ctx, e, features, d.Test, noise, 1); err == nil ||
		!strings.Contains(err.Error(), "not pixels (extractor linear") {
		t.Errorf("a model on features: %v", err)
	}
	if _, err := Denoise(ctx, e, m, d.Test, dataset.Corruption{Name: "fog"}, 1); err == nil {
		t.Error("the corruption fog was accepted")
	}
	small, err := d.Test.Resize(14, 14)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Denoise(ctx, e, m, small, noise, 1); err == nil || !strings.Contains(err.Error(), "14 x 14") {
		t.Errorf("images of another size: %v", err)
	}
}
