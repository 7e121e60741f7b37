package dpn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"sort"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// Model is a Denoising Potential Network: pixels, normalised, go through the feature
// extractor, then uphill on the potential for Config.Steps steps, then through a linear
// classifier.
type Model struct {
	Config  Config
	Rows    int // picture size in pixels
	Cols    int
	Classes int
	Norm    dataset.Normalization

	extractor *linear // nil: the pixels are the features
	potential *Potential
	head      *linear
	stale     bool // parameters have changed since the potential was prepared
}

// Streams of random numbers under a seed, one for each use.
const (
	streamWeights = iota
	streamKMeans
	streamShuffle // and those that follow, one for each epoch

	streamClasses = 1 << 32 // and those that follow: k-means in one class each
)

// New makes a network for pictures like those of a data set. Its linear layers are
// drawn from the seed; the centres of its potential are all zero until Init.
func New(c Config, data *dataset.Data) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := &Model{Config: c, Rows: data.Train.Rows, Cols: data.Train.Cols, Classes: data.Classes, Norm: data.Norm}
	if err := c.checkRank(m.width()); err != nil {
		return nil, err
	}
	m.build()
	r := engine.NewRand(c.Seed, streamWeights)
	if m.extractor != nil {
		m.extractor.draw(r)
	}
	m.head.draw(r)
	m.potential.set(c.Alpha, r)
	m.stale = true
	return m, nil
}

// width is the number of features that the settings and the pictures ask for.
func (m *Model) width() int {
	if m.Config.Extractor == "linear" {
		return m.Config.Dim
	}
	return m.Rows * m.Cols
}

// build makes the parameters, all zero.
func (m *Model) build() {
	d := m.width()
	if m.Config.Extractor == "linear" {
		m.extractor = newLinear("feature_extractor", m.Rows*m.Cols, d)
	}
	m.Config.Dim = d
	m.potential = newPotential(m.Config, d)
	m.head = newLinear("classifier", d, m.Classes)
}

// Params lists all tensors in the order of their names, which is that of a model file.
func (m *Model) Params() []*Param {
	list := append([]*Param{m.head.bias, m.head.weight}, m.potential.params()...)
	if m.extractor != nil {
		list = append(list, m.extractor.bias, m.extractor.weight)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Potential returns the energy landscape.
func (m *Model) Potential() *Potential { return m.potential }

// Dim returns the number of features.
func (m *Model) Dim() int { return m.potential.D }

// Parameters counts the numbers that training may change.
func (m *Model) Parameters() int {
	n := 0
	for _, p := range m.Params() {
		n += len(p.Data)
	}
	return n
}

// MACs counts the multiply-adds that the dense products take for one picture: k d^2 a step
// with full or tied precisions, k d (2 r + 3) with those of rank r (fewer are done where
// few responsibilities are above 0).
func (m *Model) MACs() int {
	d := m.Dim()
	n := m.Config.stepMACs(d)*m.Config.Steps + d*m.Classes
	if m.extractor != nil {
		n += m.extractor.in * d
	}
	return n
}

// WeightsSHA256 hashes all numbers, little-endian, in the order of Params: equal weights
// give equal hashes on every machine.
func (m *Model) WeightsSHA256() string {
	h := sha256.New()
	var b [4]byte
	for _, p := range m.Params() {
		for _, v := range p.Data {
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			h.Write(b[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fits says whether the pictures of s are those that the network expects.
func (m *Model) fits(s *dataset.Set) error {
	if s.Rows != m.Rows || s.Cols != m.Cols {
		return fmt.Errorf("pictures of %d x %d pixels, the model expects %d x %d", s.Rows, s.Cols, m.Rows, m.Cols)
	}
	for i, y := range s.Labels {
		if int(y) >= m.Classes {
			return fmt.Errorf("label %d of picture %d, the model knows classes 0 to %d", y, i, m.Classes-1)
		}
	}
	return nil
}

// prepare brings the potential's packed matrices up to date with the parameters.
func (m *Model) prepare(e *engine.Engine) {
	if m.stale {
		m.potential.changed(e)
		m.stale = false
	}
}

// pixels normalises pictures at[0], at[1], ... of s (or the first ones, without at) into
// the rows of x.
func pixels(x engine.Matrix, s *dataset.Set, at []int32, table *[256]float32) {
	for b := range x.Rows {
		i := b
		if at != nil {
			i = int(at[b])
		}
		row := x.Row(b)
		for j, v := range s.Image(i) {
			row[j] = table[v]
		}
	}
}

// features sets y to the features of normalised pixels x. rstd receives what the
// backward pass of the normalisation needs.
func (m *Model) features(e *engine.Engine, y, x engine.Matrix, rstd []float32) {
	if m.extractor == nil {
		copy(y.Data, x.Data)
	} else {
		m.extractor.forward(e, y, x)
	}
	if m.Config.LayerNorm {
		e.LayerNorm(y, rstd, y, normEps)
	}
}

// normEps is added to the variance in the normalisation of features.
const normEps = 1e-5
