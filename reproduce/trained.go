package reproduce

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

// TrainedOptions are the settings of RunTrained. The zero value is ready to use.
type TrainedOptions struct {
	Presets []string // (nil: raw, clean, compact)
	Seeds   int      // of each preset, 1, 2, ... (0: 3)
	Epochs  int      // (0: as the presets have it)
	Draws   int      // of the bootstrap behind intervals (0: 200)

	Progress Progress
}

// Trained is how networks whose potential has learned, by the exact gradient, separate the
// test pictures along their ascent, and a feed-forward network along its layers beside
// them.
type Trained struct {
	Data     string       `json:"data"`
	Pictures int          `json:"pictures"` // all test pictures
	Runs     []TrainedRun `json:"runs"`
	Forward  []ForwardRun `json:"forward"`
}

// TrainedRun is one training of a preset.
type TrainedRun struct {
	Preset       string        `json:"preset"`
	Seed         uint64        `json:"seed"`
	Epochs       int           `json:"epochs"`
	TestAccuracy float64       `json:"test_accuracy"`
	TestLoss     float64       `json:"test_loss"`
	MACs         int           `json:"macs_per_sample"`
	WeightsHash  string        `json:"weights_sha256"`
	Analysis     *dpn.Analysis `json:"analysis"`
}

// ForwardRun is one training of He and Su's feed-forward network, 7 hidden layers of 100
// with BatchNorm, on the same pictures at full size.
type ForwardRun struct {
	Seed         uint64             `json:"seed"`
	TestAccuracy float64            `json:"test_accuracy"`
	Layers       []string           `json:"layers"`
	D            []separation.Float `json:"fuzziness"` // on the test pictures
	Law          *separation.Law    `json:"law"`       // without the logits
}

// forwardEpochs is how long the feed-forward network beside the presets is trained.
const forwardEpochs = 6

// RunTrained trains each preset from several seeds and measures D after every ascent step
// on all test pictures.
func RunTrained(ctx context.Context, e *engine.Engine, data *dataset.Data, o TrainedOptions) (*Trained, error) {
	if o.Presets == nil {
		o.Presets = []string{"raw", "clean", "compact"}
	}
	for v, d := range map[*int]int{&o.Seeds: 3, &o.Draws: 200} {
		if *v == 0 {
			*v = d
		}
	}
	out := &Trained{Data: data.Name, Pictures: data.Test.Len()}
	done, all := 0, (len(o.Presets)+1)*o.Seeds
	for _, preset := range o.Presets {
		for s := range o.Seeds {
			o.Progress.at("trained: "+preset, done, all)
			done++
			run, err := trainedRun(ctx, e, data, preset, uint64(s+1), o)
			if err != nil {
				return nil, fmt.Errorf("trained: %s, seed %d: %w", preset, s+1, err)
			}
			out.Runs = append(out.Runs, *run)
		}
	}
	train, test := baseline.Pictures(data.Train, data.Norm), baseline.Pictures(data.Test, data.Norm)
	for s := range o.Seeds {
		o.Progress.at("trained: feed-forward", done, all)
		done++
		run := ForwardRun{Seed: uint64(s + 1)}
		n, err := baseline.NewMLP(baseline.HeSu(data.Train.Pixels(), 6, data.Classes), run.Seed)
		if err != nil {
			return nil, err
		}
		t := baseline.Training{Optimiser: baseline.Adam, LR: 1e-3, Schedule: layer.Cosine, Warmup: 0.05, Clip: 1, Epochs: forwardEpochs, Batch: 128, Seed: run.Seed}
		if o.Epochs > 0 {
			t.Epochs = o.Epochs
		}
		if _, err := n.Fit(ctx, e, train, t, nil); err != nil {
			return nil, err
		}
		score, err := n.Score(ctx, e, test)
		if err != nil {
			return nil, err
		}
		run.TestAccuracy = score.Accuracy
		if run.Layers, run.D, err = fuzzinessOfLayers(ctx, e, n, test, 0); err != nil {
			return nil, err
		}
		last := len(run.Layers) - 1
		run.Law = fit(run.Layers[:last], run.D[:last])
		out.Forward = append(out.Forward, run)
	}
	return out, nil
}

func trainedRun(ctx context.Context, e *engine.Engine, data *dataset.Data, preset string, seed uint64, o TrainedOptions) (*TrainedRun, error) {
	c, err := dpn.Preset(preset)
	if err != nil {
		return nil, err
	}
	c.Seed = seed
	if o.Epochs > 0 {
		c.Epochs = o.Epochs
	}
	m, err := dpn.New(c, data)
	if err != nil {
		return nil, err
	}
	if _, err := m.Fit(ctx, e, data.Train, dpn.FitOptions{}); err != nil {
		return nil, err
	}
	score, err := m.Score(ctx, e, data.Test)
	if err != nil {
		return nil, err
	}
	a, err := m.Analyze(ctx, e, data.Test, dpn.AnalyzeOptions{Draws: o.Draws, Seed: 1})
	if err != nil {
		return nil, err
	}
	return &TrainedRun{Preset: preset, Seed: seed, Epochs: c.Epochs, TestAccuracy: score.Accuracy, TestLoss: score.Loss,
		MACs: m.MACs(), WeightsHash: m.WeightsSHA256(), Analysis: a}, nil
}
