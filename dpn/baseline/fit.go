package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Training holds the settings of Fit.
type Training struct {
	Optimiser   string  // Adam or SGD
	LR          float64 // learning rate
	Momentum    float64 // of SGD
	WeightDecay float64 // multiple of a parameter that is added to its clipped gradient (PyTorch's weight_decay)
	Clip        float64 // largest norm of the gradient; 0: no limit
	Schedule    string  // layer.Constant, layer.Cosine or layer.Thirds
	Warmup      float64 // share of the updates over which the rate rises linearly
	Epochs      int
	Batch       int // rows per minibatch
	MaxUpdates  int // largest number of updates; 0: no limit
	Seed        uint64

	// NoiseMin and NoiseMax are the bounds of layer.Noise: of Samples.Pixels in levels, before Norm is applied, and
	// of other rows in standard deviations, after it. NoiseMax 0: no noise.
	NoiseMin, NoiseMax float64
}

// Optimisers.
const (
	Adam = "adam"
	SGD  = "sgd"
)

// HeSuTraining returns the protocol of He and Su: 600 epochs of minibatches of 128, weight decay
// 5e-4, the learning rate divided by 10 after a third and after two thirds. They used Adam, SGD and
// SGD with a momentum of 0.9, each with a rate of its own for each network.
func HeSuTraining(optimiser string, lr float64) Training {
	return Training{
		Optimiser:   optimiser,
		LR:          lr,
		WeightDecay: 5e-4,
		Schedule:    layer.Thirds,
		Epochs:      600,
		Batch:       128,
		Seed:        1,
	}
}

// Validate checks every setting.
func (t Training) Validate() error {
	schedules := []string{layer.Constant, layer.Cosine, layer.Thirds}
	noise := 0 <= t.NoiseMin && t.NoiseMin <= t.NoiseMax && t.NoiseMax <= layer.MaxNoise
	for _, c := range []struct {
		name string
		ok   bool
		v    any
		want string
	}{
		{"optimiser", t.Optimiser == Adam || t.Optimiser == SGD, t.Optimiser, "adam or sgd"},
		{"learning rate", t.LR > 0 && !math.IsInf(t.LR, 0), t.LR, "a number above 0"},
		{"momentum", t.Momentum >= 0 && t.Momentum < 1, t.Momentum, "at least 0 and below 1"},
		{"weight decay", t.WeightDecay >= 0 && !math.IsInf(t.WeightDecay, 0), t.WeightDecay, "a number of at least 0"},
		{"clip", t.Clip >= 0 && !math.IsInf(t.Clip, 0), t.Clip, "a number of at least 0"},
		{"schedule", slices.Contains(schedules, t.Schedule), t.Schedule, strings.Join(schedules, ", ")},
		{"warm-up", t.Warmup >= 0 && t.Warmup <= 1, t.Warmup, "0 to 1"},
		{"epochs", t.Epochs >= 1 && t.Epochs <= 1000000, t.Epochs, "1 to 1000000"},
		{"batch", t.Batch >= 1 && t.Batch <= 1<<20, t.Batch, "1 to 1048576"},
		{"max updates", t.MaxUpdates >= 0, t.MaxUpdates, "a number of at least 0"},
		{"noise", noise, []float64{t.NoiseMin, t.NoiseMax},
			fmt.Sprintf("two numbers from 0 to %d, the lower one first", layer.MaxNoise)},
	} {
		if !c.ok {
			return fmt.Errorf("%s %v: expected %s", c.name, c.v, c.want)
		}
	}
	return nil
}

// Epoch holds the means over the minibatches of one epoch, each taken before its update.
type Epoch struct {
	Epoch    int     `json:"epoch"` // from 1
	Loss     float64 `json:"loss"`
	Accuracy float64 `json:"accuracy"`
	Updates  int     `json:"updates"` // since the start of training
	Seconds  float64 `json:"seconds"`
}

// NotFiniteError reports that training stopped because a number was infinite or NaN.
type NotFiniteError struct {
	Epoch, Update int    // from 1
	What          string // as layer.NotFinite returns it
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("epoch %d, update %d: the %s is not finite; try a lower learning rate, or clip 1", e.Epoch,
		e.Update, e.What)
}

// Streams of random numbers of a Training's seed.
const (
	streamNoise   = iota
	streamShuffle // and those that follow, one for each epoch
)

// Fit trains the network on s from its present weights, with a new optimiser. onEpoch, unless nil,
// is called after every epoch. Fit stops with ctx's error when ctx ends, and with a *NotFiniteError
// when the loss or the gradient is not finite.
func (n *Network) Fit(ctx context.Context, e *engine.Engine, s Samples, t Training,
	onEpoch func(Epoch)) ([]Epoch, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if err := s.check(n.In, n.Classes); err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, fmt.Errorf("no rows to train on")
	}
	f := newFitting(n, e, s, t)
	perEpoch := (s.Len() + t.Batch - 1) / t.Batch
	f.all = layer.AllUpdates(t.Epochs, perEpoch, t.MaxUpdates)
	var history []Epoch
	for f.updates < f.all {
		h, err := f.epoch(ctx, len(history)+1)
		if err != nil {
			return history, err
		}
		history = append(history, h)
		if onEpoch != nil {
			onEpoch(h)
		}
	}
	return history, nil
}

// fitting is one call of Fit.
type fitting struct {
	n *Network
	e *engine.Engine
	s Samples
	t Training

	params       []*layer.Param
	adam         *layer.Adam
	updates, all int

	x, dy  engine.Matrix // a minibatch, dL/dlogits
	labels []uint16
	noise  layer.Noise
	tape   layer.Tape
}

func newFitting(n *Network, e *engine.Engine, s Samples, t Training) *fitting {
	b := min(t.Batch, s.Len())
	f := &fitting{n: n, e: e, s: s, t: t, params: n.Params(), adam: layer.NewAdam(),
		x: engine.NewMatrix(b, n.In), dy: engine.NewMatrix(b, n.Classes), labels: make([]uint16, b),
		noise: layer.Noise{Min: t.NoiseMin, Max: t.NoiseMax, Seed: num.NewRand(t.Seed, streamNoise).Uint64(),
			Unclamped: !s.Pixels}}
	for _, p := range f.params {
		p.Prepare()
	}
	n.layers.Each(func(l layer.Layer) {
		if d, ok := l.(*layer.Dropout); ok {
			d.SetPass(0)
		}
	})
	return f
}

// epoch trains on all rows once, in a new random order.
func (f *fitting) epoch(ctx context.Context, number int) (Epoch, error) {
	start := time.Now()
	var tally layer.Tally
	order := num.NewRand(f.t.Seed, streamShuffle+uint64(number))
	loop := layer.Loop{Batch: f.t.Batch, Updates: &f.updates, All: f.all}
	err := loop.Pass(ctx, f.s.Len(), 0, order, func(at []int32) error {
		if what := f.update(at, &tally); what != "" {
			return &NotFiniteError{Epoch: number, Update: f.updates + 1, What: what}
		}
		return nil
	})
	if err != nil {
		return Epoch{}, err
	}
	score := tally.Score()
	return Epoch{
		Epoch:    number,
		Loss:     score.Loss,
		Accuracy: score.Accuracy,
		Updates:  f.updates,
		Seconds:  time.Since(start).Seconds(),
	}, nil
}

// update makes one update with the rows at. If the loss or the gradient is not finite, it changes
// no parameter and returns the name of what is not (see layer.NotFinite).
func (f *fitting) update(at []int32, tally *layer.Tally) (what string) {
	e, b := f.e, len(at)
	x := engine.View(f.x.Data[:b*f.n.In], b, f.n.In)
	dy := engine.View(f.dy.Data[:b*f.n.Classes], b, f.n.Classes)
	labels := f.labels[:b]
	for i, a := range at {
		copy(x.Row(i), f.s.X.Row(int(a)))
		labels[i] = f.s.Labels[a]
	}
	if f.s.Pixels {
		f.noise.Add(e, x, f.updates)
	}
	f.s.normalise(x)
	if !f.s.Pixels {
		f.noise.Add(e, x, f.updates)
	}

	y := f.n.layers.Forward(e, &f.tape, x, layer.Training)
	loss := tally.Add(e, y, labels, dy, 1/float32(b))
	f.n.layers.Backward(e, &f.tape, engine.Matrix{}, dy)
	norm := layer.Norm(e, f.params)
	if what = layer.NotFinite(loss, norm, f.params); what == "" {
		f.step(layer.Clip(norm, f.t.Clip))
	}
	return what
}

// step updates all parameters with clip times the gradient, plus weight decay.
func (f *fitting) step(clip float64) {
	lr := f.t.LR * layer.Rate(f.t.Schedule, f.t.Warmup, 0, f.updates, f.all)
	for _, p := range f.params {
		if f.t.WeightDecay > 0 {
			f.e.Axpy(float32(f.t.WeightDecay/clip), p.Data, p.Grad)
		}
		if f.t.Optimiser == SGD {
			layer.SGD{Momentum: f.t.Momentum}.Step(f.e, p, lr, clip)
		} else {
			f.adam.Step(f.e, p, p.Data, lr, clip)
		}
	}
	f.adam.Next()
}
