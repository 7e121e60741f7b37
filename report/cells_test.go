package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/internal/format"
	"dpnbench/plot"
)

// TestScoresAsMeasured checks that histograms, thresholds and examples show scores as they were measured, also those
// that fall with confidence, which are stored negated.
func TestScoresAsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation")
	}
	u := doubted(t)
	for _, score := range []string{"displacement", "phi_0"} {
		u.Study.Advice = study.UncertaintyAdvice{Unknown: score, Misclassified: score}
		at := u.score(score)
		task := u.unknownTasks()[0]
		known, unknown := u.Study.Known.Values[at], slices.Clone(task.Refused[at])
		falls := u.Study.Scores[at].Falls
		if falls != (score == "displacement") {
			t.Fatalf("%s falls: %v", score, falls)
		}
		for i := range unknown {
			if falls {
				unknown[i] = -unknown[i]
			}
		}
		s, err := u.histogram(&task, score, "noise")
		if err != nil {
			t.Fatal(err)
		}
		f := s.Figure.(plot.Histogram)
		if !slices.Equal(f.Samples[0].Values, known) || !slices.Equal(f.Samples[1].Values, unknown) {
			t.Errorf("%s: other values in the histogram", score)
		}
		accepted := 0
		for _, v := range known {
			if falls && v <= f.Mark.Y || !falls && v >= f.Mark.Y {
				accepted++
			}
		}
		if share := float64(accepted) / float64(len(known)); !(math.Abs(share-0.95) <= 0.01) {
			t.Errorf("%s: the mark at %v accepts %.1f%% of the known images", score, f.Mark.Y, 100*share)
		}

		softmax := u.score("softmax")
		s, err = u.examples()
		if err != nil {
			t.Fatal(err)
		}
		g := s.Figure.(plot.Gallery)
		caption := func(score, largest float64) string {
			return format.Significant(score) + ", " + format.Percent(largest, 0)
		}
		for i := range g.PerRow {
			first, second := g.Images[i].Caption, g.Images[g.PerRow+i].Caption
			if want := caption(known[i], u.Study.Known.Values[softmax][i]); first != want {
				t.Errorf("%s: test image %d: %q, want %q", score, i, first, want)
			}
			if want := caption(unknown[i], task.Refused[softmax][i]); second != want {
				t.Errorf("%s: unknown image %d: %q, want %q", score, i, second, want)
			}
		}
	}
}

// TestVarianceOfLevels checks that variances of pixels are those of grey levels: those of the features times the
// square of the deviation that the network divides by.
func TestVarianceOfLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation")
	}
	a := studied(t, func(*dpn.Config) {})
	l := a.Study.Landscape
	for j := range l.MeanVariance {
		l.MeanVariance[j] = 1 + float64(j%10)
	}
	order, _ := a.heaviest(mostMaps)
	for _, above := range []bool{false, true} { // the largest variance is more than ten times the smallest, or not
		for _, v := range l.Variances {
			for j := range v {
				v[j] = 2 + float64(j%8)
			}
		}
		if above {
			l.Variances[order[0]][0] = 10.5
		}
		s, err := a.variance()
		if err != nil {
			t.Fatal(err)
		}
		f := s.Figure.(plot.Maps)
		std := float64(a.Model.Norm.Std[0])
		for j, v := range f.Images[0].X[0] {
			if want := l.MeanVariance[j] * std * std; !(math.Abs(float64(v)-want) <= 1e-6*want) {
				t.Fatalf("mean variance of pixel %d is %v, want %v", j, v, want)
			}
		}
		if len(f.Images) != 1+len(order) || f.Log != above || !strings.Contains(f.Images[0].Caption, "mean") {
			t.Errorf("%d maps, on a log scale: %v; want %d, %v", len(f.Images), f.Log, 1+len(order), above)
		}
	}
}
