package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpnbench/internal/format"
	"dpnbench/internal/stat"
)

// Title returns the title of f.
func Title(f Figure) string { return f.heading() }

// mostSaid is the largest number of items of a figure that its description lists.
const mostSaid = 10

// said joins what is said of the items of a figure, those after the first ones by their number.
func said(items []string) string {
	if n := len(items) - mostSaid; n > 0 {
		items = append(slices.Clone(items[:mostSaid]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(items, "; ") + "."
}

// from says how a line runs from its first point to its last, in words of both axes; place prints where a point is.
func from(name string, points []Point, place func(x float64) string) string {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !finite(p.Y) })
	if name != "" {
		name += ": "
	}
	switch n := len(points); n {
	case 0:
		return name + "no value"
	case 1:
		return name + format.Significant(points[0].Y) + " at " + place(points[0].X)
	default:
		return fmt.Sprintf("%s%s at %s, %s at %s", name, format.Significant(points[0].Y), place(points[0].X),
			format.Significant(points[n-1].Y), place(points[n-1].X))
	}
}

// place prints where a point is: a step or a layer as the whole number that it is.
func place(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e6 {
		return format.Number(x, 0)
	}
	return format.Significant(x)
}

// numbered is d as points at 0, 1, ...
func numbered(d []float64) (points []Point) {
	for i, v := range d {
		points = append(points, Point{X: float64(i), Y: v})
	}
	return points
}

// place prints where a point is, by its name if it has one.
func (l Lines) place(x float64) string { return nameOf(l.Names, x) }

// nameOf is the name of a whole number x on an axis with names, or x where there is none.
func nameOf(names []string, x float64) string {
	if i := int(x); i >= 0 && i < len(names) && x == float64(i) {
		return names[i]
	}
	return place(x)
}

func (l Lines) describe() string {
	var items []string
	for _, s := range l.Series {
		if !s.Reference {
			items = append(items, from(s.Name, s.Points, l.place))
		}
	}
	return l.Y + " by " + l.X + ": " + said(items)
}

func (a Layers) describe() string {
	var items []string
	for i, name := range a.Names {
		items = append(items, name+" "+format.Significant(a.D[i]))
	}
	return "D: " + said(items)
}

func (a Steps) describe() string {
	return "D by step: " + said([]string{from("", numbered(a.D), place)})
}

func (d Dots) describe() string { return d.X + ": " + said(rowsOf(d.Groups, d.Series)) }

func (b Bars) describe() string { return b.X + ": " + said(rowsOf(b.Groups, b.Series)) }

// rowsOf says the values of all series in each row.
func rowsOf(groups []string, series []Series) (items []string) {
	for i, group := range groups {
		var values []string
		for _, s := range series {
			if y := s.Points[i].Y; finite(y) {
				values = append(values, s.Name+" "+format.Significant(y))
			}
		}
		items = append(items, group+": "+strings.Join(values, ", "))
	}
	return items
}

func (r Roofline) describe() string {
	var items []string
	for _, s := range r.Points {
		best, n := 0.0, 0
		for _, p := range s.Points {
			if drawable(p.X) && drawable(p.Y) {
				best, n = max(best, p.Y), n+1
			}
		}
		if n > 0 {
			items = append(items, fmt.Sprintf("%s up to %s", s.Name, format.Significant(best)))
		}
	}
	peak := roof{peaks: highest(r.Peaks)}
	return "GFLOP/s, peak " + peak.peakNames(0) + ": " + said(items)
}

func (h Histogram) describe() string {
	var items []string
	for _, s := range h.Samples {
		if v := s.sorted(); len(v) > 0 {
			at := func(q float64) string { return format.Significant(stat.Quantile(v, q)) }
			items = append(items, fmt.Sprintf("%s %s, half from %s to %s", s.Name, at(0.5), at(0.25), at(0.75)))
		}
	}
	return "Medians of " + h.X + ": " + said(items)
}

func (a Spectra) describe() string {
	lo, hi := extent(a.Values...)
	return fmt.Sprintf("%d spectra of %d values, from %s to %s.", len(a.Values), len(a.Values[0]),
		format.Significant(hi), format.Significant(lo))
}

func (a Weights) describe() string {
	lo, hi := extent(a.shares())
	return fmt.Sprintf("%d weights, from %s to %s.", len(a.C), format.Percent(hi, 2), format.Percent(lo, 2))
}

func (g Gallery) describe() string {
	var items []string
	count := 0
	for _, p := range g.Images {
		count += len(p.X)
		if p.Caption != "" {
			items = append(items, p.Caption)
		}
	}
	what := format.Count(count, "image")
	if len(items) == 0 {
		return what + "."
	}
	return what + ": " + said(items)
}

func (a Maps) describe() string {
	var all [][]float32
	for _, p := range a.Images {
		all = append(all, p.X...)
	}
	lo, hi := extent(all...)
	return fmt.Sprintf("%s, values from %s to %s.", format.Count(len(a.Images), "map"), format.Significant(lo),
		format.Significant(hi))
}

func (a Strips) describe() string {
	var items []string
	for _, s := range a.Strips {
		items = append(items, strings.TrimSpace(s.Name+" label "+s.Label+", prediction "+s.Predicted))
	}
	return fmt.Sprintf("%s over %d steps: %s", format.Count(len(a.Strips), "image"), len(a.Strips[0].X)-1, said(items))
}

func (a PlanePaths) describe() string {
	var start, end float64
	for _, p := range a.Paths {
		first, last := p.At[0], p.At[len(p.At)-1]
		start, end = max(start, math.Hypot(first[0], first[1])), max(end, math.Hypot(last[0], last[1]))
	}
	return fmt.Sprintf("%s that start up to %s and end up to %s from the middle, %s.",
		format.Count(len(a.Paths), "path"), format.Significant(start), format.Significant(end),
		format.Count(len(a.Centres), "centre"))
}

func (a Confusion) describe() string {
	right, all := 0, 0
	for y, row := range a.Counts {
		for p, n := range row {
			all += n
			if p == y {
				right += n
			}
		}
	}
	return fmt.Sprintf("%s of %s samples are classified correctly.", format.Thousands(right), format.Thousands(all))
}

func (a Training) describe() string {
	var curves [4][]Point
	for _, e := range a.Epochs {
		for i, y := range []float64{e.TrainLoss, e.ValLoss, e.TrainAccuracy, e.ValAccuracy} {
			curves[i] = append(curves[i], Point{X: float64(e.Epoch), Y: y})
		}
	}
	var items []string
	for i, name := range []string{"training loss", "validation loss", "training accuracy", "validation accuracy"} {
		if slices.ContainsFunc(curves[i], func(p Point) bool { return finite(p.Y) }) { // measured
			items = append(items, from(name, curves[i], place))
		}
	}
	return "By epoch: " + said(items)
}

func (a PCA) describe() string {
	var items []string
	for _, p := range a.Panels {
		share := 0.0
		for _, v := range p.Explained[:min(2, len(p.Explained))] {
			share += v
		}
		items = append(items, fmt.Sprintf("%s %s", p.Title, format.Percent(share, 1)))
	}
	return "Share of the variance in the plane: " + said(items)
}

func (a LawPanels) describe() string {
	var items []string
	for _, p := range a.Panels {
		if len(p.D) > 0 {
			items = append(items, from(p.Title, numbered(p.D[0]), place))
		}
	}
	return "D by layer: " + said(items)
}
