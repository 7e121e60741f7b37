package separation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"dpnbench/engine"
)

// Options holds the settings of Measure. The zero value is ready to use.
type Options struct {
	// Components is the number of leading principal components (0: 2; AllComponents: all with a
	// variance above 0).
	Components int
	// Threads is the number of goroutines (0: GOMAXPROCS, or those of Engine). It does not change
	// the results.
	Threads int

	// Engine computes the products of features that Draws, Subsets, Spread, Probe and CKA need; nil without them.
	Engine *engine.Engine
	// Draws is the number of bootstrap draws for the interval of D (0: none; at most 32 with more than
	// MostQuantileClasses classes), Seed their seed. There is no interval where a class has only one sample.
	Draws int
	Seed  uint64
	// Subsets of each size, for the curves of D over the number of samples of MeasureDepth (0: none).
	Subsets int
	// Spread asks for Layer.Spread, unless features are wider than MostSpreadWidth, and Probe for Layer.Probe.
	Spread, Probe bool
	// Test, unless nil, are other samples of the same features, for Layer.Test.
	Test Input
	// Classifier, unless nil, is the linear classifier that reads the layer, for Layer.Duality.
	Classifier *Classifier

	few      bool // see BootstrapOptions
	blocks   bool
	heldRows int // the most samples in memory, of Draws, Subsets and Probe (0: as many as bootstrapFloats allows)
}

func (o Options) bootstraps(l Layer) bool { return o.Draws > 0 && l.smallestClass() > 1 }

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
	// NoiseShare estimates the share of sampling noise in the smallest eigenvalue kept: the noise of the class means
	// in SSb along its direction and outside the span of the means, divided by the number of its directions and by
	// that eigenvalue. Above 0.1, D depends mainly on the number of samples, and Warning says so.
	NoiseShare Float `json:"noise_share"`
	// Warning says why Fuzziness should not be relied on, or is empty.
	Warning string `json:"warning,omitempty"`
	// Sampling is the sampling error of Fuzziness, if Bootstrap has estimated it. FuzzinessLimit
	// and FuzzinessCI are its estimate for n → ∞ and the interval.
	Sampling       *Sampling `json:"sampling,omitempty"`
	FuzzinessLimit *Float    `json:"fuzziness_limit,omitempty"`
	FuzzinessCI    []Float   `json:"fuzziness_ci,omitempty"`

	// Collapse has the statistics of neural collapse of the class means.
	Collapse
	// Compression is Tr(SSw)/Tr(SSb), classes weighted by n_k/n, and Discrimination 1 minus the largest
	// cosine between the means of two classes, which are not centred: what a layer does within classes,
	// and between them (Wang et al., "Understanding deep representation learning via layerwise feature
	// compression and discrimination", 2023, definition 1).
	Compression    Float `json:"compression"`
	Discrimination Float `json:"discrimination"`
	// StableRank is the total variance over the largest eigenvalue of the covariance, at least 1 and at
	// most its rank (Rudelson and Vershynin, J. ACM 54, 2007).
	StableRank Float `json:"stable_rank"`
	// Spread, Probe, Test and Duality are nil unless Options asks for them.
	*Spread
	*Probe
	Test    *Test    `json:"test,omitempty"`
	Duality *Duality `json:"classifier,omitempty"`

	// ExplainedVariance is the share of the total variance along each of the
	// leading principal components.
	ExplainedVariance []float64 `json:"explained_variance"`

	// PCA is the decomposition, for projections.
	PCA *PCA `json:"-"`
}

// Classified says which samples those of Duality.Accuracy and NC4 are: "test" or "training".
func (l Layer) Classified() string {
	if l.Test != nil {
		return "test"
	}
	return "training"
}

// Test is what the means of the training samples say of other samples.
type Test struct {
	Samples int `json:"samples"`
	// NearestMeanAccuracy is the share of test samples nearest to the mean of the training samples of
	// their class.
	NearestMeanAccuracy float64 `json:"nearest_mean_accuracy"`
}

// InputError says why an input of a layer is unusable.
type InputError struct {
	Layer string
	Of    InputKind
	Err   error
}

// InputKind is what an input of a layer holds.
type InputKind int

// The inputs of a layer.
const (
	Features InputKind = iota
	TestFeatures
	ClassifierWeights
)

// Error implements error.
func (e *InputError) Error() string {
	return fmt.Sprintf("layer %q: %s%v", e.Layer, []string{"", "test: ", "classifier: "}[e.Of], e.Err)
}

// Unwrap returns the error without the layer.
func (e *InputError) Unwrap() error { return e.Err }

// Measure computes all statistics of one layer. The error is an [InputError], which says what is unusable and
// why. If ctx ends first, it is the error of ctx.
func Measure(ctx context.Context, name string, in Input, o Options) (Layer, error) {
	layer, err := measure(ctx, name, in, o)
	if ctx.Err() != nil {
		return Layer{}, ctx.Err()
	}
	if err != nil {
		input, ok := errors.AsType[*InputError](err)
		if !ok {
			input = &InputError{Of: Features, Err: err}
		}
		input.Layer = name
		return Layer{}, input
	}
	layer.Warning = layer.warning()
	return layer, nil
}

// interval sets the interval of D.
func (l *Layer) interval(ctx context.Context, s Samples, o Options) error {
	b, err := Bootstrap(ctx, o.Engine, s, BootstrapOptions{Draws: o.Draws, Seed: o.Seed, rows: o.heldRows,
		few: o.few, blocks: o.blocks})
	if err != nil {
		return err
	}
	l.Sampling, l.FuzzinessLimit, l.FuzzinessCI = b, &b.Limit, b.CI
	return nil
}

// others sets the statistics that need a test, a classifier or a probe.
func (sc *scatter) others(l *Layer, o Options) error {
	var test *Samples
	if o.Test != nil {
		s, err := checkedTest(sc, o.Test)
		if err != nil {
			return &InputError{Of: TestFeatures, Err: err}
		}
		test = &s
	}
	if o.Classifier != nil {
		var err error
		if l.Duality, err = sc.duality(o.Classifier); err != nil {
			return &InputError{Of: ClassifierWeights, Err: err}
		}
	}
	if test != nil || o.Classifier != nil {
		of, kind := sc.set, Features
		if test != nil {
			of, kind = *test, TestFeatures
		}
		s, err := sc.score(of, o.Classifier)
		if err != nil {
			return &InputError{Of: kind, Err: err}
		}
		if test != nil {
			l.Test = &Test{Samples: of.Len(), NearestMeanAccuracy: s.nearest}
		}
		if l.Duality != nil {
			l.Duality.Accuracy, l.Duality.NC4 = s.classifier, s.differ
		}
	}
	if o.Probe {
		var err error
		l.Probe, err = sc.probe(o.Engine, test, cmp.Or(o.heldRows, bootstrapRows(sc.dim)))
		return err
	}
	return nil
}

// checkedTest returns the samples of a test.
func checkedTest(sc *scatter, in Input) (Samples, error) {
	s, err := in.samples()
	switch {
	case err != nil:
		return s, err
	case s.Width() != sc.dim:
		return s, fmt.Errorf("separation: test features of width %d: expected %d", s.Width(), sc.dim)
	case s.Len() != len(s.Labels) || s.Len() == 0:
		return s, fmt.Errorf("separation: %d labels for %d rows of test features", len(s.Labels), s.Len())
	}
	return s, checkSource(sc.ctx, s, sc.threads)
}

// covariances returns the principal components and, if asked for, the Spread, whose covariance matrix saves the
// former from reading the samples again.
func (sc *scatter) covariances(o Options, f *weighting) (*PCA, *Spread, error) {
	if !o.Spread || sc.dim > MostSpreadWidth {
		pca, err := fitPCA(sc.ctx, sc.set, o.Components, o.Threads)
		return pca, nil, err
	}
	w, err := sc.covarianceWithin(o.Engine)
	if err != nil {
		return nil, nil, err
	}
	var pca *PCA
	if small := min(sc.set.Len(), sc.dim); sparse(small, o.Components) {
		pca, err = sc.leading(w.w, f.BetweenTrace, o.Components)
	} else {
		pca, err = fitPCA(sc.ctx, sc.set, o.Components, o.Threads)
	}
	if err != nil {
		return nil, nil, err
	}
	index, err := sc.collapseIndex(w, f.Rank)
	return pca, &Spread{Float(index)}, err
}

// noiseShare is Layer.NoiseShare. The means of n_k samples with covariance S_k add
// sum_k p_k (1 - p_k) S_k / n_k to SSb. Samples estimate S_k with the divisor n_k - 1. A class of
// one says nothing of its own, so it gets that of all classes; if all are such, the share is +Inf. Noise along the
// larger eigenvalues turns their directions, but leaves the smallest eigenvalue as it is. With fewer features than K-1,
// that along its own direction counts more than once.
func (sc *scatter) noiseShare(traces []float64, f *weighting) float64 {
	var squares, free, noise float64
	for k, n := range sc.counts {
		squares += float64(float64(n) * traces[k])
		free += float64(n - 1)
	}
	if free == 0 {
		return math.Inf(1)
	}
	for k, p := range sc.weights {
		v := squares / free
		if n := sc.counts[k]; n > 1 {
			v = traces[k] / float64(n-1)
		}
		noise += float64(float64(p*(1-p)) * v)
	}
	if last := f.Rank - 1; last >= 0 && f.WithinTrace > 0 {
		relevant := f.WithinTrace
		for _, s := range f.along {
			relevant -= s
		}
		times := len(sc.counts) - min(sc.dim, len(sc.counts)-1)
		noise *= (max(relevant, 0) + float64(float64(times)*f.along[last])) / f.WithinTrace
	}
	return noise / float64(len(sc.counts)-1) / f.SmallestEigenvalue
}

func measure(ctx context.Context, name string, in Input, o Options) (Layer, error) {
	if o.Threads == 0 && o.Engine != nil {
		o.Threads = o.Engine.Threads()
	}
	s, err := checked(in)
	if err != nil {
		return Layer{}, err
	}
	if o.Engine == nil && (o.Draws > 0 || o.Subsets > 0 || o.Spread || o.Probe) {
		return Layer{}, errors.New("separation: options Draws, Subsets, Spread and Probe need an Engine")
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
	f, err := sc.spectrum()
	if err != nil {
		return Layer{}, err
	}
	balanced, err := sc.balanced().spectrum()
	if err != nil {
		return Layer{}, err
	}
	traces, right, err := sc.within([]*weighting{f, balanced}, true)
	if err != nil {
		return Layer{}, err
	}
	distance, variance := sc.classDistances(traces)
	pca, spread, err := sc.covariances(o, f)
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

		Collapse:       sc.collapse(balanced.Fuzziness),
		Compression:    Float(f.WithinTrace / f.BetweenTrace),
		Discrimination: Float(sc.discrimination()),
		StableRank:     Float(pca.TotalVariance / pca.Eigenvalues[0]),

		PCA:    pca,
		Spread: spread,
	}
	if err := sc.others(&layer, o); err != nil {
		return Layer{}, err
	}
	if o.bootstraps(layer) {
		err = layer.interval(ctx, s, o)
	}
	return layer, err
}
