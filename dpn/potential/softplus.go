package potential

import "dpnbench/engine/num"

// softplus returns log(1 + e^a).
func softplus(a float32) float32 {
	if a > 20 { // e^-a is below the rounding of a
		return a
	}
	y := num.Exp32(a)
	if y < small { // 1 + y would lose most of y
		return y * num.FMA32(y, num.FMA32(y, 1./3, -1./2), 1)
	}
	return num.Log32(1 + y)
}

// small is where series begin to be better than the functions whose results cancel.
const small = 1e-2

// softplusInverse returns the a with softplus(a) = alpha > 0.
func softplusInverse(alpha float32) float32 {
	if alpha > 20 {
		return alpha
	}
	if alpha < small {
		return num.FMA32(alpha, num.FMA32(alpha, 1./24, 1./2), num.Log32(alpha))
	}
	return num.Log32(num.Exp32(alpha) - 1)
}

// softplusSlope returns the derivative of softplus at the a with softplus(a) = alpha,
// 1/(1+e^-a) = 1 - e^-alpha.
func softplusSlope(alpha float32) float32 {
	if alpha < small {
		return alpha * num.FMA32(alpha, num.FMA32(alpha, 1./6, -1./2), 1)
	}
	return 1 - num.Exp32(-alpha)
}
