package layer

import (
	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Noise is what training adds to the first half of every minibatch, whose order is random:
// to each row normal numbers of a standard deviation drawn for the row, uniformly from Min
// to Max, in grey levels of [0, 1], to which the sums are clamped. It comes before
// normalisation. Max 0: none.
type Noise struct {
	Min, Max float64
	Seed     uint64
	Norm     dataset.Normalization // of the noisy rows when that is done, or with Std 0 none

	// Of the running call.
	x      engine.Matrix
	update int

	share func(w *engine.Worker, lo, hi int) // addRows, made once: each call of Parallel would allocate it
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
func (n *Noise) Add(e *engine.Engine, x engine.Matrix, update int) {
	rows := n.Rows(x.Rows)
	if rows == 0 {
		return
	}
	if n.share == nil {
		n.share = n.addRows
	}
	const cost = 10 // elements of Parallel, about, that a normal number takes
	n.x, n.update = x, update
	e.Parallel(rows, 0, cost*float64(rows*x.Cols), n.share)
	n.x = engine.Matrix{}
}

func (n *Noise) addRows(w *engine.Worker, lo, hi int) {
	r, z := num.NewRand(n.Seed, uint64(n.update)), w.Floats(n.x.Cols)
	r.Skip(uint64(lo * (1 + n.x.Cols))) // what the rows above take
	for i := lo; i < hi; i++ {
		sigma := float32(n.Min + float64((n.Max-n.Min)*r.Float64()))
		r.Normal(z)
		row := n.x.Row(i)
		dataset.AddNoise(row, z, sigma)
		if n.Norm.Std != 0 {
			n.Norm.Apply(row)
		}
	}
}
