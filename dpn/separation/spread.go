package separation

import (
	"cmp"
	"math"
	"slices"

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
	// ProbeAccuracy is the accuracy of a linear probe: linear discriminant analysis with the class
	// shares as priors, and the covariance within classes shrunk as by Ledoit and Wolf (J. Multivariate
	// Anal. 88, 2004), so that it needs no setting. It is trained on all samples and scored on those of
	// the test; without a test it is trained on 4/5 of each class and scored on ProbeSamples, every
	// fifth of a class.
	ProbeAccuracy float64 `json:"probe_accuracy"`
	ProbeSamples  int     `json:"probe_samples"`
	// Shrinkage is the weight of the multiple of the identity in that covariance.
	Shrinkage float64 `json:"probe_shrinkage"`
}

// MostSpreadWidth is the largest width of features for a Spread, whose matrices have Width^2 numbers.
const MostSpreadWidth = 8192

// heldOut is the share of each class that the linear probe is scored on: one in so many.
const heldOut = 5

// spread measures the samples of sc. test is nil, or other samples that the probe is scored on.
func (sc *scatter) spread(e *engine.Engine, rank int, test *Samples) (*Spread, error) {
	train, score := sc, test
	if test == nil {
		var in, out []int
		seen := make([]int, len(sc.labels))
		for i, k := range sc.class {
			if seen[k]++; seen[k]%heldOut == 0 {
				out = append(out, i)
			} else {
				in = append(in, i)
			}
		}
		if len(out) > 0 {
			held := sc.set.rows(out)
			score = &held
			var err error
			if train, err = newScatter(sc.ctx, sc.set.rows(in), sc.threads); err != nil {
				return nil, err
			}
		}
	}
	w, err := train.covarianceWithin(e)
	if err != nil {
		return nil, err
	}
	out := &Spread{}
	if score != nil {
		probe, shrinkage := train.discriminants(w)
		s, err := train.score(*score, probe)
		if err != nil {
			return nil, err
		}
		out.ProbeAccuracy, out.ProbeSamples, out.Shrinkage = s.classifier, score.Len(), shrinkage
	}
	if train != sc {
		if w, err = sc.covarianceWithin(e); err != nil {
			return nil, err
		}
	}
	index, err := sc.collapseIndex(w, rank)
	out.VariabilityCollapse = Float(index)
	return out, err
}

// exactProducts is the largest n d^2 for which SSw is computed in float64, which takes some ten seconds.
const exactProducts = 1 << 36

// within is SSw of the classes weighted by n_k/n, with what a Spread needs to know of it.
type within struct {
	w        []float64
	fourth   float64 // the mean of |x - m_k|^4
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
		squares := make([]float64, len(x)/dim)
		parallel.Each(len(squares), sc.threads, func(i int) {
			t := x[i*dim : (i+1)*dim]
			linalg.Axpy(-1, sc.ref, t)
			linalg.Axpy(-1, sc.classMean(int(sc.class[from+i])), t)
			s := linalg.Dot(t, t)
			squares[i] = s * s
		})
		for _, s := range squares {
			out.fourth += s / n
		}
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
			w[i*n+i] = v + part*scale
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

// discriminants returns the linear probe, and the shrinkage of SSw.
func (sc *scatter) discriminants(v *within) (*Classifier, float64) {
	dim, classes, w := sc.dim, len(sc.labels), slices.Clone(v.w)
	scale := trace(w, dim) / float64(dim)
	var squares float64 // |SSw|^2
	for i := range dim {
		squares += linalg.Dot(w[i*dim:(i+1)*dim], w[i*dim:(i+1)*dim])
	}
	shrinkage := 1.0
	if distance := squares - float64(dim)*scale*scale; distance > 0 {
		shrinkage = min(1, max(0, v.fourth-squares)/float64(sc.set.Len())/distance)
	}
	for i := range w {
		w[i] *= 1 - shrinkage
	}
	if scale == 0 {
		scale = 1 // the nearest mean
	}
	c := &Classifier{Dim: dim, Weights: slices.Clone(sc.means), Bias: make([]float64, classes)}
	sc.factor(w, max(shrinkage, v.rounding), scale)
	parallel.Each(classes, sc.threads, func(k int) {
		row := c.Weights[k*dim : (k+1)*dim]
		linalg.SolveLower(w, dim, row, 0)
		linalg.SolveLowerT(w, dim, row)
		// Means and rows are relative to ref, the classified features are not.
		c.Bias[k] = math.Log(sc.weights[k]) - linalg.Dot(row, sc.classMean(k))/2 - linalg.Dot(row, sc.ref)
	})
	return c, shrinkage
}
