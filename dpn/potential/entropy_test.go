package potential

import (
	"math"
	"slices"
	"testing"

	"dpnbench/engine"
)

// TestLogEntropy compares entropies with their definition, computed with logarithms of responsibilities in float64,
// far below the floor of the kernels, too.
func TestLogEntropy(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, terms := range [][]float32{
		{0}, {0, 0}, {5, 5, 5, 5}, {-300, -301}, {0, -1, -2}, {-10, 0, -0.1}, {0, -15.5}, {0, -16.5, -17}, {0, -30},
		{0, -80, -81, -200}, {-1000, 0}, {0, -1000, -1001}, {3, -4000, -9000}, {0, -inf}, {0, -1, -inf}, {nan, 0},
		{0, nan},
	} {
		var phi float64
		top := math.Inf(-1)
		for _, v := range terms {
			top = max(top, float64(v))
		}
		for _, v := range terms {
			phi += math.Exp(float64(v) - top)
		}
		phi = top + math.Log(phi)
		// log H as the log of a sum: r_i (phi - l_i) has the logarithm l_i - phi + log(phi - l_i).
		want := math.Inf(-1)
		for _, v := range terms {
			l := float64(v) - phi
			if v == -inf {
				continue
			}
			part := l + math.Log(-l)
			if l > -1e-6 { // 1 - sum of the others, times itself
				rest := 0.0
				for _, u := range terms {
					if u != v {
						rest += math.Exp(float64(u) - phi)
					}
				}
				part = math.Log(rest)
				if rest < 1e-300 {
					part = math.Inf(-1)
					for _, u := range terms {
						if u != v && u != -inf {
							part = logAdd(part, float64(u)-phi)
						}
					}
				}
			}
			want = logAdd(want, part)
		}
		got := LogEntropy(engine.View(terms, len(terms), 1), 0)
		if slices.ContainsFunc(terms, func(v float32) bool { return v != v }) {
			if !math.IsNaN(got) {
				t.Errorf("%v: %v, want NaN", terms, got)
			}
			continue
		}
		if math.IsInf(want, -1) != math.IsInf(got, -1) || !math.IsInf(want, -1) &&
			!(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
			t.Errorf("%v: %v, want %v", terms, got, want)
		}
	}
}

func logAdd(a, b float64) float64 {
	top := max(a, b)
	if math.IsInf(top, -1) {
		return top
	}
	return top + math.Log(math.Exp(a-top)+math.Exp(b-top))
}
