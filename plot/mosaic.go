package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"dpnbench/internal/format"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Image is one entry of a [Gallery] or of [Maps].
type Image struct {
	Caption string
	// X holds an image for each series, row by row: Rows x Cols values of a grey one or a map; three times as many of a
	// coloured one, those of red, then green, then blue. Without X it is an empty place, but
	// for the first of a row.
	X [][]float32
}

// Scale gives the darkest and the brightest value of images. Unless Low < High, every image (of
// [Strips], every strip) has its own scale, from its least to its largest value. Otherwise
// values beyond the ends are clamped, and a bar shows the scale.
type Scale struct {
	Low, High float64
	Unit      string // name of the values, beside the bar
}

// Gallery is a figure of images in rows, with a caption below each: learned centres, or images before
// and after training.
type Gallery struct {
	Title, Note string
	Rows, Cols  int // pixels of each image
	Scale       Scale
	// Series names the images of an entry, one below the other; a single one needs no name.
	Series []string
	Images []Image
	PerRow int      // entries in a row; 0: what fits
	Groups []string // names of the rows of PerRow entries; nil: none
}

// Maps is a figure of heat maps in rows, with a caption below each, such as the variance of each
// pixel. The colours are viridis, which gets steadily brighter and is suitable for the common
// forms of colour blindness.
type Maps struct {
	Title, Note string
	Rows, Cols  int // pixels of each map
	// Scale of all maps; by default from the least value of all to one that few pixels exceed, so that these few
	// do not darken the rest.
	Scale Scale
	// Log makes the scale logarithmic. Values without a logarithm are drawn as the least.
	Log    bool
	Images []Image // one map each
	PerRow int     // maps in a row; 0: what fits
}

// Limits of the images in a figure: more would make the file too large for a page.
const (
	maxSide   = 256 // pixels
	maxImages = 400
)

func (g Gallery) heading() string { return g.Title }

func (g Gallery) layout(width vg.Length) (drawing, error) {
	series := g.Series
	if len(series) == 0 {
		series = []string{""}
	}
	m := mosaic{rows: g.Rows, cols: g.Cols, series: series, images: g.Images, perRow: g.PerRow, groups: g.Groups,
		tones: greys, scale: g.Scale}
	return m.layout(width, g.Note, "Each image has a scale of its own.")
}

func (a Maps) heading() string { return a.Title }

func (a Maps) layout(width vg.Length) (drawing, error) {
	m := mosaic{rows: a.Rows, cols: a.Cols, series: []string{""}, images: a.Images, perRow: a.PerRow, maps: true,
		tones: viridis, scale: a.Scale, log: a.Log}
	note := a.Note
	if !m.scale.shared() {
		lo, hi, beyond := a.span()
		if lo > hi {
			return drawing{}, ErrEmpty
		}
		if lo == hi { // all values are equal
			hi = lo + max(math.Abs(lo)/100, 1e-6)
		}
		m.scale.Low, m.scale.High = lo, hi
		if beyond > 0 {
			note = strings.TrimSpace(fmt.Sprintf("%s The scale ends where %s of all pixels are brighter.", note,
				format.Percent(beyond, 1)))
		}
	}
	if a.Log && m.scale.Low <= 0 {
		return drawing{}, fmt.Errorf("a logarithmic scale from %v", m.scale.Low)
	}
	return m.layout(width, note, "")
}

// mapTail is the share of the pixels of all maps that the scale may leave out at its upper end.
const mapTail = 0.01

// span returns the scale of all maps, and the share of the pixels beyond its end.
func (a Maps) span() (lo, hi, beyond float64) {
	var all []float64
	for _, p := range a.Images {
		for _, x := range p.X {
			for _, v := range x {
				if v := float64(v); finite(v) && (!a.Log || v > 0) {
					all = append(all, v)
				}
			}
		}
	}
	if len(all) == 0 {
		return 1, 0, 0
	}
	slices.Sort(all)
	lo, hi = all[0], all[len(all)-1-int(mapTail*float64(len(all)))]
	if !(lo < hi) || hi-lo > 0.5*(all[len(all)-1]-lo) { // nothing would become brighter, or all is dark
		return lo, all[len(all)-1], 0
	}
	above, _ := slices.BinarySearch(all, math.Nextafter(hi, math.Inf(1)))
	return lo, hi, float64(len(all)-above) / float64(len(all))
}

func (s Scale) shared() bool { return s.Low < s.High && finite(s.Low) && finite(s.High) }

// mosaic is images in rows, with captions and the bar of their scale.
type mosaic struct {
	rows, cols int
	series     []string
	images     []Image
	perRow     int
	groups     []string
	maps       bool // of one value a pixel, not colours
	tones      color.Palette
	scale      Scale
	log        bool
}

const (
	barLength    = 5 * vg.Centimeter
	barThickness = vg.Length(8)
	leastCell    = 1.5 * vg.Centimeter
	mostCell     = 2.8 * vg.Centimeter
	cellGap      = vg.Length(5)
)

func (m mosaic) layout(width vg.Length, note, own string) (drawing, error) {
	f := drawing{width: width, note: note}
	if err := m.check(); err != nil {
		return f, err
	}
	if !m.scale.shared() && own != "" {
		if f.note != "" {
			f.note += " "
		}
		f.note += own
	}
	name := style(tickSize, xfont.WeightNormal)
	name.YAlign = text.YCenter
	var names vg.Length
	for _, s := range slices.Concat(m.series, m.groups) {
		if s != "" {
			names = max(names, name.Width(format.Printable(s))+gap)
		}
	}
	names = min(names, width/4)
	room := width - 2*margin - names + cellGap
	columns := m.perRow
	if columns <= 0 {
		columns = max(1, int(room/(leastCell+cellGap)))
	}
	columns = min(columns, len(m.images))
	blocks := (len(m.images) + columns - 1) / columns
	if m.perRow <= 0 { // rows of equal length
		columns = (len(m.images) + blocks - 1) / blocks
	}
	cell := min(room/vg.Length(columns)-cellGap, mostCell)
	tall := cell * vg.Length(m.rows) / vg.Length(m.cols)

	caption := style(tickSize, xfont.WeightNormal)
	caption.XAlign = text.XCenter
	captions := make([][]string, len(m.images))
	most := 0
	for i, p := range m.images {
		captions[i] = fit(caption, p.Caption, cell, 3)
		most = max(most, len(captions[i]))
	}
	line := caption.FontExtents().Height
	block := vg.Length(len(m.series))*(tall+2) + vg.Length(most)*line + 1.5*gap
	f.body = vg.Length(blocks) * block
	barred := m.scale.shared() && len(m.images[0].X[0]) == m.rows*m.cols // colours have no bar
	if barred {
		f.body += barThickness + 3.5*gap
	}
	f.draw = func(c draw.Canvas) {
		for i, p := range m.images {
			left := c.Min.X + names + vg.Length(i%columns)*(cell+cellGap)
			top := c.Max.Y - vg.Length(i/columns)*block
			for s, x := range p.X {
				at := vg.Rectangle{Min: vg.Point{X: left, Y: top - tall}, Max: vg.Point{X: left + cell, Y: top}}
				drawImage(c, at, m.image(x))
				if i%columns == 0 {
					for _, t := range fit(name, m.rowName(s, i/columns), names-gap/2, 1) {
						c.FillText(name, vg.Point{X: c.Min.X, Y: top - tall/2 + 1}, t)
					}
				}
				top -= tall + 2
			}
			for l, t := range captions[i] {
				c.FillText(caption, vg.Point{X: left + cell/2, Y: top - vg.Length(l)*line - 1}, t)
			}
		}
		if barred {
			drawBar(c, vg.Point{X: c.Min.X + names, Y: c.Min.Y + 2.5*gap}, m.scale, m.tones, m.log)
		}
	}
	return f, nil
}

// rowName names the images of a series in a row.
func (m mosaic) rowName(series, row int) string {
	if row < len(m.groups) {
		return m.groups[row]
	}
	return m.series[series]
}

func (m mosaic) check() error {
	if err := CheckSides(m.rows, m.cols); err != nil {
		return err
	}
	if len(m.images) == 0 {
		return ErrEmpty
	}
	if n := len(m.images) * len(m.series); n > maxImages {
		return fmt.Errorf("%d images: want at most %d", n, maxImages)
	}
	for i, p := range m.images {
		if p.X == nil && i > 0 {
			continue
		}
		if len(p.X) != len(m.series) {
			return fmt.Errorf("entry %d has %d images: want %d", i, len(p.X), len(m.series))
		}
		for _, x := range p.X {
			if err := CheckPixels(x, m.rows, m.cols); err != nil {
				return fmt.Errorf("entry %d: %w", i, err)
			}
			if m.maps && len(x) != m.rows*m.cols {
				return fmt.Errorf("entry %d: a map of three colours", i)
			}
		}
	}
	return nil
}

// CheckSides returns an error unless rows and cols can be the sides of an image in a figure.
func CheckSides(rows, cols int) error {
	if rows < 1 || cols < 1 || rows > maxSide || cols > maxSide {
		return fmt.Errorf("images of %d x %d pixels: want 1 to %d each way", rows, cols, maxSide)
	}
	return nil
}

// CheckPixels returns an error unless x holds rows x cols finite values, or three times as many.
func CheckPixels(x []float32, rows, cols int) error {
	if n := rows * cols; len(x) != n && len(x) != 3*n {
		return fmt.Errorf("%d values for an image of %d x %d", len(x), rows, cols)
	}
	for j, v := range x {
		if !finite(float64(v)) {
			return fmt.Errorf("value %d is %v", j, v)
		}
	}
	return nil
}

func (m mosaic) image(x []float32) image.Image {
	s := m.scale
	if !s.shared() {
		s.Low, s.High = extent(x)
	}
	if len(x) != m.rows*m.cols {
		return coloured(x, m.rows, m.cols, s)
	}
	return toned(x, m.rows, m.cols, s, m.log, m.tones)
}

// extent returns the least and the largest finite value of all rows.
func extent[F float32 | float64](rows ...[]F) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range rows {
		for _, v := range x {
			if v := float64(v); finite(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	return lo, hi
}

// toned returns an image of the values, s.Low in the first tone and s.High in the last.
func toned(x []float32, rows, cols int, s Scale, log bool, tones color.Palette) image.Image {
	frame := image.Rect(0, 0, cols, rows)
	img := image.NewPaletted(frame, tones)
	for j, v := range x {
		img.Pix[j] = tone(float64(v), s.Low, s.High, log)
	}
	if &tones[0] == &greys[0] { // gives a smaller file
		return &image.Gray{Pix: img.Pix, Stride: img.Stride, Rect: frame}
	}
	return img
}

// tone returns the place of v between lo and hi, 0 to 255.
func tone(v, lo, hi float64, log bool) uint8 {
	if log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	share := (v - lo) / (hi - lo)
	if !(share > 0) { // also if lo is hi, or a logarithm does not exist
		return 0
	}
	return uint8(min(float64(255*share)+0.5, 255))
}

// coloured returns an image of the values of red, green and blue, s.Low dark and s.High bright.
func coloured(x []float32, rows, cols int, s Scale) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, cols, rows))
	plane := rows * cols
	for j := range plane {
		for c := range 3 {
			img.Pix[4*j+c] = tone(float64(x[c*plane+j]), s.Low, s.High, false)
		}
		img.Pix[4*j+3] = 0xff
	}
	return img
}

// Pixels returns an image of values from 0 (dark) to 1 (bright); others are clamped. x is as [Image] has it.
func Pixels(x []float32, rows, cols int) image.Image {
	return mosaic{rows: rows, cols: cols, tones: greys, scale: Scale{High: 1}}.image(x)
}

// greys run from black to white.
var greys = func() (p color.Palette) {
	for v := range 256 {
		p = append(p, color.Gray{Y: uint8(v)})
	}
	return p
}()

// viridis is the colour map of that name (Smith and van der Walt, 2015), linear
// between ten of its colours.
var viridis = func() (p color.Palette) {
	anchors := []uint32{0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b,
		0xfde725}
	for v := range 256 {
		at := v * (len(anchors) - 1)
		i, part := at/255, at%255
		a, b := anchors[i], anchors[min(i+1, len(anchors)-1)]
		mix := func(shift int) uint8 {
			return uint8((int(a>>shift&0xff)*(255-part) + int(b>>shift&0xff)*part + 127) / 255)
		}
		p = append(p, color.NRGBA{R: mix(16), G: mix(8), B: mix(0), A: 0xff})
	}
	return p
}()

// drawBar draws the bar of a scale from its lower left corner: the values below it, the
// unit beside it.
func drawBar(c draw.Canvas, at vg.Point, s Scale, tones color.Palette, log bool) {
	const cells = 256
	x := make([]float32, cells)
	for j := range x {
		x[j] = float32(j)
	}
	ramp := toned(x, 1, cells, Scale{Low: 0, High: cells - 1}, false, tones)
	r := vg.Rectangle{Min: at, Max: vg.Point{X: at.X + barLength, Y: at.Y + barThickness}}
	drawImage(c, r, ramp)
	ticks := linearTicks(s.Low, s.High, 4, false)
	place := func(v float64) float64 { return (v - s.Low) / (s.High - s.Low) }
	if log {
		ticks = logTicks(s.Low, s.High)
		place = func(v float64) float64 { return math.Log(v/s.Low) / math.Log(s.High/s.Low) }
	}
	label := style(tickSize, xfont.WeightNormal)
	label.XAlign = text.XCenter
	last := vg.Length(math.Inf(-1))
	for _, t := range ticks {
		if t.Label == "" {
			continue
		}
		x := r.Min.X + vg.Length(place(t.Value))*barLength
		half := label.Width(t.Label) / 2
		at := max(x, c.Min.X+half)
		if at-half < last {
			continue
		}
		last = at + half + gap/2
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.5}, x, r.Min.Y, x, r.Min.Y-2)
		c.FillText(label, vg.Point{X: at, Y: r.Min.Y - 3}, t.Label)
	}
	unit := style(tickSize, xfont.WeightNormal)
	unit.YAlign = text.YCenter
	for _, t := range fit(unit, s.Unit, c.Max.X-r.Max.X-2*gap, 1) {
		c.FillText(unit, vg.Point{X: r.Max.X + 1.5*gap, Y: (r.Min.Y+r.Max.Y)/2 + 1}, t)
	}
}

// drawImage draws img with sharp pixels and a thin frame.
func drawImage(c draw.Canvas, at vg.Rectangle, img image.Image) {
	c.DrawImage(at, img)
	c.StrokeLines(draw.LineStyle{Color: faint, Width: 0.4}, []vg.Point{at.Min, {X: at.Max.X, Y: at.Min.Y}, at.Max,
		{X: at.Min.X, Y: at.Max.Y}, at.Min})
}

// fit wraps s into at most most lines no wider than width; longer text ends in an ellipsis.
func fit(sty text.Style, s string, width vg.Length, most int) []string {
	lines := wrap(sty, s, width)
	if len(lines) > most {
		lines = append(lines[:most-1], strings.Join(lines[most-1:], " "))
	}
	for i, line := range lines {
		if sty.Width(line) <= width {
			continue
		}
		runes := []rune(line)
		for len(runes) > 0 && sty.Width(string(runes)+"…") > width {
			runes = runes[:len(runes)-1]
		}
		lines[i] = string(runes) + "…"
	}
	return lines
}
