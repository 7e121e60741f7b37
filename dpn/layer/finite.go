package layer

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// OutputError reports a number that a network computed and that is infinite or NaN, so that there is no
// prediction.
type OutputError struct {
	What   string // such as "logit"
	Number int    // which of the row, from 0
	Of     string // what a row stands for, such as "image"
	Row    int    // from 0
	Value  float32
	Tensor string // the tensor of the network that is not finite; "" if all are
}

func (e *OutputError) Error() string {
	text := fmt.Sprintf("%s %d of %s %d is %v", e.What, e.Number, e.Of, e.Row, e.Value)
	if e.Tensor != "" {
		return fmt.Sprintf("%s, because tensor %q has numbers that are not finite", text, e.Tensor)
	}
	return text + ", expected a finite number: the input or the weights are too large, or damaged"
}

// CheckOutput returns a *OutputError about the first number of x that is infinite or NaN, or nil. The
// first row of x stands for number first of what rows stand for.
func CheckOutput(x engine.Matrix, what, of string, first int) error {
	for b := range x.Rows {
		for j, v := range x.Row(b) {
			if !linalg.IsFinite(v) {
				return &OutputError{What: what, Number: j, Of: of, Row: first + b, Value: v}
			}
		}
	}
	return nil
}

// CheckLosses is CheckOutput for the losses of the rows of the last call of Add, which overflow where
// logits differ by more than a float32 holds.
func (t *Tally) CheckLosses(of string, first int) error {
	return CheckOutput(engine.View(t.losses, len(t.losses), 1), "loss", of, first)
}

// NotFiniteTensor returns the name of the first parameter that is not finite, or "".
func NotFiniteTensor(params []*Param) string {
	for _, p := range params {
		for _, v := range p.Data {
			if !linalg.IsFinite(v) {
				return p.Name
			}
		}
	}
	return ""
}
