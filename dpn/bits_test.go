package dpn

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// trainedHashes are the hashes of the weights after a short training of each preset on
// built-in digits, on every tier, number of threads and machine. The networks in pixel
// space have few components and two steps only, those with matrices P_i smaller images, and
// convolutions few updates, for the sake of pure Go and of emulated machines.
var trainedHashes = map[string]string{
	"compact":      "7ff9094c1deac44f",
	"clean":        "51ff29d724dfa05a",
	"paper":        "034a0d1959a94abe",
	"published":    "2c23fb75d006c92b",
	"raw":          "b8a03abbd71b28d0",
	"robust":       "f3f7f99abde6b506",
	"robust-small": "4cb68bea20d1deb6",
	"noise":        "a0fc518549dbb05c",
	"invariant":    "73fd2386e6748030",
	"tabular":      "48194e7d2be4603b",
	"cnn":          "a5f3e0f22621d537",
	"mnistc-cnn":   "ab0b0fed87335424",
	"mlp":          "ccdc9f4b34f1ae70",
	"linear":       "ed89487f35ba8a8f",
}

// TestTrainedBits trains the same networks on every tier and with several numbers of
// threads: the same bits as committed. With two threads a profile measures the updates: that changes no bit, and
// finds every phase.
func TestTrainedBits(t *testing.T) {
	type run struct {
		name    string
		route   ascent.Route
		options []engine.Option
	}
	const auto = ascent.AutoRoute
	runs := []run{
		{"one thread", auto, []engine.Option{engine.WithThreads(1)}},
		{"two threads", auto, []engine.Option{engine.WithThreads(2)}},
		{"three eager threads", auto, []engine.Option{engine.WithThreads(3), engine.WithEagerThreads()}},
		{"eight threads", auto, []engine.Option{engine.WithThreads(8)}},
	}
	for _, tier := range engine.Available()[1:] { // the first is what the runs above use
		runs = append(runs, run{tier.String(), auto, []engine.Option{engine.WithTier(tier)}})
	}
	for _, tier := range engine.Available() {
		runs = append(runs,
			run{"sparse on " + tier.String(), ascent.SparseRoute, []engine.Option{engine.WithTier(tier)}})
	}
	runs = append(runs, run{"dense", ascent.DenseRoute, nil})
	if testing.Short() {
		runs = runs[1:2]
	}
	presets := Presets()
	if testing.Short() { // their layers are those of others, and they take a minute under emulation
		presets = slices.DeleteFunc(presets, func(name string) bool {
			return name == "mlp" || name == "cnn" || name == "invariant"
		})
	}
	for _, preset := range presets {
		c, d := trainedConfig(t, preset)
		for _, r := range runs {
			t.Run(preset+"/"+r.name, func(t *testing.T) {
				m := newModel(t, c, d)
				m.SetRoute(r.route)
				var o FitOptions
				if r.name == "two threads" {
					o.Profile = &Profile{Clock: new(ticks).now}
				}
				res, err := m.Fit(context.Background(), newEngine(t, r.options...), d.Train, o)
				if err != nil {
					t.Fatal(err)
				}
				if o.Profile != nil {
					checkPhases(t, m, o.Profile)
				}
				if res.Updates != c.MaxUpdates {
					t.Errorf("%d updates, want %d", res.Updates, c.MaxUpdates)
				}
				want := trainedHashes[preset]
				if got := m.WeightsSHA256(); want == "" || !strings.HasPrefix(got, want) {
					t.Errorf("weights hash to %s, want %s...", got, want)
				}
			})
		}
	}
}

// trainedConfig returns the settings of the short training of a preset, and its samples.
func trainedConfig(t *testing.T, preset string) (Config, *dataset.Data) {
	c, _ := Preset(preset)
	images, updates := 1000, 4
	switch c.Extractor {
	case "identity":
		images, updates = 120, 2
		c.Batch = 16
		if c.Steps > 0 {
			c.Components, c.Steps = 2, 2
		}
		if c.Init == "classwise" {
			c.Components = 10
		}
	case "conv":
		images, updates, c.Batch = 120, 4, 16
	case "conv3":
		images, updates, c.Batch = 40, 4, 8
	}
	c.MaxUpdates = updates
	d := digits(t, images, 10)
	if preset == "paper" || preset == "published" { // P_i of 784 features take a minute to emulate
		small, err := d.Train.Resize(14, 14)
		if err != nil {
			t.Fatal(err)
		}
		d.Train = small
	}
	if c.Extractor == "conv3" {
		small, err := d.Train.Resize(13, 14)
		if err != nil {
			t.Fatal(err)
		}
		d.Train = small
	}
	if preset == "paper" { // enough steps for runs to be combined
		c.Steps = 17
	}
	return c, d
}

// TestRoutes trains potentials with many components by both routes: the same bits, and few
// components computed.
func TestRoutes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation; TestTrainedBits has both routes, too")
	}
	d := digits(t, 300, 10)
	for n, preset := range []string{"paper", "published", "robust", "raw", "clean", "paper"} {
		c, _ := Preset(preset)
		c.Batch, c.MaxUpdates = 32, 3
		few := n == 5 // of many components are used by a minibatch
		if preset == "paper" || preset == "published" {
			c.Components, c.Steps = 8, 4
		}
		if few {
			c.Components, c.Batch = 24, 4
		}
		if c.Extractor == "conv" {
			c.MaxUpdates = 2
		}
		var want string
		for _, route := range []ascent.Route{ascent.DenseRoute, ascent.SparseRoute, ascent.AutoRoute} {
			e := newEngine(t, engine.WithThreads(2))
			m := newModel(t, c, d)
			m.SetRoute(route)
			res, err := m.Fit(context.Background(), e, d.Train, FitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := m.WeightsSHA256()
			switch a := res.Epochs[0].Ascent; {
			case preset == "published":
				if a != nil {
					t.Errorf("%s: an ascent of an update that there is not: %+v", preset, a)
				}
			case route == ascent.DenseRoute:
				if a.Route != "dense" || a.Saved != 0 || a.Steps != nil {
					t.Errorf("%s: the dense route cost %+v", preset, a)
				}
			case route == ascent.SparseRoute:
				computed := 0.0
				for _, s := range a.Steps {
					computed += s.Computed
				}
				if left := 1 - computed/float64(c.Components*c.Steps); a.Route != "sparse" || len(a.Steps) != c.Steps ||
					!(math.Abs(a.Saved-left) <= 1e-9) {
					t.Errorf("%s: the sparse route cost %+v", preset, a)
				}
				if preset == "paper" && !(a.Saved > 0.5) {
					t.Errorf("%s: %.2f saved", preset, a.Saved)
				}
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s: weights hash to %s by the %v route, %s by the dense one", preset, got, route, want)
			}
			if took := m.potential.Work().Route; took == ascent.AutoRoute || route != ascent.AutoRoute &&
				took != route {
				t.Errorf("%s: the ascent took the %v route, want %v", preset, took, route)
			}
		}
	}
}

// TestRowsAlone checks that an image has the same logits alone and within a set.
func TestRowsAlone(t *testing.T) {
	d := digits(t, 200, 70)
	e := newEngine(t)
	c := tiny()
	c.Epochs = 1
	m := newModel(t, c, d)
	if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := m.Denoised(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Test.Len() {
		one, err := m.Denoised(context.Background(), e, d.Test.Slice(i, i+1))
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range one.Row(0) {
			if math.Float32bits(v) != math.Float32bits(x.At(i, j)) {
				t.Fatalf("image %d, feature %d: %v alone, %v among others", i, j, v, x.At(i, j))
			}
		}
	}
}
