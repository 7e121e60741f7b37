package separation

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// scatter holds the class means of some samples. All vectors are relative to ref, the first row.
// Differences of float32 numbers are (nearly) exact in float64, so a constant feature contributes
// exactly 0 and a large common offset costs no accuracy.
type scatter struct {
	ctx     context.Context
	set     Samples
	dim     int
	threads int

	labels  []int     // the classes present, in increasing order
	counts  []int     // samples of each
	weights []float64 // p_k of each class: n_k/n or 1/K
	class   []int32   // index into labels of each row

	ref   []float64 // dim
	means []float64 // K x dim, class means minus ref
	mean  []float64 // dim, sum_k p_k times the class means, minus ref

	// meanSquare is the mean squared distance of the rows to ref: the scale of
	// the rounding errors in the means.
	meanSquare float64
}

// columnsPerBlock is the number of columns that a thread sums at a time, so that their class sums
// stay in the L1 cache. Each sum runs over the rows in order, for any number of threads.
const columnsPerBlock = 64

// newScatter reads the samples once. The error names the first feature that is not finite.
func newScatter(ctx context.Context, s Samples, threads int) (*scatter, error) {
	dim := s.Width()
	sc := &scatter{ctx: ctx, set: s, dim: dim, threads: threads, ref: make([]float64, dim)}
	sc.count()
	if err := s.ReadRows(sc.ref, 0); err != nil {
		return nil, err
	}
	sc.means = make([]float64, len(sc.labels)*dim)
	sc.mean = make([]float64, dim)
	squares := make([]float64, dim)
	columns := chunkCount(dim, columnsPerBlock)
	var bad error
	err := blocks(ctx, s, threads, func(row int, x []float64) {
		if bad == nil {
			bad = sc.finiteRows(x, row)
		}
		if bad != nil {
			return
		}
		classes := sc.class[row : row+len(x)/dim]
		parallel.Each(columns, threads, func(c int) {
			from, to := chunkBounds(dim, columnsPerBlock, c)
			ref, sq := sc.ref[from:to], squares[from:to]
			for i, k := range classes {
				x := x[i*dim+from : i*dim+to]
				sum := sc.means[int(k)*dim+from : int(k)*dim+to]
				for j, v := range x {
					t := v - ref[j]
					sum[j] += t
					sq[j] += float64(t * t)
				}
			}
		})
	})
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	for k, count := range sc.counts {
		sum := sc.classMean(k)
		for j := range sum {
			sc.mean[j] += sum[j]
			sum[j] /= float64(count)
		}
		sc.weights = append(sc.weights, float64(count)/float64(s.Len()))
	}
	linalg.Scale(1/float64(s.Len()), sc.mean)
	for _, v := range squares {
		sc.meanSquare += v
	}
	sc.meanSquare /= float64(s.Len())
	return sc, nil
}

// count sets the classes present and the class of each row.
func (sc *scatter) count() {
	counts := map[int]int{}
	for _, l := range sc.set.Labels {
		counts[l]++
	}
	sc.labels = slices.Sorted(maps.Keys(counts))
	index := make(map[int]int32, len(counts))
	for k, l := range sc.labels {
		index[l] = int32(k)
		sc.counts = append(sc.counts, counts[l])
	}
	sc.class = make([]int32, sc.set.Len())
	for i, l := range sc.set.Labels {
		sc.class[i] = index[l]
	}
}

// finiteRows checks rows from the given one on.
func (sc *scatter) finiteRows(x []float64, from int) error {
	rows := len(x) / sc.dim
	errs := make([]error, chunkCount(rows, rowsPerChunk))
	parallel.Each(len(errs), sc.threads, func(c int) {
		lo, hi := chunkBounds(rows, rowsPerChunk, c)
		errs[c] = finite(x[lo*sc.dim:hi*sc.dim], sc.dim, from+lo)
	})
	return cmp.Or(errs...)
}

// balanced returns the same set with every class weighted by 1/K.
func (sc *scatter) balanced() *scatter {
	b := *sc
	b.weights = make([]float64, len(sc.labels))
	b.mean = make([]float64, sc.dim)
	for k := range b.weights {
		b.weights[k] = 1 / float64(len(sc.labels))
		linalg.Axpy(b.weights[k], sc.classMean(k), b.mean)
	}
	return &b
}

// classMean returns the mean of class k, minus ref.
func (sc *scatter) classMean(k int) []float64 {
	return sc.means[k*sc.dim : (k+1)*sc.dim]
}

// within reads the samples once and sets D of each weighting. If asked for, it also returns the trace of each
// class's covariance (divisor n_k), and the number of rows nearest to the mean of their own class. Ties go to
// the lower class.
func (sc *scatter) within(weightings []*weighting, nearest bool) (traces []float64, right int, err error) {
	dim, classes := sc.dim, len(sc.labels)
	all := classes + 1
	for _, s := range weightings {
		all += s.Rank + 1
	}
	sums := make([]float64, all)
	err = sc.sum(sums, func(sum, t []float64, i int) {
		own := int(sc.class[i])
		if nearest {
			best, distance := sc.nearestMean(t, own)
			sum[own] += distance
			if best == own {
				sum[classes]++
			}
		}
		for j, m := range sc.classMean(own) {
			t[j] -= m
		}
		square := linalg.Dot(t, t)
		at := classes + 1
		for _, s := range weightings {
			weight := s.weights[own]
			for v := range s.Rank {
				p := linalg.Dot(t, s.directions[v*dim:(v+1)*dim])
				sum[at+v] += float64(weight * float64(p*p))
			}
			at += s.Rank + 1
			sum[at-1] += float64(weight * square)
		}
	})
	at := classes + 1
	for _, s := range weightings {
		along := sums[at : at+s.Rank]
		linalg.Scale(1/float64(sc.set.Len()), along)
		at += s.Rank + 1
		s.set(sums[at-1]/float64(sc.set.Len()), along)
	}
	for k, count := range sc.counts {
		sums[k] /= float64(count)
	}
	return sums[:classes], int(sums[classes]), err
}

// sum adds to sums what f adds for each row t (minus ref, and its to change) at index i.
func (sc *scatter) sum(sums []float64, f func(sums, t []float64, i int)) error {
	var slots [][]float64
	return scan(sc.ctx, sc.set, sc.threads,
		func(n int) {
			slots = make([][]float64, n)
			for i := range slots {
				slots[i] = make([]float64, len(sums))
			}
		},
		func(slot, from int, x []float64) {
			for at := 0; at < len(x); at += sc.dim {
				t := x[at : at+sc.dim]
				linalg.Axpy(-1, sc.ref, t)
				f(slots[slot], t, from+at/sc.dim)
			}
		},
		func(slot int) {
			for i, v := range slots[slot] {
				sums[i] += v
			}
			clear(slots[slot])
		})
}

// deviations returns the K x dim matrix M of weighted class-mean deviations,
// row k being sqrt(p_k) (m_k - m): SSb = M^T M.
func (sc *scatter) deviations() []float64 {
	dim := sc.dim
	m := make([]float64, len(sc.means))
	for k, p := range sc.weights {
		row, mean := m[k*dim:(k+1)*dim], sc.classMean(k)
		weight := math.Sqrt(p)
		for j := range row {
			row[j] = weight * (mean[j] - sc.mean[j])
		}
	}
	return m
}

// nearestMean returns the class whose mean is nearest to t (minus ref), and the squared distance
// to the mean of class own.
func (sc *scatter) nearestMean(t []float64, own int) (best int, distance float64) {
	least := math.Inf(1)
	for k := range sc.labels {
		d := distanceSquare(t, sc.classMean(k))
		if d < least {
			best, least = k, d
		}
		if k == own {
			distance = d
		}
	}
	return best, distance
}

// classDistances returns the Euclidean distance between two class means, averaged over all pairs of
// classes present, and in the same way the class-distance normalised variance (v_a + v_b) / (2 |m_a
// - m_b|^2), where v are the traces of the covariances.
func (sc *scatter) classDistances(traces []float64) (mean, normalisedVariance float64) {
	classes := len(sc.labels)
	diff := make([]float64, sc.dim)
	for a := range classes {
		for b := a + 1; b < classes; b++ {
			ma, mb := sc.classMean(a), sc.classMean(b)
			for j := range diff {
				diff[j] = ma[j] - mb[j]
			}
			square := linalg.Dot(diff, diff)
			mean += math.Sqrt(square)
			normalisedVariance += (traces[a] + traces[b]) / (2 * square)
		}
	}
	pairs := float64(classes * (classes - 1) / 2)
	return mean / pairs, normalisedVariance / pairs
}
