package study

import (
	"context"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

// Study is all that is measured of one model: how it separates classes, what its landscape
// looks like and how single images go through it.
type Study struct {
	Analysis

	Accuracy float64 `json:"accuracy"` // share of the images classified correctly
	Wrong    int     `json:"wrong"`    // images read as another class

	ByClass layer.ByClass `json:"by_class"`

	// Shapes say what the laws of the Analysis amount to, by their keys there.
	Shapes map[string]LawShape `json:"law_shapes"`

	Landscape *Landscape `json:"landscape"`

	// FixedPoints are where the ascents of the first images would end.
	FixedPoints *FixedPoints `json:"fixed_points"`

	// Moves are how far training has moved the centres; nil where that was not measured.
	Moves *CentreMoves `json:"centre_moves"`

	// Walk follows the first image of each class and, after them, some that are read
	// wrongly, Paths some of each class.
	Walk  *Trace `json:"walk"`
	Paths *Trace `json:"-"`

	// Plane is the first two principal components of x_0 and x_n of all images together.
	Plane *separation.PCA `json:"-"`
}

// LawShape is what a law amounts to.
type LawShape struct {
	Shape   string `json:"shape"`
	Follows bool   `json:"follows"`
}

// Images of a Study.
const (
	walkWrong     = 10 // that are misclassified, of a walk
	walkMost      = 20 // of a walk in all
	pathsPerClass = 10
	pathsMost     = 500 // in all
	fixedImages   = 500 // whose fixed points are looked for
	fixedSteps    = 500 // after which an image counts as not converged
)

// StudyOptions are the settings of Run. The zero value is ready to use.
type StudyOptions struct {
	AnalyzeOptions
	// Train, unless nil, are the training images that Fit was given. Without them, and
	// for a potential that never learns, there are no Moves.
	Train *dataset.Set
}

// Run measures everything on the images of s. The spectra of a landscape of 784
// dimensions take half a second a component unless they are flat, the draws of the analysis as long as its
// AnalyzeOptions ask for.
func Run(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set, opt StudyOptions) (*Study, error) {
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	w := &work{costs: append(analysisCosts(m, s, opt.AnalyzeOptions), studyCosts(m, s, opt)...), progress: opt.Progress}
	a, err := analyze(ctx, e, m, s, opt.AnalyzeOptions, w)
	if err != nil {
		return nil, err
	}
	t := &Study{Analysis: *a, Shapes: map[string]LawShape{}}
	laws := map[string]*separation.Law{"law": a.Law, "law_with_logits": a.LawWithLogits, "steps_law": a.StepsLaw}
	for name, law := range laws {
		if law != nil {
			t.Shapes[name] = LawShape{law.Shape(), law.Follows()}
		}
	}
	predicted := make([]int32, s.Len())
	logits := a.Sets[len(a.Sets)-1]
	e.ArgMax(predicted, engine.View(logits.X, s.Len(), logits.Dim))
	outcomes := layer.NewOutcomes(len(m.Classes))
	outcomes.Add(s.Labels, predicted)
	t.ByClass = outcomes.ByClass(m.Classes)
	t.Wrong = s.Len()
	for _, c := range t.ByClass.Classes {
		t.Wrong -= c.Right
	}
	t.Accuracy = float64(s.Len()-t.Wrong) / float64(s.Len())

	w.next()
	features, denoised := a.Sets[1], a.Sets[2]
	both := slices.Concat(features.X, denoised.X)
	if t.Plane, err = separation.FitPCA(ctx, both, features.Dim, 2, e.Threads()); err != nil {
		return nil, err
	}
	if t.Walk, err = traceExamples(ctx, e, m, s, predicted); err != nil {
		return nil, err
	}
	paths := FirstOfEach(s.Labels, pathsPerClass)
	if t.Paths, err = TraceImages(ctx, e, m, s, paths[:min(len(paths), pathsMost)], m.Config.Steps); err != nil {
		return nil, err
	}
	w.next()
	if t.Landscape, err = MeasureLandscape(ctx, e, m.Potential()); err != nil {
		return nil, err
	}
	w.next()
	followed := s.Slice(0, min(fixedImages, s.Len()))
	t.FixedPoints, err = FindFixedPoints(ctx, e, m, followed, FixedPointOptions{MaxSteps: fixedSteps})
	if err != nil {
		return nil, err
	}
	w.next()
	if opt.Train != nil && m.Config.Gradient != dpn.GradientDetached {
		if t.Moves, err = MeasureCentreMoves(ctx, e, m, opt.Train); err != nil {
			return nil, err
		}
	}
	w.next()
	return t, nil
}

// TraceExamples traces the first image of each class and then some that are read
// wrongly, twenty at most, over the steps of the model.
func TraceExamples(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set) (*Trace, error) {
	classes, err := m.Predict(ctx, e, s)
	if err != nil {
		return nil, err
	}
	predicted := make([]int32, len(classes))
	for i, c := range classes {
		predicted[i] = int32(c)
	}
	return traceExamples(ctx, e, m, s, predicted)
}

// traceExamples is TraceExamples with the classes read from all images.
func traceExamples(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	predicted []int32) (*Trace, error) {
	return TraceImages(ctx, e, m, s, walked(s.Labels, predicted), m.Config.Steps)
}

// walked chooses the first image of each class (of the first classes, if they are too
// many), then the first that are misclassified.
func walked(labels []uint16, predicted []int32) []int {
	at := FirstOfEach(labels, 1)
	at = at[:min(len(at), walkMost)]
	wrong := 0
	for i, c := range predicted {
		if wrong == walkWrong || len(at) == walkMost {
			break
		}
		if c != int32(labels[i]) && !slices.Contains(at, i) {
			at = append(at, i)
			wrong++
		}
	}
	return at
}

// FirstOfEach returns the first n images of each class, class by class.
func FirstOfEach(labels []uint16, n int) []int {
	var classes [][]int
	for i, c := range labels {
		for int(c) >= len(classes) {
			classes = append(classes, nil)
		}
		if len(classes[c]) < n {
			classes[c] = append(classes[c], i)
		}
	}
	return slices.Concat(classes...)
}
