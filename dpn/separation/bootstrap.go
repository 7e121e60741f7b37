package separation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// drawsAtOnce is the number of draws that share a pass over the samples.
const drawsAtOnce = 16

// bootstrap holds the quantities shared by all draws from a set.
type bootstrap struct {
	e  *engine.Engine
	sc *scatter

	// unit is the power of two by which z and the class means are multiplied, so that products of
	// features stay within the range of float32. It does not change any bit of D.
	unit   float64
	z      engine.Matrix // samples minus their class mean, sorted by class
	first  []int         // first row of each class in z; the last element is n
	span   []float64     // orthonormal rows of width d: the span of the class means
	square []float64     // |z_i|^2 of each row, without its part along span
	basis  []float64     // (K-1) x K orthonormal rows, all orthogonal to sqrt(p)
	spread []float64     // estimate of Tr(S_k SSw) of each class, without the part along span
	crude  []float64     // Tr(S_k SSw) with the samples as the population, for the draws

	few    bool    // few draws, see Sampling
	order  float64 // see Sampling.Order
	blocks bool    // draws of whole blocks

	plain     float64 // D of the samples
	estimated float64 // E of the samples, +Inf if undetermined
}

// oneSampleError says that the variance of a class is unknown.
type oneSampleError struct {
	samples int
	class   int
}

func (e *oneSampleError) Error() string {
	return fmt.Sprintf("separation: %d sample in class %d: a sampling error needs at least 2", e.samples, e.class)
}

func newBootstrap(ctx context.Context, e *engine.Engine, in Input) (*bootstrap, error) {
	s, err := checked(in)
	if err != nil {
		return nil, err
	}
	sc, err := newScatter(ctx, s, e.Threads())
	if err != nil {
		return nil, err
	}
	for k, n := range sc.counts {
		if n < 2 {
			return nil, &oneSampleError{n, sc.labels[k]}
		}
	}
	dim, classes := sc.dim, len(sc.labels)
	b := &bootstrap{e: e, sc: sc, few: classes > MostQuantileClasses,
		z: engine.NewMatrix(sc.set.Len(), dim), first: make([]int, classes+1)}
	for k, n := range sc.counts {
		b.first[k+1] = b.first[k] + n
	}
	b.unit = 1
	if sc.meanSquare > 0 {
		_, exponent := math.Frexp(math.Sqrt(sc.meanSquare))
		b.unit = math.Ldexp(1, -exponent)
	}
	next := slices.Clone(b.first)
	err = blocks(ctx, s, e.Threads(), func(from int, x []float64) {
		for at := 0; at < len(x); at += dim {
			k, t := int(sc.class[from+at/dim]), x[at:at+dim]
			linalg.Axpy(-1, sc.ref, t)
			mean, row := sc.classMean(k), b.z.Row(next[k])
			for j := range row {
				row[j] = float32((t[j] - mean[j]) * b.unit)
			}
			next[k]++
		}
	})
	if err != nil {
		return nil, err
	}
	linalg.Scale(b.unit, sc.means)
	b.basis = complement(sc.weights)
	b.findSpan()
	b.spread, b.crude, _ = b.spreads(b.outside())
	var within float64
	b.order, within = b.orderRatio()
	b.blocks = b.order > leastOrder && b.order > 1+orderErrors*b.orderError(within)
	return b, nil
}

// findSpan sets span to an orthonormal basis of the differences of the class means.
func (b *bootstrap) findSpan() {
	for k := 1; k < len(b.sc.labels); k++ {
		v := slices.Clone(b.sc.classMean(k))
		linalg.Axpy(-1, b.sc.classMean(0), v)
		if linalg.Orthogonalise(v, b.span) {
			b.span = append(b.span, v...)
		}
	}
}

// outside returns z minus its projection to span, and sets square.
func (b *bootstrap) outside() engine.Matrix {
	dim := b.z.Cols
	out := engine.NewMatrix(b.z.Rows, dim)
	b.square = make([]float64, b.z.Rows)
	if b.few && len(b.span) > 0 { // many directions: the products are those of the engine
		span := engine.NewMatrix(len(b.span)/dim, dim)
		for i, v := range b.span {
			span.Data[i] = float32(v)
		}
		along := engine.NewMatrix(b.z.Rows, span.Rows)
		b.e.MatMul(along, b.z, span.T(), false)
		b.e.MatMul(out, along, span, false)
		for i := range b.z.Rows {
			row := out.Row(i)
			for j, v := range b.z.Row(i) {
				row[j] = v - row[j]
			}
			b.square[i] = dot32(row, row)
		}
		return out
	}
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

// leaveSpan subtracts from v its projection to span.
func (b *bootstrap) leaveSpan(v []float64) {
	for at := 0; at < len(b.span); at += len(v) {
		row := b.span[at : at+len(v)]
		linalg.Axpy(-linalg.Dot(v, row), row, v)
	}
}

// class returns the rows of class k of z, which is sorted by class.
func (b *bootstrap) class(z engine.Matrix, k int) engine.Matrix {
	return z.Slice(b.first[k], b.first[k+1], 0, z.Cols)
}

// spreads estimates Tr(S_k SSw) for each class from the covariances C_k of z with divisor n_k - 1,
// where SSw = sum_j p_j S_j is the covariance within classes. crude is the same trace with the
// samples as the population. The matrices are d x d, or n x n if there are fewer samples than
// features: then Tr(C_j C_k) is the sum of the squared inner products of the rows of both classes,
// divided by (n_j-1)(n_k-1). squareTraces is the sum of Tr(C_k^2).
func (b *bootstrap) spreads(z engine.Matrix) (spread, crude []float64, squareTraces float64) {
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
			b.products(own, b.class(z, k))
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
		// Srivastava's estimate subtracts from Tr(C_k^2) its bias, Tr(C_k)^2/(n_k-1).
		f := b.freedom(k)
		trace := squares(b.class(z, k)) / f
		unbiased := 0.0
		if n > 2 {
			unbiased = f * f / ((f - 1) * (f + 2)) * max(0, square[k]-trace*trace/f)
		}
		cross[k] += float64(b.sc.weights[k] * (unbiased - square[k]))
		squareTraces += square[k]
	}
	return cross, crude, squareTraces
}

// productRows are the rows whose products are added in float32.
const productRows = 8192

// products sets own to z^T z: the products of productRows rows are chains of float32, and those of more
// rows are added in float64, so that the error does not grow with the number of rows.
func (b *bootstrap) products(own, z engine.Matrix) {
	if z.Rows <= productRows {
		b.e.MatMul(own, z.T(), z, false)
		return
	}
	sum := make([]float64, len(own.Data))
	for r := 0; r < z.Rows; r += productRows {
		some := z.Slice(r, min(r+productRows, z.Rows), 0, z.Cols)
		b.e.MatMul(own, some.T(), some, false)
		for j, v := range own.Data {
			sum[j] += float64(v)
		}
	}
	for j, v := range sum {
		own.Data[j] = float32(v)
	}
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

// complement returns K-1 orthonormal rows orthogonal to sqrt(p): columns of the Householder
// reflection that maps sqrt(p) to an axis.
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

// fuzziness returns Tr(G^{+2} H) for G and H (K x K) restricted to the span of basis, and the
// largest contribution of one eigenvalue of G to it. Both are +Inf unless every eigenvalue is
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
