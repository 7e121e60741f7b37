package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"dpnbench/engine/num"
	"dpnbench/internal/guardpages"
)

// readsMasked reports whether a tier may read up to two vectors beyond its slices: unlike CPUs,
// QEMU 7 also reads the bytes that the mask of a VMASKMOVPS excludes. Emulated tests run with
// -short.
func readsMasked(tier Tier) bool { return tier == AVX2 && testing.Short() }

// guarded returns at least n floats between two pages without access, or plain memory on
// systems that have none.
func guarded(t *testing.T, n int) []float32 {
	t.Helper()
	x, free, err := guardpages.Floats(n)
	if errors.Is(err, errors.ErrUnsupported) {
		return make([]float32, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := free(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestPooledPixelsGuarded checks that the way back through pooling reads gradients, numbers of pixels and places only
// within their slices, and that all tiers have the same results.
func TestPooledPixelsGuarded(t *testing.T) {
	floats, added, memory, words := guarded(t, 100), guarded(t, 100), guarded(t, 100), guarded(t, 100)
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(memory))), 4*len(memory))
	places := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(words))), len(words))
	for n := 1; n <= 100; n++ {
		random, p := num.NewRand(uint64(n), 0), NewPoolPlaces(1, n, 1, n)
		numbers, gradient := make([]byte, n), make([]float32, n)
		random.Normal(gradient)
		for i := range numbers {
			numbers[i] = byte(random.Intn(NoPixel + 1))
		}
		var wantAt []int32
		var want, wantSums []float32
		for _, tier := range Available() {
			e := newTestEngine(t, WithTier(tier), WithThreads(1))
			for _, end := range []bool{false, true} {
				dy, sums, which, first := floats[:n], added[:n], all[:n], places[:n]
				if end {
					dy, sums = floats[len(floats)-n:], added[len(added)-n:]
					which, first = all[len(all)-n:], places[len(places)-n:]
				}
				clear(sums)
				copy(dy, gradient)
				copy(which, numbers)
				copy(first, NewPoolPlaces(1, n, 1, n).first)
				p.first = first
				l := NewPatchLists(1, make([]int32, n+PoolSlack), make([]float32, n+PoolSlack), 3*n)
				e.Parallel(1, 0, 0, func(worker *Worker, _, _ int) { worker.PoolBackward(l, sums, dy, which, p) })
				gotAt, got := l.list(0)
				if want == nil {
					wantAt, want, wantSums = slices.Clone(gotAt), slices.Clone(got), slices.Clone(sums)
				}
				name := fmt.Sprintf("%v, %d gradients, at the end %v", tier, n, end)
				equalBits(t, name, got, want)
				equalBits(t, name, sums, wantSums)
				if !slices.Equal(gotAt, wantAt) {
					t.Errorf("%s: places %v, expected %v", name, gotAt, wantAt)
				}
			}
		}
	}
}
