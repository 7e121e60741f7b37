package engine

import "math"

// The pure-Go twins of the assembly kernels, one for each, with the same signature and
// the same bits. A kernel trusts its arguments: the methods of kernels (kernels.go)
// check them.

// panelGeneric is panels of a matrix product that follow each other: tiles of rows rows, the first
// longer of them one row more (6 at most); for every row i of all tiles, j < 16, panel n
//
//	c[i*crs+16*n+j] = chain over p < k of fma(a[i*ars+p*acs], b[(n*k+p)*brs+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. brs is 16 where there are
// several panels. The rows of A of each tile begin strip floats after those of the tile before, or
// follow them if strip is 0. next[n*k*16:], from which step bytes are fetched into the cache for
// every fourth p, takes no part in it.
func panelGeneric(k int, a []float32, ars, acs, strip int, b []float32, brs int, c []float32, crs, tiles, rows, longer int, acc bool, next []float32, step, panels int) {
	for range panels {
		w := tileWalk{a: a, c: c, ars: ars, strip: strip, crs: crs, rows: rows, longer: longer}
		for range tiles {
			n := w.tile()
			sgemmGeneric6x16(k, w.a, ars, acs, b, brs, w.c, crs, n, acc, nil, 0)
			w.step(n)
		}
		b, c = b[min(k*genericNR, len(b)):], c[min(genericNR, len(c)):]
	}
}

// sgemmGeneric6x16 is one tile of a matrix product: for i < rows (1 to 6), j < 16
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p*acs], b[p*brs+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. next, from which
// step bytes are fetched into the cache for every fourth p, takes no part in it.
func sgemmGeneric6x16(k int, a []float32, ars, acs int, b []float32, brs int, c []float32, crs, rows int, acc bool, next []float32, step int) {
	if compilerFuses {
		sgemmFused6x16(k, a, ars, acs, b, brs, c, crs, rows, acc)
		return
	}
	// FMA32 written out: the partial sums stay float64 numbers that are float32 numbers,
	// and a row of B is converted once for all rows.
	var s [genericMR][genericNR]float64
	if acc {
		for i := range rows {
			for j, v := range c[i*crs : i*crs+genericNR] {
				s[i][j] = float64(v)
			}
		}
	}
	var y [genericNR]float64
	for p := range k {
		for j, v := range b[p*brs : p*brs+genericNR] {
			y[j] = float64(v)
		}
		for i := range rows {
			x := float64(a[i*ars+p*acs])
			si := &s[i]
			for j := range si {
				v := x*y[j] + si[j]
				if h := math.Float64bits(v) << 1; h<<34 == midpoint || h-1 < minNormalSum-1 {
					v = float64(fma32Rounded(float32(x), float32(y[j]), float32(si[j])))
				}
				si[j] = float64(float32(v))
			}
		}
	}
	for i := range rows {
		for j, v := range s[i] {
			c[i*crs+j] = float32(v)
		}
	}
}

// panelAtGeneric is one panel of a matrix product in which the rows of B lie anywhere, and
// may overlap: tiles of rows rows, the first longer of them one row more (6 at most); for
// every row i of all tiles, j < 16
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p*acs], b[at[p]+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise.
func panelAtGeneric(k int, a []float32, ars, acs int, b []float32, at []int32, c []float32, crs, tiles, rows, longer int, acc bool) {
	const together = 64 // inner indices, so that all tiles share a copy of their rows of B
	var copied [together * genericNR]float32
	for p0 := 0; p0 == 0 || p0 < k; p0 += together { // without inner indices, too, c is set
		n := min(together, k-p0)
		for p, o := range at[p0 : p0+n] {
			*(*[genericNR]float32)(copied[p*genericNR:]) = *(*[genericNR]float32)(b[o:])
		}
		panelGeneric(n, a[p0*acs:], ars, acs, 0, copied[:], genericNR, c, crs, tiles, rows, longer, acc || p0 > 0, nil, 0, 1)
	}
}

// transposeGeneric sets dst[j*ds+i] = src[i*ss+j] for i < rows, j < cols.
func transposeGeneric(dst []float32, ds int, src []float32, ss, rows, cols int) {
	for i := range rows {
		to := dst[i:]
		for j, v := range src[i*ss : i*ss+cols] {
			to[j*ds] = v
		}
	}
}

// reluPoolGeneric sets y (rows of w) to the largest of every 2 x 2 pixels of x (rows of 2w,
// stride apart) above 0, or +0, and which, unless it is empty, to the pixel of the four that
// is the first of the largest: 0 and 1 above, 2 and 3 below; NoPixel where y is 0.
//
// Floats above 0 are ordered as their bits are, so that the bits and, below them, 3 less
// the number of the pixel make an integer that is largest for the first of the largest; 3 is
// the integer of a 0 that comes first.
func reluPoolGeneric(y []float32, which []byte, x []float32, stride, w int) {
	const infinity = 0x7f800000<<2 | 3
	order := func(v float32, low int64) int64 { return int64(int32(math.Float32bits(v)))<<2 + low }
	finite := func(v float32, low int64) int64 { // a NaN is as 0
		if v != v {
			return low
		}
		return order(v, low)
	}
	for ; len(y) >= w && len(y) > 0; y = y[w:] {
		top, bottom := x[:2*w], x[stride:stride+2*w]
		for j := range w {
			a, b, c, d := top[2*j], top[2*j+1], bottom[2*j], bottom[2*j+1]
			k := max(3, order(a, 3), order(b, 2), order(c, 1), order(d, 0))
			if k > infinity {
				k = max(3, finite(a, 3), finite(b, 2), finite(c, 1), finite(d, 0))
			}
			y[j] = math.Float32frombits(uint32(k >> 2))
			if len(which) > 0 {
				which[j] = byte(3 - k&3 | (k>>2-1)>>63&NoPixel)
			}
		}
		if len(which) > 0 {
			which = which[w:]
		}
		if len(y) > w {
			x = x[2*stride:]
		}
	}
}

// poolBackwardGeneric hands the gradient dy of pooled pixels (rows of w) to the pixels which
// of the fours, which is NoPixel where there is none: it adds them to sums (rows of cols), and lists those that are not 0 in
// reading order of the pixels, v and where it is, at: right for every column and down for
// every row. It returns their number; at and v may be written 16 elements further.
func poolBackwardGeneric(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int) {
	pixels := [4]int{0, 1, cols, cols + 1}
	for r := range len(dy) / max(w, 1) {
		for half := range 2 {
			place := int32((2*r + half) * down)
			for j, g := range dy[r*w : (r+1)*w] {
				k := which[r*w+j]
				some := uint32(k>>2) - 1 // no bit for NoPixel, which takes -0: it adds nothing
				g = math.Float32frombits(math.Float32bits(g)&some | 1<<31&^some)
				k &= 3
				if half == 0 {
					sums[2*r*cols+2*j+pixels[k]] += g
				}
				at[n], v[n] = place+int32(k&1)*int32(right), g
				// Without branches, which would be guessed wrong.
				bits := math.Float32bits(g) << 1
				n += int((bits|-bits)>>31) & (int(k>>1) ^ half ^ 1)
				place += 2 * int32(right)
			}
		}
	}
	return n
}

// sgemmFused6x16 is sgemmGeneric6x16 where the compiler turns x*y + z of float32 into one
// instruction, which the language allows but does not promise.
func sgemmFused6x16(k int, a []float32, ars, acs int, b []float32, brs int, c []float32, crs, rows int, acc bool) {
	for i := 0; i < rows; i += 2 { // two rows of four columns at a time stay in registers
		second := 0
		if i+1 < rows {
			second = 1
		}
		a0, a1 := i*ars, (i+second)*ars
		for j := 0; j < genericNR; j += 4 {
			c0, c1 := (*[4]float32)(c[i*crs+j:]), (*[4]float32)(c[(i+second)*crs+j:])
			var s00, s01, s02, s03, s10, s11, s12, s13 float32
			if acc {
				s00, s01, s02, s03 = c0[0], c0[1], c0[2], c0[3]
				s10, s11, s12, s13 = c1[0], c1[1], c1[2], c1[3]
			}
			for p := range k {
				y := (*[4]float32)(b[p*brs+j:])
				x0, x1 := a[a0+p*acs], a[a1+p*acs]
				s00 = x0*y[0] + s00
				s01 = x0*y[1] + s01
				s02 = x0*y[2] + s02
				s03 = x0*y[3] + s03
				s10 = x1*y[0] + s10
				s11 = x1*y[1] + s11
				s12 = x1*y[2] + s12
				s13 = x1*y[3] + s13
			}
			*c0 = [4]float32{s00, s01, s02, s03}
			*c1 = [4]float32{s10, s11, s12, s13}
		}
	}
}

// compilerFuses reports whether sgemmFused6x16 has the bits of FMA32 here: on arm64,
// ppc64le, riscv64, s390x, and on amd64 from GOAMD64=v3. It is found out at start, in the
// loops themselves: (1+2^-12)^2 - (1+2^-11) is 2^-24 when it is rounded once, else 0.
var compilerFuses = func() bool {
	const rows = genericMR
	a := []float32{1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12}
	var b [genericNR]float32
	var c [rows * genericNR]float32
	for j := range b {
		b[j] = 1 + 0x1p-12
	}
	for i := range c {
		c[i] = -1 - 0x1p-11
	}
	sgemmFused6x16(1, a, 1, 1, b[:], 0, c[:], genericNR, rows, true)
	for _, v := range c {
		if v != 0x1p-24 {
			return false
		}
	}
	return true
}()

// addGeneric sets dst[j] = x[j] + y[j].
func addGeneric(dst, x, y []float32) {
	for j := range dst {
		dst[j] = x[j] + y[j]
	}
}

// subRowsGeneric sets dst[i*ds+j] = x[i*xs+j] - y[i*ys+j] for i < rows, j < n. A stride
// ys of 0 takes the same vector from every row.
func subRowsGeneric(dst []float32, ds int, x []float32, xs int, y []float32, ys, rows, n int) {
	for i := range rows {
		for j := range n {
			dst[i*ds+j] = x[i*xs+j] - y[i*ys+j]
		}
	}
}

// multiplyGeneric sets dst[j] = x[j] * y[j].
func multiplyGeneric(dst, x, y []float32) {
	for j := range dst {
		dst[j] = x[j] * y[j]
	}
}

// axpyGeneric sets y[j] = fma(a, x[j], y[j]).
func axpyGeneric(a float32, x, y []float32) {
	for j := range y {
		y[j] = FMA32(a, x[j], y[j])
	}
}

// scaleGeneric sets dst[j] = a * x[j].
func scaleGeneric(dst []float32, a float32, x []float32) {
	for j := range dst {
		dst[j] = a * x[j]
	}
}

// shiftGeneric sets dst[j] = x[j] + a.
func shiftGeneric(dst []float32, a float32, x []float32) {
	for j := range dst {
		dst[j] = x[j] + a
	}
}

// reluGeneric sets dst[j] = x[j] where x[j] > 0, and +0 elsewhere (also for NaN).
func reluGeneric(dst, x []float32) {
	for j := range dst {
		if v := x[j]; v > 0 {
			dst[j] = v
		} else {
			dst[j] = 0
		}
	}
}

// reluBackwardGeneric sets dst[j] = y[j] where x[j] > 0, and +0 elsewhere.
func reluBackwardGeneric(dst, x, y []float32) {
	for j := range dst {
		if x[j] > 0 {
			dst[j] = y[j]
		} else {
			dst[j] = 0
		}
	}
}

// normBackwardGeneric sets dst[j] = rstd * fma(-c2, x[j], y[j]-c1).
func normBackwardGeneric(dst, x, y []float32, c1, c2, rstd float32) {
	for j := range dst {
		dst[j] = rstd * FMA32(-c2, x[j], y[j]-c1)
	}
}

// adamGeneric makes one step of Adam on p with gradient g and moments m and v:
//
//	g' = clip*g
//	m  = fma(beta1, m, (1-beta1)*g')
//	v  = fma(beta2, v, (1-beta2)*(g'*g'))
//	p  = fma(-step, m/fma(sqrt(v), rbc2, eps), p)
func adamGeneric(p, g, m, v []float32, co *AdamCoefficients) {
	for j := range p {
		x := co.Clip * g[j]
		m[j] = FMA32(co.Beta1, m[j], float32(co.OneMinusBeta1*x))
		v[j] = FMA32(co.Beta2, v[j], float32(co.OneMinusBeta2*float32(x*x)))
		p[j] = FMA32(-co.Step, m[j]/FMA32(sqrt32(v[j]), co.RBC2, co.Eps), p[j])
	}
}

// sqrt32 is the square root rounded once: the float64 root of a float32, rounded
// again, is the right float32 (53 >= 2*24 + 2).
func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// lanes are the sixteen partial sums of a reduction; element j of a vector belongs to
// lane j mod 16. A vector counts as padded with +0 to a multiple of 16.
type lanes [16]float32

// sum combines the lanes in the fixed order: 8 apart, 4, 2, 1.
func (l *lanes) sum() float32 {
	for h := 8; h > 0; h /= 2 {
		for i := range h {
			l[i] += l[i+h]
		}
	}
	return l[0]
}

// dotRowsGeneric sets dst[i] = sum over j < n of x[i*xs+j]*y[i*ys+j], each lane a chain
// of fused multiply-adds.
func dotRowsGeneric(dst, x []float32, xs int, y []float32, ys, n int) {
	for i := range dst {
		var l lanes
		for j := range n {
			l[j&15] = FMA32(x[i*xs+j], y[i*ys+j], l[j&15])
		}
		l.pad(n)
		dst[i] = l.sum()
	}
}

// pad adds the +0 of the padding after n elements: it turns a lane of -0 (which an
// underflow can leave) into +0, as a vector register does.
func (l *lanes) pad(n int) {
	if n&15 != 0 {
		for j := n & 15; j < 16; j++ {
			l[j] += 0
		}
	}
}

// sqdistRowsGeneric sets dst[i] = sum over j of (x[i*xs+j] - y[j])^2.
func sqdistRowsGeneric(dst, x []float32, xs int, y []float32) {
	for i := range dst {
		var l lanes
		for j := range y {
			d := x[i*xs+j] - y[j]
			l[j&15] = FMA32(d, d, l[j&15])
		}
		l.pad(len(y))
		dst[i] = l.sum()
	}
}

// quadRowsGeneric sets dst[i] = sum over j of w[j]*(x[i*xs+j] - y[j])^2, each lane a chain
// of fma(w[j]*e, e, ...) with e = x[i*xs+j] - y[j].
func quadRowsGeneric(dst, x []float32, xs int, y, w []float32) {
	for i := range dst {
		var l lanes
		for j := range y {
			e := x[i*xs+j] - y[j]
			l[j&15] = FMA32(float32(w[j]*e), e, l[j&15])
		}
		l.pad(len(y))
		dst[i] = l.sum()
	}
}

// sumGeneric returns the sum of x.
func sumGeneric(x []float32) float32 {
	var l lanes
	for j, v := range x {
		l[j&15] += v
	}
	l.pad(len(x))
	return l.sum()
}

// expGeneric sets dst[j] = exp(x[j]).
func expGeneric(dst, x []float32) {
	for j := range dst {
		dst[j] = Exp32(x[j])
	}
}

// logGeneric sets dst[j] = log(x[j]).
func logGeneric(dst, x []float32) {
	for j := range dst {
		dst[j] = Log32(x[j])
	}
}

// gradientGeneric sets dst[j] = - sum over i < k of r[i*rs]*g[i*gs+j], a chain of fused
// multiply-adds in increasing i from +0 that leaves out every i with r[i*rs] == 0.
func gradientGeneric(dst, r []float32, rs int, g []float32, gs, k int) {
	for j := range dst {
		var s float32
		for i := range k {
			if w := r[i*rs]; w != 0 {
				s = FMA32(-w, g[i*gs+j], s)
			}
		}
		dst[j] = s
	}
}

// pullRowsGeneric sets dst[i*ds+j] = fma(-(h*t[i]), y[i*ys+j], -(r[i]*x[i*xs+j])) for
// j < n, and +0 in every row with r[i] == 0: what the rows of a precision of low rank are
// multiplied by, -r_i Z_i in the ascent (h = 0) and -N_i in the backward pass (h = 1).
func pullRowsGeneric(dst []float32, ds int, r, x []float32, xs int, t []float32, h float32, y []float32, ys, n int) {
	for i, w := range r {
		if n == 0 {
			return
		}
		row := dst[i*ds : i*ds+n]
		if w == 0 {
			clear(row)
			continue
		}
		v := h * t[i]
		for j := range row {
			row[j] = FMA32(-v, y[i*ys+j], float32(-w*x[i*xs+j]))
		}
	}
}

// pullDeltasGeneric sets, for the rows i of r and the columns j of mu,
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
func pullDeltasGeneric(w, d []float32, ld int, r, u []float32, us int, t []float32, h float32, x []float32, xs int, mu, sr, st []float32) {
	for i, ri := range r {
		v := h * t[i]
		for j, m := range mu {
			delta := x[i*xs+j] - m
			if len(d) > 0 {
				d[i*ld+j] = delta
			}
			if ri == 0 {
				w[i*ld+j] = 0
				continue
			}
			uj := u[i*us+j]
			if len(d) > 0 {
				sr[j] = FMA32(-ri, uj, sr[j])
				st[j] = FMA32(-t[i], delta, st[j])
			}
			w[i*ld+j] = FMA32(-v, delta, float32(-ri*uj))
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
			l := FMA32(-0.5, q[i*ld+b], c[i])
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
				e = Exp32(z)
			}
			q[i*ld+b] = e
			s += e
		}
		phi[b] = m + Log32(s)
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
				v = FMA32(w, s[i*ld+b], v)
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

// readGeneric returns the bitwise or of the elements of x, which it reads rounds times.
func readGeneric(x []float32, rounds int) uint32 {
	var b0, b1, b2, b3 uint32
	for range rounds {
		rest := x
		for ; len(rest) >= 8; rest = rest[8:] {
			v := (*[8]float32)(rest)
			b0 |= math.Float32bits(v[0]) | math.Float32bits(v[4])
			b1 |= math.Float32bits(v[1]) | math.Float32bits(v[5])
			b2 |= math.Float32bits(v[2]) | math.Float32bits(v[6])
			b3 |= math.Float32bits(v[3]) | math.Float32bits(v[7])
		}
		for _, v := range rest {
			b0 |= math.Float32bits(v)
		}
	}
	return b0 | b1 | b2 | b3
}

// writeGeneric sets dst[j] = a, rounds times.
func writeGeneric(dst []float32, a float32, rounds int) {
	for range rounds {
		rest := dst
		for ; len(rest) >= 8; rest = rest[8:] {
			v := (*[8]float32)(rest)
			v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7] = a, a, a, a, a, a, a, a
		}
		for j := range rest {
			rest[j] = a
		}
	}
}

// triadGeneric sets dst[j] = fma(a, y[j], x[j]), rounds times.
func triadGeneric(a float32, dst, x, y []float32, rounds int) {
	for range rounds {
		if triadFuses {
			triadFused(a, dst, x, y)
			continue
		}
		for j := range dst {
			dst[j] = FMA32(a, y[j], x[j])
		}
	}
}

// triadFused is a triad where the compiler makes one instruction of the sum.
func triadFused(a float32, dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for j := range dst {
		dst[j] = a*y[j] + x[j]
	}
}

// triadFuses reports whether it does: see compilerFuses, which says nothing of this loop.
var triadFuses = func() bool {
	x := []float32{1 + 0x1p-12, -1 - 0x1p-11, 0}
	triadFused(x[0], x[2:], x[1:2], x[:1])
	return x[2] == 0x1p-24
}()
