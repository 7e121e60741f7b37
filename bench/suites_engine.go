package bench

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// setupFunc is what benchmark.setup returns.
type setupFunc = func(e *engine.Engine) (*fixture, error)

// within compares a float32 with a number of the reference and its bound.
func within(what string, got float32, want, bound float64) error {
	if !(math.Abs(float64(got)-want) <= bound) {
		return differs("%s is %v, the reference has %v within %.3g", what, got, want, bound)
	}
	return nil
}

// clobber fills results with NaN, so that results of another row cannot pass for those of this one.
func clobber(results ...[]float32) {
	for _, x := range results {
		for i := range x {
			x[i] = float32(math.NaN())
		}
	}
}

// samples returns n indices below most, the ends among them, the same for the same stream
// of random numbers.
func samples(stream uint64, n, most int) []int {
	r := num.NewRand(5, stream)
	at := []int{0, most - 1}
	for len(at) < n {
		at = append(at, r.Intn(most))
	}
	return at
}

func normal(stream uint64, rows, cols int) engine.Matrix {
	m := engine.NewMatrix(rows, cols)
	num.NewRand(1, stream).Normal(m.Data)
	return m
}

// --- gemm

func gemmSuite() (all []benchmark) {
	both, transposed := []string{"packed", "plain nn"}, []string{"plain nt", "plain tn", "plain tt"}
	for _, rows := range []struct {
		x       Extent
		m, k, n int
		forms   []string
	}{
		// The shapes of a DPN.
		{Quick, 128, 784, 784, both},
		{Quick, 128, 64, 64, both},
		{Quick, 128, 64, 1280, both},
		{Usual, 1280, 784, 784, both},
		{Usual, 128, 784, 15680, both},
		{Usual, 128, 784, 784, append(transposed, "packed cold")},
		// Squares.
		{Usual, 16, 16, 16, both},
		{Usual, 32, 32, 32, both},
		{Usual, 64, 64, 64, both},
		{Usual, 128, 128, 128, both},
		{Usual, 256, 256, 256, both},
		{Quick, 512, 512, 512, both},
		{Usual, 1024, 1024, 1024, both},
		{Full, 2048, 2048, 2048, both},
		{Full, 1, 784, 784, both},   // one image
		{Full, 8, 784, 784, both},   // skinny
		{Full, 8192, 64, 16, both},  // tall, narrow
		{Full, 16, 16, 8192, both},  // wide
		{Full, 64, 8192, 64, both},  // long chains
		{Full, 127, 783, 785, both}, // partial tiles on all sides
		{Full, 512, 512, 512, transposed},
	} {
		for _, form := range rows.forms {
			all = append(all, gemm(rows.x, form, rows.m, rows.k, rows.n))
		}
	}
	return all
}

// Product is a matrix product of another library, which is timed beside ours in suite gemm.
type Product struct {
	Name string // of its rows

	// MatMul computes C = A B on a number of threads. All are row-major.
	MatMul func(c, a, b engine.Matrix, threads int)

	// Serial says that the number of threads cannot be set.
	Serial bool
}

// beside adds the product to rows, one to each plain product of ours.
func (p *Product) beside(rows []benchmark) []benchmark {
	var all []benchmark
	for _, g := range rows {
		all = append(all, g)
		if g.suite == "gemm" && g.name == "plain nn" {
			shape := g.paramMap()
			other := gemmBy(g.extent, "plain nn", [3]int{shape["m"], shape["k"], shape["n"]}, p)
			other.name, other.fastest, other.serial = p.Name, true, p.Serial
			all = append(all, other)
		}
	}
	return all
}

// gemm is C = A B: packed has B packed once, plain packs it at every call; the letters say
// whether A and B are read as stored (n) or transposed (t).
func gemm(x Extent, form string, m, k, n int) benchmark { return gemmBy(x, form, [3]int{m, k, n}, nil) }

// gemmBy is gemm of m x k x n, by another library if there is one.
func gemmBy(x Extent, form string, shape [3]int, other *Product) benchmark {
	m, k, n := shape[0], shape[1], shape[2]
	g := benchmark{
		suite: "gemm", name: form, extent: x, params: params("m", m, "k", k, "n", n),
		flop: 2 * float64(m) * float64(k) * float64(n), bytes: 4 * (float64(m)*float64(k) + float64(k)*float64(n) +
			float64(m)*float64(n)),
		cold: form == "packed cold",
	}
	g.setup = func() (setupFunc, error) {
		operand := func(stream uint64, rows, cols int, transposed bool) engine.Matrix {
			if transposed {
				return normal(stream, cols, rows).T()
			}
			return normal(stream, rows, cols)
		}
		a := operand(1, m, k, form == "plain tn" || form == "plain tt")
		b := operand(2, k, n, form == "plain nt" || form == "plain tt")
		c := engine.NewMatrix(m, n)
		rows, cols := samples(0, 32, m), samples(1, 32, n)
		dot := reference.RowDot
		if other != nil {
			dot = reference.DotAnyOrder
		}
		want := func(s int) (v, bound float64) {
			row, col := make([]float64, k), make([]float64, k)
			for p := range k {
				row[p], col[p] = float64(a.At(rows[s], p)), float64(b.At(p, cols[s]))
			}
			return dot(row, col)
		}
		return func(e *engine.Engine) (*fixture, error) {
			clobber(c.Data)
			op := func() error { e.MatMul(c, a, b, false); return nil }
			switch {
			case other != nil:
				op = func() error { other.MatMul(c, a, b, e.Threads()); return nil }
			case form == "packed" || form == "packed cold":
				p := e.Pack(nil, b)
				op = func() error { e.MatMulPacked(c, a, p, false); return nil }
			}
			return &fixture{op: op, check: func() (string, error) {
				for s := range rows {
					v, bound := want(s)
					if err := within(fmt.Sprintf("element (%d, %d)", rows[s], cols[s]), c.At(rows[s], cols[s]), v,
						bound); err != nil {
						return "", err
					}
				}
				return fmt.Sprintf("%d elements within the bound of float64", len(rows)), nil
			}}, nil
		}, nil
	}
	return g
}

// --- potentials

// landscape is a mixture and its float64 reference. It has precisions, not factors, because the
// product A^T A in float64 takes seconds at d = 784.
type landscape struct {
	k, d  int
	mu, c []float32
	p     []float32 // k symmetric d x d matrices
	alpha float32
}

func newLandscape(k, d int) *landscape {
	l := &landscape{k: k, d: d, mu: make([]float32, k*d), c: make([]float32, k), p: make([]float32, k*d*d), alpha: 0.5}
	num.NewRand(1, 11).Normal(l.mu)
	num.NewRand(1, 12).Normal(l.c)
	r := num.NewRand(1, 13)
	noise := make([]float32, d)
	for i := range k { // 0.1 I with symmetric noise small enough to stay positive definite
		p := l.p[i*d*d : (i+1)*d*d]
		for row := range d {
			r.Normal(noise)
			for col := range row {
				v := 0.01 * noise[col] / float32(math.Sqrt(float64(d)))
				p[row*d+col], p[col*d+row] = v, v
			}
			p[row*d+row] = 0.1
		}
	}
	return l
}

func (l *landscape) mixture(e *engine.Engine) *ascent.Mixture {
	m := ascent.NewMixture(l.k, l.d, l.mu, l.c)
	m.SetPrecisions(e, l.p)
	return m
}

func (l *landscape) oracle() *reference.Potential {
	o := &reference.Potential{K: l.k, D: l.d, C: reference.Vector(l.c), Alpha: float64(l.alpha)}
	o.Mu = reference.FromFloat32(l.mu, l.k, l.d, l.d, 1)
	for i := range l.k {
		o.P = append(o.P, reference.FromFloat32(l.p[i*l.d*l.d:(i+1)*l.d*l.d], l.d, l.d, l.d, 1))
	}
	return o
}

// ascentCosts are the products of n steps, and what they read and write: x and P_i. (G_i
// stay in the caches.)
func ascentCosts(d, k, n, batch int) (flop, bytes float64) {
	fd, fk, fb := float64(d), float64(k), float64(batch)
	return 2 * fk * fd * fd * fb * float64(n), 4 * (fk*fd*fd + 2*fb*fd)
}

func quadSuite() []benchmark {
	var all []benchmark
	for _, s := range [][3]int{
		{64, 20, 128}, {784, 20, 128}, {16, 20, 128}, {256, 20, 128}, {64, 200, 128}, {64, 20, 1}, {64, 20, 4096},
	} {
		d, k, batch := s[0], s[1], s[2]
		x := Usual
		if s == [3]int{64, 20, 128} {
			x = Quick
		}
		if k > 20 || batch != 128 {
			x = Full
		}
		all = append(all, quad(x, d, k, batch))
	}
	return all
}

// quad is the potential and the responsibilities of a batch of points.
func quad(x Extent, d, k, batch int) benchmark {
	flop, _ := ascentCosts(d, k, 1, batch)
	bytes := 4 * (float64(k*d*d) + float64(batch*d) + float64(batch) + float64(k*batch)) // P_i and x, phi and r
	return benchmark{
		suite: "quad", name: "potential", extent: x, params: params("d", d, "k", k, "batch", batch),
		flop: flop, bytes: bytes, items: float64(batch),
		setup: func() (setupFunc, error) { return newPotentialCase(d, k, batch).on, nil },
	}
}

// potentialCase evaluates phi and r at a batch of points.
type potentialCase struct {
	landscape *landscape
	x         engine.Matrix
	phi       []float32
	r         engine.Matrix                // k x batch
	want      func() *reference.Evaluation // at row 0
}

func newPotentialCase(d, k, batch int) *potentialCase {
	c := &potentialCase{landscape: newLandscape(k, d), x: normal(3, batch, d),
		phi: make([]float32, batch), r: engine.NewMatrix(k, batch)}
	c.want = sync.OnceValue(func() *reference.Evaluation {
		return c.landscape.oracle().At(reference.Vector(c.x.Row(0)))
	})
	return c
}

func (c *potentialCase) on(e *engine.Engine) (*fixture, error) {
	clobber(c.phi, c.r.Data)
	m := c.landscape.mixture(e)
	return &fixture{
		op:    func() error { m.Potential(e, c.x, c.phi, c.r); return nil },
		check: c.check,
	}, nil
}

func (c *potentialCase) check() (string, error) {
	ev := c.want()
	if err := within("phi of row 0", c.phi[0], ev.Phi.V[0], ev.Phi.E[0]); err != nil {
		return "", err
	}
	for i := range c.r.Rows {
		if err := within(fmt.Sprintf("r of row 0, component %d", i), c.r.At(i, 0), ev.R.V[i], ev.R.E[i]); err != nil {
			return "", err
		}
	}
	return "phi and r of a row within the bound of float64", nil
}

// ascentSweeps are the points around d 64, k 20, n 30, batch 128, one setting at a time,
// and the seed's network.
func ascentSweeps() map[[4]int]Extent {
	base := [4]int{64, 20, 30, 128}
	all := map[[4]int]Extent{base: Quick, {784, 20, 10, 128}: Quick, {784, 20, 30, 128}: Full}
	for i, values := range [][]int{{16, 32, 128, 256, 512}, {1, 2, 5, 10, 50, 100, 200}, {1, 5, 10, 100},
		{1, 8, 32, 512, 2048}} {
		for j, v := range values {
			s := base
			s[i] = v
			all[s] = Full
			if j%2 == 1 {
				all[s] = Usual
			}
		}
	}
	return all
}

// inOrder returns the points of a sweep in a fixed order.
func inOrder(sweep map[[4]int]Extent) [][4]int {
	var all [][4]int
	for s := range sweep {
		all = append(all, s)
	}
	sort.Slice(all, func(i, j int) bool { return slices.Compare(all[i][:], all[j][:]) < 0 })
	return all
}

func ascentSuite() []benchmark {
	var all []benchmark
	sweep := ascentSweeps()
	for _, s := range inOrder(sweep) {
		all = append(all, ascents(sweep[s], "full", s))
		if s == [4]int{64, 20, 30, 128} {
			all = append(all, ascents(Usual, "full cold", s))
		}
	}
	// The potentials of the presets raw and robust.
	return append(all, lowRankOf("ascent", "lowrank", "raw"), lowRankOf("ascent", "lowrank", "robust"))
}

func ascents(x Extent, name string, s [4]int) benchmark {
	d, k, n, batch := s[0], s[1], s[2], s[3]
	flop, bytes := ascentCosts(d, k, n, batch)
	return benchmark{
		suite: "ascent", name: name, extent: x, params: params("d", d, "k", k, "n", n, "batch", batch),
		flop: flop, bytes: bytes, items: float64(batch), cold: name == "full cold",
		setup: func() (setupFunc, error) { return newAscentCase(d, k, n, batch).on, nil },
	}
}

// ascentCase makes n ascent steps from a batch of points.
type ascentCase struct {
	landscape *landscape
	n         int
	first, x  engine.Matrix
	oracle    func() *reference.Potential
}

func newAscentCase(d, k, n, batch int) *ascentCase {
	c := &ascentCase{landscape: newLandscape(k, d), n: n, first: normal(3, batch, d), x: engine.NewMatrix(batch, d)}
	c.oracle = sync.OnceValue(c.landscape.oracle)
	return c
}

func (c *ascentCase) on(e *engine.Engine) (*fixture, error) {
	clobber(c.x.Data)
	m := c.landscape.mixture(e)
	return &fixture{
		op: func() error {
			copy(c.x.Data, c.first.Data)
			m.Ascend(e, c.landscape.alpha, c.n, c.x, nil, false)
			return nil
		},
		check: func() (string, error) { return c.check(e, m) },
	}, nil
}

// check compares two steps of row 0 with the reference, and the whole ascent with that of row 0
// on its own.
func (c *ascentCase) check(e *engine.Engine, m *ascent.Mixture) (string, error) {
	alone := engine.NewMatrix(1, c.x.Cols)
	copy(alone.Data, c.first.Row(0))
	var tr ascent.Trajectory
	m.Ascend(e, c.landscape.alpha, c.n, alone, &tr, false)
	for _, t := range ends(c.n) {
		step := c.oracle().Step(reference.Vector(tr.XAt(t).Row(0)))
		if err := stepWithin(t+1, tr.XAt(t+1).Row(0), step); err != nil {
			return "", err
		}
	}
	if err := sameBits("x_n of row 0 in the batch and alone", c.x.Row(0), alone.Data); err != nil {
		return "", err
	}
	return "first and last step of a row within the bound of float64, the row alone has the same bits", nil
}

// stepWithin compares x_t of row 0 with the reference.
func stepWithin(t int, got []float32, want reference.Value) error {
	for j, v := range got {
		if err := within(fmt.Sprintf("x_%d of row 0, feature %d", t, j), v, want.V[j], want.E[j]); err != nil {
			return err
		}
	}
	return nil
}

// gradientWithin compares a gradient with the reference.
func gradientWithin(name string, got []float32, want reference.Value) error {
	for i, v := range got {
		if err := within(fmt.Sprintf("%s element %d", name, i), v, want.V[i], want.E[i]); err != nil {
			return err
		}
	}
	return nil
}

// ends returns the first and the last of n steps.
func ends(n int) []int {
	if n < 2 {
		return []int{0}[:n]
	}
	return []int{0, n - 1}
}

func sameBits(what string, a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return differs("%s: element %d is %v and %v, expected the same bits", what, i, a[i], b[i])
		}
	}
	return nil
}

// --- backward

// checkedSteps and checkedRows limit what is compared of a backward pass.
const (
	checkedSteps = 2
	checkedRows  = 2
)

func backwardSuite() []benchmark {
	var all []benchmark
	for _, s := range []struct {
		Extent
		at [4]int
	}{
		{Quick, [4]int{64, 20, 30, 128}}, {Usual, [4]int{784, 20, 10, 128}}, {Usual, [4]int{16, 20, 30, 128}},
		{Full, [4]int{256, 20, 30, 128}}, {Full, [4]int{64, 10, 5, 128}}, {Full, [4]int{64, 20, 30, 16}},
	} {
		all = append(all, backward(s.Extent, s.at))
	}
	return append(all, lowRankOf("backward", "lowrank forward+backward", "raw"))
}

// backward is an ascent and its backward pass: s has d, k, n and the batch.
func backward(x Extent, s [4]int) benchmark {
	d, k, n, batch := s[0], s[1], s[2], s[3]
	flop, bytes := ascentCosts(d, k, n, batch)
	fd, fk := float64(d), float64(k)
	return benchmark{
		suite: "backward", name: "forward+backward", extent: x,
		params: params("d", d, "k", k, "n", n, "batch", batch),
		// Besides: A_i and dA_i, and V before and after.
		cost: 3*flop + 2*fk*fd*fd*fd, bytes: bytes + 4*(2*fk*fd*fd+2*fd*float64(batch)), items: float64(batch),
		memory: trainingMemory(d, k, n, batch),
		setup:  func() (setupFunc, error) { return newBackwardCase(d, k, n, batch, 2*flop).on, nil },
	}
}

// trainingMemory is about how many bytes an ascent and its backward pass take: P_i, dP_i
// and dA_i; x, U and G_i (or what of them is kept) of all steps.
func trainingMemory(d, k, n, batch int) float64 {
	fd, fk, fn, fb := float64(d), float64(k), float64(n), float64(batch)
	return 4 * (3*fk*fd*fd + 3*fn*fb*fd + min(fn*fk*fb*fd, 128<<20))
}

// backwardCase makes n ascent steps and their backward pass.
type backwardCase struct {
	landscape       *landscape
	a               []float32 // factors: dA = A (dP + dP^T)
	n               int
	first, upstream engine.Matrix
	rows            int                 // that are compared
	flop            float64             // of all products but those of dA_i
	want            *reference.Gradient // of the first rows through some steps, from the engine's own x_t
}

func newBackwardCase(d, k, n, batch int, flop float64) *backwardCase {
	c := &backwardCase{landscape: newLandscape(k, d), a: make([]float32, k*d*d), n: n, flop: flop,
		first: normal(3, batch, d), upstream: normal(4, batch, d), rows: min(checkedRows, batch)}
	for i := range c.a { // no result that is compared depends on the factors
		if i/d%d == i%d {
			c.a[i] = 0.3
		}
	}
	return c
}

func (c *backwardCase) on(e *engine.Engine) (*fixture, error) {
	l := c.landscape
	m := l.mixture(e)
	x, v := engine.NewMatrix(c.first.Rows, l.d), engine.NewMatrix(c.first.Rows, l.d)
	var tr ascent.Trajectory
	g := ascent.NewGradient(l.k, l.d)
	w := &fixture{
		op: func() error {
			copy(x.Data, c.first.Data)
			copy(v.Data, c.upstream.Data)
			m.Ascend(e, l.alpha, c.n, x, &tr, true)
			m.Backward(e, l.alpha, c.a, &tr, v, g)
			return nil
		},
	}
	w.check = func() (string, error) {
		w.flop = c.flop + m.Work().FactorFlop
		return c.check(e, m, v)
	}
	return w, nil
}

// check compares the gradients through some steps with the reference, and those through all
// steps, v, with those of the first rows on their own.
func (c *backwardCase) check(e *engine.Engine, m *ascent.Mixture, v engine.Matrix) (string, error) {
	steps := min(c.n, checkedSteps)
	vs, mu := c.head(e, m, steps)
	if err := gradientWithin("dL/dx_0", vs.Data, c.want.V); err != nil {
		return "", err
	}
	if err := gradientWithin("dL/dmu", mu, c.want.Mu); err != nil {
		return "", err
	}
	vs, _ = c.head(e, m, c.n)
	if err := sameBits("dL/dx_0 of rows in the batch and alone", v.Data[:len(vs.Data)], vs.Data); err != nil {
		return "", err
	}
	return fmt.Sprintf("dL/dx_0 and dL/dmu of %d rows through %d steps within the bound of float64, "+
		"the rows alone have the same bits", c.rows, steps), nil
}

// head returns dL/dx_0 and dL/dmu of the first rows through some steps. The first call computes
// the reference.
func (c *backwardCase) head(e *engine.Engine, m *ascent.Mixture, steps int) (engine.Matrix, []float32) {
	l := c.landscape
	x, v := engine.NewMatrix(c.rows, l.d), engine.NewMatrix(c.rows, l.d)
	copy(x.Data, c.first.Data)
	copy(v.Data, c.upstream.Data)
	var path ascent.Trajectory
	g := ascent.NewGradient(l.k, l.d)
	m.Ascend(e, l.alpha, steps, x, &path, true)
	if c.want == nil {
		var at []blas64.General
		for t := range steps + 1 {
			at = append(at, reference.FromFloat32(path.XAt(t).Data, c.rows, l.d, l.d, 1))
		}
		c.want = l.oracle().Backward(at, reference.FromFloat32(c.upstream.Data, c.rows, l.d, l.d, 1))
	}
	m.Backward(e, l.alpha, c.a, &path, v, g)
	return v, g.Mu
}
