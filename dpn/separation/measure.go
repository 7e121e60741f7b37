package separation

import "fmt"

// Options are the settings of Measure. The zero value is ready to use.
type Options struct {
	// Components is the number of leading principal components (0: 2).
	Components int
	// Threads is the number of goroutines (0: GOMAXPROCS). It does not change
	// the results.
	Threads int
}

// Layer is every statistic of the features of one layer, or of one ascent step.
type Layer struct {
	// Name is the caller's name of the layer.
	Name string `json:"name"`
	// Dim is the width of the features.
	Dim int `json:"dim"`
	// Samples is their number, Classes the number of classes present.
	Samples int `json:"samples"`
	Classes int `json:"classes"`
	// ClassLabels are the labels present, in increasing order, and ClassCounts
	// the samples of each.
	ClassLabels []int `json:"class_labels"`
	ClassCounts []int `json:"class_counts"`

	// The fuzziness and its truncation: see Fuzziness.
	Fuzziness          Float   `json:"fuzziness"`
	FuzzinessProduct   float64 `json:"fuzziness_product"`
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
	// ExplainedVariance is the share of the total variance along each of the
	// leading principal components.
	ExplainedVariance []float64 `json:"explained_variance"`

	// PCA is the decomposition itself, for projections.
	PCA *PCA `json:"-"`
}

// Measure computes all statistics of one layer. The error names the layer and
// what makes its features unusable.
func Measure(name string, s Set, o Options) (Layer, error) {
	layer, err := measure(name, s, o)
	if err != nil {
		return Layer{}, fmt.Errorf("layer %q: %w", name, err)
	}
	return layer, nil
}

func measure(name string, s Set, o Options) (Layer, error) {
	if o.Components < 0 {
		return Layer{}, fmt.Errorf("separation: %d principal components asked for", o.Components)
	}
	if o.Components == 0 {
		o.Components = 2
	}
	if err := s.check(o.Threads); err != nil {
		return Layer{}, err
	}
	sc := newScatter(s, o.Threads)
	f, err := sc.fuzziness()
	if err != nil {
		return Layer{}, err
	}
	pca, err := fitPCA(s.X, s.Dim, o.Components, o.Threads)
	if err != nil {
		return Layer{}, err
	}
	layer := Layer{
		Name:    name,
		Dim:     s.Dim,
		Samples: s.Len(),
		Classes: len(sc.labels),

		ClassCounts: sc.counts,

		Fuzziness:          f.D,
		FuzzinessProduct:   f.Product,
		Rank:               f.Rank,
		Tolerance:          f.Tolerance,
		SmallestEigenvalue: f.SmallestEigenvalue,

		MeanDistance:       sc.meanDistance(),
		BetweenTrace:       f.BetweenTrace,
		WithinTrace:        f.WithinTrace,
		BetweenWithinRatio: Float(f.BetweenTrace / f.WithinTrace),
		ExplainedVariance:  pca.ExplainedVariance,

		PCA: pca,
	}
	for _, l := range sc.labels {
		layer.ClassLabels = append(layer.ClassLabels, int(l))
	}
	return layer, nil
}
