package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"dpnbench/dataset/source"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

const classes = 10

// inputs are the initial network and data, the same on both sides: d dimensions, k components,
// n steps, batch rows.
type inputs struct {
	soft          bool // all components are active, not one
	noise         float32
	d, k, n, rows int

	alpha  float32
	mu     []float32 // k x d
	a      []float32 // k x d x d
	c      []float32 // k
	x      []float32 // rows x d
	w      []float32 // classes x d
	b      []float32 // classes
	labels []uint16
}

func newInputs(soft bool, d, k, n, rows int) *inputs {
	in := &inputs{
		soft: soft, d: d, k: k, n: n, rows: rows,
		mu: make([]float32, k*d), a: make([]float32, k*d*d), c: make([]float32, k), x: make([]float32, rows*d),
		w: make([]float32, classes*d), b: make([]float32, classes), labels: make([]uint16, rows),
	}
	r := num.NewRand(1, 0)
	r.Normal(in.w)
	for i := range in.w {
		in.w[i] /= float32(math.Sqrt(float64(d)))
	}
	return in
}

// softInputs draws features and 20 centres at random. A_i is s0 I plus noise. With this s0 all
// components are active, as in a trained feature space (0.3 for 64 dimensions).
func softInputs(d, n, rows int) *inputs {
	in := newInputs(true, d, 20, n, rows)
	r := num.NewRand(1, 1)
	s0 := float32(2.4 / math.Sqrt(float64(d)))
	r.Normal(in.mu)
	r.Normal(in.x)
	r.Normal(in.c)
	r.Normal(in.a)
	for i := range in.a {
		in.a[i] *= 0.1 * s0 / float32(math.Sqrt(float64(d)))
		if i/d%d == i%d {
			in.a[i] += s0
		}
	}
	for i := range in.labels {
		in.labels[i] = uint16(r.Intn(classes))
	}
	in.alpha = 0.1 / (s0 * s0)
	return in
}

// trainedNoise gives A_i^T A_i eigenvalues from 0.14 to 3.1. With alpha = 0.1, alpha times the
// largest is about as after half an epoch of training.
const trainedNoise = 0.5

// digitInputs are the paper's network before training, A_i = I around the k-means centres
// of images: nearly always a single component is active. Noise, whose rows have that length,
// fills A_i as training does.
func digitInputs(ctx context.Context, k, n, rows int, noise float32) (*inputs, error) {
	data, err := source.Open("digits", source.Options{TrainSize: 2000, TestSize: 10, Seed: 1})
	if err != nil {
		return nil, err
	}
	set, table := data.Train, data.Norm.Table(0)
	d := set.Shape.Len()
	in := newInputs(false, d, k, n, rows)
	all := engine.NewMatrix(set.Len(), d)
	for i, v := range set.Pixels {
		all.Data[i] = table[v]
	}
	e, err := engine.New()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	found, err := potential.KMeans(ctx, e, all, k, 1)
	if err != nil {
		return nil, err
	}
	copy(in.mu, found.Centres.Data)
	copy(in.x, all.Data)
	copy(in.labels, set.Labels)
	if in.noise = noise; noise > 0 {
		num.NewRand(1, 1).Normal(in.a)
	}
	for i := range in.a {
		in.a[i] *= noise / float32(math.Sqrt(float64(d)))
		if i/d%d == i%d {
			in.a[i]++
		}
	}
	in.alpha = 0.1
	return in, nil
}

func (in *inputs) String() string {
	what := "digits, A = I: one component is active"
	switch {
	case in.soft:
		what = "all components are active"
	case in.noise > 0:
		what = "digits, A = I and noise: one component is active"
	}
	return fmt.Sprintf("d %d, k %d, n %d, batch %d (%s)", in.d, in.k, in.n, in.rows, what)
}

// write passes the inputs to a Python peer, as float32 in the order of its read.
func (in *inputs) write(path string) error {
	labels := make([]float32, in.rows)
	for i, l := range in.labels {
		labels[i] = float32(l)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, v := range [][]float32{in.mu, in.a, in.c, {in.alpha}, in.x, in.w, in.b, labels} {
		if _, err := f.Write(bytesOf(v)); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

// A network is our side: the ascent and a linear classifier, no extractor.
type network struct {
	e  *engine.Engine
	in *inputs
	m  *ascent.Mixture

	x, y, dy, v engine.Matrix // x_n, logits, their gradient, that of x_n
	path        ascent.Trajectory
	grad        *ascent.Gradient
	alphaGrad   []float32
	dw, db      []float32
	losses      []float32
	params      []param // of the potential, then of the classifier
}

type param struct{ data, grad, m, v []float32 }

const headParams = 2 // of the params, the last ones

func newNetwork(e *engine.Engine, in *inputs) *network {
	own := *in // each learns on its own
	for _, p := range []*[]float32{&own.mu, &own.a, &own.c, &own.w, &own.b} {
		*p = slices.Clone(*p)
	}
	in = &own
	n := &network{
		e: e, in: in, m: ascent.NewMixture(in.k, in.d, in.mu, in.c),
		x: engine.NewMatrix(in.rows, in.d), v: engine.NewMatrix(in.rows, in.d),
		y: engine.NewMatrix(in.rows, classes), dy: engine.NewMatrix(in.rows, classes),
		grad: ascent.NewGradient(in.k, in.d), alphaGrad: make([]float32, 1),
		dw: make([]float32, classes*in.d), db: make([]float32, classes), losses: make([]float32, in.rows),
	}
	for _, p := range []param{
		{data: in.mu, grad: n.grad.Mu}, {data: in.a, grad: n.grad.A}, {data: in.c, grad: n.grad.C},
		{data: []float32{in.alpha}, grad: n.alphaGrad}, {data: in.w, grad: n.dw}, {data: in.b, grad: n.db},
	} {
		p.m, p.v = make([]float32, len(p.data)), make([]float32, len(p.data))
		n.params = append(n.params, p)
	}
	n.m.SetFactors(e, in.a)
	return n
}

// forward makes n ascent steps. P_i were set before, as for a trained network.
func (n *network) forward() {
	copy(n.x.Data, n.in.x)
	n.m.Ascend(n.e, n.in.alpha, n.in.n, n.x, nil, false)
}

// train makes a complete update with the exact gradient.
func (n *network) train() {
	n.gradients()
	n.adam(n.params)
	n.m.SetFactors(n.e, n.in.a)
}

func (n *network) gradients() {
	e := n.e
	copy(n.x.Data, n.in.x)
	n.m.Ascend(e, n.in.alpha, n.in.n, n.x, &n.path, true)
	n.classify()
	e.MatMul(n.v, n.dy, engine.View(n.in.w, classes, n.in.d), false)
	n.m.Backward(e, n.in.alpha, n.in.a, &n.path, n.v, n.grad)
	n.alphaGrad[0] = n.grad.Alpha
}

// trainHead makes an update that detaches the gradient after every step: only the classifier is
// trained, and P_i do not change.
func (n *network) trainHead() {
	n.forward()
	n.classify()
	n.adam(n.params[len(n.params)-headParams:])
}

// classify runs the classifier on x_n forward and backward.
func (n *network) classify() {
	e := n.e
	e.MatMul(n.y, n.x, engine.View(n.in.w, classes, n.in.d).T(), false)
	for i := range n.y.Rows {
		e.Add(n.y.Row(i), n.y.Row(i), n.in.b)
	}
	e.SoftmaxCrossEntropy(n.dy, n.losses, n.y, n.in.labels, 1/float32(n.in.rows))
	e.MatMul(engine.View(n.dw, classes, n.in.d), n.dy.T(), n.x, false)
	e.ColumnSums(n.db, n.dy, false)
}

// adam steps with a learning rate of 0, as the peers do: the same work, and every round
// starts from the same parameters.
func (n *network) adam(params []param) {
	co := engine.AdamCoefficients{Clip: 1, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Step: 0,
		RBC2: 1, Eps: 1e-8}
	for _, p := range params {
		n.e.Adam(p.data, p.grad, p.m, p.v, &co)
	}
}

func (n *network) loss() float32 { return n.e.Sum(n.losses) / float32(len(n.losses)) }
