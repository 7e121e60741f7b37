package report

import (
	"fmt"

	"dpnbench/dpn/separation"
	"dpnbench/plot"
)

// NewPanel returns the panel of a layer that [separation.Measure] has measured
// on s.
func NewPanel(layer separation.Layer, s separation.Set) (plot.Panel, error) {
	if layer.PCA == nil {
		return plot.Panel{}, fmt.Errorf("report: layer %q has no principal components", layer.Name)
	}
	plane := layer.PCA.First(2)
	points, err := plane.Project(s.X)
	if err != nil {
		return plot.Panel{}, fmt.Errorf("report: layer %q: %w", layer.Name, err)
	}
	return plot.Panel{
		Title:      layer.Name,
		Points:     points,
		Components: len(plane.ExplainedVariance),
		Explained:  plane.ExplainedVariance,
		Labels:     s.Labels,
	}, nil
}

// NewLaw returns a fitted law, with its confidence band, for [plot.Layers] and [plot.Steps];
// nil for nil.
func NewLaw(law *separation.Law) *plot.Law {
	if law == nil {
		return nil
	}
	out := &plot.Law{
		Names: law.Layers, D0: law.D0, Rho: law.Rho, Confidence: law.Confidence, Pearson: float64(law.Pearson),
		Band: make([]plot.Interval, law.Points),
	}
	if ci := law.RhoCI; len(ci) == 2 {
		out.RhoCI = plot.Interval{Low: float64(ci[0]), High: float64(ci[1])}
	}
	for i := range out.Band {
		out.Band[i].Low, out.Band[i].High = law.Band(float64(i))
	}
	return out
}
