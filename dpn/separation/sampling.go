package separation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/stat"
)

// Sampling is the sampling error of the separation fuzziness: what D would be for ever
// more samples of the same classes, and how well the samples tell.
//
// The means of n_k samples lie apart by chance even where the classes do not, which
// inflates SSb by sum_k p_k (1 - p_k) S_k / n_k, S_k being the covariance of class k. What
// that does to D depends on its direction. Outside the span of the class means it makes D
// too small, the more so the more features there are. Within the span it turns directions
// as much as it stretches them, and D becomes too large: for equal S_k by
//
//	(D^2 + 2 Tr((SSw SSb^+)^2)) / n
//
// to first order, which is all there is where d = K-1.
//
// The estimate is made in two parts. In the K x K Gram matrices
//
//	G = M M^T,   H = M SSw M^T,   D = Tr(G^{+2} H)
//
// the noise outside the span has the expectation
//
//	N_ab = sqrt(p_a p_b) (delta_ab v_a - p_a v_a - p_b v_b + sum_c p_c^2 v_c)
//
// with v_k = Tr(S_k)/n_k in G and Tr(S_k SSw)/n_k in H, of samples without their part along
// the span. Both are estimated without bias and taken off. (For the last trace, that of a
// squared covariance, the estimate is Srivastava's, J. Japan Statist. Soc. 35, 2005: unbiased
// for Gaussian classes.) That makes E. Its bias, of the order D^2/n, is measured by a
// bootstrap: samples are drawn with replacement within each class, and E is made for each
// draw. The truth of the draws is known, it is the D of the samples, and their median is
// taken to be as far from it, in log D, as E of the samples is from the truth:
//
//	Limit = E D / median(E of the draws)
//
// The interval is the basic bootstrap interval of log D, which has the quantiles of the draws
// instead of their median, and so contains Limit.
//
// A direction whose eigenvalue lies within two standard errors of zero is undetermined. The
// standard error of sqrt(lambda_j) is sqrt(s_j/n), s_j being the variance within classes
// along it, so that this is where its share of D, s_j/lambda_j, exceeds n/4.
type Sampling struct {
	// Limit is the estimate of D for n to infinity; NaN (null) where the samples
	// cannot tell, since all of the smallest eigenvalue may be noise, in the samples or in
	// half of the draws.
	Limit Float `json:"limit"`
	// CI is the confidence interval of D for n to infinity, nil (null) without a
	// Limit. The upper end is +Inf (null) where more draws are undetermined than lie
	// beyond an end.
	CI []Float `json:"ci"`
	// Confidence is the level of CI.
	Confidence float64 `json:"confidence"`
	// Draws and Seed are those of the bootstrap, Undetermined the draws that gave no
	// estimate, because noise may be all that the smallest eigenvalue held.
	Draws        int    `json:"draws"`
	Seed         uint64 `json:"seed"`
	Undetermined int    `json:"undetermined"`
}

// BootstrapOptions are the settings of Bootstrap. The zero value is ready to use.
type BootstrapOptions struct {
	Draws      int     // samples of the samples (0: 1000)
	Seed       uint64  // of the draws: the same seed, the same bits
	Confidence float64 // level of the interval (0: 0.95)
}

func (o *BootstrapOptions) check() error {
	if o.Draws == 0 {
		o.Draws = 1000
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if o.Draws < 20 || o.Draws > 1_000_000 {
		return fmt.Errorf("separation: %d bootstrap draws: expected 20 to 1000000", o.Draws)
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return fmt.Errorf("separation: confidence %v: expected a number between 0 and 1", o.Confidence)
	}
	return nil
}

// Bootstrap estimates the sampling error of D for the samples of s. Products are those of
// e, in float32 about the class means; the rest is float64. The result has the same bits on
// every machine and for every number of threads. A class with one sample has no variance
// to estimate and is refused.
func Bootstrap(ctx context.Context, e *engine.Engine, s Set, o BootstrapOptions) (*Sampling, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b, err := newBootstrap(e, s)
	if err != nil {
		return nil, err
	}
	draws, err := b.draw(ctx, o)
	if err != nil {
		return nil, err
	}
	out := &Sampling{Limit: Float(b.limit(draws)), Confidence: o.Confidence, Draws: o.Draws, Seed: o.Seed}
	for _, d := range draws {
		if math.IsInf(d, 1) {
			out.Undetermined++
		}
	}
	if !out.Limit.IsFinite() {
		return out, nil
	}
	tail := (1 - o.Confidence) / 2
	low, high := b.against(draws, 1-tail), b.against(draws, tail)
	if float64(out.Undetermined) > tail*float64(o.Draws) {
		high = math.Inf(1)
	}
	out.CI = []Float{Float(low), Float(high)}
	return out, nil
}

// limitDraws is the number of draws behind EstimateLimit: their median adds a fortieth to
// the standard error.
const limitDraws = 2 * drawsAtOnce

// EstimateLimit returns the estimate of D for n to infinity alone (Sampling.Limit, but from
// 32 draws), which is NaN where the samples cannot tell.
func EstimateLimit(ctx context.Context, e *engine.Engine, s Set) (float64, error) {
	b, err := newBootstrap(e, s)
	if err != nil {
		return 0, err
	}
	draws, err := b.draw(ctx, BootstrapOptions{Draws: limitDraws})
	if err != nil {
		return 0, err
	}
	return b.limit(draws), nil
}

// limit returns Sampling.Limit. It sorts the draws.
func (b *bootstrap) limit(draws []float64) float64 {
	slices.Sort(draws)
	if v := b.against(draws, 0.5); v > 0 && !math.IsInf(v, 1) {
		return v
	}
	return math.NaN()
}

// against returns what the truth would be if the estimate of the samples lay as far from it
// as the q-quantile of the sorted draws lies from theirs, the D of the samples.
func (b *bootstrap) against(draws []float64, q float64) float64 {
	return b.estimated * b.plain / stat.Quantile(draws, q)
}
