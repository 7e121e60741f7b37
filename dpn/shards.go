package dpn

import (
	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// A minibatch of n rows is computed in S pieces (Config.Shards): piece s has its rows s n/S to (s+1) n/S - 1, none if
// n is small. A row gets the noise and the dropout that it gets in the whole minibatch, and means are those over the
// minibatch, so that losses and gradients of pieces add up. (No layer of a Config looks at other rows; a BatchNorm
// would see those of its piece.) Gradients are added in float32, by a tree over the pieces that depends on S only:
//
//	tree of m pieces = tree of the first 2^j + tree of the others, 2^j the largest power of two below m (num.TreeStep)
//
// The sum is the same whoever computes which piece. Sums over the validation samples are added in pieces, too.
//
// Where the P_i are matrices, which may be larger than the caches, and gradients are exact, all rows of a process share
// one ascent, so that it reads the P_i once and not once a piece: no bit of a row depends on the others. (But not
// behind convolutions, whose layers keep what their backward pass needs of one pass: layer.Stack.BackwardRows.)

// maxShards bounds the pieces of a minibatch.
const maxShards = 1024

// pieceRows returns the most rows that a piece of a minibatch of n has.
func (c Config) pieceRows(n int) int { return (n + c.Shards - 1) / c.Shards }

// joint reports whether all pieces of a process share one ascent.
func (c Config) joint() bool {
	return c.Shards > 1 && !c.convolves() && c.Gradient == GradientExact && potential.FormOf(c.Form).Dense
}

// climbing returns the most rows of a minibatch of n that share one ascent.
func (c Config) climbing(n int) int {
	if c.joint() {
		return n
	}
	return c.pieceRows(n)
}

// pieceOf returns the rows [lo, hi) of piece s of a minibatch of n, which may be none.
func (c Config) pieceOf(s, n int) (lo, hi int) { return engine.Part(n, c.Shards, s) }

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
	added  int     // numbers of the last piece that are added already
	job    addJob
}

// level is the sum over a part of the pieces.
type level struct {
	gradient []float32 // of all parameters, one after another
	figures  figures
}

// newTree makes room for the sums of up to n pieces.
func newTree(params []*Param, n int) tree {
	t := tree{params: params, levels: make([]level, num.TreeLevels(n))}
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
	add, store := num.TreeStep(i, n)
	for l := range t.levels {
		if add>>l&1 == 1 {
			f.add(t.levels[l].figures)
		}
	}
	var to []float32
	if store >= 0 {
		to, t.levels[store].figures = t.levels[store].gradient, f
	}
	t.run(e, t.added, size(t.params), add, to)
	t.added = 0
	return f
}

// addFirst adds the first numbers of the last one of n pieces, which are ready before the others, and copies the sum.
func (t *tree) addFirst(e *engine.Engine, n, numbers int, to []float32) {
	add, _ := num.TreeStep(n-1, n)
	t.run(e, 0, numbers, add, to)
	t.added = numbers
}

// run adds levels to the numbers [lo, hi) of the gradients, and copies them to a vector unless that is nil.
func (t *tree) run(e *engine.Engine, lo, hi int, add uint, to []float32) {
	j := &t.job
	*j = addJob{params: t.params, from: j.from[:0], to: to, lo: lo, hi: hi}
	for l := range t.levels {
		if add>>l&1 == 1 {
			j.from = append(j.from, t.levels[l].gradient)
		}
	}
	if lo == hi || len(j.from) == 0 && to == nil {
		return
	}
	e.Lock()
	defer e.Unlock()
	e.Run(j, (hi-lo+addedAtOnce-1)/addedAtOnce, engine.ElementFlops((hi-lo)*(len(j.from)+1)))
}

// addJob adds sums to the numbers [lo, hi) of the gradients of parameters, and copies them, in chunks that stay in the
// cache.
type addJob struct {
	params []*Param
	from   [][]float32
	to     []float32 // or nil
	lo, hi int
}

// addedAtOnce is the number of elements of a chunk.
const addedAtOnce = 1 << 14

// Run adds a chunk.
func (j *addJob) Run(worker *engine.Worker, task int) {
	lo := j.lo + task*addedAtOnce
	hi := min(lo+addedAtOnce, j.hi)
	first := 0 // number of a tensor
	for _, p := range j.params {
		if a, b := max(lo-first, 0), min(hi-first, len(p.Grad)); a < b {
			g := p.Grad[a:b]
			for _, x := range j.from {
				worker.Add(g, x[first+a:first+b], g)
			}
			if j.to != nil {
				copy(j.to[first+a:first+b], g)
			}
		}
		first += len(p.Grad)
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
	f := s.sum(span{0, n}, all)
	s.nll, s.score, s.tally.Sums = f.nll, f.score, f.sums
	return f.loss, nil
}

// sum computes the gradients of some pieces of a whole minibatch and adds them.
func (s *Trainer) sum(pieces span, all rows) (f figures) {
	if s.m.Config.joint() {
		return s.jointSum(pieces, all)
	}
	for i := pieces.lo; i < pieces.hi; i++ {
		s.last = i == pieces.hi-1
		f = s.piece(i, all)
		s.profile.enter(PhasePieces)
		f = s.tree.add(s.e, i-pieces.lo, pieces.hi-pieces.lo, f)
	}
	s.last = false
	return f
}

// piece computes the gradients of piece i of a whole minibatch.
func (s *Trainer) piece(i int, all rows) figures {
	lo, hi := s.m.Config.pieceOf(i, all.Of)
	if lo == hi || s.path.Stop != nil && s.path.Stop() {
		clearGradients(s.params)
		return figures{}
	}
	loss := s.gradientsOf(all.part(lo, hi, 0))
	return figures{loss, s.nll, s.score, s.tally.Sums}
}

func clearGradients(params []*Param) {
	for _, p := range params {
		clear(p.Grad)
	}
}

// jointSum is sum for pieces that share one ascent.
func (s *Trainer) jointSum(pieces span, all rows) (f figures) {
	c, p, e := s.m.Config, s.m.potential, s.e
	first, _ := c.pieceOf(pieces.lo, all.Of)
	s.cuts = append(s.cuts[:0], 0)
	for i := pieces.lo; i < pieces.hi; i++ {
		_, hi := c.pieceOf(i, all.Of)
		s.cuts = append(s.cuts, hi-first)
	}
	n := len(s.cuts) - 1
	if s.cuts[n] == 0 {
		clearGradients(s.params)
		return figures{}
	}
	clean, x := s.climb(all.part(first, first+s.cuts[n], 0))
	v := s.v.SliceRows(0, x.Rows)
	piece := func(i int) (r rows, lo, hi int) {
		lo, hi = s.cuts[i], s.cuts[i+1]
		return all.part(first+lo, first+hi, lo), lo, hi
	}
	s.figures = s.figures[:0]
	for i := range n {
		s.tally.Reset()
		loss := 0.0
		if r, lo, hi := piece(i); lo < hi {
			loss = s.losses(r, x.SliceRows(lo, hi), v.SliceRows(lo, hi), clean)
		}
		s.figures = append(s.figures, figures{loss: loss, sums: s.tally.Sums})
	}
	s.profile.enter(PhaseAscentBackward)
	p.BackwardRows(e, &s.path, v)

	tree, atOnce := &s.tree, s.likelihood == nil && s.matching == nil && p.CanSumPieces(e)
	if atOnce {
		tree = &s.others
		p.SumPieces(e, &s.path, s.cuts)
	}
	for i, g := range s.figures {
		r, lo, hi := piece(i)
		if lo == hi {
			clearGradients(tree.params)
		} else {
			if !atOnce {
				p.Sums(e, &s.path, lo, hi)
				g.loss += s.densities(r)
				g.nll, g.score = s.nll, s.score
				s.profile.enter(PhaseSums)
				p.Gradients(e)
			}
			s.profile.enter(PhaseHead)
			s.m.head.Backward(e, engine.Matrix{}, x.SliceRows(lo, hi), s.y.SliceRows(lo, hi), s.dy.SliceRows(lo, hi))
			s.m.extractor.BackwardRows(e, &s.tape, lo, hi, engine.Matrix{}, v.SliceRows(lo, hi))
		}
		s.profile.enter(PhasePieces)
		f = tree.add(e, i, n, g)
	}
	s.profile.ascended()
	return f
}
