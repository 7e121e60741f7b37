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

// TestRefusedOperands calls what computes with operands that alias the result, are nil or do not fit.
func TestRefusedOperands(t *testing.T) {
	e := newTestEngine(t, WithThreads(2))
	wide, other := NewMatrix(8, 16), NewMatrix(8, 8)
	left, right := wide.Slice(0, 8, 0, 8), wide.Slice(0, 8, 8, 16)
	packed := e.Pack(nil, other)
	tall, labels := NewMatrix(9, 8), make([]uint16, 8)
	v, a, b := make([]float32, 16), make([]float32, 8), make([]float32, 8)
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
		{"worker, sums are dy", onWorker(func(w *Worker) {
			l := NewPatchLists(1, make([]int32, 8+PoolSlack), make([]float32, 8+PoolSlack), 99)
			w.PoolBackward(l, a, a, make([]byte, 8), NewPoolPlaces(2, 4, 1, 9))
		}), "sums shares memory with dy"},
		{"worker, transpose", onWorker(func(w *Worker) { w.Transpose(left, right) }), ""},
		{"no function", func() { e.Parallel(3, 0, 0, nil) }, "f is nil"},
		{"Add in place", func() { e.Add(a, a, b) }, ""},
		{"Add, x shifted", func() { e.Add(v[1:9], v[:8], b) }, "x shares memory with dst"},
		{"Add, y shifted", func() { e.Add(v[:8], b, v[1:9]) }, "y shares memory with dst"},
		{"Multiply, shifted", func() { e.Multiply(v[1:9], v[:8], b) }, "x shares memory with dst"},
		{"Axpy, shifted", func() { e.Axpy(2, v[1:9], v[:8]) }, "x shares memory with y"},
		{"Scale, shifted", func() { e.Scale(v[1:9], 2, v[:8]) }, "x shares memory with dst"},
		{"ReLU, shifted", func() { e.ReLU(v[1:9], v[:8]) }, "x shares memory with dst"},
		{"ReLUBackward, shifted", func() { e.ReLUBackward(v[1:9], a, v[:8]) }, "dy shares memory with dx"},
		{"Exp, shifted", func() { e.Exp(v[1:9], v[:8]) }, "x shares memory with dst"},
		{"Log, shifted", func() { e.Log(v[1:9], v[:8]) }, "x shares memory with dst"},
		{"Log, another length", func() { e.Log(v[1:9], b[:7]) }, "x has 7 elements"},
		{"Adam, m is v", func() { e.Adam(a, b, v[:8], v[:8], &AdamCoefficients{}) }, "m shares memory with v"},
		{"Adam, m is g", func() { e.Adam(a, b, b, v[:8], &AdamCoefficients{}) }, "g shares memory with m"},
		{"Adam, no coefficients", func() { e.Adam(a, b, v[:8], v[8:16], nil) }, "co is nil"},
		{"RowDots", func() { e.RowDots(left.Row(3), left, right) }, "dst shares memory with x"},
		{"ColumnSums", func() { e.ColumnSums(other.Row(3), other, true) }, "dst shares memory with x"},
		{"SquaredDistances", func() { e.SquaredDistances(left, left, other) }, "dst shares memory with x"},
		{"SquaredDistances, centres", func() { e.SquaredDistances(left, other, left) },
			"dst shares memory with centres"},
		{"WeightedSquares", func() { e.WeightedSquares(left.Row(0), left, a, b) }, "dst shares memory with x"},
		{"WeightedSquares, y", func() { e.WeightedSquares(a, other, a, b) }, "dst shares memory with y"},
		{"WeightedSquares, w", func() { e.WeightedSquares(a, other, b, a) }, "dst shares memory with w"},
		{"LayerNorm in place", func() { e.LayerNorm(left, a, left, 1e-5) }, ""},
		{"LayerNorm, one row off", func() { e.LayerNorm(tall.Slice(1, 9, 0, 8), a, tall.Slice(0, 8, 0, 8), 1e-5) },
			"y shares memory with x"},
		{"LayerNormBackward", func() { e.LayerNormBackward(left, left, a, right) }, "dx shares memory with y"},
		{"LayerNormBackward, rstd", func() { e.LayerNormBackward(other, left, other.Row(7), right) },
			"dx shares memory with rstd"},
		{"cross-entropy in place", func() { e.SoftmaxCrossEntropy(left, a, left, labels, 1) }, ""},
		{"cross-entropy, transposed", func() { e.SoftmaxCrossEntropy(left.T(), a, left, labels, 1) },
			"grad shares memory with logits"},
		{"cross-entropy, grad without data", func() {
			e.SoftmaxCrossEntropy(Matrix{Rows: 8, Cols: 8}, a,
				left, labels, 1)
		},
			"too few"},
		{"cross-entropy, losses", func() { e.SoftmaxCrossEntropy(Matrix{}, left.Row(0), left, labels, 1) },
			"losses shares memory with logits"},
		{"LogSumExp", func() { e.LogSumExp(left, left.Row(0), a) }, "q shares memory with c"},
		{"LogSumExp, phi", func() { e.LogSumExp(left, a, a) }, "phi shares memory with c"},
		{"CopyMatrix, transposed in place", func() { CopyMatrix(left.T(), left) }, "dst shares memory with src"},
		{"CopyMatrix, nothing", func() { CopyMatrix(View(v[3:3], 0, 4), View(v, 0, 4)) }, ""},
		{"CopyMatrix, another shape", func() { CopyMatrix(left, wide) }, "dst is 8 x 8, src 8 x 16"},
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
