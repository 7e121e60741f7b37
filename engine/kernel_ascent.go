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

// moveRows moves the rows x along the gradients of their responsibilities and G, which are in args with
// alpha, the strides and k. grad is memory for a gradient.
func (kern *kernels) moveRows(x Matrix, args *moveRowsArgs, grad []float32) {
	if kern.table.moveRows == nil || x.Cols%moveCols != 0 {
		for b := range x.Rows {
			kern.gradient(grad, args.r[b:], args.rs, args.g[b*args.gr:], args.gs, args.k)
			kern.axpy(x.Row(b), args.alpha, grad, x.Row(b))
		}
		return
	}
	n, k := x.Cols, args.k
	const bytes = 1 << 20         // of G, which may be far away
	most := max(bytes/(4*k*n), 1) // rows of a call, none of which may be long
	for b := 0; b < x.Rows; b += most {
		rows := min(most, x.Rows-b)
		part := *args
		part.x, part.xs, part.rows, part.n = x.Slice(b, b+rows, 0, n).Data, x.RS, rows, n
		part.r, part.g = args.r[b:], args.g[b*args.gr:]
		need("moveRows", "x", len(part.x), span(rows, x.RS, n))
		need("moveRows", "r", len(part.r), span(k, args.rs, rows))
		need("moveRows", "g", len(part.g), span(k, args.gs, span(rows, args.gr, n)))
		kern.table.moveRows(onStack(&part))
	}
}

func (kern *kernels) gradRows(args *gradRowsArgs) {
	rows, n := len(args.r), args.n
	need("gradRows", "dst", len(args.dst), span(rows, args.ds, n))
	need("gradRows", "x", len(args.x), span(rows, args.xs, n))
	need("gradRows", "t", len(args.t), rows)
	need("gradRows", "y", len(args.y), span(rows, args.ys, n))
	kern.table.gradRows(onStack(args))
}

func (kern *kernels) gradDeltas(args *gradDeltasArgs) {
	rows, n := len(args.r), len(args.mu)
	need("gradDeltas", "w", len(args.w), span(rows, args.ld, n))
	need("gradDeltas", "u", len(args.u), span(rows, args.us, n))
	need("gradDeltas", "t", len(args.t), rows)
	need("gradDeltas", "x", len(args.x), span(rows, args.xs, n))
	need("gradDeltas", "d", len(args.d), span(rows, args.ld, n))
	need("gradDeltas", "sr", len(args.sr), n)
	need("gradDeltas", "st", len(args.st), n)
	kern.table.gradDeltas(onStack(args))
}

// quadSmallD sets G and q of m rows for the components whose centres are in mu. P of a component, a
// single block of whole panels, is in p, or one for all. work is memory for smallDWork numbers, next what
// is needed after the first component, and gc further on after the next one, and so on. It sets the comps,
// tiles, rows, tall and step of args.
func (kern *kernels) quadSmallD(m int, args *quadSmallDArgs) {
	d := args.d
	if !kern.isSmallD(d) || len(args.mu)%d != 0 {
		panic(fmt.Sprintf("engine: quadSmallD: %d features, mu of %d numbers", d, len(args.mu)))
	}
	comps := len(args.mu) / d
	need("quadSmallD", "g", len(args.g), span(comps, args.gc, span(m, args.gs, d)))
	need("quadSmallD", "q", len(args.q), span(comps, args.qc, m))
	need("quadSmallD", "x", len(args.x), span(m, args.xs, d))
	if len(args.p) != 1 {
		need("quadSmallD", "p", len(args.p), comps)
	}
	args.p = args.p[:min(comps, len(args.p))]
	for i := range args.p {
		need("quadSmallD", "P", len(args.p[i].data), d*d)
	}
	need("quadSmallD", "work", len(args.work), kern.smallDWork(d))
	if m > 0 && comps > 0 {
		args.comps = comps
		args.tiles, args.rows, args.tall = split(m, kern.smallDRows)
		args.next, args.step = kern.prefetchPlan(args.next, args.p[0].data, args.tiles*d/kern.smallDCols, d)
		kern.table.quadSmallD(onStack(args))
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

// vjpSmallD sets m rows v to -N_i P, or adds it to v. -N_i is computed from the rows of x and u as in
// gradRows with h = 1; P is packed as in quadSmallD. work is memory for smallDRows rows. It sets the tiles, rows,
// tall and step of args.
func (kern *kernels) vjpSmallD(m int, args *vjpSmallDArgs) {
	d := len(args.mu)
	need("vjpSmallD", "v", len(args.v), span(m, args.vs, d))
	need("vjpSmallD", "u", len(args.u), span(m, args.us, d))
	need("vjpSmallD", "x", len(args.x), span(m, args.xs, d))
	need("vjpSmallD", "r", len(args.r), m)
	need("vjpSmallD", "t", len(args.t), m)
	if !kern.isSmallD(d) {
		panic(fmt.Sprintf("engine: vjpSmallD: %d features", d))
	}
	need("vjpSmallD", "p", len(args.p), d*d)
	need("vjpSmallD", "work", len(args.work), kern.smallDRows*d)
	if m > 0 {
		args.tiles, args.rows, args.tall = split(m, kern.smallDRows)
		args.next, args.step = kern.prefetchPlan(args.next, args.p, args.tiles*d/kern.smallDCols, d)
		kern.table.vjpSmallD(onStack(args))
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
