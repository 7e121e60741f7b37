package reproduce

import (
	"context"
	"fmt"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// posterEpochs is the length of the poster's training: the published network with 10 steps, of
// which only the classifier learns.
const posterEpochs = 20

// PosterOptions are the settings of RunPoster. The zero value is ready to use.
type PosterOptions struct {
	Seeds  int // number of seeds 1, 2, ... (0: 3)
	Epochs int // (0: 20)

	Progress Progress
	Parts    *Parts // where finished trainings are kept; nil: nowhere
}

// Poster is the training that the poster reports, and a linear classifier on the pixels trained
// in the same way.
type Poster struct {
	Data   string      `json:"data"`
	DPN    []PosterRun `json:"dpn"`    // 10 steps
	Linear []PosterRun `json:"linear"` // 0 steps

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
	// PotentialMoved counts the parameters of the potential that training has changed.
	PotentialMoved int `json:"potential_moved"`
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

// RunPoster repeats the training of the poster: Adam at a constant rate of 1e-3, because the
// poster names no schedule.
func RunPoster(ctx context.Context, e *engine.Engine, data *dataset.Data, o PosterOptions) (*Poster, error) {
	for v, d := range map[*int]int{&o.Seeds: 3, &o.Epochs: posterEpochs} {
		if *v == 0 {
			*v = d
		}
	}
	out := &Poster{Data: data.Name}
	for s := range o.Seeds {
		for _, part := range []struct {
			name  string
			steps int
			runs  *[]PosterRun
		}{{"DPN", table1Steps, &out.DPN}, {"linear", 0, &out.Linear}} {
			begin := func() { o.Progress.seed("poster", s, o.Seeds, s, o.Seeds) }
			name := fmt.Sprintf("poster: %s, seed %d", part.name, s+1)
			u, err := unit(o.Parts, name, begin, func(string) (posterUnit, error) {
				return o.run(ctx, e, data, uint64(s+1), part.steps)
			})
			if err != nil {
				return nil, err
			}
			if u.Detected != nil {
				out.Detected = u.Detected
			}
			*part.runs = append(*part.runs, u.Run)
		}
	}
	return out, nil
}

// posterUnit is one training.
type posterUnit struct {
	Run      PosterRun  `json:"run"`
	Detected []Detected `json:"detected,omitempty"` // of the first one
}

func (o *PosterOptions) run(ctx context.Context, e *engine.Engine, data *dataset.Data, seed uint64,
	steps int) (u posterUnit, err error) {
	m, err := published(data, seed, steps)
	if err != nil {
		return u, err
	}
	m.Config.ValSize, m.Config.Schedule, m.Config.Warmup, m.Config.Epochs = -1, "constant", 0, o.Epochs
	r, err := m.Fit(ctx, e, data.Train, dpn.FitOptions{})
	if err != nil {
		return u, err
	}
	score, err := m.Score(ctx, e, data.Test)
	if err != nil {
		return u, err
	}
	d := m.Dim()
	u.Run = PosterRun{Seed: seed, Epochs: r.Epochs, Best: r.Best, TestAccuracy: score.Accuracy, TestLoss: score.Loss,
		MACs: m.Config.Components*d*d*steps + d*len(m.Classes)}
	for _, c := range noises {
		score, err := m.ScoreCorrupted(ctx, e, data.Test, c, 1)
		if err != nil {
			return u, err
		}
		u.Run.Noisy = append(u.Run.Noisy, NoisyScore{c.Name, c.Severity, score.Accuracy})
	}
	if steps == 0 {
		return u, nil // without steps the potential is not used
	}
	before, err := published(data, seed, steps)
	if err != nil {
		return u, err
	}
	centres, err := study.InitialCentres(ctx, e, m, data.Train)
	if err != nil {
		return u, err
	}
	copy(before.Potential().Centres().Data, centres.Data)
	u.Run.PotentialMoved = moved(before, m)
	if seed == 1 {
		u.Detected, err = detect(ctx, e, m, data.Test)
	}
	return u, err
}

// moved counts the parameters in which the potentials of two models of one shape differ.
func moved(a, b *dpn.Model) int {
	n := 0
	for i, p := range a.Params() {
		if !strings.HasPrefix(p.Name, "denoising_potential.") {
			continue
		}
		for j, v := range p.Data {
			if b.Params()[i].Data[j] != v {
				n++
			}
		}
	}
	return n
}
