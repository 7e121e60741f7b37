package plot

import (
	"fmt"
	"math"

	"dpnbench/internal/axes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LawPanels is a grid of panels, one for each network: the separation fuzziness D over its layers on a logarithmic
// axis, with the line of the law of equi-separation, as He and Su (PNAS 2023) show it.
type LawPanels struct {
	Title, Note string
	Panels      []LawPanel
}

// LawPanel is one network.
type LawPanel struct {
	Title string
	Names []string    // of the layers, in order
	D     [][]float64 // of each training at each layer; the first one is drawn in front
	// Law, if not nil, was fitted to a run of Names in the first training; the points left out of it are hollow.
	Law *Law
}

// Sizes of panels.
const (
	mostLawPanels  = 200
	lawPanelWidth  = 8 * vg.Centimeter // at least, for its title
	lawPanelHeight = 4.6 * vg.Centimeter
	lawPanelsARow  = 3
)

func (a LawPanels) heading() string { return a.Title }

func (a LawPanels) layout(width vg.Length) (drawing, error) {
	g, err := a.grid()
	if err != nil {
		return drawing{}, err
	}
	columns := min(lawPanelsARow, len(g.plots))
	rows := (len(g.plots) + columns - 1) / columns
	return drawing{width: max(width, vg.Length(columns)*lawPanelWidth), body: vg.Length(rows) * lawPanelHeight,
		keys: g.keys, note: g.note, draw: tiled(g.plots, columns)}, nil
}

// grid returns the panels.
func (a LawPanels) grid() (panelGrid, error) {
	g := panelGrid{note: a.Note, aspect: lawPanelHeight / lawPanelWidth}
	if n := len(a.Panels); n == 0 {
		return g, ErrEmpty
	} else if n > mostLawPanels {
		return g, fmt.Errorf("%d panels: want at most %d", n, mostLawPanels)
	}
	looks := newLawLooks()
	for i, panel := range a.Panels {
		p, err := panel.plot(looks)
		if err != nil {
			return g, fmt.Errorf("panel %d: %w", i, err)
		}
		g.plots = append(g.plots, p)
	}
	g.keys = looks.keys()
	return g, nil
}

// lawLooks are the marks of all panels, and which of them are used.
type lawLooks struct {
	first, others, out     draw.GlyphStyle
	line                   draw.LineStyle
	seeds, hollow, anyLine bool
}

func newLawLooks() *lawLooks {
	point := draw.GlyphStyle{Color: blue, Radius: 2.5, Shape: draw.CircleGlyph{}}
	l := &lawLooks{first: point, others: point, out: point,
		line: draw.LineStyle{Color: vermillion, Width: 1.2, Dashes: []vg.Length{5, 3}}}
	l.others.Color, l.others.Radius, l.out.Shape = translucent(blue, 0x60), 1.4, ring{}
	return l
}

func (l *lawLooks) keys() []key {
	list := []key{{text: "first training", glyph: &l.first}}
	if l.seeds {
		list = append(list, key{text: "other seeds", glyph: &l.others})
	}
	if l.hollow {
		list = append(list, key{text: "left out of the fit", glyph: &l.out})
	}
	if l.anyLine {
		list = append(list, key{text: "law fitted to the first", line: &l.line})
	}
	return list
}

// plot draws one panel.
func (a LawPanel) plot(looks *lawLooks) (*axes.Plot, error) {
	first := 0
	if a.Law != nil {
		if first = find(a.Names, a.Law.Names); first < 0 {
			return nil, fmt.Errorf("the law was fitted to layers %q, which are not a run of %q", a.Law.Names, a.Names)
		}
	}
	p := newPlot(a.Title, "", "")
	p.Add(grid())
	lo, hi := math.Inf(1), math.Inf(-1)
	var points, hollow, others axes.XYs
	for run, d := range a.D {
		if len(d) != len(a.Names) {
			return nil, fmt.Errorf("%d values of D for %d layers", len(d), len(a.Names))
		}
		for l, v := range d {
			if !drawable(v) {
				continue
			}
			at := axes.XY{X: float64(l), Y: math.Log10(v)}
			lo, hi = min(lo, at.Y), max(hi, at.Y)
			switch {
			case run > 0:
				others = append(others, at)
			case a.Law != nil && (l < first || l >= first+len(a.Law.Names)):
				hollow = append(hollow, at)
			default:
				points = append(points, at)
			}
		}
	}
	p.Add(&axes.Scatter{XYs: others, GlyphStyle: looks.others})
	if a.Law != nil && drawable(a.Law.Rho) && drawable(a.Law.D0) {
		var line axes.XYs
		for l := range a.Law.Names {
			at := axes.XY{X: float64(first + l), Y: math.Log10(a.Law.D0) + float64(l)*math.Log10(a.Law.Rho)}
			line = append(line, at)
			lo, hi = min(lo, at.Y), max(hi, at.Y)
		}
		p.Add(&axes.Line{XYs: line, LineStyle: looks.line})
		looks.anyLine = true
	}
	p.Add(&axes.Scatter{XYs: points, GlyphStyle: looks.first}, &axes.Scatter{XYs: hollow, GlyphStyle: looks.out})
	looks.seeds, looks.hollow = looks.seeds || len(others) > 0, looks.hollow || len(hollow) > 0
	if lo > hi { // no value has a place: empty axes
		lo, hi = 0, 1
	}
	pad := max(0.08*(hi-lo), math.Log10(1.1))
	p.Y.Min, p.Y.Max = lo-pad, hi+pad
	p.Y.Tick.Marker = log10Ticks
	if hi-lo > math.Log10(3.5) { // few labels fit
		p.Y.Tick.Marker = axes.Ticks(fewTicks(labelled(powers(lo-pad, hi+pad)), 6)...)
	}
	last := float64(max(len(a.Names)-1, 1))
	p.X.Min, p.X.Max = -0.5, last+0.5
	p.X.Tick.Marker = func(float64, float64) []axes.Tick { return linearTicks(0, last, 6, true) }
	return p, nil
}

// fewTicks keeps the labels of every second tick, every third and so on, so that at most most have one.
func fewTicks(ticks []axes.Tick, most int) []axes.Tick {
	every := (len(ticks) + most - 1) / most
	for i := range ticks {
		if i%max(every, 1) != 0 {
			ticks[i].Label = ""
		}
	}
	return ticks
}
