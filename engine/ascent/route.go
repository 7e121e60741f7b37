package ascent

// Which components an ascent computes: all, or those that bounds do not exclude.

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"dpnbench/engine"
)

// Route says which components an ascent computes. It changes no bit.
type Route int

const (
	// AutoRoute takes the route that a cost model expects to be faster. Of the first ascent on a mixture,
	// and every 32nd after it, 16 rows show how many components are active.
	AutoRoute Route = iota
	// DenseRoute computes all components for every row in every step.
	DenseRoute
	// SparseRoute leaves out components whose responsibility a bound proves to be 0.
	SparseRoute
)

var routeNames = []string{AutoRoute: "auto", DenseRoute: "dense", SparseRoute: "sparse"}

// Routes lists the names of all routes.
func Routes() []string { return slices.Clone(routeNames) }

func (r Route) String() string { return routeNames[r] }

// ParseRoute is the inverse of String.
func ParseRoute(s string) (Route, error) {
	for i, name := range routeNames {
		if strings.EqualFold(s, name) {
			return Route(i), nil
		}
	}
	return 0, fmt.Errorf("unknown route %q, expected one of %s", s, strings.Join(routeNames, ", "))
}

// Work counts what the last ascent computed, step by step: pairs of a row and a
// component. Of the dense route only Rows, Components and Steps are known.
type Work struct {
	Route                   Route // DenseRoute or SparseRoute
	Rows, Components, Steps int

	Active    []atomic.Int64 // pairs whose responsibility is not 0
	Evaluated []atomic.Int64 // pairs whose q_i was computed
	Bounds    []atomic.Int64 // bounds by support
	LeftOut   atomic.Int64   // multiply-adds of a first step with all components that were 0; depends on the tier

	// FactorFlop counts the operations of the products that dA_i, or dP_i and dA_i, took in the
	// backward pass of the ascent; 0 before one, and for precisions of low rank.
	FactorFlop float64
}

func (w *Work) reset(route Route, rows, k, steps int) {
	w.Route, w.Rows, w.Components, w.Steps, w.FactorFlop = route, rows, k, steps, 0
	if route == DenseRoute {
		steps = 0
	}
	w.LeftOut.Store(0)
	for _, s := range []*[]atomic.Int64{&w.Active, &w.Evaluated, &w.Bounds} {
		engine.Grow(s, steps)
		for i := range *s {
			(*s)[i].Store(0)
		}
	}
}

// Work returns what the last Ascend computed. It is valid until the next one.
func (m *Mixture) Work() *Work { return &m.work }

// StepWork is what the sparse route does in a step for a row, on average.
type StepWork struct {
	Active   float64 `json:"active"`   // components whose responsibility is not 0
	Computed float64 `json:"computed"` // components whose q_i was computed; by the dense route all are
	Bounds   float64 `json:"bounds"`   // as Work has them
}

// Saved returns the share of the pairs of a row and a component, in all steps, that were left out.
func (w *Work) Saved() float64 {
	var computed int64
	for t := range w.Evaluated {
		computed += w.Evaluated[t].Load()
	}
	if all := float64(w.Rows) * float64(w.Components) * float64(w.Steps); len(w.Evaluated) > 0 && all > 0 {
		return 1 - float64(computed)/all
	}
	return 0
}

// PerRow returns what each step has cost a row; nil of the dense route.
func (w *Work) PerRow() []StepWork {
	var list []StepWork
	n := float64(max(w.Rows, 1))
	for t := range w.Evaluated {
		list = append(list, StepWork{float64(w.Active[t].Load()) / n, float64(w.Evaluated[t].Load()) / n,
			float64(w.Bounds[t].Load()) / n})
	}
	return list
}

// Totals are the sums of Work over all steps.
type Totals struct {
	Route             Route
	Rows              int
	Active, Evaluated float64 // pairs; 0 of the dense route
	LeftOut           float64 // multiply-adds
	FactorFlop        float64
}

// Totals returns the sums over all steps.
func (w *Work) Totals() Totals {
	t := Totals{Route: w.Route, Rows: w.Rows, LeftOut: float64(w.LeftOut.Load()), FactorFlop: w.FactorFlop}
	for i := range w.Active {
		t.Active += float64(w.Active[i].Load())
		t.Evaluated += float64(w.Evaluated[i].Load())
	}
	return t
}

// CountWork returns what the sparse route would do in an ascent of the rows of x, which stay as they are, or
// nil if there are no bounds. It takes as long as the ascent; stop, unless nil, is polled as in AscendUntil.
func (m *Mixture) CountWork(e *engine.Engine, stop func() bool, alpha float32, steps int,
	x engine.Matrix) []StepWork {
	m.ready(e, "CountWork")
	x.CheckShape("CountWork", "x", x.Rows, m.D)
	m.lock(e)
	defer e.Unlock()
	if steps < 1 || x.Rows == 0 || !m.makeBounds(e) {
		return nil
	}
	moved := engine.NewMatrix(x.Rows, x.Cols)
	engine.CopyMatrix(moved, x)
	m.work.reset(SparseRoute, x.Rows, m.K, steps)
	m.ascendSparse(e, alpha, steps, moved, nil, stop)
	return m.work.PerRow()
}

// activity is what ascents have shown of the responsibilities of a mixture.
type activity struct {
	known  bool
	active float64 // components of a row whose responsibility is not 0
	asked  int     // ascents since it was found out
}

const (
	probeRows  = 16 // from which activity is found out
	probeEvery = 32 // ascents
)

// chooseRoute returns the route of an ascent.
func (m *Mixture) chooseRoute(e *engine.Engine, steps int, x engine.Matrix) Route {
	switch {
	case m.Route == DenseRoute || steps == 0 || x.Rows == 0:
		return DenseRoute
	case m.Route == AutoRoute:
		if m.K == 1 || !m.boundable() {
			return DenseRoute
		}
		if a := &m.activity; !a.known || a.asked >= probeEvery {
			m.probe(e, x)
		}
		m.activity.asked++
		if m.sparseCost(e, x.Rows, steps, m.activity.active) >= 1 {
			return DenseRoute
		}
	}
	if !(steps == 1 && m.precision.firstOfAll(e)) && !m.makeBounds(e) {
		return DenseRoute
	}
	return SparseRoute
}

// boundable reports whether the precisions may have bounds.
func (m *Mixture) boundable() bool { return !m.unbounded && m.precision.boundable() }

// probe finds out how many components are active at some rows of x.
func (m *Mixture) probe(e *engine.Engine, x engine.Matrix) {
	n := min(x.Rows, probeRows)
	rows := e.Caller().ScratchRows(slotRows, n, m.D, m.D)
	for i := range n {
		copy(rows.Row(i), x.Row(i*x.Rows/n))
	}
	memory := e.Caller().Scratch(slotTile, (m.K+1)*n)
	r, phi := engine.View(memory[:m.K*n], m.K, n), memory[m.K*n:]
	m.run(e, ascentJob{steps: 1, x: rows, phi: phi, r: r, plan: m.precision.plan(e, n, 1, false)})
	count := 0
	for _, v := range r.Data {
		if v != 0 {
			count++
		}
	}
	m.activity = activity{known: true, active: float64(count) / float64(n)}
}

// sparseCost estimates what the sparse route costs with the given mean number of active components of a row,
// as a share of the dense one. It knows three things: the first step computes all components (of low rank only their
// q_i); a product of few rows takes as long as reading P_i, on both routes, or several times as long as F_i lets
// expect; and a row needs some Go code in every step, about half a microsecond and the cost of looking at the bounds
// of all components now and then.
func (m *Mixture) sparseCost(e *engine.Engine, rows, steps int, active float64) float64 {
	n, k := float64(rows), float64(m.K)
	group := max(n*active/min(k, n*active), 1) // rows that share a component
	c := m.precision.cost(e, n, active, group)
	code := (0.5 + k/500) * e.FlopsPerMicrosecond() / c.flops
	return (c.first*c.dense + float64(steps-1)*(active*c.slow+code)) / (float64(steps) * k * c.dense)
}

// ExplainRoute says in a line when ascents of the given number of rows on m take which route. The precisions
// must have been set.
func (m *Mixture) ExplainRoute(e *engine.Engine, rows, steps int) string {
	m.ready(e, "ExplainRoute")
	m.lock(e)
	defer e.Unlock()
	switch {
	case m.Route == DenseRoute:
		return "dense route: all components are computed for every row"
	case !m.precision.boundable():
		return "dense route: precisions that were set as matrices have no bounds"
	case !m.makeBounds(e):
		return "dense route: no bounds, because the precisions may not be positive definite or are too large"
	case m.Route == SparseRoute:
		return "sparse route: components are left out if a bound proves that their responsibility is 0"
	}
	most := 0.0 // active components up to which the sparse route costs less
	for active := 0.1; active <= float64(m.K) && m.sparseCost(e, rows, steps, active) < 1; active += 0.1 {
		most = active
	}
	if m.K == 1 || most < 1 {
		return "dense route: leaving out components would save less than it costs"
	}
	return fmt.Sprintf("sparse route while up to %.1f of %d components are active at a row, dense above", most, m.K)
}
