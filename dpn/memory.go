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
	d, k, n, b := float64(shape.Len()), float64(c.Components), float64(c.Steps), float64(c.climbing(c.Batch))
	rows, sums := float64(samples), float64(num.TreeLevels(c.Shards)) // sums of pieces that wait, each a gradient
	layers, values := c.extractorSize(shape)
	if c.Extractor != "identity" {
		d = float64(c.Dim)
	}
	layers += d * float64(classes)
	matrices := k * d * d
	stored := float64(shape.Len() + 2) // of a sample and its label, in bytes
	if !shape.IsImage() {
		stored = float64(4*shape.Len() + 2)
	}
	// samples; features and distances for k-means
	bytes := rows*stored + 4*(rows*(d+k)+(5+sums)*layers+max(b, extractRows)*values)
	if c.Denoising > 0 {
		bytes += 4 * min(b, float64(c.Batch/2)) * (d + values) // the clean features of the noisy half
	}
	if c.fitsMixture() {
		bytes += 4 * rows * k // responsibilities
		if potential.FormOf(c.Form).Scatters {
			bytes += 8 * 2 * k * d * d // scatter matrices, and what becomes of them
		}
	}
	if c.NLL > 0 {
		bytes += 4 * b * (2*d + k)
	}
	if r := c.potential().LowRank(); r >= 0 {
		w := k * d * float64(r+1) // the most of parameters, w and F, their gradients and each packed copy
		if c.Gradient == "detached" {
			return bytes + 4*(7*w+b*d)
		}
		if c.Score > 0 {
			bytes += 4 * (2*w + 4*b*d + 3*b*k*float64(r+1)) // a gradient, and one step
		}
		// also moments; X, U, Z and the left operands of all steps
		return bytes + 4*((11+sums)*w+(2*n+1)*b*d+3*n*b*k*float64(r+1))
	}
	if potential.FormOf(c.Form).Shared {
		matrices = d * d
		if c.Gradient == "exact" {
			bytes += 4 * k * d * d // the gradients of all P_i before they are summed
		}
	}
	if c.Gradient == "detached" {
		return bytes + 4*(3*matrices+b*d) // A, packed P, the best A
	}
	if c.NLL > 0 {
		shares := min(matrices/(d*d), float64(runtime.GOMAXPROCS(0)))
		bytes += 4 * (matrices + 3*shares*d*d) // the inverses, and what each thread needs for them
	}
	if c.Score > 0 {
		bytes += 4 * (2*matrices + (4+k)*b*d) // a gradient, and one step
	}
	kept := ascent.KeptBytes(c.climbing(c.Batch), c.Components, int(d), c.Steps)
	return bytes + 4*((7+sums)*matrices+(2*n+k)*b*d) + kept // also gradients of A and P and two moments
}
