package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/parallel"
)

// KeptNeighbours returns which share of the k nearest neighbours of each row of a, on average, are among the k
// nearest neighbours of the same row of b: 1 if all are, about k/(n-1) if b has nothing to do with a. Rows of a
// and b stand for the same n images; of equal distances the lower row counts as nearer.
func KeptNeighbours(ctx context.Context, e *engine.Engine, a, b engine.Matrix, k int) (float64, error) {
	n := a.Rows
	if b.Rows != n || k < 1 || k >= n {
		return 0, fmt.Errorf("%d neighbours of %d and %d rows, expected as many rows and fewer neighbours", k, n,
			b.Rows)
	}
	kept := 0
	for lo := 0; lo < n; lo += potential.BlockRows {
		hi := min(lo+potential.BlockRows, n)
		before, err := nearest(ctx, e, a, lo, hi, k)
		if err != nil {
			return 0, err
		}
		after, err := nearest(ctx, e, b, lo, hi, k)
		if err != nil {
			return 0, err
		}
		for i, list := range before {
			for _, j := range list {
				if slices.Contains(after[i], j) {
					kept++
				}
			}
		}
	}
	return float64(kept) / float64(n*k), nil
}

// nearest returns the k nearest other rows of rows lo to hi-1 of x.
func nearest(ctx context.Context, e *engine.Engine, x engine.Matrix, lo, hi, k int) ([][]int32, error) {
	distances := engine.NewMatrix(hi-lo, x.Rows)
	e.SquaredDistances(distances, x.SliceRows(lo, hi), x)
	out := make([][]int32, hi-lo)
	err := parallel.ForEach(ctx, hi-lo, e.Threads(), func(b int) error {
		row := distances.Row(b)
		var list []int32 // the nearest so far, in order
		for j, d := range row {
			if j == lo+b || len(list) == k && d >= row[list[k-1]] {
				continue
			}
			at, _ := slices.BinarySearchFunc(list, d, func(i int32, d float32) int {
				if row[i] <= d {
					return -1
				}
				return cmp.Compare(row[i], d)
			})
			if len(list) == k {
				list = list[:k-1]
			}
			list = slices.Insert(list, at, int32(j))
		}
		out[b] = list
		return nil
	})
	return out, err
}
