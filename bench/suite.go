package bench

import (
	"cmp"
	"fmt"
	"strings"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// Extent says how many benchmarks run.
type Extent int

const (
	Quick Extent = iota // about a minute, longer on a busy machine
	Usual               // a few minutes
	Full                // all sweeps, and also two threads
)

func (x Extent) String() string { return [...]string{"quick", "usual", "full"}[x] }

// Suites returns the names of the suites in the order in which they run. Suite peak is
// measured beside all others.
func Suites() []string {
	return []string{
		"peak", "gemm", "quad", "ascent", "backward", "ascent-sparse",
		"reduce", "optim", "kmeans", "separation", "train", "load",
	}
}

// benchmark is a piece of work that is timed on several engines: a row each.
type benchmark struct {
	suite, name string
	params      []param
	extent      Extent // the smallest extent that includes it

	flop, bytes, items float64
	cost               float64 // in flop, of work whose flop are not counted
	memory             float64 // bytes that a row holds while it is set up; 0: three times bytes
	host               bool    // uses no kernels: the tier is "go"
	fastest            bool    // on the fastest tier only
	serial             bool    // on one thread only
	cold               bool    // L1 and L2 are emptied before every call
	level              string  // memory level that stream measures
	stream             engine.Stream

	// setup makes what all engines share: inputs and the results of the reference. The
	// function that it returns makes the fixture of an engine.
	setup func() (func(e *engine.Engine) (*fixture, error), error)
}

// hostTier replaces the tier of work without kernels.
const hostTier = "go"

// fixture is a benchmark on one engine.
type fixture struct {
	op func() error
	// What a call does, if that depends on the engine; set by op or check.
	flop, bytes float64
	// Of ascents with a route: the route taken, and per row the components evaluated, the
	// active ones, and the bounds refreshed. Set by check.
	route                     ascent.Route
	evaluated, active, bounds *Components
	// check compares the result of op with the reference and says what was compared. A
	// difference is an *ErrMismatch.
	check func() (string, error)
	// profile begins to measure the phases of op, which phases then returns; nil if there are none. onPhase is
	// that of dpn.Profile.
	profile func(onPhase func(string))
	phases  func() []Phase
	close   func()
}

type param struct {
	name  string
	value int
}

func params(kv ...any) []param {
	var p []param
	for i := 0; i < len(kv); i += 2 {
		p = append(p, param{kv[i].(string), kv[i+1].(int)})
	}
	return p
}

// id names a benchmark; rows add tier and threads.
func (g *benchmark) id() string { return g.suite + "/" + g.name + "/" + g.shape() }

func (g *benchmark) shape() string {
	var b strings.Builder
	for i, p := range g.params {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%d", p.name, p.value)
	}
	if len(g.params) == 0 {
		return "-"
	}
	return b.String()
}

func (g *benchmark) paramMap() map[string]int {
	m := map[string]int{}
	for _, p := range g.params {
		m[p.name] = p.value
	}
	return m
}

// maxGenericFlop bounds the work of pure Go: at one or two GFLOP/s, more would take seconds
// per call.
const maxGenericFlop = 1e9

// footprint estimates the bytes that a row holds: operands, results, and operands packed by
// its engine.
func (g *benchmark) footprint() float64 { return cmp.Or(g.memory, 3*g.bytes) }

// wants reports whether the benchmark runs on a tier.
func (g *benchmark) wants(t engine.Tier) bool {
	return t != engine.Generic || max(g.flop, g.cost) <= maxGenericFlop
}

// benchmarks returns those of an extent, suite by suite.
func benchmarks(x Extent) []benchmark {
	var all []benchmark
	for _, s := range [][]benchmark{
		gemmSuite(), quadSuite(), ascentSuite(), backwardSuite(), sparseSuite(), reduceSuite(),
		optimSuite(), kmeansSuite(), separationSuite(), trainSuite(), loadSuite(),
	} {
		for _, g := range s {
			if g.extent <= x {
				all = append(all, g)
			}
		}
	}
	return all
}

// ErrMismatch is the error of a result that differs from the reference.
type ErrMismatch struct{ Row, Reason string }

func (e *ErrMismatch) Error() string { return fmt.Sprintf("%s: %s", e.Row, e.Reason) }

// differs returns an *ErrMismatch; the runner adds the row.
func differs(format string, args ...any) error {
	return &ErrMismatch{Reason: fmt.Sprintf(format, args...)}
}
