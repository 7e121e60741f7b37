// Package source opens data sets: the built-in digits, MNIST and Fashion-MNIST, or files of many
// formats: IDX, NPY, NPZ, CSV, images, CIFAR batches and others (Formats).
//
//	data, err := source.Open(path, source.Options{TestShare: 0.25, Seed: 1}) // path: a table, such as iris.csv
//	digits, err := source.Open("digits", source.Options{TrainSize: 1000, TestSize: 100, Seed: 1})
//
// Options say how files are read. WriteNPZ writes a data set as a file that Open reads. Package
// dataset/fetch downloads MNIST and Fashion-MNIST.
//
// A reader returns a content: samples, with labels as numbers or texts. What readers share is in
// content.go (classes, sizes), split.go (test samples) and convert.go (size and channels of images).
//
// To add a data format: a reader, its row in formats (format.go), an entry of writers in
// formats_test.go, and a fuzz target for the parser.
package source
