package bench

import (
	"fmt"
	"runtime"

	"dpnbench/engine"

	"github.com/klauspost/cpuid/v2"
)

// peakSuite are the limits: the FMA units on registers alone, and streams between the
// cores and each level of the memory.
func peakSuite() []group {
	fma := group{suite: "peak", name: "fma", open: func() (opener, error) {
		return func(e *engine.Engine) (*work, error) {
			return &work{
				op:   func() error { e.RunFMA(1); return nil },
				flop: e.RunFMA(1),
				// It computes nothing that could be compared. What it counts as flop can be: no
				// core starts more than two vectors of multiply-adds a cycle.
				check: func() (string, error) { return checkPeak(e) },
			}, nil
		}, nil
	}}
	all := []group{fma}
	for _, l := range levels() {
		for _, s := range []engine.Stream{engine.Read, engine.Write, engine.Triad} {
			all = append(all, group{
				suite: "peak", name: fmt.Sprintf("%v %s", s, l.name), params: params("bytes", l.bytes),
				fastest: l.shared, // beyond a core's own caches the kernels matter little
				open: func() (opener, error) {
					return func(e *engine.Engine) (*work, error) {
						bytes := l.bytes
						if l.shared {
							bytes /= e.Threads()
						}
						rounds := max(1, streamBytes/bytes)
						moved := e.RunStream(s, bytes, rounds)
						return &work{
							op:    func() error { e.RunStream(s, bytes, rounds); return nil },
							bytes: moved,
							check: func() (string, error) { return checkStream(e, s, bytes, rounds, moved) },
						}, nil
					}, nil
				},
			})
		}
	}
	return all
}

// streamBytes is about what a call moves, so that starting the threads costs little.
const streamBytes = 4 << 20

type level struct {
	name   string
	bytes  int  // of the arrays of a thread
	shared bool // of all threads
}

// mostStreamed bounds the arrays in memory.
var mostStreamed = 512 << 20

// levels returns arrays that fit into each level of the memory. What a virtual machine
// says of the third level may not be its own: the arrays are four times the second.
func levels() []level {
	c := cpuid.CPU.Cache
	known := func(reported, typical int) int {
		if reported <= 0 {
			return typical
		}
		return reported
	}
	l1, l2, l3 := known(c.L1D, 32<<10), known(c.L2, 512<<10), known(c.L3, 16<<20)
	memory := min(2*l3, mostStreamed, int(min(AvailableMemory()/4, 1<<40)))
	return []level{{"L1", l1 / 2, false}, {"L2", l2 / 2, false}, {"L3", min(4*l2*runtime.GOMAXPROCS(0), l3/2), true}, {"memory", memory, true}}
}

// flopACycle is what two FMA units of the tier's width do in a cycle; 0 where that is not
// known.
func flopACycle(tier string) float64 {
	switch tier {
	case engine.AVX512.String():
		return 64
	case engine.AVX2.String():
		return 32
	}
	return 0
}

func checkPeak(e *engine.Engine) (string, error) {
	per := flopACycle(e.Tier().String())
	if per == 0 {
		return "flop counted, nothing to compare", nil
	}
	clock, rate := 0.0, 0.0
	for range 5 { // the clock may rise in between
		clock = max(clock, Clock())
		rate = max(rate, peakOnce(e, 2e-3))
	}
	if most := clock * per * float64(e.Threads()); rate > 1.1*most {
		return "", fmt.Errorf("%.0f GFLOP/s, but two FMA units at the measured clock make %.0f", rate/1e9, most/1e9)
	}
	return fmt.Sprintf("at most %g flop a cycle of the measured clock", per), nil
}

func checkStream(e *engine.Engine, s engine.Stream, bytes, rounds int, moved float64) (string, error) {
	floats := float64(bytes / 4)
	if s == engine.Triad {
		floats = float64(bytes / 12 * 3)
	}
	if want := 4 * floats * float64(rounds) * float64(e.Threads()); moved != want {
		return "", fmt.Errorf("%v bytes moved, expected %v", moved, want)
	}
	return "bytes counted", nil
}
