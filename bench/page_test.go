package bench

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
	"dpnbench/internal/template/templatetest"
	"dpnbench/internal/webtest"
)

// modelled returns a report with the rows of an extent and times of a simple model of a
// machine: caches and memory of some bandwidth, tiers of some peak, costs of every call.
func modelled(x Extent, tiers []string, threads []int) *Report {
	random := rand.New(rand.NewPCG(1, 2))
	r := &Report{
		Format: Format, Start: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), Seconds: 754.3,
		Machine: sysinfo.Machine{
			Brand: "AMD EPYC 9654 96-Core Processor", Micro: "Zen 4", Arch: "amd64", OS: "linux", GoVersion: "go1.26.8",
			Cores: 4, LogicalCores: 8, CPUs: 8, ThreadsAllowed: 4,
			Kernel: "6.1.0", HugePages: "madvise", CgroupCPUs: -1, Load: 0.11,
			Caches:  sysinfo.Caches{L1D: 32 << 10, L2: 1 << 20, L3: 32 << 20, Line: 64},
			Virtual: true,
			Tiers: []sysinfo.Tier{
				{Name: "avx512", Available: true}, {Name: "avx2", Available: true},
				{Name: "neon", Reason: "this is an amd64 machine"}, {Name: "generic", Available: true},
			},
		},
		Settings: Settings{Extent: x.String(), Suites: Suites(), Tiers: tiers, Threads: threads, Passes: 4,
			Repetitions: 5, MinTime: 0.01},
		Clock: Clocks{3.704e9, 3.687e9, 3.711e9},
	}
	speed := map[string]float64{"avx512": 117.2, "avx2": 115.9, "neon": 60, "generic": 3.1}
	all := benchmarks(x)
	fma := benchmark{suite: "peak", name: "fma"}
	for _, tier := range tiers {
		for _, n := range threads {
			peak := speed[tier] * float64(n) * (1 - 0.01*float64(n))
			clock := 100 * peak / (speed["avx512"] * 1.012 * float64(n))
			if tier == "generic" {
				clock = 0
			}
			r.Peak = append(r.Peak, Peaks{tier, n, peak, clock, min(24*float64(n), 55)})
			levels := []Bandwidth{
				{"L1", 16 << 10, tier, n, 2.0 * speed[tier] * float64(n), 1.0 * speed[tier] * float64(n),
					1.6 * speed[tier] * float64(n)},
				{"L2", 512 << 10, tier, n, 1.05 * speed[tier] * float64(n), 0.6 * speed[tier] * float64(n),
					0.8 * speed[tier] * float64(n)},
				{"L3", 16 << 20, tier, n, min(60, speed[tier]) * float64(n), min(31, speed[tier]) * float64(n),
					min(40, speed[tier]) * float64(n)},
				{"memory", 1 << 30, tier, n, min(28, speed[tier]) * math.Sqrt(float64(n)), 17,
					min(24, speed[tier]) * math.Sqrt(float64(n))},
			}
			r.Bandwidth = append(r.Bandwidth, levels...)
			for _, g := range append([]benchmark{fma}, all...) {
				res := Result{Suite: g.suite, Name: g.name, Shape: g.shape(), Params: g.paramMap(), Tier: tier,
					Threads: n,
					Calls:   12, Repetitions: 20, Flop: g.flop, Bytes: g.bytes, Items: g.items,
					Check: "256 elements within the " +
						"bound of float64"}
				if parsed, err := engine.ParseTier(tier); err != nil || !g.wants(parsed) || g.serial && n > 1 {
					continue
				}
				if g.host {
					if tier != tiers[0] {
						continue
					}
					res.Tier = "go"
				}
				if g.name == "fma" {
					res.Flop = 1e6
				}
				level := levels[3]
				for _, l := range slices.Backward(levels[:3]) {
					if res.Bytes < float64(2*l.Bytes*n) {
						level = l
					}
				}
				t := max((res.Flop+g.cost)/(0.97*peak*1e9), 1.3*res.Bytes/(level.Read*1e9)) + 1e-7 + 2e-6*float64(n-1)
				if g.suite == "gemm" && g.name != "packed" {
					t *= 1.08
				}
				t *= 1 + 0.02*random.Float64()
				wide := 0.002 + 0.01*random.Float64()
				if random.IntN(40) == 0 {
					wide = 0.14
					res.Marks = []string{"unsteady, within 14%", "other processes used 17% of a core"}
				}
				if g.suite == "train" && x == Full {
					res.Phases = []Phase{{Phase: "forward 0 linear", Seconds: 0.3 * t, BoundSeconds: 0.2 * t},
						{Phase: "ascent", Seconds: 0.6 * t, Flop: 1e9, BoundSeconds: 0.5 * t, Bound: "peak"},
						{Phase: "other", Seconds: 0.1 * t, Waiting: 0.05 * t}}
				}
				res.SecondsMedian, res.SecondsCI, res.Samples = t, [2]float64{t * (1 - wide), t * (1 + wide)},
					[]float64{t}
				res.GFlops, res.GBPerS, res.SamplesPerSecond = res.Flop/t/1e9, res.Bytes/t/1e9, g.items/t
				if !g.host {
					res.PercentPeak = 100 * res.GFlops / peak
					bound := max(res.Flop/(peak*1e9), res.Bytes/(level.Read*1e9))
					res.PercentBound, res.Bound = 100*bound/t, level.Level
					if bound == res.Flop/(peak*1e9) {
						res.Bound = "peak"
					}
				}
				r.Results = append(r.Results, res)
			}
		}
	}
	return r
}

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := WritePage(&b, r); err != nil {
		t.Fatal(err)
	}
	if file := os.Getenv("DPN_TEST_PAGE"); file != "" { // to look at
		if err := os.WriteFile(strings.ReplaceAll(file, "*", strings.ReplaceAll(t.Name(), "/", "-")), b.Bytes(),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	webtest.Check(t, b.String())
	p := page{Report: r, Command: r.Settings.command()}
	p.order()
	for _, id := range []string{"limits", "rows", "reading"} {
		markup, err := pageTemplates.Execute(id, &p)
		if err != nil {
			t.Fatal(err)
		}
		templatetest.Equal(t, pageMarkup, id, pageFuncs, &p, markup)
	}
	return b.String()
}

var pageSections = regexp.MustCompile(`<section id="([^"]*)"`)

func sectionsOf(page string) (ids []string) {
	for _, m := range pageSections.FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: draws many pages, ten times as long with the race detector")
	}
	r := modelled(Full, []string{"avx512", "avx2", "generic"}, []int{1, 2, 4})
	r.Warnings = []string{"the clock changed during the run, between 2.90 and 3.71 GHz"}
	page := pageOf(t, r)
	if got, want := sectionsOf(page), []string{"limits", "roofline", "threads", "phases", "ascent", "growth", "square",
		"tiers", "rows", "reading"}; !slices.Equal(got, want) {
		t.Errorf("sections %v, expected %v", got, want)
	}
	if got := len(webtest.SVG.FindAllString(page, -1)); got != 2+1+2+4+2+2+2 {
		t.Errorf("%d figures, expected 15", got)
	}
	if got := strings.Count(page, `<th scope="row">`); got != len(r.Results)+len(r.Peak) {
		t.Errorf("%d rows of tables", got)
	}
	for _, want := range []string{
		"AMD EPYC 9654", "Zen 4", "go1.26.8", "2026-03-14 15:09 UTC", "12m34s", "3.70 GHz", "between 2.90 and 3.71 GHz",
		"L1 32 KiB", "generic, not neon", "unsteady, within 14%; other processes used 17% of a core",
		`dpnbench bench <span class="word">--full</span> <span class="word">--threads</span> 1,2,4`,
		"avx512 on 4 threads", "ideal", "k, components", "plain " +
			"nn", "GB/s on 1 thread",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if strings.Contains(page, "Partial run") {
		t.Error("a complete run is called partial")
	}
	if pageOf(t, r) != page {
		t.Error("the same report gives another page")
	}
}

// TestPageNamesTiers holds the names of tiers that the page explains to those that its rows can have: the two that are
// no instruction sets.
func TestPageNamesTiers(t *testing.T) {
	page := pageOf(t, modelled(Quick, []string{"avx2"}, []int{1}))
	_, text, _ := strings.Cut(page, "<dt>tier, threads</dt>")
	text, _, _ = strings.Cut(text, "</dd>")
	var names []string
	for _, quoted := range regexp.MustCompile(`“([^”]*)”`).FindAllStringSubmatch(text, -1) {
		names = append(names, quoted[1])
	}
	if want := []string{engine.Generic.String(), hostTier}; !slices.Equal(names, want) {
		t.Errorf("the page explains the tiers %q, want %q: %s", names, want, text)
	}
}

func TestPageOfParts(t *testing.T) {
	quick := func(edit func(r *Report)) *Report {
		r := modelled(Quick, []string{"avx2"}, []int{1})
		edit(r)
		return r
	}
	only := func(suites ...string) func(r *Report) {
		return func(r *Report) {
			r.Results = slices.DeleteFunc(r.Results,
				func(res Result) bool { return !slices.Contains(suites, res.Suite) })
		}
	}
	for _, c := range []struct {
		name     string
		report   *Report
		sections []string
		want     string
	}{
		{"quick", quick(func(r *Report) {}), []string{"limits", "rows", "reading"}, "Roofline of avx2 on 1 thread"},
		{"nothing", &Report{}, []string{"reading"}, "dpnbench bench"},
		{"interrupted", quick(func(r *Report) { r.Results, r.Partial = nil, true }), []string{"limits", "reading"},
			"Partial run"},
		{"host alone", quick(only("load", "separation")), []string{"limits", "rows", "reading"}, "fuzziness"},
		{"two tiers", modelled(Quick, []string{"avx512", "avx2"}, []int{2}),
			[]string{"limits", "tiers", "rows", "reading"}, "GFLOP/s on 2 threads"},
		{"two thread counts", modelled(Quick, []string{"neon"}, []int{1, 8}), []string{"limits", "roofline", "threads",
			"rows", "reading"}, "Speed-up of neon"},
		{"no limits", quick(func(r *Report) { r.Peak, r.Bandwidth, r.Clock = nil, nil, Clocks{} }),
			[]string{"rows", "reading"}, "packed"},
		{"one repetition", quick(func(r *Report) {
			for i := range r.Results { // too few for an interval
				r.Results[i].SecondsCI = [2]float64{math.Inf(-1), math.Inf(1)}
			}
		}), []string{"limits", "rows", "reading"}, "data-v=\"100000\">–</td>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := pageOf(t, c.report)
			if got := sectionsOf(page); !slices.Equal(got, c.sections) {
				t.Errorf("sections %v, expected %v", got, c.sections)
			}
			if strings.Contains(page, "<figure>\n</figure>") || !strings.Contains(page, c.want) {
				t.Errorf("an empty figure, or no %q", c.want)
			}
		})
	}
}

// TestMarks checks the letters of marks, and that a marked row shows no share above 100% and no interval wider than
// the time.
func TestMarks(t *testing.T) {
	r := modelled(Quick, []string{"avx2"}, []int{1})
	r.Results = r.Results[len(r.Results)-3:]
	for i := range r.Results {
		res := &r.Results[i]
		res.Marks = []string{"unsteady, within 12%"}
		res.PercentPeak, res.PercentPeakAlone, res.PercentBound = 334, 50, 431
		res.SecondsMedian, res.SecondsCI = 1, [2]float64{0.5, 6.5}
	}
	r.Results[1].Marks = append(r.Results[1].Marks, "other processes used 3.5% of a core")
	kinds := MarkKinds(r.Results)
	want := []MarkKind{{"a", "unsteady, within …%", &r.Results[0], "unsteady, within 12%", 3, true},
		{"b", "other processes used …% of a core", &r.Results[1], "other processes used 3.5% of a core", 1, false}}
	if !slices.Equal(kinds, want) {
		t.Errorf("marks %v, want %v", kinds, want)
	}
	if a, b := letters(r.Results[0].Marks, kinds), letters(r.Results[1].Marks, kinds); a != "" || b != "b" {
		t.Errorf("letters %q and %q, want none and b", a, b)
	}
	page := pageOf(t, r)
	for _, bad := range []string{"334.0%", "431.0%", "550.0%", "--v:100.0%"} {
		if strings.Contains(page, bad) {
			t.Errorf("a disturbed row shows %s", bad)
		}
	}
	for _, good := range []string{"&gt; 100%", "50.0%", "All rows: unsteady, within …%", "<b>b</b> (1 row)",
		"All 3 rows are marked"} {
		if !strings.Contains(page, good) {
			t.Errorf("no %q on the page", good)
		}
	}
}

// Whatever a file claims to be a name is text on the page.
func TestPageEscapes(t *testing.T) {
	const evil = `</title></style></svg><script>alert("1")</script><img src=x onerror='alert(1)'>&amp;` + "\x00\xff"
	r := modelled(Quick, []string{"avx512", "avx2"}, []int{1, 2})
	r.Machine.Brand, r.Machine.GoVersion, r.Machine.Kernel = evil, evil, evil
	r.Warnings = []string{evil}
	r.Settings.Filter = "a'b" + evil
	for i := range r.Results {
		res := &r.Results[i]
		res.Shape, res.Check, res.Bound, res.Marks = evil, evil, evil, []string{evil}
	}
	for _, tier := range []*string{&r.Peak[0].Tier, &r.Bandwidth[0].Level} {
		*tier = evil
	}
	page := pageOf(t, r)
	if strings.Contains(page, "<img") || strings.Count(page, "<script>") != 1 ||
		strings.Contains(page, "alert(\"1\")") {
		t.Error("a name became markup")
	}
	if !strings.Contains(page, "&lt;script&gt;") {
		t.Error("the names are not there")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestPageUnwritable(t *testing.T) {
	if err := WritePage(full{}, &Report{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error is %v", err)
	}
}

func TestPageNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{quantity(0), "–"}, {quantity(math.NaN()), "–"}, {quantity(0.01234), "0.0123"}, {quantity(1.2345),
			"1.23"}, {quantity(99.95), "100.0"},
		{quantity(117.2), "117"}, {quantity(9999), "9999"}, {quantity(12345), "12.3 k"}, {quantity(4.2e6),
			"4.20 M"}, {quantity(7e10), "70.0 G"},
		{FormatSeconds(2.5), "2.50 s"}, {FormatSeconds(1e-3), "1.00 ms"}, {FormatSeconds(4.56e-5),
			"45.6 µs"}, {FormatSeconds(1.7e-8), "17.0 ns"}, {FormatSeconds(0), "–"},
		{FormatBytes(48 << 10), "48 KiB"}, {FormatBytes(503316480), "480 MiB"}, {FormatBytes(1 << 30),
			"1 GiB"}, {FormatBytes(-1), "unknown"},
		{strings.Join(FormatCaches(&sysinfo.Machine{Caches: sysinfo.Caches{L1D: 1 << 10, L2: 1 << 20, L3: -1},
			Virtual: true}), ", "), "L1 1 KiB, L2 1 MiB, L3 unknown (the virtual machine does not report it)"},
		{FormatWidth(1, [2]float64{0.99, 1.03}), "±3.0%"}, {FormatWidth(0, [2]float64{}), "–"},
		{FormatWidth(1, [2]float64{0.5, 6.5}), "> 100%"},
		{Settings{Extent: "usual", Repetitions: 5}.command(), "dpnbench bench --json again.json --html again.html"},
		{Settings{Extent: "usual", Repetitions: 3}.command(),
			"dpnbench bench --repetitions 3 --json again.json --html again.html"},
		{Settings{Extent: "quick", Suites: []string{"gemm", "ascent"}, Filter: "d=6|it's", Tiers: []string{"avx2"},
			Threads: []int{1, 2}, Pinned: true, Slow: 2}.command(),
			`dpnbench bench --quick --suite gemm,ascent --filter 'd=6|it'\''s' --tier avx2 --threads 1,2 ` +
				`--pin --slow 2 --json again.json --html again.html`},
		{Settings{Extent: "usual", Suites: []string{"gemm"}, Library: []string{"--library", "./my blas.so", "--symbol",
			"sgemm_"}}.command(), `dpnbench bench --suite gemm --library './my blas.so' --symbol sgemm_ ` +
			`--json again.json --html again.html`},
	} {
		if c.got != c.want {
			t.Errorf("printed %q: want %q", c.got, c.want)
		}
	}
}
