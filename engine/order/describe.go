package order

import (
	"fmt"
	"slices"
	"strings"
)

// Describe names the pattern of the order: chain, lanes, blocks, pairwise.
func (o *Order) Describe() string { return describe(o.Root) }

// leaf returns a term.
func leaf(i int) *Node { return &Node{Leaf: i} }

// chain returns a chain of the terms from lo on, step apart, below n.
func chain(lo, step, n int) *Node {
	x := leaf(lo)
	for i := lo + step; i < n; i += step {
		x = sum(x, leaf(i))
	}
	return x
}

// halvesApart returns a tree of n terms that are added p/2 apart, p/4 and so on to 1, where p is the power of two
// from n on.
func halvesApart(n int) *Node {
	x := make([]*Node, n)
	h := 1
	for i := range x {
		x[i] = leaf(i)
	}
	for ; 2*h < n; h *= 2 {
	}
	for ; h > 0; h /= 2 {
		for i := 0; i < h && i+h < n; i++ {
			x[i] = sum(x[i], x[i+h])
		}
		x = x[:min(h, n)]
		n = len(x)
	}
	return x[0]
}

// neighbours returns a tree of n terms whose neighbours are added, then those sums, and so on.
func neighbours(n int) *Node {
	var x []*Node
	for i := range n {
		x = append(x, leaf(i))
	}
	for len(x) > 1 {
		var y []*Node
		for i := 0; i < len(x); i += 2 {
			if i+1 < len(x) {
				y = append(y, sum(x[i], x[i+1]))
			} else {
				y = append(y, x[i])
			}
		}
		x = y
	}
	return x[0]
}

// renumbered returns the tree with the terms numbered from 0 on in their order; cut names the nodes that count as a
// term each.
func (n *Node) renumbered(cut map[*Node]int) *Node {
	if len(n.Children) == 0 || cut[n] > 0 {
		at := cut[n] - 1
		if at < 0 {
			at = n.Leaf
		}
		return leaf(at)
	}
	var children []*Node
	for _, c := range n.Children {
		children = append(children, c.renumbered(cut))
	}
	s := sum(children...)
	s.Exact = n.Exact
	return s
}

// ranked returns the tree with the terms numbered from 0 on.
func (n *Node) ranked() *Node {
	cut := map[*Node]int{}
	rank := map[int]int{}
	for i, k := range n.Leaves() {
		rank[k] = i
	}
	n.each(func(x *Node) {
		if len(x.Children) == 0 {
			cut[x] = rank[x.Leaf] + 1
		}
	})
	return n.renumbered(cut)
}

// describe names the pattern of a tree.
func describe(n *Node) string {
	n = n.ranked()
	m := len(n.Leaves())
	switch shape := n.shape(); {
	case m == 1:
		return "one term"
	case n.flat() && m > 2:
		return fmt.Sprintf("all %d at once", m)
	case shape == chain(0, 1, m).shape():
		return "chain"
	case n.reversed().shape() == chain(0, 1, m).shape():
		return "chain from the last term"
	case m <= 16 && shape == halvesApart(m).shape(): // more are named as lanes
		return apart(m)
	case shape == neighbours(m).shape():
		return "neighbours, pairwise"
	}
	if k := n.atATime(); k > 1 {
		return fmt.Sprintf("chain, %d terms at a time", k)
	}
	if s := n.inLanes(m); s != "" {
		return s
	}
	if s := n.pairwise(); s != "" {
		return s
	}
	if s := n.inBlocks(); s != "" {
		return s
	}
	return fmt.Sprintf("a tree of depth %d", n.depth())
}

// apart writes 8, 4, 2, 1 apart.
func apart(m int) string {
	h := 1
	for ; 2*h < m; h *= 2 {
	}
	var list []string
	for ; h > 0; h /= 2 {
		list = append(list, fmt.Sprint(h))
	}
	return strings.Join(list, ", ") + " apart"
}

// flat reports whether all children are terms.
func (n *Node) flat() bool {
	for _, c := range n.Children {
		if len(c.Children) > 0 {
			return false
		}
	}
	return true
}

// atATime returns how many terms each operation of a chain adds to the sum so far, or 0 if it is none or they
// differ. The first and the last one may add fewer.
func (n *Node) atATime() int {
	var counts []int // from the last operation to the first
	next := len(n.Leaves())
	for x := n; len(x.Children) > 0; x = x.Children[0] {
		terms := x.Children[1:]
		if len(x.Children[0].Children) == 0 {
			terms = x.Children
		}
		for i := len(terms) - 1; i >= 0; i-- {
			if next--; len(terms[i].Children) > 0 || terms[i].Leaf != next {
				return 0
			}
		}
		counts = append(counts, len(terms))
	}
	k := slices.Max(counts)
	if slices.ContainsFunc(counts[min(1, len(counts)-1):len(counts)-1], func(c int) bool { return c != k }) {
		return 0
	}
	return k
}

// reversed returns a ranked tree with the terms numbered from the last one on.
func (n *Node) reversed() *Node {
	cut, last := map[*Node]int{}, len(n.Leaves())
	n.each(func(x *Node) {
		if len(x.Children) == 0 {
			cut[x] = last - x.Leaf
		}
	})
	return n.renumbered(cut)
}

// inLanes names a ranked tree of m terms of which those that are equal modulo the number of lanes are chains; "" if it
// is none.
func (n *Node) inLanes(m int) string {
	at := map[[2]int]*Node{} // by the first term and the number of terms
	n.each(func(x *Node) { at[[2]int{x.first(), len(x.Leaves())}] = x })
	for lanes := m - 1; lanes > 1; lanes-- {
		cut := map[*Node]int{}
		for c := 0; c < lanes && cut != nil; c++ {
			x := at[[2]int{c, (m - c + lanes - 1) / lanes}]
			if x == nil || x.shape() != chain(c, lanes, m).shape() {
				cut = nil
				break
			}
			cut[x] = c + 1
		}
		if cut != nil {
			return fmt.Sprintf("%d lanes, then %s", lanes, describe(n.renumbered(cut)))
		}
	}
	return ""
}

// interval reports whether the terms have no gap.
func (n *Node) interval() bool {
	l := n.Leaves()
	return l[len(l)-1]-l[0] == len(l)-1
}

// inBlocks names a ranked tree of consecutive blocks that are added one after another; "" if it is none.
func (n *Node) inBlocks() string {
	var blocks []*Node // from the last one
	x := n
	for len(x.Children) == 2 && x.Children[0].interval() && x.Children[1].interval() {
		blocks = append(blocks, x.Children[1])
		x = x.Children[0]
	}
	if len(blocks) == 0 {
		return ""
	}
	blocks = append(blocks, x)
	var runs []run
	add := func(size int, what string) {
		if n := len(runs); n > 0 && runs[n-1].size == size && runs[n-1].what == what {
			runs[n-1].times++
			return
		}
		runs = append(runs, run{size, 1, what})
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		add(len(blocks[i].Leaves()), describe(blocks[i]))
	}
	return inRuns(runs)
}

// run is a number of blocks of one size and pattern.
type run struct {
	size, times int
	what        string
}

// inRuns names blocks that are added one after another; "" if there are too many kinds of them.
func inRuns(runs []run) string {
	if runs[0].size == 1 && len(runs) > 1 { // a chain, which is the first block
		r := run{runs[0].times, 1, "chain"}
		if runs = runs[1:]; runs[0].size == r.size && runs[0].what == r.what {
			runs[0].times++
		} else {
			runs = append([]run{r}, runs...)
		}
	}
	if len(runs) > 4 {
		return ""
	}
	var list []string
	for _, r := range runs {
		switch {
		case r.size == 1 && r.times == 1:
			list = append(list, "one term")
		case r.size == 1:
			list = append(list, fmt.Sprintf("%d terms one by one", r.times))
		case r.times == 1:
			list = append(list, fmt.Sprintf("%d (%s)", r.size, r.what))
		default:
			list = append(list, fmt.Sprintf("%d blocks of %d (%s)", r.times, r.size, r.what))
		}
	}
	return strings.Join(list, ", then ")
}

// pairwise names a ranked tree whose halves are added, down to four blocks or more; "" if it is none.
func (n *Node) pairwise() string {
	var blocks []*Node
	var down func(x *Node)
	down = func(x *Node) {
		if len(x.Children) == 2 && x.Children[0].interval() && x.Children[1].interval() {
			a, b := len(x.Children[0].Leaves()), len(x.Children[1].Leaves())
			if a <= 2*b && b <= 2*a && a+b > 3 {
				down(x.Children[0])
				down(x.Children[1])
				return
			}
		}
		blocks = append(blocks, x)
	}
	down(n)
	if len(blocks) < 4 {
		return ""
	}
	least, largest := len(n.Leaves()), blocks[0]
	for _, x := range blocks {
		m := len(x.Leaves())
		least = min(least, m)
		if m > len(largest.Leaves()) {
			largest = x
		}
	}
	switch most := len(largest.Leaves()); {
	case most <= 3:
		return "halves"
	case most == least:
		return fmt.Sprintf("halves, down to %d terms (%s)", most, describe(largest))
	default:
		return fmt.Sprintf("halves, down to %d to %d terms (%s)", least, most, describe(largest))
	}
}
