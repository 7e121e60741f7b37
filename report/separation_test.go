package report

import (
	"strings"
	"testing"

	"dpnbench/dpn/separation"
)

// TestSeparationWithoutLaw checks what the page says where no law was fitted, and where one layer has all the load.
func TestSeparationWithoutLaw(t *testing.T) {
	for n, want := range map[int]string{leastPoints - 1: "too few layers", leastPoints: "some D has no logarithm"} {
		s := Separation{Depth: &separation.Depth{Layers: make([]separation.Layer, n)}}
		if got := strings.Join(s.summary(), " "); !strings.Contains(got, want) {
			t.Errorf("%d layers: %q, want %q in it", n, got, want)
		}
	}
	for n, want := range []string{"does not fall", "whole load", ""} {
		s := Separation{Depth: &separation.Depth{Loads: make([]separation.Load, n),
			Layers: make([]separation.Layer, n+1)}}
		_, err := s.loads()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d loads: %v, want an error with %q", n, err, want)
		}
	}
}
