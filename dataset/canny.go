package dataset

import (
	"math"

	"dpnbench/engine"
)

func (p *corruptor) mnistcCannyEdges() {
	p.planes(func(x, _ []float32) { p.canny(x) })
}

// canny turns a plane into its edges by Canny's method as scikit-image 0.19 has it: a Gaussian filter of
// one pixel, Sobel gradients, the pixels of largest magnitude across the edge, and of those above the lower
// threshold the ones that are connected to one above the upper threshold.
func (p *corruptor) canny(x []float32) {
	const lower, upper = 0.1, 0.2
	i, j, m := p.sobel(p.inside(x))
	todo := p.mnistc.todo[:0]
	for at := range x {
		x[at] = 0
		switch {
		case !(m[at] >= lower) || !p.crest(i, j, m, at):
		case m[at] >= upper:
			x[at] = 1
			todo = append(todo, int32(at))
		default:
			x[at] = 0.5 // an edge if it is connected to one
		}
	}
	for len(todo) > 0 {
		at := int(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		for _, to := range [8]int{-p.cols - 1, -p.cols, -p.cols + 1, -1, 1, p.cols - 1, p.cols, p.cols + 1} {
			if x[at+to] == 0.5 { // the border has no edges
				x[at+to] = 1
				todo = append(todo, int32(at+to))
			}
		}
	}
	p.mnistc.todo = todo
	for at, v := range x {
		x[at] = float32(math.Floor(float64(v)))
	}
}

// inside filters a plane as if there were nothing outside: weights are those of the pixels inside.
func (p *corruptor) inside(x []float32) []float64 {
	y := p.widen(x)
	share := engine.Grow(&p.mnistc.size, len(x))
	for at := range share {
		share[at] = 1
	}
	for _, z := range [][]float64{y, share} {
		p.filter(z, blur10, true, true)
		p.filter(z, blur10, false, true)
	}
	for at, v := range share {
		y[at] /= v + 0x1p-52
	}
	return y
}

// sobel returns the gradient of a plane, down and to the right, and its magnitude.
func (p *corruptor) sobel(y []float64) (i, j, m []float64) {
	n := len(y)
	i, j = engine.Grow(&p.mnistc.down, n), engine.Grow(&p.mnistc.right, n)
	m = engine.Grow(&p.mnistc.size, n)
	steps := func(r, c int) (up, down, left, right int) { // the last pixel is repeated outside
		return max(r-1, 0) * p.cols, min(r+1, p.rows-1) * p.cols, max(c-1, 0), min(c+1, p.cols-1)
	}
	for at := range y {
		r, c := at/p.cols, at%p.cols
		up, down, left, right := steps(r, c)
		slope := func(c int) float64 { return y[down+c] - y[up+c] }
		i[at] = float64(2*slope(c)) + (slope(left) + slope(right))
		slope = func(r int) float64 { return y[r+right] - y[r+left] }
		j[at] = float64(2*slope(at-c)) + (slope(up) + slope(down))
		m[at] = math.Sqrt(float64(i[at]*i[at]) + float64(j[at]*j[at]))
	}
	return i, j, m
}

// crest says whether the magnitude m at a pixel is at least that on both sides of it along the gradient
// (i, j), where it is interpolated between two neighbours. Pixels of the border are none.
func (p *corruptor) crest(i, j, m []float64, at int) bool {
	r, c := at/p.cols, at%p.cols
	if r == 0 || c == 0 || r == p.rows-1 || c == p.cols-1 {
		return false
	}
	down, right := math.Abs(i[at]), math.Abs(j[at])
	straight, across := 1, p.cols+1 // steps to the neighbours, to the right and down
	if rising := i[at] > 0 && j[at] < 0 || i[at] < 0 && j[at] > 0; rising {
		across = 1 - p.cols
	}
	if down > right {
		straight = p.cols
		if across < 0 {
			straight = -p.cols
		}
	}
	w := min(down, right) / max(down, right)
	for _, side := range [2]int{1, -1} {
		if float64(m[at+side*across]*w)+float64(m[at+side*straight]*(1-w)) > m[at] {
			return false
		}
	}
	return true
}
