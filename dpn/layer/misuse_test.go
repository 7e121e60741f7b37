package layer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// TestMisuse makes calls that would silently compute something else: each must panic with a line that
// says what is wrong.
func TestMisuse(t *testing.T) {
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	wide := engine.NewMatrix(6, 8)
	x, y, gaps := engine.NewMatrix(6, 4), engine.NewMatrix(6, 4), wide.Slice(0, 6, 0, 4)
	less := x.Slice(0, 5, 0, 4)
	for name, l := range map[string]Layer{"ReLU": NewReLU(4), "Dropout": NewDropout(4, 0.5, 1),
		"BatchNorm": NewBatchNorm("b", 4), "Residual": NewResidual(NewReLU(4))} {
		for _, p := range l.Params() {
			p.Prepare()
		}
		l.Forward(e, y, x, Training)
		for what, call := range map[string]func(){
			"x with gaps":              func() { l.Forward(e, y, gaps, Training) },
			"y with gaps":              func() { l.Forward(e, gaps, x, Training) },
			"x wider":                  func() { l.Forward(e, y, wide, Training) },
			"y of fewer rows":          func() { l.Forward(e, less, x, Training) },
			"dy with gaps":             func() { l.Backward(e, y, x, y, gaps) },
			"dx of fewer rows":         func() { l.Backward(e, less, x, y, x) },
			"dy of fewer rows than dx": func() { l.Backward(e, y, x, y, less) },
			"no data": func() {
				l.Forward(e, y, engine.Matrix{Rows: 6, Cols: 4, RS: 4,
					CS: 1}, Training)
			},
			"dy wider than the forward": func() { l.Backward(e, wide, wide, wide, wide) },
		} {
			l.Forward(e, y, x, Training)
			if got := panicOf(call); got == "" || strings.Contains(got, "\n") {
				t.Errorf("%s, %s: panic %q", name, what, got)
			}
		}
	}
	updates := 0
	for want, call := range map[string]func(){
		"batches of 0 samples": func() {
			loop := Loop{Updates: &updates, All: 1}
			loop.Pass(context.Background(), 3, 0, num.NewRand(1, 1), func([]int32) error { return nil })
		},
		`schedule "linear"`:                  func() { Rate("linear", 0, 0, 1, 10) },
		"rows of 4 numbers become rows of 5": func() { NewResidual(NewLinear("l", 4, 5)) },
		"no layers":                          func() { NewResidual() },
	} {
		if got := panicOf(call); !strings.Contains(got, want) {
			t.Errorf("panic %q, want one with %q", got, want)
		}
	}
}

// panicOf returns what a call panics with, or "".
func panicOf(call func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	call()
	return ""
}
