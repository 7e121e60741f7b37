package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// lawUnit is one training of one network.
type lawUnit struct {
	Layers []string `json:"layers"`
	Run    LawRun   `json:"run"`
}

// emergence lists the epochs after which D is measured, besides the last one.
var emergence = []int{0, 1, 3, 10, 30, 100, 200, 300, 400, 500}

// run trains the network of a cell and measures it.
func (c lawCell) run(ctx context.Context, e *engine.Engine, data *lawData, seed uint64) (lawUnit, error) {
	if c.preset != "" {
		return c.runDPN(ctx, e, data.small, seed)
	}
	u := lawUnit{Run: LawRun{Seed: seed}}
	run := &u.Run
	n, err := c.network(seed)
	if err != nil {
		return u, err
	}
	train := data.train
	if c.skewed {
		train = data.skewed
	}
	var failed error
	watch := func(epoch int) {
		if failed != nil || epoch == c.training.Epochs || !slices.Contains(emergence, epoch) {
			return
		}
		var layers []string
		at := LawEpoch{Epoch: epoch}
		if layers, at.D, failed = fuzzinessOfLayers(ctx, e, n, train, lawBatch); failed == nil {
			u.Layers, run.Emergence = layers, append(run.Emergence, at)
		}
	}
	watch(0)
	tr := c.training
	tr.Seed = seed
	_, err = n.Fit(ctx, e, train, tr, func(h baseline.Epoch) { watch(h.Epoch) })
	if err = cmp.Or(failed, err); err != nil {
		err = u.failedBy(err)
		return u, err
	}
	for _, part := range []struct {
		samples  baseline.Samples
		accuracy *float64
		d        *[]separation.Float
	}{{data.test, &run.TestAccuracy, &run.TestD}, {train, &run.TrainAccuracy, &run.D}} {
		score, err := n.Score(ctx, e, part.samples)
		if err != nil {
			err = u.failedBy(err)
			return u, err
		}
		*part.accuracy, run.TrainLoss = score.Accuracy, separation.Float(score.Loss) // at last that of training
		layers, d, err := fuzzinessOfLayers(ctx, e, n, part.samples, lawBatch)
		if err != nil {
			err = u.failedBy(err)
			return u, err
		}
		u.Layers, *part.d = layers, d
	}
	u.fit(0)
	return u, nil
}

// failedBy makes u the result of a training that diverged, if that is what err says: a result, too, because the rate is
// too high. Otherwise it returns err.
func (u *lawUnit) failedBy(err error) error {
	if !errors.As(err, new(*baseline.NotFiniteError)) && !errors.As(err, new(*layer.OutputError)) {
		return err
	}
	u.fail(err.Error())
	return nil
}

// fail makes u the result of a training that ended early.
func (u *lawUnit) fail(why string) {
	nan := separation.Float(math.NaN())
	u.Run.Failed, u.Run.TrainLoss = why, nan
	u.Run.D = slices.Repeat([]separation.Float{nan}, len(u.Layers))
	u.Run.TestD = slices.Clone(u.Run.D)
}

// fit fits the laws to the layers from the first one on.
func (u *lawUnit) fit(first int) {
	run, last := &u.Run, len(u.Layers)-1
	run.Law = fit(u.Layers[first:last], run.D[first:last])
	run.WithLogits = fit(u.Layers[first:], run.D[first:])
	run.TestLaw = fit(u.Layers[first:last], run.TestD[first:last])
	run.Loads = separation.LoadShares(floats(run.D[first:last]))
}

// runDPN measures a DPN over its layers and steps. It sees the images in the normalisation of the data; D does not
// depend on that.
func (c lawCell) runDPN(ctx context.Context, e *engine.Engine, data *dataset.Data, seed uint64) (lawUnit, error) {
	u := lawUnit{Run: LawRun{Seed: seed}}
	config, err := dpn.Preset(c.preset)
	if err != nil {
		return u, err
	}
	config.Seed, config.Epochs, config.ValSize = seed, c.training.Epochs, 0
	if c.preset == "published" { // its precisions are those of A = I
		config.Form = potential.FormDiag
	}
	m, err := dpn.New(config, data)
	if err != nil {
		return u, err
	}
	if c.dpnTrain {
		err = trainModel(ctx, e, m, data, "")
	} else {
		_, err = m.Init(ctx, e, data.Train)
	}
	if err != nil {
		return u, err
	}
	first := 0
	for _, part := range []struct {
		set      *dataset.Set
		accuracy *float64
		d        *[]separation.Float
	}{{data.Test, &u.Run.TestAccuracy, &u.Run.TestD}, {data.Train, &u.Run.TrainAccuracy, &u.Run.D}} {
		a, err := study.Analyze(ctx, e, m, part.set, study.AnalyzeOptions{})
		if err != nil {
			return u, err
		}
		u.Layers, *part.d, first = stepsOf(m, a)
		u.Run.LayersLaw = a.Law
		if !c.dpnTrain { // its logits carry no meaning
			continue
		}
		score, err := m.Score(ctx, e, part.set)
		if err != nil {
			return u, err
		}
		*part.accuracy, u.Run.TrainLoss = score.Accuracy, separation.Float(score.Loss)
	}
	u.fit(first)
	return u, nil
}

// stepsOf returns D at the input, at the features (unless they are the input), after each step and at the logits,
// and the index of x_0.
func stepsOf(m *dpn.Model, a *study.Analysis) (names []string, d []separation.Float, first int) {
	add := func(name string, l separation.Layer) { names, d = append(names, name), append(d, l.Fuzziness) }
	add("input", a.Layers[layerInput])
	if !m.InputFeatures() {
		first = 1
		add("features", a.Steps[0])
	}
	for t, l := range a.Steps[1:] {
		add(fmt.Sprintf("step %d", t+1), l)
	}
	add("logits", a.Layers[layerLogits])
	return names, d, first
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
	law, err := separation.FitLaw(names, floats(d))
	if err != nil {
		return nil
	}
	return &law
}

func floats(d []separation.Float) []float64 {
	values := make([]float64, len(d))
	for i, v := range d {
		values[i] = float64(v)
	}
	return values
}
