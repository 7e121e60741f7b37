package bench

import (
	"context"
	"fmt"
	"math"
	"sync"

	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// Components are counts of components of the potential a row, by ascent steps.
type Components struct {
	First float64 `json:"first"` // step
	Last  float64 `json:"last"`
	Mean  float64 `json:"mean"`

	total float64 // of all rows and steps
}

// countComponents sums up what the sparse route has computed, and which bounds it has refreshed.
func countComponents(w *ascent.Work) (active, evaluated, bounds *Components) {
	active, evaluated, bounds = &Components{}, &Components{}, &Components{}
	steps := w.PerRow()
	n := float64(len(steps))
	for t, s := range steps {
		for _, c := range []struct {
			*Components
			v float64
		}{{active, s.Active}, {evaluated, s.Computed}, {bounds, s.Bounds}} {
			if c.Last = c.v; t == 0 {
				c.First = c.v
			}
			c.Mean += c.v / n
			c.total += c.v * float64(w.Rows)
		}
	}
	return active, evaluated, bounds
}

// slope is a potential and the initial points of an ascent. It has factors a (k x d x d), or else
// weights w (k x d) and factors f (k r x d) of precisions of low rank.
type slope struct {
	k, d, r, n     int
	mu, c, a, w, f []float32
	sign, alpha    float32
	diagonal       bool // all precisions are
	x, upstream    engine.Matrix
	route          ascent.Route
	oracle         *reference.Potential
	low            *reference.LowRank
}

func (s *slope) mixture(e *engine.Engine) *ascent.Mixture {
	m := ascent.NewMixture(s.k, s.d, s.mu, s.c)
	if s.w != nil {
		m = ascent.NewLowRankMixture(s.k, s.d, s.r, s.mu, s.c)
	}
	m.Route = s.route
	s.setPrecisions(e, m)
	return m
}

func (s *slope) setPrecisions(e *engine.Engine, m *ascent.Mixture) {
	if s.w != nil {
		m.SetLowRank(e, s.w, s.f, s.sign)
	} else {
		m.SetFactors(e, s.a)
	}
}

// --- potentials and points

// images are digits with normalised pixels; the training images come first.
var images = sync.OnceValues(func() (engine.Matrix, error) {
	data, err := digits(2000, sparseBatch)
	if err != nil {
		return engine.Matrix{}, err
	}
	table := data.Norm.Table(0)
	m := engine.NewMatrix(data.Train.Len()+data.Test.Len(), data.Train.Shape.Len())
	for i, v := range data.Train.Pixels {
		m.Data[i] = table[v]
	}
	at := len(data.Train.Pixels)
	for i, v := range data.Test.Pixels {
		m.Data[at+i] = table[v]
	}
	return m, nil
})

const sparseBatch = 128

// centres20 are k-means centres of the training images, those of the paper's network.
var centres20 = sync.OnceValues(func() ([]float32, error) {
	all, err := images()
	if err != nil {
		return nil, err
	}
	e, err := engine.New()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	found, err := potential.KMeans(context.Background(), e, all.Slice(0, all.Rows-sparseBatch, 0, all.Cols), 20, 1)
	if err != nil {
		return nil, err
	}
	return found.Centres.Data, nil
})

// newSlope makes a slope of log weights 0.
func newSlope(k, d, n int, mu []float32, x engine.Matrix) *slope {
	return &slope{k: k, d: d, n: n, mu: mu, c: make([]float32, k), alpha: 0.1, x: x, upstream: normal(4, x.Rows, d)}
}

// factors sets all A_i to the identity, or to it and noise whose rows have that length.
func (s *slope) factors(noise float64) *slope {
	s.a = make([]float32, s.k*s.d*s.d)
	if s.diagonal = noise == 0; !s.diagonal {
		num.NewRand(1, 13).Normal(s.a)
	}
	scale := float32(noise / math.Sqrt(float64(s.d)))
	for i := range s.a {
		s.a[i] *= scale
		if i/s.d%s.d == i%s.d {
			s.a[i]++
		}
	}
	return s
}

// trainedNoise gives A_i^T A_i eigenvalues from 0.14 to 3.1. Times alpha = 0.1 the largest is
// about what half an epoch of training leads to (0.34).
const trainedNoise = 0.5

// ofDigits is the paper's network, before training or, with noise, after some of it.
func ofDigits(n int, noise float64) (*slope, error) {
	all, err := images()
	if err != nil {
		return nil, err
	}
	mu, err := centres20()
	if err != nil {
		return nil, err
	}
	return newSlope(20, all.Cols, n, mu, all.Slice(all.Rows-sparseBatch, all.Rows, 0, all.Cols)).factors(noise), nil
}

// ofMany has k digits for centres, and diagonal precisions.
func ofMany(k, n int) (*slope, error) {
	all, err := images()
	if err != nil {
		return nil, err
	}
	s := newSlope(k, all.Cols, n, all.Data[:k*all.Cols], all.Slice(all.Rows-sparseBatch, all.Rows, 0, all.Cols))
	s.w, s.f, s.sign, s.diagonal = make([]float32, k*s.d), []float32{}, 1, true
	for i := range s.w {
		s.w[i] = 1
	}
	return s, nil
}

// flatSlope is the potential of preset robust, as local PCA makes it.
func flatSlope() (*slope, error) {
	c, err := dpn.Preset("robust")
	if err != nil {
		return nil, err
	}
	data, err := digits(3000, sparseBatch)
	if err != nil {
		return nil, err
	}
	m, err := dpn.New(c, data)
	if err != nil {
		return nil, err
	}
	e, err := engine.New()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if _, err := m.Init(context.Background(), e, data.Train); err != nil {
		return nil, err
	}
	all, err := images()
	if err != nil {
		return nil, err
	}
	s := newSlope(c.Components, all.Cols, c.Steps, nil, all.Slice(all.Rows-sparseBatch, all.Rows, 0, all.Cols))
	s.r, s.sign, s.alpha = c.Rank, -1, float32(c.Alpha)
	s.w, s.f = make([]float32, s.k*s.d), make([]float32, s.k*s.r*s.d)
	for i := range s.w {
		s.w[i] = float32(c.Scale * c.Scale)
	}
	for _, p := range m.Params() {
		switch p.Name {
		case "denoising_potential.mu":
			s.mu = p.Data
		case "denoising_potential.U":
			for i, v := range p.Data {
				s.f[i] = float32(c.Scale*math.Sqrt(1-c.Eps)) * v
			}
		}
	}
	return s, nil
}

// apart has centres of random features whose standard deviation is percent of that of the
// rows around them: from all components active to one.
func apart(percent int) (*slope, error) {
	const k, d, n = 20, 64, 5
	s := newSlope(k, d, n, normal(51, k, d).Data, normal(52, sparseBatch, d)).factors(0.1)
	for i := range s.mu {
		s.mu[i] *= float32(percent) / 100
	}
	for b := range s.x.Rows {
		for j, v := range s.mu[b%k*d : (b%k+1)*d] {
			s.x.Data[b*d+j] += v
		}
	}
	return s, nil
}

// --- the rows

func sparseSuite() []benchmark {
	const dense, sparse, auto = ascent.DenseRoute, ascent.SparseRoute, ascent.AutoRoute
	all := fullRows()
	all = append(all, byRoutes(lowRankOf("", "flat", "robust"), flatSlope, false, dense, sparse, auto)...)
	for i, k := range []int{20, 50, 100, 200, 500, 1000, 2000} {
		for _, n := range []int{1, 30} {
			g := lowRank(Full, "", "diag", lowRankShape{784, k, 0, n, sparseBatch})
			if i%3 == 0 { // 20, 200, 2000
				g.extent = Usual
			}
			all = append(all, byRoutes(g, func() (*slope, error) { return ofMany(k, n) }, false, dense, sparse)...)
		}
	}
	for _, percent := range []int{10, 25, 40, 50, 60, 75, 100, 200} {
		flop, bytes := ascentCosts(64, 20, 5, sparseBatch)
		g := benchmark{name: "apart", extent: Usual,
			params: params("d", 64, "k", 20, "n", 5, "batch", sparseBatch, "apart", percent),
			flop:   flop, bytes: bytes, items: sparseBatch}
		if percent == 50 || percent == 100 {
			g.extent = Quick
		}
		all = append(all, byRoutes(g, func() (*slope, error) { return apart(percent) }, false, dense, sparse, auto)...)
	}
	return all
}

// fullRows are the paper's network, forward and as a training step has it.
func fullRows() []benchmark {
	const d, k, n = 784, 20, 30
	var all []benchmark
	for _, f := range []struct {
		name  string
		noise float64
	}{{"full identity", 0}, {"full trained", trainedNoise}} {
		load := func() (*slope, error) { return ofDigits(n, f.noise) }
		flop, bytes := ascentCosts(d, k, n, sparseBatch)
		g := benchmark{name: f.name, extent: Usual, params: params("d", d, "k", k, "n", n, "batch", sparseBatch),
			flop: flop, bytes: bytes, items: sparseBatch, memory: 3*bytes + 8*float64(k*d*d)}
		all = append(all, byRoutes(g, load, false, ascent.DenseRoute, ascent.SparseRoute, ascent.AutoRoute)...)
		g.name, g.extent, g.flop = f.name+" update", Full, 3*flop
		g.bytes, g.memory = bytes+4*float64(2*k*d*d), 2*trainingMemory(d, k, n, sparseBatch)
		all = append(all, byRoutes(g, load, true, ascent.DenseRoute, ascent.SparseRoute)...)
	}
	return all
}

// byRoutes makes a row for each route of g, whose flop are those of the dense one.
func byRoutes(g benchmark, load func() (*slope, error), back bool, routes ...ascent.Route) []benchmark {
	var all []benchmark
	g.cost, g.flop = g.flop, 0 // until the route has said what it computes
	for _, route := range routes {
		r := g
		r.suite, r.name = "ascent-sparse", g.name+" "+route.String()
		r.setup = func() (setupFunc, error) {
			s, err := load()
			if err != nil {
				return nil, err
			}
			byRoute := *s
			byRoute.route = route
			return byRoute.setupFunc(back), nil
		}
		all = append(all, r)
	}
	return all
}

// climb is the ascent of a slope on an engine, with its results.
type climb struct {
	*slope
	e    *engine.Engine
	m    *ascent.Mixture
	back bool // with the backward pass, and the precisions from their parameters before

	x, v engine.Matrix
	tr   ascent.Trajectory
	g    *ascent.Gradient
}

func (s *slope) on(e *engine.Engine, m *ascent.Mixture, rows int, back bool) *climb {
	c := &climb{slope: s, e: e, m: m, back: back, x: engine.NewMatrix(rows, s.d)}
	clobber(c.x.Data)
	if back {
		c.v, c.g = engine.NewMatrix(rows, s.d), ascent.NewGradient(s.k, s.d)
		clobber(c.v.Data)
	}
	return c
}

func (c *climb) run(steps int) {
	copy(c.x.Data, c.slope.x.Data)
	if !c.back {
		c.m.Ascend(c.e, c.alpha, steps, c.x, nil, false)
		return
	}
	c.setPrecisions(c.e, c.m)
	c.m.Ascend(c.e, c.alpha, steps, c.x, &c.tr, true)
	copy(c.v.Data, c.upstream.Data)
	c.m.Backward(c.e, c.alpha, c.a, &c.tr, c.v, c.g)
}

func (s *slope) setupFunc(back bool) setupFunc {
	return func(e *engine.Engine) (*fixture, error) {
		c := s.on(e, s.mixture(e), s.x.Rows, back)
		w := &fixture{op: func() error { c.run(s.n); return nil }}
		w.check = func() (string, error) {
			if err := c.compareRoutes(w); err != nil {
				return "", err
			}
			if err := c.compareReference(); err != nil {
				return "", err
			}
			says := "both routes have the same bits; first and last step of a row within the bound of float64, and " +
				"1e-4 of " +
				"its length"
			if back {
				says += "; gradients of the row through two steps within the bound of float64"
			}
			return says, nil
		}
		return w, nil
	}
}

// compareRoutes compares the results of the last run with those of the other route, and fills in
// the counts of w.
func (c *climb) compareRoutes(w *fixture) error {
	done := c.m.Work()
	w.route = done.Route
	factors := done.FactorFlop
	route := ascent.DenseRoute
	if w.route == ascent.DenseRoute {
		route = ascent.SparseRoute
		w.evaluated = &Components{First: float64(c.k), Last: float64(c.k), Mean: float64(c.k),
			total: float64(c.k * c.n * c.x.Rows)}
	} else {
		w.active, w.evaluated, w.bounds = countComponents(done)
	}
	defer func(before ascent.Route) { c.m.Route = before }(c.m.Route)
	c.m.Route = route
	other := c.on(c.e, c.m, c.x.Rows, c.back)
	other.run(c.n)
	if got := c.m.Work().Route; got != route {
		return differs("the other route is %v, expected %v", got, route)
	}
	if route == ascent.SparseRoute {
		w.active, _, _ = countComponents(c.m.Work())
	}
	if err := sameBits("x_n by both routes", c.x.Data, other.x.Data); err != nil {
		return err
	}
	if c.back {
		for _, p := range []struct {
			name string
			a, b []float32
		}{
			{"dL/dx_0", c.v.Data, other.v.Data}, {"dL/dmu", c.g.Mu, other.g.Mu}, {"dL/dc", c.g.C, other.g.C},
			{"dL/dA", c.g.A, other.g.A},
			{"dL/dalpha", []float32{c.g.Alpha}, []float32{other.g.Alpha}},
		} {
			if err := sameBits(p.name+" by both routes", p.a, p.b); err != nil {
				return err
			}
		}
	}
	w.flop = c.flop(w, factors)
	return nil
}

// flop counts the products that the route of w needs, with those of dA_i.
func (c *climb) flop(w *fixture, factors float64) float64 {
	d, k := float64(c.d), float64(c.k)
	r := c.r
	if c.a != nil {
		r = -1
	}
	flop := sparsePairs{c.x.Rows, c.k, c.d, r, w.evaluated.total, w.active.total}.flop(c.diagonal, c.back)
	if w.route == ascent.DenseRoute && c.a != nil {
		flop, _ = ascentCosts(c.d, c.k, c.n, c.x.Rows)
		if c.back {
			flop *= 2
		}
	} else if w.route == ascent.DenseRoute {
		flop -= surveyFlop(c.x.Rows, c.k, c.d)
	}
	if c.back { // P_i and dA_i
		flop += k*d*d*(d+1) + factors
	}
	return flop
}

// surveyFlop is the product of all rows with all centres.
func surveyFlop(rows, k, d int) float64 { return 2 * float64(rows) * float64(k) * float64(d) }

// sparsePairs are the pairs of a row and a component that an ascent by the sparse route evaluates, and
// those that are active. A rank r below 0 is that of precisions A_i^T A_i.
type sparsePairs struct {
	rows, k, d, r     int
	evaluated, active float64
}

// flop counts the products that the ascent needs, and with back its backward pass: those of all rows with
// the centres, once, and those of the pairs, without dA_i.
func (p sparsePairs) flop(diagonal, back bool) float64 {
	fd, fr := float64(p.d), float64(p.r)
	flop := surveyFlop(p.rows, p.k, p.d)
	if p.r >= 0 { // Z_i and the diagonal part of q_i; the gradient
		flop += 2 * fd * (fr + 1) * (p.evaluated + p.active)
		if back {
			flop += 2 * fd * (4*fr + 9) * p.active
		}
		return flop
	}
	one := 2 * fd * fd // (x - mu_i) P_i, or U P_i
	if diagonal {
		one = 2 * fd
	}
	flop += one * p.evaluated
	if back {
		flop += one * p.active
	}
	return flop
}

// compareReference compares the ascent of a row, and its backward pass, with float64.
func (c *climb) compareReference() error {
	alone := c.on(c.e, c.m, 1, false)
	alone.x.Data = append(alone.x.Data[:0], c.slope.x.Row(0)...)
	var tr ascent.Trajectory
	c.m.Ascend(c.e, c.alpha, c.n, alone.x, &tr, false)
	if err := sameBits("x_n of row 0 in the batch and alone", c.x.Row(0), alone.x.Data); err != nil {
		return err
	}
	c.prepareReference()
	for _, t := range ends(c.n) {
		at := reference.Vector(tr.XAt(t).Row(0))
		var step reference.Value
		if c.low != nil {
			step = c.oracle.StepLowRank(c.low, at)
		} else {
			step = c.oracle.Step(at)
		}
		var off, size float64
		for j, got := range tr.XAt(t + 1).Row(0) {
			if err := within(fmt.Sprintf("x_%d of row 0, feature %d", t+1, j), got, step.V[j], step.E[j]); err != nil {
				return err
			}
			e := float64(got) - step.V[j]
			off, size = off+e*e, size+step.V[j]*step.V[j]
		}
		if !(off <= 1e-8*size) {
			return differs("x_%d of row 0 is %.3g of its length off, expected at most 1e-4", t+1, math.Sqrt(off/size))
		}
	}
	if !c.back {
		return nil
	}
	steps := min(c.n, checkedSteps)
	few := c.on(c.e, c.m, 1, true)
	few.run(steps)
	var path []blas64.General
	for t := range steps + 1 {
		path = append(path, reference.FromFloat32(few.tr.XAt(t).Data, 1, c.d, c.d, 1))
	}
	want := c.oracle.Backward(path, reference.FromFloat32(c.upstream.Row(0), 1, c.d, c.d, 1))
	for i, got := range few.v.Data {
		if err := within(fmt.Sprintf("dL/dx_0 element %d", i), got, want.V.V[i], want.V.E[i]); err != nil {
			return err
		}
	}
	for i, got := range few.g.Mu {
		if err := within(fmt.Sprintf("dL/dmu element %d", i), got, want.Mu.V[i], want.Mu.E[i]); err != nil {
			return err
		}
	}
	return nil
}

// prepareReference makes the float64 twin of the slope. Its P_i are those of the engine,
// read off as the gradient at unit vectors around the origin: suite optim has their check.
func (c *climb) prepareReference() {
	if c.oracle != nil {
		return
	}
	c.oracle = &reference.Potential{K: c.k, D: c.d, C: reference.Vector(c.c), Alpha: float64(c.alpha),
		Mu: reference.FromFloat32(c.mu, c.k, c.d, c.d, 1)}
	if c.w != nil {
		c.low = &reference.LowRank{W: reference.FromFloat32(c.w, c.k, c.d, c.d, 1),
			F: reference.FromFloat32(c.f, c.k*c.r, c.d, c.d, 1), S: float64(c.sign)}
		return
	}
	unit, g, q := engine.NewMatrix(c.d, c.d), engine.NewMatrix(c.d, c.d), make([]float32, c.d)
	for j := range c.d {
		unit.Set(j, j, 1)
	}
	m := ascent.NewMixture(c.k, c.d, make([]float32, c.k*c.d), c.c)
	m.SetFactors(c.e, c.a)
	for i := range c.k {
		m.QuadGrad(c.e, g, q, unit, i)
		c.oracle.P = append(c.oracle.P, reference.FromFloat32(g.Data, c.d, c.d, c.d, 1))
	}
}
