package engine

import (
	"errors"
	"testing"

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
