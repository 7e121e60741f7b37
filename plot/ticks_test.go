package plot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpnbench/internal/axes"
)

func labels(ticks []axes.Tick) (out []string) {
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return out
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name  string
		ticks []axes.Tick
		want  []string
	}{
		{"through zero", linearTicks(-10.5, 21, 6, false), []string{"−10", "0", "10", "20"}},
		{"tenths", linearTicks(0.38, 1.35, 6, false), []string{"0.4", "0.6", "0.8", "1.0", "1.2"}},
		{"no minus zero", linearTicks(-0.3, 0.3, 6, false),
			[]string{"−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3"}},
		{"whole", linearTicks(1, 3, 8, true), []string{"1", "2", "3"}},
		{"whole, from 1", linearTicks(1, 20, 8, true), []string{"5", "10", "15", "20"}},
		{"one value", linearTicks(1, 1, 8, true), []string{"1"}},
		{"log, short", logTicks(2.1, 2.9), []string{"2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9"}},
		{"log, a decade", logTicks(0.9, 12), []string{"1", "2", "3", "5", "7", "10"}},
		{"log, two decades", logTicks(0.15, 12), []string{"0.2", "0.5", "1", "2", "5", "10"}},
		{"log, five decades", logTicks(0.0005, 20), []string{"0.001", "0.01", "0.1", "1", "10"}},
		{"log, nine decades", logTicks(1e-9, 2), []string{"1e−8", "1e−6", "0.0001", "0.01", "1"}},
	} {
		if got := labels(c.ticks); !slices.Equal(got, c.want) {
			t.Errorf("%s: labels are %q: want %q", c.name, got, c.want)
		}
	}
}

// For any range, ticks lie in it in increasing order, and enough of them have labels to read the
// scale, but not so many that labels collide.
func TestLogTicksOfAnyRange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		lo := math.Pow(10, 40*random.Float64()-20)
		hi := lo * math.Exp(0.2+math.Pow(10, 3*random.Float64()-1))
		ticks := logTicks(lo, hi)
		if n := len(labels(ticks)); n < 2 || n > 12 {
			t.Errorf("%v to %v: %d labels %q", lo, hi, n, labels(ticks))
		}
		for i, tick := range ticks {
			if !(tick.Value >= lo*(1-1e-9)) || !(tick.Value <= hi*(1+1e-9)) || i > 0 && tick.Value <= ticks[i-1].Value {
				t.Errorf("%v to %v: tick %d is %v", lo, hi, i, tick.Value)
			}
		}
	}
}
