package dpn

import "dpnbench/dpn/layer"

// extractor makes the layers that turn pictures of rows x cols pixels into features, and
// counts the features.
func (c Config) extractor(rows, cols int) (s layer.Stack, dim int) {
	dim = rows * cols
	if c.Extractor == "linear" {
		dim = c.Dim
		s = layer.Stack{layer.NewLinear("feature_extractor", rows*cols, dim)}
	}
	if c.LayerNorm {
		s = append(s, layer.NewLayerNorm(dim))
	}
	return s, dim
}
