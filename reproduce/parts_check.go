package reproduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
)

// The checks in this file refuse results that are not those of their unit: they come from files.

// check refuses an analysis without the layers and steps that pages and claims read.
func (p Placement) check(steps int) error { return checkAnalysis(p.Analysis, steps) }

// checkAnalysis refuses an analysis without all layers and, unless steps is -1, other than steps + 1 of them.
func checkAnalysis(a *study.Analysis, steps int) error {
	switch {
	case a == nil:
		return errors.New("no analysis")
	case len(a.Layers) != layerLogits+1:
		return fmt.Errorf("%d layers, expected %d", len(a.Layers), layerLogits+1)
	case len(a.Steps) == 0 || steps >= 0 && len(a.Steps) != steps+1:
		return fmt.Errorf("%d steps, expected %d", len(a.Steps)-1, steps)
	}
	for _, l := range slices.Concat(a.Layers, a.Steps) {
		if n := len(l.FuzzinessCI); len(l.ExplainedVariance) < 2 || n != 0 && n != 2 {
			return fmt.Errorf("layer %q: %d shares of variance and an interval of %d ends, expected 2 of each",
				l.Name, len(l.ExplainedVariance), n)
		}
	}
	return checkLaws(a.Law, a.LawWithLogits, a.StepsLaw)
}

func checkLaws(laws ...*separation.Law) error {
	for _, l := range laws {
		if l != nil && (l.Points < 2 || len(l.Layers) != l.Points || len(l.Residuals) != l.Points) {
			return fmt.Errorf("a law of %d points with %d layers and %d residuals", l.Points, len(l.Layers),
				len(l.Residuals))
		}
	}
	return nil
}

func (u table1Unit) check(string) error {
	err := u.Few.check(table1Steps)
	if err == nil {
		err = u.Long.check(paperSteps)
	}
	if err == nil && u.Whole != nil {
		if err = u.Whole.check(paperSteps); err == nil {
			err = checkClassified(u.Whole.Classified)
		}
	}
	return err
}

// checkClassified refuses other steps than classifiedSteps.
func checkClassified(list []Classified) error {
	var steps []int
	for _, c := range list {
		steps = append(steps, c.Step)
	}
	if !slices.Equal(steps, classifiedSteps) {
		return fmt.Errorf("classes told after the steps %v, expected %v", steps, classifiedSteps)
	}
	return nil
}

func (u lawUnit) check(string) error {
	n, run := len(u.Layers), u.Run
	if n < 2 || len(run.D) != n || len(run.TestD) != n {
		return fmt.Errorf("%d layers with %d and %d values, expected as many", n, len(run.D), len(run.TestD))
	}
	for _, at := range run.Emergence {
		if len(at.D) != n {
			return fmt.Errorf("epoch %d: %d values for %d layers, expected as many", at.Epoch, len(at.D), n)
		}
	}
	return checkLaws(run.Law, run.WithLogits, run.TestLaw, run.LayersLaw)
}

func (u trainedUnit) check(string) error { return checkAnalysis(u.Run.Analysis, -1) }

func (r ForwardRun) check(string) error {
	if n := len(r.Layers); n < 2 || len(r.D) != n {
		return fmt.Errorf("%d layers with %d values, expected as many", n, len(r.D))
	}
	return checkLaws(r.Law)
}

func (u posterUnit) check(unit string) error {
	r := u.Run
	if strings.HasPrefix(unit, "poster: "+posterMLP+",") { // has no validation
		return checkNoises(r.Noisy)
	}
	if r.Best < 1 || r.Best > len(r.Epochs) {
		return fmt.Errorf("best epoch %d of %d", r.Best, len(r.Epochs))
	}
	for _, h := range r.Epochs {
		if h.ValLoss == nil || h.ValAccuracy == nil {
			return fmt.Errorf("epoch %d without validation", h.Epoch)
		}
	}
	return checkNoises(r.Noisy)
}

func (f Field) check(unit string) error {
	measured := []bool{f.Hessian != nil, f.Rises != nil, f.Langevin != nil, f.Nearness != nil, f.Noise != nil,
		f.LogSumExp != nil, f.StepSize != nil, f.FixedPoints != nil}
	for i, u := range fieldUnits {
		if measured[i] != (unit == "field: "+u.name) {
			return errors.New("the measurement of another unit, or none")
		}
	}
	if f.Noise != nil && len(f.Noise) != len(noises)+1 {
		return fmt.Errorf("%d corruptions, expected %d", len(f.Noise), len(noises)+1)
	}
	for _, n := range f.Noise {
		if len(n.CI) != 2 {
			return fmt.Errorf("an interval of %d ends, expected 2", len(n.CI))
		}
	}
	if f.StepSize != nil && len(f.StepSize.Alphas) != 2 {
		return fmt.Errorf("%d step sizes, expected 2", len(f.StepSize.Alphas))
	}
	if n := len(f.PointsOfClass); n != 0 && n != 2 {
		return fmt.Errorf("a range of %d ends, expected 2", n)
	}
	return nil
}

func (u robustUnit) check(string) error {
	if len(u.Networks) == 0 {
		return errors.New("no networks")
	}
	for _, n := range u.Networks {
		err := checkKind(n.Kind)
		if err == nil {
			err = n.Run.check()
		}
		if err != nil {
			return fmt.Errorf("network %q: %w", n.Name, err)
		}
	}
	return nil
}

func checkKind(kind string) error {
	if !slices.Contains([]string{kindDPN, kindRule, kindBaseline}, kind) {
		return fmt.Errorf("kind %q, expected dpn, rule or baseline", kind)
	}
	return nil
}

// checkNoises refuses accuracies under other noises than those of the experiments.
func checkNoises(list []NoisyScore) error {
	if len(list) != len(noises) {
		return fmt.Errorf("accuracies on %d noises, expected %d", len(list), len(noises))
	}
	for i, s := range list {
		if s.Name != noises[i].Name || s.Severity != noises[i].Severity {
			return fmt.Errorf("noise %s:%v, expected %v", s.Name, s.Severity, noises[i])
		}
		if !(s.Accuracy >= 0 && s.Accuracy <= 1) {
			return errNoShare
		}
	}
	return nil
}

var errNoShare = errors.New("an accuracy is not between 0 and 1")

// check refuses a run with other noises than those of the experiment, or impossible accuracies.
func (run RobustRun) check() error {
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	if !share(run.TestAccuracy) || run.SuiteAccuracy != nil && !share(*run.SuiteAccuracy) {
		return errNoShare
	}
	return checkNoises(run.Noisy)
}

// Check refuses results that RunRobust does not return: they come from a file.
func (r *Robust) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("robust: damaged results: "+format, args...)
	}
	seeds := r.seeds()
	seen := map[string]bool{}
	for _, n := range r.Networks {
		name := fmt.Sprintf("network %q", n.Name)
		if n.Noisy {
			name += " (noisy training)"
		}
		if err := checkKind(n.Kind); err != nil {
			return bad("%s: %w", name, err)
		}
		switch {
		case seen[name]:
			return bad("%s twice", name)
		case len(n.Runs) == 0:
			return bad("%s: no runs, expected one for each seed", name)
		case len(n.Runs) != seeds && n.Name != costliest:
			return bad("%s: %d runs, expected %d", name, len(n.Runs), seeds)
		}
		seen[name] = true
		for i, run := range n.Runs {
			if run.Seed != uint64(i+1) {
				return bad("%s: run %d has seed %d, expected %d", name, i, run.Seed, i+1)
			}
			if err := run.check(); err != nil {
				return bad("%s, seed %d: %w", name, run.Seed, err)
			}
		}
	}
	if want := len(contenders()) + 2; len(r.Networks) != want { // with the prototype rules
		return bad("%d networks, expected %d", len(r.Networks), want)
	}
	return nil
}
