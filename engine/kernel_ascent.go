package engine

import (
	"fmt"
	"math"

	"dpnbench/engine/num"
)

func (kern *kernels) gradient(dst, r []float32, rs int, g []float32, gs, comps int) {
	need("gradient", "r", len(r), span(comps, rs, 1))
	need("gradient", "g", len(g), span(comps, gs, len(dst)))
	kern.table.gradient(dst, r, rs, g, gs, comps)
}

// moveCols divides the number of features of the kernel moveRows.
const moveCols = 64

// moveRows moves the rows x along the gradients of their responsibilities r[i*rs+b] and
// G_i g[i*gs+b*gr:]. grad is memory for a gradient.
func (kern *kernels) moveRows(alpha float32, x Matrix, r []float32, rs int,
	g []float32, gs, gr, comps int, grad []float32) {
	if kern.table.moveRows == nil || x.Cols%moveCols != 0 {
		for b := range x.Rows {
			kern.gradient(grad, r[b:], rs, g[b*gr:], gs, comps)
			kern.axpy(alpha, grad, x.Row(b))
		}
		return
	}
	n := x.Cols
	const bytes = 1 << 20             // of G, which may be far away
	most := max(bytes/(4*comps*n), 1) // rows of a call, none of which may be long
	for b := 0; b < x.Rows; b += most {
		rows := min(most, x.Rows-b)
		part := x.Slice(b, b+rows, 0, n)
		need("moveRows", "x", len(part.Data), span(rows, x.RS, n))
		need("moveRows", "r", len(r[b:]), span(comps, rs, rows))
		need("moveRows", "g", len(g[b*gr:]), span(comps, gs, span(rows, gr, n)))
		kern.table.moveRows(alpha, part.Data, x.RS, r[b:], rs, g[b*gr:], gs, gr, rows, n, comps)
	}
}

func (kern *kernels) gradRows(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32,
	y []float32, ys, n int) {
	rows := len(r)
	need("gradRows", "dst", len(dst), span(rows, ds, n))
	need("gradRows", "x", len(x), span(rows, xs, n))
	need("gradRows", "t", len(t), rows)
	need("gradRows", "y", len(y), span(rows, ys, n))
	kern.table.gradRows(dst, ds, r, x, xs, t, h, y, ys, n)
}

func (kern *kernels) gradDeltas(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32,
	x []float32, xs int, mu, sr, st []float32) {
	rows, n := len(r), len(mu)
	need("gradDeltas", "w", len(w), span(rows, ld, n))
	need("gradDeltas", "u", len(u), span(rows, us, n))
	need("gradDeltas", "t", len(t), rows)
	need("gradDeltas", "x", len(x), span(rows, xs, n))
	if len(d) > 0 {
		need("gradDeltas", "d", len(d), span(rows, ld, n))
		need("gradDeltas", "sr", len(sr), n)
		need("gradDeltas", "st", len(st), n)
	}
	kern.table.gradDeltas(w, d, ld, r, u, us, t, h, x, xs, mu, sr, st)
}

// quadSmallD sets G and q of the rows x for the components whose centres are in mu and whose packed P,
// single blocks of whole panels, in p, or one for all: row b of G_c is at g[c*gc+b*gs:], of q_c at
// q[c*qc+b]. work is memory for smallDWork numbers, next what is needed after the first component, and
// gc further on after the next one, and so on.
func (kern *kernels) quadSmallD(g []float32, gc, gs int, q []float32, qc int, x Matrix, mu []float32, p []Packed,
	work, next []float32) {
	m, d := x.Rows, x.Cols
	if !kern.isSmallD(d) || len(mu)%d != 0 {
		panic(fmt.Sprintf("engine: quadSmallD: %d features, mu of %d numbers", d, len(mu)))
	}
	comps := len(mu) / d
	need("quadSmallD", "g", len(g), span(comps, gc, span(m, gs, d)))
	need("quadSmallD", "q", len(q), span(comps, qc, m))
	need("quadSmallD", "x", len(x.Data), span(m, x.RS, d))
	if len(p) != 1 {
		need("quadSmallD", "p", len(p), comps)
	}
	for i := range p[:min(comps, len(p))] {
		need("quadSmallD", "P", len(p[i].data), d*d)
	}
	need("quadSmallD", "work", len(work), kern.smallDWork(d))
	if m > 0 && comps > 0 {
		tiles, rows, tall := split(m, kern.smallDRows)
		next, step := kern.prefetchPlan(next, p[0].data, tiles*d/kern.smallDCols, d)
		kern.table.quadSmallD(onStack(&quadSmallDArgs{
			comps: comps, g: g, gc: gc, gs: gs, q: q, qc: qc, x: x.Data, xs: x.RS, mu: mu, d: d,
			p: p[:min(comps, len(p))], work: work, tiles: tiles, rows: rows, tall: tall, next: next, step: step,
		}))
	}
}

// smallDWork is how much memory quadSmallD works in: for D_i of three tiles, each row with 16 lanes of q.
func (kern *kernels) smallDWork(d int) int { return 3 * kern.smallDRows * (d + 16) }

// quadTriangle sets g and q to G and q of the row x for groups of components, as LaneGroups has them,
// whose centres are the columns of mu. work is memory for as many rows like x as a group has
// components, or for 8.
func (kern *kernels) quadTriangle(n LaneGroups, g, q, x, mu, p, work []float32) {
	d, lanes := len(x), n.Lanes()
	if d%16 != 0 {
		panic(fmt.Sprintf("engine: quadTriangle: %d features, expected a multiple of 16", d))
	}
	need("quadTriangle", "g", len(g), lanes*d)
	need("quadTriangle", "q", len(q), lanes)
	need("quadTriangle", "mu", len(mu), lanes*d)
	need("quadTriangle", "p", len(p), lanes*d*(d+1)/2)
	need("quadTriangle", "work", len(work), n.Widest()*d)
	if d == 0 {
		return
	}
	skip := func(comps int) { g, q, mu, p = g[comps*d:], q[comps:], mu[comps*d:], p[comps*d*(d+1)/2:] }
	most := max(kern.callBudget(32*d*d), 1)
	for n.sixteens > 0 {
		some := min(most, n.sixteens)
		kern.table.quadSixteens(some, g, q, x, mu, p, work)
		skip(16 * some)
		n.sixteens -= some
	}
	most = max(kern.callBudget(16*d*d), 1)
	for ; n.eights > most; n.eights -= most {
		kern.table.quadTriangle(most, 0, g, q, x, mu, p, work)
		skip(8 * most)
	}
	if n.eights > 0 || n.fours > 0 {
		kern.table.quadTriangle(n.eights, n.fours, g, q, x, mu, p, work)
	}
}

// vjpSmallD sets v to -N_i P, or adds it to v. -N_i is computed from the rows of x and u as in
// gradDeltas; P is packed as in quadSmallD. work is memory for smallDRows rows.
func (kern *kernels) vjpSmallD(v Matrix, r []float32, u Matrix, t []float32, x Matrix, mu []float32, p *Packed,
	acc bool, work, next []float32) {
	m, d := v.Rows, len(mu)
	for _, rows := range [...]*Matrix{&v, &u, &x} {
		need("vjpSmallD", "rows", len(rows.Data), span(m, rows.RS, d))
	}
	need("vjpSmallD", "r", len(r), m)
	need("vjpSmallD", "t", len(t), m)
	if !kern.isSmallD(d) {
		panic(fmt.Sprintf("engine: vjpSmallD: %d features", d))
	}
	need("vjpSmallD", "p", len(p.data), d*d)
	need("vjpSmallD", "work", len(work), kern.smallDRows*d)
	if m > 0 {
		tiles, rows, tall := split(m, kern.smallDRows)
		next, step := kern.prefetchPlan(next, p.data, tiles*d/kern.smallDCols, d)
		kern.table.vjpSmallD(onStack(&vjpSmallDArgs{
			v: v.Data, vs: v.RS, r: r, u: u.Data, us: u.RS, t: t, x: x.Data, xs: x.RS, mu: mu, p: p.data,
			work: work, tiles: tiles, rows: rows, tall: tall, acc: acc, next: next, step: step,
		}))
	}
}

func (kern *kernels) mixture(q []float32, ld int, c, phi []float32) {
	need("mixture", "q", len(q), span(len(c), ld, len(phi)))
	if len(phi) == 1 && ld == 1 {
		phi[0] = kern.mixtureRow(q[:len(c)], c)
		return
	}
	kern.table.mixture(q, ld, c, phi)
}

// mixtureRow is mixture for a single row, in the same steps. The kernels of mixture handle a register of
// rows at a time; this one vectorises over the components.
func (kern *kernels) mixtureRow(q, c []float32) (phi float32) {
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
	kern.table.exp(q, q)
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

// mixtureLanes is mixture for a single row whose components are padded to a multiple of eight; c is -Inf
// for the padding.
func (kern *kernels) mixtureLanes(q, c []float32) {
	if len(q)%8 != 0 || len(q) == 0 {
		panic(fmt.Sprintf("engine: mixtureLanes: %d components, expected a multiple of 8", len(q)))
	}
	need("mixtureLanes", "c", len(c), len(q))
	kern.table.mixtureLanes(q, c)
}

// moveLanes moves the row x by alpha times its gradient, from G in the layout of quadTriangle.
func (kern *kernels) moveLanes(n LaneGroups, alpha float32, x, r, g []float32) {
	d, lanes := len(x), n.Lanes()
	if d%16 != 0 {
		panic(fmt.Sprintf("engine: moveLanes: %d features, expected a multiple of 16", d))
	}
	need("moveLanes", "r", len(r), lanes)
	need("moveLanes", "g", len(g), lanes*d)
	if d > 0 {
		kern.table.moveLanes(n.sixteens, n.eights, n.fours, alpha, x, r, g)
	}
}

func (kern *kernels) responsibilityBackward(r, s []float32, ld int, sum []float32, comps int) {
	w := span(comps, ld, len(sum))
	need("responsibilityBackward", "r", len(r), w)
	need("responsibilityBackward", "s", len(s), w)
	kern.table.responsibilityBackward(r, s, ld, sum, comps)
}
