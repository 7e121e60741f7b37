package dpn

import (
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
)

// PresetInfo names and describes a preset. Adding one is an entry of presets, and the hash of
// its trained weights in the tests.
type PresetInfo struct {
	Name        string
	Description string // one line for help texts

	set func(c *Config) // changes defaults
}

var presets = []PresetInfo{
	// The documents give Adam's rate and no schedule, so it is constant.
	{"published", "the public reference: raw pixels, A = I; the potential is never trained", func(c *Config) {
		c.Components, c.Steps, c.Scale, c.Alpha = 20, 30, 1, 0.1
		c.Gradient, c.PotentialLR, c.Clip = GradientDetached, 1e-3, 0
		c.Schedule, c.Warmup = "constant", 0
	}},
	{"paper", "the same network trained with the exact gradient through all steps", func(c *Config) {
		c.Components, c.Steps, c.Scale, c.Alpha = 20, 30, 1, 0.1
		c.PotentialLR = 3e-4
	}},
	{"compact", "64 learned features, 10 components, 5 steps: trains in seconds", func(c *Config) {
		c.features64("linear")
		c.PotentialLR = 7e-4
	}},
	// Features that learn fast and a potential that learns slowly generalise better, and stand more noise.
	{"clean", "compact with a convolutional feature extractor (2 layers)", func(c *Config) {
		c.features64("conv")
		c.Init, c.Epochs, c.LR, c.PotentialLR = InitClasswise, 6, 4e-3, 3e-4
	}},
	{"raw", "raw pixels, low-rank precisions, 20 components, 10 steps", func(c *Config) {
		c.Components, c.Steps, c.Form, c.Scale, c.Alpha = 20, 10, potential.FormLowRank, 0.1, 0.1/(0.1*0.1)
		c.Init, c.PotentialLR = InitClasswise, 4e-3
	}},
	// Noise is mostly across the principal components of a cluster, where the potential is
	// steep, so the ascent removes it. The potential learns slowly: at higher rates it fits
	// clean images and becomes sensitive to noise. Without rms, dark images look usual whatever they show.
	{"robust", "pixels (--rms), flat along the principal axes of 100 clusters: robust to noise", func(c *Config) {
		c.Components, c.Steps, c.Form, c.Rank, c.Eps, c.Scale, c.Alpha = 100, 3, potential.FormFlat, 12, 0.25, 1, 0.6
		c.Init, c.PotentialLR, c.RMS = InitClasswise, 3e-5, true
	}},
	{"robust-small", "robust without --rms, at about 1 M multiply-adds: 60 components, one step", func(c *Config) {
		c.Components, c.Steps, c.Form, c.Rank, c.Eps, c.Scale, c.Alpha = 60, 1, potential.FormFlat, 10, 0.2, 1, 1
		c.Init, c.Epochs, c.LR, c.PotentialLR = InitClasswise, 10, 3e-3, 1e-5
	}},
	// The denoising loss pulls the ends of noisy ascents to the features of the clean images. A small
	// weight and many epochs keep the clean accuracy.
	{"noise", "clean trained with noise and a denoising loss: the most robust to noise", func(c *Config) {
		c.noisy(15)
	}},
	{"invariant", "noise on images of normalised contrast, place, slant and size", func(c *Config) {
		c.noisy(5)
		c.Contrast, c.Centre = true, dataset.CentreMoments
	}},
	// Low-rank precisions cannot become singular, however long a small table trains. Noise is what keeps
	// it from learning a small table by heart.
	{"tabular", "for vectors: a perceptron to 32 features, 10 components, 3 steps", func(c *Config) {
		c.Extractor, c.Hidden, c.Dim, c.Batch = "mlp", "128", 32, 32
		c.Components, c.Steps, c.Form, c.Scale, c.Alpha = 10, 3, potential.FormLowRank, 0.3, 0.1/(0.3*0.3)
		c.Epochs, c.PotentialLR, c.NoiseMax = 3, 7e-4, 1
	}},
	{"cnn", "clean without its ascent: a convolutional network to compare with", func(c *Config) {
		c.features64("conv")
		c.plain()
		c.LR = 4e-3 // as clean
	}},
	// PyTorch's MNIST example, the classifier of the published scores on MNIST-C.
	{"mnistc-cnn", "the CNN of PyTorch's MNIST example, the baseline on MNIST-C", func(c *Config) {
		c.Extractor, c.Dim = "conv3", 128
		c.plain()
		c.Optimiser, c.LR, c.Schedule, c.Warmup, c.Clip = Adadelta, 1, layer.Decay, 0, 0
		c.Epochs, c.Batch, c.ValSize = 14, 64, 0
	}},
	{"mlp", "a multilayer perceptron without an ascent, to compare with", func(c *Config) {
		c.features64("mlp")
		c.Hidden, c.Dim = "256", 128
		c.plain()
		c.LR = 2e-3
	}},
	{"linear", "a linear classifier of the input, to compare with", func(c *Config) {
		c.plain()
	}},
}

// defaults are the settings that presets start from.
var defaults = Config{
	Extractor: "identity", Form: potential.FormFull, Rank: 8, Eps: 0.1, Init: InitKMeans,
	EMIterations: 50, EMTolerance: 1e-3, EMRidge: 0.1,
	Gradient: GradientExact, Epochs: 5, Batch: 128, Shards: 1,
	Optimiser: Adam, LR: 1e-3, Schedule: layer.Cosine, Warmup: 0.05, Clip: 1,
	ScoreSigma: 0.5, // half the standard deviation of normalised features
	ValSize:    -1, Seed: 1, Data: "digits", DataSeed: 1,
}

// unset is what model files mean if they do not mention a setting that was added later.
var unset = Config{
	Form: defaults.Form, Rank: defaults.Rank, Eps: defaults.Eps, Init: defaults.Init, ScoreSigma: defaults.ScoreSigma,
	Optimiser: defaults.Optimiser, EMIterations: defaults.EMIterations, EMTolerance: defaults.EMTolerance,
	EMRidge: defaults.EMRidge, Shards: defaults.Shards,
}

// features64 are the settings of a network of 64 normalised features.
func (c *Config) features64(extractor string) {
	c.Extractor, c.Dim, c.LayerNorm = extractor, 64, true
	c.Components, c.Steps, c.Scale, c.Alpha = 10, 5, 0.3, 0.1/(0.3*0.3)
}

// noisy are the settings of a convolutional network that is trained with noise.
func (c *Config) noisy(epochs int) {
	c.features64("conv")
	c.Init, c.Epochs, c.LR, c.PotentialLR = InitClasswise, epochs, 2e-3, 1e-3
	c.NoiseMin, c.NoiseMax, c.Denoising = 0.3, 0.5, 0.1
}

// plain leaves out the ascent. The potential is a Gaussian around the mean of the features, which nothing trains.
func (c *Config) plain() {
	c.Components, c.Steps, c.Form, c.Rank, c.Scale, c.Alpha = 1, 0, potential.FormLowRank, 1, 1, 1
	c.PotentialLR = 1e-3
}

// Presets lists the names of the presets.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.Name)
	}
	return names
}

// PresetTable lists the presets with their descriptions.
func PresetTable() []PresetInfo { return slices.Clone(presets) }

// Preset returns the settings of a preset.
func Preset(name string) (Config, error) {
	for _, p := range presets {
		if p.Name == name {
			c := defaults
			c.Preset = name
			p.set(&c)
			return c, nil
		}
	}
	return Config{}, badSetting("preset", name, "expected one of "+strings.Join(Presets(), ", "))
}
