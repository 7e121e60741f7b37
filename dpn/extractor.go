package dpn

import (
	"fmt"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/layer"
	"dpnbench/engine/num"
)

// extractorKey is where the keys of the extractor's tensors begin.
const extractorKey = "feature_extractor"

// Extractors lists the kinds of extractors.
func Extractors() []string { return []string{"identity", "linear", "mlp", "conv", "conv3"} }

// Layers makes the layers that turn samples of a shape into features, their weights zero, and
// counts the features. Keys are those of PyTorch: extractorKey is an nn.Linear for the
// extractor linear, an nn.Sequential of Linear and ReLU for mlp, and for conv one of Conv2d,
// ReLU, MaxPool2d, Conv2d, ReLU, MaxPool2d, Flatten and Linear; for conv3 see layer.Convolutions3. LayerNorm
// has no tensors.
func (c Config) Layers(shape dataset.Shape) (s layer.Stack, dim int, err error) {
	dim = c.Dim
	in := shape.Len()
	switch c.Extractor {
	case "identity":
		dim = in
	case "linear":
		s = layer.Stack{layer.NewLinear(extractorKey, in, dim)}
	case "mlp":
		widths, err := parseWidths(c.Hidden)
		if err != nil {
			return nil, 0, err
		}
		for _, w := range widths {
			s = append(s, layer.NewLinear(extractorKey+"."+strconv.Itoa(len(s)), in, w), layer.NewReLU(w))
			in = w
		}
		s = append(s, layer.NewLinear(extractorKey+"."+strconv.Itoa(len(s)), in, dim))
	case "conv", "conv3":
		least := c.leastSide()
		if !shape.IsImage() || shape.Rows < least || shape.Cols < least {
			return nil, 0, badSetting("extractor", c.Extractor, fmt.Sprintf("expected images of at least %d x %d "+
				"pixels with it, not %s of %v", least, least, shape.Samples(), shape))
		}
		image := layer.ImageShape{Channels: shape.Channels, Rows: shape.Rows, Cols: shape.Cols}
		if c.Extractor == "conv3" {
			s = layer.Convolutions3(extractorKey+".", image, dim, num.NewRand(c.Seed, stream.Dropout).Uint64())
			break
		}
		channels, err := c.channels()
		if err != nil {
			return nil, 0, err
		}
		s = layer.Convolutions(extractorKey+".", image, channels[0], channels[1])
		_, wide := s[len(s)-1].Sizes()
		s = append(s, layer.NewLinear(extractorKey+".7", wide, dim))
	}
	if c.LayerNorm {
		s = append(s, layer.NewLayerNorm(dim))
	}
	return s, dim, nil
}

// convolves says whether the extractor is convolutional.
func (c Config) convolves() bool { return c.Extractor == "conv" || c.Extractor == "conv3" }

// leastSide is the smallest side of images that a convolutional extractor takes.
func (c Config) leastSide() int {
	if c.Extractor == "conv3" {
		return 6
	}
	return 4
}

// convolved returns how many numbers the convolutions of an extractor make of an image.
func (c Config) convolved(rows, cols int) int {
	if c.Extractor == "conv3" {
		return 64 * ((rows - 4) / 2) * ((cols - 4) / 2)
	}
	channels, err := c.channels()
	if err != nil {
		return 0 // Validate says so
	}
	return channels[1] * (rows / 4) * (cols / 4)
}

// mostChannels bounds the channels of a convolution.
const mostChannels = 1024

// channels returns those of the two convolutions of the extractor conv.
func (c Config) channels() ([]int, error) {
	if c.Hidden == "" {
		return []int{layer.Channels1, layer.Channels2}, nil
	}
	widths, err := parseWidths(c.Hidden)
	if err != nil || len(widths) != 2 || max(widths[0], widths[1]) > mostChannels {
		return nil, badSetting("hidden", c.Hidden, fmt.Sprintf("expected the channels of the two convolutions, "+
			"from 1 to %d each, such as %d-%d", mostChannels, layer.Channels1, layer.Channels2))
	}
	return widths, nil
}

// maxHidden bounds the number of hidden layers of the extractor mlp.
const maxHidden = 100

// parseWidths reads the widths of hidden layers: 512-256, or nothing for none.
func parseWidths(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "-")
	widths := make([]int, len(parts))
	for i, p := range parts {
		w, err := strconv.Atoi(p)
		if err != nil || w < 1 || w > 1<<16 || len(parts) > maxHidden {
			return nil, badSetting("hidden", text,
				fmt.Sprintf("expected up to %d widths from 1 to 65536, such as 512-256", maxHidden))
		}
		widths[i] = w
	}
	return widths, nil
}

// formatWidths is the inverse of parseWidths.
func formatWidths(widths []int) string {
	var parts []string
	for _, w := range widths {
		parts = append(parts, strconv.Itoa(w))
	}
	return strings.Join(parts, "-")
}

// extractorParameters estimates the number of parameters of the extractor for samples of a shape.
func (c Config) extractorParameters(shape dataset.Shape) float64 {
	p, d := float64(shape.Len()), float64(c.Dim)
	plane := float64(shape.Rows) * float64(shape.Cols)
	switch c.Extractor {
	case "linear":
		return p * d
	case "mlp":
		sum, in := 0.0, p
		for _, w := range c.widths() {
			sum += in * w
			in = w
		}
		return sum + in*d
	case "conv":
		w, in := c.widths(), float64(shape.Channels)
		return w[0]*(25*in+1) + w[1]*(25*w[0]+1) + w[1]*plane/16*d
	case "conv3":
		return 16*plane*d + 18_500 + 300*float64(shape.Channels)
	}
	return 0
}

// extractorValues estimates how many numbers the extractor keeps of a row in training: what layers compute, which of
// four pixels pooling took, two buffers for gradients, and the packed input of a product.
func (c Config) extractorValues(shape dataset.Shape) float64 {
	p, d, plane := float64(shape.Len()), float64(c.Dim), float64(shape.Rows)*float64(shape.Cols)
	switch c.Extractor {
	case "linear":
		return p + 3*d
	case "mlp":
		sum, widest := 0.0, d
		for _, w := range c.widths() {
			sum += 4 * w
			widest = max(widest, w)
		}
		return p + sum + 2*widest + 2*d
	case "conv":
		w := c.widths()
		first, second := w[0]*plane/4, w[1]*plane/16
		return 1.25*(first+second) + first + max(first, second) + 2*d
	case "conv3":
		// 32 channels twice (before and after ReLU) and 64 of a quarter of the size twice (before and after dropout)
		return 2*32*plane + 3*16*plane + 2*32*plane + 4*d
	}
	return 0
}

// widths returns those of the hidden layers, or the channels of two convolutions. Validate says if they are wrong.
func (c Config) widths() []float64 {
	var list []int
	if c.Extractor == "conv" {
		channels, err := c.channels()
		if err != nil {
			return make([]float64, 2)
		}
		list = channels
	} else {
		list, _ = parseWidths(c.Hidden)
	}
	w := make([]float64, len(list))
	for i, v := range list {
		w[i] = float64(v)
	}
	return w
}
