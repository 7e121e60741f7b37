package dataset

import (
	"bytes"
	"testing"
)

// Any piece of a draw is the same, seeds differ, and every grey level is about as frequent.
func TestNoise(t *testing.T) {
	s := Noise(1, 0, 100, Grey(28, 27))
	if s.Len() != 100 || s.Shape.Len() != 756 || len(s.Pixels) != 75_600 || s.Labelled() {
		t.Fatalf("%d images of %d x %d", s.Len(), s.Rows, s.Cols)
	}
	if piece := Noise(1, 40, 10, Grey(28, 27)); !bytes.Equal(piece.Pixels, s.Slice(40, 50).Pixels) {
		t.Error("a piece of the draw differs from the draw of the piece")
	}
	if bytes.Equal(s.Image(0), s.Image(1)) || bytes.Equal(s.Image(0), Noise(2, 0, 1, Grey(28, 27)).Pixels) {
		t.Error("two images or two seeds have the same noise")
	}
	var count [256]int
	for _, v := range s.Pixels {
		count[v]++
	}
	chi2 := 0.0
	for _, n := range count {
		d := float64(n) - 75_600./256
		chi2 += d * d * 256 / 75_600
	}
	if chi2 < 160 || chi2 > 370 { // mean 255, standard deviation 22.6
		t.Errorf("chi-squared of the grey levels is %.0f with 255 degrees of freedom", chi2)
	}
}
