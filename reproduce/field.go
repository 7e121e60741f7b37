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
	Images int // number of test images (0: all)

	Progress Progress
	Parts    *Parts // where finished measurements are kept; nil: nowhere
}

// Field describes the ascent field of the published, untrained network: whether it is conservative, whether phi
// rises and tells the distance to the centres, where the ascent ends, what it does to noise, what the log-sum-exp and
// the step size are good for, and what Langevin dynamics adds.
type Field struct {
	Data        string             `json:"data"`
	Hessian     *study.Symmetry    `json:"hessian"`
	Rises       *study.RiseSweep   `json:"rises"`
	FixedPoints *study.FixedPoints `json:"fixed_points"`
	Langevin    *Langevin          `json:"langevin,omitempty"`
	Nearness    *Nearness          `json:"nearness,omitempty"`
	Noise       []NoiseGain        `json:"noise,omitempty"` // clean, then each noise
	LogSumExp   *LogSumExp         `json:"log_sum_exp,omitempty"`
	StepSize    *StepSize          `json:"step_size,omitempty"`

	// Shares of the images: those that end at the centre that was nearest at the start; those that have
	// converged after the paper's 30 steps; and those whose nearest centre then is the first one.
	Nearest   float64 `json:"nearest"`
	After30   float64 `json:"after_30"`
	Nearest30 float64 `json:"nearest_30"`
	// Kept30 is the share of the 10 nearest neighbours at x_0 that are among those at x_30, and StartPurity the
	// share of the images with the most frequent class of their nearest centre at x_0.
	Kept30      float64 `json:"kept_30"`
	StartPurity float64 `json:"start_purity"`
	// LargestClass is the share of the most frequent class: the purity of one region for all images.
	LargestClass float64 `json:"largest_class"`
	// PointsOfClass is the least and the greatest number of end points, over the classes, that hold 90% of
	// the images of a class.
	PointsOfClass []int `json:"points_of_class,omitempty"`
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
	{"nearness of centres", (*fieldWork).nearness},
	{"noise", (*fieldWork).noise},
	{"log-sum-exp", (*fieldWork).logSumExp},
	{"step size", (*fieldWork).stepSize},
	{"fixed points", (*fieldWork).fixedPoints},
}

// RunField measures the field on test images.
func RunField(ctx context.Context, e *engine.Engine, data *dataset.Data, o FieldOptions) (*Field, error) {
	s := data.Test
	if o.Images > 0 {
		s = s.Slice(0, min(o.Images, s.Len()))
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
	case part.Nearness != nil:
		f.Nearness = part.Nearness
	case part.Noise != nil:
		f.Noise = part.Noise
	case part.LogSumExp != nil:
		f.LogSumExp = part.LogSumExp
	case part.StepSize != nil:
		f.StepSize = part.StepSize
	default:
		f.FixedPoints, f.Nearest, f.After30, f.Nearest30 = part.FixedPoints, part.Nearest, part.After30, part.Nearest30
		f.Kept30, f.StartPurity, f.LargestClass = part.Kept30, part.StartPurity, part.LargestClass
		f.PointsOfClass = part.PointsOfClass
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
	m, err := published(w.data, 1, paperSteps)
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
	f, err := study.FindFixedPoints(ctx, w.e, w.m, w.s, study.FixedPointOptions{})
	if err != nil {
		return out, err
	}
	out.FixedPoints = f
	start := w.nearestCentres(w.x)
	out.Nearest = share(start, w.nearestCentres(f.Ends))
	still := 0
	for _, t := range f.Steps {
		if t >= 0 && t <= paperSteps {
			still++
		}
	}
	out.After30 = float64(still) / float64(w.s.Len())
	return out, out.within(ctx, w, start)
}
