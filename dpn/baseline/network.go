package baseline

import (
	"fmt"
	"math"
	"strconv"

	"dpnbench/dpn/layer"
	"dpnbench/engine/num"
)

// Network is a list of layers from rows to logits.
type Network struct {
	In, Classes int

	layers layer.Stack
	marks  []mark
}

// mark names what a layer gives.
type mark struct {
	name  string
	layer int
}

// Streams of random numbers under the seed of a network.
const (
	streamWeights = iota
	streamDropout // and those that follow, one for each layer
)

// Limits of what can be asked for.
const (
	maxWidth  = 1 << 16
	maxLayers = 1000
)

// MLP are the settings of a multilayer perceptron: Linear, then for every hidden layer
// BatchNorm (optional), ReLU and Dropout (optional).
type MLP struct {
	Widths    []int // numbers in a row, widths of the hidden layers, classes
	BatchNorm bool
	Identity  bool    // no ReLU: a deep linear network
	Dropout   float64 // probability, after every hidden layer
	Kaiming   bool    // first weights that keep the size of rows, for depth without BatchNorm; otherwise PyTorch's default
}

// HeSu returns He and Su's feed-forward network (A law of data separation in deep
// learning, PNAS 2023): an input layer and depth more, each 100 wide with BatchNorm and
// ReLU, and a classifier. They studied depths of 2, 6 and 18.
func HeSu(in, depth, classes int) MLP {
	w := []int{in}
	for range depth + 1 {
		w = append(w, 100)
	}
	return MLP{Widths: append(w, classes), BatchNorm: true}
}

// NewMLP makes a multilayer perceptron; seed decides its first weights and its dropout.
// Without hidden layers it is a linear classifier. Its tensors are named as those of an
// nn.Sequential of PyTorch.
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
	n := &Network{}
	gain := math.Sqrt2
	if c.Identity {
		gain = 1
	}
	r := num.NewRand(seed, streamWeights)
	last := len(c.Widths) - 2
	for i, out := range c.Widths[1:] {
		l := layer.NewLinear(n.next(), c.Widths[i], out)
		if c.Kaiming && i < last {
			l.DrawKaiming(r, gain)
		} else {
			l.Draw(r)
		}
		n.layers = append(n.layers, l)
		if i == last {
			break
		}
		if c.BatchNorm {
			n.layers = append(n.layers, layer.NewBatchNorm(n.next(), out))
		}
		if !c.Identity {
			n.layers = append(n.layers, layer.NewReLU(out))
		}
		n.mark(fmt.Sprintf("hidden %d", i+1))
		if c.Dropout > 0 {
			own := num.NewRand(seed, streamDropout+uint64(i)).Uint64()
			n.layers = append(n.layers, layer.NewDropout(out, c.Dropout, own))
		}
	}
	return n.finish(c.Widths[0])
}

// NewCNN makes a small convolutional network for images of rows x cols pixels: 5x5
// convolutions with a border of 2 to 8 and to 16 channels, each with ReLU and 2x2
// max-pooling, a hidden layer of 128 with ReLU, and a classifier; seed decides its first
// weights. Its tensors are named as those of an nn.Sequential of PyTorch in which
// module 6 is Flatten.
func NewCNN(rows, cols, classes int, seed uint64) (*Network, error) {
	if rows < 4 || cols < 4 || rows > maxWidth/cols {
		return nil, fmt.Errorf("images of %d x %d pixels, expected at least 4 x 4 and at most %d pixels", rows,
			cols, maxWidth)
	}
	if classes < 1 || classes > 256 {
		return nil, fmt.Errorf("%d classes, expected 1 to 256", classes)
	}
	const hidden = 128
	n := &Network{layers: layer.Convolutions("", rows, cols)}
	n.marks = []mark{{"conv 1", 0}, {"conv 2", 1}}
	_, wide := n.layers[1].Sizes()
	n.layers = append(n.layers, layer.NewLinear("7", wide, hidden), layer.NewReLU(hidden))
	n.mark("hidden 1")
	n.layers = append(n.layers, layer.NewLinear("9", hidden, classes))
	n.layers.Draw(num.NewRand(seed, streamWeights))
	return n.finish(rows * cols)
}

// next is the name of the next layer, its place in the list.
func (n *Network) next() string { return strconv.Itoa(len(n.layers)) }

// mark names what the last layer so far gives.
func (n *Network) mark(name string) { n.marks = append(n.marks, mark{name, len(n.layers) - 1}) }

// finish completes a network whose layers and hidden marks are there.
func (n *Network) finish(in int) (*Network, error) {
	n.mark("logits")
	classes, err := n.layers.Check(in)
	if err != nil {
		return nil, err
	}
	if classes > 256 {
		return nil, fmt.Errorf("%d classes, expected 1 to 256", classes)
	}
	n.In, n.Classes = in, classes
	return n, nil
}

// Params lists the tensors that training changes, from the input to the logits.
func (n *Network) Params() []*layer.Param { return n.layers.Params() }

// Cost counts what the network takes for one row.
func (n *Network) Cost() layer.Cost { return layer.CostOf(n.layers) }

// Parameters counts the numbers that training changes.
func (n *Network) Parameters() int { return n.Cost().Parameters }

// MACs counts the multiply-adds of the products for one row.
func (n *Network) MACs() int { return n.Cost().MACs }

// WeightsSHA256 hashes all parameters, and then the running statistics of BatchNorm: equal
// networks give equal hashes on every machine.
func (n *Network) WeightsSHA256() string {
	list := n.Params()
	for _, l := range n.layers {
		if b, ok := l.(*layer.BatchNorm); ok {
			list = append(list, b.Buffers()...)
		}
	}
	return layer.SHA256(list)
}
