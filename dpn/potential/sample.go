package potential

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/dpn/internal/stream"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// Sampler draws from the density proportional to exp(phi(x)/T), T being the temperature. At
// T = 1 that is the mixture of Gaussians whose log is phi: component i with the mass m_i
// proportional to exp(c_i) |P_i|^(-1/2), then x = mu_i + M_i z with M_i M_i^T = P_i^-1.
//
// At other temperatures a proposal comes from the mixture with exp(c_i/T) and P_i/T, and is
// taken with the probability
//
//	b (sum_i exp(l_i))^(1/T) / sum_i exp(l_i/T),   b = 1 for T >= 1, k^(1-1/T) below
//
// which no x makes larger than 1 (the inequality between power means). So draws are
// independent and exact; up to k^|1-1/T| proposals are needed for one.
//
// P_i in the forms full and tied is factorised once (d^3/6 multiply-adds and 8 d^2 bytes
// each, one for tied); in the other forms d numbers and a matrix of r x r stand for it, and
// a draw of d = 784 takes microseconds.
type Sampler struct {
	p           *Potential
	temperature float64
	gaussians   []gaussian
	masses      []float64 // of the proposal's components
	bound       float64   // b
}

// maxProposals is the largest number of proposals for a draw that Sampler lets come to it.
const maxProposals = 10000

// Sampler prepares drawing at a temperature above 0, on the given number of threads. It refuses a
// component whose P_i has no inverse in float64: it has no mass to draw from. No math.Exp
// or math.Log decides a draw, so samples have the same bits on every machine.
func (p *Potential) Sampler(ctx context.Context, temperature float64, threads int) (*Sampler, error) {
	if err := checkTemperature(temperature); err != nil {
		return nil, err
	}
	if err := p.CheckFinite(); err != nil {
		return nil, err
	}
	s := &Sampler{p: p, temperature: temperature, masses: make([]float64, p.K), bound: 1}
	if temperature < 1 && p.K > 1 {
		s.bound = float64(num.Exp32(float32(float64(num.Log32(float32(p.K))) * (1 - 1/temperature))))
		if s.bound < 1./maxProposals {
			return nil, fmt.Errorf(
				"temperature %v: exact draws from %d components would take up to %.0e proposals each, "+
					"at most %d are allowed: take a higher temperature, or chains that start elsewhere",
				temperature, p.K, 1/s.bound, maxProposals)
		}
	}
	var err error
	if s.gaussians, err = p.gaussians(ctx, threads, Alone); err != nil {
		return nil, err
	}
	logs := make([]float64, p.K)
	for i, g := range s.gaussians {
		logs[i] = float64(p.c.Data[i])/temperature - g.logDet()/2
		if !linalg.IsFinite(logs[i]) {
			return nil, fmt.Errorf("component %d: the logarithm of its mass is %v, expected a finite number", i,
				logs[i])
		}
	}
	top, sum := slices.Max(logs), 0.0
	for i, l := range logs {
		s.masses[i] = float64(num.Exp32(float32(l - top)))
		sum += s.masses[i]
	}
	for i := range s.masses {
		s.masses[i] /= sum
	}
	return s, nil
}

func checkTemperature(t float64) error {
	if !(t > 0) || math.IsInf(t, 0) {
		return fmt.Errorf("temperature %v: expected a number above 0", t)
	}
	return nil
}

// Masses returns the k probabilities with which proposals come from the components: at T =
// 1 those of the mixture.
func (s *Sampler) Masses() []float64 { return slices.Clone(s.masses) }

// Samples are independent draws from the density of a Sampler.
type Samples struct {
	X          engine.Matrix `json:"-"`          // n x d
	Components []int         `json:"components"` // n, where each was drawn from
	Proposals  int           `json:"proposals"`  // n at T = 1
}

// maxSamples is the largest number of bytes of samples.
const maxSamples = 1 << 30

// Draw draws n samples. Sample b depends on seed and b only, not on n or threads.
func (s *Sampler) Draw(ctx context.Context, n int, seed uint64, threads int) (*Samples, error) {
	d := s.p.D
	if n < 1 || 4*float64(n)*float64(d) > maxSamples {
		return nil, fmt.Errorf("%d samples of %d features, expected 1 to %d", n, d, maxSamples/(4*d))
	}
	out := &Samples{X: engine.NewMatrix(n, d), Components: make([]int, n)}
	proposals := make([]int, n)
	scale := math.Sqrt(s.temperature)
	err := parallel.ForEach(ctx, n, threads, func(b int) error {
		r := num.NewRand(seed, stream.Draws+uint64(b))
		normal, x := make([]float32, d), make([]float64, d)
		row := out.X.Row(b)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			proposals[b]++
			i := s.component(r.Float64())
			r.Normal(normal)
			s.gaussians[i].draw(x, linalg.Widen(normal))
			for j, mu := range s.p.mu.Data[i*d : (i+1)*d] {
				row[j] = float32(float64(mu) + float64(scale*x[j]))
			}
			if s.temperature == 1 || !(r.Float32() >= s.acceptance(row)) { // one that is not finite is reported below
				out.Components[b] = i
				return nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for b, v := range out.X.Data {
		if !linalg.IsFinite(v) {
			return nil, fmt.Errorf("sample %d: feature %d is %v, out of the range of float32", b/d, b%d, v)
		}
	}
	for _, v := range proposals {
		out.Proposals += v
	}
	return out, nil
}

// component returns the one at the place u of [0, 1) when masses are laid end to end.
func (s *Sampler) component(u float64) int {
	last := 0
	for i, m := range s.masses {
		if u < m {
			return i
		}
		u -= m
		if m > 0 {
			last = i // where rounding leaves a rest of u
		}
	}
	return last
}

// acceptance returns the probability to take the proposal x at a temperature other than 1.
func (s *Sampler) acceptance(x []float32) float32 {
	d := s.p.D
	l, delta, pulled := make([]float64, s.p.K), make([]float64, d), make([]float64, d)
	for i, g := range s.gaussians {
		for j, mu := range s.p.mu.Data[i*d : (i+1)*d] {
			delta[j] = float64(x[j]) - float64(mu)
		}
		g.multiply(pulled, delta)
		l[i] = float64(s.p.c.Data[i]) - linalg.Dot(delta, pulled)/2
	}
	top := slices.Max(l)
	var sum, tempered float64
	for _, v := range l {
		sum += float64(num.Exp32(float32(v - top)))
		tempered += float64(num.Exp32(float32((v - top) / s.temperature)))
	}
	power := num.Exp32(float32(float64(num.Log32(float32(sum))) / s.temperature))
	return float32(s.bound * float64(power) / tempered)
}
