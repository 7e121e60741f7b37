package dpn

import (
	"math/bits"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
)

// A minibatch of n rows is computed in S pieces (Config.Shards): piece s has its rows s n/S to (s+1) n/S - 1, none if
// n is small. A row gets the noise and the dropout that it gets in the whole minibatch, and means are those over the
// minibatch, so that losses and gradients of pieces add up. (No layer of a Config looks at other rows; a BatchNorm
// would see those of its piece.) Gradients are added in float32, by a tree over the pieces that depends on S only:
//
//	tree of m pieces = tree of the first 2^j + tree of the others, 2^j the largest power of two below m
//
// The sum is the same whoever computes which piece. Sums over the validation samples are added in pieces, too.

// maxShards bounds the pieces of a minibatch.
const maxShards = 1024

// pieceRows returns the most rows that a piece of a minibatch of n has.
func (c Config) pieceRows(n int) int { return (n + c.Shards - 1) / c.Shards }

// pieceOf returns the rows [lo, hi) of piece s of a minibatch of n, which may be none.
func (c Config) pieceOf(s, n int) (lo, hi int) { return s * n / c.Shards, (s + 1) * n / c.Shards }

// whole are all rows of a minibatch.
func whole(set *dataset.Set, at []int32) rows { return rows{layer.Piece{Of: len(at)}, set, at} }

// figures are what is measured of a piece. They add up to those of the minibatch.
type figures struct {
	loss       float64 // with all terms
	nll, score float64 // see Trainer
	sums       layer.Sums
}

// add sets f to the sum of x and f, x that of earlier pieces.
func (f *figures) add(x figures) {
	f.loss, f.nll, f.score = x.loss+f.loss, x.nll+f.nll, x.score+f.score
	x.sums.Add(f.sums)
	f.sums = x.sums
}

// tree adds the gradients and figures of pieces, which come one after another, by the tree above.
type tree struct {
	params []*Param
	levels []level // of 2^0, 2^1, ... pieces
}

// level is the sum over a part of the pieces.
type level struct {
	gradient []float32 // of all parameters, one after another
	figures  figures
}

// levelsOf returns how many sums may wait while n pieces are added.
func levelsOf(n int) int { return bits.Len(uint(n - 1)) }

// newTree makes room for the sums of up to n pieces.
func newTree(params []*Param, n int) tree {
	t := tree{params: params, levels: make([]level, levelsOf(n))}
	for i := range t.levels {
		t.levels[i].gradient = engine.AlignedFloats(size(params))
	}
	return t
}

// size counts the numbers of params.
func size(params []*Param) int {
	n := 0
	for _, p := range params {
		n += len(p.Data)
	}
	return n
}

// add adds piece i of n, whose gradients are those of the parameters. Those of the last one become the sum, and so do
// the figures that it returns.
func (t *tree) add(e *engine.Engine, i, n int, f figures) figures {
	l, last := 0, i == n-1
	for ; i>>l&1 == 1 || last && i>>l > 0; l++ {
		if i>>l&1 == 0 {
			continue
		}
		at := t.levels[l].gradient
		for _, p := range t.params {
			e.Add(p.Grad, at[:len(p.Grad)], p.Grad)
			at = at[len(p.Grad):]
		}
		f.add(t.levels[l].figures)
	}
	if last {
		return f
	}
	at := t.levels[l].gradient
	for _, p := range t.params {
		copy(at, p.Grad)
		at = at[len(p.Grad):]
	}
	t.levels[l].figures = f
	return f
}

// gradients computes the mean loss of a whole minibatch and its gradient.
func (s *Trainer) gradients(all rows) (float64, error) {
	n := s.m.Config.Shards
	switch {
	case s.team != nil:
		return s.together(all)
	case n == 1:
		return s.gradientsOf(all), nil
	}
	var f figures
	for i := range n {
		f = s.tree.add(s.e, i, n, s.piece(i, all))
	}
	s.nll, s.score, s.tally.Sums = f.nll, f.score, f.sums
	return f.loss, nil
}

// piece computes the gradients of piece i of a whole minibatch.
func (s *Trainer) piece(i int, all rows) figures {
	defer s.profile.enter(PhasePieces)
	lo, hi := s.m.Config.pieceOf(i, all.Of)
	if lo == hi || s.path.Stop != nil && s.path.Stop() {
		for _, p := range s.params {
			clear(p.Grad)
		}
		return figures{}
	}
	loss := s.gradientsOf(rows{layer.Piece{First: lo, Of: all.Of}, all.set, all.at[lo:hi]})
	return figures{loss, s.nll, s.score, s.tally.Sums}
}
