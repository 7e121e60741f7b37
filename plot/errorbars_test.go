package plot

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// An interval that does not hold the value measured is drawn where it lies: here one decade
// of an axis of more than three.
func TestIntervalOffTheValue(t *testing.T) {
	lengths, _ := barsOf(t, Layers{Names: []string{"a", "b"}, D: []float64{1, 1},
		Intervals: []Interval{{100, 1000}, {}}})
	if len(lengths) != 1 || lengths[0] < 20 || !(lengths[0] <= float64(pageWidth)*10/16/3) {
		t.Errorf("bars of the lengths %v", lengths)
	}
}

// An interval without ends goes right across the figure, one with a single end further than
// any value, and the legend says so.
func TestOpenIntervals(t *testing.T) {
	inf := math.Inf(1)
	points := []Point{{X: 0, Y: 1, Low: 0, High: inf}, {X: 1, Y: 10, Low: 5, High: inf},
		{X: 2, Y: 10, Low: 5, High: 20}}
	for _, f := range []Figure{
		Layers{Names: []string{"a", "b", "c"}, D: []float64{1, 10, 10},
			Intervals: []Interval{{0, inf}, {5, inf}, {5, 20}}},
		Lines{LinearX: true, LogY: true, Series: []Series{{Points: points}}},
	} {
		lengths, svg := barsOf(t, f)
		if !strings.Contains(svg, "interval not bounded") {
			t.Errorf("%T: the legend has no entry for arrows", f)
		}
		// The last ones are in the figure; those before them in its legend.
		if n := len(lengths); n < 3 || !(lengths[n-3] > 2*lengths[n-2] && lengths[n-2] > lengths[n-1]) {
			t.Errorf("%T: bars of the lengths %v", f, lengths)
		}
	}
	if _, svg := barsOf(t, Layers{Names: []string{"a"}, D: []float64{1}, Intervals: []Interval{{1, 2}},
		Bars: "what bars are"}); !strings.Contains(svg, "what bars are") || strings.Contains(svg, "not bounded") {
		t.Error("the legend does not say what bars are, or speaks of arrows that are not there")
	}
}

// barsOf returns the lengths of all upright lines of the first colour, and the SVG of f.
func barsOf(t *testing.T, f Figure) (lengths []float64, svg string) {
	b, err := titled(f)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`<path d="M([-\d.]+),([-\d.]+)L([-\d.]+),([-\d.]+)" style="[^"]*#0072B2`)
	for _, m := range line.FindAllStringSubmatch(string(b), -1) {
		var v [4]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(m[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		if v[0] == v[2] {
			lengths = append(lengths, math.Abs(v[3]-v[1]))
		}
	}
	return lengths, string(b)
}
