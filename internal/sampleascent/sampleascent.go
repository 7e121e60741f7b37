// Package sampleascent constructs a small ascent without a network, for tests of figures and pages:
// blurred built-in digits that move towards the mean of their class.
package sampleascent

import (
	"fmt"
	"math"

	"dpnbench/dataset"
)

// Ascent is the ascent of some digits of [Side] x [Side] pixels.
type Ascent struct {
	Items   []Item
	Centres [][]float32 // an image of each class
	Final   [][]float32 // the mean image of each class
}

// Side is the number of rows and columns of the images.
const Side = dataset.DigitSide

// Item is the ascent of one digit at steps 0, 1, ...
type Item struct {
	Name             string
	Label, Predicted int
	X                [][]float32 // the image at each step, 0 to 1
	Phi              []float64   // the potential
	R                [][]float32 // responsibilities of the 10 components
	At               [][2]float64
}

// New returns the ascent of items digits over steps steps. Every seventh one, from index 3 on, is misclassified.
func New(items, steps int) Ascent {
	const pixels = Side * Side
	set := dataset.Digits(1, 0, 400)
	var a Ascent
	counts := make([]float32, 10)
	mean := make([][]float32, 10)
	for c := range mean {
		mean[c] = make([]float32, pixels)
	}
	for i := range set.Len() {
		c := set.Labels[i]
		counts[c]++
		for j, v := range set.Image(i) {
			mean[c][j] += float32(v) / 255
		}
	}
	for c := range mean {
		for j := range mean[c] {
			mean[c][j] /= max(counts[c], 1)
		}
		first := make([]float32, pixels)
		for i := range set.Len() {
			if int(set.Labels[i]) == c {
				for j, v := range set.Image(i) {
					first[j] = 0.6*float32(v)/255 + 0.4*mean[c][j]
				}
				break
			}
		}
		a.Centres, a.Final = append(a.Centres, first), append(a.Final, mean[c])
	}
	for i := range items {
		label := int(set.Labels[i])
		to := label
		if i%7 == 3 {
			to = (label + 3) % 10
		}
		it := Item{Name: fmt.Sprintf("test image %d", i), Label: label, Predicted: to}
		for t := 0; t <= steps; t++ {
			share := float32(1 - math.Pow(0.88, float64(t)))
			x := make([]float32, pixels)
			for j, v := range set.Image(i) {
				x[j] = float32(v)/255*(1-share) + mean[to][j]*share
			}
			r := make([]float32, 10)
			rest := float32(0.5 * math.Pow(0.8, float64(t)))
			for c := range r {
				r[c] = rest / 9
			}
			r[to] = 1 - rest
			it.X, it.R = append(it.X, x), append(it.R, r)
			it.Phi = append(it.Phi, -812.4*math.Pow(0.86, float64(t))-91.7-float64(i))
			angle := 2 * math.Pi * float64(label) / 10
			spread := 1 - float64(share)
			it.At = append(it.At, [2]float64{
				12*math.Cos(angle)*float64(1+share)/2 + 5*spread*math.Sin(float64(3*i)) + 0.3*math.Sin(float64(t)),
				12*math.Sin(angle)*float64(1+share)/2 + 5*spread*math.Cos(float64(5*i)),
			})
		}
		a.Items = append(a.Items, it)
	}
	return a
}
