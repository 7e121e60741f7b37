package bench

import (
	"slices"
	"time"

	"dpnbench/engine"
)

// Peak measures what the FMA units give on all threads of e, in flop a second: the median
// of several runs of d each, after one that warms up the clock. The loops touch no
// memory, so nothing that the engine computes can be faster.
func Peak(e *engine.Engine, d time.Duration) float64 {
	peakOnce(e, d.Seconds())
	var rates []float64
	for range 5 {
		rates = append(rates, peakOnce(e, d.Seconds()))
	}
	return median(rates)
}

// peakOnce is one run of about so many seconds.
func peakOnce(e *engine.Engine, seconds float64) float64 {
	for tasks := 1; ; {
		start := time.Now()
		flop := e.RunFMA(tasks)
		took := time.Since(start).Seconds()
		if took >= 0.7*seconds {
			return flop / took
		}
		tasks = max(tasks+1, int(float64(tasks)*min(seconds/took, 16)))
	}
}

// Clock measures the frequency of a core, in Hz, without privileges: the fastest of some
// chains of dependent additions, each of which takes a cycle.
func Clock() float64 {
	var best float64
	for range 5 {
		best = max(best, clockOnce())
	}
	return best
}

func clockOnce() float64 {
	start := time.Now()
	cycles := engine.RunAdditions(clockRounds)
	return cycles / time.Since(start).Seconds()
}

// clockRounds rounds of additions take about 50 microseconds: interrupts spare most, and a
// core that lowered its clock for wide vectors has not raised it again.
const clockRounds = 2500

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]/2 + s[(len(s)-1)/2]/2
}
