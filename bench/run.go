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
	"dpnbench/internal/stat"
	"dpnbench/internal/sysinfo"
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
