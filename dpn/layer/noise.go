package layer

import (
	"dpnbench/dataset"
	"dpnbench/engine"
)

// Noise is what training adds to the first half of every minibatch, whose order is random:
// to each row normal numbers of a standard deviation drawn for the row, uniformly from Min
// to Max, in grey levels of [0, 1], to which the sums are clamped. It comes before
// normalisation. Max 0: none.
type Noise struct {
	Min, Max float64
	Seed     uint64
	z        []float32
}

// MaxNoise bounds the standard deviation of training noise.
const MaxNoise = 100

// Rows returns how many of the rows of a minibatch, the first ones, become noisy.
func (n *Noise) Rows(batch int) int {
	if n.Max == 0 {
		return 0
	}
	return batch / 2
}

// Add adds the noise of an update to x, the rows of its minibatch. The numbers are a
// function of Seed and update.
func (n *Noise) Add(x engine.Matrix, update int) {
	rows := n.Rows(x.Rows)
	if rows == 0 {
		return
	}
	r := engine.NewRand(n.Seed, uint64(update))
	z := room(&n.z, x.Cols)
	for i := range rows {
		sigma := float32(n.Min + float64((n.Max-n.Min)*r.Float64()))
		r.Normal(z)
		dataset.AddNoise(x.Row(i), z, sigma)
	}
}
