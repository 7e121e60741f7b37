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
