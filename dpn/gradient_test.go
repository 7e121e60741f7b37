package dpn

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// oracle is the whole network in float64, on flat parameters by name.
type oracle struct {
	t                        testing.TB
	in, d, k, classes, steps int
	norm                     bool
	form                     string
	scale, eps               float64
	params                   map[string][]float64
	x                        blas64.General // pixels
	clean                    blas64.General // clean features of the first rows, for the denoising loss
	denoising                float64
	labels                   []uint16
}

// affine returns x w^T + b.
func affine(x blas64.General, w, b []float64, out int) blas64.General {
	y := reference.New(x.Rows, out)
	for r := range x.Rows {
		for o := range out {
			s := b[o]
			for i := range x.Cols {
				s += x.Data[r*x.Stride+i] * w[o*x.Cols+i]
			}
			y.Data[r*y.Stride+o] = s
		}
	}
	return y
}

// potential returns the potential, and a function that turns gradients of all P_i into
// those of their parameters.
func (o *oracle) potential() (*reference.Potential, func(dp reference.Value) map[string][]float64) {
	p := &reference.Potential{
		K:     o.k,
		D:     o.d,
		C:     o.params["denoising_potential.c"],
		Alpha: o.params["denoising_potential.alpha"][0],
		Mu:    blas64.General{Rows: o.k, Cols: o.d, Stride: o.d, Data: o.params["denoising_potential.mu"]},
	}
	const prefix = "denoising_potential."
	switch s := o.scale; o.form {
	case potential.FormFull, potential.FormTied:
		var a []blas64.General
		for i := range o.k {
			if o.form == potential.FormTied {
				i = 0
			}
			a = append(a,
				blas64.General{Rows: o.d, Cols: o.d, Stride: o.d, Data: o.params[prefix+"A"][i*o.d*o.d:][:o.d*o.d]})
		}
		p.P = reference.Factors(a)
		return p, func(dp reference.Value) map[string][]float64 {
			da := reference.FactorGradient(a, dp).V
			if o.form == potential.FormTied {
				n := o.d * o.d
				for i, v := range da[n:] {
					da[i%n] += v
				}
				da = da[:n]
			}
			return map[string][]float64{prefix + "A": da}
		}
	case potential.FormFlat:
		u := o.params[prefix+"U"]
		low := &reference.LowRank{W: reference.New(o.k, o.d), F: reference.New(len(u)/o.d, o.d), S: -1}
		factor := s * math.Sqrt(1-o.eps)
		for i := range low.W.Data {
			low.W.Data[i] = s * s
		}
		for i, v := range u {
			low.F.Data[i] = factor * v
		}
		p.P = low.Precisions()
		return p, func(dp reference.Value) map[string][]float64 {
			_, df := low.Gradient(dp.V)
			return map[string][]float64{prefix + "U": scaled(df, factor)}
		}
	case potential.FormDiag, potential.FormLowRank: // diag has r = 0
		l, r := o.params[prefix+"l"], o.params[prefix+"R"]
		low := &reference.LowRank{W: reference.New(o.k, o.d), F: reference.New(len(r)/o.d, o.d), S: 1}
		for i, v := range l {
			low.W.Data[i] = s * s * math.Exp(2*v)
		}
		for i, v := range r {
			low.F.Data[i] = s * v
		}
		p.P = low.Precisions()
		return p, func(dp reference.Value) map[string][]float64 {
			dw, df := low.Gradient(dp.V)
			for i := range dw {
				dw[i] *= 2 * low.W.Data[i]
			}
			return map[string][]float64{prefix + "l": dw, prefix + "R": scaled(df, s)}
		}
	}
	o.t.Fatalf("no oracle of form %s: add a case to oracle.potential in dpn/gradient_test.go", o.form)
	return nil, nil
}

func scaled(x []float64, s float64) []float64 {
	for i := range x {
		x[i] *= s
	}
	return x
}

// forward returns features, the path of the ascent, logits and the mean loss.
func (o *oracle) forward() (f blas64.General, rstd []float64, path []blas64.General, logits blas64.General,
	loss float64) {
	f = o.x
	if w, ok := o.params["feature_extractor.weight"]; ok {
		f = affine(o.x, w, o.params["feature_extractor.bias"], o.d)
	}
	if o.norm {
		y := reference.New(f.Rows, f.Cols)
		for r := range f.Rows {
			v, s := reference.LayerNorm(f.Data[r*f.Stride:][:o.d], layer.Eps)
			copy(y.Data[r*y.Stride:], v.V)
			rstd = append(rstd, s.V[0])
		}
		f = y
	}
	p, _ := o.potential()
	path = p.Ascend(f, o.steps)
	logits = affine(path[o.steps], o.params["classifier.weight"], o.params["classifier.bias"], o.classes)
	for r, y := range o.labels {
		l, _ := reference.SoftmaxCrossEntropy(logits.Data[r*logits.Stride:][:o.classes], int(y))
		loss += l.V[0] / float64(len(o.labels))
	}
	for _, d := range o.left(path) {
		loss += o.denoising * d * d / float64(len(o.clean.Data))
	}
	return f, rstd, path, logits, loss
}

// left is what the ascent has left of the noise: x_n - clean.
func (o *oracle) left(path []blas64.General) []float64 {
	d := make([]float64, len(o.clean.Data))
	for i, c := range o.clean.Data {
		d[i] = path[o.steps].Data[i] - c
	}
	return d
}

// transposed returns y^T x as a flat slice and the column sums of y.
func transposed(y, x blas64.General) (w, b []float64) {
	w, b = make([]float64, y.Cols*x.Cols), make([]float64, y.Cols)
	for r := range y.Rows {
		for o := range y.Cols {
			v := y.Data[r*y.Stride+o]
			b[o] += v
			for i := range x.Cols {
				w[o*x.Cols+i] += v * x.Data[r*x.Stride+i]
			}
		}
	}
	return w, b
}

// backward returns the gradient of the loss by parameter. That of alpha is with respect
// to alpha itself.
func (o *oracle) backward() map[string][]float64 {
	g := map[string][]float64{}
	f, rstd, path, logits, _ := o.forward()
	n := len(o.labels)
	dy := reference.New(n, o.classes)
	for r, y := range o.labels {
		_, d := reference.SoftmaxCrossEntropy(logits.Data[r*logits.Stride:][:o.classes], int(y))
		for j, v := range d.V {
			dy.Data[r*dy.Stride+j] = v / float64(n)
		}
	}
	g["classifier.weight"], g["classifier.bias"] = transposed(dy, path[o.steps])
	w := blas64.General{Rows: o.classes, Cols: o.d, Stride: o.d, Data: o.params["classifier.weight"]}
	v, _ := reference.MatMul(dy, w, blas64.General{})
	for i, d := range o.left(path) {
		v.Data[i] += o.denoising * 2 * d / float64(len(o.clean.Data))
	}
	p, parameters := o.potential()
	pg := p.Backward(path, v)
	g["denoising_potential.mu"], g["denoising_potential.c"] = pg.Mu.V, pg.C.V
	g["denoising_potential.alpha"] = pg.Alpha.V
	maps.Copy(g, parameters(pg.P))
	if _, ok := o.params["feature_extractor.weight"]; ok {
		df := reference.New(n, o.d)
		copy(df.Data, pg.V.V)
		if o.norm {
			for r := range n {
				d := reference.LayerNormBackward(f.Data[r*f.Stride:][:o.d], rstd[r], pg.V.V[r*o.d:][:o.d])
				copy(df.Data[r*o.d:], d.V)
			}
		}
		g["feature_extractor.weight"], g["feature_extractor.bias"] = transposed(df, o.x)
	}
	return g
}

// smallModel is a network on 3 x 4 images with parameters away from their first values.
func smallModel(t testing.TB, c Config) (*Model, *dataset.Set) {
	t.Helper()
	r := num.NewRand(5, 0)
	set := &dataset.Set{Shape: dataset.Grey(3, 4), Pixels: make([]byte, 12*6), Labels: make([]uint16, 6)}
	for i := range set.Pixels {
		set.Pixels[i] = byte(r.Intn(256))
	}
	for i := range set.Labels {
		set.Labels[i] = uint16(r.Intn(3))
	}
	c.Batch = 6
	m, err := New(c, &dataset.Data{Train: set, Test: set, Classes: dataset.Numbered(3), Norm: dataset.Uniform(0.5,
		0.3)})
	if err != nil {
		t.Fatal(err)
	}
	p := m.potential
	r.Normal(p.Centres().Data)
	r.Normal(p.LogWeights())
	for _, q := range p.Params()[3:] {
		noise := make([]float32, len(q.Data))
		r.Normal(noise)
		for i, v := range noise {
			q.Data[i] += 0.1 * v
		}
	}
	p.Updated(newEngine(t))
	return m, set
}

var gradientConfigs = []Config{
	{Extractor: "identity", Components: 1, Steps: 1, Scale: 0.5, Alpha: 0.3},
	{Extractor: "identity", Components: 3, Steps: 4, Scale: 0.4, Alpha: 0.5},
	{Extractor: "linear", Dim: 5, Components: 4, Steps: 0, Scale: 0.6, Alpha: 0.4},
	{Extractor: "linear", Dim: 5, Components: 4, Steps: 3, Scale: 0.6, Alpha: 0.4},
	{Extractor: "linear", Dim: 5, Components: 3, Steps: 5, Scale: 0.7, Alpha: 0.3, LayerNorm: true},
	{Extractor: "identity", Components: 3, Steps: 3, Scale: 0.4, Alpha: 0.5, LayerNorm: true},
	{Extractor: "identity", Components: 3, Steps: 4, Form: potential.FormDiag, Scale: 0.5, Alpha: 0.5},
	{Extractor: "identity", Components: 3, Steps: 4, Form: potential.FormLowRank, Rank: 2, Scale: 0.4, Alpha: 0.5},
	{
		Extractor:  "linear",
		Dim:        5,
		Components: 4,
		Steps:      3,
		Form:       potential.FormLowRank,
		Rank:       5,
		Scale:      0.6,
		Alpha:      0.4,
		LayerNorm:  true,
	},
	{
		Extractor:  "identity",
		Components: 3,
		Steps:      4,
		Form:       potential.FormFlat,
		Rank:       3,
		Eps:        0.1,
		Scale:      0.7,
		Alpha:      0.5,
	},
	{
		Extractor:  "linear",
		Dim:        5,
		Components: 1,
		Steps:      2,
		Form:       potential.FormFlat,
		Rank:       1,
		Eps:        1,
		Scale:      0.7,
		Alpha:      0.5,
	},
	{Extractor: "identity", Components: 3, Steps: 4, Form: potential.FormTied, Scale: 0.4, Alpha: 0.5},
	{
		Extractor:  "linear",
		Dim:        5,
		Components: 4,
		Steps:      3,
		Scale:      0.6,
		Alpha:      0.4,
		LayerNorm:  true,
		NoiseMin:   0.3,
		NoiseMax:   0.5,
		Denoising:  1,
	},
	{
		Extractor:  "linear",
		Dim:        5,
		Components: 4,
		Steps:      0,
		Scale:      0.6,
		Alpha:      0.4,
		NoiseMin:   0.3,
		NoiseMax:   0.5,
		Denoising:  3,
	},
	{
		Extractor:  "identity",
		Components: 3,
		Steps:      4,
		Form:       potential.FormFlat,
		Rank:       3,
		Eps:        0.1,
		Scale:      0.7,
		Alpha:      0.5,
		NoiseMax:   0.2,
		Denoising:  0.5,
	},
}

func completed(c Config) Config {
	if c.Form == "" {
		c.Form = potential.FormFull
	}
	c.Init, c.Optimiser = "kmeans", Adam
	c.Shards = 1
	c.Gradient, c.Epochs, c.LR, c.PotentialLR, c.Schedule, c.Seed = "exact", 1, 1e-3, 1e-3, "constant", 1
	return c
}

// TestGradients holds every parameter's gradient in float64 against central differences
// of the loss, and the engine's float32 gradient against the one in float64.
func TestGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same bits on every machine (TestTrainedBits), and slow under emulation")
	}
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	formConfigs(t)
	for _, c := range gradientConfigs {
		c = completed(c)
		t.Run(fmt.Sprintf(
			"%s,%s,k%d,n%d,norm=%v,denoising=%v",
			c.Extractor,
			c.Form,
			c.Components,
			c.Steps,
			c.LayerNorm,
			c.Denoising,
		), func(t *testing.T) {
			m, set := smallModel(t, c)
			s := NewTrainer(m, e)
			at := []int32{0, 1, 2, 3, 4, 5}
			loss := s.exact(whole(set, at))

			o := &oracle{t: t, in: 12, d: m.Dim(), k: c.Components, classes: 3, steps: c.Steps, norm: c.LayerNorm,
				form: c.Form, scale: float64(float32(c.Scale)), eps: c.Eps,
				params: map[string][]float64{}, x: reference.New(6, 12), labels: set.Labels}
			for i, v := range s.x.Data {
				o.x.Data[i] = float64(v)
			}
			if c.Denoising > 0 {
				clean, err := m.Features(context.Background(), e, set.Slice(0, 3))
				if err != nil {
					t.Fatal(err)
				}
				o.clean, o.denoising = blas(reference.Vector(clean.Data), 3, m.Dim()), c.Denoising
			}
			for _, p := range m.Params() {
				o.params[p.Name] = reference.Vector(p.Data)
			}
			_, _, _, _, want := o.forward()
			if !(math.Abs(loss-want) <= 1e-5*want) {
				t.Errorf("loss %v, in float64 %v", loss, want)
			}
			grads := o.backward()
			for _, p := range m.Params() {
				g, x := grads[p.Name], o.params[p.Name]
				if len(g) != len(x) {
					t.Fatalf("%s: the oracle has a gradient of %d numbers, want %d", p.Name, len(g), len(x))
				}
				largest := 0.0
				for _, v := range g {
					largest = max(largest, math.Abs(v))
				}
				for i := range g {
					const h = 1e-5
					old := x[i]
					x[i] = old + h
					_, _, _, _, up := o.forward()
					x[i] = old - h
					_, _, _, _, down := o.forward()
					x[i] = old
					diff := (up - down) / (2 * h)
					if !(math.Abs(g[i]-diff) <= 1e-6*(math.Abs(diff)+1e-2*largest)+1e-11) {
						t.Errorf("%s[%d]: gradient %.12g, central difference %.12g", p.Name, i, g[i], diff)
					}
					slope := 1.0
					if p.Name == potential.AlphaName {
						slope = 1 - math.Exp(-x[0])
					}
					if got := float64(p.Grad[i]); !(math.Abs(got-slope*g[i]) <= 2e-5*slope*largest+1e-7) {
						t.Errorf("%s[%d]: float32 gradient %.9g, in float64 %.9g", p.Name, i, got, slope*g[i])
					}
				}
			}
		})
	}
}

// blas is x as a matrix.
func blas(x []float64, rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: x}
}
