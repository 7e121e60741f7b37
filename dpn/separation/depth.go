package separation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/internal/stat"
)

// LayerInput is the samples of one layer of a network, in the order of the layers.
type LayerInput struct {
	Name  string
	Input Input
	// Test and Classifier are those of Options, or nil.
	Test       Input
	Classifier *Classifier
}

// LogitsName is the name of a layer that laws leave out, as He and Su do.
const LogitsName = "logits"

// Depth is how the layers of a network separate classes, and how that changes with depth.
type Depth struct {
	Samples int     `json:"samples"`
	Classes int     `json:"classes"`
	Layers  []Layer `json:"layers"`

	Laws

	// Loads are the shares of the layers in the fall of log D; nil (null) if it does not fall.
	Loads []Load `json:"loads"`
	// EffectiveDepth is the first layer whose classes the nearest mean tells apart.
	EffectiveDepth EffectiveDepth `json:"effective_depth"`
	// CKA is the similarity of all pairs of layers (see CKA), a row for each layer; nil unless Options has
	// an Engine. CKASamples is the number of samples used.
	CKA        [][]Float `json:"cka"`
	CKASamples int       `json:"cka_samples"`
	// Curves are those of the first and the last layer of the law, nil without Options.Subsets.
	Curves []LayerCurve `json:"curves,omitempty"`
}

// Laws are fits over depth. Each is nil if some layer's value does not allow it.
type Laws struct {
	// Law is fitted to D of all layers but LogitsName, LawWithLogits to D of all.
	Law           *Law `json:"law"`
	LawWithLogits *Law `json:"law_with_logits"`
	// CompressionLaw is fitted to Layer.Compression, which falls geometrically, and DiscriminationLine to
	// Layer.Discrimination, which rises linearly, in linear networks (Wang et al., 2023, theorem 4); both
	// without LogitsName.
	CompressionLaw     *Law  `json:"compression_law"`
	DiscriminationLine *Line `json:"discrimination_line"`
}

// EffectiveDepth is the smallest depth at which classes are separable by their means: the first layer
// where the nearest class mean errs on at most a share of Error of the training samples (Galanti,
// Galanti and Ben-Shaul, "On the implicit bias towards minimal depth of deep neural networks", 2022).
type EffectiveDepth struct {
	Error float64 `json:"error"`
	Layer string  `json:"layer"` // its name; empty if no layer does
	Index int     `json:"index"` // from 0; -1 if no layer does
}

// effectiveError is EffectiveDepth.Error.
const effectiveError = 0.01

// Load is the share of a layer in the fall of log D from the first layer to the last one of the law.
// All loads sum to 1; a layer that raises D has a negative one.
type Load struct {
	// Layer is the layer, whose D is compared with that of the layer before.
	Layer string `json:"layer"`
	// Share is that of D of the samples.
	Share float64 `json:"share"`
	// Limit and CI estimate the share for n → ∞, and its 95% basic bootstrap interval, from draws that
	// all layers have in common. They are NaN (null) and nil (null) without intervals of D, or where log D
	// does not fall in more draws than lie beyond an end.
	Limit Float   `json:"limit"`
	CI    []Float `json:"ci"`
}

// MeasureDepth measures all layers. Their inputs have the same samples in the same order. progress, unless nil, is
// called after each layer.
func MeasureDepth(ctx context.Context, layers []LayerInput, o Options, progress func(done int)) (*Depth, error) {
	if len(layers) == 0 {
		return nil, fmt.Errorf("separation: no layers")
	}
	samples := make([]Samples, len(layers))
	widest := 1
	for i, l := range layers {
		var err error
		if samples[i], err = samplesIn(l.Input); err != nil {
			return nil, fmt.Errorf("layer %q: %w", l.Name, err)
		}
		if i > 0 && !slices.Equal(samples[i].Labels, samples[0].Labels) {
			return nil, fmt.Errorf("layer %q: its labels differ from those of layer %q", l.Name, layers[0].Name)
		}
		widest = max(widest, samples[i].Width())
	}
	if o.heldRows == 0 {
		o.heldRows = bootstrapRows(widest) // the same samples at all layers
	}
	d := &Depth{EffectiveDepth: EffectiveDepth{Error: effectiveError, Index: -1}}
	for i, l := range layers {
		o.Test, o.Classifier = l.Test, l.Classifier
		m, err := Measure(ctx, l.Name, samples[i], o)
		if err != nil {
			return nil, err
		}
		d.Layers = append(d.Layers, m)
		if d.EffectiveDepth.Index < 0 && m.NearestMeanAccuracy >= 1-effectiveError {
			d.EffectiveDepth.Layer, d.EffectiveDepth.Index = l.Name, i
		}
		if progress != nil {
			progress(i + 1)
		}
	}
	if err := d.drawAlike(ctx, samples, o); err != nil {
		return nil, err
	}
	d.Samples, d.Classes = d.Layers[0].Samples, d.Layers[0].Classes
	d.Laws = FitLaws(d.Layers)
	d.Loads = loads(withoutLogits(d.Layers))
	if o.Engine != nil && d.Samples >= 4 {
		if err := d.align(ctx, samples, o); err != nil {
			return nil, err
		}
	}
	return d, d.curves(ctx, samples, o)
}

// curves sets Curves.
func (d *Depth) curves(ctx context.Context, samples []Samples, o Options) error {
	var ends []int
	for i, l := range d.Layers {
		if l.Name != LogitsName {
			ends = append(ends, i)
		}
	}
	if o.Subsets == 0 || len(ends) == 0 {
		return nil
	}
	for _, i := range slices.Compact([]int{ends[0], ends[len(ends)-1]}) {
		points, err := Curve(ctx, o.Engine, samples[i], CurveOptions{Subsets: o.Subsets, Seed: o.Seed,
			rows: o.heldRows})
		if err != nil {
			return fmt.Errorf("layer %q: %w", d.Layers[i].Name, err)
		}
		d.Curves = append(d.Curves, LayerCurve{d.Layers[i].Name, points})
	}
	return nil
}

// align sets CKA.
func (d *Depth) align(ctx context.Context, samples []Samples, o Options) error {
	sources := make([]Source, len(samples))
	for i, s := range samples {
		sources[i] = s
	}
	cka, rows, err := CKA(ctx, o.Engine, sources)
	if err != nil {
		return err
	}
	d.CKASamples = rows
	for i := range sources {
		row := make([]Float, len(sources))
		for j := range row {
			row[j] = Float(cka[i*len(sources)+j])
		}
		d.CKA = append(d.CKA, row)
	}
	return nil
}

// withoutLogits returns the layers but LogitsName.
func withoutLogits(layers []Layer) []Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l Layer) bool { return l.Name == LogitsName })
}

// FitLaws fits all laws over the layers.
func FitLaws(layers []Layer) Laws {
	inner := withoutLogits(layers)
	w := Laws{
		Law:            lawOf(inner, func(l Layer) Float { return l.Fuzziness }),
		LawWithLogits:  lawOf(layers, func(l Layer) Float { return l.Fuzziness }),
		CompressionLaw: lawOf(inner, func(l Layer) Float { return l.Compression }),
	}
	names, values := valuesOf(inner, func(l Layer) Float { return l.Discrimination })
	if line, err := FitLine(names, values); err == nil {
		w.DiscriminationLine = &line
	}
	return w
}

// FitLayers returns the law of equi-separation of D over layers, or nil if it cannot be fitted.
func FitLayers(layers []Layer) *Law {
	return lawOf(layers, func(l Layer) Float { return l.Fuzziness })
}

func lawOf(layers []Layer, value func(Layer) Float) *Law {
	names, values := valuesOf(layers, value)
	law, err := FitLaw(names, values)
	if err != nil {
		return nil
	}
	return &law
}

func valuesOf(layers []Layer, value func(Layer) Float) (names []string, values []float64) {
	for _, l := range layers {
		names, values = append(names, l.Name), append(values, float64(value(l)))
	}
	return names, values
}

// loads returns the load of each layer but the first.
func loads(layers []Layer) []Load {
	last := len(layers) - 1
	if last < 1 {
		return nil
	}
	d := make([]float64, len(layers))
	for i, l := range layers {
		d[i] = float64(l.Fuzziness)
	}
	shares := LoadShares(d)
	if shares == nil {
		return nil
	}
	out := make([]Load, last)
	for i := range out {
		out[i] = Load{Layer: layers[i+1].Name, Share: shares[i], Limit: Float(math.NaN())}
	}
	setLoadIntervals(out, layers)
	return out
}

// LoadShares returns the load of each layer but the first, given D of all of them: its share in the fall of log D
// from the first to the last. It is nil if D does not fall, or is not positive and finite everywhere.
func LoadShares(d []float64) []float64 {
	if len(d) < 2 {
		return nil
	}
	logs := make([]float64, len(d))
	for i, v := range d {
		logs[i] = math.Log(v)
	}
	return sharesOf(logs)
}

// setLoadIntervals sets the intervals, if all layers have one of D.
func setLoadIntervals(out []Load, layers []Layer) {
	for _, l := range layers {
		if l.Sampling == nil || l.Sampling.CI == nil {
			return
		}
	}
	estimated, plain := make([]float64, len(layers)), make([]float64, len(layers))
	for i, l := range layers {
		estimated[i], plain[i] = math.Log(l.Sampling.estimated), math.Log(l.Sampling.plain)
	}
	estimate, truth := sharesOf(estimated), sharesOf(plain)
	if estimate == nil || truth == nil {
		return
	}
	draws := layers[0].Sampling.Draws
	values := make([][]float64, len(out))
	logs := make([]float64, len(layers))
	missing := 0
	for b := range draws {
		for i, l := range layers {
			logs[i] = math.Log(l.Sampling.draws[b])
		}
		shares := sharesOf(logs)
		if shares == nil {
			missing++
			continue
		}
		for i, s := range shares {
			values[i] = append(values[i], s-truth[i])
		}
	}
	confidence := layers[0].Sampling.Confidence
	if layers[0].Sampling.few && missing == 0 {
		for i := range out {
			bias, half := student(values[i], confidence)
			limit := estimate[i] - bias
			out[i].Limit, out[i].CI = Float(limit), []Float{Float(limit - half), Float(limit + half)}
		}
		return
	}
	tail := (1 - confidence) / 2
	if float64(missing) > tail*float64(draws) {
		return
	}
	for i := range out {
		slices.Sort(values[i])
		at := func(q float64) Float { return Float(estimate[i] - stat.Quantile(values[i], q)) }
		out[i].Limit, out[i].CI = at(0.5), []Float{at(1 - tail), at(tail)}
	}
}

// sharesOf returns the share of each fall of y in the fall from the first to the last, or nil if y does
// not fall or is not finite.
func sharesOf(y []float64) []float64 {
	all := y[0] - y[len(y)-1]
	if !(all > 0) {
		return nil
	}
	out := make([]float64, len(y)-1)
	for i := range out {
		if out[i] = (y[i] - y[i+1]) / all; !Float(out[i]).IsFinite() {
			return nil
		}
	}
	return out
}
