package separation

import (
	"math"

	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// scatter holds the class means of a set. All vectors are relative to ref, the first row.
// Differences of float32 numbers are (nearly) exact in float64, so a constant feature contributes
// exactly 0 and a large common offset costs no accuracy.
type scatter struct {
	set     Set
	threads int

	labels  []byte    // the classes present, in increasing order
	counts  []int     // samples of each
	weights []float64 // p_k of each class: n_k/n or 1/K
	class   []int     // index into labels of each row

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

func newScatter(s Set, threads int) *scatter {
	sc := &scatter{set: s, threads: threads, class: make([]int, s.Len()), ref: make([]float64, s.Dim)}
	var present [256]int
	for _, l := range s.Labels {
		present[l]++
	}
	var index [256]int
	for l, count := range present {
		if count > 0 {
			index[l] = len(sc.labels)
			sc.labels = append(sc.labels, byte(l))
			sc.counts = append(sc.counts, count)
		}
	}
	for i, l := range s.Labels {
		sc.class[i] = index[l]
	}

	dim, classes := s.Dim, len(sc.labels)
	for j := range dim {
		sc.ref[j] = float64(s.X[j])
	}
	sc.means = make([]float64, classes*dim)
	sc.mean = make([]float64, dim)
	squares := make([]float64, dim)
	parallel.Each(chunkCount(dim, columnsPerBlock), threads, func(c int) {
		from, to := chunkBounds(dim, columnsPerBlock, c)
		ref, sq := sc.ref[from:to], squares[from:to]
		for i, k := range sc.class {
			x := s.X[i*dim+from : i*dim+to]
			sum := sc.means[k*dim+from : k*dim+to]
			for j, v := range x {
				t := float64(v) - ref[j]
				sum[j] += t
				sq[j] += float64(t * t)
			}
		}
		mean := sc.mean[from:to]
		for k, count := range sc.counts {
			sum := sc.means[k*dim+from : k*dim+to]
			for j := range sum {
				mean[j] += sum[j]
				sum[j] /= float64(count)
			}
		}
		linalg.Scale(1/float64(s.Len()), mean)
	})
	for _, v := range squares {
		sc.meanSquare += v
	}
	sc.meanSquare /= float64(s.Len())
	for _, count := range sc.counts {
		sc.weights = append(sc.weights, float64(count)/float64(s.Len()))
	}
	return sc
}

// balanced returns the same set with every class weighted by 1/K.
func (sc *scatter) balanced() *scatter {
	b := *sc
	b.weights = make([]float64, len(sc.labels))
	b.mean = make([]float64, sc.set.Dim)
	for k := range b.weights {
		b.weights[k] = 1 / float64(len(sc.labels))
		linalg.Axpy(b.weights[k], sc.classMean(k), b.mean)
	}
	return &b
}

// classMean returns the mean of class k, minus ref.
func (sc *scatter) classMean(k int) []float64 {
	return sc.means[k*sc.set.Dim : (k+1)*sc.set.Dim]
}

// within returns Tr(SSw), and v^T SSw v for each of the given directions (rows
// of width dim), in one pass over the features.
func (sc *scatter) within(directions []float64) (trace float64, along []float64) {
	dim, n := sc.set.Dim, sc.set.Len()
	r := len(directions) / dim
	weights := make([]float64, len(sc.counts)) // weight of a row in each class; 1 if classes have weights n_k/n
	for k, count := range sc.counts {
		weights[k] = sc.weights[k] / (float64(count) / float64(n))
	}
	chunks := chunkCount(n, rowsPerChunk)
	sums := make([]float64, chunks*(r+1))
	parallel.Each(chunks, sc.threads, func(c int) {
		sum := sums[c*(r+1) : (c+1)*(r+1)]
		t := make([]float64, dim)
		from, to := chunkBounds(n, rowsPerChunk, c)
		for i := from; i < to; i++ {
			mean, weight := sc.classMean(sc.class[i]), weights[sc.class[i]]
			for j, v := range sc.set.X[i*dim : (i+1)*dim] {
				t[j] = (float64(v) - sc.ref[j]) - mean[j]
			}
			sum[r] += float64(weight * linalg.Dot(t, t))
			for v := range r {
				p := linalg.Dot(t, directions[v*dim:(v+1)*dim])
				sum[v] += float64(weight * float64(p*p))
			}
		}
	})
	along = make([]float64, r)
	for c := range chunks {
		for v := range r {
			along[v] += sums[c*(r+1)+v]
		}
		trace += sums[c*(r+1)+r]
	}
	linalg.Scale(1/float64(n), along)
	return trace / float64(n), along
}

// deviations returns the K x dim matrix M of weighted class-mean deviations,
// row k being sqrt(p_k) (m_k - m): SSb = M^T M.
func (sc *scatter) deviations() []float64 {
	dim := sc.set.Dim
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

// nearest returns the trace of each class's covariance (divisor n_k), and the number of rows
// nearest to the mean of their own class. Ties go to the lower class.
func (sc *scatter) nearest() (traces []float64, right int) {
	dim, n, classes := sc.set.Dim, sc.set.Len(), len(sc.labels)
	chunks := chunkCount(n, rowsPerChunk)
	sums := make([]float64, chunks*classes)
	rights := make([]int, chunks)
	parallel.Each(chunks, sc.threads, func(c int) {
		t, u := make([]float64, dim), make([]float64, dim)
		from, to := chunkBounds(n, rowsPerChunk, c)
		for i := from; i < to; i++ {
			centreRow(t, sc.set.X[i*dim:(i+1)*dim], sc.ref)
			best, least := 0, math.Inf(1)
			for k := range classes {
				for j, m := range sc.classMean(k) {
					u[j] = t[j] - m
				}
				distance := linalg.Dot(u, u)
				if distance < least {
					best, least = k, distance
				}
				if k == sc.class[i] {
					sums[c*classes+k] += distance
				}
			}
			if best == sc.class[i] {
				rights[c]++
			}
		}
	})
	traces = make([]float64, classes)
	for c := range chunks {
		for k := range traces {
			traces[k] += sums[c*classes+k]
		}
		right += rights[c]
	}
	for k, count := range sc.counts {
		traces[k] /= float64(count)
	}
	return traces, right
}

// classDistances returns the Euclidean distance between two class means, averaged over all pairs of
// classes present, and in the same way the class-distance normalised variance (v_a + v_b) / (2 |m_a
// - m_b|^2), where v are the traces of the covariances.
func (sc *scatter) classDistances(traces []float64) (mean, normalisedVariance float64) {
	classes := len(sc.labels)
	diff := make([]float64, sc.set.Dim)
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
