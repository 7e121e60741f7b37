//go:build amd64 && !purego && !noasm

package engine

import "golang.org/x/sys/cpu"

// tierTable returns the kernels of t, or why it has none on this machine.
func tierTable(t Tier) (*kernels, string) {
	switch t {
	case Generic:
		return &genericKernels, ""
	case AVX2:
		switch { // x/sys/cpu reports AVX2 only if the operating system saves the YMM registers
		case !cpu.X86.HasAVX2:
			return nil, "the CPU or the operating system has no AVX2"
		case !cpu.X86.HasFMA:
			return nil, "the CPU has no FMA"
		}
		return &avx2Kernels, ""
	case AVX512:
		if missing := missingAVX512(); missing != "" {
			return nil, missing
		}
		return &avx512Kernels, ""
	}
	return nil, "this is an amd64 machine"
}

var avx2Kernels = kernels{table{
	tier:                   AVX2,
	flopPerMicrosecond:     80e3,
	mr:                     6,
	nr:                     16,
	kc:                     innerBlock(16),
	mc:                     outerBlock(innerBlock(16)),
	prefetchLines:          4,
	panel:                  sgemmAVX2_6x16,
	panelAt:                sgemmAtAVX2_6x16,
	smallDRows:             6,
	smallDCols:             16,
	quadSmallD:             quadFewAVX2,
	vjpSmallD:              pullFewAVX2,
	aloneRows:              2,
	quadTriangle:           quadTriangleAVX2,
	mixtureLanes:           mixtureLanesAVX2,
	moveLanes:              moveLanesAVX2,
	moveRows:               moveRowsAVX2,
	addPatches:             addPatchesAVX2,
	spreadPatches:          spreadPatchesAVX2,
	transpose:              transposeAVX2,
	reluPool:               reluPoolAVX2,
	poolBackward:           poolBackwardAVX2,
	add:                    addAVX2,
	subRows:                subRowsAVX2,
	multiply:               multiplyAVX2,
	axpy:                   axpyAVX2,
	scale:                  scaleAVX2,
	shift:                  shiftAVX2,
	relu:                   reluAVX2,
	reluBackward:           reluBackwardAVX2,
	normBackward:           normBackwardAVX2,
	adam:                   adamAVX2,
	dotRows:                dotRowsAVX2,
	sqdistRows:             sqdistRowsAVX2,
	quadRows:               quadRowsAVX2,
	sum:                    sumAVX2,
	exp:                    expAVX2,
	log:                    logAVX2,
	gradient:               gradientAVX2,
	gradRows:               pullRowsAVX2,
	gradDeltas:             pullDeltasAVX2,
	mixture:                mixtureAVX2,
	responsibilityBackward: responsibilityBackwardAVX2,
	read:                   readAVX2,
	write:                  writeAVX2,
	triad:                  triadAVX2,
	fmaPeak:                fmaPeakAVX2,
	flopPerPeakRound:       24 * 16,
	peakRounds:             5000,
}}

// sgemmAVX2_6x16 is panels of a matrix product: see panelGeneric.
//
//go:noescape
func sgemmAVX2_6x16(k int, a []float32, ars, acs, packedA int, b []float32, brs int, c []float32, crs, tiles, rows, tallTiles int, acc bool, next []float32, step, panels int)

// sgemmAtAVX2_6x16 is one panel of a matrix product: see panelAtGeneric.
//
//go:noescape
func sgemmAtAVX2_6x16(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, tallTiles int, acc bool)

// quadFewAVX2 sets, for component c of comps, of packed P of d features, a multiple of 16,
//
//	g[c*gc+i*gs+j] = chain over p of fma(x[i*xs+p]-mu[c*d+p], P_c[p, j], ...)
//	q[c*qc+i] = the dot product of x[i]-mu_c with that row of g
//
// in tiles as sgemmAVX2_6x16. p has all P_c, or one for all. work is memory for 18 rows of d+16
// numbers. With a step next[c*gc:] is fetched beside component c.
//
//go:noescape
func quadFewAVX2(comps int, g []float32, gc, gs int, q []float32, qc int, x []float32, xs int, mu []float32, d int, p []Packed, work []float32, tiles, rows, tallTiles int, next []float32, step int)

// quadTriangleAVX2 sets, of a single row x and for groups of first eight, then at most once four
// components beside each other (of each mu and g are d x 8 or 4, q is 8 or 4),
//
//	g[j, i] = chain over p of fma(x[p]-mu[p, i], P_i[p, j], ...)
//	q[i] = the dot product of x-mu[., i] with g[., i]
//
// where d, the length of x, is a multiple of 16 and p is as triangles has it. work holds x-mu.
//
//go:noescape
func quadTriangleAVX2(eights, fours int, g, q, x, mu, p, work []float32)

// moveLanesAVX2 sets x[j] = fma(alpha, s, x[j]), where s is - sum over i of r[i]*g[i, j] as gradientAVX2
// computes it. g is, for groups of first sixteen, then eight, then at most once four components, as
// quadSixteensAVX512 and quadTriangleAVX2 leave it.
//
//go:noescape
func moveLanesAVX2(sixteens, eights, fours int, alpha float32, x, r, g []float32)

// mixtureLanesAVX2 is mixtureAVX2 of a single row whose components, a multiple of eight above 0, are
// beside each other. It leaves out phi.
//
//go:noescape
func mixtureLanesAVX2(q, c []float32)

// pullFewAVX2 sets v, in tiles as sgemmAVX2_6x16, to the product of
//
//	w[i, p] = fma(-t[i], x[i*xs+p]-mu[p], -(r[i]*u[i*us+p])), and +0 where r[i] == 0
//
// with a packed P of a multiple of 16 features, or adds that to v. work holds w of a tile.
//
//go:noescape
func pullFewAVX2(v []float32, vs int, r, u []float32, us int, t, x []float32, xs int, mu, p, work []float32, tiles, rows, tallTiles int, acc bool, next []float32, step int)

// addPatchesAVX2 adds patches of five rows to c:
// c[u*crs+j] = chain over p of fma(r[p], b[at[p]+u*stride+j], ...), from the old one.
//
//go:noescape
func addPatchesAVX2(c []float32, crs, cols int, r, b []float32, at []int32, stride int)

// spreadPatchesAVX2 adds w, five rows of 40 columns, to patches of b, one after the other:
// b[at[p]+u*stride+j] = fma(r[p], w[u*ws+j], ...).
//
//go:noescape
func spreadPatchesAVX2(b, r []float32, at []int32, w []float32, ws, stride int)

// reluPoolAVX2 is ReLU and the maximum of every 2 x 2 pixels: see reluPoolGeneric.
//
//go:noescape
func reluPoolAVX2(y []float32, which []byte, x []float32, stride, w int)

// poolBackwardAVX2 lists where a gradient goes to: see poolBackwardGeneric.
//
//go:noescape
func poolBackwardAVX2(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int)

// compress has, for every set of eight lanes, their numbers, rising.
var compress = func() (table [256][8]byte) {
	for set := range table {
		n := 0
		for lane := range 8 {
			if set>>lane&1 > 0 {
				table[set][n] = byte(lane)
				n++
			}
		}
	}
	return table
}()

// addAVX2 sets dst[j] = x[j] + y[j].
//
//go:noescape
func addAVX2(dst, x, y []float32)

// subRowsAVX2 sets dst[i*ds+j] = x[i*xs+j] - y[i*ys+j] for i < rows, j < n. A stride
// ys of 0 takes the same vector from every row.
//
//go:noescape
func subRowsAVX2(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int)

// multiplyAVX2 sets dst[j] = x[j] * y[j].
//
//go:noescape
func multiplyAVX2(dst, x, y []float32)

// axpyAVX2 sets y[j] = fma(a, x[j], y[j]).
//
//go:noescape
func axpyAVX2(a float32, x, y []float32)

// scaleAVX2 sets dst[j] = a * x[j].
//
//go:noescape
func scaleAVX2(dst []float32, a float32, x []float32)

// shiftAVX2 sets dst[j] = x[j] + a.
//
//go:noescape
func shiftAVX2(dst []float32, a float32, x []float32)

// reluAVX2 sets dst[j] = x[j] where x[j] > 0, and +0 elsewhere (also for NaN).
//
//go:noescape
func reluAVX2(dst, x []float32)

// reluBackwardAVX2 sets dst[j] = y[j] where x[j] > 0, and +0 elsewhere.
//
//go:noescape
func reluBackwardAVX2(dst, x, y []float32)

// normBackwardAVX2 sets dst[j] = rstd * fma(-c2, x[j], y[j]-c1).
//
//go:noescape
func normBackwardAVX2(dst, x, y []float32, c1, c2, rstd float32)

// adamAVX2 makes one step of Adam on p with gradient g and moments m and v:
//
//	g' = clip*g
//	m  = fma(beta1, m, (1-beta1)*g')
//	v  = fma(beta2, v, (1-beta2)*(g'*g'))
//	p  = fma(-step, m/fma(sqrt(v), rbc2, eps), p)
//
//go:noescape
func adamAVX2(p, g, m, v []float32, co *AdamCoefficients)

// dotRowsAVX2 sets dst[i] = sum over j < n of x[i*xs+j]*y[i*ys+j], each lane a chain
// of fused multiply-adds.
//
//go:noescape
func dotRowsAVX2(dst, x []float32, xs int, y []float32, ys, n int)

// sqdistRowsAVX2 sets dst[i] = sum over j of (x[i*xs+j] - y[j])^2.
//
//go:noescape
func sqdistRowsAVX2(dst, x []float32, xs int, y []float32)

// quadRowsAVX2 sets dst[i] = sum over j of w[j]*(x[i*xs+j] - y[j])^2, each lane a chain
// of fma(w[j]*e, e, ...) with e = x[i*xs+j] - y[j].
//
//go:noescape
func quadRowsAVX2(dst, x []float32, xs int, y, w []float32)

// sumAVX2 returns the sum of x.
//
//go:noescape
func sumAVX2(x []float32) float32

// expAVX2 sets dst[j] = exp(x[j]).
//
//go:noescape
func expAVX2(dst, x []float32)

// logAVX2 sets dst[j] = log(x[j]).
//
//go:noescape
func logAVX2(dst, x []float32)

// gradientAVX2 sets dst[j] = - sum over i < k of r[i*rs]*g[i*gs+j], a chain of fused
// multiply-adds in increasing i from +0 that leaves out every i with r[i*rs] == 0.
//
//go:noescape
func gradientAVX2(dst, r []float32, rs int, g []float32, gs, k int)

// moveRowsAVX2 moves rows of n features, a multiple of 64, uphill:
// x[b*xs+j] = fma(alpha, gradient, x[b*xs+j]) with the gradient of gradientAVX2, of r[i*rs+b] and
// g[i*gs+b*gr+j].
//
//go:noescape
func moveRowsAVX2(alpha float32, x []float32, xs int, r []float32, rs int, g []float32, gs, gr, rows, n, k int)

// pullRowsAVX2 sets dst[i*ds+j] = fma(-(h*t[i]), y[i*ys+j], -(r[i]*x[i*xs+j])) for
// j < n, and +0 in every row with r[i] == 0: what the rows of a precision of low rank are
// multiplied by, -r_i Z_i in the ascent (h = 0) and -N_i in the backward pass (h = 1).
//
//go:noescape
func pullRowsAVX2(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int)

// pullDeltasAVX2 sets, for the rows i of r and the columns j of mu,
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
func pullDeltasAVX2(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32)

// mixtureAVX2 turns the quadratic forms of n rows, q[i*ld+b] of component i < k and
// row b < n, into responsibilities in place, and sets phi[b]:
//
//	l_i = fma(-1/2, q_i, c_i)     m = max_i l_i
//	e_i = exp(l_i - m), or 0 where l_i - m < ResponsibilityCut
//	phi = m + log(sum of e_i in increasing i)     r_i = e_i / sum
//
//go:noescape
func mixtureAVX2(q []float32, ld int, c, phi []float32)

// responsibilityBackwardAVX2 sets, for every row b, sum[b] to the chain of
// fma(r_i, s_i, ...) in increasing i over the components with r_i != 0, and replaces
// s_i by t_i = r_i*(s_i - sum[b]), or +0 where r_i == 0. Component i of row b is at
// i*ld+b, for i < k.
//
//go:noescape
func responsibilityBackwardAVX2(r, s []float32, ld int, sum []float32, k int)

// readAVX2 returns the bitwise or of the elements of x, which it reads rounds times.
//
//go:noescape
func readAVX2(x []float32, rounds int) uint32

// writeAVX2 sets dst[j] = a, rounds times.
//
//go:noescape
func writeAVX2(dst []float32, a float32, rounds int)

// triadAVX2 sets dst[j] = fma(a, y[j], x[j]), rounds times.
//
//go:noescape
func triadAVX2(a float32, dst, x, y []float32, rounds int)

// fmaPeakAVX2 runs rounds of 24 fused multiply-adds on registers, in twelve chains:
// what the FMA units of one core can do.
func fmaPeakAVX2(rounds int)

// pause tells the core n times that this thread is spinning.
func pause(n int)

// additions runs rounds of 64 additions to one register, each of which waits for the one
// before. (A compiler is free to make fewer of them: on amd64 Go turns x + y + y into one
// LEAQ.)
func additions(rounds int)

// transposeBlocksAVX2 sets dst[j*ds+i] = src[i*ss+j] for i < rows, j < cols, multiples of 8 and of 4
// above 0.
//
//go:noescape
func transposeBlocksAVX2(dst []float32, ds int, src []float32, ss, rows, cols int)

// transposeFourAVX2 is transposeBlocksAVX2 of four rows and a multiple of 8 columns.
//
//go:noescape
func transposeFourAVX2(dst []float32, ds int, src []float32, ss, cols int)

func transposeAVX2(dst []float32, ds int, src []float32, ss, rows, cols int) {
	done := 0                  // rows
	beside := func(c, n int) { // what is right of the first c columns
		if c < cols {
			transposeGeneric(dst[c*ds+done:], ds, src[done*ss+c:], ss, n, cols-c)
		}
		done += n
	}
	if n, c := rows&^7, cols&^3; n > 0 && c > 0 {
		transposeBlocksAVX2(dst, ds, src, ss, n, c)
		beside(c, n)
	}
	if c := cols &^ 7; rows-done >= 4 && c > 0 {
		transposeFourAVX2(dst[done:], ds, src[done*ss:], ss, c)
		beside(c, 4)
	}
	if done < rows {
		beside(0, rows-done)
	}
}
