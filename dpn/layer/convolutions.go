package layer

// Channels of the two convolutions of Convolutions.
const (
	channels1 = 8
	channels2 = 16
)

// Convolutions are the first layers of a small network for images of rows x cols pixels:
// twice a 5x5 convolution with a border of 2, ReLU and 2x2 max-pooling, to 8 and then 16
// channels. Tensors are named prefix and the place in a list of all six.
func Convolutions(prefix string, rows, cols int) Stack {
	return Stack{
		NewConvPool(prefix+"0", 1, rows, cols, channels1, 5, 2),
		NewConvPool(prefix+"3", channels1, rows/2, cols/2, channels2, 5, 2),
	}
}
