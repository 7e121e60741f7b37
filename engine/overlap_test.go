package engine

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOverlap compares overlap with the addresses of all elements, for random views of one slice.
func TestOverlap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]float32, 120)
	elements := func(m Matrix) map[*float32]bool {
		s := map[*float32]bool{}
		for i := range m.Rows {
			for j := range m.Cols {
				s[&m.Data[i*m.RS+j*m.CS]] = true
			}
		}
		return s
	}
	view := func() Matrix {
		for {
			m := Matrix{Rows: r.IntN(6), Cols: r.IntN(6), RS: r.IntN(20), CS: r.IntN(20)}
			if r.IntN(2) == 0 {
				m.CS = 1
			}
			if m.Data = data[r.IntN(len(data)):]; r.IntN(3) == 0 {
				m = m.T()
			}
			if m.RS > 0 && m.Cols > 1 && m.Rows > 1 && (m.Cols-1)*m.CS >= m.RS && (m.Rows-1)*m.RS >= m.CS {
				continue // elements alternate: overlap may err on the safe side
			}
			if m.Rows == 0 || m.Cols == 0 || (m.Rows-1)*m.RS+(m.Cols-1)*m.CS < len(m.Data) {
				return m
			}
		}
	}
	count := map[bool]int{}
	for range 100000 {
		a, b := view(), view()
		want := false
		in := elements(a)
		for p := range elements(b) {
			want = want || in[p]
		}
		if got := overlap(a, b); got != want {
			t.Fatalf("%dx%d strides %d, %d and %dx%d strides %d, %d: overlap %t, want %t",
				a.Rows, a.Cols, a.RS, a.CS, b.Rows, b.Cols, b.RS, b.CS, got, want)
		}
		count[want]++
	}
	if count[true] < 5000 || count[false] < 5000 {
		t.Errorf("%d views overlap, %d do not", count[true], count[false])
	}
}

// TestRefusedOperands calls products with operands that alias the result or are nil.
func TestRefusedOperands(t *testing.T) {
	e := newTestEngine(t, WithThreads(2))
	wide, other := NewMatrix(8, 16), NewMatrix(8, 8)
	left, right := wide.Slice(0, 8, 0, 8), wide.Slice(0, 8, 8, 16)
	packed := e.Pack(nil, other)
	onWorker := func(f func(w *Worker)) func() {
		return func() { e.Parallel(1, 0, 0, func(w *Worker, _, _ int) { f(w) }) }
	}
	for _, c := range []struct {
		name string
		call func()
		want string // "": allowed
	}{
		{"C is A", func() { e.MatMul(left, left, other, false) }, "C shares memory with A"},
		{"C is B", func() { e.MatMul(left, other, left, true) }, "C shares memory with B"},
		{"C is the transpose of A", func() { e.MatMul(left, left.T(), other, false) }, "C shares memory with A"},
		{"one row of A", func() { e.MatMul(wide.Slice(7, 8, 0, 8), left, other, false) }, "expected 8 x 8"},
		{"C is a row of B", func() { e.MatMul(left.Slice(7, 8, 0, 8), other.Slice(0, 1, 0, 8), left, false) },
			"with B"},
		{"columns side by side", func() { e.MatMul(left, right, other, false) }, ""},
		{"A is B", func() { e.MatMul(left, right, right, false) }, ""},
		{"packed, C is A", func() { e.MatMulPacked(left, left, packed, false) }, "C shares memory with A"},
		{"packed B nil", func() { e.MatMulPacked(left, right, nil, false) }, "B is nil"},
		{"no data", func() { e.MatMul(left, Matrix{Rows: 8, Cols: 8, RS: 8, CS: 1}, other, false) }, "too few"},
		{"worker, C is A", onWorker(func(w *Worker) { w.MatMul(left, left, other, false) }), "C shares memory with A"},
		{"worker, C is B", onWorker(func(w *Worker) { w.MatMul(left, other, left, false) }), "C shares memory with B"},
		{"worker, transpose in place", onWorker(func(w *Worker) { w.Transpose(left, left) }),
			"dst shares memory with x"},
		{"worker, transpose", onWorker(func(w *Worker) { w.Transpose(left, right) }), ""},
		{"no function", func() { e.Parallel(3, 0, 0, nil) }, "f is nil"},
	} {
		got := ""
		func() {
			defer func() {
				if v := recover(); v != nil {
					got, _ = v.(string)
				}
			}()
			c.call()
		}()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: panic %q, want %q", c.name, got, c.want)
		}
	}
}
