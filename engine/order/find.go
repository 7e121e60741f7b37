package order

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine/num"
)

// Func is an implementation of a sum of products.
type Func func(a, b []float32) float32

// Sizes of sums.
const (
	Least = 3    // with fewer terms there is nothing to find
	Most  = 4096 // the calls grow with n^2, and the work of each with n
)

// scale says how large the large numbers are, a product of two, and the largest of the small ones.
type scale struct{ a, b, top float32 }

// scales are tried in turn until there is no overflow: float32 numbers, float16 numbers whose
// products have a wider range, and float16 throughout.
var scales = []scale{{0x1p100, 1, 0x1p19}, {0x1p15, 0x1p15, 0x1p3}, {0x1p15, 1, 0x1p1}}

// fewBits is the number of small numbers of a call until the precision of the sums is known: they
// have as many bits as bfloat16.
const fewBits = 8

// errNoOrder says that the results contradict every order.
var errNoOrder = errors.New("not a sum in a fixed order: the probes contradict each other")

// lost are the terms that are lost between two others, with these.
type lost struct {
	terms []bool
	size  int
}

// finder probes an implementation.
type finder struct {
	n      int
	kind   Kind
	f      Func
	a, b   []float32
	scale  scale
	chunk  int // small numbers of a call
	sets   map[[2]int]lost
	listed bool // only probes that list has can be asked for
}

// Find finds the order in which f adds n terms. f is called many times with slices that it must
// not keep. With Terms, b is all ones.
func Find(n int, kind Kind, f Func) (*Order, error) {
	if n < Least || n > Most {
		return nil, fmt.Errorf("%d terms: expected %d to %d", n, Least, Most)
	}
	return newFinder(n, kind, f).find()
}

func newFinder(n int, kind Kind, f Func) *finder {
	return &finder{n: n, kind: kind, f: f, a: make([]float32, n), b: make([]float32, n), chunk: fewBits,
		sets: map[[2]int]lost{}}
}

func (p *finder) find() (*Order, error) {
	if err := p.findScale(); err != nil {
		return nil, err
	}
	o := &Order{N: p.n, Kind: p.kind}
	var err error
	if o.Bits, err = p.findBits(); err != nil {
		return nil, err
	}
	if o.Bits > 0 && !p.listed {
		p.chunk = min(o.Bits, 20)
	}
	all := make([]int, p.n)
	for i := range all {
		all[i] = i
	}
	if o.Root, err = p.build(all); err != nil {
		return nil, err
	}
	if !p.consistent(o.Root) {
		return nil, errNoOrder
	}
	if p.kind == Products {
		p.findFused(o)
	}
	o.Verified = p.verify(o)
	return o, nil
}

// clear sets all terms to 0.
func (p *finder) clear() {
	clear(p.a)
	for i := range p.b {
		p.b[i] = 1
	}
}

// call returns the result in float64.
func (p *finder) call() float64 { return float64(p.f(p.a, p.b)) }

// findScale chooses numbers that do not overflow.
func (p *finder) findScale() error {
	for _, s := range scales {
		if p.kind == Terms && s.b != 1 || p.listed && s != scales[0] {
			continue
		}
		p.clear()
		p.a[0], p.b[0], p.a[1], p.b[1] = s.a, s.b, -s.a, s.b
		if p.call() == 0 {
			p.scale = s
			return nil
		}
	}
	return errors.New("not a sum: M - M is not 0, also for small M")
}

// small returns the small number of an index within a call.
func (p *finder) small(t int) float32 { return float32(math.Ldexp(float64(p.scale.top), -t)) }

// setProbe sets the numbers that find which of the chunk of terms from the given one on is lost between i and j.
func (p *finder) setProbe(i, j, from int) {
	p.clear()
	for t := range min(p.chunk, p.n-from) {
		p.a[from+t] = p.small(t)
	}
	p.a[i], p.b[i], p.a[j], p.b[j] = p.scale.a, p.scale.b, -p.scale.a, p.scale.b
}

// set returns the terms that are lost between i and j, with i and j.
func (p *finder) set(i, j int) (lost, error) {
	if i > j {
		i, j = j, i
	}
	if s, known := p.sets[[2]int{i, j}]; known {
		return s, nil
	}
	s := lost{terms: make([]bool, p.n)}
	unit := float64(p.small(p.chunk - 1))
	for from := 0; from < p.n; from += p.chunk {
		p.setProbe(i, j, from)
		v := p.call() / unit
		left := int(max(min(v, 0x1p30), -1))
		if float64(left) != v {
			return s, fmt.Errorf("%w (M at %d, -M at %d)", errNoOrder, i, j)
		}
		for t := range min(p.chunk, p.n-from) {
			if left>>(p.chunk-1-t)&1 == 0 {
				s.terms[from+t] = true
				s.size++
			}
		}
	}
	if !s.terms[i] || !s.terms[j] {
		return s, fmt.Errorf("%w (M at %d, -M at %d)", errNoOrder, i, j)
	}
	p.sets[[2]int{i, j}] = s
	return s, nil
}

// mostShift is the largest exponent of M in the search for the precision.
const mostShift = 98

// bitsProbe sets the numbers that find whether 1 at k is lost beside 2^e at i before -2^e at j is
// added. It returns false if 2^e would overflow.
func (p *finder) bitsProbe(i, j, k, e int) bool {
	p.clear()
	large := [2]float32{float32(math.Ldexp(1, e)), 1}
	if p.scale.b != 1 {
		large = [2]float32{float32(math.Ldexp(1, e-e/2)), float32(math.Ldexp(1, e/2))}
	}
	p.a[i], p.b[i], p.a[j], p.b[j], p.a[k] = large[0], large[1], -large[0], large[1], 1
	return large[0] <= p.scale.a
}

// triples are terms at which the precision is measured, of n.
func triples(n int) [][3]int {
	return [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 2, 0}, {0, n - 1, 1}, {0, 1, n - 1}, {0, n / 2, 1}, {0, 1, n / 2}}
}

// findBits returns the number of significant bits of the partial sums: the exponent of the smallest
// power of two that swallows 1. It is the least over some terms, and 0 if nothing is ever lost.
func (p *finder) findBits() (int, error) {
	bits := 0
	for _, t := range triples(p.n) {
		b := p.bitsAt(t[0], t[1], t[2])
		if b == 1 { // fewer bits than numbers of any format have
			return 0, fmt.Errorf("not a sum: 2 and -2 at %d and %d, in one order or the other, and 1 at %d give 0, "+
				"expected 1", t[0], t[1], t[2])
		}
		if b > 0 && (bits == 0 || b < bits) {
			bits = b
		}
	}
	if bits > 0 {
		return bits, nil
	}
	for j := 1; j < p.n; j++ {
		s, err := p.set(0, j)
		if err != nil {
			return 0, err
		}
		for k, gone := range s.terms {
			if !gone || k == 0 || k == j {
				continue
			}
			if p.listed {
				return 0, errors.New("an exact sum of a part of the terms: the probes of files do not suffice")
			}
			return p.bitsAt(0, j, k), nil
		}
	}
	return 0, nil
}

// bitsAt returns the least e for which 2^e at i or j swallows 1 at k, or 0.
func (p *finder) bitsAt(i, j, k int) int {
	if k == i || k == j || i == j {
		return 0
	}
	for e := 1; e <= mostShift; e++ {
		for _, x := range [][2]int{{i, j}, {j, i}} {
			if !p.bitsProbe(x[0], x[1], k, e) {
				return 0
			}
			if p.call() == 0 {
				return e
			}
		}
	}
	return 0
}

// build returns the subtree of terms that are all of a subtree.
func (p *finder) build(terms []int) (*Node, error) {
	if len(terms) == 1 {
		return &Node{Leaf: terms[0]}, nil
	}
	parts, exact, err := p.split(terms)
	if err != nil {
		return nil, err
	}
	n := &Node{Exact: exact}
	for _, part := range parts {
		c, err := p.build(part)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, c)
	}
	return n, nil
}

// split returns the terms of the children of the subtree of terms.
func (p *finder) split(terms []int) (parts [][]int, exact bool, err error) {
	first := terms[0]
	most, far := 0, first // the largest set of the first term, and with which other one
	for _, j := range terms[1:] {
		s, err := p.set(first, j)
		if err != nil {
			return nil, false, err
		}
		if s.size > most {
			most, far = s.size, j
		}
	}
	if most > len(terms) {
		return nil, false, errNoOrder
	}
	if most < len(terms) {
		parts, err = p.splitExact(terms, far)
		return parts, true, err
	}
	for rest := terms; len(rest) > 0; {
		var part, others []int
		for _, k := range rest {
			if k != rest[0] {
				s, err := p.set(rest[0], k)
				if err != nil {
					return nil, false, err
				}
				if s.size == len(terms) {
					others = append(others, k)
					continue
				}
			}
			part = append(part, k)
		}
		parts, rest = append(parts, part), others
	}
	if len(parts) < 2 {
		return nil, false, errNoOrder
	}
	return parts, false, nil
}

// splitExact is split where no pair of children swallows the others. far is a term of another child than the first one,
// because no set is larger.
func (p *finder) splitExact(terms []int, far int) ([][]int, error) {
	first := terms[0]
	with, err := p.set(first, far)
	if err != nil {
		return nil, err
	}
	third := slices.IndexFunc(terms, func(k int) bool { return !with.terms[k] })
	if third < 0 {
		return nil, errNoOrder
	}
	other, err := p.set(first, terms[third])
	if err != nil {
		return nil, err
	}
	taken := make([]bool, p.n)
	var own []int
	for _, k := range terms {
		if with.terms[k] && other.terms[k] {
			own = append(own, k)
			taken[k] = true
		}
	}
	parts := [][]int{own}
	for _, j := range terms {
		if taken[j] {
			continue
		}
		s, err := p.set(first, j)
		if err != nil {
			return nil, err
		}
		var part []int
		for _, k := range terms {
			if s.terms[k] && !taken[k] {
				part = append(part, k)
				taken[k] = true
			}
		}
		if len(part) == 0 || !taken[j] {
			return nil, errNoOrder
		}
		parts = append(parts, part)
	}
	if len(parts) < 3 {
		return nil, errNoOrder
	}
	return parts, nil
}

// consistent reports whether all sets are those of the tree.
func (p *finder) consistent(root *Node) bool {
	for pair, s := range p.sets {
		n, want := root, []int(nil)
		for want == nil {
			var i, j *Node
			for _, c := range n.Children {
				if c.has(pair[0]) {
					i = c
				}
				if c.has(pair[1]) {
					j = c
				}
			}
			switch {
			case i == j:
				n = i
			case n.Exact:
				want = slices.Concat(i.Leaves(), j.Leaves())
			default:
				want = n.Leaves()
			}
		}
		if len(want) != s.size || slices.ContainsFunc(want, func(k int) bool { return !s.terms[k] }) {
			return false
		}
	}
	return true
}

// square is a number x = 1 + k 2^-m whose square is rounded up to bits significant bits: its last term is 1.53, 0.77 or
// 0.78 units in the last place.
type square struct{ bits, k, m int }

var squares = []square{{24, 7, 14}, {11, 7, 8}, {8, 5, 6}}

// squareFor returns that for sums of so many bits.
func squareFor(bits int) square {
	for _, s := range squares {
		if bits == 0 || bits >= s.bits {
			return s
		}
	}
	return squares[len(squares)-1]
}

// fusedProbe sets the square at i and at j what cancels all of it but its last term. It returns what is left of a
// square that is rounded before it is added.
func (p *finder) fusedProbe(i, j int, s square) (rounded float64) {
	p.clear()
	x := 1 + math.Ldexp(float64(s.k), -s.m)
	rest := 1 + math.Ldexp(float64(2*s.k), -s.m)
	p.a[i], p.b[i], p.a[j] = float32(x), float32(x), float32(-rest)
	return roundTo(x*x, s.bits) - rest
}

// findFused finds which products are rounded before they are added.
func (p *finder) findFused(o *Order) {
	s := squareFor(o.Bits)
	o.Root.each(func(n *Node) {
		for i, c := range n.Children {
			if len(c.Children) == 0 {
				rounded := p.fusedProbe(c.Leaf, n.Children[(i+1)%len(n.Children)].first(), s)
				c.Fused = p.call() != rounded
			}
		}
	})
}

// trials is the number of sums of random numbers that verify an order.
const trials = 32

const randomSeed = 43

// randomProbe sets random numbers of both signs and of sizes from 2^-5 to 2^5.
func (p *finder) randomProbe(r *num.Rand) {
	p.clear()
	fill := func(x []float32) {
		r.Normal(x)
		for i := range x {
			x[i] = float32(math.Ldexp(float64(x[i]), r.Intn(11)-5))
		}
	}
	fill(p.a)
	if p.kind == Products {
		fill(p.b)
	}
}

// verify reports whether f has the bits of sums of random numbers in the order o.
func (p *finder) verify(o *Order) bool {
	r := num.NewRand(randomSeed, 0)
	for range trials {
		p.randomProbe(r)
		if math.Float32bits(p.f(p.a, p.b)) != math.Float32bits(o.Eval(p.a, p.b)) {
			return false
		}
	}
	return true
}
