package sweep

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn/separation"
)

// TestPlanLimits reads plans at the edges of what is allowed, and just beyond.
func TestPlanLimits(t *testing.T) {
	const random, halving = "[sweep]\nmethod = 'random'\n", "epochs = 9\n[sweep]\nmethod = 'halving'\n"
	for _, c := range []struct {
		text string
		runs int
		err  string
	}{
		{random + "draws = 1\n[vary]\nlr = {from = 1, to = 2}", 1, ""},
		{random + "draws = 10000\n[vary]\nlr = [1, 2]", 2, ""},
		{random + "draws = 10001\n[vary]\nlr = [1, 2]", 0, "sweep.draws: got 10001, expected a whole number from 1 to"},
		{random + "draws = 3\ndraw-seed = 0\n[vary]\nlr = {from = 1, to = 2}", 3, ""},
		{random + "draws = 3\n[vary]\nlr = {from = 1, to = 2, count = 3}", 0, "vary.lr: count: got 3"},
		{random + "draws = 4\n[vary]\nform = ['full', 'diag']\ncentre = ['', 'mass']", 4, ""}, // draws repeat
		{"[vary]\nlr = {from = 1, to = 2, count = 100}\nalpha = {from = 1, to = 2, count = 100}", 10_000, ""},
		{"[vary]\nlr = {from = 1, to = 2, count = 100}\nalpha = {from = 1, to = 2, count = 100}\nseed = [1, 2]", 0,
			"20000 runs, expected at most 10000"},
		{"[vary]\nlr = {from = 1, to = 1, count = 2}", 0, "numbers with from below to"},
		{"[vary]\nlr = {from = 0, to = 1, count = 2, log = true}", 0, "from: expected a number above 0"},
		{halving + "[vary]\nlr = [1, 2, 3]\nepochs = [1, 2]", 0, "epochs: given at the top and in [vary]"},
		{halving + "[vary]\nlr = {from = 1, to = 2, count = 9}", 9 + 3 + 1, ""},
		{halving + "least-epochs = 2\n[vary]\nlr = {from = 1, to = 2, count = 9}", 9 + 3, ""},
		{halving + "least-epochs = 9\n[vary]\nlr = {from = 1, to = 2, count = 9}", 9, ""},
		{halving + "least-epochs = 10\n[vary]\nlr = [1, 2]", 0,
			"sweep.least-epochs: got 10, expected a whole number from 1 to epochs, which is 9"},
	} {
		p, err := planOf(t, c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil || p.Runs() != c.runs {
			t.Errorf("%q: %d runs, %v; want %d", c.text, p.Runs(), err, c.runs)
		}
	}
}

// TestValuesOfRanges checks the ends of ranges, which are kept as they are, that numbers between are short, and that
// the seed of the draws is that of the plan, 1 unless it says.
func TestValuesOfRanges(t *testing.T) {
	for text, want := range map[string]string{
		"lr = {from = 0.123456, to = 0.987634, count = 3}":                  "0.123456 0.5555 0.987634",
		"lr = {from = 0.0001234567, to = 0.1234567, count = 4, log = true}": "0.0001234567 0.001235 0.01235 0.1234567",
		"components = {from = 1, to = 4, count = 3}":                        "1 3 4",
		"components = {from = 12345678, to = 12345680, count = 3}":          "12345678 12345679 12345680",
	} {
		var got []string
		for _, point := range mustPlan(t, "[vary]\n"+text).Points {
			got = append(got, point...)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", text, s, want)
		}
	}
	draws := func(line string) string {
		p := mustPlan(t, "[sweep]\nmethod = 'random'\ndraws = 3\n"+line+"[vary]\nlr = {from = 0, to = 1}")
		return fmt.Sprint(p.Points)
	}
	if one := draws(""); one != draws("draw-seed = 1\n") || one == draws("draw-seed = 2\n") {
		t.Errorf("draws %s, of seed 1 %s, of seed 2 %s", one, draws("draw-seed = 1\n"), draws("draw-seed = 2\n"))
	}
}

// TestFolders checks that runs without seeds are one for each setting, and that folders are named after settings:
// short, of plain characters, and another one for every value, also of a setting of all runs.
func TestFolders(t *testing.T) {
	const vary = "[vary]\ndata = ['a/b c', 'a/b_c', '%s']"
	long := strings.Repeat("x", 300)
	seen := map[string]bool{}
	for _, top := range []string{"", "batch = 8\n", "batch = 9\n"} {
		p := mustPlan(t, top+fmt.Sprintf(vary, long))
		runs := p.Rung(0, p.All())
		if len(runs) != 3 {
			t.Fatalf("%d runs without seeds, want one for each setting", len(runs))
		}
		for _, r := range runs {
			name := r.Folder()
			if seen[name] || len(name) > 80+8 || strings.ContainsAny(name, "/ ") || !strings.HasPrefix(name, "data=") {
				t.Errorf("%d characters: folder %q", len(name), name)
			}
			seen[name] = true
		}
	}
}

// TestTiedSettings ranks settings of equal loss by their accuracy, and adds up what they took.
func TestTiedSettings(t *testing.T) {
	p := mustPlan(t, "[vary]\nlr = [0.1, 0.01, 0.001]\nseed = [1, 2]")
	all := results(p.Rung(0, p.All()))
	for i, r := range all {
		r.ValLoss, r.ValAccuracy, r.Seconds = 0.5, separation.Float(0.7+0.1*float64(i/2%2)), float64(i)
	}
	r := p.Report(all)
	var order []string
	for _, g := range r.Table {
		order = append(order, fmt.Sprint(g.settings[0].Value, " ", g.Seconds))
	}
	if s := strings.Join(order, ", "); s != "0.01 2.5, 0.1 0.5, 0.001 4.5" || r.Seconds != 15 {
		t.Errorf("%s; %v s in all", s, r.Seconds)
	}
	for most, want := range map[int]int{0: 4, 1: 2, 2: 3, 3: 4} {
		if n := len(r.Rows(most)); n != want {
			t.Errorf("%d rows with the header, at most %d of settings", n, most)
		}
	}
}

// TestSecond checks what is said of the second setting: by how much, and whether it may be as good.
func TestSecond(t *testing.T) {
	for _, c := range []struct {
		seeds, by        string
		losses           []float64 // of both settings, with each seed
		accuracies       []float64
		failed           int // a run of the second setting, or -1
		want, wantBefore string
	}{
		{"", "loss", []float64{1, 1.5}, []float64{0.9, 0.8}, -1, "a validation loss that differs by 0.5000; with one " +
			"seed nobody knows", "with a validation loss of 1.0000 and an accuracy of 90.00%."},
		{"seed = [1, 2]", "loss", []float64{1, 2, 1.5, 1.75}, []float64{0.9, 0.8, 0.7, 0.6}, -1,
			"differs by 0.1250 in the mean and is worse with 1 of 2 seeds",
			"loss of 1.5000 (mean of 2 seeds; 1.0000 to 2.0000) and an accuracy of 85.00%."},
		{"seed = [1, 2]", "loss", []float64{1, 2, 1.5, 2.75}, []float64{0.9, 0.8, 0.7, 0.6}, -1,
			"differs by 0.6250 in the mean and is worse with every seed", ""},
		{"seed = [1, 2]", "accuracy", []float64{1, 1, 1, 1}, []float64{0.9, 0.8, 0.85, 0.6}, -1,
			"a validation accuracy that differs by 0.1250 in the mean and is worse with every seed", ""},
		{"seed = [1, 2]", "loss", []float64{1, 2, 1.5, 2}, []float64{0.9, 0.8, 0.7, 0.6}, 3, "", ""},
	} {
		p := mustPlan(t, fmt.Sprintf("[sweep]\nby = '%s'\n[vary]\nlr = [0.1, 0.01]\n%s", c.by, c.seeds))
		all := results(p.Rung(0, p.All()))
		for i, r := range all {
			r.ValLoss, r.ValAccuracy = separation.Float(c.losses[i]), separation.Float(c.accuracies[i])
			if i == c.failed {
				r.Status, r.Error = Failed, "the loss is not finite"
			}
		}
		text := strings.Join(p.Report(all).Summary(), "\n")
		if says := strings.Contains(text, "Second: "); says != (c.want != "") || !strings.Contains(text, c.want) ||
			!strings.Contains(text, c.wantBefore) {
			t.Errorf("%s, want %q and %q", text, c.wantBefore, c.want)
		}
	}
	// A setting that came less far is not compared.
	p := mustPlan(t, "epochs = 9\n[sweep]\nmethod = 'halving'\n[vary]\nlr = [0.1, 0.01, 0.001]")
	first := results(p.Rung(0, p.All()))
	all := slices.Concat(first, results(p.Rung(1, p.Next(first))))
	r := p.Report(all)
	if text := strings.Join(r.Summary(), "\n"); strings.Contains(text, "Second: ") {
		t.Errorf("the second setting had fewer epochs: %s", text)
	}
	if rows := r.Rows(0); rows[0][2] != "epochs" || rows[1][2] != "9" || rows[2][2] != "3" {
		t.Errorf("epochs of the last rungs: %q", rows)
	}
	p = mustPlan(t, "[vary]\ndata-seed = [1, 2]")
	text := strings.Join(p.Report(results(p.Rung(0, p.All()))).Summary(), "\n")
	if !strings.Contains(text, "Settings of other data-seed were validated on other samples") {
		t.Errorf("other samples: %s", text)
	}
}

// TestCurvesAndAxes checks the band of a curve, which curves are left out, and the axes of parallel coordinates.
func TestCurvesAndAxes(t *testing.T) {
	p := mustPlan(t, "[sweep]\nby = 'accuracy'\n[vary]\nform = ['full', 'diag']\nlr = [0.01, 0.1, 0.2]\n"+
		"batch = [8, 16, 32]\nseed = [1, 2]")
	all := results(p.Rung(0, p.All()))
	for i, r := range all {
		r.ValAccuracy = separation.Float(0.9 - 0.01*float64(i))
		r.Curve = Curve{2, separation.Float(1 + i%2)}
		r.ValLoss = 1
		if i/2 > mostCurves { // far worse than the best
			r.ValLoss = 10
		}
	}
	r := p.Report(all)
	point := r.Table[0].curve()[1]
	if point.X != 2 || point.Y != 1.5 || point.Low != 1 || point.High != 2 {
		t.Errorf("the second epoch: %+v, want the mean 1.5 from 1 to 2", point)
	}
	if n := len(r.curves().Series); n != mostCurves+1 {
		t.Errorf("%d curves, want %d and one in grey", n, mostCurves)
	}
	f := r.parallel()
	var axes []string
	for _, a := range f.Axes {
		axes = append(axes, fmt.Sprint(a.Name, " ", a.Log, " ", a.Names))
	}
	if s := strings.Join(axes, ", "); s != "form false [full diag], batch false [], lr true [], val accuracy false []" {
		t.Errorf("axes %s", s)
	}
	if v := f.Axes[3].Values[0]; !(math.Abs(v-0.895) <= 1e-12) {
		t.Errorf("accuracy %v, want the mean 0.895", v)
	}

	all[0].ValLoss = separation.Float(math.NaN())
	var b bytes.Buffer
	if err := p.Report(all).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(b.String(), "\n")[1]; !strings.Contains(line, ",finished,,0.9,") {
		t.Errorf("a loss that is no number: %s", line)
	}
}

// TestFailedAxis keeps the axis of the losses logarithmic where a setting failed.
func TestFailedAxis(t *testing.T) {
	p := mustPlan(t, "[vary]\nlr = [1, 2, 3]")
	all := results(p.Rung(0, p.All()))
	all[0].ValLoss, all[1].ValLoss, all[2].Status = 0.1, 5, Failed
	if axes := p.Report(all).parallel().Axes; !axes[1].Log {
		t.Errorf("losses 0.1 and 5 beside a failed one: %+v", axes[1])
	}
	all[0].Status, all[1].Status = Failed, Failed
	if axes := p.Report(all).parallel().Axes; axes[1].Log {
		t.Errorf("all failed: %+v", axes[1])
	}
}

// TestCommand writes truths with a sign of equality, as flags take them.
func TestCommand(t *testing.T) {
	run := Run{Settings: []Setting{{"layer-norm", "false"}, {"contrast", "true"}, {"lr", "0.1"}}}
	const want = "dpnbench train --layer-norm=false --contrast=true --lr 0.1 --out folder"
	if got := Command(run, "", "folder"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDataNames names the data sets of the runs, in the order of the plan, also where none is known.
func TestDataNames(t *testing.T) {
	p := mustPlan(t, "[vary]\ndata = ['b', 'a']\nseed = [1, 2]")
	all := results(p.Rung(0, p.All()))
	for _, c := range []struct{ names, title string }{
		{"b b a a", "Sweep of data on b, a"}, {"- b a -", "Sweep of data on b, a"}, {"- - - -", "Sweep of data"},
	} {
		for i, name := range strings.Fields(c.names) {
			all[i].Data = strings.Trim(name, "-")
		}
		if got := p.Report(all).Page(nil).Title; got != c.title {
			t.Errorf("%s: title %q, want %q", c.names, got, c.title)
		}
	}
}
