package dpn

import (
	"dpnbench/dataset"
	"dpnbench/engine"
)

// input puts normalised samples into the rows of a matrix. The threads of an engine share them.
type input struct {
	tables [][256]float32 // what becomes of each level of an image, by channel
	norm   dataset.Normalization

	// Of the running call.
	x   engine.Matrix
	set *dataset.Set
	at  []int32

	share func(w *engine.Worker, lo, hi int) // rows, made once: each call of Parallel would allocate it
}

// newInput puts samples of a shape in as norm says.
func newInput(shape dataset.Shape, norm dataset.Normalization) *input {
	p := &input{norm: norm, tables: make([][256]float32, shape.Channels)}
	for c := range p.tables {
		p.tables[c] = norm.Table(c)
	}
	p.share = p.rows
	return p
}

// into sets the rows of x to samples at[0], at[1], ... of set, or to the first ones, without at.
func (p *input) into(e *engine.Engine, x engine.Matrix, set *dataset.Set, at []int32) {
	p.x, p.set, p.at = x, set, at
	e.Parallel(x.Rows, 0, float64(x.Rows*x.Cols), p.share)
	p.x, p.set, p.at = engine.Matrix{}, nil, nil
}

func (p *input) rows(_ *engine.Worker, lo, hi int) {
	for b := lo; b < hi; b++ {
		i := b
		if p.at != nil {
			i = int(p.at[b])
		}
		row := p.x.Row(b)
		if !p.set.IsImage() {
			copy(row, p.set.Vector(i))
			p.norm.Apply(row)
			continue
		}
		image := p.set.Image(i)
		plane := len(image) / len(p.tables)
		for c := range p.tables {
			table, to := &p.tables[c], row[c*plane:(c+1)*plane]
			for j, v := range image[c*plane : (c+1)*plane] {
				to[j] = table[v]
			}
		}
	}
}

// Input sets the rows of x to the normalised samples at[0], at[1], ... of some set.
type Input func(e *engine.Engine, x engine.Matrix, at []int32)

// Input is the input of the samples of s as they are.
func (m *Model) Input(s *dataset.Set) Input {
	p := newInput(m.Shape, m.Norm)
	return func(e *engine.Engine, x engine.Matrix, at []int32) { p.into(e, x, s, at) }
}

// CorruptedInput is the input of the images of s as c corrupts them under a seed.
func (m *Model) CorruptedInput(s *dataset.Set, c dataset.Corruption, seed uint64) (Input, error) {
	if err := c.Check(s.Shape); err != nil {
		return nil, err
	}
	return func(e *engine.Engine, x engine.Matrix, at []int32) {
		if err := c.FloatsOn(e, x.Data, s, at, seed); err != nil {
			panic(err) // it is valid
		}
		e.Parallel(x.Rows, 0, 2*float64(x.Rows*x.Cols), func(_ *engine.Worker, lo, hi int) {
			for b := lo; b < hi; b++ {
				m.Norm.Apply(x.Row(b))
			}
		})
	}, nil
}
