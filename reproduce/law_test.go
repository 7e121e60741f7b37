package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/plot"
)

// checkLaw checks what holds for the law on any images.
func checkLaw(t *testing.T, l *LawResult) {
	t.Helper()
	for _, n := range l.Networks {
		run := n.Runs[0]
		if len(n.Layers) != len(run.D) || n.Layers[0] != "input" || n.Layers[len(n.Layers)-1] != "logits" {
			t.Errorf("law: %s: layers %v, D %v", n.Name, n.Layers, run.D)
		}
		points := len(n.Layers) - 1
		if slices.Contains(n.Layers, "features") {
			points--
		}
		if run.Law == nil || run.Law.Points != points {
			t.Errorf("law: %s: the fit is not of all layers but the logits: %+v", n.Name, run.Law)
		}
		if run.Loads != nil {
			sum := 0.0
			for _, v := range run.Loads {
				sum += v
			}
			if len(run.Loads) != points-1 || !(math.Abs(sum-1) <= 1e-9) {
				t.Errorf("law: %s: loads %v", n.Name, run.Loads)
			}
		}
		if n.Kind != lawDPN && (len(run.Emergence) != 2 || run.Emergence[1].Epoch != 1) {
			t.Errorf("law: %s: emergence %v, want that of epochs 0 and 1", n.Name, run.Emergence)
		}
	}
}

// TestLawCells checks the settings of the networks: the nine published ones, and names that make parts of their own.
func TestLawCells(t *testing.T) {
	for _, c := range []struct {
		matrix    bool
		all, law  int
		published map[string]int
	}{
		{false, 21, 11, map[string]int{lawSettings: 9, lawPlain: 3, lawLinear: 3, lawResidual: 1, lawCNN: 1,
			lawDPN: 4}},
		{true, 46, 16, map[string]int{lawSettings: 9, lawRates: 18, lawPlain: 4, lawLinear: 4, lawSkewed: 3,
			lawWidths: 2}},
	} {
		kinds, files, found := map[string]int{}, map[string]bool{}, 0
		list := lawNetworks(10, LawOptions{Epochs: 600, Matrix: c.matrix})
		for _, cell := range list {
			kinds[cell.Kind]++
			files[fileOf("law: "+cell.Name+", seed 1")] = true
			if cell.Published == foundLaw {
				found++
			}
			if cell.network == nil {
				continue
			}
			if err := cell.training.Validate(); err != nil {
				t.Errorf("%s: %v", cell.Name, err)
			}
			n, err := cell.network(1)
			if err != nil {
				t.Fatalf("%s: %v", cell.Name, err)
			}
			if n.In != 100 || n.Classes != 10 {
				t.Errorf("%s: %d numbers to %d classes", cell.Name, n.In, n.Classes)
			}
		}
		if len(list) != c.all || len(files) != c.all || found != c.law {
			t.Errorf("matrix %t: %d networks, %d files, %d with the law", c.matrix, len(list), len(files), found)
		}
		for kind, n := range c.published {
			if kinds[kind] != n {
				t.Errorf("matrix %t: %d of kind %q, want %d", c.matrix, kinds[kind], kind, n)
			}
		}
	}
	momentum := lawNetworks(10, LawOptions{Epochs: 600})[5]
	if tr := momentum.training; momentum.Name != "momentum 0.001, 20 layers" || tr.Optimiser != baseline.SGD ||
		tr.Momentum != 0.9 || tr.LR != 1e-3 || tr.WeightDecay != 5e-4 || tr.Epochs != 600 {
		t.Errorf("%s: %+v", momentum.Name, tr)
	}
}

// TestLowestLoss marks the rate with the lowest training loss, whatever its law; a failed training never wins.
func TestLowestLoss(t *testing.T) {
	nan := separation.Float(math.NaN())
	cell := func(kind string, depth int, losses ...separation.Float) LawNetwork {
		n := LawNetwork{Kind: kind, Optimiser: "SGD", Depth: depth}
		for _, v := range losses {
			n.Runs = append(n.Runs, LawRun{TrainLoss: v})
		}
		return n
	}
	l := &LawResult{Networks: []LawNetwork{cell(lawSettings, 4, nan, 0.1), cell(lawRates, 4, 0.3, 0.3),
		cell(lawRates, 4, 0.2, 0.3), cell(lawSettings, 8, 0.1), cell(lawPlain, 4, 0)}}
	l.markLowestLoss()
	for i, n := range l.Networks {
		if n.LowestLoss != (i == 2) {
			t.Errorf("network %d: %t", i, n.LowestLoss)
		}
	}
}

// TestFailedTraining makes a training that is not finite a result, which the page and the claims can show.
func TestFailedTraining(t *testing.T) {
	u := lawUnit{Layers: []string{"input", "hidden 1", "logits"}}
	u.fail("epoch 1, update 3: the loss is not finite")
	if err := u.check("law: x, seed 1"); err != nil {
		t.Fatal(err)
	}
	r := results(false)
	r.Law.Networks[0].Layers, r.Law.Networks[0].Runs = u.Layers, []LawRun{u.Run}
	use(r)
	if _, said := r.Law.Networks[0].verdict(); said != "no line" {
		t.Errorf("the verdict is %q", said)
	}
}

// TestDivergedTraining takes what is not finite for the result of a training, and no other error.
func TestDivergedTraining(t *testing.T) {
	for _, err := range []error{&baseline.NotFiniteError{}, &layer.OutputError{What: "logit", Of: "image"}} {
		u := lawUnit{Layers: []string{"input", "logits"}}
		if got := u.failedBy(fmt.Errorf("law: %w", err)); got != nil || !strings.HasPrefix(u.Run.Failed, "law: ") ||
			len(u.Run.D) != 2 || len(u.Run.TestD) != 2 {
			t.Errorf("%T: error %v, run %+v", err, got, u.Run)
		}
	}
	var u lawUnit
	if err := errors.New("disk full"); u.failedBy(err) != err || u.Run.Failed != "" {
		t.Errorf("another error: run %+v", u.Run)
	}
}

// TestUnknownFuzziness gives no verdict on trained potentials whose D is not known.
func TestUnknownFuzziness(t *testing.T) {
	r := results(false)
	if judgeTrained(r.Trained).verdict == "" || judgeRise(r.Trained).verdict == "" {
		t.Fatal("no verdict where D is known")
	}
	run := &r.Trained.Runs[0]
	run.Analysis.StepsLaw = nil
	run.Analysis.Steps[0].Fuzziness = separation.Float(math.NaN())
	if j := judgeTrained(r.Trained); j.verdict != "" || j.why != unknownD {
		t.Errorf("without a line: %+v", j)
	}
	if j := judgeRise(r.Trained); j.verdict != "" || j.why != unknownD {
		t.Errorf("without D of x_0: %+v", j)
	}
}

// TestLawOnItsOwnData judges the claims about the law on Fashion-MNIST, and no others.
func TestLawOnItsOwnData(t *testing.T) {
	for _, known := range []bool{false, true} {
		r := results(false)
		r.MNIST, r.Law.Known = false, known
		for _, c := range Claims(r) {
			law := c.ID == "law-feed-forward" || c.ID == "law-universal"
			if judged := c.Verdict != Untested; law && judged != known {
				t.Errorf("%s: %s, data of the law %t", c.ID, c.Verdict, known)
			} else if !law && judged && !argued(c) {
				t.Errorf("%s: %s, on images that are not MNIST's", c.ID, c.Verdict)
			}
		}
	}
}

// TestLawInPart judges trainings of which some follow the law.
func TestLawInPart(t *testing.T) {
	r := results(false)
	r.Law.Networks[0].Runs[1] = results(true).Law.Networks[0].Runs[1]
	j := judgeLaw(r.Law)
	why := "8 layers: follows in 1 of 2, does not fall in 1 of 2."
	measured := "1 of 2 trainings follow it; Pearson -1.000 to 1"
	if j.verdict != InPart || !strings.HasSuffix(j.why, why) || !strings.HasPrefix(j.measured, measured) {
		t.Errorf("%s: %s %s", j.verdict, j.measured, j.why)
	}
}

// TestEachOn runs work side by side on engines of one thread, and stops at an error and at the end of the context.
func TestEachOn(t *testing.T) {
	e := newEngine(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	var calls atomic.Int32
	if err := eachOn(ctx, e, 50, func(e *engine.Engine, i int) error {
		if calls.Add(1); e.Threads() != 1 {
			t.Errorf("an engine of %d threads", e.Threads())
		}
		return nil
	}); err != nil || calls.Load() != 50 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
	broken := errors.New("broken")
	calls.Store(0)
	if err := eachOn(ctx, e, 1000, func(*engine.Engine, int) error { calls.Add(1); return broken }); err != broken ||
		calls.Load() > 2 {
		t.Errorf("%d calls, error %v, want %v", calls.Load(), err, broken)
	}
	cancel()
	if err := eachOn(ctx, e, 3, func(*engine.Engine, int) error { return broken }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestLawPage draws every figure of the law, and shows the bound and the names of what was measured.
func TestLawPage(t *testing.T) {
	r := results(false)
	figures := lawFigures(r.Law)
	if len(figures) != 3 {
		t.Fatalf("%d figures", len(figures))
	}
	for _, f := range figures {
		if _, err := plot.Embed(f.Figure, "", false); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if first := Page(Results{Law: r.Law}, nil).First; len(first) != 1 || plot.HasPanels(first[0].Figure) {
		t.Errorf("%d figures beside the summary, or panels", len(first))
	}
	row := lawTable(r.Law).Rows[0]
	if text := strings.Join(row.Cells, "|"); row.Said != "follows" || !strings.Contains(text, "straight|law") {
		t.Errorf("%q, cells %s", row.Said, text)
	}
}
