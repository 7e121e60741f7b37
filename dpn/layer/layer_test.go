package layer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
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

func normal(r *num.Rand, rows, cols int) engine.Matrix {
	m := engine.NewMatrix(rows, cols)
	r.Normal(m.Data)
	return m
}

// TestGradients compares forward passes with float64 and every gradient with central differences,
// for the loss sum(c*y) with random c.
func TestGradients(t *testing.T) {
	e := newEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	for _, s := range specimens() {
		t.Run(s.name, func(t *testing.T) {
			l := s.drawn()
			in, out := l.Sizes()
			const n = 5
			r := num.NewRand(3, 2)
			x, dy := normal(r, n, in), normal(r, n, out)
			y, dx := engine.NewMatrix(n, out), normal(r, n, in)
			l.Forward(e, y, x, Training)
			l.Backward(e, dx, x, y, dy)

			x64, c := doubles(x.Data), doubles(dy.Data)
			var params [][]float64
			for _, p := range l.Params() {
				params = append(params, doubles(p.Data))
			}
			within(t, "y", y.Data, s.want(x64, n, params), 2e-6)
			slope := func(v []float64) []float64 {
				loss := func() (sum float64) {
					for i, u := range s.want(x64, n, params) {
						sum += c[i] * u
					}
					return sum
				}
				const h = 1e-5
				g := make([]float64, len(v))
				for i, old := range v {
					v[i] = old + h
					up := loss()
					v[i] = old - h
					g[i] = (up - loss()) / (2 * h)
					v[i] = old
				}
				return g
			}
			within(t, "dx", dx.Data, slope(x64), 5e-6)
			for i, p := range l.Params() {
				within(t, "gradient of "+p.Name, p.Grad, slope(params[i]), 5e-6)
			}
			first := make([][]float32, len(l.Params()))
			for i, p := range l.Params() {
				first[i] = append(first[i], p.Grad...)
			}
			l.Backward(e, engine.Matrix{}, x, y, dy)
			for i, p := range l.Params() {
				same(t, "gradient of "+p.Name+" without dx", p.Grad, first[i])
			}
		})
	}
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, v := range want {
		if math.Float32bits(got[i]) != math.Float32bits(v) {
			t.Fatalf("%s[%d] is %v, want %v", what, i, got[i], v)
		}
	}
}

// TestBits checks that all tiers and numbers of threads give the same bits, for a batch that is
// split among threads as finely as possible.
func TestBits(t *testing.T) {
	for _, s := range specimens() {
		t.Run(s.name, func(t *testing.T) {
			var want [][]float32
			for _, tier := range engine.Available() {
				for threads := 1; threads <= 3; threads++ {
					e := newEngine(t, engine.WithTier(tier), engine.WithThreads(threads), engine.WithEagerThreads())
					l := s.drawn()
					in, out := l.Sizes()
					r := num.NewRand(4, 3)
					x, dy := normal(r, 37, in), normal(r, 37, out)
					y, dx := engine.NewMatrix(37, out), engine.NewMatrix(37, in)
					l.Forward(e, y, x, Training)
					l.Backward(e, dx, x, y, dy)
					got := [][]float32{y.Data, dx.Data}
					for _, p := range l.Params() {
						got = append(got, p.Grad)
					}
					if b, ok := l.(*BatchNorm); ok {
						got = append(got, b.RunningMean.Data, b.RunningVar.Data)
					}
					l.Forward(e, y, x, Evaluation)
					got = append(got, append([]float32(nil), y.Data...))
					if want == nil {
						want = got
					}
					for i := range want {
						same(t, fmt.Sprintf("%v, %d threads, result %d", tier, threads, i), got[i], want[i])
					}
				}
			}
		})
	}
}

// TestRowsAreIndependent checks that the result and the gradient of a row depend neither on the
// other rows nor on its position among them.
func TestRowsAreIndependent(t *testing.T) {
	e := newEngine(t)
	const n = 9
	for _, s := range specimens() {
		t.Run(s.name, func(t *testing.T) {
			l := s.drawn()
			in, out := l.Sizes()
			r := num.NewRand(5, 4)
			x, dy := normal(r, n, in), normal(r, n, out)
			pass := func(x, dy engine.Matrix) (y, dx engine.Matrix) {
				y, dx = engine.NewMatrix(x.Rows, out), engine.NewMatrix(x.Rows, in)
				switch l.(type) {
				case *BatchNorm, *Dropout: // in training they depend on the other rows, or on the position
				default:
					l.Forward(e, y, x, Training)
					l.Backward(e, dx, x, y, dy)
				}
				l.Forward(e, y, x, Evaluation)
				return y, dx
			}
			y, dx := pass(x, dy)
			backwards, dback := engine.NewMatrix(n, in), engine.NewMatrix(n, out)
			for i := range n {
				copy(backwards.Row(n-1-i), x.Row(i))
				copy(dback.Row(n-1-i), dy.Row(i))
			}
			yb, dxb := pass(backwards, dback)
			for i := range n {
				same(t, "y of permuted rows", yb.Row(n-1-i), y.Row(i))
				same(t, "dx of permuted rows", dxb.Row(n-1-i), dx.Row(i))
				y1, dx1 := pass(engine.View(x.Row(i), 1, in), engine.View(dy.Row(i), 1, out))
				same(t, "y of a row alone", y1.Data, y.Row(i))
				same(t, "dx of a row alone", dx1.Data, dx.Row(i))
			}
		})
	}
}

// TestRunningStatistics compares BatchNorm's running averages over several batches with their
// definition, and checks that evaluation uses them and only training changes them.
func TestRunningStatistics(t *testing.T) {
	e := newEngine(t)
	const d, n = 5, 8
	l := NewBatchNorm("b", d)
	for _, p := range l.Params() {
		p.Prepare()
	}
	r := num.NewRand(9, 0)
	r.Normal(l.Weight.Data)
	r.Normal(l.Bias.Data)
	mean, variance := make([]float64, d), make([]float64, d)
	for j := range d {
		variance[j] = 1
	}
	col, y := make([]float64, n), engine.NewMatrix(n, d)
	for range 4 {
		x := normal(r, n, d)
		for i := range x.Data {
			x.Data[i] = x.Data[i]*3 + 2
		}
		l.Forward(e, y, x, Training)
		for j := range d {
			for i := range n {
				col[i] = float64(x.At(i, j))
			}
			m, v := normalise64(col, col)
			mean[j] = 0.9*mean[j] + 0.1*m
			variance[j] = 0.9*variance[j] + 0.1*v*n/(n-1)
		}
	}
	within(t, "running mean", l.RunningMean.Data, mean, 1e-6)
	within(t, "running variance", l.RunningVar.Data, variance, 1e-6)

	x := normal(r, 3, d)
	y = engine.NewMatrix(3, d)
	l.Forward(e, y, x, Evaluation)
	want := make([]float64, 3*d)
	for i := range want {
		j := i % d
		want[i] = (float64(x.Data[i])-mean[j])/math.Sqrt(variance[j]+Eps)*float64(
			l.Weight.Data[j],
		) + float64(l.Bias.Data[j])
	}
	within(t, "evaluation", y.Data, want, 1e-6)

	batch := engine.NewMatrix(3, d)
	l.Forward(e, batch, x, BatchStatistics)
	within(t, "running mean after evaluation", l.RunningMean.Data, mean, 1e-6)
	within(t, "running variance after evaluation", l.RunningVar.Data, variance, 1e-6)
	l.Forward(e, y, x, Training)
	same(t, "batch statistics", batch.Data, y.Data)

	one, before := engine.NewMatrix(1, d), append([]float32(nil), l.RunningVar.Data...)
	l.Forward(e, one, x.Slice(0, 1, 0, d), Training)
	same(t, "a single row", one.Data, l.Bias.Data)
	same(t, "running variance after a single row", l.RunningVar.Data, before)
}

// TestDropout checks that the mean is preserved, that every pass has its own pattern, which SetPass
// restores, and that evaluation is the identity.
func TestDropout(t *testing.T) {
	e := newEngine(t)
	const n, d = 200, 300
	l := NewDropout(d, 0.25, 3)
	x, y, z := engine.NewMatrix(n, d), engine.NewMatrix(n, d), engine.NewMatrix(n, d)
	for i := range x.Data {
		x.Data[i] = 1
	}
	l.Forward(e, y, x, Training)
	sum, zeros := 0.0, 0
	for _, v := range y.Data {
		if sum += float64(v); v == 0 {
			zeros++
		} else if v != 1/float32(0.75) {
			t.Fatalf("a number is %v, want 0 or 4/3", v)
		}
	}
	// The tolerance is five standard deviations of the mean of n*d numbers.
	if mean := sum / (n * d); !(math.Abs(mean-1) <= 5*math.Sqrt(1./3/(n*d))) {
		t.Errorf("mean %v, %d zeros of %d", mean, zeros, n*d)
	}
	l.Forward(e, z, x, Training)
	differ := 0
	for i := range y.Data {
		if y.Data[i] != z.Data[i] {
			differ++
		}
	}
	if differ < n*d/4 {
		t.Errorf("the second pattern differs in only %d of %d places", differ, n*d)
	}
	l.SetPass(0)
	l.Forward(e, z, x, Training)
	same(t, "pattern of pass 0", z.Data, y.Data)
	l.Forward(e, z, x, Evaluation)
	same(t, "evaluation", z.Data, x.Data)
}

// TestStack compares a network of all layers with central differences in float64, and its tape with
// the outputs of the single layers.
func TestStack(t *testing.T) {
	e := newEngine(t)
	s := Stack{
		NewConvPool("0", ImageShape{1, 6, 6}, 2, 3, 1), NewLinear("3", 18, 7), NewBatchNorm("4", 7), NewReLU(7),
		NewDropout(7, 0.2, 5), NewLinear("6", 7, 4), NewLayerNorm(4),
	}
	if out, err := s.Check(36); err != nil || out != 4 {
		t.Fatalf("Check: %d, %v", out, err)
	}
	if _, err := s.Check(35); err == nil {
		t.Error("rows of 35 numbers fit")
	}
	if got, want := s.MACs(), 36*2*9+18*7+7*4; got != want {
		t.Errorf("%d multiply-adds, want %d", got, want)
	}
	oracles := []oracle{
		convPool64([6]int{1, 6, 6, 2, 3, 1}),
		linear64(18, 7),
		batch64(7),
		relu64,
		dropout64(0.2, 5),
		linear64(7, 4),
		norm64(4),
	}
	s.Draw(num.NewRand(1, 0))
	var params [][][]float64
	for _, l := range s {
		var p [][]float64
		for _, q := range l.Params() {
			q.Prepare()
			p = append(p, doubles(q.Data))
		}
		params = append(params, p)
	}
	const n = 6
	r := num.NewRand(2, 0)
	x, dy, dx := normal(r, n, 36), normal(r, n, 4), engine.NewMatrix(n, 36)
	var tape Tape
	y := s.Forward(e, &tape, x, Training)
	s.Backward(e, &tape, dx, dy)
	x64 := doubles(x.Data)
	forward := func() []float64 {
		v := x64
		for i, f := range oracles {
			v = f(v, n, params[i])
		}
		return v
	}
	within(t, "y", y.Data, forward(), 2e-5)
	slope := func(v []float64) []float64 {
		loss := func() (sum float64) {
			for i, u := range forward() {
				sum += float64(dy.Data[i]) * u
			}
			return sum
		}
		const h = 1e-6
		g := make([]float64, len(v))
		for i, old := range v {
			v[i] = old + h
			up := loss()
			v[i] = old - h
			g[i] = (up - loss()) / (2 * h)
			v[i] = old
		}
		return g
	}
	within(t, "dx", dx.Data, slope(x64), 1e-4)
	largest := 0.0
	for _, p := range s.Params() {
		for _, g := range p.Grad {
			largest = max(largest, math.Abs(float64(g)))
		}
	}
	for i, l := range s {
		for j, p := range l.Params() {
			for k, v := range slope(params[i][j]) {
				if !(math.Abs(float64(p.Grad[k])-v) <= 1e-4*largest) {
					t.Errorf("%s[%d]: gradient %v, central difference %v", p.Name, k, p.Grad[k], v)
				}
			}
		}
	}
}

// TestOptimisers compares SGD and Adadelta with their definitions, and checks that all optimisers find the
// minimum of a quadratic function.
func TestOptimisers(t *testing.T) {
	e := newEngine(t)
	p := NewParam("p", 3)
	copy(p.Data, []float32{1, -2, 3})
	p.Prepare()
	want, m := doubles(p.Data), make([]float64, 3)
	s := SGD{Momentum: 0.9}
	for range 400 {
		for j := range want {
			p.Grad[j] = 2 * p.Data[j]
			m[j] = 0.9*m[j] + 0.5*2*want[j]
			want[j] -= 0.02 * m[j]
		}
		s.Step(e, p, 0.02, 0.5)
		within(t, "p", p.Data, want, 1e-4)
	}
	copy(p.Data, []float32{1, -2, 3})
	p.Prepare()
	a := NewAdam()
	for i := range 1000 {
		for j := range p.Grad {
			p.Grad[j] = 2 * p.Data[j]
		}
		a.Step(e, p, p.Data, 0.05*Rate(Cosine, 0, 0, i, 1000), 1)
		a.Next()
	}
	within(t, "p after Adam", p.Data, make([]float64, 3), 2)
	copy(p.Data, []float32{1, -2, 3})
	p.Prepare()
	want, m = doubles(p.Data), make([]float64, 3)
	v, d := make([]float64, 3), &Adadelta{}
	for range 2000 {
		for j := range want {
			p.Grad[j] = 2 * p.Data[j]
			g := 0.5 * 2 * want[j]
			v[j] = 0.9*v[j] + 0.1*g*g
			step := math.Sqrt((m[j]+1e-6)/(v[j]+1e-6)) * g
			m[j] = 0.9*m[j] + 0.1*step*step
			want[j] -= 0.8 * step
		}
		d.Step(e, p, p.Data, 0.8, 0.5)
		within(t, "p by Adadelta", p.Data, want, 1e-3)
	}
	within(t, "p after Adadelta", p.Data, make([]float64, 3), 2)
}

// TestAdadeltaEnds checks that the moments of Adadelta become 0 without a gradient and are never subnormal.
func TestAdadeltaEnds(t *testing.T) {
	e, p, d := newEngine(t), NewParam("p", 4), &Adadelta{}
	p.Prepare()
	copy(p.Grad, []float32{1, 1e-18, 1e-30, 0})
	for i := range 2000 {
		if i == 3 {
			clear(p.Grad)
		}
		d.Step(e, p, p.Data, 1, 1)
		for j := range p.M {
			for _, v := range []float32{p.M[j], p.V[j]} {
				if v != 0 && !(v >= engine.SecondMomentFloor) || i == 1999 && v != 0 {
					t.Fatalf("step %d: a moment of parameter %d is %v", i, j, v)
				}
			}
		}
	}
}

// TestMomentumEnds checks that momentum without a gradient becomes 0 and is never subnormal.
func TestMomentumEnds(t *testing.T) {
	e, p := newEngine(t), NewParam("p", 3)
	p.Prepare()
	copy(p.M, []float32{1, -1e-30, 0x1p-149})
	for range 700 {
		SGD{Momentum: 0.9}.Step(e, p, 0.1, 1)
		for j, m := range p.M {
			if m != 0 && math.Abs(float64(m)) < engine.MomentFloor {
				t.Fatalf("momentum %d is %v, want 0 or at least 2^-100", j, m)
			}
		}
	}
	for j, m := range p.M {
		if m != 0 {
			t.Errorf("momentum %d is %v after 700 steps without a gradient, want 0", j, m)
		}
	}
}

// TestNorm checks the norm of a gradient, and which result NotFinite names.
func TestNorm(t *testing.T) {
	e := newEngine(t)
	a, b := NewParam("a", 2), NewParam("b", 1)
	a.Prepare()
	b.Prepare()
	copy(a.Grad, []float32{2, 3})
	b.Grad[0] = 6
	if got := Norm(e, []*Param{a, b}); got != 7 {
		t.Errorf("norm %v, want 7", got)
	}
	if Clip(7, 0) != 1 || Clip(7, 8) != 1 || Clip(8, 2) != 0.25 {
		t.Error("wrong factors")
	}
	for _, c := range []struct {
		loss float64
		grad float32 // of b
		want string
	}{
		{1, 6, ""},
		{math.NaN(), 6, "loss"},
		{math.Inf(1), float32(math.Inf(1)), "loss"}, // which came first
		{1, float32(math.Inf(1)), "gradient of b"},
		{1, 1e30, "norm of the gradient"}, // its square is no float32
	} {
		b.Grad[0] = c.grad
		params := []*Param{a, b}
		if got := NotFinite(c.loss, Norm(e, params), params); got != c.want {
			t.Errorf("loss %v, gradient %v: %q is not finite, want %q", c.loss, c.grad, got, c.want)
		}
	}
}

// TestDraw checks the range and the variance of initial weights.
func TestDraw(t *testing.T) {
	l := NewLinear("l", 400, 300)
	variance := func() (v, largest float64) {
		for _, w := range l.Weight.Data {
			v += float64(w) * float64(w) / float64(len(l.Weight.Data))
			largest = max(largest, math.Abs(float64(w)))
		}
		return v, largest
	}
	l.Draw(num.NewRand(1, 0))
	if v, largest := variance(); !(largest <= 0.05) || !(math.Abs(v*3*400-1) <= 0.02) {
		t.Errorf("variance %v, largest %v", v, largest)
	}
	l.DrawKaiming(num.NewRand(1, 0), math.Sqrt2)
	if v, _ := variance(); !(math.Abs(v*200-1) <= 0.02) {
		t.Errorf("variance %v, want 1/200", v)
	}
	c := NewConvPool("c", ImageShape{2, 9, 9}, 3, 5, 2)
	c.Draw(num.NewRand(1, 0))
	for _, w := range c.Weight.Data {
		if limit := 1 / math.Sqrt(50); !(math.Abs(float64(w)) <= limit) {
			t.Errorf("weight %v, limit %v", w, limit)
		}
	}
}

// TestConvRefuses checks that invalid sizes panic, and that ConvPool wants 2 x 2 positions of the kernel.
func TestConvRefuses(t *testing.T) {
	single := [][6]int{{1, 5, 5, 1, 5, 0}, {1, 5, 1, 1, 3, 1}} // position in a row, a column or both
	for _, s := range append(single, [][6]int{{0, 5, 5, 1, 1, 0}, {1, 5, 5, 1, 6, 0}, {1, 5, 5, 1, 3, 3},
		{1, 5, 5, 0, 3, 1}, {1, 5, 5, 1, 0, 0}, {1, 5, 5, 1, 3, -1}}...) {
		in := ImageShape{s[0], s[1], s[2]}
		pool := panicOf(func() { NewConvPool("c", in, s[3], s[4], s[5]) })
		conv := panicOf(func() { NewConv("c", in, s[3], s[4], s[5]) })
		if !strings.HasPrefix(pool, "layer: NewConvPool: ") ||
			strings.HasPrefix(conv, "layer: NewConv: ") == slices.Contains(single, s) {
			t.Errorf("%v: panics %q and %q", s, pool, conv)
		}
	}
}

// TestBackwardRows checks that some rows of a pass have the gradients that they have alone, to the bit.
func TestBackwardRows(t *testing.T) {
	e := newEngine(t)
	s := Stack{NewLinear("first", 36, 20), NewReLU(20), NewLinear("second", 20, 7), NewLayerNorm(7)}
	s.Draw(num.NewRand(1, 0))
	for _, p := range s.Params() {
		p.PrepareGradient()
	}
	const n = 9
	r := num.NewRand(2, 0)
	x, dy, dx := normal(r, n, 36), normal(r, n, 7), engine.NewMatrix(n, 36)
	rows := func(m engine.Matrix, lo, hi int) engine.Matrix {
		return engine.View(m.Data[lo*m.Cols:hi*m.Cols], hi-lo, m.Cols)
	}
	gradients := func() (all []float32) {
		for _, p := range s.Params() {
			all = append(all, p.Grad...)
		}
		return all
	}
	var whole, alone Tape
	pieces := [][2]int{{0, 4}, {4, 5}, {5, 9}, {0, 9}}
	var want [][]float32
	for _, piece := range pieces {
		lo, hi := piece[0], piece[1]
		s.Forward(e, &alone, rows(x, lo, hi), Training)
		s.Backward(e, &alone, rows(dx, lo, hi), rows(dy, lo, hi))
		want = append(want, append(gradients(), rows(dx, lo, hi).Data...))
	}
	s.Forward(e, &whole, x, Training)
	for i, piece := range pieces {
		lo, hi := piece[0], piece[1]
		s.BackwardRows(e, &whole, lo, hi, rows(dx, lo, hi), rows(dy, lo, hi))
		if got := append(gradients(), rows(dx, lo, hi).Data...); !slices.Equal(got, want[i]) {
			t.Errorf("rows %d to %d have other gradients alone", lo, hi)
		}
	}
	s.Backward(e, &whole, dx, dy)
	if got := append(gradients(), dx.Data...); !slices.Equal(got, want[len(want)-1]) {
		t.Error("a whole pass after those of some rows has other gradients")
	}
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "BackwardRows: *layer.Dropout") {
			t.Errorf("a layer that keeps a whole pass: panic %v", v)
		}
	}()
	Stack{NewDropout(36, 0.5, 1)}.BackwardRows(e, &whole, 0, 1, engine.Matrix{}, rows(x, 0, 1))
}
