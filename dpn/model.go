package dpn

import (
	"fmt"
	"sort"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Param is a tensor that training changes.
type Param = layer.Param

// Groups of the parameters (Param.Group): those that have a learning rate of their own, and
// a norm of the gradient.
const (
	groupExtractor  = "extractor"
	groupPotential  = "potential" // mu, c and the precisions
	groupAlpha      = "alpha"
	groupClassifier = "classifier"
)

func newParam(group, name string, shape ...int) *Param {
	p := layer.NewParam(name, shape...)
	p.Group = group
	return p
}

// Model is a Denoising Potential Network: pixels, normalised, go through the feature
// extractor, then uphill on the potential for Config.Steps steps, then through a linear
// classifier.
type Model struct {
	Config  Config
	Rows    int // picture size in pixels
	Cols    int
	Classes int
	Norm    dataset.Normalization

	// Assumed names the settings that change results and of which the file of Load says
	// nothing: "steps", "layer-norm", "mean", "std" and "data". They are those of the
	// published reference. Empty for a file that Save wrote, and for a model of New.
	Assumed []string

	extractor layer.Stack // pixels to features; empty: the pixels are the features
	potential *Potential
	head      *layer.Linear
	stale     bool // parameters have changed since the potential was prepared
	fresh     bool // nothing has been learned since New, which Fit asks for
}

// Streams of random numbers under a seed, one for each use.
const (
	streamWeights = iota
	streamKMeans
	streamShuffle // and those that follow, one for each epoch

	streamClasses = 1 << 32 // and those that follow: k-means in one class each
	streamNoise   = 1 << 33 // gives the seed of the noise
	streamScore   = 1 << 34 // gives the seed of that of score matching
	streamSample  = 1 << 35 // pictures for the diagnostics
	streamSamples = 1 << 36 // centres drawn from the features
	streamDraws   = 1 << 40 // and those that follow: one for each sample
	streamChains  = 1 << 41 // and those that follow: one for each chain
)

// New makes a network for pictures like those of a data set. Its layers are
// drawn from the seed; the centres of its potential are all zero until Init.
func New(c Config, data *dataset.Data) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := &Model{Config: c, Rows: data.Train.Rows, Cols: data.Train.Cols, Classes: data.Classes, Norm: data.Norm}
	if err := m.build(); err != nil {
		return nil, err
	}
	r := num.NewRand(c.Seed, streamWeights)
	m.extractor.Draw(r)
	m.head.Draw(r)
	m.potential.set(c.Alpha, r)
	m.stale, m.fresh = true, true
	return m, nil
}

// build makes the parameters, all zero.
func (m *Model) build() (err error) {
	if m.extractor, m.Config.Dim, err = m.Config.extractor(m.Rows, m.Cols); err != nil {
		return err
	}
	if err := m.Config.checkRank(m.Config.Dim); err != nil {
		return err
	}
	m.potential = newPotential(m.Config, m.Config.Dim)
	m.head = layer.NewLinear("classifier", m.Config.Dim, m.Classes)
	for _, p := range m.extractor.Params() {
		p.Group = groupExtractor
	}
	for _, p := range m.head.Params() {
		p.Group = groupClassifier
	}
	return nil
}

// Params lists all tensors in the order of their names, which is that of a model file.
func (m *Model) Params() []*Param {
	list := append(m.head.Params(), m.potential.params()...)
	list = append(list, m.extractor.Params()...)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Potential returns the energy landscape.
func (m *Model) Potential() *Potential { return m.potential }

// Dim returns the number of features.
func (m *Model) Dim() int { return m.potential.D }

// WeightsSHA256 hashes all numbers, little-endian, in the order of Params: equal weights
// give equal hashes on every machine.
func (m *Model) WeightsSHA256() string { return layer.SHA256(m.Params()) }

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

// prepare brings the potential's packed matrices up to date with the parameters, and packs
// them anew for an engine of another tier, whose kernels read another order.
func (m *Model) prepare(e *engine.Engine) {
	if m.stale || m.potential.tier != e.Tier() {
		m.potential.changed(e)
		m.stale = false
	}
}

// part returns rows [lo, hi) of a dense matrix.
func part(m engine.Matrix, lo, hi int) engine.Matrix {
	return engine.View(m.Data[lo*m.Cols:hi*m.Cols], hi-lo, m.Cols)
}
