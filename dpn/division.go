package dpn

import (
	"cmp"
	"context"
	"math"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// division divides what is computed beside updates among the ranks of a training: a potential.Division of so many
// pieces. Without a team one process has all pieces.
type division struct {
	pieces int
	f      *fitting // its team; nil: none
}

// alone is the division of one process, with the sums of a training of c.
func (c Config) alone() potential.Division { return division{c.Shards, nil} }

// ranks divides work among the ranks of f.
func (f *fitting) ranks() potential.Division { return division{f.m.Config.Shards, f} }

func (d division) team() *team {
	if d.f == nil {
		return nil
	}
	return d.f.step.team
}

// span returns the pieces of a rank.
func (d division) span(rank int) span {
	if t := d.team(); t != nil {
		return t.span(rank, d.pieces)
	}
	return span{0, d.pieces}
}

// mine returns the pieces of this rank.
func (d division) mine() span {
	if t := d.team(); t != nil {
		return d.span(t.rank)
	}
	return d.span(0)
}

// items returns the items of n that belong to pieces.
func (d division) items(s span, n int) (lo, hi int) {
	lo, _ = engine.Part(n, d.pieces, s.lo)
	hi, _ = engine.Part(n, d.pieces, s.hi)
	return lo, hi
}

func (d division) Pieces() int { return d.pieces }

func (d division) Own(n int) (lo, hi int) { return d.items(d.mine(), n) }

// Sum adds the pieces of this rank by the largest parts of the tree that lie within them, and then all parts.
func (d division) Sum(ctx context.Context, err error, n, numbers int,
	add func(piece, lo, hi int, sum []float64)) ([]float64, error) {
	t, all := d.team(), span{0, d.pieces}
	if t == nil && err == nil {
		err = ctx.Err()
	}
	parts := map[span][]float64{}
	if err == nil {
		for _, s := range all.within(d.mine()) {
			parts[s] = s.sum(func(s span) []float64 {
				if s.hi > s.lo+1 {
					return nil
				}
				sum := make([]float64, numbers)
				lo, hi := d.items(s, n)
				add(s.lo, lo, hi, sum)
				return sum
			})
		}
	}
	if t != nil {
		err = d.shareParts(ctx, err, numbers, parts)
	}
	if err != nil {
		return nil, err
	}
	return all.sum(func(s span) []float64 { return parts[s] }), nil
}

// shareParts completes the parts of the tree by those of other ranks.
func (d division) shareParts(ctx context.Context, err error, numbers int, parts map[span][]float64) error {
	t, all := d.team(), span{0, d.pieces}
	most := 0 // parts of a rank: all send as many words
	for r := range t.records {
		most = max(most, len(all.within(d.span(r))))
	}
	words := make([]uint64, 0, most*numbers)
	for _, s := range all.within(d.mine()) {
		for _, v := range parts[s] {
			words = append(words, math.Float64bits(v))
		}
	}
	theirs, err := d.f.tell(ctx, err, words[:cap(words)]...)
	if err != nil || t.err != nil {
		return cmp.Or(err, t.err)
	}
	for r, words := range theirs {
		for _, s := range all.within(d.span(r)) {
			sum := make([]float64, numbers)
			for i := range sum {
				sum[i] = math.Float64frombits(words[i])
			}
			parts[s], words = sum, words[numbers:]
		}
	}
	return nil
}

// sum returns the sum of the pieces by the tree. part returns that of a part of it, or nil if it is not known; it may
// be changed.
func (s span) sum(part func(span) []float64) []float64 {
	if v := part(s); v != nil {
		return v
	}
	first, second := span{s.lo, s.split()}.sum(part), span{s.split(), s.hi}.sum(part)
	linalg.Axpy(1, second, first)
	return first
}

// Gather sends the items of this rank to all others.
func (d division) Gather(ctx context.Context, err error, n int, lists ...[]byte) error {
	t := d.team()
	if t == nil {
		return err
	}
	if _, err := d.f.tell(ctx, err); err != nil || t.err != nil || n == 0 {
		return cmp.Or(err, t.err)
	}
	for _, list := range lists {
		size := len(list) / n
		own := func(rank int) []byte {
			lo, hi := d.items(d.span(rank), n)
			return list[lo*size : hi*size]
		}
		for r := range t.records {
			if r != t.rank {
				t.send(r, own(t.rank))
				t.receive(r, own(r))
			}
		}
	}
	return t.wait()
}
