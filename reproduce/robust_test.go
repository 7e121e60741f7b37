package reproduce

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/engine"
	"dpnbench/plot"
)

// TestRobust runs the experiment on very few digits, with one thread and with two, and checks
// properties that hold for any data: all networks and their costs, the same results if it is
// interrupted after each training, a row for each network in the figures.
func TestRobust(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains networks for some seconds")
	}
	d, err := source.Open("digits", source.Options{Seed: 1, TrainSize: 300, TestSize: 40})
	if err != nil {
		t.Fatal(err)
	}
	robust := func(e *engine.Engine, d *dataset.Data) runner {
		return func(ctx context.Context, p *Parts) (r Results, err error) {
			r.Robust, err = RunRobust(ctx, e, d, RobustOptions{Seeds: 1, Epochs: 1, Progress: onward(), Parts: p})
			return r, err
		}
	}
	r := whole(t, robust(newEngine(t, 2), d)).Robust
	if r.Images != 40 {
		t.Errorf("%d images", r.Images)
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
		if _, err := plot.Embed(f, "", false); err != nil {
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

	again, units := interrupted(t, robust(newEngine(t, 1), d))
	equal(t, Results{Robust: r}, again)
	if units != len(contenders()) {
		t.Errorf("%d parts, want one for each of %d trainings", units, len(contenders()))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := RunRobust(ended, newEngine(t, 1), d, RobustOptions{Seeds: 1, Epochs: 1}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestRobustVerdicts judges made-up figures: four seeds of the DPN and of the baselines in each
// setting.
func TestRobustVerdicts(t *testing.T) {
	network := func(name, kind string, noisy bool, macs int, a, b [4]float64) RobustNetwork {
		n := RobustNetwork{Name: name, Kind: kind, Noisy: noisy}
		n.MACs = macs
		for s, v := range [][4]float64{a, b, a, b} {
			run := RobustRun{Seed: uint64(s + 1), TestAccuracy: v[0]}
			for i, c := range noises {
				run.Noisy = append(run.Noisy, NoisyScore{c.Name, c.Severity, v[i+1]})
			}
			n.Runs = append(n.Runs, run)
		}
		return n
	}
	r := &Robust{Networks: []RobustNetwork{
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
	one := &Robust{Networks: slices.Clone(r.Networks)}
	one.Networks[2].Runs = one.Networks[2].Runs[:1]
	for _, v := range one.Verdicts()[:4] {
		if v.Word != notJudged {
			t.Errorf("%s, one seed of a baseline: %s, want %s", v.Setting, v.Word, notJudged)
		}
	}
	for _, c := range Claims(Results{Robust: one, MNIST: true}) {
		if c.ID == "sota-clean" && (c.Verdict != Untested || !strings.Contains(c.Why, "two or more")) {
			t.Errorf("one seed of a baseline: %+v", c)
		}
	}
	if m := r.Verdicts()[2].Margin(); m.Mean < 25.49 || m.Mean > 25.51 || m.Low < 15 || m.Low > 17 {
		t.Errorf("margin of %v points, want 25.5 and at least 16.3", m)
	}
	if d := differencesTable(r, false); len(d.Rows) != 2 || d.Rows[0].Cells[3] != r.Verdicts()[2].Margin().String() {
		t.Errorf("differences %v, want those to the two baselines of no greater cost", d.Rows)
	}
	for id, want := range map[string][2]string{
		"sota-clean":          {NotReproduced, "is better at no greater cost"},
		"sota-gaussian-0.3":   {NotReproduced, "within the spread"},
		"sota-gaussian-0.5":   {Reproduced, "above 0"},
		"sota-saltpepper-0.3": {NotReproduced, "within the spread"},
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
}
