package potential

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/mat"
)

// exactDraws are the starts of chains.
func exactDraws(t *testing.T, p *Potential, n int) engine.Matrix {
	t.Helper()
	s, err := p.Sampler(context.Background(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Draw(context.Background(), n, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	return d.X
}

// TestMALAMoments checks that MALA with large steps leaves a mixture as it is, whatever
// the form, and that it comes to one Gaussian from afar.
func TestMALAMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics of bits that TestLangevinIsTheSame holds")
	}
	const chains = 300
	ctx, e := context.Background(), newEngine(t)
	for _, form := range Forms() {
		p := mixturePotential(t, form, 3, 4, 8)
		lambda, err := p.LambdaMax(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Langevin(ctx, e, exactDraws(t, p, chains),
			LangevinOptions{Adjusted: true, Steps: 300, StepSize: 0.7 / lambda, Seed: 4})
		if err != nil {
			t.Fatal(err)
		}
		_, mean, covariance := moments(t, p)
		checkMoments(t, form, c.Trace[1:], chains, mean, covariance)
		if !(c.Acceptance > 0.5 && c.Acceptance < 0.99) {
			t.Errorf("%s: acceptance %v", form, c.Acceptance)
		}
		if !(float64(c.LeastESS) > float64(chains) && float64(c.LeastESS) < float64(300*chains)) {
			t.Errorf("%s: effective sample size %v", form, c.LeastESS)
		}
	}

	p := mixturePotential(t, FormFull, 1, 4, 8)
	far := engine.NewMatrix(chains, 4)
	for i := range far.Data {
		far.Data[i] = 15
	}
	c, err := p.Langevin(ctx, e, far, LangevinOptions{Adjusted: true, Steps: 800, Burn: 400, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	_, mean, covariance := moments(t, p)
	checkMoments(t, "from afar", c.Trace[1:], chains, mean, covariance)
}

// TestULAMoments checks ULA on one Gaussian: its stationary covariance is known, T P^-1 (I -
// h P/2)^-1, both where that is far from T P^-1 and where it is near.
func TestULAMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics of bits that TestLangevinIsTheSame holds")
	}
	const chains = 300
	ctx, e := context.Background(), newEngine(t)
	for _, form := range []string{FormFull, FormLowRank, FormFlat} {
		for _, share := range []float64{0.05, 1.2} {
			const temperature = 1.7
			p := mixturePotential(t, form, 1, 4, 8)
			lambda, err := p.LambdaMax(ctx, 1)
			if err != nil {
				t.Fatal(err)
			}
			h := float64(float32(share / lambda))
			c, err := p.Langevin(ctx, e, exactDraws(t, p, chains),
				LangevinOptions{Steps: 700, Burn: 200, StepSize: h, Temperature: temperature, Seed: 4})
			if err != nil {
				t.Fatal(err)
			}
			dense := mat.NewDense(4, 4, p.Precision(0))
			var inverse mat.Dense
			inverse.Mul(dense, dense)
			inverse.Scale(-h/2, &inverse)
			inverse.Add(dense, &inverse)
			if err := inverse.Inverse(&inverse); err != nil {
				t.Fatal(err)
			}
			inverse.Scale(temperature, &inverse)
			checkMoments(t, form, c.Trace[1:], chains, linalg.Widen(p.mu.Data), inverse.RawMatrix().Data)
			if c.Acceptance != 1 {
				t.Errorf("%s: acceptance %v", form, c.Acceptance)
			}
		}
	}
}

// TestAcceptance checks that MALA takes more of smaller steps, and in the end all.
func TestAcceptance(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	p := mixturePotential(t, FormFull, 3, 4, 8)
	start := exactDraws(t, p, 100)
	before := 0.0
	for _, h := range []float64{8, 2, 0.5, 0.1, 0.01, 1e-4} {
		c, err := p.Langevin(ctx, e, start, LangevinOptions{Adjusted: true, Steps: 100, StepSize: h, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if c.Acceptance <= before {
			t.Errorf("step size %v: acceptance %v, %v with a larger one", h, c.Acceptance, before)
		}
		before = c.Acceptance
	}
	if !(before >= 0.9995) {
		t.Errorf("acceptance %v of the smallest steps", before)
	}
}

// TestLangevinIsTheSame checks that no bit depends on tier, threads, other chains or
// machine.
func TestLangevinIsTheSame(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		form     string
		adjusted bool
		want     uint32
	}{{FormFull, true, 0xe434f60f}, {FormFull, false, 0x2f8bc98e}, {FormLowRank, true, 0x91ad191c}, {FormFlat,
		true, 0x484e6a4c}} {
		opt := LangevinOptions{Adjusted: c.adjusted, Steps: 25, StepSize: 0.3, Seed: 9}
		for _, tier := range engine.Tiers() {
			if !tier.Available {
				continue
			}
			for _, threads := range []int{1, 3} {
				e := newEngine(t, engine.WithTier(tier.Tier), engine.WithThreads(threads))
				p := mixturePotential(t, c.form, 3, 18, 6)
				start := exactDraws(t, p, 21)
				all, err := p.Langevin(ctx, e, start, opt)
				if err != nil {
					t.Fatal(err)
				}
				if got := crc(all.X); got != c.want {
					t.Errorf("%s, adjusted %v, %v, %d threads: hash %#x, expected %#x", c.form, c.adjusted, tier.Tier,
						threads, got, c.want)
				}
				some, err := p.Langevin(ctx, e, start.SliceRows(0, 4), opt)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(some.X.Data, all.X.Data[:4*18]) {
					t.Errorf("%s, %v: chains depend on others", c.form, tier.Tier)
				}
			}
		}
	}
}

func TestLangevinRefuses(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	p := mixturePotential(t, FormDiag, 3, 5, 1)
	start := exactDraws(t, p, 3)
	broken := engine.NewMatrix(3, 5)
	copy(broken.Data, start.Data)
	broken.Data[7] = float32(math.NaN())
	for name, c := range map[string]struct {
		start engine.Matrix
		opt   LangevinOptions
		want  string
	}{
		"no steps":          {start, LangevinOptions{}, "chains of 0 steps"},
		"many steps":        {start, LangevinOptions{Steps: maxLangevinSteps + 1}, "chains of 1000001 steps"},
		"all left out":      {start, LangevinOptions{Steps: 5, Burn: 5}, "expected 0 to 4"},
		"burn below 0":      {start, LangevinOptions{Steps: 5, Burn: -1}, "expected 0 to 4"},
		"step size below 0": {start, LangevinOptions{Steps: 5, StepSize: -1}, "step size -1"},
		"step size NaN":     {start, LangevinOptions{Steps: 5, StepSize: math.NaN()}, "step size NaN"},
		"step size 1e-300":  {start, LangevinOptions{Steps: 5, StepSize: 1e-300}, "step size 1e-300"},
		"temperature":       {start, LangevinOptions{Steps: 5, Temperature: -1}, "temperature -1"},
		"no start":          {engine.NewMatrix(0, 5), LangevinOptions{Steps: 5}, "a start of 0 points"},
		"other features":    {engine.NewMatrix(3, 4), LangevinOptions{Steps: 5}, "expected at least one with 5"},
		"broken start":      {broken, LangevinOptions{Steps: 5}, "chain 1: phi is NaN after 0 steps"},
		"diverges":          {start, LangevinOptions{Steps: 5000, StepSize: 1e3}, "take a smaller step size"},
	} {
		if _, err := p.Langevin(ctx, e, c.start, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := p.Langevin(ended, e, start, LangevinOptions{Steps: 5}); err != context.Canceled {
		t.Errorf("error %v after the context has ended", err)
	}
}

// TestChainsTrace checks what is kept of long chains, and that MALA stays where every step
// would leave the range of float32.
func TestChainsTrace(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	p := mixturePotential(t, FormDiag, 3, 40, 1)
	start := exactDraws(t, p, 2)
	var told int
	c, err := p.Langevin(ctx, e, start,
		LangevinOptions{Adjusted: true, Steps: 4500, Burn: 400, Seed: 1, Progress: func(done int) { told = done }})
	if err != nil {
		t.Fatal(err)
	}
	if c.Every != 3 || c.Kept != 1366 || len(c.Traced) != tracedFeatures || len(c.Trace) != 1+tracedFeatures ||
		c.Traced[0] != 1 ||
		c.Traced[15] != 38 ||
		told != 4500 {
		t.Errorf("every %d, kept %d, traced %v, progress %d", c.Every, c.Kept, c.Traced, told)
	}
	if c, err = p.Langevin(ctx, e, start, LangevinOptions{Adjusted: true, Steps: 4}); err != nil {
		t.Fatal(err)
	}
	for b, phi := range c.Phi {
		if c.Trace[0][b*c.Kept+c.Kept-1] != phi || c.Trace[1][b*c.Kept+c.Kept-1] != c.X.At(b, c.Traced[0]) {
			t.Errorf("the trace of chain %d does not end where it does", b)
		}
	}
	c, err = p.Langevin(ctx, e, start, LangevinOptions{Adjusted: true, Steps: 10, StepSize: 1e30})
	if err != nil {
		t.Fatal(err)
	}
	if c.Acceptance != 0 || !slices.Equal(c.X.Data, start.Data) {
		t.Errorf("wild steps: acceptance %v", c.Acceptance)
	}
}

// TestEffectiveSampleSize checks sequences whose autocorrelation is known: for x' = rho x +
// noise the effective size is (1 - rho) / (1 + rho) of the number.
func TestEffectiveSampleSize(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same numbers on every machine but for rounding, and slow under emulation")
	}
	const chains, n = 20, 2000
	for _, rho := range []float64{0, 0.5, 0.9, 0.97, -0.4} {
		x := make([]float32, chains*n)
		num.NewRand(1, 0).Normal(x)
		for b := range chains {
			own := x[b*n : (b+1)*n]
			for i := 1; i < n; i++ {
				own[i] = float32(math.Sqrt(1-rho*rho)*float64(own[i]) + rho*float64(own[i-1]))
			}
		}
		got, want := EffectiveSampleSize(x, chains), chains*n*(1-rho)/(1+rho)
		if !(math.Abs(got/want-1) <= 0.15) {
			t.Errorf("rho %v: effective size %v, expected %v", rho, got, want)
		}
		for b := range chains { // chains that disagree are worth a draw each
			for i := range n {
				x[b*n+i] += float32(100 * b)
			}
		}
		if got := EffectiveSampleSize(x, chains); got > 2*chains {
			t.Errorf("rho %v: effective size %v of chains apart", rho, got)
		}
	}
	for name, x := range map[string][]float32{"nothing": nil, "constant": {1, 1, 1, 1, 1, 1, 1, 1},
		"too short": {1, 2, 3, 4}, "odd": {1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		if v := EffectiveSampleSize(x, 2); v == v {
			t.Errorf("%s: effective size %v", name, v)
		}
	}
	if v := EffectiveSampleSize([]float32{1, -1, 1, -1, 1, -1, 1, -1}, 1); !(math.Abs(v-8*math.Log10(8)) <= 1e-9) {
		t.Errorf("effective size %v of an alternating sequence", v)
	}
}
