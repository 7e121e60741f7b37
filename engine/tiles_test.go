package engine

import (
	"fmt"
	"math"
	"testing"
)

// TestTiles compares a panel of a product with pure Go's: every number of rows and of columns, A
// in every layout, B packed and as it lies, between unreadable pages, with NaN in the gaps between
// rows.
func TestTiles(t *testing.T) {
	rnd := NewRand(11, 3)
	generic, _ := New(WithTier(Generic), WithThreads(1))
	const most = 32 * 70
	wallA, wallT, wallB, wallC := walled(t, most), walled(t, most), walled(t, most), walled(t, most)
	room := func(wall []float32, n int, end bool) []float32 {
		if end {
			wall = wall[len(wall)-n:]
		}
		wall = wall[:n:n]
		for i := range wall {
			wall[i] = float32(math.NaN())
		}
		return wall
	}
	fill := func(m Matrix) {
		for i := range m.Rows {
			for j := range m.Cols {
				m.Set(i, j, rnd.Float32()-0.5)
			}
		}
	}
	for _, tier := range Available() {
		if tier == Generic {
			continue
		}
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		arena, nr := &e.scratch[0], e.k.nr
		turn := 0
		for rows := 1; rows <= 2*e.k.mr+1; rows++ {
			for _, inner := range []int{1, 2, 3, 4, 5, 7, 8, 11, 33} {
				for _, cols := range []int{1, nr/2 - 1, nr / 2, nr/2 + 1, nr - 1, nr} {
					turn++
					end, gap, acc := turn%2 == 0, turn%3, turn%5 < 2
					a := Matrix{Data: room(wallA, span(rows, inner+gap, inner), end), Rows: rows, Cols: inner, RS: inner + gap, CS: 1}
					aT := Matrix{Data: room(wallT, span(inner, rows+gap, rows), end), Rows: rows, Cols: inner, RS: 1, CS: rows + gap}
					fill(a)
					copyMatrix(aT, a)
					brs := nr + turn%2*3
					b := Matrix{Data: room(wallB, span(inner, brs, nr), end), Rows: inner, Cols: nr, RS: brs, CS: 1}
					fill(b)
					strips := e.k.strips(arena, slotA, rows, inner)
					strips.setRows(e.k, a)
					fromColumns := e.k.strips(arena, slotE, rows, inner)
					fromColumns.setColumns(e.k, 0, clone(a.T()))
					old := NewMatrix(rows, cols)
					fill(old)
					want := clone(old)
					generic.MatMul(want, a, b.Slice(0, inner, 0, cols), acc)
					for name, block := range map[string]left{
						"rows":              {rows: rows, cols: inner, rs: a.RS, cs: 1, data: a.Data},
						"columns":           {rows: rows, cols: inner, rs: 1, cs: aT.CS, data: aT.Data},
						"strips":            strips,
						"strips of columns": fromColumns,
					} {
						c := Matrix{Data: room(wallC, span(rows, cols+gap, cols), end), Rows: rows, Cols: cols, RS: cols + gap, CS: 1}
						copyMatrix(c, old)
						e.multiplyTile(arena, c, block, b.Data, nil, brs, 0, 0, inner, acc)
						what := fmt.Sprintf("%v, %d x %d x %d, %s, acc %t", tier, rows, inner, cols, name, acc)
						equalBits(t, what, clone(c).Data, want.Data)
						for i := range rows - 1 {
							for _, v := range c.Data[i*c.RS+cols : (i+1)*c.RS] {
								if v == v {
									t.Fatalf("%s: wrote behind row %d", what, i)
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestRowLayouts checks that how rows of A are stored for a product changes no bit: where they
// lie, in strips for many panels, and copied because they are a multiple of 2048 bytes apart.
func TestRowLayouts(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, rows := range []int{1, 2, e.k.mr - 1, e.k.mr, 3*e.k.mr + 5} {
			for _, inner := range []int{200, 512} {
				a, b := points(rows, inner), points(inner, 33*e.k.nr+5)
				packed := e.Pack(nil, b)
				want, got := NewMatrix(rows, b.Cols), NewMatrix(rows, b.Cols)
				for p := range packed.panels() { // one at a time: never in strips
					e.multiply(0, want, a, &operand{packed: packed}, p, p+1, false)
				}
				apart := NewMatrix(rows, 1024).Slice(0, rows, 0, inner)
				copyMatrix(apart, a)
				for _, from := range []Matrix{a, apart, clone(a.T()).T()} {
					e.MatMulPacked(got, from, packed, false)
					equalBits(t, fmt.Sprintf("%v, %d rows of %d, %d and %d apart", tier, rows, inner, from.RS, from.CS), got.Data, want.Data)
				}
			}
		}
	}
}
