package order

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// Node is a term of a sum, or the sum of its children with one rounding.
type Node struct {
	Leaf  int  // the index of the term, if there are no children
	Fused bool // of a term: its product is not rounded before it is added

	// Children are at least two, in the order of their first terms. Of more than two, Exact says that all
	// are added without loss before the rounding. Otherwise bits are dropped that the largest lacks.
	Children []*Node
	Exact    bool

	leaves []int
}

// Order is the order of the additions of a sum of N terms.
type Order struct {
	N    int
	Kind Kind
	Root *Node
	// Bits is the number of significant bits of the partial sums: 24 for float32. 0: they are exact.
	Bits int
	// Verified says that random numbers, added in this order, have the bits of the implementation.
	Verified bool
}

// Kind says whether the terms of a sum are products.
type Kind int

const (
	Products Kind = iota // of a[i] and b[i]
	Terms                // a[i]; b[i] is 1
)

// sum returns a node with those children.
func sum(children ...*Node) *Node {
	sort.Slice(children, func(i, j int) bool { return children[i].first() < children[j].first() })
	return &Node{Children: children}
}

// first returns the lowest index of the terms.
func (n *Node) first() int {
	for len(n.Children) > 0 {
		n = n.Children[0]
	}
	return n.Leaf
}

// Leaves returns the indices of the terms, in increasing order.
func (n *Node) Leaves() []int {
	if n.leaves == nil {
		n.each(func(x *Node) {
			if len(x.Children) == 0 {
				n.leaves = append(n.leaves, x.Leaf)
			}
		})
		slices.Sort(n.leaves)
	}
	return n.leaves
}

// has reports whether term k is one of the node's.
func (n *Node) has(k int) bool {
	_, in := slices.BinarySearch(n.Leaves(), k)
	return in
}

// each calls f for the node and everything below it.
func (n *Node) each(f func(*Node)) {
	f(n)
	for _, c := range n.Children {
		c.each(f)
	}
}

// depth returns the number of additions on the longest path.
func (n *Node) depth() int {
	d := 0
	for _, c := range n.Children {
		d = max(d, 1+c.depth())
	}
	return d
}

// String writes the tree with parentheses: ((0+1)+2), a term whose product is fused with its
// addition as *1, exact sums in brackets.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b, true)
	return b.String()
}

func (n *Node) write(b *strings.Builder, products bool) {
	if len(n.Children) == 0 {
		if n.Fused && products {
			b.WriteByte('*')
		}
		fmt.Fprint(b, n.Leaf)
		return
	}
	around := "()"
	if n.Exact {
		around = "[]"
	}
	for i, c := range n.Children {
		before := "+"
		if i == 0 {
			before = around[:1]
		}
		b.WriteString(before)
		c.write(b, products)
	}
	b.WriteString(around[1:])
}

// shape is String without the marks of fused products.
func (n *Node) shape() string {
	var b strings.Builder
	n.write(&b, false)
	return b.String()
}

// Equal reports whether sums in both orders have the same bits, up to the sign of zero and the
// payload of NaN.
func (o *Order) Equal(p *Order) bool {
	if o.N != p.N || o.Bits != p.Bits || !o.Verified || !p.Verified {
		return false
	}
	if o.Kind == Terms || p.Kind == Terms {
		return o.Kind == p.Kind && o.Root.shape() == p.Root.shape()
	}
	return o.Root.String() == p.Root.String()
}

// Precision names the type that has as many bits as the partial sums.
func (o *Order) Precision() string {
	switch o.Bits {
	case 0:
		return "exact"
	case 8:
		return "bfloat16"
	case 11:
		return "float16"
	case 24:
		return "float32"
	case 53:
		return "float64"
	}
	return fmt.Sprintf("%d bits", o.Bits)
}

// Fusing says which products are fused with their additions: "yes" if each is that joins a partial sum, "no" if each
// is rounded before; "exact" where float64 holds each product.
func (o *Order) Fusing() string {
	if o.Kind == Terms {
		return "-"
	}
	sums, fused, rounded := 0, 0, 0
	o.Root.each(func(n *Node) {
		some, one := false, false
		for _, c := range n.Children {
			if len(c.Children) == 0 {
				some, one = true, one || c.Fused
				if !c.Fused {
					rounded++
				}
			}
		}
		if some {
			sums++
		}
		if one {
			fused++
		}
	})
	switch {
	case rounded == 0 && (o.Bits == 0 || o.Bits >= 48):
		return "exact"
	case fused == sums:
		return "yes"
	case fused == 0:
		return "no"
	}
	return fmt.Sprintf("%d of %d", fused, sums)
}

// Eval adds the products (Terms: b is not used) in the order, with correct roundings.
func (o *Order) Eval(a, b []float32) float32 {
	return float32(o.eval(o.Root, a, b))
}

func (o *Order) eval(n *Node, a, b []float32) float64 {
	if len(n.Children) == 0 {
		v := float64(a[n.Leaf])
		if o.Kind == Products {
			v *= float64(b[n.Leaf]) // exact
			if !n.Fused {
				v = roundTo(v, o.productBits())
			}
		}
		return v
	}
	terms := make([]float64, len(n.Children))
	for i, c := range n.Children {
		terms[i] = o.eval(c, a, b)
	}
	if len(terms) > 2 && !n.Exact {
		dropSmall(terms, o.Bits)
	}
	s, rest := exactSum(terms)
	switch {
	case o.Bits == 0: // all are added at once
		return roundTo(oddly(s, rest), 24)
	case o.Bits >= 53:
		return s
	}
	return roundTo(oddly(s, rest), o.Bits)
}

// productBits is the number of bits to which a product is rounded that is not fused.
func (o *Order) productBits() int {
	if o.Bits == 0 {
		return 24
	}
	return min(24, o.Bits)
}

// roundTo rounds x to a number of bits, to nearest, ties to even.
func roundTo(x float64, bits int) float64 {
	if bits == 24 {
		return float64(float32(x))
	}
	if x-x != 0 || bits >= 53 {
		return x
	}
	drop := 53 - bits
	u := math.Float64bits(x)
	u += 1<<(drop-1) - 1 + u>>drop&1
	return math.Float64frombits(u &^ (1<<drop - 1))
}

// dropSmall cuts off all bits of terms below the lowest one of the largest, towards 0.
func dropSmall(terms []float64, bits int) {
	var most float64
	for _, v := range terms {
		most = max(most, math.Abs(v))
	}
	_, e := math.Frexp(most)
	for i, v := range terms {
		terms[i] = math.Ldexp(math.Trunc(math.Ldexp(v, bits-e)), e-bits)
	}
}

// oddly returns s, or if there is a rest the neighbour of s on its side, or s, whose last bit is 1. Rounding that to
// at most 51 bits is rounding the exact sum.
func oddly(s, rest float64) float64 {
	u := math.Float64bits(s)
	if rest == 0 || s-s != 0 || u&1 == 1 {
		return s
	}
	if (rest > 0) == (s > 0) {
		return math.Float64frombits(u + 1)
	}
	return math.Float64frombits(u - 1)
}

// exactSum returns the sum rounded to float64, and a number with the sign of the rest. (Shewchuk, Adaptive Precision
// Floating-Point Arithmetic, 1997, grow-expansion.)
func exactSum(terms []float64) (s, rest float64) {
	var parts []float64 // of growing size, which do not overlap
	for _, x := range terms {
		kept := parts[:0]
		for _, y := range parts {
			hi, lo := twoSum(x, y)
			if lo != 0 {
				kept = append(kept, lo)
			}
			x = hi
		}
		parts = append(kept, x)
	}
	i := len(parts) - 1
	for s = parts[i]; i > 0 && rest == 0; i-- {
		s, rest = twoSum(s, parts[i-1])
	}
	// A tie is rounded towards what is below it.
	if i > 0 && (rest > 0) == (parts[i-1] > 0) && parts[i-1] != 0 {
		if t := s + 2*rest; t-s == 2*rest {
			s, rest = t, -rest
		}
	}
	return s, rest
}

// twoSum returns x + y rounded, and the error.
func twoSum(x, y float64) (s, err float64) {
	s = x + y
	t := s - x
	return s, (x - (s - t)) + (y - t)
}
