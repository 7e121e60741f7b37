package dpn

import (
	"math"

	"dpnbench/engine"
)

// Param is a tensor that training changes.
type Param struct {
	Name  string // key in a model file
	Shape []int
	Data  []float32

	grad      []float32
	m, v      []float32 // Adam's moments, made when training begins
	potential bool      // learns at the potential's rate
}

func newParam(name string, potential bool, shape ...int) *Param {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return &Param{Name: name, Shape: shape, Data: make([]float32, n), potential: potential}
}

// linear is an affine map y = x W^T + b of rows, W out x in as PyTorch keeps it.
type linear struct {
	in, out      int
	weight, bias *Param
}

func newLinear(name string, in, out int) *linear {
	return &linear{in: in, out: out,
		weight: newParam(name+".weight", false, out, in), bias: newParam(name+".bias", false, out)}
}

// draw sets weights and bias to uniform numbers within 1/sqrt(in), PyTorch's default.
func (l *linear) draw(r *engine.Rand) {
	limit := float32(1 / math.Sqrt(float64(l.in)))
	r.Uniform(l.weight.Data, -limit, limit)
	r.Uniform(l.bias.Data, -limit, limit)
}

// forward sets y (rows x out) from x (rows x in): chains that start from the bias.
func (l *linear) forward(e *engine.Engine, y, x engine.Matrix) {
	for i := range y.Rows {
		copy(y.Row(i), l.bias.Data)
	}
	e.MatMul(y, x, engine.View(l.weight.Data, l.out, l.in).T(), true)
}

// backward sets the gradients of weight and bias from x and dy, and dx unless it is
// empty.
func (l *linear) backward(e *engine.Engine, dx, x, dy engine.Matrix) {
	e.MatMul(engine.View(l.weight.grad, l.out, l.in), dy.T(), x, false)
	e.ColumnSums(l.bias.grad, dy, false)
	if dx.Data != nil {
		e.MatMul(dx, dy, engine.View(l.weight.Data, l.out, l.in), false)
	}
}
