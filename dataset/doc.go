// Package dataset holds labelled samples, images or vectors, and draws the built-in digits.
// Package dataset/source opens data sets by name, and reads files and folders.
//
//	train := &dataset.Set{Shape: dataset.Vector(2), Values: values, Labels: labels}
//	data, err := dataset.New("mine", train, nil, []string{"low", "high"})
//
// A [Set] is samples of one [Shape], bytes of images or float32 features, with or without labels. A [Data] has a
// training and a test Set, the names of the classes, and the [Normalization] that turns samples into the input of a
// network.
//
// Digits draws any range of the built-in digits. Set.Resize scales images by area averaging,
// Set.PerClass selects equally many of each class, and WriteNPY writes arrays for NumPy.
//
// A Corruption adds noise, occlusion, blur and so on to images, with a severity:
// Corruption.Floats returns selected images of a Set as float32 levels. CorruptionKinds
// lists the kinds.
//
// To add a corruption: a method of corruptor in corrupt.go, its row in corruptionKinds, and the
// SHA-256 of its output in corrupt_test.go, which prints it. Commands, help texts and the
// robustness suite list the kinds by themselves.
//
// # The built-in digits
//
// The digits are generated, not stored. Each class has three or four styles, each style a
// skeleton of pen strokes with two extremes; a digit is a blend of the two with displaced knots,
// then bent, stretched, slanted and turned. It is scaled and centred as MNIST's digits are, and
// inked with a pen of random width, edge and grain. Digit i depends on the seed and i only,
// through 64-bit integers and float64 operations that no compiler may fuse or reorder, so its
// bytes are the same on every machine.
//
// They are about as hard as MNIST. Test accuracy in percent on 10,000 images after ten epochs
// on 60,000 training images (Adam at 1e-3, batch 128, 5% warm-up, then cosine decay):
//
//	                                     digits, seed 1    MNIST
//	linear classifier                              91.4     92.6
//	MLP 784-512-256-10                             98.9     98.6
//
// Measured by
//
//	DPNBENCH_LONG_TESTS=1 go test ./dpn/baseline -run TestHardness -v
package dataset
