package engine

import (
	"fmt"
	"testing"

	"dpnbench/engine/num"
)

// TestParallelCovers checks that every unit is processed once, for any number of threads, and that
// Parallel passes a panic of the function on and leaves the engine usable.
func TestParallelCovers(t *testing.T) {
	for threads := 1; threads <= 3; threads++ {
		for _, eager := range []bool{false, true} {
			options := []Option{WithThreads(threads)}
			if eager {
				options = append(options, WithEagerThreads())
			}
			e, err := New(options...)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{0, 1, 2, 7, 100} {
				for _, elements := range []float64{0, 1e9} {
					done := make([]int, n)
					e.Parallel(n, 0, elements, func(_ *Worker, lo, hi int) {
						for i := lo; i < hi; i++ {
							done[i]++
						}
					})
					for i, d := range done {
						if d != 1 {
							t.Fatalf("%d threads, %d units: unit %d done %d times", threads, n, i, d)
						}
					}
				}
			}
			func() {
				defer func() {
					v := recover()
					if p, ok := v.(*TaskPanic); ok {
						v = p.Value
					}
					if v != "unit" {
						t.Error("Parallel did not pass on the panic of the function")
					}
				}()
				e.Parallel(10, 0, 1e9, func(*Worker, int, int) { panic("unit") })
			}()
			e.Parallel(1, 0, 0, func(*Worker, int, int) {})
			e.Close()
		}
	}
}

// TestWorkerMatMul checks that a worker's product has the bits of the engine's, on every tier,
// packed or not, with transposed and strided operands.
func TestWorkerMatMul(t *testing.T) {
	for _, tier := range Available() {
		e, err := New(WithTier(tier), WithThreads(2), WithEagerThreads())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		e.kern = smallBlocks(e.kern)
		r := num.NewRand(3, 0)
		for _, s := range [][3]int{{1, 1, 1}, {8, 25, 100}, {16, 200, 49}, {13, 0, 5}, {40, 150, 33}, {200, 130, 8}} {
			for form := range 4 {
				m, k, n := s[0], s[1], s[2]
				a, b := NewMatrix(m, k), NewMatrix(k, n)
				if form&1 != 0 {
					a = NewMatrix(k, m).T()
				}
				if form&2 != 0 {
					b = NewMatrix(n, k).T()
				}
				r.Normal(a.Data)
				r.Normal(b.Data)
				for _, acc := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v,%dx%dx%d,form=%d,acc=%v", tier, m, k, n, form, acc), func(t *testing.T) {
						want, got := NewMatrix(m, n), NewMatrix(m, n+3).Slice(0, m, 0, n)
						r.Normal(want.Data)
						CopyMatrix(got, want)
						e.MatMul(want, a, b, acc)
						e.Parallel(1, 0, 0, func(w *Worker, _, _ int) { w.MatMul(got, a, b, acc) })
						for i := range m {
							for j := range n {
								if got.At(i, j) != want.At(i, j) {
									t.Fatalf("element %d, %d is %v, want %v", i, j, got.At(i, j), want.At(i, j))
								}
							}
						}
					})
				}
			}
		}
	}
}

// TestWorkerFloats checks that each thread has its own scratch memory.
func TestWorkerFloats(t *testing.T) {
	e, err := New(WithThreads(3), WithEagerThreads())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bad := make([]bool, 300)
	e.Parallel(len(bad), 0, 0, func(w *Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			f := w.Floats(1000)
			for j := range f {
				f[j] = float32(i)
			}
			for _, v := range f {
				bad[i] = bad[i] || v != float32(i)
			}
		}
	})
	for i, b := range bad {
		if b {
			t.Fatalf("unit %d used the memory of another thread", i)
		}
	}
}
