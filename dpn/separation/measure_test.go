package separation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// splitMix is the SplitMix64 generator (Steele, Lea and Flood 2014).
type splitMix uint64

// next returns a number between -1 and 1.
func (s *splitMix) next() float64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(int64(z)>>11) * 0x1p-52
}

// pseudoRandom draws features with an integer generator, so that they are the same on every machine.
func pseudoRandom(rows, dim, classes int) Set {
	var random splitMix
	s := Set{Dim: dim, X: make([]float32, rows*dim), Labels: make([]uint16, rows)}
	for i := range rows {
		s.Labels[i] = uint16(i % classes)
		for j := range dim {
			s.X[i*dim+j] = float32(random.next()) + float32((i%classes)*(j%7))/8
		}
	}
	return s
}

// bits returns a digest of every number of the layers.
func bits(layers ...Layer) string {
	h := sha256.New()
	for _, l := range layers {
		binary.Write(h, binary.LittleEndian, []float64{
			float64(l.Fuzziness), l.FuzzinessProduct, l.Tolerance, l.SmallestEigenvalue, l.MeanDistance,
			l.BetweenTrace, l.WithinTrace, float64(l.BetweenWithinRatio), l.PCA.TotalVariance,
			float64(l.FuzzinessBalanced), float64(l.ClassDistanceVariance), l.NearestMeanAccuracy,
			float64(l.NoiseShare)})
		for _, v := range [][]float64{l.ExplainedVariance, l.PCA.Mean, l.PCA.Eigenvalues, l.PCA.Components} {
			binary.Write(h, binary.LittleEndian, v)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestMeasureDoesNotDependOnThreads(t *testing.T) {
	s := pseudoRandom(1700, 200, 6)
	counts := []struct{ procs, threads int }{{1, 0}, {2, 7}, {1, 1}, {2, 0}, {2, 2}, {3, 0}}
	if testing.Short() {
		counts = counts[:2]
	}
	var first string
	for _, c := range counts {
		before := runtime.GOMAXPROCS(c.procs)
		l, err := Measure(context.Background(), "x", s, Options{Threads: c.threads})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if l.PCA.Method != "krylov" {
			t.Fatalf("method is %q: this case should use krylov", l.PCA.Method)
		}
		if first == "" {
			first = bits(l)
		}
		if got := bits(l); got != first {
			t.Errorf("GOMAXPROCS %d, %d threads: digest %s: want %s", c.procs, c.threads, got, first)
		}
	}
}

// Classified names the samples of accuracy and NC4: those of the test where there are some.
func TestClassified(t *testing.T) {
	for want, l := range map[string]Layer{"training": {}, "test": {Test: &Test{}}} {
		if got := l.Classified(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The bits are the same on every architecture. The digest is committed, and the tests also run on
// arm64, where the compiler may fuse products and sums.
func TestMeasureBits(t *testing.T) {
	const want = "e16e267d716464e7eb3ade7cdaaf3559eca9fbed38eac24cfdfb3d79caf52b78"
	var layers []Layer
	for _, shape := range [][3]int{{40, 300, 5}, {600, 24, 10}, {700, 180, 4}} { // gram, covariance, krylov
		l, err := Measure(context.Background(), "x", pseudoRandom(shape[0], shape[1], shape[2]), Options{})
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, l)
	}
	if got := bits(layers...); got != want {
		t.Errorf("digest is %s on %s: want %s", got, runtime.GOARCH, want)
	}
}

// The noise of class means is estimated without bias, also from classes of few samples: each of the first ones has a
// variance of 2 around its mean, or too few samples to tell, and SSb has one direction. Of two directions only the
// noise along the smaller one counts, and all of it where three classes have one feature.
func TestNoiseShare(t *testing.T) {
	for _, c := range []struct {
		x      []float32
		labels []uint16
		want   float64 // sum_k p_k (1 - p_k) 2 / n_k over the eigenvalue of SSb
	}{
		{[]float32{-1, 1, 9, 11}, []uint16{0, 0, 1, 1}, 0.5 / 25},
		{[]float32{-1, 1, 2}, []uint16{0, 0, 1}, 2. / 9 * 3 / (2. / 9 * 4)},
		{[]float32{1, 5}, []uint16{0, 1}, math.Inf(1)},
		{[]float32{-7, -5, -1, 1, 5, 7}, []uint16{0, 0, 1, 1, 2, 2}, 2. / 3 / 24},
		{[]float32{-10, 1, -2, 1, -6, 1.5, -6, 0.5, 2, 1, 10, 1, 6, 1.5, 6, 0.5, -4, -2, 4, -2, 0, -1.5, 0, -2.5},
			[]uint16{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, 2. / 3 * 0.125 / 3 / 2 / 2},
	} {
		l, err := Measure(context.Background(), "x", Set{X: c.x, Dim: len(c.x) / len(c.labels), Labels: c.labels},
			Options{})
		got := float64(l.NoiseShare)
		if err != nil || got != c.want && !(math.Abs(got-c.want) < 1e-12) || (got > noiseLimit) != (l.Warning != "") {
			t.Errorf("classes %v: noise share %v, warning %q, %v: want %v", c.labels, got, l.Warning, err, c.want)
		}
	}
}

func TestLayerJSON(t *testing.T) {
	l, err := Measure(context.Background(), "features",
		Set{X: []float32{0, 2, 4, 6}, Dim: 1, Labels: []uint16{200, 200, 1, 1}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "features", "dim": 1.0, "samples": 4.0, "classes": 2.0,
		"class_labels": []any{1.0, 200.0}, "class_counts": []any{2.0, 2.0},
		"fuzziness": float64(l.Fuzziness), "fuzziness_product": l.FuzzinessProduct, "rank": 1.0,
		"tolerance": l.Tolerance, "smallest_eigenvalue": l.SmallestEigenvalue,
		"mean_distance": 4.0, "between_trace": l.BetweenTrace, "within_trace": 1.0,
		"between_within_ratio": float64(l.BetweenWithinRatio),
		"fuzziness_balanced":   float64(l.FuzzinessBalanced), "nc1": float64(l.NC1),
		"class_distance_variance": 1. / 16, "nearest_mean_accuracy": 1.0, "noise_share": float64(l.NoiseShare),
		"explained_variance": []any{1.0}, "nc1_balanced": float64(l.NC1Balanced), "nc1_trace": float64(l.NC1Trace),
		// The class means 1 and 5 are 2 from their mean, on either side, and have one sign.
		"nc2_norms": 0.0, "nc2_angles": 0.0, "nc2_max_angle": 0.0, "nc2_frame": 0.0,
		"compression": float64(l.Compression), "discrimination": 0.0, "stable_rank": 1.0, "warning": l.Warning,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("JSON is\n%v\nwant\n%v", got, want)
	}
}

func TestUndefinedStatisticsAreNullInJSON(t *testing.T) {
	for _, x := range [][]float32{{5, 5, 5, 5}, {1, 3, 3, 1}} { // D is NaN, then +Inf
		l, err := Measure(context.Background(), "collapsed", Set{X: x, Dim: 1, Labels: []uint16{0, 0, 1, 1}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		var back Layer
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !math.IsNaN(float64(back.Fuzziness)) || back.Rank != 0 {
			t.Errorf("read back from %s: D %v, rank %d: want NaN and 0", b, back.Fuzziness, back.Rank)
		}
	}
}

func TestFloatJSON(t *testing.T) {
	var f Float
	if err := json.Unmarshal([]byte(`"x"`), &f); err == nil {
		t.Error("a string was read as a number")
	}
	for _, v := range []float64{0, -1.5, 1e300, 0.1} {
		b, err := json.Marshal(Float(v))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &f); err != nil || float64(f) != v {
			t.Errorf("%v came back as %v (%v)", v, f, err)
		}
	}
}

// ending is a context that ends after left calls of Err.
type ending struct {
	context.Context
	left atomic.Int64
}

func (c *ending) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Measure and FitPCA check their context at least once per column of the matrices that they
// decompose, and return its error whenever it ends, for each method of computing components.
func TestMeasureStops(t *testing.T) {
	const plenty = 1 << 40
	for _, c := range []struct {
		method                string
		rows, dim, components int
		asks                  int64
	}{
		{"covariance", 300, 100, AllComponents, 100},
		{"gram", 100, 300, AllComponents, 100},
		{"krylov", 300, 200, 2, 4},
	} {
		s := pseudoRandom(c.rows, c.dim, 4)
		o := Options{Components: c.components, Threads: 2}
		count := func() *ending { e := &ending{Context: context.Background()}; e.left.Store(plenty); return e }
		ctx := count()
		l, err := Measure(ctx, "x", s, o)
		if err != nil || l.PCA.Method != c.method {
			t.Fatalf("method %v, %v: want %s", l.PCA, err, c.method)
		}
		all := plenty - ctx.left.Load()
		if all < c.asks {
			t.Errorf("%s: the context is checked %d times, want at least %d", c.method, all, c.asks)
		}
		for _, left := range []int64{0, 1, all / 4, all / 2, all - 1} {
			ctx.left.Store(left)
			if _, err := Measure(ctx, "x", s, o); err != context.Canceled {
				t.Errorf("%s, ended after %d of %d: %v", c.method, left, all, err)
			}
			if asked := left - ctx.left.Load(); asked > left+int64(c.rows+c.dim) {
				t.Errorf("%s, ended after %d: checked %d times", c.method, left, asked)
			}
		}
		ctx.left.Store(0)
		if _, err := FitPCA(ctx, s.X, s.Dim, 2, 2); err != context.Canceled {
			t.Errorf("%s: components alone: %v", c.method, err)
		}
	}
}

// TestCollapseOfUnequalClasses measures classes of unequal sizes whose means are a simplex: neural collapse gives every
// class the same weight, compression its share.
func TestCollapseOfUnequalClasses(t *testing.T) {
	s := Set{Dim: 4}
	for k, n := range []int{10, 20, 70} {
		for i := range n {
			x := []float32{0, 0, 0, 0.1 * float32(k+1) * float32(1-2*(i%2))}
			x[k] = 1
			s.X, s.Labels = append(s.X, x...), append(s.Labels, uint16(k))
		}
	}
	l, err := Measure(context.Background(), "x", s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "NC2 norms", float64(l.NC2Norms), 0, 1e-6)
	near(t, "NC2 frame", float64(l.NC2Frame), 0, 1e-6)
	within := 0.01 * (1 + 4 + 9) / 3 // SSb of equal weights has the trace 2/3
	near(t, "NC1 trace", float64(l.NC1Trace), within/(2./3), 1e-6)
	weighted := 0.01 * (0.1*1 + 0.2*4 + 0.7*9) / (1 - 0.01 - 0.04 - 0.49)
	near(t, "compression", float64(l.Compression), weighted, 1e-6)
}

// TestInputsMissing leaves out what a statistic is of, or computes it.
func TestInputsMissing(t *testing.T) {
	ctx, e, good := context.Background(), newEngine(t), pseudoRandom(40, 3, 2)
	empty := Samples{Labels: []int{0, 1}}
	flat := Samples{Source: formula{2, 0}, Labels: []int{0, 1}}
	for name, err := range map[string]error{
		"no features":         second(Measure(ctx, "x", nil, Options{})),
		"no features: Source": second(Measure(ctx, "x", empty, Options{})),
		"no features: Test":   second(Measure(ctx, "x", good, Options{Test: empty})),
		"no features: D":      second(MeasureFuzziness(nil, 1)),
		"no features: depth":  second(MeasureDepth(ctx, []LayerInput{{Name: "x"}}, Options{}, nil)),
		"no features: draws":  second(Bootstrap(ctx, e, nil, BootstrapOptions{})),
		"no features: curve":  second(Curve(ctx, e, empty, CurveOptions{})),
		"no engine: draws":    second(Bootstrap(ctx, nil, good, BootstrapOptions{})),
		"no engine: curve":    second(Curve(ctx, nil, good, CurveOptions{})),
		"of width 0":          second(Bootstrap(ctx, e, flat, BootstrapOptions{})),
	} {
		if want, _, _ := strings.Cut(name, ": "); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	source := memory{good.X, good.Dim}
	if _, _, err := CKA(ctx, e, []Source{source, nil}); err == nil || !strings.Contains(err.Error(), "layer 1: no") {
		t.Errorf("CKA: %v", err)
	}
	if _, _, err := CKA(ctx, nil, []Source{source}); err != errNoEngine {
		t.Errorf("CKA: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
