package dataset

import (
	"fmt"
	"strings"
)

// Kinds of Preprocessing.Centre.
const (
	CentreMass    = "mass"    // shift the centre of mass to the middle
	CentreMoments = "moments" // and remove slant and size, as the second moments say
)

// Centrings lists the kinds of Preprocessing.Centre, besides the empty one.
func Centrings() []string { return []string{CentreMass, CentreMoments} }

// Preprocessing normalises every image by itself, before Normalization. It is for images of one object on
// a background that reaches the border. The zero value leaves images as they are.
type Preprocessing struct {
	Contrast bool   // distance from the background, scaled to [0, 1]: see contrast
	Centre   string // empty: as they are
}

// IsZero says whether p leaves images as they are.
func (p Preprocessing) IsZero() bool { return !p.Contrast && p.Centre == "" }

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
}
