package report

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"dpnbench/internal/webtest"
)

// TestScrollShadow looks at a table that is too wide for a phone: there is a shadow at its right edge while there is
// more beyond it, not at its end, and none in a table that fits. It needs no JavaScript.
func TestScrollShadow(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation")
	}
	b := webtest.Start(t)
	table := func(columns int) Table {
		x := Table{Rows: []Row{{}}}
		for range columns {
			x.Columns = append(x.Columns, Column{"95% interval", true})
			x.Rows[0].Cells = append(x.Rows[0].Cells, "")
		}
		return x
	}
	page := func(columns int) []byte {
		return []byte(written(t, Page{Title: "tables", Sections: []Section{{Title: "table",
			Blocks: []Block{table(columns)}}}}))
	}
	// contrast is between the right edge of the last row and its middle.
	contrast := func() int {
		t.Helper()
		shot, err := png.Decode(bytes.NewReader(b.Shot(".scroll")))
		if err != nil {
			t.Fatal(err)
		}
		at := func(x int) int {
			y := shot.Bounds().Max.Y - 5
			return int(color.GrayModel.Convert(shot.At(x, y)).(color.Gray).Y)
		}
		size := shot.Bounds().Size()
		d := at(size.X-4) - at(size.X/2)
		return max(d, -d)
	}
	for _, scheme := range []string{"light", "dark"} {
		b.Scheme(scheme)
		b.Open(page(9), 390, 800)
		if d := contrast(); d < 30 {
			t.Errorf("%s: the edge of a wide table differs by %d of 255 from its middle", scheme, d)
		}
		b.Evaluate("document.querySelector('.scroll').scrollLeft = 1e6", nil)
		if d := contrast(); d != 0 {
			t.Errorf("%s: the end of a wide table has a shadow of %d", scheme, d)
		}
		b.Open(page(1), 390, 800)
		if d := contrast(); d != 0 {
			t.Errorf("%s: a table that fits has a shadow of %d", scheme, d)
		}
	}
	b.CheckQuiet()
}

// TestTablesBeside holds the tables of uncertainty, with four to ten columns of the names that they have, to the width
// of a desktop: where they do not fit side by side, they are one below the other.
func TestTablesBeside(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation")
	}
	b := webtest.Start(t)
	names := []string{"score", "uniform", "inverted", "rotated", "misclassified", "fashion-mnist", "mnist", "digits",
		"cifar-10-batches", "medical-images"}
	for n := 4; n <= len(names); n++ {
		x := Table{Caption: "AUROC", Rows: []Row{{Cells: []string{"displacement = |x_n − x_0|"}}}}
		for i, name := range names[:n] {
			x.Columns = append(x.Columns, Column{name, i > 0})
			if i > 0 {
				x.Rows[0].Cells = append(x.Rows[0].Cells, "100.0%")
			}
		}
		b.Open([]byte(written(t, Page{Title: "tables", Sections: []Section{{Title: "tables",
			Blocks: Beside([]Block{x}, []Block{x})}}})), 1280, 800)
		var wide []string
		b.Evaluate(`[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)
			.map(e => e.scrollWidth + " of " + e.clientWidth)`, &wide)
		if len(wide) > 0 {
			t.Errorf("%d columns: tables are too wide, %q pixels", n, wide)
		}
		var tops []float64
		b.Evaluate(`[...document.querySelectorAll('.scroll')].map(e => e.getBoundingClientRect().top)`, &tops)
		if side := tops[0] == tops[1]; side != (n < 6) {
			t.Errorf("%d columns: side by side %t", n, side)
		}
	}
	b.CheckQuiet()
}
