package engine

import "fmt"

// Trajectory records an ascent: what the backward pass and the analysis need. Its
// memory is kept and used again by the next ascent of the same size.
type Trajectory struct {
	Steps, Rows, K, D int

	// X holds x_0 .. x_n, each Rows x D.
	X []float32
	// R holds the responsibilities of steps 0 .. n-1, each K x Rows (component-major).
	R []float32
	// Phi holds the potential at x_0 .. x_{n-1}, each Rows.
	Phi []float32

	backward bool // recorded for the backward pass
	kept     bool
	g        []float32 // G of steps 0 .. n-1, each K x Rows x D; of one step only unless kept

	// Set by the backward pass.
	u   []float32 // alpha V of each step, each Rows x D
	t   []float32 // dL/dl of each step, each K x Rows
	sum []float32 // sum_i r_i s_i of each step, each Rows
}

// maxKeptGradient is the size in bytes up to which a Trajectory keeps all G_i of an
// ascent for the backward pass. Above it they are computed a second time there: the same
// bits, for a third more products.
var maxKeptGradient = 512 << 20

// XAt returns x_t (Rows x D).
func (tr *Trajectory) XAt(t int) Matrix {
	n := tr.Rows * tr.D
	return View(tr.X[t*n:(t+1)*n], tr.Rows, tr.D)
}

// RAt returns the responsibilities of step t (K x Rows).
func (tr *Trajectory) RAt(t int) Matrix {
	n := tr.K * tr.Rows
	return View(tr.R[t*n:(t+1)*n], tr.K, tr.Rows)
}

// PhiAt returns the potential at x_t.
func (tr *Trajectory) PhiAt(t int) []float32 { return tr.Phi[t*tr.Rows : (t+1)*tr.Rows] }

// reshape gives the trajectory room for an ascent.
func (tr *Trajectory) reshape(steps, rows, k, d int, backward bool) {
	tr.Steps, tr.Rows, tr.K, tr.D = steps, rows, k, d
	grow(&tr.X, (steps+1)*rows*d)
	grow(&tr.R, steps*k*rows)
	grow(&tr.Phi, steps*rows)
	one := k * rows * d
	tr.kept = backward && 4*steps*one <= maxKeptGradient
	if tr.kept {
		grow(&tr.g, steps*one)
	} else if backward {
		grow(&tr.g, one)
	}
}

// grow gives s n elements, in the memory that it has where that is enough.
func grow(s *[]float32, n int) {
	if cap(*s) < n {
		*s = alignedFloats(n)
	}
	*s = (*s)[:n]
}

// gAt returns G_i of step t for rows [r0, r1).
func (tr *Trajectory) gAt(t, i, r0, r1 int) Matrix {
	if !tr.kept {
		t = 0
	}
	at := (t*tr.K + i) * tr.Rows
	return View(tr.g[(at+r0)*tr.D:(at+r1)*tr.D], r1-r0, tr.D)
}

// ascentFlops counts the products of steps of ascent of rows.
func ascentFlops(rows, k, d, steps int) float64 {
	return 2 * float64(rows) * float64(k) * float64(d) * float64(d) * float64(steps)
}

// Ascend moves the rows of x (B x d) uphill on the potential of m, steps times, in place:
//
//	x_{t+1} = x_t + alpha grad phi(x_t),   grad phi = - sum_i r_i G_i
//
// With a trajectory it records x_0 .. x_n, r and phi; with backward set also what
// AscendBackward needs. A thread takes a block of rows through all steps on its own:
// rows never wait for each other, and no bit of a row depends on the others.
func (e *Engine) Ascend(m *Mixture, alpha float32, steps int, x Matrix, tr *Trajectory, backward bool) {
	if steps < 0 {
		panic(fmt.Sprintf("engine: Ascend: %d steps", steps))
	}
	x.shape("Ascend", "x", x.Rows, m.D)
	m.ready(e, "Ascend")
	e.mu.Lock()
	defer e.mu.Unlock()
	if tr != nil {
		tr.reshape(steps, x.Rows, m.K, m.D, backward)
		tr.backward = backward
	}
	target := x
	x = e.dense(slotDense, x)
	flops := ascentFlops(x.Rows, m.K, m.D, steps)
	j := &e.ascent
	*j = ascentJob{e: e, m: m, alpha: alpha, steps: steps, x: x, tr: tr}
	e.run(j, j.split(flops), flops)
	*j = ascentJob{}
	if target.CS != 1 {
		copyMatrix(target, x)
	}
}

// Potential sets phi to the potential of the rows of x (B x d) and, where r is not
// empty, r (K x B) to the responsibilities.
func (e *Engine) Potential(m *Mixture, x Matrix, phi []float32, r Matrix) {
	x.shape("Potential", "x", x.Rows, m.D)
	length("Potential", "phi", len(phi), x.Rows)
	m.ready(e, "Potential")
	if r.Data != nil {
		r.shape("Potential", "r", m.K, x.Rows)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	x = e.dense(slotDense, x)
	flops := ascentFlops(x.Rows, m.K, m.D, 1)
	j := &e.ascent
	*j = ascentJob{e: e, m: m, steps: 1, x: x, phi: phi, r: r}
	e.run(j, j.split(flops), flops)
	*j = ascentJob{}
}

const (
	maxBlockRows   = 128      // more rows at a time gain nothing
	maxBlockFloats = 16 << 20 // scratch memory for G_i of all components, in bytes
)

// ascentJob takes blocks of rows through all steps. With phi set it evaluates the
// potential once instead, and leaves x alone.
type ascentJob struct {
	e      *Engine
	m      *Mixture
	alpha  float32
	steps  int
	x      Matrix
	tr     *Trajectory
	phi    []float32
	r      Matrix
	blocks int
}

// split sets the number of blocks of rows: one a thread where there are few rows,
// because every block reads all P_i.
func (j *ascentJob) split(flops float64) int {
	rows := j.x.Rows
	if rows == 0 {
		return 0
	}
	j.blocks = rowBlocks(j.e, rows, j.m.K*leading(j.m.D), flops)
	return j.blocks
}

// rowBlocks returns into how many blocks to split rows, of which each needs scratch
// memory of floats a row.
func rowBlocks(e *Engine, rows, floats int, flops float64) int {
	most := min(maxBlockRows, max(maxBlockFloats/(4*floats), e.k.mr))
	n := (rows + most - 1) / most
	if flops >= e.smallWork {
		t := e.Threads()
		n = (n + t - 1) / t * t
	}
	return min(n, rows)
}

func (j *ascentJob) run(worker, task int) {
	r0, r1 := part(j.x.Rows, j.blocks, task)
	if r0 == r1 {
		return
	}
	var (
		e, m, tr = j.e, j.m, j.tr
		arena    = &e.scratch[worker]
		rows     = r1 - r0
		ld       = leading(m.D)
		block    = j.x.Slice(r0, r1, 0, m.D)
		grad     = arena.floats(slotGrad, m.D)
	)
	for t := range j.steps {
		// Where G_i, q and phi of this step go: into the trajectory, or into scratch memory.
		q, qs := arena.floats(slotQ, m.K*rows), rows
		phi := arena.floats(slotS, rows)
		if tr != nil {
			r := tr.RAt(t)
			q, qs = r.Data[r0:], r.RS
			phi = tr.PhiAt(t)[r0:r1]
			copyMatrix(tr.XAt(t).Slice(r0, r1, 0, m.D), block)
		}
		g, gs, gr := []float32(nil), 0, ld // G, distance of components, distance of rows
		if tr != nil && tr.kept {
			g, gs, gr = tr.g[(t*m.K*tr.Rows+r0)*m.D:], tr.Rows*m.D, m.D
		} else {
			g, gs = arena.floats(slotG, m.K*rows*ld), rows*ld
		}
		for i := range m.K {
			gi := Matrix{Data: g[i*gs:], Rows: rows, Cols: m.D, RS: gr, CS: 1}
			e.quadGrad(worker, gi, q[i*qs:i*qs+rows], block, m, i)
		}
		e.k.mixture(q, qs, m.C, phi)
		if j.phi != nil {
			copy(j.phi[r0:r1], phi)
			if j.r.Data != nil {
				copyMatrix(j.r.Slice(0, m.K, r0, r1), Matrix{Data: q, Rows: m.K, Cols: rows, RS: qs, CS: 1})
			}
			return
		}
		for b := range rows {
			e.k.gradient(grad, q[b:], qs, g[b*gr:], gs, m.K)
			e.k.axpy(j.alpha, grad, block.Row(b))
		}
	}
	if tr != nil {
		copyMatrix(tr.XAt(j.steps).Slice(r0, r1, 0, m.D), block)
	}
}
