package report

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/plot"
)

// studied returns the analysis of a network that has its centres but has not learned.
func studied(t *testing.T, edit func(c *dpn.Config)) Analysis {
	t.Helper()
	c, err := dpn.Preset("raw")
	if err != nil {
		t.Fatal(err)
	}
	c.Components, c.Steps, c.Rank = 10, 4, 2
	edit(&c)
	set := func(first, n int) *dataset.Set {
		s, err := dataset.Digits(1, first, n).Resize(10, 10)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	data := &dataset.Data{Name: "small", Train: set(0, 300), Test: set(dataset.TestFirst, 150),
		Classes: dataset.Numbered(10),
		Norm:    dataset.DigitsNorm}
	m, err := dpn.New(c, data)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.WithThreads(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	ctx := context.Background()
	if _, err := m.Init(ctx, e, data.Train); err != nil {
		t.Fatal(err)
	}
	s, err := study.Run(ctx, e, m, data.Test, study.StudyOptions{AnalyzeOptions: study.AnalyzeOptions{Draws: 20,
		Subsets: 2}, Train: data.Train})
	if err != nil {
		t.Fatal(err)
	}
	return Analysis{Model: m, Study: s, Images: data.Test, Data: "x/small", Tier: "generic", Threads: 2, Draws: 20,
		Subsets: 2, Unmoved: "nobody knows"}
}

// analysisHTML is the page of a, checked.
func analysisHTML(t *testing.T, a Analysis) string {
	t.Helper()
	return written(t, AnalysisPage(a, a.Figures()))
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing", w)
		}
	}
}

// Every figure of a network on pixels is on its page.
func TestAnalysisPage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation")
	}
	a := studied(t, func(*dpn.Config) {})
	missing := map[string]string{ // of a network that has not learned: they would be of one value
		"weights": "all components have a weight of 10.0%", "work": "every component is computed in every step",
	}
	for _, f := range a.Figures() {
		if f.Missing != nil {
			if why := missing[f.Name]; why == "" || !strings.Contains(f.Missing.Error(), why) {
				t.Errorf("no figure %s: %v", f.Name, f.Missing)
			}
			continue
		}
		if !strings.Contains(f.Caption, "Look") && !strings.Contains(f.Caption, "look") && f.Name != "spectra" &&
			f.Name != "curve" {
			t.Errorf("figure %s does not say what to look for: %q", f.Name, f.Caption)
		}
	}
	page := analysisHTML(t, a)
	contains(t, page, "How the network raw on small separates classes", "Figure 10.",
		"Confusion matrix", "centre moved by", "image 0",
		"of 150 test images correctly", "Read this page with caution", `"steps":4`)
	if analysisHTML(t, a) != page {
		t.Error("the same analysis gives other bytes")
	}
	none := separation.Float(math.NaN())
	a.Study.Curves[0].Points[0] = separation.CurvePoint{Samples: 32, Subsets: 2, LeftOut: 2, Mean: none, Std: none,
		Least: none, Greatest: none, First: none, Limit: none}
	contains(t, analysisHTML(t, a), "Subsets whose images all belong to one class have no D and are left out: 2.")
	for _, limit := range []separation.Float{5, none} { // the caption names a dashed line where there is one
		a.Study.Layers[0].FuzzinessLimit = &limit
		s, err := a.curve()
		if err != nil {
			t.Fatal(err)
		}
		dashed := slices.ContainsFunc(s.Figure.(plot.Lines).Series, func(x plot.Series) bool { return x.Limit != nil })
		if dashed != (limit == 5) || strings.Contains(s.Caption, "dashed") != dashed {
			t.Errorf("limit %v, line drawn %v: caption %q", limit, dashed, s.Caption)
		}
	}
}

// What cannot be drawn is left out, and the page says why.
func TestAnalysisWithoutImages(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes half a minute under emulation, where TestAnalysisPage makes a page")
	}
	a := studied(t, func(c *dpn.Config) { c.Extractor, c.Dim, c.Steps, c.Gradient = "linear", 6, 1, "detached" })
	page := analysisHTML(t, a)
	contains(t, page, "Left out, because they need features that are pixels: steps of the ascent.",
		"Left out, because they need features that are pixels: the centres, variance "+
			"of each pixel, centres before and after training.",
		"the image is the input at every step", "6 from linear "+
			"layers", "The ascent hardly changes D: its step multiplies it by")
	none := studied(t, func(c *dpn.Config) { c.Steps, c.Gradient = 0, "detached" })
	page = analysisHTML(t, none)
	contains(t, page, "Left out, because there are no ascent steps: D over the ascent steps.",
		"Left out, because nobody knows: centres before and after training.", "This network makes no ascent steps",
		"Left out, because there are no ascent steps: steps of the ascent, trajectories.")
	for _, of := range []string{"Choose an image", "step size", "ascents continued"} {
		if strings.Contains(page, of) {
			t.Errorf("without an ascent the page says %q", of)
		}
	}
	a.Study.Walk.Phi[0][0] = separation.Float(math.Inf(1))
	if n := len(a.walk().Items); n != a.Study.Walk.Samples-1 {
		t.Errorf("%d images in the walk, one of which left the range of float32", n)
	}
	for i := range a.Study.Walk.Phi[0] {
		a.Study.Walk.Phi[0][i] = separation.Float(math.NaN())
	}
	contains(t, analysisHTML(t, a), "Single ascents are not shown: there is nothing to draw")
}

// The sentences of the summary say what the numbers are.
func TestAnalysisSummary(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes half a minute under emulation, where TestAnalysisPage makes a page")
	}
	a := studied(t, func(*dpn.Config) {})
	law := func(d ...float64) {
		a.Study.Steps = make([]separation.Layer, len(d))
		for i, v := range d {
			a.Study.Steps[i].Fuzziness = separation.Float(v)
		}
		a.Study.StepsLaw = nil
		if l, err := separation.FitLaw(make([]string, len(d)), d); err == nil {
			a.Study.StepsLaw = &l
		}
	}
	for _, c := range []struct {
		d    []float64
		want string
	}{
		{[]float64{16, 8.1, 4, 2.02, 1},
			"at each of the 4 ascent steps and follows the law of equi-separation: each step multiplies D " +
				"by ρ = 0.500"},
		{[]float64{16, 4, 2, 1.5, 1.4},
			"at each of the 4 ascent steps but does not follow the law of equi-separation: log D is not linear in " +
				"the step " +
				"but falls more and more slowly."},
		{[]float64{16, 4, 2, 1.5, 1.6},
			"at 3 of the 4 ascent steps but does not follow the law of equi-separation: log D is not linear in the " +
				"step but " +
				"bends upwards."},
		{[]float64{16, 15, 13, 9, 4}, "but bends downwards"},
		{[]float64{1, 2, 4, 8.1, 16},
			"at none of the 4 ascent steps and does not follow the law of equi-separation: the 95% interval of the " +
				"factor per step, 1.99 to 2.01, lies above 1."},
		{[]float64{15.1, 15.09, 15.08, 15.07},
			"The ascent hardly changes D: its 3 steps together multiply it by 0.9980."},
		{[]float64{16, 8, 4, 2, 16}, "D falls at 3 of the 4"},
		{[]float64{9, 5, 6, 2, 3, 1}, "D falls at 3 of the 5 ascent steps"},
		{[]float64{2, 1, 0, 1}, "no logarithm"},
		{[]float64{4, 2}, "D falls in the single ascent step; these are too few"},
	} {
		law(c.d...)
		contains(t, a.stepsSentence(), c.want)
	}
	for _, c := range []struct {
		confusion  layer.Confusion
		text, gaps string
	}{
		{layer.Confusion{{80, 20}, {5, 95}}, "The lowest accuracy is that of class 0, 80.0% of its 100 images " +
			"(95% interval 71.1% to 86.7%), the highest that of class 1, 95.0%. The most frequent error: class 0 " +
			"taken for 1, in 20 of the 25 misclassified images.", ""},
		{layer.Confusion{{20, 0}, {0, 200}}, "Every class has the same accuracy, 100.0%. No image is misclassified. " +
			"The classes have 20 to 200 images, so the accuracy of 100.0% says little about the smaller ones; the " +
			"balanced accuracy is 100.0%.", ""},
		{layer.Confusion{{4, 2}, {0, 8}}, "taken for 1, in 2 of the 2 misclassified", "Fewer than 10 test images of " +
			"classes 0 (6), 1 (8)."},
	} {
		by, wrong, all := outcomes(c.confusion), 0, 0
		for _, s := range by.Classes {
			wrong, all = wrong+s.Samples-s.Right, all+s.Samples
		}
		a.Study.ByClass, a.Study.Wrong, a.Study.Accuracy = by, wrong, float64(all-wrong)/float64(all)
		contains(t, string(a.classesText()), c.text)
		page := AnalysisPage(a, nil)
		if has := len(page.Warnings) > 0 && page.Warnings[0] == c.gaps; has != (c.gaps != "") {
			t.Errorf("warnings %q, want %q", page.Warnings, c.gaps)
		}
		if _, err := a.confusion(); wrong == 0 && (err == nil || err.Error() != "no image is misclassified") {
			t.Errorf("confusion of no errors: %v", err)
		}
		if says := strings.Contains(page.Summary[0], "balanced accuracy"); says != by.Uneven() {
			t.Errorf("%q, uneven %v", page.Summary[0], by.Uneven())
		}
	}
	l := a.Study.Landscape
	for i := range l.Weights {
		l.Weights[i], l.Order[i] = 0.1*(1-1e-7*float64(i)), i
	}
	if captions, alike := a.shares(); captions[3] != "3" || alike != "all components have a weight of 10.0%" {
		t.Errorf("equal weights: %q %q", captions[3], alike)
	}
	l.Weights[0], l.Weights[9] = 0.102, 0.098
	l.Order[0], l.Order[1] = 1, 0
	if captions, alike := a.shares(); captions[3] != "3" ||
		alike != "the weights of all components are alike, from 9.8% to 10.0%" {
		t.Errorf("alike weights: %q %q", captions[3], alike)
	}
	if order, left := a.heaviest(2); order[0] != 0 || left != "These are 2 of 10 components." {
		t.Errorf("alike weights: %v %q", order, left)
	}
	l.Order[0], l.Order[1] = 0, 1
	l.Weights[0], l.Weights[9] = 0.1991, 0.0009
	if captions, equal := a.shares(); captions[0] != "0: 19.9%" || captions[9] != "9: 0.1%" || equal != "" {
		t.Errorf("%q, %q %q", captions[0], captions[9], equal)
	}

	law(4, 2, 1.1)
	if laws := a.Laws(); len(laws[len(laws)-1].Law.RhoCI) != 0 || len(a.Study.StepsLaw.RhoCI) != 2 {
		t.Error("a law of three points has an interval, or has lost it in the study, too")
	}

	w := a.Study.Walk
	rising := func() {
		for step := range w.Phi {
			for i := range w.Phi[step] {
				w.Phi[step][i] = separation.Float(step)
			}
		}
	}
	rising()
	if got := a.fallSentence(); got != "" {
		t.Errorf("phi rises everywhere: %q", got)
	}
	w.Phi[2][7] = 0.5
	contains(t, a.fallSentence(), "falls in 1 of the 80 steps of the ascents of 20 images, in 1 of them, by at "+
		"most 0.500")

	limit := func(shift float64) {
		for i := range a.Study.Layers {
			l := &a.Study.Layers[i]
			l.Warning = ""
			v := l.Fuzziness
			if l.Name == "denoised" {
				v *= separation.Float(1 + shift)
			}
			l.FuzzinessLimit = &v
		}
	}
	law(3, 2)
	contains(t, a.reliability(), "is not reliable")
	limit(0.03)
	contains(t, a.reliability(), "these 150 images is reliable", "at most 3.0% (denoised)")
	limit(0.5)
	contains(t, a.reliability(), "still depends", "50.0% (denoised)")
	limit(math.NaN())
	contains(t, a.reliability(), "cannot be extrapolated", "layer denoised")
	a.Draws = 0
	contains(t, a.reliability(), "was not estimated")
}

func TestCell(t *testing.T) {
	for v, want := range map[float64]string{1.2345: "1.23", -2: "−2.00", math.Inf(1): "∞"} {
		if got := cell(v); got != want {
			t.Errorf("%v is %q: want %q", v, got, want)
		}
	}
	if got := cell(math.NaN()); got != "–" {
		t.Errorf("no number is %q", got)
	}
}

// A single image may serve all steps; the predicted class still changes.
func TestWalkOfOneImage(t *testing.T) {
	r := [][]float32{{1}, {1}, {1}}
	w := Walk{Rows: 1, Cols: 2, Steps: 2, Items: []WalkItem{{Name: "one", X: [][]float32{{0, 1}}, Read: []string{"4",
		"5", "6"},
		Phi: []float64{1, 2, 3}, R: r}}}
	page := written(t, Page{Sections: []Section{{Title: "walk", Blocks: []Block{w}}}})
	contains(t, page, `"read":["4","5","6"]`, `alt="one"`)
	if strings.Contains(page, `alt="one at step 2"`) {
		t.Error("the single image is shown as that of a step")
	}
	w.Items[0].Read = []string{"4"}
	if err := w.check(); err == nil || !strings.Contains(err.Error(), "1 predicted classes: want 3") {
		t.Errorf("error is %v", err)
	}
}

// TestWalkTop lists the components whose responsibility is printed as more than 0.000 at some step.
func TestWalkTop(t *testing.T) {
	for want, r := range map[string][][]float32{
		"component 1, component 0, the other 2": {{0.3, 0.6995, 0.0001, 0.0004}, {0, 1, 0, 0}},
		"component 0, component 1":              {{0.9995, 0.0005}},
		"component 0, the other 1":              {{1, 0}},
	} {
		names, rows := Walk{}.top(r)
		if got := strings.Join(names, ", "); got != want || len(rows) != len(r) || len(rows[0]) != len(names) {
			t.Errorf("%q with rows %v, want %q", got, rows, want)
		}
	}
}

// outcomes returns the accuracies of a confusion matrix.
func outcomes(c layer.Confusion) layer.ByClass {
	o := layer.NewOutcomes(len(c))
	for y, row := range c {
		for p, n := range row {
			o.Add(slices.Repeat([]uint16{uint16(y)}, n), slices.Repeat([]int32{int32(p)}, n))
		}
	}
	return o.ByClass(dataset.Numbered(len(c)))
}
