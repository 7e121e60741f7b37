package layer

// The channels of the two convolutions of Convolutions.
const (
	channels1 = 8
	channels2 = 16
)

// Convolutions returns the first layers of a small network for images of a shape: two
// 5x5 convolutions with padding 2, to 8 and then 16 channels, each with ReLU and 2x2 max-pooling.
// The names of the tensors are prefix and the index in a PyTorch nn.Sequential of these six
// modules.
func Convolutions(prefix string, in ImageShape) Stack {
	return Stack{
		NewConvPool(prefix+"0", in, channels1, 5, 2),
		NewConvPool(prefix+"3", ImageShape{channels1, in.Rows / 2, in.Cols / 2}, channels2, 5, 2),
	}
}
