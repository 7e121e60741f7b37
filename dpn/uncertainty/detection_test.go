package uncertainty

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpnbench/internal/longtest"
)

// normals returns n draws from N(mean, 1).
func normals(r *rand.Rand, n int, mean float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean + r.NormFloat64()
	}
	return out
}

// normal is the distribution function of N(0, 1).
func normal(v float64) float64 { return math.Erfc(-v/math.Sqrt2) / 2 }

func detect(t *testing.T, known, unknown []float64) *Detection {
	t.Helper()
	d, err := Detect(known, unknown)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pairs returns the AUROC by its definition.
func pairs(known, unknown []float64) float64 {
	twice := 0
	for _, x := range known {
		for _, y := range unknown {
			switch {
			case x > y:
				twice += 2
			case x == y:
				twice++
			}
		}
	}
	return float64(twice) / float64(2*len(known)*len(unknown))
}

// TestDetectPairs compares Detect with the definition, for scores with many ties and infinities.
func TestDetectPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	levels := []float64{math.Inf(-1), -2, -1, math.Copysign(0, -1), 0, 1, 2, math.Inf(1)}
	for range 200 {
		draw := func(shift int) []float64 {
			out := make([]float64, 1+r.IntN(30))
			for i := range out {
				out[i] = levels[r.IntN(5)+shift]
			}
			return out
		}
		x, y := draw(3), draw(r.IntN(4))
		d := detect(t, x, y)
		if want := pairs(x, y); d.AUROC != want {
			t.Fatalf("%v against %v: AUROC %v, want %v", x, y, d.AUROC, want)
		}
		if swapped := detect(t, y, x); !(math.Abs(swapped.AUROC+d.AUROC-1) <= 1e-15) {
			t.Errorf("AUROC %v, and %v with the two swapped", d.AUROC, swapped.AUROC)
		}
		accepted, passed := 0, 0
		for _, v := range x {
			if v >= d.Threshold {
				accepted++
			}
		}
		for _, v := range y {
			if v >= d.Threshold {
				passed++
			}
		}
		if 20*accepted < 19*len(x) || d.FPR != float64(passed)/float64(len(y)) {
			t.Errorf("threshold %v accepts %d of %d and %d of %d, FPR %v", d.Threshold, accepted, len(x), passed,
				len(y), d.FPR)
		}
		// The next higher score as threshold would accept too few.
		if i := slices.IndexFunc(slices.Sorted(slices.Values(x)),
			func(v float64) bool { return v > d.Threshold }); i >= 0 &&
			20*(len(x)-i) >= 19*len(x) {
			t.Errorf("a higher threshold than %v accepts 95%% of %v, too", d.Threshold, x)
		}
		for _, c := range []struct {
			v  float64
			ci [2]float64
		}{{d.AUROC, d.AUROCCI}, {d.FPR, d.FPRCI}} {
			if !(0 <= c.ci[0] && c.ci[0] <= c.v && c.v <= c.ci[1] && c.ci[1] <= 1) {
				t.Errorf("%v has the interval %v", c.v, c.ci)
			}
		}
		roc, err := ROC(x, y, 0)
		if err != nil {
			t.Fatal(err)
		}
		if area := area(roc); !(math.Abs(area-d.AUROC) <= 1e-12) {
			t.Errorf("the area below the curve is %v, AUROC %v", area, d.AUROC)
		}
	}
}

func area(roc []ROCPoint) (sum float64) {
	for i := 1; i < len(roc); i++ {
		sum += (roc[i].FPR - roc[i-1].FPR) * (roc[i].TPR + roc[i-1].TPR) / 2
	}
	return sum
}

// No result changes under a monotone transformation or a permutation of the scores.
func TestDetectMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	x, y := normals(r, 300, 1), normals(r, 200, 0)
	want := *detect(t, x, y)
	for _, f := range []func(float64) float64{math.Exp, math.Cbrt, func(v float64) float64 { return 1e6 + 8*v },
		math.Atan} {
		apply := func(s []float64) []float64 {
			out := make([]float64, len(s))
			for i, v := range s {
				out[i] = f(v)
			}
			slices.Reverse(out)
			return out
		}
		got := *detect(t, apply(x), apply(y))
		if got.Threshold != f(want.Threshold) {
			t.Errorf("threshold %v: want %v", got.Threshold, f(want.Threshold))
		}
		if got.Threshold = want.Threshold; got != want {
			t.Errorf("%+v: want %+v", got, want)
		}
	}
}

// Two normal distributions at a distance delta have the AUROC Phi(delta/sqrt 2) and the FPR
// Phi(1.645 - delta). The estimates converge to these values, and about 95% of the intervals
// contain them.
func TestDetectCoverage(t *testing.T) {
	longtest.Native(t)
	const rounds = 1000
	for _, c := range []struct {
		m, n  int
		delta float64
	}{{100, 100, 1}, {300, 80, 2}, {60, 400, 0.3}, {400, 400, 3}, {400, 30, 3.1}} {
		r := rand.New(rand.NewPCG(3, uint64(c.m)))
		auroc, fpr := normal(c.delta/math.Sqrt2), normal(1.6448536269514722-c.delta)
		var inAUROC, inFPR int
		for range rounds {
			d := detect(t, normals(r, c.m, c.delta), normals(r, c.n, 0))
			if d.AUROCCI[0] <= auroc && auroc <= d.AUROCCI[1] {
				inAUROC++
			}
			if d.FPRCI[0] <= fpr && fpr <= d.FPRCI[1] {
				inFPR++
			}
		}
		// 2% is three standard errors for 1000 rounds.
		if inAUROC < 925 || inAUROC > 990 {
			t.Errorf("%+v: the intervals of the AUROC cover it in %d of %d rounds", c, inAUROC, rounds)
		}
		if inFPR < 925 || inFPR > 995 {
			t.Errorf("%+v: the intervals of the FPR cover it in %d of %d rounds", c, inFPR, rounds)
		}
		d := detect(t, normals(r, 50_000, c.delta), normals(r, 50_000, 0))
		if !(math.Abs(d.AUROC-auroc) <= 0.008) || !(math.Abs(d.FPR-fpr) <= 0.02) {
			t.Errorf("%+v: AUROC %v, want %v; FPR %v, want %v", c, d.AUROC, auroc, d.FPR, fpr)
		}
	}
}

// The interval of complete separation does not have width 0, and no other interval is narrower.
func TestDetectSeparated(t *testing.T) {
	x, y := make([]float64, 100), make([]float64, 200)
	for i := range x {
		x[i] = float64(i + 1)
	}
	for i := range y {
		y[i] = -float64(i)
	}
	d := detect(t, x, y)
	worst := math.Pow(0.025, 0.01) // lower bound if 100 of 100 independent pairs are right
	if d.AUROC != 1 || d.AUROCCI != [2]float64{worst, 1} || d.FPR != 0 || d.FPRCI[0] != 0 ||
		!(d.FPRCI[1] > 0.01 && d.FPRCI[1] < 0.05) {
		t.Errorf("%+v", d)
	}
	x[0] = -0.5 // one pair is wrong
	if got := detect(t, x, y); !(got.AUROC < 1) || got.AUROCCI[0] > worst {
		t.Errorf("%+v: an interval narrower than that of complete separation", got)
	}
	if d := detect(t, y, x); !(d.AUROC <= 0.01) || d.AUROCCI[1] < 1-worst {
		t.Errorf("%+v", d)
	}
	if d := detect(t, []float64{1}, []float64{1}); d.AUROC != 0.5 || d.FPR != 1 {
		t.Errorf("%+v", d)
	}
}

// TestDetectTies holds the interval of equal scores against its bound: the least AUROC of scores of which min(m, n)
// pairs all tie with a probability of 2.5%.
func TestDetectTies(t *testing.T) {
	for _, c := range []struct {
		m, n int
		low  float64
	}{{1, 1, 0.0125}, {2, 2, 0.0791}, {1, 100, 0.0125}, {100, 1, 0.0125}, {100, 50, 0.4644}, {3000, 3000, 0.4994}} {
		for _, v := range []float64{0, -3, math.Inf(1), math.Inf(-1)} {
			x, y := slices.Repeat([]float64{v}, c.m), slices.Repeat([]float64{v}, c.n)
			d := detect(t, x, y)
			if d.AUROC != 0.5 || !(math.Abs(d.AUROCCI[0]-c.low) <= 1e-4) || !(d.AUROCCI[0]+d.AUROCCI[1] == 1) {
				t.Errorf("%d and %d scores of %v: %+v, want an interval from %v", c.m, c.n, v, d, c.low)
			}
		}
	}
}

// DeLong's variance by hand: m = n = 2, x 1 and 3, y 0 and 2.
func TestDeLong(t *testing.T) {
	d := detect(t, []float64{1, 3}, []float64{0, 2})
	// V10 is 1/2 and 1, V01 is 1 and 1/2: variances 1/8, so se^2 = 1/16 + 1/16.
	logit, half := math.Log(3), 1.959963984540054*math.Sqrt(0.125)/(0.75*0.25)
	low, high := 1/(1+math.Exp(half-logit)), 1/(1+math.Exp(-half-logit))
	if d.AUROC != 0.75 || !(math.Abs(d.AUROCCI[0]-low) <= 1e-9) || !(math.Abs(d.AUROCCI[1]-high) <= 1e-9) {
		t.Errorf("%+v: want the interval %v to %v", d, low, high)
	}
}

// A curve with a limited number of points consists of points of the full curve, includes both
// corners, and has nearly the same area.
func TestROCThin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	x, y := normals(r, 3000, 1), normals(r, 3000, 0)
	all, err := ROC(x, y, 0)
	if err != nil {
		t.Fatal(err)
	}
	thin, err := ROC(x, y, 200)
	if err != nil {
		t.Fatal(err)
	}
	if len(thin) > 200 || len(thin) < 100 || thin[0] != (ROCPoint{}) || thin[len(thin)-1] != (ROCPoint{1, 1}) ||
		!(math.Abs(area(thin)-area(all)) <= 1e-3) {
		t.Errorf("%d points of %d, area %v of %v", len(thin), len(all), area(thin), area(all))
	}
	for _, p := range thin {
		if !slices.Contains(all, p) {
			t.Fatalf("%v is not a point of the full curve", p)
		}
	}
}

func TestDetectRefuses(t *testing.T) {
	one := []float64{1}
	for _, c := range []struct {
		known, unknown []float64
		want           string
	}{
		{nil, one, "no scores of known samples"},
		{one, nil, "no scores of unknown samples"},
		{[]float64{1, math.NaN()}, one, "score 1 of the known samples is NaN"},
		{one, []float64{math.NaN()}, "score 0 of the unknown samples is NaN"},
	} {
		if _, err := Detect(c.known, c.unknown); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Detect: %v, want %q", err, c.want)
		}
		if _, err := ROC(c.known, c.unknown, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ROC: %v, want %q", err, c.want)
		}
	}
}

// TestBelowThreshold counts how often the share of a distribution below the threshold of m of its samples lies in
// the interval.
func TestBelowThreshold(t *testing.T) {
	for _, m := range []int{0, -1} {
		if lo, hi := BelowThreshold(m); lo != 0 || hi != 1 {
			t.Errorf("%d samples: %v to %v, want 0 to 1", m, lo, hi)
		}
	}
	const draws = 4000
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range []int{1, 10, 19, 60, 333} {
		lo, hi := BelowThreshold(m)
		in := 0
		for range draws {
			x := normals(r, m, 0)
			slices.Sort(x)
			if share := normal(x[m-AcceptedOf(m)]); share >= lo && share <= hi {
				in++
			}
		}
		if covered := float64(in) / draws; !(math.Abs(covered-0.95) <= 0.015) { // four standard deviations
			t.Errorf("%d samples: %.4f to %.4f covers %.3f", m, lo, hi, covered)
		}
	}
}

// TestQuantileRanks checks from how many samples on an interval of the 95% quantile has a lower end, and which class
// equal logits mean.
func TestQuantileRanks(t *testing.T) {
	for m, want := range map[int]int{71: -1, 72: 0} { // 0.95^72 is the first power below 0.025
		if first, _ := quantileRanks(m); first != want {
			t.Errorf("%d samples: rank %d, want %d", m, first, want)
		}
	}
	for label, want := range []float64{1, 0} { // of equal logits the first counts
		c := calibrate(t, Logits{X: []float32{2, 2}, Classes: 2, Labels: []uint16{uint16(label)}}, 1)
		if c.Accuracy != want {
			t.Errorf("label %d of equal logits: accuracy %v", label, c.Accuracy)
		}
	}
}
