package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"image"
	"image/draw"
	"image/png"
	"math"
	"strings"

	"dpnbench/internal/format"
	"dpnbench/internal/stat"
	"dpnbench/plot"
)

// Walk is a block of a page that steps through the ascents of single images: the reader chooses
// an image and a step, and sees the image at that step, the potential φ and the
// responsibilities of the most active components. Without JavaScript the page shows all steps
// side by side, in print the first and the last one.
type Walk struct {
	Rows, Cols int // pixels of each image
	Steps      int // n
	Items      []WalkItem
	// Components names the components of the potential; those beyond the list go by number.
	Components []string
}

// WalkItem is the ascent of one image, at steps 0, 1, ..., n.
type WalkItem struct {
	Name             string // such as "test image 17"
	Label, Predicted string // what the classes are called
	// X holds an image per step, or a single one if steps cannot be shown as images: levels from 0
	// (dark) to 1 (bright), others are clamped, grey or in colour as plot.Image has them.
	X    [][]float32
	Read []string    // the class predicted at each step; nil: unknown
	Phi  []float64   // the potential
	R    [][]float32 // the responsibilities of all k components, 0 to 1
}

// Limits of a walk. The page of twenty digits of 28 x 28 pixels with 30 steps is about
// 200 kB; the largest walk has some megabytes.
const (
	mostWalkItems   = 100
	mostWalkPixels  = 1 << 22 // of all images, counting one per step
	mostSpriteWidth = 1 << 14 // pixels, all steps side by side; browsers draw twice that
	walkBars        = 6       // components shown for an item, the same ones at all steps
)

//go:embed walk.css
var walkCSS string

//go:embed walk.js
var walkJS string

// walkView is what the template shows of a walk.
type walkView struct {
	Walk
	ID    string
	Items []walkItemView
	Bars  []struct{}  // one for each row of the table
	Data  template.JS // a walkData
}

type walkItemView struct {
	Name, Said          string
	PhiFirst, PhiLast   string
	First, Last, Sprite template.URL
	Width, Height       int
	SpriteWidth         int
	Still               bool // a single image
}

// walkData is what the script reads.
type walkData struct {
	Steps int            `json:"steps"`
	Items []walkItemData `json:"items"`
}

type walkItemData struct {
	Name string      `json:"name"`
	Said string      `json:"said"`
	Read []string    `json:"read,omitempty"`
	Phi  []float64   `json:"phi"`
	Top  []string    `json:"top"` // names of the rows of the table
	R    [][]float64 `json:"r"`   // for each step that of each row
}

func (w Walk) view(b *builder) (blockView, error) {
	if err := w.check(); err != nil {
		return blockView{}, fmt.Errorf("walk: %w", err)
	}
	b.walks++
	v := walkView{Walk: w, ID: fmt.Sprintf("walk-%d", b.walks)}
	data := walkData{Steps: w.Steps}
	for i, it := range w.Items {
		images := make([]image.Image, len(it.X))
		for t, x := range it.X {
			images[t] = plot.Pixels(x, w.Rows, w.Cols)
		}
		first, err := dataURI(images[0])
		if err != nil {
			return blockView{}, fmt.Errorf("walk: item %d: %w", i, err)
		}
		last, err := dataURI(images[len(images)-1])
		if err != nil {
			return blockView{}, fmt.Errorf("walk: item %d: %w", i, err)
		}
		sprite, err := dataURI(sideBySide(images))
		if err != nil {
			return blockView{}, fmt.Errorf("walk: item %d: %w", i, err)
		}
		said := fmt.Sprintf("label %s, prediction %s", format.Printable(it.Label), format.Printable(it.Predicted))
		if it.Predicted != it.Label {
			said += " (wrong)"
		}
		name := cmp.Or(strings.TrimSpace(format.Printable(it.Name)), fmt.Sprintf("image %d", i))
		v.Items = append(v.Items, walkItemView{
			Name: name, Said: said, PhiFirst: format.Significant(it.Phi[0]),
			PhiLast: format.Significant(it.Phi[w.Steps]),
			First:   first, Last: last, Sprite: sprite, SpriteWidth: w.Cols * len(images),
			Width: w.Cols, Height: w.Rows, Still: len(images) == 1,
		})
		d := walkItemData{Name: name, Said: said, Read: it.Read, Phi: make([]float64, len(it.Phi))}
		for t, phi := range it.Phi {
			d.Phi[t] = rounded(phi, 6)
		}
		d.Top, d.R = w.top(it.R)
		if n := len(d.Top); n > len(v.Bars) {
			v.Bars = make([]struct{}, n)
		}
		data.Items = append(data.Items, d)
	}
	text, err := json.Marshal(data) // with <, > and & escaped
	if err != nil {
		return blockView{}, fmt.Errorf("walk: %w", err)
	}
	v.Data = template.JS(text)
	return blockView{Walk: &v}, nil
}

// leastBar is the least responsibility that is not printed as 0.000.
const leastBar = 0.0005

// top returns the names of the components with the largest responsibilities over all steps,
// largest first, and their responsibilities at each step. The last entry is the sum of the
// others, unless there are none.
func (w Walk) top(r [][]float32) (names []string, rows [][]float64) {
	k := len(r[0])
	most := make([]float32, k)
	for i := range most {
		for _, step := range r {
			most[i] = max(most[i], step[i])
		}
	}
	order := stat.Order(k, func(i, j int) bool { return most[i] > most[j] })
	shown := 1
	for shown < k && most[order[shown]] >= leastBar && (shown < walkBars-1 || k <= walkBars) {
		shown++
	}
	for _, i := range order[:shown] {
		name := fmt.Sprint("component ", i)
		if i < len(w.Components) {
			name = format.Printable(w.Components[i])
		}
		names = append(names, name)
	}
	if shown < k {
		names = append(names, fmt.Sprintf("the other %d", k-shown))
	}
	for _, step := range r {
		var row []float64
		rest := 0.0
		for at, i := range order {
			if at < shown {
				row = append(row, rounded(float64(step[i]), 4))
			} else {
				rest += float64(step[i])
			}
		}
		if shown < k {
			row = append(row, rounded(min(rest, 1), 4))
		}
		rows = append(rows, row)
	}
	return names, rows
}

func (w Walk) check() error {
	if err := plot.CheckSides(w.Rows, w.Cols); err != nil {
		return err
	}
	switch {
	case len(w.Items) == 0:
		return plot.ErrEmpty
	case len(w.Items) > mostWalkItems:
		return fmt.Errorf("%d items: want at most %d", len(w.Items), mostWalkItems)
	case w.Steps < 0 || (w.Steps+1) > mostSpriteWidth/w.Cols:
		return fmt.Errorf("%d steps of %d columns: want 0 to %d steps", w.Steps, w.Cols, mostSpriteWidth/w.Cols-1)
	case len(w.Items)*(w.Steps+1)*w.Rows*w.Cols > mostWalkPixels:
		return fmt.Errorf("%d items of %d steps of %d x %d pixels: want at most %s pixels in all",
			len(w.Items), w.Steps, w.Rows, w.Cols, format.Thousands(mostWalkPixels))
	}
	for i, it := range w.Items {
		if len(it.X) != 1 && len(it.X) != w.Steps+1 || len(it.Phi) != w.Steps+1 || len(it.R) != w.Steps+1 {
			return fmt.Errorf("item %d has %d images, %d phi and %d rows of r: want %d of each",
				i, len(it.X), len(it.Phi), len(it.R), w.Steps+1)
		}
		if it.Read != nil && len(it.Read) != w.Steps+1 {
			return fmt.Errorf("item %d has %d predicted classes: want %d or none", i, len(it.Read), w.Steps+1)
		}
		for t, x := range it.X {
			if err := plot.CheckPixels(x, w.Rows, w.Cols); err != nil {
				return fmt.Errorf("item %d: step %d: %w", i, t, err)
			}
		}
		for t := range it.Phi {
			if math.IsNaN(it.Phi[t]) || math.IsInf(it.Phi[t], 0) {
				return fmt.Errorf("item %d: step %d: phi is %v", i, t, it.Phi[t])
			}
			if len(it.R[t]) != len(it.R[0]) || len(it.R[t]) == 0 {
				return fmt.Errorf("item %d: step %d has %d responsibilities, step 0 has %d: want the same number, at "+
					"least 1",
					i, t, len(it.R[t]), len(it.R[0]))
			}
			for j, r := range it.R[t] {
				if !(r >= 0 && r <= 1.001) { // rounding may exceed 1
					return fmt.Errorf("item %d: step %d: r of component %d is %v", i, t, j, r)
				}
			}
		}
	}
	return nil
}

// sideBySide joins images of one size and kind in a row.
func sideBySide(images []image.Image) image.Image {
	size := images[0].Bounds().Size()
	frame := image.Rect(0, 0, size.X*len(images), size.Y)
	var out draw.Image = image.NewRGBA(frame)
	if _, ok := images[0].(*image.Gray); ok { // gives a smaller file
		out = image.NewGray(frame)
	}
	for t, p := range images {
		draw.Draw(out, image.Rect(t*size.X, 0, (t+1)*size.X, size.Y), p, image.Point{}, draw.Src)
	}
	return out
}

// dataURI returns the address of a PNG that holds img.
func dataURI(img image.Image) (template.URL, error) {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestCompression}
	if err := e.Encode(&b, img); err != nil {
		return "", err
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

// rounded returns v with some significant digits, to keep the page small.
func rounded(v float64, digits int) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, float64(digits-1)-math.Floor(math.Log10(math.Abs(v))))
	if r := math.Round(v*scale) / scale; !math.IsNaN(r) && !math.IsInf(r, 0) {
		return r
	}
	return v
}
