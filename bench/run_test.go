package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
)

func TestMain(m *testing.M) {
	mostStreamed = 4 << 20 // tests need no figures
	os.Exit(m.Run())
}

// small are settings that take a second or two.
func small(suites ...string) Settings {
	return Settings{Extent: "quick", Suites: suites, Passes: 2, Repetitions: 3, Least: 1e-4, Threads: []int{1, 2}}
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
	if len(r.Peak) != 2 || len(r.Bandwidth) != 2*len(levels()) || !(r.Clock.Hz > 1e8) {
		t.Errorf("%d peaks, %d bandwidths, clock %v Hz", len(r.Peak), len(r.Bandwidth), r.Clock.Hz)
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

// TestAllGroups checks the names of all rows of --full: unique, of a known suite, with
// something to count, and within what an engine can be asked for.
func TestAllGroups(t *testing.T) {
	seen, suites := map[string]bool{}, map[string]bool{}
	for _, g := range append(peakSuite(), groups(Full)...) {
		id := g.id()
		if seen[id] {
			t.Errorf("%s twice", id)
		}
		seen[id], suites[g.suite] = true, true
		if g.suite != "peak" && g.flop == 0 && g.bytes == 0 && g.items == 0 {
			t.Errorf("%s has nothing to count", id)
		}
	}
	for _, name := range Suites() {
		if !suites[name] {
			t.Errorf("suite %s is empty", name)
		}
	}
	// Every suite has work small enough for pure Go.
	for _, name := range Suites() {
		found := false
		for _, g := range append(peakSuite(), groups(Full)...) {
			found = found || g.suite == name && g.wants(engine.Generic)
		}
		if !found {
			t.Errorf("suite %s has nothing for pure Go", name)
		}
	}
}

// TestSlow checks that a comparison finds work that is done twenty times. The work waits
// instead of computing, so that a busy machine changes little.
func TestSlow(t *testing.T) {
	measure := func(slow int) *Report {
		s := small()
		s.Slow, s.Repetitions = slow, 18
		r := &runner{settings: s, plan: &plan{tiers: []engine.Tier{engine.Auto}, threads: []int{1}}}
		r.plan.groups = []group{{suite: "gemm", name: "wait", flop: 1, open: func() (opener, error) {
			return func(*engine.Engine) (*work, error) {
				return &work{
					op:    func() error { time.Sleep(time.Millisecond); return nil },
					check: func() (string, error) { return "nothing to compare", nil },
				}, nil
			}, nil
		}}}
		if err := r.open(); err != nil {
			t.Fatal(err)
		}
		defer r.close()
		if err := r.group(context.Background(), &r.plan.groups[0], 0); err != nil {
			t.Fatal(err)
		}
		return r.report(readUsage(), false)
	}
	c := Compare(measure(1), measure(20), 0.05, true)
	if c.Slower != 1 || len(c.Rows) != 1 {
		t.Errorf("%+v", c)
	}
}

// TestMismatch checks that a wrong result ends the run before it is timed.
func TestMismatch(t *testing.T) {
	r := &runner{settings: small(), plan: &plan{tiers: []engine.Tier{engine.Auto}, threads: []int{1}}}
	r.plan.groups = []group{{suite: "gemm", name: "wrong", flop: 1, open: func() (opener, error) {
		return func(*engine.Engine) (*work, error) {
			return &work{op: func() error { return nil }, check: func() (string, error) { return "", within("element 3", 1, 2, 0.5) }}, nil
		}, nil
	}}}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var mismatch *ErrMismatch
	err := r.group(context.Background(), &r.plan.groups[0], 0)
	if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "element 3 is 1, the reference has 2") {
		t.Errorf("got %v", err)
	}
	if len(r.rows[0].samples) > 0 {
		t.Error("a wrong result was timed")
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

func FuzzReadReport(f *testing.F) {
	f.Add([]byte(`{"format": 1, "results": [{"suite":"gemm","name":"x","shape":"m=1","tier":"avx2","threads":1,"samples":[1,2],"peaks":[3,4]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadReport(path); err == nil {
			Compare(r, r, 0.05, true)
			if err := WriteGoBench(&bytes.Buffer{}, r); err != nil {
				t.Fatal(err)
			}
		}
	})
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
		{Settings{Extent: "quick", Suites: []string{"gemms"}}, `suite "gemms": expected one of peak, gemm`},
	} {
		if err := c.s.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says[:6]) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.says)
		}
	}
}

func TestCgroupCPUs(t *testing.T) {
	for s, want := range map[string]float64{"200000 100000": 2, "max 100000": -1, "": -1, "50000 100000": 0.5, "1 0": -1} {
		if got := cgroupCPUs(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
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
