package reproduce

import (
	"cmp"
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

const (
	// robustDropout is the dropout rate of hidden layers in Srivastava et al. (2014).
	robustDropout = 0.5

	// nearestMeans is a number of class-wise means whose product with an image costs about as
	// much as the other baselines.
	nearestMeans = 1300

	// Seeds by default: enough for intervals of differences, and fewer of the preset that costs six times as much as
	// the networks that are compared.
	robustSeeds, costliestSeeds = 5, 3
	costliest                   = "robust"
)

// RobustOptions are the settings of RunRobust. The zero value is ready to use.
type RobustOptions struct {
	Seeds  int // number of seeds 1, 2, ... (0: 5, of the preset robust 3)
	Epochs int // of every training (0: as in the presets; baselines as the DPN of equal cost)

	Progress Progress
	Parts    *Parts // where finished trainings are kept; nil: nowhere
}

// Robust compares the robustness of DPNs and baselines of equal cost, trained on the same clean
// images, and with the same noise (layer.Noise, standard deviation 0.3 to 0.5) on half of each
// minibatch.
type Robust struct {
	Data     string          `json:"data"`
	Images   int             `json:"images"`           // test images
	SHA256   string          `json:"images_sha256"`    // of all images and labels
	Epochs   int             `json:"epochs"`           // as requested; 0: as in the presets
	Split    string          `json:"validation_split"` // how validation images are kept from all networks
	Networks []RobustNetwork `json:"networks"`
}

// RobustNetwork is a network, or a classification rule, over the seeds.
type RobustNetwork struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`           // dpn, rule (on the potential of robust-small) or baseline
	Noisy bool   `json:"noisy_training"` // trained with noise
	layer.Cost
	Runs []RobustRun `json:"runs"`
}

// Kinds of networks.
const (
	kindDPN      = "dpn"
	kindRule     = "rule"
	kindBaseline = "baseline"
)

// RobustRun is the result of one training on the test images.
type RobustRun struct {
	Seed         uint64       `json:"seed"`
	TestAccuracy float64      `json:"test_accuracy"` // clean
	Noisy        []NoisyScore `json:"noisy"`
	// SuiteAccuracy is the mean over dataset.RobustnessSuite, for the first seed only.
	SuiteAccuracy *float64 `json:"suite_accuracy,omitempty"`
}

// trained is a network that can be measured.
type trained struct {
	name, kind string
	cost       layer.Cost
	accuracy   func(c dataset.Corruption) (float64, error)
}

// setup is what all networks of the experiment share.
type setup struct {
	e      *engine.Engine
	data   *dataset.Data
	epochs int
	dir    string // for the state of the training, or ""
}

// train returns the training images without those that presets keep for validation.
func (a *setup) train(seed uint64) (*dataset.Set, error) {
	c, err := dpn.Preset("robust")
	if err != nil {
		return nil, err
	}
	c.Seed = seed
	train, _, err := c.Split(a.data.Train)
	return train, err
}

// contender is a training, which gives one or more networks.
type contender struct {
	name  string
	noisy bool
	run   func(ctx context.Context, a *setup, seed uint64, noisy bool) ([]trained, error)
}

// robustUnit is one training: the network, and those that come from it.
type robustUnit struct {
	Networks []robustResult `json:"networks"`
}

// robustResult is a network with one run.
type robustResult struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	layer.Cost
	Run RobustRun `json:"run"`
}

// contenders of the experiment, in the order of its table.
func contenders() []contender {
	mlp := func(dropout float64, hidden ...int) func(a *setup, seed uint64) (*baseline.Network, error) {
		return func(a *setup, seed uint64) (*baseline.Network, error) {
			widths := append([]int{a.data.Train.Shape.Len()}, hidden...)
			return baseline.NewMLP(baseline.MLP{Widths: append(widths, len(a.data.Classes)), Dropout: dropout}, seed)
		}
	}
	cnn := func(a *setup, seed uint64) (*baseline.Network, error) {
		return baseline.NewCNN(a.data.Train.Shape, len(a.data.Classes), seed)
	}
	var list []contender
	for _, noisy := range []bool{false, true} {
		if noisy {
			list = append(list, contender{"noise", noisy, trainPreset("noise")})
		} else {
			list = append(list,
				contender{"robust", noisy, trainPreset("robust")},
				contender{"robust-small", noisy, trainPreset("robust-small")},
				contender{"nearest class mean", noisy, trainNearest("nearest class mean", 1)},
				contender{"nearest of class-wise means", noisy, trainNearest("", nearestMeans)})
		}
		list = append(list,
			contender{"linear", noisy, trainBaseline("linear", "linear", mlp(0))},
			contender{"MLP", noisy, trainBaseline("MLP", "mlp", mlp(0, 640, 512, 256))},
			contender{"MLP, dropout", noisy, trainBaseline("MLP, dropout", "mlp", mlp(robustDropout, 640, 512, 256))},
			contender{"CNN", noisy, trainBaseline("CNN", "cnn", cnn)})
	}
	return list
}

// RunRobust trains every network from several seeds and measures it on clean and on noisy test
// images.
func RunRobust(ctx context.Context, e *engine.Engine, data *dataset.Data, o RobustOptions) (*Robust, error) {
	a := &setup{e: e, data: data, epochs: o.Epochs}
	out := &Robust{Data: data.Name, Images: data.Test.Len(), SHA256: digest(data), Epochs: o.Epochs,
		Split: "stratified"}
	list := contenders()
	most, all, done := 0, 0, 0
	for _, c := range list {
		most = max(most, o.seeds(c))
		all += o.seeds(c)
	}
	for s := range most {
		for _, c := range list {
			if s >= o.seeds(c) {
				continue
			}
			begin := func() {
				o.Progress.at(fmt.Sprintf("robust: seed %d of %d, %s", s+1, o.seeds(c), c.title()), done, all)
			}
			name := fmt.Sprintf("robust: seed %d, %s", s+1, c.title())
			u, err := unit(o.Parts, name, begin, func(dir string) (robustUnit, error) {
				a.dir = dir
				return a.measure(ctx, c, uint64(s+1))
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for _, n := range u.Networks {
				out.add(n, c.noisy)
			}
			done++
		}
	}
	return out, nil
}

// seeds returns how often a contender is trained.
func (o RobustOptions) seeds(c contender) int {
	switch {
	case o.Seeds > 0:
		return o.Seeds
	case c.name == costliest:
		return costliestSeeds
	}
	return robustSeeds
}

// measure trains a contender and measures its networks.
func (a *setup) measure(ctx context.Context, c contender, seed uint64) (u robustUnit, err error) {
	networks, err := c.run(ctx, a, seed, c.noisy)
	if err != nil {
		return u, err
	}
	for _, n := range networks {
		run, err := n.measure(seed, seed == 1)
		if err != nil {
			return u, err
		}
		u.Networks = append(u.Networks, robustResult{n.name, n.kind, n.cost, *run})
	}
	return u, nil
}

// title names the training of c.
func (c contender) title() string {
	if c.noisy {
		return c.name + ", noisy training"
	}
	return c.name
}

// add adds a run to its network.
func (r *Robust) add(n robustResult, noisy bool) {
	for i := range r.Networks {
		if m := &r.Networks[i]; m.Name == n.Name && m.Noisy == noisy {
			m.Runs = append(m.Runs, n.Run)
			return
		}
	}
	r.Networks = append(r.Networks, RobustNetwork{n.Name, n.Kind, noisy, n.Cost, []RobustRun{n.Run}})
}

// measure evaluates a network on the test images: clean, with every noise, and with suite on the
// robustness suite.
func (t trained) measure(seed uint64, suite bool) (*RobustRun, error) {
	run := &RobustRun{Seed: seed}
	var err error
	if run.TestAccuracy, err = t.accuracy(dataset.Corruption{Name: noises[0].Name}); err != nil {
		return nil, err
	}
	for _, c := range noises {
		v, err := t.accuracy(c)
		if err != nil {
			return nil, err
		}
		run.Noisy = append(run.Noisy, NoisyScore{c.Name, c.Severity, v})
	}
	if !suite {
		return run, nil
	}
	var sum float64
	list := dataset.RobustnessSuite()
	for _, c := range list {
		v, err := t.accuracy(c)
		if err != nil {
			return nil, err
		}
		sum += v
	}
	mean := sum / float64(len(list))
	run.SuiteAccuracy = &mean
	return run, nil
}

// corruptSeed is the seed of the noise on test images, like eval's --corrupt-seed.
const corruptSeed = 1

// trainPreset trains a preset, whose settings decide about noise. robust-small also gives the
// prototype rules of its components.
func trainPreset(preset string) func(ctx context.Context, a *setup, seed uint64, noisy bool) ([]trained, error) {
	return func(ctx context.Context, a *setup, seed uint64, _ bool) ([]trained, error) {
		c, err := dpn.Preset(preset)
		if err != nil {
			return nil, err
		}
		c.Seed = seed
		if a.epochs > 0 {
			c.Epochs = a.epochs
		}
		m, err := dpn.New(c, a.data)
		if err != nil {
			return nil, err
		}
		if err := trainModel(ctx, a.e, m, a.data, a.dir); err != nil {
			return nil, err
		}
		list := []trained{{preset, kindDPN, m.Cost(), func(c dataset.Corruption) (float64, error) {
			s, err := m.ScoreCorrupted(ctx, a.e, a.data.Test, c, corruptSeed)
			return s.Accuracy, err
		}}}
		if preset != "robust-small" {
			return list, nil
		}
		train, err := a.train(seed)
		if err != nil {
			return nil, err
		}
		for _, steps := range []int{0, c.Steps} {
			p, err := study.NewPrototypes(ctx, a.e, m, train, steps)
			if err != nil {
				return nil, err
			}
			list = append(list, trained{fmt.Sprintf("prototype rule at x_%d", steps), kindRule, p.Cost(),
				func(c dataset.Corruption) (float64, error) {
					return p.Accuracy(ctx, a.e, a.data.Test, c, corruptSeed)
				}})
		}
		return list, nil
	}
}

// noiseMin and noiseMax bound the standard deviation of the noise in training, as in the preset
// noise.
const noiseMin, noiseMax = 0.3, 0.5

// baselineTraining returns the settings of a baseline's training: those of a preset for networks without an ascent,
// so that train and reproduce have the same.
func baselineTraining(preset string, epochs int, seed uint64) (baseline.Training, error) {
	c, err := dpn.Preset(preset)
	return baseline.Training{Optimiser: baseline.Adam, LR: c.LR, Schedule: c.Schedule, Warmup: c.Warmup, Clip: c.Clip,
		Epochs: epochs, Batch: c.Batch, Seed: seed}, err
}

// trainBaseline trains a network of package baseline with the settings of a preset, for as many epochs as the DPN of
// equal cost.
func trainBaseline(name, preset string, network func(a *setup, seed uint64) (*baseline.Network,
	error)) func(ctx context.Context, a *setup, seed uint64, noisy bool) ([]trained, error) {
	return func(ctx context.Context, a *setup, seed uint64, noisy bool) ([]trained, error) {
		n, err := network(a, seed)
		if err != nil {
			return nil, err
		}
		like, err := dpn.Preset(equalCost[noisy])
		if err != nil {
			return nil, err
		}
		t, err := baselineTraining(preset, cmp.Or(a.epochs, like.Epochs), seed)
		if err != nil {
			return nil, err
		}
		if noisy {
			t.NoiseMin, t.NoiseMax = noiseMin, noiseMax
		}
		train, err := a.train(seed)
		if err != nil {
			return nil, err
		}
		if _, err := n.Fit(ctx, a.e, baseline.Rows(train, a.data.Norm), t, nil); err != nil {
			return nil, err
		}
		return []trained{{name, kindBaseline, n.Cost(), func(c dataset.Corruption) (float64, error) {
			s, err := baseline.Corrupted(a.e, a.data.Test, a.data.Norm, c, corruptSeed)
			if err != nil {
				return 0, err
			}
			score, err := n.Score(ctx, a.e, s)
			return score.Accuracy, err
		}}}, nil
	}
}

// trainNearest places the given number of means by k-means in each class, or one mean per class,
// and predicts the class of the nearest mean.
func trainNearest(name string, means int) func(ctx context.Context, a *setup, seed uint64,
	noisy bool) ([]trained, error) {
	return func(ctx context.Context, a *setup, seed uint64, noisy bool) ([]trained, error) {
		train, err := a.train(seed)
		if err != nil {
			return nil, err
		}
		k, name := means, name
		if k == 1 {
			k = len(a.data.Classes)
		} else {
			k = min(k, train.Len()/4)
			name = fmt.Sprintf("nearest of %d class-wise means", k)
		}
		s := baseline.Rows(train, a.data.Norm)
		r, err := potential.ClassKMeans(ctx, a.e, s.Normalised(), s.Labels, k, seed)
		if err != nil {
			return nil, err
		}
		major, err := study.MajorityLabels(r.Assignment, s.Labels, k)
		if err != nil {
			return nil, err
		}
		n, err := baseline.NewNearest(r.Centres, major)
		if err != nil {
			return nil, err
		}
		return []trained{{name, kindBaseline, n.Cost(), func(c dataset.Corruption) (float64, error) {
			s, err := baseline.Corrupted(a.e, a.data.Test, a.data.Norm, c, corruptSeed)
			if err != nil {
				return 0, err
			}
			classes, err := n.Predict(ctx, a.e, s)
			right := 0
			for i, y := range classes {
				if y == s.Labels[i] {
					right++
				}
			}
			return float64(right) / float64(max(s.Len(), 1)), err
		}}}, nil
	}
}
