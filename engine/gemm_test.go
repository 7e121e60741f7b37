package engine

import (
	"fmt"
	"math"
	"testing"
)

// TestPackedOperands checks that products of operands that are packed piece by piece have the bits
// of MatMul, on every tier. Rows of A and inner indices exceed a block, and the last panel extends
// beyond C.
func TestPackedOperands(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		e.kern = smallBlocks(e.kern)
		rows, inner, cols := 2*e.kern.mc+37, e.kern.kc+9, e.kern.nr+5
		a, b := points(rows, inner), points(inner, cols)
		old := points(rows, cols)
		arena := &e.scratch[0]
		packedRows := e.kern.packedA(arena, slotG, rows, inner)
		panels := Packed{kern: e.kern, rows: inner, cols: cols}
		panels.data = make([]float32, panels.size())
		aT := NewMatrix(inner, rows)
		CopyMatrix(aT, a.T())
		for p := 0; p < inner; p += 30 {
			n := min(30, inner-p)
			packedRows.setColumns(e.kern, p, aT.Slice(p, p+n, 0, rows))
			panels.SetRows(p, b.Slice(p, p+n, 0, cols), 0, panels.Panels())
		}
		for _, acc := range []bool{false, true} {
			want, got := clone(old), clone(old)
			e.MatMul(want, a, b, acc)
			p := product{e: e, arena: arena, c: got, acc: acc}
			p.packed(&packedRows, &panels, 0, 1)
			p.packed(&packedRows, &panels, 1, panels.Panels())
			equalBits(t, fmt.Sprintf("%v, acc %v: packed A", tier, acc), got.Data, want.Data)
		}

		want := NewMatrix(rows, cols)
		e.MatMul(want, a, b, false)
		packed := e.Pack(nil, b)
		panel := make([]float32, rows*e.kern.nr)
		for p := range packed.Panels() {
			e.panelProduct(panel, a, packed, p)
			from, to := p*e.kern.nr, min((p+1)*e.kern.nr, cols)
			got := clone(View(panel, rows, e.kern.nr).Slice(0, rows, 0, to-from))
			equalBits(t, fmt.Sprintf("%v: panel %d", tier, p), got.Data, clone(want.Slice(0, rows, from, to)).Data)
		}
	}
}

// TestOddLineLD checks that a row stride is the smallest sufficient odd number of cache lines.
func TestOddLineLD(t *testing.T) {
	for n := range 1000 {
		if s := OddLineLD(n); s < n || s > n+31 && n > 0 || s%32 != 16 {
			t.Errorf("OddLineLD(%d) is %d, expected the smallest sufficient odd number of lines of 16", n, s)
		}
	}
}

// TestUnevenPanels checks that the threads share 17 panels in halves of their rows, with the same bits.
func TestUnevenPanels(t *testing.T) {
	for _, tier := range Available() {
		e, one := newTestEngine(t, WithTier(tier), WithThreads(2)), newTestEngine(t, WithTier(tier), WithThreads(1))
		rows, cols := 10*e.kern.mr+1, 17*e.kern.nr-3
		inner := int(30*e.kern.flopPerMicrosecond)/(2*rows*e.kern.nr) + 5*e.kern.nr
		a, b := points(rows, inner), points(inner, cols)
		got, want := NewMatrix(rows, cols), NewMatrix(rows, cols)
		e.MatMulPacked(got, a, e.Pack(nil, b), false)
		one.MatMulPacked(want, a, one.Pack(nil, b), false)
		if e.gemm.rowTasks != 2 || e.gemm.colTasks != 8 {
			t.Errorf("%v: %d x %d tasks, expected 2 x 8", tier, e.gemm.rowTasks, e.gemm.colTasks)
		}
		equalBits(t, tier.String(), got.Data, want.Data)
	}
}

// TestFewRows checks that products have the bits of those with a packed B on both sides of the numbers of rows up to
// which B is read as it lies, for strides of B that conflict, half conflict, and do not.
func TestFewRows(t *testing.T) {
	for _, tier := range Available() {
		for _, threads := range []int{1, 2} {
			e := newTestEngine(t, WithTier(tier), WithThreads(threads), WithEagerThreads())
			e.kern = smallBlocks(e.kern)
			cols := 2*e.kern.nr + 5
			for _, stride := range []int{cols, conflictStride / 2, conflictStride} {
				for _, inner := range []int{5, e.kern.kc + 9} {
					b := points(inner, max(stride, cols)).Slice(0, inner, 0, cols)
					packed := e.Pack(nil, b)
					for _, rows := range []int{directConflicts, directConflicts + 1, directRows, directRows + 1} {
						a, want, got := points(rows, inner), NewMatrix(rows, cols), NewMatrix(rows, cols)
						e.MatMulPacked(want, a, packed, false)
						e.MatMul(got, a, b, false)
						what := fmt.Sprintf("%v, %d threads, stride %d: %d x %d", tier, threads, b.RS, rows, inner)
						equalBits(t, what, got.Data, want.Data)
					}
				}
			}
		}
	}
}

// TestSymmetricSum checks that a + a^T is packed as any matrix is, with zeros and infinities of both signs.
func TestSymmetricSum(t *testing.T) {
	inf, zero := float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		e.kern = smallBlocks(e.kern)
		for _, d := range []int{1, 15, 33, 64, e.kern.kc + 7} {
			a, sum := points(d, d), NewMatrix(d, d)
			for i := 0; i < d*d; i += 3 {
				a.Data[i] = []float32{0, zero, inf, -inf}[i/3%4]
			}
			for i := range d {
				for j := range d {
					sum.Set(i, j, a.At(i, j)+a.At(j, i))
				}
			}
			e.Parallel(1, 0, 0, func(w *Worker, _, _ int) {
				var got, want Packed
				got.In(w, 0, d, d)
				got.SetSymmetricSum(w, 1, a.Data)
				want.In(w, 2, d, d)
				want.Fill(sum)
				for i, v := range want.data {
					if g := got.data[i]; math.Float32bits(g) != math.Float32bits(v) && (g == g || v == v) {
						t.Fatalf("%v, d %d: element %d is %v, expected %v", tier, d, i, g, v)
					}
				}
			})
		}
	}
}
