package dataset

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"

	"dpnbench/internal/parallel"
)

// Normalization maps a number v of a sample to (v - Mean) / Std; of images v is the level / 255.
type Normalization struct {
	Mean, Std []float32 // one for all, one for each channel, or one for each feature
}

var (
	// MNISTNorm is the usual normalisation of MNIST, and what NormalizationOf finds in its 60,000
	// training images.
	MNISTNorm = Uniform(0.1307, 0.3081)

	// DigitsNorm is the normalisation of the built-in digits, measured over the 60,000
	// training images of seed 1.
	DigitsNorm = Uniform(0.1306, 0.3088)
)

// Uniform is the normalisation with one mean and one deviation for all numbers.
func Uniform(mean, std float32) Normalization {
	return Normalization{Mean: []float32{mean}, Std: []float32{std}}
}

// NormalizationOf measures the mean and the standard deviation of the samples: of images for each
// channel, rounded to four significant digits, as the field quotes them; of vectors for each
// feature. What is constant has the deviation 1, and a constant feature becomes exactly 0. The bits
// are the same on every machine.
func NormalizationOf(s *Set) Normalization {
	if s.IsImage() {
		return imageNorm(s)
	}
	const apart = 1 << 17 // numbers that one thread sums in 100 microseconds
	threads := min(runtime.GOMAXPROCS(0), s.Len()*s.Features/apart+1, s.Features)
	out := Normalization{Mean: make([]float32, s.Features), Std: make([]float32, s.Features)}
	parallel.Each(threads, threads, func(i int) {
		out.measure(s, i*s.Features/threads, (i+1)*s.Features/threads)
	})
	return out
}

// measure sets mean and deviation of the features from lo to hi of vectors.
func (n Normalization) measure(s *Set, lo, hi int) {
	if s.Len() == 0 {
		for j := lo; j < hi; j++ {
			n.Std[j] = 1
		}
		return
	}
	d := hi - lo
	first := s.Vector(0)[lo:hi]
	mean, square, varies := make([]float64, d), make([]float64, d), make([]bool, d)
	for i := range s.Len() {
		x := s.Vector(i)[lo:hi]
		mean, first, varies := mean[:len(x)], first[:len(x)], varies[:len(x)] // no checks of bounds within
		for j, v := range x {
			mean[j] += float64(v)
			if v != first[j] {
				varies[j] = true
			}
		}
	}
	for j := range mean {
		mean[j] /= float64(s.Len())
	}
	for i := range s.Len() {
		x := s.Vector(i)[lo:hi]
		mean, square := mean[:len(x)], square[:len(x)]
		for j, v := range x {
			z := float64(v) - mean[j]
			square[j] += float64(z * z)
		}
	}
	for j := range d {
		n.Mean[lo+j], n.Std[lo+j] = float32(mean[j]), float32(math.Sqrt(square[j]/float64(s.Len())))
		if !varies[j] || !(n.Std[lo+j] > 0) {
			n.Mean[lo+j], n.Std[lo+j] = first[j], 1
		}
	}
}

// imageNorm counts the levels of each channel: the sums are over 256 numbers.
func imageNorm(s *Set) Normalization {
	n := Normalization{Mean: make([]float32, s.Channels), Std: make([]float32, s.Channels)}
	counts := make([][256]uint64, s.Channels)
	plane := s.Rows * s.Cols
	for i := range s.Len() {
		image := s.Image(i)
		for c := range counts {
			count := &counts[c]
			for _, v := range image[c*plane : (c+1)*plane] {
				count[v]++
			}
		}
	}
	total := float64(max(s.Len()*plane, 1))
	for c := range counts {
		mean, square := 0.0, 0.0
		for v, k := range counts[c] {
			mean += float64(float64(v) * float64(k))
		}
		mean /= total
		for v, k := range counts[c] {
			z := float64(v) - mean
			square += float64(float64(z*z) * float64(k))
		}
		n.Mean[c], n.Std[c] = fourDigits(mean/255), fourDigits(math.Sqrt(square/total)/255)
		if !(n.Std[c] > 0) {
			n.Std[c] = 1
		}
	}
	return n
}

// fourDigits rounds to four significant decimal digits.
func fourDigits(v float64) float32 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 32) // it is a number
	return float32(r)
}

// IsZero says whether n is that of a data set without training samples.
func (n Normalization) IsZero() bool { return len(n.Mean) == 0 && len(n.Std) == 0 }

// Equal says whether n and m are the same.
func (n Normalization) Equal(m Normalization) bool {
	return slices.Equal(n.Mean, m.Mean) && slices.Equal(n.Std, m.Std)
}

// Bounds of the mean and the deviation of the levels of images. 60,000 images with a single pixel that is not black
// have a deviation of 6e-7.
const (
	largestScale  = 1e6
	smallestScale = 1e-9
)

// Check returns an error, one line, if n does not fit samples of a shape or has a deviation that is
// not above 0. Means and deviations of images are at most 1e6, deviations at least 1e-9: others would make numbers
// whose squares float32 does not hold.
func (n Normalization) Check(s Shape) error {
	each := s.Channels
	if !s.IsImage() {
		each = s.Features
	}
	if k := len(n.Mean); k != len(n.Std) || k != 1 && k != each {
		return fmt.Errorf("normalisation of %d means and %d deviations, expected 1 or %d of each (%v)", len(n.Mean),
			len(n.Std), each, s)
	}
	for i := range n.Mean {
		mean, std := float64(n.Mean[i]), float64(n.Std[i])
		if math.IsNaN(mean) || math.IsInf(mean, 0) || !(std > 0) || math.IsInf(std, 0) {
			return fmt.Errorf("normalisation: mean %v and deviation %v, expected a finite number and one above 0", mean,
				std)
		}
		if s.IsImage() && !(math.Abs(mean) <= largestScale && std >= smallestScale && std <= largestScale) {
			return fmt.Errorf("normalisation of images: mean %v and deviation %v, expected -1e+06 to 1e+06 and "+
				"1e-09 to 1e+06", n.Mean[i], n.Std[i])
		}
	}
	return nil
}

// Table returns the normalised value of every level of a channel. Each entry takes two float32
// divisions and a subtraction, all correctly rounded, and no product that a compiler could fuse:
// the bits are the same on every machine, and equal to those of PyTorch's ToTensor and
// Normalize.
func (n Normalization) Table(channel int) [256]float32 {
	if len(n.Mean) == 1 {
		channel = 0
	}
	var t [256]float32
	for v := range t {
		t[v] = (float32(v)/255 - n.Mean[channel]) / n.Std[channel]
	}
	return t
}

// Apply normalises the numbers x of one sample in place, with the same bits as Table.
func (n Normalization) Apply(x []float32) {
	size := len(x) / len(n.Mean) // numbers with the same mean
	for k, mean := range n.Mean {
		std := n.Std[k]
		block := x[k*size : (k+1)*size]
		for i, v := range block {
			block[i] = (v - mean) / std
		}
	}
}

// Undo returns the numbers that the normalised x of one sample come from: in [0, 1] if x is an
// image.
func (n Normalization) Undo(x []float32) []float32 {
	y := make([]float32, len(x))
	size := len(x) / len(n.Mean)
	for k, mean := range n.Mean {
		for i := k * size; i < (k+1)*size; i++ {
			y[i] = float32(x[i]*n.Std[k]) + mean
		}
	}
	return y
}
