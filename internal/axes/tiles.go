package axes

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Align returns a canvas for each plot of a table (nil: an empty place), such that the axes of all
// are equally long, and in line.
func Align(plots [][]*Plot, t draw.Tiles, c draw.Canvas) [][]draw.Canvas {
	tiles := make([][]draw.Canvas, t.Rows)
	// The largest room beside the axes, left and right of each column, below and above each row.
	left, right := make([]vg.Length, t.Cols), make([]vg.Length, t.Cols)
	below, above := make([]vg.Length, t.Rows), make([]vg.Length, t.Rows)
	for row := range plots {
		tiles[row] = make([]draw.Canvas, t.Cols)
		for col, p := range plots[row] {
			tile := t.At(c, col, row)
			tiles[row][col] = tile
			if p != nil {
				data := p.DataCanvas(tile)
				left[col] = max(left[col], data.Min.X-tile.Min.X)
				right[col] = max(right[col], tile.Max.X-data.Max.X)
				below[row] = max(below[row], data.Min.Y-tile.Min.Y)
				above[row] = max(above[row], tile.Max.Y-data.Max.Y)
			}
		}
	}
	width := t.PadX*vg.Length(t.Cols-1) + t.PadLeft + t.PadRight
	for col := range t.Cols {
		width += left[col] + right[col]
	}
	height := t.PadY*vg.Length(t.Rows-1) + t.PadTop + t.PadBottom
	for row := range t.Rows {
		height += below[row] + above[row]
	}
	width = (c.Max.X - c.Min.X - width) / vg.Length(t.Cols)
	height = (c.Max.Y - c.Min.Y - height) / vg.Length(t.Rows)

	up := make([]vg.Length, t.Cols)
	for row := t.Rows - 1; row >= 0; row-- {
		aside := vg.Length(0)
		for col, p := range plots[row] {
			tile := tiles[row][col]
			var size vg.Point
			if p == nil {
				size.X = tile.Max.X - tile.Min.X - (left[col] + right[col])
				size.Y = tile.Max.Y - tile.Min.Y - (below[row] + above[row])
			} else {
				data := p.DataCanvas(tile)
				tile = draw.Crop(tile,
					left[col]-(data.Min.X-tile.Min.X), tile.Max.X-data.Max.X-right[col],
					below[row]-(data.Min.Y-tile.Min.Y), tile.Max.Y-data.Max.Y-above[row])
				size = p.DataCanvas(tile).Rectangle.Size()
			}
			tiles[row][col] = draw.Crop(tile, aside, aside+width-size.X, up[col], up[col]+height-size.Y)
			aside += width - size.X
			up[col] += height - size.Y
		}
	}
	return tiles
}
