package dpn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/potential"
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
		if o.form != potential.FormFlat {
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
		t.Skip("left out by -short: the same bits on every machine (TestDensityBits), and slow under emulation")
	}
	e := newEngine(t)
	for _, form := range append(potential.Forms(), "lowrank+extractor", "full+extractor") {
		for _, weights := range [][2]float64{{0.7, 0}, {0, 0.3}, {0.5, 2}} {
			c := Config{
				Extractor:  "identity",
				Components: 3,
				Steps:      2,
				Form:       form,
				Rank:       3,
				Eps:        0.2,
				Scale:      0.6,
				Alpha:      0.5,
			}
			if name, extractor := strings.CutSuffix(form, "+extractor"); extractor {
				c.Form, c.Extractor, c.Dim, c.LayerNorm = name, "linear", 5, true
			}
			c = completed(c)
			t.Run(fmt.Sprintf("%s,nll=%v,score=%v", form, weights[0], weights[1]), func(t *testing.T) {
				gradients := func(nll, score float64) (*Model, *Trainer, *dataset.Set, float64) {
					c.NLL, c.Score, c.ScoreSigma = nll, score, 0.4
					m, set := smallModel(t, c)
					s := NewTrainer(m, e)
					s.updates = 3
					loss := s.exact(whole(set, []int32{0, 1, 2, 3, 4, 5}))
					return m, s, set, loss
				}
				plain, _, _, without := gradients(0, 0)
				m, _, set, with := gradients(weights[0], weights[1])
				o := &oracle{
					t:      t,
					d:      m.Dim(),
					k:      c.Components,
					form:   c.Form,
					scale:  float64(float32(c.Scale)),
					eps:    c.Eps,
					params: map[string][]float64{},
				}
				for _, p := range m.Params() {
					o.params[p.Name] = reference.Vector(p.Data)
				}
				features, err := m.Features(context.Background(), e, set)
				if err != nil {
					t.Fatal(err)
				}
				z := make([]float32, 6*m.Dim())
				num.NewRand(num.NewRand(c.Seed, stream.Score).Uint64(), 3).Normal(z)
				x, eps := blas(reference.Vector(features.Data), 6, m.Dim()), blas(reference.Vector(z), 6, m.Dim())
				want := o.densityLoss(c, x, eps)
				if got := with - without; !(math.Abs(got-want) <= 2e-5*(math.Abs(want)+1)) {
					t.Errorf("loss %v, in float64 %v", got, want)
				}
				for n, p := range m.Params() {
					v := o.params[p.Name]
					diff, largest := make([]float64, len(v)), 0.0
					for i := range v {
						if p.Group == potential.Group {
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
					if p.Group == potential.Group && !(largest >= 1e-4) {
						t.Errorf("%s has no gradient to speak of: %v", p.Name, largest)
					}
					for i, want := range diff {
						// Features get no gradient, nor does alpha.
						got := float64(p.Grad[i]) - float64(plain.Params()[n].Grad[i])
						if !(math.Abs(got-want) <= 3e-5*largest+2e-6) || p.Group != potential.Group && got != 0 {
							t.Errorf("%s[%d]: float32 gradient %.9g, central difference %.9g", p.Name, i, got, want)
						}
					}
				}
			})
		}
	}
}
