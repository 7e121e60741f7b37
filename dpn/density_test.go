package dpn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// densityLoss is the weighted negative log-likelihood and loss of score matching at the
// features x in float64; those of the form flat have orthonormal rows, whatever they are.
func (o *oracle) densityLoss(c Config, x, eps blas64.General) float64 {
	p, _ := o.potential()
	logZ := make([]float64, o.k)
	for i := range logZ {
		logDet := float64(o.d)*2*math.Log(o.scale) + float64(c.Rank)*math.Log(o.eps)
		if o.form != FormFlat {
			logDet, _ = mat.LogDet(mat.NewDense(o.d, o.d, slices.Clone(p.P[i].Data)))
		}
		logZ[i] = -2*p.C[i] + logDet
	}
	_, z := reference.LogSumExp(logZ, make([]float64, o.k))
	nll := z.V[0] + float64(o.d)/2*math.Log(2*math.Pi)
	var score float64
	y := make([]float64, o.d)
	for b := range x.Rows {
		row := x.Data[b*x.Stride:][:o.d]
		nll -= p.At(row).Phi.V[0] / float64(x.Rows)
		for j, v := range row {
			y[j] = v + c.ScoreSigma*eps.Data[b*o.d+j]
		}
		for j, g := range p.At(y).Grad.V {
			v := c.ScoreSigma*g + eps.Data[b*o.d+j]
			score += v * v / float64(x.Rows*o.d)
		}
	}
	return c.NLL*nll/float64(o.d) + c.Score*score
}

// TestDensityGradients holds what the losses of the density add to loss and gradients
// against central differences in float64, for every form.
func TestDensityGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("the same bits on every machine (TestDensityBits), and slow under emulation: without -short")
	}
	e := newEngine(t)
	for _, form := range append(Forms(), "lowrank+extractor", "full+extractor") {
		for _, weights := range [][2]float64{{0.7, 0}, {0, 0.3}, {0.5, 2}} {
			c := Config{Extractor: "identity", Components: 3, Steps: 2, Form: form, Rank: 3, Eps: 0.2, Scale: 0.6, Alpha: 0.5}
			if len(form) > 9 || form == "full+extractor" {
				c.Form, c.Extractor, c.Dim, c.LayerNorm = FormFull, "linear", 5, true
				if form[0] == 'l' {
					c.Form = FormLowRank
				}
			}
			c = completed(c)
			t.Run(fmt.Sprintf("%s,nll=%v,score=%v", form, weights[0], weights[1]), func(t *testing.T) {
				gradients := func(nll, score float64) (*Model, *Trainer, *dataset.Set, float64) {
					c.NLL, c.Score, c.ScoreSigma = nll, score, 0.4
					m, set := smallModel(t, c)
					s := NewTrainer(m, e)
					s.updates = 3
					loss := s.exact(set, []int32{0, 1, 2, 3, 4, 5}, &layer.Tally{})
					return m, s, set, loss
				}
				plain, _, _, without := gradients(0, 0)
				m, s, set, with := gradients(weights[0], weights[1])
				o := &oracle{d: m.Dim(), k: c.Components, form: c.Form, scale: float64(float32(c.Scale)), eps: c.Eps, params: map[string][]float64{}}
				for _, p := range m.Params() {
					o.params[p.Name] = reference.Vector(p.Data)
				}
				features, err := m.Features(context.Background(), e, set)
				if err != nil {
					t.Fatal(err)
				}
				z := make([]float32, 6*m.Dim())
				num.NewRand(s.scoreSeed, 3).Normal(z)
				x, eps := blas(reference.Vector(features.Data), 6, m.Dim()), blas(reference.Vector(z), 6, m.Dim())
				want := o.densityLoss(c, x, eps)
				if got := with - without; math.Abs(got-want) > 2e-5*(math.Abs(want)+1) {
					t.Errorf("loss %v, in float64 %v", got, want)
				}
				for n, p := range m.Params() {
					v := o.params[p.Name]
					diff, largest := make([]float64, len(v)), 0.0
					for i := range v {
						if p.Group == groupPotential {
							const h = 1e-5
							old := v[i]
							v[i] = old + h
							up := o.densityLoss(c, x, eps)
							v[i] = old - h
							down := o.densityLoss(c, x, eps)
							v[i] = old
							diff[i] = (up - down) / (2 * h)
						}
						largest = max(largest, math.Abs(diff[i]))
					}
					if p.Group == groupPotential && largest < 1e-4 {
						t.Errorf("%s has no gradient to speak of: %v", p.Name, largest)
					}
					for i, want := range diff {
						// Features get no gradient, nor does alpha.
						got := float64(p.Grad[i]) - float64(plain.Params()[n].Grad[i])
						if math.Abs(got-want) > 3e-5*largest+2e-6 || p.Group != groupPotential && got != 0 {
							t.Errorf("%s[%d]: float32 gradient %.9g, central difference %.9g", p.Name, i, got, want)
						}
					}
				}
			})
		}
	}
}

// TestLogDets checks that inverses and determinants do not depend on how the threads share them.
func TestLogDets(t *testing.T) {
	one, three := newEngine(t, engine.WithThreads(1)), newEngine(t, engine.WithThreads(3), engine.WithEagerThreads())
	for _, k := range []int{1, 2, 3, 7} { // fewer matrices than threads, and more
		const d = 37
		c := completed(Config{Extractor: "linear", Dim: d, Components: k, Steps: 1, Form: FormFull, Scale: 1, Alpha: 0.5})
		var got [2][]float32
		var inverse [2][]float32
		for i, e := range []*engine.Engine{one, three} {
			f := newForm(c, d).(*denseForm)
			num.NewRand(1, uint64(k)).Normal(f.a.Data)
			got[i] = make([]float32, k)
			f.logDets(e, got[i])
			f.logDets(e, got[i]) // in the memory of the first time
			inverse[i] = f.inverse
		}
		if !slices.Equal(got[0], got[1]) || !slices.Equal(inverse[0], inverse[1]) {
			t.Errorf("%d matrices: log determinants %v on one thread and %v on three", k, got[0], got[1])
		}
	}
}

// TestInvert holds inverses and determinants of sizes around the blocks against gonum:
// matrices that need pivots, nearly singular ones to the precision that is left, and
// singular ones.
func TestInvert(t *testing.T) {
	e, v := newEngine(t), &inverter{}
	for _, n := range []int{131, 1, 2, 31, 32, 33, 64, 65} {
		for _, small := range []float64{1, 1e-5} {
			a := engine.NewMatrix(n, n)
			num.NewRand(uint64(n), 0).Normal(a.Data)
			for j := range n {
				a.Set(0, j, float32(small)*a.At(0, j)) // rows far smaller than others, and no pivot to begin with
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
			if log := v.invert(e, got, a); math.Abs(log-want) > 1e-4 {
				t.Errorf("%d, %v: log of the determinant %v, want %v", n, small, log, want)
			}
			for i, x := range got.Data {
				if want := inverse.At(i/n, i%n); math.Abs(float64(x)-want) > 1e-3*largest {
					t.Fatalf("%d, %v: element (%d, %d) is %v, want %v", n, small, i/n, i%n, x, want)
				}
			}
			clear(a.Row(n - 1))
			if log := v.invert(e, got, a); !math.IsInf(log, -1) {
				t.Errorf("%d: log of the determinant %v of a singular matrix", n, log)
			}
		}
	}
}

// TestSingular holds what is called singular against the pivots of gonum in float64: matrices
// whose last row is a sum of others but for some of its own, of sizes around the blocks and
// of any scale.
func TestSingular(t *testing.T) {
	e, v := newEngine(t), &inverter{}
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
					continue // either
				}
				want := !(ratio > 1)
				if got := v.singular(e, a); got != want {
					t.Errorf("%d x %d, scale %v, %v of its own: singular %v with pivots from %v to %v", n, n, scale, own, got, least, most)
				}
				if want {
					singular++
				} else {
					regular++
				}
				if a.Row(n / 2)[n/3] = nan; !v.singular(e, a) {
					t.Errorf("%d x %d: not singular with a NaN", n, n)
				}
			}
		}
	}
	if singular < 30 || regular < 30 {
		t.Errorf("%d singular matrices and %d others", singular, regular)
	}
}

// TestSingularMatrix checks that the singular one of many matrices is named, however the
// threads share them.
func TestSingularMatrix(t *testing.T) {
	for _, threads := range []int{1, 3} {
		e := newEngine(t, engine.WithThreads(threads), engine.WithEagerThreads())
		for _, k := range []int{1, 2, 7} {
			const d = 37
			c := completed(Config{Extractor: "linear", Dim: d, Components: k, Steps: 1, Form: FormFull, Scale: 1, Alpha: 0.5})
			f := newForm(c, d).(*denseForm)
			num.NewRand(1, uint64(k)).Normal(f.a.Data)
			if _, problem := f.definite(e); problem != "" {
				t.Errorf("%d threads, %d matrices: %s", threads, k, problem)
			}
			clear(f.a.Data[k/2*d*d:][:d])
			if _, problem := f.definite(e); problem != fmt.Sprintf("matrix %d is singular", k/2) {
				t.Errorf("%d threads, matrix %d of %d has a row of zeros: %q", threads, k/2, k, problem)
			}
		}
	}
}
