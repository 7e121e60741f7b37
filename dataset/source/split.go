package source

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"dpnbench/engine/num"
)

// split takes opt.TestShare of each class of the training samples as test samples, if the content has none. The
// samples of both keep their order.
func (c *content) split(opt Options) error {
	if opt.TestShare == 0 {
		return nil
	}
	if c.test != nil && c.train != nil {
		return fmt.Errorf("--test-share %v: %s has test samples (%s), expected 0", opt.TestShare, c.name, c.test.file)
	}
	p := cmp.Or(c.train, c.test)
	if opt.TestShare == 1 {
		c.train, c.test = nil, p
		return nil
	}
	taken := p.draw(opt.TestShare, opt.Seed)
	n := 0
	for _, t := range taken {
		if t {
			n++
		}
	}
	if n == 0 || n == len(taken) {
		return fmt.Errorf("--test-share %v: %d of %d samples of %s, expected some for training and some for testing",
			opt.TestShare, n, len(taken), p.file)
	}
	c.test = p.take(taken, n)
	c.train = p
	return nil
}

// draw says which samples are test samples: of each class the share, rounded, in an order that depends on the seed
// and on the number of samples only.
func (p *part) draw(share float64, seed uint64) []bool {
	byClass := map[int][]int{}
	for i := range p.size() {
		y := 0
		if p.labels != nil {
			y = p.labels[i]
		}
		byClass[y] = append(byClass[y], i)
	}
	r := num.NewRand(seed, 0)
	keys := make([]uint64, p.size())
	for i := range keys {
		keys[i] = r.Uint64()
	}
	taken := make([]bool, p.size())
	for _, members := range byClass {
		sort.Slice(members, func(i, j int) bool {
			a, b := members[i], members[j]
			return keys[a] < keys[b] || keys[a] == keys[b] && a < b
		})
		for _, i := range members[:int(math.Round(share*float64(len(members))))] {
			taken[i] = true
		}
	}
	return taken
}

// take moves n samples to another part.
func (p *part) take(taken []bool, n int) *part {
	q := &part{Shape: p.Shape, file: p.file}
	p.pixels, q.pixels = move(p.pixels, taken, n, p.Shape.Len())
	p.values, q.values = move(p.values, taken, n, p.Shape.Len())
	p.labels, q.labels = move(p.labels, taken, n, 1)
	return q
}

// move moves n items, which are taken, of all, each of d elements.
func move[T any](all []T, taken []bool, n, d int) (kept, out []T) {
	if all == nil {
		return nil, nil
	}
	kept, out = all[:0], make([]T, 0, n*d)
	for i, t := range taken {
		if item := all[i*d : (i+1)*d]; t {
			out = append(out, item...)
		} else {
			kept = append(kept, item...)
		}
	}
	return kept, out
}
