package ascent

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"dpnbench/engine"
)

// TestSilentMisuse makes calls that would silently compute something else: each must panic with a line that
// says what is wrong. The same calls without the damage pass.
func TestSilentMisuse(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	const k, d, rows = 3, 8, 5
	type state struct {
		m    *Mixture
		a    []float32
		x, v engine.Matrix
		tr   Trajectory
		grad *Gradient
		phi  []float32
	}
	ascend := func(s *state) { s.m.Ascend(e, 0.5, 2, s.x, &s.tr, true) }
	back := func(s *state) { s.m.Backward(e, 0.5, s.a, &s.tr, s.v, s.grad) }
	set := func(s *state) { s.m.SetFactors(e, s.a) }
	potential := func(s *state) { s.m.Potential(e, s.x, s.phi, engine.Matrix{}) }
	terms := func(s *state) { s.m.Terms(e, s.x, s.phi, engine.NewMatrix(k, rows)) }
	explain := func(s *state) { s.m.ExplainRoute(e, rows, 2) }
	count := func(s *state) { s.m.CountWork(e, nil, 0.5, 2, s.x) }
	quad := func(s *state) { s.m.QuadGrad(e, s.v, s.phi, s.x, 0) }
	computing := []func(*state){ascend, set, potential, terms, explain, count, quad, back}
	names := []string{"Ascend", "SetFactors", "Potential", "Terms", "ExplainRoute", "CountWork", "QuadGrad", "Backward"}
	for _, c := range []struct {
		name   string
		damage func(s *state) // after an ascent for the backward pass
		calls  []func(*state)
		want   string // "": nothing is wrong
	}{
		{"nothing", func(*state) {}, computing, ""},
		{"C shorter", func(s *state) { s.m.C = s.m.C[:k-1] }, computing, "C has 2 elements, expected 3"},
		{"C longer", func(s *state) { s.m.C = make([]float32, k+1) }, computing, "C has 4 elements"},
		{"no C", func(s *state) { s.m.C = nil }, computing, "C has 0 elements"},
		{"Mu shorter", func(s *state) { s.m.Mu = s.m.Mu[:k*d-1] }, computing, "Mu has 23 elements"},
		{"K lower", func(s *state) { s.m.K-- }, computing, "components in 8 dimensions"},
		{"K higher", func(s *state) { s.m.K++; s.m.C = make([]float32, k+1) }, computing, "components in 8 dimensions"},
		{"D lower", func(s *state) { s.m.D-- }, computing, "components in"},
		{"another route", func(s *state) { s.m.Route = 3 }, computing, "route 3"},
		{"rows of another width", func(s *state) { s.x = engine.NewMatrix(rows, d+1) },
			[]func(*state){ascend, potential, count, quad}, "x is 5 x 9"},
		{"x without data", func(s *state) { s.x.Data = nil }, []func(*state){ascend, potential, count,
			quad}, "too few"},
		{"the centres climb", func(s *state) { s.x = engine.View(s.m.Mu, k, d) }, []func(*state){ascend},
			"x shares memory with Mu"},
		{"phi is x", func(s *state) { s.phi = s.x.Data[:rows] }, []func(*state){potential}, "phi shares memory with x"},
		{"G is x", func(s *state) { s.v = s.x }, []func(*state){quad}, "g shares memory with x"},
		{"factors of another length", func(s *state) { s.a = s.a[:d*d] }, []func(*state){set, back},
			"a has 64 elements"},
		{"other factors", func(s *state) { s.a = append([]float32(nil), s.a...) }, []func(*state){back},
			"a is not the memory"},
		{"factors set in between", func(s *state) { s.m.SetFactors(e, s.a) }, []func(*state){back},
			"set after the ascent was recorded"},
		{"precisions set in between", func(s *state) { s.m.SetPrecisions(e, make([]float32, k*d*d)) },
			[]func(*state){back}, "set after the ascent was recorded"},
		{"another mixture", func(s *state) {
			s.m = NewMixture(k, d, s.m.Mu, s.m.C)
			s.m.SetFactors(e, s.a)
		}, []func(*state){back}, "of another mixture"},
		{"a mixture without precisions", func(s *state) { s.m = NewMixture(k, d, s.m.Mu, s.m.C) },
			[]func(*state){ascend, potential, explain, count, quad}, "have not been set"},
		{"another alpha", func(s *state) { s.m.Ascend(e, 0.25, 2, s.x, &s.tr, true) }, []func(*state){back},
			"alpha 0.5, the ascent was recorded with 0.25"},
		{"an ascent that was not recorded for it", func(s *state) { s.m.Ascend(e, 0.5, 2, s.x, &s.tr, false) },
			[]func(*state){back}, "not recorded for the backward pass"},
		{"a trajectory used up", back, []func(*state){back}, "not recorded for the backward pass"},
		{"a trajectory that was cut", func(s *state) { s.tr.X = s.tr.X[:rows*d] }, []func(*state){back}, "tr.X has 40"},
		{"a trajectory of fewer rows", func(s *state) { s.tr.Rows--; s.v = engine.NewMatrix(rows-1, d) },
			[]func(*state){back}, "tr.X has 120"},
		{"v is Mu", func(s *state) { s.v = engine.Matrix{Data: s.m.Mu, Rows: rows, Cols: d, CS: 1} },
			[]func(*state){back}, "v shares memory with Mu"},
		{"a gradient of fewer components", func(s *state) { s.grad = NewGradient(k-1, d) }, []func(*state){back},
			"grad.Mu has 16 elements"},
		{"a gradient of low rank", func(s *state) { s.grad = NewLowRankGradient(k, d, 1, true) }, []func(*state){back},
			"grad.A has 0 elements"},
	} {
		for i, call := range c.calls {
			s := &state{m: NewMixture(k, d, points(k, d).Data, make([]float32, k)), a: points(k*d, d).Data,
				x: points(rows, d), v: points(rows, d), grad: NewGradient(k, d), phi: make([]float32, rows)}
			s.m.SetFactors(e, s.a)
			ascend(s)
			c.damage(s)
			got := panicOf(func() { call(s) })
			name := c.name
			if len(c.calls) == len(names) {
				name += ", " + names[i]
			}
			if c.want == "" && got != "" && names[i] != "Backward" || !strings.Contains(got, c.want) ||
				strings.Contains(got, "\n") || strings.Contains(got, "runtime error") {
				t.Errorf("%s: panic %q, want one with %q", name, got, c.want)
			}
		}
	}
	full := NewMixture(k, d, points(k, d).Data, make([]float32, k))
	factors := points(k*d, d).Data
	full.SetFactors(e, factors)
	var tr Trajectory
	full.Ascend(e, 0.5, 2, points(rows, d), &tr, true)
	sums := func(lo, hi int) func() {
		return func() { full.Sums(e, 0.5, factors, &tr, lo, hi, NewGradient(k, d)) }
	}
	if got := panicOf(sums(0, rows)); !strings.Contains(got, "expected a trajectory that BackwardRows") {
		t.Errorf("Sums before BackwardRows: panic %q", got)
	}
	gaps := engine.NewMatrix(d, rows).T()
	if got := panicOf(func() { full.BackwardRows(e, 0.5, &tr, gaps) }); !strings.Contains(got, "v has gaps") {
		t.Errorf("a transposed v: panic %q", got)
	}
	full.BackwardRows(e, 0.5, &tr, engine.NewMatrix(rows, d))
	for _, p := range [][2]int{{-1, 2}, {2, 1}, {0, rows + 1}} {
		if got := panicOf(sums(p[0], p[1])); !strings.Contains(got, "Sums: rows") {
			t.Errorf("rows %v: panic %q", p, got)
		}
		pieces := func() { full.SumPieces(e, 0.5, factors, &tr, p[:], NewGradient(k, d)) }
		if got := panicOf(pieces); !strings.Contains(got, "SumPieces: cuts") {
			t.Errorf("cuts %v: panic %q", p, got)
		}
	}
	m := NewLowRankMixture(k, d, 2, points(k, d).Data, make([]float32, k))
	w, f := points(k, d).Data, points(2*k, d).Data
	for want, call := range map[string]func(){
		"w has 23 elements":     func() { m.SetLowRank(e, w[:k*d-1], f, 1) },
		"f has 24 elements":     func() { m.SetLowRank(e, w, f[:k*d], 1) },
		"s NaN, expected":       func() { m.SetLowRank(e, w, f, float32(math.NaN())) },
		"s -Inf, expected":      func() { m.SetLowRank(e, w, f, float32(math.Inf(-1))) },
		"SetLowRank: no engine": func() { m.SetLowRank(nil, w, f, 1) },
		"low rank":              func() { m.SetFactors(e, points(k*d, d).Data) },
		"rank 9":                func() { NewLowRankMixture(k, d, 9, w, f[:k]) },
		"mu has 1 elements":     func() { NewMixture(k, d, w[:1], f[:k]) },
		"c has 48 elements":     func() { NewTiedMixture(k, d, w, f) },
		"0 components":          func() { NewMixture(0, d, nil, nil) },
		"Ascend: -1 steps":      func() { m.Ascend(e, 1, -1, points(1, d), nil, false) },
	} {
		if got := panicOf(call); !strings.Contains(got, want) {
			t.Errorf("panic %q, want one with %q", got, want)
		}
	}
}

// panicOf returns what a call panics with, or "".
func panicOf(call func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	call()
	return ""
}
