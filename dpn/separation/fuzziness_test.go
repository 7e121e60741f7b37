package separation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/mat"
)

// explicit holds statistics computed by their definitions: from d x d scatter matrices and a
// pseudo-inverse by a full SVD.
type explicit struct {
	d, product, between, within, distance float64
	rank                                  int

	variance float64 // class-distance normalised
	nearest  float64 // accuracy
}

// measureExplicitly computes them with class weights n_k/n, or 1/K if balanced is set.
func measureExplicitly(t *testing.T, s Set, balanced bool) explicit {
	t.Helper()
	n, dim := s.Len(), s.Dim
	byClass := map[uint16][]int{}
	for i, l := range s.Labels {
		byClass[l] = append(byClass[l], i)
	}
	// Means are relative to the first row, so that a large offset does not corrupt the reference.
	mean := func(rows []int) []float64 {
		m := make([]float64, dim)
		for _, i := range rows {
			for j := range m {
				m[j] += (float64(s.X[i*dim+j]) - float64(s.X[j])) / float64(len(rows))
			}
		}
		return m
	}
	weight := func(rows []int) float64 {
		if balanced {
			return 1 / float64(len(byClass))
		}
		return float64(len(rows)) / float64(n)
	}
	m := make([]float64, dim)
	for _, rows := range byClass {
		for j, v := range mean(rows) {
			m[j] += weight(rows) * v
		}
	}
	b, w := mat.NewDense(dim, dim, nil), mat.NewDense(dim, dim, nil)
	var out explicit
	var means [][]float64
	var traces []float64
	diff := make([]float64, dim)
	for l := range 256 {
		rows := byClass[uint16(l)]
		if len(rows) == 0 {
			continue
		}
		mk := mean(rows)
		for j := range diff {
			diff[j] = mk[j] - m[j]
		}
		b.RankOne(b, weight(rows), mat.NewVecDense(dim, diff), mat.NewVecDense(dim, diff))
		var trace float64
		for _, i := range rows {
			for j := range diff {
				diff[j] = float64(s.X[i*dim+j]) - float64(s.X[j]) - mk[j]
				trace += diff[j] * diff[j] / float64(len(rows))
			}
			w.RankOne(w, weight(rows)/float64(len(rows)), mat.NewVecDense(dim, diff), mat.NewVecDense(dim, diff))
		}
		for a, other := range means {
			sum := squaredDistance(mk, other)
			out.distance += math.Sqrt(sum)
			out.variance += (traces[a] + trace) / 2 / sum
		}
		means, traces = append(means, mk), append(traces, trace)
	}
	pairs := float64(len(means) * (len(means) - 1) / 2)
	out.distance /= pairs
	out.variance /= pairs
	for i, l := range s.Labels {
		x, at, best := make([]float64, dim), -1, math.Inf(1)
		for j := range x {
			x[j] = float64(s.X[i*dim+j]) - float64(s.X[j])
		}
		k := 0
		for c := range 256 {
			if byClass[uint16(c)] == nil {
				continue
			}
			if sum := squaredDistance(x, means[k]); sum < best*(1-1e-12) { // ties to the lower class
				at, best = c, sum
			}
			k++
		}
		if at == int(l) {
			out.nearest += 1 / float64(n)
		}
	}
	out.between, out.within = mat.Trace(b), mat.Trace(w)

	var svd mat.SVD
	if !svd.Factorize(b, mat.SVDFull) {
		t.Fatal("the reference SVD did not converge")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	inverse := mat.NewDense(dim, dim, nil)
	for j, sigma := range values {
		if j < len(means)-1 && sigma > 1e-12*values[0] {
			inverse.RankOne(inverse, 1/sigma, v.ColView(j), u.ColView(j))
			out.rank++
		}
	}
	var wb mat.Dense
	wb.Mul(w, inverse)
	out.d = mat.Trace(&wb)
	wb.Mul(w, b)
	out.product = mat.Trace(&wb)
	return out
}

func squaredDistance(a, b []float64) float64 {
	var sum float64
	for j := range a {
		sum += (a[j] - b[j]) * (a[j] - b[j])
	}
	return sum
}

// compare checks every statistic of the set against the explicit one, with a relative tolerance of 1e-9.
func compare(t *testing.T, s Set) {
	t.Helper()
	want, balanced := measureExplicitly(t, s, false), measureExplicitly(t, s, true)
	got, err := Measure(context.Background(), "x", s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Rank != want.rank {
		t.Errorf("rank is %d: want %d", got.Rank, want.rank)
	}
	relative := func(what string, got, want float64) {
		t.Helper()
		near(t, what, got, want, 1e-9*math.Abs(want))
	}
	relative("D", float64(got.Fuzziness), want.d)
	relative("balanced D", float64(got.FuzzinessBalanced), balanced.d)
	relative("NC1", float64(got.NC1), want.d/float64(got.Classes))
	near(t, "nearest-mean accuracy", got.NearestMeanAccuracy, want.nearest, 1e-12)
	if !math.IsInf(want.variance, 1) && want.variance < 1e12 { // no two means coincide
		relative("class-distance variance", float64(got.ClassDistanceVariance), want.variance)
	}
	relative("product", got.FuzzinessProduct, want.product)
	relative("Tr(SSb)", got.BetweenTrace, want.between)
	relative("Tr(SSw)", got.WithinTrace, want.within)
	relative("ratio", float64(got.BetweenWithinRatio), want.between/want.within)
	relative("mean distance", got.MeanDistance, want.distance)
	relative("total variance", got.PCA.TotalVariance, want.between+want.within)
	if got.SmallestEigenvalue <= got.Tolerance {
		t.Errorf("smallest kept eigenvalue %v is not above the tolerance %v", got.SmallestEigenvalue, got.Tolerance)
	}
}

// gaussian draws n rows around K class centres. The labels cycle through the classes, so classes
// are not contiguous.
func gaussian(random *rand.Rand, n, dim, classes int) Set {
	centres := make([]float64, classes*dim)
	for i := range centres {
		centres[i] = 2 * random.NormFloat64()
	}
	s := Set{Dim: dim, X: make([]float32, n*dim), Labels: make([]uint16, n)}
	for i := range n {
		k := i % classes
		s.Labels[i] = uint16(3 * k)
		for j := range dim {
			s.X[i*dim+j] = float32(centres[k*dim+j] + random.NormFloat64())
		}
	}
	return s
}

func TestFuzzinessAgainstPseudoInverse(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	column := func(s Set, j int, f func(i int) float32) Set {
		for i := range s.Len() {
			s.X[i*s.Dim+j] = f(i)
		}
		return s
	}
	row := func(s Set, i int) []float32 { return s.X[i*s.Dim : (i+1)*s.Dim] }

	wide := gaussian(random, 60, 40, 10)
	// The class means lie exactly on a line: each class consists of its mean plus and minus integers.
	onLine := Set{Dim: 6}
	for k := range 4 {
		for range 5 {
			plus, minus := make([]float32, 6), make([]float32, 6)
			for j := range plus {
				noise := float32(random.IntN(21) - 10)
				plus[j], minus[j] = float32(k*(j+1))+noise, float32(k*(j+1))-noise
			}
			onLine.X = append(append(onLine.X, plus...), minus...)
			onLine.Labels = append(onLine.Labels, uint16(k), uint16(k))
		}
	}
	duplicated := gaussian(random, 50, 7, 5)
	column(duplicated, 6, func(i int) float32 { return duplicated.X[i*7+2] })
	constant := column(gaussian(random, 50, 7, 5), 3, func(int) float32 { return 1e6 })
	offset := gaussian(random, 50, 7, 5)
	for i := range offset.X {
		offset.X[i] += 4096
	}
	single := gaussian(random, 41, 6, 4)
	for i, l := range single.Labels {
		if l == 9 && i > 3 {
			single.Labels[i] = 0
		}
	}
	sameMeans := gaussian(random, 40, 6, 4) // two of four classes coincide: rank 2
	for i := range sameMeans.Len() {
		if i%4 == 1 {
			copy(row(sameMeans, i), row(sameMeans, i-1))
		}
	}

	for name, s := range map[string]Set{
		"wide":                           wide,
		"more classes than features":     gaussian(random, 60, 3, 8),
		"one feature":                    gaussian(random, 20, 1, 3),
		"two classes":                    gaussian(random, 20, 5, 2),
		"as many features as the rank":   gaussian(random, 60, 4, 5),
		"class means on a line":          onLine,
		"two classes with the same mean": sameMeans,
		"duplicated feature":             duplicated,
		"constant feature":               constant,
		"offset":                         offset,
		"one sample in a class":          single,
		"one sample in all classes but one": {Dim: 2, X: []float32{0, 0, 1, 0, 0, 3, 2, 2},
			Labels: []uint16{0, 0, 1, 2}},
		"more rows than a chunk": gaussian(random, 1200, 20, 10),
	} {
		t.Run(name, func(t *testing.T) { compare(t, s) })
	}
	if f, _ := MeasureFuzziness(onLine, 0); f.Rank != 1 {
		t.Errorf("class means on a line: rank %d: want 1", f.Rank)
	}
	if f, _ := MeasureFuzziness(sameMeans, 0); f.Rank != 2 {
		t.Errorf("two of four classes coincide: rank %d: want 2", f.Rank)
	}
}

// Random shapes, class sizes and scales, many of them with fewer rows than features or classes.
func TestFuzzinessOfRandomSets(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation, and the same on every machine up to rounding")
	}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 11))
		n, dim := 3+random.IntN(60), 1+random.IntN(30)
		s := gaussian(random, n, dim, 2+random.IntN(min(9, n-2)))
		for i := range s.Labels { // unbalance the classes
			if i > 1 && random.IntN(3) == 0 {
				s.Labels[i] = s.Labels[0]
			}
		}
		power := math.Pow(10, float64(random.IntN(13)-6))
		for i := range s.X {
			s.X[i] = float32(float64(s.X[i]) * power)
		}
		t.Run(fmt.Sprintf("seed %d n %d dim %d", seed, n, dim), func(t *testing.T) { compare(t, s) })
	}
}

func TestFuzzinessByHand(t *testing.T) {
	for _, c := range []struct {
		name       string
		s          Set
		d, product float64
		ratio      float64
		distance   float64
		rank       int
	}{
		// Class means 1 and 5, overall 3: SSb = 4, SSw = 1.
		{"two classes on a line", Set{[]float32{0, 2, 4, 6}, 1, []uint16{0, 0, 1, 1}}, 0.25, 4, 4, 4, 1},
		// n_k/n = 1/4 and 3/4, means 4 and 0: SSb = 3/4 * 1/4 * 16 = 3,
		// SSw = (0 + 1 + 0 + 1)/4 = 1/2.
		{"unequal classes", Set{[]float32{4, 1, 0, -1}, 1, []uint16{7, 2, 2, 2}}, 0.5 / 3, 1.5, 6, 4, 1},
		// Means (+-2, 0), (0, +-1), two samples at +-(1, 1/2) about each:
		// SSb = diag(2, 1/2), SSw = [[1, 1/2], [1/2, 1/4]]. Distances: 4, 2 and
		// four times sqrt 5.
		{"four classes in the plane", Set{
			[]float32{3, .5, 1, -.5, -1, .5, -3, -.5, 1, 1.5, -1, .5, 1, -.5, -1, -1.5}, 2,
			[]uint16{0, 0, 1, 1, 2, 2, 3, 3}}, 1, 2.125, 2, 1 + 2*math.Sqrt(5)/3, 2},
		// The classes vary only perpendicular to the line of the means: D = 0, although Tr(SSw) = 1.
		{"spread across", Set{[]float32{0, 1, 0, -1, 4, 1, 4, -1}, 2, []uint16{0, 0, 1, 1}}, 0, 0, 4, 4, 1},
		// No variance within classes: D = 0 and the ratio is infinite.
		{"points", Set{[]float32{0, 1, 4, 1}, 2, []uint16{0, 1}}, 0, 0, math.Inf(1), 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Measure(context.Background(), c.name, c.s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "D", float64(l.Fuzziness), c.d, 1e-15)
			near(t, "product", l.FuzzinessProduct, c.product, 1e-14)
			near(t, "mean distance", l.MeanDistance, c.distance, 1e-15)
			if ratio := float64(l.BetweenWithinRatio); ratio != c.ratio && !(math.Abs(ratio-c.ratio) < 1e-14) {
				t.Errorf("ratio is %v: want %v", ratio, c.ratio)
			}
			if l.Rank != c.rank {
				t.Errorf("rank is %d: want %d", l.Rank, c.rank)
			}
		})
	}
}

// integers draws small integers as features, so that linear maps with integer coefficients are
// exact in float32.
func integers(random *rand.Rand, n, dim, classes int) Set {
	s := Set{Dim: dim, X: make([]float32, n*dim), Labels: make([]uint16, n)}
	for i := range n {
		s.Labels[i] = uint16(i % classes)
		for j := range dim {
			s.X[i*dim+j] = float32(random.IntN(41) - 20 + 9*(i%classes)*((j+i%classes)%3))
		}
	}
	return s
}

// mapped applies the dim x dim matrix a (row-major) to each row.
func mapped(s Set, a []float64) Set {
	out := Set{Dim: len(a) / s.Dim, Labels: s.Labels, X: make([]float32, s.Len()*len(a)/s.Dim)}
	for i := range s.Len() {
		for r := range out.Dim {
			var sum float64
			for j := range s.Dim {
				sum += a[r*s.Dim+j] * float64(s.X[i*s.Dim+j])
			}
			out.X[i*out.Dim+r] = float32(sum)
		}
	}
	return out
}

func TestFuzzinessInvariances(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := integers(random, 90, 6, 4)
	base, err := Measure(context.Background(), "base", s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	same := func(t *testing.T, s Set, d, product, distance float64) {
		t.Helper()
		l, err := Measure(context.Background(), "mapped", s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "D", float64(l.Fuzziness), d, 1e-12*d)
		near(t, "product", l.FuzzinessProduct, product, 1e-12*product)
		near(t, "mean distance", l.MeanDistance, distance, 1e-12*distance)
	}
	d, product, distance := float64(base.Fuzziness), base.FuzzinessProduct, base.MeanDistance

	t.Run("order of rows", func(t *testing.T) {
		p := Set{Dim: s.Dim}
		for _, i := range random.Perm(s.Len()) {
			p.X = append(p.X, s.X[i*s.Dim:(i+1)*s.Dim]...)
			p.Labels = append(p.Labels, s.Labels[i])
		}
		same(t, p, d, product, distance)
	})
	t.Run("names of classes", func(t *testing.T) {
		p := Set{Dim: s.Dim, X: s.X}
		for _, l := range s.Labels {
			p.Labels = append(p.Labels, 255-17*l)
		}
		same(t, p, d, product, distance)
	})
	t.Run("scale and shift", func(t *testing.T) {
		p := Set{Dim: s.Dim, Labels: s.Labels}
		for i, v := range s.X {
			p.X = append(p.X, -3*v+float32(1000*(i%s.Dim)))
		}
		same(t, p, d, 81*product, 3*distance)
	})
	t.Run("rotation", func(t *testing.T) {
		// Five times the rotation by atan(4/3) in the planes (0,3), (1,4), (2,5) has integer
		// coefficients, and D does not depend on the factor.
		a := make([]float64, 36)
		for j := range 3 {
			a[j*6+j], a[j*6+j+3], a[(j+3)*6+j], a[(j+3)*6+j+3] = 3, -4, 4, 3
		}
		same(t, mapped(s, a), d, 625*product, 5*distance)
	})
	t.Run("repetition of the sample", func(t *testing.T) {
		p := Set{
			Dim:    s.Dim,
			X:      append(append([]float32(nil), s.X...), s.X...),
			Labels: append(append([]uint16(nil), s.Labels...), s.Labels...),
		}
		same(t, p, d, product, distance)
	})
	t.Run("linear map where SSb has full rank", func(t *testing.T) {
		// Tr(A SSw A^T (A SSb A^T)^-1) = Tr(SSw SSb^-1).
		p := integers(random, 90, 3, 5)
		before, err := MeasureFuzziness(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		after, err := MeasureFuzziness(mapped(p, []float64{2, 1, 0, -1, 3, 1, 0, 5, -4}), 0)
		if err != nil {
			t.Fatal(err)
		}
		if before.Rank != 3 {
			t.Fatalf("rank is %d: this case should have full rank", before.Rank)
		}
		near(t, "D", float64(after.D), float64(before.D), 1e-11*float64(before.D))
	})
	t.Run("linear map of the span of the means alone", func(t *testing.T) {
		// The class means differ only in the first two coordinates. D is invariant under linear
		// maps of these two, and does not depend on the others.
		p := Set{Dim: 4}
		for i := range 60 {
			k, sign := i%3, float32(1-2*(i/3%2))
			mean := [][2]float32{{0, 0}, {8, 2}, {-3, 5}}[k]
			noise := []float32{1, float32(1 + k), 2, 5}
			p.X = append(p.X, mean[0]+sign*noise[0], mean[1]+sign*noise[1], sign*noise[2], sign*noise[3])
			p.Labels = append(p.Labels, uint16(k))
		}
		before, err := MeasureFuzziness(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := []float64{2, 1, 0, 0, -1, 3, 0, 0, 0, 0, 7, -2, 0, 0, 1, 1}
		after, err := MeasureFuzziness(mapped(p, a), 0)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "D", float64(after.D), float64(before.D), 1e-12*float64(before.D))
		// A map that mixes in other coordinates moves the span of the means and changes D.
		a[2] = 6
		a[8] = 5
		changed, err := MeasureFuzziness(mapped(p, a), 0)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(float64(changed.D-before.D)) >= 1e-3) {
			t.Errorf("D = %v is unchanged by a map that moves the span of the means", changed.D)
		}
	})
}

// For two classes SSb = p q delta delta^T, so that D has a closed form.
func TestFuzzinessOfTwoClasses(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	const n, dim, first = 200, 9, 60
	s := gaussian(random, n, dim, 2)
	for i := range n {
		s.Labels[i] = 1
		if i < first {
			s.Labels[i] = 0
		}
		s.X[i*dim] += float32(s.Labels[i])
	}
	samples, err := checked(s)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := newScatter(context.Background(), samples, 1)
	if err != nil {
		t.Fatal(err)
	}
	delta := make([]float64, dim)
	for j := range delta {
		delta[j] = sc.classMean(1)[j] - sc.classMean(0)[j]
	}
	length := linalg.Dot(delta, delta)
	var along float64
	for i := range n {
		var p float64
		for j := range dim {
			p += delta[j] * (float64(s.X[i*dim+j]) - sc.ref[j] - sc.classMean(int(s.Labels[i]))[j])
		}
		along += p * p / n
	}
	want := along / (float64(first) / n * (1 - float64(first)/n) * length * length)
	f, err := sc.fuzziness()
	if err != nil {
		t.Fatal(err)
	}
	near(t, "D", float64(f.D), want, 1e-12*want)
}

// If all class means are equal, D is not defined.
func TestFuzzinessWithoutSeparation(t *testing.T) {
	// Both classes have the same rows in a different order, so their means differ by rounding.
	random := rand.New(rand.NewPCG(8, 9))
	const half, dim = 500, 5
	s := Set{Dim: dim, X: make([]float32, 2*half*dim), Labels: make([]uint16, 2*half)}
	for i := range half {
		for j := range dim {
			v := float32(random.NormFloat64())
			s.X[i*dim+j], s.X[(2*half-1-i)*dim+j] = v, v
		}
		s.Labels[i] = 1
	}
	constant := Set{Dim: 2, X: []float32{1, 2, 1, 2, 1, 2}, Labels: []uint16{0, 1, 1}}
	for _, c := range []struct {
		name string
		s    Set
		want float64
	}{
		{"equal means", s, math.Inf(1)},
		{"constant features", constant, math.NaN()},
	} {
		l, err := Measure(context.Background(), c.name, c.s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l.Rank != 0 || l.SmallestEigenvalue != 0 || l.FuzzinessProduct != 0 {
			t.Errorf("%s: rank %d, smallest eigenvalue %v, product %v: want zeros", c.name, l.Rank,
				l.SmallestEigenvalue, l.FuzzinessProduct)
		}
		if d := float64(l.Fuzziness); d != c.want && !(math.IsNaN(d) && math.IsNaN(c.want)) {
			t.Errorf("%s: D is %v: want %v", c.name, d, c.want)
		}
	}
}

func TestSetErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	many := Set{Dim: 3, X: make([]float32, 3*2000), Labels: make([]uint16, 2000)}
	many.Labels[7] = 1
	many.X[3*1999+1] = nan
	many.X[3*700+2] = inf
	for _, c := range []struct {
		name string
		s    Set
		want string
	}{
		{"no features", Set{}, "width 0"},
		{"negative width", Set{Dim: -2}, "width -2"},
		{"ragged", Set{X: make([]float32, 7), Dim: 2, Labels: make([]uint16, 3)},
			"7 features are not whole rows of width 2"},
		{"too few labels", Set{X: make([]float32, 6), Dim: 2, Labels: make([]uint16, 2)}, "2 labels for 3 rows"},
		{"too many labels", Set{X: make([]float32, 6), Dim: 2, Labels: make([]uint16, 4)}, "4 labels for 3 rows"},
		{"no rows", Set{Dim: 2}, "0 rows: at least 2"},
		{"one row", Set{X: make([]float32, 2), Dim: 2, Labels: []uint16{3}}, "1 rows: at least 2"},
		{"one class", Set{X: make([]float32, 4), Dim: 2, Labels: []uint16{3, 3}}, "all 2 rows belong to class 3"},
		{"NaN", Set{X: []float32{0, 1, 2, nan}, Dim: 2, Labels: []uint16{0, 1}}, "row 1, column 1 is NaN"},
		{"infinite", many, "row 700, column 2 is -Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, f := range map[string]func() error{
				"Measure": func() error {
					_,
						err := Measure(context.Background(), "conv1", c.s, Options{})
					return err
				},
				"MeasureFuzziness": func() error { _, err := MeasureFuzziness(c.s, 2); return err },
			} {
				err := f()
				if err == nil {
					t.Fatalf("%s: no error: want one with %q", what, c.want)
				}
				if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: error is %q: want one line with %q", what, err, c.want)
				}
				if what == "Measure" && !strings.Contains(err.Error(), "conv1") {
					t.Errorf("%s: error is %q: want the layer's name in it", what, err)
				}
			}
		})
	}
	ok := Set{X: []float32{0, 1}, Dim: 1, Labels: []uint16{0, 1}}
	for _, o := range []Options{{Draws: 9}, {Subsets: 1}, {Spread: true}, {Probe: true}} {
		_, err := Measure(context.Background(), "", ok, o)
		if err == nil || !strings.Contains(err.Error(), "an Engine") {
			t.Errorf("%+v without an Engine: %v", o, err)
		}
	}
	if _, err := Measure(context.Background(), "x", ok, Options{Components: -2}); err == nil {
		t.Error("-2 components: no error")
	}
}
