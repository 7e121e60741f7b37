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
//
// Statistics and differences are float64 and sums are in increasing row, so that a column of equal numbers
// gives exactly 0 (up to 2^29 rows, whose sum is exact), none of them overflows, and a mean far from 0 costs no
// accuracy. The normalised number, y and the gradients are each rounded to float32 once. The running variance
// is a float32: above 3.4e38, the square of 1.8e19, it is infinite, and so is not known; evaluation then gives NaN.
type BatchNorm struct {
	Weight, Bias *Param // width each; 1 and 0 at first

	RunningMean, RunningVar *Param // width each; 0 and 1 at first; not trained

	width int

	// From the last forward pass in training.
	rstd []float64
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
		rstd := make([]float64, l.width)
		for j, v := range l.RunningVar.Data {
			rstd[j] = 1 / math.Sqrt(float64(v)+Eps)
			if v > math.MaxFloat32 { // otherwise a row of any numbers would give the bias
				rstd[j] = math.NaN()
			}
		}
		l.eachRow(e, x.Rows, 2, func(i int) {
			to, b := y.Row(i), l.Bias.Data
			for j, v := range x.Row(i) {
				h := float32((float64(v) - float64(l.RunningMean.Data[j])) * rstd[j])
				to[j] = float32(h*l.Weight.Data[j]) + b[j]
			}
		})
		return
	}
	rstd, xhat := &l.rstd, &l.xhat
	if mode != Training {
		rstd, xhat = new([]float64), new([]float32)
	}
	mean, variance := l.statistics(e, x)
	if mode == Training && x.Rows > 0 {
		l.remember(mean, variance, x.Rows)
	}
	scale := engine.Grow(rstd, l.width)
	for j, v := range variance {
		scale[j] = 1 / math.Sqrt(v+Eps)
	}
	normalised := engine.Grow(xhat, x.Rows*x.Cols)
	l.eachRow(e, x.Rows, 2, func(i int) {
		h, to, b := normalised[i*l.width:(i+1)*l.width], y.Row(i), l.Bias.Data
		for j, v := range x.Row(i) {
			h[j] = float32((float64(v) - mean[j]) * scale[j])
			to[j] = float32(h[j]*l.Weight.Data[j]) + b[j]
		}
	})
}

// statistics returns the mean and the biased variance of every column.
func (l *BatchNorm) statistics(e *engine.Engine, x engine.Matrix) (mean, variance []float64) {
	mean, variance = make([]float64, l.width), make([]float64, l.width)
	n := float64(x.Rows)
	e.AddColumns(mean, x)
	for j := range mean {
		mean[j] /= n
	}
	l.eachColumns(e, x.Rows, func(lo, hi int) {
		v, m := variance[lo:hi], mean[lo:hi]
		for i := range x.Rows {
			for j, u := range x.Row(i)[lo:hi] {
				c := float64(u) - m[j]
				v[j] += float64(c * c)
			}
		}
		for j := range v {
			v[j] /= n
		}
	})
	return mean, variance
}

// remember updates the running averages with the statistics of n rows.
func (l *BatchNorm) remember(mean, variance []float64, n int) {
	const m = batchNormMomentum
	for j := range l.width {
		r, v := &l.RunningMean.Data[j], &l.RunningVar.Data[j]
		*r = float32((1-m)**r) + float32(m*float32(mean[j]))
		if n > 1 {
			unbiased := float32(variance[j] * (float64(n) / float64(n-1)))
			*v = float32((1-m)**v) + float32(m*unbiased)
		}
	}
}

// Backward includes the gradient through mean and variance:
//
//	dx = weight * rstd * (dy - mean(dy) - xhat * mean(dy*xhat))
func (l *BatchNorm) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	checkWhole("BatchNorm, backward", len(l.xhat)/max(l.width, 1), l.width, x, dy)
	db, dw := make([]float64, l.width), make([]float64, l.width)
	e.AddColumns(db, dy)
	l.eachColumns(e, x.Rows, func(lo, hi int) {
		w := dw[lo:hi]
		for i := range x.Rows {
			h := l.xhat[i*l.width+lo : i*l.width+hi]
			for j, v := range dy.Row(i)[lo:hi] {
				w[j] += float64(v) * float64(h[j]) // exact, so fusing changes nothing
			}
		}
	})
	for j := range l.width {
		l.Bias.Grad[j], l.Weight.Grad[j] = float32(db[j]), float32(dw[j])
	}
	if dx.Data == nil {
		return
	}
	checkWhole("BatchNorm, backward", x.Rows, l.width, dx)
	n := float64(x.Rows)
	scale, c1, c2 := make([]float64, l.width), db, dw
	for j, r := range l.rstd {
		scale[j], c1[j], c2[j] = float64(l.Weight.Data[j])*r, db[j]/n, dw[j]/n
	}
	l.eachRow(e, x.Rows, 2, func(i int) {
		h, to := l.xhat[i*l.width:(i+1)*l.width], dx.Row(i)
		for j, v := range dy.Row(i) {
			to[j] = float32(scale[j] * (float64(v) - c1[j] - float64(float64(h[j])*c2[j])))
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
