package bench

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/stat"
	"dpnbench/internal/sysinfo"

	"github.com/klauspost/cpuid/v2"
)

// A core that also runs a hyperthread of another program, or of another virtual machine, starts
// fewer of our instructions per cycle. The FMA peak hardly shows this, but products that also
// load get slower. Chains of independent additions, several per cycle, detect it.

// additionsACycle returns how many independent additions per cycle the threads of e start while
// all run: the lowest rate of a thread. It is 0 if a thread did not run or time is too coarse.
func additionsACycle(e *engine.Engine) float64 {
	rates := make([]float64, e.Threads())
	var here atomic.Int64
	e.Parallel(len(rates), float64(len(rates))*1e8, 0, func(_ *engine.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			here.Add(1)
			for began := sysinfo.Now(); int(here.Load()) < len(rates); { // so that no thread does the work of two
				if sysinfo.Now()-began > lateThread {
					return
				}
			}
			before := clockOnce()
			// About as long as the chain that measures the clock.
			independent := cyclesASecond(func(rounds int) float64 { return independentAdditions(16 * rounds) },
				sysinfo.Now, measurable())
			if clock := max(before, clockOnce()); clock > 0 { // the higher one: an interruption lowers one of them
				rates[i] = independent / clock
			}
		}
	})
	return slices.Min(rates)
}

// independentAdditions does 12 additions or exclusive ors per round on six counters, which stay in
// registers, and returns their number.
func independentAdditions(rounds int) float64 {
	var a, b, c, d, e, f uint64
	for i := range uint64(rounds) {
		a, b, c, d, e, f = a+i, b+3, c+i, d+5, e+i, f+7
		a, b, c, d, e, f = a^9, b^i, c^11, d^i, e^13, f^i
	}
	additionsSum.Store(a + b + c + d + e + f)
	return 12 * float64(rounds)
}

var additionsSum atomic.Uint64 // keeps the compiler from removing the additions

const (
	lateThread  = 200 * time.Microsecond
	mostShared  = 0.1  // share of the repetitions of a row
	sharedBelow = 0.85 // of the own rate of a core
	ownQuantile = 0.98 // of the rates beside all repetitions: the own rate
)

// ownRate returns the rate of a core without a busy sibling, from the rates beside repetitions:
// nearly the highest. If the sibling was always busy, that cannot be seen.
func ownRate(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(rates))
	return sorted[int(ownQuantile*float64(len(sorted)-1))]
}

// ownRate returns the own rate of the cores of a config, 0 if unknown. If all cores are alike and
// each thread has one, configs with fewer threads, which more often have their cores to
// themselves, count as well.
func (r *runner) ownRate(s *config) float64 {
	own := ownRate(s.rates)
	alike := r.machine.Arch == "amd64" && !slices.Contains(r.machine.Features, cpuid.HYBRID_CPU.String())
	if alike && s.threads <= r.plan.memory.cores {
		for _, other := range r.configs {
			if other.threads <= s.threads {
				own = max(own, ownRate(other.rates))
			}
		}
	}
	return own
}

// setAlone counts the repetitions without a busy sibling before and after, and computes the share
// of the peak over those; peaks are the peaks right before each repetition. A row with too many
// other repetitions is marked, except a peak, which a busy sibling hardly changes.
func (r *Result) setAlone(rates, peaks []float64, own float64) {
	if own == 0 {
		return
	}
	var times, limits []float64
	for i, rate := range rates {
		if rate >= sharedBelow*own {
			r.Alone++
			times, limits = append(times, r.Samples[i]), append(limits, peaks[i])
		}
	}
	if r.Alone >= leastSamples && r.Flop > 0 && stat.Median(limits) > 0 {
		r.PercentPeakAlone = 100 * r.Flop / (stat.Median(times) * stat.Median(limits))
	}
	shared := r.Repetitions - r.Alone
	if r.Suite != "peak" && r.Tier != hostTier && float64(shared) > mostShared*float64(r.Repetitions) {
		r.Marks = append(r.Marks,
			fmt.Sprintf("a core was shared or interrupted, as by another hyperthread, beside %d of %d repetitions",
				shared, r.Repetitions))
	}
}
