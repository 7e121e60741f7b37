package bench

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// digits opens a few of the built-in digits.
func digits(train, test int) (*dataset.Data, error) {
	return dataset.Open("digits", dataset.Options{TrainSize: train, TestSize: test, Seed: 1})
}

// --- kmeans

func kmeansSuite() []group {
	var all []group
	for _, s := range []struct {
		Extent
		n, d, k int
	}{{Quick, 2000, 64, 20}, {Full, 10000, 784, 20}, {Full, 500, 16, 10}} {
		n, d, k := s.n, s.d, s.k
		all = append(all, group{
			suite: "kmeans", name: "fit", extent: s.Extent, params: params("n", n, "d", d, "k", k), items: float64(n),
			cost: 30 * float64(n) * float64(d) * float64(k), // of some iterations: how many depends on the data
			open: func() (opener, error) {
				x := normal(41, n, d)
				for i := range n { // clusters, far apart
					x.Data[i*d+i%min(k, d)] += 8
				}
				var r *dpn.KMeansResult
				return func(e *engine.Engine) (*work, error) {
					return &work{
						op: func() (err error) {
							r, err = dpn.KMeans(context.Background(), e, x, k, 1)
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
func checkCentres(x engine.Matrix, r *dpn.KMeansResult) (string, error) {
	at := samples(64, x.Rows)
	for _, i := range at {
		row := reference.Vector(x.Row(i))
		own, bound := reference.SquaredDistance(row, reference.Vector(r.Centres.Row(int(r.Assignment[i]))))
		for c := range r.Centres.Rows {
			if other, b := reference.SquaredDistance(row, reference.Vector(r.Centres.Row(c))); own-bound > other+b {
				return "", fmt.Errorf("row %d belongs to centre %d at a squared distance of %v, centre %d is at %v", i, r.Assignment[i], own, c, other)
			}
		}
	}
	return fmt.Sprintf("%d rows belong to their nearest centre", len(at)), nil
}

// --- separation

func separationSuite() []group {
	var all []group
	for _, s := range []struct {
		Extent
		n, d int
	}{{Quick, 2000, 64}, {Usual, 10000, 784}} {
		n, d := s.n, s.d
		const classes = 10
		all = append(all, group{
			suite: "separation", name: "fuzziness", extent: s.Extent, params: params("n", n, "d", d, "classes", classes),
			bytes: 4 * float64(n) * float64(d), items: float64(n), host: true,
			open: func() (opener, error) {
				set := separation.Set{X: normal(42, n, d).Data, Dim: d, Labels: make([]byte, n)}
				for i := range n {
					set.Labels[i] = byte(i % classes)
					set.X[i*d+i%classes] += 2
				}
				return func(e *engine.Engine) (*work, error) {
					return &work{
						op: func() error {
							_, err := separation.MeasureFuzziness(set, e.Threads())
							return err
						},
						check: func() (string, error) { return checkFuzziness(d, classes, e.Threads()) },
					}, nil
				}, nil
			},
		})
	}
	return all
}

// checkFuzziness measures D of points whose D is known: means a e_k, and around each mean
// the points +-b e_j for all j. SSw = b^2/d I, and SSb has K-1 eigenvalues a^2/K.
func checkFuzziness(d, classes, threads int) (string, error) {
	const a, b = 2, 1
	s := separation.Set{Dim: d}
	for k := range classes {
		for j := range d {
			for _, sign := range []float32{1, -1} {
				row := make([]float32, d)
				row[k] = a
				row[j] += sign * b
				s.X, s.Labels = append(s.X, row...), append(s.Labels, byte(k))
			}
		}
	}
	f, err := separation.MeasureFuzziness(s, threads)
	if err != nil {
		return "", err
	}
	want := b * b / float64(d) * float64(classes-1) * float64(classes) / (a * a)
	if got := float64(f.D); !(math.Abs(got-want) <= 1e-9*want) {
		return "", fmt.Errorf("D is %v, the closed form %v", got, want)
	}
	return "D of points with a known D", nil
}

// --- train

func trainSuite() []group {
	var all []group
	for _, name := range dpn.Presets() {
		c, err := dpn.Preset(name)
		if err != nil {
			panic(err) // a name from the list
		}
		x := Usual
		if name == "compact" {
			x = Quick
		}
		all = append(all, trainGroup(x, name, c))
	}
	deep, _ := dpn.Preset("compact")
	deep.Components, deep.Steps = 20, 30
	return append(all, trainGroup(Quick, "compact", deep))
}

// trainGroup is an update of all parameters that learn.
func trainGroup(x Extent, name string, c dpn.Config) group {
	d, pixels := c.Dim, 28*28
	if c.Extractor == "identity" {
		d = pixels
	}
	batch, n, k, fd := float64(c.Batch), float64(c.Steps), float64(c.Components), float64(d)
	flop := 2 * k * fd * fd * batch * n
	if c.Gradient == "exact" {
		flop = 3*flop + k*fd*fd*(fd+1) + 2*k*fd*fd*fd
	}
	switch c.Form {
	case dpn.FormLowRank:
		flop = lowRankFlop(d, c.Components, c.Rank, c.Steps, c.Batch, c.Gradient == "exact")
	case dpn.FormFlat: // few responsibilities are above 0: the products with the others are left out
		flop = 2 * float64(2*c.Rank+2) * k * fd * batch * n
	}
	switch c.Extractor { // forward and the gradient of weights, and of the input except for the first layer's
	case "linear":
		flop += 4 * float64(pixels) * fd * batch
	case "conv":
		s := layer.Convolutions("", 28, 28)
		flop += batch * (4*float64(s[0].MACs()) + 6*(float64(s[3].MACs())+float64(pixels)*fd))
	}
	return group{
		suite: "train", name: name, extent: x, params: params("d", d, "k", c.Components, "n", c.Steps, "batch", c.Batch),
		flop: flop, items: batch,
		open: func() (opener, error) {
			data, err := digits(1000, 10)
			if err != nil {
				return nil, err
			}
			return func(e *engine.Engine) (*work, error) {
				fresh := func() (*dpn.Model, error) {
					m, err := dpn.New(c, data)
					if err == nil {
						_, err = m.Init(context.Background(), e, data.Train)
					}
					return m, err
				}
				m, err := fresh()
				if err != nil {
					return nil, err
				}
				t := dpn.NewTrainer(m, e)
				at := make([]int32, c.Batch)
				for i := range at {
					at[i] = int32(i)
				}
				return &work{
					op: func() error {
						_, err := t.Update(data.Train, at, 1)
						return err
					},
					check: func() (string, error) {
						m, err := fresh()
						if err != nil {
							return "", err
						}
						return checkLogits(m, e, data.Train.Slice(0, 2))
					},
				}, nil
			}, nil
		},
	}
}

// checkLogits compares the outputs of a fresh network with float64. Its log weights are
// still 0.
func checkLogits(m *dpn.Model, e *engine.Engine, s *dataset.Set) (string, error) {
	f, err := m.Features(context.Background(), e, s)
	if err != nil {
		return "", err
	}
	x, err := m.Denoised(context.Background(), e, s)
	if err != nil {
		return "", err
	}
	want := ascendInFull(m.Potential(), reference.FromFloat32(f.Data, f.Rows, f.Cols, f.RS, 1), m.Config.Steps)
	for i := range x.Rows {
		var apart, size float64
		for j := range x.Cols {
			w := want.Data[i*want.Stride+j]
			apart, size = apart+(float64(x.At(i, j))-w)*(float64(x.At(i, j))-w), size+w*w
		}
		// The ascent contracts towards a centre, so rounding errors do not grow.
		if !(apart <= 1e-8*size) {
			return "", fmt.Errorf("x_n of picture %d differs from float64 by a share of %.2g of its norm, expected at most 1e-4", i, math.Sqrt(apart/size))
		}
	}
	return fmt.Sprintf("x_n of %d pictures before the first update within 1e-4 of float64", x.Rows), nil
}

// ascendInFull takes the rows of x uphill in float64, a component after the other, because
// all precisions in full would need gigabytes.
func ascendInFull(p *dpn.Potential, x blas64.General, steps int) blas64.General {
	centres := p.Centres()
	one := reference.Potential{K: 1, D: p.D, C: []float64{0}}
	for range steps {
		evs := make([][]*reference.Evaluation, x.Rows)
		for i := range p.K {
			one.Mu = reference.FromFloat32(centres.Row(i), 1, p.D, p.D, 1)
			one.P = []blas64.General{{Rows: p.D, Cols: p.D, Stride: p.D, Data: p.Precision(i)}}
			for b := range x.Rows {
				evs[b] = append(evs[b], one.At(x.Data[b*x.Stride:b*x.Stride+p.D]))
			}
		}
		for b := range x.Rows {
			q := make([]float64, p.K)
			for i, ev := range evs[b] {
				q[i] = ev.Q.V[0]
			}
			r, _ := reference.LogSumExp(q, make([]float64, p.K))
			for i, ev := range evs[b] {
				for j, g := range ev.Grad.V {
					x.Data[b*x.Stride+j] += float64(p.Alpha()) * r.V[i] * g
				}
			}
		}
	}
	return x
}

// --- load

func loadSuite() []group {
	const n = 2000
	bytes := float64(n * 28 * 28)
	all := []group{
		{suite: "load", name: "idx", extent: Quick, params: params("images", n), bytes: bytes, items: n, host: true, serial: true, open: func() (opener, error) { return openIDX(n) }},
	}
	for _, name := range []string{"write", "read"} {
		for _, preset := range []string{"compact", "paper"} {
			c, err := dpn.Preset(preset)
			if err != nil {
				panic(err)
			}
			x := Usual
			if preset == "compact" {
				x = Quick
			}
			// The size is that of the float32 numbers.
			g := group{suite: "load", name: "checkpoint " + name, extent: x, host: true, serial: true, open: func() (opener, error) { return openCheckpoint(c, name) }}
			data, err := digits(10, 10)
			if err != nil {
				panic(err) // built in
			}
			m, err := dpn.New(c, data)
			if err != nil {
				panic(err) // a preset
			}
			g.bytes = 4 * float64(m.Parameters())
			g.params = params("parameters", m.Parameters())
			all = append(all, g)
		}
	}
	return all
}

// openIDX writes compressed IDX files of built-in digits and reads them.
func openIDX(n int) (opener, error) {
	data, err := digits(n, 10)
	if err != nil {
		return nil, err
	}
	return func(*engine.Engine) (*work, error) {
		dir, err := os.MkdirTemp("", "dpnbench")
		if err != nil {
			return nil, err
		}
		for _, f := range []struct {
			name string
			set  *dataset.Set
		}{{"train", data.Train}, {"t10k", data.Test}} {
			err = writeIDX(filepath.Join(dir, f.name), f.set)
			if err != nil {
				os.RemoveAll(dir)
				return nil, err
			}
		}
		var got *dataset.Data
		return &work{
			op: func() (err error) {
				got, err = dataset.LoadIDX(dir, dataset.Options{})
				return err
			},
			check: func() (string, error) {
				if got.Train.Len() != n {
					return "", fmt.Errorf("%d pictures, wrote %d", got.Train.Len(), n)
				}
				for i := range n {
					if string(got.Train.Image(i)) != string(data.Train.Image(i)) || got.Train.Labels[i] != data.Train.Labels[i] {
						return "", fmt.Errorf("picture %d differs from what was written", i)
					}
				}
				return "the same pictures and labels", nil
			},
			close: func() { os.RemoveAll(dir) },
		}, nil
	}, nil
}

func writeIDX(prefix string, s *dataset.Set) error {
	write := func(path string, header []uint32, body []byte) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		z := gzip.NewWriter(f)
		for _, h := range header {
			if err := binary.Write(z, binary.BigEndian, h); err != nil {
				return err
			}
		}
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		return f.Close()
	}
	n := s.Len()
	var pictures []byte
	for i := range n {
		pictures = append(pictures, s.Image(i)...)
	}
	if err := write(prefix+"-images-idx3-ubyte.gz", []uint32{0x803, uint32(n), 28, 28}, pictures); err != nil {
		return err
	}
	return write(prefix+"-labels-idx1-ubyte.gz", []uint32{0x801, uint32(n)}, s.Labels)
}

// openCheckpoint writes, or reads, the model file of a fresh network.
func openCheckpoint(c dpn.Config, name string) (opener, error) {
	data, err := digits(200, 10)
	if err != nil {
		return nil, err
	}
	return func(e *engine.Engine) (*work, error) {
		m, err := dpn.New(c, data)
		if err != nil {
			return nil, err
		}
		if _, err := m.Init(context.Background(), e, data.Train); err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "dpnbench")
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, dpn.ModelFile)
		w := &work{close: func() { os.RemoveAll(dir) }, op: func() error { return m.Save(path) }}
		if name == "read" {
			if err := m.Save(path); err != nil {
				w.close()
				return nil, err
			}
			w.op = func() error { _, err := dpn.Load(path); return err }
		}
		w.check = func() (string, error) {
			back, err := dpn.Load(path)
			if err != nil {
				return "", err
			}
			if back.WeightsSHA256() != m.WeightsSHA256() {
				return "", fmt.Errorf("the weights that were read are not those that were written")
			}
			return "the same weights back", nil
		}
		return w, nil
	}, nil
}
