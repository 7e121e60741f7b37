package engine

import (
	"math"

	"dpnbench/engine/num"
)

// ResponsibilityCut is -30 ln 2. A component whose l_i is lower than the largest one by more than that
// has responsibility exactly 0 everywhere. Its contribution would be below the rounding of x, and with an
// exact 0 it makes no difference whether the component is skipped or multiplied.
const ResponsibilityCut float32 = -0x1.4cb5ecp4

// gradientGeneric sets dst[j] = - sum over i < k of r[i*rs]*g[i*gs+j], a chain of fused
// multiply-adds in increasing i from +0 that leaves out every i with r[i*rs] == 0.
func gradientGeneric(dst, r []float32, rs int, g []float32, gs, k int) {
	for j := range dst {
		var s float32
		for i := range k {
			if w := r[i*rs]; w != 0 {
				s = num.FMA32(-w, g[i*gs+j], s)
			}
		}
		dst[j] = s
	}
}

// gradRowsGeneric makes the left operand of products with a precision: see gradRowsArgs.
func gradRowsGeneric(args *gradRowsArgs) {
	dst, x, y := args.dst, args.x, args.y
	ds, xs, ys, n := args.ds, args.xs, args.ys, args.n
	for i, w := range args.r {
		if n == 0 {
			return
		}
		row := dst[i*ds : i*ds+n]
		if w == 0 {
			clear(row)
			continue
		}
		v := args.h * args.t[i]
		for j := range row {
			row[j] = num.FMA32(-v, y[i*ys+j], float32(-w*x[i*xs+j]))
		}
	}
}

// gradDeltasGeneric makes D_i, W_i and the sums of dmu_i: see gradDeltasArgs.
func gradDeltasGeneric(args *gradDeltasArgs) {
	w, d, u, t, x, mu, sr, st := args.w, args.d, args.u, args.t, args.x, args.mu, args.sr, args.st
	ld, us, xs := args.ld, args.us, args.xs
	for i, ri := range args.r {
		v := args.h * t[i]
		for j, m := range mu {
			delta := x[i*xs+j] - m
			d[i*ld+j] = delta
			if ri == 0 {
				w[i*ld+j] = 0
				continue
			}
			uj := u[i*us+j]
			sr[j] = num.FMA32(-ri, uj, sr[j])
			st[j] = num.FMA32(-t[i], delta, st[j])
			w[i*ld+j] = num.FMA32(-v, delta, float32(-ri*uj))
		}
	}
}

// mixtureGeneric turns the quadratic forms of n rows, q[i*ld+b] of component i < k and
// row b < n, into responsibilities in place, and sets phi[b]:
//
//	l_i = fma(-1/2, q_i, c_i)     m = max_i l_i
//	e_i = exp(l_i - m), or 0 where l_i - m < ResponsibilityCut
//	phi = m + log(sum of e_i in increasing i)     r_i = e_i / sum
func mixtureGeneric(q []float32, ld int, c, phi []float32) {
	for b := range phi {
		m := float32(math.Inf(-1))
		for i := range c {
			l := num.FMA32(-0.5, q[i*ld+b], c[i])
			q[i*ld+b] = l
			if l > m {
				m = l
			}
		}
		var s float32
		for i := range c {
			z := q[i*ld+b] - m
			var e float32
			if !(z < ResponsibilityCut) {
				e = num.Exp32(z)
			}
			q[i*ld+b] = e
			s += e
		}
		phi[b] = m + num.Log32(s)
		for i := range c {
			q[i*ld+b] /= s
		}
	}
}

// responsibilityBackwardGeneric sets, for every row b, sum[b] to the chain of
// fma(r_i, s_i, ...) in increasing i over the components with r_i != 0, and replaces
// s_i by t_i = r_i*(s_i - sum[b]), or +0 where r_i == 0. Component i of row b is at
// i*ld+b, for i < k.
func responsibilityBackwardGeneric(r, s []float32, ld int, sum []float32, k int) {
	for b := range sum {
		var v float32
		for i := range k {
			if w := r[i*ld+b]; w != 0 {
				v = num.FMA32(w, s[i*ld+b], v)
			}
		}
		sum[b] = v
		for i := range k {
			if w := r[i*ld+b]; w != 0 {
				s[i*ld+b] = w * (s[i*ld+b] - v)
			} else {
				s[i*ld+b] = 0
			}
		}
	}
}
