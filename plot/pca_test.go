package plot

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSample(t *testing.T) {
	if got := sample(4, 10); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("4 of at most 10 are %v: want all", got)
	}
	const n, most, classes = 10000, 1000, 10
	rows := sample(n, most)
	if !slices.Equal(rows, sample(n, most)) {
		t.Error("another choice the second time")
	}
	if len(rows) != most || rows[0] < 0 || rows[most-1] >= n {
		t.Fatalf("%d rows from %d to %d", len(rows), rows[0], rows[most-1])
	}
	var of, in [classes]int
	for i, row := range rows {
		if i > 0 && row <= rows[i-1] {
			t.Fatalf("row %d follows %d", row, rows[i-1])
		}
		of[row%classes]++
		in[row*classes/n]++
	}
	// 100 of each class are expected with a standard deviation of 9, whether the
	// classes alternate or follow one another.
	for k := range classes {
		if of[k] < 55 || of[k] > 145 {
			t.Errorf("%d of %d rows belong to class %d when the classes alternate", of[k], most, k)
		}
		if in[k] < 55 || in[k] > 145 {
			t.Errorf("%d of %d rows belong to class %d when the rows are sorted by class", in[k], most, k)
		}
	}
}

// TestAlign checks that a panel whose components are those of another one, turned and mirrored, is drawn like it,
// and that panels of one space have one pair of axes.
func TestAlign(t *testing.T) {
	first := clouds(60, 3, 2)
	for _, mirror := range []float64{1, -1} {
		sin, cos := math.Sincos(2.3)
		second := first
		second.Like, second.Points = true, slices.Clone(first.Points)
		for i := range second.Labels {
			x, y := first.Points[2*i], mirror*first.Points[2*i+1]
			second.Points[2*i], second.Points[2*i+1] = 0.5*(cos*x-sin*y), 0.5*(sin*x+cos*y)
		}
		a, b := first.placed(), second.placed()
		b.align(a)
		for i := range a.at {
			if math.Abs(2*b.at[i].X-a.at[i].X)+math.Abs(2*b.at[i].Y-a.at[i].Y) > 1e-9 {
				t.Fatalf("mirrored by %v: sample %d is at %v, want half of %v", mirror, i, b.at[i], a.at[i])
			}
		}
		if (mirror < 0) != strings.HasPrefix(b.turned, "mirrored") || b.turned == "" {
			t.Errorf("mirrored by %v: turned is %q", mirror, b.turned)
		}
		g, err := PCA{Panels: []Panel{first, second}}.grid()
		if err != nil {
			t.Fatal(err)
		}
		if x, y := g.plots[0], g.plots[1]; x.X.Min != y.X.Min || x.X.Max != y.X.Max || x.Y.Min != y.Y.Min ||
			x.Y.Max != y.Y.Max {
			t.Error("the panels have other axes")
		}
		if alone := first.placed(); alone.turned != "" {
			t.Errorf("the first panel is turned: %q", alone.turned)
		}
	}
}

func TestClassGlyphsDiffer(t *testing.T) {
	type mark struct {
		colour, shape any
	}
	seen := map[mark]int{}
	for k := range 30 {
		g := classGlyph(k, 2)
		m := mark{g.Color, g.Shape}
		if before, there := seen[m]; there {
			t.Errorf("classes %d and %d have the same mark", before, k)
		}
		seen[m] = k
	}
}
