// Package stream numbers the streams of random numbers that a network draws under one seed
// (num.NewRand), one for each use. Files of trained weights depend on these numbers.
package stream

// The streams. Those with a further number have a range of their own: the number is added.
const (
	Weights = 0
	KMeans  = 1
	Shuffle = 2 // + the epoch, from 1

	Classes = 1 << 32 // + the class: k-means in that class
	Noise   = 1 << 33 // the seed of the noise on images
	Score   = 1 << 34 // the seed of the noise of score matching
	Sample  = 1 << 35 // images for the diagnostics
	Centres = 1 << 36 // centres drawn from the features
	Split   = 1 << 37 // images for validation
	Dropout = 1 << 38 // the seed of dropout
	Draws   = 1 << 40 // + the number of the sample
	Chains  = 1 << 41 // + the number of the chain
)
