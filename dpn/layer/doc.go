// Package layer has the building blocks of networks: layers with forward and exact
// backward passes on the engine, the parameters that they share with an optimiser,
// Adam and SGD, learning-rate schedules, and the count of losses and right answers.
//
// A [Layer] maps rows to rows: a matrix of n rows, one an image, n x in to n x out.
// [Linear], [ConvPool], [ReLU], [BatchNorm], [Dropout] and [LayerNorm] are layers, and
// [Noise] is added to the rows of a minibatch. A [Stack] is a list of layers and a [Tape] the
// memory of a pass through it:
//
//	net := layer.Stack{layer.NewLinear("0", 784, 128), layer.NewReLU(128), layer.NewLinear("2", 128, 10)}
//	net.Draw(num.NewRand(seed, 0))
//	y := net.Forward(e, &tape, x, layer.Training)
//	...                                        // dy = dL/dy
//	net.Backward(e, &tape, engine.Matrix{}, dy) // sets Param.Grad
//
// Definitions, names and layouts of tensors are PyTorch's, so that weights move between
// the two. An image with channels is a row too: channel after channel, each row-major.
//
// # The same bits everywhere
//
// Results are functions of the input only, whatever the tier and the number of threads.
// Sums are chains of fused multiply-adds in increasing index where a product makes them,
// and chains of rounded additions elsewhere. A row's result does not depend on the other
// rows, except where the definition says so: BatchNorm in training takes its statistics
// from all rows, and Dropout's pattern goes by the place of a row in the batch.
package layer
