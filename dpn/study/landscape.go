package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
	"dpnbench/internal/stat"
)

// Landscape is the shape of a potential: how heavy its components are, and how steep and
// how wide. Everything is computed in float64 from the parameters alone.
type Landscape struct {
	Components int     `json:"components"` // k
	Dim        int     `json:"dim"`        // d
	Alpha      float64 `json:"alpha"`      // step size of the ascent

	// Weights are w_i = exp(c_i) / sum_j exp(c_j), and Order the components from the
	// heaviest to the lightest, the lower number first among equals. They are not
	// probability masses: a Gaussian of weight w_i has the mass w_i |P_i|^(-1/2), up to a
	// common factor.
	Weights []float64 `json:"weights"`
	Order   []int     `json:"order"`

	Spectra []Spectrum `json:"spectra"` // of P_i

	// LambdaMax is the largest eigenvalue of all P_i. Phi bends down by no more than that
	// anywhere (-H = sum_i r_i P_i - the covariance of the g_i, see Potential.Hessian), so
	// no step from any point lowers phi while alpha is at most StableAlpha = 2 / LambdaMax.
	LambdaMax   float64          `json:"lambda_max"`
	StableAlpha separation.Float `json:"stable_alpha"`

	// Variances are the diagonals of Sigma_i = P_i^-1, k x d, in squared units of a
	// feature; that of a singular P_i is nil. MeanVariance is their mean by weight over the
	// components that have one (nil where none has, or their weights vanish).
	Variances    [][]float64 `json:"-"`
	MeanVariance []float64   `json:"mean_variance"`
	Singular     []int       `json:"singular"` // components whose P_i has no inverse to rounding
}

// Spectrum is the eigenvalues of one P_i.
type Spectrum struct {
	Component   int              `json:"component"`
	Eigenvalues []float64        `json:"eigenvalues"` // d, largest first
	Largest     float64          `json:"largest"`
	Smallest    float64          `json:"smallest"`     // may be a rounding below 0
	Condition   separation.Float `json:"condition"`    // largest / smallest; null when singular
	AlphaLambda float64          `json:"alpha_lambda"` // alpha times the largest; ascents converge below 2
}

// MeasureLandscape measures the potential on as many goroutines as e has threads. An inverse loses
// as many digits as the condition number has; a P_i without any digits left is listed as singular.
// The numbers have the same bits for any number of threads, and, but for the weights (math.Exp), on
// every machine. It takes about half a second a component of 784 dimensions and 24 d^2 bytes a
// thread, and next to nothing where the form is flat.
func MeasureLandscape(ctx context.Context, e *engine.Engine, p *potential.Potential) (*Landscape, error) {
	l := &Landscape{Components: p.K, Dim: p.D, Alpha: float64(p.Alpha()), Weights: weights(p),
		Spectra: make([]Spectrum, p.K), Variances: make([][]float64, p.K), Singular: []int{}}
	if err := p.CheckFinite(); err != nil {
		return nil, err
	}
	l.Order = stat.Order(p.K, func(a, b int) bool { return l.Weights[a] > l.Weights[b] })
	distinct := p.Distinct()
	err := parallel.ForEach(ctx, distinct, e.Threads(), func(i int) error {
		values, variances, err := p.Spectrum(ctx, i)
		if err != nil {
			return fmt.Errorf("component %d: %w", i, err)
		}
		l.Spectra[i], l.Variances[i] = spectrum(i, values, l.Alpha), variances
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := distinct; i < p.K; i++ {
		l.Spectra[i], l.Variances[i] = l.Spectra[0], l.Variances[0]
		l.Spectra[i].Component = i
	}
	var total float64
	for i, v := range l.Variances {
		l.LambdaMax = max(l.LambdaMax, l.Spectra[i].Largest)
		if v == nil {
			l.Singular = append(l.Singular, i)
			continue
		}
		if l.MeanVariance == nil {
			l.MeanVariance = make([]float64, p.D)
		}
		linalg.Axpy(l.Weights[i], v, l.MeanVariance)
		total += l.Weights[i]
	}
	if !(total > 0) {
		l.MeanVariance = nil
	}
	for j := range l.MeanVariance {
		l.MeanVariance[j] /= total
	}
	l.StableAlpha = separation.Float(2 / l.LambdaMax)
	return l, nil
}

// spectrum describes the eigenvalues of P_i, largest first.
func spectrum(i int, values []float64, alpha float64) Spectrum {
	s := Spectrum{Component: i, Eigenvalues: values, Largest: values[0], Smallest: values[len(values)-1]}
	s.Condition = separation.Float(math.Inf(1))
	if !potential.Singular(values) {
		s.Condition = separation.Float(s.Largest / s.Smallest)
	}
	s.AlphaLambda = alpha * s.Largest
	return s
}

// weights returns exp(c_i) / sum_j exp(c_j).
func weights(p *potential.Potential) []float64 {
	w := make([]float64, p.K)
	top := float64(slices.Max(p.LogWeights()))
	var sum float64
	for i, c := range p.LogWeights() {
		w[i] = math.Exp(float64(c) - top)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}
