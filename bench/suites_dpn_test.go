package bench

import (
	"slices"
	"testing"

	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// TestBegun checks that updates are timed as training makes them: full precisions of a
// potential that learns have no zeros left to leave out, those of one that does not learn
// have; and every engine begins with the same network.
func TestBegun(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: places centres for many engines, six times as long with the race detector")
	}
	data, err := digits(1000, 10)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(c dpn.Config, options ...engine.Option) *dpn.Model {
		e := newEngine(t, options...)
		m, _, err := begun(c, e, data, ascent.AutoRoute)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, name := range []string{"compact", "paper", "published"} {
		c, err := dpn.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		m := begin(c)
		a, d := tensor(m, "denoising_potential.A"), m.Dim()
		for i := range c.Components {
			beside := 0 // elements beside the diagonal that are not 0
			for j, v := range a[i*d*d : (i+1)*d*d] {
				if v != 0 && j/d != j%d {
					beside++
				}
			}
			// Two pixels that are black in all images stay apart.
			if c.Gradient == dpn.GradientExact && beside < d*d/2 || c.Gradient != dpn.GradientExact && beside > 0 {
				t.Errorf("%s: A_%d has %d of %d elements beside the diagonal", name, i, beside, d*d-d)
			}
		}
		if name != "compact" {
			continue
		}
		if other := begin(c, engine.WithTier(engine.Generic),
			engine.WithThreads(1)); other.WeightsSHA256() != m.WeightsSHA256() {
			t.Errorf("%s: the network differs between engines", name)
		}
	}
}

// TestUpdateAfterCheck checks that the first update that is timed computes P_i: the check of the row has, of the same
// parameters.
func TestUpdateAfterCheck(t *testing.T) {
	g := trainSuite()[slices.IndexFunc(trainSuite(), func(g benchmark) bool { return g.name == "compact" })]
	setup, err := g.setup()
	if err != nil {
		t.Fatal(err)
	}
	w, err := setup(newEngine(t, engine.WithThreads(1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.op(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.check(); err != nil {
		t.Fatal(err)
	}
	w.profile(nil)
	defer w.close()
	if err := w.op(); err != nil {
		t.Fatal(err)
	}
	for _, p := range w.phases() {
		if p.Phase == dpn.PhasePrecisions.String() && p.Seconds < p.Flop/2e12 { // no processor computes them as fast
			t.Errorf("P_i of the first update after the check took %v s", p.Seconds)
		}
	}
}

// TestPresetParameters compares the counts that name rows with those of the networks.
func TestPresetParameters(t *testing.T) {
	data, err := digits(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"compact", "paper"} {
		c, err := dpn.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := dpn.New(c, data)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := presetParameters(name), m.Parameters(); got != want {
			t.Errorf("%s: %d parameters, the network has %d", name, got, want)
		}
	}
}
