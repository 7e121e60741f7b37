package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/plot"
)

// TestRobust runs the experiment on very few digits, with one thread and with two, and checks
// properties that hold for any data: all networks and their costs, results saved after each
// training, a row for each network in the figures.
func TestRobust(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks for some seconds")
	}
	d, err := dataset.Open("digits", dataset.Options{Seed: 1, TrainSize: 300, TestSize: 40})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	kept := 0
	r, err := RunRobust(ctx, newEngine(t, 2), d, RobustOptions{Seeds: 1, Epochs: 1, Keep: func(r *Robust) error {
		if kept++; r.Complete != (kept == len(contenders())) {
			t.Errorf("complete %v after %d trainings", r.Complete, kept)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if kept != len(contenders()) || r.Pictures != 40 {
		t.Errorf("kept %d times, want %d; %d images", kept, len(contenders()), r.Pictures)
	}
	byName := map[string]RobustNetwork{}
	for _, n := range r.Networks {
		if !n.Noisy {
			byName[n.Name] = n
		}
		if len(n.Runs) != 1 || len(n.Runs[0].Noisy) != len(noises) || n.Runs[0].SuiteAccuracy == nil || n.MACs <= 0 ||
			n.Parameters <= 0 {
			t.Errorf("%s: %+v", n.Name, n)
		}
		if n.Kind == kindBaseline && n.MACs > 1_100_000 {
			t.Errorf("%s takes %d multiply-adds", n.Name, n.MACs)
		}
	}
	for name, macs := range map[string]int{"robust-small": 60*784*23 + 7840, "linear": 7840,
		"nearest class mean": 7840, "prototype rule at x_0": 60 * 784 * 12, "prototype rule at x_1": 60 * 784 * 35,
		"MLP, dropout": 784*640 + 640*512 + 512*256 + 2560, "robust": 100*784*27*3 + 7840} {
		if got := byName[name].MACs; got != macs {
			t.Errorf("%s takes %d multiply-adds, want %d", name, got, macs)
		}
	}
	for _, noisy := range []bool{false, true} {
		n := 0
		for _, c := range r.Networks {
			if c.Noisy == noisy {
				n++
			}
		}
		f := robustFigure(r, noisy)
		if len(f.Groups) != n || len(f.Series) != len(robustSettings()) {
			t.Errorf("%d rows and %d series in the figure of %d networks", len(f.Groups), len(f.Series), n)
		}
		if _, err := plot.SVG(f); err != nil {
			t.Error(err)
		}
	}
	if v := r.Verdicts(); len(v) != 8 {
		t.Errorf("%d verdicts, want one for each training and setting", len(v))
	}
	var page bytes.Buffer
	if err := Page(Results{Robust: r}, nil).Write(&page); err != nil || !strings.Contains(page.String(),
		"Robustness at equal cost") {
		t.Errorf("the page says nothing of robustness (%v)", err)
	}

	// A run that ends after some trainings, and one that continues from its results, on one
	// thread.
	first, _ := json.Marshal(r)
	full := errors.New("no space left")
	var half []byte
	if _, err := RunRobust(ctx, newEngine(t, 1), d, RobustOptions{Seeds: 1, Epochs: 1, Keep: func(r *Robust) error {
		if half, _ = json.Marshal(r); len(r.Done) == 5 {
			return full
		}
		return nil
	}}); !errors.Is(err, full) {
		t.Errorf("error %v, want that of Keep", err)
	}
	var have Robust
	if err := json.Unmarshal(half, &have); err != nil {
		t.Fatal(err)
	}
	trained := 0
	again, err := RunRobust(ctx, newEngine(t, 1), d, RobustOptions{Seeds: 1, Epochs: 1, Have: &have,
		Keep: func(*Robust) error { trained++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := json.Marshal(again); !bytes.Equal(first, second) || trained != len(contenders())-5 {
		t.Errorf("one thread, in two goes, gives other figures than two threads in one; %d trainings in the "+
			"second go", trained)
	}
	if _, err := RunRobust(ctx, newEngine(t, 1), d, RobustOptions{Seeds: 1, Epochs: 2, Have: again}); err == nil ||
		!strings.Contains(err.Error(), "epochs 1") {
		t.Errorf("what was kept of other epochs: %v", err)
	}
	other := *d
	other.Train = d.Train.Slice(0, d.Train.Len()-1)
	if _, err := RunRobust(ctx, newEngine(t, 1), &other, RobustOptions{Seeds: 1, Epochs: 1,
		Have: again}); err == nil || !strings.Contains(err.Error(), "other images") {
		t.Errorf("what was kept of other images: %v", err)
	}
	again.Networks[0].Runs[0].Seed = 2
	if _, err := RunRobust(ctx, newEngine(t, 1), d, RobustOptions{Seeds: 1, Epochs: 1, Have: again}); err == nil ||
		!strings.Contains(err.Error(), "seed 2") {
		t.Errorf("what was kept of more seeds: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := RunRobust(ended, newEngine(t, 1), d, RobustOptions{Seeds: 1, Epochs: 1}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestRobustVerdicts judges made-up figures: two seeds of the DPN and of the baselines in each
// setting.
func TestRobustVerdicts(t *testing.T) {
	network := func(name, kind string, noisy bool, macs int, a, b [4]float64) RobustNetwork {
		n := RobustNetwork{Name: name, Kind: kind, Noisy: noisy}
		n.MACs = macs
		for s, v := range [][4]float64{a, b} {
			run := RobustRun{Seed: uint64(s + 1), TestAccuracy: v[0]}
			for i, c := range noises {
				run.Noisy = append(run.Noisy, NoisyScore{c.Name, c.Severity, v[i+1]})
			}
			n.Runs = append(n.Runs, run)
		}
		return n
	}
	r := &Robust{Complete: true, Networks: []RobustNetwork{
		network("robust-small", kindDPN, false, 100, [4]float64{.96, .95, .90, .925}, [4]float64{.97, .96, .91, .935}),
		network("prototype rule at x_0", kindRule, false, 50, [4]float64{.99, .99, .99, .99},
			[4]float64{.99, .99, .99, .99}),
		network("CNN", kindBaseline, false, 90, [4]float64{.98, .955, .60, .70}, [4]float64{.99, .965, .70, .80}),
		network("lucky once", kindBaseline, false, 90, [4]float64{.10, .10, .10, .93}, [4]float64{.10, .10, .10, .10}),
		network("too large", kindBaseline, false, 101, [4]float64{1, 1, 1, 1}, [4]float64{1, 1, 1, 1}),
		network("noise", kindDPN, true, 100, [4]float64{.98, .98, .96, .95}, [4]float64{.99, .98, .97, .96}),
		network("CNN", kindBaseline, true, 90, [4]float64{.985, .97, .965, .965}, [4]float64{.985, .975, .965, .965}),
	}}
	want := []string{"behind", "level", "ahead", "level", "level", "ahead", "level", "behind"}
	for i, v := range r.Verdicts() {
		if v.Word != want[i] || v.Rival != "CNN" {
			t.Errorf("%v, %s: %s of %s, want %s of the CNN", v.Noisy, v.Setting, v.Word, v.Rival, want[i])
		}
	}
	if m := r.Verdicts()[2].Margin(); m < 25.49 || m > 25.51 {
		t.Errorf("margin of %v points, want 25.5", m)
	}
	for id, want := range map[string][2]string{
		"sota-clean":          {NotReproduced, "is better at no greater cost"},
		"sota-gaussian-0.3":   {NotReproduced, "Not every seed"},
		"sota-gaussian-0.5":   {Reproduced, "worst seed"},
		"sota-saltpepper-0.3": {NotReproduced, "Not every seed"},
		"sota-noisy-training": {NotReproduced, "Ahead of all baselines of no greater cost in 1, level in 2, " +
			"behind in 1 of 4"},
	} {
		for _, c := range Claims(Results{MNIST: true, Robust: r}) {
			if c.ID == id && (c.Verdict != want[0] || !strings.Contains(c.Why, want[1])) {
				t.Errorf("%s: %s, %s; want %s, %q", id, c.Verdict, c.Why, want[0], want[1])
			}
		}
	}
	if text := ruleText(r); !strings.Contains(text, "clean 96.50% against 99.00%") ||
		strings.Contains(text, "at most half a percentage point") {
		t.Errorf("of the rule: %q", text)
	}
	r.Networks[1].Runs = r.Networks[0].Runs
	if text := ruleText(r); !strings.Contains(text, "at most half a percentage point") {
		t.Errorf("of a rule that is as good: %q", text)
	}
	r.Complete = false
	for _, c := range Claims(Results{MNIST: true, Robust: r}) {
		if strings.HasPrefix(c.ID, "sota-") && c.Verdict != Untested {
			t.Errorf("%s: %s before all trainings have ended", c.ID, c.Verdict)
		}
	}
}
