package dpn

import (
	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
)

// epochUpdates is the number of updates that make up for an epoch of a preset, whose epochs are those
// for MNIST: 54,000 training images in batches of 128 give 422.
const epochUpdates = 400

// fewVectors is the number of training vectors below which none are kept for validation.
const fewVectors = 1000

// mostEpochs bounds what a small set is trained for.
const mostEpochs = 10_000

// DefaultPreset is the preset for samples of a shape.
func DefaultPreset(shape dataset.Shape) string {
	if shape.IsImage() {
		return "compact"
	}
	return "tabular"
}

// For fits the settings of a preset to a data set. Small sets get more epochs, so that they are trained with as many
// updates as a large one (not with a schedule that counts epochs). Components are limited to one for eight samples, to
// the number of different samples and to what small classes can place; where classes have components of their own, each
// has at least one. The rank is at most the number of features. With fewer than 1000 vectors, none are kept for
// validation: a tenth of them is worth more in training. RMS is turned off for vectors. Settings that fit stay as they
// are.
func (c Config) For(data *dataset.Data) Config {
	c.RMS = c.RMS && data.Train.IsImage()
	if c.ValSize < 0 && c.Patience == 0 && c.ValData == "" && !data.Train.IsImage() && data.Train.Len() < fewVectors {
		c.ValSize = 0
	}
	n := data.Train.Len()
	if left, err := c.valCount(data.Train); err == nil {
		n -= left
	}
	perEpoch := max((n+c.Batch-1)/c.Batch, 1)
	if c.Schedule != layer.Decay { // whose rate would be 0 long before the end
		c.Epochs = max(c.Epochs, min((epochUpdates*c.Epochs+perEpoch-1)/perEpoch, mostEpochs))
	}

	const each = 8 // samples of a component, at least
	most := n / each
	train, _, err := c.Split(data.Train)
	if err == nil {
		most = min(most, distinct(train, c.Components))
	}
	c.Components = max(min(c.Components, most), 1)
	if classes := len(data.Classes); c.classwise() {
		c.Components = max(c.Components, classes)
		for err == nil && c.Components > classes {
			if _, problem := potential.CentresByClass(train.Labels, c.Components); problem == "" {
				break
			}
			c.Components--
		}
	}
	d := data.Train.Shape.Len()
	if c.Extractor != "identity" {
		d = c.Dim
	}
	if potential.FormOf(c.Form).Ranked {
		c.Rank = max(min(c.Rank, d), 1)
	}
	return c
}
