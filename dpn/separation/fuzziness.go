package separation

import (
	"context"
	"math"

	"dpnbench/internal/linalg"
)

// Fuzziness is the separation fuzziness of a set, with details of the truncation of the pseudo-inverse.
type Fuzziness struct {
	// D is Tr(SSw SSb^+), with the Moore-Penrose pseudo-inverse, as defined by He and Su. It is
	// +Inf if only SSb is zero (the limit as the class means approach each other), and NaN if SSw
	// is zero, too (no feature varies).
	D Float
	// Product is Tr(SSw SSb), without the pseudo-inverse. It grows with both scatters, and with the
	// fourth power of the scale of the features.
	Product float64
	// Rank is the number of eigenvalues of SSb kept, at most Classes-1. If it is lower, some class
	// means coincide or depend linearly on others, and D does not include the missing directions.
	Rank int
	// Tolerance is the bound at or below which an eigenvalue of SSb counts as zero.
	Tolerance float64
	// SmallestEigenvalue is the smallest eigenvalue kept, or 0. D is most sensitive to it.
	SmallestEigenvalue float64
	// BetweenTrace and WithinTrace are Tr(SSb) and Tr(SSw); their sum is the
	// total variance.
	BetweenTrace, WithinTrace float64
}

// MeasureFuzziness computes the separation fuzziness on the given number of threads (0:
// GOMAXPROCS). The error says why the samples are unusable.
func MeasureFuzziness(in Input, threads int) (Fuzziness, error) {
	s, err := checked(in)
	if err != nil {
		return Fuzziness{}, err
	}
	sc, err := newScatter(context.Background(), s, threads)
	if err != nil {
		return Fuzziness{}, err
	}
	return sc.fuzziness()
}

// fuzziness returns the fuzziness of the classes with the weights of sc.
func (sc *scatter) fuzziness() (Fuzziness, error) {
	s, err := sc.spectrum()
	if err != nil {
		return Fuzziness{}, err
	}
	_, _, err = sc.within([]*weighting{s}, false)
	return s.Fuzziness, err
}

// weighting is D of classes of some weights: the eigenvalues of SSb that count, with their eigenvectors (rows of
// width dim). Its Fuzziness lacks what depends on SSw until within sets it.
type weighting struct {
	Fuzziness
	lambda, directions []float64
	along              []float64 // v^T SSw v of each direction v
	weights            []float64 // of a row of each class; 1 if classes have weights n_k/n
}

// spectrum works in the K x K Gram matrix G = M M^T, whose non-zero
// eigenvalues lambda_j are those of SSb = M^T M. With u_j the eigenvectors of G,
// v_j = M^T u_j / sqrt(lambda_j) are those of SSb, and
//
//	Tr(SSw SSb^+) = sum_j v_j^T SSw v_j / lambda_j
//	Tr(SSw SSb)   = sum_j v_j^T SSw v_j lambda_j
//
// so no d x d matrix is needed: SSw is only applied to at most K-1 directions, by projecting the
// samples to them.
func (sc *scatter) spectrum() (*weighting, error) {
	dim, classes := sc.dim, len(sc.labels)
	m := sc.deviations()
	gram := products(m, m, dim)
	f := &weighting{weights: make([]float64, classes)}
	for k, count := range sc.counts {
		f.BetweenTrace += gram[k*classes+k]
		f.weights[k] = sc.weights[k] / (float64(count) / float64(sc.set.Len()))
	}
	lambda, u, err := linalg.SymmetricEigen(sc.ctx, gram, classes)
	if err != nil {
		return nil, err
	}
	f.lambda = lambda

	// Two kinds of rounding errors turn a zero eigenvalue into a positive one: those of the Gram
	// matrix, relative to the largest eigenvalue, and those of the class means, relative to the
	// scale of the data (which matter if all class means are equal). The rank is at most K-1,
	// because the rows of M weighted by sqrt(n_k/n) sum to zero.
	const eps = 0x1p-52
	rounding := float64(sc.set.Len()) * eps
	f.Tolerance = max(
		float64(max(classes, dim))*eps*max(lambda[0], 0),
		rounding*rounding*sc.meanSquare,
	)
	for j := 0; j < classes-1 && lambda[j] > f.Tolerance; j++ {
		v := make([]float64, dim)
		for k := range classes {
			linalg.Axpy(u[j*classes+k], m[k*dim:(k+1)*dim], v)
		}
		// |M^T u|^2 = u^T G u is the same eigenvalue without the rounding errors of G.
		length := linalg.Norm(v)
		lambda[j] = length * length
		linalg.Scale(1/length, v)
		f.directions = append(f.directions, v...)
		f.Rank++
		f.SmallestEigenvalue = lambda[j]
	}
	return f, nil
}

// set sets what depends on SSw: its trace, and v^T SSw v along the directions.
func (f *weighting) set(trace float64, along []float64) {
	f.WithinTrace, f.along = trace, along
	var d float64
	for j, s := range along {
		d += s / f.lambda[j]
		f.Product += float64(s * f.lambda[j])
	}
	if f.Rank == 0 {
		// The pseudo-inverse of zero is zero, so D would be 0, as for perfectly separated classes.
		d = math.Inf(1)
		if f.WithinTrace == 0 {
			d = math.NaN()
		}
	}
	f.D = Float(d)
}
