package separation

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("layer ", i)
	}
	return out
}

func TestLawOfGeometricData(t *testing.T) {
	for _, c := range []struct{ rho, d0 float64 }{{0.5, 8}, {0.65, 20}, {1.07, 14.6}, {3, 1e-4}} {
		for _, n := range []int{2, 3, 8, 31} {
			d := make([]float64, n)
			for l := range d {
				d[l] = c.d0 * math.Pow(c.rho, float64(l))
			}
			law, err := FitLaw(names(n), d)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "rho", law.Rho, c.rho, 1e-12*c.rho)
			near(t, "D0", law.D0, c.d0, 1e-12*c.d0)
			near(t, "Pearson", float64(law.Pearson), math.Copysign(1, math.Log(c.rho)), 1e-12)
			near(t, "At", law.At(float64(n-1)), d[n-1], 1e-10*d[n-1])
			if law.Points != n || len(law.Residuals) != n || len(law.Layers) != n {
				t.Errorf("%d points, %d residuals, %d layers: want %d", law.Points, len(law.Residuals), len(law.Layers),
					n)
			}
			for l, e := range law.Residuals {
				near(t, fmt.Sprint("residual ", l), e, 0, 1e-12)
			}
			if n == 2 {
				if law.RhoCI != nil {
					t.Errorf("two points have the interval %v: want none", law.RhoCI)
				}
				continue
			}
			near(t, "lower end", float64(law.RhoCI[0]), c.rho, 1e-9*c.rho)
			near(t, "upper end", float64(law.RhoCI[1]), c.rho, 1e-9*c.rho)
		}
	}
}

// Logs 0, 1, 1, 2 on 0..3: slope 0.6, intercept 0.1, residuals -0.1, 0.3, -0.3,
// 0.1, r = 3/sqrt(10). t(0.975, 2) = 4.30265273 (tables), s^2 = 0.2/2, standard
// error sqrt(0.1/5).
func TestLawByHand(t *testing.T) {
	e := math.E
	law, err := FitLaw([]string{"a", "b", "c", "d"}, []float64{1, e, e, e * e})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "rho", law.Rho, math.Exp(0.6), 1e-14)
	near(t, "D0", law.D0, math.Exp(0.1), 1e-14)
	near(t, "Pearson", float64(law.Pearson), 3/math.Sqrt(10), 1e-14)
	near(t, "residual deviation", law.ResidualStd, math.Sqrt(0.1), 1e-14)
	for l, want := range []float64{-0.1, 0.3, -0.3, 0.1} {
		near(t, fmt.Sprint("residual ", l), law.Residuals[l], want, 1e-14)
	}
	half := 4.30265273 * math.Sqrt(0.02)
	near(t, "lower end", float64(law.RhoCI[0]), math.Exp(0.6-half), 1e-7)
	near(t, "upper end", float64(law.RhoCI[1]), math.Exp(0.6+half), 1e-7)
}

// The interval contains the true rho in 95% of draws if the residuals meet its assumptions. The
// tolerance for 2,000 draws is 4 standard deviations of 0.0049.
func TestLawIntervalCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation, and the same on every machine up to rounding")
	}
	random := rand.New(rand.NewPCG(4, 4))
	const draws, rho = 2000, 0.8
	for _, n := range []int{3, 6, 20} {
		inside := 0
		for range draws {
			d := make([]float64, n)
			for l := range d {
				d[l] = 5 * math.Pow(rho, float64(l)) * math.Exp(0.1*random.NormFloat64())
			}
			law, err := FitLaw(names(n), d)
			if err != nil {
				t.Fatal(err)
			}
			if law.RhoCI[0] <= rho && rho <= law.RhoCI[1] {
				inside++
			}
		}
		near(t, fmt.Sprintf("coverage with %d layers", n), float64(inside)/draws, 0.95, 4*0.0049)
	}
}

func TestLawOfConstantFuzziness(t *testing.T) {
	law, err := FitLaw(names(4), []float64{3, 3, 3, 3})
	if err != nil {
		t.Fatal(err)
	}
	if law.Rho != 1 || law.Pearson.IsFinite() {
		t.Errorf("rho %v, Pearson %v: want 1 and NaN", law.Rho, law.Pearson)
	}
	for n := 3; n <= 12; n++ { // of which the mean is often another number
		for k := 1; k <= 20; k++ {
			d := slices.Repeat([]float64{float64(k) * 0.37}, n)
			if l, err := FitLaw(names(n), d); err != nil || l.Pearson.IsFinite() {
				t.Errorf("%d times %v: Pearson %v, %v: want NaN", n, d[0], l.Pearson, err)
			}
		}
	}
	b, err := json.Marshal(law)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"pearson":null`) {
		t.Errorf("JSON is %s: want a null Pearson", b)
	}
}

// Three points far from a line have an infinite interval, which JSON must be able to represent.
func TestLawOfWildFuzziness(t *testing.T) {
	law, err := FitLaw(names(3), []float64{1e-40, 1e40, 1e-40})
	if err != nil {
		t.Fatal(err)
	}
	if law.RhoCI[0] != 0 || law.RhoCI[1].IsFinite() {
		t.Errorf("interval is %v: want 0 to +Inf", law.RhoCI)
	}
	b, err := json.Marshal(law)
	if err != nil || !strings.Contains(string(b), `"rho_ci":[0,null]`) {
		t.Errorf("JSON is %s (%v): want an interval of 0 and null", b, err)
	}
}

func TestLawErrors(t *testing.T) {
	for _, c := range []struct {
		names []string
		d     []float64
		want  string
	}{
		{names(2), []float64{1, 2, 3}, "2 layer names for 3 values"},
		{nil, nil, "0 layers: at least 2"},
		{names(1), []float64{2}, "1 layers: at least 2"},
		{names(3), []float64{1, 0, 2}, "layer 1 (layer 1) is 0"},
		{names(3), []float64{1, 2, -1}, "layer 2 (layer 2) is -1"},
		{names(3), []float64{math.NaN(), 2, 1}, "layer 0 (layer 0) is NaN"},
		{names(3), []float64{1, math.Inf(1), 1}, "layer 1 (layer 1) is +Inf"},
	} {
		if _, err := FitLaw(c.names, c.d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("law of %v: error is %v: want one with %q", c.d, err, c.want)
		}
	}
}

// Shapes that have similar Pearson coefficients.
func TestLawShape(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name    string
		log     func(l float64) float64
		n       int
		noise   float64
		shape   string
		follows bool
	}{
		{"line", func(l float64) float64 { return 3 - 0.4*l }, 9, 0, Straight, true},
		{"line with noise", func(l float64) float64 { return 3 - 0.4*l }, 20, 0.1, Straight, true},
		{"rising line", func(l float64) float64 { return 3 + 0.1*l }, 9, 0.01, Straight, false},
		{"constant", func(float64) float64 { return 2.6 }, 9, 0, Straight, false},
		{"flattens out, r = -0.98", func(l float64) float64 { return 3 * math.Exp(-l/8) }, 11, 0.001, Convex, false},
		{"dips and rises", func(l float64) float64 { return math.Abs(l-2) / 5 }, 9, 0, Convex, false},
		{"falls faster and faster", func(l float64) float64 { return 3 - l*l/20 }, 11, 0.001, Concave, false},
		{"a bend of 1%", func(l float64) float64 { return 3 - 0.4*l + 0.0016*l*l }, 11, 0, Straight, true},
		{"three points", func(l float64) float64 { return 3 - 0.4*l }, 3, 0, Untested, true},
		{"two points", func(l float64) float64 { return 3 - 0.4*l }, 2, 0, Untested, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := make([]float64, c.n)
			for l := range d {
				d[l] = math.Exp(c.log(float64(l)) + c.noise*random.NormFloat64())
			}
			law, err := FitLaw(names(c.n), d)
			if err != nil {
				t.Fatal(err)
			}
			if law.Shape() != c.shape || law.Follows() != c.follows {
				t.Errorf("%s, follows: %v (Pearson %.4f, curvature %+v): want %s, %v", law.Shape(), law.Follows(),
					law.Pearson, law.Curvature, c.shape, c.follows)
			}
			if c.name == "flattens out, r = -0.98" && !(law.Pearson <= -0.975) {
				t.Errorf("Pearson is %.4f: this case should have one near -0.98", law.Pearson)
			}
		})
	}
}

// log D = l^2 on 0..4: the line is 4 l - 2, its residuals 2, -1, -2, -1, 2 are purely quadratic
// with coefficient 1, and the parabola's distance from its chord is 4 of 16.
func TestCurvatureByHand(t *testing.T) {
	d := make([]float64, 5)
	for l := range d {
		d[l] = math.Exp(float64(l * l))
	}
	law, err := FitLaw(names(5), d)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "coefficient", law.Curvature.Quadratic, 1, 1e-12)
	near(t, "P", float64(law.Curvature.P), 0, 1e-9)
	near(t, "bend", law.Curvature.Bend, 0.25, 1e-12)

	// Logs 0, 1, 1, 2 have residuals -0.1, 0.3, -0.3, 0.1 without a quadratic part: their product
	// with (1, -1, -1, 1) is 0.
	law, err = FitLaw(names(4), []float64{1, math.E, math.E, math.E * math.E})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "coefficient", law.Curvature.Quadratic, 0, 1e-15)
	near(t, "P", float64(law.Curvature.P), 1, 1e-12)
}

// Noisy lines have P below 5% in 5% of draws, and the band contains the true line with the stated
// probability. The tolerance for 2,000 draws is 4 standard deviations of 0.0049.
func TestCurvatureAndBandLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	const trials, n = 2000, 8
	curved, inside := 0, 0
	for range trials {
		d := make([]float64, n)
		for l := range d {
			d[l] = math.Exp(1 - 0.3*float64(l) + 0.2*random.NormFloat64())
		}
		law, err := FitLaw(names(n), d)
		if err != nil {
			t.Fatal(err)
		}
		if law.Curvature.P < 0.05 {
			curved++
		}
		if in := law.Curvature.CI[0] <= 0 && 0 <= law.Curvature.CI[1]; in != (law.Curvature.P >= 0.05) {
			t.Fatalf("P %v and interval %v contradict each other", law.Curvature.P, law.Curvature.CI)
		}
		if low, high := law.Band(6); low <= math.Exp(1-0.3*6) && math.Exp(1-0.3*6) <= high {
			inside++
		}
	}
	near(t, "share called curved", float64(curved)/trials, 0.05, 4*0.0049)
	near(t, "share inside the band", float64(inside)/trials, 0.95, 4*0.0049)
}

// TestFollowsNeedsBoth checks that a law is followed only if the whole interval of rho is below 1 and the points are
// near a line, and the interval of the curvature by hand: Student with one degree of freedom.
func TestFollowsNeedsBoth(t *testing.T) {
	fit := func(logs ...float64) Law {
		d := make([]float64, len(logs))
		for l, v := range logs {
			d[l] = math.Exp(v)
		}
		w, err := FitLaw(names(len(d)), d)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if w := fit(2, 1.2, 0); w.Follows() || w.Pearson > -0.95 || !(w.RhoCI[0] < 1 && w.RhoCI[1] > 1) {
		t.Errorf("three points, interval %v, r %v: follows", w.RhoCI, w.Pearson)
	}
	var logs []float64
	for l := range 20 {
		logs = append(logs, -0.1*float64(l)+0.2*float64(1-2*(l%2)))
	}
	if w := fit(logs...); w.Follows() || !(w.RhoCI[1] < 1) || w.Shape() != Straight || w.Pearson > -0.9 {
		t.Errorf("r %v, interval %v, %s: follows %v", w.Pearson, w.RhoCI, w.Shape(), w.Follows())
	}
	c := fit(0.9, -0.7, -1.3, 1.1).Curvature // (1, -1, -1, 1) + 0.1 (-1, 3, -3, 1)
	near(t, "coefficient", c.Quadratic, 1, 1e-12)
	near(t, "upper end", float64(c.CI[1]), 1+12.7062047*math.Sqrt(0.2/4), 1e-6)
}
