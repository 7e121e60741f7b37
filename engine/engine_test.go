package engine

import (
	"math"
	"testing"

	"dpnbench/engine/num"
)

func newTestEngine(t testing.TB, o ...Option) *Engine {
	t.Helper()
	e, err := New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func points(n, d int) Matrix {
	x := NewMatrix(n, d)
	num.NewRand(23, 0).Normal(x.Data)
	return x
}

func clone(m Matrix) Matrix {
	c := NewMatrix(m.Rows, m.Cols)
	CopyMatrix(c, m)
	return c
}

func equalBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// TestArgMost checks ties, zeros of both signs, infinities and NaN.
func TestArgMost(t *testing.T) {
	e := newTestEngine(t, WithThreads(1))
	nan, inf, minus := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	negative := math.Float32frombits(0xFFC00000)
	for _, c := range []struct {
		row         [3]float32
		least, most int32
	}{
		{[3]float32{1, 2, 2}, 0, 1}, {[3]float32{3, 1, 1}, 1, 0}, {[3]float32{minus, 0, -1}, 2, 0},
		{[3]float32{0, minus, -1}, 2, 0}, {[3]float32{1, minus, 0}, 1, 0}, {[3]float32{1, 0, minus}, 1, 0},
		{[3]float32{nan, -inf, -inf}, 1, 1}, {[3]float32{nan, inf, inf}, 1, 1}, {[3]float32{negative, 5, nan}, 1, 1},
		{[3]float32{nan, negative, nan}, 0, 0}, {[3]float32{negative, nan, nan}, 0, 0},
		{[3]float32{-inf, inf, 0}, 0, 1}, {[3]float32{1, -0x1p-149, 0x1p-149}, 1, 0},
	} {
		x, least, most := View(c.row[:], 1, 3), make([]int32, 1), make([]int32, 1)
		e.ArgMin(least, x)
		e.ArgMax(most, x)
		if least[0] != c.least || most[0] != c.most {
			t.Errorf("%v: columns %d and %d, want %d and %d", c.row, least[0], most[0], c.least, c.most)
		}
	}
}
