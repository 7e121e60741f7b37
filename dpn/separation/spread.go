package separation

import (
	"cmp"
	"math"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// Spread is the statistics that need the whole covariance matrix within classes.
type Spread struct {
	// VariabilityCollapse is the index 1 - Tr(SSt^+ SSb)/rank(SSb) of Xu and Liu (ICML 2023), where
	// SSt = SSw + SSb: 0 if the classes have collapsed to their means, near 1 if the means are lost in
	// the spread. It is near 0, too, where there are no more samples than features. It is computed as
	// the mean of 1/(1 + g) over the eigenvalues g of SSb SSw^-1 that are not 0, with 2^-40 of the mean
	// eigenvalue added to SSw, the size of its rounding errors; 2^-20 if n Width^2 is above 2^36, where
	// its products are in float32.
	VariabilityCollapse Float `json:"variability_collapse"`
}

// MostSpreadWidth is the largest width of features for a Spread, whose matrices have Width^2 numbers.
const MostSpreadWidth = 8192

// exactProducts is the largest n d^2 for which SSw is computed in float64, which takes some ten seconds.
const exactProducts = 1 << 36

// within is SSw of the classes weighted by n_k/n, with what a Spread needs to know of it.
type within struct {
	w        []float64
	rounding float64 // of w, relative to its mean eigenvalue
}

// covarianceWithin returns SSw, from differences in float64. Their products are computed in float64 up to
// exactProducts, beyond that by the engine.
func (sc *scatter) covarianceWithin(e *engine.Engine) (*within, error) {
	dim, n := sc.dim, float64(sc.set.Len())
	out := &within{w: make([]float64, dim*dim), rounding: 0x1p-40}
	add := func(x []float64) { addProducts(sc.ctx, out.w, x, dim, sc.threads) }
	if n*float64(dim)*float64(dim) > exactProducts {
		add, out.rounding = sc.engineProducts(e, out.w), 0x1p-20
	}
	err := blocks(sc.ctx, sc.set, sc.threads, func(from int, x []float64) {
		rows := len(x) / dim
		parallel.Each(chunkCount(rows, rowsPerChunk), sc.threads, func(c int) {
			lo, hi := chunkBounds(rows, rowsPerChunk, c)
			for i := lo; i < hi; i++ {
				t := x[i*dim : (i+1)*dim]
				linalg.Axpy(-1, sc.ref, t)
				linalg.Axpy(-1, sc.classMean(int(sc.class[from+i])), t)
			}
		})
		add(x)
	})
	mirror(out.w, dim, 1/n)
	return out, cmp.Or(err, sc.ctx.Err())
}

// Rows of features whose products are added in float32, by one chain for each element of the matrix (such
// sums are added in float64), and columns of the matrix that are computed at a time, at and below its diagonal.
const (
	spreadRows    = 256
	spreadColumns = 512
)

// engineProducts returns a function that adds x^T x to the lower triangle of w, from x rounded to float32.
func (sc *scatter) engineProducts(e *engine.Engine, w []float64) func(x []float64) {
	dim := sc.dim
	unit := 1.0 // a power of two that brings the features into the range of float32
	if sc.meanSquare > 0 {
		_, exponent := math.Frexp(math.Sqrt(sc.meanSquare))
		unit = math.Ldexp(1, -exponent)
	}
	sum := engine.NewMatrix(dim, min(dim, spreadColumns))
	return func(x []float64) {
		for len(x) > 0 {
			z := engine.NewMatrix(min(spreadRows, len(x)/dim), dim)
			for i := range z.Data {
				z.Data[i] = float32(x[i] * unit)
			}
			x = x[len(z.Data):]
			for j := 0; j < dim; j += spreadColumns {
				cols := min(spreadColumns, dim-j)
				part := sum.Slice(0, dim-j, 0, cols)
				e.MatMul(part, z.Slice(0, z.Rows, j, dim).T(), z.Slice(0, z.Rows, j, j+cols), false)
				parallel.Each(dim-j, sc.threads, func(i int) {
					to := w[(j+i)*dim+j : (j+i)*dim+j+cols]
					for k, v := range part.Row(i) {
						to[k] += float64(v) / (unit * unit)
					}
				})
			}
		}
	}
}

// trace returns the sum of the diagonal of a.
func trace(a []float64, n int) float64 {
	var sum float64
	for i := range n {
		sum += a[i*n+i]
	}
	return sum
}

// factor replaces the lower triangle of the symmetric matrix w by its Cholesky factor, after adding a multiple of
// scale to the diagonal: part, or as much more as makes it positive definite.
func (sc *scatter) factor(w []float64, part, scale float64) {
	n := sc.dim
	diagonal := make([]float64, n)
	for i := range diagonal {
		diagonal[i] = w[i*n+i]
	}
	for ; ; part *= 8 {
		for i, v := range diagonal {
			copy(w[i*n:i*n+i], column(w, n, i))
			w[i*n+i] = v + float64(part*scale)
		}
		if linalg.CholeskyBlocks(w, n, sc.threads) || part > 1 {
			return
		}
	}
}

// column returns the elements of column i above the diagonal.
func column(w []float64, n, i int) []float64 {
	out := make([]float64, i)
	for j := range out {
		out[j] = w[j*n+i]
	}
	return out
}

// collapseIndex is Spread.VariabilityCollapse. It overwrites SSw.
func (sc *scatter) collapseIndex(v *within, rank int) (float64, error) {
	dim, classes, w := sc.dim, len(sc.labels), v.w
	scale := trace(w, dim) / float64(dim)
	if rank == 0 {
		return math.NaN(), nil
	}
	if scale == 0 {
		return 0, nil
	}
	sc.factor(w, v.rounding, scale)
	// With L L^T = SSw the eigenvalues are those of Y Y^T, where Y has the rows L^-1 of M's.
	y := sc.deviations()
	parallel.Each(classes, sc.threads, func(k int) { linalg.SolveLower(w, dim, y[k*dim:(k+1)*dim], 0) })
	g, err := linalg.Eigenvalues(products(y, y, dim), classes)
	if err != nil {
		return 0, err
	}
	var index float64
	for _, v := range g[:rank] {
		index += 1 / (1 + max(v, 0)) / float64(rank)
	}
	return index, nil
}

// leading returns the q leading principal components from SSw and the class means.
func (sc *scatter) leading(w []float64, between float64, q int) (*PCA, error) {
	dim := sc.dim
	p := &PCA{Dim: dim, Mean: append([]float64(nil), sc.ref...), TotalVariance: trace(w, dim) + between,
		Method: "krylov"}
	linalg.Axpy(1, sc.mean, p.Mean)
	m := sc.deviations()
	err := p.krylov(sc.ctx, q, func(out, in []float64) error {
		parallel.Each(chunkCount(dim, columnsPerBlock), sc.threads, func(c int) {
			from, to := chunkBounds(dim, columnsPerBlock, c)
			for at := 0; at < len(in); at += dim {
				for j := from; j < to; j++ {
					out[at+j] = linalg.Dot(w[j*dim:(j+1)*dim], in[at:at+dim])
				}
			}
		})
		for at := 0; at < len(in); at += dim { // SSb = M^T M
			for k := range sc.labels {
				row := m[k*dim : (k+1)*dim]
				linalg.Axpy(linalg.Dot(row, in[at:at+dim]), row, out[at:at+dim])
			}
		}
		return nil
	})
	if err == nil {
		p.finish()
	}
	return p, err
}
