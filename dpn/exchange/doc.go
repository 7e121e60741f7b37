// Package exchange carries models to other programs and back.
//
//	err = exchange.WriteNPZ(&file, model) // any io.Writer
//	in, err := exchange.Import("reference.pth", dpn.Published)
//
// [WritePyTorch] writes a module in Python and the weights, [WriteONNX] an ONNX graph, [WriteNPZ] the
// arrays for NumPy. What a network computes from an image agrees with [dpn.Model.Predict] up to the
// rounding of float32. In all of them the normalisation of the grey levels is part of the network. [Import]
// reads a network of PyTorch, which Imported.Model holds.
package exchange
