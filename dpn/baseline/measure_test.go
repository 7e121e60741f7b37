package baseline

import (
	"context"
	"flag"
	"testing"
	"time"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

var measure = flag.String("measure", "", "`FOLDER` with MNIST: train the networks at full size (minutes)")

// TestMeasure trains the baselines of the experiments and He and Su's networks on MNIST, and checks
// their accuracies, and how He and Su's network separates the classes, against known values.
func TestMeasure(t *testing.T) {
	if *measure == "" {
		t.Skip("takes minutes: run with -measure FOLDER")
	}
	data, err := source.Open(*measure, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	train, test := Rows(data.Train, data.Norm), Rows(data.Test, data.Norm)
	six := Training{
		Optimiser: Adam,
		LR:        1e-3,
		Clip:      1,
		Schedule:  layer.Cosine,
		Warmup:    0.05,
		Epochs:    6,
		Batch:     128,
		Seed:      1,
	}
	fit := func(t *testing.T, n *Network, err error, s, test Samples, tr Training) (training, testing layer.Score) {
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		h, err := n.Fit(ctx, e, s, tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		seconds := time.Since(start).Seconds()
		training, err = n.Score(ctx, e, s)
		if err != nil {
			t.Fatal(err)
		}
		if testing, err = n.Score(ctx, e, test); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d parameters, %d multiply-adds, %d updates in %.1f s: training %.2f%%, test %.2f%% (loss %.4f), "+
			"weights %.12s",
			n.Parameters(), n.MACs(), h[len(h)-1].Updates, seconds, 100*training.Accuracy, 100*testing.Accuracy,
			testing.Loss, n.WeightsSHA256())
		return training, testing
	}
	for _, c := range []struct {
		name string
		make func() (*Network, error)
		want float64
	}{
		{"linear classifier", func() (*Network, error) { return NewMLP(MLP{Widths: []int{784, 10}}, 1) }, 0.92},
		{"MLP", func() (*Network, error) { return NewMLP(MLP{Widths: []int{784, 640, 512, 256, 10}}, 1) }, 0.984},
		{"CNN", func() (*Network, error) { return NewCNN(dataset.Grey(28, 28), 10, 1) }, 0.989},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := c.make()
			if _, s := fit(t, n, err, train, test, six); s.Accuracy < c.want {
				t.Errorf("%.2f%% right, want %.2f%%", 100*s.Accuracy, 100*c.want)
			}
		})
	}
	t.Run("He and Su", func(t *testing.T) {
		small, err := data.Train.Resize(10, 10)
		if err != nil {
			t.Fatal(err)
		}
		if small, err = small.PerClass(10, 100); err != nil {
			t.Fatal(err)
		}
		held, err := data.Test.Resize(10, 10)
		if err != nil {
			t.Fatal(err)
		}
		half := dataset.Uniform(0.5, 0.5)
		s, test := Rows(small, half), Rows(held, half)
		n, err := NewMLP(HeSu(100, 6, 10), 1)
		if training, _ := fit(t, n, err, s, test, HeSuTraining(Adam, 1e-3)); !(training.Accuracy >= 0.995) {
			t.Errorf("%.2f%% of the training images right", 100*training.Accuracy)
		}
		for _, batch := range []int{0, 100} {
			features, err := n.Activations(ctx, e, s, batch)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			var d []float64
			for _, f := range features {
				l, err := separation.Measure(context.Background(), f.Name,
					separation.Set{X: f.X.Data, Dim: f.X.Cols, Labels: s.Labels}, separation.Options{})
				if err != nil {
					t.Fatal(err)
				}
				names, d = append(names, f.Name), append(d, float64(l.Fuzziness))
			}
			law, err := separation.FitLaw(names[:len(names)-1], d[:len(d)-1]) // without the logits
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("statistics of %d rows (0: running): D %.4g, rho %.3f, Pearson r %.4f", batch, d, law.Rho,
				law.Pearson)
		}
	})
}
