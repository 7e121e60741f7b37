package bench

import (
	"sync"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/stat"
	"dpnbench/internal/sysinfo"
)

// Peak measures the rate of the FMA units on all threads of e, in flop/s: the median of several
// runs of d each, after one that warms up the clock. The loops touch no memory, so nothing that
// the engine computes can be faster.
func Peak(e *engine.Engine, d time.Duration) float64 {
	peakOnce(e, d.Seconds())
	var rates []float64
	for range 5 {
		rates = append(rates, peakOnce(e, d.Seconds()))
	}
	return stat.Median(rates)
}

// peakOnce is one run of about the given number of seconds.
func peakOnce(e *engine.Engine, seconds float64) float64 {
	seconds = max(seconds, measurable().Seconds())
	for tasks := 1; ; {
		start := sysinfo.Now()
		flop := e.RunFMA(tasks)
		took := (sysinfo.Now() - start).Seconds()
		if took >= 0.7*seconds {
			return flop / took
		}
		tasks = max(tasks+1, int(float64(tasks)*min(seconds/took, 16)))
	}
}

// Clock measures the frequency of a core, in Hz, without privileges: the fastest of some
// chains of dependent additions, one per cycle. It is 0 if time cannot be
// measured.
func Clock() float64 {
	var best float64
	for range 5 {
		best = max(best, clockOnce())
	}
	return best
}

func clockOnce() float64 { return cyclesASecond(engine.RunAdditions, sysinfo.Now, measurable()) }

// clockRounds rounds of additions take about 50 microseconds: most are not
// interrupted, and a core that lowered its clock for wide vectors has not raised it again.
const clockRounds = 2500

// cyclesASecond times a chain of cycles, doubled until it takes minTime.
func cyclesASecond(chain func(rounds int) (cycles float64), now func() time.Duration, minTime time.Duration) float64 {
	for rounds := clockRounds; rounds < clockRounds<<14; rounds *= 2 {
		start := now()
		cycles := chain(rounds)
		if took := now() - start; took > 0 && took >= minTime {
			return cycles / took.Seconds()
		}
	}
	return 0
}

// measurable is the shortest time that the clock measures to 5%: 20 of its ticks.
var measurable = sync.OnceValue(func() time.Duration { return 20 * tick(sysinfo.Now) })

// tick returns the smallest step of a clock, or the time between two readings if that is longer;
// a second for a clock that does not advance.
func tick(now func() time.Duration) time.Duration {
	least := time.Second
	for range 5 {
		start := now()
		later := start
		for looks := 0; later == start && looks < 1e7; looks++ {
			later = now()
		}
		if later > start {
			least = min(least, later-start)
		}
	}
	return least
}
