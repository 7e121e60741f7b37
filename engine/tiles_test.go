package engine

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// roomIn returns n floats at one end of a guarded slice, all NaN.
func roomIn(wall []float32, n int, end bool) []float32 {
	if end {
		wall = wall[len(wall)-n:]
	}
	wall = wall[:n:n]
	for i := range wall {
		wall[i] = float32(math.NaN())
	}
	return wall
}

// TestTiles compares the panel kernels with pure Go: all numbers of rows, all layouts of A, B
// packed and in place, one panel, several and narrow ones, between inaccessible pages, with NaN in
// the gaps between rows.
func TestTiles(t *testing.T) {
	rnd := num.NewRand(11, 3)
	generic, _ := New(WithTier(Generic), WithThreads(1))
	const most = 5000
	var walls [6][]float32
	for i := range walls {
		walls[i] = guarded(t, most)
	}
	end := func() bool { return rnd.Intn(2) == 0 }
	gap := func() int { return rnd.Intn(3) }
	matrix := func(wall []float32, rows, cols, rs, cs int) Matrix {
		m := Matrix{Data: roomIn(wall, span(rows, rs, 1)+span(cols, cs, 1)-1, end()), Rows: rows, Cols: cols, RS: rs,
			CS: cs}
		for i := range rows {
			for j := range cols {
				m.Set(i, j, rnd.Float32()-0.5)
			}
		}
		return m
	}
	for _, tier := range Available() {
		if tier == Generic {
			continue
		}
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		arena, nr := &e.scratch[0], e.kern.nr
		for rows := 1; rows <= 2*e.kern.mr+1; rows++ {
			for _, inner := range []int{1, 2, 3, 4, 5, 7, 8, 11, 33} {
				for _, cols := range []int{1, nr/2 - 1, nr / 2, nr/2 + 1, nr - 1, nr, nr, nr, (2 + rnd.Intn(3)) * nr} {
					acc, brs := rnd.Intn(2) == 0, nr+max(rnd.Intn(6)-3, 0)
					width := max(cols, nr)
					panels := width / nr
					ars := inner + gap()
					a := matrix(walls[0], rows, inner, ars, 1)
					b := matrix(walls[1], inner, width, max(brs, width), 1)
					old := matrix(make([]float32, rows*cols), rows, cols, cols, 1)
					want := clone(old)
					generic.MatMul(want, a, b.Slice(0, inner, 0, cols), acc)
					if panels > 1 {
						packed := e.Pack(nil, b)
						b.Data = roomIn(walls[1], len(packed.data), end())
						copy(b.Data, packed.data)
						brs = nr
					}

					layouts := map[string]blockA{"rows": {rows: rows, cols: inner, rs: a.RS, cs: 1, data: a.Data}}
					// the last one: panels
					for i, l := range [][2]int{{1, rows + gap()}, {2*inner + gap(), 2}, {1, max(rows, nr)}} {
						m := matrix(walls[2+i], rows, inner, l[0], l[1])
						CopyMatrix(m, a)
						layouts[fmt.Sprintf("%d and %d apart", l[0], l[1])] = blockA{rows: rows, cols: inner, rs: l[0],
							cs: l[1], data: m.Data}
					}
					packed := e.kern.packedA(arena, slotA, rows, inner)
					packed.setColumns(e.kern, 0, clone(a.T()))
					layouts["packed"] = packed
					for name, block := range layouts {
						crs := cols + gap()
						c := matrix(walls[5], rows, cols, crs, 1)
						CopyMatrix(c, old)
						if panels > 1 {
							e.kern.panel(&block, panelB{b.Data, brs, [][]float32{nil, block.data}[rows%2]}, c.Data, crs,
								acc, panels)
						} else {
							e.multiplyTile(arena, c, &block, panelB{data: b.Data, rs: brs}, acc)
						}
						what := fmt.Sprintf("%v, %d x %d x %d, rows of B %d apart, %s, acc %t", tier, rows, inner, cols,
							brs, name, acc)
						equalBits(t, what, clone(c).Data, want.Data)
						for i := range rows - 1 {
							for _, v := range c.Data[i*crs+cols : (i+1)*crs] {
								if v == v {
									t.Fatalf("%s: wrote beyond row %d", what, i)
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestShortOperands checks that the panel kernels refuse operands that are one element too short,
// including B, of which they read whole rows.
func TestShortOperands(t *testing.T) {
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		const rows, inner = 5, 6
		for _, cols := range []int{3 * kern.nr, kern.nr, kern.nr / 2} {
			if cols < kern.nr && kern.table.narrow == nil {
				continue
			}
			width := max(cols, kern.nr)
			n := [3]int{rows * inner, inner * width, (rows-1)*width + cols}
			for which := range 4 {
				short := n
				if which < 3 {
					short[which]--
				}
				func() {
					defer func() {
						if failed := recover() != nil; failed != (which < 3) {
							t.Errorf("%v, %d columns, operand %d an element short: panic %t", tier, cols, which, failed)
						}
					}()
					a, b, c := make([]float32, short[0]), make([]float32, short[1]), make([]float32, short[2])
					ab := blockA{rows: rows, cols: inner, rs: inner, cs: 1, data: a}
					if cols < kern.nr {
						kern.narrow(&ab, panelB{b, kern.nr, nil}, c, width, cols, false)
					} else {
						kern.panel(&ab, panelB{b, kern.nr, nil}, c, width, false, cols/kern.nr)
					}
				}()
			}
		}
	}
}

// TestPanelsApart checks that several panels in one call must be packed, with contiguous rows.
func TestPanelsApart(t *testing.T) {
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		x := make([]float32, 40*kern.nr)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: rows of two panels of B are %d apart, and no panic", tier, 2*kern.nr)
				}
			}()
			kern.panel(&blockA{rows: 2, cols: 3, rs: 3, cs: 1, data: x}, panelB{data: x, rs: 2 * kern.nr},
				x[20*kern.nr:], 2*kern.nr, false, 2)
		}()
	}
}

// TestRowLayouts checks that the storage of A for a product does not change any bit: in place,
// copied because its rows are a multiple of 4096 bytes apart, and packed.
func TestRowLayouts(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		const inner = 180
		b := points(inner, 33*e.kern.nr+5)
		packed := e.Pack(nil, b)
		for _, rows := range []int{1, 7, e.kern.mr, 2*e.kern.mr + 5} {
			a, want, got := points(rows, inner), NewMatrix(rows, b.Cols), NewMatrix(rows, b.Cols)
			for p := range packed.Panels() {
				one := product{e: e, arena: &e.scratch[0], c: want}
				one.multiply(a, &operand{packed: packed}, p, p+1)
			}
			apart := NewMatrix(rows, 1024).Slice(0, rows, 0, inner)
			CopyMatrix(apart, a)
			for _, from := range []Matrix{a, apart, clone(a.T()).T()} {
				e.MatMulPacked(got, from, packed, false)
				equalBits(t, fmt.Sprintf("%v, %d rows, %d and %d apart", tier, rows, from.RS, from.CS), got.Data,
					want.Data)
			}
		}
	}
}

// TestTransposeGuarded transposes matrices of all small sizes between inaccessible pages, to
// contiguous rows and to rows with gaps.
func TestTransposeGuarded(t *testing.T) {
	src, dst := guarded(t, 40*44), guarded(t, 40*44)
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		for rows := 1; rows <= 40; rows++ {
			for cols := 1; cols <= 21; cols++ {
				ss, ds, end := cols+rows%3, rows+cols%4, (rows+cols)%2 == 0
				from, to := roomIn(src, span(rows, ss, cols), end), roomIn(dst, span(cols, ds, rows), end)
				for i := range rows {
					for j := range cols {
						from[i*ss+j] = float32(i*64 + j)
					}
				}
				kern.transpose(to, ds, from, ss, rows, cols)
				for at, v := range to {
					i, j := at%ds, at/ds
					if i < rows && v != float32(i*64+j) || i >= rows && v == v {
						t.Fatalf("%v, %d x %d, rows %d and %d apart: %g at (%d, %d)", tier, rows, cols, ss, ds, v, j, i)
					}
				}
			}
		}
	}
}

// TestPadding checks that the padding columns of packed precisions are zero, even if the scratch
// memory was not, because bounds of norms include them.
func TestPadding(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, d := range []int{1, e.kern.nr/2 - 1, e.kern.nr + e.kern.nr/2, e.kern.nr + 1, 5*e.kern.nr - 1} {
			arena := &e.scratch[0]
			for s := range slots + CallerSlots {
				for i, m := 0, arena.floats(s, 200*5*e.kern.nr); i < len(m); i++ {
					m[i] = float32(math.NaN())
				}
			}
			packed := &Packed{}
			packed.Reshape(e, d, d)
			for part := range 2 {
				e.Caller().Gram(packed, points(d, d), 0, part, 2)
			}
			for kb := range packed.blocks() {
				k0, k1 := Part(d, packed.blocks(), kb)
				for p := range packed.Panels() {
					for at, v := range packed.panel(p, k0, k1) {
						if col := p*e.kern.nr + at%e.kern.nr; v != v || col >= d && math.Float32bits(v) != 0 {
							t.Fatalf("%v, d %d: %g in row %d, column %d", tier, d, v, k0+at/e.kern.nr, col)
						}
					}
				}
			}
		}
	}
}
