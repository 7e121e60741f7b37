package dpn

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
)

// placedHashes are the hashes of the weights after the placement of the centres on
// built-in digits by EM (em for full, em-classwise otherwise), on every machine.
var placedHashes = map[string]string{
	potential.FormFull:    "3f32f69dd5330c21",
	potential.FormTied:    "22bf01c65033ad0f",
	potential.FormDiag:    "cb0fa3dd37f62e5b",
	potential.FormLowRank: "dd58d137afbf76fb",
	potential.FormFlat:    "da951731849cd7d3",
}

// TestPlacedBits places centres by EM on every tier and with several numbers of threads: the
// same bits as committed.
func TestPlacedBits(t *testing.T) {
	d := digits(t, 300, 10)
	options := [][]engine.Option{{engine.WithThreads(1)}, {engine.WithThreads(3), engine.WithEagerThreads()}}
	for _, tier := range engine.Available()[1:] {
		options = append(options, []engine.Option{engine.WithTier(tier)})
	}
	for _, form := range potential.Forms() {
		c := tiny()
		c.Form, c.Rank, c.Components, c.Init, c.EMIterations = form, 3, 10, InitEMClasswise, 5
		if form == potential.FormFull {
			c.Init = InitEM
		}
		for _, o := range options {
			e, m := newEngine(t, o...), newModel(t, c, d)
			r, err := m.Init(context.Background(), e, d.Train)
			if err != nil {
				t.Fatal(err)
			}
			if r.EM == nil || r.EM.Iterations == 0 {
				t.Fatalf("%s: no EM: %+v", form, r.EM)
			}
			got, want := m.WeightsSHA256(), placedHashes[form]
			if want == "" {
				t.Errorf("no hash of form %s in placedHashes (dpn/init_test.go): the weights hash to %.16s", form, got)
			} else if !strings.HasPrefix(got, want) {
				t.Errorf("%s, %v: weights hash to %s, want %s...", form, e.Tier(), got, want)
			}
		}
	}
}

// TestEMTrains trains from a fitted mixture of each form: alpha is at most 1 over the largest
// eigenvalue, the loss falls, and resuming gives the same bits as training in one go.
func TestEMTrains(t *testing.T) {
	d, e := digits(t, 300, 10), newEngine(t)
	forms := potential.Forms()
	if testing.Short() {
		forms = forms[:1]
	}
	for _, form := range forms {
		c := tiny()
		c.Form, c.Rank, c.Init, c.Epochs = form, 3, InitEM, 3
		whole := newModel(t, c, d)
		calls := 0
		r, err := whole.Fit(context.Background(), e, d.Train, FitOptions{OnEM: func(done, all int) {
			if done != calls || all != c.EMIterations {
				t.Errorf("%s: iteration %d of %d, want %d of %d", form, done, all, calls, c.EMIterations)
			}
			calls++
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Init.EM; calls != got.Iterations+1 {
			t.Errorf("%s: %d calls for %d iterations", form, calls, got.Iterations)
		}
		if !(r.Epochs[2].TrainLoss <= 0.95*r.Epochs[0].TrainLoss) {
			t.Errorf("%s: the loss goes from %v to %v", form, r.Epochs[0].TrainLoss, r.Epochs[2].TrainLoss)
		}
		first := newModel(t, c, d)
		train, _, err := first.split(d.Train)
		if err != nil {
			t.Fatal(err)
		}
		placed, err := first.Init(context.Background(), e, train)
		if err != nil {
			t.Fatal(err)
		}
		if a := float64(first.Potential().Alpha()); a*placed.EM.LambdaMax > 1.00001 {
			t.Errorf("%s: alpha %v with an eigenvalue of %v", form, a, placed.EM.LambdaMax)
		}

		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		if _, err := newModel(t, c, d).Fit(ctx, e, d.Train, FitOptions{Dir: dir,
			OnEpoch: func(Epoch) { cancel() }}); !errors.Is(
			err, context.Canceled) {
			t.Fatalf("%s: error %v", form, err)
		}
		resumed := newModel(t, c, d)
		again, err := resumed.Fit(context.Background(), e, d.Train, FitOptions{Dir: dir, Resume: true})
		if err != nil {
			t.Fatal(err)
		}
		if again.Init != nil {
			t.Errorf("%s: a placement after resuming", form)
		}
		if got, want := resumed.WeightsSHA256(), whole.WeightsSHA256(); got != want {
			t.Errorf("%s: weights hash to %s after resuming, %s in one go", form, got, want)
		}
	}
}

// TestInitSamples trains from drawn centres.
func TestInitSamples(t *testing.T) {
	d, e := digits(t, 200, 10), newEngine(t)
	for _, form := range []string{potential.FormFull, potential.FormFlat} {
		c := tiny()
		c.Form, c.Rank, c.Init = form, 3, InitSamples
		m := newModel(t, c, d)
		r, err := m.Fit(context.Background(), e, d.Train, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Init.EM != nil || r.Init.Clusters == nil || !(r.Epochs[3].TrainLoss <= 0.95*r.Epochs[0].TrainLoss) {
			t.Errorf("%s: %+v, loss from %v to %v", form, r.Init, r.Epochs[0].TrainLoss, r.Epochs[3].TrainLoss)
		}
	}
}

// TestBlackImage checks that the origin of a potential on pixels is a black image, whatever sets the normalisation.
func TestBlackImage(t *testing.T) {
	e, data := newEngine(t), digits(t, 60, 10)
	for preset, pixels := range map[string]bool{"robust": true, "robust-small": true, "compact": false} {
		c, _ := Preset(preset)
		c.Form, c.Rank, c.Components = potential.FormFlat, 3, 2
		m := newModel(t, c, data)
		origin := func() []float32 { return m.potential.Mixture(e).Origin }
		if black := m.Norm.Table(0)[0]; pixels != (len(origin()) == 784) || pixels && origin()[99] != black {
			t.Errorf("%s: origin %v, a black pixel is %v", preset, origin(), black)
		}
		m.SetNorm(dataset.Uniform(0.5, 0.25))
		if got := origin(); m.Norm.Mean[0] != 0.5 || pixels && got[99] != -2 || !pixels && got != nil {
			t.Errorf("%s: origin %v with the mean 0.5 and the deviation 0.25", preset, got)
		}
	}
}
