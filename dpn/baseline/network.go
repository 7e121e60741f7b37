package baseline

import (
	"fmt"
	"math"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine/num"
)

// Network maps rows to logits by a list of layers, which make one pass at a time: no two goroutines may use it at once.
type Network struct {
	In, Classes int

	layers layer.Stack
	marks  []mark
}

// mark names the output of a layer.
type mark struct {
	name  string
	layer int
}

// Streams of random numbers of a network's seed.
const (
	streamWeights = iota
	streamDropout // and those that follow, one for each layer
)

// Limits of the settings.
const (
	maxWidth  = 1 << 16
	maxLayers = 1000
)

// MLP holds the settings of a multilayer perceptron. Each hidden layer is Linear, BatchNorm
// (optional), ReLU and Dropout (optional); a last Linear computes the logits.
type MLP struct {
	Widths    []int // numbers in a row, widths of the hidden layers, classes
	BatchNorm bool
	Identity  bool    // no ReLU: a deep linear network
	Dropout   float64 // probability, after every hidden layer and block
	Kaiming   bool    // Kaiming initialisation, for deep networks without BatchNorm, instead of PyTorch's default

	// Residual makes a residual block of every two hidden layers behind the first one, all of its width:
	// ReLU(x + f(x)), where f is Linear, BatchNorm, ReLU, Linear, BatchNorm.
	Residual bool
}

// HeSu returns He and Su's feed-forward network (A law of data separation in deep learning, PNAS
// 2023): depth + 1 hidden layers of width 100 with BatchNorm and ReLU, and a linear classifier.
// They studied depths of 2, 6 and 18, and call these networks of 4, 8 and 20 layers.
func HeSu(in, depth, classes int) MLP {
	w := []int{in}
	for range depth + 1 {
		w = append(w, 100)
	}
	return MLP{Widths: append(w, classes), BatchNorm: true}
}

// NewMLP makes a multilayer perceptron. The seed determines its initial weights and its dropout.
// Without hidden layers it is a linear classifier. Its tensors are named as in a PyTorch
// nn.Sequential.
func NewMLP(c MLP, seed uint64) (*Network, error) {
	if n := len(c.Widths); n < 2 || n > maxLayers {
		return nil, fmt.Errorf("%d widths, expected 2 to %d: numbers in a row, hidden layers, classes", n, maxLayers)
	}
	for _, w := range c.Widths {
		if w < 1 || w > maxWidth {
			return nil, fmt.Errorf("width %d, expected 1 to %d", w, maxWidth)
		}
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		return nil, fmt.Errorf("dropout %v, expected 0 <= p < 1", c.Dropout)
	}
	if err := c.checkResidual(); err != nil {
		return nil, err
	}
	n := &Network{}
	r := num.NewRand(seed, streamWeights)
	last := len(c.Widths) - 2
	for i := 0; i < last; i++ {
		if c.Residual && i > 0 {
			n.layers = append(n.layers, c.block(n.next(), i, r))
			i++
		} else {
			n.layers = append(n.layers, c.linear(n.next(), i, r))
			if c.BatchNorm {
				n.layers = append(n.layers, layer.NewBatchNorm(n.next(), c.Widths[i+1]))
			}
		}
		out := c.Widths[i+1]
		if !c.Identity {
			n.layers = append(n.layers, layer.NewReLU(out))
		}
		n.mark(fmt.Sprintf("hidden %d", i+1))
		if c.Dropout > 0 {
			own := num.NewRand(seed, streamDropout+uint64(i)).Uint64()
			n.layers = append(n.layers, layer.NewDropout(out, c.Dropout, own))
		}
	}
	l := layer.NewLinear(n.next(), c.Widths[last], c.Widths[last+1])
	l.Draw(r)
	n.layers = append(n.layers, l)
	return n.finish(c.Widths[0])
}

// linear makes the product of hidden layer i, with its initial weights.
func (c MLP) linear(name string, i int, r *num.Rand) *layer.Linear {
	l := layer.NewLinear(name, c.Widths[i], c.Widths[i+1])
	switch {
	case c.Kaiming && c.Identity:
		l.DrawKaiming(r, 1)
	case c.Kaiming:
		l.DrawKaiming(r, math.Sqrt2)
	default:
		l.Draw(r)
	}
	return l
}

// block makes a residual block of hidden layers i and i+1, without its last ReLU.
func (c MLP) block(name string, i int, r *num.Rand) *layer.Residual {
	width := c.Widths[i]
	var list []layer.Layer
	next := func() string { return fmt.Sprintf("%s.%d", name, len(list)) }
	for j := range 2 {
		list = append(list, c.linear(next(), i+j, r))
		if c.BatchNorm {
			list = append(list, layer.NewBatchNorm(next(), width))
		}
		if j == 0 && !c.Identity {
			list = append(list, layer.NewReLU(width))
		}
	}
	return layer.NewResidual(list...)
}

// checkResidual refuses hidden layers that make no residual blocks.
func (c MLP) checkResidual() error {
	hidden := c.Widths[1 : len(c.Widths)-1]
	if !c.Residual {
		return nil
	}
	if len(hidden) < 3 || len(hidden)%2 == 0 {
		return fmt.Errorf("%d hidden layers, expected one and pairs of them for residual blocks", len(hidden))
	}
	for _, w := range hidden {
		if w != hidden[0] {
			return fmt.Errorf("hidden layers of widths %d, expected one width for residual blocks", hidden)
		}
	}
	return nil
}

// NewCNN makes a small convolutional network for images of a shape: two 5x5 convolutions
// with padding 2, to 8 and then 16 channels, each with ReLU and 2x2 max-pooling, a hidden layer of
// width 128 with ReLU, and a linear classifier. The seed determines its initial weights. Its
// tensors are named as in a PyTorch nn.Sequential whose module 6 is Flatten.
func NewCNN(shape dataset.Shape, classes int, seed uint64) (*Network, error) {
	pixels := float64(shape.Rows) * float64(shape.Cols) * float64(shape.Channels) // which an int may not hold
	if !shape.IsImage() || shape.Rows < 4 || shape.Cols < 4 || pixels > maxWidth {
		return nil, fmt.Errorf("%s of %v, expected images of at least 4 x 4 and at most %d pixels", shape.Samples(),
			shape, maxWidth)
	}
	if classes < 1 || classes > dataset.MostClasses {
		return nil, fmt.Errorf("%d classes, expected 1 to %d", classes, dataset.MostClasses)
	}
	const hidden = 128
	in := layer.ImageShape{Channels: shape.Channels, Rows: shape.Rows, Cols: shape.Cols}
	n := &Network{layers: layer.Convolutions("", in, layer.Channels1, layer.Channels2)}
	n.marks = []mark{{"conv 1", 0}, {"conv 2", 1}}
	_, wide := n.layers[1].Sizes()
	n.layers = append(n.layers, layer.NewLinear("7", wide, hidden), layer.NewReLU(hidden))
	n.mark("hidden 1")
	n.layers = append(n.layers, layer.NewLinear("9", hidden, classes))
	n.layers.Draw(num.NewRand(seed, streamWeights))
	return n.finish(shape.Len())
}

// next returns the name of the next layer: its index in the list.
func (n *Network) next() string { return strconv.Itoa(len(n.layers)) }

// mark names the output of the last layer added.
func (n *Network) mark(name string) { n.marks = append(n.marks, mark{name, len(n.layers) - 1}) }

// finish completes a network once its layers and the marks of its hidden layers are set.
func (n *Network) finish(in int) (*Network, error) {
	n.mark("logits")
	classes, err := n.layers.Check(in)
	if err != nil {
		return nil, err
	}
	n.In, n.Classes = in, classes
	return n, nil
}

// Params lists the tensors that training changes, from the input to the logits.
func (n *Network) Params() []*layer.Param { return n.layers.Params() }

// Cost returns the cost of one row.
func (n *Network) Cost() layer.Cost { return layer.CostOf(n.layers) }

// Parameters returns the number of trained parameters.
func (n *Network) Parameters() int { return n.Cost().Parameters }

// MACs returns the number of multiply-adds in the products of one row.
func (n *Network) MACs() int { return n.Cost().MACs }

// WeightsSHA256 hashes all parameters and the running statistics of BatchNorm. The hash of equal
// networks is the same on every machine.
func (n *Network) WeightsSHA256() string { return layer.SHA256(n.tensors()) }

// tensors lists all parameters and the running statistics of BatchNorm.
func (n *Network) tensors() []*layer.Param {
	list := n.Params()
	n.layers.Each(func(l layer.Layer) {
		if b, ok := l.(*layer.BatchNorm); ok {
			list = append(list, b.Buffers()...)
		}
	})
	return list
}
