package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/reference"
)

func newEngine(t testing.TB, o ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// digits returns n small images: 10 x 10 pixels, or 8 x 8 for the CNN.
func digits(t testing.TB, n, side int) Samples {
	t.Helper()
	s, err := dataset.Digits(1, 0, n).Resize(side, side)
	if err != nil {
		t.Fatal(err)
	}
	return Rows(s, dataset.Uniform(0.5, 0.5))
}

// kind is a small network with the settings of its training.
type kind struct {
	name  string
	make  func() (*Network, error)
	side  int
	train Training
	hash  string // of the weights after training, on every tier, number of threads and machine
}

func kinds() []kind {
	adam := Training{
		Optimiser: Adam,
		LR:        3e-3,
		Clip:      1,
		Schedule:  layer.Cosine,
		Warmup:    0.1,
		Epochs:    2,
		Batch:     32,
		Seed:      1,
	}
	residual := HeSu(100, 4, 10)
	residual.Residual = true
	sgd := Training{
		Optimiser:   SGD,
		LR:          0.02,
		Momentum:    0.9,
		WeightDecay: 5e-4,
		Schedule:    layer.Thirds,
		Epochs:      3,
		Batch:       32,
		Seed:        2,
	}
	noisy := adam
	noisy.NoiseMin, noisy.NoiseMax = 0.1, 0.5
	mlp := func(c MLP) func() (*Network, error) { return func() (*Network, error) { return NewMLP(c, 1) } }
	plain := HeSu(100, 2, 10)
	plain.BatchNorm = false
	return []kind{
		{"linear classifier, SGD", mlp(MLP{Widths: []int{100, 10}}), 10, sgd, "ac791970fbdb4b21"},
		{"He and Su, depth 2, Adam", mlp(HeSu(100, 2, 10)), 10, adam, "a67b002c2eb0b9db"},
		{"He and Su, depth 2, SGD", mlp(HeSu(100, 2, 10)), 10, sgd, "6344b8651d49de86"},
		{"without BatchNorm", mlp(plain), 10, adam, "b4b8a27deeefbd02"},
		{
			"deep linear",
			mlp(MLP{Widths: []int{100, 60, 60, 10}, Identity: true, Kaiming: true}),
			10,
			sgd,
			"fc8bb1e58d8386ba",
		},
		{
			"MLP with dropout",
			mlp(MLP{Widths: []int{100, 50, 40, 10}, Dropout: 0.3, Kaiming: true}),
			10,
			adam,
			"6fa7369ad1231e2c",
		},
		{"residual", mlp(residual), 10, sgd, "80ee2312f6d34348"},
		{"CNN, noisy", func() (*Network, error) { return NewCNN(dataset.Grey(8, 8), 10, 1) }, 8, noisy,
			"28d7354fa6c6b794"},
	}
}

// TestTrainedBits trains every kind of network for a few updates on every tier and number of
// threads, and compares the hash of the weights with the committed one.
func TestTrainedBits(t *testing.T) {
	type run struct {
		tier    engine.Tier
		threads int
	}
	var runs []run
	for _, tier := range engine.Available() {
		for threads := 1; threads <= 3; threads++ {
			if testing.Short() && threads != 2 {
				continue
			}
			runs = append(runs, run{tier, threads})
		}
	}
	for _, k := range kinds() {
		s := digits(t, 110, k.side) // the last minibatch is shorter
		for _, r := range runs {
			t.Run(fmt.Sprintf("%s/%v-%d", k.name, r.tier, r.threads), func(t *testing.T) {
				e := newEngine(t, engine.WithTier(r.tier), engine.WithThreads(r.threads), engine.WithEagerThreads())
				n, err := k.make()
				if err != nil {
					t.Fatal(err)
				}
				h, err := n.Fit(context.Background(), e, s, k.train, nil)
				if err != nil {
					t.Fatal(err)
				}
				if h[len(h)-1].Loss >= h[0].Loss {
					t.Errorf("loss %v in the last epoch, %v in the first", h[len(h)-1].Loss, h[0].Loss)
				}
				if got := n.WeightsSHA256(); k.hash == "" || !strings.HasPrefix(got, k.hash) {
					t.Errorf("weights hash to %s, want %q...", got, k.hash)
				}
			})
		}
	}
}

// TestLearns checks that the networks learn their training images.
func TestLearns(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same bits on every machine (TestTrainedBits), and slow under emulation")
	}
	e := newEngine(t)
	s := digits(t, 300, 10)
	n, err := NewMLP(HeSu(100, 2, 10), 3)
	if err != nil {
		t.Fatal(err)
	}
	tr := HeSuTraining(Adam, 5e-3)
	tr.Epochs = 20
	epochs := 0
	if _, err := n.Fit(context.Background(), e, s, tr, func(h Epoch) {
		if epochs++; h.Epoch != epochs || h.Updates != 3*epochs {
			t.Errorf("epoch %+v after %d", h, epochs-1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	score, err := n.Score(context.Background(), e, s)
	if err != nil || !(score.Accuracy >= 0.98) || score.Samples != 300 {
		t.Errorf("score %+v, %v", score, err)
	}
	classes, err := n.Predict(context.Background(), e, s)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, c := range classes {
		if c == s.Labels[i] {
			right++
		}
	}
	if want := int(math.Round(score.Accuracy * 300)); right != want {
		t.Errorf("%d predictions are right, the score says %d", right, want)
	}
}

// TestActivations checks names, widths and values of the features at every layer, and that the
// features of a row depend on other rows only by way of BatchNorm.
func TestActivations(t *testing.T) {
	e, ctx := newEngine(t), context.Background()
	s := digits(t, 300, 12)
	for _, c := range []struct {
		make   func() (*Network, error)
		names  string
		widths []int
	}{
		{func() (*Network, error) {
			return NewMLP(MLP{Widths: []int{144, 30, 20, 10}, BatchNorm: true, Dropout: 0.5}, 1)
		}, "[input hidden 1 hidden 2 logits]", []int{144, 30, 20, 10}},
		{func() (*Network, error) { return NewCNN(dataset.Grey(12, 12), 10, 1) },
			"[input conv 1 conv 2 hidden 1 logits]",
			[]int{144, 8 * 36, 16 * 9, 128, 10}},
		{func() (*Network, error) { return NewMLP(MLP{Widths: []int{144, 10}}, 1) }, "[input logits]", []int{144, 10}},
	} {
		n, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		list, err := n.Activations(ctx, e, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i, f := range list {
			names = append(names, f.Name)
			if f.X.Rows != 300 || f.X.Cols != c.widths[i] {
				t.Errorf("%s: %d x %d, want 300 x %d", f.Name, f.X.Rows, f.X.Cols, c.widths[i])
			}
			for j, v := range f.X.Data {
				if strings.HasPrefix(f.Name, "hidden") && v < 0 {
					t.Fatalf("%s[%d] is %v after ReLU", f.Name, j, v)
				}
			}
		}
		if got := fmt.Sprint(names); got != c.names {
			t.Errorf("layers %s, want %s", got, c.names)
		}
		if got, want := list[0].X.At(7, 50), (s.X.At(7, 50)-0.5)/0.5; got != want {
			t.Errorf("input %v, want %v", got, want)
		}
		// Logits agree with Score.
		loss := 0.0
		for i, y := range s.Labels {
			l, _ := reference.SoftmaxCrossEntropy(reference.Vector(list[len(list)-1].X.Row(i)), int(y))
			loss += l.V[0] / 300
		}
		if score, err := n.Score(ctx, e, s); err != nil || !(math.Abs(score.Loss-loss) <= 1e-5) {
			t.Errorf("loss %v from the logits, %v from Score, %v", loss, score.Loss, err)
		}
		before := n.WeightsSHA256()
		alone, err := n.Activations(ctx, e, s.Slice(290, 300), 0)
		if err != nil {
			t.Fatal(err)
		}
		batches, err := n.Activations(ctx, e, s, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range alone {
			d := f.X.Cols
			differ := 0
			for j, v := range f.X.Data {
				if v != list[i].X.Data[290*d+j] {
					t.Fatalf("%s of rows alone differ", f.Name)
				}
				if batches[i].X.Data[290*d+j] != v {
					differ++
				}
			}
			if looks := strings.Contains(c.names, "hidden 2") && f.Name != "input"; looks != (differ > 0) {
				t.Errorf("%s with statistics of batches: %d numbers differ", f.Name, differ)
			}
		}
		if n.WeightsSHA256() != before {
			t.Error("Activations changed the network")
		}
	}
}

// TestCounts compares the numbers of parameters and multiply-adds with counts by hand.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		make             func() (*Network, error)
		parameters, macs int
	}{
		{func() (*Network, error) { return NewMLP(MLP{Widths: []int{784, 640, 512, 256, 10}}, 1) },
			785*640 + 641*512 + 513*256 + 257*10, 784*640 + 640*512 + 512*256 + 256*10},
		{func() (*Network, error) { return NewMLP(HeSu(100, 6, 10), 1) }, 7*(101*100+200) + 1010, 7*10000 + 1000},
		{func() (*Network, error) { return NewCNN(dataset.Grey(28, 28), 10, 1) }, 8*26 + 16*201 + 785*128 + 1290,
			784*8*25 + 196*16*200 + 784*128 + 1280},
	} {
		n, err := c.make()
		if err != nil {
			t.Fatal(err)
		}
		if n.Parameters() != c.parameters || n.MACs() != c.macs {
			t.Errorf("%d parameters and %d multiply-adds, want %d and %d", n.Parameters(), n.MACs(), c.parameters,
				c.macs)
		}
	}
}

// TestRefusals checks that invalid settings and rows give an error of one line that names them.
func TestRefusals(t *testing.T) {
	e, ctx := newEngine(t), context.Background()
	for want, c := range map[string]MLP{
		"widths":      {Widths: []int{3}},
		"width 0":     {Widths: []int{3, 0, 2}},
		"width 99999": {Widths: []int{3, 99999, 2}},
		"dropout 1":   {Widths: []int{3, 2}, Dropout: 1},
		"2 hidden layers, expected one and pairs": {Widths: []int{3, 4, 4, 2}, Residual: true},
		"hidden layers of widths [4 4 5]":         {Widths: []int{3, 4, 4, 5, 2}, Residual: true},
	} {
		if _, err := NewMLP(c, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for _, s := range [][3]int{{3, 28, 10}, {28, 0, 10}, {28, 28, 0}, {28, 28, 1<<16 + 1}, {1 << 20, 1 << 20, 10}} {
		if _, err := NewCNN(dataset.Grey(s[0], s[1]), s[2], 1); err == nil {
			t.Errorf("a CNN of %v was accepted", s)
		}
	}
	if _, err := Corrupted(e, nil, dataset.MNISTNorm, dataset.Corruption{Name: "gaussian"}, 1); err == nil {
		t.Error("no set was accepted")
	}
	n, err := NewMLP(MLP{Widths: []int{100, 10}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	good := Training{Optimiser: Adam, LR: 1e-3, Schedule: layer.Constant, Epochs: 1, Batch: 10}
	s := digits(t, 20, 10)
	for want, change := range map[string]func(*Training){
		"optimiser": func(t *Training) { t.Optimiser = "x" }, "learning rate": func(t *Training) { t.LR = math.NaN() },
		"momentum": func(t *Training) { t.Momentum = 1 }, "weight decay": func(t *Training) { t.WeightDecay = -1 },
		"schedule": func(t *Training) { t.Schedule = "" }, "warm-up": func(t *Training) { t.Warmup = 2 },
		"epochs": func(t *Training) { t.Epochs = 0 }, "batch": func(t *Training) { t.Batch = 0 },
		"clip": func(t *Training) { t.Clip = -1 }, "noise": func(t *Training) { t.NoiseMin = 1 },
		"max updates": func(t *Training) { t.MaxUpdates = -1 },
	} {
		tr := good
		change(&tr)
		if _, err := n.Fit(ctx, e, s, tr, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
	wide, few, far := digits(t, 20, 11), s, s
	few.Labels = few.Labels[:19]
	far.Labels = append([]uint16(nil), far.Labels...)
	far.Labels[3] = 10
	for want, bad := range map[string]Samples{"rows of 121": wide, "19 labels": few, "label 10 of row 3": far,
		"no rows": s.Slice(0, 0)} {
		if _, err := n.Fit(ctx, e, bad, good, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	wild := good
	wild.LR, wild.Epochs, wild.Optimiser = 1e38, 50, SGD
	var bad *NotFiniteError
	if _, err := n.Fit(ctx, e, s, wild, nil); !errors.As(err, &bad) || bad.Epoch < 1 || bad.Update < 1 {
		t.Errorf("error %v, want a *NotFiniteError", err)
	}
	huge := digits(t, 20, 10)
	for i := range huge.X.Data {
		huge.X.Data[i] *= 1e25
	}
	fresh, err := NewMLP(MLP{Widths: []int{100, 10}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Fit(ctx, e, huge, good, nil); !errors.As(err, &bad) || bad.What != "norm of the gradient" {
		t.Errorf("error %v, want one about the norm of the gradient, whose elements are finite", err)
	}
	normed, err := NewMLP(MLP{Widths: []int{100, 20, 10}, BatchNorm: true}, 1)
	if err != nil {
		t.Fatal(err)
	}
	running := normed.tensors()[len(normed.tensors())-1]
	running.Data[3] = float32(math.Inf(1))
	var output *layer.OutputError
	if _, err := normed.Score(ctx, e, s); !errors.As(err, &output) || output.Tensor != running.Name {
		t.Errorf("error %v, want one about the running variance", err)
	}
	if _, err := n.Score(ctx, e, s.Slice(0, 0)); err == nil || !strings.Contains(err.Error(), "no rows, expected") {
		t.Errorf("score of no rows: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := n.Fit(ended, e, s, good, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if _, err := n.Score(ended, e, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestNoiseOfVectors trains on noisy vectors, whose noise is in standard deviations: in larger units, the weights are
// the same.
func TestNoiseOfVectors(t *testing.T) {
	e, ctx := newEngine(t), t.Context()
	var want []float32
	for _, unit := range []float32{1, 1024} {
		set := &dataset.Set{Shape: dataset.Vector(2), Labels: make([]uint16, 40)}
		for i := range set.Labels {
			set.Labels[i] = uint16(i % 2)
			set.Values = append(set.Values, unit*float32(3*(i%2)+i%5), unit*float32(i%7))
		}
		n, err := NewMLP(MLP{Widths: []int{2, 2}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		tr := Training{Optimiser: SGD, LR: 0.1, Schedule: layer.Constant, Epochs: 3, Batch: 10, NoiseMin: 0.2,
			NoiseMax: 0.5}
		if _, err := n.Fit(ctx, e, Rows(set, dataset.NormalizationOf(set)), tr, nil); err != nil {
			t.Fatal(err)
		}
		got := slices.Clone(n.Params()[0].Data)
		if want != nil && !slices.Equal(got, want) {
			t.Errorf("weights %v in units of %v, want %v", got, unit, want)
		}
		want = got
	}
}
