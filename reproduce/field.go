package reproduce

import (
	"context"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// FieldOptions are the settings of RunField. The zero value is ready to use.
type FieldOptions struct {
	Pictures int // number of test images followed until they converge (0: all)

	Progress Progress
	Parts    *Parts // where finished measurements are kept; nil: nowhere
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

// fieldUnits are the measurements of RunField. Each returns a Field with its part.
var fieldUnits = []struct {
	name string
	run  func(w *fieldWork, ctx context.Context) (Field, error)
}{
	{"symmetry of the Hessian", (*fieldWork).symmetry},
	{"rise of phi", (*fieldWork).rises},
	{"Langevin dynamics", (*fieldWork).langevin},
	{"fixed points", (*fieldWork).fixedPoints},
}

// RunField measures the field on test images.
func RunField(ctx context.Context, e *engine.Engine, data *dataset.Data, o FieldOptions) (*Field, error) {
	s := data.Test
	if o.Pictures > 0 {
		s = s.Slice(0, min(o.Pictures, s.Len()))
	}
	w := &fieldWork{e: e, data: data, s: s}
	out := &Field{}
	for i, u := range fieldUnits {
		name := "field: " + u.name
		begin := func() { o.Progress.at(name, i, len(fieldUnits)) }
		f, err := unit(o.Parts, name, begin, func(string) (Field, error) {
			if err := w.prepare(ctx); err != nil {
				return Field{}, err
			}
			return u.run(w, ctx)
		})
		if err != nil {
			return nil, err
		}
		out.add(f)
	}
	out.Data = data.Name
	return out, nil
}

// add adds a measurement.
func (f *Field) add(part Field) {
	switch {
	case part.Hessian != nil:
		f.Hessian = part.Hessian
	case part.Rises != nil:
		f.Rises = part.Rises
	case part.Langevin != nil:
		f.Langevin = part.Langevin
	default:
		f.FixedPoints, f.Nearest, f.After30 = part.FixedPoints, part.Nearest, part.After30
	}
}

// fieldWork is what the measurements share.
type fieldWork struct {
	e    *engine.Engine
	data *dataset.Data
	s    *dataset.Set  // images
	m    *dpn.Model    // nil before prepare
	x    engine.Matrix // features of s
}

func (w *fieldWork) prepare(ctx context.Context) error {
	if w.m != nil {
		return nil
	}
	m, err := published(w.data, 1, 30)
	if err != nil {
		return err
	}
	if _, err := m.Init(ctx, w.e, w.data.Train); err != nil {
		return err
	}
	if w.x, err = m.Features(ctx, w.e, w.s); err != nil {
		return err
	}
	w.m = m
	return nil
}

func (w *fieldWork) symmetry(ctx context.Context) (f Field, err error) {
	points := w.x.Slice(0, min(symmetryPoints, w.x.Rows), 0, w.x.Cols)
	f.Hessian, err = study.MeasureSymmetry(ctx, w.m.Potential(), points, w.e.Threads())
	return f, err
}

func (w *fieldWork) rises(ctx context.Context) (f Field, err error) {
	f.Rises, err = study.SweepRises(ctx, w.e, w.m, w.s.Slice(0, min(1000, w.s.Len())), study.RiseOptions{})
	return f, err
}

func (w *fieldWork) langevin(ctx context.Context) (f Field, err error) {
	f.Langevin, err = runLangevin(ctx, w.e, w.m, w.s, w.x)
	return f, err
}

func (w *fieldWork) fixedPoints(ctx context.Context) (out Field, err error) {
	f, err := study.FindFixedPoints(ctx, w.e, w.m, w.s, study.FixedPointOptions{}, nil)
	if err != nil {
		return out, err
	}
	out.FixedPoints = f
	centres := w.m.Potential().Centres()
	start, end := make([]int32, w.s.Len()), make([]int32, w.s.Len())
	distances := engine.NewMatrix(w.s.Len(), centres.Rows)
	w.e.SquaredDistances(distances, w.x, centres)
	w.e.ArgMin(start, distances)
	w.e.SquaredDistances(distances, f.Ends, centres)
	w.e.ArgMin(end, distances)
	same, still := 0, 0
	for i := range start {
		if start[i] == end[i] {
			same++
		}
		if t := f.Steps[i]; t >= 0 && t <= 30 {
			still++
		}
	}
	all := float64(w.s.Len())
	out.Nearest, out.After30 = float64(same)/all, float64(still)/all
	return out, nil
}
