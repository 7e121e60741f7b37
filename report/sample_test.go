package report

import (
	"fmt"
	"math"

	"dpnbench/dataset"
)

// ascent is what a page would show of a network: built-in digits that are blurred and
// drawn towards the mean of their class, as a potential would move them.
type ascent struct {
	walk    Walk
	centres [][]float32
	final   [][]float32
	paths   []PlanePath
}

// walked returns the ascent of so many digits, two of which are misread.
func walked(items, steps int) ascent {
	const pixels = dataset.DigitSide * dataset.DigitSide
	set := dataset.Digits(1, 0, 400)
	a := ascent{walk: Walk{Rows: dataset.DigitSide, Cols: dataset.DigitSide, Steps: steps}}
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
		a.centres, a.final = append(a.centres, first), append(a.final, mean[c])
	}
	for i := range items {
		label := int(set.Labels[i])
		to := label
		if i%7 == 3 {
			to = (label + 3) % 10
		}
		it := WalkItem{Name: fmt.Sprintf("test picture %d", i), Label: label, Predicted: to}
		path := PlanePath{Class: label}
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
			path.At = append(path.At, [2]float64{
				12*math.Cos(angle)*float64(1+share)/2 + 5*spread*math.Sin(float64(3*i)) + 0.3*math.Sin(float64(t)),
				12*math.Sin(angle)*float64(1+share)/2 + 5*spread*math.Cos(float64(5*i)),
			})
		}
		a.walk.Items, a.paths = append(a.walk.Items, it), append(a.paths, path)
	}
	return a
}

// strips returns the trajectories of at most eight digits.
func (a ascent) strips() (strips []Strip) {
	for _, it := range a.walk.Items[:min(8, len(a.walk.Items))] {
		strips = append(strips, Strip{it.Name, it.Label, it.Predicted, it.X})
	}
	return strips
}
