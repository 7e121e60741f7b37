package engine

import (
	"bytes"
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

// TestPooledPixelsGuarded checks that pooling writes and reads the numbers of pixels, which are bytes, only within
// their slice, that others are kept, and that all tiers have the same results.
func TestPooledPixelsGuarded(t *testing.T) {
	memory := guarded(t, 1)
	all := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(memory))), 4*len(memory))
	for w := 1; w <= 35; w++ {
		for rows := 1; rows <= 3; rows++ {
			n := rows * w
			random, image, dy := num.NewRand(uint64(100*w+rows), 0), NewMatrix(2*rows, 2*w), make([]float32, n)
			random.Normal(image.Data)
			random.Normal(dy)
			var wantWhich []byte
			var wantSums []float32
			for _, tier := range Available() {
				e := newTestEngine(t, WithTier(tier), WithThreads(1))
				for at, which := range [][]byte{all[:n], all[len(all)-n:]} {
					for i := range all {
						all[i] = 0xee
					}
					name := fmt.Sprintf("%v, %d x %d, place %d: ", tier, rows, w, at)
					y, sums := make([]float32, n), NewMatrix(2*rows, 2*w)
					l := NewPatchLists(1, make([]int32, n+PoolSlack), make([]float32, n+PoolSlack), 100*(2*rows+1))
					e.Parallel(1, 0, 0, func(worker *Worker, _, _ int) {
						worker.ReLUPool(y, which, image)
						worker.PoolBackward(l, sums, dy, which, 1, 100)
					})
					if others := bytes.Count(all, []byte{0xee}); others != len(all)-n {
						t.Fatalf("%s%d bytes kept, expected %d", name, others, len(all)-n)
					}
					if wantWhich == nil {
						wantWhich, wantSums = bytes.Clone(which), sums.Data
					}
					if !bytes.Equal(which, wantWhich) {
						t.Fatalf("%spixels %v, expected %v", name, which, wantWhich)
					}
					equalBits(t, name+"sums", sums.Data, wantSums)
				}
			}
		}
	}
}
