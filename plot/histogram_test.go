package plot

import (
	"math"
	"strings"
	"testing"
)

// Histograms hold every finite number once, and say what they do not show.
func TestHistogram(t *testing.T) {
	s := Sample{"some", []float64{0, 0.5, 1, 1, -7, 9, math.NaN(), math.Inf(1)}}
	xys, lost := s.outline(0, 1, 80)
	sum := 0.0
	for i := 1; i+1 < len(xys); i += 2 {
		sum += xys[i].Y
	}
	if lost != 2 || !(math.Abs(sum-75) <= 1e-9) {
		t.Errorf("%d values lost, the bins hold %v%%", lost, sum)
	}
	many := make([]float64, 4000)
	for i := range many {
		many[i] = float64(i) / 4000
	}
	many[0] = -1e9
	svg, err := titled(Histogram{Title: "H", X: "score", Samples: []Sample{{"known", many},
		{"unknown", []float64{3, 3.5, math.Inf(-1)}}, {"none", nil}}, Mark: &Level{Name: "threshold", Y: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(svg), "score", "known", "unknown", "threshold", "The outermost bins also hold what lies beyond.",
		"Not finite, and not drawn: 1 of unknown.", "samples in a bin (%)")
	if strings.Contains(string(svg), ">none<") || strings.Contains(string(svg), "NaN") {
		t.Error("an empty sample is drawn")
	}
	for _, flat := range []float64{0, -3, 1e30} { // all the same
		if _, err := titled(Histogram{Samples: []Sample{{"one", []float64{flat, flat}}}}); err != nil {
			t.Errorf("%v: %v", flat, err)
		}
	}
	for _, empty := range [][]float64{nil, {math.NaN()}, {-math.MaxFloat64, math.MaxFloat64}} {
		if _, err := titled(Histogram{Samples: []Sample{{"none", empty}}}); err == nil {
			t.Errorf("%v is drawn", empty)
		}
	}
}

// TestBins checks that a small sample does not make a comb, and that far apart samples keep their shapes.
func TestBins(t *testing.T) {
	spread := func(n int, from, to float64) (v []float64) {
		for i := range n {
			v = append(v, from+(to-from)*float64(i)/float64(n))
		}
		return v
	}
	for _, c := range []struct {
		small, large []float64
		want         int
	}{{spread(40, 0, 1), spread(4000, 0, 1), fewestBins}, {spread(3000, 0, 1), spread(3000, 0, 1), 14},
		{spread(3000, 0, 1), spread(3000, 9, 10), mostBins}, {nil, []float64{1, 1}, mostBins}} {
		h := Histogram{Samples: []Sample{{"small", c.small}, {"large", c.large}}}
		lo, hi, _, err := h.span()
		if err != nil {
			t.Fatal(err)
		}
		if got := h.bins(lo, hi); got != c.want {
			t.Errorf("%d and %d samples: %d bins, want %d", len(c.small), len(c.large), got, c.want)
		}
	}
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing", w)
		}
	}
}
