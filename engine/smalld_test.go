package engine

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
)

// TestSmallD compares the kernels for small d with pure Go: all numbers of rows, several components,
// between inaccessible pages, with NaN in the gaps between rows.
func TestSmallD(t *testing.T) {
	const mostRows, mostD, mostComps = 23, 128, 3
	rnd := num.NewRand(5, 2)
	generic, _ := New(WithTier(Generic), WithThreads(1))
	walls := make([][]float32, 9)
	for i := range walls {
		walls[i] = guarded(t, mostComps*mostRows*(mostD+3))
	}
	var matrices [mostComps][]float32
	for i := range matrices {
		matrices[i] = guarded(t, mostD*mostD)
	}
	tested := false
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		if kern.smallDRows == 0 {
			continue
		}
		tested = true
		e, _ := New(WithTier(tier), WithThreads(1))
		for rows := 1; rows <= mostRows; rows++ {
			end, gap, next := rows%2 == 0, rows%3, 0
			room := func(n int) []float32 {
				next++
				return roomIn(walls[next-1], n, end)
			}
			normal := func(n, ld int) Matrix {
				m := Matrix{Data: room(span(rows, ld, n)), Rows: rows, Cols: n, RS: ld, CS: 1}
				for b := range rows {
					rnd.Normal(m.Row(b))
				}
				return m
			}
			pack := func(wall []float32, b Matrix) (own, other *Packed) {
				rnd.Normal(b.Data)
				own, other = e.Pack(nil, b), generic.Pack(nil, b)
				wall = wall[len(wall)-len(own.data):]
				copy(wall, own.data)
				own.data = wall
				return own, other
			}
			compare := func(what string, got, want Matrix) {
				t.Helper()
				for b := range rows {
					equalBits(t, fmt.Sprintf("%v, %d rows: %s, row %d", tier, rows, what, b), got.Row(b), want.Row(b))
					if b+1 < rows {
						for _, v := range got.Data[b*got.RS+got.Cols : (b+1)*got.RS] {
							if v == v {
								t.Fatalf("%v, %d rows: %s wrote beyond row %d", tier, rows, what, b)
							}
						}
					}
				}
			}
			fresh := func(n int) Matrix { return View(make([]float32, rows*n), rows, n) }

			for d := kern.smallDCols; 0 < d && d <= mostD; d += kern.smallDCols {
				next = 0
				mu := make([]float32, mostComps*d)
				rnd.Normal(mu)
				var own, other [mostComps]Packed
				for c := range own {
					a, b := pack(matrices[c], View(make([]float32, d*d), d, d))
					own[c], other[c] = *a, *b
				}
				x, u, v := normal(d, d+gap), normal(d, d+gap/2), normal(d, d+(gap+1)%3)
				r, s, work := room(rows), room(rows), room(kern.smallDWork(d))
				rnd.Normal(r)
				rnd.Normal(s)
				r[rnd.Intn(rows)] = 0
				r[rnd.Intn(rows)] = float32(math.Copysign(0, -1))
				fetch := [][]float32{nil, u.Data}[rows%2]
				left, want := fresh(d), fresh(d)

				// G has the rows of a component, or the components of a row, in sequence; P_i
				// differ, or are one for all.
				comps := 1 + (rows+d/kern.smallDCols)%mostComps
				gs, qc, p := d+gap, rows+gap, own[:comps]
				gc := (rows-1)*gs + d + 1 - gap/2
				if rows%2 == 0 {
					gc, gs = d+gap, comps*(d+gap)+gap/2
				}
				if rows%5 == 0 {
					p = own[:1]
				}
				g, q := room(span(comps, gc, span(rows, gs, d))), room(span(comps, qc, rows))
				for i := range g {
					g[i] = float32(math.NaN())
				}
				for i := range q {
					q[i] = float32(math.NaN())
				}
				kern.quadSmallD(rows, &quadSmallDArgs{
					g: g, gc: gc, gs: gs, q: q, qc: qc, x: x.Data, xs: x.RS, mu: mu[:comps*d], d: d, p: p,
					work: work, next: fetch,
				})
				numbers := 0
				for c := range comps {
					mu := mu[c*d : (c+1)*d]
					wantQ := make([]float32, rows)
					genericKernels.subRows(&subRowsArgs{
						dst: left.Data, ds: d, x: x.Data, xs: x.RS, y: mu, rows: rows, n: d,
					})
					generic.multiply(0, want, left, &operand{packed: &other[min(c, len(p)-1)]}, false)
					genericKernels.dotRows(wantQ, want.Data, d, left.Data, d, d)
					for b := range rows {
						equalBits(t, fmt.Sprintf("%v, %d rows, component %d of %d: G of %d, row %d", tier, rows, c,
							comps, d, b), g[c*gc+b*gs:][:d], want.Row(b))
					}
					equalBits(t, fmt.Sprintf("%v, %d rows, component %d of %d: q of %d", tier, rows, c, comps, d),
						q[c*qc:][:rows], wantQ)
				}
				for _, y := range append(slices.Clone(g), q...) {
					if y == y {
						numbers++
					}
				}
				if want := comps * rows * (d + 1); numbers != want {
					t.Fatalf("%v, %d rows of %d, %d components: %d numbers written, expected %d", tier, rows, d, comps,
						numbers, want)
				}

				mu, old := mu[:d], slices.Clone(v.Data)
				for _, acc := range []bool{false, true} {
					copy(v.Data, old)
					CopyMatrix(want, v)
					genericKernels.gradDeltas(&gradDeltasArgs{
						w: left.Data, d: make([]float32, len(left.Data)), ld: d, r: r, u: u.Data, us: u.RS, t: s, h: 1,
						x: x.Data, xs: x.RS, mu: mu, sr: make([]float32, d), st: make([]float32, d),
					})
					generic.multiply(0, want, left, &operand{packed: &other[0]}, acc)
					kern.vjpSmallD(rows, &vjpSmallDArgs{
						v: v.Data, vs: v.RS, r: r, u: u.Data, us: u.RS, t: s, x: x.Data, xs: x.RS, mu: mu,
						p: own[0].data, work: work[:kern.smallDRows*d], acc: acc, next: fetch,
					})
					compare(fmt.Sprintf("-N P of %d, added %t", d, acc), v, want)
				}
			}
		}
	}
	if !tested {
		t.Skip("only AVX-512 and AVX2 have such kernels; this machine has neither")
	}
}

// TestMoveRows checks, between inaccessible pages, that rows moved together have the bits of rows
// moved one by one, and that G_i with responsibility zero is not used.
func TestMoveRows(t *testing.T) {
	const comps, mostRows, mostD = 5, 7, 2 * moveCols
	rnd := num.NewRand(9, 4)
	walls := [3][]float32{guarded(t, mostRows*(mostD+1)), guarded(t, comps*(mostRows+2)),
		guarded(t, comps*mostRows*mostD)}
	tested := false
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		if kern.table.moveRows == nil {
			continue
		}
		tested = true
		for rows := 1; rows <= mostRows; rows++ {
			for d := moveCols; d <= mostD; d += moveCols {
				for _, beside := range []bool{false, true} {
					end := rows%2 == 0
					xs, rs, gs, gr := d+rows%2, rows+2*(rows%2), rows*d, d
					if beside {
						gs, gr = d, comps*d
					}
					x := Matrix{Data: roomIn(walls[0], span(rows, xs, d), end), Rows: rows, Cols: d, RS: xs, CS: 1}
					r, g := roomIn(walls[1], span(comps, rs, rows), end), roomIn(walls[2], comps*rows*d, end)
					rnd.Normal(x.Data)
					rnd.Normal(r)
					rnd.Normal(g)
					for b := range rows {
						i := rnd.Intn(comps)
						r[i*rs+b] = float32(math.Copysign(0, float64(b%2)-0.5))
						g[i*gs+b*gr+rnd.Intn(d)] = float32(math.NaN())
					}
					want := clone(x)
					grad := make([]float32, d)
					step := moveRowsArgs{alpha: 0.3, r: r, rs: rs, g: g, gs: gs, gr: gr, k: comps}
					genericKernels.moveRows(want, &step, grad)
					kern.moveRows(x, &step, nil)
					equalBits(t, fmt.Sprintf("%v, %d rows of %d, contiguous %t", tier, rows, d, beside), clone(x).Data,
						want.Data)
				}
			}
		}
	}
	if !tested {
		t.Skip("no tier of this machine has the kernel moveRows")
	}
}

// TestMoveCalls is TestMoveRows with many components, so that the rows need several calls.
func TestMoveCalls(t *testing.T) {
	rnd := num.NewRand(3, 3)
	for _, s := range [][3]int{{130, 64, 101}, {23, 128, 700}, {3, 64, 13000}} {
		rows, d, comps := s[0], s[1], s[2]
		x, r, g := NewMatrix(rows, d), make([]float32, comps*rows), make([]float32, comps*rows*d)
		rnd.Normal(x.Data)
		rnd.Normal(r)
		rnd.Normal(g)
		want := clone(x)
		step := moveRowsArgs{alpha: 0.3, r: r, rs: rows, g: g, gs: d, gr: comps * d, k: comps}
		genericKernels.moveRows(want, &step, make([]float32, d))
		for _, tier := range Available() {
			kern, _ := tierKernels(tier)
			got := clone(x)
			kern.moveRows(got, &step, make([]float32, d))
			equalBits(t, fmt.Sprintf("%v, %d rows of %d, %d components", tier, rows, d, comps), got.Data, want.Data)
		}
	}
}
