package study

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// Those walked through are the first of each class and then the first mistakes, each once.
func TestWalked(t *testing.T) {
	labels := []uint16{3, 1, 1, 3, 0, 1, 0}
	predicted := []int32{1, 1, 0, 3, 0, 2, 1}
	if got, want := walked(labels, predicted), []int{4, 1, 0, 2, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("%v: want %v", got, want)
	}
	many, wrong := make([]uint16, 60), make([]int32, 60)
	for i := range many {
		many[i] = uint16(i % 15)
		wrong[i] = 99
	}
	if got := walked(many, wrong); len(got) != walkMost || got[14] != 14 || got[15] != 15 {
		t.Errorf("%v: want one of each class, then mistakes, %d in all", got, walkMost)
	}
	if got, want := FirstOfEach(labels, 2), []int{4, 6, 1, 2, 0, 3}; !slices.Equal(got, want) {
		t.Errorf("%v: want %v", got, want)
	}
}

// A study has the same numbers for any number of threads, and agrees with what its parts
// say.
func TestStudy(t *testing.T) {
	longtest.Native(t)
	c, err := dpn.Preset("raw")
	if err != nil {
		t.Fatal(err)
	}
	c.Components, c.Steps, c.Rank, c.Epochs, c.ValSize, c.Batch = 10, 3, 2, 1, 0, 32
	train, err := dataset.Digits(1, 0, 200).Resize(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	test, err := dataset.Digits(1, dataset.TestFirst, 120).Resize(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	data := &dataset.Data{Train: train, Test: test, Classes: dataset.Numbered(10), Norm: dataset.DigitsNorm}
	m, err := dpn.New(c, data)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var first []byte
	counts := []int{1, 3, 2}
	if testing.Short() {
		counts = counts[:2]
	}
	for _, threads := range counts {
		e, err := engine.New(engine.WithThreads(threads))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if first == nil {
			if _, err := m.Fit(ctx, e, train, dpn.FitOptions{Dir: t.TempDir()}); err != nil {
				t.Fatal(err)
			}
		}
		done, next, all := 0, 0, 0
		s, err := Run(ctx, e, m, test,
			StudyOptions{Train: train, AnalyzeOptions: AnalyzeOptions{Draws: 20, Subsets: 2, Seed: 5,
				Progress: func(d, n, a int) {
					if d != done+next || all != 0 && a != all {
						t.Errorf("progress goes from %d of %d to %d of %d, want %d", done, all, d, a, done+next)
					}
					done, next, all = d, n, a
				}}})
		if err != nil {
			t.Fatal(err)
		}
		if done != all {
			t.Errorf("the last progress is %d of %d", done, all)
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
			score, err := m.Score(ctx, e, test)
			if err != nil {
				t.Fatal(err)
			}
			if s.Accuracy != score.Accuracy || s.Wrong == 0 {
				t.Errorf("accuracy is %v with %d wrong: want %v", s.Accuracy, s.Wrong, score.Accuracy)
			}
			if s.Walk.Samples != walkMost { // ten classes and ten mistakes of many
				t.Errorf("%d images are walked", s.Walk.Samples)
			}
			paths := 0
			for _, n := range s.Layers[0].ClassCounts {
				paths += min(n, pathsPerClass)
			}
			if s.Paths.Samples != paths || len(s.Plane.Eigenvalues) != 2 || s.Moves == nil ||
				len(s.Landscape.Spectra) != 10 ||
				s.FixedPoints.Samples != 120 {
				t.Errorf("%d paths, want %d; centres %v, fixed points of %d images", s.Paths.Samples, paths, s.Moves,
					s.FixedPoints.Samples)
			}
			for _, l := range s.Layers { // all components, and of a step the first two
				if want := min(l.Dim, test.Len()-1); len(l.ExplainedVariance) != want {
					t.Errorf("%s: the variances of %d components, want %d", l.Name, len(l.ExplainedVariance), want)
				}
			}
			if l := s.Steps[1]; len(l.ExplainedVariance) != 2 {
				t.Errorf("%s: the variances of %d components, want 2", l.Name, len(l.ExplainedVariance))
			}
			if !reflect.DeepEqual(s.Shapes["steps_law"], LawShape{s.StepsLaw.Shape(), s.StepsLaw.Follows()}) {
				t.Errorf("shapes are %v", s.Shapes)
			}
		} else if string(b) != string(first) {
			t.Errorf("%d threads give other numbers than 1", threads)
		}
	}
	m.Config.Gradient = "detached"
	before := m.WeightsSHA256()
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if s, err := Run(ctx, e, m, test, StudyOptions{Train: train}); err != nil || s.Moves != nil {
		t.Errorf("the centres of a potential that never learns: %v, %v", s.Moves, err)
	}
	if m.WeightsSHA256() != before {
		t.Error("a study changes the weights")
	}
}

// TestFeaturesAreInput checks that features which are the input, of images or not, count once in the laws, and those of
// an extractor beside it. Without steps the denoised features are the features, and do not count.
func TestFeaturesAreInput(t *testing.T) {
	const n, d = 60, 4
	set := &dataset.Set{Shape: dataset.Vector(d), Values: make([]float32, n*d), Labels: make([]uint16, n)}
	for i := range n {
		set.Labels[i] = uint16(i % 3)
		for j := range d {
			set.Values[i*d+j] = float32(i%3*(j+1)) + float32(i*j%7)/10
		}
	}
	data := &dataset.Data{Train: set, Test: set, Classes: dataset.Numbered(3), Norm: dataset.NormalizationOf(set)}
	for _, c := range []struct {
		extractor string
		steps     int
		want      int // points with logits
	}{{"identity", 2, 3}, {"linear", 2, 4}, {"identity", 0, 2}, {"linear", 0, 3}} {
		config := completed(dpn.Config{Extractor: c.extractor, Dim: 3, Components: 3, Steps: c.steps, Scale: 1,
			Alpha: 0.1, Batch: 8})
		m := newModel(t, config, data)
		for _, p := range m.Params() {
			for i := range p.Data {
				p.Data[i] = float32(i%5) / 4
			}
		}
		a, err := Analyze(t.Context(), newEngine(t), m, set, AnalyzeOptions{})
		if err != nil {
			t.Fatal(c, err)
		}
		points := 1 // of no law
		if a.Law != nil {
			points = a.Law.Points
		}
		if m.PixelFeatures() || len(a.Layers) != 4 || points != c.want-1 || a.LawWithLogits.Points != c.want {
			t.Errorf("%s, %d steps: %d layers, laws of %d and %d points; want 4, %d and %d", c.extractor, c.steps,
				len(a.Layers), points, a.LawWithLogits.Points, c.want-1, c.want)
		}
	}
}

// TestNoSet gives no set to what takes one: an error says so.
func TestNoSet(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	m := pixelModel(t, 4, 0.1, 0.5, 0.25)
	c := dataset.Corruption{Name: "gaussian", Severity: 0.1}
	for name, f := range map[string]func() error{
		"Run":                func() error { _, err := Run(ctx, e, m, nil, StudyOptions{}); return err },
		"Analyze":            func() error { _, err := Analyze(ctx, e, m, nil, AnalyzeOptions{}); return err },
		"TraceExamples":      func() error { _, err := TraceExamples(ctx, e, m, nil); return err },
		"TraceImages":        func() error { _, err := TraceImages(ctx, e, m, nil, []int{0}, 1); return err },
		"SweepRises":         func() error { _, err := SweepRises(ctx, e, m, nil, RiseOptions{}); return err },
		"InitialCentres":     func() error { _, err := InitialCentres(ctx, e, m, nil); return err },
		"MeasureCentreMoves": func() error { _, err := MeasureCentreMoves(ctx, e, m, nil); return err },
		"MeasureConfidence":  func() error { _, err := MeasureConfidence(ctx, e, m, nil); return err },
		"MeasureConfidenceCorrupted": func() error {
			_, err := MeasureConfidenceCorrupted(ctx, e, m, nil, c, 1)
			return err
		},
		"Denoise":       func() error { _, err := Denoise(ctx, e, m, nil, c, 1); return err },
		"NewPrototypes": func() error { _, err := NewPrototypes(ctx, e, m, nil, 1); return err },
		"Accuracy": func() error {
			_, err := (&Prototypes{m: m}).Accuracy(ctx, e, nil, c, 1)
			return err
		},
		"FindFixedPoints": func() error {
			_, err := FindFixedPoints(ctx, e, m, nil, FixedPointOptions{})
			return err
		},
		"MeasureUncertainty": func() error {
			_, err := MeasureUncertainty(ctx, e, m, nil, UncertaintyOptions{})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "no samples") && name != "FindFixedPoints" {
			t.Errorf("%s: error %v, want that there are no samples", name, err)
		}
	}
}
