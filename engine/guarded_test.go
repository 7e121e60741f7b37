package engine

import (
	"errors"
	"fmt"
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

// TestPooledPixelsGuarded checks that the way back through pooling reads the numbers of pixels, which are bytes, only
// within their slice, and that all tiers have the same results.
func TestPooledPixelsGuarded(t *testing.T) {
	memory := guarded(t, 1)
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(memory))), 4*len(memory))
	for w := 1; w <= 35; w++ {
		for rows := 1; rows <= 3; rows++ {
			n := rows * w
			random, dy, numbers := num.NewRand(uint64(100*w+rows), 0), make([]float32, n), make([]byte, n)
			random.Normal(dy)
			for i := range numbers {
				numbers[i] = byte(random.Intn(NoPixel + 1))
			}
			var wantSums []float32
			for _, tier := range Available() {
				e := newTestEngine(t, WithTier(tier), WithThreads(1))
				for at, which := range [][]byte{all[:n], all[len(all)-n:]} {
					name := fmt.Sprintf("%v, %d x %d, place %d: ", tier, rows, w, at)
					copy(which, numbers)
					sums := NewMatrix(2*rows, 2*w)
					l := NewPatchLists(1, make([]int32, n+PoolSlack), make([]float32, n+PoolSlack), 100*(2*rows+1))
					e.Parallel(1, 0, 0, func(worker *Worker, _, _ int) {
						worker.PoolBackward(l, sums, dy, which, 1, 100)
					})
					if wantSums == nil {
						wantSums = sums.Data
					}
					equalBits(t, name+"sums", sums.Data, wantSums)
				}
			}
		}
	}
}
