package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

// small are settings that take a second or two.
func small(suites ...string) Settings {
	return Settings{Extent: "quick", Suites: suites, Passes: 2, Repetitions: 3, Least: 1e-4, Threads: []int{1, 2}, Memory: 4 << 20}
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
	if testing.Short() { // such as under emulation
		s = small("gemm", "quad", "reduce")
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
			t.Errorf("%s: %d repetitions of %d calls, %d samples", row.ID(), row.Repetitions, row.Calls, len(row.Samples))
		}
		if shared := slices.ContainsFunc(row.Marks, func(m string) bool { return strings.HasPrefix(m, "a core was shared") }); shared && row.Alone == row.Repetitions {
			t.Errorf("%s: all %d repetitions alone, marks %q", row.ID(), row.Alone, row.Marks)
		}
		if ci := row.SecondsCI; !(row.SecondsMedian > 0 && ci[0] <= row.SecondsMedian && row.SecondsMedian <= ci[1]) {
			t.Errorf("%s: median %v, interval %v", row.ID(), row.SecondsMedian, ci)
		}
		if row.Flop == 0 && row.Bytes == 0 && row.Items == 0 {
			t.Errorf("%s: no unit", row.ID())
		}
		if row.Suite != "peak" && row.Tier != "go" && row.Flop > 0 && !(row.PercentPeak > 0 && row.PercentBound > 0 && row.Bound != "") {
			t.Errorf("%s: %v%% of the peak, %v%% of the bound %q", row.ID(), row.PercentPeak, row.PercentBound, row.Bound)
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
	if c := Compare(r, back, 0.05, false); c.Slower+c.Faster > 0 || c.GeoMean != 1 || len(c.Rows) == 0 || len(c.OnlyOld)+len(c.OnlyNew) > 0 {
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
		p := plan{tiers: []engine.Tier{tier}, threads: []int{1}, memory: hierarchy{1, 32 << 10, 1 << 20, 32 << 20, 1, 1 << 30}}
		for _, g := range append(peakSuite(p.memory), groups(Full)...) {
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
		"gemm/packed/m=128,k=64,n=64":                        128*64 + 64*64 + 128*64,
		"quad/potential/d=64,k=20,batch=128":                 20*64*64 + 128*64 + 128 + 20*128,            // P_i and x, phi and r
		"ascent/full/d=64,k=20,n=30,batch=128":               20*64*64 + 2*128*64,                         // P_i, x before and after
		"backward/forward+backward/d=64,k=20,n=30,batch=128": 20*64*64 + 2*128*64 + 2*20*64*64 + 2*128*64, // and A_i, dA_i, V before and after
		"optim/adam/n=65536":                                 7 * 65536,                                   // p, m, v before and after, g
	}
	for _, g := range groups(Quick) {
		if floats, ok := want[g.id()]; ok && g.bytes != 4*float64(floats) {
			t.Errorf("%s: %v bytes, want %d", g.id(), g.bytes, 4*floats)
		}
		delete(want, g.id())
	}
	if len(want) > 0 {
		t.Errorf("no such rows: %v", want)
	}
}

// TestChecks holds the checks of all suites to what they are for: the result of the work
// passes, and without the work nothing does, neither what memory holds at first nor what
// another row has left.
func TestChecks(t *testing.T) {
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	names := map[string]bool{}
	for _, g := range groups(Usual) {
		name := g.suite + "/" + g.name
		// One of each kind; those that take long are of the same kind as shorter ones.
		if names[name] || !g.wants(engine.Generic) || testing.Short() && max(g.flop, g.cost, g.bytes) > 1e7 {
			continue
		}
		names[name] = true
		t.Run(name, func(t *testing.T) {
			open, err := g.open()
			if err != nil {
				t.Fatal(err)
			}
			passes := func(done bool) (says string, err error) {
				w, err := open(e)
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
func made(t *testing.T, s Settings, all ...group) *runner {
	t.Helper()
	r := &runner{settings: s, free: func() float64 { return 1e12 }, plan: &plan{
		groups: all, tiers: engine.Available()[:1], threads: []int{1}, memory: hierarchy{1, 32 << 10, 1 << 20, 32 << 20, 1, 1 << 30},
	}}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

// working returns a group whose work is op, without anything to compare.
func working(name string, op func() error) group {
	return checking(name, op, func() (string, error) { return "nothing to compare", nil })
}

func checking(name string, op func() error, check func() (string, error)) group {
	return group{suite: "gemm", name: name, flop: 1, open: func() (opener, error) {
		return func(*engine.Engine) (*work, error) { return &work{op: op, check: check}, nil }, nil
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
		name     string
		group    group
		says     string
		mismatch bool
	}{
		{"wrong", checking("wrong", func() error { return nil }, func() (string, error) { return "", within("element 3", 1, 2, 0.5) }),
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
			r := made(t, small(), working("before", func() error { return nil }), c.group)
			err := r.passes(context.Background(), nil)
			var mismatch *ErrMismatch
			if err == nil || errors.As(err, &mismatch) != c.mismatch || !regexp.MustCompile("^"+c.says).MatchString(err.Error()) {
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
		open, most := 0, 0
		g := group{suite: "gemm", name: "large", items: 1, memory: 1e9}
		g.open = func() (opener, error) {
			return func(*engine.Engine) (*work, error) {
				open++
				most = max(most, open)
				return &work{op: func() error { return nil }, check: func() (string, error) { return "nothing", nil }, close: func() { open-- }}, nil
			}, nil
		}
		s := small()
		r := made(t, s, g)
		for range 2 {
			more := *r.rows[0]
			r.rows = append(r.rows, &more)
		}
		r.free = func() float64 { return c.free - 1e9*float64(open) }
		if err := r.passes(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		rep := r.report(sysinfo.ReadUsage(), nil, false)
		warned := slices.ContainsFunc(rep.Warnings, func(w string) bool { return strings.Contains(w, "left out: it needs 953.7 MiB") })
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
	want := "left out from pass 2 of 3 on: it needs 953.7 MiB, and rows may take 75% of the 1 GiB that were available"
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
	if row.Repetitions != 3 || slices.Min(row.Peaks) != slices.Max(row.Peaks) || r.rows[0].around.Seconds == 0 && sysinfo.ReadUsage().OK {
		t.Errorf("%d repetitions, peaks %v, watched for %v s", row.Repetitions, row.Peaks, r.rows[0].around.Seconds)
	}
	if !slices.ContainsFunc(row.Marks, func(m string) bool { return strings.HasPrefix(m, "repeated 3 of the 6 times") }) {
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
	}{{engine.AVX2, 2, 4, 64, 100}, {engine.AVX2, 8, 4, 128, 100}, {engine.AVX512, 1, 1, 32, 50}, {engine.NEON, 1, 1, 16, 0}} {
		r := &runner{plan: &plan{memory: hierarchy{cores: c.cores}}, slots: []*slot{
			{tier: c.tier, threads: c.threads, peaks: []float64{c.flopACycle * 3e9, c.flopACycle * 3e9, 1}, clocks: []float64{3e9, 3e9, 0}},
		}}
		if got := r.report(sysinfo.Usage{}, nil, false).Peak[0].PercentClock; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v%%", c, got)
		}
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

func TestWriteGoBench(t *testing.T) {
	row := Result{Suite: "gemm", Name: "plain nn", Shape: "m=1,k=2,n=3", Tier: "avx2", Threads: 2, Calls: 4, Samples: []float64{1e-6, 2e-6}, Flop: 12000}
	for processors, name := range map[int]string{1: "\nBenchmarkGemm/plain-nn/avx2/m=1,k=2,n=3/threads=2\t", 8: "/threads=2-8\t"} {
		var b bytes.Buffer
		if err := WriteGoBench(&b, &Report{Machine: sysinfo.Machine{ThreadsAllowed: processors}, Results: []Result{row}}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Count(got, name) != 2 || !strings.Contains(got, name+"4\t1000 ns/op\t12 GFLOP/s\n") {
			t.Errorf("%d processors: %s", processors, got)
		}
	}
}

func TestReadReportErrors(t *testing.T) {
	row := `{"suite":"gemm","name":"x","shape":"m=1","tier":"avx2","threads":1,"samples":[1],"peaks":[1]}`
	for _, c := range []struct{ text, says string }{
		{"", "no JSON of dpnbench bench"},
		{"{", "no JSON of dpnbench bench"},
		{"[]", "no JSON of dpnbench bench"},
		{`{"cases": 3}`, "expected the keys format and results"},
		{`{"format": 99, "results": []}`, "format 99, expected 1: written by another version"},
		{`{"format": 1, "results": [{"suite": 3}]}`, "no JSON of dpnbench bench"},
		{`{"format": 1, "results": [{"suite":"gemm"}]}`, "no samples"},
		{`{"format": 1, "results": [{"samples":[1],"peaks":[1]}]}`, `suite "", expected one of peak`},
		{`{"format": 1, "results": [{"suite":"gemm","samples":[1]}]}`, "0 peaks for 1 samples"},
		{`{"format": 1, "results": [` + strings.Replace(row, "[1]", "[-1]", 1) + `]}`, "a sample of -1,"},
		{`{"format": 1, "results": [` + row + "," + row + `]}`, "twice"},
	} {
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadReport(path); err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
}

const smallReport = `{"format": 1, "results": [{"suite":"gemm","name":"x","shape":"m=1","tier":"avx2","threads":1,"samples":[1,2],"peaks":[3,4]}]}`

// readAny reads a file that may hold anything, and does with it what the commands do.
func readAny(t *testing.T, path string, b []byte) {
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadReport(path); err == nil {
		Compare(r, r, 0.05, true)
		if err := WriteGoBench(&bytes.Buffer{}, r); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add([]byte(smallReport))
	f.Fuzz(func(t *testing.T, b []byte) { readAny(t, filepath.Join(t.TempDir(), "run.json"), b) })
}

// TestReadReportOfAnything reads files with other values in other places, at random: where
// FuzzReadReport, which looks for new paths by itself, takes too long to compile.
func TestReadReportOfAnything(t *testing.T) {
	value := regexp.MustCompile(`"[a-z0-9=]*"|\[[0-9,]*\]|[0-9]+`)
	others := []string{"null", "-1", "0", "1e-320", "1e308", "1e999", "9223372036854775807", "[]", "[[]]", "{}", "[null]", "[1e308,1e308,-1e308]", "true", `""`, `"m="`, `"samples"`, `"peaks"`, `"\u0000"`, "", ","}
	path := filepath.Join(t.TempDir(), "run.json")
	rnd := rand.New(rand.NewPCG(1, 1))
	files := 2000
	if testing.Short() {
		files = 200
	}
	for range files {
		text := smallReport
		for range 1 + rnd.IntN(3) {
			if places := value.FindAllStringIndex(text, -1); len(places) > 0 {
				at := places[rnd.IntN(len(places))]
				text = text[:at[0]] + others[rnd.IntN(len(others))] + text[at[1]:]
			}
		}
		readAny(t, path, []byte(text))
		if t.Failed() {
			t.Fatal(text)
		}
	}
}

// TestCompare compares made-up samples: shifted, the same, and few.
func TestCompare(t *testing.T) {
	report := func(peak float64, samples ...float64) *Report {
		r := Result{Suite: "gemm", Name: "x", Shape: "m=1", Tier: "avx2", Threads: 1, Flop: 1, Samples: samples}
		for range samples {
			r.Peaks = append(r.Peaks, peak)
		}
		return &Report{Format: Format, Results: []Result{r}}
	}
	at := func(peak, f float64) *Report {
		var s []float64
		for i := range 20 {
			s = append(s, f*(1+0.01*math.Sin(float64(i))))
		}
		return report(peak, s...)
	}
	scaled := func(f float64) *Report { return at(1, f) }
	for _, c := range []struct {
		name        string
		before, now *Report
		verdict     string
		seconds     bool
	}{
		{"the same", scaled(1), scaled(1), "same", false},
		{"a tenth slower", scaled(1), scaled(1.1), "slower", false},
		{"a tenth faster", scaled(1.1), scaled(1), "faster", false},
		{"significant, but within the threshold", scaled(1), scaled(1.03), "same", false},
		{"too few to tell", report(1, 1, 1), report(1, 2, 2), "same", false},
		{"a lower clock", at(1, 1), at(0.9, 1/0.9), "same", false},
		{"a lower clock, in seconds", at(1, 1), at(0.9, 1/0.9), "slower", true},
	} {
		got := Compare(c.before, c.now, 0.05, c.seconds)
		if len(got.Rows) != 1 || got.Rows[0].Verdict != c.verdict {
			t.Errorf("%s: %+v, want %s", c.name, got.Rows, c.verdict)
		}
	}
}

// TestClocked checks which rows are compared by time multiplied by the peak.
func TestClocked(t *testing.T) {
	for _, c := range []struct {
		row  Result
		want bool
	}{
		{Result{Suite: "gemm", Tier: "avx2", Flop: 1, Bytes: 1, Bound: "peak"}, true},
		{Result{Suite: "gemm", Tier: "avx2", Flop: 1, Bytes: 1, Bound: "L2"}, true},
		{Result{Suite: "reduce", Tier: "avx2", Bytes: 1, Bound: "L1"}, true},
		{Result{Suite: "kmeans", Tier: "avx2", Items: 1}, true},
		{Result{Suite: "gemm", Tier: "avx2", Flop: 1, Bytes: 1, Bound: "memory"}, false},
		{Result{Suite: "gemm", Tier: "avx2", Flop: 1, Bytes: 1, Bound: "L3"}, false},
		{Result{Suite: "reduce", Tier: "avx2", Bytes: 1}, false},
		{Result{Suite: "separation", Tier: "go", Bytes: 1}, false},
		{Result{Suite: "separation", Tier: "go", Items: 1}, false},
		{Result{Suite: "load", Tier: "go", Bytes: 1}, false},
	} {
		if got := c.row.clocked(); got != c.want {
			t.Errorf("%+v: %v", c.row, got)
		}
	}
}

// TestDisturbedPeak checks that a row keeps its time where the peak beside it, which other
// processes halved, would make it twice as slow.
func TestDisturbedPeak(t *testing.T) {
	report := func(peak float64, marks []string) *Report {
		r := &Report{Results: []Result{{Suite: "peak", Name: "fma", Tier: "avx2", Threads: 2, Marks: marks}}}
		row := Result{Suite: "gemm", Name: "x", Shape: "-", Tier: "avx2", Threads: 2, Flop: 1, Bytes: 1, Bound: "peak"}
		for i := range 12 {
			row.Samples, row.Peaks = append(row.Samples, 1+0.001*float64(i)), append(row.Peaks, peak)
		}
		r.Results = append(r.Results, row)
		return r
	}
	quiet := report(400, nil)
	if c := Compare(report(200, []string{"other processes"}), quiet, 0.05, false); c.Slower != 0 || c.Rows[0].Scaled || len(c.Warnings) != 1 {
		t.Errorf("the old peak was disturbed: %+v", c)
	}
	if c := Compare(report(200, nil), quiet, 0.05, false); c.Slower != 1 || !c.Rows[0].Scaled {
		t.Errorf("the clock was half as fast: %+v", c)
	}
}

// TestFewest checks that two runs of every extent can tell even rows of the fewest
// repetitions apart, that the rank test needs so many, and that a comparison of fewer says so.
func TestFewest(t *testing.T) {
	compare := func(n int) *Comparison {
		report := func(f float64) *Report {
			r := Result{Suite: "load", Name: "x", Shape: "-", Tier: "go", Threads: 1}
			for i := range n {
				r.Samples, r.Peaks = append(r.Samples, f+0.01*float64(i)), append(r.Peaks, 1)
			}
			return &Report{Format: Format, Results: []Result{r}}
		}
		return Compare(report(1), report(10), 0.05, false)
	}
	for n := 1; n <= 12; n++ {
		c := compare(n)
		found, warned := c.Slower == 1, len(c.Warnings) > 0
		if p := leastP(n, n); found == warned || math.Abs(c.Rows[0].P-p) > 1e-9 {
			t.Errorf("%d samples: p %v, expected %v, found %v, warnings %q", n, c.Rows[0].P, p, found, c.Warnings)
		}
	}
	for _, x := range []Extent{Quick, Usual, Full} {
		if c := compare(defaults[x].passes * fewest); c.Slower != 1 || len(c.Warnings) > 0 {
			t.Errorf("%v: a row that takes long cannot be slower: %+v", x, c)
		}
	}
}

func TestSettingsErrors(t *testing.T) {
	for _, c := range []struct {
		s    Settings
		says string
	}{
		{Settings{Extent: "long"}, `extent "long"`},
		{Settings{Extent: "quick", Filter: "("}, `filter "("`},
		{Settings{Extent: "quick", Filter: "nothing has this name"}, `filter "nothing has this name": no row of the suites peak`},
		{Settings{Extent: "full", Tiers: []string{"generic"}, Suites: []string{"gemm"}, Filter: "gemm/packed/m=1024"}, `filter "gemm/packed/m=1024": no row of the suites gemm matches on tier generic`},
		{Settings{Extent: "quick", Suites: []string{"gemm"}, Filter: "fma"}, `filter "fma": no row of the suites gemm matches`},
		{Settings{Extent: "quick", Suites: []string{"gemms"}}, `suite "gemms": expected one of peak, gemm`},
	} {
		if err := c.s.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says[:6]) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.says)
		}
	}
}

func TestOutliers(t *testing.T) {
	if n := outliers([]float64{1, 1.01, 1.02, 0.99, 1, 1.01, 5}); n != 1 {
		t.Errorf("%d outliers, want 1", n)
	}
	if n := outliers([]float64{1, 1, 1}); n != 0 {
		t.Errorf("%d outliers of equal numbers", n)
	}
}
