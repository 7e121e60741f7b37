package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
)

func TestCourse(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{11.2, 11.3, 11.6, 12}, "rises"},
		{[]float64{12, 11.6, 11.3, 11.2}, "falls"},
		{[]float64{2.14, 2.05, 2.1, 14}, "first falls and then rises"},
		{[]float64{2, 3, 4, 3.5, 1}, "first rises and then falls"},
		{[]float64{2, 3, 2, 3}, "rises and falls in turn"},
		{[]float64{2, 2.0001, 2}, "does not change"},
		{[]float64{2, 2.0005, 2.001, 2.0015, 2.0025}, "rises"}, // a little at a time
		{[]float64{2, 2.5, 2.4999, 3}, "rises"},
		{[]float64{3, nan, 2}, "is not finite throughout"},
		{[]float64{3, math.Inf(1)}, "is not finite throughout"},
		{[]float64{3}, "has a single value"},
	} {
		if got := course(c.values); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
	if got := tally([]string{"rises", "falls", "rises"}); got != "rises in 2 of 3, falls in 1 of 3" {
		t.Errorf("tally: %q", got)
	}
}

// results are those of all experiments but robust, in a world in which figures fall or rise.
func results(rises bool) Results {
	fuzz := func(from, to float64, n int) (layers []separation.Layer) {
		if rises {
			from, to = to, from
		}
		for i := range n {
			d := from * math.Pow(to/from, float64(i)/float64(n-1))
			layers = append(layers, separation.Layer{Fuzziness: separation.Float(d), MeanDistance: 10 * d,
				BetweenWithinRatio: separation.Float(d / 2), ExplainedVariance: []float64{d / 20, d / 40}})
		}
		return layers
	}
	law := func(layers []separation.Layer) *separation.Law {
		var names []string
		var d []float64
		for _, l := range layers {
			names, d = append(names, "x"), append(d, float64(l.Fuzziness))
		}
		w, err := separation.FitLaw(names, d)
		if err != nil {
			panic(err)
		}
		return &w
	}
	placement := func(seed int, stretch float64) Placement {
		layers := fuzz(4, 2/stretch, 4)
		points := []separation.CurvePoint{{Samples: 32, Mean: layers[0].Fuzziness},
			{Samples: 1000, Mean: layers[3].Fuzziness}}
		return Placement{Seed: uint64(seed), Trained: true, Analysis: &study.Analysis{DisplacementL2: 60 * stretch,
			Layers: layers, Steps: fuzz(4, 2/stretch, 31),
			Curves: []separation.LayerCurve{{Layer: "input", Points: points}}}}
	}
	r := Results{MNIST: true}
	few := []Placement{placement(1, 1), placement(2, 1.1), placement(3, 1.2)}
	r.Table1 = &Table1{Pictures: 10000, Few: few, Whole: few}

	steps := fuzz(4, 2, 11)
	r.Trained = &Trained{Runs: []TrainedRun{{Preset: "raw", Seed: 1,
		Analysis: &study.Analysis{Steps: steps, StepsLaw: law(steps)}}}}

	var lawRun LawRun
	var layers []string
	for i, l := range steps {
		layers, lawRun.D = append(layers, fmt.Sprintf("layer %d", i)), append(lawRun.D, l.Fuzziness)
	}
	layers, lawRun.D = append(layers, "logits"), append(lawRun.D, 1)
	last := len(layers) - 1
	lawRun.Law = fit(layers[:last], lawRun.D[:last])
	lawRun.Loads = separation.LoadShares(floats(lawRun.D[:last]))
	other := lawRun
	lawRun.Emergence = []LawEpoch{{Epoch: 0, D: slices.Repeat([]separation.Float{2}, len(layers))},
		{Epoch: 30, D: lawRun.D}, {Epoch: 100, D: lawRun.D}}
	r.Law = &LawResult{Known: true, Networks: []LawNetwork{
		{Name: "Adam 0.001, 8 layers", Kind: lawSettings, Depth: 8, Optimiser: "Adam", BatchNorm: true, Layers: layers,
			Published: foundLaw, Runs: []LawRun{lawRun, other}},
		{Name: "no BatchNorm, 8 layers", Kind: lawPlain, Depth: 8, Layers: layers, Published: foundNoLaw,
			Runs: []LawRun{other}},
		{Name: "DPN trained", Kind: lawDPN, Layers: layers, Runs: []LawRun{other}},
	}}

	training := func(accuracy float64) PosterRun {
		p := PosterRun{Best: 2, TestAccuracy: accuracy, MACs: 1000, Noisy: make([]NoisyScore, len(noises))}
		for i := range p.Noisy {
			p.Noisy[i].Accuracy = accuracy
		}
		for i := range 20 {
			loss := 0.5
			if rises {
				loss = 1.5
			}
			p.Epochs = append(p.Epochs, dpn.Epoch{Epoch: i + 1, TrainLoss: 1, ValLoss: &loss, ValAccuracy: &accuracy})
		}
		return p
	}
	better, worse := training(0.9), training(0.8)
	if rises {
		better, worse = worse, better
		better.PotentialMoved = 5
	}
	r.Poster = &Poster{DPN: []PosterRun{better, better, better}, Linear: []PosterRun{worse}}

	f := &study.FixedPoints{Samples: 100, Converged: 99, ShareConverged: 0.995, Points: make([]study.FixedPoint, 20)}
	r.Field = &Field{FixedPoints: f, Nearest: 0.99, After30: 0.25,
		Hessian: &study.Symmetry{Points: 16, Asymmetry: 1e-9},
		Rises: &study.RiseSweep{Samples: 10, Steps: 30, StableAlpha: 2, Rises: []study.Rise{
			{Alpha: 0.1, Factor: 1, AlphaLambda: 0.1, Pairs: 300, Rises: 300, Share: 1},
			{Alpha: 3, Factor: 30, AlphaLambda: 3, Pairs: 300, Rises: 30, Falls: 270, Share: 0.1}}}}
	r.Field.Langevin = &Langevin{Chains: 16, Steps: 30, Cold: 1e-9, Warm: 0.9, SampleSteps: 1000, Acceptance: 0.6,
		LeastESS: 300, States: 12800}
	r.Poster.Detected = []Detected{{Task: "uniform", Phi: 0.9, PhiCI: [2]float64{0.88, 0.92}, Softmax: 0.8},
		{Task: "inverted", Phi: 0.7, PhiCI: [2]float64{0.68, 0.72}, Softmax: 0.8}}
	if rises {
		r.Field.Langevin.Cold, r.Field.Langevin.Acceptance, r.Poster.Detected[1].PhiCI[0] = 0.1, 0.001, 0.4
		r.Poster.Detected[0].PhiCI[0] = 0.4
		f.ShareConverged, r.Field.Nearest, r.Field.After30, r.Field.Hessian.Asymmetry = 0.5, 0.5, 0, 0.7
		r.Field.Rises.Rises[0].Share, r.Field.Rises.Rises[0].Falls = 0.5, 150
	}
	return r
}

// TestFindingsAreThoseOfTheRun feeds the page with numbers of one kind and of the opposite kind, and
// reads the opposite sentences.
func TestFindingsAreThoseOfTheRun(t *testing.T) {
	sentencesOf := map[bool][]string{
		false: {
			"Along the steps of the untrained potential D falls: 4.0 at x_0",
			"whose centres do not depend on labels: D falls.",
			"D falls as the number of images grows: 4.00 with 32",
			"D falls along the steps of trained potentials",
			"2 of 2 trainings with published settings follow the law, and 1 of 1 of other networks",
			"2 of 2 trainings follow it; Pearson -1.000, at most -0.99 in 2",
			"The other networks also follow it: no BatchNorm: follows.",
			"at its end; it is at most -0.99 from epoch 30 on.",
			"has 10% (equal shares: 10%)",
			"Validation loss is below training loss in 20 of 20 epochs",
			"φ rises on every step up to 0.100, and on 10.0% of the steps at 3.00.",
			"The ascent field is the gradient of a potential, up to rounding",
			"D falls. ", // why of the claim about denoising
			"denoising lowers it.",
			"x_current.detach()",
			"The images gather at a few points",
			"25% within the paper&#39;s 30 steps",
			"on clean images it is better.",
			"It is better than a linear classifier; networks of equal cost were not compared.",
			"The ascent lowers D in every training.",
			"It is the limit of zero temperature, which has no noise.",
			"The chains sample the potential;",
			"phi is better than chance in 2 of 2 tasks (worst: inverted), and better than the largest softmax in 1.",
			"With BatchNorm and ReLU, each layer lowers D by about the same factor.",
		},
		true: {
			"Along the steps of the untrained potential D rises: 1.7 to 2.0 at x_0",
			"whose centres do not depend on labels: D rises.",
			"D rises as the number of images grows: 2.00 with 32",
			"D rises along the steps of trained potentials",
			"0 of 2 trainings with published settings follow the law, and 0 of 1 of other networks",
			"0 of 2 trainings follow it; Pearson 1.000, at most -0.99 in 0",
			"Not all follow it: no BatchNorm: does not fall.",
			"1.000 at its end.",
			"Validation loss is below training loss in 0 of 20 epochs",
			"φ falls on some steps even at the smallest step size: at 0.100 it rises on 50.0%.",
			"The ascent field is not the gradient of a potential (asymmetry of its Jacobian 0.700)",
			"denoising raises it.",
			"Training changed the potential although",
			"50% of the images converge, to more than 100 points or not at all.",
			"At least 1% of the images reach no fixed point.",
			"Under no noise is every seed better",
			"it is worse; that takes 100% of the multiply-adds",
			"The ascent raises D in every training.",
			"Not even without noise do the chains follow the ascent.",
			"The chains do not move enough",
			"phi is better than chance in 0 of 2 tasks",
			"None follows it: 8 layers: does not fall.",
		},
	}
	pages := map[bool]string{}
	for rises := range sentencesOf {
		var b bytes.Buffer
		if err := Page(results(rises), nil).Write(&b); err != nil {
			t.Fatal(err)
		}
		pages[rises] = strings.Join(strings.Fields(b.String()), " ") + " "
	}
	for rises, list := range sentencesOf {
		for _, s := range list {
			s = strings.TrimSpace(s)
			if !strings.Contains(pages[rises], s) {
				t.Errorf("figures rise %t: the page does not say %q", rises, s)
			}
			if s != "D falls." && strings.Contains(pages[!rises], s) {
				t.Errorf("figures rise %t: the page says %q", !rises, s)
			}
		}
	}
}

// TestNoConstantFindings reads every text that does not depend on numbers: none may say that D or φ
// rises or falls.
func TestNoConstantFindings(t *testing.T) {
	finding := regexp.MustCompile(`\b(D|φ|phi|loss|accuracy) (first |then |hardly )?` +
		`(falls|rises|dips|decreases|increases|drops)\b`)
	for name, tmpl := range sentences.Templates() {
		if strings.HasPrefix(name, "rises ") { // chosen by numbers, tested above
			continue
		}
		if s := finding.FindString(tmpl.Root.String()); s != "" {
			t.Errorf("the template %q says %q whatever was measured", name, s)
		}
	}
}

// TestQuantities checks that the numbers of the claims agree with their texts, and that every
// measured text has numbers.
func TestQuantities(t *testing.T) {
	digits := regexp.MustCompile(`\d+(\.\d+)?`)
	ids := map[string]bool{}
	for _, rises := range []bool{false, true} {
		for _, c := range Claims(results(rises)) {
			ids[c.ID] = true
			if c.PublishedValues == nil || c.MeasuredValues == nil {
				t.Errorf("%s: null instead of no values", c.ID)
			}
			published := digits.FindAllString(c.Published, -1)
			if len(published) != len(c.PublishedValues) {
				t.Errorf("%s: published %q, values %v", c.ID, c.Published, c.PublishedValues)
				continue
			}
			for i, q := range c.PublishedValues {
				var v float64
				if err := json.Unmarshal([]byte(published[i]), &v); err != nil || v != float64(q.Value) ||
					q.Unit == "" ||
					q.Name == "" {
					t.Errorf("%s: published %q, value %+v", c.ID, c.Published, q)
				}
			}
			if argued := c.ID == "definite"; (c.Measured != "") != (len(c.MeasuredValues) > 0) && !argued {
				t.Errorf("%s: measured %q, values %v", c.ID, c.Measured, c.MeasuredValues)
			}
			labels := len(quantities[c.ID].measured)
			if labels == 0 {
				labels = len(c.PublishedValues)
			}
			if n := len(c.MeasuredValues); n > 0 && n != labels {
				t.Errorf("%s: %d measured values, %d labels", c.ID, n, labels)
			}
		}
	}
	for id := range quantities {
		if !ids[id] {
			t.Errorf("values of %q, which is no claim", id)
		}
	}
	for _, c := range Claims(results(false)) {
		if c.ID != "table1-denoised-d" {
			continue
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"name": "D", "value": 2.81, "unit": "1"}
		if values := got["published_values"].([]any); !reflect.DeepEqual(values, []any{want}) ||
			got["published"] != "2.81" {
			t.Errorf("published %v, values %v", got["published"], values)
		}
	}
}
