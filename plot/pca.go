package plot

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxPoints is the largest number of points in a panel: more would overlap and make an SVG file
// of megabytes.
const maxPoints = 1000

// Panel is one scatter plot of a PCA figure: the samples of one layer in the
// plane of its first two principal components.
type Panel struct {
	// Title names the layer.
	Title string
	// Points holds the coordinates of each sample along the leading components,
	// Components numbers a row. The first two are drawn; a single one is drawn
	// along the x axis.
	Points     []float64
	Components int
	// Explained is the share of the variance along each component.
	Explained []float64
	// Labels is the class of each sample.
	Labels []uint16
}

// check returns why the panel cannot be drawn, or nil.
func (p Panel) check() error {
	switch {
	case p.Components < 1:
		return fmt.Errorf("panel %q has %d components: want at least 1", p.Title, p.Components)
	case len(p.Labels) == 0:
		return fmt.Errorf("panel %q has no points", p.Title)
	case len(p.Points) != len(p.Labels)*p.Components:
		return fmt.Errorf("panel %q has %d coordinates for %d samples of %d components", p.Title, len(p.Points),
			len(p.Labels), p.Components)
	case len(p.Explained) != p.Components:
		return fmt.Errorf("panel %q has %d shares of variance for %d components", p.Title, len(p.Explained),
			p.Components)
	}
	for i, v := range p.Points {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("panel %q: coordinate %d of sample %d is %v", p.Title, i%p.Components, i/p.Components, v)
		}
	}
	return nil
}

// PCA is a figure with a panel for each layer, the points coloured by class. More than a
// thousand samples are thinned out, the same ones for every panel of equal length, and
// the note says so.
type PCA struct {
	Title   string
	Panels  []Panel
	Classes []string // names of the labels 0, 1, ...; others are shown by number
}

func (a PCA) heading() string { return a.Title }

func (a PCA) layout(width vg.Length) (drawing, error) {
	var f drawing
	if len(a.Panels) == 0 {
		return f, errors.New("no panels")
	}
	var present []bool
	for _, p := range a.Panels {
		if err := p.check(); err != nil {
			return f, err
		}
		for _, l := range p.Labels {
			for int(l) >= len(present) {
				present = append(present, false)
			}
			present[l] = true
		}
	}
	const radius = vg.Length(1.9)
	glyphs := map[uint16]draw.GlyphStyle{}
	for l, there := range present {
		if !there {
			continue
		}
		name := fmt.Sprint(l)
		if l < len(a.Classes) {
			name = a.Classes[l]
		}
		glyphs[uint16(l)] = classGlyph(l, radius) // by label, so that a class looks the same in every figure
		big := glyphs[uint16(l)]
		big.Radius *= 1.7
		f.keys = append(f.keys, key{text: name, glyph: &big})
	}

	if len(f.keys) > mostClasses {
		return f, fmt.Errorf("%d classes: want at most %d", len(f.keys), mostClasses)
	}
	most := 0
	var plots []*axes.Plot
	for _, panel := range a.Panels {
		plots = append(plots, panel.plot(glyphs))
		most = max(most, len(panel.Labels))
	}
	if most > maxPoints {
		f.note = fmt.Sprintf("%s of %s samples drawn, chosen at random; the components (PC) and their shares of the "+
			"variance are those of all.", format.Thousands(maxPoints), format.Thousands(most))
	}
	columns := 3
	switch {
	case len(a.Panels) == 1:
		columns = 1
	case len(a.Panels) <= 4 || width < fileWidth: // two fit on the screen of a phone
		columns = 2
	}
	rows := (len(a.Panels) + columns - 1) / columns
	side := 8.5 * vg.Centimeter
	if columns == 1 {
		side = 12.5 * vg.Centimeter
	}
	f.width = vg.Length(columns)*side + 2*margin
	f.height = vg.Length(rows)*min(side, 10*vg.Centimeter) + 2*vg.Centimeter
	f.draw = tiled(plots, columns)
	return f, nil
}

// plot draws the samples in their order, so that no class covers the others.
func (p Panel) plot(glyphs map[uint16]draw.GlyphStyle) *axes.Plot {
	axis := func(k int) string {
		return fmt.Sprintf("PC %d (%s%% of variance)", k+1, format.Number(100*p.Explained[k], 1))
	}
	out := newPlot(p.Title, axis(0), "")
	if p.Components > 1 {
		out.Y.Label.Text = axis(1)
	}
	rows := sample(len(p.Labels), maxPoints)
	xys := make(axes.XYs, len(rows))
	for i, row := range rows {
		xys[i].X = p.Points[row*p.Components]
		if p.Components > 1 {
			xys[i].Y = p.Points[row*p.Components+1]
		}
	}
	out.Add(grid(), &axes.Scatter{
		XYs:            xys,
		GlyphStyleFunc: func(i int) draw.GlyphStyle { return glyphs[p.Labels[rows[i]]] },
	})
	for _, a := range []*axes.Axis{&out.X, &out.Y} {
		spread(a)
	}
	return out
}

// spread adds a margin and ticks to an axis.
func spread(a *axes.Axis) {
	pad := 0.04 * (a.Max - a.Min)
	if pad == 0 {
		pad = max(1, 0.05*math.Abs(a.Max))
	}
	a.Min, a.Max = a.Min-pad, a.Max+pad
	a.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 6, false) }
}

// sample returns at most most of the numbers 0..n-1, in increasing order: chosen
// at random, but always the same. A regular choice, such as every tenth row, could favour a class
// if the samples are ordered by class.
func sample(n, most int) []int {
	rows := rand.New(rand.NewPCG(1, uint64(n))).Perm(n)
	rows = rows[:min(n, most)]
	slices.Sort(rows)
	return rows
}
