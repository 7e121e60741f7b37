package report

import (
	"testing"

	"dpnbench/internal/prose/prosetest"
)

// TestProse checks that every sentence is said, with the values that it shows.
func TestProse(t *testing.T) {
	parts := map[string][]string{}
	for _, part := range []string{
		partClasses, partSeparation, partPaths, partPotential, partUnknown, partMisclassified, partCalibration,
		"part steps",
		"part " +
			"numbers",
	} {
		parts[part] = nil
	}
	prosetest.Check(t, ".", text, parts)
}
