// Package fuzzlimit bounds what a parser may cost, whatever its input. Only tests import it.
package fuzzlimit

import (
	"runtime/metrics"
	"testing"
	"time"
)

// longest is the longest time that a parser may take.
const longest = time.Second

// Check calls f, which parses one input. It reports an error if f allocates more than the given number
// of bytes, freed ones included, or takes more than a second. Other programs may slow a call down,
// and other goroutines allocate: only the best of three calls counts, so f must be repeatable.
func Check(t testing.TB, bytes int, f func()) {
	t.Helper()
	check(t, bytes, longest, f)
}

func check(t testing.TB, bytes int, longest time.Duration, f func()) {
	t.Helper()
	var used uint64
	var took time.Duration
	for range 3 {
		before, start := allocated(), time.Now()
		f()
		took, used = time.Since(start), allocated()-before
		if used <= uint64(bytes) && took <= longest {
			return
		}
	}
	t.Errorf("allocated %d bytes in %v, expected at most %d bytes in %v", used, took, bytes, longest)
}

// allocated returns the bytes that have been allocated on the heap. Unlike runtime.ReadMemStats it does
// not stop the world; small objects are counted up to a span (8 KiB a size class) late.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
