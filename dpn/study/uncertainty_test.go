package study

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/uncertainty"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// TestStudyUncertainty trains a small network on digits. The study finds that noise and
// inverted digits are nothing that it knows, agrees with what its parts say, and has the
// same numbers for any number of threads.
func TestStudyUncertainty(t *testing.T) {
	longtest.Native(t)
	ctx := context.Background()
	c, err := dpn.Preset("robust")
	if err != nil {
		t.Fatal(err)
	}
	c.Components, c.Steps, c.Rank, c.Epochs, c.Batch = 10, 2, 4, 2, 32
	shrink := func(first, n int) *dataset.Set {
		s, err := dataset.Digits(1, first, n).Resize(14, 14)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	data := &dataset.Data{
		Train:   shrink(0, 800),
		Test:    shrink(dataset.TestFirst, 300),
		Classes: dataset.Numbered(10),
		Norm:    dataset.DigitsNorm,
	}
	m, err := dpn.New(c, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(ctx, newEngine(t), data.Train, dpn.FitOptions{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	held, err := m.Validation(data.Train)
	if err != nil || held.Len() != 80 {
		t.Fatalf("%d validation images, %v", held.Len(), err)
	}
	other := []Unknown{{
		Name:       "mirror",
		Images:     shrink(dataset.TestFirst+1000, 50),
		Corruption: dataset.Corruption{Name: "rotation", Severity: 180},
	}}
	var first []byte
	var s *UncertaintyStudy
	for _, threads := range []int{1, 3} {
		done, all := 0, 0
		s, err = MeasureUncertainty(ctx, newEngine(t, engine.WithThreads(threads), engine.WithEagerThreads()), m,
			data.Test,
			UncertaintyOptions{Seed: 3, Validation: held, Others: other, OthersValidation: other,
				Progress: func(d, a int) {
					if done++; d != done {
						t.Errorf("progress %d of %d after %d calls", d, a, done)
					}
					all = a
				}})
		if err != nil {
			t.Fatal(err)
		}
		if done != 10 || all != 10 {
			t.Errorf("progress ends at %d of %d, want 10", done, all)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		} else if !bytes.Equal(text, first) {
			t.Error("three threads give other numbers than one")
		}
	}
	score, err := m.Score(ctx, newEngine(t), data.Test)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Calibration.Before
	if s.Accuracy != score.Accuracy || !(math.Abs(b.NLL-score.Loss) <= 1e-6) ||
		s.Wrong != 300-int(math.Round(300*score.Accuracy)) ||
		s.Samples != 300 {
		t.Errorf("%d of %d wrong, accuracy %v, loss %v; Score says %+v", s.Wrong, s.Samples, s.Accuracy, b.NLL, score)
	}
	var names []string
	for _, task := range s.Tasks {
		names = append(names, task.Name)
	}
	if !slices.Equal(names, []string{"uniform", "inverted", "rotated", "mirror", "misclassified"}) ||
		len(s.Unknown) != 4 {
		t.Fatalf("tasks %q", names)
	}
	for _, task := range s.Tasks[:2] {
		if d := task.Scores[scorePhi0]; !(d.AUROC >= 0.99) {
			t.Errorf("phi(x_0) on %s: AUROC %v", task.Name, d.AUROC)
		}
	}
	for _, task := range s.Tasks {
		for i, d := range task.Scores {
			want := d.Threshold
			if confidenceScores[i].Falls {
				want = -want
			}
			if float64(d.Limit) != want {
				t.Errorf("%s, %s: threshold %v for the oriented score, %v for the score", task.Name, d.Score,
					d.Threshold, d.Limit)
			}
		}
	}
	if mis := s.Tasks[4]; mis.Unknown != s.Wrong || mis.Known != 300-s.Wrong {
		t.Errorf("%d misclassified and %d others, want %d", mis.Unknown, mis.Known, s.Wrong)
	}
	if s.ChosenOn != "validation" || s.Advice.Unknown == "" || s.Advice.Misclassified == "" ||
		s.Calibration.Temperature.Samples != 80 ||
		s.Calibration.After.Temperature != s.Calibration.Temperature.T {
		t.Errorf("advice %+v on %s, temperature %+v", s.Advice, s.ChosenOn, s.Calibration.Temperature)
	}

	// Without validation images there is nothing to fit a temperature to.
	s, err = MeasureUncertainty(ctx, newEngine(t), m, data.Test, UncertaintyOptions{Seed: 3})
	if err != nil || s.ChosenOn != "test" || s.Calibration.Temperature != nil || s.Calibration.After != nil ||
		len(s.Tasks) != 4 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestChosenOnValidation gives validation images on which other scores are the best than on the test images: the
// advice is theirs. Where the network reads all of them right, the score for misclassified ones is that of the test.
func TestChosenOnValidation(t *testing.T) {
	ctx := context.Background()
	m, e, d := confident(t)
	test := d.Test.Slice(0, 60)
	held := dataset.Noise(7, 0, 60, test.Shape)
	held.Labels = make([]uint16, held.Len())
	for i := range held.Labels {
		held.Labels[i] = uint16(i % len(m.Classes))
	}
	measure := func(s, validation *dataset.Set) *UncertaintyStudy {
		t.Helper()
		u, err := MeasureUncertainty(ctx, e, m, s, UncertaintyOptions{Seed: 3, Validation: validation})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	own, other, got := measure(test, nil), measure(held, nil), measure(test, held)
	if own.Advice.Unknown == other.Advice.Unknown || own.Advice.Misclassified == other.Advice.Misclassified {
		t.Fatalf("test and validation images give the same advice: %+v, %+v", own.Advice, other.Advice)
	}
	if got.Advice != other.Advice || got.ChosenOn != "validation" || got.MisclassifiedChosenOn != "validation" ||
		own.MisclassifiedChosenOn != "test" {
		t.Errorf("advice %+v on %s, want that of the validation images, %+v", got.Advice, got.ChosenOn, other.Advice)
	}
	for i, task := range got.Tasks {
		if a, b := task.Scores[scorePhi0].AUROC, own.Tasks[i].Scores[scorePhi0].AUROC; a != b {
			t.Errorf("%s: AUROC %v with validation images, %v without", task.Name, a, b)
		}
	}
	c, err := MeasureConfidence(ctx, e, m, held)
	if err != nil {
		t.Fatal(err)
	}
	predicted := make([]int32, held.Len())
	e.ArgMax(predicted, c.Logits)
	for i, y := range predicted {
		held.Labels[i] = uint16(y)
	}
	want := UncertaintyAdvice{other.Advice.Unknown, own.Advice.Misclassified}
	if got = measure(test, held); got.Advice != want || got.Calibration.After != nil ||
		got.ChosenOn != "validation" || got.MisclassifiedChosenOn != "test" {
		t.Errorf("all validation images are right: advice %+v, want %+v; calibration %+v", got.Advice, want,
			got.Calibration)
	}
}

// The advice is the largest mean over unknown sets, the first one among equals, and does
// not mix the misclassified images in.
func TestAdvise(t *testing.T) {
	task := func(name string, auroc ...float64) UncertaintyTask {
		out := UncertaintyTask{Name: name}
		for i := range confidenceScores {
			v := 0.5
			if i < len(auroc) {
				v = auroc[i]
			}
			out.Scores = append(out.Scores, ScoreDetection{Detection: &uncertainty.Detection{AUROC: v}})
		}
		return out
	}
	tasks := []UncertaintyTask{
		task("uniform", 0.9, 1, 0.5),
		task("rotated", 0.9, 0.75, 0.5),
		task("misclassified", 0.1, 0.2, 0.99),
	}
	for _, c := range []struct {
		auroc []float64
		best  int
	}{{[]float64{0.9, 1, 0.5}, 1}, {[]float64{0.5, 0.9, 0.9}, 1}, {[]float64{0.5, 0.5}, 0}} {
		if task := task("", c.auroc...); task.Best() != c.best {
			t.Errorf("the best of %v is %d, want %d", c.auroc, task.Best(), c.best)
		}
	}
	if a := advise(tasks); a != (UncertaintyAdvice{"phi_0", "displacement"}) {
		t.Errorf("%+v", a)
	}
	if a := advise([]UncertaintyTask{task("uniform", 0.5, 0.5)}); a != (UncertaintyAdvice{"phi_0", ""}) {
		t.Errorf("%+v", a)
	}
}

// TestUnknownsOfNone makes unknown samples of no samples.
func TestUnknownsOfNone(t *testing.T) {
	for _, s := range []*dataset.Set{{Shape: dataset.Vector(3)}, {Shape: dataset.Grey(2, 2)}} {
		for _, u := range Unknowns(s, 1, 0) {
			if u.Images.Len() != 0 {
				t.Errorf("%v, %s: %d samples", s.Shape, u.Name, u.Images.Len())
			}
		}
	}
}

// Logits that are no numbers are an error that says where, not a number.
func TestStudyUncertaintyNotFinite(t *testing.T) {
	m, e, d := confident(t)
	parameter(m, "classifier.weight")[0] = float32(math.NaN())
	_, err := MeasureUncertainty(context.Background(), e, m, d.Test, UncertaintyOptions{})
	if err == nil || !strings.Contains(err.Error(), "logit 0 of image 0 is NaN") ||
		!strings.Contains(err.Error(), `"classifier.weight"`) {
		t.Errorf("%v", err)
	}
}

// TestUnknownsOfVectors checks unknown sets of vectors: features within their ranges, or those of the samples, each
// taken from another order; and that other numbers give other ones.
func TestUnknownsOfVectors(t *testing.T) {
	const n, d = 50, 3
	s := &dataset.Set{Shape: dataset.Vector(d), Values: make([]float32, n*d)}
	for i := range n {
		for j := range d {
			s.Values[i*d+j] = float32(100*j + i)
		}
	}
	unknowns, others := Unknowns(s, 1, 0), Unknowns(s, 1, n)
	column := func(s *dataset.Set, j int) (x []float32) {
		for i := range n {
			x = append(x, s.Vector(i)[j])
		}
		return x
	}
	for k, u := range unknowns {
		if slices.Equal(u.Images.Values, others[k].Images.Values) {
			t.Errorf("%s: the same under other numbers", u.Name)
		}
		for j := range d {
			x, all := column(u.Images, j), column(s, j)
			if u.Name == "uniform" {
				if slices.Min(x) < all[0] || slices.Max(x) > all[n-1] || slices.Max(x)-slices.Min(x) < 40 {
					t.Errorf("feature %d: uniform from %v to %v, within %v to %v", j, slices.Min(x), slices.Max(x),
						all[0], all[n-1])
				}
				continue
			}
			sorted := slices.Sorted(slices.Values(x))
			same := j > 0 && x[0]-float32(100*j) == column(u.Images, 0)[0]
			if !slices.Equal(sorted, all) || slices.Equal(x, all) || same {
				t.Errorf("feature %d: %v is no order of its own", j, x)
			}
		}
	}
	image := &dataset.Set{Shape: dataset.Grey(2, 2), Pixels: make([]byte, 4)}
	if u := Unknowns(image, 1, 0)[2]; u.Corruption != (dataset.Corruption{Name: "rotation", Severity: 90}) {
		t.Errorf("rotated: %v", u.Corruption)
	}
}
