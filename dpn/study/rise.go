package study

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// Rise says whether phi rises along the ascents with one step size. A pair is an image
// and a step: phi(x_{t+1}) against phi(x_t), as the engine computes them in float32.
type Rise struct {
	Alpha       float64 `json:"alpha"`        // step size
	Factor      float64 `json:"factor"`       // over that of the model
	AlphaLambda float64 `json:"alpha_lambda"` // times the largest eigenvalue of all P_i: up to 2 phi cannot fall

	Pairs     int `json:"pairs"`
	Rises     int `json:"rises"`      // pairs where phi(x_{t+1}) >= phi(x_t)
	Rounded   int `json:"rounded"`    // where it falls, by no more than the allowance for rounding
	Falls     int `json:"falls"`      // where it falls by more
	NotFinite int `json:"not_finite"` // where either is infinite or NaN: the ascent has left the range of float32

	Share       float64 `json:"share"`        // of the pairs, Rises and Rounded
	StrictShare float64 `json:"strict_share"` // Rises alone

	LargestFall float64 `json:"largest_fall"` // of phi in one step, among finite pairs; 0: it never falls
	FallStep    int     `json:"fall_step"`    // the step t (from 0) and
	FallSample  int     `json:"fall_sample"`  // the image where that was; -1 for none
}

// RiseSweep is Rise over step sizes.
type RiseSweep struct {
	Samples     int     `json:"samples"`
	Steps       int     `json:"steps"`
	LambdaMax   float64 `json:"lambda_max"`   // largest eigenvalue of all P_i
	StableAlpha float64 `json:"stable_alpha"` // 2 / LambdaMax
	Rises       []Rise  `json:"rises"`
}

// RiseOptions say what is swept. The zero value is ready to use.
type RiseOptions struct {
	Steps     int       // of each ascent; 0: Config.Steps
	Alphas    []float64 // nil: 0.25, 0.5, 1, 1.5, 2 and 3 times the model's, then 0.95, 1.05 and 1.5 times StableAlpha
	LambdaMax float64   // where it is known (Landscape.LambdaMax); 0: it is computed
}

// SweepRises counts where phi rises along the ascents of the images of s, for one step size
// after another. In exact arithmetic phi never falls while alpha is at most 2 over the
// largest eigenvalue of all P_i, because phi bends down by no more than that.
func SweepRises(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	opt RiseOptions) (*RiseSweep, error) {
	if err := m.CheckSet(s); err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, fmt.Errorf("rise of phi of no samples, expected one or more")
	}
	if opt.Steps == 0 {
		opt.Steps = m.Config.Steps
	}
	if opt.Steps < 1 {
		return nil, fmt.Errorf("rise of phi over %d steps, expected at least 1", opt.Steps)
	}
	if opt.LambdaMax == 0 {
		var err error
		if opt.LambdaMax, err = m.Potential().LambdaMax(ctx, e.Threads()); err != nil {
			return nil, err
		}
	}
	if !(opt.LambdaMax > 0) || math.IsInf(opt.LambdaMax, 0) {
		return nil, fmt.Errorf(
			"rise of phi: the largest eigenvalue of the precisions is %v, expected a number above 0", opt.LambdaMax)
	}
	alpha := float64(m.Potential().Alpha())
	sweep := &RiseSweep{Samples: s.Len(), Steps: opt.Steps, LambdaMax: opt.LambdaMax, StableAlpha: 2 / opt.LambdaMax}
	if opt.Alphas == nil {
		for _, f := range []float64{0.25, 0.5, 1, 1.5, 2, 3} {
			opt.Alphas = append(opt.Alphas, f*alpha)
		}
		for _, f := range []float64{0.95, 1.05, 1.5} {
			opt.Alphas = append(opt.Alphas, f*sweep.StableAlpha)
		}
	}
	for _, a := range opt.Alphas {
		if f := float32(a); !(f > 0) || math.IsInf(float64(f), 0) {
			return nil, fmt.Errorf("rise of phi with the step size %v, expected a number above 0 that float32 holds", a)
		}
		sweep.Rises = append(sweep.Rises,
			Rise{Alpha: a, Factor: a / alpha, AlphaLambda: a * opt.LambdaMax, FallStep: -1, FallSample: -1})
	}
	for lo := 0; lo < s.Len(); lo += potential.BlockRows {
		x0, err := m.Features(ctx, e, s.Slice(lo, min(lo+potential.BlockRows, s.Len())))
		if err != nil {
			return nil, err
		}
		x := engine.NewMatrix(x0.Rows, x0.Cols)
		before := make([]float32, x.Rows)
		for i := range sweep.Rises {
			r := &sweep.Rises[i]
			copy(x.Data, x0.Data)
			err := m.Potential().Walk(ctx, e, float32(r.Alpha), opt.Steps, x,
				func(t int, _ engine.Matrix, phi []float32, _ engine.Matrix) {
					if t > 0 {
						r.count(before, phi, x.Cols, t-1, lo)
					}
					copy(before, phi)
				})
			if err != nil {
				return nil, err
			}
		}
	}
	for i := range sweep.Rises {
		r := &sweep.Rises[i]
		r.Share = float64(r.Rises+r.Rounded) / float64(max(r.Pairs, 1))
		r.StrictShare = float64(r.Rises) / float64(max(r.Pairs, 1))
	}
	return sweep, nil
}

// count adds the pairs of one step, of images from the number first on.
func (r *Rise) count(before, after []float32, d, step, first int) {
	for b := range before {
		r.Pairs++
		p, q := float64(before[b]), float64(after[b])
		fall := p - q
		switch {
		case !linalg.IsFinite(fall):
			r.NotFinite++
			continue
		case fall <= 0:
			r.Rises++
		case fall <= potential.RoundingAllowance(d, p, q):
			r.Rounded++
		default:
			r.Falls++
		}
		if fall > r.LargestFall {
			r.LargestFall, r.FallStep, r.FallSample = fall, step, first+b
		}
	}
}
