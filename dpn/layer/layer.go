package layer

import (
	"fmt"

	"dpnbench/engine"
)

// Layer maps rows of in numbers to rows of out numbers. All matrices are dense (contiguous).
type Layer interface {
	// Sizes returns the widths of x and y.
	Sizes() (in, out int)

	// Params lists the tensors that training changes, in PyTorch's order.
	Params() []*Param

	// MACs returns the number of multiply-adds in the layer's products for one row.
	MACs() int

	// Forward sets y (n x out) from x (n x in). Only a pass in training changes the layer: it
	// stores what Backward needs. A layer makes one pass at a time.
	Forward(e *engine.Engine, y, x engine.Matrix, mode Mode)

	// Backward takes dy (n x out), the gradient of the loss with respect to y, for x and y of the
	// last Forward in training. It sets Grad of the parameters, and dx (n x in) unless that is
	// empty.
	Backward(e *engine.Engine, dx, x, y, dy engine.Matrix)
}

// Drawn is a layer with randomly initialised weights.
type Drawn interface {
	Draw(r Uniform)
}

// Uniform draws uniform numbers: a *num.Rand, or a *num.Torch for the weights that PyTorch draws.
type Uniform interface {
	Uniform(dst []float32, lo, hi float32)
}

// Mode is the purpose of a forward pass.
type Mode int

const (
	// Evaluation uses the running averages and no dropout.
	Evaluation Mode = iota
	// Training normalises by the statistics of the batch, applies dropout and updates the running
	// averages. Backward may follow.
	Training
	// BatchStatistics is Evaluation, except that BatchNorm uses the statistics of the batch.
	BatchStatistics
)

// Stack is a list of layers. Each takes the output of the one before it as input.
type Stack []Layer

// Check returns the width of the output for rows of in numbers, or an error if the widths of
// successive layers differ.
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

// MACs returns the number of multiply-adds in all products for one row.
func (s Stack) MACs() int {
	n := 0
	for _, l := range s {
		n += l.MACs()
	}
	return n
}

// Draw draws the initial weights of all layers, in order.
func (s Stack) Draw(r Uniform) {
	for _, l := range s {
		if d, ok := l.(Drawn); ok {
			d.Draw(r)
		}
	}
}

// Each calls f for every layer, in order; for those within a Residual instead of it.
func (s Stack) Each(f func(Layer)) {
	for _, l := range s {
		if r, ok := l.(*Residual); ok {
			r.within.Each(f)
		} else {
			f(l)
		}
	}
}

// checkWhole panics unless the matrices are rows x width without gaps. In a backward pass rows is the number
// of the last pass in training.
func checkWhole(call string, rows, width int, list ...engine.Matrix) {
	for _, m := range list {
		if m.Rows != rows || m.Cols != width || len(m.Data) < rows*width || m.Rows > 1 && m.RS != width || m.CS != 1 {
			panic(fmt.Sprintf("layer: %s: %d x %d in %d numbers, expected %d x %d without gaps", call, m.Rows, m.Cols,
				len(m.Data), rows, width))
		}
	}
}

// whole returns the numbers of a matrix without gaps.
func whole(m engine.Matrix) []float32 { return m.Data[:m.Rows*m.Cols] }

// Tape holds the input and the output of every layer of one pass through a Stack. The next pass
// reuses its memory. The zero value is ready to use.
type Tape struct {
	// Enter, if set, is called before each layer of a pass.
	Enter func(layer int, backward bool)

	x     engine.Matrix
	y     []engine.Matrix
	grads [2][]float32
	part  *Tape // of some rows
}

// Value returns the output of layer i in the last pass, or the input if i is -1.
func (t *Tape) Value(i int) engine.Matrix {
	if i < 0 {
		return t.x
	}
	return t.y[i]
}

// Forward applies all layers to x. The result and the tape are valid until the next pass on the
// same tape. An empty stack returns x.
func (s Stack) Forward(e *engine.Engine, t *Tape, x engine.Matrix, mode Mode) engine.Matrix {
	t.x = x
	if len(t.y) != len(s) {
		t.y = make([]engine.Matrix, len(s))
	}
	for i, l := range s {
		_, out := l.Sizes()
		if t.Enter != nil {
			t.Enter(i, false)
		}
		t.y[i] = engine.View(engine.Grow(&t.y[i].Data, x.Rows*out), x.Rows, out)
		l.Forward(e, t.y[i], x, mode)
		x = t.y[i]
	}
	return x
}

// Backward propagates dy, the gradient of the loss with respect to the result of the last Forward,
// through all layers. It sets Grad of all parameters, and dx unless that is empty.
func (s Stack) Backward(e *engine.Engine, t *Tape, dx, dy engine.Matrix) {
	for i := len(s) - 1; i >= 0; i-- {
		if t.Enter != nil {
			t.Enter(i, true)
		}
		x := t.Value(i - 1)
		to := dx
		if i > 0 {
			to = engine.View(engine.Grow(&t.grads[i%2], x.Rows*x.Cols), x.Rows, x.Cols)
		}
		s[i].Backward(e, to, x, t.y[i], dy)
		dy = to
	}
	if len(s) == 0 && dx.Data != nil {
		copy(whole(dx), whole(dy))
	}
}

// BackwardRows is Backward by the rows [lo, hi) of the last Forward alone, any number of times: dy is of these rows. It
// panics for layers that keep more of a pass than numbers for each row: all but Linear, ReLU and LayerNorm.
func (s Stack) BackwardRows(e *engine.Engine, t *Tape, lo, hi int, dx, dy engine.Matrix) {
	for _, l := range s {
		switch l := l.(type) {
		case *Linear, *ReLU:
		case *LayerNorm:
			l.first = lo
		default:
			panic(fmt.Sprintf("layer: BackwardRows: %T", l))
		}
	}
	rows := func(m engine.Matrix) engine.Matrix {
		return engine.View(m.Data[lo*m.Cols:hi*m.Cols], hi-lo, m.Cols)
	}
	if t.part == nil {
		t.part = &Tape{}
	}
	part := t.part
	part.Enter, part.x, part.y = t.Enter, rows(t.x), part.y[:0]
	for _, y := range t.y {
		part.y = append(part.y, rows(y))
	}
	s.Backward(e, part, dx, dy)
	for _, l := range s {
		if l, ok := l.(*LayerNorm); ok {
			l.first = 0
		}
	}
}
