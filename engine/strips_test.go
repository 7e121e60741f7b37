package engine

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestStripKernels compares the kernels for rows in strips with pure Go's for rows: every number
// of rows and all numbers of panels, between unreadable pages, with NaN where nothing may be
// read.
func TestStripKernels(t *testing.T) {
	const mostRows, mostD = 45, 128
	rnd := NewRand(5, 2)
	generic, _ := New(WithTier(Generic), WithThreads(1))
	tested := false
	walls := make([][]float32, 11)
	for i := range walls {
		walls[i] = walled(t, mostRows*(mostD+3)*2)
	}
	matrix := walled(t, mostD*mostD)
	for _, tier := range Available() {
		k, _ := tierTable(tier)
		if k.rawQuadStrips == nil {
			continue
		}
		tested = true
		e, _ := New(WithTier(tier), WithThreads(1))
		for d := k.nr; d <= mostD; d += k.nr {
			p, mu := View(make([]float32, d*d), d, d), make([]float32, d)
			rnd.Normal(p.Data)
			packed := e.Pack(nil, p)
			room := matrix[len(matrix)-d*d:]
			copy(room, packed.data)
			packed.data = room
			reference := generic.Pack(nil, p)
			for rows := 1; rows <= mostRows; rows++ {
				end, gap := rows%2 == 0, rows%3
				next := 0
				room := func(n int) []float32 {
					w := walls[next]
					next++
					if end {
						w = w[len(w)-n:]
					}
					w = w[:n:n]
					for i := range w {
						w[i] = float32(math.NaN())
					}
					return w
				}
				normal := func(ld int) Matrix {
					m := Matrix{Data: room(span(rows, ld, d)), Rows: rows, Cols: d, RS: ld, CS: 1}
					for b := range rows {
						rnd.Normal(m.Row(b))
					}
					return m
				}
				strips := func(m Matrix) left {
					s := k.stripsIn(room(k.stripFloats(rows, d)), rows, d)
					s.setRows(k, m)
					return s
				}
				what := fmt.Sprintf("%v, %d rows of %d", tier, rows, d)
				rnd.Normal(mu)
				x, u, v := normal(d+gap), normal(d), normal(d+(gap+1)%3)
				old := slices.Clone(v.Data)
				xs, us, q, work := strips(x), strips(u), room(rows), room(16*d+256)
				r, s := room(rows), room(rows)
				rnd.Normal(r)
				rnd.Normal(s)
				r[rnd.Intn(rows)] = 0
				r[rnd.Intn(rows)] = float32(math.Copysign(0, -1))

				wantQ, delta, want := make([]float32, rows), View(make([]float32, rows*d), rows, d), View(make([]float32, rows*d), rows, d)
				compare := func(name string) {
					t.Helper()
					for b := range rows {
						equalBits(t, fmt.Sprintf("%s: %s, row %d", what, name, b), v.Row(b), want.Row(b))
					}
				}
				genericKernels.subRows(delta.Data, d, x.Data, x.RS, mu, 0, rows, d)
				generic.multiply(0, want, delta, &operand{packed: reference}, 0, genericKernels.panels(d), false)
				genericKernels.dotRows(wantQ, want.Data, d, delta.Data, d, d)
				fetch := [][]float32{nil, u.Data}[rows%2]
				k.quadStrips(v, q, x, &xs, mu, packed, work, fetch)
				compare("G")
				equalBits(t, what+": q", q, wantQ)

				for _, acc := range []bool{false, true} {
					copy(v.Data, old)
					for b := range rows {
						copy(want.Row(b), v.Row(b))
					}
					genericKernels.pullDeltas(delta.Data, nil, d, r, u.Data, d, s, 1, x.Data, x.RS, mu, nil, nil)
					generic.multiply(0, want, delta, &operand{packed: reference}, 0, genericKernels.panels(d), acc)
					k.pullStrips(v, r, &us, s, &xs, mu, packed, acc, work[:16*d], fetch)
					compare(fmt.Sprintf("-N P, added %t", acc))
				}
			}
		}
	}
	if !tested {
		t.Skip("no tier of this machine has such kernels")
	}
}
