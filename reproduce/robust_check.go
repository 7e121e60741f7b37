package reproduce

import (
	"fmt"
	"slices"
)

// Check refuses results that RunRobust does not write: they come from a file, and what is missing
// from them would be missed after hours of training.
func (r *Robust) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("robust: damaged results: "+format, args...)
	}
	runs := 0
	seen := map[string]bool{}
	for _, n := range r.Networks {
		name := fmt.Sprintf("network %q", n.Name)
		if n.Noisy {
			name += " (noisy training)"
		}
		switch {
		case !slices.Contains([]string{kindDPN, kindRule, kindBaseline}, n.Kind):
			return bad("%s: kind %q, expected dpn, rule or baseline", name, n.Kind)
		case seen[name]:
			return bad("%s twice", name)
		case len(n.Runs) == 0:
			return bad("%s: no runs, expected one for each seed", name)
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
		runs += len(n.Runs)
	}
	return r.checkDone(runs, bad)
}

// checkDone compares the list of finished trainings with the number of runs that there are.
func (r *Robust) checkDone(runs int, bad func(format string, args ...any) error) error {
	want := 0
	list := contenders()
	for i, name := range r.Done {
		c := list[i%len(list)]
		if expected := c.title(i/len(list) + 1); name != expected {
			return bad("finished training %d is %q, expected %q", i, name, expected)
		}
		want++
		if c.name == "robust-small" && !c.noisy {
			want += 2 // the prototype rules
		}
	}
	if runs != want {
		return bad("%d runs of networks, expected %d after %d trainings", runs, want, len(r.Done))
	}
	return nil
}

// check refuses a run with other noises than those of the experiment, or impossible accuracies.
func (run RobustRun) check() error {
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	if len(run.Noisy) != len(noises) {
		return fmt.Errorf("accuracies on %d noises, expected %d", len(run.Noisy), len(noises))
	}
	ok := share(run.TestAccuracy) && (run.SuiteAccuracy == nil || share(*run.SuiteAccuracy))
	for i, s := range run.Noisy {
		if s.Name != noises[i].Name || s.Severity != noises[i].Severity {
			return fmt.Errorf("noise %s:%v, expected %v", s.Name, s.Severity, noises[i])
		}
		ok = ok && share(s.Accuracy)
	}
	if !ok {
		return fmt.Errorf("an accuracy is not between 0 and 1")
	}
	return nil
}

// title names the training of c from a seed.
func (c contender) title(seed int) string {
	name := fmt.Sprintf("seed %d, %s", seed, c.name)
	if c.noisy {
		name += ", noisy training"
	}
	return name
}
