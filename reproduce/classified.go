package reproduce

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

// Classified says how well classes can be told from the features after some ascent steps: classifiers of the
// first classifiedImages training images, scored on all test images.
type Classified struct {
	Step    int     `json:"step"`
	Linear  float64 `json:"linear_accuracy"`       // logistic regression
	Plane   float64 `json:"plane_accuracy"`        // the same on the two leading principal components
	Nearest float64 `json:"nearest_mean_accuracy"` // nearest class mean
}

const classifiedImages = 10000

// classifiedSteps are the steps after which classes are told.
var classifiedSteps = []int{0, table1Steps, 20, paperSteps}

// classify measures the features of m after each of classifiedSteps.
func classify(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data) ([]Classified, error) {
	train := data.Train.Slice(0, min(classifiedImages, data.Train.Len()))
	a, err := m.Features(ctx, e, train)
	if err != nil {
		return nil, err
	}
	b, err := m.Features(ctx, e, data.Test)
	if err != nil {
		return nil, err
	}
	var out []Classified
	at := 0
	for _, step := range classifiedSteps {
		for _, x := range []engine.Matrix{a, b} {
			if err := m.Potential().AscendUntil(ctx, e, x, step-at); err != nil {
				return nil, err
			}
		}
		at = step
		c, err := tell(ctx, e, separation.Set{X: a.Data, Dim: a.Cols, Labels: train.Labels},
			separation.Set{X: b.Data, Dim: b.Cols, Labels: data.Test.Labels})
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", step, err)
		}
		c.Step = step
		out = append(out, c)
	}
	return out, nil
}

// tell scores classifiers of train on test.
func tell(ctx context.Context, e *engine.Engine, train, test separation.Set) (c Classified, err error) {
	opt := separation.Options{Engine: e, Probe: true, Test: test}
	l, err := separation.Measure(ctx, "features", train, opt)
	if err != nil {
		return c, err
	}
	c.Linear, c.Nearest = l.ProbeAccuracy, l.Test.NearestMeanAccuracy
	plane := l.PCA.First(2)
	for _, s := range []*separation.Set{&train, &test} {
		x, err := plane.Project(s.X)
		if err != nil {
			return c, err
		}
		s.X, s.Dim = make([]float32, len(x)), len(x)/s.Len()
		for i, v := range x {
			s.X[i] = float32(v)
		}
	}
	opt.Test = test
	l, err = separation.Measure(ctx, "plane", train, opt)
	if err == nil {
		c.Plane = l.ProbeAccuracy
	}
	return c, err
}
