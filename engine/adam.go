package engine

// AdamCoefficients are the coefficients of one step of Adam (Kingma and Ba, 2015), the same for all
// parameters.
type AdamCoefficients struct {
	Clip          float32 // factor on the gradient
	Beta1         float32
	OneMinusBeta1 float32
	Beta2         float32
	OneMinusBeta2 float32
	Step          float32 // learning rate / (1 - beta1^t)
	RBC2          float32 // 1 / sqrt(1 - beta2^t)
	Eps           float32
}

// Numbers of a smaller magnitude than these count as 0 in the moments of an optimiser, so that no moment
// is ever subnormal: such numbers never decay to 0, and CPUs are up to a hundred times slower on them.
const (
	MomentFloor       = 0x1p-100 // of m and g, and of the momentum of Decay
	SecondMomentFloor = 0x1p-114 // of v
	squareFloor       = 0x1p-57  // of g' where it is squared for v: (1-beta2) g'^2 would be subnormal
)

// Adam makes one step on the parameters p with gradient g and moments m and v, all of the same
// length; m and v are zero before the first step:
//
//	g' = clip*g, m = beta1 m + (1-beta1) g', v = beta2 v + (1-beta2) g'^2
//	p  = p - step * m / (sqrt(v)*rbc2 + eps)
//
// g and m below MomentFloor in magnitude and v below SecondMomentFloor count as +0, old and new, and g'
// below 2^-57 counts as 0 in v. What that changes is below what a rounding does, for beta1 0.9, beta2
// 0.999, eps 1e-8 and RBC2 as documented. m is off by at most 2^-100 (1 + 1/(1-beta1)), so a parameter moves
// by at most step * 2^-96.5/eps, less than 2^-69 of the learning rate, more or less. Without the floors of v,
// g' below 2^-52 could be all that v consists of (a larger one makes v at least (1-beta2) 2^-104, which is
// not flushed), and sqrt(v)*rbc2 at most 2^-52; or v has decayed from above the floor, and sqrt(v)*rbc2
// is at most 2^-57 * 31.7 = 2^-52. So the denominator is off by at most sqrt(2) * 2^-52, which is 2^-25 of eps.
func (e *Engine) Adam(p, g, m, v []float32, co *AdamCoefficients) {
	if co == nil {
		panic("engine: Adam: co is nil")
	}
	elementwise("Adam", "g", g, "p", p)
	length("Adam", "m", len(m), len(p))
	length("Adam", "v", len(v), len(p))
	apart("Adam", "m", m, "v", v)
	for i, x := range [...][]float32{p, g} {
		name := [...]string{"p", "g"}[i]
		apart("Adam", name, x, "m", m)
		apart("Adam", name, x, "v", v)
	}
	e.each(vectorJob{op: opAdam, dst: p, x: g, y: m, v: v, co: co}, len(p))
}

// Decay sets x[j] = a * x[j], and +0 where that is below MomentFloor in magnitude: a momentum that gets no
// gradient becomes 0 instead of subnormal.
func (e *Engine) Decay(a float32, x []float32) {
	e.each(vectorJob{op: opDecay, a: a, dst: x}, len(x))
}
