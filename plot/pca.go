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
	// Like gives the panel the axes of the one before it, whose features are of the same space.
	Like bool
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
// the note says so. Every panel of as many samples as the one before is turned, and mirrored if need be, so that
// its samples are as near as possible to where they are there (Procrustes): classes keep their places.
type PCA struct {
	Title   string
	Panels  []Panel
	Classes []string // names of the labels 0, 1, ...; others are shown by number
}

func (a PCA) heading() string { return a.Title }

func (a PCA) layout(width vg.Length) (drawing, error) {
	g, err := a.grid()
	if err != nil {
		return drawing{}, err
	}
	f := drawing{keys: g.keys, note: g.note}
	columns := 3
	switch {
	case len(a.Panels) == 1:
		columns = 1
	case len(a.Panels) <= 4 || width < fileWidth:
		columns = 2
	}
	rows := (len(a.Panels) + columns - 1) / columns
	side := 8.5 * vg.Centimeter
	if columns == 1 {
		side = 12.5 * vg.Centimeter
	}
	f.width = vg.Length(columns)*side + 2*margin
	f.height = vg.Length(rows)*min(side, 10*vg.Centimeter) + 2*vg.Centimeter
	f.draw = tiled(g.plots, columns)
	return f, nil
}

// grid returns the panels.
func (a PCA) grid() (panelGrid, error) {
	g := panelGrid{aspect: 0.85}
	if len(a.Panels) == 0 {
		return g, errors.New("no panels")
	}
	glyphs, err := a.glyphs(&g)
	if err != nil {
		return g, err
	}
	most := 0
	var last placed
	for i, panel := range a.Panels {
		p := panel.placed()
		if i > 0 {
			p.align(last)
		}
		last = p
		g.plots = append(g.plots, p.plot(glyphs))
		most = max(most, len(panel.Labels))
	}
	for first := 0; first < len(a.Panels); {
		next := first + 1
		for next < len(a.Panels) && a.Panels[next].Like {
			next++
		}
		share(g.plots[first:next])
		first = next
	}
	if most > maxPoints {
		g.note = fmt.Sprintf("%s of %s samples drawn, chosen at random; the components (PC) and their shares of the "+
			"variance are those of all.", format.Thousands(maxPoints), format.Thousands(most))
	}
	return g, nil
}

// glyphs checks the panels and returns the mark of each class that is there, with their legend in g.
func (a PCA) glyphs(g *panelGrid) (map[uint16]draw.GlyphStyle, error) {
	var present []bool
	for _, p := range a.Panels {
		if err := p.check(); err != nil {
			return nil, err
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
		g.keys = append(g.keys, key{text: name, glyph: &big})
	}
	if len(g.keys) > mostClasses {
		return nil, fmt.Errorf("%d classes: want at most %d", len(g.keys), mostClasses)
	}
	return glyphs, nil
}

// placed is a panel with the places of its samples.
type placed struct {
	Panel
	at     axes.XYs
	turned string // how it differs from the plane of the components: empty if it does not
}

func (p Panel) placed() placed {
	out := placed{Panel: p, at: make(axes.XYs, len(p.Labels))}
	for i := range out.at {
		out.at[i].X = p.Points[i*p.Components]
		if p.Components > 1 {
			out.at[i].Y = p.Points[i*p.Components+1]
		}
	}
	return out
}

// align turns p so that the sum of squared distances between its samples and those of to is least, up to the scale
// of either.
func (p *placed) align(to placed) {
	if len(p.at) != len(to.at) || p.Components < 2 || to.Components < 2 {
		return
	}
	var xx, xy, yx, yy float64
	for i, v := range p.at {
		w := to.at[i]
		xx, xy, yx, yy = xx+w.X*v.X, xy+w.X*v.Y, yx+w.Y*v.X, yy+w.Y*v.Y
	}
	angle, sign, what := math.Atan2(yx-xy, xx+yy), 1.0, "turned by"
	if math.Hypot(yx+xy, xx-yy) > math.Hypot(yx-xy, xx+yy) {
		angle, sign, what = math.Atan2(yx+xy, xx-yy), -1, "mirrored, turned by"
	}
	degrees := math.Round(angle * 180 / math.Pi)
	if degrees == 0 && sign > 0 {
		return
	}
	sin, cos := math.Sincos(angle)
	for i, v := range p.at {
		p.at[i] = axes.XY{X: cos*v.X - sign*sin*v.Y, Y: sin*v.X + sign*cos*v.Y}
	}
	p.turned = fmt.Sprintf("%s %s°", what, format.Number(degrees, 0))
}

// plot draws the samples in their order, so that no class covers the others.
func (p placed) plot(glyphs map[uint16]draw.GlyphStyle) *axes.Plot {
	axis := func(k int) string {
		return fmt.Sprintf("PC %d (%s%% of variance)", k+1, format.Number(100*p.Explained[k], 1))
	}
	out := newPlot(p.Title, axis(0), "")
	switch {
	case p.turned != "":
		out.X.Label.Text = fmt.Sprintf("PC 1 and 2 (%s%% of variance), %s",
			format.Number(100*(p.Explained[0]+p.Explained[1]), 1), p.turned)
	case p.Components > 1:
		out.Y.Label.Text = axis(1)
	}
	rows := sample(len(p.Labels), maxPoints)
	xys := make(axes.XYs, len(rows))
	for i, row := range rows {
		xys[i] = p.at[row]
	}
	out.Add(grid(), &axes.Scatter{
		XYs:            xys,
		GlyphStyleFunc: func(i int) draw.GlyphStyle { return glyphs[p.Labels[rows[i]]] },
	})
	return out
}

// share gives plots the same axes.
func share(plots []*axes.Plot) {
	x, y := plots[0].X, plots[0].Y
	for _, p := range plots {
		x.Min, x.Max = min(x.Min, p.X.Min), max(x.Max, p.X.Max)
		y.Min, y.Max = min(y.Min, p.Y.Min), max(y.Max, p.Y.Max)
	}
	for _, p := range plots {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = x.Min, x.Max, y.Min, y.Max
		spread(&p.X)
		spread(&p.Y)
	}
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
