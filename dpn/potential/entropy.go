package potential

import (
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Entropy returns - sum_i r_i ln r_i of column b of r, in nats: NaN where one of them is.
func Entropy(r engine.Matrix, b int) float64 {
	var h float64
	for i := range r.Rows {
		if v := r.At(i, b); v != 0 { // also NaN
			h -= float64(float64(v) * float64(num.Log32(v)))
		}
	}
	if h < 0 { // r may be a rounding above 1
		h = 0
	}
	return h
}
