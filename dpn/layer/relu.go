package layer

import (
	"math"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// ReLU is max(x, 0); its gradient at 0 is 0. Outside training, x that is infinite or NaN gives NaN: a
// zero would hide from CheckOutput that a layer before it overflows.
type ReLU struct{ width int }

// NewReLU makes a ReLU for rows of width numbers.
func NewReLU(width int) *ReLU { return &ReLU{width} }

func (l *ReLU) Sizes() (in, out int) { return l.width, l.width }
func (l *ReLU) Params() []*Param     { return nil }
func (l *ReLU) MACs() int            { return 0 }

func (l *ReLU) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	checkWhole("ReLU", x.Rows, l.width, y, x)
	to, from := whole(y), whole(x)
	if mode == Training || linalg.IsFinite(e.SumSquares(from)) { // of float32, it does not overflow
		e.ReLU(to, from)
		return
	}
	for j, v := range from {
		to[j] = max(v, 0)
		if !linalg.IsFinite(v) {
			to[j] = float32(math.NaN())
		}
	}
}

func (l *ReLU) Backward(e *engine.Engine, dx, _, y, dy engine.Matrix) {
	if dx.Data != nil {
		checkWhole("ReLU, backward", dy.Rows, l.width, dx, y, dy)
		e.ReLUBackward(whole(dx), whole(y), whole(dy))
	}
}
