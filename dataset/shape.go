package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// Shape is that of one sample: an image or a vector.
type Shape struct {
	Rows, Cols int // of an image, in pixels; 0 for a vector
	Channels   int // of an image: 1 is grey, 3 are red, green and blue; 0 for a vector
	Features   int // of a vector; 0 for an image
}

// channelKinds are the kinds of images by their number of channels.
var channelKinds = [...]string{1: "grey", 3: "rgb"}

// ChannelKinds lists the kinds of images.
func ChannelKinds() []string { return []string{channelKinds[1], channelKinds[3]} }

// ChannelKind returns the kind of images of so many channels; "" if they are neither grey nor RGB.
func ChannelKind(channels int) string {
	if channels >= len(channelKinds) {
		return ""
	}
	return channelKinds[channels]
}

// ParseChannelKind is the inverse of ChannelKind: the number of channels; 0 for what is no kind.
func ParseChannelKind(kind string) int { return max(0, slices.Index(channelKinds[:], kind)) }

// Grey is the shape of grey images of rows x cols pixels.
func Grey(rows, cols int) Shape { return Shape{Rows: rows, Cols: cols, Channels: 1} }

// RGB is the shape of colour images of rows x cols pixels.
func RGB(rows, cols int) Shape { return Shape{Rows: rows, Cols: cols, Channels: 3} }

// Vector is the shape of vectors of n features.
func Vector(n int) Shape { return Shape{Features: n} }

// IsImage says whether samples of this shape are images.
func (s Shape) IsImage() bool { return s.Features == 0 }

// Len returns how many numbers a sample has.
func (s Shape) Len() int {
	if s.IsImage() {
		return s.Rows * s.Cols * s.Channels
	}
	return s.Features
}

// String returns the shape as in "28 x 28 grey", "32 x 32 RGB" or "13 features".
func (s Shape) String() string {
	switch {
	case s.Features == 1:
		return "1 feature"
	case !s.IsImage():
		return fmt.Sprintf("%d features", s.Features)
	case s.Channels == 1:
		return fmt.Sprintf("%d x %d grey", s.Rows, s.Cols)
	case s.Channels == 3:
		return fmt.Sprintf("%d x %d RGB", s.Rows, s.Cols)
	}
	return fmt.Sprintf("%d x %d with %d channels", s.Rows, s.Cols, s.Channels)
}

// Samples is what to call samples of this shape in texts: images or vectors.
func (s Shape) Samples() string {
	if s.IsImage() {
		return "images"
	}
	return "vectors"
}

// ChannelMean returns the mean over the channels of the numbers x of an image: x itself if there is one.
func (s Shape) ChannelMean(x []float32) []float32 {
	if s.Channels == 1 {
		return x
	}
	plane := s.Rows * s.Cols
	y := make([]float32, plane)
	for j := range y {
		sum := float32(0)
		for c := range s.Channels {
			sum += x[c*plane+j]
		}
		y[j] = sum / float32(s.Channels)
	}
	return y
}

// Visible returns what a figure can show of the levels x of an image: x itself if it is grey or RGB, else the mean of
// its channels.
func (s Shape) Visible(x []float32) []float32 {
	if s.Channels == 3 {
		return x
	}
	return s.ChannelMean(x)
}

// Sample is Samples in the singular.
func (s Shape) Sample() string { return strings.TrimSuffix(s.Samples(), "s") }

// NeedImages returns an error, one line that begins with what needs them, if samples of this shape
// are no images.
func (s Shape) NeedImages(what string) error {
	if s.IsImage() {
		return nil
	}
	return fmt.Errorf("%s: expected images, the samples are vectors of %v", what, s)
}

// check refuses shapes that no sample has, and those whose length is beyond an int32.
func (s Shape) check() error {
	image := s.Rows > 0 && s.Cols > 0 && s.Channels > 0 && s.Features == 0
	vector := s.Features > 0 && s.Rows == 0 && s.Cols == 0 && s.Channels == 0
	if !image && !vector {
		return fmt.Errorf("shape %+v: expected rows, columns and channels of an image, or the features of a vector", s)
	}
	const most = 1<<31 - 1
	if s.Features > most || image && s.Rows > most/s.Cols/s.Channels {
		return fmt.Errorf("%v: expected at most %d numbers a sample", s, most)
	}
	return nil
}
