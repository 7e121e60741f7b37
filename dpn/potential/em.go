package potential

import (
	"context"
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/mpi"
)

// EMOptions say how Potential.EM runs.
type EMOptions struct {
	Iterations int     // largest number, at least 1
	Tolerance  float64 // EM has converged if the log-likelihood rises by less, in nats per row
	Ridge      float64 // no variance below this share of the mean variance of a feature, 1e-6 to 1

	By Division // of the rows in E steps and of the components in M steps; nil: Alone

	OnIteration func(done int, logLikelihood float64) // after the start (0) and each iteration; may be nil
}

// EMResult is the outcome of Potential.EM.
type EMResult struct {
	Iterations    int       `json:"iterations"`
	Converged     bool      `json:"converged"`
	LogLikelihood []float64 `json:"log_likelihood"` // mean of log p in nats: at the start and after each iteration
	Ridge         float64   `json:"ridge"`          // the least variance, in squared units of a feature
	LambdaMax     float64   `json:"lambda_max"`     // largest eigenvalue of all P_i, at most a few percent too low

	fall float64 // by which an iteration that was taken back had lowered the log-likelihood
}

// Final returns the log-likelihood at the end.
func (r *EMResult) Final() float64 { return r.LogLikelihood[len(r.LogLikelihood)-1] }

// EM fits the mixture that the potential is the log of to the rows of x (n x d, rows
// contiguous) by expectation and maximisation (Dempster, Laird and Rubin, J. R. Statist.
// Soc. B 39, 1977), and leaves exp(phi) in proportion to its density: c_i = log pi_i + log
// |P_i| / 2, less the largest of them. clusters are a component for each row, with which the
// first M step begins; without them it begins with an E step of the potential as it is.
//
// Among all mixtures of the form whose covariances have no eigenvalue below the ridge,
// the M step takes one with the highest expected log-likelihood, so the log-likelihood of
// the rows never falls (but for rounding: an iteration that lowers it is taken back and ends
// the fit):
//
//	full     Sigma_i = scatter S_i of component i, its eigenvalues raised to the ridge
//	tied     the same of all components together
//	diag     the diagonal of S_i, raised to the ridge
//	lowrank  of the P_i with equal l: minor components (Williams and Agakov, Neural
//	         Computation 14, 2002). S_i's r smallest eigenvalues are kept, raised to the
//	         ridge, and their mean stands for the others
//	flat     s0 and eps stay as set, with no ridge: three steps of subspace iteration, which
//	         turn U_i towards the r largest eigenvectors of S_i and raise the likelihood, too.
//	         It is a mixture of probabilistic principal components (Tipping and Bishop,
//	         Neural Computation 11, 1999) that share their two variances
//
// The ridge is what bounds the likelihood (Hathaway, Ann. Statist. 13, 1985). Where
// scikit-learn adds its reg_covar to every covariance, which may lower the likelihood, here
// only what lies below is raised. lowrank adds to a diagonal precision, so that
// probabilistic principal components, which take away from it, are beyond that form. A
// component that no row belongs to stays where it is, at a weight of 2^-40.
//
// E steps and products run in float32 by the engine, over 512 rows at a time, the rest in
// float64: the log-likelihood is that of the model as it will be saved, and the result has
// the same bits on every machine, tier and number of threads. Sums go in the order of the
// rows; another order changes roundings. An iteration takes 2 n k d^2 multiply-adds for full
// precisions (less in the M step, where responsibilities are 0), and a component some d^3 in
// float64: nothing for 64 features, about a second of a core for 784 pixels.
func (p *Potential) EM(ctx context.Context, e *engine.Engine, x engine.Matrix, clusters []int32,
	opt EMOptions) (*EMResult, error) {
	f, err := p.newEM(ctx, e, x, opt)
	if err != nil {
		return nil, err
	}
	if clusters != nil {
		if err := f.assign(clusters); err != nil {
			return nil, err
		}
		if err := f.maximise(); err != nil {
			return nil, err
		}
	} else if err := f.normalise(); err != nil {
		return nil, err
	}
	if err := f.iterate(opt); err != nil {
		return nil, err
	}
	f.LambdaMax, err = p.greatest(ctx, e.Threads(), f.by,
		func(i int) (float64, error) { return largestEigenvalue(f.gaussians[i], p.D), nil })
	if err != nil {
		return nil, err
	}
	return &f.EMResult, nil
}

// em is one call of Potential.EM.
type em struct {
	EMResult
	ctx context.Context
	e   *engine.Engine
	by  Division
	p   *Potential

	x     engine.Matrix // n x d
	own   engine.Matrix // the rows of it that this rank assigns,
	first int           // from this one on
	r     engine.Matrix // k x n, responsibilities
	phi   []float32     // of own rows
	mass  []float64     // k: sum of r_i

	gaussians []gaussian // of own components; those of tied precisions are one and the same
	logDets   []float64  // k: log |P_i|
	logZ      float64    // of the integral of exp(phi)
}

// newEM checks what goes in.
func (p *Potential) newEM(ctx context.Context, e *engine.Engine, x engine.Matrix, opt EMOptions) (*em, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	if x.Cols != p.D || x.Rows < 1 {
		return nil, fmt.Errorf("EM: %d rows of %d features, expected at least one of %d", x.Rows, x.Cols, p.D)
	}
	v, err := meanVariance(x)
	if err != nil {
		return nil, err
	}
	f := &em{
		ctx:     ctx,
		e:       e,
		by:      opt.By,
		p:       p,
		x:       x,
		r:       engine.NewMatrix(p.K, x.Rows),
		mass:    make([]float64, p.K),
		logDets: make([]float64, p.K),
	}
	if f.by == nil {
		f.by = Alone
	}
	f.own, f.first = ownRows(f.by, x)
	f.phi = make([]float32, f.own.Rows)
	f.Ridge = opt.Ridge * v
	return f, nil
}

// Check returns a *SettingError for the first option that is out of range.
func (o EMOptions) Check() error {
	switch {
	case o.Iterations < 1:
		return &SettingError{"em-iterations", o.Iterations, "expected at least 1"}
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 0):
		return &SettingError{"em-tolerance", o.Tolerance, "expected 0 or more"}
	case !(o.Ridge >= 1e-6 && o.Ridge <= 1):
		return &SettingError{"em-ridge", o.Ridge, "expected 0.000001 to 1"}
	}
	return nil
}

// meanVariance returns the variance of the columns of x, averaged, or 1 where nothing
// varies. It refuses what is not finite, and what products of float32 cannot hold.
func meanVariance(x engine.Matrix) (float64, error) {
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if !linalg.IsFinite(v) {
				return 0, fmt.Errorf("EM: feature %d of row %d is %v, expected a finite number", j, i, v)
			}
			mean[j] += float64(v)
		}
	}
	linalg.Scale(1/float64(x.Rows), mean)
	var sum float64
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			t := float64(v) - mean[j]
			sum += float64(t * t)
		}
	}
	v := sum / float64(x.Rows) / float64(x.Cols)
	if sum == 0 {
		return 1, nil
	}
	if !(v > 1e-30 && v < 1e30) {
		return 0, fmt.Errorf("EM: features with a mean variance of %.3g, expected 1e-30 to 1e30", v)
	}
	return v, nil
}

// assign makes the responsibilities those of clusters: 1 and 0.
func (f *em) assign(clusters []int32) error {
	if len(clusters) != f.x.Rows {
		return fmt.Errorf("EM: clusters of %d rows, expected %d", len(clusters), f.x.Rows)
	}
	for row, i := range clusters {
		if i < 0 || int(i) >= f.p.K {
			return fmt.Errorf("EM: row %d is in cluster %d, expected 0 to %d", row, i, f.p.K-1)
		}
		f.r.Set(int(i), row, 1)
	}
	return nil
}

// iterate alternates E and M steps.
func (f *em) iterate(opt EMOptions) error {
	report := func() {
		if opt.OnIteration != nil {
			opt.OnIteration(f.Iterations, f.Final())
		}
	}
	ll, err := f.expect()
	if err != nil {
		return err
	}
	f.LogLikelihood = append(f.LogLikelihood, ll)
	report()
	kept := f.p.copyParams()
	for f.Iterations < opt.Iterations && !f.Converged {
		for i, q := range f.p.Params() {
			copy(kept[i], q.Data)
		}
		if err := f.maximise(); err != nil {
			return err
		}
		next, err := f.expect()
		if err != nil {
			return err
		}
		if next < ll {
			for i, q := range f.p.Params() {
				copy(q.Data, kept[i])
			}
			f.fall, f.Converged = ll-next, true
			f.p.stale = true
			return f.normalise()
		}
		f.Converged = next-ll < opt.Tolerance
		ll = next
		f.Iterations++
		f.LogLikelihood = append(f.LogLikelihood, ll)
		report()
	}
	return nil
}

// expect sets the responsibilities, and returns the mean log-likelihood of a row.
func (f *em) expect() (float64, error) {
	f.p.stale = true
	mixture := f.p.Mixture(f.e)
	n := f.x.Rows
	for lo := 0; lo < f.own.Rows && f.ctx.Err() == nil; lo += BlockRows {
		hi := min(lo+BlockRows, f.own.Rows)
		mixture.Potential(f.e, f.own.SliceRows(lo, hi), f.phi[lo:hi], f.r.Slice(0, f.p.K, f.first+lo, f.first+hi))
	}
	sum, err := f.by.Sum(f.ctx, nil, n, 1, func(_, lo, hi int, sum []float64) {
		for _, v := range f.phi[lo-f.first : hi-f.first] {
			sum[0] += float64(v)
		}
	})
	if err != nil {
		return 0, err
	}
	rows := make([][]byte, f.p.K)
	for i := range rows {
		rows[i] = mpi.Bytes(f.r.Row(i))
	}
	if err := f.by.Gather(f.ctx, nil, n, rows...); err != nil {
		return 0, err
	}
	ll := sum[0]/float64(n) - f.logZ
	if !linalg.IsFinite(ll) {
		return 0, fmt.Errorf("EM: the log-likelihood is %v after %d iterations; try a larger em-ridge", ll,
			f.Iterations)
	}
	return ll, nil
}

// maximise is the M step: masses and means, precisions given the means, weights.
func (f *em) maximise() error {
	p, n := f.p, float64(f.x.Rows)
	first, end := f.by.Own(p.K)
	f.e.Parallel(end-first, 0, float64(p.K*f.x.Rows*p.D), func(_ *engine.Worker, lo, hi int) {
		for i := first + lo; i < first+hi && f.ctx.Err() == nil; i++ {
			f.centre(i)
		}
	})
	if err := f.by.Gather(f.ctx, f.ctx.Err(), p.K, mpi.Bytes(f.mass), mpi.Bytes(p.mu.Data)); err != nil {
		return err
	}
	err := p.form.maximise(f)
	if p.form.count() == p.K {
		err = gatherParams(f.ctx, f.by, err, p.K, p.form.params()...)
	} else {
		err = f.by.Gather(f.ctx, err, 0) // all ranks have computed what components share
	}
	if err != nil {
		return err
	}
	if err := f.densities(); err != nil {
		return err
	}
	log, most := make([]float64, p.K), math.Inf(-1)
	for i, m := range f.mass {
		log[i] = linalg.LogProduct([]float64{m/n + 0x1p-40}) + f.logDets[i]/2
		most = max(most, log[i])
	}
	for i := range log {
		p.c.Data[i] = float32(log[i] - most)
	}
	f.integrate()
	return nil
}

// centre sets mass and mean of component i.
func (f *em) centre(i int) {
	f.mass[i] = 0
	mean := make([]float64, f.p.D)
	for row, r := range f.r.Row(i) {
		if r == 0 {
			continue
		}
		f.mass[i] += float64(r)
		for j, v := range f.x.Row(row) {
			mean[j] += float64(float64(r) * float64(v))
		}
	}
	if f.mass[i] == 0 {
		return
	}
	for j, v := range mean {
		f.p.mu.Data[i*f.p.D+j] = float32(v / f.mass[i])
	}
}

// normalise finds the integral of exp(phi) for the potential as it is.
func (f *em) normalise() error {
	if err := f.densities(); err != nil {
		return err
	}
	f.integrate()
	return nil
}

// densities computes the Gaussians of own components, and the determinants of all.
func (f *em) densities() (err error) {
	if f.gaussians, err = f.p.gaussians(f.ctx, f.e.Threads(), f.by); err != nil && f.ctx.Err() == nil {
		err = fmt.Errorf("EM: %w", err)
	}
	for i, g := range f.gaussians {
		if g != nil && err == nil {
			f.logDets[i] = g.logDet()
		}
	}
	return f.by.Gather(f.ctx, err, f.p.K, mpi.Bytes(f.logDets))
}

// integrate sets logZ: exp(phi) integrates to the sum of exp(c_i) (2 pi)^(d/2) |P_i|^(-1/2).
func (f *em) integrate() {
	terms, most := make([]float64, f.p.K), math.Inf(-1)
	for i, c := range f.p.c.Data {
		terms[i] = float64(c) - f.logDets[i]/2
		most = max(most, terms[i])
	}
	var sum float64
	for _, t := range terms {
		sum += float64(num.Exp32(float32(t - most)))
	}
	f.logZ = most + linalg.LogProduct([]float64{sum}) + float64(float64(f.p.D)*logTwoPi/2)
}

// blocks calls do with the rows that belong to component i, up to 512 at a time: sqrt(r/m)
// (x - mu_i), m being the mass, so that the products of their columns add up to S_i.
func (f *em) blocks(i int, scratch []float32, do func(y engine.Matrix)) {
	d := f.p.D
	mu, y := f.p.mu.Data[i*d:(i+1)*d], engine.View(scratch[:BlockRows*d], BlockRows, d)
	n := 0
	for row, r := range f.r.Row(i) {
		if r == 0 {
			continue
		}
		weight := float32(math.Sqrt(float64(r) / f.mass[i]))
		to := y.Row(n)
		for j, v := range f.x.Row(row) {
			to[j] = weight * (v - mu[j])
		}
		if n++; n == BlockRows {
			do(y)
			n = 0
		}
	}
	if n > 0 {
		do(y.SliceRows(0, n))
	}
}

// scatters returns S_i = sum r (x - mu_i)(x - mu_i)^T / m of each component of this rank, d x d; of one
// without rows, and of those of other ranks, nil.
func (f *em) scatters() ([][]float64, error) {
	k, d := f.p.K, f.p.D
	s := make([][]float64, k)
	first, end := f.by.Own(k)
	rows := float64((end - first) * f.x.Rows)
	f.e.Parallel(end-first, 2*rows*float64(d*d), rows*float64(d), func(w *engine.Worker, lo, hi int) {
		scratch := w.Floats(BlockRows*d + d*d)
		product := engine.View(scratch[BlockRows*d:], d, d)
		for i := first + lo; i < first+hi; i++ {
			if f.mass[i] == 0 {
				continue
			}
			s[i] = make([]float64, d*d)
			f.blocks(i, scratch, func(y engine.Matrix) {
				if f.ctx.Err() != nil {
					return
				}
				w.MatMul(product, y.T(), y, false)
				for j, v := range product.Data {
					s[i][j] += float64(v)
				}
			})
		}
	})
	return s, f.ctx.Err()
}

// copyParams returns the numbers of all tensors.
func (p *Potential) copyParams() [][]float32 {
	var list [][]float32
	for _, q := range p.Params() {
		list = append(list, append([]float32(nil), q.Data...))
	}
	return list
}
