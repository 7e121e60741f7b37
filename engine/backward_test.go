package engine

import (
	"fmt"
	"testing"

	"dpnbench/engine/num"
)

// TestGradDeltas checks that gradDeltas has the bits of pure Go on every tier, at every
// length, and that it neither reads nor writes beyond its slices.
func TestGradDeltas(t *testing.T) {
	const most = 5 // rows
	names := []string{"w", "d", "sr", "st", "r", "u", "t", "x", "mu"}
	walls := make([][]float32, len(names))
	for i := range walls {
		walls[i] = guarded(t, most*160)
	}
	rnd := num.NewRand(3, 1)
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		ends := !readsMasked(tier)
		for n := range 150 {
			for c := range 12 {
				rows, gap := c%(most+1), c%3
				ld, us, xs := n+gap, n+(gap+1)%3, n
				sizes := []int{span(rows, ld, n), span(rows, ld, n), n, n, rows, span(rows, us, n), rows,
					span(rows, xs, n), n}
				h := []float32{0.5, 1}[c%2]
				want, got := make([][]float32, len(sizes)), make([][]float32, len(sizes))
				for i, size := range sizes {
					room := walls[i]
					if c%4 < 2 && ends { // against the end, or against the start
						room = room[len(room)-size:]
					}
					got[i] = room[:size]
					rnd.Normal(got[i])
					if i == 4 && size > 1 {
						got[i][rnd.Intn(size)] = 0
					}
					want[i] = append([]float32(nil), got[i]...)
				}
				run := func(kern *kernels, b [][]float32) {
					kern.gradDeltas(&gradDeltasArgs{
						w: b[0], d: b[1], ld: ld, r: b[4], u: b[5], us: us, t: b[6], h: h, x: b[7], xs: xs, mu: b[8],
						sr: b[2], st: b[3],
					})
				}
				run(&genericKernels, want)
				run(kern, got)
				for i, name := range names {
					equalBits(t, fmt.Sprintf("%v, %d columns, %d rows, case %d: %s", tier, n, rows, c, name), got[i],
						want[i])
				}
			}
		}
	}
}

// TestMinusN checks that -(r u + h t (x - mu)) has the same bits with the sums and without them.
func TestMinusN(t *testing.T) {
	const rows, d = 7, 53
	rnd := num.NewRand(5, 0)
	normal := func(n int) []float32 {
		x := make([]float32, n)
		rnd.Normal(x)
		return x
	}
	padded := func(ld int) Matrix {
		return Matrix{Data: normal(rows * ld), Rows: rows, Cols: d, RS: ld, CS: 1}
	}
	in := Deltas{R: normal(rows), T: normal(rows), U: padded(60), X: padded(57), Mu: normal(d), H: 0.5,
		SumRU: normal(d), SumTD: normal(d)}
	in.R[2] = 0
	for _, tier := range Available() {
		e, err := New(WithTier(tier), WithThreads(1))
		if err != nil {
			t.Fatal(err)
		}
		w, alone, deltas := padded(64), padded(64), padded(64)
		e.Caller().GradDeltas(w, deltas, &in)
		e.Caller().MinusN(alone, &in)
		for b := range rows {
			equalBits(t, fmt.Sprintf("%v, row %d", tier, b), alone.Row(b), w.Row(b))
		}
		e.Close()
	}
}
