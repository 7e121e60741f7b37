package dpn

import (
	"dpnbench/dataset"
	"dpnbench/engine"
)

// images puts images into the rows of a matrix. The threads of an engine share them.
type images struct {
	table [256]float32 // what becomes of each grey level

	// Of the running call.
	x   engine.Matrix
	set *dataset.Set
	at  []int32

	share func(w *engine.Worker, lo, hi int) // rows, made once: each call of Parallel would allocate it
}

// newImages puts them in as norm says.
func newImages(norm dataset.Normalization) *images {
	p := &images{table: norm.Table()}
	p.share = p.rows
	return p
}

// into sets the rows of x to images at[0], at[1], ... of set, or to the first ones, without at.
func (p *images) into(e *engine.Engine, x engine.Matrix, set *dataset.Set, at []int32) {
	p.x, p.set, p.at = x, set, at
	e.Parallel(x.Rows, 0, float64(x.Rows*x.Cols), p.share)
	p.x, p.set, p.at = engine.Matrix{}, nil, nil
}

func (p *images) rows(_ *engine.Worker, lo, hi int) {
	for b := lo; b < hi; b++ {
		i := b
		if p.at != nil {
			i = int(p.at[b])
		}
		image := p.set.Image(i)
		row := p.x.Row(b)[:len(image)]
		for j, v := range image {
			row[j] = p.table[v]
		}
	}
}

// Input sets the rows of x to the normalised pixels of images at[0], at[1], ... of some set.
type Input func(e *engine.Engine, x engine.Matrix, at []int32)

// Input is the input of the images of s as they are.
func (m *Model) Input(s *dataset.Set) Input {
	p := newImages(m.Norm)
	return func(e *engine.Engine, x engine.Matrix, at []int32) { p.into(e, x, s, at) }
}

// CorruptedInput is the input of the images of s as c corrupts them under a seed.
func (m *Model) CorruptedInput(s *dataset.Set, c dataset.Corruption, seed uint64) (Input, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return func(e *engine.Engine, x engine.Matrix, at []int32) {
		if err := c.GreyOn(e, x.Data, s, at, seed); err != nil {
			panic(err) // it is valid
		}
		e.Parallel(x.Rows, 0, 2*float64(x.Rows*x.Cols), func(_ *engine.Worker, lo, hi int) {
			m.Norm.Apply(part(x, lo, hi).Data)
		})
	}, nil
}
