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

// Adam makes one step on the parameters p with gradient g and moments m and v, all of the same
// length; m and v are zero before the first step:
//
//	g' = clip*g, m = beta1 m + (1-beta1) g', v = beta2 v + (1-beta2) g'^2
//	p  = p - step * m / (sqrt(v)*rbc2 + eps)
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
	e.mu.Lock()
	defer e.mu.Unlock()
	e.each(vectorJob{op: opAdam, dst: p, x: g, y: m, v: v, co: co}, len(p))
}
