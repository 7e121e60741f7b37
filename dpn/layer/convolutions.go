package layer

// Channels of the two convolutions of Convolutions.
const (
	channels1 = 8
	channels2 = 16
)

// Convolutions are the first layers of a small network for pictures of rows x cols pixels:
// twice a 5x5 convolution with a border of 2, ReLU and 2x2 max-pooling, to 8 and then 16
// channels. Tensors are named prefix and the place in the list.
func Convolutions(prefix string, rows, cols int) Stack {
	r, c := rows/2, cols/2
	return Stack{
		NewConv2D(prefix+"0", 1, rows, cols, channels1, 5, 2), NewReLU(channels1 * rows * cols), NewMaxPool(channels1, rows, cols),
		NewConv2D(prefix+"3", channels1, r, c, channels2, 5, 2), NewReLU(channels2 * r * c), NewMaxPool(channels2, r, c),
	}
}
