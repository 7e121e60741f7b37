package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/stat"
	"dpnbench/internal/sysinfo"

	"golang.org/x/perf/benchmath"
)

// Run measures what the settings ask for. progress, unless nil, is told how many groups of
// rows are done. When ctx ends, it returns what was measured until then, marked as
// partial, and so it does, beside the error, when something fails. A result that differs
// from the reference is an *ErrMismatch, and ends the run.
func Run(ctx context.Context, s Settings, progress func(done, all int, what string)) (*Report, error) {
	p, err := s.resolve()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	r := &runner{settings: s, plan: p, start: time.Now(), machine: sysinfo.ReadMachine(), free: sysinfo.AvailableMemory}
	defer r.close()
	if err := r.open(); err != nil {
		return nil, err
	}
	if s.Pinned {
		undo, err := engine.PinCaller()
		if err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		defer undo()
	}
	began := sysinfo.ReadUsage()
	err = r.passes(ctx, progress)
	return r.report(began, err, err != nil || ctx.Err() != nil), err
}

// passes times all groups, pass by pass, until ctx ends.
func (r *runner) passes(ctx context.Context, progress func(done, all int, what string)) error {
	done, all := 0, r.settings.Passes*len(r.plan.groups)
	for pass := range r.settings.Passes {
		for i := range r.plan.groups {
			if ctx.Err() != nil {
				return nil
			}
			g := &r.plan.groups[i]
			if progress != nil {
				progress(done, all, g.suite)
			}
			if err := r.group(ctx, g, pass); err != nil {
				return err
			}
			done++
		}
	}
	if progress != nil {
		progress(all, all, "")
	}
	return nil
}

type runner struct {
	settings Settings
	plan     *plan
	start    time.Time
	machine  sysinfo.Machine
	free     func() float64 // bytes of memory that are available
	slots    []*slot
	rows     []*row
	clocks   []float64 // before every group
	flush    int       // bytes that empty the core's own caches
}

// slot is a tier on a number of threads.
type slot struct {
	e       *engine.Engine
	routes  [3]*engine.Engine // e, and others where work asks for a route
	tier    engine.Tier
	threads int
	peaks   []float64 // flop a second
	clocks  []float64 // right after each of them
	rates   []float64 // of additions a cycle, the smaller of those before and after each repetition
}

// row is a group on a slot.
type row struct {
	g      *group
	s      *slot
	e      *engine.Engine // that does the work: with a route of its own it is not that of the slot
	calls  int
	repeat int // repetitions in a pass
	work   *work
	check  string
	large  *shortage // of the memory that it needs, from some pass on; nil: it fits

	samples []float64 // seconds of a call
	peaks   []float64 // flop a second, measured beside it
	clocks  []float64 // right after each peak
	rates   []float64 // independent additions a cycle beside each repetition, as those of the slot
	limits  []float64 // the peak right before each repetition, of which peaks has the medians of passes
	around  sysinfo.Interference
	flop    float64
	bytes   float64

	route                     string // of ascents; empty where it is not asked for
	evaluated, active, bounds *Components
}

// shortage says when a row did not fit into the memory, and how many bytes there were.
type shortage struct {
	pass int
	free float64
}

func (r *runner) open() error {
	for _, t := range r.plan.tiers {
		for _, n := range r.plan.threads {
			s := &slot{tier: t, threads: n}
			r.slots = append(r.slots, s)
			var err error
			if s.e, err = r.engine(s, engine.AutoRoute); err != nil {
				return fmt.Errorf("bench: %w", err)
			}
		}
	}
	r.flush = 4 * max(r.plan.memory.l2, 1<<20)
	for i := range r.plan.groups {
		g := &r.plan.groups[i]
		r.plan.rows(g, func(t engine.Tier, threads int) {
			at := slices.IndexFunc(r.slots, func(s *slot) bool { return s.tier == t && s.threads == threads })
			r.rows = append(r.rows, &row{g: g, s: r.slots[at], flop: g.flop, bytes: g.bytes})
		})
	}
	return nil
}

// engine returns the engine of a slot that takes a route.
func (r *runner) engine(s *slot, route engine.Route) (*engine.Engine, error) {
	if e := s.routes[route]; e != nil {
		return e, nil
	}
	options := []engine.Option{engine.WithTier(s.tier), engine.WithThreads(s.threads), engine.WithRoute(route)}
	if r.settings.Pinned {
		options = append(options, engine.WithPinnedThreads())
	}
	e, err := engine.New(options...)
	s.routes[route] = e
	return e, err
}

func (r *runner) close() {
	for _, s := range r.slots {
		for _, e := range s.routes {
			if e != nil {
				e.Close()
			}
		}
	}
}

func (w *row) id() string {
	res := w.result()
	return res.ID()
}

// failed names the row in an error.
func (w *row) failed(err error) error {
	var mismatch *ErrMismatch
	if errors.As(err, &mismatch) {
		mismatch.Row = w.id()
		return mismatch
	}
	return fmt.Errorf("bench: %s: %w", w.id(), err)
}

// group times the rows of a group: all in turn, or as many at a time as fit into the
// memory.
func (r *runner) group(ctx context.Context, g *group, pass int) error {
	var rows []*row
	for _, w := range r.rows {
		if w.g == g && w.large == nil {
			rows = append(rows, w)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	open, err := g.open()
	if err != nil {
		return rows[0].failed(err)
	}
	for len(rows) > 0 {
		n, free := r.fitting(g, len(rows))
		if n == 0 {
			for _, w := range rows {
				w.large = &shortage{pass, free}
			}
			return nil
		}
		if err := r.together(ctx, g, open, rows[:n], pass); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// mostMemory is the share of the available memory that rows may take.
const mostMemory = 0.75

// fitting returns how many of n rows of a group fit into the memory, and how much of it is
// available.
func (r *runner) fitting(g *group, n int) (fit int, free float64) {
	look := func() {
		free = r.free()
		fit = int(min(mostMemory*free/max(g.footprint(), 1), float64(n)))
	}
	if look(); fit < n {
		for _, s := range r.slots {
			s.e.ReleaseStreams() // kept from pass to pass: to get so much memory takes seconds
		}
		debug.FreeOSMemory() // what other rows have left
		look()
	}
	return max(fit, 0), free
}

// together times rows of a group, repetition by repetition in turn.
func (r *runner) together(ctx context.Context, g *group, open opener, rows []*row, pass int) error {
	defer func() {
		for _, w := range rows {
			if w.work != nil && w.work.close != nil {
				w.work.close()
			}
			w.work = nil
		}
		runtime.GC() // not while others are timed
	}()
	for _, w := range rows {
		if ctx.Err() != nil {
			return nil
		}
		if err := r.prepare(ctx, w, open, pass); err != nil {
			return w.failed(err)
		}
	}
	runtime.GC()
	r.clocks = append(r.clocks, Clock())
	before, began := sysinfo.ReadUsage(), map[*row]int{}
	for _, w := range rows {
		began[w] = len(w.peaks)
	}
	err := r.inTurn(ctx, rows)
	after := sysinfo.ReadUsage()
	for _, w := range rows {
		// One peak a pass: the clock changes slowly, but a peak may be interrupted.
		if here := w.peaks[began[w]:]; len(here) > 0 {
			m := stat.Median(here)
			for i := range here {
				here[i] = m
			}
		}
		w.around.Add(before, after)
	}
	return err
}

// prepare makes the work of a row, does it once, compares the result in the first pass,
// and warms it up.
func (r *runner) prepare(ctx context.Context, w *row, open opener, pass int) (err error) {
	e, err := r.engine(w.s, w.g.route)
	if err != nil {
		return err
	}
	w.e = e
	if w.work, err = open(e); err != nil {
		return err
	}
	began := sysinfo.Now()
	if err := w.work.op(); err != nil {
		return err
	}
	took := (sysinfo.Now() - began).Seconds()
	if pass == 0 {
		if w.check, err = w.work.check(); err != nil {
			return err
		}
		w.active, w.evaluated, w.bounds = w.work.active, w.work.evaluated, w.work.bounds
		if w.work.route != engine.AutoRoute {
			w.route = w.work.route.String()
		}
	}
	w.flop, w.bytes = max(w.flop, w.work.flop), max(w.bytes, w.work.bytes)
	return r.warm(ctx, w, took)
}

// inTurn makes the repetitions of a pass, until ctx ends.
func (r *runner) inTurn(ctx context.Context, rows []*row) error {
	most := 0
	for _, w := range rows {
		most = max(most, w.repeat)
	}
	for rep := range most {
		for i := range rows {
			w := rows[(i+rep)%len(rows)] // no row always comes after the same one
			if rep >= w.repeat {
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			peak := peakOnce(w.s.e, peakSeconds)
			clock := clockOnce()
			w.s.clocks = append(w.s.clocks, clock)
			w.clocks = append(w.clocks, clock)
			w.s.peaks = append(w.s.peaks, peak)
			before := additionsACycle(w.e)
			t, err := r.time(w, w.calls)
			if err != nil {
				return w.failed(err)
			}
			rate := min(before, additionsACycle(w.e))
			w.rates, w.s.rates = append(w.rates, rate), append(w.s.rates, rate)
			w.samples = append(w.samples, t/float64(w.calls))
			w.peaks, w.limits = append(w.peaks, peak), append(w.limits, peak)
		}
	}
	return nil
}

const (
	peakSeconds = 1e-3
	steady      = 0.03 // change of two timings in turn below which a row counts as warm
	mostTimings = 12   // to find that
	warmCall    = 0.1  // seconds of a call from which on that call has warmed up its row
	longRow     = 0.5  // seconds a row may take in a pass beyond its fewest repetitions
	fewest      = 2    // repetitions in a pass
)

// warm calls the work until two timings agree, and finds how many calls make a repetition.
// The call that took so many seconds already is enough for long work.
func (r *runner) warm(ctx context.Context, w *row, seconds float64) error {
	if seconds > warmCall {
		w.ready(r, 1, seconds)
		return nil
	}
	least := max(r.settings.Least, measurable().Seconds())
	calls, last := 1, 0.0
	for range mostTimings {
		t, err := r.time(w, calls)
		if err != nil {
			return err
		}
		switch {
		case t < least && !(w.g.cold && calls >= 8):
			// A tenth more than needed, so that the clock may rise later.
			calls = max(calls+1, int(float64(calls)*min(1.1*least/t, 16)))
		case last > 0 && max(t/last, last/t) < 1+steady || ctx.Err() != nil:
			w.ready(r, calls, t)
			return nil
		default:
			last = t
		}
	}
	w.ready(r, calls, last)
	return nil
}

// ready fixes calls and repetitions, which stay the same through all passes.
func (w *row) ready(r *runner, calls int, seconds float64) {
	if w.calls == 0 {
		w.calls = calls
		w.repeat = r.settings.Repetitions
		if seconds > 0 {
			w.repeat = min(w.repeat, max(fewest, int(longRow/seconds)))
		}
	}
}

// time returns the seconds of so many calls.
func (r *runner) time(w *row, calls int) (float64, error) {
	times := max(r.settings.Slow, 1)
	if w.g.cold {
		var sum time.Duration
		for range calls {
			w.s.e.RunStream(engine.Read, r.flush, 1)
			start := sysinfo.Now()
			for range times {
				if err := w.work.op(); err != nil {
					return 0, err
				}
			}
			sum += sysinfo.Now() - start
		}
		return sum.Seconds(), nil
	}
	start := sysinfo.Now()
	for range calls * times {
		if err := w.work.op(); err != nil {
			return 0, err
		}
	}
	return (sysinfo.Now() - start).Seconds(), nil
}

// Limits beyond which a figure is not to be trusted.
const (
	mostSteal   = 0.02 // of a core, taken by other virtual machines
	mostOthers  = 0.1  // of a core, used by other processes
	mostSpread  = 0.05 // of the clock
	widest      = 0.1  // of the median, to either side
	restingLoad = 0.3  // processes a CPU before the run

	// leastSamples are the fewest that give a 95% interval of the median.
	leastSamples = 6
)

func (w *row) result() Result {
	g := w.g
	res := Result{
		Suite: g.suite, Name: g.name, Shape: g.shape(), Params: g.paramMap(), Tier: w.s.tier.String(), Threads: w.s.threads,
		Calls: w.calls, Repetitions: len(w.samples), Samples: w.samples, Peaks: w.peaks, Flop: w.flop, Bytes: w.bytes, Items: g.items,
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

// finite is the interval of a summary. Fewer than leastSamples give none that is finite;
// it is then from the least to the most, and the row is marked.
func finite(s benchmath.Summary, samples []float64) [2]float64 {
	return [2]float64{max(s.Lo, slices.Min(samples)), min(s.Hi, slices.Max(samples))}
}

// atPeak returns the samples as flop that the FMA units would have done in their time: what
// is left of a change of the clock is little.
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

// report says what was measured, and err, if any, that ended the run.
func (r *runner) report(began sysinfo.Usage, err error, partial bool) *Report {
	rep := &Report{
		Format: Format, Version: sysinfo.Version(), Machine: r.machine, Settings: r.settings, Start: r.start, Seconds: time.Since(r.start).Seconds(), Partial: partial,
		Warnings: []string{}, Peak: []Peaks{}, Bandwidth: []Bandwidth{}, Results: []Result{},
	}
	if err != nil {
		rep.Error = err.Error()
	}
	if len(r.clocks) > 0 {
		rep.Clock = Clocks{stat.Median(r.clocks), slices.Min(r.clocks), slices.Max(r.clocks)}
	}
	for _, s := range r.slots {
		if len(s.peaks) == 0 {
			continue
		}
		p := Peaks{Tier: s.tier.String(), Threads: s.threads, GFlops: stat.Median(s.peaks) / 1e9}
		if per := flopACycle(p.Tier); per > 0 {
			var shares []float64
			for i, peak := range s.peaks {
				if s.clocks[i] > 0 { // threads beyond the cores share their FMA units
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
		res.mark(w)
		res.setAlone(w.rates, w.limits, r.ownRate(w.s))
		rep.bandwidth(&res, w.g, r.plan.memory)
		rep.bound(&res, w.g, r.plan.memory)
		if len(res.Marks) > 0 {
			marked++
		}
		rep.Results = append(rep.Results, res)
	}
	rep.warn(r, began, marked)
	return rep
}

// mark says why a row is not to be trusted.
func (res *Result) mark(w *row) {
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
		res.Marks = append(res.Marks, fmt.Sprintf("repeated %d of the %d times that an interval needs: it is from the least to the most", n, leastSamples))
	}
}

// bandwidth puts a row that measures a level of the memory into the table of streams.
func (r *Report) bandwidth(res *Result, g *group, h hierarchy) {
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

// bound compares a row with the roofline (Williams, Waterman and Patterson, 2009): the
// peak, or what reads from the level that holds operands and results allow.
func (r *Report) bound(res *Result, g *group, h hierarchy) {
	if res.Suite == "peak" || g.host || res.Bytes == 0 && res.Flop == 0 {
		return
	}
	perSecond := 0.0 // calls that the bound allows
	for _, p := range r.Peak {
		if p.Tier == res.Tier && p.Threads == res.Threads && res.Flop > 0 {
			perSecond, res.Bound = p.GFlops*1e9/res.Flop, "peak"
		}
	}
	if l := r.holds(res, g.cold, h); l != nil && res.Bytes > 0 {
		if v := l.Read * 1e9 / res.Bytes; perSecond == 0 || v < perSecond {
			perSecond, res.Bound = v, l.Level
		}
	}
	if perSecond > 0 {
		res.PercentBound = 100 / (res.SecondsMedian * perSecond)
	}
}

// holds returns the nearest level whose caches, of all threads of the row, hold what it
// touches; cold work finds nothing in the core's own caches.
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

func (r *Report) warn(run *runner, began sysinfo.Usage, marked int) {
	warn := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if m := &r.Machine; m.Load > restingLoad*float64(m.CPUs) {
		warn("the load average before the run was %.2f: something else may have been running", m.Load)
	}
	var d sysinfo.Interference
	d.Add(began, sysinfo.ReadUsage())
	steal, others := d.Shares()
	if steal > mostSteal {
		warn("other virtual machines took %.1f%% of a core during the run", 100*steal)
	}
	if others > mostOthers {
		warn("other processes used %.0f%% of a core during the run", 100*others)
	}
	for _, s := range run.slots {
		if c := slices.Sorted(slices.Values(s.clocks)); len(c) > 0 {
			if lo, hi := c[len(c)/10], c[len(c)-1-len(c)/10]; lo > 0 && hi/lo > 1+mostSpread {
				warn("the clock of %v on %s changed during the run, between %.2f and %.2f GHz", s.tier, format.Count(s.threads, "thread"), lo/1e9, hi/1e9)
			}
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
			warn("%s was left out%s: it needs %s, and rows may take %.0f%% of the %s that were available", w.id(), when, FormatBytes(int(w.g.footprint())), 100*mostMemory, FormatBytes(int(w.large.free)))
		}
	}
	if marked > 0 {
		warn("%d of %d rows are marked as not to be trusted", marked, len(r.Results))
	}
}
