package reproduce

import (
	"cmp"
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/report"
)

// TrainedOptions are the settings of RunTrained. The zero value is ready to use.
type TrainedOptions struct {
	Presets []string // (nil: raw, clean, compact)
	Seeds   int      // number of seeds 1, 2, ... of each preset (0: 3)
	Epochs  int      // (0: as in the presets)
	Draws   int      // bootstrap draws for intervals (0: 200)

	Progress Progress
	Parts    *Parts // where finished trainings are kept; nil: nowhere
}

// Trained is the class separation of the test images along the ascent of networks trained with
// the exact gradient, and along the layers of feed-forward networks for comparison.
type Trained struct {
	Data    string       `json:"data"`
	Images  int          `json:"images"` // all test images
	Runs    []TrainedRun `json:"runs"`
	Forward []ForwardRun `json:"forward"`

	// Walk shows the first training of the first preset.
	Walk *report.Walk `json:"-"`
}

// TrainedRun is one training of a preset.
type TrainedRun struct {
	Preset       string          `json:"preset"`
	Seed         uint64          `json:"seed"`
	Epochs       int             `json:"epochs"`
	TestAccuracy float64         `json:"test_accuracy"`
	TestLoss     float64         `json:"test_loss"`
	MACs         int             `json:"macs_per_sample"`
	WeightsHash  string          `json:"weights_sha256"`
	Analysis     *study.Analysis `json:"analysis"`
}

// ForwardRun is one training of a feed-forward network on all training images at full size: He and
// Su's with 7 hidden layers of 100 and BatchNorm, or a small CNN.
type ForwardRun struct {
	Network      string             `json:"network"`
	Seed         uint64             `json:"seed"`
	TestAccuracy float64            `json:"test_accuracy"`
	Layers       []string           `json:"layers"`
	D            []separation.Float `json:"fuzziness"` // on the test images
	Law          *separation.Law    `json:"law"`       // without the logits
}

// forwardEpochs is the length of the training of the feed-forward networks.
const forwardEpochs = 6

// RunTrained trains each preset from several seeds and measures D after every ascent step
// on all test images.
func RunTrained(ctx context.Context, e *engine.Engine, data *dataset.Data, o TrainedOptions) (*Trained, error) {
	if o.Presets == nil {
		o.Presets = []string{"raw", "clean", "compact"}
	}
	for v, d := range map[*int]int{&o.Seeds: 3, &o.Draws: 200} {
		if *v == 0 {
			*v = d
		}
	}
	out := &Trained{Data: data.Name, Images: data.Test.Len()}
	done, all := 0, (len(o.Presets)+len(forwardNetworks))*o.Seeds
	for _, preset := range o.Presets {
		for s := range o.Seeds {
			begin := func() { o.Progress.seed("trained: "+preset, s, o.Seeds, done, all) }
			name := fmt.Sprintf("trained: %s, seed %d", preset, s+1)
			u, err := unit(o.Parts, name, begin, func(dir string) (trainedUnit, error) {
				return o.run(ctx, e, data, TrainedRun{Preset: preset, Seed: uint64(s + 1)}, dir)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			done++
			out.Runs = append(out.Runs, u.Run)
			if out.Walk == nil {
				out.Walk = u.Walk
			}
		}
	}
	train, test := baseline.Rows(data.Train, data.Norm), baseline.Rows(data.Test, data.Norm)
	for _, network := range forwardNetworks {
		for s := range o.Seeds {
			begin := func() { o.Progress.seed("trained: "+network.name, s, o.Seeds, done, all) }
			name := fmt.Sprintf("forward: %s, seed %d", network.name, s+1)
			run, err := unit(o.Parts, name, begin, func(string) (ForwardRun, error) {
				run := ForwardRun{Network: network.name, Seed: uint64(s + 1)}
				n, err := network.make(data, run.Seed)
				if err != nil {
					return run, err
				}
				t, err := baselineTraining(network.preset, cmp.Or(o.Epochs, forwardEpochs), run.Seed)
				if err != nil {
					return run, err
				}
				return run, run.measure(ctx, e, n, t, train, test)
			})
			if err != nil {
				return nil, fmt.Errorf("trained: %s: %w", name, err)
			}
			done++
			out.Forward = append(out.Forward, run)
		}
	}
	return out, nil
}

// forwardNetworks are compared with the presets.
var forwardNetworks = []struct {
	name, preset string // preset: whose rate and schedule it has
	make         func(data *dataset.Data, seed uint64) (*baseline.Network, error)
}{
	{"BatchNorm, 7 x 100", "mlp", func(data *dataset.Data, seed uint64) (*baseline.Network, error) {
		return baseline.NewMLP(baseline.HeSu(data.Train.Shape.Len(), 6, len(data.Classes)), seed)
	}},
	{"CNN", "cnn", func(data *dataset.Data, seed uint64) (*baseline.Network, error) {
		return baseline.NewCNN(data.Train.Shape, len(data.Classes), seed)
	}},
}

// measure trains a network and measures D at each of its layers.
func (r *ForwardRun) measure(ctx context.Context, e *engine.Engine, n *baseline.Network, t baseline.Training, train,
	test baseline.Samples) error {
	if _, err := n.Fit(ctx, e, train, t, nil); err != nil {
		return err
	}
	score, err := n.Score(ctx, e, test)
	if err != nil {
		return err
	}
	r.TestAccuracy = score.Accuracy
	if r.Layers, r.D, err = fuzzinessOfLayers(ctx, e, n, test, 0); err != nil {
		return err
	}
	last := len(r.Layers) - 1
	r.Law = fit(r.Layers[:last], r.D[:last])
	return nil
}

// trainedUnit is one training of a preset.
type trainedUnit struct {
	Run  TrainedRun   `json:"run"`
	Walk *report.Walk `json:"walk,omitempty"` // of the first one
}

// run completes r, which has preset and seed.
func (o *TrainedOptions) run(ctx context.Context, e *engine.Engine, data *dataset.Data, r TrainedRun,
	dir string) (trainedUnit, error) {
	u := trainedUnit{Run: r}
	c, err := dpn.Preset(r.Preset)
	if err != nil {
		return u, err
	}
	c.Seed = r.Seed
	if o.Epochs > 0 {
		c.Epochs = o.Epochs
	}
	m, err := dpn.New(c, data)
	if err != nil {
		return u, err
	}
	if err := trainModel(ctx, e, m, data, dir); err != nil {
		return u, err
	}
	score, err := m.Score(ctx, e, data.Test)
	if err != nil {
		return u, err
	}
	a, err := study.Analyze(ctx, e, m, data.Test, study.AnalyzeOptions{Draws: o.Draws, Seed: 1})
	if err != nil {
		return u, err
	}
	u.Run = TrainedRun{Preset: r.Preset, Seed: r.Seed, Epochs: c.Epochs, TestAccuracy: score.Accuracy,
		TestLoss: score.Loss, MACs: m.MACs(), WeightsHash: m.WeightsSHA256(), Analysis: a}
	if r.Seed == 1 && r.Preset == o.Presets[0] {
		u.Walk, err = newWalk(ctx, e, m, data.Test)
	}
	return u, err
}
