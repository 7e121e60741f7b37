package dpn

import (
	"strings"
	"testing"
)

// TestExplain checks that the line is about the ascents that will be made: minibatches
// with the exact gradient, blocks of pictures without it and for evaluation, and never
// more rows than there are pictures.
func TestExplain(t *testing.T) {
	d, e := digits(t, 600, 100), newEngine(t)
	for _, c := range []struct {
		gradient          string
		batch, steps, val int
		training          bool
		prefix, holds     string
	}{
		{"exact", 128, 30, 0, true, "ascent of 128 rows, ", "backward pass"},
		{"exact", 580, 30, 50, true, "ascent of 550 rows, ", "backward pass"},
		{"detached", 128, 30, 0, true, "ascent of 512 rows, 10 steps at a time, once for all epochs, ", "block"},
		{"detached", 128, 4, 200, true, "ascent of 400 rows, 4 steps at a time, once for all epochs, ", "block"},
		{"exact", 128, 30, 0, false, "ascent of 100 rows, 10 steps at a time, ", "block"},
		{"detached", 128, 4, 0, false, "ascent of 100 rows, 4 steps at a time, ", "block"},
	} {
		config := tiny()
		config.Gradient, config.Batch, config.Steps, config.ValSize = c.gradient, c.batch, c.steps, c.val
		m, s := newModel(t, config, d), d.Test
		if c.training {
			s = d.Train
		}
		if got := m.Explain(e, s, c.training); !strings.HasPrefix(got, c.prefix) || !strings.Contains(got, c.holds) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
