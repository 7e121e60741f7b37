package potential

import (
	"context"
	"math"

	"dpnbench/dpn/separation"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
)

// effective computes the effective sample sizes.
func (c *Chains) effective(ctx context.Context, threads int) error {
	ess := make([]float64, len(c.Trace))
	err := parallel.ForEach(ctx, len(ess), threads, func(i int) error {
		ess[i] = EffectiveSampleSize(c.Trace[i], c.X.Rows)
		return nil
	})
	c.LeastESS = separation.Float(math.NaN())
	for i, v := range ess {
		if i == 0 {
			c.ESSPhi = separation.Float(v)
		} else {
			c.ESS = append(c.ESS, separation.Float(v))
		}
		if !(float64(c.LeastESS) <= v) && v == v {
			c.LeastESS = separation.Float(v)
		}
	}
	return err
}

// EffectiveSampleSize returns how many independent draws would estimate the mean of a
// quantity as well as these values of some chains do, equally many of each, chain after
// chain. The autocorrelations are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner
// (Bayesian Analysis 16, 2021, section 3.2): chains that disagree count as correlated. They
// are summed by Geyer's initial monotone sequence: pairs of lags 2t and 2t+1 as long as
// their sum is positive, none counting for more than the one before (Statistical Science 7,
// 1992, section 3.3). The result is at most N log10 N for N values in all, and NaN where
// they do not vary or there are fewer than four of a chain.
func EffectiveSampleSize(x []float32, chains int) float64 {
	if chains < 1 || len(x)%chains != 0 || len(x)/chains < 4 {
		return math.NaN()
	}
	n := len(x) / chains
	deviations := linalg.Widen(x)
	means := make([]float64, chains)
	for b := range chains {
		own := deviations[b*n : (b+1)*n]
		means[b] = centre(own)
	}
	// covariance returns the autocovariance at a lag, averaged over chains.
	covariance := func(lag int) float64 {
		var sum float64
		for b := range chains {
			own := deviations[b*n : (b+1)*n]
			sum += linalg.Dot(own[:n-lag], own[lag:])
		}
		return sum / float64(n) / float64(chains)
	}
	variance := covariance(0)
	within, total := variance*float64(n)/float64(n-1), variance
	if chains > 1 {
		centre(means)
		total += linalg.Dot(means, means) / float64(chains-1)
	}
	if !(total > 0) {
		return math.NaN()
	}
	correlation := func(lag int) float64 {
		if lag == 0 {
			return 1
		}
		return 1 - (within-covariance(lag))/total
	}
	time, least := -1.0, math.Inf(1) // integrated autocorrelation time
	for lag := 0; lag+1 < n; lag += 2 {
		pair := correlation(lag) + correlation(lag+1)
		if !(pair > 0) {
			break
		}
		least = min(least, pair)
		time += 2 * least
	}
	all := float64(len(x))
	return all / max(time, 1/math.Log10(all))
}

// centre subtracts the mean of x from it, and returns the mean.
func centre(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for j := range x {
		x[j] -= mean
	}
	return mean
}
