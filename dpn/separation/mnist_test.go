package separation

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"dpnbench/dataset/source"
)

// mnist returns the MNIST test images, normalised as the paper does
// ((v/255 - 0.1307) / 0.3081), from DPN_DATA.
func mnist(tb testing.TB) Set {
	tb.Helper()
	if os.Getenv("DPN_DATA") == "" {
		tb.Skip("DPN_DATA does not name a folder with MNIST")
	}
	d, err := source.Open("mnist", source.Options{TestOnly: true})
	if err != nil {
		tb.Fatal(err)
	}
	const dim = 28 * 28
	s := Set{Dim: dim, Labels: d.Test.Labels}
	for _, v := range d.Test.Pixels {
		s.X = append(s.X, float32((float64(v)/255-0.1307)/0.3081))
	}
	return s
}

// D as an independent prototype computed it, and the values in the paper for the first 32 test
// images (Table 1 and section 3.2), with one more digit.
func TestMNISTFigures(t *testing.T) {
	whole := mnist(t)
	for _, c := range []struct {
		n int
		d float64
	}{{32, 2.139}, {64, 4.328}, {128, 7.285}, {320, 10.35}, {1000, 13.61}, {10000, 14.60}} {
		s := Set{X: whole.X[:c.n*whole.Dim], Dim: whole.Dim, Labels: whole.Labels[:c.n]}
		layer, err := Measure(context.Background(), fmt.Sprint("first ", c.n), s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		digits := 1e-3
		if c.d >= 10 {
			digits = 1e-2
		}
		t.Logf("n %d: D %.6f product %.6g rank %d smallest %.4g distance %.6f ratio %.6f PCA %.6f (%s, %d passes, "+
			"residual %.2g)",
			c.n, layer.Fuzziness, layer.FuzzinessProduct, layer.Rank, layer.SmallestEigenvalue, layer.MeanDistance,
			layer.BetweenWithinRatio, layer.ExplainedVariance, layer.PCA.Method, layer.PCA.Iterations,
			layer.PCA.Residual)
		near(t, "D", float64(layer.Fuzziness), c.d, digits/2)
		if c.n == 32 {
			near(t, "mean distance", layer.MeanDistance, 24.51, 0.005)
			near(t, "between/within ratio", float64(layer.BetweenWithinRatio), 0.885, 0.0005)
			near(t, "explained variance 1", layer.ExplainedVariance[0], 0.164, 0.0005)
			near(t, "explained variance 2", layer.ExplainedVariance[1], 0.114, 0.0005)
			// There is no 8 among them, so there are nine classes and the rank is 8.
			if layer.Classes != 9 || layer.Rank != 8 {
				t.Errorf("%d classes, rank %d: want 9 and 8", layer.Classes, layer.Rank)
			}
		}
	}
}

func BenchmarkMeasureMNIST(b *testing.B) {
	s := mnist(b)
	for b.Loop() {
		if _, err := Measure(context.Background(), "input", s, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBootstrapMNIST times 1,000 draws from 10,000 rows of 784 features.
func BenchmarkBootstrapMNIST(b *testing.B) {
	s, e := mnist(b), newEngine(b)
	for b.Loop() {
		if _, err := Bootstrap(context.Background(), e, s, BootstrapOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The interval of D for n → ∞ from 1,000 images, whose D is 7% too small, contains the estimate
// from all 10,000, and the two estimates are closer to each other than to D of the 1,000.
func TestMNISTLimit(t *testing.T) {
	whole, e := mnist(t), newEngine(t)
	all, err := Bootstrap(context.Background(), e, whole, BootstrapOptions{Draws: 200})
	if err != nil {
		t.Fatal(err)
	}
	first := Set{X: whole.X[:1000*whole.Dim], Dim: whole.Dim, Labels: whole.Labels[:1000]}
	few, err := Bootstrap(context.Background(), e, first, BootstrapOptions{Draws: 200})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := MeasureFuzziness(first, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("n 1,000: %.3f %.3f; n 10,000: %.3f %.3f", few.Limit, few.CI, all.Limit, all.CI)
	if all.Limit < few.CI[0] || all.Limit > few.CI[1] {
		t.Errorf("the interval %v does not contain %v", few.CI, all.Limit)
	}
	if !(math.Abs(float64(few.Limit-all.Limit)) <= math.Abs(float64(plain.D-all.Limit))) {
		t.Errorf("1,000 images: D %v, limit %v; of all %v", plain.D, few.Limit, all.Limit)
	}
}
