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
	tasks := 1
	var rates []float64
	for len(rates) < 5 {
		start := time.Now()
		flop := e.RunFMA(tasks)
		took := time.Since(start)
		if took < d {
			tasks = tasks*5/4 + 1
			if took > d/16 {
				tasks = max(tasks, int(1.1*float64(tasks)*float64(d)/float64(took)))
			}
			continue
		}
		rates = append(rates, flop/took.Seconds())
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}
