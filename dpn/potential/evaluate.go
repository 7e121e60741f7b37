package potential

import (
	"context"
	"fmt"
	"math"

	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// Evaluation is the potential in float64 at n points.
type Evaluation struct {
	Phi      []float64 // n
	R        []float64 // n x k, responsibilities, without the floor of the engine
	Gradient []float64 // n x d, grad phi
}

// pointsAtOnce is the number of points that share a row of P_i while it is in the cache.
const pointsAtOnce = 8

// Evaluate64 computes phi, r and grad phi at the rows of x (n x d) in float64, straight from
// their formulas: the reference for the engine's float32. It needs the memory of
// one P_i a thread. The result is for reporting: it uses math.Exp, which may differ in the
// last bit between machines. For any number of threads the bits are the same.
func (p *Potential) Evaluate64(ctx context.Context, x []float64, threads int) (*Evaluation, error) {
	p.check("Evaluate64")
	d, k := p.D, p.K
	if len(x)%d != 0 {
		return nil, fmt.Errorf("%d numbers are no points of %d features", len(x), d)
	}
	n := len(x) / d
	ev := &Evaluation{Phi: make([]float64, n), R: make([]float64, n*k), Gradient: make([]float64, n*d)}
	top, sum := make([]float64, n), make([]float64, n) // of l_i so far: the largest, and sum_i exp(l_i - top)
	for b := range top {
		top[b] = math.Inf(-1)
	}
	threads = max(threads, 1)
	precisions := make([][]float64, threads)
	for i0 := 0; i0 < k; i0 += threads {
		some := precisions[:min(threads, k-i0)]
		err := parallel.ForEach(ctx, len(some), threads, func(i int) error {
			some[i] = p.form.precision(ctx, i0+i)
			return nil
		})
		if err != nil {
			return nil, err
		}
		blocks := (n + pointsAtOnce - 1) / pointsAtOnce
		err = parallel.ForEach(ctx, blocks, threads, func(block int) error {
			b0, b1 := block*pointsAtOnce, min((block+1)*pointsAtOnce, n)
			delta, g := make([]float64, (b1-b0)*d), make([]float64, (b1-b0)*d)
			for i := range some {
				p.pull(g, delta, x[b0*d:b1*d], some[i], i0+i)
				for b := b0; b < b1; b++ {
					at := (b - b0) * d
					l := float64(p.c.Data[i0+i]) - linalg.Dot(g[at:at+d], delta[at:at+d])/2
					ev.R[b*k+i0+i] = l
					total := ev.Gradient[b*d : (b+1)*d]
					w := math.Exp(l - top[b])
					if l > top[b] { // what was summed up so far counts for less
						f := math.Exp(top[b] - l)
						for j := range total {
							total[j] *= f
						}
						sum[b], top[b], w = sum[b]*f, l, 1
					}
					sum[b] += w
					if w != 0 {
						linalg.Axpy(-w, g[at:at+d], total)
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for b := range n {
		ev.Phi[b] = top[b] + math.Log(sum[b])
		for i := range k {
			ev.R[b*k+i] = math.Exp(ev.R[b*k+i] - ev.Phi[b])
		}
		for j := b * d; j < (b+1)*d; j++ {
			ev.Gradient[j] /= sum[b]
		}
	}
	return ev, nil
}

// pull sets delta to x - mu_i and g to G_i = (x - mu_i) P_i for the points x.
func (p *Potential) pull(g, delta, x, precision []float64, i int) {
	d := p.D
	mu := p.mu.Data[i*d : (i+1)*d]
	for at := 0; at < len(x); at += d {
		for j, m := range mu {
			delta[at+j] = x[at+j] - float64(m)
		}
	}
	for j := range d {
		row := precision[j*d : (j+1)*d]
		for at := 0; at < len(x); at += d {
			g[at+j] = linalg.Dot(row, delta[at:at+d])
		}
	}
}

// Hessian returns the matrix H of second derivatives of phi at x (d), d x d, in float64:
// the Jacobian of the ascent field g = grad phi. With g_i = -P_i (x - mu_i),
//
//	H = - sum_i r_i P_i + sum_i r_i g_i g_i^T - g g^T
//
// that is, minus the mean precision plus the covariance of the g_i under r: phi may bend
// up between components, but never down by more than the steepest P_i.
func (p *Potential) Hessian(ctx context.Context, x []float64, threads int) ([]float64, error) {
	d := p.D
	if len(x) != d {
		return nil, fmt.Errorf("a point of %d features, expected %d", len(x), d)
	}
	ev, err := p.Evaluate64(ctx, x, threads)
	if err != nil {
		return nil, err
	}
	h := make([]float64, d*d)
	g, delta := make([]float64, d), make([]float64, d)
	for i, r := range ev.R {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r == 0 {
			continue
		}
		precision := p.form.precision(ctx, i)
		p.pull(g, delta, x, precision, i)
		for a := range d {
			row := h[a*d+a : (a+1)*d]
			linalg.Axpy(-r, precision[a*d+a:(a+1)*d], row)
			linalg.Axpy(float64(r*g[a]), g[a:], row)
		}
	}
	for a := range d {
		linalg.Axpy(-ev.Gradient[a], ev.Gradient[a:], h[a*d+a:(a+1)*d])
		for c := range a {
			h[a*d+c] = h[c*d+a]
		}
	}
	return h, nil
}
