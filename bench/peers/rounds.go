package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"dpnbench/internal/stat"

	"golang.org/x/perf/benchmath"
)

// A contender does some work and returns the seconds of one call.
type contender func() (float64, error)

// settle is a pause before every timing: idle threads of OpenBLAS and of OpenMP go on
// spinning for 2^26 cycles and 300,000 pauses, 30 ms and on a busy machine several times that,
// and would slow down the next contender.
const settle = 200 * time.Millisecond

// long is the time from which a single call without warm-up is enough.
const long = 300 * time.Millisecond

// inTurn times all contenders once a round, one after the other, so that whatever
// disturbs the machine disturbs all of them alike. It returns the seconds of every
// contender, round by round.
func inTurn(ctx context.Context, s *settings, all []contender) ([][]float64, error) {
	times := make([][]float64, len(all))
	rounds := s.rounds
	for r := 0; r < rounds; r++ {
		start := time.Now()
		for i, c := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			time.Sleep(settle)
			t, err := c()
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
		if time.Since(start) > 5*time.Second {
			rounds = min(rounds, max(r+1, s.slowRounds))
		}
	}
	return times, nil
}

// seconds is the time of one call of f, over a batch of them.
func seconds(f func(), least time.Duration) float64 {
	return batch(func(calls int) time.Duration {
		start := time.Now()
		for range calls {
			f()
		}
		return time.Since(start)
	}, least)
}

// batch doubles the calls until they take the least time, and returns the seconds of one.
// The first call is a warm-up, unless it is long.
func batch(timed func(calls int) time.Duration, least time.Duration) float64 {
	for n := 0; ; n = max(2*n, 1) {
		calls := max(n, 1)
		if took := timed(calls); took >= least && (n > 0 || took >= long) {
			return took.Seconds() / float64(calls)
		}
	}
}

// ratios returns a[i]/b[i].
func ratios(a, b []float64) []float64 {
	x := make([]float64, len(a))
	for i := range a {
		x[i] = a[i] / b[i]
	}
	return x
}

// ratio prints the median of a/b, round by round, and its 95% interval, which assumes no
// distribution: how many times as fast b is. Fewer than 6 rounds have no interval.
func ratio(a, b []float64) string {
	x := ratios(a, b)
	m := benchmath.AssumeNothing.Summary(benchmath.NewSample(x, &benchmath.DefaultThresholds), 0.95)
	if math.IsInf(m.Lo, 0) || math.IsInf(m.Hi, 0) {
		return fmt.Sprintf("%.2f (rounds: %d)", m.Center, len(x))
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", m.Center, m.Lo, m.Hi)
}

// rows prints ours against theirs: seconds by number of threads (in the order of the
// settings) and round. The last row compares the best number of threads of each.
func rows(s *settings, name string, ours, theirs [][]float64) {
	var a, b int
	for i, threads := range s.threads {
		fmt.Printf("%-34s %7d %10s %10s  %s\n", name, threads, ms(ours[i]), ms(theirs[i]), ratio(theirs[i], ours[i]))
		if stat.Median(ours[i]) < stat.Median(ours[a]) {
			a = i
		}
		if stat.Median(theirs[i]) < stat.Median(theirs[b]) {
			b = i
		}
	}
	fmt.Printf("%-34s %7s %10s %10s  %s\n", name, "best", ms(ours[a]), ms(theirs[b]), ratio(theirs[b], ours[a]))
}

func header() {
	fmt.Printf("%-34s %7s %10s %10s  %s\n", "", "threads", "ours ms", "theirs ms", "theirs / ours")
}

func ms(x []float64) string { return fmt.Sprintf("%.4g", 1e3*stat.Median(x)) }

// near returns an error unless every element of got differs from that of want by at most tol times
// the largest magnitude in want.
func near(what string, got, want []float32, tol float64) error {
	return nearAbove(what, got, want, tol, 0)
}

// nearAbove is near with a largest magnitude of at least least.
func nearAbove(what string, got, want []float32, tol, least float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d numbers, ours are %d", what, len(got), len(want))
	}
	most := max(least, largest(want))
	for i, v := range want {
		if d := math.Abs(float64(got[i] - v)); !(d <= tol*most) {
			return fmt.Errorf("%s: element %d is %v, ours %v: further apart than %v of the largest, %.3g", what, i,
				got[i], v, tol, most)
		}
	}
	return nil
}

// largest returns the largest magnitude, NaN if there is one.
func largest(x []float32) float64 {
	var most float64
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}
