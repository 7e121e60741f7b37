package dpn

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// Param is layer.Param.
type Param = layer.Param

// Groups of the parameters (Param.Group), each with a learning rate and a gradient norm of its
// own. Those of the potential are potential.Group and potential.GroupAlpha.
const (
	groupExtractor  = "extractor"
	groupClassifier = "classifier"
)

// Model is a Denoising Potential Network: samples, preprocessed and normalised, go through the feature
// extractor, then uphill on the potential for Config.Steps steps, then through a linear
// classifier.
//
// Methods that evaluate samples or features may be called by several goroutines, which take turns, best with one
// engine. None may be called while Fit, a Trainer or the caller changes the model.
type Model struct {
	Config       Config
	Shape        dataset.Shape         // of a sample
	Classes      []string              // their names
	FeatureNames []string              // names of the features of vectors; nil: they have none
	Norm         dataset.Normalization // change it by SetNorm

	// Assumed names the settings that change results and of which the file of Load says
	// nothing: "steps", "layer-norm", "mean", "std" and "data". They are those of the
	// published reference. Empty for a file that Save wrote, and for a model of New.
	Assumed []string

	// Unchecked says that the file of Load has the format of Save but no checksum: it has been
	// changed by another program, or it is damaged.
	Unchecked bool

	// UnknownBelow is the potential at x_0 that 95% of the validation samples reach: a sample whose
	// potential is lower looks unknown. Fit measures it with the weights that it leaves, and files keep it. nil: not
	// measured (see MeasureUnknown).
	UnknownBelow *float32

	turn      *sync.Mutex // of those who evaluate: layers and potential keep memory
	extractor layer.Stack // pixels to features; empty: the pixels are the features
	potential *potential.Potential
	head      *layer.Linear
	origin    origin
	lastSplit bool // trained by a version that validated on the last training images
	fresh     bool // nothing has been learned since New, which Fit asks for
	epoch     int  // of Fit whose weights these are, from 1; 0: not known
}

// New makes a network for samples like those of a data set, which has labelled training samples. Its
// layers are drawn from the seed; the centres of its potential are all zero until Init.
func New(c Config, data *dataset.Data) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if data == nil {
		return nil, data.Check()
	}
	if data.Train == nil {
		return nil, fmt.Errorf("data set %q has no training samples", data.Name)
	}
	if err := data.Train.CheckLabelled(); err != nil {
		return nil, fmt.Errorf("training samples: %w", err)
	}
	train := *data
	train.Test = nil
	if err := train.Check(); err != nil {
		return nil, err
	}
	m := &Model{Config: c, Shape: data.Train.Shape, Classes: data.Classes, FeatureNames: data.Features, Norm: data.Norm,
		origin: originOf(c.Data, data)}
	if err := m.build(); err != nil {
		return nil, err
	}
	r := num.NewRand(c.Seed, stream.Weights)
	var weights layer.Uniform = r
	if c.Extractor == "conv3" { // a network of PyTorch, with the weights that it has there
		weights = num.NewTorch(c.Seed)
	}
	m.extractor.Draw(weights)
	m.head.Draw(weights)
	m.potential.Start(c.Alpha, r)
	m.fresh = true
	return m, nil
}

// SetRoute sets which components ascents compute. It changes no bit.
func (m *Model) SetRoute(r ascent.Route) { m.potential.SetRoute(r) }

// build makes the parameters, all zero.
func (m *Model) build() (err error) {
	if err := m.Config.checkPreprocessing(m.Shape); err != nil {
		return err
	}
	if m.extractor, m.Config.Dim, err = m.Config.Layers(m.Shape); err != nil {
		return err
	}
	if err := m.Config.checkRank(m.Config.Dim); err != nil {
		return err
	}
	m.turn = new(sync.Mutex)
	m.potential = potential.New(m.Config.potential(), m.Config.Dim)
	m.SetNorm(m.Norm)
	m.head = layer.NewLinear("classifier", m.Config.Dim, len(m.Classes))
	for _, p := range m.extractor.Params() {
		p.Group = groupExtractor
	}
	for _, p := range m.head.Params() {
		p.Group = groupClassifier
	}
	return nil
}

// SetNorm sets Norm. Models of pixels also take a black image as the origin of the potential.
func (m *Model) SetNorm(n dataset.Normalization) {
	m.Norm = n
	if len(m.extractor) == 0 && m.Shape.IsImage() {
		black := make([]float32, m.Config.Dim)
		n.Apply(black)
		m.potential.SetOrigin(black)
	}
}

// Params lists all tensors in the order of their names, which is that of a model file.
func (m *Model) Params() []*Param {
	list := append(m.head.Params(), m.potential.Params()...)
	list = append(list, m.extractor.Params()...)
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Potential returns the energy landscape.
func (m *Model) Potential() *potential.Potential { return m.potential }

// Extractor returns the layers from samples to features; none if samples are the features.
func (m *Model) Extractor() layer.Stack { return m.extractor }

// Dim returns the number of features.
func (m *Model) Dim() int { return m.potential.D }

// WeightsSHA256 hashes all numbers, little-endian, in the order of Params: equal weights
// give equal hashes on every machine.
func (m *Model) WeightsSHA256() string { return layer.SHA256(m.Params()) }

// CheckSet returns an error if the samples of s have another shape than the network expects, or
// labels that it does not know. They need no labels.
func (m *Model) CheckSet(s *dataset.Set) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.Shape != m.Shape {
		return m.errShape(s)
	}
	for i := range s.Labels {
		if err := m.checkLabel(s, i); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) errShape(s *dataset.Set) error {
	return fmt.Errorf("%s of %v, the model expects %v", s.Samples(), s.Shape, m.Shape)
}

// checkLabel returns an error if the model does not know the class of sample i.
func (m *Model) checkLabel(s *dataset.Set, i int) error {
	if y := s.Labels[i]; int(y) >= len(m.Classes) {
		return fmt.Errorf("label %d of sample %d, the model knows classes 0 to %d", y, i, len(m.Classes)-1)
	}
	return nil
}

// CheckLabelled is CheckSet, and refuses samples without labels.
func (m *Model) CheckLabelled(s *dataset.Set) error {
	if err := m.CheckSet(s); err != nil {
		return err
	}
	return s.CheckLabelled()
}

// checkScored is CheckLabelled, and refuses a set without samples: it has no loss and no accuracy.
func (m *Model) checkScored(s *dataset.Set) error {
	if err := m.CheckLabelled(s); err != nil {
		return err
	}
	if s.Len() == 0 {
		return errors.New("no samples, expected one or more")
	}
	return nil
}

// Cost is what a network takes, counted by layer.CostOf.
type Cost = layer.Cost

// Cost counts what the model takes for one image.
func (m *Model) Cost() Cost {
	return layer.CostOf(m.extractor, potential.Layer{Potential: m.potential, Steps: m.Config.Steps}, m.head)
}

// Parameters counts the numbers that training may change.
func (m *Model) Parameters() int { return m.Cost().Parameters }

// MACs counts the multiply-adds that the dense products take for one image.
func (m *Model) MACs() int { return m.Cost().MACs }
