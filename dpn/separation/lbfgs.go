package separation

import (
	"math"

	"dpnbench/internal/linalg"
)

const (
	// memoryFloats bounds the numbers that minimise keeps of earlier steps: of 3 to 10 of them.
	memoryFloats = 1 << 26
	// sufficientFall is the share of the fall that the gradient promises that a step must reach.
	sufficientFall = 1e-4
	// mostHalvings is the largest number of times that a step is halved.
	mostHalvings = 20
)

// step is an earlier step of minimise: the change of x, that of the gradient, and 1/(dx dg).
type step struct {
	dx, dg []float64
	rho    float64
}

// minimise moves x to the minimum of a convex function by L-BFGS (Liu and Nocedal, Math. Programming 45,
// 1989) with halved steps. f returns the value at x and sets the gradient; false ends the search. It ends
// where no element of the gradient is above tolerance, or no step makes the value smaller, which then is at
// its rounding errors (converged), and after most steps.
func minimise(x []float64, most int, tolerance float64, f func(x, gradient []float64) (float64, bool)) (value float64,
	converged bool) {
	kept := min(10, max(3, memoryFloats/(2*len(x))))
	var steps []step
	g, nextG := make([]float64, len(x)), make([]float64, len(x))
	next, d := make([]float64, len(x)), make([]float64, len(x))
	value, ok := f(x, g)
	for range most {
		if !ok || largestOf(g) <= tolerance {
			return value, ok
		}
		direction(d, g, steps)
		slope, length := linalg.Dot(d, g), 1.0
		if len(steps) == 0 {
			length = 1 / max(1, linalg.Norm(g))
		}
		var nextValue float64
		for halvings := 0; ; halvings++ {
			for i, v := range x {
				next[i] = v + float64(length*d[i])
			}
			if nextValue, ok = f(next, nextG); !ok {
				return value, false
			}
			if nextValue <= value+float64(sufficientFall*length*slope) && nextValue < value {
				break
			}
			if halvings == mostHalvings {
				return value, true
			}
			length /= 2
		}
		s := step{dx: make([]float64, len(x)), dg: make([]float64, len(x))}
		if len(steps) == kept {
			s = steps[0]
			steps = append(steps[:0], steps[1:]...)
		}
		for i := range x {
			s.dx[i], s.dg[i] = next[i]-x[i], nextG[i]-g[i]
		}
		if curvature := linalg.Dot(s.dx, s.dg); curvature > 1e-10*linalg.Dot(s.dg, s.dg) {
			s.rho = 1 / curvature
			steps = append(steps, s)
		}
		copy(x, next)
		value, g, nextG = nextValue, nextG, g
	}
	return value, largestOf(g) <= tolerance
}

// direction sets d to minus the inverse Hessian, as the steps tell it, times g.
func direction(d, g []float64, steps []step) {
	copy(d, g)
	along := make([]float64, len(steps))
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		along[i] = s.rho * linalg.Dot(s.dx, d)
		linalg.Axpy(-along[i], s.dg, d)
	}
	if n := len(steps); n > 0 {
		s := steps[n-1]
		linalg.Scale(1/(s.rho*linalg.Dot(s.dg, s.dg)), d)
	}
	for i, s := range steps {
		linalg.Axpy(along[i]-float64(s.rho*linalg.Dot(s.dg, d)), s.dx, d)
	}
	linalg.Scale(-1, d)
}

// largestOf returns the largest magnitude.
func largestOf(x []float64) float64 {
	var most float64
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}
