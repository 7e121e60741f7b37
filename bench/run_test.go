package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/longtest"
	"dpnbench/internal/sysinfo"
)

// small are settings that take a second or two.
func small(suites ...string) Settings {
	return Settings{Extent: "quick", Suites: suites, Passes: 2, Repetitions: 3, MinTime: 1e-4, Threads: []int{1, 2},
		Memory: 4 << 20}
}

func run(t *testing.T, s Settings) *Report {
	t.Helper()
	r, err := Run(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRun holds a short run of all suites to what the JSON promises: every row was
// compared with the reference, has samples, a time, a unit and a name of its own, and the
// peaks and streams that rows are compared with are there.
func TestRun(t *testing.T) {
	s := small()
	if testing.Short() { // such as with the race detector
		s = small("peak", "gemm", "quad", "reduce")
		s.Filter = "m=128,k=64,n=64$|d=64|rows="
	}
	r := run(t, s)
	seen, suites := map[string]bool{}, map[string]bool{}
	for i := range r.Results {
		row := &r.Results[i]
		if seen[row.ID()] {
			t.Errorf("%s twice", row.ID())
		}
		seen[row.ID()], suites[row.Suite] = true, true
		if row.Check == "" {
			t.Errorf("%s: not compared with the reference", row.ID())
		}
		if row.Repetitions != len(row.Samples) || row.Repetitions < 2*fewest || row.Calls < 1 {
			t.Errorf("%s: %d repetitions of %d calls, %d samples", row.ID(), row.Repetitions, row.Calls,
				len(row.Samples))
		}
		if shared := slices.ContainsFunc(row.Marks, func(m string) bool {
			return strings.HasPrefix(m,
				"a core was shared")
		}); shared && row.Alone == row.Repetitions {
			t.Errorf("%s: all %d repetitions alone, marks %q", row.ID(), row.Alone, row.Marks)
		}
		if ci := row.SecondsCI; !(row.SecondsMedian > 0 && ci[0] <= row.SecondsMedian && row.SecondsMedian <= ci[1]) {
			t.Errorf("%s: median %v, interval %v", row.ID(), row.SecondsMedian, ci)
		}
		if row.Flop == 0 && row.Bytes == 0 && row.Items == 0 {
			t.Errorf("%s: no unit", row.ID())
		}
		if row.Suite != "peak" && row.Tier != "go" && row.Flop > 0 && !(row.PercentPeak > 0 && row.PercentBound > 0 &&
			row.Bound != "") {
			t.Errorf("%s: %v%% of the peak, %v%% of the bound %q", row.ID(), row.PercentPeak, row.PercentBound,
				row.Bound)
		}
	}
	for _, name := range r.Settings.Suites {
		if !suites[name] {
			t.Errorf("suite %s has no row", name)
		}
	}
	streams, h := 0, memoryOf(&r.Machine, s.Memory)
	for _, level := range levels {
		for _, threads := range s.Threads {
			if h.array(level, threads) > 0 {
				streams++
			}
		}
	}
	if len(r.Peak) != 2 || len(r.Bandwidth) != streams || !(r.Clock.Hz > 1e8) {
		t.Errorf("%d peaks, %d bandwidths, clock %v Hz", len(r.Peak), len(r.Bandwidth), r.Clock.Hz)
	}
	for _, b := range r.Bandwidth {
		if !(b.Read > 0 && b.Write > 0 && b.Triad > 0 && b.Bytes > 0) {
			t.Errorf("bandwidth %+v", b)
		}
	}
	for _, p := range r.Peak {
		if !(p.GFlops > 0 && p.StreamGB > 0) {
			t.Errorf("peak %+v", p)
		}
	}

	path := filepath.Join(t.TempDir(), "run.json")
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	back, err := ReadReport(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := Compare(r, back, 0.05, false); c.Slower+c.Faster > 0 || c.GeoMean != 1 || len(c.Rows) == 0 ||
		len(c.OnlyOld)+len(c.OnlyNew) > 0 {
		t.Errorf("a run compared with itself: %+v", c)
	}
	var lines bytes.Buffer
	if err := WriteGoBench(&lines, r); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, row := range r.Results {
		n += len(row.Samples)
	}
	if got := strings.Count(lines.String(), "\nBenchmark"); got != n {
		t.Errorf("%d lines of benchmarks for %d samples", got, n)
	}
}

// TestAllGroups checks all rows of --full: their names differ, their suites are known, they
// have something to count, and every suite has work for every tier, pure Go too.
func TestAllGroups(t *testing.T) {
	seen := map[string]bool{}
	for _, tier := range []engine.Tier{engine.AVX512, engine.AVX2, engine.NEON, engine.Generic} {
		suites := map[string]bool{}
		p := plan{tiers: []engine.Tier{tier}, threads: []int{1}, memory: hierarchy{1, 32 << 10, 1 << 20, 32 << 20, 1,
			1 << 30}}
		for _, g := range append(peakSuite(p.memory), benchmarks(Full)...) {
			p.rows(&g, func(tier engine.Tier, threads int) {
				id := fmt.Sprint(g.id(), tier, threads)
				if seen[id] {
					t.Errorf("%s twice", id)
				}
				seen[id], suites[g.suite] = true, true
			})
			if g.suite != "peak" && g.flop == 0 && g.bytes == 0 && g.items == 0 {
				t.Errorf("%s has nothing to count", g.id())
			}
		}
		for name := range suites {
			if !slices.Contains(Suites(), name) {
				t.Errorf("suite %q is not in the list", name)
			}
		}
		for _, name := range Suites() {
			if !suites[name] {
				t.Errorf("suite %s has nothing for %v", name, tier)
			}
		}
	}
}

// TestBytes counts the floats of operands and results of some rows, each once.
func TestBytes(t *testing.T) {
	want := map[string]int{
		"gemm/packed/m=128,k=64,n=64": 128*64 + 64*64 + 128*64,
		// P_i and x, phi and r
		"quad/potential/d=64,k=20,batch=128": 20*64*64 + 128*64 + 128 + 20*128,
		// P_i, x before and after
		"ascent/full/d=64,k=20,n=30,batch=128": 20*64*64 + 2*128*64,
		// and A_i, dA_i, V before and after
		"backward/forward+backward/d=64,k=20,n=30,batch=128": 20*64*64 + 2*128*64 + 2*20*64*64 + 2*128*64,
		// p, m, v before and after, g
		"optim/adam/n=65536": 7 * 65536,
	}
	for _, g := range benchmarks(Quick) {
		if floats, ok := want[g.id()]; ok && g.bytes != 4*float64(floats) {
			t.Errorf("%s: %v bytes, want %d", g.id(), g.bytes, 4*floats)
		}
		delete(want, g.id())
	}
	if len(want) > 0 {
		t.Errorf("no such rows: %v", want)
	}
}

// newEngine returns an engine that ends with the test.
func newEngine(t *testing.T, options ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestChecks holds the checks of all suites to what they are for: the result of the work
// passes, and without the work nothing does, neither what memory holds at first nor what
// another row has left.
func TestChecks(t *testing.T) {
	e := newEngine(t)
	names := map[string]bool{}
	for _, g := range benchmarks(Usual) {
		name := g.suite + "/" + g.name
		// One of each name; those that take long are left out, but for the updates of all presets.
		manyFiles := g.suite == "load" && (g.items > 2000 || g.name == "png")
		long := max(g.flop, g.cost, g.bytes) > 1e7 || manyFiles
		large := !g.wants(engine.Generic)
		if names[name] || large && !(g.suite == "train" && longtest.Asked()) || testing.Short() && long {
			continue
		}
		names[name] = true
		t.Run(name, func(t *testing.T) {
			setup, err := g.setup()
			if err != nil {
				t.Fatal(err)
			}
			passes := func(done bool) (says string, err error) {
				w, err := setup(e)
				if err != nil {
					t.Fatal(err)
				}
				if w.close != nil {
					defer w.close()
				}
				if done {
					if err := w.op(); err != nil {
						t.Fatal(err)
					}
				} else {
					defer func() {
						if v := recover(); v != nil {
							err = fmt.Errorf("panic: %v", v)
						}
					}()
				}
				return w.check()
			}
			if says, err := passes(true); err != nil || says == "" {
				t.Errorf("%q, %v", says, err)
			}
			if says, err := passes(false); err == nil {
				t.Errorf("passes without work: %s", says)
			}
		})
	}
}

// TestSamples checks that the elements of a square product that are compared lie all over
// it, not on its diagonal.
func TestSamples(t *testing.T) {
	rows, cols := samples(0, 32, 512), samples(1, 32, 512)
	diagonal := 0
	for i := range rows {
		if rows[i] == cols[i] {
			diagonal++
		}
	}
	if diagonal > 4 || rows[0] != 0 || rows[1] != 511 {
		t.Errorf("%d of %d elements on the diagonal, first rows %v", diagonal, len(rows), rows[:2])
	}
}

// made returns a runner of groups made for a test, on the fastest tier and one thread.
func made(t *testing.T, s Settings, all ...benchmark) *runner {
	t.Helper()
	r := &runner{settings: s, free: func() float64 { return 1e12 }, plan: &plan{
		benchmarks: all, tiers: engine.Available()[:1], threads: []int{1},
		memory: hierarchy{1, 32 << 10, 1 << 20, 32 << 20, 1, 1 << 30},
	}}
	if err := r.setup(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

// working returns a group whose work is op, without anything to compare.
func working(name string, op func() error) benchmark {
	return checking(name, op, func() (string, error) { return "nothing to compare", nil })
}

func checking(name string, op func() error, check func() (string, error)) benchmark {
	return benchmark{suite: "gemm", name: name, flop: 1, setup: func() (setupFunc, error) {
		return func(*engine.Engine) (*fixture, error) { return &fixture{op: op, check: check}, nil }, nil
	}}
}

// TestSlow checks that a comparison finds work that is done twenty times. The work waits
// instead of computing, so that a busy machine changes little.
func TestSlow(t *testing.T) {
	measure := func(slow int) *Report {
		s := small()
		s.Slow, s.Repetitions, s.Passes = slow, 18, 1
		r := made(t, s, working("wait", func() error { time.Sleep(time.Millisecond); return nil }))
		if err := r.passes(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		return r.report(sysinfo.ReadUsage(), nil, false)
	}
	c := Compare(measure(1), measure(20), 0.05, true)
	if c.Slower != 1 || len(c.Rows) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestFailures checks what errors end a run with, and that what was measured before them
// is in the report: a difference from the reference, found before the row was timed, and
// other errors of a check or of the work, which are no difference.
func TestFailures(t *testing.T) {
	full := errors.New("no space left on device")
	calls := 0
	for _, c := range []struct {
		name      string
		benchmark benchmark
		says      string
		mismatch  bool
	}{
		{"wrong", checking("wrong", func() error { return nil }, func() (string, error) {
			return "",
				within("element 3", 1, 2, 0.5)
		}),
			"gemm/wrong/.*/threads=1: element 3 is 1, the reference has 2", true},
		{"unreadable", checking("unreadable", func() error { return nil }, func() (string, error) { return "", full }),
			"bench: gemm/unreadable/.*: no space left on device", false},
		{"failing", working("failing", func() error {
			if calls++; calls > 100 {
				return full
			}
			return nil
		}), "bench: gemm/failing/.*: no space left on device", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := made(t, small(), working("before", func() error { return nil }), c.benchmark)
			err := r.passes(context.Background(), nil)
			if err == nil || errors.As(err, new(*ErrMismatch)) != c.mismatch ||
				!regexp.MustCompile("^"+c.says).MatchString(err.Error()) {
				t.Fatalf("got %v", err)
			}
			rep := r.report(sysinfo.ReadUsage(), err, true)
			if len(rep.Results) == 0 || rep.Results[0].Name != "before" || !rep.Partial || rep.Error != err.Error() {
				t.Errorf("reported %d rows, partial %v, error %q", len(rep.Results), rep.Partial, rep.Error)
			}
			for _, row := range rep.Results {
				if row.Name == "wrong" {
					t.Error("a wrong result was timed")
				}
			}
		})
	}
}

// TestMemory checks that rows are opened together only as far as they fit into the
// memory, and left out, with a warning, where one alone does not.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		free           float64
		together, rows int
	}{{1e12, 3, 3}, {2.9e9, 2, 3}, {1.4e9, 1, 3}, {1.3e9, 0, 0}} {
		held, most := 0, 0
		g := benchmark{suite: "gemm", name: "large", items: 1, memory: 1e9}
		g.setup = func() (setupFunc, error) {
			return func(*engine.Engine) (*fixture, error) {
				held++
				most = max(most, held)
				return &fixture{op: func() error { return nil },
					check: func() (string, error) { return "nothing", nil }, close: func() { held-- }}, nil
			}, nil
		}
		s := small()
		r := made(t, s, g)
		for range 2 {
			more := *r.rows[0]
			r.rows = append(r.rows, &more)
		}
		r.free = func() float64 { return c.free - 1e9*float64(held) }
		if err := r.passes(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		rep := r.report(sysinfo.ReadUsage(), nil, false)
		warned := slices.ContainsFunc(rep.Warnings, func(w string) bool {
			return strings.Contains(w,
				"left out: it needs 953.7 MiB")
		})
		if most != c.together || len(rep.Results) != c.rows || warned != (c.rows == 0) {
			t.Errorf("%v bytes: %d open at a time, %d rows, warnings %q", c.free, most, len(rep.Results), rep.Warnings)
		}
	}
}

// TestLateShortage takes the memory away after the first pass, and gives it back at the end: the
// row keeps its samples, and the warning says from which pass on there are no more, and how
// much memory there was then.
func TestLateShortage(t *testing.T) {
	s := small()
	s.Passes = 3
	g := working("large", func() error { return nil })
	g.memory = 1e9
	r := made(t, s, g)
	free := 4e9
	r.free = func() float64 { return free }
	err := r.passes(context.Background(), func(done, _ int, _ string) {
		if done == 1 {
			free = 1 << 30
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	free = 8e9
	rep := r.report(sysinfo.ReadUsage(), nil, false)
	if len(rep.Results) != 1 || rep.Results[0].Repetitions != s.Repetitions {
		t.Fatalf("%d rows", len(rep.Results))
	}
	want := "left out from pass 2 of 3 on: it needs 953.7 MiB, and rows may use 75% of the 1 GiB available"
	if !slices.ContainsFunc(rep.Warnings, func(w string) bool { return strings.HasSuffix(w, want) }) {
		t.Errorf("warnings %q, want %q", rep.Warnings, want)
	}
}

// TestInterrupted ends a run within the first pass of a group: the rows have the median of
// the peaks of that pass, as all rows have, and are marked, because they have no interval.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r *runner
	r = made(t, small(), working("interrupted", func() error {
		if len(r.rows[0].samples) == 2 {
			cancel()
		}
		return nil
	}))
	if err := r.passes(ctx, nil); err != nil {
		t.Fatal(err)
	}
	rep := r.report(sysinfo.ReadUsage(), nil, true)
	if len(rep.Results) != 1 {
		t.Fatalf("%d rows", len(rep.Results))
	}
	row := rep.Results[0]
	if row.Repetitions != 3 || slices.Min(row.Peaks) != slices.Max(row.Peaks) || r.rows[0].around.Seconds == 0 &&
		sysinfo.ReadUsage().OK {
		t.Errorf("%d repetitions, peaks %v, watched for %v s", row.Repetitions, row.Peaks, r.rows[0].around.Seconds)
	}
	if !slices.ContainsFunc(row.Marks, func(m string) bool {
		return strings.HasPrefix(m,
			"repeated 3 times, an interval needs 6")
	}) {
		t.Errorf("marks %q", row.Marks)
	}
}

// TestPercentClock compares the peak with the clock of as many cores as there are: two
// threads of one core share its FMA units.
func TestPercentClock(t *testing.T) {
	for _, c := range []struct {
		tier           engine.Tier
		threads, cores int
		flopACycle     float64 // measured
		want           float64
	}{{engine.AVX2, 2, 4, 64, 100}, {engine.AVX2, 8, 4, 128, 100}, {engine.AVX512, 1, 1, 32, 50},
		{engine.NEON, 1, 1, 16, 0}} {
		r := &runner{plan: &plan{memory: hierarchy{cores: c.cores}}, configs: []*config{
			{tier: c.tier, threads: c.threads, peaks: []float64{c.flopACycle * 3e9, c.flopACycle * 3e9, 1},
				clocks: []float64{3e9, 3e9, 0}},
		}}
		if got := r.report(sysinfo.Usage{}, nil, false).Peak[0].PercentClock; !(math.Abs(got-c.want) <= 1e-9) {
			t.Errorf("%+v: %v%%", c, got)
		}
	}
}

// TestClocks: a clock that was interrupted is neither the lowest nor the highest.
func TestClocks(t *testing.T) {
	hz := []float64{3e9, 3.1e9, 1e9, 3e9, 3.2e9, 3e9, 3e9, 3e9, 3e9, 3.1e9, 3e9, 9e9}
	want := Clocks{3e9, 3e9, 3.2e9}
	if c := clocksOf(hz); c != want || hz[2] != 1e9 {
		t.Errorf("%v of %v, expected %v", c, hz, want)
	}
	r := (&runner{plan: &plan{}, clocks: hz}).report(sysinfo.Usage{}, nil, false)
	if r.Clock != want {
		t.Errorf("reported %v, expected %v", r.Clock, want)
	}
	if c := clocksOf([]float64{2e9}); c != (Clocks{2e9, 2e9, 2e9}) {
		t.Errorf("%v of one", c)
	}
}

// TestCancelled checks that a cancelled run returns what it has, marked as partial.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := small("gemm")
	s.Threads = []int{1}
	r, err := Run(ctx, s, func(done, all int, what string) {
		if what == "gemm" {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial || len(r.Results) == 0 {
		t.Errorf("partial %v, %d rows", r.Partial, len(r.Results))
	}
	for _, row := range r.Results {
		if len(row.Samples) == 0 || row.Suite != "peak" {
			t.Errorf("%s: %d samples", row.ID(), len(row.Samples))
		}
	}
}
