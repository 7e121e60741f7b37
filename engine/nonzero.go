package engine

import (
	"fmt"
	"math"
	"unsafe"
)

// MatMulNonzero adds A B^T to C: A m x k, B n x k, C m x n with contiguous rows (CS 1), which must share no element
// with A or B. It leaves out an inner index where a panel of rows of B (Engine.PanelCols of them) is +0, such as the
// background of images, and returns how many multiply-adds that saved. If A is finite, only the sign of a result 0
// can change; it may differ between tiers. All of B is packed into memory of the worker.
func (w *Worker) MatMulNonzero(c, a, b Matrix) (left int) {
	c.shape("Worker.MatMulNonzero", "C", a.Rows, b.Rows)
	a.check("Worker.MatMulNonzero", "A")
	b.shape("Worker.MatMulNonzero", "B", b.Rows, a.Cols)
	if c.CS != 1 && c.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.MatMulNonzero: C has column stride %d, expected 1", c.CS))
	}
	kern, arena, inner := w.e.kern, &w.e.scratch[w.index], a.Cols
	nr, panels := kern.nr, kern.panels(b.Rows)
	if inner*max(nr, a.CS) > math.MaxInt32 {
		panic(fmt.Sprintf("engine: Worker.MatMulNonzero: inner size %d, column stride %d, expected less", inner, a.CS))
	}
	data := arena.floats(slotB, panels*inner*nr)
	panel := func(p int) []float32 { return data[p*inner*nr : (p+1)*inner*nr] }
	at, steps, ends := arena.at[:0], arena.steps[:0], arena.ends[:0]
	for p := range panels {
		for j := 0; j < inner; j += 4096 { // a call is short
			end := min(j+4096, inner)
			kern.packPanel(panel(p)[j*nr:end*nr], b.T(), j, end, p*nr)
		}
		begin := len(at)
		for j := range inner {
			if allZero(panel(p)[j*nr : (j+1)*nr]) {
				continue
			}
			if n := len(at); n > begin {
				steps[n-1] = int32((j - int(at[n-1])/nr) * a.CS)
			}
			at, steps = append(at, int32(j*nr)), append(steps, 0)
		}
		ends = append(ends, len(at))
		left += a.Rows * min(nr, b.Rows-p*nr) * (inner - (len(at) - begin))
	}
	arena.at, arena.steps, arena.ends = at, steps, ends
	together := max(kern.mc*kern.kc/max(inner, 1), kern.mr) // rows of A, which stay in the second-level cache
	most := max(FirstLevelCache()/8/nr, 1)                  // rows of a panel: half of the first-level cache
	for i0 := 0; i0 < a.Rows; i0 += together {
		i1, from := min(i0+together, a.Rows), 0
		for p, end := range ends {
			to := c.Slice(i0, i1, p*nr, min((p+1)*nr, c.Cols))
			blocks := (end - from + most - 1) / most
			for kb := range blocks {
				k0, k1 := Part(end-from, blocks, kb)
				k0, k1 = from+k0, from+k1
				rows := a.Slice(i0, i1, int(at[k0])/nr, int(at[k1-1])/nr+1)
				w.e.panelsAt(arena, &to, &rows, steps[k0:k1], &rowsAt{panel(p), at[k0:k1], int(at[k1-1])}, true)
				w.e.yield(arena, 2*rows.Rows*nr*(k1-k0))
			}
			from = end
		}
	}
	return left
}

// allZero reports whether all of an even number of numbers are +0, or takes a -0 for another number.
func allZero(x []float32) bool {
	var bits uint64
	for _, two := range unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2) {
		bits |= two
	}
	return bits == 0
}
