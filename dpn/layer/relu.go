package layer

import "dpnbench/engine"

// ReLU is max(x, 0), +0 also for NaN; its gradient at 0 is 0.
type ReLU struct{ width int }

// NewReLU makes a ReLU for rows of width numbers.
func NewReLU(width int) *ReLU { return &ReLU{width} }

func (l *ReLU) Sizes() (in, out int) { return l.width, l.width }
func (l *ReLU) Params() []*Param     { return nil }
func (l *ReLU) MACs() int            { return 0 }

func (l *ReLU) Forward(e *engine.Engine, y, x engine.Matrix, _ Mode) {
	checkWhole("ReLU", x.Rows, l.width, y, x)
	e.ReLU(y.Data, x.Data)
}

func (l *ReLU) Backward(e *engine.Engine, dx, _, y, dy engine.Matrix) {
	if dx.Data != nil {
		checkWhole("ReLU, backward", dy.Rows, l.width, dx, y, dy)
		e.ReLUBackward(dx.Data, y.Data, dy.Data)
	}
}
