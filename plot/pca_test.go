package plot

import (
	"slices"
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
