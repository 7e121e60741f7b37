package bench

import (
	"context"
	"time"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/sysinfo"
)

// prepare sets up the fixture of a row, runs it once, compares the result (in the first pass)
// and warms it up.
func (r *runner) prepare(ctx context.Context, w *instance, setup setupFunc, pass int) (err error) {
	if w.fixture, err = setup(w.s.e); err != nil {
		return err
	}
	began := sysinfo.Now()
	if err := w.fixture.op(); err != nil {
		return err
	}
	took := (sysinfo.Now() - began).Seconds()
	if pass == 0 {
		if w.check, err = w.fixture.check(); err != nil {
			return err
		}
		w.active, w.evaluated, w.bounds = w.fixture.active, w.fixture.evaluated, w.fixture.bounds
		if w.fixture.route != ascent.AutoRoute {
			w.route = w.fixture.route.String()
		}
	}
	if r.settings.Phases && w.fixture.profile != nil {
		w.fixture.profile(nil)
	}
	w.flop, w.bytes = max(w.flop, w.fixture.flop), max(w.bytes, w.fixture.bytes)
	return r.warm(ctx, w, took)
}

// inTurn runs the repetitions of a pass, until ctx ends.
func (r *runner) inTurn(ctx context.Context, rows []*instance) error {
	most := 0
	for _, w := range rows {
		most = max(most, w.repeat)
	}
	for rep := range most {
		for i := range rows {
			w := rows[(i+rep)%len(rows)] // the order rotates, so that no row always follows the same one
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
			before := additionsACycle(w.s.e)
			t, err := r.time(w, w.calls)
			if err != nil {
				return w.failed(err)
			}
			rate := min(before, additionsACycle(w.s.e))
			w.rates, w.s.rates = append(w.rates, rate), append(w.s.rates, rate)
			w.samples = append(w.samples, t/float64(w.calls))
			w.peaks, w.limits = append(w.peaks, peak), append(w.limits, peak)
		}
	}
	return nil
}

const (
	peakSeconds = 1e-3
	steady      = 0.03 // relative change between two timings below which a row counts as warm
	mostTimings = 12   // until then
	warmCall    = 0.1  // seconds: a call at least as long has warmed up its row
	longRow     = 0.5  // seconds of a row in a pass, beyond its fewest repetitions
	fewest      = 2    // repetitions per pass
)

// warm calls the work until two timings agree, and finds the number of calls per repetition.
// seconds is the time of the first call, which warms up long work on its own.
func (r *runner) warm(ctx context.Context, w *instance, seconds float64) error {
	if seconds > warmCall {
		w.ready(r, 1, seconds)
		return nil
	}
	minTime := max(r.settings.MinTime, measurable().Seconds())
	calls, last := 1, 0.0
	for range mostTimings {
		t, err := r.time(w, calls)
		if err != nil {
			return err
		}
		switch {
		case t < minTime && !(w.g.cold && calls >= 8):
			// 10% more than needed, since the clock may rise later.
			calls = max(calls+1, int(float64(calls)*min(1.1*minTime/t, 16)))
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

// ready sets calls and repetitions, which stay the same in all passes.
func (w *instance) ready(r *runner, calls int, seconds float64) {
	if w.calls == 0 {
		w.calls = calls
		w.repeat = r.settings.Repetitions
		if seconds > 0 {
			w.repeat = min(w.repeat, max(fewest, int(longRow/seconds)))
		}
	}
}

// time returns the seconds of a number of calls.
func (r *runner) time(w *instance, calls int) (float64, error) {
	times := max(r.settings.Slow, 1)
	if w.g.cold {
		var sum time.Duration
		for range calls {
			w.s.e.RunStream(engine.Read, r.flush, 1)
			start := sysinfo.Now()
			for range times {
				if err := w.fixture.op(); err != nil {
					return 0, err
				}
			}
			sum += sysinfo.Now() - start
		}
		return sum.Seconds(), nil
	}
	start := sysinfo.Now()
	for range calls * times {
		if err := w.fixture.op(); err != nil {
			return 0, err
		}
	}
	return (sysinfo.Now() - start).Seconds(), nil
}
