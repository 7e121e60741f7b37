package bench

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// digits opens a few of the built-in digits.
func digits(train, test int) (*dataset.Data, error) {
	return source.Open("digits", source.Options{TrainSize: train, TestSize: test, Seed: 1})
}

// --- kmeans

func kmeansSuite() []benchmark {
	var all []benchmark
	for _, s := range []struct {
		Extent
		n, d, k int
	}{{Quick, 2000, 64, 20}, {Full, 10000, 784, 20}, {Full, 500, 16, 10}} {
		n, d, k := s.n, s.d, s.k
		all = append(all, benchmark{
			suite: "kmeans", name: "fit", extent: s.Extent, params: params("n", n, "d", d, "k", k), items: float64(n),
			cost: 30 * float64(n) * float64(d) * float64(k), // of a few iterations; their number depends on the data
			setup: func() (setupFunc, error) {
				x := normal(41, n, d)
				for i := range n { // clusters, far apart
					x.Data[i*d+i%min(k, d)] += 8
				}
				return func(e *engine.Engine) (*fixture, error) {
					var r *potential.Clusters
					return &fixture{
						op: func() (err error) {
							r, err = potential.KMeans(context.Background(), e, x, k, 1)
							return err
						},
						check: func() (string, error) { return checkCentres(x, r) },
					}, nil
				}, nil
			},
		})
	}
	return all
}

// checkCentres checks that rows belong to their nearest centre in float64.
func checkCentres(x engine.Matrix, r *potential.Clusters) (string, error) {
	at := samples(0, 64, x.Rows)
	for _, i := range at {
		row := reference.Vector(x.Row(i))
		own, bound := reference.SquaredDistance(row, reference.Vector(r.Centres.Row(int(r.Assignment[i]))))
		for c := range r.Centres.Rows {
			if other, b := reference.SquaredDistance(row, reference.Vector(r.Centres.Row(c))); own-bound > other+b {
				return "", differs("row %d belongs to centre %d at a squared distance of %v, centre %d is at %v", i,
					r.Assignment[i], own, c, other)
			}
		}
	}
	return fmt.Sprintf("%d rows belong to their nearest centre", len(at)), nil
}

// --- separation

func separationSuite() []benchmark {
	var all []benchmark
	for _, s := range []struct {
		Extent
		n, d int
	}{{Quick, 2000, 64}, {Usual, 10000, 784}} {
		n, d := s.n, s.d
		const classes = 10
		all = append(all, benchmark{
			suite: "separation", name: "fuzziness", extent: s.Extent,
			params: params("n", n, "d", d, "classes", classes),
			bytes:  4 * float64(n) * float64(d), items: float64(n), host: true,
			setup: func() (setupFunc, error) {
				set := separation.Set{X: normal(42, n, d).Data, Dim: d, Labels: make([]uint16, n)}
				for i := range n {
					set.Labels[i] = uint16(i % classes)
					set.X[i*d+i%classes] += 2
				}
				return func(e *engine.Engine) (*fixture, error) {
					var f separation.Fuzziness
					return &fixture{
						op: func() (err error) {
							f, err = separation.MeasureFuzziness(set, e.Threads())
							return err
						},
						check: func() (string, error) { return checkFuzziness(f, set, classes) },
					}, nil
				}, nil
			},
		})
	}
	return all
}

// --- train

func trainSuite() []benchmark {
	var all []benchmark
	for _, name := range dpn.Presets() {
		c, err := dpn.Preset(name)
		if err != nil {
			panic(err) // a name from the list
		}
		x := Usual
		if name == "compact" {
			x = Quick
		}
		all = append(all, trainBenchmark(x, name, c, ascent.AutoRoute))
	}
	deep, _ := dpn.Preset("compact")
	deep.Components, deep.Steps = 20, 30
	paper, _ := dpn.Preset("paper")
	return append(all, trainBenchmark(Quick, "compact deep", deep, ascent.AutoRoute),
		trainBenchmark(Full, "paper dense", paper, ascent.DenseRoute))
}

// begunUpdates are made before an update is timed: in a fresh network all A_i are multiples of
// the identity, whose zeros the sparse route never reads. The first update ends that.
const begunUpdates = 2

// begun returns a network whose training has begun, the same bits on every engine.
func begun(c dpn.Config, e *engine.Engine, data *dataset.Data, route ascent.Route) (*dpn.Model, *dpn.Trainer, error) {
	m, err := dpn.New(c, data)
	if err != nil {
		return nil, nil, err
	}
	m.SetRoute(route)
	if _, err := m.Init(context.Background(), e, data.Train); err != nil {
		return nil, nil, err
	}
	t := dpn.NewTrainer(m, e)
	for u := range begunUpdates {
		if _, err := t.Update(data.Train, minibatch(u, c.Batch, data.Train), 1); err != nil {
			return nil, nil, err
		}
	}
	return m, t, nil
}

// minibatch returns the images of minibatch i of s, modulo the number of minibatches.
func minibatch(i, batch int, s *dataset.Set) []int32 {
	at := make([]int32, batch)
	for b := range at {
		at[b] = int32((i*batch + b) % s.Len())
	}
	return at
}

// trainBenchmark is an update of all parameters that learn.
func trainBenchmark(x Extent, name string, c dpn.Config, route ascent.Route) benchmark {
	grey := dataset.Grey(28, 28)
	layers, d, err := c.Layers(grey)
	if err != nil {
		panic(err) // a preset
	}
	flop, square := updateOf(c, layers, grey.Len(), d).products(), float64(c.Components*d*d)
	memory := 4 * 2 * square // A_i and P_i
	if c.Gradient == dpn.GradientExact {
		memory = trainingMemory(d, c.Components, c.Steps, c.Batch) + 4*3*square // A_i and its moments
	}
	return benchmark{
		suite: "train", name: name, extent: x,
		params: params("d", d, "k", c.Components, "n", c.Steps, "batch", c.Batch),
		cost:   flop, items: float64(c.Batch), memory: memory,
		setup: func() (setupFunc, error) {
			data, err := digits(1000, 10)
			if err != nil {
				return nil, err
			}
			return func(e *engine.Engine) (*fixture, error) {
				m, t, err := begun(c, e, data, route)
				if err != nil {
					return nil, err
				}
				at := minibatch(0, c.Batch, data.Train)
				loss := math.NaN()
				w := &fixture{}
				// A rate of 0 is the same work, and every call starts from the same parameters.
				w.op = func() (err error) {
					loss, err = t.Update(data.Train, at, 0)
					return err
				}
				w.check = func() (string, error) {
					u := updateOf(m.Config, m.Extractor(), m.Shape.Len(), m.Dim())
					u.ascent = m.Potential().Work().Totals() // of the update
					w.route, w.flop = u.ascent.Route, u.products()
					said, err := checkUpdate(m, e, data.Train.Slice(0, c.Batch), loss)
					if err == nil {
						err = w.op() // the check has computed P_i, which the update that follows it need not
					}
					return said, err
				}
				w.profile = func(onPhase func(string)) {
					p := &dpn.Profile{OnPhase: onPhase}
					t.SetProfile(p)
					w.phases = func() []Phase { return phasesOf(m, p) }
					w.close = func() { t.SetProfile(nil) }
				}
				return w, nil
			}, nil
		},
	}
}

// checkedImages is the number of images whose ascent is compared with float64.
const checkedImages = 2

// checkUpdate compares the forward half of an update with float64: x_n of some images,
// and from x_n of the whole minibatch its loss. The backward half is that of suite
// backward; tests of package dpn hold whole updates against float64.
func checkUpdate(m *dpn.Model, e *engine.Engine, batch *dataset.Set, loss float64) (string, error) {
	f, err := m.Features(context.Background(), e, batch.Slice(0, checkedImages))
	if err != nil {
		return "", err
	}
	x, err := m.Denoised(context.Background(), e, batch)
	if err != nil {
		return "", err
	}
	if err := checkAscent(m, f, x); err != nil {
		return "", err
	}
	isDropout := func(l layer.Layer) bool { _, ok := l.(*layer.Dropout); return ok }
	dropout := slices.ContainsFunc(m.Extractor(), isDropout)
	if dropout || m.Config.NoiseMax > 0 { // the loss of the update is of other x_n
		if !(loss > 0) || math.IsInf(loss, 0) {
			return "", differs("the loss is %v, expected a number above 0", loss)
		}
		return fmt.Sprintf("x_n of %d images without noise and dropout within 1e-4 of float64; the loss with them, "+
			"and gradients, by suite backward and the tests", f.Rows), nil
	}
	weight, bias := tensor(m, "classifier.weight"), tensor(m, "classifier.bias")
	want := 0.0
	for b := range x.Rows {
		logits := slices.Clone(bias)
		for c := range logits {
			for j, v := range x.Row(b) {
				logits[c] += weight[c*x.Cols+j] * float64(v)
			}
		}
		l, _ := reference.SoftmaxCrossEntropy(logits, int(batch.Labels[b]))
		want += l.V[0] / float64(x.Rows)
	}
	if !(math.Abs(loss-want) <= 1e-5*want) {
		return "", differs("the loss is %v, in float64 %v", loss, want)
	}
	return fmt.Sprintf("x_n of %d images within 1e-4 of float64, from it the loss of the minibatch within 1e-5; "+
		"gradients by suite backward and the tests", f.Rows), nil
}

// tensor returns the numbers of a parameter, nil if the model has none of that name.
func tensor(m *dpn.Model, name string) []float64 {
	for _, p := range m.Params() {
		if p.Name == name {
			return reference.Vector(p.Data)
		}
	}
	return nil
}

// checkAscent compares the first rows of x_n with the ascent of features f in float64.
func checkAscent(m *dpn.Model, f, x engine.Matrix) error {
	want := reference.FromFloat32(f.Data, f.Rows, f.Cols, f.RS, 1)
	ascendInFull(m, want)
	for i := range f.Rows {
		var apart, size float64
		for j := range x.Cols {
			w := want.Data[i*want.Stride+j]
			apart, size = apart+(float64(x.At(i, j))-w)*(float64(x.At(i, j))-w), size+w*w
		}
		// The ascent contracts towards a centre, so rounding errors do not grow.
		if !(apart <= 1e-8*size) {
			return differs("x_n of image %d differs from float64 by a share of %.2g of its norm, expected at most 1e-4",
				i, math.Sqrt(apart/size))
		}
	}
	return nil
}

// ascendInFull computes the ascent of the rows of x in float64, a component after the other.
func ascendInFull(m *dpn.Model, x blas64.General) {
	p := m.Potential()
	mu, c, precisions := p.Centres(), tensor(m, "denoising_potential.c"), newFactors(m)
	for range m.Config.Steps {
		g := make([]blas64.General, p.K) // (x - mu_i) P_i
		q := make([][]float64, x.Rows)
		for i := range p.K {
			delta := reference.New(x.Rows, p.D)
			for b := range x.Rows {
				for j, v := range mu.Row(i) {
					delta.Data[b*delta.Stride+j] = x.Data[b*x.Stride+j] - float64(v)
				}
			}
			g[i] = precisions.times(delta, i)
			for b := range x.Rows {
				q[b] = append(q[b], floats.Dot(row64(delta, b), row64(g[i], b)))
			}
		}
		for b := range x.Rows {
			r, _ := reference.LogSumExp(q[b], c)
			for i := range p.K {
				floats.AddScaled(row64(x, b), -float64(p.Alpha())*r.V[i], row64(g[i], b))
			}
		}
	}
}

// factors are those of all precisions: A_i^T A_i, or s0^2 (diag(exp(2 l_i)) + share F_i^T F_i). Multiplying by them
// is cheaper than by P_i, which together would need gigabytes.
type factors struct {
	d, rank      int
	a, l, f      []float64 // nil: without A, or l and F of zeros
	scale, share float64
}

func newFactors(m *dpn.Model) *factors {
	c := m.Config
	f := &factors{d: m.Potential().D, rank: c.Rank, a: tensor(m, "denoising_potential.A"),
		l: tensor(m, "denoising_potential.l"), f: tensor(m, "denoising_potential.R"), share: 1,
		scale: c.Scale * c.Scale}
	if u := tensor(m, "denoising_potential.U"); u != nil {
		f.f, f.share = u, c.Eps-1
	}
	return f
}

// times returns x P_i.
func (f *factors) times(x blas64.General, i int) blas64.General {
	rows := func(data []float64, n int) blas64.General {
		return blas64.General{Rows: n, Cols: f.d, Stride: f.d, Data: data[i*n*f.d : (i+1)*n*f.d]}
	}
	both := func(a blas64.General) blas64.General { // x a^T a
		y, z := reference.New(x.Rows, a.Rows), reference.New(x.Rows, f.d)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, x, a, 0, y)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, y, a, 0, z)
		return z
	}
	if len(f.a) == f.d*f.d { // that of all components
		i = 0
	}
	if f.a != nil {
		return both(rows(f.a, f.d))
	}
	y := reference.New(x.Rows, f.d)
	if f.f != nil {
		y = both(rows(f.f, f.rank))
	}
	for b := range x.Rows {
		v := row64(y, b)
		for j, xj := range row64(x, b) {
			weight := 1.0
			if f.l != nil {
				weight = math.Exp(2 * f.l[i*f.d+j])
			}
			v[j] = f.scale * (weight*xj + f.share*v[j])
		}
	}
	return y
}

// row64 returns row b of m.
func row64(m blas64.General, b int) []float64 { return m.Data[b*m.Stride : b*m.Stride+m.Cols] }
