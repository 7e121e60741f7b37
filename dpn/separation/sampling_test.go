package separation

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/stat"

	"gonum.org/v1/gonum/mat"
)

func newEngine(tb testing.TB, options ...engine.Option) *engine.Engine {
	tb.Helper()
	e, err := engine.New(options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// normalClasses describes K Gaussian classes with the same diagonal covariance, whose D is known.
type normalClasses struct {
	classes, dim int
	means, std   []float64
}

func newNormalClasses(seed uint64, classes, dim int, apart float64) normalClasses {
	random := rand.New(rand.NewPCG(seed, 99))
	c := normalClasses{classes: classes, dim: dim, means: make([]float64, classes*dim), std: make([]float64, dim)}
	for i := range c.means {
		c.means[i] = apart * random.NormFloat64()
	}
	for j := range c.std {
		c.std[j] = 0.5 + 2*random.Float64()
	}
	return c
}

// draw returns n samples of each class.
func (c normalClasses) draw(random *rand.Rand, n int) Set {
	s := Set{Dim: c.dim}
	for k := range c.classes {
		for range n {
			s.Labels = append(s.Labels, uint16(k))
			for j, std := range c.std {
				s.X = append(s.X, float32(c.means[k*c.dim+j]+std*random.NormFloat64()))
			}
		}
	}
	return s
}

// fuzziness returns Tr(SSw SSb^+) of classes of equal size with an explicit pseudo-inverse.
func (c normalClasses) fuzziness() float64 {
	mean := make([]float64, c.dim)
	for i, m := range c.means {
		mean[i%c.dim] += m / float64(c.classes)
	}
	between := mat.NewSymDense(c.dim, nil)
	for k := range c.classes {
		diff := make([]float64, c.dim)
		for j := range diff {
			diff[j] = c.means[k*c.dim+j] - mean[j]
		}
		between.SymRankOne(between, 1/float64(c.classes), mat.NewVecDense(c.dim, diff))
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(between, true) {
		panic("no convergence")
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	values := eigen.Values(nil)
	var d float64
	for r := range min(c.dim, c.classes-1) {
		at := c.dim - 1 - r
		for j, std := range c.std {
			d += std * std * v.At(j, at) * v.At(j, at) / values[at]
		}
	}
	return d
}

// Intervals contain D of the distribution in 93 to 97% of 500 trials. They contain the estimates,
// whose median error is less than a quarter of that of D.
func TestBootstrapCovers(t *testing.T) {
	trials, draws := 500, 400
	if testing.Short() {
		trials, draws = 40, 60
	}
	e := newEngine(t)
	for _, c := range []struct{ classes, dim, n int }{{4, 10, 50}, {6, 30, 60}, {3, 60, 40}} {
		if testing.Short() && c.dim > 10 {
			continue
		}
		t.Run(fmt.Sprintf("%d classes of %d in %d dimensions", c.classes, c.n, c.dim), func(t *testing.T) {
			classes := newNormalClasses(uint64(c.dim), c.classes, c.dim, 1)
			truth := classes.fuzziness()
			covered := 0
			var limits, plains []float64 // errors of log D
			for trial := range trials {
				s := classes.draw(rand.New(rand.NewPCG(uint64(trial), 5)), c.n)
				got, err := Bootstrap(context.Background(), e, s, BootstrapOptions{Draws: draws, Seed: uint64(trial)})
				if err != nil {
					t.Fatal(err)
				}
				f, err := MeasureFuzziness(s, 1)
				if err != nil {
					t.Fatal(err)
				}
				limits = append(limits, math.Log(float64(got.Limit)/truth))
				plains = append(plains, math.Log(float64(f.D)/truth))
				if !(got.CI[0] <= got.Limit && got.Limit <= got.CI[1]) {
					t.Errorf("trial %d: the interval %v does not contain its limit %v", trial, got.CI, got.Limit)
				}
				if float64(got.CI[0]) <= truth && truth <= float64(got.CI[1]) {
					covered++
				}
			}
			share := float64(covered) / float64(trials)
			bias, plain := stat.Median(limits), stat.Median(plains)
			t.Logf("true D %.4f: %.1f%% of intervals contain it; bias of log D: %.4f, of the estimate %.4f", truth,
				100*share, plain, bias)
			if testing.Short() {
				if !(share >= 0.85) {
					t.Errorf("%.1f%% of %d intervals contain the truth: want about 95%%", 100*share, trials)
				}
				return
			}
			if !(share >= 0.93) || !(share <= 0.97) {
				t.Errorf("%.1f%% of intervals contain the truth: want 93 to 97%%", 100*share)
			}
			if !(math.Abs(bias) <= math.Abs(plain)/4) {
				t.Errorf("the bias of log D is %.4f, of its estimate %.4f: want less than a quarter", plain, bias)
			}
		})
	}
}

// The estimate is also right if there are hardly more features than classes, as for logits, and if
// noise is largest along the directions in which classes are furthest apart. Such noise rotates the
// class means within their span and does not reduce D. Limits lie in their intervals, and at least
// nine of ten intervals contain the true D.
func TestLimitOfFewDimensions(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation, and the same bits on every machine " +
			"(TestBootstrapIsTheSameEverywhere)")
	}
	const classes, trials = 10, 30
	e := newEngine(t)
	for _, c := range []struct {
		name     string
		dim, n   int
		decades  float64 // log10 of the largest standard deviation over the smallest
		together bool    // class means scale with the standard deviations
		apart    float64
	}{
		{"as many as the span", 9, 100, 0, false, 4},
		{"logits", 10, 100, 2, false, 1},
		{"logits of large classes", 10, 200, 0, false, 1},
		{"logits, means and noise together", 10, 200, 2, true, 2},
		{"two more", 12, 100, 1, true, 1},
		{"64 features", 64, 50, 0, false, 1},
		{"64 features, means and noise together", 64, 50, 2, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			population := newNormalClasses(uint64(c.dim), classes, c.dim, c.apart)
			for j := range population.std {
				population.std[j] = math.Pow(10, -c.decades*float64(j)/float64(c.dim-1))
				for k := 0; k < classes && c.together; k++ {
					population.means[k*c.dim+j] *= population.std[j]
				}
			}
			truth := population.fuzziness()
			covered := 0
			var limits []float64
			var square float64
			for trial := range trials {
				s := population.draw(rand.New(rand.NewPCG(uint64(trial), 7)), c.n)
				got, err := Bootstrap(context.Background(), e, s, BootstrapOptions{Draws: 100, Seed: uint64(trial)})
				if err != nil {
					t.Fatal(err)
				}
				if !got.Limit.IsFinite() || !(got.CI[0] <= got.Limit && got.Limit <= got.CI[1]) {
					t.Fatalf("trial %d: limit %v, interval %v", trial, got.Limit, got.CI)
				}
				off := math.Log(float64(got.Limit) / truth)
				limits = append(limits, off)
				square += off * off / trials
				if float64(got.CI[0]) <= truth && truth <= float64(got.CI[1]) {
					covered++
				}
			}
			// A median of normal errors has the standard error sqrt(pi/2) sigma/sqrt(trials).
			bias, allowed := stat.Median(limits), 3*1.2533*math.Sqrt(square/trials)
			t.Logf("true D %.3f: the limit is off by %.4f (median of log D; allowed %.4f), root mean square %.4f, "+
				"covered %d of %d",
				truth, bias, allowed, math.Sqrt(square), covered, trials)
			if !(math.Abs(bias) <= allowed) || !(square < 0.3*0.3) {
				t.Errorf("D is %.4f: the log of the limit is off by %.4f, root mean square %.4f: want %.4f and 0.3 "+
					"at most",
					truth, bias, math.Sqrt(square), allowed)
			}
			if covered < trials*85/100 {
				t.Errorf("%d of %d intervals contain the truth", covered, trials)
			}
		})
	}
}

// If the class means span all features, D is too large by (D^2 + 2 Tr((SSw SSb^+)^2))/n, for SSw
// with divisor n-K.
func TestNoiseWithinTheSpan(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: 8,000 draws in float64, slow under emulation; TestBootstrapIsTheSameEverywhere")
	}
	// Means 0, a and b on the axes of a plane, noise I: SSb = (diag(a^2, b^2) - m m^T)/3 with
	// m = (a, b)/sqrt(3).
	const a, b, n, trials = 1.5, 2.0, 100, 8000
	c := normalClasses{classes: 3, dim: 2, means: []float64{0, 0, a, 0, 0, b}, std: []float64{1, 1}}
	xx, yy, xy := a*a/3-a*a/9, b*b/3-b*b/9, -a*b/9
	det := xx*yy - xy*xy
	d := (xx + yy) / det
	near(t, "D", c.fuzziness(), d, 1e-12*d)
	squares := d*d - 2/det // the sum of 1/lambda^2
	want := (d*d + 2*squares) / (3 * n)
	var mean, square float64
	random := rand.New(rand.NewPCG(3, 4))
	for range trials {
		f, err := MeasureFuzziness(c.draw(random, n), 1)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(f.D)*n/(n-1) - d
		mean += v / trials
		square += v * v / trials
	}
	// The next order is of this relative size again.
	near(t, "bias of D", mean, want, 4*math.Sqrt(square/trials)+want*want/d)
}

// D of a draw, before the noise is subtracted, equals D of the samples repeated as often as they
// were drawn.
func TestBootstrapDrawIsASubset(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct{ classes, dim, n int }{{4, 10, 13}, {3, 50, 7}, {2, 3, 40}} {
		s := newNormalClasses(1, c.classes, c.dim, 2).draw(rand.New(rand.NewPCG(8, 8)), c.n)
		b, err := newBootstrap(context.Background(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		r := num.NewRand(4, 4)
		weights := engine.NewMatrix(1, s.Len())
		repeated := Set{Dim: s.Dim}
		for i := range weights.Data {
			weights.Data[i] = -1
		}
		for k := range c.classes {
			for range c.n { // samples are sorted by class
				at := k*c.n + r.Intn(c.n)
				weights.Data[at]++
				repeated.X = append(repeated.X, s.X[at*s.Dim:(at+1)*s.Dim]...)
				repeated.Labels = append(repeated.Labels, uint16(k))
			}
		}
		shifts, means := make([]float32, c.classes*c.dim), engine.NewMatrix(c.classes, c.dim)
		for k := range c.classes {
			for i := b.first[k]; i < b.first[k+1]; i++ {
				for j, v := range b.z.Row(i) {
					shifts[k*c.dim+j] += weights.Data[i] * v
				}
			}
		}
		d := b.moved(weights.Data, shifts, means, 0)
		along := engine.NewMatrix(s.Len(), c.classes)
		e.MatMul(along, b.z, means.T(), false)
		d.scatter(b, along)
		got, _, err := b.fuzziness(d.g, d.h)
		if err != nil {
			t.Fatal(err)
		}
		want, err := MeasureFuzziness(repeated, 1)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "D of a draw", got, float64(want.D), 1e-5*float64(want.D))
	}
}

// Covariances and inner products give the same estimate of Tr(S_k SSw), and it is unbiased: the
// mean over many draws is that of the distribution.
func TestSpreads(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: 12,000 draws in float64, slow under emulation; TestBootstrapIsTheSameEverywhere")
	}
	e := newEngine(t)
	c := newNormalClasses(3, 3, 6, 1)
	var want, trace float64
	for _, std := range c.std {
		want += std * std * std * std
		trace += std * std
	}
	for _, n := range []int{2, 3, 12} { // inner products for 2 samples per class, covariances for more
		const trials = 4000
		var sum, square float64
		random := rand.New(rand.NewPCG(6, uint64(n)))
		for range trials {
			b, err := newBootstrap(context.Background(), e, c.draw(random, n))
			if err != nil {
				t.Fatal(err)
			}
			all, _, _ := b.spreads(b.z)
			spread := all[0] / math.Pow(b.unit, 4)
			if n == 2 { // Tr(S^2) of a class of two cannot be estimated
				spread *= 3. / 2
			}
			sum += spread / trials
			square += spread * spread / trials
		}
		// Clamping Tr(S_k^2) at zero causes a small bias for classes of three.
		allowed := 4*math.Sqrt((square-sum*sum)/trials) + 0.15*want/float64(n*n)
		near(t, fmt.Sprintf("spread of %d samples a class", n), sum, want, allowed)
	}
}

// TestProductsOfManyRows adds a million products, of which a float32 chain is percents off.
func TestProductsOfManyRows(t *testing.T) {
	const rows = 1_000_000
	z, own := engine.NewMatrix(rows, 2), engine.NewMatrix(2, 2)
	for i := range rows {
		z.Set(i, 0, 0.1)
		z.Set(i, 1, -0.3)
	}
	b := &bootstrap{e: newEngine(t)}
	b.products(own, z)
	for i, want := range []float64{0.01 * rows, -0.03 * rows, -0.03 * rows, 0.09 * rows} {
		near(t, fmt.Sprint("product ", i), float64(own.Data[i]), want, productRows*0x1p-24*math.Abs(want))
	}
	few := z.Slice(0, productRows, 0, 2)
	b.products(own, few)
	chain := engine.NewMatrix(2, 2)
	b.e.MatMul(chain, few.T(), few, false)
	for i, v := range chain.Data {
		if own.Data[i] != v {
			t.Errorf("product %d of %d rows is %v, want the chain %v", i, productRows, own.Data[i], v)
		}
	}
}

func TestBootstrapIsTheSameEverywhere(t *testing.T) {
	s := Set{Dim: 40, X: make([]float32, 700*40), Labels: make([]uint16, 700)}
	centres := make([]float32, 5*s.Dim)
	num.NewRand(1, 0).Normal(centres)
	num.NewRand(1, 1).Normal(s.X)
	for i := range s.Labels {
		s.Labels[i] = uint16(i % 5)
		for j := range s.Dim {
			s.X[i*s.Dim+j] += centres[i%5*s.Dim+j]
		}
	}
	var want *Sampling
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 2, 3} {
			e := newEngine(t, engine.WithTier(tier), engine.WithThreads(threads))
			got, err := Bootstrap(context.Background(), e, s, BootstrapOptions{Draws: 50, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if got.Limit != want.Limit || got.CI[0] != want.CI[0] || got.CI[1] != want.CI[1] {
				t.Errorf("%v, %d threads: %v %v: want %v %v", tier, threads, got.Limit, got.CI, want.Limit, want.CI)
			}
		}
	}
	// The result is committed, so that other architectures are compared with it.
	if got := fmt.Sprintf("%x %x %x", float64(want.Limit), float64(want.CI[0]),
		float64(want.CI[1])); got != bootstrapBits {
		t.Errorf("limit and interval are %s: want %s", got, bootstrapBits)
	}
}

const bootstrapBits = "0x1.1fb301260eb77p-01 0x1.11640537a8dfbp-01 0x1.32a236c08987ap-01"

// D and its estimates are dimensionless: scaling the features by any power of two that float32 can
// hold (as after an ascent that diverges) leaves their bits unchanged.
func TestBootstrapHasNoUnit(t *testing.T) {
	e := newEngine(t)
	for _, n := range []int{2, 20} { // inner products, then covariances
		s := newNormalClasses(1, 4, 10, 2).draw(rand.New(rand.NewPCG(1, 2)), n)
		var want *Sampling
		for _, exponent := range []int{0, -80, -40, 50, 90, 120} {
			scaled := Set{Dim: s.Dim, Labels: s.Labels}
			for _, v := range s.X {
				scaled.X = append(scaled.X, float32(math.Ldexp(float64(v), exponent)))
			}
			got, err := Bootstrap(context.Background(), e, scaled, BootstrapOptions{Draws: 20})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%d per class, features times 2^%d: %+v: want %+v", n, exponent, got, want)
			}
		}
	}
}

func TestBootstrapUndetermined(t *testing.T) {
	e := newEngine(t)
	random := rand.New(rand.NewPCG(2, 2))
	// Five classes with the same distribution.
	c := newNormalClasses(1, 5, 20, 0)
	got, err := Bootstrap(context.Background(), e, c.draw(random, 30), BootstrapOptions{Draws: 100})
	if err != nil {
		t.Fatal(err)
	}
	if got.Limit.IsFinite() || got.CI != nil {
		t.Errorf("classes that do not differ: limit %v, interval %v: want none", got.Limit, got.CI)
	}
	// Two classes are far apart, the third hardly differs from the first.
	c = newNormalClasses(1, 3, 4, 0)
	c.means[4], c.means[8] = 50, 0.3
	got, err = Bootstrap(context.Background(), e, c.draw(random, 100), BootstrapOptions{Draws: 200})
	if err != nil {
		t.Fatal(err)
	}
	if got.Limit.IsFinite() && got.CI[1].IsFinite() {
		t.Errorf("a class that hardly differs: limit %v, interval %v: want no upper end", got.Limit, got.CI)
	}
	// The class means lie on a line.
	flat := Set{Dim: 2}
	for i := range 40 {
		flat.X, flat.Labels = append(flat.X, float32(i%4*3+i%3), 7), append(flat.Labels, uint16(i%4))
	}
	if d, err := estimateLimit(context.Background(), e, samplesOf(t, flat), 0); err != nil || !math.IsNaN(d) {
		t.Errorf("means on a line: %v, %v: want NaN", d, err)
	}
}

func samplesOf(t *testing.T, in Input) Samples {
	t.Helper()
	s, err := in.samples()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSamplingErrors(t *testing.T) {
	e := newEngine(t)
	good := pseudoRandom(40, 3, 2)
	alone := pseudoRandom(41, 3, 2)
	alone.Labels[40] = 9
	corrupted := pseudoRandom(40, 3, 2)
	corrupted.X[7] = float32(math.NaN())
	for _, c := range []struct {
		s    Set
		o    BootstrapOptions
		want string
	}{
		{good, BootstrapOptions{Draws: 3}, "3 bootstrap draws: expected 20 to 1000000"},
		{good, BootstrapOptions{Confidence: 1}, "confidence 1: expected a number between 0 and 1"},
		{alone, BootstrapOptions{}, "1 sample in class 9"},
		{corrupted, BootstrapOptions{}, "row 2, column 1 is NaN"},
		{Set{Dim: 0}, BootstrapOptions{}, "width 0"},
	} {
		if _, err := Bootstrap(context.Background(), e, c.s, c.o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: want %q", err, c.want)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Bootstrap(stopped, e, good, BootstrapOptions{}); err != context.Canceled {
		t.Errorf("stopped: %v", err)
	}
	if _, err := Curve(context.Background(), e, good, CurveOptions{Sizes: []int{41}}); err == nil ||
		!strings.Contains(err.Error(), "subsets of 41 samples: expected 2 to 40") {
		t.Errorf("%v", err)
	}
}

// D grows towards the true value with the number of samples; the estimates for n → ∞ reach it much
// earlier.
func TestCurve(t *testing.T) {
	e := newEngine(t)
	c := newNormalClasses(5, 4, 30, 1)
	s := c.draw(rand.New(rand.NewPCG(1, 2)), 500)
	random := rand.New(rand.NewPCG(1, 3)) // the first samples must not all be of one class
	random.Shuffle(s.Len(), func(i, j int) {
		for x := range s.Dim {
			s.X[i*s.Dim+x], s.X[j*s.Dim+x] = s.X[j*s.Dim+x], s.X[i*s.Dim+x]
		}
		s.Labels[i], s.Labels[j] = s.Labels[j], s.Labels[i]
	})
	points, err := Curve(context.Background(), e, s, CurveOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for i, p := range points {
		sizes = append(sizes, p.Samples)
		if i > 0 && i < 4 && p.Mean < points[i-1].Mean { // D of 1,000 and of all samples agree within their errors
			t.Errorf("D of %d samples is %v, less than that of fewer", p.Samples, p.Mean)
		}
		if p.Least > p.Mean || p.Mean > p.Greatest {
			t.Errorf("%+v", p)
		}
	}
	if fmt.Sprint(sizes) != "[32 100 320 1000 2000]" {
		t.Errorf("sizes are %v", sizes)
	}
	whole, err := MeasureFuzziness(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if p := points[1]; !(math.Abs(float64(p.Limit/whole.D)-1) < 0.05) || !(p.Mean <= 0.95*whole.D) {
		t.Errorf("100 samples: D %v, limit %v; of all D is %v", p.Mean, p.Limit, whole.D)
	}
	if last := points[len(points)-1]; last.Mean != whole.D || last.First != whole.D || last.Subsets != 1 {
		t.Errorf("all samples: %+v: want D %v", last, whole.D)
	}
	if points[0].First == points[0].Mean {
		t.Error("the first samples are the mean of random ones")
	}
}

// Subsets of one class have no D. They are left out and counted, even if no subset remains.
func TestCurveOfFewInAClass(t *testing.T) {
	s := newNormalClasses(2, 3, 30, 1).draw(rand.New(rand.NewPCG(1, 2)), 100)
	clear(s.Labels)
	s.Labels[50], s.Labels[150] = 1, 1 // and no more
	points, err := Curve(context.Background(), newEngine(t), s,
		CurveOptions{Sizes: []int{2, 90, s.Len()}, Subsets: 20, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := points[0]
	if p.LeftOut != 20 { // few pairs have both classes
		t.Fatalf("2 samples: %d of 20 subsets are left out", p.LeftOut)
	}
	for _, v := range []Float{p.Mean, p.Std, p.Least, p.Greatest, p.First, p.Limit} {
		if !math.IsNaN(float64(v)) {
			t.Errorf("no subset of 2 samples has a D: %+v", p)
		}
	}
	if text, err := json.Marshal(p); err != nil || !strings.Contains(string(text), `"left_out":20,"mean":null`) {
		t.Errorf("%s, %v", text, err)
	}
	if p = points[1]; p.LeftOut == 0 || p.LeftOut == 20 || p.Subsets != 20 {
		t.Fatalf("90 samples: %d of %d subsets are left out", p.LeftOut, p.Subsets)
	}
	if !(0 < p.Least && p.Least < p.Mean && p.Mean < p.Greatest) || !p.Greatest.IsFinite() {
		t.Errorf("90 samples: %+v", p)
	}
	if p = points[2]; p.LeftOut != 0 || !p.Mean.IsFinite() {
		t.Errorf("all samples: %+v", p)
	}
}

// TestStudentByHand checks the interval of a mean with two degrees of freedom.
func TestStudentByHand(t *testing.T) {
	mean, half := student([]float64{1, 2, 3}, 0.95)
	near(t, "mean", mean, 2, 1e-12)
	near(t, "half", half, 4.30265273, 1e-7)
}

// TestSetFew checks intervals of few draws, some of which are undetermined.
func TestSetFew(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		draws   []float64
		limit   bool
		bounded bool
	}{{[]float64{1, 2, 3, 4}, true, true}, {[]float64{1, 2, 3, inf}, true, false},
		{[]float64{1, 2, inf, inf}, false, false}} {
		s := &Sampling{Draws: len(c.draws), Confidence: 0.95, draws: c.draws}
		for _, d := range c.draws {
			if math.IsInf(d, 1) {
				s.Undetermined++
			}
		}
		(&bootstrap{estimated: 2, plain: 3}).setFew(s)
		if s.Limit.IsFinite() != c.limit || c.limit && s.CI[1].IsFinite() != c.bounded {
			t.Errorf("draws %v: limit %v, interval %v", c.draws, s.Limit, s.CI)
		}
	}
}
