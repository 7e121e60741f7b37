package potential

import (
	"context"

	"dpnbench/engine"
	"dpnbench/internal/mpi"
)

// Division divides work on rows, or on components, among ranks: processes that place centres together and all have
// the same rows. Each calls the same functions with the same arguments. Results are the same on all ranks, and do not
// depend on how many there are. If one rank has failed, or its context has ended, all get an error.
type Division interface {
	// Pieces returns the number of pieces that sums are added in, at least 1, on which they depend.
	Pieces() int
	// Own returns which of n items this rank computes: lo to hi-1, which may be none. Of rows, they are those of
	// its pieces.
	Own(n int) (lo, hi int)
	// Sum returns the sum of so many numbers over n rows. For each piece of this rank add adds those of its
	// rows lo to hi-1 to sum, zeros at first; pieces are added by a fixed tree. err is what this rank has failed
	// with, or nil.
	Sum(ctx context.Context, err error, n, numbers int, add func(piece, lo, hi int, sum []float64)) ([]float64, error)
	// Gather completes lists of n items each, one after another in memory and of one size, of which each rank has
	// computed its own. err is as that of Sum.
	Gather(ctx context.Context, err error, n int, lists ...[]byte) error
}

// Alone is the division of one process, which adds in one piece.
var Alone Division = alone{}

type alone struct{}

func (alone) Pieces() int            { return 1 }
func (alone) Own(n int) (lo, hi int) { return 0, n }

func (alone) Sum(ctx context.Context, err error, n, numbers int,
	add func(piece, lo, hi int, sum []float64)) ([]float64, error) {
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	sum := make([]float64, numbers)
	add(0, 0, n, sum)
	return sum, nil
}

func (alone) Gather(_ context.Context, err error, _ int, _ ...[]byte) error { return err }

// gatherParams completes tensors that have an item for each of k components.
func gatherParams(ctx context.Context, by Division, err error, k int, list ...*Param) error {
	var bytes [][]byte
	for _, p := range list {
		bytes = append(bytes, mpi.Bytes(p.Data))
	}
	return by.Gather(ctx, err, k, bytes...)
}

// ownRows returns the rows of x that this rank computes, and the number of the first one.
func ownRows(by Division, x engine.Matrix) (own engine.Matrix, first int) {
	lo, hi := by.Own(x.Rows)
	return x.SliceRows(lo, hi), lo
}
