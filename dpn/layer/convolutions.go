package layer

import "dpnbench/engine/num"

// Channels1 and Channels2 are the usual channels of the two convolutions of Convolutions.
const Channels1, Channels2 = 8, 16

// wide1 and wide2 are the channels of the convolutions of Convolutions3.
const wide1, wide2 = 32, 64

// Convolutions returns the first layers of a small network for images of a shape: two
// 5x5 convolutions with padding 2, to so many channels, each with ReLU and 2x2 max-pooling.
// The names of the tensors are prefix and the index in a PyTorch nn.Sequential of these six
// modules.
func Convolutions(prefix string, in ImageShape, first, second int) Stack {
	return Stack{
		NewConvPool(prefix+"0", in, first, 5, 2),
		NewConvPool(prefix+"3", ImageShape{first, in.Rows / 2, in.Cols / 2}, second, 5, 2),
	}
}

// Convolutions3 returns the first layers of the network of PyTorch's MNIST example for images of a shape: two
// 3x3 convolutions without padding, to 32 and then 64 channels, each with ReLU, 2x2 max-pooling, dropout
// of 0.25 by the seed, a linear layer to hidden numbers with ReLU, and dropout of 0.5. The names of the
// tensors are prefix and the index in a PyTorch nn.Sequential of these ten modules, of which Flatten is one.
// Images have at least 6 x 6 pixels.
func Convolutions3(prefix string, in ImageShape, hidden int, seed uint64) Stack {
	rows, cols := in.Rows-2, in.Cols-2
	pixels := (rows - 2) / 2 * ((cols - 2) / 2) * wide2
	random := num.NewRand(seed, 0)
	return Stack{
		NewConv(prefix+"0", in, wide1, 3, 0),
		NewReLU(wide1 * rows * cols),
		NewConvPool(prefix+"2", ImageShape{wide1, rows, cols}, wide2, 3, 0),
		NewDropout(pixels, 0.25, random.Uint64()),
		NewLinear(prefix+"7", pixels, hidden),
		NewReLU(hidden),
		NewDropout(hidden, 0.5, random.Uint64()),
	}
}
