package separation

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/longtest"
)

var coverTrials = flag.Int("cover-trials", 0, "trials of TestDepthCovers, 500 to judge it; 0: 20")

// chain is Gaussian classes that go through layers: layer l multiplies the means by gain[l] along K-1 directions
// and adds independent noise, so D of each layer has a closed form.
type chain struct {
	classes, dim int
	gain         []float64
	noise        []float64
}

// draw returns n samples of each class at each layer. The class means at layer 0 are the corners of a simplex.
func (c chain) draw(random *rand.Rand, n int) []Set {
	x := make([]float64, n*c.classes*c.dim)
	labels := make([]uint16, n*c.classes)
	for i := range labels {
		labels[i] = uint16(i % c.classes)
		x[i*c.dim+int(labels[i])] = 1
	}
	var out []Set
	for l, g := range c.gain {
		s := Set{Dim: c.dim, X: make([]float32, len(x)), Labels: labels}
		for i := range x {
			x[i] = g*x[i] + c.noise[l]*random.NormFloat64()
			s.X[i] = float32(x[i])
		}
		out = append(out, s)
	}
	return out
}

// fuzziness returns D of each layer: SSb has K-1 equal eigenvalues a^2/K, SSw is v I.
func (c chain) fuzziness() []float64 {
	a, v := 1.0, 0.0
	var out []float64
	for l, g := range c.gain {
		a, v = a*g, v*g*g+c.noise[l]*c.noise[l]
		out = append(out, float64(c.classes-1)*v*float64(c.classes)/(a*a))
	}
	return out
}

// The intervals of D and of the loads contain the truth in 93 to 97% of the trials, at every layer. Noise that
// layers add makes D rise, so the chain is measured from its end to its start.
func TestDepthCovers(t *testing.T) {
	t.Run("quantiles", func(t *testing.T) { depthCovers(t, 200, false) })
	t.Run("few draws", func(t *testing.T) { depthCovers(t, fewDraws, true) })
}

func depthCovers(t *testing.T, draws int, few bool) {
	trials, low, high := *coverTrials, 0.93, 0.97
	if trials == 0 {
		trials, low, high = 20, 0.75, 1
		if testing.Short() { // a check of the numbers, not of the coverage
			trials = 4
		}
	}
	e := newEngine(t)
	c := chain{classes: 4, dim: 8, gain: []float64{1, 1.2, 0.9, 1}, noise: []float64{0.25, 0.3, 0.25, 0.35}}
	truth := c.fuzziness()
	last := len(truth) - 1
	fall := math.Log(truth[last] / truth[0])
	intervals, loads := make([]int, len(truth)), make([]int, last)
	for trial := range trials {
		sets := c.draw(rand.New(rand.NewPCG(uint64(trial), 11)), 50)
		var layers []LayerInput
		for l := last; l >= 0; l-- {
			layers = append(layers, LayerInput{Name: fmt.Sprint("layer ", l), Input: sets[l]})
		}
		d, err := MeasureDepth(context.Background(), layers, Options{Engine: e, Draws: draws, Seed: uint64(trial),
			few: few}, nil)
		if err != nil {
			t.Fatal(err)
		}
		within := func(ci []Float, v float64) int {
			if len(ci) == 2 && float64(ci[0]) <= v && v <= float64(ci[1]) {
				return 1
			}
			return 0
		}
		var sum float64
		for i, l := range d.Layers {
			intervals[i] += within(l.FuzzinessCI, truth[last-i])
		}
		for i, l := range d.Loads {
			loads[i] += within(l.CI, math.Log(truth[last-i]/truth[last-i-1])/fall)
			sum += l.Share
			if !(l.CI[0] <= l.Limit && l.Limit <= l.CI[1]) {
				t.Errorf("trial %d: the interval %v of load %d does not contain its limit %v", trial, l.CI, i, l.Limit)
			}
		}
		if !(math.Abs(sum-1) <= 1e-12) {
			t.Errorf("trial %d: the loads sum to %v", trial, sum)
		}
	}
	for what, covered := range map[string][]int{"D": intervals, "load": loads} {
		for i, n := range covered {
			share := float64(n) / float64(trials)
			t.Logf("%s %d: %.1f%% of %d intervals contain the truth", what, i, 100*share, trials)
			if share < low || share > high {
				t.Errorf("%s %d: %.1f%% of intervals contain the truth: want %.0f to %.0f%%", what, i,
					100*share, 100*low,
					100*high)
			}
		}
	}
}

// With many classes the engine computes what is added up number by number with few: both give the same.
func TestManyClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes minutes under emulation, which changes nothing of it")
	}
	e := newEngine(t)
	classes := newNormalClasses(3, 20, 30, 1.5)
	s := classes.draw(rand.New(rand.NewPCG(1, 2)), 30)
	for _, b := range []*bootstrap{bootstrapOf(t, e, s, false), bootstrapOf(t, e, s, true)} {
		draws, err := b.draw(context.Background(), BootstrapOptions{Draws: 20, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, err := bootstrapOf(t, e, s, false).draw(context.Background(), BootstrapOptions{Draws: 20, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			near(t, "E of a draw", draws[i], v, 1e-4*v)
		}
	}
	many := newNormalClasses(3, MostQuantileClasses+4, 220, 4)
	got, err := Bootstrap(context.Background(), e, many.draw(rand.New(rand.NewPCG(1, 2)), 30), BootstrapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	truth := many.fuzziness()
	t.Logf("D %.1f, limit %.1f, interval %.1f, truth %.1f", got.plain, got.Limit, got.CI, truth)
	if got.Draws != fewDraws || len(got.CI) != 2 || !(float64(got.CI[0]) <= truth && truth <= float64(got.CI[1])) {
		t.Errorf("%d draws, interval %v of %v, want %d and %v within", got.Draws, got.CI, got.Limit, fewDraws, truth)
	}
}

func bootstrapOf(t *testing.T, e *engine.Engine, in Input, few bool) *bootstrap {
	t.Helper()
	b, err := newBootstrap(context.Background(), e, in)
	if err != nil {
		t.Fatal(err)
	}
	if b.few = few; few {
		b.spread, b.crude, _ = b.spreads(b.outside())
	}
	return b
}

// The interval of rho, and that of the slope of a line, contain the truth in 93 to 97% of 2,000 trials if
// residuals are independent and normal, as Law assumes.
func TestLawCovers(t *testing.T) {
	const trials, points = 2000, 7
	random := rand.New(rand.NewPCG(1, 2))
	names := make([]string, points)
	rho, slope, curved := 0, 0, 0
	for range trials {
		d, y := make([]float64, points), make([]float64, points)
		for l := range d {
			y[l] = 0.3 - 0.4*float64(l) + 0.2*random.NormFloat64()
			d[l] = math.Exp(y[l])
		}
		law, err := FitLaw(names, d)
		if err != nil {
			t.Fatal(err)
		}
		line, err := FitLine(names, y)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "slope", line.Slope, math.Log(law.Rho), 1e-12)
		if float64(law.RhoCI[0]) <= math.Exp(-0.4) && math.Exp(-0.4) <= float64(law.RhoCI[1]) {
			rho++
		}
		if line.SlopeCI[0] <= -0.4 && -0.4 <= line.SlopeCI[1] {
			slope++
		}
		if line.Curvature.CI[0] <= 0 && 0 <= line.Curvature.CI[1] {
			curved++
		}
	}
	for what, n := range map[string]int{"rho": rho, "slope": slope, "curvature": curved} {
		if share := float64(n) / trials; share < 0.93 || share > 0.97 {
			t.Errorf("%s: %.1f%% of intervals contain the truth: want 93 to 97%%", what, 100*share)
		}
	}
}

// counting is a source that knows the largest read.
type counting struct {
	Source
	most atomic.Int64
}

func (c *counting) ReadRows(dst []float64, from int) error {
	for old := c.most.Load(); int64(len(dst)) > old && !c.most.CompareAndSwap(old, int64(len(dst))); {
		old = c.most.Load()
	}
	return c.Source.ReadRows(dst, from)
}

// A source that reads float64 and counts the largest block gives the same bits as a Set, whatever the threads,
// and is never asked for more than a block.
func TestSourceIsASet(t *testing.T) {
	e := newEngine(t)
	for _, dim := range []int{40, 1100} { // 1100: chunks are read in parts
		if testing.Short() && dim > 40 { // the products take a minute under emulation
			continue
		}
		c := chain{classes: 3, dim: dim, gain: []float64{1}, noise: []float64{0.3}}
		set := c.draw(rand.New(rand.NewPCG(1, 1)), 200)[0]
		samples, err := set.samples()
		if err != nil {
			t.Fatal(err)
		}
		counted := &counting{Source: samples.Source}
		samples.Source = counted
		o := Options{Engine: e, Draws: 20, Spread: dim < 100, Probe: dim < 100}
		want, err := Measure(context.Background(), "x", set, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Threads = 3
		got, err := Measure(context.Background(), "x", samples, o)
		if err != nil {
			t.Fatal(err)
		}
		if bits(got) != bits(want) || got.FuzzinessCI[0] != want.FuzzinessCI[0] ||
			o.Spread && (*got.Spread != *want.Spread || *got.Probe != *want.Probe) {
			t.Errorf("%d features of a source have other statistics than the same numbers in a set", dim)
		}
		if most := counted.most.Load(); most > scanFloats {
			t.Errorf("%d numbers were read at a time", most)
		}
	}
}

// A perfect simplex has collapsed, its own means as weights are dual to it, and the probe errs on nothing.
func TestCollapsed(t *testing.T) {
	e := newEngine(t)
	c := chain{classes: 5, dim: 8, gain: []float64{1}, noise: []float64{1e-3}}
	sets := c.draw(rand.New(rand.NewPCG(1, 1)), 40)
	classifier := &Classifier{Dim: 8, Weights: make([]float64, 40), Bias: make([]float64, 5)}
	for k := range 5 {
		for j := range 5 {
			classifier.Weights[k*8+j] = -0.2
		}
		classifier.Weights[k*8+k] = 0.8
	}
	l, err := Measure(context.Background(), "x", sets[0], Options{Engine: e, Spread: true, Probe: true,
		Classifier: classifier, Test: sets[0]})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]Float{"NC1": l.NC1, "NC1Balanced": l.NC1Balanced, "NC1Trace": l.NC1Trace,
		"NC2Norms": l.NC2Norms, "NC2Angles": l.NC2Angles, "NC2MaxAngle": l.NC2MaxAngle, "NC2Frame": l.NC2Frame,
		"NC3": l.Duality.NC3, "NC3Frame": l.Duality.NC3Frame, "NC4": Float(l.Duality.NC4),
		"VCI": l.VariabilityCollapse, "probe errors": Float(1 - l.ProbeAccuracy),
		"classifier errors": Float(1 - l.Duality.Accuracy), "test errors": Float(1 - l.Test.NearestMeanAccuracy),
		"1 - discrimination": 1 - l.Discrimination} {
		if !(math.Abs(float64(v)) <= 2e-3) {
			t.Errorf("%s is %v in a simplex, want about 0", name, v)
		}
	}
}

// The products of the engine differ from those in float64 by their rounding only.
func TestEngineProducts(t *testing.T) {
	e := newEngine(t)
	const n, dim = 700, 600
	s := gaussian(rand.New(rand.NewPCG(4, 4)), n, dim, 3)
	samples, err := checked(s)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := newScatter(context.Background(), samples, 2)
	if err != nil {
		t.Fatal(err)
	}
	x := linalg.Widen(s.X)
	want, got := make([]float64, dim*dim), make([]float64, dim*dim)
	addProducts(context.Background(), want, x, dim, 2)
	sc.engineProducts(e, got)(x)
	for i := range dim {
		for j := range i + 1 {
			size := math.Sqrt(want[i*dim+i] * want[j*dim+j])
			if d := math.Abs(got[i*dim+j] - want[i*dim+j]); !(d <= 1e-6*size) {
				t.Fatalf("element (%d, %d) is %v, want %v", i, j, got[i*dim+j], want[i*dim+j])
			}
		}
	}
}

// CKA does not change with rotation, scale and place, and is near 0 for independent features. Samples that are
// sorted by class make no difference.
func TestCKA(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	random := rand.New(rand.NewPCG(5, 6))
	const n, dim = 1300, 3
	a := make([]float32, n*dim)
	for i := range a {
		a[i] = float32(random.NormFloat64() + math.Floor(float64(i)/float64(len(a))*4))
	}
	b, c := make([]float32, n*dim), make([]float32, n*dim)
	for i := range n {
		x, y, z := a[i*dim], a[i*dim+1], a[i*dim+2]
		b[i*dim], b[i*dim+1], b[i*dim+2] = 50*y+3, -50*x-7, 50*z // a rotation by 90 degrees
		for j := range dim {
			c[i*dim+j] = float32(random.NormFloat64())
		}
	}
	cka, rows, err := CKA(context.Background(), e, []Source{memory{a, dim}, memory{b, dim}, memory{c, dim}})
	if err != nil || rows != n {
		t.Fatal(rows, err)
	}
	near(t, "CKA of a rotation", cka[1], 1, 1e-6)
	near(t, "CKA of independent features", cka[2], 0, 0.01)
	if cka[0] != 1 || cka[5] != cka[7] {
		t.Errorf("CKA %v", cka)
	}
	for v := float32(0.1); v < 3; v += 0.1 { // the mean of equal numbers is rounded
		constant := make([]float32, n*dim)
		for i := range constant {
			constant[i] = v
		}
		layers := []Source{memory{constant, dim}, memory{a, dim}, memory{constant[:n], 1}}
		if cka, _, err = CKA(context.Background(), e, layers); err != nil {
			t.Fatal(err)
		}
		for i, got := range cka {
			if i == 4 && got != 1 || i != 4 && !math.IsNaN(got) {
				t.Errorf("all features %v: CKA %v, want NaN but for the layer that varies", v, cka)
				break
			}
		}
	}
}

// Wrong inputs give one line.
func TestDepthErrors(t *testing.T) {
	e := newEngine(t)
	c := chain{classes: 3, dim: 4, gain: []float64{1, 1}, noise: []float64{0.3, 0.3}}
	sets := c.draw(rand.New(rand.NewPCG(1, 1)), 10)
	other := Set{X: sets[1].X, Dim: 4, Labels: append([]uint16{2}, sets[1].Labels[1:]...)}
	bad := Set{X: append([]float32{float32(math.NaN())}, sets[1].X[1:]...), Dim: 4, Labels: sets[1].Labels}
	unknown := Set{X: sets[1].X[:8], Dim: 4, Labels: []uint16{0, 9}}
	for _, c := range []struct {
		layers []LayerInput
		want   string
	}{
		{nil, "no layers"},
		{[]LayerInput{{Name: "a", Input: sets[0]}, {Name: "b", Input: other}}, `labels differ from those of layer "a"`},
		{[]LayerInput{{Name: "a", Input: bad}}, `layer "a": separation: feature at row 0, column 0 is NaN`},
		{[]LayerInput{{Name: "a", Input: sets[0], Test: bad}}, "test: separation: feature at row 0"},
		{[]LayerInput{{Name: "a", Input: sets[0], Test: unknown}}, "class 9, which no training sample has"},
		{[]LayerInput{{Name: "a", Input: sets[0], Test: Set{X: sets[0].X, Dim: 2, Labels: make([]uint16, 60)}}},
			"width 2: expected 4"},
		{[]LayerInput{{Name: "a", Input: sets[0], Classifier: &Classifier{Dim: 4, Weights: make([]float64, 8)}}},
			"classifier of 2 x 4 weights: expected 3 x 4"},
	} {
		_, err := MeasureDepth(context.Background(), c.layers, Options{Engine: e, Spread: true, Probe: true}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestLoadShares compares shares of the fall of log D with those by hand.
func TestLoadShares(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ d, want []float64 }{
		{[]float64{8, 4, 1}, []float64{1. / 3, 2. / 3}},
		{[]float64{8, 16, 2}, []float64{-0.5, 1.5}},
		{[]float64{8, 4, 8}, nil},
		{[]float64{1, 2}, nil},
		{[]float64{8, nan, 1}, nil},
		{[]float64{8, 0}, nil},
		{[]float64{8}, nil},
	} {
		got := LoadShares(c.d)
		if (got == nil) != (c.want == nil) || len(got) != len(c.want) {
			t.Errorf("%v: %v, want %v", c.d, got, c.want)
			continue
		}
		for i, v := range c.want {
			if !(math.Abs(got[i]-v) <= 1e-12) {
				t.Errorf("%v: %v, want %v", c.d, got, c.want)
			}
		}
	}
}

// TestLawsWithoutLogits checks that logits are part of no law but LawWithLogits.
func TestLawsWithoutLogits(t *testing.T) {
	var layers []Layer
	for i, name := range []string{"a", "b", "c", LogitsName} {
		v := Float(math.Exp(float64(-i * i)))
		layers = append(layers, Layer{Name: name, Fuzziness: v, Compression: v, Discrimination: v})
	}
	w := FitLaws(layers)
	if w.Law.Points != 3 || w.CompressionLaw.Points != 3 || w.DiscriminationLine.Points != 3 ||
		w.LawWithLogits.Points != 4 {
		t.Errorf("%d, %d, %d and %d layers", w.Law.Points, w.CompressionLaw.Points, w.DiscriminationLine.Points,
			w.LawWithLogits.Points)
	}
}

// TestHSICByHand holds HSIC against Song et al. (2012), equation 5, with matrices of zeros on the diagonal.
func TestHSICByHand(t *testing.T) {
	k := engine.NewMatrix(5, 5)
	g := gram{k: k, sums: make([]float64, 5)}
	for i := range 5 {
		for j := range 5 {
			if i != j {
				v := float64((i+1)*(j+1)) + 3
				k.Set(i, j, float32(v))
				g.sums[i] += v
				g.all += v
			}
		}
	}
	var trace, both float64
	for i := range 5 {
		both += g.sums[i] * g.sums[i]
		for j := range 5 {
			trace += float64(k.At(i, j)) * float64(k.At(j, i))
		}
	}
	near(t, "HSIC", g.hsic(g), (trace+g.all*g.all/(4*3)-2*both/3)/(5*2), 1e-9)
}
