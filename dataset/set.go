package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Set is one split of a data set: samples of one shape, and their labels.
type Set struct {
	Shape

	// Pixels holds the levels of images, Len() * Shape.Len() numbers from 0 to 255, image after
	// image; of each, the channels one after the other (as in PyTorch and CIFAR), row-major. It is
	// nil for vectors, and in a set that Pick returned: use Image.
	Pixels []byte

	// Values holds the features of vectors, finite numbers, vector after vector. It is nil for
	// images, and in a set that Pick returned: use Vector.
	Values []float32

	Labels []uint16 // the class of each sample; nil: not labelled

	// Of a set that Pick returned: sample i is sample at[i] of from, which Pick did not return.
	from *Set
	at   []int32
}

// Len returns the number of samples; 0 of a nil set.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	switch d := s.Shape.Len(); {
	case s.from != nil:
		return len(s.at)
	case d <= 0:
		return 0
	case s.IsImage():
		return len(s.Pixels) / d
	default:
		return len(s.Values) / d
	}
}

// Labelled says whether the set has labels.
func (s *Set) Labelled() bool { return s.Labels != nil }

// errNoSet is about a set that is not there, such as the test samples of a data set without them.
var errNoSet = errors.New("no samples: the set is nil")

// Check returns an error, one line, unless the set is not nil, the shape is one, the samples have it,
// their numbers are finite, and there is either a label for each sample or none.
func (s *Set) Check() error {
	if s == nil {
		return errNoSet
	}
	if err := s.Shape.check(); err != nil {
		return err
	}
	own := s
	if s.from != nil {
		own = s.from
	}
	d := s.Shape.Len()
	if own.IsImage() && (len(own.Pixels)%d != 0 || own.Values != nil) {
		return fmt.Errorf("%d pixels and %d values, expected a multiple of the %d pixels of an image (%v)",
			len(own.Pixels), len(own.Values), d, s.Shape)
	}
	if !own.IsImage() && (len(own.Values)%d != 0 || own.Pixels != nil) {
		return fmt.Errorf("%d values and %d pixels, expected a multiple of the %v of a vector", len(own.Values),
			len(own.Pixels), s.Shape)
	}
	for i, v := range own.Values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("feature %d of sample %d is %v, expected a finite number", i%d, i/d, v)
		}
	}
	if s.Labelled() && len(s.Labels) != s.Len() {
		return fmt.Errorf("%d labels for %d samples, expected one for each, or none at all", len(s.Labels), s.Len())
	}
	return nil
}

// CheckLabelled is Check, and refuses a set without labels.
func (s *Set) CheckLabelled() error {
	if err := s.Check(); err != nil {
		return err
	}
	if !s.Labelled() {
		return fmt.Errorf("the %s have no labels, expected one for each", s.Samples())
	}
	return nil
}

// Image returns the Shape.Len() levels of image i, sharing the memory of s.
func (s *Set) Image(i int) []byte {
	if s.from != nil {
		return s.from.Image(int(s.at[i]))
	}
	d := s.Shape.Len()
	return s.Pixels[i*d : (i+1)*d : (i+1)*d]
}

// Vector returns the features of vector i, sharing the memory of s.
func (s *Set) Vector(i int) []float32 {
	if s.from != nil {
		return s.from.Vector(int(s.at[i]))
	}
	d := s.Features
	return s.Values[i*d : (i+1)*d : (i+1)*d]
}

// Floats sets dst (len(at) x Shape.Len()) to the numbers of samples at[0], at[1], ...: of images
// the levels v/255, where 0 is black and 1 is white, of vectors the features. It panics if dst has
// another length.
func (s *Set) Floats(dst []float32, at []int32) {
	d := s.Shape.Len()
	if len(dst) != len(at)*d {
		panic(fmt.Sprintf("dataset: Floats of %d samples into %d numbers, expected %d", len(at), len(dst), len(at)*d))
	}
	for b, i := range at {
		row := dst[b*d : (b+1)*d]
		if !s.IsImage() {
			copy(row, s.Vector(int(i)))
			continue
		}
		for j, v := range s.Image(int(i)) {
			row[j] = float32(v) / 255
		}
	}
}

// Slice returns samples lo to hi-1, sharing the memory of s. Like a slice
// expression it panics unless 0 <= lo <= hi <= Len().
func (s *Set) Slice(lo, hi int) *Set {
	if lo < 0 || lo > hi || hi > s.Len() {
		panic(fmt.Sprintf("dataset: Slice(%d, %d) of a set of %d samples", lo, hi, s.Len()))
	}
	v := &Set{Shape: s.Shape}
	if s.Labelled() {
		v.Labels = s.Labels[lo:hi:hi]
	}
	d := s.Shape.Len()
	switch {
	case s.from != nil:
		v.from, v.at = s.from, s.at[lo:hi:hi]
	case s.IsImage():
		v.Pixels = s.Pixels[lo*d : hi*d : hi*d]
	default:
		v.Values = s.Values[lo*d : hi*d : hi*d]
	}
	return v
}

// Pick returns samples at[0], at[1], ... in that order. The samples share the memory of s; the rest
// takes 6 bytes a sample. It panics at an index outside s.
func (s *Set) Pick(at []int32) *Set {
	v := &Set{Shape: s.Shape, from: s, at: slices.Clone(at)}
	if s.from != nil {
		v.from = s.from
	}
	if s.Labelled() {
		v.Labels = make([]uint16, len(at))
	}
	for k, i := range at {
		if i < 0 || int(i) >= s.Len() {
			panic(fmt.Sprintf("dataset: Pick of sample %d of %d", i, s.Len()))
		}
		if s.Labelled() {
			v.Labels[k] = s.Labels[i]
		}
		if s.from != nil {
			v.at[k] = s.at[i]
		}
	}
	return v
}

// AppendSample appends the bytes of sample i, for hashing: the levels of an image, or the features
// of a vector as little-endian float32.
func (s *Set) AppendSample(b []byte, i int) []byte {
	if s.IsImage() {
		return append(b, s.Image(i)...)
	}
	for _, v := range s.Vector(i) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// AppendLabel appends the bytes of the label of sample i, for hashing: one byte for the first 256
// classes; nothing in a set without labels.
func (s *Set) AppendLabel(b []byte, i int) []byte {
	switch {
	case !s.Labelled():
		return b
	case s.Labels[i] < 256:
		return append(b, byte(s.Labels[i]))
	}
	return append(b, 255, byte(s.Labels[i]), byte(s.Labels[i]>>8))
}
