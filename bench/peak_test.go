package bench

import (
	"math"
	"testing"
	"time"
)

// TestCoarseClock measures a core of 3 GHz by clocks that tick ever more coarsely, down to
// one that stands still: right within some percent, or 0, and never infinite.
func TestCoarseClock(t *testing.T) {
	const hz = 3e9
	for _, ticks := range []time.Duration{1, 100, time.Microsecond, time.Millisecond, 15 * time.Millisecond, time.Hour} {
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
		least := time.Second
		if ticks < time.Hour {
			least = 20 * tick(now)
		}
		got := cyclesASecond(chain, now, least)
		if want := hz; ticks < time.Hour && math.Abs(got-want) > 0.06*want || ticks == time.Hour && got != 0 {
			t.Errorf("a clock that ticks every %v: %v Hz", ticks, got)
		}
	}
}
