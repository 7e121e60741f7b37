package dataset

// Normalization maps a grey level v, 0 to 255, to (v/255 - Mean) / Std.
type Normalization struct {
	Mean, Std float32 // of the pixels of the training images scaled to [0, 1]
}

var (
	// MNISTNorm is the usual normalisation of MNIST. It is used for every IDX folder, so that a
	// model gets the same input from any folder with the same images.
	MNISTNorm = Normalization{Mean: 0.1307, Std: 0.3081}

	// DigitsNorm is the normalisation of the built-in digits, measured over the 60,000
	// training images of seed 1.
	DigitsNorm = Normalization{Mean: 0.1306, Std: 0.3088}
)

// Table returns the normalised value of every grey level. Each entry takes two float32
// divisions and a subtraction, all correctly rounded, and no product that a compiler could fuse:
// the bits are the same on every machine, and equal to those of PyTorch's ToTensor and
// Normalize.
func (n Normalization) Table() [256]float32 {
	var t [256]float32
	for v := range t {
		t[v] = (float32(v)/255 - n.Mean) / n.Std
	}
	return t
}

// Apply normalises the grey levels x in [0, 1] in place, with the same bits as Table.
func (n Normalization) Apply(x []float32) {
	for i, v := range x {
		x[i] = (v - n.Mean) / n.Std
	}
}

// Grey returns the grey levels that normalised x come from: in [0, 1] if x is an image.
func (n Normalization) Grey(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v*n.Std) + n.Mean
	}
	return y
}
