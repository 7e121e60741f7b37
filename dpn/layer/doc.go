// Package layer provides the building blocks of networks: layers with forward and exact backward
// passes on the engine, their parameters, the optimisers Adam, Adadelta and SGD, learning-rate schedules,
// and the computation of loss and accuracy.
//
//	net := layer.Stack{layer.NewLinear("0", 2, 16), layer.NewReLU(16), layer.NewLinear("2", 16, 2)}
//	net.Draw(num.NewRand(1, 0)) // the weights
//	for _, p := range net.Params() {
//		p.Prepare() // memory for gradient and moments
//	}
//	y := net.Forward(e, &tape, x, layer.Training)
//	e.SoftmaxCrossEntropy(dy, losses, y, labels, 1.0/4) // dy = dL/dy
//	net.Backward(e, &tape, engine.Matrix{}, dy)         // sets Param.Grad
//	adam.Step(e, p, p.Data, 0.01, 1)                    // for each p of net.Params()
//	adam.Next()                                         // after all of them: it counts the updates
//
// A [Layer] maps a matrix n x in to a matrix n x out, one row per image. [Linear], [Conv],
// [ConvPool], [ReLU], [BatchNorm], [Dropout], [LayerNorm] and [Residual] are layers; [Noise] adds noise
// to the rows of a minibatch. A [Stack] is a list of layers, and a [Tape] holds the intermediate results of
// a pass through it.
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
