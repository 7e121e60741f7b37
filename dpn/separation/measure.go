package separation

import (
	"context"
	"fmt"
)

// Options holds the settings of Measure. The zero value is ready to use.
type Options struct {
	// Components is the number of leading principal components (0: 2; AllComponents: all with a
	// variance above 0).
	Components int
	// Threads is the number of goroutines (0: GOMAXPROCS). It does not change
	// the results.
	Threads int
}

// AllComponents requests every principal component that can have a variance above 0: min(d, n-1) of
// them. It costs about n d^2 operations.
const AllComponents = -1

// Layer holds all statistics of the features of one layer, or of one ascent step.
type Layer struct {
	// Name is the caller's name of the layer.
	Name string `json:"name"`
	// Dim is the width of the features.
	Dim int `json:"dim"`
	// Samples is the number of samples, Classes the number of classes present.
	Samples int `json:"samples"`
	Classes int `json:"classes"`
	// ClassLabels are the labels present, in increasing order, and ClassCounts
	// the samples of each.
	ClassLabels []int `json:"class_labels"`
	ClassCounts []int `json:"class_counts"`

	// The fields of type Fuzziness. FuzzinessBalanced is D with classes weighted by 1/K instead of
	// n_k/n, and NC1 is Fuzziness/K.
	Fuzziness          Float   `json:"fuzziness"`
	FuzzinessBalanced  Float   `json:"fuzziness_balanced"`
	FuzzinessProduct   float64 `json:"fuzziness_product"`
	NC1                Float   `json:"nc1"`
	Rank               int     `json:"rank"`
	Tolerance          float64 `json:"tolerance"`
	SmallestEigenvalue float64 `json:"smallest_eigenvalue"`

	// MeanDistance is the Euclidean distance between the means of two classes,
	// averaged over all pairs of classes present.
	MeanDistance float64 `json:"mean_distance"`
	// BetweenTrace and WithinTrace are Tr(SSb) and Tr(SSw).
	BetweenTrace float64 `json:"between_trace"`
	WithinTrace  float64 `json:"within_trace"`
	// BetweenWithinRatio is Tr(SSb)/Tr(SSw), classes weighted by n_k/n. +Inf if
	// no class varies, NaN if nothing does.
	BetweenWithinRatio Float `json:"between_within_ratio"`
	// ClassDistanceVariance is the class-distance normalised variance, (v_a + v_b) / (2 |m_a -
	// m_b|^2) averaged over all pairs of classes, where v is the mean squared distance of a class
	// to its mean (Galanti, Gyorgy and Hutter, ICLR 2022). +Inf if two means coincide.
	ClassDistanceVariance Float `json:"class_distance_variance"`
	// NearestMeanAccuracy is the share of samples nearest to the mean of their own class (which
	// includes the sample itself).
	NearestMeanAccuracy float64 `json:"nearest_mean_accuracy"`
	// NoiseShare estimates the share of sampling noise in the smallest eigenvalue kept: the noise
	// of the class means in SSb, divided by the number of its directions and by that eigenvalue.
	// Above 0.1, D depends mainly on the number of samples, and Warning says so.
	NoiseShare Float `json:"noise_share"`
	// Warning says why Fuzziness should not be relied on, or is empty.
	Warning string `json:"warning,omitempty"`
	// Sampling is the sampling error of Fuzziness, if Bootstrap has estimated it. FuzzinessLimit
	// and FuzzinessCI are its estimate for n → ∞ and the interval.
	Sampling       *Sampling `json:"sampling,omitempty"`
	FuzzinessLimit *Float    `json:"fuzziness_limit,omitempty"`
	FuzzinessCI    []Float   `json:"fuzziness_ci,omitempty"`

	// ExplainedVariance is the share of the total variance along each of the
	// leading principal components.
	ExplainedVariance []float64 `json:"explained_variance"`

	// PCA is the decomposition, for projections.
	PCA *PCA `json:"-"`
}

// Measure computes all statistics of one layer. The error names the layer and says why its features
// are unusable. If ctx ends first, it is the error of ctx.
func Measure(ctx context.Context, name string, in Input, o Options) (Layer, error) {
	layer, err := measure(ctx, name, in, o)
	if ctx.Err() != nil {
		return Layer{}, ctx.Err()
	}
	if err != nil {
		return Layer{}, fmt.Errorf("layer %q: %w", name, err)
	}
	layer.Warning = layer.warning()
	return layer, nil
}

// noiseShare is Layer.NoiseShare. The means of n_k samples with covariance S_k add
// sum_k p_k (1 - p_k) S_k / n_k to SSb.
func (sc *scatter) noiseShare(traces []float64, f Fuzziness) float64 {
	var noise float64
	for k, p := range sc.weights {
		noise += float64(p*(1-p)) * traces[k] / float64(sc.counts[k])
	}
	return noise / float64(len(sc.counts)-1) / f.SmallestEigenvalue
}

func measure(ctx context.Context, name string, in Input, o Options) (Layer, error) {
	s, err := checked(in)
	if err != nil {
		return Layer{}, err
	}
	if o.Components == AllComponents {
		o.Components = max(1, min(s.Width(), s.Len()-1)) // n rows minus their mean span n-1 dimensions
	}
	if o.Components < 0 {
		return Layer{}, fmt.Errorf("separation: %d principal components asked for", o.Components)
	}
	if o.Components == 0 {
		o.Components = 2
	}
	if err := ctx.Err(); err != nil {
		return Layer{}, err
	}
	sc, err := newScatter(ctx, s, o.Threads)
	if err != nil {
		return Layer{}, err
	}
	f, err := sc.fuzziness()
	if err != nil {
		return Layer{}, err
	}
	balanced, err := sc.balanced().fuzziness()
	if err != nil {
		return Layer{}, err
	}
	if err := ctx.Err(); err != nil {
		return Layer{}, err
	}
	traces, right, err := sc.nearest()
	if err != nil {
		return Layer{}, err
	}
	distance, variance := sc.classDistances(traces)
	pca, err := fitPCA(ctx, s, o.Components, o.Threads)
	if err != nil {
		return Layer{}, err
	}
	layer := Layer{
		Name:    name,
		Dim:     sc.dim,
		Samples: s.Len(),
		Classes: len(sc.labels),

		ClassLabels: sc.labels,
		ClassCounts: sc.counts,

		Fuzziness:          f.D,
		FuzzinessBalanced:  balanced.D,
		NC1:                f.D / Float(len(sc.labels)),
		FuzzinessProduct:   f.Product,
		Rank:               f.Rank,
		Tolerance:          f.Tolerance,
		SmallestEigenvalue: f.SmallestEigenvalue,

		MeanDistance:       distance,
		BetweenTrace:       f.BetweenTrace,
		WithinTrace:        f.WithinTrace,
		BetweenWithinRatio: Float(f.BetweenTrace / f.WithinTrace),
		ExplainedVariance:  pca.ExplainedVariance,

		ClassDistanceVariance: Float(variance),
		NearestMeanAccuracy:   float64(right) / float64(s.Len()),
		NoiseShare:            Float(sc.noiseShare(traces, f)),

		PCA: pca,
	}
	return layer, nil
}
