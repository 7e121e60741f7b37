package dpn

import (
	"math"
	"slices"
	"strings"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/mpi"
)

// A team of R ranks makes an update together. Rank r computes the pieces r S/R to (r+1) S/R - 1 of the minibatch and
// adds the largest parts of the tree that lie within them. The parameters are one long vector, cut into blocks, and
// each rank owns a slice of blocks: it receives that slice of all parts, adds them by the rest of the tree, and
// moves its parameters, whose moments no other rank needs. Then all ranks get the new parameters. No sum depends on
// R, and so no bit does.

// blockSize is the number of elements of a block of a tensor. Engine.SumSquares adds up chunks of this size, too, so
// the norm from sums by block has the bits of one process.
const blockSize = 1 << 14

// span are the pieces lo to hi-1.
type span struct{ lo, hi int }

// split returns where the tree over more than one piece splits.
func (s span) split() int { return s.lo + 1<<(num.TreeLevels(s.hi-s.lo)-1) }

// within returns the largest parts of the tree over s that lie within of, in order.
func (s span) within(of span) []span {
	switch {
	case s.hi <= of.lo || of.hi <= s.lo:
		return nil
	case of.lo <= s.lo && s.hi <= of.hi:
		return []span{s}
	}
	return append(span{s.lo, s.split()}.within(of), span{s.split(), s.hi}.within(of)...)
}

// root is the sum over a part of the tree that one rank computes.
type root struct {
	span
	rank    int
	whole   []float32 // the gradient of all parameters; nil of other ranks
	sent    bool      // the first elements of whole are
	slice   []float32 // of it, what this rank owns
	figures figures
}

// team is the part of a rank.
type team struct {
	comm mpi.Comm
	rank int

	roots []root   // of all ranks, in the order of the pieces
	root  *root    // that is being computed
	adds  [][2]int // roots that are added, the second to the first, in this order: at last all are in the first one

	tensors []int     // number of blocks of each
	cuts    []int     // rank r owns the blocks cuts[r] to cuts[r+1]-1
	bounds  []int     // and the elements bounds[r] to bounds[r+1]-1 of the vector
	first   int       // elements of the vector before those of the extractor, the last by name: they are ready first
	parts   [][]owned // by rank: what it owns of tensors
	squares []float64 // of the gradient, by block

	records [][]uint64 // by rank, see record
	signals uint64     // given by any rank in the last update
	want    uint64     // those that this rank gives

	requests []mpi.Request
	err      error // the first one of a message
}

// Signals that ranks give each other.
const (
	signalStop uint64 = 1 << iota // the context has ended
	signalSave                    // of rank 0: the folder is to be saved after this update
	signalBad                     // a number that was computed is not finite
	signalFail                    // another error
)

// join makes a trainer one of a team. It returns the most pieces whose sum this rank computes.
func (s *Trainer) join(c mpi.Comm) (pieces int) {
	n := s.m.Config.Shards
	t := &team{comm: c, rank: c.Rank(), bounds: []int{0}, records: make([][]uint64, c.Size())}
	for r := range c.Size() {
		for _, part := range (span{0, n}).within(t.span(r, n)) {
			t.roots = append(t.roots, root{span: part, rank: r})
		}
	}
	t.plan(span{0, n})
	blocks := 0
	for _, p := range s.params {
		if !strings.HasPrefix(p.Name, extractorKey) {
			t.first += len(p.Data)
		}
		t.tensors = append(t.tensors, (len(p.Data)+blockSize-1)/blockSize)
		blocks += t.tensors[len(t.tensors)-1]
	}
	t.squares = make([]float64, blocks)
	for r := range c.Size() + 1 {
		t.cuts = append(t.cuts, blocks*r/c.Size())
	}
	s.team = t
	for r := range c.Size() {
		t.parts = append(t.parts, s.parts(r))
		end := t.bounds[r]
		for _, q := range t.parts[r] {
			end += len(q.Data)
		}
		t.bounds = append(t.bounds, end)
	}
	s.owned = t.parts[t.rank]
	return s.makeRoom()
}

// plan lists the additions of the tree over s, and returns the root that becomes the sum.
func (t *team) plan(s span) int {
	if i := slices.IndexFunc(t.roots, func(r root) bool { return r.span == s }); i >= 0 {
		return i
	}
	a, b := t.plan(span{s.lo, s.split()}), t.plan(span{s.split(), s.hi})
	t.adds = append(t.adds, [2]int{a, b})
	return a
}

// parts returns the parts of tensors that a rank owns.
func (s *Trainer) parts(rank int) (own []owned) {
	t, first := s.team, 0
	for i, p := range s.params {
		lo := max(t.cuts[rank]-first, 0) * blockSize
		hi := min((t.cuts[rank+1]-first)*blockSize, len(p.Data))
		first += t.tensors[i]
		if lo >= hi {
			continue
		}
		part := &Param{Name: p.Name, Group: p.Group, Data: s.m.potential.Unconstrained(p)[lo:hi]}
		own = append(own, owned{part, p, lo})
	}
	return own
}

// makeRoom makes room for gradients, moments and records. It returns the most pieces of a root of this rank.
func (s *Trainer) makeRoom() (largest int) {
	t := s.team
	lo, hi := t.bounds[t.rank], t.bounds[t.rank+1]
	perRank := make([]int, len(t.records))
	largest = 1
	for i := range t.roots {
		r := &t.roots[i]
		perRank[r.rank]++
		if r.rank != t.rank {
			r.slice = engine.AlignedFloats(hi - lo)
			continue
		}
		r.whole = engine.AlignedFloats(size(s.params))
		r.slice = r.whole[lo:hi]
		largest = max(largest, r.hi-r.lo)
	}
	for r, n := range perRank {
		t.records[r] = make([]uint64, 1+recordSize*n+(len(s.used)+63)/64)
	}
	s.tree = newTree(s.params, largest)
	sum := t.roots[0].slice
	for _, q := range s.owned {
		n := len(q.Data)
		q.Grad, sum = sum[:n], sum[n:]
		if t.rank == 0 { // which saves the moments of all
			q.M, q.V = q.of.M[q.lo:][:n], q.of.V[q.lo:][:n]
		} else {
			q.M, q.V = engine.AlignedFloats(n), engine.AlignedFloats(n)
		}
	}
	return largest
}

// together is gradients with the other ranks. Only the slice of the sum that this rank owns is there.
func (s *Trainer) together(r rows) (float64, error) {
	t := s.team
	for i := range t.roots {
		if root := &t.roots[i]; root.rank != t.rank {
			for _, later := range []bool{false, true} {
				t.receive(root.rank, mpi.Bytes(t.half(root.slice, t.rank, later)))
			}
		}
	}
	for i := range t.roots {
		if t.root = &t.roots[i]; t.root.rank == t.rank {
			t.root.sent = false
			t.root.figures = s.sum(t.root.span, r)
			s.sendRest()
		}
	}
	s.record()
	t.share(t.records)
	if err := t.wait(); err != nil {
		return 0, err
	}
	s.readRecords()
	s.profile.enter(PhasePieces)
	for _, a := range t.adds {
		to, from := &t.roots[a[0]], &t.roots[a[1]]
		s.e.Add(to.slice, to.slice, from.slice)
		from.figures.add(to.figures)
		to.figures = from.figures
	}
	f := t.roots[0].figures
	s.nll, s.score, s.tally.Sums = f.nll, f.score, f.sums
	return f.loss, s.shareSquares()
}

// half returns what a rank owns of the first elements of the vector, or of the later ones.
func (t *team) half(x []float32, rank int, later bool) []float32 {
	n := min(max(t.first-t.bounds[rank], 0), len(x))
	if later {
		return x[n:]
	}
	return x[:n]
}

// sendFirst begins to send the gradients of classifier and potential, while those of the extractor are computed.
func (s *Trainer) sendFirst() {
	t := s.team
	s.profile.enter(PhasePieces)
	s.tree.addFirst(s.e, t.root.hi-t.root.lo, t.first, t.root.whole)
	s.sendHalf(false)
	t.root.sent = true
}

// sendRest sends what is left of the sum.
func (s *Trainer) sendRest() {
	t := s.team
	s.profile.enter(PhasePieces)
	lo := 0
	if t.root.sent {
		lo = t.first
	}
	s.tree.run(s.e, lo, size(s.params), 0, t.root.whole)
	if !t.root.sent {
		s.sendHalf(false)
	}
	s.sendHalf(true)
}

func (s *Trainer) sendHalf(later bool) {
	t := s.team
	s.profile.enter(PhaseMessages)
	for r := range t.records {
		if r != t.rank {
			t.send(r, mpi.Bytes(t.half(t.root.whole[t.bounds[r]:t.bounds[r+1]], r, later)))
		}
	}
}

// recordSize is the number of words of the figures of a root.
const recordSize = 6

// record writes what this rank tells the others about its pieces: signals, figures, and the components used.
func (s *Trainer) record() {
	t := s.team
	rec := t.records[t.rank]
	rec[0], rec = t.want, rec[1:]
	if s.path.Stop != nil && s.path.Stop() {
		t.records[t.rank][0] |= signalStop
	}
	for _, r := range t.roots {
		if r.rank == t.rank {
			f := r.figures
			n, right := float64(f.sums.Samples), float64(f.sums.Right)
			for i, v := range [recordSize]float64{f.loss, f.nll, f.score, n, right, f.sums.Loss} {
				rec[i] = math.Float64bits(v)
			}
			rec = rec[recordSize:]
		}
	}
	clear(rec)
	for i, u := range s.used {
		if u {
			rec[i/64] |= 1 << (i % 64)
		}
	}
}

// readRecords reads those of the other ranks.
func (s *Trainer) readRecords() {
	t := s.team
	t.signals = 0
	for rank, rec := range t.records {
		t.signals |= rec[0]
		rec = rec[1:]
		for i := range t.roots {
			if r := &t.roots[i]; r.rank == rank {
				v := func(i int) float64 { return math.Float64frombits(rec[i]) }
				r.figures = figures{v(0), v(1), v(2), layer.Sums{Samples: int(v(3)), Right: int(v(4)), Loss: v(5)}}
				rec = rec[recordSize:]
			}
		}
		for i := range s.used {
			s.used[i] = s.used[i] || rec[i/64]>>(i%64)&1 == 1
		}
	}
}

// shareSquares computes the sums of squares of the gradient, by block.
func (s *Trainer) shareSquares() error {
	t := s.team
	s.profile.enter(PhaseNorm)
	own := t.squares[t.cuts[t.rank]:t.cuts[t.rank+1]]
	for _, q := range s.owned {
		for lo := 0; lo < len(q.Grad); lo += blockSize {
			own[0] = s.e.SumSquares(q.Grad[lo:min(lo+blockSize, len(q.Grad))])
			own = own[1:]
		}
	}
	s.profile.enter(PhaseMessages)
	for r := range t.records {
		if r != t.rank {
			t.send(r, mpi.Bytes(t.squares[t.cuts[t.rank]:t.cuts[t.rank+1]]))
			t.receive(r, mpi.Bytes(t.squares[t.cuts[r]:t.cuts[r+1]]))
		}
	}
	return t.wait()
}

// sumSquares returns that of the gradient of tensor i.
func (t *team) sumSquares(i int) (sum float64) {
	first := 0
	for _, n := range t.tensors[:i] {
		first += n
	}
	for _, v := range t.squares[first : first+t.tensors[i]] {
		sum += v
	}
	return sum
}

// gather gives every rank the parameters that the others have moved.
func (t *team) gather() error {
	for r := range t.records {
		if r != t.rank {
			for _, q := range t.parts[t.rank] {
				t.send(r, mpi.Bytes(q.Data))
			}
			for _, q := range t.parts[r] {
				t.receive(r, mpi.Bytes(q.Data))
			}
		}
	}
	return t.wait()
}

// share gives every rank the record of all others.
func (t *team) share(records [][]uint64) {
	for r := range records {
		if r != t.rank {
			t.send(r, mpi.Bytes(records[t.rank]))
			t.receive(r, mpi.Bytes(records[r]))
		}
	}
}

// send and receive begin messages, unless one has failed; wait waits for the end of all.
func (t *team) send(to int, b []byte)      { t.begin(t.comm.Send, to, b) }
func (t *team) receive(from int, b []byte) { t.begin(t.comm.Recv, from, b) }

func (t *team) begin(call func(rank int, b []byte) (mpi.Request, error), rank int, b []byte) {
	for len(b) > 0 && t.err == nil {
		part := b[:min(len(b), mpi.MaxMessage)]
		var r mpi.Request
		if r, t.err = call(rank, part); t.err == nil {
			t.requests = append(t.requests, r)
		}
		b = b[len(part):]
	}
}

func (t *team) wait() error {
	for _, r := range t.requests {
		if t.err == nil {
			t.err = t.comm.Wait(r)
		}
	}
	t.requests = t.requests[:0]
	return t.err
}
