package engine

import (
	"errors"
	"testing"

	"dpnbench/internal/walls"
)

// walled returns at least n floats between two pages without access, or plain memory on
// systems that have none.
func walled(t *testing.T, n int) []float32 {
	t.Helper()
	x, free, err := walls.Floats(n)
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
