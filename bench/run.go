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

// Run measures what the settings ask for. progress, unless nil, is told how many benchmarks
// are done. If ctx ends, Run returns what was measured by then, marked as partial; if
// something fails, it does the same beside the error. A result that differs from the
// reference ends the run with an *ErrMismatch.
func Run(ctx context.Context, s Settings, progress func(done, all int, what string)) (*Report, error) {
	p, err := s.resolve()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	r := &runner{settings: s, plan: p, start: time.Now(), machine: sysinfo.ReadMachine(), free: sysinfo.AvailableMemory}
	defer r.close()
	if err := r.setup(); err != nil {
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

// passes times all benchmarks, pass by pass, until ctx ends.
func (r *runner) passes(ctx context.Context, progress func(done, all int, what string)) error {
	done, all := 0, r.settings.Passes*len(r.plan.benchmarks)
	for pass := range r.settings.Passes {
		for i := range r.plan.benchmarks {
			if ctx.Err() != nil {
				return nil
			}
			g := &r.plan.benchmarks[i]
			if progress != nil {
				progress(done, all, g.suite)
			}
			if err := r.benchmark(ctx, g, pass); err != nil {
				return err
			}
			done++
		}
	}
	if progress != nil {
		progress(all, all, r.plan.benchmarks[len(r.plan.benchmarks)-1].suite)
	}
	return nil
}

type runner struct {
	settings Settings
	plan     *plan
	start    time.Time
	machine  sysinfo.Machine
	free     func() float64 // available memory in bytes
	configs  []*config
	rows     []*instance
	clocks   []float64 // Hz, before every benchmark
	flush    int       // bytes to read in order to empty the L1 and L2 caches of a core
}

// config is a tier on a number of threads.
type config struct {
	e       *engine.Engine
	tier    engine.Tier
	threads int
	peaks   []float64 // flop/s
	clocks  []float64 // Hz, right after each peak
	rates   []float64 // additions per cycle beside each repetition, for own rates
}

// instance is a benchmark on a config: a row of the report.
type instance struct {
	g       *benchmark
	s       *config
	calls   int
	repeat  int // repetitions in a pass
	fixture *fixture
	check   string
	large   *shortage // set once it no longer fits into memory

	samples []float64 // seconds per call
	peaks   []float64 // flop/s, measured beside it
	clocks  []float64 // right after each peak
	rates   []float64 // independent additions per cycle, the lower of before and after each repetition
	limits  []float64 // the peak right before each repetition; peaks has the median of the pass
	around  sysinfo.Interference
	flop    float64
	bytes   float64
	phases  [][]Phase // of each pass

	route                     string // of ascents, else empty
	evaluated, active, bounds *Components
}

// shortage says in which pass a row did not fit into memory, and how many bytes were free.
type shortage struct {
	pass int
	free float64
}

func (r *runner) setup() error {
	for _, t := range r.plan.tiers {
		for _, n := range r.plan.threads {
			s := &config{tier: t, threads: n}
			r.configs = append(r.configs, s)
			var err error
			if s.e, err = r.engine(s); err != nil {
				return fmt.Errorf("bench: %w", err)
			}
		}
	}
	r.flush = 4 * max(r.plan.memory.l2, 1<<20)
	for i := range r.plan.benchmarks {
		g := &r.plan.benchmarks[i]
		r.plan.rows(g, func(t engine.Tier, threads int) {
			at := slices.IndexFunc(r.configs, func(s *config) bool { return s.tier == t && s.threads == threads })
			r.rows = append(r.rows, &instance{g: g, s: r.configs[at], flop: g.flop, bytes: g.bytes})
		})
	}
	return nil
}

// engine makes the engine of a config.
func (r *runner) engine(s *config) (*engine.Engine, error) {
	options := []engine.Option{engine.WithTier(s.tier), engine.WithThreads(s.threads)}
	if r.settings.Pinned {
		options = append(options, engine.WithPinnedThreads())
	}
	return engine.New(options...)
}

func (r *runner) close() {
	for _, s := range r.configs {
		if s.e != nil {
			s.e.Close()
		}
	}
}

func (w *instance) id() string {
	res := w.result()
	return res.ID()
}

// failed names the row in an error.
func (w *instance) failed(err error) error {
	if mismatch, ok := errors.AsType[*ErrMismatch](err); ok {
		mismatch.Row = w.id()
		return mismatch
	}
	return fmt.Errorf("bench: %s: %w", w.id(), err)
}

// benchmark times the rows of a benchmark: all in turn, or as many at a time as fit into
// memory.
func (r *runner) benchmark(ctx context.Context, g *benchmark, pass int) error {
	var rows []*instance
	for _, w := range r.rows {
		if w.g == g && w.large == nil {
			rows = append(rows, w)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	setup, err := g.setup()
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
		if err := r.together(ctx, setup, rows[:n], pass); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// mostMemory is the share of the available memory that rows may use.
const mostMemory = 0.75

// fitting returns how many of n rows of a benchmark fit into memory, and how many bytes are
// available.
func (r *runner) fitting(g *benchmark, n int) (fit int, free float64) {
	look := func() {
		free = r.free()
		fit = int(min(mostMemory*free/max(g.footprint(), 1), float64(n)))
	}
	if look(); fit < n {
		for _, s := range r.configs {
			s.e.ReleaseStreams() // kept between passes, since allocating them takes seconds
		}
		debug.FreeOSMemory() // garbage of other rows
		look()
	}
	return max(fit, 0), free
}

// together times rows of a benchmark, one repetition of each in turn.
func (r *runner) together(ctx context.Context, setup setupFunc, rows []*instance, pass int) error {
	defer func() {
		for _, w := range rows {
			if w.fixture != nil && w.fixture.close != nil {
				w.fixture.close()
			}
			w.fixture = nil
		}
		runtime.GC() // now, not while others are timed
	}()
	for _, w := range rows {
		if ctx.Err() != nil {
			return nil
		}
		if err := r.prepare(ctx, w, setup, pass); err != nil {
			return w.failed(err)
		}
	}
	runtime.GC()
	r.clocks = append(r.clocks, Clock())
	before, began := sysinfo.ReadUsage(), map[*instance]int{}
	for _, w := range rows {
		began[w] = len(w.peaks)
	}
	err := r.inTurn(ctx, rows)
	after := sysinfo.ReadUsage()
	for _, w := range rows {
		// One peak per pass: the clock changes slowly, while a single peak may be interrupted.
		if here := w.peaks[began[w]:]; len(here) > 0 {
			m := stat.Median(here)
			for i := range here {
				here[i] = m
			}
		}
		w.around.Add(before, after)
		if phases := w.fixture.phases; phases != nil {
			w.phases = append(w.phases, phases())
		}
	}
	return err
}
