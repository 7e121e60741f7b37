package layer

import "dpnbench/engine"

// LayerNorm normalises every row to mean 0 and variance 1, without scale and shift
// (PyTorch's LayerNorm with elementwise_affine=False, eps 1e-5).
type LayerNorm struct {
	width int
	rstd  []float32 // from the last pass in training
	first int       // row of that pass with which the next backward pass begins
}

// Eps is added to the variances of LayerNorm and BatchNorm, PyTorch's default.
const Eps = 1e-5

// NewLayerNorm makes a LayerNorm for rows of width numbers.
func NewLayerNorm(width int) *LayerNorm { return &LayerNorm{width: width} }

func (l *LayerNorm) Sizes() (in, out int) { return l.width, l.width }
func (l *LayerNorm) Params() []*Param     { return nil }
func (l *LayerNorm) MACs() int            { return 0 }

func (l *LayerNorm) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	rstd := &l.rstd
	if mode == Training {
		l.first = 0
	} else {
		rstd = new([]float32)
	}
	e.LayerNorm(y, engine.Grow(rstd, x.Rows), x, Eps)
}

func (l *LayerNorm) Backward(e *engine.Engine, dx, _, y, dy engine.Matrix) {
	if dx.Data != nil {
		e.LayerNormBackward(dx, y, l.rstd[l.first:l.first+dy.Rows], dy)
	}
}
