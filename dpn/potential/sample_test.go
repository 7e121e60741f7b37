package potential

import (
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/mat"
)

// mixturePotential has k components in d dimensions with precisions of a form, which
// overlap and whose masses are far from their weights.
func mixturePotential(t *testing.T, form string, k, d int, seed uint64) *Potential {
	t.Helper()
	p := New(Settings{Form: form, Components: k, Scale: 0.8, Rank: min(2, d), Eps: 0.2}, d)
	r := num.NewRand(seed, 0)
	p.Start(0.1, r)
	r.Normal(p.mu.Data)
	r.Normal(p.c.Data)
	for _, q := range p.form.params() {
		noise := make([]float32, len(q.Data))
		r.Normal(noise)
		for i, v := range noise {
			q.Data[i] += float32(0.3 * v)
		}
	}
	p.form.retract(newEngine(t))
	return p
}

// moments are those of a mixture, from dense matrices by gonum: masses (k), mean (d) and
// covariance (d x d).
func moments(t *testing.T, p *Potential) (masses, mean, covariance []float64) {
	t.Helper()
	d := p.D
	masses, mean, covariance = make([]float64, p.K), make([]float64, d), make([]float64, d*d)
	inverses := make([]mat.Dense, p.K)
	var sum float64
	for i := range p.K {
		dense := mat.NewDense(d, d, p.Precision(i))
		if err := inverses[i].Inverse(dense); err != nil {
			t.Fatal(err)
		}
		masses[i] = math.Exp(float64(p.c.Data[i])) / math.Sqrt(mat.Det(dense))
		sum += masses[i]
	}
	for i := range p.K {
		masses[i] /= sum
		for j := range d {
			mean[j] += masses[i] * float64(p.mu.Data[i*d+j])
		}
	}
	for i := range p.K {
		for j := range d {
			for l := range d {
				covariance[j*d+l] += masses[i] * (inverses[i].At(j,
					l) + (float64(p.mu.Data[i*d+j])-mean[j])*(float64(p.mu.Data[i*d+l])-mean[l]))
			}
		}
	}
	return masses, mean, covariance
}

// standardErrors is how far an average may be from what is expected of it.
const standardErrors = 4

// checkMean holds the mean of a quantity's values, of some chains one after the other,
// against what is expected of it. Chains that are longer than 1 count by their effective
// sample size.
func checkMean(t *testing.T, what string, values []float32, chains int, want float64) {
	t.Helper()
	own := linalg.Widen(values)
	mean := centre(own)
	size := float64(len(values))
	if chains < len(values) {
		size = EffectiveSampleSize(values, chains)
	}
	deviation := math.Sqrt(linalg.Dot(own, own) / float64(len(own)))
	if e := deviation / math.Sqrt(size); !(math.Abs(mean-want) <= standardErrors*e) {
		t.Errorf("%s: %v, expected %v +- %v (%v effective draws)", what, mean, want, e, size)
	}
}

// checkMoments holds features (d traces of some chains one after the other) against mean
// and covariance.
func checkMoments(t *testing.T, what string, features [][]float32, chains int, mean, covariance []float64) {
	t.Helper()
	d := len(features)
	product := make([]float32, len(features[0]))
	for j := range d {
		checkMean(t, fmt.Sprintf("%s: mean of feature %d", what, j), features[j], chains, mean[j])
		for l := range j + 1 {
			for b := range product {
				product[b] = float32((float64(features[j][b]) - mean[j]) * (float64(features[l][b]) - mean[l]))
			}
			checkMean(t, fmt.Sprintf("%s: covariance of features %d and %d", what, j, l), product, chains,
				covariance[j*d+l])
		}
	}
}

// columns returns the features of the rows of x.
func columns(x engine.Matrix) [][]float32 {
	list := make([][]float32, x.Cols)
	for j := range list {
		for b := range x.Rows {
			list[j] = append(list[j], x.At(b, j))
		}
	}
	return list
}

// TestGaussian holds the square root, determinant and quadratic form of every form against
// the dense precision.
func TestGaussian(t *testing.T) {
	for _, form := range Forms() {
		for _, d := range []int{1, 2, 3, 7, 30} {
			p := mixturePotential(t, form, 2, d, 4)
			for i := range p.K {
				g, err := p.form.gaussian(context.Background(), i)
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				dense := mat.NewDense(d, d, p.Precision(i))
				root := mat.NewDense(d, d, nil)
				for j := range d {
					x, z := make([]float64, d), make([]float64, d)
					z[j] = 1
					g.draw(x, z)
					root.SetCol(j, x)
				}
				var unit mat.Dense // M M^T P
				unit.Mul(root, root.T())
				unit.Mul(&unit, dense)
				for j := range d {
					for l := range d {
						want := 0.0
						if j == l {
							want = 1
						}
						if !(math.Abs(unit.At(j, l)-want) <= 1e-9) {
							t.Errorf("%s, d %d: (M M^T P)[%d,%d] = %v", form, d, j, l, unit.At(j, l))
						}
					}
				}
				if want, _ := mat.LogDet(dense); !(math.Abs(g.logDet()-want) <= 1e-6) {
					t.Errorf("%s, d %d: log |P| = %v, expected %v", form, d, g.logDet(), want)
				}
				delta := randomPoints(1, d, 3)
				got := make([]float64, d)
				g.multiply(got, delta)
				var want mat.VecDense
				want.MulVec(dense, mat.NewVecDense(d, delta))
				for j, v := range got {
					if !(math.Abs(v-want.AtVec(j)) <= 1e-12*mat.Norm(dense, 2)*linalg.Norm(delta)) {
						t.Errorf("%s, d %d: (P x)[%d] = %v, expected %v", form, d, j, v, want.AtVec(j))
					}
				}
				values, err := linalg.Eigenvalues(p.Precision(i), d)
				if err != nil {
					t.Fatal(err)
				}
				if share := largestEigenvalue(g, d) / values[0]; !(share > 0.95 && share < 1+1e-12) {
					t.Errorf("%s, d %d: the largest eigenvalue is found as %v of what it is", form, d, share)
				}
			}
		}
	}
}

// TestExactMoments checks mean, covariance and the frequencies of components.
func TestExactMoments(t *testing.T) {
	const n = 20000
	for _, form := range Forms() {
		for _, c := range []struct{ k, d int }{{1, 2}, {4, 5}} {
			what := fmt.Sprintf("%s, k %d, d %d", form, c.k, c.d)
			p := mixturePotential(t, form, c.k, c.d, 8)
			s, err := p.Sampler(context.Background(), 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			draws, err := s.Draw(context.Background(), n, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			masses, mean, covariance := moments(t, p)
			checkMoments(t, what, columns(draws.X), n, mean, covariance)
			for i, m := range masses {
				if !(math.Abs(s.Masses()[i]-m) <= 1e-5) {
					t.Errorf("%s: mass %d is %v, expected %v", what, i, s.Masses()[i], m)
				}
				hits := make([]float32, n)
				for b, from := range draws.Components {
					if from == i {
						hits[b] = 1
					}
				}
				checkMean(t, fmt.Sprintf("%s: frequency of component %d", what, i), hits, n, m)
			}
			if draws.Proposals != n {
				t.Errorf("%s: %d proposals", what, draws.Proposals)
			}
		}
	}
}

// temperedMoments integrates x and x^2 over exp(phi/T) on a line.
func temperedMoments(t *testing.T, p *Potential, temperature float64) (mean, variance float64) {
	t.Helper()
	const n, reach = 20001, 60.
	x := make([]float64, n)
	for i := range x {
		x[i] = reach * (2*float64(i)/(n-1) - 1)
	}
	ev, err := p.Evaluate64(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sum, first, second float64
	for i, v := range x {
		w := math.Exp(ev.Phi[i] / temperature)
		sum, first, second = sum+w, first+w*v, second+w*v*v
	}
	mean = first / sum
	return mean, second/sum - mean*mean
}

// TestTemperature checks the moments of exp(phi/T) on a line, drawn exactly and by chains.
func TestTemperature(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same numbers on every machine but for rounding, and slow under emulation")
	}
	ctx, e := context.Background(), newEngine(t)
	for _, temperature := range []float64{0.4, 0.9, 1.5, 6} {
		p := mixturePotential(t, FormDiag, 3, 1, 5)
		copy(p.mu.Data, []float32{-2, 0.5, 2})
		mean, variance := temperedMoments(t, p, temperature)
		s, err := p.Sampler(ctx, temperature, 1)
		if err != nil {
			t.Fatal(err)
		}
		const n = 20000
		draws, err := s.Draw(ctx, n, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		most := n * math.Pow(3, math.Abs(1-1/temperature)) * 1.05
		if draws.Proposals <= n || !(float64(draws.Proposals) <= most) {
			t.Errorf("temperature %v: %d proposals for %d draws, expected up to %.0f", temperature, draws.Proposals,
				n, most)
		}
		checkMoments(t, fmt.Sprintf("temperature %v, exact", temperature), columns(draws.X), n, []float64{mean},
			[]float64{variance})
		chains, err := p.Langevin(ctx, e, draws.X.SliceRows(0, 200),
			LangevinOptions{Adjusted: true, Steps: 400, StepSize: 0.7, Temperature: temperature, Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		checkMoments(t, fmt.Sprintf("temperature %v, MALA", temperature), chains.Trace[1:], 200, []float64{mean},
			[]float64{variance})
	}
}

// TestDrawIsTheSame checks that a sample depends on seed and number only, and on every
// machine.
func TestDrawIsTheSame(t *testing.T) {
	ctx := context.Background()
	want := map[string]uint32{
		FormFull:    0xdbf4ff2f,
		FormTied:    0x8eb016cd,
		FormDiag:    0x0ab68b8a,
		FormLowRank: 0x952920de,
		FormFlat:    0x95573440,
	}
	for _, form := range Forms() {
		p := mixturePotential(t, form, 3, 9, 6)
		for _, temperature := range []float64{1, 2} {
			s, err := p.Sampler(ctx, temperature, 1)
			if err != nil {
				t.Fatal(err)
			}
			all, err := s.Draw(ctx, 40, 7, 1)
			if err != nil {
				t.Fatal(err)
			}
			s, err = p.Sampler(ctx, temperature, 3)
			if err != nil {
				t.Fatal(err)
			}
			some, err := s.Draw(ctx, 13, 7, 3)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(some.X.Data, all.X.Data[:13*9]) {
				t.Errorf("%s: fewer samples on more threads are others", form)
			}
			other, err := s.Draw(ctx, 13, 8, 3)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Equal(some.X.Row(0), other.X.Row(0)) {
				t.Errorf("%s: seeds 7 and 8 give the same", form)
			}
			if temperature == 1 {
				if got := crc(all.X); want[form] == 0 {
					t.Errorf("no hash of form %s in TestDrawIsTheSame: samples hash to %#08x", form, got)
				} else if got != want[form] {
					t.Errorf("%s: samples hash to %#x, expected %#x", form, got, want[form])
				}
			}
		}
	}
}

// crc is a checksum of the bits of x.
func crc(x engine.Matrix) uint32 {
	var b []byte
	for _, v := range x.Data {
		u := math.Float32bits(v)
		b = append(b, byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return crc32.ChecksumIEEE(b)
}

func TestSamplerRefuses(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		form        string
		temperature float64
		corrupt     func(p *Potential)
		want        string
	}{
		"singular": {FormFull, 1, func(p *Potential) { copy(factors(p).Data[25+5:25+10], factors(p).Data[25:]) },
			"component 1: the precision has no inverse"},
		"singular, tied": {FormTied, 1, func(p *Potential) { clear(factors(p).Data[5:10]) },
			"component 0: the precision has no inverse"},
		"A is infinite": {FormFull, 1, func(p *Potential) { factors(p).Data[0] = float32(math.Inf(1)) },
			"component 0"},
		"A is NaN": {FormFull, 1, func(p *Potential) { factors(p).Data[24] = float32(math.NaN()) },
			"component 0"},
		"diag vanishes":  {FormDiag, 1, func(p *Potential) { p.form.params()[0].Data[5] = -80 }, "component 1"},
		"diag overflows": {FormLowRank, 1, func(p *Potential) { p.form.params()[0].Data[5] = 60 }, "component 1"},
		"flat too long":  {FormFlat, 1, func(p *Potential) { p.form.params()[0].Data[1] = 3 }, "component 0"},
		"c": {FormDiag, 1, func(p *Potential) { p.c.Data[1] = float32(math.NaN()) },
			"denoising_potential.c: element 1"},
		"temperature 0": {FormDiag, 0, nil, "temperature 0: expected a number above 0"},
		"below 0":       {FormDiag, -1, nil, "temperature -1"},
		"NaN":           {FormDiag, math.NaN(), nil, "temperature NaN"},
		"infinite":      {FormDiag, math.Inf(1), nil, "temperature +Inf"},
		"very cold":     {FormDiag, 0.01, nil, "take a higher temperature"},
		"overflows":     {FormDiag, 1e-300, nil, "temperature 1e-300"},
	} {
		p := mixturePotential(t, c.form, 3, 5, 1)
		if c.corrupt != nil {
			c.corrupt(p)
		}
		if _, err := p.Sampler(ctx, c.temperature, 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	s, err := mixturePotential(t, FormDiag, 3, 5, 1).Sampler(ctx, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1, math.MaxInt32} {
		if _, err := s.Draw(ctx, n, 1, 1); err == nil {
			t.Errorf("%d samples: no error", n)
		}
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := s.Draw(ended, 3, 1, 1); err != context.Canceled {
		t.Errorf("error %v after the context has ended", err)
	}
}

// TestSamplerFarApart draws where a component outweighs the others beyond float32, and
// where a weight is far out of the range of exp.
func TestSamplerFarApart(t *testing.T) {
	p := mixturePotential(t, FormDiag, 3, 2, 1)
	copy(p.c.Data, []float32{-1e4, 1e4, 1e4 - 200})
	s, err := p.Sampler(context.Background(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	draws, err := s.Draw(context.Background(), 50, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(draws.Components, func(i int) bool { return i != 1 }) {
		t.Errorf("components %v, expected 1 only", draws.Components)
	}
}
