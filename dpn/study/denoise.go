package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"

	"gonum.org/v1/gonum/stat/distuv"
)

// Denoised is what the ascent makes of corrupted images in pixel space. Images are grey
// levels, 0 (background) to 1 (ink), beyond which noise, ascent and Config.RMS may lead.
type Denoised struct {
	Clean               engine.Matrix      // n x pixels, preprocessed as the model does
	Corrupted, Restored engine.Matrix      // n x pixels: x_0 and x_n
	Classes             []int              // n, read from x_n
	Before, After       []separation.Float // n, signal-to-noise ratio of x_0 and x_n in dB (SNR)
}

// CheckPixels says whether Denoise can use the model.
func CheckPixels(m *dpn.Model) error {
	if m.PixelFeatures() {
		return nil
	}
	return fmt.Errorf(
		"the features are not pixels (extractor %s, layer-norm %v): "+
			"expected a model whose ascent is in pixel space, such as the preset robust",
		m.Config.Extractor, m.Config.LayerNorm)
}

// Denoise corrupts the images of s by c under a seed, takes them through the ascent and holds
// both ends against the images as they were, all of them preprocessed as the model does. It needs a model whose
// features are pixels.
func Denoise(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set, c dataset.Corruption,
	seed uint64) (*Denoised, error) {
	if err := CheckPixels(m); err != nil {
		return nil, err
	}
	if err := m.CheckSet(s); err != nil {
		return nil, err
	}
	in, err := m.CorruptedInput(s, c, seed)
	if err != nil {
		return nil, err
	}
	x, err := m.Ascended(ctx, e, in, 0, s.Len(), 0)
	if err != nil {
		return nil, err
	}
	clean, err := m.Ascended(ctx, e, m.Input(s), 0, s.Len(), 0)
	if err != nil {
		return nil, err
	}
	r, err := m.PredictFeatures(ctx, e, x)
	if bad, ok := errors.AsType[*dpn.OutputError](err); ok {
		bad.Of = "image"
	}
	if err != nil {
		return nil, err
	}
	d := s.Shape.Len()
	out := &Denoised{
		Clean:     engine.NewMatrix(s.Len(), d),
		Corrupted: engine.NewMatrix(s.Len(), d),
		Restored:  engine.NewMatrix(s.Len(), d),
		Classes:   r.Classes,
	}
	m.Preprocessed(s)(e, out.Clean, nil)
	for i := range s.Len() {
		copy(out.Restored.Row(i), m.Norm.Undo(r.X.Row(i)))
		if slices.Equal(x.Row(i), clean.Row(i)) { // as it was: normalising and back rounds
			copy(out.Corrupted.Row(i), out.Clean.Row(i))
		} else {
			copy(out.Corrupted.Row(i), m.Norm.Undo(x.Row(i)))
		}
	}
	for i := range s.Len() {
		out.Before = append(out.Before, separation.Float(SNR(out.Clean.Row(i), out.Corrupted.Row(i))))
		out.After = append(out.After, separation.Float(SNR(out.Clean.Row(i), out.Restored.Row(i))))
	}
	return out, nil
}

// SNR returns the signal-to-noise ratio of x in dB, 10 log10 of the sum of squares of clean
// over that of x - clean: infinite where they are equal, NaN where clean is all zero. The
// slices have equal lengths.
func SNR(clean, x []float32) float64 {
	var signal, noise float64
	for j, v := range clean {
		n := float64(x[j]) - float64(v)
		signal += float64(float64(v) * float64(v))
		noise += float64(n * n)
	}
	if signal == 0 {
		return math.NaN()
	}
	return 10 * math.Log10(signal/noise)
}

// Gain is the mean signal-to-noise ratio of images in dB before and after the ascent, and
// of the difference. Images without noise or without a signal are left out.
type Gain struct {
	Images int                 `json:"images"` // that the means are over
	Before separation.Float    `json:"snr_before_db"`
	After  separation.Float    `json:"snr_after_db"`
	Gain   separation.Float    `json:"gain_db"`
	CI     [2]separation.Float `json:"gain_ci"` // 95% interval of the mean gain for n → ∞ images, by Student's t
}

// Gain sums up the images. Where there are fewer than two, or none with noise, figures
// are NaN.
func (c *Denoised) Gain() Gain {
	var before, after, sum float64
	var gains []float64
	for i, b := range c.Before {
		if a := c.After[i]; b.IsFinite() && a.IsFinite() {
			g := float64(a - b)
			gains = append(gains, g)
			before, after, sum = before+float64(b), after+float64(a), sum+g
		}
	}
	n := float64(len(gains))
	mean, squares := sum/n, 0.0
	for _, g := range gains {
		squares += float64((g - mean) * (g - mean))
	}
	half := math.NaN()
	if len(gains) > 1 {
		half = distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * math.Sqrt(squares/(n-1)/n)
	}
	number := func(v float64) separation.Float { return separation.Float(v) }
	return Gain{
		len(gains),
		number(before / n),
		number(after / n),
		number(mean),
		[2]separation.Float{number(mean - half), number(mean + half)},
	}
}
