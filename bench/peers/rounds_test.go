package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestInterval checks intervals against tables of the binomial distribution: of n values
// the rank of the lower end.
func TestInterval(t *testing.T) {
	for _, c := range []struct{ n, rank int }{{5, 0}, {6, 1}, {7, 1}, {8, 1}, {9, 2}, {12, 3}, {21, 6}, {50, 18}} {
		x := make([]float64, c.n)
		for i := range x {
			x[c.n-1-i] = float64(i + 1)
		}
		lo, hi := interval(x)
		want := [2]float64{float64(c.rank), float64(c.n + 1 - c.rank)}
		if c.rank == 0 {
			want = [2]float64{}
		}
		if lo != want[0] || hi != want[1] {
			t.Errorf("%d values: %v to %v, want %v", c.n, lo, hi, want)
		}
	}
}

// TestBatch times calls of some length until they take long enough together: how many
// calls each timing makes, the first one to warm up.
func TestBatch(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		call, least time.Duration
		calls       []int
	}{
		{5 * ms, 20 * ms, []int{1, 1, 2, 4}},
		{50 * ms, 20 * ms, []int{1, 1}},
		{400 * ms, 20 * ms, []int{1}},        // long: no warm-up
		{400 * ms, 500 * ms, []int{1, 1, 2}}, // long, but not long enough
		{100 * ms, 500 * ms, []int{1, 1, 2, 4, 8}},
	} {
		var calls []int
		got := batch(func(n int) time.Duration {
			if calls = append(calls, n); len(calls) > 20 {
				t.Fatalf("%+v: made %v calls and goes on", c, calls)
			}
			return time.Duration(n) * c.call
		}, c.least)
		if !slices.Equal(calls, c.calls) || got != c.call.Seconds() {
			t.Errorf("%+v: %v s after %v calls", c, got, calls)
		}
	}
}

func TestNear(t *testing.T) {
	nan := float32(math.NaN())
	want := []float32{1, -100, 0.5}
	for _, c := range []struct {
		got []float32
		ok  bool
	}{
		{[]float32{1.05, -100, 0.5}, true}, // 1e-3 of the largest, not of the element
		{[]float32{1, -100.2, 0.5}, false},
		{[]float32{1, nan, 0.5}, false},
		{[]float32{1, -100}, false},
	} {
		if err := near("x", c.got, want, 1e-3); (err == nil) != c.ok {
			t.Errorf("%v against %v: %v", c.got, want, err)
		}
	}
	if near("x", want, []float32{1, nan, 0.5}, 1e-3) == nil {
		t.Error("NaN of ours passes")
	}
	small := []float32{1e-9, -3e-9} // rounding where the largest of all is 1
	if err := nearAbove("x", small, []float32{2e-9, 1e-9}, 1e-3, 1e-5); err != nil {
		t.Error(err)
	}
	if nearAbove("x", small, []float32{2e-9, 1e-9}, 1e-3, 1e-6) == nil {
		t.Error("a difference above a thousandth of the least passes")
	}
}
