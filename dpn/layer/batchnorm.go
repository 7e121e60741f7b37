package layer

import (
	"math"

	"dpnbench/engine"
)

// BatchNorm normalises every column by the mean and the variance of the rows, then scales
// and shifts it (Ioffe and Szegedy, 2015), by PyTorch's definitions (BatchNorm1d):
//
//	training:    y = (x - mean) / sqrt(var + 1e-5) * weight + bias,  var = sum (x - mean)^2 / n
//	running     <- 0.9 running + 0.1 (mean, or the unbiased n/(n-1) var)
//	evaluation:  the same with the running averages instead of mean and var
//
// A single row has no unbiased variance, so it does not change the running variance.
type BatchNorm struct {
	Weight, Bias *Param // width each; 1 and 0 at first

	RunningMean, RunningVar *Param // width each; 0 and 1 at first; not trained

	width int

	// From the last forward pass in training.
	rstd []float32
	xhat []float32 // normalised rows
}

// batchNormMomentum is the weight of a batch's statistics in the running averages.
const batchNormMomentum = 0.1

// NewBatchNorm makes a BatchNorm for rows of width numbers. Its tensors are name.weight, name.bias,
// name.running_mean and name.running_var.
func NewBatchNorm(name string, width int) *BatchNorm {
	l := &BatchNorm{
		Weight: NewParam(name+".weight", width), Bias: NewParam(name+".bias", width),
		RunningMean: NewParam(name+".running_mean", width), RunningVar: NewParam(name+".running_var", width),
		width: width,
	}
	for j := range width {
		l.Weight.Data[j], l.RunningVar.Data[j] = 1, 1
	}
	return l
}

func (l *BatchNorm) Sizes() (in, out int) { return l.width, l.width }
func (l *BatchNorm) Params() []*Param     { return []*Param{l.Weight, l.Bias} }
func (l *BatchNorm) MACs() int            { return 0 }

// Buffers lists the tensors that a model file contains but the optimiser does not change.
func (l *BatchNorm) Buffers() []*Param { return []*Param{l.RunningMean, l.RunningVar} }

func (l *BatchNorm) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	checkWhole("BatchNorm", x.Rows, l.width, y, x)
	if mode == Evaluation {
		rstd := make([]float32, l.width)
		for j, v := range l.RunningVar.Data {
			rstd[j] = reciprocalRoot(v + Eps)
		}
		l.eachRow(e, x.Rows, 2, func(i int) {
			to, b := y.Row(i), l.Bias.Data
			for j, v := range x.Row(i) {
				d := v - l.RunningMean.Data[j]
				to[j] = float32(float32(d*rstd[j])*l.Weight.Data[j]) + b[j]
			}
		})
		return
	}
	rstd, xhat := &l.rstd, &l.xhat
	if mode != Training {
		rstd, xhat = new([]float32), new([]float32)
	}
	mean, variance := l.statistics(e, engine.View(engine.Grow(xhat, x.Rows*x.Cols), x.Rows, x.Cols), x)
	if mode == Training {
		l.remember(mean, variance, x.Rows)
	}
	scale := engine.Grow(rstd, l.width)
	for j, v := range variance {
		scale[j] = reciprocalRoot(v + Eps)
	}
	l.eachRow(e, x.Rows, 2, func(i int) {
		h, to, b := (*xhat)[i*l.width:(i+1)*l.width], y.Row(i), l.Bias.Data
		for j, d := range h {
			h[j] = d * scale[j]
			to[j] = float32(h[j]*l.Weight.Data[j]) + b[j]
		}
	})
}

// statistics sets d to x minus the means of its columns, and returns the mean and the biased
// variance of every column. Their sums are chains in increasing row.
func (l *BatchNorm) statistics(e *engine.Engine, d, x engine.Matrix) (mean, variance []float32) {
	mean, variance = make([]float32, l.width), make([]float32, l.width)
	n := float32(x.Rows)
	e.ColumnSums(mean, x, false)
	for j := range mean {
		mean[j] /= n
	}
	l.eachColumns(e, x.Rows, func(lo, hi int) {
		v := variance[lo:hi]
		for i := range x.Rows {
			to, m := d.Row(i)[lo:hi], mean[lo:hi]
			for j, u := range x.Row(i)[lo:hi] {
				c := u - m[j]
				to[j] = c
				v[j] += float32(c * c)
			}
		}
		for j := range v {
			v[j] /= n
		}
	})
	return mean, variance
}

// remember updates the running averages with the statistics of n rows.
func (l *BatchNorm) remember(mean, variance []float32, n int) {
	const m = batchNormMomentum
	for j := range l.width {
		r, v := &l.RunningMean.Data[j], &l.RunningVar.Data[j]
		*r = float32((1-m)**r) + float32(m*mean[j])
		if n > 1 {
			unbiased := variance[j] * (float32(n) / float32(n-1))
			*v = float32((1-m)**v) + float32(m*unbiased)
		}
	}
}

// Backward includes the gradient through mean and variance:
//
//	dx = weight * rstd * (dy - mean(dy) - xhat * mean(dy*xhat))
func (l *BatchNorm) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	checkWhole("BatchNorm, backward", len(l.xhat)/max(l.width, 1), l.width, x, dy)
	e.ColumnSums(l.Bias.Grad, dy, false)
	dw := l.Weight.Grad
	clear(dw)
	l.eachColumns(e, x.Rows, func(lo, hi int) {
		w := dw[lo:hi]
		for i := range x.Rows {
			h := l.xhat[i*l.width+lo : i*l.width+hi]
			for j, v := range dy.Row(i)[lo:hi] {
				w[j] += float32(v * h[j])
			}
		}
	})
	if dx.Data == nil {
		return
	}
	checkWhole("BatchNorm, backward", x.Rows, l.width, dx)
	n := float32(x.Rows)
	scale, c1, c2 := make([]float32, l.width), make([]float32, l.width), make([]float32, l.width)
	for j, r := range l.rstd {
		scale[j], c1[j], c2[j] = l.Weight.Data[j]*r, l.Bias.Grad[j]/n, dw[j]/n
	}
	l.eachRow(e, x.Rows, 2, func(i int) {
		h, to := l.xhat[i*l.width:(i+1)*l.width], dx.Row(i)
		for j, v := range dy.Row(i) {
			to[j] = scale[j] * (v - c1[j] - float32(h[j]*c2[j]))
		}
	})
}

// eachRow runs f for every row, in parallel; cost is in nanoseconds per number.
func (l *BatchNorm) eachRow(e *engine.Engine, rows int, cost float64, f func(i int)) {
	e.Parallel(rows, 0, cost*float64(rows)*float64(l.width), func(_ *engine.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}

// eachColumns runs f for blocks of columns, in parallel.
func (l *BatchNorm) eachColumns(e *engine.Engine, rows int, f func(lo, hi int)) {
	e.Parallel(l.width, 0, float64(rows)*float64(l.width), func(_ *engine.Worker, lo, hi int) { f(lo, hi) })
}

// reciprocalRoot returns 1/sqrt(v), both correctly rounded.
func reciprocalRoot(v float32) float32 { return 1 / float32(math.Sqrt(float64(v))) }
