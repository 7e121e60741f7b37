package layer

import (
	"context"
	"fmt"
	"math"

	"dpnbench/engine/num"
)

// Piece says which rows of a minibatch are computed together: those from the place First on, of Of rows in all.
type Piece struct{ First, Of int }

// Loop is the training loop of a network: passes over the samples, a minibatch an update.
type Loop struct {
	Batch   int  // samples of an update, at most
	Updates *int // made so far
	All     int  // updates of the whole training
}

// AllUpdates returns the number of updates of a training: epochs times perEpoch, limited to most (0: no limit) and to
// the largest int.
func AllUpdates(epochs, perEpoch, most int) int {
	n := min(int64(epochs)*int64(perEpoch), math.MaxInt)
	if most > 0 {
		n = min(n, int64(most))
	}
	return int(n)
}

// Pass trains on n samples once, in an order that r draws: it calls update with each minibatch until all
// updates of the training are made, update fails, or ctx ends. It leaves out the first done minibatches, with
// which an interrupted pass was trained.
func (l *Loop) Pass(ctx context.Context, n, done int, r *num.Rand, update func(at []int32) error) error {
	if l.Batch < 1 || done < 0 {
		panic(fmt.Sprintf("layer: Loop: batches of %d samples, %d done, expected at least 1 and 0", l.Batch, done))
	}
	order := make([]int32, n)
	r.Permutation(order)
	for lo := done * l.Batch; lo < n && *l.Updates < l.All; lo += l.Batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := update(order[lo:min(lo+l.Batch, n)]); err != nil {
			return err
		}
		*l.Updates++
	}
	return nil
}
