package axes

import (
	"math"
	"testing"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

func label() text.Style { return text.Style{Font: Font(9, xfont.WeightNormal), Handler: Text} }

func plotOf(name string, x, y float64) *Plot {
	p := New(label())
	p.Y.Label.Text, p.Y.Label.TextStyle = name, label()
	p.Y.Tick.Marker = Ticks(Tick{Value: y, Label: name})
	p.Add(&Scatter{XYs: XYs{{0, 0}, {x, y}}, GlyphStyle: draw.GlyphStyle{Radius: 5}})
	return p
}

// TestRanges checks that the axes span the data, and something if there are none.
func TestRanges(t *testing.T) {
	nothing := New(label())
	p := New(label())
	p.Add(&Line{XYs: XYs{{1, 2}, {3, -4}}}, &XErrorBars{XYs: XYs{{3, 0}}, Low: []float64{9}, High: []float64{1}})
	one := New(label())
	one.Add(&Line{XYs: XYs{{5, 7}}})
	for _, c := range []struct {
		p    *Plot
		x, y [2]float64
	}{{nothing, [2]float64{-1, 1}, [2]float64{-1, 1}}, {p, [2]float64{-6, 4}, [2]float64{-4, 2}},
		{one, [2]float64{4, 6}, [2]float64{6, 8}}} {
		x, y := c.p.axes()
		if got := [2]float64{x.Min, x.Max}; got != c.x {
			t.Errorf("x from %v, want %v", got, c.x)
		}
		if got := [2]float64{y.Min, y.Max}; got != c.y {
			t.Errorf("y from %v, want %v", got, c.y)
		}
	}
}

// TestRoom checks that a mark at the end of an axis stays on the canvas, to the point.
func TestRoom(t *testing.T) {
	c := draw.New(vgsvg.New(100, 100))
	data := plotOf("", 1, 1).DataCanvas(c)
	if data.Max.X != 95 || data.Max.Y != 95 {
		t.Errorf("axes end at %v, want a radius before the corner", data.Max)
	}
}

// TestAlign checks that all axes of a table are equally long and in line, whatever their labels.
func TestAlign(t *testing.T) {
	c := draw.New(vgsvg.New(400, 300))
	table := [][]*Plot{{plotOf("a", 1, 1), plotOf("a long name", 1e3, 5)}, {plotOf("", 2, 3), nil}}
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: 10, PadY: 10}
	canvases := Align(table, tiles, c)
	size := func(row, col int) vg.Rectangle { return table[row][col].DataCanvas(canvases[row][col]).Rectangle }
	a, b, below := size(0, 0), size(0, 1), size(1, 0)
	near := func(x, y vg.Length) bool { return math.Abs(float64(x-y)) < 1e-9 }
	if !near(a.Size().X, b.Size().X) || !near(a.Size().X, below.Size().X) || !near(a.Size().Y, below.Size().Y) {
		t.Errorf("sizes %v, %v and %v differ", a.Size(), b.Size(), below.Size())
	}
	if !near(a.Min.Y, b.Min.Y) || !near(a.Min.X, below.Min.X) {
		t.Errorf("corners %v, %v and %v are not in line", a.Min, b.Min, below.Min)
	}
}
