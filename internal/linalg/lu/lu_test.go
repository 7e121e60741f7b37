package lu

import (
	"math"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/mat"
)

// TestInvert compares inverses and determinants with gonum, for sizes around the block size:
// matrices that need pivoting, nearly singular ones (to the precision that is possible), and
// singular ones.
func TestInvert(t *testing.T) {
	e, v := newEngine(t), &Inverter{}
	for _, n := range []int{131, 1, 2, 31, 32, 33, 64, 65} {
		for _, small := range []float64{1, 1e-5} {
			a := engine.NewMatrix(n, n)
			num.NewRand(uint64(n), 0).Normal(a.Data)
			for j := range n {
				a.Set(0, j, float32(small)*a.At(0, j)) // rows far smaller than others, and a zero as first pivot
			}
			if n > 1 {
				a.Set(0, 0, 0)
			}
			dense := mat.NewDense(n, n, reference.Vector(a.Data))
			want, _ := mat.LogDet(dense)
			var inverse mat.Dense
			if err := inverse.Inverse(dense); err != nil {
				t.Fatal(err)
			}
			largest, got := mat.Norm(&inverse, 2), engine.NewMatrix(n, n)
			if log := v.Invert(e, got, a); !(math.Abs(log-want) <= 1e-4) {
				t.Errorf("%d, %v: log of the determinant %v, want %v", n, small, log, want)
			}
			for i, x := range got.Data {
				if want := inverse.At(i/n, i%n); !(math.Abs(float64(x)-want) <= 1e-3*largest) {
					t.Fatalf("%d, %v: element (%d, %d) is %v, want %v", n, small, i/n, i%n, x, want)
				}
			}
			clear(a.Row(n - 1))
			if log := v.Invert(e, got, a); !math.IsInf(log, -1) {
				t.Errorf("%d: log of the determinant %v of a singular matrix", n, log)
			}
		}
	}
}

// TestSingular compares Singular with the pivots of gonum in float64, for matrices whose last row
// is a sum of others plus a perturbation, of sizes around the block size and at all scales.
func TestSingular(t *testing.T) {
	e, v := newEngine(t), &Inverter{}
	nan := float32(math.NaN())
	var singular, regular int
	for _, n := range []int{100, 1, 2, 33, 64, 65} {
		for seed, scale := range []float32{1, 1e-30, 1e37} {
			for _, own := range []float32{1, 1e-2, 1e-4, 1e-6, 3e-7, 1e-7, 3e-8, 1e-9, 0} {
				a := engine.NewMatrix(n, n)
				num.NewRand(uint64(n), uint64(seed)).Normal(a.Data)
				for j, x := range a.Row(n - 1) {
					x *= own
					for i := range min(n-1, 3) {
						x += a.At(i, j)
					}
					a.Set(n-1, j, x)
				}
				e.Scale(a.Data, scale, a.Data)
				var lu mat.LU
				lu.Factorize(mat.NewDense(n, n, reference.Vector(a.Data)))
				var u mat.TriDense
				lu.UTo(&u)
				least, most := math.Inf(1), 0.0
				for j := range n {
					x := math.Abs(u.At(j, j))
					least, most = min(least, x), max(most, x)
				}
				ratio := least / most * 0x1p24
				if math.Abs(ratio-1) < 1e-3 {
					continue // too close to the limit: either result is right
				}
				want := !(ratio > 1)
				if got := v.Singular(e, a); got != want {
					t.Errorf("%d x %d, scale %v, %v of its own: singular %v with pivots from %v to %v", n, n, scale,
						own, got, least, most)
				}
				if want {
					singular++
				} else {
					regular++
				}
				if a.Row(n / 2)[n/3] = nan; !v.Singular(e, a) {
					t.Errorf("%d x %d: not singular with a NaN", n, n)
				}
			}
		}
	}
	if singular < 30 || regular < 30 {
		t.Errorf("%d singular matrices and %d others", singular, regular)
	}
}

func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
