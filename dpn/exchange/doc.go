// Package exchange carries models to other programs and back.
//
// [WritePyTorch] writes a module in Python and the weights, [WriteONNX] an ONNX graph, [WriteNPZ] the
// arrays for NumPy. What a network computes from an image agrees with [dpn.Model.Predict] up to the
// rounding of float32. In all of them the normalisation of the grey levels is part of the network. [Import]
// reads a network of PyTorch:
//
//	in, err := exchange.Import("reference.pth", dpn.Published)
//	err = in.Model.Save("model.safetensors")
package exchange
