package plot

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"dpnbench/internal/axes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// PlanePaths is a figure of trajectories in the plane of two principal components: a line
// for each, in the colour of its class, from a small ring (a dot, if there are many) at step 0 to a mark at the last
// step. Crosses are the centres.
type PlanePaths struct {
	Title, Note string
	X, Y        string // labels of the axes; empty: PC 1 and PC 2
	Paths       []PlanePath
	Centres     [][2]float64
	Classes     []string // names of classes 0, 1, ...; others are shown by number
}

// PlanePath is one trajectory.
type PlanePath struct {
	Class int          // 0 or more
	At    [][2]float64 // coordinates at steps 0, 1, ..., n
}

// Limits of a figure of paths.
const (
	mostPaths  = 1000
	mostPlaces = 1 << 17 // in all
	fewCentres = 20      // that are drawn large
)

func (a PlanePaths) heading() string { return a.Title }

func (a PlanePaths) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: 0.85 * min(width, fileWidth), note: a.Note}
	if len(a.Paths) == 0 {
		return f, ErrEmpty
	}
	places := len(a.Centres)
	present := map[int]bool{}
	for i, path := range a.Paths {
		if path.Class < 0 {
			return f, fmt.Errorf("path %d has class %d: want 0 or more", i, path.Class)
		}
		if len(path.At) == 0 {
			return f, fmt.Errorf("path %d has no place", i)
		}
		places += len(path.At)
		present[path.Class] = true
		if err := checkPlaces(path.At); err != nil {
			return f, fmt.Errorf("path %d: step %w", i, err)
		}
	}
	if err := checkPlaces(a.Centres); err != nil {
		return f, fmt.Errorf("centre %w", err)
	}
	if len(a.Paths) > mostPaths || places > mostPlaces {
		return f, fmt.Errorf("%d paths of %d places: want at most %d of %d", len(a.Paths), places, mostPaths,
			mostPlaces)
	}
	if len(present) > mostClasses {
		return f, fmt.Errorf("%d classes: want at most %d", len(present), mostClasses)
	}
	x, y := a.X, a.Y
	if x == "" {
		x = "PC 1"
	}
	if y == "" {
		y = "PC 2"
	}
	p := newPlot("", x, y)
	p.Add(grid())
	// The more paths, the thinner.
	crowd := math.Sqrt(float64(len(a.Paths)) / 40)
	thin, small := vg.Length(min(max(1.1/crowd, 0.5), 1.1)), vg.Length(min(max(2.6/crowd, 1.6), 2.6))
	start := draw.GlyphStyle{Color: grey, Radius: small * 0.8, Shape: ring{}}
	if crowd > 1 { // rings as small as that would look like marks
		start.Radius, start.Shape = small*0.4, draw.CircleGlyph{}
	}
	centre := draw.GlyphStyle{Color: ink, Radius: 4, Shape: cross{}}
	if len(a.Centres) > fewCentres { // small, and below the paths, which they would hide
		centre = draw.GlyphStyle{Color: grey, Radius: 2.2, Shape: draw.CrossGlyph{}}
		p.Add(&axes.Scatter{XYs: toXYs(a.Centres), GlyphStyle: centre})
	}
	var starts axes.XYs
	var ends []axes.Plotter
	for _, path := range a.Paths {
		end := classGlyph(path.Class, small)
		xys := toXYs(path.At)
		p.Add(&axes.Line{XYs: xys, LineStyle: draw.LineStyle{Color: translucent(end.Color, 0x90), Width: thin}})
		starts = append(starts, xys[0])
		ends = append(ends, &axes.Scatter{XYs: xys[len(xys)-1:], GlyphStyle: end})
	}
	p.Add(&axes.Scatter{XYs: starts, GlyphStyle: start})
	p.Add(ends...)
	if len(a.Centres) <= fewCentres {
		p.Add(&axes.Scatter{XYs: toXYs(a.Centres), GlyphStyle: centre})
	}
	for _, class := range slices.Sorted(maps.Keys(present)) {
		name := fmt.Sprint(class)
		if class < len(a.Classes) {
			name = a.Classes[class]
		}
		g := classGlyph(class, 3.2)
		f.keys = append(f.keys, key{text: name, glyph: &g})
	}
	if crowd <= 1 {
		start.Radius = 2.5
	}
	f.keys = append(f.keys, key{text: "step 0", glyph: &start})
	if len(a.Centres) > 0 {
		f.keys = append(f.keys, key{text: "centre", glyph: &centre})
	}
	for _, axis := range []*axes.Axis{&p.X, &p.Y} {
		spread(axis)
	}
	f.draw = p.Draw
	return f, nil
}

func checkPlaces(at [][2]float64) error {
	for i, v := range at {
		if !finite(v[0]) || !finite(v[1]) {
			return fmt.Errorf("%d is at %v", i, v)
		}
	}
	return nil
}

func toXYs(at [][2]float64) axes.XYs {
	xys := make(axes.XYs, len(at))
	for i, v := range at {
		xys[i] = axes.XY{X: v[0], Y: v[1]}
	}
	return xys
}

// cross is a cross that stays visible on many lines.
type cross struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (cross) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	for _, line := range []draw.LineStyle{{Color: paper, Width: 3.4}, {Color: g.Color, Width: 1.6}} {
		r := g.Radius
		if line.Color == paper {
			r += 1
		}
		for _, s := range []vg.Length{-1, 1} {
			c.StrokeLine2(line, at.X-r, at.Y-s*r, at.X+r, at.Y+s*r)
		}
	}
}
