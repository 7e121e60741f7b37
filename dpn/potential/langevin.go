package potential

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// LangevinOptions say how chains move. Steps is needed; what else is zero has a default.
type LangevinOptions struct {
	// Adjusted makes every step a proposal that is taken or refused so that the density
	// stays exactly exp(phi/T) (MALA); otherwise every step is made (ULA).
	Adjusted    bool
	Steps       int     // of each chain
	Burn        int     // steps at the start that Chains leaves out of its statistics
	StepSize    float64 // h; 0: DefaultStepSize
	Temperature float64 // T; 0: 1
	Seed        uint64

	Progress func(done int) // unless nil, told how many steps are done
}

// Chains are the ends of Langevin chains, with what they say of their way there.
type Chains struct {
	X   engine.Matrix `json:"-"` // n x d, where each chain ends
	Phi []float32     `json:"-"` // n, there

	StepSize   float64 `json:"step_size"`  // h
	Acceptance float64 `json:"acceptance"` // share of the steps after Burn that were taken; ULA: 1

	// Trace holds phi and up to 16 features, those of the numbers Traced, after every
	// Every-th step from Burn on: Kept values of each chain, chain after chain. ESS are
	// their effective sample sizes over all chains, of n Kept values (null where a quantity
	// never changes), and LeastESS is the smallest of those that there are.
	Traced   []int              `json:"traced"`
	Every    int                `json:"every"`
	Kept     int                `json:"kept"`
	Trace    [][]float32        `json:"-"`
	ESSPhi   separation.Float   `json:"ess_phi"`
	ESS      []separation.Float `json:"ess_features"`
	LeastESS separation.Float   `json:"ess_least"`
}

// Limits of chains.
const (
	maxLangevinSteps = 1_000_000
	maxChainBytes    = 2 << 30
	tracedFeatures   = 16
	tracedValues     = 2000 // of a chain: what the sum over lags can take
)

// DefaultStepSize is the h that Langevin takes: with lambda the largest eigenvalue of all
// P_i (found to a few percent), 0.1 / lambda for ULA, whose variances are then too large by
// about 5% at most in a single component, and d^(-1/3) / lambda for MALA, which scales so that acceptance stays in d
// dimensions (Roberts and Rosenthal, JRSS B 60, 1998).
func (p *Potential) DefaultStepSize(ctx context.Context, adjusted bool, threads int) (float64, error) {
	lambda, err := p.Steepest(ctx, threads)
	if err != nil {
		return 0, err
	}
	if !(lambda > 0) || math.IsInf(lambda, 0) {
		return 0, fmt.Errorf("step size: the largest eigenvalue of the precisions is %v, expected a number above 0",
			lambda)
	}
	if adjusted {
		return float64(num.Exp32(-num.Log32(float32(p.D))/3)) / lambda, nil
	}
	return 0.1 / lambda, nil
}

// Langevin moves a chain from each row of start (n x d, left alone) by
//
//	x' = x + h grad phi(x) + sqrt(2 h T) z
//
// with standard normal z: the ascent with noise, whose step size is h. The density of x
// tends to exp(phi/T), up to a bias that vanishes with h. For a single Gaussian ULA has the
// stationary covariance T P^-1 (I - h P/2)^-1, and diverges from h = 2 over the largest
// eigenvalue on. MALA (Roberts and Tweedie, Bernoulli 2, 1996) has no bias: it takes x' with
// the probability min(1, exp((phi(x') - phi(x))/T) q(x|x') / q(x'|x)), q being the density of
// the step, and else stays at x.
//
// Phi and the ascent are those of the engine, in float32: phi is sure to RoundingAllowance,
// which then decides between steps that are about as good. Chains hardly ever cross between
// components far apart: there the masses of components stay those of the start. Chain b depends on seed, start b
// and options only, and its bits are the same on every machine, tier and number of threads.
func (p *Potential) Langevin(ctx context.Context, e *engine.Engine, start engine.Matrix,
	opt LangevinOptions) (*Chains, error) {
	n, d, threads := start.Rows, p.D, e.Threads()
	if opt.Temperature == 0 {
		opt.Temperature = 1
	}
	if err := opt.check(n, d, start); err != nil {
		return nil, err
	}
	if err := p.CheckFinite(); err != nil {
		return nil, err
	}
	if opt.StepSize == 0 {
		var err error
		if opt.StepSize, err = p.DefaultStepSize(ctx, opt.Adjusted, threads); err != nil {
			return nil, err
		}
	}
	h := float32(opt.StepSize)
	if !(h > 0) || math.IsInf(float64(h), 0) {
		return nil, fmt.Errorf("step size %v: expected a number above 0 that float32 holds", opt.StepSize)
	}
	c := &Chains{X: engine.NewMatrix(n, d), StepSize: float64(h)}
	c.plan(opt.Steps-opt.Burn, n, d)

	// Of the states x and of the proposals x': phi, and where the drift leads, x + h grad phi.
	x, xd, phi := c.X, engine.NewMatrix(n, d), make([]float32, n)
	y, yd, phiY := engine.NewMatrix(n, d), engine.NewMatrix(n, d), make([]float32, n)
	tr := ascent.Trajectory{Stop: func() bool { return ctx.Err() != nil }} // then ForEach below returns its error
	drift := func(to, from engine.Matrix, phi []float32) {
		copy(to.Data, from.Data)
		p.Record(e, h, 1, to, &tr)
		copy(phi, tr.PhiAt(0))
	}
	for b := range n {
		copy(x.Row(b), start.Row(b))
	}
	drift(xd, x, phi)
	streams, z, u := make([]*num.Rand, n), engine.NewMatrix(n, d), make([]float32, n)
	for b := range streams {
		streams[b] = num.NewRand(opt.Seed, stream.Chains+uint64(b))
	}
	sigma := float32(math.Sqrt(2 * float64(h) * opt.Temperature))
	taken := make([]int, n)
	for t := range opt.Steps {
		err := parallel.ForEach(ctx, n, threads, func(b int) error {
			if v := phi[b]; !linalg.IsFinite(v) {
				return fmt.Errorf(
					"chain %d: phi is %v after %d steps: "+
						"take a smaller step size (2 over the largest eigenvalue of the precisions is the limit), or "+
						"another start",
					b, v, t)
			}
			streams[b].Normal(z.Row(b))
			u[b] = streams[b].Float32()
			from, to := xd.Row(b), y.Row(b)
			for j, v := range z.Row(b) {
				to[j] = num.FMA32(sigma, v, from[j])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		drift(yd, y, phiY)
		err = parallel.ForEach(ctx, n, threads, func(b int) error {
			if opt.Adjusted {
				forth, back := linalg.SquaredDistance(y.Row(b), xd.Row(b)), linalg.SquaredDistance(x.Row(b), yd.Row(b))
				gain := float64(phiY[b]) - float64(phi[b]) + (forth-back)/(4*float64(h))
				if !(u[b] < num.Exp32(float32(gain/opt.Temperature))) { // also where it is NaN
					return nil
				}
			}
			copy(x.Row(b), y.Row(b))
			copy(xd.Row(b), yd.Row(b))
			phi[b] = phiY[b]
			if t >= opt.Burn {
				taken[b]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		c.record(t-opt.Burn, phi)
		if opt.Progress != nil {
			opt.Progress(t + 1)
		}
	}
	var all int
	for b, v := range phi {
		if !linalg.IsFinite(v) {
			return nil, fmt.Errorf("chain %d: phi is %v after %d steps: take a smaller step size", b, v, opt.Steps)
		}
		all += taken[b]
	}
	c.Phi = phi
	c.Acceptance = float64(all) / (float64(n) * float64(opt.Steps-opt.Burn))
	return c, c.effective(ctx, threads)
}

func (opt *LangevinOptions) check(n, d int, start engine.Matrix) error {
	if n < 1 || start.Cols != d {
		return fmt.Errorf("a start of %d points with %d features, expected at least one with %d", n, start.Cols, d)
	}
	if 4*float64(n)*float64(8*d+(1+tracedFeatures)*tracedValues) > maxChainBytes {
		return fmt.Errorf("%d chains in %d dimensions need more than %d GB: take fewer", n, d, maxChainBytes>>30)
	}
	if opt.Steps < 1 || opt.Steps > maxLangevinSteps {
		return fmt.Errorf("chains of %d steps, expected 1 to %d", opt.Steps, maxLangevinSteps)
	}
	if opt.Burn < 0 || opt.Burn >= opt.Steps {
		return fmt.Errorf("the first %d of %d steps left out, expected 0 to %d", opt.Burn, opt.Steps, opt.Steps-1)
	}
	return checkTemperature(opt.Temperature)
}

// plan chooses what is traced, for a number of steps.
func (c *Chains) plan(steps, n, d int) {
	c.Every = (steps + tracedValues - 1) / tracedValues
	c.Kept = steps / c.Every
	count := min(d, tracedFeatures)
	for i := range count { // spread evenly
		c.Traced = append(c.Traced, (2*i+1)*d/(2*count))
	}
	c.Trace = make([][]float32, 1+count)
	for i := range c.Trace {
		c.Trace[i] = make([]float32, n*c.Kept)
	}
}

// record traces the states after the step of that number, the first after Burn being 0.
func (c *Chains) record(step int, phi []float32) {
	if step < 0 || (step+1)%c.Every != 0 || step/c.Every >= c.Kept {
		return
	}
	for b, v := range phi {
		at := b*c.Kept + step/c.Every
		c.Trace[0][at] = v
		for i, j := range c.Traced {
			c.Trace[1+i][at] = c.X.At(b, j)
		}
	}
}
