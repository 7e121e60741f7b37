package reproduce

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/webtest"
	"dpnbench/plot"
	"dpnbench/report"
)

func newEngine(tb testing.TB, threads int) *engine.Engine {
	tb.Helper()
	e, err := engine.New(engine.WithThreads(threads))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// digits are a few built-in digits: enough to run every experiment, too few for meaningful
// figures.
var digits = sync.OnceValue(func() *dataset.Data {
	d, err := source.Open("digits", source.Options{Seed: 1, TrainSize: 1500, TestSize: 1400})
	if err != nil {
		panic(err)
	}
	return d
})

// onward is a progress that must not go back.
func onward() Progress {
	last, most := 0, 0
	return func(what string, done, all int) {
		if done < last || done > all || most != 0 && all != most {
			panic(fmt.Sprintf("%s: progress from %d of %d to %d of %d", what, last, most, done, all))
		}
		last, most = done, all
	}
}

// experiments are all of them but robust, on a small scale.
func experiments(e *engine.Engine, d *dataset.Data) map[string]runner {
	return map[string]runner{
		"table1": func(ctx context.Context, p *Parts) (r Results, err error) {
			r.Table1, err = RunTable1(ctx, e, d, Table1Options{Seeds: 3, Trained: 1, Whole: 1, Draws: 20, Subsets: 2,
				Progress: onward(), Parts: p})
			return r, err
		},
		"law": func(ctx context.Context, p *Parts) (r Results, err error) {
			r.Law, err = RunLaw(ctx, e, d, LawOptions{Seeds: 1, Epochs: 2, few: true, Progress: onward(), Parts: p})
			return r, err
		},
		"trained": func(ctx context.Context, p *Parts) (r Results, err error) {
			r.Trained, err = RunTrained(ctx, e, d, TrainedOptions{Presets: []string{"compact"}, Seeds: 1, Epochs: 1,
				Draws: 20, Progress: onward(), Parts: p})
			return r, err
		},
		"poster": func(ctx context.Context, p *Parts) (r Results, err error) {
			r.Poster, err = RunPoster(ctx, e, d, PosterOptions{Seeds: 1, Epochs: 2, Progress: onward(), Parts: p})
			return r, err
		},
		"field": func(ctx context.Context, p *Parts) (r Results, err error) {
			r.Field, err = RunField(ctx, e, d, FieldOptions{Images: 20, Progress: onward(), Parts: p})
			return r, err
		},
	}
}

// merge adds the experiment of b to a.
func merge(a *Results, b Results) {
	switch {
	case b.Table1 != nil:
		a.Table1 = b.Table1
	case b.Law != nil:
		a.Law = b.Law
	case b.Trained != nil:
		a.Trained = b.Trained
	case b.Poster != nil:
		a.Poster = b.Poster
	default:
		a.Field = b.Field
	}
}

// clocks removes measured times.
func clocks(r Results) {
	if r.Poster == nil {
		return
	}
	for _, network := range posterNetworks {
		for _, p := range *network.runs(r.Poster) {
			for i := range p.Epochs {
				p.Epochs[i].Seconds = 0
			}
		}
	}
}

// TestExperiments runs everything on a few digits, on two threads, and on one with an interruption after each
// part, and checks properties of figures, claims and page that hold for any data.
func TestExperiments(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains networks for half a minute")
	}
	var r Results
	var merging sync.Mutex
	t.Run("parts", func(t *testing.T) { // ends after all of them
		for name, parts := range map[string]int{"table1": 3, "law": 5, "trained": 3, "poster": 8, "field": 8} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				first := whole(t, experiments(newEngine(t, 2), digits())[name])
				again, n := interrupted(t, experiments(newEngine(t, 1), digits())[name])
				if n != parts {
					t.Errorf("%d parts, want %d", n, parts)
				}
				equal(t, first, again)
				merging.Lock()
				defer merging.Unlock()
				merge(&r, first)
			})
		}
	})
	if r.Table1 == nil || r.Law == nil || r.Trained == nil || r.Poster == nil || r.Field == nil {
		return // one has failed, or is left out by -run
	}

	for _, p := range r.Table1.Few {
		if n := p.Analysis.Samples; n != 32 {
			t.Errorf("table1: %d images, want 32", n)
		}
		if len(p.Analysis.Steps) != 11 {
			t.Errorf("table1: %d steps, want x_0 to x_10", len(p.Analysis.Steps))
		}
		if p.Trained != (p.TestAccuracy > 0) {
			t.Errorf("table1, seed %d: trained %v, accuracy %v", p.Seed, p.Trained, p.TestAccuracy)
		}
	}
	for _, p := range r.Table1.Whole {
		if p.Analysis.Samples != 1400 || len(p.Analysis.Steps) != 31 || p.Analysis.Steps[7].Sampling == nil {
			t.Errorf("table1, all images: %d images, %d steps", p.Analysis.Samples, len(p.Analysis.Steps))
		}
	}
	if a, b := r.Table1.Few[0].Analysis.DisplacementL2, r.Table1.Few[1].Analysis.DisplacementL2; a == b {
		t.Error("table1: two seeds place the centres alike")
	}
	if n := len(r.Table1.Whole[0].Analysis.Curves); n != 2 {
		t.Errorf("table1: %d curves, want those of input and denoised features", n)
	}
	for _, p := range append(r.Poster.DPN, r.Poster.Extractor...) {
		if p.PotentialMoved+p.ExtractorMoved != 0 {
			t.Errorf("poster: training has changed %d numbers of the potential and %d of the extractor, whose "+
				"gradient is cut", p.PotentialMoved, p.ExtractorMoved)
		}
	}
	checkLaw(t, r.Law)
	if p := r.Poster.Exact[0]; p.PotentialMoved == 0 || p.ExtractorMoved == 0 || !(p.Alpha > 0) {
		t.Errorf("poster: exact training has changed nothing: %+v", p)
	}
	cnn := r.Trained.Forward[1]
	if cnn.Network != "CNN" || len(cnn.Layers) != len(cnn.D) || cnn.Layers[1] != "conv 1" {
		t.Errorf("trained: %s has layers %v and D %v", cnn.Network, cnn.Layers, cnn.D)
	}
	if h := r.Field.Hessian; !(float64(h.Asymmetry) <= 1e-9) {
		t.Errorf("field: the Hessian has the asymmetry %v", h.Asymmetry)
	}

	if l := r.Field.Langevin; l.Cold > mostCold || !(l.Warm >= 0.1) || !(l.Acceptance > 0.2 && l.LeastESS > 10) {
		t.Errorf("field: Langevin dynamics %+v", l)
	}
	if len(r.Poster.Detected) < 3 {
		t.Errorf("poster: detected %+v", r.Poster.Detected)
	}
	claims := Claims(r)
	for _, c := range claims {
		if c.Verdict != Untested && !argued(c) {
			t.Errorf("%s: %s, on images that are not MNIST's", c.ID, c.Verdict)
		}
	}
	r.MNIST = true
	for _, c := range Claims(r) {
		if c.Verdict == Untested && c.Measured != "" && !strings.Contains(c.Measured, "of at least 3 seeds") {
			t.Errorf("%s: untested, but measured: %s", c.ID, c.Measured)
		}
	}
	r.MNIST = false
	var page bytes.Buffer
	if err := Page(r, []report.Fact{{Name: "data", Text: "digits"}}).Write(&page); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `type="range"`); n != 2 {
		t.Errorf("%d sliders on the page, want one for the untrained potential and one for a trained one", n)
	}
	for _, want := range []string{"Every claim", "Table 1 of the paper", "feed-forward networks",
		"trained potentials", "poster", "ascent field"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page says nothing of %q", want)
		}
	}
	t.Run("browser", func(t *testing.T) {
		webtest.Start(t).CheckWidths(page.Bytes(), len(Figures(r)))
	})
	names := map[string]bool{}
	for _, f := range Figures(r) {
		if names[f.Name] {
			t.Errorf("two figures %q", f.Name)
		}
		names[f.Name] = true
		if _, err := plot.Embed(f.Figure, "", false); err != nil {
			t.Errorf("figure %q: %v", f.Name, err)
		}
	}
}

// TestUntestedClaims checks that claims without a verdict are folded, and that the summary counts what there is.
func TestUntestedClaims(t *testing.T) {
	p := Page(Results{}, nil)
	var page bytes.Buffer
	if err := p.Write(&page); err != nil {
		t.Fatal(err)
	}
	open, folded, _ := strings.Cut(page.String(), "<details")
	untested := 0
	for _, c := range Claims(Results{}) {
		if c.Verdict == Untested {
			untested++
		}
	}
	if n := strings.Count(folded, `data-label="verdict"`); strings.Contains(open, ">untested<") || n != untested {
		t.Errorf("%d claims are folded, want the %d untested ones", n, untested)
	}
	want := fmt.Sprintf("%d got no verdict", untested)
	if s := p.Summary[0]; !strings.Contains(s, want) || strings.Contains(s, " 0 ") {
		t.Errorf("the summary begins with %q", s)
	}
}

// TestOtherEpochs checks that nothing is judged by trainings of other lengths than the protocols say.
func TestOtherEpochs(t *testing.T) {
	r := results(false)
	r.Epochs = 2
	for _, c := range Claims(r) {
		if argued(c) {
			continue
		}
		if c.Verdict != Untested || c.Measured != "" && !strings.Contains(c.Why, "2 epochs (--epochs)") {
			t.Errorf("%s: %s, %s", c.ID, c.Verdict, c.Why)
		}
	}
	if text := strings.Join(Page(r, nil).Summary, "\n"); !strings.Contains(text, "2 epochs (--epochs)") {
		t.Errorf("the summary says nothing of the epochs: %s", text)
	}
}

// argued reports whether a claim is judged without an experiment.
func argued(c Claim) bool {
	return c.Verdict == NotTestable || slices.Contains([]string{"low-dimension", "definite", "detach-memory"}, c.ID)
}

// TestClaims checks that every claim is complete without experiments, and the verdicts for
// figures like the published ones.
func TestClaims(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range Claims(Results{}) {
		if ids[c.ID] {
			t.Errorf("two claims %q", c.ID)
		}
		ids[c.ID] = true
		if c.Source == "" || c.Statement == "" || c.Published == "" || c.Why == "" || !strings.HasSuffix(c.Why, ".") {
			t.Errorf("incomplete: %+v", c)
		}
		if c.Verdict != Untested && !argued(c) {
			t.Errorf("%s: %s without an experiment", c.ID, c.Verdict)
		}
	}

	layer := func(d, distance, ratio, pc1, pc2 float64) separation.Layer {
		return separation.Layer{Fuzziness: separation.Float(d), MeanDistance: distance,
			BetweenWithinRatio: separation.Float(ratio), ExplainedVariance: []float64{pc1, pc2}}
	}
	place := func(d float64) Placement {
		input := layer(2.139, 24.512, 0.8851, 0.164, 0.114)
		return Placement{Analysis: &study.Analysis{DisplacementL2: 69 + d/3, Layers: []separation.Layer{input, input,
			layer(d, 18.24, 2.1, .28, .18), layer(9.53, 1, 1, 1, 1)}}}
	}
	verdicts := func(r Results) map[string]string {
		out := map[string]string{}
		for _, c := range Claims(r) {
			out[c.ID] = c.Verdict
		}
		return out
	}
	hold := func(what string, got, want map[string]string) {
		t.Helper()
		for id, verdict := range want {
			if got[id] != verdict {
				t.Errorf("%s: %s: %q, want %q", what, id, got[id], verdict)
			}
		}
	}
	enclosing := Table1{Few: []Placement{place(2.4), place(3.9), place(3)}}
	hold("as printed", verdicts(Results{MNIST: true, Table1: &enclosing}), map[string]string{
		"table1-input-d": OnlyByTheirs, "table1-input-distance": OnlyByTheirs, "table1-input-ratio": OnlyByTheirs,
		"table1-features":   Reproduced,
		"table1-denoised-d": OnlyByTheirs, "displacement": OnlyByTheirs, "table1-logits-d": Untested,
		"no-law": Untested,
	})
	hold("3 seeds near 3.9", verdicts(Results{MNIST: true,
		Table1: &Table1{Few: []Placement{place(3.8), place(3.9), place(3.95)}}}),
		map[string]string{"table1-denoised-d": NotReproduced})
	var many []Placement // a range decides
	for i := range rangeSeeds {
		many = append(many, place(2.9+float64(i)/20))
	}
	hold("20 seeds from 2.9", verdicts(Results{MNIST: true, Table1: &Table1{Few: many}}),
		map[string]string{"table1-denoised-d": NotReproduced, "displacement": NotReproduced})
	hold("other images", verdicts(Results{Table1: &enclosing}), map[string]string{
		"table1-input-d": Untested, "table1-features": Untested, "displacement": Untested, "low-dimension": Reproduced,
	})
	hold("two seeds", verdicts(Results{MNIST: true, Table1: &Table1{Few: enclosing.Few[:2]}}),
		map[string]string{"table1-denoised-d": Untested, "displacement": Untested})
	other := place(2.4)
	other.Analysis.Layers[1] = layer(2.14, 24.51, 0.88, 1, 1)
	hold("features beside the pixels", verdicts(Results{MNIST: true, Table1: &Table1{Few: []Placement{other}}}),
		map[string]string{"table1-features": NotReproduced})

	training := func(accuracy, loss float64, best, epochs int) PosterRun {
		r := PosterRun{Best: best, TestAccuracy: accuracy, Noisy: make([]NoisyScore, len(noises))}
		for i := range epochs {
			a, l := accuracy, loss
			if i != best-1 {
				a, l = a-0.01, l+0.2
			}
			r.Epochs = append(r.Epochs, dpn.Epoch{Epoch: i + 1, ValAccuracy: &a, ValLoss: &l})
		}
		return r
	}
	linear := []PosterRun{training(0.85, 0.5, 9, 20)}
	poster := func(runs ...PosterRun) map[string]string {
		return verdicts(Results{MNIST: true, Poster: &Poster{DPN: runs, Linear: linear, Extractor: runs, Cosine: runs}})
	}
	hold("as the poster says", poster(training(0.87, 0.4, 16, 20), training(0.88, 0.38, 19, 20),
		training(0.87, 0.4, 17, 20)), map[string]string{"poster-accuracy": Reproduced, "poster-epoch": Reproduced,
		"poster-loss": OnlyByTheirs, "poster-network": Reproduced, "poster-cosine": BeyondTheirs})
	hold("too early", poster(training(0.87, 0.2, 3, 20), training(0.88, 0.2, 17, 20), training(0.88, 0.2, 17, 20)),
		map[string]string{"poster-accuracy": InPart, "poster-epoch": NotReproduced, "poster-loss": NotReproduced,
			"poster-network": InPart, "poster-cosine": InPart})
	hold("worse", poster(training(0.87, 0.2, 3, 20), training(0.8, 0.4, 17, 20)),
		map[string]string{"poster-accuracy": NotReproduced, "poster-network": NotReproduced})
	hold("cut short", poster(training(0.87, 0.4, 4, 5)), map[string]string{"poster-epoch": Untested})
}

// TestFewImages writes a page and judges claims with too few images to estimate the limit.
func TestFewImages(t *testing.T) {
	nan := separation.Float(math.NaN())
	layers := []separation.Layer{{Fuzziness: 3, ExplainedVariance: []float64{1, 0},
		Sampling: &separation.Sampling{Limit: nan}}}
	for len(layers) < 4 {
		layers = append(layers, separation.Layer{Fuzziness: 2, ExplainedVariance: []float64{1, 0}})
	}
	a := &study.Analysis{Layers: layers}
	for range 31 {
		a.Steps = append(a.Steps, layers[0])
	}
	r := Results{MNIST: true, Table1: &Table1{Images: 60, Few: []Placement{{Analysis: a}},
		Whole: []Placement{{Analysis: a}}}}
	var page bytes.Buffer
	if err := Page(r, nil).Write(&page); err != nil {
		t.Fatal(err)
	}
	const want = "All 60 images have 3.00, too few to estimate the limit N\u00a0→\u00a0∞."
	if !strings.Contains(page.String(), want) {
		t.Errorf("the page does not say %q", want)
	}
	if got := (Spread{Least: 2.001, Greatest: 2.003}).text("%.2f"); got != "2.00" {
		t.Errorf("a range that rounds to one number is %q", got)
	}
}

// TestJudgeTrained checks the verdict on the paper's title for values of D that decrease on a
// line, decrease on a curve, or rise.
func TestJudgeTrained(t *testing.T) {
	law := func(f func(l float64) float64) *separation.Law {
		var names []string
		var d []float64
		for l := range 11 {
			names, d = append(names, "step"), append(d, f(float64(l)))
		}
		w, err := separation.FitLaw(names, d)
		if err != nil {
			t.Fatal(err)
		}
		return &w
	}
	line := law(func(l float64) float64 { return 14 * math.Pow(0.85, l) })
	bent := law(func(l float64) float64 { return 2 + 12*math.Exp(-l) })
	rise := law(func(l float64) float64 { return 14 * math.Pow(1.05, l) })
	for _, c := range []struct {
		laws []*separation.Law
		want string
		why  string
	}{
		{[]*separation.Law{line, line}, OnlyByTheirs, "every trained one follows"},
		{[]*separation.Law{line, bent}, OnlyByTheirs, "some on a straight line"},
		{[]*separation.Law{bent, bent}, OnlyByTheirs, "not by equal factors"},
		{[]*separation.Law{rise, rise}, Reproduced, "No trained potential"},
	} {
		r := &Trained{}
		for _, l := range c.laws {
			r.Runs = append(r.Runs, TrainedRun{Analysis: &study.Analysis{StepsLaw: l}})
		}
		if j := judgeTrained(r); j.verdict != c.want || !strings.Contains(j.why, c.why) {
			t.Errorf("%s: %s: want %s, %q", j.verdict, j.why, c.want, c.why)
		}
	}
}

// TestJudgeRegions compares the share of images with the most frequent class of their end point with what one point
// for all would have.
func TestJudgeRegions(t *testing.T) {
	for _, c := range []struct {
		purity, largest float64
		want            string
	}{{0.73, 0.11, Reproduced}, {0.4, 0.11, InPart}, {0.2, 0.11, NotReproduced}, {0.73, 0.6, NotReproduced}} {
		x := &Field{FixedPoints: &study.FixedPoints{Purity: c.purity}, LargestClass: c.largest}
		if j := judgeRegions(x); j.verdict != c.want {
			t.Errorf("purity %v, largest class %v: %s, want %s", c.purity, c.largest, j.verdict, c.want)
		}
	}
}

// TestDiagonal compares the diagonal precisions of the experiments with the full ones of the
// published network: with A = I the ascents are equal up to rounding.
func TestDiagonal(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same numbers on every machine but for rounding, and slow under emulation")
	}
	ctx, e, d := context.Background(), newEngine(t, 2), digits()
	few := d.Test.Slice(0, 40)
	m, err := published(d, 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	c := m.Config
	c.Form = potential.FormFull
	full, err := dpn.New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	copy(full.Potential().Centres().Data, m.Potential().Centres().Data)
	a, err := m.Denoised(ctx, e, few)
	if err != nil {
		t.Fatal(err)
	}
	b, err := full.Denoised(ctx, e, few)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Data {
		if diff := math.Abs(float64(a.Data[i] - b.Data[i])); !(diff <= 1e-4) {
			t.Fatalf("feature %d: %v with diagonal precisions, %v with full ones", i, a.Data[i], b.Data[i])
		}
	}
}

func TestTooFewImages(t *testing.T) {
	d := *digits()
	d.Test = d.Test.Slice(0, 20)
	_, err := RunTable1(context.Background(), newEngine(t, 1), &d, Table1Options{})
	if err == nil || !strings.Contains(err.Error(), "20 test images: expected at least 32") {
		t.Errorf("%v", err)
	}
}

func TestCommas(t *testing.T) {
	for in, want := range map[string]string{
		"368793600 on 784 pixels, 1500 of 15000": "368,793,600 on 784 pixels, 1,500 of 15,000",
		"D = 14.6012, 1234.5":                    "D = 14.6012, 1,234.5",
	} {
		if got := commas(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
