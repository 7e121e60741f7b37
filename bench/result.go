package bench

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"

	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/stat"
	"dpnbench/internal/sysinfo"
)

// Limits beyond which a row is marked as unreliable.
const (
	mostSteal   = 0.02 // CPUs, taken by other virtual machines
	mostOthers  = 0.1  // CPUs, used by other processes
	mostSpread  = 0.05 // relative change of the clock
	widest      = 0.1  // half-width of the interval, relative to the median
	restingLoad = 0.3  // running processes per CPU before the run

	// leastSamples is the smallest number that gives a 95% interval of the median.
	leastSamples = 6
)

func (w *instance) result() Result {
	g := w.g
	res := Result{
		Suite: g.suite, Name: g.name, Shape: g.shape(), Params: g.paramMap(), Tier: w.s.tier.String(),
		Threads: w.s.threads,
		Calls:   w.calls, Repetitions: len(w.samples), Samples: w.samples, Peaks: w.peaks,
		Flop: w.flop, Bytes: w.bytes, Items: g.items,
		Route: w.route, Evaluated: w.evaluated, Active: w.active, Bounds: w.bounds, Check: w.check, Marks: []string{},
	}
	if g.host {
		res.Tier = hostTier
	}
	if len(w.samples) == 0 {
		return res
	}
	sum := summary(sample(w.samples))
	res.SecondsMedian, res.SecondsCI = sum.Center, finite(sum, w.samples)
	res.Outliers = outliers(w.samples)
	t := res.SecondsMedian
	res.GFlops, res.GBPerS, res.SamplesPerSecond = w.flop/t/1e9, w.bytes/t/1e9, g.items/t
	if !g.host {
		res.PercentPeak = 100 * w.flop / stat.Median(res.atPeak())
	}
	return res
}

// finite is the interval of a summary. Fewer than leastSamples give no finite one: it is then
// the range of the samples, and the row is marked.
func finite(s benchmath.Summary, samples []float64) [2]float64 {
	return [2]float64{max(s.Lo, slices.Min(samples)), min(s.Hi, slices.Max(samples))}
}

// atPeak returns the samples in units of the peak, as the flop that the FMA units could have
// done in that time: this cancels most of the changes of the clock.
func (r *Result) atPeak() []float64 {
	s := make([]float64, len(r.Samples))
	for i, t := range r.Samples {
		s[i] = t * r.Peaks[i]
	}
	return s
}

// outliers counts values more than 1.5 interquartile ranges from the quartiles.
func outliers(x []float64) int {
	s := slices.Sorted(slices.Values(x))
	q1, q3 := s[len(s)/4], s[(3*len(s)-1)/4]
	n := 0
	for _, v := range s {
		if v < q1-1.5*(q3-q1) || v > q3+1.5*(q3-q1) {
			n++
		}
	}
	return n
}

// clocksOf sums up frequencies.
func clocksOf(hz []float64) Clocks {
	c := slices.Sorted(slices.Values(hz))
	return Clocks{stat.Median(c), c[len(c)/10], c[len(c)-1-len(c)/10]}
}

// report returns what was measured; err is the error that ended the run, if any.
func (r *runner) report(began sysinfo.Usage, err error, partial bool) *Report {
	rep := &Report{
		Format: Format, Version: sysinfo.Version(), Machine: r.machine, Settings: r.settings,
		Start: r.start, Seconds: time.Since(r.start).Seconds(), Partial: partial,
		Warnings: []string{}, Peak: []Peaks{}, Bandwidth: []Bandwidth{}, Results: []Result{},
	}
	if err != nil {
		rep.Error = err.Error()
	}
	if len(r.clocks) > 0 {
		rep.Clock = clocksOf(r.clocks)
	}
	for _, s := range r.configs {
		if len(s.peaks) == 0 {
			continue
		}
		p := Peaks{Tier: s.tier.String(), Threads: s.threads, GFlops: stat.Median(s.peaks) / 1e9}
		if per := flopACycle(p.Tier); per > 0 {
			var shares []float64
			for i, peak := range s.peaks {
				if s.clocks[i] > 0 { // hyperthreads share the FMA units of a core
					shares = append(shares, peak/(s.clocks[i]*per*float64(min(s.threads, r.plan.memory.cores))))
				}
			}
			if len(shares) > 0 {
				p.PercentClock = 100 * stat.Median(shares)
			}
		}
		rep.Peak = append(rep.Peak, p)
	}
	marked := 0
	for _, w := range r.rows {
		if len(w.samples) == 0 {
			continue
		}
		res := w.result()
		res.mark(w, min(r.machine.CPUs, r.machine.ThreadsAllowed))
		res.setAlone(w.rates, w.limits, r.ownRate(w.s))
		rep.bandwidth(&res, w.g, r.plan.memory)
		rep.bound(&res, w.g, r.plan.memory)
		res.Phases = quickest(w.phases)
		if len(res.Marks) > 0 {
			marked++
		}
		rep.Results = append(rep.Results, res)
	}
	for i := range rep.Results {
		rep.boundPhases(rep.Results[i].Phases, &rep.Results[i], r.plan.memory)
	}
	rep.warn(r, began, marked)
	return rep
}

// mark records why a row is unreliable.
func (res *Result) mark(w *instance, cpus int) {
	if n := w.s.threads; n > cpus && cpus > 0 && !w.g.serial && res.Suite != "peak" {
		res.Marks = append(res.Marks, fmt.Sprintf("%d threads share %s", n, format.Count(cpus, "CPU")))
	}
	steal, others := w.around.Shares()
	if steal > mostSteal {
		res.Marks = append(res.Marks, fmt.Sprintf("other virtual machines took %.0f%% of a core", 100*steal))
	}
	if others > mostOthers {
		res.Marks = append(res.Marks, fmt.Sprintf("other processes used %.0f%% of a core", 100*others))
	}
	if c, hz := stat.Median(w.clocks), stat.Median(w.s.clocks); c > 0 && hz > 0 && max(c/hz, hz/c) > 1+mostSpread {
		res.Marks = append(res.Marks, fmt.Sprintf("clock %.2f GHz after the peak, in the run %.2f", c/1e9, hz/1e9))
	}
	if wide := Width(res.SecondsMedian, res.SecondsCI); wide > widest {
		res.Marks = append(res.Marks, fmt.Sprintf("unsteady, within %.0f%%", 100*wide))
	}
	if n := res.Repetitions; n < leastSamples {
		res.Marks = append(res.Marks, fmt.Sprintf("repeated %d times, an interval needs %d: the range is given instead",
			n, leastSamples))
	}
}

// bandwidth adds a row that measures a memory level to the table of bandwidths.
func (r *Report) bandwidth(res *Result, g *benchmark, h hierarchy) {
	if g.level == "" {
		return
	}
	at := slices.IndexFunc(r.Bandwidth, func(b Bandwidth) bool {
		return b.Level == g.level && b.Tier == res.Tier && b.Threads == res.Threads
	})
	if at < 0 {
		at = len(r.Bandwidth)
		bytes := h.array(g.level, res.Threads)
		if shared(g.level) {
			bytes *= res.Threads
		}
		r.Bandwidth = append(r.Bandwidth, Bandwidth{Level: g.level, Bytes: bytes, Tier: res.Tier, Threads: res.Threads})
	}
	b := &r.Bandwidth[at]
	switch g.stream {
	case engine.Read:
		b.Read = res.GBPerS
	case engine.Write:
		b.Write = res.GBPerS
	case engine.Triad:
		b.Triad = res.GBPerS
	}
	for i := range r.Peak {
		if p := &r.Peak[i]; g.level == "memory" && p.Threads == b.Threads { // of all tiers
			p.StreamGB = b.Triad
		}
	}
}

// bound compares a row with the roofline (Williams, Waterman and Patterson, 2009): the lower
// of the peak and the read bandwidth of the level that holds operands and results.
func (r *Report) bound(res *Result, g *benchmark, h hierarchy) {
	if res.Suite == "peak" || g.host || res.Bytes == 0 && res.Flop == 0 || len(r.Bandwidth) == 0 {
		return
	}
	perSecond, by := r.roof(res, g.cold, h)
	if res.Bound = by; perSecond > 0 {
		res.PercentBound = 100 / (res.SecondsMedian * perSecond)
	}
}

// roof returns how often a second the work of a row can be done at most, and by what; 0 if that was not measured.
func (r *Report) roof(res *Result, cold bool, h hierarchy) (perSecond float64, by string) {
	for _, p := range r.Peak {
		if p.Tier == res.Tier && p.Threads == res.Threads && res.Flop > 0 {
			perSecond, by = p.GFlops*1e9/res.Flop, "peak"
		}
	}
	if l := r.holds(res, cold, h); l != nil && res.Bytes > 0 {
		if v := l.Read * 1e9 / res.Bytes; perSecond == 0 || v < perSecond {
			perSecond, by = v, l.Level
		}
	}
	return perSecond, by
}

// holds returns the nearest level whose caches, over all threads of the row, hold its operands
// and results. For cold work that is not L1 or L2.
func (r *Report) holds(res *Result, cold bool, h hierarchy) *Bandwidth {
	var last *Bandwidth
	for i := range r.Bandwidth {
		b := &r.Bandwidth[i]
		own := !shared(b.Level)
		if b.Threads != res.Threads || own && b.Tier != res.Tier {
			continue
		}
		last = b
		if res.Bytes <= float64(h.capacity(b.Level, b.Threads)) && !(own && cold) {
			return b
		}
	}
	return last
}

// Disturbances says what others took of the CPUs between two readings, during what is measured, if that is more than a
// measurement stands.
func Disturbances(from, to sysinfo.Usage, during string) (out []string) {
	var d sysinfo.Interference
	d.Add(from, to)
	steal, others := d.Shares()
	if steal > mostSteal {
		out = append(out, fmt.Sprintf("other virtual machines took %.1f%% of a core during %s", 100*steal, during))
	}
	if others > mostOthers {
		out = append(out, fmt.Sprintf("other processes used %.0f%% of a core during %s", 100*others, during))
	}
	return out
}

// warn records what makes the figures of the whole run unreliable.
func (r *Report) warn(run *runner, began sysinfo.Usage, marked int) {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if m := &r.Machine; m.Load > restingLoad*float64(m.CPUs) {
		warn("the load average before the run was %.2f: something else may have been running", m.Load)
	}
	r.Warnings = append(r.Warnings, Disturbances(began, sysinfo.ReadUsage(), "the run")...)
	for _, s := range run.configs {
		if len(s.clocks) == 0 {
			continue
		}
		if c := clocksOf(s.clocks); c.Lowest > 0 && c.Most/c.Lowest > 1+mostSpread {
			warn("the clock of %v on %s changed during the run, between %.2f and %.2f GHz", s.tier,
				format.Count(s.threads, "thread"), c.Lowest/1e9, c.Most/1e9)
		}
	}
	if r.Settings.Slow > 1 {
		warn("every call did its work %d times, on purpose", r.Settings.Slow)
	}
	for _, w := range run.rows {
		if w.large != nil {
			when := ""
			if w.large.pass > 0 {
				when = fmt.Sprintf(" from pass %d of %d on", w.large.pass+1, r.Settings.Passes)
			}
			warn("%s was left out%s: it needs %s, and rows may use %.0f%% of the %s available",
				w.id(), when, FormatBytes(int(w.g.footprint())), 100*mostMemory, FormatBytes(int(w.large.free)))
		}
	}
	if marked > 0 {
		warn("%d of %d rows are marked as unreliable", marked, len(r.Results))
	}
}
