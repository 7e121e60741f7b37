package engine

import "unsafe"

// Responsibilities, quadratic forms and gradients of a mixture of Gaussians, block by block.

// Mixture turns the quadratic forms of a block of rows into responsibilities in place, and sets phi:
// see LogSumExp. q of component i < len(c) and row b is q[i*ld+b].
func (w *Worker) Mixture(q []float32, ld int, c, phi []float32) { w.e.kern.mixture(q, ld, c, phi) }

// MixtureVJP replaces s_i by t_i = r_i (s_i - sum_j r_j s_j), or by +0 where r_i is 0, and sets sum to
// sum_j r_j s_j, a chain in increasing j. Component i < comps of row b is at i*ld+b.
func (w *Worker) MixtureVJP(r, s []float32, ld int, sum []float32, comps int) {
	w.e.kern.responsibilityBackward(r, s, ld, sum, comps)
}

// Gradient sets dst to - sum_i r_i G_i, a chain in increasing i that leaves out every r_i that is 0.
// The rows of g are G_i.
func (w *Worker) Gradient(dst, r []float32, g Matrix) {
	w.e.kern.gradient(dst, r, 1, g.Data, g.RS, g.Rows)
}

// GradientStep adds alpha times the gradient to each row of a block: r_i of row b is r[i*rs+b] and G_i
// g[i*gs+b*gr:], for i < comps.
type GradientStep struct {
	Alpha  float32
	R      []float32
	RS     int
	G      []float32
	GS, GR int
	Comps  int
	Memory []float32 // for one gradient
}

// Step makes a GradientStep of the rows of x.
func (w *Worker) Step(x Matrix, s *GradientStep) {
	w.e.kern.moveRows(x, &moveRowsArgs{
		alpha: s.Alpha, r: s.R, rs: s.RS, g: s.G, gs: s.GS, gr: s.GR, k: s.Comps,
	}, s.Memory)
}

// GradRows sets the rows of dst to -(r_i x_i + h t_i y_i), and to +0 where r_i is 0.
func (w *Worker) GradRows(dst Matrix, r []float32, x Matrix, t []float32, h float32, y Matrix) {
	w.e.kern.gradRows(&gradRowsArgs{
		dst: dst.Data, ds: dst.RS, r: r, x: x.Data, xs: x.RS, t: t, h: h, y: y.Data, ys: y.RS, n: dst.Cols,
	})
}

// Deltas are rows of a component in the backward pass: responsibilities r, slopes t, the rows u = alpha
// dL/dx and x, and the centre. SumRU and SumTD receive the sums that dmu is made of.
type Deltas struct {
	R, T         []float32
	U, X         Matrix
	Mu           []float32
	H            float32
	SumRU, SumTD []float32
}

// MinusN sets the rows of dst to -(r u + h t (x - mu)), and to +0 where r is 0: to -N with H 1.
func (w *Worker) MinusN(dst Matrix, in *Deltas) {
	w.SubRows(dst, in.X, Matrix{Data: in.Mu, Rows: dst.Rows, Cols: len(in.Mu), CS: 1})
	w.GradRows(dst, in.R, in.U, in.T, in.H, dst)
}

// GradDeltas sets dst as MinusN does, and the rows of d to x - mu. It takes r u off SumRU and t (x - mu) off SumTD.
func (w *Worker) GradDeltas(dst, d Matrix, in *Deltas) {
	w.e.kern.gradDeltas(&gradDeltasArgs{
		w: dst.Data, d: d.Data, ld: dst.RS, r: in.R, u: in.U.Data, us: in.U.RS, t: in.T, h: in.H,
		x: in.X.Data, xs: in.X.RS, mu: in.Mu, sr: in.SumRU, st: in.SumTD,
	})
}

// SmallD reports whether blocks of d features have kernels of their own (QuadForms and the vector-
// Jacobian product compute their left operand on the way).
func (e *Engine) SmallD(d int) bool { return e.kern.isSmallD(d) }

// PaddedD returns how many features blocks of d have on the dense route: the next multiple of the 16 lanes where there
// are kernels for small d. More features, zeros all, take less time than the tails of all vectors.
func (e *Engine) PaddedD(d int) int {
	if wide := MostPaddedD(d); e.kern.smallDRows > 0 && e.kern.blocks(wide) == 1 {
		return wide
	}
	return d
}

// MostPaddedD is PaddedD on tiers that have such kernels.
func MostPaddedD(d int) int {
	if wide := (d + 15) / 16 * 16; wide <= longRows {
		return wide
	}
	return d
}

// longRows is the number of features up to which D_i of a block stays in the first-level cache beside
// a panel.
const longRows = 128

// isSmallD reports whether quadSmallD and vjpSmallD are for d features.
func (kern *kernels) isSmallD(d int) bool {
	return kern.smallDRows > 0 && d%kern.smallDCols == 0 && d <= longRows && kern.blocks(d) == 1
}

// QuadForm is the quadratic form of a component.
type QuadForm struct {
	Mu       []float32
	P        *Packed   // symmetric
	Prefetch []float32 // what is needed next, or empty

	// Next is the centre of the component that follows for the same rows, or nil. Made says that the
	// call before was given Mu as Next: D is then already there.
	Next []float32
	Made bool
}

// QuadForm sets G = D P and q = rowsum(G * D) of the rows of x, where D = x - mu is kept in the slot.
// D is stored once: the tiles stream its rows, and the row dots read it again. If Next is set, rows of
// D are replaced while they are near. G may have columns beyond those of x, to be overwritten.
func (w *Worker) QuadForm(slot int, g Matrix, q []float32, x Matrix, f *QuadForm) {
	e, rows, dim := w.e, x.Rows, x.Cols
	ld := PaddedLD(dim)
	if e.kern.isSmallD(dim) {
		e.kern.quadSmallD(rows, &quadSmallDArgs{
			g: g.Data, gs: g.RS, q: q, x: x.Data, xs: x.RS, mu: f.Mu, d: dim, p: unsafe.Slice(f.P, 1),
			work: w.Scratch(slot, e.kern.smallDWork(dim)), next: f.Prefetch,
		})
		w.Yield(2 * rows * dim * dim)
		return
	}
	d := w.ScratchRows(slot, rows, dim, ld)
	if !f.Made {
		e.kern.subRows(&subRowsArgs{dst: d.Data, ds: ld, x: x.Data, xs: x.RS, y: f.Mu, rows: rows, n: dim})
	}
	e.multiply(w.index, g, d, &operand{packed: f.P, prefetch: f.Prefetch}, false)
	chunk := rows
	if f.Next != nil {
		chunk = 4 // rows at a time: the first-level cache has room for them
	}
	for r := 0; r < rows; r += chunk {
		n := min(chunk, rows-r)
		e.kern.dotRows(q[r:r+n], g.Data[r*g.RS:], g.RS, d.Data[r*ld:], ld, dim)
		if f.Next != nil {
			e.kern.subRows(&subRowsArgs{
				dst: d.Data[r*ld:], ds: ld, x: x.Data[r*x.RS:], xs: x.RS, y: f.Next, rows: n, n: dim,
			})
		}
	}
}

// QuadForms are the quadratic forms of several components: row b of G_c is at g[c*gs+b*gr:], q_c of it at
// q[c*qs+b].
type QuadForms struct {
	Mu     []float32 // a row for each component
	P      []Packed  // one for each, or one for all
	G      []float32
	GS, GR int
	Q      []float32
	QS     int
}

// QuadForms is QuadForm for the components [i0, i1) of f, where SmallD. prefetch is what is needed after the
// first of them, and GS further on after the next one, and so on.
func (w *Worker) QuadForms(slot int, x Matrix, f *QuadForms, i0, i1 int, prefetch []float32) {
	p := f.P
	if len(p) > 1 {
		p = p[i0:i1]
	}
	w.e.kern.quadSmallD(x.Rows, &quadSmallDArgs{
		g: f.G[i0*f.GS:], gc: f.GS, gs: f.GR, q: f.Q[i0*f.QS:], qc: f.QS, x: x.Data, xs: x.RS,
		mu: f.Mu[i0*x.Cols : i1*x.Cols], d: x.Cols, p: p,
		work: w.Scratch(slot, w.e.kern.smallDWork(x.Cols)), next: prefetch,
	})
	w.Yield((i1 - i0) * 2 * x.Rows * x.Cols * x.Cols)
}

// QuadFormVJP sets v to -N P, or adds it to v with acc, where N = r u + t (x - mu) of each row (Deltas with
// H 1, without sums). The slot has room for N.
func (w *Worker) QuadFormVJP(slot int, v Matrix, in *Deltas, p *Packed, acc bool, prefetch []float32) {
	e, rows, d := w.e, v.Rows, len(in.Mu)
	if e.kern.isSmallD(d) {
		work := w.Scratch(slot, e.kern.smallDRows*d)
		e.kern.vjpSmallD(rows, &vjpSmallDArgs{
			v: v.Data, vs: v.RS, r: in.R, u: in.U.Data, us: in.U.RS, t: in.T, x: in.X.Data, xs: in.X.RS, mu: in.Mu,
			p: p.data, work: work, acc: acc, next: prefetch,
		})
		w.Yield(2 * rows * d * d)
		return
	}
	n := w.ScratchRows(slot, rows, d, PaddedLD(d))
	w.MinusN(n, in)
	w.MatMulPacked(v, n, p, acc, prefetch)
}

// LogSumExp turns the quadratic forms q (k x n: row i is component i) into responsibilities in place and
// writes the potential of every row to phi (n):
//
//	l_i = c_i - q_i/2, phi = logsumexp_i l_i, r_i = exp(l_i - phi)
//
// computed as r_i = e_i / sum_j e_j with e_i = exp(l_i - max_j l_j), and r_i = 0 exactly where l_i lies more
// than 30 ln 2 below the largest. The sum over components is a chain in increasing i, so a row has the same
// bits alone and within any batch.
func (e *Engine) LogSumExp(q Matrix, c, phi []float32) {
	q.shape("LogSumExp", "q", len(c), len(phi))
	if len(c) == 0 {
		panic("engine: LogSumExp: no components")
	}
	disjoint("LogSumExp", "q", q, "c", View(c, len(c), 1))
	disjoint("LogSumExp", "q", q, "phi", View(phi, len(phi), 1))
	apart("LogSumExp", "phi", phi, "c", c)
	e.mu.Lock()
	defer e.mu.Unlock()
	target := q
	q = e.dense(slotDense, q)
	const most = 128 // rows of a call, which is short
	for b := 0; b < q.Cols; b += most {
		n := min(most, q.Cols-b)
		e.kern.mixture(q.Data[b:], q.RS, c, phi[b:b+n])
	}
	if target.CS != 1 {
		CopyMatrix(target, q)
	}
}
