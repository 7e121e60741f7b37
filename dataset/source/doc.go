// Package source opens data sets: the built-in digits, MNIST, or a folder in its file format.
//
//	data, err := source.Open("digits", source.Options{TrainSize: 1000, TestSize: 100, Seed: 1})
//
// Behind Open is LoadIDX, which reads a folder; package dataset/fetch downloads MNIST.
//
// To add a data format: a loader that returns a *dataset.Data, like LoadIDX in mnist.go, a case in
// OpenContext, and a fuzz target for the parser.
package source
