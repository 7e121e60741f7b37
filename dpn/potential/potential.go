package potential

import (
	"context"
	"fmt"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// Param is layer.Param.
type Param = layer.Param

// Groups of the parameters (Param.Group): each has a learning rate of its own.
const (
	Group      = "potential" // mu, c and the precisions
	GroupAlpha = "alpha"
)

// prefix begins the names of all tensors in a model file.
const prefix = "denoising_potential."

// Names of tensors in a model file.
const (
	CentresName  = prefix + "mu"
	AlphaName    = prefix + "alpha"
	AlphaRawName = prefix + "alpha_unconstrained" // in a training state
)

// BlockRows is the number of rows that are evaluated together.
const BlockRows = 512

// stepsAtOnce is the number of ascent steps that are recorded between two checks of a context.
const stepsAtOnce = 10

// Settings describe a potential.
type Settings struct {
	Components int     // k
	Form       string  // of the precisions, one of Forms
	Rank       int     // r of the forms that have one
	Eps        float64 // of the form flat
	Scale      float64 // s0
}

// Potential is the learned energy landscape: the log of a mixture of k Gaussians in d
// dimensions with precisions of some form (Forms), and the step size alpha of the ascent
// on it.
//
// alpha stays positive because training moves an unconstrained number, alpha =
// softplus(alphaRaw) = log(1 + e^alphaRaw).
//
// A Potential keeps memory, which all methods with an engine use: call one at a time.
type Potential struct {
	K, D     int
	settings Settings

	mu    *Param // k x d centres
	c     *Param // k log weights
	alpha *Param // step size; its gradient and moments are those of alphaRaw

	alphaRaw []float32 // one number
	form     form
	mixture  *ascent.Mixture
	stale    bool        // parameters have changed since mixture was prepared
	prepared int         // times that it was
	tier     engine.Tier // of the engine that prepared mixture
	grad     *ascent.Gradient
}

// New makes a potential in d dimensions. All parameters are zero until Start.
func New(c Settings, d int) *Potential {
	k := c.Components
	p := &Potential{K: k, D: d, settings: c,
		mu:       newParam(Group, CentresName, k, d),
		c:        newParam(Group, prefix+"c", k),
		alpha:    newParam(GroupAlpha, AlphaName),
		alphaRaw: make([]float32, 1),
		stale:    true,
	}
	p.form = newForm(c, d)
	p.mixture = p.form.mixture(p.mu.Data, p.c.Data)
	return p
}

func newParam(group, name string, shape ...int) *Param {
	p := layer.NewParam(name, shape...)
	p.Group = group
	return p
}

// Start gives the potential its first values: those of the form for the precisions, c = 0.
// Centres stay as they are.
func (p *Potential) Start(alpha float64, r *num.Rand) {
	p.form.start(r)
	clear(p.c.Data)
	p.SetAlpha(float32(alpha))
	p.stale = true
}

// Params lists all tensors.
func (p *Potential) Params() []*Param {
	return append([]*Param{p.alpha, p.c, p.mu}, p.form.params()...)
}

// Changed must be called after numbers of Params were set.
func (p *Potential) Changed() { p.stale = true }

// Alpha returns the step size.
func (p *Potential) Alpha() float32 { return p.alpha.Data[0] }

// SetAlpha sets the step size, a finite number above 0 (0 if training has taken it there).
func (p *Potential) SetAlpha(alpha float32) {
	if !(alpha >= 0 && linalg.IsFinite(alpha)) {
		panic(fmt.Sprintf("potential: SetAlpha: %v, expected a finite number above 0", alpha))
	}
	p.alpha.Data[0] = alpha
	p.alphaRaw[0] = softplusInverse(alpha)
}

// AlphaRaw returns the unconstrained number behind alpha, a slice of one.
func (p *Potential) AlphaRaw() []float32 { return p.alphaRaw }

// Centres returns the centres, k x d.
func (p *Potential) Centres() engine.Matrix { return engine.View(p.mu.Data, p.K, p.D) }

// SetCentres copies the centres from the rows of x, k x d.
func (p *Potential) SetCentres(x engine.Matrix) {
	x.CheckShape("SetCentres", "x", p.K, p.D)
	for i := range x.Rows {
		copy(p.mu.Data[i*p.D:(i+1)*p.D], x.Row(i))
	}
	p.stale = true
}

// FitClusters gives the precisions what the form derives from clusters of the rows of x (n x
// d), one component for each row in assignment: with the form flat the principal components of
// each cluster, otherwise nothing. It returns the clusters that are too small for that, whose
// components get the principal components of the pooled covariance. The ranks of by divide the components.
func (p *Potential) FitClusters(ctx context.Context, e *engine.Engine, by Division, x engine.Matrix,
	assignment []int32) ([]SmallCluster, error) {
	x.CheckShape("FitClusters", "x", x.Rows, p.D)
	engine.CheckLength("FitClusters", "assignment", len(assignment), x.Rows)
	p.stale = true
	return p.form.fitClusters(ctx, e, by, x, assignment)
}

// SetOrigin names a point o that many rows share many numbers with, such as a black image: D numbers, which must not
// change before the next SetOrigin; it panics on another length. With the form flat, the only one whose first step has
// all components, an ascent then costs less; its results differ by roundings. A point that is 0 or not finite is none.
func (p *Potential) SetOrigin(o []float32) {
	engine.CheckLength("SetOrigin", "o", len(o), p.D)
	p.mixture.Origin, p.stale = nil, true
	size := linalg.Distance(o, make([]float32, p.D))
	if p.settings.Form == FormFlat && size > 0 && linalg.IsFinite(size) {
		p.mixture.Origin = o
	}
}

// LogWeights returns c, k numbers.
func (p *Potential) LogWeights() []float32 { return p.c.Data }

// Precision returns P_i, a symmetric d x d matrix, whatever its form. It costs d^3
// multiply-adds for a full one and r d^2 for one of rank r.
func (p *Potential) Precision(i int) []float64 { return p.form.precision(context.Background(), i) }

// Distinct returns the number of distinct precisions: k, or 1 if all components share one.
func (p *Potential) Distinct() int { return p.form.count() }

// CheckDefinite names a tensor whose precisions are not positive definite, and the problem;
// both are empty if all are. Only the forms full and tied need the engine.
func (p *Potential) CheckDefinite(e *engine.Engine) (tensor, problem string) {
	return p.form.definite(e)
}

// CheckFinite returns an error that names the first number of centres, weights or alpha that
// is not finite.
func (p *Potential) CheckFinite() error {
	for _, q := range []*Param{p.mu, p.c, p.alpha} {
		for i, v := range q.Data {
			if !linalg.IsFinite(v) {
				return fmt.Errorf("%s: element %d is %v, expected a finite number", q.Name, i, v)
			}
		}
	}
	return nil
}

// Mixture returns the engine's form of the potential, up to date with the parameters. Its
// matrices are packed for the kernels of one tier, and packed anew for an engine of another.
func (p *Potential) Mixture(e *engine.Engine) *ascent.Mixture {
	p.check("Mixture")
	if p.stale || p.tier != e.Tier() {
		p.form.prepare(e, p.mixture)
		p.stale, p.tier = false, e.Tier()
		p.prepared++
	}
	return p.mixture
}

// check panics if the caller has changed K or D, or has replaced the memory of centres or weights, which the
// mixture reads: then components or new numbers would be left out.
func (p *Potential) check(call string) {
	if p.K != p.mixture.K || p.D != p.mixture.D {
		panic(fmt.Sprintf("potential: %s: %d components in %d dimensions, made for %d in %d", call, p.K, p.D,
			p.mixture.K, p.mixture.D))
	}
	for _, q := range [...]struct {
		name string
		now  []float32
		made []float32
	}{{p.mu.Name, p.mu.Data, p.mixture.Mu}, {p.c.Name, p.c.Data, p.mixture.C}} {
		if len(q.now) != len(q.made) || &q.now[0] != &q.made[0] {
			panic(fmt.Sprintf("potential: %s: Data of %s was replaced, expected new numbers in its memory",
				call, q.name))
		}
	}
}

// SetRoute sets which components ascents compute. It changes no bit.
func (p *Potential) SetRoute(r ascent.Route) { p.mixture.Route = r }

// Work returns what the last ascent computed. It is valid until the next one.
func (p *Potential) Work() *ascent.Work { return p.mixture.Work() }

// Evaluate sets phi (n) and the responsibilities r (k x n, or empty) at the rows of x (n x d).
func (p *Potential) Evaluate(e *engine.Engine, x engine.Matrix, phi []float32, r engine.Matrix) {
	p.Mixture(e).Potential(e, x, phi, r)
}

// Ascend moves the rows of x (n x d) uphill by the given number of steps, in place.
func (p *Potential) Ascend(e *engine.Engine, x engine.Matrix, steps int) {
	p.Mixture(e).Ascend(e, p.Alpha(), steps, x, nil, false)
}

// AscendUntil is Ascend that stops with the error of ctx when ctx ends.
func (p *Potential) AscendUntil(ctx context.Context, e *engine.Engine, x engine.Matrix, steps int) error {
	p.Mixture(e).AscendUntil(e, func() bool { return ctx.Err() != nil }, p.Alpha(), steps, x)
	return ctx.Err()
}

// Record is Ascend with a step size of its own; tr records the path.
func (p *Potential) Record(e *engine.Engine, alpha float32, steps int, x engine.Matrix, tr *ascent.Trajectory) {
	p.Mixture(e).Ascend(e, alpha, steps, x, tr, false)
}

// Walk moves the rows of x uphill with a step size of its own and calls visit for t = 0 ...
// steps with x_t (n x d), phi (n) and r (k x n) there; visit must not keep them. It stops with
// the error of ctx when ctx ends.
func (p *Potential) Walk(ctx context.Context, e *engine.Engine, alpha float32, steps int, x engine.Matrix,
	visit func(t int, x engine.Matrix, phi []float32, r engine.Matrix)) error {
	if steps < 0 {
		panic(fmt.Sprintf("potential: Walk: %d steps", steps))
	}
	tr := ascent.Trajectory{Stop: func() bool { return ctx.Err() != nil }}
	for done := 0; done < steps; {
		if err := ctx.Err(); err != nil {
			return err
		}
		more := min(stepsAtOnce, steps-done)
		p.Record(e, alpha, more, x, &tr)
		if err := ctx.Err(); err != nil { // the ascent may have been given up
			return err
		}
		for t := range more {
			visit(done+t, tr.XAt(t), tr.PhiAt(t), tr.RAt(t))
		}
		done += more
	}
	phi, r := make([]float32, x.Rows), engine.NewMatrix(p.K, x.Rows)
	p.Evaluate(e, x, phi, r)
	visit(steps, x, phi, r)
	return nil
}
