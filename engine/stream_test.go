package engine

import (
	"fmt"
	"testing"
)

// TestStreams compares the streams of every tier with plain loops at all short lengths, on
// numbers with which every rounding is exact, and looks for bytes touched beyond the end.
func TestStreams(t *testing.T) {
	const guard = 7
	for _, tier := range Available() {
		k := newTestEngine(t, WithTier(tier)).k
		for n := range 300 {
			dst, x, y := make([]float32, n+2*guard), make([]float32, n), make([]float32, n)
			for j := range n {
				x[j], y[j] = float32(j), float32(3*j+1)
			}
			k.streamRead(x, 2)
			for _, c := range []struct {
				what string
				run  func(d []float32)
				want func(j int) float32
			}{
				{"write", func(d []float32) { k.streamWrite(d, 5, 2) }, func(int) float32 { return 5 }},
				{"triad", func(d []float32) { k.streamTriad(d, x, y, 0.5, 2) }, func(j int) float32 { return x[j] + 0.5*y[j] }},
			} {
				for j := range dst {
					dst[j] = -1
				}
				c.run(dst[guard : guard+n])
				for j, got := range dst {
					want := float32(-1)
					if guard <= j && j < guard+n {
						want = c.want(j - guard)
					}
					if got != want {
						t.Fatalf("%v, %s of %d: element %d is %v, want %v", tier, c.what, n, j-guard, got, want)
					}
				}
			}
		}
	}
}

func TestRunStream(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		e := newTestEngine(t, WithThreads(threads))
		for s, want := range map[Stream]float64{Read: 4000, Write: 4000, Triad: 3996} {
			if got := e.RunStream(s, 4000, 5); got != want*5*float64(threads) {
				t.Errorf("%v on %d threads: %v bytes, want %v", s, threads, got, want*5*float64(threads))
			}
		}
		if n := testing.AllocsPerRun(20, func() { e.RunStream(Read, 1<<20, 2) }); n > 0.5 {
			t.Errorf("%d threads: %v allocations", threads, n)
		}
		e.ReleaseStreams()
	}
}

func TestRunAdditions(t *testing.T) {
	for rounds, want := range map[int]float64{0: 0, 1: 64, 1000: 64000} {
		if got := RunAdditions(rounds); got != want {
			t.Errorf("%d rounds: %v cycles, want %v", rounds, got, want)
		}
	}
}

// TestPinCaller checks that the caller runs on one processor, and on all again afterwards.
func TestPinCaller(t *testing.T) {
	before, err := allowed()
	if err != nil {
		t.Skip(err)
	}
	e, err := New(WithThreads(len(before)), WithPinnedThreads())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := New(WithThreads(len(before)+1), WithPinnedThreads()); err == nil {
		t.Error("more pinned threads than processors")
	}
	undo, err := PinCaller()
	if err != nil {
		t.Fatal(err)
	}
	if now, err := allowed(); err != nil || len(now) != 1 || now[0] != before[0] {
		t.Errorf("pinned to %v, %v; want the first of %v", now, err, before)
	}
	a, c := points(200, 200), NewMatrix(200, 200)
	e.MatMul(c, a, a, false)
	undo()
	if now, err := allowed(); err != nil || fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("afterwards on %v, %v; want %v", now, err, before)
	}
}
