package dataset

import "fmt"

// Set is one split of a data set: greyscale images and their labels.
type Set struct {
	// Images holds Len() * Rows * Cols grey levels, image after image, row-major, 0 (background) to
	// 255 (ink). It is nil in a set that Pick returned: use Image.
	Images     []byte
	Labels     []byte // the class of each image
	Rows, Cols int    // image size in pixels

	// Of a set that Pick returned: image i is image at[i] of from.
	from []byte
	at   []int32
}

// Len returns the number of images.
func (s *Set) Len() int { return len(s.Labels) }

// Pixels returns the number of pixels of one image, Rows * Cols.
func (s *Set) Pixels() int { return s.Rows * s.Cols }

// Image returns the Pixels() grey levels of image i, sharing the memory of s.
func (s *Set) Image(i int) []byte {
	d, images := s.Pixels(), s.Images
	if s.from != nil {
		i, images = int(s.at[i]), s.from
	}
	return images[i*d : (i+1)*d : (i+1)*d]
}

// Slice returns images lo to hi-1, sharing the memory of s. Like a slice
// expression it panics unless 0 <= lo <= hi <= Len().
func (s *Set) Slice(lo, hi int) *Set {
	if lo < 0 || lo > hi || hi > s.Len() {
		panic(fmt.Sprintf("dataset: Slice(%d, %d) of a set of %d images", lo, hi, s.Len()))
	}
	v := &Set{Labels: s.Labels[lo:hi:hi], Rows: s.Rows, Cols: s.Cols}
	if s.from != nil {
		v.from, v.at = s.from, s.at[lo:hi:hi]
		return v
	}
	d := s.Pixels()
	v.Images = s.Images[lo*d : hi*d : hi*d]
	return v
}

// Pick returns images at[0], at[1], ... in that order. The pixels share the memory of s; the rest
// takes 5 bytes an image. It panics at an index outside s.
func (s *Set) Pick(at []int32) *Set {
	v := &Set{Labels: make([]byte, len(at)), Rows: s.Rows, Cols: s.Cols, from: s.Images, at: make([]int32, len(at))}
	if s.from != nil {
		v.from = s.from
	}
	for k, i := range at {
		v.Labels[k], v.at[k] = s.Labels[i], i
		if s.from != nil {
			v.at[k] = s.at[i]
		}
	}
	return v
}
