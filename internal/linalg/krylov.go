package linalg

import (
	"context"
	"math"
)

// krylovTolerance is the largest residual |C v - lambda v| / lambda_1 of a converged eigenvector.
// The relative error of the eigenvalue is at most as large, and about its square over the relative
// gap if neighbouring eigenvalues are well separated.
const krylovTolerance = 1e-10

// Krylov holds the leading eigenpairs found by BlockLanczos.
type Krylov struct {
	Values     []float64 // q, largest first
	Vectors    []float64 // q x dim, one unit vector per row
	Iterations int       // calls of apply
	Residual   float64   // the largest |C v - lambda v|, relative to the largest eigenvalue
}

// BlockLanczos finds the q leading eigenpairs of a symmetric positive semidefinite dim x dim
// matrix C by block Lanczos with full reorthogonalisation (Golub and Van Loan, Matrix
// Computations, 10.3.6) and a Rayleigh-Ritz step. apply sets each row of out to C times the
// same row of in. The blocks hold at least q vectors, so that up to q equal eigenvalues are
// found; they start from fixed pseudo-random numbers. The space grows until the residuals
// are small, up to the whole of R^dim, so it always converges. It stops with the error of ctx
// when ctx ends.
func BlockLanczos(ctx context.Context, dim, q int, apply func(out, in []float64)) (*Krylov, error) {
	p := &Krylov{}
	block := min(q+q%2, dim) // apply may take vectors in pairs
	var random splitMix
	basis := make([]float64, 0, 32*block*dim)
	for range block {
		basis = appendRandom(basis, dim, &random)
	}

	// columns[j] holds the projections of C basis_j to basis_0..basis_j.
	var columns [][]float64
	w := make([]float64, block*dim)
	coupling := make([]float64, block*block)
	last := block // vectors in the last block
	for check := 2 * block; ; {
		p.Iterations++
		m := len(basis) / dim
		w = w[:last*dim]
		apply(w, basis[(m-last)*dim:])
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		// Split C (last block) into its projection to the space, stored in columns, and the rest,
		// stored in coupling as coordinates in an orthonormal basis (the next block).
		clear(coupling)
		next := 0
		for i := range last {
			v := w[i*dim : (i+1)*dim]
			size := Norm(v)
			along := make([]float64, len(basis)/dim)
			for range 2 {
				for b := range along {
					f := Dot(v, basis[b*dim:(b+1)*dim])
					along[b] += f
					Axpy(-f, basis[b*dim:(b+1)*dim], v)
				}
			}
			columns = append(columns, along[:m-last+i+1])
			for b, f := range along[m:] {
				coupling[b*block+i] = f
			}
			if m+next == dim {
				continue
			}
			if rest := Norm(v); rest > size*0x1p-48 {
				coupling[next*block+i] = rest
				Scale(1/rest, v)
				basis = append(basis, v...)
			} else {
				// C maps the space to itself in this direction: continue with a random vector
				// orthogonal to it.
				basis = appendRandom(basis, dim, &random)
			}
			next++
		}

		if m >= check || next == 0 {
			check = m + m/8 + block
			values, s, err := ritz(ctx, columns)
			if err != nil {
				return nil, err
			}
			p.Residual = 0
			if values[0] > 0 {
				for i := range q {
					var sum float64
					for b := range next {
						r := Dot(coupling[b*block:b*block+last], s[i*m+m-last:(i+1)*m])
						sum += float64(r * r)
					}
					p.Residual = max(p.Residual, math.Sqrt(sum)/values[0])
				}
			}
			if p.Residual <= krylovTolerance || next == 0 {
				p.Values = values[:q:q]
				p.Vectors = make([]float64, q*dim)
				for i := range q {
					v := p.Vectors[i*dim : (i+1)*dim]
					for b := range m {
						Axpy(s[i*m+b], basis[b*dim:(b+1)*dim], v)
					}
				}
				return p, nil
			}
		}
		last = next
	}
}

// ritz solves the projected eigenproblem: columns[j] holds entries 0..j of its column j.
func ritz(ctx context.Context, columns [][]float64) (values, vectors []float64, err error) {
	m := len(columns)
	h := make([]float64, m*m)
	for j, col := range columns {
		for i, v := range col {
			h[i*m+j], h[j*m+i] = v, v
		}
	}
	return SymmetricEigen(ctx, h, m)
}

// appendRandom appends a random unit vector orthogonal to the basis, which must
// not fill the space.
func appendRandom(basis []float64, dim int, random *splitMix) []float64 {
	m := len(basis)
	basis = append(basis, make([]float64, dim)...)
	for {
		v := basis[m:]
		for j := range v {
			v[j] = random.next()
		}
		if Orthogonalise(v, basis[:m]) {
			return basis
		}
	}
}

// splitMix is the SplitMix64 generator (Steele, Lea and Flood 2014).
type splitMix uint64

// next returns a number between -1 and 1.
func (s *splitMix) next() float64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(int64(z)>>11) * 0x1p-52
}
