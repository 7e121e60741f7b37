package separation

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpnbench/internal/linalg"
)

// TestLoadIntervalsByHand takes three layers whose log D is 4, y and 0, so that the shares are 1 - y/4 and y/4: y is 2
// in the samples, 1 by the estimate, and differs from draw to draw.
func TestLoadIntervalsByHand(t *testing.T) {
	layers := func(confidence float64, few bool, rising int, y ...float64) []Layer {
		out := make([]Layer, 3)
		for i := range out {
			out[i].Sampling = &Sampling{Draws: len(y) + rising, Confidence: confidence, few: few, CI: []Float{0, 1}}
		}
		set := func(i int, estimated, plain float64) {
			out[i].Sampling.estimated, out[i].Sampling.plain = math.Exp(estimated), math.Exp(plain)
		}
		set(0, 4, 4)
		set(1, 1, 2)
		set(2, 0, 0)
		draw := func(logs ...float64) {
			for i, v := range logs {
				out[i].Sampling.draws = append(out[i].Sampling.draws, math.Exp(v))
			}
		}
		for _, v := range y {
			draw(4, v, 0)
		}
		for range rising {
			draw(0, 1, 4)
		}
		return out
	}
	// The shares of the first load less the one of the samples: 0.1, -0.1, 0.2, 0.4 and -0.2.
	y := []float64{1.6, 2.4, 1.2, 0.4, 2.8}
	_, half := student([]float64{0.1, -0.1, 0.2, 0.4, -0.2}, 0.5)
	inf := math.Inf(1)
	eight := layers(0.5, false, 2, append(y, 2)...)
	for _, c := range []struct {
		what           string
		layers         []Layer
		limit, lo, hi  float64
		limit1, lo1, h float64
	}{
		{"quantiles", layers(0.5, false, 0, y...), 0.65, 0.55, 0.85, 0.35, 0.15, 0.45},
		{"few draws", layers(0.5, true, 0, y...), 0.67, 0.67 - half, 0.67 + half, 0.33, 0.33 - half, 0.33 + half},
		{"few draws, one of which rises", layers(0.5, true, 1, y...), 0.65, 0.55, 0.85, 0.35, 0.15, 0.45},
		{"as many rise as lie beyond an end", eight, 0.7, 0.575, 0.825, 0.3, 0.175, 0.425},
		{"more rise", layers(0.5, false, 3, y...), inf, inf, inf, inf, inf, inf},
	} {
		out := []Load{{Limit: Float(inf)}, {Limit: Float(inf)}}
		setLoadIntervals(out, c.layers)
		want := [][]float64{{c.limit, c.lo, c.hi}, {c.limit1, c.lo1, c.h}}
		for i, l := range out {
			got := []float64{float64(l.Limit), inf, inf}
			if l.CI != nil {
				got[1], got[2] = float64(l.CI[0]), float64(l.CI[1])
			}
			for k, v := range got {
				if v != want[i][k] && !(math.Abs(v-want[i][k]) <= 1e-12) {
					t.Errorf("%s: limit and interval %v of load %d, want %v", c.what, got, i, want[i])
					break
				}
			}
		}
	}
	none := layers(0.5, false, 0, y...)
	none[1].Sampling.CI = nil
	out := make([]Load, 2)
	if setLoadIntervals(out, none); out[0].CI != nil {
		t.Errorf("interval %v where D of a layer has none", out[0].CI)
	}
}

// TestCurveOfFirst checks that First is D of the samples that come first, for every size.
func TestCurveOfFirst(t *testing.T) {
	s := gaussian(rand.New(rand.NewPCG(1, 2)), 60, 3, 3)
	points, err := Curve(context.Background(), newEngine(t), s, CurveOptions{Sizes: []int{20, 59, 60}, Subsets: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		want, err := MeasureFuzziness(Set{X: s.X[:p.Samples*s.Dim], Labels: s.Labels[:p.Samples], Dim: s.Dim}, 1)
		if err != nil || p.First != want.D {
			t.Errorf("%d samples: the first have D %v, want %v, %v", p.Samples, p.First, want, err)
		}
	}
}

// TestSummaryByHand sums up subsets, some of which give no estimate for n → ∞.
func TestSummaryByHand(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values, limits []float64
		want           []float64 // mean, deviation, least, greatest, limit
	}{
		{[]float64{1, 6, 2}, []float64{5, nan, 3}, []float64{3, math.Sqrt(7), 1, 6, 5}},
		{[]float64{4}, []float64{2}, []float64{4, 0, 4, 4, 2}},
		{[]float64{1, 3}, []float64{nan, 3}, []float64{2, math.Sqrt2, 1, 3, nan}},
	} {
		var p CurvePoint
		p.summarise(slices.Clone(c.values), slices.Clone(c.limits))
		for i, got := range []Float{p.Mean, p.Std, p.Least, p.Greatest, p.Limit} {
			same := math.IsNaN(c.want[i]) && math.IsNaN(float64(got))
			if !same && !(math.Abs(float64(got)-c.want[i]) <= 1e-12) {
				t.Errorf("%v with limits %v: %+v, want %v", c.values, c.limits, p, c.want)
				break
			}
		}
	}
}

// TestUndeterminedShare gives a draw of two classes the share c of D along the only direction: it is undetermined
// from a quarter of the number of samples on.
func TestUndeterminedShare(t *testing.T) {
	s := Set{X: []float32{0, 1, 2, 0, 9, 2, 7, 4}, Labels: []uint16{0, 0, 0, 0, 1, 1, 1, 1}, Dim: 1}
	b := bootstrapOf(t, newEngine(t), s, false)
	g := make([]float64, 4) // 1 along the direction
	for i, v := range b.basis {
		linalg.Axpy(v, b.basis, g[2*i:2*i+2])
	}
	for _, c := range []float64{0.1, 1.999999, 2.000001, 100} {
		d := draw{g: g, sharp: slices.Clone(g), traces: make([]float64, 2)}
		linalg.Scale(c, d.sharp)
		want := c
		if c > 2 {
			want = math.Inf(1)
		}
		if e, err := b.estimate(d, make([]float64, 2)); err != nil || e != want && !(math.Abs(e-want) <= 1e-9) {
			t.Errorf("share %v: estimate %v, want %v; %v", c, e, want, err)
		}
	}
}
