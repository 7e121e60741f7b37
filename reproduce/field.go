package reproduce

import (
	"context"

	"dpnbench/dataset"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// FieldOptions are the settings of RunField. The zero value is ready to use.
type FieldOptions struct {
	Pictures int // number of test images followed until they converge (0: all)

	Progress Progress
}

// Field describes the ascent field of the published, untrained network: whether it is conservative,
// whether phi rises, where the ascent ends, and what Langevin dynamics adds.
type Field struct {
	Data        string             `json:"data"`
	Hessian     *study.Symmetry    `json:"hessian"`
	Rises       *study.RiseSweep   `json:"rises"`
	FixedPoints *study.FixedPoints `json:"fixed_points"`
	Langevin    *Langevin          `json:"langevin,omitempty"` // nil in results of earlier versions

	// Nearest is the fraction of the images that end at the centre that was nearest at the start,
	// and After30 the fraction that has converged after the paper's 30 steps.
	Nearest float64 `json:"nearest"`
	After30 float64 `json:"after_30"`
}

// symmetryPoints is the number of images at which the Hessian of phi is measured.
const symmetryPoints = 16

// RunField measures the field on test images.
func RunField(ctx context.Context, e *engine.Engine, data *dataset.Data, o FieldOptions) (*Field, error) {
	s := data.Test
	if o.Pictures > 0 {
		s = s.Slice(0, min(o.Pictures, s.Len()))
	}
	m, err := published(data, 1, 30)
	if err != nil {
		return nil, err
	}
	if _, err := m.Init(ctx, e, data.Train); err != nil {
		return nil, err
	}
	x, err := m.Features(ctx, e, s)
	if err != nil {
		return nil, err
	}
	out := &Field{Data: data.Name}
	o.Progress.at("field: symmetry of the Hessian", 0, 4)
	points := x.Slice(0, min(symmetryPoints, x.Rows), 0, x.Cols)
	if out.Hessian, err = study.MeasureSymmetry(ctx, m.Potential(), points, e.Threads()); err != nil {
		return nil, err
	}
	o.Progress.at("field: rise of phi", 1, 4)
	if out.Rises, err = study.SweepRises(ctx, e, m, s.Slice(0, min(1000, s.Len())), study.RiseOptions{}); err != nil {
		return nil, err
	}
	o.Progress.at("field: Langevin dynamics", 2, 4)
	if out.Langevin, err = runLangevin(ctx, e, m, s, x); err != nil {
		return nil, err
	}
	o.Progress.at("field: fixed points", 3, 4)
	f, err := study.FindFixedPoints(ctx, e, m, s, study.FixedPointOptions{}, nil)
	if err != nil {
		return nil, err
	}
	out.FixedPoints = f

	centres := m.Potential().Centres()
	start, end := make([]int32, s.Len()), make([]int32, s.Len())
	distances := engine.NewMatrix(s.Len(), centres.Rows)
	e.SquaredDistances(distances, x, centres)
	e.ArgMin(start, distances)
	e.SquaredDistances(distances, f.Ends, centres)
	e.ArgMin(end, distances)
	same, still := 0, 0
	for i := range start {
		if start[i] == end[i] {
			same++
		}
		if t := f.Steps[i]; t >= 0 && t <= 30 {
			still++
		}
	}
	out.Nearest, out.After30 = float64(same)/float64(s.Len()), float64(still)/float64(s.Len())
	return out, nil
}
