package plot

import (
	"fmt"

	"dpnbench/internal/format"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Tree is a figure of a tree: a row for each leaf, from the top, and lines that meet where nodes are joined, the root
// at the right.
type Tree struct {
	Title, Note string
	Root        TreeNode
	Marked      string // what a dot at the end of a leaf means; empty: there are none
}

// TreeNode is a leaf with a label, or joins its children.
type TreeNode struct {
	Label    string
	Mark     bool
	Children []TreeNode
}

// mostLeaves is the largest number of leaves of a figure.
const mostLeaves = 256

const leafPitch = vg.Length(11) // between rows

func (t Tree) heading() string { return t.Title }

func (t Tree) layout(width vg.Length) (drawing, error) {
	leaves, depth := t.Root.size()
	switch {
	case depth == 0:
		return drawing{}, ErrEmpty
	case leaves > mostLeaves:
		return drawing{}, fmt.Errorf("%d leaves, expected at most %d", leaves, mostLeaves)
	}
	f := drawing{width: width, body: vg.Length(leaves) * leafPitch, note: t.Note}
	dot := draw.GlyphStyle{Color: palette[0], Radius: 2.2, Shape: draw.CircleGlyph{}}
	if t.Marked != "" {
		f.keys = []key{{text: t.Marked, glyph: &dot}}
	}
	label := style(tickSize, xfont.WeightNormal)
	label.YAlign = text.YCenter
	label.XAlign = text.XRight
	f.draw = func(c draw.Canvas) {
		p := treePainter{c: c, label: label, dot: dot, left: c.Min.X + t.Root.widest(label) + gap}
		p.step = (c.Max.X - p.left) / vg.Length(depth+1)
		p.paint(t.Root)
	}
	return f, nil
}

func (t Tree) describe() string {
	leaves, depth := t.Root.size()
	return fmt.Sprintf("A tree of %d leaves and depth %d.", leaves, depth)
}

// size returns the number of leaves and the longest path.
func (n TreeNode) size() (leaves, depth int) {
	if len(n.Children) == 0 {
		return 1, 0
	}
	for _, c := range n.Children {
		l, d := c.size()
		leaves, depth = leaves+l, max(depth, d+1)
	}
	return leaves, depth
}

// widest returns the width of the widest label.
func (n TreeNode) widest(sty text.Style) vg.Length {
	w := sty.Width(format.Printable(n.Label))
	for _, c := range n.Children {
		w = max(w, c.widest(sty))
	}
	return w
}

// treePainter draws a tree from the top row on.
type treePainter struct {
	c          draw.Canvas
	label      text.Style
	dot        draw.GlyphStyle
	left, step vg.Length // of the leaves; between levels
	row        int       // of the next leaf
}

// paint draws a node and the line to the right of it, and returns where it is.
func (p *treePainter) paint(n TreeNode) vg.Point {
	line := draw.LineStyle{Color: ink, Width: 0.8}
	_, depth := n.size()
	at := vg.Point{X: p.left + vg.Length(depth)*p.step}
	if depth == 0 {
		at.Y = p.c.Max.Y - (vg.Length(p.row)+0.5)*leafPitch
		p.row++
		p.c.FillText(p.label, vg.Point{X: at.X - gap/2, Y: at.Y + 1}, format.Printable(n.Label))
		if n.Mark {
			p.c.DrawGlyphNoClip(p.dot, at)
		}
		return at
	}
	var top, bottom vg.Length
	for i, child := range n.Children {
		from := p.paint(child)
		p.c.StrokeLine2(line, from.X, from.Y, at.X, from.Y)
		if bottom = from.Y; i == 0 {
			top = from.Y
		}
	}
	p.c.StrokeLine2(line, at.X, top, at.X, bottom)
	at.Y = (top + bottom) / 2
	return at
}
