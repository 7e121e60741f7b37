package bench

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

// TestCoarseClock measures a core of 3 GHz with clocks of decreasing resolution, the last of which
// stands still. The result is right within a few percent, or 0, and never infinite.
func TestCoarseClock(t *testing.T) {
	const hz = 3e9
	for _, ticks := range []time.Duration{1, 100, time.Microsecond, time.Millisecond, 15 * time.Millisecond,
		time.Hour} {
		at := 0.0 // seconds
		now := func() time.Duration {
			at += 50e-9 // looking takes time
			return time.Duration(at*float64(time.Second)) / ticks * ticks
		}
		chain := func(rounds int) float64 {
			cycles := 64 * float64(rounds)
			at += cycles / hz
			return cycles
		}
		minTime := time.Second
		if ticks < time.Hour {
			minTime = 20 * tick(now)
		}
		got := cyclesASecond(chain, now, minTime)
		if want := hz; ticks < time.Hour && !(math.Abs(got-want) <= 0.06*want) || ticks == time.Hour && got != 0 {
			t.Errorf("a clock that ticks every %v: %v Hz", ticks, got)
		}
	}
}

// TestOwnRate: nearly the most additions a cycle are what a core starts on its own, a glitch of the
// clock is not.
func TestOwnRate(t *testing.T) {
	rates := []float64{99}
	for i := range 99 {
		rates = append(rates, 2.5)
		if i%10 == 0 {
			rates[len(rates)-1] = 3.5
		}
	}
	if got := ownRate(rates); got != 3.5 {
		t.Errorf("%v additions a cycle, expected 3.5", got)
	}
	if got := ownRate(nil); got != 0 {
		t.Errorf("%v additions a cycle of no repetition", got)
	}
}

// TestOwnRateOfSlots: two threads on cores of their own start as many additions as one does, unless
// they share a core or cores are not alike.
func TestOwnRateOfSlots(t *testing.T) {
	one, two := &config{threads: 1, rates: []float64{3.5}}, &config{threads: 2, rates: []float64{2.5}}
	for _, c := range []struct {
		cores    int
		arch     string
		features []string
		want     float64
	}{{2, "amd64", nil, 3.5}, {1, "amd64", nil, 2.5}, {2, "arm64", nil, 2.5},
		{2, "amd64", []string{"HYBRID_CPU"}, 2.5}} {
		r := &runner{configs: []*config{one, two}, machine: sysinfo.Machine{Arch: c.arch, Features: c.features},
			plan: &plan{memory: hierarchy{cores: c.cores}}}
		if got := r.ownRate(two); got != c.want || r.ownRate(one) != 3.5 {
			t.Errorf("%d cores of %s %v: %v additions a cycle of two threads, want %v", c.cores, c.arch, c.features,
				got, c.want)
		}
	}
}

// TestAlone: shares of the peak of the repetitions in which the core was not shared count, whatever
// they are, if they are enough; of others too many are marked; nothing is said where rates cannot be
// measured.
func TestAlone(t *testing.T) {
	r := Result{Flop: 10}
	var rates []float64
	for i := range 12 {
		r.Samples = append(r.Samples, float64(1+i))
		rates = append(rates, []float64{3.4, 2.5}[i%2])
	}
	few := r
	peaks := slices.Repeat([]float64{20, 1}, 6) // what shared repetitions lower does not count
	r.Repetitions, few.Repetitions = 12, 10
	r.setAlone(rates, peaks, 3.5)
	if want := 50.0 / 6; r.Alone != 6 || !(math.Abs(r.PercentPeakAlone-want) <= 1e-12) {
		t.Errorf("%d repetitions alone at %v%% of the peak, want 6 at %v%%", r.Alone, r.PercentPeakAlone, want)
	}
	few.setAlone(rates[:10], peaks[:10], 3.5)
	if few.Alone != 5 || few.PercentPeakAlone != 0 {
		t.Errorf("%d repetitions alone at %v%% of the peak, want 5 and none", few.Alone, few.PercentPeakAlone)
	}
	if len(r.Marks) != 1 || !strings.Contains(r.Marks[0], "6 of 12") {
		t.Errorf("marks %q", r.Marks)
	}
	peak := Result{Suite: "peak", Flop: 10, Samples: r.Samples, Repetitions: 12}
	if peak.setAlone(rates, peaks, 3.5); peak.Alone != 6 || len(peak.Marks) != 0 {
		t.Errorf("a peak beside which cores were shared is marked: %q", peak.Marks)
	}
	unknown := Result{Flop: 10, Samples: r.Samples, Repetitions: 12}
	if unknown.setAlone(make([]float64, 12), peaks, 0); unknown.Alone != 0 || unknown.PercentPeakAlone != 0 ||
		len(unknown.Marks) != 0 {
		t.Errorf("where rates are not known, %d of 12 repetitions alone at %v%%, marks %q", unknown.Alone,
			unknown.PercentPeakAlone, unknown.Marks)
	}
}

// TestAdditionsACycle counts what is timed. The rate itself is the machine's.
func TestAdditionsACycle(t *testing.T) {
	if independentAdditions(5) != 60 || independentAdditions(0) != 0 {
		t.Error("additions are miscounted")
	}
	e := newEngine(t, engine.WithThreads(2))
	most := 0.0
	for looks := 0; looks < 1000 && most == 0; looks++ { // a busy machine lets a thread come late
		most = additionsACycle(e)
	}
	if Clock() > 0 && runtime.NumCPU() > 1 && !(most > 0) {
		t.Errorf("%v additions a cycle", most)
	}
}
