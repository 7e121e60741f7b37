package check

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

func stepsArg(usual int, sweep ...int) arg {
	return arg{name: "steps", usual: usual, max: 64, sweep: sweep, quickSweep: []int{0, 1}}
}

func spreadArg(sweep, quickSweep []int) arg {
	return arg{name: "spread", usual: 3, max: 1000, sweep: sweep, quickSweep: quickSweep}
}

var (
	// distanceArg is the distance between centres. From about 8 on, responsibilities are nearly one-hot.
	distanceArg = arg{name: "distance", usual: 2, max: 100, sweep: []int{0, 1, 2, 3, 8, 50}, quickSweep: []int{0, 1, 8}}
	// isotropicArg selects precisions that are all the same multiple of the identity, apart from
	// low-rank terms: the sparse route has special bounds for them.
	isotropicArg = flagArg("isotropic")
)

var (
	setFactorsKernel = definition{
		args: []arg{one(size("d", 17)), {name: "k", usual: 2, min: 1, max: 64}, offsetArg, finiteArg, seedArg},
		make: setFactors,
	}
	quadGradKernel = definition{
		args: []arg{size("rows", 7), one(size("d", 17)), layoutArg("lx"), layoutArg("lg"), offsetArg, seedArg},
		make: quadGrad,
	}
	logSumExpKernel = definition{
		args: []arg{size("rows", 7), one(size("k", 5)), layoutArg("lq"),
			spreadArg([]int{0, 1, 10, 30, 100, 1000}, []int{0, 30, 1000}), offsetArg, seedArg},
		make: logSumExp,
	}
	ascendKernel = definition{
		args: []arg{size("rows", 7), one(size("k", 3)), one(size("d", 17)), stepsArg(3, 0, 1, 2, 10),
			layoutArg("lx"), offsetArg, seedArg},
		make: ascend,
	}
	// finalOnlyKernel is the ascent of few rows that returns only x_n, which has its own code.
	finalOnlyKernel = definition{
		args: []arg{
			{name: "rows", usual: 1, max: 64, sweep: []int{0, 1, 2, 3}, quickSweep: []int{0, 2}},
			{name: "k", usual: 5, min: 1, max: 64,
				sweep:      []int{1, 3, 4, 6, 8, 9, 12, 13, 16, 17, 20, 24, 36},
				quickSweep: []int{1, 4, 8, 12, 36}},
			{name: "d", usual: 32, min: 1, max: 256,
				sweep:      []int{1, 16, 17, 31, 32, 33, 48, 64, 80, 128},
				quickSweep: []int{16, 17, 48}},
			stepsArg(16, 0, 1, 15, 16, 30), layoutArg("lx"), offsetArg, seedArg},
		make: ascendFinalOnly,
	}
)

// sparse returns the check of an ascent by the sparse route, in which rows start near centres.
func sparse(dense definition) definition {
	k := dense
	k.route = ascent.SparseRoute
	k.args = append(slices.Clone(k.args), distanceArg, isotropicArg)
	k.more = func(bool) (list [][]int) {
		if dense.more != nil {
			for _, v := range dense.more(true) { // the longest ones are too slow in the reference
				list = append(list, append(v, distanceArg.usual, isotropicArg.usual))
			}
		}
		// rows and steps enough for runs of steps with a single active component
		return append(list,
			k.usual(map[string]int{"rows": 40, "steps": 7, "isotropic": 1}),
			k.usual(map[string]int{"rows": 40, "steps": 7, "isotropic": 1, "s": 1, "distance": 3}),
			k.usual(map[string]int{"rows": 40, "steps": 7, "isotropic": 1, "r": 0}))
	}
	return k
}

// onSparse reports whether c is a case of the sparse route.
func (c Case) onSparse() bool { return c.has(distanceArg.name) }

// isotropic reports whether all precisions of c are the same multiple of the identity.
func (c Case) isotropic() bool { return c.onSparse() && c.get(isotropicArg.name) == 1 }

// centres returns a source of centres.
func (c Case) centres(normal func() float32) func() float32 {
	if !c.onSparse() {
		return normal
	}
	return func() float32 { return float32(c.get(distanceArg.name)) * normal() }
}

// ascends reports whether a case makes any step.
func (c Case) ascends() bool { return c.get("rows") > 0 && c.get("steps") > 0 }

// pureGo returns the engine that all others are compared with: pure Go on one thread.
func pureGo() *engine.Engine {
	e, err := engine.New(engine.WithTier(engine.Generic), engine.WithThreads(1))
	if err != nil {
		panic(err) // cannot happen: every machine has the tier
	}
	return e
}

// packed returns a row-major copy of x.
func packed(x engine.Matrix) engine.Matrix {
	y := engine.NewMatrix(x.Rows, x.Cols)
	for i := range x.Rows {
		for j := range x.Cols {
			y.Set(i, j, x.At(i, j))
		}
	}
	return y
}

// setFactors sets the factors and reads the packed P_i by multiplying them with the identity.
func setFactors(c Case, mem *memory) trial {
	k, d, off := c.get("k"), c.get("d"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	a := mem.input(1, k*d*d, rowMajor, off, fill)
	out := mem.output(k*d, d, rowMajor, off, fill)
	zero := func() float32 { return 0 }
	x := mem.input(d, d, rowMajor, off, zero)
	for i := range d {
		x.Set(i, i, 1)
	}
	var tr trial
	for i := range k {
		ai := reference.FromFloat32(vector(a)[i*d*d:], d, d, d, 1)
		p, b := reference.MatMul(reference.Transpose(ai), ai, blas64.General{})
		tr.expect(reference.Value{V: p.Data, E: b.Data})
	}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) {
		m := ascent.NewMixture(k, d, make([]float32, k*d), make([]float32, k))
		m.SetFactors(e, vector(a))
		q := make([]float32, d)
		for i := range k {
			m.QuadGrad(e, out.Slice(i*d, (i+1)*d, 0, d), q, x, i)
		}
	}
	return tr
}

// mixtureCase is a potential with inputs in guarded memory: symmetric precisions
// P_i = A_i^T A_i as the engine's products compute them, or one for all components (tied).
type mixtureCase struct {
	k, d     int
	tied     bool
	sparse   bool // the route
	mem      *memory
	mu, c, a engine.Matrix
	p        []float32
	alpha    float32
	oracle   *reference.Potential
	factors  []blas64.General
}

func newMixtureCase(cs Case, mem *memory, k, d int, tied bool, r *num.Rand) *mixtureCase {
	n := k // matrices
	if tied {
		n = 1
	}
	off := cs.get("offset")
	normal := filler(r, normalData)
	scaled := func(s float32) func() float32 { return func() float32 { return s * normal() } }
	m := &mixtureCase{k: k, d: d, tied: tied, sparse: cs.onSparse(), alpha: 0.25, mem: mem}
	m.mu = mem.input(1, k*d, rowMajor, off, cs.centres(normal))
	m.c = mem.input(1, k, rowMajor, off, scaled(0.5))
	scale := float32(0.5 / math.Sqrt(float64(d)))
	if cs.isotropic() {
		scale = 0
	}
	m.a = mem.input(1, n*d*d, rowMajor, off, scaled(scale))
	m.p = make([]float32, n*d*d)
	m.oracle = newOracle(m)
	for i := range n {
		a := vector(m.a)[i*d*d : (i+1)*d*d]
		for j := range d {
			a[j*d+j] += 0.7
		}
		p := engine.View(m.p[i*d*d:(i+1)*d*d], d, d)
		gramByChains(p, engine.View(a, d, d))
		m.oracle.P = append(m.oracle.P, general(p))
		m.factors = append(m.factors, reference.FromFloat32(a, d, d, d, 1))
	}
	for len(m.oracle.P) < k {
		m.oracle.P = append(m.oracle.P, m.oracle.P[0])
	}
	return m
}

// newOracle returns the potential of m in float64, without its precisions.
func newOracle(m *mixtureCase) *reference.Potential {
	return &reference.Potential{K: m.k, D: m.d, C: reference.Vector(vector(m.c)), Alpha: float64(m.alpha),
		Mu: reference.FromFloat32(vector(m.mu), m.k, m.d, m.d, 1)}
}

// gramByChains sets p = a^T a as the engine defines it: one chain of fused multiply-adds per element.
func gramByChains(p, a engine.Matrix) {
	for i := range a.Cols {
		for j := range a.Cols {
			var s float32
			for l := range a.Rows {
				s = num.FMA32(a.At(l, i), a.At(l, j), s)
			}
			p.Set(i, j, s)
		}
	}
}

func (m *mixtureCase) engine(e *engine.Engine) *ascent.Mixture {
	x := ascent.NewMixture(m.k, m.d, vector(m.mu), vector(m.c))
	if m.tied {
		x = ascent.NewTiedMixture(m.k, m.d, vector(m.mu), vector(m.c))
	}
	if m.sparse {
		x.SetFactors(e, vector(m.a)) // the bounds of the sparse route need factors
	} else {
		x.SetPrecisions(e, m.p)
	}
	m.mem.mixture, x.Route = x, m.mem.route
	return x
}

// at returns phi, the responsibilities and the next step at x.
func (m *mixtureCase) at(x []float64) (phi, r, next reference.Value) {
	ev := m.oracle.At(x)
	return ev.Phi, ev.R, m.oracle.Step(x)
}

// begin returns a source of initial rows, element by element. On the sparse route they start near
// each centre in turn.
func (m *mixtureCase) begin(normal func() float32) func() float32 {
	if !m.sparse {
		return normal
	}
	n, mu := 0, vector(m.mu)
	return func() float32 {
		n++
		return mu[(n-1)%len(mu)] + normal()
	}
}

func quadGrad(c Case, mem *memory) trial {
	rows, d, r := c.get("rows"), c.get("d"), c.rand()
	m := newMixtureCase(c, mem, 1, d, false, r)
	fill := filler(r, normalData)
	x := mem.input(rows, d, layout(c.get("lx")), c.get("offset"), fill)
	g := mem.output(rows, d, layout(c.get("lg")), c.get("offset"), fill)
	q := mem.output(1, rows, rowMajor, c.get("offset"), fill)
	var tr, qPart trial
	gx := general(x)
	for i := range rows {
		ev := m.oracle.At(rowOf(gx, i))
		tr.expect(ev.G)
		qPart.expect(ev.Q)
	}
	tr.expect(qPart.values())
	tr.run = func(e *engine.Engine) { m.engine(e).QuadGrad(e, g, vector(q), x, 0) }
	return tr
}

func logSumExp(c Case, mem *memory) trial {
	rows, k, off, r := c.get("rows"), c.get("k"), c.get("offset"), c.rand()
	normal := filler(r, normalData)
	spread := float32(c.get("spread"))
	q := mem.output(k, rows, layout(c.get("lq")), off, func() float32 { v := normal(); return spread * v * v })
	cc := mem.input(1, k, rowMajor, off, normal)
	phi := mem.output(1, rows, rowMajor, off, normal)
	tr := trial{want: make([]float64, k*rows+rows), bound: make([]float64, k*rows+rows)}
	for b := range rows {
		col := make([]float64, k)
		for i := range k {
			col[i] = float64(q.At(i, b))
		}
		rv, pv := reference.LogSumExp(col, reference.Vector(vector(cc)))
		for i := range k {
			tr.want[i*rows+b], tr.bound[i*rows+b] = rv.V[i], rv.E[i]
		}
		tr.want[k*rows+b], tr.bound[k*rows+b] = pv.V[0], pv.E[0]
	}
	tr.run = func(e *engine.Engine) { e.LogSumExp(q, vector(cc), vector(phi)) }
	return tr
}

// potentialCase is a mixture of any form of precisions.
type potentialCase interface {
	engine(e *engine.Engine) *ascent.Mixture
	at(x []float64) (phi, r, next reference.Value)
}

// trajectory ascends from the rows of x in pure Go.
func trajectory(p potentialCase, x engine.Matrix, alpha float32, steps int) *ascent.Trajectory {
	e := pureGo()
	defer e.Close()
	var known ascent.Trajectory
	m := p.engine(e)
	m.Route = ascent.DenseRoute
	m.Ascend(e, alpha, steps, packed(x), &known, false)
	return &known
}

// states returns x_0 .. x_n in float64.
func states(known *ascent.Trajectory, steps int) []blas64.General {
	var path []blas64.General
	for t := range steps + 1 {
		path = append(path, general(known.XAt(t)))
	}
	return path
}

// ascentValues is what an ascent is expected to record.
type ascentValues struct {
	last   reference.Value // rows x d: x_n
	path   reference.Value // steps+1 x rows x d
	phi, r reference.Value // steps x rows, steps x k x rows
}

// expectAscent compares every step with one step of the reference from the engine's own x_t, so
// that the bound of a single step is sufficient. The reference therefore needs the trajectory,
// which has the same bits on all tiers; path is that of pure Go.
func expectAscent(p potentialCase, path []blas64.General, k int) ascentValues {
	steps, rows := len(path)-1, path[0].Rows
	var visited, phi trial
	last := trial{}
	last.expectExactly(path[0].Data...)
	r := reference.Value{V: make([]float64, steps*k*rows), E: make([]float64, steps*k*rows)}
	for t := range steps {
		visited.expect(last.values())
		last = trial{}
		for b := range rows {
			f, ri, next := p.at(rowOf(path[t], b))
			last.expect(next)
			phi.expect(f)
			for i := range k {
				at := (t*k+i)*rows + b
				r.V[at], r.E[at] = ri.V[i], ri.E[i]
			}
		}
	}
	visited.expect(last.values())
	return ascentValues{last: last.values(), path: visited.values(), phi: phi.values(), r: r}
}

// ascend checks every step of a recorded trajectory.
func ascend(c Case, mem *memory) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	m := newMixtureCase(c, mem, k, d, false, r)
	fill := filler(r, normalData)
	x := mem.output(rows, d, layout(c.get("lx")), c.get("offset"), m.begin(fill))
	path := mem.output(steps+1, rows*d, rowMajor, -1, fill)
	phi := mem.output(steps, rows, rowMajor, -1, fill)
	res := mem.output(steps, k*rows, rowMajor, -1, fill)
	tr := trial{ascends: c.ascends()}
	want := expectAscent(m, states(trajectory(m, x, m.alpha, steps), steps), k)
	tr.expect(want.last, want.path, want.phi, want.r)
	tr.run = func(e *engine.Engine) {
		var t ascent.Trajectory
		m.engine(e).Ascend(e, m.alpha, steps, x, &t, false)
		copy(path.Data, t.X)
		copy(phi.Data, t.Phi)
		copy(res.Data, t.R)
	}
	return tr
}

// ascendFinalOnly checks x_n of an ascent that records no trajectory.
func ascendFinalOnly(c Case, mem *memory) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	m := newMixtureCase(c, mem, k, d, false, r)
	x := mem.output(rows, d, layout(c.get("lx")), c.get("offset"), m.begin(filler(r, normalData)))
	tr := trial{ascends: c.ascends()}
	tr.expect(expectAscent(m, states(trajectory(m, x, m.alpha, steps), steps), k).last)
	tr.run = func(e *engine.Engine) { m.engine(e).Ascend(e, m.alpha, steps, x, nil, false) }
	return tr
}
