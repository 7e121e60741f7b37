package report

import (
	"context"
	"math"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/plot"
)

func TestNewPanel(t *testing.T) {
	s := separation.Set{X: []float32{0, 0, 2, 0, 8, 1, 10, 1}, Dim: 2, Labels: []uint16{0, 0, 1, 1}}
	layer, err := separation.Measure(context.Background(), "input", s, separation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPanel(layer, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := plot.Check(plot.PCA{Panels: []plot.Panel{p}, Classes: []string{"0", "1"}}); err != nil ||
		p.Title != "input" || p.Components != 2 {
		t.Errorf("panel is %+v (%v)", p, err)
	}
	// The first component runs along the larger differences, to the right.
	if !(p.Points[0] < p.Points[2] && p.Points[2] < p.Points[4] && p.Points[4] < p.Points[6]) {
		t.Errorf("points are %v: want the first coordinate to increase", p.Points)
	}
	if _, err := NewPanel(separation.Layer{Name: "x"}, s); err == nil {
		t.Error("a layer without components: no error")
	}
	s.X = s.X[:7]
	if _, err := NewPanel(layer, s); err == nil {
		t.Error("a ragged set: no error")
	}
}

// The band is that of the textbook: at the mean of the places its half width is t s/sqrt(n).
func TestNewLawBand(t *testing.T) {
	d := []float64{10, 6, 4.5, 2, 1.4}
	fit, err := separation.FitLaw([]string{"0", "1", "2", "3", "4"}, d)
	if err != nil {
		t.Fatal(err)
	}
	law := &fit
	const n, middle, sxx, quantile = 5.0, 2.0, 10.0, 3.182446 // of Student's t for 95% and 3 degrees of freedom
	band := NewLaw(law).Band
	if len(band) != 5 {
		t.Fatalf("%d intervals", len(band))
	}
	for l, b := range band {
		half := quantile * law.ResidualStd * math.Sqrt(1/n+(float64(l)-middle)*(float64(l)-middle)/sxx)
		at := law.At(float64(l))
		if !(math.Abs(b.Low/(at*math.Exp(-half))-1) <= 1e-6) || !(math.Abs(b.High/(at*math.Exp(half))-1) <= 1e-6) {
			t.Errorf("at %d the band is %v: want %v times or over exp(%v)", l, b, at, half)
		}
	}
}
