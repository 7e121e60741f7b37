package study

import (
	"math"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

func digits(t testing.TB, train, test int) *dataset.Data {
	t.Helper()
	d, err := source.Open("digits", source.Options{TrainSize: train, TestSize: test, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newEngine(t testing.TB, o ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func newModel(t testing.TB, c dpn.Config, d *dataset.Data) *dpn.Model {
	t.Helper()
	m, err := dpn.New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tiny is a network that trains in a fraction of a second.
func tiny() dpn.Config {
	c, _ := dpn.Preset("compact")
	c.Dim, c.Components, c.Steps, c.Epochs, c.Batch = 16, 5, 3, 4, 32
	return c
}

// completed adds the settings of training.
func completed(c dpn.Config) dpn.Config {
	if c.Form == "" {
		c.Form = potential.FormFull
	}
	c.Init, c.Optimiser = "kmeans", dpn.Adam
	c.Shards = 1
	c.Gradient, c.Epochs, c.LR, c.PotentialLR, c.Schedule, c.Seed = "exact", 1, 1e-3, 1e-3, "constant", 1
	return c
}

// randomPotential has centres and weights near 0 and full factors, so that several
// components are responsible at points near 0.
func randomPotential(k, d int, seed uint64) *potential.Potential {
	p := potential.New(potential.Settings{Form: potential.FormFull, Components: k, Scale: 1}, d)
	r := num.NewRand(seed, 0)
	mu, a := p.Centres().Data, factors(p)
	r.Normal(mu)
	r.Normal(p.LogWeights())
	r.Normal(a)
	for i := range a {
		a[i] *= float32(0.5 / math.Sqrt(float64(d)))
	}
	for i := range mu {
		mu[i] *= float32(2 / math.Sqrt(float64(d)))
	}
	for i := range k * d {
		a[i*d+i%d] += 0.5
	}
	p.SetAlpha(0.1)
	return p
}

// factors returns the first tensor of the precisions: A of the forms full and tied, U of flat.
func factors(p *potential.Potential) []float32 { return p.Params()[3].Data }

// parameter returns the numbers of a tensor of the model.
func parameter(m *dpn.Model, name string) []float32 {
	for _, p := range m.Params() {
		if p.Name == name {
			return p.Data
		}
	}
	return nil
}
