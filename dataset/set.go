package dataset

import "fmt"

// Set is one split of a data set: greyscale images and their labels.
type Set struct {
	Images     []byte // Len() * Rows * Cols, image after image, row-major, 0 (background) to 255 (ink)
	Labels     []byte // the class of each image
	Rows, Cols int    // image size in pixels
}

// Len returns the number of images.
func (s *Set) Len() int { return len(s.Labels) }

// Pixels returns the number of pixels of one image, Rows * Cols.
func (s *Set) Pixels() int { return s.Rows * s.Cols }

// Image returns the Pixels() grey levels of image i, sharing the memory of s.
func (s *Set) Image(i int) []byte {
	d := s.Pixels()
	return s.Images[i*d : (i+1)*d : (i+1)*d]
}

// Slice returns images lo to hi-1, sharing the memory of s. Like a slice
// expression it panics unless 0 <= lo <= hi <= Len().
func (s *Set) Slice(lo, hi int) *Set {
	if lo < 0 || lo > hi || hi > s.Len() {
		panic(fmt.Sprintf("dataset: Slice(%d, %d) of a set of %d images", lo, hi, s.Len()))
	}
	d := s.Pixels()
	return &Set{
		Images: s.Images[lo*d : hi*d : hi*d],
		Labels: s.Labels[lo:hi:hi],
		Rows:   s.Rows,
		Cols:   s.Cols,
	}
}
