package layer

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Layer maps rows of in numbers to rows of out numbers. Matrices are dense: their rows
// follow each other.
type Layer interface {
	// Sizes returns the numbers in a row of x and in a row of y.
	Sizes() (in, out int)

	// Params lists the tensors that training changes, in PyTorch's order.
	Params() []*Param

	// MACs counts the multiply-adds of the layer's products for one row.
	MACs() int

	// Forward sets y (n x out) from x (n x in). Only a pass in training changes the layer:
	// it keeps what Backward needs.
	Forward(e *engine.Engine, y, x engine.Matrix, mode Mode)

	// Backward takes the gradient dy (n x out) of the loss with respect to y, for the x and
	// y of the last Forward in training. It sets Grad of the parameters, and dx (n x in)
	// unless that is empty.
	Backward(e *engine.Engine, dx, x, y, dy engine.Matrix)
}

// Drawn is a layer with weights to draw.
type Drawn interface {
	Draw(r *num.Rand)
}

// Mode says what a forward pass is for.
type Mode int

const (
	// Evaluation uses the network as it is: running averages, no dropout.
	Evaluation Mode = iota
	// Training normalises by the statistics of the rows, drops out and changes the running
	// averages. Backward can follow.
	Training
	// BatchStatistics is Evaluation, except that BatchNorm takes the statistics of the rows.
	BatchStatistics
)

// Stack is a list of layers, each of which takes what the one before it gives.
type Stack []Layer

// Check says whether the layers fit together and take rows of in numbers. It returns the
// numbers in a row that comes out.
func (s Stack) Check(in int) (out int, err error) {
	for i, l := range s {
		a, b := l.Sizes()
		if a != in {
			return 0, fmt.Errorf("layer %d takes rows of %d numbers, expected %d", i, a, in)
		}
		in = b
	}
	return in, nil
}

// Params lists the tensors of all layers, in order.
func (s Stack) Params() []*Param {
	var list []*Param
	for _, l := range s {
		list = append(list, l.Params()...)
	}
	return list
}

// MACs counts the multiply-adds of all products for one row.
func (s Stack) MACs() int {
	n := 0
	for _, l := range s {
		n += l.MACs()
	}
	return n
}

// Draw draws the first weights of all layers, in order.
func (s Stack) Draw(r *num.Rand) {
	for _, l := range s {
		if d, ok := l.(Drawn); ok {
			d.Draw(r)
		}
	}
}

// Tape is the memory of a pass through a Stack: the input and what every layer gives. It
// is used again by the next pass. The zero value is ready.
type Tape struct {
	x     engine.Matrix
	y     []engine.Matrix
	grads [2][]float32
}

// Value returns what layer i gave in the last pass; -1 is the input.
func (t *Tape) Value(i int) engine.Matrix {
	if i < 0 {
		return t.x
	}
	return t.y[i]
}

// Forward takes the rows of x through all layers. What it returns, and the tape, are good
// until the next pass on the same tape; for an empty stack it is x.
func (s Stack) Forward(e *engine.Engine, t *Tape, x engine.Matrix, mode Mode) engine.Matrix {
	t.x = x
	if len(t.y) != len(s) {
		t.y = make([]engine.Matrix, len(s))
	}
	for i, l := range s {
		_, out := l.Sizes()
		t.y[i] = engine.View(room(&t.y[i].Data, x.Rows*out), x.Rows, out)
		l.Forward(e, t.y[i], x, mode)
		x = t.y[i]
	}
	return x
}

// Backward takes dy, the gradient of the loss with respect to what the last Forward gave,
// through all layers: it sets Grad of all parameters, and dx unless that is empty.
func (s Stack) Backward(e *engine.Engine, t *Tape, dx, dy engine.Matrix) {
	for i := len(s) - 1; i >= 0; i-- {
		x := t.Value(i - 1)
		to := dx
		if i > 0 {
			to = engine.View(room(&t.grads[i%2], len(x.Data)), x.Rows, x.Cols)
		}
		s[i].Backward(e, to, x, t.y[i], dy)
		dy = to
	}
	if len(s) == 0 && dx.Data != nil {
		copy(dx.Data, dy.Data)
	}
}

// room returns n floats, in the memory of s where that is enough.
func room(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:n]
	return *s
}
