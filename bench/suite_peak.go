package bench

import (
	"fmt"

	"dpnbench/engine"
)

// peakSuite measures the limits: the FMA units on registers alone, and streams between the cores
// and each memory level.
func peakSuite(h hierarchy) []benchmark {
	fma := benchmark{suite: "peak", name: "fma", setup: func() (setupFunc, error) {
		return func(e *engine.Engine) (*fixture, error) {
			// It computes nothing that could be compared. What it counts as flop can be: no
			// core starts more than two vectors of multiply-adds a cycle.
			w := &fixture{check: func() (string, error) { return checkPeak(e) }}
			w.op = func() error { w.flop = e.RunFMA(1); return nil }
			return w, nil
		}, nil
	}}
	all := []benchmark{fma}
	for _, level := range levels {
		for _, s := range []engine.Stream{engine.Read, engine.Write, engine.Triad} {
			all = append(all, benchmark{
				suite: "peak", name: fmt.Sprintf("%v %s", s, level), level: level, stream: s,
				fastest: shared(level), // beyond L2 kernels matter little
				setup: func() (setupFunc, error) {
					return func(e *engine.Engine) (*fixture, error) {
						bytes := h.array(level, e.Threads())
						rounds := max(1, streamBytes/bytes)
						w := &fixture{check: func() (string, error) { return "bytes counted, nothing to compare", nil }}
						w.op = func() error { w.bytes = e.RunStream(s, bytes, rounds); return nil }
						return w, nil
					}, nil
				},
			})
		}
	}
	return all
}

// streamBytes is about the number of bytes moved per call: enough for the cost of starting
// threads to be small.
const streamBytes = 4 << 20

// flopACycle is the flop per cycle of two FMA units of the tier's width; 0 if unknown.
func flopACycle(tier string) float64 {
	t, err := engine.ParseTier(tier)
	if err != nil {
		return 0
	}
	return t.FlopPerCycle()
}

func checkPeak(e *engine.Engine) (string, error) {
	per := flopACycle(e.Tier().String())
	if per == 0 {
		return "flop counted, nothing to compare", nil
	}
	clock, rate, most := 0.0, 0.0, 0.0
	for n := 0; n < 5 || rate > 1.1*most &&
		n < 100; n++ { // the clock may rise in between, and others disturb its measurement
		clock = max(clock, Clock())
		rate = max(rate, peakOnce(e, 2e-3))
		most = clock * per * float64(e.Threads())
	}
	if clock == 0 {
		return "flop counted, time cannot be measured", nil
	}
	if rate > 1.1*most {
		return "", fmt.Errorf("%.0f GFLOP/s, but two FMA units at the measured clock make %.0f", rate/1e9, most/1e9)
	}
	return fmt.Sprintf("at most %g flop a cycle of the measured clock", per), nil
}
