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

// TestFirstRows checks that passes over the first rows of larger matrices, whose memory goes on behind them, are those
// over matrices of these rows alone, and touch no other rows.
func TestFirstRows(t *testing.T) {
	e := newEngine(t, engine.WithThreads(1))
	const n, all = 5, 9
	for _, s := range specimens() {
		var want [][]float32
		for _, rows := range []int{n, all} {
			l := s.drawn()
			in, out := l.Sizes()
			r := num.NewRand(4, 3)
			matrix := func(width int) (m, first engine.Matrix) {
				m = normal(r, all, width)
				m.Data, m.Rows = m.Data[:rows*width], rows
				return m, m.Slice(0, n, 0, width)
			}
			x, x1 := matrix(in)
			dy, dy1 := matrix(out)
			y, y1 := matrix(out)
			dx, dx1 := matrix(in)
			behind := [][]float32{x.Data[n*in:], dy.Data[n*out:], y.Data[n*out:], dx.Data[n*in:]}
			var before []float32
			for _, b := range behind {
				before = append(before, b...)
			}
			var got [][]float32
			for _, mode := range []Mode{Evaluation, Training} {
				l.Forward(e, y1, x1, mode)
				got = append(got, append([]float32{}, y.Data[:n*out]...))
			}
			l.Backward(e, dx1, x1, y1, dy1)
			got = append(got, dx.Data[:n*in])
			for _, p := range l.Params() {
				got = append(got, p.Grad)
			}
			if want == nil {
				want = got
			}
			for i := range want {
				same(t, fmt.Sprintf("%s, result %d", s.name, i), got[i], want[i])
			}
			var after []float32
			for _, b := range behind {
				after = append(after, b...)
			}
			same(t, s.name+", what lies behind", after, before)
		}
	}
	x, dx := normal(num.NewRand(1, 1), all, 3), engine.NewMatrix(all, 3)
	Stack{}.Backward(e, &Tape{}, dx.Slice(0, n, 0, 3), x.Slice(0, n, 0, 3))
	same(t, "a stack without layers", dx.Data, append(x.Data[:n*3:n*3], make([]float32, (all-n)*3)...))
	b := NewBatchNorm("b", 3)
	for _, p := range b.Params() {
		p.Prepare()
	}
	b.Forward(e, engine.NewMatrix(0, 3), engine.NewMatrix(0, 3), Training)
	same(t, "running means after no rows", b.RunningMean.Data, make([]float32, 3))
}
