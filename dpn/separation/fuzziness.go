package separation

import (
	"context"
	"math"

	"dpnbench/internal/linalg"
)

// Fuzziness is the separation fuzziness of a set, with what its truncation did.
type Fuzziness struct {
	// D is Tr(SSw SSb^+), with the Moore-Penrose pseudo-inverse: the quantity of
	// He and Su. +Inf if SSb is zero but SSw is not (the limit as the class means
	// close up), NaN if both are zero (nothing varies).
	D Float
	// Product is Tr(SSw SSb), without the pseudo-inverse: another quantity, which
	// grows with both scatters and with the fourth power of the scale.
	Product float64
	// Rank is the number of eigenvalues of SSb kept, at most Classes-1. Below
	// that, some class means coincide or depend linearly on others, and D says
	// nothing of the directions that are missing.
	Rank int
	// Tolerance is the value at or below which an eigenvalue of SSb counted as
	// zero.
	Tolerance float64
	// SmallestEigenvalue is the smallest eigenvalue kept, 0 if none was. D is
	// most sensitive to this one.
	SmallestEigenvalue float64
	// BetweenTrace and WithinTrace are Tr(SSb) and Tr(SSw); their sum is the
	// total variance.
	BetweenTrace, WithinTrace float64
}

// MeasureFuzziness computes the separation fuzziness of s on the given number
// of threads (0: GOMAXPROCS). The error names what makes s unusable.
func MeasureFuzziness(s Set, threads int) (Fuzziness, error) {
	if err := s.check(threads); err != nil {
		return Fuzziness{}, err
	}
	return newScatter(s, threads).fuzziness()
}

// fuzziness works in the K x K Gram matrix G = M M^T, whose non-zero
// eigenvalues lambda_j are those of SSb = M^T M. With u_j the eigenvectors of G,
// v_j = M^T u_j / sqrt(lambda_j) are those of SSb, and
//
//	Tr(SSw SSb^+) = sum_j v_j^T SSw v_j / lambda_j
//	Tr(SSw SSb)   = sum_j v_j^T SSw v_j lambda_j
//
// so that no d x d matrix is needed: the within-class scatter enters by the
// samples' projections to at most K-1 directions.
func (sc *scatter) fuzziness() (Fuzziness, error) {
	dim, classes := sc.set.Dim, len(sc.labels)
	m := sc.deviations()
	gram := make([]float64, classes*classes)
	var f Fuzziness
	for a := range classes {
		for b := range a + 1 {
			g := linalg.Dot(m[a*dim:(a+1)*dim], m[b*dim:(b+1)*dim])
			gram[a*classes+b], gram[b*classes+a] = g, g
		}
		f.BetweenTrace += gram[a*classes+a]
	}
	lambda, u, err := linalg.SymmetricEigen(context.Background(), gram, classes)
	if err != nil {
		return Fuzziness{}, err
	}

	// Two kinds of rounding make eigenvalues of what is truly zero: that of the
	// Gram matrix, relative to the largest eigenvalue, and that of the class
	// means, relative to the data's own scale (it is the one that counts when all
	// class means are equal). Rank K-1 is the most that is possible, since the
	// rows of M weighted by sqrt(n_k/n) sum to zero.
	const eps = 0x1p-52
	rounding := float64(sc.set.Len()) * eps
	f.Tolerance = max(
		float64(max(classes, dim))*eps*max(lambda[0], 0),
		rounding*rounding*sc.meanSquare,
	)
	var directions []float64
	for j := 0; j < classes-1 && lambda[j] > f.Tolerance; j++ {
		v := make([]float64, dim)
		for k := range classes {
			linalg.Axpy(u[j*classes+k], m[k*dim:(k+1)*dim], v)
		}
		// |M^T u|^2 = u^T G u: the same eigenvalue, free of the rounding in G.
		length := linalg.Norm(v)
		lambda[j] = length * length
		linalg.Scale(1/length, v)
		directions = append(directions, v...)
		f.Rank++
		f.SmallestEigenvalue = lambda[j]
	}

	var along []float64
	f.WithinTrace, along = sc.within(directions)
	var d float64
	for j, s := range along {
		d += s / lambda[j]
		f.Product += float64(s * lambda[j])
	}
	if f.Rank == 0 {
		// The pseudo-inverse of zero is zero, which would call classes that
		// cannot be told apart perfectly separated.
		d = math.Inf(1)
		if f.WithinTrace == 0 {
			d = math.NaN()
		}
	}
	f.D = Float(d)
	return f, nil
}
