package reproduce

import (
	"testing"

	"dpnbench/internal/prose/prosetest"
)

// TestProse checks that every sentence is said, with the values that it shows.
func TestProse(t *testing.T) { prosetest.Check(t, ".", sentences, nil) }
