// Package dataset brings grey pictures of digits into memory: the built-in
// digits, which need no download, and MNIST or anything else in its file
// format.
//
// Open is the way in. It returns a Data: a training and a test Set, one byte a
// pixel, with the Normalization that turns bytes into a network's input.
//
//	data, err := dataset.Open("digits", dataset.Options{TrainSize: 1000, TestSize: 100})
//	...
//	table := data.Norm.Table()
//	for i := range data.Train.Len() {
//		for j, v := range data.Train.Image(i) {
//			x[j] = table[v]
//		}
//	}
//
// Set.Resize makes smaller or larger pictures by area average, Set.PerClass picks equally
// many of each class.
//
// A Corruption spoils pictures by noise, patches, blur and so on, by as much as it says:
// Corruption.Grey gives chosen pictures of a Set as float32 grey levels. CorruptionKinds
// lists what there is.
//
// WriteNPY writes numbers for NumPy.
//
// LoadIDX reads a folder, Digits draws any piece of the built-in digits; package fetch
// downloads MNIST.
//
// # The built-in digits
//
// Digits are written, not stored. Each has three or four styles, each style a
// skeleton of pen strokes with two extremes; a digit is a blend of the two
// with its knots displaced, its paper bent, stretched, slanted and turned. It is
// sized and centred as MNIST's digits are, then inked with a pen of its own
// width, edge and grain. Everything about digit i follows from the seed and i,
// through 64-bit integers and float64 operations that no compiler may fuse or
// reorder, so its bytes are the same on every machine.
//
// They are about as hard as MNIST. Percent of the 10,000 test images right after
// ten epochs on the 60,000 training images (Adam at 1e-3, batch 128, 5% warm-up,
// then cosine decay):
//
//	                                     digits, seed 1    MNIST
//	linear classifier                              91.4     92.6
//	MLP 784-512-256-10                             98.9     98.6
//
// as measured by
//
//	go test ./dpn/baseline -run TestHardness -hardness -v
package dataset
