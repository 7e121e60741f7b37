// Package baseline has the networks that a Denoising Potential Network is compared with:
// multilayer perceptrons, with and without BatchNorm (He and Su's feed-forward network),
// deep linear networks, a linear classifier, a small CNN, and the nearest of some class means.
//
// [NewMLP] and [NewCNN] make a [Network]; [Network.Fit] trains it by a [Training], Adam or
// SGD; [Network.Score] and [Network.Predict] use it, and [Network.Activations] returns
// the features after each layer, for package separation to measure. Rows are [Samples]:
// [Images] makes them of a set of images. See example_test.go.
//
// # Results that repeat
//
// First weights follow from the seed of the network, training from its own seed: order of
// the rows, dropout and noise. Weights have the same bits on every machine, tier and
// number of threads ([Network.WeightsSHA256]).
package baseline
