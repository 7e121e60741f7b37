//go:build arm64 && !purego && !noasm

package engine

// tierTable returns the kernels of t, or why it has none on this machine. NEON is part
// of every arm64 machine that Go runs on.
func tierTable(t Tier) (*kernels, string) {
	switch t {
	case Generic:
		return &genericKernels, ""
	case NEON:
		return &neonKernels, ""
	}
	return nil, "this is an arm64 machine"
}

var neonKernels = kernels{table{
	tier:                   NEON,
	flopPerMicrosecond:     30e3,
	mr:                     6,
	nr:                     16,
	kc:                     innerBlock(16),
	mc:                     outerBlock(innerBlock(16)),
	prefetchLines:          4,
	panel:                  panelNEON,
	panelAt:                panelAtNEON,
	transpose:              transposeGeneric,
	reluPool:               reluPoolGeneric,
	poolBackward:           poolBackwardGeneric,
	add:                    addNEON,
	subRows:                subRowsNEON,
	multiply:               multiplyNEON,
	axpy:                   axpyNEON,
	scale:                  scaleNEON,
	shift:                  shiftNEON,
	relu:                   reluNEON,
	reluBackward:           reluBackwardNEON,
	normBackward:           normBackwardNEON,
	adam:                   adamNEON,
	dotRows:                dotRowsNEON,
	sqdistRows:             sqdistRowsNEON,
	quadRows:               quadRowsNEON,
	sum:                    sumNEON,
	exp:                    expNEON,
	log:                    logNEON,
	gradient:               gradientNEON,
	gradRows:               pullRowsNEON,
	gradDeltas:             pullDeltasNEON,
	mixture:                mixtureNEON,
	responsibilityBackward: responsibilityBackwardNEON,
	read:                   readNEON,
	write:                  writeNEON,
	triad:                  triadNEON,
	fmaPeak:                fmaPeakNEON,
	flopPerPeakRound:       24 * 8,
	peakRounds:             5000,
}}

// panelNEON is panels of a matrix product: see panelGeneric.
func panelNEON(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, tiles, rows, tall int, acc bool, next []float32, step, panels int) {
	next = next[:cap(next)] // the panels that follow are fetched, too
	for range panels {
		w := tileWalk{a: a, c: c, next: next, ars: ars, tileStride: strip, crs: crs, rows: rows, tall: tall, prefetch: k / 4 * step / 4}
		for range tiles {
			n := w.tile()
			sgemmNEON_6x16(k, w.a, ars, acs, b, brs, w.c, crs, n, acc, w.next, step)
			w.step(n)
		}
		b, c, next = b[min(k*16, len(b)):], c[min(16, len(c)):], next[min(k*16, len(next)):]
	}
}

// sgemmNEON_6x16 is one tile of a matrix product: for i < rows (1 to 6), j < 16
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p*acs], b[p*brs+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. next, from which
// step bytes are fetched into the cache for every fourth p, takes no part in it.
//
//go:noescape
func sgemmNEON_6x16(k int, a []float32, ars, acs int, b []float32, brs int, c []float32, crs, rows int, acc bool, next []float32, step int)

// panelAtNEON is one panel of a matrix product: see panelAtGeneric.
func panelAtNEON(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, tall int, acc bool) {
	w := tileWalk{a: a, c: c, ars: ars, crs: crs, rows: rows, tall: tall}
	for range tiles {
		n := w.tile()
		sgemmAtNEON_6x16(k, w.a, ars, acs, b, at, w.c, crs, n, acc)
		w.step(n)
	}
}

// sgemmAtNEON_6x16 is one tile of a matrix product: for i < rows (1 to 6), j < 16
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p*acs], b[at[p]+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise.
//
//go:noescape
func sgemmAtNEON_6x16(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, rows int, acc bool)

// addNEON sets dst[j] = x[j] + y[j].
//
//go:noescape
func addNEON(dst, x, y []float32)

// subRowsNEON sets dst[i*ds+j] = x[i*xs+j] - y[i*ys+j] for i < rows, j < n. A stride
// ys of 0 takes the same vector from every row.
//
//go:noescape
func subRowsNEON(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)

// multiplyNEON sets dst[j] = x[j] * y[j].
//
//go:noescape
func multiplyNEON(dst, x, y []float32)

// axpyNEON sets y[j] = fma(a, x[j], y[j]).
//
//go:noescape
func axpyNEON(a float32, x, y []float32)

// scaleNEON sets dst[j] = a * x[j].
//
//go:noescape
func scaleNEON(dst []float32, a float32, x []float32)

// shiftNEON sets dst[j] = x[j] + a.
//
//go:noescape
func shiftNEON(dst []float32, a float32, x []float32)

// reluNEON sets dst[j] = x[j] where x[j] > 0, and +0 elsewhere (also for NaN).
//
//go:noescape
func reluNEON(dst, x []float32)

// reluBackwardNEON sets dst[j] = y[j] where x[j] > 0, and +0 elsewhere.
//
//go:noescape
func reluBackwardNEON(dst, x, y []float32)

// normBackwardNEON sets dst[j] = rstd * fma(-c2, x[j], y[j]-c1).
//
//go:noescape
func normBackwardNEON(dst, x, y []float32, c1, c2, rstd float32)

// adamNEON makes one step of Adam on p with gradient g and moments m and v:
//
//	g' = clip*g
//	m  = fma(beta1, m, (1-beta1)*g')
//	v  = fma(beta2, v, (1-beta2)*(g'*g'))
//	p  = fma(-step, m/fma(sqrt(v), rbc2, eps), p)
//
//go:noescape
func adamNEON(p, g, m, v []float32, co *AdamCoefficients)

// dotRowsNEON sets dst[i] = sum over j < n of x[i*xs+j]*y[i*ys+j], each lane a chain
// of fused multiply-adds.
//
//go:noescape
func dotRowsNEON(dst, x []float32, xs int, y []float32, ys, n int)

// sqdistRowsNEON sets dst[i] = sum over j of (x[i*xs+j] - y[j])^2.
//
//go:noescape
func sqdistRowsNEON(dst, x []float32, xs int, y []float32)

// quadRowsNEON sets dst[i] = sum over j of w[j]*(x[i*xs+j] - y[j])^2, each lane a chain
// of fma(w[j]*e, e, ...) with e = x[i*xs+j] - y[j].
//
//go:noescape
func quadRowsNEON(dst, x []float32, xs int, y, w []float32)

// sumNEON returns the sum of x.
//
//go:noescape
func sumNEON(x []float32) float32

// expNEON sets dst[j] = exp(x[j]).
//
//go:noescape
func expNEON(dst, x []float32)

// logNEON sets dst[j] = log(x[j]).
//
//go:noescape
func logNEON(dst, x []float32)

// gradientNEON sets dst[j] = - sum over i < k of r[i*rs]*g[i*gs+j], a chain of fused
// multiply-adds in increasing i from +0 that leaves out every i with r[i*rs] == 0.
//
//go:noescape
func gradientNEON(dst, r []float32, rs int, g []float32, gs, k int)

// pullRowsNEON sets dst[i*ds+j] = fma(-(h*t[i]), y[i*ys+j], -(r[i]*x[i*xs+j])) for
// j < n, and +0 in every row with r[i] == 0: what the rows of a precision of low rank are
// multiplied by, -r_i Z_i in the ascent (h = 0) and -N_i in the backward pass (h = 1).
//
//go:noescape
func pullRowsNEON(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)

// pullDeltasNEON sets, for the rows i of r and the columns j of mu,
//
//	d[i*ld+j] = x[i*xs+j] - mu[j]
//	w[i*ld+j] = fma(-(h*t[i]), d[i*ld+j], -(r[i]*u[i*us+j])), and +0 where r[i] == 0
//
// that is D_i and, with h = 1/2, W_i, with h = 1 -N_i of the backward pass, and takes the
// rows with r[i] != 0 off the sums that dmu_i is made of, in chains of fused multiply-adds:
//
//	sr[j] -= r[i]*u[i*us+j]        st[j] -= t[i]*d[i*ld+j]
//
// An empty d is not written, and then sr and st are not used.
//
//go:noescape
func pullDeltasNEON(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)

// mixtureNEON turns the quadratic forms of n rows, q[i*ld+b] of component i < k and
// row b < n, into responsibilities in place, and sets phi[b]:
//
//	l_i = fma(-1/2, q_i, c_i)     m = max_i l_i
//	e_i = exp(l_i - m), or 0 where l_i - m < ResponsibilityCut
//	phi = m + log(sum of e_i in increasing i)     r_i = e_i / sum
//
//go:noescape
func mixtureNEON(q []float32, ld int, c, phi []float32)

// responsibilityBackwardNEON sets, for every row b, sum[b] to the chain of
// fma(r_i, s_i, ...) in increasing i over the components with r_i != 0, and replaces
// s_i by t_i = r_i*(s_i - sum[b]), or +0 where r_i == 0. Component i of row b is at
// i*ld+b, for i < k.
//
//go:noescape
func responsibilityBackwardNEON(r, s []float32, ld int, sum []float32, k int)

// readNEON returns the bitwise or of the elements of x, which it reads rounds times.
//
//go:noescape
func readNEON(x []float32, rounds int) uint32

// writeNEON sets dst[j] = a, rounds times.
//
//go:noescape
func writeNEON(dst []float32, a float32, rounds int)

// triadNEON sets dst[j] = fma(a, y[j], x[j]), rounds times.
//
//go:noescape
func triadNEON(a float32, dst, x, y []float32, rounds int)

// fmaPeakNEON runs rounds of 24 fused multiply-adds on registers, in as many chains:
// what the FMA units of one core can do.
func fmaPeakNEON(rounds int)

// pause tells the core n times that this thread is spinning.
func pause(n int)

// additions runs rounds of 64 additions to one register, each of which waits for the one
// before. (A compiler is free to make fewer of them.)
func additions(rounds int)
