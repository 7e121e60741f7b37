package reproduce

import (
	"context"
	"fmt"
	"math"
	"sync"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

// He and Su's protocol ("A law of data separation in deep learning", PNAS 2023, and their published code): images of
// lawSide x lawSide pixels, lawPerClass training images of each class, 600 epochs.
const (
	lawSide     = 10
	lawPerClass = 100
	lawEpochs   = 600

	// lawSkew is how many times as many images half of the classes have in the imbalanced set.
	lawSkew = 5

	// lawBatch is the number of rows from which BatchNorm takes its statistics while D is
	// measured: He and Su keep the network in training mode.
	lawBatch = 100
)

// lawNorm is the normalisation of the published code.
var lawNorm = dataset.Uniform(0.5, 0.5)

// LawOptions are the settings of RunLaw. The zero value is ready to use.
type LawOptions struct {
	Seeds  int  // number of seeds 1, 2, ... of weights and training (0: 3)
	Epochs int  // (0: 600, as He and Su)
	Matrix bool // also the other learning rates and widths, and imbalanced classes

	Progress Progress
	Parts    *Parts // where finished trainings are kept; nil: nowhere

	few bool // for tests: a published setting, a network without BatchNorm, the residual one and two DPNs
}

// LawResult is the law of equi-separation in feed-forward networks, and in DPNs on the same images.
type LawResult struct {
	Data     string       `json:"data"`
	Known    bool         `json:"known_data"` // all of Fashion-MNIST or MNIST: claims are judged
	Side     int          `json:"side"`       // of an image, in pixels
	Images   int          `json:"images"`
	Epochs   int          `json:"epochs"`
	Matrix   bool         `json:"matrix"`
	Networks []LawNetwork `json:"networks"`
}

// LawNetwork is one network with one setting of its training, over all seeds.
type LawNetwork struct {
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	BatchNorm bool    `json:"batch_norm"`
	Depth     int     `json:"linear_layers,omitempty"` // as He and Su count: with the last one
	Width     int     `json:"width,omitempty"`
	Optimiser string  `json:"optimiser,omitempty"` // SGD, momentum or Adam
	Rate      float64 `json:"learning_rate,omitempty"`
	Published string  `json:"published"` // what He and Su found: "law", "no law", or nothing
	// LowestLoss says that no other rate for the same network and optimiser has a lower training loss (mean over
	// seeds); it is set if there are others.
	LowestLoss bool     `json:"lowest_loss,omitempty"`
	Layers     []string `json:"layers"` // input, hidden layers (of DPNs: steps), logits
	Runs       []LawRun `json:"runs"`
}

// Kinds of networks.
const (
	lawSettings = "published setting" // of He and Su's first figure
	lawRates    = "other learning rate"
	lawPlain    = "no BatchNorm"
	lawLinear   = "linear"
	lawResidual = "residual"
	lawCNN      = "CNN"
	lawSkewed   = "imbalanced classes"
	lawWidths   = "other width"
	lawDPN      = "DPN"
)

// What He and Su found, by LawNetwork.Published.
const (
	foundLaw   = "law"
	foundNoLaw = "no law"
)

// LawRun is one training. D is measured on the training images, as by He and Su.
type LawRun struct {
	Seed          uint64             `json:"seed"`
	TrainAccuracy float64            `json:"train_accuracy"`
	TrainLoss     separation.Float   `json:"train_loss"`
	TestAccuracy  float64            `json:"test_accuracy"`
	D             []separation.Float `json:"fuzziness"`      // of each layer
	TestD         []separation.Float `json:"test_fuzziness"` // on equally many test images
	Law           *separation.Law    `json:"law"`            // without the logits; of DPNs: over the steps
	WithLogits    *separation.Law    `json:"law_with_logits"`
	TestLaw       *separation.Law    `json:"test_law"` // without the logits
	// Loads are the shares of the layers of Law but the first in the fall of log D; null if it does not fall.
	Loads []float64 `json:"loads"`
	// LayersLaw is the law over input, features and denoised features of a DPN.
	LayersLaw *separation.Law `json:"layers_law,omitempty"`
	// Emergence is D at every layer during the training.
	Emergence []LawEpoch `json:"emergence,omitempty"`
	// Failed says why the training ended early; D and TrainLoss are NaN (null) then.
	Failed string `json:"failed,omitempty"`
}

// LawEpoch is D after an epoch.
type LawEpoch struct {
	Epoch int                `json:"epoch"` // 0: before training
	D     []separation.Float `json:"fuzziness"`
}

// lawData are the images of the experiment.
type lawData struct {
	train, test, skewed baseline.Samples
	small               *dataset.Data // train and test
}

// RunLaw trains the networks with He and Su's protocol on data and fits the law to each, and measures DPNs in the
// same way. (Their own figures are for Fashion-MNIST.)
func RunLaw(ctx context.Context, e *engine.Engine, data *dataset.Data, o LawOptions) (*LawResult, error) {
	if o.Seeds == 0 {
		o.Seeds = 3
	}
	if o.Epochs == 0 {
		o.Epochs = lawEpochs
	}
	images, err := newLawData(data, o.Matrix)
	if err != nil {
		return nil, fmt.Errorf("law: %w", err)
	}
	cells := lawNetworks(len(data.Classes), o)
	all := len(cells) * o.Seeds
	results := make([]lawUnit, all)
	var mu sync.Mutex
	done := 0
	err = eachOn(ctx, e, all, func(e *engine.Engine, i int) error {
		s, c := i/len(cells), cells[i%len(cells)] // every network once, before any twice
		begin := func() {
			mu.Lock()
			defer mu.Unlock()
			o.Progress.seed("law: "+c.Name, s, o.Seeds, done, all)
		}
		name := fmt.Sprintf("law: %s, seed %d", c.Name, s+1)
		u, err := unit(o.Parts, name, begin, func(string) (lawUnit, error) {
			return c.run(ctx, e, images, uint64(s+1))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		results[i] = u
		done++
		return nil
	})
	if err != nil {
		return nil, err
	}
	sum := digest(data)
	out := &LawResult{Data: data.Name, Known: sum == mnist || sum == fashion, Side: lawSide,
		Images: images.train.Len(), Epochs: o.Epochs, Matrix: o.Matrix}
	for i, c := range cells {
		n := c.LawNetwork
		for s := range o.Seeds {
			u := results[s*len(cells)+i]
			n.Layers, n.Runs = u.Layers, append(n.Runs, u.Run)
		}
		out.Networks = append(out.Networks, n)
	}
	out.markLowestLoss()
	return out, nil
}

// markLowestLoss sets LowestLoss. The choice of a rate never depends on the law.
func (l *LawResult) markLowestLoss() {
	type grid struct {
		optimiser string
		depth     int
	}
	best := map[grid]*LawNetwork{}
	rates := map[grid]int{}
	for i := range l.Networks {
		n := &l.Networks[i]
		if n.Kind != lawSettings && n.Kind != lawRates {
			continue
		}
		g := grid{n.Optimiser, n.Depth}
		rates[g]++
		if b := best[g]; b == nil || n.trainLoss() < b.trainLoss() {
			best[g] = n
		}
	}
	for g, n := range best {
		n.LowestLoss = rates[g] > 1
	}
}

// trainLoss is the mean over seeds; +Inf if a training failed.
func (n *LawNetwork) trainLoss() float64 {
	var sum float64
	for _, run := range n.Runs {
		sum += float64(run.TrainLoss)
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum / float64(len(n.Runs))
}

// CheckImages returns a *source.SizeError if data have fewer images than an experiment needs: table1 the
// first 32 test images, law 100 training (with its matrix 500) and 100 test images of each class.
func CheckImages(experiment string, matrix bool, data *dataset.Data) error {
	fewer := func(split string, images int, err error) error {
		return &source.SizeError{Split: split, Size: images, Problem: experiment + ": " + err.Error()}
	}
	switch n := data.Test.Len(); experiment {
	case "table1":
		if n < table1Images {
			return fewer("test", n, fmt.Errorf("%d test images: expected at least %d", n, table1Images))
		}
	case "law":
		most := lawPerClass
		if matrix {
			most *= lawSkew
		}
		if _, err := data.Train.PerClass(len(data.Classes), most); err != nil {
			return fewer("train", data.Train.Len(), err)
		}
		if _, err := data.Test.PerClass(len(data.Classes), lawPerClass); err != nil {
			return fewer("test", n, err)
		}
	}
	return nil
}

// newLawData returns the first images of each class, scaled down; with skew also the imbalanced set.
func newLawData(data *dataset.Data, skew bool) (*lawData, error) {
	classes := len(data.Classes)
	scaled := func(s *dataset.Set, n int) (*dataset.Set, error) {
		few, err := s.PerClass(classes, n)
		if err != nil {
			return nil, err
		}
		return few.Resize(lawSide, lawSide)
	}
	train, err := scaled(data.Train, lawPerClass)
	if err != nil {
		return nil, fmt.Errorf("training images: %w", err)
	}
	test, err := scaled(data.Test, lawPerClass)
	if err != nil {
		return nil, fmt.Errorf("test images: %w", err)
	}
	small := *data
	small.Train, small.Test = train, test
	out := &lawData{train: baseline.Rows(train, lawNorm), test: baseline.Rows(test, lawNorm), small: &small}
	if !skew {
		return out, nil
	}
	many, err := scaled(data.Train, lawSkew*lawPerClass)
	if err != nil {
		return nil, fmt.Errorf("imbalanced training images: %w", err)
	}
	var at []int32
	taken := make([]int, classes)
	for i, y := range many.Labels {
		if taken[y]++; int(y) < classes/2 || taken[y] <= lawPerClass {
			at = append(at, int32(i))
		}
	}
	out.skewed = baseline.Rows(many.Pick(at), lawNorm)
	return out, nil
}
