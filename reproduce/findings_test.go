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
	"dpnbench/engine/num"
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
	whole := []Placement{placement(1, 1), placement(2, 1.1), placement(3, 1.2)}
	for i := range whole {
		for j, step := range classifiedSteps {
			good := 0.9 - 0.1*float64(j) + 0.001*float64(i)
			if rises { // D falls with the steps, then
				good = 0.6 + 0.1*float64(j) + 0.001*float64(i)
			}
			c := Classified{Step: step, Linear: good, Plane: good / 2, Nearest: good - 0.05}
			if j == 0 {
				c.Linear, c.Plane = 0.75, 0.4
			}
			whole[i].Classified = append(whole[i].Classified, c)
		}
	}
	var few []Placement
	random := num.NewRand(1, 0)
	for i := range 9 { // one more than six figures together need
		p := placement(i+1, 1+0.02*float64(i))
		for l := range p.Analysis.Layers {
			q := &p.Analysis.Layers[l]
			more := func() float64 { return 1 + 0.05*random.Float64() }
			q.MeanDistance *= more()
			q.ExplainedVariance = []float64{more() * q.ExplainedVariance[0], more() * q.ExplainedVariance[1]}
			q.BetweenWithinRatio *= separation.Float(more())
		}
		few = append(few, p)
	}
	r.Table1 = &Table1{Images: 10000, Few: few, Long: few, Whole: whole}

	steps := fuzz(4, 2, 11)
	r.Trained = &Trained{Runs: []TrainedRun{{Preset: "raw", Seed: 1,
		Analysis: &study.Analysis{Steps: steps, StepsLaw: law(steps)}}}}

	r.Trained.Forward = []ForwardRun{{Network: "CNN", Layers: []string{"input", "a", "b", "logits"}}}
	for _, l := range fuzz(4, 2, 4) {
		r.Trained.Forward[0].D = append(r.Trained.Forward[0].D, l.Fuzziness)
	}

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
		p := PosterRun{Best: 2, TestAccuracy: accuracy, MACs: 1000, Kept: accuracy, Alpha: float64(float32(0.1)),
			Noisy: make([]NoisyScore, len(noises))}
		for i := range p.Noisy {
			p.Noisy[i].Accuracy = accuracy
		}
		for i := range 20 {
			loss := 0.5
			if rises {
				loss = 1.5 + 0.1*float64(i%2)
			}
			p.Epochs = append(p.Epochs, dpn.Epoch{Epoch: i + 1, TrainLoss: 1, ValLoss: &loss, ValAccuracy: &accuracy})
		}
		return p
	}
	better, worse := training(0.9), training(0.8)
	if rises {
		better, worse = worse, better
		better.PotentialMoved, better.ExtractorMoved, better.Alpha = 5, 6, 0.2
	}
	exact, drawn := better, better
	exact.PotentialMoved, exact.ExtractorMoved, exact.Alpha = 7, 8, 0.3
	if !rises { // drawn centres are worse
		drawn.Epochs = slices.Clone(drawn.Epochs)
		for i := range drawn.Epochs {
			loss := 0.9 - 0.01*float64(i)
			drawn.Epochs[i].ValLoss = &loss
		}
		drawn.Best = 20
	}
	three := func(r PosterRun) []PosterRun { return []PosterRun{r, r, r} }
	r.Poster = &Poster{DPN: three(better), Linear: []PosterRun{worse}, MLP: []PosterRun{worse}, Cosine: three(better),
		Samples: three(drawn), Extractor: three(better), Exact: three(exact), ExactSamples: three(drawn)}

	f := &study.FixedPoints{Samples: 100, Converged: 99, ShareConverged: 0.995, Points: make([]study.FixedPoint, 20)}
	r.Field = &Field{FixedPoints: f, Nearest: 0.99, After30: 0.25,
		Hessian: &study.Symmetry{Points: 16, Asymmetry: 1e-9},
		Rises: &study.RiseSweep{Samples: 10, Steps: 30, StableAlpha: 2, Rises: []study.Rise{
			{Alpha: 0.1, Factor: 1, AlphaLambda: 0.1, Pairs: 300, Rises: 300, Share: 1},
			{Alpha: 3, Factor: 30, AlphaLambda: 3, Pairs: 300, Rises: 30, Falls: 270, Share: 0.1}}}}
	r.Field.Langevin = &Langevin{Chains: 16, Steps: 30, Cold: 1e-9, Warm: 0.9, SampleSteps: 1000, Acceptance: 0.6,
		LeastESS: 300, States: 12800}
	r.Field.Nearest30, r.Field.Kept30, r.Field.StartPurity, r.Field.PointsOfClass = 0.98, 0.7, 0.72, []int{2, 5}
	f.Purity, r.Field.LargestClass = 0.73, 0.1
	for i := range f.Points {
		f.Points[i] = study.FixedPoint{Class: i % 10, Images: 5, Purity: 0.6}
	}
	r.Field.Nearness = &Nearness{Images: 1000, Steps: 30, Spearman: -1, Weakest: -0.99}
	r.Field.LogSumExp = &LogSumExp{Images: 100, Underflow: 90, FreeEnergy: 1e-7, GreatestR: 1}
	r.Field.StepSize = &StepSize{Images: 100, Alphas: []Alpha{{0.1, 87, 1}, {1, 4, 1}}}
	for i := range len(noises) + 1 {
		g := NoiseGain{Corruption: robustSettings()[i], After: 4.4, OnePass: -0.1,
			CI: []separation.Float{-0.2, -0.05}, Ink: [2]float64{0.8, 0.5}, Background: [2]float64{0.5, 0.1},
			Gain: study.Gain{Images: 100, Before: 0, After: 4, Gain: 4, CI: [2]separation.Float{3.9, 4.1}}}
		if rises {
			g.Gain.After, g.Gain.CI, g.CI = -2, [2]separation.Float{-2.1, -1.9}, []separation.Float{0.1, 0.2}
			g.OnePass, g.Ink, g.Background = 0.15, [2]float64{0.5, 0.8}, [2]float64{0.1, 0.05}
		}
		r.Field.Noise = append(r.Field.Noise, g)
	}
	r.Poster.Detected = []Detected{{Task: "uniform", Phi: 0.9, PhiCI: [2]float64{0.88, 0.92}, Softmax: 0.8,
		Entropy: 0.6, EntropyCI: [2]float64{0.58, 0.62}}, {Task: "inverted", Phi: 0.7, PhiCI: [2]float64{0.68, 0.72},
		Softmax: 0.8, Entropy: 0.01, EntropyCI: [2]float64{0.005, 0.02}}}
	if rises {
		r.Field.Nearest30, r.Field.Kept30, r.Field.StartPurity = 0.4, 0.1, 0.2
		f.Purity, r.Field.LargestClass = 0.11, 0.11
		for i := range f.Points {
			f.Points[i] = study.FixedPoint{Class: 1, Images: 5, Purity: 0.11}
		}
		r.Field.Nearness.Spearman, r.Field.Nearness.Weakest = 0.1, 0.2
		r.Field.LogSumExp.Underflow, r.Field.LogSumExp.FreeEnergy, r.Field.LogSumExp.GreatestR = 0, 0.1, 2
		r.Field.StepSize.Alphas[1].Median = 100
		r.Poster.Detected[0].EntropyCI, r.Poster.Detected[1].EntropyCI = [2]float64{0.1, 0.2}, [2]float64{0.1, 0.2}
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
			"Along the steps of the untrained potential D falls: 4.0 at x<sub>0</sub>",
			"whose centres do not depend on labels: D falls.",
			"D falls as the number of images grows: 4.00 with 32",
			"D falls along the steps of trained potentials",
			"2 of 2 trainings with published settings follow the law, and 1 of 1 of other networks",
			"2 of 2 trainings follow it; Pearson −1.000, at most −0.99 in 2",
			"The other networks also follow it: no BatchNorm: follows.",
			"at its end; it is at most -0.99 from epoch 30 on.",
			"has 10% (equal shares: 10%)",
			"Validation loss is below training loss in 20 of 20 epochs",
			"φ rises on every step up to 0.100, and on 10.0% of the steps at 3.00.",
			"The ascent field is the gradient of a potential, up to rounding",
			"D falls. ", // why of the claim about denoising
			"denoising lowers it.",
			"x_current.detach()",
			"the images gather at a few points",
			"but only 25% within the paper&#39;s 30 steps",
			"arrive after 0 steps (median), not 30",
			"The ascent itself adds 1.0 percentage points",
			"better than the linear classifier, which takes 100% of its multiply-adds; better than the MLP",
			"Every seed is better than every seed of a baseline in 6 of 6 comparisons",
			"Only at 30 steps: its ascents have not ended",
			"The ascent lowers D in every training.",
			"It is the limit of zero temperature, which has no noise.",
			"The chains sample the potential;",
			"Phi is better than chance in 2 of 2 tasks and worse in 0 (worst: inverted), and better than the largest " +
				"softmax in 1.",
			"The entropy is better than chance in 1 of 2 tasks and worse in 1 (worst: inverted)",
			"It holds in every training.",
			"it is better after 10 steps and worse after 30",
			"The ratio rises under 3 of 3 kinds of noise. Clean images lose: what is left of them differs from them " +
				"by 36% of their energy.",
			"They are ahead under 0 of 3 kinds of noise",
			"The background becomes fainter under 3 of 3 kinds of noise, the ink stronger under 0.",
			"It is needed against underflow",
			"the derivative by c stays from 0 to 1.",
			"-phi is the variational free energy",
			"A step size of 1 converges in fewer steps.",
			"phi is minus half the squared distance to the nearest centre",
			"By the listing only the classifier learns; with the exact gradient all parts do.",
			"The listing detaches the state, too; with the exact gradient it learns.",
			"All precisions stay the identity",
			"Every seed of k-means is better than every drawn one in 2 of 2 networks, and faster in 2;",
			"It falls in every epoch up to the best one.",
			"Only a linear classifier of fixed features is trained",
			"With BatchNorm and ReLU, each layer lowers D by about the same factor.",
		},
		true: {
			"Along the steps of the untrained potential D rises: 1.7 to 2.0 at x<sub>0</sub>",
			"whose centres do not depend on labels: D rises.",
			"D rises as the number of images grows: 2.00 with 32",
			"D rises along the steps of trained potentials",
			"0 of 2 trainings with published settings follow the law, and 0 of 1 of other networks",
			"0 of 2 trainings follow it; Pearson 1.000, at most −0.99 in none",
			"Not all follow it: no BatchNorm: does not fall.",
			"1.000 at its end.",
			"Validation loss is below training loss in 0 of 20 epochs",
			"φ falls on some steps even at the smallest step size: at 0.100 it rises on 50.0%.",
			"The ascent field is not the gradient of a potential (asymmetry of its Jacobian 0.700)",
			"denoising raises it.",
			"Training changed the potential although",
			"After 30 steps most of an image&#39;s neighbours are others.",
			"50% of the images reach no fixed point.",
			"50.0% end at another centre.",
			"Images of a class do not end together more than others.",
			"worse than the linear classifier, which takes 100% of its multiply-adds; worse than the MLP",
			"Every seed is better than every seed of a baseline in 0 of 6 comparisons",
			"the published network is worse.",
			"The ascent raises D in every training.",
			"Not even without noise do the chains follow the ascent.",
			"The chains do not move enough",
			"Phi is better than chance in 0 of 2 tasks",
			"The entropy is better than chance in 0 of 2 tasks and worse in 2",
			"D is lowest in an earlier layer in 1 of 1 trainings.",
			"The ratio rises under 0 of 3 kinds of noise.",
			"They are ahead under every noise.",
			"the ink stronger under 3.",
			"The plain sum would do as well.",
			"The derivative by c leaves the range from 0 to 1.",
			"The potential is not minus the free energy of its responsibilities.",
			"The other step size is no better.",
			"A higher phi does not mean a smaller distance.",
			"Training by the listing changes extractor and potential.",
			"Training by the listing changes it.",
			"The potential changed; whether its precisions follow the data was not measured.",
			"Every seed of k-means is better than every drawn one in 0 of 2 networks, and faster in 0;",
			"Validation loss rises again, or is above the training loss.",
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

// A sentence that says that D first falls has the D that it falls to.
func TestLowestFuzziness(t *testing.T) {
	r := results(true)
	if text := strings.Join(summary(r, nil), " "); strings.Contains(text, "lowest") {
		t.Errorf("D rises throughout: %s", text)
	}
	for _, p := range r.Table1.Whole {
		p.Analysis.Steps[1].Fuzziness = 1.5
	}
	const want = "D first falls and then rises: 1.7 to 2.0 at x_0, 1.5 where it is lowest, "
	if text := strings.Join(summary(r, nil), " "); !strings.Contains(text, want) {
		t.Errorf("%q lacks %q", text, want)
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
		r := results(rises)
		r.Robust = robustResults(3)
		for _, c := range Claims(r) {
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
