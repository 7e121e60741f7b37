package dataset_test

import (
	"flag"
	"math"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
)

var hardness = flag.Bool("hardness", false, "train a linear classifier and an MLP on all built-in digits, half a minute")

// TestHardness trains the classifiers of the package comment, on the digits and, where
// DPN_DATA names a folder with it, on MNIST: how hard the digits are is part of what they
// promise.
func TestHardness(t *testing.T) {
	if !*hardness {
		t.Skip("half a minute with assembly, hours without: -hardness")
	}
	for _, c := range []struct {
		name   string
		sizes  []int
		lo, hi float64
	}{
		{"linear classifier", []int{784, 10}, 85, 94},
		{"MLP 784-512-256-10", []int{784, 512, 256, 10}, 98.5, 100},
	} {
		for _, name := range []string{"digits", "mnist"} {
			data, err := dataset.Open(name, dataset.Options{Seed: 1})
			if err != nil && name == "digits" { // built in
				t.Fatal(err)
			}
			if err != nil {
				t.Logf("%s on %s: %v", c.name, name, err)
				continue
			}
			got := newMLP(t, c.sizes).train(data, 10)
			t.Logf("%s on %s: %.2f%%", c.name, name, got)
			if name == "digits" && (got < c.lo || got > c.hi) {
				t.Errorf("%s on %s: %.2f%% right, want %g to %g", c.name, name, got, c.lo, c.hi)
			}
		}
	}
}

// mlp is a multilayer perceptron with ReLU. Layer l maps x[l] (batch x inputs) to x[l+1].
type mlp struct {
	e      *engine.Engine
	layers []layer
	x, dx  []engine.Matrix
}

type layer struct {
	w, b, dw, db   engine.Matrix // w is inputs x outputs
	mw, vw, mb, vb []float32
}

const batch = 128

func newMLP(t *testing.T, sizes []int) *mlp {
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	n := &mlp{e: e}
	r := engine.NewRand(1, 0)
	for l, size := range sizes {
		n.x, n.dx = append(n.x, engine.NewMatrix(batch, size)), append(n.dx, engine.NewMatrix(batch, size))
		if l == 0 {
			continue
		}
		in := sizes[l-1]
		y := layer{w: engine.NewMatrix(in, size), b: engine.NewMatrix(1, size), dw: engine.NewMatrix(in, size), db: engine.NewMatrix(1, size),
			mw: make([]float32, in*size), vw: make([]float32, in*size), mb: make([]float32, size), vb: make([]float32, size)}
		limit := float32(math.Sqrt(6 / float64(in)))
		r.Uniform(y.w.Data, -limit, limit)
		n.layers = append(n.layers, y)
	}
	return n
}

// forward fills x[0] with the pictures at of s and computes the rest.
func (n *mlp) forward(s *dataset.Set, table *[256]float32, at []int32) {
	for i, p := range at {
		row := n.x[0].Row(i)
		for j, v := range s.Image(int(p)) {
			row[j] = table[v]
		}
	}
	for l, y := range n.layers {
		for i := range batch {
			copy(n.x[l+1].Row(i), y.b.Data)
		}
		n.e.MatMul(n.x[l+1], n.x[l], y.w, true)
		if l < len(n.layers)-1 {
			n.e.ReLU(n.x[l+1].Data, n.x[l+1].Data)
		}
	}
}

// train makes so many epochs of Adam at 1e-3, with 5% warm-up and cosine decay, and
// returns the percentage of test pictures that are right afterwards.
func (n *mlp) train(data *dataset.Data, epochs int) float64 {
	table := data.Norm.Table()
	order := make([]int32, data.Train.Len())
	losses, labels := make([]float32, batch), make([]byte, batch)
	last := len(n.layers)
	perEpoch := len(order) / batch
	all, step := epochs*perEpoch, 0
	for epoch := range epochs {
		engine.NewRand(1, uint64(1+epoch)).Permutation(order)
		for b := range perEpoch {
			at := order[b*batch : (b+1)*batch]
			n.forward(data.Train, &table, at)
			for i, p := range at {
				labels[i] = data.Train.Labels[p]
			}
			n.e.SoftmaxCrossEntropy(n.dx[last], losses, n.x[last], labels, 1./batch)
			for l := last - 1; l >= 0; l-- {
				y := n.layers[l]
				n.e.MatMul(y.dw, n.x[l].T(), n.dx[l+1], false)
				n.e.ColumnSums(y.db.Data, n.dx[l+1], false)
				if l > 0 {
					n.e.MatMul(n.dx[l], n.dx[l+1], y.w.T(), false)
					n.e.ReLUBackward(n.dx[l].Data, n.x[l].Data, n.dx[l].Data)
				}
			}
			step++
			warm := float64(all) / 20
			rate := min(float64(step)/warm, 0.5+0.5*math.Cos(math.Pi*max(0, float64(step)-warm)/(float64(all)-warm)))
			co := &engine.AdamCoefficients{Clip: 1, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Eps: 1e-8,
				Step: float32(1e-3 * rate / (1 - math.Pow(0.9, float64(step)))), RBC2: float32(1 / math.Sqrt(1-math.Pow(0.999, float64(step))))}
			for _, y := range n.layers {
				n.e.Adam(y.w.Data, y.dw.Data, y.mw, y.vw, co)
				n.e.Adam(y.b.Data, y.db.Data, y.mb, y.vb, co)
			}
		}
	}
	right, class := 0, make([]int32, batch)
	for lo := 0; lo < data.Test.Len(); lo += batch {
		at := make([]int32, min(batch, data.Test.Len()-lo))
		for i := range at {
			at[i] = int32(lo + i)
		}
		n.forward(data.Test, &table, at)
		n.e.ArgMax(class, n.x[last])
		for i, p := range at {
			if class[i] == int32(data.Test.Labels[p]) {
				right++
			}
		}
	}
	return 100 * float64(right) / float64(data.Test.Len())
}
