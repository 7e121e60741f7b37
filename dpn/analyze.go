package dpn

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
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

	// Law is the law of equi-separation fitted over input, features and denoised
	// features (He and Su leave the logits out), StepsLaw over the steps. Each is nil
	// where D is not finite and positive, or there are too few points.
	Law      *separation.Law `json:"law"`
	StepsLaw *separation.Law `json:"steps_law"`

	// Sets are the features that Layers were measured on.
	Sets []separation.Set `json:"-"`
}

// Analyze measures separation at every layer and after every ascent step on the
// pictures of s. progress, unless nil, is called after each measurement.
func (m *Model) Analyze(ctx context.Context, e *engine.Engine, s *dataset.Set, progress func(done, all int)) (*Analysis, error) {
	if err := m.fits(s); err != nil {
		return nil, err
	}
	n, steps := s.Len(), m.Config.Steps
	a := &Analysis{Samples: n}
	done, all := 0, steps+3
	measure := func(list *[]separation.Layer, name string, x engine.Matrix) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		set := separation.Set{X: x.Data, Dim: x.Cols, Labels: s.Labels}
		l, err := separation.Measure(name, set, separation.Options{Threads: e.Threads()})
		if err != nil {
			return err
		}
		*list = append(*list, l)
		a.Classes = l.Classes
		if list == &a.Layers {
			a.Sets = append(a.Sets, set)
		}
		if done++; progress != nil {
			progress(done, all)
		}
		return nil
	}

	input := engine.NewMatrix(n, s.Pixels())
	table := m.Norm.Table()
	pixels(input, s, nil, &table)
	if err := measure(&a.Layers, "input", input); err != nil {
		return nil, err
	}
	x0, err := m.Features(ctx, e, s)
	if err != nil {
		return nil, err
	}
	if err := measure(&a.Layers, "features", x0); err != nil {
		return nil, err
	}
	a.Steps = append(a.Steps, renamed(a.Layers[1], "step 0"))
	x := engine.NewMatrix(n, m.Dim())
	copy(x.Data, x0.Data)
	for t := range steps {
		m.Ascend(e, x, 1)
		if err := measure(&a.Steps, fmt.Sprintf("step %d", t+1), x); err != nil {
			return nil, err
		}
	}
	a.Layers = append(a.Layers, renamed(a.Steps[steps], "denoised"))
	a.Sets = append(a.Sets, separation.Set{X: x.Data, Dim: x.Cols, Labels: s.Labels})
	if err := measure(&a.Layers, "logits", m.Logits(e, x)); err != nil {
		return nil, err
	}
	d, err := separation.Displace(x0.Data, x.Data, m.Dim())
	if err != nil {
		return nil, err
	}
	a.DisplacementL2 = d.Frobenius
	a.Law = fitLaw(a.Layers[:3])
	a.StepsLaw = fitLaw(a.Steps)
	return a, nil
}

// renamed returns l under another name.
func renamed(l separation.Layer, name string) separation.Layer {
	l.Name = name
	return l
}

// fitLaw fits the law over layers, or returns nil where it has no meaning.
func fitLaw(layers []separation.Layer) *separation.Law {
	var names []string
	var d []float64
	for _, l := range layers {
		names, d = append(names, l.Name), append(d, float64(l.Fuzziness))
	}
	law, err := separation.FitLaw(names, d)
	if err != nil {
		return nil
	}
	return &law
}
