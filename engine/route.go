package engine

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Route says which components an ascent computes. It changes no bit.
type Route int

const (
	// AutoRoute takes the route that costs less, as far as the mixture has shown (see Ascend).
	AutoRoute Route = iota
	// DenseRoute computes all components for every row in every step.
	DenseRoute
	// SparseRoute leaves out components of which a certificate proves that their
	// responsibility would be 0.
	SparseRoute
)

func (r Route) String() string {
	switch r {
	case DenseRoute:
		return "dense"
	case SparseRoute:
		return "sparse"
	}
	return "auto"
}

// ParseRoute is the inverse of String.
func ParseRoute(s string) (Route, error) {
	for _, r := range []Route{AutoRoute, DenseRoute, SparseRoute} {
		if strings.EqualFold(s, r.String()) {
			return r, nil
		}
	}
	return 0, fmt.Errorf("unknown route %q, expected auto, dense or sparse", s)
}

// WithRoute sets the route of ascents; AutoRoute is the default.
func WithRoute(r Route) Option { return func(s *settings) { s.route = r } }

// AscentWork counts what the last ascent computed, step by step: pairs of a row and a
// component. Of the dense route only Rows, Components and Steps are known.
type AscentWork struct {
	Route                   Route // DenseRoute or SparseRoute
	Rows, Components, Steps int
	Precisions              int // P_i made of A_i since SetFactors

	Active    []atomic.Int64 // pairs whose responsibility is not 0
	Evaluated []atomic.Int64 // pairs whose q_i was computed
	Bounds    []atomic.Int64 // bounds by support

	// FactorFlop counts the operations of the products that dA_i, or dP_i and dA_i, took in the
	// backward pass of the ascent; 0 before one, and for precisions of low rank.
	FactorFlop float64
}

func (w *AscentWork) reset(route Route, rows, k, steps int) {
	w.Route, w.Rows, w.Components, w.Steps, w.Precisions, w.FactorFlop = route, rows, k, steps, 0, 0
	if route == DenseRoute {
		steps = 0
	}
	for _, s := range []*[]atomic.Int64{&w.Active, &w.Evaluated, &w.Bounds} {
		growSlice(s, steps)
		for i := range *s {
			(*s)[i].Store(0)
		}
	}
}

// Work returns what the last Ascend computed. It is valid until the next one.
func (e *Engine) Work() *AscentWork { return &e.work }

// StepWork is what the sparse route does in a step for a row, on average.
type StepWork struct {
	Active   float64 `json:"active"`   // components whose responsibility is not 0
	Computed float64 `json:"computed"` // components whose q_i was computed; by the dense route all are
	Bounds   float64 `json:"bounds"`   // as AscentWork has them
}

// Saved returns the share of the pairs of a row and a component, in all steps, that were left out.
func (w *AscentWork) Saved() float64 {
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
func (w *AscentWork) PerRow() []StepWork {
	var list []StepWork
	n := float64(max(w.Rows, 1))
	for t := range w.Evaluated {
		list = append(list, StepWork{float64(w.Active[t].Load()) / n, float64(w.Evaluated[t].Load()) / n, float64(w.Bounds[t].Load()) / n})
	}
	return list
}

// CountWork returns what the sparse route would do in an ascent of the rows of x, which
// stay as they are, or nil where there are no certificates, with all P_i made. It takes as long
// as the ascent.
func (e *Engine) CountWork(m *Mixture, alpha float32, steps int, x Matrix) []StepWork {
	x.shape("CountWork", "x", x.Rows, m.D)
	m.ready(e, "CountWork")
	e.mu.Lock()
	defer e.mu.Unlock()
	if steps < 1 || x.Rows == 0 {
		return nil
	}
	if !e.certify(m) {
		return nil
	}
	moved := NewMatrix(x.Rows, x.Cols)
	copyMatrix(moved, x)
	e.work.reset(SparseRoute, x.Rows, m.K, steps)
	e.ascendSparse(m, alpha, steps, moved, nil, nil)
	return e.work.PerRow()
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
func (e *Engine) chooseRoute(m *Mixture, steps int, x Matrix) Route {
	if e.route == DenseRoute || steps == 0 || x.Rows == 0 || !(e.route == SparseRoute || m.K > 1 && m.certifiable()) {
		return DenseRoute
	}
	if e.route == AutoRoute {
		if a := &m.activity; !a.known || a.asked >= probeEvery {
			e.probe(m, x)
		}
		m.activity.asked++
		if e.sparseCost(m, x.Rows, steps, m.activity.active) >= 1 {
			return DenseRoute
		}
	}
	if !e.certify(m) {
		return DenseRoute
	}
	return SparseRoute
}

// certifiable says whether a mixture may have certificates.
func (m *Mixture) certifiable() bool { return !m.uncertain && (m.low != nil || m.a != nil) }

// probe finds out how many components are active at some rows of x.
func (e *Engine) probe(m *Mixture, x Matrix) {
	n := min(x.Rows, probeRows)
	some := View(e.scratch[0].floats(slotRows, n*m.D), n, m.D)
	for i := range n {
		copy(some.Row(i), x.Row(i*x.Rows/n))
	}
	both := e.scratch[0].floats(slotTile, (m.K+1)*n)
	r, phi := View(both[:m.K*n], m.K, n), both[m.K*n:]
	e.ascend(ascentJob{e: e, m: m, steps: 1, x: some, phi: phi, r: r, plan: e.plan(m, n, 1, false)})
	count := 0
	for _, v := range r.Data {
		if v != 0 {
			count++
		}
	}
	m.activity = activity{known: true, active: float64(count) / float64(n)}
}

// sparseCost estimates what the sparse route costs where so many components of a row are active,
// as a share of the dense one. It knows
// three things: the first step computes all components (of low rank their q_i only); a
// product of few rows takes as long as reading P_i, or several times as long as F_i lets
// expect; and a row needs some Go code in every step, about half a microsecond and the cost
// of looking at the bounds of all components now and then.
func (e *Engine) sparseCost(m *Mixture, rows, steps int, active float64) float64 {
	n, k := float64(rows), float64(m.K)
	flops := 2 * float64(m.D) * float64(m.D)
	group := max(n*active/min(k, n*active), 1) // rows that share a component
	slow, first := max(float64(e.kern.mr)/2/group, 1), k
	if m.low != nil {
		flops = 2 * float64(m.D) * float64(2*m.low.r+3)
		slow, first = 4+2*float64(e.kern.nr)/float64(m.low.r+1)/group, 0.6*k
	} else if 4*k*float64(m.D)*float64(m.D) > secondLevelShare() {
		slow = max(float64(e.streamRows())/group, 1)
	}
	code := (0.5 + k/500) * e.kern.flopPerMicrosecond / flops
	return (first + float64(steps-1)*(active*slow+code)) / (float64(steps) * k)
}

// ExplainRoute says in a line when ascents of so many rows on m, whose precisions have been set,
// take which route.
func (e *Engine) ExplainRoute(m *Mixture, rows, steps int) string {
	m.ready(e, "ExplainRoute")
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.route == DenseRoute:
		return "dense route: all components are computed for every row"
	case m.low == nil && m.a == nil:
		return "dense route: precisions that were set as matrices have no certificates"
	case !e.certify(m):
		return "dense route: that the precisions are positive definite, or how large they are, could not be certified"
	case e.route == SparseRoute:
		return "sparse route: components are left out where a certificate proves that their responsibility would be 0"
	}
	most := 0.0 // active components up to which the sparse route costs less
	for active := 0.1; active <= float64(m.K) && e.sparseCost(m, rows, steps, active) < 1; active += 0.1 {
		most = active
	}
	if m.K == 1 || most < 1 {
		return "dense route: leaving out components would save less than it costs"
	}
	return fmt.Sprintf("sparse route while up to %.1f of %d components are active at a row, dense above", most, m.K)
}
