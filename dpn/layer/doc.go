// Package layer provides the building blocks of networks: layers with forward and exact backward
// passes on the engine, their parameters, the optimisers Adam and SGD, learning-rate schedules, and
// the computation of loss and accuracy.
//
// A [Layer] maps a matrix n x in to a matrix n x out, one row per image. [Linear], [ConvPool],
// [ReLU], [BatchNorm], [Dropout] and [LayerNorm] are layers; [Noise] adds noise to the rows of a
// minibatch. A [Stack] is a list of layers, and a [Tape] holds the intermediate results of a pass
// through it:
//
//	net := layer.Stack{layer.NewLinear("0", 784, 128), layer.NewReLU(128), layer.NewLinear("2", 128, 10)}
//	net.Draw(num.NewRand(seed, 0))
//	y := net.Forward(e, &tape, x, layer.Training)
//	...                                        // dy = dL/dy
//	net.Backward(e, &tape, engine.Matrix{}, dy) // sets Param.Grad
//
// Definitions, names and layouts of tensors are those of PyTorch, so that weights can be exchanged.
// An image with channels is one row: channel after channel, each row-major.
//
// # The same bits everywhere
//
// Results do not depend on the tier or the number of threads. Sums within products are chains of
// fused multiply-adds in increasing index, all others chains of rounded additions. The result of a
// row does not depend on the other rows, with two exceptions in training: BatchNorm takes its
// statistics from all rows, and Dropout's pattern depends on the position of a row in the batch.
package layer
