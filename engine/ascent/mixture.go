package ascent

import (
	"fmt"

	"dpnbench/engine"
)

// Mixture is the log of a mixture of K Gaussians in D dimensions,
//
//	phi(x) = log sum_i exp(c_i - q_i(x)/2),   q_i(x) = (x - mu_i)^T P_i (x - mu_i)
//
// Mu and C belong to the caller and are read at every call; K, D and the lengths of Mu and C must stay as
// they were made. The precisions P_i are kept packed: set them
// once per update of the parameters, with SetFactors or SetPrecisions, or with SetLowRank if the mixture is
// of NewLowRankMixture. A mixture also keeps what ascents find out about its precisions, and memory: use it
// with one engine at a time.
type Mixture struct {
	K, D int
	Mu   []float32 // K x D
	C    []float32 // K, the log weights

	// Origin, of precisions of low rank, is a finite point o (D numbers), or nil for 0: F_i multiplies X - o and
	// mu_i - o. Where S is below 0, a first step by the sparse route costs less if rows share numbers with o, such
	// as the background of images; other steps pay for a subtraction. Results differ by roundings. SetLowRank keeps
	// it, and panics if it has another length; it must not change before the next SetLowRank.
	Origin []float32

	// Lanes, of precisions of low rank with S below 0, is for mixtures of which few components have a responsibility
	// above 0 at a row: their sums over features are then dot products, in lanes (NewLowRankMixture). Where many
	// have one, that takes several times as long. Results differ by roundings. SetLowRank keeps it.
	Lanes bool

	// Route says which components an ascent computes. It changes no bit.
	Route Route

	precision   precision
	origin      []float32 // Origin as SetLowRank read it
	k, d        int       // K and D as they were made
	generations uint64    // times that the precisions were set

	bounds          []bound     // of the precisions as they are, once they were needed
	boundMemory     []bound     // of bounds
	boundsMade      bool        // boundMemory is of the precisions as they are
	unbounded       bool        // makeBounds has failed on these precisions
	centreDistances [][]float32 // once they were needed (linear_path.go)

	activity activity
	work     Work
	ascent   ascentJob
	sparse   sparseJob
	making   boundsJob
	threads  []threadMemory // one per thread of the engine
}

// NewMixture makes a mixture around centres mu (k x d) and log weights c (k). Its precisions must be set
// before use.
func NewMixture(k, d int, mu, c []float32) *Mixture {
	m := newMixture("NewMixture", k, d, mu, c)
	m.precision = &dense{m: m, p: make([]engine.Packed, k)}
	return m
}

// NewTiedMixture makes a mixture whose components share one precision: SetPrecisions takes a single matrix
// P, SetFactors and Backward a single A.
func NewTiedMixture(k, d int, mu, c []float32) *Mixture {
	m := newMixture("NewTiedMixture", k, d, mu, c)
	m.precision = &dense{m: m, p: make([]engine.Packed, 1)}
	return m
}

func newMixture(call string, k, d int, mu, c []float32) *Mixture {
	if k < 1 || d < 1 {
		panic(fmt.Sprintf("ascent: %s: %d components in %d dimensions, expected at least 1 of each", call, k, d))
	}
	engine.CheckLength(call, "mu", len(mu), k*d)
	engine.CheckLength(call, "c", len(c), k)
	return &Mixture{K: k, D: d, Mu: mu, C: c, k: k, d: d}
}

// check panics without an engine, and if the fields of the mixture no longer fit each other: then an ascent
// would leave components or features out.
func (m *Mixture) check(e *engine.Engine, call string) {
	if e == nil {
		panic("ascent: " + call + ": no engine")
	}
	if m.K != m.k || m.D != m.d {
		panic(fmt.Sprintf("ascent: %s: mixture of %d components in %d dimensions, made for %d in %d",
			call, m.K, m.D, m.k, m.d))
	}
	engine.CheckLength(call, "Mu", len(m.Mu), m.k*m.d)
	engine.CheckLength(call, "C", len(m.C), m.k)
	if m.Route < AutoRoute || m.Route > SparseRoute {
		panic(fmt.Sprintf("ascent: %s: route %d, expected AutoRoute, DenseRoute or SparseRoute", call, int(m.Route)))
	}
}

// ready is check, and panics unless the precisions were set by an engine of this tier.
func (m *Mixture) ready(e *engine.Engine, call string) {
	m.check(e, call)
	if !m.precision.packedBy(e) {
		panic(fmt.Sprintf("ascent: %s: the precisions have not been set by an engine of tier %v "+
			"(SetFactors, SetPrecisions, SetLowRank)", call, e.Tier()))
	}
}

// lock takes the engine and makes room for its threads.
func (m *Mixture) lock(e *engine.Engine) {
	e.Lock()
	if n := e.Threads(); len(m.threads) < n {
		m.threads = append(m.threads, make([]threadMemory, n-len(m.threads))...)
	}
}

// matrices returns the precisions as matrices, or panics if they have another form.
func (m *Mixture) matrices(call string) *dense {
	d, ok := m.precision.(*dense)
	if !ok {
		panic("ascent: " + call + ": the precisions of the mixture are of low rank (SetLowRank)")
	}
	return d
}

func (m *Mixture) mu(i int) []float32 { return m.Mu[i*m.D : (i+1)*m.D] }

// QuadGrad computes, for component i and the rows of x (n x d), G = (x - mu_i) P_i (n x d, written to g)
// and q = rowsum(G * (x - mu_i)) (n).
func (m *Mixture) QuadGrad(e *engine.Engine, g engine.Matrix, q []float32, x engine.Matrix, i int) {
	if i < 0 || i >= m.K {
		panic(fmt.Sprintf("ascent: QuadGrad: component %d of %d", i, m.K))
	}
	m.check(e, "QuadGrad")
	d := m.matrices("QuadGrad")
	x.CheckShape("QuadGrad", "x", x.Rows, m.D)
	g.CheckShape("QuadGrad", "g", x.Rows, m.D)
	engine.CheckLength("QuadGrad", "q", len(q), x.Rows)
	engine.CheckDisjoint("QuadGrad", "g", g, "x", x)
	engine.CheckDisjoint("QuadGrad", "q", engine.View(q, len(q), 1), "x", x)
	engine.CheckDisjoint("QuadGrad", "g", g, "q", engine.View(q, len(q), 1))
	m.ready(e, "QuadGrad")
	m.lock(e)
	defer e.Unlock()
	worker := e.Caller()
	x = worker.Contiguous(slotDense, x)
	out := g
	if g.CS != 1 {
		out = worker.ScratchRows(slotResult, x.Rows, m.D, m.D)
	}
	f := engine.QuadForm{Mu: m.mu(i), P: d.matrix(i)}
	for r0 := 0; r0 < x.Rows; r0 += maxBlockRows {
		r1 := min(r0+maxBlockRows, x.Rows)
		worker.QuadForm(slotDelta, out.Slice(r0, r1, 0, m.D), q[r0:r1], x.Slice(r0, r1, 0, m.D), &f)
	}
	if g.CS != 1 {
		engine.CopyMatrix(g, out)
	}
}
