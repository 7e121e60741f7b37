package dataset

import (
	"fmt"
	"math"
	"strings"
)

// Kinds of Preprocessing.Centre.
const (
	CentreMass    = "mass"    // shift the centre of mass to the middle
	CentreMoments = "moments" // and remove slant and size, as the second moments say
)

// Centrings lists the kinds of Preprocessing.Centre, besides the empty one.
func Centrings() []string { return []string{CentreMass, CentreMoments} }

// Preprocessing normalises every image by itself, before Normalization. Contrast and Centre are for images of one
// object on a background that reaches the border. The zero value leaves images as they are.
type Preprocessing struct {
	Contrast bool   // distance from the background, scaled to [0, 1]: see contrast
	Centre   string // empty: as they are
	RMS      bool   // images differ less in brightness: see normaliseRMS
}

// IsZero says whether p leaves images as they are.
func (p Preprocessing) IsZero() bool { return p == Preprocessing{} }

// Check returns an error, one line, unless p is one for samples of a shape.
func (p Preprocessing) Check(s Shape) error {
	switch {
	case p.Centre != "" && p.Centre != CentreMass && p.Centre != CentreMoments:
		return fmt.Errorf("centring %q, expected one of %s", p.Centre, strings.Join(Centrings(), ", "))
	case !p.IsZero() && !s.IsImage():
		return fmt.Errorf("expected images with it, not vectors of %v", s)
	case p.Centre != "" && max(s.Rows, s.Cols) > mostCentred:
		return fmt.Errorf("images of %v, expected at most %d pixels a side with it", s, mostCentred)
	}
	return nil
}

// Preprocessor applies a Preprocessing to images of one shape. Several threads may share it.
type Preprocessor struct {
	Preprocessing
	shape  Shape
	border [][]int32 // Border
}

// For returns what applies p to images of a shape. It panics unless Check passes.
func (p Preprocessing) For(s Shape) *Preprocessor {
	if err := p.Check(s); err != nil {
		panic("dataset: preprocessing: " + err.Error())
	}
	q := &Preprocessor{Preprocessing: p, shape: s}
	if p.Contrast {
		q.border = Border(s.Rows, s.Cols)
	}
	return q
}

// Scratch is how many numbers Apply needs beside the image.
func (p *Preprocessor) Scratch() int {
	return 2*p.shape.Rows*p.shape.Cols + 2*(p.shape.Rows+p.shape.Cols)
}

// Apply preprocesses the levels x of one image, in place. The bits are the same on every machine. It panics if x
// or scratch (Scratch) is too short.
func (p *Preprocessor) Apply(x, scratch []float32) {
	plane := p.shape.Rows * p.shape.Cols
	x, scratch = x[:p.shape.Channels*plane], scratch[:p.Scratch()]
	if p.Contrast {
		for lo := 0; lo < len(x); lo += plane {
			p.contrast(x[lo:lo+plane], scratch)
		}
	}
	if p.Centre != "" {
		p.centre(x, scratch)
	}
	if p.RMS {
		normaliseRMS(x)
	}
}

// Constants of the normalisation of the root mean square, also of exports.
const (
	// RMSFixed is the root mean square that stays as it is.
	RMSFixed = 0.25

	// RMSFloor is the least root mean square that counts, in levels of [0, 1].
	RMSFloor = 1. / 32
)

// normaliseRMS divides an image by the fourth root of its root mean square, up to a factor, so that images differ less
// in brightness. Levels may then be above 1.
func normaliseRMS(x []float32) {
	square := func(v float32) float64 { return float64(float64(v) * float64(v)) }
	var a, b, c, d float64 // chains that do not wait for each other
	rest := x
	for ; len(rest) >= 4; rest = rest[4:] {
		a, b, c, d = a+square(rest[0]), b+square(rest[1]), c+square(rest[2]), d+square(rest[3])
	}
	for _, v := range rest {
		a += square(v)
	}
	rms := math.Sqrt(((a + b) + (c + d)) / float64(len(x)))
	factor := float32(math.Sqrt(math.Sqrt(RMSFixed / max(rms, RMSFloor))))
	for i := range x {
		x[i] = float32(x[i] * factor)
	}
}
