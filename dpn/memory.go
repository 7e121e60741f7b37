package dpn

import (
	"runtime"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// TrainingBytes estimates the memory that training takes at its peak, for samples of a
// shape in so many classes, of which there are samples to train and validate on. It is
// meant to refuse in time what cannot fit.
func (c Config) TrainingBytes(shape dataset.Shape, classes, samples int) float64 {
	d, k := c.features(shape), float64(c.Components)
	rows, sums := float64(samples), float64(num.TreeLevels(c.Shards)) // sums of pieces that wait, each a gradient
	layers := c.extractorParameters(shape) + d*float64(classes)
	stored := float64(shape.Len() + 2) // of a sample and its label, in bytes
	if !shape.IsImage() {
		stored = float64(4*shape.Len() + 2)
	}
	// samples; features and distances for k-means
	bytes := c.MinibatchBytes(shape, classes) + rows*stored + 4*(rows*(d+k)+(5+sums)*layers)
	bytes += 4 * float64(max(extractRows-c.climbing(c.Batch), 0)) * c.extractorValues(shape)
	if c.fitsMixture() {
		bytes += 4 * rows * k // responsibilities
		if potential.FormOf(c.Form).Scatters {
			bytes += 8 * 2 * k * d * d // scatter matrices, and what becomes of them
		}
	}
	if r := c.potential().LowRank(); r >= 0 {
		w := k * d * float64(r+1) // the most of parameters, w and F, their gradients and each packed copy
		copies := 11 + sums       // with moments
		if c.Gradient == GradientDetached {
			copies = 7
		} else if c.Score > 0 {
			copies += 2 // a gradient
		}
		return bytes + 4*copies*w
	}
	matrices := k * d * d
	if potential.FormOf(c.Form).Shared {
		matrices = d * d
		if c.Gradient == GradientExact {
			bytes += 4 * k * d * d // the gradients of all P_i before they are summed
		}
	}
	if c.Gradient == GradientDetached {
		return bytes + 4*3*matrices // A, packed P, the best A
	}
	if c.NLL > 0 {
		shares := min(matrices/(d*d), float64(runtime.GOMAXPROCS(0)))
		bytes += 4 * (matrices + 3*shares*d*d) // the inverses, and what each thread needs for them
	}
	if c.Score > 0 {
		bytes += 4 * 2 * matrices // a gradient
	}
	return bytes + 4*(7+sums)*matrices // also gradients of A and P and two moments
}

// MinibatchBytes estimates how much of TrainingBytes grows with the minibatch: the values of all layers and steps, for
// the rows that share one ascent.
func (c Config) MinibatchBytes(shape dataset.Shape, classes int) float64 {
	d, k, n, b := c.features(shape), float64(c.Components), float64(c.Steps), float64(c.climbing(c.Batch))
	values := c.extractorValues(shape)
	// input, features, dL/dx, logits and their gradients, and what is a few numbers for each row
	row := float64(shape.Len()) + values + 2*d + 3*float64(classes) + 64
	if c.Denoising > 0 {
		row += (d + values) * min(float64(c.Batch/2)/b, 1) // the clean features of the noisy half of the minibatch
	}
	if c.NLL > 0 {
		row += 2*d + k
	}
	if c.Gradient == GradientDetached {
		return 4 * b * (row + d)
	}
	row += (n+1)*d + n*(d+3*k+2) // x_0 to x_n, U, responsibilities, dL/dl
	if r := c.potential().LowRank(); r >= 0 {
		row += 3*n*k*float64(r+1) + 4*k // Z, left operands, bounds
		if c.Score > 0 {
			row += 4*d + 3*k*float64(r+1) // one step
		}
		return 4 * b * row
	}
	if c.Score > 0 {
		row += (4 + k) * d
	}
	// The sparse route keeps bounds, and G_i of the active components, few of each row.
	return 4*b*(row+10*k+2*n*d) + ascent.KeptBytes(c.climbing(c.Batch), c.Components, int(d), c.Steps)
}

// features is the number of features of samples of a shape.
func (c Config) features(shape dataset.Shape) float64 {
	if c.Extractor == "identity" {
		return float64(shape.Len())
	}
	return float64(c.Dim)
}
