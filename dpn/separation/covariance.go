package separation

import (
	"cmp"
	"context"

	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// covariance represents the covariance matrix C = Z^T Z / n of the rows of src, where Z is src minus
// its mean row. Only matrix forms C explicitly.
type covariance struct {
	src       Source
	rows, dim int
	threads   int
	mean      []float64
}

func newCovariance(ctx context.Context, src Source, threads int) (*covariance, error) {
	c := &covariance{src: src, rows: src.Len(), dim: src.Width(), threads: threads}
	c.mean = make([]float64, c.dim)
	// The means are those of differences from the first row, so that constant features give exactly
	// 0 and a common offset costs no accuracy.
	first := make([]float64, c.dim)
	if err := src.ReadRows(first, 0); err != nil {
		return nil, err
	}
	err := blocks(ctx, src, threads, func(_ int, x []float64) {
		parallel.Each(chunkCount(c.dim, columnsPerBlock), threads, func(b int) {
			from, to := chunkBounds(c.dim, columnsPerBlock, b)
			mean, first := c.mean[from:to], first[from:to]
			for at := 0; at < len(x); at += c.dim {
				for j, v := range x[at+from : at+to] {
					mean[j] += v - first[j]
				}
			}
		})
	})
	for j := range c.mean {
		c.mean[j] = first[j] + c.mean[j]/float64(c.rows)
	}
	return c, err
}

// centre subtracts the mean row from each row of x.
func (c *covariance) centre(x []float64) {
	for at := 0; at < len(x); at += c.dim {
		linalg.Axpy(-1, c.mean, x[at:at+c.dim])
	}
}

// trace returns the total variance Tr(C).
func (c *covariance) trace(ctx context.Context) (float64, error) {
	var sums []float64
	var total float64
	err := scan(ctx, c.src, c.threads, func(n int) { sums = make([]float64, n) },
		func(slot, _ int, x []float64) {
			c.centre(x)
			for at := 0; at < len(x); at += c.dim {
				sums[slot] += linalg.Dot(x[at:at+c.dim], x[at:at+c.dim])
			}
		},
		func(slot int) {
			total += sums[slot]
			sums[slot] = 0
		})
	return total / float64(c.rows), err
}

// matrix returns C, dim x dim.
func (c *covariance) matrix(ctx context.Context) ([]float64, error) {
	out := make([]float64, c.dim*c.dim)
	err := blocks(ctx, c.src, c.threads, func(_ int, x []float64) {
		c.centre(x)
		addProducts(ctx, out, x, c.dim, c.threads)
	})
	mirror(out, c.dim, 1/float64(c.rows))
	return out, cmp.Or(err, ctx.Err())
}

// addProducts adds x^T x to the lower triangle of out, d x d. If ctx ends, the result is incomplete.
func addProducts(ctx context.Context, out, x []float64, d, threads int) {
	const band = 16 // rows of out per unit of parallel work
	parallel.Each(chunkCount(d, band), threads, func(b int) {
		from, to := chunkBounds(d, band, b)
		for at := 0; at < len(x); at += d {
			if at/d%rowsPerChunk == 0 && ctx.Err() != nil {
				return
			}
			t := x[at : at+d]
			for j := from; j < to; j++ {
				if t[j] != 0 {
					linalg.Axpy(t[j], t[:j+1], out[j*d:j*d+j+1])
				}
			}
		}
	})
}

// gramMatrix returns Z Z^T / n, rows x rows, and Z.
func (c *covariance) gramMatrix(ctx context.Context) (out, z []float64, err error) {
	n := c.rows
	z = make([]float64, n*c.dim)
	if err := c.src.ReadRows(z, 0); err != nil {
		return nil, nil, err
	}
	c.centre(z)
	out = make([]float64, n*n)
	parallel.Each(n, c.threads, func(i int) {
		for j := 0; j <= i && ctx.Err() == nil; j++ {
			out[i*n+j] = linalg.Dot(z[i*c.dim:(i+1)*c.dim], z[j*c.dim:(j+1)*c.dim])
		}
	})
	mirror(out, n, 1/float64(n))
	return out, z, ctx.Err()
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

// apply sets each row of out to C times the same row of in (both of width dim). It reads the
// features once for all rows of in, and computes both products with a row z, z . v and (z . v) z,
// while z is in the cache.
func (c *covariance) apply(ctx context.Context, out, in []float64) error {
	block := len(in) / c.dim
	clear(out)
	var sums [][]float64
	err := scan(ctx, c.src, c.threads,
		func(n int) {
			sums = make([][]float64, n)
			for i := range sums {
				sums[i] = make([]float64, len(in))
			}
		},
		func(slot, _ int, x []float64) {
			c.centre(x)
			sum := sums[slot]
			for at := 0; at < len(x); at += c.dim {
				z := x[at : at+c.dim]
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
		},
		func(slot int) {
			for j, s := range sums[slot] {
				out[j] += s
			}
			clear(sums[slot])
		})
	linalg.Scale(1/float64(c.rows), out)
	return err
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
