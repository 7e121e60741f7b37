package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

// TestRatio checks the ends of intervals against tables of the binomial distribution, and that
// too few rounds have none.
func TestRatio(t *testing.T) {
	for n, want := range map[int]string{1: "10.00 (rounds: 1)", 5: "30.00 (rounds: 5)", 6: "35.00 (10.00 to 60.00)",
		12: "65.00 (30.00 to 100.00)"} {
		var theirs, ours []float64
		for i := range n {
			theirs, ours = append(theirs, float64(5*(n-i))), append(ours, 0.5)
		}
		if got := ratio(theirs, ours); got != want {
			t.Errorf("%d rounds: %s, want %s", n, got, want)
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

// TestThreadNumbers checks that one thread and all are timed unless the flag says otherwise.
func TestThreadNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		all  int
		want []int // nil: refused
	}{
		{"", 1, []int{1}}, {"", 2, []int{1, 2}}, {"", 64, []int{1, 64}}, {"4", 2, []int{4}},
		{"1, 2,8", 4, []int{1, 2, 8}},
		{"0", 4, nil}, {"1,1", 4, nil}, {"1,", 4, nil}, {"all", 4, nil}, {"-2", 4, nil},
	} {
		if got, err := threadNumbers(c.text, c.all); !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%q of %d: %v, %v, want %v", c.text, c.all, got, err, c.want)
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
