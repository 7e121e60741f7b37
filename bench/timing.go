package bench

import (
	"context"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

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
