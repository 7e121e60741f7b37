package plot

import (
	"fmt"
	"math"
	"slices"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"
	"dpnbench/internal/stat"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Histogram is a figure of the distributions of some samples, each in percent of its size.
type Histogram struct {
	Title, X, Note string
	Samples        []Sample
	// Mark, if not nil, is a vertical line, named in the legend by its Name at its Y.
	Mark *Level
}

// Sample holds the numbers of one kind. Non-finite ones are counted, not drawn.
type Sample struct {
	Name   string
	Values []float64
}

const (
	fewestBins    = 12
	mostBins      = 80
	histogramTail = 0.001 // share of each sample beyond the axis, counted in the outermost bins
)

func (h Histogram) heading() string { return h.Title }

func (h Histogram) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, height: min(width, fileWidth) * flat, note: h.Note}
	lo, hi, beyond, err := h.span()
	if err != nil {
		return f, err
	}
	bins := h.bins(lo, hi)
	p := newPlot("", h.X, "samples in a bin (%)")
	p.Add(grid())
	top := 0.0
	var lost []string
	for i, s := range h.Samples {
		if len(s.Values) == 0 {
			continue
		}
		line, _ := Series{Colour: i, Dash: i}.look()
		line.Width = 1.2
		outline, lostHere := s.outline(lo, hi, bins)
		if lostHere > 0 {
			lost = append(lost, fmt.Sprintf("%s of %s", format.Thousands(lostHere), s.Name))
		}
		for _, at := range outline {
			top = max(top, at.Y)
		}
		p.Add(&axes.Area{XYs: outline, Color: translucent(line.Color, 0x30)},
			&axes.Line{XYs: outline, LineStyle: line})
		f.keys = append(f.keys, key{text: s.Name, line: &line,
			glyph: bandKey("", palette[i%len(palette)]).glyph})
	}
	if m := h.Mark; m != nil && m.Y >= lo && m.Y <= hi {
		line := draw.LineStyle{Color: ink, Width: 1, Dashes: []vg.Length{2, 2}}
		p.Add(&axes.Line{XYs: axes.XYs{{X: m.Y}, {X: m.Y, Y: 1.05 * top}}, LineStyle: line})
		f.keys = append(f.keys, key{text: m.Name, line: &line})
	}
	f.note = joinNotes(f.note, beyond, lost)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, 0, 1.05*top
	p.X.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 8, false) }
	p.Y.Tick.Marker = func(lo, hi float64) []axes.Tick { return linearTicks(lo, hi, 6, false) }
	f.draw = p.Draw
	return f, nil
}

// joinNotes adds to a note which values a histogram does not show.
func joinNotes(note string, beyond bool, lost []string) string {
	if beyond {
		note += " The outermost bins also hold what lies beyond."
	}
	for _, l := range lost {
		note += " Not finite, and not drawn: " + l + "."
	}
	return note
}

// span returns the range of the axis, and whether there are values beyond it.
func (h Histogram) span() (lo, hi float64, beyond bool, err error) {
	lo, hi = math.Inf(1), math.Inf(-1)
	least, most := lo, hi
	for _, s := range h.Samples {
		v := s.sorted()
		if len(v) == 0 {
			continue
		}
		cut := int(histogramTail * float64(len(v)))
		lo, hi = min(lo, v[cut]), max(hi, v[len(v)-1-cut])
		least, most = min(least, v[0]), max(most, v[len(v)-1])
	}
	if lo > hi || !finite(hi-lo) {
		return 0, 0, false, ErrEmpty
	}
	beyond = least < lo || most > hi
	if pad := 1e-9 * max(1, math.Abs(lo), math.Abs(hi)); hi-lo < pad { // all the same
		lo, hi = lo-max(0.5, pad), hi+max(0.5, pad)
	}
	return lo, hi, beyond, nil
}

// bins returns the number of bins from lo to hi, such that none of the samples is too small for them: the
// largest width that Freedman and Diaconis (1981) advise for any of them, within bounds.
func (h Histogram) bins(lo, hi float64) int {
	width := 0.0
	for _, s := range h.Samples {
		if v := s.sorted(); len(v) > 0 {
			width = max(width, 2*(stat.Quantile(v, 0.75)-stat.Quantile(v, 0.25))/math.Cbrt(float64(len(v))))
		}
	}
	return int(min(max((hi-lo)/width, fewestBins), mostBins))
}

// sorted returns the finite values in order.
func (s Sample) sorted() []float64 {
	v := slices.DeleteFunc(slices.Clone(s.Values), func(v float64) bool { return !finite(v) })
	slices.Sort(v)
	return v
}

// outline returns the steps of the bins between lo and hi, and how many values have no bin.
func (s Sample) outline(lo, hi float64, bins int) (xys axes.XYs, lost int) {
	count := make([]int, bins)
	for _, v := range s.Values {
		if !finite(v) {
			lost++
			continue
		}
		at := math.Floor((v - lo) / (hi - lo) * float64(bins))
		count[int(min(max(at, 0), float64(bins-1)))]++
	}
	xys = append(xys, axes.XY{X: lo})
	for i, n := range count {
		y := 100 * float64(n) / float64(len(s.Values))
		edge := func(i int) float64 { return lo + (hi-lo)*float64(i)/float64(bins) }
		xys = append(xys, axes.XY{X: edge(i), Y: y}, axes.XY{X: edge(i + 1), Y: y})
	}
	return append(xys, axes.XY{X: hi}), lost
}
