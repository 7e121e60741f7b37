package bench

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"dpnbench/engine/ascent"
)

// TestSparseRows checks what rows say of the components that were computed: all by the dense
// route, and by the sparse one no fewer than are active, which no route changes.
func TestSparseRows(t *testing.T) {
	s := small("ascent-sparse")
	s.Threads = []int{1}
	r := run(t, s)
	active := map[string]Components{}
	routes := map[string]string{}
	for i := range r.Results {
		row := &r.Results[i]
		if row.Suite != "ascent-sparse" {
			if row.Route != "" || row.Active != nil || row.Evaluated != nil || row.Bounds != nil {
				t.Errorf("%s has components", row.ID())
			}
			continue
		}
		a, e, k := row.Active, row.Evaluated, float64(row.Params["k"])
		if a == nil || e == nil {
			t.Fatalf("%s: no components", row.ID())
		}
		if !(1 <= a.Mean && a.Mean <= e.Mean && e.Mean <= k && 1 <= a.First && a.Last <= e.Last) {
			t.Errorf("%s: active %+v, evaluated %+v of %v", row.ID(), *a, *e, k)
		}
		if (row.Route == "sparse") != (row.Bounds != nil) || row.Bounds != nil &&
			!(row.Bounds.Mean >= 0 && row.Bounds.Mean+e.Mean <= 2*k) {
			t.Errorf("%s: bounds %+v by the %s route", row.ID(), row.Bounds, row.Route)
		}
		name := row.Name[:strings.LastIndex(row.Name, " ")]
		routes[row.Name[len(name)+1:]] = row.Route
		if row.Route == "dense" && *e != (Components{k, k, k, e.total}) {
			t.Errorf("%s: evaluated %+v of %v", row.ID(), *e, k)
		}
		if want, ok := active[name+row.Shape]; ok && want != *a {
			t.Errorf("%s: active %+v, by another route %+v", row.ID(), *a, want)
		}
		active[name+row.Shape] = *a
	}
	if routes["dense"] != "dense" || routes["sparse"] != "sparse" || routes["auto"] != "dense" &&
		routes["auto"] != "sparse" {
		t.Errorf("routes %v", routes)
	}
}

// TestFlat checks that the rows of preset robust are named by, and their products counted
// from, the sizes of the potential that they climb.
func TestFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: places 100 centres, ten times as long with the race detector")
	}
	s, err := flatSlope()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"d": s.d, "k": s.k, "r": s.r, "n": s.n, "batch": s.x.Rows}
	found := 0
	for _, g := range sparseSuite() {
		if !strings.HasPrefix(g.name, "flat ") {
			continue
		}
		found++
		if got := g.paramMap(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, the potential has %v", g.name, got, want)
		}
		if want := lowRankFlop(s.d, s.k, s.r, s.n, s.x.Rows, false); g.cost != want {
			t.Errorf("%s: cost %v, want %v", g.name, g.cost, want)
		}
	}
	if found != 3 || len(s.f) != s.k*s.r*s.d || len(s.mu) != s.k*s.d {
		t.Errorf("%d rows, %d numbers of factors and %d of centres", found, len(s.f), len(s.mu))
	}
}

// TestRoutesDiffer checks that a bit in any row, or of a gradient, fails the check.
func TestRoutesDiffer(t *testing.T) {
	s, err := apart(50)
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	s.route = ascent.SparseRoute
	m := s.mixture(e)
	for _, c := range []struct {
		name    string
		corrupt func(c *climb) []float32
	}{
		{"", func(c *climb) []float32 { return make([]float32, 1) }},
		{"x_n", func(c *climb) []float32 { return c.x.Row(77) }},
		{"dL/dx_0", func(c *climb) []float32 { return c.v.Row(77) }},
		{"dL/dmu", func(c *climb) []float32 { return c.g.Mu }},
		{"dL/dA", func(c *climb) []float32 { return c.g.A }},
	} {
		on := s.on(e, m, s.x.Rows, true)
		on.run(s.n)
		v := c.corrupt(on)
		v[0] = math.Nextafter32(v[0], 9)
		err := on.compareRoutes(&fixture{})
		if mismatch, ok := errors.AsType[*ErrMismatch](err); c.name == "" && err != nil || c.name != "" && (!ok ||
			!strings.HasPrefix(mismatch.Reason, c.name+" by both routes")) {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}

// TestSparseFlop compares the products of the sparse route, should it compute everything,
// with those of the dense one.
func TestSparseFlop(t *testing.T) {
	const rows, k, d, r, n = 128, 20, 64, 3, 5
	all := float64(rows * k * n)
	survey := surveyFlop(rows, k, d)
	full, _ := ascentCosts(d, k, n, rows)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"full", sparsePairs{rows, k, d, -1, all, all}.flop(false, false), survey + full},
		{"full, back", sparsePairs{rows, k, d, -1, all, all}.flop(false, true), survey + 2*full},
		{"low rank", sparsePairs{rows, k, d, r, all, all}.flop(false, false), survey +
			lowRankFlop(d, k, r, n, rows, false)},
		{"low rank, back", sparsePairs{rows, k, d, r, all, all}.flop(false, true), survey +
			lowRankFlop(d, k, r, n, rows, true)},
		{"diagonal", sparsePairs{rows, k, d, -1, all, all}.flop(true, false), survey + full/d},
		{"nothing", sparsePairs{rows, k, d, -1, 0, 0}.flop(false, true), survey},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v flop, want %v", c.name, c.got, c.want)
		}
	}
}

// TestGrowth draws a route whose steps cost k, and one whose later steps all cost the same.
func TestGrowth(t *testing.T) {
	r := &Report{}
	add := func(route string, k, n int, seconds float64) {
		r.Results = append(r.Results, Result{Suite: "ascent-sparse", Name: "diag " + route,
			Params: map[string]int{"k": k, "n": n}, Tier: "avx2", Threads: 1, SecondsMedian: seconds})
	}
	for _, k := range []int{200, 20, 2000} {
		add("dense", k, 1, float64(k))
		add("dense", k, 30, 30*float64(k))
		add("sparse", k, 1, 10+float64(k))
		add("sparse", k, 30, 10+float64(k)+29*4)
	}
	add("sparse", 50, 30, 1) // without its first step
	f := growth(r, "avx2", 1)
	want := map[string][]float64{
		"sparse, first step": {1, 7, 67}, "sparse, later steps": {1, 1, 1}, "dense, first step": {1, 10,
			100}, "dense, later steps": {1, 10, 100},
		"in proportion to k": {1, 10, 100},
	}
	if len(f.Series) != len(want) {
		t.Errorf("%d series", len(f.Series))
	}
	for _, s := range f.Series {
		if len(s.Points) != 3 || len(want[s.Name]) != 3 {
			t.Errorf("%s: %v", s.Name, s.Points)
			continue
		}
		for i, p := range s.Points {
			if x := []float64{20, 200, 2000}[i]; p.X != x || !(math.Abs(p.Y-want[s.Name][i]) <= 1e-12) {
				t.Errorf("%s: %v at %v, want %v at %v", s.Name, p.Y, p.X, want[s.Name][i], x)
			}
		}
	}
	if f := growth(r, "avx2", 2); len(f.Series) > 0 {
		t.Errorf("%d series of no rows", len(f.Series))
	}
}
