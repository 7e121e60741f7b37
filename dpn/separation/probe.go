package separation

import (
	"context"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// Probe is a linear probe (Alain and Bengio, 2016): how well a linear classifier that is trained on the
// features of a layer classifies other samples. The classifier is logistic regression (softmax and
// cross-entropy) on standardised features, with the penalty |W|^2/(2 n) on its weights: the defaults of
// scikit-learn. It is trained on the samples, and scored on those of the test; without a test it is trained
// on 4/5 of each class and scored on every fifth sample of a class.
type Probe struct {
	ProbeAccuracy float64 `json:"probe_accuracy"`
	// ProbeSamples is the number of samples that it is scored on.
	ProbeSamples int `json:"probe_samples"`
	// ProbeTrained is the number that it is trained on: all, or some of every class if all of them take
	// too much memory, as in a Sampling.
	ProbeTrained int `json:"probe_trained"`
	// ProbeLoss is the mean cross-entropy of these with the penalty, which training has made as small as it
	// can be to about 1e-5, unless ProbeConverged is false: then it ended after the largest number of iterations.
	ProbeLoss      Float `json:"probe_loss"`
	ProbeConverged bool  `json:"probe_converged"`
}

const (
	// heldOut is the share of each class that the linear probe is scored on: one in so many.
	heldOut = 5
	// probeIterations is the largest number of iterations, and probeFlops about the largest number of
	// operations, that train the probe.
	probeIterations = 200
	probeFlops      = 1 << 44
	// probeGradient is the largest element of the gradient where training ends.
	probeGradient = 1e-4
	// probeRows are the rows whose gradients are added in float32.
	probeRows = 4096
)

// probe trains a linear probe on at most so many samples, and scores it. test is nil, or other samples that it is
// scored on.
func (sc *scatter) probe(e *engine.Engine, test *Samples, most int) (*Probe, error) {
	train, score := sc.set.stratified(most), test
	if test == nil {
		var in, out []int
		seen := map[int]int{}
		for i, l := range train.Labels {
			if seen[l]++; seen[l]%heldOut == 0 {
				out = append(out, i)
			} else {
				in = append(in, i)
			}
		}
		if len(out) == 0 {
			return nil, nil
		}
		held := train.rows(out)
		score, train = &held, train.rows(in)
	}
	p, err := newLogistic(sc, e, train)
	if err != nil {
		return nil, err
	}
	out := &Probe{ProbeTrained: train.Len(), ProbeSamples: score.Len()}
	if out.ProbeLoss, out.ProbeConverged, err = p.fit(sc.ctx); err != nil {
		return nil, err
	}
	s, err := sc.score(*score, p.classifier())
	out.ProbeAccuracy = s.classifier
	return out, err
}

// logistic is logistic regression on standardised features z, with weights W (K x d) and biases b.
type logistic struct {
	e           *engine.Engine
	z           engine.Matrix
	class       []int32
	classes     int
	mean, scale []float64 // z = (x - mean) scale; the scale of a constant feature is 0
	x           []float64 // W, row after row, then b

	q      engine.Matrix // -2 times the logits of some samples, K x probeRows; then their probabilities
	w      engine.Matrix // -2 W, K x d
	part   engine.Matrix // a part of the gradient of W
	c, phi []float32
}

func newLogistic(sc *scatter, e *engine.Engine, s Samples) (*logistic, error) {
	dim, n, classes := sc.dim, s.Len(), len(sc.labels)
	c, err := newCovariance(sc.ctx, s, sc.threads)
	if err != nil {
		return nil, err
	}
	p := &logistic{e: e, z: engine.NewMatrix(n, dim), classes: classes, mean: c.mean, scale: make([]float64, dim),
		x: make([]float64, classes*(dim+1)), q: engine.NewMatrix(classes, min(n, probeRows)),
		w: engine.NewMatrix(classes, dim), part: engine.NewMatrix(classes, dim),
		c: make([]float32, classes), phi: make([]float32, min(n, probeRows))}
	if p.class, err = sc.classes(s.Labels); err != nil {
		return nil, err
	}
	each := func(f func(from int, x []float64)) error {
		return blocks(sc.ctx, s, sc.threads, func(from int, x []float64) {
			c.centre(x)
			f(from, x)
		})
	}
	err = each(func(_ int, x []float64) {
		parallel.Each(chunkCount(dim, columnsPerBlock), sc.threads, func(b int) {
			from, to := chunkBounds(dim, columnsPerBlock, b)
			for at := 0; at < len(x); at += dim {
				for j := from; j < to; j++ {
					p.scale[j] += float64(x[at+j] * x[at+j])
				}
			}
		})
	})
	if err != nil {
		return nil, err
	}
	for j, v := range p.scale {
		if v > 0 {
			p.scale[j] = 1 / math.Sqrt(v/float64(n))
		}
	}
	err = each(func(from int, x []float64) {
		for at := 0; at < len(x); at += dim {
			row := p.z.Row(from + at/dim)
			for j := range row {
				row[j] = float32(x[at+j] * p.scale[j])
			}
		}
	})
	// The biases of the shares of the classes are where W = 0 is best.
	counts := make([]float64, classes)
	for _, k := range p.class {
		counts[k]++
	}
	for k, v := range counts {
		p.x[classes*dim+k] = math.Log(max(v, 0.5) / float64(n))
	}
	return p, err
}

// fit minimises the loss, and reports whether it has come to the end.
func (p *logistic) fit(ctx context.Context) (Float, bool, error) {
	flops := 4 * float64(p.z.Rows) * float64(p.z.Cols) * float64(p.classes)
	most := int(min(probeIterations, max(10, probeFlops/flops)))
	value, converged := minimise(p.x, most, probeGradient, func(x, gradient []float64) (float64, bool) {
		return p.loss(x, gradient), ctx.Err() == nil
	})
	return Float(value), converged, ctx.Err()
}

// loss returns the mean loss at x, and sets its gradient.
func (p *logistic) loss(x, gradient []float64) float64 {
	n, dim := p.z.Rows, p.z.Cols
	weights := p.classes * dim
	for i, v := range x[:weights] {
		p.w.Data[i] = float32(-2 * v)
	}
	for k, v := range x[weights:] {
		p.c[k] = float32(v)
	}
	clear(gradient)
	var loss float64
	for from := 0; from < n; from += probeRows {
		rows := min(probeRows, n-from)
		q, z := p.q.Slice(0, p.classes, 0, rows), p.z.Slice(from, from+rows, 0, dim)
		p.e.MatMul(q, p.w, z.T(), false)
		for i := range rows {
			k := p.class[from+i]
			loss -= float64(p.c[k]) - float64(q.Row(int(k))[i])/2
		}
		p.e.LogSumExp(q, p.c, p.phi[:rows])
		for i := range rows {
			loss += float64(p.phi[i])
			q.Row(int(p.class[from+i]))[i]--
		}
		p.e.MatMul(p.part, q, z, false)
		for i, v := range p.part.Data {
			gradient[i] += float64(v)
		}
		for k := range p.classes {
			for _, v := range q.Row(k) {
				gradient[weights+k] += float64(v)
			}
		}
	}
	linalg.Axpy(1, x[:weights], gradient[:weights])
	linalg.Scale(1/float64(n), gradient)
	return (loss + linalg.Dot(x[:weights], x[:weights])/2) / float64(n)
}

// classifier returns the probe as a classifier of features that are not standardised.
func (p *logistic) classifier() *Classifier {
	dim := p.z.Cols
	c := &Classifier{Dim: dim, Weights: p.x[:p.classes*dim], Bias: slices.Clone(p.x[p.classes*dim:])}
	for k := range c.Bias {
		row := c.Weights[k*dim : (k+1)*dim]
		for j := range row {
			row[j] *= p.scale[j]
		}
		c.Bias[k] -= linalg.Dot(row, p.mean)
	}
	return c
}
