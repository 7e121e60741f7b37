package ascent

// Single rows: this file saves a tenth (AVX-512) to a third (AVX2) of the latency of one sample.
//
// A single row uses every number of P_i once, so that its ascent takes as long as reading P_i from the
// second-level cache, which is twice as long as multiplying. But P_i is symmetric: a number of its lower
// triangle serves as its mirror image, too, without any shuffle if components lie beside each other, one to a
// lane. Half as much is read, and the multiply-adds are the limit again.

import (
	"math"

	"dpnbench/engine"
)

// triangles holds the lower triangles of all P_i: of each group the rows, eight at a time, or four of
// eight components; of them column by column, down to and with the diagonal; of a column the numbers
// of each row, one for each component.
type triangles struct {
	data      []float32
	packed    bool // as the precisions are
	symmetric bool // to the bit, as they ought to be
	steps     int  // that single rows have made since the precisions were set
}

// triangleSteps is the number of steps of single rows after which triangles are made: making them
// takes about as long as they save in 16 steps.
const triangleSteps = 16

// maxTriangleBytes is the size of all P_i up to which half of them, and as much for lanes without a component,
// is kept a second time.
const maxTriangleBytes = 256 << 20

// hasSingleRows reports whether single rows may climb by triangles. With fewer than four components most lanes
// would be idle.
func hasSingleRows(e *engine.Engine, k, d int) bool {
	return e.SingleRows() > 0 && k >= 4 && d%16 == 0 && e.InnerBlocks(d) == 1 &&
		4*float64(k)*float64(d)*float64(d) <= maxTriangleBytes
}

// usesTriangles reports whether a job takes single rows through all steps by triangles, and packs these if
// need be.
func (p *dense) usesTriangles(j *ascentJob) bool {
	t := &p.triangles
	if !j.plan.SingleRows {
		return false
	}
	if !t.packed {
		if t.steps += j.x.Rows * j.steps; t.steps < triangleSteps {
			return false
		}
		t.pack(j.e, p)
	}
	return t.symmetric
}

// pack makes the triangles of p.
func (t *triangles) pack(e *engine.Engine, p *dense) {
	k, d := p.m.K, p.m.D
	n, each := e.LaneGroups(k, d), d*(d+1)/2
	engine.Grow(&t.data, n.Lanes()*each)
	if last, _ := n.Group(k - 1); k < n.Lanes() {
		clear(t.data[last*each:]) // the lanes without a component
	}
	t.packed, t.symmetric = true, true
	for i := range k {
		packed := p.matrix(i)
		first, width := n.Group(i)
		packed.PackTriangle(t.data[first*each+i-first:], width)
		t.symmetric = t.symmetric && (p.a != nil || packed.Symmetric()) // SetFactors mirrors one half
	}
}

// singleRow is the memory of a worker for single rows. c fills registers of eight, as q does.
type singleRow struct {
	forms engine.LaneForms
	c     []float32
}

// newSingleRow prepares for an ascent of single rows on m.
func (p *dense) newSingleRow(worker *engine.Worker) singleRow {
	m := p.m
	n, d := worker.Engine().LaneGroups(m.K, m.D), m.D
	lanes := n.Lanes()
	whole := (lanes + 7) / 8 * 8
	memory := worker.Scratch(slotSingle, 2*lanes*d+2*whole+n.Widest()*d)
	take := func(n int) []float32 {
		x := memory[:n:n]
		memory = memory[n:]
		return x
	}
	l := singleRow{forms: engine.LaneForms{
		Groups: n, P: p.triangles.data, Mu: take(lanes * d), G: take(lanes * d), Q: take(whole),
	}}
	l.c = take(whole)
	l.forms.Work = take(n.Widest() * d)
	for i := 0; i < m.K; {
		_, width := n.Group(i)
		if m.K < i+width {
			clear(l.forms.Mu[i*d:])
		}
		comps := min(m.K-i, width)
		columns := engine.Matrix{Data: l.forms.Mu[i*d:], Rows: d, Cols: comps, RS: width, CS: 1}
		worker.Transpose(columns, engine.View(m.Mu[i*d:(i+comps)*d], comps, d))
		i += width
	}
	for i := copy(l.c, m.C); i < whole; i++ {
		l.c[i] = float32(math.Inf(-1))
	}
	return l
}

// ascendSingleRows takes the rows [r0, r1) through all steps, one after the other.
func (j *ascentJob) ascendSingleRows(worker *engine.Worker, r0, r1 int) {
	m := j.m
	l := m.matrices("Ascend").newSingleRow(worker)
	q := l.forms.Q
	for row := r0; row < r1; row++ {
		x := j.x.Row(row)
		clear(q[l.forms.Groups.Lanes():]) // no component writes there, but NaN of the row before may be
		for range j.steps {
			if j.stopped() {
				return
			}
			worker.QuadLanes(x, &l.forms)
			worker.MixtureLanes(q, l.c)
			worker.StepLanes(j.alpha, x, q, &l.forms)
			worker.Yield(2 * m.K * m.D * m.D)
		}
	}
}
