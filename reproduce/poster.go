package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// posterEpochs is the length of the poster's training: the published network with 10 steps, of
// which only the classifier learns.
const posterEpochs = 20

// PosterOptions are the settings of RunPoster. The zero value is ready to use.
type PosterOptions struct {
	Seeds  int // number of seeds 1, 2, ... (0: 3)
	Epochs int // (0: 20; 5 of the MLP, with the exact gradient and with the cosine)

	Progress Progress
	Parts    *Parts // where finished trainings are kept; nil: nowhere
}

// Poster is the training that the poster reports, and those that its claims are compared with. All but MLP,
// Exact and ExactSamples train the classifier only, as the listing of the paper does.
type Poster struct {
	Data   string      `json:"data"`
	DPN    []PosterRun `json:"dpn"`    // the published network, 10 steps
	Linear []PosterRun `json:"linear"` // 0 steps: a linear classifier on the pixels

	// MLP is a network of three hidden layers with a hundredth of the multiply-adds.
	MLP []PosterRun `json:"mlp"`
	// Cosine is DPN with 5 epochs and a rate that falls to 0, which no document states.
	Cosine []PosterRun `json:"cosine"`
	// Samples is DPN with centres drawn from the images instead of k-means.
	Samples []PosterRun `json:"samples"`
	// Extractor is a network of the poster's kind: a random linear map to 64 features, noise in training.
	Extractor []PosterRun `json:"extractor"`
	// Exact is the preset compact, trained with the exact gradient from k-means, and ExactSamples from
	// centres drawn from the features.
	Exact        []PosterRun `json:"exact"`
	ExactSamples []PosterRun `json:"exact_samples"`

	// Detected is what the potential of the first training detects.
	Detected []Detected `json:"detected,omitempty"`
}

// PosterRun is one training.
type PosterRun struct {
	Seed         uint64      `json:"seed"`
	Epochs       []dpn.Epoch `json:"epochs"`
	Best         int         `json:"best_epoch"` // by validation loss, from 1
	TestAccuracy float64     `json:"test_accuracy"`
	TestLoss     float64     `json:"test_loss"`
	MACs         int         `json:"macs_per_sample"` // with dense precisions, as in the reference
	// Noisy is the accuracy on noisy test images; the training images are clean.
	Noisy []NoisyScore `json:"noisy"`
	// PotentialMoved and ExtractorMoved count the parameters of the potential and of the extractor that
	// training has changed, and Alpha is the step size after it.
	PotentialMoved int     `json:"potential_moved"`
	ExtractorMoved int     `json:"extractor_moved"`
	Alpha          float64 `json:"alpha"`
	// Kept is the share of the 10 nearest neighbours of a test image in the input that are still among those
	// of its features: after 30 steps of DPN, in the last hidden layer of MLP; 0 for the others.
	Kept float64 `json:"neighbours_kept"`
}

// NoisyScore is the accuracy on corrupted test images.
type NoisyScore struct {
	Name     string  `json:"name"`
	Severity float64 `json:"severity"`
	Accuracy float64 `json:"accuracy"`
}

// noises are the corruptions used to judge the claim of robustness.
var noises = []dataset.Corruption{
	{Name: "gaussian", Severity: 0.3}, {Name: "gaussian", Severity: 0.5}, {Name: "saltpepper", Severity: 0.3},
}

// BestAccuracy returns the highest validation accuracy, and its epoch.
func (r PosterRun) BestAccuracy() (accuracy float64, epoch int) {
	for _, h := range r.Epochs {
		if h.ValAccuracy != nil && *h.ValAccuracy > accuracy {
			accuracy, epoch = *h.ValAccuracy, h.Epoch
		}
	}
	return accuracy, epoch
}

// ValBelowTrain counts the epochs whose validation loss is below the training loss.
func (r PosterRun) ValBelowTrain() int {
	n := 0
	for _, h := range r.Epochs {
		if h.ValLoss != nil && *h.ValLoss < h.TrainLoss {
			n++
		}
	}
	return n
}

// posterNetworks are the trainings of each seed.
var posterNetworks = []struct {
	name   string
	config func(seed uint64) (dpn.Config, error) // nil: the MLP
	runs   func(p *Poster) *[]PosterRun
}{
	{"DPN", posterConfig(nil), func(p *Poster) *[]PosterRun { return &p.DPN }},
	{"linear", posterConfig(func(c *dpn.Config) { c.Steps = 0 }), func(p *Poster) *[]PosterRun { return &p.Linear }},
	{posterMLP, nil, func(p *Poster) *[]PosterRun { return &p.MLP }},
	{"cosine", posterConfig(func(c *dpn.Config) { c.Epochs, c.Schedule, c.Warmup = 5, layer.Cosine, 0.05 }),
		func(p *Poster) *[]PosterRun { return &p.Cosine }},
	{"samples", posterConfig(func(c *dpn.Config) { c.Init = dpn.InitSamples }),
		func(p *Poster) *[]PosterRun { return &p.Samples }},
	{"extractor", posterConfig(func(c *dpn.Config) {
		c.Extractor, c.Dim, c.NoiseMin, c.NoiseMax = "linear", 64, posterNoise, posterNoise
	}), func(p *Poster) *[]PosterRun { return &p.Extractor }},
	{"exact", exactConfig(dpn.InitKMeans), func(p *Poster) *[]PosterRun { return &p.Exact }},
	{"exact samples", exactConfig(dpn.InitSamples), func(p *Poster) *[]PosterRun { return &p.ExactSamples }},
}

const (
	posterMLP = "MLP"

	// posterNoise is the standard deviation of the noise of Extractor, in levels of [0, 1]: the poster names none.
	posterNoise = 0.5
)

// mlpEpochs is the length of the training of the MLP: that of section 2.2.
const mlpEpochs = 5

// posterConfig returns the published network with 10 steps, with changes.
func posterConfig(change func(c *dpn.Config)) func(seed uint64) (dpn.Config, error) {
	return func(seed uint64) (dpn.Config, error) {
		c, err := publishedConfig(seed, table1Steps)
		c.ValSize, c.Epochs = -1, posterEpochs
		if change != nil {
			change(&c)
		}
		return c, err
	}
}

func exactConfig(init string) func(seed uint64) (dpn.Config, error) {
	return func(seed uint64) (dpn.Config, error) {
		c, err := dpn.Preset("compact")
		c.Seed, c.Init = seed, init
		return c, err
	}
}

// RunPoster repeats the training of the poster.
func RunPoster(ctx context.Context, e *engine.Engine, data *dataset.Data, o PosterOptions) (*Poster, error) {
	if o.Seeds == 0 {
		o.Seeds = 3
	}
	out := &Poster{Data: data.Name}
	for s := range o.Seeds {
		for i, part := range posterNetworks {
			seed := uint64(s + 1)
			name := fmt.Sprintf("poster: %s, seed %d", part.name, seed)
			begin := func() {
				o.Progress.seed("poster: "+part.name, s, o.Seeds, s*len(posterNetworks)+i, o.Seeds*len(posterNetworks))
			}
			u, err := unit(o.Parts, name, begin, func(string) (u posterUnit, err error) {
				if part.config == nil {
					return o.runMLP(ctx, e, data, seed)
				}
				c, err := part.config(seed)
				if err != nil {
					return u, err
				}
				return o.run(ctx, e, data, c, part.name == "DPN")
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if u.Detected != nil {
				out.Detected = u.Detected
			}
			runs := part.runs(out)
			*runs = append(*runs, u.Run)
		}
	}
	return out, nil
}

// posterUnit is one training.
type posterUnit struct {
	Run      PosterRun  `json:"run"`
	Detected []Detected `json:"detected,omitempty"` // of the first one
}

// run trains a network; main says that it is the published one.
func (o *PosterOptions) run(ctx context.Context, e *engine.Engine, data *dataset.Data, c dpn.Config,
	main bool) (u posterUnit, err error) {
	if o.Epochs > 0 {
		c.Epochs = o.Epochs
	}
	m, err := dpn.New(c, data)
	if err != nil {
		return u, err
	}
	r, err := m.Fit(ctx, e, data.Train, dpn.FitOptions{})
	if err != nil {
		return u, err
	}
	score, err := m.Score(ctx, e, data.Test)
	if err != nil {
		return u, err
	}
	u.Run = PosterRun{Seed: c.Seed, Epochs: r.Epochs, Best: r.Best, TestAccuracy: score.Accuracy, TestLoss: score.Loss,
		MACs: m.MACs(), Alpha: float64(m.Potential().Alpha())}
	for _, c := range noises {
		score, err := m.ScoreCorrupted(ctx, e, data.Test, c, corruptSeed)
		if err != nil {
			return u, err
		}
		u.Run.Noisy = append(u.Run.Noisy, NoisyScore{c.Name, c.Severity, score.Accuracy})
	}
	if c.Steps == 0 {
		return u, nil // without steps the potential is not used
	}
	before, err := dpn.New(c, data)
	if err != nil {
		return u, err
	}
	centres, err := study.InitialCentres(ctx, e, m, data.Train)
	if err != nil {
		return u, err
	}
	copy(before.Potential().Centres().Data, centres.Data)
	u.Run.PotentialMoved = moved(before, m, "denoising_potential.")
	u.Run.ExtractorMoved = moved(before, m, "feature_extractor.")
	if !main {
		return u, nil
	}
	if u.Run.Kept, err = o.kept(ctx, e, m, data.Test); err == nil && c.Seed == 1 {
		u.Detected, err = detect(ctx, e, m, data.Test)
	}
	return u, err
}

// kept returns the share of neighbours that test images keep in 30 steps.
func (o *PosterOptions) kept(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set) (float64, error) {
	start, err := m.Features(ctx, e, s)
	if err != nil {
		return 0, err
	}
	end := engine.NewMatrix(start.Rows, start.Cols)
	copy(end.Data, start.Data)
	if err := m.Potential().AscendUntil(ctx, e, end, paperSteps); err != nil {
		return 0, err
	}
	return study.KeptNeighbours(ctx, e, start, end, min(neighbours, s.Len()-1))
}

// runMLP trains the MLP.
func (o *PosterOptions) runMLP(ctx context.Context, e *engine.Engine, data *dataset.Data, seed uint64) (u posterUnit,
	err error) {
	widths := []int{data.Train.Shape.Len(), 640, 512, 256, len(data.Classes)}
	n, err := baseline.NewMLP(baseline.MLP{Widths: widths}, seed)
	if err != nil {
		return u, err
	}
	t, err := baselineTraining("mlp", cmp.Or(o.Epochs, mlpEpochs), seed)
	if err != nil {
		return u, err
	}
	if _, err := n.Fit(ctx, e, baseline.Rows(data.Train, data.Norm), t, nil); err != nil {
		return u, err
	}
	test := baseline.Rows(data.Test, data.Norm)
	score, err := n.Score(ctx, e, test)
	if err != nil {
		return u, err
	}
	u.Run = PosterRun{Seed: seed, TestAccuracy: score.Accuracy, TestLoss: score.Loss, MACs: n.MACs()}
	for _, c := range noises {
		s, err := baseline.Corrupted(e, data.Test, data.Norm, c, corruptSeed)
		if err != nil {
			return u, err
		}
		score, err := n.Score(ctx, e, s)
		if err != nil {
			return u, err
		}
		u.Run.Noisy = append(u.Run.Noisy, NoisyScore{c.Name, c.Severity, score.Accuracy})
	}
	layers, err := n.Activations(ctx, e, test, 0)
	if err != nil {
		return u, err
	}
	u.Run.Kept, err = study.KeptNeighbours(ctx, e, layers[0].X, layers[len(layers)-2].X,
		min(neighbours, test.Len()-1))
	return u, err
}

// moved counts the parameters with a prefix in which two models of one shape differ.
func moved(a, b *dpn.Model, prefix string) int {
	n, other := 0, b.Params()
	for i, p := range a.Params() {
		if !strings.HasPrefix(p.Name, prefix) {
			continue
		}
		for j, v := range p.Data {
			if other[i].Data[j] != v {
				n++
			}
		}
	}
	return n
}
