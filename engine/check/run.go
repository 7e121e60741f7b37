package check

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"runtime/debug"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// Options say what to check.
type Options struct {
	Tiers   []engine.Tier // empty: all that this machine has
	Threads int           // 0: 1 and 2 in turn
	Quick   bool          // a part of the cases, some seconds
	Kernel  string        // only this kernel
	Cases   []Case        // only these cases

	// Progress is called after each case.
	Progress func(done, all int)
}

// Row sums up the cases of one kernel on one tier.
type Row struct {
	Kernel        string  `json:"kernel"`
	Tier          string  `json:"tier"`
	Cases         int     `json:"cases"`
	Failed        int     `json:"failed"`
	MaxULP        uint32  `json:"max_ulp"`         // largest distance from the rounded reference; see conditioned
	MaxErrorRatio float64 `json:"max_error_ratio"` // largest error over its bound
	BitsEqual     bool    `json:"bits_equal"`      // to those of the pure-Go tier, in all cases
	SHA256        string  `json:"sha256"`          // of the results of all cases in order, NaN as 0x7fc00000

	hash hash.Hash
}

// Failure is a case that failed on a tier.
type Failure struct {
	Case    string `json:"case"`
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	Reason  string `json:"reason"`
}

// Report is the outcome of a check.
type Report struct {
	Cases    int       `json:"cases"` // on all tiers together
	Failed   int       `json:"failed"`
	Guards   bool      `json:"guards"` // every buffer lay against pages without access
	Kernels  []Row     `json:"kernels"`
	Failures []Failure `json:"failures"`
}

// trial is a case made ready: run calls the kernel on an engine.
type trial struct {
	run func(e *engine.Engine)
	// want and bound follow the outputs element by element; a bound below 0 asks for at
	// most -bound ULPs. Without them only the bits are compared.
	want, bound []float64

	// ascends says that run makes an ascent of some rows, which takes the engine's route.
	ascends bool
}

// kernel is something to check.
type kernel struct {
	name  string
	args  []arg
	more  func(quick bool) [][]int // cases besides the sweeps over one argument each
	make  func(c Case, m *memory) trial
	route engine.Route // of ascents; AutoRoute stands for DenseRoute
}

// Kernels lists the names of all kernels.
func Kernels() []string {
	var names []string
	for _, k := range kernels {
		names = append(names, k.name)
	}
	return names
}

func find(name string) *kernel {
	for i := range kernels {
		if kernels[i].name == name {
			return &kernels[i]
		}
	}
	return nil
}

// cases lists the cases of k: its usual arguments with one swept at a time, more, and, unless
// quick, combinations.
func (k *kernel) cases(quick bool) []Case {
	var list []Case
	seen := map[string]bool{}
	add := func(values []int) {
		c := Case{Kernel: k.name}
		for i, a := range k.args {
			if values[i] < a.min || values[i] > a.max {
				return
			}
			c.names = append(c.names, a.name)
			c.values = append(c.values, values[i])
		}
		if s := c.String(); !seen[s] {
			seen[s] = true
			list = append(list, c)
		}
	}
	usual := k.usual(nil)
	add(usual)
	for i, a := range k.args {
		sweep := a.sweep
		if quick {
			sweep = a.quickSweep
		}
		for _, v := range sweep {
			values := append([]int(nil), usual...)
			values[i] = v
			add(values)
		}
	}
	if k.more != nil {
		for _, v := range k.more(quick) {
			add(v)
		}
	}
	if !quick {
		r := num.NewRand(11, 0)
		for n := 0; n < combinations; {
			if values := k.draw(r); values != nil {
				add(values)
				n++
			}
		}
	}
	return list
}

// usual returns the usual arguments, but of those that are named what is given for them.
func (k *kernel) usual(named map[string]int) []int {
	values := make([]int, len(k.args))
	for i, a := range k.args {
		var given bool
		if values[i], given = named[a.name]; !given {
			values[i] = a.usual
		}
	}
	return values
}

// Combinations are cases that draw all their arguments, for mistakes that take two of them at
// once. Sizes whose product is larger than drawnSizes would take the reference too long.
const (
	combinations = 50
	drawnSizes   = 1 << 12
)

// draw returns random arguments, or nil where they are too large or too small.
func (k *kernel) draw(r *num.Rand) []int {
	values := make([]int, len(k.args))
	sizes := 1
	for i, a := range k.args {
		switch {
		case a.name == seedArg.name:
			values[i] = r.Intn(1000)
		case len(a.sweep) == 0:
			values[i] = a.usual
		default:
			values[i] = a.sweep[r.Intn(len(a.sweep))]
		}
		if values[i] < a.min {
			return nil
		}
		if a.max == maxSize {
			sizes *= values[i]
		}
	}
	if sizes > drawnSizes {
		return nil
	}
	return values
}

// Run checks. It returns an error when there is nothing to run or ctx ends; failing
// cases are in the report.
func Run(ctx context.Context, opt Options) (*Report, error) {
	cases := opt.Cases
	if len(cases) == 0 {
		for i := range kernels {
			if opt.Kernel == "" || opt.Kernel == kernels[i].name {
				cases = append(cases, kernels[i].cases(opt.Quick)...)
			}
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no kernel %q to check", opt.Kernel)
	}
	tiers := opt.Tiers
	if len(tiers) == 0 {
		tiers = engine.Available()
	}
	threads := []int{opt.Threads}
	if opt.Threads == 0 {
		threads = []int{1, 2}
	}
	// The engines of a tier and a route differ in threads only. Pure Go on the dense route and on
	// one thread is what all are compared with.
	type choice struct {
		tier  engine.Tier
		route engine.Route
	}
	engines := map[choice][]*engine.Engine{}
	for _, t := range append([]engine.Tier{engine.Generic}, tiers...) {
		for _, route := range []engine.Route{engine.DenseRoute, engine.SparseRoute} {
			if engines[choice{t, route}] != nil {
				continue
			}
			for _, n := range threads {
				e, err := engine.New(engine.WithTier(t), engine.WithRoute(route), engine.WithThreads(n), engine.WithEagerThreads())
				if err != nil {
					return nil, err
				}
				defer e.Close()
				if e.Tier() != t {
					return nil, fmt.Errorf("asked for tier %v, got %v", t, e.Tier())
				}
				engines[choice{t, route}] = append(engines[choice{t, route}], e)
			}
		}
	}
	base := engines[choice{engine.Generic, engine.DenseRoute}][0]

	r := &Report{Failures: []Failure{}}
	rows := map[string]*Row{}
	var order []*Row
	var mem memory
	defer mem.release()
	for n, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		mem.reset()
		k := find(c.Kernel)
		tr := k.make(c, &mem)
		mem.save()
		route := max(k.route, engine.DenseRoute)
		want, err := mem.try(tr, base, engine.DenseRoute)
		if err != nil {
			err = fmt.Errorf("on tier generic: %w", err)
		}
		for _, t := range tiers {
			key := c.Kernel + "/" + t.String()
			row := rows[key]
			if row == nil {
				row = &Row{Kernel: c.Kernel, Tier: t.String(), BitsEqual: true, hash: sha256.New()}
				rows[key] = row
				order = append(order, row)
			}
			some := engines[choice{t, route}]
			e := some[c.draw(len(some))]
			row.Cases++
			r.Cases++
			got, terr := want, err
			if e != base && err == nil {
				got, terr = mem.try(tr, e, route)
			}
			row.add(got)
			if terr == nil {
				terr = row.judge(got, tr)
			}
			if err == nil && terr == nil {
				if i := differs(got, want); i >= 0 {
					row.BitsEqual = false
					terr = fmt.Errorf("element %d: %v has bits %#08x, generic %v %#08x",
						i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
				}
			}
			if terr != nil {
				if got == nil || err != nil {
					row.BitsEqual = false // there was nothing to compare
				}
				row.Failed++
				r.Failed++
				r.Failures = append(r.Failures, Failure{c.String(), t.String(), e.Threads(), terr.Error()})
			}
		}
		if opt.Progress != nil {
			opt.Progress(n+1, len(cases))
		}
	}
	r.Guards = !mem.open
	for _, row := range order {
		row.SHA256 = hex.EncodeToString(row.hash.Sum(nil))
		r.Kernels = append(r.Kernels, *row)
	}
	return r, nil
}

// try runs the trial on e, which was made for a route, and returns its results.
func (m *memory) try(tr trial, e *engine.Engine, route engine.Route) (results []float32, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			if _, fault := v.(interface{ Addr() uintptr }); fault {
				err = errors.New("touched memory outside its operands")
			} else {
				err = fmt.Errorf("panic: %v", v)
			}
		}
	}()
	m.restore()
	tr.run(e)
	results = m.results()
	if err := m.trespass(); err != nil {
		return results, err
	}
	if tr.ascends && e.Work().Route != route {
		return results, fmt.Errorf("took the %v route in the place of the %v one", e.Work().Route, route)
	}
	return results, nil
}

// add adds results to the hash of the row.
func (row *Row) add(results []float32) {
	bytes := make([]byte, 0, 4*len(results))
	for _, v := range results {
		bits := math.Float32bits(v)
		if v != v {
			bits = 0x7fc00000
		}
		bytes = binary.LittleEndian.AppendUint32(bytes, bits)
	}
	row.hash.Write(bytes)
}

// judge compares results with the reference, counts all of them in the row, and returns
// the first that is out of bounds.
func (row *Row) judge(got []float32, tr trial) (failure error) {
	if tr.want == nil {
		return nil
	}
	if len(got) != len(tr.want) || len(got) != len(tr.bound) {
		return fmt.Errorf("%d results, %d expected with %d bounds", len(got), len(tr.want), len(tr.bound))
	}
	fail := func(format string, args ...any) {
		if failure == nil {
			failure = fmt.Errorf(format, args...)
		}
	}
	for i, g := range got {
		w, b := tr.want[i], tr.bound[i]
		ulps := reference.ULPs(g, w)
		if b < 0 {
			row.MaxULP = max(row.MaxULP, ulps)
			row.MaxErrorRatio = max(row.MaxErrorRatio, float64(ulps)/-b)
			if float64(ulps) > -b {
				fail("element %d: %v is %d ULPs from %v, at most %g allowed", i, g, ulps, w, -b)
			}
			continue
		}
		e := math.Abs(float64(g) - w)
		if ulps == 0 {
			e = 0 // the rounded reference itself, also for NaN and infinities, whose bound is NaN
		}
		if ulps > 0 && !(e <= b) {
			fail("element %d: %v differs from %v by %.3g, bound %.3g", i, g, w, e, b)
		}
		if b <= conditioned*ulp(w) {
			row.MaxULP = max(row.MaxULP, ulps)
		}
		if e > 0 && b > 0 {
			row.MaxErrorRatio = max(row.MaxErrorRatio, min(e/b, worstRatio))
		} else if ulps > 0 && !(e <= b) {
			row.MaxErrorRatio = worstRatio
		}
	}
	return failure
}

// worstRatio stands for an error without bound: JSON has no infinity.
const worstRatio = 1e300

// conditioned is the number of units in the last place of a result up to which its bound
// may go for the result to count in MaxULP. A sum that cancels has a larger bound, and
// its distance in ULPs says nothing.
const conditioned = 64

// ulp returns the unit in the last place of float32 at v.
func ulp(v float64) float64 {
	_, e := math.Frexp(v)
	return math.Ldexp(1, max(e-24, -149))
}

// differs returns the first element whose bits differ, or -1. All NaNs count as equal.
func differs(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && !(a[i] != a[i] && b[i] != b[i]) {
			return i
		}
	}
	return -1
}
