package potential

import (
	"context"
	"fmt"
	"math"
	"testing"

	"dpnbench/dpn/internal/stream"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// emSettings are those of a potential of some form.
func emSettings(form string) Settings { return Settings{Form: form, Rank: 2, Scale: 1, Eps: 0.1} }

// newTestPotential has its centres at k-means of x, and returns the clusters.
func newTestPotential(t *testing.T, e *engine.Engine, c Settings, x engine.Matrix, k int,
	seed uint64) (*Potential, []int32) {
	t.Helper()
	found, err := KMeans(context.Background(), e, x, k, seed)
	if err != nil {
		t.Fatal(err)
	}
	return started(c, found.Centres), found.Assignment
}

// started is a potential with these centres and the precisions that training begins with.
func started(c Settings, centres engine.Matrix) *Potential {
	c.Components = centres.Rows
	p := New(c, centres.Cols)
	p.Start(1, num.NewRand(1, stream.Weights))
	p.SetCentres(centres)
	return p
}

// gaussianRows draws n rows of k Gaussians, each with a random affine map of its own.
func gaussianRows(n, k, d int, seed uint64) engine.Matrix {
	r := num.NewRand(seed, 0)
	x, z := engine.NewMatrix(n, d), make([]float32, d)
	maps := make([]float32, k*d*(d+1))
	r.Normal(maps)
	for i := range n {
		m := maps[i%k*d*(d+1):][:d*(d+1)]
		r.Normal(z)
		for j := range d {
			v := 2 * m[d*d+j]
			for l := range d {
				v += float32(m[j*d+l] * z[l])
			}
			x.Set(i, j, v)
		}
	}
	return x
}

// TestEMRises follows the log-likelihood on random rows: it never falls, not even in an
// iteration that was taken back, up to rounding. The last one is that of the parameters.
func TestEMRises(t *testing.T) {
	e := newEngine(t)
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3
	}
	for _, form := range Forms() {
		for seed := range seeds {
			k, d := 1+int(seed), 2+int(seed)
			x := gaussianRows(300+200*int(seed), 3, d, seed)
			c := emSettings(form)
			p, clusters := newTestPotential(t, e, c, x, k, seed)
			if seed%2 == 1 && form != FormLowRank { // start from spheres
				clusters = nil
			}
			r, err := p.EM(context.Background(), e, x, clusters, EMOptions{Iterations: 40, Ridge: 1e-3})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", form, seed, err)
			}
			rounding := 1e-6 * (1 + math.Abs(r.Final()))
			if r.fall > rounding {
				t.Errorf("%s, seed %d: the log-likelihood fell by %g after %v", form, seed, r.fall, r.Final())
			}
			for i := range r.Iterations {
				if r.LogLikelihood[i+1] < r.LogLikelihood[i] {
					t.Errorf("%s, seed %d: iteration %d falls from %v to %v", form, seed, i+1, r.LogLikelihood[i],
						r.LogLikelihood[i+1])
				}
			}
			if len(r.LogLikelihood) != r.Iterations+1 {
				t.Errorf("%s: %d log-likelihoods of %d iterations", form, len(r.LogLikelihood), r.Iterations)
			}
			if got := logDensity(t, p, x); !(math.Abs(got-r.Final()) <= 10*rounding) {
				t.Errorf("%s, seed %d: log-likelihood %v, by the densities %v", form, seed, r.Final(), got)
			}
			if tensor, problem := p.form.definite(e); problem != "" {
				t.Errorf("%s: %s: %s", form, tensor, problem)
			}
		}
	}
}

// logDensity is the mean log-density of the rows of x in float64, from the parameters.
func logDensity(t *testing.T, p *Potential, x engine.Matrix) float64 {
	t.Helper()
	precisions, logs := make([][]float64, p.K), make([]float64, p.K)
	var z float64
	for i := range p.K {
		precisions[i] = p.Precision(i)
		l := p.Precision(i)
		if !linalg.Cholesky(l, p.D) {
			t.Fatal("singular")
		}
		for j := range p.D {
			logs[i] += 2 * math.Log(l[j*p.D+j])
		}
		z += math.Exp(float64(p.c.Data[i]) - logs[i]/2)
	}
	var sum float64
	for row := range x.Rows {
		l := make([]float64, p.K)
		most := math.Inf(-1)
		for i := range p.K {
			var q float64
			for a := range p.D {
				for b := range p.D {
					q += precisions[i][a*p.D+b] * float64(x.At(row, a)-p.mu.Data[i*p.D+a]) * float64(
						x.At(row, b)-p.mu.Data[i*p.D+b],
					)
				}
			}
			l[i] = float64(p.c.Data[i]) - q/2
			most = max(most, l[i])
		}
		var s float64
		for _, v := range l {
			s += math.Exp(v - most)
		}
		sum += most + math.Log(s)
	}
	return sum/float64(x.Rows) - math.Log(z) - float64(p.D)/2*math.Log(2*math.Pi)
}

// TestEMOneComponent holds one component against the closed forms: mean, and covariance as
// far as the form goes.
func TestEMOneComponent(t *testing.T) {
	e := newEngine(t)
	const n, d = 400, 5
	x := gaussianRows(n, 1, d, 3)
	mean, cov := make([]float64, d), make([]float64, d*d)
	for i := range n {
		for j, v := range x.Row(i) {
			mean[j] += float64(v) / n
		}
	}
	for i := range n {
		for a := range d {
			for b := range d {
				cov[a*d+b] += (float64(x.At(i, a)) - mean[a]) * (float64(x.At(i, b)) - mean[b]) / n
			}
		}
	}
	values, vectors, err := linalg.Eigenvectors(append([]float64(nil), cov...), d)
	if err != nil {
		t.Fatal(err)
	}
	// Sigma by the spectrum that each form leaves of the covariance.
	spectral := func(f func(rank int) float64) []float64 {
		s := make([]float64, d*d)
		for l := range d {
			for a := range d {
				for b := range d {
					s[a*d+b] += f(l) * vectors[l*d+a] * vectors[l*d+b]
				}
			}
		}
		return s
	}
	diagonal := make([]float64, d*d)
	for j := range d {
		diagonal[j*d+j] = cov[j*d+j]
	}
	const s0, eps, rank = 1.5, 0.2, 2
	want := map[string][]float64{
		FormFull: cov, FormTied: cov, FormDiag: diagonal,
		FormLowRank: spectral(func(l int) float64 {
			if l < d-rank {
				return (values[0] + values[1] + values[2]) / (d - rank)
			}
			return values[l]
		}),
		FormFlat: spectral(func(l int) float64 {
			if l < rank {
				return 1 / (s0 * s0 * eps)
			}
			return 1 / (s0 * s0)
		}),
	}
	for _, form := range Forms() {
		if want[form] == nil {
			t.Fatalf("no expected covariance of form %s", form)
		}
		c := emSettings(form)
		c.Rank, c.Scale, c.Eps = rank, s0, eps
		p, clusters := newTestPotential(t, e, c, x, 1, 1)
		if _, err := p.EM(context.Background(), e, x, clusters, EMOptions{Iterations: 60, Ridge: 1e-6}); err != nil {
			t.Fatal(err)
		}
		for j, v := range mean {
			if got := float64(p.mu.Data[j]); !(math.Abs(got-v) <= 1e-6*(1+math.Abs(v))) {
				t.Errorf("%s: mean %d is %v, want %v", form, j, got, v)
			}
		}
		got := p.Precision(0) // times the covariance is the identity
		for a := range d {
			for b := range d {
				var v, id float64
				for l := range d {
					v += got[a*d+l] * want[form][l*d+b]
				}
				if a == b {
					id = 1
				}
				if !(math.Abs(v-id) <= 1e-3) {
					t.Errorf("%s: element (%d, %d) of P Sigma is %v, want %v", form, a, b, v, id)
				}
			}
		}
		if p.c.Data[0] != 0 {
			t.Errorf("%s: c %v of one component, want 0", form, p.c.Data[0])
		}
	}
}

// TestEMTiedPools fits clusters far apart of 90 and 30 rows with different covariances: the
// one that they share is the mean over rows.
func TestEMTiedPools(t *testing.T) {
	e := newEngine(t)
	const n, d = 120, 3
	x, clusters := engine.NewMatrix(n, d), make([]int32, n)
	num.NewRand(1, 0).Normal(x.Data)
	var sum, square [2][d]float64
	count := [2]float64{90, 30}
	for i := range n {
		row := x.Row(i)
		if i%4 == 0 {
			clusters[i] = 1
			row[0] = 100 + 3*row[0]
		}
		for j, v := range row {
			sum[clusters[i]][j] += float64(v)
		}
	}
	for i := range n {
		for j, v := range x.Row(i) {
			t := float64(v) - sum[clusters[i]][j]/count[clusters[i]]
			square[clusters[i]][j] += t * t
		}
	}
	p, _ := newTestPotential(t, e, emSettings(FormTied), x, 2, 1)
	if _, err := p.EM(context.Background(), e, x, clusters, EMOptions{Iterations: 3, Ridge: 1e-6}); err != nil {
		t.Fatal(err)
	}
	m := p.Precision(1)
	if !linalg.Cholesky(m, d) {
		t.Fatal("singular")
	}
	for j, v := range linalg.InverseDiagonal(m, d) {
		if want := (square[0][j] + square[1][j]) / n; !(math.Abs(v/want-1) <= 1e-4) {
			t.Errorf("variance %d is %v, want %v", j, v, want)
		}
	}
}

// TestEMRecovers draws from a known mixture and finds its weights, means and covariances,
// with c_i = log pi_i + log |P_i| / 2.
func TestEMRecovers(t *testing.T) {
	e := newEngine(t)
	const n, d = 20000, 2
	r := num.NewRand(7, 0)
	x, z := engine.NewMatrix(n, d), make([]float32, d)
	for i := range n {
		r.Normal(z)
		if i%4 == 0 { // a quarter: unit variances 6 away
			x.Set(i, 0, 6+z[0])
			x.Set(i, 1, z[1])
		} else { // variances 4 and 1/4, correlated
			x.Set(i, 0, 2*z[0])
			x.Set(i, 1, 0.3*z[0]+0.4*z[1])
		}
	}
	p, clusters := newTestPotential(t, e, emSettings(FormFull), x, 2, 1)
	if _, err := p.EM(context.Background(), e, x, clusters, EMOptions{Iterations: 100, Tolerance: 1e-7,
		Ridge: 1e-6}); err != nil {
		t.Fatal(err)
	}
	light := 0
	if p.mu.Data[2] > p.mu.Data[0] {
		light = 1
	}
	for _, c := range []struct {
		i             int
		mean          [2]float64
		s00, s01, s11 float64
		share         float64
	}{
		{light, [2]float64{6, 0}, 1, 0, 1, 0.25},
		{1 - light, [2]float64{0, 0}, 4, 0.6, 0.25, 0.75},
	} {
		m := p.Precision(c.i)
		det := m[0]*m[3] - m[1]*m[2]
		for what, v := range map[string][2]float64{
			"mean 0": {float64(p.mu.Data[c.i*d]), c.mean[0]}, "mean 1": {float64(p.mu.Data[c.i*d+1]), c.mean[1]},
			"s00": {m[3] / det, c.s00}, "s01": {-m[1] / det, c.s01}, "s11": {m[0] / det, c.s11},
		} {
			if !(math.Abs(v[0]-v[1]) <= 0.1) {
				t.Errorf("component %d: %s is %.3f, want %.3f", c.i, what, v[0], v[1])
			}
		}
		other := p.Precision(1 - c.i)
		mass := func(i int, p64 []float64) float64 {
			return math.Exp(float64(p.c.Data[i])) / math.Sqrt(p64[0]*p64[3]-p64[1]*p64[2])
		}
		if got := mass(c.i, m) / (mass(c.i, m) + mass(1-c.i, other)); !(math.Abs(got-c.share) <= 0.01) {
			t.Errorf("component %d: weight %.3f, want %.3f", c.i, got, c.share)
		}
	}
}

// TestEMDegenerate fits what has no covariance of its own: equal rows, fewer rows than
// features, a cluster of one row, an empty one. Variances stay at the ridge or above.
func TestEMDegenerate(t *testing.T) {
	e := newEngine(t)
	same := engine.NewMatrix(6, 3)
	for i := range same.Data {
		same.Data[i] = 2
	}
	few := gaussianRows(4, 1, 9, 1)
	lone := blobs(20, 2, 3)
	lone.Row(0)[0] = 1e4
	for name, c := range map[string]struct {
		x        engine.Matrix
		k        int
		clusters []int32
	}{
		"equal rows":    {same, 2, []int32{0, 0, 0, 1, 1, 1}},
		"few rows":      {few, 2, []int32{0, 0, 1, 1}},
		"one row":       {lone, 3, nil},
		"empty cluster": {same, 3, []int32{0, 0, 0, 2, 2, 2}},
		"row each":      {few, 4, []int32{0, 1, 2, 3}},
	} {
		for _, form := range Forms() {
			p, clusters := newTestPotential(t, e, emSettings(form), c.x, c.k, 1)
			if c.clusters != nil {
				clusters = c.clusters
			}
			r, err := p.EM(context.Background(), e, c.x, clusters, EMOptions{Iterations: 20, Ridge: 1e-2})
			if err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
				continue
			}
			if tensor, problem := p.form.definite(e); problem != "" {
				t.Errorf("%s, %s: %s: %s", name, form, tensor, problem)
			}
			if err := p.CheckFinite(); err != nil {
				t.Errorf("%s, %s: %v", name, form, err)
			}
			if most := 1.001 / r.Ridge; form != FormFlat && r.LambdaMax > max(most, 1.001) { // 1: an empty component
				t.Errorf("%s, %s: an eigenvalue of %v, at most %v by the ridge", name, form, r.LambdaMax, most)
			}
		}
	}
}

// TestEMSameBits runs on tiers and numbers of threads, and with rows in blocks.
func TestEMSameBits(t *testing.T) {
	x := gaussianRows(1100, 4, 6, 2)
	for _, form := range Forms() {
		var want []uint32
		for _, o := range [][]engine.Option{{engine.WithThreads(1)}, {engine.WithThreads(3),
			engine.WithEagerThreads()}, {engine.WithTier(engine.Generic)}} {
			e := newEngine(t, o...)
			p, clusters := newTestPotential(t, e, emSettings(form), x, 4, 1)
			r, err := p.EM(context.Background(), e, x, clusters, EMOptions{Iterations: 5, Ridge: 1e-3})
			if err != nil {
				t.Fatal(err)
			}
			var got []uint32
			for _, q := range p.Params() {
				for _, v := range q.Data {
					got = append(got, math.Float32bits(v))
				}
			}
			for _, v := range r.LogLikelihood {
				got = append(got, uint32(math.Float64bits(v)), uint32(math.Float64bits(v)>>32))
			}
			if want == nil {
				want = got
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: other bits with %v", form, e.Tier())
			}
		}
	}
}

// TestEMRefuses gives features and settings that cannot be.
func TestEMRefuses(t *testing.T) {
	e := newEngine(t)
	good := EMOptions{Iterations: 1, Ridge: 1e-3}
	x := gaussianRows(30, 2, 3, 1)
	corrupted := func(v float32) engine.Matrix {
		y := engine.NewMatrix(30, 3)
		copy(y.Data, x.Data)
		y.Data[40] = v
		return y
	}
	huge := engine.NewMatrix(30, 3)
	e.Scale(huge.Data, 1e17, x.Data)
	for name, c := range map[string]struct {
		x        engine.Matrix
		clusters []int32
		opt      EMOptions
	}{
		"NaN":             {corrupted(float32(math.NaN())), nil, good},
		"Inf":             {corrupted(float32(math.Inf(1))), nil, good},
		"huge":            {huge, nil, good},
		"no rows":         {engine.NewMatrix(0, 3), nil, good},
		"features":        {engine.NewMatrix(30, 2), nil, good},
		"clusters":        {x, make([]int32, 29), good},
		"cluster number":  {x, append(make([]int32, 29), 2), good},
		"no iterations":   {x, nil, EMOptions{Ridge: 1e-3}},
		"ridge":           {x, nil, EMOptions{Iterations: 1}},
		"ridge NaN":       {x, nil, EMOptions{Iterations: 1, Ridge: math.NaN()}},
		"tolerance below": {x, nil, EMOptions{Iterations: 1, Ridge: 1e-3, Tolerance: -1}},
	} {
		p := started(emSettings(FormFull), x.SliceRows(0, 2))
		if _, err := p.EM(context.Background(), e, c.x, c.clusters, c.opt); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p := started(emSettings(FormFull), x.SliceRows(0, 2))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.EM(ctx, e, x, nil, good); err == nil {
		t.Error("no error after cancelling")
	}
}
