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

// A core that runs another hyperthread beside ours, of another program or, unseen by steal time,
// of another virtual machine, starts fewer of our instructions in a cycle. The peak of the FMA
// units hardly shows it, because it needs few instructions, but a product, which also loads, is
// then slower by a tenth. Independent additions, several a cycle, tell.

// additionsACycle returns how many independent additions a cycle the threads of e start, all at the
// same time: of the one that starts the fewest. 0 where not all of them came, or time cannot be
// measured.
func additionsACycle(e *engine.Engine) float64 {
	rates := make([]float64, e.Threads())
	var here atomic.Int64
	e.Parallel(len(rates), float64(len(rates))*1e8, 0, func(_ *engine.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			here.Add(1)
			for began := sysinfo.Now(); int(here.Load()) < len(rates); { // so that none makes the additions of two
				if sysinfo.Now()-began > lateThread {
					return
				}
			}
			before := clockOnce()
			// About as long as the chain that gives the clock.
			independent := cyclesASecond(func(rounds int) float64 { return independentAdditions(16 * rounds) }, sysinfo.Now, measurable())
			if clock := max(before, clockOnce()); clock > 0 { // the greater: an interruption lessens one of them
				rates[i] = independent / clock
			}
		}
	})
	return slices.Min(rates)
}

// independentAdditions makes rounds times 12 additions (or what takes as long) to six counters,
// which the compiler leaves in registers, and returns their number.
func independentAdditions(rounds int) float64 {
	var a, b, c, d, e, f uint64
	for i := range uint64(rounds) {
		a, b, c, d, e, f = a+i, b+3, c+i, d+5, e+i, f+7
		a, b, c, d, e, f = a^9, b^i, c^11, d^i, e^13, f^i
	}
	additionsSum.Store(a + b + c + d + e + f)
	return 12 * float64(rounds)
}

var additionsSum atomic.Uint64 // so that the compiler leaves them in

const (
	lateThread  = 200 * time.Microsecond
	mostShared  = 0.1  // of the repetitions of a row
	sharedBelow = 0.85 // of the additions a cycle that a core starts on its own
	ownQuantile = 0.98 // of those beside all repetitions, that counts as what it starts on its own
)

// ownRate returns how many additions a cycle a core starts on its own, from those beside
// repetitions: nearly the most. Where another hyperthread never rested, that cannot be seen.
func ownRate(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(rates))
	return sorted[int(ownQuantile*float64(len(sorted)-1))]
}

// ownRate returns that of the cores of a slot, or 0 if it is not known. Several threads hardly ever
// have all their cores to themselves on a machine that others use much, but if each has a core and
// all cores are alike, fewer threads show it.
func (r *runner) ownRate(s *slot) float64 {
	own := ownRate(s.rates)
	if alike := r.machine.Arch == "amd64" && !slices.Contains(r.machine.Features, cpuid.HYBRID_CPU.String()); alike && s.threads <= r.plan.memory.cores {
		for _, other := range r.slots {
			if other.threads <= s.threads {
				own = max(own, ownRate(other.rates))
			}
		}
	}
	return own
}

// setAlone fills in which repetitions had their cores to themselves, before and after, and the
// share of the peak in those, of which peaks are the peaks right before each. What a repetition
// took does not count. Where too many were shared a row is marked, but not a peak, which sharing
// hardly changes.
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
	if shared := r.Repetitions - r.Alone; r.Suite != "peak" && r.Tier != hostTier && float64(shared) > mostShared*float64(r.Repetitions) {
		r.Marks = append(r.Marks, fmt.Sprintf("a core was shared or interrupted, as by another hyperthread, beside %d of %d repetitions", shared, r.Repetitions))
	}
}
