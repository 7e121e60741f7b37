package dpn

import "math"

// rate returns the factor on the learning rates at update s (from 0) of all: a linear
// rise over the warm-up, then a constant or half a cosine down to 0.
func (c Config) rate(s, all int) float64 {
	warm := int(math.Ceil(c.Warmup * float64(all)))
	if s < warm {
		return float64(s+1) / float64(warm)
	}
	if c.Schedule == "constant" {
		return 1
	}
	return float64(0.5*cosPi(float64(s-warm)/float64(max(all-warm, 1)))) + 0.5
}

// cosPi returns cos(pi x) for 0 <= x <= 1 to about 1e-9, with the same bits on every
// machine: the library's cosine differs between architectures, and the rates decide
// trained weights. It is the Taylor series of sin(pi y) at y = 1/2 - x; every product
// that is added is rounded on its own, so that no compiler fuses it.
func cosPi(x float64) float64 {
	z := float64(math.Pi * (0.5 - x))
	z2 := float64(z * z)
	s := 1.0
	for n := 14.0; n >= 2; n -= 2 {
		s = 1 - float64(float64(z2*s)/float64(n*(n+1)))
	}
	return z * s
}
