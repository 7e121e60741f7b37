package layer

import (
	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Noise adds Gaussian noise to the first half of every minibatch (whose order is random) before
// normalisation. The standard deviation of each row is drawn uniformly from Min to Max, in
// levels of [0, 1], and the sums are clamped to [0, 1]. Max 0 means no noise.
type Noise struct {
	Min, Max float64
	Seed     uint64

	// Unclamped leaves the sums as they are: those of features of vectors, which are normalised already,
	// so that Min and Max are in their standard deviations.
	Unclamped bool

	// State of the running call.
	x      engine.Matrix
	first  int
	update int

	// addRows, stored because a method value made for each call would be allocated
	share func(w *engine.Worker, lo, hi int)
}

// MaxNoise bounds the standard deviation of training noise.
const MaxNoise = 100

// Rows returns how many of the first rows of a minibatch become noisy.
func (n *Noise) Rows(batch int) int {
	if n.Max == 0 {
		return 0
	}
	return batch / 2
}

// Add adds the noise of an update to its minibatch x. The noise depends only on Seed and update.
func (n *Noise) Add(e *engine.Engine, x engine.Matrix, update int) {
	n.AddPiece(e, x.Slice(0, n.Rows(x.Rows), 0, x.Cols), 0, update)
}

// AddPiece adds the noise of an update to consecutive rows of its minibatch, all of which get noise: x, of which first
// is the place of the first one. They get what Add gives them.
func (n *Noise) AddPiece(e *engine.Engine, x engine.Matrix, first, update int) {
	if x.Rows == 0 {
		return
	}
	if n.share == nil {
		n.share = n.addRows
	}
	const cost = 10 // approximate cost of a normal number, in elements of Parallel
	n.x, n.first, n.update = x, first, update
	e.Parallel(x.Rows, 0, cost*float64(x.Rows*x.Cols), n.share)
	n.x = engine.Matrix{}
}

func (n *Noise) addRows(w *engine.Worker, lo, hi int) {
	r, z := num.NewRand(n.Seed, uint64(n.update)), w.Floats(n.x.Cols)
	r.Skip(uint64((n.first + lo) * (1 + n.x.Cols))) // the numbers that the rows above use
	for i := lo; i < hi; i++ {
		sigma := float32(n.Min + float64((n.Max-n.Min)*r.Float64()))
		w.Normal(z, r)
		row := n.x.Row(i)
		if n.Unclamped {
			for j, v := range z {
				row[j] += float32(sigma * v)
			}
			continue
		}
		dataset.AddNoise(row, z, sigma)
	}
}
