package order

import (
	"fmt"
	"strings"
)

// MostDrawn is the largest number of terms of a drawing.
const MostDrawn = 64

// Draw returns the tree as text, a line a term. Lines meet where numbers are added; a term whose product is fused with
// its addition has a star.
func (o *Order) Draw() string {
	terms := o.Root.drawn()
	row := map[*Node]int{}
	digits := len(fmt.Sprint(o.N - 1))
	grid := make([][]rune, len(terms))
	width := 2*o.Root.depth() + 2
	for i, t := range terms {
		row[t] = i
		grid[i] = []rune(strings.Repeat(" ", width))
	}
	o.Root.draw(grid, row)
	var b strings.Builder
	for i, t := range terms {
		mark := " "
		if t.Fused {
			mark = "*"
		}
		fmt.Fprintf(&b, "%*d%s%s\n", digits, t.Leaf, mark, strings.TrimRight(string(grid[i]), " "))
	}
	return b.String()
}

// drawn returns the terms in the order in which they are drawn.
func (n *Node) drawn() []*Node {
	var terms []*Node
	n.each(func(x *Node) {
		if len(x.Children) == 0 {
			terms = append(terms, x)
		}
	})
	return terms
}

// draw draws the node into the grid, and sets its row: that of its last child.
func (n *Node) draw(grid [][]rune, row map[*Node]int) {
	if len(n.Children) == 0 {
		return
	}
	at := 2 * n.depth()
	for i, c := range n.Children {
		c.draw(grid, row)
		r := row[c]
		for x := 2*c.depth() + min(1, c.depth()); x < at; x++ {
			grid[r][x] = '─'
		}
		switch i {
		case 0:
			grid[r][at] = '┐'
		case len(n.Children) - 1:
			grid[r][at] = '┴'
		default:
			grid[r][at] = '┤'
		}
	}
	last := row[n.Children[len(n.Children)-1]]
	for r := row[n.Children[0]] + 1; r < last; r++ {
		if grid[r][at] == ' ' {
			grid[r][at] = '│'
		}
	}
	grid[last][at+1] = '─'
	row[n] = last
}
