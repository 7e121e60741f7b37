package layer

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Linear is the affine map y = x W^T + b, with W out x in as in PyTorch.
type Linear struct {
	Weight, Bias *Param
	in, out      int
}

// NewLinear makes a Linear with weights of zero. Its tensors are name.weight and name.bias.
func NewLinear(name string, in, out int) *Linear {
	return &Linear{Weight: NewParam(name+".weight", out, in), Bias: NewParam(name+".bias", out), in: in, out: out}
}

func (l *Linear) Sizes() (in, out int) { return l.in, l.out }
func (l *Linear) Params() []*Param     { return []*Param{l.Weight, l.Bias} }
func (l *Linear) MACs() int            { return l.in * l.out }

// Draw draws weights and bias uniformly from +-1/sqrt(in), PyTorch's default.
func (l *Linear) Draw(r Uniform) { drawDefault(r, l.Weight, l.Bias, l.in) }

// DrawKaiming draws the weights uniformly with variance gain^2/in and sets the bias to 0, so that
// rows keep their norm through many layers. gain^2 is 2 before a ReLU and 1 otherwise (He et al.,
// 2015; PyTorch's kaiming_uniform_).
func (l *Linear) DrawKaiming(r *num.Rand, gain float64) {
	limit := float32(gain * math.Sqrt(3/float64(l.in)))
	r.Uniform(l.Weight.Data, -limit, limit)
	clear(l.Bias.Data)
}

// drawDefault draws weights and bias by PyTorch's default: uniformly from +-1/sqrt(inputs per output).
func drawDefault(r Uniform, weight, bias *Param, inputs int) {
	limit := float32(1 / math.Sqrt(float64(inputs)))
	r.Uniform(weight.Data, -limit, limit)
	r.Uniform(bias.Data, -limit, limit)
}

// Forward computes each output as one chain that starts from the bias.
func (l *Linear) Forward(e *engine.Engine, y, x engine.Matrix, _ Mode) {
	for i := range y.Rows {
		copy(y.Row(i), l.Bias.Data)
	}
	e.MatMul(y, x, engine.View(l.Weight.Data, l.out, l.in).T(), true)
}

func (l *Linear) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	e.MatMul(engine.View(l.Weight.Grad, l.out, l.in), dy.T(), x, false)
	e.ColumnSums(l.Bias.Grad, dy, false)
	if dx.Data != nil {
		e.MatMul(dx, dy, engine.View(l.Weight.Data, l.out, l.in), false)
	}
}
