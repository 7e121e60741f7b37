package study

import (
	"context"
	"fmt"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// Analysis is how a model separates classes, layer by layer and step by step.
type Analysis struct {
	Samples int `json:"samples"`
	Classes int `json:"classes"` // present in the samples

	// Layers are input, features, denoised and logits; Steps x_0 to x_n.
	Layers []separation.Layer `json:"layers"`
	Steps  []separation.Layer `json:"steps"`

	// DisplacementL2 is the Frobenius norm of x_n - x_0 over all samples.
	DisplacementL2 float64 `json:"displacement_l2"`

	// Law is the law of equi-separation fitted over input, features (unless they are
	// the input itself) and denoised features (unless there are no steps), as He and Su leave the logits out;
	// LawWithLogits has them too, and StepsLaw is that over the steps. Each is nil
	// where D is not finite and positive, or there are too few points.
	Law           *separation.Law `json:"law"`
	LawWithLogits *separation.Law `json:"law_with_logits"`
	StepsLaw      *separation.Law `json:"steps_law"`

	// Curves are D over the number of samples, of input, features (unless they are the
	// input) and denoised features.
	Curves []separation.LayerCurve `json:"curves,omitempty"`

	// Work is what the ascent of the first images (at most 512) costs by the sparse route,
	// step by step; nil where there are no steps.
	Work []ascent.StepWork `json:"ascent_work"`

	// Sets are the features that Layers were measured on.
	Sets []separation.Set `json:"-"`
}

// AnalyzeOptions are the settings of Analyze. The zero value measures every layer and
// step once, without intervals.
type AnalyzeOptions struct {
	// Draws of the bootstrap behind the intervals of D, at every layer and step; 0:
	// none. Where there is a class with one image there are none either.
	Draws int
	// Subsets of each size, for the curves of D over the number of samples; 0: none.
	Subsets int
	// Seed of draws and subsets.
	Seed uint64
	// Progress, unless nil, is told before each measurement what is done, what the measurement takes and what all
	// take, and at the end that all is done; in about the milliseconds of two cores.
	Progress func(done, next, all int)
}

// Analyze measures separation at every layer and after every ascent step on the
// images of s.
func Analyze(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	opt AnalyzeOptions) (*Analysis, error) {
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	w := &work{costs: analysisCosts(m, s, opt), progress: opt.Progress}
	a, err := analyze(ctx, e, m, s, opt, w)
	if err == nil {
		w.next()
	}
	return a, err
}

// curved are the layers that have curves.
var curved = []string{"input", "features", "denoised"}

// analyze is Analyze that tells its progress to w.
func analyze(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set, opt AnalyzeOptions,
	w *work) (*Analysis, error) {
	n, steps := s.Len(), m.Config.Steps
	a := &Analysis{Samples: n}
	identity := m.InputFeatures()
	measure := func(list *[]separation.Layer, name string, x engine.Matrix) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		what := name + " feature"
		if name == "logits" {
			what = "logit"
		}
		if err := m.CheckOutput(x, what, m.Shape.Sample(), 0); err != nil {
			return err
		}
		w.next()
		set := separation.Set{X: x.Data, Dim: x.Cols, Labels: s.Labels}
		o := separation.Options{Engine: e, Draws: opt.Draws, Seed: opt.Seed}
		if list == &a.Layers {
			o.Components = separation.AllComponents
		}
		l, err := separation.Measure(ctx, name, set, o)
		if err != nil {
			return err
		}
		*list = append(*list, l)
		a.Classes = l.Classes
		if list == &a.Layers {
			a.Sets = append(a.Sets, set)
		}
		if opt.Subsets > 0 && slices.Contains(curved, name) {
			w.next()
			points, err := separation.Curve(ctx, e, set, separation.CurveOptions{Subsets: opt.Subsets, Seed: opt.Seed})
			if err != nil {
				return err
			}
			a.Curves = append(a.Curves, separation.LayerCurve{Layer: name, Points: points})
		}
		return nil
	}

	input := engine.NewMatrix(n, s.Shape.Len())
	m.Input(s)(e, input, nil)
	if err := measure(&a.Layers, "input", input); err != nil {
		return nil, err
	}
	x0, err := m.Features(ctx, e, s)
	if err != nil {
		return nil, err
	}
	if identity {
		a.Layers = append(a.Layers, renamed(a.Layers[0], "features"))
		a.Sets = append(a.Sets, a.Sets[0])
	} else if err := measure(&a.Layers, "features", x0); err != nil {
		return nil, err
	}
	a.Steps = append(a.Steps, renamed(a.Layers[1], "step 0"))
	a.Work = m.Potential().Mixture(e).CountWork(e, func() bool { return ctx.Err() != nil },
		m.Potential().Alpha(), steps,
		x0.Slice(0, min(n, potential.BlockRows), 0, x0.Cols))
	x := engine.NewMatrix(n, m.Dim())
	copy(x.Data, x0.Data)
	for t := range steps {
		if err := m.Potential().AscendUntil(ctx, e, x, 1); err != nil {
			return nil, err
		}
		if t == steps-1 {
			break // the denoised features, a layer
		}
		if err := measure(&a.Steps, fmt.Sprintf("step %d", t+1), x); err != nil {
			return nil, err
		}
	}
	if err := measure(&a.Layers, "denoised", x); err != nil {
		return nil, err
	}
	if steps > 0 {
		a.Steps = append(a.Steps, renamed(a.Layers[2], fmt.Sprintf("step %d", steps)))
	}
	if err := measure(&a.Layers, "logits", m.Logits(e, x)); err != nil {
		return nil, err
	}
	d, err := separation.Displace(x0.Data, x.Data, m.Dim())
	if err != nil {
		return nil, err
	}
	a.DisplacementL2 = d.Frobenius
	layers := slices.Clone(a.Layers)
	if steps == 0 {
		layers = slices.Delete(layers, 2, 3) // denoised, which are the features again
	}
	if identity {
		layers = layers[1:]
	}
	a.Law = separation.FitLayers(layers[:len(layers)-1])
	a.LawWithLogits = separation.FitLayers(layers)
	a.StepsLaw = separation.FitLayers(a.Steps)
	return a, nil
}

// renamed returns l under another name.
func renamed(l separation.Layer, name string) separation.Layer {
	l.Name = name
	return l
}
