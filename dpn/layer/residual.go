package layer

import (
	"fmt"

	"dpnbench/engine"
)

// Residual adds its input to the output of the layers within it: y = x + f(x) (He, Zhang, Ren and Sun, "Deep
// residual learning for image recognition", CVPR 2016).
type Residual struct {
	within Stack
	width  int
	tape   Tape // of the last pass in training
}

// NewResidual makes a Residual around layers. It panics unless they map rows to rows of the same width.
func NewResidual(within ...Layer) *Residual {
	if len(within) == 0 {
		panic("layer: NewResidual: no layers")
	}
	width, _ := within[0].Sizes()
	out, err := Stack(within).Check(width)
	if err != nil || out != width {
		panic(fmt.Sprintf("layer: NewResidual: rows of %d numbers become rows of %d (%v), expected as many", width, out,
			err))
	}
	return &Residual{within: within, width: width}
}

func (l *Residual) Sizes() (in, out int) { return l.width, l.width }
func (l *Residual) Params() []*Param     { return l.within.Params() }
func (l *Residual) MACs() int            { return l.within.MACs() }

// Draw draws the initial weights of the layers within.
func (l *Residual) Draw(r Uniform) { l.within.Draw(r) }

func (l *Residual) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	checkWhole("Residual", x.Rows, l.width, y, x)
	tape := &l.tape
	if mode != Training {
		tape = new(Tape)
	}
	n := x.Rows * l.width
	copy(y.Data[:n], l.within.Forward(e, tape, x, mode).Data)
	e.Axpy(1, x.Data[:n], y.Data[:n])
}

// Backward adds dy to the gradient that comes through the layers within.
func (l *Residual) Backward(e *engine.Engine, dx, _, _, dy engine.Matrix) {
	checkWhole("Residual, backward", l.tape.x.Rows, l.width, dy)
	if dx.Data != nil {
		checkWhole("Residual, backward", dy.Rows, l.width, dx)
	}
	l.within.Backward(e, &l.tape, dx, dy)
	if dx.Data != nil {
		n := dy.Rows * l.width
		e.Axpy(1, dy.Data[:n], dx.Data[:n])
	}
}
