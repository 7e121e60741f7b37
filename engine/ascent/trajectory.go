package ascent

import (
	"fmt"
	"math"

	"dpnbench/engine"
)

// Trajectory records an ascent: what the backward pass and the analysis of a model need. The next ascent
// reuses its memory.
type Trajectory struct {
	Steps, Rows, K, D int

	// X holds x_0 .. x_n, each Rows x D.
	X []float32
	// R holds the responsibilities of steps 0 .. n-1, each K x Rows (component-major).
	R []float32
	// Phi holds the potential at x_0 .. x_{n-1}, each Rows.
	Phi []float32

	// Stop, if set, is polled concurrently before every step of every block of rows; once it returns
	// true it must keep doing so, and the results of Ascend and Backward are undefined.
	Stop func() bool

	// Enter, if set, is called by Backward whenever it begins to take dL/dx through steps (false), or to sum up
	// the gradient of the parameters (true).
	Enter func(sums bool)

	of         *Mixture // that the ascent was on, at which generation of its precisions, and with which alpha
	generation uint64
	alpha      float32

	// Row b of step t is row t stride + first + b of a record: all rows of an ascent, or some of them (rows).
	stride, first int

	backward bool      // recorded for the backward pass
	back     bool      // dL/dx has been taken through all steps: U and t are there
	kept     int       // rows of which g is
	g        []float32 // G of steps 0 .. n-1, each K x kept x gd
	gd       int       // D, with the padding of rows (dense.padded)
	z        []float32 // for precisions of low rank: Z of each step, Rows x (K r)
	scaled   []float32 // and [-S r Z | -r], Rows x (K r + K)

	// Set by the backward pass.
	u   []float32 // alpha V of each step, each Rows x D; not where sumOperands hold it
	t   []float32 // dL/dl of each step, each K x Rows
	sum []float32 // sum_i r_i s_i of each step, each Rows

	// For precisions of low rank, of the steps that are handled together.
	vjp      []float32 // [-S N | -t] of each, each Rows x (K r + K)
	operands []float32 // sumOperands of each

	sparse  bool          // by the sparse route: then what is above holds active pairs only, and
	records []blockRecord // for matrices P_i, G_i of these is here

	keepQ bool      // set for the first step of the sparse route, whose bounds start from q
	q     []float32 // K x Rows of the last step, if keepQ asks for it

	jobs struct { // here, so that starting one allocates nothing
		vjp       vjpJob
		sparseVJP sparseVJPJob
		lowRank   lowRankVJPJob
	}
}

// XAt returns x_t (Rows x D).
func (tr *Trajectory) XAt(t int) engine.Matrix {
	return engine.View(tr.X[tr.row(t)*tr.D:][:tr.Rows*tr.D], tr.Rows, tr.D)
}

// RAt returns the responsibilities of step t (K x Rows).
func (tr *Trajectory) RAt(t int) engine.Matrix {
	return engine.Matrix{Data: tr.R[tr.pair(t, 0) : tr.pair(t, tr.K-1)+tr.Rows], Rows: tr.K, Cols: tr.Rows,
		RS: tr.stride, CS: 1}
}

// PhiAt returns the potential at x_t.
func (tr *Trajectory) PhiAt(t int) []float32 { return tr.Phi[tr.row(t):][:tr.Rows] }

// row returns where the first row of step t is among those of a record.
func (tr *Trajectory) row(t int) int { return t*tr.stride + tr.first }

// pair returns where that of component i is, of a record of a number for each row and component.
func (tr *Trajectory) pair(t, i int) int { return (t*tr.K+i)*tr.stride + tr.first }

// tAt returns t_i of step t.
func (tr *Trajectory) tAt(t, i int) []float32 { return tr.t[tr.pair(t, i):][:tr.Rows] }

// active returns in how many rows of all steps component i has a responsibility above 0.
func (tr *Trajectory) active(i int) int {
	n := 0
	for t := range tr.Steps {
		for _, r := range tr.RAt(t).Row(i) {
			if r != 0 {
				n++
			}
		}
	}
	return n
}

// rows sets part to the rows [lo, hi) of tr.
func (tr *Trajectory) rows(part *Trajectory, lo, hi int) {
	*part = *tr
	part.first, part.Rows = tr.first+lo, hi-lo
}

// check panics unless the trajectory is that of an ascent on m as it is now, with this alpha.
func (tr *Trajectory) check(call string, m *Mixture, alpha float32) {
	switch {
	case tr.of != m:
		panic("ascent: " + call + ": the trajectory is of another mixture, or of none")
	case tr.generation != m.generations:
		panic("ascent: " + call + ": the precisions were set after the ascent was recorded")
	case math.Float32bits(tr.alpha) != math.Float32bits(alpha):
		panic(fmt.Sprintf("ascent: %s: alpha %v, the ascent was recorded with %v", call, alpha, tr.alpha))
	}
	engine.CheckLength(call, "tr.X", len(tr.X), (tr.Steps+1)*tr.Rows*tr.D)
	engine.CheckLength(call, "tr.R", len(tr.R), tr.Steps*tr.K*tr.Rows)
}

// enter calls Enter.
func (tr *Trajectory) enter(sums bool) {
	if tr.Enter != nil {
		tr.Enter(sums)
	}
}

// stopped reports whether the caller has given up.
func (tr *Trajectory) stopped() bool { return tr != nil && tr.Stop != nil && tr.Stop() }

// reshape makes room for an ascent.
func (tr *Trajectory) reshape(steps, rows int, m *Mixture, backward, sparse bool) {
	tr.Steps, tr.Rows, tr.K, tr.D = steps, rows, m.K, m.D
	tr.stride, tr.first = rows, 0
	tr.backward, tr.back, tr.sparse, tr.kept = backward, false, sparse, 0
	engine.Grow(&tr.X, (steps+1)*rows*m.D)
	engine.Grow(&tr.R, steps*m.K*rows)
	engine.Grow(&tr.Phi, steps*rows)
	if tr.keepQ {
		engine.Grow(&tr.q, m.K*rows)
	}
	m.precision.reshape(tr)
}

// gAt returns G_i of step t for the rows [r0, r1).
func (tr *Trajectory) gAt(t, i, r0, r1 int) engine.Matrix {
	at := (t*tr.K + i) * tr.kept
	return engine.Matrix{Data: tr.g[(at+r0)*tr.gd : (at+r1)*tr.gd], Rows: r1 - r0, Cols: tr.D, RS: tr.gd, CS: 1}
}

// gRow returns G_i of step t for row b.
func (tr *Trajectory) gRow(t, i, b int) []float32 {
	at := ((t*tr.K+i)*tr.kept + b) * tr.gd
	return tr.g[at : at+tr.D]
}

// prefetchG returns the memory of G_i of step t for the rows [r0, r1), which is needed next: nothing if G
// is not kept or there is no such step. Component K is the first one of the next step. If features are
// many, enough is in the cache without prefetching.
func (tr *Trajectory) prefetchG(t, i, r0, r1 int) []float32 {
	if tr == nil || r1 > tr.kept || tr.D > longRows {
		return nil
	}
	t, i = t+i/tr.K, i%tr.K
	if t < 0 || t >= tr.Steps {
		return nil
	}
	return tr.gAt(t, i, r0, r1).Data
}

// block returns the rows [r0, r1) of step t of a record with n numbers a row.
func (tr *Trajectory) block(record []float32, n, t, r0, r1 int) engine.Matrix {
	at := tr.row(t)
	return engine.Matrix{Data: record[(at+r0)*n : (at+r1)*n], Rows: r1 - r0, Cols: n, RS: n, CS: 1}
}

// uAt returns row b of U of step t.
func (tr *Trajectory) uAt(t, b int) []float32 {
	at := (tr.row(t) + b) * tr.D
	return tr.u[at : at+tr.D]
}
