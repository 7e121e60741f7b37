// Package baseline implements the networks that a Denoising Potential Network is compared with:
// multilayer perceptrons, with and without BatchNorm (He and Su's feed-forward network) and residual
// blocks, deep linear networks, a linear classifier, a small CNN, and the nearest class mean.
//
//	rows := baseline.Rows(set, dataset.NormalizationOf(set)) // samples of one's own
//	network, err := baseline.NewMLP(baseline.MLP{Widths: []int{2, 16, 2}}, 1)
//	epochs, err := network.Fit(ctx, e, rows, training, nil)
//
// [NewMLP] and [NewCNN] make a [Network]. [Network.Fit] trains it with Adam or SGD ([Training]),
// [Network.Score] and [Network.Predict] evaluate it, and [Network.Activations] returns the features
// after each layer, which package separation measures. The rows are [Samples]; [Rows] converts a
// data set to them. See example_test.go.
//
// # Reproducible results
//
// The seed of the network determines its initial weights and its dropout, the seed of a Training
// the order of the rows and the noise. The trained weights have the same bits on every machine, on
// every tier and for every number of threads ([Network.WeightsSHA256]).
package baseline
