package study

import (
	"context"
	"slices"
	"testing"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
)

// TestRead checks classes against those of images, and phi and x_n against a trace.
func TestRead(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	c, d := tiny(), digits(t, 20, 10)
	c.Form, c.Rank, c.Steps = potential.FormLowRank, 2, 13
	m, images := newModel(t, c, d), d.Test
	if _, err := m.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	x, err := m.Features(ctx, e, images)
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(x.Data)
	r, err := m.PredictFeatures(ctx, e, x)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := m.Predict(ctx, e, images)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := TraceImages(ctx, e, m, images, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, m.Config.Steps)
	if err != nil {
		t.Fatal(err)
	}
	for b, c := range classes {
		if r.Classes[b] != int(c) || r.Phi[b] != trace.Phi[0][b] {
			t.Errorf("image %d: class %d, phi %v, expected %d and %v", b, r.Classes[b], r.Phi[b], c, trace.Phi[0][b])
		}
	}
	if !slices.Equal(x.Data, before) || !slices.Equal(r.X.Data, trace.XAt(m.Config.Steps).Data) {
		t.Error("x_0 changed, or x_n is another")
	}
	if _, err := m.PredictFeatures(ctx, e, engine.NewMatrix(1, 5)); err == nil {
		t.Error("points of 5 features: no error")
	}
	if m.PixelFeatures() || !pixelModel(t, 1, 0.1, 0, 0).PixelFeatures() {
		t.Error("which features are pixels is wrong")
	}
}
