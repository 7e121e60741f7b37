package report

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/internal/sampleascent"
	"dpnbench/internal/template/templatetest"
	"dpnbench/internal/webtest"
	"dpnbench/plot"
)

// walkOf is the walk through an ascent.
func walkOf(a sampleascent.Ascent) Walk {
	w := Walk{Rows: sampleascent.Side, Cols: sampleascent.Side, Steps: len(a.Items[0].Phi) - 1}
	for _, it := range a.Items {
		w.Items = append(w.Items, WalkItem{
			Name: it.Name, Label: fmt.Sprint(it.Label), Predicted: fmt.Sprint(it.Predicted), X: it.X, Phi: it.Phi,
			R: it.R,
		})
	}
	return w
}

// samplePage is a page with a block of every kind, and figures of every kind that is new to
// a page.
func samplePage(t *testing.T) Page {
	a := sampleascent.New(20, 30)
	a.Items[1].Phi[30] = -0.0003037
	var pairs, variances []plot.Image
	for c := range a.Centres {
		pairs = append(pairs, plot.Image{
			Caption: fmt.Sprintf("%d: w = %.3f", c, 0.1), X: [][]float32{a.Centres[c], a.Final[c]},
		})
		v := make([]float32, len(a.Final[c]))
		for j, m := range a.Final[c] {
			v[j] = m*(1-m) + 0.001
		}
		variances = append(variances, plot.Image{Caption: fmt.Sprintf("component %d", c), X: [][]float32{v}})
	}
	steps, spectra := make([]float64, 31), make([][]float64, 20)
	for i := range steps {
		steps[i] = 14.6 * math.Pow(0.93, float64(i)) * (1 + 0.05*math.Sin(float64(i)))
	}
	for i := range spectra {
		for j := range 64 {
			spectra[i] = append(spectra[i], 3*math.Exp(-float64(j)/(6+0.3*float64(i))))
		}
	}
	law, err := separation.FitLaw(make([]string, len(steps)), steps)
	if err != nil {
		t.Fatal(err)
	}
	grey := plot.Scale{Low: 0, High: 1, Unit: "grey level"}
	epochs := []plot.Epoch{
		{Epoch: 1, TrainLoss: 2, TrainAccuracy: .5, ValLoss: 1.5, ValAccuracy: .6},
		{Epoch: 2, TrainLoss: 1, TrainAccuracy: .7, ValLoss: .9, ValAccuracy: .72},
		{Epoch: 3, TrainLoss: .5, TrainAccuracy: .85, ValLoss: .6, ValAccuracy: .8},
	}
	var strips []plot.Strip
	var paths []plot.PlanePath
	for i, it := range a.Items {
		if i < 8 {
			strips = append(strips, plot.Strip{Name: it.Name, Label: fmt.Sprint(it.Label),
				Predicted: fmt.Sprint(it.Predicted), X: it.X})
		}
		paths = append(paths, plot.PlanePath{Class: it.Label, At: it.At})
	}
	return Page{
		Kind:  "dpnbench reproduction",
		Title: "What a denoising potential network does to digits",
		Summary: []string{
			"The network classifies 97.1% of the test images correctly, and 95.6% of them with strong noise.",
			"Classes draw together at every step of the ascent: the fuzziness D falls by 7% a step.",
			"Two of the three published claims hold; the third one depends on the size of the sample.",
		},
		First: Figures{{Figure: plot.Layers{Title: "Over layers: a model",
			Names: []string{"input", "denoised", "logits"}, D: []float64{14.6, 6, 7.9},
			Intervals: []plot.Interval{{Low: 13, High: 16}, {}, {}}, Bars: "95% interval"},
			Title: "Over layers", Caption: "The first figure."}},
		Facts: []Fact{{"Data", "built-in digits, seed 1, 10,000 test images"}, {"Model", "20 components, 30 steps"},
			{"Machine", "AMD EPYC 9654, 2 threads"}, {"Version", "dpnbench 1.0, go1.26"}},
		Sections: []Section{
			{Title: "Claims", Blocks: []Block{
				Text("Each row is a claim of the paper, what it says and what was measured here, with a 95% interval."),
				Table{"Claims and what became of them", []Column{{Name: "claim"}, {Name: "published", Number: true},
					{Name: "measured", Number: true}, {Name: "95% interval", Number: true},
					{Name: "how it was measured"}}, []Row{
					{[]string{"D at the input", "2.14", "2.139", "1.98 to 2.31",
						"the first 32 test images, as the published table has it"}, Holds, "", "Table 1 of the paper"},
					{[]string{"D after denoising", "2.81", "2.77", "2.52 to 3.05",
						"10 steps on the untrained potential, k-means centres, A = I"}, Partly, "", ""},
					{[]string{"the law of equi-separation", "r = −0.99", "−0.91", "−0.95 to −0.84",
						"30 steps, all test images; a convex curve can have r near −1 as well"}, Fails, "", ""},
					{[]string{"out of distribution", "–", "0.98", "", "not in the paper"}, Unjudged, "", ""},
				}},
				List{"D depends on the number of images.", "The published code detaches the potential."},
			}},
			{Title: "The walk", Blocks: []Block{Text("Choose a digit and move through the steps of the ascent."),
				walkOf(a)}},
			{Title: "Images", Blocks: []Block{Figures{
				{Figure: plot.Strips{Title: "Eight digits on their way", Rows: 28, Cols: 28, Strips: strips,
					Scale: grey},
					Caption: "Steps of the ascent, from left to right.",
					Alt: "Eight rows of digits that become smoother from " +
						"left to right.", Wide: true},
				{Figure: plot.Gallery{Title: "Centres", Rows: 28, Cols: 28, Series: []string{"initial", "final"},
					Images: pairs,
					Scale:  grey}, Caption: "Centres before and after training, by weight.",
					Alt: "Ten pairs of digits."},
				{Figure: plot.Maps{Title: "Variance of the pixels", Rows: 28, Cols: 28, Images: variances,
					Scale: plot.Scale{Unit: "variance (grey levels squared)"}}, Caption: "Bright is uncertain."},
			}}},
			{Title: "Numbers", Blocks: []Block{Figures{
				{Figure: plot.Steps{Title: "Separation over the steps", D: steps, Law: NewLaw(&law)},
					Caption: "Fuzziness D at each step."},
				{Figure: plot.Weights{Title: "Weights", C: []float64{0.1, 0.4, -0.3, 0.2, 0, 1, 0.6, -1, -0.2, 0.3}},
					Caption: "Few components carry much."},
				{Figure: plot.Spectra{Title: "Spectra of the precisions", Values: spectra}, Caption: "Eigenvalues."},
				{Figure: plot.PlanePaths{Title: "Paths", Paths: paths, Centres: [][2]float64{{10, 0}, {-10, 0}}},
					Caption: "Twenty digits."},
				{Figure: plot.Lines{Title: "D over the sample", X: "samples n (log scale)", Y: "fuzziness D",
					Series: []plot.Series{{Name: "input", Band: true,
						Limit: &plot.Level{Name: "n to infinity", Y: 14.9, Low: 14.5, High: 15.3},
						Points: []plot.Point{{X: 32, Y: 2.1, Low: 1.9, High: 2.4},
							{X: 320, Y: 10.3, Low: 9.8, High: 10.9},
							{X: 10000, Y: 14.6, Low: 14.4, High: 14.8}}}}}, Caption: "D depends on n."},
				{Figure: plot.Training{Title: "Training", Epochs: epochs}, Caption: "Loss and accuracy."},
			}}},
			{Title: "The other kinds of figures", Blocks: append(Fold("Some", Text("text")), otherFigures())},
		},
	}
}

// otherFigures are the kinds that the sections before do not have, with long names.
func otherFigures() Figures {
	class := func(i int) string { return fmt.Sprintf("class number %d", i) }
	var counts [][]int
	cloud := plot.Panel{Title: "features", Components: 2, Explained: []float64{0.31, 0.2}}
	var values []float64
	names := make([]string, 12)
	for i := range names {
		names[i] = class(i)
		counts = append(counts, make([]int, len(names)))
		counts[i][i], counts[i][(i+5)%len(names)] = 90+i, i
		for j := range 30 {
			angle := float64(i) + 0.1*math.Sin(float64(7*j))
			cloud.Points = append(cloud.Points, 9*math.Cos(angle)+0.1*float64(j), 9*math.Sin(angle))
			cloud.Labels = append(cloud.Labels, uint16(i))
			values = append(values, angle)
		}
	}
	turned := cloud
	turned.Title, turned.Like, turned.Points = "denoised", true, nil
	for i := range cloud.Labels {
		turned.Points = append(turned.Points, -cloud.Points[2*i+1], cloud.Points[2*i])
	}
	points := []plot.Point{{X: 0.3, Y: 9, Low: 8, High: 11}, {X: 40, Y: 110, Doubtful: true}}
	series := []plot.Series{{Name: "gemm", Points: points}, {Name: "a suite with a long name, batch=128", Colour: 1,
		Points: points}}
	groups := []string{"published, 10 steps", "random map to 64 features, noise"}
	return Figures{
		{Figure: plot.Confusion{Title: "Confusion", Counts: counts, Classes: names}},
		{Figure: plot.PCA{Title: "Components", Panels: []plot.Panel{cloud, turned}, Classes: names}},
		{Figure: plot.LawPanels{Title: "Law", Panels: []plot.LawPanel{{Title: "MLP, 4 layers of 100, momentum",
			Names: names, D: [][]float64{values[:12]}}, {Title: "DPN", Names: names, D: [][]float64{values[20:32]}}}}},
		{Figure: plot.Roofline{Title: "Roof", Peaks: []plot.Limit{{Name: "avx512", Rate: 117},
			{Name: "avx2", Rate: 115}, {Name: "generic", Rate: 3}}, Bandwidths: []plot.Limit{
			{Name: "L1", Rate: 10.6}, {Name: "L2", Rate: 9.63},
			{Name: "L3", Rate: 8.37}, {Name: "memory", Rate: 8.49}}, Points: series}},
		{Figure: plot.Bars{Title: "Tiers", X: "GFLOP/s", Groups: groups, Series: series}},
		{Figure: plot.Parallel{Title: "Settings", Axes: []plot.ParallelAxis{
			{Name: "learning rate of the potential", Values: []float64{1, 3, 9, 27, 81, 2, 6, 18, 54}, Log: true},
			{Name: "extractor", Values: []float64{0, 1, 2, 0, 1, 2, 0, 1, 2}, Names: []string{"linear", "identity",
				"a long name of an extractor"}}, {Name: "validation loss", Values: values[9:18]}}}},
		{Figure: plot.Dots{Title: "Accuracy", X: "accuracy under noise (%)", Groups: groups, Series: series}},
		{Figure: plot.Histogram{Title: "Scores", X: "phi_0 = φ(x_0) (units of the features)", Samples: []plot.Sample{
			{Name: "correctly classified", Values: values}, {Name: "misclassified", Values: values[:40]}},
			Mark: &plot.Level{Name: "accepts 95% of the correctly classified", Y: 3}}},
		{Figure: plot.Lines{Title: "Speed", X: "threads (log scale)", LogY: true,
			Y:      "TPR: an axis with a long name (%)",
			Series: append(series, plot.Series{Name: "ideal", Reference: true, Points: points})}},
	}
}

func written(t *testing.T, p Page) string {
	t.Helper()
	page := asByTemplate(t, p)
	webtest.Check(t, page)
	return page
}

// asByTemplate returns what p writes, which must be what html/template makes of it.
func asByTemplate(t *testing.T, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	v, err := p.view()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pageTemplate.Execute("page", v)
	if err != nil {
		t.Fatal(err)
	}
	templatetest.Equal(t, pageText, "page", pageFuncs, v, raw)
	return b.String()
}

func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation")
	}
	p := samplePage(t)
	page := written(t, p)
	for _, want := range []string{
		"<title>What a denoising", `>D at the input<small>Table 1 of the paper</small></th>`,
		`<td class="n word" data-label="95% interval">1.98 to 2.31</td>`,
		`<td class="verdict fails" data-label="verdict">does not hold</td>`,
		`<th scope="col">verdict</th>`, "Figure 18.", `aria-label="Enlarge figure 9"`,
		"Eight digits on their way. Eight " +
			"rows of digits that become smoother", "test image 3: label 0, prediction 3 (wrong)",
		`alt="test image 19 at step 30"`, "<li>D depends on the number of images.</li>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	// Three figures have two panels and a legend; the walk has a chart.
	if n := len(webtest.SVG.FindAllString(page, -1)); n != 16+3*3+1 {
		t.Errorf("%d figures", n)
	}
	if written(t, p) != page {
		t.Error("the same page gives other bytes")
	}
	path := filepath.Join(t.TempDir(), "new", "page.html")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(saved) != page {
		t.Error("the file is another page")
	}
	if p := written(t, Page{}); strings.Contains(p, "<script>") || strings.Contains(p, "<nav") {
		t.Error("an empty page has a script or a list of sections")
	}
}

// What is written is text, whatever it looks like.
func TestPageEscapes(t *testing.T) {
	parts := []string{"</title>", "</style>", "</svg>", "</script>", "<script>alert(1)</script>",
		"<img src=x onerror=alert(1)>", "<!--", "-->", "]]>",
		`"`, "'", "`", "&amp;", "&", "\x00", "\xff", "\u2028", "javascript:alert(1)", "{{.}}",
		"\\", "${1}", "//x.example/", "π", "\n"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		var evil strings.Builder
		for range 6 {
			evil.WriteString(parts[random.IntN(len(parts))])
		}
		s := evil.String()
		r := [][]float32{{1}}
		p := Page{Kind: s, Title: s, Warnings: []string{s}, Summary: []string{s}, Facts: []Fact{{s, s}},
			Sections: []Section{{Title: s, Blocks: []Block{
				Text(s), List{s}, Table{s, []Column{{Name: s}, {s, true}}, []Row{{[]string{s, s}, Fails, "", s}}},
				Figures{{Figure: plot.Weights{Title: s, C: []float64{1, 2}}, Caption: s, Alt: s},
					{Figure: plot.Gallery{Title: s, Note: s, Rows: 1, Cols: 1,
						Images: []plot.Image{{Caption: s, X: r}}}}},
				Walk{Rows: 1, Cols: 1, Items: []WalkItem{{Name: s, X: r, Phi: []float64{1}, R: r}},
					Components: []string{s}},
			}}}}
		page := asByTemplate(t, p)
		for what, want := range map[string]int{"<script>": 1, "<script ": 1, "<style>": 1, "<svg ": 3, "<img ": 1,
			"<title>": 3, "<h2": 1, "<!--": 0} {
			if n := strings.Count(page, what); n != want {
				t.Errorf("%q: %d times %s, expected %d", s, n, what, want)
			}
		}
		if strings.Contains(page, "\x00") || strings.Contains(page, "\xff") {
			t.Errorf("%q: a byte that no page has", s)
		}
		var data walkData
		if err := json.Unmarshal([]byte(walkJSON(t, page)), &data); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func walkJSON(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no data of a walk")
	}
	return m[1]
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestPageErrors(t *testing.T) {
	if err := (Page{}).Write(full{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error is %v", err)
	}
	if err := (Page{}).Save(t.TempDir()); err == nil {
		t.Error("a folder in place of the file: no error")
	}
	panels := plot.Training{Epochs: []plot.Epoch{{Epoch: 1}, {Epoch: 2}}}
	if _, err := (Page{First: Figures{{Figure: panels}}}).html(); err == nil ||
		!strings.Contains(err.Error(), "panels") {
		t.Errorf("panels beside the summary: error %v", err)
	}
	x, phi := [][]float32{{1}}, []float64{1}
	walk := func(edit func(w *Walk)) Walk {
		w := Walk{Rows: 1, Cols: 1, Items: []WalkItem{{X: x, Phi: phi, R: x}}}
		edit(&w)
		return w
	}
	item := func(it WalkItem) Walk { return walk(func(w *Walk) { w.Items = []WalkItem{it} }) }
	for _, c := range []struct {
		want  string
		block Block
	}{
		{"block 0 is nil", nil},
		{"no columns", Table{}},
		{"row 0 has 1 cells for 2 columns", Table{Columns: make([]Column, 2), Rows: []Row{{Cells: []string{""}}}}},
		{`verdict "maybe"`, Table{Columns: make([]Column, 1), Rows: []Row{{[]string{""}, "maybe", "", ""}}}},
		{"100,001 cells", Table{Columns: make([]Column, 1), Rows: make([]Row, 100_001)}},
		{"figure 1 is nil", Figures{{}}},
		{`figure "w": there is nothing to draw`, Figures{{Figure: plot.Weights{Title: "w"}}}},
		{"more than 300 figures", Figures(make([]Shown, 1)).repeat(301)},
		{"nothing to draw", Walk{Rows: 1, Cols: 1}},
		{"images of 0 x 0", Walk{}},
		{"101 items", walk(func(w *Walk) { w.Items = make([]WalkItem, 101) })},
		{"-1 steps", walk(func(w *Walk) { w.Steps = -1 })},
		{"16384 steps of 1 columns: want 0 to 16383", walk(func(w *Walk) { w.Steps = 1 << 14 })},
		{"want at most 4,194,304 pixels", walk(func(w *Walk) {
			w.Rows, w.Cols, w.Steps = 256, 256,
				63
			w.Items = make([]WalkItem, 2)
		})},
		{"0 images, 1 phi and 1 rows of r: want 1", item(WalkItem{Phi: phi, R: x})},
		{"2 values for an image", item(WalkItem{X: [][]float32{{1, 2}}, Phi: phi, R: x})},
		{"value 0 is NaN", item(WalkItem{X: [][]float32{{float32(math.NaN())}}, Phi: phi, R: x})},
		{"phi is +Inf", item(WalkItem{X: x, Phi: []float64{math.Inf(1)}, R: x})},
		{"step 0 has 0 responsibilities", item(WalkItem{X: x, Phi: phi, R: [][]float32{{}}})},
		{"r of component 0 is 2", item(WalkItem{X: x, Phi: phi, R: [][]float32{{2}}})},
		{"r of component 0 is NaN", item(WalkItem{X: x, Phi: phi, R: [][]float32{{float32(math.NaN())}}})},
	} {
		err := Page{Title: "page", Sections: []Section{{Title: "part", Blocks: []Block{c.block}}}}.Write(io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(),
			`page "page": section "part"`) || strings.Count(err.Error(), "report:") != 1 {
			t.Errorf("error is %v: want %q", err, c.want)
		}
	}
}

func (f Figures) repeat(n int) (out Figures) {
	for range n {
		out = append(out, Shown{Figure: plot.Weights{C: []float64{1}}})
	}
	return out
}

// The page of twenty digits with thirty steps is small, its images are the ones given,
// and its numbers too.
func TestWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: draws whole pages, seconds under emulation")
	}
	a := sampleascent.New(20, 30)
	w := walkOf(a)
	w.Components = []string{"a zero"}
	page := written(t, Page{Sections: []Section{{Title: "walk", Blocks: []Block{w}}}})
	if len(page) > 700<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	t.Logf("%d bytes", len(page))
	sprites := regexp.MustCompile(`<img class="sprite" src="data:image/png;base64,([^"]*)"`).FindAllStringSubmatch(page,
		-1)
	if len(sprites) != len(a.Items) {
		t.Fatalf("%d sprites", len(sprites))
	}
	for i, s := range sprites {
		raw, err := base64.StdEncoding.DecodeString(strings.NewReplacer("&#43;", "+", "&#61;", "=").Replace(s[1]))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if img.Bounds().Size() != image.Pt(28*31, 28) {
			t.Fatalf("size is %v", img.Bounds().Size())
		}
		for step, x := range a.Items[i].X {
			for j, v := range x {
				got, _, _, _ := img.At(28*step+j%28, j/28).RGBA()
				if !(math.Abs(float64(got)/0xffff-float64(v)) <= 0.51/255) {
					t.Fatalf("item %d, step %d, pixel %d is %v: want %v", i, step, j, float64(got)/0xffff, v)
				}
			}
		}
	}
	var data walkData
	if err := json.Unmarshal([]byte(walkJSON(t, page)), &data); err != nil {
		t.Fatal(err)
	}
	for i, it := range a.Items {
		d := data.Items[i]
		if len(d.Top) != walkBars || d.Top[walkBars-1] != "the other 5" {
			t.Errorf("item %d shows %q", i, d.Top)
		}
		if it.Predicted == 0 && d.Top[0] != "a zero" || it.Predicted != 0 && d.Top[0] != fmt.Sprint("component ",
			it.Predicted) {
			t.Errorf("item %d: %q comes first, predicted is %d", i, d.Top[0], it.Predicted)
		}
		for step := range it.X {
			sum := 0.0
			for _, r := range d.R[step] {
				sum += r
			}
			if !(math.Abs(sum-1) <= 1e-3) || !(math.Abs(d.Phi[step]/it.Phi[step]-1) <= 1e-5) {
				t.Errorf("item %d, step %d: responsibilities add up to %v, phi is %v: want %v", i, step, sum,
					d.Phi[step], it.Phi[step])
			}
		}
	}
}

func TestRounded(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   float64
	}{{0, 3, 0}, {1234.5678, 6, 1234.57}, {-0.00123456, 3, -0.00123}, {1e300, 6, 1e300}, {5e-324, 4,
		5e-324}, {math.MaxFloat64, 6, math.MaxFloat64}, {0.99999, 2, 1}} {
		if got := rounded(c.v, c.digits); !(math.Abs(got-c.want) <= 1e-5*math.Abs(c.want)) {
			t.Errorf("%v to %d digits is %v: want %v", c.v, c.digits, got, c.want)
		}
	}
}

// TestPageInBrowser loads the page in headless Chromium at the width of a desktop and of
// a phone, and walks: the slider moves image, number and bars, by script and by key;
// Enlarge enlarges; without JavaScript the strips are there.
func TestPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation")
	}
	b := webtest.Start(t)
	var page bytes.Buffer
	if err := samplePage(t).Write(&page); err != nil {
		t.Fatal(err)
	}
	b.CheckWidths(page.Bytes(), 19)

	b.Open(page.Bytes(), 1280, 900)
	type state struct {
		Step, Said, Phi, Bars, Pixels, Dot string
	}
	look := func(change string) (s state) {
		t.Helper()
		b.Evaluate(`(async () => {
			const part = name => document.querySelector('[data-part=' + name + ']');
			`+change+`;
			await new Promise(done => setTimeout(done, 100));
			const canvas = part('image');
			return {
				step: part('at').textContent, said: part('said').textContent, phi: part('phi').textContent,
				bars: part('bars').innerText,
				pixels: canvas.getContext('2d').getImageData(0, 0, canvas.width,
					canvas.height).data.join(), dot: part('dot').getAttribute('cx'),
			};
		})()`, &s)
		return s
	}
	const moved = `part('step').dispatchEvent(new Event('input'))`
	first := look("")
	if first.Step != "step 0 of 30" || first.Said != "label 3, prediction 3" || !strings.HasPrefix(first.Phi, "−") ||
		!strings.Contains(first.Bars, "component 3") {
		t.Errorf("at first: %+v", first)
	}
	last := look(`part('step').value = 30; ` + moved)
	if last.Step != "step 30 of 30" || last.Phi == first.Phi || last.Bars == first.Bars ||
		last.Pixels == first.Pixels ||
		last.Dot == first.Dot {
		t.Errorf("the slider does not move all: from %.200v to %.200v", first, last)
	}
	if again := look(`part('step').value = 0; ` + moved); again != first {
		t.Error("the way back leads elsewhere")
	}
	wrong := look(`part('item').value = 3; part('item').dispatchEvent(new Event('input'))`)
	if wrong.Said != "label 0, prediction 3 (wrong)" || wrong.Pixels == first.Pixels || wrong.Step != "step 0 of 30" {
		t.Errorf("another image: %.200v", wrong)
	}
	look(`part('item').value = 1; part('item').dispatchEvent(new Event('input'))`)
	var outside float64
	b.Evaluate(`document.querySelector('.walk-view svg').getBoundingClientRect().left -
		document.querySelector('[data-part=most]').getBoundingClientRect().left`, &outside)
	if outside > 0 {
		t.Errorf("the label of a potential near 0 begins %v pixels before the chart", outside)
	}
	look(`part('step').focus()`)
	b.Press("ArrowRight", 39)
	b.Press("ArrowRight", 39)
	if keyed := look(""); keyed.Step != "step 2 of 30" || keyed.Pixels == wrong.Pixels {
		t.Errorf("two keys lead to %s", keyed.Step)
	}
	b.Press("End", 35)
	if keyed := look(""); keyed.Step != "step 30 of 30" {
		t.Errorf("the end key leads to %s", keyed.Step)
	}

	var before, after float64
	const width = `document.querySelector('#figure-5 svg').getBoundingClientRect().width`
	b.Evaluate(width, &before)
	b.Evaluate(`document.querySelector('#figure-5 .enlarge').click()`, nil)
	b.Evaluate(width, &after)
	if after < 1.5*before {
		t.Errorf("enlarged from %v to %v", before, after)
	}
	var shown int
	const strips = `[...document.querySelectorAll('.sprite')].filter(i => i.getBoundingClientRect().width > 0).length`
	b.Evaluate(strips, &shown)
	if shown != 0 {
		t.Errorf("%d strips beside the walk", shown)
	}

	b.Open(page.Bytes(), 688, 900) // A4 without its margins
	b.Media("print")
	var print struct {
		Live, Ends, Strips int
	}
	b.Evaluate(`(() => {
		const seen = s => [...document.querySelectorAll(s)].filter(e => e.getBoundingClientRect().width > 0).length;
		return { live: seen('.walk-live'), ends: seen('.ends img'), strips: seen('.sprite') };
	})()`, &print)
	if print.Live != 0 || print.Ends != 2*20 || print.Strips != 0 {
		t.Errorf("in print: %+v; want the first and the last image of each digit", print)
	}
	if file := os.Getenv("DPN_TEST_SCREENSHOT"); file != "" { // to look at
		for name, data := range map[string][]byte{".pdf": b.Print(), "-print.png": b.Screenshot()} {
			if err := os.WriteFile(file+name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Media("")

	b.Scripts(false)
	b.Open(page.Bytes(), 390, 800)
	b.Scripts(true) // to ask, not to walk
	b.Evaluate(strips, &shown)
	if shown != 20 {
		t.Errorf("%d strips without JavaScript", shown)
	}
	b.CheckQuiet()
}

// No name is too long for a phone.
func TestLongWordsInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation")
	}
	b := webtest.Start(t)
	s := strings.Repeat("Donaudampfschiff", 30)
	r := [][]float32{{1}}
	p := Page{Kind: s, Title: s, Warnings: []string{s}, Summary: []string{s}, Facts: []Fact{{s, s}},
		Sections: []Section{{Title: s, Blocks: []Block{
			Text(s), List{s}, Table{s, []Column{{Name: s}, {s, true}}, []Row{{[]string{s, s}, Fails, "", s}}},
			Figures{{Figure: plot.Weights{Title: s, C: []float64{1, 2}}, Caption: s},
				{Figure: plot.Steps{Title: s, D: []float64{3, 2, 1}}, Caption: s, Wide: true}},
			Walk{Rows: 1, Cols: 1, Items: []WalkItem{{Name: s, X: r, Phi: []float64{1}, R: r}},
				Components: []string{s}},
		}}}}
	b.CheckWidths([]byte(written(t, p)), 2)
}
