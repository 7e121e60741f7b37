package engine

import (
	"fmt"
	"math"

	"dpnbench/engine/num"
)

func (k *kernels) gradient(dst, r []float32, rs int, g []float32, gs, comps int) {
	if w := span(comps, rs, 1); len(r) < w {
		short("gradient", "r", len(r), w)
	}
	if w := span(comps, gs, len(dst)); len(g) < w {
		short("gradient", "g", len(g), w)
	}
	k.rawGradient(dst, r, rs, g, gs, comps)
}

// moveRows moves the rows x along the gradients of their responsibilities r[i*rs+b] and
// G_i g[i*gs+b*gr:]. grad is memory for a gradient.
func (k *kernels) moveRows(alpha float32, x Matrix, r []float32, rs int, g []float32, gs, gr, comps int, grad []float32) {
	if k.rawMoveRows == nil || x.Cols%moveCols != 0 {
		for b := range x.Rows {
			k.gradient(grad, r[b:], rs, g[b*gr:], gs, comps)
			k.axpy(alpha, grad, x.Row(b))
		}
		return
	}
	n := x.Cols
	const bytes = 1 << 20             // of G, which may be far away
	most := max(bytes/(4*comps*n), 1) // rows of a call, none of which may be long
	for b := 0; b < x.Rows; b += most {
		rows := min(most, x.Rows-b)
		part := x.Slice(b, b+rows, 0, n)
		if w := span(rows, x.RS, n); len(part.Data) < w {
			short("moveRows", "x", len(part.Data), w)
		}
		if w := span(comps, rs, rows); len(r[b:]) < w {
			short("moveRows", "r", len(r[b:]), w)
		}
		if w := span(comps, gs, span(rows, gr, n)); len(g[b*gr:]) < w {
			short("moveRows", "g", len(g[b*gr:]), w)
		}
		k.rawMoveRows(alpha, part.Data, x.RS, r[b:], rs, g[b*gr:], gs, gr, rows, n, comps)
	}
}

func (k *kernels) pullRows(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int) {
	rows := len(r)
	if w := span(rows, ds, n); len(dst) < w {
		short("pullRows", "dst", len(dst), w)
	}
	if w := span(rows, xs, n); len(x) < w {
		short("pullRows", "x", len(x), w)
	}
	if len(t) < rows {
		short("pullRows", "t", len(t), rows)
	}
	if w := span(rows, ys, n); len(y) < w {
		short("pullRows", "y", len(y), w)
	}
	k.rawPullRows(dst, ds, r, x, xs, t, h, y, ys, n)
}

func (k *kernels) pullDeltas(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32) {
	rows, n := len(r), len(mu)
	if w0 := span(rows, ld, n); len(w) < w0 {
		short("pullDeltas", "w", len(w), w0)
	} else if len(d) > 0 && len(d) < w0 {
		short("pullDeltas", "d", len(d), w0)
	}
	if w := span(rows, us, n); len(u) < w {
		short("pullDeltas", "u", len(u), w)
	}
	if len(t) < rows {
		short("pullDeltas", "t", len(t), rows)
	}
	if w := span(rows, xs, n); len(x) < w {
		short("pullDeltas", "x", len(x), w)
	}
	if len(d) > 0 {
		if len(sr) < n {
			short("pullDeltas", "sr", len(sr), n)
		}
		if len(st) < n {
			short("pullDeltas", "st", len(st), n)
		}
	}
	k.rawPullDeltas(w, d, ld, r, u, us, t, h, x, xs, mu, sr, st)
}

// quadFew sets G and q of the rows x for the components whose centres are in mu and whose packed P,
// single blocks of whole panels, in p, or one for all: row b of G_c is at g[c*gc+b*gs:], of q_c at
// q[c*qc+b]. work is memory for fewWork numbers, next what is needed after the first component, and
// gc further on after the next one, and so on.
func (k *kernels) quadFew(g []float32, gc, gs int, q []float32, qc int, x Matrix, mu []float32, p []Packed, work, next []float32) {
	m, d := x.Rows, x.Cols
	if !k.fewFeatures(d) || len(mu)%d != 0 {
		panic(fmt.Sprintf("engine: quadFew: %d features, mu of %d numbers", d, len(mu)))
	}
	comps := len(mu) / d
	if w := span(comps, gc, span(m, gs, d)); len(g) < w {
		short("quadFew", "g", len(g), w)
	}
	if w := span(comps, qc, m); len(q) < w {
		short("quadFew", "q", len(q), w)
	}
	if w := span(m, x.RS, d); len(x.Data) < w {
		short("quadFew", "x", len(x.Data), w)
	}
	if len(p) != 1 && len(p) < comps {
		short("quadFew", "p", len(p), comps)
	}
	for i := range p[:min(comps, len(p))] {
		if len(p[i].data) < d*d {
			short("quadFew", "P", len(p[i].data), d*d)
		}
	}
	if n := k.fewWork(d); len(work) < n {
		short("quadFew", "work", len(work), n)
	}
	if m > 0 && comps > 0 {
		tiles, rows, longer := split(m, k.fewRows)
		next, step := k.fetching(next, p[0].data, tiles*d/k.fewCols, d)
		k.rawQuadFew(comps, g, gc, gs, q, qc, x.Data, x.RS, mu, d, p[:min(comps, len(p))], work, tiles, rows, longer, next, step)
	}
}

// fewWork is how much memory quadFew works in: for D_i of three tiles, each row with 16 lanes of q.
func (k *kernels) fewWork(d int) int { return 3 * k.fewRows * (d + 16) }

// quadTriangle sets g and q to G and q of the row x for groups of components, as laneGroups has them,
// whose centres are the columns of mu. work is memory for as many rows like x as a group has
// components, or for 8.
func (k *kernels) quadTriangle(n laneGroups, g, q, x, mu, p, work []float32) {
	d, lanes := len(x), n.lanes()
	switch {
	case d%16 != 0:
		panic(fmt.Sprintf("engine: quadTriangle: %d features, expected a multiple of 16", d))
	case len(g) < lanes*d:
		short("quadTriangle", "g", len(g), lanes*d)
	case len(q) < lanes:
		short("quadTriangle", "q", len(q), lanes)
	case len(mu) < lanes*d:
		short("quadTriangle", "mu", len(mu), lanes*d)
	case len(p) < lanes*d*(d+1)/2:
		short("quadTriangle", "p", len(p), lanes*d*(d+1)/2)
	case len(work) < n.widest()*d:
		short("quadTriangle", "work", len(work), n.widest()*d)
	}
	if d == 0 {
		return
	}
	skip := func(comps int) { g, q, mu, p = g[comps*d:], q[comps:], mu[comps*d:], p[comps*d*(d+1)/2:] }
	most := max(k.inACall(32*d*d), 1)
	for n.sixteens > 0 {
		some := min(most, n.sixteens)
		k.rawQuadSixteens(some, g, q, x, mu, p, work)
		skip(16 * some)
		n.sixteens -= some
	}
	most = max(k.inACall(16*d*d), 1)
	for ; n.eights > most; n.eights -= most {
		k.rawQuadTriangle(most, 0, g, q, x, mu, p, work)
		skip(8 * most)
	}
	if n.eights > 0 || n.fours > 0 {
		k.rawQuadTriangle(n.eights, n.fours, g, q, x, mu, p, work)
	}
}

// pullFew sets v to -N_i P, or adds it to v, of -N_i as pullDeltas makes it of the rows x and
// u, and of P as quadFew has it. work is memory for fewRows rows.
func (k *kernels) pullFew(v Matrix, r []float32, u Matrix, t []float32, x Matrix, mu []float32, p *Packed, acc bool, work, next []float32) {
	m, d := v.Rows, len(mu)
	for _, rows := range [...]*Matrix{&v, &u, &x} {
		if w := span(m, rows.RS, d); len(rows.Data) < w {
			short("pullFew", "rows", len(rows.Data), w)
		}
	}
	if len(r) < m {
		short("pullFew", "r", len(r), m)
	}
	if len(t) < m {
		short("pullFew", "t", len(t), m)
	}
	if !k.fewFeatures(d) || len(p.data) < d*d {
		short("pullFew", "p", len(p.data), d*d)
	}
	if n := k.fewRows * d; len(work) < n {
		short("pullFew", "work", len(work), n)
	}
	if m > 0 {
		tiles, rows, longer := split(m, k.fewRows)
		next, step := k.fetching(next, p.data, tiles*d/k.fewCols, d)
		k.rawPullFew(v.Data, v.RS, r, u.Data, u.RS, t, x.Data, x.RS, mu, p.data, work, tiles, rows, longer, acc, next, step)
	}
}

func (k *kernels) mixture(q []float32, ld int, c, phi []float32) {
	if w := span(len(c), ld, len(phi)); len(q) < w {
		short("mixture", "q", len(q), w)
	}
	if len(phi) == 1 && ld == 1 {
		phi[0] = k.mixtureRow(q[:len(c)], c)
		return
	}
	k.rawMixture(q, ld, c, phi)
}

// mixtureRow is mixture of a single row. The kernels take a register of rows at a time, of which
// one would count: here it is one of components, in the same steps.
func (k *kernels) mixtureRow(q, c []float32) (phi float32) {
	m := float32(math.Inf(-1))
	for i, v := range q {
		half := float32(0.5 * v)
		l := c[i] - half
		if half+half != v { // rounded
			l = num.FMA32(-0.5, v, c[i])
		}
		q[i] = l
		if l > m {
			m = l
		}
	}
	for i, l := range q {
		if q[i] = l - m; q[i] < ResponsibilityCut {
			q[i] = float32(math.Inf(-1)) // whose exponential is 0
		}
	}
	k.rawExp(q, q)
	var s float32
	for _, e := range q {
		s += e
	}
	phi = m + num.Log32(s)
	for i := range q {
		q[i] /= s
	}
	return phi
}

// mixtureLanes turns q into responsibilities as mixture does, of a single row whose components fill
// registers of eight: those that there are not have c -Inf.
func (k *kernels) mixtureLanes(q, c []float32) {
	if len(q)%8 != 0 || len(q) == 0 {
		panic(fmt.Sprintf("engine: mixtureLanes: %d components, expected a multiple of 8", len(q)))
	}
	if len(c) < len(q) {
		short("mixtureLanes", "c", len(c), len(q))
	}
	k.rawMixtureLanes(q, c)
}

// moveLanes moves the row x by alpha times its gradient, of G as quadTriangle leaves it.
func (k *kernels) moveLanes(n laneGroups, alpha float32, x, r, g []float32) {
	d, lanes := len(x), n.lanes()
	switch {
	case d%16 != 0:
		panic(fmt.Sprintf("engine: moveLanes: %d features, expected a multiple of 16", d))
	case len(r) < lanes:
		short("moveLanes", "r", len(r), lanes)
	case len(g) < lanes*d:
		short("moveLanes", "g", len(g), lanes*d)
	}
	if d > 0 {
		k.rawMoveLanes(n.sixteens, n.eights, n.fours, alpha, x, r, g)
	}
}

func (k *kernels) responsibilities(r, s []float32, ld int, sum []float32, comps int) {
	w := span(comps, ld, len(sum))
	if len(r) < w {
		short("responsibilities", "r", len(r), w)
	}
	if len(s) < w {
		short("responsibilities", "s", len(s), w)
	}
	k.rawResponsibilities(r, s, ld, sum, comps)
}
