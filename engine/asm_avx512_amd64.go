//go:build amd64 && !purego && !noasm

package engine

import "golang.org/x/sys/cpu"

// missingAVX512 says what this machine lacks for the AVX-512 tier, or returns "".
func missingAVX512() string {
	switch x := cpu.X86; { // x/sys/cpu reports these only if the operating system saves the ZMM and mask registers
	case !x.HasAVX512F:
		return "the CPU or the operating system has no AVX-512"
	case !x.HasAVX512DQ || !x.HasAVX512BW || !x.HasAVX512VL:
		return "the CPU has no AVX-512 DQ, BW and VL"
	}
	return ""
}

var avx512Kernels = kernels{table{
	tier:                   AVX512,
	flopPerMicrosecond:     120e3,
	mr:                     14,
	nr:                     32,
	kc:                     innerBlock(32),
	mc:                     outerBlock(innerBlock(32)),
	prefetchLines:          2,
	prefetchC:              4,
	panel:                  sgemmAVX512_14x32,
	narrow:                 sgemmAVX512_14x16,
	pairRows:               6,
	pair:                   sgemmAVX512_6x64,
	smallDRows:             6,
	smallDCols:             64,
	quadSmallD:             quadFewAVX512,
	vjpSmallD:              pullFewAVX512,
	aloneRows:              1,
	quadSixteens:           quadSixteensAVX512,
	quadTriangle:           quadTriangleAVX2,
	mixtureLanes:           mixtureLanesAVX2,
	moveLanes:              moveLanesAVX2,
	panelAt:                sgemmAtAVX512_14x32,
	addPatches:             addPatchesAVX512,
	spreadPatches:          spreadPatchesAVX512,
	transpose:              transposeAVX512,
	reluPool:               reluPoolAVX512,
	poolBackward:           poolBackwardAVX512,
	add:                    addAVX512,
	subRows:                subRowsAVX512,
	multiply:               multiplyAVX512,
	axpy:                   axpyAVX512,
	scale:                  scaleAVX512,
	shift:                  shiftAVX512,
	relu:                   reluAVX512,
	reluBackward:           reluBackwardAVX512,
	normBackward:           normBackwardAVX512,
	adam:                   adamAVX512,
	dotRows:                dotRowsAVX512,
	sqdistRows:             sqdistRowsAVX512,
	quadRows:               quadRowsAVX512,
	sum:                    sumAVX512,
	exp:                    expAVX512,
	log:                    logAVX512,
	gradient:               gradientAVX512,
	moveRows:               moveRowsAVX512,
	gradRows:               pullRowsAVX512,
	gradDeltas:             pullDeltasAVX512,
	mixture:                mixtureAVX512,
	responsibilityBackward: responsibilityBackwardAVX512,
	read:                   readAVX512,
	write:                  writeAVX512,
	triad:                  triadAVX512,
	fmaPeak:                fmaPeakAVX512,
	flopPerPeakRound:       24 * 32,
	peakRounds:             5000,
}}

// sgemmAVX512_14x32 is panels of a matrix product that follow each other: tiles of rows rows, the
// first longer of them one row more (14 at most); for every row i of all tiles, j < 32, panel n
//
//	c[i*crs+32*n+j] = chain over p < k of fma(a[i*ars+p*acs], b[(n*k+p)*brs+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. brs is 32 where there are
// several panels. The rows of A of each tile begin strip floats after those of the tile before, or
// follow them if strip is 0. next[n*k*32:], from which step bytes are fetched into the cache for
// about every second p, takes no part in it.
//
//go:noescape
func sgemmAVX512_14x32(k int, a []float32, ars, acs, packedA int, b []float32, brs int, c []float32, crs, tiles, rows, tallTiles int, acc bool, next []float32, step, panels int)

// sgemmAVX512_14x16 is sgemmAVX512_14x32 for the first cols columns of a panel, at most 16. It reads 16 of
// B and touches those of c only.
//
//go:noescape
func sgemmAVX512_14x16(k int, a []float32, ars, acs, packedA int, b []float32, brs int, c []float32, crs, cols, tiles, rows, tallTiles int, acc bool, next []float32, step int)

// sgemmAtAVX512_14x32 is one panel of a matrix product: tiles of rows rows, the first
// longer of them one row more (14 at most); for every row i of all tiles, j < 32
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p*acs], b[at[p]+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise.
//
//go:noescape
func sgemmAtAVX512_14x32(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, tallTiles int, acc bool)

// sgemmAVX512_6x64 is pairs of panels of a matrix product, each in one block, that follow each other:
// tiles of rows rows, the first longer of them one row more (6 at most); for every row i of all tiles,
// j < 64*pairs
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p], b[j/32*32*k+p*32+j%32], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. k is at least 4. next, of
// pair n next[n*k*64:], and step are as in sgemmAVX512_14x32.
//
//go:noescape
func sgemmAVX512_6x64(k int, a []float32, ars int, b, c []float32, crs, tiles, rows, tallTiles int, acc bool, next []float32, step, pairs int)

// quadFewAVX512 makes G and q of rows x for packed P of a multiple of 64 features, in tiles as
// sgemmAVX512_6x64: see quadFewAVX2. work is memory for 12 rows of d and 128 numbers, within that
// of quadFewAVX2.
//
//go:noescape
func quadFewAVX512(comps int, g []float32, gc, gs int, q []float32, qc int, x []float32, xs int, mu []float32, d int, p []Packed, work []float32, tiles, rows, tallTiles int, next []float32, step int)

// pullFewAVX512 sets v, in tiles as sgemmAVX512_6x64, to the product of
//
//	w[i, p] = fma(-t[i], x[i*xs+p]-mu[p], -(r[i]*u[i*us+p])), and +0 where r[i] == 0
//
// with a packed P of a multiple of 64 features, or adds that to v. work holds w of a tile.
//
//go:noescape
func pullFewAVX512(v []float32, vs int, r, u []float32, us int, t, x []float32, xs int, mu, p, work []float32, tiles, rows, tallTiles int, acc bool, next []float32, step int)

// addPatchesAVX512 adds patches of five rows, up to 48 columns wide, to c:
// c[u*crs+j] = chain over p of fma(r[p], b[at[p]+u*stride+j], ...), from the old one.
//
//go:noescape
func addPatchesAVX512(c []float32, crs, cols int, r, b []float32, at []int32, stride int)

// spreadPatchesAVX512 adds w, five rows of 40 columns, to patches of b, one after the other:
// b[at[p]+u*stride+j] = fma(r[p], w[u*ws+j], ...).
//
//go:noescape
func spreadPatchesAVX512(b, r []float32, at []int32, w []float32, ws, stride int)

// transposeAVX512 sets dst[j*ds+i] = src[i*ss+j] for i < rows, j < cols, both above 0.
//
//go:noescape
func transposeAVX512(dst []float32, ds int, src []float32, ss, rows, cols int)

// reluPoolAVX512 is ReLU and the maximum of every 2 x 2 pixels: see reluPoolGeneric.
//
//go:noescape
func reluPoolAVX512(y []float32, which []byte, x []float32, stride, w int)

// poolBackwardAVX512 lists where a gradient goes to: see poolBackwardGeneric. w is at most 16.
//
//go:noescape
func poolBackwardAVX512(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int)

// addAVX512 sets dst[j] = x[j] + y[j].
//
//go:noescape
func addAVX512(dst, x, y []float32)

// subRowsAVX512 sets dst[i*ds+j] = x[i*xs+j] - y[i*ys+j] for i < rows, j < n. A stride
// ys of 0 takes the same vector from every row.
//
//go:noescape
func subRowsAVX512(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)

// multiplyAVX512 sets dst[j] = x[j] * y[j].
//
//go:noescape
func multiplyAVX512(dst, x, y []float32)

// axpyAVX512 sets y[j] = fma(a, x[j], y[j]).
//
//go:noescape
func axpyAVX512(a float32, x, y []float32)

// scaleAVX512 sets dst[j] = a * x[j].
//
//go:noescape
func scaleAVX512(dst []float32, a float32, x []float32)

// shiftAVX512 sets dst[j] = x[j] + a.
//
//go:noescape
func shiftAVX512(dst []float32, a float32, x []float32)

// reluAVX512 sets dst[j] = x[j] where x[j] > 0, and +0 elsewhere (also for NaN).
//
//go:noescape
func reluAVX512(dst, x []float32)

// reluBackwardAVX512 sets dst[j] = y[j] where x[j] > 0, and +0 elsewhere.
//
//go:noescape
func reluBackwardAVX512(dst, x, y []float32)

// normBackwardAVX512 sets dst[j] = rstd * fma(-c2, x[j], y[j]-c1).
//
//go:noescape
func normBackwardAVX512(dst, x, y []float32, c1, c2, rstd float32)

// adamAVX512 makes one step of Adam on p with gradient g and moments m and v:
//
//	g' = clip*g
//	m  = fma(beta1, m, (1-beta1)*g')
//	v  = fma(beta2, v, (1-beta2)*(g'*g'))
//	p  = fma(-step, m/fma(sqrt(v), rbc2, eps), p)
//
//go:noescape
func adamAVX512(p, g, m, v []float32, co *AdamCoefficients)

// dotRowsAVX512 sets dst[i] = sum over j < n of x[i*xs+j]*y[i*ys+j], each lane a chain
// of fused multiply-adds.
//
//go:noescape
func dotRowsAVX512(dst, x []float32, xs int, y []float32, ys, n int)

// quadSixteensAVX512 is quadTriangleAVX2 for n groups, above 0, of sixteen components: of each mu and
// g are d x 16, q is 16.
//
//go:noescape
func quadSixteensAVX512(n int, g, q, x, mu, p, work []float32)

// sqdistRowsAVX512 sets dst[i] = sum over j of (x[i*xs+j] - y[j])^2.
//
//go:noescape
func sqdistRowsAVX512(dst, x []float32, xs int, y []float32)

// quadRowsAVX512 sets dst[i] = sum over j of w[j]*(x[i*xs+j] - y[j])^2, each lane a chain
// of fma(w[j]*e, e, ...) with e = x[i*xs+j] - y[j].
//
//go:noescape
func quadRowsAVX512(dst, x []float32, xs int, y, w []float32)

// sumAVX512 returns the sum of x.
//
//go:noescape
func sumAVX512(x []float32) float32

// expAVX512 sets dst[j] = exp(x[j]).
//
//go:noescape
func expAVX512(dst, x []float32)

// logAVX512 sets dst[j] = log(x[j]).
//
//go:noescape
func logAVX512(dst, x []float32)

// gradientAVX512 sets dst[j] = - sum over i < k of r[i*rs]*g[i*gs+j], a chain of fused
// multiply-adds in increasing i from +0 that leaves out every i with r[i*rs] == 0.
//
//go:noescape
func gradientAVX512(dst, r []float32, rs int, g []float32, gs, k int)

// moveRowsAVX512 moves rows of n features, a multiple of 64, uphill:
// x[b*xs+j] = fma(alpha, gradient, x[b*xs+j]) with the gradient of gradientAVX512, of r[i*rs+b] and
// g[i*gs+b*gr+j].
//
//go:noescape
func moveRowsAVX512(alpha float32, x []float32, xs int, r []float32, rs int, g []float32, gs, gr, rows, n, k int)

// pullRowsAVX512 sets dst[i*ds+j] = fma(-(h*t[i]), y[i*ys+j], -(r[i]*x[i*xs+j])) for
// j < n, and +0 in every row with r[i] == 0: what the rows of a precision of low rank are
// multiplied by, -r_i Z_i in the ascent (h = 0) and -N_i in the backward pass (h = 1).
//
//go:noescape
func pullRowsAVX512(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)

// pullDeltasAVX512 sets, for the rows i of r and the columns j of mu,
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
func pullDeltasAVX512(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)

// mixtureAVX512 turns the quadratic forms of n rows, q[i*ld+b] of component i < k and
// row b < n, into responsibilities in place, and sets phi[b]:
//
//	l_i = fma(-1/2, q_i, c_i)     m = max_i l_i
//	e_i = exp(l_i - m), or 0 where l_i - m < ResponsibilityCut
//	phi = m + log(sum of e_i in increasing i)     r_i = e_i / sum
//
//go:noescape
func mixtureAVX512(q []float32, ld int, c, phi []float32)

// responsibilityBackwardAVX512 sets, for every row b, sum[b] to the chain of
// fma(r_i, s_i, ...) in increasing i over the components with r_i != 0, and replaces
// s_i by t_i = r_i*(s_i - sum[b]), or +0 where r_i == 0. Component i of row b is at
// i*ld+b, for i < k.
//
//go:noescape
func responsibilityBackwardAVX512(r, s []float32, ld int, sum []float32, k int)

// readAVX512 returns the bitwise or of the elements of x, which it reads rounds times.
//
//go:noescape
func readAVX512(x []float32, rounds int) uint32

// writeAVX512 sets dst[j] = a, rounds times.
//
//go:noescape
func writeAVX512(dst []float32, a float32, rounds int)

// triadAVX512 sets dst[j] = fma(a, y[j], x[j]), rounds times.
//
//go:noescape
func triadAVX512(a float32, dst, x, y []float32, rounds int)

// fmaPeakAVX512 runs rounds of 24 fused multiply-adds on registers, in twelve chains:
// what the FMA units of one core can do.
func fmaPeakAVX512(rounds int)
