package dpn

import (
	"encoding/binary"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// input puts samples into the rows of a matrix: images preprocessed, then all normalised. The threads of an engine
// share them.
type input struct {
	tables [][256]float32 // what becomes of each level of an image, by channel
	norm   dataset.Normalization
	pre    *dataset.Preprocessor // nil: none; otherwise tables are the levels in [0, 1]

	// Of the running call.
	x   engine.Matrix
	set *dataset.Set
	at  []int32

	// Callbacks, made once, because Parallel would otherwise allocate them at each call.
	share, shareLevels func(w *engine.Worker, lo, hi int)
}

// newInput returns an input that prepares samples as the model expects them.
func (m *Model) newInput() *input {
	p := &input{norm: m.Norm, tables: make([][256]float32, m.Shape.Channels)}
	before := m.Norm
	if pre := m.Config.preprocessing(); !pre.IsZero() {
		p.pre, before = pre.For(m.Shape), dataset.Uniform(0, 1)
	}
	for c := range p.tables {
		p.tables[c] = before.Table(c)
	}
	p.share, p.shareLevels = p.rows, p.levels
	return p
}

// newLevels returns an input that leaves levels in [0, 1] unchanged.
func newLevels(shape dataset.Shape) *input {
	return (&Model{Shape: shape, Norm: dataset.Uniform(0, 1)}).newInput()
}

// into sets the rows of x to samples at[0], at[1], ... of set, or to the first ones, without at.
func (p *input) into(e *engine.Engine, x engine.Matrix, set *dataset.Set, at []int32) {
	p.x, p.set, p.at = x, set, at
	e.Parallel(x.Rows, 0, p.cost(1), p.share)
	p.x, p.set, p.at = engine.Matrix{}, nil, nil
}

// finish preprocesses and normalises the rows of x, which are levels of images.
func (p *input) finish(e *engine.Engine, x engine.Matrix) {
	p.x = x
	e.Parallel(x.Rows, 0, p.cost(2), p.shareLevels)
	p.x = engine.Matrix{}
}

// cost estimates the work for the rows of x in the unit of Engine.Parallel; each is the cost of an element without
// preprocessing.
func (p *input) cost(each float64) float64 {
	if p.pre != nil {
		each += 40
	}
	return each * float64(p.x.Rows*p.x.Cols)
}

// prefetchBytes of samples are prefetched at a time. At random places samples are in no cache, and often their page
// tables are not either. Prefetches one after another wait for these at the same time, not in turn.
const prefetchBytes = 12 << 10

// prefetch is called for every row b of [lo, hi). At the first row of each group it loads the samples of the group into
// the cache. A sample that is more than half of prefetchBytes is a group, loaded right before it is read.
func (p *input) prefetch(lo, b, hi int) {
	size := p.x.Cols
	if !p.set.IsImage() {
		size *= 4
	}
	together := max(prefetchBytes/size, 1)
	if (b-lo)%together != 0 {
		return
	}
	for _, i := range p.at[b:min(b+together, hi)] {
		if p.set.IsImage() {
			engine.Prefetch(p.set.Image(int(i)))
		} else {
			engine.Prefetch(p.set.Vector(int(i)))
		}
	}
}

func (p *input) rows(w *engine.Worker, lo, hi int) {
	for b := lo; b < hi; b++ {
		i := b
		if p.at != nil {
			i = int(p.at[b])
			p.prefetch(lo, b, hi)
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
			lookUp(row[c*plane:(c+1)*plane], image[c*plane:(c+1)*plane], &p.tables[c])
		}
	}
	if p.pre != nil {
		p.levels(w, lo, hi)
	}
}

// lookUp sets dst to what becomes of the levels. It loads eight of them at a time, which takes less than half as long
// as one by one.
func lookUp(dst []float32, levels []byte, table *[256]float32) {
	dst = dst[:len(levels)]
	j := 0
	for ; j+8 <= len(levels); j += 8 {
		v, to := binary.LittleEndian.Uint64(levels[j:j+8]), (*[8]float32)(dst[j:j+8])
		to[0], to[1], to[2], to[3] = table[byte(v)], table[byte(v>>8)], table[byte(v>>16)], table[byte(v>>24)]
		to[4], to[5], to[6], to[7] = table[byte(v>>32)], table[byte(v>>40)], table[byte(v>>48)], table[byte(v>>56)]
	}
	for ; j < len(levels); j++ {
		dst[j] = table[levels[j]]
	}
}

// levels preprocesses and normalises rows that are levels.
func (p *input) levels(w *engine.Worker, lo, hi int) {
	var scratch []float32
	if p.pre != nil {
		scratch = w.Floats(p.pre.Scratch())
	}
	for b := lo; b < hi; b++ {
		row := p.x.Row(b)
		if p.pre != nil {
			p.pre.Apply(row, scratch)
		}
		p.norm.Apply(row)
	}
}

// Input sets the rows of x to the samples at[0], at[1], ... of some set as the network takes them in: images
// preprocessed, then all normalised.
type Input func(e *engine.Engine, x engine.Matrix, at []int32)

// Input is the input of the samples of s as they are.
func (m *Model) Input(s *dataset.Set) Input {
	p := m.newInput()
	return func(e *engine.Engine, x engine.Matrix, at []int32) { p.into(e, x, s, at) }
}

// CorruptedInput is the input of the images of s as c corrupts them under a seed.
func (m *Model) CorruptedInput(s *dataset.Set, c dataset.Corruption, seed uint64) (Input, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := c.Check(s.Shape); err != nil {
		return nil, err
	}
	p := m.newInput()
	return func(e *engine.Engine, x engine.Matrix, at []int32) {
		if err := c.FloatsOn(e, x.Data, s, at, seed); err != nil {
			panic(err) // it is valid
		}
		p.finish(e, x)
	}, nil
}

// Preprocessed is Input without the normalisation: images are levels in [0, 1], or above 1 with RMS.
func (m *Model) Preprocessed(s *dataset.Set) Input {
	return (&Model{Config: m.Config, Shape: m.Shape, Norm: dataset.Uniform(0, 1)}).Input(s)
}
