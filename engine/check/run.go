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
	"dpnbench/engine/ascent"
	"dpnbench/engine/reference"
)

// Options select what to check.
type Options struct {
	Tiers   []engine.Tier // empty: all that are available
	Threads int           // 0: 1 and 2 in turn
	Quick   bool          // a part of the cases: some seconds
	Kernel  string        // only this kernel
	Cases   []Case        // only these cases

	// Function, if set, is checked in place of the kernels; Tiers and Kernel do not matter then. Threads are
	// compared with 1; 0: 2.
	Function *Function

	// Progress is called after each case.
	Progress func(done, all int)
}

// Row summarises the cases of one kernel on one tier.
type Row struct {
	Kernel        string  `json:"kernel"`
	Tier          string  `json:"tier"`
	Cases         int     `json:"cases"`
	Failed        int     `json:"failed"`
	MaxULP        uint32  `json:"max_ulp"`         // largest distance from the rounded reference; see conditioned
	MaxErrorRatio float64 `json:"max_error_ratio"` // largest error over its bound
	BitsEqual     bool    `json:"bits_equal"`      // as on the pure-Go tier, in all cases
	SHA256        string  `json:"sha256"`          // of the results of all cases in order, NaN as 0x7fc00000

	hash hash.Hash
}

// Failure is a case that failed on a tier.
type Failure struct {
	Case    string `json:"case"`
	Tier    string `json:"tier"` // or the name of a function
	Threads int    `json:"threads"`
	Reason  string `json:"reason"`
}

// Report is the outcome of a check.
type Report struct {
	Cases    int       `json:"cases"` // on all tiers together
	Failed   int       `json:"failed"`
	Guards   bool      `json:"guards"` // every buffer lay between guard pages
	Kernels  []Row     `json:"kernels"`
	Failures []Failure `json:"failures"`

	Functions []FunctionRow `json:"functions,omitempty"` // instead of kernels
}

// checker runs cases on all tiers and fills a report.
type checker struct {
	tiers   []engine.Tier
	engines map[engine.Tier][]*engine.Engine // that differ in the number of threads
	base    *engine.Engine                   // pure Go on one thread: what all are compared with, on the dense route
	mem     memory
	report  *Report
	rows    map[string]*Row
	order   []*Row
}

// Run runs the check. It returns an error if there is nothing to check or ctx ends; failing cases
// are in the report.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Function != nil {
		return opt.Function.run(ctx, opt)
	}
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
	k := checker{tiers: opt.tiers(), engines: map[engine.Tier][]*engine.Engine{}, rows: map[string]*Row{},
		report: &Report{Failures: []Failure{}}}
	defer k.close()
	if err := k.open(opt.Threads); err != nil {
		return nil, err
	}
	for n, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k.check(c)
		if opt.Progress != nil {
			opt.Progress(n+1, len(cases))
		}
	}
	k.report.Guards = !k.mem.open
	for _, row := range k.order {
		row.SHA256 = hex.EncodeToString(row.hash.Sum(nil))
		k.report.Kernels = append(k.report.Kernels, *row)
	}
	return k.report, nil
}

// tiers lists the tiers to check.
func (o Options) tiers() []engine.Tier {
	if len(o.Tiers) == 0 {
		return engine.Available()
	}
	return o.Tiers
}

// open starts the engines of all tiers, with 1 and 2 threads if threads is 0.
func (k *checker) open(threads int) error {
	counts := []int{threads}
	if threads == 0 {
		counts = []int{1, 2}
	}
	for _, t := range append([]engine.Tier{engine.Generic}, k.tiers...) {
		if k.engines[t] != nil {
			continue
		}
		for _, n := range counts {
			e, err := engine.New(engine.WithTier(t), engine.WithThreads(n), engine.WithEagerThreads())
			if err != nil {
				return err
			}
			k.engines[t] = append(k.engines[t], e)
			if e.Tier() != t {
				return fmt.Errorf("asked for tier %v, got %v", t, e.Tier())
			}
		}
	}
	k.base = k.engines[engine.Generic][0]
	return nil
}

// close stops the engines and frees the memory.
func (k *checker) close() {
	for _, list := range k.engines {
		for _, e := range list {
			e.Close()
		}
	}
	k.mem.release()
}

// check runs a case on all tiers.
func (k *checker) check(c Case) {
	kern := find(c.Kernel)
	k.mem.reset()
	tr := kern.make(c, &k.mem)
	k.mem.save()
	route := max(kern.route, ascent.DenseRoute)
	want, err := k.mem.try(tr, k.base, ascent.DenseRoute)
	if err != nil {
		err = fmt.Errorf("on tier generic: %w", err)
	}
	for _, t := range k.tiers {
		row := k.row(c.Kernel, t)
		row.Cases++
		k.report.Cases++
		some := k.engines[t]
		e := some[c.draw(len(some))]
		got, failure := want, err
		if (e != k.base || route != ascent.DenseRoute) && err == nil {
			got, failure = k.mem.try(tr, e, route)
		}
		row.add(got)
		if failure == nil {
			failure = row.judge(got, tr)
		}
		if err == nil && failure == nil {
			failure = row.compare(got, want)
		}
		if failure == nil {
			continue
		}
		if got == nil || err != nil {
			row.BitsEqual = false // there was nothing to compare
		}
		row.Failed++
		k.report.Failed++
		k.report.Failures = append(k.report.Failures, Failure{c.String(), t.String(), e.Threads(), failure.Error()})
	}
}

// row returns the row of a kernel and a tier.
func (k *checker) row(kernel string, t engine.Tier) *Row {
	key := kernel + "/" + t.String()
	row := k.rows[key]
	if row == nil {
		row = &Row{Kernel: kernel, Tier: t.String(), BitsEqual: true, hash: sha256.New()}
		k.rows[key] = row
		k.order = append(k.order, row)
	}
	return row
}

// try runs the trial on e, with ascents by a route, and returns its results.
func (m *memory) try(tr trial, e *engine.Engine, route ascent.Route) (results []float32, err error) {
	m.restore()
	m.route, m.mixture = route, nil
	if err := caught(func() { tr.run(e) }); err != nil {
		return nil, err
	}
	results = m.results()
	if err := m.trespass(); err != nil {
		return results, err
	}
	if tr.ascends {
		if got := m.mixture.Work().Route; got != route {
			return results, fmt.Errorf("took the %v route instead of the %v one", got, route)
		}
	}
	return results, nil
}

var errFault = errors.New("touched memory outside its operands")

// caught calls f and returns its panic as an error: errFault if it touched memory without access.
func caught(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			if _, fault := v.(interface{ Addr() uintptr }); fault {
				err = errFault
			} else {
				err = fmt.Errorf("panic: %v", v)
			}
		}
	}()
	f()
	return nil
}

// compare returns an error if results differ from those of pure Go in any bit.
func (row *Row) compare(got, want []float32) error {
	i := differs(got, want)
	if i < 0 {
		return nil
	}
	row.BitsEqual = false
	return fmt.Errorf("element %d: %v has bits %#08x, generic %v %#08x",
		i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
}

// add adds results to the hash of the row.
func (row *Row) add(results []float32) {
	bytes := make([]byte, 0, 4*len(results))
	for _, v := range results {
		bytes = binary.LittleEndian.AppendUint32(bytes, canonicalBits(v))
	}
	row.hash.Write(bytes)
}

// judge compares results with the reference, updates the row, and returns an error for the first
// result outside its bound.
func (row *Row) judge(got []float32, tr trial) (failure error) {
	if tr.want == nil {
		return nil
	}
	if len(got) != len(tr.want) || len(got) != len(tr.bound) {
		return fmt.Errorf("%d results, %d expected with %d bounds", len(got), len(tr.want), len(tr.bound))
	}
	for i, g := range got {
		w, b := tr.want[i], tr.bound[i]
		fail := func(how string, args ...any) {
			if g-g != 0 || w-w != 0 { // the distance from NaN or an infinity says nothing
				how, args = "%v instead of %v", []any{g, w}
			}
			if failure == nil {
				failure = fmt.Errorf("%s: "+how, append([]any{tr.place(i)}, args...)...)
			}
		}
		ulps := reference.ULPs(g, w)
		if ulps > 0 && math.IsInf(w, 0) { // the largest number is within an infinite bound, and one ULP away
			row.MaxULP, row.MaxErrorRatio = max(row.MaxULP, ulps), worstRatio
			fail("%v instead of %v", g, w)
			continue
		}
		if b < 0 {
			row.MaxULP = max(row.MaxULP, ulps)
			row.MaxErrorRatio = max(row.MaxErrorRatio, float64(ulps)/-b)
			if float64(ulps) > -b {
				fail("%v is %d ULPs from %v, at most %g allowed", g, ulps, w, -b)
			}
			continue
		}
		e := math.Abs(float64(g) - w)
		if ulps == 0 {
			e = 0 // equal to the rounded reference, also for NaN and infinities, whose bound is NaN
		}
		if ulps > 0 && !(e <= b) {
			fail("%v differs from %v by %.3g, bound %.3g", g, w, e, b)
		}
		if b <= conditioned*ulp(w) {
			row.MaxULP = max(row.MaxULP, ulps)
		}
		if e > 0 && b > 0 && !(math.IsInf(e, 0) && math.IsInf(b, 0)) {
			row.MaxErrorRatio = max(row.MaxErrorRatio, min(e/b, worstRatio))
		} else if ulps > 0 && !(e <= b) {
			row.MaxErrorRatio = worstRatio
		}
	}
	return failure
}

// worstRatio stands for an infinite ratio, which JSON cannot represent.
const worstRatio = 1e300

// conditioned is the largest bound, in units in the last place (ULPs), of a result that counts in
// MaxULP. A sum with cancellation has a larger bound, and its error in ULPs has no meaning.
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
