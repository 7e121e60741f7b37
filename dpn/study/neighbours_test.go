package study

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

func TestKeptNeighbours(t *testing.T) {
	ctx, e := context.Background(), newEngine(t, engine.WithThreads(2))
	const n, d, k = 600, 8, 10
	a, b := engine.NewMatrix(n, d), engine.NewMatrix(n, d)
	r := num.NewRand(1, 0)
	r.Normal(a.Data)
	r.Normal(b.Data)
	turned := engine.NewMatrix(n, d) // a reflected and stretched: the same neighbours
	same := engine.NewMatrix(n, d)   // every row alike
	for i := range n {
		for j := range d {
			turned.Set(i, j, -2*a.At(i, d-1-j))
		}
	}
	for _, c := range []struct {
		what     string
		b        engine.Matrix
		low, top float64
	}{
		{"itself", a, 1, 1},
		{"reflected", turned, 0.999, 1},
		{"independent", b, 0, 3 * float64(k) / n},
		{"one point", same, 0, 3 * float64(k) / n},
	} {
		if got, err := KeptNeighbours(ctx, e, a, c.b, k); err != nil || !(got >= c.low && got <= c.top) {
			t.Errorf("%s: %v (%v), want %v to %v", c.what, got, err, c.low, c.top)
		}
	}
	// By hand: on a line, 0 1 3 7, the nearest of each is 1, 0, 1, 3; on the other line 0 1 5 6 it is 1, 0, 3, 2.
	line := func(x ...float32) engine.Matrix { return engine.View(x, len(x), 1) }
	if got, err := KeptNeighbours(ctx, e, line(0, 1, 3, 7), line(0, 1, 5, 6), 1); err != nil || got != 0.75 {
		t.Errorf("on a line: %v (%v), want 0.75", got, err)
	}
	for _, k := range []int{0, 4} {
		if got, err := KeptNeighbours(ctx, e, line(0, 1, 3, 7), line(0, 1, 5, 6), k); err == nil {
			t.Errorf("%d neighbours of 4 rows: %v", k, got)
		}
	}
}

// TestKeptNeighboursBeyondABlock counts by brute force: a row is not its own neighbour beyond a block of rows, too.
func TestKeptNeighboursBeyondABlock(t *testing.T) {
	const n, k = potential.BlockRows + 90, 3
	a, b := engine.NewMatrix(n, 2), engine.NewMatrix(n, 2)
	r := num.NewRand(1, 0)
	r.Normal(a.Data)
	r.Normal(b.Data)
	of := func(x engine.Matrix, i int) (nearest []int) {
		square := func(j int) float64 {
			u, v := float64(x.At(i, 0)-x.At(j, 0)), float64(x.At(i, 1)-x.At(j, 1))
			return u*u + v*v
		}
		for j := range n {
			if j == i || len(nearest) == k && square(j) >= square(nearest[k-1]) {
				continue
			}
			if nearest = append(nearest, j); len(nearest) > k {
				nearest[k-1], nearest = j, nearest[:k]
			}
			slices.SortStableFunc(nearest, func(p, q int) int { return cmp.Compare(square(p), square(q)) })
		}
		return nearest
	}
	kept := 0
	for i := range n {
		after := of(b, i)
		for _, j := range of(a, i) {
			if slices.Contains(after, j) {
				kept++
			}
		}
	}
	got, err := KeptNeighbours(context.Background(), newEngine(t), a, b, k)
	if err != nil || got != float64(kept)/float64(n*k) {
		t.Errorf("%v, want %v (%v)", got, float64(kept)/float64(n*k), err)
	}
}
