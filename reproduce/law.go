package reproduce

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

// He and Su's protocol ("A law of data separation in deep learning", PNAS 2023): images of
// lawSide x lawSide pixels, lawPerClass training images of each class.
const (
	lawSide     = 10
	lawPerClass = 100

	// lawRate is Adam's learning rate for all networks. He and Su tuned the rate, and chose
	// between Adam and SGD, for each network.
	lawRate = 1e-3

	// lawBatch is the number of rows from which BatchNorm takes its statistics while D is
	// measured: He and Su keep the network in training mode.
	lawBatch = 100
)

// LawOptions are the settings of RunLaw. The zero value is ready to use.
type LawOptions struct {
	Seeds  int // number of seeds 1, 2, ... of weights and training (0: 3)
	Epochs int // (0: 600, as He and Su)

	Progress Progress
	Parts    *Parts // where finished trainings are kept; nil: nowhere
}

// LawResult is the law of equi-separation in feed-forward networks.
type LawResult struct {
	Data     string       `json:"data"`
	Side     int          `json:"side"` // of an image, in pixels
	Pictures int          `json:"pictures"`
	Epochs   int          `json:"epochs"`
	Networks []LawNetwork `json:"networks"`
}

// LawNetwork is one network over all seeds.
type LawNetwork struct {
	Name      string   `json:"name"`
	BatchNorm bool     `json:"batch_norm"`
	Layers    []string `json:"layers"` // input, hidden layers, logits
	Runs      []LawRun `json:"runs"`
}

// LawRun is one training. D is measured on the training images, as by He and Su.
type LawRun struct {
	Seed          uint64             `json:"seed"`
	TrainAccuracy float64            `json:"train_accuracy"`
	TestAccuracy  float64            `json:"test_accuracy"`
	D             []separation.Float `json:"fuzziness"`      // of each layer
	TestD         []separation.Float `json:"test_fuzziness"` // on equally many test images
	Law           *separation.Law    `json:"law"`            // without the logits
	WithLogits    *separation.Law    `json:"law_with_logits"`
	TestLaw       *separation.Law    `json:"test_law"` // without the logits
}

// lawNetworks are the networks compared: those of He and Su, and those for which they found no
// law or left it open.
func lawNetworks(in, classes int) []struct {
	name string
	mlp  baseline.MLP
} {
	plain := baseline.HeSu(in, 6, classes)
	plain.BatchNorm, plain.Kaiming = false, true
	linear := plain
	linear.Identity = true
	return []struct {
		name string
		mlp  baseline.MLP
	}{
		{"BatchNorm, 3 x 100", baseline.HeSu(in, 2, classes)},
		{"BatchNorm, 7 x 100", baseline.HeSu(in, 6, classes)},
		{"BatchNorm, 19 x 100", baseline.HeSu(in, 18, classes)},
		{"no BatchNorm, 7 x 100", plain},
		{"linear, 7 x 100", linear},
	}
}

// RunLaw trains the networks with He and Su's protocol on data and fits the law to each. (Their
// own figures are for Fashion-MNIST.)
func RunLaw(ctx context.Context, e *engine.Engine, data *dataset.Data, o LawOptions) (*LawResult, error) {
	if o.Seeds == 0 {
		o.Seeds = 3
	}
	train, err := lawSamples(data.Train, data)
	if err != nil {
		return nil, fmt.Errorf("law: training images: %w", err)
	}
	test, err := lawSamples(data.Test, data)
	if err != nil {
		return nil, fmt.Errorf("law: test images: %w", err)
	}
	tr := baseline.HeSuTraining(baseline.Adam, lawRate)
	if o.Epochs > 0 {
		tr.Epochs = o.Epochs
	}
	out := &LawResult{Data: data.Name, Side: lawSide, Pictures: train.Len(), Epochs: tr.Epochs}
	networks := lawNetworks(lawSide*lawSide, len(data.Classes))
	for i, n := range networks {
		result := LawNetwork{Name: n.name, BatchNorm: n.mlp.BatchNorm}
		for s := range o.Seeds {
			begin := func() { o.Progress.seed("law: "+n.name, s, o.Seeds, i*o.Seeds+s, len(networks)*o.Seeds) }
			name := fmt.Sprintf("law: %s, seed %d", n.name, s+1)
			u, err := unit(o.Parts, name, begin, func(string) (lawUnit, error) {
				tr.Seed = uint64(s + 1)
				return lawRun(ctx, e, n.mlp, tr, train, test)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			result.Layers = u.Layers
			result.Runs = append(result.Runs, u.Run)
		}
		out.Networks = append(out.Networks, result)
	}
	return out, nil
}

// CheckImages returns a *source.SizeError if data have fewer images than an experiment needs: table1 the
// first 32 test images, law 100 training and 100 test images of each class.
func CheckImages(experiment string, data *dataset.Data) error {
	fewer := func(split string, images int, err error) error {
		return &source.SizeError{Split: split, Size: images, Problem: experiment + ": " + err.Error()}
	}
	switch n := data.Test.Len(); experiment {
	case "table1":
		if n < table1Pictures {
			return fewer("test", n, fmt.Errorf("%d test images: expected at least %d", n, table1Pictures))
		}
	case "law":
		if _, err := data.Train.PerClass(len(data.Classes), lawPerClass); err != nil {
			return fewer("train", data.Train.Len(), err)
		}
		if _, err := data.Test.PerClass(len(data.Classes), lawPerClass); err != nil {
			return fewer("test", n, err)
		}
	}
	return nil
}

// lawSamples returns the first images of each class, scaled down.
func lawSamples(s *dataset.Set, data *dataset.Data) (baseline.Samples, error) {
	few, err := s.PerClass(len(data.Classes), lawPerClass)
	if err != nil {
		return baseline.Samples{}, err
	}
	if few, err = few.Resize(lawSide, lawSide); err != nil {
		return baseline.Samples{}, err
	}
	return baseline.Rows(few, data.Norm), nil
}

// lawUnit is one training of one network.
type lawUnit struct {
	Layers []string `json:"layers"`
	Run    LawRun   `json:"run"`
}

// lawRun trains one network and measures it.
func lawRun(ctx context.Context, e *engine.Engine, c baseline.MLP, tr baseline.Training, train,
	test baseline.Samples) (u lawUnit, err error) {
	u.Run.Seed = tr.Seed
	run := &u.Run
	n, err := baseline.NewMLP(c, tr.Seed)
	if err != nil {
		return u, err
	}
	if _, err := n.Fit(ctx, e, train, tr, nil); err != nil {
		return u, err
	}
	for _, part := range []struct {
		samples  baseline.Samples
		accuracy *float64
		d        *[]separation.Float
	}{{train, &run.TrainAccuracy, &run.D}, {test, &run.TestAccuracy, &run.TestD}} {
		score, err := n.Score(ctx, e, part.samples)
		if err != nil {
			return u, err
		}
		*part.accuracy = score.Accuracy
		if u.Layers, *part.d, err = fuzzinessOfLayers(ctx, e, n, part.samples, lawBatch); err != nil {
			return u, err
		}
	}
	last := len(u.Layers) - 1
	run.Law = fit(u.Layers[:last], run.D[:last])
	run.WithLogits = fit(u.Layers, run.D)
	run.TestLaw = fit(u.Layers[:last], run.TestD[:last])
	return u, nil
}

// fuzzinessOfLayers measures D at every layer of a network; batch is that of
// [baseline.Network.Activations].
func fuzzinessOfLayers(ctx context.Context, e *engine.Engine, n *baseline.Network, s baseline.Samples,
	batch int) ([]string, []separation.Float, error) {
	list, err := n.Activations(ctx, e, s, batch)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	var d []separation.Float
	for _, f := range list {
		x, err := separation.MeasureFuzziness(separation.Set{X: f.X.Data, Dim: f.X.Cols, Labels: s.Labels}, e.Threads())
		if err != nil {
			return nil, nil, fmt.Errorf("layer %q: %w", f.Name, err)
		}
		names, d = append(names, f.Name), append(d, x.D)
	}
	return names, d, nil
}

// fit returns the law of layers, or nil if it cannot be fitted.
func fit(names []string, d []separation.Float) *separation.Law {
	values := make([]float64, len(d))
	for i, v := range d {
		values[i] = float64(v)
	}
	law, err := separation.FitLaw(names, values)
	if err != nil {
		return nil
	}
	return &law
}
