package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// pixelPairs is a data set of images of two grey pixels whose features are v/255. The
// label is 1 where the second pixel is the brighter one.
func pixelPairs(pixels []byte) *dataset.Data {
	s := &dataset.Set{Shape: dataset.Grey(1, 2), Pixels: pixels}
	for i := 0; i < len(pixels); i += 2 {
		var y uint16
		if pixels[i+1] > pixels[i] {
			y = 1
		}
		s.Labels = append(s.Labels, y)
	}
	return &dataset.Data{Train: s, Test: s, Classes: dataset.Numbered(2), Norm: dataset.Uniform(0, 1)}
}

// TestFixedPointOfOneComponent checks the closed form of one component: x_t - mu = (1 -
// alpha lambda)^t (x_0 - mu), so the fixed point is mu and the steps are known.
func TestFixedPointOfOneComponent(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	const lambda = 4
	mu := []float32{0.5, 0.25}
	s := pixelPairs([]byte{0, 0, 255, 0, 10, 200, 128, 64}).Train
	for _, alpha := range []float64{0.025, 0.125, 0.25, 0.375, 0.475} { // alpha lambda up to 1.9
		m := pixelModel(t, lambda, alpha, mu...)
		f, err := FindFixedPoints(ctx, e, m, s, FixedPointOptions{Tolerance: 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		if f.Converged != 4 || f.ShareConverged != 1 || f.Diverged != 0 || len(f.Points) != 1 {
			t.Fatalf("alpha %v: %+v", alpha, f)
		}
		p := f.Points[0]
		if p.Images != 4 || p.Share != 1 || p.Component != 0 || p.Responsibility != 1 || p.Entropy != 0 ||
			p.First != 0 ||
			p.CentreDistance > 3e-3 {
			t.Errorf("alpha %v: %+v", alpha, p)
		}
		// All movements to come are along a line, in one ratio.
		if got := float64(f.Remaining90); alpha*lambda < 1 &&
			!(got > 0.5e-4*(1/(alpha*lambda)-1) && got < 1.01e-4*(1/(alpha*lambda)-1)) {
			t.Errorf("alpha %v: still to go %v, expected up to %v", alpha, got, 1e-4*(1/(alpha*lambda)-1))
		}
		if p.Class != 0 || p.Purity != 0.75 || p.Predicted != 0 || f.Purity != 0.75 || f.Accuracy != 0.75 {
			t.Errorf("alpha %v: class %d, purity %v, predicted %d, accuracy %v", alpha, p.Class, p.Purity,
				p.Predicted, f.Accuracy)
		}
		for i := range 4 {
			x := []float64{float64(s.Pixels[2*i]) / 255, float64(s.Pixels[2*i+1]) / 255}
			steps := 0
			for ; ; steps++ {
				dx, dy := alpha*lambda*(float64(mu[0])-x[0]), alpha*lambda*(float64(mu[1])-x[1])
				if math.Hypot(dx, dy) <= 1e-4*(1+math.Hypot(x[0], x[1])) {
					break
				}
				x[0], x[1] = x[0]+dx, x[1]+dy
			}
			if got := int(f.Steps[i]); got < steps-1 || got > steps+1 { // one for rounding at the threshold
				t.Errorf("alpha %v: image %d needs %d steps, expected %d", alpha, i, got, steps)
			}
		}
		if f.StepsMost != int(slices.Max(f.Steps)) || f.StepsMedian > f.Steps90 || f.Steps90 > f.StepsMost {
			t.Errorf("alpha %v: steps %v: median %d, 90%% %d, most %d", alpha, f.Steps, f.StepsMedian, f.Steps90,
				f.StepsMost)
		}
	}
}

// TestFixedPointsDiverge checks that alpha lambda above 2 leads nowhere, and 2 for ever
// to and fro.
func TestFixedPointsDiverge(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	s := pixelPairs([]byte{0, 0, 255, 0, 10, 200}).Train
	for alpha, want := range map[float64]int32{0.6: HasDiverged, 0.5: StillMoving} {
		f, err := FindFixedPoints(ctx, e, pixelModel(t, 4, alpha, 0.5, 0.25), s, FixedPointOptions{MaxSteps: 600})
		if err != nil {
			t.Fatal(err)
		}
		if f.Converged != 0 || len(f.Points) != 0 || !slices.Equal(f.Steps, []int32{want, want, want}) ||
			!slices.Equal(f.Assignment, []int32{-1, -1, -1}) {
			t.Errorf("alpha %v: %d converged, steps %v, assignment %v", alpha, f.Converged, f.Steps, f.Assignment)
		}
		if diverged := want == HasDiverged; diverged != (f.Diverged == 3) || diverged && f.Accuracy != 0 ||
			f.EntropyEnd != 0 {
			t.Errorf("alpha %v: %d diverged, accuracy %v, entropy %v", alpha, f.Diverged, f.Accuracy, f.EntropyEnd)
		}
	}
}

// TestBasinsOfTwoComponents checks that each image goes to the nearer of two far
// centres, whatever the threads and the order of what moves.
func TestBasinsOfTwoComponents(t *testing.T) {
	ctx := context.Background()
	r := num.NewRand(1, 0)
	var pixels []byte
	for len(pixels) < 2*700 { // more than a block
		x, y := r.Intn(256), r.Intn(256)
		if d := x - y; d > 8 || d < -8 { // not on the ridge between them
			pixels = append(pixels, byte(x), byte(y))
		}
	}
	s := pixelPairs(pixels).Train
	m := pixelModel(t, 400, 0.1/400, 0.1, 0.9, 0.9, 0.1)
	var want *FixedPoints
	for _, o := range [][]engine.Option{{engine.WithThreads(1)}, {engine.WithThreads(3),
		engine.WithEagerThreads()}, {engine.WithTier(engine.Generic)}} {
		f, err := FindFixedPoints(ctx, newEngine(t, o...), m, s, FixedPointOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Points) != 2 || f.Converged != 700 || f.Purity != 1 || f.Accuracy != 1 {
			t.Fatalf("%d fixed points, %d converged, purity %v, accuracy %v", len(f.Points), f.Converged, f.Purity,
				f.Accuracy)
		}
		for i, a := range f.Assignment {
			if p := f.Points[a]; p.Component != 1-int(s.Labels[i]) || p.Class != int(s.Labels[i]) {
				t.Fatalf("image %d of class %d went to %+v", i, s.Labels[i], p)
			}
		}
		for _, p := range f.Points {
			if p.CentreDistance > 2e-3 || p.Responsibility != 1 || p.Predicted != p.Class || p.Purity != 1 {
				t.Errorf("%+v", p)
			}
		}
		if f.Points[0].Images < f.Points[1].Images || f.Points[0].Images+f.Points[1].Images != 700 {
			t.Errorf("%d and %d images", f.Points[0].Images, f.Points[1].Images)
		}
		if want == nil {
			want = f
		}
		if fmt.Sprint(*f) != fmt.Sprint(*want) {
			t.Errorf("other bits on an engine of %d options", len(o))
		}
	}
}

// TestGather checks which ends count as one, and the order of the fixed points.
func TestGather(t *testing.T) {
	ends := []float32{0, 0.095, 1, 0.05, 1.001, 7, 5}
	f := &FixedPoints{
		Samples:    7,
		Merge:      0.1,
		Steps:      []int32{1, 1, 1, 1, 1, StillMoving, 1},
		Assignment: make([]int32, 7),
		Ends:       engine.View(ends, 7, 1),
	}
	if err := f.gather(context.Background()); err != nil {
		t.Fatal(err)
	}
	// 0.05 is as near to 0 as its tolerance allows; 1.001 joins 1; 7 has not converged.
	if want := []int32{0, 0, 1, 0, 1, -1, 2}; !slices.Equal(f.Assignment, want) {
		t.Errorf("assignment %v, expected %v", f.Assignment, want)
	}
	for j, want := range []FixedPoint{{First: 0, Images: 3}, {First: 2, Images: 2}, {First: 6, Images: 1}} {
		if p := f.Points[j]; p.First != want.First || p.Images != want.Images {
			t.Errorf("fixed point %d: %+v, expected %+v", j, p, want)
		}
	}
	// The nearest counts, not the first: 0.14 is within reach of 0 and of 0.2.
	near := &FixedPoints{
		Samples:    3,
		Merge:      0.15,
		Steps:      make([]int32, 3),
		Assignment: make([]int32, 3),
		Ends:       engine.View([]float32{0, 0.2, 0.14}, 3, 1),
	}
	if err := near.gather(context.Background()); err != nil || !slices.Equal(near.Assignment, []int32{1, 0, 0}) {
		t.Errorf("assignment %v, expected the second of two points first, with two ends", near.Assignment)
	}
}

func TestRemaining(t *testing.T) {
	for _, c := range []struct{ before, last, want float64 }{
		{1, 0, 0}, {0, 0, 0}, {0, 3, 3}, {2, 1, 1}, {1, 0.9, 8.1}, {1, 1, math.Inf(1)}, {1, 2, math.Inf(1)},
	} {
		if got := remaining(c.before, c.last); got != c.want && !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("after %v and %v: %v, expected %v", c.before, c.last, got, c.want)
		}
	}
}

func TestFixedPointsRefuse(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	m, s := pixelModel(t, 4, 0.1, 0.5, 0.25), pixelPairs([]byte{1, 2}).Train
	ended, stop := context.WithCancel(ctx)
	stop()
	for name, o := range map[string]FixedPointOptions{
		"tolerance": {Tolerance: -1}, "tolerance NaN": {Tolerance: math.NaN()}, "merge": {Merge: math.Inf(1)},
		"steps": {MaxSteps: -1},
	} {
		if _, err := FindFixedPoints(ctx, e, m, s, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := FindFixedPoints(ended, e, m, s, FixedPointOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := FindFixedPoints(ctx, e, m, s.Slice(0, 0), FixedPointOptions{}); err == nil {
		t.Error("no images: no error")
	}
	unlabelled := s.Slice(0, 1)
	unlabelled.Labels = nil
	if _, err := FindFixedPoints(ctx, e, m, unlabelled, FixedPointOptions{}); err == nil {
		t.Error("images without labels: no error")
	}
	if _, err := FindFixedPoints(ctx, e, m, digits(t, 10, 10).Train, FixedPointOptions{}); err == nil {
		t.Error("images of another size: no error")
	}
}
