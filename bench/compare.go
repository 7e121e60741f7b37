package bench

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/combin"
)

// The clock of a shared machine may change by 10% within minutes, and all rows with it. A
// repetition therefore counts as its time multiplied by the peak measured in the same pass. It
// counts as its time if the clock is not decisive (Go code without kernels, files, data beyond
// L2), if the peak itself was disturbed, or on request.

// Comparison is the change from one Report to another.
type Comparison struct {
	Old string `json:"old"`
	New string `json:"new"`
	// Versions of the program.
	OldVersion string  `json:"old_version"`
	NewVersion string  `json:"new_version"`
	Threshold  float64 `json:"threshold"` // share
	Seconds    bool    `json:"seconds"`   // compare times without the peak

	Rows    []Change `json:"rows"`
	OnlyOld []string `json:"only_old"` // rows missing in the other report
	OnlyNew []string `json:"only_new"`
	// GeoMean is the geometric mean of the ratios of all common rows.
	GeoMean  float64  `json:"geomean"`
	Slower   int      `json:"slower"` // significant, and beyond the threshold
	Faster   int      `json:"faster"`
	Unclear  int      `json:"unclear"` // beyond the threshold, but not significant
	Warnings []string `json:"warnings"`
}

// Change is a row of both reports.
type Change struct {
	ID     string     `json:"id"`
	Old    float64    `json:"old_seconds"` // median of a call
	OldCI  [2]float64 `json:"old_ci"`
	New    float64    `json:"new_seconds"`
	NewCI  [2]float64 `json:"new_ci"`
	Ratio  float64    `json:"ratio"`  // new over old: above 1 is slower
	Scaled bool       `json:"scaled"` // Ratio and P are of times multiplied by the peak
	P      float64    `json:"p"`      // of the Mann-Whitney test
	Marked bool       `json:"marked"`
	// Verdict is slower or faster (significant, and beyond the threshold), unclear (beyond the threshold, but not
	// significant) or same.
	Verdict string `json:"verdict"`
}

// Significance is the p-value below which a change counts: with hundreds of rows, a larger one
// would find several by chance.
const Significance = 0.001

// Compare compares the rows that two reports share: medians with their intervals, and the
// Mann-Whitney test, of times multiplied by the peak beside them or, if seconds is set, of times.
// A row is slower or faster if the test finds a difference and the medians differ by more than
// the threshold (a share); where the medians do and the test finds nothing, it is unclear. Suite peak
// is left out: it measures the machine.
func Compare(before, after *Report, threshold float64, seconds bool) *Comparison {
	c := &Comparison{OldVersion: before.Version, NewVersion: after.Version, Threshold: threshold, Seconds: seconds,
		Rows: []Change{}, OnlyOld: []string{}, OnlyNew: []string{}, Warnings: []string{}}
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	a, b := &before.Machine, &after.Machine
	if a.Brand != b.Brand || a.Micro != b.Micro {
		warn("two machines: %s and %s", a.Brand, b.Brand)
	}
	if a.GoVersion != b.GoVersion {
		warn("two versions of Go: %s and %s", a.GoVersion, b.GoVersion)
	}
	if hz := before.Clock.Hz; hz > 0 && after.Clock.Hz > 0 && max(hz/after.Clock.Hz, after.Clock.Hz/hz) > 1+mostSpread {
		warn("the clock was %.2f GHz and then %.2f GHz", hz/1e9, after.Clock.Hz/1e9)
	}
	for i, r := range []*Report{before, after} {
		if r.Partial {
			warn("the %s run is partial%s", [...]string{"old", "new"}[i], because(r.Error))
		}
	}
	old := map[string]*Result{}
	for i := range before.Results {
		if r := &before.Results[i]; r.Suite != "peak" {
			old[r.ID()] = r
		}
	}
	var logs float64
	few, unscaled := 0, 0
	disturbed := [2]map[limit]bool{disturbedPeaks(before), disturbedPeaks(after)}
	shared := map[string]bool{}
	for i := range after.Results {
		n := &after.Results[i]
		if n.Suite == "peak" {
			continue
		}
		o := old[n.ID()]
		if o == nil {
			c.OnlyNew = append(c.OnlyNew, n.ID())
			continue
		}
		shared[n.ID()] = true
		plain := seconds
		if at := (limit{n.Tier, n.Threads}); !seconds && (disturbed[0][at] || disturbed[1][at]) && o.clocked() &&
			n.clocked() {
			plain = true
			unscaled++
		}
		row := change(o, n, threshold, plain)
		logs += math.Log(row.Ratio)
		if leastP(len(o.Samples), len(n.Samples)) >= Significance {
			few++
		}
		switch row.Verdict {
		case "slower":
			c.Slower++
		case "faster":
			c.Faster++
		case "unclear":
			c.Unclear++
		}
		c.Rows = append(c.Rows, row)
	}
	for i := range before.Results {
		if r := &before.Results[i]; r.Suite != "peak" && !shared[r.ID()] {
			c.OnlyOld = append(c.OnlyOld, r.ID())
		}
	}
	if few > 0 {
		warn("%d of %d rows have too few repetitions for any difference to be found", few, len(c.Rows))
	}
	if unscaled > 0 {
		warn("%d of %d rows are compared by their times, because the peak beside them was disturbed", unscaled,
			len(c.Rows))
	}
	if len(c.Rows) > 0 {
		c.GeoMean = math.Exp(logs / float64(len(c.Rows)))
	}
	return c
}

// limit names a peak: a tier, and a number of threads.
type limit struct {
	tier    string
	threads int
}

// disturbedPeaks are the peaks of a report whose own rows are marked: another process that
// halves a peak on two threads does not slow down a row that uses one of them.
func disturbedPeaks(r *Report) map[limit]bool {
	out := map[limit]bool{}
	for i := range r.Results {
		if res := &r.Results[i]; res.Suite == "peak" && res.Name == "fma" && len(res.Marks) > 0 {
			out[limit{res.Tier, res.Threads}] = true
		}
	}
	return out
}

func because(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}

// leastP is the smallest p-value of the Mann-Whitney test of a and b samples: that of two runs
// whose samples do not overlap.
func leastP(a, b int) float64 { return min(2/combin.GeneralizedBinomial(float64(a+b), float64(a)), 1) }

func change(o, n *Result, threshold float64, seconds bool) Change {
	so, sn := sample(o.Samples), sample(n.Samples)
	mo, mn := summary(so), summary(sn)
	row := Change{
		ID: n.ID(), Old: mo.Center, OldCI: finite(mo, o.Samples), New: mn.Center, NewCI: finite(mn, n.Samples),
		Scaled: !seconds && o.clocked() && n.clocked(),
		Marked: len(o.Marks)+len(n.Marks) > 0, Verdict: "same",
	}
	if row.Scaled {
		so, sn = sample(o.atPeak()), sample(n.atPeak())
	}
	row.Ratio = summary(sn).Center / summary(so).Center
	row.P = benchmath.AssumeNothing.Compare(so, sn).P
	switch beyond := row.Ratio > 1+threshold || row.Ratio < 1/(1+threshold); {
	case !beyond:
	case !(row.P < Significance):
		row.Verdict = "unclear"
	case row.Ratio > 1:
		row.Verdict = "slower"
	default:
		row.Verdict = "faster"
	}
	return row
}

// clocked reports whether the time of a row depends on the clock of the cores: it uses kernels,
// and is bound by them or by L1 or L2.
func (r *Result) clocked() bool {
	switch r.Bound {
	case "peak", "L1", "L2":
		return r.Tier != hostTier
	case "": // only the number of items is known
		return r.Tier != hostTier && r.Bytes == 0
	}
	return false
}

func sample(s []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(s), &benchmath.DefaultThresholds)
}

func summary(s *benchmath.Sample) benchmath.Summary { return benchmath.AssumeNothing.Summary(s, 0.95) }
