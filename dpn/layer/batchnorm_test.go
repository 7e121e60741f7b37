package layer

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// batchNormed returns what a new BatchNorm makes of x in training, and the layer.
func batchNormed(e *engine.Engine, x engine.Matrix) (engine.Matrix, *BatchNorm) {
	l, y := NewBatchNorm("b", x.Cols), engine.NewMatrix(x.Rows, x.Cols)
	for _, p := range l.Params() {
		p.Prepare()
	}
	l.Forward(e, y, x, Training)
	return y, l
}

// TestBatchNormOfConstants checks that columns of equal numbers give exactly 0 forward, and backward for
// equal gradients, whatever their magnitude and number.
func TestBatchNormOfConstants(t *testing.T) {
	constants := []float32{0, 0x1p-149, -1e-40, 0.1, -77.7, 1000.1, 123456.7, 3e7, 1e20, -1e38, math.MaxFloat32}
	e := newEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	for _, n := range []int{1, 2, 3, 77, 1000, 10007} {
		x := engine.NewMatrix(n, len(constants))
		for i := range n {
			copy(x.Row(i), constants)
		}
		y, l := batchNormed(e, x)
		dx := engine.NewMatrix(n, x.Cols)
		l.Backward(e, dx, x, y, x)
		for i := range y.Data {
			if y.Data[i] != 0 || dx.Data[i] != 0 {
				t.Fatalf("%d rows of %v give %v and a gradient of %v, want 0", n, x.Data[i], y.Data[i], dx.Data[i])
			}
		}
	}
}

// TestBatchNormFarFromZero compares columns of any mean and scale with float64, on every tier and with
// several threads: the same bits, as near as a rounding.
func TestBatchNormFarFromZero(t *testing.T) {
	const n = 500
	columns := []struct{ mean, scale float32 }{
		{0, 1}, {1e3, 1}, {1e5, 1}, {-1e6, 1}, {1e5, 1e-2}, {0, 1e-20}, {1e20, 1e19}, {0, 1e37}, {2e38, 1e37},
	}
	x := normal(num.NewRand(1, 2), n, len(columns))
	for i := range n {
		for j, c := range columns {
			x.Set(i, j, c.mean+float32(c.scale*x.At(i, j)))
		}
	}
	var first []float32
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 3} {
			y, _ := batchNormed(newEngine(t, engine.WithTier(tier), engine.WithThreads(threads),
				engine.WithEagerThreads()), x)
			if first == nil {
				first = y.Data
			}
			same(t, fmt.Sprint(tier, ", threads ", threads), y.Data, first)
		}
	}
	for j, c := range columns {
		column := make([]float64, n)
		for i := range n {
			column[i] = float64(x.At(i, j))
		}
		normalise64(column, column)
		for i, want := range column {
			if got := float64(first[i*len(columns)+j]); !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
				t.Fatalf("%+v: row %d is %v, want %v", c, i, got, want)
			}
		}
	}
}

// TestBatchNormGradient compares the gradient with central differences in float64 where the mean is many
// standard deviations from 0.
func TestBatchNormGradient(t *testing.T) {
	const n = 20
	e := newEngine(t, engine.WithThreads(1))
	for _, c := range []struct{ mean, scale float32 }{{0, 1}, {1e5, 1}, {1e5, 100}, {-3e6, 1000}} {
		r := num.NewRand(3, 4)
		x, dy, dx := normal(r, n, 1), normal(r, n, 1), engine.NewMatrix(n, 1)
		x64 := make([]float64, n)
		for i := range x.Data {
			x.Data[i] = c.mean + float32(c.scale*x.Data[i])
			x64[i] = float64(x.Data[i])
		}
		y, l := batchNormed(e, x)
		l.Backward(e, dx, x, y, dy)
		loss := func() (sum float64) {
			h := make([]float64, n)
			normalise64(h, x64)
			for i, v := range h {
				sum += float64(dy.Data[i]) * v
			}
			return sum
		}
		step := 1e-3 * float64(c.scale)
		for i, v := range x64 {
			x64[i] = v + step
			up := loss()
			x64[i] = v - step
			want := (up - loss()) / (2 * step)
			x64[i] = v
			if got := float64(dx.Data[i]); !(math.Abs(got-want) <= 2e-5*(math.Abs(want)+1/float64(c.scale))) {
				t.Errorf("%+v: gradient %d is %v, central difference %v", c, i, got, want)
			}
		}
	}
}

// TestBiasOfManyImages checks the gradient of the bias of a ConvPool over several groups of images: within
// 1e-6 of the sum of magnitudes.
func TestBiasOfManyImages(t *testing.T) {
	e := newEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	const n, out = 5*sumImages + 3, 2
	l := NewConvPool("c", ImageShape{1, 8, 8}, out, 3, 1)
	for _, p := range l.Params() {
		p.Prepare()
	}
	l.Bias.Data[0], l.Bias.Data[1] = 1, 1 // every maximum is above 0: all of dy counts
	in, features := l.Sizes()
	x, y, dy := engine.NewMatrix(n, in), engine.NewMatrix(n, features), normal(num.NewRand(5, 6), n, features)
	l.Forward(e, y, x, Training)
	l.Backward(e, engine.Matrix{}, x, y, dy)
	for o := range out {
		var want, size float64
		for i := range n {
			for _, v := range dy.Row(i)[o*features/out : (o+1)*features/out] {
				want += float64(v)
				size += math.Abs(float64(v))
			}
		}
		if got := float64(l.Bias.Grad[o]); !(math.Abs(got-want) <= 1e-6*size) {
			t.Errorf("channel %d: %v, want %v, magnitudes %v", o, got, want, size)
		}
	}
}

// TestBatchNormBeyondFloat32 checks columns whose variance, or its running average, is no float32: training
// normalises them, and evaluation gives NaN, not the bias, whatever the row.
func TestBatchNormBeyondFloat32(t *testing.T) {
	const n = 40
	e := newEngine(t)
	for _, c := range []struct {
		deviation float32
		finite    bool
	}{{1e19, true}, {1.8e19, true}, {1e20, false}, {1e37, false}} {
		x := engine.NewMatrix(n, 1)
		for i := range n {
			x.Data[i] = c.deviation * float32(1-2*(i%2))
		}
		y, l := batchNormed(e, x)
		for range 99 { // until the running average has the variance
			l.Forward(e, y, x, Training)
		}
		for i, got := range y.Data {
			if want := float32(1 - 2*(i%2)); got != want {
				t.Fatalf("deviation %g: row %d is %v in training, want %v", c.deviation, i, got, want)
			}
		}
		l.Forward(e, y, x, Evaluation)
		switch err := CheckOutput(y, "feature", "row", 0); {
		case (err == nil) != c.finite:
			t.Errorf("deviation %g: evaluation has error %v, finite: %v", c.deviation, err, c.finite)
		case c.finite && !(math.Abs(float64(y.Data[0])-1) <= 0.02): // unbiased
			t.Errorf("deviation %g: evaluation gives %v, want about 1", c.deviation, y.Data[0])
		case !c.finite && NotFiniteTensor(l.Buffers()) != "b.running_var":
			t.Errorf("deviation %g: the tensor is %q", c.deviation, NotFiniteTensor(l.Buffers()))
		}
	}
}
