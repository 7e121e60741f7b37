package engine

import (
	"errors"
	"testing"

	"dpnbench/internal/guardpages"
)

// readsMasked tells whether a tier may read up to two vectors beyond its slices here: QEMU 7 reads the
// bytes too that the mask of a VMASKMOVPS leaves out, which the processor does not. Emulated tests
// are those with -short.
func readsMasked(tier Tier) bool { return tier == AVX2 && testing.Short() }

// walled returns at least n floats between two pages without access, or plain memory on
// systems that have none.
func walled(t *testing.T, n int) []float32 {
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
