package separation

import (
	"context"

	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// covariance represents the covariance matrix C = Z^T Z / n of the rows of x, where Z is x minus
// its mean row. Only matrix forms C explicitly.
type covariance struct {
	x         []float32
	rows, dim int
	threads   int
	mean      []float64
}

func newCovariance(x []float32, dim, threads int) *covariance {
	c := &covariance{x: x, rows: len(x) / dim, dim: dim, threads: threads, mean: make([]float64, dim)}
	// The means are those of differences from the first row, so that constant features give exactly
	// 0 and a common offset costs no accuracy.
	parallel.Each(chunkCount(dim, columnsPerBlock), threads, func(b int) {
		from, to := chunkBounds(dim, columnsPerBlock, b)
		mean, first := c.mean[from:to], x[from:to]
		for i := range c.rows {
			for j, v := range x[i*dim+from : i*dim+to] {
				mean[j] += float64(v) - float64(first[j])
			}
		}
		for j := range mean {
			mean[j] = float64(first[j]) + mean[j]/float64(c.rows)
		}
	})
	return c
}

// row writes row i of Z to t.
func (c *covariance) row(t []float64, i int) {
	centreRow(t, c.x[i*c.dim:(i+1)*c.dim], c.mean)
}

// trace returns the total variance Tr(C).
func (c *covariance) trace() float64 {
	chunks := chunkCount(c.rows, rowsPerChunk)
	sums := make([]float64, chunks)
	parallel.Each(chunks, c.threads, func(k int) {
		t := make([]float64, c.dim)
		from, to := chunkBounds(c.rows, rowsPerChunk, k)
		for i := from; i < to; i++ {
			c.row(t, i)
			sums[k] += linalg.Dot(t, t)
		}
	})
	var total float64
	for _, s := range sums {
		total += s
	}
	return total / float64(c.rows)
}

// matrix returns C, dim x dim. If ctx ends, the result is incomplete.
func (c *covariance) matrix(ctx context.Context) []float64 {
	const band = 16 // rows of C per unit of parallel work
	d := c.dim
	out := make([]float64, d*d)
	parallel.Each(chunkCount(d, band), c.threads, func(b int) {
		from, to := chunkBounds(d, band, b)
		t := make([]float64, d)
		for i := range c.rows {
			if i%rowsPerChunk == 0 && ctx.Err() != nil {
				return
			}
			c.row(t, i)
			for j := from; j < to; j++ {
				if t[j] != 0 {
					linalg.Axpy(t[j], t[:j+1], out[j*d:j*d+j+1])
				}
			}
		}
	})
	mirror(out, d, 1/float64(c.rows))
	return out
}

// gramMatrix returns Z Z^T / n, rows x rows. If ctx ends, the result is incomplete.
func (c *covariance) gramMatrix(ctx context.Context) []float64 {
	n := c.rows
	z := make([]float64, n*c.dim)
	for i := range n {
		c.row(z[i*c.dim:(i+1)*c.dim], i)
	}
	out := make([]float64, n*n)
	parallel.Each(n, c.threads, func(i int) {
		for j := 0; j <= i && ctx.Err() == nil; j++ {
			out[i*n+j] = linalg.Dot(z[i*c.dim:(i+1)*c.dim], z[j*c.dim:(j+1)*c.dim])
		}
	})
	mirror(out, n, 1/float64(n))
	return out
}

// mirror multiplies the lower triangle of the n x n matrix a by f and copies it
// to the upper one.
func mirror(a []float64, n int, f float64) {
	for i := range n {
		for j := range i + 1 {
			a[i*n+j] *= f
			a[j*n+i] = a[i*n+j]
		}
	}
}

// combineRows sets v to Z^T weights.
func (c *covariance) combineRows(v, weights []float64) {
	clear(v)
	t := make([]float64, c.dim)
	for i, w := range weights {
		c.row(t, i)
		linalg.Axpy(w, t, v)
	}
}

// apply sets each row of out to C times the same row of in (both of width dim). It reads the
// features once for all rows of in, and computes both products with a row z, z . v and (z . v) z,
// while z is in the cache.
func (c *covariance) apply(out, in []float64) {
	size := len(in)
	block := size / c.dim
	chunks := chunkCount(c.rows, rowsPerChunk)
	sums := make([]float64, chunks*size)
	parallel.Each(chunks, c.threads, func(k int) {
		sum := sums[k*size : (k+1)*size]
		z := make([]float64, c.dim)
		from, to := chunkBounds(c.rows, rowsPerChunk, k)
		for i := from; i < to; i++ {
			c.row(z, i)
			b := 0
			for ; b+2 <= block; b += 2 {
				u0, u1 := b*c.dim, (b+1)*c.dim
				f0, f1 := dotPair(z, in[u0:u0+c.dim], in[u1:u1+c.dim])
				axpyPair(f0, f1, z, sum[u0:u0+c.dim], sum[u1:u1+c.dim])
			}
			if b < block {
				u := b * c.dim
				linalg.Axpy(linalg.Dot(z, in[u:u+c.dim]), z, sum[u:u+c.dim])
			}
		}
	})
	clear(out)
	for k := range chunks {
		for j, s := range sums[k*size : (k+1)*size] {
			out[j] += s
		}
	}
	linalg.Scale(1/float64(c.rows), out)
}

// dotPair returns z . a and z . b, each in two interleaved partial sums.
func dotPair(z, a, b []float64) (float64, float64) {
	a, b = a[:len(z)], b[:len(z)]
	var a0, a1, b0, b1 float64
	j := 0
	for ; j+2 <= len(z); j += 2 {
		u, v := z[j], z[j+1]
		a0 += float64(u * a[j])
		b0 += float64(u * b[j])
		a1 += float64(v * a[j+1])
		b1 += float64(v * b[j+1])
	}
	if j < len(z) {
		a0 += float64(z[j] * a[j])
		b0 += float64(z[j] * b[j])
	}
	return a0 + a1, b0 + b1
}

// axpyPair adds f times z to a and g times z to b.
func axpyPair(f, g float64, z, a, b []float64) {
	a, b = a[:len(z)], b[:len(z)]
	for j, v := range z {
		a[j] += float64(f * v)
		b[j] += float64(g * v)
	}
}
