package check

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// rankArg is the rank of P_i - diag(w_i). Ranks above d become d.
var rankArg = arg{name: "r", usual: 2, max: 64, sweep: []int{0, 1, 2, 3, 8, 15, 16, 17}, quickSweep: []int{0, 1, 8}}

// sArg chooses S from sValues. With the last one the potential has an origin, too.
var (
	sArg    = arg{name: "s", max: len(sValues) - 1, sweep: []int{0, 1, 2}, quickSweep: []int{0, 1, 2}}
	sValues = []float32{1, -1, -0.7}
)

var (
	lowRankKernel = definition{
		args: []arg{size("rows", 7), one(size("k", 3)), one(size("d", 17)), rankArg, sArg,
			stepsArg(3, 0, 1, 2, 10), layoutArg("lx"), offsetArg, seedArg},
		more: lowRanks,
		make: lowRankAscend,
	}
	lowRankBackwardKernel = definition{
		args: []arg{size("rows", 5), one(size("k", 3)), one(size("d", 9)), rankArg, sArg,
			stepsArg(2, 0, 1, 2, 7), layoutArg("lv"), offsetArg, seedArg},
		more: lowRanks,
		make: lowRankBackward,
	}
)

// lowRanks are pairs of k and r on both sides of the boundaries of panels and lanes.
func lowRanks(bool) [][]int {
	return [][]int{
		{3, 2, 40, 16, 0, 2, 0, -1, 1},
		{3, 4, 40, 8, 1, 2, 0, -1, 1},
		{4, 3, 40, 11, 0, 2, 0, -1, 1},
		{5, 33, 20, 1, 0, 1, 0, -1, 1},
	}
}

// lowRankCase is a potential with precisions diag(w_i) + s F_i^T F_i.
type lowRankCase struct {
	*mixtureCase
	r    int
	s    float32
	w, f engine.Matrix
	o    []float32
	low  *reference.LowRank
}

func newLowRankCase(cs Case, mem *memory, r *num.Rand) *lowRankCase {
	k, d, off, normal := cs.get("k"), cs.get("d"), cs.get("offset"), filler(r, normalData)
	l := &lowRankCase{mixtureCase: &mixtureCase{k: k, d: d, sparse: cs.onSparse(), alpha: 0.25, mem: mem},
		r: min(cs.get("r"), d), s: sValues[cs.get("s")]}
	l.mu = mem.input(1, k*d, rowMajor, off, cs.centres(normal))
	l.c = mem.input(1, k, rowMajor, off, func() float32 { return 0.5 * normal() })
	l.w = mem.input(1, k*d, rowMajor, off, func() float32 {
		if cs.isotropic() {
			return 1
		}
		return 0.5 + r.Float32()
	})
	scale := float32(0.5 / math.Sqrt(float64(d)*float64(l.r+1)))
	l.f = mem.input(1, k*l.r*d, rowMajor, off, func() float32 { return scale * normal() })
	l.oracle = newOracle(l.mixtureCase)
	l.low = &reference.LowRank{S: float64(l.s),
		W: reference.FromFloat32(vector(l.w), k, d, d, 1), F: reference.FromFloat32(vector(l.f), k*l.r, d, d, 1)}
	if cs.get("s") == len(sValues)-1 {
		o := mem.input(1, d, rowMajor, off, normal)
		l.o, l.low.Origin = vector(o), general(o).Data
	}
	return l
}

func (l *lowRankCase) engine(e *engine.Engine) *ascent.Mixture {
	m := ascent.NewLowRankMixture(l.k, l.d, l.r, vector(l.mu), vector(l.c))
	m.Origin, m.Lanes = l.o, true
	m.SetLowRank(e, vector(l.w), vector(l.f), l.s)
	l.mem.mixture, m.Route = m, l.mem.route
	return m
}

// at is mixtureCase.at with the formulas and bounds of low rank.
func (l *lowRankCase) at(x []float64) (phi, r, next reference.Value) {
	ev := l.oracle.AtLowRank(l.low, x)
	return ev.Phi, ev.R, l.oracle.StepLowRank(l.low, x)
}

// lowRankAscend is ascend for precisions of low rank.
func lowRankAscend(c Case, mem *memory) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	l := newLowRankCase(c, mem, r)
	fill := filler(r, normalData)
	x := mem.output(rows, d, layout(c.get("lx")), c.get("offset"), l.begin(fill))
	path := mem.output(steps+1, rows*d, rowMajor, -1, fill)
	res := mem.output(steps, k*rows, rowMajor, -1, fill)
	phi := mem.output(steps, rows, rowMajor, -1, fill)
	tr := trial{ascends: c.ascends()}
	want := expectAscent(l, states(trajectory(l, x, l.alpha, steps), steps), k)
	tr.expect(want.last, want.path, want.r, want.phi)
	tr.run = func(e *engine.Engine) {
		var t ascent.Trajectory
		l.engine(e).Ascend(e, l.alpha, steps, x, &t, false)
		copy(path.Data, t.X)
		copy(res.Data, t.R)
		copy(phi.Data, t.Phi)
	}
	return tr
}

// lowRankBackward is ascendBackward for precisions of low rank.
func lowRankBackward(c Case, mem *memory) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	l := newLowRankCase(c, mem, r)
	fill := filler(r, normalData)
	x := mem.input(rows, d, rowMajor, c.get("offset"), l.begin(fill))
	v := mem.output(rows, d, layout(c.get("lv")), c.get("offset"), fill)
	var outs []engine.Matrix
	for _, n := range []int{k * d, k, k * d, k * l.r * d, 1} {
		outs = append(outs, mem.output(1, n, rowMajor, -1, fill))
	}
	g := l.oracle.BackwardLowRank(l.low, states(trajectory(l, x, l.alpha, steps), steps), general(v))
	tr := trial{ascends: c.ascends()}
	tr.expect(g.V, g.Mu, g.C, g.W, g.F, g.Alpha)
	tr.run = func(e *engine.Engine) {
		mix := l.engine(e)
		var t ascent.Trajectory
		mix.Ascend(e, l.alpha, steps, packed(x), &t, true)
		grad := ascent.NewLowRankGradient(k, d, l.r, true)
		mix.Backward(e, l.alpha, nil, &t, v, grad)
		for i, from := range [][]float32{grad.Mu, grad.C, grad.W, grad.F, {grad.Alpha}} {
			copy(outs[i].Data, from)
		}
	}
	return tr
}
