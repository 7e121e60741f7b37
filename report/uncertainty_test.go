package report

import (
	"context"
	"math"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/dpn/uncertainty"
	"dpnbench/engine"
	"dpnbench/plot"
)

// doubted returns what the scores of a network that has not learned are worth.
func doubted(t *testing.T) Uncertainty {
	t.Helper()
	a := studied(t, func(*dpn.Config) {})
	e, err := engine.New(engine.WithThreads(2))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := study.MeasureUncertainty(context.Background(), e, a.Model, a.Images,
		study.UncertaintyOptions{Seed: 1, Validation: a.Images.Slice(0, 50)})
	if err != nil {
		t.Fatal(err)
	}
	return Uncertainty{Model: a.Model, Study: s, Images: a.Images, Data: "x/small", Tier: "generic", Threads: 2,
		Seed: 1}
}

func uncertaintyHTML(t *testing.T, u Uncertainty) string {
	t.Helper()
	return written(t, UncertaintyPage(u, u.Figures()))
}

// Every figure is there and on the page.
func TestUncertaintyPage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes half a minute under emulation, where TestAnalysisPage makes a page")
	}
	u := doubted(t)
	var names []string
	for _, f := range u.Figures() {
		names = append(names, f.Name)
		if f.Missing != nil || f.Caption == "" {
			t.Errorf("figure %s: %v, %q", f.Name, f.Missing, f.Caption)
		}
	}
	if got, want := strings.Join(names,
		", "), "histogram-uniform, histogram-inverted, histogram-rotated, roc-unknown, examples, "+
		"histogram-misclassified, roc-misclassified, reliability"; got != want {
		t.Errorf("figures %s, want %s", got, want)
	}
	page := uncertaintyHTML(t, u)
	contains(t, page, "How well the network raw on small detects what it does not know", "Figure 8.",
		"φ(x<sub>0</sub>)", "by chance",
		"Scores chosen on", "validation images", "every level as likely",
		"For the scores displacement, scaled, entropy_0, entropy_n lower is better")
	if uncertaintyHTML(t, u) != page {
		t.Error("the same numbers give other bytes")
	}
}

// A kind of fewer images than a row has leaves the rest of its row empty.
func TestFewExamples(t *testing.T) {
	g := plot.Gallery{PerRow: 3}
	x := study.Unknown{Images: dataset.Digits(1, 0, 2)}
	if err := addExamples(&g, x, []float64{1, 2}, []float64{0.5, 0.6}); err != nil {
		t.Fatal(err)
	}
	if len(g.Images) != 3 || len(g.Images[1].X) != 1 || g.Images[2].X != nil || g.Images[2].Caption != "" {
		t.Errorf("a row of %d entries, the last: %v", len(g.Images), g.Images[len(g.Images)-1])
	}
}

// A threshold is printed with the digits that reject the same share of images, beside the share that it does reject.
func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		limit float64
		falls bool
		known []float64 // higher is better known
		want  string
		share float64
	}{
		{0.83156, true, []float64{-0.83, -0.83156, -0.9}, "0.832", 1. / 3},
		{0.83156, true, []float64{-0.83, -0.83156, -0.8319}, "0.8316", 1. / 3},
		{0.83156, true, []float64{-0.83, -0.83156, -0.83157}, "0.83156", 1. / 3},
		{0.99987, false, []float64{0.99987, 0.99999, 1}, "0.99987", 0},
		{-351.2, false, []float64{-350, -351.2}, "−351.2", 0},
		{0, false, []float64{0, -1}, "0", 0.5},
		{1234567, false, []float64{1234567, 1234560, 1231000}, "1234567", 2. / 3}, // 1.23e+06 rejects none
		{-1.2345e-5, false, []float64{-1.2345e-5, -1.2341e-5}, "−1.2345e-05", 0},
		{math.Inf(-1), false, []float64{math.Inf(-1)}, "", 0},
	} {
		got, share := threshold(&study.UncertaintyTask{Known: len(c.known), Accepted: [][]float64{c.known},
			Scores: []study.ScoreDetection{{Limit: separation.Float(c.limit)}}}, 0, c.falls)
		if got != c.want || share != c.share {
			t.Errorf("limit %v of %v: %q rejects %v, want %q and %v", c.limit, c.known, got, share, c.want, c.share)
		}
	}
}

// The summary says what the numbers are.
func TestUncertaintySummary(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes half a minute under emulation, where TestAnalysisPage makes a page")
	}
	u := doubted(t)
	s := u.Study
	s.Advice = study.UncertaintyAdvice{Unknown: "displacement", Misclassified: "softmax"}
	text := func() string { return strings.Join(u.Summary(), "\n") }
	for i := range s.Tasks {
		for j := range s.Tasks[i].Scores {
			d := *s.Tasks[i].Scores[j].Detection
			d.AUROC, d.FPR, d.AUROCCI = 0.9, 0.25, [2]float64{0.8, 0.95}
			s.Tasks[i].Scores[j].Detection, s.Tasks[i].Scores[j].Limit = &d, 12
		}
	}
	contains(t, text(), "use the score “displacement” (how far the ascent moves the features): AUROC 0.900 "+
		"(uniform), 0.900 (inverted)", "Reject images with a score above 12.0",
		"accepts, of the unknown ones, 25.0% (uniform), 25.0% (inverted), 25.0% (rotated).",
		"is better: 0.900 (0.800 to 0.950)") // the first among equals is not the one chosen
	s.Tasks[3].Scores[6].AUROC = 0.91
	if got := text(); strings.Contains(got, "is better") || strings.Contains(got, "No score detects") {
		t.Errorf("the score advised is the best one, and all are easy to separate: %s", got)
	}
	for j := range s.Tasks[2].Scores {
		s.Tasks[2].Scores[j].AUROC = 0.6
	}
	s.MisclassifiedChosenOn = "validation"
	if strings.Contains(text(), "No validation image is misclassified") {
		t.Errorf("the score was chosen on misclassified validation images: %s", text())
	}
	s.MisclassifiedChosenOn = "test"
	contains(t, text(), "No validation image is misclassified: this score was chosen on the test images")
	s.Tasks[0].Scores[2].Limit = separation.Float(math.Inf(1))
	contains(t, text(), "No score detects these well: rotated (best: “phi_0”, AUROC 0.600)")
	if strings.Contains(text(), "Reject") {
		t.Errorf("an infinite threshold is named: %s", text())
	}
	s.Calibration.Before.Confidence, s.Calibration.Before.Accuracy = 0.7, 0.8
	s.Calibration.After, s.Calibration.Temperature = nil, nil
	chosenOn := s.ChosenOn
	for on, why := range map[string]string{
		"test": "there are no validation images.", "validation": "all validation images are classified correctly, or",
	} {
		s.ChosenOn = on
		contains(t, text(), "too low on average: it predicts 70.0% correct, and 80.0% are",
			"No temperature was fitted: "+why)
	}
	s.ChosenOn = chosenOn
	for _, c := range []struct {
		confidence, accuracy, after, ece, chance float64
		want                                     string
	}{
		{0.9723, 0.9720, 0.0045, 0.0042, 0.0035,
			"about right on average: it predicts 97.2% correct, and 97.2% are. The expected " +
				"calibration error is 0.42% (about 0.35% by chance alone). Temperature scaling " +
				"does not lower it: 0.45%"},
		{0.9715, 0.9720, 0.0040, 0.0042, 0.0035,
			"about right on average: it predicts 97.2% correct, and 97.2% are. The expected " +
				"calibration error is 0.42% (about 0.35% by chance alone), and 0.40% after temperature scaling"},
		{0.982, 0.972, 0.0042, 0.0042, 0.0035,
			"too high on average: it predicts 98.2% correct, and 97.2% are. The expected " +
				"calibration error is 0.42% (about 0.35% by chance alone). Temperature scaling " +
				"does not lower it: 0.42%"},
		{0.962, 0.972, 0.0001, 0.0042, 0.0035,
			"too low on average: it predicts 96.2% correct, and 97.2% are. The expected " +
				"calibration error is 0.42% (about 0.35% by chance alone), and 0.01% after temperature scaling"},
		{1, 1, 0.0001, 0.0042, 0.0035, "about right on average: it predicts 100.0% correct, and 100.0% are"},
		{0.9723, 0.9720, 0.3, 0.3385, 0.1304,
			"about right on average, but not at every confidence: it predicts 97.2% " +
				"correct, and 97.2% are. The expected calibration error is 33.85% (about 13.04% by chance alone)"},
		{0.982, 0.972, 0.3, 0.3385, 0.1304, "too high on average: it predicts 98.2% correct"},
	} {
		before, after := *s.Calibration.Before, *s.Calibration.Before
		before.Samples, before.Confidence, before.Accuracy = 10_000, c.confidence, c.accuracy
		before.Reliability = []uncertainty.Bin{{Samples: 10_000, Confidence: 0.97, Accuracy: 0.97}}
		before.ECE, before.ECEChance, after.ECE = c.ece, c.chance, c.after
		calibration := study.CalibrationStudy{Before: &before, After: &after,
			Temperature: &uncertainty.Temperature{T: 1.1, Samples: 100}}
		scaled := *s
		scaled.Calibration = &calibration
		other := u
		other.Study = &scaled
		contains(t, strings.Join(other.Summary(), "\n"), c.want)
		contains(t, uncertaintyHTML(t, other), c.want)
	}
	s.Tasks, s.Wrong = s.Tasks[:3], 0
	contains(t, text(), "0 of 150 test images are misclassified: too few to evaluate a score")
	contains(t, uncertaintyHTML(t, u), "there is nothing to compare", "none is best")
	s.ChosenOn = "test"
	contains(t, uncertaintyHTML(t, u), "there are no validation images",
		"There were no validation images: these scores were chosen on the test images")
}
