package dpn

import (
	"math/bits"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
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
//
// Where the samples are the features and the P_i are matrices, which may be larger than the caches, all rows of a
// process climb together, so that it reads the P_i once and not once a piece: no bit of a row depends on the others.

// maxShards bounds the pieces of a minibatch.
const maxShards = 1024

// pieceRows returns the most rows that a piece of a minibatch of n has.
func (c Config) pieceRows(n int) int { return (n + c.Shards - 1) / c.Shards }

// joint reports whether all pieces of a process climb together.
func (c Config) joint() bool {
	return c.Shards > 1 && c.Extractor == "identity" && c.Gradient == "exact" && potential.FormOf(c.Form).Dense
}

// climbing returns the most rows of a minibatch of n that climb together.
func (c Config) climbing(n int) int {
	if c.joint() {
		return n
	}
	return c.pieceRows(n)
}

// pieceOf returns the rows [lo, hi) of piece s of a minibatch of n, which may be none.
func (c Config) pieceOf(s, n int) (lo, hi int) { return s * n / c.Shards, (s + 1) * n / c.Shards }

// whole are all rows of a minibatch.
func whole(set *dataset.Set, at []int32) rows {
	return rows{Piece: layer.Piece{Of: len(at)}, set: set, at: at}
}

// part returns the rows [lo, hi) of a whole minibatch. In the memory of the trainer the first one is row memory.
func (r rows) part(lo, hi, memory int) rows {
	return rows{layer.Piece{First: lo, Of: r.Of}, r.set, r.at[lo:hi], memory}
}

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
	job    addJob
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

// add adds piece i of n, whose gradients are those of the parameters. With the last one they become the sum, which goes
// to whole, too, unless that is nil, and so do the figures that it returns.
func (t *tree) add(e *engine.Engine, i, n int, f figures, whole []float32) figures {
	l, last := 0, i == n-1
	t.job = addJob{params: t.params, from: t.job.from[:0], to: whole}
	for ; i>>l&1 == 1 || last && i>>l > 0; l++ {
		if i>>l&1 == 1 {
			t.job.from = append(t.job.from, t.levels[l].gradient)
			f.add(t.levels[l].figures)
		}
	}
	if !last {
		t.job.to, t.levels[l].figures = t.levels[l].gradient, f
	}
	t.job.run(e)
	return f
}

// addJob adds sums to the gradients of parameters, and copies them, in chunks that stay in the cache.
type addJob struct {
	params []*Param
	from   [][]float32
	to     []float32 // or nil
}

// addedAtOnce is the number of elements of a chunk.
const addedAtOnce = 1 << 14

func (j *addJob) run(e *engine.Engine) {
	if len(j.from) == 0 && j.to == nil {
		return
	}
	e.Lock()
	defer e.Unlock()
	n := size(j.params)
	e.Run(j, (n+addedAtOnce-1)/addedAtOnce, engine.ElementFlops(n*(len(j.from)+1)))
}

// Run adds a chunk of the vector of all parameters.
func (j *addJob) Run(worker *engine.Worker, task int) {
	lo, hi := task*addedAtOnce, (task+1)*addedAtOnce
	for _, p := range j.params {
		if a, b := max(lo, 0), min(hi, len(p.Grad)); a < b {
			g := p.Grad[a:b]
			for _, x := range j.from {
				worker.Add(g, x[task*addedAtOnce+a-lo:][:len(g)], g)
			}
			if j.to != nil {
				copy(j.to[task*addedAtOnce+a-lo:], g)
			}
		}
		lo, hi = lo-len(p.Grad), hi-len(p.Grad)
	}
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
	f := s.sum(span{0, n}, all, nil)
	s.nll, s.score, s.tally.Sums = f.nll, f.score, f.sums
	return f.loss, nil
}

// sum computes the gradients of some pieces of a whole minibatch and adds them, to whole, too, unless that is nil.
func (s *Trainer) sum(pieces span, all rows, whole []float32) (f figures) {
	if s.m.Config.joint() {
		return s.jointSum(pieces, all, whole)
	}
	for i := pieces.lo; i < pieces.hi; i++ {
		f = s.piece(i, all)
		s.profile.enter(PhasePieces)
		f = s.tree.add(s.e, i-pieces.lo, pieces.hi-pieces.lo, f, whole)
	}
	return f
}

// piece computes the gradients of piece i of a whole minibatch.
func (s *Trainer) piece(i int, all rows) figures {
	lo, hi := s.m.Config.pieceOf(i, all.Of)
	if lo == hi || s.path.Stop != nil && s.path.Stop() {
		s.clearGradients()
		return figures{}
	}
	loss := s.gradientsOf(all.part(lo, hi, 0))
	return figures{loss, s.nll, s.score, s.tally.Sums}
}

func (s *Trainer) clearGradients() {
	for _, p := range s.params {
		clear(p.Grad)
	}
}

// jointSum is sum for pieces that climb together.
func (s *Trainer) jointSum(pieces span, all rows, whole []float32) (f figures) {
	c, p, e := s.m.Config, s.m.potential, s.e
	first, _ := c.pieceOf(pieces.lo, all.Of)
	_, end := c.pieceOf(pieces.hi-1, all.Of)
	climbers := all.part(first, end, 0)
	var clean, x, v engine.Matrix // of all
	if len(climbers.at) > 0 {
		clean, x = s.climb(climbers)
		v = part(s.v, 0, x.Rows)
	}
	s.figures = s.figures[:0]
	for i := pieces.lo; i < pieces.hi; i++ {
		lo, hi := c.pieceOf(i, all.Of)
		s.tally.Reset()
		loss := 0.0
		if lo < hi {
			r := all.part(lo, hi, lo-first)
			loss = s.losses(r, part(x, lo-first, hi-first), part(v, lo-first, hi-first), clean)
		}
		s.figures = append(s.figures, figures{loss: loss, sums: s.tally.Sums})
	}
	if len(climbers.at) > 0 {
		s.profile.enter(PhaseAscentBackward)
		p.BackwardRows(e, &s.path, v)
	}
	for n, g := range s.figures {
		lo, hi := c.pieceOf(pieces.lo+n, all.Of)
		if lo == hi {
			s.clearGradients()
		} else {
			r := all.part(lo, hi, lo-first)
			p.Sums(e, &s.path, lo-first, hi-first)
			g.loss += s.densities(r)
			g.nll, g.score = s.nll, s.score
			s.profile.enter(PhaseSums)
			p.Gradients(e)
			s.profile.enter(PhaseHead)
			at, to := lo-first, hi-first
			s.m.head.Backward(e, engine.Matrix{}, part(x, at, to), part(s.y, at, to), part(s.dy, at, to))
		}
		s.profile.enter(PhasePieces)
		f = s.tree.add(e, n, len(s.figures), g, whole)
	}
	s.profile.ascended()
	return f
}
