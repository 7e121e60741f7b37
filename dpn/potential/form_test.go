package potential

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// perturbed is a potential with parameters away from their first values.
func perturbed(t *testing.T, c Settings, d int) *Potential {
	t.Helper()
	p, r := New(c, d), num.NewRand(5, 0)
	p.Start(0.5, r)
	r.Normal(p.mu.Data)
	r.Normal(p.c.Data)
	for _, q := range p.form.params() {
		noise := make([]float32, len(q.Data))
		r.Normal(noise)
		for i, v := range noise {
			q.Data[i] += 0.1 * v
		}
	}
	p.form.retract(newEngine(t))
	return p
}

// TestPrecision holds Precision against the engine, which values a single component
// by it, and checks that it is symmetric and positive definite.
func TestPrecision(t *testing.T) {
	e := newEngine(t)
	cases := map[string]struct {
		Settings
		d int
	}{
		FormFull:    {Settings{Components: 4, Scale: 0.6}, 5},
		FormTied:    {Settings{Components: 3, Scale: 0.4}, 12},
		FormDiag:    {Settings{Components: 3, Scale: 0.5}, 12},
		FormLowRank: {Settings{Components: 4, Rank: 5, Scale: 0.6}, 5},
		FormFlat:    {Settings{Components: 3, Rank: 3, Eps: 0.2, Scale: 0.7}, 12},
	}
	for _, name := range Forms() {
		c, ok := cases[name]
		if !ok {
			t.Fatalf("no settings of form %s", name)
		}
		c.Form = name
		d, p := c.d, perturbed(t, c.Settings, c.d)
		x := engine.NewMatrix(40, d)
		num.NewRand(3, 0).Normal(x.Data)
		for i := range p.K {
			for j := range p.c.Data { // all weight on component i
				p.c.Data[j] = -1e4
			}
			p.c.Data[i] = 0
			p.form.prepare(e, p.mixture)
			phi := make([]float32, x.Rows)
			p.mixture.Potential(e, x, phi, engine.Matrix{})
			dense := p.Precision(i)
			for b := range x.Rows {
				var q, square float64
				for r := range d {
					for s := range d {
						if dense[r*d+s] != dense[s*d+r] {
							t.Fatalf("%s: P_%d is not symmetric at %d, %d", name, i, r, s)
						}
						q += dense[r*d+s] * float64(x.At(b, r)-p.mu.Data[i*d+r]) * float64(x.At(b, s)-p.mu.Data[i*d+s])
					}
					square += math.Pow(float64(x.At(b, r)-p.mu.Data[i*d+r]), 2)
				}
				if !(q > 1e-6*square) {
					t.Errorf("%s: q_%d = %v at distance %v", name, i, q, math.Sqrt(square))
				}
				if got := -2 * float64(phi[b]); !(math.Abs(got-q) <= 1e-5*(q+square)) {
					t.Errorf("%s: q_%d = %v by the engine, %v by Precision", name, i, got, q)
				}
			}
		}
	}
}

// TestFlatFollowsClusters checks that the flat directions are those along which a cluster
// extends, also where it has fewer rows than directions are asked for.
func TestFlatFollowsClusters(t *testing.T) {
	e := newEngine(t)
	const n, d = 200, 9
	c := Settings{Components: 3, Form: FormFlat, Rank: 2, Eps: 0.1, Scale: 1}
	f := newForm(c, d).(*flatForm)
	f.start(nil)
	x, assignment := engine.NewMatrix(n, d), make([]int32, n)
	r := num.NewRand(1, 0)
	r.Normal(x.Data)
	for i := range n {
		assignment[i] = int32(i % 2)
		for j := range d {
			if j/2 != i%2 { // cluster 0 extends along 0 and 1, cluster 1 along 2 and 3
				x.Row(i)[j] *= 0.05
			}
		}
	}
	assignment[0] = 2 // a cluster of one row
	small, err := f.fitClusters(context.Background(), e, Alone, x, assignment)
	if err != nil || !slices.Equal(small, []SmallCluster{{2, 1}}) {
		t.Fatal(small, err)
	}
	for i := range 2 {
		for row := range 2 {
			along := 0.0
			for _, v := range f.rows(i).Row(row)[2*i : 2*i+2] {
				along += float64(v) * float64(v)
			}
			if !(along >= 0.98) {
				t.Errorf("row %d of U_%d lies along its cluster by %.3f only", row, i, along)
			}
		}
	}
	if tensor, problem := f.definite(e); problem != "" {
		t.Errorf("%s: %s", tensor, problem)
	}
}

// TestLargest holds the largest eigenvalues against those of all P_i: exact where all of
// the space is searched, otherwise a few percent below at most; and the step sizes of chains,
// which come from them.
func TestLargest(t *testing.T) {
	for _, form := range Forms() {
		for _, rank := range []int{3, 12} {
			p := perturbed(t, Settings{Components: 3, Form: form, Rank: rank, Eps: 0.1, Scale: 0.5}, 12)
			want, err := p.LambdaMax(context.Background(), 1)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Steepest(context.Background(), 2)
			if err != nil || !(math.Abs(got/want-1) <= 1e-5) {
				t.Errorf("%s, rank %d: largest eigenvalue %v, want %v (%v)", form, rank, got, want, err)
			}
			for adjusted, scale := range map[bool]float64{false: 0.1, true: math.Pow(float64(p.D), -1./3)} {
				h, err := p.DefaultStepSize(context.Background(), adjusted, 2)
				if err != nil || !(math.Abs(h*want/scale-1) <= 1e-5) {
					t.Errorf("%s, rank %d, adjusted %v: step size %v, want %v over %v (%v)", form, rank, adjusted, h,
						scale, want, err)
				}
			}
		}
	}
	const d = 200
	for name, value := range map[string]func(j int) float64{
		"even":     func(j int) float64 { return float64(j + 1) },
		"crowded":  func(j int) float64 { return d - 1/float64(j+1) },
		"outlying": func(j int) float64 { return d / float64((d-j)*(d-j)) },
		"equal":    func(int) float64 { return d },
	} {
		got, err := lanczos(d, func(y, x []float64) {
			for j := range y {
				y[j] = value(j) * x[j]
			}
		})
		if want := value(d - 1); err != nil || !(got <= want*(1+1e-12)) || !(got >= 0.97*want) {
			t.Errorf("%s: largest eigenvalue %v, want at most %v and little less (%v)", name, got, want, err)
		}
	}
}

// TestLogDets checks that inverses and determinants do not depend on how the threads share them.
func TestLogDets(t *testing.T) {
	one, three := newEngine(t, engine.WithThreads(1)), newEngine(t, engine.WithThreads(3), engine.WithEagerThreads())
	for _, k := range []int{1, 2, 3, 7} { // fewer matrices than threads, and more
		const d = 37
		c := Settings{Components: k, Form: FormFull, Scale: 1}
		var got [2][]float32
		var inverse [2][]float32
		for i, e := range []*engine.Engine{one, three} {
			f := newForm(c, d).(*denseForm)
			num.NewRand(1, uint64(k)).Normal(f.a.Data)
			got[i] = make([]float32, k)
			f.logDets(e, got[i])
			f.logDets(e, got[i]) // in the memory of the first time
			inverse[i] = f.inverse
		}
		if !slices.Equal(got[0], got[1]) || !slices.Equal(inverse[0], inverse[1]) {
			t.Errorf("%d matrices: log determinants %v on one thread and %v on three", k, got[0], got[1])
		}
	}
}

// TestSingularMatrix checks that the singular one of many matrices is named, however the
// threads share them.
func TestSingularMatrix(t *testing.T) {
	for _, threads := range []int{1, 3} {
		e := newEngine(t, engine.WithThreads(threads), engine.WithEagerThreads())
		for _, k := range []int{1, 2, 7} {
			const d = 37
			c := Settings{Components: k, Form: FormFull, Scale: 1}
			f := newForm(c, d).(*denseForm)
			num.NewRand(1, uint64(k)).Normal(f.a.Data)
			if _, problem := f.definite(e); problem != "" {
				t.Errorf("%d threads, %d matrices: %s", threads, k, problem)
			}
			clear(f.a.Data[k/2*d*d:][:d])
			if _, problem := f.definite(e); problem != fmt.Sprintf("matrix %d is singular", k/2) {
				t.Errorf("%d threads, matrix %d of %d has a row of zeros: %q", threads, k/2, k, problem)
			}
		}
	}
}

// TestSetOrigin checks which points become the origin of a potential, and that it is gone after another one.
func TestSetOrigin(t *testing.T) {
	e := newEngine(t)
	for form, takes := range map[string]bool{FormFlat: true, FormLowRank: false, FormFull: false} {
		p := mixturePotential(t, form, 3, 18, 6)
		start := exactDraws(t, p, 5)
		climb := func(first float32) (x []float32, taken bool) {
			o := make([]float32, 18)
			o[0] = first
			p.SetOrigin(o)
			at := engine.NewMatrix(start.Rows, start.Cols)
			engine.CopyMatrix(at, start)
			p.Ascend(e, at, 3)
			return at.Data, p.Mixture(e).Origin != nil
		}
		want, _ := climb(0)
		for _, c := range []struct {
			first float32
			taken bool
		}{{3.3, takes}, {float32(math.NaN()), false}, {3.3, takes}, {float32(math.Inf(-1)), false}, {0, false}} {
			x, taken := climb(c.first)
			if taken != c.taken || slices.Equal(x, want) == taken {
				t.Errorf("%s, origin %v: taken %v, the same results %v", form, c.first, taken, slices.Equal(x, want))
			}
		}
	}
}
