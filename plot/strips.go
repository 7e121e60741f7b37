package plot

import (
	"fmt"
	"strconv"

	"dpnbench/internal/format"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Strips is a figure of trajectories of images: a row for each, with its label before
// and its prediction after it, and a column for each step shown.
type Strips struct {
	Title, Note string
	Rows, Cols  int // pixels of each image
	Scale       Scale
	Strips      []Strip
}

// Strip is the trajectory of one image.
type Strip struct {
	Name             string // below the label; may be empty
	Label, Predicted string // what the classes are called
	// X are the images of steps 0, 1, ..., n, as [Image] has them.
	X [][]float32
}

// squarish is the largest height of the images of a figure over its width, if images are square: a few steps of many
// images would be a tower.
const squarish = 1.2

// mostColumns is the largest number of steps in a figure of strips.
const mostColumns = 12

func (a Strips) heading() string { return a.Title }

func (a Strips) layout(width vg.Length) (drawing, error) {
	f := drawing{width: width, note: a.Note}
	if err := a.check(); err != nil {
		return f, err
	}
	head := style(tickSize, xfont.WeightNormal)
	right := head.Width("prediction") + gap // of the images, as left
	left := head.Width("label") + gap
	class := style(titleSize, xfont.WeightBold)
	most := width / 6 // of a name, which is then cut off
	for _, s := range a.Strips {
		label := max(head.Width(format.Printable(s.Name)), class.Width(format.Printable(s.Label)))
		left = max(left, min(label+gap, most))
		right = max(right, min(class.Width(format.Printable(s.Predicted))+gap, most))
	}
	room := width - 2*margin - left - right
	steps := chosenSteps(len(a.Strips[0].X)-1, min(mostColumns, int(room/(0.9*vg.Centimeter))))
	cell := min(room/vg.Length(len(steps)), mostCell, squarish*width/vg.Length(len(a.Strips)))
	side := cell - 2
	tall := side * vg.Length(a.Rows) / vg.Length(a.Cols)
	row := tall + gap
	head.XAlign = text.XCenter
	line := head.FontExtents().Height
	f.body = line + gap + vg.Length(len(a.Strips))*row
	barred := a.Scale.shared() && len(a.Strips[0].X[0]) == a.Rows*a.Cols // colours have no bar
	if barred {
		f.body += barThickness + 3.5*gap
	}
	f.draw = func(c draw.Canvas) {
		edge, reach := left-gap/2, right-gap/2 // of the texts before and after the images
		left := c.Min.X + left
		right := left + vg.Length(len(steps))*cell + gap/2
		head := head
		for i, s := range steps {
			t := strconv.Itoa(s)
			if i == 0 {
				t = "step " + t
			}
			c.FillText(head, vg.Point{X: left + vg.Length(i)*cell + side/2, Y: c.Max.Y}, t)
		}
		head.XAlign = text.XLeft
		c.FillText(head, vg.Point{X: c.Min.X, Y: c.Max.Y}, "label")
		c.FillText(head, vg.Point{X: right, Y: c.Max.Y}, "prediction")
		for i, s := range a.Strips {
			top := c.Max.Y - line - gap/2 - vg.Length(i)*row
			scale := a.Scale
			if !scale.shared() {
				scale.Low, scale.High = extent(s.X...)
			}
			for j, step := range steps {
				x := left + vg.Length(j)*cell
				at := vg.Rectangle{Min: vg.Point{X: x, Y: top - tall}, Max: vg.Point{X: x + side, Y: top}}
				drawImage(c, at, mosaic{rows: a.Rows, cols: a.Cols, tones: greys, scale: scale}.image(s.X[step]))
			}
			class := class
			class.YAlign = text.YCenter
			small := style(tickSize, xfont.WeightNormal)
			small.Color, small.YAlign = grey, text.YCenter
			middle := top - tall/2
			below := vg.Length(0)
			if s.Name != "" {
				below = line / 2
				for _, t := range fit(small, s.Name, edge, 1) {
					c.FillText(small, vg.Point{X: c.Min.X, Y: middle - below}, t)
				}
			}
			for _, t := range fit(class, s.Label, edge, 1) {
				c.FillText(class, vg.Point{X: c.Min.X, Y: middle + below}, t)
			}
			below = 0
			if s.Predicted != s.Label {
				below, class.Color = line/2, vermillion
				small.Color = vermillion
				c.FillText(small, vg.Point{X: right, Y: middle - below}, "wrong")
			}
			for _, t := range fit(class, s.Predicted, reach, 1) {
				c.FillText(class, vg.Point{X: right, Y: middle + below}, t)
			}
		}
		if barred {
			drawBar(c, vg.Point{X: left, Y: c.Min.Y + 2.5*gap}, a.Scale, greys, false)
		}
	}
	return f, nil
}

func (a Strips) check() error {
	if err := CheckSides(a.Rows, a.Cols); err != nil {
		return err
	}
	if len(a.Strips) == 0 {
		return ErrEmpty
	}
	if most := maxImages / mostColumns; len(a.Strips) > most {
		return fmt.Errorf("%d strips: want at most %d", len(a.Strips), most)
	}
	for i, s := range a.Strips {
		if len(s.X) != len(a.Strips[0].X) || len(s.X) == 0 {
			return fmt.Errorf("strip %d has %d images, the first one %d: want as many, 1 at least", i, len(s.X),
				len(a.Strips[0].X))
		}
		for step, x := range s.X {
			if err := CheckPixels(x, a.Rows, a.Cols); err != nil {
				return fmt.Errorf("strip %d: step %d: %w", i, step, err)
			}
		}
	}
	return nil
}

// chosenSteps returns at most most of the steps 0, 1, ..., n, evenly spaced, with both ends.
func chosenSteps(n, most int) []int {
	most = min(max(most, 2), n+1)
	if n == 0 {
		return []int{0}
	}
	steps := make([]int, most)
	for i := range steps {
		steps[i] = (2*i*n + most - 1) / (2 * (most - 1)) // rounded
	}
	return steps
}
