package separation

import (
	"context"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// alongFloats is about the largest number of products of samples and class means in memory.
const alongFloats = 1 << 27

// draw sets plain and estimated, and returns the estimate E of each draw.
func (b *bootstrap) draw(ctx context.Context, o BootstrapOptions) ([]float64, error) {
	n, dim, classes := b.z.Rows, b.z.Cols, len(b.sc.labels)
	slots := max(1, min(drawsAtOnce, o.Draws, alongFloats/(n*classes)))
	shifts := engine.NewMatrix(slots, classes*dim) // n_k delta_k of each draw
	means := engine.NewMatrix(slots*classes, dim)
	along := engine.NewMatrix(n, slots*classes)
	weights := engine.NewMatrix(slots, n) // how often each sample is drawn, minus one
	out := make([]float64, o.Draws)
	errs := make([]error, slots)

	// The original samples are a draw with shift 0.
	estimate := func(draws int, f func(slot int, d draw)) {
		for k := range classes {
			w := weights.Slice(0, draws, b.first[k], b.first[k+1])
			b.e.MatMul(shifts.Slice(0, draws, k*dim, (k+1)*dim), w, b.class(b.z, k), false)
		}
		list := make([]draw, draws)
		parallel.Each(draws, b.e.Threads(), func(s int) { list[s] = b.moved(weights.Row(s), shifts.Row(s), means, s) })
		some := means.Slice(0, draws*classes, 0, dim)
		b.e.MatMul(along.Slice(0, n, 0, draws*classes), b.z, some.T(), false)
		parallel.Each(draws, b.e.Threads(), func(s int) {
			if along := along.Slice(0, n, s*classes, (s+1)*classes); b.few {
				list[s].scatterWide(b, along, means.Slice(s*classes, (s+1)*classes, 0, dim))
			} else {
				list[s].scatter(b, along)
			}
			f(s, list[s])
		})
	}

	estimate(1, func(_ int, d draw) {
		if b.plain, _, errs[0] = b.fuzziness(d.g, d.h); errs[0] != nil {
			return
		}
		b.estimated, errs[0] = b.estimate(d, b.spread)
	})
	if errs[0] != nil {
		return nil, errs[0]
	}

	for at := 0; at < o.Draws; at += slots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		draws := min(slots, o.Draws-at)
		parallel.Each(draws, b.e.Threads(), func(s int) {
			r := num.NewRand(o.Seed, uint64(at+s))
			w := weights.Row(s)
			for i := range w {
				w[i] = -1
			}
			if b.blocks {
				b.drawBlocks(w, r)
				return
			}
			for k, count := range b.sc.counts {
				for range count {
					w[b.first[k]+r.Intn(count)]++
				}
			}
		})
		estimate(draws, func(s int, d draw) { out[at+s], errs[s] = b.estimate(d, b.crude) })
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// draw holds the moments of one draw.
type draw struct {
	weights []float32 // how often each sample is drawn, minus one
	means   []float64 // K x d, M of the draw: sqrt(p_k) (m_k - m)
	shift   []float64 // K x d, change of each class mean
	traces  []float64 // Tr(C_k) without the part along the span of the samples' means, with divisor n_k - 1
	g, h    []float64 // K x K, uncorrected (divisor n_k)
	sharp   []float64 // K x K, H with divisor n_k - 1
}

// moved returns the draw whose class means are changed by shifts/n_k, and writes its M to the rows
// of slot s in means.
func (b *bootstrap) moved(weights, shifts []float32, means engine.Matrix, s int) draw {
	dim, classes := b.z.Cols, len(b.sc.labels)
	d := draw{weights: weights, traces: make([]float64, classes),
		means: make([]float64, classes*dim), shift: make([]float64, classes*dim), g: make([]float64, classes*classes)}
	mean := make([]float64, dim)
	for k, p := range b.sc.weights {
		shift, m := d.shift[k*dim:(k+1)*dim], d.means[k*dim:(k+1)*dim]
		for j, v := range shifts[k*dim : (k+1)*dim] {
			shift[j] = float64(v) / float64(b.sc.counts[k])
			m[j] = b.sc.classMean(k)[j] + shift[j]
		}
		linalg.Axpy(p, m, mean)
		for i := b.first[k]; i < b.first[k+1]; i++ {
			d.traces[k] += float64(float64(1+weights[i]) * b.square[i])
		}
		n := float64(b.sc.counts[k])
		outside := slices.Clone(shift)
		b.leaveSpan(outside)
		d.traces[k] = (d.traces[k] - float64(n*linalg.Dot(outside, outside))) / (n - 1)
	}
	for k, p := range b.sc.weights {
		m := d.means[k*dim : (k+1)*dim]
		linalg.Axpy(-1, mean, m)
		linalg.Scale(math.Sqrt(p), m)
		row := means.Row(s*classes + k)
		for j, v := range m {
			row[j] = float32(v)
		}
		for j := range k + 1 {
			g := linalg.Dot(m, d.means[j*dim:(j+1)*dim])
			d.g[k*classes+j], d.g[j*classes+k] = g, g
		}
	}
	return d
}

// scatter sets H of the draw from along, the products of the samples with its M.
func (d *draw) scatter(b *bootstrap, along engine.Matrix) {
	dim, classes := b.z.Cols, len(b.sc.labels)
	d.h, d.sharp = make([]float64, classes*classes), make([]float64, classes*classes)
	own := make([]float64, classes*classes)
	t := make([]float64, classes)
	for k, p := range b.sc.weights {
		clear(own)
		for i := b.first[k]; i < b.first[k+1]; i++ {
			w := float64(1 + d.weights[i])
			if w == 0 {
				continue
			}
			row := along.Row(i)
			for x, v := range row {
				f := w * float64(v)
				to := own[x*classes : x*classes+x+1]
				for y := range to {
					to[y] += float64(f * float64(row[y]))
				}
			}
		}
		n := float64(b.sc.counts[k])
		for a := range t {
			t[a] = linalg.Dot(d.means[a*dim:(a+1)*dim], d.shift[k*dim:(k+1)*dim])
		}
		for x := range classes {
			for y := range x + 1 {
				c := own[x*classes+y] - float64(n*float64(t[x]*t[y]))
				d.h[x*classes+y] += float64(p * (c / n))
				d.sharp[x*classes+y] += float64(p * (c / (n - 1)))
			}
		}
	}
	for _, m := range [][]float64{d.h, d.sharp} {
		for x := range classes {
			for y := range x {
				m[y*classes+x] = m[x*classes+y]
			}
		}
	}
}

// scatterWide is scatter for many classes: the products are those of the engine, and means holds M in float32.
func (d *draw) scatterWide(b *bootstrap, along, means engine.Matrix) {
	dim, classes := b.z.Cols, len(b.sc.labels)
	d.h, d.sharp = make([]float64, classes*classes), make([]float64, classes*classes)
	rows := engine.NewMatrix(along.Rows, classes)
	shift, t := engine.NewMatrix(classes, dim), engine.NewMatrix(classes, classes)
	own := engine.NewMatrix(classes, classes)
	for i, v := range d.shift {
		shift.Data[i] = float32(v)
	}
	b.e.MatMul(t, shift, means.T(), false)
	for _, of := range []struct {
		to   []float64
		less float64 // what the divisor is below n_k
	}{{d.h, 0}, {d.sharp, 1}} {
		for k, p := range b.sc.weights {
			n := float64(b.sc.counts[k])
			for i := b.first[k]; i < b.first[k+1]; i++ {
				w := float32(math.Sqrt(p * float64(1+d.weights[i]) / (n - of.less)))
				for x, v := range along.Row(i) {
					rows.Row(i)[x] = w * v
				}
			}
		}
		b.products(own, rows)
		linalg.Axpy(1, linalg.Widen(own.Data), of.to)
		scaled := engine.NewMatrix(classes, classes)
		for k, p := range b.sc.weights {
			n := float64(b.sc.counts[k])
			w := float32(math.Sqrt(p * n / (n - of.less)))
			for x, v := range t.Row(k) {
				scaled.Row(k)[x] = w * v
			}
		}
		b.products(own, scaled)
		linalg.Axpy(-1, linalg.Widen(own.Data), of.to)
	}
}

// estimate returns the estimate E of a draw (see Sampling), where spread is Tr(S_k SSw). It is +Inf
// if it is undetermined.
func (b *bootstrap) estimate(d draw, spread []float64) (float64, error) {
	if len(b.span) < (len(b.sc.labels)-1)*b.z.Cols {
		return math.Inf(1), nil // in the other directions, G consists of rounding errors
	}
	g, h := slices.Clone(d.g), slices.Clone(d.sharp)
	linalg.Axpy(-1, b.noise(d.traces), g)
	linalg.Axpy(-1, b.noise(spread), h)
	e, largest, err := b.fuzziness(g, h)
	if largest > float64(b.z.Rows)/4 {
		e = math.Inf(1)
	}
	return e, err
}
