package engine

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"dpnbench/engine/num"
)

// exactSum adds numbers without rounding, and their magnitudes.
func exactSum(x []float64) (sum, size float64) {
	s, m := new(big.Float).SetPrec(1000), new(big.Float).SetPrec(1000)
	for _, v := range x {
		s.Add(s, new(big.Float).SetFloat64(v))
		m.Add(m, new(big.Float).SetFloat64(math.Abs(v)))
	}
	sum, _ = s.Float64()
	size, _ = m.Float64()
	return sum, size
}

// difficult are kinds of numbers whose sums float32 gets wrong: number i of a vector.
var difficult = map[string]func(r *num.Rand, i int) float32{
	"ones":        func(*num.Rand, int) float32 { return 1 },
	"a pixel":     func(*num.Rand, int) float32 { return -0.42421296 },
	"1000 + N":    func(r *num.Rand, _ int) float32 { return 1000 + normalOf(r) },
	"normal":      func(r *num.Rand, _ int) float32 { return normalOf(r) },
	"cancelling":  func(_ *num.Rand, i int) float32 { return []float32{1e8, 1, -1e8, 1e-8}[i%4] },
	"large":       func(*num.Rand, int) float32 { return math.MaxFloat32 / 8 },
	"alternating": func(_ *num.Rand, i int) float32 { return math.MaxFloat32 * float32(1-i%2*2) },
	"subnormal":   func(r *num.Rand, _ int) float32 { return 0x1p-149 * float32(1+r.Intn(1000)) },
	"one large":   func(_ *num.Rand, i int) float32 { return []float32{1, 1e7}[b2i(i == 0)] },
	"all scales": func(r *num.Rand, _ int) float32 {
		return float32(math.Ldexp(float64(r.Float32()),
			r.Intn(60)-30))
	},
	"falling fast": func(_ *num.Rand, i int) float32 { return 1 / (1 + float32(i)*float32(i)) },
}

func normalOf(r *num.Rand) float32 {
	var x [1]float32
	r.Normal(x[:])
	return x[0]
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSumsOfManyRows adds 67 million rows (1,024 of them, again and again) and compares with exact sums:
// the error stays below 2e-7 of the sum of magnitudes, the bound for a billion rows. The same test with 2^20
// repetitions adds a billion.
func TestSumsOfManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: adds 67 million rows, which takes seconds")
	}
	const rows, repetitions = 1024, 1 << 16
	e := newTestEngine(t, WithThreads(1))
	for name, of := range difficult {
		if name == "large" || name == "alternating" {
			continue // their sums are no float32; see TestSums
		}
		r, x := num.NewRand(1, 2), NewMatrix(rows, 1)
		column := make([]float64, rows)
		for i := range x.Data {
			x.Data[i] = of(r, i)
			column[i] = float64(x.Data[i])
		}
		sum := make([]float64, 1)
		for range repetitions {
			e.AddColumns(sum, x)
		}
		want, size := exactSum(column)
		want, size = want*repetitions, size*repetitions
		if got := float64(float32(sum[0])); !(math.Abs(got-want) <= 2e-7*size) {
			t.Errorf("%s: %d rows add up to %v, exactly %v, magnitudes %v", name, rows*repetitions, got, want, size)
		}
	}
}

// TestSums compares all sums with exact ones, on every tier and with several threads: the same bits, and
// errors below 2e-7 of the sum of magnitudes.
func TestSums(t *testing.T) {
	engines := tiersAndThreads(t)
	for name, of := range difficult {
		for _, shape := range [][2]int{{1, 1}, {3, 5}, {100, 7}, {2000, 33}, {700, 130}, {1, 5000}, {5000, 1}} {
			if testing.Short() && shape[0]*shape[1] > 10_000 { // exact sums are slow under emulation
				continue
			}
			r, x := num.NewRand(3, 4), NewMatrix(shape[0], shape[1])
			for i := range x.Data {
				x.Data[i] = of(r, i)
			}
			got := map[string][]float32{}
			for label, e := range engines {
				sums := make([]float32, x.Cols+3)
				e.ColumnSums(sums[:x.Cols], x, false)
				sums[x.Cols], sums[x.Cols+1] = e.Sum(x.Data), e.Dot(x.Data, x.Data)
				sums[x.Cols+2] = float32(e.SumSquares(x.Data))
				got[label] = sums
			}
			want := sumsOf(x)
			for label, sums := range got {
				equalBits(t, fmt.Sprint(name, " ", shape, " ", label), sums, got["generic, 1 threads"])
				for j, w := range want {
					if v := float64(sums[j]); math.Abs(w[0]) <= math.MaxFloat32 &&
						!(math.Abs(v-w[0]) <= 2e-7*w[1]+0x1p-149) {
						t.Fatalf("%s %v: sum %d is %v, exactly %v, magnitudes %v", name, shape, j, v, w[0], w[1])
					}
				}
			}
		}
	}
}

// sumsOf returns the exact sums that TestSums compares, and those of the magnitudes.
func sumsOf(x Matrix) (want [][2]float64) {
	add := func(v []float64) {
		sum, size := exactSum(v)
		want = append(want, [2]float64{sum, size})
	}
	var all, squares []float64
	for j := range x.Cols {
		var column []float64
		for i := range x.Rows {
			column = append(column, float64(x.At(i, j)))
		}
		add(column)
		all = append(all, column...)
	}
	for _, v := range all {
		squares = append(squares, v*v)
	}
	add(all)
	add(squares)
	add(squares)
	return want
}

// tiersAndThreads returns engines of every tier with one and with three eager threads.
func tiersAndThreads(t *testing.T) map[string]*Engine {
	engines := map[string]*Engine{}
	for _, tier := range Available() {
		for _, threads := range []int{1, 3} {
			engines[fmt.Sprintf("%v, %d threads", tier, threads)] =
				newTestEngine(t, WithTier(tier), WithThreads(threads), WithEagerThreads())
		}
	}
	return engines
}

// TestLayerNormOfConstants checks that rows of equal numbers give exactly 0, whatever their magnitude and
// number, and that the gradient of them is that of a shift.
func TestLayerNormOfConstants(t *testing.T) {
	const eps = 1e-5
	for label, e := range tiersAndThreads(t) {
		for _, c := range []float32{0, 0x1p-149, 1e-40, -1e-30, 0.1, -1, 123456.7, 1234567.9, 3e7, 1e20, -1e38,
			math.MaxFloat32} {
			for _, d := range []int{1, 2, 3, 10, 16, 25, 50, 77, 100, 784, 4099} {
				x, y, rstd := NewMatrix(3, d), NewMatrix(3, d), make([]float32, 3)
				for i := range x.Data {
					x.Data[i] = c
				}
				e.LayerNorm(y, rstd, x, eps)
				for _, v := range y.Data {
					if v != 0 {
						t.Fatalf("%s: a row of %d times %v gives %v, want 0", label, d, c, v)
					}
				}
				if want := float32(1 / math.Sqrt(float64(float32(eps)))); rstd[0] != want {
					t.Errorf("%s: rstd %v, want %v", label, rstd[0], want)
				}
				dx := NewMatrix(3, d)
				e.LayerNormBackward(dx, y, rstd, x)
				for _, v := range dx.Data {
					if v != 0 {
						t.Fatalf("%s: a gradient of %d times %v gives %v, want 0", label, d, c, v)
					}
				}
			}
		}
	}
}

// TestLayerNormFarFromZero normalises rows of any mean and scale, up to the largest float32, on every tier:
// the same bits, and as near to float64 as a rounding.
func TestLayerNormFarFromZero(t *testing.T) {
	const d, eps = 784, 1e-5
	engines := tiersAndThreads(t)
	for _, c := range []struct{ mean, scale float32 }{
		{0, 1}, {1e3, 1}, {1e5, 1}, {-1e6, 1}, {1e5, 1e-2}, {0, 1e-20}, {1e20, 1e19}, {0, 1e37}, {2e38, 1e37},
	} {
		x, y := NewMatrix(2, d), NewMatrix(2, d)
		num.NewRand(5, 6).Normal(x.Data)
		for i, v := range x.Data {
			x.Data[i] = c.mean + float32(c.scale*v)
		}
		x.Data[0], x.Data[1] = c.mean-8*c.scale, c.mean+8*c.scale
		first := append([]float32(nil), normalised(engines["generic, 1 threads"], y, x, eps)...)
		for label, e := range engines {
			equalBits(t, fmt.Sprint(label, " ", c), normalised(e, y, x, eps), first)
		}
		for i := range x.Rows {
			for j, want := range normalised64(x.Row(i), eps) {
				if got := float64(y.At(i, j)); !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
					t.Fatalf("mean %v, scale %v: element %d is %v, want %v", c.mean, c.scale, j, got, want)
				}
			}
		}
	}
}

func normalised(e *Engine, y, x Matrix, eps float32) []float32 {
	e.LayerNorm(y, make([]float32, x.Rows), x, eps)
	return y.Data
}

// normalised64 normalises a row in float64, its numbers divided by the largest first.
func normalised64(x []float32, eps float64) []float64 {
	y := make([]float64, len(x))
	var mean, variance float64
	for _, v := range x {
		mean += float64(v) / float64(len(x))
	}
	for j, v := range x {
		y[j] = float64(v) - mean
		variance += y[j] * y[j] / float64(len(x))
	}
	for j := range y {
		y[j] /= math.Sqrt(variance + eps)
	}
	return y
}

// TestLayerNormGradient compares the gradient with central differences in float64, also where the mean is
// a hundred thousand standard deviations, and where a gradient is nearly constant.
func TestLayerNormGradient(t *testing.T) {
	const d, eps = 33, 1e-5
	e := newTestEngine(t, WithThreads(1))
	for _, c := range []struct{ mean, scale, shift float32 }{{0, 1, 0}, {1e5, 1, 0}, {1e5, 100, 0}, {7, 1, 1e3}} {
		x, y, dy, dx, rstd := NewMatrix(1, d), NewMatrix(1, d), NewMatrix(1, d), NewMatrix(1, d), make([]float32, 1)
		r := num.NewRand(7, 8)
		r.Normal(x.Data)
		r.Normal(dy.Data)
		for j := range x.Data {
			x.Data[j] = c.mean + c.scale*x.Data[j]
			dy.Data[j] += c.shift
		}
		e.LayerNorm(y, rstd, x, eps)
		e.LayerNormBackward(dx, y, rstd, dy)
		x64 := make([]float64, d)
		for j, v := range x.Data {
			x64[j] = float64(v)
		}
		loss := func() (sum float64) {
			var mean, variance float64
			for _, v := range x64 {
				mean += v / d
			}
			for _, v := range x64 {
				variance += (v - mean) * (v - mean) / d
			}
			for j, v := range x64 {
				sum += float64(dy.Data[j]) * (v - mean) / math.Sqrt(variance+eps)
			}
			return sum
		}
		h := 1e-3 * float64(c.scale)
		for j, v := range x64 {
			x64[j] = v + h
			up := loss()
			x64[j] = v - h
			want := (up - loss()) / (2 * h)
			x64[j] = v
			bound := 2e-5 * (math.Abs(want) + 1/float64(c.scale)) * (1 + float64(c.shift)/100)
			if got := float64(dx.Data[j]); !(math.Abs(got-want) <= bound) {
				t.Errorf("%+v: gradient %d is %v, central difference %v", c, j, got, want)
			}
		}
	}
}
