package bench

import (
	"cmp"
	"fmt"
	"strings"

	"dpnbench/engine"
)

// Extent says how much is measured.
type Extent int

const (
	Quick Extent = iota // under a minute
	Usual               // some minutes
	Full                // all sweeps, and two threads beside one and all
)

func (x Extent) String() string { return [...]string{"quick", "usual", "full"}[x] }

// Suites lists the names of the suites, in the order in which they run. Suite peak is
// measured beside all others.
func Suites() []string {
	return []string{"peak", "gemm", "quad", "ascent", "backward", "ascent-sparse", "reduce", "optim", "kmeans", "separation", "train", "load"}
}

// group is a piece of work to be timed on several engines: a row each.
type group struct {
	suite, name string
	params      []param
	extent      Extent // the smallest one that has it

	flop, bytes, items float64
	cost               float64      // in flop, of work whose flop are not counted
	memory             float64      // bytes that each row holds while it is open; 0: about what it moves
	host               bool         // no kernels take part: the tier is "go"
	fastest            bool         // on the fastest tier only
	serial             bool         // on one thread only
	route              engine.Route // of its ascents
	cold               bool         // the core's own caches are emptied before every call
	level              string       // of the memory that stream measures
	stream             engine.Stream

	// open makes what all engines share: inputs, and results of the reference. What it
	// returns prepares the work for an engine, and compares a result with the reference.
	open func() (func(e *engine.Engine) (*work, error), error)
}

// hostTier stands in the place of a tier where no kernels take part.
const hostTier = "go"

// work is a group on one engine.
type work struct {
	op func() error
	// What a call does, where that depends on the engine; op may set it, or check.
	flop, bytes float64
	// Of ascents by a route: which one it was, and the components a row that it evaluated,
	// that were active, and bounds that it refreshed. Set by check.
	route                     engine.Route
	evaluated, active, bounds *Components
	// check compares the result of op with the reference. It says what was compared. A
	// difference is an *ErrMismatch.
	check func() (string, error)
	close func()
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

// id names a group; its rows have tier and threads besides.
func (g *group) id() string { return g.suite + "/" + g.name + "/" + g.shape() }

func (g *group) shape() string {
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

func (g *group) paramMap() map[string]int {
	m := map[string]int{}
	for _, p := range g.params {
		m[p.name] = p.value
	}
	return m
}

// maxGenericFlop bounds what pure Go is asked to do: at one or two GFLOP/s more would take
// seconds a call.
const maxGenericFlop = 1e9

// footprint is about how many bytes a row holds while it is open: operands, results, and
// operands packed by its engine.
func (g *group) footprint() float64 { return cmp.Or(g.memory, 3*g.bytes) }

// wants says whether the group is timed on a tier.
func (g *group) wants(t engine.Tier) bool {
	return t != engine.Generic || max(g.flop, g.cost) <= maxGenericFlop
}

// groups returns the work of an extent, suite by suite.
func groups(x Extent) []group {
	var all []group
	for _, s := range [][]group{gemmSuite(), quadSuite(), ascentSuite(), backwardSuite(), sparseSuite(), reduceSuite(), optimSuite(), kmeansSuite(), separationSuite(), trainSuite(), loadSuite()} {
		for _, g := range s {
			if g.extent <= x {
				all = append(all, g)
			}
		}
	}
	return all
}

// ErrMismatch says that a result differs from the reference.
type ErrMismatch struct{ Row, Reason string }

func (e *ErrMismatch) Error() string { return fmt.Sprintf("%s: %s", e.Row, e.Reason) }

// differs is the *ErrMismatch of a row that its runner names.
func differs(format string, args ...any) error {
	return &ErrMismatch{Reason: fmt.Sprintf(format, args...)}
}
