package bench

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/sysinfo"
)

func TestWriteGoBench(t *testing.T) {
	row := Result{Suite: "gemm", Name: "plain nn", Shape: "m=1,k=2,n=3", Tier: "avx2", Threads: 2, Calls: 4,
		Samples: []float64{1e-6, 2e-6}, Flop: 12000}
	for processors, name := range map[int]string{1: "\nBenchmarkGemm/plain-nn/avx2/m=1,k=2,n=3/threads=2\t",
		8: "/threads=2-8\t"} {
		var b bytes.Buffer
		if err := WriteGoBench(&b, &Report{Machine: sysinfo.Machine{ThreadsAllowed: processors},
			Results: []Result{row}}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Count(got, name) != 2 ||
			!strings.Contains(got, name+"4\t1000 ns/op\t12 GFLOP/s\n") {
			t.Errorf("%d processors: %s", processors, got)
		}
	}
}

func TestReadReportErrors(t *testing.T) {
	row := `{"suite":"gemm","name":"x","shape":"m=1","tier":"avx2","threads":1,"samples":[1],"peaks":[1]}`
	for _, c := range []struct{ text, says string }{
		{"", "no JSON of dpnbench bench"},
		{"{", "no JSON of dpnbench bench"},
		{"[]", "no JSON of dpnbench bench: expected an object with the keys format and results"},
		{`{"format": "1"}`, "no JSON of dpnbench bench: format: got string in JSON, expected a whole number"},
		{`{"cases": 3}`, "expected an object with the keys format and results"},
		{`{"format": 99, "results": []}`, "format 99, expected 1: written by another version"},
		{`{"format": 1, "results": [{"suite": 3}]}`, "suite: got number in JSON, expected a string"},
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
		if _, err := ReadReport(path); err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.text, err, c.says)
		}
	}
}

const smallReport = `{"format": 1, "results": [
	{"suite":"gemm","name":"x","shape":"m=1","tier":"avx2","threads":1,"samples":[1,2],"peaks":[3,4]}]}`

// readAny reads a file that may hold anything, and does with it what the commands do.
func readAny(t *testing.T, b []byte) {
	var r *Report
	var err error
	fuzzlimit.Check(t, 64*len(b)+1<<20, func() { r, err = parseReport("run.json", b) })
	if err == nil {
		Compare(r, r, 0.05, true)
		if err := WriteGoBench(&bytes.Buffer{}, r); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzReadReport(f *testing.F) {
	f.Add([]byte(smallReport))
	f.Fuzz(func(t *testing.T, b []byte) { readAny(t, b) })
}

// TestReadReportOfAnything reads files with other values in other places, at random: where
// FuzzReadReport, which looks for new paths by itself, takes too long to compile.
func TestReadReportOfAnything(t *testing.T) {
	value := regexp.MustCompile(`"[a-z0-9=]*"|\[[0-9,]*\]|[0-9]+`)
	others := []string{"null", "-1", "0", "1e-320", "1e308", "1e999", "9223372036854775807", "[]", "[[]]", "{}",
		"[null]", "[1e308,1e308,-1e308]", "true", `""`, `"m="`, `"samples"`, `"peaks"`, `"\u0000"`, "", ","}
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
		readAny(t, []byte(text))
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
		{"too few for a verdict", report(1, 1, 1), report(1, 2, 2), "unclear", false},
		{"faster, but too few for a verdict", report(1, 2, 2), report(1, 1, 1), "unclear", false},
		{"few, and within the threshold", report(1, 1, 1), report(1, 1.03, 1.03), "same", false},
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
	if c := Compare(report(200, []string{"other processes"}), quiet, 0.05, false); c.Slower != 0 || c.Rows[0].Scaled ||
		len(c.Warnings) != 1 {
		t.Errorf("the old peak was disturbed: %+v", c)
	}
	if c := Compare(report(200, nil), quiet, 0.05, false); c.Slower != 1 || !c.Rows[0].Scaled {
		t.Errorf("the clock was half as fast: %+v", c)
	}
}

// TestFewest checks that two runs of every extent have enough repetitions in every row for the rank
// test to be significant, that this number is the smallest possible, and that a comparison of fewer
// says so.
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
		if p := leastP(n, n); found == warned || !(math.Abs(c.Rows[0].P-p) <= 1e-9) {
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
		{Settings{Extent: "quick", Filter: "nothing has this name"},
			`filter "nothing has this name": no row of the suites peak`},
		{Settings{Extent: "full", Tiers: []string{"generic"}, Suites: []string{"gemm"}, Filter: "gemm/packed/m=1024"},
			`filter "gemm/packed/m=1024": no row of the suites gemm matches on tier generic`},
		{Settings{Extent: "quick", Suites: []string{"gemm"}, Filter: "fma"},
			`filter "fma": no row of the suites gemm matches`},
		{Settings{Extent: "quick", Suites: []string{"gemms"}}, `suite "gemms": expected one of peak, gemm`},
	} {
		if err := c.s.Check(); err == nil || !strings.HasPrefix(err.Error(), c.says[:6]) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.says)
		}
	}
}

// TestDisturbances names what others took, if it was much and the time between the readings is long enough to tell.
func TestDisturbances(t *testing.T) {
	begun := time.Unix(1000, 0)
	from := sysinfo.Usage{At: begun, OK: true}
	for _, c := range []struct {
		seconds, steal, busy float64 // 1 s of busy is this process
		want                 string
	}{{10, 0, 2, ""}, {10, 0.5, 2, "other virtual machines took 5.0% of a core during it"},
		{10, 0, 9.5, "other processes used 85% of a core during it"}, {0.1, 1, 9, ""}} {
		to := sysinfo.Usage{At: begun.Add(time.Duration(c.seconds * float64(time.Second))), Steal: c.steal,
			Busy: c.busy, Own: 1, OK: true}
		if got := strings.Join(Disturbances(from, to, "it"), "; "); got != c.want {
			t.Errorf("%+v: %q", c, got)
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

// TestMarkThreads marks rows with more threads than there are CPUs.
func TestMarkThreads(t *testing.T) {
	for _, c := range []struct {
		suite         string
		threads, cpus int
		serial        bool
		want          []string
	}{
		{"gemm", 3, 2, false, []string{"3 threads share 2 CPUs"}},
		{"gemm", 2, 1, false, []string{"2 threads share 1 CPU"}},
		{"gemm", 2, 2, false, nil},
		{"gemm", 2, 0, false, nil}, // unknown
		{"load", 3, 2, true, nil},
		{"peak", 3, 2, false, nil}, // compare would take the peak for disturbed
	} {
		r := Result{Suite: c.suite, Repetitions: leastSamples, SecondsMedian: 1, SecondsCI: [2]float64{1, 1}}
		r.mark(&instance{s: &config{threads: c.threads}, g: &benchmark{serial: c.serial}}, c.cpus)
		if !slices.Equal(r.Marks, c.want) {
			t.Errorf("%d threads on %d CPUs: %q, want %q", c.threads, c.cpus, r.Marks, c.want)
		}
	}
}

// TestRoof checks which roof is the lower one, and the share of it: the peak, L1 of the same tier, and, cold, L3.
func TestRoof(t *testing.T) {
	h := hierarchy{1, 32 << 10, 1 << 20, 32 << 20, 1, 1 << 30}
	r := &Report{Peak: []Peaks{{Tier: "avx2", Threads: 1, GFlops: 100}}, Bandwidth: []Bandwidth{
		{Level: "L1", Tier: "avx512", Threads: 1, Read: 800}, {Level: "L1", Tier: "avx2", Threads: 1, Read: 400},
		{Level: "L3", Tier: "avx512", Threads: 1, Read: 50}}}
	for _, c := range []struct {
		flop, seconds float64
		cold          bool
		by            string
	}{{1e6, 2e-5, false, "peak"}, {1e3, 5e-8, false, "L1"}, {1e3, 4e-7, true, "L3"}} {
		res := Result{Suite: "gemm", Tier: "avx2", Threads: 1, Flop: c.flop, Bytes: 1e4, SecondsMedian: c.seconds}
		r.bound(&res, &benchmark{cold: c.cold}, h)
		if res.Bound != c.by || !(math.Abs(res.PercentBound-50) < 1e-9) {
			t.Errorf("%+v: %v%% of %q", c, res.PercentBound, res.Bound)
		}
	}
}

// TestPercentPeakOfPairs halves the clock within a row: each sample counts with its own peak.
func TestPercentPeakOfPairs(t *testing.T) {
	w := &instance{g: &benchmark{suite: "gemm"}, s: &config{threads: 1}, flop: 10,
		samples: []float64{1, 1, 1, 2, 2}, peaks: []float64{20, 10, 10, 10, 10}}
	if r := w.result(); !(math.Abs(r.PercentPeak-50) < 1e-9) {
		t.Errorf("%v%% of the peak, want 50", r.PercentPeak)
	}
}

// TestOutliersBothSides counts low outliers, too.
func TestOutliersBothSides(t *testing.T) {
	if n := outliers([]float64{0.1, 1, 1.01, 1.02, 0.99, 1, 1.01, 5}); n != 2 {
		t.Errorf("%d outliers, want 2", n)
	}
}

// TestCompareSums counts a row that is twice as slow and one four times as fast; a new row is in no mean.
func TestCompareSums(t *testing.T) {
	report := func(slow, fast float64, more ...Result) *Report {
		r := &Report{Format: Format, Results: more}
		for name, f := range map[string]float64{"a": slow, "b": fast} {
			row := Result{Suite: "gemm", Name: name, Shape: "-", Tier: "avx2", Threads: 1, Items: 1}
			for i := range 12 {
				row.Samples, row.Peaks = append(row.Samples, f*(1+0.001*float64(i))), append(row.Peaks, 1)
			}
			r.Results = append(r.Results, row)
		}
		return r
	}
	other := Result{Suite: "gemm", Name: "new", Shape: "-", Tier: "avx2", Threads: 1, Samples: []float64{1},
		Peaks: []float64{1}}
	c := Compare(report(1, 4), report(2, 1, other), 0.05, false)
	if c.Slower != 1 || c.Faster != 1 || len(c.OnlyNew) != 1 || !(math.Abs(c.GeoMean-math.Sqrt(0.5)) < 1e-9) {
		t.Errorf("%+v", c)
	}
}
