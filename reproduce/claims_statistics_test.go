package reproduce

import (
	"math"
	"slices"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine/num"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestJointly checks that published figures that are those of one more seed are refused in 5% of the cases, also
// where the figures of a seed go together, and that others are refused nearly always.
func TestJointly(t *testing.T) {
	const seeds, trials = 20, 1000
	r := num.NewRand(1, 0)
	draw := func() []float64 { // four figures, the first two of which go together
		z := make([]float32, 4)
		r.Normal(z)
		both := float64(z[0])
		return []float64{3 * math.Exp(0.2*both), 18 * math.Exp(0.1*both+0.02*float64(z[1])),
			2 * math.Exp(0.1*float64(z[2])), 0.3 * math.Exp(0.05*float64(z[3]))}
	}
	rounded := func(v []float64) []figure {
		var out []figure
		for _, x := range v {
			out = append(out, figure{math.Round(100*x) / 100, 0.01})
		}
		return out
	}
	refused, other := 0, 0
	for range trials {
		var runs [][]float64
		for range seeds {
			runs = append(runs, draw())
		}
		if jointly(runs, rounded(draw())) < significance {
			refused++
		}
		// Each within its range, but the first two do not go together.
		if jointly(runs, rounded([]float64{3 * math.Exp(0.2), 18 * math.Exp(-0.1), 2, 0.3})) < significance {
			other++
		}
	}
	if share := float64(refused) / trials; !(share > 0.02 && share < 0.08) {
		t.Errorf("%.1f%% of right figures are refused, want 5%%", 100*share)
	}
	if share := float64(other) / trials; !(share > 0.95) {
		t.Errorf("only %.1f%% of wrong figures are refused", 100*share)
	}
	if p := jointly([][]float64{{1}, {2}}, []figure{{1, 0.1}}); !math.IsNaN(p) {
		t.Errorf("two seeds give the probability %v", p)
	}
	if p := jointly([][]float64{{math.NaN()}, {2}, {3}}, []figure{{1, 0.1}}); !math.IsNaN(p) {
		t.Errorf("a figure that is not finite gives the probability %v", p)
	}

	// Seeds that agree leave the rounding to a digit, which is even over it: a variance of a twelfth of its square.
	f := figure{2.1, 0.1}
	t1 := (math.Log(2.1) - math.Log(2)) / (0.1 / 2.1 / math.Sqrt(12)) / math.Sqrt(5./4)
	want := 2 * distuv.StudentsT{Sigma: 1, Nu: 3}.Survival(t1)
	if p := jointly([][]float64{{2}, {2}, {2}, {2}}, []figure{f}); !(math.Abs(p-want) <= 1e-9) {
		t.Errorf("the rounding alone gives the probability %v, want %v", p, want)
	}
}

// TestJudgeDenoisingAndRatio judges figures of all images where every seed, some or none rise.
func TestJudgeDenoisingAndRatio(t *testing.T) {
	place := func(input, ten, thirty float64) Placement {
		layers := make([]separation.Layer, 4)
		layers[layerInput].Fuzziness = separation.Float(input)
		layers[layerInput].BetweenWithinRatio = separation.Float(input)
		layers[layerDenoised].BetweenWithinRatio = separation.Float(ten)
		steps := make([]separation.Layer, paperSteps+1)
		for i := range steps {
			steps[i].Fuzziness = separation.Float(input)
		}
		steps[table1Steps].Fuzziness, steps[paperSteps].Fuzziness = separation.Float(ten), separation.Float(thirty)
		return Placement{Analysis: &study.Analysis{Layers: layers, Steps: steps}}
	}
	for _, c := range []struct {
		what            string
		places          []Placement
		denoised, ratio string
	}{
		{"rise", []Placement{place(2, 2.1, 1), place(2, 3, 1)}, OnlyByTheirs, Reproduced},
		{"one stays", []Placement{place(2, 2, 3), place(2, 3, 3)}, NotReproduced, NotReproduced},
		{"one falls", []Placement{place(2, 1.9, 3), place(2, 3, 3)}, NotReproduced, NotReproduced},
		{"fall", []Placement{place(2, 1, 3), place(2, 1, 3)}, NotReproduced, NotReproduced},
	} {
		r := &Table1{Whole: c.places}
		if a, b := judgeDenoising(r).verdict, judgeRatio(r).verdict; a != c.denoised || b != c.ratio {
			t.Errorf("%s: %s and %s, want %s and %s", c.what, a, b, c.denoised, c.ratio)
		}
	}
}

// TestOneMore checks that the interval of one more seed contains it: in 95% of the cases for few seeds, in 19 of 21
// for the range of 20.
func TestOneMore(t *testing.T) {
	r := num.NewRand(1, 0)
	for seeds, want := range map[int]float64{3: 0.95, 5: 0.95, 20: 19. / 21} {
		inside := 0
		const trials = 2000
		for range trials {
			z := make([]float32, seeds+1)
			r.Normal(z)
			var v []float64
			for _, x := range z[1:] {
				v = append(v, float64(x))
			}
			ci := oneMore(spread(v))
			if float64(ci[0]) <= float64(z[0]) && float64(z[0]) <= float64(ci[1]) {
				inside++
			}
		}
		if got := float64(inside) / trials; !(math.Abs(got-want) < 0.02) {
			t.Errorf("%d seeds: one more lies within the interval in %.3f, want %.3f", seeds, got, want)
		}
	}
}

func TestPointsOfClasses(t *testing.T) {
	// Class 0: 8 at point 0, 1 each at points 1 and 2; class 1: all at point 1; class 2: nowhere.
	assignment := []int32{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 1, 1, -1, -1}
	labels := []uint16{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2}
	if got := pointsOfClasses(assignment, labels, 3); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("%v, want 1 to 2 points", got)
	}
	if got := pointsOfClasses([]int32{-1}, []uint16{0}, 1); got != nil {
		t.Errorf("%v without converged images", got)
	}
	if got, err := purity([]int32{0, 0, 0, 1}, []uint16{3, 3, 1, 2}, 2); err != nil || got != 0.75 {
		t.Errorf("purity %v, %v, want 0.75", got, err)
	}
	if got := share([]int32{1, 2}, []int32{1, 3}); got != 0.5 {
		t.Errorf("share %v, want 0.5", got)
	}
}

// TestGap compares Welch's interval with one that was computed apart from it, by Simpson's rule, and checks that it
// holds the true difference in 95% of the cases, also where one of two networks varies ten times as much.
func TestGap(t *testing.T) {
	some := spread([]float64{1, 2, 3, 4, 5})
	inf := math.Inf(1)
	for _, c := range []struct {
		a, b Spread
		want Gap
		text string
	}{
		{some, spread([]float64{2, 4, 6, 8}), Gap{-2, -5.84463638, 1.84463638}, "-2.00 (-5.84 to +1.84)"},
		{some, spread([]float64{3}), Gap{0, -inf, inf}, "+0.00"},
		{spread([]float64{7, 7}), spread([]float64{4, 4, 4}), Gap{3, 3, 3}, "+3.00 (+3.00 to +3.00)"},
	} {
		g := gap(c.a, c.b)
		off := math.Abs(g.Low-c.want.Low) + math.Abs(g.High-c.want.High)
		if g.Mean != c.want.Mean || off > 1e-6 || g.String() != c.text {
			t.Errorf("%v, want %v", g, c.want)
		}
	}
	r := num.NewRand(1, 0)
	inside := 0
	const trials = 2000
	for range trials {
		z := make([]float32, 10)
		r.Normal(z)
		var a, b []float64
		for i, x := range z {
			if i < 5 {
				a = append(a, 90+0.3*float64(x))
			} else {
				b = append(b, 80+3*float64(x))
			}
		}
		if g := gap(spread(a), spread(b)); g.Low <= 10 && 10 <= g.High {
			inside++
		}
	}
	if share := float64(inside) / trials; !(math.Abs(share-0.95) < 0.02) {
		t.Errorf("the interval holds the difference in %.3f, want 0.95", share)
	}
}

// TestDigitsAndRanges judges values at the edges of the last printed digit and of ranges over seeds.
func TestDigitsAndRanges(t *testing.T) {
	for v, want := range map[float64]string{2.1449: OnlyByTheirs, 2.1355: OnlyByTheirs, 2.1461: NotReproduced} {
		if got := printed(v, 2.14, 0.01, "").verdict; got != want {
			t.Errorf("%v for 2.14: %s", v, got)
		}
	}
	s := Spread{Seeds: rangeSeeds, Least: 2, Greatest: 2.1, Median: 2.05, Mean: 2.05}
	for published, want := range map[float64]string{2.104: OnlyByTheirs, 2.107: NotReproduced, 1.993: NotReproduced} {
		if got := enclosed(s, published, 0.01, "").verdict; got != want {
			t.Errorf("%v in 2 to 2.1: %s", published, got)
		}
	}
	if got := compared(Spread{Seeds: 2, Least: 2, Greatest: 4}, Spread{Seeds: 2, Least: 1, Greatest: 3}); got != level {
		t.Errorf("ranges that overlap: %s", got)
	}
}
