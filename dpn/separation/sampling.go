package separation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
	"dpnbench/internal/stat"
)

// Sampling is the sampling error of the separation fuzziness: what D would be for ever
// more samples of the same classes, and how well the samples tell.
//
// The means of n_k samples lie apart by chance even where the classes do not, which
// inflates SSb by sum_k p_k (1 - p_k) S_k / n_k, S_k being the covariance of class k. What
// that does to D depends on its direction. Outside the span of the class means it makes D
// too small, the more so the more features there are. Within the span it turns directions
// as much as it stretches them, and D becomes too large: for equal S_k by
//
//	(D^2 + 2 Tr((SSw SSb^+)^2)) / n
//
// to first order, which is all there is where d = K-1.
//
// The estimate is made in two parts. In the K x K Gram matrices
//
//	G = M M^T,   H = M SSw M^T,   D = Tr(G^{+2} H)
//
// the noise outside the span has the expectation
//
//	N_ab = sqrt(p_a p_b) (delta_ab v_a - p_a v_a - p_b v_b + sum_c p_c^2 v_c)
//
// with v_k = Tr(S_k)/n_k in G and Tr(S_k SSw)/n_k in H, of samples without their part along
// the span. Both are estimated without bias and taken off. (For the last trace, that of a
// squared covariance, the estimate is Srivastava's, J. Japan Statist. Soc. 35, 2005: unbiased
// for Gaussian classes.) That makes E. Its bias, of the order D^2/n, is measured by a
// bootstrap: samples are drawn with replacement within each class, and E is made for each
// draw. The truth of the draws is known, it is the D of the samples, and their median is
// taken to be as far from it, in log D, as E of the samples is from the truth:
//
//	Limit = E D / median(E of the draws)
//
// The interval is the basic bootstrap interval of log D, which has the quantiles of the draws
// in the place of their median, and so contains Limit.
//
// A direction whose eigenvalue lies within two standard errors of zero is undetermined. The
// standard error of sqrt(lambda_j) is sqrt(s_j/n), s_j being the variance within classes
// along it, so that this is where its share of D, s_j/lambda_j, exceeds n/4.
type Sampling struct {
	// Limit is the estimate of D for n to infinity; NaN (null) where the samples
	// cannot tell, since all of the smallest eigenvalue may be noise, in the samples or in
	// half of the draws.
	Limit Float `json:"limit"`
	// CI is the confidence interval of D for n to infinity, nil (null) without a
	// Limit. The upper end is +Inf (null) where more draws are undetermined than lie
	// beyond an end.
	CI []Float `json:"ci"`
	// Confidence is the level of CI.
	Confidence float64 `json:"confidence"`
	// Draws and Seed are those of the bootstrap, Undetermined the draws that gave no
	// estimate, because noise may be all that the smallest eigenvalue held.
	Draws        int    `json:"draws"`
	Seed         uint64 `json:"seed"`
	Undetermined int    `json:"undetermined"`
}

// BootstrapOptions are the settings of Bootstrap. The zero value is ready to use.
type BootstrapOptions struct {
	Draws      int     // samples of the samples (0: 1000)
	Seed       uint64  // of the draws: the same seed, the same bits
	Confidence float64 // level of the interval (0: 0.95)
}

func (o *BootstrapOptions) check() error {
	if o.Draws == 0 {
		o.Draws = 1000
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if o.Draws < 20 || o.Draws > 1_000_000 {
		return fmt.Errorf("separation: %d bootstrap draws: expected 20 to 1000000", o.Draws)
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return fmt.Errorf("separation: confidence %v: expected a number between 0 and 1", o.Confidence)
	}
	return nil
}

// Bootstrap estimates the sampling error of D for the samples of s. Products are those of
// e, in float32 about the class means; the rest is float64. The result has the same bits on
// every machine and for every number of threads. A class with one sample has no variance
// to estimate and is refused.
func Bootstrap(ctx context.Context, e *engine.Engine, s Set, o BootstrapOptions) (*Sampling, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b, err := newBootstrap(e, s)
	if err != nil {
		return nil, err
	}
	draws, err := b.draw(ctx, o)
	if err != nil {
		return nil, err
	}
	out := &Sampling{Limit: Float(b.limit(draws)), Confidence: o.Confidence, Draws: o.Draws, Seed: o.Seed}
	for _, d := range draws {
		if math.IsInf(d, 1) {
			out.Undetermined++
		}
	}
	if !out.Limit.IsFinite() {
		return out, nil
	}
	tail := (1 - o.Confidence) / 2
	low, high := b.against(draws, 1-tail), b.against(draws, tail)
	if float64(out.Undetermined) > tail*float64(o.Draws) {
		high = math.Inf(1)
	}
	out.CI = []Float{Float(low), Float(high)}
	return out, nil
}

// limitDraws is the number of draws behind EstimateLimit: their median adds a fortieth to
// the standard error.
const limitDraws = 2 * drawsAtOnce

// EstimateLimit returns the estimate of D for n to infinity alone (Sampling.Limit, but from
// 32 draws), which is NaN where the samples cannot tell.
func EstimateLimit(ctx context.Context, e *engine.Engine, s Set) (float64, error) {
	b, err := newBootstrap(e, s)
	if err != nil {
		return 0, err
	}
	draws, err := b.draw(ctx, BootstrapOptions{Draws: limitDraws})
	if err != nil {
		return 0, err
	}
	return b.limit(draws), nil
}

// limit returns Sampling.Limit. It sorts the draws.
func (b *bootstrap) limit(draws []float64) float64 {
	slices.Sort(draws)
	if v := b.against(draws, 0.5); v > 0 && !math.IsInf(v, 1) {
		return v
	}
	return math.NaN()
}

// against returns what the truth would be if the estimate of the samples lay as far from it
// as the q-quantile of the sorted draws lies from theirs, the D of the samples.
func (b *bootstrap) against(draws []float64, q float64) float64 {
	return b.estimated * b.plain / stat.Quantile(draws, q)
}

// bootstrap holds what all draws from a set have in common.
type bootstrap struct {
	e  *engine.Engine
	sc *scatter

	// unit is a power of two that z and the class means have been multiplied by: no bit of
	// D depends on it, and it keeps products of features within the range of float32.
	unit   float64
	z      engine.Matrix // samples less their class mean, sorted by class
	first  []int         // row of z where each class begins; a last one is n
	span   []float64     // orthonormal rows of width d: the span of the class means
	square []float64     // |z_i|^2 of each row, outside span
	basis  []float64     // (K-1) x K orthonormal rows, all orthogonal to sqrt(p)
	spread []float64     // Tr(S_k SSw) of each class, outside span
	crude  []float64     // the same of the samples, which are the population of the draws

	plain     float64 // D of the samples
	estimated float64 // E of the samples, +Inf where they cannot tell
}

func newBootstrap(e *engine.Engine, s Set) (*bootstrap, error) {
	if err := s.check(e.Threads()); err != nil {
		return nil, err
	}
	sc := newScatter(s, e.Threads())
	for k, n := range sc.counts {
		if n < 2 {
			return nil, fmt.Errorf("separation: %d sample in class %d: a sampling error needs at least 2", n, sc.labels[k])
		}
	}
	dim, classes := sc.set.Dim, len(sc.labels)
	b := &bootstrap{e: e, sc: sc, z: engine.NewMatrix(sc.set.Len(), dim), first: make([]int, classes+1)}
	for k, n := range sc.counts {
		b.first[k+1] = b.first[k] + n
	}
	b.unit = 1
	if sc.meanSquare > 0 {
		_, exponent := math.Frexp(math.Sqrt(sc.meanSquare))
		b.unit = math.Ldexp(1, -exponent)
	}
	next := slices.Clone(b.first)
	t := make([]float64, dim)
	for i, k := range sc.class {
		centreRow(t, sc.set.X[i*dim:(i+1)*dim], sc.ref)
		mean := sc.classMean(k)
		row := b.z.Row(next[k])
		for j := range row {
			t[j] = (t[j] - mean[j]) * b.unit
			row[j] = float32(t[j])
		}
		next[k]++
	}
	linalg.Scale(b.unit, sc.means)
	b.basis = complement(sc.weights)
	b.findSpan()
	b.spread, b.crude = b.spreads(b.outside())
	return b, nil
}

// findSpan sets span: the differences of class means, made orthonormal.
func (b *bootstrap) findSpan() {
	for k := 1; k < len(b.sc.labels); k++ {
		v := slices.Clone(b.sc.classMean(k))
		linalg.Axpy(-1, b.sc.classMean(0), v)
		if linalg.Orthogonalise(v, b.span) {
			b.span = append(b.span, v...)
		}
	}
}

// outside returns z without its part along span, and sets square.
func (b *bootstrap) outside() engine.Matrix {
	dim := b.z.Cols
	out := engine.NewMatrix(b.z.Rows, dim)
	b.square = make([]float64, b.z.Rows)
	parallel.Each(chunkCount(b.z.Rows, rowsPerChunk), b.e.Threads(), func(c int) {
		t := make([]float64, dim)
		from, to := chunkBounds(b.z.Rows, rowsPerChunk, c)
		for i := from; i < to; i++ {
			for j, v := range b.z.Row(i) {
				t[j] = float64(v)
			}
			b.leaveSpan(t)
			b.square[i] = linalg.Dot(t, t)
			for j, v := range t {
				out.Row(i)[j] = float32(v)
			}
		}
	})
	return out
}

// leaveSpan takes from v its part along span.
func (b *bootstrap) leaveSpan(v []float64) {
	for at := 0; at < len(b.span); at += len(v) {
		row := b.span[at : at+len(v)]
		linalg.Axpy(-linalg.Dot(v, row), row, v)
	}
}

// class returns the rows of z, sorted by class, that are of class k.
func (b *bootstrap) class(z engine.Matrix, k int) engine.Matrix {
	return z.Slice(b.first[k], b.first[k+1], 0, z.Cols)
}

// spreads estimates Tr(S_k SSw) for each class, SSw = sum_j p_j S_j being the covariance
// within classes, from the covariances C_k of z with divisor n_k - 1; crude is that of the
// samples themselves. It works with d x d matrices, or with n x n ones where samples are
// fewer than features: Tr(C_j C_k) is the sum of the squared inner products of the rows of
// both classes over (n_j-1)(n_k-1).
func (b *bootstrap) spreads(z engine.Matrix) (spread, crude []float64) {
	classes, d := len(b.sc.labels), z.Cols
	cross := make([]float64, classes)  // Tr(C_k sum_j p_j C_j)
	square := make([]float64, classes) // Tr(C_k^2)
	if z.Rows <= d {
		rows := engine.NewMatrix(z.Rows, z.Rows)
		b.e.MatMul(rows, z, z.T(), false)
		for k := range classes {
			for j := range classes {
				t := squares(rows.Slice(b.first[k], b.first[k+1], b.first[j], b.first[j+1]))
				t /= b.freedom(k) * b.freedom(j)
				cross[k] += float64(b.sc.weights[j] * t)
				if j == k {
					square[k] = t
				}
			}
		}
	} else {
		within, own := engine.NewMatrix(d, d), engine.NewMatrix(d, d)
		for k := range classes {
			z := b.class(z, k)
			b.e.MatMul(own, z.T(), z, false)
			f := b.freedom(k)
			square[k] = squares(own) / (f * f)
			weight := float32(b.sc.weights[k] / f)
			for i, v := range own.Data {
				within.Data[i] += float32(weight * v)
			}
		}
		const rows = 1024
		image := engine.NewMatrix(rows, d)
		for k := range classes {
			for r := b.first[k]; r < b.first[k+1]; r += rows {
				z := z.Slice(r, min(r+rows, b.first[k+1]), 0, d)
				to := image.Slice(0, z.Rows, 0, d)
				b.e.MatMul(to, z, within, false)
				for i := range z.Rows {
					cross[k] += dot32(z.Row(i), to.Row(i))
				}
			}
			cross[k] /= b.freedom(k)
		}
	}
	crude = slices.Clone(cross)
	for k, n := range b.sc.counts {
		crude[k] *= (b.freedom(k) / float64(n)) * (b.freedom(k) / float64(n))
		// Of Tr(C_k^2), Tr(C_k)^2/(n_k-1) is noise.
		f := b.freedom(k)
		trace := squares(b.class(z, k)) / f
		unbiased := 0.0
		if n > 2 {
			unbiased = f * f / ((f - 1) * (f + 2)) * max(0, square[k]-trace*trace/f)
		}
		cross[k] += float64(b.sc.weights[k] * (unbiased - square[k]))
	}
	return cross, crude
}

// freedom returns n_k - 1.
func (b *bootstrap) freedom(k int) float64 { return float64(b.sc.counts[k] - 1) }

// squares returns the sum of the squares of m's elements.
func squares(m engine.Matrix) float64 {
	var sum float64
	for i := range m.Rows {
		row := m.Row(i)
		sum += dot32(row, row)
	}
	return sum
}

// dot32 returns the sum of a[j]*b[j]; the products are exact.
func dot32(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1 float64
	j := 0
	for ; j+2 <= len(a); j += 2 {
		s0 += float64(float64(a[j]) * float64(b[j]))
		s1 += float64(float64(a[j+1]) * float64(b[j+1]))
	}
	if j < len(a) {
		s0 += float64(float64(a[j]) * float64(b[j]))
	}
	return s0 + s1
}

// complement returns K-1 orthonormal rows orthogonal to sqrt(p): the columns of the
// reflector that takes sqrt(p) to an axis.
func complement(p []float64) []float64 {
	n := len(p)
	v := make([]float64, n)
	for k := range v {
		v[k] = math.Sqrt(p[k])
	}
	v[0] += linalg.Norm(v)
	f := 2 / linalg.Dot(v, v)
	out := make([]float64, (n-1)*n)
	for i := 1; i < n; i++ {
		row := out[(i-1)*n : i*n]
		row[i] = 1
		linalg.Axpy(-f*v[i], v, row)
	}
	return out
}

// noise returns the matrix N of Sampling for v_k = traces[k]/n_k.
func (b *bootstrap) noise(traces []float64) []float64 {
	p, classes := b.sc.weights, len(traces)
	v := make([]float64, classes)
	var all float64
	for k := range v {
		v[k] = traces[k] / float64(b.sc.counts[k])
		all += float64(float64(p[k]*p[k]) * v[k])
	}
	out := make([]float64, classes*classes)
	for j := range classes {
		for k := range classes {
			t := all - float64(p[j]*v[j]) - float64(p[k]*v[k])
			if j == k {
				t += v[k]
			}
			out[j*classes+k] = math.Sqrt(p[j]*p[k]) * t
		}
	}
	return out
}

// fuzziness returns Tr(G^{+2} H) for G and H (K x K) within the span of basis, and the
// largest share that an eigenvalue of G has in it. Both are +Inf unless every eigenvalue is
// positive.
func (b *bootstrap) fuzziness(g, h []float64) (d, largest float64, err error) {
	m := len(b.sc.labels) - 1
	lambda, u, err := linalg.SymmetricEigen(context.Background(), b.within(g), m)
	if err != nil {
		return 0, 0, err
	}
	h = b.within(h)
	t := make([]float64, m)
	for j := range m {
		if !(lambda[j] > 0) {
			return math.Inf(1), math.Inf(1), nil
		}
		row := u[j*m : (j+1)*m]
		for a := range m {
			t[a] = linalg.Dot(h[a*m:(a+1)*m], row)
		}
		share := max(0, linalg.Dot(row, t)) / float64(lambda[j]*lambda[j])
		d += share
		largest = max(largest, share)
	}
	return d, largest, nil
}

// within returns basis a basis^T.
func (b *bootstrap) within(a []float64) []float64 {
	n := len(b.sc.labels)
	m := n - 1
	left := make([]float64, m*n) // basis a
	for i := range m {
		for k := range n {
			linalg.Axpy(b.basis[i*n+k], a[k*n:(k+1)*n], left[i*n:(i+1)*n])
		}
	}
	out := make([]float64, m*m)
	for i := range m {
		for j := range i + 1 {
			out[i*m+j] = linalg.Dot(left[i*n:(i+1)*n], b.basis[j*n:(j+1)*n])
			out[j*m+i] = out[i*m+j]
		}
	}
	return out
}

// drawsAtOnce is how many draws share a pass over the samples.
const drawsAtOnce = 16

// draw sets plain and estimated, and returns the estimate of each draw.
func (b *bootstrap) draw(ctx context.Context, o BootstrapOptions) ([]float64, error) {
	n, dim, classes := b.z.Rows, b.z.Cols, len(b.sc.labels)
	slots := max(1, min(drawsAtOnce, o.Draws))
	shifts := engine.NewMatrix(slots, classes*dim) // n_k delta_k of each draw
	means := engine.NewMatrix(slots*classes, dim)
	along := engine.NewMatrix(n, slots*classes)
	weights := engine.NewMatrix(slots, n) // how often each sample is drawn, less one
	out := make([]float64, o.Draws)
	errs := make([]error, slots)

	// The samples themselves are a draw with shift 0.
	estimate := func(draws int, f func(slot int, d draw)) {
		for k := range classes {
			w := weights.Slice(0, draws, b.first[k], b.first[k+1])
			b.e.MatMul(shifts.Slice(0, draws, k*dim, (k+1)*dim), w, b.class(b.z, k), false)
		}
		list := make([]draw, draws)
		parallel.Each(draws, b.e.Threads(), func(s int) { list[s] = b.moved(weights.Row(s), shifts.Row(s), means, s) })
		some := means.Slice(0, draws*classes, 0, dim)
		b.e.MatMul(along.Slice(0, n, 0, draws*classes), b.z, some.T(), false)
		parallel.Each(draws, b.e.Threads(), func(s int) {
			list[s].scatter(b, along.Slice(0, n, s*classes, (s+1)*classes))
			f(s, list[s])
		})
	}

	estimate(1, func(_ int, d draw) {
		if b.plain, _, errs[0] = b.fuzziness(d.g, d.h); errs[0] != nil {
			return
		}
		b.estimated, errs[0] = b.estimate(d, b.spread)
	})
	if errs[0] != nil {
		return nil, errs[0]
	}

	for at := 0; at < o.Draws; at += slots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		draws := min(slots, o.Draws-at)
		parallel.Each(draws, b.e.Threads(), func(s int) {
			r := num.NewRand(o.Seed, uint64(at+s))
			w := weights.Row(s)
			for i := range w {
				w[i] = -1
			}
			for k, count := range b.sc.counts {
				for range count {
					w[b.first[k]+r.Intn(count)]++
				}
			}
		})
		estimate(draws, func(s int, d draw) { out[at+s], errs[s] = b.estimate(d, b.crude) })
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// draw is the moments of one draw.
type draw struct {
	weights []float32 // less one
	means   []float64 // K x d, M of the draw: sqrt(p_k) (m_k - m)
	shift   []float64 // K x d, what the draw moved each class mean by
	traces  []float64 // Tr(C_k) outside the span of the samples' means, with divisor n_k - 1
	g, h    []float64 // K x K, without any correction (divisor n_k)
	sharp   []float64 // K x K, H from covariances with divisor n_k - 1
}

// moved returns the draw whose class means have moved by shifts/n_k, and writes its M to
// the rows of slot s in means.
func (b *bootstrap) moved(weights, shifts []float32, means engine.Matrix, s int) draw {
	dim, classes := b.z.Cols, len(b.sc.labels)
	d := draw{weights: weights, traces: make([]float64, classes),
		means: make([]float64, classes*dim), shift: make([]float64, classes*dim), g: make([]float64, classes*classes)}
	mean := make([]float64, dim)
	for k, p := range b.sc.weights {
		shift, m := d.shift[k*dim:(k+1)*dim], d.means[k*dim:(k+1)*dim]
		for j, v := range shifts[k*dim : (k+1)*dim] {
			shift[j] = float64(v) / float64(b.sc.counts[k])
			m[j] = b.sc.classMean(k)[j] + shift[j]
		}
		linalg.Axpy(p, m, mean)
		for i := b.first[k]; i < b.first[k+1]; i++ {
			d.traces[k] += float64(float64(1+weights[i]) * b.square[i])
		}
		n := float64(b.sc.counts[k])
		outside := slices.Clone(shift)
		b.leaveSpan(outside)
		d.traces[k] = (d.traces[k] - float64(n*linalg.Dot(outside, outside))) / (n - 1)
	}
	for k, p := range b.sc.weights {
		m := d.means[k*dim : (k+1)*dim]
		linalg.Axpy(-1, mean, m)
		linalg.Scale(math.Sqrt(p), m)
		row := means.Row(s*classes + k)
		for j, v := range m {
			row[j] = float32(v)
		}
		for j := range k + 1 {
			g := linalg.Dot(m, d.means[j*dim:(j+1)*dim])
			d.g[k*classes+j], d.g[j*classes+k] = g, g
		}
	}
	return d
}

// scatter sets H of the draw from the samples' products with its M.
func (d *draw) scatter(b *bootstrap, along engine.Matrix) {
	dim, classes := b.z.Cols, len(b.sc.labels)
	d.h, d.sharp = make([]float64, classes*classes), make([]float64, classes*classes)
	own := make([]float64, classes*classes)
	t := make([]float64, classes)
	for k, p := range b.sc.weights {
		clear(own)
		for i := b.first[k]; i < b.first[k+1]; i++ {
			w := float64(1 + d.weights[i])
			if w == 0 {
				continue
			}
			row := along.Row(i)
			for x, v := range row {
				f := w * float64(v)
				to := own[x*classes : x*classes+x+1]
				for y := range to {
					to[y] += float64(f * float64(row[y]))
				}
			}
		}
		n := float64(b.sc.counts[k])
		for a := range t {
			t[a] = linalg.Dot(d.means[a*dim:(a+1)*dim], d.shift[k*dim:(k+1)*dim])
		}
		for x := range classes {
			for y := range x + 1 {
				c := own[x*classes+y] - float64(n*float64(t[x]*t[y]))
				d.h[x*classes+y] += float64(p * (c / n))
				d.sharp[x*classes+y] += float64(p * (c / (n - 1)))
			}
		}
	}
	for _, m := range [][]float64{d.h, d.sharp} {
		for x := range classes {
			for y := range x {
				m[y*classes+x] = m[x*classes+y]
			}
		}
	}
}

// estimate returns the estimate E of a draw (see Sampling), Tr(S_k SSw) being spread, and
// +Inf where the draw cannot tell.
func (b *bootstrap) estimate(d draw, spread []float64) (float64, error) {
	if len(b.span) < (len(b.sc.labels)-1)*b.z.Cols {
		return math.Inf(1), nil // what G has of the other directions is rounding
	}
	g, h := slices.Clone(d.g), slices.Clone(d.sharp)
	linalg.Axpy(-1, b.noise(d.traces), g)
	linalg.Axpy(-1, b.noise(spread), h)
	e, largest, err := b.fuzziness(g, h)
	if largest > float64(b.z.Rows)/4 {
		e = math.Inf(1)
	}
	return e, err
}
