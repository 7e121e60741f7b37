package sweep

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/internal/webtest"
)

// planOf reads a plan from a text.
func planOf(t *testing.T, text string) (*Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sweep.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

func mustPlan(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := planOf(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSettings writes settings as JSON: a text stays one if it looks like a number.
func TestSettings(t *testing.T) {
	got := settings([]Setting{{"data", "2024"}, {"val-data", "true"}, {"form", "full"}, {"lr", "1e-3"},
		{"layer-norm", "true"}, {"seed", "7"}})
	want := map[string]string{"data": `"2024"`, "val-data": `"true"`, "form": `"full"`, "lr": "1e-3",
		"layer-norm": "true", "seed": "7"}
	for name, text := range want {
		if string(got[name]) != text {
			t.Errorf("%s: %s, want %s", name, got[name], text)
		}
	}
}

// TestBadPlans reads files that are wrong: the error is one line with the key and what was expected.
func TestBadPlans(t *testing.T) {
	for _, c := range [][2]string{
		{"", "expected a table [vary]"},
		{"epochs = 3", "expected a table [vary]"},
		{"vary = 3", "expected a table, [vary]"},
		{"[vary", "expected"},
		{"epoch = 3\n[vary]\nlr=[1]", `line 1: unknown setting "epoch"`},
		{"epochs = 1.5\n[vary]\nlr=[1]", "epochs 1.5: expected a whole number"},
		{"lr = 1\n[vary]\nlr = [1]", "lr: given at the top and in [vary]"},
		{"[vary]\nlrr = [1]", "vary.lrr: unknown setting"},
		{"[vary]\nlrs = [1]\nlrr = [1]", "vary.lrr: unknown setting"}, // the first one by name
		{"[vary]\nlr = 3", "vary.lr: expected a list of values"},
		{"[vary]\nlr = []", "vary.lr: expected at least one value"},
		{"[vary]\nlr = [1, 2, 1]", "vary.lr: 1 is given twice"},
		{"[vary]\nlr = [1, 'x']", "vary.lr \"x\": expected a number, got a text"},
		{"[vary]\nbatch = [1, 1.5]", "vary.batch 1.5: expected a whole number"},
		{"[vary]\nlr = {from = 1}", "vary.lr: expected from and to"},
		{"[vary]\nlr = {from = 2, to = 1, count = 2}", "numbers with from below to"},
		{"[vary]\nlr = {from = -1, to = 1, count=2, log=true}", "vary.lr: from: expected a number above 0"},
		{"[vary]\nlr = {from = 1, to = 2}", "vary.lr: expected count"},
		{"[vary]\nlr = {from = 1, to = 2, count = 1}", "vary.lr: count: got 1, expected a whole"},
		{"[vary]\nlr = {from = 1, to = 2, step = 1}", `vary.lr: unknown "step"; expected from, to`},
		{"[vary]\nlr = {from = 1, to = 2, count = 2, log = 3}", "vary.lr: log: got 3, expected true or false"},
		{"[vary]\nform = {from = 'a', to = 'b', count = 2}", "vary.form: a range of what has no numbers"},
		{"[vary]\nseed = {from = 1, to = 3, count = 3}", "vary.seed: expected a list"},
		{"[vary]\nlr = {from = 1, to = inf, count = 3}", "vary.lr: expected from and to"},
		{"[vary]\nlr=[1]\n[sweep]\nmethod = 'best'", "sweep.method: got best, expected one of grid, "},
		{"[vary]\nlr=[1]\n[sweep]\nby = 1", "sweep.by: got 1, expected one of loss"},
		{"[vary]\nlr=[1]\n[sweep]\nseeds = 3", "sweep.seeds: unknown; expected one of"},
		{"[vary]\nlr=[1]\n[sweep]\ndraws = 3", `sweep.draws: method "grid" does not use it`},
		{"[vary]\nlr=[1]\n[sweep]\nmethod='random'", "sweep.draws: expected the number"},
		{"[vary]\nlr=[1]\n[sweep]\nmethod='random'\ndraws=0", "sweep.draws: got 0, expected a whole"},
		{"[vary]\nlr=[1]\n[sweep]\nmethod='halving'", `epochs: method "halving" needs it at the top`},
		{"[vary]\nlr={from=1,to=2,count=200}\nalpha={from=1,to=2,count=200}", "more than 10000 runs"},
	} {
		text, want := c[0], c[1]
		_, err := planOf(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), "sweep.toml: ") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// runsOf are the settings of the runs of the first rung, in order.
func runsOf(p *Plan) (out []string) {
	for _, r := range p.Rung(0, p.All()) {
		out = append(out, fmt.Sprintf("%d: %s in %s", r.Index, Text(r.Settings), r.Folder()))
	}
	return out
}

// TestPlanOrder checks that the order of lines changes nothing, and what the runs are.
func TestPlanOrder(t *testing.T) {
	lines := []string{"lr = [0.1, 0.01]", "seed = [1, 2]", "components = {from = 2, to = 4, count = 5}",
		`form = ["full", "diag"]`}
	want := runsOf(mustPlan(t, "batch = 8\npreset = 'compact'\n[vary]\n"+strings.Join(lines, "\n")))
	if len(want) != 2*2*3*2 || !strings.HasPrefix(want[1],
		"1: preset compact, components 2, form full, batch 8, lr 0.1, seed 2 in components=2_form=full_lr=0.1_") {
		t.Errorf("%d runs: %q", len(want), want)
	}
	for range len(lines) {
		lines = append(lines[1:], lines[0])
		got := runsOf(mustPlan(t, "preset = 'compact'\nbatch = 8\n[vary]\n"+strings.Join(lines, "\n")))
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}

// TestDraws checks that drawn numbers lie in their ranges and that more draws keep the first ones.
func TestDraws(t *testing.T) {
	text := "[sweep]\nmethod = 'random'\ndraws = %d\n[vary]\nlr = {from = 1e-4, to = 1e-1, log = true}\n" +
		"components = {from = 3, to = 5}\nform = ['full', 'diag']"
	few, many := mustPlan(t, fmt.Sprintf(text, 10)), mustPlan(t, fmt.Sprintf(text, 100))
	if !reflect.DeepEqual(few.Points, many.Points[:10]) || len(many.Points) != 100 {
		t.Errorf("%q are not the first of %q", few.Points, many.Points)
	}
	low := 0
	for _, p := range many.Points {
		k, err := strconv.Atoi(p[0])
		lr, lrErr := strconv.ParseFloat(p[2], 64)
		if err != nil || lrErr != nil || k < 3 || k > 5 || lr < 1e-4 || lr > 1e-1 || len(p[2]) > 9 {
			t.Errorf("drew %q", p)
		}
		if lr < 3.2e-3 { // the middle
			low++
		}
	}
	if low < 30 || low > 70 {
		t.Errorf("%d of 100 rates are in the lower half", low)
	}
	if n := len(mustPlan(t, "[sweep]\nmethod = 'random'\ndraws = 9\n[vary]\nform = ['full', 'diag']").Points); n != 2 {
		t.Errorf("%d settings of 2", n)
	}
}

// Each whole number of a range is drawn as often as any other, also the first and the last one; on the log scale small
// ones more often. Five standard deviations of a share of 10,000 draws are 0.025.
func TestWholeDraws(t *testing.T) {
	p := mustPlan(t, "[sweep]\nmethod = 'random'\ndraws = 10000\n[vary]\ncomponents = {from = 2, to = 4}\n"+
		"steps = {from = 1, to = 3, log = true}\nlr = {from = 1e-6, to = 1.0, log = true}")
	shares := map[string]float64{}
	for _, point := range p.Points {
		for i, a := range p.Axes {
			shares[a.Name+" "+point[i]] += 1 / float64(len(p.Points))
		}
	}
	for name, want := range map[string]float64{
		"components 2": 1. / 3, "components 3": 1. / 3, "components 4": 1. / 3,
		"steps 1": math.Log(3) / math.Log(7), "steps 2": math.Log(5./3) / math.Log(7),
		"steps 3": math.Log(7./5) / math.Log(7),
	} {
		if !(math.Abs(shares[name]-want) <= 0.025) {
			t.Errorf("%s: a share of %.3f, want %.3f", name, shares[name], want)
		}
	}
}

// results invents results of runs: a loss that is least at lr 0.01.
func results(runs []Run) (all []*Result) {
	for _, r := range runs {
		x := NewResult(r, "out/runs/"+r.Folder())
		lr := 0.0
		for _, s := range r.Settings {
			if s.Name == "lr" {
				lr, _ = strconv.ParseFloat(s.Value, 64)
			}
		}
		x.Status, x.Seconds, x.BestEpoch, x.Updates = Finished, 1.5, 3, 300
		off := math.Abs(math.Log10(lr) + 2)
		for epoch := range 3 {
			x.Curve = append(x.Curve, separation.Float(0.3+off+1/float64(1+epoch)+0.01*float64(r.Index%3)))
		}
		x.ValLoss, x.ValAccuracy = x.Curve[2], separation.Float(0.9-off/10)
		x.TestAccuracy, x.TestSamples, x.Data = 0.91, 1000, "digits"
		all = append(all, x)
	}
	return all
}

// TestHalving checks the rungs, who comes to the next one, and the order in the end.
func TestHalving(t *testing.T) {
	p := mustPlan(t, "epochs = 20\n[sweep]\nmethod = 'halving'\nleast-epochs = 2\n[vary]\n"+
		"lr = {from = 1e-4, to = 1.0, log = true, count = 9}\nseed = [1, 2]")
	if !slices.Equal(p.Epochs, []int{2, 6, 20}) || p.Runs() != 2*(9+3+1) || p.First(1) != 18 {
		t.Fatalf("rungs of %v epochs, %d runs", p.Epochs, p.Runs())
	}
	first := results(p.Rung(0, p.All()))
	next := p.Next(first)
	if !slices.Equal(next, []int{3, 4, 5}) {
		t.Errorf("points %v go on", next)
	}
	second := results(p.Rung(1, next))
	if s := Text(second[0].Settings); second[0].Index != 18 || s != "epochs 6, lr 0.003162, seed 1" {
		t.Errorf("run %d of the second rung: %s", second[0].Index, s)
	}
	last := results(p.Rung(2, p.Next(second)))
	groups := p.Rank(slices.Concat(first, second, last))
	var order []int
	for _, g := range groups {
		order = append(order, g.Runs[0].Point)
	}
	if !slices.Equal(order[:3], []int{4, 3, 5}) || len(order) != 9 || groups[0].Of != 3 || groups[1].Of != 2 {
		t.Errorf("order %v", order)
	}

	// The best setting of an earlier rung is left if no run of the last rung finished.
	all := slices.Concat(first, second, last)
	fail := func(list []*Result) {
		for _, x := range list {
			x.Status, x.Error = Failed, "the loss is not finite"
			x.ValLoss, x.ValAccuracy = separation.Float(math.NaN()), separation.Float(math.NaN())
		}
	}
	fail(last)
	r := p.Report(all)
	if s := r.Summary(); r.Best == nil || r.Best.Index != second[0].Index || r.Table[8].Runs[0] != last[0] ||
		!strings.HasPrefix(s[0], "Best of 9 settings: lr 0.003162 ") ||
		!strings.Contains(s[len(s)-1], "2 of 26 runs failed") {
		t.Errorf("all runs of the last rung failed: best %+v, %q", r.Best, s)
	}
	fail(second)
	fail(slices.DeleteFunc(slices.Clone(first), func(x *Result) bool { return slices.Contains(next, x.Point) }))
	if r = p.Report(all); r.Best != nil ||
		r.Summary()[0] != "No setting finished a run of its last rung: the loss is not finite" {
		t.Errorf("all last runs failed: best %+v, %q", r.Best, r.Summary())
	}
}

// TestRank checks mean, deviation and range, that failed settings come last and that the order of results is of no
// account.
func TestRank(t *testing.T) {
	p := mustPlan(t, "[sweep]\nby = 'accuracy'\n[vary]\nlr = [0.1, 0.01, 0.001]\nseed = [1, 2, 3]")
	all := results(p.Rung(0, p.All()))
	nan := separation.Float(math.NaN())
	all[4].Status, all[4].ValLoss, all[4].ValAccuracy = Failed, nan, nan
	all[0].ValAccuracy, all[1].ValAccuracy, all[2].ValAccuracy = 0.5, 0.6, 0.7
	r := p.Report(all)
	a := r.Table[1].Accuracy
	if r.Table[2].Failed != 1 || !(math.Abs(float64(a.Mean)-0.6) <= 1e-12) ||
		!(math.Abs(float64(a.SD)-0.1) <= 1e-12) ||
		a.Min != 0.5 || a.Max != 0.7 || r.Best.Index != 6 {
		t.Errorf("best %+v, table %+v", r.Best.Index, r.Table[1])
	}
	all[6].ValLoss, all[7].ValLoss = 0.9, 0.2 // of the same accuracy
	if r = p.Report(all); r.Best.Index != 7 {
		t.Errorf("best %+v, want the run of the smallest loss among those of the best accuracy", r.Best.Index)
	}
	lost := results(p.Rung(0, p.All())) // all of one setting, and one of another
	for _, i := range []int{0, 1, 2, 5} {
		lost[i].Status, lost[i].ValLoss, lost[i].ValAccuracy = Failed, nan, nan
	}
	if g := p.Rank(lost); g[1].Failed != 1 || g[2].Failed != 3 {
		t.Errorf("%d, %d and %d failed runs", g[0].Failed, g[1].Failed, g[2].Failed)
	}
	rows := r.Rows(0)
	for range len(all) {
		all = append(all[1:], all[0])
		slices.SortStableFunc(all, func(a, b *Result) int { return a.Rung - b.Rung })
		if got := p.Report(all).Rows(0); !slices.Equal(got[1][:2], rows[1][:2]) {
			t.Errorf("%q, want %q", got, rows)
		}
	}
	if head := strings.Join(rows[0], ","); head != "rank,lr,val loss,sd,range,accuracy,sd,time,failed" {
		t.Error(head)
	}
	for _, x := range all {
		x.Status = Failed
	}
	all[0].Error = "the loss is not finite"
	if s := p.Report(all).Summary(); s[0] != "All runs failed: the loss is not finite" {
		t.Error(s)
	}
}

// sample is a report with all parts.
func sample(t *testing.T) *Report {
	p := mustPlan(t, "preset = 'compact'\ncontrast = true\n[vary]\n"+
		"lr = {from = 1e-4, to = 1.0, log = true, count = 9}\ncomponents = [5, 10]\n"+
		"form = ['full', 'diag']\nseed = [1, 2, 3]")
	all := results(p.Rung(0, p.All()))
	last := all[len(all)-1]
	last.Status, last.ValLoss, last.Error = Failed, separation.Float(math.NaN()), "the loss is not finite"
	return p.Report(all)
}

func page(t *testing.T) []byte {
	var b bytes.Buffer
	if err := sample(t).Page(nil).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPage checks the markup of the page and what it says.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: draws figures, slow under emulation")
	}
	text := string(page(t))
	webtest.Check(t, text)
	text = regexp.MustCompile(`<span class="word">([^<]*)</span>`).ReplaceAllString(text, "$1")
	for _, want := range []string{"Sweep of components, form, lr on digits",
		"Best of 36 settings: components 5, form full, lr 0.01", "the two may be equally good",
		"91.00% of 1,000 test samples",
		"1 of 108 runs failed. Run 107 (components 10, form diag, lr 1, seed 3): the loss is not finite.",
		"dpnbench train --preset compact --contrast=true --components 5 --form full --lr 0.01 --seed 1 " +
			"--overwrite --out "} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if best, second := strings.Index(text, "Its best run"), strings.Index(text, "Second: "); best < 0 || best > second {
		t.Error("the best run is not that of the setting named before it")
	}
}

// TestPageInBrowser opens the page at the width of a desktop and of a phone.
func TestPageInBrowser(t *testing.T) {
	b := webtest.Start(t)
	b.CheckWidths(page(t), 2)
}

// TestCSV checks the rows of runs.
func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := sample(t).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 109 || lines[0] != "index,rung,epochs,components,form,lr,seed,status,val_loss,"+
		"val_accuracy,best_epoch,updates,seconds,weights_sha256,folder" ||
		!strings.HasPrefix(lines[2], "1,1,3,5,full,0.0001,2,finished,2.64") {
		t.Errorf("%d lines: %q", len(lines), lines[:3])
	}
}
